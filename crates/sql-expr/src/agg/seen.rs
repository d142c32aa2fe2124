//! The keys that an aggregate with DISTINCT has seen in its group: many groups have few, so that a set begins as a list.

use std::hash::{BuildHasher, RandomState};

use crate::hash::hash;

/// Most keys that are gone through one by one.
const LISTED: usize = 8;

/// A set of keys.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// Equal keys come one behind the other, so that the last one is all that is kept.
    neighbours: bool,
    /// The keys, one behind the other.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Numbers plus one by hash, 0 for a free place: a power of two of them. Empty as long as it is a list.
    table: Vec<u32>,
    seed: u64,
}

impl Seen {
    /// No keys yet; with `neighbours` equal ones come one behind the other.
    pub fn new(neighbours: bool) -> Seen {
        Seen {
            neighbours,
            ..Seen::default()
        }
    }

    /// Whether more than the last key is kept.
    pub fn keeps_all(&self) -> bool {
        !self.neighbours
    }

    fn key(&self, n: usize) -> &[u8] {
        let start = n.checked_sub(1).map_or(0, |p| self.ends[p]);
        &self.bytes[start..self.ends[n]]
    }

    /// Adds the key that `write` appends; whether it is a new one. Its length is told with it.
    pub fn insert(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Option<usize> {
        let start = self.bytes.len();
        write(&mut self.bytes);
        if self.neighbours {
            return self.after_the_last(start);
        }
        let key = &self.bytes[start..];
        let known = match self.table.is_empty() {
            true => (0..self.ends.len()).any(|n| self.key(n) == key),
            false => self.find(key).is_ok(),
        };
        if known {
            self.bytes.truncate(start);
            return None;
        }
        let len = self.bytes.len() - start;
        self.ends.push(self.bytes.len());
        if !self.table.is_empty() && self.ends.len() * 2 <= self.table.len() {
            let key = &self.bytes[start..];
            if let Err(place) = self.find(key) {
                self.table[place] = self.ends.len() as u32;
            }
        } else if self.ends.len() > LISTED {
            self.grow();
        }
        Some(len)
    }

    /// As [`insert`](Self::insert), for the key that begins there and the one before it.
    fn after_the_last(&mut self, start: usize) -> Option<usize> {
        let (last, key) = self.bytes.split_at(start);
        if !self.ends.is_empty() && last == key {
            self.bytes.truncate(start);
            return None;
        }
        let len = key.len();
        self.bytes.drain(..start);
        // That there was one is all that counts.
        if self.ends.is_empty() {
            self.ends.push(0);
        }
        Some(len)
    }

    /// Where a key stands in the table, or the free place where it would.
    fn find(&self, key: &[u8]) -> Result<usize, usize> {
        let mask = self.table.len() - 1;
        let mut at = hash(key, self.seed) as usize & mask;
        loop {
            match self.table[at] {
                0 => return Err(at),
                n if self.key(n as usize - 1) == key => return Ok(at),
                _ => at = (at + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        if self.table.is_empty() {
            self.seed = RandomState::new().hash_one(0u8);
        }
        self.table = vec![0; (self.ends.len() * 4).next_power_of_two()];
        let mask = self.table.len() - 1;
        for n in 0..self.ends.len() {
            let mut at = hash(self.key(n), self.seed) as usize & mask;
            while self.table[at] != 0 {
                at = (at + 1) & mask;
            }
            self.table[at] = n as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_new_once() {
        let mut seen = Seen::default();
        for round in 0..3 {
            for i in 0..1000u32 {
                let key = i.to_string();
                let new = seen.insert(|out| out.extend_from_slice(key.as_bytes()));
                assert_eq!(new, (round == 0).then_some(key.len()), "{i}");
            }
        }
        assert_eq!(seen.insert(|_| {}), Some(0));
        assert_eq!(seen.insert(|_| {}), None);
        assert_eq!(seen.ends.len(), 1001);
    }

    #[test]
    fn of_neighbours_the_last_is_kept() {
        let mut seen = Seen::new(true);
        let keys = ["", "", "a", "a", "a", "b", "", "ab", "ab"];
        let new = keys.map(|k| seen.insert(|out| out.extend_from_slice(k.as_bytes())));
        let none = None;
        assert_eq!(
            new,
            [
                Some(0),
                none,
                Some(1),
                none,
                none,
                Some(1),
                Some(0),
                Some(2),
                none
            ]
        );
        assert_eq!(seen.bytes, b"ab");
    }
}
