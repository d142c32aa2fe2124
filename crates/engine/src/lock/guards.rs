//! The part of the lock table that is about ranges: what `ranges` decides for one index, under that index's mutex, with the
//! waits around it, and how a lock of a row that a guard implies meets the queues of rows. It must not decide by itself who
//! goes first.
//!
//! A guard with rows locks each row in it, and no queue knows of that. Who asks for such a row puts the guard's lock into the
//! row's queue first, as is done with a writer's, under the mutex of the index's ranges. The owner, when it ends, gives its
//! guards up before it looks at what it has in queues: so what was put there for it goes as well.
//!
//! Both sides of a row may come under a shared latch. A scan says that it is going to guard ([`LockTable::register_guard`])
//! before it looks at the queue of any row; who asks for a row makes its queue before it looks whether anybody guards the
//! index. One of the two sees the other.

use super::filter::hash;
use super::queue::Mode;
use super::ranges::{Guarded, Ranges};
use super::request::{Acquired, Hold, OnConflict, Request};
use super::span::Span;
use super::table::{LockTable, RANGE_SHARDS, Woken, guard, wake};
use super::wait::{Place, WaitCell, WaitEnd};
use base::TxnId;
use base::lock::MutexGuard;
use std::collections::HashMap;
use std::sync::Arc;

impl LockTable {
    fn range_hash(index: u32) -> u64 {
        u64::from(index).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// False when nobody guards ranges of an index, or is about to, or wants to insert into one.
    #[inline]
    pub(super) fn may_be_guarded(&self, index: u32) -> bool {
        self.range_filter.may_contain(Self::range_hash(index))
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
            ranges.account(&self.owners.budget);
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

    /// `owner` is going to guard rows of an index: to be called once before [`guard_row`](Self::guard_row).
    pub fn register_guard(&self, owner: TxnId, index: u32) {
        self.owners.add_range(owner, index);
        self.with_ranges(index, |ranges, _| ranges.register(owner));
    }

    /// Guards a range of an index against inserts by others, until the owner ends: [`Acquired::Granted`], or a wait behind
    /// those who want to insert into it, after which to ask again. There are no rows in it but such as the owner has locked
    /// by other means: the call is made before they are read, or under the latch of the leaf. Who does not want to wait goes
    /// in front.
    pub fn guard_range(
        &self,
        owner: TxnId,
        index: u32,
        span: &Span,
        rows: Option<Mode>,
        on_conflict: OnConflict,
    ) -> Acquired {
        self.with_ranges(index, |ranges, _| {
            self.guard_in(ranges, owner, index, span, rows, on_conflict)
        })
    }

    fn guard_in(
        &self,
        ranges: &mut Ranges,
        owner: TxnId,
        index: u32,
        span: &Span,
        rows: Option<Mode>,
        on_conflict: OnConflict,
    ) -> Acquired {
        if ranges.refuses(owner, span, rows, &self.owners.budget) {
            return Acquired::Full;
        }
        let waits = on_conflict != OnConflict::Fail;
        match ranges.guard(owner, span, rows, waits) {
            Guarded::Before => Acquired::Granted,
            Guarded::Now => {
                self.owners.add_range(owner, index);
                Acquired::Granted
            }
            Guarded::After => self.stand(owner, index, on_conflict, |cell| {
                ranges.wait_to_guard(span.clone(), cell);
            }),
        }
    }

    /// Locks a row that a scan has come to and guards `span`, which ends with the row's key and has no other row in it, both
    /// as one step. Under the latch of the row's leaf. Where the row's lock cannot be had, nothing is guarded.
    pub fn guard_row(&self, req: &Request<'_>, span: &Span) -> Acquired {
        if req.writer.is_some() && req.on_conflict == OnConflict::Fail {
            return Acquired::Conflict;
        }
        let hash = hash(self.seed, req.index, req.key);
        self.with_ranges(req.index, |ranges, woken| {
            match self.ask_among_guards(ranges, req, hash, woken) {
                Acquired::Granted | Acquired::Held if req.writer.is_none() => {}
                Acquired::Granted | Acquired::Held => return Acquired::Retry,
                other => return other,
            }
            let rows = Some(req.mode);
            self.guard_in(ranges, req.owner, req.index, span, rows, req.on_conflict)
        })
    }

    /// As [`LockTable::lock`], where somebody guards ranges of the index.
    pub(super) fn lock_among_guards(&self, req: &Request<'_>, hash: u64) -> Acquired {
        let mut woken = Woken::new();
        let answer = {
            let mut shard = self.range_shard(req.index);
            match shard.get_mut(&req.index) {
                Some(ranges) => self.ask_among_guards(ranges, req, hash, &mut woken),
                None => self.ask_in_queue(req, hash, &mut woken),
            }
        };
        wake(&woken);
        answer
    }

    /// Locks the place of a row that is not there. Ranges that others guard are not in the way, as they have no row there either; who
    /// wants to insert the key is, and waits.
    pub fn lock_absent(&self, req: &Request<'_>) -> Acquired {
        let hash = hash(self.seed, req.index, req.key);
        let mut woken = Woken::new();
        let answer = self.ask_in_queue(req, hash, &mut woken);
        wake(&woken);
        answer
    }

    fn ask_among_guards(
        &self,
        ranges: &Ranges,
        req: &Request<'_>,
        hash: u64,
        woken: &mut Woken,
    ) -> Acquired {
        if !base::mutant!("guarded-row-not-looked-at") {
            for (owner, mode) in ranges.row_locks(req.owner, req.key, req.mode) {
                if req.on_conflict == OnConflict::Fail {
                    return Acquired::Conflict;
                }
                self.put_into_queue(req, hash, owner, mode);
            }
        }
        match req.writer.is_none() && req.hold == Hold::Row && !self.queue_may_exist(hash) {
            true => Acquired::Granted,
            false => self.ask_in_queue(req, hash, woken),
        }
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
        if !self.may_be_guarded(index) {
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
