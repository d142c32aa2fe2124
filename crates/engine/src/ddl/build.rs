//! Filling an index from the rows of its table, as they are or as a snapshot sees them. Several threads read a part of the rows each and
//! sort the entries of it; then each puts a part of all entries, in one order, into the tree, a leaf at a time. (A sort whose cuts are
//! taken from samples, and where each thread merges what the others have for it: DeWitt, Naughton and Schneider, "Parallel Sorting
//! on a Shared-Nothing Architecture using Probabilistic Splitting", PDIS 1991.) Knows nothing of who else uses the table.

use super::entries::{Entries, Ordered, Sorting, cuts_of};
use super::leaf_rows::{KeyRange, LeafRows};
use super::parallel::{Priority, Worker};
use super::runs::{self, Merge, Runs, merges_at_once};
use crate::engine::Engine;
use crate::error;
use crate::progress::Stage;
use crate::record::{HEADER, RowRef, RowVersion};
use crate::schema::{Index, IndexDef, IndexKind, IndexPart, Table};
use crate::session::{RowEntries, Session};
use crate::txn::Snapshot;
use pager::OpError;
use std::io;
use std::sync::Arc;
use types::convert::write_text;
use types::multi::Elements;
use types::{SqlError, Value};

/// Bytes left free in each leaf of a new index, a sixteenth: the next rows come in any order.
const SPARE: usize = pager::PAGE_SIZE / 16;

/// Keys looked at for each thread, of its entries, to find where all entries are cut.
const SAMPLES: usize = 64;

/// Entries, sorted: in memory, or, where that is too small, all of them in runs in a file.
struct Sorted {
    entries: Entries,
    runs: Option<Runs>,
}

/// An index of a table, being filled.
struct Filling {
    table: Arc<Table>,
    /// The same table, with the index as its last.
    view: Table,
    into: Arc<Index>,
    id: u32,
    unique: bool,
    snapshot: Option<Snapshot>,
    /// Bytes of entries that a thread sorts in memory.
    sort_bytes_max: usize,
}

