//! Temporary files: where statements put what is more than the memory they may use, and where temporary tables are.
//!
//! They are in a folder of their own in the directory. A file lives as long as its [`TempFile`]; what a crash leaves is removed at the next start.
//! Nothing of it is logged. All together take no more than a limit, so that temporary files cannot take the room of tables; of that, the
//! sessions of one account have a [share](TempShare).
//!
//! Small files go with their statement before they reach the disk. But what the kernel's cache holds of a file that was not written cannot be given back, and
//! a control group that is full of it has its processes killed (groups of the older kind do not slow their writers down). So beyond a second limit, those who
//! write wait for the disk.

mod share;

pub use share::TempShare;

use crate::error;
use base::buf::{AlignedBuf, IoBuf};
use base::environment::{Disk, File, OpenMode, read, shortage, sync, write};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use types::SqlError;

/// The folder's name.
const FOLDER: &str = "temp";
/// What the files may have in the kernel's cache alone, where nobody says otherwise.
const UNWRITTEN: u64 = 1 << 30;
/// A file is not synced for less than this part of what all may have.
const LEAST_PART: u64 = 256;

/// The temporary files of an engine.
pub struct TempFiles {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    next: AtomicU64,
    /// Bytes of all files.
    held: AtomicU64,
    limit: AtomicU64,
    open: AtomicU64,
    /// Bytes of all files that may be in the kernel's cache alone.
    unwritten: AtomicU64,
    unwritten_limit: AtomicU64,
    /// Who is told that the system is short of something, and when that is over.
    told: OnceLock<Box<Told>>,
    is_short: AtomicBool,
}

/// See [`TempFiles::told`].
type Told = dyn Fn(Result<(), &io::Error>) + Send + Sync;

impl TempFiles {
    /// None yet, in a directory.
    pub(crate) fn new(disk: &Arc<dyn Disk>, dir: &Path) -> Arc<TempFiles> {
        Arc::new(TempFiles {
            disk: disk.clone(),
            folder: dir.join(FOLDER),
            next: AtomicU64::new(1),
            held: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
            open: AtomicU64::new(0),
            unwritten: AtomicU64::new(0),
            unwritten_limit: AtomicU64::new(UNWRITTEN),
            told: OnceLock::new(),
            is_short: AtomicBool::new(false),
        })
    }

    /// From now on `tell` is told where the system is short of something, and when that is over.
    pub(crate) fn on_shortage(&self, tell: Box<Told>) {
        let _first = self.told.set(tell);
    }

    /// The error of a file, which is told.
    #[cold]
    fn failed(&self, e: io::Error, path: &Path) -> SqlError {
        if shortage(&e).is_some()
            && let Some(tell) = self.told.get()
        {
            self.is_short.store(true, Ordering::Relaxed);
            tell(Err(&e));
        }
        error::temporary(e, path)
    }

    /// Something was written.
    #[inline]
    fn done(&self) {
        if self.is_short.load(Ordering::Relaxed)
            && self.is_short.swap(false, Ordering::Relaxed)
            && let Some(tell) = self.told.get()
        {
            tell(Ok(()));
        }
    }

    /// Removes what a crash has left.
    pub(crate) fn remove_left(&self) -> io::Result<()> {
        if !self.disk.exists(&self.folder) {
            return Ok(());
        }
        for (name, is_dir) in self.disk.read_dir(&self.folder)? {
            if !is_dir {
                self.disk.remove_file(&self.folder.join(name))?;
            }
        }
        Ok(())
    }

    /// What all files may take together.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// What all files may take together, where nobody has set that.
    pub fn set_usual_limit(&self, bytes: u64) {
        let order = Ordering::Relaxed;
        let _set_before = self.limit.compare_exchange(u64::MAX, bytes, order, order);
    }

    /// What all files together may have in the kernel's cache before it is on the disk, in bytes.
    pub fn set_unwritten_limit(&self, bytes: u64) {
        self.unwritten_limit.store(bytes, Ordering::Relaxed);
    }

    /// What they take.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// How many there have been.
    pub fn made(&self) -> u64 {
        self.next.load(Ordering::Relaxed) - 1
    }

