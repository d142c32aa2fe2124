//! Entries of an index that are more than memory is given for: sorted runs in a file beside the tables, merged into one order
//! (Knuth, The Art of Computer Programming 3, 5.4.1).
//!
//! The file lives as long as its [`Runs`]; what a crash leaves of one is removed at the next start. Nothing of it is synced.

use super::entries::{Entries, Sample};
use super::leaf_rows::KeyRange;
use base::environment::{Disk, File, OpenMode};
use std::cmp::Ordering;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Ending of the files' names.
pub(crate) const EXTENSION: &str = "sort";
/// Bytes written at once, and the most that are read of a run at once.
const CHUNK: usize = 256 << 10;
/// The least that are read of a run at once, but for where memory is very small.
const CHUNK_MIN: usize = 8 << 10;
/// Bytes of a run between two of its entries that are noted.
const STRIDE: u64 = 16 << 10;
/// Bytes of merged entries that are looked at ahead: more than any leaf takes.
const WINDOW: usize = 8 * pager::PAGE_SIZE;

/// Sorted runs in a file.
pub(super) struct Runs {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Arc<dyn File>,
    runs: Vec<Run>,
}

/// A sorted run: where it begins and ends, and where some of its entries are.
struct Run {
    start: u64,
    end: u64,
    noted: Vec<(Sample, u64)>,
}

impl Drop for Runs {
    fn drop(&mut self) {
        // If it fails the next start does it.
        let _ = self.disk.remove_file(&self.path);
    }
}

impl Runs {
    /// An empty file of that name.
    pub(super) fn create(disk: &Arc<dyn Disk>, path: &Path) -> io::Result<Runs> {
        Ok(Runs {
            disk: disk.clone(),
            path: path.to_path_buf(),
            file: disk.open(path, OpenMode::Buffered, true)?,
            runs: Vec::new(),
        })
    }

    /// Writes sorted entries as another run.
    pub(super) fn append(&mut self, entries: &Entries) -> io::Result<()> {
        let start = self.runs.last().map_or(0, |r| r.end);
        let mut at = start;
        let mut noted = Vec::new();
        let mut next = start;
        let mut chunk = Vec::with_capacity(CHUNK + pager::PAGE_SIZE);
        for n in 0..entries.len() {
            let raw = entries.raw(n);
            let here = at + chunk.len() as u64;
            if here >= next {
                noted.push((Sample::of(raw), here));
                next = here + STRIDE;
            }
            chunk.extend_from_slice(raw);
            if chunk.len() >= CHUNK {
                self.file.write_now(&chunk, at)?;
                at += chunk.len() as u64;
                chunk.clear();
            }
        }
        self.file.write_now(&chunk, at)?;
        let end = at + chunk.len() as u64;
        self.runs.push(Run { start, end, noted });
        Ok(())
    }

    /// Keys of its entries, at about even distances.
    pub(super) fn samples(&self) -> impl Iterator<Item = Sample> + '_ {
        // Each run begins with about the same.
        let noted = self.runs.iter().flat_map(|r| r.noted.iter().skip(1));
        noted.map(|(s, _)| s.clone())
    }
}

/// A run being read, at one of its entries.
struct Reader {
    file: Arc<dyn File>,
    at: u64,
    end: u64,
    buf: Vec<u8>,
    /// Bytes read at once.
    chunk: usize,
    /// The entry, as it was written.
    entry: Range<usize>,
    head: u64,
    range: KeyRange,
}

impl Reader {
    /// Goes to the next entry of the range; there is none behind the last.
    fn advance(&mut self) -> io::Result<bool> {
        while self.read()? {
            let key = Entries::raw_key(&self.buf[self.entry.clone()]);
            if key >= &self.range.from[..] {
                self.head = Entries::head_of(key);
                return Ok(!self.range.is_before(key));
            }
        }
        Ok(false)
    }

    /// Goes to the next entry.
    fn read(&mut self) -> io::Result<bool> {
        let mut from = self.entry.end;
        loop {
            let rest = &self.buf[from..];
            if let Some(n) = Entries::raw_len(rest).filter(|n| *n <= rest.len()) {
                self.entry = from..from + n;
                return Ok(true);
            }
            let left = (self.end - self.at) as usize;
            if left == 0 {
                return match rest.is_empty() {
                    true => Ok(false),
                    false => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                };
            }
            self.buf.drain(..from);
            from = 0;
            self.entry = 0..0;
            let old = self.buf.len();
            let more = left.min(self.chunk);
            self.buf.reserve_exact(more);
            self.buf.resize(old + more, 0);
            let n = self.file.read_now(&mut self.buf[old..], self.at)?;
            self.buf.truncate(old + n);
            if n == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            self.at += n as u64;
        }
    }

    fn raw(&self) -> &[u8] {
        &self.buf[self.entry.clone()]
    }

