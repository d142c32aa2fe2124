//! Deadlocks are found when a wait begins: a depth-first search of the waits-for graph, from the new waiter.
//!
//! Every edge of a cycle stands in some queue, and stays there as long as nobody in the cycle goes on; so the member
//! whose search begins last sees all of it. Searches are serialised, so that two members do not both choose a victim.
//! The victim is the member that has done the least work (the one that closed the cycle, when it is not more).
//!
//! Who waits for his turn to commit ([`order`](super::order)) is the victim where there is one: he may not come before the others anyway. Such deadlocks
//! are looked for also while the detector is switched off, as no timeout ends them.
//!
//! A transaction that holds nothing anybody could wait for cannot close a cycle and does not search. The search looks
//! at each queue position once: a waiter's blockers include all of what those ahead of it wait for.

use super::fact::Afterwards;
use super::queue::Blockers;
use super::wait::{Place, WaitCell, WaitEnd};
use base::TxnId;
use base::lock::Mutex;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Who waits for whom: the lock table, as the search knows it.
pub(super) trait WaitsFor {
    /// Whom a waiter waits for.
    fn blockers(&self, cell: &Arc<WaitCell>) -> Blockers;

    /// The wait of a transaction, if it waits.
    fn waiting(&self, t: TxnId) -> Option<Arc<WaitCell>>;

    /// True when others may wait for a transaction.
    fn holds_any(&self, t: TxnId) -> bool;

    /// True when somebody waits for his turn to commit: whoever is before him has others that wait for him, also where he holds nothing.
    fn turns_waited_for(&self) -> bool;

    /// A cycle was found, whose members wait still: each for the one before it, and the first for the last. What is given back is to be
    /// done when the search is over.
    fn found_cycle(&self, cycle: &[Arc<WaitCell>], victim: &Arc<WaitCell>) -> Option<Afterwards>;

    /// Takes a waiter out of its queue.
    fn end_wait(&self, cell: &Arc<WaitCell>, end: WaitEnd);
}

/// A wait met by the search, and the wait from which it was reached.
struct Node {
    cell: Arc<WaitCell>,
    from: usize,
}

/// The waits of a cycle through `start`, if there is one.
fn find_cycle(table: &impl WaitsFor, start: &Arc<WaitCell>) -> Option<Vec<Arc<WaitCell>>> {
    let mut seen = HashSet::from([start.owner]);
    let mut nodes = vec![Node {
        cell: start.clone(),
        from: 0,
    }];
    let mut open = vec![0usize];
    while let Some(at) = open.pop() {
        let blockers = table.blockers(&nodes[at].cell);
        if blockers.holders.contains(&start.owner) || blockers.ahead.contains(&start.owner) {
            let mut path = vec![nodes[at].cell.clone()];
            let mut i = at;
            while i != 0 {
                i = nodes[i].from;
                path.push(nodes[i].cell.clone());
            }
            return Some(path);
        }
        seen.extend(blockers.ahead);
        for holder in blockers.holders {
            if seen.insert(holder)
                && let Some(cell) = table.waiting(holder)
            {
                open.push(nodes.len());
                nodes.push(Node { cell, from: at });
            }
        }
    }
    None
}

/// Searches, one at a time.
#[derive(Default)]
pub(super) struct Detector {
    one: Mutex<()>,
    off: AtomicBool,
}

impl Detector {
    /// Whether to search at all. Who waits already is found by those who begin to wait from now on.
    pub(super) fn switch(&self, on: bool) {
        self.off.store(!on, Ordering::Relaxed);
    }

    /// Ends every deadlock that the wait `start` is part of, by ending one wait in each with [`WaitEnd::Deadlock`].
    pub(super) fn resolve(&self, table: &impl WaitsFor, start: &Arc<WaitCell>) {
        let off = self.off.load(Ordering::Relaxed);
        if !table.turns_waited_for() && (off || !table.holds_any(start.owner)) {
            return;
        }
        let mut afterwards: SmallVec<[Afterwards; 1]> = SmallVec::new();
        let one_at_a_time = self.one.lock();
        while start.ended().is_none()
            && let Some(cycle) = find_cycle(table, start)
        {
            let cost = |c: &&Arc<WaitCell>| {
                // Of those who wait for their turn the last, who has to come behind all others whatever becomes of him.
                let turn = match c.place {
                    Place::Turn(n) => Some(n),
                    _ => None,
                };
                let (weight, other) = (c.weight, !Arc::ptr_eq(c, start));
                (Reverse(turn), weight, other, Reverse(c.owner))
            };
            if let Some(victim) = cycle.iter().min_by_key(cost) {
                afterwards.extend(table.found_cycle(&cycle, victim));
                table.end_wait(victim, WaitEnd::Deadlock);
            }
        }
        drop(one_at_a_time);
        afterwards.into_iter().for_each(|f| f());
    }
}
