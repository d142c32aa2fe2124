//! The diagnostics area: what SHOW WARNINGS, SHOW ERRORS and the counts of both report about the last statement.

use types::{Level, SqlError, Warning};

/// Warnings, notes and the error of the last statement that was not itself about diagnostics.
#[derive(Debug, Default, Clone)]
pub struct Diagnostics {
    list: Vec<Warning>,
    total: u64,
    errors: u64,
}

impl Diagnostics {
    /// A new statement begins.
    #[inline]
    pub fn clear(&mut self) {
        if self.total > 0 {
            self.list.clear();
            self.total = 0;
            self.errors = 0;
        }
    }

    /// Adds a warning or note; beyond `max` (`max_error_count`) it is only counted.
    pub fn push(&mut self, warning: Warning, max: u64) {
        self.total += 1;
        self.errors += u64::from(warning.level == Level::Error);
        if (self.list.len() as u64) < max {
            self.list.push(warning);
        }
    }

    /// Adds the error that ended the statement.
    pub fn fail(&mut self, e: &SqlError, max: u64) {
        let w = Warning::new(Level::Error, e.code, e.message.clone());
        self.push(w, max.max(1));
    }

    /// Takes over warnings that something else counted.
    pub fn absorb(&mut self, warnings: Vec<Warning>, total: u64, max: u64) {
        let kept = warnings.len() as u64;
        for w in warnings {
            self.push(w, max);
        }
        self.total += total.saturating_sub(kept);
    }

    /// What is kept, in the order it happened.
    pub fn list(&self) -> &[Warning] {
        &self.list
    }

    /// How many there were, those not kept included.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many of them were errors.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// The count an OK packet carries.
    pub fn packet_count(&self) -> u16 {
        u16::try_from(self.total).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_kept_is_counted() {
        let mut d = Diagnostics::default();
        for i in 0..5 {
            d.push(Warning::new(Level::Warning, i, "w"), 3);
        }
        d.absorb(vec![Warning::new(Level::Note, 9, "n")], 4, 64);
        assert_eq!((d.list().len(), d.total(), d.errors()), (4, 9, 0));
        d.fail(&SqlError::no_db(), 64);
        assert_eq!((d.total(), d.errors()), (10, 1));
        d.clear();
        assert_eq!(d.total(), 0);
    }
}
