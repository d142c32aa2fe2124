//! The clock and the randomness that an expression sees. Never the machine's own.

use std::sync::Arc;

use base::Clock;
use base::environment::Random;

/// The clock that SYSDATE() reads; none in tests, where it gives the statement's time.
#[derive(Clone, Default)]
pub struct WallClock(pub Option<Arc<dyn Clock>>);

impl std::fmt::Debug for WallClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("clock")
    }
}

/// What RANDOM_BYTES() reads; none in tests, where the numbers follow from the seed.
#[derive(Clone, Default)]
pub struct RandomSource(pub Option<Arc<dyn Random>>);

impl std::fmt::Debug for RandomSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("randomness")
    }
}
