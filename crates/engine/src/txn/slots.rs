//! The ring of transaction slots: lock-free status by transaction id.
//!
//! A slot is two words: the id it belongs to and its state. The state of an active transaction contains its id, so that
//! ending it is one compare-and-swap that cannot hit a slot which has changed hands meanwhile. Readers check the id
//! before and after reading the state (a sequence lock whose sequence is the id itself).
//!
//! The ring does not decide when a slot may change hands; [`super::system`] vacates slots block by block ahead of need.

use base::sync::atomic::{AtomicU64, Ordering, fence};
use base::{Lsn, TxnId};

/// log2 of the slots of a production ring (4 MiB): a row written by one of the last 262,144 transactions is decided by
/// one look at its slot.
pub const DEFAULT_BITS: u32 = 18;

/// Slots are vacated, and the floor below which every transaction is visible to all is advanced, once per so many
/// transactions.
pub const BLOCK: u64 = 1024;

const ACTIVE: u64 = 1 << 63;
const ABORTED: u64 = 1 << 62;
const MOVED: u64 = ACTIVE | ABORTED;
const VALUE: u64 = ABORTED - 1;

/// What is known about a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Not ended: its changes are its own, and it holds the rows it wrote.
    Active,
    /// Committed; the LSN of its commit record.
    Committed(Lsn),
    /// Rolled back entirely; the LSN at which that was done. No row carries its id any more.
    Aborted(Lsn),
    /// Ended so long ago that every snapshot in use that was taken after it began sees it. (A snapshot that was taken
    /// before it began does not: compare its id with the snapshot's `next`.)
    Frozen,
}

/// How a transaction ended, as stored in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End(u64);

impl End {
    pub(super) fn committed(at: Lsn) -> End {
        End(at.0 & VALUE)
    }

    pub(super) fn aborted(at: Lsn) -> End {
        End(ABORTED | (at.0 & VALUE))
    }

    pub(super) fn lsn(self) -> Lsn {
        Lsn(self.0 & VALUE)
    }

    pub(super) fn status(self) -> Status {
        if self.0 & ABORTED != 0 {
            Status::Aborted(self.lsn())
        } else {
            Status::Committed(self.lsn())
        }
    }
}

/// What a slot says about an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SlotView {
    Active,
    Ended(End),
    /// The slot belongs to another id, or its owner was moved to the side map.
    Elsewhere,
}

#[repr(C, align(16))]
struct Slot {
    txid: AtomicU64,
    state: AtomicU64,
}

/// The ring. See the module.
pub(super) struct Ring {
    slots: Box<[Slot]>,
    bits: u32,
    spread: u32,
}

impl Ring {
    pub(super) fn new(bits: u32) -> Ring {
        let n = 1usize << bits;
        let slots = (0..n)
            .map(|_| Slot {
                txid: AtomicU64::new(0),
                state: AtomicU64::new(0),
            })
            .collect();
        Ring {
            slots,
            bits,
            spread: 3.min(bits / 2),
        }
    }

    pub(super) fn len(&self) -> u64 {
        1 << self.bits
    }

    /// The slot of an id. Neighbouring ids, which run on different cores at the same time, are 128 bytes apart.
    #[inline(always)]
    fn slot(&self, t: TxnId) -> &Slot {
        let mask = (1u64 << self.bits) - 1;
        let x = t.0 & mask;
        let i = ((x << self.spread) | (x >> (self.bits - self.spread))) & mask;
        &self.slots[i as usize]
    }

    /// Gives a vacated slot to `t`.
    #[inline]
    pub(super) fn occupy(&self, t: TxnId) {
        let s = self.slot(t);
        s.state.store(ACTIVE | t.0, Ordering::Release);
        s.txid.store(t.0, Ordering::Release);
    }

    /// Ends `t` in its slot; false when `t` was moved to the side map.
    #[inline]
    pub(super) fn end(&self, t: TxnId, how: End) -> bool {
        self.slot(t)
            .state
            .compare_exchange(ACTIVE | t.0, how.0, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    #[inline]
    pub(super) fn view(&self, t: TxnId) -> SlotView {
        let s = self.slot(t);
        if s.txid.load(Ordering::Acquire) != t.0 {
            return SlotView::Elsewhere;
        }
        let state = s.state.load(Ordering::Acquire);
        if state & ACTIVE != 0 {
            return if state == ACTIVE | t.0 {
                SlotView::Active
            } else {
                SlotView::Elsewhere
            };
        }
        // The state may be the end of a younger transaction; then the id had changed before, and we see that.
        if s.txid.load(Ordering::Acquire) != t.0 && !base::mutant!("slot-owner-not-looked-at-again")
        {
            return SlotView::Elsewhere;
        }
        SlotView::Ended(End(state))
    }

    /// True when `t` has taken its slot (the id is handed out a moment before that) and was not moved out of it.
    pub(super) fn occupied_by(&self, t: TxnId) -> bool {
        self.slot(t).txid.load(Ordering::Acquire) == t.0
    }

    /// Marks an active `t` as moved to the side map, which already has it. On failure it ended at that very moment.
    pub(super) fn mark_moved(&self, t: TxnId) -> Result<(), End> {
        let moved = MOVED | t.0;
        if base::mutant!("moved-without-a-look") {
            self.slot(t).state.store(moved, Ordering::SeqCst);
            return Ok(());
        }
        match self.slot(t).state.compare_exchange(
            ACTIVE | t.0,
            moved,
            Ordering::SeqCst,
            Ordering::SeqCst,
        ) {
            Ok(_) => Ok(()),
            Err(state) => Err(End(state)),
        }
    }

    /// Makes the slot of `t` free. What must be remembered of `t` is in the side map by now.
    pub(super) fn vacate(&self, t: TxnId) {
        self.slot(t).txid.store(0, Ordering::Release);
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, tidemill_model))]
mod loom_model {
    use super::*;
    use base::sync::{Arc, model, spawn};

    /// A slot changes hands while somebody asks for its former owner: the answer is about that one, or "elsewhere".
    #[test]
    fn an_answer_is_never_about_another_transaction() {
        model(|| {
            let ring = Arc::new(Ring::new(1));
            let (old, new) = (TxnId(1), TxnId(3));
            ring.occupy(old);
            let owner = ring.clone();
            let t = spawn(move || {
                assert!(owner.end(old, End::committed(Lsn(10))));
                owner.vacate(old);
                owner.occupy(new);
                assert!(owner.end(new, End::committed(Lsn(30))));
            });
            match ring.view(old) {
                SlotView::Ended(how) => assert_eq!(how, End::committed(Lsn(10))),
                SlotView::Active | SlotView::Elsewhere => {}
            }
            t.join().unwrap();
        });
    }

    /// A transaction that ends while it is moved to the side map does one of the two, and both sides know which.
    #[test]
    fn ending_and_moving_agree() {
        model(|| {
            let ring = Arc::new(Ring::new(1));
            let t1 = TxnId(1);
            ring.occupy(t1);
            let sweep = ring.clone();
            let t = spawn(move || sweep.mark_moved(t1));
            let ended = ring.end(t1, End::committed(Lsn(10)));
            let moved = t.join().unwrap();
            assert_eq!(ended, moved.is_err());
            if let Err(how) = moved {
                assert_eq!(how, End::committed(Lsn(10)));
            }
        });
    }
}
