//! `x op ANY (SELECT ..)` and `x op ALL (SELECT ..)`: the comparison with one row, and how an equal row is found by its key where there are many.
//!
//! Must never do: decide by a key what [`Comparer::equal`] would decide otherwise. What cannot be written as a key is compared row by row.

use super::compare::{self, Comparer};
use super::conv;
use super::ctx::{EvalCtx, ListLookup, RowKey, SubquerySource};
use super::node::{CmpOp, Expr, Quantified};
use super::ty::ExprType;
use super::val::{Num, Val};
use types::SqlError;
use types::decimal::Decimal;

/// A value of the left side, and where it is from; a row subquery's have no expression.
pub(super) type Pair<'a> = (Val<'a>, Option<&'a Expr>);

/// The truth of `IN` or `NOT IN` where the rows are found by keys, as a hash join does: asked of every row of another table, each answer
/// would else take as long as the list is. Whether NULLs leave it open is known too (a null-aware anti-join: Bellamkonda and others, VLDB
/// 2009). The outer `None`: the rows are to be compared.
pub(super) fn by_key(
    q: &Quantified,
    left: &[Pair<'_>],
    rows: &dyn SubquerySource,
    cx: &EvalCtx<'_>,
) -> Result<Option<Option<bool>>, SqlError> {
    let equal_decides = match (q.op, q.all) {
        (CmpOp::Eq, false) => true,
        (CmpOp::Ne, true) => false,
        _ => return Ok(None),
    };
    let any = ExprType::null();
    let mut key = Vec::new();
    let parts = left.iter().map(|(v, e)| (v, e.map_or(any, |e| e.ty)));
    match write_row(&q.comparers, parts, cx, &mut key) {
        RowKey::Unknown => return Ok(None),
        // NULL beside any row is unknown; beside none it is nothing.
        RowKey::Null if left.len() == 1 => {
            let open = rows.exists(q.subquery)?;
            return Ok(Some((!open).then_some(!equal_decides)));
        }
        RowKey::Null => return Ok(None),
        RowKey::Written => {}
    }
    let key_of = |values: &[Val<'_>], out: &mut Vec<u8>| match cx.tick(4) {
        // The statement ends with what says so when it compares.
        Err(_) => RowKey::Unknown,
        Ok(()) => write_row(&q.comparers, values.iter().map(|v| (v, any)), cx, out),
    };
    Ok(match rows.find(q.subquery, &key, &key_of) {
        Some(ListLookup::Equal) => Some(Some(equal_decides)),
        Some(ListLookup::Not { nulls: false }) => Some(Some(!equal_decides)),
        Some(ListLookup::Not { nulls: true }) if left.len() == 1 => Some(None),
        // A row that is NULL in part may differ in another.
        Some(ListLookup::Not { nulls: true }) | None => None,
    })
}

fn write_row<'v>(
    comparers: &[Comparer],
    values: impl ExactSizeIterator<Item = (&'v Val<'v>, ExprType)>,
    cx: &EvalCtx<'_>,
    out: &mut Vec<u8>,
) -> RowKey {
    if values.len() != comparers.len() {
        return RowKey::Unknown;
    }
    let mut row = RowKey::Written;
    for (c, (v, ty)) in comparers.iter().zip(values) {
        match write_part(c, v, &ty, cx, out) {
            RowKey::Written => {}
            RowKey::Null => row = RowKey::Null,
            RowKey::Unknown => return RowKey::Unknown,
        }
    }
    row
}

/// What [`Comparer::order`] compares, as bytes that say where they end.
fn write_part(
    c: &Comparer,
    v: &Val<'_>,
    ty: &ExprType,
    cx: &EvalCtx<'_>,
    out: &mut Vec<u8>,
) -> RowKey {
    if v.is_null() {
        return RowKey::Null;
    }
    if ty.bits {
        return RowKey::Unknown;
    }
    let number = match c {
        Comparer::Int => conv::to_num(v, cx),
        Comparer::Exact => compare::exact(v, cx),
        Comparer::Double => conv::to_double(v, cx).map(Num::Double),
        Comparer::Text(collation) => {
            collation.write_key(&conv::text_of(v, ty), out);
            return RowKey::Written;
        }
        Comparer::DateTime => {
            return match v {
                Val::Date(_) | Val::DateTime(_) | Val::Bytes(_) => {
                    write(compare::moment(v, cx).map(|d| d.packed() as i64), out)
                }
                _ => RowKey::Unknown,
            };
        }
        Comparer::Time => return write(conv::to_time(v, cx).map(|t| t.micros_total()), out),
        Comparer::Digits(_) | Comparer::Json(..) | Comparer::Row(_) => return RowKey::Unknown,
    };
    match (number, c) {
        (None, _) => return RowKey::Null,
        (Some(Num::Double(d)), Comparer::Double) => {
            let d = if d == 0.0 { 0.0 } else { d };
            out.extend_from_slice(&d.to_bits().to_le_bytes());
        }
        (Some(Num::Double(_)), _) => return RowKey::Unknown,
        (Some(Num::Int(i)), _) => write_exact(Ok(i), out),
        (Some(Num::Uint(u)), _) => {
            write_exact(i64::try_from(u).map_err(|_| Decimal::from_u64(u)), out);
        }
        (Some(Num::Decimal(d)), _) => {
            let d = d.normalized();
            let whole = (d.scale() == 0).then(|| d.to_i64()).flatten();
            write_exact(whole.ok_or(d), out);
        }
    }
    RowKey::Written
}

fn write(v: Option<i64>, out: &mut Vec<u8>) -> RowKey {
    let Some(v) = v else {
        return RowKey::Null;
    };
    out.extend_from_slice(&v.to_le_bytes());
    RowKey::Written
}

/// An exact number, whatever type it has: one that a BIGINT holds as such, another as text.
fn write_exact(n: Result<i64, Decimal>, out: &mut Vec<u8>) {
    match n {
        Ok(i) => {
            out.push(0);
            out.extend_from_slice(&i.to_le_bytes());
        }
        Err(d) => {
            out.push(1);
            d.write_text(out);
            out.push(0);
        }
    }
}

/// Whether the comparison holds for a row of the subquery; `None` where NULL leaves it open.
pub(super) fn holds(
    q: &Quantified,
    left: &[Pair<'_>],
    right: &[Val<'_>],
    cx: &EvalCtx<'_>,
) -> Option<bool> {
    let any = ExprType::null();
    let mut result = Some(true);
    let equality = matches!(q.op, CmpOp::Eq | CmpOp::Ne | CmpOp::NullSafeEq);
    for (c, ((x, xe), y)) in q.comparers.iter().zip(left.iter().zip(right)) {
        let xt = xe.map_or(any, |e| e.ty);
        let one = if equality {
            c.equal(x, &xt, y, &any, cx)
        } else {
            c.order(x, &xt, y, &any, cx).map(|o| q.op.holds(o))
        };
        match one {
            Some(false) => {
                result = Some(false);
                break;
            }
            None => result = None,
            Some(true) => {}
        }
    }
    if q.op == CmpOp::Ne {
        result.map(|e| !e)
    } else {
        result
    }
}
