//! The clock, sums and differences of times, formatting and reading them.

use types::error::codes;
use types::temporal::StrToDate;
use types::temporal::{self, Date, DateTime, Time, TimeZone, Universal};
use types::{SqlError, ValueRef};

use super::datetime_parts::append_name;
use super::infer::{fsp_argument, fsp_of};
use super::string::connection_text;
use super::{FuncDef, def, some};
use crate::conv;
use crate::node::Args;
use crate::node::InferCx;
use crate::node::{Expr, Node};
use crate::temporal::{Clock, clock, has_time};
use crate::ty::{ExprType, Shape};
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;
type Inferred = Result<ExprType, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("now", 0, 1, infer_now, now).light().per_statement(),
    def("current_timestamp", 0, 1, infer_now, now)
        .light()
        .per_statement(),
    def("localtime", 0, 1, infer_now, now)
        .light()
        .per_statement(),
    def("localtimestamp", 0, 1, infer_now, now)
        .light()
        .per_statement(),
    def("sysdate", 0, 1, infer_now, sysdate).light().per_row(),
    def("curdate", 0, 0, infer_today, curdate)
        .light()
        .per_statement(),
    def("current_date", 0, 0, infer_today, curdate)
        .light()
        .per_statement(),
    def("curtime", 0, 1, infer_curtime, curtime)
        .light()
        .per_statement(),
    def("current_time", 0, 1, infer_curtime, curtime)
        .light()
        .per_statement(),
    def("utc_date", 0, 0, infer_today, utc_date)
        .light()
        .per_statement(),
    def("utc_time", 0, 1, infer_curtime, utc_time)
        .light()
        .per_statement(),
    def("utc_timestamp", 0, 1, infer_now, utc_timestamp)
        .light()
        .per_statement(),
    def("unix_timestamp", 0, 1, infer_unix, unix_timestamp)
        .light()
        .per_statement(),
    def("from_unixtime", 1, 2, infer_from_unix, from_unixtime)
        .light()
        .per_statement(),
    def("date_format", 2, 2, infer_format, date_format).light(),
    def("time_format", 2, 2, infer_format, time_format).light(),
    def("str_to_date", 2, 2, infer_str_to_date, str_to_date).light(),
    def("get_format", 2, 2, infer_get_format, get_format).light(),
    def("addtime", 2, 2, infer_addtime, |a| addtime(a, 1)).light(),
    def("subtime", 2, 2, infer_addtime, |a| addtime(a, -1)).light(),
    def("timediff", 2, 2, infer_timediff, timediff).light(),
    def("convert_tz", 3, 3, infer_convert_tz, convert_tz)
        .light()
        .per_statement(),
];

fn infer_now(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let fsp = fsp_argument(cx, args, 0)?;
    Ok(ExprType::plain(Shape::DateTime(fsp), false))
}

fn infer_curtime(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let fsp = fsp_argument(cx, args, 0)?;
    Ok(ExprType::plain(Shape::Time(fsp), false))
}

fn infer_today(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::plain(Shape::Date, false))
}

/// Fraction digits of the result.
fn shown_fsp(a: &Args<'_>) -> u8 {
    match a.ty.shape {
        Shape::Time(f) | Shape::DateTime(f) => f,
        _ => 0,
    }
}

