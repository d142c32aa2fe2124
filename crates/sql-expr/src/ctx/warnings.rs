//! The warnings of a statement: those that expressions leave, and which of them end a strict write instead.

use std::sync::atomic::Ordering;

use types::{Level, SqlError, Warning};

use super::EvalCtx;

/// MySQL cuts messages here (MYSQL_ERRMSG_SIZE).
const LONGEST_MESSAGE: usize = 511;

/// Warnings of expressions that are errors where rows are written in strict mode: a row cut by GROUP_CONCAT, a value out of range or cut, a
/// wrong one, one that is none of its type, a date out of range, a logarithm of nothing.
const STRICT: &[u16] = &[1260, 1264, 1265, 1292, 1411, 1441, 3020];

/// How many warnings there were.
#[derive(PartialEq, Eq)]
pub(super) struct WarningMark {
    kept: usize,
    warnings: u64,
    errors: u64,
    fault: bool,
}

impl EvalCtx<'_> {
    /// Adds a warning; beyond `max_error_count` it is only counted.
    #[cold]
    pub fn warn(&self, mut warning: Warning) {
        if warning.message.len() > LONGEST_MESSAGE {
            let end = warning.message.floor_char_boundary(LONGEST_MESSAGE);
            warning.message.truncate(end);
            warning.message.shrink_to_fit();
        }
        let mut s = self.state();
        match warning.level {
            Level::Error => s.error_count += 1,
            _ => s.warning_count += 1,
        }
        if (s.warnings.len() as u64) < self.vars.hot().max_error_count {
            s.warnings.push(warning);
        }
    }

    /// Adds the warning that an error would have been. In a strict write it is the error; see [`EvalCtx::fault`].
    #[cold]
    pub fn warn_error(&self, e: SqlError) {
        if self.strict_write && STRICT.contains(&e.code) {
            self.state().fault.get_or_insert(e);
            self.faulty.store(true, Ordering::Relaxed);
            return;
        }
        self.warn(Warning::from_error(e));
    }

    /// The error that a strict write must end with, where evaluation only warns. Whoever stores a value asks before, and whoever
    /// ends the statement does, since a condition may have warned as well.
    ///
    /// # Errors
    /// The first such warning.
    #[inline]
    pub fn fault(&self) -> Result<(), SqlError> {
        // Asked for each value that is stored: the lock is for those that have something in it.
        match self.faulty.load(Ordering::Relaxed) {
            true => self.state().fault.take().map_or(Ok(()), Err),
            false => Ok(()),
        }
    }

    /// The warnings so far, leaving none behind, and how many there were (those not kept included).
    pub fn take_warnings(&self) -> (Vec<Warning>, u64) {
        let mut s = self.state();
        let n = s.warning_count + s.error_count;
        s.warning_count = 0;
        s.error_count = 0;
        (std::mem::take(&mut s.warnings), n)
    }

    /// The result of `f` if it adds no warning; otherwise nothing, and its warnings are forgotten.
    pub fn quietly<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        let before = self.mark_warnings();
        let r = f();
        match before == self.mark_warnings() {
            true => Some(r),
            false => {
                self.forget_warnings(&before);
                None
            }
        }
    }

    /// How things stand with the warnings.
    pub(super) fn mark_warnings(&self) -> WarningMark {
        let s = self.state();
        WarningMark {
            kept: s.warnings.len(),
            warnings: s.warning_count,
            errors: s.error_count,
            fault: s.fault.is_some(),
        }
    }

    /// Forgets those since then.
    pub(super) fn forget_warnings(&self, to: &WarningMark) {
        let mut s = self.state();
        if !to.fault {
            s.fault = None;
        }
        s.warnings.truncate(to.kept);
        s.warning_count = to.warnings;
        s.error_count = to.errors;
    }

    /// How many warnings there are so far.
    pub fn warning_count(&self) -> u64 {
        let s = self.state();
        s.warning_count + s.error_count
    }
}
