//! DATE, TIME and DATETIME values (a TIMESTAMP is a DATETIME in UTC), packed so that comparing integers compares times.
//!
//! Zero dates and zero parts (`0000-00-00`, `2024-00-15`) are values here, as in MySQL; whether they may be stored is decided by
//! assignment conversion. Nothing here reads the clock or a time zone database.

mod calendar;
mod format;
mod interval;
pub mod locale;
mod parse;
mod scan;
mod text;
mod zone;

pub use calendar::{days_from_civil, days_in_month, from_days, is_leap, week, year_week};
pub use format::{StrToDate, date_format, seconds_to_time, str_to_date, time_format};
pub use interval::{Interval, IntervalUnit, timestamp_diff};
pub use parse::{Days, ParsedTemporal, ParsedTime};
pub use zone::{NamedZone, TimeZone, Universal, Zone, time_zone_names};

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Microseconds in a second.
pub const MICROS: i64 = 1_000_000;
/// Largest magnitude of a TIME, `838:59:59`, in microseconds.
pub const TIME_MAX_MICROS: i64 = (838 * 3600 + 59 * 60 + 59) * MICROS;

/// A calendar date, parts possibly zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date(u32);

impl Date {
    /// `0000-00-00`.
    pub const ZERO: Date = Date(0);

    /// From parts, unchecked against the calendar: month up to 15 and day up to 31 can be held.
    #[inline]
    pub const fn from_parts(year: u16, month: u8, day: u8) -> Date {
        Date((year as u32) << 9 | (month as u32 & 15) << 5 | (day as u32 & 31))
    }

    /// A date of the calendar with year ≤ 9999, month 1–12 and day within the month.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Date> {
        (year <= 9999 && (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month))
            .then(|| Self::from_parts(year, month, day))
    }

    /// `year << 9 | month << 5 | day`, 23 bits.
    #[inline]
    pub const fn packed(self) -> u32 {
        self.0
    }

    /// From [`packed`](Self::packed); higher bits are dropped.
    #[inline]
    pub const fn from_packed(v: u32) -> Date {
        Date(v & 0x7F_FFFF)
    }

    /// Year, 0–9999.
    #[inline]
    pub const fn year(self) -> u16 {
        (self.0 >> 9) as u16
    }

    /// Month, 0–12.
    #[inline]
    pub const fn month(self) -> u8 {
        (self.0 >> 5 & 15) as u8
    }

    /// Day of the month, 0–31.
    #[inline]
    pub const fn day(self) -> u8 {
        (self.0 & 31) as u8
    }

    /// `0000-00-00`.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Month or day is zero (true for the zero date too).
    #[inline]
    pub const fn has_zero_part(self) -> bool {
        self.month() == 0 || self.day() == 0
    }

    /// Every part is that of a real day.
    pub fn is_valid(self) -> bool {
        Self::new(self.year(), self.month(), self.day()).is_some()
    }

    /// Midnight of this date.
    #[inline]
    pub const fn at_midnight(self) -> DateTime {
        DateTime {
            packed: (self.0 as u64) << DATE_SHIFT,
            fsp: 0,
        }
    }

    /// The number `YYYYMMDD`.
    pub const fn to_number(self) -> u64 {
        self.year() as u64 * 10_000 + self.month() as u64 * 100 + self.day() as u64
    }
}

const DATE_SHIFT: u32 = 37;
const TIME_MASK: u64 = (1 << DATE_SHIFT) - 1;

/// A date and a time of day with microseconds, and how many digits of them are shown. Equality and order ignore `fsp`.
#[derive(Clone, Copy, Default)]
pub struct DateTime {
    packed: u64,
    fsp: u8,
}

impl DateTime {
    /// `0000-00-00 00:00:00`.
    pub const ZERO: DateTime = DateTime { packed: 0, fsp: 0 };

    /// From parts, unchecked; shows no fraction until [`with_fsp`](Self::with_fsp).
    #[inline]
    pub const fn from_parts(date: Date, hour: u8, minute: u8, second: u8, micros: u32) -> DateTime {
        DateTime {
            packed: (date.0 as u64) << DATE_SHIFT
                | (hour as u64 & 31) << 32
                | (minute as u64 & 63) << 26
                | (second as u64 & 63) << 20
                | (micros as u64 & 0xF_FFFF),
            fsp: 0,
        }
    }

    /// A valid date and time of day.
    pub fn new(
        date: Date,
        hour: u8,
        minute: u8,
        second: u8,
        micros: u32,
        fsp: u8,
    ) -> Option<DateTime> {
        (date.is_valid() && hour < 24 && minute < 60 && second < 60 && micros < 1_000_000)
            .then(|| Self::from_parts(date, hour, minute, second, micros).with_fsp(fsp))
    }

    /// `date << 37 | hour << 32 | minute << 26 | second << 20 | micros`, 60 bits; its order is the order of time.
    #[inline]
    pub const fn packed(self) -> u64 {
        self.packed
    }

