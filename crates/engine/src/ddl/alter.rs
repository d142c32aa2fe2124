//! A table's definition changed where its rows stay as they are: names, defaults and options, columns added at the end, indexes that come and
//! go. Indexes are built first, one after the other; the last step makes everything else, the index built last included, true at once. What fails before
//! it takes the indexes built so far with it.
//!
//! Must never do: change a definition that is not the one the caller has seen.

use super::catalog::OrphanedTree;
use super::check_names::refuse_taken;
use super::foreign_keys::{Ties, renamed_in_place};
use super::statements::{Closed, RowChange};
use crate::engine::Engine;
use crate::schema::{IndexDef, Table, TableDef};
use crate::session::{Patience, Session};
use crate::table_lock::FailedRollbacks;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

/// What an index that has been built makes of the definition, and the rows of the catalog that change with it.
pub(super) type Publish<'f> =
    dyn FnMut(&TableDef, IndexDef) -> (TableDef, Vec<RowChange>, Option<Vec<u8>>) + Send + 'f;

/// The definition asked for, while its indexes are being built.
struct Wanted {
    def: TableDef,
    /// Indexes that go, noted to be taken out.
    gone: Vec<OrphanedTree>,
    /// Ids of those that have been built and are in the table's definition.
    built: Vec<u32>,
    /// What its foreign keys have to do with other tables, and with the rows there are: then the last step is one of its own.
    ties: Ties,
}

impl Session {
    /// Gives a table the definition `def`, under its present name. Its columns are those the table has, such that rows stored under the one
    /// definition are rows of the other, and perhaps more at the end that have a [`fill`](crate::ColumnDef::fill). Its indexes with an id are
    /// the table's, maybe with other names; those with id 0 are built, from columns the table has already, while others read and write
    /// it; those of the table that it does not name go. The clustered index stays. The AUTO_INCREMENT counter goes on at the definition's, but above all
    /// rows; as it is where that is 0. `false` where the table was dropped or has another
    /// definition by now than `old`, and nothing was done.
    ///
    /// # Errors
    /// 1062: a unique index finds equal rows, were it only for a time. 1452: a row has no parent by a new foreign key. 1553, 1822, 1824, 1826,
    /// 1829, 1830, 1832, 1833, 3734, 3780: what foreign keys need is not there, or would not be any more. After an error the table is as it was; after a crash it may have some
    /// of several new indexes.
    pub async fn alter_table(&mut self, old: &Arc<Table>, def: TableDef) -> Result<bool, SqlError> {
        let _shown = self.show_progress();
        self.commit().await?;
        if old.def.is_temporary() {
            return self.alter_temporary(old, def).await;
        }
        let mut patience = self.patience();
        loop {
            if let Some(done) = self.alter_once(old, def.clone(), &mut patience).await? {
                return Ok(done);
            }
        }
    }

