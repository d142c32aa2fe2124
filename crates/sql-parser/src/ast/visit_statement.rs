//! The parts of a statement, for those who change one in place: a stored program puts its variables where their names stand.

use super::visit_query::{expr, table_ref};
use super::{
    DeleteTarget, ExplainTarget, Handler, HandlerRows, InsertSource, Part, SetItem, Statement,
    TableRef, With,
};
use std::sync::Arc;

impl Statement {
    /// Calls `f` with everything in the statement that can have a value, the insides first. Names that can stand for columns alone (what INSERT and
    /// UPDATE assign to) are no part.
    pub fn walk_parts_mut(&mut self, f: &mut dyn FnMut(Part<'_>)) {
        match self {
            Statement::Query(q) => q.walk_parts_mut(f),
            Statement::Insert(i) => {
                match &mut i.source {
                    InsertSource::Values(rows) => {
                        rows.iter_mut().flatten().for_each(|e| expr(e, f));
                    }
                    InsertSource::Query(q) => q.walk_parts_mut(f),
                }
                i.on_duplicate
                    .iter_mut()
                    .for_each(|a| expr(&mut a.value, f));
            }
            Statement::Update(u) => {
                with(u.with.as_deref_mut(), f);
                tables(&mut u.tables, f);
                u.assignments.iter_mut().for_each(|a| expr(&mut a.value, f));
                u.selection.iter_mut().for_each(|e| expr(e, f));
                u.order_by.iter_mut().for_each(|o| expr(&mut o.expr, f));
                u.limit.iter_mut().for_each(|e| expr(e, f));
            }
            Statement::Delete(d) => {
                with(d.with.as_deref_mut(), f);
                if let DeleteTarget::Multi { from, .. } = &mut d.target {
                    tables(from, f);
                }
                d.selection.iter_mut().for_each(|e| expr(e, f));
                d.order_by.iter_mut().for_each(|o| expr(&mut o.expr, f));
                d.limit.iter_mut().for_each(|e| expr(e, f));
            }
            Statement::Do(list) => list.iter_mut().for_each(|e| expr(e, f)),
            Statement::Call(c) => c.args.iter_mut().for_each(|e| expr(e, f)),
            Statement::CreateTable(c) => {
                if let Some(q) = &mut c.query {
                    q.walk_parts_mut(f);
                }
            }
            Statement::Explain(e) => {
                if let ExplainTarget::Statement(s) = &mut e.target {
                    s.walk_parts_mut(f);
                }
            }
            Statement::Kill { id, .. } => expr(id, f),
            _ => self.walk_session_parts_mut(f),
        }
    }

    /// The same of statements about the session.
    fn walk_session_parts_mut(&mut self, f: &mut dyn FnMut(Part<'_>)) {
        match self {
            Statement::Set(items) => items.iter_mut().for_each(|i| match i {
                SetItem::UserVar(_, e) | SetItem::Variable { value: e, .. } => expr(e, f),
                _ => {}
            }),
            Statement::Signal(s) | Statement::Resignal(s) => {
                s.items.iter_mut().for_each(|(_, e)| expr(e, f));
            }
            Statement::GetDiagnostics(g) => g.condition.iter_mut().for_each(|e| expr(e, f)),
            Statement::Handler(h) => {
                if let Handler::Read(r) = &mut **h {
                    if let HandlerRows::Key(_, values) = &mut r.rows {
                        values.iter_mut().for_each(|e| expr(e, f));
                    }
                    r.selection.iter_mut().for_each(|e| expr(e, f));
                }
            }
            _ => {}
        }
    }
}

impl super::Expr {
    /// Calls `f` with this expression and everything in it, the insides of queries included, inner parts first.
    pub fn walk_parts_mut(&mut self, f: &mut dyn FnMut(Part<'_>)) {
        expr(self, f);
    }
}

fn with(with: Option<&mut With>, f: &mut dyn FnMut(Part<'_>)) {
    for cte in with.into_iter().flat_map(|w| &mut w.ctes) {
        Arc::make_mut(cte).query.walk_parts_mut(f);
    }
}

fn tables(list: &mut [TableRef], f: &mut dyn FnMut(Part<'_>)) {
    list.iter_mut().for_each(|t| table_ref(t, f));
}
