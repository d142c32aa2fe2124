//! The values of `time_zone`: SYSTEM, UTC and an offset. Named zones with daylight saving are refused with 1298, as
//! MySQL does before its tables are loaded. Parsing is `types::temporal`'s; here SYSTEM gets the server's own offset.

use std::fmt;

/// A session's time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeZone(types::temporal::TimeZone);

impl TimeZone {
    /// The server's own zone.
    pub const SYSTEM: TimeZone = TimeZone(types::temporal::TimeZone::System);

    /// Reads what SET time_zone accepts; `None` for an unknown zone.
    pub fn parse(text: &str) -> Option<TimeZone> {
        types::temporal::TimeZone::parse(text).map(TimeZone)
    }

    /// Seconds east of UTC, given the server's own offset.
    pub fn offset(self, system: i32) -> i32 {
        match self.0 {
            types::temporal::TimeZone::System => system,
            types::temporal::TimeZone::Utc => 0,
            types::temporal::TimeZone::Offset(s) => s,
        }
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
