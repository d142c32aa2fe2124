//! What the parts of the optimizer look at: a block's tables, joins and conditions, and what each condition reads.

use engine::Engine;
use types::SqlError;

use crate::bind::from::{Cond, Joins};
use crate::bind::places::Places;
use crate::bind::reads::{subqueries_of, tables_of};
use crate::bind::scope::FromTable;
use crate::bind::tree::{BoundBlock, BoundQuery, BoundSub, SortKey};
use crate::optimize::statistics::selectivity::Estimator;
use crate::plan::QueryPlan;
use sql_expr::agg::AggSpec;
use sql_expr::vars::Switches;
use sql_expr::{EvalCtx, Expr, Node};

/// What a block wants.
pub(crate) struct Request<'a> {
    /// The engine: for statistics.
    pub engine: &'a Engine,
    /// The session: for the values of constants.
    pub cx: &'a EvalCtx<'a>,
    /// How many rows conditions leave is found with it.
    pub estimator: Estimator<'a>,
    /// Rows that the queries of derived tables yield, roughly.
    pub derived: &'a [f64],
    /// What it costs to make them, in rows read.
    pub makes: &'a [f64],
    /// Those queries that may run for one key at a time.
    pub by_key: &'a [Option<BoundQuery>],
    /// Plans one of those.
    pub plan: &'a dyn Fn(BoundQuery) -> Result<QueryPlan, SqlError>,
    /// The block's tables.
    pub tables: &'a [FromTable],
    /// Its joins and conditions.
    pub joins: Joins,
    /// Its subqueries.
    pub subqueries: &'a [BoundSub],
    /// The places of its tables by slot.
    pub places: &'a Places,
    /// The columns that are read of each table, by place; empty where rows are changed: whole ones are
    /// wanted, an index at a time.
    pub reads: &'a [Vec<u16>],
    /// Tables are read in the order written.
    pub straight: bool,
    /// The order its rows should come in.
    pub order: &'a [SortKey],
    /// Rows are changed where they are found: an index at a time.
    pub changes: bool,
    /// What `optimizer_switch` allows.
    pub switches: Switches,
    /// Few rows may be wanted.
    pub has_limit: bool,
    /// So many rows are wanted of those that come in order, where nothing behind the joins needs the others.
    pub first_rows: Option<f64>,
    /// The columns of rows of which each is wanted once, where that is all that is asked.
    pub distinct: Option<&'a [Expr]>,
    /// The order in which groups should come.
    pub group_order: &'a [SortKey],
    /// Some groups may be left out.
    pub having: bool,
    /// Rows are locked.
    pub locks: bool,
    /// Grouping keys and aggregates.
    pub group: Option<(&'a [Expr], &'a [AggSpec])>,
}

/// A condition and what it reads.
#[derive(Clone)]
pub(crate) struct CondInfo {
    /// The condition.
    pub expr: Expr,
    /// Its nest.
    pub nest: u16,
    /// The tables it reads, by place.
    pub tables: u64,
    /// It needs a subquery per row or has to wait.
    pub late: bool,
    /// The class of equal columns that it links two members of.
    pub class: Option<u16>,
    /// It says of a column what another condition says of one that is equal: rows that are joined pass both or neither.
    pub copied: bool,
}

impl CondInfo {
    /// A condition of the statement.
    pub fn new(c: Cond, places: &Places, subqueries: &[BoundSub]) -> CondInfo {
        let mut used = Vec::new();
        subqueries_of(&c.expr, &mut used);
        let correlated = used.iter().any(|&i| subqueries[i as usize].correlated);
        CondInfo {
            tables: tables_of(&c.expr, places, subqueries),
            late: correlated || c.expr.has_special(),
            expr: c.expr,
            nest: c.nest,
            class: None,
            copied: false,
        }
    }

    /// A condition of the block itself that follows from others.
    pub fn made(expr: Expr, places: &Places, class: Option<u16>) -> CondInfo {
        CondInfo {
            tables: tables_of::<BoundBlock>(&expr, places, &[]),
            late: false,
            expr,
            nest: 0,
            class,
            copied: false,
        }
    }

    /// Whether it yields the same for every row of the block.
    pub fn constant(&self) -> bool {
        self.nest == 0
            && self.tables == 0
            && !self.late
            && !self.expr.any(&|e| match &e.node {
                Node::AssignVar(..) | Node::UserVar(_) => true,
                Node::Call(c) => c.def.volatile(),
                _ => false,
            })
    }
}
