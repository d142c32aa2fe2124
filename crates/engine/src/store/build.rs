//! Filling an index from the rows of its table, as they are or as a snapshot sees them: the entries are collected, sorted, and put into
//! the tree a leaf at a time. Knows nothing of who else uses the table.

use super::entries::Entries;
use super::leaf_rows::LeafRows;
use super::runs::{self, Runs};
use crate::engine::Engine;
use crate::error;
use crate::progress::Stage;
use crate::record::{HEADER, RowRef, RowVersion};
use crate::schema::{IndexDef, IndexKind, IndexPart, Table};
use crate::session::{Session, entry_key_of};
use crate::txn::Snapshot;
use base::Event;
use btree::Tree;
use pager::OpError;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use types::convert::write_text;
use types::{SqlError, Value};

/// Bytes left free in each leaf of a new index, a sixteenth: the next rows come in any order.
const SPARE: usize = pager::PAGE_SIZE / 16;

/// Leaves read or filled, some tens of microseconds each, until others of the thread have their turn.
const LEAVES: u32 = 4;

impl Session {
    /// Fills the tree of an index of `t`: with the rows that `snapshot` sees, which has to stay open meanwhile, or, where nobody uses the
    /// table, with those there are. An entry that is there stays as it is.
    ///
    /// # Errors
    /// 1062: two rows have equal values, and the index is to be unique.
    pub(super) async fn fill_index(
        &mut self,
        t: &Arc<Table>,
        index: &IndexDef,
        tree: &Tree,
        snapshot: Option<Snapshot>,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let fail = |e| error::storage(e, &t.full_name);
        let mut def = t.def.clone();
        def.indexes.push(index.clone());
        let view = Table::open(engine.pager(), def, t.space.clone(), Some(t));
        let (entries, runs) = self.collect_entries(t, &view, index.id, snapshot).await?;
        let unique = index.kind == IndexKind::Unique;
        if let Some(runs) = runs {
            let runs = spilled(&engine, entries, runs)
                .await
                .map_err(|e| fail(OpError::io(e)))?;
            return self.fill_merged(t, &view, tree, runs.1, unique).await;
        }
        let entries = sorted(&engine, entries).await;
        if unique && let Some(key) = entries.repeated() {
            let values = self.values_at(t, key).await?;
            return Err(twice(&view, view.indexes.len() - 1, &values));
        }
        let mut at = 0;
        let mut leaves = 0u32;
        let all = entries.len() as u64;
        self.interrupt.progress.begin(Stage::Inserting, all);
        while entries.get(at).is_some() {
            self.interrupt.check()?;
            leaves += 1;
            if leaves.is_multiple_of(LEAVES) {
                self.give_way().await;
            }
            let n = engine
                .pager()
                .run(|| tree.insert_run(|n| entries.get(at + n), SPARE))
                .await
                .map_err(fail)?;
            at += n;
            self.interrupt.progress.add(n as u64);
        }
        Ok(())
    }

    /// As [`fill_index`](Self::fill_index), from runs in a file. Rows with equal values are found on the way.
    async fn fill_merged(
        &mut self,
        t: &Arc<Table>,
        view: &Table,
        tree: &Tree,
        runs: Runs,
        unique: bool,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let fail = |e| error::storage(e, &t.full_name);
        let mut merge = runs.merge().map_err(|e| fail(OpError::io(e)))?;
        let estimate = t.row_count_estimate();
        self.interrupt.progress.begin(Stage::Inserting, estimate);
        let mut leaves = 0u32;
        while merge.get(0).is_some() {
            self.interrupt.check()?;
            leaves += 1;
            if leaves.is_multiple_of(LEAVES) {
                self.give_way().await;
            }
            if unique && let Some(key) = merge.repeated() {
                let values = self.values_at(t, key).await?;
                return Err(twice(view, view.indexes.len() - 1, &values));
            }
            let n = engine
                .pager()
                .run(|| tree.insert_run(|n| merge.get(n), SPARE))
                .await
                .map_err(fail)?;
            self.interrupt.progress.add(n as u64);
            merge.consume(n);
            merge.fill().map_err(|e| fail(OpError::io(e)))?;
        }
        Ok(())
    }

    /// The row with this clustered key, for a message.
    pub(super) async fn values_at(
        &mut self,
        t: &Table,
        key: &[u8],
    ) -> Result<Vec<Value>, SqlError> {
        let engine = self.engine.clone();
        let look = || t.indexes[0].tree.get(key, |v| v.map(<[u8]>::to_vec));
        let value = engine.pager().run(look).await;
        let value = value.map_err(|e| error::storage(e, &t.full_name))?;
        let (Some(value), true) = (&value, value.as_ref().is_some_and(|v| v.len() >= HEADER))
        else {
            return Ok(Vec::new());
        };
        let row = &value[HEADER..];
        let external = RowVersion::read(value).is_some_and(|v| v.external());
        if !t.layout.fits(row, external) {
            return Err(error::bad_row(&t.full_name));
        }
        Ok(match external {
            false => t.layout.row(row).to_values(),
            true => {
                let outside = self.read_outside(t, row).await?;
                t.layout.row(row).with_outside(&outside).to_values()
            }
        })
    }

