//! Derived tables: those that are nothing but a join become part of the block around them, and conditions on the columns of the others
//! go into their queries. As in MySQL's manual, "Optimizing Derived Tables, View References, and Common Table Expressions with Merging or
//! Materialization" and "Derived Condition Pushdown Optimization".

use crate::bind::from::Cond;
use crate::bind::group::Known;
use crate::bind::places::Places;
use crate::bind::reads::tables_of;
use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::bind::tree::{Body, BoundBlock, BoundQuery};
use crate::optimize::hints::carried;
use crate::optimize::physical::hashing::hashable;
use crate::optimize::rewrite::equalities::{is_by_collation, read_instead};
use crate::optimize::rewrite::unnest::{each_own_expr, is_steady, renumber, subquery_of};
use sql_expr::infer::Arith;
use sql_expr::vars::Switches;
use sql_expr::{CmpOp, Comparer, Expr, Node};
use sql_parser::ast::ViewAlgorithm;

/// Most tables of a block that it grows to: their orders are all compared.
const MOST_TABLES: usize = 12;

/// Brings derived tables that are plain joins into the block.
pub(crate) fn merge_all(block: &mut BoundBlock, switches: Switches) {
    if block.straight {
        return;
    }
    let mut t = 0;
    while t < block.tables.len() {
        if let TableSource::Derived(n) = block.tables[t].source
            && is_to_merge(&block.tables[t], switches)
            && can_merge(block, t, &block.derived[n as usize])
        {
            merge(block, t, n as usize);
        } else {
            t += 1;
        }
    }
}

/// Whether a derived table is to become part of the block, where it can: a view as it says, otherwise as hints and switches say.
fn is_to_merge(t: &FromTable, switches: Switches) -> bool {
    match t.view {
        Some(ViewAlgorithm::Merge) => true,
        Some(ViewAlgorithm::Temptable) => false,
        _ => t.hints().merge.unwrap_or(switches.derived_merge()),
    }
}

/// Whether a select item can be computed wherever its column is read: not a quotient, which has fewer digits as a column.
fn moves(e: &Expr) -> bool {
    !e.any(&|x| {
        matches!(
            x.node,
            Node::Arith(Arith::Div, ..) | Node::Aggregate(_) | Node::Param(..)
        ) || subquery_of(x).is_some()
    })
}

fn can_merge(block: &BoundBlock, t: usize, q: &BoundQuery) -> bool {
    let Body::Block(b) = &q.body else {
        return false;
    };
    let own = &block.tables[t];
    let read_below = |outer: &[(u16, u16)]| outer.iter().any(|o| o.0 == own.slot);
    let free = block.joins.nest_of[t] == 0;
    let beside = block.tables.iter().filter_map(|x| x.lateral.as_deref());
    // What it reads beside it, a table in it would read of the block.
    let apart = own.lateral.is_none() || b.derived.iter().all(|q| q.lowest == u16::MAX);
    let read_beside = { beside }.any(|l| read_below(&l.columns));
    // The order of its rows is seen outside.
    b.order.is_empty()
        && q.order.is_empty()
        && q.limit.is_none()
        && b.group.is_none()
        && b.having.is_none()
        && b.windows.is_none()
        && !b.distinct
        && b.limit.is_none()
        && !b.straight
        && !b.calc_found_rows
        && !b.tables.is_empty()
        && block.tables.len() + b.tables.len() - 1 <= MOST_TABLES
        && block.locks[t].is_none()
        && !read_beside
        && apart
        && !block.subqueries.iter().any(|s| read_below(&s.outer))
        && is_steady(q)
        && b.output.iter().all(|e| match e.as_column() {
            Some(_) => true,
            None => free && moves(e),
        })
}

