//! Executions that need to wait for nothing: a prepared statement that reads or changes one row by its key, the page of which
//! is in memory and the row of which nobody else holds.
//!
//! What waits is a future, and a future of all that a statement may wait for is thousands of bytes of states and code. Most
//! statements on one row wait for nothing but the log; they run here as plain calls, from the packet to the row, and what
//! remains to be waited for is a future of its own ([`Session::finish_nonblocking`]). Whatever is not as simple as that is
//! refused before anything has happened, and then runs as every statement does.
//!
//! Must never do: wait, report an error of the statement, or leave a trace of what it refused.

use engine::Committing;
use types::{SqlError, Value};

use super::process::Command;
use super::{Com, Session};
use crate::access::Ready;
use crate::exec;
use crate::plan::{Plan, PlanBody, PointGet, UpdatePlan};
use crate::sink::{Done, ResultSink};
use sql_expr::EvalCtx;

/// What came of an execution that was not to wait.
#[derive(Debug)]
pub enum NonblockingOutcome {
    /// Nothing: [`execute_prepared`](Session::execute_prepared) is to be called.
    Refused,
    /// It is over.
    Done(Result<(), SqlError>),
    /// The change is made, and [`finish_nonblocking`](Session::finish_nonblocking) is to be called.
    Unacknowledged(UnacknowledgedChange),
}

/// A change that was made and may not be acknowledged yet.
#[derive(Debug)]
pub struct UnacknowledgedChange {
    done: Done,
    /// `None`: it is still to be committed.
    commit: Option<Committing>,
}

impl Session {
    /// COM_STMT_EXECUTE, where it is one that waits for nothing.
    pub fn execute_nonblocking(
        &mut self,
        id: u32,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> NonblockingOutcome {
        self.try_at_once(id, params, sink)
            .unwrap_or(NonblockingOutcome::Refused)
    }

    fn try_at_once(
        &mut self,
        id: u32,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Option<NonblockingOutcome> {
        let p = self.prepared.get(id)?;
        let plan = self.ready_plan(p, params)?;
        if !self.is_secure() {
            return None;
        }
        let plan = self.security.ready(&plan)?;
        let simple = match &plan.body {
            PlanBody::PointGet(_) => true,
            PlanBody::Update(u) => u.lone,
            _ => false,
        };
        if !simple || p.lasts() || self.gate.is_shut() || params.len() < plan.params as usize {
            return None;
        }
        let com = p.com();
        let now = self.instance.clock.now_us();
        self.process.begin(Command::Execute, p.text(), now);
        self.process.interrupt().clear_query();
        match &plan.body {
            PlanBody::PointGet(read) => {
                let rows = self.read_at_once(read, plan, params, sink)?;
                self.count_at_once(com);
                let done = Done {
                    result_set: true,
                    found_rows: rows,
                    ..Done::default()
                };
                Some(NonblockingOutcome::Done(self.over(Ok(done), sink)))
            }
            PlanBody::Update(update) => self.update_at_once(update, plan, params, com, sink),
            _ => None,
        }
    }

    fn count_at_once(&mut self, com: Com) {
        self.process.counts.questions.add(1);
        self.process.counts.com[Com::StmtExecute as usize].add(1);
        self.begin_statement(com);
    }

    /// Answers the client.
    fn over(
        &mut self,
        outcome: Result<Done, SqlError>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let r = self.complete(outcome, false, sink);
        self.process.end(self.instance.clock.now_us());
        r
    }

    /// Begins the statement, in the present transaction or in one of its own, which is `true`. `None` where that is for the long
    /// way: what was set for the next transaction alone, and a transaction that begins by itself.
    fn begin_at_once(&mut self) -> Option<bool> {
        let own = !self.engine.in_transaction();
        let mut isolation = self.isolation;
        if own {
            if !self.vars.hot().autocommit {
                return None;
            }
            isolation = self.vars.usual_isolation()?;
        }
        self.engine.statement_begin(isolation);
        Some(own)
    }

    /// The read as a statement of the present transaction, or as one of its own.
    fn read_at_once(
        &mut self,
        read: &PointGet,
        plan: Ready<'_, Plan>,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Option<u64> {
        let own = self.begin_at_once()?;
        let mut rows = None;
        if plan.tables.iter().all(|t| self.engine.reopen_now(t)) {
            rows = exec::point_get_now(read, &plan, &mut self.engine, params, sink);
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
    ) -> Option<NonblockingOutcome> {
        let read_only = match self.engine.in_transaction() {
            true => self.engine.is_read_only(),
            false => self.vars.hot().tx_read_only,
        };
        if read_only || self.check_server_read_only().is_err() {
            return None;
        }
        let own = self.begin_at_once()?;
        let mut changed = None;
        if plan.tables.iter().all(|t| self.engine.reopen_now(t)) {
            let now = self.now_micros();
            let mut cx = EvalCtx::new(&self.facts, &self.vars, &self.user_vars, params, now);
            cx.strict_write = !update.ignore && cx.sql_mode.strict();
            let found_rows = self.client.found_rows;
            changed = exec::update_now(update, &mut self.engine, &cx, found_rows)
                .map(|done| (done, cx.take_warnings(), cx.last_insert_id_set()));
        }
        let Some((mut done, (warnings, total), last_id)) = changed else {
            if own {
                self.engine.end_untouched();
            }
            return None;
        };
        self.count_at_once(com);
        self.keep_warnings(warnings, total);
        done.generated_id = last_id;
        done.last_insert_id = last_id.unwrap_or(0);
        if !own {
            return Some(NonblockingOutcome::Done(self.over(Ok(done), sink)));
        }
        let commit = self.engine.commit_now();
        Some(match commit {
            Some(c) if self.engine.is_durable_enough(&c) => {
                NonblockingOutcome::Done(self.over(Ok(done), sink))
            }
            commit => NonblockingOutcome::Unacknowledged(UnacknowledgedChange { done, commit }),
        })
    }

    /// Waits until a change is as durable as it has to be, and answers the client.
    ///
    /// # Errors
    /// 1180 and others of the log: what was changed is not acknowledged.
    pub async fn finish_nonblocking(
        &mut self,
        rest: UnacknowledgedChange,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let UnacknowledgedChange { done, commit } = rest;
        let outcome = match commit {
            Some(commit) => self.engine.wait_durable(commit).await.map(|()| done),
            // In a box, as it is rare and has all that a rollback may wait for.
            None => Box::pin(self.end_statement(Ok(done))).await,
        };
        self.over(outcome, sink)
    }
}
