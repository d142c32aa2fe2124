//! The lock table as it is shown: who holds and who waits for what (`performance_schema.data_locks`), and what a deadlock was made of.
//!
//! One part of the table is looked at after the other, so that nobody is kept from working: two locks of a listing need not have been there
//! at once, a lock and who waits for it were. Must never do: hold two parts at once.

use super::fact::{
    Afterwards, Deadlock, DeadlockListener, DeadlockMember, LockFact, LockListing, Locked,
};
use super::queue::Mode;
use super::ranges::Ranges;
use super::table::{Entry, LockTable, guard};
use super::wait::{Place, WaitCell};
use base::TxnId;
use std::sync::Arc;

fn list_entry(entry: &Entry, out: &mut LockListing) {
    let fact = |owner, mode, since| LockFact {
        owner,
        index: entry.index,
        locked: Locked::Row(entry.key.clone()),
        mode,
        waits_since_us: since,
    };
    let from = out.locks.len();
    for g in entry.queue.holders() {
        out.add(fact(g.owner, g.mode, None));
    }
    let waiting = out.locks.len();
    for w in entry.queue.waiters() {
        out.add(fact(w.cell.owner, w.mode, Some(w.cell.since_us)));
    }
    let all = from..out.locks.len();
    for (n, w) in entry.queue.waiters().enumerate() {
        let b = entry.queue.blockers(&w.cell);
        for at in all.clone().filter(|at| *at != waiting + n) {
            let blocks = match at < waiting {
                true => b.holders.contains(&out.locks[at].owner),
                false => b.ahead.contains(&out.locks[at].owner),
            };
            if blocks {
                out.waits.push((waiting + n, at));
            }
        }
    }
}

fn list_ranges(index: u32, ranges: &Ranges, out: &mut LockListing) {
    let from = out.locks.len();
    ranges.each_guard(|owner, low, high, rows| {
        // A guard that was cut where another begins or ends is one.
        let before = out.locks[from..].iter_mut().rev();
        for f in before.filter(|f| f.owner == owner).take(1) {
            if let Locked::Range {
                high: end, rows: r, ..
            } = &mut f.locked
                && end.as_deref() == Some(low)
                && *r == rows
            {
                *end = high.map(Into::into);
                return;
            }
        }
        out.locks.push(LockFact {
            owner,
            index,
            locked: Locked::Range {
                low: low.into(),
                high: high.map(Into::into),
                rows,
            },
            mode: rows.unwrap_or(Mode::Exclusive),
            waits_since_us: None,
        });
    });
    let inserts = out.locks.len();
    ranges.each_insert(|owner, key, cell| {
        out.locks.push(LockFact {
            owner,
            index,
            locked: Locked::Insert(key.into()),
            mode: Mode::Exclusive,
            waits_since_us: cell.map(|c| c.since_us),
        });
    });
    let readers = out.locks.len();
    ranges.each_reader(|cell, span| {
        out.locks.push(LockFact {
            owner: cell.owner,
            index,
            locked: Locked::Range {
                low: span.low.clone(),
                high: span.high.clone(),
                rows: None,
            },
            mode: Mode::Exclusive,
            waits_since_us: Some(cell.since_us),
        });
    });
    for at in inserts..readers {
        let (me, waits) = (out.locks[at].owner, out.locks[at].waits_since_us.is_some());
        let Locked::Insert(key) = out.locks[at].locked.clone() else {
            continue;
        };
        for g in from..inserts {
            if waits && out.locks[g].owner != me && out.locks[g].has(&key) {
                out.waits.push((at, g));
            }
        }
        for r in readers..out.locks.len() {
            if out.locks[r].owner != me && out.locks[r].has(&key) {
                out.waits.push((r, at));
            }
        }
    }
}

impl LockTable {
    /// What is locked: all that somebody waits for, and of the rest about as many as `max`.
    pub fn list(&self, max: usize) -> LockListing {
        let mut out = LockListing::default();
        // Two rounds, so that what is waited for is there however much else is.
        for waited_for in [true, false] {
            for shard in &self.shards {
                let shard = guard(&shard.0);
                for entry in shard.entries() {
                    let waits = entry.queue.waiters().next().is_some();
                    if waits != waited_for {
                        continue;
                    }
                    if !waits && out.locks.len() >= max {
                        out.cut = true;
                        return out;
                    }
                    list_entry(entry, &mut out);
                }
            }
            if waited_for {
                for shard in &self.range_shards {
                    for (index, ranges) in guard(shard).iter() {
                        let mut there = LockListing::default();
                        list_ranges(*index, ranges, &mut there);
                        out.take_up(there, max);
                    }
                }
            }
        }
        out
    }

    /// From now on `listener` is told of deadlocks.
    pub fn on_deadlock(&self, listener: DeadlockListener) {
        *self.listener.lock() = Some(listener);
    }

    /// `cycle`: each waits for the one before it, and the first for the last.
    pub(super) fn tell_deadlock(
        &self,
        cycle: &[Arc<WaitCell>],
        victim: &Arc<WaitCell>,
    ) -> Option<Afterwards> {
        let tell = self.listener.lock().clone()?;
        let mut members = Vec::with_capacity(cycle.len());
        for (n, cell) in cycle.iter().enumerate().rev() {
            let waiter = cycle.get(n + 1).unwrap_or(&cycle[0]);
            members.push(DeadlockMember {
                txid: cell.owner,
                weight: cell.weight,
                holds: self.fact_of(waiter, cell.owner),
                waits: self.fact_of(cell, cell.owner),
            });
        }
        let at = cycle.iter().rev().position(|c| Arc::ptr_eq(c, victim));
        tell(Deadlock {
            members,
            victim: at.unwrap_or(0),
        })
    }

    /// What `owner` has or wants in the place where `cell` waits.
    fn fact_of(&self, cell: &Arc<WaitCell>, owner: TxnId) -> Option<LockFact> {
        let mut there = LockListing::default();
        match cell.place {
            Place::Queue(place) => list_entry(self.shard(place.hash).by_ref(place)?, &mut there),
            Place::Ranges(index) => {
                list_ranges(index, self.range_shard(index).get(&index)?, &mut there);
            }
            // It is no lock.
            Place::Turn(_) => return None,
        }
        let mine = |f: &LockFact| f.owner == owner;
        if cell.owner == owner {
            let waits = |f: &&LockFact| mine(f) && f.waits_since_us.is_some();
            return there.locks.iter().find(waits).cloned();
        }
        let blocks = there
            .waits
            .iter()
            .find(|(w, b)| there.locks[*w].owner == cell.owner && mine(&there.locks[*b]));
        blocks.map(|(_, b)| there.locks[*b].clone())
    }
}