    /// From [`packed`](Self::packed).
    #[inline]
    pub const fn from_packed(packed: u64, fsp: u8) -> DateTime {
        DateTime {
            packed: packed & ((1 << 60) - 1),
            fsp: if fsp > 6 { 6 } else { fsp },
        }
    }

    /// The date.
    #[inline]
    pub const fn date(self) -> Date {
        Date((self.packed >> DATE_SHIFT) as u32)
    }

    /// Hour, 0–23.
    #[inline]
    pub const fn hour(self) -> u8 {
        (self.packed >> 32 & 31) as u8
    }

    /// Minute.
    #[inline]
    pub const fn minute(self) -> u8 {
        (self.packed >> 26 & 63) as u8
    }

    /// Second.
    #[inline]
    pub const fn second(self) -> u8 {
        (self.packed >> 20 & 63) as u8
    }

    /// Microseconds.
    #[inline]
    pub const fn micros(self) -> u32 {
        (self.packed & 0xF_FFFF) as u32
    }

    /// Digits of the fraction that are shown, 0–6.
    #[inline]
    pub const fn fsp(self) -> u8 {
        self.fsp
    }

    /// The same instant showing `fsp` digits (no rounding; see [`round`](Self::round)).
    #[inline]
    #[must_use]
    pub const fn with_fsp(self, fsp: u8) -> DateTime {
        Self::from_packed(self.packed, fsp)
    }

    /// All parts zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.packed == 0
    }

    /// The time of day as a TIME.
    #[inline]
    pub const fn time(self) -> Time {
        Time {
            micros: self.micros_of_day(),
            fsp: self.fsp,
        }
    }

    /// Microseconds since midnight.
    #[inline]
    pub const fn micros_of_day(self) -> i64 {
        let t = self.packed & TIME_MASK;
        ((t >> 32) as i64 * 3600 + (t >> 26 & 63) as i64 * 60 + (t >> 20 & 63) as i64) * MICROS
            + (t & 0xF_FFFF) as i64
    }

    /// The number `YYYYMMDDhhmmss`, without the fraction.
    pub const fn to_number(self) -> u64 {
        self.date().to_number() * 1_000_000
            + self.hour() as u64 * 10_000
            + self.minute() as u64 * 100
            + self.second() as u64
    }

    /// Microseconds since the epoch 0000-01-01 of day numbers; `None` if the date has a zero part.
    pub fn to_linear(self) -> Option<i64> {
        let d = self.date();
        if d.has_zero_part() {
            return None;
        }
        Some(d.to_days() * 86_400 * MICROS + self.micros_of_day())
    }

    /// Inverse of [`to_linear`](Self::to_linear); `None` outside years 0–9999.
    pub fn from_linear(micros: i64, fsp: u8) -> Option<DateTime> {
        let day = micros.div_euclid(86_400 * MICROS);
        let t = micros.rem_euclid(86_400 * MICROS);
        let date = from_days(day)?;
        let s = t / MICROS;
        Some(
            Self::from_parts(
                date,
                (s / 3600) as u8,
                (s / 60 % 60) as u8,
                (s % 60) as u8,
                (t % MICROS) as u32,
            )
            .with_fsp(fsp),
        )
    }

    /// Rounds half up to `fsp` digits; `None` if that leaves the year 9999 or the date has a zero part and a carry.
    pub fn round(self, fsp: u8) -> Option<DateTime> {
        let fsp = fsp.min(6);
        let unit = UNIT[usize::from(fsp)];
        let m = self.micros();
        let rounded = (m + unit / 2) / unit * unit;
        if rounded < 1_000_000 {
            return Some(DateTime {
                packed: self.packed - u64::from(m) + u64::from(rounded),
                fsp,
            });
        }
        let base = DateTime {
            packed: self.packed - u64::from(m),
            fsp,
        };
        if base.second() < 59 {
            return Some(DateTime {
                packed: base.packed + (1 << 20),
                fsp,
            });
        }
        Self::from_linear(base.to_linear()? + MICROS, fsp)
    }

    /// Drops the digits after `fsp`.
    #[must_use]
    pub fn truncate(self, fsp: u8) -> DateTime {
        let unit = UNIT[usize::from(fsp.min(6))];
        DateTime {
            packed: self.packed - u64::from(self.micros() % unit),
            fsp: fsp.min(6),
        }
    }

    /// Seconds since 1970-01-01 00:00:00, this value being UTC; `None` for a date with a zero part.
    pub fn to_unix_seconds(self) -> Option<i64> {
        Some((self.to_linear()? - UNIX_DAY * 86_400 * MICROS).div_euclid(MICROS))
    }

    /// From microseconds since 1970-01-01 00:00:00 UTC.
    pub fn from_unix_micros(micros: i64, fsp: u8) -> Option<DateTime> {
        Self::from_linear(micros.checked_add(UNIX_DAY * 86_400 * MICROS)?, fsp)
    }

    /// Moved by a number of seconds, as from UTC to a zone with that offset. Zero dates stay as they are.
    pub fn shift_seconds(self, seconds: i64) -> Option<DateTime> {
        if seconds == 0 || self.is_zero() {
            return Some(self);
        }
        Self::from_linear(self.to_linear()? + seconds * MICROS, self.fsp)
    }
}

