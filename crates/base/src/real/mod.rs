//! The environment on Linux: io_uring (or a thread pool where it is refused), the system clock with one timer thread, OS
//! threads for background tasks.

mod background_throttle;
mod deferred_close;
mod disk;
pub mod file_modes;
mod operation;
mod peer;
mod pool;
mod single_client;
mod thread_ring;
mod timer;
mod uring;

pub use background_throttle::{lower_priority, throttle};
pub use disk::{RealDisk, free_bytes};
pub use peer::has_hung_up;
pub use single_client::{ActiveRequest, dedicate_to_requests, is_alone, pin_requests};
pub use thread_ring::ThreadRing;
pub use timer::RealClock;

use crate::environment::{Environment, Random, Spawn, Task};
use crate::rng::SharedSplitMix64;
use std::io;
use std::sync::Arc;
use std::task::Context;

/// Each task on an OS thread of its own.
pub struct Threads;

fn start(name: &str, throttled: bool, task: Task) -> io::Result<()> {
    let thread = std::thread::Builder::new().name(name.to_string());
    let run = move || {
        if throttled {
            background_throttle::begin();
        }
        crate::block_on::park_on(task);
    };
    thread.spawn(run).map(|_| ())
}

impl Spawn for Threads {
    fn spawn(&self, name: &str, task: Task) {
        let started = start(name, false, task);
        assert!(started.is_ok(), "cannot start thread {name}: {started:?}");
    }

    fn spawn_work(&self, name: &str, throttled: bool, task: Task) -> io::Result<()> {
        start(name, throttled, task)
    }

    fn yield_now(&self, cx: &mut Context<'_>) {
        background_throttle::throttle();
        cx.waker().wake_by_ref();
    }

    fn is_alone(&self) -> bool {
        is_alone()
    }
}

/// Seeded from the standard library's per-process random state.
pub struct ProcessRandom(SharedSplitMix64);

impl Default for ProcessRandom {
    fn default() -> Self {
        use std::hash::{BuildHasher, Hasher};
        ProcessRandom(SharedSplitMix64::new(
            std::collections::hash_map::RandomState::new()
                .build_hasher()
                .finish(),
        ))
    }
}

impl Random for ProcessRandom {
    fn next_u64(&self) -> u64 {
        self.0.next()
    }
}

/// The real environment: io_uring if the kernel allows it, else threads.
pub fn environment() -> Environment {
    Environment {
        disk: Arc::new(RealDisk::new()),
        clock: Arc::new(RealClock::new()),
        random: Arc::new(ProcessRandom::default()),
        spawn: Arc::new(Threads),
    }
}
