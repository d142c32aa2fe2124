//! Long work that can be stopped: a count of work done, and somebody to ask, every so much of it, whether to go on.
//!
//! Work that neither waits nor returns for long (an expression over a long text, the parsing of a long statement) counts what it
//! does with [`Pace::tick`]. Nearly every tick is a subtraction; one in thousands asks the [`Watch`], which knows whether the
//! statement was killed or has run out of time.
//!
//! Must never do: wait, read a clock, or touch memory that other statements write in the common case.

use crate::SqlError;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// Knows whether a statement is to go on.
pub trait Watch: Send + Sync {
    /// Nothing, or the error that ends the statement.
    ///
    /// # Errors
    /// 1317 for a statement that was killed, 3024 for one that ran out of time.
    fn look(&self) -> Result<(), SqlError>;
}

/// Work between two looks. A unit is a byte looked at, or another step of a few nanoseconds: that much takes well under a
/// millisecond also in a build without optimisation.
const BETWEEN_LOOKS: u32 = 32 * 1024;

/// How far a statement's work is from the next look. It belongs to one statement, so that its line is in one core's cache.
pub struct Pace<'w> {
    left: AtomicU32,
    watch: Option<&'w dyn Watch>,
}

impl fmt::Debug for Pace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace")
            .field("watched", &self.watch.is_some())
            .finish_non_exhaustive()
    }
}

impl<'w> Pace<'w> {
    /// Work that `watch` may stop.
    pub const fn new(watch: Option<&'w dyn Watch>) -> Pace<'w> {
        Pace {
            left: AtomicU32::new(BETWEEN_LOOKS),
            watch,
        }
    }

    /// Work that nobody stops: short by its nature, or of a test.
    pub const fn unwatched() -> Pace<'w> {
        Pace::new(None)
    }

    /// Counts `work` units that are about to be done, or have been.
    ///
    /// # Errors
    /// As [`Watch::look`]; from then on every tick fails.
    #[inline]
    pub fn tick(&self, work: usize) -> Result<(), SqlError> {
        // A load and a store: nobody else counts here, and a lost unit would not matter.
        let left = self.left.load(Ordering::Relaxed);
        if work < left as usize {
            self.left.store(left - work as u32, Ordering::Relaxed);
            return Ok(());
        }
        self.look()
    }

    #[cold]
    fn look(&self) -> Result<(), SqlError> {
        // Left at nothing where the statement is to end, so that whatever goes on regardless ends at its next tick.
        self.left.store(0, Ordering::Relaxed);
        if let Some(w) = self.watch {
            w.look()?;
        }
        self.left.store(BETWEEN_LOOKS, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    #[derive(Default)]
    struct Counting {
        looks: AtomicU64,
        stop: AtomicBool,
    }

    impl Watch for Counting {
        fn look(&self) -> Result<(), SqlError> {
            self.looks.fetch_add(1, Ordering::Relaxed);
            match self.stop.load(Ordering::Relaxed) {
                true => Err(SqlError::query_interrupted()),
                false => Ok(()),
            }
        }
    }

    #[test]
    fn looks_are_rare_and_never_far_apart() {
        let w = Counting::default();
        let p = Pace::new(Some(&w));
        for _ in 0..10 * BETWEEN_LOOKS {
            p.tick(1).unwrap();
        }
        assert_eq!(w.looks.load(Ordering::Relaxed), 10);
        p.tick(usize::MAX).unwrap();
        assert_eq!(w.looks.load(Ordering::Relaxed), 11);
    }

    #[test]
    fn what_was_stopped_stays_stopped() {
        let w = Counting::default();
        let p = Pace::new(Some(&w));
        w.stop.store(true, Ordering::Relaxed);
        p.tick(1).unwrap();
        assert_eq!(p.tick(BETWEEN_LOOKS as usize).unwrap_err().code, 1317);
        assert_eq!(p.tick(1).unwrap_err().code, 1317);
    }
}
