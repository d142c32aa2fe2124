//! Several tables closed together.
//!
//! Must never do: wait for a table's users while it keeps others off a second one for long.

use super::row_change::Closed;
use crate::schema::Table;
use crate::session::Session;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;

/// How long tables are kept closed while another of the same change is still in use.
const PATIENCE_US: u64 = 50_000;

impl Session {
    /// Keeps new users off all the tables and waits for those there are. While one of them is in use the others are open, but for a moment:
    /// whoever uses one and wants another gets it, and comes to his end.
    pub(super) async fn close_tables(
        &self,
        tables: &[Arc<Table>],
    ) -> Result<Vec<Closed>, SqlError> {
        self.close_together(tables, Table::users).await
    }

    /// The same for tables that are dropped: transactions that cannot be rolled back are not waited for.
    pub(super) async fn close_tables_for_good(
        &self,
        tables: &[Arc<Table>],
    ) -> Result<Vec<Closed>, SqlError> {
        let users = Table::users_but_failed_rollbacks;
        self.close_together(tables, users).await
    }

    async fn close_together(
        &self,
        tables: &[Arc<Table>],
        users: fn(&Table) -> i64,
    ) -> Result<Vec<Closed>, SqlError> {
        let mut first = 0;
        'again: loop {
            let Some(t) = tables.get(first) else {
                return Ok(Vec::new());
            };
            let mut closed = vec![self.close_once(t, || users(t) == 0).await?];
            for (i, t) in tables.iter().enumerate().filter(|(i, _)| *i != first) {
                t.live.closing.store(true, Ordering::SeqCst);
                closed.push(Closed(t.clone()));
                let free = || users(t) == 0;
                if !self
                    .wait_at_most(&t.live.changed, PATIENCE_US, free)
                    .await?
                {
                    first = i;
                    continue 'again;
                }
            }
            return Ok(closed);
        }
    }
}
