//! From the bound tables and conditions of a block to the steps that carry it out: outer joins turned into inner ones where a
//! condition rejects their NULL rows, tables ordered, conditions placed at the earliest step that has what they read.

use types::SqlError;

use super::access::{Allowed, Choice, choose};
use super::order;
use super::range::rejects_null;
use super::steps::build_steps;
use crate::bind::from::{Cond, Joins, Nest};
use crate::bind::reads::{subqueries_of, tables_of};
use crate::bind::scope::FromTable;
use crate::bind::tree::{BoundBlock, BoundSub};
use crate::plan::{SortKey, Step};
use sql_expr::agg::AggSpec;
use sql_expr::{Expr, Node};

/// What a block wants.
pub(crate) struct Request<'a> {
    /// The block's tables.
    pub tables: &'a [FromTable],
    /// Its joins and conditions.
    pub joins: Joins,
    /// Its subqueries.
    pub subqueries: &'a [BoundSub],
    /// Its first slot.
    pub base: u16,
    /// Tables are read in the order written.
    pub straight: bool,
    /// The order its rows should come in.
    pub order: &'a [SortKey],
    /// Few rows may be wanted.
    pub has_limit: bool,
    /// Grouping keys and aggregates.
    pub group: Option<(&'a [Expr], &'a [AggSpec])>,
}

/// How a block is carried out.
pub(crate) struct Found {
    /// The steps.
    pub steps: Vec<Step>,
    /// Conditions that read no table.
    pub constant: Vec<Expr>,
    /// The steps deliver the order asked for.
    pub ordered: bool,
}

/// A condition and what it reads.
pub(crate) struct CondInfo {
    /// The condition.
    pub expr: Expr,
    /// Its nest.
    pub nest: u16,
    /// The tables it reads, by place.
    pub tables: u64,
    /// It needs a subquery per row or has to wait.
    pub late: bool,
    base: u16,
}

impl CondInfo {
    fn new(c: Cond, base: u16, subqueries: &[BoundSub]) -> CondInfo {
        let mut used = Vec::new();
        subqueries_of(&c.expr, &mut used);
        let correlated = used.iter().any(|&i| subqueries[i as usize].correlated);
        CondInfo {
            tables: tables_of(&c.expr, base, subqueries),
            late: correlated || c.expr.has_special(),
            expr: c.expr,
            nest: c.nest,
            base,
        }
    }

    /// Whether a part of the condition reads no tables but those of `bound`.
    pub fn reads_only(&self, e: &Expr, bound: u64) -> bool {
        tables_of::<BoundBlock>(e, self.base, &[]) & !bound == 0
    }

