//! INTERVAL arithmetic: DATE_ADD, DATE_SUB, TIMESTAMPADD, TIMESTAMPDIFF.
//!
//! Months and years move the calendar and clip the day to the month's last; smaller units are exact microseconds.

use super::calendar::days_in_month;
use super::{Date, DateTime, MICROS, Time};
use crate::decimal::Decimal;
use crate::decimal::arith::Rounding;

/// Unit of an INTERVAL expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

use IntervalUnit as U;

const UNITS: [(IntervalUnit, &str); 20] = [
    (U::Microsecond, "MICROSECOND"),
    (U::Second, "SECOND"),
    (U::Minute, "MINUTE"),
    (U::Hour, "HOUR"),
    (U::Day, "DAY"),
    (U::Week, "WEEK"),
    (U::Month, "MONTH"),
    (U::Quarter, "QUARTER"),
    (U::Year, "YEAR"),
    (U::SecondMicrosecond, "SECOND_MICROSECOND"),
    (U::MinuteMicrosecond, "MINUTE_MICROSECOND"),
    (U::MinuteSecond, "MINUTE_SECOND"),
    (U::HourMicrosecond, "HOUR_MICROSECOND"),
    (U::HourSecond, "HOUR_SECOND"),
    (U::HourMinute, "HOUR_MINUTE"),
    (U::DayMicrosecond, "DAY_MICROSECOND"),
    (U::DaySecond, "DAY_SECOND"),
    (U::DayMinute, "DAY_MINUTE"),
    (U::DayHour, "DAY_HOUR"),
    (U::YearMonth, "YEAR_MONTH"),
];

impl IntervalUnit {
    /// By MySQL's keyword, any case; the `SQL_TSI_` prefix of TIMESTAMPADD is accepted.
    pub fn by_name(name: &str) -> Option<IntervalUnit> {
        let n = match name.split_at_checked(8) {
            Some((p, rest)) if p.eq_ignore_ascii_case("SQL_TSI_") => rest,
            _ => name,
        };
        UNITS
            .iter()
            .find(|(_, u)| u.eq_ignore_ascii_case(n))
            .map(|(u, _)| *u)
    }

    /// MySQL's keyword.
    pub fn name(self) -> &'static str {
        UNITS
            .iter()
            .find(|(u, _)| *u == self)
            .map_or("", |(_, n)| n)
    }

    /// Adding this unit to a DATE gives a DATE (days and larger).
    pub fn is_date_only(self) -> bool {
        matches!(
            self,
            U::Day | U::Week | U::Month | U::Quarter | U::Year | U::YearMonth
        )
    }

    /// The unit can carry microseconds.
    pub fn has_micros(self) -> bool {
        matches!(
            self,
            U::Microsecond
                | U::SecondMicrosecond
                | U::MinuteMicrosecond
                | U::HourMicrosecond
                | U::DayMicrosecond
        )
    }

    /// The amount is read as groups of digits: `DAY_HOUR`, `YEAR_MONTH`.
    pub fn is_compound(self) -> bool {
        !self.fields().is_empty()
    }

    /// Fields of a compound unit from large to small, as indexes into day, hour, minute, second, microsecond; or year, month.
    fn fields(self) -> &'static [Field] {
        use Field::*;
        match self {
            U::SecondMicrosecond => &[Second, Micro],
            U::MinuteMicrosecond => &[Minute, Second, Micro],
            U::MinuteSecond => &[Minute, Second],
            U::HourMicrosecond => &[Hour, Minute, Second, Micro],
            U::HourSecond => &[Hour, Minute, Second],
            U::HourMinute => &[Hour, Minute],
            U::DayMicrosecond => &[Day, Hour, Minute, Second, Micro],
            U::DaySecond => &[Day, Hour, Minute, Second],
            U::DayMinute => &[Day, Hour, Minute],
            U::DayHour => &[Day, Hour],
            U::YearMonth => &[Year, Month],
            _ => &[],
        }
    }
}

#[derive(Clone, Copy)]
enum Field {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Micro,
}

/// An amount of time: calendar months and exact microseconds, both signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Months, years included.
    pub months: i64,
    /// Microseconds, days included; i128 so that any operand can be held and found out of range later.
    pub micros: i128,
}

const HOUR: i128 = 3600 * MICROS as i128;
const DAY: i128 = 24 * HOUR;

impl Interval {
    /// A whole number of a simple unit. For a compound unit the number is read as its text is: `1 SECOND_MICROSECOND` is a
    /// tenth of a second.
    pub fn from_int(unit: IntervalUnit, n: i64) -> Option<Interval> {
        let micros = |per: i128| {
            Some(Interval {
                months: 0,
                micros: i128::from(n) * per,
            })
        };
        let months = |per: i64| {
            Some(Interval {
                months: n.saturating_mul(per),
                micros: 0,
            })
        };
        match unit {
            U::Microsecond => micros(1),
            U::Second => micros(MICROS.into()),
            U::Minute => micros(60 * i128::from(MICROS)),
            U::Hour => micros(HOUR),
            U::Day => micros(DAY),
            U::Week => micros(7 * DAY),
            U::Month => months(1),
            U::Quarter => months(3),
            U::Year => months(12),
            _ => Self::parse(unit, n.to_string().as_bytes()),
        }
    }

