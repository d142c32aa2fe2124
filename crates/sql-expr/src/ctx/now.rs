//! What changes while a statement runs, or from one to the next: the statement's time, the clock's for SYSDATE(), the numbers of RAND().

use types::temporal::DateTime;

use super::EvalCtx;
use super::random::{RAND_MAX, next_random};

impl EvalCtx<'_> {
    /// The statement's time in the session's zone, with `fsp` digits of fraction.
    pub fn now(&self, fsp: u8) -> DateTime {
        let local = self.zone.local(self.now_micros);
        local.map_or(DateTime::ZERO, |d| d.truncate(fsp))
    }

    /// The time of the clock in the session's zone, which goes on while a statement runs.
    pub fn wall_now(&self, fsp: u8) -> DateTime {
        let Some(clock) = &self.facts.clock.0 else {
            return self.now(fsp);
        };
        let local = self.zone.local(clock.wall_us());
        local.map_or(DateTime::ZERO, |d| d.truncate(fsp))
    }

    /// The statement's time in UTC, with `fsp` digits of fraction.
    pub fn utc_now(&self, fsp: u8) -> DateTime {
        DateTime::from_unix_micros(self.now_micros, 6).map_or(DateTime::ZERO, |d| d.truncate(fsp))
    }

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
