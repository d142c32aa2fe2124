//! Any value as a number: DOUBLE, integer, DECIMAL, truth.

use super::push_warning;
use crate::decimal::Decimal;
use crate::decimal::arith::Rounding;
use crate::error::{SqlError, Warning};
use crate::value::ValueRef;

/// Reads a floating-point number off the front of a text, leading white space skipped: the number and the bytes it took (0: no
/// number there). Past the range of doubles the result is the largest double.
pub fn str_to_f64(s: &[u8]) -> (f64, usize) {
    let start = s.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut i = start;
    if matches!(s.get(i), Some(b'-' | b'+')) {
        i += 1;
    }
    let digits = |mut i: usize| {
        let from = i;
        while s.get(i).is_some_and(u8::is_ascii_digit) {
            i += 1;
        }
        (i, i - from)
    };
    let int_at = i;
    let (mut i, int) = digits(i);
    let mut frac = 0;
    if s.get(i) == Some(&b'.') {
        let (j, n) = digits(i + 1);
        if int + n > 0 {
            i = j;
            frac = n;
        }
    }
    if int + frac == 0 {
        return (0.0, 0);
    }
    let mut plain = i == int_at + int;
    if matches!(s.get(i), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(s.get(i + 1), Some(b'-' | b'+')));
        let (j, n) = digits(i + 1 + sign);
        if n > 0 {
            i = j;
            plain = false;
        }
    }
    if plain && int <= 15 {
        let v = s[int_at..i]
            .iter()
            .fold(0u64, |v, b| v * 10 + u64::from(b - b'0')) as f64;
        return (if s[start] == b'-' { -v } else { v }, i);
    }
    let v: f64 = std::str::from_utf8(&s[start..i])
        .ok()
        .and_then(|t| t.parse().ok())
        .unwrap_or(0.0);
    (v.clamp(f64::MIN, f64::MAX), i)
}

/// Reads an integer (sign and digits only) off the front of a text, leading white space skipped: the number, saturated, and the bytes
/// it took (0: none).
pub fn str_to_int(s: &[u8]) -> (i128, usize) {
    let mut i = s.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let neg = s.get(i) == Some(&b'-');
    if matches!(s.get(i), Some(b'-' | b'+')) {
        i += 1;
    }
    let at = i;
    let mut v = 0i128;
    while let Some(d) = s.get(i).filter(|b| b.is_ascii_digit()) {
        v = v.saturating_mul(10).saturating_add(i128::from(d - b'0'));
        i += 1;
    }
    if i == at {
        return (0, 0);
    }
    (if neg { -v } else { v }, i)
}

/// Rounds to the nearest integer, ties to even, as MySQL does for doubles.
#[inline]
pub fn round_half_even(v: f64) -> f64 {
    v.round_ties_even()
}

fn rest_is_blank(s: &[u8], used: usize) -> bool {
    used > 0 && s[used..].iter().all(u8::is_ascii_whitespace)
}

/// Bytes of a BIT in network order as a string function sees them: the number itself in arithmetic.
fn text_of(v: ValueRef<'_>) -> Option<&[u8]> {
    match v {
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => Some(b),
        _ => None,
    }
}

/// The value as a double; 0 for NULL and for text that starts with no number.
#[inline]
pub fn to_f64(v: ValueRef<'_>) -> f64 {
    match v {
        ValueRef::Null => 0.0,
        ValueRef::Int(v) => v as f64,
        ValueRef::UInt(v) | ValueRef::Bit(v, _) | ValueRef::Set(v, _) => v as f64,
        ValueRef::Float(v) => f64::from(v),
        ValueRef::Double(v) => v,
        ValueRef::Decimal(d) => d.to_f64(),
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => str_to_f64(b).0,
        ValueRef::Date(d) => d.to_number() as f64,
        ValueRef::DateTime(d) => d.to_number() as f64 + f64::from(d.micros()) / 1e6,
        ValueRef::Time(t) => {
            let f = f64::from(t.micros()) / 1e6;
            let n = t.to_number() as f64;
            if t.is_negative() { n - f } else { n + f }
        }
        ValueRef::Enum(v, _) => f64::from(v),
    }
}

#[cold]
fn warn_truncated(kind: &str, text: &[u8], warnings: &mut Vec<Warning>) {
    let e = SqlError::truncated_wrong_value(kind, &String::from_utf8_lossy(text));
    push_warning(warnings, Warning::from_error(e));
}

