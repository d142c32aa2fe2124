//! Assignment of a value to a column: INSERT, UPDATE, LOAD DATA, and the checks of DEFAULT.
//!
//! In strict mode whatever would change the value is an error; otherwise the nearest value is stored and a warning says so. A value that is
//! already right is returned as it is, borrowed.

use super::number::{str_to_f64, to_decimal, to_f64};
use super::{ConvertMode, push_warning};
use crate::datatype::{DataType, IntWidth, Labels};
use crate::decimal::Decimal;
use crate::decimal::arith::Rounding;
use crate::error::{Level, SqlError, SqlResult, Warning, codes};
use crate::temporal::DateTime;
use crate::value::{Value, ValueRef};
use std::sync::Arc;

/// Where a value goes.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Type of the column.
    pub ty: &'a DataType,
    /// The column allows NULL.
    pub nullable: bool,
    /// Name, for messages.
    pub column: &'a str,
    /// Row of the statement, from 1, for messages.
    pub row: u64,
}

/// A converted value: borrowed if conversion changed no bytes.
#[derive(Debug, Clone)]
pub enum Converted<'a> {
    /// The bytes are the source's.
    Ref(ValueRef<'a>),
    /// The bytes are new.
    Owned(Value),
}

impl Converted<'_> {
    /// Borrows.
    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Converted::Ref(v) => *v,
            Converted::Owned(v) => v.as_ref(),
        }
    }

    /// Copies the bytes if they are borrowed.
    pub fn into_value(self) -> Value {
        match self {
            Converted::Ref(v) => v.to_owned(),
            Converted::Owned(v) => v,
        }
    }
}

impl<'a> From<ValueRef<'a>> for Converted<'a> {
    fn from(v: ValueRef<'a>) -> Self {
        Converted::Ref(v)
    }
}

/// Mode, place and warnings of one conversion.
pub(super) struct Sink<'a, 'w> {
    pub(super) target: Target<'a>,
    pub(super) mode: &'w ConvertMode,
    pub(super) warnings: &'w mut Vec<Warning>,
}

impl Sink<'_, '_> {
    /// An error in strict mode, else a warning.
    #[cold]
    pub(super) fn fail(&mut self, e: SqlError) -> SqlResult<()> {
        if self.mode.strict {
            return Err(e);
        }
        push_warning(self.warnings, Warning::from_error(e));
        Ok(())
    }

    #[cold]
    pub(super) fn note(&mut self, e: SqlError) {
        push_warning(self.warnings, Warning::new(Level::Note, e.code, e.message));
    }

    pub(super) fn out_of_range(&mut self) -> SqlResult<()> {
        let e = SqlError::out_of_range(self.target.column, self.target.row);
        self.fail(e)
    }

    pub(super) fn truncated(&mut self) -> SqlResult<()> {
        let e = SqlError::data_truncated(self.target.column, self.target.row);
        self.fail(e)
    }

    pub(super) fn too_long(&mut self) -> SqlResult<()> {
        let e = SqlError::data_too_long(self.target.column, self.target.row);
        if self.mode.strict {
            return Err(e);
        }
        self.truncated()
    }

    pub(super) fn note_truncated(&mut self) {
        let e = SqlError::data_truncated(self.target.column, self.target.row);
        self.note(e);
    }

    pub(super) fn incorrect(&mut self, kind: &str, text: &[u8]) -> SqlResult<()> {
        let text = String::from_utf8_lossy(text);
        let e = SqlError::incorrect_value(kind, &text, self.target.column, self.target.row);
        self.fail(e)
    }
}

/// The implicit default of a type: what a non-strict assignment of NULL to a NOT NULL column stores.
pub fn zero_value(ty: &DataType) -> Value {
    use crate::temporal::{Date, Time};
    match ty {
        DataType::Null => Value::Null,
        DataType::Int { unsigned, .. } => {
            if *unsigned {
                Value::UInt(0)
            } else {
                Value::Int(0)
            }
        }
        DataType::Decimal { scale, .. } => Value::Decimal(Decimal::from_i128(0, *scale)),
        DataType::Float { .. } => Value::Float(0.0),
        DataType::Double { .. } => Value::Double(0.0),
        DataType::Bit(n) => Value::Bit(0, *n),
        DataType::Binary(n) => Value::Bytes(vec![0; *n as usize]),
        DataType::VarBinary(_) | DataType::Blob(_) => Value::Bytes(Vec::new()),
        DataType::Date => Value::Date(Date::ZERO),
        DataType::Time(f) => Value::Time(Time::ZERO.with_fsp(*f)),
        DataType::DateTime(f) | DataType::Timestamp(f) => {
            Value::DateTime(DateTime::ZERO.with_fsp(*f))
        }
        DataType::Year => Value::UInt(0),
        DataType::Enum(l) => Value::Enum(1, Arc::clone(l)),
        DataType::Set(l) => Value::Set(0, Arc::clone(l)),
        other => Value::Str(Vec::new(), other.collation()),
    }
}

