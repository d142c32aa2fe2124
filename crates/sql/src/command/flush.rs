//! FLUSH and RESET.

use std::sync::Arc;

use types::SqlError;

use crate::access::Granted;
use crate::context::Session;
use crate::sink::Done;
use sql_parser::ast::{FlushItem, ResetItem};

impl Session {
    /// FLUSH: what there is to flush is flushed, the rest is accepted.
    pub(crate) async fn flush(
        &mut self,
        _: &Granted,
        items: &[FlushItem],
    ) -> Result<Done, SqlError> {
        self.implicit_commit().await?;
        for item in items {
            match item {
                FlushItem::Tables {
                    read_lock: true, ..
                } => return Err(SqlError::not_supported("FLUSH TABLES WITH READ LOCK")),
                FlushItem::Tables {
                    for_export: true, ..
                } => return Err(SqlError::not_supported("FLUSH TABLES FOR EXPORT")),
                FlushItem::Tables { .. } => {}
                FlushItem::Other(word) if &**word == "PRIVILEGES" => {
                    let engine = Arc::clone(&self.instance.engine);
                    self.instance.accounts.reload(&engine).await?;
                    self.instance.logins.forget_failures();
                    self.obey_variables();
                }
                FlushItem::Other(word) if &**word == "STATUS" => self.instance.flush_status(),
                FlushItem::Other(word) if &**word == "USER_RESOURCES" => {
                    self.instance.logins.flush_resources();
                }
                FlushItem::Other(_) => {}
            }
        }
        Ok(Done::default())
    }

    /// RESET: of what there is, the persisted variables.
    pub(crate) fn reset_items(
        &mut self,
        granted: &Granted,
        items: &[ResetItem],
    ) -> Result<Done, SqlError> {
        for item in items {
            match item {
                ResetItem::QueryCache => {}
                ResetItem::Persist { if_exists, name } => {
                    self.reset_persist(granted, name.as_deref(), *if_exists)?;
                }
                ResetItem::Master(_) => return Err(SqlError::not_supported("RESET MASTER")),
                ResetItem::Replica { .. } => return Err(SqlError::not_supported("RESET REPLICA")),
            }
        }
        Ok(Done::default())
    }
}
