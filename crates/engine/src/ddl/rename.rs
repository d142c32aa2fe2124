//! RENAME TABLE: tables and views get other names, all or none.
//!
//! As MySQL does, it waits for everything that has one of the names, old or new, and only then says what cannot be: tools have a table of the new name locked, and drop
//! it while the rename waits.
//!
//! Must never do: tell of an error while a name that it depends on is locked by another session.

use super::catalog::table_row;
use super::check_names::refuse_taken;
use super::foreign_keys::{Ties, rename_keys};
use super::objects::{RenamedViews, is_taken};
use super::row_change::{RowChange, TableName};
use super::table_path;
use crate::engine::Engine;
use crate::schema::{Catalog, ObjectDef, Table, TableDef};
use crate::session::{Patience, Session};
use crate::table_lock::FailedRollbacks;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

/// What has new names.
struct Renamed {
    /// Tables as they were, and their new definitions.
    tables: Vec<(Arc<Table>, TableDef)>,
    views: RenamedViews,
    ties: Ties,
}

impl Session {
    /// Renames tables and views, all or none, in order: (schema, name) from and to. Foreign keys follow.
    ///
    /// # Errors
    /// 1146: a table does not exist; 1049: the schema of a new name does not; 1050: a new name is taken; 1450: a view cannot leave its schema; 1826 and others: its foreign keys, or
    /// those that wait for a table of the new name, do not go with it. 1205 and 1317 while it waits for others; what the storage fails with.
    pub async fn rename_tables(
        &mut self,
        pairs: &[(TableName, TableName)],
    ) -> Result<(), SqlError> {
        self.commit().await?;
        let mut patience = self.patience();
        while !self.rename_once(pairs, &mut patience).await? {}
        Ok(())
    }

    async fn rename_once(
        &mut self,
        pairs: &[(TableName, TableName)],
        patience: &mut Patience,
    ) -> Result<bool, SqlError> {
        let engine = self.engine.clone();
        let ddl = self.lock_ddl(&engine).await?;
        let before = engine.catalog();
        let (mut tables, mut views) = named(&before, pairs);
        let renamed = self.renamed(&before, pairs);
        if let Ok(r) = &renamed {
            tables.extend(r.tables.iter().map(|(t, _)| t.clone()));
            tables.extend(r.ties.tables());
            views.extend(r.views.old());
        }
        let failed = FailedRollbacks::Count;
        let closed = self
            .close_first_with(ddl, (&tables, &views), failed, patience)
            .await?;
        let Some(_closed) = closed else {
            return Ok(false);
        };
        // No definition has changed since: others wait for the DDL mutex.
        let Renamed {
            tables: renamed,
            views,
            ties,
        } = renamed?;
        let mut rows = ties.rows();
        for (old, def) in &renamed {
            rows.push(RowChange::Remove(table_row(&old.def)));
            rows.push(RowChange::Put(table_row(def)));
        }
        rows.extend(views.rows());
        let event = self.take_definition_event();
        engine.change_rows_and_tell(rows, event).await?;
        for (old, _) in &renamed {
            old.retired.store(true, Ordering::SeqCst);
        }
        engine.change_catalog(|c| {
            for (old, _) in &renamed {
                c.remove_table(&old.def.schema, &old.def.name);
            }
            for (old, def) in &renamed {
                c.put_table(Arc::new(Table::open(
                    engine.pager(),
                    def.clone(),
                    old.space.clone(),
                    Some(old),
                )));
            }
            views.show(c);
        });
        ties.show(&engine);
        engine.move_files(&renamed);
        Ok(true)
    }

    /// What becomes of tables and views, as the definitions are now.
    fn renamed(
        &self,
        before: &Catalog,
        pairs: &[(TableName, TableName)],
    ) -> Result<Renamed, SqlError> {
        let mut view = before.clone();
        let mut renamed: Vec<(Arc<Table>, TableDef)> = Vec::new();
        let mut views = RenamedViews::default();
        for (from, to) in pairs {
            if views.rename(&mut view, from, to)? {
                continue;
            }
            let ((fs, fname), (ts, tname)) = (from, to);
            let t = view
                .table(fs, fname)
                .ok_or_else(|| SqlError::no_such_table(fs, fname))?;
            if view.schema(ts).is_none() {
                return Err(SqlError::unknown_db(ts));
            }
            if is_taken(&view, ts, tname) {
                return Err(SqlError::table_exists(tname));
            }
            let origin = renamed.iter().position(|(_, d)| d.id == t.def.id);
            let first = origin.map_or(t.clone(), |i| renamed[i].0.clone());
            let mut def = t.def.clone();
            def.rename(ts, tname);
            view.remove_table(fs, fname);
            // Step by step, as all of this: a name that a later step frees is taken.
            rename_keys(&view, &t.def, &mut def)?;
            refuse_taken(&view, &def, Some(def.id))?;
            view.put_table(Arc::new(Table::open(
                self.engine.pager(),
                def.clone(),
                t.space.clone(),
                Some(&first),
            )));
            match origin {
                Some(i) => renamed[i].1 = def,
                None => renamed.push((first, def)),
            }
        }
        let ties = Ties::of_rename(before, &mut renamed, self.foreign_key_checks)?;
        Ok(Renamed {
            tables: renamed,
            views,
            ties,
        })
    }
}

/// The tables and views that have one of the names.
fn named(
    catalog: &Catalog,
    pairs: &[(TableName, TableName)],
) -> (Vec<Arc<Table>>, Vec<Arc<ObjectDef>>) {
    let names = || pairs.iter().flat_map(|(from, to)| [from, to]);
    let tables = names().filter_map(|(s, n)| catalog.table(s, n));
    let views = names().filter_map(|(s, n)| catalog.view(s, n).cloned());
    (tables.collect(), views.collect())
}

impl Engine {
    fn move_files(&self, renamed: &[(Arc<Table>, TableDef)]) {
        // Through names aside, since the new names may be others' old ones. What fails is put right at the next start.
        for (i, (t, def)) in renamed.iter().enumerate() {
            let to = self.data_dir().join(table_path(&def.schema, &def.name));
            if let Some(dir) = to.parent() {
                let _ = self.environment().disk.create_dir_all(dir);
            }
            let _ = self
                .pager
                .rename_space(t.space_id(), &to.with_extension(format!("moving{i}.tdb")));
        }
        for (t, def) in renamed {
            let to = self.data_dir().join(table_path(&def.schema, &def.name));
            let _ = self.pager.rename_space(t.space_id(), &to);
        }
    }
}
