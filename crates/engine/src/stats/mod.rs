//! What is known of a table's rows without reading them: figures for those who choose between plans. Pure data; who takes the samples is
//! `sampling`.
//!
//! Figures are estimates of some moment in the past. Nothing may be wrong because they are.

mod cell;
mod codec;
mod columns;
mod distinct;
mod sketch;

pub(crate) use cell::StatsCell;
pub use codec::Histogram;
pub(crate) use codec::{Saved, decode, encode};
pub use columns::ColumnStats;
pub(crate) use distinct::{duj1, runs};
pub(crate) use sketch::Sketch;

use std::sync::Arc;

/// Bytes of a key in the statistics of a column: what comes behind them does not count.
pub(crate) const KEY_BYTES: usize = 64;

/// What is known of a table's rows: immutable, replaced as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableStats {
    /// Grows with each replacement of this table's.
    pub version: u64,
    /// Its rows.
    pub rows: u64,
    /// When they were made, microseconds since the Unix epoch.
    pub made_us: i64,
    /// Rows looked at for them: all of them where it is `rows`.
    pub sampled: u64,
    /// By place in the definition.
    pub indexes: Arc<[IndexStats]>,
    /// By ordinal.
    pub columns: Arc<[ColumnStats]>,
}

/// What is known of an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexStats {
    /// Pages with its entries.
    pub leaf_pages: u64,
    /// Its pages in all, overflow pages left out.
    pub pages: u64,
    /// `[i]`: different values of the first i + 1 parts.
    pub distinct: Vec<f64>,
    /// Leaves looked at.
    pub sampled: u64,
}

impl TableStats {
    /// Share of the rows whose column has this key.
    pub fn equal(&self, column: usize, key: &[u8]) -> f64 {
        match self.columns.get(column) {
            Some(c) => c.equal(self.rows, cut(key)),
            None => columns::EQUAL_UNKNOWN,
        }
    }

    /// Share of the rows whose column's key is within the bounds: a key and whether it belongs to the range; `None`: open. NULLs are in no range.
    pub fn between(
        &self,
        column: usize,
        low: Option<(&[u8], bool)>,
        high: Option<(&[u8], bool)>,
    ) -> f64 {
        let cut_bound = |b: Option<(&[u8], bool)>| b.is_some_and(|(k, _)| k.len() > KEY_BYTES);
        // Of keys that were cut only the inclusive comparison is right.
        let low = low.map(|(k, i)| (cut(k), i || cut_bound(low)));
        let high = high.map(|(k, i)| (cut(k), i || cut_bound(high)));
        match self.columns.get(column) {
            Some(c) => c.between(self.rows, low, high),
            None => columns::RANGE_UNKNOWN,
        }
    }
}

/// The part of a key that counts.
pub(crate) fn cut(key: &[u8]) -> &[u8] {
    &key[..key.len().min(KEY_BYTES)]
}

#[cfg(test)]
mod tests;
