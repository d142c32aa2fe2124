//! Waiting for something other than a row: with a timeout and KILL as further ends.

use super::Session;
use base::{Event, environment};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use types::SqlError;

/// How far ahead a timer is set: the clock keeps it until then, also when the wait has long ended.
const LONGEST_TIMER_US: u64 = 60_000_000;

impl Session {
    /// The time, in microseconds of the environment's clock.
    pub(crate) fn now_us(&self) -> u64 {
        self.engine.environment().clock.now_us()
    }

    /// Waits until `ready`, which `event` announces, or the clock says so; false in the latter case. 1317 when killed, 3024 when its time is over.
    pub(crate) async fn wait_until(
        &self,
        event: &Event,
        until_us: u64,
        ready: impl FnMut() -> bool,
    ) -> Result<bool, SqlError> {
        self.wait_as(event, until_us, true, ready).await
    }

    /// The same whoever kills the session: for what must be brought to its end.
    pub(crate) async fn wait_until_whatever_comes(
        &self,
        event: &Event,
        until_us: u64,
        ready: impl FnMut() -> bool,
    ) -> Result<bool, SqlError> {
        self.wait_as(event, until_us, false, ready).await
    }

    async fn wait_as(
        &self,
        event: &Event,
        until_us: u64,
        killable: bool,
        mut ready: impl FnMut() -> bool,
    ) -> Result<bool, SqlError> {
        let clock = &self.engine.environment().clock;
        let interrupt = self.interrupt.clone();
        let _waiting = interrupt.waiting();
        loop {
            let at = until_us.min(clock.now_us().saturating_add(LONGEST_TIMER_US));
            let timer = environment::deadline(&**clock, at);
            let mut timer = pin!(timer);
            let is_ready = poll_fn(|cx| {
                event.park(cx);
                if killable {
                    self.interrupt.event.park(cx);
                }
                if ready() {
                    return Poll::Ready(Ok(true));
                }
                if killable && let Err(e) = self.interrupt.check() {
                    return Poll::Ready(Err(e));
                }
                timer.as_mut().poll(cx).map(|()| Ok(ready()))
            });
            let is_ready = is_ready.await?;
            if is_ready || at == until_us {
                return Ok(is_ready);
            }
        }
    }

    /// Waits until `ready`, which `event` announces; 1205 after the session's timeout for tables, 1317 when killed, 3024 when its time is over.
    pub(crate) async fn wait_unless_killed(
        &self,
        event: &Event,
        ready: impl FnMut() -> bool,
    ) -> Result<(), SqlError> {
        let until = self.now_us().saturating_add(self.table_timeout_us);
        match self.wait_until(event, until, ready).await? {
            true => Ok(()),
            false => Err(self.engine.timed_out()),
        }
    }
}