    /// A number of seconds with its fraction, which is cut after the microseconds. `None` if it does not fit.
    pub fn from_seconds(n: &Decimal) -> Option<Interval> {
        let micros = n
            .round_with(6, Rounding::Truncate)
            .rescale(6)?
            .mantissa_i128()?;
        Some(Interval { months: 0, micros })
    }

    /// Text as the amount of a compound unit: groups of digits with anything between them (`'1 2:03:04'`, `'1-6'`, and `'1.5'` as
    /// one and five). Missing groups are the larger ones. The last group of a unit with microseconds is a fraction: its digits
    /// are filled up to six. `None` for more groups than the unit has, for a group beyond i64, and for a simple unit.
    pub fn parse(unit: IntervalUnit, text: &[u8]) -> Option<Interval> {
        let fields = unit.fields();
        let mut s = super::scan::Scan::new(text);
        let neg = s.eat(b'-');
        let mut groups: Vec<i128> = Vec::with_capacity(5);
        let mut digits = 0;
        loop {
            let skip = s.rest.iter().take_while(|b| !b.is_ascii_digit()).count();
            s.rest = &s.rest[skip..];
            let Some((v, n)) = s.digits(usize::MAX) else {
                break;
            };
            if groups.len() == fields.len() {
                return None;
            }
            groups.push(i128::from(i64::try_from(v).ok()?));
            digits = n;
        }
        let mut out = Interval::default();
        for (v, f) in groups.iter().zip(&fields[fields.len() - groups.len()..]) {
            match f {
                Field::Year => out.months = i64::try_from(*v).ok()?.checked_mul(12)?,
                Field::Month => out.months = out.months.checked_add(i64::try_from(*v).ok()?)?,
                Field::Day => out.micros += v * DAY,
                Field::Hour => out.micros += v * HOUR,
                Field::Minute => out.micros += v * 60 * i128::from(MICROS),
                Field::Second => out.micros += v * i128::from(MICROS),
                Field::Micro => out.micros += v * 10i128.pow(6usize.saturating_sub(digits) as u32),
            }
        }
        Some(if neg { out.negated() } else { out })
    }

    /// The opposite amount.
    #[must_use]
    pub fn negated(self) -> Interval {
        Interval {
            months: self.months.saturating_neg(),
            micros: -self.micros,
        }
    }
}

impl DateTime {
    /// This instant moved by an interval, keeping `self`'s fsp; `None` when the result leaves years 0–9999 or the date has a
    /// zero part (SQL's result is NULL with a warning 1441).
    pub fn add_interval(self, i: &Interval) -> Option<DateTime> {
        if self.date().has_zero_part() {
            return None;
        }
        let mut v = self;
        if i.months != 0 {
            let d = self.date();
            let m = (i64::from(d.year()) * 12 + i64::from(d.month()) - 1).checked_add(i.months)?;
            let (y, m) = (m.div_euclid(12), m.rem_euclid(12) as u8 + 1);
            if !(0..=9999).contains(&y) {
                return None;
            }
            let y = y as u16;
            let day = d.day().min(days_in_month(y, m));
            v = DateTime::from_packed(
                u64::from(Date::from_parts(y, m, day).packed()) << 37
                    | (self.packed() & ((1 << 37) - 1)),
                self.fsp(),
            );
        }
        if i.micros != 0 {
            let t = i128::from(v.to_linear()?) + i.micros;
            v = DateTime::from_linear(i64::try_from(t).ok()?, self.fsp())?;
            if v.date().is_zero() {
                return None;
            }
        }
        Some(v)
    }
}

impl Time {
    /// This duration plus the interval's exact part; `None` outside the range of TIME or for months.
    pub fn add_interval(self, i: &Interval) -> Option<Time> {
        if i.months != 0 {
            return None;
        }
        let t = i64::try_from(i128::from(self.micros_total()) + i.micros).ok()?;
        (t.abs() < super::TIME_MAX_MICROS + MICROS).then(|| Time::from_micros(t, self.fsp()))
    }
}

/// TIMESTAMPDIFF(unit, a, b): whole units from `a` to `b`, toward zero. `None` for a compound unit or a date with a zero part.
pub fn timestamp_diff(unit: IntervalUnit, a: DateTime, b: DateTime) -> Option<i64> {
    let diff = b.to_linear()? - a.to_linear()?;
    let months = || {
        let (lo, hi, sign) = if diff < 0 { (b, a, -1) } else { (a, b, 1) };
        let n = |d: DateTime| i64::from(d.date().year()) * 12 + i64::from(d.date().month());
        let tail = |d: DateTime| (d.date().day(), d.micros_of_day());
        let whole = n(hi) - n(lo) - i64::from(tail(hi) < tail(lo));
        sign * whole
    };
    Some(match unit {
        U::Microsecond => diff,
        U::Second => diff / MICROS,
        U::Minute => diff / MICROS / 60,
        U::Hour => diff / MICROS / 3600,
        U::Day => diff / MICROS / 86_400,
        U::Week => diff / MICROS / 604_800,
        U::Month => months(),
        U::Quarter => months() / 3,
        U::Year => months() / 12,
        _ => return None,
    })
}
