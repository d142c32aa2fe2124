//! The purge worker: takes out what committed transactions deleted, once no snapshot needs it, and frees the overflow pages they gave
//! up. Driven by events (a commit that left work, the close of the snapshot that stood in the way); the work itself is
//! read from the log, by walking the transaction's records backwards.

use crate::engine::Engine;
use crate::purge_queue::{PurgeItem, done_note};
use crate::record::{DELETED, HEADER, RowVersion, SecValue, Undo, UndoOp};
use crate::schema::Table;
use base::environment::deadline;
use base::{Lsn, SpaceId, TxnId};
use btree::{Action, Change};
use pager::{OpError, Purpose, Record, RecordKind};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A row is looked at again so often when it changes hands between two looks.
const TRIES: u32 = 8;

/// Where fewer wait than this, others are let come for a while, so that they are taken together: on a busy server the thread would be woken by each
/// commit otherwise.
const FEW: usize = 64;
/// That while, in microseconds.
const REST_US: u64 = 2_000;

/// Pauses between tries of what the device has refused, in microseconds.
const AGAIN_US: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

impl Engine {
    /// The purge task.
    pub(crate) async fn run_purge(self: Arc<Self>) {
        loop {
            if let Some(to) = self.purge.found_is_done() {
                let body = done_note(to);
                // What cannot be said is found again: the log is closed.
                let _ =
                    self.pager
                        .append(RecordKind::Note, TxnId::NONE, Lsn::NONE, &body, |_, _| {});
            }
            let mut items = Vec::new();
            let go = self
                .purge
                .event
                .wait_for(|| {
                    if self.stopping.load(Ordering::Acquire) {
                        return Some(false);
                    }
                    if self.purge.len() == 0 {
                        return None;
                    }
                    items = self
                        .purge
                        .pop_ready(|| self.txns.advance(|| self.complete()));
                    let early = || self.purge.first().is_some_and(|c| c >= self.complete());
                    (!items.is_empty() || early()).then_some(true)
                })
                .await;
            if !go {
                return;
            }
            if items.is_empty()
                && let Some(commit) = self.purge.first()
                && self.log.wait_complete(Lsn(commit.0 + 1)).await.is_err()
            {
                // A commit that overtook others waited for them to be complete; now nothing will be any more.
                return;
            }
            for item in &items {
                if self.stopping.load(Ordering::Acquire) || self.log.failure().is_some() {
                    // What is left stays in `current`, where the last checkpoint finds it.
                    return;
                }
                match self.purge_item(item).await {
                    Ok(None) => {}
                    Ok(Some(by)) => {
                        let active = || self.txns.is_active(by);
                        self.purge.hold(by, *item, active);
                    }
                    Err(_) if self.stopping.load(Ordering::Acquire) => return,
                    // The log is closed or damaged: what was deleted stays, marked.
                    Err(e) => {
                        self.counters.failed_purges.inc();
                        self.notices.add(format_args!(
                            "what transaction {} deleted stays in the files, marked: {e}",
                            item.txid.0
                        ));
                    }
                }
                self.purge.finished_one();
            }
            self.defragmenter.note_change();
            // The oldest of them is what may have kept the log: a later one alone is too young to be it.
            if let Some(first) = items.iter().map(|i| i.first).min() {
                self.log.needs_less(first);
                if self.purge.len() < FEW {
                    // Whoever stops the engine waits for it so long at most.
                    let clock = &*self.environment().clock;
                    deadline(clock, clock.now_us() + REST_US).await;
                }
            }
        }
    }

    /// As [`purge_one`](Self::purge_one), tried again where the device refuses: nobody waits for it, and what is given up is lost
    /// to the file.
    async fn purge_item(&self, item: &PurgeItem) -> Result<Option<TxnId>, OpError> {
        let mut pauses = AGAIN_US.into_iter();
        loop {
            let failed = match self.purge_one(item).await {
                Err(e @ (OpError::Io(_) | OpError::Short(_))) => e,
                r => return r,
            };
            if self.log.failure().is_some() || self.stopping.load(Ordering::Acquire) {
                return Err(failed);
            }
            // What is short now may be there again at any time, a broken device is not waited for. No event tells of either.
            let pause_us = match (pauses.next(), &failed) {
                (Some(us), _) => us,
                (None, OpError::Short(_)) => pager::FULL_DISK_RETRY_US,
                (None, _) => return Err(failed),
            };
            self.pause(pause_us, &self.purge.event).await;
        }
    }

