//! How many pages a session has waited for.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count, and where it stood when it was looked at last.
#[derive(Debug, Default)]
pub(super) struct Waited {
    pages: AtomicU64,
    seen: AtomicU64,
}

impl Waited {
    /// A page was not resident when it was looked at.
    pub fn count(&self) {
        self.pages.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn pages(&self) -> u64 {
        self.pages.load(Ordering::Relaxed)
    }

    /// Whether there were any since this was asked before.
    pub fn has_waited(&self) -> bool {
        let now = self.pages();
        let waited = self.seen.load(Ordering::Relaxed) != now;
        if waited {
            self.seen.store(now, Ordering::Relaxed);
        }
        waited
    }
}
