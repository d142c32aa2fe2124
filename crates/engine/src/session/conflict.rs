//! What stands in the way of reading a row for change, or of changing it: another transaction's lock, or a version newer
//! than the snapshot.

use super::guard_cursor::GuardCursor;
use super::{Isolation, LockWait, Pins, Session};
use crate::lock::{
    Acquired, Hold, LockTable, Mode, OnConflict, Request, Span, WaitEnd, is_reserved,
};
use crate::record::RowVersion;
use crate::txn::{Snapshot, Status, TxnSystem};
use base::{SpaceId, TxnId};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;
use types::error::codes;

/// What a deadlock that was lost counts in the next one, in bytes of a transaction's work: who repeats a transaction again and again is
/// not to lose again and again.
const LOST: u64 = 1 << 20;

/// Why an operation on a row did not go through under the latch.
pub(crate) enum Conflict {
    /// Somebody else has the row: await this, then try again.
    Wait(crate::lock::LockWait),
    /// Try again at once.
    Retry,
    /// Locked by others, and the reader did not want to wait.
    Locked,
    /// Locks take all the memory that they may, and the transaction has many.
    Full,
    /// A newer version than the transaction's snapshot.
    Newer,
    /// The row's bytes make no sense.
    Damaged,
    /// The caller's own error.
    Sql(SqlError),
}

/// What is needed to judge a row under its latch, copied out of the session so that closures can hold it.
pub(crate) struct ConflictCheck {
    pub(crate) txns: Arc<TxnSystem>,
    pub(crate) locks: Arc<LockTable>,
    pub(crate) me: TxnId,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) on_conflict: OnConflict,
    /// As in [`Request`].
    pub(crate) brief: bool,
    pub(crate) index: u32,
    /// Absent rows are locked too: explicit transactions from REPEATABLE READ up.
    pub(crate) holds_absent: bool,
    /// What is read with locks is guarded against inserts.
    pub(crate) guards: bool,
}

/// How a row that is there is locked, once it is known that the reader wants it.
#[derive(Clone, Copy)]
pub(crate) enum RowLock<'g> {
    /// Not at all: who reads it waits for whoever writes it.
    None,
    /// By itself.
    Alone(Mode),
    /// With the range that the scan has come through.
    Guarded(Mode, &'g RefCell<GuardCursor>),
}

/// Whether it is an index of a temporary table.
fn is_temporary(index: u32) -> bool {
    SpaceId(index).is_temporary() && !is_reserved(index)
}

fn granted(answer: Acquired) -> Result<(), Conflict> {
    match answer {
        Acquired::Granted | Acquired::Held => Ok(()),
        Acquired::Retry => Err(Conflict::Retry),
        Acquired::Conflict => Err(Conflict::Locked),
        Acquired::Full => Err(Conflict::Full),
        Acquired::Wait(w) => Err(Conflict::Wait(w)),
    }
}

impl ConflictCheck {
    /// The index is of a temporary table, which nobody else can read or change: there is nothing to lock.
    #[inline]
    fn is_alone(&self) -> bool {
        is_temporary(self.index)
    }

    /// The other active transaction that wrote this version.
    #[inline]
    pub(crate) fn other_writer(&self, writer: TxnId) -> Option<TxnId> {
        (writer != self.me && self.txns.status(writer) == Status::Active).then_some(writer)
    }

    /// Takes the row's lock (or finds out why not). `hold` as in [`Request`].
    ///
    /// `writer` is what [`ConflictCheck::other_writer`] said of the row's version, asked once for all that is decided under this
    /// latch. The writer may end at any moment: who asks twice may take a row for another's first, and then for free
    /// without having looked whether it is there.
    pub(crate) fn lock(
        &self,
        key: &[u8],
        writer: Option<TxnId>,
        mode: Mode,
        hold: Hold,
    ) -> Result<(), Conflict> {
        if self.is_alone() {
            return Ok(());
        }
        let writer = match base::mutant!("writer-asked-for-twice") {
            true => writer.and_then(|w| self.other_writer(w)),
            false => writer,
        };
        let req = self.request(key, writer, mode, hold);
        match self.locks.lock(&req) {
            // Held while another transaction writes the row cannot be: the lock would have kept it out.
            Acquired::Granted | Acquired::Held if writer.is_some() => Err(Conflict::Retry),
            other => granted(other),
        }
    }

    /// Takes a lock that is of no row, and says whether it was not held before.
    pub(crate) fn lock_no_row(&self, key: &[u8], hold: Hold) -> Result<bool, Conflict> {
        match self
            .locks
            .lock(&self.request(key, None, Mode::Exclusive, hold))
        {
            Acquired::Granted => Ok(true),
            other => granted(other).map(|()| false),
        }
    }

