//! The AUTO-INC lock of a table, as innodb_autoinc_lock_mode asks for it: it makes the numbers of one statement follow each other.
//!
//! Mode 2, the default, has none: numbers are taken from a counter, and nobody waits. In mode 1 a statement that does not say how many rows
//! it inserts (INSERT … SELECT, LOAD DATA) has the lock to its end, and others wait for it before they take numbers. In mode 0 every INSERT
//! has it.
//!
//! The lock stands in the lock table like a row's, under a number that no index has: so waits, deadlocks and timeouts are as for rows.

use super::conflict::Conflict;
use super::{LockWait, Pins, Session};
use crate::lock::{AUTO_INC, Hold};
use crate::schema::Table;
use std::sync::atomic::Ordering;
use types::SqlError;

impl Session {
    /// A statement is going to insert rows; `bulk`: how many is not known. True where it has the lock since: it is to be given back at its
    /// end by [`unlock_auto_increment`](Self::unlock_auto_increment).
    ///
    /// # Errors
    /// As [`Session::update`].
    pub async fn lock_auto_increment(&mut self, t: &Table, bulk: bool) -> Result<bool, SqlError> {
        let mode = self.engine.auto_lock_mode.load(Ordering::Relaxed);
        if mode == 2 || t.def.is_temporary() || t.def.auto_increment_column().is_none() {
            return Ok(false);
        }
        // Who only has to let others end is granted it without a trace where nobody has it.
        let hold = match mode == 0 || bulk {
            true => Hold::Table,
            false => Hold::Row,
        };
        let key = t.def.id.to_be_bytes();
        let check = self.conflict_check(AUTO_INC, LockWait::Wait);
        let mut waited = false;
        loop {
            match check.lock_no_row(&key, hold) {
                Ok(anew) => return Ok(waited || anew && hold == Hold::Table),
                Err(c) => {
                    waited |= matches!(c, Conflict::Wait(_));
                    self.resolve_conflict(c, &mut Pins::new(), &t.full_name)
                        .await?;
                }
            }
        }
    }

    /// Gives the lock back, if the transaction has not ended meanwhile.
    pub fn unlock_auto_increment(&mut self, t: &Table) {
        if self.txid != base::TxnId::NONE {
            let key = t.def.id.to_be_bytes();
            self.engine.locks.unlock(self.txid, AUTO_INC, &key);
        }
    }
}
