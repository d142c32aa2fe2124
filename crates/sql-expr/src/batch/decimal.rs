//! Exact numbers in loops: whole numbers of the last digit, in 64 bits as long as they have room, then in 128, then decimals of
//! any length. The results are those of [`Decimal`], which has the same scales and falls back the same way.

use std::borrow::Cow;

use types::decimal::Decimal;
use types::decimal::MAX_SCALE;

use super::bits::Bits;
use super::build::VectorBuilder;
use super::eval::{Out, Run};
use super::lane::{Lane, zip};
use super::selection::Sel;
use super::vector::{Data, Vector};
use crate::infer::Arith;
use crate::node::Expr;
use crate::val::Val;
use crate::vars::SqlMode;

/// Exact numbers as loops have them.
pub(super) enum Fixed<'a> {
    Narrow(Lane<'a, i64>, u8),
    Wide(Lane<'a, i128>, u8),
    Any,
}

/// Whole numbers and decimals.
pub(super) fn is_exact(d: &Data) -> bool {
    matches!(
        d,
        Data::I64(_)
            | Data::U64(_)
            | Data::Decimal64 { .. }
            | Data::Decimal128 { .. }
            | Data::Decimal(_)
    )
}

/// The numbers of a vector that [`is_exact`].
pub(super) fn fixed(v: &Vector) -> Fixed<'_> {
    match v.data() {
        Data::I64(d) => Fixed::Narrow(Lane::of(d, v.is_constant()), 0),
        Data::Decimal64 { scale, values } => {
            Fixed::Narrow(Lane::of(values, v.is_constant()), *scale)
        }
        Data::Decimal128 { scale, values } => {
            Fixed::Wide(Lane::of(values, v.is_constant()), *scale)
        }
        _ => Fixed::Any,
    }
}

/// One of them; zero for anything else.
pub(super) fn decimal_at(v: &Vector, i: usize) -> Decimal {
    let i = if v.is_constant() { 0 } else { i };
    match v.data() {
        Data::I64(d) => Decimal::from_i64(d[i]),
        Data::U64(d) => Decimal::from_u64(d[i]),
        Data::Decimal64 { scale, values } => Decimal::from_i128(i128::from(values[i]), *scale),
        Data::Decimal128 { scale, values } => Decimal::from_i128(values[i], *scale),
        Data::Decimal(d) => d[i],
        _ => Decimal::ZERO,
    }
}

/// What is NULL where one of two is.
pub(super) fn nulls_of(x: &Vector, y: &Vector) -> Option<Bits> {
    match (x.nulls(), y.nulls()) {
        (None, n) | (n, None) => n.cloned(),
        (Some(a), Some(b)) => {
            let mut n = a.clone();
            n.or(b);
            Some(n)
        }
    }
}

fn power(by: u8) -> Option<i64> {
    10i64.checked_pow(u32::from(by))
}

/// A lane times a power of ten: a constant at once.
fn lifted(a: Lane<'_, i64>, by: i64) -> Option<(Lane<'_, i64>, i64)> {
    match a {
        Lane::Same(k) => Some((Lane::Same(k.checked_mul(by)?), 1)),
        each => Some((each, by)),
    }
}

