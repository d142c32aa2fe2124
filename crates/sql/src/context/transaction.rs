//! The session's transaction: how one begins, with or without a word, and what a statement's end does to the one around it.

use types::error::codes;
use types::{Isolation, SqlError};

use super::Session;

impl Session {
    /// Commits what is open, as statements that change definitions do before they begin.
    ///
    /// # Errors
    /// 1399 in a branch of a distributed transaction; what committing fails with.
    pub(crate) async fn implicit_commit(&mut self) -> Result<(), SqlError> {
        self.outside_xa()?;
        self.commit_open().await
    }

    /// Commits what is open. Every commit of a client's own transaction comes through here, but for those that wait for nothing.
    ///
    /// # Errors
    /// 1290: the server takes no changes any more, and as in MySQL the transaction was rolled back; what committing fails with.
    pub(crate) async fn commit_open(&mut self) -> Result<(), SqlError> {
        match self.engine.commit().await {
            Err(e) if e.code == codes::ER_OPTION_PREVENTS_STATEMENT => {}
            done => return done,
        }
        // The rights that it goes by are those of its last change, when there may have been nothing to ask them about.
        match self.check_fence() {
            Ok(()) => self.engine.commit().await,
            Err(e) => {
                self.engine.rollback().await?;
                Err(e)
            }
        }
    }

    /// How a transaction of a named level reads and writes.
    #[inline]
    pub(crate) fn level(&self, named: Isolation) -> Isolation {
        match named {
            Isolation::RepeatableRead if self.vars.hot().snapshot_isolation => Isolation::Snapshot,
            other => other,
        }
    }

    /// The isolation of a transaction that begins now, and whether it is read-only.
    pub(crate) fn next_transaction(&mut self) -> (Isolation, bool) {
        let (named, read_only) = self.vars.begin_transaction();
        (self.level(named), read_only)
    }

    pub(crate) fn begin_with(&mut self, read_only: Option<bool>) {
        let (isolation, default_read_only) = self.next_transaction();
        self.isolation = isolation;
        self.engine
            .begin(self.isolation, read_only.unwrap_or(default_read_only));
    }

    /// Begins the transaction that the first statement after the last commit begins while `autocommit` is off.
    #[inline]
    pub(crate) fn begin_implicit(&mut self) {
        if !self.vars.hot().autocommit && !self.engine.in_transaction() {
            self.begin_with(None);
        }
    }

    /// `autocommit` has a new value: switching it on commits what is open.
    pub(crate) async fn autocommit_changed(&mut self, was_on: bool) -> Result<(), SqlError> {
        if !was_on && self.vars.hot().autocommit {
            self.commit_open().await?;
        }
        Ok(())
    }

    /// Ends a statement that read or changed rows: a statement that is its own transaction ends it, a failed one is
    /// undone.
    ///
    /// # Errors
    /// The statement's own error, or what committing fails with.
    pub(crate) async fn end_statement<T, E: From<SqlError>>(
        &mut self,
        outcome: Result<T, E>,
    ) -> Result<T, E> {
        let outcome = self.end_rows(outcome).await;
        self.engine.end_writing();
        outcome
    }

    /// Commits a statement that is its own transaction.
    async fn commit_rows(&mut self) -> Result<(), SqlError> {
        self.rows_are_logged();
        self.commit_open().await
    }

    async fn end_rows<T, E: From<SqlError>>(&mut self, outcome: Result<T, E>) -> Result<T, E> {
        let own = !self.engine.in_transaction();
        match outcome {
            Ok(v) if own => match self.commit_rows().await {
                Ok(()) => Ok(v),
                Err(e) => {
                    // The commit was not written: nothing of the statement may stay.
                    self.engine.rollback().await?;
                    Err(e.into())
                }
            },
            Ok(v) => {
                self.rows_are_logged();
                Ok(v)
            }
            Err(e) => {
                let undone = if own {
                    self.engine.rollback().await
                } else {
                    self.engine.statement_rollback().await
                };
                // What went wrong first is what the client has to know.
                let _ = undone;
                Err(e)
            }
        }
    }

    /// UNLOCK TABLES: commits and gives back what LOCK TABLES has locked, if it was in force. A read lock of the server stays.
    ///
    /// # Errors
    /// What committing fails with.
    pub(crate) async fn unlock_named_tables(&mut self) -> Result<(), SqlError> {
        if self.locked.is_some() {
            self.implicit_commit().await?;
            self.forget_locked_tables();
        }
        Ok(())
    }

    /// The same where nothing is to be committed.
    pub(crate) fn forget_locked_tables(&mut self) {
        if self.locked.take().is_some() {
            // What is planned for locked tables alone is planned anew, and the other way round.
            self.settings += 1;
            self.engine.unlock_tables();
        }
    }
}
