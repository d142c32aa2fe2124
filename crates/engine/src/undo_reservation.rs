//! The room in the log that a transaction's rollback would need. It is asked for in steps, so that small transactions never
//! touch what all sessions share: what they need is in the log's own reserve.

use pager::Log;
use std::sync::Arc;

/// Bytes of a step.
const STEP: u64 = 64 << 10;

/// Bytes of the record that takes an entry out again, or puts back what its header was.
pub(crate) const SMALL_UNDO: u64 = 80;

/// What a session's transaction has asked for.
pub(crate) struct UndoReservation {
    log: Arc<Log>,
    needed: u64,
    reserved: u64,
}

impl UndoReservation {
    pub(crate) fn new(log: Arc<Log>) -> UndoReservation {
        UndoReservation {
            log,
            needed: 0,
            reserved: 0,
        }
    }

    /// A change was logged whose undoing takes `bytes` of log.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.needed += bytes;
        if self.needed >= self.reserved + STEP {
            self.log.reserve_undo(self.needed - self.reserved);
            self.reserved = self.needed;
        }
    }

    /// Bytes of log that undoing the transaction takes, as far as it was told.
    pub(crate) fn needed(&self) -> u64 {
        self.needed
    }

    /// The transaction has ended.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.needed = 0;
        if self.reserved > 0 {
            self.log.release_undo(std::mem::take(&mut self.reserved));
        }
    }
}

impl Drop for UndoReservation {
    fn drop(&mut self) {
        self.clear();
    }
}