/// In 64 bits; whether everything had room.
fn narrow(
    op: Arith,
    (a, sa): (Lane<'_, i64>, u8),
    (b, sb): (Lane<'_, i64>, u8),
    sel: Sel<'_>,
    out: &mut [i64],
) -> bool {
    let mut over = false;
    if op == Arith::Mul {
        zip(a, b, sel, out, |x, y| {
            let (r, o) = x.overflowing_mul(y);
            over |= o;
            r
        });
        return !over;
    }
    let s = sa.max(sb);
    let (Some(fa), Some(fb)) = (power(s - sa), power(s - sb)) else {
        return false;
    };
    let (Some((a, fa)), Some((b, fb))) = (lifted(a, fa), lifted(b, fb)) else {
        return false;
    };
    let add = op == Arith::Add;
    if fa == 1 && fb == 1 {
        if add {
            zip(a, b, sel, out, |x, y| {
                let (r, o) = x.overflowing_add(y);
                over |= o;
                r
            });
        } else {
            zip(a, b, sel, out, |x, y| {
                let (r, o) = x.overflowing_sub(y);
                over |= o;
                r
            });
        }
        return !over;
    }
    zip(a, b, sel, out, |x, y| {
        let ((x, o), (y, p)) = (x.overflowing_mul(fa), y.overflowing_mul(fb));
        let (r, q) = match add {
            true => x.overflowing_add(y),
            false => x.overflowing_sub(y),
        };
        over |= o | p | q;
        r
    });
    !over
}

/// In 128 bits.
fn wide(
    op: Arith,
    (a, sa): (Lane<'_, i128>, u8),
    (b, sb): (Lane<'_, i128>, u8),
    sel: Sel<'_>,
    out: &mut [i128],
) -> bool {
    let mut over = false;
    let s = sa.max(sb);
    let (fa, fb) = (10i128.pow(u32::from(s - sa)), 10i128.pow(u32::from(s - sb)));
    zip(a, b, sel, out, |x, y| {
        let r = match op {
            Arith::Mul => x.checked_mul(y),
            _ => x.checked_mul(fa).and_then(|x| {
                let y = y.checked_mul(fb)?;
                match op {
                    Arith::Add => x.checked_add(y),
                    _ => x.checked_sub(y),
                }
            }),
        };
        over |= r.is_none();
        r.unwrap_or(0)
    });
    !over
}

impl<'r> Run<'r, '_> {
    /// Arithmetic on exact numbers.
    pub(super) fn exact_arith(
        &mut self,
        e: &Expr,
        op: Arith,
        x: &Vector,
        y: &Vector,
        sel: Sel<'_>,
    ) -> Option<Out<'r>> {
        if matches!(op, Arith::Add | Arith::Sub | Arith::Mul)
            && let Some(v) = self.fixed_arith(op, x, y, sel)
        {
            return Some(Out::Own(v));
        }
        let increment = self.cx.vars.hot().div_precision_increment;
        let warns = self.cx.sql_mode.has(SqlMode::ERROR_FOR_DIVISION_BY_ZERO);
        let mut made = VectorBuilder::of(&e.ty);
        for i in sel.iter() {
            made.pad_to(i);
            if x.is_null(i) || y.is_null(i) {
                made.push_null();
                continue;
            }
            let (a, b) = (decimal_at(x, i), decimal_at(y, i));
            let r = match op {
                Arith::Add => a.checked_add(&b)?,
                Arith::Sub => a.checked_sub(&b)?,
                Arith::Mul => a.checked_mul(&b)?,
                _ if b.is_zero() => {
                    if warns {
                        return None;
                    }
                    made.push_null();
                    continue;
                }
                Arith::Div => a.checked_div(&b, increment)?,
                _ => a.checked_rem(&b)?,
            };
            made.push_val(&Val::Decimal(r));
        }
        made.pad_to(self.len());
        Some(Out::Own(made.finish()))
    }

    /// Sums, differences and products of one scale each; `None` where there is no room.
    fn fixed_arith(&mut self, op: Arith, x: &Vector, y: &Vector, sel: Sel<'_>) -> Option<Vector> {
        let (a, b) = (fixed(x), fixed(y));
        let scale = |a: u8, b: u8| match op {
            Arith::Mul => Some(a + b).filter(|s| *s <= MAX_SCALE),
            _ => Some(a.max(b)),
        };
        let n = self.len();
        if let (Fixed::Narrow(a, sa), Fixed::Narrow(b, sb)) = (&a, &b) {
            let scale = scale(*sa, *sb)?;
            let mut values = self.pool.i64s(n);
            if narrow(op, (*a, *sa), (*b, *sb), sel, &mut values) {
                let data = Data::Decimal64 { scale, values };
                return Some(Vector::new(data, nulls_of(x, y)));
            }
        }
        let (a, sa) = widened(&a)?;
        let (b, sb) = widened(&b)?;
        let scale = scale(sa, sb)?;
        let mut values = self.pool.i128s(n);
        let lane = |v: &Vector| v.is_constant();
        let (p, q) = (Lane::of(&a[..], lane(x)), Lane::of(&b[..], lane(y)));
        wide(op, (p, sa), (q, sb), sel, &mut values).then(|| {
            let data = Data::Decimal128 { scale, values };
            Vector::new(data, nulls_of(x, y))
        })
    }
}

/// In 128 bits.
fn widened<'a>(f: &Fixed<'a>) -> Option<(Cow<'a, [i128]>, u8)> {
    match f {
        Fixed::Narrow(Lane::Each(v), s) => Some((v.iter().map(|m| i128::from(*m)).collect(), *s)),
        Fixed::Narrow(Lane::Same(k), s) => Some((Cow::Owned(vec![i128::from(*k)]), *s)),
        Fixed::Wide(Lane::Each(v), s) => Some((Cow::Borrowed(v), *s)),
        Fixed::Wide(Lane::Same(k), s) => Some((Cow::Owned(vec![*k]), *s)),
        Fixed::Any => None,
    }
}
