//! Ranges of an index that transactions have read: an insert into one waits for its owner to end.
//!
//! Ranges never conflict with each other; of the rows in them the lock table decides. Whoever wants to guard a range into
//! which another waits to insert waits behind that insert, as a reader of a row does behind a waiting writer: else
//! transactions that read a range and are repeated would keep the insert out for ever. An insert that was let go keeps that
//! place until it is asked for again, and then the row is there to be met.
//!
//! Those who wait are looked for linearly.

use super::budget::{Account, Budget};
use super::queue::{Mode, conflict};
use super::segments::{Guard, Segments};
use super::span::Span;
use super::wait::WaitCell;
use base::TxnId;
use smallvec::SmallVec;
use std::sync::Arc;

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
    span: Span,
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
    guards: Segments,
    inserts: Vec<Insert>,
    readers: Vec<Reader>,
    account: Account,
}

impl Ranges {
    /// Accounts for what it takes now.
    pub(super) fn account(&mut self, budget: &Budget) {
        self.account.set(self.guards.bytes(), budget);
    }

    /// There is no room for `owner` to guard this too, as it guards very much already.
    pub(super) fn refuses(
        &self,
        owner: TxnId,
        span: &Span,
        rows: Option<Mode>,
        budget: &Budget,
    ) -> bool {
        budget.refuses(self.guards.bytes_of(owner))
            && !span.is_empty()
            && !self.guards.goes_on(owner, span)
            && !self.guards.covers(owner, span, rows)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.noted() == 0 && self.readers.is_empty()
    }

    /// How many guards and inserts there are: what an insert, and who asks for a row, must not pass by without looking.
    pub(super) fn noted(&self) -> usize {
        self.guards.owners() + self.inserts.len()
    }

    /// Who guards what, in the order of keys: the owner, the least key, the least key above, how the rows are locked.
    pub(super) fn each_guard(&self, mut f: impl FnMut(TxnId, &[u8], Option<&[u8]>, Option<Mode>)) {
        self.guards
            .each(|low, high, g| f(g.owner, low, high, g.rows));
    }

    /// Who wants to insert which key, and its wait, if it was not let go yet.
    pub(super) fn each_insert(&self, mut f: impl FnMut(TxnId, &[u8], Option<&Arc<WaitCell>>)) {
        for i in &self.inserts {
            f(i.owner, &i.key, i.cell.as_ref());
        }
    }

    /// Who waits to guard what.
    pub(super) fn each_reader(&self, mut f: impl FnMut(&Arc<WaitCell>, &Span)) {
        self.readers.iter().for_each(|r| f(&r.cell, &r.span));
    }

    /// `owner` is going to guard something here.
    pub(super) fn register(&mut self, owner: TxnId) {
        self.guards.register(owner);
    }

    /// Guards a range, and locks the rows in it with it. With `waits` the owner goes behind inserts of others into it.
    pub(super) fn guard(
        &mut self,
        owner: TxnId,
        span: &Span,
        rows: Option<Mode>,
        waits: bool,
    ) -> Guarded {
        if span.is_empty() || self.guards.covers(owner, span, rows) {
            return Guarded::Before;
        }
        if waits && !self.ahead_of(owner, span).is_empty() {
            return Guarded::After;
        }
        self.guards.add(owner, span, rows);
        Guarded::Now
    }

    /// The others who have locked the row with this key by guarding a range that it is in, in a way that `mode` does not go with.
    pub(super) fn row_locks(
        &self,
        me: TxnId,
        key: &[u8],
        mode: Mode,
    ) -> SmallVec<[(TxnId, Mode); 2]> {
        let locks = self.guards.at(key).iter().filter(|g| g.owner != me);
        locks
            .filter_map(|g| g.rows.filter(|m| conflict(*m, mode)).map(|m| (g.owner, m)))
            .collect()
    }

    /// The others who want to insert into a range, but for those who wait for its owner as it is.
    fn ahead_of(&self, me: TxnId, span: &Span) -> SmallVec<[TxnId; 4]> {
        if self.inserts.is_empty() {
            return SmallVec::new();
        }
        let mine = |key: &[u8]| self.guards.at(key).iter().any(|g| g.owner == me);
        let ahead = |i: &&Insert| i.owner != me && span.has(&i.key) && !mine(&i.key);
        self.inserts.iter().filter(ahead).map(|i| i.owner).collect()
    }

    /// The others who guard a range that contains `key`.
    fn guards(&self, me: TxnId, key: &[u8]) -> SmallVec<[TxnId; 4]> {
        let others = |g: &&Guard| g.owner != me;
        self.guards
            .at(key)
            .iter()
            .filter(others)
            .map(|g| g.owner)
            .collect()
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
    pub(super) fn wait_to_guard(&mut self, span: Span, cell: Arc<WaitCell>) {
        self.readers.push(Reader { span, cell });
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
            Some(r) => self.ahead_of(r.cell.owner, &r.span),
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
        self.guards.remove(owner);
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
            if self.ahead_of(r.cell.owner, &r.span).is_empty() {
                freed(r.cell);
            } else {
                self.readers.push(r);
            }
        }
    }
}
