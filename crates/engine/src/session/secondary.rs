//! Secondary entries: gathering them for a scan, and keeping them in step with rows.

use super::conflict::{Conflict, ConflictCheck};
use super::scan::{Scan, Stop, storage};
use super::{LockWait, Pins, RowEntries, Session};
use crate::error;
use crate::lock::{Hold, Mode};
use crate::record::{DELETED, RowRef, SecValue, Undo, UndoOp};
use crate::schema::Table;
use crate::txn::{Snapshot, Status};
use crate::undo_reservation::SMALL_UNDO;
use btree::{Action, Direction, ScanPos, ScanState, Visit};
use pager::{OpError, RecordKind};
use smallvec::SmallVec;
use std::cell::Cell;
use types::SqlError;

impl Session {
    /// Fills the scan's candidates from one leaf. `locking`: entries that others are changing are wanted too. `guards`: by which the
    /// range is guarded as far as it was gathered.
    pub(super) fn gather(
        &self,
        scan: &mut Scan,
        snapshot: Option<Snapshot>,
        locking: bool,
        guards: Option<&ConflictCheck>,
        max: usize,
    ) -> Result<(), Stop> {
        let (txns, me) = (&self.engine.txns, self.txid);
        let before = guards.map(|_| scan.pos.clone());
        let Scan {
            table,
            index,
            pos,
            end,
            direction,
            candidates,
            guard,
            unique,
            ..
        } = scan;
        candidates.clear();
        let tree = &table.indexes[*index].tree;
        let space = table.space.id();
        let mut damaged = false;
        let unique_hit = Cell::new(false);
        let conflict: Cell<Option<Conflict>> = Cell::new(None);
        let note = |r: Result<(), Conflict>| match r {
            Ok(()) => true,
            Err(b) => {
                conflict.set(Some(b));
                false
            }
        };
        // The one entry of a unique value keeps others away by itself.
        let guard = guards.zip(guard.as_deref());
        let guarded_to = |edge: Option<&[u8]>| match guard {
            Some((check, g)) if !unique_hit.get() => {
                note(check.guard_to(&mut g.borrow_mut(), edge))
            }
            _ => true,
        };
        let visit = |key: &[u8], value: &[u8]| {
            let Some(v) = SecValue::read(value).filter(|v| v.split as usize <= key.len()) else {
                damaged = true;
                return Visit::StopBefore;
            };
            let w = v.writer();
            let visible = snapshot.is_none_or(|s| txns.visible(&s, w, me));
            // A deleted entry is passed over when everybody who matters agrees that it is gone.
            let ended = w == me || txns.status(w) != Status::Active;
            if v.deleted() && visible && ended {
                return Visit::Next;
            }
            if *unique && ended && !v.deleted() {
                unique_hit.set(true);
            }
            let sure = !locking && visible && !v.deleted() && snapshot.is_some();
            candidates.push(key, v.split, sure);
            if candidates.len() < max {
                return Visit::Next;
            }
            match guard {
                Some((check, g)) if !unique_hit.get() => {
                    note(check.guard_through(&mut g.borrow_mut(), key));
                }
                _ => {}
            }
            Visit::Stop
        };
        let state = tree.scan_range(pos, (*direction, end.key()), visit, guarded_to);
        let state = state.map_err(storage)?;
        if damaged {
            return Err(Stop::Storage(OpError::Corrupt {
                space,
                page: tree.root(),
                why: "a secondary entry of a wrong length",
            }));
        }
        if let (Some(b), Some(before)) = (conflict.into_inner(), before) {
            scan.candidates.clear();
            scan.pos = before;
            return Err(Stop::Conflict(b));
        }
        candidates.last = state == ScanState::End;
        Ok(())
    }

    /// Makes (or revives) the entry of a row that this transaction has just written.
    pub(super) async fn put_entry(
        &mut self,
        t: &Table,
        index: usize,
        entry: &[u8],
        split: usize,
    ) -> Result<(), SqlError> {
        let word = self.txid.0 << 8;
        self.write_entry(
            t,
            index,
            entry,
            SecValue {
                word,
                split: split as u16,
            },
            false,
        )
        .await
    }

    /// Marks the entry of a row that this transaction has just deleted or changed.
    pub(super) async fn mark_entry(
        &mut self,
        t: &Table,
        index: usize,
        entry: &[u8],
        split: usize,
    ) -> Result<(), SqlError> {
        let word = self.txid.0 << 8 | DELETED as u64;
        self.purge_work = true;
        self.write_entry(
            t,
            index,
            entry,
            SecValue {
                word,
                split: split as u16,
            },
            true,
        )
        .await
    }

