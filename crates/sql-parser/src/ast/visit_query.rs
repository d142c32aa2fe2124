//! The parts of a query, for those who change one in place.

use std::sync::Arc;

use super::{
    Expr, FrameBound, JoinCondition, Query, QueryBody, Select, SelectItem, TableFactor, TableRef,
    WindowSpec,
};

/// What is met on a walk through a query, inner parts before what they are in.
pub enum Part<'a> {
    /// A SELECT.
    Select(&'a mut Select),
    /// A table that FROM names.
    Table(&'a mut TableFactor),
    /// An expression. Its own parts come before it.
    Expr(&'a mut Expr),
    /// A query that names a table and nothing else; or any other body.
    Body(&'a mut QueryBody),
    /// A table reference.
    Reference(&'a mut TableRef),
}

impl Query {
    /// Calls `f` with everything in the query, the insides first.
    pub fn walk_parts_mut(&mut self, f: &mut dyn FnMut(Part<'_>)) {
        if let Some(with) = &mut self.with {
            for cte in &mut with.ctes {
                Arc::make_mut(cte).query.walk_parts_mut(f);
            }
        }
        body(&mut self.body, f);
        self.order_by.iter_mut().for_each(|o| expr(&mut o.expr, f));
        if let Some(limit) = &mut self.limit {
            expr(&mut limit.count, f);
            limit.offset.iter_mut().for_each(|e| expr(e, f));
        }
    }
}

impl WindowSpec {
    /// Calls `f` with every expression that stands in it.
    pub fn each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.partition_by.iter_mut().for_each(&mut *f);
        self.order_by.iter_mut().for_each(|o| f(&mut o.expr));
        if let Some(frame) = &mut self.frame {
            for bound in [Some(&mut frame.start), frame.end.as_mut()] {
                if let Some(FrameBound::Preceding(e, _) | FrameBound::Following(e, _)) = bound {
                    f(e);
                }
            }
        }
    }
}

fn body(b: &mut QueryBody, f: &mut dyn FnMut(Part<'_>)) {
    match b {
        QueryBody::Select(s) => select(s, f),
        QueryBody::Values(rows) => rows.iter_mut().flatten().for_each(|e| expr(e, f)),
        QueryBody::Table(_) => {}
        QueryBody::Set(set) => {
            body(&mut set.first, f);
            set.rest.iter_mut().for_each(|t| body(&mut t.body, f));
        }
        QueryBody::Nested(q) => q.walk_parts_mut(f),
    }
    f(Part::Body(b));
}

fn select(s: &mut Select, f: &mut dyn FnMut(Part<'_>)) {
    for item in &mut s.items {
        if let SelectItem::Expr { expr: e, .. } = item {
            expr(e, f);
        }
    }
    s.from.iter_mut().for_each(|t| table_ref(t, f));
    s.selection.iter_mut().for_each(|e| expr(e, f));
    s.group_by.iter_mut().for_each(|e| expr(e, f));
    s.having.iter_mut().for_each(|e| expr(e, f));
    for (_, w) in &mut s.windows {
        w.each_expr_mut(&mut |e| expr(e, f));
    }
    f(Part::Select(s));
}

pub(super) fn table_ref(t: &mut TableRef, f: &mut dyn FnMut(Part<'_>)) {
    match t {
        TableRef::Table(factor) => f(Part::Table(factor)),
        TableRef::Derived(d) => d.query.walk_parts_mut(f),
        TableRef::JsonTable(j) => expr(&mut j.doc, f),
        TableRef::Join(j) => {
            table_ref(&mut j.left, f);
            table_ref(&mut j.right, f);
            if let JoinCondition::On(e) = &mut j.condition {
                expr(e, f);
            }
        }
        TableRef::List(list) => list.iter_mut().for_each(|t| table_ref(t, f)),
    }
    f(Part::Reference(t));
}

pub(super) fn expr(e: &mut Expr, f: &mut dyn FnMut(Part<'_>)) {
    match e {
        Expr::Exists(q) | Expr::Subquery(q) => q.walk_parts_mut(f),
        Expr::InSubquery(s) => s.query.walk_parts_mut(f),
        Expr::Quantified(q) => q.query.walk_parts_mut(f),
        _ => {}
    }
    e.each_child_mut(&mut |child| expr(child, f));
    f(Part::Expr(e));
}
