//! Changing rows.

use super::changed_row::ChangedRow;
use super::conflict::{Conflict, ConflictCheck};
use super::insert::check_key_len;
use super::judged_row::{New, Prepared, Step, Work, keep, key_differs, new_row};
use super::outcome::{NewValues, UpdateRequests};
use super::{Inserted, LockWait, Mark, Pins, RowEntries, RowRequest, Session, Updated, Written};
use crate::error;
use crate::record::{Delta, HEADER, RowRef, RowVersion, Undo, UndoOp};
use crate::schema::Table;
use btree::Action;
use pager::{OpError, RecordKind};
use std::sync::Arc;
use types::{SqlError, Value};

/// What a change of one row came to.
pub(super) enum Changed {
    NotFound,
    Moved,
    Unchanged,
    Done,
    Duplicate { index: usize, key: Vec<u8> },
}

impl Session {
    /// Changes the row with this full clustered key. `f` gives the new values.
    ///
    /// # Errors
    /// As [`Session::update`]; what `f` fails with.
    pub async fn update_key(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        f: &mut NewValues<'_>,
    ) -> Result<Updated, SqlError> {
        let mut request =
            |row: RowRef<'_>| Ok(f(row)?.map_or(RowRequest::Keep, RowRequest::Change));
        self.change_key(t, key, &mut request).await
    }

    /// As [`update_key`](Self::update_key); `f` also says whether a row that is left is one of those that are meant.
    ///
    /// # Errors
    /// As [`Session::update`]; what `f` fails with.
    pub async fn change_key(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        f: &mut UpdateRequests<'_>,
    ) -> Result<Updated, SqlError> {
        loop {
            return Ok(match self.change_row(t, key, None, f).await? {
                // A new key is put in two steps, and the row changed between looking and the first: it is looked at again.
                Changed::Moved => continue,
                Changed::NotFound => Updated::NotFound,
                Changed::Unchanged => Updated::Unchanged,
                Changed::Done => Updated::Done,
                Changed::Duplicate { index, key } => Updated::Duplicate { index, key },
            });
        }
    }

    /// As [`change_key`](Self::change_key), where nothing has to be waited for and no index but the clustered one has a column
    /// that `f` changes. `None` where that is not so; then nothing was changed, and `f` will be called again.
    ///
    /// An error of `f` is `None` as well: whoever reports it is to see it in the order in which the long way meets things.
    pub fn update_key_now(
        &mut self,
        t: &Table,
        key: &[u8],
        f: &mut UpdateRequests<'_>,
    ) -> Option<Updated> {
        let mut row = self.changed_row();
        let done = self.try_update_key_now(t, key, f, &mut row, false);
        self.keep_changed_row(row);
        done
    }

    /// The same where the rows before and after are wanted: after [`Updated::Done`] they are in `changed`.
    pub fn update_key_now_keeping(
        &mut self,
        t: &Table,
        key: &[u8],
        f: &mut UpdateRequests<'_>,
        changed: &mut ChangedRow,
    ) -> Option<Updated> {
        self.try_update_key_now(t, key, f, changed, true)
    }

    /// Room for the rows of a change, to be given back ([`keep_changed_row`](Self::keep_changed_row)).
    pub fn changed_row(&mut self) -> ChangedRow {
        std::mem::take(&mut self.spare_row)
    }

    /// Takes it back, for the next change.
    pub fn keep_changed_row(&mut self, changed: ChangedRow) {
        if changed.is_small() {
            self.spare_row = changed;
        }
    }

