//! Inserting rows.

use super::conflict::Conflict;
use super::overflow_columns::BuiltRow;
use super::{Inserted, LockWait, Mark, Pins, RowEntries, Session};
use crate::error;
use crate::lock::{Hold, Mode};
use crate::record::{Delta, EXTERNAL, HEADER, RowVersion, Undo, UndoOp};
use crate::schema::Table;
use crate::undo_reservation::SMALL_UNDO;
use btree::Action;
use pager::{OpError, RecordKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::keyenc::encode_key;
use types::{SqlError, Value};

/// What an attempt to put a row into the clustered index came to.
enum Put {
    /// It is there; the bytes of a deleted row it took the place of, if that had overflow columns.
    Done(Option<Vec<u8>>),
    Duplicate,
}

impl Session {
    /// Inserts a row whose values have the columns' types. On `Duplicate` nothing was changed.
    ///
    /// # Errors
    /// As [`Session::update`]; 1118: the row is too long.
    pub async fn insert(&mut self, t: &Arc<Table>, values: &[Value]) -> Result<Inserted, SqlError> {
        let key = self.new_key(t, values);
        self.insert_at(t, &key, values).await
    }

    /// The same for a row with this clustered key: that of its values, or, in a table without one, a number that no other row has.
    pub(crate) async fn insert_at(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        values: &[Value],
    ) -> Result<Inserted, SqlError> {
        self.yield_if_due().await;
        self.need_txid();
        let mark = self.mark();
        let row = self.build_row(t, values).await?;
        match self.put_row(t, key, &row).await? {
            Put::Duplicate => {
                self.undo_to(mark).await?;
                let key = key.to_vec();
                return Ok(Inserted::Duplicate { index: 0, key });
            }
            Put::Done(old) => {
                t.note_change(key);
                self.interrupt.standing.changed();
                if let Some(old) = old {
                    self.release_overflow_columns(t, &old).await?;
                }
            }
        }
        if let Some((index, other)) = self.insert_entries(t, key, &row, values, mark).await? {
            return Ok(Inserted::Duplicate { index, key: other });
        }
        self.engine.row_changed(t, 1);
        self.engine.counters.rows_inserted.inc();
        Ok(Inserted::Done)
    }

    /// The clustered key of a new row.
    pub(crate) fn new_key(&self, t: &Table, values: &[Value]) -> Vec<u8> {
        let mut key = Vec::with_capacity(32);
        if t.has_hidden_key() {
            let id = t.live.row_id.fetch_add(1, Ordering::Relaxed);
            encode_key(t.key_parts(0), [types::ValueRef::UInt(id)], &mut key);
        } else {
            encode_key(
                t.key_parts(0),
                t.index_columns(0).map(|c| values[c].as_ref()),
                &mut key,
            );
        }
        key
    }

    async fn put_row(&mut self, t: &Table, key: &[u8], row: &BuiltRow) -> Result<Put, SqlError> {
        let id = t.def.indexes[0].id;
        let check = self.conflict_check(id, LockWait::Wait);
        let mut pins = Pins::new();
        let mut change = std::mem::take(&mut self.change);
        let header = RowVersion::new(self.txid, if row.external { EXTERNAL } else { 0 }).bytes();
        let mut waited = false;
        let done = loop {
            let (reg, txid) = (&self.reg, self.txid);
            let mut duplicate = false;
            let mut replaced = None;
            let rec = reg.recording();
            let r = t.indexes[0].tree.modify(key, &mut change, |found, c| {
                // Asked again after a split: what was there before may have changed or be gone.
                (duplicate, replaced) = (false, None);
                let mut undo = UndoOp::Insert;
                match found.value() {
                    None => {
                        check.may_appear(key)?;
                        check.lock(key, None, Mode::Exclusive, Hold::Row)?;
                    }
                    Some(value) => {
                        let v = RowVersion::read(value).ok_or(Conflict::Damaged)?;
                        let writer = check.other_writer(v.writer());
                        if writer.is_none() && !v.deleted() {
                            duplicate = true;
                            return Ok(Action::Keep);
                        }
                        check.lock(key, writer, Mode::Exclusive, Hold::Row)?;
                        check.check_snapshot(v)?;
                        check.may_appear(key)?;
                        let old = &value[HEADER..];
                        if !t.layout.fits(old, v.external()) {
                            return Err(Conflict::Damaged);
                        }
                        let delta = Delta::between(old, &row.bytes);
                        if v.external() {
                            replaced = Some(old.to_vec());
                        }
                        undo = UndoOp::Update {
                            deletes: false,
                            old: v,
                            delta,
                            middle: delta.middle(old),
                        };
                    }
                }
                c.value.extend_from_slice(&header);
                c.value.extend_from_slice(&row.bytes);
                c.stamp = Some(8);
                c.kind = RecordKind::Change;
                c.txid = txid;
                c.prev = reg.last();
                Undo {
                    table: t.def.id,
                    index: id,
                    key,
                    op: undo,
                }
                .encode(&mut c.undo);
                Ok(Action::Put)
            });
            match r {
                Ok(Ok(o)) => {
                    if let Some(c) = o.committed {
                        rec.done(c.start, t.is_lasting());
                    }
                    break Ok(if duplicate {
                        if waited {
                            self.engine.locks.unlock(self.txid, id, key);
                        }
                        Put::Duplicate
                    } else {
                        Put::Done(replaced)
                    });
                }
                Ok(Err(b)) => {
                    drop(rec);
                    // What was waited for as an inserter is not kept by one who does not insert: the next one is not to wait for it.
                    waited |=
                        matches!(b, Conflict::Wait(_)) && !base::mutant!("loser-keeps-its-claim");
                    if let Err(e) = self.resolve_conflict(b, &mut pins, &t.full_name).await {
                        break Err(e);
                    }
                }
                Err(OpError::Wait(w)) => {
                    drop(rec);
                    if let Err(e) = self.resolve(w, &mut pins, &t.full_name).await {
                        break Err(e);
                    }
                }
                Err(e) => break Err(error::storage(e, &t.full_name)),
            }
        };
        self.grew(64, SMALL_UNDO);
        self.change = change;
        done
    }

    /// Whether the row that an insert of `values` met, by its unique index `index` and with this clustered key, is there still. It is
    /// locked as for reading then, as InnoDB does it: nobody may take it away before the transaction that was told of it has ended. A
    /// statement of its own only waits for those who have it.
    ///
    /// # Errors
    /// As [`Session::update`].
    pub async fn lock_duplicate(
        &mut self,
        t: &Arc<Table>,
        index: usize,
        key: &[u8],
        values: &[Value],
    ) -> Result<bool, SqlError> {
        let (mut wanted, mut there) = (RowEntries::default(), RowEntries::default());
        wanted.of_values(t, index, values, key);
        let hold = match self.in_transaction() {
            true => Hold::Table,
            false => Hold::Row,
        };
        let check = self.conflict_check(t.def.indexes[0].id, LockWait::Wait);
        let mut pins = Pins::new();
        loop {
            let r = t.indexes[0].tree.get(key, |value| {
                let Some(value) = value else { return Ok(false) };
                let v = RowVersion::read(value).ok_or(Conflict::Damaged)?;
                let writer = check.other_writer(v.writer());
                if writer.is_none() && v.deleted() {
                    return Ok(false);
                }
                check.lock(key, writer, Mode::Shared, hold)?;
                let row = &value[HEADER..];
                if !t.layout.fits(row, v.external()) {
                    return Err(Conflict::Damaged);
                }
                // Long columns are elsewhere, and only the beginnings of such are in keys: whoever asks again finds out.
                if index == 0 || v.external() {
                    return Ok(true);
                }
                there.of_row(t, index, t.layout.row(row), key);
                Ok(wanted.iter().any(|e| there.has(e.key)))
            });
            match r {
                Ok(Ok(there)) => return Ok(there),
                Ok(Err(b)) => self.resolve_conflict(b, &mut pins, &t.full_name).await?,
                Err(OpError::Wait(w)) => self.resolve(w, &mut pins, &t.full_name).await?,
                Err(e) => return Err(error::storage(e, &t.full_name)),
            }
        }
    }

    /// Makes the entries of a new row; on a duplicate undoes everything since `mark` and names it.
    async fn insert_entries(
        &mut self,
        t: &Table,
        key: &[u8],
        row: &BuiltRow,
        values: &[Value],
        mark: Mark,
    ) -> Result<Option<(usize, Vec<u8>)>, SqlError> {
        if t.indexes.len() == 1 {
            return Ok(None);
        }
        let mut entries = RowEntries::default();
        for index in 1..t.indexes.len() {
            match row.external {
                // The row's own long columns are in overflow pages: take the values.
                true => entries.of_values(t, index, values, key),
                false => entries.of_row(t, index, t.layout.row(&row.bytes), key),
            }
            for e in entries.iter() {
                check_key_len(e.key)?;
                if t.is_unique(index)
                    && !e.null
                    && let Some(other) = self.find_duplicate(t, index, e.values(), key).await?
                    && t.refuses_duplicate(index, e.values())
                {
                    self.undo_to(mark).await?;
                    return Ok(Some((index, other)));
                }
                self.put_entry(t, index, e.key, e.split).await?;
                self.spare_value_lock(t, index, e.values());
            }
        }
        Ok(None)
    }
}

/// Keys that no page could hold are refused before anything is written.
pub(super) fn check_key_len(entry: &[u8]) -> Result<(), SqlError> {
    if entry.len() > btree::MAX_KEY {
        Err(SqlError::key_too_long(3072))
    } else {
        Ok(())
    }
}
