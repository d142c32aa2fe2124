//! The disk of the environment: files, directories and the operations on them. Positioned, completion-based for pages; immediate for
//! the log's small buffered writes and for start-up.

use crate::buf::IoBuf;
use crate::lock::Mutex;
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// How a file is opened for I/O.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// Through the page cache.
    Buffered,
    /// Past the page cache (O_DIRECT): offsets, lengths and addresses are multiples of 4096. Falls back to
    /// [`OpenMode::Buffered`] where the file system refuses it.
    Direct,
    /// Through the page cache, each write durable when it returns (O_DSYNC).
    Dsync,
}

/// Called once when an operation ended, with its buffer and the bytes moved. Runs on the disk's own thread: must be
/// short and must not block.
pub type Done = Box<dyn FnOnce(IoBuf, io::Result<usize>) + Send>;
/// As [`Done`], for a sync.
pub type DoneSync = Box<dyn FnOnce(io::Result<()>) + Send>;

/// A read to be started.
pub struct ReadAt {
    /// To be filled.
    pub buf: IoBuf,
    /// From here on.
    pub offset: u64,
    /// Called at its end.
    pub done: Done,
}

/// An open file.
pub trait File: Send + Sync {
    /// Starts filling `buf` from `offset`. Where the caller has nothing else to do, it may be done at once.
    fn submit_read(&self, buf: IoBuf, offset: u64, done: Done);
    /// Starts several reads together, for which nobody waits yet: none of them holds the caller up.
    fn submit_reads(&self, reads: Vec<ReadAt>) {
        for r in reads {
            self.submit_read(r.buf, r.offset, r.done);
        }
    }
    /// Starts writing `buf` at `offset`.
    fn submit_write(&self, buf: IoBuf, offset: u64, done: Done);
    /// Starts making all writes that were completed before this call durable, with the metadata needed to read them.
    fn submit_sync(&self, done: DoneSync);
    /// Reads at once; returns fewer bytes only at the end of the file.
    ///
    /// # Errors
    /// What the device or the system answers.
    fn read_now(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `buf` at once.
    ///
    /// # Errors
    /// What the device or the system answers; `StorageFull` where there is no room.
    fn write_now(&self, buf: &[u8], offset: u64) -> io::Result<()>;
    /// Syncs at once (data, and the metadata needed to read it).
    ///
    /// # Errors
    /// What the device answers. It is final: a second sync says nothing of what this one lost.
    fn sync_now(&self) -> io::Result<()>;
    /// Reserves room up to `len` bytes and extends the file to it; contents read as zeros.
    /// Fails with `StorageFull` when there is none.
    ///
    /// # Errors
    /// `StorageFull` where there is no room; what the device or the system answers.
    fn allocate(&self, len: u64) -> io::Result<()>;
    /// Ends the file at `len` bytes if it is longer; what lay behind is gone, now or after a crash.
    ///
    /// # Errors
    /// What the device or the system answers.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// The file's length in bytes.
    ///
    /// # Errors
    /// What the system answers.
    fn len(&self) -> io::Result<u64>;
    /// Whether a write that has completed has nothing left that could fail later, but at a power cut: closing the file and opening it again loses no
    /// error.
    fn writes_through(&self) -> bool {
        false
    }
    /// The file itself, open for as long as it is held, where this one opens it by need. `None`: it is open anyway.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn held_open(&self) -> io::Result<Option<Arc<dyn File>>> {
        Ok(None)
    }
    /// True when the length is 0.
    ///
    /// # Errors
    /// As [`len`](Self::len).
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// A directory tree of files. Paths are absolute or relative to what the implementation calls its root.
pub trait Disk: Send + Sync {
    /// Opens an existing file, or creates it when `create`; with `create` an existing file is opened as it is.
    ///
    /// # Errors
    /// What the system answers; `NotFound` without `create`; `InvalidInput` where the file system does not know the mode.
    fn open(&self, path: &Path, mode: OpenMode, create: bool) -> io::Result<Arc<dyn File>>;
    /// Removes a file; durable after `sync_dir` of its folder.
    ///
    /// # Errors
    /// What the system answers.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Renames within one file system, replacing an existing target atomically; durable after `sync_dir`.
    ///
    /// # Errors
    /// What the system answers.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes a folder and its parents.
    ///
    /// # Errors
    /// What the system answers.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty folder.
    ///
    /// # Errors
    /// What the system answers; also where the folder is not empty.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Names of the entries of a folder: (name, is a folder).
    ///
    /// # Errors
    /// What the system answers.
    fn read_dir(&self, path: &Path) -> io::Result<Vec<(String, bool)>>;
    /// True when a file or folder exists at `path`.
    fn exists(&self, path: &Path) -> bool;
    /// Makes creations, removals and renames in a folder durable.
    ///
    /// # Errors
    /// What the device answers; final as that of a file.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Takes the folder's owner lock for as long as the result lives.
    ///
    /// # Errors
    /// `WouldBlock` when another process has it; what the system answers.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>>;
    /// How operations are carried out, for people: "io_uring", "threads", "memory".
    fn kind(&self) -> &'static str;
}

struct Shared<T> {
    state: Mutex<(Option<T>, Option<Waker>)>,
}

struct Pending<T>(Arc<Shared<T>>);

impl<T> Shared<T> {
    fn new() -> Arc<Shared<T>> {
        Arc::new(Shared {
            state: Mutex::new((None, None)),
        })
    }

    fn set(&self, v: T) {
        let waker = {
            let mut s = self.state.lock();
            s.0 = Some(v);
            s.1.take()
        };
        if let Some(w) = waker {
            w.wake();
        }
    }
}

impl<T> Future for Pending<T> {
    type Output = T;
    fn poll(self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<T> {
        let mut s = self.0.state.lock();
        match s.0.take() {
            Some(v) => Poll::Ready(v),
            None => {
                s.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// [`File::submit_read`] as a future. Dropping it leaves the operation running; the buffer is freed at its end.
pub fn read(
    file: &dyn File,
    buf: IoBuf,
    offset: u64,
) -> impl Future<Output = (IoBuf, io::Result<usize>)> + Send + use<> {
    let shared = Shared::new();
    let s = shared.clone();
    file.submit_read(buf, offset, Box::new(move |b, r| s.set((b, r))));
    Pending(shared)
}

/// [`File::submit_write`] as a future.
pub fn write(
    file: &dyn File,
    buf: IoBuf,
    offset: u64,
) -> impl Future<Output = (IoBuf, io::Result<usize>)> + Send + use<> {
    let shared = Shared::new();
    let s = shared.clone();
    file.submit_write(buf, offset, Box::new(move |b, r| s.set((b, r))));
    Pending(shared)
}

/// [`File::submit_sync`] as a future.
pub fn sync(file: &dyn File) -> impl Future<Output = io::Result<()>> + Send + use<> {
    let shared = Shared::new();
    let s = shared.clone();
    file.submit_sync(Box::new(move |r| s.set(r)));
    Pending(shared)
}
