//! The entries of one row in a secondary index: one, or, where a part of the index is a list, one for each of its elements
//! ([0085](../../../docs/decisions/0085-multi-valued-indexes.md)). The one place that makes them. Knows no transaction.

use crate::record::RowRef;
use crate::schema::Table;
use smallvec::SmallVec;
use types::multi::Elements;
use types::{Value, ValueRef};

/// Bytes that most entries have room in.
const ROOM: usize = 64;

/// An entry's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    start: usize,
    end: usize,
    /// Bytes in front of the clustered key.
    split: usize,
    /// One of the declared parts is NULL.
    null: bool,
}

/// An entry of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowEntry<'e> {
    /// Its whole key.
    pub key: &'e [u8],
    /// Where in it the clustered key begins.
    pub split: usize,
    /// One of the declared parts is NULL, which no unique index minds.
    pub null: bool,
}

impl<'e> RowEntry<'e> {
    /// The declared parts.
    pub fn values(&self) -> &'e [u8] {
        &self.key[..self.split]
    }
}

/// The entries of a row in an index, in their order.
#[derive(Debug, Default)]
pub(crate) struct RowEntries {
    bytes: Vec<u8>,
    // Of nearly all indexes there is one.
    places: SmallVec<[Place; 1]>,
}

impl RowEntries {
    /// Makes them those of a row with this clustered key.
    pub fn of_row(&mut self, t: &Table, index: usize, row: RowRef<'_>, clustered: &[u8]) {
        self.make(t, index, |c| row.column(c), clustered);
    }

    /// The same of a row's values.
    pub fn of_values(&mut self, t: &Table, index: usize, values: &[Value], clustered: &[u8]) {
        self.make(t, index, |c| values[c].as_ref(), clustered);
    }

    fn make<'v>(
        &mut self,
        t: &Table,
        index: usize,
        column: impl Fn(usize) -> ValueRef<'v>,
        clustered: &[u8],
    ) {
        self.bytes.clear();
        self.bytes.reserve(ROOM);
        self.places.clear();
        let mut null = false;
        let list = t.list_part(index);
        let parts = t.key_parts(index).iter().zip(t.index_columns(index));
        for (n, (p, c)) in parts.enumerate() {
            let v = column(c);
            null |= v.is_null();
            if list == Some(n) && !v.is_null() {
                let behind = n + 1;
                return self.of_elements(t, index, (v, behind, null), &column, clustered);
            }
            p.encode(v, &mut self.bytes);
        }
        let split = self.bytes.len();
        self.bytes.extend_from_slice(clustered);
        self.places.push(Place {
            start: 0,
            end: self.bytes.len(),
            split,
            null,
        });
    }

    /// One for each element of a list, in front of which there is what `bytes` has; behind it are the parts from `behind` on.
    fn of_elements<'v>(
        &mut self,
        t: &Table,
        index: usize,
        (list, behind, mut null): (ValueRef<'v>, usize, bool),
        column: &impl Fn(usize) -> ValueRef<'v>,
        clustered: &[u8],
    ) {
        let front = std::mem::take(&mut self.bytes);
        let mut back = Vec::new();
        let parts = t.key_parts(index).iter().zip(t.index_columns(index));
        for (p, c) in parts.skip(behind) {
            let v = column(c);
            null |= v.is_null();
            p.encode(v, &mut back);
        }
        for (key, _) in Elements::of(list.as_bytes().unwrap_or_default()) {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&front);
            self.bytes.extend_from_slice(key);
            self.bytes.extend_from_slice(&back);
            let split = self.bytes.len() - start;
            self.bytes.extend_from_slice(clustered);
            self.places.push(Place {
                start,
                end: self.bytes.len(),
                split,
                null,
            });
            if base::mutant!("one-entry-of-a-list") {
                break;
            }
        }
    }

    /// All of them, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = RowEntry<'_>> {
        self.places.iter().map(|p| RowEntry {
            key: &self.bytes[p.start..p.end],
            split: p.split,
            null: p.null,
        })
    }

    /// Whether there is one with this key.
    pub fn has(&self, key: &[u8]) -> bool {
        let key_of = |p: &Place| &self.bytes[p.start..p.end];
        match &self.places[..] {
            [one] => key_of(one) == key,
            all => all.binary_search_by(|p| key_of(p).cmp(key)).is_ok(),
        }
    }

    /// Whether they are the same.
    pub fn are(&self, others: &RowEntries) -> bool {
        self.bytes == others.bytes && self.places == others.places
    }
}

/// Whether an entry is one of a row's; `buf` is room for its key.
pub(super) fn is_entry_of(
    t: &Table,
    index: usize,
    entry: &[u8],
    row: RowRef<'_>,
    buf: &mut Vec<u8>,
) -> bool {
    buf.clear();
    let list = t.list_part(index);
    let parts = t.key_parts(index).iter().zip(t.index_columns(index));
    for (n, (p, c)) in parts.enumerate() {
        let v = row.column(c);
        if list == Some(n) && !v.is_null() {
            let rest = entry.strip_prefix(&buf[..]);
            let mut all = Elements::of(v.as_bytes().unwrap_or_default());
            // No key is the beginning of another.
            let Some(own) = rest.and_then(|r| all.find(|(key, _)| r.starts_with(key))) else {
                return false;
            };
            buf.extend_from_slice(own.0);
            continue;
        }
        p.encode(v, buf);
    }
    entry.starts_with(buf)
}
