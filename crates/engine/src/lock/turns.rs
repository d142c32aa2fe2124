//! The lock table's part of an [`order`](super::order) of commits: whose turn it is, and the waits for that.

use super::request::Acquired;
use super::table::{LockTable, Woken, wake};
use super::wait::{Place, WaitCell, WaitEnd};
use base::TxnId;
use std::sync::Arc;

impl LockTable {
    /// An order begins, and whose turn is first. Nobody stands in the one before any more.
    pub fn begin_order(&self, first: u64) {
        let mut o = self.order.lock();
        debug_assert!(o.waiting.is_empty(), "somebody waits for his turn");
        o.members.clear();
        o.next = first;
    }

    /// The transaction of the one with this number is `owner`.
    pub fn join_order(&self, number: u64, owner: TxnId) {
        let mut o = self.order.lock();
        if number >= o.next {
            o.members.insert(number, owner);
        }
    }

    /// Whether it is the turn of `owner`, whose number that is: [`Acquired::Granted`], or a wait.
    pub fn ask_turn(&self, owner: TxnId, number: u64) -> Acquired {
        let mut o = self.order.lock();
        if number <= o.next {
            return Acquired::Granted;
        }
        let Some(wait) = self.make_wait(owner, Place::Turn(number), 0, None) else {
            return Acquired::Retry;
        };
        self.order.waits();
        o.waiting.insert(number, wait.cell().clone());
        Acquired::Wait(wait)
    }

    /// It was the turn of this number, and is that of the next.
    ///
    /// # Panics
    /// It was not: were that passed over, all behind it would wait for ever.
    pub fn pass_turn(&self, number: u64) {
        let mut woken = Woken::new();
        {
            let mut o = self.order.lock();
            assert_eq!(o.next, number, "whose turn it is not passes it on");
            o.next += 1;
            o.members = o.members.split_off(&(number + 1));
            let next = o.next;
            if let Some(cell) = o.waiting.remove(&next) {
                self.order.waits_no_more();
                self.withdrawn(&cell, WaitEnd::Granted, &mut woken);
            }
        }
        wake(&woken);
    }

    pub(super) fn cancel_turn(&self, cell: &Arc<WaitCell>, number: u64, end: WaitEnd) -> bool {
        let mut woken = Woken::new();
        {
            let mut o = self.order.lock();
            let waits = o.waiting.get(&number);
            if !waits.is_some_and(|c| Arc::ptr_eq(c, cell)) {
                return false;
            }
            o.waiting.remove(&number);
            self.order.waits_no_more();
            self.withdrawn(cell, end, &mut woken);
        }
        wake(&woken);
        true
    }
}
