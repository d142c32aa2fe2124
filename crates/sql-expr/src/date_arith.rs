//! Operators on dates and times, of expressions: `+ INTERVAL`, EXTRACT, TIMESTAMPDIFF. What they do with values is `temporal`'s.

use types::SqlError;
use types::temporal::{self, IntervalUnit};

use super::conv;
use super::ctx::{EvalCtx, RowSource};
use super::node::Expr;
use super::temporal::{extracted, interval_of, moved};
use super::val::Val;

/// `date + INTERVAL amount unit` (or minus); `e` is the whole expression, whose type says what to yield.
pub(super) fn add_interval(
    e: &Expr,
    [date, amount]: &[Expr; 2],
    unit: IntervalUnit,
    minus: bool,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Val<'static>, SqlError> {
    let v = date.eval_moment(cx, row)?;
    let n = amount.eval(cx, row)?;
    if v.is_null() || n.is_null() {
        return Ok(Val::Null);
    }
    Ok(match interval_of(&n, &amount.ty, unit, minus, cx) {
        Some(by) => moved(&e.ty, &v, &by, unit, cx),
        None => Val::Null,
    })
}

/// `EXTRACT(unit FROM e)`.
pub(super) fn extract(
    unit: IntervalUnit,
    e: &Expr,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Val<'static>, SqlError> {
    let v = e.eval_moment(cx, row)?;
    Ok(extracted(unit, &v, cx))
}

/// `TIMESTAMPDIFF(unit, a, b)`.
pub(super) fn timestamp_diff(
    unit: IntervalUnit,
    [a, b]: &[Expr; 2],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Val<'static>, SqlError> {
    let (x, y) = (a.eval_moment(cx, row)?, b.eval_moment(cx, row)?);
    let (Some(x), Some(y)) = (
        conv::to_real_datetime(&x, cx),
        conv::to_real_datetime(&y, cx),
    ) else {
        return Ok(Val::Null);
    };
    Ok(temporal::timestamp_diff(unit, x, y).map_or(Val::Null, Val::Int))
}
