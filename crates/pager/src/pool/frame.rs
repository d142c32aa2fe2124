//! A frame's bookkeeping: the hybrid latch (Böttcher et al., "Scalable and Robust Latches for Database Systems", DaMoN
//! 2020), pins, the mark for the clock, and the dirty LSNs.
//!
//! The latch word: bit 63 exclusive; bits 40..62 number of shared holders; bits 0..39 version. The version grows at each
//! exclusive release, so an optimistic reader that saw the same version before and after read an unchanged page.

use base::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
use base::{Lsn, PageNo, SpaceId};

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
    pub(crate) pins: AtomicU32,
    space: AtomicU32,
    page: AtomicU32,
    pub(crate) mark: AtomicU8,
    /// Start of the first record that changed the page since it was last clean; 0: clean.
    pub(crate) rec_lsn: AtomicU64,
    /// As `rec_lsn`, of the copy that is being written now; 0: none.
    pub(crate) writing_lsn: AtomicU64,
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

    /// The version for an optimistic read; waits out an exclusive holder.
    #[inline(always)]
    pub(crate) fn version(&self) -> u64 {
        let mut spins = 0;
        loop {
            let v = self.latch.load(Ordering::Acquire);
            if v & X == 0 {
                return v & V_MASK;
            }
            relax(&mut spins);
        }
    }

    /// True when nothing changed since [`Frame::version`] gave `v`.
    #[inline(always)]
    pub(crate) fn unchanged(&self, v: u64) -> bool {
        fence(Ordering::Acquire);
        self.latch.load(Ordering::Relaxed) & (X | V_MASK) == v
    }

    #[inline(always)]
    pub(crate) fn lock_shared(&self) {
        let mut spins = 0;
        loop {
            let v = self.latch.load(Ordering::Relaxed);
            if v & X == 0
                && self
                    .latch
                    .compare_exchange_weak(v, v + S_ONE, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return;
            }
            relax(&mut spins);
        }
    }

    #[inline(always)]
    pub(crate) fn unlock_shared(&self) {
        let before = self.latch.fetch_sub(S_ONE, Ordering::Release);
        debug_assert!(before & S_MASK != 0);
    }

    #[inline(always)]
    pub(crate) fn lock_exclusive(&self) {
        let mut spins = 0;
        while !self.try_lock_exclusive() {
            relax(&mut spins);
        }
    }

    #[inline(always)]
    pub(crate) fn try_lock_exclusive(&self) -> bool {
        let v = self.latch.load(Ordering::Relaxed);
        v & (X | S_MASK) == 0
            && self
                .latch
                .compare_exchange(v, v | X, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Releases the exclusive latch; the version grows.
    #[inline(always)]
    pub(crate) fn unlock_exclusive(&self) {
        let v = self.latch.load(Ordering::Relaxed);
        debug_assert!(v & X != 0 && v & S_MASK == 0);
        self.latch
            .store((v & V_MASK).wrapping_add(1) & V_MASK, Ordering::Release);
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

    /// The oldest change that is not certainly on the device.
    pub(crate) fn oldest_change(&self) -> Option<Lsn> {
        // A change moves from `rec_lsn` to `writing_lsn` (a copy is being written) and, when that fails, back; each time
        // the target is set before the source is cleared, so reading in this order never misses it.
        let a = self.rec_lsn.load(Ordering::Acquire);
        let b = self.writing_lsn.load(Ordering::Acquire);
        let c = self.rec_lsn.load(Ordering::Acquire);
        [a, b, c].into_iter().filter(|l| *l != 0).min().map(Lsn)
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.oldest_change().is_none()
    }
}

#[cfg(all(test, tidemill_model))]
mod loom_model {
    use super::*;
    use base::sync::{Arc, model, spawn};

    /// A page of two words, changed together.
    struct Page {
        frame: Frame,
        words: [AtomicU64; 2],
    }

    fn page() -> Arc<Page> {
        Arc::new(Page {
            frame: Frame::new(),
            words: [AtomicU64::new(0), AtomicU64::new(0)],
        })
    }

    fn change(p: &Page) {
        p.frame.lock_exclusive();
        for w in &p.words {
            w.store(w.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        p.frame.unlock_exclusive();
    }

    #[test]
    fn an_optimistic_read_that_is_unchanged_saw_one_state() {
        model(|| {
            let p = page();
            let writer = p.clone();
            let t = spawn(move || change(&writer));
            let v = p.frame.version();
            let seen = [0, 1].map(|i| p.words[i].load(Ordering::Relaxed));
            if p.frame.unchanged(v) {
                assert_eq!(seen[0], seen[1]);
            }
            t.join().unwrap();
        });
    }

    #[test]
    fn a_shared_holder_sees_no_change_under_way() {
        model(|| {
            let p = page();
            let writer = p.clone();
            let t = spawn(move || change(&writer));
            p.frame.lock_shared();
            let seen = [0, 1].map(|i| p.words[i].load(Ordering::Relaxed));
            assert_eq!(seen[0], seen[1]);
            p.frame.unlock_shared();
            t.join().unwrap();
        });
    }

    #[test]
    fn two_changes_are_both_there() {
        model(|| {
            let p = page();
            let writer = p.clone();
            let t = spawn(move || change(&writer));
            change(&p);
            t.join().unwrap();
            let words = [0, 1].map(|i| p.words[i].load(Ordering::Relaxed));
            assert_eq!(words, [2, 2]);
        });
    }

    /// A failed write moves a page's oldest change back while it is looked for: it is never missed.
    #[test]
    fn an_oldest_change_that_moves_is_not_missed() {
        model(|| {
            let p = page();
            p.frame.mark_dirty(Lsn(40));
            let writer = p.clone();
            let t = spawn(move || {
                let f = &writer.frame;
                f.writing_lsn.store(40, Ordering::Release);
                f.rec_lsn.store(0, Ordering::Release);
                f.rec_lsn.store(40, Ordering::Release);
                f.writing_lsn.store(0, Ordering::Release);
            });
            assert_eq!(p.frame.oldest_change(), Some(Lsn(40)));
            t.join().unwrap();
        });
    }
}
