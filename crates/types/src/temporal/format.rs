//! DATE_FORMAT, TIME_FORMAT and STR_TO_DATE; what STR_TO_DATE reads is English in every locale.

use super::calendar::{days_in_month, from_days, week, year_week};
use super::locale::{ENGLISH, Locale};
use super::scan::{Scan, two_digit_year};
use super::text::pair;
use super::{Date, DateTime, MICROS, Time};

impl Date {
    /// Of the names of twelve months, its own; `None` if the month is zero.
    pub fn of_months(self, names: &[&'static str; 12]) -> Option<&'static str> {
        names
            .get(usize::from(self.month()).checked_sub(1)?)
            .copied()
    }

    /// Of the names of seven days from Monday, its own.
    pub fn of_days(self, names: &[&'static str; 7]) -> &'static str {
        names[usize::from(self.weekday() % 7)]
    }
}

fn number(v: u32, width: usize, out: &mut Vec<u8>) {
    if width == 2 && v < 100 {
        out.extend_from_slice(&pair(v));
        return;
    }
    out.extend_from_slice(format!("{v:0width$}").as_bytes());
}

fn suffix(day: u8) -> &'static [u8] {
    match (day / 10, day % 10) {
        (1, _) => b"th",
        (_, 1) => b"st",
        (_, 2) => b"nd",
        (_, 3) => b"rd",
        _ => b"th",
    }
}

/// The twelve-hour clock.
fn hour12(h: u32) -> u32 {
    (h + 11) % 12 + 1
}

fn meridiem(h: u32) -> &'static [u8] {
    if h % 24 < 12 { b"AM" } else { b"PM" }
}

/// Formats the specifiers that concern the time of day; `false` for others.
fn time_specifier(spec: u8, h: u32, m: u8, s: u8, micros: u32, out: &mut Vec<u8>) -> bool {
    let hms = |hour: u32, out: &mut Vec<u8>| {
        number(hour, 2, out);
        out.push(b':');
        number(m.into(), 2, out);
        out.push(b':');
        number(s.into(), 2, out);
    };
    match spec {
        b'H' => number(h, 2, out),
        b'k' => number(h, 1, out),
        b'h' | b'I' => number(hour12(h), 2, out),
        b'l' => number(hour12(h), 1, out),
        b'i' => number(m.into(), 2, out),
        b's' | b'S' => number(s.into(), 2, out),
        b'f' => number(micros, 6, out),
        b'p' => out.extend_from_slice(meridiem(h)),
        b'T' => hms(h, out),
        b'r' => {
            hms(hour12(h), out);
            out.push(b' ');
            out.extend_from_slice(meridiem(h));
        }
        _ => return false,
    }
    true
}

/// DATE_FORMAT; `false` means NULL (a name was asked of a zero month or date). The names are those of `locale`; `name` adds one to what is
/// there, in the character set of the result.
pub fn date_format(
    v: DateTime,
    format: &[u8],
    locale: &Locale,
    name: impl Fn(&'static str, &mut Vec<u8>),
    out: &mut Vec<u8>,
) -> bool {
    let d = v.date();
    let mut f = format.iter().copied();
    while let Some(b) = f.next() {
        if b != b'%' {
            out.push(b);
            continue;
        }
        let Some(spec) = f.next() else {
            out.push(b'%');
            break;
        };
        let weekly = |mode: u8, out: &mut Vec<u8>| number(week(d, mode).into(), 2, out);
        match spec {
            b'Y' => number(d.year().into(), 4, out),
            b'y' => number(u32::from(d.year()) % 100, 2, out),
            b'm' => number(d.month().into(), 2, out),
            b'c' => number(d.month().into(), 1, out),
            b'd' => number(d.day().into(), 2, out),
            b'e' => number(d.day().into(), 1, out),
            b'D' => {
                number(d.day().into(), 1, out);
                out.extend_from_slice(suffix(d.day()));
            }
            b'M' | b'b' => {
                let names = match spec {
                    b'M' => locale.months(),
                    _ => locale.short_months(),
                };
                match d.of_months(names) {
                    Some(n) => name(n, out),
                    None => return false,
                }
            }
            b'W' | b'a' | b'w' if d.is_zero() => return false,
            b'W' => name(d.of_days(locale.days()), out),
            b'a' => name(d.of_days(locale.short_days()), out),
            b'w' => number(u32::from(d.weekday() + 1) % 7, 1, out),
            b'j' => number(
                if d.is_zero() {
                    0
                } else {
                    d.day_of_year().into()
                },
                3,
                out,
            ),
            b'U' => weekly(0, out),
            b'u' => weekly(1, out),
            b'V' => number(year_week(d, 2).1.into(), 2, out),
            b'v' => number(year_week(d, 3).1.into(), 2, out),
            b'X' => number(year_week(d, 2).0.into(), 4, out),
            b'x' => number(year_week(d, 3).0.into(), 4, out),
            _ => {
                if !time_specifier(
                    spec,
                    v.hour().into(),
                    v.minute(),
                    v.second(),
                    v.micros(),
                    out,
                ) {
                    out.push(spec);
                }
            }
        }
    }
    true
}

/// TIME_FORMAT: date specifiers give zeros or nothing. `false` means NULL.
pub fn time_format(t: Time, format: &[u8], out: &mut Vec<u8>) -> bool {
    if t.is_negative() {
        out.push(b'-');
    }
    let mut f = format.iter().copied();
    while let Some(b) = f.next() {
        if b != b'%' {
            out.push(b);
            continue;
        }
        let Some(spec) = f.next() else {
            out.push(b'%');
            break;
        };
        if time_specifier(spec, t.hours(), t.minutes(), t.seconds(), t.micros(), out) {
            continue;
        }
        match spec {
            b'Y' => out.extend_from_slice(b"0000"),
            b'y' | b'm' | b'd' => out.extend_from_slice(b"00"),
            b'c' | b'e' => out.push(b'0'),
            b'M' | b'b' | b'W' | b'a' | b'w' | b'j' | b'D' | b'U' | b'u' | b'V' | b'v' | b'X'
            | b'x' => return false,
            other => out.push(other),
        }
    }
    true
}

/// What STR_TO_DATE collects before it becomes a date.
#[derive(Default)]
struct Collected {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    micros: u32,
    pm: Option<bool>,
    twelve: bool,
    day_of_year: Option<u64>,
    week: Option<(u64, u8)>,
    week_year: Option<u64>,
    weekday: Option<u64>,
    date: bool,
    time: bool,
}

/// What STR_TO_DATE gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrToDate {
    /// The format had only date parts.
    Date(Date),
    /// The format had only time parts.
    Time(Time),
    /// It had both.
    DateTime(DateTime),
}

/// STR_TO_DATE: `None` when text and format do not match or the result is no date. The flag tells that text was left over.
pub fn str_to_date(text: &[u8], format: &[u8]) -> Option<(StrToDate, bool)> {
    let mut s = Scan::new(text);
    let mut c = Collected::default();
    collect(&mut s, format, &mut c)?;
    let truncated = !s.at_end();
    if c.twelve {
        if !(1..=12).contains(&c.hour) {
            return None;
        }
        c.hour = c.hour % 12 + if c.pm == Some(true) { 12 } else { 0 };
    }
    if c.hour > 23 || c.minute > 59 || c.second > 59 {
        return None;
    }
    let time = Time::from_parts(
        false,
        c.hour as u32,
        c.minute as u8,
        c.second as u8,
        c.micros,
        if c.micros > 0 { 6 } else { 0 },
    );
    if c.time && !c.date {
        return Some((StrToDate::Time(time), truncated));
    }
    let date = collected_date(&c)?;
    if !c.time {
        return Some((StrToDate::Date(date), truncated));
    }
    let v = DateTime::from_parts(date, c.hour as u8, c.minute as u8, c.second as u8, c.micros)
        .with_fsp(time.fsp());
    Some((StrToDate::DateTime(v), truncated))
}

fn collected_date(c: &Collected) -> Option<Date> {
    if let Some(n) = c.day_of_year {
        let first = Date::new(u16::try_from(c.year).ok()?, 1, 1)?;
        return from_days(first.to_days() + i64::try_from(n).ok()? - 1);
    }
    if let (Some((week, mode)), Some(weekday)) = (c.week, c.weekday) {
        let year = u16::try_from(c.week_year.unwrap_or(c.year)).ok()?;
        let first = Date::new(year, 1, 1)?;
        let monday = mode & 1 != 0;
        let start = i64::from(if monday {
            first.weekday()
        } else {
            (first.weekday() + 1) % 7
        });
        let offset = if monday { (weekday + 6) % 7 } else { weekday } as i64;
        // Week 1 is the one that holds 4 January when weeks start on Monday, the first Sunday otherwise.
        let full = if monday { start < 4 } else { start == 0 };
        let skip = if full { 0 } else { 7 };
        let base = first.to_days() - start + skip;
        return from_days(base + (week as i64 - 1) * 7 + offset);
    }
    if c.year > 9999 || c.month > 12 || c.day > 31 {
        return None;
    }
    let (y, m, d) = (c.year as u16, c.month as u8, c.day as u8);
    (m == 0 || d <= days_in_month(y, m)).then(|| Date::from_parts(y, m, d))
}

/// One of `names` (or its first three letters when `short`) at the cursor, any case; its index.
fn name(s: &mut Scan<'_>, names: &[&str], short: bool) -> Option<u64> {
    let i = names.iter().position(|n| {
        let n = if short { &n[..3] } else { n };
        s.rest
            .get(..n.len())
            .is_some_and(|h| h.eq_ignore_ascii_case(n.as_bytes()))
    })?;
    s.rest = &s.rest[if short { 3 } else { names[i].len() }..];
    Some(i as u64)
}

fn collect(s: &mut Scan<'_>, format: &[u8], c: &mut Collected) -> Option<()> {
    let mut f = format.iter().copied();
    // What the format has behind the end of the text asks for nothing.
    while let Some(b) = f.next() {
        if s.rest.is_empty() {
            break;
        }
        if b.is_ascii_whitespace() {
            s.spaces();
            continue;
        }
        if b != b'%' {
            s.spaces();
            if !s.eat(b) {
                return None;
            }
            continue;
        }
        let spec = f.next()?;
        s.spaces();
        if s.rest.is_empty() {
            break;
        }
        specifier(s, spec, c)?;
    }
    Some(())
}

fn specifier(s: &mut Scan<'_>, spec: u8, c: &mut Collected) -> Option<()> {
    match spec {
        b'Y' => {
            let (v, n) = s.digits(4)?;
            c.year = if n <= 2 { two_digit_year(v) } else { v };
        }
        b'y' => c.year = two_digit_year(s.digits(2)?.0),
        b'm' | b'c' => c.month = s.digits(2)?.0,
        b'M' => c.month = name(s, ENGLISH.months(), false)? + 1,
        b'b' => c.month = name(s, ENGLISH.months(), true)? + 1,
        b'd' | b'e' => c.day = s.digits(2)?.0,
        b'D' => {
            c.day = s.digits(2)?.0;
            s.rest = s.rest.get(2..)?;
        }
        b'H' | b'k' => c.hour = s.digits(2)?.0,
        b'h' | b'I' | b'l' => {
            c.hour = s.digits(2)?.0;
            c.twelve = true;
        }
        b'i' => c.minute = s.digits(2)?.0,
        b's' | b'S' => c.second = s.digits(2)?.0,
        b'f' => {
            let six = s.run().min(6);
            let mut head = Scan {
                rest: &s.rest[..six],
            };
            c.micros = head.fraction().0;
            s.rest = &s.rest[six..];
        }
        b'p' => {
            // As in MySQL: half days of hours up to twelve that came before.
            let head = s.rest.get(..2).filter(|_| c.twelve)?;
            c.pm = Some(match head.to_ascii_uppercase().as_slice() {
                b"AM" => false,
                b"PM" => true,
                _ => return None,
            });
            s.rest = &s.rest[2..];
        }
        b'T' => collect(s, b"%H:%i:%S", c)?,
        b'r' => collect(s, b"%I:%i:%S %p", c)?,
        b'j' => c.day_of_year = Some(s.digits(3)?.0),
        b'W' => c.weekday = Some((name(s, ENGLISH.days(), false)? + 1) % 7),
        b'a' => c.weekday = Some((name(s, ENGLISH.days(), true)? + 1) % 7),
        b'w' => c.weekday = Some(s.digits(1)?.0).filter(|&w| w < 7),
        b'U' | b'V' => c.week = Some((s.digits(2)?.0, 0)),
        b'u' | b'v' => c.week = Some((s.digits(2)?.0, 1)),
        b'X' | b'x' => c.week_year = Some(s.digits(4)?.0),
        b'%' => {
            if !s.eat(b'%') {
                return None;
            }
        }
        b'.' => skip_while(s, |b| b.is_ascii_punctuation()),
        b'@' => skip_while(s, |b| b.is_ascii_alphabetic()),
        b'#' => skip_while(s, |b| b.is_ascii_digit()),
        _ => return None,
    }
    match spec {
        b'H' | b'k' | b'h' | b'I' | b'l' | b'i' | b's' | b'S' | b'f' | b'p' | b'T' | b'r' => {
            c.time = true;
        }
        b'%' | b'.' | b'@' | b'#' => {}
        _ => c.date = true,
    }
    Some(())
}

fn skip_while(s: &mut Scan<'_>, skip: fn(&u8) -> bool) {
    let n = s.rest.iter().take_while(|b| skip(b)).count();
    s.rest = &s.rest[n..];
}

/// SEC_TO_TIME and friends: a duration from whole seconds, clamped.
pub fn seconds_to_time(seconds: i64) -> Time {
    Time::from_micros(seconds.saturating_mul(MICROS), 0)
}