    fn try_update_key_now(
        &mut self,
        t: &Table,
        key: &[u8],
        f: &mut UpdateRequests<'_>,
        row: &mut ChangedRow,
        keep_old: bool,
    ) -> Option<Updated> {
        if self.worked + 1 >= super::WORK_PER_YIELD {
            return None;
        }
        self.need_txid();
        let mut work = Work {
            keep_old,
            row: std::mem::take(row),
            ..Work::default()
        };
        // Who has to wait does so on the long way, and does not stand in the queue twice.
        let done = self.change_once(t, key, None, LockWait::NoWait, f, &mut work);
        *row = work.row;
        let done = match done {
            Ok(Ok(Step::Done)) => Updated::Done,
            Ok(Ok(Step::NotFound)) => Updated::NotFound,
            Ok(Ok(Step::Unchanged)) => Updated::Unchanged,
            _ => return None,
        };
        self.worked += 1;
        if done == Updated::Done {
            self.engine.counters.rows_updated.inc();
        }
        Some(done)
    }

    /// Changes a row that was read in version `seen`.
    ///
    /// # Errors
    /// 1205: a lock was not to be had in time; 1213: a deadlock, or, under snapshot isolation, a version that the snapshot does not see: the
    /// transaction was rolled back; 1317; 3024; 3572: locked, and the statement does not wait; what the storage fails with. 1118: the row is
    /// too long.
    pub async fn update(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        seen: RowVersion,
        new: &[Value],
    ) -> Result<Written, SqlError> {
        let mut f = |_: RowRef<'_>| Ok(RowRequest::Change(new.to_vec()));
        Ok(match self.change_row(t, key, Some(seen), &mut f).await? {
            Changed::NotFound => Written::Gone,
            Changed::Moved => Written::Moved,
            Changed::Unchanged | Changed::Done => Written::Done,
            Changed::Duplicate { index, key } => Written::Duplicate { index, key },
        })
    }

    pub(super) async fn change_row(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        seen: Option<RowVersion>,
        f: &mut UpdateRequests<'_>,
    ) -> Result<Changed, SqlError> {
        self.yield_if_due().await;
        self.need_txid();
        let mark = self.mark();
        let mut work = Work {
            keep_old: t.indexes.len() > 1,
            row: self.changed_row(),
            ..Work::default()
        };
        loop {
            let step = self.try_change(t, key, seen, f, &mut work).await?;
            match step {
                Step::Done => break,
                Step::Stale => {
                    self.undo_to(mark).await?;
                    work.prepared = None;
                }
                Step::NotFound | Step::Moved | Step::Unchanged => {
                    // Overflow pages written in vain go again.
                    if work.prepared.is_some() {
                        self.undo_to(mark).await?;
                    }
                    return Ok(match step {
                        Step::NotFound => Changed::NotFound,
                        Step::Moved => Changed::Moved,
                        _ => Changed::Unchanged,
                    });
                }
                Step::Outside(version, row) => {
                    let outside = self.read_outside(t, &row).await?;
                    let request = f(t.layout.row(&row).with_outside(&outside));
                    let stays = match &request {
                        Ok(RowRequest::Skip) => self.keeps_passed(),
                        Ok(RowRequest::Keep) | Err(_) => true,
                        Ok(RowRequest::Change(_)) => false,
                    };
                    // Judged without the latch: that counts for this version alone.
                    if stays && !self.lock_version(t, key, version).await? {
                        continue;
                    }
                    match request? {
                        RowRequest::Skip | RowRequest::Keep => return Ok(Changed::Unchanged),
                        RowRequest::Change(values)
                            if key_differs(t, key, &values, &mut work.row.key) =>
                        {
                            self.undo_to(mark).await?;
                            // Boxed, as it is rare and long: what every change carries along stays small.
                            return Box::pin(self.rekey(t, key, version, &values, mark)).await;
                        }
                        RowRequest::Change(values) => {
                            self.undo_to(mark).await?;
                            let row = self.build_row(t, &values).await?;
                            work.prepared = Some(Prepared {
                                version,
                                values,
                                row,
                            });
                        }
                    }
                }
                Step::Long(version, values) => {
                    self.undo_to(mark).await?;
                    let row = self.build_row(t, &values).await?;
                    work.prepared = Some(Prepared {
                        version,
                        values,
                        row,
                    });
                }
                Step::Rekey(version, values) => {
                    self.undo_to(mark).await?;
                    return Box::pin(self.rekey(t, key, version, &values, mark)).await;
                }
            }
        }
        self.engine.counters.rows_updated.inc();
        if t.indexes.len() > 1 {
            let values = work.prepared.as_ref().map(|p| &p.values[..]);
            let (old, new) = (
                (&work.row.old[..], work.version),
                (&work.row.new[..], values),
            );
            let r = self.update_entries(t, key, old, new, mark).await?;
            if let Some((index, key)) = r {
                return Ok(Changed::Duplicate { index, key });
            }
        }
        if work.version.external() && !base::mutant!("old-chain-leaked") {
            self.release_overflow_columns(t, &work.row.old).await?;
        }
        self.keep_changed_row(work.row);
        Ok(Changed::Done)
    }

