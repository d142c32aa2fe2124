//! The simulated disk: files whose unsynced bytes and names a power cut may lose, tear or reorder, with faults from a
//! seed. Submitted operations complete when the scheduler says so; the immediate ones at once. After the cut the disk is
//! dead: whatever the engine still tries fails and changes nothing.

mod content;
mod file;
mod names;

pub use content::Cut;

use crate::time::Time;
use base::IoBuf;
use base::SplitMix64;
use base::environment::{Disk, Done, DoneSync, File, OpenMode};
use base::lock::{Mutex, MutexGuard};
use content::{Content, Data, SECTOR};
use file::SimFile;
use names::{Change, Tree};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What goes wrong, as chances of one in so many operations; 0: never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// A page's read fails.
    pub read_error: u64,
    /// A write or an allocation fails.
    pub write_error: u64,
    /// A sync fails.
    pub sync_error: u64,
    /// A submitted operation takes up to seconds.
    pub slow: u64,
}

/// What a medium is like.
#[derive(Clone, Copy, Debug)]
pub struct Medium {
    /// Aligned 16 KiB arrive whole (for `innodb_doublewrite=OFF`).
    pub whole_pages: bool,
    /// What is written past the page cache is durable at once (for `O_DIRECT_NO_FSYNC`).
    pub direct_durable: bool,
}

/// What happened, by name.
pub type Counts = BTreeMap<&'static str, u64>;

pub(crate) enum Work {
    Read(usize, IoBuf, u64, Done),
    Write(usize, IoBuf, u64, Done, bool),
    Sync(usize, u64, DoneSync),
}

struct Flying {
    ready: u64,
    work: Work,
}

pub(crate) struct State {
    contents: Vec<Content>,
    tree: Tree,
    flying: Vec<Flying>,
    seq: u64,
    rng: SplitMix64,
    faults: Faults,
    medium: Medium,
    /// Bytes by which files may still grow.
    room: u64,
    /// Operations left until the cut.
    left: u64,
    cut: Cut,
    survivor: Option<Box<Survivor>>,
    /// What was being done when the power went.
    cut_at: String,
    hash: u64,
    ops: u64,
    pub(crate) counts: Counts,
}

/// What a cut left.
pub struct Survivor {
    contents: Vec<Content>,
    tree: Tree,
    medium: Medium,
}

/// The disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
    time: Arc<Time>,
}

fn lock(m: &Mutex<State>) -> MutexGuard<'_, State> {
    m.lock()
}

fn dead() -> io::Error {
    io::Error::other("the power is off")
}

fn not_found() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

/// What a file is for.
fn class(path: &Path) -> &'static str {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    match &*name {
        "control" => "control",
        "doublewrite" => "doublewrite",
        "catalog.tdb" => "catalog",
        n if n.ends_with(".log") => "log",
        n if n.ends_with(".tmp") => "new segment",
        n if n.ends_with(".tdb") => "data",
        _ => "other",
    }
}

impl Survivor {
    /// A disk with nothing on it.
    pub fn empty(medium: Medium) -> Survivor {
        Survivor {
            contents: Vec::new(),
            tree: Tree::default(),
            medium,
        }
    }

    /// Paths of all files.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.tree.now.files.keys().cloned().collect()
    }

    /// Length of a file in bytes.
    pub fn len_of(&self, path: &Path) -> usize {
        let i = self.tree.now.files.get(path);
        i.map_or(0, |i| self.contents[*i].now.len())
    }

    /// Flips bits of the byte at `at`, on the medium and in every cache.
    pub fn bit_rot(&mut self, path: &Path, at: usize, mask: u8) {
        let Some(i) = self.tree.now.files.get(path) else {
            return;
        };
        let c = &mut self.contents[*i];
        for b in [&mut c.now, &mut c.durable] {
            let mut x = [0u8];
            b.read(&mut x, at);
            b.write(&Data::Bytes(vec![x[0] ^ mask]), at, 0, 1);
        }
    }
}

