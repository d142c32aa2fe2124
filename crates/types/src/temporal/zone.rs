//! Time zones: a session's setting ([`TimeZone`]), and the rule behind it, by which times are brought from UTC and to it ([`Zone`]).
//!
//! Named zones are those of the system's database (`/usr/share/zoneinfo`), or of the one that is compiled in where there is none. They are
//! known at once: no table is to be loaded, as MySQL wants it.
//!
//! What a local time means that a zone does not have, or has twice, is MySQL's: when clocks are put forward it is the moment at which that is
//! done, and when they are put back it is the first of the two.

use super::DateTime;
use base::lock::Mutex;
use jiff::tz::{AmbiguousOffset, Offset};
use std::collections::BTreeMap;
use std::fmt;

/// A session's time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeZone {
    /// `SYSTEM`: that of the machine.
    #[default]
    System,
    /// `UTC`, by name.
    Utc,
    /// `+hh:mm` or `-hh:mm`: seconds east of UTC.
    Offset(i32),
    /// One that has a name, such as `Europe/Berlin`.
    Named(&'static NamedZone),
}

/// A zone of the database of time zones.
pub struct NamedZone {
    name: Box<str>,
    rules: jiff::tz::TimeZone,
}

/// How local times follow from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Always so many seconds east of UTC.
    Fixed(i32),
    /// By the rules of a zone.
    Named(&'static NamedZone),
}

/// What a local time is in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Universal {
    /// This.
    Once(DateTime),
    /// This and a later one: clocks were put back.
    Twice(DateTime),
    /// Nothing: clocks were put forward, at this moment.
    Never(DateTime),
}

impl Universal {
    /// The one that MySQL takes.
    pub fn time(self) -> DateTime {
        match self {
            Universal::Once(d) | Universal::Twice(d) | Universal::Never(d) => d,
        }
    }
}

impl TimeZone {
    /// `SYSTEM`, `UTC`, an offset from `-13:59` to `+14:00`, or a name in any case; `None` is MySQL's error 1298.
    pub fn parse(text: &str) -> Option<TimeZone> {
        if text.eq_ignore_ascii_case("SYSTEM") {
            return Some(TimeZone::System);
        }
        if text.eq_ignore_ascii_case("UTC") {
            return Some(TimeZone::Utc);
        }
        let (sign, rest) = match text.as_bytes().first()? {
            b'+' => (1, &text[1..]),
            b'-' => (-1, &text[1..]),
            _ => return NamedZone::find(text).map(TimeZone::Named),
        };
        let (h, m) = rest.split_once(':')?;
        let number = |s: &str, len: std::ops::RangeInclusive<usize>| -> Option<i32> {
            (len.contains(&s.len()) && s.bytes().all(|b| b.is_ascii_digit()))
                .then(|| s.parse().ok())?
        };
        let (h, m) = (number(h, 1..=2)?, number(m, 2..=2)?);
        let secs = sign * (h * 3600 + m * 60);
        (m < 60 && (-(13 * 3600 + 59 * 60)..=14 * 3600).contains(&secs))
            .then_some(TimeZone::Offset(secs))
    }

    /// The rule, where that of the machine is `system`.
    #[inline]
    pub fn zone(self, system: Zone) -> Zone {
        match self {
            TimeZone::System => system,
            TimeZone::Utc => Zone::UTC,
            TimeZone::Offset(s) => Zone::Fixed(s),
            TimeZone::Named(z) => Zone::Named(z),
        }
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeZone::System => f.write_str("SYSTEM"),
            TimeZone::Utc => f.write_str("UTC"),
            TimeZone::Offset(s) => {
                let (sign, s) = (if *s < 0 { '-' } else { '+' }, s.abs());
                write!(f, "{sign}{:02}:{:02}", s / 3600, s / 60 % 60)
            }
            TimeZone::Named(z) => f.write_str(&z.name),
        }
    }
}

/// No zone has a longer name.
const NAME_MAX: usize = 64;

/// The zones that were asked for, by their names. There are some 600, and they stay.
static FOUND: Mutex<BTreeMap<Box<str>, &'static NamedZone>> = Mutex::new(BTreeMap::new());

/// The names of the zones that there are, in order.
pub fn time_zone_names() -> Vec<String> {
    let mut names: Vec<String> = jiff::tz::db()
        .available()
        .map(|name| name.to_string())
        .filter(|name| name != "Etc/Unknown")
        .collect();
    names.sort_unstable();
    names
}

