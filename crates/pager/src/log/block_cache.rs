//! Blocks of the log that were read back, kept by need and up to a share of the buffer pool, in stripes that threads share.
//!
//! They are small: a version chain of a row that changes with thousands of others has each of its records in another block, and the next row's
//! chain has its records in the same ones. What nobody can need any more is given up with the log's files.

use base::Lsn;
use base::lock::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of the log that are kept and given up together.
pub(super) const BLOCK: u64 = 16 << 10;
/// Neighbours are in different ones.
const STRIPES: usize = 16;
/// Bytes that are kept at most, and the least that this may be.
const MOST: u64 = 32 << 20;
const LEAST: u64 = 4 << 20;

/// A part of a file, as it was when it was read.
pub(super) struct CachedBlock {
    /// Up to here the log was written then.
    pub(super) end: u64,
    pub(super) bytes: Box<[u8]>,
}

/// Some of the blocks.
#[derive(Default)]
struct Stripe {
    /// By their first position.
    blocks: HashMap<u64, Arc<CachedBlock>>,
    /// Their first positions, to draw one from.
    starts: Vec<u64>,
    drawn: u64,
}

/// The blocks that were read back.
pub(super) struct Blocks {
    stripes: [Mutex<Stripe>; STRIPES],
    /// Blocks of a stripe, at most.
    most: usize,
}

impl Stripe {
    fn insert(&mut self, start: u64, block: Arc<CachedBlock>, most: usize) {
        if self.blocks.insert(start, block).is_some() {
            return;
        }
        if self.starts.len() >= most {
            // Any of them: whoever goes through more blocks than there is room for, and begins again, would never find one where the oldest goes.
            self.drawn = self
                .drawn
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let i = (self.drawn >> 33) as usize % self.starts.len();
            let gone = self.starts.swap_remove(i);
            self.blocks.remove(&gone);
        }
        self.starts.push(start);
    }
}

impl Blocks {
    /// As many as fit a buffer pool of so many bytes.
    pub(super) fn for_pool(pool_bytes: u64) -> Blocks {
        let bytes = (pool_bytes / 16).clamp(LEAST, MOST);
        Blocks {
            stripes: Default::default(),
            most: (bytes / BLOCK) as usize / STRIPES,
        }
    }

    fn stripe(&self, start: u64) -> MutexGuard<'_, Stripe> {
        let stripe = &self.stripes[(start / BLOCK) as usize % STRIPES];
        stripe.lock()
    }

    /// The block that begins at `start`, if it holds the log's byte `at`.
    pub(super) fn get(&self, start: u64, at: u64) -> Option<Arc<CachedBlock>> {
        let block = self.stripe(start).blocks.get(&start).cloned();
        block.filter(|b| at < b.end)
    }

    /// Keeps a block that was read.
    pub(super) fn insert(&self, start: u64, block: CachedBlock) {
        self.stripe(start).insert(start, Arc::new(block), self.most);
    }

    /// Gives up what lies before `lsn`.
    pub(super) fn forget_before(&self, lsn: Lsn) {
        for stripe in &self.stripes {
            let mut s = stripe.lock();
            let Stripe { blocks, starts, .. } = &mut *s;
            starts.retain(|start| start + BLOCK > lsn.0);
            blocks.retain(|start, _| start + BLOCK > lsn.0);
            if starts.is_empty() {
                *s = Stripe::default();
            }
        }
    }

    /// Bytes kept.
    #[cfg(test)]
    fn bytes(&self) -> u64 {
        let of = |s: &Mutex<Stripe>| s.lock().starts.len() as u64 * BLOCK;
        self.stripes.iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u64) -> CachedBlock {
        CachedBlock {
            end: start + BLOCK,
            bytes: vec![0; BLOCK as usize].into(),
        }
    }

    #[test]
    fn blocks_are_kept_up_to_their_share_and_given_up_with_the_log() {
        let blocks = Blocks::for_pool(0);
        for n in 0..4096 {
            blocks.insert(n * BLOCK, block(n * BLOCK));
        }
        assert_eq!(blocks.bytes(), LEAST);
        blocks.forget_before(Lsn(4000 * BLOCK));
        assert!(blocks.bytes() < 100 * BLOCK);
        assert!((4000..4096).any(|n| blocks.get(n * BLOCK, n * BLOCK).is_some()));
        blocks.forget_before(Lsn(5000 * BLOCK));
        assert_eq!(blocks.bytes(), 0);
    }

    #[test]
    fn who_goes_round_through_more_than_there_is_room_for_finds_some() {
        let blocks = Blocks::for_pool(0);
        let n = LEAST / BLOCK * 3 / 2;
        let mut found = 0;
        for i in 0..10 * n {
            let start = i % n * BLOCK;
            match blocks.get(start, start) {
                Some(_) => found += 1,
                None => blocks.insert(start, block(start)),
            }
        }
        assert!(found > 3 * n, "{found} of {}", 10 * n);
    }
}
