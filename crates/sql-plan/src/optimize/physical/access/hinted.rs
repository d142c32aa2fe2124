//! What hints and `optimizer_switch` leave of the ways to read a table.

use super::cost::FORBIDDEN;
use super::{Path, Paths};

impl Paths<'_> {
    /// Whether the first row of an index may be read.
    pub fn allows(&self, index: usize) -> bool {
        self.allowed.index(index) && self.list_part(index).is_none()
    }

    /// The part of an index that has several values in a row: rows are found by it once, and all of them, only where it has one value.
    pub(super) fn list_part(&self, index: usize) -> Option<usize> {
        self.table().and_then(|t| t.list_part(index))
    }

    /// Whether so many leading parts of an index that have values leave each row once.
    pub(super) fn pins_elements(&self, index: usize, parts: usize) -> bool {
        self.list_part(index).is_none_or(|at| at < parts)
    }

    /// Whether an index may be used to find the rows of groups one behind the other.
    pub fn groups(&self, index: usize) -> bool {
        self.allowed.index(index) && self.allowed.group(index)
    }

    /// Whether an index may be used to have rows in order; `Some(true)` where it is to be.
    pub fn orders(&self, index: usize) -> Option<bool> {
        self.allowed.order(index)
    }

    /// Whether ranges of an index may be read.
    pub(super) fn has_ranges(&self, index: usize) -> bool {
        match &self.from.hints().no_range {
            Some(of) => !of.is_empty() && !of.contains(&index),
            None => true,
        }
    }

    /// Whether an index may be read together with others.
    pub(super) fn merges(&self, index: usize) -> bool {
        match &self.from.hints().index_merge {
            Some((on, of)) if !of.is_empty() => of.contains(&index) == *on,
            _ => true,
        }
    }

    /// What several indexes together cost; next to nothing where a hint asks for it.
    pub(super) fn merged(&self, n: usize, rows: f64) -> Path {
        let mut path = self.unions[n].merged(n, rows, self.look_up);
        if matches!(self.from.hints().index_merge, Some((true, _))) {
            path.cost /= FORBIDDEN;
        }
        path
    }
}