    /// A new file without a byte, of the server itself: nothing but the limit of all holds for it.
    ///
    /// # Errors
    /// 1021 on a full disk; what else the system answers.
    pub fn create(self: &Arc<TempFiles>) -> Result<TempFile, SqlError> {
        self.open_in(TempSpace::of_all(self))
    }

    /// A new file, which is counted in `space`.
    fn open_in(self: &Arc<TempFiles>, space: Arc<TempSpace>) -> Result<TempFile, SqlError> {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{n}.tmp"));
        let folder = match self.disk.exists(&self.folder) {
            true => Ok(()),
            false => self.disk.create_dir_all(&self.folder),
        };
        let file = folder.and_then(|()| self.disk.open(&path, OpenMode::Buffered, true));
        let file = file.map_err(|e| self.failed(e, &path))?;
        self.open.fetch_add(1, Ordering::Relaxed);
        Ok(TempFile {
            space,
            file,
            path,
            end: 0,
            unwritten: 0,
        })
    }

    /// Where the file of a temporary table is to be.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub(crate) fn table_path(&self, id: u32) -> io::Result<PathBuf> {
        if !self.disk.exists(&self.folder) {
            self.disk.create_dir_all(&self.folder)?;
        }
        let path = self.folder.join(format!("table{id}.tdb"));
        // One that could not be removed, of a table that had this id before.
        if self.disk.exists(&path) {
            self.disk.remove_file(&path)?;
        }
        Ok(path)
    }

    fn reserve(&self, bytes: u64) -> bool {
        let before = self.held.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= self.limit.load(Ordering::Relaxed);
        if !fits {
            self.release(bytes);
        }
        fits
    }

    fn release(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// What nobody has taken yet; without a limit, all there can be.
    fn left(&self) -> u64 {
        match self.limit.load(Ordering::Relaxed) {
            u64::MAX => u64::MAX,
            limit => limit.saturating_sub(self.held()),
        }
    }
}

/// Where a session's temporary files and tables come from.
pub struct TempSpace {
    files: Arc<TempFiles>,
    /// None: of the server itself, or of an administrator.
    share: Option<Arc<TempShare>>,
}

impl TempSpace {
    /// Of the server itself, which nothing but the whole limits.
    pub(crate) fn of_all(files: &Arc<TempFiles>) -> Arc<TempSpace> {
        TempSpace::of(files, None)
    }

    /// Of whoever has a share.
    pub(crate) fn of(files: &Arc<TempFiles>, share: Option<Arc<TempShare>>) -> Arc<TempSpace> {
        Arc::new(TempSpace {
            files: files.clone(),
            share,
        })
    }

    /// A new file without a byte.
    ///
    /// # Errors
    /// As [`TempFiles::create`].
    pub fn create(self: &Arc<TempSpace>) -> Result<TempFile, SqlError> {
        self.files.open_in(self.clone())
    }

    fn files(&self) -> &Arc<TempFiles> {
        &self.files
    }

    /// It is counted in this share, or in none.
    pub(crate) fn is_of(&self, share: Option<&Arc<TempShare>>) -> bool {
        match (&self.share, share) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// Takes room; false where the whole or the share has not so much.
    fn gain(&self, bytes: u64) -> bool {
        if !self.files.reserve(bytes) {
            return false;
        }
        let taken = match &self.share {
            Some(share) => share.gain(bytes, self.files.left()),
            None => true,
        };
        if !taken {
            self.files.release(bytes);
        }
        taken
    }

    /// Gives room back.
    fn give(&self, bytes: u64) {
        if let Some(share) = &self.share {
            share.give(bytes);
        }
        self.files.release(bytes);
    }
}

impl pager::FileQuota for TempSpace {
    fn allot(&self, bytes: u64) -> bool {
        self.gain(bytes)
    }

    fn give_back(&self, bytes: u64) {
        self.give(bytes);
    }
}

/// A temporary file; removed when it is dropped.
pub struct TempFile {
    space: Arc<TempSpace>,
    file: Arc<dyn File>,
    path: PathBuf,
    end: u64,
    /// Bytes since the last sync.
    unwritten: u64,
}

impl TempFile {
    /// Bytes written.
    pub fn len(&self) -> u64 {
        self.end
    }

