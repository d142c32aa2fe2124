//! Parts of dates and times, and dates and times from parts.

use types::SqlError;
use types::charset::{Charset, convert};
use types::error::codes;
use types::temporal::{self, Date, DateTime, Time};

use super::infer::{date, fsp_of, int_or_null};
use super::string::connection_text;
use super::{FuncDef, def, some};
use crate::conv;
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::temporal::{Clock, clock};
use crate::ty::{ExprType, Shape};
use crate::val::{Num, Val};

type Out<'a> = Result<Val<'a>, SqlError>;
type Inferred = Result<ExprType, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("year", 1, 1, infer_year, |a| {
        of_date(a, |d| i64::from(d.year()))
    })
    .light(),
    def("month", 1, 1, int_or_null::<2>, |a| {
        of_date(a, |d| i64::from(d.month()))
    })
    .light(),
    def("day", 1, 1, int_or_null::<2>, |a| {
        of_date(a, |d| i64::from(d.day()))
    })
    .light(),
    def("dayofmonth", 1, 1, int_or_null::<2>, |a| {
        of_date(a, |d| i64::from(d.day()))
    })
    .light(),
    def("quarter", 1, 1, int_or_null::<2>, |a| {
        of_date(a, |d| (i64::from(d.month()) + 2) / 3)
    })
    .light(),
    def("dayofweek", 1, 1, int_or_null::<1>, |a| {
        of_real_date(a, |d| (i64::from(d.weekday()) + 1) % 7 + 1)
    })
    .light(),
    def("weekday", 1, 1, int_or_null::<1>, |a| {
        of_real_date(a, |d| i64::from(d.weekday()))
    })
    .light(),
    def("dayofyear", 1, 1, int_or_null::<3>, |a| {
        of_real_date(a, |d| i64::from(d.day_of_year()))
    })
    .light(),
    def("to_days", 1, 1, int_or_null::<6>, |a| {
        of_real_date(a, Date::to_days)
    })
    .light(),
    def("to_seconds", 1, 1, int_or_null::<12>, to_seconds).light(),
    def("from_days", 1, 1, date, from_days).light(),
    def("week", 1, 2, int_or_null::<2>, week).light(),
    def("weekofyear", 1, 1, int_or_null::<2>, |a| {
        of_real_date(a, |d| i64::from(temporal::week(d, 3)))
    })
    .light(),
    def("yearweek", 1, 2, int_or_null::<6>, yearweek).light(),
    def("last_day", 1, 1, date, last_day).light(),
    def("dayname", 1, 1, infer_name, dayname).light(),
    def("monthname", 1, 1, infer_name, monthname).light(),
    def("hour", 1, 1, int_or_null::<3>, |a| {
        of_time(a, |t| i64::from(t.hours()))
    })
    .light(),
    def("minute", 1, 1, int_or_null::<2>, |a| {
        of_time(a, |t| i64::from(t.minutes()))
    })
    .light(),
    def("second", 1, 1, int_or_null::<2>, |a| {
        of_time(a, |t| i64::from(t.seconds()))
    })
    .light(),
    def("microsecond", 1, 1, int_or_null::<6>, |a| {
        of_time(a, |t| i64::from(t.micros()))
    })
    .light(),
    def("time_to_sec", 1, 1, int_or_null::<10>, time_to_sec).light(),
    def("sec_to_time", 1, 1, infer_sec_to_time, sec_to_time).light(),
    def("makedate", 2, 2, date, makedate).light(),
    def("maketime", 3, 3, infer_maketime, maketime).light(),
    def("period_add", 2, 2, int_or_null::<6>, period_add).light(),
    def("period_diff", 2, 2, int_or_null::<6>, period_diff).light(),
    def("datediff", 2, 2, int_or_null::<7>, datediff).light(),
    def("date", 1, 1, date, to_date).light(),
    def("time", 1, 1, infer_time, to_time).light(),
    def("timestamp", 1, 2, infer_timestamp, timestamp).light(),
];

fn infer_year(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::plain(Shape::Year, true))
}

