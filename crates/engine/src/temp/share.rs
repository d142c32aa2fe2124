//! What the sessions of one account take of the room for temporary files, so that nobody takes all of it from the others
//! (docs/decisions/0071).
//!
//! Must never do: know of accounts. Whoever makes sessions says whose share they have.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the temporary files and tables of one account take, in bytes. A file holds on to the share that it is counted in.
#[derive(Debug, Default)]
pub struct TempShare {
    held: AtomicU64,
}

impl TempShare {
    /// What they take.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Takes more, where `left` bytes of the whole are nobody's. What an account has is never more than what is left for others when it takes
    /// it: one account alone may have a half, two a third each, and somebody who comes later finds room.
    pub(super) fn gain(&self, bytes: u64, left: u64) -> bool {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed);
        let fits = held.saturating_add(bytes) <= left
            || base::mutant!("temporary-space-of-one-user-not-limited");
        if !fits {
            self.give(bytes);
        }
        fits
    }

    pub(super) fn give(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}
