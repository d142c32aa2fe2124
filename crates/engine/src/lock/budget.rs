//! What locks take of memory: counted for each transaction and each guarded index, and limited for all of them together.
//!
//! The sum is written in steps: whoever has little never touches it. A lock that is in its row's header takes nothing here and is not
//! counted. InnoDB keeps its locks in the buffer pool, and refuses a transaction with many of them once they have taken three quarters of
//! it. Here locks are beside the pool and may take as much, unless who knows how much memory there is says less. As there, a transaction
//! with few locks is not refused: one that has very many must not stop all others.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What is added to the sum, or taken from it, at once.
const STEP: usize = 16 << 10;
/// So much a transaction may have whatever others have, up to a quarter above the limit.
const ALWAYS: usize = 64 << 10;
/// The limit beside the smallest pools.
const LEAST: usize = 4 << 20;

/// The sum of all accounts, and its limit.
pub(super) struct Budget {
    held: AtomicUsize,
    limit: AtomicUsize,
}

impl Budget {
    /// Without a limit.
    pub(super) fn new() -> Budget {
        Budget {
            held: AtomicUsize::new(0),
            limit: AtomicUsize::new(usize::MAX),
        }
    }

    /// The buffer pool has so many bytes.
    pub(super) fn set_pool(&self, bytes: u64) {
        let most = usize::try_from(bytes / 4 * 3).unwrap_or(usize::MAX);
        self.limit.store(most.max(LEAST), Ordering::Relaxed);
    }

    /// There is memory for so much and no more.
    pub(super) fn lower(&self, bytes: u64) {
        let most = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.limit.fetch_min(most.max(LEAST), Ordering::Relaxed);
    }

    /// What all have, but for less than a step each.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// More than half is held: what can be done without is to go, so that those who cannot have room.
    #[inline]
    pub(super) fn is_short(&self) -> bool {
        self.held() > self.limit.load(Ordering::Relaxed) / 2
    }

    /// Who has `own` bytes is not to get more.
    pub(super) fn refuses(&self, own: usize) -> bool {
        let (held, limit) = (self.held(), self.limit.load(Ordering::Relaxed));
        held > limit && (own > ALWAYS || held > limit.saturating_add(limit / 4))
    }
}

/// What one transaction's locks, or one index's guards, take.
#[derive(Debug, Default)]
pub(super) struct Account {
    bytes: usize,
    /// As much of it as is in the sum.
    noted: usize,
}

impl Account {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// It is so much now.
    pub(super) fn set(&mut self, bytes: usize, budget: &Budget) {
        self.bytes = bytes;
        if bytes != 0 && bytes.abs_diff(self.noted) < STEP {
            return;
        }
        if bytes > self.noted {
            let more = bytes - self.noted;
            budget.held.fetch_add(more, Ordering::Relaxed);
        } else if bytes < self.noted {
            let less = self.noted - bytes;
            budget.held.fetch_sub(less, Ordering::Relaxed);
        }
        self.noted = bytes;
    }

    pub(super) fn add(&mut self, bytes: usize, budget: &Budget) {
        self.set(self.bytes + bytes, budget);
    }

    pub(super) fn take_off(&mut self, bytes: usize, budget: &Budget) {
        self.set(self.bytes.saturating_sub(bytes), budget);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_follows_in_steps_and_ends_at_nothing() {
        let budget = Budget::new();
        let (mut a, mut b) = (Account::default(), Account::default());
        a.add(STEP - 1, &budget);
        assert_eq!(budget.held(), 0);
        a.add(1, &budget);
        b.add(3 * STEP, &budget);
        assert_eq!(budget.held(), 4 * STEP);
        b.take_off(STEP - 1, &budget);
        assert_eq!((budget.held(), b.bytes()), (4 * STEP, 2 * STEP + 1));
        b.take_off(1, &budget);
        assert_eq!(budget.held(), 3 * STEP);
        a.set(0, &budget);
        b.set(0, &budget);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn who_has_little_is_refused_last() {
        let budget = Budget::new();
        budget.set_pool(0);
        let mut a = Account::default();
        a.add(LEAST / 2, &budget);
        assert!(!budget.is_short());
        a.add(LEAST / 2, &budget);
        assert!(!budget.refuses(usize::MAX) && budget.is_short());
        a.add(STEP, &budget);
        assert!(budget.refuses(ALWAYS + 1) && !budget.refuses(ALWAYS));
        a.add(LEAST / 4, &budget);
        assert!(budget.refuses(0));
        budget.set_pool(64 << 20);
        assert!(!budget.refuses(usize::MAX));
        budget.lower(1);
        assert!(budget.refuses(usize::MAX));
    }
}
