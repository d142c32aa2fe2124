//! Executions that need to wait for nothing: a point read by a prepared statement whose page is in memory.
//!
//! What waits is a future, and a future of all that a statement may wait for is thousands of bytes of states and code. Most
//! point reads wait for nothing; they run here as plain calls, from the packet to the row. Whatever is not as simple as
//! that is refused before anything has happened, and then runs as every statement does.
//!
//! Must never do: change rows, wait, or leave a trace of what it refused.

use types::{SqlError, Value};

use super::process::Command;
use super::transaction::engine_isolation;
use super::{Com, Session};
use crate::exec;
use crate::plan::{Plan, PlanBody, PointGet};
use crate::sink::{Done, ResultSink};

impl Session {
    /// COM_STMT_EXECUTE, where it is a read that waits for nothing. `None`: nothing was written, and
    /// [`execute_prepared`](Session::execute_prepared) is to be called.
    pub fn execute_at_once(
        &mut self,
        id: u32,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Option<Result<(), SqlError>> {
        let p = self.prepared.get(id)?;
        let plan = self.ready_plan(p)?;
        let PlanBody::PointGet(read) = &plan.body else {
            return None;
        };
        if params.len() < plan.params as usize
            || self.accounts_seen != self.instance.accounts.version()
            || !self.all_powerful
        {
            return None;
        }
        let com = p.com();
        let now = self.instance.clock.now_us();
        self.process.begin(Command::Execute, p.text(), now);
        self.process.interrupt().clear_query();
        let rows = self.read_at_once(read, &plan, params, sink)?;
        self.process.counts.questions.add(1);
        self.process.counts.com[Com::StmtExecute as usize].add(1);
        self.begin_statement(com);
        let done = Done {
            result_set: true,
            found_rows: rows,
            ..Done::default()
        };
        let r = self.complete(Ok(done), false, sink);
        self.process.end(self.instance.clock.now_us());
        Some(r)
    }

    /// The read as a statement of the present transaction, or as one of its own.
    fn read_at_once(
        &mut self,
        read: &PointGet,
        plan: &Plan,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Option<u64> {
        let own = !self.engine.in_transaction();
        let mut isolation = self.isolation;
        if own {
            // What was set for the next transaction alone, and a transaction that begins by itself, are for the long way.
            if !self.vars.hot().autocommit {
                return None;
            }
            isolation = engine_isolation(self.vars.usual_isolation()?);
        }
        self.engine.statement_begin(isolation);
        let mut rows = None;
        if plan.tables.iter().all(|t| self.engine.reopen_now(t)) {
            rows = exec::point_get_now(read, plan, &mut self.engine, params, sink);
        }
        if own {
            // Refused as well: nobody may wait for a snapshot or a table of a statement that did not run.
            let ended = self.engine.end_read();
            assert!(ended || rows.is_none(), "a read of its own has written");
        }
        rows
    }
}
