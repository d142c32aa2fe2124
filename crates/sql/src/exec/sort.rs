//! Sorting: rows with keys whose bytes compare as the rows do. With a LIMIT only the best rows are kept: whenever twice as many
//! have come, they are sorted and the worse half is dropped, so that memory stays with what is asked for.
//!
//! Where rows are sorted by one of their own columns, only the first eight bytes of a key are made; whole keys follow for rows that
//! these do not tell apart (the abbreviated keys of Graefe, "Implementing Sorting in Database Systems", 2006, section 3.1).

use types::keyenc::{KeyPart, first_bytes};
use types::{SqlError, ValueRef};

use super::store::RowStore;
use crate::expr::{EvalCtx, RowSource, Val};
use crate::plan::SortKey;

#[derive(Clone, Copy)]
struct Entry {
    /// The first eight bytes of the key, for quick comparison.
    head: u64,
    /// Where the key is.
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
    /// The worst key that still counts, and its first bytes, once there are enough.
    bar: Option<(u64, Vec<u8>)>,
    /// The column that is sorted by, if it is one of the rows' own, and how its values become keys.
    column: Option<(usize, KeyPart)>,
    /// Of rows with the same key only the first is wanted. For rows sorted by a column of their own.
    unique: bool,
    /// Rows at which those that are not wanted are dropped.
    prune_at: usize,
}

/// Fewest rows after which those that are not wanted are dropped.
const PRUNE_AT_LEAST: usize = 1024;

/// Rows that room is made for when there is more than one.
const EXPECTED: usize = 64;

/// The row number of an entry that is not wanted.
const GONE: u32 = u32::MAX;

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

/// The first bytes of the value's key; `scratch` is for those that are not known without the rest.
fn head_of(part: &KeyPart, v: ValueRef<'_>, scratch: &mut Vec<u8>) -> u64 {
    part.head(v).unwrap_or_else(|| {
        scratch.clear();
        part.encode(v, scratch);
        first_bytes(scratch)
    })
}

impl Sorter {
    /// For rows of `width` columns of which the best `keep` are wanted, with keys from [`write_sort_key`].
    pub fn new(width: usize, keep: u64) -> Sorter {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        Sorter {
            keys: Vec::new(),
            entries: Vec::new(),
            rows: RowStore::new(width),
            width,
            keep,
            bar: None,
            column: None,
            unique: false,
            prune_at: keep.saturating_mul(2).max(PRUNE_AT_LEAST),
        }
    }

    /// For rows that are sorted by their column `column` alone. `unique`: of equal ones only the first is wanted.
    pub fn by_column(
        width: usize,
        keep: u64,
        column: usize,
        part: KeyPart,
        unique: bool,
    ) -> Sorter {
        let mut s = Sorter::new(width, keep);
        s.column = Some((column, part));
        s.unique = unique;
        if unique {
            s.prune_at = PRUNE_AT_LEAST;
        }
        s
    }

    /// Whether equal rows are left out.
    pub fn is_unique(&self) -> bool {
        self.unique
    }

    /// Whether a row with this key can be among the wanted ones.
    pub fn wants(&self, key: &[u8]) -> bool {
        self.keep > 0 && self.bar.as_ref().is_none_or(|(_, b)| key < &b[..])
    }

