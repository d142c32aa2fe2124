//! Whether a thread that serves many clients serves but one just now.
//!
//! A thread with many clients hands what takes long (a page to be read, a log to be synced) to somebody else and goes on with
//! the next of them. With a single client there is no next one: to hand it over is two threads woken for nothing, each of
//! which takes longer than what they do. So the thread waits itself then, as a thread of a server with one thread a client does.
//!
//! It is not enough to see that nothing else is under way: the other clients' requests may lie in their sockets. A thread counts
//! as alone with a client when the client's were its last few requests in a row, and gives up being so at the first of another.

use std::cell::Cell;

/// Requests of one client in a row after which its thread is taken to be alone with it.
const ROW: u32 = 8;

#[derive(Clone, Copy)]
struct State {
    /// Requests under way stay on the thread until they end.
    settled: bool,
    /// The thread works for one request, which began on another.
    lent: bool,
    /// Requests under way.
    in_hand: u32,
    /// Whose the last request was.
    client: u64,
    /// How many before that were the same client's.
    row: u32,
}

thread_local! {
    static STATE: Cell<State> = const {
        Cell::new(State {
            settled: false,
            lent: false,
            in_hand: 0,
            client: 0,
            row: 0,
        })
    };
}

/// A request under way, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct InHand {
    counted: bool,
}

/// Says of the calling thread that a request which begins on it ends on it. Without that it is never alone.
pub fn settle_requests() {
    STATE.set(State {
        settled: true,
        ..STATE.get()
    });
}

/// Says of the calling thread that it works for one request at a time, each of which has a thread of its own to begin and to end on.
pub fn lend_to_requests() {
    STATE.set(State {
        lent: true,
        ..STATE.get()
    });
}

impl InHand {
    /// A request of `client` begins on this thread.
    #[inline]
    pub fn of(client: u64) -> InHand {
        let mut s = STATE.get();
        if !s.settled {
            return InHand { counted: false };
        }
        s.row = match s.client == client {
            true => s.row.saturating_add(1),
            false => 0,
        };
        s.client = client;
        s.in_hand += 1;
        STATE.set(s);
        InHand { counted: true }
    }
}

impl Drop for InHand {
    #[inline]
    fn drop(&mut self) {
        if self.counted {
            let mut s = STATE.get();
            // A request that was cut off is dropped wherever it was.
            s.in_hand = s.in_hand.saturating_sub(1);
            STATE.set(s);
        }
    }
}

/// Whether the calling thread has a single client and works for it: then it may as well wait itself.
#[inline]
pub fn is_alone() -> bool {
    let s = STATE.get();
    s.lent || s.in_hand == 1 && s.row >= ROW
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(client: u64, n: u32) -> bool {
        (0..n).fold(false, |_, _| {
            let _one = InHand::of(client);
            is_alone()
        })
    }

    #[test]
    fn a_lent_thread_is_alone_and_takes_what_was_cut_off() {
        std::thread::scope(|s| {
            s.spawn(|| {
                settle_requests();
                let cut_off = InHand::of(7);
                let lent = s.spawn(move || {
                    assert!(!is_alone());
                    lend_to_requests();
                    assert!(is_alone());
                    drop(cut_off);
                    is_alone()
                });
                assert!(lent.join().unwrap());
                assert!(!is_alone(), "a single request of its client");
            });
        });
    }

    #[test]
    fn alone_is_who_has_one_client_and_one_request() {
        std::thread::scope(|s| {
            s.spawn(|| {
                assert!(!requests(7, 100), "requests may move to other threads");
                settle_requests();
                assert!(!requests(7, ROW));
                assert!(requests(7, 1));
                assert!(!is_alone(), "nothing is under way");
                assert!(!requests(8, ROW), "another client");
                assert!(!requests(7, 1), "two in turn");
                assert!(!requests(8, 1));
                assert!(requests(8, ROW));
                let other = InHand::of(7);
                assert!(
                    !requests(8, 2 * ROW),
                    "one of the other waits for something"
                );
                drop(other);
                assert!(requests(8, 1));
            });
        });
    }
}
