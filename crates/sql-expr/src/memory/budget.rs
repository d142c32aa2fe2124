//! What all sessions may hold together, and what the sessions of one user may: two counts, and what is in the way of taking more.
//!
//! Must never do: know of sessions, or of errors. [`super::Account`] says which limit it was.

use std::sync::atomic::{AtomicU64, Ordering};

/// Which limit an account has run into.
pub(super) const NONE: u8 = 0;
pub(super) const OWN: u8 = 1;
pub(super) const ALL: u8 = 2;
pub(super) const CEILING: u8 = 3;
pub(super) const SHARE: u8 = 4;

/// What all sessions may hold together.
#[derive(Debug)]
pub struct Budget {
    held: AtomicU64,
    /// `global_connection_memory_limit`: for accounts that are subject to it.
    limit: AtomicU64,
    /// What the process has for them: for all.
    ceiling: AtomicU64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            held: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
            ceiling: AtomicU64::new(u64::MAX),
        }
    }
}

impl Budget {
    /// What accounts have taken.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// `global_connection_memory_limit` has changed.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// `global_connection_memory_limit`.
    pub(super) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// What the process has for all sessions.
    pub fn set_ceiling(&self, bytes: u64) {
        self.ceiling.store(bytes, Ordering::Relaxed);
    }

    /// What the process has for all sessions.
    pub fn ceiling(&self) -> u64 {
        self.ceiling.load(Ordering::Relaxed)
    }

    /// Which limit is in the way of taking that much more; [`NONE`] where it has been taken.
    pub(super) fn claim(&self, bytes: u64, subject: bool, little: bool) -> u8 {
        let held = self
            .held
            .fetch_add(bytes, Ordering::Relaxed)
            .saturating_add(bytes);
        let ceiling = match little {
            true => self.ceiling().saturating_add(self.ceiling() / 8),
            false => self.ceiling(),
        };
        let refused = if held > ceiling {
            CEILING
        } else if subject && held > self.limit() {
            ALL
        } else {
            return NONE;
        };
        self.give(bytes);
        refused
    }

    pub(super) fn give(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What the sessions of one user hold together, who may have three quarters of what there is for all.
#[derive(Debug, Default)]
pub struct Share {
    held: AtomicU64,
}

impl Share {
    /// What they have taken.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Counts what an account holds already when it becomes this user's: never refused.
    pub(super) fn bring(&self, bytes: u64) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }

    /// An eighth more, which is for those that ask for little, however many they are.
    pub(super) fn most_with_little(ceiling: u64) -> u64 {
        Share::most(ceiling).saturating_add(ceiling / 8)
    }

    /// What they may take, where all may take `ceiling`.
    pub(super) fn most(ceiling: u64) -> u64 {
        match ceiling {
            u64::MAX => u64::MAX,
            ceiling => ceiling - ceiling / 4,
        }
    }

    pub(super) fn claim(&self, bytes: u64, most: u64) -> bool {
        let held = self
            .held
            .fetch_add(bytes, Ordering::Relaxed)
            .saturating_add(bytes);
        let fits = held <= most || base::mutant!("memory-of-one-user-not-limited");
        if !fits {
            self.give(bytes);
        }
        fits
    }

    pub(super) fn give(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}