    fn cmp(&self, other: &Reader) -> Ordering {
        let heads = self.head.cmp(&other.head);
        heads.then_with(|| Entries::raw_key(self.raw()).cmp(Entries::raw_key(other.raw())))
    }
}

/// Runs in one order.
pub(super) struct Merge {
    readers: Vec<Reader>,
    /// How many of them have begun.
    begun: usize,
    /// Those that are not at their end, by number, the one with the first entry last.
    order: Vec<usize>,
    /// Entries that come next.
    window: Entries,
    /// The first of them that is not used yet.
    first: usize,
    last: Vec<u8>,
    repeated: Option<Vec<u8>>,
}

fn chunk_min(bytes_max: usize) -> usize {
    (bytes_max / 64).clamp(512, CHUNK_MIN)
}

/// How many merges at once, at most `wanted`, have room for what they read of the runs in about so many bytes: one always does.
pub(super) fn merges_at_once(files: &[Runs], wanted: usize, bytes_max: usize) -> usize {
    let runs: usize = files.iter().map(|f| f.runs.len()).sum();
    (bytes_max / chunk_min(bytes_max) / runs.max(1)).clamp(1, wanted.max(1))
}

impl Merge {
    /// Those entries of all files that are in the range, as one run, once all has [begun](Merge::begin_next). The files have to stay.
    /// Of all runs together about so many bytes are kept in memory; where they are very many it is 8 KiB of each.
    pub(super) fn of(files: &[Runs], range: &KeyRange, bytes_max: usize) -> Merge {
        let mut readers = Vec::new();
        for (file, run) in files
            .iter()
            .flat_map(|f| f.runs.iter().map(|r| (&f.file, r)))
        {
            let before = run
                .noted
                .partition_point(|(s, _)| s.key() < &range.from[..]);
            if before > 0 && base::mutant!("a-run-read-from-behind-the-cut") {
                continue;
            }
            let within = run
                .noted
                .partition_point(|(s, _)| !range.is_before(s.key()));
            let at = before.checked_sub(1).map_or(run.start, |n| run.noted[n].1);
            let end = run.noted.get(within).map_or(run.end, |(_, at)| *at);
            if at < end {
                readers.push(Reader {
                    file: file.clone(),
                    at,
                    end,
                    buf: Vec::new(),
                    chunk: 0,
                    entry: 0..0,
                    head: 0,
                    range: range.clone(),
                });
            }
        }
        let chunk = (bytes_max / readers.len().max(1)).clamp(chunk_min(bytes_max), CHUNK);
        readers.iter_mut().for_each(|r| r.chunk = chunk);
        Merge {
            order: Vec::with_capacity(readers.len()),
            readers,
            begun: 0,
            window: Entries::default(),
            first: 0,
            last: Vec::new(),
            repeated: None,
        }
    }

    /// Reads the beginning of another run, or, with all of them begun, what comes first of all; `false` then.
    pub(super) fn begin_next(&mut self) -> io::Result<bool> {
        let more = self.begun < self.readers.len();
        if more {
            self.begun += 1;
            self.advance(self.begun - 1)?;
        } else {
            self.fill()?;
        }
        Ok(more)
    }

    /// Goes on in a run that is not in the order now, and puts it where it belongs.
    fn advance(&mut self, run: usize) -> io::Result<()> {
        if self.readers[run].advance()? {
            let of = &self.readers[run];
            let behind = |other: &usize| self.readers[*other].cmp(of).then(other.cmp(&run)).is_gt();
            let at = self.order.partition_point(behind);
            self.order.insert(at, run);
        }
        Ok(())
    }

    /// Sees that so many entries are ahead that a leaf can be filled.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        let ahead = self.window.len() - self.first;
        let enough = self.window.bytes() / self.window.len().max(1) * ahead >= WINDOW / 2;
        if enough || self.order.is_empty() {
            return Ok(());
        }
        let mut window = Entries::default();
        for n in self.first..self.window.len() {
            window.push_raw(self.window.raw(n));
        }
        while window.bytes() < WINDOW
            && let Some(run) = self.order.pop()
        {
            let entry = self.readers[run].raw();
            if !self.last.is_empty() && self.repeated.is_none() {
                self.repeated = Entries::raw_repeated(&self.last, entry).map(<[u8]>::to_vec);
            }
            window.push_raw(entry);
            self.last.clear();
            self.last.extend_from_slice(entry);
            self.advance(run)?;
        }
        self.window = window;
        self.first = 0;
        Ok(())
    }

    /// The `n`th entry from here, if it is near.
    pub(super) fn get(&self, n: usize) -> Option<(&[u8], &[u8])> {
        self.window.get(self.first + n)
    }

    /// The next `n` entries are used.
    pub(super) fn consume(&mut self, n: usize) {
        self.first += n;
    }

    /// The clustered key of a row that has the values of the one behind it, among the entries so far, where that may not be.
    pub(super) fn repeated(&self) -> Option<&[u8]> {
        self.repeated.as_deref()
    }
}

