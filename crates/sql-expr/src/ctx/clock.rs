//! The times an expression sees: the statement's, and the clock's for SYSDATE(). Never the machine's own clock.

use std::sync::Arc;

use base::Clock;
use types::temporal::DateTime;

use super::EvalCtx;

/// The clock that SYSDATE() reads; none in tests, where it gives the statement's time.
#[derive(Clone, Default)]
pub struct WallClock(pub Option<Arc<dyn Clock>>);

impl std::fmt::Debug for WallClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("clock")
    }
}

impl EvalCtx<'_> {
    /// The statement's time in the session's zone, with `fsp` digits of fraction.
    pub fn now(&self, fsp: u8) -> DateTime {
        let local = self.now_micros + i64::from(self.tz_offset) * 1_000_000;
        DateTime::from_unix_micros(local, 6).map_or(DateTime::ZERO, |d| d.truncate(fsp))
    }

    /// The time of the clock in the session's zone, which goes on while a statement runs.
    pub fn wall_now(&self, fsp: u8) -> DateTime {
        let Some(clock) = &self.facts.clock.0 else {
            return self.now(fsp);
        };
        let local = clock.wall_us() + i64::from(self.tz_offset) * 1_000_000;
        DateTime::from_unix_micros(local, 6).map_or(DateTime::ZERO, |d| d.truncate(fsp))
    }

    /// The statement's time in UTC, with `fsp` digits of fraction.
    pub fn utc_now(&self, fsp: u8) -> DateTime {
        DateTime::from_unix_micros(self.now_micros, 6).map_or(DateTime::ZERO, |d| d.truncate(fsp))
    }
}
