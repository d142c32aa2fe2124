//! DECIMAL from and to text and binary floating point.

use super::wide::{self, TEN19};
use super::{Decimal, MAX_SCALE};
use std::fmt;

/// What [`Decimal::parse`] found.
#[derive(Debug, Clone, Copy)]
pub struct ParsedDecimal {
    /// The number; the largest of 65 digits after an overflow.
    pub value: Decimal,
    /// Bytes read, leading white space included; 0 if there was no digit.
    pub used: usize,
    /// The number had more than 65 digits before the point.
    pub overflow: bool,
    /// Digits past the 30th after the point were rounded away.
    pub rounded: bool,
}

impl Decimal {
    /// Reads `[space][sign]digits[.digits][e[sign]digits]` from the front of `text`.
    pub fn parse(text: &[u8]) -> ParsedDecimal {
        let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let mut i = start;
        let neg = match text.get(i) {
            Some(b'-') => {
                i += 1;
                true
            }
            Some(b'+') => {
                i += 1;
                false
            }
            _ => false,
        };
        let int_at = i;
        while text.get(i).is_some_and(u8::is_ascii_digit) {
            i += 1;
        }
        let int = &text[int_at..i];
        let mut frac: &[u8] = &[];
        if text.get(i) == Some(&b'.') {
            let at = i + 1;
            let mut j = at;
            while text.get(j).is_some_and(u8::is_ascii_digit) {
                j += 1;
            }
            frac = &text[at..j];
            if !int.is_empty() || !frac.is_empty() {
                i = j;
            }
        }
        if int.is_empty() && frac.is_empty() {
            return ParsedDecimal {
                value: Decimal::ZERO,
                used: 0,
                overflow: false,
                rounded: false,
            };
        }
        let (exp, exp_len) = parse_exponent(&text[i..]);
        let mut out = build(neg, int, frac, exp);
        out.used = i + exp_len;
        out
    }

    /// Appends the number as MySQL prints it: all digits after the point, `-` only for a number below zero.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let mut buf = [b'0'; 80];
        let mut at = buf.len();
        let mut put = |mut v: u64, min: usize| {
            let stop = at - min;
            while v > 0 {
                at -= 1;
                buf[at] = b'0' + (v % 10) as u8;
                v /= 10;
            }
            at = at.min(stop);
        };
        match self.magnitude_u128() {
            Some(mut m) => {
                while m > u128::from(u64::MAX) {
                    put((m % u128::from(TEN19)) as u64, 19);
                    m /= u128::from(TEN19);
                }
                put(m as u64, 0);
            }
            None => {
                let mut w = self.magnitude();
                while !wide::is_zero(&w) {
                    let more = w[1..].iter().any(|&l| l != 0);
                    if more {
                        put(wide::div_small(&mut w, TEN19), 19);
                    } else {
                        put(w[0], 0);
                        w = wide::ZERO;
                    }
                }
            }
        }
        let scale = usize::from(self.scale);
        let at = at.min(buf.len() - scale - 1);
        if self.neg {
            out.push(b'-');
        }
        out.extend_from_slice(&buf[at..buf.len() - scale]);
        if scale > 0 {
            out.push(b'.');
            out.extend_from_slice(&buf[buf.len() - scale..]);
        }
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        const EXACT: [f64; 23] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
        ];
        if self.scale <= 22
            && let Some(m) = self.magnitude_u128()
            && m < 1 << 53
        {
            // Both operands are exact, so the quotient is rounded once.
            let v = m as f64 / EXACT[usize::from(self.scale)];
            return if self.neg { -v } else { v };
        }
        self.to_string().parse().unwrap_or(0.0)
    }

    /// The decimal of the shortest text that reads back as `v`; `overflow` past 65 digits, zero for NaN.
    pub fn from_f64(v: f64) -> ParsedDecimal {
        if v.is_nan() {
            return Self::parse(b"0");
        }
        if v.is_infinite() {
            return ParsedDecimal {
                value: Decimal::max_value(65, 0, v < 0.0),
                used: 0,
                overflow: true,
                rounded: false,
            };
        }
        if v == v.trunc() && v.abs() < 1e15 {
            return ParsedDecimal {
                value: Decimal::from_i64(v as i64),
                used: 0,
                overflow: false,
                rounded: false,
            };
        }
        Self::parse(format!("{v:e}").as_bytes())
    }
}

