//! A disk for crash tests, stricter than `base::mem::MemDisk`: what was written and not synced survives a power cut
//! sector by sector and at random, so that pages and log records tear, later writes arrive without earlier ones, and a
//! killed process leaves behind writes that are visible but not durable. A cut is one moment for all files. Reads and
//! writes of pages complete on other threads.
#![allow(dead_code)]

use base::environment::{Disk, Done, DoneSync, File, OpenMode};
use base::lock::{Mutex, MutexGuard};
use base::rng::SharedSplitMix64;
use base::{Environment, IoBuf, Random, SplitMix64};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

const SECTOR: usize = 512;

/// The generator of this number under the seed of all random tests, so that a failure can be repeated.
pub fn seeded(n: u64) -> SplitMix64 {
    SplitMix64::new(base::seed::nth("rng", n))
}

/// What a power cut leaves of the writes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nothing.
    Nothing,
    /// Everything.
    All,
    /// Each sector with this chance in 100.
    Some(u64),
}

#[derive(Clone, Default)]
struct Content {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Writes since the last sync, oldest first.
    pending: Vec<(usize, Vec<u8>)>,
}

impl Content {
    fn sync(&mut self) {
        self.durable.resize(self.now.len(), 0);
        for (at, b) in self.pending.drain(..) {
            self.durable[at..at + b.len()].copy_from_slice(&b);
        }
    }

    fn truncate(&mut self, len: usize) {
        self.now.truncate(len);
        self.durable.truncate(len);
        self.pending.retain(|(at, _)| *at < len);
        for (at, b) in &mut self.pending {
            b.truncate(len - *at);
        }
    }

    fn after_cut(&self, cut: Cut, rng: &mut SplitMix64) -> Content {
        let mut img = self.durable.clone();
        let len = match cut {
            Cut::Nothing => img.len(),
            Cut::All => self.now.len(),
            // The length is metadata: it may be anything between the two.
            Cut::Some(_) if rng.one_in(2) => self.now.len(),
            Cut::Some(_) => img.len(),
        };
        img.resize(len, 0);
        for (at, b) in &self.pending {
            let mut from = 0;
            while from < b.len() {
                let to = (((at + from) / SECTOR + 1) * SECTOR - at).min(b.len());
                let stays = match cut {
                    Cut::Nothing => false,
                    Cut::All => true,
                    Cut::Some(p) => rng.below(100) < p,
                };
                if stays && at + to <= len {
                    img[at + from..at + to].copy_from_slice(&b[from..to]);
                }
                from = to;
            }
        }
        Content {
            durable: img.clone(),
            now: img,
            pending: Vec::new(),
        }
    }
}

#[derive(Clone, Default)]
struct State {
    files: BTreeMap<PathBuf, usize>,
    /// Contents by number; an open file keeps its number when it is renamed or removed.
    contents: Vec<Content>,
    dirs: BTreeSet<PathBuf>,
    room: Option<u64>,
}

type Job = Box<dyn FnOnce() + Send>;

struct Inner {
    state: Mutex<State>,
    /// Operations complete on threads of their own, in any order.
    workers: Vec<Mutex<mpsc::Sender<Job>>>,
    turn: AtomicU64,
    /// Writes to files whose name ends so fail from now on.
    broken: Mutex<Option<String>>,
    trap: Mutex<Option<Trap>>,
}

/// Cuts the power before the operation at which the count runs out.
struct Trap {
    left: u64,
    cut: Cut,
    rng: SplitMix64,
    sprung: Option<Arc<SimDisk>>,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The state, about to be changed.
    fn change(&self) -> MutexGuard<'_, State> {
        let s = self.lock();
        let mut trap = self.trap.lock();
        if let Some(t) = &mut *trap
            && t.sprung.is_none()
        {
            t.left -= 1;
            if t.left == 0 {
                t.sprung = Some(SimDisk::of(s.after_cut(t.cut, &mut t.rng)));
            }
        }
        drop(trap);
        s
    }
}

