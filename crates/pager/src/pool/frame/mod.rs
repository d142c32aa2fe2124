//! A frame's bookkeeping: the hybrid latch (Böttcher et al., "Scalable and Robust Latches for Database Systems", DaMoN
//! 2020), pins, the mark for the clock, and the dirty LSNs.
//!
//! The latch word: bit 63 exclusive; bits 40..62 number of shared holders; bits 0..39 version. The version grows at each
//! exclusive release, so an optimistic reader that saw the same version before and after read an unchanged page.

use base::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
use base::waits::WhoCell;
use base::{Lsn, PageNo, SpaceId};
use std::cell::Cell;

const X: u64 = 1 << 63;
const S_ONE: u64 = 1 << 40;
const S_MASK: u64 = (X - 1) & !(S_ONE - 1);
const V_MASK: u64 = S_ONE - 1;

/// Not used lately.
pub(crate) const COLD: u8 = 0;
/// Used since the clock hand passed.
pub(crate) const HOT: u8 = 1;
/// Just read from the device: its first use (the retry that asked for it) does not make it hot.
pub(crate) const FRESH: u8 = 2;

/// One per page of memory.
#[repr(align(64))]
pub(crate) struct Frame {
    latch: AtomicU64,
    /// Holds the page in memory across waits; no protection of its bytes.
    pins: AtomicU32,
    space: AtomicU32,
    page: AtomicU32,
    pub(crate) mark: AtomicU8,
    /// Start of the first record that changed the page since it was last clean; 0: clean.
    pub(crate) rec_lsn: AtomicU64,
    /// As `rec_lsn`, of the copy that is being written now; 0: none.
    pub(crate) writing_lsn: AtomicU64,
    /// Who took the latch last, and who pinned the page last: for people who ask why others wait.
    pub(super) latched_by: WhoCell,
    pub(super) pinned_by: WhoCell,
}

/// Looks at a latch after which the wait for it is worth a note: tens of microseconds, and at least as many turns of other threads.
const LONG: u32 = 400;

/// What came of a latch that was wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Latch {
    /// It is held.
    Taken,
    /// The frame holds another page.
    Gone,
    /// Others have held it for long.
    Busy,
}

/// Spins a little, then gives the processor to whoever may hold the latch. Latches are held only by running code.
#[inline]
pub(crate) fn relax(spins: &mut u32) {
    *spins += 1;
    if *spins < 80 {
        base::sync::spin_loop();
    } else {
        base::sync::yield_now();
    }
}

thread_local! {
    /// Page latches that this thread holds.
    static LATCHES: Cell<u32> = const { Cell::new(0) };
}

/// The thread holds one more page latch.
#[inline(always)]
pub(super) fn note_latched() {
    LATCHES.set(LATCHES.get() + 1);
}

/// It holds one less.
#[inline(always)]
pub(super) fn note_unlatched() {
    LATCHES.set(LATCHES.get() - 1);
}

/// Who waits for a frame, whatever page it holds, must not keep others waiting: the order of latches is one of pages, and says nothing
/// about frames.
fn assert_holds_no_latch() {
    assert!(LATCHES.get() == 0, "a latch waited for out of order");
}

impl Frame {
    pub(crate) fn new() -> Frame {
        Frame {
            latch: AtomicU64::new(0),
            pins: AtomicU32::new(0),
            space: AtomicU32::new(u32::MAX),
            page: AtomicU32::new(u32::MAX),
            mark: AtomicU8::new(COLD),
            rec_lsn: AtomicU64::new(0),
            writing_lsn: AtomicU64::new(0),
            latched_by: WhoCell::new(),
            pinned_by: WhoCell::new(),
        }
    }

    /// Which page the frame holds. Stable under any latch.
    #[inline(always)]
    pub(crate) fn holds(&self, space: SpaceId, page: PageNo) -> bool {
        self.page.load(Ordering::Relaxed) == page.0 && self.space.load(Ordering::Relaxed) == space.0
    }

    pub(crate) fn identity(&self) -> Option<(SpaceId, PageNo)> {
        let s = self.space.load(Ordering::Relaxed);
        (s != u32::MAX).then(|| (SpaceId(s), PageNo(self.page.load(Ordering::Relaxed))))
    }

    pub(crate) fn set_identity(&self, id: Option<(SpaceId, PageNo)>) {
        let (s, p) = id.map_or((u32::MAX, u32::MAX), |(s, p)| (s.0, p.0));
        self.space.store(s, Ordering::Relaxed);
        self.page.store(p, Ordering::Relaxed);
    }

    /// The version for an optimistic read of this page; waits out an exclusive holder. Else as [`Frame::lock_shared_of`].
    #[inline(always)]
    pub(crate) fn version_of(&self, space: SpaceId, page: PageNo) -> Result<u64, Latch> {
        let mut spins = 0;
        loop {
            let v = self.latch.load(Ordering::Acquire);
            if v & X == 0 {
                return match self.holds(space, page) {
                    true => Ok(v & V_MASK),
                    false => Err(Latch::Gone),
                };
            }
            if let Some(end) = self.give_up(space, page, &mut spins) {
                return Err(end);
            }
        }
    }

