//! Where a table's figures are: each thread's readers have an owner's handle of their own, so that planning moves no cache line between cores.

use super::TableStats;
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
}

impl StatsCell {
    /// With the figures of a table as it was before, mapped to this one's definition.
    pub(crate) fn with(stats: TableStats) -> StatsCell {
        let cell = StatsCell::default();
        cell.put(stats);
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

    /// Replaces the figures. One task does at a time.
    pub(crate) fn put(&self, stats: TableStats) {
        for slot in &self.slots {
            // The handles are apart, what they lead to is shared.
            let own = Arc::new(stats.clone());
            *slot.0.lock() = Some(own);
        }
        self.version.store(stats.version, Ordering::Release);
    }
}