    /// Whether it yields the same for every row of the block.
    fn constant(&self) -> bool {
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

/// The order of the tables and how each is read.
pub(crate) struct Ordered {
    /// Tables by place, in order.
    pub tables: Vec<usize>,
    /// How each is read, in that order.
    pub choices: Vec<Choice>,
}

/// Plans the joins of a block.
pub(crate) fn plan(mut req: Request<'_>) -> Result<Found, SqlError> {
    let conds = std::mem::take(&mut req.joins.conds);
    let mut conds: Vec<CondInfo> = conds
        .into_iter()
        .map(|c| CondInfo::new(c, req.base, req.subqueries))
        .collect();
    dissolve_nests(&mut req.joins, &mut conds, req.base);
    let mut constant = Vec::new();
    let mut i = 0;
    while i < conds.len() {
        if conds[i].constant() || req.tables.is_empty() && !conds[i].late {
            constant.push(conds.remove(i).expr);
        } else {
            i += 1;
        }
    }
    if req.tables.is_empty() {
        // Conditions that wait or read a surrounding row still decide.
        constant.extend(conds.into_iter().map(|c| c.expr));
        return Ok(Found {
            steps: Vec::new(),
            constant,
            ordered: true,
        });
    }
    let allowed = req
        .tables
        .iter()
        .map(Allowed::new)
        .collect::<Result<Vec<_>, _>>()?;
    let mut ordered = order_tables(&req, &allowed, &conds);
    let sorted = order::satisfy(&req, &allowed, &conds, &mut ordered);
    let at_most = order::first_of_index(&req, &allowed, &conds, &mut ordered);
    let mut steps = build_steps(&req, ordered, conds);
    if let Some(n) = at_most {
        steps[0].at_most = Some(n);
    }
    Ok(Found {
        steps,
        constant,
        ordered: sorted,
    })
}

/// Turns an outer join into an inner one where a condition around it can only hold for joined rows.
fn dissolve_nests(joins: &mut Joins, conds: &mut [CondInfo], base: u16) {
    loop {
        let dissolved = (1..joins.nests.len()).find(|&n| {
            let n = n as u16;
            let parent = joins.nests[usize::from(n)].parent;
            if parent == n || !joins.nest_of.contains(&n) {
                return false;
            }
            let inside = |slot: u16| {
                joins
                    .nest_of
                    .get(usize::from(slot.wrapping_sub(base)))
                    .is_some_and(|&o| o == n)
            };
            conds
                .iter()
                .any(|c| c.nest == parent && rejects_null(&c.expr, &inside))
        });
        let Some(n) = dissolved else { return };
        let n = n as u16;
        let parent = joins.nests[usize::from(n)].parent;
        for t in joins.nest_of.iter_mut().filter(|t| **t == n) {
            *t = parent;
        }
        for c in conds.iter_mut().filter(|c| c.nest == n) {
            c.nest = parent;
        }
        for x in joins.nests.iter_mut().filter(|x| x.parent == n) {
            x.parent = parent;
        }
        joins.nests[usize::from(n)] = Nest {
            parent: n,
            needs: u64::MAX,
        };
    }
}

fn order_tables(req: &Request<'_>, allowed: &[Allowed], conds: &[CondInfo]) -> Ordered {
    let mut out = Ordered {
        tables: Vec::new(),
        choices: Vec::new(),
    };
    let mut placed = 0u64;
    place_nest(req, allowed, conds, 0, &mut placed, &mut out);
    out
}

fn place_nest(
    req: &Request<'_>,
    allowed: &[Allowed],
    conds: &[CondInfo],
    nest: u16,
    placed: &mut u64,
    out: &mut Ordered,
) {
    let joins = &req.joins;
    let mut members: Vec<usize> = (0..joins.nest_of.len())
        .filter(|&t| joins.nest_of[t] == nest)
        .collect();
    let mut inner: Vec<u16> = (1..joins.nests.len() as u16)
        .filter(|&n| joins.nests[usize::from(n)].parent == nest && n != nest)
        .collect();
    while !members.is_empty() || !inner.is_empty() {
        let mut best: Option<(usize, Choice)> = None;
        for (i, &t) in members.iter().enumerate() {
            let ready = joins.after[t] & !*placed == 0;
            if !ready || (req.straight && i > 0) {
                continue;
            }
            let c = choose(&req.tables[t], &allowed[t], conds, nest, *placed);
            if best.as_ref().is_none_or(|(_, b)| c.rows < b.rows) {
                best = Some((i, c));
            }
        }
        if let Some((i, c)) = best {
            let t = members.remove(i);
            *placed |= 1 << t;
            out.tables.push(t);
            out.choices.push(c);
            continue;
        }
        let ready = inner
            .iter()
            .position(|&n| joins.nests[usize::from(n)].needs & !*placed == 0)
            .or(if members.is_empty() { Some(0) } else { None });
        if let Some(i) = ready.filter(|_| !inner.is_empty()) {
            let n = inner.remove(i);
            place_nest(req, allowed, conds, n, placed, out);
            continue;
        }
        // What waits for each other is read in the order written.
        let t = members.remove(0);
        let c = choose(&req.tables[t], &allowed[t], conds, nest, *placed);
        *placed |= 1 << t;
        out.tables.push(t);
        out.choices.push(c);
    }
}