impl NamedZone {
    fn find(name: &str) -> Option<&'static NamedZone> {
        // A name of the database, and no path out of it.
        let fits = |b: u8| b.is_ascii_alphanumeric() || b"/_+-".contains(&b);
        if name.len() > NAME_MAX || !name.bytes().all(fits) {
            return None;
        }
        let rules = jiff::tz::db().get(name).ok()?;
        let name = rules.iana_name()?;
        if rules.is_unknown() {
            return None;
        }
        Some(NamedZone::kept(name.into(), rules.clone()))
    }

    fn kept(name: Box<str>, rules: jiff::tz::TimeZone) -> &'static NamedZone {
        let mut found = FOUND.lock();
        found.entry(name.clone()).or_insert_with(|| {
            // Bounded by the number of zones that there are.
            Box::leak(Box::new(NamedZone { name, rules }))
        })
    }

    /// Seconds east of UTC at this second since 1970.
    fn offset_at(&self, unix: i64) -> i32 {
        jiff::Timestamp::from_second(unix).map_or(0, |t| self.rules.to_offset(t).seconds())
    }
}

impl fmt::Debug for NamedZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for NamedZone {
    fn eq(&self, other: &NamedZone) -> bool {
        self.name == other.name
    }
}

impl Eq for NamedZone {}

impl Default for Zone {
    fn default() -> Zone {
        Zone::UTC
    }
}

impl Zone {
    /// UTC itself.
    pub const UTC: Zone = Zone::Fixed(0);

    /// That of the machine and what it is called there today, such as `CET`; UTC where it says nothing.
    pub fn of_machine(now_micros: i64) -> (Zone, String) {
        let utc = (Zone::UTC, "UTC".to_owned());
        let (Ok(rules), Ok(now)) = (
            jiff::tz::TimeZone::try_system(),
            jiff::Timestamp::from_microsecond(now_micros),
        ) else {
            return utc;
        };
        if rules.is_unknown() {
            return utc;
        }
        let called = rules.to_offset_info(now).abbreviation().to_owned();
        let zone = match (rules.iana_name(), rules.to_fixed_offset()) {
            (_, Ok(fixed)) => Zone::Fixed(fixed.seconds()),
            (Some(name), _) => Zone::Named(NamedZone::kept(name.into(), rules.clone())),
            // Rules without a name, as `TZ=CET-1CEST` gives them.
            (None, _) => Zone::Named(NamedZone::kept(called.clone().into(), rules)),
        };
        (zone, called)
    }

    /// Local times are those of UTC.
    #[inline]
    pub fn is_utc(self) -> bool {
        self == Zone::UTC
    }

    /// Seconds east of UTC at this second since 1970.
    #[inline]
    pub fn offset_at(self, unix: i64) -> i32 {
        match self {
            Zone::Fixed(s) => s,
            Zone::Named(z) => z.offset_at(unix),
        }
    }

    /// The local time of microseconds since 1970, with six digits of fraction; `None` outside of the years 0 to 9999.
    pub fn local(self, unix_micros: i64) -> Option<DateTime> {
        self.to_local(DateTime::from_unix_micros(unix_micros, 6)?)
    }

    /// From UTC; `None` outside of the years 0 to 9999, and for dates with a zero part. The zero date stays.
    #[inline]
    pub fn to_local(self, utc: DateTime) -> Option<DateTime> {
        let offset = match self {
            Zone::Fixed(s) => s,
            Zone::Named(_) if utc.is_zero() => return Some(utc),
            Zone::Named(z) => z.offset_at(utc.to_unix_seconds()?),
        };
        utc.shift_seconds(i64::from(offset))
    }

