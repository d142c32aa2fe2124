//! What the arms of an OR say about an index, or about several, as a way to read a table.

use super::cost::{NEXT_RANGE, ROW, SEEK, SEEN, reading};
use super::path::{Path, What};
use crate::plan::RangeAccess;

/// How much of a table an arm of an OR is.
#[derive(Clone, Copy)]
pub(super) enum Weight {
    /// One row.
    Key,
    /// A share of the rows.
    Known(f64),
    /// Perhaps a share of the rows.
    Guess(f64),
}

impl Weight {
    pub fn share(self) -> f64 {
        match self {
            Weight::Key => 0.0,
            Weight::Known(s) | Weight::Guess(s) => s,
        }
    }
}

/// What an OR says about an index, or about several.
pub(super) struct Any {
    pub range: RangeAccess,
    pub needs: u64,
    /// The share of rows it yields, beside one for each of its unique keys.
    pub share: f64,
    pub keys: f64,
}

impl Any {
    /// How many arms it has, and the rows that they yield of so many.
    fn arms_and_yields(&self, rows: f64) -> (f64, f64) {
        let arms = self.range.arms.len() as f64;
        let yields = (rows * self.share).max(arms - self.keys) + self.keys;
        (arms, yields.min(rows).max(1.0))
    }

    /// As a path over several indexes: each row is looked up in the clustered one, and looked for among those that came.
    pub fn merged(&self, number: usize, rows: f64, look_up: f64) -> Path {
        let (arms, yields) = self.arms_and_yields(rows);
        Path {
            what: What::Union(number),
            yields,
            cost: yields * (ROW + look_up + SEEN) + SEEK * arms,
            look_ups: yields,
            needs: self.needs,
        }
    }

    pub fn path(&self, number: usize, rows: f64, look_up: f64) -> Path {
        let (arms, yields) = self.arms_and_yields(rows);
        Path {
            what: What::Any(number),
            yields,
            cost: reading(self.range.index, yields, look_up) + SEEK + NEXT_RANGE * arms,
            look_ups: if self.range.index == 0 { arms } else { yields },
            needs: self.needs,
        }
    }
}
