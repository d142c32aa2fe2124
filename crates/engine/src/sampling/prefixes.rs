//! How many different values the first parts of an index have, from some of its leaves.
//!
//! Entries are in order, so the different values are the places where an entry differs from the one before, and the share of such places among the
//! pairs that were seen is that of all (as InnoDB counts them). Where there are too few to be judged by, values fill many leaves:
//! then one entry of each leaf is as good as a random row, and says how many they are.

use crate::stats::{duj1, runs};
use base::SplitMix64;
use types::DataType;
use types::keyenc::KeyPart;

/// Places that are enough to be judged by.
const ENOUGH: u64 = 32;

/// What the leaves of an index have told so far.
pub(super) struct Prefixes {
    parts: Vec<KeyPart>,
    /// The entry before, and whether it was in this leaf.
    before: Vec<u8>,
    ends: Vec<usize>,
    in_leaf: u64,
    any: bool,
    pairs: u64,
    entries: u64,
    /// By part: pairs within leaves that differ, and different values seen.
    places: Vec<u64>,
    seen: Vec<u64>,
    /// An entry of this leaf, by the hashes of its first parts; and those of the leaves before.
    drawn: Vec<u64>,
    one_a_leaf: Vec<Vec<u64>>,
}

impl Prefixes {
    /// Of an index with these declared parts.
    pub(super) fn new(parts: &[KeyPart]) -> Prefixes {
        let mut parts = parts.to_vec();
        for p in &mut parts {
            // The prefix of a binary string is written as one of any length.
            if p.prefix > 0
                && let DataType::Binary(n) = p.ty
            {
                p.ty = DataType::VarBinary(n);
            }
        }
        let n = parts.len();
        Prefixes {
            parts,
            before: Vec::new(),
            ends: Vec::new(),
            in_leaf: 0,
            any: false,
            pairs: 0,
            entries: 0,
            places: vec![0; n],
            seen: vec![0; n],
            drawn: Vec::new(),
            one_a_leaf: vec![Vec::new(); n],
        }
    }

    /// Another leaf, behind those before.
    pub(super) fn leaf(&mut self) {
        for (all, one) in self.one_a_leaf.iter_mut().zip(self.drawn.drain(..)) {
            all.push(one);
        }
        self.in_leaf = 0;
    }

    /// The next entry of the leaf that is not deleted.
    pub(super) fn entry(&mut self, key: &[u8], random: &mut SplitMix64) {
        let same = key
            .iter()
            .zip(&self.before)
            .take_while(|(a, b)| a == b)
            .count();
        self.ends.clear();
        let mut end = 0;
        for p in &self.parts {
            let Some((_, n)) = key.get(end..).and_then(|rest| p.decode(rest)) else {
                return;
            };
            end += n;
            self.ends.push(end);
        }
        let first = self.in_leaf == 0;
        for (i, end) in self.ends.iter().enumerate() {
            if !self.any || same < *end {
                self.seen[i] += 1;
                self.places[i] += u64::from(!first);
            }
        }
        self.pairs += u64::from(!first);
        self.in_leaf += 1;
        self.entries += 1;
        self.any = true;
        if random.one_in(self.in_leaf) {
            self.drawn.clear();
            let hashes = self.ends.iter().map(|end| hash(&key[..*end]));
            self.drawn.extend(hashes);
        }
        self.before.clear();
        self.before.extend_from_slice(key);
    }

    /// Entries seen.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Different values of the first parts, of an index with so many entries; `whole`: all of them were seen.
    pub(super) fn distinct(mut self, rows: u64, whole: bool) -> Vec<f64> {
        self.leaf();
        let mut all = Vec::with_capacity(self.seen.len());
        let mut least = 0.0f64;
        for i in 0..self.seen.len() {
            let seen = self.seen[i] as f64;
            let n = match whole {
                true => seen,
                false => self.estimate(i, rows).clamp(seen, (rows as f64).max(seen)),
            };
            least = least.max(n);
            all.push(least);
        }
        all
    }

    fn estimate(&mut self, part: usize, rows: u64) -> f64 {
        let places = self.places[part] as f64;
        let pairs = rows.saturating_sub(1) as f64 / self.pairs.max(1) as f64;
        if self.places[part] >= ENOUGH {
            return 1.0 + places * pairs;
        }
        let one = &mut self.one_a_leaf[part];
        one.sort_unstable();
        let (different, once) = runs(one.iter());
        let by_leaf = duj1(one.len() as u64, different, once, rows as f64);
        // More would have shown as more places.
        by_leaf.min(1.0 + (places + 3.0 * (places + 1.0).sqrt() + 3.0) * pairs)
    }
}

/// FNV-1a.
fn hash(b: &[u8]) -> u64 {
    b.iter().fold(0xCBF2_9CE4_8422_2325, |h, x| {
        (h ^ u64::from(*x)).wrapping_mul(0x0100_0000_01B3)
    })
}
