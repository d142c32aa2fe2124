//! Stored objects without rows of their own: made, replaced, dropped and renamed, each by one transaction of the catalog, once no transaction
//! uses them.
//!
//! Must never do: look into what an object means.

use super::catalog::object_row;
use super::close_tables::Closed;
use super::row_change::{RowChange, TableName};
use crate::schema::{Catalog, DdlGuard, ObjectDef, ObjectKind};
use crate::session::{Patience, Session};
use crate::table_lock::FailedRollbacks;
use std::sync::Arc;
use types::SqlError;
use types::error::codes;

/// What becomes of an object of the same name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// There may be none.
    Refused,
    /// It is replaced, where there is one.
    Replaced,
    /// There has to be one, which is replaced.
    Required,
}

impl Session {
    /// Makes a view, or puts it in the place of one.
    ///
    /// # Errors
    /// 1049: its schema does not exist; 1050: its name is taken; 1347: a table has it; 1146: there is none to be replaced. 1205 and 1317 while it
    /// waits for others; what the storage fails with.
    pub async fn put_view(&mut self, def: ObjectDef, existing: Existing) -> Result<(), SqlError> {
        self.commit().await?;
        let mut patience = self.patience();
        while !self.put_view_once(&def, existing, &mut patience).await? {}
        Ok(())
    }

    async fn put_view_once(
        &mut self,
        def: &ObjectDef,
        existing: Existing,
        patience: &mut Patience,
    ) -> Result<bool, SqlError> {
        let engine = self.engine.clone();
        let ddl = self.lock_ddl(&engine).await?;
        self.check_definition_seen()?;
        let catalog = engine.catalog();
        if catalog.schema(&def.schema).is_none() {
            return Err(SqlError::unknown_db(&def.schema));
        }
        let was = catalog.view(&def.schema, &def.name).cloned();
        if catalog.defines(&def.schema, &def.name) {
            return Err(match existing {
                Existing::Refused => SqlError::table_exists(&def.name),
                _ => not_a_view(&def.schema, &def.name),
            });
        }
        match (&was, existing) {
            (Some(_), Existing::Refused) => return Err(SqlError::table_exists(&def.name)),
            (None, Existing::Required) => {
                return Err(SqlError::no_such_table(&def.schema, &def.name));
            }
            _ => {}
        }
        let old: Vec<Arc<ObjectDef>> = was.iter().cloned().collect();
        let Some(_closed) = self.close_views(ddl, &old, patience).await? else {
            return Ok(false);
        };
        let mut def = def.clone();
        let mut rows = Vec::new();
        if let Some(was) = &was {
            rows.push(RowChange::Remove(object_row(was)));
            def.locked_as(was);
        }
        rows.push(RowChange::Put(object_row(&def)));
        let event = self.take_definition_event();
        engine.change_rows_and_tell(rows, event).await?;
        old.iter().for_each(|o| o.retire());
        engine.change_catalog(|c| c.put_object(Arc::new(def)));
        Ok(true)
    }

