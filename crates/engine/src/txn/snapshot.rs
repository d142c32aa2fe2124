//! Snapshots and the cells in which sessions announce what they use.
//!
//! A session owns one [`SessionCell`] (two cache lines nobody else writes). Taking a snapshot is four stores and two
//! loads in it. Whoever needs the oldest snapshot reads all cells; that is purge and the slot ring's sweep, not queries.
//!
//! Why a reader can never be overlooked: the session stores a lower bound first, passes a full fence and then reads the
//! log's complete LSN as its snapshot; the scanner reads the complete LSN first, passes a full fence and then reads the
//! cells. So either the scanner sees the lower bound, or the session's snapshot is at least the scanner's complete LSN.
//!
//! The cell also carries what a checkpoint must know of a running transaction (id, first and last record), under a
//! sequence number that is odd while a record is being logged, so that a checkpoint never misses a record that is
//! already complete in the log.

use base::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use base::sync::{Mutex, MutexGuard};
use base::{Lsn, TxnId, perturb};
use std::ops::Deref;
use std::sync::Arc;

const IDLE: u64 = u64::MAX;

/// What a reader may see: versions committed below `lsn`, by transactions begun before `next` was handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// Commit records below this LSN are visible.
    pub lsn: Lsn,
    /// Transactions from this id on began after the snapshot was taken.
    pub next: TxnId,
    /// Transactions below this id are visible to everybody (a shortcut that saves the look at the slot).
    pub floor: TxnId,
}

/// One session's announcements. Written by its session alone, read by sweeps and checkpoints.
#[repr(align(128))]
#[derive(Debug)]
pub struct SessionCell {
    snap_lsn: AtomicU64,
    snap_next: AtomicU64,
    txid: AtomicU64,
    seq: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
    /// The transaction has a record of something that lasts. Its session alone asks.
    lasting: AtomicBool,
    place: AtomicUsize,
}

/// A transaction that was running when [`super::TxnSystem::active`] looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActiveTxn {
    /// Its id.
    pub txid: TxnId,
    /// Its first log record; none when it has not logged yet.
    pub first: Lsn,
    /// Its last log record; none when it has not logged yet.
    pub last: Lsn,
}

/// The span in which a session logs one record of its transaction; see [`SessionCell::recording`].
#[must_use]
pub struct Recording<'a> {
    cell: &'a SessionCell,
}

impl Recording<'_> {
    /// The record was logged at `at`: it is the transaction's last record now. `lasting`: it changes what is there after a crash, and
    /// no temporary table.
    pub fn done(self, at: Lsn, lasting: bool) {
        if lasting {
            self.cell.lasting.store(true, Ordering::Relaxed);
        }
        if self.cell.first.load(Ordering::Relaxed) == 0 {
            self.cell.first.store(at.0, Ordering::Relaxed);
        }
        self.cell.last.store(at.0, Ordering::Relaxed);
    }

    /// The record that ends the transaction was logged (or it ended without one): it is not active any more. A
    /// checkpoint that does not list it any more is logged after that record, so it is durable only if the record is.
    pub fn ended(self) {
        self.cell.txid.store(0, Ordering::Relaxed);
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        let seq = self.cell.seq.load(Ordering::Relaxed);
        let step = 1 + u64::from(base::mutant!("record-not-announced"));
        self.cell.seq.store(seq + step, Ordering::Release);
    }
}

impl SessionCell {
    fn new() -> SessionCell {
        SessionCell {
            snap_lsn: AtomicU64::new(IDLE),
            snap_next: AtomicU64::new(0),
            txid: AtomicU64::new(0),
            seq: AtomicU64::new(0),
            first: AtomicU64::new(0),
            last: AtomicU64::new(0),
            lasting: AtomicBool::new(false),
            place: AtomicUsize::new(0),
        }
    }

