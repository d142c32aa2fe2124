//! The clock that an expression sees. Never the machine's own.

use std::sync::Arc;

use base::Clock;
/// The clock that SYSDATE() reads; none in tests, where it gives the statement's time.
#[derive(Clone, Default)]
pub struct WallClock(pub Option<Arc<dyn Clock>>);

impl std::fmt::Debug for WallClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("clock")
    }
}
