//! EXISTS that stays a subquery, beside another condition under OR or in the select list: where it reads the row around it by equalities alone,
//! its rows without them are the same for all rows, and are made once: `EXISTS (SELECT .. FROM f WHERE f.x = t.y AND ..)` is
//! `(t.y IN (SELECT f.x FROM f WHERE ..)) IS TRUE`. As MariaDB's "EXISTS-to-IN optimization".
//!
//! It pays where many rows ask, and few are in the list; who asks for few rows looks each up.

use sql_expr::bind::SubqueryKind;
use sql_expr::{CmpOp, Comparer, Expr, ExprType, Node, Quantified, Shape};

use crate::bind::places::Places;
use crate::bind::scope::FromTable;
use crate::bind::source::TableSource;
use crate::bind::tree::{Body, BoundBlock, BoundSub, Destination};
use crate::optimize::physical::hashing::hashable;
use crate::optimize::rewrite::unnest::{each_own_expr, is_asked_once, is_steady, subquery_of};
use crate::optimize::statistics::Statistics;
use crate::optimize::statistics::selectivity::{Estimator, Selectivity};
use engine::Engine;

/// The work of looking a row up for each row that asks, in rows read in order.
const LOOK_UP: f64 = 10.0;
/// By how much a list has to be cheaper.
const PAYS: f64 = 0.5;

/// Rows that a list has at most: they are in memory until the statement ends.
const MOST_LISTED: f64 = 1e6;

/// One equality with the row around: what that has, what the subquery's row has, how they are compared.
type Pair = (Expr, Expr, Comparer);

/// Makes lists of the block's EXISTS where that pays.
pub(crate) fn make_lists(block: &mut BoundBlock, engine: &Engine, estimator: Estimator<'_>) {
    if block.subqueries.is_empty() || block.limit.is_some() && block.group.is_none() {
        return;
    }
    for number in 0..block.subqueries.len() {
        let Some(own) = pairs_of(block, number) else {
            continue;
        };
        if !is_asked_once(block, number) || !pays(block, number, &own, engine, estimator) {
            continue;
        }
        make_list(block, number, &own);
    }
}

/// The places of a subquery's conditions that are equalities with the row around, where nothing else in it reads that.
fn pairs_of(block: &BoundBlock, number: usize) -> Option<Vec<usize>> {
    let sub = &block.subqueries[number];
    let Body::Block(b) = &sub.query.body else {
        return None;
    };
    let places = Places::new(block.base, block.tables.iter().map(|t| t.slot));
    let around = |slot: u16| places.of(slot).is_some();
    let plain = sub.kind == SubqueryKind::Exists
        && sub.correlated
        && sub.outer.iter().all(|(slot, _)| around(*slot))
        && matches!(sub.query.into, Destination::Client)
        && sub.query.order.is_empty()
        && sub.query.limit.is_none()
        && is_steady(&sub.query)
        && b.derived.is_empty()
        && b.subqueries.is_empty()
        && !b.tables.is_empty()
        && b.group.is_none()
        && b.having.is_none()
        && b.limit.is_none()
        && !b.straight
        && b.hints.subquery.is_none();
    if !plain {
        return None;
    }
    let reads = |e: &Expr, of: &dyn Fn(u16) -> bool| {
        e.any(&|x| matches!(&x.node, Node::Column(c) if of(c.slot)))
    };
    let own = |slot: u16| b.tables.iter().any(|t| t.slot == slot);
    let mut found = Vec::new();
    for (n, c) in b.joins.conds.iter().enumerate() {
        if !reads(&c.expr, &around) {
            continue;
        }
        let Node::Compare(CmpOp::Eq, comparer, p) = &c.expr.node else {
            return None;
        };
        let fits = |outside: &Expr, inside: &Expr| {
            !reads(outside, &own)
                && !reads(inside, &around)
                && reads(inside, &own)
                && hashable(comparer, inside, outside).is_some()
        };
        if c.nest != 0 || !fits(&p[0], &p[1]) && !fits(&p[1], &p[0]) {
            return None;
        }
        found.push(n);
    }
    (!found.is_empty()).then_some(found)
}

/// The only table of a block, where it is a stored one.
fn single(b: &BoundBlock) -> Option<&FromTable> {
    match &b.tables[..] {
        [t] if matches!(t.source, TableSource::Engine(_)) => Some(t),
        _ => None,
    }
}

