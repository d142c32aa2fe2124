//! The file system's files, folders and names, without a kernel: what is there now, and what a power cut leaves of it.
//!
//! A name that was made, moved or removed is as it was before until its folder is synced; so a file that was synced itself
//! may be without a name after a cut, and is gone. Moving is one change: at a cut it has happened or has not. Owners and modes
//! are taken as durable at once.

use super::content::{Content, Losses, Unsynced};
use harness::rng::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

/// The number of a file or folder; never given twice.
pub type Ino = u64;

/// The number of the topmost folder, as FUSE has it.
pub const ROOT: Ino = 1;

/// The errors that an operation on names may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is no such file.
    NotThere,
    /// There is one already.
    Exists,
    /// It is a folder.
    IsFolder,
    /// It is no folder.
    NotFolder,
    /// The folder has entries.
    NotEmpty,
}

/// A file or folder.
#[derive(Debug, Clone)]
pub struct Node {
    /// Permission bits.
    pub mode: u16,
    /// The owner.
    pub uid: u32,
    /// The owner's group.
    pub gid: u32,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A file.
    File(Content),
    /// A folder.
    Folder(Folder),
}

/// The names in a folder: as they are, and as they are durable.
#[derive(Debug, Clone, Default)]
pub struct Folder {
    /// As they are.
    pub now: BTreeMap<OsString, Ino>,
    durable: BTreeMap<OsString, Ino>,
}

/// A place for a name.
type Place = (Ino, OsString);

/// A change of names that is not durable yet.
#[derive(Debug, Clone)]
enum Change {
    Made(Place, Ino),
    Removed(Place),
    Moved(Place, Place, Ino),
}

impl Change {
    /// The folder whose sync makes it durable: of a move, the one that has the new name.
    fn folder(&self) -> Ino {
        match self {
            Change::Made(at, _) | Change::Removed(at) | Change::Moved(_, at, _) => at.0,
        }
    }
}

/// All of it.
#[derive(Debug)]
pub struct Volume {
    nodes: BTreeMap<Ino, Node>,
    next: Ino,
    unsynced: Vec<Change>,
}

impl Volume {
    /// An empty file system, whose topmost folder belongs to this owner.
    pub fn new(uid: u32, gid: u32) -> Volume {
        let root = Node {
            mode: 0o755,
            uid,
            gid,
            kind: Kind::Folder(Folder::default()),
        };
        Volume {
            nodes: BTreeMap::from([(ROOT, root)]),
            next: ROOT + 1,
            unsynced: Vec::new(),
        }
    }

    /// The node of this number.
    pub fn node(&self, ino: Ino) -> Result<&Node, Refused> {
        self.nodes.get(&ino).ok_or(Refused::NotThere)
    }

    /// The same, to be changed.
    pub fn node_mut(&mut self, ino: Ino) -> Result<&mut Node, Refused> {
        self.nodes.get_mut(&ino).ok_or(Refused::NotThere)
    }

    /// The bytes of a file.
    pub fn file(&mut self, ino: Ino) -> Result<&mut Content, Refused> {
        match &mut self.node_mut(ino)?.kind {
            Kind::File(content) => Ok(content),
            Kind::Folder(_) => Err(Refused::IsFolder),
        }
    }

    /// The names in a folder.
    pub fn folder(&self, ino: Ino) -> Result<&BTreeMap<OsString, Ino>, Refused> {
        match &self.node(ino)?.kind {
            Kind::Folder(folder) => Ok(&folder.now),
            Kind::File(_) => Err(Refused::NotFolder),
        }
    }

    /// How many blocks are filled.
    pub fn blocks(&self) -> u64 {
        let blocks = |node: &Node| match &node.kind {
            Kind::File(content) => content.blocks(),
            Kind::Folder(_) => 1,
        };
        self.nodes.values().map(blocks).sum()
    }

    /// What has a name.
    pub fn find(&self, folder: Ino, name: &OsStr) -> Result<Ino, Refused> {
        let found = self.folder(folder)?.get(name).copied();
        found.ok_or(Refused::NotThere)
    }

    /// Makes a file or folder.
    pub fn make(&mut self, folder: Ino, name: &OsStr, node: Node) -> Result<Ino, Refused> {
        if self.folder(folder)?.contains_key(name) {
            return Err(Refused::Exists);
        }
        let ino = self.next;
        self.next += 1;
        self.nodes.insert(ino, node);
        self.change(Change::Made((folder, name.to_owned()), ino));
        Ok(ino)
    }

