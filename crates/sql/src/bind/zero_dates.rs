//! `d IS NULL` as a condition on a DATE or DATETIME column that is declared NOT NULL: it holds for the zero date (MySQL's manual,
//! "Comparison Functions and Operators", IS NULL: for ODBC, which has no such date). Only as a condition, or a member of one with AND and OR;
//! and not in the ON of an outer join.

use types::{Date, DateTime};

use super::scope::FromTable;
use super::source::TableSource;
use sql_expr::{CmpOp, Comparer, Expr, ExprType, Node, Shape, Val};

/// Lets the zero date count as NULL in a condition of WHERE.
pub(super) fn count_as_null(e: &mut Expr, tables: &[FromTable]) {
    match &mut e.node {
        Node::And(parts) | Node::Or(parts) => {
            parts.iter_mut().for_each(|p| count_as_null(p, tables));
        }
        Node::IsNull(x, false) => {
            if let Some(is_zero) = is_zero(x, tables) {
                let nullable = is_zero.ty.nullable;
                let is_null = std::mem::replace(e, Expr::null());
                // Of a table that may have no row, both are asked.
                *e = match nullable {
                    true => Expr {
                        ty: ExprType::truth(true),
                        node: Node::Or(vec![is_null, is_zero]),
                    },
                    false => is_zero,
                };
            }
        }
        _ => {}
    }
}

/// The same in ON, which is WHERE where the join is of nest 0.
pub(super) fn count_in_join(e: &mut Expr, nest: u16, tables: &[FromTable]) {
    if nest == 0 {
        count_as_null(e, tables);
    }
}

/// Whether a column is the zero date, where it is one of those.
fn is_zero(x: &Expr, tables: &[FromTable]) -> Option<Expr> {
    let zero = match x.ty.shape {
        Shape::Date => Val::Date(Date::ZERO),
        Shape::DateTime(fsp) => Val::DateTime(DateTime::ZERO.with_fsp(fsp)),
        _ => return None,
    };
    let c = x.as_column()?;
    let declared = tables.iter().find(|t| t.slot == c.slot)?;
    let TableSource::Engine(table) = &declared.source else {
        return None;
    };
    if table.def.columns[usize::from(c.ordinal)].nullable {
        return None;
    }
    let mut ty = x.ty;
    ty.nullable = false;
    Some(Expr {
        ty: ExprType::truth(x.ty.nullable || declared.outer_joined),
        node: Node::Compare(
            CmpOp::Eq,
            Comparer::DateTime,
            Box::new([x.clone(), Expr::constant(zero, ty)]),
        ),
    })
}
