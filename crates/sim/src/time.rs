//! Simulated time: stands still while a task runs, and jumps when nobody has anything to do.

use base::SplitMix64;
use base::environment::{Clock, Random};
use base::lock::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

/// The clock.
#[derive(Default)]
pub struct Time {
    now: AtomicU64,
    timers: Mutex<Vec<(u64, Waker)>>,
}

impl Time {
    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Waker)>> {
        self.timers.lock()
    }

    /// Microseconds since the start.
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Moves on to `at` and wakes whoever is due, in order.
    pub fn advance_to(&self, at: u64) {
        if at > self.now() {
            self.now.store(at, Ordering::Relaxed);
        }
        let now = self.now();
        let mut t = self.lock();
        if t.iter().all(|(at, _)| *at > now) {
            return;
        }
        let mut due: Vec<(u64, Waker)> = Vec::new();
        let mut rest = Vec::new();
        for x in t.drain(..) {
            if x.0 <= now {
                due.push(x)
            } else {
                rest.push(x)
            }
        }
        *t = rest;
        drop(t);
        due.sort_by_key(|x| x.0);
        due.into_iter().for_each(|(_, w)| w.wake());
    }

    /// When the next timer is due.
    pub fn next(&self) -> Option<u64> {
        self.lock().iter().map(|t| t.0).min()
    }

    /// Forgets all timers: their tasks are gone.
    pub fn clear(&self) {
        let t = std::mem::take(&mut *self.lock());
        drop(t);
    }
}

impl Clock for Time {
    fn now_us(&self) -> u64 {
        self.now()
    }

    fn wall_us(&self) -> i64 {
        1_700_000_000_000_000 + self.now() as i64
    }

    fn wake_at(&self, at_us: u64, waker: Waker) {
        if self.now() >= at_us {
            waker.wake();
            return;
        }
        let mut t = self.lock();
        // A task that is polled again for another reason asks again for the same moment.
        if !t.iter().any(|(at, w)| *at == at_us && w.will_wake(&waker)) {
            t.push((at_us, waker));
        }
    }
}

/// The engine's random numbers, from a seed.
pub struct SeededRandom(pub Mutex<SplitMix64>);

impl Random for SeededRandom {
    fn next_u64(&self) -> u64 {
        self.0.lock().next()
    }
}
