//! Expressions: bound trees with inferred types (`node`, `ty`), the binder that makes them (`bind`), their evaluation
//! over a row (`eval`), the built-in functions (`func`) and the aggregates (`agg`).
//!
//! Evaluation is synchronous and never waits: what needs waiting (SLEEP, GET_LOCK) is handed to the executor as a
//! [`Special`]. Nothing here reads tables or plans queries; rows come through [`RowSource`], names through
//! [`bind::Scope`].

#![warn(clippy::disallowed_types)]
// Every wait is for an event (clippy.toml).
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod agg;
mod arith;
mod arms;
pub mod base64;
pub mod batch;
pub mod bind;
mod cast;
mod cast_to;
mod casting;
mod collate;
pub mod column_name;
pub mod column_type;
mod columns;
pub mod compare;
mod conv;
mod ctx;
mod date_arith;
mod date_text;
mod eval;
pub mod func;
pub mod hash;
pub mod infer;
mod inlist;
pub mod json;
mod keys;
mod limited;
pub mod memory;
mod node;
mod number;
mod overflow;
mod pattern;
mod print;
mod quantified;
mod regex;
mod regexp;
mod sysvar;
mod temporal;
mod ty;
mod unify;
mod val;
pub mod vars;
mod walk;
pub mod window;

#[cfg(test)]
mod tests;

pub use compare::Comparer;
pub use conv::{into_text, text_of as value_text, write_text};
pub use ctx::{
    EvalCtx, EvalError, ListLookup, NoRow, PENDING, RandState, RandomSource, RowKey, RowSource,
    SessionFacts, Special, SubquerySource, UserVar, UserVars, ValuesRow, WallClock, Watcher,
    WriteKey,
};
pub use eval::eval_constant;
pub use func::{last_id_as_null_call, padded};
pub use keys::{as_column_value, index_comparable, sort_order, write_group_key};
pub use node::{
    AGGREGATE_SLOT, BitOp, Call, Case, CastTo, CmpOp, Column, Expr, INSERTED_SLOT, InList,
    LikeNode, Members, Node, Quantified, RegexpNode, RegexpUse, WINDOW_SLOT,
};
pub use print::{Surroundings, text, text_in};
pub use ty::{Coercibility, ExprType, IntKind, NOT_FIXED, Shape, StrKind};
pub use val::{Int, Num, Val};
