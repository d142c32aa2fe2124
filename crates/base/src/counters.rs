//! Counters sharded by thread, so that counting never moves a cache line between cores. Reading sums the shards.
//!
//! A thread that counts has a shard of its own as long as there are any, and needs no atomic addition there, which would cost as much
//! as some twenty plain ones. Those that come when none is left share the rest in turn.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Number of shards of what is not a [`Counter`]; threads beyond it share them.
pub const SHARDS: usize = 16;

/// Shards of a counter.
const ALL: usize = 64;
/// The first of them that several threads share; those before it have one owner each.
const SHARED: usize = 48;

/// Which shards cannot be had for oneself: a bit for each.
static TAKEN: AtomicU64 = AtomicU64::new(u64::MAX << SHARED);

/// Threads that came when none was left.
static SHARERS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
    static LEASE: Lease = Lease::acquire();
}

/// A shard, which is its thread's until that ends.
struct Lease(usize);

impl Lease {
    fn acquire() -> Lease {
        let free = |taken: u64| (taken != u64::MAX).then(|| taken | (taken + 1));
        let before = TAKEN.fetch_update(Ordering::Acquire, Ordering::Relaxed, free);
        let shared = |_| SHARED + SHARERS.fetch_add(1, Ordering::Relaxed) % (ALL - SHARED);
        Lease(before.map_or_else(shared, |taken| taken.trailing_ones() as usize))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Others of the thread's values may count when they are dropped.
        let _ = SHARD.try_with(|s| s.set(SHARED));
        if self.0 < SHARED {
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
    let v = LEASE.try_with(|l| l.0).unwrap_or(SHARED);
    SHARD.set(v);
    v
}

/// A number of the calling thread, the same until it ends. No other has it at the same time, as long as there are fewer than 48 of them.
#[inline]
pub fn thread_number() -> usize {
    own()
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
#[derive(Debug)]
pub struct Counter {
    shards: [Padded; ALL],
}

impl Default for Counter {
    fn default() -> Counter {
        Counter {
            shards: std::array::from_fn(|_| Padded::default()),
        }
    }
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
        if own < SHARED {
            // Nobody else writes it.
            let more = count.load(Ordering::Relaxed).wrapping_add(n);
            count.store(more, Ordering::Relaxed);
        } else {
            count.fetch_add(n, Ordering::Relaxed);
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
        let all_there = std::sync::Barrier::new(ALL + 8);
        for round in 1..4 {
            std::thread::scope(|s| {
                for _ in 0..ALL + 8 {
                    s.spawn(|| {
                        c.inc();
                        all_there.wait();
                        (1..1000).for_each(|_| c.inc());
                    });
                }
            });
            assert_eq!(c.get(), round * (ALL as u64 + 8) * 1000);
        }
        let used = |s: &&Padded| s.0.load(Ordering::Relaxed) > 0;
        let shared = c.shards[SHARED..].iter().filter(used).count();
        assert!(shared > (ALL - SHARED) / 2, "{shared} shards are shared");
    }
}