fn of_date(a: Args<'_>, f: fn(Date) -> i64) -> Out<'_> {
    let d = some!(a.date(0)?);
    Ok(Val::Int(f(d)))
}

/// A date that is a day of the calendar; NULL for one with a zero month or day.
fn of_real_date(a: Args<'_>, f: fn(Date) -> i64) -> Out<'_> {
    let d = some!(a.real_date(0)?);
    Ok(Val::Int(f(d)))
}

fn of_time(a: Args<'_>, f: fn(Time) -> i64) -> Out<'_> {
    let t = some!(a.time(0)?);
    Ok(Val::Int(f(t)))
}

fn to_seconds(a: Args<'_>) -> Out<'_> {
    let d = some!(a.real_datetime(0)?);
    Ok(d.to_linear()
        .map_or(Val::Null, |m| Val::Int(m.div_euclid(temporal::MICROS))))
}

fn from_days(a: Args<'_>) -> Out<'_> {
    let n = some!(a.i64(0)?);
    Ok(match temporal::from_days(n) {
        Some(d) if n >= 366 => Val::Date(d),
        _ => Val::Date(Date::ZERO),
    })
}

fn week_mode(a: Args<'_>) -> Result<Option<u8>, SqlError> {
    let default = i64::from(a.cx.vars.hot().default_week_format);
    Ok(a.i64_or(1, default)?.map(|m| (m & 7) as u8))
}

fn week(a: Args<'_>) -> Out<'_> {
    let d = some!(a.real_date(0)?);
    let mode = some!(week_mode(a)?);
    Ok(Val::Int(i64::from(temporal::week(d, mode))))
}

fn yearweek(a: Args<'_>) -> Out<'_> {
    let d = some!(a.real_date(0)?);
    let mode = some!(a.i64_or(1, 0)?);
    let (y, w) = temporal::year_week(d, (mode & 7) as u8 | 2);
    Ok(Val::Int(i64::from(y) * 100 + i64::from(w)))
}

fn last_day(a: Args<'_>) -> Out<'_> {
    let d = some!(a.real_date(0)?);
    Ok(d.last_day().map_or(Val::Null, Val::Date))
}

/// The name of a month or a day: ASCII in English.
fn infer_name(cx: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(match cx.cx.vars.hot().time_names {
        0 => cx.ascii(9, true),
        _ => connection_text(cx, LONGEST_NAME, true),
    })
}

/// Characters of the longest name of a month or a day in any locale.
const LONGEST_NAME: u32 = 18;

/// A name, in the character set of the result.
fn named<'a>(a: &Args<'a>, name: &'static str) -> Val<'a> {
    if name.is_ascii() {
        return Val::borrowed(name.as_bytes());
    }
    let mut out = Vec::new();
    append_name(a, name, &mut out);
    Val::owned(out)
}

/// The same behind what there is.
pub(super) fn append_name(a: &Args<'_>, name: &'static str, out: &mut Vec<u8>) {
    let to = a.ty.collation.charset();
    convert(Charset::Utf8mb4, to, name.as_bytes(), out);
}

fn dayname(a: Args<'_>) -> Out<'_> {
    let d = some!(a.real_date(0)?);
    let names = a.cx.vars.hot().locale().days();
    Ok(named(&a, d.of_days(names)))
}

fn monthname(a: Args<'_>) -> Out<'_> {
    let d = some!(a.date(0)?);
    let names = a.cx.vars.hot().locale().months();
    Ok(d.of_months(names).map_or(Val::Null, |n| named(&a, n)))
}

fn time_to_sec(a: Args<'_>) -> Out<'_> {
    let t = some!(a.time(0)?);
    Ok(Val::Int(t.micros_total() / temporal::MICROS))
}

/// The digits of a second that a number of seconds may have: text any, a constant too, a literal of bits none.
fn seconds_fsp(e: &Expr) -> u8 {
    match e.ty.is_text() {
        true if e.ty.bits => 0,
        true => 6,
        false => fsp_of(e),
    }
}

fn infer_sec_to_time(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(ExprType::plain(Shape::Time(seconds_fsp(&args[0])), true))
}

fn sec_to_time(a: Args<'_>) -> Out<'_> {
    let n = some!(a.num(0)?);
    let fsp = match a.ty.shape {
        Shape::Time(f) => f,
        _ => 0,
    };
    let micros = match n {
        Num::Int(i) => i128::from(i) * 1_000_000,
        Num::Uint(u) => i128::from(u) * 1_000_000,
        Num::Double(d) => (d * 1e6) as i128,
        Num::Decimal(d) => {
            d.rescale(6)
                .and_then(|d| d.mantissa_i128())
                .unwrap_or(if d.is_negative() {
                    i128::MIN
                } else {
                    i128::MAX
                })
        }
    };
    let limit = i128::from(temporal::TIME_MAX_MICROS);
    if micros > limit || micros < -limit {
        let v = n.val();
        a.cx.warn_error(SqlError::truncated_wrong_value(
            "time",
            &String::from_utf8_lossy(&conv::text_of(&v, a.ty(0))),
        ));
    }
    let kept = micros.clamp(-limit, limit) as i64;
    Ok(Val::Time(Time::from_micros(kept, fsp)))
}

fn makedate(a: Args<'_>) -> Out<'_> {
    // Both are computed, whatever the first is.
    let (day, year) = (a.i64(1)?, a.i64(0)?);
    let (day, year) = (some!(day), some!(year));
    if day <= 0 || !(0..=9999).contains(&year) {
        return Ok(Val::Null);
    }
    let year = match year {
        0..=69 => 2000 + year,
        70..=99 => 1900 + year,
        y => y,
    };
    let first = Date::from_parts(year as u16, 1, 1).to_days();
    Ok(first
        .checked_add(day - 1)
        .and_then(temporal::from_days)
        .map_or(Val::Null, Val::Date))
}

fn infer_maketime(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(ExprType::plain(Shape::Time(seconds_fsp(&args[2])), true))
}

fn maketime(a: Args<'_>) -> Out<'_> {
    let (h, m) = (some!(a.i64(0)?), some!(a.i64(1)?));
    let s = some!(a.decimal(2)?);
    let fsp = match a.ty.shape {
        Shape::Time(f) => f,
        _ => 0,
    };
    let micros = s.rescale(6).and_then(|d| d.mantissa_i128());
    let Some(micros) = micros.filter(|m| (0..60_000_000).contains(m)) else {
        return Ok(Val::Null);
    };
    if !(0..60).contains(&m) {
        return Ok(Val::Null);
    }
    let hours = i128::from(h.unsigned_abs());
    let total = (hours * 3600 + i128::from(m) * 60) * 1_000_000 + micros;
    let limit = i128::from(temporal::TIME_MAX_MICROS);
    if total > limit {
        a.cx.warn_error(SqlError::truncated_wrong_value(
            "time",
            &format!("{h}:{m:02}:{:02}", micros / 1_000_000),
        ));
    }
    let total = total.min(limit) as i64;
    Ok(Val::Time(Time::from_micros(
        if h < 0 { -total } else { total },
        fsp,
    )))
}

/// Months since year 0 of a period `YYMM` or `YYYYMM`.
fn months(period: i64) -> Option<i64> {
    if period <= 0 {
        return None;
    }
    let (mut y, m) = (period / 100, period % 100);
    if !(1..=12).contains(&m) {
        return None;
    }
    if y < 70 {
        y += 2000;
    } else if y < 100 {
        y += 1900;
    }
    Some(y * 12 + m - 1)
}

fn wrong_period(function: &str) -> SqlError {
    SqlError::new(
        codes::ER_WRONG_ARGUMENTS,
        format!("Incorrect arguments to {function}"),
    )
}

fn period_add(a: Args<'_>) -> Out<'_> {
    let (p, n) = (some!(a.i64(0)?), some!(a.i64(1)?));
    let m = months(p)
        .and_then(|m| m.checked_add(n))
        .filter(|m| (0..=12 * 9999 + 11).contains(m))
        .ok_or_else(|| wrong_period("period_add"))?;
    Ok(Val::Int(m.div_euclid(12) * 100 + m.rem_euclid(12) + 1))
}

fn period_diff(a: Args<'_>) -> Out<'_> {
    let (p, q) = (a.i64(0)?, a.i64(1)?);
    let (p, q) = (some!(p), some!(q));
    match (months(p), months(q)) {
        (Some(p), Some(q)) => Ok(Val::Int(p - q)),
        _ => Err(wrong_period("period_diff")),
    }
}

fn datediff(a: Args<'_>) -> Out<'_> {
    let (x, y) = (some!(a.real_date(0)?), some!(a.real_date(1)?));
    Ok(Val::Int(x.to_days() - y.to_days()))
}

fn to_date(a: Args<'_>) -> Out<'_> {
    Ok(Val::Date(some!(a.date(0)?)))
}

fn infer_time(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(ExprType::plain(Shape::Time(fsp_of(&args[0])), true))
}

fn to_time(a: Args<'_>) -> Out<'_> {
    let t = some!(a.time(0)?);
    Ok(Val::Time(match a.ty.shape {
        Shape::Time(f) => t.round(f),
        _ => t,
    }))
}

fn infer_timestamp(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let fsp = args.iter().map(fsp_of).max().unwrap_or(0);
    Ok(ExprType::plain(Shape::DateTime(fsp), true))
}

fn timestamp(a: Args<'_>) -> Out<'_> {
    let mut d = some!(a.datetime(0)?);
    if a.len() > 1 {
        // A date and time as a whole, written as text or a number, is no time.
        let Clock::Time(t) = some!(clock(&a.moment(1)?, a.cx)) else {
            return Ok(Val::Null);
        };
        let moved = d
            .to_linear()
            .and_then(|m| DateTime::from_linear(m + t.micros_total(), 6));
        d = some!(moved);
    }
    Ok(Val::DateTime(match a.ty.shape {
        Shape::DateTime(f) => d.with_fsp(f),
        _ => d,
    }))
}
