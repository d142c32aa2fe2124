//! LOCK TABLES and UNLOCK TABLES.

use types::SqlError;

use crate::access::Granted;
use crate::context::Session;
use crate::context::names::canonical_schema;
use crate::sink::Done;

impl Session {
    /// LOCK TABLES: commits, checks that the tables exist, and locks nothing (COMPAT.md says so).
    pub(crate) async fn lock_tables(
        &mut self,
        _: &Granted,
        tables: &[sql_parser::ast::LockTable],
    ) -> Result<Done, SqlError> {
        self.implicit_commit().await?;
        for t in tables {
            let name = self.full_name(&t.table)?;
            // Of `mysql`, some tables are virtual: a dump of everything locks them.
            if crate::infoschema::definition(&name.schema, &name.name).is_none()
                && canonical_schema(&name.schema).is_none()
                && self
                    .engine
                    .catalog()
                    .view(&name.schema, &name.name)
                    .is_none()
            {
                self.find_table(&name)?;
            }
        }
        self.locked_tables = true;
        Ok(Done::default())
    }

    /// UNLOCK TABLES: commits only what LOCK TABLES was in force for, as MySQL does.
    pub(crate) async fn unlock_tables(&mut self) -> Result<Done, SqlError> {
        if self.locked_tables {
            self.implicit_commit().await?;
            self.locked_tables = false;
        }
        Ok(Done::default())
    }
}
