//! The statements that change definitions. One runs at a time; each waits until nobody uses the tables it changes, makes
//! what is to be made, commits one catalog transaction durably, and then shows the new definitions to everybody.

use super::catalog::{object_row, schema_row, table_row};
use super::check_names::refuse_taken;
pub(super) use super::close_tables::Closed;
use super::compression::compressed_format;
use super::foreign_keys::{Ties, may_drop, may_truncate};
pub(super) use super::row_change::{RowChange, TableName};
use super::{schema_dir, table_path};
use crate::engine::Engine;
use crate::error;
use crate::interrupt::Interrupt;
use crate::schema::{IndexDef, IndexKind, IndexPart, ObjectDef, SchemaDef, Table, TableDef};
use crate::session::{Patience, Session};
use crate::table_lock::FailedRollbacks;
use base::SpaceId;
use btree::Tree;
use pager::{OpError, RecordKind, Space};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

/// A definition change whose progress is shown until this is dropped.
pub(super) struct Shown(Arc<Interrupt>);

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.progress.end();
    }
}

impl Session {
    /// Makes a schema.
    ///
    /// # Errors
    /// 1007: it exists. 1205 and 1317 while it waits for others; what the storage fails with.
    pub async fn create_schema(&mut self, def: SchemaDef) -> Result<(), SqlError> {
        self.commit().await?;
        let engine = self.engine.clone();
        let _ddl = self.lock_ddl(&engine).await?;
        if engine.catalog().schema(&def.name).is_some() {
            return Err(SqlError::db_exists(&def.name));
        }
        let rows = vec![RowChange::Put(schema_row(&def))];
        let event = self.take_definition_event();
        engine.change_rows_and_tell(rows, event).await?;
        engine.change_catalog(|c| c.put_schema(def));
        Ok(())
    }

    /// Changes a schema's options.
    ///
    /// # Errors
    /// 1049: it does not exist. 1205 and 1317 while it waits for others; what the storage fails with.
    pub async fn alter_schema(&mut self, def: SchemaDef) -> Result<(), SqlError> {
        self.commit().await?;
        let engine = self.engine.clone();
        let _ddl = self.lock_ddl(&engine).await?;
        let Some(old) = engine.catalog().schema(&def.name).cloned() else {
            return Err(SqlError::unknown_db(&def.name));
        };
        let rows = vec![
            RowChange::Remove(schema_row(&old.def)),
            RowChange::Put(schema_row(&def)),
        ];
        let event = self.take_definition_event();
        engine.change_rows_and_tell(rows, event).await?;
        engine.change_catalog(|c| c.put_schema(def));
        Ok(())
    }

    /// Drops a schema with its tables and views; gives their number.
    ///
    /// # Errors
    /// 1008: it does not exist; 3730: a table of another schema refers to one of it. 1205 and 1317 while it waits for others; what the storage
    /// fails with.
    pub async fn drop_schema(&mut self, name: &str) -> Result<u64, SqlError> {
        self.commit().await?;
        let mut patience = self.patience();
        loop {
            if let Some(tables) = self.drop_schema_once(name, &mut patience).await? {
                return Ok(tables);
            }
        }
    }

    async fn drop_schema_once(
        &mut self,
        name: &str,
        patience: &mut Patience,
    ) -> Result<Option<u64>, SqlError> {
        let engine = self.engine.clone();
        let ddl = self.lock_ddl(&engine).await?;
        let Some(s) = engine.catalog().schema(name).cloned() else {
            return Err(SqlError::db_drop_missing(name));
        };
        let tables = s.tables.keys().map(|t| (name.to_owned(), t.clone()));
        let tables: Vec<TableName> = tables.collect();
        may_drop(&engine.catalog(), &tables, self.foreign_key_checks)?;
        let gone: Vec<Arc<Table>> = s.tables.values().cloned().collect();
        let views: Vec<Arc<ObjectDef>> = s.objects.values().cloned().collect();
        let failed = FailedRollbacks::DoNotCount;
        let closed = self
            .close_first_with(ddl, (&gone, &views), failed, patience)
            .await?;
        let Some(_closed) = closed else {
            return Ok(None);
        };
        let mut rows = vec![RowChange::Remove(schema_row(&s.def))];
        rows.extend(gone.iter().map(|t| RowChange::Remove(table_row(&t.def))));
        rows.extend(s.objects.values().map(|o| RowChange::Remove(object_row(o))));
        let event = self.take_definition_event();
        engine.change_rows_and_tell(rows, event).await?;
        for t in s.tables.values() {
            t.retired.store(true, Ordering::SeqCst);
        }
        views.iter().for_each(|v| v.retire());
        engine.change_catalog(|c| c.remove_schema(name));
        for t in s.tables.values() {
            engine.drop_file(t.space_id());
        }
        engine.roll_back_kept();
        // An empty folder is of no consequence, and one that is not empty is not ours to remove.
        let _ = engine
            .environment()
            .disk
            .remove_dir(&engine.data_dir().join(schema_dir(name)));
        Ok(Some((s.tables.len() + s.views().count()) as u64))
    }

