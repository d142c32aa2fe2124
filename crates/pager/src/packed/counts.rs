//! What packing and unpacking came to, for those who look whether it pays.

use base::{Clock, SpaceId, le};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The sizes of blocks there are, in bytes; the first for tables that name none.
const BLOCKS: [u32; 6] = [512, 1024, 2048, 4096, 8192, 16384];

/// Pages packed and unpacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PackCounts {
    /// Pages that were to be packed.
    pub packs: u64,
    /// Of these, pages that packed into a block, or into less than they are where no block was named.
    pub packs_ok: u64,
    /// Microseconds that took.
    pub packs_us: u64,
    /// Pages unpacked.
    pub unpacks: u64,
    /// Microseconds that took.
    pub unpacks_us: u64,
}

impl PackCounts {
    fn add(&mut self, n: &PackCounts) {
        self.packs += n.packs;
        self.packs_ok += n.packs_ok;
        self.packs_us += n.packs_us;
        self.unpacks += n.unpacks;
        self.unpacks_us += n.unpacks_us;
    }
}

#[derive(Default)]
struct Cell {
    packs: AtomicU64,
    packs_ok: AtomicU64,
    packs_us: AtomicU64,
    unpacks: AtomicU64,
    unpacks_us: AtomicU64,
}

impl Cell {
    fn add(&self, n: &PackCounts) {
        let add = |to: &AtomicU64, n: u64| to.fetch_add(n, Ordering::Relaxed);
        add(&self.packs, n.packs);
        add(&self.packs_ok, n.packs_ok);
        add(&self.packs_us, n.packs_us);
        add(&self.unpacks, n.unpacks);
        add(&self.unpacks_us, n.unpacks_us);
    }

    fn get(&self, reset: bool) -> PackCounts {
        let take = |n: &AtomicU64| match reset {
            true => n.swap(0, Ordering::Relaxed),
            false => n.load(Ordering::Relaxed),
        };
        PackCounts {
            packs: take(&self.packs),
            packs_ok: take(&self.packs_ok),
            packs_us: take(&self.packs_us),
            unpacks: take(&self.unpacks),
            unpacks_us: take(&self.unpacks_us),
        }
    }
}

/// A tablespace and an index in it; 0 for pages that belong to none.
pub type IndexOf = (SpaceId, u32);

/// The counters of an open directory, since it was opened or since they were last reset.
#[derive(Default)]
pub struct PackCounters {
    cells: [Cell; BLOCKS.len()],
    clock: OnceLock<Arc<dyn Clock>>,
    per_index: AtomicBool,
    indexes: Mutex<BTreeMap<IndexOf, PackCounts>>,
}

impl PackCounters {
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

    /// A page was to be packed, into a block of so many bytes.
    pub(crate) fn packed(&self, block: u32, space: SpaceId, page: &[u8], ok: bool, us: u64) {
        let n = PackCounts {
            packs: 1,
            packs_ok: u64::from(ok),
            packs_us: us,
            ..PackCounts::default()
        };
        self.add(block, space, page, n);
    }

    /// A page was unpacked.
    pub(crate) fn unpacked(&self, block: u32, space: SpaceId, page: &[u8], us: u64) {
        let n = PackCounts {
            unpacks: 1,
            unpacks_us: us,
            ..PackCounts::default()
        };
        self.add(block, space, page, n);
    }

    fn add(&self, block: u32, space: SpaceId, page: &[u8], n: PackCounts) {
        if let Some(i) = BLOCKS.iter().position(|b| *b == block) {
            self.cells[i].add(&n);
        }
        if self.per_index.load(Ordering::Relaxed) {
            let of = (space, le::get_u32_or0(page, 24));
            let mut indexes = self.indexes.lock().unwrap_or_else(|e| e.into_inner());
            indexes.entry(of).or_default().add(&n);
        }
    }

    /// All of them by the block's bytes, set back to zero if `reset` says so.
    pub fn all(&self, reset: bool) -> Vec<(u32, PackCounts)> {
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
    pub fn indexes(&self, reset: bool) -> Vec<(IndexOf, PackCounts)> {
        let mut indexes = self.indexes.lock().unwrap_or_else(|e| e.into_inner());
        let all = indexes.iter().map(|(of, n)| (*of, *n)).collect();
        if reset {
            indexes.clear();
        }
        all
    }
}
