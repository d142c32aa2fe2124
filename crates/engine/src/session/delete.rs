//! Deleting rows: marking them, for older snapshots, until purge takes them out.

use super::conflict::Conflict;
use super::{LockWait, Pins, RowEntries, RowRequest, Session, Written};
use crate::error;
use crate::record::{DELETED, EXTERNAL, HEADER, RowRef, RowVersion, Undo, UndoOp};
use crate::schema::Table;
use crate::undo_reservation::SMALL_UNDO;
use btree::Action;
use pager::{OpError, RecordKind};
use std::sync::Arc;
use types::SqlError;

/// Says whether a row is to be deleted; one that is not stays locked. Called under the page latch: must only look.
pub type Doomed<'f> = dyn FnMut(RowRef<'_>) -> Result<bool, SqlError> + Send + 'f;

/// The same for who says more of rows that are left.
pub type DeleteRequests<'f> = dyn FnMut(RowRef<'_>) -> Result<RowRequest<()>, SqlError> + Send + 'f;

enum Step {
    NotFound,
    Moved,
    Spared,
    Outside(RowVersion, Vec<u8>),
    Done,
}

impl Session {
    /// Deletes a row that was read in version `seen`.
    ///
    /// # Errors
    /// As [`Session::update`].
    pub async fn delete(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        seen: RowVersion,
    ) -> Result<Written, SqlError> {
        let mut yes = |_: RowRef<'_>| Ok(RowRequest::Change(()));
        Ok(match self.delete_row(t, key, Some(seen), &mut yes).await? {
            Step::NotFound => Written::Gone,
            Step::Done | Step::Spared => Written::Done,
            Step::Moved | Step::Outside(..) => Written::Moved,
        })
    }