    /// Takes the lock of a key that no row has, and says whether it was not held before.
    pub(crate) fn lock_anew(&self, key: &[u8], mode: Mode) -> Result<bool, Conflict> {
        if self.is_alone() {
            return Ok(false);
        }
        match self.locks.lock(&self.request(key, None, mode, Hold::Claim)) {
            Acquired::Granted => Ok(true),
            other => granted(other).map(|()| false),
        }
    }

    fn request<'k>(
        &self,
        key: &'k [u8],
        writer: Option<TxnId>,
        mode: Mode,
        hold: Hold,
    ) -> Request<'k> {
        Request {
            owner: self.me,
            index: self.index,
            key,
            mode,
            writer,
            hold,
            brief: self.brief,
            on_conflict: self.on_conflict,
        }
    }

    /// The row's lock, as a reader wants it who has found the row with this `writer`.
    pub(crate) fn lock_row(
        &self,
        key: &[u8],
        writer: Option<TxnId>,
        how: RowLock<'_>,
    ) -> Result<(), Conflict> {
        match how {
            RowLock::Alone(mode) => self.lock(key, writer, mode, Hold::Table),
            // Only to wait for the other: it is in the row.
            RowLock::None if writer.is_some() => {
                self.lock(key, writer, Mode::Exclusive, Hold::Table)
            }
            RowLock::None => Ok(()),
            RowLock::Guarded(mode, cursor) => {
                let mut cursor = cursor.borrow_mut();
                let span = cursor.through(key);
                if !self.is_alone() {
                    let req = self.request(key, writer, mode, Hold::Row);
                    granted(self.locks.guard_row(&req, &span))?;
                }
                cursor.passed(span);
                Ok(())
            }
        }
    }

    /// An entry comes to be where a reader found none: ranges that others guard must not contain it.
    pub(crate) fn may_appear(&self, key: &[u8]) -> Result<(), Conflict> {
        if self.is_alone() || base::mutant!("guarded-range-not-looked-at") {
            return Ok(());
        }
        let answer = self
            .locks
            .check_insert(self.me, self.index, key, self.on_conflict);
        granted(answer)
    }

    /// A range is to stay as it is found: what the scan has come through since it was asked last, up to the edge of a leaf, or to the
    /// end of its range.
    pub(crate) fn guard_to(
        &self,
        cursor: &mut GuardCursor,
        edge: Option<&[u8]>,
    ) -> Result<(), Conflict> {
        if base::mutant!("guard-ends-with-its-last-row") {
            return Ok(());
        }
        self.guard(cursor, cursor.to_edge(edge))
    }

    /// The same up to the entry with this key.
    pub(crate) fn guard_through(
        &self,
        cursor: &mut GuardCursor,
        key: &[u8],
    ) -> Result<(), Conflict> {
        self.guard(cursor, cursor.through(key))
    }

    /// The same up to a row that is left out since others have locked it.
    pub(crate) fn guard_past(&self, cursor: &mut GuardCursor, key: &[u8]) -> Result<(), Conflict> {
        self.guard(cursor, cursor.before(key))?;
        cursor.passed(Span::point(key));
        Ok(())
    }

    fn guard(&self, cursor: &mut GuardCursor, span: Span) -> Result<(), Conflict> {
        self.guard_span(&span, cursor.rows())?;
        cursor.passed(span);
        Ok(())
    }

    fn guard_span(&self, span: &Span, rows: Option<Mode>) -> Result<(), Conflict> {
        if self.is_alone() {
            return Ok(());
        }
        let answer = self
            .locks
            .guard_range(self.me, self.index, span, rows, self.on_conflict);
        granted(answer)
    }

    /// A locking read by key that finds no row has read that there is none. Under the latch of the leaf that the key would be in.
    pub(crate) fn guard_absent(&self, key: &[u8]) -> Result<(), Conflict> {
        match self.guards {
            true => self.guard_span(&Span::point(key), None),
            false => Ok(()),
        }
    }

    /// Snapshot isolation: the newest committed version must be one that the snapshot sees.
    #[inline]
    pub(crate) fn check_snapshot(&self, version: RowVersion) -> Result<(), Conflict> {
        match &self.snapshot {
            Some(s)
                if !self.txns.visible(s, version.writer(), self.me)
                    && !base::mutant!("write-conflict-not-seen") =>
            {
                Err(Conflict::Newer)
            }
            _ => Ok(()),
        }
    }

    /// A transaction that looked for a row in order to change it, and found none, holds the place until its end, so that
    /// two of them cannot both find nothing and then both insert (where InnoDB's gap locks make that a deadlock).
    #[inline]
    pub(crate) fn hold_absent(&self, key: &[u8]) -> Result<(), Conflict> {
        if !self.holds_absent || self.is_alone() {
            return Ok(());
        }
        let req = self.request(key, None, Mode::Exclusive, Hold::Table);
        granted(self.locks.lock_absent(&req))
    }

    /// A row that its transaction [may write](Self::may_write), and does not, stays locked all the same. Under the same latch.
    pub(crate) fn keep_row(&self, key: &[u8], version: RowVersion) -> Result<(), Conflict> {
        if version.writer() == self.me || base::mutant!("row-that-stays-not-locked") {
            // Its header says so already.
            return Ok(());
        }
        self.lock(key, None, Mode::Exclusive, Hold::Table)
    }

    /// Both, for a change of a row that is there.
    #[inline]
    pub(crate) fn may_write(&self, key: &[u8], version: RowVersion) -> Result<(), Conflict> {
        let writer = self.other_writer(version.writer());
        let writer = match self.brief && base::mutant!("rolled-back-row-granted-as-committed") {
            true => None,
            false => writer,
        };
        self.lock(key, writer, Mode::Exclusive, Hold::Row)?;
        self.check_snapshot(version)
    }
}

