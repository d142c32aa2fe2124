//! Tables whose figures are to be made, and from when on. The work is in [`crate::sampling`].

use base::Event;
use base::lock::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The tables that wait, by their ids.
pub(crate) struct SamplingQueue {
    /// The clock's time from which on each may be looked at.
    waiting: Mutex<BTreeMap<u32, u64>>,
    /// Grows with each table that is put in or moved.
    asked: AtomicU64,
    /// Fired when there is more, and when the engine stops.
    pub(crate) event: Event,
    /// Figures are made without being asked for.
    pub(crate) on: AtomicBool,
}

impl SamplingQueue {
    pub(crate) fn new() -> SamplingQueue {
        SamplingQueue {
            waiting: Mutex::default(),
            asked: AtomicU64::new(0),
            event: Event::new(),
            on: AtomicBool::new(true),
        }
    }

    /// A table's figures are to be made from `at` on.
    pub(crate) fn ask(&self, table: u32, at: u64) {
        {
            let mut waiting = self.waiting.lock();
            let known = waiting.entry(table).or_insert(at);
            *known = (*known).min(at);
        }
        self.asked.fetch_add(1, Ordering::Release);
        if !base::mutant!("sample-wanted-without-a-word") {
            self.event.fire();
        }
    }

    /// How often something was put in.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Acquire)
    }

    /// The table that comes next, and when.
    pub(crate) fn next(&self) -> Option<(u32, u64)> {
        let waiting = self.waiting.lock();
        let first = waiting.iter().min_by_key(|(_, at)| **at);
        first.map(|(id, at)| (*id, *at))
    }

    /// A table needs no figures, or has its turn.
    pub(crate) fn remove(&self, table: u32) {
        self.waiting.lock().remove(&table);
    }
}
