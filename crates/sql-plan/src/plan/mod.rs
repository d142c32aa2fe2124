//! Physical plans: what the optimizer decided and the executor carries out, and EXPLAIN's view of it.
//!
//! Plain data. Nothing here decides anything or runs.

mod access_words;
pub mod block;
pub(crate) mod estimates;
pub mod explain;
mod in_block;
mod json_form;
mod lines;
pub mod op;
pub(crate) mod params;
mod shape;
pub mod tally;
pub mod tree;
pub mod tree_form;
mod window_words;
pub(crate) mod words;

pub use crate::bind::places::Places;
pub use crate::bind::relations::{ChildKey, Node, ParentKey, Relations};
pub use crate::bind::subqueries_of;
pub use crate::bind::tree::*;
pub use crate::bind::{
    NameSpace, NoVirtualTables, TableGuard, TableSource, VirtualColumn, VirtualCtx, VirtualTable,
};
pub use block::{Block, TablePlan};
pub use op::{
    Access, Beginning, Distinct, Group, Grouping, HashKey, Join, Jump, KeyExpr, LateExpr, Limit,
    NestPlan, Op, Project, RangeAccess, Sort, Step,
};
pub use tree::*;
