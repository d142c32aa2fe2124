//! Temporal values from text and numbers with all of MySQL's leniency: any punctuation between parts, two-digit years, digits
//! without delimiters, trailing text.
//!
//! A parser here accepts zero parts; sql_mode's NO_ZERO_DATE and NO_ZERO_IN_DATE are applied by assignment conversion.

use super::calendar::days_in_month;
use super::scan::{Scan, two_digit_year};
use super::{Date, DateTime, MICROS, TIME_MAX_MICROS, Time};

/// What [`DateTime::parse`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedTemporal {
    /// The value; its fsp is the number of fraction digits given.
    pub value: DateTime,
    /// A time of day was given.
    pub has_time: bool,
    /// Text was left over: a warning 1292 or 1265 at the caller's choice.
    pub truncated: bool,
    /// Zone offset given after the time (`+05:30`), in seconds; the value is not shifted by it.
    pub offset: Option<i32>,
}

/// What [`Time::parse`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedTime {
    /// The value; its fsp is the number of fraction digits given.
    pub value: Time,
    /// Text was left over.
    pub truncated: bool,
    /// The value was outside ±838:59:59 and has been clamped.
    pub clamped: bool,
}

/// Which days a month has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Days {
    /// Those of the calendar.
    Real,
    /// 31, as ALLOW_INVALID_DATES has it.
    Any,
}

/// Parts of a date and time before they are checked.
#[derive(Default)]
struct Parts {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    micros: u32,
    fsp: u8,
    round_up: bool,
}

impl Parts {
    fn build(&self, days: Days) -> Option<DateTime> {
        if self.year > 9999
            || self.month > 12
            || self.day > 31
            || self.hour > 23
            || self.minute > 59
            || self.second > 59
        {
            return None;
        }
        let (y, m, d) = (self.year as u16, self.month as u8, self.day as u8);
        if days == Days::Real && m != 0 && d > days_in_month(y, m) {
            return None;
        }
        // Zero year with other parts is a date; zero month or day are left to sql_mode.
        let v = DateTime::from_parts(
            Date::from_parts(y, m, d),
            self.hour as u8,
            self.minute as u8,
            self.second as u8,
            self.micros,
        )
        .with_fsp(self.fsp);
        if !self.round_up {
            return Some(v);
        }
        if self.micros < 999_999 {
            return Some(DateTime::from_packed(v.packed() + 1, self.fsp));
        }
        DateTime::from_linear(v.to_linear()? + 1, self.fsp)
    }
}

impl DateTime {
    /// Reads a date with an optional time of day. `None` if the text is no date (MySQL's "Incorrect datetime value").
    pub fn parse(text: &[u8]) -> Option<ParsedTemporal> {
        Self::parse_with(text, Days::Real)
    }

    /// As [`parse`](Self::parse), with the days that a month may have.
    pub fn parse_with(text: &[u8], days: Days) -> Option<ParsedTemporal> {
        let mut s = Scan::new(text);
        let run = s.run();
        if run == 0 {
            return None;
        }
        // Digits (and a T) up to the end or a fraction, trailing spaces aside: no delimiters.
        let head = s
            .rest
            .iter()
            .take_while(|b| b.is_ascii_digit() || matches!(b, b'T' | b't'))
            .count();
        let compact = s.rest.get(head) == Some(&b'.')
            || Scan {
                rest: &s.rest[head..],
            }
            .at_end();
        let mut p = Parts::default();
        let has_time = if compact {
            Self::compact(&mut s, head, &mut p)?
        } else {
            Self::delimited(&mut s, &mut p)?
        };
        let offset = if has_time { parse_offset(&mut s) } else { None };
        Some(ParsedTemporal {
            value: p.build(days)?,
            has_time,
            truncated: !s.at_end(),
            offset,
        })
    }

    /// Fields of two digits, which delimiters may part: YYMMDD, YYYYMMDD, and both with hhmmss. The year has four digits where the first
    /// piece of text (`head` characters up to a point or the end) has 4, 8, 14 or more.
    fn compact(s: &mut Scan<'_>, head: usize, p: &mut Parts) -> Option<bool> {
        let long = matches!(head, 4 | 8) || head >= 14;
        p.year = s.digits(if long { 4 } else { 2 })?.0;
        let mut fields = [0u64; 5];
        let mut n = 0;
        while n < 5 {
            let part = n == 2 && (s.eat(b'T') || s.eat(b't'));
            if !part {
                between(s, n == 2)?;
            }
            let Some((v, _)) = s.digits(2) else { break };
            fields[n] = v;
            n += 1;
        }
        [p.month, p.day, p.hour, p.minute, p.second] = fields;
        if n < 2 {
            return None;
        }
        if !long && (p.year != 0 || fields != [0; 5]) {
            p.year = two_digit_year(p.year);
        }
        if n == 5 && s.eat(b'.') {
            (p.micros, p.fsp, p.round_up) = s.fraction();
        }
        Some(n > 2)
    }

