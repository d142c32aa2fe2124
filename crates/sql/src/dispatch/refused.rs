//! Statements that are parsed and not carried out, and what is said of them.

use types::SqlError;
use types::error::codes;

use crate::context::Session;
use sql_parser::ast::{ObjectName, Statement};

/// Error 1305: there are no procedures, so that none is ever found.
pub(super) fn no_procedure(s: &Session, name: &ObjectName) -> SqlError {
    let schema = match s.schema_or_current(name.schema.as_deref()) {
        Ok(schema) => schema,
        Err(e) => return e,
    };
    SqlError::new(
        codes::ER_SP_DOES_NOT_EXIST,
        format!("PROCEDURE {schema}.{} does not exist", name.name),
    )
}

/// How error 1235 names a statement that is parsed and not carried out.
pub(super) fn name_of(s: &Statement) -> String {
    match s {
        Statement::Unsupported(u) => u.what.to_string(),
        Statement::CreateTrigger(_) => "CREATE TRIGGER".to_owned(),
        Statement::CreateRoutine(_) => "CREATE PROCEDURE or FUNCTION".to_owned(),
        Statement::CreateEvent(_) => "CREATE EVENT".to_owned(),
        Statement::LoadData(_) => "LOAD DATA".to_owned(),
        Statement::Signal(_) | Statement::Resignal(_) => "SIGNAL".to_owned(),
        Statement::GetDiagnostics(_) => "GET DIAGNOSTICS".to_owned(),
        Statement::Restart => "RESTART".to_owned(),
        _ => "this statement".to_owned(),
    }
}
