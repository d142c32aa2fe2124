//! Purge: takes out what committed transactions deleted, once no snapshot needs it, and frees the overflow pages they gave
//! up. Driven by events (a commit that left work, the close of the snapshot that stood in the way); the work itself is
//! read from the log, by walking the transaction's records backwards.

use crate::engine::Engine;
use crate::purge::PurgeItem;
use crate::record::{DELETED, HEADER, RowVersion, SecValue, Undo, UndoOp};
use crate::schema::Table;
use base::{Lsn, TxnId};
use btree::{Action, Change};
use pager::{OpError, Record, RecordKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Engine {
    /// The purge task.
    pub(crate) async fn run_purge(self: Arc<Self>) {
        loop {
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
                    items = self.purge.take(|| self.txns.advance(|| self.complete()));
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
                if self.purge_one(item).await.is_err() {
                    // The log is closed or damaged: what was deleted stays, marked.
                    self.counters.purge_gave_up.inc();
                }
                self.purge.finished_one();
            }
        }
    }

    async fn purge_one(&self, item: &PurgeItem) -> Result<(), OpError> {
        let mut at = item.last;
        let mut bytes = Vec::new();
        let mut change = Change::default();
        while !at.is_none() {
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
                match self.purge_change(&u, at, item.txid, &mut change).await {
                    Err(OpError::LogFull) => {
                        // The same again when there is room.
                        self.log.wait_room().await?;
                        continue;
                    }
                    Err(e @ OpError::Io(_)) => return Err(e),
                    // A table or index that was dropped meanwhile, or a damaged page, of which readers are told: what else
                    // the transaction left is taken out all the same.
                    Err(_) | Ok(()) => {}
                }
            }
            at = prev;
        }
        Ok(())
    }

    async fn purge_change(
        &self,
        u: &Undo<'_>,
        at: Lsn,
        txid: TxnId,
        change: &mut Change,
    ) -> Result<(), OpError> {
        let table = match self.ddl.catalog_table() {
            Some(c) if c.def.id == u.table => Some(c),
            _ => self.table_for_purge(u.table),
        };
        let Some(t) = table else { return Ok(()) };
        let Some(index) = t.def.indexes.iter().position(|x| x.id == u.index) else {
            return Ok(());
        };
        match u.op {
            UndoOp::Update { .. } => {
                let firsts = self.doomed_chains(&t, u.key, txid).await?;
                for f in &firsts {
                    while self
                        .pager
                        .run(|| t.indexes[0].tree.shrink_overflow(*f))
                        .await?
                    {}
                }
                let gone = |v: &[u8]| RowVersion::read(v).is_some_and(|v| is_doomed(v.word, txid));
                self.remove_if(&t, 0, u.key, change, &firsts, gone).await?;
            }
            UndoOp::Entry { .. } => {
                let gone = |v: &[u8]| SecValue::read(v).is_some_and(|v| is_doomed(v.word, txid));
                self.remove_if(&t, index, u.key, change, &[], gone).await?;
            }
            UndoOp::Chain { first } => {
                // After a crash the same work may be asked for again, and the pages may serve another row by now.
                let look = || t.indexes[0].tree.is_abandoned_chain(first, at);
                if !self.pager.run(look).await? {
                    return Ok(());
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
            UndoOp::Insert | UndoOp::OverflowPage { .. } => {}
        }
        Ok(())
    }

    fn table_for_purge(&self, id: u32) -> Option<Arc<Table>> {
        self.catalog().tables().find(|t| t.def.id == id).cloned()
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
                (is_doomed(v.word, txid) && v.external() && t.layout.fits(row)).then(|| {
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

    async fn remove_if(
        &self,
        t: &Table,
        index: usize,
        key: &[u8],
        change: &mut Change,
        free: &[base::PageNo],
        gone: impl Fn(&[u8]) -> bool + Send,
    ) -> Result<(), OpError> {
        let tree = &t.indexes[index].tree;
        let outcome = self
            .pager
            .run(|| {
                tree.modify(
                    key,
                    change,
                    |found, c| -> Result<Action, std::convert::Infallible> {
                        match found.value() {
                            Some(v) if gone(v) => {
                                c.kind = RecordKind::System;
                                c.free.extend_from_slice(free);
                                Ok(Action::Remove)
                            }
                            _ => Ok(Action::Keep),
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
        Ok(())
    }
}

fn is_doomed(word: u64, txid: TxnId) -> bool {
    word >> 8 == txid.0 && word as u8 & DELETED != 0
}
