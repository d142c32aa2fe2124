//! Comparisons over columns: numbers, texts, dates and times of one kind in loops, all else value by value with the same
//! [`Comparer`] as rows.

use std::cmp::Ordering;

use types::collation::CollationId;
use types::decimal::Decimal;
use types::decimal::wide::POW10;
use types::temporal::DateTime;

use super::decimal::{Fixed, decimal_at, fixed, is_exact};
use super::eval::Run;
use super::lane::{Lane, zip};
use super::logic::mark_nulls;
use super::selection::Sel;
use super::truth::{NO, UNKNOWN, YES, byte};
use super::vector::{Data, Vector};
use crate::compare::Comparer;
use crate::node::{CmpOp, Expr};
use crate::ty::ExprType;

/// `a op b` of what has a total order, and of doubles, among which what has no order counts as equal.
fn ordered<T: Copy + PartialOrd>(
    op: CmpOp,
    a: Lane<'_, T>,
    b: Lane<'_, T>,
    sel: Sel<'_>,
    out: &mut [u8],
) {
    #[allow(clippy::neg_cmp_op_on_partial_ord)]
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => {
            zip(a, b, sel, out, |x, y| u8::from(!(x < y) & !(x > y)));
        }
        CmpOp::Ne => zip(a, b, sel, out, |x, y| u8::from((x < y) | (x > y))),
        CmpOp::Lt => zip(a, b, sel, out, |x, y| u8::from(x < y)),
        CmpOp::Le => zip(a, b, sel, out, |x, y| u8::from(!(x > y))),
        CmpOp::Gt => zip(a, b, sel, out, |x, y| u8::from(x > y)),
        CmpOp::Ge => zip(a, b, sel, out, |x, y| u8::from(!(x < y))),
    }
}

/// Texts by a collation.
fn texts(op: CmpOp, c: CollationId, x: &Vector, y: &Vector, sel: Sel<'_>, out: &mut [u8]) -> bool {
    let (Some(a), Some(b)) = (x.texts(), y.texts()) else {
        return false;
    };
    let at = |v: &Vector, i: usize| if v.is_constant() { 0 } else { i };
    sel.each(|i| {
        let (s, t) = (a.get(at(x, i)), b.get(at(y, i)));
        out[i] = u8::from(match op {
            CmpOp::Eq | CmpOp::NullSafeEq => c.equal(s, t),
            CmpOp::Ne => !c.equal(s, t),
            op => op.holds(c.compare(s, t)),
        });
    });
    true
}

/// Exact numbers of two scales: brought to one where there is room.
fn exact(op: CmpOp, x: &Vector, y: &Vector, sel: Sel<'_>, out: &mut [u8]) {
    if let (Fixed::Narrow(a, sa), Fixed::Narrow(b, sb)) = (fixed(x), fixed(y)) {
        match (sa.cmp(&sb), a, b) {
            (Ordering::Equal, a, b) => return ordered(op, a, b, sel, out),
            // A constant takes the digits of the column.
            (Ordering::Greater, a, Lane::Same(k)) => {
                if let Some(k) = scaled(k, sa - sb) {
                    return ordered(op, a, Lane::Same(k), sel, out);
                }
            }
            (Ordering::Less, Lane::Same(k), b) => {
                if let Some(k) = scaled(k, sb - sa) {
                    return ordered(op, Lane::Same(k), b, sel, out);
                }
            }
            _ => {}
        }
        let up = |s: u8| POW10.get(usize::from(s)).map(|p| *p as i128);
        // 64 bits by 18 digits have room in 128.
        if sa.abs_diff(sb) <= 18
            && let (Some(fa), Some(fb)) = (up(sb.saturating_sub(sa)), up(sa.saturating_sub(sb)))
        {
            sel.each(|i| {
                let (x, y) = (i128::from(a.get(i)) * fa, i128::from(b.get(i)) * fb);
                out[i] = u8::from(op.holds(x.cmp(&y)));
            });
            return;
        }
    }
    sel.each(|i| {
        let (a, b): (Decimal, Decimal) = (decimal_at(x, i), decimal_at(y, i));
        out[i] = u8::from(op.holds(a.cmp(&b)));
    });
}

fn scaled(k: i64, by: u8) -> Option<i64> {
    k.checked_mul(10i64.checked_pow(u32::from(by))?)
}

