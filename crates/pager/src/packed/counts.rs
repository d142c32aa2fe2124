//! What packing and unpacking came to, for those who look whether it pays.

use base::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The sizes of units there are, in bytes.
const UNITS: [u32; 6] = [512, 1024, 2048, 4096, 8192, 16384];

/// Pages packed and unpacked in units of one size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PackCounts {
    /// Bytes of the unit.
    pub unit: u32,
    /// Pages that were to be packed.
    pub packs: u64,
    /// Of these, pages that packed into less.
    pub packs_ok: u64,
    /// Microseconds that took.
    pub packs_us: u64,
    /// Pages unpacked.
    pub unpacks: u64,
    /// Microseconds that took.
    pub unpacks_us: u64,
}

#[derive(Default)]
struct Cell {
    packs: AtomicU64,
    packs_ok: AtomicU64,
    packs_us: AtomicU64,
    unpacks: AtomicU64,
    unpacks_us: AtomicU64,
}

/// The counters of an open directory, since it was opened or since they were last reset.
#[derive(Default)]
pub struct PackCounters {
    cells: [Cell; UNITS.len()],
    clock: OnceLock<Arc<dyn Clock>>,
}

impl PackCounters {
    /// What time is read from. Until then all takes no time.
    pub(crate) fn set_clock(&self, clock: &Arc<dyn Clock>) {
        let _ = self.clock.set(clock.clone());
    }

    fn cell(&self, unit: u32) -> Option<&Cell> {
        let i = UNITS.iter().position(|u| *u == unit)?;
        self.cells.get(i)
    }

    fn now_us(&self) -> u64 {
        self.clock.get().map_or(0, |c| c.now_us())
    }

    /// Runs `pack`, whose result tells whether the page became smaller.
    pub(crate) fn packing<R>(
        &self,
        unit: u32,
        pack: impl FnOnce() -> R,
        ok: impl Fn(&R) -> bool,
    ) -> R {
        let begun = self.now_us();
        let r = pack();
        if let Some(c) = self.cell(unit) {
            c.packs.fetch_add(1, Ordering::Relaxed);
            c.packs_ok.fetch_add(u64::from(ok(&r)), Ordering::Relaxed);
            c.packs_us
                .fetch_add(self.now_us().saturating_sub(begun), Ordering::Relaxed);
        }
        r
    }

    /// Runs `unpack`.
    pub(crate) fn unpacking<R>(&self, unit: u32, unpack: impl FnOnce() -> R) -> R {
        let begun = self.now_us();
        let r = unpack();
        if let Some(c) = self.cell(unit) {
            c.unpacks.fetch_add(1, Ordering::Relaxed);
            c.unpacks_us
                .fetch_add(self.now_us().saturating_sub(begun), Ordering::Relaxed);
        }
        r
    }

    /// All of them, set back to zero if `reset` says so.
    pub fn all(&self, reset: bool) -> Vec<PackCounts> {
        let take = |n: &AtomicU64| match reset {
            true => n.swap(0, Ordering::Relaxed),
            false => n.load(Ordering::Relaxed),
        };
        let counts = |(unit, c): (&u32, &Cell)| PackCounts {
            unit: *unit,
            packs: take(&c.packs),
            packs_ok: take(&c.packs_ok),
            packs_us: take(&c.packs_us),
            unpacks: take(&c.unpacks),
            unpacks_us: take(&c.unpacks_us),
        };
        UNITS.iter().zip(&self.cells).map(counts).collect()
    }
}
