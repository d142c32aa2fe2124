//! The entries of an index that is being built, kept in one buffer and sorted there.
//!
//! An entry costs its bytes and 16 more, and no allocation of its own. More than memory is given for are written out in sorted
//! runs ([`super::runs`]).

use crate::record::{SEC_VALUE, SecValue};
use std::cmp::Ordering;

/// An entry's place.
#[derive(Clone, Copy)]
struct Place {
    /// The first bytes of the key, as a number, for quick comparison.
    head: u64,
    /// Where its key begins; the value follows the key.
    at: u64,
}

/// Bytes in front of each entry: length of the key u16, of its part that a unique index must not have twice u16; 0xFFFF in the
/// latter: it may, since it contains NULL.
const LENGTHS: usize = 4;
const ANY_NUMBER: u16 = u16::MAX;

/// Entries in the order of their keys, once they are sorted.
#[derive(Default)]
pub(super) struct Entries {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

impl Entries {
    /// Adds an entry without a writer, which is visible to all. `split`: where in its key the clustered key begins; `null`: a
    /// declared part is NULL.
    pub(super) fn push(&mut self, key: &[u8], split: usize, null: bool) {
        let value = SecValue {
            word: 0,
            split: split as u16,
        };
        let once = match null {
            true => ANY_NUMBER,
            false => split as u16,
        };
        self.bytes
            .extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(&once.to_le_bytes());
        self.places.push(Place {
            head: Entries::head_of(key),
            at: self.bytes.len() as u64,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&value.bytes());
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of memory that they take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + self.places.len() * size_of::<Place>()
    }

    /// Entry `n` with its lengths, as it lies in the buffer.
    pub(super) fn raw(&self, n: usize) -> &[u8] {
        let at = self.places[n].at as usize - LENGTHS;
        let len = Entries::raw_len(&self.bytes[at..]).unwrap_or_default();
        &self.bytes[at..at + len]
    }

    /// Adds an entry as [`raw`](Self::raw) gives it.
    pub(super) fn push_raw(&mut self, raw: &[u8]) {
        let head = Entries::head_of(Entries::raw_key(raw));
        self.places.push(Place {
            head,
            at: (self.bytes.len() + LENGTHS) as u64,
        });
        self.bytes.extend_from_slice(raw);
    }

    /// Bytes of the raw entry that `bytes` begins with, if its lengths are there.
    pub(super) fn raw_len(bytes: &[u8]) -> Option<usize> {
        let key = bytes.first_chunk::<2>()?;
        Some(LENGTHS + usize::from(u16::from_le_bytes(*key)) + SEC_VALUE)
    }

    /// The first eight bytes of a key as a number that sorts as they do.
    pub(super) fn head_of(key: &[u8]) -> u64 {
        let mut head = [0; 8];
        let n = key.len().min(8);
        head[..n].copy_from_slice(&key[..n]);
        u64::from_be_bytes(head)
    }

    /// The key of a raw entry.
    pub(super) fn raw_key(raw: &[u8]) -> &[u8] {
        &raw[LENGTHS..raw.len() - SEC_VALUE]
    }

    /// The clustered key of `a`, a raw entry, where `b` behind it has the same values and may not.
    pub(super) fn raw_repeated<'r>(a: &'r [u8], b: &[u8]) -> Option<&'r [u8]> {
        let once = |raw: &[u8]| Some(u16_at(raw, 2)).filter(|n| *n != ANY_NUMBER);
        let (n, m) = (usize::from(once(a)?), usize::from(once(b)?));
        let (key, other) = (Entries::raw_key(a), Entries::raw_key(b));
        (key[..n] == other[..m]).then(|| &key[n..])
    }

    /// Forgets all and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// Sorts them.
    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.places
            .sort_unstable_by(|a, b| match a.head.cmp(&b.head) {
                Ordering::Equal => key_at(bytes, *a).cmp(key_at(bytes, *b)),
                unequal => unequal,
            });
    }

    /// Entry `n`: its key and its value.
    pub(super) fn get(&self, n: usize) -> Option<(&[u8], &[u8])> {
        let place = *self.places.get(n)?;
        let key = key_at(&self.bytes, place);
        let end = place.at as usize + key.len();
        Some((key, &self.bytes[end..end + SEC_VALUE]))
    }

    /// The first entry that has the same values as the one behind it, where that may not be: the clustered key of its row.
    pub(super) fn repeated(&self) -> Option<&[u8]> {
        let once = |p: Place| {
            let n = u16_at(&self.bytes, p.at as usize - 2);
            let key = key_at(&self.bytes, p);
            (n != ANY_NUMBER).then(|| &key[..usize::from(n)])
        };
        let same = |w: &&[Place]| once(w[0]).is_some() && once(w[0]) == once(w[1]);
        let found = self.places.windows(2).find(same)?;
        let split = usize::from(u16_at(&self.bytes, found[0].at as usize - 2));
        Some(&key_at(&self.bytes, found[0])[split..])
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn key_at(bytes: &[u8], place: Place) -> &[u8] {
    let at = place.at as usize;
    let len = usize::from(u16_at(bytes, at - LENGTHS));
    &bytes[at..at + len]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_repeated_ones_found() {
        let mut e = Entries::default();
        for key in ["delta", "alphabet-1", "alphabet", "beta", "b", ""] {
            e.push(key.as_bytes(), key.len(), false);
        }
        e.sort();
        let keys: Vec<&[u8]> = (0..6).filter_map(|n| Some(e.get(n)?.0)).collect();
        let sorted = ["", "alphabet", "alphabet-1", "b", "beta", "delta"];
        assert_eq!(keys, sorted.map(str::as_bytes));
        assert_eq!(e.get(6), None);
        assert_eq!(e.repeated(), None);
        // The same values before different clustered keys.
        e.push(b"zeta1", 4, true);
        e.push(b"zeta2", 4, true);
        e.sort();
        assert_eq!(e.repeated(), None, "NULLs are no repetition");
        e.push(b"beta3", 4, false);
        e.sort();
        assert_eq!(e.repeated(), Some(&b""[..]));
        e.push(b"beta2", 4, false);
        e.sort();
        assert_eq!(e.repeated(), Some(&b""[..]));
        e.push(b"alp1", 3, false);
        e.push(b"alp2", 3, false);
        e.sort();
        assert_eq!(e.repeated(), Some(&b"1"[..]));
        let mut e = Entries::default();
        e.push(b"beta", 4, false);
        assert_eq!(e.get(1), None);
        let value = e.get(0).and_then(|(_, v)| SecValue::read(v));
        assert_eq!(value.map(|v| (v.word, v.split)), Some((0, 4)));
    }
}
