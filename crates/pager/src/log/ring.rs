//! The log's memory: a ring of words that many threads fill at once.
//!
//! Space is reserved with one atomic add; each thread copies its record; a *link* tells when a record is whole, so that
//! the completed prefix can be walked in order (MySQL 8.0's `Link_buf`, WL#10310). Nothing here touches a file.
//!
//! A link slot holds the end of the record that starts there. A slot is reused every `window` bytes of log; because no
//! thread runs further than the window ahead of the completed prefix, a stale slot value is never above its position.

use base::Lsn;
use base::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

#[repr(align(128))]
struct Padded<T>(T);

/// The ring. Positions are LSNs; all lengths are multiples of 8.
pub struct Ring {
    words: Box<[AtomicU64]>,
    links: Box<[AtomicU64]>,
    reserved: Padded<AtomicU64>,
    complete: Padded<AtomicU64>,
    advancing: AtomicBool,
}

impl Ring {
    /// A ring of `capacity` bytes (a power of two) whose log starts at `start`; at most `window` bytes (a power of two)
    /// may be reserved and not complete.
    pub fn new(capacity: usize, window: usize, start: Lsn) -> Ring {
        assert!(
            capacity.is_power_of_two()
                && window.is_power_of_two()
                && window <= capacity
                && start.0.is_multiple_of(8)
        );
        let zeros = |n: usize| (0..n).map(|_| AtomicU64::new(0)).collect();
        Ring {
            words: zeros(capacity / 8),
            links: zeros(window / 8),
            reserved: Padded(AtomicU64::new(start.0)),
            complete: Padded(AtomicU64::new(start.0)),
            advancing: AtomicBool::new(false),
        }
    }

    /// Bytes of log kept in memory.
    pub fn capacity(&self) -> u64 {
        self.words.len() as u64 * 8
    }

    /// Bytes that may be reserved and not yet complete.
    pub fn window(&self) -> u64 {
        self.links.len() as u64 * 8
    }

    /// End of the space given out so far.
    #[inline]
    pub fn reserved(&self) -> Lsn {
        Lsn(self.reserved.0.load(Ordering::Acquire))
    }

    /// Takes `len` bytes; the caller must see that they fit (window, ring, files) before it fills them.
    #[inline]
    pub fn reserve(&self, len: usize) -> Lsn {
        debug_assert!(len.is_multiple_of(8));
        Lsn(self.reserved.0.fetch_add(len as u64, Ordering::AcqRel))
    }

    /// Copies a record to its place.
    #[inline]
    pub fn fill(&self, at: Lsn, bytes: &[u8]) {
        let (mut chunks, (first, rest)) = (bytes.as_chunks::<8>().0, self.from(at));
        for part in [first, rest] {
            let n = chunks.len().min(part.len());
            for (word, w) in part.iter().zip(chunks) {
                word.store(u64::from_le_bytes(*w), Ordering::Relaxed);
            }
            chunks = &chunks[n..];
        }
    }

    /// The words from a position on to the end of the memory, and those that follow.
    #[inline]
    fn from(&self, at: Lsn) -> (&[AtomicU64], &[AtomicU64]) {
        let (rest, first) = self
            .words
            .split_at((at.0 / 8) as usize & (self.words.len() - 1));
        (first, rest)
    }