/// Converts `v` for storage in `target`. Errors: 1048 (NULL), 1264 (range), 1265 (truncated), 1292 (temporal), 1366 (not of the type),
/// 1406 (too long).
#[inline]
pub fn assign<'a>(
    v: ValueRef<'a>,
    target: &Target<'a>,
    mode: &ConvertMode,
    warnings: &mut Vec<Warning>,
) -> SqlResult<Converted<'a>> {
    // What nearly every statement assigns.
    match (target.ty, v) {
        (
            DataType::Int {
                width,
                unsigned: false,
                ..
            },
            ValueRef::Int(n),
        ) => {
            let (min, max) = width.signed_range();
            if min <= n && n <= max {
                return Ok(Converted::Ref(v));
            }
        }
        (_, ValueRef::Null) if target.nullable => return Ok(Converted::Ref(v)),
        _ => {}
    }
    assign_any(
        v,
        Sink {
            target: *target,
            mode,
            warnings,
        },
    )
}

fn assign_any<'a>(v: ValueRef<'a>, mut s: Sink<'a, '_>) -> SqlResult<Converted<'a>> {
    let ty = s.target.ty;
    if v.is_null() {
        let e = SqlError::bad_null(s.target.column);
        s.fail(e)?;
        return Ok(Converted::Owned(zero_value(ty)));
    }
    Ok(match ty {
        DataType::Null => Converted::Ref(ValueRef::Null),
        DataType::Int {
            width, unsigned, ..
        } => Converted::Ref(integer(v, *width, *unsigned, &mut s)?),
        DataType::Decimal {
            precision,
            scale,
            unsigned,
            ..
        } => Converted::Ref(ValueRef::Decimal(decimal(
            v, *precision, *scale, *unsigned, &mut s,
        )?)),
        DataType::Float { unsigned, digits } => {
            let limit = f64::from(f32::MAX);
            let d = real(v, *unsigned, *digits, limit, &mut s)?;
            Converted::Ref(ValueRef::Float(d as f32))
        }
        DataType::Double { unsigned, digits } => Converted::Ref(ValueRef::Double(real(
            v,
            *unsigned,
            *digits,
            f64::MAX,
            &mut s,
        )?)),
        DataType::Bit(n) => Converted::Ref(bit(v, *n, &mut s)?),
        DataType::Year => Converted::Ref(ValueRef::UInt(year(v, &mut s)?)),
        DataType::Enum(l) => Converted::Ref(ValueRef::Enum(enumeration(v, l, &mut s)?, l)),
        DataType::Set(l) => Converted::Ref(ValueRef::Set(set(v, l, &mut s)?, l)),
        DataType::Date | DataType::Time(_) | DataType::DateTime(_) | DataType::Timestamp(_) => {
            Converted::Ref(super::assign_temporal::assign(v, &mut s)?)
        }
        _ => super::assign_string::assign(v, &mut s)?,
    })
}

/// What a text has behind its number. Whether the number fits is asked first, and then this is not told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Nothing, or blanks.
    Blank,
    /// Text: the value is what stands in front of it.
    Text,
    /// There is no number at all.
    All,
}

/// Any value as a whole number, wide enough to be checked against every integer type: decimals and exponents in text are rounded
/// half away from zero.
fn whole(v: ValueRef<'_>) -> (i128, Rest) {
    let (ValueRef::Str(b, _) | ValueRef::Bytes(b)) = v else {
        return (super::to_int(v), Rest::Blank);
    };
    let p = Decimal::parse(b);
    if p.used == 0 {
        return (0, Rest::All);
    }
    let d = p.value.round_with(0, Rounding::HalfUp);
    let n = d.mantissa_i128().unwrap_or(if d.is_negative() {
        i128::MIN
    } else {
        i128::MAX
    });
    let blank = b[p.used..].iter().all(u8::is_ascii_whitespace);
    (n, if blank { Rest::Blank } else { Rest::Text })
}

/// Tells what was behind the number that `v` was taken for.
fn behind(v: ValueRef<'_>, rest: Rest, s: &mut Sink<'_, '_>) -> SqlResult<()> {
    match rest {
        Rest::Blank => Ok(()),
        Rest::Text => s.truncated(),
        Rest::All => s.incorrect("integer", &super::to_bytes(v)),
    }
}