    /// Takes a name away: of a file, or of an empty folder.
    pub fn remove(&mut self, folder: Ino, name: &OsStr, is_folder: bool) -> Result<(), Refused> {
        let ino = self.find(folder, name)?;
        match (&self.node(ino)?.kind, is_folder) {
            (Kind::File(_), true) => return Err(Refused::NotFolder),
            (Kind::Folder(_), false) => return Err(Refused::IsFolder),
            (Kind::Folder(inside), true) if !inside.now.is_empty() => {
                return Err(Refused::NotEmpty);
            }
            _ => {}
        }
        self.change(Change::Removed((folder, name.to_owned())));
        Ok(())
    }

    /// Gives another name, which may have been another's.
    pub fn rename(&mut self, from: (Ino, &OsStr), to: (Ino, &OsStr)) -> Result<(), Refused> {
        let ino = self.find(from.0, from.1)?;
        let moved_folder = matches!(self.node(ino)?.kind, Kind::Folder(_));
        match self.find(to.0, to.1) {
            Ok(same) if same == ino => return Ok(()),
            Ok(other) => match (&self.node(other)?.kind, moved_folder) {
                (Kind::File(_), true) => return Err(Refused::NotFolder),
                (Kind::Folder(_), false) => return Err(Refused::IsFolder),
                (Kind::Folder(inside), true) if !inside.now.is_empty() => {
                    return Err(Refused::NotEmpty);
                }
                _ => {}
            },
            Err(Refused::NotThere) => {}
            Err(why) => return Err(why),
        }
        let place = |p: (Ino, &OsStr)| (p.0, p.1.to_owned());
        self.change(Change::Moved(place(from), place(to), ino));
        Ok(())
    }

    fn change(&mut self, change: Change) {
        self.apply(&change, |folder| &mut folder.now);
        self.unsynced.push(change);
    }

    fn apply(&mut self, change: &Change, side: fn(&mut Folder) -> &mut BTreeMap<OsString, Ino>) {
        let mut names = |ino: Ino, act: &mut dyn FnMut(&mut BTreeMap<OsString, Ino>)| {
            // A folder that is gone has no names to change.
            if let Some(node) = self.nodes.get_mut(&ino)
                && let Kind::Folder(folder) = &mut node.kind
            {
                act(side(folder));
            }
        };
        match change {
            Change::Made((folder, name), ino) => names(*folder, &mut |n| {
                n.insert(name.clone(), *ino);
            }),
            Change::Removed((folder, name)) => names(*folder, &mut |n| {
                n.remove(name);
            }),
            Change::Moved(from, to, ino) => {
                names(from.0, &mut |n| {
                    // The old name may be another file's by now.
                    if n.get(&from.1) == Some(ino) {
                        n.remove(&from.1);
                    }
                });
                names(to.0, &mut |n| {
                    n.insert(to.1.clone(), *ino);
                });
            }
        }
    }

    /// Makes a file's bytes or a folder's names durable.
    pub fn sync(&mut self, ino: Ino) -> Result<(), Refused> {
        if let Kind::File(content) = &mut self.node_mut(ino)?.kind {
            content.sync();
            return Ok(());
        }
        let all = std::mem::take(&mut self.unsynced).into_iter();
        let (here, others): (Vec<Change>, Vec<Change>) = all.partition(|c| c.folder() == ino);
        self.unsynced = others;
        for change in &here {
            self.apply(change, |folder| &mut folder.durable);
        }
        Ok(())
    }

