//! Sorting: rows with keys whose bytes compare as the rows do. With a LIMIT only the best rows are kept: whenever twice as many
//! have come, they are sorted and the worse half is dropped, so that memory stays with what is asked for.

use types::{SqlError, ValueRef};

use super::store::RowStore;
use crate::expr::{EvalCtx, RowSource, Val};
use crate::plan::SortKey;

#[derive(Clone, Copy)]
struct Entry {
    /// The first eight bytes of the key, for quick comparison.
    head: u64,
    start: usize,
    end: usize,
    /// Order of arrival: equal rows stay in it.
    row: u32,
}

/// Rows to sort.
pub(crate) struct Sorter {
    keys: Vec<u8>,
    entries: Vec<Entry>,
    rows: RowStore,
    width: usize,
    /// How many of the best rows are wanted.
    keep: usize,
    /// The worst key that still counts, once there are enough.
    bar: Option<Vec<u8>>,
}

/// Fewest rows after which the worse ones are dropped.
const PRUNE_AT_LEAST: usize = 1024;

/// Rows that room is made for when there is more than one.
const EXPECTED: usize = 64;

fn head(key: &[u8]) -> u64 {
    let mut b = [0; 8];
    let n = key.len().min(8);
    b[..n].copy_from_slice(&key[..n]);
    u64::from_be_bytes(b)
}

/// Appends the sort key of a row.
pub(crate) fn write_sort_key(
    order: &[SortKey],
    cx: &EvalCtx<'_>,
    row: &dyn RowSource,
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    for k in order {
        let v = k.expr.eval(cx, row)?;
        let v = match &v {
            Val::Enum(n, _) => ValueRef::UInt(u64::from(*n)),
            Val::Set(n, _) | Val::Bit(n, _) => ValueRef::UInt(*n),
            // At full precision, whatever the type shows.
            Val::Double(d) => ValueRef::Double(*d),
            v => v.as_value_ref(&k.expr.ty),
        };
        k.part.encode(v, out);
    }
    Ok(())
}

impl Sorter {
    /// For rows of `width` columns of which the best `keep` are wanted.
    pub fn new(width: usize, keep: u64) -> Sorter {
        Sorter {
            keys: Vec::new(),
            entries: Vec::new(),
            rows: RowStore::new(width),
            width,
            keep: usize::try_from(keep).unwrap_or(usize::MAX),
            bar: None,
        }
    }

    /// Whether a row with this key can be among the wanted ones.
    pub fn wants(&self, key: &[u8]) -> bool {
        self.keep > 0 && self.bar.as_ref().is_none_or(|b| key < &b[..])
    }

    /// Adds a row.
    pub fn add<'v>(&mut self, key: &[u8], values: impl IntoIterator<Item = ValueRef<'v>>) {
        let start = self.keys.len();
        if self.entries.len() == 1 {
            // A second row: there will be more, and about as long ones.
            self.keys.reserve(EXPECTED * key.len());
            self.entries.reserve(EXPECTED);
            self.rows.expect(EXPECTED);
        }
        self.keys.extend_from_slice(key);
        self.entries.push(Entry {
            head: head(key),
            start,
            end: self.keys.len(),
            row: self.rows.len() as u32,
        });
        self.rows.push(values);
        if self.entries.len() >= self.keep.saturating_mul(2).max(PRUNE_AT_LEAST) {
            self.prune();
        }
    }

    fn sort(&mut self) {
        let keys = &self.keys;
        self.entries.sort_unstable_by(|a, b| {
            a.head
                .cmp(&b.head)
                .then_with(|| keys[a.start..a.end].cmp(&keys[b.start..b.end]))
                .then(a.row.cmp(&b.row))
        });
    }

    fn prune(&mut self) {
        if self.keep >= self.entries.len() {
            return;
        }
        self.sort();
        self.entries.truncate(self.keep);
        let mut kept = Sorter::new(self.width, self.keep as u64);
        for e in &self.entries {
            let key = &self.keys[e.start..e.end];
            let start = kept.keys.len();
            kept.keys.extend_from_slice(key);
            kept.entries.push(Entry {
                head: e.head,
                start,
                end: kept.keys.len(),
                row: kept.rows.len() as u32,
            });
            kept.rows.push(self.rows.row(e.row as usize));
        }
        kept.bar = self
            .entries
            .last()
            .map(|e| self.keys[e.start..e.end].to_vec());
        *self = kept;
    }

    /// Puts the rows in order.
    pub fn finish(mut self) -> Sorted {
        self.sort();
        self.entries.truncate(self.keep);
        Sorted {
            order: self.entries.iter().map(|e| e.row).collect(),
            rows: self.rows,
        }
    }
}

/// Rows in order.
pub(crate) struct Sorted {
    /// Row numbers, in order.
    pub order: Vec<u32>,
    /// The rows.
    pub rows: RowStore,
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Value;

    #[test]
    fn the_best_rows_stay() {
        for keep in [0u64, 1, 7, 600, u64::MAX] {
            let mut s = Sorter::new(1, keep);
            for i in 0..5000u64 {
                let v = i.wrapping_mul(2_654_435_761) % 5003;
                let key = v.to_be_bytes();
                if s.wants(&key) {
                    s.add(&key, [ValueRef::UInt(v)]);
                }
            }
            let out = s.finish();
            let got: Vec<u64> = out
                .order
                .iter()
                .map(|&r| match out.rows.column(r as usize, 0) {
                    ValueRef::UInt(v) => v,
                    other => panic!("{other:?}"),
                })
                .collect();
            let mut all: Vec<u64> = (0..5000u64)
                .map(|i| i.wrapping_mul(2_654_435_761) % 5003)
                .collect();
            all.sort_unstable();
            all.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
            assert_eq!(got, all);
        }
        let _ = Value::Null;
    }
}
