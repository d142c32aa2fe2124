//! From a page number to its frame: an array per tablespace in chunks of doubling size, so that nothing moves when it
//! grows and there is nothing to partition. (Array translation: Leis et al., "Virtual-Memory Assisted Buffer Management",
//! SIGMOD 2023, which does it with page tables; here it is one atomic word a page.)

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST_BITS: u32 = 6;
const CHUNKS: usize = 27;

/// Page number → frame number.
pub(crate) struct Translation {
    chunks: [OnceLock<Box<[AtomicU32]>>; CHUNKS],
}

#[inline(always)]
fn place(page: u32) -> (usize, usize) {
    // Chunk 0 holds pages 0..64, chunk k ≥ 1 holds 64·2^(k-1) .. 64·2^k.
    let chunk = (32 - (page >> FIRST_BITS).leading_zeros()) as usize;
    if chunk == 0 {
        (0, page as usize)
    } else {
        (
            chunk,
            page as usize - (1usize << (FIRST_BITS as usize + chunk - 1)),
        )
    }
}

impl Translation {
    pub(crate) fn new() -> Translation {
        Translation {
            chunks: [const { OnceLock::new() }; CHUNKS],
        }
    }

    #[inline(always)]
    fn slot(&self, page: u32) -> Option<&AtomicU32> {
        let (c, i) = place(page);
        self.chunks.get(c)?.get()?.get(i)
    }

    /// The frame of a resident page.
    #[inline(always)]
    pub(crate) fn get(&self, page: u32) -> Option<u32> {
        match self.slot(page) {
            Some(s) => s.load(Ordering::Acquire).checked_sub(1),
            None => None,
        }
    }

    /// Enters (or with `None` removes) a page.
    pub(crate) fn set(&self, page: u32, frame: Option<u32>) {
        let (c, i) = place(page);
        let len = 1usize << (FIRST_BITS as usize + c.max(1) - 1);
        let chunk = self.chunks[c].get_or_init(|| (0..len).map(|_| AtomicU32::new(0)).collect());
        chunk[i].store(frame.map_or(0, |f| f + 1), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_place_of_its_own() {
        let t = Translation::new();
        for p in (0..5000).chain([1 << 20, (1 << 20) + 1]) {
            assert_eq!(t.get(p), None);
            t.set(p, Some(p));
        }
        for p in (0..5000).chain([1 << 20, (1 << 20) + 1]) {
            assert_eq!(t.get(p), Some(p), "page {p}");
        }
        t.set(77, None);
        assert_eq!(t.get(77), None);
        assert_eq!(place(63), (0, 63));
        assert_eq!(place(64), (1, 0));
        assert_eq!(place(128), (2, 0));
        assert_eq!(place(u32::MAX).0, 26);
    }
}