impl Session {
    /// For writes and locking reads of index `index`.
    pub(crate) fn conflict_check(&mut self, index: u32, wait: LockWait) -> ConflictCheck {
        let me = self.need_txid();
        self.locks_lasting |= !is_temporary(index);
        let on_conflict = match wait {
            LockWait::Wait => OnConflict::Wait {
                weight: self.weight + u64::from(self.lost) * LOST,
                timeout_us: Some(self.lock_timeout_us),
            },
            _ => OnConflict::Fail,
        };
        ConflictCheck {
            txns: self.engine.txns.clone(),
            locks: self.engine.locks.clone(),
            me,
            snapshot: self.write_snapshot(),
            on_conflict,
            brief: false,
            index,
            holds_absent: self.in_transaction() && self.isolation >= Isolation::RepeatableRead,
            guards: self.guards_ranges(),
        }
    }

    /// Awaits a lock, or turns the conflict into the error it is. After `Ok` the operation is run again. The pages in `pins` are given up: the
    /// owner of the lock may need the frames to come to his end.
    pub(crate) async fn resolve_conflict(
        &mut self,
        c: Conflict,
        pins: &mut Pins,
        table: &str,
    ) -> Result<(), SqlError> {
        match c {
            Conflict::Retry => {
                self.interrupt.check()?;
                // Another thread is about to say that a transaction has ended; tasks of this one are not to stand still until then.
                self.yield_now().await;
                Ok(())
            }
            Conflict::Wait(w) => {
                if !base::mutant!("pages-pinned-over-a-lock-wait") {
                    pins.clear();
                }
                self.interrupt.check()?;
                self.engine.counters.lock_waits.inc();
                let end = {
                    let interrupt = self.interrupt.clone();
                    let _waiting = interrupt.waiting();
                    w.await
                };
                match end {
                    WaitEnd::Granted => Ok(()),
                    // Where it is not to end after all, what ended the wait was meant for the statement before.
                    WaitEnd::Killed => self.interrupt.check(),
                    WaitEnd::Timeout => {
                        self.engine.counters.lock_timeouts.inc();
                        let timed_out = self.engine.timed_out();
                        if self.engine.rollback_on_timeout.load(Ordering::Relaxed) {
                            self.rollback().await?;
                        }
                        Err(timed_out)
                    }
                    WaitEnd::Deadlock => {
                        self.engine.counters.deadlocks.inc();
                        self.rollback().await?;
                        self.lost = self.lost.saturating_add(1);
                        Err(SqlError::lock_deadlock())
                    }
                }
            }
            Conflict::Locked => Err(SqlError::lock_nowait()),
            Conflict::Full => {
                // As InnoDB does it: it is the transaction's locks that take the room, not the statement's.
                self.rollback().await?;
                Err(SqlError::fixed(codes::ER_LOCK_TABLE_FULL))
            }
            Conflict::Newer => {
                // Nothing this transaction does can succeed on that row any more. Clients know what to do after a deadlock.
                self.engine.counters.write_conflicts.inc();
                self.rollback().await?;
                Err(SqlError::lock_deadlock())
            }
            Conflict::Damaged => Err(crate::error::bad_row(table)),
            Conflict::Sql(e) => Err(e),
        }
    }

    /// Whether ranges that are read with locks are guarded against inserts.
    pub(crate) fn guards_ranges(&self) -> bool {
        matches!(
            self.isolation,
            Isolation::RepeatableRead | Isolation::Serializable
        )
    }
}