fn integer<'a>(
    v: ValueRef<'a>,
    width: IntWidth,
    unsigned: bool,
    s: &mut Sink<'_, '_>,
) -> SqlResult<ValueRef<'a>> {
    let (n, rest) = whole(v);
    let (min, max) = if unsigned {
        (0, i128::from(width.unsigned_max()))
    } else {
        let (a, b) = width.signed_range();
        (i128::from(a), i128::from(b))
    };
    let fitted = n.clamp(min, max);
    if fitted != n {
        s.out_of_range()?;
    } else {
        behind(v, rest, s)?;
    }
    Ok(if unsigned {
        ValueRef::UInt(fitted as u64)
    } else {
        ValueRef::Int(fitted as i64)
    })
}

/// Any value as a whole number where floating point and decimals lose their fraction.
fn cut(v: ValueRef<'_>) -> i128 {
    match v {
        ValueRef::Float(f) => f64::from(f).trunc() as i128,
        ValueRef::Double(f) => f.trunc() as i128,
        ValueRef::Decimal(d) => {
            super::to_int(ValueRef::Decimal(d.round_with(0, Rounding::Truncate)))
        }
        other => super::to_int(other),
    }
}

fn decimal(
    v: ValueRef<'_>,
    precision: u8,
    scale: u8,
    unsigned: bool,
    s: &mut Sink<'_, '_>,
) -> SqlResult<Decimal> {
    let mut overflow = false;
    let d = match v {
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => {
            let p = Decimal::parse(b);
            if p.used == 0 {
                s.incorrect("decimal", b)?;
            } else if !b[p.used..].iter().all(u8::is_ascii_whitespace) {
                s.truncated()?;
            }
            overflow = p.overflow;
            p.value
        }
        ValueRef::Float(f) => {
            let p = Decimal::from_f64(f64::from(f));
            overflow = p.overflow;
            p.value
        }
        ValueRef::Double(f) => {
            let p = Decimal::from_f64(f);
            overflow = p.overflow;
            p.value
        }
        other => to_decimal(other),
    };
    if unsigned && d.is_negative() {
        s.out_of_range()?;
        return Ok(Decimal::from_i128(0, scale));
    }
    match d.rescale(scale) {
        Some(r) if !overflow && r.int_digits() <= precision - scale => {
            let real = matches!(v, ValueRef::Float(_) | ValueRef::Double(_));
            if r.scale() < d.scale() && r != d && !real {
                s.note_truncated();
            }
            Ok(r)
        }
        _ => {
            s.out_of_range()?;
            Ok(Decimal::max_value(precision, scale, d.is_negative()))
        }
    }
}

fn real(
    v: ValueRef<'_>,
    unsigned: bool,
    digits: Option<(u8, u8)>,
    limit: f64,
    s: &mut Sink<'_, '_>,
) -> SqlResult<f64> {
    let mut d = match v {
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => {
            let (d, used) = str_to_f64(b);
            if used == 0 || !b[used..].iter().all(u8::is_ascii_whitespace) {
                s.truncated()?;
            }
            if d.abs() == f64::MAX && is_beyond(&b[..used]) {
                s.out_of_range()?;
            }
            d
        }
        other => to_f64(other),
    };
    if unsigned && d < 0.0 {
        s.out_of_range()?;
        return Ok(0.0);
    }
    let mut max = limit;
    if let Some((m, n)) = digits {
        let unit = 10f64.powi(i32::from(n));
        max = max.min(10f64.powi(i32::from(m) - i32::from(n)) - 1.0 / unit);
        let r = (d * unit).round_ties_even() / unit;
        if r.is_finite() {
            d = r;
        }
    }
    if d.abs() > max {
        s.out_of_range()?;
        d = max.copysign(d);
    }
    Ok(d)
}

/// Whether a number, written out, is beyond the largest double, which is what it was read as.
fn is_beyond(number: &[u8]) -> bool {
    let text = std::str::from_utf8(number.trim_ascii_start());
    let read = text.ok().and_then(|t| t.parse::<f64>().ok());
    read.is_some_and(f64::is_infinite)
}

fn bit<'a>(v: ValueRef<'a>, n: u8, s: &mut Sink<'_, '_>) -> SqlResult<ValueRef<'a>> {
    let max = u64::MAX >> (64 - u32::from(n.clamp(1, 64)));
    let value = match v {
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => {
            let zeros = b.iter().take_while(|&&x| x == 0).count();
            let b = &b[zeros..];
            if b.len() > 8 {
                u128::MAX
            } else {
                b.iter().fold(0, |v, &x| v << 8 | u128::from(x))
            }
        }
        ValueRef::Int(i) => u128::from(i as u64),
        ValueRef::Float(_) | ValueRef::Double(_) => u128::try_from(cut(v)).unwrap_or(u128::MAX),
        // A decimal below zero is none of the numbers that bits are; an integer is the bits that it has.
        ValueRef::Decimal(d) if d.is_negative() && super::to_int(v) < 0 => {
            s.out_of_range()?;
            0
        }
        other => u128::try_from(super::to_int(other)).unwrap_or(u128::MAX),
    };
    if value > u128::from(max) {
        if s.mode.strict {
            s.too_long()?;
        }
        s.out_of_range()?;
        return Ok(ValueRef::Bit(max, n));
    }
    Ok(ValueRef::Bit(value as u64, n))
}

