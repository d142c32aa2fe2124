//! FLUSH and RESET.

use std::sync::Arc;

use types::SqlError;

use super::lock_tables::active_locks;
use crate::access::Granted;
use crate::bind::locked::LockedTable;
use crate::context::Session;
use crate::sink::Done;
use sql_parser::ast::{FlushItem, ObjectName, ResetItem};

impl Session {
    /// FLUSH: what there is to flush is flushed, the rest is accepted.
    pub(crate) async fn flush(
        &mut self,
        _: &Granted,
        items: &[FlushItem],
    ) -> Result<Done, SqlError> {
        let locks = |i: &FlushItem| matches!(i, FlushItem::Tables { read_lock, for_export, .. } if *read_lock || *for_export);
        if items.len() > 1 && items.iter().any(locks) {
            return Err(SqlError::not_supported(
                "FLUSH of tables WITH READ LOCK together with something else",
            ));
        }
        if self.locked.is_some() && items.iter().any(locks) {
            return Err(active_locks());
        }
        self.implicit_commit().await?;
        for item in items {
            match item {
                FlushItem::Tables {
                    for_export: true, ..
                } => return Err(SqlError::not_supported("FLUSH TABLES FOR EXPORT")),
                FlushItem::Tables {
                    tables,
                    read_lock: true,
                    ..
                } if tables.is_empty() => self.engine.lock_server_for_reading().await?,
                FlushItem::Tables {
                    tables,
                    read_lock: true,
                    ..
                } => self.flush_and_lock(tables).await?,
                FlushItem::Tables { tables, .. } => self.may_flush(tables)?,
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

    /// FLUSH TABLES under LOCK TABLES: as in MySQL, of what is locked for writing. There is nothing to flush: definitions are in memory once.
    fn may_flush(&self, tables: &[ObjectName]) -> Result<(), SqlError> {
        let Some(locked) = &self.locked else {
            return Ok(());
        };
        for t in tables {
            let n = self.full_name(t)?;
            locked.check_change(&n.schema, &n.name)?;
        }
        let reads = |t: &&LockedTable| !t.write;
        match locked.0.iter().find(reads) {
            Some(t) if tables.is_empty() => locked.check_change(&t.schema, &t.name),
            _ => Ok(()),
        }
    }

    /// RESET: of what there is, the persisted variables and what this server is a replica of.
    pub(crate) async fn reset_items(
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
                ResetItem::Replica { all, channel } => {
                    self.reset_replica(granted, *all, channel.as_deref())
                        .await?;
                }
            }
        }
        Ok(Done::default())
    }
}
