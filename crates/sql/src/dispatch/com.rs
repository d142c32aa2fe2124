//! Which `Com_` counter a statement adds to.

use crate::context::com::Com;
use sql_parser::ast::{self, MaintenanceVerb, ShowWhat, Statement};

/// The counter of a statement.
pub fn of(statement: &Statement) -> Com {
    match statement {
        Statement::Query(_) => Com::Select,
        Statement::Insert(i) => match (&i.source, i.replace) {
            (ast::InsertSource::Values(_), false) => Com::Insert,
            (ast::InsertSource::Values(_), true) => Com::Replace,
            (ast::InsertSource::Query(_), false) => Com::InsertSelect,
            (ast::InsertSource::Query(_), true) => Com::ReplaceSelect,
        },
        Statement::Update(u) if matches!(u.tables.as_slice(), [ast::TableRef::Table(_)]) => {
            Com::Update
        }
        Statement::Update(_) => Com::UpdateMulti,
        Statement::Delete(d) => match d.target {
            ast::DeleteTarget::Single(_) => Com::Delete,
            ast::DeleteTarget::Multi { .. } => Com::DeleteMulti,
        },
        Statement::Begin(_) => Com::Begin,
        Statement::Commit(_) => Com::Commit,
        Statement::Rollback(_) => Com::Rollback,
        Statement::Savepoint(_) => Com::Savepoint,
        Statement::RollbackTo(_) => Com::RollbackTo,
        Statement::ReleaseSavepoint(_) => Com::ReleaseSavepoint,
        Statement::Set(_) => Com::Set,
        Statement::Use(_) => Com::ChangeDb,
        Statement::Do(_) => Com::Do,
        Statement::Call(_) => Com::Call,
        Statement::LoadData(_) => Com::Load,
        Statement::CreateDatabase(_) => Com::CreateDb,
        Statement::AlterDatabase(_) => Com::AlterDb,
        Statement::DropDatabase { .. } => Com::DropDb,
        Statement::CreateTable(_) => Com::CreateTable,
        Statement::AlterTable(_) => Com::AlterTable,
        Statement::DropTable(_) => Com::DropTable,
        Statement::RenameTable(_) => Com::RenameTable,
        Statement::Truncate(_) => Com::Truncate,
        Statement::CreateIndex(_) => Com::CreateIndex,
        Statement::DropIndex(_) => Com::DropIndex,
        Statement::CreateView(_) => Com::CreateView,
        Statement::DropView(_) => Com::DropView,
        Statement::LockTables(_) => Com::LockTables,
        Statement::UnlockTables => Com::UnlockTables,
        Statement::Handler(h) => match &**h {
            ast::Handler::Open { .. } => Com::HandlerOpen,
            ast::Handler::Read(_) => Com::HandlerRead,
            ast::Handler::Close(_) => Com::HandlerClose,
        },
        Statement::Kill { .. } => Com::Kill,
        Statement::ReloadTls { .. } => Com::AlterInstance,
        Statement::Flush(_) => Com::Flush,
        Statement::Reset(_) => Com::Reset,
        Statement::TableMaintenance(m) => match m.verb {
            MaintenanceVerb::Check => Com::Check,
            MaintenanceVerb::Analyze => Com::Analyze,
            MaintenanceVerb::Optimize => Com::Optimize,
            MaintenanceVerb::Repair => Com::Repair,
            MaintenanceVerb::Checksum => Com::Checksum,
        },
        Statement::CreateUser(_) => Com::CreateUser,
        Statement::AlterUser(_) => Com::AlterUser,
        Statement::DropUser { .. } => Com::DropUser,
        Statement::Grant(_) => Com::Grant,
        Statement::Revoke(_) => Com::Revoke,
        Statement::Prepare { .. } => Com::PrepareSql,
        Statement::Execute { .. } => Com::ExecuteSql,
        Statement::Deallocate(_) => Com::DeallocSql,
        Statement::Explain(_) => Com::Explain,
        Statement::Describe(_) => Com::ShowFields,
        Statement::Show(s) => of_show(&s.what),
        Statement::Xa(xa) => match **xa {
            ast::Xa::Start { .. } => Com::XaStart,
            ast::Xa::End { .. } => Com::XaEnd,
            ast::Xa::Prepare(_) => Com::XaPrepare,
            ast::Xa::Commit { .. } => Com::XaCommit,
            ast::Xa::Rollback(_) | ast::Xa::RollbackAll(_) => Com::XaRollback,
            ast::Xa::Recover { .. } => Com::XaRecover,
        },
        _ => Com::Other,
    }
}

fn of_show(what: &ShowWhat) -> Com {
    match what {
        ShowWhat::Databases => Com::ShowDatabases,
        ShowWhat::Tables { .. } => Com::ShowTables,
        ShowWhat::Columns { .. } => Com::ShowFields,
        ShowWhat::Index { .. } => Com::ShowKeys,
        ShowWhat::Create(..) => Com::ShowCreateTable,
        ShowWhat::CreateDatabase { .. } => Com::ShowCreateDb,
        ShowWhat::Variables(_) => Com::ShowVariables,
        ShowWhat::Status(_) => Com::ShowStatus,
        ShowWhat::Warnings(_) | ShowWhat::WarningCount => Com::ShowWarnings,
        ShowWhat::Errors(_) | ShowWhat::ErrorCount => Com::ShowErrors,
        ShowWhat::Processlist { .. } => Com::ShowProcesslist,
        ShowWhat::TableStatus(_) => Com::ShowTableStatus,
        ShowWhat::Engines => Com::ShowEngines,
        ShowWhat::Engine(..) => Com::ShowEngineStatus,
        ShowWhat::Grants { .. } => Com::ShowGrants,
        ShowWhat::Plugins => Com::ShowPlugins,
        ShowWhat::SourceStatus => Com::ShowMasterStatus,
        ShowWhat::ReplicaStatus { .. } => Com::ShowSlaveStatus,
        ShowWhat::BinaryLogs => Com::ShowBinlogs,
        ShowWhat::CharacterSet => Com::ShowCharsets,
        ShowWhat::Collation => Com::ShowCollations,
        _ => Com::ShowOther,
    }
}
