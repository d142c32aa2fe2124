//! Where a table's figures are: each thread's readers have an owner's handle of their own, so that planning moves no cache line between cores.

use super::{Histogram, TableStats};
use base::counters::{SHARDS, shard};
use base::lock::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[repr(align(128))]
#[derive(Default)]
struct Slot(Mutex<Option<Arc<TableStats>>>);

/// The figures of a table; those of its next definition have another cell.
#[derive(Default)]
pub(crate) struct StatsCell {
    version: AtomicU64,
    slots: [Slot; SHARDS],
    histograms: Mutex<Arc<[Histogram]>>,
    /// Held by whoever replaces the figures.
    replacing: Mutex<()>,
}

impl StatsCell {
    /// With these figures, as they are.
    pub(crate) fn with(stats: TableStats, histograms: Arc<[Histogram]>) -> StatsCell {
        let cell = StatsCell::default();
        cell.set(stats);
        cell.put_histograms(histograms);
        cell
    }

    /// The figures, if there are any. Locks what only this thread's readers and replacements lock, for a moment.
    #[inline]
    pub(crate) fn get(&self) -> Option<Arc<TableStats>> {
        if self.version() == 0 {
            return None;
        }
        self.slots[shard()].0.lock().clone()
    }

    /// The figures' version; 0: there are none.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Replaces the figures, whose version follows from those before.
    pub(crate) fn put(&self, mut stats: TableStats) {
        let _replacing = self.replacing.lock();
        stats.version = self.version() + 1;
        self.set(stats);
    }

    /// Sets the figures with their version.
    pub(crate) fn set(&self, stats: TableStats) {
        for slot in &self.slots {
            // The handles are apart, what they lead to is shared.
            let own = Arc::new(stats.clone());
            *slot.0.lock() = Some(own);
        }
        self.version.store(stats.version, Ordering::Release);
    }

    pub(crate) fn histograms(&self) -> Arc<[Histogram]> {
        self.histograms.lock().clone()
    }

    pub(crate) fn put_histograms(&self, histograms: Arc<[Histogram]>) {
        *self.histograms.lock() = histograms;
    }
}
