//! A session's group of events until it is in the log: bytes, and how much of the group the log has.
//!
//! What it never does: decide when pieces are logged. The session does.

use super::piece::{AT_THE_END, PIECE_HEAD};
use crate::undo_reservation::UndoReservation;
use pager::Log;
use std::any::Any;
use std::sync::Arc;

/// More than this goes to the log before the transaction ends.
pub(crate) const HELD_MAX: usize = 256 << 10;
/// Bytes of a piece, at most: a record has room for it.
pub(crate) const PIECE_MAX: usize = 384 << 10;

/// Bytes of a group beside which nothing stands that is too much to be kept for the next.
const SMALL: u64 = 16 << 10;

/// A transaction's group.
pub(crate) struct EventBuffer {
    /// What comes next in the group; in front of it room for a piece's head.
    buf: Vec<u8>,
    /// Where in the group it begins.
    at: u64,
    /// How long the group is, as the log has it: more than `at` where some of that was cut off.
    logged: u64,
    /// Some of the group may be in the log already, and how much is not known: the transaction was prepared before.
    resumed: bool,
    /// From here on it may still be patched, and is not spilled; none: all may be.
    hold: Option<u64>,
    /// It has its end: nothing is to be appended to it.
    whole: bool,
    /// It is in the form in which it is logged, and not in the one in which it was made.
    packed: bool,
    facts: Option<Box<dyn Any + Send + Sync>>,
    /// What stood beside a small group before, to be used again.
    spare: Option<Box<dyn Any + Send + Sync>>,
    /// Room in the log for what is not there yet.
    reservation: UndoReservation,
}

impl EventBuffer {
    pub(crate) fn new(log: Arc<Log>) -> EventBuffer {
        EventBuffer {
            buf: Vec::new(),
            at: 0,
            logged: 0,
            resumed: false,
            hold: None,
            whole: false,
            packed: false,
            facts: None,
            spare: None,
            reservation: UndoReservation::new(log),
        }
    }

