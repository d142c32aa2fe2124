//! Any value as text, byte for byte as MySQL sends it in the text protocol.

use super::fitted::write_double_fixed;
use crate::datatype::DataType;
use crate::value::ValueRef;
use std::borrow::Cow;

/// Two digits of every number below 100.
static PAIRS: [u8; 200] = {
    let mut t = [0u8; 200];
    let mut i = 0;
    while i < 100 {
        t[i * 2] = b'0' + (i / 10) as u8;
        t[i * 2 + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    t
};

/// Appends the decimal digits of `v`.
#[inline]
pub fn write_uint(mut v: u64, out: &mut Vec<u8>) {
    if v < 10 {
        out.push(b'0' + v as u8);
        return;
    }
    let mut buf = [0u8; 20];
    let mut at = 20;
    while v >= 100 {
        let p = (v % 100) as usize * 2;
        v /= 100;
        at -= 2;
        buf[at..at + 2].copy_from_slice(&PAIRS[p..p + 2]);
    }
    if v >= 10 {
        let p = v as usize * 2;
        at -= 2;
        buf[at..at + 2].copy_from_slice(&PAIRS[p..p + 2]);
    } else {
        at -= 1;
        buf[at] = b'0' + v as u8;
    }
    out.extend_from_slice(&buf[at..]);
}

/// Appends the decimal digits of `v` with a `-` if it is negative.
#[inline]
pub fn write_int(v: i64, out: &mut Vec<u8>) {
    if v < 0 {
        out.push(b'-');
    }
    write_uint(v.unsigned_abs(), out);
}

/// Digits that tell any double from its neighbours.
const DOUBLE_DIGITS: usize = 17;

/// Appends a double in its shortest form: positional for a decimal exponent from −15 to 14 and where there are digits behind the
/// point, otherwise `d.ddde±x` without `+`.
pub fn write_double(v: f64, out: &mut Vec<u8>) {
    if v == v.trunc() && v.abs() < 1e15 {
        if v.is_sign_negative() && v == 0.0 {
            out.extend_from_slice(b"-0");
        } else {
            write_int(v as i64, out);
        }
        return;
    }
    write_scientific(&shortest(v), out);
}

/// The shortest text that reads back as the number, as `d.ddde±x`.
pub(super) fn shortest(v: f64) -> String {
    let text = format!("{v:e}");
    let digits = text.bytes().take_while(|&b| b != b'e');
    if digits.filter(u8::is_ascii_digit).count() == DOUBLE_DIGITS {
        // Of two as short and as near the even one is taken.
        return format!("{v:.16e}");
    }
    text
}

/// Appends a float with at most six significant digits, as MySQL shows FLOAT columns.
pub fn write_float(v: f32, out: &mut Vec<u8>) {
    if v == v.trunc() && v.abs() < 1e6 {
        write_int(v as i64, out);
        return;
    }
    write_scientific(&format!("{:.5e}", f64::from(v)), out);
}

/// Rewrites Rust's `d.ddde±x` in MySQL's form.
fn write_scientific(s: &str, out: &mut Vec<u8>) {
    let (mantissa, exp) = s.split_once('e').unwrap_or((s, "0"));
    let exp: i32 = exp.parse().unwrap_or(0);
    let mantissa = match mantissa.strip_prefix('-') {
        Some(m) => {
            out.push(b'-');
            m
        }
        None => mantissa,
    };
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    while digits.len() > 1 && digits.last() == Some(&b'0') {
        digits.pop();
    }
    let n = digits.len() as i32;
    // A fraction keeps its place, and zeros are not made up.
    let positional = (-15..15).contains(&exp) || (exp >= 15 && exp + 1 < n);
    if !positional {
        out.push(digits.first().copied().unwrap_or(b'0'));
        if n > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        write_int(i64::from(exp), out);
    } else if exp < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-exp - 1) as usize, b'0');
        out.extend_from_slice(&digits);
    } else if exp + 1 >= n {
        out.extend_from_slice(&digits);
        out.resize(out.len() + (exp + 1 - n) as usize, b'0');
    } else {
        let point = (exp + 1) as usize;
        out.extend_from_slice(&digits[..point]);
        out.push(b'.');
        out.extend_from_slice(&digits[point..]);
    }
}

