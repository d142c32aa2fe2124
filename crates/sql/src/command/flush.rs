//! FLUSH and RESET.

use std::sync::Arc;

use types::error::codes;
use types::{SqlError, Value};

use super::lock_tables::active_locks;
use crate::context::Session;
use sql_access::Granted;
use sql_exec::binary_log::LogChange;
use sql_exec::unless_killed;
use sql_expr::vars::VarInput;
use sql_parser::ast::{Call, Expr, FlushItem, ObjectName, PurgeLogs, ResetItem};
use sql_plan::bind::locked::LockedTable;
use sql_plan::sink::Done;

/// The highest number of a file that RESET may begin with.
const MOST_FILES: u64 = 2_000_000_000;

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
        let accounts =
            |i: &FlushItem| matches!(i, FlushItem::Other(word) if &**word == "PRIVILEGES");
        if items.iter().any(accounts) {
            self.check_no_tables_locked()?;
        }
        self.implicit_commit().await?;
        for item in items {
            match item {
                FlushItem::Tables {
                    tables,
                    for_export: true,
                    ..
                } => self.flush_for_export(tables).await?,
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
                FlushItem::Other(word) if matches!(&**word, "LOGS" | "BINARY LOGS") => {
                    if let Some(log) = self.instance.binary_log.get() {
                        unless_killed(&self.engine, log.change(LogChange::Rotate)).await?;
                    }
                }
                // There are none.
                FlushItem::RelayLogs(channel) => self.instance.check_channel(channel.as_deref())?,
                FlushItem::Other(_) => {}
            }
            if let FlushItem::Tables { tables, .. } = item {
                self.flush_handlers(tables);
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

    /// Whoever has one of the tables open with HANDLER, or any where none is named, loses his place in it.
    fn flush_handlers(&mut self, tables: &[ObjectName]) {
        let catalog = Arc::clone(self.engine.catalog());
        if tables.is_empty() {
            catalog.tables().for_each(|t| t.note_flush());
        }
        for n in tables.iter().filter_map(|t| self.full_name(t).ok()) {
            if let Some(t) = catalog.base_table(&n.schema, &n.name) {
                t.note_flush();
            }
        }
    }

    /// RESET: of what there is, the persisted variables, the binary log and what this server is a replica of.
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
                ResetItem::Master(first) => {
                    let log = self.instance.binary_log.get().cloned();
                    if log.is_none() && first.is_some() {
                        return Err(SqlError::fixed(codes::ER_FLUSH_SOURCE_BINLOG_CLOSED));
                    }
                    let first = first.unwrap_or(1);
                    if !(1..=MOST_FILES).contains(&first) {
                        let why = format!("the number of a file is from 1 to {MOST_FILES}");
                        return Err(SqlError::binlog_command(
                            "RESET BINARY LOGS AND GTIDS",
                            &why,
                        ));
                    }
                    self.implicit_commit().await?;
                    if let Some(log) = log {
                        unless_killed(&self.engine, log.change(LogChange::Reset(first))).await?;
                    }
                    // Also of a replica without a binary log, as in MySQL.
                    self.forget_applied().await?;
                }
                ResetItem::Replica { all, channel } => {
                    self.reset_replica(granted, *all, channel.as_deref())
                        .await?;
                }
            }
        }
        Ok(Done::default())
    }

    /// PURGE BINARY LOGS. Without a binary log there is nothing to remove, and as in MySQL that is no error.
    pub(crate) async fn purge_logs(
        &mut self,
        _: &Granted,
        purge: &PurgeLogs,
        params: &[Value],
    ) -> Result<Done, SqlError> {
        let change = match purge {
            PurgeLogs::To(name) => LogChange::PurgeTo(String::from_utf8_lossy(name).into_owned()),
            PurgeLogs::Before(when) => {
                let call = Expr::Call(Box::new(Call {
                    schema: None,
                    name: "UNIX_TIMESTAMP".into(),
                    args: vec![when.clone()],
                    plain: false,
                }));
                let (seconds, ty) = self.eval(&call, params).await?;
                match VarInput::from_val(&seconds, &ty) {
                    VarInput::Int(n) => LogChange::PurgeBefore(n),
                    VarInput::Uint(n) => LogChange::PurgeBefore(n as i64),
                    VarInput::Double(n) => LogChange::PurgeBefore(n as i64),
                    _ => {
                        let why = "Incorrect arguments to PURGE LOGS BEFORE";
                        return Err(SqlError::new(codes::ER_WRONG_ARGUMENTS, why));
                    }
                }
            }
        };
        if let Some(log) = self.instance.binary_log.get() {
            unless_killed(&self.engine, log.change(change)).await?;
        }
        Ok(Done::default())
    }
}