    async fn try_change(
        &mut self,
        t: &Table,
        key: &[u8],
        seen: Option<RowVersion>,
        f: &mut UpdateRequests<'_>,
        work: &mut Work,
    ) -> Result<Step, SqlError> {
        let mut pins = Pins::new();
        loop {
            match self.change_once(t, key, seen, LockWait::Wait, f, work) {
                Ok(Ok(step)) => return Ok(step),
                Ok(Err(b)) => self.resolve_conflict(b, &mut pins, &t.full_name).await?,
                Err(OpError::Wait(w)) => self.resolve(w, &mut pins, &t.full_name).await?,
                Err(e) => return Err(error::storage(e, &t.full_name)),
            }
        }
    }

    /// Changes the row under its page's latch, or finds out why that cannot be done now.
    fn change_once(
        &mut self,
        t: &Table,
        key: &[u8],
        seen: Option<RowVersion>,
        wait: LockWait,
        f: &mut UpdateRequests<'_>,
        work: &mut Work,
    ) -> Result<Result<Step, Conflict>, OpError> {
        let id = t.def.indexes[0].id;
        let check = ConflictCheck {
            brief: !self.in_transaction(),
            ..self.conflict_check(id, wait)
        };
        // A ends_now statement ends as soon as it has looked at its row.
        let ends_now = wait == LockWait::NoWait && !self.in_transaction();
        let keeps_passed = self.keeps_passed();
        let (engine, reg, txid) = (&self.engine, &self.reg, self.txid);
        let change = &mut self.change;
        let mut step = Step::Done;
        let rec = reg.recording();
        let r = t.indexes[0].tree.modify(key, change, |found, c| {
            let Some(value) = found.value() else {
                check.hold_absent(key)?;
                step = Step::NotFound;
                return Ok(Action::Keep);
            };
            let v = RowVersion::read(value).ok_or(Conflict::Damaged)?;
            check.may_write(key, v)?;
            if v.deleted() {
                check.hold_absent(key)?;
                step = Step::NotFound;
                return Ok(Action::Keep);
            }
            if seen.is_some_and(|s| s != v) {
                step = Step::Moved;
                return Ok(Action::Keep);
            }
            let old = &value[HEADER..];
            if !t.layout.fits(old, v.external()) {
                return Err(Conflict::Damaged);
            }
            let made = new_row(t, key, (v, old), f, work);
            if !ends_now {
                keep(&check, key, (v, old), (&made, keeps_passed), work)?;
            }
            match made? {
                New::Row => {}
                New::Step(Step::Unchanged) if work.touches => {}
                New::Step(s) => {
                    if matches!(s, Step::Outside(..)) {
                        engine.txns.hold(reg, || engine.complete());
                    }
                    step = s;
                    return Ok(Action::Keep);
                }
            }
            let new = &work.row.new;
            let delta = Delta::between(old, new);
            c.value
                .extend_from_slice(&RowVersion::new(txid, work.flags).bytes());
            c.value.extend_from_slice(delta.middle(new));
            c.stamp = Some(8);
            c.kind = RecordKind::Change;
            c.txid = txid;
            c.prev = reg.last();
            let op = UndoOp::Update {
                deletes: false,
                old: v,
                delta,
                middle: delta.middle(old),
            };
            Undo {
                table: t.def.id,
                index: id,
                key,
                op,
            }
            .encode(&mut c.undo);
            work.version = v;
            if work.keep_old || v.external() {
                work.row.old.clear();
                work.row.old.extend_from_slice(old);
            }
            step = match work.touches {
                true => Step::Unchanged,
                false => Step::Done,
            };
            Ok(Action::Patch {
                head: HEADER as u16,
                prefix: delta.prefix,
                suffix: delta.suffix,
            })
        })?;
        Ok(match r {
            Ok(o) => {
                if let Some(c) = o.committed {
                    rec.done(c.start, t.is_lasting());
                    // Its header is the lock now.
                    if engine.locks.is_short() {
                        engine.locks.forget(txid, id, key);
                    }
                    t.note_change(key);
                    self.interrupt.standing.changed();
                    self.engine.row_changed(t, 0);
                    self.grew((c.end.0 - c.start.0) / 2, c.end.0 - c.start.0);
                }
                Ok(step)
            }
            Err(b) => Err(b),
        })
    }

