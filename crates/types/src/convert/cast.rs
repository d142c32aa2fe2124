//! CAST and CONVERT: never an error, at worst a warning and the nearest value or NULL.

use super::number::{str_to_f64, str_to_int, to_decimal_warn, to_f64_warn, to_int};
use super::text::to_bytes;
use super::{ConvertMode, push_warning};
use crate::charset::{self, Charset};
use crate::collation::CollationId;
use crate::decimal::Decimal;
use crate::error::{SqlError, Warning};
use crate::temporal::{DateTime, Time};
use crate::value::{Value, ValueRef};

/// Target of a CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CastType {
    /// SIGNED.
    Signed,
    /// UNSIGNED.
    Unsigned,
    /// DECIMAL(precision, scale).
    Decimal(u8, u8),
    /// FLOAT.
    Float,
    /// DOUBLE or REAL.
    Double,
    /// CHAR[(chars)] in the character set of a collation.
    Char(Option<u32>, CollationId),
    /// BINARY[(bytes)].
    Binary(Option<u32>),
    /// DATE.
    Date,
    /// TIME(fsp).
    Time(u8),
    /// DATETIME(fsp).
    DateTime(u8),
    /// YEAR.
    Year,
    /// JSON, text for now.
    Json,
}

fn warn(warnings: &mut Vec<Warning>, e: SqlError) {
    push_warning(warnings, Warning::from_error(e));
}

#[cold]
fn truncated(kind: &str, v: ValueRef<'_>, warnings: &mut Vec<Warning>) {
    warn(
        warnings,
        SqlError::truncated_wrong_value(kind, &super::to_text(v)),
    );
}

/// Converts a value; NULL stays NULL.
pub fn cast(
    v: ValueRef<'_>,
    to: CastType,
    mode: &ConvertMode,
    warnings: &mut Vec<Warning>,
) -> Value {
    if v.is_null() {
        return Value::Null;
    }
    match to {
        CastType::Signed => Value::Int(signed(v, warnings)),
        CastType::Unsigned => Value::UInt(unsigned(v, warnings)),
        CastType::Decimal(p, s) => Value::Decimal(decimal(v, p, s, warnings)),
        CastType::Float => Value::Float(to_f64_warn(v, warnings) as f32),
        CastType::Double => Value::Double(to_f64_warn(v, warnings)),
        CastType::Char(chars, c) => char_value(v, chars, c, warnings),
        CastType::Binary(n) => binary(v, n, warnings),
        CastType::Date => match datetime(v, 0, mode, "datetime", warnings) {
            Some(d) => Value::Date(d.date()),
            None => Value::Null,
        },
        CastType::DateTime(f) => match datetime(v, f, mode, "datetime", warnings) {
            Some(d) => d.round(f).map_or(Value::Null, Value::DateTime),
            None => Value::Null,
        },
        CastType::Time(f) => time(v, f, warnings),
        CastType::Year => year(v, warnings),
        CastType::Json => Value::Str(to_bytes(v).into_owned(), CollationId::UTF8MB4_BIN),
    }
}

fn text_int(b: &[u8], v: ValueRef<'_>, warnings: &mut Vec<Warning>) -> i128 {
    let (n, used) = str_to_int(b);
    let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
    let rest_blank = b[used..].iter().all(u8::is_ascii_whitespace);
    if used == 0 || !rest_blank || !range.contains(&n) {
        truncated("INTEGER", v, warnings);
    }
    n
}

fn signed(v: ValueRef<'_>, warnings: &mut Vec<Warning>) -> i64 {
    match v {
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => {
            let n = text_int(b, v, warnings);
            // Text up to 18446744073709551615 wraps, and more than that is that: -1, as in MySQL.
            n.clamp(i64::MIN.into(), u64::MAX.into()) as i64
        }
        ValueRef::UInt(n) => n as i64,
        other => clamp(
            to_int(other),
            i64::MIN.into(),
            i64::MAX.into(),
            other,
            warnings,
        ) as i64,
    }
}

fn unsigned(v: ValueRef<'_>, warnings: &mut Vec<Warning>) -> u64 {
    match v {
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => {
            let n = text_int(b, v, warnings);
            if n > i128::from(u64::MAX) {
                u64::MAX
            } else {
                n.max(i128::from(i64::MIN)) as u64
            }
        }
        ValueRef::Int(n) => n as u64,
        ValueRef::Decimal(_) => clamp(to_int(v), 0, u64::MAX.into(), v, warnings) as u64,
        // A negative double wraps like the integer it rounds to.
        other => clamp(
            to_int(other),
            i64::MIN.into(),
            u64::MAX.into(),
            other,
            warnings,
        ) as u64,
    }
}

fn clamp(n: i128, min: i128, max: i128, v: ValueRef<'_>, warnings: &mut Vec<Warning>) -> i128 {
    let c = n.clamp(min, max);
    if c != n {
        truncated("INTEGER", v, warnings);
    }
    c
}

fn decimal(v: ValueRef<'_>, precision: u8, scale: u8, warnings: &mut Vec<Warning>) -> Decimal {
    let d = to_decimal_warn(v, warnings);
    match d.rescale(scale) {
        Some(r) if r.int_digits() <= precision.saturating_sub(scale) => r,
        _ => {
            let kind = "CAST(".to_owned() + &super::to_text(v) + " AS DECIMAL)";
            warn(
                warnings,
                SqlError::new(
                    crate::error::codes::ER_WARN_DATA_OUT_OF_RANGE,
                    format!("Out of range value for column '{kind}' at row 1"),
                ),
            );
            Decimal::max_value(precision, scale, d.is_negative())
        }
    }
}

