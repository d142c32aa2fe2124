//! The parts of an expression, for those who look through one or change it in place.

use super::{ColumnRef, Expr, JsonOn, Over};

impl Expr {
    /// Calls `f` with every direct part. Queries inside are not entered.
    pub fn each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Null
            | Expr::Bool(_)
            | Expr::Int(_)
            | Expr::Decimal(_)
            | Expr::Float(_)
            | Expr::Str(_)
            | Expr::Introduced(_)
            | Expr::Hex(_)
            | Expr::Bit(_)
            | Expr::Temporal(..)
            | Expr::Param(_)
            | Expr::Column(_)
            | Expr::UserVar(_)
            | Expr::SysVar(_)
            | Expr::Default
            | Expr::DefaultOf(_)
            | Expr::Values(_)
            | Expr::Exists(_)
            | Expr::Subquery(_)
            | Expr::JsonArrow(_) => {}
            Expr::AssignUserVar(_, e)
            | Expr::Unary(_, e)
            | Expr::IsNull { expr: e, .. }
            | Expr::IsTruth { expr: e, .. }
            | Expr::ConvertUsing(e, _)
            | Expr::Collate(e, _)
            | Expr::Extract(_, e)
            | Expr::GetFormat(_, e) => f(e),
            Expr::Binary(_, a, b) | Expr::MemberOf(a, b) => [a, b].into_iter().for_each(|e| f(e)),
            Expr::Row(list) | Expr::And(list) | Expr::Or(list) => list.iter_mut().for_each(f),
            Expr::Between(b) => [&mut b.expr, &mut b.low, &mut b.high]
                .into_iter()
                .for_each(f),
            Expr::InList(l) => {
                f(&mut l.expr);
                l.list.iter_mut().for_each(f);
            }
            Expr::InSubquery(s) => f(&mut s.expr),
            Expr::Quantified(q) => f(&mut q.expr),
            Expr::Like(l) => {
                [&mut l.expr, &mut l.pattern].into_iter().for_each(&mut *f);
                l.escape.iter_mut().for_each(f);
            }
            Expr::Regexp(r) => [&mut r.expr, &mut r.pattern].into_iter().for_each(f),
            Expr::Case(c) => {
                c.operand.iter_mut().for_each(&mut *f);
                for (when, then) in &mut c.arms {
                    f(when);
                    f(then);
                }
                c.otherwise.iter_mut().for_each(f);
            }
            Expr::Cast(c) => f(&mut c.expr),
            Expr::DateArith(d) => [&mut d.date, &mut d.amount].into_iter().for_each(f),
            Expr::TimestampDiff(d) => [&mut d.from, &mut d.to].into_iter().for_each(f),
            Expr::Trim(t) => {
                t.what.iter_mut().for_each(&mut *f);
                f(&mut t.expr);
            }
            Expr::CharFn(c) => c.args.iter_mut().for_each(f),
            Expr::WeightString(w) => f(&mut w.expr),
            Expr::JsonValue(j) => {
                [&mut j.doc, &mut j.path].into_iter().for_each(&mut *f);
                for on in [&mut j.on_empty, &mut j.on_error] {
                    if let Some(JsonOn::Default(e)) = on {
                        f(e);
                    }
                }
            }
            Expr::Match(m) => f(&mut m.against),
            Expr::Call(c) => c.args.iter_mut().for_each(f),
            Expr::Aggregate(a) => {
                a.args.iter_mut().for_each(&mut *f);
                a.order_by.iter_mut().for_each(|o| f(&mut o.expr));
                if let Some(Over::Spec(w)) = &mut a.over {
                    w.each_expr_mut(f);
                }
            }
            Expr::Window(w) => {
                w.args.iter_mut().for_each(&mut *f);
                if let Over::Spec(w) = &mut w.over {
                    w.each_expr_mut(f);
                }
            }
        }
    }

    /// Calls `f` with this expression and everything in it, parents first, until it fails.
    ///
    /// # Errors
    /// The first of `f`.
    pub fn walk_mut<E>(&mut self, f: &mut dyn FnMut(&mut Expr) -> Result<(), E>) -> Result<(), E> {
        f(self)?;
        let mut said = Ok(());
        self.each_child_mut(&mut |child| {
            if said.is_ok() {
                said = child.walk_mut(f);
            }
        });
        said
    }

    /// The column that this names, where it does.
    pub fn column_mut(&mut self) -> Option<&mut ColumnRef> {
        match self {
            Expr::Column(c) | Expr::DefaultOf(c) | Expr::Values(c) => Some(c),
            Expr::JsonArrow(j) => Some(&mut j.column),
            _ => None,
        }
    }
}
