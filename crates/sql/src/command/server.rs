//! Statements to the server itself: SHUTDOWN, ALTER INSTANCE.

use std::sync::Arc;

use types::{Level, SqlError, Warning};

use crate::context::Session;
use sql_access::Granted;
use sql_plan::sink::Done;

/// ER_DA_SSL_LIBRARY_ERROR.
const TLS_SETUP_FAILED: u16 = 3888;

impl Session {
    /// SHUTDOWN: asks the server to stop; the answer goes out before it does.
    pub(crate) fn shutdown(&mut self, _: &Granted) -> Result<Done, SqlError> {
        match &self.instance.options.shutdown {
            Some(ask) => {
                ask();
                Ok(Done::default())
            }
            None => Err(SqlError::not_supported("SHUTDOWN")),
        }
    }

    /// ALTER INSTANCE RELOAD TLS: new connections get what the variables say now. On an error the old context stays, or with
    /// NO ROLLBACK ON ERROR there is none.
    pub(crate) async fn reload_tls(
        &mut self,
        _: &Granted,
        channel: Option<&str>,
        rollback: bool,
    ) -> Result<Done, SqlError> {
        let known = channel.is_none_or(|name| name.eq_ignore_ascii_case("mysql_main"));
        let reload = match self.instance.tls_reload.get() {
            Some(reload) if known => Arc::clone(reload),
            _ => {
                let of = channel.map(|name| format!(" FOR CHANNEL {name}"));
                let what = format!("ALTER INSTANCE RELOAD TLS{}", of.unwrap_or_default());
                return Err(SqlError::not_supported(&what));
            }
        };
        self.implicit_commit().await?;
        if let Err(why) = reload(!rollback) {
            let e = SqlError::new(
                TLS_SETUP_FAILED,
                format!("Failed to set up SSL because of the following SSL library error: {why}"),
            );
            if rollback {
                return Err(e);
            }
            self.warn(Warning::new(Level::Warning, e.code, e.message));
        }
        Ok(Done::default())
    }
}
