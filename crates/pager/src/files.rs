//! The files of tables: opened when they are needed, and the one that was not used for longest closed where more would be open than may be, or
//! where the system gives no descriptor for something else. All other files stay open.
//!
//! What is closed loses nothing: a file with writes under way is not closed, and one whose writes could still fail is synced before. Reads
//! under way keep what they read from open until they end. A file that was removed is never opened again: its name may be another's by then. What
//! is still written to it goes nowhere, as it would if it were open.
//!
//! Must never do: know what stands in a file, or what a tablespace is.

use crate::shortages::{Shortages, Where};
use base::environment::{Done, DoneSync, ReadAt, Shortage, shortage};
use base::lock::{Mutex, RwLock};
use base::{Disk, File, IoBuf, OpenMode};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// A disk on which the files of tables are open by need. Every other operation that the system has no descriptor for is tried again with one of those.
pub(crate) struct Files {
    disk: Arc<dyn Disk>,
    limit: usize,
    state: Mutex<State>,
    /// Counts files that were opened: how recently one was used is told by this.
    opened: AtomicU64,
    shortages: Arc<Shortages>,
}

#[derive(Default)]
struct State {
    /// All files of tables that somebody holds, by where they are.
    known: BTreeMap<PathBuf, Weak<Slot>>,
    /// Those that are open, but for removed ones.
    open: Vec<Arc<Slot>>,
}

/// A table's file, open or not.
struct Slot {
    /// Changed under the lock of [`State`] alone.
    file: RwLock<Option<Arc<dyn File>>>,
    place: Mutex<Place>,
    mode: OpenMode,
    /// [`Files::opened`] when it was last used.
    used: AtomicU64,
    /// Writes under way. Raised before the file is looked at: whoever closes it looks at this with the file locked.
    writing: AtomicU32,
    /// Written to since its last sync.
    unsynced: AtomicBool,
    /// The sync before it would have been closed failed.
    failed_sync: OnceLock<String>,
}

#[derive(Clone)]
enum Place {
    At(PathBuf),
    Removed,
}

/// What whoever reads and writes holds of a table's file.
struct TableFile {
    slot: Arc<Slot>,
    files: Arc<Files>,
}

impl Slot {
    fn open_file(&self) -> Option<Arc<dyn File>> {
        let file = self.file.read();
        file.clone()
    }

    /// Closes it, unless writes are under way. `sync`: also where writes of it could still fail, which it is synced for.
    fn close(&self, sync: bool) -> bool {
        let mut file = self.file.write();
        let Some(open) = &*file else { return true };
        if self.writing.load(Ordering::SeqCst) > 0 {
            return false;
        }
        if self.unsynced.load(Ordering::SeqCst) && !open.writes_through() {
            if !sync {
                return false;
            }
            if let Err(e) = open.sync_now() {
                // Whoever syncs it next is told: a second sync might succeed without what this one has lost.
                let _told = self.failed_sync.set(e.to_string());
                return false;
            }
            self.unsynced.store(false, Ordering::SeqCst);
        }
        *file = None;
        true
    }

    fn sync_failed(&self) -> io::Result<()> {
        match self.failed_sync.get() {
            None => Ok(()),
            Some(why) => Err(io::Error::other(why.clone())),
        }
    }
}

impl Files {
    pub(crate) fn new(disk: Arc<dyn Disk>, limit: u64, shortages: Arc<Shortages>) -> Arc<Files> {
        let limit = limit.max(1);
        Arc::new(Files {
            disk,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            state: Mutex::default(),
            opened: AtomicU64::new(0),
            shortages,
        })
    }

    /// Opens a table's file, or makes it.
    pub(crate) fn open_table(
        self: &Arc<Self>,
        path: &Path,
        mode: OpenMode,
        create: bool,
    ) -> io::Result<Arc<dyn File>> {
        let mut state = self.state.lock();
        let file = self.open_with(&mut state, path, mode, create)?;
        let slot = Arc::new(Slot {
            file: RwLock::new(Some(file)),
            place: Mutex::new(Place::At(path.to_path_buf())),
            mode,
            used: AtomicU64::new(self.opened.load(Ordering::Relaxed)),
            writing: AtomicU32::new(0),
            unsynced: AtomicBool::new(false),
            failed_sync: OnceLock::new(),
        });
        let known = Arc::downgrade(&slot);
        state.known.insert(path.to_path_buf(), known);
        state.open.push(slot.clone());
        drop(state);
        let files = self.clone();
        Ok(Arc::new(TableFile { slot, files }))
    }