    async fn alter_once(
        &mut self,
        old: &Arc<Table>,
        def: TableDef,
        patience: &mut Patience,
    ) -> Result<Option<bool>, SqlError> {
        let engine = self.engine.clone();
        let ddl = self.lock_ddl(&engine).await?;
        let now = engine.catalog().table(&old.def.schema, &old.def.name);
        // A change of a table's definition makes a new one: the same one is one that nobody has changed.
        if !now.is_some_and(|t| Arc::ptr_eq(&t, old)) {
            return Ok(Some(false));
        }
        let clustered = |d: &TableDef| d.indexes.first().map(|i| (i.id, i.parts.clone()));
        if clustered(&old.def) != clustered(&def) || old.def.columns.len() > def.columns.len() {
            return Err(SqlError::internal("rows would have to be written again"));
        }
        refuse_taken(&engine.catalog(), &def, Some(old.def.id))?;
        let stays = |x: &&IndexDef| def.indexes.iter().all(|y| y.id != x.id);
        let gone = old.def.indexes.iter().filter(stays).map(|x| OrphanedTree {
            table: old.def.id,
            index: x.id,
            root: x.root,
        });
        let renamed = renamed_in_place(&old.def, &def);
        let checks = self.foreign_key_checks;
        let ties = Ties::of(&engine.catalog(), Some(&old.def), &def, &renamed, checks)?;
        let mut wanted = Wanted {
            gone: gone.collect(),
            def,
            built: Vec::new(),
            ties,
        };
        let mut tables = vec![old.clone()];
        tables.extend(wanted.ties.tables());
        // Who only reads goes on while the rows are looked at.
        let closed = match wanted.ties.verify.is_empty() {
            true => {
                let failed = FailedRollbacks::Count;
                self.close_first(ddl, &tables, failed, patience).await?
            }
            false => self.quiet_first(ddl, &tables, patience).await?,
        };
        let Some((_ddl, mut closed)) = closed else {
            return Ok(None);
        };
        if wanted.def.indexes.iter().any(|x| x.id == 0) {
            // Nobody uses it for long now. What comes next takes its time, and closes it for a moment itself.
            closed.clear();
        }
        let r = self.bring_about(old, &mut wanted, closed).await;
        if r.is_err() {
            self.take_back(old, &wanted.built).await;
        }
        r.map(|()| Some(true))
    }