impl State {
    fn after_cut(&self, cut: Cut, rng: &mut SplitMix64) -> State {
        let named: BTreeSet<usize> = self.files.values().copied().collect();
        let contents = self.contents.iter().enumerate();
        State {
            files: self.files.clone(),
            contents: contents
                .map(|(i, c)| match named.contains(&i) {
                    true => c.after_cut(cut, rng),
                    false => Content::default(),
                })
                .collect(),
            dirs: self.dirs.clone(),
            room: None,
        }
    }
}

/// The disk.
pub struct SimDisk(Arc<Inner>);

impl SimDisk {
    pub fn new() -> Arc<SimDisk> {
        SimDisk::of(State::default())
    }

    fn of(state: State) -> Arc<SimDisk> {
        let workers = (0..2)
            .map(|_| {
                let (tx, rx) = mpsc::channel::<Job>();
                std::thread::spawn(move || {
                    for job in rx {
                        job();
                    }
                });
                Mutex::new(tx)
            })
            .collect();
        Arc::new(SimDisk(Arc::new(Inner {
            state: Mutex::new(state),
            workers,
            turn: AtomicU64::new(0),
            broken: Mutex::new(None),
            trap: Mutex::new(None),
        })))
    }

    /// Cuts the power (for the copy that [`SimDisk::sprung`] gives) before the `n`th changing operation from now.
    pub fn arm(&self, n: u64, cut: Cut, rng: &SplitMix64) {
        *self.0.trap.lock() = Some(Trap {
            left: n,
            cut,
            rng: rng.clone(),
            sprung: None,
        });
    }

    /// What the cut left, if it came.
    pub fn sprung(&self) -> Option<Arc<SimDisk>> {
        self.0.trap.lock().take().and_then(|t| t.sprung)
    }

    /// The disk as a power cut at this moment leaves it.
    pub fn cut(&self, cut: Cut, rng: &mut SplitMix64) -> Arc<SimDisk> {
        SimDisk::of(self.0.lock().after_cut(cut, rng))
    }

    /// The disk as the next process finds it when this one is killed now: everything written is there, and what was not
    /// synced is still not durable.
    pub fn killed(&self) -> Arc<SimDisk> {
        let mut s = self.0.lock().clone();
        s.room = None;
        SimDisk::of(s)
    }

    /// Bytes by which files may still grow in all.
    pub fn set_room(&self, bytes: Option<u64>) {
        self.0.lock().room = bytes;
    }

    /// From now on writes to files whose path ends with `suffix` fail.
    pub fn break_writes(&self, suffix: &str) {
        *self.0.broken.lock() = Some(suffix.to_string());
    }

    /// Changes the bytes of the files whose path ends with `suffix`, durably.
    pub fn damage(&self, suffix: &str, mut f: impl FnMut(&mut Vec<u8>)) {
        let mut s = self.0.lock();
        let hit: Vec<usize> = s
            .files
            .iter()
            .filter(|(p, _)| p.to_string_lossy().ends_with(suffix))
            .map(|(_, i)| *i)
            .collect();
        for i in hit {
            let c = &mut s.contents[i];
            c.sync();
            f(&mut c.now);
            c.durable = c.now.clone();
        }
    }

    /// Paths of all files.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.0.lock().files.keys().cloned().collect()
    }
}

struct SeededRandom(SharedSplitMix64);

impl Random for SeededRandom {
    fn next_u64(&self) -> u64 {
        self.0.next()
    }
}

/// Environment over the disk with real threads and time.
pub fn environment(disk: &Arc<SimDisk>) -> Environment {
    Environment {
        disk: disk.clone(),
        clock: Arc::new(base::real::RealClock::new()),
        random: Arc::new(SeededRandom(SharedSplitMix64::new(42))),
        spawn: Arc::new(base::real::Threads),
    }
}

struct SimFile {
    disk: Arc<Inner>,
    content: usize,
    path: PathBuf,
    dsync: bool,
}

impl SimFile {
    fn grow(s: &mut State, content: usize, len: usize) -> io::Result<()> {
        let have = s.contents[content].now.len();
        if len > have {
            if let Some(room) = &mut s.room {
                let more = (len - have) as u64;
                if more > *room {
                    return Err(io::Error::from(io::ErrorKind::StorageFull));
                }
                *room -= more;
            }
            s.contents[content].now.resize(len, 0);
        }
        Ok(())
    }

