//! Online index builds: an index is built while writers go on (`docs/decisions/0015`): the steps, and what is undone when one fails.
//!
//! Writers keep the entries of the new index from before the builder's snapshot on; what the snapshot sees the builder brings, and an entry
//! that is there already stays as its writer left it. (Mohan and Narang, "Algorithms for Creating Indexes for Very Large Tables Without
//! Quiescing Updates", SIGMOD 1992, the algorithm without a side file.) Nobody reads by the index before it is whole.
//!
//! Must never do: hold the table closed for longer than it takes its transactions to end.

use super::alter::Publish;
use super::build::duplicate_error;
use super::catalog::OrphanedTree;
use crate::engine::Engine;
use crate::error;
use crate::record::SecValue;
use crate::schema::{IndexDef, Table};
use crate::session::{Isolation, Pins, Session};
use crate::txn::Status;
use btree::{Direction, ScanPos, ScanState, Tree, Visit};
use pager::OpError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{SqlError, Value};

/// Two entries of a unique index with the same values.
struct Pair {
    values: Vec<u8>,
    /// The clustered key of one of them.
    one: Vec<u8>,
}

impl Session {
    /// Makes the tree of `index`, which is noted as `left`, fills it, and gives `t` the definition that `publish` makes of its own and the
    /// index. After an error the table is as it was, and the tree is to be taken out.
    pub(super) async fn build_online(
        &mut self,
        t: &Arc<Table>,
        mut index: IndexDef,
        left: &mut OrphanedTree,
        publish: &mut Publish<'_>,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let threads = self.threads_for(t);
        let pager = engine.pager();
        index.root = pager
            .run(|| Tree::create(pager, &t.space, index.id))
            .await
            .map_err(|e| error::storage(e, &t.full_name))?;
        engine.locate_orphan(left, index.root).await?;
        let tree = Tree::open(pager.clone(), t.space.clone(), index.root, index.id);
        let building = {
            // A transaction that has changed rows without their entries must have ended before the first that keeps them: an entry
            // that the latter made would not be marked by the former.
            let _closed = match base::mutant!("writers-without-entries-beside-a-build") {
                true => None,
                false => Some(self.close_tables(std::slice::from_ref(t)).await?),
            };
            engine.show_instead(t, Table::with_building(pager, t, index.clone(), tree))
        };
        let r = self
            .fill_online(&building, index, left, threads, publish)
            .await;
        if r.is_err() {
            self.withdraw(&building).await;
        }
        r
    }

    async fn fill_online(
        &mut self,
        t: &Arc<Table>,
        index: IndexDef,
        left: &OrphanedTree,
        threads: usize,
        publish: &mut Publish<'_>,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        // Open until all is in the tree: what is marked there as deleted must not be purged before the builder has met it.
        let mut reader = self.reader_of_all().await?;
        let snapshot = reader.snapshot();
        let last = t.indexes.len() - 1;
        let into = t.indexes[last].clone();
        if base::mutant!("build-without-its-snapshot") {
            reader.commit().await?;
        }
        self.fill_index(t, &index, into, Some(snapshot), threads)
            .await?;
        reader.commit().await?;
        if t.is_unique(last) && !base::mutant!("equal-entries-not-looked-for") {
            self.find_duplicates(t).await?;
        }
        self.flush_device_cache().await?;
        let _closed = self.close_tables(std::slice::from_ref(t)).await?;
        // What writers made equal, and have not taken back. Nobody uses the table now.
        for values in t
            .building(last)
            .map_or_else(Vec::new, |b| b.maybe_duplicates.drain())
        {
            if let Some(key) = self.one_of_two(t, &values, &[]).await? {
                return Err(self.refused(t, &key).await?);
            }
        }
        // What older snapshots see is not in it.
        t.indexes[last].begin_at(snapshot.lsn);
        let (def, mut rows, event) = publish(&t.def, index);
        rows.extend(engine.named(left));
        engine.replace_def(t, def, rows, event).await
    }

    /// Has the device write what it keeps, as much behind a build: the commit that comes while the table is closed should not have to wait for that.
    pub(super) async fn flush_device_cache(&self) -> Result<(), SqlError> {
        self.engine.log_durable(self.engine.log.end()).await
    }

    /// A session to read by whose snapshot sees what everybody has committed who has ended by now.
    pub(super) async fn reader_of_all(&self) -> Result<Session, SqlError> {
        let engine = &self.engine;
        // Their commits may lie above the log's complete end, and a snapshot has what is below.
        let ended = engine.log.wait_complete(engine.log.end()).await;
        ended.map_err(|e| error::storage(e, "the log"))?;
        let mut reader = Session::new(engine.clone());
        reader.begin(Isolation::RepeatableRead, true);
        reader.open_snapshot();
        Ok(reader)
    }

    /// Gives statements the table's definition as it is: without an index that is being built, and without noting changes.
    pub(super) async fn withdraw(&self, t: &Arc<Table>) {
        // Also when killed: the tree cannot be taken out while somebody writes to it.
        let Ok(_closed) = self.close_whatever_comes(t).await else {
            return;
        };
        let pager = self.engine.pager();
        let without = Table::open(pager, t.def.clone(), t.space.clone(), Some(t));
        self.engine.show_instead(t, without);
    }

