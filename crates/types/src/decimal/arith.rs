//! Arithmetic on DECIMAL with MySQL's result scales: addition keeps the larger scale, multiplication adds them, division
//! extends the dividend's.
//!
//! `None` always means that the exact result has more than 65 digits (MySQL's error 1690), or a division by zero.

use super::wide::{self, POW10};
use super::{Decimal, MAX_SCALE};

/// How [`Decimal::round_with`] treats the digits it drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Half away from zero, as ROUND() and assignment do.
    HalfUp,
    /// Toward zero, as TRUNCATE() does.
    Truncate,
    /// Toward minus infinity.
    Floor,
    /// Toward plus infinity.
    Ceiling,
}

impl Decimal {
    /// Sum.
    pub fn checked_add(&self, other: &Decimal) -> Option<Decimal> {
        let s = self.scale.max(other.scale);
        if let (Some(a), Some(b)) = (self.mantissa_i128(), other.mantissa_i128()) {
            let a = a.checked_mul(POW10[usize::from(s - self.scale)] as i128);
            let b = b.checked_mul(POW10[usize::from(s - other.scale)] as i128);
            if let (Some(a), Some(b)) = (a, b)
                && let Some(m) = a.checked_add(b)
            {
                return Some(Decimal::from_i128(m, s));
            }
        }
        let a = wide::mul_pow10(self.magnitude(), u32::from(s - self.scale))?;
        let b = wide::mul_pow10(other.magnitude(), u32::from(s - other.scale))?;
        let (neg, w) = if self.neg == other.neg {
            (self.neg, wide::add(&a, &b))
        } else if wide::cmp(&a, &b).is_ge() {
            (self.neg, wide::sub(&a, &b))
        } else {
            (other.neg, wide::sub(&b, &a))
        };
        fit(neg, w, s)
    }

    /// Difference.
    pub fn checked_sub(&self, other: &Decimal) -> Option<Decimal> {
        self.checked_add(&other.neg())
    }

    /// Product; past 30 digits after the point it is rounded to 30.
    pub fn checked_mul(&self, other: &Decimal) -> Option<Decimal> {
        let s = self.scale + other.scale;
        let neg = self.neg != other.neg;
        if s <= MAX_SCALE
            && let (Some(a), Some(b)) = (self.mantissa_i128(), other.mantissa_i128())
            && let Some(m) = a.checked_mul(b)
        {
            return Some(Decimal::from_i128(m, s));
        }
        let mut w = wide::mul(&self.magnitude(), &other.magnitude())?;
        if s > MAX_SCALE {
            w = round_wide(w, u32::from(s - MAX_SCALE), Rounding::HalfUp, neg);
        }
        fit(neg, w, s.min(MAX_SCALE))
    }