    fn later(&self, job: Job) {
        let n = self.disk.turn.fetch_add(1, Ordering::Relaxed) as usize;
        let w = &self.disk.workers[n % self.disk.workers.len()];
        let _ = w.lock().send(job);
    }

    fn me(&self) -> SimFile {
        SimFile {
            disk: self.disk.clone(),
            content: self.content,
            path: self.path.clone(),
            dsync: self.dsync,
        }
    }
}

impl File for SimFile {
    fn submit_read(&self, mut buf: IoBuf, offset: u64, done: Done) {
        let me = self.me();
        self.later(Box::new(move || {
            let r = me.read_now(buf.bytes_mut(), offset);
            done(buf, r)
        }));
    }

    fn submit_write(&self, buf: IoBuf, offset: u64, done: Done) {
        let me = self.me();
        self.later(Box::new(move || {
            let r = me
                .write_now(buf.bytes(), offset)
                .map(|()| buf.bytes().len());
            done(buf, r)
        }));
    }

    fn submit_sync(&self, done: DoneSync) {
        let me = self.me();
        self.later(Box::new(move || done(me.sync_now())));
    }

    fn read_now(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let s = self.disk.lock();
        let b = &s.contents[self.content].now;
        let from = (offset as usize).min(b.len());
        let n = buf.len().min(b.len() - from);
        buf[..n].copy_from_slice(&b[from..from + n]);
        Ok(n)
    }

    fn write_now(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let broken = self.disk.broken.lock().clone();
        if broken.is_some_and(|b| self.path.to_string_lossy().ends_with(&b)) {
            return Err(io::Error::other("broken"));
        }
        let mut s = self.disk.change();
        let at = offset as usize;
        SimFile::grow(&mut s, self.content, at + buf.len())?;
        let c = &mut s.contents[self.content];
        c.now[at..at + buf.len()].copy_from_slice(buf);
        c.pending.push((at, buf.to_vec()));
        if self.dsync {
            c.sync();
        }
        Ok(())
    }

    fn sync_now(&self) -> io::Result<()> {
        self.disk.change().contents[self.content].sync();
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        SimFile::grow(&mut self.disk.change(), self.content, len as usize)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut s = self.disk.change();
        s.contents[self.content].truncate(len as usize);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.lock().contents[self.content].now.len() as u64)
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode, create: bool) -> io::Result<Arc<dyn File>> {
        let mut s = if create {
            self.0.change()
        } else {
            self.0.lock()
        };
        let content = match s.files.get(path) {
            Some(i) => *i,
            None if create => {
                s.contents.push(Content::default());
                let i = s.contents.len() - 1;
                s.files.insert(path.to_path_buf(), i);
                i
            }
            None => return Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        Ok(Arc::new(SimFile {
            disk: self.0.clone(),
            content,
            path: path.to_path_buf(),
            dsync: mode == OpenMode::Dsync,
        }))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let gone = self.0.change().files.remove(path);
        gone.map(|_| ())
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut s = self.0.change();
        let f = s
            .files
            .remove(from)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        s.files.insert(to.to_path_buf(), f);
        Ok(())
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut s = self.0.lock();
        s.dirs.extend(path.ancestors().map(Path::to_path_buf));
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.0.lock().dirs.remove(path);
        Ok(())
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<(String, bool)>> {
        let s = self.0.lock();
        if !s.dirs.contains(path) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        let name = |p: &PathBuf| p.file_name().map(|n| n.to_string_lossy().into_owned());
        let inside = |p: &&PathBuf| p.parent() == Some(path);
        let files = s.files.keys().filter(inside).filter_map(name);
        let dirs = s.dirs.iter().filter(inside).filter_map(name);
        let mut out: Vec<(String, bool)> = files.map(|n| (n, false)).collect();
        out.extend(dirs.map(|n| (n, true)));
        out.sort();
        Ok(out)
    }

    fn exists(&self, path: &Path) -> bool {
        let s = self.0.lock();
        s.files.contains_key(path) || s.dirs.contains(path)
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        Ok(Box::new(()))
    }

    fn kind(&self) -> &'static str {
        "simulated"
    }
}
