//! `d IS NULL` as a condition on a DATE or DATETIME column that is declared NOT NULL: it holds for the zero date (MySQL's manual,
//! "Comparison Functions and Operators", IS NULL: for ODBC, which has no such date). Only as a condition, or a member of one with AND and OR;
//! and not in the ON of an outer join.
//!
//! With `sql_auto_is_null` an AUTO_INCREMENT column IS NULL where it has the last generated value, if that is the whole WHERE: for ODBC, too.

use types::{Date, DateTime};

use sql_expr::{CmpOp, Comparer, Expr, ExprType, Node, Shape, Val, last_id_as_null_call};

/// Of a column that is declared NOT NULL, by slot and place, whether its table may have no row; `None` for other columns.
type NotNull<'a> = dyn Fn(u16, u16) -> Option<bool> + 'a;

/// Lets the zero date count as NULL in a condition.
pub(super) fn count_as_null(e: &mut Expr, declared: &NotNull<'_>) {
    match &mut e.node {
        Node::And(parts) | Node::Or(parts) => {
            parts.iter_mut().for_each(|p| count_as_null(p, declared));
        }
        Node::IsNull(x, false) => {
            if let Some(is_zero) = is_zero(x, declared) {
                let both = is_zero.ty.nullable;
                let is_null = std::mem::replace(e, is_zero);
                if both {
                    let is_zero = std::mem::replace(e, Expr::null());
                    *e = Expr {
                        ty: ExprType::truth(true),
                        node: Node::Or(vec![is_null, is_zero]),
                    };
                }
            }
        }
        _ => {}
    }
}

/// Whether a column is the zero date, where it is one of those; NULL where its table has no row.
fn is_zero(x: &Expr, declared: &NotNull<'_>) -> Option<Expr> {
    let zero = match x.ty.shape {
        Shape::Date => Val::Date(Date::ZERO),
        Shape::DateTime(fsp) => Val::DateTime(DateTime::ZERO.with_fsp(fsp)),
        _ => return None,
    };
    let c = x.as_column()?;
    let missing = declared(c.slot, c.ordinal)?;
    let mut ty = x.ty;
    ty.nullable = false;
    Some(Expr {
        ty: ExprType::truth(missing),
        node: Node::Compare(
            CmpOp::Eq,
            Comparer::DateTime,
            Box::new([x.clone(), Expr::constant(zero, ty)]),
        ),
    })
}

/// Lets `IS NULL` about a column that is numbered by its table find the last generated value.
pub(super) fn last_id_as_null(e: &mut Expr, numbered: &dyn Fn(u16, u16) -> bool) {
    let x = match &e.node {
        Node::IsNull(x, false) => x,
        Node::Not(not) => match &not.node {
            Node::IsNull(x, true) => x,
            _ => return,
        },
        _ => return,
    };
    if !x.as_column().is_some_and(|c| numbered(c.slot, c.ordinal)) {
        return;
    }
    let comparer = match x.ty.is_integer() {
        true => Comparer::Int,
        false => Comparer::Double,
    };
    let both = Box::new([(**x).clone(), last_id_as_null_call()]);
    *e = Expr {
        ty: ExprType::truth(true),
        node: Node::Compare(CmpOp::Eq, comparer, both),
    };
}
