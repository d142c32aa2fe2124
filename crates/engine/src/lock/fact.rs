//! What the lock table says of itself: locks that are held and waited for, and what deadlocks were made of. Data only.

use super::queue::Mode;
use base::TxnId;
use std::sync::Arc;

/// The number under which tables' AUTO-INC locks stand; the key is the table's number, the highest byte first.
pub const AUTO_INC: u32 = u32::MAX;

/// The number under which stand the names that transactions are given from outside (`Session::lock_name`).
pub const TRANSACTION_NAME: u32 = u32::MAX - 1;

/// Whether the number is of none of the indexes that there may be.
pub const fn is_reserved(index: u32) -> bool {
    index >= TRANSACTION_NAME
}

/// What of an index is locked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Locked {
    /// The row or the unique value with this key, by itself.
    Row(Box<[u8]>),
    /// The keys from the first on, below the second where there is one; whether the rows in it are locked with it, and how.
    Range {
        /// The least key.
        low: Box<[u8]>,
        /// The least key above it.
        high: Option<Box<[u8]>>,
        /// How the rows in it are locked.
        rows: Option<Mode>,
    },
    /// The place where this key is going to be inserted.
    Insert(Box<[u8]>),
}

/// A lock that is held or waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockFact {
    /// By whom.
    pub owner: TxnId,
    /// In which index.
    pub index: u32,
    /// What.
    pub locked: Locked,
    /// How; of a range that of its rows.
    pub mode: Mode,
    /// Since when it is waited for, by the monotonic clock; `None`: it is held.
    pub waits_since_us: Option<u64>,
}

/// Who holds and waits for what.
#[derive(Default, Debug)]
pub struct LockListing {
    /// All of them, or as many as were asked for; such as somebody waits for first are all there.
    pub locks: Vec<LockFact>,
    /// Who waits for whom: places in `locks` of the lock that is waited for and of one in its way.
    pub waits: Vec<(usize, usize)>,
    /// There were more.
    pub cut: bool,
}

/// What a transaction had to do with a deadlock.
#[derive(Clone, Debug)]
pub struct DeadlockMember {
    /// The transaction.
    pub txid: TxnId,
    /// How much it would lose.
    pub weight: u64,
    /// What the next one waits for, as far as it is there still.
    pub holds: Option<LockFact>,
    /// What it waits for itself.
    pub waits: Option<LockFact>,
}

/// A circle of transactions that wait for each other.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// Each waits for the one behind it, and the last one for the first.
    pub members: Vec<DeadlockMember>,
    /// Which of them is rolled back.
    pub victim: usize,
}

/// What remains to be done about a deadlock once nobody is held up by it.
pub type Afterwards = Box<dyn FnOnce() + Send>;

/// Who is told of a deadlock, while all in it wait still, and all searches for deadlocks with them. It must not wait, nor come back to the
/// lock table; what takes longer it gives back.
pub type DeadlockListener = Arc<dyn Fn(Deadlock) -> Option<Afterwards> + Send + Sync>;

impl LockListing {
    /// Takes over another listing: of what nobody waits for no more than makes `max` of all.
    pub(super) fn take_up(&mut self, other: LockListing, max: usize) {
        let mut involved = vec![false; other.locks.len()];
        for (w, b) in &other.waits {
            involved[*w] = true;
            involved[*b] = true;
        }
        let mut places = vec![None; other.locks.len()];
        for (n, f) in other.locks.into_iter().enumerate() {
            match involved[n] || f.waits_since_us.is_some() || self.locks.len() < max {
                true => places[n] = Some(self.add(f)),
                false => self.cut = true,
            }
        }
        for (w, b) in other.waits {
            self.waits.extend(places[w].zip(places[b]));
        }
    }

    pub(super) fn add(&mut self, f: LockFact) -> usize {
        self.locks.push(f);
        self.locks.len() - 1
    }
}

impl LockFact {
    /// A key is in the range.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        match &self.locked {
            Locked::Range { low, high, .. } => {
                **low <= *key && high.as_ref().is_none_or(|h| *key < **h)
            }
            _ => false,
        }
    }
}
