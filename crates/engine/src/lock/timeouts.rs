//! Lock wait timeouts. The clock's timers cannot be taken back, and nearly every wait ends long before its
//! deadline; so deadlines stand in one heap of which only the earliest live one is armed with the clock.

use super::wait::{WaitCell, WaitEnd};
use base::Clock;
use base::lock::{Mutex, MutexGuard};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

struct Entry {
    at_us: u64,
    seq: u64,
    cell: Arc<WaitCell>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.seq == other.seq
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (self.at_us, self.seq).cmp(&(other.at_us, other.seq))
    }
}

#[derive(Default)]
struct State {
    heap: BinaryHeap<Reverse<Entry>>,
    seq: u64,
    /// Earliest time the clock was asked for and has not come yet.
    armed: Option<u64>,
    /// Heap length at which ended waits are thrown out next.
    clean_at: usize,
}

pub(super) struct Timeouts {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

/// Who has waits with deadlines: the lock table, as the clock knows it.
pub(super) trait Expires: Send + Sync {
    /// The clock rang: ends the waits that are due.
    fn expire(&self);
}

/// What the clock wakes: the table, if it is still there.
struct Alarm(Weak<dyn Expires>);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        if let Some(table) = self.0.upgrade() {
            table.expire();
        }
    }
}

impl Timeouts {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Timeouts {
        Timeouts {
            clock,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    /// Watches a wait that has a deadline.
    pub(super) fn add(&self, table: &Weak<dyn Expires>, cell: &Arc<WaitCell>) {
        let Some(at_us) = cell.deadline_us else {
            return;
        };
        let arm = {
            let mut s = self.lock();
            s.seq += 1;
            let seq = s.seq;
            s.heap.push(Reverse(Entry {
                at_us,
                seq,
                cell: cell.clone(),
            }));
            if s.heap.len() > s.clean_at.max(64) {
                s.heap.retain(|e| e.0.cell.ended().is_none());
                s.clean_at = s.heap.len() * 2;
            }
            let sooner = s.armed.is_none_or(|a| at_us < a);
            if sooner {
                s.armed = Some(at_us);
            }
            sooner
        };
        if arm {
            self.arm(table, at_us);
        }
    }

    fn arm(&self, table: &Weak<dyn Expires>, at_us: u64) {
        self.clock
            .wake_at(at_us, Waker::from(Arc::new(Alarm(table.clone()))));
    }

    /// The clock rang: ends what is due and arms the next.
    pub(super) fn expire(
        &self,
        table: &Weak<dyn Expires>,
        cancel: impl Fn(&Arc<WaitCell>, WaitEnd),
    ) {
        let now = self.clock.now_us();
        let mut due = Vec::new();
        let next = {
            let mut s = self.lock();
            while s
                .heap
                .peek()
                .is_some_and(|e| e.0.at_us <= now || e.0.cell.ended().is_some())
            {
                due.extend(s.heap.pop().map(|e| e.0.cell));
            }
            let next = s.heap.peek().map(|e| e.0.at_us);
            let armed = s.armed.filter(|&a| a > now);
            let missing = next.filter(|&at| armed.is_none_or(|a| at < a));
            s.armed = missing.or(armed);
            missing
        };
        for cell in &due {
            cancel(cell, WaitEnd::Timeout);
        }
        if let Some(at) = next
            && !base::mutant!("next-timeout-not-armed")
        {
            self.arm(table, at);
        }
    }
}
