//! The entries of an index that is being built, kept in one buffer and sorted there.
//!
//! An entry costs its bytes and 16 more, 32 where several buffers are put in one order, and no allocation of its own. More than
//! memory is given for are written out in sorted runs ([`super::runs`]).

use super::leaf_rows::KeyRange;
use super::parallel::spread;
use crate::record::{SEC_VALUE, SecValue};
use std::cmp::Ordering;

/// An entry's place.
#[derive(Clone, Copy)]
struct Place {
    /// The first bytes of the key, as a number, for quick comparison.
    head: u64,
    /// Where its key begins; the value follows the key. In [`Ordered`] the highest bits say in which buffer.
    at: u64,
}

/// The lowest bit of a buffer's number in [`Place::at`].
const BUFFER: u32 = 48;

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

    /// Bytes of memory that they take, and their order with others'.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + self.places.len() * 2 * size_of::<Place>()
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

    /// Sorts a piece of them, or merges some that are sorted: some milliseconds of work. `false`: all are sorted.
    pub(super) fn sort_some(&mut self, s: &mut Sorting) -> bool {
        let bytes = &self.bytes;
        let order = |a: &Place, b: &Place| match a.head.cmp(&b.head) {
            Ordering::Equal => key_at(bytes, *a).cmp(key_at(bytes, *b)),
            unequal => unequal,
        };
        let n = self.places.len();
        let end = (s.at + s.piece).min(n);
        let piece = &mut self.places[s.at..end];
        if s.piece == PIECE {
            piece.sort_unstable_by(order);
        } else {
            // Finds that it is two sorted runs, and merges these.
            piece.sort_by(order);
        }
        s.at = end;
        if end < n {
            return true;
        }
        let more = s.piece < n;
        *s = Sorting {
            at: 0,
            piece: 2 * s.piece,
        };
        more
    }

    /// Sorts them.
    #[cfg(test)]
    pub(super) fn sort(&mut self) {
        let mut s = Sorting::default();
        while self.sort_some(&mut s) {}
    }

    /// Entry `n`: its key and its value.
    pub(super) fn get(&self, n: usize) -> Option<(&[u8], &[u8])> {
        let place = *self.places.get(n)?;
        let key = key_at(&self.bytes, place);
        let end = place.at as usize + key.len();
        Some((key, &self.bytes[end..end + SEC_VALUE]))
    }

    /// The number of the first, once they are sorted, that has the same values as the one behind it, where that may not be.
    pub(super) fn repeated(&self) -> Option<usize> {
        let same = |n: &usize| Entries::raw_repeated(self.raw(*n), self.raw(*n + 1)).is_some();
        (0..self.len().saturating_sub(1)).find(same)
    }

    /// Keys at even distances, `n` of them where there are so many entries; with the part of each that a unique index must not have twice.
    pub(super) fn samples(&self, n: usize) -> Vec<Sample> {
        let step = (self.len() / n.max(1)).max(1);
        let at = (step..self.len()).step_by(step);
        at.map(|i| Sample::of(self.raw(i))).collect()
    }

    /// The number of the first entry that is not below `key`.
    fn first_from(&self, key: &[u8]) -> usize {
        self.places
            .partition_point(|p| key_at(&self.bytes, *p) < key)
    }
}

/// Entries sorted at once.
const PIECE: usize = 16 << 10;

/// How far a sort has come.
pub(super) struct Sorting {
    /// The next piece's beginning.
    at: usize,
    /// Its length: twice that of those which are sorted.
    piece: usize,
}

impl Default for Sorting {
    fn default() -> Sorting {
        Sorting {
            at: 0,
            piece: PIECE,
        }
    }
}

/// A key, to cut entries at.
#[derive(Clone)]
pub(super) struct Sample {
    key: Vec<u8>,
    /// Bytes of its values, if there must not be others with the same.
    once: Option<usize>,
}

impl Sample {
    pub(super) fn of(raw: &[u8]) -> Sample {
        let once = Some(u16_at(raw, 2)).filter(|n| *n != ANY_NUMBER);
        Sample {
            key: Entries::raw_key(raw).to_vec(),
            once: once.map(usize::from),
        }
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }
}

/// Where entries are cut into `parts`, so that about as many samples are in each. In a unique index entries with the same values
/// stay together.
pub(super) fn cuts_of(samples: Vec<Sample>, unique: bool, parts: usize) -> Vec<Vec<u8>> {
    let cut = |mut s: Sample| {
        if let Some(n) = s.once.filter(|_| unique) {
            s.key.truncate(n);
        }
        s.key
    };
    let mut keys: Vec<Vec<u8>> = samples.into_iter().map(cut).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.retain(|k| !k.is_empty());
    spread(keys, parts)
}

/// Those of several buffers' sorted entries that are in a range, in one order.
pub(super) struct Ordered<'e> {
    buffers: &'e [Entries],
    places: Vec<Place>,
}