    /// Nothing was written.
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// Writes behind what is there; says where.
    ///
    /// # Errors
    /// 1021 on a full disk, 1114 where all temporary files together, or those of the account, would pass their limit; what else the device answers.
    pub async fn append(&mut self, bytes: &[u8]) -> Result<u64, SqlError> {
        if !self.space.gain(bytes.len() as u64) {
            return Err(SqlError::table_full(&self.path.display().to_string()));
        }
        let at = self.end;
        self.end += bytes.len() as u64;
        let mut done = 0;
        while done < bytes.len() {
            let buf = IoBuf::owned(AlignedBuf::copy_of(&bytes[done..]));
            let (_, moved) = write(&*self.file, buf, at + done as u64).await;
            match moved {
                Ok(0) => {
                    let e = io::Error::from(io::ErrorKind::WriteZero);
                    return Err(self.space.files().failed(e, &self.path));
                }
                Ok(n) => done += n,
                Err(e) => return Err(self.space.files().failed(e, &self.path)),
            }
        }
        self.space.files().done();
        let new = bytes.len() as u64;
        self.unwritten += new;
        let all = self
            .space
            .files()
            .unwritten
            .fetch_add(new, Ordering::Relaxed)
            + new;
        let limit = self.space.files().unwritten_limit.load(Ordering::Relaxed);
        if all > limit && self.unwritten >= limit / LEAST_PART {
            let synced = sync(&*self.file).await;
            synced.map_err(|e| self.space.files().failed(e, &self.path))?;
            self.written();
        }
        Ok(at)
    }

