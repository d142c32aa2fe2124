//! SHOW, DESCRIBE and COM_FIELD_LIST: rows made from definitions, variables and the server's own state.
//!
//! Everything here is computed at once in memory; no stored row is read and no lock is taken.

mod binary_log;
mod columns;
mod create;
mod engine_status;
mod replica;
mod routine;
mod schema;
mod server;
mod state;

use types::SqlError;

pub use columns::FieldInfo;
pub(super) use columns::view_columns;

use crate::context::Session;
use crate::describe::filter;
use sql_access::Granted;
use sql_parser::ast::{Describe, ObjectKind, Show, ShowWhat};
use sql_plan::sink::{Done, ResultSink};

/// Carries out a SHOW.
///
/// # Errors
/// 1046, 1049, 1146 and the like; 1235 for what there is nothing to show of.
pub async fn run(
    s: &mut Session,
    _: &Granted,
    show: &Show,
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    if matches!(show.what, ShowWhat::Variables(_)) {
        binary_log::wait_shown(s).await?;
    }
    if matches!(show.what, ShowWhat::ReplicaStatus { .. }) {
        replica::wait_settled(s).await?;
    }
    let mut rows = match &show.what {
        ShowWhat::Databases => schema::databases(s, show.filter.as_ref())?,
        ShowWhat::Tables { full, schema, .. } => {
            schema::tables(s, schema.as_deref(), *full, show.filter.as_ref())?
        }
        ShowWhat::Columns { full, table, .. } => columns::columns(s, table, *full)?,
        ShowWhat::Index { table, .. } => columns::indexes(s, table)?,
        ShowWhat::CreateDatabase {
            if_not_exists,
            name,
        } => create::database(s, name, *if_not_exists)?,
        ShowWhat::Create(kind @ (ObjectKind::Procedure | ObjectKind::Function), name) => {
            routine::create(s, *kind == ObjectKind::Function, name)?
        }
        ShowWhat::RoutineStatus(kind) => routine::status(s, *kind == ObjectKind::Function)?,
        ShowWhat::Create(kind, name) => create::object(s, *kind, name)?,
        ShowWhat::CreateUser(account) => server::create_user(s, account)?,
        ShowWhat::TableStatus(schema) => schema::table_status(s, schema.as_deref())?,
        ShowWhat::OpenTables(schema) => schema::open_tables(s, schema.as_deref())?,
        ShowWhat::Variables(scope) => state::variables(s, *scope)?,
        ShowWhat::Status(scope) => state::status(s, *scope)?,
        ShowWhat::Warnings(limit) => state::warnings(s, limit.as_deref(), false)?,
        ShowWhat::Errors(limit) => state::warnings(s, limit.as_deref(), true)?,
        ShowWhat::WarningCount => state::count(s, "warning_count"),
        ShowWhat::ErrorCount => state::count(s, "error_count"),
        ShowWhat::Processlist { full } => state::processes(s, *full),
        ShowWhat::Engine(name, topic) => engine_status::engine_status(s, name, topic)?,
        ShowWhat::Grants { account, using } => server::grants(s, account.as_ref(), using)?,
        ShowWhat::SourceStatus
        | ShowWhat::BinaryLogs
        | ShowWhat::BinlogEvents { relay: false, .. }
        | ShowWhat::Replicas { .. } => binary_log::rows(s, &show.what).await?,
        other => server::fixed(s, other)?,
    };
    if let Some(f) = &show.filter {
        filter::apply(s, &mut rows, f)?;
    }
    Ok(Done {
        of_diagnostics: show.what.is_diagnostic(),
        ..rows.send(sink)
    })
}

/// DESCRIBE t [column].
///
/// # Errors
/// 1046, 1146.
pub fn describe(
    s: &mut Session,
    _: &Granted,
    d: &Describe,
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    let mut rows = columns::columns(s, &d.table, false)?;
    if let Some(pattern) = &d.column {
        filter::like(s, &mut rows, pattern);
    }
    Ok(rows.send(sink))
}

/// HELP 'topic'.
pub fn help(_: &Granted, sink: &mut dyn ResultSink) -> Done {
    server::help().send(sink)
}

/// The columns that COM_FIELD_LIST reports, with their defaults.
///
/// # Errors
/// 1046, 1146.
pub fn list_fields(s: &mut Session, table: &[u8], wild: &[u8]) -> Result<Vec<FieldInfo>, SqlError> {
    columns::fields(s, table, wild)
}
