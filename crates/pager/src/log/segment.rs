//! The log's files: fixed-size segments under `log/`, made of real zeros before they are used so that a sync changes no
//! metadata, and reused by renaming once nobody needs their content.
//!
//! Segment `n` holds the log positions `n*size .. (n+1)*size`; its file is a 4 KiB header and then those bytes.

use base::checksum::crc32c;
use base::lock::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use base::{AlignedBuf, Disk, File, Lsn, OpenMode, le};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes before the log bytes in a segment file.
pub const SEGMENT_HEADER: u64 = 4096;
const MAGIC: u64 = u64::from_le_bytes(*b"TDMLLOG1");
/// Bytes of a new segment that are handed to the device at once: who waits for a commit or a page meanwhile waits behind them. On a busy processor
/// others get their turn while the thread waits for the device: to write a mebibyte takes up to two milliseconds of it where the system has to find
/// memory first.
const ZEROS_AT_ONCE: u64 = 1 << 20;
/// Segments that are kept open because they were read.
const READ_OPEN: usize = 4;
/// Version of the log's bytes.
pub const LOG_FORMAT: u32 = 1;

/// The segment files known to exist, by number.
pub struct Segments {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    size: u64,
    db_id: u64,
    mode: OpenMode,
    /// Open where the log is written, or soon will be.
    files: RwLock<BTreeMap<u64, Option<Arc<dyn File>>>>,
    /// Of the others those that were read last.
    read: Mutex<VecDeque<(u64, Arc<dyn File>)>>,
    /// A segment that has its name, which is not durable yet: the system had no descriptor to make it so.
    named: Mutex<Option<u64>>,
}

fn name(n: u64) -> String {
    format!("{n:012}.log")
}

