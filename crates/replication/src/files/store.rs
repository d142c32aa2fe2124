//! The files on the disk: appended to, synced from time to time, cut after a crash.
//!
//! What is behind the last durable [`State`] may be lost or half there after a crash: it is cut off, and the same groups make the same bytes.
//! What others than groups have brought about (FLUSH, other settings, a purge) is durable before anything behind it is shown. A file that is
//! full is no such thing: the same groups fill it again, so the next one is begun without a sync.
//!
//! Each step that fails can be tried again: nothing is forgotten before it was written.
//!
//! What it never does: write in front of what a durable state says is there, but for the flag of a file in use.

use super::names::Names;
use super::read::{Head, read_head};
use crate::derive::{self, FLAGS_AT, Made, Making, Measure, Settings, State, state::Phase};
use base::Lsn;
use base::environment::{Disk, File, OpenMode, shortage};
use std::io;
use std::path::Path;
use std::sync::Arc;
use types::gtid::GtidSet;
use wire::binlog::header::flag;

/// A file of the binary log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogFile {
    /// Its number.
    pub number: u32,
    /// Its bytes, as far as they may be shown.
    pub size: u64,
}

/// The files.
pub struct Store {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) names: Names,
    /// All of them, the last one being written.
    pub(super) list: Vec<LogFile>,
    pub(super) file: Arc<dyn File>,
    /// Behind all that was put in.
    pub(super) state: State,
    /// What was put in and is not written.
    pub(super) pending: Vec<u8>,
    /// Where that begins: what is before is in the file.
    pub(super) written: u64,
    /// Bytes of the file that are durable, with the state behind them.
    pub(super) durable: u64,
    /// Files before it of which something is not durable, and how many bytes they have that are not.
    pub(super) ended: Vec<Arc<dyn File>>,
    pub(super) ended_bytes: u64,
    /// Bytes of the index; what was appended to it is durable when [`ended`](Self::ended) is empty.
    pub(super) index_len: u64,
    /// What the first file says was before it.
    before_first: GtidSet,
    began: bool,
}

pub(super) fn damaged(what: &Path, why: &str) -> io::Error {
    let text = format!("{}: {why}", what.display());
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn no_group() -> io::Error {
    damaged(Path::new("log"), "a transaction's events are damaged")
}

/// All of a small file; `None` where there is none.
fn read_all(disk: &dyn Disk, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match disk.open(path, OpenMode::Buffered, false) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut bytes = vec![0; file.len()? as usize];
    let n = file.read_now(&mut bytes, 0)?;
    bytes.truncate(n);
    Ok(Some(bytes))
}

/// Puts a small file in the place of the one before: after a crash it is either of them.
pub(super) fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension(match path.extension().and_then(|e| e.to_str()) {
        Some(e) => format!("{e}.new"),
        None => "beside".to_owned(),
    });
    let file = disk.open(&beside, OpenMode::Buffered, true)?;
    file.truncate(0)?;
    file.write_now(bytes, 0)?;
    file.sync_now()?;
    drop(file);
    disk.rename(&beside, path)?;
    disk.sync_dir(path.parent().unwrap_or(Path::new(".")))
}

fn remove_if_there(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    match disk.remove_file(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        r => r,
    }
}

