//! Events: what transactions leave in the log for its readers, such as a binary log. Bytes to the engine, which carries them from
//! a session to whoever follows the log, and does not look at them.
//!
//! A transaction's events are its *group*. They stand in records of their own ([`pager::RecordKind::Event`]), in *pieces* ([`piece`]), in front of
//! the commit record. A small group is one piece, which goes into the log right in front of the commit record and in one step with it. Of a long
//! one pieces go to the log before.
//! Nothing of a transaction's `prev` chain leads to them: neither rollback nor purge nor recovery meets them.
//!
//! | module | what |
//! |---|---|
//! | [`buffer`] | a session's group until it is in the log |
//! | [`intake`] | whether what they leave can be taken |
//! | [`piece`] | the bytes of a piece, and how pieces become a group again |
//!
//! Who reads them is the [follower](crate::follower).
//!
//! What it never does: sync, or make a commit wait for a reader that says nothing of [`intake`].

pub(crate) mod buffer;
pub(crate) mod intake;
pub(crate) mod piece;

use crate::xa::Xid;
use base::Lsn;
use base::lock::Mutex;
use std::any::Any;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What stands at a group's end is somebody else's.
pub trait GroupEnd: Send + Sync {
    /// Appends what ends a group, as its transaction is committed at `wall_us`, in microseconds since 1970. `facts` are those that were put beside it
    /// ([`Session::group_facts`](crate::Session::group_facts)); none, where nothing was, or the transaction was prepared before a start.
    /// It must not wait.
    fn end(&self, facts: Option<&mut (dyn Any + Send + Sync)>, wall_us: i64, out: &mut Vec<u8>);

    /// Appends what makes a group of a part of a branch, which was at hand with `facts`; false: nothing was appended, as branches are no groups of
    /// their own, and what a branch has left is one group at its commit.
    /// It must not wait.
    fn branch(
        &self,
        part: BranchPart<'_>,
        facts: Option<&mut (dyn Any + Send + Sync)>,
        wall_us: i64,
        out: &mut Vec<u8>,
    ) -> bool {
        let _ = (part, facts, wall_us, out);
        false
    }

    /// Whether a group of `len` bytes is logged in another form than the one that it was made in, by what was put beside it.
    fn packs(&self, facts: &(dyn Any + Send + Sync), len: u64) -> bool {
        let _ = (facts, len);
        false
    }

    /// Begins to make that form of a group, which is all of `events`, of a transaction of this number that is about to be committed or prepared at
    /// `wall_us`. `None`: it stays as it is.
    fn pack(
        &self,
        facts: &(dyn Any + Send + Sync),
        (txid, wall_us): (u64, i64),
        events: &[u8],
    ) -> Option<Box<dyn GroupPack>> {
        let _ = (facts, txid, wall_us, events);
        None
    }
}

/// Which part of a branch of a distributed transaction makes a group.
#[derive(Clone, Copy, Debug)]
pub enum BranchPart<'a> {
    /// Its changes are there, and it is prepared.
    Prepared(&'a Xid),
    /// Its changes are there, and it is committed with them.
    InOne(&'a Xid),
    /// What was prepared is committed: nothing stands in front of this.
    Committed(&'a Xid),
    /// What was prepared is rolled back: nothing stands in front of this.
    RolledBack(&'a Xid),
}

/// A group that is brought into another form, a step at a time, so that others get their turn.
pub trait GroupPack: Send {
    /// A step; false: it was the last. It must not wait.
    fn step(&mut self) -> bool;
    /// The group in that form, without its end; `None`: it stays as it is.
    fn finish(self: Box<Self>) -> Option<Vec<u8>>;
}

/// What the engine knows of groups and their readers.
#[derive(Default)]
pub(crate) struct EventLog {
    end: OnceLock<Arc<dyn GroupEnd>>,
    pub(crate) intake: intake::IntakeState,
    /// The log is kept from here on; `u64::MAX`: as nobody follows it, no more than the engine needs.
    kept: AtomicU64,
    /// Where the log went on at the start, and the transactions that were open there and will be ended.
    start: Mutex<(Lsn, HashSet<u64>)>,
    /// Behind the last group that was committed since.
    committed: AtomicU64,
}

impl EventLog {
    /// Keeps the log from `kept` on, until it is told another position.
    pub(crate) fn new(kept: Lsn) -> EventLog {
        EventLog {
            kept: AtomicU64::new(kept.0),
            ..EventLog::default()
        }
    }

    /// What ends groups; the first that comes stays.
    pub(crate) fn set_end(&self, end: Arc<dyn GroupEnd>) {
        let _first = self.end.set(end);
    }

    /// See [`GroupEnd::end`]. Where nobody has anything to say, nothing is appended.
    pub(crate) fn end_group(
        &self,
        facts: Option<&mut (dyn Any + Send + Sync)>,
        wall_us: i64,
        out: &mut Vec<u8>,
    ) {
        if let Some(end) = self.end.get() {
            end.end(facts, wall_us, out);
        }
    }

    /// See [`GroupEnd::branch`].
    pub(crate) fn branch(
        &self,
        part: BranchPart<'_>,
        facts: Option<&mut (dyn Any + Send + Sync)>,
        wall_us: i64,
        out: &mut Vec<u8>,
    ) -> bool {
        let end = self.end.get();
        end.is_some_and(|end| end.branch(part, facts, wall_us, out))
    }

    /// See [`GroupEnd::packs`].
    #[inline]
    pub(crate) fn packs(&self, facts: &(dyn Any + Send + Sync), len: u64) -> bool {
        self.end.get().is_some_and(|e| e.packs(facts, len))
    }

    /// See [`GroupEnd::pack`].
    pub(crate) fn pack(
        &self,
        facts: &(dyn Any + Send + Sync),
        when: (u64, i64),
        events: &[u8],
    ) -> Option<Box<dyn GroupPack>> {
        self.end.get()?.pack(facts, when, events)
    }

    /// The oldest position that readers still need.
    pub(crate) fn kept(&self) -> Lsn {
        match base::mutant!("log-not-kept-for-its-readers") {
            true => Lsn::MAX,
            false => Lsn(self.kept.load(Ordering::Acquire)),
        }
    }

    /// Sets it; gives the one before.
    pub(crate) fn keep(&self, from: Lsn) -> Lsn {
        Lsn(self.kept.swap(from.0, Ordering::AcqRel))
    }

    /// A group was committed whose record ends at `end`.
    pub(crate) fn set_committed(&self, end: Lsn) {
        self.committed.fetch_max(end.0, Ordering::AcqRel);
    }

    /// Behind the last group that was committed since the start; none: there was none.
    pub(crate) fn committed(&self) -> Lsn {
        Lsn(self.committed.load(Ordering::Acquire))
    }

    /// A start has found the log's end at `at`; of the transactions that were open there, `left` will be ended.
    pub(crate) fn started(&self, at: Lsn, left: HashSet<u64>) {
        let mut start = self.start.lock();
        *start = (at, left);
    }

    /// What [`started`](Self::started) was told.
    pub(crate) fn start(&self) -> (Lsn, HashSet<u64>) {
        let start = self.start.lock();
        start.clone()
    }
}