    /// Declares the record at `at`..`end` whole.
    #[inline]
    pub fn link(&self, at: Lsn, end: Lsn) {
        let i = (at.0 / 8) as usize & (self.links.len() - 1);
        let order = match base::mutant!("record-linked-before-it-is-whole") {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        self.links[i].store(end.0, order);
    }

    /// Everything below is whole. Does not walk.
    #[inline]
    pub fn complete_seen(&self) -> Lsn {
        Lsn(self.complete.0.load(Ordering::Acquire))
    }

    /// Walks over the records that have become whole and gives the new end of the completed prefix. If another thread
    /// is walking, its result so far is returned.
    pub fn advance(&self) -> Lsn {
        let before = self.complete.0.load(Ordering::Acquire);
        if before == self.reserved.0.load(Ordering::Acquire) {
            return Lsn(before);
        }
        loop {
            // Pairs with the fence below: either this thread gets the walk, or the one that has it sees our link.
            fence(Ordering::SeqCst);
            if self.advancing.swap(true, Ordering::Acquire) {
                return self.complete_seen();
            }
            let mut at = self.complete.0.load(Ordering::Relaxed);
            while let Some(end) = self.linked(at) {
                at = end;
            }
            self.complete.0.store(at, Ordering::Release);
            self.end_walk();
            fence(Ordering::SeqCst);
            if self.linked(at).is_none() || base::mutant!("walk-ended-without-another-look") {
                return Lsn(at);
            }
        }
    }

    #[cfg(not(tidemill_model))]
    #[inline]
    fn end_walk(&self) {
        self.advancing.store(false, Ordering::Release);
    }

    /// The same. Loom (0.7) does not see that another thread's swap, which read this thread's `true`, lies before this
    /// store, and would let this thread's next swap read it.
    #[cfg(tidemill_model)]
    fn end_walk(&self) {
        self.advancing.swap(false, Ordering::Release);
    }

    #[inline]
    fn linked(&self, at: u64) -> Option<u64> {
        let end = self.links[(at / 8) as usize & (self.links.len() - 1)].load(Ordering::Acquire);
        (end > at).then_some(end)
    }

    /// Copies `out.len()` bytes from `at`; false if that part of the ring was (or may have been) overwritten meanwhile.
    pub fn copy_out(&self, at: Lsn, out: &mut [u8]) -> bool {
        if self.reserved().0 > at.0 + self.capacity() {
            return false;
        }
        self.copy_unwritten(at, out);
        fence(Ordering::Acquire);
        self.reserved().0 <= at.0 + self.capacity()
    }

    /// As [`Ring::copy_out`], for the thread that writes the log out: what it has not written yet is not overwritten
    /// (whoever has reserved so far ahead waits for it before filling).
    pub fn copy_unwritten(&self, at: Lsn, out: &mut [u8]) {
        let (mut chunks, last) = out.as_chunks_mut::<8>();
        let after = Lsn(at.0 + 8 * chunks.len() as u64);
        let (first, rest) = self.from(at);
        for part in [first, rest] {
            let (filled, left) = chunks.split_at_mut(chunks.len().min(part.len()));
            for (w, word) in filled.iter_mut().zip(part) {
                *w = word.load(Ordering::Relaxed).to_le_bytes();
            }
            chunks = left;
        }
        if !last.is_empty() {
            let w = self.from(after).0[0].load(Ordering::Relaxed);
            last.copy_from_slice(&w.to_le_bytes()[..last.len()]);
        }
    }
}

#[cfg(all(test, not(tidemill_model)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn records_complete_in_order_whatever_order_they_are_filled_in() {
        let r = Ring::new(4096, 1024, Lsn(64));
        let (a, b) = (r.reserve(16), r.reserve(24));
        r.link(b, Lsn(b.0 + 24));
        assert_eq!(r.advance(), Lsn(64));
        r.link(a, Lsn(a.0 + 16));
        assert_eq!(r.advance(), Lsn(104));
    }

    #[test]
    fn what_was_filled_in_across_the_end_is_read() {
        for at in (0..128).step_by(8) {
            let r = Ring::new(64, 64, Lsn(0));
            let all: Vec<u8> = (1..=64).collect();
            r.reserve(at as usize + 64);
            r.fill(Lsn(at), &all);
            for n in 0..=64 {
                let mut out = vec![0; n];
                assert!(r.copy_out(Lsn(at), &mut out));
                assert_eq!(out, all[..n], "{n} bytes at {at}");
            }
        }
    }

    /// Records of each thread.
    const RECORDS: u64 = if cfg!(miri) { 60 } else { 20_000 };

    #[test]
    fn threads_fill_and_a_walker_sees_whole_records() {
        let r = Ring::new(1 << 16, 1 << 13, Lsn(8));
        let stop = AtomicU64::new(0);
        std::thread::scope(|s| {
            for t in 0..3u64 {
                let (r, stop) = (&r, &stop);
                s.spawn(move || {
                    for i in 0..RECORDS {
                        let len = 16 + ((i * 7 + t) % 5) as usize * 8;
                        let at = r.reserve(len);
                        while at.0 + len as u64 > r.advance().0 + r.window() {
                            std::thread::yield_now();
                        }
                        let mut b = vec![t as u8; len];
                        b[..4].copy_from_slice(&(len as u32).to_le_bytes());
                        r.fill(at, &b);
                        r.link(at, Lsn(at.0 + len as u64));
                    }
                    stop.fetch_add(1, Ordering::SeqCst);
                });
            }
            let mut at = 8u64;
            loop {
                let done = stop.load(Ordering::SeqCst) == 3;
                let end = r.advance().0;
                while at < end {
                    let mut h = [0u8; 8];
                    if !r.copy_out(Lsn(at), &mut h) {
                        at = end; // lapped: fine for this test
                        break;
                    }
                    let len = u32::from_le_bytes([h[0], h[1], h[2], h[3]]) as u64;
                    assert!(
                        (16..=48).contains(&len) && len.is_multiple_of(8),
                        "torn record at {at}: {len}"
                    );
                    at += len;
                }
                if done && at == r.reserved().0 {
                    break;
                }
            }
        });
    }
}

#[cfg(all(test, tidemill_model))]
mod loom_model {
    use super::*;
    use base::sync::{Arc, model, spawn};

    fn put(ring: &Ring, fill: u8) {
        let at = ring.reserve(8);
        ring.fill(at, &[fill; 8]);
        ring.link(at, Lsn(at.0 + 8));
        ring.advance();
    }

    /// Each thread walks after its own record: whoever comes last, all of it counts as complete.
    #[test]
    fn no_record_is_left_incomplete() {
        model(|| {
            let ring = Arc::new(Ring::new(32, 32, Lsn(8)));
            let other = ring.clone();
            let t = spawn(move || put(&other, 1));
            put(&ring, 2);
            t.join().unwrap();
            assert_eq!(ring.complete_seen(), ring.reserved());
        });
    }

    /// What counts as complete can be read as a whole.
    #[test]
    fn what_is_complete_is_whole() {
        model(|| {
            let ring = Arc::new(Ring::new(32, 32, Lsn(8)));
            let threads: Vec<_> = [1, 2]
                .map(|fill| {
                    let ring = ring.clone();
                    spawn(move || put(&ring, fill))
                })
                .into();
            let end = ring.advance();
            for at in (8..end.0).step_by(8) {
                let mut out = [0; 8];
                assert!(ring.copy_out(Lsn(at), &mut out));
                assert!(out == [1; 8] || out == [2; 8], "{out:?}");
            }
            threads.into_iter().for_each(|t| t.join().unwrap());
        });
    }
}
