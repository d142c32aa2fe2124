//! What it costs to come from the entries of an index to their rows: little where they hold all that is read.

use super::cost::COVERED;
use super::{Path, Paths};

impl Paths<'_> {
    /// The work of coming from an entry of an index to what is read of the row.
    pub(super) fn look_up(&self, index: usize) -> f64 {
        match self.covering.contains(&index) {
            true => COVERED,
            false => self.look_up,
        }
    }

    /// How many rows are looked up in the clustered index for so many entries of an index.
    pub(super) fn looked_up(&self, index: usize, entries: f64) -> f64 {
        match self.covering.contains(&index) && index != 0 {
            true => 0.0,
            false => entries,
        }
    }

    /// What an OR says about one index, as a way to read it.
    pub(super) fn any_path(&self, n: usize, rows: f64) -> Path {
        let any = &self.any[n];
        let index = any.range.index;
        let mut path = any.path(n, rows, self.look_up(index));
        path.look_ups = self.looked_up(index, path.look_ups);
        path
    }
}
