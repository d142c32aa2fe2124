//! Values as the bytes of a row: fixed width where the type allows, raw bytes otherwise. The engine's row codec builds on this.
//!
//! Values must have passed assignment conversion to the column's type; what does not fit is clamped here, never reported.
//! Formats are stable on disk. NULL has no bytes: the row codec keeps a bitmap.

use crate::collation::CollationId;
use crate::datatype::{DataType, IntWidth};
use crate::decimal::Decimal;
use crate::temporal::{Date, DateTime, MICROS, Time};
use crate::value::ValueRef;

mod valid;

pub use valid::is_valid;

/// Bytes of the fraction of a temporal value with `fsp` digits.
#[inline]
pub(crate) const fn fraction_len(fsp: u8) -> usize {
    (fsp as usize).div_ceil(2)
}

/// Microseconds in one unit of a stored fraction of `fsp` digits.
#[inline]
pub(crate) const fn fraction_unit(fsp: u8) -> u32 {
    match fraction_len(fsp) {
        0 => 1_000_000,
        1 => 10_000,
        2 => 100,
        _ => 1,
    }
}

/// Stored bytes of a SET of `members` members.
pub(crate) const fn set_len(members: usize) -> usize {
    match members.div_ceil(8) {
        0 | 1 => 1,
        n @ 2..=4 => n,
        _ => 8,
    }
}

/// Bytes of every stored value of the type, or `None` if they vary (CHAR varies too: it is stored without trailing spaces).
#[inline]
pub fn fixed_width(ty: &DataType) -> Option<usize> {
    Some(match ty {
        DataType::Int { width, .. } => width.bytes(),
        DataType::Decimal { precision, .. } => Decimal::packed_len(*precision),
        DataType::Float { .. } => 4,
        DataType::Double { .. } => 8,
        DataType::Bit(n) => usize::from(*n).div_ceil(8),
        DataType::Binary(n) => *n as usize,
        DataType::Date => 3,
        DataType::Time(f) => 3 + fraction_len(*f),
        DataType::DateTime(f) | DataType::Timestamp(f) => 5 + fraction_len(*f),
        DataType::Year => 1,
        DataType::Enum(l) => {
            if l.names.len() < 256 {
                1
            } else {
                2
            }
        }
        DataType::Set(l) => set_len(l.names.len()),
        DataType::Null => 0,
        DataType::Char { .. }
        | DataType::VarChar { .. }
        | DataType::VarBinary(_)
        | DataType::Text { .. }
        | DataType::Blob(_)
        | DataType::Json => return None,
    })
}

#[inline]
fn put_le(v: u64, n: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&v.to_le_bytes()[..n]);
}

/// Reads up to 8 little-endian bytes; missing ones count as zero.
#[inline]
fn get_le(b: &[u8], n: usize) -> u64 {
    if b.len() >= 8 && n == 8 {
        return u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
    }
    if n == 4
        && let Some(&[a, b, c, d]) = b.first_chunk::<4>()
    {
        return u64::from(u32::from_le_bytes([a, b, c, d]));
    }
    b.iter()
        .take(n)
        .rev()
        .fold(0, |v, &x| v << 8 | u64::from(x))
}

/// Any value as an integer's 64 bits, for integer-like columns.
#[inline]
pub(crate) fn bits(v: ValueRef<'_>) -> u64 {
    match v {
        ValueRef::Int(v) => v as u64,
        ValueRef::UInt(v) | ValueRef::Bit(v, _) | ValueRef::Set(v, _) => v,
        ValueRef::Enum(v, _) => u64::from(v),
        ValueRef::Float(v) => v as i64 as u64,
        ValueRef::Double(v) => v as i64 as u64,
        ValueRef::Decimal(d) => d
            .to_i64()
            .map(|v| v as u64)
            .or_else(|| d.to_u64())
            .unwrap_or(0),
        _ => 0,
    }
}

