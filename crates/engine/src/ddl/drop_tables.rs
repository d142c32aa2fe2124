//! Tables that are dropped, all or none.

use super::catalog::table_row;
use super::foreign_keys::may_drop;
use super::row_change::{RowChange, TableName};
use super::table_path;
use crate::schema::Table;
use crate::session::{Patience, Session};
use crate::table_lock::FailedRollbacks;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

impl Session {
    /// Drops a table.
    ///
    /// # Errors
    /// As [`Session::drop_tables`]; 1051: it does not exist.
    pub async fn drop_table(&mut self, schema: &str, name: &str) -> Result<(), SqlError> {
        let all = [(schema.to_owned(), name.to_owned())];
        self.drop_tables(&all, false).await
    }

    /// Drops tables, all or none. `if_exists`: those that do not exist are passed over.
    ///
    /// # Errors
    /// 1051: some do not exist, and none is dropped. 3730: a table that stays refers to one of them. 1205 and 1317 while it waits for others;
    /// what the storage fails with.
    pub async fn drop_tables(
        &mut self,
        names: &[TableName],
        if_exists: bool,
    ) -> Result<(), SqlError> {
        self.commit().await?;
        let mut patience = self.patience();
        while !self
            .drop_tables_once(names, if_exists, &mut patience)
            .await?
        {}
        Ok(())
    }

    async fn drop_tables_once(
        &mut self,
        names: &[TableName],
        if_exists: bool,
        patience: &mut Patience,
    ) -> Result<bool, SqlError> {
        let engine = self.engine.clone();
        let ddl = self.lock_ddl(&engine).await?;
        let catalog = engine.catalog();
        // Whoever has looked before may have seen one that has gone since.
        let is_there = |n: &TableName| {
            catalog.table(&n.0, &n.1).is_some() || catalog.tables_without_file.contains_key(n)
        };
        if !if_exists {
            super::must_exist(names, is_there)?;
        }
        may_drop(&catalog, names, self.foreign_key_checks)?;
        let gone = names.iter().filter_map(|(s, t)| catalog.table(s, t));
        let gone: Vec<Arc<Table>> = gone.collect();
        let failed = FailedRollbacks::DoNotCount;
        let closed = self.close_first(ddl, &gone, failed, patience).await?;
        let Some(_closed) = closed else {
            return Ok(false);
        };
        for (schema, name) in names {
            self.drop_lost(schema, name).await?;
        }
        if gone.is_empty() {
            return Ok(true);
        }
        let rows = gone.iter().map(|t| RowChange::Remove(table_row(&t.def)));
        let event = self.take_definition_event();
        engine.change_rows_and_tell(rows.collect(), event).await?;
        for t in &gone {
            t.retired.store(true, Ordering::SeqCst);
        }
        engine.change_catalog(|c| {
            for t in &gone {
                c.remove_table(&t.def.schema, &t.def.name);
            }
        });
        for t in &gone {
            engine.drop_file(t.space_id());
        }
        engine.roll_back_kept();
        Ok(true)
    }

    /// Drops a table whose file is missing or unreadable, if it is one.
    async fn drop_lost(&mut self, schema: &str, name: &str) -> Result<(), SqlError> {
        let engine = self.engine.clone();
        let lost = engine
            .catalog()
            .tables_without_file
            .get(&(schema.to_string(), name.to_string()))
            .cloned();
        if let Some(def) = lost {
            // Its file is missing or unreadable: the definition goes, and what is left of the file.
            engine
                .change_rows(vec![RowChange::Remove(table_row(&def))])
                .await?;
            engine.change_catalog(|c| {
                c.tables_without_file
                    .remove(&(def.schema.clone(), def.name.clone()));
            });
            let path = engine.data_dir().join(table_path(schema, name));
            if engine.pager().spaces().iter().all(|s| s.path() != path) {
                let _ = engine.environment().disk.remove_file(&path);
            }
        }
        Ok(())
    }
}
