//! Assignment to DATE, TIME, DATETIME and TIMESTAMP columns: parsing, sql_mode's zero-date rules, rounding, the range and zone of TIMESTAMP.

use super::assign::Sink;
use crate::datatype::DataType;
use crate::decimal::arith::Rounding;
use crate::error::{SqlError, SqlResult, codes};
use crate::temporal::{Date, DateTime, Days, MICROS, TIME_MAX_MICROS, Time, Universal};
use crate::value::ValueRef;

/// Why a value is not stored as it came: MySQL's warning code outside strict mode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Text that is no temporal value, or has more than one: 1265.
    Truncated,
    /// A value outside the calendar or the type: 1264.
    Range,
    /// A time that the session's zone does not have: 1299.
    Moment,
}

fn kind(ty: &DataType) -> &'static str {
    match ty {
        DataType::Date => "date",
        DataType::Time(_) => "time",
        _ => "datetime",
    }
}

/// Strict: error 1292 naming the value. Otherwise the warning of the fault.
#[cold]
fn report(v: ValueRef<'_>, fault: Fault, s: &mut Sink<'_, '_>) -> SqlResult<()> {
    let (column, row) = (s.target.column, s.target.row);
    if s.mode.strict {
        let text = super::to_text(v);
        return Err(SqlError::incorrect_temporal(
            kind(s.target.ty),
            &text,
            column,
            row,
        ));
    }
    let e = match fault {
        Fault::Truncated => SqlError::data_truncated(column, row),
        Fault::Range => SqlError::out_of_range(column, row),
        Fault::Moment => SqlError::invalid_timestamp(column, row),
    };
    s.fail(e)
}

pub(super) fn assign<'a>(v: ValueRef<'a>, s: &mut Sink<'a, '_>) -> SqlResult<ValueRef<'a>> {
    Ok(match *s.target.ty {
        DataType::Date => ValueRef::Date(date(v, s)?),
        DataType::Time(f) => ValueRef::Time(time(v, f, s)?),
        DataType::DateTime(f) => ValueRef::DateTime(datetime(v, f, s)?),
        DataType::Timestamp(f) => ValueRef::DateTime(timestamp(v, f, s)?),
        _ => v,
    })
}

/// The value as a date and time before rounding; zero after a lenient rejection.
fn parse(v: ValueRef<'_>, s: &mut Sink<'_, '_>) -> SqlResult<DateTime> {
    let days = s.mode.days(s.target.ty);
    let parsed = match v {
        ValueRef::DateTime(d) => Some(d),
        ValueRef::Date(d) => Some(d.at_midnight()),
        ValueRef::Time(t) => s
            .mode
            .today()
            .at_midnight()
            .to_linear()
            .and_then(|d| DateTime::from_linear(d + t.micros_total(), t.fsp())),
        ValueRef::Str(..) | ValueRef::Bytes(_) | ValueRef::Enum(..) | ValueRef::Set(..) => {
            return parse_text(v, s);
        }
        ValueRef::Decimal(d) => number(&d, days),
        ValueRef::Float(_) | ValueRef::Double(_) => number(&super::to_decimal(v), days),
        other => i64::try_from(super::to_int(other))
            .ok()
            .and_then(|n| DateTime::from_number_with(n, days))
            .map(|(d, _)| d),
    };
    let fault = match parsed {
        Some(d) if s.mode.allows(d) => return Ok(d),
        Some(_) => Fault::Range,
        // A number that is no date is cut; a time that leaves the calendar is out of range.
        None if matches!(v, ValueRef::Time(_)) => Fault::Range,
        None => Fault::Truncated,
    };
    report(v, fault, s)?;
    // Outside NO_ZERO_DATE modes a rejected part leaves the zero date.
    Ok(DateTime::ZERO)
}

/// A number with a fraction of a second.
fn number(d: &crate::Decimal, days: Days) -> Option<DateTime> {
    let whole = d.round_with(0, Rounding::Truncate);
    let (v, _) = DateTime::from_number_with(whole.to_i64()?, days)?;
    let micros = d
        .checked_sub(&whole)?
        .rescale(6)?
        .mantissa_i128()
        .and_then(|m| i64::try_from(m).ok())?;
    if micros == 0 {
        return Some(v);
    }
    DateTime::from_linear(v.to_linear()? + micros, 6)
}

fn parse_text(v: ValueRef<'_>, s: &mut Sink<'_, '_>) -> SqlResult<DateTime> {
    let b = super::to_bytes(v);
    let Some(p) = DateTime::parse_with(&b, s.mode.days(s.target.ty)) else {
        // A day that its month does not have is out of range; anything else is no date at all.
        let fault = match DateTime::parse_with(&b, Days::Any) {
            Some(_) => Fault::Range,
            None => Fault::Truncated,
        };
        report(v, fault, s)?;
        return Ok(DateTime::ZERO);
    };
    if !s.mode.allows(p.value) {
        report(v, Fault::Range, s)?;
        return Ok(DateTime::ZERO);
    }
    if p.truncated {
        report(v, Fault::Truncated, s)?;
    }
    match p.offset {
        Some(o) => Ok(s.mode.zone.from_offset(p.value, o).unwrap_or(p.value)),
        None => Ok(p.value),
    }
}