#[inline]
pub(crate) fn double(v: ValueRef<'_>) -> f64 {
    match v {
        ValueRef::Double(v) => v,
        ValueRef::Float(v) => f64::from(v),
        ValueRef::Int(v) => v as f64,
        ValueRef::UInt(v) | ValueRef::Bit(v, _) => v as f64,
        ValueRef::Decimal(d) => d.to_f64(),
        _ => 0.0,
    }
}

pub(crate) fn date(v: ValueRef<'_>) -> Date {
    match v {
        ValueRef::Date(d) => d,
        ValueRef::DateTime(d) => d.date(),
        _ => Date::ZERO,
    }
}

#[inline]
pub(crate) fn datetime(v: ValueRef<'_>) -> DateTime {
    match v {
        ValueRef::DateTime(d) => d,
        ValueRef::Date(d) => d.at_midnight(),
        _ => DateTime::ZERO,
    }
}

pub(crate) fn time(v: ValueRef<'_>) -> Time {
    match v {
        ValueRef::Time(t) => t,
        ValueRef::DateTime(d) => d.time(),
        _ => Time::ZERO,
    }
}

pub(crate) fn decimal(v: ValueRef<'_>) -> Decimal {
    match v {
        ValueRef::Decimal(d) => d,
        ValueRef::Int(v) => Decimal::from_i64(v),
        ValueRef::UInt(v) => Decimal::from_u64(v),
        _ => Decimal::ZERO,
    }
}

/// A DATETIME as a number of its stored width: 40 bits of date and time, then the fraction in units of the width.
#[inline]
pub(crate) fn datetime_bits(d: DateTime, fsp: u8) -> u64 {
    let frac = u64::from(d.micros() / fraction_unit(fsp));
    (d.packed() >> 20) << (8 * fraction_len(fsp)) | frac
}

#[inline]
pub(crate) fn datetime_from_bits(v: u64, fsp: u8) -> DateTime {
    let shift = 8 * fraction_len(fsp);
    let frac = v & ((1 << shift) - 1);
    let micros = (frac * u64::from(fraction_unit(fsp))).min(999_999);
    DateTime::from_packed((v >> shift) << 20 | micros, fsp)
}

/// A TIME as an unsigned number of its stored width whose order is that of the time.
#[inline]
pub(crate) fn time_bits(t: Time, fsp: u8) -> u64 {
    let n = fraction_len(fsp);
    let unit = i64::from(fraction_unit(fsp));
    let bias = 1i64 << (8 * (3 + n) - 1);
    let scaled = if n == 0 {
        t.micros_total() / MICROS
    } else {
        t.micros_total() / unit
    };
    // 838:59:59 is less than 2^22 seconds, and 10^6 less than 2^24, so the biased number fits the width.
    (scaled + bias) as u64
}

#[inline]
pub(crate) fn time_from_bits(v: u64, fsp: u8) -> Time {
    let n = fraction_len(fsp);
    let bias = 1i64 << (8 * (3 + n) - 1);
    Time::from_micros((v as i64 - bias) * i64::from(fraction_unit(fsp)), fsp)
}

/// Appends the stored bytes of a value that is not NULL (NULL is stored as the type's zero).
pub fn store(ty: &DataType, v: ValueRef<'_>, out: &mut Vec<u8>) {
    match ty {
        DataType::Null => {}
        DataType::Int { width, .. } => put_le(bits(v), width.bytes(), out),
        DataType::Decimal {
            precision, scale, ..
        } => decimal(v).pack_le(*precision, *scale, out),
        DataType::Float { .. } => {
            let f = match v {
                ValueRef::Float(f) => f,
                other => double(other) as f32,
            };
            out.extend_from_slice(&f.to_le_bytes());
        }
        DataType::Double { .. } => out.extend_from_slice(&double(v).to_le_bytes()),
        DataType::Bit(n) => put_le(bits(v), usize::from(*n).div_ceil(8), out),
        DataType::Char { collation, .. } => out.extend_from_slice(char_bytes(v, *collation)),
        DataType::Binary(n) => {
            let b = v.as_bytes().unwrap_or(b"");
            let n = *n as usize;
            let take = b.len().min(n);
            out.extend_from_slice(&b[..take]);
            out.resize(out.len() + n - take, 0);
        }
        DataType::VarChar { .. }
        | DataType::VarBinary(_)
        | DataType::Text { .. }
        | DataType::Blob(_)
        | DataType::Json => out.extend_from_slice(v.as_bytes().unwrap_or(b"")),
        DataType::Date => put_le(u64::from(date(v).packed()), 3, out),
        DataType::Time(f) => put_le(time_bits(time(v), *f), 3 + fraction_len(*f), out),
        DataType::DateTime(f) | DataType::Timestamp(f) => {
            put_le(datetime_bits(datetime(v), *f), 5 + fraction_len(*f), out);
        }
        DataType::Year => out.push(year_byte(bits(v))),
        DataType::Enum(l) => put_le(bits(v), if l.names.len() < 256 { 1 } else { 2 }, out),
        DataType::Set(l) => put_le(bits(v), set_len(l.names.len()), out),
    }
}

