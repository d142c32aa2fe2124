//! An order in which transactions are to be committed, given from outside: a replica's, which commits what its source has committed in the
//! same order, and applies several of them at once. Each has a number; the one whose turn it is commits and passes the turn on. There may be several
//! orders beside each other, as a replica may have several sources: a turn is of one of them.
//!
//! Whoever waits for his turn waits for all before him: to the search for deadlocks that is a wait as any other. A later one that has a lock which an
//! earlier one wants is found in the moment in which the circle closes, and it is always the later one that has to give way.
//!
//! The waits themselves are in [`turns`](super::turns).
//!
//! Must never do: touch a row's queue, or know what a session is.

use super::wait::{CommitTurn, WaitCell};
use base::TxnId;
use base::lock::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Who stands in an order.
#[derive(Default)]
pub(super) struct Standing {
    /// Whose turn it is.
    pub(super) next: u64,
    /// The transactions of those whose turn is to come, as far as they have begun to write.
    pub(super) members: BTreeMap<u64, TxnId>,
    pub(super) waiting: BTreeMap<u64, Arc<WaitCell>>,
}

/// All that there are, by their numbers.
#[derive(Default)]
pub(super) struct Inner {
    pub(super) orders: BTreeMap<u64, Standing>,
    /// The number of the last that began.
    pub(super) last: u64,
}

impl Inner {
    /// An order.
    ///
    /// # Panics
    /// It has ended, or never began.
    pub(super) fn of(&mut self, turn: CommitTurn) -> &mut Standing {
        let order = self.orders.get_mut(&turn.order);
        order.expect("an order of commits that has not ended")
    }
}

/// The orders.
#[derive(Default)]
pub(super) struct Orders {
    inner: Mutex<Inner>,
    /// How many wait.
    waits: AtomicUsize,
}

impl Orders {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
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
    pub(super) fn before(&self, turn: CommitTurn) -> Vec<TxnId> {
        let inner = self.lock();
        let order = inner.orders.get(&turn.order).map(|o| &o.members);
        let before = order.into_iter().flat_map(|o| o.range(..turn.number));
        before.map(|(_, t)| *t).collect()
    }
}
