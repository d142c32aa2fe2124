//! The numbers of RAND() and RAND(n): MySQL's two-seed generator, one state a session and one for each seeded call.
//!
//! They are for queries, never for secrets: whoever sees two of them can tell the next.

use base::lock::Mutex;
use std::sync::Arc;

pub(super) const RAND_MAX: u32 = 0x3FFF_FFFF;

/// MySQL's two-seed generator, so that RAND(n) gives the numbers its users know.
pub(super) fn next_random(s: &mut [u32; 2]) -> f64 {
    let max = u64::from(RAND_MAX);
    let a = (u64::from(s[0]) * 3 + u64::from(s[1])) % max;
    let b = (a + u64::from(s[1]) + 33) % max;
    *s = [a as u32, b as u32];
    a as f64 / f64::from(RAND_MAX)
}

/// Where RAND() of a connection stands: one statement goes on where the one before ended.
#[derive(Debug, Clone)]
pub struct RandState(Arc<Mutex<[u32; 2]>>);

impl RandState {
    /// Starts anew from a seed.
    pub fn new(seed: u64) -> RandState {
        let at = [(seed >> 32) as u32 % RAND_MAX, seed as u32 % RAND_MAX];
        RandState(Arc::new(Mutex::new(at)))
    }

    /// Sets one of the two seeds, as `rand_seed1` (0) and `rand_seed2` (1) do.
    pub fn set(&self, which: usize, seed: u32) {
        let mut at = self.0.lock();
        if let Some(place) = at.get_mut(which) {
            *place = seed;
        }
    }

    pub(super) fn next(&self) -> f64 {
        next_random(&mut self.0.lock())
    }
}
