//! Rollbacks in the background, and what becomes of one that damage ends: its session is kept with its locks and its tables,
//! other statements are told why they wait, and a table that it holds may still be dropped, after which it tries again.

use super::Session;
use crate::engine::Unfinished;
use base::TxnId;
use std::sync::atomic::Ordering;
use types::SqlError;

impl Session {
    /// Rolls back in the background.
    pub(crate) fn roll_back_behind(mut self) {
        let engine = self.engine.clone();
        engine.spawn("rollback", async move {
            if let Err(why) = self.rollback().await {
                self.give_up(&why);
            }
        });
    }

    /// The log is closed, or something that the rollback needs is damaged: the transaction stays registered, so that the next
    /// start rolls it back, and its rows stay locked.
    fn give_up(self, why: &SqlError) {
        let engine = self.engine.clone();
        engine.rollback_gave_up(self.txid, &why.message);
        self.count_given_up(1);
        engine.keep(Box::new(self));
    }

    /// Those who wait to drop one of its tables need not wait for this session.
    fn count_given_up(&self, n: i64) {
        for used in &self.uses {
            let live = &used.table.live;
            live.given_up.fetch_add(n, Ordering::SeqCst);
            if live.closing.load(Ordering::SeqCst) {
                live.changed.fire();
            }
        }
    }
}

impl Unfinished for Session {
    fn forget_transaction(mut self: Box<Self>) {
        self.txid = TxnId::NONE;
    }

    fn try_again(self: Box<Self>) {
        self.count_given_up(-1);
        self.roll_back_behind();
    }
}
