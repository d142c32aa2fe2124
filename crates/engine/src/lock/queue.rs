//! The rules of one row's lock: who holds it, who waits, who goes next. Pure, knows no threads.
//!
//! First come, first served: a request waits when it conflicts with a holder *or with anybody who waits*, so that a stream
//! of readers cannot starve a writer. There are three exceptions.
//!
//! * A holder that wants more (shared to exclusive) waits ahead of all others, since they cannot go before it ends anyway.
//! * Who wants to write and has locked another row that others may wait for waits ahead of those who have not: it is the one
//!   that lets others go on, and were it last, each of those before it could want what it has, and be a deadlock.
//! * A lock that becomes free is not given to a waiter that sleeps, which would keep it idle until the waiter runs; the
//!   waiter is told, and takes it when it comes. Who asks meanwhile for no longer than one statement ([`brief`]) goes
//!   before it. Else everybody who asks in that time would have to sleep as well, and the row would be changed as often as
//!   a thread can be woken. Of those who wait for that long, those of one thread are told at once: they come one after another
//!   and find the lock free, where those of several threads would come at once, and all but one in vain. (Dice, Marathe and
//!   Shavit, "Lock cohorting", PPoPP 2012: there the threads are of one memory node.)
//!
//! Nobody is passed over for ever: after [`JUMPS`] the first who has locked nothing goes next, and after [`PASSES`] the
//! lock is given to the first waiter as it sleeps.
//!
//! [`brief`]: super::table::Request::brief

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
    /// Only by what it has written into the row: it is here for those who wait.
    written: bool,
}

/// So many who ask for a moment go before a waiter that was told it may go.
pub(super) const PASSES: u32 = 64;

/// So many of those who want a lock for a moment are told at once, at most.
const TOLD: usize = 32;

/// When no more than so many of those who were told are still to come, the next are told: their threads wake up meanwhile.
const LEFT: usize = 2;

/// Only among so many of the first, who all want it for a moment, others go before the first.
const WINDOW: usize = 256;

/// So many who hold other locks go before a waiter that holds none.
pub(super) const JUMPS: u32 = 16;

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) mode: Mode,
    upgrade: bool,
    /// It holds other locks.
    holds: bool,
    /// It wants the lock for a moment.
    brief: bool,
    /// It was told that it may come, and has not come.
    told: bool,
    pub(super) cell: Arc<WaitCell>,
}