    /// Takes out what a transaction left; a running one that has taken over some of it, if there is one: all of the item is
    /// to be tried again after that.
    async fn purge_one(&self, item: &PurgeItem) -> Result<Option<TxnId>, OpError> {
        let mut at = item.last;
        let mut taken_over = None;
        let mut bytes = Vec::new();
        let mut change = Change::default();
        while !at.is_none() {
            if self.stopping.load(Ordering::Acquire) {
                // A transaction may have left work for minutes. All of it waits for the next start: what is taken out already
                // is not found there again.
                return Err(OpError::io(io::Error::other("the server stops")));
            }
            loop {
                match self.log.read_record(at, &mut bytes) {
                    Ok(()) => break,
                    Err(OpError::Wait(w)) => {
                        self.pager.resolve(w).await?;
                    }
                    Err(e) => return Err(e),
                }
            }
            let (prev, kind, undo) = match Record::parse(&bytes) {
                Some(r) => (r.header().prev, r.header().kind, r.undo().to_vec()),
                None => return Err(OpError::LogDamaged(at)),
            };
            if kind == RecordKind::Change
                && let Some(u) = Undo::decode(&undo)
            {
                let over = || self.stopping.load(Ordering::Acquire);
                let _working = self.purge.begin_work(over).await;
                match self.purge_change(&u, at, item.txid, &mut change).await {
                    Err(OpError::LogFull(_)) => {
                        // The same again when there is room.
                        self.log.wait_admission_patiently(Purpose::Tidy).await?;
                        continue;
                    }
                    Err(e @ (OpError::Io(_) | OpError::Short(_))) => return Err(e),
                    // A damaged page, or a table or index that was dropped meanwhile: what else the transaction left is
                    // taken out all the same.
                    Err(e @ OpError::Corrupt { .. }) => self.notices.add(format_args!(
                        "what was deleted there stays in the files, marked: {e}"
                    )),
                    Err(_) => {}
                    Ok(by) => taken_over = taken_over.or(by),
                }
            }
            at = prev;
        }
        Ok(taken_over)
    }

    async fn purge_change(
        &self,
        u: &Undo<'_>,
        at: Lsn,
        txid: TxnId,
        change: &mut Change,
    ) -> Result<Option<TxnId>, OpError> {
        let table = match self.ddl.catalog_table() {
            Some(c) if c.def.id == u.table => Some(c),
            _ => self.table_for_purge(u.table, at),
        };
        let Some(t) = table else { return Ok(None) };
        let Some(index) = t.index_number(u.index) else {
            return Ok(None);
        };
        match u.op {
            UndoOp::Update { deletes: true, .. } => {
                return self.purge_entry(&t, 0, u.key, change, txid).await;
            }
            // What was live before is what was marked.
            UndoOp::Entry { old: Some(word) } if word as u8 & DELETED == 0 => {
                return self.purge_entry(&t, index, u.key, change, txid).await;
            }
            UndoOp::Chain { first } => {
                // After a crash the same work may be asked for again, and the pages may serve another row by now.
                let look = || t.indexes[0].tree.is_abandoned_chain(first, at);
                if !self.pager.run(look).await? {
                    return Ok(None);
                }
                while self
                    .pager
                    .run(|| t.indexes[0].tree.shrink_overflow(first))
                    .await?
                {}
                self.pager
                    .run(|| {
                        let mut m = self.pager.mtr()?;
                        t.indexes[0].tree.free_page_in(&mut m, first)?;
                        m.commit();
                        Ok(())
                    })
                    .await?;
            }
            UndoOp::Insert
            | UndoOp::Update { .. }
            | UndoOp::Entry { .. }
            | UndoOp::OverflowPage { .. } => {}
        }
        Ok(None)
    }