    /// Makes everything durable.
    pub fn sync_all(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            self.apply(&change, |folder| &mut folder.durable);
        }
        for node in self.nodes.values_mut() {
            if let Kind::File(content) = &mut node.kind {
                content.sync();
            }
        }
    }

    /// The power goes. `all` decides for every file and name alike; without it, chance does for each.
    pub fn cut(&mut self, all: Option<Unsynced>, rng: &mut Rng) -> Losses {
        let mut losses = Losses::default();
        let how = all.unwrap_or_else(|| Unsynced::drawn(rng));
        let changes = std::mem::take(&mut self.unsynced);
        let first_lost = rng.below(changes.len() as u64 + 1) as usize;
        for (n, change) in changes.iter().enumerate() {
            let kept = match how {
                Unsynced::Lost => false,
                Unsynced::Kept => true,
                Unsynced::InOrder => n < first_lost,
                Unsynced::InAnyOrder => rng.one_in(2),
            };
            if kept {
                losses.names_kept += 1;
                self.apply(change, |folder| &mut folder.durable);
            } else {
                losses.names_lost += 1;
            }
        }
        for node in self.nodes.values_mut() {
            match &mut node.kind {
                Kind::File(content) => {
                    let how = all.unwrap_or_else(|| Unsynced::drawn(rng));
                    content.cut(how, rng, &mut losses);
                }
                Kind::Folder(folder) => folder.now = folder.durable.clone(),
            }
        }
        self.forget_nameless();
        losses
    }

    /// What no name leads to is gone.
    fn forget_nameless(&mut self) {
        let mut found = BTreeSet::from([ROOT]);
        let mut open = vec![ROOT];
        while let Some(ino) = open.pop() {
            if let Some(Node {
                kind: Kind::Folder(folder),
                ..
            }) = self.nodes.get(&ino)
            {
                open.extend(folder.now.values().filter(|ino| found.insert(**ino)));
            }
        }
        self.nodes.retain(|ino, _| found.contains(ino));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(is_folder: bool) -> Node {
        Node {
            mode: 0o644,
            uid: 0,
            gid: 0,
            kind: if is_folder {
                Kind::Folder(Folder::default())
            } else {
                Kind::File(Content::default())
            },
        }
    }

    fn os(name: &str) -> &OsStr {
        OsStr::new(name)
    }

    #[test]
    fn a_synced_file_without_a_synced_name_is_gone() {
        let mut v = Volume::new(0, 0);
        let a = v.make(ROOT, os("a"), node(false)).unwrap();
        v.file(a).unwrap().write(0, b"bytes");
        v.sync(a).unwrap();
        v.sync(ROOT).unwrap();
        let b = v.make(ROOT, os("b"), node(false)).unwrap();
        v.file(b).unwrap().write(0, b"bytes");
        v.sync(b).unwrap();
        let losses = v.cut(Some(Unsynced::Lost), &mut Rng::new(1));
        assert_eq!((losses.lost, losses.names_lost), (0, 1));
        assert_eq!(v.find(ROOT, os("a")), Ok(a));
        assert_eq!(v.find(ROOT, os("b")), Err(Refused::NotThere));
        assert!(v.node(b).is_err());
    }

    #[test]
    fn a_move_has_happened_or_has_not() {
        let mut both_ways = BTreeSet::new();
        for seed in 0..50 {
            let mut v = Volume::new(0, 0);
            let old = v.make(ROOT, os("file"), node(false)).unwrap();
            let new = v.make(ROOT, os("file.new"), node(false)).unwrap();
            v.sync(ROOT).unwrap();
            v.rename((ROOT, os("file.new")), (ROOT, os("file")))
                .unwrap();
            assert_eq!(v.find(ROOT, os("file")), Ok(new));
            v.cut(None, &mut Rng::new(seed));
            let now = v.find(ROOT, os("file")).unwrap();
            let beside = v.find(ROOT, os("file.new"));
            assert!(
                (now == old && beside == Ok(new))
                    || (now == new && beside == Err(Refused::NotThere))
            );
            both_ways.insert(now);
        }
        assert_eq!(both_ways.len(), 2);
    }

    #[test]
    fn a_folder_goes_with_what_is_in_it() {
        let mut v = Volume::new(0, 0);
        let d = v.make(ROOT, os("d"), node(true)).unwrap();
        let f = v.make(d, os("f"), node(false)).unwrap();
        v.sync(d).unwrap();
        v.sync(f).unwrap();
        assert_eq!(v.remove(ROOT, os("d"), true), Err(Refused::NotEmpty));
        v.cut(Some(Unsynced::Lost), &mut Rng::new(1));
        assert!(v.node(d).is_err() && v.node(f).is_err());
    }

    #[test]
    fn removals_come_back_unless_synced() {
        let mut v = Volume::new(0, 0);
        for name in ["a", "b"] {
            v.make(ROOT, os(name), node(false)).unwrap();
        }
        v.sync_all();
        v.remove(ROOT, os("a"), false).unwrap();
        v.sync(ROOT).unwrap();
        v.remove(ROOT, os("b"), false).unwrap();
        v.cut(Some(Unsynced::Lost), &mut Rng::new(1));
        assert!(v.find(ROOT, os("a")).is_err() && v.find(ROOT, os("b")).is_ok());
    }
}