/// What becomes of a waiter when a lock is free.
pub(super) enum Turn {
    /// It has the lock; whether it is new as a holder.
    Granted(Arc<WaitCell>, bool),
    /// It may come for it.
    Offered(Arc<WaitCell>),
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
    /// How many have gone before the first waiter since it was told that it may go.
    passed: u32,
    /// How many waiters have been told so, and have not come.
    told: usize,
    /// How many waiters that hold other locks have gone ahead of those that hold none, since one of these went.
    jumped: u32,
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
        let mut granted = self.granted.iter();
        self.granted.len() == 1
            && granted.all(|g| g.owner == owner && g.mode == mode)
            && self.waiting.is_empty()
    }

    fn fits(&self, owner: TxnId, mode: Mode) -> bool {
        !self
            .granted
            .iter()
            .any(|g| g.owner != owner && conflict(g.mode, mode))
    }

    /// Whether somebody waits.
    pub(super) fn is_wanted(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What a request meets; `brief`: it goes before waiters, who have not come for a lock that is free.
    pub(super) fn verdict(&self, owner: TxnId, mode: Mode, brief: bool) -> Verdict {
        match self.held(owner) {
            Some(held) if held >= mode => Verdict::Held,
            // An upgrade goes before the waiters, but not before another upgrade.
            Some(_) => match self.fits(owner, mode) && !self.waiting.iter().any(|w| w.upgrade) {
                true => Verdict::Free,
                false => Verdict::Conflict,
            },
            None => {
                let passes = brief && mode == Mode::Exclusive && self.passed < PASSES;
                match self.fits(owner, mode) && (self.waiting.is_empty() || passes) {
                    true => Verdict::Free,
                    false => Verdict::Conflict,
                }
            }
        }
    }

    /// Grants without asking; true when `owner` held nothing here before.
    pub(super) fn grant(&mut self, owner: TxnId, mode: Mode) -> bool {
        match self.granted.iter_mut().find(|g| g.owner == owner) {
            Some(g) => {
                g.mode = g.mode.max(mode);
                g.written = false;
                false
            }
            None => {
                self.granted.push(Granted {
                    owner,
                    mode,
                    written: false,
                });
                true
            }
        }
    }

    /// Notes that `owner` has written the row; true when it held nothing here before.
    pub(super) fn grant_written(&mut self, owner: TxnId) -> bool {
        if self.held(owner) == Some(Mode::Exclusive) {
            return false;
        }
        let new = self.grant(owner, Mode::Exclusive);
        if let Some(g) = self.granted.iter_mut().find(|g| g.owner == owner) {
            g.written = new;
        }
        new
    }

    /// Takes away what `owner` holds by having written the row, and nothing else; true when it held that.
    pub(super) fn release_written(&mut self, owner: TxnId) -> bool {
        let before = self.granted.len();
        self.granted.retain(|g| g.owner != owner || !g.written);
        self.granted.len() != before
    }

    /// Somebody goes before those who wait.
    pub(super) fn pass(&mut self) {
        self.passed += 1;
    }

    /// Makes somebody wait; `holds`: it wants to write, and holds other locks that others may wait for.
    pub(super) fn enqueue(&mut self, mode: Mode, cell: Arc<WaitCell>, holds: bool, brief: bool) {
        let upgrade = self.held(cell.owner).is_some();
        let at = match (upgrade, holds) {
            (true, _) => self.waiting.iter().take_while(|w| w.upgrade).count(),
            (false, true) => self.behind_holders(),
            (false, false) => self.waiting.len(),
        };
        let w = Waiting {
            mode,
            upgrade,
            holds,
            brief: brief && mode == Mode::Exclusive && !upgrade,
            told: false,
            cell,
        };
        if at < self.waiting.len() && self.told > 0 {
            // Who was told and is behind it now comes in vain.
            self.waiting.iter_mut().for_each(|w| w.told = false);
            self.told = 0;
        }
        self.waiting.insert(at, w);
    }

    /// The place of a new waiter that holds other locks.
    fn behind_holders(&mut self) -> usize {
        let holders = |from: usize| {
            let rest = self.waiting.iter().skip(from);
            from + rest.take_while(|w| w.upgrade || w.holds).count()
        };
        let first = holders(0);
        if first == self.waiting.len() {
            return first;
        }
        if self.jumped < JUMPS {
            self.jumped += 1;
            return first;
        }
        // The first that holds nothing goes before it.
        holders(first + 1)
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
            Some(at) => self.leave(at).is_some(),
            None => false,
        }
    }

    fn leave(&mut self, at: usize) -> Option<Waiting> {
        let left = self.waiting.remove(at)?;
        self.told -= usize::from(left.told);
        Some(left)
    }

    /// Grants to waiters from the front, as far as they fit, or tells some that they may come: `here` is the thread that asks.
    pub(super) fn promote(&mut self, here: usize, mut each: impl FnMut(Turn)) {
        while let Some(w) = self.waiting.front() {
            if !self.fits(w.cell.owner, w.mode) {
                break;
            }
            let alone = w.mode == Mode::Exclusive && self.granted.is_empty();
            if alone && self.passed < PASSES && w.cell.has_slept() {
                self.tell(here, &mut each);
                break;
            }
            if let Some((cell, new)) = self.grant_at(0) {
                each(Turn::Granted(cell, new));
            }
        }
    }

    /// Tells the first waiter, where it wants the lock for longer than a moment; else up to [`TOLD`] who want it for a moment and wait
    /// on this thread, or on that of the first who was not told.
    fn tell(&mut self, here: usize, each: &mut impl FnMut(Turn)) {
        let brief = self.waiting.iter().take(WINDOW);
        let brief = brief.take_while(|w| w.brief).count();
        if brief == 0 {
            if let Some(first) = self.waiting.front_mut()
                && !first.told
            {
                first.told = true;
                self.told += 1;
                each(Turn::Offered(first.cell.clone()));
            }
            return;
        }
        let mut thread = here;
        while self.told <= LEFT {
            let mut next = None;
            for w in self.waiting.iter_mut().take(brief).filter(|w| !w.told) {
                if self.told == TOLD {
                    break;
                }
                let its = w.cell.thread();
                if its == thread {
                    w.told = true;
                    self.told += 1;
                    each(Turn::Offered(w.cell.clone()));
                } else {
                    next.get_or_insert(its);
                }
            }
            let Some(next) = next else {
                break;
            };
            thread = next;
        }
    }

    fn grant_at(&mut self, at: usize) -> Option<(Arc<WaitCell>, bool)> {
        let w = self.leave(at)?;
        let new = self.grant(w.cell.owner, w.mode);
        self.passed = if at == 0 { 0 } else { self.passed + 1 };
        if !w.holds {
            self.jumped = 0;
        }
        Some((w.cell, new))
    }

    /// A waiter that was told that it may go has come: whether it has the lock now, and is new as a holder.
    pub(super) fn claim(&mut self, cell: &Arc<WaitCell>) -> Option<bool> {
        let mut first = self.waiting.iter().take(WINDOW);
        let at = first.position(|w| Arc::ptr_eq(&w.cell, cell))?;
        let early = at > 0;
        let passes = self.passed < PASSES && self.waiting.iter().take(at + 1).all(|w| w.brief);
        if !self.fits(cell.owner, self.waiting[at].mode) || early && !passes {
            if !base::mutant!("in-vain-and-still-to-come") {
                self.told -= usize::from(std::mem::take(&mut self.waiting[at].told));
            }
            return None;
        }
        self.grant_at(at).map(|(_, new)| new)
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