fn now(a: Args<'_>) -> Out<'_> {
    Ok(Val::DateTime(a.cx.now(shown_fsp(&a))))
}

fn sysdate(a: Args<'_>) -> Out<'_> {
    Ok(Val::DateTime(a.cx.wall_now(shown_fsp(&a))))
}

fn curdate(a: Args<'_>) -> Out<'_> {
    Ok(Val::Date(a.cx.now(0).date()))
}

fn curtime(a: Args<'_>) -> Out<'_> {
    Ok(Val::Time(a.cx.now(shown_fsp(&a)).time()))
}

fn utc_date(a: Args<'_>) -> Out<'_> {
    Ok(Val::Date(a.cx.utc_now(0).date()))
}

fn utc_time(a: Args<'_>) -> Out<'_> {
    Ok(Val::Time(a.cx.utc_now(shown_fsp(&a)).time()))
}

fn utc_timestamp(a: Args<'_>) -> Out<'_> {
    Ok(Val::DateTime(a.cx.utc_now(shown_fsp(&a))))
}

fn infer_unix(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let Some(arg) = args.first() else {
        return Ok(ExprType::int(11, false));
    };
    Ok(match fsp_of(arg) {
        0 => ExprType::int(11, arg.ty.nullable),
        f => ExprType::decimal(11 + f, f, arg.ty.nullable),
    })
}

/// What a TIMESTAMP column holds, in UTC: its local time may be that of two moments.
fn stored_moment(a: &Args<'_>) -> Option<DateTime> {
    let Node::Column(c) = &a.args[0].node else {
        return None;
    };
    match a.row.column(c.slot, c.ordinal) {
        ValueRef::DateTime(d) if c.utc && !d.is_zero() => Some(d),
        _ => None,
    }
}

fn unix_timestamp(a: Args<'_>) -> Out<'_> {
    if a.len() == 0 {
        return Ok(Val::Int(a.cx.now_micros.div_euclid(1_000_000)));
    }
    let stored = stored_moment(&a);
    let local = match stored {
        Some(_) => None,
        None => a.datetime(0)?,
    };
    let Some(d) = stored.or(local) else {
        return Ok(if a.val(0)?.is_null() {
            Val::Null
        } else {
            Val::Int(0)
        });
    };
    let utc = match stored {
        Some(_) => stored,
        None => a.cx.zone.to_utc(d).map(Universal::time),
    };
    let seconds = utc.and_then(DateTime::to_unix_seconds).unwrap_or(0);
    // 3001-01-18 is the last day MySQL answers for
    let inside = (0..=32_536_771_199).contains(&seconds);
    let fsp = match a.ty.shape {
        Shape::Decimal { scale, .. } => scale,
        _ => return Ok(Val::Int(if inside { seconds } else { 0 })),
    };
    let micros = if inside {
        i128::from(seconds) * 1_000_000 + i128::from(d.micros())
    } else {
        0
    };
    let v = types::Decimal::from_i128(micros, 6);
    Ok(Val::Decimal(v.rescale(fsp).unwrap_or(v)))
}

fn infer_from_unix(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    if args.len() == 2 {
        return Ok(connection_text(cx, 255, true));
    }
    let fsp = match fsp_of(&args[0]) {
        f if args[0].ty.is_text() && args[0].as_const().is_none() => f.max(6),
        f => f,
    };
    Ok(ExprType::plain(Shape::DateTime(fsp), true))
}

fn from_unixtime(a: Args<'_>) -> Out<'_> {
    let n = some!(a.decimal(0)?);
    let fsp = match a.ty.shape {
        Shape::DateTime(f) => f,
        _ => 6,
    };
    let micros = some!(n.rescale(6).and_then(|d| d.mantissa_i128()));
    if !(0..=32_536_771_199_999_999).contains(&micros) {
        return Ok(Val::Null);
    }
    let d = some!(a.cx.zone.local(micros as i64));
    if a.len() == 1 {
        return Ok(d.round(fsp).map_or(Val::Null, Val::DateTime));
    }
    formatted(&a, d)
}

/// A time as the second argument says.
fn formatted<'a>(a: &Args<'a>, d: DateTime) -> Out<'a> {
    let format = some!(a.text(1)?);
    let mut out = Vec::new();
    let locale = a.cx.vars.hot().locale();
    let name = |name: &'static str, out: &mut Vec<u8>| append_name(a, name, out);
    Ok(
        match temporal::date_format(d, &format, locale, name, &mut out) {
            true => Val::owned(out),
            false => Val::Null,
        },
    )
}

fn infer_format(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    // The longest specifier, %W, makes nine characters of two in English, at most eighteen elsewhere; there it may be no ASCII.
    let english = cx.cx.vars.hot().time_names == 0;
    let factor = if english { 5 } else { 9 };
    let mut ty = connection_text(cx, args[1].ty.chars().saturating_mul(factor), true);
    ty.ascii |= english && args[1].ty.ascii;
    Ok(ty)
}

fn date_format(a: Args<'_>) -> Out<'_> {
    let d = some!(a.datetime(0)?);
    formatted(&a, d)
}

fn time_format(a: Args<'_>) -> Out<'_> {
    let t = some!(a.time(0)?);
    let format = some!(a.text(1)?);
    let mut out = Vec::new();
    Ok(if temporal::time_format(t, &format, &mut out) {
        Val::owned(out)
    } else {
        Val::Null
    })
}

/// Whether a format asks for parts of a date, of a time, and for microseconds.
fn format_parts(f: &[u8]) -> (bool, bool, bool) {
    let (mut date, mut time, mut micros) = (false, false, false);
    for pair in f.windows(2).filter(|p| p[0] == b'%') {
        match pair[1] {
            b'a' | b'b' | b'c' | b'D' | b'd' | b'e' | b'j' | b'M' | b'm' | b'U' | b'u' | b'V'
            | b'v' | b'W' | b'w' | b'X' | b'x' | b'Y' | b'y' => date = true,
            b'f' => {
                time = true;
                micros = true;
            }
            b'H' | b'h' | b'I' | b'i' | b'k' | b'l' | b'p' | b'r' | b'S' | b's' | b'T' => {
                time = true;
            }
            _ => {}
        }
    }
    (date, time, micros)
}

fn infer_str_to_date(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let shape = match args[1].as_const() {
        Some(Val::Bytes(f)) => {
            let (date, time, micros) = format_parts(f);
            let fsp = if micros { 6 } else { 0 };
            match (date, time) {
                (true, false) => Shape::Date,
                (false, true) => Shape::Time(fsp),
                _ => Shape::DateTime(fsp),
            }
        }
        _ => Shape::DateTime(6),
    };
    Ok(ExprType::plain(shape, true))
}

fn str_to_date(a: Args<'_>) -> Out<'_> {
    let (t, f) = (some!(a.text(0)?), some!(a.text(1)?));
    let shown = || String::from_utf8_lossy(&t).into_owned();
    let Some((v, left_over)) = temporal::str_to_date(&t, &f) else {
        a.cx.warn_error(SqlError::new(
            codes::ER_WRONG_VALUE_FOR_TYPE,
            format!(
                "Incorrect datetime value: '{}' for function str_to_date",
                shown()
            ),
        ));
        return Ok(Val::Null);
    };
    let zero_date = match v {
        StrToDate::Date(d) => d.has_zero_part(),
        StrToDate::DateTime(d) => d.date().has_zero_part(),
        StrToDate::Time(_) => false,
    };
    use crate::vars::SqlMode;
    if zero_date
        && (a.cx.sql_mode.has(SqlMode::NO_ZERO_DATE) || a.cx.sql_mode.has(SqlMode::NO_ZERO_IN_DATE))
    {
        a.cx.warn_error(SqlError::new(
            codes::ER_WRONG_VALUE_FOR_TYPE,
            format!(
                "Incorrect datetime value: '{}' for function str_to_date",
                shown()
            ),
        ));
        return Ok(Val::Null);
    }
    if left_over {
        a.cx.warn_error(SqlError::truncated_wrong_value("datetime", &shown()));
    }
    let fsp = shown_fsp(&a);
    Ok(match (v, a.ty.shape) {
        (StrToDate::Date(d), Shape::DateTime(_)) => Val::DateTime(d.at_midnight().with_fsp(fsp)),
        (StrToDate::Date(d), _) => Val::Date(d),
        (StrToDate::Time(t), Shape::DateTime(_)) => Val::DateTime(
            DateTime::from_parts(
                Date::ZERO,
                (t.hours() % 24) as u8,
                t.minutes(),
                t.seconds(),
                t.micros(),
            )
            .with_fsp(fsp),
        ),
        (StrToDate::Time(t), _) => Val::Time(t.with_fsp(fsp)),
        (StrToDate::DateTime(d), Shape::Date) => Val::Date(d.date()),
        (StrToDate::DateTime(d), _) => Val::DateTime(d.with_fsp(fsp)),
    })
}

fn infer_get_format(cx: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(connection_text(cx, 17, true).ascii())
}

fn get_format(a: Args<'_>) -> Out<'_> {
    let (kind, place) = (some!(a.text(0)?), some!(a.text(1)?));
    let place = String::from_utf8_lossy(&place).to_ascii_uppercase();
    let text: &'static str = match (&kind[..], place.as_str()) {
        (b"date", "USA") => "%m.%d.%Y",
        (b"date", "JIS" | "ISO") => "%Y-%m-%d",
        (b"date", "EUR") => "%d.%m.%Y",
        (b"date", "INTERNAL") => "%Y%m%d",
        (b"datetime", "USA" | "EUR") => "%Y-%m-%d %H.%i.%s",
        (b"datetime", "JIS" | "ISO") => "%Y-%m-%d %H:%i:%s",
        (b"datetime", "INTERNAL") => "%Y%m%d%H%i%s",
        (b"time", "USA") => "%h:%i:%s %p",
        (b"time", "JIS" | "ISO") => "%H:%i:%s",
        (b"time", "EUR") => "%H.%i.%s",
        (b"time", "INTERNAL") => "%H%i%s",
        _ => return Ok(Val::Null),
    };
    Ok(Val::borrowed(text.as_bytes()))
}

fn infer_addtime(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let fsp = fsp_of(&args[0]).max(fsp_of(&args[1]));
    Ok(match args[0].ty.shape {
        Shape::Time(_) => ExprType::plain(Shape::Time(fsp), true),
        _ if args[0].ty.has_date() => ExprType::plain(Shape::DateTime(fsp), true),
        _ => connection_text(cx, 29, true).ascii(),
    })
}

fn addtime(a: Args<'_>, sign: i64) -> Out<'_> {
    let v = a.moment(0)?;
    let w = a.moment(1)?;
    if v.is_null() || w.is_null() || matches!(w, Val::Date(_) | Val::DateTime(_)) {
        return Ok(Val::Null);
    }
    let start = match &v {
        Val::DateTime(d) => Clock::Moment(*d),
        v => some!(clock(v, a.cx)),
    };
    let Clock::Time(by) = some!(clock(&w, a.cx)) else {
        return Ok(Val::Null);
    };
    let micros = sign * by.micros_total();
    let text = a.ty.is_text();
    match start {
        Clock::Time(t) => {
            let sum = t.micros_total() + micros;
            let fsp = if text { fsp_for(sum) } else { shown_fsp(&a) };
            Ok(textual(Val::Time(Time::from_micros(sum, fsp)), text))
        }
        Clock::Moment(d) => {
            let sum = some!(d.to_linear()) + micros;
            let fsp = if text { fsp_for(sum) } else { shown_fsp(&a) };
            let d = some!(DateTime::from_linear(sum, fsp));
            Ok(textual(Val::DateTime(d), text))
        }
    }
}

/// Six digits where there is a fraction, none where there is not.
fn fsp_for(micros: i64) -> u8 {
    if micros % 1_000_000 == 0 { 0 } else { 6 }
}

fn textual(v: Val<'_>, text: bool) -> Val<'_> {
    if text {
        let ty = ExprType::null();
        Val::owned(conv::text_of(&v, &ty).into_owned())
    } else {
        v
    }
}

fn infer_timediff(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let fsp = fsp_of(&args[0]).max(fsp_of(&args[1]));
    Ok(ExprType::plain(Shape::Time(fsp), true))
}

fn timediff(a: Args<'_>) -> Out<'_> {
    let (x, y) = (a.moment(0)?, a.moment(1)?);
    if x.is_null() || y.is_null() {
        return Ok(Val::Null);
    }
    let typed = |v: &Val<'_>| matches!(v, Val::Date(_) | Val::DateTime(_));
    let difference = if typed(&x) || typed(&y) {
        if matches!(x, Val::Time(_)) || matches!(y, Val::Time(_)) {
            return Ok(Val::Null);
        }
        let (timed, other) = (has_time(&x, a.cx), has_time(&y, a.cx));
        let x = some!(conv::to_datetime(&x, a.cx).and_then(DateTime::to_linear));
        let y = some!(conv::to_datetime(&y, a.cx).and_then(DateTime::to_linear));
        // A date has no distance in time to a date and time.
        if timed != other {
            return Ok(Val::Null);
        }
        x - y
    } else {
        match (some!(clock(&x, a.cx)), some!(clock(&y, a.cx))) {
            (Clock::Time(x), Clock::Time(y)) => x.micros_total() - y.micros_total(),
            (Clock::Moment(x), Clock::Moment(y)) => some!(x.to_linear()) - some!(y.to_linear()),
            _ => return Ok(Val::Null),
        }
    };
    let t = Time::from_micros(difference, shown_fsp(&a));
    if t.micros_total() != difference {
        a.cx.warn_error(SqlError::truncated_wrong_value(
            "time",
            &String::from_utf8_lossy(&conv::text_of(&Val::Time(t), a.ty)),
        ));
    }
    Ok(Val::Time(t))
}

fn infer_convert_tz(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let fsp = fsp_of(&args[0]);
    Ok(ExprType::plain(Shape::DateTime(fsp), true))
}

fn convert_tz(a: Args<'_>) -> Out<'_> {
    let v = a.moment(0)?;
    let d = some!(conv::to_datetime(&v, a.cx));
    if d.date().is_zero() {
        // No zone has this date, whatever the SQL mode.
        conv::warn_zero_date(&v, a.cx);
        return Ok(Val::Null);
    }
    let (from, to) = (some!(a.text(1)?), some!(a.text(2)?));
    let zone = |t: &[u8]| {
        let zone = TimeZone::parse(&String::from_utf8_lossy(t))?;
        Some(zone.zone(a.cx.facts.system_zone))
    };
    let (from, to) = (some!(zone(&from)), some!(zone(&to)));
    // outside of what a TIMESTAMP holds the value stays as it is
    let utc = from.to_utc(d).map(Universal::time);
    let unix = utc.and_then(DateTime::to_unix_seconds);
    let moved = match unix {
        // the second 0 is none of a TIMESTAMP's
        Some(s) if (1..=32_536_771_199).contains(&s) => some!(to.to_local(some!(utc))),
        _ => d,
    };
    Ok(Val::DateTime(moved.with_fsp(shown_fsp(&a))))
}
