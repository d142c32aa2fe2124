//! What stands between a session and its statements beside privileges: an expired password, after which only a new one is
//! accepted, and the account's limits an hour.
//!
//! A session of an account with neither pays nothing: it is not gated, and its statements do not come here.

use types::SqlError;
use types::error::codes;

use super::Session;
use crate::access::AccountState;
use crate::access::account::Limits;
use crate::access::login::{Login, Usage};
use sql_parser::ast::{Account, SetItem, Statement};

/// The state of a session's gate.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// The password has expired: nothing but a new one is accepted.
    expired: bool,
    limits: Limits,
    /// The session's part in what its account uses; while it is here it counts as a connection.
    usage: Option<Usage>,
}

impl Gate {
    /// Of a login. What was there before is given back.
    pub(super) fn of(login: Login) -> Gate {
        Gate {
            expired: login.expired,
            limits: Limits::default(),
            usage: Some(login.usage),
        }
    }

    /// Whether statements have to be admitted.
    #[inline]
    pub(super) fn is_shut(&self) -> bool {
        self.expired || self.limits.questions != 0 || self.limits.updates != 0
    }
}

/// 1820.
fn expired() -> SqlError {
    SqlError::new(
        codes::ER_MUST_CHANGE_PASSWORD,
        "You must reset your password using ALTER USER statement before executing this statement.",
    )
}

impl Session {
    /// Takes over the limits that the account has now.
    pub(super) fn take_limits(&mut self, state: &AccountState) {
        let own = state.find(self.security.account());
        self.gate.limits = own.map_or_else(Limits::default, |a| a.limits);
    }

    /// Refuses a statement that an expired password or a limit does not let pass, and counts it otherwise.
    ///
    /// # Errors
    /// 1820, 1226.
    pub(super) fn admit(&mut self, statement: &Statement) -> Result<(), SqlError> {
        if !self.gate.is_shut() {
            return Ok(());
        }
        if self.gate.expired && !self.sets_own_password(statement) {
            return Err(expired());
        }
        // What EXECUTE runs is admitted by itself.
        let counted = !matches!(statement, Statement::Execute { .. });
        let Some(usage) = self.gate.usage.as_ref().filter(|_| counted) else {
            return Ok(());
        };
        let now_us = self.instance.clock.wall_us();
        usage.spend(
            &self.security.account().user,
            self.gate.limits,
            changes_data(statement),
            now_us,
        )
    }

    /// Refuses to prepare what the gate would not let pass.
    ///
    /// # Errors
    /// 1820.
    pub(super) fn admit_preparation(&self, statement: &Statement) -> Result<(), SqlError> {
        match self.gate.expired && !self.sets_own_password(statement) {
            true => Err(expired()),
            false => Ok(()),
        }
    }

    /// Refuses whatever is no statement while the password is an expired one.
    ///
    /// # Errors
    /// 1820.
    pub(super) fn admit_command(&self) -> Result<(), SqlError> {
        match self.gate.expired {
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

    /// Opens the gate again once the account has a password that has not expired.
    pub(super) fn look_for_new_password(&mut self) {
        let state = self.instance.accounts.snapshot();
        let own = state.find(self.security.account());
        if own.is_some_and(|a| !a.password.expired) {
            self.gate.expired = false;
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
            | Statement::Help(_)
    )
}