/// Removes what builds that were cut short have left in a folder.
pub(crate) fn remove_left(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    for (name, is_dir) in disk.read_dir(dir)? {
        let path = dir.join(name);
        if !is_dir && path.extension().is_some_and(|e| e == EXTENSION) {
            disk.remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::entries::cuts_of;
    use super::*;
    use base::mem::MemDisk;

    fn begun(files: &[Runs], range: &KeyRange) -> Merge {
        let mut merge = Merge::of(files, range, 1 << 20);
        while merge.begin_next().expect("a read") {}
        merge
    }

    #[test]
    fn many_runs_take_the_memory_of_few() {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::default());
        let mut runs = Runs::create(&disk, Path::new("/y.sort")).expect("a file");
        for run in 0..100u64 {
            let mut entries = Entries::default();
            for i in 0..2000 {
                entries.push(format!("{:012}", i * 100 + run).as_bytes(), 12, false);
            }
            entries.sort();
            runs.append(&entries).expect("a write");
        }
        let files = [runs];
        assert_eq!(merges_at_once(&files, 16, 64 << 20), 16);
        assert_eq!(merges_at_once(&files, 16, 2 << 20), 2);
        assert_eq!(merges_at_once(&files, 16, 0), 1);
        let mut merge = begun(&files, &KeyRange::default());
        let mut entries = 0;
        while merge.get(0).is_some() {
            merge.consume(1);
            merge.fill().expect("a read");
            entries += 1;
            if entries % 1000 == 0 {
                let kept: usize = merge.readers.iter().map(|r| r.buf.capacity()).sum();
                // Rests of entries in front of what is read, too.
                assert!(kept <= (1 << 20) + 100 * 100, "{kept} bytes");
            }
        }
        assert_eq!(entries, 200_000);
        // Of a small range little is read.
        let cut = |n: u64| format!("{n:012}").into_bytes();
        let range = KeyRange {
            from: cut(100_000),
            to: Some(cut(100_100)),
        };
        let merge = begun(&files, &range);
        let read: u64 = merge.readers.iter().map(|r| r.buf.len() as u64).sum();
        assert!(read <= 100 * (2 * STRIDE + 100), "{read} bytes read");
    }

    #[test]
    fn runs_are_merged_and_repetitions_between_them_found() {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::default());
        let path = Path::new("/x.sort");
        let mut runs = Runs::create(&disk, path).expect("a file");
        let key = |i: u64| format!("{:08}", i.wrapping_mul(2_654_435_761) % 100_000_007);
        let mut all = Vec::new();
        for run in 0..7u64 {
            let mut entries = Entries::default();
            for i in run * 5000..(run + 1) * 5000 {
                let k = key(i) + &"x".repeat(i as usize % 60);
                entries.push(k.as_bytes(), k.len(), false);
                all.push(k);
            }
            entries.sort();
            runs.append(&entries).expect("a write");
        }
        all.sort();
        let files = [runs];
        let mut merge = begun(&files, &KeyRange::default());
        let mut got = Vec::new();
        while let Some((k, _)) = merge.get(0) {
            got.push(String::from_utf8_lossy(k).into_owned());
            let more = got.len() % 3;
            merge.consume(1);
            for _ in 0..more {
                if let Some((k, _)) = merge.get(0) {
                    got.push(String::from_utf8_lossy(k).into_owned());
                    merge.consume(1);
                }
            }
            merge.fill().expect("a read");
        }
        assert_eq!(got, all);
        assert_eq!(merge.repeated(), None);

        // In parts, cut anywhere.
        let samples = files[0].samples().collect();
        let mut cuts = cuts_of(samples, false, 4);
        assert_eq!(cuts.len(), 3);
        cuts.insert(0, b"00000001".to_vec());
        let mut parts = Vec::new();
        for range in KeyRange::between(cuts) {
            let mut merge = begun(&files, &range);
            let from = parts.len();
            while let Some((k, _)) = merge.get(0) {
                parts.push(String::from_utf8_lossy(k).into_owned());
                merge.consume(1);
                merge.fill().expect("a read");
            }
            assert!(from == 0 || parts.len() - from > all.len() / 10);
        }
        assert_eq!(parts, all);
        drop(files);
        assert!(!disk.exists(path), "the file goes with its runs");

        let mut runs = Runs::create(&disk, path).expect("a file");
        for clustered in ["1", "2"] {
            let mut entries = Entries::default();
            for value in ["a", "b", "c"] {
                if value == "b" || clustered == "1" {
                    entries.push(format!("{value}{clustered}").as_bytes(), 1, false);
                }
            }
            entries.sort();
            runs.append(&entries).expect("a write");
        }
        let merge = begun(&[runs], &KeyRange::default());
        assert_eq!(merge.repeated(), Some(&b"1"[..]));
    }
}
