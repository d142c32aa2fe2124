//! Runs of entries of an index that agree in its leading parts: how many there are, and what it costs to look one up.

use super::cost::{ROW, SEEK};
use super::{Choice, Paths};
use crate::plan::Access;

impl Paths<'_> {
    /// Reading a table of a block by an index, by all that conditions say about it.
    pub fn by_index(&self, index: usize) -> Choice {
        let rows = self.statistics.rows;
        let part = self
            .table()
            .and_then(|table| self.part(index, 0, table, rows));
        match part {
            Some(path) => self.choice(path, 0),
            None => Choice {
                access: Access::Full {
                    index,
                    backward: false,
                },
                used: Vec::new(),
                rows,
                by_key: None,
            },
        }
    }

    /// Whether the entries of an index hold all that is read.
    pub fn covers(&self, index: usize) -> bool {
        self.covering.contains(&index)
    }

    /// How many different values so many parts of an index have behind those that are fixed, where that is known.
    pub fn distinct_keys(&self, index: usize, fixed: usize, parts: usize) -> f64 {
        let of = |n| self.statistics.prefix_distinct(index, n);
        let parts = match self.table() {
            Some(t) => (fixed + parts).min(t.def.indexes[index].parts.len()),
            None => return 0.0,
        };
        match (of(parts), fixed) {
            (None, _) => 0.0,
            (Some(all), 0) => all,
            (Some(all), n) => all / of(n).unwrap_or(1.0).max(1.0),
        }
    }

    /// How many runs that agree in `parts` parts of an index are in what is read of it; `None` where nobody knows.
    pub fn runs(&self, index: usize, choice: &Choice, parts: usize) -> Option<f64> {
        let (fixed, ranges) = match &choice.access {
            Access::Range(r) if r.points.is_empty() => (r.prefix.len(), 1.0),
            Access::Range(r) => (r.prefix.len() + 1, r.points.len() as f64),
            _ => (0, 1.0),
        };
        if parts == fixed {
            return Some(ranges);
        }
        let all = self.statistics.prefix_distinct(index, parts)?;
        let ranges_of_all = match fixed {
            0 => 1.0,
            n => self.statistics.prefix_distinct(index, n)?.max(1.0),
        };
        // What bounds the part behind the equal ones leaves a share of the runs, as of the rows.
        let rows = self.statistics.rows / ranges_of_all * ranges;
        let share = (choice.rows / rows.max(1.0)).min(1.0);
        let runs = all / ranges_of_all * ranges * share;
        Some(runs.clamp(1.0, choice.rows.max(1.0)))
    }

    /// The work of looking up one entry of an index, and its row where that is wanted.
    pub fn look_up_of(&self, index: usize) -> f64 {
        let row = match index {
            0 => 0.0,
            i => self.look_up(i),
        };
        SEEK + ROW + row
    }
}