impl<'r> Run<'r, '_> {
    /// `a op b`
    pub(super) fn comparison(
        &mut self,
        e: &'r Expr,
        op: CmpOp,
        comparer: &Comparer,
        [a, b]: &'r [Expr; 2],
        sel: Sel<'_>,
    ) -> Option<Vec<u8>> {
        if let Comparer::Row(_) = comparer {
            return self.rows_truth(e, sel);
        }
        let x = self.value(a, sel)?;
        let y = self.value(b, sel)?;
        let mut out = self.compared(op, comparer, (&x, &a.ty), (&y, &b.ty), sel)?;
        if op == CmpOp::NullSafeEq && (x.has_null() || y.has_null()) {
            sel.each(|i| match (x.is_null(i), y.is_null(i)) {
                (true, true) => out[i] = YES,
                (true, false) | (false, true) => out[i] = NO,
                _ => {}
            });
        }
        Some(out)
    }

    /// `x op y` of two columns; unknown where one is NULL.
    pub(super) fn compared(
        &mut self,
        op: CmpOp,
        comparer: &Comparer,
        (x, xt): (&Vector, &ExprType),
        (y, yt): (&Vector, &ExprType),
        sel: Sel<'_>,
    ) -> Option<Vec<u8>> {
        let mut out = self.pool.bytes(self.batch.len());
        if x.is_all_null() || y.is_all_null() {
            sel.each(|i| out[i] = UNKNOWN);
            return Some(out);
        }
        let lanes = (x.is_constant(), y.is_constant());
        let lane = |d| Lane::of(d, lanes.0);
        let done = match (comparer, x.data(), y.data()) {
            (Comparer::Int | Comparer::Exact, Data::I64(a), Data::I64(b)) => {
                ordered(op, lane(a), Lane::of(b, lanes.1), sel, &mut out);
                true
            }
            (Comparer::Int | Comparer::Exact, a, b) if is_exact(a) && is_exact(b) => {
                exact(op, x, y, sel, &mut out);
                true
            }
            (Comparer::Double, a, b) => match (self.doubles(x, a, sel), self.doubles(y, b, sel)) {
                (Some(a), Some(b)) => {
                    let a = Lane::of(&a, lanes.0);
                    ordered(op, a, Lane::of(&b, lanes.1), sel, &mut out);
                    true
                }
                _ => false,
            },
            (Comparer::Text(c), Data::Text(_), Data::Text(_)) => texts(op, *c, x, y, sel, &mut out),
            (Comparer::DateTime, Data::Date(a), Data::Date(b)) => {
                let (a, b) = (Lane::of(a, lanes.0), Lane::of(b, lanes.1));
                ordered(op, a, b, sel, &mut out);
                true
            }
            (Comparer::DateTime, Data::DateTime(a), Data::DateTime(b)) => {
                let (a, b) = (Lane::of(a, lanes.0), Lane::of(b, lanes.1));
                ordered(op, a, b, sel, &mut out);
                true
            }
            (Comparer::DateTime, Data::Date(a), Data::DateTime(b)) => {
                let a: Vec<DateTime> = a.iter().map(|d| d.at_midnight()).collect();
                let (a, b) = (Lane::of(&a[..], lanes.0), Lane::of(b, lanes.1));
                ordered(op, a, b, sel, &mut out);
                true
            }
            (Comparer::DateTime, Data::DateTime(a), Data::Date(b)) => {
                let b: Vec<DateTime> = b.iter().map(|d| d.at_midnight()).collect();
                let (a, b) = (Lane::of(a, lanes.0), Lane::of(&b[..], lanes.1));
                ordered(op, a, b, sel, &mut out);
                true
            }
            (Comparer::Time, Data::Time(a), Data::Time(b)) => {
                let (a, b) = (Lane::of(a, lanes.0), Lane::of(b, lanes.1));
                ordered(op, a, b, sel, &mut out);
                true
            }
            _ => false,
        };
        if done {
            mark_nulls(&mut out, x, sel);
            mark_nulls(&mut out, y, sel);
            return Some(out);
        }
        let cx = self.cx;
        cx.quietly(|| {
            sel.each(|i| {
                let (a, b) = (x.val(i), y.val(i));
                out[i] = byte(match op {
                    CmpOp::Eq | CmpOp::NullSafeEq => comparer.equal(&a, xt, &b, yt, cx),
                    CmpOp::Ne => comparer.equal(&a, xt, &b, yt, cx).map(|e| !e),
                    _ => comparer.order(&a, xt, &b, yt, cx).map(|o| op.holds(o)),
                });
            });
        })?;
        Some(out)
    }

    /// `x [NOT] BETWEEN low AND high`
    pub(super) fn between(
        &mut self,
        [x, low, high]: &'r [Expr; 3],
        c: &[Comparer; 2],
        negated: bool,
        sel: Sel<'_>,
    ) -> Option<Vec<u8>> {
        let v = self.value(x, sel)?;
        let a = self.value(low, sel)?;
        let b = self.value(high, sel)?;
        let mut above = self.compared(CmpOp::Ge, &c[0], (&v, &x.ty), (&a, &low.ty), sel)?;
        let below = self.compared(CmpOp::Le, &c[1], (&v, &x.ty), (&b, &high.ty), sel)?;
        let (no, yes) = (u8::from(negated), u8::from(!negated));
        sel.each(|i| {
            above[i] = match (above[i], below[i]) {
                (NO, _) | (_, NO) => no,
                (YES, YES) => yes,
                _ => UNKNOWN,
            }
        });
        self.pool.give_bytes(below);
        Some(above)
    }
}
