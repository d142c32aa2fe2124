//! The seams in memory, for tests: a disk that keeps synced and unsynced bytes apart and can lose the latter, and a
//! clock moved by hand.

mod clock;
mod disk;

pub use clock::ManualClock;
pub use disk::MemDisk;

use crate::real::{ProcessRandom, RealClock, Threads};
use crate::seams::Seams;
use std::sync::Arc;

/// Seams over `disk`, with the real clock and real threads.
pub fn seams(disk: Arc<MemDisk>) -> Seams {
    Seams {
        disk,
        clock: Arc::new(RealClock::new()),
        random: Arc::new(ProcessRandom::default()),
        spawn: Arc::new(Threads),
    }
}