    fn written(&mut self) {
        let bytes = std::mem::take(&mut self.unwritten);
        self.space
            .files()
            .unwritten
            .fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Reads `len` bytes that were written at `at`.
    ///
    /// # Errors
    /// What the device answers.
    pub async fn read(&self, at: u64, len: usize) -> Result<AlignedBuf, SqlError> {
        let failed = |e| error::temporary(e, &self.path);
        let (buf, moved) = read(&*self.file, IoBuf::owned(AlignedBuf::zeroed(len)), at).await;
        let n = moved.map_err(failed)?;
        let mut buf = buf
            .into_owned()
            .ok_or_else(|| failed(io::Error::other("the buffer was lent")))?;
        let mut have = n;
        while have < len {
            let rest = AlignedBuf::zeroed(len - have);
            let (more, moved) = read(&*self.file, IoBuf::owned(rest), at + have as u64).await;
            let n = moved.map_err(failed)?;
            if n == 0 {
                return Err(failed(io::Error::from(io::ErrorKind::UnexpectedEof)));
            }
            buf[have..have + n].copy_from_slice(&more.bytes()[..n]);
            have += n;
        }
        Ok(buf)
    }

    /// The error of bytes that are not those that were written.
    pub fn damaged(&self) -> SqlError {
        let e = io::Error::new(io::ErrorKind::InvalidData, "a block's checksum is wrong");
        error::temporary(e, &self.path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // If it fails the next start does it.
        let _ = self.space.files().disk.remove_file(&self.path);
        self.written();
        self.space.give(self.end);
        self.space.files().open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::block_on;
    use base::mem::MemDisk;

    #[test]
    fn files_come_and_go() {
        let mem = Arc::new(MemDisk::default());
        let disk: Arc<dyn Disk> = mem.clone();
        let files = TempFiles::new(&disk, Path::new("/d"));
        let mut f = files.create().expect("a file");
        block_on(async {
            assert_eq!(f.append(b"hello").await, Ok(0));
            assert_eq!(f.append(b"world").await, Ok(5));
            let b = f.read(3, 5).await.expect("bytes");
            assert_eq!(&b[..], b"lowor");
            assert!(f.read(8, 5).await.is_err(), "behind the end");
        });
        let names = || disk.read_dir(Path::new("/d/temp")).expect("a folder").len();
        assert_eq!((files.held(), files.count(), names()), (10, 1, 1));
        drop(f);
        assert_eq!((files.held(), files.count(), names()), (0, 0, 0));
    }

    #[test]
    fn what_is_in_the_cache_alone_is_bounded() {
        let mem = Arc::new(MemDisk::default());
        let disk: Arc<dyn Disk> = mem.clone();
        let files = TempFiles::new(&disk, Path::new("/d"));
        files.set_unwritten_limit(1000);
        let unwritten = || files.unwritten.load(Ordering::Relaxed);
        block_on(async {
            let (mut a, mut b) = (files.create().expect("a"), files.create().expect("b"));
            a.append(&[1; 600]).await.expect("a");
            b.append(&[1; 400]).await.expect("b");
            assert_eq!(unwritten(), 1000, "nobody waits for the disk yet");
            // Too little of its own to be worth a sync.
            let mut c = files.create().expect("c");
            c.append(&[1; 2]).await.expect("c");
            assert_eq!(unwritten(), 1002);
            b.append(&[1; 10]).await.expect("b");
            assert_eq!(unwritten(), 602, "b was synced");
            drop(a);
            assert_eq!(unwritten(), 2);
        });
        assert_eq!(unwritten(), 0);
    }

    #[test]
    fn what_a_crash_left_is_removed() {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::default());
        let files = TempFiles::new(&disk, Path::new("/d"));
        files.remove_left().expect("there is nothing yet");
        std::mem::forget(files.create().expect("a file"));
        let again = TempFiles::new(&disk, Path::new("/d"));
        again.remove_left().expect("it is removed");
        let left = disk.read_dir(Path::new("/d/temp")).expect("a folder");
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn there_is_no_room() {
        let mem = Arc::new(MemDisk::default());
        let disk: Arc<dyn Disk> = mem.clone();
        let files = TempFiles::new(&disk, Path::new("/d"));
        files.set_limit(100);
        block_on(async {
            let (mut a, mut b) = (files.create().expect("a"), files.create().expect("b"));
            a.append(&[1; 60]).await.expect("60 of 100");
            let e = b.append(&[1; 60]).await.expect_err("120 of 100");
            assert_eq!(e.code, 1114);
            b.append(&[1; 40]).await.expect("100 of 100");
            drop(a);
            mem.set_room(10);
            let e = b.append(&[1; 60]).await.expect_err("the disk is full");
            assert_eq!(e.code, 1021, "{}", e.message);
        });
        assert_eq!(files.held(), 0);
    }

    #[test]
    fn nobody_takes_the_room_of_others() {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::default());
        let files = TempFiles::new(&disk, Path::new("/d"));
        files.set_limit(1200);
        let of = || {
            let share = Arc::<TempShare>::default();
            (share.clone(), TempSpace::of(&files, Some(share)))
        };
        let ((first, a), (second, b)) = (of(), of());
        block_on(async {
            let mut x = a.create().expect("a file");
            let mut y = a.create().expect("another");
            x.append(&[1; 500]).await.expect("500 of 1200");
            let e = y.append(&[1; 200]).await.expect_err("700 of 1200");
            assert_eq!(e.code, 1114, "{}", e.message);
            y.append(&[1; 100]).await.expect("a half is allowed");
            assert_eq!((first.held(), files.held()), (600, 600));

            let mut z = b.create().expect("a file of another");
            z.append(&[1; 300]).await.expect("a half of the rest");
            let e = z
                .append(&[1; 10])
                .await
                .expect_err("300 are left for others");
            assert_eq!(e.code, 1114);
            drop(y);
            z.append(&[1; 50]).await.expect("there is more again");
            assert_eq!((first.held(), second.held(), files.held()), (500, 350, 850));

            let mut admin = TempSpace::of_all(&files).create().expect("a file");
            admin.append(&[1; 350]).await.expect("all that is left");
            let e = admin.append(&[1]).await.expect_err("there is no more");
            assert_eq!(e.code, 1114);
            let mut w = b.create().expect("a file");
            assert_eq!(w.append(&[1]).await.map_err(|e| e.code), Err(1114));
        });
        assert_eq!((first.held(), second.held(), files.held()), (0, 0, 0));
    }
}
