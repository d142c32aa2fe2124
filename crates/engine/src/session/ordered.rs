//! A transaction that has its place in an order of commits ([`lock::order`](crate::lock::order)): it waits for its turn, and passes the turn on once
//! its commit record is in the log, so that those behind it need not wait until that is durable.

use super::Session;
use crate::engine::Engine;
use crate::lock::{Acquired, WaitEnd};
use types::SqlError;

impl Session {
    /// The place that its next transactions have in the order of commits; `None`: none.
    pub fn stand_in_order(&mut self, number: Option<u64>) {
        self.ordered = number;
    }

    /// Waits until all before it in the order have committed or given up.
    ///
    /// # Errors
    /// 1213: one of them wants what this transaction has locked; it was rolled back. 1317 when killed.
    pub async fn wait_turn(&mut self) -> Result<(), SqlError> {
        let Some(number) = self.ordered else {
            return Ok(());
        };
        loop {
            self.interrupt.check()?;
            let me = self.need_txid();
            let locks = self.engine.locks.clone();
            match locks.ask_turn(me, number) {
                Acquired::Wait(wait) => match wait.await {
                    WaitEnd::Granted => return Ok(()),
                    // Where it is not to end after all, what ended the wait was meant for something before.
                    WaitEnd::Killed => self.interrupt.check()?,
                    WaitEnd::Deadlock | WaitEnd::Timeout => {
                        self.rollback().await?;
                        return Err(SqlError::lock_deadlock());
                    }
                },
                Acquired::Granted | Acquired::Held => return Ok(()),
                Acquired::Retry | Acquired::Conflict | Acquired::Full => {
                    return Err(SqlError::internal("no order of commits"));
                }
            }
        }
    }

    /// Its turn is over: the next one's begins.
    pub fn pass_turn(&mut self) {
        if let Some(number) = self.ordered.take() {
            self.engine.locks.pass_turn(number);
        }
    }
}

impl Engine {
    /// An order of commits begins, in which 1 is first. Nobody stands in the one before any more.
    pub fn begin_commit_order(&self) {
        self.locks.begin_order(1);
    }
}