    async fn write_entry(
        &mut self,
        t: &Table,
        index: usize,
        entry: &[u8],
        new: SecValue,
        must_exist: bool,
    ) -> Result<(), SqlError> {
        let id = t.index_def(index).id;
        let building = t.building(index).is_some();
        let check = self.conflict_check(id, LockWait::Wait);
        let mut pins = Pins::new();
        let mut change = std::mem::take(&mut self.change);
        let r = loop {
            let (reg, txid) = (&self.reg, self.txid);
            let rec = reg.recording();
            let r = t.indexes[index]
                .tree
                .modify(entry, &mut change, |found, c| {
                    let old = match found.value() {
                        // The build has not come to it: as it would have brought it, visible to all.
                        None if must_exist && building => {
                            if base::mutant!("mark-before-the-build-lost") {
                                return Ok(Action::Keep);
                            }
                            Some(0)
                        }
                        None if must_exist => return Err(Conflict::Damaged),
                        None => {
                            // A new place in the index: somebody may have read this range and want it to stay empty.
                            check.may_appear(entry)?;
                            None
                        }
                        Some(v) => Some(SecValue::read(v).ok_or(Conflict::Damaged)?.word),
                    };
                    if old.is_some_and(|w| (w as u8 & DELETED != 0) == must_exist) {
                        // Marked where it should be live, or live where it should be marked or absent.
                        return Err(Conflict::Damaged);
                    }
                    if old.is_some() && !must_exist {
                        check.may_appear(entry)?;
                    }
                    c.value.extend_from_slice(&new.bytes());
                    c.kind = RecordKind::Change;
                    c.txid = txid;
                    c.prev = reg.last();
                    Undo {
                        table: t.def.id,
                        index: id,
                        key: entry,
                        op: UndoOp::Entry { old },
                    }
                    .encode(&mut c.undo);
                    Ok(Action::Put)
                });
            match r {
                Ok(Ok(o)) => {
                    if let Some(c) = o.committed {
                        rec.done(c.start, t.is_lasting());
                    }
                    break Ok(());
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
        self.grew(entry.len() as u64, SMALL_UNDO);
        self.change = change;
        r
    }

    /// The entry of a row that was written is there, and with it the claim to its value: the lock of the value can go where room is short.
    #[inline]
    pub(super) fn spare_value_lock(&self, t: &Table, index: usize, prefix: &[u8]) {
        let locks = &self.engine.locks;
        if locks.is_short() && t.is_unique(index) {
            locks.forget(self.txid, t.index_def(index).id, prefix);
        }
    }

    /// Looks for another row with these values in a unique index. Gives the other row's clustered key; if there is none, nobody else can
    /// add one until the transaction ends.
    pub(crate) async fn find_duplicate(
        &mut self,
        t: &Table,
        index: usize,
        prefix: &[u8],
        own: &[u8],
    ) -> Result<Option<Vec<u8>>, SqlError> {
        if base::mutant!("unique-not-checked") {
            return Ok(None);
        }
        let id = t.index_def(index).id;
        let value_lock = self.conflict_check(id, LockWait::Wait);
        // What is locked here and was not before is not kept by one who is told of a duplicate.
        let mut new: SmallVec<[(u32, Vec<u8>); 2]> = SmallVec::new();
        while !base::mutant!("unique-value-not-locked") {
            let waited = !new.is_empty();
            match value_lock.lock_anew(prefix, Mode::Exclusive) {
                Ok(granted) => {
                    if granted && !waited {
                        new.push((id, prefix.to_vec()));
                    }
                    break;
                }
                Err(b) => {
                    if matches!(b, Conflict::Wait(_)) && !waited {
                        new.push((id, prefix.to_vec()));
                    }
                    self.resolve_conflict(b, &mut Pins::new(), &t.full_name)
                        .await?;
                }
            }
        }
        let row_lock = self.conflict_check(t.def.indexes[0].id, LockWait::Wait);
        let mut pins = Pins::new();
        let mut pos = ScanPos::at(prefix);
        loop {
            let mut stop: Option<Result<Vec<u8>, Conflict>> = None;
            let mut other_row = None;
            let mut over = false;
            let state = t.indexes[index]
                .tree
                .scan(&mut pos, Direction::Forward, |key, value| {
                    if !key.starts_with(prefix) {
                        over = true;
                        return Visit::StopBefore;
                    }
                    let Some(v) =
                        SecValue::read(value).filter(|v| v.split as usize == prefix.len())
                    else {
                        return Visit::Next;
                    };
                    let clustered = &key[v.split as usize..];
                    if let Some(other) = row_lock.other_writer(v.writer()) {
                        // Whether it stays or goes is the other transaction's to say.
                        match row_lock.lock(clustered, Some(other), Mode::Exclusive, Hold::Table) {
                            // Ours now, or to be looked at again: the entry has changed meanwhile.
                            Ok(()) => stop = Some(Err(Conflict::Retry)),
                            Err(b) => {
                                other_row = Some(clustered.to_vec());
                                stop = Some(Err(b));
                            }
                        }
                        return Visit::StopBefore;
                    }
                    if v.deleted() || clustered == own {
                        return Visit::Next;
                    }
                    stop = Some(Ok(clustered.to_vec()));
                    Visit::Stop
                });
            match (stop, state) {
                (Some(Ok(k)), _) => {
                    for (index, key) in new {
                        self.engine.locks.unlock(self.txid, index, &key);
                    }
                    return Ok(Some(k));
                }
                (Some(Err(b)), _) => {
                    if let (Conflict::Wait(_), Some(key)) = (&b, other_row) {
                        new.push((row_lock.index, key));
                    }
                    self.resolve_conflict(b, &mut pins, &t.full_name).await?;
                }
                (None, Ok(ScanState::End)) => return Ok(None),
                (None, Ok(_)) if over => return Ok(None),
                (None, Ok(_)) => {}
                (None, Err(OpError::Wait(w))) => self.resolve(w, &mut pins, &t.full_name).await?,
                (None, Err(e)) => return Err(error::storage(e, &t.full_name)),
            }
        }
    }
}

impl Table {
    /// The key of a row's entry in an index, the clustered one included; of several the first, of none nothing.
    pub fn entry_of(&self, index: usize, row: RowRef<'_>, clustered: &[u8]) -> Vec<u8> {
        if index == 0 {
            return clustered.to_vec();
        }
        let mut entries = RowEntries::default();
        entries.of_row(self, index, row, clustered);
        entries
            .iter()
            .next()
            .map_or_else(Vec::new, |e| e.key.to_vec())
    }
}
