//! Counters sharded by thread, so that counting never moves a cache line between cores. Reading sums the shards.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Number of shards; threads beyond it share one.
pub const SHARDS: usize = 16;

static NEXT_SHARD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The calling thread's shard number, below [`SHARDS`], fixed for the thread's life.
#[inline]
pub fn shard() -> usize {
    SHARD.with(|s| {
        let v = s.get();
        if v != usize::MAX {
            return v;
        }
        let v = NEXT_SHARD.fetch_add(1, Ordering::Relaxed) % SHARDS;
        s.set(v);
        v
    })
}

#[repr(align(128))]
#[derive(Default, Debug)]
struct Padded(AtomicU64);

/// A monotonic event counter.
#[derive(Default, Debug)]
pub struct Counter {
    shards: [Padded; SHARDS],
}

impl Counter {
    /// A counter at zero.
    pub fn new() -> Counter {
        Counter::default()
    }

    /// Adds one.
    #[inline]
    pub fn inc(&self) {
        self.add(1);
    }

    /// Adds `n`.
    ///
    /// With `--cfg tidemill_uncounted` it does nothing: that build exists to measure what counting costs.
    #[inline]
    pub fn add(&self, n: u64) {
        if cfg!(tidemill_uncounted) {
            return;
        }
        self.shards[shard()].0.fetch_add(n, Ordering::Relaxed);
    }

    /// The sum of all shards; concurrent additions may or may not be in it.
    pub fn get(&self) -> u64 {
        self.shards
            .iter()
            .map(|s| s.0.load(Ordering::Relaxed))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let c = Counter::new();
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..1000).for_each(|_| c.inc()));
            }
        });
        assert_eq!(c.get(), 4000);
    }
}
