//! The one generator of pseudorandom numbers: SplitMix64 (Steele, Lea & Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
//!
//! Fast, seeded and repeatable: for tests, simulations and the choices of an engine. Never for secrets: one number tells all that follow.
//! (RAND() in SQL has MySQL's own generator.)

/// The odd number by which the state goes on: 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of pseudorandom numbers.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The stream of a seed for `what`, so that drawing more of one thing does not shift another.
    pub fn stream(seed: u64, what: u64) -> SplitMix64 {
        let mut r = SplitMix64(seed ^ what.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        r.next();
        r
    }

    /// 64 bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// Below `n`; 0 for 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// In `from..=to`.
    pub fn within(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }

    /// True once in `n`.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// True in `p` of 100.
    pub fn percent(&mut self, p: u64) -> bool {
        self.below(100) < p
    }

    /// Up to `most`, small ones as likely as large ones.
    pub fn log_up_to(&mut self, most: u64) -> u64 {
        let bits = 64 - u64::from(most.leading_zeros());
        let b = self.below(bits) + 1;
        1 + self.below((1u64 << b).min(most))
    }

    /// One of `of`.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// The number that stands at a state.
const fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The stream, shared by threads.
#[derive(Debug)]
pub struct SharedSplitMix64(std::sync::atomic::AtomicU64);

impl SharedSplitMix64 {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> SharedSplitMix64 {
        SharedSplitMix64(std::sync::atomic::AtomicU64::new(seed))
    }

    /// 64 bits.
    pub fn next(&self) -> u64 {
        let before = self
            .0
            .fetch_add(GAMMA, std::sync::atomic::Ordering::Relaxed);
        mix(before.wrapping_add(GAMMA))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_paper() {
        // As the authors' Java and all ports give them.
        let mut r = SplitMix64::new(1_234_567);
        let shared = SharedSplitMix64::new(1_234_567);
        for expected in [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ] {
            assert_eq!((r.next(), shared.next()), (expected, expected));
        }
    }

    #[test]
    fn bounds_are_kept() {
        let mut r = SplitMix64::new(1);
        for n in 1..1000 {
            assert!(r.below(n) < n);
            assert!((5..=5 + n).contains(&r.within(5, 5 + n)));
            assert!((1..=n).contains(&r.log_up_to(n)));
        }
        assert_eq!(r.below(0), 0);
    }
}