    /// Announces that versions from `bound` on may be needed.
    #[inline]
    pub(super) fn announce(&self, bound: Lsn) {
        self.snap_next.store(u64::MAX, Ordering::Relaxed);
        self.snap_lsn.store(bound.0, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Takes a snapshot of now in place of the one that was there: how far it sees, the id from which on it sees nothing, and from where on
    /// versions were announced to be needed meanwhile.
    #[inline]
    pub(super) fn take_snapshot(
        &self,
        complete: impl Fn() -> Lsn,
        next: impl Fn() -> TxnId,
    ) -> (Lsn, TxnId, Lsn) {
        let late = base::mutant!("snapshot-announced-too-late");
        let bound = complete();
        if !late {
            self.announce(bound);
        }
        perturb::point();
        let lsn = complete();
        // After the LSN: whoever gets an id from `next` on reserves its commit record after what was complete by then.
        let next = next();
        if late {
            self.announce(lsn);
        }
        self.set_snapshot(lsn, next);
        (lsn, next, bound)
    }

    #[inline]
    fn set_snapshot(&self, lsn: Lsn, next: TxnId) {
        self.snap_next.store(next.0, Ordering::Release);
        self.snap_lsn.store(lsn.0, Ordering::Release);
    }

    /// The oldest versions that the session announced to need, if any.
    #[inline]
    pub fn announced(&self) -> Option<Lsn> {
        let lsn = self.snap_lsn.load(Ordering::Relaxed);
        (lsn != IDLE).then_some(Lsn(lsn))
    }

    /// The session uses no snapshot any more.
    #[inline]
    pub fn close_snapshot(&self) {
        self.snap_lsn.store(IDLE, Ordering::Release);
    }

    /// The id of the transaction that runs in this session; [`TxnId::NONE`] when none has written yet.
    pub fn txid(&self) -> TxnId {
        TxnId(self.txid.load(Ordering::Acquire))
    }

    /// The transaction's first record, [`Lsn::NONE`] before it.
    pub fn first(&self) -> Lsn {
        Lsn(self.first.load(Ordering::Relaxed))
    }

    /// The transaction's last record so far (the `prev` of the next one), [`Lsn::NONE`] before the first.
    pub fn last(&self) -> Lsn {
        Lsn(self.last.load(Ordering::Relaxed))
    }

    pub(super) fn start(&self, t: TxnId, first: Lsn, last: Lsn) {
        self.first.store(first.0, Ordering::Relaxed);
        self.last.store(last.0, Ordering::Relaxed);
        // What a start has found in the log is not known to be of temporary tables.
        self.lasting.store(!last.is_none(), Ordering::Relaxed);
        self.txid.store(t.0, Ordering::Release);
    }

    /// The running transaction has changed something that lasts.
    pub fn is_lasting(&self) -> bool {
        self.lasting.load(Ordering::Relaxed)
    }

    /// Opens the span in which one record of the transaction is logged: before its log space is reserved, until its
    /// LSN is told by [`Recording::done`] (or, for the record that ends the transaction, [`Recording::ended`]).
    /// Dropping it says that nothing was logged. Must not be held across an await: a checkpoint spins for its end.
    #[inline]
    pub fn recording(&self) -> Recording<'_> {
        let seq = self.seq.load(Ordering::Relaxed);
        if !base::mutant!("record-not-announced") {
            self.seq.store(seq + 1, Ordering::Relaxed);
        }
        fence(Ordering::Release);
        Recording { cell: self }
    }

    /// The running transaction, consistent with every record that was complete before the call.
    fn active(&self) -> Option<ActiveTxn> {
        let mut spins = 0u32;
        loop {
            let seq = self.seq.load(Ordering::Acquire);
            if seq.is_multiple_of(2) {
                let txid = TxnId(self.txid.load(Ordering::Acquire));
                let first = Lsn(self.first.load(Ordering::Acquire));
                let last = Lsn(self.last.load(Ordering::Acquire));
                fence(Ordering::Acquire);
                if self.seq.load(Ordering::Relaxed) == seq
                    && self.txid.load(Ordering::Relaxed) == txid.0
                {
                    return (txid != TxnId::NONE).then_some(ActiveTxn { txid, first, last });
                }
            }
            spins += 1;
            if spins.is_multiple_of(64) {
                base::sync::yield_now()
            } else {
                base::sync::spin_loop()
            }
        }
    }
}

/// All cells.
#[derive(Debug, Default)]
pub(super) struct Registry {
    cells: Mutex<Vec<Arc<SessionCell>>>,
}

/// A session's cell for as long as this lives. Dropping it forgets its snapshot and its transaction.
#[derive(Debug)]
pub struct Registration {
    cell: Arc<SessionCell>,
    registry: Arc<Registry>,
}

impl Deref for Registration {
    type Target = SessionCell;
    fn deref(&self) -> &SessionCell {
        &self.cell
    }
}

impl Registration {
    /// The cell itself, for those who must look at it from another thread (KILL, the process list).
    pub fn cell(&self) -> &Arc<SessionCell> {
        &self.cell
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut cells = self.registry.lock();
        let place = self.cell.place.load(Ordering::Relaxed);
        if cells.get(place).is_some_and(|c| Arc::ptr_eq(c, &self.cell)) {
            cells.swap_remove(place);
            if let Some(moved) = cells.get(place) {
                moved.place.store(place, Ordering::Relaxed);
            }
        }
    }
}

/// The snapshots in use, as one scan saw them.
pub(super) struct InUse {
    complete: Lsn,
    oldest: Lsn,
    cells: Vec<(Lsn, TxnId)>,
}

impl InUse {
    /// Every snapshot in use, or taken after the scan, is at least this.
    pub(super) fn oldest(&self) -> Lsn {
        self.oldest
    }

