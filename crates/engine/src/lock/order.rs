//! An order in which transactions are to be committed, given from outside: a replica's, which commits what its source has committed in the
//! same order, and applies several of them at once. Each has a number; the one whose turn it is commits and passes the turn on.
//!
//! Whoever waits for his turn waits for all before him: to the search for deadlocks that is a wait as any other. A later one that has a lock which an
//! earlier one wants is found in the moment in which the circle closes, and it is always the later one that has to give way.
//!
//! The waits themselves are in [`turns`](super::turns).
//!
//! Must never do: touch a row's queue, or know what a session is.

use super::wait::WaitCell;
use base::TxnId;
use base::lock::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Who stands in it.
#[derive(Default)]
pub(super) struct Standing {
    /// Whose turn it is.
    pub(super) next: u64,
    /// The transactions of those whose turn is to come, as far as they have begun to write.
    pub(super) members: BTreeMap<u64, TxnId>,
    pub(super) waiting: BTreeMap<u64, Arc<WaitCell>>,
}

/// The order.
#[derive(Default)]
pub(super) struct Order {
    standing: Mutex<Standing>,
    /// How many wait.
    waits: AtomicUsize,
}

impl Order {
    pub(super) fn lock(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock()
    }

    /// Somebody begins to wait.
    pub(super) fn waits(&self) {
        self.waits.fetch_add(1, Ordering::SeqCst);
    }

    /// Somebody waits no more.
    pub(super) fn waits_no_more(&self) {
        self.waits.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether somebody waits for his turn. Who begins another wait asks after he has said so, and who waits for his turn says so before he looks
    /// who else waits: one of the two sees the other.
    pub(super) fn is_waited_for(&self) -> bool {
        self.waits.load(Ordering::SeqCst) > 0
    }

    /// All whose turn is before this one.
    pub(super) fn before(&self, number: u64) -> Vec<TxnId> {
        let standing = self.lock();
        standing.members.range(..number).map(|(_, t)| *t).collect()
    }
}
