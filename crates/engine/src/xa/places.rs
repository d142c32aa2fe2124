//! Which branches there are, and whose places they take.
//!
//! Must never do: let one account, or all together, take the places that are kept for others.

use super::branch::Branch;
use super::name::{BRANCHES_MAX, BRANCHES_OF_ONE, BranchOwner, Key, Owner};
use std::collections::{BTreeMap, HashMap};

/// Places that are administrators' alone.
pub(super) const KEPT_FOR_ADMINISTRATORS: usize = 256;

/// Names of empty prepared branches that are remembered: of all accounts, and of one.
pub(super) const EMPTY_MAX: usize = 8192;
pub(super) const EMPTY_OF_ONE: usize = 1024;

/// The branches by their names, and how many there are of whom.
#[derive(Default)]
pub(super) struct Map {
    pub(super) all: BTreeMap<Key, Branch>,
    /// Places taken: of all but the empty ones.
    pub(super) places: HashMap<Owner, usize>,
    pub(super) taken: usize,
    /// The empty ones by age.
    pub(super) empty: BTreeMap<u64, Key>,
    /// How many of them are whose.
    empty_of: HashMap<Owner, usize>,
    last: u64,
}

fn count_one_less(of: &mut HashMap<Owner, usize>, owner: &Owner) {
    if let Some(n) = of.get_mut(owner) {
        *n -= 1;
        if *n == 0 {
            of.remove(owner);
        }
    }
}

impl Map {
    /// Puts a branch in, in the place of one of this name.
    pub(super) fn insert(&mut self, key: Key, branch: Branch) {
        self.remove(&key);
        match &branch {
            Branch::Empty { owner, since, .. } => {
                self.empty.insert(*since, key.clone());
                *self.empty_of.entry(owner.clone()).or_default() += 1;
            }
            other => {
                *self.places.entry(other.owner().clone()).or_default() += 1;
                self.taken += 1;
            }
        }
        self.all.insert(key, branch);
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Branch> {
        let branch = self.all.remove(key)?;
        match &branch {
            Branch::Empty { owner, since, .. } => {
                self.empty.remove(since);
                count_one_less(&mut self.empty_of, owner);
            }
            other => {
                count_one_less(&mut self.places, other.owner());
                self.taken -= 1;
            }
        }
        Some(branch)
    }

    /// Whether a place is left for an owner.
    pub(super) fn has_place_for(&self, owner: &BranchOwner) -> bool {
        let own = self.places.get(&owner.account).copied().unwrap_or(0);
        match owner.administrator {
            true => self.taken < BRANCHES_MAX,
            false => own < BRANCHES_OF_ONE && self.taken < BRANCHES_MAX - KEPT_FOR_ADMINISTRATORS,
        }
    }

    /// Remembers the name of an empty one, and forgets the oldest where there are too many of its owner or of all.
    pub(super) fn remember(&mut self, (key, format): (Key, u32), owner: Owner, attached: bool) {
        self.last += 1;
        let since = self.last;
        let own = self.empty_of.get(&owner).copied().unwrap_or(0);
        let oldest = match own >= EMPTY_OF_ONE {
            true => {
                let mut all = self.empty.values();
                all.find(|k| self.all.get(*k).is_some_and(|b| *b.owner() == owner))
            }
            false if self.empty.len() >= EMPTY_MAX => self.empty.values().next(),
            false => None,
        };
        if let Some(oldest) = oldest.cloned() {
            self.remove(&oldest);
        }
        let branch = Branch::Empty {
            format,
            owner,
            since,
            attached,
        };
        self.insert(key, branch);
    }
}
