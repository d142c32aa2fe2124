//! What is said of temporary tables alone: which statements have to do with nothing else, and what these tables cannot have.
//!
//! Must never do: change anything but what is counted.

use engine::TableDef;
use types::SqlError;
use types::error::codes;

use super::row_format;
use crate::context::Session;
use sql_parser::ast::{AlterAction, KeyDef, ObjectName, Statement};

/// Whether a statement changes definitions of temporary tables alone, which a read-only server allows.
pub(super) fn alone(s: &Session, statement: &Statement) -> bool {
    let own = |name: &ObjectName| {
        let name = s.full_name(name);
        name.is_ok_and(|n| s.temporary_table(&n).is_some())
    };
    match statement {
        Statement::CreateTable(c) => c.temporary,
        Statement::DropTable(d) => d.temporary || d.names.iter().all(own),
        Statement::AlterTable(a) => own(&a.name),
        Statement::Truncate(name) => own(name),
        Statement::CreateIndex(c) => own(&c.table),
        Statement::DropIndex(d) => own(&d.table),
        _ => false,
    }
}

/// Whether a statement about temporary tables alone commits nothing before.
pub(super) fn stays_in_transaction(statement: &Statement) -> bool {
    match statement {
        Statement::CreateTable(c) => c.temporary,
        Statement::DropTable(d) => d.temporary,
        _ => false,
    }
}

/// Refuses what a temporary table cannot have, and one for which the session has no memory.
///
/// # Errors
/// 1215: foreign keys; 3500, 1031: compression; the error of the session's account.
pub(super) fn check(s: &mut Session, def: &TableDef) -> Result<(), SqlError> {
    if !def.foreign_keys.is_empty() {
        return Err(SqlError::fixed(codes::ER_CANNOT_ADD_FOREIGN));
    }
    let mut warnings = Vec::new();
    let vars = &s.vars;
    let checked = row_format::check_temporary(&def.name, &def.options, vars, &mut warnings);
    warnings.into_iter().for_each(|w| s.warn(w));
    checked?;
    // A table that is not made after all is given back with the next that goes.
    match s.own_tables.set(s.engine.own_tables_memory(Some(def))) {
        true => Ok(()),
        false => s.memory().check(),
    }
}

/// Refuses foreign keys that ALTER TABLE would add to a temporary table.
///
/// # Errors
/// 1215.
pub(super) fn refuse_foreign_keys_of(actions: &[AlterAction]) -> Result<(), SqlError> {
    let foreign = |a: &AlterAction| matches!(a, AlterAction::AddKey(KeyDef::Foreign(_)));
    match actions.iter().any(foreign) {
        true => Err(SqlError::fixed(codes::ER_CANNOT_ADD_FOREIGN)),
        false => Ok(()),
    }
}
