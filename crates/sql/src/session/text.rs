//! A text from the client: taken apart into statements, each carried out, its outcome told.

use types::{Pace, SqlError};

use super::{
    Com, Command, LARGE_VARIABLES, Outcome, Session, com, dispatch, long_running, out_of_memory,
    parse_error,
};
use crate::exec::ExecError;
use crate::sink::{Done, ResultSink};
use sql_expr::memory::{self, Account, Charge};
use sql_expr::vars::SqlMode;

impl Session {
    /// Carries out the statements of a text, one result each. The first error ends it and is returned; results before
    /// it have been delivered.
    ///
    /// # Errors
    /// Whatever the statement that failed fails with.
    pub fn execute<'a>(&'a mut self, sql: &'a [u8], sink: &'a mut dyn ResultSink) -> Outcome<'a> {
        Box::pin(self.run_text(sql, sink))
    }

    pub(super) async fn run_text(
        &mut self,
        sql: &[u8],
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let shown = self.parse_options().utf8(sql);
        self.begin_command(Command::Query, &shown);
        drop(shown);
        self.process.counts.questions.add(1);
        let r = self.execute_text(sql, sink).await;
        self.end_command();
        r
    }

    pub(super) async fn execute_text(
        &mut self,
        sql: &[u8],
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        if !self.gate.is_shut()
            && let Some(plan) = self.cached_plan(sql)
        {
            self.begin_statement(Com::Select);
            let outcome = self.run_plan(&plan, &[], sink).await;
            if let Some(outcome) = ExecError::unless_stale(outcome) {
                return self.complete(outcome, false, sink);
            }
        }
        let lasts = self.lasts(sql);
        if lasts {
            self.leave().await;
        }
        let mut tree = Charge::to(self.memory());
        if sql.len() >= memory::SMALL && !tree.set(memory::of_text(sql)) {
            return self.refuse(self.memory().check().err().unwrap_or_else(out_of_memory));
        }
        let mut at = 0;
        loop {
            let options = self.parse_options();
            let rest = &sql[at..];
            let watch = self.engine.interrupt();
            let pace = Pace::new(Some(&*watch));
            let (statement, used) = match sql_parser::parse_paced(rest, &options, &pace) {
                Ok(parsed) => (parsed.statement, parsed.consumed),
                Err(e) => return self.refuse(parse_error(&e)),
            };
            let tail = &rest[used..];
            let more = !tail.is_empty() && !sql_parser::is_blank(tail, &options);
            if more && !self.client.multi_statements {
                let line = 1 + sql[..at + used].iter().filter(|b| **b == b'\n').count();
                let near = options.utf8(tail.trim_ascii_start());
                let near = String::from_utf8_lossy(&near);
                return self.refuse(SqlError::parse_error(&near, line));
            }
            let com = com::of(&statement);
            let whole = at == 0 && !more;
            if !dispatch::is_diagnostic(&statement) {
                self.begin_statement(com);
            } else {
                self.secure();
                self.count(com);
            }
            let text = if whole { sql } else { &rest[..used] };
            let outcome = self
                .run_statement(&statement, text, whole && !lasts, sink)
                .await;
            self.complete(outcome, more, sink)?;
            if !more {
                return Ok(());
            }
            at += used;
        }
    }

    /// Whether a text may compute for long without a pause, so that whoever serves others should not be the one to prepare it.
    pub fn lasts(&self, sql: &[u8]) -> bool {
        long_running::is_long_running_text(sql, self.has_large_variables())
    }

    /// Goes on where computing for long keeps nobody waiting.
    pub(crate) async fn leave(&self) {
        base::environment::leave(&*self.engine.engine().environment().spawn).await;
    }

    fn has_large_variables(&self) -> bool {
        self.user_vars.lock().bytes() > LARGE_VARIABLES
    }

    /// A text that is no statement: the error is the statement's outcome.
    pub(super) fn refuse(&mut self, e: SqlError) -> Result<(), SqlError> {
        self.begin_statement(Com::Other);
        Err(self.failed(e))
    }

    /// Notes the error that ends the statement.
    pub(super) fn failed(&mut self, e: SqlError) -> SqlError {
        self.closing |= Account::closes(e.code);
        let max = self.vars.hot().max_error_count;
        self.diagnostics.fail(&e, max);
        self.facts.row_count = -1;
        e
    }

    pub(super) fn count(&self, com: Com) {
        self.process.counts.queries.add(1);
        self.process.counts.com[com as usize].add(1);
    }

    /// A statement begins that is not about the diagnostics of the one before.
    #[inline]
    pub(super) fn begin_statement(&mut self, com: Com) {
        self.put_back();
        self.secure();
        self.count(com);
        self.facts.warning_count = self.diagnostics.total();
        self.facts.error_count = self.diagnostics.errors();
        self.diagnostics.clear();
        self.memory().begin();
    }

    /// Tells the client how the statement ended.
    pub(crate) fn complete(
        &mut self,
        outcome: Result<Done, SqlError>,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        // What took part of a value, a row or a text and went on is found out here at the latest.
        let outcome = outcome.and_then(|done| self.memory().check().map(|()| done));
        let mut done = match outcome {
            Ok(done) => done,
            Err(e) => return Err(self.failed(e)),
        };
        if let Some(id) = done.generated_id {
            self.facts.last_insert_id = id;
        }
        if done.result_set {
            self.facts.row_count = -1;
            self.facts.found_rows = done.found_rows;
        } else {
            self.facts.row_count = i64::try_from(done.affected).unwrap_or(i64::MAX);
        }
        done.more = more;
        done.warnings = self.diagnostics.packet_count();
        done.in_transaction = self.engine.in_transaction();
        if !done.in_transaction && self.savepoints.bytes() > 0 {
            // Less is never refused.
            self.savepoints.set(0);
        }
        done.in_read_only_transaction = done.in_transaction && self.engine.is_read_only();
        let hot = self.vars.hot();
        done.autocommit = hot.autocommit;
        done.no_backslash_escapes = hot.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
        if !self.changes.is_empty() {
            done.changes = std::mem::take(&mut self.changes);
        }
        sink.finish(&done);
        Ok(())
    }
}
