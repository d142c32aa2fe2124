//! The purge queue: committed transactions that left something to take out, in commit order, and the events that say when
//! there is work. The work itself is in [`crate::reclaim`].

use base::{Event, Lsn, TxnId};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A committed transaction that left something to purge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PurgeItem {
    /// Its commit record.
    pub commit: Lsn,
    /// Its id.
    pub txid: TxnId,
    /// Its first record.
    pub first: Lsn,
    /// Its last record before the commit.
    pub last: Lsn,
}

/// What is not done, in short.
pub(crate) struct Pending {
    /// The first commit record in the queue; none when it is empty. What waits are the commits from here on that left
    /// something.
    pub(crate) queued_from: Lsn,
    /// The oldest log record that is still needed; none when nothing waits.
    pub(crate) oldest: Lsn,
    /// Taken from the queue and not finished.
    pub(crate) current: Vec<PurgeItem>,
}

/// The queue.
#[derive(Default)]
pub(crate) struct Purge {
    queue: Mutex<VecDeque<PurgeItem>>,
    /// The item being worked on, for checkpoints.
    pub(crate) current: Mutex<Vec<PurgeItem>>,
    pub(crate) event: Event,
    /// Commit LSN that the oldest snapshot must pass before there is work; 0: no work waits.
    blocked_on: AtomicU64,
}

pub(crate) fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|e| e.into_inner())
}

impl Purge {
    pub(crate) fn new(items: Vec<PurgeItem>) -> Purge {
        Purge {
            queue: Mutex::new(items.into()),
            ..Purge::default()
        }
    }

    pub(crate) fn push(&self, item: PurgeItem) {
        let mut q = lock(&self.queue);
        // Nearly in commit order: a commit may overtake another between its record and here.
        let at = q
            .iter()
            .rposition(|x| x.commit < item.commit)
            .map_or(0, |i| i + 1);
        q.insert(at, item);
        let wake = q.len() == 1 || q.len() >= 64;
        drop(q);
        if wake {
            self.event.fire();
        }
    }

    /// The commit record of the first transaction waiting.
    pub(crate) fn first(&self) -> Option<Lsn> {
        lock(&self.queue).front().map(|i| i.commit)
    }

    /// Transactions waiting.
    pub(crate) fn len(&self) -> usize {
        // What was taken and is not done yet counts too.
        let q = lock(&self.queue);
        q.len() + lock(&self.current).len()
    }

    /// A snapshot was given up: if it was the one in the way, there is work.
    #[inline]
    pub(crate) fn snapshot_closed(&self, s: Lsn) {
        let b = self.blocked_on.load(Ordering::Relaxed);
        if base::mutant!("purge-wakeup-lost") {
            return;
        }
        if b != 0 && s.0 <= b {
            self.event.fire();
        }
    }

    /// Everything not done, for a checkpoint.
    pub(crate) fn pending(&self) -> Pending {
        let q = lock(&self.queue);
        let current = lock(&self.current).clone();
        let oldest = q.iter().chain(&current).map(|i| i.first).min();
        Pending {
            queued_from: q.front().map_or(Lsn::NONE, |i| i.commit),
            oldest: oldest.unwrap_or(Lsn::NONE),
            current,
        }
    }

    /// Takes what may be done now; notes what is in the way otherwise.
    pub(crate) fn take(&self, oldest: Lsn) -> Vec<PurgeItem> {
        let mut q = lock(&self.queue);
        let oldest = match base::mutant!("purged-too-early") {
            true => Lsn::MAX,
            false => oldest,
        };
        let n = q.iter().take(256).take_while(|i| i.commit < oldest).count();
        let items: Vec<PurgeItem> = q.drain(..n).collect();
        self.blocked_on.store(
            if n == 0 {
                q.front().map_or(0, |i| i.commit.0)
            } else {
                0
            },
            Ordering::Relaxed,
        );
        *lock(&self.current) = items.clone();
        items
    }
}
