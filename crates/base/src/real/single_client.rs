//! The single-client case: whether a thread that serves many clients serves but one just now.
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
    pinned: bool,
    /// The thread works for one request, which began on another.
    dedicated: bool,
    /// Requests under way.
    active_requests: u32,
    /// Whose the last request was.
    client: u64,
    /// How many before that were the same client's.
    row: u32,
}

thread_local! {
    static STATE: Cell<State> = const {
        Cell::new(State {
            pinned: false,
            dedicated: false,
            active_requests: 0,
            client: 0,
            row: 0,
        })
    };
}

/// A request under way, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct ActiveRequest {
    counted: bool,
}

/// Says of the calling thread that a request which begins on it ends on it. Without that it is never alone.
pub fn pin_requests() {
    STATE.set(State {
        pinned: true,
        ..STATE.get()
    });
}

/// Says of the calling thread that it works for one request at a time, each of which has a thread of its own to begin and to end on.
pub fn dedicate_to_requests() {
    STATE.set(State {
        dedicated: true,
        ..STATE.get()
    });
}

impl ActiveRequest {
    /// A request of `client` begins on this thread.
    #[inline]
    pub fn of(client: u64) -> ActiveRequest {
        let mut s = STATE.get();
        if !s.pinned {
            return ActiveRequest { counted: false };
        }
        s.row = match s.client == client {
            true => s.row.saturating_add(1),
            false => 0,
        };
        s.client = client;
        s.active_requests += 1;
        STATE.set(s);
        ActiveRequest { counted: true }
    }
}

impl Drop for ActiveRequest {
    #[inline]
    fn drop(&mut self) {
        if self.counted {
            let mut s = STATE.get();
            // A request that was cut off is dropped wherever it was.
            s.active_requests = s.active_requests.saturating_sub(1);
            STATE.set(s);
        }
    }
}

/// Whether the calling thread has a single client and works for it: then it may as well wait itself.
#[inline]
pub fn is_alone() -> bool {
    let s = STATE.get();
    s.dedicated || s.active_requests == 1 && s.row >= ROW
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(client: u64, n: u32) -> bool {
        (0..n).fold(false, |_, _| {
            let _one = ActiveRequest::of(client);
            is_alone()
        })
    }

    #[test]
    fn a_dedicated_thread_is_alone_and_takes_what_was_cut_off() {
        std::thread::scope(|s| {
            s.spawn(|| {
                pin_requests();
                let cut_off = ActiveRequest::of(7);
                let dedicated = s.spawn(move || {
                    assert!(!is_alone());
                    dedicate_to_requests();
                    assert!(is_alone());
                    drop(cut_off);
                    is_alone()
                });
                assert!(dedicated.join().unwrap());
                assert!(!is_alone(), "a single request of its client");
            });
        });
    }

    #[test]
    fn alone_is_who_has_one_client_and_one_request() {
        std::thread::scope(|s| {
            s.spawn(|| {
                assert!(!requests(7, 100), "requests may move to other threads");
                pin_requests();
                assert!(!requests(7, ROW));
                assert!(requests(7, 1));
                assert!(!is_alone(), "nothing is under way");
                assert!(!requests(8, ROW), "another client");
                assert!(!requests(7, 1), "two in turn");
                assert!(!requests(8, 1));
                assert!(requests(8, ROW));
                let other = ActiveRequest::of(7);
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
