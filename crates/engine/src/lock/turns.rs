//! The lock table's part of [`order`](super::order)s of commits: whose turn it is, and the waits for that.

use super::order::Standing;
use super::request::Acquired;
use super::table::{LockTable, Woken, wake};
use super::wait::{CommitTurn, Place, WaitCell, WaitEnd};
use base::TxnId;
use std::sync::Arc;

impl LockTable {
    /// An order begins, and whose turn is first; its number.
    pub fn begin_order(&self, first: u64) -> u64 {
        let mut o = self.orders.lock();
        o.last += 1;
        let id = o.last;
        let order = Standing {
            next: first,
            ..Standing::default()
        };
        o.orders.insert(id, order);
        id
    }

    /// It ends: nobody stands in it any more.
    pub fn end_order(&self, id: u64) {
        let order = self.orders.lock().orders.remove(&id);
        let waits = order.is_some_and(|o| !o.waiting.is_empty());
        debug_assert!(!waits, "somebody waits for his turn");
    }

    /// The transaction of the one who has this turn is `owner`.
    pub fn join_order(&self, turn: CommitTurn, owner: TxnId) {
        let mut o = self.orders.lock();
        let o = o.of(turn);
        if turn.number >= o.next {
            o.members.insert(turn.number, owner);
        }
    }

    /// Whether it is the turn of `owner`, whose turn that is: [`Acquired::Granted`], or a wait.
    pub fn ask_turn(&self, owner: TxnId, turn: CommitTurn) -> Acquired {
        let mut o = self.orders.lock();
        let o = o.of(turn);
        if turn.number <= o.next {
            return Acquired::Granted;
        }
        let Some(wait) = self.make_wait(owner, Place::Turn(turn), 0, None) else {
            return Acquired::Retry;
        };
        self.orders.waits();
        o.waiting.insert(turn.number, wait.cell().clone());
        Acquired::Wait(wait)
    }

    /// It was this turn, and is the next.
    ///
    /// # Panics
    /// It was not: were that passed over, all behind it would wait for ever.
    pub fn pass_turn(&self, turn: CommitTurn) {
        let mut woken = Woken::new();
        {
            let mut o = self.orders.lock();
            let o = o.of(turn);
            assert_eq!(o.next, turn.number, "whose turn it is not passes it on");
            o.next += 1;
            o.members = o.members.split_off(&(turn.number + 1));
            let next = o.next;
            if let Some(cell) = o.waiting.remove(&next) {
                self.orders.waits_no_more();
                self.withdrawn(&cell, WaitEnd::Granted, &mut woken);
                if base::mutant!("turn-passed-without-a-word") {
                    woken.clear();
                }
            }
        }
        wake(&woken);
    }

    /// A waiter has left its queue: its wait is over.
    pub(super) fn withdrawn(&self, cell: &Arc<WaitCell>, end: WaitEnd, woken: &mut Woken) {
        self.owners.wait_over(cell.owner, None);
        cell.finish(end);
        if !base::mutant!("wait-ended-without-a-word") {
            woken.push(cell.clone());
        }
    }

    pub(super) fn cancel_turn(&self, cell: &Arc<WaitCell>, turn: CommitTurn, end: WaitEnd) -> bool {
        let mut woken = Woken::new();
        {
            let mut o = self.orders.lock();
            let o = o.of(turn);
            let waits = o.waiting.get(&turn.number);
            if !waits.is_some_and(|c| Arc::ptr_eq(c, cell)) {
                return false;
            }
            o.waiting.remove(&turn.number);
            self.orders.waits_no_more();
            self.withdrawn(cell, end, &mut woken);
        }
        wake(&woken);
        true
    }
}
