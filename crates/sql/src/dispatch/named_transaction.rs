//! What a statement is to a transaction whose name its client has given (`gtid_next`): whether it belongs to it, begins it or ends it.
//!
//! Asked where the session's gate is shut, and nowhere else. Never here: what is done about it (`context::gtid`).

use crate::context::gtid::NamedPart;
use sql_parser::ast::{SetItem, Statement, Xa};

/// The part of a statement.
pub(super) fn part_of(statement: &Statement) -> NamedPart {
    match statement {
        Statement::Set(items) if matches!(items[..], [SetItem::Password { .. }]) => {
            NamedPart::Definition
        }
        Statement::Xa(xa) if matches!(**xa, Xa::Recover { .. }) => NamedPart::Innocent,
        Statement::Query(_)
        | Statement::Do(_)
        | Statement::Set(_)
        | Statement::Show(_)
        | Statement::Describe(_)
        | Statement::Explain(_)
        | Statement::Use(_)
        | Statement::Help(_)
        | Statement::Nothing
        // What it runs is asked about by itself.
        | Statement::Execute { .. } => NamedPart::Innocent,
        Statement::Begin(_) => NamedPart::Begin,
        Statement::Commit(_) => NamedPart::Commit,
        Statement::Rollback(_) => NamedPart::Rollback,
        Statement::Xa(_) => NamedPart::Distributed,
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::LoadData(_)
        | Statement::Call(_)
        | Statement::Binlog(_) => NamedPart::Rows,
        // Without a transaction they are one; within one they commit nothing.
        Statement::CreateTable(t) if t.temporary => NamedPart::Rows,
        Statement::DropTable(t) if t.temporary => NamedPart::Rows,
        Statement::Savepoint(_)
        | Statement::RollbackTo(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::Prepare { .. }
        | Statement::Deallocate(_)
        | Statement::Handler(_)
        | Statement::LockTables(_)
        | Statement::UnlockTables
        | Statement::Kill { .. }
        | Statement::Signal(_)
        | Statement::Resignal(_)
        | Statement::GetDiagnostics(_)
        | Statement::SetRole(_)
        | Statement::Unsupported(_)
        | Statement::Backup(_)
        | Statement::LockInstance(_)
        | Statement::ReplicaControl(_)
        | Statement::ChangeReplication(_)
        | Statement::PurgeLogs(_)
        | Statement::Reset(_)
        | Statement::Shutdown
        | Statement::Restart => NamedPart::Within,
        _ => NamedPart::Definition,
    }
}