fn merge(block: &mut BoundBlock, t: usize, number: usize) {
    let slot = block.tables[t].slot;
    let nest = block.joins.nest_of[t];
    let query = &mut block.derived[number];
    let Body::Block(b) = &mut query.body else {
        return;
    };
    let mut inner = std::mem::replace(&mut **b, BoundBlock::empty(0));
    block.base = block.base.min(inner.base);
    block.derived.remove(number);
    let subqueries = block.subqueries.len() as u32;
    each_own_expr(&mut inner, &mut |e| renumber(e, &|i| i + subqueries));
    let values = inner.output;
    each_own_expr(block, &mut |e| replace(e, slot, &values));
    // The inner tables take the place of the derived one; what comes behind it moves up.
    let more = inner.tables.len();
    let moved = |m: u64| spread(m, t, more);
    for n in &mut block.joins.nests {
        n.needs = moved(n.needs);
    }
    for m in &mut block.joins.after {
        *m = moved(*m);
    }
    let first_nest = block.joins.nests.len() as u16;
    let nest_of = |n: u16| if n == 0 { nest } else { n - 1 + first_nest };
    for mut n in inner.joins.nests.into_iter().skip(1) {
        n.parent = nest_of(n.parent);
        n.needs <<= t;
        block.joins.nests.push(n);
    }
    let after = block.joins.after[t];
    let inner_nests: Vec<u16> = inner.joins.nest_of.iter().map(|n| nest_of(*n)).collect();
    block.joins.nest_of.splice(t..=t, inner_nests);
    let inner_after = inner.joins.after.iter().map(|m| (m << t) | after);
    let inner_after: Vec<u64> = inner_after.collect();
    block.joins.after.splice(t..=t, inner_after);
    let conds = inner.joins.conds.into_iter();
    block.joins.conds.extend(conds.map(|c| Cond {
        nest: nest_of(c.nest),
        expr: c.expr,
    }));
    // Derived tables are numbered by block.
    let from = block.derived.len() as u32;
    for x in &mut block.tables {
        if let TableSource::Derived(n) = &mut x.source
            && *n as usize > number
        {
            *n -= 1;
        }
    }
    for x in &mut inner.tables {
        if let TableSource::Derived(n) = &mut x.source {
            *n += from;
        }
    }
    block.hints.orders.extend(carried(inner.hints.orders));
    block.derived.extend(inner.derived);
    let outer_joined = block.tables[t].outer_joined;
    for x in &mut inner.tables {
        x.outer_joined |= outer_joined;
    }
    block.tables.splice(t..=t, inner.tables);
    block.locks.splice(t..=t, inner.locks);
    block.subqueries.extend(inner.subqueries);
}

/// A set of tables, where one becomes several.
fn spread(m: u64, t: usize, more: usize) -> u64 {
    if m == u64::MAX {
        return m;
    }
    let low = m & ((1 << t) - 1);
    let high = (m >> (t + 1)) << (t + more);
    let own = if m & (1 << t) != 0 {
        ((1u64 << more) - 1) << t
    } else {
        0
    };
    low | own | high
}

/// Makes an expression read what a derived table's columns are computed from.
fn replace(e: &mut Expr, slot: u16, values: &[Expr]) {
    if let Node::Column(c) = &e.node
        && c.slot == slot
    {
        let nullable = e.ty.nullable;
        *e = values[usize::from(c.ordinal)].clone();
        e.ty.nullable |= nullable;
        return;
    }
    e.each_child_mut(&mut |x| replace(x, slot, values));
}

/// Whether conditions may go into a derived table.
pub(crate) fn is_open(t: &FromTable, switches: Switches) -> bool {
    let said = t.hints().pushdown;
    said.unwrap_or(switches.derived_condition_pushdown())
}

/// Moves conditions on single derived tables into their queries, where they keep their meaning there.
pub(crate) fn push_down(block: &mut BoundBlock, switches: Switches) {
    if block.derived.is_empty() {
        return;
    }
    let places = Places::new(block.base, block.tables.iter().map(|t| t.slot));
    let mut left = Vec::with_capacity(block.joins.conds.len());
    for c in std::mem::take(&mut block.joins.conds) {
        let reads = tables_of(&c.expr, &places, &block.subqueries);
        let t = reads.trailing_zeros() as usize;
        let one = reads.count_ones() == 1 && t < block.tables.len();
        if one
            && c.nest == 0
            && block.joins.nest_of[t] == 0
            && is_open(&block.tables[t], switches)
            && let TableSource::Derived(n) = block.tables[t].source
            && stands_alone(&c.expr, block.tables[t].slot)
            && takes(&block.derived[n as usize], &c.expr)
        {
            let slot = block.tables[t].slot;
            put(&mut block.derived[n as usize], &c.expr, slot);
        } else {
            left.push(c);
        }
    }
    block.joins.conds = left;
    push_equal(block, switches);
}