impl Session {
    /// Fills the tree `into` of an index of `t`: with the rows that `snapshot` sees, which has to stay open meanwhile, or, where nobody uses
    /// the table, with those there are. An entry that is there stays as it is. At most so many threads do it.
    ///
    /// # Errors
    /// 1062: two rows have equal values, and the index is to be unique.
    pub(super) async fn fill_index(
        &mut self,
        t: &Arc<Table>,
        index: &IndexDef,
        into: Arc<Index>,
        snapshot: Option<Snapshot>,
        threads: usize,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let mut def = t.def.clone();
        def.indexes.push(index.clone());
        let parts = self.parts_of_rows(t, threads).await?;
        let threads = parts.len();
        let unique = index.kind == IndexKind::Unique;
        let f = Arc::new(Filling {
            table: t.clone(),
            view: Table::open(engine.pager(), def, t.space.clone(), Some(t)),
            into,
            id: index.id,
            unique,
            snapshot,
            sort_bytes_max: engine.sort_bytes_max as usize / threads,
        });
        let progress = &self.interrupt.progress;
        progress.begin(Stage::Reading, t.row_count_estimate());
        let parts = parts.into_iter().enumerate().collect();
        let collect = |w, (n, part)| collect(w, f.clone(), n, part);
        let sorted = self
            .run_parallel("index-sort", Priority::Background, parts, collect)
            .await?;
        let entries = sorted.iter().map(|s| s.entries.len() as u64).sum();
        let in_files = sorted.iter().any(|s| s.runs.is_some());
        if in_files {
            progress.begin(Stage::Inserting, t.row_count_estimate());
            // Then all of them are.
            let parts = sorted.into_iter().enumerate().collect();
            let spill = |w: Worker, (n, s)| spilled(w.engine(), f.clone(), n, s);
            let files: Vec<Runs> = self
                .run_parallel("index-sort", Priority::Background, parts, spill)
                .await?;
            let samples = files.iter().flat_map(Runs::samples).collect();
            let bytes_max = engine.sort_bytes_max as usize;
            let merges = merges_at_once(&files, threads, bytes_max);
            let ranges = KeyRange::between(cuts_of(samples, unique, merges));
            let files = Arc::new(files);
            let bytes_each = bytes_max / merges;
            let fill = |w, range| fill_merged(w, f.clone(), files.clone(), range, bytes_each);
            self.run_parallel("index-fill", Priority::Background, ranges, fill)
                .await?;
        } else {
            progress.begin(Stage::Inserting, entries);
            let all: Vec<Entries> = sorted.into_iter().map(|s| s.entries).collect();
            let samples = all.iter().flat_map(|e| e.samples(SAMPLES)).collect();
            let ranges = KeyRange::between(cuts_of(samples, unique, threads));
            let all = Arc::new(all);
            let fill = |w, range| fill_sorted(w, f.clone(), all.clone(), range);
            self.run_parallel("index-fill", Priority::Background, ranges, fill)
                .await?;
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
}

/// Reads a part of the rows and sorts the entries of it.
async fn collect(
    mut w: Worker,
    f: Arc<Filling>,
    part: usize,
    rows: KeyRange,
) -> Result<Sorted, SqlError> {
    let t = &f.table;
    let view = &f.view;
    let n = view.indexes.len() - 1;
    let mut runs = None;
    let mut entries = Entries::default();
    let mut of_row = RowEntries::default();
    let mut walk = LeafRows::new(rows, f.snapshot);
    loop {
        w.yield_if_due().await?;
        // Rows that are not all in the leaf, and are completed when it is free again.
        let mut longer: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut add = |key: &[u8], row: RowRef<'_>| {
            of_row.of_row(view, n, row, key);
            for e in of_row.iter() {
                entries.push(e.key, e.split, e.null);
            }
        };
        let mut take = |key: &[u8], v: RowVersion, row: &[u8]| match v.external() {
            true => longer.push((key.to_vec(), row.to_vec())),
            false => add(key, t.layout.row(row)),
        };
        let (rows, more) = walk.next(&w.session, t, &mut take).await?;
        for (key, row) in longer {
            let outside = w.session.read_outside(t, &row).await?;
            add(&key, t.layout.row(&row).with_outside(&outside));
        }
        w.interrupt.progress.add(rows);
        if !more {
            sort(&mut w, &mut entries).await?;
            return Ok(Sorted { entries, runs });
        }
        if entries.bytes() > f.sort_bytes_max {
            sort(&mut w, &mut entries).await?;
            let so_far = Sorted { entries, runs };
            let to = spilled(w.engine(), f.clone(), part, so_far).await?;
            (entries, runs) = (Entries::default(), Some(to));
        }
    }
}

/// Sorts entries, and lets others run meanwhile.
async fn sort(w: &mut Worker, entries: &mut Entries) -> Result<(), SqlError> {
    let mut s = Sorting::default();
    while entries.sort_some(&mut s) {
        w.yield_if_due().await?;
        w.session.yield_now().await;
    }
    Ok(())
}

/// Adds sorted entries to their file as another run.
async fn spilled(
    engine: Arc<Engine>,
    f: Arc<Filling>,
    part: usize,
    sorted: Sorted,
) -> Result<Runs, SqlError> {
    let write = || -> io::Result<Runs> {
        let mut runs = match sorted.runs {
            Some(runs) => runs,
            None => {
                let name = format!("index-{}-{part}.{}", f.id, runs::EXTENSION);
                Runs::create(&engine.environment().disk, &engine.data_dir().join(name))?
            }
        };
        runs.append(&sorted.entries)?;
        Ok(runs)
    };
    write().map_err(|e| f.failed(OpError::io(e)))
}

/// Puts a range of the entries into the tree.
async fn fill_sorted(
    mut w: Worker,
    f: Arc<Filling>,
    all: Arc<Vec<Entries>>,
    range: KeyRange,
) -> Result<(), SqlError> {
    let engine = w.engine();
    let entries = Ordered::of(&all, &range);
    if f.unique
        && let Some(key) = entries.repeated()
    {
        return Err(f.refused(&mut w, key).await);
    }
    let mut at = 0;
    while at < entries.len() {
        w.yield_if_due().await?;
        let insert = || f.into.tree.insert_run(|n| entries.get(at + n), SPARE);
        let n = engine.pager().run(insert).await;
        let n = n.map_err(|e| f.failed(e))?;
        at += n;
        w.interrupt.progress.add(n as u64);
    }
    Ok(())
}

/// As [`fill_sorted`], from runs in files. Rows with equal values are found on the way.
async fn fill_merged(
    mut w: Worker,
    f: Arc<Filling>,
    files: Arc<Vec<Runs>>,
    range: KeyRange,
    bytes_max: usize,
) -> Result<(), SqlError> {
    let engine = w.engine();
    let io = |e| f.failed(OpError::io(e));
    let mut merge = Merge::of(&files, &range, bytes_max);
    while merge.begin_next().map_err(io)? {
        w.yield_if_due().await?;
    }
    while merge.get(0).is_some() {
        w.yield_if_due().await?;
        if f.unique
            && let Some(key) = merge.repeated()
        {
            return Err(f.refused(&mut w, key).await);
        }
        let insert = || f.into.tree.insert_run(|n| merge.get(n), SPARE);
        let n = engine.pager().run(insert).await;
        let n = n.map_err(|e| f.failed(e))?;
        w.interrupt.progress.add(n as u64);
        merge.consume(n);
        merge.fill().map_err(io)?;
    }
    Ok(())
}

impl Filling {
    fn failed(&self, e: OpError) -> SqlError {
        error::storage(e, &self.table.full_name)
    }

    /// The error for a row whose values another has: the one with this clustered key.
    async fn refused(&self, w: &mut Worker, key: &[u8]) -> SqlError {
        match w.session.values_at(&self.table, key).await {
            Ok(values) => duplicate_error(&self.view, self.view.indexes.len() - 1, &values),
            Err(e) => e,
        }
    }
}

/// Error 1062 for a row that has another's values in an index.
pub(super) fn duplicate_error(t: &Table, index: usize, values: &[Value]) -> SqlError {
    let def = t.index_def(index);
    let text = |p: &IndexPart| {
        let c = usize::from(p.column);
        let text = match values.get(c) {
            None | Some(Value::Null) => "NULL".to_owned(),
            Some(v) if t.def.columns[c].is_list() => {
                Elements::of(v.as_ref().as_bytes().unwrap_or_default()).shown()
            }
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