    /// Quotient with MySQL's internal precision: at least `self.scale() + increment` digits after the point, rounded up to whole
    /// groups of nine and truncated there. A result shown to a client is rounded to [`div_scale`](Self::div_scale); an
    /// intermediate one is not, which is why `1/3*3` is `1.0000` in MySQL. `None` also for a zero divisor.
    pub fn checked_div(&self, other: &Decimal, increment: u8) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let group = |n: u32| n.div_ceil(9) * 9;
        let (f1, f2) = (u32::from(self.scale), u32::from(other.scale));
        let padding = group(f1) - f1 + group(f2) - f2;
        let extra = u32::from(increment).saturating_sub(padding);
        let mut r = group(group(f1) + group(f2) + extra).min(u32::from(MAX_SCALE));
        let neg = self.neg != other.neg;
        // r >= f1 whenever r was not capped, and f1 <= MAX_SCALE otherwise
        let shift = r + f2 - f1;
        if let (Some(a), Some(b)) = (self.magnitude_u128(), other.magnitude_u128())
            && shift <= 38
            && let Some(num) = a.checked_mul(POW10[shift as usize])
        {
            return Some(Decimal::from_parts(neg, num / b, r as u8));
        }
        let num = wide::mul_pow10(self.magnitude(), shift)?;
        let (mut q, _) = wide::div_rem(&num, &other.magnitude());
        while r > 0 && wide::cmp(&q, super::max_magnitude()).is_gt() {
            q = wide::div_pow10(q, 1).0;
            r -= 1;
        }
        Decimal::from_wide(neg, &q, r as u8)
    }

    /// Digits after the point that MySQL shows for `a / b` when `a` has `scale` of them.
    pub fn div_scale(scale: u8, increment: u8) -> u8 {
        scale.saturating_add(increment).min(MAX_SCALE)
    }

    /// Quotient rounded to MySQL's result scale.
    pub fn div_rounded(&self, other: &Decimal, increment: u8) -> Option<Decimal> {
        self.checked_div(other, increment)?
            .rescale(Self::div_scale(self.scale, increment))
    }

    /// Integer quotient toward zero (`DIV`), scale 0.
    pub fn checked_int_div(&self, other: &Decimal) -> Option<Decimal> {
        let (q, _) = self.div_rem_aligned(other)?;
        Decimal::from_wide(self.neg != other.neg, &q, 0)
    }

    /// Remainder with the sign of `self` and the larger scale.
    pub fn checked_rem(&self, other: &Decimal) -> Option<Decimal> {
        let (_, r) = self.div_rem_aligned(other)?;
        Decimal::from_wide(self.neg, &r, self.scale.max(other.scale))
    }

    fn div_rem_aligned(&self, other: &Decimal) -> Option<(wide::Wide, wide::Wide)> {
        if other.is_zero() {
            return None;
        }
        let s = self.scale.max(other.scale);
        let a = wide::mul_pow10(self.magnitude(), u32::from(s - self.scale))?;
        let b = wide::mul_pow10(other.magnitude(), u32::from(s - other.scale))?;
        Some(wide::div_rem(&a, &b))
    }

    /// The number with its sign inverted.
    #[inline]
    #[must_use]
    #[allow(clippy::should_implement_trait)]
    pub fn neg(&self) -> Decimal {
        Decimal {
            neg: !self.neg && !self.is_zero(),
            ..*self
        }
    }

    /// The number without its sign.
    #[inline]
    #[must_use]
    pub fn abs(&self) -> Decimal {
        Decimal {
            neg: false,
            ..*self
        }
    }

    /// The same number with exactly `scale` digits after the point, rounding half away from zero.
    #[inline]
    pub fn rescale(&self, scale: u8) -> Option<Decimal> {
        if scale == self.scale {
            return Some(*self);
        }
        let scale = scale.min(MAX_SCALE);
        if scale < self.scale {
            return Some(self.round_with(i32::from(scale), Rounding::HalfUp));
        }
        let up = u32::from(scale - self.scale);
        if let Some(m) = self.magnitude_u128()
            && let Some(m) = m.checked_mul(POW10[up as usize])
        {
            return Some(Decimal::from_parts(self.neg, m, scale));
        }
        Decimal::from_wide(self.neg, &wide::mul_pow10(self.magnitude(), up)?, scale)
    }

    /// Keeps `digits` digits after the point (negative: zeroes that many before it). The scale of the result is
    /// `digits` if that is less than the present scale, but not below 0.
    #[must_use]
    pub fn round_with(&self, digits: i32, how: Rounding) -> Decimal {
        let digits = digits.max(-80);
        if digits >= i32::from(self.scale) {
            return *self;
        }
        let drop = (i32::from(self.scale) - digits) as u32;
        if digits >= 0
            && drop <= 38
            && let Some(m) = self.magnitude_u128()
        {
            let p = POW10[drop as usize];
            let (mut q, r) = (m / p, m % p);
            let up = match how {
                Rounding::HalfUp => r >= p - r,
                Rounding::Truncate => false,
                Rounding::Floor => self.neg && r != 0,
                Rounding::Ceiling => !self.neg && r != 0,
            };
            q += u128::from(up);
            return Decimal::from_parts(self.neg, q, digits as u8);
        }
        let w = round_wide(self.magnitude(), drop, how, self.neg);
        let zeros = (-digits).max(0) as u32;
        let scale = digits.max(0) as u8;
        wide::mul_pow10(w, zeros)
            .and_then(|w| Decimal::from_wide(self.neg, &w, scale))
            .unwrap_or_else(|| Decimal::max_value(65, scale, self.neg))
    }

    /// Nearest integer, half away from zero; `None` outside i64.
    pub fn to_i64(&self) -> Option<i64> {
        self.round_with(0, Rounding::HalfUp)
            .mantissa_i128()
            .and_then(|m| i64::try_from(m).ok())
    }

    /// Nearest integer, half away from zero; `None` outside u64.
    pub fn to_u64(&self) -> Option<u64> {
        self.round_with(0, Rounding::HalfUp)
            .mantissa_i128()
            .and_then(|m| u64::try_from(m).ok())
    }
}

fn round_wide(w: wide::Wide, drop: u32, how: Rounding, neg: bool) -> wide::Wide {
    let (q, exact, half) = wide::div_pow10(w, drop);
    let up = match how {
        Rounding::HalfUp => half,
        Rounding::Truncate => false,
        Rounding::Floor => neg && !exact,
        Rounding::Ceiling => !neg && !exact,
    };
    if up {
        wide::add(&q, &wide::from_u128(1))
    } else {
        q
    }
}

/// Drops digits after the point while the number has more than 65 in all, as MySQL's buffers do.
fn fit(neg: bool, w: wide::Wide, scale: u8) -> Option<Decimal> {
    if let Some(d) = Decimal::from_wide(neg, &w, scale) {
        return Some(d);
    }
    (1..=scale).find_map(|drop| {
        let r = round_wide(w, u32::from(drop), Rounding::HalfUp, neg);
        Decimal::from_wide(neg, &r, scale - drop)
    })
}
