//! Ranges of an index that a serializable transaction has read: an insert into one waits for its owner to end.
//!
//! Guarding a range never waits, and ranges never conflict with each other; the rows that exist in a range are locked
//! one by one like others. A range is looked for linearly: they exist only while serializable transactions run.

use super::wait::WaitCell;
use base::TxnId;
use smallvec::SmallVec;
use std::sync::Arc;

/// One end of a range of keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The range begins or ends with this key, which is in it.
    Included(Box<[u8]>),
    /// The range begins after or ends before this key.
    Excluded(Box<[u8]>),
    /// The range has no end on this side.
    Unbounded,
}

impl Bound {
    fn admits_above(&self, key: &[u8]) -> bool {
        match self {
            Bound::Included(b) => key >= &b[..],
            Bound::Excluded(b) => key > &b[..],
            Bound::Unbounded => true,
        }
    }

    fn admits_below(&self, key: &[u8]) -> bool {
        match self {
            Bound::Included(b) => key <= &b[..],
            Bound::Excluded(b) => key < &b[..],
            Bound::Unbounded => true,
        }
    }

    /// As a low end, true when it begins no later than `other`.
    fn low_covers(&self, other: &Bound) -> bool {
        match (self, other) {
            (Bound::Unbounded, _) => true,
            (_, Bound::Unbounded) => false,
            (Bound::Excluded(a), Bound::Included(b)) => a < b,
            (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
                a <= b
            }
        }
    }

    /// As a high end, true when it ends no earlier than `other`.
    fn high_covers(&self, other: &Bound) -> bool {
        match (self, other) {
            (Bound::Unbounded, _) => true,
            (_, Bound::Unbounded) => false,
            (Bound::Excluded(a), Bound::Included(b)) => a > b,
            (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
                a >= b
            }
        }
    }
}

#[derive(Debug)]
struct Range {
    owner: TxnId,
    low: Bound,
    high: Bound,
}

#[derive(Debug)]
struct Insert {
    key: Box<[u8]>,
    cell: Arc<WaitCell>,
}

/// The guarded ranges of one index.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    ranges: Vec<Range>,
    waiting: Vec<Insert>,
}

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.waiting.is_empty()
    }

    /// Guards a range; false when the owner guards all of it already.
    pub(super) fn add(&mut self, owner: TxnId, low: Bound, high: Bound) -> bool {
        let covers =
            |r: &Range| r.owner == owner && r.low.low_covers(&low) && r.high.high_covers(&high);
        if self.ranges.iter().any(covers) {
            return false;
        }
        self.ranges.push(Range { owner, low, high });
        true
    }

    /// The others who guard a range that contains `key`.
    pub(super) fn guards(&self, me: TxnId, key: &[u8]) -> SmallVec<[TxnId; 4]> {
        let mut out = SmallVec::new();
        for r in &self.ranges {
            if r.owner != me
                && r.low.admits_above(key)
                && r.high.admits_below(key)
                && !out.contains(&r.owner)
            {
                out.push(r.owner);
            }
        }
        out
    }

    pub(super) fn enqueue(&mut self, key: &[u8], cell: Arc<WaitCell>) {
        self.waiting.push(Insert {
            key: key.into(),
            cell,
        });
    }

    /// Whom a waiting insert waits for.
    pub(super) fn blockers(&self, cell: &Arc<WaitCell>) -> SmallVec<[TxnId; 4]> {
        match self.waiting.iter().find(|w| Arc::ptr_eq(&w.cell, cell)) {
            Some(w) => self.guards(cell.owner, &w.key),
            None => SmallVec::new(),
        }
    }

    pub(super) fn withdraw(&mut self, cell: &Arc<WaitCell>) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|w| !Arc::ptr_eq(&w.cell, cell));
        self.waiting.len() != before
    }

    /// Drops the ranges of `owner`; `freed` gets the inserts that can go now, in the order in which they came.
    /// Returns how many ranges were dropped.
    pub(super) fn release(&mut self, owner: TxnId, mut freed: impl FnMut(Arc<WaitCell>)) -> usize {
        let before = self.ranges.len();
        self.ranges.retain(|r| r.owner != owner);
        let dropped = before - self.ranges.len();
        let waiting = std::mem::take(&mut self.waiting);
        for w in waiting {
            if self.guards(w.cell.owner, &w.key).is_empty() {
                freed(w.cell)
            } else {
                self.waiting.push(w)
            }
        }
        dropped
    }
}
