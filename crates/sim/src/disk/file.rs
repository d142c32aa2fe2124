//! An open file of the simulated disk.

use super::content::Data;
use super::{Flying, SimDisk, Work, class, dead, lock};
use base::IoBuf;
use base::environment::{Done, DoneSync, File};
use std::io;
use std::path::{Path, PathBuf};

/// Keeps its content when it is renamed or removed.
pub struct SimFile {
    disk: SimDisk,
    content: usize,
    path: PathBuf,
    /// Each write is durable when it returns.
    durable: bool,
    /// Past the page cache: a write that fails says so itself.
    direct: bool,
}

impl SimFile {
    pub(super) fn new(
        disk: SimDisk,
        content: usize,
        path: &Path,
        (durable, direct): (bool, bool),
    ) -> SimFile {
        SimFile {
            disk,
            content,
            path: path.to_path_buf(),
            durable,
            direct,
        }
    }

    /// Submits work, to be completed a while later. When the power is off it never is.
    fn submit(&self, what: &'static str, a: u64, b: u64, work: Work) {
        let mut s = lock(&self.disk.state);
        if !s.step(what, class(&self.path), &self.path, a, b) {
            drop(s);
            // The buffer and the callback go; nobody is told.
            drop(work);
            return;
        }
        let slow = s.faults.slow;
        let wait = if s.fault(slow, "slow operation") {
            s.rng.log_up_to(3_000_000)
        } else {
            s.rng.below(300)
        };
        let ready = self.disk.time.now() + wait;
        s.flying.push(Flying { ready, work });
    }
}

impl File for SimFile {
    fn submit_read(&self, buf: IoBuf, offset: u64, done: Done) {
        let n = buf.bytes().len() as u64;
        let work = Work::Read(self.content, buf, offset, done);
        self.submit("read", offset, n, work);
    }

    fn writes_through(&self) -> bool {
        self.direct
    }

    fn submit_write(&self, buf: IoBuf, offset: u64, done: Done) {
        let n = buf.bytes().len() as u64;
        let work = Work::Write(self.content, buf, offset, done, self.durable);
        self.submit("write", offset, n, work);
    }

    fn submit_sync(&self, done: DoneSync) {
        let upto = lock(&self.disk.state).seq;
        let work = Work::Sync(self.content, upto, done);
        self.submit("sync", upto, 0, work);
    }

    fn read_now(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let s = lock(&self.disk.state);
        if s.survivor.is_some() {
            return Err(dead());
        }
        Ok(s.contents[self.content].now.read(buf, offset as usize))
    }

    fn write_now(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut s = lock(&self.disk.state);
        let mut h = base::checksum::crc32c(buf) as u64;
        h ^= (buf.len() as u64) << 32;
        if !s.step("write", class(&self.path), &self.path, offset, h) {
            return Err(dead());
        }
        s.write(self.content, Data::of(buf), offset as usize, self.durable)
    }

    fn sync_now(&self) -> io::Result<()> {
        let mut s = lock(&self.disk.state);
        if !s.step("sync", class(&self.path), &self.path, 0, 0) {
            return Err(dead());
        }
        let upto = s.seq;
        s.sync(self.content, upto)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let mut s = lock(&self.disk.state);
        if !s.step("allocate", class(&self.path), &self.path, len, 0) {
            return Err(dead());
        }
        s.grow(self.content, len as usize)?;
        let c = &mut s.contents[self.content];
        let n = c.now.len().max(len as usize);
        c.now.set_len(n);
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut s = lock(&self.disk.state);
        if !s.step("truncate", class(&self.path), &self.path, len, 0) {
            return Err(dead());
        }
        let shorter = s.contents[self.content].truncate(len as usize);
        if s.room != u64::MAX {
            s.room += shorter as u64;
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.disk.state).contents[self.content].now.len() as u64)
    }
}
