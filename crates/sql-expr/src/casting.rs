//! CAST of an expression. What becomes of a value is `cast`'s.

use types::SqlError;

use super::cast_to::CastTo;
use super::ctx::{EvalCtx, RowSource};
use super::json;
use super::node::Expr;
use super::ty::Shape;
use super::val::Val;
use super::{cast, overflow};

/// CAST(e AS to).
pub(super) fn cast<'a>(
    e: &'a Expr,
    to: CastTo,
    cx: &'a EvalCtx<'_>,
    row: &'a dyn RowSource,
) -> Result<Val<'a>, SqlError> {
    if e.ty.shape == Shape::Json
        && let Some(name) = name_outside(to)
    {
        let v = e.eval(cx, row)?;
        let v = json::outside(v, name, e.short_name(), cx);
        // There is no date that it could be; as a number it is 0.
        let v = v.unwrap_or(match to {
            CastTo::Date | CastTo::Time(_) | CastTo::DateTime(_) | CastTo::Year => Val::Null,
            _ => Val::Int(0),
        });
        return cast_value(v, e, to, cx);
    }
    // SIGNED and UNSIGNED read text as it is.
    let v = match to {
        CastTo::Decimal(..) | CastTo::Float | CastTo::Double | CastTo::Year => {
            e.eval_number(cx, row)?
        }
        CastTo::Date | CastTo::Time(_) | CastTo::DateTime(_) => e.eval_moment(cx, row)?,
        _ => e.eval(cx, row)?,
    };
    cast_value(v, e, to, cx)
}

/// How warnings name a type that a document is converted to; `None` for those that take its text.
fn name_outside(to: CastTo) -> Option<&'static str> {
    Some(match to {
        CastTo::Signed | CastTo::Unsigned | CastTo::Year => "INTEGER",
        CastTo::Decimal(..) => "DECIMAL",
        CastTo::Float | CastTo::Double => "DOUBLE",
        CastTo::Date => "DATE",
        CastTo::Time(_) => "TIME",
        CastTo::DateTime(_) => "DATETIME",
        CastTo::Char(..) | CastTo::Binary(_) | CastTo::Json => return None,
    })
}

/// The same of a value that `e` gave.
pub(super) fn cast_value<'a>(
    v: Val<'a>,
    e: &Expr,
    to: CastTo,
    cx: &EvalCtx<'_>,
) -> Result<Val<'a>, SqlError> {
    if matches!(to, CastTo::Signed | CastTo::Unsigned) {
        overflow::check(e, &v)?;
    }
    cast::cast_value(v, &e.ty, to, cx)
}