    /// Bytes of the group.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.at + self.buf.len().saturating_sub(PIECE_HEAD) as u64
    }

    /// There is no group.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0 && !self.resumed
    }

    /// Some of it is in the log, which has to be told how the transaction ends.
    #[inline]
    pub(crate) fn is_logged(&self) -> bool {
        self.logged > 0
    }

    /// Bytes of it that are not in the log.
    pub(crate) fn held(&self) -> usize {
        self.buf.len().saturating_sub(PIECE_HEAD)
    }

    /// Of those, bytes that may be spilled.
    pub(crate) fn ripe(&self) -> usize {
        match self.hold {
            Some(from) if from < self.len() => from.saturating_sub(self.at) as usize,
            _ => self.held(),
        }
    }

    /// From `offset` on nothing is spilled.
    pub(crate) fn hold(&mut self, offset: u64) {
        self.hold = Some(offset);
    }

    /// Writes over bytes of the group; false where they are in the log already.
    pub(crate) fn patch(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let Some(at) = offset.checked_sub(self.at) else {
            return false;
        };
        let at = PIECE_HEAD + at as usize;
        let Some(there) = self.buf.get_mut(at..at + bytes.len()) else {
            return false;
        };
        there.copy_from_slice(bytes);
        true
    }

    /// Appends what `fill` appends to what it is given.
    pub(crate) fn append(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let before = self.buf.len();
        if before == 0 {
            self.buf.resize(PIECE_HEAD, 0);
        }
        fill(&mut self.buf);
        self.reservation.add((self.buf.len() - before) as u64);
    }

    /// Appends what ends it, by what was put beside it.
    pub(crate) fn append_end<T: Default>(
        &mut self,
        fill: impl FnOnce(Option<&mut (dyn Any + Send + Sync)>, &mut Vec<u8>) -> T,
    ) -> T {
        let mut facts = self.facts.take();
        let mut filled = T::default();
        self.append(|out| filled = fill(facts.as_deref_mut(), out));
        self.facts = facts;
        filled
    }

    /// It is `bytes`, and nothing ends it but they.
    pub(crate) fn set_whole(&mut self, bytes: &[u8]) {
        self.clear();
        self.append(|out| out.extend_from_slice(bytes));
        self.whole = true;
    }

    /// Whether something has still to be appended at its end.
    pub(crate) fn wants_end(&self) -> bool {
        !self.whole && !self.is_empty()
    }

    /// All of the group and what was put beside it, where it can still be brought into another form: nothing of it counts that is in the log.
    #[inline]
    pub(crate) fn unpacked(&self) -> Option<(&(dyn Any + Send + Sync), &[u8])> {
        let as_made = !self.whole && !self.packed && !self.resumed && self.at == 0;
        let facts = self.facts.as_deref().filter(|_| as_made)?;
        let bytes = self.buf.get(PIECE_HEAD..).filter(|b| !b.is_empty())?;
        Some((facts, bytes))
    }

    /// It is these bytes from now on, and its end.
    pub(crate) fn set_packed(&mut self, bytes: &[u8]) {
        self.buf = Vec::with_capacity(PIECE_HEAD + bytes.len());
        self.reservation.clear();
        self.append(|out| out.extend_from_slice(bytes));
        self.packed = true;
        self.hold = None;
    }

    /// What is put beside it, until it is taken.
    pub(crate) fn facts(&mut self) -> &mut Option<Box<dyn Any + Send + Sync>> {
        &mut self.facts
    }

    /// See [`Session::spare_group_facts`](crate::Session::spare_group_facts).
    pub(crate) fn spare_facts(&mut self) -> Option<Box<dyn Any + Send + Sync>> {
        self.spare.take()
    }

    /// Cuts off what came behind the first `len` bytes.
    pub(crate) fn cut(&mut self, len: u64) {
        if base::mutant!("events-not-cut-at-a-savepoint") {
            return;
        }
        if len >= self.at {
            let keep = PIECE_HEAD + (len - self.at) as usize;
            self.buf.truncate(keep);
            return;
        }
        self.buf.clear();
        self.at = len;
    }

    /// The log has to be told something.
    pub(crate) fn has_news(&self) -> bool {
        self.held() > 0 || self.logged > self.at
    }

    /// The next piece as it is logged, at most `most` bytes of the group, and [`PIECE_MAX`].
    pub(crate) fn piece(&mut self, most: usize) -> &[u8] {
        if self.buf.is_empty() {
            self.buf.resize(PIECE_HEAD, 0);
        }
        let offset = match self.resumed {
            true => AT_THE_END,
            false => self.at,
        };
        self.buf[..PIECE_HEAD].copy_from_slice(&offset.to_le_bytes());
        let n = self.buf.len().min(PIECE_HEAD + PIECE_MAX.min(most));
        &self.buf[..n]
    }

    /// That piece is logged.
    pub(crate) fn piece_logged(&mut self, most: usize) {
        let n = self.held().min(PIECE_MAX).min(most);
        self.at += n as u64;
        self.logged = self.at;
        if n < self.held() {
            // The head of the next one stands where this one's bytes were.
            self.buf.drain(..n);
        } else {
            self.buf.clear();
            self.reservation.clear();
        }
    }

    /// The transaction is prepared: its group is logged, and goes on in another session. Whether there is one.
    pub(crate) fn give_away(&mut self) -> (bool, Option<Box<dyn Any + Send + Sync>>) {
        let there = !self.is_empty();
        let facts = self.facts.take();
        self.clear();
        (there, facts)
    }

    /// The other side of that.
    pub(crate) fn resume(&mut self, there: bool, facts: Option<Box<dyn Any + Send + Sync>>) {
        self.resumed = there;
        self.facts = facts;
    }

    /// The transaction has ended.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if self.len() <= SMALL {
            // What stands beside a large one may be large.
            self.spare = self.facts.take().or(self.spare.take());
        }
        if self.buf.capacity() > HELD_MAX {
            self.buf = Vec::new();
        }
        self.buf.clear();
        (self.at, self.logged) = (0, 0);
        (self.resumed, self.whole, self.packed) = (false, false, false);
        self.hold = None;
        self.facts = None;
        self.reservation.clear();
    }
}
