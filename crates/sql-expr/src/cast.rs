//! CAST and CONVERT, and the implicit conversions that bring one of several values to their common type.

use std::borrow::Cow;

use types::SqlError;
use types::charset::{self, Charset};
use types::decimal::Decimal;
use types::error::codes;
use types::temporal::{DateTime, Time};

use super::cast_to::CastTo;
use super::conv;
use super::ctx::EvalCtx;
use super::date_text;
use super::json;
use super::limited::{Limited, Put};
use super::ty::{ExprType, Shape};
use super::val::{Int, Num, Val, round_to_i64};
use crate::vars::SqlMode;

/// CAST of a value of a type. What is computed and has no room in a whole number was refused before.
pub(super) fn cast_value<'a>(
    v: Val<'a>,
    ty: &ExprType,
    to: CastTo,
    cx: &EvalCtx<'_>,
) -> Result<Val<'a>, SqlError> {
    if v.is_null() {
        return Ok(Val::Null);
    }
    Ok(match to {
        CastTo::Signed => Val::Int(signed(&v, cx)),
        CastTo::Unsigned => Val::Uint(unsigned(&v, cx)),
        CastTo::Decimal(p, s) => decimal(&v, p, s, cx),
        CastTo::Float => conv::to_double(&v, cx).map_or(Val::Null, |d| {
            Val::Double(f64::from(
                d.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
            ))
        }),
        CastTo::Double => conv::to_double(&v, cx).map_or(Val::Null, Val::Double),
        CastTo::Char(n, cs) => chars(v, ty, n, cs, cx)?,
        CastTo::Binary(n) => return binary(v, ty, n, cx),
        CastTo::Date => {
            allowed(conv::to_datetime(&v, cx), &v, cx).map_or(Val::Null, |d| Val::Date(d.date()))
        }
        CastTo::Time(f) => {
            conv::to_time(&v, cx).map_or(Val::Null, |t| Val::Time(time_of(t, f, cx)))
        }
        CastTo::DateTime(f) => allowed(conv::to_datetime(&v, cx), &v, cx)
            .and_then(|d| moment_of(d, f, cx))
            .map_or(Val::Null, Val::DateTime),
        CastTo::Year => year(&v, cx),
        CastTo::Json => return to_json(&v, ty, cx),
    })
}

/// A time with so many digits of a second: the rest is rounded, or cut off where TIME_TRUNCATE_FRACTIONAL says so.
pub(super) fn time_of(t: Time, fsp: u8, cx: &EvalCtx<'_>) -> Time {
    match cx.sql_mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
        true => t.truncate(fsp),
        false => t.round(fsp),
    }
}

/// The same for a date and time; `None` where rounding leaves the calendar.
pub(super) fn moment_of(d: DateTime, fsp: u8, cx: &EvalCtx<'_>) -> Option<DateTime> {
    match cx.sql_mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
        true => Some(d.truncate(fsp)),
        false => d.round(fsp),
    }
}

/// Whether the SQL mode refuses the zero parts of a date.
fn refused(d: DateTime, cx: &EvalCtx<'_>) -> bool {
    if d.date().is_zero() {
        cx.sql_mode.has(SqlMode::NO_ZERO_DATE)
    } else {
        d.date().has_zero_part() && cx.sql_mode.has(SqlMode::NO_ZERO_IN_DATE)
    }
}

