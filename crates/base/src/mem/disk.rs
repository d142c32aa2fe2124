//! A disk in memory. Unsynced writes are kept in an undo journal per file; [`MemDisk::crash`] takes them back, as a power
//! cut may. Names are durable at once (the simulator is stricter).

use crate::buf::IoBuf;
use crate::environment::{Disk, Done, DoneSync, File, OpenMode};
use crate::lock::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that may be open at once, where nobody says otherwise.
const DESCRIPTORS: u64 = 1 << 40;

struct Content {
    bytes: Vec<u8>,
    /// (offset, bytes before) of writes since the last sync, oldest first; `len` before them.
    journal: Vec<(usize, Vec<u8>)>,
    synced_len: usize,
    limits: Arc<Limits>,
}

impl Content {
    /// As it is on the device.
    fn synced(bytes: Vec<u8>, limits: &Arc<Limits>) -> Arc<Mutex<Content>> {
        Arc::new(Mutex::new(Content {
            synced_len: bytes.len(),
            bytes,
            journal: Vec::new(),
            limits: limits.clone(),
        }))
    }
}

impl Drop for Content {
    /// A file that was removed keeps its room as long as it is open.
    fn drop(&mut self) {
        self.limits.give_back(self.bytes.len());
    }
}

struct MemFile {
    content: Arc<Mutex<Content>>,
    limits: Arc<Limits>,
    _descriptor: Descriptor,
}

/// What the system gives.
struct Limits {
    /// Bytes by which files may still grow.
    room: Mutex<u64>,
    /// The error where they may not.
    full: Mutex<i32>,
    /// Files that may still be opened.
    descriptors: Mutex<u64>,
}

impl Limits {
    fn give_back(&self, bytes: usize) {
        let mut room = self.room.lock();
        // The highest number says that nobody counts.
        if *room != u64::MAX {
            *room += bytes as u64;
        }
    }
}

/// A descriptor in use.
struct Descriptor(Arc<Limits>);

impl Descriptor {
    fn acquire(limits: &Arc<Limits>) -> io::Result<Descriptor> {
        let mut left = limits.descriptors.lock();
        *left = left
            .checked_sub(1)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))?;
        Ok(Descriptor(limits.clone()))
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        *self.0.descriptors.lock() += 1;
    }
}

#[derive(Default)]
struct Tree {
    files: BTreeMap<PathBuf, Arc<Mutex<Content>>>,
    dirs: BTreeSet<PathBuf>,
}

/// Files in memory.
pub struct MemDisk {
    tree: Mutex<Tree>,
    limits: Arc<Limits>,
}

impl Default for MemDisk {
    fn default() -> Self {
        MemDisk::holding(|_| Tree::default())
    }
}

fn not_found() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

impl MemDisk {
    /// Bytes by which files may still grow in all; further growth fails with `StorageFull`.
    pub fn set_room(&self, bytes: u64) {
        *self.limits.full.lock() = libc::ENOSPC;
        *self.limits.room.lock() = bytes;
    }

    /// As [`set_room`](Self::set_room), of what its user may have of the disk: further growth fails with `QuotaExceeded`.
    pub fn set_quota(&self, bytes: u64) {
        *self.limits.full.lock() = libc::EDQUOT;
        *self.limits.room.lock() = bytes;
    }

    /// Takes all descriptors but so many of those that are left, or gives back what was taken.
    pub fn set_descriptors_left(&self, left: Option<u64>) {
        *self.limits.descriptors.lock() = left.unwrap_or(DESCRIPTORS);
    }

    fn holding(tree: impl FnOnce(&Arc<Limits>) -> Tree) -> MemDisk {
        let limits = Arc::new(Limits {
            room: Mutex::new(u64::MAX),
            full: Mutex::new(libc::ENOSPC),
            descriptors: Mutex::new(DESCRIPTORS),
        });
        MemDisk {
            tree: Mutex::new(tree(&limits)),
            limits,
        }
    }

