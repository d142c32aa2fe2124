//! Copying a table's rows into another that nobody knows yet, in the order of their keys and a leaf at a time. Rows that stay as they are
//! are copied as bytes, by several threads, each a part of them; what is made of others is one after the other, sorted in memory, as many as it is given for
//! at a time, where they get keys of another order.
//!
//! Must never do: know who else uses the old table. A row is copied as it is, or as the snapshot sees it.

use super::build::duplicate_error;
use super::entries::{Entries, Sorting};
use super::foreign_rows::ForeignRows;
use super::leaf_rows::{KeyRange, LeafRows};
use super::parallel::{Priority, Worker};
use super::rewrite::{Keys, Rewrite, Sound};
use crate::error;
use crate::progress::Stage;
use crate::record::{EXTERNAL, HEADER, RowVersion};
use crate::schema::Table;
use crate::session::{Isolation, Session};
use crate::txn::Snapshot;
use base::TxnId;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{SqlError, Value};

/// Rows copied in one transaction. Nobody sees them before the end, so that it need not be one for all.
const CHUNK: usize = 1000;

/// Bytes of rows that are put into the new file at a time.
const BATCH: usize = 1 << 18;

/// Bytes left free in each page of rows, a sixteenth, as InnoDB does.
const SPARE: usize = pager::PAGE_SIZE / 16;

/// Rows to be put into the new file, in the order of their keys.
#[derive(Default)]
struct Run {
    bytes: Vec<u8>,
    /// Where each row's key ends, and its value.
    ends: Vec<(usize, usize)>,
}

impl Run {
    /// Adds a row, nobody's and visible to all, whose key is above the last one.
    fn push(&mut self, key: &[u8], external: bool, row: &[u8]) {
        let flags = if external { EXTERNAL } else { 0 };
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        let header = RowVersion::new(TxnId::NONE, flags).bytes();
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(row);
        self.ends.push((key_end, self.bytes.len()));
    }

