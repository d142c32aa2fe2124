//! How commands and statements begin, whichever way they came: what the process list shows, what is counted, in which transaction
//! rows are read and changed, and whether they may be changed at all.
//!
//! A statement that waits for nothing ([`nonblocking`](crate::session)) begins by the same rules, and leaves no trace where they
//! refuse it.

use engine::{Fence, Rank};
use types::SqlError;

use super::Session;
use super::com::Com;
use super::process::Command;
use sql_access::statement;

/// What a statement does with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// It has no tables.
    None,
    /// It reads them.
    Read,
    /// It changes some.
    Changed,
    /// It changes some, all of them of temporary tables: a read-only transaction and a read-only server let it.
    TemporaryChanged,
}

impl Rows {
    fn change(self) -> bool {
        matches!(self, Rows::Changed | Rows::TemporaryChanged)
    }

    /// Of a plan.
    pub fn of(plan: &sql_plan::plan::Plan) -> Rows {
        match plan.writes {
            true if plan.body.changes_temporary_tables_alone() => Rows::TemporaryChanged,
            true => Rows::Changed,
            false if plan.tables.is_empty() => Rows::None,
            false => Rows::Read,
        }
    }
}

impl Session {
    /// A command begins: the process list shows it, and a KILL QUERY of the one before is forgotten.
    #[inline]
    pub(crate) fn begin_command(&self, command: Command, text: &[u8]) {
        self.process
            .begin(command, text, self.instance.clock.now_us());
        self.process.interrupt().clear_query();
    }

    /// The command is over.
    #[inline]
    pub(crate) fn end_command(&self) {
        self.engine.end_writing();
        self.process.end(self.instance.clock.now_us());
    }

    /// An execution of a prepared statement is a question, whatever comes of it.
    #[inline]
    pub(crate) fn count_execution(&self) {
        self.process.counts.questions.add(1);
        self.process.counts.com[Com::StmtExecute as usize].add(1);
    }

    /// Begins a statement on rows, in the present transaction or in one of its own. [`end_statement`](Session::end_statement) ends it.
    ///
    /// # Errors
    /// 1792, 1290: it may not change any; 1399: the branch of a distributed transaction takes none.
    pub(crate) fn begin_rows(&mut self, rows: Rows) -> Result<(), SqlError> {
        if rows != Rows::None {
            self.xa_takes_rows()?;
            self.begin_implicit();
        }
        let (isolation, read_only) = match self.engine.in_transaction() {
            true => (self.isolation, self.engine.is_read_only()),
            false => self.next_transaction(),
        };
        if rows == Rows::Changed {
            self.may_change(read_only)?;
        }
        self.engine.statement_begin(isolation);
        if rows.change() {
            self.engine.statement_writes();
        }
        Ok(())
    }

    /// As [`begin_rows`](Self::begin_rows), for a statement that locks for sharing what it reads beside, at every level. InnoDB does that for all but SELECT,
    /// HANDLER, and [what reads as SELECT does](sql_plan::plan::PlanBody::shares_what_it_reads) below REPEATABLE READ.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn begin_sharing_rows(&mut self, rows: Rows) -> Result<(), SqlError> {
        self.begin_rows(rows)?;
        if !base::mutant!("read-beside-a-change-not-locked") {
            self.engine.statement_shares();
        }
        Ok(())
    }

    /// As [`begin_rows`](Self::begin_rows), for a statement that waits for nothing; `true` where it is a transaction of its own. `None`
    /// where it may not change rows, and where the long way has to begin it: what was set for the next transaction alone, and a
    /// transaction that begins by itself.
    #[inline]
    pub(crate) fn begin_rows_now(&mut self, rows: Rows) -> Option<bool> {
        self.xa_takes_rows().ok()?;
        let own = !self.engine.in_transaction();
        if rows == Rows::Changed {
            self.may_change(self.is_read_only_now()).ok()?;
        }
        let mut isolation = self.isolation;
        if own {
            if !self.vars.hot().autocommit {
                return None;
            }
            isolation = self.level(self.vars.usual_isolation()?);
        }
        self.engine.statement_begin(isolation);
        if rows.change() {
            self.engine.statement_writes();
        }
        Some(own)
    }

    /// Whether what begins now, in the present transaction or one of its own, is read-only.
    pub(crate) fn is_read_only_now(&self) -> bool {
        match self.engine.in_transaction() {
            true => self.engine.is_read_only(),
            false => self.vars.next_is_read_only(),
        }
    }

    /// Whether anything may be changed, by the transaction and by `read_only` and `super_read_only` of the server.
    fn may_change(&mut self, read_only_transaction: bool) -> Result<(), SqlError> {
        match read_only_transaction {
            true => Err(SqlError::read_only_transaction()),
            false => self.check_fence(),
        }
    }

    /// Whether `read_only` and `super_read_only` let this session change anything, by the rights that it has now.
    ///
    /// # Errors
    /// 1290.
    #[inline]
    pub(crate) fn check_fence(&mut self) -> Result<(), SqlError> {
        self.take_rank();
        self.engine.check_fence()
    }

    /// Tells the engine for whom the session works, by the rights that it has now.
    #[inline]
    pub(crate) fn take_rank(&mut self) {
        if self.applier {
            return;
        }
        let fenced = self.engine.engine().fence() != Fence::Open;
        let rank = match fenced && self.security.has_one(statement::CONNECTIONS) {
            true => Rank::Administrator,
            false => Rank::Client,
        };
        self.engine.set_rank(rank);
    }

    /// Refuses statements that change rows without a plan that says so, before they begin: in a read-only transaction, where the next
    /// one is to be read-only, and on a read-only server.
    ///
    /// # Errors
    /// 1792, 1290.
    pub(crate) fn check_may_change(&mut self) -> Result<(), SqlError> {
        self.may_change(self.is_read_only_now())
    }

    /// Refuses statements that change definitions and accounts, and commit first: what the transaction before was does not count, nor
    /// what was said of the next one alone, for the commit is its end. What the session is counts, and comes behind the commit, as in MySQL
    /// (sql/sql_parse.cc, mysql_execute_command: "this check is done after any implicit commits"); `read_only` of the server before it.
    ///
    /// # Errors
    /// 1290, 1792; what committing fails with.
    pub(crate) async fn check_may_define(&mut self) -> Result<(), SqlError> {
        self.check_fence()?;
        self.check_may_redefine_temporary().await
    }

    /// The same for what changes definitions of temporary tables and commits first: a read-only server lets them be changed.
    ///
    /// # Errors
    /// 1792; what committing fails with.
    pub(crate) async fn check_may_redefine_temporary(&mut self) -> Result<(), SqlError> {
        if self.vars.hot().tx_read_only {
            self.implicit_commit().await?;
            return Err(SqlError::read_only_transaction());
        }
        Ok(())
    }

    /// The same for those that are made and dropped within a transaction: a read-only one does not let them be.
    ///
    /// # Errors
    /// 1792.
    pub(crate) fn check_may_change_temporary(&self) -> Result<(), SqlError> {
        match self.is_read_only_now() {
            true => Err(SqlError::read_only_transaction()),
            false => Ok(()),
        }
    }
}
