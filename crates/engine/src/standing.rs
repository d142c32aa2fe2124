//! What a session lets be known of its transaction (`information_schema.INNODB_TRX`): single words that it alone writes, and anybody reads.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use types::Isolation;

/// Nothing of an open transaction is known.
const NONE: i64 = i64::MIN;

/// A session's transaction as others see it.
pub struct Standing {
    begun_us: AtomicI64,
    isolation: AtomicU8,
    read_only: AtomicU8,
    changes: AtomicU64,
}

impl Default for Standing {
    fn default() -> Standing {
        Standing {
            begun_us: AtomicI64::new(NONE),
            isolation: AtomicU8::new(0),
            read_only: AtomicU8::new(0),
            changes: AtomicU64::new(0),
        }
    }
}

impl Standing {
    pub(crate) fn begin(&self, wall_us: i64, isolation: Isolation, read_only: bool) {
        self.read_only.store(u8::from(read_only), Ordering::Relaxed);
        self.set_isolation(isolation);
        self.begun_us.store(wall_us, Ordering::Relaxed);
    }

    pub(crate) fn set_isolation(&self, isolation: Isolation) {
        let number = match isolation {
            Isolation::ReadUncommitted => 0,
            Isolation::ReadCommitted => 1,
            Isolation::RepeatableRead | Isolation::Snapshot => 2,
            Isolation::Serializable => 3,
        };
        self.isolation.store(number, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn changed(&self) {
        let n = self.changes.load(Ordering::Relaxed);
        self.changes.store(n + 1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.begun_us.store(NONE, Ordering::Relaxed);
        self.read_only.store(0, Ordering::Relaxed);
        self.changes.store(0, Ordering::Relaxed);
    }

    /// When the open transaction was begun, in microseconds since 1970; `None` where no statement has begun one.
    pub fn begun_us(&self) -> Option<i64> {
        Some(self.begun_us.load(Ordering::Relaxed)).filter(|at| *at != NONE)
    }

    /// The level of the transaction, once it has written or was begun.
    pub fn isolation(&self) -> Isolation {
        Isolation::by_number(u64::from(self.isolation.load(Ordering::Relaxed))).unwrap_or_default()
    }

    /// It may not write.
    pub fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed) != 0
    }

    /// How many rows it has written, those included that it has taken back since.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }
}
