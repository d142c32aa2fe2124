//! DECIMAL up to 65 digits with up to 30 after the point: the value, its order and its packed forms.
//!
//! A number is a sign, a 224-bit magnitude and a decimal scale, 32 bytes, `Copy`, never on the heap. Values whose
//! magnitude fits 127 bits (all of everyday life) take integer fast paths; the rest goes through [`wide`]. This module
//! never rounds silently outside the operations whose contract says so, and never produces more than 65 digits.

pub mod arith;
mod text;
pub mod wide;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
pub use text::ParsedDecimal;
use wide::{POW10, Wide};

/// Most digits of a DECIMAL.
pub const MAX_PRECISION: u8 = 65;
/// Most digits after the point.
pub const MAX_SCALE: u8 = 30;
/// MySQL's default `div_precision_increment`.
pub const DIV_INCREMENT: u8 = 4;

/// An exact decimal number. Equality and order are numeric: `1.0 == 1.00`.
#[derive(Clone, Copy)]
pub struct Decimal {
    lo: [u64; 3],
    top: u32,
    scale: u8,
    neg: bool,
}

impl Decimal {
    /// Zero with no digits after the point.
    pub const ZERO: Decimal = Decimal {
        lo: [0; 3],
        top: 0,
        scale: 0,
        neg: false,
    };

    /// `mantissa / 10^scale`; `scale` is at most [`MAX_SCALE`].
    #[inline]
    pub const fn from_i128(mantissa: i128, scale: u8) -> Decimal {
        Self::from_parts(mantissa < 0, mantissa.unsigned_abs(), scale)
    }

    #[inline]
    const fn from_parts(neg: bool, m: u128, scale: u8) -> Decimal {
        Decimal {
            lo: [m as u64, (m >> 64) as u64, 0],
            top: 0,
            scale,
            neg: neg && m != 0,
        }
    }

    fn from_wide(neg: bool, w: &Wide, scale: u8) -> Option<Decimal> {
        if w[4..].iter().any(|&l| l != 0) || wide::cmp(w, max_magnitude()) == Ordering::Greater {
            return None;
        }
        Some(Decimal {
            lo: [w[0], w[1], w[2]],
            top: w[3] as u32,
            scale,
            neg: neg && !wide::is_zero(w),
        })
    }

    /// The integer as a decimal of scale 0.
    #[inline]
    pub const fn from_i64(v: i64) -> Decimal {
        Self::from_parts(v < 0, v.unsigned_abs() as u128, 0)
    }

    /// The integer as a decimal of scale 0.
    #[inline]
    pub const fn from_u64(v: u64) -> Decimal {
        Self::from_parts(false, v as u128, 0)
    }

    /// The largest value of DECIMAL(precision, scale): all nines.
    pub fn max_value(precision: u8, scale: u8, negative: bool) -> Decimal {
        let p = precision.clamp(1, MAX_PRECISION);
        let w = wide::mul_pow10(wide::from_u128(1), u32::from(p)).unwrap_or(*max_magnitude());
        let w = wide::sub(&w, &wide::from_u128(1));
        Self::from_wide(negative, &w, scale).unwrap_or(Self::ZERO)
    }

    /// Digits after the point.
    #[inline]
    pub const fn scale(&self) -> u8 {
        self.scale
    }

    /// Below zero.
    #[inline]
    pub const fn is_negative(&self) -> bool {
        self.neg
    }

    /// Equal to zero.
    #[inline]
    pub const fn is_zero(&self) -> bool {
        self.lo[0] == 0 && self.lo[1] == 0 && self.lo[2] == 0 && self.top == 0
    }

    /// Digits in all: those before the point (none for a value below 1) plus the scale, at least 1.
    pub fn precision(&self) -> u8 {
        let digits = self.digits();
        digits.max(self.scale).max(1)
    }

    /// Digits before the point, 0 for a value below 1.
    pub fn int_digits(&self) -> u8 {
        self.digits().saturating_sub(self.scale)
    }