/// YEAR as a byte: 0 for 0000, else years since 1900.
pub(crate) fn year_byte(v: u64) -> u8 {
    v.saturating_sub(1900).min(255) as u8
}

/// A CHAR's bytes without trailing spaces.
fn char_bytes(v: ValueRef<'_>, collation: CollationId) -> &[u8] {
    let b = v.as_bytes().unwrap_or(b"");
    if collation.is_binary() {
        return b;
    }
    let end = b.iter().rposition(|&c| c != b' ').map_or(0, |i| i + 1);
    &b[..end]
}

/// Sign-extends the low `n` bytes.
#[inline]
fn extend(v: u64, n: usize) -> i64 {
    let shift = 64 - 8 * n as u32;
    (v << shift) as i64 >> shift
}

/// Reads what [`store`] wrote; `bytes` is exactly the field. Too short a field reads as if padded with zero bytes.
#[inline]
pub fn load<'a>(ty: &'a DataType, bytes: &'a [u8]) -> ValueRef<'a> {
    match ty {
        DataType::Int {
            width, unsigned, ..
        } => {
            let n = width.bytes();
            let v = get_le(bytes, n);
            if *unsigned {
                ValueRef::UInt(v)
            } else if *width == IntWidth::Big {
                ValueRef::Int(v as i64)
            } else {
                ValueRef::Int(extend(v, n))
            }
        }
        DataType::Char { collation, .. }
        | DataType::VarChar { collation, .. }
        | DataType::Text { collation, .. } => ValueRef::Str(bytes, *collation),
        DataType::Json => ValueRef::Str(bytes, CollationId::UTF8MB4_BIN),
        DataType::Binary(_) | DataType::VarBinary(_) | DataType::Blob(_) => ValueRef::Bytes(bytes),
        DataType::Decimal { scale, .. } => ValueRef::Decimal(Decimal::unpack_le(bytes, *scale)),
        DataType::Float { .. } => ValueRef::Float(f32::from_bits(get_le(bytes, 4) as u32)),
        DataType::Double { .. } => ValueRef::Double(f64::from_bits(get_le(bytes, 8))),
        DataType::Bit(n) => ValueRef::Bit(get_le(bytes, 8), *n),
        DataType::Date => ValueRef::Date(Date::from_packed(get_le(bytes, 3) as u32)),
        DataType::Time(f) => {
            ValueRef::Time(time_from_bits(get_le(bytes, 3 + fraction_len(*f)), *f))
        }
        DataType::DateTime(f) | DataType::Timestamp(f) => {
            ValueRef::DateTime(datetime_from_bits(get_le(bytes, 5 + fraction_len(*f)), *f))
        }
        DataType::Year => ValueRef::UInt(match get_le(bytes, 1) {
            0 => 0,
            y => y + 1900,
        }),
        DataType::Enum(l) => ValueRef::Enum(get_le(bytes, 2) as u16, l),
        DataType::Set(l) => ValueRef::Set(get_le(bytes, 8), l),
        DataType::Null => ValueRef::Null,
    }
}

#[cfg(test)]
mod tests;
