//! What a client asks of its session: texts taken apart into statements, prepared statements by id, the list of a table's fields.
//!
//! Never here: what a statement does.

mod applier;
mod init;
mod nonblocking;
mod prepared;
mod text;

#[cfg(test)]
pub(crate) mod tests;

use types::SqlError;

pub use crate::command::show::FieldInfo;
pub use crate::context::{
    COM_NAMES, ClientFlags, Com, Command, Diagnostics, Instance, InstanceOptions, Outcome,
    PasswordHasher, PasswordVerifier, Process, ProcessRow, ServerCounts, Session, TlsReload,
    transport,
};
pub use applier::{AppliedTable, TakenUp};
pub use nonblocking::{Execution, Pending, UnacknowledgedChange};
pub use prepared::PreparedInfo;

impl Session {
    /// The result of COM_FIELD_LIST: the columns of a table whose names match `wild` (empty for all).
    ///
    /// # Errors
    /// 1046, 1146.
    pub async fn list_fields(
        &mut self,
        table: &[u8],
        wild: &[u8],
    ) -> Result<Vec<FieldInfo>, SqlError> {
        self.secure();
        self.gate.admit_command()?;
        types::depth::room::again(|| crate::command::show::list_fields(self, table, wild))
    }

    /// Runs a text that must be a single statement of the server's own, keeping its results.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    pub async fn query(&mut self, sql: &str) -> Result<Vec<sql_plan::sink::Collected>, SqlError> {
        let mut c = sql_plan::sink::Collector::new();
        self.execute(sql.as_bytes(), &mut c).await?;
        Ok(c.results)
    }
}
