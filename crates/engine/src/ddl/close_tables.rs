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
        let mut first = 0;
        'again: loop {
            let Some(t) = tables.get(first) else {
                return Ok(Vec::new());
            };
            let mut closed = vec![self.close_table(t).await?];
            for (i, t) in tables.iter().enumerate().filter(|(i, _)| *i != first) {
                match self.close_soon(t).await? {
                    Some(c) => closed.push(c),
                    None => {
                        first = i;
                        continue 'again;
                    }
                }
            }
            return Ok(closed);
        }
    }

    /// Closes a table if it is free soon.
    async fn close_soon(&self, t: &Arc<Table>) -> Result<Option<Closed>, SqlError> {
        t.live.closing.store(true, Ordering::SeqCst);
        let closed = Closed(t.clone());
        let free = self
            .wait_at_most(&t.live.changed, PATIENCE_US, || t.users() == 0)
            .await?;
        Ok(free.then_some(closed))
    }
}