    /// Files of tables that are open, and how often one was opened.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let open = self.state.lock().open.len() as u64;
        (open, self.opened.load(Ordering::Relaxed))
    }

    fn open_with(
        &self,
        state: &mut State,
        path: &Path,
        mode: OpenMode,
        create: bool,
    ) -> io::Result<Arc<dyn File>> {
        while state.open.len() >= self.limit && close_one(state) {}
        let opened = loop {
            match self.disk.open(path, mode, create) {
                Err(e) if lacks_descriptor(&e) && close_one(state) => {}
                r => break r,
            }
        };
        match &opened {
            Ok(_) => self.shortages.passed(Where::Tables),
            Err(e) => self.shortages.met(Where::Tables, e),
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        opened
    }

    #[cold]
    fn open_again(&self, slot: &Arc<Slot>) -> io::Result<Option<Arc<dyn File>>> {
        let mut state = self.state.lock();
        if let Some(file) = slot.open_file() {
            return Ok(Some(file));
        }
        let place = slot.place.lock().clone();
        let Place::At(path) = place else {
            return Ok(None);
        };
        let file = self.open_with(&mut state, &path, slot.mode, false)?;
        *slot.file.write() = Some(file.clone());
        state.open.push(slot.clone());
        Ok(Some(file))
    }

    /// Does what needs a descriptor for a moment, or for good.
    fn relieved<T>(&self, mut op: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match op() {
                Err(e) if lacks_descriptor(&e) && close_one(&mut self.state.lock()) => {}
                r => return r,
            }
        }
    }
}

fn lacks_descriptor(e: &io::Error) -> bool {
    shortage(e) == Some(Shortage::Descriptors)
}

/// Closes the open file that was not used for longest; one that need not be synced for it, if there is one. False: there is none to close.
fn close_one(state: &mut State) -> bool {
    let by_use = || state.open.iter().map(used).zip(0usize..);
    if let Some((_, i)) = by_use().min()
        && state.open[i].close(false)
    {
        state.open.swap_remove(i);
        return true;
    }
    let mut by_use: Vec<(u64, usize)> = by_use().collect();
    by_use.sort_unstable();
    for sync in [false, true] {
        let closed = by_use.iter().find(|(_, i)| state.open[*i].close(sync));
        if let Some((_, i)) = closed {
            state.open.swap_remove(*i);
            return true;
        }
    }
    false
}

fn used(slot: &Arc<Slot>) -> u64 {
    slot.used.load(Ordering::Relaxed)
}

impl Drop for TableFile {
    fn drop(&mut self) {
        let mut state = self.files.state.lock();
        state.open.retain(|s| !Arc::ptr_eq(s, &self.slot));
        if let Place::At(path) = &*self.slot.place.lock() {
            let mine = |s: &Weak<Slot>| std::ptr::eq(s.as_ptr(), Arc::as_ptr(&self.slot));
            if state.known.get(path).is_some_and(mine) {
                state.known.remove(path);
            }
        }
    }
}

impl TableFile {
    /// The file, opened if it is not. None: it was removed when it was closed.
    fn file(&self) -> io::Result<Option<Arc<dyn File>>> {
        let now = self.files.opened.load(Ordering::Relaxed);
        if self.slot.used.load(Ordering::Relaxed) != now {
            self.slot.used.store(now, Ordering::Relaxed);
        }
        match self.slot.open_file() {
            Some(file) => Ok(Some(file)),
            None => self.files.open_again(&self.slot),
        }
    }

    /// As [`TableFile::file`], to read from it.
    fn file_to_read(&self) -> io::Result<Arc<dyn File>> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        self.file()?.ok_or_else(gone)
    }

    /// Does something that changes the file.
    fn writing(&self, write: impl FnOnce(&dyn File) -> io::Result<()>) -> io::Result<()> {
        self.slot.writing.fetch_add(1, Ordering::SeqCst);
        let file = self.file();
        let r = file.and_then(|file| file.map_or(Ok(()), |file| write(&*file)));
        written(&self.slot);
        r
    }
}

/// A write has ended. In this order: a file that nobody writes to and that seems synced is closed.
fn written(slot: &Slot) {
    slot.unsynced.store(true, Ordering::SeqCst);
    slot.writing.fetch_sub(1, Ordering::SeqCst);
}

