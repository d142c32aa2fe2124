//! The lock table's limits: how much memory locks may take, what goes where that is short, and whether deadlocks are looked for.

use super::filter::hash;
use super::table::{LockTable, guard};
use base::TxnId;

impl LockTable {
    /// innodb_deadlock_detect: without it, waits of a circle end by their timeouts.
    pub fn detect_deadlocks(&self, on: bool) {
        self.detector.switch(on);
    }

    /// Locks take more than half of the memory that they may.
    #[inline]
    pub fn is_short(&self) -> bool {
        self.owners.budget.is_short()
    }

    /// The buffer pool has so many bytes: locks may take three quarters of that.
    pub fn set_pool(&self, bytes: u64) {
        self.owners.budget.set_pool(bytes);
    }

    /// Locks may take no more than so many bytes, and 4 MiB.
    pub fn lower_limit(&self, bytes: u64) {
        self.owners.budget.lower(bytes);
    }

    /// Forgets an exclusive lock of what `owner` has written since: its id is there now, and says the same. Not where others have asked for
    /// it, and not where it was locked long ago. To be called where memory is short ([`is_short`](Self::is_short)), as a rollback to a
    /// savepoint then gives the lock up.
    #[cold]
    pub fn forget(&self, owner: TxnId, index: u32, key: &[u8]) {
        let hash = hash(self.seed, index, key);
        let mut shard = self.shard(hash);
        let Some(entry) = shard.by_key(hash, index, key) else {
            return;
        };
        let place = entry.place(hash);
        if entry.queue.is_only_for(owner)
            && self.owners.remove_recent(owner, place)
            && entry.queue.release(owner)
        {
            self.drop_if_empty(&mut shard, place);
        }
    }

    /// How many rows and values are in the table, and what all locks take, guards of ranges included.
    pub fn figures(&self) -> (u64, u64) {
        let rows = self.shards.iter().map(|s| guard(&s.0).len as u64).sum();
        (rows, self.owners.budget.held() as u64)
    }

    /// How many locks in the table a transaction holds, and what they take.
    pub fn figures_of(&self, owner: TxnId) -> (u64, u64) {
        let (locks, bytes) = self.owners.figures(owner);
        (locks as u64, bytes as u64)
    }
}
