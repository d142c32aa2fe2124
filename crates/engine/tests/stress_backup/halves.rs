//! A disk on which pages are torn while they are written.

use base::IoBuf;
use base::environment::{Disk, Done, DoneSync, File, OpenMode};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A disk on which a write of a page is not done at once: a read beside it finds the one half new and the other one old.
pub(crate) struct Halves(pub(crate) Arc<dyn Disk>);

struct HalfFile(Arc<dyn File>);

impl File for HalfFile {
    fn submit_read(&self, buf: IoBuf, offset: u64, done: Done) {
        self.0.submit_read(buf, offset, done);
    }
    fn submit_write(&self, buf: IoBuf, offset: u64, done: Done) {
        let bytes = buf.bytes();
        let half = bytes.len() / 2 + 512;
        if bytes.len() >= 16384 && half < bytes.len() {
            if let Err(e) = self.0.write_now(&bytes[..half], offset) {
                return done(buf, Err(e));
            }
            std::thread::sleep(Duration::from_micros(100));
            let r = self.0.write_now(&bytes[half..], offset + half as u64);
            let n = bytes.len();
            return done(buf, r.map(|()| n));
        }
        self.0.submit_write(buf, offset, done);
    }
    fn submit_sync(&self, done: DoneSync) {
        self.0.submit_sync(done);
    }
    fn read_now(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_now(buf, offset)
    }
    fn write_now(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_now(buf, offset)
    }
    fn sync_now(&self) -> io::Result<()> {
        self.0.sync_now()
    }
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.0.allocate(len)
    }
    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.truncate(len)
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}

impl Disk for Halves {
    fn open(&self, path: &Path, mode: OpenMode, create: bool) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(HalfFile(self.0.open(path, mode, create)?)))
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.remove_file(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir_all(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.0.remove_dir(path)
    }
    fn read_dir(&self, path: &Path) -> io::Result<Vec<(String, bool)>> {
        self.0.read_dir(path)
    }
    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.0.lock(path)
    }
    fn kind(&self) -> &'static str {
        "halves"
    }
}
