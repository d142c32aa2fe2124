//! The part of the lock table that is about ranges: what `ranges` decides for one index, under that index's mutex, with the
//! waits around it. It must not decide by itself who goes first.

use super::ranges::{Bound, Guarded, Ranges};
use super::table::{Acquired, LockTable, OnConflict, RANGE_SHARDS, Woken, guard, wake};
use super::wait::{Place, WaitCell, WaitEnd};
use base::TxnId;
use base::lock::MutexGuard;
use std::collections::HashMap;
use std::sync::Arc;

impl LockTable {
    fn range_hash(index: u32) -> u64 {
        u64::from(index).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    pub(super) fn range_shard(&self, index: u32) -> MutexGuard<'_, HashMap<u32, Ranges>> {
        guard(&self.range_shards[(Self::range_hash(index) >> 60) as usize % RANGE_SHARDS])
    }

    /// What is done with the ranges of one index, and who can go on because of it.
    fn with_ranges<R>(&self, index: u32, f: impl FnOnce(&mut Ranges, &mut Woken) -> R) -> R {
        let mut woken = Woken::new();
        let r = {
            let mut shard = self.range_shard(index);
            let ranges = shard.entry(index).or_default();
            let before = ranges.noted();
            let r = f(ranges, &mut woken);
            let after = ranges.noted();
            for _ in before..after {
                self.range_filter.add(Self::range_hash(index));
            }
            for _ in after..before {
                self.range_filter.remove(Self::range_hash(index));
            }
            if ranges.is_empty() {
                shard.remove(&index);
            }
            r
        };
        wake(&woken);
        r
    }

    /// Makes `owner` wait among the ranges of an index, unless it does not want to; `place` is where.
    fn stand(
        &self,
        owner: TxnId,
        index: u32,
        on_conflict: OnConflict,
        place: impl FnOnce(Arc<WaitCell>),
    ) -> Acquired {
        let OnConflict::Wait { weight, timeout_us } = on_conflict else {
            return Acquired::Conflict;
        };
        match self.make_wait(owner, Place::Ranges(index), weight, timeout_us) {
            Some(wait) => {
                place(wait.cell().clone());
                Acquired::Wait(wait)
            }
            None => Acquired::Retry,
        }
    }

    fn let_go(&self, cell: Arc<WaitCell>, woken: &mut Woken) {
        self.owners.wait_over(cell.owner, None);
        cell.finish(WaitEnd::Granted);
        woken.push(cell);
    }

    /// Guards a range of an index against inserts by others, until the owner ends: [`Acquired::Granted`], or a wait behind
    /// those who want to insert into it, after which to ask again. To be called before the range is read; rows in it that
    /// others are writing are met by the reader itself. Who does not want to wait goes in front.
    pub fn guard_range(
        &self,
        owner: TxnId,
        index: u32,
        (low, high): (Bound, Bound),
        on_conflict: OnConflict,
    ) -> Acquired {
        self.with_ranges(index, |ranges, _| {
            let waits = on_conflict != OnConflict::Fail;
            match ranges.guard(owner, low.clone(), high.clone(), waits) {
                Guarded::Before => return Acquired::Granted,
                Guarded::Now => {
                    self.owners.add_range(owner, index);
                    return Acquired::Granted;
                }
                Guarded::After => {}
            }
            self.stand(owner, index, on_conflict, |cell| {
                ranges.wait_to_guard(low, high, cell);
            })
        })
    }

    /// May `owner` insert `key` here? [`Acquired::Granted`] or, when others guard a range around it,
    /// [`Acquired::Conflict`] or a wait, after which to ask again. Under the page latch of the leaf to insert into.
    #[inline]
    pub fn check_insert(
        &self,
        owner: TxnId,
        index: u32,
        key: &[u8],
        on_conflict: OnConflict,
    ) -> Acquired {
        if !self.range_filter.may_contain(Self::range_hash(index)) {
            return Acquired::Granted;
        }
        self.check_insert_slow(owner, index, key, on_conflict)
    }

    fn check_insert_slow(
        &self,
        owner: TxnId,
        index: u32,
        key: &[u8],
        on_conflict: OnConflict,
    ) -> Acquired {
        self.with_ranges(index, |ranges, woken| {
            if ranges.may_insert(owner, key, |cell| self.let_go(cell, woken)) {
                return Acquired::Granted;
            }
            self.stand(owner, index, on_conflict, |cell| {
                ranges.wait_to_insert(key, cell);
                // Others may wait behind it from now on, also when it is let go.
                self.owners.add_range(owner, index);
            })
        })
    }

    pub(super) fn release_ranges(&self, owner: TxnId, index: u32) {
        self.with_ranges(index, |ranges, woken| {
            ranges.release(owner, |cell| self.let_go(cell, woken));
        });
    }

    pub(super) fn cancel_in_ranges(&self, cell: &Arc<WaitCell>, index: u32, end: WaitEnd) -> bool {
        self.with_ranges(index, |ranges, woken| {
            let mut freed = Woken::new();
            if !ranges.withdraw(cell, |cell| freed.push(cell)) {
                return false;
            }
            self.withdrawn(cell, end, woken);
            for cell in freed {
                self.let_go(cell, woken);
            }
            true
        })
    }
}