fn year(v: ValueRef<'_>, s: &mut Sink<'_, '_>) -> SqlResult<u64> {
    // Zero as text is the year 2000, unless it has four digits.
    let (n, rest, zero) = match v {
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => {
            let (n, rest) = whole(v);
            (n, rest, if b.len() == 4 { 0 } else { 2000 })
        }
        ValueRef::Date(d) => (i128::from(d.year()), Rest::Blank, 0),
        ValueRef::DateTime(d) => (i128::from(d.date().year()), Rest::Blank, 0),
        // A time is one of today.
        ValueRef::Time(t) => {
            let today = s.mode.today();
            let day = today.at_midnight().to_linear();
            let at = day.and_then(|d| DateTime::from_linear(d + t.micros_total(), 0));
            let day = at.map_or(today, |at| at.date());
            (i128::from(day.year()), Rest::Blank, 0)
        }
        other => (whole(other).0, Rest::Blank, 0),
    };
    let year = match n {
        0 => zero,
        1..=69 => n as u64 + 2000,
        70..=99 => n as u64 + 1900,
        1901..=2155 => n as u64,
        _ => {
            s.out_of_range()?;
            return Ok(0);
        }
    };
    behind(v, rest, s)?;
    Ok(if rest == Rest::All { 0 } else { year })
}

fn enumeration(v: ValueRef<'_>, l: &Labels, s: &mut Sink<'_, '_>) -> SqlResult<u16> {
    let count = l.names.len() as i128;
    let by_number = |n: i128| (1..=count).contains(&n).then_some(n as u16);
    let found = match v {
        // The same definition, and not one that is like it: nothing has to be looked for.
        ValueRef::Enum(n, from) if std::ptr::eq(&**from, l) => Some(n),
        ValueRef::Str(..) | ValueRef::Bytes(_) | ValueRef::Enum(..) | ValueRef::Set(..) => {
            let b = super::assign_string::bytes_in(v, l.collation.charset());
            let end = b.iter().rposition(|&c| c != b' ').map_or(0, |i| i + 1);
            l.find(&b[..end]).or_else(|| {
                let digits = !b.is_empty() && b.iter().all(u8::is_ascii_digit);
                digits.then(|| by_number(super::str_to_int(&b).0))?
            })
        }
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) => {
            l.find(&super::to_bytes(v))
        }
        other => by_number(cut(other)),
    };
    match found {
        Some(n) => Ok(n),
        None => {
            s.truncated()?;
            Ok(0)
        }
    }
}

fn set(v: ValueRef<'_>, l: &Labels, s: &mut Sink<'_, '_>) -> SqlResult<u64> {
    let all = l.all_bits();
    let (bits, bad) = match v {
        ValueRef::Str(..) | ValueRef::Bytes(_) | ValueRef::Enum(..) | ValueRef::Set(..) => {
            let b = super::assign_string::bytes_in(v, l.collation.charset());
            let mut bits = 0;
            let mut bad = false;
            let end = b.iter().rposition(|&c| c != b' ').map_or(0, |i| i + 1);
            // An empty part is a label like any other, which few sets have.
            let parts = b[..end].split(|&c| c == b',').filter(|_| end > 0);
            for part in parts {
                match l.find(part) {
                    Some(n) => bits |= 1u64 << (n - 1).min(63),
                    None => bad = true,
                }
            }
            let number = b.trim_ascii_start();
            if bad && !number.is_empty() && number.iter().all(u8::is_ascii_digit) {
                let n = super::str_to_int(number).0;
                bad = n < 0 || n > i128::from(all);
                bits = n as u64 & all;
            }
            (bits, bad)
        }
        // No label is a date.
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) => (0, true),
        other => {
            let n = cut(other);
            (n as u64 & all, n < 0 || n > i128::from(all))
        }
    };
    if bad {
        s.truncated()?;
    }
    Ok(bits)
}

/// Code 1366 is the only one that names a type in its text; kept here so that callers can tell it from truncation.
pub(super) const INCORRECT_STRING: u16 = codes::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD;
