//! Rebuilding a table: its rows, in another form where that is asked for, go into a new file, which then takes the old one's
//! place. Until then nobody sees the new file, and a crash leaves the table as it was.
//!
//! Must never do: change a byte of the old file.

use super::build::twice;
use super::catalog::table_row;
use super::ddl::{RowChange, arrange_clustered};
use super::table_path;
use crate::error;
use crate::record::{EXTERNAL, HEADER, RowRef, RowVersion};
use crate::schema::{Table, TableDef};
use crate::session::{Inserted, Isolation, Session};
use base::TxnId;
use btree::{Direction, ScanPos, ScanState, Tree, Visit};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{SqlError, Value};

/// What a row of the old definition is under the new one: values of its columns' types.
pub type Reshape<'f> = dyn FnMut(RowRef<'_>) -> Result<Vec<Value>, SqlError> + Send + 'f;

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
    /// The last key there was, also when its row is in the file already.
    last: Vec<u8>,
    /// Since a key was not above the last one, rows are inserted one by one.
    broken: bool,
}

impl Run {
    /// Adds a row whose key is above the last one.
    fn push(&mut self, key: &[u8], header: &[u8], row: &[u8]) {
        self.last.clear();
        self.last.extend_from_slice(key);
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(header);
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

impl Session {
    /// Gives a table the definition `def`, under whatever name that has, and its rows the form that `reshape` makes of them.
    /// Ids, roots and a hidden clustered index are filled in. Gives the number of rows; `None` where the table was dropped or
    /// has another definition by now, and nothing was done.
    ///
    /// # Errors
    /// 1050: there is a table of the new name; 1049; 1062: rows that are equal under the new definition; what `reshape` says.
    /// After an error the table is as it was.
    pub async fn rebuild_table(
        &mut self,
        old: &Arc<Table>,
        mut def: TableDef,
        reshape: &mut Reshape<'_>,
    ) -> Result<Option<u64>, SqlError> {
        self.commit().await?;
        let engine = self.engine.clone();
        let _turn = self.ddl_turn(&engine).await?;
        let catalog = engine.catalog();
        let (schema, name) = (&old.def.schema[..], &old.def.name[..]);
        if !catalog
            .table(schema, name)
            .is_some_and(|t| Arc::ptr_eq(&t, old))
        {
            return Ok(None);
        }
        if (&def.schema[..], &def.name[..]) != (schema, name) {
            if catalog.schema(&def.schema).is_none() {
                return Err(SqlError::unknown_db(&def.schema));
            }
            if catalog.table(&def.schema, &def.name).is_some() {
                return Err(SqlError::table_exists(&def.name));
            }
        }
        let _closed = self.close_table(old).await?;
        if old.def.auto_increment_column().is_some() && def.auto_increment_column().is_some() {
            let next = old.live.auto_increment.load(Ordering::Relaxed);
            def.options.auto_increment = def.options.auto_increment.max(next);
        }
        arrange_clustered(&mut def);
        // The other indexes are built when the rows are there.
        let others = def.indexes.split_off(1);
        let path = engine.data_dir().join(table_path(&def.schema, &def.name));
        let aside = path.with_extension(format!("new.{}", pager::SPACE_EXTENSION));
        let space = engine.make_space(&mut def, aside).await?;
        let made = async {
            let new = Arc::new(Table::open(
                engine.pager(),
                def.clone(),
                space.clone(),
                None,
            ));
            let rows = self.copy_rows(old, &new, reshape).await?;
            for mut index in others {
                index.id = engine.next_index.fetch_add(1, Ordering::Relaxed);
                let make = || Tree::create(engine.pager(), &space, index.id);
                let fail = |e| error::storage(e, &new.full_name);
                index.root = engine.pager().run(make).await.map_err(fail)?;
                let tree = Tree::open(engine.pager().clone(), space.clone(), index.root, index.id);
                self.fill_index(&new, &index, &tree, None).await?;
                def.indexes.push(index);
            }
            let changes = vec![
                RowChange::Remove(table_row(&old.def)),
                RowChange::Put(table_row(&def)),
            ];
            if base::mutant!("old-file-dropped-before-the-swap") {
                engine.drop_file(old.space_id());
            }
            engine.change_rows(changes).await?;
            Ok((rows, new))
        }
        .await;
        let (rows, filled) = match made {
            Ok(made) => made,
            Err(e) => {
                engine.give_up_file(space.id());
                return Err(e);
            }
        };
        old.retired.store(true, Ordering::SeqCst);
        // With what is known of the rows: their number, the next row id.
        let new = Arc::new(Table::open(
            engine.pager(),
            def,
            space.clone(),
            Some(&filled),
        ));
        new.live.born.store(engine.log.end().0, Ordering::Release);
        engine.change_catalog(|c| {
            c.remove_table(schema, name);
            c.put_table(new);
        });
        engine.drop_file(old.space_id());
        // If this fails the next start does it: files follow the catalog.
        let _ = engine.pager().rename_space(space.id(), &path);
        Ok(Some(rows))
    }

    /// Puts the rows of a table that nobody uses into another that nobody knows; gives their number.
    async fn copy_rows(
        &mut self,
        old: &Arc<Table>,
        new: &Arc<Table>,
        reshape: &mut Reshape<'_>,
    ) -> Result<u64, SqlError> {
        // Zero would say that it is not known yet.
        new.live.row_id.store(1, Ordering::Relaxed);
        let mut copier = Session::new(self.engine.clone());
        let r = self.copy_with(&mut copier, old, new, reshape).await;
        match r {
            Ok(n) => copier.commit().await.map(|()| n),
            Err(e) => {
                copier.rollback().await?;
                Err(e)
            }
        }
    }

    async fn copy_with(
        &mut self,
        copier: &mut Session,
        old: &Arc<Table>,
        new: &Arc<Table>,
        reshape: &mut Reshape<'_>,
    ) -> Result<u64, SqlError> {
        let engine = self.engine.clone();
        let fail = |e| error::storage(e, &old.full_name);
        let mut pos = ScanPos::start();
        // The rows of a leaf: those that are not all in it are completed when it is free again.
        let mut rows: Vec<(Vec<u8>, bool)> = Vec::new();
        let mut run = Run::default();
        let mut copied = 0u64;
        copier.begin(Isolation::ReadCommitted, false);
        loop {
            self.interrupt.check()?;
            self.breathe().await;
            let mut damaged = false;
            let state = engine
                .pager()
                .run(|| {
                    rows.clear();
                    damaged = false;
                    let mut p = pos.clone();
                    let tree = &old.indexes[0].tree;
                    let s = tree.scan(&mut p, Direction::Forward, |_, value| {
                        let Some(v) = RowVersion::read(value).filter(|v| !v.deleted()) else {
                            return Visit::Next;
                        };
                        let row = &value[HEADER..];
                        damaged |= !old.layout.fits(row, v.external());
                        rows.push((row.to_vec(), v.external()));
                        Visit::Next
                    })?;
                    pos = p;
                    Ok(s)
                })
                .await
                .map_err(fail)?;
            if damaged {
                return Err(error::bad_row(&old.full_name));
            }
            for (row, external) in &rows {
                let values = match external {
                    false => reshape(old.layout.row(row))?,
                    true => {
                        let outside = self.read_outside(old, row).await?;
                        reshape(old.layout.row(row).with_outside(&outside))?
                    }
                };
                copier.take_over(new, &values, &mut run).await?;
                copied += 1;
                if copied.is_multiple_of(CHUNK as u64) {
                    copier.commit().await?;
                    copier.begin(Isolation::ReadCommitted, false);
                }
            }
            if state == ScanState::End {
                self.put_run(new, &mut run).await?;
                return Ok(copied);
            }
        }
    }

    /// Adds a row to the run, or inserts it where it does not follow.
    async fn take_over(
        &mut self,
        new: &Arc<Table>,
        values: &[Value],
        run: &mut Run,
    ) -> Result<(), SqlError> {
        if !run.broken {
            let key = self.new_key(new, values);
            if key == run.last {
                return Err(twice(new, 0, values));
            }
            if key > run.last {
                let row = self.build_row(new, values).await?;
                let flags = if row.external { EXTERNAL } else { 0 };
                // Nobody's, and visible to all.
                let header = RowVersion::new(TxnId::NONE, flags).bytes();
                run.push(&key, &header, &row.bytes);
                new.count_rows(1);
                if run.bytes.len() >= BATCH {
                    self.put_run(new, run).await?;
                }
                return Ok(());
            }
            self.put_run(new, run).await?;
            run.broken = true;
        }
        match self.insert(new, values).await? {
            Inserted::Done => Ok(()),
            Inserted::Duplicate { index, .. } => Err(twice(new, index, values)),
        }
    }

    /// Puts the rows of the run into the file, a leaf at a time.
    async fn put_run(&mut self, new: &Table, run: &mut Run) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let tree = &new.indexes[0].tree;
        let mut at = 0;
        while run.get(at).is_some() {
            at += engine
                .pager()
                .run(|| tree.insert_run(|n| run.get(at + n), SPARE))
                .await
                .map_err(|e| error::storage(e, &new.full_name))?;
        }
        run.clear();
        Ok(())
    }
}
