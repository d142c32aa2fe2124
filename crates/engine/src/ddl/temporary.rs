//! Temporary tables made, changed and renamed (docs/decisions/0038): no row of the catalog, no mutex, nothing that is synced. A session is alone with
//! its own, so that nothing has to be closed either; what changes rows or indexes makes another file.
//!
//! Must never do: touch what another session can see.

use super::foreign_keys::Ties;
use super::rebuild::Draft;
use super::rewrite::{Keys, Rewrite};
use super::statements::arrange_clustered;
use super::unfinished::UNFINISHED;
use crate::engine::Engine;
use crate::error;
use crate::schema::{IndexKind, Table, TableDef};
use crate::session::Session;
use base::SpaceId;
use pager::{OpError, Space};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;
use types::error::codes;

/// Temporary tables of a session, at most: each has a file and memory of its own.
const TABLES_MAX: usize = 4096;

impl Session {
    /// Makes a temporary table. The engine fills in ids, roots and the clustered index. The transaction goes on, and its end does not undo this.
    ///
    /// # Errors
    /// 1050: the session has one of that name; 1005: it has too many; 1114: there is no room; what the storage fails with.
    pub async fn create_temporary_table(&mut self, def: TableDef) -> Result<(), SqlError> {
        let (schema, name) = (def.schema.clone(), def.name.clone());
        let t = self.new_temporary_table(def).await?;
        self.set_own(&schema, &name, Some(t));
        Ok(())
    }

    /// The same for one that is made from a query: known as [`UNFINISHED`] of its schema, until it is
    /// [finished](Self::finish_temporary_table) or [given up](Self::give_up_unfinished).
    ///
    /// # Errors
    /// As [`Session::create_temporary_table`].
    pub async fn begin_temporary_table(&mut self, def: TableDef) -> Result<(), SqlError> {
        let schema = def.schema.clone();
        let t = self.new_temporary_table(def).await?;
        self.set_own(&schema, UNFINISHED, Some(t));
        Ok(())
    }

    /// Gives the unfinished temporary table of a schema its name.
    ///
    /// # Errors
    /// None is being made.
    pub fn finish_temporary_table(&mut self, schema: &str) -> Result<(), SqlError> {
        let unknown = || SqlError::internal("no table is being made");
        let t = self.own_table(schema, UNFINISHED).cloned();
        let t = t.ok_or_else(unknown)?;
        self.set_own(schema, UNFINISHED, None);
        let name = t.def.name.clone();
        self.set_own(schema, &name, Some(t));
        Ok(())
    }

    /// Removes the unfinished temporary table of a schema. What was put in has been rolled back, or goes with it.
    pub fn give_up_unfinished(&mut self, schema: &str) {
        self.drop_temporary_table(schema, UNFINISHED);
    }

    async fn new_temporary_table(&mut self, mut def: TableDef) -> Result<Arc<Table>, SqlError> {
        if self.own_table(&def.schema, &def.name).is_some() {
            return Err(SqlError::table_exists(&def.name));
        }
        if self.own_tables() >= TABLES_MAX {
            return Err(SqlError::new(
                codes::ER_CANT_CREATE_TABLE,
                format!(
                    "Can't create table '{}' (a session has {TABLES_MAX} temporary tables at most)",
                    def.name
                ),
            ));
        }
        if def.options.created_us == 0 {
            def.options.created_us = self.engine.environment().clock.wall_us();
        }
        arrange_clustered(&mut def);
        let (space, file) = self.make_temporary_space(&mut def).await?;
        let t = Arc::new(Table::open(self.engine.pager(), def, space, None));
        self.engine.unnamed.put(&t, self.engine.log.end());
        file.keep();
        Ok(t)
    }

    /// Empties a temporary table by giving it a new file.
    ///
    /// # Errors
    /// 1114: there is no room; what the storage fails with. After an error the table is as it was.
    pub async fn truncate_temporary_table(&mut self, old: &Arc<Table>) -> Result<(), SqlError> {
        self.commit().await?;
        let mut def = old.def.clone();
        def.options.auto_increment = 0;
        def.columns.iter_mut().for_each(|c| c.fill = None);
        let (space, file) = self.make_temporary_space(&mut def).await?;
        let t = Arc::new(Table::open(self.engine.pager(), def, space, None));
        self.engine.unnamed.put(&t, self.engine.log.end());
        file.keep();
        self.put_in_place(old, t);
        self.engine.drop_unnamed(old);
        Ok(())
    }

    /// Gives a temporary table another name.
    ///
    /// # Errors
    /// 1050: the session has one of that name.
    pub fn rename_temporary_table(
        &mut self,
        old: &Arc<Table>,
        schema: &str,
        name: &str,
    ) -> Result<(), SqlError> {
        if self.own_table(schema, name).is_some() {
            return Err(SqlError::table_exists(name));
        }
        let mut def = old.def.clone();
        def.rename(schema, name);
        self.redefine(old, def);
        Ok(())
    }

