//! Statements that are parsed and not carried out, and what is said of them.

use sql_parser::ast::Statement;

/// How error 1235 names a statement that is parsed and not carried out.
pub(super) fn name_of(s: &Statement) -> String {
    match s {
        Statement::Unsupported(u) => u.what.to_string(),
        Statement::CreateTrigger(_) => "CREATE TRIGGER".to_owned(),
        Statement::CreateEvent(_) => "CREATE EVENT".to_owned(),
        Statement::LoadData(_) => "LOAD DATA".to_owned(),
        Statement::Restart => "RESTART".to_owned(),
        _ => "this statement".to_owned(),
    }
}
