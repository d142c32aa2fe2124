//! Rows of a table and changes of them, counted by thread; and when so much has changed that figures should be made again.
//!
//! A change adds to two numbers of its thread's own cache line and compares one with a mark there. Only at the mark are all threads' numbers looked at.

use base::counters::{SHARDS, shard};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};

/// Changes that figures of the smallest table may miss.
const FEW: u64 = 20;

/// Figures are as they should be.
const IDLE: u8 = 0;
/// They are to be made again.
const DUE: u8 = 1;
/// The table has grown so much that they are to be made before others have had their rest.
const URGENT: u8 = 2;

#[repr(align(128))]
#[derive(Default)]
struct Shard {
    rows: AtomicI64,
    changes: AtomicU64,
    /// At so many changes of this thread all are looked at.
    mark: AtomicU64,
}

/// What a look at the changes came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// There is nothing to do.
    Nothing,
    /// Figures are due.
    Due,
    /// They are due without delay.
    Urgent,
}

/// The counts of a table.
#[derive(Default)]
pub(crate) struct RowCounts {
    shards: [Shard; SHARDS],
    state: AtomicU8,
    /// Changes in all when the figures were begun, and how many more make them due.
    then: AtomicU64,
    due_after: AtomicU64,
    rows_then: AtomicU64,
    /// The rows were counted at the start or since, and not estimated.
    counted: AtomicBool,
    /// The clock's time before which figures are not made again.
    pub(crate) rest_until: AtomicU64,
}

impl RowCounts {
    /// Rows, as far as is known.
    pub(crate) fn rows(&self) -> u64 {
        let sum: i64 = self
            .shards
            .iter()
            .map(|s| s.rows.load(Ordering::Relaxed))
            .sum();
        sum.max(0) as u64
    }

    #[inline]
    pub(crate) fn add(&self, delta: i64) {
        self.shards[shard()]
            .rows
            .fetch_add(delta, Ordering::Relaxed);
    }

    /// Begins at `n` rows, which somebody counted or not.
    pub(crate) fn set(&self, n: u64, counted: bool) {
        for (i, s) in self.shards.iter().enumerate() {
            let n = if i == 0 { n as i64 } else { 0 };
            s.rows.store(n, Ordering::Relaxed);
        }
        self.counted.store(counted, Ordering::Relaxed);
    }

    /// Whether the rows were counted, and not estimated.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted.load(Ordering::Relaxed)
    }

    /// All rows were read, `before` being the count when that began: what was found.
    pub(crate) fn correct(&self, before: u64, found: u64, counted: bool) {
        let now = self.rows();
        // Others may have changed rows meanwhile, seen or not.
        let likely = before.min(now)..=before.max(now);
        if !likely.contains(&found) {
            self.add(found as i64 - now as i64);
        }
        self.counted.store(counted, Ordering::Relaxed);
    }

    /// Another row has changed: whether it is time for a [`look`](Self::look).
    #[inline]
    pub(crate) fn changed(&self) -> bool {
        let s = &self.shards[shard()];
        // Two threads that share the line may lose one: that is of no consequence, and an atomic addition costs more.
        let n = s.changes.load(Ordering::Relaxed).wrapping_add(1);
        s.changes.store(n, Ordering::Relaxed);
        n >= s.mark.load(Ordering::Relaxed)
    }

    /// Changes in all.
    pub(crate) fn changes(&self) -> u64 {
        let all = self.shards.iter();
        all.map(|s| s.changes.load(Ordering::Relaxed))
            .fold(0, u64::wrapping_add)
    }

    /// Looks whether figures are due, and sets the mark for the next look.
    #[cold]
    pub(crate) fn look(&self) -> Look {
        let s = &self.shards[shard()];
        let n = s.changes.load(Ordering::Relaxed);
        let mark = |more: u64| s.mark.store(n.saturating_add(more), Ordering::Relaxed);
        let then = self.then.load(Ordering::Relaxed);
        let changes = self.changes().wrapping_sub(then);
        match self.state.load(Ordering::Relaxed) {
            IDLE => {
                let due_after = self.due_after.load(Ordering::Relaxed).max(1);
                if changes < due_after {
                    mark((due_after - changes) / 8 + 1);
                    return Look::Nothing;
                }
                mark(FEW);
                self.become_due()
            }
            DUE => {
                let rows_then = self.rows_then.load(Ordering::Relaxed);
                if self.rows() <= rows_then * 2 + FEW {
                    mark(rows_then / 8 + FEW);
                    return Look::Nothing;
                }
                mark(u64::MAX);
                let was = self.state.swap(URGENT, Ordering::AcqRel);
                match was {
                    DUE => Look::Urgent,
                    _ => Look::Nothing,
                }
            }
            _ => {
                mark(u64::MAX);
                Look::Nothing
            }
        }
    }

    /// Figures are wanted, whatever has changed.
    pub(crate) fn become_due(&self) -> Look {
        match self
            .state
            .compare_exchange(IDLE, DUE, Ordering::AcqRel, Ordering::Relaxed)
        {
            Ok(_) => Look::Due,
            Err(_) => Look::Nothing,
        }
    }

    /// Figures were made of `rows` rows, begun when there were `then` changes.
    pub(crate) fn made(&self, then: u64, rows: u64) {
        self.then.store(then, Ordering::Relaxed);
        self.rows_then.store(rows, Ordering::Relaxed);
        self.due_after.store(rows / 10 + FEW, Ordering::Relaxed);
        self.state.store(IDLE, Ordering::Release);
        for s in &self.shards {
            // The next change of each thread looks.
            s.mark.store(0, Ordering::Relaxed);
        }
    }

    /// Figures are never due.
    pub(crate) fn exempt(&self) {
        self.made(0, 0);
        self.due_after.store(u64::MAX, Ordering::Relaxed);
    }
}
