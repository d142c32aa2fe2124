//! Waiting for something other than a row: with a timeout and KILL as further ends.

use super::Session;
use base::{Event, environment};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use types::SqlError;

impl Session {
    /// As [`wait_unless_killed`](Self::wait_unless_killed), but for so long at most; false where it was not ready then.
    pub(crate) async fn wait_at_most(
        &self,
        event: &Event,
        us: u64,
        mut ready: impl FnMut() -> bool,
    ) -> Result<bool, SqlError> {
        let clock = &self.engine.environment().clock;
        let timer = environment::deadline(&**clock, clock.now_us().saturating_add(us));
        let mut timer = pin!(timer);
        poll_fn(|cx| {
            event.park(cx);
            self.interrupt.event.park(cx);
            if ready() {
                return Poll::Ready(Ok(true));
            }
            if let Err(e) = self.interrupt.check() {
                return Poll::Ready(Err(e));
            }
            timer.as_mut().poll(cx).map(|()| Ok(ready()))
        })
        .await
    }

    /// Waits until `ready`, which `event` announces; 1205 after the session's timeout for tables, 1317 when killed, 3024 when its time is over.
    pub(crate) async fn wait_unless_killed(
        &self,
        event: &Event,
        mut ready: impl FnMut() -> bool,
    ) -> Result<(), SqlError> {
        let clock = &self.engine.environment().clock;
        let timer = environment::deadline(
            &**clock,
            clock.now_us().saturating_add(self.table_timeout_us),
        );
        let mut timer = pin!(timer);
        poll_fn(|cx| {
            event.park(cx);
            self.interrupt.event.park(cx);
            if ready() {
                return Poll::Ready(Ok(()));
            }
            if let Err(e) = self.interrupt.check() {
                return Poll::Ready(Err(e));
            }
            timer
                .as_mut()
                .poll(cx)
                .map(|()| Err(self.engine.timed_out()))
        })
        .await
    }
}