/// Whether making the list costs less than looking for each row that asks.
fn pays(
    block: &BoundBlock,
    number: usize,
    pairs: &[usize],
    engine: &Engine,
    estimator: Estimator<'_>,
) -> bool {
    let Body::Block(b) = &block.subqueries[number].query.body else {
        return false;
    };
    let (Some(outer), Some(inner)) = (single(block), single(b)) else {
        return false;
    };
    let rows = |block: &BoundBlock, t: &FromTable, without: &[usize]| {
        let tables = [Statistics::of(engine, t, &[])];
        let places = Places::new(t.slot, [t.slot].into_iter());
        let selectivity = Selectivity {
            estimator,
            tables: &tables,
            places: &places,
        };
        let conds = block.joins.conds.iter().enumerate();
        let own = conds
            .filter(|(n, c)| !without.contains(n) && !c.expr.any(&|x| subquery_of(x).is_some()));
        let share: f64 = own.map(|(_, c)| selectivity.of(&c.expr)).product();
        (tables[0].rows, tables[0].rows * share)
    };
    let (_, ask) = rows(block, outer, &[]);
    let (all, listed) = rows(b, inner, pairs);
    let TableSource::Engine(table) = &inner.source else {
        return false;
    };
    let leads = |column: u16| {
        let mut indexes = table.def.indexes.iter();
        indexes.any(|i| i.parts.first().is_some_and(|p| p.column == column))
    };
    let indexed = pairs.iter().any(|n| match &b.joins.conds[*n].expr.node {
        Node::Compare(_, _, p) => p.iter().any(|e| {
            e.as_column()
                .is_some_and(|c| c.slot == inner.slot && leads(c.ordinal))
        }),
        _ => false,
    });
    if listed > MOST_LISTED {
        return false;
    }
    let each = if indexed { LOOK_UP } else { all };
    let list = all.min(listed * LOOK_UP) + listed + ask;
    list < PAYS * ask * each
}

fn make_list(block: &mut BoundBlock, number: usize, pairs: &[usize]) {
    let sub: &mut BoundSub = &mut block.subqueries[number];
    let Body::Block(b) = &mut sub.query.body else {
        return;
    };
    let slots: Vec<u16> = b.tables.iter().map(|t| t.slot).collect();
    let mut at = 0;
    let (taken, left): (Vec<_>, Vec<_>) =
        std::mem::take(&mut b.joins.conds)
            .into_iter()
            .partition(|_| {
                at += 1;
                pairs.contains(&(at - 1))
            });
    b.joins.conds = left;
    let own = |e: &Expr| e.any(&|x| matches!(&x.node, Node::Column(c) if slots.contains(&c.slot)));
    let split = |e: Expr| -> Option<Pair> {
        let Node::Compare(_, comparer, p) = e.node else {
            return None;
        };
        let [x, y] = *p;
        Some(match own(&x) {
            true => (y, x, comparer),
            false => (x, y, comparer),
        })
    };
    let pairs: Vec<Pair> = taken.into_iter().filter_map(|c| split(c.expr)).collect();
    b.output = pairs.iter().map(|p| p.1.clone()).collect();
    sub.query.types = b.output.iter().map(|e| e.ty).collect();
    sub.query.lowest = u16::MAX;
    sub.kind = SubqueryKind::Rows;
    sub.correlated = false;
    sub.outer.clear();
    let comparers = pairs.iter().map(|p| p.2.clone()).collect();
    let mut outside: Vec<Expr> = pairs.into_iter().map(|p| p.0).collect();
    let expr = match outside.len() {
        1 => outside.swap_remove(0),
        n => Expr {
            ty: ExprType::plain(Shape::Row(n as u16), true),
            node: Node::Row(outside),
        },
    };
    let listed = Expr {
        node: Node::Quantified(Box::new(Quantified {
            expr,
            op: CmpOp::Eq,
            all: false,
            comparers,
            subquery: number as u32,
        })),
        ty: ExprType::truth(true),
    };
    let mut listed = Some(listed);
    each_own_expr(block, &mut |e| put(e, number as u32, &mut listed));
}

/// Puts the list where EXISTS was.
fn put(e: &mut Expr, number: u32, listed: &mut Option<Expr>) {
    if matches!(&e.node, Node::Exists(i) if *i == number)
        && let Some(listed) = listed.take()
    {
        e.node = Node::IsTruth(Box::new(listed), true, false);
        return;
    }
    e.each_child_mut(&mut |x| put(x, number, listed));
}
