//! Times in expressions: what a value is where a time is asked for, interval arithmetic, EXTRACT, TIMESTAMPDIFF. The calendar itself is in
//! `types::temporal`, and `date_text` reads text.

use types::SqlError;
use types::error::codes;
use types::temporal::{self, Date, DateTime, Interval, IntervalUnit, Time};

use super::conv;
use super::ctx::EvalCtx;
use super::date_text::{number_to_datetime, parse_datetime_quietly, split};
use super::ty::{ExprType, Shape};
use super::val::Val;

/// Whether a number that stands for a date has a time behind it, even one of zeros.
fn number_has_time(v: &Val<'_>, cx: &EvalCtx<'_>) -> bool {
    conv::to_num(v, cx)
        .and_then(split)
        .and_then(|(whole, _)| DateTime::from_number(whole))
        .is_some_and(|(_, has_time)| has_time)
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
