//! Grouped derived tables of which few groups are wanted: where the columns that they are grouped by are compared with those of tables
//! that come before, the table can be made for one combination of these values at a time, by an index, instead of as a whole.
//!
//! MariaDB calls it "split materialized" (EXPLAIN: LATERAL DERIVED); it is the sideways passing of magic sets (Mumick and Pirahesh,
//! "Implementation of Magic-sets in a Relational Database System", SIGMOD 1994), chosen by cost (Seshadri et al., "Cost-Based
//! Optimization for Magic", SIGMOD 1996).
//!
//! A group is whole or not there at all only if the comparison tells groups apart exactly as GROUP BY does: by the same collation.

use std::cell::RefCell;

use types::SqlError;

use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::bind::tree::{Body, BoundBlock, BoundQuery, Query};
use crate::optimize::ITERATIONS;
use crate::optimize::conditions::{CondInfo, Request};
use crate::optimize::physical::access::Choice;
use crate::optimize::physical::by_key::ByKey;
use crate::optimize::physical::hashing::hashable;
use crate::optimize::rewrite::derived::{is_open, put, takes};
use crate::optimize::rewrite::unnest::is_steady;
use crate::plan::{Block, QueryPlan};
use sql_expr::vars::Switches;
use sql_expr::{CmpOp, Comparer, Expr, Node};

/// The work of running a query once more, in rows read.
const RUN: f64 = 20.0;
/// The work of putting a row into its group.
const GROUP: f64 = 1.0;
/// What making all of it costs where a hint asks for one key at a time.
const FORBIDDEN: f64 = 1e9;
/// Most rows that one key may have: they are in memory.
const MOST_ROWS: f64 = 10_000.0;
/// Most columns that are looked at.
const MOST_COLUMNS: usize = 4;

/// The queries of a block's derived tables that may be made for one key at a time, by their numbers; none where its
/// rows are changed.
pub(crate) fn candidates(
    block: &BoundBlock,
    switches: Switches,
    changes: bool,
) -> Vec<Option<BoundQuery>> {
    let mut all = Vec::new();
    if changes {
        return all;
    }
    for t in &block.tables {
        let TableSource::Derived(n) = t.source else {
            continue;
        };
        let query = &block.derived[n as usize];
        let free = t.lateral.is_none() && !query.is_shared();
        if free && block.tables.len() > 1 && is_open(t, switches) && is_split(query) {
            all.resize_with(block.derived.len(), || None);
            all[n as usize] = Some(query.clone());
        }
    }
    all
}

/// Whether some groups of a query may be made without the others.
fn is_split(q: &BoundQuery) -> bool {
    let Body::Block(b) = &q.body else {
        return false;
    };
    let grouped = match &b.group {
        Some(g) => !g.keys.is_empty() && g.rollup.is_none(),
        None => b.distinct,
    };
    grouped
        && b.windows.is_none()
        && b.limit.is_none()
        && q.limit.is_none()
        && b.order.is_empty()
        && !b.calc_found_rows
        && b.subqueries.is_empty()
        && b.derived.is_empty()
        && is_steady(q)
}

/// What it costs to make the rows of a query, in rows read.
pub(crate) fn cost_of(q: &QueryPlan) -> f64 {
    let of_block = |b: &Block| {
        let last = b.join.steps.last();
        last.map_or(0.0, |s| s.cost + s.out * GROUP)
    };
    match &q.body {
        Body::Block(b) => of_block(b),
        Body::Rows(..) | Body::Feed(_) | Body::Json(_) => 0.0,
        Body::Set(first, arms) => {
            cost_of(first) + arms.iter().map(|a| cost_of(&a.query)).sum::<f64>()
        }
        Body::Recursive(r) => {
            let members = r.members.iter().map(cost_of).sum::<f64>();
            cost_of(&r.seed) + members * ITERATIONS
        }
    }
}

/// An equality of a column that tells groups apart and one of a table before.
struct Tie {
    cond: usize,
    expr: Expr,
    /// The derived table's column.
    column: u16,
    /// The tables that must have been read.
    needs: u64,
    /// The other column, by slot and place.
    other: (u16, u16),
}

/// A derived table that may be made for one key at a time.
pub(crate) struct Lateral<'a> {
    query: &'a BoundQuery,
    plan: &'a dyn Fn(BoundQuery) -> Result<QueryPlan, SqlError>,
    slot: u16,
    ties: Vec<Tie>,
    /// What making it as a whole costs; more than anything where a hint asks for the other way.
    pub whole: f64,
    /// What it costs for one key of some columns (bits, by place), as far as that was asked; `None` where it cannot be.
    known: RefCell<Vec<(u64, Option<f64>)>>,
}

