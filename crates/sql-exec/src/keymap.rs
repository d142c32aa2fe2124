//! A set of byte strings numbered in the order they came: groups, distinct rows, the build side of a hash join.
//!
//! Open addressing over numbers; the strings lie in one buffer, so that a member costs no allocation of its own.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use types::SqlError;

use sql_expr::hash::hash;
use sql_expr::memory::{Account, Charge, SMALL};

/// A numbered set of byte strings.
pub(crate) struct KeyMap {
    /// So that clients cannot choose hashes.
    seed: u64,
    bytes: Vec<u8>,
    /// End of each string in `bytes`, and its hash.
    ends: Vec<(usize, u64)>,
    /// Numbers plus one; 0 for a free place. A power of two of them.
    table: Vec<u32>,
    account: Arc<Account>,
    bytes_charge: Charge,
    ends_charge: Charge,
    table_charge: Charge,
}

impl KeyMap {
    /// An empty set, which a session holds.
    pub fn new(account: &Arc<Account>) -> KeyMap {
        KeyMap {
            seed: RandomState::new().hash_one(0u8),
            bytes: Vec::new(),
            ends: Vec::new(),
            table: Vec::new(),
            account: Arc::clone(account),
            bytes_charge: Charge::to(account),
            ends_charge: Charge::to(account),
            table_charge: Charge::to(account),
        }
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes that it takes, without the room for more.
    #[inline]
    pub fn used(&self) -> usize {
        self.bytes.len()
            + self.ends.len() * size_of::<(usize, u64)>()
            + self.table.len() * size_of::<u32>()
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
        let hash = hash(key, self.seed);
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
    ///
    /// # Errors
    /// The session may hold no more.
    pub fn insert(&mut self, key: &[u8]) -> Result<(usize, bool), SqlError> {
        if self.ends.len() * 2 >= self.table.len() && !self.grow() {
            self.account.check()?;
        }
        let hash = hash(key, self.seed);
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.table[at] {
                0 => break,
                n => {
                    let n = n as usize - 1;
                    if self.ends[n].1 == hash && self.key(n) == key {
                        return Ok((n, false));
                    }
                }
            }
            at = (at + 1) & mask;
        }
        let room = self.bytes_charge.reserve(&mut self.bytes, key.len())
            && self.ends_charge.reserve(&mut self.ends, 1);
        if !room {
            self.account.check()?;
        }
        self.bytes.extend_from_slice(key);
        self.ends.push((self.bytes.len(), hash));
        let n = self.ends.len();
        self.table[at] = n as u32;
        Ok((n - 1, true))
    }

    /// Doubles the table; `false` where the session has no memory for it.
    fn grow(&mut self) -> bool {
        let size = (self.table.len() * 2).max(16);
        let bytes = size * size_of::<u32>();
        if bytes >= SMALL && !self.table_charge.set(bytes) {
            return false;
        }
        // The old one first: it is not needed to make the new one.
        self.table = Vec::new();
        self.table = vec![0; size];
        let mask = size - 1;
        for (n, (_, hash)) in self.ends.iter().enumerate() {
            let mut at = *hash as usize & mask;
            while self.table[at] != 0 {
                at = (at + 1) & mask;
            }
            self.table[at] = n as u32 + 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_numbers() {
        let mut m = KeyMap::new(&Arc::default());
        for i in 0..1000u32 {
            assert_eq!(m.insert(&i.to_le_bytes()), Ok((i as usize, true)));
            assert_eq!(
                m.insert(&(i / 2).to_le_bytes()),
                Ok((i as usize / 2, false))
            );
        }
        assert_eq!(m.get(&999u32.to_le_bytes()), Some(999));
        assert_eq!(m.get(&1000u32.to_le_bytes()), None);
        assert_eq!(m.insert(b""), Ok((1000, true)));
        assert_eq!(m.key(1000), b"");
        assert_eq!(m.len(), 1001);
    }

    #[test]
    fn a_set_ends_where_the_session_has_no_more() {
        let budget = Arc::default();
        let account = Arc::new(Account::new(&budget));
        budget.set_ceiling(1 << 20);
        let mut m = KeyMap::new(&account);
        let full = (0u32..1 << 20).find_map(|i| m.insert(&i.to_le_bytes()).err());
        assert_eq!(full.map(|e| e.code), Some(3170));
        assert!(m.len() > 1000);
        for i in 0..m.len() as u32 {
            assert_eq!(m.get(&i.to_le_bytes()), Some(i as usize));
        }
    }
}
