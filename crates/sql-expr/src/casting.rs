//! CAST of an expression. What becomes of a value is `cast`'s.

use types::SqlError;

use super::cast_to::CastTo;
use super::ctx::{EvalCtx, RowSource};
use super::node::Expr;
use super::val::Val;
use super::{cast, overflow};

/// CAST(e AS to).
pub(super) fn cast<'a>(
    e: &'a Expr,
    to: CastTo,
    cx: &'a EvalCtx<'_>,
    row: &'a dyn RowSource,
) -> Result<Val<'a>, SqlError> {
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