fn date(v: ValueRef<'_>, s: &mut Sink<'_, '_>) -> SqlResult<Date> {
    if let ValueRef::Date(d) = v
        && s.mode.allows(d.at_midnight())
    {
        return Ok(d);
    }
    let d = parse(v, s)?;
    if d.micros_of_day() != 0 {
        s.note_truncated();
    }
    Ok(d.date())
}

fn datetime(v: ValueRef<'_>, fsp: u8, s: &mut Sink<'_, '_>) -> SqlResult<DateTime> {
    let d = parse(v, s)?;
    if s.mode.cut_fractions {
        return Ok(d.truncate(fsp));
    }
    match d.round(fsp) {
        Some(r) => Ok(r),
        None => {
            report(v, Fault::Range, s)?;
            Ok(d.truncate(fsp))
        }
    }
}

/// Local time in, UTC out.
fn timestamp(v: ValueRef<'_>, fsp: u8, s: &mut Sink<'_, '_>) -> SqlResult<DateTime> {
    let local = datetime(v, fsp, s)?;
    if local.is_zero() {
        return Ok(local);
    }
    let utc = s.mode.zone.to_utc(local);
    if let Some(Universal::Never(_)) = utc {
        report(v, Fault::Moment, s)?;
    }
    let utc = utc.map(Universal::time);
    match utc.and_then(|u| Some((u, u.to_unix_seconds()?))) {
        Some((u, 1..=2_147_483_647)) => Ok(u),
        _ => {
            report(v, Fault::Range, s)?;
            Ok(DateTime::ZERO.with_fsp(fsp))
        }
    }
}

fn time(v: ValueRef<'_>, fsp: u8, s: &mut Sink<'_, '_>) -> SqlResult<Time> {
    let parsed = match v {
        ValueRef::Time(t) => Some((t, false)),
        ValueRef::DateTime(d) => {
            s.note_truncated();
            Some((d.time(), false))
        }
        ValueRef::Date(_) => {
            s.note_truncated();
            Some((Time::ZERO, false))
        }
        ValueRef::Str(..) | ValueRef::Bytes(_) | ValueRef::Enum(..) | ValueRef::Set(..) => {
            match Time::parse(&super::to_bytes(v)) {
                Some(p) => {
                    if p.truncated {
                        report(v, Fault::Truncated, s)?;
                    }
                    Some((p.value, p.clamped))
                }
                None => {
                    report(v, Fault::Truncated, s)?;
                    return Ok(Time::ZERO.with_fsp(fsp));
                }
            }
        }
        ValueRef::Decimal(_) | ValueRef::Float(_) | ValueRef::Double(_) => {
            fractional_time(&super::to_decimal(v))
        }
        other => Time::from_number(in_range(super::to_int(other))),
    };
    let Some((t, clamped)) = parsed else {
        report(v, Fault::Range, s)?;
        return Ok(Time::ZERO.with_fsp(fsp));
    };
    if clamped {
        // MySQL names the code, not the value, when a TIME is beyond its range.
        let e = if s.mode.strict {
            SqlError::incorrect_temporal("time", &super::to_text(v), s.target.column, s.target.row)
        } else {
            SqlError::new(
                codes::ER_WARN_DATA_OUT_OF_RANGE,
                SqlError::out_of_range(s.target.column, s.target.row).message,
            )
        };
        s.fail(e)?;
    }
    Ok(match s.mode.cut_fractions {
        true => t.truncate(fsp),
        false => t.round(fsp),
    })
}

/// The nearest number that fits; far beyond any time either way.
fn in_range(n: i128) -> i64 {
    n.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

fn fractional_time(d: &crate::Decimal) -> Option<(Time, bool)> {
    let whole = d.round_with(0, Rounding::Truncate);
    let n = in_range(super::to_int(ValueRef::Decimal(whole)));
    let (t, clamped) = Time::from_number(n)?;
    if clamped {
        return Some((t, clamped));
    }
    let micros = d
        .checked_sub(&whole)?
        .rescale(6)?
        .mantissa_i128()
        .and_then(|m| i64::try_from(m).ok())?;
    let total = t.micros_total() + micros;
    let over = total.abs() > TIME_MAX_MICROS;
    let fsp = if micros % MICROS == 0 { 0 } else { 6 };
    Some((Time::from_micros(total, fsp), clamped || over))
}
