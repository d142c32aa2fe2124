//! The rules of one row's lock: who holds it, who waits, who goes next. Pure, knows no threads.
//!
//! Strictly first come, first served: a request waits when it conflicts with a holder *or with anybody who waits*, so
//! that a stream of readers cannot starve a writer. The exception is a holder that wants more (shared to exclusive): it
//! waits ahead of all others, since they cannot go before it ends anyway.

use super::wait::WaitCell;
use base::TxnId;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// How a row is locked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// With other shared locks, not with an exclusive one (FOR SHARE).
    Shared,
    /// Alone (FOR UPDATE, UPDATE, DELETE, INSERT).
    Exclusive,
}

/// True when two transactions cannot hold these at once.
pub(super) fn conflict(a: Mode, b: Mode) -> bool {
    a == Mode::Exclusive || b == Mode::Exclusive
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Granted {
    pub(super) owner: TxnId,
    pub(super) mode: Mode,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) mode: Mode,
    pub(super) upgrade: bool,
    pub(super) cell: Arc<WaitCell>,
}

/// What a request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The owner holds this or more.
    Held,
    /// Could be granted now.
    Free,
    /// Must wait.
    Conflict,
}

/// A waiter met while looking for whom somebody waits for.
#[derive(Debug, Default)]
pub(super) struct Blockers {
    /// Holders in the way, directly or through waiters ahead.
    pub(super) holders: SmallVec<[TxnId; 4]>,
    /// Waiters ahead in the way; all that they wait for is in `holders` and `ahead`.
    pub(super) ahead: SmallVec<[TxnId; 4]>,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    granted: SmallVec<[Granted; 2]>,
    waiting: VecDeque<Waiting>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.granted.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn held(&self, owner: TxnId) -> Option<Mode> {
        self.granted
            .iter()
            .find(|g| g.owner == owner)
            .map(|g| g.mode)
    }

    /// Who holds it.
    pub(super) fn holders(&self) -> &[Granted] {
        &self.granted
    }

    /// Who waits, the first in front.
    pub(super) fn waiters(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter()
    }

    /// `owner` holds it exclusively, and nobody else holds it or waits.
    pub(super) fn is_only_for(&self, owner: TxnId) -> bool {
        let mode = Mode::Exclusive;
        self.granted[..] == [Granted { owner, mode }] && self.waiting.is_empty()
    }

    fn fits(&self, owner: TxnId, mode: Mode) -> bool {
        !self
            .granted
            .iter()
            .any(|g| g.owner != owner && conflict(g.mode, mode))
    }

    pub(super) fn verdict(&self, owner: TxnId, mode: Mode) -> Verdict {
        match self.held(owner) {
            Some(held) if held >= mode => Verdict::Held,
            // An upgrade goes before the waiters, but not before another upgrade.
            Some(_) => match self.fits(owner, mode) && !self.waiting.iter().any(|w| w.upgrade) {
                true => Verdict::Free,
                false => Verdict::Conflict,
            },
            None => match self.fits(owner, mode) && self.waiting.is_empty() {
                true => Verdict::Free,
                false => Verdict::Conflict,
            },
        }
    }

    /// Grants without asking; true when `owner` held nothing here before.
    pub(super) fn grant(&mut self, owner: TxnId, mode: Mode) -> bool {
        match self.granted.iter_mut().find(|g| g.owner == owner) {
            Some(g) => {
                g.mode = g.mode.max(mode);
                false
            }
            None => {
                self.granted.push(Granted { owner, mode });
                true
            }
        }
    }

    pub(super) fn enqueue(&mut self, mode: Mode, cell: Arc<WaitCell>) {
        let upgrade = self.held(cell.owner).is_some();
        let w = Waiting {
            mode,
            upgrade,
            cell,
        };
        if upgrade {
            let at = self.waiting.iter().take_while(|w| w.upgrade).count();
            self.waiting.insert(at, w);
        } else {
            self.waiting.push_back(w);
        }
    }

    /// Takes away what `owner` holds; true when it held something.
    pub(super) fn release(&mut self, owner: TxnId) -> bool {
        let before = self.granted.len();
        self.granted.retain(|g| g.owner != owner);
        self.granted.len() != before
    }

    /// Takes a waiter out; false when it does not wait here any more.
    pub(super) fn withdraw(&mut self, cell: &Arc<WaitCell>) -> bool {
        match self.waiting.iter().position(|w| Arc::ptr_eq(&w.cell, cell)) {
            Some(i) => self.waiting.remove(i).is_some(),
            None => false,
        }
    }

    /// Grants to waiters from the front, as far as they fit. `each` gets the waiter and whether it is new as a holder.
    pub(super) fn promote(&mut self, mut each: impl FnMut(Arc<WaitCell>, bool)) {
        while let Some(w) = self.waiting.front() {
            if !self.fits(w.cell.owner, w.mode) {
                break;
            }
            if let Some(w) = self.waiting.pop_front() {
                let new = self.grant(w.cell.owner, w.mode);
                each(w.cell, new);
            }
        }
    }

    /// Whom a waiter waits for; nothing when it does not wait here any more.
    pub(super) fn blockers(&self, cell: &Arc<WaitCell>) -> Blockers {
        let mut out = Blockers::default();
        let Some(at) = self.waiting.iter().position(|w| Arc::ptr_eq(&w.cell, cell)) else {
            return out;
        };
        let mut mode = self.waiting[at].mode;
        // Ahead of an upgrade there are only upgrades, which are among the holders.
        let others = if self.waiting[at].upgrade { 0 } else { at };
        for w in self.waiting.iter().take(others).rev() {
            if conflict(mode, w.mode) {
                mode = Mode::Exclusive;
                out.ahead.push(w.cell.owner);
            }
        }
        for g in &self.granted {
            if g.owner != cell.owner && conflict(g.mode, mode) {
                out.holders.push(g.owner);
            }
        }
        out
    }
}