/// The date that `v` is, unless the SQL mode refuses its zero parts: warning 1292.
pub(super) fn allowed(d: Option<DateTime>, v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<DateTime> {
    if refused(d?, cx) {
        conv::warn_zero_date(v, cx);
        return None;
    }
    d
}

fn signed(v: &Val<'_>, cx: &EvalCtx<'_>) -> i64 {
    match v {
        Val::Double(d) => round_to_i64(*d).unwrap_or_else(|| clamped(v, cx)),
        Val::Decimal(_) => clamped(v, cx),
        _ => {
            let Some(i) = conv::to_int(v, cx) else {
                return 0;
            };
            if matches!(v, Val::Bytes(_)) && !i.is_negative() && i.bits() > i64::MAX as u64 {
                cx.warn_error(SqlError::new(
                    codes::ER_UNKNOWN_ERROR,
                    "Cast to signed converted positive out-of-range integer to its negative complement",
                ));
            }
            i.bits() as i64
        }
    }
}

/// A number with a fraction as i64: rounded, brought within range with warning 1292.
fn clamped(v: &Val<'_>, cx: &EvalCtx<'_>) -> i64 {
    let n = match v {
        Val::Decimal(d) => conv::decimal_to_int(d),
        v => conv::to_int(v, cx).unwrap_or(Int::signed(0)),
    };
    let kept = n.saturating_i64();
    if i128::from(kept) != n.wide() {
        cx.warn_error(SqlError::truncated_wrong_value(
            "DECIMAL",
            &String::from_utf8_lossy(&conv::text_of(v, &ExprType::double(true))),
        ));
    }
    kept
}

fn unsigned(v: &Val<'_>, cx: &EvalCtx<'_>) -> u64 {
    let Some(i) = (match v {
        Val::Decimal(d) => {
            let n = conv::decimal_to_int(d);
            if n.is_negative() {
                cx.warn_error(SqlError::truncated_wrong_value("DECIMAL", &d.to_string()));
                return 0;
            }
            Some(n)
        }
        v => conv::to_int(v, cx),
    }) else {
        return 0;
    };
    if matches!(v, Val::Bytes(_)) && i.is_negative() {
        cx.warn_error(SqlError::new(
            codes::ER_UNKNOWN_ERROR,
            "Cast to unsigned converted negative integer to its positive complement",
        ));
    }
    i.bits()
}

fn decimal<'a>(v: &Val<'_>, precision: u8, scale: u8, cx: &EvalCtx<'_>) -> Val<'a> {
    let Some(d) = conv::to_decimal(v, cx) else {
        return Val::Null;
    };
    match d.rescale(scale) {
        Some(r) if r.int_digits() + scale <= precision => Val::Decimal(r),
        _ => {
            cx.warn_error(SqlError::out_of_range("CAST()", 1));
            Val::Decimal(Decimal::max_value(precision, scale, d.is_negative()))
        }
    }
}

fn chars<'a>(
    v: Val<'a>,
    ty: &ExprType,
    limit: Option<u32>,
    cs: Charset,
    cx: &EvalCtx<'_>,
) -> Result<Val<'a>, SqlError> {
    let from = if ty.is_text() { ty.charset() } else { cs };
    let Some(text) = conv::into_text(v, ty) else {
        return Ok(Val::Null);
    };
    let text = convert(text, from, cs, cx)?;
    if from == Charset::Binary && cs.first_invalid(&text).is_some() {
        cx.warn_error(SqlError::invalid_character_string(
            cs.name(),
            &hex_of(&text),
        ));
        return Ok(Val::Null);
    }
    let Some(n) = limit else {
        return Ok(Val::Bytes(text));
    };
    let end = cs.offset_of_char(&text, n as usize);
    if end == text.len() {
        return Ok(Val::Bytes(text));
    }
    cx.warn_error(SqlError::truncated_wrong_value(
        &format!("CHAR({n})"),
        &conv::shown(&text),
    ));
    cx.hold(end)?;
    Ok(Val::owned(&text[..end]))
}

fn hex_of(bytes: &[u8]) -> String {
    bytes
        .iter()
        .take(6)
        .map(|b| format!("\\x{b:02X}"))
        .collect()
}

fn binary<'a>(
    v: Val<'a>,
    ty: &ExprType,
    limit: Option<u32>,
    cx: &EvalCtx<'_>,
) -> Result<Val<'a>, SqlError> {
    let Some(text) = conv::into_text(v, ty) else {
        return Ok(Val::Null);
    };
    let Some(n) = limit.map(|n| n as usize) else {
        return Ok(Val::Bytes(text));
    };
    if text.len() <= n {
        let mut out = Limited::new(cx);
        out.reserve(n)?;
        out.put(&text)?;
        out.repeat(&[0], n - text.len())?;
        return Ok(out.value());
    }
    cx.warn_error(SqlError::truncated_wrong_value(
        &format!("BINARY({n})"),
        &String::from_utf8_lossy(&text),
    ));
    Ok(Val::owned(&text[..n]))
}

fn year<'a>(v: &Val<'_>, cx: &EvalCtx<'_>) -> Val<'a> {
    let n = match v {
        Val::Date(d) => i64::from(d.year()),
        Val::DateTime(d) => i64::from(d.date().year()),
        Val::Time(_) => i64::from(cx.now(0).date().year()),
        v => match conv::to_int(v, cx) {
            Some(n) => n.saturating_i64(),
            None => return Val::Null,
        },
    };
    let text = matches!(v, Val::Bytes(b) if b.len() < 4);
    let full = match n {
        0 if text => 2000,
        0 => 0,
        1..=69 => 2000 + n,
        70..=99 => 1900 + n,
        n => n,
    };
    if full == 0 || (1901..=2155).contains(&full) {
        Val::Uint(full as u64)
    } else {
        cx.warn_error(SqlError::truncated_wrong_value("YEAR", &n.to_string()));
        Val::Null
    }
}

/// A value as a JSON document's text: JSON text is read, other text is an error, the rest becomes scalars.
pub(super) fn to_json<'a>(
    v: &Val<'_>,
    ty: &ExprType,
    cx: &EvalCtx<'_>,
) -> Result<Val<'a>, SqlError> {
    let doc = match v {
        Val::Bytes(b) if ty.shape == Shape::Json => {
            cx.hold(b.len())?;
            return Ok(Val::owned(b.to_vec()));
        }
        Val::Bytes(b) => {
            cx.hold(json::weight(b))?;
            let text = json::in_utf8(b, ty);
            json::parse(&text).map_err(|e| json::invalid(&e, 1, "cast_as_json"))?
        }
        v => json::scalar(v, ty),
    };
    let mut out = Limited::new(cx);
    doc.write(&mut out)?;
    Ok(out.value())
}

