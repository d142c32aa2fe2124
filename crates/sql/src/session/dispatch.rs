//! From a parsed statement to whoever carries it out.

use std::sync::Arc;

use types::{Level, SqlError, Value, Warning};

use super::{Session, long_running};
use crate::access::Granted;
use crate::sink::{Done, ResultSink};
use sql_parser::ast::{FlushItem, ResetItem, SetItem, ShowWhat, Statement};

/// ER_DA_SSL_LIBRARY_ERROR.
const TLS_SETUP_FAILED: u16 = 3888;

/// Savepoints from which on to look through them takes long.
const MANY_SAVEPOINTS: usize = 1000;

/// Statements that report on the diagnostics of the one before, and so leave them alone.
pub(super) fn is_diagnostic(s: &Statement) -> bool {
    match s {
        Statement::Show(s) => matches!(
            s.what,
            ShowWhat::Warnings(_)
                | ShowWhat::Errors(_)
                | ShowWhat::WarningCount
                | ShowWhat::ErrorCount
        ),
        Statement::GetDiagnostics(_) => true,
        _ => false,
    }
}

/// Statements that the planner plans.
pub(super) fn is_planned(s: &Statement) -> bool {
    matches!(
        s,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(_)
            | Statement::Explain(_)
    )
}

impl Session {
    /// Carries out a statement. `whole` says that the client's text holds nothing else, and that its plan may be kept.
    pub(super) async fn run_statement(
        &mut self,
        statement: &Statement,
        text: &[u8],
        whole: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        self.admit(statement)?;
        if is_planned(statement) {
            let keep = match statement {
                Statement::Query(_) if whole => Some(text),
                _ => None,
            };
            return self
                .run_planned(statement, keep, Session::NO_PARAMS, sink)
                .await;
        }
        self.run_other(statement, text, Session::NO_PARAMS, sink)
            .await
    }

    /// Carries out a statement that is not planned. The future is boxed: these statements are rare and some nest.
    pub(super) fn run_other<'s>(
        &'s mut self,
        statement: &'s Statement,
        text: &'s [u8],
        params: &'s [Value],
        sink: &'s mut dyn ResultSink,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Done, SqlError>> + Send + 's>> {
        Box::pin(async move {
            let granted = self.permit(statement)?;
            let granted = &granted;
            if long_running::is_long_running_statement(statement) {
                self.leave().await;
            }
            match statement {
                Statement::Begin(_)
                | Statement::Commit(_)
                | Statement::Rollback(_)
                | Statement::Savepoint(_)
                | Statement::RollbackTo(_)
                | Statement::ReleaseSavepoint(_) => self.run_transaction(statement).await,
                Statement::Set(items) if matches!(items[..], [SetItem::Password { .. }]) => {
                    self.set_password(&items[0], sink).await
                }
                Statement::Set(items) => self.set(granted, items, params).await,
                Statement::Use(name) => {
                    self.use_database(name)?;
                    Ok(Done::default())
                }
                Statement::Show(show) => crate::show::run(self, granted, show, sink).await,
                Statement::Describe(d) => crate::show::describe(self, granted, d, sink),
                Statement::Prepare { name, source } => self.prepare_named(name, source).await,
                Statement::Execute { name, using } => self.execute_named(name, using, sink).await,
                Statement::Deallocate(name) => self.deallocate_named(name),
                Statement::Kill { query_only, id } => self.kill(id, *query_only),
                Statement::CreateUser(_)
                | Statement::AlterUser(_)
                | Statement::DropUser { .. }
                | Statement::RenameUser(_)
                | Statement::Grant(_)
                | Statement::Revoke(_)
                | Statement::CreateRole { .. }
                | Statement::DropRole { .. }
                | Statement::SetRole(_)
                | Statement::SetDefaultRole { .. } => {
                    self.run_account(granted, statement, sink).await
                }
                Statement::Flush(f) => self.flush(granted, &f.items).await,
                Statement::Reset(items) => self.reset_items(granted, items),
                Statement::LockTables(tables) => self.lock_tables(granted, tables).await,
                Statement::UnlockTables => self.unlock_tables().await,
                Statement::LockInstance(_) => Ok(Done::default()),
                Statement::Component { install, urns } => {
                    self.change_components(*install, urns).await
                }
                Statement::Shutdown => self.shutdown(granted),
                Statement::ReloadTls {
                    channel,
                    rollback_on_error,
                } => {
                    self.reload_tls(granted, channel.as_deref(), *rollback_on_error)
                        .await
                }
                Statement::LoadData(l) => self.load_data(granted, l, sink).await,
                _ => crate::ddl::run(self, granted, statement, text, sink).await,
            }
        })
    }