    /// Makes a table. The engine fills in ids, roots and the clustered index.
    ///
    /// # Errors
    /// 1050: it exists; 1049: its schema does not. 1822, 1824, 1826, 1830, 3734, 3780: its foreign keys, or those that wait for it, do not go
    /// with the tables there are. 1205 and 1317 while it waits for others; what the storage fails with.
    pub async fn create_table(&mut self, def: TableDef) -> Result<(), SqlError> {
        self.commit().await?;
        let mut patience = self.patience();
        while !self.create_table_once(def.clone(), &mut patience).await? {}
        Ok(())
    }

    async fn create_table_once(
        &mut self,
        mut def: TableDef,
        patience: &mut Patience,
    ) -> Result<bool, SqlError> {
        let engine = self.engine.clone();
        let ddl = self.lock_ddl(&engine).await?;
        self.check_definition_seen()?;
        let catalog = engine.catalog();
        let Some(s) = catalog.schema(&def.schema) else {
            return Err(SqlError::unknown_db(&def.schema));
        };
        let lost = catalog
            .tables_without_file
            .contains_key(&(def.schema.clone(), def.name.clone()));
        let view = catalog.view(&def.schema, &def.name).is_some();
        if s.tables.contains_key(&def.name) || lost || view {
            return Err(SqlError::table_exists(&def.name));
        }
        refuse_taken(&catalog, &def, None)?;
        if def.options.created_us == 0 {
            def.options.created_us = engine.environment().clock.wall_us();
        }
        arrange_clustered(&mut def);
        let ties = Ties::of(&catalog, None, &def, &[], self.foreign_key_checks)?;
        let (tables, failed) = (ties.tables(), FailedRollbacks::Count);
        let closed = self.close_first(ddl, &tables, failed, patience).await?;
        let Some(_closed) = closed else {
            return Ok(false);
        };
        let path = engine.data_dir().join(table_path(&def.schema, &def.name));
        let space = engine.make_space(&mut def, path, false).await?;
        let mut rows = vec![RowChange::Put(table_row(&def))];
        rows.extend(ties.rows());
        let event = self.take_definition_event();
        let done = engine.change_rows_and_tell(rows, event).await;
        if let Err(e) = done {
            engine.abandon_file(space.id());
            return Err(e);
        }
        engine.show_new_file(None, Table::open(engine.pager(), def, space, None));
        ties.show(&engine);
        Ok(true)
    }

    /// Empties a table by giving it a new file.
    ///
    /// # Errors
    /// 1146: it does not exist; 1814: it was discarded; 1701: another table refers to it. 1205 and 1317 while it waits for others; what the storage fails with.
    /// After an error the table is as it was.
    pub async fn truncate_table(&mut self, schema: &str, name: &str) -> Result<(), SqlError> {
        self.commit().await?;
        let mut patience = self.patience();
        while !self.truncate_once(schema, name, &mut patience).await? {}
        Ok(())
    }

    async fn truncate_once(
        &mut self,
        schema: &str,
        name: &str,
        patience: &mut Patience,
    ) -> Result<bool, SqlError> {
        let engine = self.engine.clone();
        let ddl = self.lock_ddl(&engine).await?;
        let missing = || SqlError::no_such_table(schema, name);
        let old = engine.catalog().table(schema, name).ok_or_else(missing)?;
        may_truncate(&engine.catalog(), &old, self.foreign_key_checks)?;
        let (tables, failed) = ([old.clone()], FailedRollbacks::Count);
        let closed = self.close_first(ddl, &tables, failed, patience).await?;
        let Some(_closed) = closed else {
            return Ok(false);
        };
        if old.def.options.discarded {
            return Err(SqlError::tablespace_discarded(name));
        }
        let mut def = old.def.clone();
        def.options.auto_increment = 0;
        self.put_empty(&old, def).await?;
        Ok(true)
    }

