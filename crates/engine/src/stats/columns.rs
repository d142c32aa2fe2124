//! What is known of the values of a column, and shares of rows from it.

/// Share of the rows that equal a value, where nothing is known of the column.
pub(super) const EQUAL_UNKNOWN: f64 = 0.1;
/// Share of the rows in a range, where nothing is known of the column.
pub(super) const RANGE_UNKNOWN: f64 = 1.0 / 3.0;

/// What is known of a column. Values stand as their keys ([`crate::column_key`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStats {
    /// Share of the rows that are NULL.
    pub nulls: f64,
    /// Different values, NULL left out. 0 with `nulls` below 1: nothing is known of the column.
    pub distinct: f64,
    /// The most common values with their share of the rows, the most frequent first.
    pub common: Vec<(Box<[u8]>, f64)>,
    /// Equi-height histogram of the other values: n + 1 keys for n buckets of equal share. The last bucket has its upper key too.
    pub bounds: Vec<Box<[u8]>>,
    /// Mean bytes of a value.
    pub width: f64,
}

impl ColumnStats {
    /// Nothing was found out about it: a column that is younger than the figures.
    pub fn is_unknown(&self) -> bool {
        self.distinct <= 0.0 && self.nulls < 1.0
    }

    /// Share of the rows that are neither NULL nor one of the common values, and how many different values these have.
    fn others(&self) -> (f64, f64) {
        let common: f64 = self.common.iter().map(|(_, share)| share).sum();
        let share = (1.0 - self.nulls - common).max(0.0);
        (share, self.distinct - self.common.len() as f64)
    }

    /// Share of the rows that have one value which is not common.
    fn one_of_others(&self, rows: u64) -> f64 {
        let (share, distinct) = self.others();
        let least = 1.0 / rows.max(1) as f64;
        if distinct >= 1.0 {
            return (share / distinct).max(least.min(share));
        }
        // All values are known: one that is not among them is rare, or new.
        least.min(1.0)
    }

    pub(super) fn equal(&self, rows: u64, key: &[u8]) -> f64 {
        if self.is_unknown() {
            return match rows {
                0 => 0.0,
                _ => EQUAL_UNKNOWN.max(1.0 / rows as f64),
            };
        }
        if let Some((_, share)) = self.common.iter().find(|(k, _)| **k == *key) {
            return *share;
        }
        let one = self.one_of_others(rows);
        match (self.bounds.first(), self.bounds.last()) {
            (Some(least), Some(most)) if *key < **least || *key > **most => {
                one.min(1.0 / rows.max(1) as f64)
            }
            _ => one,
        }
    }

    pub(super) fn between(
        &self,
        rows: u64,
        low: Option<(&[u8], bool)>,
        high: Option<(&[u8], bool)>,
    ) -> f64 {
        if self.is_unknown() {
            return match (low, high) {
                (None, None) => 1.0,
                _ => RANGE_UNKNOWN,
            };
        }
        if let (Some((l, l_in)), Some((h, h_in))) = (low, high) {
            match l.cmp(h) {
                std::cmp::Ordering::Greater => return 0.0,
                std::cmp::Ordering::Equal if l_in && h_in => return self.equal(rows, l),
                std::cmp::Ordering::Equal => return 0.0,
                std::cmp::Ordering::Less => {}
            }
        }
        let inside = |key: &[u8]| {
            low.is_none_or(|(l, i)| key > l || i && key == l)
                && high.is_none_or(|(h, i)| key < h || i && key == h)
        };
        let common: f64 = self
            .common
            .iter()
            .filter(|(key, _)| inside(key))
            .map(|(_, share)| share)
            .sum();
        let (share, distinct) = self.others();
        if self.bounds.len() < 2 {
            // One value or none besides the common ones.
            let there = self.bounds.first().is_some_and(|key| inside(key));
            return (common + if there { share } else { 0.0 }).clamp(0.0, 1.0);
        }
        let one = 1.0 / distinct.max(1.0);
        let from = low.map_or(0.0, |(key, included)| {
            self.below(key, if included { 0.0 } else { one })
        });
        let to = high.map_or(1.0, |(key, included)| {
            self.below(key, if included { one } else { 0.0 })
        });
        (common + share * (to - from).max(0.0)).clamp(0.0, 1.0)
    }

    /// Share of the histogram's values that are below `key`, and `itself` more where the key is within the histogram.
    fn below(&self, key: &[u8], itself: f64) -> f64 {
        let buckets = self.bounds.len() - 1;
        if *key < *self.bounds[0] {
            return 0.0;
        }
        let above = self.bounds.partition_point(|b| **b < *key);
        let below = match above {
            0 => 0.0,
            i if i > buckets => return 1.0,
            i => {
                let within = fraction(&self.bounds[i - 1], &self.bounds[i], key);
                ((i - 1) as f64 + within) / buckets as f64
            }
        };
        let one = 1.0 / self.others().1.max(1.0);
        (below.min(1.0 - one) + itself).clamp(0.0, 1.0)
    }
}

/// Where between two keys a third one is, 0 to 1, by the first bytes in which they differ.
fn fraction(low: &[u8], high: &[u8], key: &[u8]) -> f64 {
    let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let number = |k: &[u8]| types::keyenc::first_bytes(k.get(same..).unwrap_or(&[])) as f64;
    let (l, h, k) = (number(low), number(high), number(key));
    if h <= l {
        return 0.5;
    }
    ((k - l) / (h - l)).clamp(0.0, 1.0)
}
