//! Which statements an expired password and the account's limits an hour let pass.
//!
//! A session of an account with neither pays nothing: it is not gated, and its statements do not come here.

use types::SqlError;

use crate::context::Session;
use crate::context::gate::expired;
use crate::context::gtid::Admitted;
use sql_parser::ast::{Account, SetItem, Statement};

use super::named_transaction::part_of;

impl Session {
    /// Refuses a statement that an expired password, a limit or the name of the transaction does not let pass, and counts it otherwise.
    ///
    /// # Errors
    /// 1820, 1226; 1778, 1837.
    pub(crate) fn admit(&mut self, statement: &Statement) -> Result<Admitted, SqlError> {
        if !self.gate.is_shut() {
            return Ok(Admitted::Run);
        }
        if self.gate.expired && !self.sets_own_password(statement) {
            return Err(expired());
        }
        // What EXECUTE runs is admitted by itself.
        let counted = !matches!(statement, Statement::Execute { .. });
        if let Some(usage) = self.gate.usage.as_ref().filter(|_| counted) {
            let now_us = self.instance.clock.wall_us();
            usage.spend(
                &self.security.account().user,
                self.gate.limits,
                changes_data(statement),
                now_us,
            )?;
        }
        self.admit_named(part_of(statement))
    }

    /// Refuses to prepare what the gate would not let pass.
    ///
    /// # Errors
    /// 1820.
    pub(crate) fn admit_preparation(&self, statement: &Statement) -> Result<(), SqlError> {
        match self.gate.expired && !self.sets_own_password(statement) {
            true => Err(expired()),
            false => Ok(()),
        }
    }

    fn sets_own_password(&self, statement: &Statement) -> bool {
        let own = |a: &Account| {
            let id = self.account_id(a);
            id.is_ok_and(|id| id == *self.security.account())
        };
        match statement {
            Statement::AlterUser(c) => c.users.iter().all(|u| own(&u.account) && u.auth.is_some()),
            Statement::Set(items) => match &items[..] {
                [SetItem::Password { account, .. }] => account.as_ref().is_none_or(own),
                _ => false,
            },
            _ => false,
        }
    }
}

/// Statements that count as updates.
fn changes_data(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::Query(_)
            | Statement::Do(_)
            | Statement::Explain(_)
            | Statement::Show(_)
            | Statement::Describe(_)
            | Statement::Set(_)
            | Statement::SetRole(_)
            | Statement::Use(_)
            | Statement::Begin(_)
            | Statement::Commit(_)
            | Statement::Rollback(_)
            | Statement::Savepoint(_)
            | Statement::RollbackTo(_)
            | Statement::ReleaseSavepoint(_)
            | Statement::Prepare { .. }
            | Statement::Execute { .. }
            | Statement::Deallocate(_)
            | Statement::Kill { .. }
            | Statement::Flush(_)
            | Statement::Reset(_)
            | Statement::LockTables(_)
            | Statement::UnlockTables
            | Statement::GetDiagnostics(_)
            | Statement::Handler(_)
            | Statement::Help(_)
            | Statement::Nothing
            | Statement::Xa(_)
    )
}
