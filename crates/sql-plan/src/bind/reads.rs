//! Which tables and subqueries an expression reads.

use super::places::Places;
use super::tree::{Body, BoundBlock, BoundQuery, FIRST_SPECIAL_SLOT, Sub};
use sql_expr::{Expr, Node};

/// The subqueries an expression uses, by index.
pub fn subqueries_of(e: &Expr, out: &mut Vec<u32>) {
    e.walk(&mut |x| {
        match &x.node {
            Node::Subquery(i) | Node::Exists(i) => out.push(*i),
            Node::Quantified(q) => out.push(q.subquery),
            _ => {}
        }
        true
    });
}

/// The tables of a block (bits, by place) that an expression reads, itself or through its subqueries.
pub(crate) fn tables_of<B>(e: &Expr, places: &Places, subqueries: &[Sub<B>]) -> u64 {
    let mut bits = 0;
    let mut add = |slot: u16| {
        match places.of(slot) {
            Some(place) => bits |= 1u64 << place,
            // Of the block, but no table.
            None if slot >= places.base() && slot < FIRST_SPECIAL_SLOT => bits |= 1 << 63,
            None => {}
        }
    };
    let mut used = Vec::new();
    e.walk(&mut |x| {
        match &x.node {
            Node::Column(c) => add(c.slot),
            Node::Subquery(i) | Node::Exists(i) => used.push(*i),
            Node::Quantified(q) => used.push(q.subquery),
            _ => {}
        }
        true
    });
    for i in used {
        for &(slot, _) in subqueries.get(i as usize).map_or(&[][..], |s| &s.outer) {
            add(slot);
        }
    }
    bits
}

/// The columns with slots below `below` that a query reads.
pub(crate) fn outer_columns(q: &BoundQuery, below: u16, out: &mut Vec<(u16, u16)>) {
    let mut visit = |e: &Expr| {
        e.walk(&mut |x| {
            if let Node::Column(c) = &x.node
                && c.slot < below
                && !out.contains(&(c.slot, c.ordinal))
            {
                out.push((c.slot, c.ordinal));
            }
            true
        });
    };
    each_expr(q, &mut visit);
}

/// Calls `f` with every expression of a query, subqueries included.
pub(crate) fn each_expr(q: &BoundQuery, f: &mut dyn FnMut(&Expr)) {
    match &q.body {
        Body::Block(b) => block_exprs(b, f),
        Body::Rows(rows, subs) => {
            rows.iter().flatten().for_each(&mut *f);
            subs.iter().for_each(|s| each_expr(&s.query, f));
        }
        Body::Set(first, arms) => {
            each_expr(first, f);
            arms.iter().for_each(|a| each_expr(&a.query, f));
        }
        Body::Recursive(r) => {
            each_expr(&r.seed, f);
            r.members.iter().for_each(|q| each_expr(q, f));
        }
        Body::Feed(_) => {}
        Body::Json(j) => f(&j.doc),
    }
    q.order.iter().for_each(|k| f(&k.expr));
}

/// Calls `f` with every column that a block and what stands in it read.
pub(crate) fn columns_of(b: &BoundBlock, f: &mut dyn FnMut(u16, u16)) {
    block_exprs(b, &mut |e| {
        e.walk(&mut |x| {
            if let Node::Column(c) = &x.node {
                f(c.slot, c.ordinal);
            }
            true
        });
    });
}

fn block_exprs(b: &BoundBlock, f: &mut dyn FnMut(&Expr)) {
    b.derived.iter().for_each(|q| each_expr(q, f));
    b.subqueries.iter().for_each(|s| each_expr(&s.query, f));
    b.joins.conds.iter().for_each(|c| f(&c.expr));
    if let Some(g) = &b.group {
        g.keys.iter().for_each(&mut *f);
        for a in &g.aggregates {
            a.args.iter().for_each(&mut *f);
            a.order_by.iter().for_each(|(e, _)| f(e));
        }
    }
    if let Some(w) = &b.windows {
        w.exprs().into_iter().for_each(&mut *f);
    }
    b.having.iter().chain(&b.output).for_each(&mut *f);
    b.order.iter().for_each(|k| f(&k.expr));
}
