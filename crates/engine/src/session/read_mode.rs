//! How a statement reads a table, and what its isolation level makes of that.

use super::{Isolation, LockWait, Session};
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
    /// Where reads with locks are guarded, what a statement that writes reads is locked, and at SERIALIZABLE also what a transaction reads.
    pub(crate) fn effective(&self, mode: ReadMode) -> ReadMode {
        let locks = match self.isolation {
            Isolation::RepeatableRead => self.writes,
            Isolation::Serializable => self.writes || self.explicit || self.txid != TxnId::NONE,
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
}
