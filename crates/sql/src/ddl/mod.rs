//! Statements that change definitions: databases, tables, indexes; and those that look after tables.
//!
//! Each commits the open transaction first and is atomic by itself: the engine makes it so. This module turns what was written
//! into the engine's definitions, with MySQL's checks and errors, and never touches a row except through a plan.

mod alter;
mod altered_table;
mod create;
mod database;
mod datatype;
mod default;
mod drop;
mod histogram;
mod identifier;
mod keys;
mod maintain;
mod rebuild;
mod row_format;
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
