//! Arithmetic and bit operators over whole numbers, decimals and doubles, with MySQL's overflow errors (1690) and
//! its division by zero (NULL and 1365).

use types::SqlError;
use types::error::codes;

use super::conv;
use super::ctx::{EvalCtx, RowSource};
use super::infer::{Arith, Domain};
use super::node::{BitOp, Expr};
use super::overflow;
use super::print;
use super::ty::Shape;
use super::val::{Int, Val};
use crate::vars::SqlMode;

mod tiny;

#[cold]
fn out_of_range(kind: &str, e: &Expr) -> SqlError {
    SqlError::expr_out_of_range(kind, &print::text(e))
}

/// What a division by zero yields: NULL, a warning where the mode asks for one, an error in a strict write.
#[cold]
pub(super) fn by_zero(cx: &EvalCtx<'_>) -> Result<Val<'static>, SqlError> {
    if cx.sql_mode.has(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
        let e = SqlError::division_by_zero();
        if cx.strict_write && cx.sql_mode.strict() {
            return Err(e);
        }
        cx.warn_error(e);
    }
    Ok(Val::Null)
}

/// A whole result as the expression's type has it.
fn whole(e: &Expr, v: Option<i128>) -> Result<Val<'static>, SqlError> {
    if e.ty.is_unsigned() {
        match v.and_then(|v| u64::try_from(v).ok()) {
            Some(u) => Ok(Val::Uint(u)),
            None => Err(out_of_range("BIGINT UNSIGNED", e)),
        }
    } else {
        match v.and_then(|v| i64::try_from(v).ok()) {
            Some(i) => Ok(Val::Int(i)),
            None => Err(out_of_range("BIGINT", e)),
        }
    }
}

/// An operand: of a document the number that it is. What else has a number apart from its text was wrapped when it was bound.
#[inline]
fn operand<'a>(
    e: &'a Expr,
    cx: &'a EvalCtx<'_>,
    row: &'a dyn RowSource,
) -> Result<Val<'a>, SqlError> {
    match e.ty.shape {
        Shape::Json => e.eval_number(cx, row),
        _ => e.eval(cx, row),
    }
}

/// `a op b`; `e` is the whole expression, for its type and for messages.
pub(super) fn binary(
    e: &Expr,
    op: Arith,
    domain: Domain,
    [a, b]: &[Expr; 2],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Val<'static>, SqlError> {
    let (x, y) = (operand(a, cx, row)?, operand(b, cx, row)?);
    if let (Domain::Int, Val::Int(x), Val::Int(y)) = (domain, &x, &y)
        && !e.ty.is_unsigned()
    {
        // the everyday case, without wide numbers
        let r = match op {
            Arith::Add => x.checked_add(*y),
            Arith::Sub => x.checked_sub(*y),
            Arith::Mul => x.checked_mul(*y),
            Arith::Mod if *y != 0 => Some(x.wrapping_rem(*y)),
            Arith::IntDiv if *y != 0 => x.checked_div(*y),
            _ => return by_zero(cx),
        };
        return r.map(Val::Int).ok_or_else(|| out_of_range("BIGINT", e));
    }
    if x.is_null() || y.is_null() {
        if domain == Domain::Double {
            // Both are read as numbers first, with their warnings.
            let _ = (conv::to_double(&x, cx), conv::to_double(&y, cx));
        }
        return Ok(Val::Null);
    }
    match domain {
        Domain::Int if op == Arith::IntDiv => int_div(e, &x, &y, cx),
        Domain::Int => {
            let (Some(x), Some(y)) = (
                conv::to_int(&x, cx).map(Int::wide),
                conv::to_int(&y, cx).map(Int::wide),
            ) else {
                return Ok(Val::Null);
            };
            let r = match op {
                Arith::Add => x.checked_add(y),
                Arith::Sub => x.checked_sub(y),
                Arith::Mul => x.checked_mul(y),
                _ if y == 0 => return by_zero(cx),
                _ => Some(x % y),
            };
            whole(e, r)
        }
        Domain::Decimal => {
            let (Some(x), Some(y)) = (conv::to_decimal(&x, cx), conv::to_decimal(&y, cx)) else {
                return Ok(Val::Null);
            };
            let r = match op {
                Arith::Add => x.checked_add(&y),
                Arith::Sub => x.checked_sub(&y),
                Arith::Mul => x.checked_mul(&y),
                _ if y.is_zero() => return by_zero(cx),
                Arith::Div => x.checked_div(&y, cx.vars.hot().div_precision_increment),
                _ => x.checked_rem(&y),
            };
            r.map(Val::Decimal)
                .ok_or_else(|| out_of_range("DECIMAL", e))
        }
        Domain::Double => {
            let (Some(x), Some(y)) = (conv::to_double(&x, cx), conv::to_double(&y, cx)) else {
                return Ok(Val::Null);
            };
            let r = match op {
                Arith::Add => x + y,
                Arith::Sub => x - y,
                Arith::Mul => x * y,
                _ if y == 0.0 => return by_zero(cx),
                Arith::Div => x / y,
                _ => x % y,
            };
            if r.is_finite() {
                Ok(Val::Double(r))
            } else {
                Err(out_of_range("DOUBLE", e))
            }
        }
    }
}