    async fn run_transaction(&mut self, statement: &Statement) -> Result<Done, SqlError> {
        match statement {
            Statement::Begin(b) => self.begin(b).await,
            Statement::Commit(c) => self.end(true, c).await,
            Statement::Rollback(c) => self.end(false, c).await,
            Statement::Savepoint(name) => {
                if self.engine.savepoints() > MANY_SAVEPOINTS {
                    self.leave().await;
                }
                self.savepoint(name)
            }
            Statement::RollbackTo(name) => self.rollback_to(name).await,
            Statement::ReleaseSavepoint(name) => self.release_savepoint(name),
            _ => Err(SqlError::internal("a statement in the wrong place")),
        }
    }

    /// FLUSH: what there is to flush is flushed, the rest is accepted.
    async fn flush(&mut self, _: &Granted, items: &[FlushItem]) -> Result<Done, SqlError> {
        self.implicit_commit().await?;
        for item in items {
            match item {
                FlushItem::Tables {
                    read_lock: true, ..
                } => return Err(SqlError::not_supported("FLUSH TABLES WITH READ LOCK")),
                FlushItem::Tables {
                    for_export: true, ..
                } => return Err(SqlError::not_supported("FLUSH TABLES FOR EXPORT")),
                FlushItem::Tables { .. } => {}
                FlushItem::Other(word) if &**word == "PRIVILEGES" => {
                    let engine = Arc::clone(&self.instance.engine);
                    self.instance.accounts.reload(&engine).await?;
                    self.instance.logins.forget_failures();
                    self.obey_variables();
                }
                FlushItem::Other(word) if &**word == "STATUS" => self.instance.flush_status(),
                FlushItem::Other(word) if &**word == "USER_RESOURCES" => {
                    self.instance.logins.flush_resources();
                }
                FlushItem::Other(_) => {}
            }
        }
        Ok(Done::default())
    }

    /// SHUTDOWN: asks the server to stop; the answer goes out before it does.
    fn shutdown(&mut self, _: &Granted) -> Result<Done, SqlError> {
        match &self.instance.options.shutdown {
            Some(ask) => {
                ask();
                Ok(Done::default())
            }
            None => Err(SqlError::not_supported("SHUTDOWN")),
        }
    }

    /// ALTER INSTANCE RELOAD TLS: new connections get what the variables say now. On an error the old context stays, or with
    /// NO ROLLBACK ON ERROR there is none.
    async fn reload_tls(
        &mut self,
        _: &Granted,
        channel: Option<&str>,
        rollback: bool,
    ) -> Result<Done, SqlError> {
        let known = channel.is_none_or(|name| name.eq_ignore_ascii_case("mysql_main"));
        let reload = match self.instance.tls_reload.get() {
            Some(reload) if known => Arc::clone(reload),
            _ => {
                let of = channel.map(|name| format!(" FOR CHANNEL {name}"));
                let what = format!("ALTER INSTANCE RELOAD TLS{}", of.unwrap_or_default());
                return Err(SqlError::not_supported(&what));
            }
        };
        self.implicit_commit().await?;
        if let Err(why) = reload(!rollback) {
            let e = SqlError::new(
                TLS_SETUP_FAILED,
                format!("Failed to set up SSL because of the following SSL library error: {why}"),
            );
            if rollback {
                return Err(e);
            }
            self.warn(Warning::new(Level::Warning, e.code, e.message));
        }
        Ok(Done::default())
    }

    fn reset_items(&mut self, _: &Granted, items: &[ResetItem]) -> Result<Done, SqlError> {
        for item in items {
            match item {
                ResetItem::QueryCache | ResetItem::Persist { .. } => {}
                ResetItem::Master(_) => return Err(SqlError::not_supported("RESET MASTER")),
                ResetItem::Replica { .. } => return Err(SqlError::not_supported("RESET REPLICA")),
            }
        }
        Ok(Done::default())
    }

    /// LOCK TABLES: commits, checks that the tables exist, and locks nothing (COMPAT.md says so).
    async fn lock_tables(
        &mut self,
        _: &Granted,
        tables: &[sql_parser::ast::LockTable],
    ) -> Result<Done, SqlError> {
        self.implicit_commit().await?;
        for t in tables {
            let name = self.full_name(&t.table)?;
            // Of `mysql`, some tables are virtual: a dump of everything locks them.
            if crate::infoschema::definition(&name.schema, &name.name).is_none()
                && crate::infoschema::canonical_schema(&name.schema).is_none()
            {
                self.find_table(&name)?;
            }
        }
        self.locked_tables = true;
        Ok(Done::default())
    }

    /// UNLOCK TABLES: commits only what LOCK TABLES was in force for, as MySQL does.
    async fn unlock_tables(&mut self) -> Result<Done, SqlError> {
        if self.locked_tables {
            self.implicit_commit().await?;
            self.locked_tables = false;
        }
        Ok(Done::default())
    }
}
