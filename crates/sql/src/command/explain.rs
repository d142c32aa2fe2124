//! EXPLAIN FOR CONNECTION: the plan by which another connection carries a statement out at the moment.
//!
//! As in MySQL, a connection that carries nothing out has an answer without rows, and what has no plan to be shown is 3012. Unlike there, prepared
//! statements are shown too.

use types::SqlError;
use types::error::codes;

use crate::context::Session;
use crate::describe::rowset::RowSet;
use sql_access::statement;
use sql_parser::ast::{Explain, ExplainTarget};
use sql_plan::bind::explain_form;
use sql_plan::plan::{PlanBody, explain};
use sql_plan::sink::{Done, ResultSink};

impl Session {
    /// `EXPLAIN FOR CONNECTION id`.
    ///
    /// # Errors
    /// 1094 for a connection that is not there, 3012 for a statement that has no plan to be shown, this one included; 1045 for a connection of
    /// somebody else without PROCESS.
    pub(crate) fn explain_connection(
        &mut self,
        e: &Explain,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let ExplainTarget::Connection(id) = e.target else {
            return Err(SqlError::internal("a statement to explain"));
        };
        let form = explain_form(e, &self.vars)?;
        self.secure();
        let processes = &self.instance.processes;
        let owner = processes.owner_of(id);
        let (owner, of_server) = owner.ok_or_else(|| SqlError::no_such_thread(id))?;
        let refused = || SqlError::fixed(codes::ER_EXPLAIN_NOT_SUPPORTED);
        if id == self.facts.connection_id {
            return Err(refused());
        }
        let Some(plan) = processes.plan_of(id) else {
            return Ok(Done::default());
        };
        if matches!(plan.body, PlanBody::Do(_) | PlanBody::Explain(_)) {
            return Err(refused());
        }
        let own = self.security.account();
        // A thread of the server is nobody's, whatever its account is called.
        if (of_server || owner.user != own.user) && !self.security.has_one(statement::PROCESS) {
            return Err(SqlError::access_denied(&own.user, &own.host, true));
        }
        let (rows, _) = explain::shown_as(&plan.body, form)?;
        let answer = RowSet {
            columns: explain::columns(form),
            rows,
            ..RowSet::default()
        };
        Ok(answer.send(sink))
    }
}
