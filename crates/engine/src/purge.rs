//! The purge queue: committed transactions that left something to take out, in commit order, and the events that say when
//! there is work. The work itself is in [`crate::reclaim`].

use base::{Event, Lsn, TxnId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

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
    /// Taken from the queue and not finished, or put off.
    pub(crate) current: Vec<PurgeItem>,
}

/// The queue.
#[derive(Default)]
pub(crate) struct Purge {
    queue: Mutex<VecDeque<PurgeItem>>,
    /// The items being worked on, for checkpoints.
    pub(crate) current: Mutex<VecDeque<PurgeItem>>,
    /// Items that came upon a row which a running transaction has taken over, by that one: should it be rolled back, the
    /// deleted row is there again.
    held: Mutex<BTreeMap<TxnId, Vec<PurgeItem>>>,
    held_items: AtomicUsize,
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

    /// Puts an item off until `by` has undone what it did, or has ended; `active` tells whether it runs.
    pub(crate) fn hold(&self, by: TxnId, item: PurgeItem, active: impl FnOnce() -> bool) {
        if base::mutant!("held-purge-forgotten") {
            return;
        }
        let mut held = lock(&self.held);
        held.entry(by).or_default().push(item);
        self.held_items.fetch_add(1, Ordering::SeqCst);
        drop(held);
        // Against the fence in `release`: either the item is seen there, or the end here.
        fence(Ordering::SeqCst);
        if !active() {
            self.release(by);
        }
    }

    /// `by` has undone what it did, or has ended: what waited for that is work again.
    #[inline]
    pub(crate) fn release(&self, by: TxnId) {
        fence(Ordering::SeqCst);
        if self.held_items.load(Ordering::Relaxed) > 0 {
            self.release_held(by);
        }
    }

    #[cold]
    fn release_held(&self, by: TxnId) {
        let mut held = lock(&self.held);
        let items = held.remove(&by).unwrap_or_default();
        let n = items.len();
        // Before they are not held any more: a checkpoint finds them in one place or in both.
        items.into_iter().for_each(|i| self.push(i));
        self.held_items.fetch_sub(n, Ordering::SeqCst);
        drop(held);
        if n > 0 {
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
        let held = self.held_items.load(Ordering::SeqCst);
        let q = lock(&self.queue);
        held + q.len() + lock(&self.current).len()
    }

    /// A snapshot was given up: if it was the one in the way, there is work.
    #[inline]
    pub(crate) fn snapshot_closed(&self, s: Lsn) {
        // Against the fence in `take`: either the cell is seen to be empty there, or what it is in the way of is seen here.
        fence(Ordering::SeqCst);
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
        let held = lock(&self.held);
        let q = lock(&self.queue);
        let mut current: Vec<PurgeItem> = lock(&self.current).iter().copied().collect();
        current.extend(held.values().flatten());
        let oldest = q.iter().chain(&current).map(|i| i.first).min();
        // "None" would let the log go that the work is read from.
        assert!(oldest != Some(Lsn::NONE), "purge work without a beginning");
        Pending {
            queued_from: q.front().map_or(Lsn::NONE, |i| i.commit),
            oldest: oldest.unwrap_or(Lsn::NONE),
            current,
        }
    }

    /// Takes what may be done now; notes what is in the way otherwise. `oldest` looks for the oldest snapshot.
    pub(crate) fn take(&self, oldest: impl FnOnce() -> Lsn) -> Vec<PurgeItem> {
        // Before the look: a snapshot given up after it must find what it was in the way of. Without the queue's lock during
        // the look: a committing session asks for it while whoever lists the sessions waits for that one.
        let first = self.first().map_or(0, |c| c.0);
        self.blocked_on.store(first, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let oldest = match base::mutant!("purged-too-early") {
            true => Lsn::MAX,
            false => oldest(),
        };
        let mut q = lock(&self.queue);
        let n = q.iter().take(256).take_while(|i| i.commit < oldest).count();
        let items: Vec<PurgeItem> = q.drain(..n).collect();
        if n > 0 {
            self.blocked_on.store(0, Ordering::Relaxed);
        }
        *lock(&self.current) = items.iter().copied().collect();
        items
    }

    /// The first of what was taken is done.
    pub(crate) fn finished_one(&self) {
        lock(&self.current).pop_front();
    }
}
