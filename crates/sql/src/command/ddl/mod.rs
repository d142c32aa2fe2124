//! Statements that change definitions: databases, tables, indexes, views.
//!
//! Each commits the open transaction first and is atomic by itself: the engine makes it so. This module turns what was written
//! into the engine's definitions, with MySQL's checks and errors, and never touches a row except through a plan.

mod alter;
mod altered;
mod altered_columns;
mod altered_table;
mod binlog_text;
mod checks;
mod columns;
mod create;
mod database;
mod datatype;
mod default;
mod drop;
mod expression;
mod foreign_keys;
mod functional;
mod generated;
mod identifier;
mod invisible_key;
mod keys;
mod locked;
mod rebuild;
mod recoded;
pub(crate) mod routine;
mod row_format;
mod table;
mod tablespace;
mod temporary;
mod view;

pub(super) use alter::rebuild_as_is;

use std::sync::Arc;

use types::error::codes;
use types::{SqlError, Value};

use crate::context::Session;
use sql_access::Granted;
use sql_parser::ast::{ObjectKind, Statement};
use sql_plan::sink::{Done, ResultSink};

/// Carries out a statement that changes definitions.
///
/// # Errors
/// MySQL's errors of each.
pub async fn run(
    s: &mut Session,
    _: &Granted,
    statement: &Statement,
    params: &[Value],
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    // Rows that it fills have the time that the binary log says: one for all of it.
    let before = s.fixed_timestamp;
    s.fixed_timestamp = Some(s.now_micros());
    let done = run_at_once(s, statement, params, sink).await;
    s.fixed_timestamp = before;
    done
}

async fn run_at_once(
    s: &mut Session,
    statement: &Statement,
    params: &[Value],
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    match temporary::alone(s, statement) {
        true if temporary::stays_in_transaction(statement) => s.check_may_change_temporary()?,
        true => s.check_may_redefine_temporary().await?,
        false => {
            s.check_may_define().await?;
            locked::may_change(s, statement)?;
        }
    }
    let checks = s.vars.hot().foreign_key_checks;
    s.engine.set_foreign_key_checks(checks);
    let before = s.locked.is_some().then(|| Arc::clone(s.engine.catalog()));
    let done = loop {
        // Everybody's version: the session's own temporary tables are nothing that others change.
        let version = s.instance.engine().catalog_version();
        let seen = binlog_text::may_do_nothing(statement).then_some(version);
        if let Some(text) = binlog_text::logged_text(s, statement)? {
            let databases: Vec<&str> = text.databases.iter().map(String::as_str).collect();
            match (text.plain, &databases[..]) {
                (true, [database]) => s.log_plain_definition(&text.text, database),
                _ => s.log_definition(
                    &text.text,
                    &databases,
                    binlog_text::whole_database(statement),
                ),
            }
        }
        let by_others = binlog_text::goes_by_others(statement);
        s.engine.set_definition_seen(by_others.then_some(version));
        let done = carry_out(s, statement, params, sink).await;
        s.engine.set_definition_seen(None);
        let logged = s.definition_logged(done.is_ok(), seen).await;
        match (done, logged) {
            (Ok(done), Ok(true)) => break done,
            (Ok(_), Err(e)) => return Err(e),
            (Err(e), _) if !by_others || e.code != codes::ER_TABLE_DEF_CHANGED => return Err(e),
            // Somebody has changed definitions since it has found what it goes by, or that it has nothing to do: for a replica those come first.
            _ => s.diagnostics.clear(),
        }
    };
    if let Some(before) = before {
        locked::follow(s, &before, statement)?;
    }
    Ok(done)
}

async fn carry_out(
    s: &mut Session,
    statement: &Statement,
    params: &[Value],
    sink: &mut dyn ResultSink,
) -> Result<Done, SqlError> {
    match statement {
        Statement::CreateDatabase(c) => database::create(s, c).await,
        Statement::AlterDatabase(a) => database::alter(s, a).await,
        Statement::DropDatabase { if_exists, name } => database::drop(s, *if_exists, name).await,
        Statement::CreateTable(c) => create::run(s, c, params, sink).await,
        Statement::AlterTable(a) => alter::run(s, a).await,
        Statement::DropTable(d) => drop::tables(s, d).await,
        Statement::CreateView(v) => view::create(s, v).await,
        Statement::DropView(d) => view::drop(s, d).await,
        Statement::CreateRoutine(c) => routine::create(s, c).await,
        Statement::AlterRoutine(a) => routine::alter(s, a).await,
        Statement::DropObject {
            kind: kind @ (ObjectKind::Procedure | ObjectKind::Function),
            if_exists,
            name,
        } => routine::drop(s, *kind == ObjectKind::Function, *if_exists, name).await,
        Statement::DropObject {
            kind,
            if_exists,
            name,
        } => drop::object(s, *kind, *if_exists, name).await,
        Statement::RenameTable(pairs) => drop::rename(s, pairs).await,
        Statement::Truncate(name) => drop::truncate(s, name).await,
        Statement::CreateIndex(c) => alter::create_index(s, c).await,
        Statement::DropIndex(d) => alter::drop_index(s, d).await,
        _ => Err(SqlError::internal("a statement in the wrong place")),
    }
}
