//! A transaction that has its turn in an order of commits ([`lock::order`](crate::lock::order)): it waits for its turn, and passes the turn on once
//! its commit record is in the log, so that those behind it need not wait until that is durable.

use super::{LockWait, Pins, Session};
use crate::engine::Engine;
use crate::lock::{Acquired, CommitTurn, Hold, LockTable, OnConflict, TRANSACTION_NAME, WaitEnd};
use std::sync::Arc;
use types::SqlError;

/// An order of commits, as long as this is kept.
pub struct CommitOrder {
    locks: Arc<LockTable>,
    id: u64,
}

impl CommitOrder {
    /// The turn with this number, from 1.
    pub fn turn(&self, number: u64) -> CommitTurn {
        CommitTurn {
            order: self.id,
            number,
        }
    }
}

impl Drop for CommitOrder {
    fn drop(&mut self) {
        self.locks.end_order(self.id);
    }
}

impl Session {
    /// The turn of its next transaction to commit; `None`: it waits for nobody.
    pub fn stand_in_order(&mut self, turn: Option<CommitTurn>) {
        self.ordered = turn;
    }

    /// Waits until all before it in the order have committed or given up.
    ///
    /// # Errors
    /// 1213: one of them wants what this transaction has locked; it was rolled back. 1317 when killed.
    pub async fn wait_turn(&mut self) -> Result<(), SqlError> {
        let Some(turn) = self.ordered else {
            return Ok(());
        };
        loop {
            self.interrupt.check()?;
            let me = self.need_txid();
            let locks = self.engine.locks.clone();
            match locks.ask_turn(me, turn) {
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

    /// Gives the transaction a name: another one of this name waits until this one has ended, however long that takes. Such waits are part of the
    /// search for deadlocks, as are those for a turn.
    ///
    /// # Errors
    /// 1213: it was rolled back. 1317 when killed.
    pub async fn lock_name(&mut self, name: &[u8]) -> Result<(), SqlError> {
        let mut check = self.conflict_check(TRANSACTION_NAME, LockWait::Wait);
        if let OnConflict::Wait { timeout_us, .. } = &mut check.on_conflict {
            *timeout_us = None;
        }
        loop {
            match check.lock_no_row(name, Hold::Table) {
                Ok(_) => return Ok(()),
                Err(c) => self.resolve_conflict(c, &mut Pins::new(), "").await?,
            }
        }
    }

    /// Its turn is over: the next one's begins.
    pub fn pass_turn(&mut self) {
        if let Some(turn) = self.ordered.take() {
            self.engine.locks.pass_turn(turn);
        }
    }
}

impl Engine {
    /// An order of commits begins, beside those that there are.
    pub fn begin_commit_order(&self) -> CommitOrder {
        CommitOrder {
            locks: Arc::clone(&self.locks),
            id: self.locks.begin_order(1),
        }
    }
}