impl File for TableFile {
    fn submit_read(&self, buf: IoBuf, offset: u64, done: Done) {
        match self.file_to_read() {
            Ok(file) => file.submit_read(buf, offset, done),
            Err(e) => done(buf, Err(e)),
        }
    }

    fn submit_reads(&self, reads: Vec<ReadAt>) {
        match self.file_to_read() {
            Ok(file) => file.submit_reads(reads),
            Err(e) => {
                for r in reads {
                    (r.done)(r.buf, Err(io::Error::new(e.kind(), e.to_string())));
                }
            }
        }
    }

    fn submit_write(&self, buf: IoBuf, offset: u64, done: Done) {
        self.slot.writing.fetch_add(1, Ordering::SeqCst);
        let slot = self.slot.clone();
        let done: Done = Box::new(move |buf, r| {
            written(&slot);
            done(buf, r);
        });
        match self.file() {
            Ok(Some(file)) => file.submit_write(buf, offset, done),
            Ok(None) => {
                let all = buf.bytes().len();
                done(buf, Ok(all));
            }
            Err(e) => done(buf, Err(e)),
        }
    }

    fn submit_sync(&self, done: DoneSync) {
        let ready = self.slot.sync_failed().and_then(|()| self.file());
        let file = match ready {
            Ok(Some(file)) => file,
            Ok(None) => return done(Ok(())),
            Err(e) => return done(Err(e)),
        };
        self.slot.unsynced.store(false, Ordering::SeqCst);
        let slot = self.slot.clone();
        let done = Box::new(move |r: io::Result<()>| {
            if r.is_err() {
                slot.unsynced.store(true, Ordering::SeqCst);
            }
            done(r);
        });
        file.submit_sync(done);
    }

    fn read_now(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file_to_read()?.read_now(buf, offset)
    }

    fn write_now(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.writing(|file| file.write_now(buf, offset))
    }

    fn sync_now(&self) -> io::Result<()> {
        self.slot.sync_failed()?;
        let Some(file) = self.file()? else {
            return Ok(());
        };
        self.slot.unsynced.store(false, Ordering::SeqCst);
        let r = file.sync_now();
        if r.is_err() {
            self.slot.unsynced.store(true, Ordering::SeqCst);
        }
        r
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.writing(|file| file.allocate(len))
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.writing(|file| file.truncate(len))
    }

    fn len(&self) -> io::Result<u64> {
        self.file_to_read()?.len()
    }

    fn writes_through(&self) -> bool {
        self.slot.open_file().is_some_and(|f| f.writes_through())
    }

    fn held_open(&self) -> io::Result<Option<Arc<dyn File>>> {
        self.file()
    }
}

