//! Files of the operating system behind the environment's disk.
#![allow(unsafe_code)]

use super::file_modes;
use super::operation::{Op, RawFile, read_full, run_op};
use super::pool::Pool;
use super::uring::Uring;
use crate::buf::IoBuf;
use crate::environment::{Disk, Done, DoneSync, File, OpenMode, ReadAt, lost_by_sync};
use std::ffi::CString;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

enum Engine {
    Uring(Uring),
    Pool(Pool),
}

/// The machine's file systems.
pub struct RealDisk {
    engine: Arc<Engine>,
}

impl Default for RealDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl RealDisk {
    /// io_uring where the kernel allows it, else a pool of threads; decided now, once.
    pub fn new() -> RealDisk {
        let engine = match Uring::new() {
            Ok(u) => Engine::Uring(u),
            Err(_) => Engine::Pool(Pool::new()),
        };
        RealDisk {
            engine: Arc::new(engine),
        }
    }

    /// The thread pool, whatever the kernel allows (for tests and for comparison).
    pub fn with_threads() -> RealDisk {
        RealDisk {
            engine: Arc::new(Engine::Pool(Pool::new())),
        }
    }
}

struct RealFile {
    raw: Arc<RawFile>,
    engine: Arc<Engine>,
}

impl RealFile {
    fn submit(&self, op: Op) {
        match &*self.engine {
            Engine::Uring(u) => u.submit(self.raw.clone(), op),
            Engine::Pool(p) => p.submit(self.raw.clone(), op),
        }
    }
}

impl File for RealFile {
    fn submit_read(&self, buf: IoBuf, offset: u64, done: Done) {
        let op = Op::Read(buf, offset, done);
        if super::is_alone() {
            return run_op(&self.raw, op);
        }
        // A thread has a ring of its own, or none.
        if let Err(op) = super::thread_ring::submit(&self.raw, op) {
            self.submit(op);
        }
    }

    fn submit_reads(&self, reads: Vec<ReadAt>) {
        let mut ops = Vec::with_capacity(reads.len());
        for r in reads {
            let op = Op::Read(r.buf, r.offset, r.done);
            ops.extend(super::thread_ring::submit(&self.raw, op).err());
        }
        match &*self.engine {
            _ if ops.is_empty() => {}
            Engine::Uring(u) => u.submit_all(&self.raw, ops),
            Engine::Pool(p) => ops
                .into_iter()
                .for_each(|op| p.submit(self.raw.clone(), op)),
        }
    }

    fn submit_write(&self, buf: IoBuf, offset: u64, done: Done) {
        self.submit(Op::Write(buf, offset, done));
    }

    fn submit_sync(&self, done: DoneSync) {
        self.submit(Op::Sync(done));
    }

    fn read_now(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        read_full(&self.raw.file, buf, offset)
    }

    fn write_now(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.raw.file.write_all_at(buf, offset)
    }

    fn sync_now(&self) -> io::Result<()> {
        self.raw.file.sync_data().map_err(lost_by_sync)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let now = self.len()?;
        if now >= len {
            return Ok(());
        }
        // SAFETY: a plain system call on an open descriptor.
        let r = unsafe {
            libc::fallocate(self.raw.file.as_raw_fd(), 0, now as i64, (len - now) as i64)
        };
        if r == 0 {
            return Ok(());
        }
        let e = io::Error::last_os_error();
        if e.raw_os_error() == Some(libc::EOPNOTSUPP) {
            return self.raw.file.set_len(len);
        }
        Err(e)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        if self.len()? > len {
            self.raw.file.set_len(len)?;
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.raw.file.metadata()?.len())
    }

    fn writes_through(&self) -> bool {
        self.raw.direct
    }
}