    fn get(&self, n: usize) -> Option<(&[u8], &[u8])> {
        let (key_end, end) = *self.ends.get(n)?;
        let start = n.checked_sub(1).map_or(0, |m| self.ends[m].1);
        Some((&self.bytes[start..key_end], &self.bytes[key_end..end]))
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Rows of which something else is made, on their way into the new file.
#[derive(Default)]
struct Reshaped {
    run: Run,
    /// The last key there was, also when its row is in the file already.
    last: Vec<u8>,
    /// Since a key was not above the last one: the rows of the run by their keys, each key with the row's number in the run behind it.
    order: Option<Entries>,
}

impl Reshaped {
    /// Whether the rows so far should go into the file: as many as are put there at a time, or, where they must be sorted, as memory is given for.
    fn is_full(&self, sort_bytes_max: u64) -> bool {
        let n = self.run.bytes.len() + self.run.ends.len() * size_of::<(usize, usize)>();
        match &self.order {
            None => n >= BATCH,
            Some(order) => (n + order.bytes()) as u64 >= sort_bytes_max,
        }
    }

    /// Adds the last row of the run to the order.
    fn note_order(&mut self, key: &[u8]) {
        let number = self.run.ends.len() as u32 - 1;
        if let Some(order) = &mut self.order {
            let key = [key, &number.to_be_bytes()].concat();
            order.push(&key, key.len() - 4, false);
        }
    }
}

/// The number in its run of the row that is `n`th in this order, if there is one.
fn number_of(order: Option<&Entries>, n: usize) -> Option<usize> {
    let Some(order) = order else {
        return Some(n);
    };
    let (key, _) = order.get(n)?;
    Some(u32::from_be_bytes(*key.last_chunk()?) as usize)
}

/// Two tables with rows of the same form.
struct Pair {
    old: Arc<Table>,
    new: Arc<Table>,
    snapshot: Option<Snapshot>,
}

impl Session {
    /// Puts the rows of a table, as they are or as `snapshot` sees them, into another that nobody knows, by so many threads at
    /// most; gives their number.
    ///
    /// # Errors
    /// 1062: two of them have the same key there; what `rewrite` says.
    pub(super) async fn copy_rows(
        &mut self,
        old: &Arc<Table>,
        new: &Arc<Table>,
        (rewrite, keys): (&mut Rewrite<'_>, Keys),
        snapshot: Option<Snapshot>,
        threads: usize,
    ) -> Result<u64, SqlError> {
        // Zero would say that it is not known yet.
        new.live.row_id.store(1, Ordering::Relaxed);
        let progress = &self.interrupt.progress;
        progress.begin(Stage::Copying, old.row_count_estimate());
        if matches!(rewrite, Rewrite::Same) && keys == Keys::Kept {
            if !old.layout.has_columns_of(&new.layout) {
                return Err(SqlError::internal("rows of another form"));
            }
            let parts = self.parts_of_rows(old, threads).await?;
            let pair = Arc::new(Pair {
                old: old.clone(),
                new: new.clone(),
                snapshot,
            });
            let job = |w, range| copy_part(w, pair.clone(), range);
            let copied = self
                .run_parallel("table-copy", Priority::Background, parts, job)
                .await?;
            return Ok(copied.iter().sum());
        }
        let mut copier = Session::new(self.engine.clone());
        let copied = self.copy_with(&mut copier, old, new, (rewrite, keys), snapshot);
        ended(copied.await, &mut copier).await
    }

    /// Puts the rows of a foreign file, each as `sound` gives it back, into a table that nobody knows; gives their number.
    ///
    /// # Errors
    /// What is wrong with the file; what `sound` says; 1062: two rows have the same key.
    pub(super) async fn copy_foreign(
        &mut self,
        rows: &mut ForeignRows,
        new: &Arc<Table>,
        sound: &mut Sound<'_>,
    ) -> Result<u64, SqlError> {
        new.live.row_id.store(1, Ordering::Relaxed);
        self.interrupt.progress.begin(Stage::Copying, 0);
        let mut copier = Session::new(self.engine.clone());
        let copied = self.copy_foreign_with(&mut copier, rows, new, sound);
        ended(copied.await, &mut copier).await
    }

    async fn copy_foreign_with(
        &mut self,
        copier: &mut Session,
        rows: &mut ForeignRows,
        new: &Arc<Table>,
        sound: &mut Sound<'_>,
    ) -> Result<u64, SqlError> {
        let mut leaf = Vec::new();
        let mut to = Reshaped::default();
        let mut copied = 0u64;
        copier.begin(Isolation::ReadCommitted, false);
        while rows.next_leaf(&mut leaf).await? {
            self.interrupt.check()?;
            self.yield_now().await;
            self.interrupt.progress.add(leaf.len() as u64);
            for row in leaf.drain(..) {
                let outside = match row.external {
                    true => rows.outside(&row.bytes).await?,
                    false => Vec::new(),
                };
                let values = sound(&rows.values(&row.bytes, &outside))?;
                let key = copier.new_key(new, &values);
                copier.take_over(new, key, &values, &mut to).await?;
                copied += 1;
                if copied.is_multiple_of(CHUNK as u64) {
                    copier.commit().await?;
                    copier.begin(Isolation::ReadCommitted, false);
                }
            }
        }
        copier.put_reshaped(new, &mut to).await?;
        Ok(copied)
    }

    async fn copy_with(
        &mut self,
        copier: &mut Session,
        old: &Arc<Table>,
        new: &Arc<Table>,
        (rewrite, keys): (&mut Rewrite<'_>, Keys),
        snapshot: Option<Snapshot>,
    ) -> Result<u64, SqlError> {
        let numbers_kept = keys == Keys::Kept && new.has_hidden_key();
        let mut walk = LeafRows::new(KeyRange::default(), snapshot);
        // The rows of a leaf: those that are not all in it are completed when it is free again.
        let mut rows: Vec<(Vec<u8>, bool, Vec<u8>)> = Vec::new();
        let mut to = Reshaped::default();
        let mut copied = 0u64;
        copier.begin(Isolation::ReadCommitted, false);
        loop {
            self.interrupt.check()?;
            // Each leaf: what is made of its rows takes a hundred times what reading them does.
            self.yield_now().await;
            rows.clear();
            let mut take = |key: &[u8], v: RowVersion, row: &[u8]| {
                let key = if numbers_kept { key } else { &[] };
                rows.push((row.to_vec(), v.external(), key.to_vec()));
            };
            let (found, more) = walk.next(self, old, &mut take).await?;
            self.interrupt.progress.add(found);
            for (row, external, key) in &rows {
                let values = match external {
                    false => rewrite.row(old.layout.row(row))?,
                    true => {
                        let outside = self.read_outside(old, row).await?;
                        rewrite.row(old.layout.row(row).with_outside(&outside))?
                    }
                };
                let key = match numbers_kept {
                    true => key.clone(),
                    false => copier.new_key(new, &values),
                };
                copier.take_over(new, key, &values, &mut to).await?;
                copied += 1;
                if copied.is_multiple_of(CHUNK as u64) {
                    copier.commit().await?;
                    copier.begin(Isolation::ReadCommitted, false);
                }
            }
            if !more {
                copier.put_reshaped(new, &mut to).await?;
                return Ok(copied);
            }
        }
    }

    /// Adds a row with this clustered key to the run.
    async fn take_over(
        &mut self,
        new: &Arc<Table>,
        key: Vec<u8>,
        values: &[Value],
        to: &mut Reshaped,
    ) -> Result<(), SqlError> {
        if to.order.is_none() && key <= to.last && !to.last.is_empty() {
            if key == to.last {
                return Err(duplicate_error(new, 0, values));
            }
            self.put_reshaped(new, to).await?;
            to.order = Some(Entries::default());
        }
        let row = self.build_row(new, values).await?;
        to.run.push(&key, row.external, &row.bytes);
        to.note_order(&key);
        to.last = key;
        new.count_rows(1);
        if to.is_full(self.engine.sort_bytes_max) {
            self.put_reshaped(new, to).await?;
        }
        Ok(())
    }

    /// Puts the rows so far into the file, sorted where they have to be.
    ///
    /// # Errors
    /// 1062: two have the same key, or one has that of a row that is there.
    async fn put_reshaped(&mut self, new: &Arc<Table>, to: &mut Reshaped) -> Result<(), SqlError> {
        if let Some(order) = &mut to.order {
            let mut s = Sorting::default();
            while order.sort_some(&mut s) {
                self.yield_now().await;
            }
            if let Some(n) = order.repeated() {
                return Err(self.duplicate_in_run(new, to, n).await);
            }
        }
        let order = to.order.as_ref();
        if let Some(n) = self.put_run(new, &to.run, order).await? {
            return Err(self.duplicate_in_run(new, to, n).await);
        }
        to.run.clear();
        to.order = to.order.take().map(|_| Entries::default());
        Ok(())
    }

    /// The error for the row of the run that is `n`th by its key.
    async fn duplicate_in_run(&mut self, new: &Table, to: &Reshaped, n: usize) -> SqlError {
        let row = number_of(to.order.as_ref(), n).and_then(|n| to.run.get(n));
        let (Some((_, value)), true) = (row, row.is_some_and(|(_, v)| v.len() >= HEADER)) else {
            return error::bad_row(&new.full_name);
        };
        let row = new.layout.row(&value[HEADER..]);
        if !RowVersion::read(value).is_some_and(|v| v.external()) {
            return duplicate_error(new, 0, &row.to_values());
        }
        match self.read_outside(new, &value[HEADER..]).await {
            Ok(outside) => duplicate_error(new, 0, &row.with_outside(&outside).to_values()),
            Err(e) => e,
        }
    }

    /// Puts the rows of the run into the file, a leaf at a time, in the order in which they came or in this one. Gives the number, in it, of one whose
    /// key was there already; those behind it are not there then.
    async fn put_run(
        &mut self,
        new: &Table,
        run: &Run,
        order: Option<&Entries>,
    ) -> Result<Option<usize>, SqlError> {
        let engine = self.engine.clone();
        let tree = &new.indexes[0].tree;
        let mut at = 0;
        while at < run.ends.len() {
            let entry = |n| run.get(number_of(order, at + n)?);
            let put = || tree.insert_run_noting(entry, SPARE);
            let put = engine.pager().run(put).await;
            let (n, there) = put.map_err(|e| error::storage(e, &new.full_name))?;
            if let Some(there) = there {
                return Ok(Some(at + there));
            }
            at += n;
            if order.is_some() {
                self.yield_now().await;
            }
        }
        Ok(None)
    }
}

/// Copies a part of the rows, which stay as they are.
async fn copy_part(mut w: Worker, pair: Arc<Pair>, range: KeyRange) -> Result<u64, SqlError> {
    let mut copier = Session::new(w.engine());
    copier.begin(Isolation::ReadCommitted, false);
    let copied = copy_range(&mut w, &mut copier, &pair, range).await;
    ended(copied, &mut copier).await
}

async fn copy_range(
    w: &mut Worker,
    copier: &mut Session,
    pair: &Pair,
    range: KeyRange,
) -> Result<u64, SqlError> {
    let (old, new) = (&pair.old, &pair.new);
    let mut walk = LeafRows::new(range, pair.snapshot);
    let mut run = Run::default();
    // Rows of a leaf from the first one on that is not all in it, or has fewer columns: these are built anew when it is free again.
    let mut later: Vec<(Vec<u8>, bool, Vec<u8>)> = Vec::new();
    let mut copied = 0;
    let mut built = 0;
    loop {
        w.yield_if_due().await?;
        let mut take = |key: &[u8], v: RowVersion, row: &[u8]| {
            if later.is_empty() && !v.external() && new.layout.has_all_columns(row) {
                run.push(key, false, row);
            } else {
                later.push((key.to_vec(), v.external(), row.to_vec()));
            }
        };
        let (rows, more) = walk.next(&w.session, old, &mut take).await?;
        w.interrupt.progress.add(rows);
        copied += rows;
        for (key, external, row) in later.drain(..) {
            let outside = match external {
                true => w.session.read_outside(old, &row).await?,
                false => Vec::new(),
            };
            let values = old.layout.row(&row).with_outside(&outside).to_values();
            let row = copier.build_row(new, &values).await?;
            run.push(&key, row.external, &row.bytes);
            built += 1;
            if built % CHUNK == 0 {
                copier.commit().await?;
                copier.begin(Isolation::ReadCommitted, false);
            }
        }
        if !more || run.bytes.len() >= BATCH {
            if copier.put_run(new, &run, None).await?.is_some() {
                return Err(SqlError::internal("a row that is in the copy already"));
            }
            run.clear();
        }
        if !more {
            new.count_rows(copied as i64);
            return Ok(copied);
        }
    }
}

/// Ends the transaction of what was copied.
async fn ended(copied: Result<u64, SqlError>, copier: &mut Session) -> Result<u64, SqlError> {
    match copied {
        Ok(n) => copier.commit().await.map(|()| n),
        Err(e) => {
            copier.rollback().await?;
            Err(e)
        }
    }
}
