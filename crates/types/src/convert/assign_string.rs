//! Assignment to character and byte string columns: conversion of the character set, validity, length.

use super::assign::{Converted, INCORRECT_STRING, Sink};
use super::text::write_value;
use crate::charset::{self, Charset};
use crate::collation::CollationId;
use crate::datatype::DataType;
use crate::error::{SqlError, SqlResult};
use crate::value::{Value, ValueRef};
use std::borrow::Cow;

/// The text of a value in a character set; characters it lacks become `?`.
pub(super) fn bytes_in(v: ValueRef<'_>, to: Charset) -> Cow<'_, [u8]> {
    let (b, from): (Cow<'_, [u8]>, Charset) = match v {
        ValueRef::Str(b, c) => (Cow::Borrowed(b), c.charset()),
        ValueRef::Bytes(b) => return Cow::Borrowed(b),
        ValueRef::Enum(n, l) => (Cow::Borrowed(l.name(n)), l.collation.charset()),
        ValueRef::Set(_, l) => (super::to_bytes(v), l.collation.charset()),
        other => {
            let mut out = Vec::new();
            write_value(other, &mut out);
            return Cow::Owned(out);
        }
    };
    let compatible = from == to
        || to == Charset::Binary
        || from == Charset::Binary
        || (from == Charset::Utf8mb3 && to == Charset::Utf8mb4);
    if compatible || b.is_ascii() {
        return b;
    }
    let mut out = Vec::with_capacity(b.len());
    charset::convert(from, to, &b, &mut out);
    Cow::Owned(out)
}

/// The text of a value in UTF-8; bytes as they are.
pub fn in_utf8mb4(v: ValueRef<'_>) -> Cow<'_, [u8]> {
    bytes_in(v, Charset::Utf8mb4)
}

pub(super) fn assign<'a>(v: ValueRef<'a>, s: &mut Sink<'a, '_>) -> SqlResult<Converted<'a>> {
    // Bits are a number to a column of a length, and bytes to one without.
    let of_length = matches!(
        s.target.ty,
        DataType::Char { .. }
            | DataType::VarChar { .. }
            | DataType::Binary(_)
            | DataType::VarBinary(_)
    );
    if let ValueRef::Bit(n, _) = v
        && of_length
    {
        let done = assign(ValueRef::UInt(n), s)?;
        return Ok(Converted::Owned(done.into_value()));
    }
    if let Some(d) = floating(v)
        && of_length
    {
        return fitted(d, s);
    }
    match s.target.ty {
        DataType::Char { chars, collation } => characters(v, *collation, *chars, true, s),
        DataType::VarChar { chars, collation } => characters(v, *collation, *chars, false, s),
        DataType::Text { size, collation } => lob(v, *collation, size.max_bytes(), s),
        DataType::Json => lob(v, CollationId::UTF8MB4_BIN, u64::from(u32::MAX), s),
        DataType::Binary(n) | DataType::VarBinary(n) => bytes(v, u64::from(*n), s),
        DataType::Blob(size) => bytes(v, size.max_bytes(), s),
        _ => Ok(Converted::Ref(v)),
    }
}

fn floating(v: ValueRef<'_>) -> Option<f64> {
    match v {
        ValueRef::Double(d) => Some(d),
        // In double precision: its digits are more than those that FLOAT shows.
        ValueRef::Float(f) => Some(f64::from(f)),
        _ => None,
    }
}

/// A number in floating point with as many digits as the column has room for.
fn fitted<'a>(d: f64, s: &mut Sink<'a, '_>) -> SqlResult<Converted<'a>> {
    let (room, collation) = match s.target.ty {
        DataType::Char { chars, collation } | DataType::VarChar { chars, collation } => {
            (*chars, Some(*collation))
        }
        DataType::Binary(n) | DataType::VarBinary(n) => (*n, None),
        _ => (0, None),
    };
    let mut text = Vec::new();
    if !super::write_double_within(d, room as usize, &mut text) {
        s.too_long()?;
    }
    Ok(Converted::Owned(match collation {
        Some(c) => Value::Str(text, c),
        None => Value::Bytes(text),
    }))
}

/// `\xF0\x9F…` of the first bytes that are no character of the column's set, as MySQL shows them.
#[cold]
fn incorrect_string(b: &[u8], at: usize, s: &mut Sink<'_, '_>) -> SqlResult<()> {
    let mut shown = String::new();
    for &x in b[at..].iter().take(6) {
        if (0x20..0x7F).contains(&x) {
            shown.push(char::from(x));
        } else {
            shown.push_str(&format!("\\x{x:02X}"));
        }
    }
    if b.len() - at > 6 {
        shown.push_str("...");
    }
    let e = SqlError::new(
        INCORRECT_STRING,
        format!(
            "Incorrect string value: '{shown}' for column '{}' at row {}",
            s.target.column, s.target.row
        ),
    );
    s.fail(e)
}