    /// Looks whether two rows have the same values in the unique index that is being built. From its beginning on writers see to that
    /// themselves, as all entries are there.
    async fn find_duplicates(&mut self, t: &Arc<Table>) -> Result<(), SqlError> {
        let mut pos = ScanPos::start();
        let mut before = Vec::new();
        let mut pins = Pins::new();
        loop {
            self.interrupt.check()?;
            self.yield_if_due().await;
            let (pair, state) = self.next_pair(t, &mut pos, &mut before);
            if pair.is_some() {
                // What follows waits for locks.
                pins.clear();
            }
            if let Some(p) = pair
                && let Some(key) = self.one_of_two(t, &p.values, &p.one).await?
            {
                return Err(self.refused(t, &key).await?);
            }
            match state {
                Ok(ScanState::End) => return Ok(()),
                Ok(_) => pins.clear(),
                Err(OpError::Wait(w)) => self.resolve(w, &mut pins, &t.full_name).await?,
                Err(e) => return Err(error::storage(e, &t.full_name)),
            }
        }
    }

    /// The clustered key of one of two rows that have `values` in the index being built, if there are two. One of them may be `one`.
    async fn one_of_two(
        &self,
        t: &Table,
        values: &[u8],
        one: &[u8],
    ) -> Result<Option<Vec<u8>>, SqlError> {
        let index = t.indexes.len() - 1;
        // Whoever changes one of them is waited for. The locks go with the session.
        let mut s = Session::new(self.engine.clone());
        s.interrupt = self.interrupt.clone();
        s.begin(Isolation::ReadCommitted, false);
        s.need_txid();
        let other = s.find_duplicate(t, index, values, one).await;
        let both = match other {
            Ok(Some(other)) => s.find_duplicate(t, index, values, &other).await,
            r => r.map(|_| None),
        };
        s.rollback().await?;
        both
    }

    /// Goes on to the next entry with the values of the one before it, which is `before`: its values and its clustered key. Entries
    /// that are certainly deleted, and such with a NULL, do not count.
    fn next_pair(
        &self,
        t: &Table,
        pos: &mut ScanPos,
        before: &mut Vec<u8>,
    ) -> (Option<Pair>, Result<ScanState, OpError>) {
        let index = t.indexes.len() - 1;
        let txns = &self.engine.txns;
        let mut pair = None;
        let state = t.indexes[index]
            .tree
            .scan(pos, Direction::Forward, |key, value| {
                let v = SecValue::read(value).filter(|v| usize::from(v.split) <= key.len());
                let Some(v) = v else {
                    return Visit::Next;
                };
                if v.deleted() && txns.status(v.writer()) != Status::Active {
                    return Visit::Next;
                }
                let (values, one) = key.split_at(usize::from(v.split));
                if before[..] == *values && !has_null(t, index, values) {
                    pair = Some(Pair {
                        values: values.to_vec(),
                        one: one.to_vec(),
                    });
                }
                before.clear();
                before.extend_from_slice(values);
                match pair {
                    Some(_) => Visit::Stop,
                    None => Visit::Next,
                }
            });
        (pair, state)
    }

    /// Error 1062 of the index that is being built, for the row with this clustered key.
    async fn refused(&mut self, t: &Arc<Table>, key: &[u8]) -> Result<SqlError, SqlError> {
        let values = self.values_at(t, key).await?;
        Ok(duplicate_error(t, t.indexes.len() - 1, &values))
    }
}

impl Engine {
    /// Shows statements another object for a table, of the same name, which nobody uses now.
    pub(super) fn show_instead(&self, old: &Table, new: Table) -> Arc<Table> {
        let new = Arc::new(new);
        old.retired.store(true, Ordering::SeqCst);
        self.change_catalog(|c| c.put_table(new.clone()));
        if !Arc::ptr_eq(&old.known, &new.known) {
            // A column or an index is new.
            self.want_stats(&new);
        }
        new
    }

    /// Shows statements a table that has a new file, in the place of `old`, which nobody uses now: who has locked that one has locked this one.
    /// Snapshots that there are see nothing of it.
    pub(super) fn show_new_file(&self, old: Option<&Table>, mut new: Table) -> Arc<Table> {
        if let Some(old) = old {
            old.retired.store(true, Ordering::SeqCst);
            new.locked_as(old);
        }
        let new = Arc::new(new);
        new.begin_at(self.log.end());
        self.change_catalog(|c| {
            if let Some(old) = old {
                c.remove_table(&old.def.schema, &old.def.name);
            }
            c.put_table(new.clone());
        });
        new
    }
}

/// Whether one of the values is NULL, which no unique index minds.
fn has_null(t: &Table, index: usize, values: &[u8]) -> bool {
    let mut rest = values;
    for p in t.key_parts(index) {
        match p.decode(rest) {
            Some((Some(Value::Null), _)) => return true,
            Some((_, n)) => rest = rest.get(n..).unwrap_or_default(),
            None => return false,
        }
    }
    false
}