/// Value and length of an exponent at the front of `text`; `(0, 0)` if there is none.
fn parse_exponent(text: &[u8]) -> (i64, usize) {
    if !matches!(text.first(), Some(b'e' | b'E')) {
        return (0, 0);
    }
    let (neg, at) = match text.get(1) {
        Some(b'-') => (true, 2),
        Some(b'+') => (false, 2),
        _ => (false, 1),
    };
    let digits = text[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 {
        return (0, 0);
    }
    let v = text[at..at + digits]
        .iter()
        .fold(0i64, |v, b| (v * 10 + i64::from(b - b'0')).min(1_000_000));
    (if neg { -v } else { v }, at + digits)
}

fn build(neg: bool, int: &[u8], frac: &[u8], exp: i64) -> ParsedDecimal {
    let mut out = ParsedDecimal {
        value: Decimal::ZERO,
        used: 0,
        overflow: false,
        rounded: false,
    };
    let digits = || int.iter().chain(frac).copied();
    if exp == 0 && int.len() + frac.len() <= 38 && frac.len() <= usize::from(MAX_SCALE) {
        let m = digits().fold(0u128, |m, b| m * 10 + u128::from(b - b'0'));
        out.value = Decimal::from_parts(neg, m, frac.len() as u8);
        return out;
    }
    // Number of digits before the point once the exponent is applied.
    let point = int.len() as i64 + exp;
    let total = (int.len() + frac.len()) as i64;
    let keep_scale = (total - point).clamp(0, i64::from(MAX_SCALE));
    let mut w = wide::ZERO;
    let mut taken = 0i64;
    let limit = point + keep_scale;
    let mut round_up = false;
    for b in digits() {
        if taken >= limit {
            if taken == limit {
                round_up = b >= b'5';
            }
            out.rounded |= b != b'0';
            taken += 1;
            continue;
        }
        if wide::mul_small(&mut w, 10, u64::from(b - b'0')) != 0 || w[5] != 0 {
            out.overflow = true;
            break;
        }
        taken += 1;
    }
    if !out.overflow {
        if round_up {
            w = wide::add(&w, &wide::from_u128(1));
        }
        if total < limit && !wide::is_zero(&w) {
            match wide::mul_pow10(w, (limit - total).min(200) as u32) {
                Some(x) => w = x,
                None => out.overflow = true,
            }
        }
    }
    let mut scale = keep_scale as u8;
    let fitted = if out.overflow {
        None
    } else {
        // Fewer digits after the point make room for those before it.
        let mut v = Decimal::from_wide(neg, &w, scale);
        while v.is_none() && scale > 0 {
            let (q, exact, half) = wide::div_pow10(w, 1);
            w = if half {
                wide::add(&q, &wide::from_u128(1))
            } else {
                q
            };
            out.rounded |= !exact;
            scale -= 1;
            v = Decimal::from_wide(neg, &w, scale);
        }
        v
    };
    out.value = fitted.unwrap_or_else(|| {
        out.overflow = true;
        Decimal::max_value(65, 0, neg)
    });
    out
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(80);
        self.write_text(&mut out);
        f.write_str(std::str::from_utf8(&out).unwrap_or(""))
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Decimal {
    type Err = ();

    fn from_str(s: &str) -> Result<Self, ()> {
        let p = Self::parse(s.as_bytes());
        if p.used == s.len() && !p.overflow && p.used > 0 {
            Ok(p.value)
        } else {
            Err(())
        }
    }
}
