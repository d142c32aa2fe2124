//! Sessions: the waiting shell around the synchronous core. A session runs one statement at a time; its operations try,
//! await what they lacked, and try again.
//!
//! No latch is ever held across an await. What is held are pins, row locks and table uses.

mod ahead;
mod auto_lock;
mod batch;
mod candidates;
mod changed_row;
mod commit;
mod conflict;
mod counter;
mod ddl_wait;
mod delete;
mod entries;
mod events;
mod failed_rollback;
mod fenced;
mod guard_cursor;
mod insert;
mod judged_row;
mod kept;
mod making;
mod mark;
mod ordered;
mod outcome;
mod overflow_columns;
mod own_tables;
mod own_view;
mod prepare;
mod read;
mod read_mode;
mod reference;
mod rollback;
mod same_entry;
mod scan;
mod scan_spec;
mod secondary;
mod table_locks;
mod tables;
mod unmatched;
mod update;
mod views;
mod waited;

pub use batch::RowBatch;
pub use changed_row::ChangedRow;
pub use commit::Committing;
pub(crate) use entries::RowEntries;
pub use mark::Mark;
pub use ordered::CommitOrder;
pub use outcome::{Inserted, RowRequest, Updated, Written};
pub use read_mode::ReadMode;
pub use scan::Scan;
pub(crate) use scan_spec::successor;
pub use scan_spec::{KeyBound, ScanSpec};
pub(crate) use table_locks::{Patience, Wanted, in_order};

use crate::engine::Engine;
use crate::error;
use crate::events::buffer::EventBuffer;
use crate::fence::Rank;
use crate::interrupt::Interrupt;
use crate::schema::{Catalog, TableUse, ViewUse};
use crate::table_lock::{Holds, Owner, Writing};
use crate::temp::TempSpace;
use crate::txn::{Registration, Snapshot};
use crate::undo_reservation::UndoReservation;
use crate::xa::{EndingBranch, Xid};
use base::{Lsn, TxnId};
use btree::Change;
use own_tables::OwnTables;
pub(crate) use pager::Pins;
use pager::Wait;
use std::sync::Arc;
use std::sync::atomic::Ordering;
pub use types::Isolation;
use types::SqlError;
use waited::Waited;

/// What a reader does about locked rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWait {
    /// Waits.
    Wait,
    /// Fails with 3572.
    NoWait,
    /// Leaves them out.
    SkipLocked,
}

/// A table in the making: see [`making`].
struct Making {
    schema: String,
    /// The name by which the session knows it.
    name: String,
    /// Whose transaction will define it.
    definition: Box<Session>,
    /// The two transactions have changed places.
    entered: bool,
}

/// A session.
pub struct Session {
    pub(crate) engine: Arc<Engine>,
    pub(crate) reg: Registration,
    pub(crate) interrupt: Arc<Interrupt>,
    /// begin() was called.
    explicit: bool,
    read_only: bool,
    /// The running statement writes.
    writes: bool,
    /// What it reads beside is locked at every level.
    shares: bool,
    pub(crate) isolation: Isolation,
    snapshot: Option<Snapshot>,
    pub(crate) txid: TxnId,
    savepoints: Vec<(String, Mark)>,
    /// Where the transaction stood when the statement began.
    statement_start: Mark,
    /// The transaction deleted something or gave up overflow pages.
    pub(crate) purge_work: bool,
    /// The transaction changes definitions.
    pub(crate) defines: bool,
    /// The transaction has locked or changed something that is no temporary table's.
    locks_lasting: bool,
    uses: Vec<TableUse>,
    views: Vec<ViewUse>,
    /// As which it holds locks of tables.
    pub(crate) owner: Owner,
    /// The locks it was asked to hold.
    holds: Holds,
    /// What ends before they are given back.
    pub(crate) while_locked: Option<Box<dyn Send + Sync>>,
    /// Says that it writes, where it is a client's.
    writing: Option<Writing>,
    /// For whom it works.
    pub(crate) rank: Rank,
    pub(crate) lock_timeout_us: u64,
    /// How long it waits for a table whose definition changes, or for a table's users to change its own.
    pub(crate) table_timeout_us: u64,
    /// Of definition changes: foreign keys must have what they name, and what is named must stay.
    pub(crate) foreign_key_checks: bool,
    /// Bytes of before-images: what the transaction would lose as a deadlock's victim.
    pub(crate) weight: u64,
    /// Deadlocks that ended its transactions since one was committed.
    pub(crate) lost: u8,
    undo_reservation: UndoReservation,
    /// What the transaction leaves for readers of the log.
    events: EventBuffer,
    /// Behind the last group that it has committed and nobody has asked for; none: there was none.
    pub(crate) group_end: Lsn,
    /// What the next change of definitions leaves for them.
    pub(crate) definition_event: Option<Vec<u8>>,
    /// The table that it is making, with rows, and the transaction that will define it.
    making: Option<Making>,
    /// In which version of the catalog was found what a change of definitions goes by.
    pub(crate) definition_seen: Option<u64>,
    /// Its place in the order of commits.
    pub(crate) ordered: Option<crate::lock::CommitTurn>,
    /// Its transaction was prepared, by somebody, and it is to end it: the name, the rows written, the beginning.
    ending: Option<(EndingBranch, u64, i64)>,
    /// The branch of a distributed transaction that it is at work in, as readers of the log are told of it.
    branch: Option<Xid>,
    /// What its transaction has changed is in a group that is whole: it was prepared.
    branch_logged: bool,
    pub(crate) change: Change,
    /// What the last change by key has worked with.
    spare_row: ChangedRow,
    catalog: Arc<Catalog>,
    /// The version of the catalog that `catalog` was made of.
    catalog_of: u64,
    own: OwnTables,
    /// Where its temporary files and tables come from.
    pub(crate) temp: Arc<TempSpace>,
    /// Whether it waits no more until what transactions leave is taken.
    gives_up_intake: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    /// Pieces of work since the session last let others run.
    worked: u32,
    /// Pages that were not resident when they were looked at.
    waited: Waited,
}

