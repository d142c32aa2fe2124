//! One lock of a transaction that goes on: put into the table as its row is undone, or given up before the transaction ends.
//!
//! Must never do: give up what protects something written.

use super::filter::hash;
use super::queue::{Mode, Queue};
use super::table::{LockTable, Woken, wake};
use base::TxnId;

impl LockTable {
    /// Puts the lock of a row, which `owner` has by having written it, into the table, as the row is going to be what it was before.
    /// Under the row's page latch. Where there is no room for that, the lock is given up with the change: a rollback cannot fail.
    pub fn keep(&self, owner: TxnId, index: u32, key: &[u8]) {
        let hash = hash(self.seed, index, key);
        let mut shard = self.shard(hash);
        if shard.by_key(hash, index, key).is_none() {
            self.make_entry(&mut shard, hash, index, key);
        }
        let Some(entry) = shard.by_key(hash, index, key) else {
            return;
        };
        let place = entry.place(hash);
        if entry.queue.grant(owner, Mode::Exclusive) && !self.owners.try_add_held(owner, place) {
            entry.queue.release(owner);
        }
        self.drop_if_empty(&mut shard, place);
    }

    /// Gives up one row's lock in the table before the transaction ends: READ COMMITTED found that the row does not
    /// match. Only for a lock that was [`Acquired::Granted`](super::Acquired::Granted) (or waited for) just now and protects nothing written.
    pub fn unlock(&self, owner: TxnId, index: u32, key: &[u8]) {
        self.give_up(index, key, owner, Queue::release);
    }

    /// The row that `owner` had inserted is gone again before it ends: who waits for it goes on. A lock that it has besides, of the place, stays.
    pub fn insert_undone(&self, owner: TxnId, index: u32, key: &[u8]) {
        if !base::mutant!("place-of-an-undone-insert-kept") {
            self.give_up(index, key, owner, Queue::release_written);
        }
    }

    fn give_up(
        &self,
        index: u32,
        key: &[u8],
        owner: TxnId,
        release: impl FnOnce(&mut Queue, TxnId) -> bool,
    ) {
        let hash = hash(self.seed, index, key);
        if !self.queue_may_exist(hash) {
            return;
        }
        let mut woken = Woken::new();
        {
            let mut shard = self.shard(hash);
            let Some(entry) = shard.by_key(hash, index, key) else {
                return;
            };
            let place = entry.place(hash);
            if release(&mut entry.queue, owner) {
                self.owners.remove_held(owner, place);
                self.promote(&mut entry.queue, place, &mut woken);
                self.drop_if_empty(&mut shard, place);
            }
        }
        wake(&woken);
    }
}
