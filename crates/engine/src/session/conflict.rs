//! What stands in the way of reading a row for change, or of changing it: another transaction's lock, or a version newer
//! than the snapshot.

use super::{Isolation, LockWait, Session};
use crate::lock::{Acquired, Bound, Hold, LockTable, Mode, OnConflict, Request, WaitEnd};
use crate::record::RowVersion;
use crate::txn::{Snapshot, Status, TxnSystem};
use base::TxnId;
use std::sync::Arc;
use types::SqlError;

/// Why an operation on a row did not go through under the latch.
pub(crate) enum Conflict {
    /// Somebody else has the row: await this, then try again.
    Wait(crate::lock::LockWait),
    /// Try again at once.
    Retry,
    /// Locked by others, and the reader did not want to wait.
    Locked,
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
    pub(crate) index: u32,
    /// Absent rows are locked too: explicit transactions from REPEATABLE READ up.
    pub(crate) holds_absent: bool,
}

impl ConflictCheck {
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
        let writer = match base::mutant!("writer-asked-for-twice") {
            true => writer.and_then(|w| self.other_writer(w)),
            false => writer,
        };
        let req = Request {
            owner: self.me,
            index: self.index,
            key,
            mode,
            writer,
            hold,
            on_conflict: self.on_conflict,
        };
        match self.locks.lock(&req) {
            Acquired::Granted | Acquired::Held => {
                // Held while another transaction writes the row cannot be: the lock would have kept it out.
                if writer.is_some() {
                    Err(Conflict::Retry)
                } else {
                    Ok(())
                }
            }
            Acquired::Retry => Err(Conflict::Retry),
            Acquired::Conflict => Err(Conflict::Locked),
            Acquired::Wait(w) => Err(Conflict::Wait(w)),
        }
    }

    /// An entry comes to be where a reader found none: ranges that others guard must not contain it.
    pub(crate) fn may_appear(&self, key: &[u8]) -> Result<(), Conflict> {
        if base::mutant!("guarded-range-not-looked-at") {
            return Ok(());
        }
        match self
            .locks
            .check_insert(self.me, self.index, key, self.on_conflict)
        {
            Acquired::Granted | Acquired::Held => Ok(()),
            Acquired::Wait(w) => Err(Conflict::Wait(w)),
            Acquired::Retry => Err(Conflict::Retry),
            Acquired::Conflict => Err(Conflict::Locked),
        }
    }

    /// A range is to stay as it is found.
    pub(crate) fn guard(&self, range: (Bound, Bound)) -> Result<(), Conflict> {
        match self
            .locks
            .guard_range(self.me, self.index, range, self.on_conflict)
        {
            Acquired::Granted | Acquired::Held => Ok(()),
            Acquired::Wait(w) => Err(Conflict::Wait(w)),
            Acquired::Retry => Err(Conflict::Retry),
            Acquired::Conflict => Err(Conflict::Locked),
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
        if self.holds_absent {
            self.lock(key, None, Mode::Exclusive, Hold::Table)
        } else {
            Ok(())
        }
    }

    /// Both, for a change of a row that is there.
    #[inline]
    pub(crate) fn may_write(&self, key: &[u8], version: RowVersion) -> Result<(), Conflict> {
        let writer = self.other_writer(version.writer());
        self.lock(key, writer, Mode::Exclusive, Hold::Row)?;
        self.check_snapshot(version)
    }
}

impl Session {
    /// For writes and locking reads of index `index`.
    pub(crate) fn conflict_check(&mut self, index: u32, wait: LockWait) -> ConflictCheck {
        let me = self.need_txid();
        let on_conflict = match wait {
            LockWait::Wait => OnConflict::Wait {
                weight: self.weight,
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
            index,
            holds_absent: self.in_transaction() && self.isolation >= Isolation::RepeatableRead,
        }
    }

    /// Awaits a lock, or turns the conflict into the error it is. After `Ok` the operation is run again.
    pub(crate) async fn resolve_conflict(
        &mut self,
        c: Conflict,
        table: &str,
    ) -> Result<(), SqlError> {
        match c {
            Conflict::Retry => {
                self.interrupt.check()?;
                std::hint::spin_loop();
                Ok(())
            }
            Conflict::Wait(w) => {
                self.interrupt.check()?;
                self.engine.counters.lock_waits.inc();
                match w.await {
                    WaitEnd::Granted => Ok(()),
                    // Where it is not to end after all, what ended the wait was meant for the statement before.
                    WaitEnd::Killed => self.interrupt.check(),
                    WaitEnd::Timeout => {
                        self.engine.counters.lock_timeouts.inc();
                        Err(self.engine.timed_out())
                    }
                    WaitEnd::Deadlock => {
                        self.engine.counters.deadlocks.inc();
                        self.rollback().await?;
                        Err(SqlError::lock_deadlock())
                    }
                }
            }
            Conflict::Locked => Err(SqlError::lock_nowait()),
            Conflict::Newer => {
                // Nothing this transaction does can succeed on that row any more.
                let name = table.rsplit('.').next().unwrap_or(table).to_string();
                self.rollback().await?;
                Err(SqlError::checkread(&name))
            }
            Conflict::Damaged => Err(crate::error::bad_row(table)),
            Conflict::Sql(e) => Err(e),
        }
    }

    /// Whether ranges that are read are guarded against inserts.
    pub(crate) fn guards_ranges(&self) -> bool {
        self.isolation == Isolation::Serializable
    }
}