    /// `closed`: the tables, where no index is to be built; to writers only, where rows are to be looked at.
    async fn bring_about(
        &mut self,
        old: &Arc<Table>,
        w: &mut Wanted,
        mut closed: Closed,
    ) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let find = || {
            let t = engine.catalog().table(&old.def.schema, &old.def.name);
            t.ok_or_else(|| SqlError::internal("a table gone in the midst of its change"))
        };
        while let Some(at) = w.def.indexes.iter().position(|x| x.id == 0) {
            self.add_one(&find()?, at, w).await?;
        }
        // The index built last brought everything else.
        if w.built.is_empty() || !w.ties.is_none() {
            let t = find()?;
            let mut tables = vec![t.clone()];
            tables.extend(w.ties.tables());
            let verify = !w.ties.verify.is_empty();
            if closed.is_empty() {
                closed = match verify {
                    true => self.quiet_tables(&tables).await?,
                    false => self.close_tables(&tables).await?,
                };
            }
            if verify {
                self.verify_rows(&t, &w.def, &w.ties).await?;
                closed = self.close_to_readers(closed).await?;
            }
            let mut rows = engine.all_unnamed(&w.gone);
            rows.extend(w.ties.rows());
            let event = self.take_definition_event();
            engine.replace_def(&t, w.def.clone(), rows, event).await?;
            w.ties.show(&engine);
        }
        drop(closed);
        // Nobody knows of these trees any more: the table is open while their pages are freed.
        let t = find()?;
        for left in &w.gone {
            engine.orphan_unnamed();
            // The index is gone; pages that stay go at the next start.
            let _ = engine.free_orphan(&t, left).await;
        }
        Ok(())
    }

    /// Builds one of the indexes asked for.
    async fn add_one(&mut self, t: &Arc<Table>, at: usize, w: &mut Wanted) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let mut index = w.def.indexes[at].clone();
        index.id = engine.next_index.fetch_add(1, Ordering::Relaxed);
        let (id, before) = (index.id, t.def.indexes.len());
        w.def.indexes[at].id = id;
        let last = w.ties.is_none() && w.def.indexes.iter().all(|x| x.id != 0);
        let mut left = OrphanedTree {
            table: t.def.id,
            index: id,
            root: base::PageNo(0),
        };
        engine.note_orphan(&left).await?;
        let mut event = match last {
            true => self.take_definition_event(),
            false => None,
        };
        let mut publish = |now: &TableDef, index: IndexDef| {
            w.def.indexes[at].root = index.root;
            if last {
                return (w.def.clone(), engine.all_unnamed(&w.gone), event.take());
            }
            let mut def = now.clone();
            def.options.auto_increment = 0;
            let taken = def.index(&index.name).is_some();
            // That of an index which is to go has its name until the end.
            let name = taken.then(|| format!("#{}-{id}", index.name));
            def.indexes.push(IndexDef {
                name: name.unwrap_or_else(|| index.name.clone()),
                ..index
            });
            (def, Vec::new(), None)
        };
        let r = self.build_online(t, index, &mut left, &mut publish).await;
        match r {
            Ok(()) => {
                debug_assert!(before <= t.def.indexes.len());
                w.built.push(id);
                engine.orphan_named();
            }
            // What cannot be taken out now is at the next start; why there is no index is what counts.
            Err(_) => drop(engine.free_orphan(t, &left).await),
        }
        r
    }

    /// Takes indexes out that a change had built before it failed. Also when killed; what cannot be stays, as an index like others.
    async fn take_back(&mut self, old: &Arc<Table>, built: &[u32]) {
        let engine = self.engine.clone();
        let t = engine.catalog().table(&old.def.schema, &old.def.name);
        let Some(t) = t.filter(|_| !built.is_empty()) else {
            return;
        };
        let Ok(_closed) = self.close_whatever_comes(&t).await else {
            return;
        };
        let mut def = t.def.clone();
        def.options.auto_increment = 0;
        def.indexes.retain(|x| !built.contains(&x.id));
        let gone = t.def.indexes.iter().filter(|x| built.contains(&x.id));
        let gone: Vec<OrphanedTree> = gone
            .map(|x| OrphanedTree {
                table: t.def.id,
                index: x.id,
                root: x.root,
            })
            .collect();
        let rows = engine.all_unnamed(&gone);
        if engine.replace_def(&t, def, rows, None).await.is_err() {
            return;
        }
        for left in &gone {
            engine.orphan_unnamed();
            let _ = engine.free_orphan(&t, left).await;
        }
    }

    /// Adds an index, built from the rows there are while others read and write the table: they wait for a moment at the beginning and
    /// at the end, until the transactions that use the table then have ended.
    ///
    /// # Errors
    /// 1146; 1061; 1062: a unique one finds equal rows, were it only for a time.
    pub async fn create_index(
        &mut self,
        schema: &str,
        name: &str,
        index: IndexDef,
    ) -> Result<(), SqlError> {
        let add = |d: &mut TableDef| {
            if d.index(&index.name).is_some() {
                return Err(SqlError::dup_key_name(&index.name));
            }
            let id = 0;
            d.indexes.push(IndexDef {
                id,
                ..index.clone()
            });
            Ok(())
        };
        self.alter_as(schema, name, add).await
    }

    /// Drops a secondary index.
    ///
    /// # Errors
    /// 1146; 1091 if there is none of that name.
    pub async fn drop_index(
        &mut self,
        schema: &str,
        name: &str,
        index: &str,
    ) -> Result<(), SqlError> {
        let remove = |d: &mut TableDef| match d.index(index) {
            None => Err(SqlError::cant_drop(index)),
            Some(0) => Err(SqlError::not_supported("dropping the clustered index")),
            Some(i) => {
                d.indexes.remove(i);
                Ok(())
            }
        };
        self.alter_as(schema, name, remove).await
    }

    /// Changes a table's definition as [`Session::alter_table`] does, to what `change` makes of it; called again where another statement has
    /// changed it meanwhile.
    ///
    /// # Errors
    /// 1146; those of `change` and of [`Session::alter_table`].
    pub async fn alter_as(
        &mut self,
        schema: &str,
        name: &str,
        mut change: impl FnMut(&mut TableDef) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        loop {
            let t = self.engine.catalog().table(schema, name);
            let t = t.ok_or_else(|| SqlError::no_such_table(schema, name))?;
            let mut def = t.def.clone();
            def.options.auto_increment = 0;
            change(&mut def)?;
            if self.alter_table(&t, def).await? {
                return Ok(());
            }
        }
    }
}

impl Engine {
    fn all_unnamed(&self, gone: &[OrphanedTree]) -> Vec<RowChange> {
        gone.iter().flat_map(|l| self.unnamed(l)).collect()
    }
}