    /// A copy of this disk as a power cut would leave it: with `keep_unsynced` all writes arrived, without it none since
    /// each file's last sync. The old disk can go on being used (its process is the one that died).
    pub fn crash(&self, keep_unsynced: bool) -> MemDisk {
        let t = self.tree.lock();
        let mut left = Vec::new();
        // All of them at one moment: the cut must not see a later write of one thread without an earlier one.
        let held: Vec<_> = t.files.iter().map(|(p, c)| (p, c.lock())).collect();
        for (p, c) in &held {
            let mut bytes = c.bytes.clone();
            if !keep_unsynced {
                for (off, old) in c.journal.iter().rev() {
                    bytes[*off..*off + old.len()].copy_from_slice(old);
                }
                bytes.truncate(c.synced_len);
            }
            left.push(((*p).clone(), bytes));
        }
        MemDisk::holding(|limits| Tree {
            files: left
                .into_iter()
                .map(|(p, bytes)| (p, Content::synced(bytes, limits)))
                .collect(),
            dirs: t.dirs.clone(),
        })
    }

    /// Changes bytes of a file behind everybody's back (bit rot).
    pub fn damage(&self, path: &Path, f: impl FnOnce(&mut Vec<u8>)) -> bool {
        match self.tree.lock().files.get(path) {
            Some(c) => {
                f(&mut c.lock().bytes);
                true
            }
            None => false,
        }
    }
}

impl MemFile {
    fn grow(&self, c: &mut Content, len: usize) -> io::Result<()> {
        if len > c.bytes.len() {
            let mut room = self.limits.room.lock();
            let more = (len - c.bytes.len()) as u64;
            if more > *room {
                return Err(io::Error::from_raw_os_error(*self.limits.full.lock()));
            }
            if *room != u64::MAX {
                *room -= more;
            }
            c.bytes.resize(len, 0);
        }
        Ok(())
    }
}

impl File for MemFile {
    fn submit_read(&self, mut buf: IoBuf, offset: u64, done: Done) {
        let r = self.read_now(buf.bytes_mut(), offset);
        done(buf, r)
    }

    fn submit_write(&self, buf: IoBuf, offset: u64, done: Done) {
        let r = self
            .write_now(buf.bytes(), offset)
            .map(|()| buf.bytes().len());
        done(buf, r)
    }

    fn submit_sync(&self, done: DoneSync) {
        done(self.sync_now())
    }

    fn read_now(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let c = self.content.lock();
        let from = (offset as usize).min(c.bytes.len());
        let n = buf.len().min(c.bytes.len() - from);
        buf[..n].copy_from_slice(&c.bytes[from..from + n]);
        Ok(n)
    }

    fn write_now(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut c = self.content.lock();
        let at = offset as usize;
        self.grow(&mut c, at + buf.len())?;
        let old = c.bytes[at..at + buf.len()].to_vec();
        c.journal.push((at, old));
        c.bytes[at..at + buf.len()].copy_from_slice(buf);
        Ok(())
    }

    fn sync_now(&self) -> io::Result<()> {
        let mut c = self.content.lock();
        c.journal.clear();
        c.synced_len = c.bytes.len();
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let mut c = self.content.lock();
        self.grow(&mut c, len as usize)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let len = len as usize;
        let mut c = self.content.lock();
        let shorter = c.bytes.len().saturating_sub(len);
        c.bytes.truncate(len);
        c.synced_len = c.synced_len.min(len);
        c.journal.retain(|(at, _)| *at < len);
        for (at, old) in &mut c.journal {
            old.truncate(len - *at);
        }
        self.limits.give_back(shorter);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock().bytes.len() as u64)
    }
}