/// As [`to_f64`], with warning 1292 for text that is not wholly a number.
#[inline]
pub fn to_f64_warn(v: ValueRef<'_>, warnings: &mut Vec<Warning>) -> f64 {
    match text_of(v) {
        Some(b) => {
            let (n, used) = str_to_f64(b);
            if !rest_is_blank(b, used) {
                warn_truncated("DOUBLE", b, warnings);
            }
            n
        }
        None => to_f64(v),
    }
}

/// The value as an integer: doubles to the nearest even, decimals half away from zero, text by its leading digits. The result is
/// within i64 or u64 for every value that is a number.
pub fn to_int(v: ValueRef<'_>) -> i128 {
    match v {
        ValueRef::Null => 0,
        ValueRef::Int(v) => i128::from(v),
        ValueRef::UInt(v) | ValueRef::Bit(v, _) | ValueRef::Set(v, _) => i128::from(v),
        ValueRef::Float(v) => round_half_even(f64::from(v)) as i128,
        ValueRef::Double(v) => round_half_even(v) as i128,
        ValueRef::Decimal(d) => {
            d.round_with(0, Rounding::HalfUp)
                .mantissa_i128()
                .unwrap_or(if d.is_negative() {
                    i128::MIN
                } else {
                    i128::MAX
                })
        }
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => str_to_int(b).0,
        ValueRef::Date(d) => i128::from(d.to_number()),
        ValueRef::DateTime(d) => i128::from(d.round(0).unwrap_or(d).to_number()),
        ValueRef::Time(t) => i128::from(t.round(0).to_number()),
        ValueRef::Enum(v, _) => i128::from(v),
    }
}

/// As [`to_int`], with warning 1292 for text that is not wholly an integer.
pub fn to_int_warn(v: ValueRef<'_>, warnings: &mut Vec<Warning>) -> i128 {
    match text_of(v) {
        Some(b) => {
            let (n, used) = str_to_int(b);
            if !rest_is_blank(b, used) {
                warn_truncated("INTEGER", b, warnings);
            }
            n
        }
        None => to_int(v),
    }
}

/// The value as an exact decimal; doubles by their shortest text, the largest decimal on overflow.
pub fn to_decimal(v: ValueRef<'_>) -> Decimal {
    match v {
        ValueRef::Decimal(d) => d,
        ValueRef::Null => Decimal::ZERO,
        ValueRef::Int(v) => Decimal::from_i64(v),
        ValueRef::UInt(v) | ValueRef::Bit(v, _) | ValueRef::Set(v, _) => Decimal::from_u64(v),
        ValueRef::Enum(v, _) => Decimal::from_u64(u64::from(v)),
        ValueRef::Float(v) => Decimal::from_f64(f64::from(v)).value,
        ValueRef::Double(v) => Decimal::from_f64(v).value,
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => Decimal::parse(b).value,
        ValueRef::Date(d) => Decimal::from_u64(d.to_number()),
        ValueRef::DateTime(d) => {
            temporal_decimal(d.to_number() as i128, d.micros(), d.fsp(), false)
        }
        ValueRef::Time(t) => temporal_decimal(
            i128::from(t.to_number().unsigned_abs()),
            t.micros(),
            t.fsp(),
            t.is_negative(),
        ),
    }
}

fn temporal_decimal(number: i128, micros: u32, fsp: u8, neg: bool) -> Decimal {
    let m = number * 1_000_000 + i128::from(micros);
    Decimal::from_i128(if neg { -m } else { m }, 6).round_with(i32::from(fsp), Rounding::Truncate)
}

/// As [`to_decimal`], with warning 1292 for text that is not wholly a number.
pub fn to_decimal_warn(v: ValueRef<'_>, warnings: &mut Vec<Warning>) -> Decimal {
    match text_of(v) {
        Some(b) => {
            let p = Decimal::parse(b);
            if !rest_is_blank(b, p.used) || p.overflow {
                warn_truncated("DECIMAL", b, warnings);
            }
            p.value
        }
        None => to_decimal(v),
    }
}

/// Truth of a value in a condition: NULL is unknown, a number is true unless zero, text is its number.
#[inline]
pub fn is_true(v: ValueRef<'_>) -> Option<bool> {
    match v {
        ValueRef::Null => None,
        ValueRef::Int(v) => Some(v != 0),
        ValueRef::Decimal(d) => Some(!d.is_zero()),
        other => Some(to_f64(other) != 0.0),
    }
}

/// As [`is_true`], with warning 1292 for text that is not wholly a number.
#[inline]
pub fn to_truth_warn(v: ValueRef<'_>, warnings: &mut Vec<Warning>) -> Option<bool> {
    match v {
        ValueRef::Str(..) | ValueRef::Bytes(_) => Some(to_f64_warn(v, warnings) != 0.0),
        other => is_true(other),
    }
}
