//! The side map of the slot ring: transactions that lost their slot but are not forgotten.
//!
//! Nearly always empty, then a look-up is one load. Otherwise a small counting filter keeps look-ups of other ids from
//! the map's locks, so that readers keep writing nothing shared.

use super::slots::End;
use base::TxnId;
use base::lock::RwLock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

const SHARDS: usize = 16;
const FILTER: usize = 4096;

/// What the map knows of an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EvictedTxn {
    Active,
    Ended(End),
}

pub(super) struct EvictedTxns {
    len: AtomicUsize,
    filter: Box<[AtomicU32]>,
    shards: [RwLock<HashMap<u64, EvictedTxn>>; SHARDS],
}

fn mix(t: TxnId) -> usize {
    (t.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize
}

impl EvictedTxns {
    pub(super) fn new() -> EvictedTxns {
        EvictedTxns {
            len: AtomicUsize::new(0),
            filter: (0..FILTER).map(|_| AtomicU32::new(0)).collect(),
            shards: Default::default(),
        }
    }

    fn shard(&self, t: TxnId) -> &RwLock<HashMap<u64, EvictedTxn>> {
        &self.shards[mix(t) % SHARDS]
    }

    #[inline]
    pub(super) fn get(&self, t: TxnId) -> Option<EvictedTxn> {
        if self.len.load(Ordering::SeqCst) == 0
            || self.filter[mix(t) / SHARDS % FILTER].load(Ordering::SeqCst) == 0
        {
            return None;
        }
        self.shard(t).read().get(&t.0).copied()
    }

    /// Adds or overwrites.
    pub(super) fn put(&self, t: TxnId, what: EvictedTxn) {
        let mut map = self.shard(t).write();
        if map.insert(t.0, what).is_none() {
            self.filter[mix(t) / SHARDS % FILTER].fetch_add(1, Ordering::SeqCst);
            self.len.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub(super) fn remove(&self, t: TxnId) {
        let mut map = self.shard(t).write();
        if map.remove(&t.0).is_some() {
            self.len.fetch_sub(1, Ordering::SeqCst);
            self.filter[mix(t) / SHARDS % FILTER].fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Ends a transaction that is in the map as active; false when it is not there.
    pub(super) fn end(&self, t: TxnId, how: End) -> bool {
        let mut map = self.shard(t).write();
        match map.get_mut(&t.0) {
            Some(old @ EvictedTxn::Active) => {
                *old = EvictedTxn::Ended(how);
                true
            }
            _ => false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len.load(Ordering::SeqCst) == 0
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::SeqCst)
    }

    /// Forgets ended transactions that `keep` does not want; returns the smallest id left.
    pub(super) fn sweep(&self, keep: impl Fn(TxnId, End) -> bool) -> Option<TxnId> {
        if self.is_empty() {
            return None;
        }
        let mut least: Option<u64> = None;
        for shard in &self.shards {
            let mut map = shard.write();
            map.retain(|&t, old| {
                let stays = match *old {
                    EvictedTxn::Active => true,
                    EvictedTxn::Ended(how) => keep(TxnId(t), how),
                };
                if stays {
                    least = Some(least.map_or(t, |l| l.min(t)));
                } else {
                    self.len.fetch_sub(1, Ordering::SeqCst);
                    self.filter[mix(TxnId(t)) / SHARDS % FILTER].fetch_sub(1, Ordering::SeqCst);
                }
                stays
            });
        }
        least.map(TxnId)
    }
}
