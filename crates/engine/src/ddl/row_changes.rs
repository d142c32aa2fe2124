//! How statements change the catalog: rows of it, in one transaction of a session of its own.

use super::catalog::{defined_table, row_key, stats_row};
use super::row_change::RowChange;
use crate::engine::Engine;
use crate::error;
use crate::session::{Inserted, Isolation, Session};
use pager::OpError;
use std::sync::Arc;
use types::SqlError;

/// Tables that have no definition any more after these changes.
fn tables_gone(changes: &[RowChange]) -> Vec<u32> {
    let mut gone = Vec::new();
    for c in changes {
        match c {
            RowChange::Remove(row) => gone.extend(defined_table(row)),
            RowChange::Put(row) => {
                let there = defined_table(row);
                gone.retain(|id| Some(*id) != there);
            }
        }
    }
    gone
}

impl Engine {
    /// Changes rows of the catalog in one transaction, durable when this returns.
    pub(super) async fn change_rows(
        self: &Arc<Self>,
        changes: Vec<RowChange>,
    ) -> Result<(), SqlError> {
        self.change_rows_and_tell(changes, None).await
    }

    /// As [`change_rows`](Self::change_rows); the transaction leaves a group of events.
    pub(super) async fn change_rows_and_tell(
        self: &Arc<Self>,
        changes: Vec<RowChange>,
        event: Option<Vec<u8>>,
    ) -> Result<(), SqlError> {
        let mut s = Session::new(self.clone());
        s.begin(Isolation::ReadCommitted, false);
        self.change_rows_in(&mut s, changes, event).await
    }

    /// As [`change_rows_and_tell`](Self::change_rows_and_tell), in the transaction of a session, which ends with that.
    pub(super) async fn change_rows_in(
        self: &Arc<Self>,
        s: &mut Session,
        changes: Vec<RowChange>,
        event: Option<Vec<u8>>,
    ) -> Result<(), SqlError> {
        let Some(catalog) = self.ddl.catalog_table() else {
            return Err(SqlError::internal("no catalog"));
        };
        s.defines = changes.iter().any(RowChange::defines);
        for c in &changes {
            let r = match c {
                RowChange::Put(row) => s.insert(&catalog, row).await.map(|i| i == Inserted::Done),
                RowChange::Remove(row) => {
                    let key = row_key(&catalog, row);
                    s.delete_key(&catalog, &key, &mut |_| Ok(true)).await
                }
            };
            match r {
                Ok(true) => {}
                Ok(false) => {
                    let (what, row) = match c {
                        RowChange::Put(r) => ("twice", r),
                        RowChange::Remove(r) => ("missing", r),
                    };
                    let key = &row[..2];
                    s.rollback().await?;
                    if let Some(e) = self.log.failure() {
                        // A change that could not be made durable took place in memory, and nobody was shown it.
                        return Err(error::storage(OpError::Io(e), "the catalog"));
                    }
                    return Err(SqlError::internal(&format!(
                        "the catalog and its rows disagree: {key:?} is {what}"
                    )));
                }
                Err(e) => {
                    s.rollback().await?;
                    return Err(e);
                }
            }
        }
        for id in tables_gone(&changes) {
            let key = row_key(&catalog, &stats_row(id, Vec::new()));
            if let Err(e) = s.delete_key(&catalog, &key, &mut |_| Ok(true)).await {
                s.rollback().await?;
                return Err(e);
            }
        }
        s.leave_group(event.as_deref());
        s.commit().await?;
        let end = self.log.end();
        self.log
            .wait_durable(end)
            .await
            .map_err(|e| error::storage(e, "the catalog"))
    }
}
