//! What each transaction holds and waits for, sharded by transaction id. Only transactions that have something here,
//! or that somebody waits for, have an entry; ending one that has none is one load.

use super::filter::Filter;
use super::wait::{QueueRef, WaitCell};
use base::TxnId;
use base::lock::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

const SHARDS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Owner {
    pub(super) held: Vec<QueueRef>,
    /// Indexes in which ranges are guarded.
    pub(super) ranges: Vec<u32>,
    pub(super) waiting: Option<Arc<WaitCell>>,
}

impl Owner {
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
}

fn spread(t: TxnId) -> u64 {
    t.0.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Owners {
    pub(super) fn new() -> Owners {
        Owners {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            present: Filter::new(8192),
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
        self.with(t, |o| o.held.push(queue));
    }

    pub(super) fn remove_held(&self, t: TxnId, queue: QueueRef) {
        self.with(t, |o| {
            if let Some(i) = o.held.iter().rposition(|q| *q == queue) {
                o.held.swap_remove(i);
            }
        });
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
            o.held.extend(gained);
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
        let owner = self.shard(t).remove(&t.0);
        if owner.is_some() {
            self.present.remove(spread(t));
        }
        owner
    }
}
