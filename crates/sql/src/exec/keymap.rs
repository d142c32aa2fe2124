//! A set of byte strings numbered in the order they came: groups, distinct rows, the build side of a hash join.
//!
//! Open addressing over numbers; the strings lie in one buffer, so that a member costs no allocation of its own.

use std::hash::{BuildHasher, RandomState};

/// A numbered set of byte strings.
pub(crate) struct KeyMap {
    hasher: RandomState,
    bytes: Vec<u8>,
    /// End of each string in `bytes`, and its hash.
    ends: Vec<(usize, u64)>,
    /// Numbers plus one; 0 for a free place. A power of two of them.
    table: Vec<u32>,
}

impl Default for KeyMap {
    fn default() -> KeyMap {
        KeyMap::new()
    }
}

impl KeyMap {
    /// An empty set.
    pub fn new() -> KeyMap {
        KeyMap {
            hasher: RandomState::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
            table: Vec::new(),
        }
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A member.
    pub fn key(&self, n: usize) -> &[u8] {
        let start = n.checked_sub(1).map_or(0, |p| self.ends[p].0);
        &self.bytes[start..self.ends[n].0]
    }

    /// The number of a member.
    pub fn get(&self, key: &[u8]) -> Option<usize> {
        if self.table.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.table[at] {
                0 => return None,
                n => {
                    let n = n as usize - 1;
                    if self.ends[n].1 == hash && self.key(n) == key {
                        return Some(n);
                    }
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// The number of a member, added where it is new (then `true`).
    pub fn insert(&mut self, key: &[u8]) -> (usize, bool) {
        if self.ends.len() * 2 >= self.table.len() {
            self.grow();
        }
        let hash = self.hasher.hash_one(key);
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.table[at] {
                0 => break,
                n => {
                    let n = n as usize - 1;
                    if self.ends[n].1 == hash && self.key(n) == key {
                        return (n, false);
                    }
                }
            }
            at = (at + 1) & mask;
        }
        self.bytes.extend_from_slice(key);
        self.ends.push((self.bytes.len(), hash));
        let n = self.ends.len();
        self.table[at] = n as u32;
        (n - 1, true)
    }

    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(16);
        self.table = vec![0; size];
        let mask = size - 1;
        for (n, (_, hash)) in self.ends.iter().enumerate() {
            let mut at = *hash as usize & mask;
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
    fn members_keep_their_numbers() {
        let mut m = KeyMap::new();
        for i in 0..1000u32 {
            assert_eq!(m.insert(&i.to_le_bytes()), (i as usize, true));
            assert_eq!(m.insert(&(i / 2).to_le_bytes()), (i as usize / 2, false));
        }
        assert_eq!(m.get(&999u32.to_le_bytes()), Some(999));
        assert_eq!(m.get(&1000u32.to_le_bytes()), None);
        assert_eq!(m.insert(b""), (1000, true));
        assert_eq!(m.key(1000), b"");
        assert_eq!(m.len(), 1001);
    }
}
