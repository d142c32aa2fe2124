//! Names of CHECK constraints, which a schema has once each.

use crate::schema::{Catalog, TableDef};
use std::collections::HashSet;
use types::SqlError;
use types::error::codes;

/// Whether the names of a definition's CHECK constraints are free in its schema. `same` is the table that has the definition so far.
///
/// # Errors
/// 3822.
pub(super) fn refuse_taken(
    catalog: &Catalog,
    def: &TableDef,
    same: Option<u32>,
) -> Result<(), SqlError> {
    if def.checks.is_empty() {
        return Ok(());
    }
    let mut taken: HashSet<String> = HashSet::new();
    if let Some(schema) = catalog.schema(&def.schema) {
        let others = schema.tables.values().filter(|t| Some(t.def.id) != same);
        let names = others.flat_map(|t| &t.def.checks);
        taken.extend(names.map(|c| c.name.to_lowercase()));
    }
    for c in &def.checks {
        if !taken.insert(c.name.to_lowercase()) {
            return Err(SqlError::new(
                codes::ER_CHECK_CONSTRAINT_DUP_NAME,
                format!("Duplicate check constraint name '{}'.", c.name),
            ));
        }
    }
    Ok(())
}