    /// Closes views. `None` where one was in use, and it may not be any more: the change begins anew.
    async fn close_views<'e>(
        &self,
        ddl: DdlGuard<'e>,
        views: &[Arc<ObjectDef>],
        patience: &mut Patience,
    ) -> Result<Option<(DdlGuard<'e>, Closed)>, SqlError> {
        let failed = FailedRollbacks::DoNotCount;
        self.close_first_with(ddl, (&[], views), failed, patience)
            .await
    }

    /// Drops views, all or none. `if_exists`: those that do not exist are passed over.
    ///
    /// # Errors
    /// 1051: some do not exist, and none is dropped. 1205 and 1317 while it waits for others; what the storage fails with.
    pub async fn drop_views(
        &mut self,
        names: &[TableName],
        if_exists: bool,
    ) -> Result<(), SqlError> {
        self.commit().await?;
        let mut patience = self.patience();
        while !self
            .drop_views_once(names, if_exists, &mut patience)
            .await?
        {}
        Ok(())
    }

    async fn drop_views_once(
        &mut self,
        names: &[TableName],
        if_exists: bool,
        patience: &mut Patience,
    ) -> Result<bool, SqlError> {
        let engine = self.engine.clone();
        let ddl = self.lock_ddl(&engine).await?;
        let catalog = engine.catalog();
        if !if_exists {
            super::must_exist(names, |(s, n)| catalog.view(s, n).is_some())?;
        }
        let gone = names.iter().filter_map(|(s, n)| catalog.view(s, n));
        let gone: Vec<Arc<ObjectDef>> = gone.cloned().collect();
        if gone.is_empty() {
            return Ok(true);
        }
        let Some(_closed) = self.close_views(ddl, &gone, patience).await? else {
            return Ok(false);
        };
        let rows = gone.iter().map(|o| RowChange::Remove(object_row(o)));
        let event = self.take_definition_event();
        engine.change_rows_and_tell(rows.collect(), event).await?;
        gone.iter().for_each(|o| o.retire());
        engine.change_catalog(|c| gone.iter().for_each(|o| c.remove_object(o)));
        Ok(true)
    }
}

/// 1347.
fn not_a_view(schema: &str, name: &str) -> SqlError {
    let text = format!("'{schema}.{name}' is not VIEW");
    SqlError::new(codes::ER_WRONG_OBJECT, text)
}

/// Views that a RENAME TABLE renames: as they were, and as they are to be.
#[derive(Default)]
pub(super) struct RenamedViews(Vec<(Arc<ObjectDef>, Arc<ObjectDef>)>);

impl RenamedViews {
    /// Renames a view in a copy of the catalog; false where there is none of that name.
    ///
    /// # Errors
    /// 1450: to another schema; 1050: the new name is taken.
    pub(super) fn rename(
        &mut self,
        catalog: &mut Catalog,
        (schema, name): &TableName,
        (to_schema, to_name): &TableName,
    ) -> Result<bool, SqlError> {
        let Some(was) = catalog.object(ObjectKind::View, schema, name).cloned() else {
            return Ok(false);
        };
        if schema != to_schema {
            return Err(SqlError::new(
                codes::ER_FORBID_SCHEMA_CHANGE,
                format!("Changing schema from '{schema}' to '{to_schema}' is not allowed."),
            ));
        }
        if is_taken(catalog, to_schema, to_name) {
            return Err(SqlError::table_exists(to_name));
        }
        let mut def = was.as_ref().clone();
        def.name.clone_from(to_name);
        def.locked_as(&was);
        let def = Arc::new(def);
        catalog.remove_object(&was);
        catalog.put_object(Arc::clone(&def));
        match self.0.iter_mut().find(|(_, d)| Arc::ptr_eq(d, &was)) {
            Some(pair) => pair.1 = def,
            None => self.0.push((was, def)),
        }
        Ok(true)
    }

    /// As they were.
    pub(super) fn old(&self) -> Vec<Arc<ObjectDef>> {
        self.0.iter().map(|(old, _)| old.clone()).collect()
    }

    /// The changes of the catalog's rows.
    pub(super) fn rows(&self) -> Vec<RowChange> {
        let old = self.0.iter().map(|(o, _)| RowChange::Remove(object_row(o)));
        let new = self.0.iter().map(|(_, d)| RowChange::Put(object_row(d)));
        // One may have the name that another had.
        old.chain(new).collect()
    }

    /// Shows the new names to everybody.
    pub(super) fn show(&self, catalog: &mut Catalog) {
        self.0.iter().for_each(|(old, _)| {
            old.retire();
            catalog.remove_object(old);
        });
        for (_, new) in &self.0 {
            catalog.put_object(Arc::clone(new));
        }
    }
}

/// Whether a table or a view has the name.
pub(super) fn is_taken(catalog: &Catalog, schema: &str, name: &str) -> bool {
    catalog.table(schema, name).is_some() || catalog.view(schema, name).is_some()
}