    /// Gives a table that nobody uses a definition, in which ids and roots are to be filled in, and a new and empty file.
    pub(super) async fn put_empty(
        &mut self,
        old: &Arc<Table>,
        mut def: TableDef,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        def.columns.iter_mut().for_each(|c| c.fill = None);
        let path = engine.data_dir().join(table_path(&def.schema, &def.name));
        let aside = path.with_extension(format!("new.{}", pager::SPACE_EXTENSION));
        let space = engine.make_space(&mut def, aside, true).await?;
        let rows = vec![
            RowChange::Remove(table_row(&old.def)),
            RowChange::Put(table_row(&def)),
        ];
        let event = self.take_definition_event();
        if let Err(e) = engine.change_rows_and_tell(rows, event).await {
            engine.abandon_file(space.id());
            return Err(e);
        }
        let new = Table::open(engine.pager(), def, space.clone(), None);
        engine.show_new_file(Some(old), new);
        engine.drop_file(old.space_id());
        // If this fails the next start does it: files follow the catalog.
        let _ = engine.pager().rename_space(space.id(), &path);
        engine.pager().keep_spare();
        Ok(())
    }

    /// Lets the progress of a definition change be seen until what this gives is dropped.
    pub(super) fn show_progress(&self) -> Shown {
        Shown(self.interrupt.clone())
    }
}

impl Engine {
    /// Makes a definition's file with an empty tree for each index; fills in ids and roots. `at_last`: on a full disk from what is kept for that. The
    /// caller has the DDL mutex: nobody else makes a file meanwhile that may have this name.
    pub(super) async fn make_space(
        &self,
        def: &mut TableDef,
        path: PathBuf,
        at_last: bool,
    ) -> Result<Arc<Space>, SqlError> {
        def.id = self.new_table_id()?;
        // The name may be taken by what a statement that was cut short left, or by a table that waits for its own: the
        // next start gives each its place.
        let path = match self.environment().disk.exists(&path) {
            true => of_its_own(&path, def.id),
            false => path,
        };
        self.make_file(def, path, at_last).await
    }

    /// The same without the DDL mutex: the file's name is no other's, whoever makes a table of this name at the same time.
    pub(super) async fn make_space_beside_others(
        &self,
        def: &mut TableDef,
        path: &Path,
    ) -> Result<Arc<Space>, SqlError> {
        def.id = self.new_table_id()?;
        let path = of_its_own(path, def.id);
        self.make_file(def, path, false).await
    }

    fn new_table_id(&self) -> Result<u32, SqlError> {
        let id = self.ddl.next_table.fetch_add(1, Ordering::Relaxed);
        match SpaceId(id).is_temporary() {
            // Two thousand million tables have been made.
            true => Err(SqlError::internal("no id is left for a table")),
            false => Ok(id),
        }
    }

    async fn make_file(
        &self,
        def: &mut TableDef,
        path: PathBuf,
        at_last: bool,
    ) -> Result<Arc<Space>, SqlError> {
        let name = format!("{}.{}", def.schema, def.name);
        let compression =
            compressed_format(&def.options, self.compression_level.load(Ordering::Relaxed));
        let fail = |e: OpError| error::storage(e, &name);
        if let Some(dir) = path.parent() {
            let disk = &self.environment().disk;
            disk.create_dir_all(dir)
                .and_then(|()| disk.sync_dir(&self.data_dir()))
                .map_err(|e| fail(OpError::io(e)))?;
        }
        let id = SpaceId(def.id);
        let made = match at_last {
            true => {
                // Page 0, and a root for each index.
                let pages = 1 + u32::try_from(def.indexes.len()).unwrap_or(u32::MAX - 1);
                self.pager
                    .create_space_at_last(id, &path, compression, pages)
            }
            false => self.pager.create_space(id, &path, compression),
        };
        let space = made.map_err(fail)?;
        self.make_trees(def, &space).await.map_err(fail)?;
        Ok(space)
    }