    /// The entries of the last index of `view`, for the rows of `t` as they are, or as `snapshot` sees them; those that memory was too
    /// small for in a file.
    async fn collect_entries(
        &mut self,
        t: &Table,
        view: &Table,
        id: u32,
        snapshot: Option<Snapshot>,
    ) -> Result<(Entries, Option<Runs>), SqlError> {
        let engine = self.engine.clone();
        let io = |e| error::storage(OpError::io(e), &t.full_name);
        let mut runs = None;
        let n = view.indexes.len() - 1;
        let mut entries = Entries::default();
        let mut entry = Vec::new();
        let estimate = t.row_count_estimate();
        self.interrupt.progress.begin(Stage::Reading, estimate);
        let mut walk = LeafRows::new(snapshot);
        let mut leaves = 0u32;
        loop {
            self.interrupt.check()?;
            leaves += 1;
            if leaves.is_multiple_of(LEAVES) {
                self.give_way().await;
            }
            // Rows that are not all in the leaf, and are completed when it is free again.
            let mut longer: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            let mut add = |key: &[u8], row: RowRef<'_>| {
                entry.clear();
                let (split, null) = entry_key_of(view, n, row, key, &mut entry);
                entries.push(&entry, split, null);
            };
            let mut take = |key: &[u8], v: RowVersion, row: &[u8]| match v.external() {
                true => longer.push((key.to_vec(), row.to_vec())),
                false => add(key, t.layout.row(row)),
            };
            let (rows, more) = walk.next(self, t, &mut take).await?;
            for (key, row) in longer {
                let outside = self.read_outside(t, &row).await?;
                add(&key, t.layout.row(&row).with_outside(&outside));
            }
            self.interrupt.progress.add(rows);
            if !more {
                return Ok((entries, runs));
            }
            if entries.bytes() as u64 > engine.sort_bytes_max {
                let to = match runs.take() {
                    Some(runs) => runs,
                    None => {
                        let name = format!("index-{id}.{}", runs::EXTENSION);
                        let path = engine.data_dir().join(name);
                        Runs::create(&engine.seams().disk, &path).map_err(io)?
                    }
                };
                let done = spilled(&engine, std::mem::take(&mut entries), to).await;
                let (empty, to) = done.map_err(io)?;
                (entries, runs) = (empty, Some(to));
            }
        }
    }
}

/// Sorts on a thread of its own, since whoever asks shares his with others.
async fn sorted(engine: &Arc<Engine>, mut entries: Entries) -> Entries {
    aside(engine, move || {
        entries.sort();
        entries
    })
    .await
}

/// Sorts and adds a run of the entries to a file, likewise; gives their memory back.
async fn spilled(
    engine: &Arc<Engine>,
    mut entries: Entries,
    mut runs: Runs,
) -> io::Result<(Entries, Runs)> {
    aside(engine, move || {
        entries.sort();
        runs.append(&entries)?;
        entries.clear();
        Ok((entries, runs))
    })
    .await
}

/// Runs `f` on a thread of its own.
async fn aside<R: Send + 'static>(
    engine: &Arc<Engine>,
    f: impl FnOnce() -> R + Send + 'static,
) -> R {
    let done = Arc::new((Mutex::new(None), Event::new()));
    let there = done.clone();
    engine.spawn("index-sort", async move {
        let r = f();
        *there.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(r);
        there.1.fire();
    });
    let take = || done.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    done.1.wait_for(take).await
}

/// Error 1062 for a row that has another's values in an index.
pub(super) fn twice(t: &Table, index: usize, values: &[Value]) -> SqlError {
    let def = t.index_def(index);
    let text = |p: &IndexPart| {
        let c = usize::from(p.column);
        let text = match values.get(c) {
            None | Some(Value::Null) => "NULL".to_owned(),
            Some(v) => {
                let mut out = Vec::new();
                write_text(v.as_ref(), &t.def.columns[c].ty, &mut out);
                String::from_utf8_lossy(&out).into_owned()
            }
        };
        match p.prefix {
            0 => text,
            n => text.chars().take(n as usize).collect(),
        }
    };
    let parts: Vec<String> = def.parts.iter().map(text).collect();
    SqlError::dup_entry(&parts.join("-"), &format!("{}.{}", t.def.name, def.name))
}
