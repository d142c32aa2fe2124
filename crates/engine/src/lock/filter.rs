//! Hashing of lock names and the counting filter before the table: a row nobody locked explicitly costs one load.

use std::sync::atomic::{AtomicU32, Ordering};

const K: u64 = 0x9E37_79B9_7F4A_7C15;

fn fold(a: u64, b: u64) -> u64 {
    let m = u128::from(a) * u128::from(b);
    (m as u64) ^ ((m >> 64) as u64)
}

/// A 64-bit hash of (index, key) by folded multiplication (as in wyhash), under a seed so that keys chosen by a client
/// cannot be aimed at one bucket.
#[inline]
pub(super) fn hash(seed: u64, index: u32, key: &[u8]) -> u64 {
    let mut h = seed ^ (u64::from(index).wrapping_mul(K));
    let (words, rest) = key.as_chunks::<8>();
    for w in words {
        h = fold(h ^ u64::from_le_bytes(*w), K);
    }
    let mut last = [0u8; 8];
    last[..rest.len()].copy_from_slice(rest);
    h = fold(h ^ u64::from_le_bytes(last), seed | 1);
    fold(h ^ key.len() as u64, K)
}

/// Counts per hash bucket. A zero proves absence.
pub(super) struct Filter {
    counts: Box<[AtomicU32]>,
}

impl Filter {
    /// A filter of `n` buckets, a power of two.
    pub(super) fn new(n: usize) -> Filter {
        Filter {
            counts: (0..n).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    #[inline]
    fn bucket(&self, hash: u64) -> &AtomicU32 {
        &self.counts[(hash >> 32) as usize & (self.counts.len() - 1)]
    }

    #[inline]
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        self.bucket(hash).load(Ordering::SeqCst) != 0
    }

    pub(super) fn add(&self, hash: u64) {
        self.bucket(hash).fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn remove(&self, hash: u64) {
        self.bucket(hash).fetch_sub(1, Ordering::SeqCst);
    }
}
