//! From a parsed statement to whoever carries it out: the one place that knows both.
//!
//! Never here: what a statement does, or how its text came.

mod admission;
pub(crate) mod com;
mod long_running;
mod named;
mod named_transaction;
pub(crate) mod prepared;
mod program;
mod refused;

use types::{SqlError, Value};

use crate::command;
use crate::context::Session;
use crate::context::gtid::Admitted;
use sql_access::needs::Needs;
use sql_access::{Granted, statement};
use sql_parser::ast::{ExplainTarget, SetItem, Statement, Xa};
use sql_plan::sink::{Done, ResultSink};

/// Statements that report on the diagnostics of the one before, and so leave them alone.
pub(crate) fn is_diagnostic(s: &Statement) -> bool {
    match s {
        Statement::Show(s) => s.what.is_diagnostic(),
        Statement::GetDiagnostics(_) => true,
        _ => false,
    }
}

/// Statements that the planner plans.
pub(crate) fn is_planned(s: &Statement) -> bool {
    match s {
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Do(_) => true,
        Statement::Explain(e) => matches!(e.target, ExplainTarget::Statement(_)),
        _ => false,
    }
}

/// XA RECOVER.
fn is_recover(statement: &Statement) -> bool {
    matches!(statement, Statement::Xa(xa) if matches!(**xa, Xa::Recover { .. }))
}

impl Session {
    /// Carries out a statement. `whole` says that the client's text holds nothing else, and that its plan may be kept.
    pub(crate) async fn run_statement(
        &mut self,
        statement: &Statement,
        text: &[u8],
        whole: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        if self.admit(statement)? == Admitted::LeftOut {
            return Ok(Done::default());
        }
        self.note_text(is_planned(statement), text);
        if matches!(statement, Statement::CreateRoutine(_)) {
            self.programs.text = Some(text.into());
        }
        if is_planned(statement) {
            let keep = match statement {
                Statement::Query(_) if whole => Some(text),
                _ => None,
            };
            return self
                .run_planned(statement, keep, Session::NO_PARAMS, sink)
                .await;
        }
        self.run_other(statement, Session::NO_PARAMS, sink).await
    }

    /// Carries out a statement that is not planned. The future is boxed: these statements are rare and some nest.
    pub(crate) fn run_other<'s>(
        &'s mut self,
        statement: &'s Statement,
        params: &'s [Value],
        sink: &'s mut dyn ResultSink,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Done, SqlError>> + Send + 's>> {
        Box::pin(async move {
            let granted = match self.permit(statement) {
                Err(e) if is_recover(statement) => {
                    return Err(self.no_xa_recover(&e));
                }
                granted => granted?,
            };
            let granted = &granted;
            if long_running::is_long_running_statement(statement) {
                self.leave().await;
            }
            self.close_handlers_of(statement);
            match statement {
                Statement::Handler(h) => self.handler(granted, h, sink).await,
                Statement::Begin(_)
                | Statement::Commit(_)
                | Statement::Rollback(_)
                | Statement::Savepoint(_)
                | Statement::RollbackTo(_)
                | Statement::ReleaseSavepoint(_) => self.run_transaction(statement).await,
                Statement::Xa(xa) => self.run_xa(granted, xa, sink).await,
                Statement::Set(items) if matches!(items[..], [SetItem::Password { .. }]) => {
                    self.set_password(&items[0], sink).await
                }
                Statement::Set(items) => self.set(granted, items, params).await,
                Statement::Use(name) => self.use_database(name).map(|()| Done::default()),
                Statement::Show(show) => command::show::run(self, granted, show, sink).await,
                Statement::Describe(d) => command::show::describe(self, granted, d, sink),
                Statement::Help(_) => Ok(command::show::help(granted, sink)),
                Statement::Prepare { name, source } => self.prepare_named(name, source).await,
                Statement::Execute { name, using } => self.execute_named(name, using, sink).await,
                Statement::Deallocate(name) => self.deallocate_named(name),
                Statement::Explain(e) => self.explain_connection(e, sink),
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
                Statement::Reset(items) => self.reset_items(granted, items).await,
                Statement::PurgeLogs(p) => self.purge_logs(granted, p, params).await,
                Statement::ChangeReplication(c) => self.change_replication(granted, c).await,
                Statement::ReplicaControl(c) => self.control_replica(granted, c).await,
                Statement::LockTables(tables) => self.lock_tables(granted, tables).await,
                Statement::UnlockTables => self.unlock_tables().await,
                Statement::Backup(b) => self.backup(granted, b, sink).await,
                Statement::LockInstance(lock) => self.lock_instance(granted, *lock).await,
                Statement::Plugin { name, library } => {
                    self.change_plugin(granted, name, library.as_deref())
                }
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
                Statement::Binlog(b) => self.binlog(granted, b).await,
                Statement::Nothing => Ok(Done::default()),
                Statement::TableMaintenance(m) => {
                    command::maintenance::run(self, granted, m, sink).await
                }
                Statement::CreateDatabase(_)
                | Statement::AlterDatabase(_)
                | Statement::DropDatabase { .. }
                | Statement::CreateTable(_)
                | Statement::AlterTable(_)
                | Statement::DropTable(_)
                | Statement::CreateView(_)
                | Statement::DropView(_)
                | Statement::CreateRoutine(_)
                | Statement::AlterRoutine(_)
                | Statement::DropObject { .. }
                | Statement::RenameTable(_)
                | Statement::Truncate(_)
                | Statement::CreateIndex(_)
                | Statement::DropIndex(_) => {
                    command::ddl::run(self, granted, statement, params, sink).await
                }
                Statement::Call(c) => self.call(granted, c, params, sink).await,
                Statement::Signal(s) => self.run_signal(s, false, params).await,
                Statement::Resignal(s) => self.run_signal(s, true, params).await,
                Statement::GetDiagnostics(g) => self.run_get_diagnostics(g, params).await,
                other => Err(SqlError::not_supported(&refused::name_of(other))),
            }
        })
    }

    /// Checks what a statement needs that is not planned.
    ///
    /// # Errors
    /// What is missing; 1046.
    pub(crate) fn permit(&self, statement: &Statement) -> Result<Granted, SqlError> {
        let schema = self.facts.database.as_deref();
        let own = |schema: &str, name: &str| self.engine.own_table(schema, name).is_some();
        let actor = self.security.account();
        let needs: Needs = statement::needs(statement, schema, actor, &own)?;
        self.security.grant(&needs)
    }
}