struct DirLock(#[allow(dead_code)] fs::File);

impl Disk for RealDisk {
    fn open(&self, path: &Path, mode: OpenMode, create: bool) -> io::Result<Arc<dyn File>> {
        let flags = match mode {
            OpenMode::Buffered => 0,
            OpenMode::Direct => libc::O_DIRECT,
            OpenMode::Dsync => libc::O_DSYNC,
        };
        let open = |flags: i32| {
            let mut options = fs::OpenOptions::new();
            options.read(true).write(true).custom_flags(flags);
            match create {
                true => file_modes::open_or_create(&options, path, file_modes::FILE),
                false => options.open(path),
            }
        };
        let (file, direct) = match open(flags) {
            // tmpfs and some network file systems refuse O_DIRECT.
            Err(e) if mode == OpenMode::Direct && e.raw_os_error() == Some(libc::EINVAL) => {
                (open(0)?, false)
            }
            r => (r?, mode == OpenMode::Direct),
        };
        Ok(Arc::new(RealFile {
            raw: Arc::new(RawFile { file, direct }),
            engine: self.engine.clone(),
        }))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        file_modes::create_dir_all(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<(String, bool)>> {
        let mut out = Vec::new();
        for e in fs::read_dir(path)? {
            let e = e?;
            out.push((
                e.file_name().to_string_lossy().into_owned(),
                e.file_type()?.is_dir(),
            ));
        }
        out.sort();
        Ok(out)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        fs::File::open(path)?.sync_all().map_err(lost_by_sync)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true);
        let name = path.join("tidemill.lock");
        let f = file_modes::open_or_create(&options, &name, file_modes::FILE)?;
        // SAFETY: a plain system call on an open descriptor; the lock goes with the descriptor.
        let r = unsafe { libc::flock(f.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        if r != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Box::new(DirLock(f)))
    }

    fn kind(&self) -> &'static str {
        match &*self.engine {
            Engine::Uring(_) => "io_uring",
            Engine::Pool(_) => "threads",
        }
    }
}

/// Bytes that a user without privileges may still write where `path` is; `None` where the system does not say.
#[allow(unsafe_code)]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut found = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a zero, and both live until the call has returned. What is found is read only where it has succeeded.
    let found = unsafe {
        match libc::statvfs(path.as_ptr(), found.as_mut_ptr()) {
            0 => found.assume_init(),
            _ => return None,
        }
    };
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{read, sync, write};
    use crate::{AlignedBuf, block_on};

    fn round_trip(disk: RealDisk, name: &str) {
        let dir = std::env::temp_dir().join(format!("tidemill-base-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let f = disk.open(&dir.join("f"), OpenMode::Direct, true).unwrap();
        f.allocate(1 << 20).unwrap();
        let b = AlignedBuf::copy_of(&[7u8; 16384]);
        let (_, r) = block_on(write(&*f, IoBuf::owned(b), 16384));
        assert_eq!(r.unwrap(), 16384);
        block_on(sync(&*f)).unwrap();
        let (b, r) = block_on(read(&*f, IoBuf::owned(AlignedBuf::zeroed(32768)), 0));
        assert_eq!(r.unwrap(), 32768);
        assert_eq!(
            (b.bytes()[0], b.bytes()[16384], b.bytes()[32767]),
            (0, 7, 7)
        );
        let (_, r) = block_on(read(&*f, IoBuf::owned(AlignedBuf::zeroed(16384)), 1 << 20));
        assert_eq!(r.unwrap(), 0, "past the end");
        let held = disk.lock(&dir).unwrap();
        assert_eq!(
            disk.lock(&dir).err().map(|e| e.kind()),
            Some(io::ErrorKind::WouldBlock)
        );
        drop(held);
        disk.lock(&dir).unwrap();
        fs::remove_dir_all(&dir).unwrap();
    }

    /// A thread that is lent to one request has no ring of its own and nobody who waits for it: it reads itself.
    #[test]
    fn a_lent_thread_reads_itself() {
        let dir = std::env::temp_dir().join(format!("tidemill-base-lent-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let disk = RealDisk::new();
        let f = disk.open(&dir.join("f"), OpenMode::Direct, true).unwrap();
        f.write_now(&AlignedBuf::copy_of(&[7u8; 4096]), 0).unwrap();
        std::thread::scope(|s| {
            let lent = s.spawn(|| {
                crate::real::dedicate_to_requests();
                let here = std::thread::current().id();
                let (tell, told) = std::sync::mpsc::channel();
                let done = move |b: IoBuf, r: io::Result<usize>| {
                    let here_too = std::thread::current().id() == here;
                    let _ = tell.send((b.bytes()[4095], r.ok(), here_too));
                };
                let room = IoBuf::owned(AlignedBuf::zeroed(4096));
                f.submit_read(room, 0, Box::new(done.clone()));
                let waited_for = told.try_recv();
                // Several that nobody waits for do not hold it up.
                let ahead = (0..3).map(|_| ReadAt {
                    buf: IoBuf::owned(AlignedBuf::zeroed(4096)),
                    offset: 0,
                    done: Box::new(done.clone()),
                });
                f.submit_reads(ahead.collect());
                drop(done);
                (waited_for, told.iter().collect::<Vec<_>>())
            });
            let (waited_for, ahead) = lent.join().unwrap();
            assert_eq!(waited_for, Ok((7, Some(4096), true)));
            assert_eq!(ahead, [(7, Some(4096), false); 3]);
        });
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn uring_moves_bytes() {
        round_trip(RealDisk::new(), "uring");
    }

    #[test]
    fn threads_move_bytes() {
        round_trip(RealDisk::with_threads(), "threads");
    }

    #[test]
    fn a_folder_has_some_and_what_is_not_there_does_not_say() {
        assert!(free_bytes(Path::new("/")).is_some());
        assert_eq!(free_bytes(Path::new("/no such folder")), None);
    }
}