    /// True when some snapshot in use, or one that can still be taken, must not see what `t` did, which ended at
    /// `ended`, and cannot tell that from its id.
    pub(super) fn needs(&self, t: TxnId, ended: Lsn) -> bool {
        ended >= self.oldest
            && (ended >= self.complete
                || self
                    .cells
                    .iter()
                    .any(|&(lsn, next)| lsn <= ended && t < next))
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<SessionCell>>> {
        self.cells.lock()
    }

    pub(super) fn register(self: &Arc<Self>) -> Registration {
        let cell = Arc::new(SessionCell::new());
        let mut cells = self.lock();
        cell.place.store(cells.len(), Ordering::Relaxed);
        cells.push(cell.clone());
        drop(cells);
        Registration {
            cell,
            registry: self.clone(),
        }
    }

    /// Reads all cells. `complete` is asked before.
    pub(super) fn in_use(&self, complete: impl Fn() -> Lsn) -> InUse {
        let complete = complete();
        fence(Ordering::SeqCst);
        let mut oldest = complete;
        let mut seen = Vec::new();
        for c in self.lock().iter() {
            let lsn = c.snap_lsn.load(Ordering::Acquire);
            if lsn != IDLE {
                seen.push((Lsn(lsn), TxnId(c.snap_next.load(Ordering::Acquire))));
                oldest = oldest.min(Lsn(lsn));
            }
        }
        InUse {
            complete,
            oldest,
            cells: seen,
        }
    }

    pub(super) fn active(&self) -> Vec<ActiveTxn> {
        fence(Ordering::SeqCst);
        self.lock().iter().filter_map(|c| c.active()).collect()
    }
}

#[cfg(all(test, tidemill_model))]
mod loom_model {
    use super::*;
    use base::sync::{Arc, model, spawn};

    /// The log's complete LSN, the ids, and the cells.
    struct Bed {
        registry: std::sync::Arc<Registry>,
        complete: AtomicU64,
        next: AtomicU64,
    }

    impl Bed {
        fn complete(&self) -> Lsn {
            Lsn(self.complete.load(Ordering::Acquire))
        }

        fn next(&self) -> TxnId {
            TxnId(self.next.load(Ordering::SeqCst))
        }

        /// A transaction gets its id and commits.
        fn commit(&self) {
            self.next.fetch_add(1, Ordering::SeqCst);
            self.complete.fetch_add(8, Ordering::AcqRel);
        }
    }

    fn bed() -> Arc<Bed> {
        Arc::new(Bed {
            registry: std::sync::Arc::default(),
            complete: AtomicU64::new(8),
            next: AtomicU64::new(1),
        })
    }

    /// A snapshot is taken while somebody commits and then looks for the oldest one in use: it is not overlooked.
    #[test]
    fn a_snapshot_that_is_being_taken_is_not_overlooked() {
        model(|| {
            let bed = bed();
            let cell = bed.registry.register();
            let sweeping = bed.clone();
            let t = spawn(move || {
                sweeping.commit();
                sweeping.registry.in_use(|| sweeping.complete()).oldest()
            });
            let (lsn, ..) = cell.take_snapshot(|| bed.complete(), || bed.next());
            let oldest = t.join().unwrap();
            assert!(
                oldest <= lsn,
                "{oldest:?} is the oldest, and {lsn:?} in use"
            );
        });
    }

    /// What a checkpoint is told of a transaction covers every record that was complete when it looked.
    #[test]
    fn a_checkpoint_misses_no_record() {
        model(|| {
            let bed = bed();
            let cell = bed.registry.register();
            cell.start(TxnId(5), Lsn::NONE, Lsn::NONE);
            let looking = bed.clone();
            let t = spawn(move || {
                let complete = looking.complete();
                (complete, looking.registry.active())
            });
            let recording = cell.recording();
            // The record at 8 is whole.
            bed.complete.store(16, Ordering::Release);
            recording.done(Lsn(8), true);
            let (complete, active) = t.join().unwrap();
            let told = active
                .iter()
                .any(|a| a.txid == TxnId(5) && a.last == Lsn(8));
            assert!(told || complete == Lsn(8), "{complete:?}: {active:?}");
        });
    }
}
