//! Time zones with a fixed offset. Named zones with transitions are not known here.

use std::fmt;

/// A session's time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimeZone {
    /// `SYSTEM`: this server runs in UTC.
    #[default]
    System,
    /// `UTC`, by name.
    Utc,
    /// `+hh:mm` or `-hh:mm`: seconds east of UTC.
    Offset(i32),
}

impl TimeZone {
    /// `SYSTEM`, `UTC` or an offset from `-13:59` to `+14:00`; `None` is MySQL's error 1298.
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
            _ => return None,
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

    /// Seconds to add to UTC.
    #[inline]
    pub fn offset(self) -> i64 {
        match self {
            TimeZone::Offset(s) => i64::from(s),
            _ => 0,
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
        }
    }
}