    /// Adds a row.
    pub fn add<'v>(&mut self, key: &[u8], values: impl IntoIterator<Item = ValueRef<'v>>) {
        if self.entries.len() == 1 {
            self.keys.reserve(EXPECTED * key.len());
        }
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        self.push(first_bytes(key), start, values);
    }

    /// Adds a row that is sorted by a column of its own, if it can be among the wanted ones; false where there is no such column.
    pub fn add_by_column(&mut self, values: &[ValueRef<'_>]) -> bool {
        let Some((c, part)) = &self.column else {
            return false;
        };
        let v = values[*c];
        let head = head_of(part, v, &mut self.keys);
        let wanted = match &self.bar {
            None => self.keep > 0,
            Some((bar, _)) if head != *bar => head < *bar,
            Some((_, bar)) => {
                self.keys.clear();
                part.encode(v, &mut self.keys);
                self.keys < *bar
            }
        };
        if wanted {
            // Its key is made when it has to be.
            self.keys.clear();
            self.push(head, 0, values.iter().copied());
        }
        true
    }

    fn push<'v>(
        &mut self,
        head: u64,
        start: usize,
        values: impl IntoIterator<Item = ValueRef<'v>>,
    ) {
        if self.entries.len() == 1 {
            // A second row: there will be more, and about as long ones.
            self.entries.reserve(EXPECTED);
            self.rows.expect(EXPECTED);
        }
        self.entries.push(Entry {
            head,
            start,
            end: self.keys.len(),
            row: self.rows.len() as u32,
        });
        self.rows.push(values);
        if self.entries.len() >= self.prune_at {
            self.prune();
        }
    }

    fn sort(&mut self) {
        if let Some((column, part)) = self.column.take() {
            self.sort_by_column(column, &part);
            self.column = Some((column, part));
            return;
        }
        let keys = &self.keys;
        self.entries.sort_unstable_by(|a, b| {
            a.head
                .cmp(&b.head)
                .then_with(|| keys[a.start..a.end].cmp(&keys[b.start..b.end]))
                .then(a.row.cmp(&b.row))
        });
    }

    /// By the keys' first bytes, and by whole keys where these are the same.
    fn sort_by_column(&mut self, column: usize, part: &KeyPart) {
        let keys = &mut self.keys;
        let rows = &self.rows;
        self.entries.sort_unstable_by_key(|e| (e.head, e.row));
        let mut gone = false;
        for run in self.entries.chunk_by_mut(|a, b| a.head == b.head) {
            if run.len() == 1 {
                continue;
            }
            keys.clear();
            for e in run.iter_mut() {
                e.start = keys.len();
                part.encode(rows.column(e.row as usize, column), keys);
                e.end = keys.len();
            }
            let key = |e: &Entry| &keys[e.start..e.end];
            run.sort_unstable_by(|a, b| key(a).cmp(key(b)).then(a.row.cmp(&b.row)));
            if self.unique {
                let mut first = run[0];
                for e in &mut run[1..] {
                    if key(e) == key(&first) {
                        e.row = GONE;
                        gone = true;
                    } else {
                        first = *e;
                    }
                }
            }
        }
        if gone {
            self.entries.retain(|e| e.row != GONE);
        }
    }

    /// Drops the rows that are not wanted.
    fn prune(&mut self) {
        if self.keep >= self.entries.len() && !self.unique {
            return;
        }
        self.sort();
        self.entries.truncate(self.keep);
        let mut kept = Sorter::new(self.width, self.keep as u64);
        for e in &self.entries {
            let start = kept.keys.len();
            if self.column.is_none() {
                kept.keys.extend_from_slice(&self.keys[e.start..e.end]);
            }
            kept.entries.push(Entry {
                head: e.head,
                start,
                end: kept.keys.len(),
                row: kept.rows.len() as u32,
            });
            kept.rows.push(self.rows.row(e.row as usize));
        }
        if let Some(e) = self
            .entries
            .last()
            .filter(|_| self.entries.len() == self.keep)
        {
            let mut key = Vec::new();
            match &self.column {
                None => key.extend_from_slice(&self.keys[e.start..e.end]),
                Some((c, part)) => part.encode(self.rows.column(e.row as usize, *c), &mut key),
            }
            kept.bar = Some((e.head, key));
        }
        // Where few were equal, later ones will not be either.
        let more = kept.entries.len().saturating_mul(4).max(PRUNE_AT_LEAST);
        kept.prune_at = kept.prune_at.min(more);
        kept.column = self.column.take();
        kept.unique = self.unique;
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
    use types::{CollationId, DataType, Value};

    /// Sorted by a column of their own, rows come as with whole keys.
    #[test]
    fn a_column_of_their_own_sorts_rows_as_their_keys_do() {
        let mut ty = DataType::VarChar {
            chars: 40,
            collation: CollationId::UTF8MB4_0900_AI_CI,
        };
        for collation in [
            CollationId::UTF8MB4_0900_AI_CI,
            CollationId::UTF8MB4_GENERAL_CI,
        ] {
            if let DataType::VarChar { collation: c, .. } = &mut ty {
                *c = collation;
            }
            // Many with the same beginning, some the same but for their case, some short, some NULL.
            let text = |i: u64| {
                let n = i.wrapping_mul(2_654_435_761) % 3001;
                match n % 7 {
                    0 => None,
                    1 => Some(format!("{n}")),
                    2 | 3 => Some(format!("The same beginning {n}")),
                    4 => Some(format!("THE SAME beginning {}", n / 7 % 50)),
                    5 => Some(format!("ä{}", n % 11)),
                    _ => Some(format!("{:09}-{n}", n * 7919)),
                }
            };
            for (keep, unique, descending) in [
                (u64::MAX, false, false),
                (u64::MAX, true, false),
                (u64::MAX, true, true),
                (10, false, true),
                (700, true, false),
                (1, true, true),
            ] {
                let mut part = KeyPart::new(ty.clone(), true);
                part.descending = descending;
                let mut s = Sorter::by_column(2, keep, 1, part.clone(), unique);
                let mut all = Vec::new();
                for i in 0..9000 {
                    let t = text(i);
                    let v = match &t {
                        Some(t) => ValueRef::Str(t.as_bytes(), collation),
                        None => ValueRef::Null,
                    };
                    let mut key = Vec::new();
                    part.encode(v, &mut key);
                    all.push((key, i));
                    assert!(s.add_by_column(&[ValueRef::UInt(i), v]));
                }
                all.sort();
                if unique {
                    all.dedup_by(|later, first| later.0 == first.0);
                }
                all.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
                let want: Vec<u64> = all.iter().map(|x| x.1).collect();
                let out = s.finish();
                let got: Vec<u64> = out
                    .order
                    .iter()
                    .map(|&r| match out.rows.column(r as usize, 0) {
                        ValueRef::UInt(v) => v,
                        other => panic!("{other:?}"),
                    })
                    .collect();
                assert!(got == want, "{keep} {unique} {descending}");
            }
        }
    }

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