    fn delimited(s: &mut Scan<'_>, p: &mut Parts) -> Option<bool> {
        let (y, n) = s.digits(usize::MAX)?;
        p.year = y;
        if !punctuation(s) {
            return None;
        }
        p.month = s.digits(usize::MAX)?.0;
        if !punctuation(s) {
            return None;
        }
        p.day = s.digits(usize::MAX)?.0;
        let mut t = *s;
        let separated = t.eat(b'T') || t.eat(b't') || t.spaces() || punctuation(&mut t);
        let has_time = separated && t.peek().is_some_and(|b| b.is_ascii_digit());
        if has_time {
            *s = t;
            Self::time_of_day(s, p);
        }
        // Two digits are a year of 1970-2069, unless all is zero; one or three are that very year.
        let zero = y | p.month | p.day | p.hour | p.minute | p.second == 0;
        if n == 2 && !zero {
            p.year = two_digit_year(y);
        }
        Some(has_time)
    }

    /// `hh[:mm[:ss[.ffffff]]]`; stops where the text stops fitting.
    fn time_of_day(s: &mut Scan<'_>, p: &mut Parts) {
        let mut fields = [0u64; 3];
        for (i, field) in fields.iter_mut().enumerate() {
            let mut t = *s;
            if i > 0 && !punctuation(&mut t) {
                break;
            }
            let Some((v, _)) = t.digits(usize::MAX) else {
                break;
            };
            *field = v;
            *s = t;
            if i == 2 && s.eat(b'.') {
                (p.micros, p.fsp, p.round_up) = s.fraction();
            }
        }
        [p.hour, p.minute, p.second] = fields;
    }

    /// From a number such as 20240131, 240131, 20240131103000 or 240131103000; 0 is the zero date. `None` if it is no date.
    /// The flag says whether the number had a time of day.
    pub fn from_number(n: i64) -> Option<(DateTime, bool)> {
        Self::from_number_with(n, Days::Real)
    }

    /// As [`from_number`](Self::from_number), with the days that a month may have.
    pub fn from_number_with(n: i64, days: Days) -> Option<(DateTime, bool)> {
        if n == 0 {
            return Some((DateTime::ZERO, false));
        }
        let (n, has_time) = match n {
            101..=691_231 => ((n + 20_000_000) * 1_000_000, false),
            700_101..=991_231 => ((n + 19_000_000) * 1_000_000, false),
            1_000_101..=99_991_231 => (n * 1_000_000, false),
            101_000_000..=691_231_235_959 => (n + 20_000_000_000_000, true),
            700_101_000_000..=991_231_235_959 => (n + 19_000_000_000_000, true),
            1_000_101_000_000..=99_991_231_235_959 => (n, true),
            _ => return None,
        };
        let (d, t) = ((n / 1_000_000) as u64, (n % 1_000_000) as u64);
        let parts = Parts {
            year: d / 10_000,
            month: d / 100 % 100,
            day: d % 100,
            hour: t / 10_000,
            minute: t / 100 % 100,
            second: t % 100,
            ..Parts::default()
        };
        Some((parts.build(days)?, has_time))
    }
}

/// Skips one or more punctuation characters; whether there was any.
/// Skips what parts two fields: punctuation, and behind a day (`spaces`) white space. `None` for white space elsewhere, unless nothing
/// follows it.
fn between(s: &mut Scan<'_>, spaces: bool) -> Option<()> {
    while let Some(b) = s.peek() {
        if b.is_ascii_whitespace() {
            if !spaces && !s.at_end() {
                return None;
            }
        } else if !b.is_ascii_punctuation() {
            break;
        }
        s.rest = &s.rest[1..];
    }
    Some(())
}

fn punctuation(s: &mut Scan<'_>) -> bool {
    let n = s
        .rest
        .iter()
        .take_while(|b| b.is_ascii_punctuation())
        .count();
    s.rest = &s.rest[n..];
    n > 0
}

/// `+hh:mm` or `-hh:mm` right at the cursor.
fn parse_offset(s: &mut Scan<'_>) -> Option<i32> {
    let mut t = *s;
    let sign = match t.peek()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    t.rest = &t.rest[1..];
    let (h, n) = t.digits(2)?;
    let colon = t.eat(b':');
    let (m, k) = t.digits(2)?;
    if n != 2 || k != 2 || !colon || m > 59 || h > 14 || (h == 14 && m > 0) {
        return None;
    }
    *s = t;
    Some(sign * (h as i32 * 3600 + m as i32 * 60))
}

