//! The tables that a transaction holds: they are neither dropped nor replaced until it ends.

use super::Session;
use crate::error;
use crate::schema::{Table, TableUse};
use pager::OpError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

impl Session {
    /// Opens a table for the rest of the transaction.
    ///
    /// # Errors
    /// 1049, 1146: there is no such table; 1712: its file is missing; as [`Session::reopen`].
    pub async fn open_table(&mut self, schema: &str, name: &str) -> Result<Arc<Table>, SqlError> {
        loop {
            let catalog = self.catalog().clone();
            let Some(t) = catalog.table(schema, name) else {
                return Err(catalog.why_no_table(schema, name));
            };
            if self.reopen(&t).await? {
                return Ok(t);
            }
        }
    }

    /// Holds all tables for the rest of the transaction: for one found by recovery, which may have changed any of them.
    pub(crate) fn use_all_tables(&mut self) {
        let catalog = self.engine.catalog();
        self.uses.extend(catalog.tables().map(TableUse::announce));
    }

    /// As [`Session::reopen`], where it has to wait for nothing; false where it would have to, and where the table cannot be used.
    #[inline]
    pub fn reopen_now(&mut self, t: &Arc<Table>) -> bool {
        // The definition itself, and not its name: another one of this name is another table.
        if self.uses.iter().any(|u| Arc::ptr_eq(&u.table, t)) {
            return true;
        }
        let u = TableUse::announce(t);
        let live = &t.live;
        if live.closing.load(Ordering::SeqCst)
            || t.retired.load(Ordering::SeqCst)
            || self
                .snapshot
                .is_some_and(|s| s.lsn.0 < live.visible_from.load(Ordering::Acquire))
            || live.auto_increment.load(Ordering::Relaxed) == 0
        {
            return false;
        }
        self.uses.push(u);
        true
    }

    /// Holds `t` for the rest of the transaction; false if it was replaced or dropped.
    ///
    /// # Errors
    /// 1412: the table is younger than the snapshot; 1205, 1317, 3024 while its definition changes; what the storage fails with.
    #[inline]
    pub async fn reopen(&mut self, t: &Arc<Table>) -> Result<bool, SqlError> {
        if self.uses.iter().any(|u| Arc::ptr_eq(&u.table, t)) {
            return Ok(true);
        }
        loop {
            let u = TableUse::announce(t);
            if !t.live.closing.load(Ordering::SeqCst) {
                if t.retired.load(Ordering::SeqCst) {
                    return Ok(false);
                }
                if let Some(s) = self.snapshot
                    && s.lsn.0 < t.live.visible_from.load(Ordering::Acquire)
                {
                    // The table holds nothing of what the snapshot sees.
                    return Err(error::storage(OpError::Dropped(t.space_id()), &t.full_name));
                }
                // Before the session counts it among its tables: the next statement would find it there and not come here.
                if t.live.auto_increment.load(Ordering::Relaxed) == 0 {
                    self.init_counters(t).await?;
                }
                self.uses.push(u);
                return Ok(true);
            }
            drop(u);
            self.wait_unless_killed(&t.live.changed, || !t.live.closing.load(Ordering::SeqCst))
                .await?;
        }
    }
}
