//! Expressions around subqueries. The scope plans the subquery; here only its use is bound.

use types::SqlError;

use super::operators::cmp_op;
use super::{Binder, NoColumns, SubqueryKind, wrong_columns};
use crate::arms::adopt;
use crate::compare::Comparer;
use crate::node::{CmpOp, Expr, Node, Quantified};
use crate::ty::{Coercibility, ExprType, Shape};
use sql_parser::ast;

impl Binder<'_> {
    pub(super) fn subquery(&mut self, e: &ast::Expr) -> Result<Expr, SqlError> {
        match e {
            ast::Expr::Exists(q) => {
                let s = self.scope.subquery(q, SubqueryKind::Exists)?;
                Ok(Expr {
                    node: Node::Exists(s.index),
                    ty: ExprType::truth(false),
                })
            }
            ast::Expr::Subquery(q) => {
                if let Some(constant) = self.reduced(q) {
                    return Ok(constant);
                }
                let s = self.scope.subquery(q, SubqueryKind::Scalar)?;
                let ty = match s.columns.as_slice() {
                    [one] => {
                        let mut ty = one.or_null();
                        ty.bits = false;
                        if ty.coercibility == Coercibility::Literal {
                            ty.coercibility = Coercibility::Implicit;
                        }
                        ty
                    }
                    many => {
                        let ty = ExprType::plain(Shape::Row(many.len() as u16), true);
                        self.rows.push((s.index, s.columns));
                        ty
                    }
                };
                let value = Expr {
                    node: Node::Subquery(s.index),
                    ty,
                };
                // What a subquery hands out of an ENUM or a SET is text, also where a number is asked for.
                Ok(value.coerced_to(&ty.words_as_text(), self.cx))
            }
            ast::Expr::InSubquery(i) => {
                let (op, all) = if i.negated {
                    (CmpOp::Ne, true)
                } else {
                    (CmpOp::Eq, false)
                };
                if let Some(value) = self.one_value(&i.query) {
                    let op = if i.negated {
                        ast::BinaryOp::Ne
                    } else {
                        ast::BinaryOp::Eq
                    };
                    return self.binary(op, &i.expr, value);
                }
                let x = self.bind_any(&i.expr)?;
                self.quantified(x, op, all, &i.query)
            }
            ast::Expr::Quantified(q) => {
                // Of one row, ANY and ALL are the comparison.
                if let Some(value) = self.one_value(&q.query) {
                    return self.binary(q.op, &q.expr, value);
                }
                let x = self.bind_any(&q.expr)?;
                self.quantified(x, cmp_op(q.op), q.all, &q.query)
            }
            _ => Err(SqlError::not_supported("this subquery")),
        }
    }

    /// The constant that a subquery without tables and conditions is: it takes the subquery's place, as if it had been written there.
    /// So a literal stays one, a quotient keeps its digits, and what IF and CASE choose is the number it was.
    fn reduced(&self, q: &ast::Query) -> Option<Expr> {
        let expr = bare(q)?;
        let constant = Binder::new(self.cx, &mut NoColumns, self.clause)
            .bind(expr)
            .ok()?;
        let alike = matches!(constant.node, Node::Const(_)) || constant.hands_on_number();
        alike.then_some(constant)
    }

    /// What IN, ANY and ALL compare with where the subquery is one constant or one column of a query around: a comparison takes their place.
    fn one_value<'q>(&mut self, q: &'q ast::Query) -> Option<&'q ast::Expr> {
        let expr = bare(q)?;
        let column = matches!(expr, ast::Expr::Column(_)) && self.bind(expr).is_ok();
        (column || self.reduced(q).is_some()).then_some(expr)
    }

    fn quantified(
        &mut self,
        mut x: Expr,
        op: CmpOp,
        all: bool,
        query: &ast::Query,
    ) -> Result<Expr, SqlError> {
        let s = self.scope.subquery(query, SubqueryKind::Rows)?;
        let n = super::operators::width(&x);
        if n != s.columns.len() {
            return Err(wrong_columns(n));
        }
        if let [one] = s.columns.as_slice() {
            adopt(&mut x, one);
        }
        let comparers = self
            .part_types(&x)
            .iter()
            .zip(&s.columns)
            .map(|(p, c)| {
                let how = Comparer::choose(p, c, self.connection(), op.symbol())?;
                Ok(how.by_digits(p, c))
            })
            .collect::<Result<Vec<_>, SqlError>>()?;
        Ok(Expr {
            node: Node::Quantified(Box::new(Quantified {
                expr: x,
                op,
                all,
                comparers,
                subquery: s.index,
            })),
            ty: ExprType::truth(true),
        })
    }
}

/// The one expression of a query without tables and conditions.
fn bare(q: &ast::Query) -> Option<&ast::Expr> {
    let ast::QueryBody::Select(s) = &q.body else {
        return None;
    };
    let bare = q.with.is_none()
        && q.order_by.is_empty()
        && q.limit.is_none()
        && q.into.is_none()
        && s.from.is_empty()
        && s.selection.is_none()
        && s.group_by.is_empty()
        && s.having.is_none()
        && s.windows.is_empty();
    match s.items.as_slice() {
        [ast::SelectItem::Expr { expr, .. }] if bare => Some(expr),
        _ => None,
    }
}
