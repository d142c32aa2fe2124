//! Executions that need to wait for nothing: a prepared statement that reads or changes one row by its key, the page of which
//! is in memory and the row of which nobody else holds.
//!
//! What waits is a future, and a future of all that a statement may wait for is thousands of bytes of states and code. Most
//! statements on one row wait for nothing but the log; they run here as plain calls, from the packet to the row, and what
//! remains to be waited for is a future of its own ([`Session::finish_prepared`]). Whatever is not as simple as that is
//! refused before anything has happened, and then runs as every statement does.
//!
//! Must never do: wait, report an error of the statement, or leave a trace of what it refused.

use engine::Committing;
use types::depth::room;
use types::{SqlError, Value};

use super::Command;
use super::{Com, Session};
use crate::context::change_log::BinlogContext;
use crate::context::prologue::Rows;
use sql_access::Ready;
use sql_expr::EvalCtx;
use sql_plan::plan::{Plan, PlanBody, PointGet, UpdatePlan};
use sql_plan::sink::{Done, ResultSink};

/// What has come of an execution so far.
#[derive(Debug)]
pub enum Execution {
    /// It is over.
    Done(Result<(), SqlError>),
    /// Something has to be waited for: [`finish_prepared`](Session::finish_prepared) does the rest.
    Pending(Pending),
}

/// What is left of an execution.
#[derive(Debug)]
pub enum Pending {
    /// All of it: nothing has happened.
    Statement,
    /// The change is made, and may not be acknowledged yet.
    Acknowledgement(UnacknowledgedChange),
}

/// A change that was made and may not be acknowledged yet.
#[derive(Debug)]
pub struct UnacknowledgedChange {
    done: Done,
    /// `None`: it is still to be committed.
    commit: Option<Committing>,
}

impl Session {
    /// COM_STMT_EXECUTE, as far as it comes without waiting. The sink has everything once it is done, and nothing before.
    pub fn start_prepared(
        &mut self,
        id: u32,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Execution {
        self.try_at_once(id, params, sink)
            .unwrap_or(Execution::Pending(Pending::Statement))
    }

    /// The rest of an execution, of the same statement with the same parameters.
    ///
    /// # Errors
    /// 1243 for an unknown id, 1210 for the wrong number of parameters, and whatever the statement fails with; 1180 and others of the
    /// log, where what was changed is not acknowledged.
    pub async fn finish_prepared(
        &mut self,
        rest: Pending,
        id: u32,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let UnacknowledgedChange { done, commit } = match rest {
            // In boxes, as they have all that a statement or a rollback may wait for.
            Pending::Statement => {
                let run = room::movable(self.run_prepared(id, params, sink));
                return Box::pin(run).await;
            }
            Pending::Acknowledgement(change) => change,
        };
        let outcome = match commit {
            Some(commit) => self.engine.wait_durable(commit).await.map(|()| done),
            None => Box::pin(self.end_statement(Ok(done))).await,
        };
        let outcome = self.conclude(outcome, sink).await;
        self.over(outcome, sink)
    }

    fn try_at_once(
        &mut self,
        id: u32,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Option<Execution> {
        let p = self.prepared.get(id)?;
        let plan = self.ready_plan(p, params)?;
        if !self.is_secure() {
            return None;
        }
        if self.vars.hot().rows_query && self.instance.change_log().is_some() {
            // Its text is wanted.
            return None;
        }
        if self.vars.hot().auto_is_null {
            // What it finds by IS NULL is noted elsewhere.
            return None;
        }
        let plan = self.security.ready(&plan)?;
        let simple = match &plan.body {
            PlanBody::PointGet(_) => true,
            PlanBody::Update(u) => u.single_row,
            _ => false,
        };
        if !simple
            || plan.deep
            || p.may_run_long()
            || self.gate.is_shut()
            || params.len() < plan.params as usize
        {
            return None;
        }
        let com = p.com();
        self.begin_command(Command::Execute, p.text());
        match &plan.body {
            PlanBody::PointGet(read) => {
                let rows = self.read_at_once(read, plan, params, sink)?;
                self.count_at_once(com);
                let done = Done {
                    result_set: true,
                    found_rows: rows,
                    ..Done::default()
                };
                Some(Execution::Done(self.over(Ok(done), sink)))
            }
            PlanBody::Update(update) => self.update_at_once(update, plan, params, com, sink),
            _ => None,
        }
    }

    fn count_at_once(&mut self, com: Com) {
        self.count_execution();
        self.begin_statement(com);
    }

    /// Holds the plan's tables for the rest of the transaction, where none has to be waited for.
    fn hold_tables_now(&mut self, plan: &Plan) -> bool {
        let mut all = plan.tables.iter();
        // Who reads by a view looks for it in the way that may wait.
        plan.views.is_empty()
            && all.all(|t| {
                (!t.writes || self.engine.begin_writing_now())
                    && self.engine.reopen_now(&t.table, t.writes)
            })
    }

    /// Answers the client.
    fn over(
        &mut self,
        outcome: Result<Done, SqlError>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let r = self.complete(outcome, false, sink);
        self.end_command();
        r
    }

    /// The read as a statement of the present transaction, or as one of its own.
    fn read_at_once(
        &mut self,
        read: &PointGet,
        plan: Ready<'_, Plan>,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Option<u64> {
        let own = self.begin_rows_now(Rows::Read)?;
        let mut rows = None;
        if self.hold_tables_now(&plan) {
            rows = sql_exec::point_get_now(read, &plan, &mut self.engine, params, sink);
        }
        if own {
            // Refused as well: nobody may wait for a snapshot or a table of a statement that did not run.
            let ended = self.engine.end_read();
            assert!(ended || rows.is_none(), "a read of its own has written");
        }
        rows
    }

    fn update_at_once(
        &mut self,
        update: &UpdatePlan,
        plan: Ready<'_, Plan>,
        params: &[Value],
        com: Com,
        sink: &mut dyn ResultSink,
    ) -> Option<Execution> {
        let own = self.begin_rows_now(Rows::of(&plan))?;
        let mut changed = None;
        if self.hold_tables_now(&plan) {
            let now = self.now_micros();
            let mut cx = EvalCtx::new(&self.facts, &self.vars, &self.user_vars, params, now);
            sql_exec::writes(&mut cx, update.ignore);
            let found_rows = self.client.found_rows;
            let binlog = BinlogContext::of(
                self.instance.change_log(),
                (&self.facts, &self.vars),
                self.statement_text.as_deref().unwrap_or_default(),
                now,
            );
            changed = sql_exec::update_now(update, &mut self.engine, &cx, binlog, found_rows)
                .map(|done| (done, cx.take_warnings(), cx.last_insert_id_set()));
        }
        let Some((mut done, (warnings, total), last_id)) = changed else {
            if own {
                self.engine.end_untouched();
            }
            return None;
        };
        self.rows_are_logged();
        self.count_at_once(com);
        self.keep_warnings(warnings, total);
        done.generated_id = last_id;
        done.last_insert_id = last_id.unwrap_or(0);
        if !own {
            return Some(Execution::Done(self.over(Ok(done), sink)));
        }
        let commit = self.engine.commit_now();
        Some(match commit {
            Some(c)
                if self.engine.is_durable_enough(&c)
                    && !self.asks_replicas()
                    && !self.tells_gtids() =>
            {
                Execution::Done(self.over(Ok(done), sink))
            }
            commit => {
                let change = UnacknowledgedChange { done, commit };
                Execution::Pending(Pending::Acknowledgement(change))
            }
        })
    }
}
