//! Ranges of an index that a serializable transaction has read: an insert into one waits for its owner to end.
//!
//! Ranges never conflict with each other; the rows that exist in a range are locked one by one like others. Whoever wants
//! to guard a range into which another waits to insert waits behind that insert, as a reader of a row does behind a waiting
//! writer: else transactions that read a range and are repeated would keep the insert out for ever. An insert that was let
//! go keeps that place until it is asked for again, and then the row is there to be met.
//!
//! A range is looked for linearly: they exist only while serializable transactions run.

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

/// A range that somebody guards or wants to guard.
#[derive(Debug)]
struct Range {
    owner: TxnId,
    low: Bound,
    high: Bound,
}

impl Range {
    fn has(&self, key: &[u8]) -> bool {
        self.low.admits_above(key) && self.high.admits_below(key)
    }
}

/// An insert that has met guards.
#[derive(Debug)]
struct Insert {
    owner: TxnId,
    key: Box<[u8]>,
    /// `None` once it was let go, and has not been asked for again.
    cell: Option<Arc<WaitCell>>,
}

#[derive(Debug)]
struct Reader {
    range: Range,
    cell: Arc<WaitCell>,
}

/// What a request to guard a range met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Guarded {
    /// The owner guards all of it already.
    Before,
    /// The owner guards it now.
    Now,
    /// Others were there first, who want to insert into it.
    After,
}

/// The guarded ranges of one index.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    ranges: Vec<Range>,
    inserts: Vec<Insert>,
    readers: Vec<Reader>,
}

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.inserts.is_empty() && self.readers.is_empty()
    }

    /// How many ranges and inserts there are: what an insert must not pass by without looking.
    pub(super) fn noted(&self) -> usize {
        self.ranges.len() + self.inserts.len()
    }

    /// Guards a range. With `waits` the owner goes behind inserts of others into it.
    pub(super) fn guard(&mut self, owner: TxnId, low: Bound, high: Bound, waits: bool) -> Guarded {
        let covers =
            |r: &Range| r.owner == owner && r.low.low_covers(&low) && r.high.high_covers(&high);
        if self.ranges.iter().any(covers) {
            return Guarded::Before;
        }
        let range = Range { owner, low, high };
        if waits && !self.ahead_of(&range).is_empty() {
            return Guarded::After;
        }
        self.ranges.push(range);
        Guarded::Now
    }

    /// The others who want to insert into a range, but for those who wait for its owner as it is.
    fn ahead_of(&self, range: &Range) -> SmallVec<[TxnId; 4]> {
        let me = range.owner;
        let mine = |key: &[u8]| self.ranges.iter().any(|r| r.owner == me && r.has(key));
        let ahead = |i: &&Insert| i.owner != me && range.has(&i.key) && !mine(&i.key);
        self.inserts.iter().filter(ahead).map(|i| i.owner).collect()
    }

    /// The others who guard a range that contains `key`.
    fn guards(&self, me: TxnId, key: &[u8]) -> SmallVec<[TxnId; 4]> {
        let mut out = SmallVec::new();
        for r in &self.ranges {
            if r.owner != me && r.has(key) && !out.contains(&r.owner) {
                out.push(r.owner);
            }
        }
        out
    }

    /// Whether `owner` may insert `key`. If so it is no longer in anybody's way, and `freed` gets who waited behind it.
    pub(super) fn may_insert(
        &mut self,
        owner: TxnId,
        key: &[u8],
        freed: impl FnMut(Arc<WaitCell>),
    ) -> bool {
        if !self.guards(owner, key).is_empty() {
            return false;
        }
        self.inserts.retain(|i| i.owner != owner || *i.key != *key);
        self.free_readers(freed);
        true
    }

    /// An insert waits for those who guard its place.
    pub(super) fn wait_to_insert(&mut self, key: &[u8], cell: Arc<WaitCell>) {
        let owner = cell.owner;
        let cell = Some(cell);
        // It keeps the place that it was given before.
        match self
            .inserts
            .iter_mut()
            .find(|i| i.owner == owner && *i.key == *key)
        {
            Some(i) => i.cell = cell,
            None => self.inserts.push(Insert {
                owner,
                key: key.into(),
                cell,
            }),
        }
    }

    /// A range is not guarded before those who want to insert into it have done so.
    pub(super) fn wait_to_guard(&mut self, low: Bound, high: Bound, cell: Arc<WaitCell>) {
        let owner = cell.owner;
        let range = Range { owner, low, high };
        self.readers.push(Reader { range, cell });
    }

    /// Whom a waiter waits for.
    pub(super) fn blockers(&self, cell: &Arc<WaitCell>) -> SmallVec<[TxnId; 4]> {
        let same = |c: &Arc<WaitCell>| Arc::ptr_eq(c, cell);
        if let Some(i) = self
            .inserts
            .iter()
            .find(|i| i.cell.as_ref().is_some_and(same))
        {
            return self.guards(i.owner, &i.key);
        }
        match self.readers.iter().find(|r| same(&r.cell)) {
            Some(r) => self.ahead_of(&r.range),
            None => SmallVec::new(),
        }
    }

    /// Takes a waiter out; false when it does not wait here any more. `freed` gets who can go now.
    pub(super) fn withdraw(
        &mut self,
        cell: &Arc<WaitCell>,
        freed: impl FnMut(Arc<WaitCell>),
    ) -> bool {
        let before = self.inserts.len() + self.readers.len();
        let same = |c: &Arc<WaitCell>| Arc::ptr_eq(c, cell);
        self.inserts.retain(|i| !i.cell.as_ref().is_some_and(same));
        self.readers.retain(|r| !same(&r.cell));
        let was_there = self.inserts.len() + self.readers.len() != before;
        if was_there {
            self.free_readers(freed);
        }
        was_there
    }

    /// Drops all that `owner` has here; `freed` gets those who can go now, in the order in which they came.
    pub(super) fn release(&mut self, owner: TxnId, mut freed: impl FnMut(Arc<WaitCell>)) {
        self.ranges.retain(|r| r.owner != owner);
        self.inserts
            .retain(|i| i.owner != owner || i.cell.is_some());
        for at in 0..self.inserts.len() {
            let i = &self.inserts[at];
            if i.cell.is_some()
                && self.guards(i.owner, &i.key).is_empty()
                && let Some(cell) = self.inserts[at].cell.take()
            {
                freed(cell);
            }
        }
        self.free_readers(freed);
    }

    /// Lets those go who wanted to guard a range and have nobody in front of them any more.
    fn free_readers(&mut self, mut freed: impl FnMut(Arc<WaitCell>)) {
        for r in std::mem::take(&mut self.readers) {
            if self.ahead_of(&r.range).is_empty() {
                freed(r.cell);
            } else {
                self.readers.push(r);
            }
        }
    }
}