/// The length of text from which on it may be a date and time.
const FULL: usize = 12;

impl Time {
    /// Reads `[-][days ]hh:mm[:ss[.ffffff]]`, `[-]hhmmss[.ffffff]`, or a date and time of twelve characters at least (whose time of
    /// day counts). A date alone is read as a time: `2000-01-01` is `00:20:00` with text left over. `None` if the text is no time.
    pub fn parse(text: &[u8]) -> Option<ParsedTime> {
        let mut s = Scan::new(text);
        let neg = s.eat(b'-');
        if !neg && s.rest.len() >= FULL && looks_like_datetime(s.rest) {
            let d = DateTime::parse(s.rest)?;
            if d.has_time {
                return Some(ParsedTime {
                    value: d.value.time(),
                    truncated: d.truncated,
                    clamped: false,
                });
            }
        }
        let digits = s.rest;
        let (first, n) = s.digits(usize::MAX)?;
        let mut hms = [0u64; 3];
        let mut t = s;
        let mut days = 0;
        if t.spaces() && t.run() > 0 {
            days = first;
            s = t;
            hms[0] = s.digits(usize::MAX)?.0;
            Self::rest_of_time(&mut s, &mut hms);
        } else if s.peek() == Some(b':') {
            hms[0] = first;
            Self::rest_of_time(&mut s, &mut hms);
        } else if n >= FULL
            && !neg
            && let Some(d) = DateTime::parse(digits)
            && d.has_time
        {
            return Some(ParsedTime {
                value: d.value.time(),
                truncated: d.truncated,
                clamped: false,
            });
        } else {
            if first > u64::from(u32::MAX) {
                return None;
            }
            hms = [first / 10_000, first / 100 % 100, first % 100];
        }
        let (mut micros, mut fsp, mut up) = (0, 0, false);
        if s.eat(b'.') {
            (micros, fsp, up) = s.fraction();
        }
        if hms[1] > 59 || hms[2] > 59 || is_exponent(s.rest) {
            return None;
        }
        let hours = days
            .saturating_mul(24)
            .saturating_add(hms[0])
            .min(10_000_000) as i64;
        let total = (hours * 3600 + hms[1] as i64 * 60 + hms[2] as i64) * MICROS
            + i64::from(micros)
            + i64::from(up);
        Some(ParsedTime {
            value: Time::from_micros(if neg { -total } else { total }, fsp),
            truncated: !s.at_end(),
            clamped: total > TIME_MAX_MICROS,
        })
    }

    fn rest_of_time(s: &mut Scan<'_>, hms: &mut [u64; 3]) {
        for slot in hms.iter_mut().skip(1) {
            let mut t = *s;
            if !t.eat(b':') {
                return;
            }
            let Some((v, _)) = t.digits(2) else { return };
            *slot = v;
            *s = t;
        }
    }

    /// From a number `hhmmss` (negative allowed) or a date-time number of at least 14 digits' size. The flag tells that
    /// the value was clamped; `None` if minutes or seconds exceed 59.
    pub fn from_number(n: i64) -> Option<(Time, bool)> {
        let abs = n.unsigned_abs();
        if abs > 8_385_959 {
            if n >= 10_000_000_000
                && let Some((d, _)) = DateTime::from_number(n)
            {
                return Some((d.time(), false));
            }
            let limit = if n < 0 {
                -TIME_MAX_MICROS
            } else {
                TIME_MAX_MICROS
            };
            return Some((Time::from_micros(limit, 0), true));
        }
        let (h, m, s) = (abs / 10_000, abs / 100 % 100, abs % 100);
        if m > 59 || s > 59 {
            return None;
        }
        Some((
            Time::from_parts(n < 0, h as u32, m as u8, s as u8, 0, 0),
            false,
        ))
    }
}

/// The exponent of a number in floating point, which is no time although it begins like one.
fn is_exponent(s: &[u8]) -> bool {
    match s {
        [b'e' | b'E', b'+' | b'-', d, ..] | [b'e' | b'E', d, ..] => d.is_ascii_digit(),
        _ => false,
    }
}

/// A digit run, punctuation other than `:` and `.`, and digits again: the text is a date.
fn looks_like_datetime(s: &[u8]) -> bool {
    let n = s.iter().take_while(|b| b.is_ascii_digit()).count();
    match s.get(n) {
        Some(b':' | b'.') | None => false,
        Some(b'T' | b't') => n >= 6,
        Some(c) => c.is_ascii_punctuation() && s.get(n + 1).is_some_and(u8::is_ascii_digit),
    }
}
