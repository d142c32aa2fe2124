//! Names: which file a path leads to, now and after a power cut. A creation, a removal or a renaming is durable once its
//! folder was synced, and may be before.

use base::SplitMix64;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A change of names that is not durable yet.
#[derive(Clone, Debug)]
pub enum Change {
    /// A file got this name.
    Link(PathBuf, usize),
    /// The name is gone.
    Unlink(PathBuf),
    /// A name was exchanged for another, at once.
    Rename(PathBuf, PathBuf, usize),
    /// A folder was made.
    MakeDir(PathBuf),
    /// A folder was removed.
    RemoveDir(PathBuf),
}

impl Change {
    fn touches(&self, dir: &Path) -> bool {
        let here = |p: &PathBuf| p.parent() == Some(dir);
        match self {
            Change::Link(p, _) | Change::Unlink(p) | Change::MakeDir(p) | Change::RemoveDir(p) => {
                here(p)
            }
            Change::Rename(a, b, _) => here(a) || here(b),
        }
    }
}

/// Paths to numbers of contents.
#[derive(Clone, Default)]
pub struct Names {
    /// Files.
    pub files: BTreeMap<PathBuf, usize>,
    /// Folders.
    pub dirs: BTreeSet<PathBuf>,
}

impl Names {
    /// Carries out a change.
    pub fn apply(&mut self, c: &Change) {
        match c {
            Change::Link(p, i) => {
                self.files.insert(p.clone(), *i);
            }
            Change::Unlink(p) => {
                self.files.remove(p);
            }
            Change::Rename(a, b, i) => {
                if self.files.get(a) == Some(i) {
                    self.files.remove(a);
                }
                self.files.insert(b.clone(), *i);
            }
            Change::MakeDir(p) => {
                self.dirs.insert(p.clone());
            }
            Change::RemoveDir(p) => {
                self.dirs.remove(p);
            }
        }
    }
}

/// Names as they are seen, and as they are on the medium.
#[derive(Clone, Default)]
pub struct Tree {
    /// As seen.
    pub now: Names,
    durable: Names,
    pending: Vec<Change>,
}

impl Tree {
    /// A change happens.
    pub fn change(&mut self, c: Change) {
        self.now.apply(&c);
        self.pending.push(c);
    }

    /// A folder is synced.
    pub fn sync(&mut self, dir: &Path) {
        let (done, rest) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|c: &Change| c.touches(dir));
        self.pending = rest;
        let done: Vec<Change> = done;
        for c in &done {
            self.durable.apply(c);
        }
    }

    /// Contents that a name leads to, or may lead to after a cut.
    pub fn reachable(&self) -> BTreeSet<usize> {
        let pending = self.pending.iter().filter_map(|c| match c {
            Change::Link(_, i) | Change::Rename(_, _, i) => Some(*i),
            _ => None,
        });
        let named = self.now.files.values().chain(self.durable.files.values());
        named.copied().chain(pending).collect()
    }

    /// What a cut leaves: each change for itself, or, as journals do, a prefix of them.
    pub fn after(&self, keep: u64, prefix: bool, rng: &mut SplitMix64) -> Tree {
        let mut names = self.durable.clone();
        let upto = rng.below(self.pending.len() as u64 + 1) as usize;
        for (i, c) in self.pending.iter().enumerate() {
            let kept = match (keep, prefix) {
                (0, _) => false,
                (100, _) => true,
                (_, true) => i < upto,
                (p, false) => rng.percent(p),
            };
            if kept {
                names.apply(c);
            }
        }
        // What lies in a folder that is gone is gone with it.
        let dirs = names.dirs.clone();
        let there = |p: &Path| {
            p.ancestors()
                .skip(1)
                .all(|a| a.as_os_str().is_empty() || a == Path::new("/") || dirs.contains(a))
        };
        names.files.retain(|p, _| there(p));
        names.dirs.retain(|p| there(p));
        Tree {
            now: names.clone(),
            durable: names,
            pending: Vec::new(),
        }
    }
}
