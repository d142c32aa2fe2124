//! Statements that change definitions: databases, tables, indexes; and those that look after tables.
//!
//! Each commits the open transaction first and is atomic by itself: the engine makes it so. This module turns what was written
//! into the engine's definitions, with MySQL's checks and errors, and never touches a row except through a plan.

mod alter;
mod altered_table;
mod create;
mod database;
pub mod datatype;
mod default;
mod drop;
mod histogram;
pub mod keys;
mod maintain;
mod rebuild;
pub(crate) mod row_format;
mod table;

use types::SqlError;
use types::error::codes;

use crate::access::Granted;
use crate::context::Session;
use crate::sink::{Done, ResultSink};
use sql_parser::ast::{ObjectName, Statement};

/// Carries out a statement that changes definitions or looks after tables.
///
/// # Errors
/// MySQL's errors of each; 1235 for what is parsed and not carried out.
pub async fn run(
    s: &mut Session,
    _: &Granted,
    statement: &Statement,
    _text: &[u8],
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    match statement {
        Statement::TableMaintenance(m) => return maintain::run(s, m, sink).await,
        Statement::CreateDatabase(_)
        | Statement::AlterDatabase(_)
        | Statement::DropDatabase { .. }
        | Statement::CreateTable(_)
        | Statement::AlterTable(_)
        | Statement::DropTable(_)
        | Statement::DropView(_)
        | Statement::DropObject { .. }
        | Statement::RenameTable(_)
        | Statement::Truncate(_)
        | Statement::CreateIndex(_)
        | Statement::DropIndex(_) => s.check_may_change()?,
        _ => {}
    }
    match statement {
        Statement::CreateDatabase(c) => database::create(s, c).await,
        Statement::AlterDatabase(a) => database::alter(s, a).await,
        Statement::DropDatabase { if_exists, name } => database::drop(s, *if_exists, name).await,
        Statement::CreateTable(c) => create::run(s, c, sink).await,
        Statement::AlterTable(a) => alter::run(s, a).await,
        Statement::DropTable(d) => drop::tables(s, d).await,
        Statement::DropView(d) => drop::views(s, d).await,
        Statement::DropObject {
            kind,
            if_exists,
            name,
        } => drop::object(s, *kind, *if_exists, name).await,
        Statement::RenameTable(pairs) => drop::rename(s, pairs).await,
        Statement::Truncate(name) => drop::truncate(s, name).await,
        Statement::CreateIndex(c) => alter::create_index(s, c).await,
        Statement::DropIndex(d) => alter::drop_index(s, d).await,
        Statement::Call(c) => Err(no_procedure(s, &c.name)),
        other => Err(SqlError::not_supported(&name_of(other))),
    }
}

/// Error 1305: there are no procedures, so that none is ever found.
fn no_procedure(s: &Session, name: &ObjectName) -> SqlError {
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
fn name_of(s: &Statement) -> String {
    match s {
        Statement::Unsupported(u) => u.what.to_string(),
        Statement::CreateView(_) => "CREATE VIEW".to_owned(),
        Statement::CreateTrigger(_) => "CREATE TRIGGER".to_owned(),
        Statement::CreateRoutine(_) => "CREATE PROCEDURE or FUNCTION".to_owned(),
        Statement::CreateEvent(_) => "CREATE EVENT".to_owned(),
        Statement::LoadData(_) => "LOAD DATA".to_owned(),
        Statement::Handler(_) => "HANDLER".to_owned(),
        Statement::Xa(_) => "XA".to_owned(),
        Statement::Help(_) => "HELP".to_owned(),
        Statement::PurgeLogs(_) => "PURGE BINARY LOGS".to_owned(),
        Statement::Signal(_) | Statement::Resignal(_) => "SIGNAL".to_owned(),
        Statement::GetDiagnostics(_) => "GET DIAGNOSTICS".to_owned(),
        Statement::Restart => "RESTART".to_owned(),
        Statement::ReplicaControl(_) | Statement::ChangeReplication(_) => "replication".to_owned(),
        _ => "this statement".to_owned(),
    }
}

/// Bytes of a comment as text; `kind` and `name` are of what it is about.
///
/// # Errors
/// 4088: they are no UTF-8.
fn comment(bytes: Option<&[u8]>, kind: &str, name: &str) -> Result<String, SqlError> {
    let bytes = bytes.unwrap_or_default();
    let Err(e) = std::str::from_utf8(bytes) else {
        return Ok(String::from_utf8_lossy(bytes).into_owned());
    };
    let shown: String = bytes[e.valid_up_to()..]
        .iter()
        .take(6)
        .map(|b| format!("\\x{b:02X}"))
        .collect();
    Err(SqlError::new(
        codes::ER_COMMENT_CONTAINS_INVALID_STRING,
        format!(
            "Comment for {kind} '{name}' contains an invalid utf8mb4 character string: '{shown}'."
        ),
    ))
}

/// KeyLimits name of a database, table, column or index, in characters.
const MAX_NAME: usize = 64;

/// Checks a name that is to be given to something; an empty index name means that none was written.
///
/// # Errors
/// 1059, 1102, 1103, 1166.
fn check_identifier(name: &str, kind: &str) -> Result<(), SqlError> {
    if name.chars().count() > MAX_NAME {
        return Err(SqlError::new(
            codes::ER_TOO_LONG_IDENT,
            format!("Identifier name '{name}' is too long"),
        ));
    }
    let bad = name.is_empty() || name.ends_with(' ') || name.contains('\0');
    match kind {
        "database" if bad => Err(SqlError::new(
            codes::ER_WRONG_DB_NAME,
            format!("Incorrect database name '{name}'"),
        )),
        "table" if bad => Err(SqlError::new(
            codes::ER_WRONG_TABLE_NAME,
            format!("Incorrect table name '{name}'"),
        )),
        "column" if bad => Err(SqlError::new(
            codes::ER_WRONG_COLUMN_NAME,
            format!("Incorrect column name '{name}'"),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        let code = |n: &str, k: &str| check_identifier(n, k).map_err(|e| e.code);
        assert_eq!(code("t", "table"), Ok(()));
        assert_eq!(code("t ", "table"), Err(1103));
        assert_eq!(code("", "database"), Err(1102));
        assert_eq!(code("c ", "column"), Err(1166));
        assert_eq!(code(&"x".repeat(65), "column"), Err(1059));
    }
}