    /// The clustered key changes: the old row goes and a new one comes.
    async fn rekey(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        seen: RowVersion,
        values: &[Value],
        mark: Mark,
    ) -> Result<Changed, SqlError> {
        match self.delete(t, key, seen).await? {
            Written::Done => {}
            Written::Gone => return Ok(Changed::NotFound),
            _ => return Ok(Changed::Moved),
        }
        self.observe_values(t, values);
        match self.insert(t, values).await? {
            Inserted::Done => Ok(Changed::Done),
            Inserted::Duplicate { index, key } => {
                self.undo_to(mark).await?;
                t.count_rows(1);
                Ok(Changed::Duplicate { index, key })
            }
        }
    }

    /// Brings the secondary entries in step with a changed row.
    async fn update_entries(
        &mut self,
        t: &Table,
        key: &[u8],
        (old, old_version): (&[u8], RowVersion),
        (new, values): (&[u8], Option<&[Value]>),
        mark: Mark,
    ) -> Result<Option<(usize, Vec<u8>)>, SqlError> {
        let outside = if old_version.external() {
            self.read_outside(t, old).await?
        } else {
            Vec::new()
        };
        let old = t.layout.row(old).with_outside(&outside);
        let (mut was, mut is) = (RowEntries::default(), RowEntries::default());
        for index in 1..t.indexes.len() {
            was.of_row(t, index, old, key);
            match values {
                None => is.of_row(t, index, t.layout.row(new), key),
                Some(values) => is.of_values(t, index, values, key),
            }
            if was.are(&is) {
                continue;
            }
            for e in is.iter().filter(|e| !was.has(e.key)) {
                check_key_len(e.key)?;
                if t.is_unique(index)
                    && !e.null
                    && let Some(other) = self.find_duplicate(t, index, e.values(), key).await?
                    && t.refuses_duplicate(index, e.values())
                {
                    self.undo_to(mark).await?;
                    return Ok(Some((index, other)));
                }
                if t.counting_index() == Some(index) {
                    let number = t.key_parts(index)[0].decode(e.key).and_then(|(v, _)| v);
                    let number = number.as_ref().map_or(0, crate::counters::number);
                    self.observe_auto_increment(t, number);
                }
            }
            for e in was.iter().filter(|e| !is.has(e.key)) {
                if base::mutant!("element-that-went-keeps-its-entry")
                    && t.list_part(index).is_some()
                {
                    break;
                }
                self.mark_entry(t, index, e.key, e.split).await?;
            }
            for e in is.iter().filter(|e| !was.has(e.key)) {
                self.put_entry(t, index, e.key, e.split).await?;
                self.spare_value_lock(t, index, e.values());
            }
        }
        Ok(None)
    }
}