/// What a byte may become in another character set.
const WIDEST: usize = 4;

fn convert<'t>(
    text: Cow<'t, [u8]>,
    from: Charset,
    to: Charset,
    cx: &EvalCtx<'_>,
) -> Result<Cow<'t, [u8]>, SqlError> {
    if from == to || from == Charset::Binary || to == Charset::Binary || text.is_ascii() {
        return Ok(text);
    }
    cx.hold(text.len().saturating_mul(WIDEST))?;
    let mut out = Vec::with_capacity(text.len());
    charset::convert(from, to, &text, &mut out);
    Ok(Cow::Owned(out))
}

/// Text of one character set as text of another.
///
/// # Errors
/// The session's memory has no room for it.
pub(super) fn transcode<'a>(
    v: Val<'a>,
    ty: &ExprType,
    from: Charset,
    to: Charset,
    cx: &EvalCtx<'_>,
) -> Result<Val<'a>, SqlError> {
    match conv::into_text(v, ty) {
        Some(t) => convert(t, from, to, cx).map(Val::Bytes),
        None => Ok(Val::Null),
    }
}

/// Whether a value of one type has to change to be one of another.
pub(super) fn needs_coercion(from: &ExprType, to: &ExprType) -> bool {
    use Shape::*;
    match (from.shape, to.shape) {
        (Null, _) | (_, Null) => false,
        (Int { unsigned: a, .. }, Int { unsigned: b, .. }) => a != b,
        (Decimal { scale: a, .. }, Decimal { scale: b, .. }) => a != b,
        (Str { .. }, Str { .. }) => false,
        // As a double it is shown with all of its digits.
        (Float { .. }, Double { .. }) => true,
        (Double { .. } | Float { .. }, Double { .. } | Float { .. }) => false,
        (Time(a), Time(b)) => a != b,
        (DateTime(a) | Timestamp(a), DateTime(b) | Timestamp(b)) => a != b,
        (Json, Str { .. }) => false,
        (a, b) => a != b,
    }
}

/// A value in the form of another type.
pub(super) fn coerce<'a>(v: Val<'a>, from: &ExprType, to: &ExprType, cx: &EvalCtx<'_>) -> Val<'a> {
    if v.is_null() {
        return v;
    }
    match to.shape {
        Shape::Int { unsigned, .. } => match conv::to_int(&v, cx) {
            Some(i) if unsigned => Val::Uint(i.bits()),
            Some(i) => Val::Int(i.saturating_i64()),
            None => Val::Null,
        },
        Shape::Decimal { scale, .. } => match conv::to_decimal(&v, cx) {
            Some(d) => Val::Decimal(d.rescale(scale).unwrap_or(d)),
            None => Val::Null,
        },
        Shape::Float { .. } | Shape::Double { .. } => {
            conv::to_double(&v, cx).map_or(Val::Null, Val::Double)
        }
        Shape::Date => conv::to_date(&v, cx).map_or(Val::Null, Val::Date),
        Shape::Time(f) => conv::to_time(&v, cx).map_or(Val::Null, |t| Val::Time(t.with_fsp(f))),
        Shape::DateTime(f) | Shape::Timestamp(f) => {
            conv::to_datetime(&v, cx).map_or(Val::Null, |d| Val::DateTime(d.with_fsp(f)))
        }
        Shape::Str { .. } => conv::into_text(v, from).map_or(Val::Null, Val::Bytes),
        Shape::Json => to_json(&v, from, cx).unwrap_or(Val::Null),
        _ => v,
    }
}

/// A number as a whole number where it is one exactly.
pub(super) fn exact_int(n: Num) -> Option<Int> {
    match n {
        Num::Int(i) => Some(Int::signed(i)),
        Num::Uint(u) => Some(Int::unsigned(u)),
        Num::Decimal(d) => {
            let i = n.to_int()?;
            let back = Decimal::parse(i.wide().to_string().as_bytes()).value;
            (back == d).then_some(i)
        }
        Num::Double(d) => (d.fract() == 0.0).then(|| n.to_int()).flatten(),
    }
}

/// Reads a date and time of a constant text for a comparison with a column of times.
///
/// # Errors
/// 1525 for text that is no date, as MySQL refuses it.
pub(super) fn temporal_constant(
    text: &[u8],
    date_only: bool,
    cx: &EvalCtx<'_>,
) -> Result<Val<'static>, SqlError> {
    let date = date_text::parse_datetime_quietly(text, cx);
    match date.filter(|d| !refused(*d, cx)) {
        Some(d) if date_only && d.micros_of_day() == 0 => Ok(Val::Date(d.date())),
        Some(d) => Ok(Val::DateTime(d)),
        None => Err(SqlError::new(
            codes::ER_WRONG_VALUE,
            format!(
                "Incorrect {} value: '{}'",
                if date_only { "DATE" } else { "DATETIME" },
                String::from_utf8_lossy(text)
            ),
        )),
    }
}
