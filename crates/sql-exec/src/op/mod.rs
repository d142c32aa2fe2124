//! The operators of queries, by the names that they have in a plan (`sql_plan::plan::op`), and what builds and drives them.
//!
//! ```text
//!  query        a block, a list of rows, a set operation, a recursion, JSON_TABLE: what stands around blocks
//!    │
//!  block        builds and drives the operators of one block
//!    ├─ scan       the only table, straight into what is behind it     ┐
//!    ├─ join       all combinations of rows of several tables          ┴▶ rows, one by one
//!    ├─ group      GROUP BY and aggregates: rows in, groups out
//!    └─ tail       what is behind: filter (HAVING), window, project, distinct, sort, limit ─▶ the sink
//! ```
//!
//! Rows are pushed: who makes a row hands it to the operator behind, which reads its columns where they lie. What waits (pages, locks, files,
//! functions such as SLEEP) waits between two rows.
//!
//! Never here: a decision between two plans.

pub(crate) mod block;
mod distinct;
pub(crate) mod filter;
mod group;
pub(crate) mod join;
mod json_table;
pub(crate) mod limit;
mod project;
pub(crate) mod query;
mod recursion;
mod scan;
mod set;
pub(crate) mod sort;
mod tail;
mod values;
mod window;