impl Disk for MemDisk {
    fn open(&self, path: &Path, _mode: OpenMode, create: bool) -> io::Result<Arc<dyn File>> {
        let descriptor = Descriptor::acquire(&self.limits)?;
        let mut t = self.tree.lock();
        let content = match t.files.get(path) {
            Some(c) => c.clone(),
            None if create => {
                let c = Content::synced(Vec::new(), &self.limits);
                t.files.insert(path.to_path_buf(), c.clone());
                c
            }
            None => return Err(not_found()),
        };
        Ok(Arc::new(MemFile {
            content,
            limits: self.limits.clone(),
            _descriptor: descriptor,
        }))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let removed = self.tree.lock().files.remove(path);
        removed.map(drop).ok_or_else(not_found)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut t = self.tree.lock();
        let f = t.files.remove(from).ok_or_else(not_found)?;
        t.files.insert(to.to_path_buf(), f);
        Ok(())
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut t = self.tree.lock();
        for a in path.ancestors() {
            t.dirs.insert(a.to_path_buf());
        }
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.tree.lock().dirs.remove(path);
        Ok(())
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<(String, bool)>> {
        let _for_a_moment = Descriptor::acquire(&self.limits)?;
        let t = self.tree.lock();
        if !t.dirs.contains(path) {
            return Err(not_found());
        }
        let name = |p: &PathBuf| p.file_name().map(|n| n.to_string_lossy().into_owned());
        let inside = |p: &&PathBuf| p.parent() == Some(path);
        let mut out: Vec<(String, bool)> = t
            .files
            .keys()
            .filter(inside)
            .filter_map(name)
            .map(|n| (n, false))
            .collect();
        out.extend(
            t.dirs
                .iter()
                .filter(inside)
                .filter_map(name)
                .map(|n| (n, true)),
        );
        out.sort();
        Ok(out)
    }

    fn exists(&self, path: &Path) -> bool {
        let t = self.tree.lock();
        t.files.contains_key(path) || t.dirs.contains(path)
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        Descriptor::acquire(&self.limits).map(drop)
    }

    fn lock(&self, _path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        Ok(Box::new(()))
    }

    fn kind(&self) -> &'static str {
        "memory"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_takes_back_what_was_not_synced() {
        let d = MemDisk::default();
        let p = Path::new("/a/f");
        let f = d.open(p, OpenMode::Buffered, true).unwrap();
        f.write_now(b"hello", 0).unwrap();
        f.sync_now().unwrap();
        f.write_now(b"HELLO world", 0).unwrap();
        for (keep, want) in [(false, &b"hello"[..]), (true, &b"HELLO world"[..])] {
            let after = d.crash(keep);
            let mut b = vec![0; 32];
            let n = after
                .open(p, OpenMode::Buffered, false)
                .unwrap()
                .read_now(&mut b, 0)
                .unwrap();
            assert_eq!(&b[..n], want);
        }
    }

    #[test]
    fn a_full_disk_refuses_growth_only() {
        let d = MemDisk::default();
        let f = d.open(Path::new("/f"), OpenMode::Buffered, true).unwrap();
        f.write_now(&[1; 100], 0).unwrap();
        d.set_room(10);
        assert_eq!(
            f.write_now(&[1; 100], 50).unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        f.write_now(&[2; 100], 0).unwrap();
        d.set_quota(10);
        assert_eq!(
            f.write_now(&[1; 100], 50).unwrap_err().kind(),
            io::ErrorKind::QuotaExceeded
        );
    }

    #[test]
    fn a_closed_file_gives_its_descriptor_back() {
        let d = MemDisk::default();
        let open = || d.open(Path::new("/f"), OpenMode::Buffered, true);
        d.set_descriptors_left(Some(2));
        let two = (open().unwrap(), open().unwrap());
        let none = || d.sync_dir(Path::new("/")).unwrap_err().raw_os_error();
        assert_eq!(none(), Some(libc::EMFILE));
        assert!(open().is_err());
        drop(two.0);
        d.sync_dir(Path::new("/")).unwrap();
        open().unwrap();
        assert!(open().is_ok(), "it was given back");
    }
}
