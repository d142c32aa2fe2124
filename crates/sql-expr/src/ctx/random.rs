//! The numbers of RAND() and RAND(n): MySQL's two-seed generator, one state a session and one for each seeded call.
//!
//! They are for queries, never for secrets: whoever sees two of them can tell the next.

use base::lock::Mutex;
use std::sync::Arc;

use super::EvalCtx;

const RAND_MAX: u32 = 0x3FFF_FFFF;

/// MySQL's two-seed generator, so that RAND(n) gives the numbers its users know.
fn next_random(s: &mut [u32; 2]) -> f64 {
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

    fn next(&self) -> f64 {
        next_random(&mut self.0.lock())
    }
}

impl EvalCtx<'_> {
    /// The next number of RAND(), in [0, 1).
    pub(crate) fn random(&self) -> f64 {
        self.facts.chance.next()
    }

    /// The next number of a RAND(n) that stands at `call`; `seed` is used the first time, or always with
    /// `restart`.
    pub(crate) fn seeded_random(&self, call: usize, seed: i64, restart: bool) -> f64 {
        let fresh = || {
            let n = seed as u32;
            [
                n.wrapping_mul(0x10001).wrapping_add(55_555_555) % RAND_MAX,
                n.wrapping_mul(0x1000_0001) % RAND_MAX,
            ]
        };
        let mut s = self.state();
        match s.seeded.iter_mut().find(|(c, _)| *c == call) {
            Some((_, rng)) => {
                if restart {
                    *rng = fresh();
                }
                next_random(rng)
            }
            None => {
                let mut rng = fresh();
                let r = next_random(&mut rng);
                s.seeded.push((call, rng));
                r
            }
        }
    }
}