impl State {
    /// Counts an operation; cuts the power when it is time. False: the power is off.
    fn step(
        &mut self,
        what: &'static str,
        class: &'static str,
        path: &Path,
        a: u64,
        b: u64,
    ) -> bool {
        if self.survivor.is_some() {
            return false;
        }
        self.ops += 1;
        for x in [
            what.len() as u64,
            what.as_bytes()[0] as u64,
            class.len() as u64,
            a,
            b,
        ] {
            self.hash = (self.hash ^ x)
                .wrapping_mul(0x0000_0100_0000_01B3)
                .rotate_left(5);
        }
        if self.left > 0 {
            self.left -= 1;
            if self.left == 0 {
                self.cut_at = format!("{what} {class} {}", path.display());
                self.power_off();
                return false;
            }
        }
        true
    }

    fn power_off(&mut self) {
        let mut rng = self.rng.clone();
        let sector = if self.medium.whole_pages {
            16384
        } else {
            SECTOR
        };
        let mut by_file: BTreeMap<usize, Vec<(usize, Data)>> = BTreeMap::new();
        for f in &self.flying {
            if let Work::Write(i, buf, at, _, _) = &f.work {
                let list = by_file.entry(*i).or_default();
                list.push((*at as usize, Data::of(buf.bytes())));
            }
        }
        let none = Vec::new();
        let cut = self.cut;
        let contents = self.contents.iter().enumerate().map(|(i, c)| {
            let flying = by_file.get(&i).unwrap_or(&none);
            c.after(cut, flying, sector, &mut rng)
        });
        let contents = contents.collect();
        let keep = match self.cut {
            Cut::Nothing => 0,
            Cut::All => 100,
            Cut::Whole(p) | Cut::Sectors(p) => p,
            Cut::Kill => 100,
        };
        let prefix = rng.one_in(2);
        let tree = if self.cut == Cut::Kill {
            self.tree.clone()
        } else {
            self.tree.after(keep, prefix, &mut rng)
        };
        let mut s = Survivor {
            contents,
            tree,
            medium: self.medium,
        };
        s.forget_unnamed();
        self.survivor = Some(Box::new(s));
    }

    fn fault(&mut self, chance: u64, name: &'static str) -> bool {
        let hit = chance > 0 && self.rng.one_in(chance);
        if hit {
            *self.counts.entry(name).or_default() += 1;
        }
        hit
    }

    fn grow(&mut self, i: usize, len: usize) -> io::Result<()> {
        let more = len.saturating_sub(self.contents[i].now.len()) as u64;
        if more > self.room {
            *self.counts.entry("full disk").or_default() += 1;
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        if self.room != u64::MAX {
            self.room -= more;
        }
        Ok(())
    }

    fn sector(&self) -> usize {
        if self.medium.whole_pages {
            16384
        } else {
            SECTOR
        }
    }
}

impl Survivor {
    /// Nobody can reach contents without a name any more. After a kill, names may come back that are gone so far.
    fn forget_unnamed(&mut self) {
        let named = self.tree.reachable();
        for (i, c) in self.contents.iter_mut().enumerate() {
            if !named.contains(&i) {
                *c = Content::default();
            }
        }
    }
}

impl SimDisk {
    /// Goes on with what a cut left.
    pub fn start(from: Survivor, time: Arc<Time>, rng: SplitMix64) -> SimDisk {
        SimDisk {
            state: Arc::new(Mutex::new(State {
                contents: from.contents,
                tree: from.tree,
                flying: Vec::new(),
                seq: 0,
                rng,
                faults: Faults::default(),
                medium: from.medium,
                room: u64::MAX,
                left: 0,
                cut: Cut::Nothing,
                survivor: None,
                cut_at: String::new(),
                hash: 0xCBF2_9CE4_8422_2325,
                ops: 0,
                counts: Counts::new(),
            })),
            time,
        }
    }

    /// Its clock.
    pub fn time(&self) -> Arc<Time> {
        self.time.clone()
    }

    /// Cuts the power before the `n`th operation from now.
    pub fn arm(&self, n: u64, cut: Cut) {
        let mut s = lock(&self.state);
        s.left = n;
        s.cut = cut;
    }

