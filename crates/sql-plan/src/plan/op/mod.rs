//! The operators of a query block, one file each. Plain data: `sql_exec::op` has what carries them out, by the same names.
//!
//! ```text
//!  Block ─ what its operators share: its tables, the queries of derived tables, its subqueries
//!    │
//!    ├─ join: Join            the rows of FROM and WHERE; MySQL's nests of outer joins, semi-joins and anti-joins are in it
//!    │     │ rows
//!    └─ ops: [Op]             what they go through, in this order; each is there or not
//!          ├─ Group             GROUP BY and aggregates: hashed, in order, by batches, by jumps, with rollup
//!          ├─ Filter            HAVING
//!          ├─ Window            window functions
//!          ├─ Project           the select list
//!          ├─ Distinct          DISTINCT
//!          ├─ Sort              ORDER BY; of no more rows than a limit behind it wants
//!          └─ Limit             LIMIT
//! ```
//!
//! Set operations, lists of rows, recursion and JSON_TABLE stand around blocks: [`Body`](crate::plan::Body).
//!
//! The optimiser decides all that is here ([`crate::optimize`]); EXPLAIN walks the same operators that run. An operator looks at rows by slots
//! and columns of the tables, whatever stands between: none of them gives rows a form of its own before [`Project`].

mod group;
mod join;
mod project;
mod sort;
pub mod window;

pub use group::{Group, Grouping};
pub use join::{
    Access, Beginning, HashKey, Join, Jump, KeyExpr, LateExpr, NestPlan, RangeAccess, Step,
};
pub use project::{Distinct, Project};
pub use sort::{Limit, Sort};

use sql_expr::Expr;
use window::WindowPlan;

/// What the rows of a block's joins go through.
pub enum Op {
    /// Groups of rows take their place.
    Group(Box<Group>),
    /// Those for which a condition holds go on (HAVING).
    Filter(Box<Expr>),
    /// They get the values of window functions.
    Window(Box<WindowPlan>),
    /// The select list takes their place.
    Project(Box<Project>),
    /// Each goes on once.
    Distinct(Distinct),
    /// They go on in another order.
    Sort(Sort),
    /// Some go on.
    Limit(Limit),
}
