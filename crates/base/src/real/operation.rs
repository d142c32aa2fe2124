//! A file of the operating system, and the operations on it that go through a ring or a pool of threads.

use crate::buf::IoBuf;
use crate::environment::{Done, DoneSync, lost_by_sync};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// An open file; whoever has an operation on it under way holds it.
pub(super) struct RawFile {
    pub(super) file: fs::File,
    /// Opened past the page cache.
    pub(super) direct: bool,
}

impl RawFile {
    pub(super) fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

/// One operation with its completion.
pub(super) enum Op {
    Read(IoBuf, u64, Done),
    Write(IoBuf, u64, Done),
    Sync(DoneSync),
}

/// Carries out an operation on the calling thread and completes it.
pub(super) fn run_op(f: &RawFile, op: Op) {
    match op {
        Op::Read(mut b, off, done) => {
            let r = read_full(&f.file, b.bytes_mut(), off);
            done(b, r)
        }
        Op::Write(b, off, done) => {
            let r = f
                .file
                .write_all_at(b.bytes(), off)
                .map(|()| b.bytes().len());
            done(b, r)
        }
        Op::Sync(done) => done(f.file.sync_data().map_err(lost_by_sync)),
    }
}

/// Reads until the buffer is full or the file ends.
pub(super) fn read_full(f: &fs::File, buf: &mut [u8], off: u64) -> io::Result<usize> {
    let mut n = 0;
    while n < buf.len() {
        match f.read_at(&mut buf[n..], off + n as u64) {
            Ok(0) => break,
            Ok(k) => n += k,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(n)
}

impl Drop for RawFile {
    fn drop(&mut self) {
        super::deferred_close::hand_over(&self.file);
    }
}