/// The derived tables of a block that may be made for one key at a time, by place.
pub(crate) fn of_block<'a>(req: &'a Request<'a>, conds: &[CondInfo]) -> Vec<Option<Lateral<'a>>> {
    if req.by_key.is_empty() {
        return Vec::new();
    }
    let one = |(t, from): (usize, &FromTable)| {
        let TableSource::Derived(n) = from.source else {
            return None;
        };
        let query = req.by_key.get(n as usize)?.as_ref()?;
        let ties = ties(req, conds, t, query);
        (!ties.is_empty()).then(|| Lateral {
            query,
            plan: req.plan,
            slot: from.slot,
            ties,
            whole: match from.hints().pushdown {
                Some(true) => FORBIDDEN,
                _ => req.makes.get(n as usize).copied().unwrap_or(0.0),
            },
            known: RefCell::default(),
        })
    };
    req.tables.iter().enumerate().map(one).collect()
}

fn ties(req: &Request<'_>, conds: &[CondInfo], t: usize, query: &BoundQuery) -> Vec<Tie> {
    let own = 1u64 << t;
    let slot = req.tables[t].slot;
    let Body::Block(block) = &query.body else {
        return Vec::new();
    };
    let mut ties: Vec<Tie> = Vec::new();
    for (cond, c) in conds.iter().enumerate() {
        let Node::Compare(CmpOp::Eq, comparer, p) = &c.expr.node else {
            continue;
        };
        if c.late || c.nest != req.joins.nest_of[t] {
            continue;
        }
        for (mine, other) in [(&p[0], &p[1]), (&p[1], &p[0])] {
            let (Some(column), Some(from)) = (mine.as_column(), other.as_column()) else {
                continue;
            };
            // What has a slot of the query or behind it would be taken for its own.
            let around = from.slot != slot && from.slot < block.base;
            if column.slot == slot
                && around
                && tells_groups(block, column.ordinal, comparer, mine, other)
                && takes(query, mine)
            {
                ties.push(Tie {
                    cond,
                    expr: c.expr.clone(),
                    column: column.ordinal,
                    needs: c.tables & !own,
                    other: (from.slot, from.ordinal),
                });
            }
        }
    }
    let mut columns: Vec<u16> = ties.iter().map(|t| t.column).collect();
    columns.sort_unstable();
    columns.dedup();
    columns.truncate(MOST_COLUMNS);
    ties.retain(|t| t.column < 64 && columns.contains(&t.column));
    ties
}

/// Whether rows of one group are all equal to a value or all different, and an index may find them.
fn tells_groups(
    block: &BoundBlock,
    ordinal: u16,
    comparer: &Comparer,
    mine: &Expr,
    other: &Expr,
) -> bool {
    let Some(value) = block.output.get(usize::from(ordinal)) else {
        return false;
    };
    let exact = match hashable(comparer, mine, other) {
        Some(Some(collation)) => collation == value.ty.collation,
        Some(None) => true,
        None => false,
    };
    let Some(column) = value.as_column().filter(|_| exact) else {
        return false;
    };
    let table = block.tables.iter().find(|t| t.slot == column.slot);
    match table.map(|t| &t.source) {
        Some(TableSource::Engine(t)) => {
            let mut indexes = t.def.indexes.iter();
            indexes.any(|i| i.parts.iter().any(|p| p.column == column.ordinal))
        }
        _ => false,
    }
}

impl Lateral<'_> {
    /// The equalities that can be used when the tables of `bound` have been read: one for each column.
    fn usable(&self, bound: u64) -> Vec<&Tie> {
        let mut usable: Vec<&Tie> = Vec::new();
        for t in self.ties.iter().filter(|t| t.needs & !bound == 0) {
            match usable.iter_mut().find(|u| u.column == t.column) {
                // What depends on fewer tables has fewer values.
                Some(u) if t.needs.count_ones() < u.needs.count_ones() => *u = t,
                Some(_) => {}
                None => usable.push(t),
            }
        }
        usable
    }

    fn planned(&self, ties: &[&Tie]) -> Result<QueryPlan, SqlError> {
        let mut query = self.query.clone();
        for t in ties {
            put(&mut query, &t.expr, self.slot);
        }
        (self.plan)(query)
    }

    /// What it costs to make it for one key when the tables of `bound` have been read, in rows read; `None` where that cannot be.
    pub fn cost(&self, bound: u64) -> Option<f64> {
        let ties = self.usable(bound);
        let columns = ties.iter().fold(0, |m, t| m | 1u64 << t.column);
        if columns == 0 {
            return None;
        }
        if let Some((_, cost)) = self.known.borrow().iter().find(|k| k.0 == columns) {
            return *cost;
        }
        let plan = self.planned(&ties).ok();
        let few = plan.filter(|q| crate::optimize::rows_of(q) <= MOST_ROWS);
        let cost = few.map(|q| cost_of(&q) + RUN);
        self.known.borrow_mut().push((columns, cost));
        cost
    }

    /// Has it made for one key at a time when the tables of `bound` have been read.
    ///
    /// # Errors
    /// As planning its query.
    pub fn choose(&self, bound: u64, choice: &mut Choice) -> Result<(), SqlError> {
        let ties = self.usable(bound);
        let query: Query<Block> = self.planned(&ties)?;
        choice.rows = crate::optimize::rows_of(&query);
        choice.used = ties.iter().map(|t| t.cond).collect();
        choice.by_key = Some(Box::new(ByKey {
            columns: ties.iter().map(|t| t.other).collect(),
            query: Some(query),
        }));
        Ok(())
    }
}