impl Segments {
    /// Looks at the folder. `mode` is how the log is written.
    ///
    /// # Errors
    /// The folder cannot be read, or what a former start left cannot be removed.
    pub fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        size: u64,
        db_id: u64,
        mode: OpenMode,
    ) -> io::Result<Segments> {
        let s = Segments {
            disk,
            dir: dir.to_path_buf(),
            size,
            db_id,
            mode,
            files: RwLock::default(),
            read: Mutex::default(),
            named: Mutex::default(),
        };
        for (f, is_dir) in s.disk.read_dir(dir)? {
            if let Some(n) = f.strip_suffix(".log").and_then(|n| n.parse::<u64>().ok())
                && !is_dir
            {
                s.write_lock().insert(n, None);
            } else if f.ends_with(".tmp") {
                s.disk.remove_file(&dir.join(&f))?;
            }
        }
        Ok(s)
    }

    /// Bytes of log a segment holds.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What is to be said of the log's bytes at `lsn`: their segment, its file, and the offset in it.
    pub fn describe(&self, lsn: Lsn) -> String {
        let n = lsn.0 / self.size;
        let at = SEGMENT_HEADER + lsn.0 % self.size;
        format!("{} at byte {at}", self.describe_file(n))
    }

    /// Segment `n` in words.
    pub fn describe_file(&self, n: u64) -> String {
        let path = self.dir.join(name(n));
        format!("log segment {n} ({})", path.display())
    }

    /// Numbers of the existing segments, ascending.
    pub fn numbers(&self) -> Vec<u64> {
        self.read_lock().keys().copied().collect()
    }

    /// Whether there is a segment for `lsn`.
    pub fn holds(&self, lsn: Lsn) -> bool {
        self.read_lock().contains_key(&(lsn.0 / self.size))
    }

    /// The segment that holds `lsn`, and the file offset of it; none where there is no such segment.
    ///
    /// # Errors
    /// The segment cannot be opened.
    pub fn locate(&self, lsn: Lsn) -> io::Result<Option<(Arc<dyn File>, u64)>> {
        let file = self.file_of(lsn.0 / self.size)?;
        Ok(file.map(|f| (f, SEGMENT_HEADER + lsn.0 % self.size)))
    }

    /// The file of segment `n`, opened if it is not.
    fn file_of(&self, n: u64) -> io::Result<Option<Arc<dyn File>>> {
        match self.read_lock().get(&n).cloned() {
            None => return Ok(None),
            Some(Some(file)) => return Ok(Some(file)),
            Some(None) => {}
        }
        let mut read = self.read.lock();
        if let Some((_, file)) = read.iter().find(|(m, _)| *m == n) {
            return Ok(Some(file.clone()));
        }
        let file = match self.disk.open(&self.dir.join(name(n)), self.mode, false) {
            // Nobody needed it: another holder of these files has made it a later segment since.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            r => r?,
        };
        read.truncate(READ_OPEN - 1);
        read.push_front((n, file.clone()));
        Ok(Some(file))
    }

    /// Opens the segments from the one of `lsn` on: the log is written there, which must not fail for want of a descriptor.
    ///
    /// # Errors
    /// A segment cannot be opened.
    pub fn hold_from(&self, lsn: Lsn) -> io::Result<()> {
        for n in self.numbers() {
            if n >= lsn.0 / self.size
                && let Some(file) = self.file_of(n)?
            {
                self.write_lock().insert(n, Some(file));
            }
        }
        Ok(())
    }

    /// The log is written and synced up to `lsn`: the segments in front of that one's are opened when they are read.
    pub fn release_before(&self, lsn: Lsn) {
        let mut files = self.write_lock();
        for (_, file) in files.range_mut(..lsn.0 / self.size) {
            *file = None;
        }
    }

    /// End of the room that exists without a gap from `lsn` on.
    pub fn room_end(&self, lsn: Lsn) -> Lsn {
        let files = self.read_lock();
        let mut n = lsn.0 / self.size;
        while files.contains_key(&n) {
            n += 1;
        }
        Lsn(n * self.size)
    }

    /// Checks the header of segment `n`.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn verify_header(&self, n: u64) -> Result<(), String> {
        let what = self.describe_file(n);
        let file = self.file_of(n).map_err(|e| format!("{what}: {e}"))?;
        let file = file.ok_or_else(|| format!("{what} is missing"))?;
        let mut h = vec![0u8; 64];
        let got = file
            .read_now(&mut h, 0)
            .map_err(|e| format!("{what}: {e}"))?;
        if got < 64 || le::get_u32(&h, 60) != crc32c(&h[..60]) || le::get_u64(&h, 0) != MAGIC {
            return Err(format!("{what} has a damaged header"));
        }
        if le::get_u32(&h, 8) != LOG_FORMAT {
            return Err(format!(
                "{what} has format {}, this program knows {LOG_FORMAT}",
                le::get_u32(&h, 8)
            ));
        }
        if le::get_u64(&h, 16) != n
            || le::get_u64(&h, 24) != self.db_id
            || le::get_u64(&h, 32) != self.size
        {
            return Err(format!("{what} belongs to another log"));
        }
        Ok(())
    }

    fn header(&self, n: u64) -> Vec<u8> {
        let mut h = vec![0u8; SEGMENT_HEADER as usize];
        le::put_u64(&mut h, 0, MAGIC);
        le::put_u32(&mut h, 8, LOG_FORMAT);
        le::put_u64(&mut h, 16, n);
        le::put_u64(&mut h, 24, self.db_id);
        le::put_u64(&mut h, 32, self.size);
        let c = crc32c(&h[..60]);
        le::put_u32(&mut h, 60, c);
        h
    }

    /// Makes segment `n`: from the file of the no longer needed segment `reuse`, or new.
    ///
    /// # Errors
    /// The system's. Where it was short of something, the same may be called again.
    pub fn create(&self, n: u64, reuse: Option<u64>) -> io::Result<()> {
        let path = self.dir.join(name(n));
        if *self.named() == Some(n) {
            return self.sync_name(n, &path);
        }
        if let Some(old) = reuse
            && !self.is_whole(old)
        {
            self.remove(old)?;
        }
        if let Some(old) = reuse
            && let Some(file) = self.file_of(old)?
            && self.remove_entry(old)
        {
            if let Err(e) = self.take_over(&*file, old, n) {
                // Nobody needs what it held.
                self.write_lock().insert(old, Some(file));
                return Err(e);
            }
            drop(file);
            *self.named() = Some(n);
            return self.sync_name(n, &path);
        }
        let tmp = self.dir.join(format!("{n:012}.tmp"));
        let made = self.create_zeroed(&tmp, n);
        if made.is_err() {
            // Give the room back: a half-made segment must not keep a full disk full.
            let _ = self.disk.remove_file(&tmp);
        }
        made?;
        self.disk.rename(&tmp, &path)?;
        *self.named() = Some(n);
        self.sync_name(n, &path)
    }

    /// Makes the file of a segment that nobody needs another one's.
    fn take_over(&self, file: &dyn File, old: u64, n: u64) -> io::Result<()> {
        // The new header first: if the rename is lost, the old name holds a file that says it is another segment.
        file.write_now(&self.header(n), 0)?;
        file.sync_now()?;
        let path = self.dir.join(name(n));
        self.disk.rename(&self.dir.join(name(old)), &path)
    }

    /// Makes the name of segment `n` durable; from then on there is the segment.
    fn sync_name(&self, n: u64, path: &Path) -> io::Result<()> {
        let file = self.disk.open(path, self.mode, false)?;
        if !base::mutant!("reused-segment-folder-not-synced") {
            self.disk.sync_dir(&self.dir)?;
        }
        *self.named() = None;
        self.write_lock().insert(n, Some(file));
        Ok(())
    }

    fn named(&self) -> MutexGuard<'_, Option<u64>> {
        self.named.lock()
    }

    /// A file that is too short (somebody has cut it) would have to grow while the log is written.
    fn is_whole(&self, n: u64) -> bool {
        // One that cannot be opened now is not thrown away for it.
        let Ok(file) = self.file_of(n) else {
            return true;
        };
        file.is_some_and(|f| f.len().is_ok_and(|len| len >= SEGMENT_HEADER + self.size))
    }

    fn create_zeroed(&self, tmp: &Path, n: u64) -> io::Result<()> {
        let file = self.disk.open(tmp, OpenMode::Buffered, true)?;
        // A full disk says so at once, and not after most of the zeros.
        file.allocate(SEGMENT_HEADER + self.size)?;
        file.write_now(&self.header(n), 0)?;
        let zeros = AlignedBuf::zeroed(1 << 20);
        let mut at = 0;
        while at < self.size {
            let n = zeros.len().min((self.size - at) as usize);
            file.write_now(&zeros[..n], SEGMENT_HEADER + at)?;
            at += n as u64;
            if at.is_multiple_of(ZEROS_AT_ONCE) {
                file.sync_now()?;
            }
        }
        file.sync_now()
    }

    /// Removes segment `n`'s file.
    ///
    /// # Errors
    /// What the system answers.
    pub fn remove(&self, n: u64) -> io::Result<()> {
        if self.remove_entry(n) {
            self.disk.remove_file(&self.dir.join(name(n)))?;
        }
        Ok(())
    }

    /// From now on there is no such segment; false: there was none.
    fn remove_entry(&self, n: u64) -> bool {
        let mut read = self.read.lock();
        read.retain(|(m, _)| *m != n);
        self.write_lock().remove(&n).is_some()
    }

    fn read_lock(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Option<Arc<dyn File>>>> {
        self.files.read()
    }

    fn write_lock(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Option<Arc<dyn File>>>> {
        self.files.write()
    }
}
