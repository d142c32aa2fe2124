//! Stored programs: made, replaced and dropped, each by one transaction of the catalog. A statement that runs one goes on with the definition that it
//! has begun with, so that nobody waits for anybody.
//!
//! Must never do: look into what a program means.

use super::Existing;
use super::catalog::object_row;
use super::row_change::RowChange;
use crate::schema::{ObjectDef, ObjectKind};
use crate::session::Session;
use std::sync::Arc;
use types::SqlError;

impl Session {
    /// Makes a stored program, or puts it in the place of one. `false`: what became of the one that is there is not what `existing` says, and nothing
    /// has changed.
    ///
    /// # Errors
    /// 1049: its schema does not exist. 1205 and 1317 while it waits for others; what the storage fails with.
    pub async fn put_program(
        &mut self,
        mut def: ObjectDef,
        existing: Existing,
    ) -> Result<bool, SqlError> {
        self.commit().await?;
        let engine = self.engine.clone();
        let _ddl = self.lock_ddl(&engine).await?;
        self.check_definition_seen()?;
        let catalog = engine.catalog();
        if catalog.schema(&def.schema).is_none() {
            return Err(SqlError::unknown_db(&def.schema));
        }
        let was = catalog.object(def.kind, &def.schema, &def.name).cloned();
        match (&was, existing) {
            (Some(_), Existing::Refused) | (None, Existing::Required) => return Ok(false),
            _ => {}
        }
        let mut rows = Vec::new();
        if let Some(was) = &was {
            rows.push(RowChange::Remove(object_row(was)));
            def.locked_as(was);
        }
        rows.push(RowChange::Put(object_row(&def)));
        let event = self.take_definition_event();
        engine.change_rows_and_tell(rows, event).await?;
        if let Some(was) = &was {
            was.retire();
        }
        engine.change_catalog(|c| c.put_object(Arc::new(def)));
        Ok(true)
    }

    /// Drops a stored program. `false`: there is none.
    ///
    /// # Errors
    /// 1205 and 1317 while it waits for others; what the storage fails with.
    pub async fn drop_program(
        &mut self,
        kind: ObjectKind,
        schema: &str,
        name: &str,
    ) -> Result<bool, SqlError> {
        self.commit().await?;
        let engine = self.engine.clone();
        let _ddl = self.lock_ddl(&engine).await?;
        let catalog = engine.catalog();
        let Some(was) = catalog.object(kind, schema, name).cloned() else {
            return Ok(false);
        };
        let event = self.take_definition_event();
        let rows = vec![RowChange::Remove(object_row(&was))];
        engine.change_rows_and_tell(rows, event).await?;
        was.retire();
        engine.change_catalog(|c| c.remove_object(&was));
        Ok(true)
    }
}