    /// Makes an empty tree for each index in a new file; fills in ids and roots. After an error the file is gone.
    pub(super) async fn make_trees(
        &self,
        def: &mut TableDef,
        space: &Arc<Space>,
    ) -> Result<(), OpError> {
        for at in 0..def.indexes.len() {
            let id = self.new_index_id(def);
            let made = || Tree::create(&self.pager, space, id);
            match self.pager.run(made).await {
                Ok(root) => {
                    let x = &mut def.indexes[at];
                    (x.id, x.root) = (id, root);
                }
                Err(e) => {
                    self.drop_file(space.id());
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    /// An id for another index of this table.
    pub(super) fn new_index_id(&self, def: &TableDef) -> u32 {
        match def.is_temporary() {
            true => self.unnamed.new_id(),
            false => self.next_index.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Replaces a table's definition on disk, with other rows of the catalog, and for everybody. The AUTO_INCREMENT counter goes on at
    /// the definition's, which may be lower, but above all rows; as before where that is 0. Nobody uses the table. `event`: what it leaves for
    /// readers of the log.
    pub(super) async fn replace_def(
        self: &Arc<Self>,
        old: &Arc<Table>,
        mut def: TableDef,
        also: Vec<RowChange>,
        event: Option<Vec<u8>>,
    ) -> Result<(), SqlError> {
        let next = match def.options.auto_increment {
            0 => {
                def.options.auto_increment = old.def.options.auto_increment;
                None
            }
            n => Some(Session::new(self.clone()).counter_from(old, n).await?),
        };
        let mut rows = vec![
            RowChange::Remove(table_row(&old.def)),
            RowChange::Put(table_row(&def)),
        ];
        rows.extend(also);
        self.change_rows_and_tell(rows, event).await?;
        let new = Table::open(self.pager(), def, old.space.clone(), Some(old));
        let set = next.map(|next| self.set_counter(&new, next));
        self.show_instead(old, new);
        match set {
            Some(end) => self
                .log
                .wait_durable(end?)
                .await
                .map_err(|e| error::storage(e, &old.full_name)),
            None => Ok(()),
        }
    }

    /// Has the counter of a table go on at `next`; gives the end of the record that says so.
    fn set_counter(&self, t: &Table, next: u64) -> Result<base::Lsn, SqlError> {
        let _noting = self.noting.lock();
        t.live.auto_increment_saved.store(next, Ordering::Relaxed);
        t.live.auto_increment.store(next, Ordering::Relaxed);
        let body = crate::counters::set_note(t.def.id, next);
        let none = (base::TxnId::NONE, base::Lsn::NONE);
        let at = self
            .pager
            .append(RecordKind::Note, none.0, none.1, &body, |_, _| {});
        at.map(|at| at.end)
            .map_err(|e| error::storage(e, &t.full_name))
    }

    /// Removes a file that no definition names. A failure leaves it for the next start to remove.
    pub(crate) fn drop_file(&self, id: SpaceId) {
        let _ = self.pager.drop_space(id);
    }

    /// Removes the file of a creation that failed. When the log failed, nobody knows whether its commit will be found there:
    /// the next start keeps the file or removes it, as the definitions say then.
    pub(crate) fn abandon_file(&self, id: SpaceId) {
        if self.log.failure().is_none() {
            self.drop_file(id);
        }
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.dir.join("data")
    }
}

/// Puts the clustered index first, adding a hidden one where no key serves.
pub(super) fn arrange_clustered(def: &mut TableDef) {
    match def.clustered_choice() {
        Some(i) => {
            let x = def.indexes.remove(i);
            def.indexes.insert(0, x);
        }
        None => def.indexes.insert(
            0,
            IndexDef {
                id: 0,
                name: "GEN_CLUST_INDEX".to_string(),
                kind: IndexKind::Hidden,
                parts: Vec::<IndexPart>::new(),
                comment: String::new(),
                root: base::PageNo(0),
                invisible: false,
                asked: Default::default(),
            },
        ),
    }
}

/// The name of a table's file that no other can have.
fn of_its_own(path: &Path, id: u32) -> PathBuf {
    path.with_extension(format!("{id}.{}", pager::SPACE_EXTENSION))
}