    fn table_for_purge(&self, id: u32, at: Lsn) -> Option<Arc<Table>> {
        if SpaceId(id).is_temporary() {
            return self.unnamed.changed_at(id, at);
        }
        let named = self.catalog().tables().find(|t| t.def.id == id).cloned();
        let named = named.or_else(|| self.ddl.pending_table(id));
        named.or_else(|| self.unnamed.changed_at(id, at))
    }

    /// First pages of the overflow chains of a row that `txid` deleted for good.
    async fn doomed_chains(
        &self,
        t: &Table,
        key: &[u8],
        txid: TxnId,
    ) -> Result<Vec<base::PageNo>, OpError> {
        let look = || {
            t.indexes[0].tree.get(key, |value| {
                let value = value?;
                let v = RowVersion::read(value)?;
                let row = &value[HEADER..];
                (is_doomed(v.word, txid) && v.external() && t.layout.fits(row, true)).then(|| {
                    t.layout
                        .externals(row)
                        .iter()
                        .map(|x| x.first)
                        .collect::<Vec<_>>()
                })
            })
        };
        Ok(self.pager.run(look).await?.unwrap_or_default())
    }

    /// Takes out a row or an entry that `txid` deleted, unless another transaction has taken it over: which, if that one
    /// may still give it back.
    async fn purge_entry(
        &self,
        t: &Table,
        index: usize,
        key: &[u8],
        change: &mut Change,
        txid: TxnId,
    ) -> Result<Option<TxnId>, OpError> {
        let mut ended = None;
        for _ in 0..TRIES {
            let chains = match index {
                0 => self.doomed_chains(t, key, txid).await?,
                _ => Vec::new(),
            };
            for f in &chains {
                while self
                    .pager
                    .run(|| t.indexes[0].tree.shrink_overflow(*f))
                    .await?
                {}
            }
            match self.remove(t, index, key, change, &chains, txid).await? {
                None => return Ok(None),
                Some(by) if by == txid => {}
                Some(by) if self.txns.is_active(by) => return Ok(Some(by)),
                // It had ended by the time it was asked about: what it left is final.
                Some(by) if ended == Some(by) => return Ok(None),
                Some(by) => ended = Some(by),
            }
        }
        Ok(None)
    }

    /// Removes what `txid` deleted, with the heads of its `chains`; who wrote what is there instead.
    async fn remove(
        &self,
        t: &Table,
        index: usize,
        key: &[u8],
        change: &mut Change,
        chains: &[base::PageNo],
        txid: TxnId,
    ) -> Result<Option<TxnId>, OpError> {
        let tree = &t.indexes[index].tree;
        // Its word, and whether the chains are not those that were looked for.
        let read = |v: &[u8]| match index {
            0 => RowVersion::read(v).map(|v| (v.word, v.external() == chains.is_empty())),
            _ => SecValue::read(v).map(|v| (v.word, false)),
        };
        let mut kept = None;
        let outcome = self
            .pager
            .run(|| {
                tree.modify(
                    key,
                    change,
                    |found, c| -> Result<Action, std::convert::Infallible> {
                        kept = None;
                        let came_back = t.list_part(index).is_some()
                            && base::mutant!("element-that-came-back-purged");
                        match found.value().and_then(read) {
                            Some((word, false)) if came_back || is_doomed(word, txid) => {
                                c.kind = RecordKind::System;
                                c.free.extend_from_slice(chains);
                                Ok(Action::Remove)
                            }
                            there => {
                                kept = there.map(|(word, _)| TxnId(word >> 8));
                                Ok(Action::Keep)
                            }
                        }
                    },
                )
            })
            .await?;
        let Ok(o) = outcome;
        if o.committed.is_some() {
            self.counters.purged.inc();
        }
        if o.underfull {
            self.pager.run(|| tree.merge(key)).await?;
        }
        Ok(kept)
    }
}

fn is_doomed(word: u64, txid: TxnId) -> bool {
    word >> 8 == txid.0 && word as u8 & DELETED != 0
}