fn int_div(e: &Expr, x: &Val<'_>, y: &Val<'_>, cx: &EvalCtx<'_>) -> Result<Val<'static>, SqlError> {
    let whole_numbers =
        matches!(x, Val::Int(_) | Val::Uint(_)) && matches!(y, Val::Int(_) | Val::Uint(_));
    if whole_numbers {
        let (Some(x), Some(y)) = (conv::to_int(x, cx), conv::to_int(y, cx)) else {
            return Ok(Val::Null);
        };
        if y.wide() == 0 {
            return by_zero(cx);
        }
        return whole(e, x.wide().checked_div(y.wide()));
    }
    let (Some(dx), Some(dy)) = (conv::to_decimal(x, cx), conv::to_decimal(y, cx)) else {
        return Ok(Val::Null);
    };
    let q = match (tiny::of(x, &dx), tiny::of(y, &dy)) {
        (None, None) if dy.is_zero() => return by_zero(cx),
        (None, None) => dx.checked_int_div(&dy).and_then(|q| q.mantissa_i128()),
        (x, y) => {
            let (Some(x), Some(y)) = (
                x.or_else(|| tiny::parts(&dx)),
                y.or_else(|| tiny::parts(&dy)),
            ) else {
                // One has more digits than both together have places: the quotient is too large, or less than one.
                return whole(e, y.is_none().then_some(0));
            };
            if y.0 == 0 {
                return by_zero(cx);
            }
            tiny::quotient(x, y)
        }
    };
    whole(e, q)
}

/// `-x`
pub(super) fn negate(
    e: &Expr,
    domain: Domain,
    a: &Expr,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Val<'static>, SqlError> {
    let x = a.eval(cx, row)?;
    if x.is_null() {
        return Ok(Val::Null);
    }
    match domain {
        Domain::Int => {
            let n = conv::to_int(&x, cx).map(|i| -i.wide());
            whole(e, n)
        }
        Domain::Decimal => {
            Ok(conv::to_decimal(&x, cx).map_or(Val::Null, |d| Val::Decimal(d.neg())))
        }
        Domain::Double => Ok(conv::to_double(&x, cx).map_or(Val::Null, |d| Val::Double(-d))),
    }
}

/// The 64 bits of a value in a bit operation: negative numbers in two's complement.
fn bits(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<u64> {
    conv::to_int(v, cx).map(Int::bits)
}

/// `a op b` on bits: of numbers as 64 bits, of two byte strings byte by byte.
pub(super) fn bitwise(
    e: &Expr,
    op: BitOp,
    [a, b]: &[Expr; 2],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Val<'static>, SqlError> {
    if !e.ty.is_text() {
        // NULL on the left is the answer: the other side is not looked at, and warns of nothing.
        let x = a.eval_number(cx, row)?;
        overflow::check(a, &x)?;
        let Some(x) = bits(&x, cx) else {
            return Ok(Val::Null);
        };
        let y = b.eval_number(cx, row)?;
        overflow::check(b, &y)?;
        let Some(y) = bits(&y, cx) else {
            return Ok(Val::Null);
        };
        return Ok(Val::Uint(match op {
            BitOp::And => x & y,
            BitOp::Or => x | y,
            BitOp::Xor => x ^ y,
            BitOp::Shl if y < 64 => x << y,
            BitOp::Shr if y < 64 => x >> y,
            _ => 0,
        }));
    }
    let x = a.eval(cx, row)?;
    if x.is_null() {
        return Ok(Val::Null);
    }
    let y = b.eval(cx, row)?;
    bytewise(op, &x, &y, cx)
}

/// `x op y` on two byte strings.
fn bytewise(
    op: BitOp,
    x: &Val<'_>,
    y: &Val<'_>,
    cx: &EvalCtx<'_>,
) -> Result<Val<'static>, SqlError> {
    let (Val::Bytes(x), Val::Bytes(y)) = (x, y) else {
        return match (x, op) {
            (Val::Bytes(x), BitOp::Shl | BitOp::Shr) if !y.is_null() => {
                let n = bits(y, cx).unwrap_or(0);
                Ok(Val::owned(shift_bytes(x, n, op == BitOp::Shl)))
            }
            _ => Ok(Val::Null),
        };
    };
    if matches!(op, BitOp::Shl | BitOp::Shr) {
        let n = conv::text_to_int(y, cx).bits();
        return Ok(Val::owned(shift_bytes(x, n, op == BitOp::Shl)));
    }
    if x.len() != y.len() {
        return Err(SqlError::new(
            codes::ER_INVALID_BITWISE_OPERANDS_SIZE,
            "Binary operands of bitwise operators must be of equal length",
        ));
    }
    let bytes: Vec<u8> = x
        .iter()
        .zip(y.iter())
        .map(|(x, y)| match op {
            BitOp::And => x & y,
            BitOp::Or => x | y,
            _ => x ^ y,
        })
        .collect();
    Ok(Val::owned(bytes))
}

fn shift_bytes(x: &[u8], n: u64, left: bool) -> Vec<u8> {
    let len = x.len();
    let total = len as u64 * 8;
    let mut out = vec![0u8; len];
    if n >= total {
        return out;
    }
    let (by, bit) = ((n / 8) as usize, (n % 8) as u32);
    for (i, o) in out.iter_mut().enumerate() {
        let at = |j: Option<usize>| u16::from(j.and_then(|j| x.get(j)).copied().unwrap_or(0));
        *o = if left {
            let pair = at(Some(i + by)) << 8 | at(Some(i + by + 1));
            (pair << bit >> 8) as u8
        } else {
            let pair = at(i.checked_sub(by + 1)) << 8 | at(i.checked_sub(by));
            (pair >> bit) as u8
        };
    }
    out
}

/// `~x`
pub(super) fn invert(
    e: &Expr,
    a: &Expr,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Val<'static>, SqlError> {
    if e.ty.is_text() {
        // Asked once, whatever it is: each of many `~` in each other would ask again what is below it.
        return Ok(match a.eval(cx, row)? {
            Val::Bytes(b) => Val::owned(b.iter().map(|b| !b).collect::<Vec<u8>>()),
            x => bits(&x, cx).map_or(Val::Null, |b| Val::Uint(!b)),
        });
    }
    let x = a.eval_number(cx, row)?;
    overflow::check(a, &x)?;
    Ok(bits(&x, cx).map_or(Val::Null, |b| Val::Uint(!b)))
}
