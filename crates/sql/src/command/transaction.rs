//! Transaction control: BEGIN, COMMIT, ROLLBACK, savepoints, SET TRANSACTION.

use types::{Isolation, SqlError};

use crate::context::Session;
use sql_expr::memory;
use sql_expr::vars::VarInput;
use sql_parser::ast::{BeginTransaction, Completion, Statement, VarScope};
use sql_plan::sink::Done;

/// What a savepoint takes; names are short.
const SAVEPOINT: usize = 128;

/// Savepoints from which on to look through them takes long.
const MANY_SAVEPOINTS: usize = 1000;

impl Session {
    /// Carries out a statement about the transaction.
    ///
    /// # Errors
    /// What committing or rolling back fails with; 1305.
    pub(crate) async fn run_transaction(
        &mut self,
        statement: &Statement,
    ) -> Result<Done, SqlError> {
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

    /// BEGIN, START TRANSACTION.
    async fn begin(&mut self, stmt: &BeginTransaction) -> Result<Done, SqlError> {
        self.implicit_commit().await?;
        self.forget_locked_tables();
        self.begin_with(stmt.read_only);
        if stmt.consistent_snapshot {
            self.engine.open_snapshot();
        }
        Ok(Done::default())
    }

    /// COMMIT (`true`) and ROLLBACK.
    async fn end(&mut self, commit: bool, how: &Completion) -> Result<Done, SqlError> {
        self.outside_xa()?;
        let kind = self.vars.hot().completion_type;
        let chain = how.chain.unwrap_or(kind == 1 && how.release != Some(true));
        let release = how.release.unwrap_or(kind == 2 && !chain);
        let again = (self.isolation, self.engine.is_read_only());
        if commit {
            self.commit_open().await?;
        } else {
            self.engine.rollback().await?;
        }
        if chain {
            self.engine.begin(again.0, again.1);
        }
        self.closing |= release;
        Ok(Done::default())
    }

    /// SAVEPOINT. Outside a transaction in autocommit mode it has no effect, as in MySQL.
    fn savepoint(&mut self, name: &str) -> Result<Done, SqlError> {
        self.xa_takes_rows()?;
        self.begin_implicit();
        if self.engine.in_transaction() {
            let all = (self.engine.savepoints() + 1) * SAVEPOINT;
            if !self.savepoints.set(all.next_multiple_of(memory::SMALL)) {
                self.memory().check()?;
            }
            self.engine.savepoint(name);
        }
        Ok(Done::default())
    }

    /// ROLLBACK TO SAVEPOINT.
    async fn rollback_to(&mut self, name: &str) -> Result<Done, SqlError> {
        self.xa_takes_rows()?;
        self.engine.rollback_to(name).await?;
        Ok(Done::default())
    }

    /// RELEASE SAVEPOINT.
    fn release_savepoint(&mut self, name: &str) -> Result<Done, SqlError> {
        self.xa_takes_rows()?;
        self.engine.release_savepoint(name)?;
        Ok(Done::default())
    }

    /// SET [scope] TRANSACTION.
    pub(crate) fn set_transaction(
        &mut self,
        scope: Option<VarScope>,
        isolation: Option<Isolation>,
        read_only: Option<bool>,
    ) -> Result<(), SqlError> {
        let Some(scope) = scope else {
            if self.engine.in_transaction() || self.xa.is_some() {
                return Err(SqlError::fixed(
                    types::error::codes::ER_CANT_CHANGE_TX_CHARACTERISTICS,
                ));
            }
            if let Some(i) = isolation {
                self.vars.set_next_isolation(i);
            }
            if let Some(r) = read_only {
                self.vars.set_next_read_only(r);
            }
            return Ok(());
        };
        if let Some(i) = isolation {
            let word = VarInput::Text(i.name().to_owned());
            self.set_variable(Some(scope), "transaction_isolation", &word)?;
        }
        if let Some(r) = read_only {
            let word = VarInput::Int(i64::from(r));
            self.set_variable(Some(scope), "transaction_read_only", &word)?;
        }
        Ok(())
    }
}
