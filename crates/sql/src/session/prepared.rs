//! Prepared statements of the protocol, by id.

use std::sync::Arc;

use types::depth::{is_too_deep, room};
use types::{SqlError, Value};

use super::{Com, Command, Execution, Outcome, Session};
use crate::context::gtid::Admitted;
use crate::context::prepared::StatementName;
use crate::context::programs::Given;
use crate::dispatch;
use crate::dispatch::prepared::wrong_arguments;
use sql_exec::ExecError;
use sql_plan::sink::{ColumnMeta, Done, ResultSink};

/// What the answer to COM_STMT_PREPARE says.
#[derive(Debug, Clone)]
pub struct PreparedInfo {
    /// By which the client refers to it.
    pub id: u32,
    /// Number of parameters.
    pub params: u16,
    /// Result columns; empty where there is no result set, or its columns are known only when it runs.
    pub columns: Arc<[ColumnMeta]>,
    /// Warnings of preparing.
    pub warnings: u16,
}

impl Session {
    /// COM_STMT_PREPARE.
    ///
    /// # Errors
    /// What parsing or planning it fails with; 1295, 1390, 1461.
    pub fn prepare(&mut self, sql: &[u8]) -> Result<PreparedInfo, SqlError> {
        let shown = self.parse_options().utf8(sql);
        self.begin_command(Command::Prepare, &shown);
        drop(shown);
        self.begin_statement(Com::StmtPrepare);
        let r = room::again(|| self.make_prepared(sql));
        self.end_command();
        let p = match r {
            Ok(p) => p,
            Err(e) => return Err(self.failed(e)),
        };
        self.prepared.last = self.prepared.last.wrapping_add(1).max(1);
        let info = PreparedInfo {
            id: self.prepared.last,
            params: p.params,
            columns: p
                .planned
                .as_ref()
                .map_or_else(|| Arc::from([]), |x| Arc::clone(&x.plan.peek().columns)),
            warnings: self.diagnostics.packet_count(),
        };
        self.prepared.map.insert(info.id, p);
        self.make_room_for_prepared(&StatementName::Number(info.id));
        Ok(info)
    }

