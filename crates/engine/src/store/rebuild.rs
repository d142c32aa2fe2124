//! Rebuilding a table: its rows, in another form where that is asked for, go into a new file, which then takes the old one's
//! place. Until then nobody sees the new file, and a crash leaves the table as it was. Where rows keep their keys others go on writing:
//! rows are copied as of a snapshot, and those that have changed since are brought up to date ([`super::catch_up`]).
//!
//! Must never do: change a byte of the old file.

use super::build::twice;
use super::catalog::table_row;
use super::ddl::{Closed, RowChange, arrange_clustered};
use super::leaf_rows::LeafRows;
use super::table_path;
use crate::error;
use crate::progress::Stage;
use crate::record::{EXTERNAL, RowRef, RowVersion};
use crate::schema::{IndexDef, IndexKind, Table, TableDef, key_parts};
use crate::session::{Inserted, Isolation, Session};
use crate::txn::Snapshot;
use base::TxnId;
use btree::Tree;
use pager::Space;
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

/// A definition, without the indexes that are still to be built, and the file for it.
struct Draft {
    def: TableDef,
    others: Vec<IndexDef>,
    space: Arc<Space>,
}

/// A definition that names the new file, and a table that nobody sees yet.
struct Made {
    rows: u64,
    old: Arc<Table>,
    filled: Arc<Table>,
    _closed: Closed,
}

/// Whether the clustered keys of both are made of values of the same types in the same way.
fn keeps_key(old: &Table, def: &TableDef) -> bool {
    let (Some(was), Some(is)) = (old.def.indexes.first(), def.indexes.first()) else {
        return false;
    };
    let hidden = was.kind == IndexKind::Hidden || is.kind == IndexKind::Hidden;
    !hidden && key_parts(&old.def, was) == key_parts(def, is)
}

