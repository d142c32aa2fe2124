//! What a session lets be known of the tables that it uses and waits for (`performance_schema.metadata_locks`): single words that it alone writes,
//! and anybody reads. Who has locked a table is known by its lock.
//!
//! Must never do: keep a session from going on, or be asked whether something is locked.

use super::{Owner, TableLock, TableLockMode};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Tables of a transaction that are shown.
const SHOWN: usize = 32;

/// What a session has of a table, or wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableLockKind {
    /// A transaction reads it.
    Reads,
    /// A transaction writes to it.
    Writes,
    /// It is locked by LOCK TABLES, or its definition changes.
    Locked(TableLockMode),
}

impl TableLockKind {
    fn number(self) -> u64 {
        match self {
            TableLockKind::Reads => 0,
            TableLockKind::Writes => 1,
            TableLockKind::Locked(TableLockMode::Read) => 2,
            TableLockKind::Locked(TableLockMode::Write) => 3,
            TableLockKind::Locked(TableLockMode::Change) => 4,
        }
    }

    fn by_number(n: u64) -> TableLockKind {
        match n {
            0 => TableLockKind::Reads,
            1 => TableLockKind::Writes,
            2 => TableLockKind::Locked(TableLockMode::Read),
            3 => TableLockKind::Locked(TableLockMode::Write),
            _ => TableLockKind::Locked(TableLockMode::Change),
        }
    }

    /// Of a use.
    pub(crate) fn of_use(writes: bool) -> TableLockKind {
        match writes {
            true => TableLockKind::Writes,
            false => TableLockKind::Reads,
        }
    }
}

/// A table and how it is locked, in a word that is not 0.
fn word(lock: &TableLock, kind: TableLockKind) -> u64 {
    (lock.number() + 1) << 3 | kind.number()
}

fn meant(word: u64) -> Option<(u64, TableLockKind)> {
    let kind = TableLockKind::by_number(word & 7);
    (word != 0).then(|| ((word >> 3) - 1, kind))
}

/// The tables of a session as others see them: by the numbers of their locks.
pub struct TablesInUse {
    owner: AtomicU64,
    count: AtomicUsize,
    uses: [AtomicU64; SHOWN],
    waits: AtomicU64,
}

impl Default for TablesInUse {
    fn default() -> TablesInUse {
        TablesInUse {
            owner: AtomicU64::new(0),
            count: AtomicUsize::new(0),
            uses: [const { AtomicU64::new(0) }; SHOWN],
            waits: AtomicU64::new(0),
        }
    }
}

impl TablesInUse {
    pub(crate) fn is_of(&self, owner: Owner) {
        self.owner.store(owner.0, Ordering::Relaxed);
    }

    /// As which the session holds locks.
    pub fn owner(&self) -> u64 {
        self.owner.load(Ordering::Relaxed)
    }

    /// The transaction uses one more.
    #[inline]
    pub(crate) fn add(&self, lock: &TableLock, writes: bool) {
        let n = self.count.load(Ordering::Relaxed);
        if let Some(slot) = self.uses.get(n) {
            slot.store(word(lock, TableLockKind::of_use(writes)), Ordering::Relaxed);
            self.count.store(n + 1, Ordering::Release);
        }
    }

    /// The transaction uses none any more.
    #[inline]
    pub(crate) fn clear(&self) {
        self.count.store(0, Ordering::Relaxed);
    }

    /// The session waits for a table, until the result is dropped.
    pub(crate) fn wait(&self, lock: &TableLock, kind: TableLockKind) -> TableWait<'_> {
        self.waits.store(word(lock, kind), Ordering::Relaxed);
        TableWait(self)
    }

    /// What the transaction uses, the first of it.
    pub fn uses(&self) -> Vec<(u64, TableLockKind)> {
        let n = self.count.load(Ordering::Acquire).min(SHOWN);
        let words = self.uses[..n].iter().map(|w| w.load(Ordering::Relaxed));
        words.filter_map(meant).collect()
    }

    /// What the session waits for.
    pub fn waits(&self) -> Option<(u64, TableLockKind)> {
        meant(self.waits.load(Ordering::Relaxed))
    }
}

/// A session waits for a table.
#[must_use = "a wait that is dropped is over"]
pub(crate) struct TableWait<'u>(&'u TablesInUse);

impl Drop for TableWait<'_> {
    fn drop(&mut self) {
        self.0.waits.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_shown_as_far_as_there_is_room() {
        let (a, b) = (TableLock::default(), TableLock::default());
        let shown = TablesInUse::default();
        assert_eq!((shown.uses(), shown.waits()), (Vec::new(), None));
        shown.add(&a, false);
        shown.add(&b, true);
        let both = vec![
            (a.number(), TableLockKind::Reads),
            (b.number(), TableLockKind::Writes),
        ];
        assert_eq!(shown.uses(), both);
        for _ in 0..2 * SHOWN {
            shown.add(&a, true);
        }
        assert_eq!(shown.uses().len(), SHOWN);
        shown.clear();
        assert!(shown.uses().is_empty());
        let change = TableLockKind::Locked(TableLockMode::Change);
        let wait = shown.wait(&b, change);
        assert_eq!(shown.waits(), Some((b.number(), change)));
        drop(wait);
        assert_eq!(shown.waits(), None);
    }
}
