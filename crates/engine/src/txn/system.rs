//! The transaction system: ids, ends, snapshots and the visibility test, on top of ring, side map and cells.

use super::evicted_txns::{EvictedTxn, EvictedTxns};
use super::slots::{BLOCK, DEFAULT_BITS, End, Ring, SlotView, Status};
use super::snapshot::{ActiveTxn, Registration, Registry, SessionCell, Snapshot};
use base::lock::{Mutex, MutexGuard};
use base::{Lsn, TxnId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

#[repr(align(128))]
struct Padded(AtomicU64);

/// Status of all transactions. Shared by all sessions (in an `Arc`).
///
/// Wherever a `complete` closure is asked for, it returns the log's complete LSN: below it every record is filled in,
/// and every commit among them has been published here by [`TxnSystem::committed`].
pub struct TxnSystem {
    /// The next id to hand out.
    next: Padded,
    /// Below: every transaction has ended and is visible to every snapshot in use or yet to come. Read by everybody,
    /// written once a block.
    floor: Padded,
    /// Below: slots are free for their new owners.
    vacated: AtomicU64,
    /// Ids below were not handed out by this ring (recovered ones among them are in the side map).
    start: u64,
    block: u64,
    ring: Ring,
    evicted_txns: EvictedTxns,
    registry: Arc<Registry>,
    /// How far the floor has looked into the ring. Held by the sweep.
    sweep: Mutex<u64>,
}

impl TxnSystem {
    /// A system whose first id is `next` (at least 1). All lower ids count as ended long ago.
    pub fn new(next: TxnId) -> TxnSystem {
        TxnSystem::with_bits(next, DEFAULT_BITS)
    }

    /// As [`TxnSystem::new`] with `2^bits` slots, for tests that want to see them recycled.
    pub fn with_bits(next: TxnId, bits: u32) -> TxnSystem {
        let start = next.0.max(1);
        let ring = Ring::new(bits);
        TxnSystem {
            next: Padded(AtomicU64::new(start)),
            floor: Padded(AtomicU64::new(start)),
            vacated: AtomicU64::new(start + ring.len()),
            start,
            block: BLOCK.min((ring.len() / 4).max(1)),
            ring,
            evicted_txns: EvictedTxns::new(),
            registry: Arc::default(),
            sweep: Mutex::new(start),
        }
    }

    /// A session's cell.
    pub fn register(&self) -> Registration {
        self.registry.register()
    }

    /// Makes a loser found by recovery active again, in a cell of its own, until its rollback ends it. To be called
    /// before traffic, with an id below the one given to [`TxnSystem::new`].
    pub fn adopt(&self, cell: &SessionCell, txn: ActiveTxn) {
        self.evicted_txns.put(txn.txid, EvictedTxn::Active);
        self.floor.0.fetch_min(txn.txid.0, Ordering::SeqCst);
        cell.start(txn.txid, txn.first, txn.last);
    }

    /// The id that will be handed out next: above every id in use.
    pub fn next(&self) -> TxnId {
        TxnId(self.next.0.load(Ordering::SeqCst))
    }

    /// Below this id every transaction has ended and is visible to all.
    pub fn floor(&self) -> TxnId {
        TxnId(self.floor.0.load(Ordering::Acquire))
    }

    /// Gives the session's transaction its id, at its first write (or first explicit lock).
    pub fn begin(&self, cell: &SessionCell, complete: impl Fn() -> Lsn) -> TxnId {
        let t = TxnId(self.next.0.fetch_add(1, Ordering::SeqCst));
        // A sweep waits for handed-out slots to be taken, so nobody blocks on the sweep before having taken its own.
        while t.0 >= self.vacated.load(Ordering::Acquire) {
            let Some(looked) = self.sweep.try_lock() else {
                std::thread::yield_now();
                continue;
            };
            self.advance_holding(looked, t.0 + 2 * self.block, &complete);
        }
        self.ring.occupy(t);
        if t.0.is_multiple_of(self.block) {
            self.advance_holding(self.lock_sweep(), t.0 + 2 * self.block, &complete);
        }
        cell.start(t, Lsn::NONE, Lsn::NONE);
        t
    }

    /// Publishes that `t` committed with the commit record at `at`. Must be called before that record becomes complete
    /// in the log, and before the transaction's locks are released.
    #[inline]
    pub fn committed(&self, t: TxnId, at: Lsn) {
        self.end(t, End::committed(at));
    }

    /// Publishes that `t` was rolled back: no row carries its id any more. `at` is an LSN not below its last record.
    pub fn aborted(&self, t: TxnId, at: Lsn) {
        self.end(t, End::aborted(at));
    }

    #[inline]
    fn end(&self, t: TxnId, how: End) {
        if !self.ring.end(t, how) {
            let known = self.evicted_txns.end(t, how);
            debug_assert!(known, "{t:?} ended twice or never began");
        }
    }

    /// What is known of `t`, which must have been met in a row or a lock (an id that is just being handed out, before
    /// [`TxnSystem::begin`] returned it, may be called anything).
    #[inline]
    pub fn status(&self, t: TxnId) -> Status {
        if t.0 < self.floor.0.load(Ordering::Acquire) {
            return Status::Frozen;
        }
        match self.ring.view(t) {
            SlotView::Active => Status::Active,
            SlotView::Ended(how) => how.status(),
            SlotView::Elsewhere => self.old_status(t),
        }
    }

    /// Whether the transaction that wrote a version has committed, and every snapshot from now on sees it. `complete` is the log's
    /// complete LSN.
    #[inline]
    pub fn is_seen_by_all(&self, writer: TxnId, complete: Lsn) -> bool {
        match self.status(writer) {
            Status::Committed(at) => at < complete,
            Status::Frozen => true,
            Status::Active | Status::Aborted(_) => false,
        }
    }

    #[cold]
    fn old_status(&self, t: TxnId) -> Status {
        match self.evicted_txns.get(t) {
            Some(EvictedTxn::Active) => Status::Active,
            Some(EvictedTxn::Ended(how)) => how.status(),
            None => Status::Frozen,
        }
    }

    /// True while `t` has not ended. Ordered after everything the caller did before (a full fence): used by the lock
    /// table between announcing a waiter and deciding to wait.
    pub fn is_active(&self, t: TxnId) -> bool {
        fence(Ordering::SeqCst);
        self.status(t) == Status::Active
    }

    /// Takes a snapshot of now and announces it in the session's cell, in place of the one that was there. With it comes what was announced
    /// meanwhile: where that is older, whoever has found it in the way has to be told that it has gone.
    #[inline]
    pub fn open_snapshot(&self, cell: &SessionCell, complete: impl Fn() -> Lsn) -> (Snapshot, Lsn) {
        let (lsn, next, bound) = cell.take_snapshot(complete, || self.next());
        let snapshot = Snapshot {
            lsn,
            next,
            floor: self.floor(),
        };
        (snapshot, bound)
    }

    /// Announces that what is there now may still be needed, by a reader that takes no snapshot: until the session closes
    /// it or takes one, nothing is purged that a transaction gives up from now on.
    pub fn hold(&self, cell: &SessionCell, complete: impl Fn() -> Lsn) {
        if cell.announced().is_none() {
            cell.announce(complete());
        }
    }

    /// May a reader with this snapshot, in transaction `me` (or none), see a version written by `writer`?
    #[inline]
    pub fn visible(&self, snapshot: &Snapshot, writer: TxnId, me: TxnId) -> bool {
        if writer < snapshot.floor || writer == me {
            return true;
        }
        if writer >= snapshot.next {
            return false;
        }
        match self.status(writer) {
            Status::Committed(at) => at < snapshot.lsn || base::mutant!("read-past-the-snapshot"),
            Status::Frozen => true,
            Status::Active | Status::Aborted(_) => false,
        }
    }

    /// The oldest LSN that any snapshot in use has, or that one taken from now on can have. What committed below it is
    /// visible to all: versions behind such a one, and rows it deleted, can go.
    pub fn oldest_snapshot(&self, complete: impl Fn() -> Lsn) -> Lsn {
        self.registry.in_use(complete).oldest()
    }

    /// The transactions that run now, for a checkpoint: every record that was complete before the call is accounted for
    /// in `last`, and a transaction whose ending record was complete is not listed. Spins while a session is between
    /// reserving a record and reporting it.
    pub fn active(&self) -> Vec<ActiveTxn> {
        self.registry.active()
    }

    /// Advances the floor as far as the snapshots in use allow and forgets what nobody needs; returns the oldest
    /// snapshot. Done by itself once a block of transactions; purge calls it too.
    pub fn advance(&self, complete: impl Fn() -> Lsn) -> Lsn {
        self.advance_holding(self.lock_sweep(), 0, &complete)
    }

    /// Transactions remembered outside of the ring; for status displays and tests.
    pub fn remembered(&self) -> usize {
        self.evicted_txns.len()
    }

    fn lock_sweep(&self) -> MutexGuard<'_, u64> {
        self.sweep.lock()
    }

    /// The sweep: frees the slots of ids below `target`, forgets what nobody needs, advances the floor.
    fn advance_holding(
        &self,
        mut looked: MutexGuard<'_, u64>,
        target: u64,
        complete: &dyn Fn() -> Lsn,
    ) -> Lsn {
        let in_use = self.registry.in_use(complete);
        let mut v = self.vacated.load(Ordering::Relaxed);
        while v < target {
            let owner = v - self.ring.len();
            // The slot's owner, an earlier turn of the ring; below `start` there was none.
            if owner >= self.start {
                self.evict(TxnId(owner), |t, how| in_use.needs(t, how.lsn()));
            }
            v += 1;
            self.vacated.store(v, Ordering::Release);
        }
        let least = self.evicted_txns.sweep(|t, how| in_use.needs(t, how.lsn()));
        *looked = (*looked).max(v - self.ring.len());
        let next = self.next.0.load(Ordering::SeqCst);
        while *looked < next {
            match self.ring.view(TxnId(*looked)) {
                SlotView::Ended(how) if how.lsn() < in_use.oldest() => *looked += 1,
                _ => break,
            }
        }
        let floor = least.map_or(*looked, |l| l.0.min(*looked));
        self.floor.0.fetch_max(floor, Ordering::SeqCst);
        in_use.oldest()
    }

    /// Frees the slot of `t`, remembering it in the side map when it is active or `needed` by a snapshot.
    fn evict(&self, t: TxnId, needed: impl Fn(TxnId, End) -> bool) {
        // An id is handed out a moment before its slot is taken; a whole turn later that moment is over unless the
        // thread was descheduled in it.
        while !self.ring.occupied_by(t) {
            std::thread::yield_now();
        }
        let ended = match self.ring.view(t) {
            SlotView::Ended(how) => Some(how),
            _ => {
                self.evicted_txns.put(t, EvictedTxn::Active);
                self.ring.mark_moved(t).err()
            }
        };
        if let Some(how) = ended {
            if needed(t, how) {
                self.evicted_txns.put(t, EvictedTxn::Ended(how));
            } else {
                self.evicted_txns.remove(t);
            }
        }
        self.ring.vacate(t);
    }
}
