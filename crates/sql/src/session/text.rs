//! A text from the client: taken apart into statements, each carried out, its outcome told.

use types::depth::{is_too_deep, room};
use types::{Pace, SqlError};

use super::{Com, Command, Outcome, Session};
use crate::context::parse_error;
use crate::dispatch::{self, com};
use sql_exec::ExecError;
use sql_expr::memory::{self, Charge};
use sql_plan::sink::ResultSink;

impl Session {
    /// Carries out the statements of a text, one result each. The first error ends it and is returned; results before
    /// it have been delivered.
    ///
    /// # Errors
    /// Whatever the statement that failed fails with.
    pub fn execute<'a>(&'a mut self, sql: &'a [u8], sink: &'a mut dyn ResultSink) -> Outcome<'a> {
        Box::pin(room::movable(self.run_text(sql, sink)))
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
                let outcome = self.conclude(outcome, sink).await;
                return self.complete(outcome, false, sink);
            }
        }
        let may_run_long = self.may_run_long(sql);
        if may_run_long {
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
            let (statement, used) = loop {
                match self.parsed(rest, &options) {
                    Ok(parsed) => break (parsed.statement, parsed.consumed),
                    Err(e) if is_too_deep(&e) && room::more().await => {}
                    Err(e) => return self.refuse(e),
                }
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
            let keeps = whole && !may_run_long;
            let outcome = loop {
                match self.run_statement(&statement, text, keeps, sink).await {
                    // It was bound, and has done nothing.
                    Err(e) if is_too_deep(&e) && room::more().await => self.diagnostics.clear(),
                    outcome => break outcome,
                }
            };
            let outcome = self.conclude(outcome, sink).await;
            self.complete(outcome, more, sink)?;
            if !more {
                return Ok(());
            }
            at += used;
        }
    }

    /// The first statement of a text.
    fn parsed(
        &self,
        text: &[u8],
        options: &sql_parser::Options,
    ) -> Result<sql_parser::Parsed, SqlError> {
        let watch = self.engine.interrupt();
        let pace = Pace::new(Some(&*watch));
        sql_parser::parse_paced(text, options, &pace).map_err(|e| parse_error(&e))
    }

    /// A text that is no statement: the error is the statement's outcome.
    pub(super) fn refuse(&mut self, e: SqlError) -> Result<(), SqlError> {
        self.begin_statement(Com::Other);
        Err(self.failed(e))
    }
}

/// Error 1041, where an account does not say more.
fn out_of_memory() -> SqlError {
    SqlError::fixed(types::error::codes::ER_OUT_OF_RESOURCES)
}
