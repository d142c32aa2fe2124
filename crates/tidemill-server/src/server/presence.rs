//! Statements that wait for others (locks of rows and tables, named locks, SLEEP) end when their client has gone: what its transaction has locked
//! keeps nobody up then. As in MySQL, what computes goes on, and is found out when it answers.
//!
//! Must never do: read from the client; cost anything where a statement waits for nobody.

use std::future::{Future, poll_fn};
use std::os::fd::RawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use base::Clock;
use base::environment::deadline;
use base::real::has_hung_up;
use engine::Interrupt;

/// Time between two looks, in microseconds.
const LOOK_US: u64 = 500_000;

/// Runs a statement. `socket` is the client's, and stays open meanwhile.
pub(super) async fn while_present<T>(
    socket: RawFd,
    interrupt: &Arc<Interrupt>,
    clock: &dyn Clock,
    mut statement: Pin<&mut impl Future<Output = T>>,
) -> T {
    let mut alarm = None;
    poll_fn(|cx| {
        if let Poll::Ready(done) = statement.as_mut().poll(cx) {
            return Poll::Ready(done);
        }
        if !interrupt.waits_for_others() {
            alarm = None;
            return Poll::Pending;
        }
        loop {
            let next = || deadline(clock, clock.now_us().saturating_add(LOOK_US));
            let look = alarm.get_or_insert_with(next);
            if Pin::new(look).poll(cx).is_pending() {
                return Poll::Pending;
            }
            alarm = None;
            if has_hung_up(socket) && !base::mutant!("client-that-has-gone-not-seen") {
                // The statement wakes, and ends.
                interrupt.kill_connection();
                return Poll::Pending;
            }
        }
    })
    .await
}
