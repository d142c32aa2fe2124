//! Undoing a transaction's changes, newest first, each with a compensation record that says what is left to undo
//! (ARIES: Mohan et al., TODS 17(1), 1992, section 6). The same code rolls back losers after a crash.

use super::{Mark, Pins, Session};
use crate::error;
use crate::record::{DELETED, HEADER, RowVersion, SecValue, Undo, UndoOp};
use crate::schema::Table;
use base::Lsn;
use btree::{Action, Change};
use pager::{OpError, Purpose, Record, RecordKind, Wait};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

impl Session {
    /// How many savepoints the transaction has.
    pub fn savepoints(&self) -> usize {
        self.savepoints.len()
    }

    /// Undoes all changes of a transaction that ends with it.
    pub(super) async fn undo_all(&mut self) -> Result<(), SqlError> {
        self.undo_after(Mark::START, false).await
    }

    /// Undoes every change since, and takes off the events that came with them. A transaction that goes on keeps the locks of the rows.
    pub(crate) async fn undo_to(&mut self, to: Mark) -> Result<(), SqlError> {
        self.undo_after(to, self.in_transaction()).await
    }

    /// `keep`: the locks of the rows.
    async fn undo_after(&mut self, to: Mark, keep: bool) -> Result<(), SqlError> {
        self.cut_events(to.events);
        let to = to.record;
        let mut at = self.reg.last();
        let mut record = Vec::new();
        let mut change = Change::default();
        let mut newest = None;
        while at > to {
            self.yield_if_due().await;
            self.read_for_undo(at, &mut record).await?;
            let bytes = std::mem::take(&mut record);
            let Some(r) = Record::parse(&bytes) else {
                return Err(error::storage(OpError::LogDamaged(at), "the log"));
            };
            let h = *r.header();
            let of = |undo| Undo::decode(undo).map(|u| u.table);
            let left = base::mutant!("cascade-left-at-a-rollback")
                && *newest.get_or_insert_with(|| of(r.undo())) != of(r.undo());
            if h.kind == RecordKind::Change && !left {
                self.undo_one(r.undo(), at, h.prev, keep, &mut change)
                    .await?;
            }
            at = h.prev;
            record = bytes;
        }
        // Deleted rows that it had taken over are there again.
        self.engine.purge.release(self.txid);
        Ok(())
    }

    async fn read_for_undo(&self, at: Lsn, out: &mut Vec<u8>) -> Result<(), SqlError> {
        loop {
            match self.engine.log.read_record(at, out) {
                Ok(()) => return Ok(()),
                // A rollback is not interrupted by KILL: it is what KILL waits for.
                Err(OpError::Wait(w)) => self
                    .wait_for_undo(w, &mut Pins::new())
                    .await
                    .map_err(|e| error::storage(e, "the log"))?,
                Err(e) => return Err(error::storage(e, "the log")),
            }
        }
    }

