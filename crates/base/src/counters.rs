//! Counters sharded by thread, so that counting never moves a cache line between cores. Reading sums the shards.
//!
//! A thread that counts has a shard of its own as long as there are any, and needs no atomic addition there, which would cost as much
//! as some twenty plain ones. Those that come when none is left share the last.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Number of shards of what is not a [`Counter`]; threads beyond it share one.
pub const SHARDS: usize = 16;

/// Shards of a counter: one for each bit of [`TAKEN`], the last of which is everybody's.
const OWN: usize = 32;
const EVERYBODYS: usize = OWN - 1;

/// Which shards have an owner.
static TAKEN: AtomicU32 = AtomicU32::new(1 << EVERYBODYS);

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
    static LEASE: Lease = Lease::take();
}

/// A shard, which is its thread's until that ends.
struct Lease(usize);

impl Lease {
    fn take() -> Lease {
        let free = |taken: u32| (taken != u32::MAX).then(|| taken | (taken + 1));
        let before = TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, free);
        Lease(before.map_or(EVERYBODYS, |taken| taken.trailing_ones() as usize))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Others of the thread's values may count when they are dropped.
        let _ = SHARD.try_with(|s| s.set(EVERYBODYS));
        if self.0 != EVERYBODYS {
            // Release: the next owner goes on from what this one counted.
            TAKEN.fetch_and(!(1 << self.0), Ordering::Release);
        }
    }
}

/// The calling thread's shard of counters.
#[inline]
fn own() -> usize {
    match SHARD.get() {
        usize::MAX => first(),
        v => v,
    }
}

#[cold]
fn first() -> usize {
    let v = LEASE.try_with(|l| l.0).unwrap_or(EVERYBODYS);
    SHARD.set(v);
    v
}

/// The calling thread's shard number, below [`SHARDS`], the same until the thread ends. Others may have the same.
#[inline]
pub fn shard() -> usize {
    own() % SHARDS
}

#[repr(align(128))]
#[derive(Default, Debug)]
struct Padded(AtomicU64);

/// A monotonic event counter.
#[derive(Default, Debug)]
pub struct Counter {
    shards: [Padded; OWN],
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
        let own = own();
        let count = &self.shards[own].0;
        match own {
            EVERYBODYS => _ = count.fetch_add(n, Ordering::Relaxed),
            // Nobody else writes it.
            _ => count.store(
                count.load(Ordering::Relaxed).wrapping_add(n),
                Ordering::Relaxed,
            ),
        }
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

    #[test]
    fn more_threads_than_shards_add_up() {
        let c = Counter::new();
        let all_there = std::sync::Barrier::new(OWN + 8);
        for round in 1..4 {
            std::thread::scope(|s| {
                for _ in 0..OWN + 8 {
                    s.spawn(|| {
                        c.inc();
                        all_there.wait();
                        (1..1000).for_each(|_| c.inc());
                    });
                }
            });
            assert_eq!(c.get(), round * (OWN as u64 + 8) * 1000);
        }
    }
}