    /// True when nothing changed since [`Frame::version`] gave `v`.
    #[inline(always)]
    pub(crate) fn unchanged(&self, v: u64) -> bool {
        fence(Ordering::Acquire);
        self.latch.load(Ordering::Relaxed) & (X | V_MASK) == v
            || base::mutant!("optimistic-read-not-validated")
    }

    #[inline(always)]
    fn try_lock_shared(&self) -> bool {
        let v = self.latch.load(Ordering::Relaxed);
        (v & X == 0 || base::mutant!("shared-latch-beside-an-exclusive-one"))
            && self
                .latch
                .compare_exchange_weak(v, v + S_ONE, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Latches the frame, whatever page it holds, and waits for that. For who holds no other latch: see [`Frame::lock_shared_of`].
    pub(crate) fn lock_shared(&self) {
        assert_holds_no_latch();
        let mut spins = 0;
        while !self.try_lock_shared() {
            relax(&mut spins);
        }
    }

    /// Latches the frame if it holds this page. [`Latch::Gone`], with nothing latched, as soon as it does not: who holds other latches must not
    /// wait for a frame that has got another page since it was looked up, as the order of latches is one of pages (the README, "Waiting for a
    /// latch"). [`Latch::Busy`] after some time, so that the caller can say what he waits for, and come again.
    #[inline(always)]
    pub(crate) fn lock_shared_of(&self, space: SpaceId, page: PageNo) -> Latch {
        let mut spins = 0;
        while !self.try_lock_shared() {
            if let Some(end) = self.give_up(space, page, &mut spins) {
                return end;
            }
        }
        if self.holds(space, page) {
            self.latched_by.set_here();
            return Latch::Taken;
        }
        self.unlock_shared();
        Latch::Gone
    }

    /// As [`Frame::lock_shared_of`], exclusively.
    #[inline(always)]
    pub(crate) fn lock_exclusive_of(&self, space: SpaceId, page: PageNo) -> Latch {
        let mut spins = 0;
        while !self.try_lock_exclusive() {
            if let Some(end) = self.give_up(space, page, &mut spins) {
                return end;
            }
        }
        if self.holds(space, page) {
            self.latched_by.set_here();
            return Latch::Taken;
        }
        self.unlock_exclusive();
        Latch::Gone
    }

    /// Waits a little for the latch. How the wait is to end, if it is.
    #[inline(always)]
    fn give_up(&self, space: SpaceId, page: PageNo, spins: &mut u32) -> Option<Latch> {
        if !self.still_holds(space, page) {
            return Some(Latch::Gone);
        }
        relax(spins);
        (*spins >= LONG).then_some(Latch::Busy)
    }

    /// Whether it is worth while to wait for the latch.
    #[inline(always)]
    pub(super) fn still_holds(&self, space: SpaceId, page: PageNo) -> bool {
        self.holds(space, page) || base::mutant!("latch-of-another-page-waited-for")
    }

    #[inline(always)]
    pub(crate) fn unlock_shared(&self) {
        let before = self.latch.fetch_sub(S_ONE, Ordering::Release);
        debug_assert!(before & S_MASK != 0);
    }

    /// As [`Frame::lock_shared`], exclusively.
    pub(crate) fn lock_exclusive(&self) {
        assert_holds_no_latch();
        let mut spins = 0;
        while !self.try_lock_exclusive() {
            relax(&mut spins);
        }
    }

    /// Latches a frame that was taken from the free list: also for who holds other latches. Whoever has it still had looked up the page that
    /// was in it, and gives it up as soon as he sees that it is gone.
    pub(crate) fn lock_unused(&self) {
        assert!(self.identity().is_none(), "a free frame holds no page");
        let mut spins = 0;
        while !self.try_lock_exclusive() {
            relax(&mut spins);
        }
    }

    #[inline(always)]
    pub(crate) fn try_lock_exclusive(&self) -> bool {
        let v = self.latch.load(Ordering::Relaxed);
        let got = (v & (X | S_MASK) == 0 || base::mutant!("exclusive-latch-twice"))
            && self
                .latch
                .compare_exchange(v, v | X, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        // Pairs with the fence in `unchanged`: whoever sees a byte that is written from here on sees the latch taken.
        fence(Ordering::Release);
        got
    }

    /// Releases the exclusive latch; the version grows.
    #[inline(always)]
    pub(crate) fn unlock_exclusive(&self) {
        let v = self.latch.load(Ordering::Relaxed);
        debug_assert!(v & X != 0 && v & S_MASK == 0);
        let more = u64::from(!base::mutant!("version-not-moved"));
        self.latch
            .store((v & V_MASK).wrapping_add(more) & V_MASK, Ordering::Release);
    }

    /// Notes a use, writing the shared line only when the mark is not there yet.
    #[inline(always)]
    pub(crate) fn touch(&self) {
        match self.mark.load(Ordering::Relaxed) {
            HOT => {}
            FRESH => self.mark.store(COLD, Ordering::Relaxed),
            _ => self.mark.store(HOT, Ordering::Relaxed),
        }
    }

    /// Notes that a record starting at `lsn` changes the page. Under the exclusive latch.
    #[inline(always)]
    pub(crate) fn mark_dirty(&self, lsn: Lsn) -> bool {
        if self.rec_lsn.load(Ordering::Relaxed) == 0 {
            self.rec_lsn.store(lsn.0, Ordering::Release);
            return true;
        }
        false
    }

    /// Whether a copy of the page is on its way to the device.
    pub(super) fn is_being_written(&self) -> bool {
        self.writing_lsn.load(Ordering::Relaxed) != 0
    }

    /// How many hold the latch, and whether one of them holds it alone: a look.
    pub(super) fn holders(&self) -> (u64, bool) {
        let v = self.latch.load(Ordering::Relaxed);
        match v & X {
            0 => ((v & S_MASK) / S_ONE, false),
            _ => (1, true),
        }
    }

    /// The oldest change that is not certainly on the device.
    pub(crate) fn oldest_change(&self) -> Option<Lsn> {
        // A change moves from `rec_lsn` to `writing_lsn` (a copy is being written) and, when that fails, back; each time
        // the target is set before the source is cleared, so reading in this order never misses it.
        let a = self.rec_lsn.load(Ordering::Acquire);
        let b = self.writing_lsn.load(Ordering::Acquire);
        let c = match base::mutant!("moved-change-not-looked-for-again") {
            true => a,
            false => self.rec_lsn.load(Ordering::Acquire),
        };
        [a, b, c].into_iter().filter(|l| *l != 0).min().map(Lsn)
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.oldest_change().is_none()
    }

    /// Whether somebody pins the page: a look, good for nothing but to save a latch.
    pub(crate) fn is_pinned(&self) -> bool {
        self.pins.load(Ordering::Acquire) != 0
    }

    /// Keeps the page in memory until [`Frame::unpin`]. Under a latch.
    #[inline(always)]
    pub(crate) fn pin(&self) {
        self.pins.fetch_add(1, Ordering::Relaxed);
        self.pinned_by.set_here();
    }

    /// The holder of a pin gives it up; no latch is needed.
    #[inline(always)]
    pub(crate) fn unpin(&self) {
        let before = self.pins.fetch_sub(1, Ordering::Release);
        debug_assert!(before > 0);
    }

    /// Takes the page out of the frame if nobody latches or pins it and nothing of it is still to be written;
    /// `untranslate` makes it be found no more.
    pub(crate) fn take_out(&self, untranslate: impl FnOnce(SpaceId, PageNo)) -> bool {
        if !self.try_lock_exclusive() {
            return false;
        }
        let pinned =
            self.pins.load(Ordering::Acquire) != 0 && !base::mutant!("pinned-page-evicted");
        let free = !pinned && self.is_clean();
        let id = self.identity().filter(|_| free);
        if let Some((space, page)) = id {
            untranslate(space, page);
            self.set_identity(None);
        }
        self.unlock_exclusive();
        id.is_some()
    }

    /// A copy of the page is about to be written: its changes count as under way. `None` if it is clean, or a copy is on
    /// its way already. Under a shared latch, while the copy is made.
    pub(crate) fn begin_write(&self) -> Option<(SpaceId, PageNo)> {
        let rec = self.rec_lsn.load(Ordering::Acquire);
        if rec == 0 || self.writing_lsn.load(Ordering::Relaxed) != 0 {
            return None;
        }
        let id = self.identity()?;
        // Order matters to `oldest_change`: the change is never in neither word.
        self.writing_lsn.store(rec, Ordering::Release);
        self.rec_lsn.store(0, Ordering::Release);
        Some(id)
    }

    /// The copy arrived on the device, or did not: its changes are to be written again then.
    pub(crate) fn end_write(&self, ok: bool) {
        if ok {
            if base::mutant!("older-copy-counts-as-the-page") {
                self.rec_lsn.store(0, Ordering::Release);
            }
            self.writing_lsn.store(0, Ordering::Release);
            return;
        }
        self.lock_exclusive();
        let w = self.writing_lsn.load(Ordering::Relaxed);
        // Else this one arrived before another of its batch failed.
        if w != 0 {
            let r = self.rec_lsn.load(Ordering::Relaxed);
            if r == 0 || w < r {
                self.rec_lsn.store(w, Ordering::Release);
            }
            self.writing_lsn.store(0, Ordering::Release);
        }
        self.unlock_exclusive();
    }
}

#[cfg(all(test, not(tidemill_model)))]
mod tests;

#[cfg(all(test, tidemill_model))]
mod loom_model;