fn char_value(
    v: ValueRef<'_>,
    chars: Option<u32>,
    c: CollationId,
    warnings: &mut Vec<Warning>,
) -> Value {
    let to = c.charset();
    let from = match v {
        ValueRef::Str(_, c) => c.charset(),
        ValueRef::Bytes(_) | ValueRef::Bit(..) => Charset::Binary,
        ValueRef::Enum(_, l) | ValueRef::Set(_, l) => l.collation.charset(),
        _ => Charset::Ascii,
    };
    let src = to_bytes(v);
    let mut out = Vec::with_capacity(src.len());
    charset::convert(from, to, &src, &mut out);
    if from == Charset::Binary
        && let Some(at) = to.first_invalid(&out)
    {
        let shown: String = out[at..]
            .iter()
            .take(6)
            .map(|b| format!("\\x{b:02X}"))
            .collect();
        warn(
            warnings,
            SqlError::invalid_character_string(to.name(), &shown),
        );
        return Value::Null;
    }
    if let Some(n) = chars {
        let end = to.offset_of_char(&out, n as usize);
        if end < out.len() {
            let kind = format!("CHAR({n})");
            truncated(&kind, v, warnings);
            out.truncate(end);
        }
    }
    Value::Str(out, c)
}

fn binary(v: ValueRef<'_>, n: Option<u32>, warnings: &mut Vec<Warning>) -> Value {
    let mut out = to_bytes(v).into_owned();
    if let Some(n) = n {
        let n = n as usize;
        if out.len() > n {
            truncated(&format!("BINARY({n})"), v, warnings);
        }
        out.resize(n, 0);
    }
    Value::Bytes(out)
}

fn datetime(
    v: ValueRef<'_>,
    _fsp: u8,
    mode: &ConvertMode,
    kind: &str,
    warnings: &mut Vec<Warning>,
) -> Option<DateTime> {
    let parsed = match v {
        ValueRef::DateTime(d) => return Some(d),
        ValueRef::Date(d) => return Some(d.at_midnight()),
        ValueRef::Time(t) => {
            let midnight = mode.today().at_midnight().to_linear()?;
            return DateTime::from_linear(midnight + t.micros_total(), t.fsp());
        }
        ValueRef::Int(n) => DateTime::from_number(n).map(|(d, _)| d),
        ValueRef::Str(..) | ValueRef::Bytes(_) | ValueRef::Enum(..) | ValueRef::Set(..) => {
            let b = to_bytes(v);
            match DateTime::parse(&b) {
                Some(p) => {
                    if p.truncated {
                        truncated(kind, v, warnings);
                    }
                    match p.offset {
                        Some(o) => mode.zone.from_offset(p.value, o),
                        None => Some(p.value),
                    }
                }
                None => None,
            }
        }
        other => i64::try_from(to_int(other))
            .ok()
            .and_then(DateTime::from_number)
            .map(|(d, _)| d),
    };
    match parsed {
        Some(d) if mode.allows(d) => Some(d),
        _ => {
            warn(
                warnings,
                SqlError::incorrect_datetime(kind, &super::to_text(v)),
            );
            None
        }
    }
}

fn time(v: ValueRef<'_>, fsp: u8, warnings: &mut Vec<Warning>) -> Value {
    let t = match v {
        ValueRef::Time(t) => Some(t),
        ValueRef::DateTime(d) => Some(d.time()),
        ValueRef::Date(_) => Some(Time::ZERO),
        ValueRef::Str(..) | ValueRef::Bytes(_) | ValueRef::Enum(..) | ValueRef::Set(..) => {
            Time::parse(&to_bytes(v)).map(|p| {
                if p.truncated || p.clamped {
                    truncated("time", v, warnings);
                }
                p.value
            })
        }
        other => i64::try_from(to_int(other))
            .ok()
            .and_then(Time::from_number)
            .map(|(t, clamped)| {
                if clamped {
                    truncated("time", v, warnings);
                }
                t
            }),
    };
    match t {
        Some(t) => Value::Time(t.round(fsp)),
        None => {
            warn(
                warnings,
                SqlError::incorrect_datetime("time", &super::to_text(v)),
            );
            Value::Null
        }
    }
}

fn year(v: ValueRef<'_>, warnings: &mut Vec<Warning>) -> Value {
    let n = match v {
        ValueRef::Date(d) => i128::from(d.year()),
        ValueRef::DateTime(d) => i128::from(d.date().year()),
        ValueRef::Str(b, _) | ValueRef::Bytes(b) => {
            let (d, used) = str_to_f64(b);
            if used != b.len() {
                truncated("YEAR", v, warnings);
            }
            d.round_ties_even() as i128
        }
        other => to_int(other),
    };
    let text = matches!(v, ValueRef::Str(..) | ValueRef::Bytes(_));
    match n {
        0 if text => Value::UInt(2000),
        0 => Value::UInt(0),
        1..=69 => Value::UInt(n as u64 + 2000),
        70..=99 => Value::UInt(n as u64 + 1900),
        1901..=2155 => Value::UInt(n as u64),
        _ => {
            truncated("YEAR", v, warnings);
            Value::Null
        }
    }
}