impl Store {
    /// Opens the files, or makes the first. Where there are none, the log is read from `log` on; likewise where the log has nothing any more of
    /// where they end, which is so after a time without a binary log. `now`, in seconds since 1970, is told replicas as the start of the server.
    ///
    /// # Errors
    /// What the disk answers; `InvalidData`: what was durable is damaged, and nobody can go on from it.
    pub fn open(
        disk: Arc<dyn Disk>,
        names: Names,
        settings: Settings,
        log: std::ops::RangeInclusive<Lsn>,
        now: u32,
    ) -> io::Result<Store> {
        disk.create_dir_all(names.dir())?;
        let index = read_all(&*disk, names.index())?.unwrap_or_default();
        let mut numbers = names.read_index(&String::from_utf8_lossy(&index));
        let state = match read_all(&*disk, &names.state())? {
            Some(bytes) => State::decode(&bytes)
                .map_err(|_| damaged(&names.state(), "it is damaged, or of another version"))?,
            None => {
                let mut state = State::new(settings.clone(), *log.end());
                // Files without a state are not ours to go on with, but they may be of an earlier life: no name is given twice.
                state.file = numbers.last().copied().unwrap_or(0);
                replace(&*disk, &names.state(), &state.encode())?;
                state
            }
        };
        let gone = |n: &u32| match state.phase {
            Phase::Reset => true,
            _ => *n < state.first || *n > state.file,
        };
        for number in numbers.iter().copied().filter(gone) {
            remove_if_there(&*disk, &names.path(number))?;
        }
        numbers.retain(|n| !gone(n));
        if state.phase == Phase::Open && numbers.last() != Some(&state.file) {
            numbers.push(state.file);
        }
        let mut list = Vec::new();
        for number in numbers {
            let size = match disk.open(&names.path(number), OpenMode::Buffered, false) {
                Ok(file) => file.len()?,
                Err(e) if e.kind() == io::ErrorKind::NotFound && number != state.file => continue,
                Err(e) => return Err(e),
            };
            list.push(LogFile { number, size });
        }
        let (current, create) = match state.phase {
            Phase::Open => (state.file, false),
            Phase::Stopped | Phase::Reset => (state.file + 1, true),
        };
        let path = names.path(current);
        let file = disk.open(&path, OpenMode::Buffered, create)?;
        let mut store = Store {
            durable: state.position,
            written: state.position,
            ended: Vec::new(),
            ended_bytes: 0,
            index_len: 0,
            file,
            disk,
            names,
            list,
            state,
            pending: Vec::new(),
            before_first: GtidSet::new(),
            began: false,
        };
        match store.state.phase {
            Phase::Open => {
                store.cut(&path)?;
                if store.state.resume < *log.start() {
                    // What was between is in no file, and in no log.
                    store.skip_to(*log.end(), now)?;
                }
            }
            Phase::Stopped | Phase::Reset => {
                if store.state.resume < *log.start() {
                    (store.state.resume, store.state.done) = (*log.end(), *log.end());
                }
                // Nothing was made under the settings of before that is not durable.
                store.state.settings = settings;
                store.next_file(now)?;
                store.began = true;
            }
        }
        let numbers: Vec<u32> = store.list.iter().map(|f| f.number).collect();
        store.write_index(&numbers)?;
        store.read_first()?;
        Ok(store)
    }

    /// Cuts off what is behind the durable state.
    fn cut(&mut self, path: &Path) -> io::Result<()> {
        let len = self.file.len()?;
        if len < self.state.position {
            return Err(damaged(path, "it is shorter than it was"));
        }
        self.file.truncate(self.state.position)?;
        self.file.write_now(&[flag::IN_USE as u8], FLAGS_AT)?;
        self.show();
        Ok(())
    }

    fn skip_to(&mut self, log: Lsn, now: u32) -> io::Result<()> {
        (self.state.resume, self.state.done) = (log, log);
        self.rotate(now)
    }

    /// Where the log is to be read from.
    pub fn resume(&self) -> Lsn {
        self.state.resume
    }

    /// What was committed up to here was put in.
    pub fn done(&self) -> Lsn {
        self.state.done
    }

    /// The state behind all that was put in.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// All files.
    pub fn list(&self) -> &[LogFile] {
        &self.list
    }

    /// What they are called.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Transactions that are in no file any more.
    pub fn purged(&self) -> GtidSet {
        let mut set = self.before_first.clone();
        set.add_set(&self.state.purged);
        set
    }

    /// Bytes that a crash would take.
    pub fn unsynced(&self) -> u64 {
        self.ended_bytes + self.state.position - self.durable
    }

    /// Files that have ended, and that a crash would take something of.
    pub fn unsynced_files(&self) -> usize {
        self.ended.len()
    }

    /// Bytes that were put in and not written.
    pub fn unwritten(&self) -> usize {
        self.pending.len()
    }

    /// The file has as many bytes as it should.
    pub fn is_full(&self) -> bool {
        self.state.position >= self.state.settings.max_size
    }

    /// The files were left in good order, and the next was begun at the start.
    pub fn began(&self) -> bool {
        self.began
    }

    /// The log is to be read from here on, as nothing before it is missing.
    pub fn go_on_from(&mut self, resume: Lsn) {
        self.state.resume = self.state.resume.max(resume);
    }

