//! What is written down while clients run: transactions, what they did and saw, and the final state.

/// The key of a list or of a register; the two do not meet.
pub type Key = u32;

/// What was appended or written; no two writes of a history have the same value in the same table.
pub type Value = u32;

/// A register's counter: 1 when the row is inserted, raised by the server with each write.
pub type Version = u32;

/// A register of value `v` belongs to the group `v % GROUPS`: what a secondary index is searched for.
pub const GROUPS: Value = 16;

/// One thing a transaction did, with what came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Appended to a list.
    Append {
        /// Which list.
        key: Key,
        /// What.
        value: Value,
    },
    /// Read a list; one that is not there is empty.
    List {
        /// Which list.
        key: Key,
        /// What was in it.
        values: Vec<Value>,
    },
    /// Inserted or updated a register.
    Write {
        /// Which register.
        key: Key,
        /// The new value.
        value: Value,
        /// The counter that the server gave this version; `None` where the answer was lost.
        version: Option<Version>,
    },
    /// Deleted a register that was there. It is never inserted again.
    Delete {
        /// Which register.
        key: Key,
    },
    /// Read a register; `None` where there is no row.
    Read {
        /// Which register.
        key: Key,
        /// Value and counter.
        seen: Option<(Value, Version)>,
    },
    /// Read all registers of a group in a range of keys, through the secondary index. The rows found are told by
    /// [`Op::Read`]s right behind this.
    Index {
        /// The group.
        group: Value,
        /// The first key of the range.
        low: Key,
        /// The last key of the range.
        high: Key,
        /// The keys found.
        found: Vec<Key>,
    },
}

/// How a transaction ended, as far as its client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The commit was acknowledged.
    Committed,
    /// It was rolled back, or the connection ended before a commit was asked for.
    Aborted,
    /// The answer to the commit never came.
    Unknown,
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Txn {
    /// Which client ran it; clients run one transaction after the other.
    pub client: u32,
    /// What it did, in order. A statement that failed is not here.
    pub ops: Vec<Op>,
    /// How it ended.
    pub end: End,
    /// When it began: a moment before its first statement was sent.
    pub began: u64,
    /// When it ended: a moment after the last answer had come.
    pub ended: u64,
}

impl Txn {
    /// Is its commit more than an answer?
    pub(crate) fn wrote(&self) -> bool {
        self.ops
            .iter()
            .any(|op| matches!(op, Op::Append { .. } | Op::Write { .. } | Op::Delete { .. }))
    }
}

/// The state that a reader found when all clients had ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Final {
    /// The lists.
    pub lists: Vec<(Key, Vec<Value>)>,
    /// The registers that are there.
    pub registers: Vec<(Key, Value, Version)>,
}

/// A whole history over keys that were all absent at its beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// The transactions, in any order.
    pub txns: Vec<Txn>,
    /// How often the server was killed.
    pub crashes: u32,
    /// What was there in the end.
    pub last: Final,
}
