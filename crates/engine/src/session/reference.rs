//! What foreign keys need of rows: a child holds its parent, a row's change can be undone by itself.
//!
//! A parent is held by a shared lock on its newest committed version, at every isolation level: children of one parent do not wait for each
//! other, and whoever deletes the parent or changes its key waits for them. Children are read by [`ReadMode::Children`].

use super::conflict::{Conflict, RowLock};
use super::read::current;
use super::{KeyBound, LockWait, Mark, Pins, ReadMode, RowBatch, ScanSpec, Session};
use crate::error;
use crate::lock::Mode;
use crate::schema::Table;
use base::TxnId;
use pager::OpError;
use std::sync::Arc;
use types::SqlError;

/// Whether rows are read as foreign keys read them: the newest, whatever a snapshot sees.
pub(super) fn is_of_foreign_key(mode: ReadMode) -> bool {
    matches!(mode, ReadMode::Parent | ReadMode::Children { .. })
}

impl Session {
    /// Whether a scan guards its range, and, where it does, whether its rows are locked for change.
    pub(super) fn guarding(&self, mode: ReadMode) -> Option<bool> {
        match mode {
            ReadMode::Lock { exclusive, .. } if self.guards_ranges() => Some(exclusive),
            ReadMode::Children { .. } if base::mutant!("children-not-guarded") => None,
            ReadMode::Children { exclusive } if self.guards_ranges() => Some(exclusive),
            _ => None,
        }
    }

    /// Where the transaction stands.
    #[inline]
    pub fn mark(&self) -> Mark {
        match self.txid {
            // The group of a table that is being made is another transaction's.
            TxnId::NONE => Mark {
                events: self.events_len(),
                ..Mark::START
            },
            _ => Mark {
                record: self.reg.last(),
                events: self.events_len(),
            },
        }
    }

    /// Undoes what the transaction has changed since; its locks stay. Nothing is left to undo where it was rolled back meanwhile.
    ///
    /// # Errors
    /// As [`Session::rollback`].
    pub async fn undo_since(&mut self, mark: Mark) -> Result<(), SqlError> {
        match self.txid {
            TxnId::NONE => Ok(()),
            _ if base::mutant!("refused-change-not-taken-back") => Ok(()),
            _ => self.undo_to(mark).await,
        }
    }

    /// Locks a row whose key in this index begins with that of `columns` columns, for sharing: the newest that is committed, or the transaction's
    /// own. False where there is none: none comes then until the transaction has ended, if it guards ranges.
    ///
    /// # Errors
    /// As [`Session::update`].
    pub async fn lock_parent(
        &mut self,
        t: &Arc<Table>,
        index: usize,
        columns: usize,
        key: &[u8],
    ) -> Result<bool, SqlError> {
        if base::mutant!("parent-seen-by-the-snapshot") {
            return self.has_key(t, index, key, ReadMode::Consistent).await;
        }
        self.need_txid();
        if index == 0 && columns == t.key_parts(0).len() {
            return self.lock_parent_row(t, key).await;
        }
        let there = self.has_key(t, index, key, ReadMode::Parent).await?;
        match !there && self.guards_ranges() && !base::mutant!("missing-parent-not-guarded") {
            // Looked at once more, as one may have come before the guard.
            true => self.has_child(t, index, key).await,
            false => Ok(there),
        }
    }

    /// As [`Session::lock_parent`] in an index that is not the clustered one, where one row that has the key does not count: whether there is another.
    ///
    /// # Errors
    /// As [`Session::update`].
    pub async fn lock_other_parent(
        &mut self,
        t: &Arc<Table>,
        index: usize,
        key: &[u8],
    ) -> Result<bool, SqlError> {
        self.need_txid();
        Ok(self.count_key(t, index, key, ReadMode::Parent, 2).await? == 2)
    }

    async fn lock_parent_row(&mut self, t: &Table, key: &[u8]) -> Result<bool, SqlError> {
        let mut check = self.conflict_check(t.def.indexes[0].id, LockWait::Wait);
        check.snapshot = None;
        let mut pins = Pins::new();
        loop {
            let r = t.indexes[0]
                .tree
                .get(key, |value| -> Result<bool, Conflict> {
                    let how = match base::mutant!("parent-not-held") {
                        true => RowLock::None,
                        false => RowLock::Alone(Mode::Shared),
                    };
                    let there = current(&check, t, key, value, how)?.is_some();
                    if !there && !base::mutant!("missing-parent-not-guarded") {
                        check.guard_absent(key)?;
                    }
                    Ok(there)
                });
            match r {
                Ok(Ok(there)) => return Ok(there),
                Ok(Err(b)) => self.resolve_conflict(b, &mut pins, &t.full_name).await?,
                Err(OpError::Wait(w)) => self.resolve(w, &mut pins, &t.full_name).await?,
                Err(e) => return Err(error::storage(e, &t.full_name)),
            }
        }
    }

    /// Whether there is a row whose key in this index begins so: the newest that is committed, or the transaction's own. It is locked, and where
    /// there is none, none comes until the transaction has ended, if it guards ranges.
    ///
    /// # Errors
    /// As [`Session::update`].
    pub async fn has_child(
        &mut self,
        t: &Arc<Table>,
        index: usize,
        key: &[u8],
    ) -> Result<bool, SqlError> {
        let mode = ReadMode::Children { exclusive: false };
        self.has_key(t, index, key, mode).await
    }

    /// Whether there is a row whose key begins so.
    pub(crate) async fn has_key(
        &mut self,
        t: &Arc<Table>,
        index: usize,
        key: &[u8],
        mode: ReadMode,
    ) -> Result<bool, SqlError> {
        Ok(self.count_key(t, index, key, mode, 1).await? > 0)
    }

    /// How many rows there are whose key begins so, up to `most`.
    async fn count_key(
        &mut self,
        t: &Arc<Table>,
        index: usize,
        key: &[u8],
        mode: ReadMode,
        most: usize,
    ) -> Result<usize, SqlError> {
        let spec = ScanSpec {
            index,
            lower: KeyBound::Included(key.to_vec()),
            upper: KeyBound::Included(key.to_vec()),
            backward: false,
            mode,
        };
        let mut scan = self.scan(t, spec);
        let mut batch = RowBatch::new();
        let mut found = 0;
        loop {
            let more = self
                .next_batch(&mut scan, &mut batch, 1, &mut |_| Ok(true))
                .await?;
            found += batch.len();
            if found >= most || !more {
                return Ok(found);
            }
            batch.clear();
        }
    }
}
