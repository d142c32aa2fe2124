//! The figures of a column from a sample of its values: how many differ, which are the most common, and how the others are spread.

use super::ColumnStats;
use super::distinct::duj1;
use types::keyenc::first_bytes;

/// Most common values kept.
const COMMON: usize = 64;
/// Buckets of the histogram of the others, for tables of a few columns.
const BUCKETS: usize = 128;
/// Columns from which on each has less.
const COLUMNS: usize = 32;
/// A value of a sample counts as common when it is so much more frequent than the average.
const ABOVE_AVERAGE: f64 = 1.25;

/// Values of a column, as they are gathered.
#[derive(Default)]
pub(crate) struct Sketch {
    bytes: Vec<u8>,
    /// First bytes, place and length of each key.
    keys: Vec<(u64, u32, u8)>,
    nulls: u64,
    /// Values that are too long to be looked at.
    unseen: u64,
    width: u64,
}

impl Sketch {
    /// Forgets the values, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.keys.clear();
        (self.nulls, self.unseen, self.width) = (0, 0, 0);
    }

    /// Another row: NULL.
    pub(crate) fn null(&mut self) {
        self.nulls += 1;
    }

    /// Another row: a value that is kept elsewhere, which makes it one that no other row has.
    pub(crate) fn long(&mut self, width: u64) {
        self.unseen += 1;
        self.width += width;
    }

    /// Another row: a value, whose key `put` appends.
    pub(crate) fn value(&mut self, width: u64, put: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        put(&mut self.bytes);
        let key = &self.bytes[start..];
        let len = u8::try_from(key.len()).unwrap_or(u8::MAX);
        self.keys.push((first_bytes(key), start as u32, len));
        self.width += width;
    }

    fn key(&self, at: (u64, u32, u8)) -> &[u8] {
        &self.bytes[at.1 as usize..at.1 as usize + usize::from(at.2)]
    }

    /// What it comes to, of a table with so many rows and columns.
    pub(crate) fn finish(&mut self, rows: u64, columns: usize) -> ColumnStats {
        let seen = self.keys.len() as u64 + self.unseen;
        let sampled = seen + self.nulls;
        if sampled == 0 {
            return ColumnStats {
                nulls: if rows == 0 { 1.0 } else { 0.0 },
                ..ColumnStats::default()
            };
        }
        let bytes = std::mem::take(&mut self.bytes);
        let slice = |k: &(u64, u32, u8)| &bytes[k.1 as usize..k.1 as usize + usize::from(k.2)];
        self.keys
            .sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| slice(a).cmp(slice(b))));
        self.bytes = bytes;
        let nulls = self.nulls as f64 / sampled as f64;
        let mut runs = self.runs();
        let once = runs.iter().filter(|(_, n)| *n == 1).count() as u64 + self.unseen;
        let different = runs.len() as u64 + self.unseen;
        let whole = sampled >= rows;
        let there = if whole {
            seen as f64
        } else {
            (rows as f64 * (1.0 - nulls)).max(seen as f64)
        };
        let distinct = duj1(seen, different, once, there);
        let scale = (COLUMNS as f64 / columns.max(COLUMNS) as f64).max(0.25);
        let most = (COMMON as f64 * scale) as usize;
        let all_known = self.unseen == 0 && runs.len() <= most && (whole || once == 0);
        let average = seen as f64 / distinct.max(1.0);
        runs.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let common: Vec<(usize, u64)> = runs
            .iter()
            .copied()
            .take(most)
            .take_while(|(_, n)| all_known || (*n > 1 && *n as f64 > average * ABOVE_AVERAGE))
            .collect();
        let share = |n: u64| n as f64 / sampled as f64;
        let kept = common
            .iter()
            .map(|(first, n)| (self.key(self.keys[*first]).into(), share(*n)))
            .collect();
        ColumnStats {
            nulls,
            distinct,
            common: kept,
            bounds: self.bounds(&common, (BUCKETS as f64 * scale) as usize),
            width: self.width as f64 / seen.max(1) as f64,
        }
    }

    /// Where each value begins among the sorted ones, and how often it is there.
    fn runs(&self) -> Vec<(usize, u64)> {
        let mut runs: Vec<(usize, u64)> = Vec::new();
        for (i, k) in self.keys.iter().enumerate() {
            match runs.last_mut() {
                Some((first, n)) if self.key(self.keys[*first]) == self.key(*k) => *n += 1,
                _ => runs.push((i, 1)),
            }
        }
        runs
    }

    /// The histogram of the values but the common ones.
    fn bounds(&self, common: &[(usize, u64)], buckets: usize) -> Vec<Box<[u8]>> {
        let mut skip: Vec<(usize, u64)> = common.to_vec();
        skip.sort_unstable();
        let mut skip = skip.into_iter().peekable();
        let mut others: Vec<u32> = Vec::new();
        let mut i = 0;
        while i < self.keys.len() {
            match skip.next_if(|(first, _)| *first == i) {
                Some((_, n)) => i += n as usize,
                None => {
                    others.push(i as u32);
                    i += 1;
                }
            }
        }
        let key = |i: usize| self.key(self.keys[others[i] as usize]).into();
        match others.len() {
            0 => Vec::new(),
            n if self.key(self.keys[others[0] as usize])
                == self.key(self.keys[others[n - 1] as usize]) =>
            {
                vec![key(0)]
            }
            n => {
                let buckets = buckets.min(n - 1);
                (0..=buckets).map(|b| key(b * (n - 1) / buckets)).collect()
            }
        }
    }
}
