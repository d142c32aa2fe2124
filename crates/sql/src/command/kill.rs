//! KILL, and who may see or end whose connection.

use types::SqlError;
use types::error::codes;

use crate::context::Session;
use sql_access::statement;
use sql_parser::ast;
use sql_plan::sink::Done;

impl Session {
    /// `KILL [QUERY | CONNECTION] id`.
    ///
    /// # Errors
    /// 1094, 1095, 1227; 1317 where it is this very connection.
    pub(crate) fn kill(&mut self, id: &ast::Expr, query_only: bool) -> Result<Done, SqlError> {
        let id = self.with_ctx(&[], |cx| super::scalar::unsigned(id, cx))?;
        self.kill_id(id, query_only)
    }

    /// KILL, and COM_PROCESS_KILL.
    ///
    /// # Errors
    /// As the statement: 1094, 1095, 1227; 1317 where it is this very connection.
    pub fn kill_id(&mut self, id: u64, query_only: bool) -> Result<Done, SqlError> {
        self.secure();
        let (owner, own) = self
            .instance
            .processes
            .owner_of(id)
            .ok_or_else(|| SqlError::no_such_thread(id))?;
        if (own || owner.user != self.security.account().user)
            && !self.security.has_one(statement::CONNECTIONS)
        {
            return Err(SqlError::new(
                codes::ER_KILL_DENIED_ERROR,
                format!("You are not owner of thread {id}"),
            ));
        }
        // A connection of one who has SYSTEM_USER is ended by such a one alone.
        if id != self.facts.connection_id {
            self.may_touch(&owner)?;
        }
        self.instance.processes.kill(id, !query_only)?;
        if id == self.facts.connection_id {
            return Err(SqlError::query_interrupted());
        }
        Ok(Done::default())
    }
}