/// Appends a value as text when no column type is at hand. NULL appends nothing; a BIT its bytes.
#[inline]
pub fn write_value(v: ValueRef<'_>, out: &mut Vec<u8>) {
    match v {
        ValueRef::Null => {}
        ValueRef::Int(v) => write_int(v, out),
        ValueRef::UInt(v) => write_uint(v, out),
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => out.extend_from_slice(b),
        ValueRef::Float(v) => write_float(v, out),
        ValueRef::Double(v) => write_double(v, out),
        ValueRef::Decimal(d) => d.write_text(out),
        ValueRef::Date(d) => out.extend_from_slice(&d.to_text()),
        ValueRef::DateTime(d) => d.write_text(out),
        ValueRef::Time(t) => t.write_text(out),
        ValueRef::Bit(v, n) => {
            let n = usize::from(n).div_ceil(8).clamp(1, 8);
            out.extend_from_slice(&v.to_be_bytes()[8 - n..]);
        }
        ValueRef::Enum(v, l) => out.extend_from_slice(l.name(v)),
        ValueRef::Set(v, l) => l.write_set(v, out),
    }
}

/// Appends a value as text of its column type: what the text protocol sends, without its length prefix. NULL appends
/// nothing. The type adds ZEROFILL, four digits of YEAR and the fixed digits of `DOUBLE(M,D)`.
#[inline]
pub fn write_text(v: ValueRef<'_>, ty: &DataType, out: &mut Vec<u8>) {
    match (ty, v) {
        (DataType::Int { zerofill: true, .. } | DataType::Decimal { zerofill: true, .. }, _) => {
            zero_filled(v, ty, out);
        }
        (DataType::Year, ValueRef::UInt(y)) => {
            out.extend_from_slice(&[
                PAIRS[(y / 100 % 100) as usize * 2],
                PAIRS[(y / 100 % 100) as usize * 2 + 1],
                PAIRS[(y % 100) as usize * 2],
                PAIRS[(y % 100) as usize * 2 + 1],
            ]);
        }
        (
            DataType::Double {
                digits: Some((_, d)),
                ..
            },
            ValueRef::Double(x),
        ) => write_double_fixed(x, *d, out),
        (
            DataType::Float {
                digits: Some((_, d)),
                ..
            },
            ValueRef::Float(x),
        ) => write_double_fixed(f64::from(x), *d, out),
        _ => write_value(v, out),
    }
}

#[cold]
fn zero_filled(v: ValueRef<'_>, ty: &DataType, out: &mut Vec<u8>) {
    if v.is_null() {
        return;
    }
    let width = match ty {
        DataType::Decimal {
            precision, scale, ..
        } => usize::from(*precision) + usize::from(*scale > 0),
        other => other.display_length(crate::CollationId::BINARY) as usize,
    };
    let at = out.len();
    write_value(v, out);
    let len = out.len() - at;
    if len < width {
        out.splice(at..at, std::iter::repeat_n(b'0', width - len));
    }
}

/// The value as text; lossy if its bytes are not UTF-8. For messages.
pub fn to_text(v: ValueRef<'_>) -> String {
    if v.is_null() {
        return "NULL".to_owned();
    }
    String::from_utf8_lossy(&to_bytes(v)).into_owned()
}

/// The value's text bytes, borrowed if it is a string.
#[inline]
pub fn to_bytes(v: ValueRef<'_>) -> Cow<'_, [u8]> {
    match v {
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => Cow::Borrowed(b),
        ValueRef::Enum(n, l) => Cow::Borrowed(l.name(n)),
        other => {
            let mut out = Vec::new();
            write_value(other, &mut out);
            Cow::Owned(out)
        }
    }
}
