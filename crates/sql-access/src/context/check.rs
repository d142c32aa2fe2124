//! The comparison of one need with what a context has, and the errors that say what is missing.

use types::SqlError;
use types::error::codes;

use super::{SecurityContext, is_virtual};
use crate::account::{RoutineId, TableId};
use crate::needs::{ColumnNames, Need, Through, view_invalid};
use crate::privilege::{Priv, PrivSet, ROUTINE_SET, TABLE_SET};

impl SecurityContext {
    /// Compares a need with what is there.
    ///
    /// # Errors
    /// 1044, 1045, 1142, 1143, 1227, 1370: what is missing.
    pub fn check(&self, need: &Need) -> Result<(), SqlError> {
        if let Some(schema) = refuse_virtual(need) {
            return Err(self.no_db(schema));
        }
        if self.server {
            return Ok(());
        }
        match need {
            Need::OneOf(rights) => self.require(rights),
            Need::Server(p) if self.global.has(*p) => Ok(()),
            Need::Server(_) => Err(SqlError::access_denied(
                &self.account.user,
                &self.client_host,
                true,
            )),
            Need::Database { schema, privileges } => {
                match self.on_db(schema).has_all(*privileges) {
                    true => Ok(()),
                    false => Err(self.no_db(schema)),
                }
            }
            Need::AnythingIn { schema } if self.sees_db(schema) => Ok(()),
            Need::AnythingIn { schema } => Err(self.no_db(schema)),
            Need::Table { table, privileges } => {
                let missing = privileges.minus(self.on_table(&table.schema, &table.name));
                self.missing(missing, table)
            }
            Need::Columnwise { table, privileges } => {
                let on_table = self.on_table(&table.schema, &table.name);
                let missing = privileges.minus(on_table);
                if missing.is_empty() {
                    return Ok(());
                }
                let on_columns = self.on_some_column(&table.schema, &table.name);
                self.missing(missing.minus(on_columns), table)
            }
            Need::SomeOf {
                table,
                privileges,
                command,
            } => {
                let on_table = self.on_table(&table.schema, &table.name);
                let on_columns = self.on_some_column(&table.schema, &table.name);
                match on_table.union(on_columns).has_any(*privileges) {
                    true => Ok(()),
                    false => Err(self.no_table(command, table)),
                }
            }
            Need::Whole { table, command } => {
                let on_table = self.on_table(&table.schema, &table.name);
                match is_virtual(&table.schema) || on_table.has_any(TABLE_SET) {
                    true => Ok(()),
                    false => Err(self.no_table(command, table)),
                }
            }
            Need::AnythingOn { table, command } => {
                match self.sees_table(&table.schema, &table.name) {
                    true => Ok(()),
                    false => Err(self.no_table(command, table)),
                }
            }
            Need::Columns {
                table,
                privilege,
                columns,
                named,
            } => self.check_columns(table, *privilege, columns, *named),
            Need::Through { view, need } => self.check_through(view, need),
            Need::Shown(need) => self
                .check(need)
                .map_err(|_| SqlError::fixed(codes::ER_VIEW_NO_EXPLAIN)),
            Need::Routine { routine, privilege } => {
                let has = self.on_routine(&routine.schema, routine.procedure, &routine.name);
                if has.both(ROUTINE_SET).has(*privilege) {
                    return Ok(());
                }
                Err(self.no_routine(*privilege, routine))
            }
        }
    }

    /// What is needed below a view: whatever is missing there, the message says no more than the view's name.
    fn check_through(&self, through: &Through, need: &Need) -> Result<(), SqlError> {
        let checked = match &through.definer {
            None => self.check(need),
            Some(definer) => self.of_definer(definer)?.check(need),
        };
        checked.map_err(|_| view_invalid(&through.view.schema, &through.view.name))
    }

    fn check_columns(
        &self,
        table: &TableId,
        privilege: Priv,
        columns: &ColumnNames,
        named: bool,
    ) -> Result<(), SqlError> {
        if self.on_table(&table.schema, &table.name).has(privilege) {
            return Ok(());
        }
        for c in columns.iter() {
            if !self.on_column(&table.schema, &table.name, c).has(privilege) {
                return Err(match named {
                    true => self.no_column(privilege, c, &table.name),
                    false => self.no_table(&command(PrivSet::of(privilege)), table),
                });
            }
        }
        Ok(())
    }

    fn missing(&self, missing: PrivSet, table: &TableId) -> Result<(), SqlError> {
        match missing.is_empty() {
            true => Ok(()),
            false => Err(self.no_table(&command(missing), table)),
        }
    }

    /// Error 1044.
    pub fn no_db(&self, schema: &str) -> SqlError {
        SqlError::db_access_denied(&self.account.user, &self.account.host, schema)
    }

    /// Error 1142.
    pub fn no_table(&self, command: &str, table: &TableId) -> SqlError {
        SqlError::new(
            codes::ER_TABLEACCESS_DENIED_ERROR,
            format!(
                "{command} command denied to user '{}'@'{}' for table '{}'",
                self.account.user, self.client_host, table.name
            ),
        )
    }

    /// Error 1143.
    pub fn no_column(&self, privilege: Priv, column: &str, table: &str) -> SqlError {
        SqlError::new(
            codes::ER_COLUMNACCESS_DENIED_ERROR,
            format!(
                "{} command denied to user '{}'@'{}' for column '{column}' in table '{table}'",
                privilege.name(),
                self.account.user,
                self.client_host
            ),
        )
    }

    fn no_routine(&self, privilege: Priv, routine: &RoutineId) -> SqlError {
        let what = match privilege {
            Priv::Execute => "execute",
            _ => "alter routine",
        };
        SqlError::new(
            codes::ER_PROCACCESS_DENIED_ERROR,
            format!(
                "{what} command denied to user '{}'@'{}' for routine '{}.{}'",
                self.account.user, self.client_host, routine.schema, routine.name
            ),
        )
    }
}

/// Privileges as error 1142 names them.
fn command(missing: PrivSet) -> String {
    match missing.has(Priv::GrantOption) {
        true if missing == PrivSet::of(Priv::GrantOption) => "GRANT".to_owned(),
        true => format!("{}, GRANT", missing.text()),
        false => missing.text(),
    }
}

/// The schema that nobody may change, where a need is to change it.
fn refuse_virtual(need: &Need) -> Option<&str> {
    let reads = PrivSet::of(Priv::Select);
    let (schema, privileges) = match need {
        Need::Table { table, privileges } => (&table.schema, privileges),
        Need::Database { schema, privileges } => (schema, privileges),
        _ => return None,
    };
    (is_virtual(schema) && !reads.has_all(*privileges)).then_some(&**schema)
}