/// Leaves scanned or rows written, each some microseconds, after which a session lets other tasks of its thread run: a
/// statement whose pages are all resident waits for nothing by itself.
const WORK_PER_YIELD: u32 = 96;

impl Engine {
    /// A new session.
    pub fn session(self: &Arc<Self>) -> Session {
        Session::new(self.clone())
    }
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>) -> Session {
        let reg = engine.txns.register();
        let interrupt = engine.interrupt();
        let catalog = engine.catalog();
        let undo_reservation = UndoReservation::new(engine.log.clone());
        let events = EventBuffer::new(engine.log.clone());
        let own = OwnTables::none(engine.clone());
        let temp = TempSpace::of_all(&engine.temp);
        let owner = Owner(engine.sessions.fetch_add(1, Ordering::Relaxed));
        interrupt.tables.is_of(owner);
        Session {
            engine,
            reg,
            interrupt,
            explicit: false,
            read_only: false,
            writes: false,
            shares: false,
            isolation: Isolation::default(),
            snapshot: None,
            txid: TxnId::NONE,
            savepoints: Vec::new(),
            statement_start: Mark::START,
            purge_work: false,
            defines: false,
            locks_lasting: false,
            uses: Vec::new(),
            views: Vec::new(),
            owner,
            holds: Holds::default(),
            while_locked: None,
            writing: None,
            rank: Rank::Server,
            lock_timeout_us: 50_000_000,
            table_timeout_us: 50_000_000,
            foreign_key_checks: true,
            weight: 0,
            lost: 0,
            undo_reservation,
            events,
            group_end: Lsn::NONE,
            definition_event: None,
            making: None,
            definition_seen: None,
            ordered: None,
            ending: None,
            branch: None,
            branch_logged: false,
            change: Change::default(),
            spare_row: ChangedRow::default(),
            catalog_of: catalog.version,
            catalog,
            own,
            temp,
            gives_up_intake: None,
            worked: 0,
            waited: Waited::default(),
        }
    }

    /// Notes a piece of work, and lets others run when it is their turn. Nothing may be latched.
    #[inline]
    pub(crate) async fn yield_if_due(&mut self) {
        self.worked += 1;
        if self.worked >= WORK_PER_YIELD {
            self.yield_now().await;
        }
    }

    /// Lets other tasks of the thread run: for loops over what is in memory already.
    pub async fn yield_now(&mut self) {
        self.worked = 0;
        base::environment::yield_now(&*self.engine.environment().spawn).await;
    }

    /// The transaction has made a change: what is lost with it, and what undoing it takes of the log, in bytes.
    #[inline]
    pub(super) fn grew(&mut self, weight: u64, undo: u64) {
        self.weight += weight;
        self.undo_reservation.add(undo);
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Shared with whoever may kill this session.
    pub fn interrupt(&self) -> Arc<Interrupt> {
        self.interrupt.clone()
    }

    /// Whether the running statement may go on.
    ///
    /// # Errors
    /// 1317 where it was killed.
    #[inline]
    pub fn check_interrupt(&self) -> Result<(), SqlError> {
        self.interrupt.check()
    }

    /// innodb_lock_wait_timeout.
    pub fn set_lock_wait_timeout(&mut self, seconds: u32) {
        self.lock_timeout_us = seconds as u64 * 1_000_000;
    }

    /// How long it waits for a table whose definition another session changes, and, changing one itself, for the transactions that use the
    /// table and for other changes; 50 s when not set.
    pub fn set_table_wait_timeout(&mut self, seconds: u32) {
        self.table_timeout_us = seconds as u64 * 1_000_000;
    }

    /// Begins an explicit transaction. The former one must have ended.
    pub fn begin(&mut self, isolation: Isolation, read_only: bool) {
        debug_assert!(self.txid == TxnId::NONE);
        self.explicit = true;
        self.read_only = read_only;
        self.isolation = isolation;
        let now = self.engine.environment().clock.wall_us();
        self.interrupt.standing.begin(now, isolation, read_only);
    }

    /// Takes the transaction's snapshot now (WITH CONSISTENT SNAPSHOT). No effect below REPEATABLE READ or above it.
    pub fn open_snapshot(&mut self) {
        if matches!(
            self.isolation,
            Isolation::RepeatableRead | Isolation::Snapshot
        ) {
            self.snapshot();
        }
    }

    /// An explicit transaction is open.
    pub fn in_transaction(&self) -> bool {
        self.explicit
    }

    /// The isolation level of the open transaction.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// The open transaction may not write.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The open transaction has changed something.
    pub fn has_changes(&self) -> bool {
        self.txid != TxnId::NONE && !self.reg.last().is_none()
    }

    /// A statement begins. `isolation` is that of the implicit transaction, when no explicit one is open.
    #[inline]
    pub fn statement_begin(&mut self, isolation: Isolation) {
        if !self.explicit && self.txid == TxnId::NONE {
            self.isolation = isolation;
        }
        self.writes = false;
        self.shares = false;
        if self.isolation <= Isolation::ReadCommitted {
            self.close_snapshot();
        }
        self.statement_start = self.mark();
    }

    /// The statement that has begun is going to write. What it reads must still be so when it does, where reads with locks are guarded,
    /// in a transaction of its own as well: its plain reads lock.
    pub fn statement_writes(&mut self) {
        self.writes = true;
    }

    /// What the statement that has begun reads without a locking clause is locked for sharing, at every level.
    pub fn statement_shares(&mut self) {
        self.shares = true;
    }

    /// Undoes what the statement did. If the whole transaction was rolled back meanwhile, nothing is left to do.
    ///
    /// # Errors
    /// As [`Session::rollback`].
    pub async fn statement_rollback(&mut self) -> Result<(), SqlError> {
        if self.txid != TxnId::NONE {
            let to = self.statement_start;
            self.undo_to(to).await?;
        }
        Ok(())
    }

    /// Sets a savepoint, replacing one of the same name.
    pub fn savepoint(&mut self, name: &str) {
        self.savepoints.retain(|s| !s.0.eq_ignore_ascii_case(name));
        let at = self.mark();
        self.savepoints.push((name.to_string(), at));
    }

    /// Undoes everything since the savepoint, which stays. Locks taken since stay too.
    ///
    /// # Errors
    /// 1305: there is no such savepoint; as [`Session::rollback`].
    pub async fn rollback_to(&mut self, name: &str) -> Result<(), SqlError> {
        let i = self.find_savepoint(name)?;
        self.savepoints.truncate(i + 1);
        let to = self.savepoints[i].1;
        if self.txid != TxnId::NONE {
            self.undo_to(to).await?;
        }
        Ok(())
    }

    /// Forgets a savepoint and those set after it.
    ///
    /// # Errors
    /// 1305: there is no such savepoint.
    pub fn release_savepoint(&mut self, name: &str) -> Result<(), SqlError> {
        let i = self.find_savepoint(name)?;
        self.savepoints.truncate(i);
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize, SqlError> {
        let at = self
            .savepoints
            .iter()
            .position(|s| s.0.eq_ignore_ascii_case(name));
        at.ok_or_else(|| SqlError::no_such_savepoint(name))
    }

    /// Ends a transaction that has an id (it locked rows) and logged nothing.
    fn end_unlogged(&mut self) {
        let rec = self.reg.recording();
        self.engine.txns.aborted(self.txid, self.engine.complete());
        rec.ended();
        self.engine.locks.release_all(self.txid);
        self.end_transaction();
    }

    fn end_transaction(&mut self) {
        self.close_snapshot();
        if self.explicit || self.txid != TxnId::NONE {
            self.interrupt.standing.end();
        }
        if self.txid != TxnId::NONE {
            self.engine.purge.release(self.txid);
            self.txid = TxnId::NONE;
            self.interrupt.txid.store(0, Ordering::SeqCst);
        }
        self.explicit = false;
        self.read_only = false;
        self.purge_work = false;
        self.defines = false;
        self.locks_lasting = false;
        self.weight = 0;
        self.undo_reservation.clear();
        self.events.clear();
        (self.branch, self.branch_logged) = (None, false);
        self.savepoints.clear();
        self.statement_start = Mark::START;
        if !(self.uses.is_empty() && self.views.is_empty()) {
            self.uses.clear();
            self.views.clear();
            self.interrupt.tables.clear();
        }
        self.end_writing();
    }

    /// Ends the transaction of a statement of its own, if that has only read: a commit that has nothing to wait for. False where
    /// it has not.
    #[inline]
    pub fn end_read(&mut self) -> bool {
        let only_read = self.txid == TxnId::NONE && !self.explicit;
        if only_read {
            self.end_transaction();
        }
        only_read
    }

    fn close_snapshot(&mut self) {
        self.snapshot = None;
        if let Some(lsn) = self.reg.announced() {
            self.reg.close_snapshot();
            self.engine.purge.snapshot_closed(lsn);
            self.engine.log.needs_less(lsn);
        }
    }

    /// For a reader without a snapshot, under the latch of a row whose long columns it is going to read after that.
    pub(crate) fn hold_versions(&self) {
        self.engine.txns.hold(&self.reg, || self.engine.complete());
    }

    /// The snapshot of the transaction or statement, taken now if there is none.
    #[inline]
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        match self.snapshot {
            Some(s) => s,
            None => {
                let held = self.reg.announced();
                let complete = || self.engine.complete();
                let (s, bound) = self.engine.txns.open_snapshot(&self.reg, complete);
                self.snapshot = Some(s);
                let held = held.map_or(bound, |h| h.min(bound));
                if held < s.lsn && !base::mutant!("rising-snapshot-not-told") {
                    // The snapshot is younger than what was held: purge may have waited for that alone.
                    self.engine.purge.snapshot_closed(held);
                }
                s
            }
        }
    }

    /// The snapshot that writes must respect: that of snapshot isolation, if it was taken.
    pub(crate) fn write_snapshot(&self) -> Option<Snapshot> {
        if self.isolation == Isolation::Snapshot {
            self.snapshot
        } else {
            None
        }
    }

    /// The transaction's id, given now if it has none.
    pub(crate) fn need_txid(&mut self) -> TxnId {
        if self.txid == TxnId::NONE {
            self.txid = self.engine.txns.begin(&self.reg, || self.engine.complete());
            self.interrupt.standing.set_isolation(self.isolation);
            self.interrupt.txid.store(self.txid.0, Ordering::SeqCst);
            if let Some(turn) = self.ordered {
                self.engine.locks.join_order(turn, self.txid);
            }
        }
        self.txid
    }

    /// Awaits what an operation on `t` lacked; pins stay until the operation succeeded.
    pub(crate) async fn resolve(
        &self,
        w: Wait,
        pins: &mut Pins,
        table: &str,
    ) -> Result<(), SqlError> {
        self.interrupt.check()?;
        if let Wait::Page(..) = w {
            self.waited.count();
        }
        let pager = &self.engine.pager;
        pager
            .resolve_into(w, pins)
            .await
            .map_err(|e| error::storage(e, table))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.release_locks();
        if self.txid == TxnId::NONE {
            // Purge may be waiting for the snapshot to go.
            self.close_snapshot();
            return;
        }
        if self.put_back_prepared() {
            return;
        }
        let stopping = self.engine.stopping.load(Ordering::SeqCst);
        // A start drops events that belong to nothing by itself.
        if self.reg.last().is_none() && (stopping || !self.events.is_logged()) {
            self.end_unlogged();
            return;
        }
        // The connection went away in the middle of a transaction: its rollback goes on without it.
        let mut orphan = Session::new(self.engine.clone());
        std::mem::swap(&mut orphan.reg, &mut self.reg);
        std::mem::swap(&mut orphan.undo_reservation, &mut self.undo_reservation);
        // Their files are there until nothing is left to undo in them.
        std::mem::swap(&mut orphan.own, &mut self.own);
        if self.events.is_logged() {
            std::mem::swap(&mut orphan.events, &mut self.events);
        }
        orphan.txid = std::mem::take(&mut self.txid);
        orphan.uses = std::mem::take(&mut self.uses);
        self.interrupt.tables.clear();
        orphan.snapshot = self.snapshot.take();
        orphan.ending = self.ending.take();
        let engine = self.engine.clone();
        if stopping {
            // The next start rolls it back. Its cell stays registered, so that the last checkpoint lists it.
            engine.keep(Box::new(orphan));
            return;
        }
        orphan.roll_back_behind();
    }
}