/// Copies conditions on a column into the query of a derived table that is joined by equality with it: what is true of one is true of
/// the other.
fn push_equal(block: &mut BoundBlock, switches: Switches) {
    let derived = |block: &BoundBlock, e: &Expr| {
        let c = e.as_column()?;
        let t = block.tables.iter().position(|t| t.slot == c.slot)?;
        match block.tables[t].source {
            TableSource::Derived(n)
                if block.joins.nest_of[t] == 0 && is_open(&block.tables[t], switches) =>
            {
                Some(n as usize)
            }
            _ => None,
        }
    };
    let mut copies: Vec<(usize, Expr, u16)> = Vec::new();
    for c in block.joins.conds.iter().filter(|c| c.nest == 0) {
        let Node::Compare(CmpOp::Eq, comparer, p) = &c.expr.node else {
            continue;
        };
        for (own, other) in [(&p[0], &p[1]), (&p[1], &p[0])] {
            let (Some(n), Some(from), Some(to)) =
                (derived(block, own), other.as_column(), own.as_column())
            else {
                continue;
            };
            let alike = own.ty.shape == other.ty.shape && own.ty.collation == other.ty.collation;
            if from.slot == to.slot || !alike || hashable(comparer, own, other).is_none() {
                continue;
            }
            for k in block.joins.conds.iter().filter(|k| k.nest == 0) {
                let compares = matches!(
                    k.expr.node,
                    Node::Compare(..) | Node::Between(..) | Node::In(_)
                );
                let only = |x: &Expr| match &x.node {
                    Node::Column(k) => (k.slot, k.ordinal) != (from.slot, from.ordinal),
                    _ => false,
                };
                let alike = match comparer {
                    Comparer::Text(id) => is_by_collation(&k.expr, *id),
                    _ => true,
                };
                if !compares || !alike || k.expr.any(&only) || !k.expr.reads_row() {
                    continue;
                }
                let mut e = k.expr.clone();
                read_instead(&mut e, other, own);
                if stands_alone(&e, to.slot) && takes(&block.derived[n], &e) {
                    copies.push((n, e, to.slot));
                }
            }
        }
    }
    for (n, e, slot) in copies {
        put(&mut block.derived[n], &e, slot);
    }
}

/// Whether a condition reads nothing but the table of a slot and has no effects.
fn stands_alone(e: &Expr, slot: u16) -> bool {
    !e.any(&|x| match &x.node {
        Node::Column(c) => c.slot != slot,
        Node::AssignVar(..) | Node::UserVar(_) => true,
        Node::Call(c) => c.def.volatile() || c.def.special(),
        _ => subquery_of(x).is_some(),
    })
}

/// Whether a condition on a query's columns can be checked in it.
pub(crate) fn takes(q: &BoundQuery, e: &Expr) -> bool {
    if q.limit.is_some() || q.is_shared() {
        return false;
    }
    match &q.body {
        Body::Rows(..) | Body::Recursive(_) | Body::Feed(_) | Body::Json(_) => false,
        Body::Set(first, arms) => takes(first, e) && arms.iter().all(|a| takes(&a.query, e)),
        Body::Block(b) => {
            // Fewer rows would change what window functions see.
            let whole = b.limit.is_some() || b.windows.is_some();
            if whole || b.calc_found_rows || b.tables.is_empty() {
                return false;
            }
            if b.output
                .iter()
                .any(|o| o.any(&|x| matches!(x.node, Node::AssignVar(..))))
            {
                return false;
            }
            if b.group.as_ref().is_some_and(|g| g.keys.is_empty()) {
                return false;
            }
            let keys = b.group.as_ref().map(|g| Known::of(g.keys.iter()));
            !e.any(&|x| {
                let Node::Column(c) = &x.node else {
                    return false;
                };
                let value = &b.output[usize::from(c.ordinal)];
                let column = match &value.node {
                    Node::Coerce(inner) => inner,
                    _ => value,
                };
                let plain = match &column.node {
                    Node::Column(c) => !c.utc && keys.as_ref().is_none_or(|k| k.has(column)),
                    Node::Const(_) => true,
                    _ => false,
                };
                !plain
            })
        }
    }
}

pub(crate) fn put(q: &mut BoundQuery, e: &Expr, slot: u16) {
    match &mut q.body {
        Body::Rows(..) | Body::Recursive(_) | Body::Feed(_) | Body::Json(_) => {}
        Body::Set(first, arms) => {
            put(first, e, slot);
            arms.iter_mut().for_each(|a| put(&mut a.query, e, slot));
        }
        Body::Block(b) => {
            let mut expr = e.clone();
            replace(&mut expr, slot, &b.output);
            b.joins.conds.push(Cond { expr, nest: 0 });
        }
    }
}