impl Disk for Files {
    fn open(&self, path: &Path, mode: OpenMode, create: bool) -> io::Result<Arc<dyn File>> {
        self.relieved(|| self.disk.open(path, mode, create))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        self.disk.remove_file(path)?;
        if let Some(slot) = state.known.remove(path).and_then(|s| s.upgrade()) {
            *slot.place.lock() = Place::Removed;
            state.open.retain(|s| !Arc::ptr_eq(s, &slot));
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        self.disk.rename(from, to)?;
        if let Some(slot) = state.known.remove(from) {
            if let Some(slot) = slot.upgrade() {
                *slot.place.lock() = Place::At(to.to_path_buf());
            }
            state.known.insert(to.to_path_buf(), slot);
        }
        Ok(())
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir_all(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_dir(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<(String, bool)>> {
        self.relieved(|| self.disk.read_dir(path))
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk.exists(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.relieved(|| self.disk.sync_dir(path))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.disk.lock(path)
    }

    fn kind(&self) -> &'static str {
        self.disk.kind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::mem::MemDisk;

    fn files(disk: &Arc<MemDisk>, limit: u64) -> Arc<Files> {
        disk.create_dir_all(Path::new("/")).unwrap();
        let clock = Arc::new(base::mem::ManualClock::default());
        Files::new(disk.clone(), limit, Arc::new(Shortages::new(clock)))
    }

    fn path(n: u64) -> PathBuf {
        PathBuf::from(format!("/{n}.tdb"))
    }

    fn tables(files: &Arc<Files>, n: u64) -> Vec<Arc<dyn File>> {
        let open = |n| files.open_table(&path(n), OpenMode::Buffered, true);
        (0..n).map(|n| open(n).unwrap()).collect()
    }

    fn first_byte(f: &dyn File) -> io::Result<u8> {
        let mut b = [0];
        f.read_now(&mut b, 0)?;
        Ok(b[0])
    }

    #[test]
    fn no_more_are_open_than_may_be_and_all_can_be_used() {
        let files = files(&Arc::new(MemDisk::default()), 10);
        let tables = tables(&files, 30);
        for (f, n) in tables.iter().zip(0..) {
            f.write_now(&[n; 10], 0).unwrap();
        }
        assert_eq!(files.counts(), (10, 60));
        // The most recently used ones stay open.
        for (f, n) in tables.iter().zip(0..).skip(20) {
            assert_eq!(first_byte(&**f).unwrap(), n);
        }
        assert_eq!(files.counts(), (10, 60));
        for (f, n) in tables.iter().zip(0..) {
            assert_eq!(first_byte(&**f).unwrap(), n);
        }
        drop(tables);
        assert_eq!(files.counts().0, 0);
        assert!(files.state.lock().known.is_empty());
    }

    #[test]
    fn what_is_closed_was_synced() {
        let disk = Arc::new(MemDisk::default());
        let files = files(&disk, 10);
        let tables = tables(&files, 11);
        for f in &tables {
            f.write_now(b"x", 0).unwrap();
        }
        // After a power cut there is what was closed, and nothing else.
        let left = disk.crash(false);
        let kept = |n| {
            let f = left.open(&path(n), OpenMode::Buffered, false).unwrap();
            f.len().unwrap() == 1
        };
        let kept = (0..11).filter(|n| kept(*n)).count();
        assert_eq!(kept, 11 - 10);
    }

    #[test]
    fn a_file_that_is_written_to_stays_open() {
        let files = files(&Arc::new(MemDisk::default()), 10);
        let first = files
            .open_table(&path(100), OpenMode::Buffered, true)
            .unwrap();
        let slot = files.state.lock().open[0].clone();
        slot.writing.fetch_add(1, Ordering::SeqCst);
        let _others = tables(&files, 20);
        assert!(slot.open_file().is_some());
        slot.writing.fetch_sub(1, Ordering::SeqCst);
        let _more = tables(&files, 1);
        assert!(slot.open_file().is_none());
        first.sync_now().unwrap();
    }

    #[test]
    fn a_name_that_is_anothers_by_now_is_not_opened() {
        let files = files(&Arc::new(MemDisk::default()), 10);
        let old = tables(&files, 1).remove(0);
        old.write_now(b"old", 0).unwrap();
        let moved = tables(&files, 2).remove(1);
        moved.write_now(b"moved", 0).unwrap();
        files.remove_file(&path(0)).unwrap();
        files.rename(&path(1), &path(0)).unwrap();
        let _others: Vec<_> = (100..120)
            .map(|n| files.open_table(&path(n), OpenMode::Buffered, true))
            .collect();
        assert_eq!(first_byte(&*moved).unwrap(), b'm');
        assert_eq!(first_byte(&*old).unwrap(), b'o', "open until it is dropped");
        // One that was closed when it was removed.
        let gone = files.open_table(&path(200), OpenMode::Buffered, true);
        let gone = gone.unwrap();
        let _others: Vec<_> = (300..320)
            .map(|n| files.open_table(&path(n), OpenMode::Buffered, true))
            .collect();
        files.remove_file(&path(200)).unwrap();
        let taken = files.open_table(&path(200), OpenMode::Buffered, true);
        let e = first_byte(&*gone).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::NotFound);
        gone.write_now(b"gone", 0).unwrap();
        gone.sync_now().unwrap();
        assert!(taken.unwrap().is_empty().unwrap());
    }

    #[test]
    fn where_descriptors_are_short_a_table_gives_one() {
        let disk = Arc::new(MemDisk::default());
        let files = files(&disk, 4000);
        let tables = tables(&files, 20);
        disk.set_descriptors_left(Some(0));
        files.sync_dir(Path::new("/")).unwrap();
        assert_eq!(files.counts().0, 19);
        let log: Vec<_> = (0..20)
            .map(|n| files.open(Path::new(&format!("/log{n}")), OpenMode::Buffered, true))
            .collect();
        assert!(log.iter().all(Result::is_ok));
        assert_eq!(files.counts().0, 0);
        // Nothing is left to be closed; it is an error that passes.
        let e = first_byte(&*tables[3]).unwrap_err();
        assert_eq!(shortage(&e), Some(Shortage::Descriptors));
        drop(log);
        first_byte(&*tables[3]).unwrap();
    }
}