/// The value's bytes in the column's character set, checked. An invalid tail is dropped in lenient mode.
fn checked<'a>(
    v: ValueRef<'a>,
    collation: CollationId,
    s: &mut Sink<'a, '_>,
) -> SqlResult<Cow<'a, [u8]>> {
    let to = collation.charset();
    if let ValueRef::Str(b, c) = v
        && (c == collation || c.charset() == to)
        && b.is_ascii()
    {
        return Ok(Cow::Borrowed(b));
    }
    // What is the same in both sets is not converted, and so not looked at: that is done below.
    let contained = |c: CollationId| c.charset() == Charset::Utf8mb3 && to == Charset::Utf8mb4;
    if let ValueRef::Str(b, c) = v
        && c.charset() != to
        && !contained(c)
        && !b.is_ascii()
        && !matches!(to, Charset::Binary)
        && c.charset() != Charset::Binary
    {
        let mut out = Vec::with_capacity(b.len());
        if charset::convert(c.charset(), to, b, &mut out) {
            let at = first_unmapped(b, c.charset(), to);
            incorrect_string(b, at, s)?;
        }
        return Ok(Cow::Owned(out));
    }
    let b = bytes_in(v, to);
    match to.first_invalid(&b) {
        None => Ok(b),
        Some(at) => {
            incorrect_string(&b, at, s)?;
            Ok(match b {
                Cow::Borrowed(b) => Cow::Borrowed(&b[..at]),
                Cow::Owned(mut b) => {
                    b.truncate(at);
                    Cow::Owned(b)
                }
            })
        }
    }
}

fn first_unmapped(b: &[u8], from: Charset, to: Charset) -> usize {
    let mut at = 0;
    let mut scratch = Vec::new();
    while let Some((c, n)) = from.next_char(&b[at..]) {
        scratch.clear();
        if !to.push_char(c, &mut scratch) {
            return at;
        }
        at += n;
    }
    0
}

fn cut(b: Cow<'_, [u8]>, n: usize) -> Cow<'_, [u8]> {
    match b {
        Cow::Borrowed(b) => Cow::Borrowed(&b[..n.min(b.len())]),
        Cow::Owned(mut b) => {
            b.truncate(n);
            Cow::Owned(b)
        }
    }
}

fn text_value(b: Cow<'_, [u8]>, collation: CollationId) -> Converted<'_> {
    match b {
        Cow::Borrowed(b) => Converted::Ref(ValueRef::Str(b, collation)),
        Cow::Owned(b) => Converted::Owned(Value::Str(b, collation)),
    }
}

fn characters<'a>(
    v: ValueRef<'a>,
    collation: CollationId,
    chars: u32,
    fixed: bool,
    s: &mut Sink<'a, '_>,
) -> SqlResult<Converted<'a>> {
    let mut b = checked(v, collation, s)?;
    let max = chars as usize;
    if b.len() > max {
        let end = collation.charset().offset_of_char(&b, max);
        if end < b.len() {
            if b[end..].iter().all(|&c| c == b' ') {
                if !fixed {
                    s.note_truncated();
                }
            } else {
                s.too_long()?;
            }
            b = cut(b, end);
        }
    }
    if fixed {
        let end = b.iter().rposition(|&c| c != b' ').map_or(0, |i| i + 1);
        b = cut(b, end);
    }
    Ok(text_value(b, collation))
}

fn lob<'a>(
    v: ValueRef<'a>,
    collation: CollationId,
    max: u64,
    s: &mut Sink<'a, '_>,
) -> SqlResult<Converted<'a>> {
    let mut b = checked(v, collation, s)?;
    if b.len() as u64 > max {
        s.too_long()?;
        let mut end = max as usize;
        // Do not split a character.
        while end > 0 && collation.charset().is_utf8() && b[end] & 0xC0 == 0x80 {
            end -= 1;
        }
        b = cut(b, end);
    }
    Ok(text_value(b, collation))
}

fn bytes<'a>(v: ValueRef<'a>, max: u64, s: &mut Sink<'a, '_>) -> SqlResult<Converted<'a>> {
    let mut b = bytes_in(v, Charset::Binary);
    if b.len() as u64 > max {
        s.too_long()?;
        b = cut(b, max as usize);
    }
    Ok(match b {
        Cow::Borrowed(b) => Converted::Ref(ValueRef::Bytes(b)),
        Cow::Owned(b) => Converted::Owned(Value::Bytes(b)),
    })
}
