//! What a server has every ordinary connection begin with (`init_connect`).

use types::SqlError;

use super::Session;
use sql_access::statement::CONNECTIONS;
use sql_plan::sink::Collector;

/// ER_NEW_ABORTING_CONNECTION.
const ABORTING: u16 = types::error::codes::ER_NEW_ABORTING_CONNECTION;

impl Session {
    /// Runs `init_connect`, unless the account may administer connections: whoever mends a faulty one has to get in.
    ///
    /// # Errors
    /// 1184: a statement of it failed, and the connection is to end.
    pub async fn init_connect(&mut self) -> Result<(), SqlError> {
        let text = match self.instance.globals.value_by_name("init_connect") {
            Some(v) => v.as_str().unwrap_or_default().to_owned(),
            None => return Ok(()),
        };
        if text.trim().is_empty() || self.security.has_one(CONNECTIONS) {
            return Ok(());
        }
        let multi = std::mem::replace(&mut self.client.multi_statements, true);
        let mut nobody = Collector::new();
        let r = self.execute(text.as_bytes(), &mut nobody).await;
        self.client.multi_statements = multi;
        self.changes.clear();
        r.map_err(|why| {
            SqlError::new(
                ABORTING,
                format!(
                    "Aborting connection {} to db: '{}' user: '{}' host: '{}' (init_connect command failed; {}: {})",
                    self.facts.connection_id,
                    self.database().unwrap_or("unconnected"),
                    self.user,
                    self.host,
                    why.code,
                    why.message
                ),
            )
        })
    }
}