impl Session {
    /// Gives a table the definition `def`, under whatever name that has, and its rows the form that `reshape` makes of them.
    /// Ids, roots and a hidden clustered index are filled in. Gives the number of rows; `None` where the table was dropped or
    /// has another definition by now, and nothing was done. `beside`: others may write meanwhile, for which every row must keep the
    /// values of its clustered key, and `reshape` give the same for the same row each time. The table is closed for the moment that it takes
    /// its transactions to end, at the beginning and at the end; where `beside` is not asked for or cannot be, all the time.
    ///
    /// # Errors
    /// 1050: there is a table of the new name; 1049; 1062: rows that are equal under the new definition; what `reshape` says.
    /// After an error the table is as it was.
    pub async fn rebuild_table(
        &mut self,
        old: &Arc<Table>,
        mut def: TableDef,
        reshape: &mut Reshape<'_>,
        beside: bool,
    ) -> Result<Option<u64>, SqlError> {
        let _shown = self.show_progress();
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
        arrange_clustered(&mut def);
        let beside = beside && keeps_key(old, &def);
        let path = engine.data_dir().join(table_path(&def.schema, &def.name));
        let aside = path.with_extension(format!("new.{}", pager::SPACE_EXTENSION));
        // The other indexes are built when the rows are there.
        let others = def.indexes.split_off(1);
        let space = engine.make_space(&mut def, aside).await?;
        let mut draft = Draft { def, others, space };
        let made = match beside {
            true => self.rebuild_beside(old, &mut draft, reshape).await,
            false => self.rebuild_closed(old, &mut draft, reshape).await,
        };
        let Draft { def, space, .. } = draft;
        let Made {
            rows,
            old,
            filled,
            _closed,
        } = match made {
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
        engine.ddl.set_unborn(None);
        engine.drop_file(old.space_id());
        // If this fails the next start does it: files follow the catalog.
        let _ = engine.pager().rename_space(space.id(), &path);
        Ok(Some(rows))
    }

    /// Fills the new file while nobody uses the table, and makes the definition name it.
    async fn rebuild_closed(
        &mut self,
        old: &Arc<Table>,
        draft: &mut Draft,
        reshape: &mut Reshape<'_>,
    ) -> Result<Made, SqlError> {
        let closed = self.close_table(old).await?;
        let (rows, filled) = self.fill_draft(old, draft, reshape, None).await?;
        self.swap_in(old, draft).await?;
        Ok(Made {
            rows,
            old: old.clone(),
            filled,
            _closed: closed,
        })
    }

    /// The same while others use the table.
    async fn rebuild_beside(
        &mut self,
        old: &Arc<Table>,
        draft: &mut Draft,
        reshape: &mut Reshape<'_>,
    ) -> Result<Made, SqlError> {
        let engine = self.engine.clone();
        let watched = {
            // Whoever changes rows without saying so must have ended before the snapshot.
            let _closed = self.close_table(old).await?;
            engine.show_instead(old, Table::with_watch(engine.pager(), old))
        };
        let made = async {
            let reader = self.reader_of_all().await?;
            let filled = self.fill_draft(&watched, draft, reshape, Some(reader));
            let (_, filled) = filled.await?;
            engine.ddl.set_unborn(Some(filled.clone()));
            let left = self.catch_up_with(&watched, &filled, reshape).await?;
            let closed = self.close_table(&watched).await?;
            self.bring_last(&watched, &filled, reshape, left).await?;
            self.swap_in(&watched, draft).await?;
            Ok((filled, closed))
        }
        .await;
        match made {
            Ok((filled, closed)) => Ok(Made {
                rows: filled.row_count_estimate(),
                old: watched,
                filled,
                _closed: closed,
            }),
            Err(e) => {
                engine.ddl.set_unborn(None);
                self.withdraw(&watched).await;
                Err(e)
            }
        }
    }

    /// Puts the rows, those that `reader` sees where there is one, into the new file and builds its other indexes; gives their number, and the table that the file is.
    async fn fill_draft(
        &mut self,
        old: &Arc<Table>,
        draft: &mut Draft,
        reshape: &mut Reshape<'_>,
        mut reader: Option<Session>,
    ) -> Result<(u64, Arc<Table>), SqlError> {
        let engine = self.engine.clone();
        let Draft { def, others, space } = draft;
        let open = |def: &TableDef, old: Option<&Table>| {
            Arc::new(Table::open(engine.pager(), def.clone(), space.clone(), old))
        };
        let new = open(def, None);
        let snapshot = reader.as_mut().map(Session::snapshot);
        let rows = self.copy_rows(old, &new, reshape, snapshot).await?;
        if let Some(mut reader) = reader {
            // Purge need not wait for what follows.
            reader.commit().await?;
        }
        for mut index in others.drain(..) {
            index.id = engine.next_index.fetch_add(1, Ordering::Relaxed);
            let make = || Tree::create(engine.pager(), space, index.id);
            let fail = |e| error::storage(e, &new.full_name);
            index.root = engine.pager().run(make).await.map_err(fail)?;
            let tree = Tree::open(engine.pager().clone(), space.clone(), index.root, index.id);
            self.fill_index(&new, &index, &tree, None).await?;
            def.indexes.push(index);
        }
        Ok((rows, open(def, Some(&new))))
    }

    /// Makes the definition name the new file, durably. Nobody uses the table.
    async fn swap_in(&mut self, old: &Table, draft: &mut Draft) -> Result<(), SqlError> {
        let def = &mut draft.def;
        if old.def.auto_increment_column().is_some() && def.auto_increment_column().is_some() {
            let next = old.live.auto_increment.load(Ordering::Relaxed);
            def.options.auto_increment = def.options.auto_increment.max(next);
        }
        let changes = vec![
            RowChange::Remove(table_row(&old.def)),
            RowChange::Put(table_row(def)),
        ];
        if base::mutant!("old-file-dropped-before-the-swap") {
            self.engine.drop_file(old.space_id());
        }
        self.engine.change_rows(changes).await
    }

    /// Puts the rows of a table, as they are or as `snapshot` sees them, into another that nobody knows; gives their number.
    async fn copy_rows(
        &mut self,
        old: &Arc<Table>,
        new: &Arc<Table>,
        reshape: &mut Reshape<'_>,
        snapshot: Option<Snapshot>,
    ) -> Result<u64, SqlError> {
        // Zero would say that it is not known yet.
        new.live.row_id.store(1, Ordering::Relaxed);
        let mut copier = Session::new(self.engine.clone());
        let r = self
            .copy_with(&mut copier, old, new, reshape, snapshot)
            .await;
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
        snapshot: Option<Snapshot>,
    ) -> Result<u64, SqlError> {
        let mut walk = LeafRows::new(snapshot);
        // The rows of a leaf: those that are not all in it are completed when it is free again.
        let mut rows: Vec<(Vec<u8>, bool)> = Vec::new();
        let mut run = Run::default();
        let mut copied = 0u64;
        copier.begin(Isolation::ReadCommitted, false);
        let estimate = old.row_count_estimate();
        self.interrupt.progress.begin(Stage::Copying, estimate);
        loop {
            self.interrupt.check()?;
            // Each leaf: what is made of its rows takes a hundred times what reading them does.
            self.give_way().await;
            rows.clear();
            let mut take = |_: &[u8], v: RowVersion, row: &[u8]| {
                rows.push((row.to_vec(), v.external()));
            };
            let (found, more) = walk.next(self, old, &mut take).await?;
            self.interrupt.progress.add(found);
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
            if !more {
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