    /// Cuts it now, unless that has happened.
    pub fn cut_now(&self, cut: Cut) {
        let mut s = lock(&self.state);
        if s.survivor.is_none() {
            s.cut = cut;
            s.cut_at = "at rest".into();
            s.power_off();
        }
    }

    /// The power is off.
    pub fn is_dead(&self) -> bool {
        lock(&self.state).survivor.is_some()
    }

    /// What the cut left, what was being done, and what happened.
    pub fn take_survivor(&self) -> Option<(Survivor, String)> {
        let mut s = lock(&self.state);
        // Completions are not called any more, and hold what must go.
        let flying = std::mem::take(&mut s.flying);
        let at = std::mem::take(&mut s.cut_at);
        let left = s.survivor.take().map(|x| (*x, at));
        s.survivor = Some(Box::new(Survivor::empty(s.medium)));
        drop(s);
        drop(flying);
        left
    }

    /// From now on these faults happen.
    pub fn set_faults(&self, f: Faults) {
        lock(&self.state).faults = f;
    }

    /// Bytes by which files may still grow.
    pub fn set_room(&self, bytes: u64) {
        lock(&self.state).room = bytes;
    }

    /// A hash over everything that was done, and how much it was.
    pub fn trace(&self) -> (u64, u64) {
        let s = lock(&self.state);
        (s.hash, s.ops)
    }

    /// What happened, by name.
    pub fn counts(&self) -> Counts {
        lock(&self.state).counts.clone()
    }

    /// Operations under way that may complete now.
    pub fn ready(&self) -> Vec<usize> {
        let now = self.time.now();
        let s = lock(&self.state);
        let ready = s.flying.iter().enumerate();
        ready
            .filter(|(_, f)| f.ready <= now)
            .map(|(i, _)| i)
            .collect()
    }

    /// When the next operation may complete.
    pub fn next_ready(&self) -> Option<u64> {
        lock(&self.state).flying.iter().map(|f| f.ready).min()
    }

    /// Completes an operation; its callback runs here.
    pub fn complete(&self, i: usize) {
        let mut s = lock(&self.state);
        let f = s.flying.remove(i);
        match f.work {
            Work::Read(file, mut buf, at, done) => {
                if !s.step("read done", "", Path::new(""), at, 0) {
                    return drop((s, buf, done));
                }
                let e = s.faults.read_error;
                let r = if s.fault(e, "read error") {
                    Err(io::Error::from_raw_os_error(5))
                } else {
                    Ok(s.contents[file].now.read(buf.bytes_mut(), at as usize))
                };
                drop(s);
                done(buf, r)
            }
            Work::Write(file, buf, at, done, direct) => {
                if !s.step(
                    "write done",
                    "",
                    Path::new(""),
                    at,
                    buf.bytes().len() as u64,
                ) {
                    return drop((s, buf, done));
                }
                let r = s.write(file, Data::of(buf.bytes()), at as usize, direct);
                let n = buf.bytes().len();
                drop(s);
                done(buf, r.map(|()| n))
            }
            Work::Sync(file, upto, done) => {
                if !s.step("sync done", "", Path::new(""), upto, 0) {
                    return drop((s, done));
                }
                let r = s.sync(file, upto);
                drop(s);
                done(r)
            }
        }
    }
}

impl State {
    fn write(&mut self, file: usize, data: Data, at: usize, durable: bool) -> io::Result<()> {
        let e = self.faults.write_error;
        let n = match &data {
            Data::Zeros(n) => *n,
            Data::Bytes(b) => b.len(),
        };
        self.grow(file, at + n)?;
        if self.fault(e, "write error") {
            // Some of it may have arrived.
            if self.rng.one_in(2)
                && let Data::Bytes(b) = &data
            {
                let sector = self.sector();
                let part = n.min(self.rng.below(n as u64 + 1) as usize / sector * sector);
                let part = Data::Bytes(b[..part].to_vec());
                self.seq += 1;
                let seq = self.seq;
                self.contents[file].write(seq, part, at);
            }
            return Err(io::Error::from_raw_os_error(5));
        }
        self.seq += 1;
        let seq = self.seq;
        let c = &mut self.contents[file];
        c.write(seq, data, at);
        if durable {
            c.sync(seq);
        }
        Ok(())
    }