    /// The number of the first file that has something since `seconds`: of each file that was ended, the next one's beginning says when. It
    /// is asked at each new file, so it looks at the oldest ones only.
    ///
    /// # Errors
    /// What the disk answers; `InvalidData`: a file is damaged.
    pub fn first_since(&self, seconds: u32) -> io::Result<u32> {
        for pair in self.list.windows(2) {
            let path = self.names.path(pair[1].number);
            let file = self.disk.open(&path, OpenMode::Buffered, false)?;
            if read_head(&*file)?.began >= seconds {
                return Ok(pair[0].number);
            }
        }
        Ok(self.state.file)
    }

    /// Puts a group in that was committed at `lsn`; the log is then read from `resume` on. `None`: it was there.
    ///
    /// # Errors
    /// `InvalidData`: it is no group.
    pub fn put(
        &mut self,
        group: &[u8],
        txid: u64,
        lsn: Lsn,
        resume: Lsn,
    ) -> io::Result<Option<Made>> {
        if self.passes(lsn, resume) {
            return Ok(None);
        }
        let made = derive::put_group(&mut self.state, group, txid, &mut self.pending)
            .map_err(|_| no_group())?;
        (self.state.done, self.state.resume) = (lsn, resume);
        Ok(Some(made))
    }

    /// Whether what was committed at `lsn` is there; the log is then read from `resume` on.
    pub fn passes(&mut self, lsn: Lsn, resume: Lsn) -> bool {
        let there = lsn <= self.state.done && !base::mutant!("gtid-given-twice-after-a-crash");
        if there {
            self.state.resume = self.state.resume.max(resume);
        }
        there
    }

    /// Begins a group that comes in parts, and of which nothing is there. Until it is [ended](Self::end_parts) nothing else may be done with
    /// the files but [writing](Self::write).
    ///
    /// # Errors
    /// `InvalidData`: it is no group.
    pub fn begin_parts(&mut self, measure: Measure, txid: u64) -> io::Result<Making> {
        let measured = measure.finish().map_err(|_| no_group())?;
        let state = &mut self.state;
        Ok(Making::begin(state, &measured, txid, &mut self.pending))
    }

    /// Puts in a part.
    ///
    /// # Errors
    /// `InvalidData`: it is no group.
    pub fn put_part(&mut self, making: &mut Making, part: &[u8]) -> io::Result<()> {
        making.add(part, &mut self.pending).map_err(|_| no_group())
    }

    /// All parts are in of what was committed at `lsn`; the log is then read from `resume` on.
    ///
    /// # Errors
    /// `InvalidData`: it is no group.
    pub fn end_parts(&mut self, making: Making, lsn: Lsn, resume: Lsn) -> io::Result<Made> {
        let made = making
            .finish(&mut self.state, &mut self.pending)
            .map_err(|_| no_group())?;
        assert_eq!(
            self.written + self.pending.len() as u64,
            self.state.position,
            "a transaction's events stand where the state says"
        );
        (self.state.done, self.state.resume) = (lsn, resume);
        Ok(made)
    }