    /// Decimal digits of the magnitude, 0 for zero.
    fn digits(&self) -> u8 {
        match self.magnitude_u128() {
            Some(0) => 0,
            Some(m) => m.ilog10() as u8 + 1,
            None => {
                let mut w = self.magnitude();
                let mut n = 0;
                loop {
                    if let Some(m) = wide::to_u128(&w) {
                        return n + m.ilog10() as u8 + 1;
                    }
                    wide::div_small(&mut w, wide::TEN19);
                    n += 19;
                }
            }
        }
    }

    #[inline]
    fn magnitude_u128(&self) -> Option<u128> {
        if self.lo[2] == 0 && self.top == 0 {
            Some(u128::from(self.lo[0]) | u128::from(self.lo[1]) << 64)
        } else {
            None
        }
    }

    #[inline]
    fn magnitude(&self) -> Wide {
        [
            self.lo[0],
            self.lo[1],
            self.lo[2],
            u64::from(self.top),
            0,
            0,
            0,
            0,
        ]
    }

    /// The number times `10^scale`, if it fits 128 bits.
    #[inline]
    pub fn mantissa_i128(&self) -> Option<i128> {
        let m = i128::try_from(self.magnitude_u128()?).ok()?;
        Some(if self.neg { -m } else { m })
    }

    /// The same number without trailing zeros after the point.
    pub fn normalized(&self) -> Decimal {
        let mut d = *self;
        while d.scale > 0 {
            match d.magnitude_u128() {
                Some(m) if m % 10 == 0 => d = Self::from_parts(d.neg, m / 10, d.scale - 1),
                Some(_) => break,
                None => {
                    let (w, exact, _) = wide::div_pow10(d.magnitude(), 1);
                    if !exact {
                        break;
                    }
                    match Self::from_wide(d.neg, &w, d.scale - 1) {
                        Some(x) => d = x,
                        None => break,
                    }
                }
            }
        }
        d
    }

    /// Bytes of the packed form of DECIMAL(precision, _): the least that hold a sign and `precision` digits.
    #[inline]
    pub const fn packed_len(precision: u8) -> usize {
        // 10^p < 2^(p * 3322 / 1000 + 1)
        let bits = precision as usize * 3322 / 1000 + 2;
        bits.div_ceil(8)
    }

    /// Appends the little-endian two's complement mantissa at the column's scale, `packed_len(precision)` bytes. A value
    /// that does not fit the column is clamped to its largest (assignment conversion has already refused it).
    pub fn pack_le(&self, precision: u8, scale: u8, out: &mut Vec<u8>) {
        let (bytes, n) = self.pack(precision, scale);
        out.extend_from_slice(&bytes[..n]);
    }

    /// Appends the packed form in an order that `memcmp` agrees with: big-endian, sign bit inverted.
    pub fn pack_ordered(&self, precision: u8, scale: u8, out: &mut Vec<u8>) {
        let (mut bytes, n) = self.pack(precision, scale);
        bytes[..n].reverse();
        bytes[0] ^= 0x80;
        out.extend_from_slice(&bytes[..n]);
    }

    fn pack(&self, precision: u8, scale: u8) -> ([u8; 32], usize) {
        let n = Self::packed_len(precision);
        let mut d = if self.scale == scale {
            *self
        } else {
            self.rescale(scale)
                .unwrap_or_else(|| Self::max_value(precision, scale, self.neg))
        };
        if d.digits() > precision {
            d = Self::max_value(precision, scale, self.neg);
        }
        let mut bytes = [0u8; 32];
        match d.mantissa_i128() {
            Some(m) => {
                bytes[..16].copy_from_slice(&m.to_le_bytes());
                bytes[16..].fill(if m < 0 { 0xFF } else { 0 });
            }
            None => {
                let limbs = [d.lo[0], d.lo[1], d.lo[2], u64::from(d.top)];
                let mut carry = true;
                for (chunk, l) in bytes.chunks_exact_mut(8).zip(limbs) {
                    let v = if d.neg {
                        let (v, c) = (!l).overflowing_add(u64::from(carry));
                        carry = c;
                        v
                    } else {
                        l
                    };
                    chunk.copy_from_slice(&v.to_le_bytes());
                }
            }
        }
        (bytes, n)
    }