    /// COM_STMT_EXECUTE, for whoever waits for it at one place: [`start_prepared`](Self::start_prepared) and what is left then.
    ///
    /// # Errors
    /// 1243 for an unknown id, 1210 for the wrong number of parameters, and whatever the statement fails with.
    pub fn execute_prepared<'a>(
        &'a mut self,
        id: u32,
        params: &'a [Value],
        sink: &'a mut dyn ResultSink,
    ) -> Outcome<'a> {
        Box::pin(async move {
            match self.start_prepared(id, params, sink) {
                Execution::Done(done) => done,
                Execution::Pending(rest) => self.finish_prepared(rest, id, params, sink).await,
            }
        })
    }

    /// An execution that may wait for anything.
    pub(super) async fn run_prepared(
        &mut self,
        id: u32,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let entered = self.enter_schema_of(&StatementName::Number(id));
        let outcome = self.run_prepared_there(id, params, sink).await;
        self.leave_schema(entered);
        outcome
    }

    /// The same under the default schema that the statement was made under.
    async fn run_prepared_there(
        &mut self,
        id: u32,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let Some(p) = self.prepared.map.get(&id) else {
            return Err(unknown(id, "mysqld_stmt_execute"));
        };
        let deep = p.deep;
        self.begin_command(Command::Execute, &p.text);
        if deep {
            room::more().await;
        }
        let Some(p) = self.prepared.map.get(&id) else {
            return Err(unknown(id, "mysqld_stmt_execute"));
        };
        let com = p.com;
        let ready = self.ready_plan(p, params);
        let (may_run_long, planned, text) = (p.may_run_long, p.has_plan, Arc::clone(&p.text));
        self.note_text(planned, &text);
        if may_run_long {
            self.leave().await;
        }
        self.count_execution();
        let statement = match self.gate.is_shut() {
            true => self.prepared_tree(&StatementName::Number(id)),
            false => Ok(None),
        };
        let admitted = match statement {
            Ok(Some(statement)) => self.admit(&statement),
            Ok(None) => Ok(Admitted::Run),
            Err(e) => Err(e),
        };
        let outcome = match ready {
            _ if admitted != Ok(Admitted::Run) => {
                self.begin_statement(com);
                admitted.map(|_| Done::default())
            }
            Some(plan) => {
                self.begin_statement(com);
                if params.len() < plan.peek().params as usize {
                    Err(wrong_arguments("mysqld_stmt_execute"))
                } else {
                    let outcome = self.run_plan(&plan, params, sink).await;
                    match ExecError::unless_stale(outcome) {
                        Some(outcome) => outcome,
                        None => Box::pin(self.run_slowly(id, params, sink)).await,
                    }
                }
            }
            None => loop {
                match Box::pin(self.run_slowly(id, params, sink)).await {
                    // It was bound, and has done nothing.
                    Err(e) if is_too_deep(&e) && room::more().await => self.diagnostics.clear(),
                    outcome => break outcome,
                }
            },
        };
        if outcome.is_ok() {
            self.send_given(sink);
        }
        let outcome = self.conclude(outcome, sink).await;
        let r = self.complete(outcome, false, sink);
        self.end_command();
        r
    }

    /// Sends what a CALL has given to the statement's parameters, as a result of one row before its end.
    fn send_given(&mut self, sink: &mut dyn ResultSink) {
        let given = std::mem::take(&mut self.programs.given);
        if given.is_empty() {
            return;
        }
        let column = |g: &Given| ColumnMeta::computed(&g.name, g.ty.clone(), true);
        let columns: Arc<[ColumnMeta]> = given.iter().map(column).collect();
        sink.out_params();
        sink.columns(&columns);
        sink.row_begin();
        for (i, g) in given.iter().enumerate() {
            sink.value(g.value.as_ref(), i);
        }
        sink.row_end();
        let mut done = Done {
            result_set: true,
            out_params: true,
            ..Done::default()
        };
        let (rows, found) = (self.facts.row_count, self.facts.found_rows);
        self.note_done(&mut done, true);
        (self.facts.row_count, self.facts.found_rows) = (rows, found);
        sink.finish(&done);
    }

    /// Plans a prepared statement again and runs it, or runs one that has no plan.
    async fn run_slowly(
        &mut self,
        id: u32,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let statement = self.prepared_tree(&StatementName::Number(id))?;
        let (Some(statement), Some(p)) = (statement, self.prepared.map.get(&id)) else {
            return Err(unknown(id, "mysqld_stmt_execute"));
        };
        let com = p.com;
        if !p.has_plan {
            if dispatch::is_diagnostic(&statement) {
                self.count(com);
            } else {
                self.begin_statement(com);
            }
            return self.run_other(&statement, params, sink).await;
        }
        // For values of another kind it is only planned.
        let again = !self.has_plan_that_holds(p, params);
        self.begin_statement(com);
        if again {
            self.process.counts.com[Com::StmtReprepare as usize].add(1);
        }
        self.plan_again(&statement, params, sink, |s| s.prepared.map.get_mut(&id))
            .await
    }

    /// Whether a prepared statement is a CALL: whatever results it has come one after another, and none is kept for the client to fetch.
    pub fn calls(&self, id: u32) -> bool {
        let p = self.prepared.get(id);
        p.is_some_and(|p| p.com() as usize == Com::Call as usize)
    }

    /// COM_STMT_CLOSE; an unknown id is ignored, as the protocol has no answer to it.
    pub fn close_prepared(&mut self, id: u32) {
        self.prepared.map.remove(&id);
        self.process.counts.com[Com::StmtClose as usize].add(1);
    }

    /// COM_STMT_RESET.
    ///
    /// # Errors
    /// 1243.
    pub fn reset_prepared(&mut self, id: u32) -> Result<(), SqlError> {
        self.process.counts.com[Com::StmtReset as usize].add(1);
        match self.prepared.map.contains_key(&id) {
            true => Ok(()),
            false => Err(unknown(id, "mysqld_stmt_reset")),
        }
    }

    /// Number of parameters of a prepared statement.
    pub fn prepared_params(&self, id: u32) -> Option<u16> {
        self.prepared.map.get(&id).map(|p| p.params)
    }
}

/// Error 1243.
fn unknown(id: u32, command: &str) -> SqlError {
    SqlError::unknown_stmt(&id.to_string(), command)
}
