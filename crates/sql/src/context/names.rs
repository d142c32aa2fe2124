//! Names of schemas and tables as a session sees them: the default schema and the virtual schemas. Who may use which was checked
//! before names are looked up here.

use engine::Table;
use std::sync::Arc;
use types::error::codes;
use types::{CollationId, SqlError};

use super::Session;
use sql_expr::vars::VarValue;
use sql_parser::ast::ObjectName;
use sql_plan::sink::StateChange;

/// The virtual schemas, as they are shown.
pub const SCHEMAS: &[&str] = &["information_schema", "performance_schema"];

/// The name in its own case, where it is a virtual schema's.
pub fn canonical_schema(name: &str) -> Option<&'static str> {
    SCHEMAS
        .iter()
        .copied()
        .find(|s| s.eq_ignore_ascii_case(name))
}

/// A table's full name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// Its schema.
    pub schema: String,
    /// The table.
    pub name: String,
}

impl Session {
    /// The default schema.
    ///
    /// # Errors
    /// 1046.
    pub(crate) fn current_schema(&self) -> Result<String, SqlError> {
        self.facts.database.clone().ok_or_else(SqlError::no_db)
    }

    /// The schema that was written, or the default one.
    ///
    /// # Errors
    /// 1046; 1102 for an empty name.
    pub(crate) fn schema_or_current(&self, schema: Option<&str>) -> Result<String, SqlError> {
        match schema {
            Some(s) => Ok(canonical_schema(s).unwrap_or(s).to_owned()),
            None => self.current_schema(),
        }
    }

    /// The full name of a table.
    ///
    /// # Errors
    /// 1046.
    pub(crate) fn full_name(&self, name: &ObjectName) -> Result<TableName, SqlError> {
        Ok(TableName {
            schema: self.schema_or_current(name.schema.as_deref())?,
            name: name.name.to_string(),
        })
    }

    /// The full name of a table that is to be changed: not one of a virtual schema.
    ///
    /// # Errors
    /// 1044, 1046.
    pub(crate) fn changeable_name(&self, name: &ObjectName) -> Result<TableName, SqlError> {
        let t = self.full_name(name)?;
        self.check_schema_change(&t.schema)?;
        Ok(t)
    }

    /// Refuses to change virtual schemas, which nobody may.
    ///
    /// # Errors
    /// 1044.
    pub(crate) fn check_schema_change(&self, schema: &str) -> Result<(), SqlError> {
        match canonical_schema(schema) {
            Some(_) => Err(self.security.no_db(schema)),
            None => Ok(()),
        }
    }

    /// Whether the account has a global privilege, or SUPER in its place.
    pub fn may(&self, privilege: &str) -> bool {
        self.security.has_dynamic(privilege)
    }

    /// A schema by name, with its name in the right case and its collation.
    ///
    /// # Errors
    /// 1049.
    pub(crate) fn find_schema(&mut self, name: &str) -> Result<(String, CollationId), SqlError> {
        if let Some(n) = canonical_schema(name) {
            return Ok((n.to_owned(), CollationId::UTF8MB3_GENERAL_CI));
        }
        match self.engine.catalog().schema(name) {
            Some(s) => Ok((s.def.name.clone(), s.def.collation)),
            None => Err(SqlError::unknown_db(name)),
        }
    }

    /// A stored table by name, without holding it: for SHOW and the like.
    ///
    /// # Errors
    /// 1049, 1146.
    pub(crate) fn find_table(&mut self, name: &TableName) -> Result<Arc<Table>, SqlError> {
        let catalog = self.engine.catalog();
        if let Some(t) = catalog.table(&name.schema, &name.name) {
            return Ok(t);
        }
        Err(catalog.why_no_table(&name.schema, &name.name))
    }

    /// The session's temporary table of that name.
    pub(crate) fn temporary_table(&self, name: &TableName) -> Option<&Arc<Table>> {
        self.engine.own_table(&name.schema, &name.name)
    }

    /// The same, where it is no view.
    ///
    /// # Errors
    /// 1347; as [`find_table`](Self::find_table).
    pub(crate) fn find_base_table(&mut self, name: &TableName) -> Result<Arc<Table>, SqlError> {
        if self
            .engine
            .catalog()
            .view_seen(&name.schema, &name.name)
            .is_some()
        {
            return Err(SqlError::new(
                codes::ER_WRONG_OBJECT,
                format!("'{}.{}' is not BASE TABLE", name.schema, name.name),
            ));
        }
        self.find_table(name)
    }

    /// Makes `name` the default schema; `None` after it was dropped.
    pub(crate) fn set_database(&mut self, name: Option<String>, collation: CollationId) {
        self.settings += 1;
        self.process.set_db(name.as_deref());
        let text = name.clone().unwrap_or_default();
        self.facts.database = name;
        let charset = collation.charset().name();
        self.vars
            .set_fact("character_set_database", VarValue::text(charset));
        self.vars
            .set_fact("collation_database", VarValue::text(collation.name()));
        self.changes.push(StateChange::Schema(text));
    }
}
