//! The system clock, with one timer thread that is asleep unless somebody set a deadline. A thread that runs one future sleeps until its deadline
//! itself.

use crate::block_on::wake_here_at;
use crate::environment::Clock;
use crate::lock::{Condvar, Mutex};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Default)]
struct Timers {
    queue: BTreeMap<(u64, Reverse<u64>), Waker>,
    seq: u64,
    running: bool,
    closed: bool,
}

struct Shared {
    start: Instant,
    timers: Mutex<Timers>,
    changed: Condvar,
}

/// `CLOCK_MONOTONIC` and `CLOCK_REALTIME`.
pub struct RealClock {
    shared: Arc<Shared>,
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

impl RealClock {
    /// A clock; its timer thread starts with the first deadline.
    pub fn new() -> RealClock {
        RealClock {
            shared: Arc::new(Shared {
                start: Instant::now(),
                timers: Mutex::default(),
                changed: Condvar::new(),
            }),
        }
    }

    /// Whether somebody has needed its timer thread.
    #[cfg(test)]
    pub(crate) fn has_a_thread(&self) -> bool {
        self.shared.timers.lock().running
    }
}

impl Shared {
    fn now_us(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    fn run(&self) {
        let mut t = self.timers.lock();
        loop {
            if t.closed {
                return;
            }
            let now = self.now_us();
            let mut due = Vec::new();
            while let Some(e) = t.queue.first_entry() {
                if e.key().0 > now {
                    break;
                }
                due.push(e.remove());
            }
            if !due.is_empty() {
                drop(t);
                due.into_iter().for_each(Waker::wake);
                t = self.timers.lock();
                continue;
            }
            t = match t.queue.first_key_value() {
                None => self.changed.wait(t),
                Some(((at, _), _)) => {
                    let left = Duration::from_micros(at.saturating_sub(now).max(1));
                    self.changed.wait_timeout(t, left)
                }
            };
        }
    }
}

impl Clock for RealClock {
    fn now_us(&self) -> u64 {
        self.shared.now_us()
    }

    fn wall_us(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(d) => d.as_micros() as i64,
            Err(e) => -(e.duration().as_micros() as i64),
        }
    }

    fn wake_at(&self, at_us: u64, waker: Waker) {
        let at = self.shared.start.checked_add(Duration::from_micros(at_us));
        if at.is_some_and(|at| wake_here_at(&waker, at)) {
            return;
        }
        let mut t = self.shared.timers.lock();
        t.seq += 1;
        let seq = t.seq;
        let first = t
            .queue
            .first_key_value()
            .is_none_or(|((at, _), _)| at_us < *at);
        t.queue.insert((at_us, Reverse(seq)), waker);
        if !t.running {
            t.running = true;
            let s = self.shared.clone();
            let r = std::thread::Builder::new()
                .name("timer".into())
                .spawn(move || s.run());
            assert!(r.is_ok(), "cannot start the timer thread");
        } else if first {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for RealClock {
    fn drop(&mut self) {
        self.shared.timers.lock().closed = true;
        self.shared.changed.notify_one();
    }
}
