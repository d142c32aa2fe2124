//! The tables that a statement names: which they are, and whether they may be named so. Virtual ones, the session's own, stored ones.
//!
//! Must never look at rows, or at columns.

use std::sync::Arc;

use engine::Table;
use types::SqlError;

use super::FromTable;
use super::StatementBinder;
use super::guard::Usage;
use super::source::TableSource;
use super::tree::UsedTable;
use sql_parser::ast;

impl StatementBinder<'_> {
    /// The schema that a name of a table means.
    ///
    /// # Errors
    /// 1046 without one.
    pub(crate) fn schema_of<'n>(&'n self, name: &'n ast::ObjectName) -> Result<&'n str, SqlError> {
        let schema = name.schema.as_deref().or(self.ctx.schema);
        schema.ok_or_else(SqlError::no_db)
    }

    /// The table of a name, where it may be used so; statements call it `alias`.
    ///
    /// # Errors
    /// 1046 without a schema, 1142 where it may not be used so, 1146 or 1109 where it is not there; 1814 where it was discarded; 1099, 1100 under LOCK TABLES.
    pub(crate) fn named_table(
        &self,
        name: &ast::ObjectName,
        alias: &str,
        usage: Usage,
    ) -> Result<TableSource, SqlError> {
        let schema = self.schema_of(name)?;
        if let Some(v) = self.ctx.names.virtual_table(schema, &name.name) {
            self.guard_virtual(v.guard(), schema, &name.name, usage)?;
            return Ok(TableSource::Virtual(v));
        }
        if self.ctx.names.is_virtual_schema(schema) {
            // MySQL makes the tables of information_schema up, and stores those of performance_schema.
            if schema.eq_ignore_ascii_case("information_schema") {
                return Err(SqlError::unknown_table(&name.name, schema));
            }
            self.guard_table(schema, &name.name, usage)?;
            return Err(SqlError::no_such_table(schema, &name.name));
        }
        self.guard_table(schema, &name.name, usage)?;
        let writes = usage.changes();
        self.note_named((schema, &name.name), alias, writes)?;
        let own = self.is_own(schema, &name.name);
        if own && self.freezes() {
            return Err(SqlError::new(
                types::error::codes::ER_VIEW_SELECT_TMPTABLE,
                format!("View's SELECT refers to a temporary table '{}'", name.name),
            ));
        }
        let table = match own {
            true => self.ctx.catalog.table(schema, &name.name),
            false => self.ctx.catalog.base_table(schema, &name.name),
        };
        match table {
            Some(t) if t.def.options.discarded => Err(SqlError::tablespace_discarded(&name.name)),
            Some(t) => {
                self.use_table(&t, writes);
                Ok(TableSource::Engine(t))
            }
            None => Err(self.ctx.catalog.why_no_table(schema, &name.name)),
        }
    }

    /// The stored table of a name, which is no view's, as the target of a change.
    pub(crate) fn stored_table(
        &self,
        name: &ast::ObjectName,
        usage: Usage,
    ) -> Result<Arc<Table>, SqlError> {
        match self.named_table(name, &name.name, usage)? {
            TableSource::Engine(t) => Ok(t),
            _ => {
                let schema = name.schema.as_deref().or(self.ctx.schema);
                Err(self.ctx.security.no_db(schema.unwrap_or("")))
            }
        }
    }

    /// A stored table or a view is named. A session's own tables need no lock.
    ///
    /// # Errors
    /// 1099, 1100 under LOCK TABLES.
    pub(crate) fn note_named(
        &self,
        (schema, name): (&str, &str),
        alias: &str,
        writes: bool,
    ) -> Result<(), SqlError> {
        if self.is_own(schema, name) {
            return Ok(());
        }
        match self.in_view() {
            true => self.named.note_below(schema, name, writes),
            false => self.named.note(schema, name, alias, writes),
        }
    }

    pub(super) fn use_table(&self, t: &Arc<Table>, writes: bool) {
        UsedTable::add(&mut self.tables.borrow_mut(), t, writes);
    }

    /// A table that was named is changed, or its rows are locked as for a change.
    ///
    /// # Errors
    /// 1099 under LOCK TABLES.
    pub(crate) fn change_table(&self, t: &FromTable) -> Result<(), SqlError> {
        if let TableSource::Engine(table) = &t.source {
            match t.seen.as_ref().is_some_and(|s| s.through.is_some()) {
                true => self.named.note_below(&t.schema, &t.name, true)?,
                false if table.def.is_temporary() => {}
                false => self.named.note_change(&t.schema, &t.alias)?,
            }
            self.use_table(table, true);
        }
        Ok(())
    }
}