    /// To UTC; `None` as for [`to_local`](Self::to_local).
    pub fn to_utc(self, local: DateTime) -> Option<Universal> {
        let z = match self {
            Zone::Fixed(s) => {
                return local.shift_seconds(-i64::from(s)).map(Universal::Once);
            }
            Zone::Named(_) if local.is_zero() => return Some(Universal::Once(local)),
            Zone::Named(z) => z,
        };
        let as_if = jiff::Timestamp::from_second(local.to_unix_seconds()?).ok()?;
        let clock = Offset::UTC.to_datetime(as_if);
        let at = |o: Offset| local.shift_seconds(-i64::from(o.seconds()));
        Some(match z.rules.to_ambiguous_timestamp(clock).offset() {
            AmbiguousOffset::Unambiguous { offset } => Universal::Once(at(offset)?),
            AmbiguousOffset::Fold { before, .. } => Universal::Twice(at(before)?),
            AmbiguousOffset::Gap { before, .. } => {
                let behind = at(before)?.to_unix_seconds()?;
                let behind = jiff::Timestamp::from_second(behind.saturating_add(1)).ok()?;
                let change = z.rules.preceding(behind).next()?.timestamp();
                let micros = change.as_microsecond();
                Universal::Never(DateTime::from_unix_micros(micros, local.fsp())?)
            }
        })
    }

    /// The local time of one that was written with its own offset from UTC, in seconds.
    pub fn from_offset(self, there: DateTime, offset: i32) -> Option<DateTime> {
        self.to_local(there.shift_seconds(-i64::from(offset))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        TimeZone::parse(name).unwrap().zone(Zone::UTC)
    }

    fn time(text: &str) -> DateTime {
        DateTime::parse(text.as_bytes()).unwrap().value
    }

    #[test]
    fn names_are_those_of_the_database_in_any_case() {
        for (text, shown) in [
            ("europe/berlin", "Europe/Berlin"),
            ("MET", "MET"),
            ("gmt", "GMT"),
            ("Etc/GMT+5", "Etc/GMT+5"),
            ("utc", "UTC"),
            ("system", "SYSTEM"),
        ] {
            assert_eq!(TimeZone::parse(text).unwrap().to_string(), shown);
        }
        let long = "x".repeat(1 << 20);
        for bad in [
            "Nowhere/City",
            "../../etc/passwd",
            "Europe",
            "Etc/Unknown",
            "",
            "Europe/Berlin\0",
            "Zürich",
            "CET-1CEST",
            &long,
        ] {
            assert_eq!(TimeZone::parse(bad), None, "{bad}");
        }
        assert_eq!(
            TimeZone::parse("Europe/Berlin"),
            TimeZone::parse("EUROPE/BERLIN")
        );
    }

    /// Held against MariaDB 10.11 with its tables loaded.
    #[test]
    fn clocks_that_are_put_forward_and_back() {
        let berlin = zone("Europe/Berlin");
        let unix = |text| {
            let u = berlin.to_utc(time(text)).unwrap();
            let once = matches!(u, Universal::Once(_));
            (u.time().to_unix_seconds().unwrap(), once)
        };
        assert_eq!(unix("2003-10-26 01:59:59"), (1_067_126_399, true));
        assert_eq!(unix("2003-10-26 02:00:00"), (1_067_126_400, false));
        assert_eq!(unix("2003-10-26 02:59:59"), (1_067_129_999, false));
        assert_eq!(unix("2003-10-26 03:00:00"), (1_067_133_600, true));
        assert_eq!(unix("2003-03-30 01:59:59"), (1_048_985_999, true));
        assert_eq!(unix("2003-03-30 02:00:00"), (1_048_986_000, false));
        assert_eq!(unix("2003-03-30 02:30:00"), (1_048_986_000, false));
        assert_eq!(unix("2003-03-30 03:00:00"), (1_048_986_000, true));
        for (unix, local) in [
            (1_067_126_400, "2003-10-26 02:00:00"),
            (1_067_130_000, "2003-10-26 02:00:00"),
            (1_048_985_999, "2003-03-30 01:59:59"),
            (1_048_986_000, "2003-03-30 03:00:00"),
            // Far ahead the last rule goes on.
            (32_503_680_000 - 86_400 * 184, "2999-07-01 02:00:00"),
        ] {
            assert_eq!(
                berlin.local(unix * 1_000_000).unwrap(),
                time(local),
                "{unix}"
            );
        }
    }

    #[test]
    fn what_is_no_moment_stays_or_has_none() {
        let berlin = zone("Europe/Berlin");
        assert_eq!(berlin.to_local(DateTime::ZERO), Some(DateTime::ZERO));
        assert_eq!(
            berlin.to_utc(DateTime::ZERO),
            Some(Universal::Once(DateTime::ZERO))
        );
        assert_eq!(
            zone("+14:00").to_local(time("9999-12-31 23:00:00")),
            None,
            "behind the last year"
        );
    }
}
