//! Seeded chance for the harness: a run can be told apart, and its decisions repeated, by one printed number.
//!
//! The generator is the workspace's, `base::SplitMix64`.

use base::SplitMix64;

/// A stream of pseudorandom numbers.
#[derive(Debug, Clone)]
pub struct Rng(SplitMix64);

impl Rng {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Rng {
        Rng(SplitMix64::new(seed))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next()
    }

    /// A number in `0..bound`; 0 where `bound` is 0. By remainder, unlike `SplitMix64::below`: seeds that are written down keep their
    /// meaning. The bias is below 2^-32 for the bounds used here.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            0
        } else {
            self.next_u64() % bound
        }
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A seed that differs from run to run.
pub fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos() as u64);
    Rng::new(now ^ u64::from(std::process::id())).next_u64() >> 16
}