impl<'e> Ordered<'e> {
    /// The entries within `range`.
    pub(super) fn of(buffers: &'e [Entries], range: &KeyRange) -> Ordered<'e> {
        let mut places = Vec::new();
        for (b, entries) in buffers.iter().enumerate() {
            let from = entries.first_from(&range.from);
            let to = match &range.to {
                Some(to) => entries.first_from(to),
                None => entries.len(),
            };
            places.extend(entries.places[from..to.max(from)].iter().map(|p| Place {
                head: p.head,
                at: p.at | (b as u64) << BUFFER,
            }));
        }
        let mut ordered = Ordered { buffers, places };
        // Finds that they are sorted runs, and merges these.
        let mut places = std::mem::take(&mut ordered.places);
        places.sort_by(|a, b| match a.head.cmp(&b.head) {
            Ordering::Equal => ordered.key(*a).cmp(ordered.key(*b)),
            unequal => unequal,
        });
        ordered.places = places;
        ordered
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    fn buffer(&self, place: Place) -> (&'e [u8], usize) {
        let at = place.at & ((1 << BUFFER) - 1);
        (
            &self.buffers[(place.at >> BUFFER) as usize].bytes,
            at as usize,
        )
    }

    fn key(&self, place: Place) -> &'e [u8] {
        let (bytes, at) = self.buffer(place);
        let len = usize::from(u16_at(bytes, at - LENGTHS));
        &bytes[at..at + len]
    }

    /// Entry `n`: its key and its value.
    pub(super) fn get(&self, n: usize) -> Option<(&'e [u8], &'e [u8])> {
        let place = *self.places.get(n)?;
        let (bytes, at) = self.buffer(place);
        let key = self.key(place);
        let end = at + key.len();
        Some((key, &bytes[end..end + SEC_VALUE]))
    }

    /// The first entry that has the same values as the one behind it, where that may not be: the clustered key of its row.
    pub(super) fn repeated(&self) -> Option<&'e [u8]> {
        let raw = |p: Place| {
            let (bytes, at) = self.buffer(p);
            &bytes[at - LENGTHS..at + self.key(p).len() + SEC_VALUE]
        };
        let mut pairs = self.places.windows(2);
        pairs.find_map(|w| Entries::raw_repeated(raw(w[0]), raw(w[1])))
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

    fn all(e: &Entries) -> Ordered<'_> {
        Ordered::of(std::slice::from_ref(e), &KeyRange::default())
    }

    #[test]
    fn many_entries_are_sorted_in_pieces() {
        for n in [
            PIECE - 1,
            PIECE,
            PIECE + 1,
            2 * PIECE,
            5 * PIECE / 2,
            100_000,
        ] {
            let key = |i: u64| format!("{:08}", i.wrapping_mul(2_654_435_761) % 100_000_007);
            let mut keys: Vec<String> = (0..n as u64).map(key).collect();
            let mut e = Entries::default();
            for k in &keys {
                e.push(k.as_bytes(), k.len(), false);
            }
            let mut s = Sorting::default();
            let mut steps = 1;
            while e.sort_some(&mut s) {
                steps += 1;
            }
            let pieces = n.div_ceil(PIECE);
            assert!(
                (pieces..=2 * pieces + 6).contains(&steps),
                "{steps} steps for {n}"
            );
            keys.sort();
            let sorted = (0..n).filter_map(|n| Some(e.get(n)?.0));
            assert!(sorted.eq(keys.iter().map(String::as_bytes)));
        }
    }

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
        assert_eq!(all(&e).repeated(), None);
        // The same values before different clustered keys.
        e.push(b"zeta1", 4, true);
        e.push(b"zeta2", 4, true);
        e.sort();
        assert_eq!(all(&e).repeated(), None, "NULLs are no repetition");
        e.push(b"beta3", 4, false);
        e.sort();
        assert_eq!(all(&e).repeated(), Some(&b""[..]));
        e.push(b"beta2", 4, false);
        e.sort();
        assert_eq!(all(&e).repeated(), Some(&b""[..]));
        e.push(b"alp1", 3, false);
        e.push(b"alp2", 3, false);
        e.sort();
        assert_eq!(all(&e).repeated(), Some(&b"1"[..]));
        let mut e = Entries::default();
        e.push(b"beta", 4, false);
        assert_eq!(e.get(1), None);
        let value = e.get(0).and_then(|(_, v)| SecValue::read(v));
        assert_eq!(value.map(|v| (v.word, v.split)), Some((0, 4)));
    }

    #[test]
    fn ranges_of_several_buffers_are_all_of_them_once() {
        let mut buffers = Vec::new();
        let mut keys = Vec::new();
        for b in 0..5u64 {
            let mut e = Entries::default();
            for i in 0..400 {
                // Heads that are the same, too.
                let n = (i * 5 + b).wrapping_mul(2_654_435_761) % 90;
                let key = format!("same head {n:02} {i} {b}");
                e.push(key.as_bytes(), 12, false);
                keys.push(key.into_bytes());
            }
            e.sort();
            buffers.push(e);
        }
        keys.sort();
        for (unique, parts) in [(false, 1), (false, 4), (true, 4)] {
            let samples = buffers.iter().flat_map(|e| e.samples(16)).collect();
            let ranges = KeyRange::between(cuts_of(samples, unique, parts));
            assert_eq!(ranges.len(), parts);
            let mut got = Vec::new();
            for range in &ranges {
                let part = Ordered::of(&buffers, range);
                assert!(part.len() > keys.len() / parts / 2, "{}", part.len());
                assert!(part.repeated().is_some());
                got.extend((0..part.len()).filter_map(|n| Some(part.get(n)?.0.to_vec())));
            }
            assert_eq!(got, keys);
            let values = |r: &KeyRange| r.to.as_ref().map(Vec::len);
            let whole = ranges.iter().filter_map(values).all(|n| n == 12);
            assert_eq!(whole, unique || parts == 1, "the same values stay together");
        }
    }
}
