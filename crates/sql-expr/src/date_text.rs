//! Text and numbers read as dates and times, with MySQL's warnings.

use std::borrow::Cow;

use types::SqlError;
use types::decimal::Decimal;
use types::decimal::arith::Rounding;
use types::temporal::{Date, DateTime, Days, Time};

use super::ctx::EvalCtx;
use super::val::Num;
use crate::vars::SqlMode;

fn shown(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}

/// Which days a month may have to the session.
fn days(cx: &EvalCtx<'_>) -> Days {
    if cx.sql_mode.has(SqlMode::ALLOW_INVALID_DATES) {
        Days::Any
    } else {
        Days::Real
    }
}

/// Text as a date and time without warnings; a zone offset in it is brought to the session's.
pub(super) fn parse_datetime_quietly(text: &[u8], cx: &EvalCtx<'_>) -> Option<DateTime> {
    let p = DateTime::parse_with(text, days(cx))?;
    match p.offset {
        None => Some(p.value),
        Some(o) => cx.zone.from_offset(p.value, o),
    }
}

/// Text as a date and time: `None` with warning 1292 where it is none, a warning where text is left over.
pub(super) fn parse_datetime(text: &[u8], cx: &EvalCtx<'_>) -> Option<DateTime> {
    let parsed = DateTime::parse_with(text, days(cx));
    match parsed {
        Some(p) if p.truncated => {
            cx.warn_error(SqlError::truncated_wrong_value("datetime", &shown(text)));
        }
        Some(_) => {}
        None => cx.warn_error(SqlError::incorrect_datetime("datetime", &shown(text))),
    }
    parse_datetime_quietly(text, cx)
}

/// Text as a time, with the same warnings.
pub(super) fn parse_time(text: &[u8], cx: &EvalCtx<'_>) -> Option<Time> {
    match Time::parse(text) {
        Some(p) => {
            if p.truncated || p.clamped {
                cx.warn_error(SqlError::truncated_wrong_value("time", &shown(text)));
            }
            Some(p.value)
        }
        None => {
            cx.warn_error(SqlError::truncated_wrong_value("time", &shown(text)));
            None
        }
    }
}

/// Whole part and microseconds of a number; `None` where it is no whole number of i64.
pub(super) fn split(n: Num) -> Option<(i64, u32)> {
    match n {
        Num::Int(i) => Some((i, 0)),
        Num::Uint(u) => i64::try_from(u).ok().map(|i| (i, 0)),
        _ => {
            let d = n.to_decimal();
            let whole = d.round_with(0, Rounding::Truncate);
            let frac = d.checked_sub(&whole)?.abs();
            let micros = frac.checked_mul(&Decimal::from_i64(1_000_000))?.to_u64()?;
            Some((whole.to_i64()?, micros.min(999_999) as u32))
        }
    }
}

fn num_text(n: Num) -> String {
    match n {
        Num::Int(i) => i.to_string(),
        Num::Uint(u) => u.to_string(),
        Num::Decimal(d) => d.to_string(),
        Num::Double(d) => d.to_string(),
    }
}

/// A number such as 20240131 as a date and time.
pub(super) fn number_to_datetime(n: Num, cx: &EvalCtx<'_>) -> Option<DateTime> {
    let found = split(n).and_then(|(whole, micros)| {
        let (d, has_time) = DateTime::from_number_with(whole, days(cx))?;
        if micros == 0 || !has_time {
            return Some(d);
        }
        Some(DateTime::from_packed(d.packed() + u64::from(micros), 6))
    });
    if found.is_none() {
        cx.warn_error(SqlError::incorrect_datetime("datetime", &num_text(n)));
    }
    found
}

/// A number such as 103000 as a time: `None` with warning 1292 where it is none, or beyond what TIME holds (text is clamped there).
pub(super) fn number_to_time(n: Num, cx: &EvalCtx<'_>) -> Option<Time> {
    let found = split(n).and_then(|(whole, micros)| {
        let (t, clamped) = Time::from_number(whole)?;
        let negative = n.to_f64() < 0.0;
        let micros = i64::from(micros) * if negative { -1 } else { 1 };
        let fsp = if matches!(n, Num::Int(_) | Num::Uint(_)) {
            0
        } else {
            6
        };
        Some((Time::from_micros(t.micros_total() + micros, fsp), clamped))
    });
    match found {
        Some((t, false)) => Some(t),
        _ => {
            cx.warn_error(SqlError::truncated_wrong_value("time", &num_text(n)));
            None
        }
    }
}

/// A time on a day; a time of more than a day or below zero moves the date.
pub(super) fn time_to_datetime(t: Time, day: Date) -> Option<DateTime> {
    let base = day.at_midnight().to_linear()?;
    DateTime::from_linear(base + t.micros_total(), t.fsp())
}