    /// As [`Session::alter_table`].
    pub(super) async fn alter_temporary(
        &mut self,
        old: &Arc<Table>,
        mut def: TableDef,
    ) -> Result<bool, SqlError> {
        if !self.is_own(old) {
            return Ok(false);
        }
        let ids = |d: &TableDef| d.indexes.iter().map(|x| x.id).collect::<Vec<_>>();
        if ids(&old.def) != ids(&def) {
            // Pages of an index that goes are not looked for one by one: all rows go into another file.
            def.indexes.retain(|x| x.kind != IndexKind::Hidden);
            let chosen = def.clustered_choice().map(|i| def.indexes[i].id);
            let same_key = chosen == old.def.indexes.first().map(|x| x.id);
            let rewrite = &mut Rewrite::Same;
            let rebuilt = self.rebuild_temporary(old, def, rewrite, same_key).await?;
            return Ok(rebuilt.is_some());
        }
        let next = match def.options.auto_increment {
            0 => {
                def.options.auto_increment = old.def.options.auto_increment;
                None
            }
            n => {
                let mut reader = Session::new(self.engine.clone());
                Some(reader.counter_from(old, n).await?)
            }
        };
        let t = self.redefine(old, def);
        if let Some(next) = next {
            t.live.auto_increment_saved.store(next, Ordering::Relaxed);
            t.live.auto_increment.store(next, Ordering::Relaxed);
        }
        Ok(true)
    }

    /// As [`Session::rebuild_table`].
    pub(super) async fn rebuild_temporary(
        &mut self,
        old: &Arc<Table>,
        mut def: TableDef,
        rewrite: &mut Rewrite<'_>,
        same_key: bool,
    ) -> Result<Option<u64>, SqlError> {
        if !self.is_own(old) {
            return Ok(None);
        }
        let renamed = def.schema != old.def.schema || def.name != old.def.name;
        if renamed && self.own_table(&def.schema, &def.name).is_some() {
            return Err(SqlError::table_exists(&def.name));
        }
        arrange_clustered(&mut def);
        let keys = Keys::between(&old.def, &def, same_key);
        let others = def.indexes.split_off(1);
        let engine = self.engine.clone();
        let (space, file) = self.make_temporary_space(&mut def).await?;
        let mut draft = Draft {
            def,
            others,
            space: space.clone(),
            keys,
            threads: 1,
            ties: Ties::default(),
        };
        let (rows, filled) = self.fill_temporary(old, &mut draft, rewrite).await?;
        let mut new = Table::open(engine.pager(), draft.def, space, Some(&filled));
        new.know_as(old, &[]);
        let new = Arc::new(new);
        engine.unnamed.put(&new, engine.log.end());
        file.keep();
        self.put_in_place(old, new);
        engine.drop_unnamed(old);
        Ok(Some(rows))
    }

    async fn fill_temporary(
        &mut self,
        old: &Arc<Table>,
        draft: &mut Draft,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<(u64, Arc<Table>), SqlError> {
        let (rows, filled, _) = self.fill_draft(old, draft, rewrite, None).await?;
        let def = &mut draft.def;
        let counts = |d: &TableDef| d.auto_increment_column().is_some();
        if counts(&old.def) && counts(def) && def.options.auto_increment == 0 {
            def.options.auto_increment = old.counter();
        }
        Ok((rows, filled))
    }

    /// The table is the session's own, and nothing has taken its place.
    fn is_own(&self, t: &Arc<Table>) -> bool {
        let own = self.own_table(&t.def.schema, &t.def.name);
        own.is_some_and(|own| Arc::ptr_eq(own, t))
    }

    /// Another definition for the same file.
    fn redefine(&mut self, old: &Arc<Table>, def: TableDef) -> Arc<Table> {
        let (pager, space) = (self.engine.pager(), old.space.clone());
        let t = Arc::new(Table::open(pager, def, space, Some(old)));
        self.engine.unnamed.put(&t, self.engine.log.end());
        self.put_in_place(old, t.clone());
        t
    }

    /// `new` takes the place of `old`, which may have had another name.
    fn put_in_place(&mut self, old: &Arc<Table>, new: Arc<Table>) {
        old.retired.store(true, Ordering::SeqCst);
        let (schema, name) = (new.def.schema.clone(), new.def.name.clone());
        self.set_own(&old.def.schema, &old.def.name, None);
        self.set_own(&schema, &name, Some(new));
    }
}

/// A new file, which goes again unless it is kept: an error may end the statement, or its client go away.
struct NewFile {
    engine: Arc<Engine>,
    id: Option<SpaceId>,
}

impl NewFile {
    fn keep(mut self) {
        self.id = None;
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.engine.drop_file(id);
        }
    }
}

impl Session {
    /// Makes a temporary table's file with an empty tree for each index; fills in ids and roots.
    async fn make_temporary_space(
        &self,
        def: &mut TableDef,
    ) -> Result<(Arc<Space>, NewFile), SqlError> {
        let engine = &self.engine;
        def.id = engine.unnamed.new_id();
        let file = NewFile {
            engine: engine.clone(),
            id: Some(SpaceId(def.id)),
        };
        let name = def.name.clone();
        let fail = |e: OpError| error::storage(e, &name);
        let path = (engine.temp.table_path(def.id)).map_err(|e| fail(OpError::io(e)))?;
        let pager = engine.pager();
        let made = pager.create_temporary_space(SpaceId(def.id), &path, self.temp.clone());
        let space = made.await.map_err(fail)?;
        engine.make_trees(def, &space).await.map_err(fail)?;
        Ok((space, file))
    }
}
