//! Expressions around subqueries. The scope plans the subquery; here only its use is bound.

use types::SqlError;

use super::operators::cmp_op;
use super::{Binder, SubqueryKind, wrong_columns};
use crate::expr::compare::Comparer;
use crate::expr::node::{CmpOp, Expr, Node, Quantified};
use crate::expr::ty::{Coercibility, ExprType, Shape};
use crate::parse::ast;

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
                Ok(Expr {
                    node: Node::Subquery(s.index),
                    ty,
                })
            }
            ast::Expr::InSubquery(i) => {
                let (op, all) = if i.negated {
                    (CmpOp::Ne, true)
                } else {
                    (CmpOp::Eq, false)
                };
                let x = self.bind_any(&i.expr)?;
                self.quantified(x, op, all, &i.query)
            }
            ast::Expr::Quantified(q) => {
                let x = self.bind_any(&q.expr)?;
                self.quantified(x, cmp_op(q.op), q.all, &q.query)
            }
            _ => Err(SqlError::not_supported("this subquery")),
        }
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
            Self::adopt(&mut x, one);
        }
        let comparers = self
            .part_types(&x)
            .iter()
            .zip(&s.columns)
            .map(|(p, c)| Comparer::choose(p, c, self.cx.collation, op.symbol()))
            .collect::<Result<Vec<_>, _>>()?;
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
