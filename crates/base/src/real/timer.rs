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

impl Timers {
    /// Where it stands that somebody is to be woken at that time.
    fn find(&self, at_us: u64, waker: &Waker) -> Option<(u64, Reverse<u64>)> {
        let then = (at_us, Reverse(u64::MAX))..=(at_us, Reverse(0));
        let mut those = self.queue.range(then);
        those.find(|(_, w)| w.will_wake(waker)).map(|(key, _)| *key)
    }
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

    /// How many are to be woken.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.shared.timers.lock().queue.len()
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
        if t.find(at_us, &waker).is_some() {
            return;
        }
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

    fn forget(&self, at_us: u64, waker: &Waker) {
        let mut t = self.shared.timers.lock();
        if let Some(key) = t.find(at_us, waker) {
            t.queue.remove(&key);
        }
    }
}

impl Drop for RealClock {
    fn drop(&mut self) {
        self.shared.timers.lock().closed = true;
        self.shared.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::deadline;
    use std::future::Future;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake};

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Somebody waits for a year for what comes at once, and again.
    #[test]
    fn a_deadline_that_is_not_waited_for_leaves_nothing() {
        let clock = RealClock::new();
        let wakers = [(); 2].map(|()| Waker::from(Arc::new(Counter::default())));
        for _ in 0..10 {
            let mut late = pin!(deadline(&clock, clock.now_us() + 31_536_000_000_000));
            // Polled again, and by another task.
            for waker in [&wakers[0], &wakers[0], &wakers[1], &wakers[1]] {
                assert!(
                    late.as_mut()
                        .poll(&mut Context::from_waker(waker))
                        .is_pending()
                );
                assert_eq!(clock.waiting(), 1);
            }
            let other = pin!(deadline(&clock, clock.now_us() + 31_536_000_000_000));
            assert!(
                other
                    .poll(&mut Context::from_waker(&wakers[0]))
                    .is_pending()
            );
            assert_eq!(clock.waiting(), 2);
        }
        assert_eq!(clock.waiting(), 0);
    }

    #[test]
    fn who_has_been_forgotten_keeps_nobody_else_from_being_woken() {
        let clock = RealClock::new();
        let counter = Arc::new(Counter::default());
        let (waker, other) = (
            Waker::from(Arc::clone(&counter)),
            Waker::from(Arc::new(Counter::default())),
        );
        let at = clock.now_us() + 20_000;
        clock.wake_at(at, waker.clone());
        clock.wake_at(at, other.clone());
        clock.forget(at, &other);
        clock.forget(at, &other);
        while counter.0.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        assert!(clock.now_us() >= at && clock.waiting() == 0);
    }
}
