//! Whether the entries of an index and the rows of its table are the same set, without holding either: sums of hashes in
//! buckets first, then the entries of the buckets whose sums differ.
//!
//! A sum is taken over 64-bit hashes, one added for a row and taken away for an entry. Damage that leaves a sum at zero has
//! a chance of 2^-64 a bucket.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Buckets of an index.
const BUCKETS: usize = 4096;
/// Buckets looked at entry by entry. More than this many that differ are damage enough to tell of.
const LOOKED_AT: usize = 64;

fn hash(entry: &[u8]) -> u64 {
    let mut h = DefaultHasher::new();
    entry.hash(&mut h);
    h.finish()
}

fn bucket(hash: u64) -> usize {
    (hash >> 32) as usize % BUCKETS
}

/// The buckets of an index that differed.
pub(super) type Suspects = BTreeSet<usize>;

/// Rows against entries of one index.
pub(super) enum Tally {
    /// Of all of them, sums.
    Sums(Vec<u64>),
    /// Of some buckets, each entry with how many rows there are more than entries, and where its clustered key begins.
    Entries(Suspects, BTreeMap<Vec<u8>, (i64, usize)>),
}

impl Tally {
    pub(super) fn sums() -> Tally {
        Tally::Sums(vec![0; BUCKETS])
    }

    pub(super) fn entries(of: &Suspects) -> Tally {
        Tally::Entries(of.clone(), BTreeMap::new())
    }

    /// A row that must have this entry, with the clustered key at `split`.
    pub(super) fn row(&mut self, entry: &[u8], split: usize) {
        self.add(entry, split, 1);
    }

    /// An entry that is there.
    pub(super) fn entry(&mut self, entry: &[u8], split: usize) {
        self.add(entry, split, -1);
    }

    fn add(&mut self, entry: &[u8], split: usize, n: i64) {
        let h = hash(entry);
        match self {
            Tally::Sums(sums) => {
                let sum = &mut sums[bucket(h)];
                *sum = sum.wrapping_add(h.wrapping_mul(n as u64));
            }
            Tally::Entries(of, entries) if of.contains(&bucket(h)) => {
                let count = entries.entry(entry.to_vec()).or_insert((0, split));
                count.0 += n;
                if count.0 == 0 {
                    entries.remove(entry);
                }
            }
            Tally::Entries(..) => {}
        }
    }

    /// The buckets that differ, as many of them as are worth a closer look.
    pub(super) fn suspects(&self) -> Suspects {
        match self {
            Tally::Sums(sums) => (0..BUCKETS)
                .filter(|i| sums[*i] != 0)
                .take(LOOKED_AT)
                .collect(),
            Tally::Entries(of, _) => of.clone(),
        }
    }

    /// The entries that differ, with where their clustered keys begin.
    pub(super) fn different(&self) -> impl Iterator<Item = (&[u8], usize)> {
        let entries = match self {
            Tally::Sums(_) => None,
            Tally::Entries(_, entries) => Some(entries),
        };
        let all = entries.into_iter().flatten();
        all.map(|(entry, (_, split))| (entry.as_slice(), *split))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_point_at_the_entries_that_differ() {
        let entry = |i: u32| i.to_be_bytes().to_vec();
        let fill = |t: &mut Tally| {
            for i in 0..10_000 {
                if i != 77 {
                    t.row(&entry(i), 2);
                }
            }
            for i in (0..10_000).rev() {
                if i != 4_242 {
                    t.entry(&entry(i), 2);
                }
            }
        };
        let mut sums = Tally::sums();
        fill(&mut sums);
        let suspects = sums.suspects();
        assert!((1..=2).contains(&suspects.len()));
        let mut closer = Tally::entries(&suspects);
        fill(&mut closer);
        let found: Vec<Vec<u8>> = closer.different().map(|(e, _)| e.to_vec()).collect();
        assert_eq!(found, vec![entry(77), entry(4_242)]);
    }

    #[test]
    fn the_same_set_in_another_order_has_no_suspects() {
        let mut t = Tally::sums();
        (0..5_000u32).for_each(|i| t.row(&i.to_le_bytes(), 0));
        let entry = |t: &mut Tally, i: u32| t.entry(&i.to_le_bytes(), 0);
        (0..5_000u32).rev().for_each(|i| entry(&mut t, i));
        assert!(t.suspects().is_empty());
    }
}
