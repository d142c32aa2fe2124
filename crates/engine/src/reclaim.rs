//! Purge: takes out what committed transactions deleted, once no snapshot needs it, and frees the overflow pages they gave
//! up. Driven by events (a commit that left work, the close of the snapshot that stood in the way); the work itself is
//! read from the log, by walking the transaction's records backwards.

use crate::engine::Engine;
use crate::error;
use crate::purge::{PurgeItem, lock};
use crate::record::{DELETED, HEADER, RowVersion, SecValue, Undo, UndoOp};
use crate::schema::Table;
use base::{Lsn, TxnId};
use btree::{Action, Change};
use pager::{OpError, Record, RecordKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

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
                    items = self.purge.take(self.txns.advance(|| self.complete()));
                    (!items.is_empty()).then_some(true)
                })
                .await;
            if !go {
                return;
            }
            for (i, item) in items.iter().enumerate() {
                if self.stopping.load(Ordering::Acquire) || self.log.failure().is_some() {
                    // What is left stays in `current`, where the last checkpoint finds it.
                    return;
                }
                if self.purge_one(item).await.is_err() {
                    // A damaged page keeps its marked entries; readers of it are told. The rest goes on.
                    continue;
                }
                *lock(&self.purge.current) = items[i + 1..].to_vec();
            }
            lock(&self.purge.current).clear();
        }
    }

    async fn purge_one(&self, item: &PurgeItem) -> Result<(), SqlError> {
        let mut at = item.last;
        let mut bytes = Vec::new();
        let mut change = Change::default();
        while !at.is_none() {
            loop {
                match self.log.read_record(at, &mut bytes) {
                    Ok(()) => break,
                    Err(OpError::Wait(w)) => {
                        self.pager
                            .resolve(w)
                            .await
                            .map_err(|e| error::storage(e, "the log"))?;
                    }
                    Err(e) => return Err(error::storage(e, "the log")),
                }
            }
            let (prev, kind, undo) = match Record::parse(&bytes) {
                Some(r) => (r.header().prev, r.header().kind, r.undo().to_vec()),
                None => return Err(error::storage(OpError::LogDamaged(at), "the log")),
            };
            if kind == RecordKind::Change
                && let Some(u) = Undo::decode(&undo)
            {
                self.purge_change(&u, at, item.txid, &mut change).await?;
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
    ) -> Result<(), SqlError> {
        let table = match self.ddl.catalog_table() {
            Some(c) if c.def.id == u.table => Some(c),
            _ => self.table_for_purge(u.table),
        };
        let Some(t) = table else { return Ok(()) };
        let Some(index) = t.def.indexes.iter().position(|x| x.id == u.index) else {
            return Ok(());
        };
        let run = |e| error::storage(e, &t.full_name);
        match u.op {
            UndoOp::Update { .. } => {
                let firsts = self.doomed_chains(&t, u.key, txid).await?;
                for f in &firsts {
                    while self
                        .pager
                        .run(|| t.indexes[0].tree.shrink_overflow(*f))
                        .await
                        .map_err(run)?
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
                if !self.pager.run(look).await.map_err(run)? {
                    return Ok(());
                }
                while self
                    .pager
                    .run(|| t.indexes[0].tree.shrink_overflow(first))
                    .await
                    .map_err(run)?
                {}
                self.pager
                    .run(|| {
                        let mut m = self.pager.mtr()?;
                        t.indexes[0].tree.free_page_in(&mut m, first)?;
                        m.commit();
                        Ok(())
                    })
                    .await
                    .map_err(run)?;
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
    ) -> Result<Vec<base::PageNo>, SqlError> {
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
        let r = self
            .pager
            .run(look)
            .await
            .map_err(|e| error::storage(e, &t.full_name))?;
        Ok(r.unwrap_or_default())
    }

    async fn remove_if(
        &self,
        t: &Table,
        index: usize,
        key: &[u8],
        change: &mut Change,
        free: &[base::PageNo],
        gone: impl Fn(&[u8]) -> bool + Send,
    ) -> Result<(), SqlError> {
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
            .await
            .map_err(|e| error::storage(e, &t.full_name))?;
        let Ok(o) = outcome;
        if o.committed.is_some() {
            self.counters.purged.inc();
        }
        if o.underfull {
            self.pager
                .run(|| tree.merge(key))
                .await
                .map_err(|e| error::storage(e, &t.full_name))?;
        }
        Ok(())
    }
}

fn is_doomed(word: u64, txid: TxnId) -> bool {
    word >> 8 == txid.0 && word as u8 & DELETED != 0
}
