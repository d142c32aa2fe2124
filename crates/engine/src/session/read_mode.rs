//! How a statement reads a table, and what its isolation level makes of that.

use super::{Isolation, LockWait, Session};
use crate::lock::Mode;
use base::TxnId;

/// How rows are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadMode {
    /// As of the snapshot, without locks.
    Consistent,
    /// The newest committed version, locked to the end of the transaction.
    Lock {
        /// FOR UPDATE rather than FOR SHARE.
        exclusive: bool,
        /// What to do about rows locked by others.
        wait: LockWait,
    },
    /// The newest committed version: for UPDATE and DELETE, which lock what they change. Not locked by itself, but where ranges that are
    /// read with locks are guarded (REPEATABLE READ, SERIALIZABLE): there as for updating, until the transaction ends.
    Current,
    /// As [`Current`](Self::Current), by which rows are gathered that are changed later, each judged anew when it is its turn: they are locked as they are
    /// found. Where ranges are not guarded that ends when locks have taken half of the memory that they may.
    Gathered,
    /// Beside what a statement changes or computes, where ranges are not guarded: the newest committed version, locked for sharing until locks have taken
    /// half of the memory that they may.
    Beside,
    /// As parents that a new child looks for: the newest committed version, locked for sharing, at every level. Nothing is guarded: who deletes
    /// a parent waits for its lock.
    Parent,
    /// As children of a row that is going to change: the newest committed versions, locked, at every level; their range is guarded where ranges are.
    Children {
        /// They are going to change, too.
        exclusive: bool,
    },
}

impl Session {
    /// Where reads with locks are guarded, what a statement that writes reads is locked, and at SERIALIZABLE also what a transaction reads. What a statement
    /// [shares](Session::statement_shares) is locked at every level.
    pub(crate) fn effective(&self, mode: ReadMode) -> ReadMode {
        let locks = match self.isolation {
            Isolation::RepeatableRead => self.writes || self.shares,
            Isolation::Serializable => {
                self.writes || self.shares || self.explicit || self.txid != TxnId::NONE
            }
            _ if self.shares && mode == ReadMode::Consistent => return ReadMode::Beside,
            _ => return mode,
        };
        let lock = |exclusive| ReadMode::Lock {
            exclusive,
            wait: LockWait::Wait,
        };
        match mode {
            ReadMode::Consistent
                if locks && !base::mutant!("subquery-of-a-change-reads-the-snapshot") =>
            {
                lock(false)
            }
            ReadMode::Current | ReadMode::Gathered => lock(true),
            m => m,
        }
    }

    /// Whether plain reads of the statement lock the rows that match, and no others.
    pub fn locks_what_matches(&self) -> bool {
        self.effective(ReadMode::Consistent) == ReadMode::Beside
    }

    /// How rows that are read so are locked, where they are read by ranges; no mode: they are not, but their writers waited for. `None`: of a snapshot.
    pub(super) fn row_lock(&self, mode: ReadMode) -> Option<(Option<Mode>, LockWait)> {
        let room = || !self.engine.locks.is_short() && !base::mutant!("gathered-unlocked");
        let (mode, wait) = match mode {
            ReadMode::Consistent => return None,
            ReadMode::Lock { exclusive, wait } => (Some(mode_of(exclusive)), wait),
            ReadMode::Current => (None, LockWait::Wait),
            ReadMode::Gathered => (room().then_some(Mode::Exclusive), LockWait::Wait),
            ReadMode::Beside => (room().then_some(Mode::Shared), LockWait::Wait),
            ReadMode::Parent => (Some(Mode::Shared), LockWait::Wait),
            ReadMode::Children { exclusive } => (Some(mode_of(exclusive)), LockWait::Wait),
        };
        Some((mode, wait))
    }
}

/// FOR UPDATE or FOR SHARE.
pub(super) fn mode_of(exclusive: bool) -> Mode {
    match exclusive {
        true => Mode::Exclusive,
        false => Mode::Shared,
    }
}
