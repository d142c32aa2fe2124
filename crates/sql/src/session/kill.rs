//! KILL, and who may see or end whose connection.

use types::SqlError;
use types::error::codes;

use super::Session;
use crate::parse::ast;
use crate::sink::Done;

impl Session {
    /// Whether the account sees other accounts' connections.
    pub(crate) fn sees_all_processes(&self) -> bool {
        self.require_global("PROCESS").is_ok()
    }

    /// `KILL [QUERY | CONNECTION] id`.
    ///
    /// # Errors
    /// 1094, 1095; 1317 where it is this very connection.
    pub(crate) fn kill(&mut self, id: &ast::Expr, query_only: bool) -> Result<Done, SqlError> {
        let id = self.with_ctx(&[], |cx| super::scalar::unsigned(id, cx))?;
        self.kill_id(id, query_only)
    }

    /// KILL, and COM_PROCESS_KILL.
    ///
    /// # Errors
    /// As [`kill`](Self::kill).
    pub fn kill_id(&mut self, id: u64, query_only: bool) -> Result<Done, SqlError> {
        let owner = self
            .instance
            .processes
            .user_of(id)
            .ok_or_else(|| SqlError::no_such_thread(id))?;
        if owner != self.user && self.require_global("SUPER").is_err() {
            return Err(SqlError::new(
                codes::ER_KILL_DENIED_ERROR,
                format!("You are not owner of thread {id}"),
            ));
        }
        self.instance.processes.kill(id, !query_only)?;
        if id == self.facts.connection_id {
            return Err(SqlError::query_interrupted());
        }
        Ok(Done::default())
    }
}
