//! Rollbacks in the background, and failed ones: the session of a rollback that damage ends is kept with its locks and its tables,
//! other statements are told why they wait, and a table that it holds may still be dropped, after which it tries again.

use super::Session;
use crate::engine::Unfinished;
use crate::schema::Table;
use base::TxnId;
use std::sync::Arc;
use types::SqlError;

impl Session {
    /// Rolls back in the background.
    pub(crate) fn roll_back_behind(mut self) {
        let engine = self.engine.clone();
        engine.spawn("rollback", async move {
            if let Err(why) = self.rollback().await {
                self.keep_failed(&why);
            }
        });
    }

    /// The log is closed, or something that the rollback needs is damaged: the transaction stays registered, so that the next
    /// start rolls it back, and its rows stay locked.
    pub(super) fn keep_failed(self, why: &SqlError) {
        let engine = self.engine.clone();
        engine.note_failed_rollback(self.txid, &why.message);
        let tables = self.tables_used();
        // Before it counts: whoever drops one of its tables from then on finds it here, and has it try again.
        engine.keep(Box::new(self));
        count_failed_rollback(&tables, 1);
    }

    fn tables_used(&self) -> Vec<Arc<Table>> {
        self.uses.iter().map(|used| used.table.clone()).collect()
    }
}

/// Those who wait to drop one of the tables need not wait for a session whose rollback failed (1), or must again (-1).
fn count_failed_rollback(tables: &[Arc<Table>], n: i64) {
    for table in tables {
        table.lock.count_failed_rollback(n);
    }
}

impl Unfinished for Session {
    fn forget_transaction(mut self: Box<Self>) {
        self.txid = TxnId::NONE;
    }

    fn try_again(self: Box<Self>) {
        count_failed_rollback(&self.tables_used(), -1);
        self.roll_back_behind();
    }
}
