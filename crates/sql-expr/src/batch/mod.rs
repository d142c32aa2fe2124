//! Expressions, conditions and aggregates over batches: about a thousand rows at a time, column by column.
//!
//! A [`Vector`] is one column of a [`Batch`]: typed, with a bitmap of its NULLs. [`eval_batch`] evaluates an expression over the live
//! rows of a batch, [`filter_batch`] leaves those for which conditions hold, [`Groups`] numbers the groups that rows belong to,
//! [`Aggregates`] adds the rows to them.
//!
//! **What rows give, batches give.** There is one evaluator that decides what is right, the one of rows ([`Expr::eval`](crate::Expr)).
//! Loops over columns are written only for what can neither warn nor fail. As soon as a row would warn, overflow, divide by zero or
//! fail, the loop stops, forgets what it did, and the whole expression is evaluated row by row over that batch: so errors and warnings
//! are those of rows and come in their order. The right side of AND, OR, CASE, IF and COALESCE is looked at only for the rows that
//! need it. What has effects of its own (user variables, RAND, SLEEP …) is always evaluated row by row.
//!
//! **Across expressions** the order is the operator's: rows pass a filter and a projection one by one in MySQL, so that the warnings of
//! both come row by row. An operator that can go back to rows asks with [`eval_quietly`] and [`filter_quietly`], which answer `None`
//! instead of warning or failing; several expressions of one operator go through [`eval_all`].
//!
//! Values at positions that are not live are undefined. Nothing here reads tables, waits, or knows what operators there are.

mod aggregate;
mod arith;
mod bits;
mod build;
mod choose;
mod compare;
mod convert;
mod decimal;
mod eval;
mod groups;
mod lane;
mod logic;
mod members;
mod rows;
mod scratch;
mod selection;
mod spill;
mod state;
mod temporal;
mod truth;
mod vector;

#[cfg(test)]
mod tests;

pub use aggregate::Aggregates;
pub use bits::Bits;
pub use build::VectorBuilder;
pub use eval::{eval_all, eval_batch, eval_quietly, filter_batch, filter_quietly, has_effects};
pub use groups::{Groups, KeyRows};
pub use rows::{Batch, BatchRow, Layout};
pub use scratch::Scratch;
pub use selection::Sel;
pub use state::GroupStates;
pub use vector::{Data, Texts, Vector};

/// How many rows a batch has at most, where nothing asks for less.
pub const ROWS: usize = 1024;