    /// Writes what was put in.
    ///
    /// # Errors
    /// What the disk answers. It can be tried again.
    pub fn write(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            self.file.write_now(&self.pending, self.written)?;
            self.written += self.pending.len() as u64;
            self.pending.clear();
            self.pending.shrink_to(1 << 20);
        }
        Ok(())
    }

    /// Writes what was put in, and shows it.
    ///
    /// # Errors
    /// What the disk answers. It can be tried again.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write()?;
        self.show();
        Ok(())
    }

    pub(super) fn show(&mut self) {
        if let Some(last) = self.list.last_mut() {
            last.size = self.state.position;
        }
    }

    /// Makes all that was put in durable, so that the log is needed from [`resume`](Self::resume) on only.
    ///
    /// # Errors
    /// What the disk answers; that of a sync is final.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file
            .sync_now()
            .map_err(base::environment::lost_by_sync)?;
        self.sync_ended()?;
        self.write_state(&self.state)?;
        self.durable = self.state.position;
        Ok(())
    }

    pub(super) fn write_state(&self, state: &State) -> io::Result<()> {
        replace(&*self.disk, &self.names.state(), &state.encode())
    }

    /// From here on other settings are in force. A file has one kind of checksum: where that changes, the next file is begun.
    ///
    /// # Errors
    /// What the disk answers. It can be tried again.
    pub fn set(&mut self, settings: Settings) -> io::Result<()> {
        if settings == self.state.settings {
            return Ok(());
        }
        self.flush()?;
        if settings.checksum != self.state.settings.checksum {
            let mut ended = self.state.clone();
            let mut out = Vec::new();
            derive::put_rotate(&mut ended, &self.names.name(self.state.file + 1), &mut out);
            self.file.write_now(&out, self.state.position)?;
            self.close_file()?;
            ended.settings = settings;
            return self.begin_next(ended, 0);
        }
        let before = std::mem::replace(&mut self.state.settings, settings);
        let r = self.sync();
        if r.is_err() {
            self.state.settings = before;
        }
        r
    }

    /// Says of transactions that they were done elsewhere, and are in no file here.
    ///
    /// # Errors
    /// What the disk answers. It can be tried again.
    pub fn add_purged(&mut self, set: &GtidSet) -> io::Result<()> {
        self.state.executed.add_set(set);
        self.state.purged.add_set(set);
        self.sync()
    }

    /// Removes the files before this one.
    ///
    /// # Errors
    /// What the disk answers. It can be tried again.
    pub fn purge(&mut self, first: u32) -> io::Result<()> {
        let first = first.min(self.state.file);
        if self.list.iter().all(|f| f.number >= first) {
            return Ok(());
        }
        self.flush()?;
        self.state.first = first;
        self.sync()?;
        for f in self.list.iter().filter(|f| f.number < first) {
            remove_if_there(&*self.disk, &self.names.path(f.number))?;
        }
        self.disk.sync_dir(self.names.dir())?;
        let kept = self.list.iter().map(|f| f.number).filter(|n| *n >= first);
        self.write_index(&kept.collect::<Vec<_>>())?;
        self.list.retain(|f| f.number >= first);
        self.read_first()
    }

    /// As [`purge`](Self::purge), without room for a state that says so: the next one that is written does. Until then a crash leaves files that
    /// the index names and that are not there, and the next start passes over those. So they go one behind the other.
    ///
    /// # Errors
    /// What the disk answers. What was removed is.
    pub fn make_room(&mut self, first: u32) -> io::Result<()> {
        let first = first.min(self.state.file);
        // A file that is open here keeps its room.
        self.sync_ended()?;
        while let Some(f) = self.list.first().copied()
            && f.number < first
        {
            remove_if_there(&*self.disk, &self.names.path(f.number))?;
            self.disk.sync_dir(self.names.dir())?;
            self.list.remove(0);
            self.state.first = self.list.first().map_or(first, |f| f.number);
        }
        let numbers: Vec<u32> = self.list.iter().map(|f| f.number).collect();
        match self.write_index(&numbers) {
            // The next start writes it.
            Err(e) if shortage(&e).is_some() => {}
            r => r?,
        }
        self.read_first()
    }

    /// The file that is written is where it was.
    pub fn is_there(&self) -> bool {
        self.disk.exists(&self.names.path(self.state.file))
    }

    /// Says that [`reset`](Self::reset) is to come: from here on a start does it.
    ///
    /// # Errors
    /// What the disk answers. Nothing has changed then.
    pub fn begin_reset(&mut self, first: u32) -> io::Result<()> {
        self.flush()?;
        self.write_state(&self.reset_state(first))
    }

    fn reset_state(&self, first: u32) -> State {
        let mut state = State::new(self.state.settings.clone(), self.state.resume);
        state.done = self.state.done;
        state.seconds = self.state.seconds;
        state.phase = Phase::Reset;
        state.file = first - 1;
        state
    }

    /// Removes all files, and begins again with `first`, from 1 on: nothing was ever done. What was put in is forgotten.
    ///
    /// # Errors
    /// What the disk answers. It can be tried again.
    pub fn reset(&mut self, first: u32) -> io::Result<()> {
        self.begin_reset(first)?;
        let state = self.reset_state(first);
        for f in &self.list {
            remove_if_there(&*self.disk, &self.names.path(f.number))?;
        }
        self.write_index(&[])?;
        self.list.clear();
        (self.ended_bytes, self.ended) = (0, Vec::new());
        self.begin_next(state, 0)?;
        self.read_first()
    }

    /// Reads what the first file says was before it.
    fn read_first(&mut self) -> io::Result<()> {
        let Some(first) = self.list.first() else {
            return Ok(());
        };
        let path = self.names.path(first.number);
        let file = self.disk.open(&path, OpenMode::Buffered, false)?;
        let Head { previous, .. } =
            read_head(&*file).map_err(|e| damaged(&path, &e.to_string()))?;
        self.before_first = previous;
        Ok(())
    }
}
