//! The environment in memory, for tests: a disk that keeps synced and unsynced bytes apart and can lose the latter, and a
//! clock moved by hand.

mod clock;
mod disk;

pub use clock::ManualClock;
pub use disk::MemDisk;

use crate::environment::Environment;
use crate::real::{ProcessRandom, RealClock, Threads};
use std::sync::Arc;

/// Environment over `disk`, with the real clock and real threads.
pub fn environment(disk: Arc<MemDisk>) -> Environment {
    Environment {
        disk,
        clock: Arc::new(RealClock::new()),
        random: Arc::new(ProcessRandom::default()),
        spawn: Arc::new(Threads),
    }
}
