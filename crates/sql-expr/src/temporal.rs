//! Times in expressions: text and numbers read as times with MySQL's warnings, interval arithmetic, EXTRACT,
//! TIMESTAMPDIFF. The calendar itself is in `types::temporal`.

use std::borrow::Cow;

use types::SqlError;
use types::decimal::Decimal;
use types::decimal::arith::Rounding;
use types::error::codes;
use types::temporal::{self, Date, DateTime, Days, Interval, IntervalUnit, Time};

use super::conv;
use super::ctx::{EvalCtx, RowSource};
use super::node::Expr;
use super::ty::{ExprType, Shape};
use super::val::{Num, Val};
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
        Some(o) => p.value.shift_seconds(i64::from(cx.tz_offset - o)),
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
fn split(n: Num) -> Option<(i64, u32)> {
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

/// Whether a number that stands for a date has a time behind it, even one of zeros.
fn number_has_time(v: &Val<'_>, cx: &EvalCtx<'_>) -> bool {
    conv::to_num(v, cx)
        .and_then(split)
        .and_then(|(whole, _)| DateTime::from_number(whole))
        .is_some_and(|(_, has_time)| has_time)
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

/// What text or a number is where a time is asked for: a time of day, or a date and time where all of one is written.
pub(super) enum Clock {
    Time(Time),
    Moment(DateTime),
}

pub(super) fn clock(v: &Val<'_>, cx: &EvalCtx<'_>) -> Option<Clock> {
    /// The least number that is read as a date and time.
    const DATED: i64 = 10_000_000_000;
    /// The least length of text that is.
    const FULL: usize = 12;
    let moment = match v {
        Val::Bytes(b) if b.len() >= FULL => {
            parse_datetime_quietly(b, cx).filter(|_| DateTime::parse(b).is_some_and(|p| p.has_time))
        }
        Val::Int(_) | Val::Uint(_) | Val::Decimal(_) | Val::Double(_) => conv::to_num(v, cx)
            .filter(|n| n.to_f64() >= DATED as f64)
            .and_then(|n| cx.quietly(|| number_to_datetime(n, cx)))
            .flatten(),
        _ => None,
    };
    match moment {
        Some(d) => Some(Clock::Moment(d)),
        None => conv::to_time(v, cx).map(Clock::Time),
    }
}

/// Whether what is read as a date has a time behind it.
pub(super) fn has_time(v: &Val<'_>, cx: &EvalCtx<'_>) -> bool {
    match v {
        Val::Date(_) => false,
        Val::DateTime(_) => true,
        Val::Bytes(b) => DateTime::parse(b).is_some_and(|p| p.has_time),
        v => number_has_time(v, cx),
    }
}

/// A time on a day; a time of more than a day or below zero moves the date.
pub(super) fn time_to_datetime(t: Time, day: Date) -> Option<DateTime> {
    let base = day.at_midnight().to_linear()?;
    DateTime::from_linear(base + t.micros_total(), t.fsp())
}

/// The interval that `amount unit` means: groups of digits of the amount's text for a compound unit, seconds with their
/// fraction, a whole number of everything else. `None` for text with too many groups and for numbers out of range.
fn interval(v: &Val<'_>, ty: &ExprType, unit: IntervalUnit, cx: &EvalCtx<'_>) -> Option<Interval> {
    if unit.is_compound() {
        return Interval::parse(unit, &conv::text_of(v, ty));
    }
    if unit == IntervalUnit::Second && !matches!(v, Val::Int(_) | Val::Uint(_)) {
        return Interval::from_seconds(&conv::to_decimal(v, cx)?);
    }
    let whole = i64::try_from(conv::to_int(v, cx)?.wide()).ok()?;
    Interval::from_int(unit, whole)
}

#[cold]
fn overflow(cx: &EvalCtx<'_>) -> Val<'static> {
    cx.warn_error(SqlError::new(
        codes::ER_DATETIME_FUNCTION_OVERFLOW,
        "Datetime function: datetime field overflow",
    ));
    Val::Null
}

/// `date + INTERVAL amount unit` (or minus); `e` is the whole expression, whose type says what to yield.
pub(super) fn add_interval(
    e: &Expr,
    [date, amount]: &[Expr; 2],
    unit: IntervalUnit,
    minus: bool,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Val<'static>, SqlError> {
    let v = date.eval_moment(cx, row)?;
    let n = amount.eval(cx, row)?;
    if v.is_null() || n.is_null() {
        return Ok(Val::Null);
    }
    Ok(match interval_of(&n, &amount.ty, unit, minus, cx) {
        Some(by) => moved(&e.ty, &v, &by, unit, cx),
        None => Val::Null,
    })
}

/// The interval to add.
pub(super) fn interval_of(
    n: &Val<'_>,
    ty: &ExprType,
    unit: IntervalUnit,
    minus: bool,
    cx: &EvalCtx<'_>,
) -> Option<Interval> {
    let by = interval(n, ty, unit, cx)?;
    Some(if minus { by.negated() } else { by })
}

/// A date or a time moved by an interval, as a value of the type.
pub(super) fn moved(
    ty: &ExprType,
    v: &Val<'_>,
    by: &Interval,
    unit: IntervalUnit,
    cx: &EvalCtx<'_>,
) -> Val<'static> {
    if let Shape::Time(fsp) = ty.shape {
        let Some(t) = conv::to_time(v, cx) else {
            return Val::Null;
        };
        return match t.add_interval(by) {
            Some(t) => Val::Time(t.with_fsp(fsp)),
            None => overflow(cx),
        };
    }
    let Some(start) = conv::to_real_datetime(v, cx) else {
        return Val::Null;
    };
    let Some(end) = start.add_interval(by) else {
        return overflow(cx);
    };
    match ty.shape {
        Shape::Date => Val::Date(end.date()),
        Shape::DateTime(fsp) | Shape::Timestamp(fsp) => Val::DateTime(end.with_fsp(fsp)),
        _ => {
            let mut out = Vec::new();
            if has_time(v, cx) || !unit.is_date_only() {
                let fsp = if end.micros() == 0 { 0 } else { 6 };
                end.with_fsp(fsp).write_text(&mut out);
            } else {
                out.extend_from_slice(&end.date().to_text());
            }
            Val::owned(out)
        }
    }
}

/// The parts EXTRACT takes numbers from.
struct Parts {
    negative: bool,
    date: Date,
    /// Days of a time beyond 24 hours, or the day of the month.
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
}

fn parts(v: &Val<'_>, unit: IntervalUnit, cx: &EvalCtx<'_>) -> Option<Parts> {
    use IntervalUnit as U;
    let of_date = matches!(
        unit,
        U::Year | U::Quarter | U::Month | U::Week | U::Day | U::YearMonth
    );
    let of_time = |t: Time, split_days: bool| {
        let h = i64::from(t.hours());
        Parts {
            negative: t.is_negative(),
            date: Date::ZERO,
            day: if split_days { h / 24 } else { 0 },
            hour: if split_days { h % 24 } else { h },
            minute: i64::from(t.minutes()),
            second: i64::from(t.seconds()),
            micros: i64::from(t.micros()),
        }
    };
    let of_datetime = |d: DateTime| Parts {
        negative: false,
        date: d.date(),
        day: i64::from(d.date().day()),
        hour: i64::from(d.hour()),
        minute: i64::from(d.minute()),
        second: i64::from(d.second()),
        micros: i64::from(d.micros()),
    };
    if of_date {
        return conv::to_datetime(v, cx).map(of_datetime);
    }
    let split_days = matches!(
        unit,
        U::DayHour | U::DayMinute | U::DaySecond | U::DayMicrosecond
    );
    match v {
        Val::Date(_) | Val::DateTime(_) => conv::to_datetime(v, cx).map(of_datetime),
        Val::Bytes(b) if split_days => match DateTime::parse(b) {
            Some(p) if b.iter().any(|c| *c == b'-' || *c == b'/') => Some(of_datetime(p.value)),
            _ => conv::to_time(v, cx).map(|t| of_time(t, true)),
        },
        v => conv::to_time(v, cx).map(|t| of_time(t, split_days)),
    }
}

/// `EXTRACT(unit FROM e)`.
pub(super) fn extract(
    unit: IntervalUnit,
    e: &Expr,
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Val<'static>, SqlError> {
    let v = e.eval_moment(cx, row)?;
    Ok(extracted(unit, &v, cx))
}

/// That part of a date or a time.
pub(super) fn extracted(unit: IntervalUnit, v: &Val<'_>, cx: &EvalCtx<'_>) -> Val<'static> {
    use IntervalUnit as U;
    let Some(p) = parts(v, unit, cx) else {
        return Val::Null;
    };
    let month = i64::from(p.date.month());
    let year = i64::from(p.date.year());
    let hm = p.hour * 100 + p.minute;
    let hms = hm * 100 + p.second;
    let n = match unit {
        U::Year => year,
        U::Quarter => (month + 2) / 3,
        U::Month => month,
        U::Week => {
            if p.date.has_zero_part() {
                return Val::Null;
            }
            i64::from(temporal::week(p.date, cx.vars.hot().default_week_format))
        }
        U::Day => p.day,
        U::Hour => p.hour,
        U::Minute => p.minute,
        U::Second => p.second,
        U::Microsecond => p.micros,
        U::YearMonth => year * 100 + month,
        U::DayHour => p.day * 100 + p.hour,
        U::DayMinute => p.day * 10_000 + hm,
        U::DaySecond => p.day * 1_000_000 + hms,
        U::HourMinute => hm,
        U::HourSecond => hms,
        U::MinuteSecond => p.minute * 100 + p.second,
        U::DayMicrosecond => (p.day * 1_000_000 + hms) * 1_000_000 + p.micros,
        U::HourMicrosecond => hms * 1_000_000 + p.micros,
        U::MinuteMicrosecond => (p.minute * 100 + p.second) * 1_000_000 + p.micros,
        U::SecondMicrosecond => p.second * 1_000_000 + p.micros,
    };
    Val::Int(if p.negative { -n } else { n })
}

/// `TIMESTAMPDIFF(unit, a, b)`.
pub(super) fn timestamp_diff(
    unit: IntervalUnit,
    [a, b]: &[Expr; 2],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
) -> Result<Val<'static>, SqlError> {
    let (x, y) = (a.eval_moment(cx, row)?, b.eval_moment(cx, row)?);
    let (Some(x), Some(y)) = (
        conv::to_real_datetime(&x, cx),
        conv::to_real_datetime(&y, cx),
    ) else {
        return Ok(Val::Null);
    };
    Ok(temporal::timestamp_diff(unit, x, y).map_or(Val::Null, Val::Int))
}
