//! Models of a frame: what latches, pins and the words of a page's changes promise, in every order of two threads' steps.

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

/// The reader has a thread of its own, and the writer the first: loom (0.7) looks for other orders from a load back to the last
/// store, but from a store only to the last access, which here is the writer's own load. The other way round it would
/// never let the writer come between the reader's loads.
#[test]
fn an_optimistic_read_that_is_unchanged_saw_one_state() {
    model(|| {
        let p = page();
        p.frame.set_identity(Some(ID));
        let reader = p.clone();
        let t = spawn(move || {
            let v = reader.frame.version_of(ID.0, ID.1).unwrap();
            let seen = [0, 1].map(|i| reader.words[i].load(Ordering::Relaxed));
            if reader.frame.unchanged(v) {
                assert_eq!(seen[0], seen[1]);
            }
        });
        change(&p);
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
        p.frame.set_identity(Some(ID));
        p.frame.mark_dirty(Lsn(40));
        // Which thread is which matters: see the first model.
        let looking = p.clone();
        let t = spawn(move || assert_eq!(looking.frame.oldest_change(), Some(Lsn(40))));
        p.frame.lock_shared();
        p.frame.begin_write();
        p.frame.unlock_shared();
        p.frame.end_write(false);
        t.join().unwrap();
    });
}

const ID: (SpaceId, PageNo) = (SpaceId(1), PageNo(7));
const OTHER: (SpaceId, PageNo) = (SpaceId(1), PageNo(8));

/// A frame that holds `ID`, found through a translation (1: it is there), as the pool does it.
struct Pool {
    page: Arc<Page>,
    translation: AtomicU32,
}

fn pool() -> Arc<Pool> {
    let page = page();
    page.frame.set_identity(Some(ID));
    Arc::new(Pool {
        page,
        translation: AtomicU32::new(1),
    })
}

impl Pool {
    fn evict(&self) -> bool {
        self.page.frame.take_out(|space, page| {
            assert_eq!((space, page), ID);
            self.translation.store(0, Ordering::Release);
        })
    }

    /// Another page is read into the frame.
    fn reuse(&self) {
        let f = &self.page.frame;
        f.lock_unused();
        f.set_identity(Some(OTHER));
        self.page.words[0].store(99, Ordering::Relaxed);
        f.unlock_exclusive();
    }

    fn pin(&self) -> bool {
        let f = &self.page.frame;
        if self.translation.load(Ordering::Acquire) == 0 {
            return false;
        }
        let there = f.lock_shared_of(ID.0, ID.1) == Latch::Taken;
        if there {
            f.pin();
            f.unlock_shared();
        }
        there
    }
}

#[test]
fn a_pinned_page_stays() {
    model(|| {
        let p = pool();
        let evicting = p.clone();
        let t = spawn(move || {
            if evicting.evict() {
                evicting.reuse();
            }
        });
        if p.pin() {
            // The latch is not held, as over a wait.
            let f = &p.page.frame;
            f.lock_shared();
            assert!(f.holds(ID.0, ID.1));
            assert_eq!(p.page.words[0].load(Ordering::Relaxed), 0);
            f.unlock_shared();
            f.unpin();
        }
        t.join().unwrap();
    });
}

/// A reader that latched the page by a stale translation notices that the frame holds another.
#[test]
fn a_frame_used_again_is_not_taken_for_the_old_page() {
    model(|| {
        let p = pool();
        let evicting = p.clone();
        let t = spawn(move || {
            if evicting.evict() {
                evicting.reuse();
            }
        });
        let f = &p.page.frame;
        let found = p.translation.load(Ordering::Acquire) == 1;
        if let (Ok(v), true) = (f.version_of(ID.0, ID.1), found) {
            let seen = p.page.words[0].load(Ordering::Relaxed);
            assert!(!f.unchanged(v) || seen == 0);
        }
        t.join().unwrap();
    });
}

/// Two threads that each latch two pages in the order of the pages come to their ends, though one of them looks for its second page in a
/// frame that has got the other's first page meanwhile. Loom stops a model in which both wait.
#[test]
fn who_latches_in_the_order_of_pages_is_not_held_up_by_frames() {
    model(|| {
        let p = pool();
        // `ID` is page 7, found in the first frame. Page 3 is in the second; page 2 is read into the first one's place.
        let (second, third) = ((SpaceId(1), PageNo(3)), (SpaceId(1), PageNo(2)));
        let other = Arc::new(Frame::new());
        other.set_identity(Some(second));
        let (evicting, frame) = (p.clone(), other.clone());
        let t = spawn(move || {
            let f = &evicting.page.frame;
            if evicting.evict() {
                f.lock_unused();
                f.set_identity(Some(third));
                f.unlock_exclusive();
                assert_eq!(f.lock_exclusive_of(third.0, third.1), Latch::Taken);
                assert_eq!(frame.lock_exclusive_of(second.0, second.1), Latch::Taken);
                frame.unlock_exclusive();
                f.unlock_exclusive();
            }
        });
        assert_eq!(other.lock_exclusive_of(second.0, second.1), Latch::Taken);
        let found = p.translation.load(Ordering::Acquire) == 1;
        if found && p.page.frame.lock_exclusive_of(ID.0, ID.1) == Latch::Taken {
            p.page.frame.unlock_exclusive();
        }
        other.unlock_exclusive();
        t.join().unwrap();
    });
}

/// A change made while an older copy is written keeps the page in memory: what is evicted is on the device.
#[test]
fn no_change_is_evicted_before_it_is_written() {
    model(|| {
        let p = pool();
        let device = Arc::new(AtomicU64::new(0));
        let f = &p.page.frame;
        f.lock_exclusive();
        p.page.words[0].store(1, Ordering::Relaxed);
        f.mark_dirty(Lsn(40));
        f.unlock_exclusive();
        let (cleaning, disk) = (p.clone(), device.clone());
        let clean = spawn(move || {
            let f = &cleaning.page.frame;
            f.lock_shared();
            let copy = cleaning.page.words[0].load(Ordering::Relaxed);
            let begun = f.begin_write().is_some();
            f.unlock_shared();
            if begun {
                disk.store(copy, Ordering::Relaxed);
                f.end_write(true);
            }
        });
        f.lock_exclusive();
        p.page.words[0].store(2, Ordering::Relaxed);
        f.mark_dirty(Lsn(48));
        f.unlock_exclusive();
        if p.evict() {
            let last = p.page.words[0].load(Ordering::Relaxed);
            assert_eq!(device.load(Ordering::Relaxed), last);
        }
        clean.join().unwrap();
    });
}
