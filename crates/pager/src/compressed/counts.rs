//! What compression and decompression came to, for those who look whether it pays.

use base::lock::Mutex;
use base::{Clock, SpaceId, le};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The sizes of blocks there are, in bytes; the first for tables that name none.
const BLOCKS: [u32; 6] = [512, 1024, 2048, 4096, 8192, 16384];

/// Pages compressed and decompressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompressionCounts {
    /// Pages that were to be compressed.
    pub compressions: u64,
    /// Of these, pages that compressed into a block, or into less than they are where no block was named.
    pub compressions_ok: u64,
    /// Microseconds that took.
    pub compressions_us: u64,
    /// Pages decompressed.
    pub decompressions: u64,
    /// Microseconds that took.
    pub decompressions_us: u64,
}

impl CompressionCounts {
    fn add(&mut self, n: &CompressionCounts) {
        self.compressions += n.compressions;
        self.compressions_ok += n.compressions_ok;
        self.compressions_us += n.compressions_us;
        self.decompressions += n.decompressions;
        self.decompressions_us += n.decompressions_us;
    }
}

#[derive(Default)]
struct Cell {
    compressions: AtomicU64,
    compressions_ok: AtomicU64,
    compressions_us: AtomicU64,
    decompressions: AtomicU64,
    decompressions_us: AtomicU64,
}

impl Cell {
    fn add(&self, n: &CompressionCounts) {
        let add = |to: &AtomicU64, n: u64| to.fetch_add(n, Ordering::Relaxed);
        add(&self.compressions, n.compressions);
        add(&self.compressions_ok, n.compressions_ok);
        add(&self.compressions_us, n.compressions_us);
        add(&self.decompressions, n.decompressions);
        add(&self.decompressions_us, n.decompressions_us);
    }

    fn get(&self, reset: bool) -> CompressionCounts {
        let take = |n: &AtomicU64| match reset {
            true => n.swap(0, Ordering::Relaxed),
            false => n.load(Ordering::Relaxed),
        };
        CompressionCounts {
            compressions: take(&self.compressions),
            compressions_ok: take(&self.compressions_ok),
            compressions_us: take(&self.compressions_us),
            decompressions: take(&self.decompressions),
            decompressions_us: take(&self.decompressions_us),
        }
    }
}

/// A tablespace and an index in it; 0 for pages that belong to none.
pub type IndexOf = (SpaceId, u32);

/// The counters of an open directory, since it was opened or since they were last reset.
#[derive(Default)]
pub struct CompressionCounters {
    cells: [Cell; BLOCKS.len()],
    clock: OnceLock<Arc<dyn Clock>>,
    per_index: AtomicBool,
    indexes: Mutex<BTreeMap<IndexOf, CompressionCounts>>,
}

impl CompressionCounters {
    /// What time is read from. Until then all takes no time.
    pub(crate) fn set_clock(&self, clock: &Arc<dyn Clock>) {
        let _ = self.clock.set(clock.clone());
    }

    /// Runs `f`: what it gives, and the microseconds it took.
    pub(crate) fn timed<R>(&self, f: impl FnOnce() -> R) -> (R, u64) {
        let now_us = || self.clock.get().map_or(0, |c| c.now_us());
        let begun = now_us();
        let r = f();
        (r, now_us().saturating_sub(begun))
    }

    /// A page was to be compressed, into a block of so many bytes.
    pub(crate) fn compressed(&self, block: u32, space: SpaceId, page: &[u8], ok: bool, us: u64) {
        let n = CompressionCounts {
            compressions: 1,
            compressions_ok: u64::from(ok),
            compressions_us: us,
            ..CompressionCounts::default()
        };
        self.add(block, space, page, n);
    }

    /// A page was decompressed.
    pub(crate) fn decompressed(&self, block: u32, space: SpaceId, page: &[u8], us: u64) {
        let n = CompressionCounts {
            decompressions: 1,
            decompressions_us: us,
            ..CompressionCounts::default()
        };
        self.add(block, space, page, n);
    }

    fn add(&self, block: u32, space: SpaceId, page: &[u8], n: CompressionCounts) {
        if let Some(i) = BLOCKS.iter().position(|b| *b == block) {
            self.cells[i].add(&n);
        }
        if self.per_index.load(Ordering::Relaxed) {
            let of = (space, le::get_u32_or0(page, 24));
            let mut indexes = self.indexes.lock();
            indexes.entry(of).or_default().add(&n);
        }
    }

    /// All of them by the block's bytes, set back to zero if `reset` says so.
    pub fn all(&self, reset: bool) -> Vec<(u32, CompressionCounts)> {
        let cells = BLOCKS.iter().zip(&self.cells);
        cells.map(|(block, c)| (*block, c.get(reset))).collect()
    }

    /// Whether each index is counted for itself too (`innodb_cmp_per_index_enabled`). What was counted so far is forgotten when
    /// that begins.
    pub fn count_indexes(&self, on: bool) {
        if on && !self.per_index.swap(on, Ordering::Relaxed) {
            self.indexes(true);
        }
        self.per_index.store(on, Ordering::Relaxed);
    }

    /// Those of each index, forgotten if `reset` says so.
    pub fn indexes(&self, reset: bool) -> Vec<(IndexOf, CompressionCounts)> {
        let mut indexes = self.indexes.lock();
        let all = indexes.iter().map(|(of, n)| (*of, *n)).collect();
        if reset {
            indexes.clear();
        }
        all
    }
}