/// Day number of 1970-01-01, as TO_DAYS counts.
pub const UNIX_DAY: i64 = 719_528;

/// Microseconds of one unit of the last shown digit, by fsp.
const UNIT: [u32; 7] = [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

impl PartialEq for DateTime {
    #[inline]
    fn eq(&self, o: &Self) -> bool {
        self.packed == o.packed
    }
}

impl Eq for DateTime {}

impl PartialOrd for DateTime {
    #[inline]
    fn partial_cmp(&self, o: &Self) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}

impl Ord for DateTime {
    #[inline]
    fn cmp(&self, o: &Self) -> Ordering {
        self.packed.cmp(&o.packed)
    }
}

impl Hash for DateTime {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.packed.hash(h);
    }
}

/// A signed duration within ±838:59:59.999999 and how many digits of its fraction are shown. Equality and order ignore `fsp`.
#[derive(Clone, Copy, Default)]
pub struct Time {
    micros: i64,
    fsp: u8,
}

impl Time {
    /// `00:00:00`.
    pub const ZERO: Time = Time { micros: 0, fsp: 0 };

    /// From signed microseconds, clamped to the range of TIME.
    pub const fn from_micros(micros: i64, fsp: u8) -> Time {
        let limit = TIME_MAX_MICROS;
        let micros = if micros > limit {
            limit
        } else if micros < -limit {
            -limit
        } else {
            micros
        };
        Time {
            micros,
            fsp: if fsp > 6 { 6 } else { fsp },
        }
    }

    /// From parts.
    pub const fn from_parts(
        neg: bool,
        hours: u32,
        minutes: u8,
        seconds: u8,
        micros: u32,
        fsp: u8,
    ) -> Time {
        let m =
            (hours as i64 * 3600 + minutes as i64 * 60 + seconds as i64) * MICROS + micros as i64;
        Self::from_micros(if neg { -m } else { m }, fsp)
    }

    /// Signed microseconds.
    #[inline]
    pub const fn micros_total(self) -> i64 {
        self.micros
    }

    /// Below zero.
    #[inline]
    pub const fn is_negative(self) -> bool {
        self.micros < 0
    }

    /// Hours of the magnitude, 0–838.
    pub const fn hours(self) -> u32 {
        (self.micros.unsigned_abs() / 3_600_000_000) as u32
    }

    /// Minutes of the magnitude, 0–59.
    pub const fn minutes(self) -> u8 {
        (self.micros.unsigned_abs() / 60_000_000 % 60) as u8
    }

    /// Seconds of the magnitude, 0–59.
    pub const fn seconds(self) -> u8 {
        (self.micros.unsigned_abs() / 1_000_000 % 60) as u8
    }

    /// Microseconds of the magnitude's second.
    pub const fn micros(self) -> u32 {
        (self.micros.unsigned_abs() % 1_000_000) as u32
    }

    /// Digits of the fraction that are shown.
    #[inline]
    pub const fn fsp(self) -> u8 {
        self.fsp
    }

    /// The same duration showing `fsp` digits (no rounding).
    #[inline]
    #[must_use]
    pub const fn with_fsp(self, fsp: u8) -> Time {
        Self::from_micros(self.micros, fsp)
    }

    /// Rounds half away from zero to `fsp` digits, clamped to the range of TIME.
    #[must_use]
    pub fn round(self, fsp: u8) -> Time {
        let fsp = fsp.min(6);
        let unit = i64::from(UNIT[usize::from(fsp)]);
        let half = if self.micros < 0 { -unit / 2 } else { unit / 2 };
        Self::from_micros((self.micros + half) / unit * unit, fsp)
    }

    /// Drops the digits after `fsp`.
    #[must_use]
    pub fn truncate(self, fsp: u8) -> Time {
        let unit = i64::from(UNIT[usize::from(fsp.min(6))]);
        Self::from_micros(self.micros / unit * unit, fsp)
    }

    /// The number `hhmmss`, signed, without the fraction.
    pub const fn to_number(self) -> i64 {
        let n = self.hours() as i64 * 10_000 + self.minutes() as i64 * 100 + self.seconds() as i64;
        if self.micros < 0 { -n } else { n }
    }
}

impl PartialEq for Time {
    #[inline]
    fn eq(&self, o: &Self) -> bool {
        self.micros == o.micros
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    #[inline]
    fn partial_cmp(&self, o: &Self) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}

impl Ord for Time {
    #[inline]
    fn cmp(&self, o: &Self) -> Ordering {
        self.micros.cmp(&o.micros)
    }
}

impl Hash for Time {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.micros.hash(h);
    }
}

#[cfg(test)]
mod tests;