    fn sync(&mut self, file: usize, upto: u64) -> io::Result<()> {
        let e = self.faults.sync_error;
        if self.fault(e, "sync error") {
            let (sector, mut rng) = (self.sector(), self.rng.clone());
            self.rng.next();
            self.contents[file].fail_sync(upto, sector, &mut rng);
            return Err(io::Error::from_raw_os_error(5));
        }
        self.contents[file].sync(upto);
        Ok(())
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode, create: bool) -> io::Result<Arc<dyn File>> {
        let mut s = lock(&self.state);
        let content = match s.tree.now.files.get(path) {
            Some(i) => *i,
            None if create => {
                if !s.step("create", class(path), path, 0, 0) {
                    return Err(dead());
                }
                if let Some(dir) = path.parent()
                    && !s.tree.now.dirs.contains(dir)
                {
                    return Err(not_found());
                }
                s.contents.push(Content::default());
                let i = s.contents.len() - 1;
                s.tree.change(Change::Link(path.to_path_buf(), i));
                i
            }
            None => return Err(not_found()),
        };
        let direct = mode == OpenMode::Direct;
        let durable = mode == OpenMode::Dsync || (direct && s.medium.direct_durable);
        let how = (durable, direct);
        Ok(Arc::new(SimFile::new(self.clone(), content, path, how)))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut s = lock(&self.state);
        if !s.step("remove", class(path), path, 0, 0) {
            return Err(dead());
        }
        if !s.tree.now.files.contains_key(path) {
            return Err(not_found());
        }
        s.tree.change(Change::Unlink(path.to_path_buf()));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut s = lock(&self.state);
        if !s.step("rename", class(to), to, 0, 0) {
            return Err(dead());
        }
        let i = *s.tree.now.files.get(from).ok_or_else(not_found)?;
        s.tree.change(Change::Rename(from.into(), to.into(), i));
        Ok(())
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut s = lock(&self.state);
        let mut missing: Vec<PathBuf> = path
            .ancestors()
            .filter(|a| !a.as_os_str().is_empty() && *a != Path::new("/"))
            .filter(|a| !s.tree.now.dirs.contains(*a))
            .map(Path::to_path_buf)
            .collect();
        missing.reverse();
        for p in missing {
            if !s.step("make folder", "folder", &p, 0, 0) {
                return Err(dead());
            }
            s.tree.change(Change::MakeDir(p));
        }
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut s = lock(&self.state);
        if !s.step("remove folder", "folder", path, 0, 0) {
            return Err(dead());
        }
        let names = &s.tree.now;
        if names.files.keys().any(|p| p.parent() == Some(path)) {
            return Err(io::Error::from(io::ErrorKind::DirectoryNotEmpty));
        }
        s.tree.change(Change::RemoveDir(path.into()));
        Ok(())
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<(String, bool)>> {
        let s = lock(&self.state);
        let names = &s.tree.now;
        if !names.dirs.contains(path) {
            return Err(not_found());
        }
        let name = |p: &PathBuf| p.file_name().map(|n| n.to_string_lossy().into_owned());
        let inside = |p: &&PathBuf| p.parent() == Some(path);
        let files = names.files.keys().filter(inside).filter_map(name);
        let dirs = names.dirs.iter().filter(inside).filter_map(name);
        let mut out: Vec<(String, bool)> = files.map(|n| (n, false)).collect();
        out.extend(dirs.map(|n| (n, true)));
        out.sort();
        Ok(out)
    }

    fn exists(&self, path: &Path) -> bool {
        let s = lock(&self.state);
        s.tree.now.files.contains_key(path) || s.tree.now.dirs.contains(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut s = lock(&self.state);
        if !s.step("sync folder", "folder", path, 0, 0) {
            return Err(dead());
        }
        let e = s.faults.sync_error;
        if s.fault(e, "sync error") {
            return Err(io::Error::from_raw_os_error(5));
        }
        s.tree.sync(path);
        Ok(())
    }

    fn lock(&self, _path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        Ok(Box::new(()))
    }

    fn kind(&self) -> &'static str {
        "simulated"
    }
}
