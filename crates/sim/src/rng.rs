//! Chance from a seed: the only source of it in a simulation. Never asks the clock, the kernel or an address.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator of its own for `what`, so that drawing more of one thing does not shift another.
    pub fn new(seed: u64, what: u64) -> Rng {
        let mut r = Rng(seed ^ what.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        r.next();
        r
    }

    /// 64 bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `n`; 0 for 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        ((self.next() as u128 * n as u128) >> 64) as u64
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
        let bits = 64 - most.leading_zeros() as u64;
        let b = self.below(bits) + 1;
        1 + self.below((1u64 << b).min(most))
    }

    /// One of `of`.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}
