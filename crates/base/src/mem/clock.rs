//! A clock that stands still until it is told to move.

use crate::environment::Clock;
use crate::lock::Mutex;
use std::task::Waker;

/// Time in microseconds, advanced by [`ManualClock::advance`].
#[derive(Default)]
pub struct ManualClock {
    state: Mutex<(u64, Vec<(u64, Waker)>)>,
}

impl ManualClock {
    /// Moves time on and wakes whoever is due.
    pub fn advance(&self, us: u64) {
        let due: Vec<Waker> = {
            let mut s = self.state.lock();
            s.0 += us;
            let now = s.0;
            let (due, rest) = std::mem::take(&mut s.1)
                .into_iter()
                .partition(|(at, _)| *at <= now);
            s.1 = rest;
            due.into_iter().map(|(_, w): (u64, Waker)| w).collect()
        };
        due.into_iter().for_each(Waker::wake);
    }
}

impl ManualClock {
    /// Whether somebody is to be woken at some time.
    pub fn is_waited_for(&self) -> bool {
        !self.state.lock().1.is_empty()
    }
}

impl Clock for ManualClock {
    fn now_us(&self) -> u64 {
        self.state.lock().0
    }

    fn wall_us(&self) -> i64 {
        1_700_000_000_000_000 + self.now_us() as i64
    }

    fn wake_at(&self, at_us: u64, waker: Waker) {
        let mut s = self.state.lock();
        if s.0 >= at_us {
            drop(s);
            waker.wake();
        } else {
            s.1.push((at_us, waker));
        }
    }
}