    /// Reads what [`pack_le`](Self::pack_le) wrote; bytes past 28 are ignored.
    #[inline]
    pub fn unpack_le(bytes: &[u8], scale: u8) -> Decimal {
        let n = bytes.len().min(28);
        if n == 0 {
            return Self::ZERO;
        }
        let fill = if bytes[n - 1] & 0x80 != 0 { 0xFF } else { 0 };
        if n <= 16 {
            let mut b = [fill; 16];
            b[..n].copy_from_slice(&bytes[..n]);
            return Self::from_i128(i128::from_le_bytes(b), scale);
        }
        let mut b = [fill; 32];
        b[..n].copy_from_slice(&bytes[..n]);
        let neg = fill != 0;
        let mut w = wide::ZERO;
        let mut carry = true;
        for (dst, chunk) in w.iter_mut().zip(b.chunks_exact(8)) {
            let mut l = [0u8; 8];
            l.copy_from_slice(chunk);
            let v = u64::from_le_bytes(l);
            *dst = if neg {
                let (v, c) = (!v).overflowing_add(u64::from(carry));
                carry = c;
                v
            } else {
                v
            };
        }
        Self::from_wide(neg, &w, scale).unwrap_or_else(|| Self::max_value(65, scale, neg))
    }

    /// Reads what [`pack_ordered`](Self::pack_ordered) wrote.
    pub fn unpack_ordered(bytes: &[u8], scale: u8) -> Decimal {
        let n = bytes.len().min(28);
        let mut b = [0u8; 28];
        for (d, s) in b[..n].iter_mut().rev().zip(bytes) {
            *d = *s;
        }
        if n > 0 {
            b[n - 1] ^= 0x80;
        }
        Self::unpack_le(&b[..n], scale)
    }
}

/// `10^65 - 1`.
fn max_magnitude() -> &'static Wide {
    static MAX: Wide = {
        let mut w = [0u64; wide::LIMBS];
        w[0] = 1;
        let mut n = 0;
        while n < 65 {
            let mut carry = 0u128;
            let mut i = 0;
            while i < wide::LIMBS {
                let t = w[i] as u128 * 10 + carry;
                w[i] = t as u64;
                carry = t >> 64;
                i += 1;
            }
            n += 1;
        }
        // 10^65 ends in 65 zero bits: the borrow runs through the lowest limb
        w[0] = u64::MAX;
        w[1] -= 1;
        w
    };
    &MAX
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.neg != other.neg {
            return other.neg.cmp(&self.neg);
        }
        let mag = cmp_magnitude(self, other);
        if self.neg { mag.reverse() } else { mag }
    }
}

fn cmp_magnitude(a: &Decimal, b: &Decimal) -> Ordering {
    let s = a.scale.max(b.scale);
    if let (Some(x), Some(y)) = (a.magnitude_u128(), b.magnitude_u128()) {
        let x = x.checked_mul(POW10[usize::from(s - a.scale)]);
        let y = y.checked_mul(POW10[usize::from(s - b.scale)]);
        if let (Some(x), Some(y)) = (x, y) {
            return x.cmp(&y);
        }
    }
    let up = |d: &Decimal| {
        // 224 bits times 10^30 stay below 2^324
        wide::mul_pow10(d.magnitude(), u32::from(s - d.scale)).unwrap_or(wide::ZERO)
    };
    wide::cmp(&up(a), &up(b))
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let d = self.normalized();
        (d.lo, d.top, d.scale, d.neg).hash(state);
    }
}

impl Default for Decimal {
    fn default() -> Self {
        Self::ZERO
    }
}

#[cfg(test)]
mod tests;
