//! What each transaction holds and waits for, sharded by transaction id. Only transactions that have something here,
//! or that somebody waits for, have an entry; ending one that has none is one load.

use super::budget::{Account, Budget};
use super::filter::Filter;
use super::wait::{QueueRef, WaitCell};
use base::TxnId;
use base::lock::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

const SHARDS: usize = 64;
/// More than a statement locks before it writes the first of what it has locked, mostly.
const RECENT: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Owner {
    pub(super) held: Vec<QueueRef>,
    /// Indexes in which ranges are guarded.
    pub(super) ranges: Vec<u32>,
    pub(super) waiting: Option<Arc<WaitCell>>,
    /// What `held` takes.
    account: Account,
}

impl Owner {
    fn hold(&mut self, queue: QueueRef, budget: &Budget) {
        self.held.push(queue);
        self.account.add(queue.takes(), budget);
    }

    fn is_empty(&self) -> bool {
        self.held.is_empty() && self.ranges.is_empty() && self.waiting.is_none()
    }
}

#[repr(align(128))]
#[derive(Default)]
struct Shard(Mutex<HashMap<u64, Owner>>);

pub(super) struct Owners {
    shards: Box<[Shard]>,
    present: Filter,
    /// What all that is held takes, guards included.
    pub(super) budget: Budget,
}

fn spread(t: TxnId) -> u64 {
    t.0.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Owners {
    pub(super) fn new() -> Owners {
        Owners {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            present: Filter::new(8192),
            budget: Budget::new(),
        }
    }

    fn shard(&self, t: TxnId) -> MutexGuard<'_, HashMap<u64, Owner>> {
        self.shards[(spread(t) >> 58) as usize % SHARDS].0.lock()
    }

    /// False when `t` certainly has no entry.
    #[inline]
    pub(super) fn may_have(&self, t: TxnId) -> bool {
        self.present.may_contain(spread(t))
    }

    fn with(&self, t: TxnId, f: impl FnOnce(&mut Owner)) {
        let mut shard = self.shard(t);
        let owner = shard.entry(t.0).or_insert_with(|| {
            self.present.add(spread(t));
            Owner::default()
        });
        f(owner);
        if owner.is_empty() {
            shard.remove(&t.0);
            self.present.remove(spread(t));
        }
    }

    pub(super) fn add_held(&self, t: TxnId, queue: QueueRef) {
        self.with(t, |o| o.hold(queue, &self.budget));
    }

    /// The same, unless the transaction has much and there is no room for more: false then.
    pub(super) fn try_add_held(&self, t: TxnId, queue: QueueRef) -> bool {
        let mut fits = true;
        self.with(t, |o| {
            fits = !self.budget.refuses(o.account.bytes());
            if fits {
                o.hold(queue, &self.budget);
            }
        });
        fits
    }

    pub(super) fn remove_held(&self, t: TxnId, queue: QueueRef) {
        self.with(t, |o| {
            if let Some(i) = o.held.iter().rposition(|q| *q == queue) {
                o.held.swap_remove(i);
                o.account.take_off(queue.takes(), &self.budget);
            }
        });
    }

    /// The same where it is one of the last that `t` has come to hold; false where it is not. Who holds very many must not search all.
    pub(super) fn remove_recent(&self, t: TxnId, queue: QueueRef) -> bool {
        let mut there = false;
        self.with(t, |o| {
            let from = o.held.len().saturating_sub(RECENT);
            if let Some(i) = o.held[from..].iter().rposition(|q| *q == queue) {
                o.held.swap_remove(from + i);
                o.account.take_off(queue.takes(), &self.budget);
                there = true;
            }
        });
        there
    }

    /// How many locks of rows `t` holds in the table, and what they take.
    pub(super) fn figures(&self, t: TxnId) -> (usize, usize) {
        let shard = self.shard(t);
        let owner = shard.get(&t.0);
        owner.map_or((0, 0), |o| (o.held.len(), o.account.bytes()))
    }

    pub(super) fn add_range(&self, t: TxnId, index: u32) {
        self.with(t, |o| {
            if !o.ranges.contains(&index) {
                o.ranges.push(index);
            }
        });
    }

    /// The indexes in which `t` guards ranges; from now on it does so in none.
    pub(super) fn take_ranges(&self, t: TxnId) -> Vec<u32> {
        let mut ranges = Vec::new();
        self.with(t, |o| ranges = std::mem::take(&mut o.ranges));
        ranges
    }

    pub(super) fn set_waiting(&self, t: TxnId, cell: Arc<WaitCell>) {
        self.with(t, |o| o.waiting = Some(cell));
    }

    /// The wait of `t` is over; `gained` is the queue in which it became a holder.
    pub(super) fn wait_over(&self, t: TxnId, gained: Option<QueueRef>) {
        self.with(t, |o| {
            o.waiting = None;
            if let Some(queue) = gained {
                o.hold(queue, &self.budget);
            }
        });
    }

    pub(super) fn waiting(&self, t: TxnId) -> Option<Arc<WaitCell>> {
        if !self.may_have(t) {
            return None;
        }
        self.shard(t).get(&t.0).and_then(|o| o.waiting.clone())
    }

    /// True when others may wait for `t`: it holds a lock in the table, or a lock of its rows was put there.
    pub(super) fn holds_any(&self, t: TxnId) -> bool {
        self.shard(t)
            .get(&t.0)
            .is_some_and(|o| !o.held.is_empty() || !o.ranges.is_empty())
    }

    /// True when `t` has the lock of a row in the table.
    pub(super) fn holds_rows(&self, t: TxnId) -> bool {
        self.shard(t).get(&t.0).is_some_and(|o| !o.held.is_empty())
    }

    /// Takes the entry of `t` away.
    pub(super) fn remove(&self, t: TxnId) -> Option<Owner> {
        let mut owner = self.shard(t).remove(&t.0);
        if let Some(owner) = &mut owner {
            owner.account.set(0, &self.budget);
            self.present.remove(spread(t));
        }
        owner
    }
}