    /// Deletes the row with this full clustered key, if there is one and `f` says so.
    ///
    /// # Errors
    /// As [`Session::update`]; what `f` fails with.
    pub async fn delete_key(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        f: &mut Doomed<'_>,
    ) -> Result<bool, SqlError> {
        let mut request = |row: RowRef<'_>| {
            Ok(match f(row)? {
                true => RowRequest::Change(()),
                false => RowRequest::Keep,
            })
        };
        self.remove_key(t, key, &mut request).await
    }

    /// As [`delete_key`](Self::delete_key); `f` also says whether a row that is left is one of those that are meant.
    ///
    /// # Errors
    /// As [`Session::update`]; what `f` fails with.
    pub async fn remove_key(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        f: &mut DeleteRequests<'_>,
    ) -> Result<bool, SqlError> {
        let mut seen = None;
        loop {
            match self.delete_row(t, key, seen, f).await? {
                Step::Done => return Ok(true),
                Step::NotFound | Step::Spared => return Ok(false),
                Step::Moved => seen = None,
                Step::Outside(version, row) => {
                    let outside = self.read_outside(t, &row).await?;
                    let request = f(t.layout.row(&row).with_outside(&outside));
                    let stays = match &request {
                        Ok(RowRequest::Skip) => self.keeps_passed(),
                        Ok(RowRequest::Keep) | Err(_) => true,
                        Ok(RowRequest::Change(())) => false,
                    };
                    if stays && !self.lock_version(t, key, version).await? {
                        continue;
                    }
                    match request? {
                        RowRequest::Skip | RowRequest::Keep => return Ok(false),
                        RowRequest::Change(()) => seen = Some(version),
                    }
                }
            }
        }
    }

    async fn delete_row(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        seen: Option<RowVersion>,
        f: &mut DeleteRequests<'_>,
    ) -> Result<Step, SqlError> {
        self.yield_if_due().await;
        self.need_txid();
        let mut old = Vec::new();
        let mut version = RowVersion::default();
        let step = self
            .mark_row(t, key, seen, f, &mut old, &mut version)
            .await?;
        if !matches!(step, Step::Done) {
            return Ok(step);
        }
        t.note_change(key);
        self.interrupt.standing.changed();
        self.purge_work = true;
        if t.indexes.len() > 1 {
            let outside = if version.external() {
                self.read_outside(t, &old).await?
            } else {
                Vec::new()
            };
            let row = t.layout.row(&old).with_outside(&outside);
            let mut entries = RowEntries::default();
            for index in 1..t.indexes.len() {
                if base::mutant!("delete-leaves-entries") {
                    break;
                }
                entries.of_row(t, index, row, key);
                for e in entries.iter() {
                    self.mark_entry(t, index, e.key, e.split).await?;
                }
            }
        }
        self.engine.row_changed(t, -1);
        self.engine.counters.rows_deleted.inc();
        Ok(Step::Done)
    }

    async fn mark_row(
        &mut self,
        t: &Table,
        key: &[u8],
        seen: Option<RowVersion>,
        f: &mut DeleteRequests<'_>,
        old: &mut Vec<u8>,
        version: &mut RowVersion,
    ) -> Result<Step, SqlError> {
        let id = t.def.indexes[0].id;
        let check = self.conflict_check(id, LockWait::Wait);
        let keeps_passed = self.keeps_passed();
        let mut pins = Pins::new();
        let mut change = std::mem::take(&mut self.change);
        let done = loop {
            let (engine, reg, txid) = (&self.engine, &self.reg, self.txid);
            let mut step = Step::Done;
            let rec = reg.recording();
            let r = t.indexes[0].tree.modify(key, &mut change, |found, c| {
                let Some(value) = found.value() else {
                    check.hold_absent(key)?;
                    step = Step::NotFound;
                    return Ok(Action::Keep);
                };
                let v = RowVersion::read(value).ok_or(Conflict::Damaged)?;
                check.may_write(key, v)?;
                let row = &value[HEADER..];
                step = if v.deleted() {
                    check.hold_absent(key)?;
                    Step::NotFound
                } else if seen.is_some_and(|s| s != v) {
                    Step::Moved
                } else if !t.layout.fits(row, v.external()) {
                    return Err(Conflict::Damaged);
                } else if seen.is_none() && v.external() {
                    engine.txns.hold(reg, || engine.complete());
                    Step::Outside(v, row.to_vec())
                } else if seen.is_none() {
                    let request = f(t.layout.row(row));
                    match &request {
                        Ok(RowRequest::Change(())) => {}
                        Ok(RowRequest::Skip) if !keeps_passed => {}
                        _ => check.keep_row(key, v)?,
                    }
                    match request.map_err(Conflict::Sql)? {
                        RowRequest::Change(()) => Step::Done,
                        RowRequest::Skip | RowRequest::Keep => Step::Spared,
                    }
                } else {
                    Step::Done
                };
                if !matches!(step, Step::Done) {
                    return Ok(Action::Keep);
                }
                old.clear();
                old.extend_from_slice(row);
                *version = v;
                let flags = DELETED | if v.external() { EXTERNAL } else { 0 };
                c.value
                    .extend_from_slice(&RowVersion::new(txid, flags).bytes());
                c.stamp = Some(8);
                c.kind = RecordKind::Change;
                c.txid = txid;
                c.prev = reg.last();
                let op = UndoOp::delete(v, row);
                Undo {
                    table: t.def.id,
                    index: id,
                    key,
                    op,
                }
                .encode(&mut c.undo);
                Ok(Action::Patch {
                    head: HEADER as u16,
                    prefix: row.len() as u16,
                    suffix: 0,
                })
            });
            match r {
                Ok(Ok(o)) => {
                    if let Some(c) = o.committed {
                        rec.done(c.start, t.is_lasting());
                        // Its header is the lock now.
                        if engine.locks.is_short() {
                            engine.locks.forget(txid, id, key);
                        }
                    }
                    break Ok(step);
                }
                Ok(Err(b)) => {
                    drop(rec);
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
}