    async fn undo_one(
        &mut self,
        undo: &[u8],
        at: Lsn,
        prev: Lsn,
        keep: bool,
        change: &mut Change,
    ) -> Result<(), SqlError> {
        let damaged = || error::storage(OpError::LogDamaged(at), "the log");
        let u = Undo::decode(undo).ok_or_else(damaged)?;
        let Some(t) = self.table_by_id(u.table) else {
            // The table went with its tablespace: a creation that did not commit.
            return Ok(());
        };
        let Some(index) = t.index_number(u.index) else {
            return Ok(());
        };
        if let UndoOp::Chain { .. } = u.op {
            return Ok(());
        }
        if index > 0 && base::mutant!("rollback-leaves-entries") {
            return Ok(());
        }
        let mut pins = Pins::new();
        let mut given_up = None;
        loop {
            let r = match u.op {
                UndoOp::OverflowPage { page } => self.free_overflow(&t, page, prev),
                _ => self.try_undo(&t, index, &u, (prev, keep), change, &mut given_up),
            };
            match r {
                Ok(()) => break,
                Err(OpError::Wait(w)) => self
                    .wait_for_undo(w, &mut pins)
                    .await
                    .map_err(|e| error::storage(e, &t.full_name))?,
                Err(OpError::LogFull(_)) => {
                    self.engine
                        .log
                        .wait_admission_patiently(Purpose::Undo)
                        .await
                        .map_err(|e| error::storage(e, "the log"))?;
                }
                // Dropped while a rollback after a crash was at it: there is nothing left to undo.
                Err(OpError::Dropped(_)) => return Ok(()),
                Err(e) => return Err(error::storage(e, &t.full_name)),
            }
        }
        if let Some(len) = given_up.filter(|_| keep && t.is_lasting()) {
            let locks = &self.engine.locks;
            match index {
                0 => locks.insert_undone(self.txid, u.index, u.key),
                // What is there still with this value, deleted by this transaction, keeps others away by itself.
                _ if base::mutant!("value-of-an-undone-insert-kept") => {}
                _ => locks.unlock(self.txid, u.index, &u.key[..len]),
            }
        }
        if index == 0 {
            match u.op {
                UndoOp::Insert => t.count_rows(-1),
                UndoOp::Update { old, deletes, .. } => match (old.deleted(), deletes) {
                    (false, true) => t.count_rows(1),
                    (true, false) => t.count_rows(-1),
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(())
    }

    /// Awaits what an undo lacked; a full disk, or a want of descriptors, is waited out.
    async fn wait_for_undo(&self, w: Wait, pins: &mut Pins) -> Result<(), OpError> {
        match self.engine.pager.resolve_into(w, pins).await {
            Err(OpError::LogFull(_)) => {
                self.engine
                    .log
                    .wait_admission_patiently(Purpose::Undo)
                    .await
            }
            Err(OpError::SpaceFull(_) | OpError::Short(_))
                if !self.engine.stopping.load(Ordering::SeqCst) =>
            {
                // Given up, it would keep its locks and its snapshot. No event tells that the device has room again.
                let clock = self.engine.pager.environment().clock.clone();
                base::environment::deadline(&*clock, clock.now_us() + pager::FULL_DISK_RETRY_US)
                    .await;
                Ok(())
            }
            r => r,
        }
    }

    /// `given_up`: how much of the key was claimed by what was undone, and is free again.
    fn try_undo(
        &self,
        t: &Table,
        index: usize,
        u: &Undo<'_>,
        (prev, keep): (Lsn, bool),
        change: &mut Change,
        given_up: &mut Option<usize>,
    ) -> Result<(), OpError> {
        let txid = self.txid;
        let rec = self.reg.recording();
        let r = t.indexes[index].tree.modify(
            u.key,
            change,
            |found, c| -> Result<Action, &'static str> {
                c.kind = match base::mutant!("compensation-lost") {
                    true => RecordKind::System,
                    false => RecordKind::Compensation,
                };
                c.txid = txid;
                c.prev = prev;
                let value = found.value().ok_or("the entry to undo is gone")?;
                match u.op {
                    UndoOp::Insert => {
                        let v = RowVersion::read(value).ok_or("no row header")?;
                        if v.writer() != txid {
                            return Err("the row to undo is another transaction's");
                        }
                        *given_up = Some(u.key.len());
                        Ok(Action::Remove)
                    }
                    UndoOp::Update {
                        old, delta, middle, ..
                    } => {
                        let v = RowVersion::read(value).ok_or("no row header")?;
                        if v.writer() != txid {
                            return Err("the row to undo is another transaction's");
                        }
                        if old.deleted() && old.writer() != txid {
                            *given_up = Some(u.key.len());
                        }
                        // Its lock was the transaction's number in it, which goes. What the transaction has found, and perhaps told of, is to stay.
                        if keep
                            && index == 0
                            && old.writer() != txid
                            && !old.deleted()
                            && t.is_lasting()
                            && !base::mutant!("row-lock-undone-with-the-row")
                        {
                            self.engine.locks.keep(txid, u.index, u.key);
                        }
                        c.value.extend_from_slice(&old.bytes());
                        c.value.extend_from_slice(middle);
                        Ok(Action::Patch {
                            head: HEADER as u16,
                            prefix: delta.prefix,
                            suffix: delta.suffix,
                        })
                    }
                    UndoOp::Entry { old } => {
                        let v = SecValue::read(value).ok_or("no entry value")?;
                        if v.writer() != txid {
                            return Err("the entry to undo is another transaction's");
                        }
                        let claimed = old.is_none_or(|word| word as u8 & DELETED != 0);
                        *given_up = claimed.then_some(v.split as usize);
                        match old {
                            None if t.list_part(index).is_some()
                                && base::mutant!("entry-of-an-element-left-at-rollback") =>
                            {
                                Ok(Action::Keep)
                            }
                            None => Ok(Action::Remove),
                            Some(word) => {
                                c.value.extend_from_slice(
                                    &SecValue {
                                        word,
                                        split: v.split,
                                    }
                                    .bytes(),
                                );
                                Ok(Action::Put)
                            }
                        }
                    }
                    UndoOp::OverflowPage { .. } | UndoOp::Chain { .. } => Ok(Action::Keep),
                }
            },
        )?;
        match r {
            Ok(o) => {
                if let Some(c) = o.committed {
                    rec.done(c.start, t.is_lasting());
                }
                Ok(())
            }
            Err(why) => Err(OpError::Corrupt {
                space: t.space.id(),
                page: t.indexes[index].tree.root(),
                why,
            }),
        }
    }

    fn free_overflow(&self, t: &Table, page: base::PageNo, prev: Lsn) -> Result<(), OpError> {
        let mut m = self.engine.pager.mtr_of(RecordKind::Compensation)?;
        t.indexes[0].tree.free_page_in(&mut m, page)?;
        m.set_txn(RecordKind::Compensation, self.txid, prev);
        let rec = self.reg.recording();
        rec.done(m.commit().start, t.is_lasting());
        Ok(())
    }

    fn table_by_id(&self, id: u32) -> Option<Arc<Table>> {
        if id == crate::schema::CATALOG_ID {
            return self.engine.ddl.catalog_table();
        }
        if let Some(u) = self.uses.iter().find(|u| u.table.def.id == id) {
            return Some(u.table.clone());
        }
        let catalog = self.engine.catalog();
        let named = catalog.tables().find(|t| t.def.id == id).cloned();
        named.or_else(|| self.engine.ddl.pending_table(id))
    }
}
