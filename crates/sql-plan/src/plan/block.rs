//! A query block of a plan: its tables and subqueries, and the operators that its rows go through.

use std::sync::Arc;

use engine::Table;

use super::op::{Distinct, Group, Join, Limit, Op, Project, Sort, Step, window::WindowPlan};
use crate::bind::places::Places;
use crate::bind::source::TableSource;
use crate::bind::tree::{GroupPlan, LimitPlan, LockSpec, NodeId, Query, SortKey, Sub};
use sql_expr::Expr;

/// One SELECT, or the part of UPDATE and DELETE that finds rows: what its operators share, and the operators ([`super::op`]).
pub struct Block {
    /// Its name in the plan.
    pub id: NodeId,
    /// Its number in the statement, as EXPLAIN calls it; 0 for one that the statement does not have.
    pub number: u32,
    /// The places of its tables by slot.
    pub places: Places,
    /// The tables in the order of FROM.
    pub tables: Vec<TablePlan>,
    /// Queries of derived tables, by number.
    pub derived: Vec<Query<Block>>,
    /// Subqueries, by the index their expressions use.
    pub subqueries: Vec<Sub<Block>>,
    /// What makes its rows.
    pub join: Join,
    /// What they go through, in this order.
    pub ops: Vec<Op>,
    /// Some expression after the joins has to wait for something (SLEEP, GET_LOCK).
    pub special: bool,
    /// Rows that it yields, roughly.
    pub rows: f64,
}

/// A table of a block.
pub struct TablePlan {
    /// Where its rows come from.
    pub source: TableSource,
    /// Its slot.
    pub slot: u16,
    /// How the statement calls it.
    pub alias: Arc<str>,
    /// The names of the columns of a derived table.
    pub columns: Box<[Box<str>]>,
    /// Its locking clause.
    pub lock: Option<LockSpec>,
}

impl TablePlan {
    /// The stored table, where it is one.
    pub fn stored(&self) -> Option<&Arc<Table>> {
        match &self.source {
            TableSource::Engine(t) => Some(t),
            _ => None,
        }
    }
}

impl Block {
    /// The slot of a step's table.
    #[inline]
    pub fn slot(&self, step: &Step) -> u16 {
        self.tables[usize::from(step.table)].slot
    }

    /// Its groups.
    #[inline]
    pub fn grouping(&self) -> Option<&Group> {
        self.ops.iter().find_map(|op| match op {
            Op::Group(g) => Some(&**g),
            _ => None,
        })
    }

    /// Its groups, for the optimiser to decide about.
    pub(crate) fn grouping_mut(&mut self) -> Option<&mut Group> {
        self.ops.iter_mut().find_map(|op| match op {
            Op::Group(g) => Some(&mut **g),
            _ => None,
        })
    }

    /// What its groups are made of.
    #[inline]
    pub fn group(&self) -> Option<&GroupPlan> {
        self.grouping().map(|g| &g.plan)
    }

    /// HAVING.
    #[inline]
    pub fn having(&self) -> Option<&Expr> {
        self.ops.iter().find_map(|op| match op {
            Op::Filter(e) => Some(&**e),
            _ => None,
        })
    }

    /// Its window functions.
    #[inline]
    pub fn windows(&self) -> Option<&WindowPlan> {
        self.ops.iter().find_map(|op| match op {
            Op::Window(w) => Some(&**w),
            _ => None,
        })
    }

    /// Its select list, with what is known of it; `None` where rows are changed.
    #[inline]
    pub fn project(&self) -> Option<&Project> {
        self.ops.iter().find_map(|op| match op {
            Op::Project(p) => Some(&**p),
            _ => None,
        })
    }

    /// Its select list.
    #[inline]
    pub fn output(&self) -> &[Expr] {
        self.project().map_or(&[], |p| &p.values)
    }

    /// DISTINCT.
    #[inline]
    pub fn distinct(&self) -> Option<&Distinct> {
        self.ops.iter().find_map(|op| match op {
            Op::Distinct(d) => Some(d),
            _ => None,
        })
    }

    /// ORDER BY.
    #[inline]
    pub fn sort(&self) -> Option<&Sort> {
        self.ops.iter().find_map(|op| match op {
            Op::Sort(s) => Some(s),
            _ => None,
        })
    }

    /// What its rows are sorted by; nothing where they come in their order.
    #[inline]
    pub fn order(&self) -> &[SortKey] {
        self.sort().filter(|s| !s.given).map_or(&[], |s| &s.keys)
    }

    /// The order in which its rows come, where it was asked for.
    #[inline]
    pub fn delivered(&self) -> &[SortKey] {
        self.sort().filter(|s| s.given).map_or(&[], |s| &s.keys)
    }

    /// LIMIT.
    #[inline]
    pub fn limit(&self) -> Option<&LimitPlan> {
        self.last_limit().and_then(|l| l.plan.as_ref())
    }

    /// Rows are counted that LIMIT leaves out (SQL_CALC_FOUND_ROWS).
    #[inline]
    pub fn calc_found_rows(&self) -> bool {
        self.last_limit().is_some_and(|l| l.counts_all)
    }

    #[inline]
    fn last_limit(&self) -> Option<&Limit> {
        self.ops.iter().find_map(|op| match op {
            Op::Limit(l) => Some(l),
            _ => None,
        })
    }
}
