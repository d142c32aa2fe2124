//! Files of the binary log are copied into the archive, a step at a time.
//!
//! A file that the archive does not have is written beside (`NAME.new`), synced, and renamed; from then on what has come is appended to it and
//! synced. What the archive has of a file must be how the server's own begins: it is read once, when it is gone on with, and what is different
//! is never written over. Bytes that are zero where they should be others are what a power cut has left of a write that was not synced.
//!
//! The flag of a file in use is never set in the archive: it is the one byte of a file that changes.
//!
//! Each step that fails can be tried again. What it never does: change a byte of the archive that was synced, or count a file as whole before
//! all of it is durable.

use super::marker::{MARKER, Marker, make};
use crate::derive::FLAGS_AT;
use crate::files::names::{LAST_NUMBER, Names};
use crate::files::store::LogFile;
use base::environment::{Disk, File, OpenMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are read and written at a time.
const CHUNK: u64 = 1 << 20;
/// Bytes that are synced at a time.
const STEP: u64 = 16 << 20;
/// So many files may be whole before the archive says so of them: where many small ones follow each other, each would cost several syncs more.
const FILES: u32 = 64;

/// Why a step was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It may be possible later.
    Passing(String),
    /// It will not be: the archive is another's, or has another history.
    Final(String),
}

/// How far the archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its last file, and the bytes of it that are durable there.
    pub file: u32,
    /// See `file`.
    pub position: u64,
    /// There is more to be done at once.
    pub more: bool,
}

/// Where a file of the archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// Under the name that it has until it is whole for the first time.
    Unfinished,
    /// Under its own name, which a crash may take.
    Renamed,
    /// Under its own name.
    Named,
}

/// The file that is being brought up to date.
#[derive(Debug, Clone, Copy)]
struct Current {
    number: u32,
    /// So many bytes are durable, and those of the server's file.
    synced: u64,
    entry: Entry,
}

struct Opened {
    marker: Marker,
    /// What was to be written last, which may have become durable or not.
    attempted: Option<Marker>,
    _lock: Option<Box<dyn Send + Sync>>,
}

/// See the module.
pub struct Copier {
    disk: Arc<dyn Disk>,
    names: Names,
    base: String,
    dir: PathBuf,
    uuid: String,
    opened: Option<Opened>,
    /// All files up to this one are whole, but for their names, which [`put_marker`](Self::put_marker) makes durable before it says so.
    through: u32,
    current: Option<Current>,
}

fn passing(path: &Path) -> impl Fn(io::Error) -> Trouble + '_ {
    move |e| Trouble::Passing(format!("{}: {e}", path.display()))
}

/// Reads a part of the server's file, as the archive has it.
fn read_own(file: &dyn File, at: u64, bytes: &mut [u8]) -> io::Result<()> {
    if file.read_now(bytes, at)? < bytes.len() {
        let why = "it is shorter than it was";
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
    }
    if (at..at + bytes.len() as u64).contains(&FLAGS_AT) {
        bytes[(FLAGS_AT - at) as usize] = 0;
    }
    Ok(())
}

impl Copier {
    /// Of these files into this folder.
    pub fn new(disk: Arc<dyn Disk>, names: Names, dir: PathBuf, uuid: String) -> Copier {
        let base = names.basename();
        let base = base.file_name().unwrap_or_default();
        Copier {
            base: base.to_string_lossy().into_owned(),
            disk,
            names,
            dir,
            uuid,
            opened: None,
            through: 0,
            current: None,
        }
    }

    /// The first file of these that is not whole in the archive; 0: it is not known which are.
    pub fn lacks(&self, files: &[LogFile]) -> u32 {
        let first = files.first().map_or(0, |f| f.number);
        let opened = self.opened.as_ref();
        opened.map_or(0, |o| first.max(o.marker.through.saturating_add(1)))
    }

    /// Whose the archive is.
    fn check(&self, marker: &Marker) -> Result<(), Trouble> {
        let dir = self.dir.display();
        if marker.uuid != self.uuid {
            return Err(Trouble::Final(format!(
                "{dir} is the archive of the server {}, and this is {}",
                marker.uuid, self.uuid
            )));
        }
        if marker.base != self.base {
            return Err(Trouble::Final(format!(
                "{dir} is the archive of files called {}, and here they are called {}",
                marker.base, self.base
            )));
        }
        Ok(())
    }

    fn marker(&self) -> Result<Option<Marker>, Trouble> {
        let read = Marker::read(&*self.disk, &self.dir);
        read.map_err(|e| match e.kind() {
            io::ErrorKind::InvalidData => Trouble::Final(e.to_string()),
            _ => passing(&self.dir.join(MARKER))(e),
        })
    }

    fn open(&mut self) -> Result<(), Trouble> {
        let found = self.marker()?;
        if let Some(marker) = &found {
            self.check(marker)?;
        }
        let lock = match self.disk.lock(&self.dir) {
            Ok(lock) => Some(lock),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                let dir = self.dir.display();
                let why = format!("{dir}: another process archives into it");
                return Err(Trouble::Passing(why));
            }
            // There are file systems that have none.
            Err(e) if e.kind() == io::ErrorKind::Unsupported => None,
            Err(e) => return Err(passing(&self.dir)(e)),
        };
        // Somebody may have been faster.
        let marker = match self.marker()? {
            Some(marker) => {
                self.check(&marker)?;
                marker
            }
            None => {
                let marker = Marker {
                    uuid: self.uuid.clone(),
                    base: self.base.clone(),
                    ..Marker::default()
                };
                let made = marker.write(&*self.disk, &self.dir);
                made.map_err(passing(&self.dir.join(MARKER)))?;
                marker
            }
        };
        self.through = marker.through;
        self.opened = Some(Opened {
            marker,
            attempted: None,
            _lock: lock,
        });
        Ok(())
    }

    /// Sees that the archive is there and this server's still, and gives its marker.
    fn look(&mut self) -> Result<Marker, Trouble> {
        if self.opened.is_none() {
            self.open()?;
        }
        let found = self.marker()?;
        let Some(opened) = &mut self.opened else {
            return Err(Trouble::Passing("the archive is not open".to_owned()));
        };
        let Some(found) = found else {
            let path = self.dir.join(MARKER);
            let why = format!("{} is gone: is the archive mounted?", path.display());
            return Err(Trouble::Passing(why));
        };
        if found != opened.marker {
            if opened.attempted.as_ref() != Some(&found) {
                let text = format!("{}: somebody else has written to it", self.dir.display());
                self.check(&found)?;
                return Err(Trouble::Final(text));
            }
            // What was written last had arrived, and was not known to be durable.
            let synced = self.disk.sync_dir(&self.dir);
            synced.map_err(passing(&self.dir))?;
            opened.marker = found.clone();
        }
        opened.attempted = None;
        Ok(found)
    }

    /// Writes the marker, with the files that are whole.
    fn put_marker(&mut self, mut marker: Marker) -> Result<(), Trouble> {
        marker.through = self.through;
        if let Some(opened) = &mut self.opened {
            // The names of the files that it counts.
            let synced = self.disk.sync_dir(&self.dir);
            synced.map_err(passing(&self.dir))?;
            opened.attempted = Some(marker.clone());
            let written = marker.write(&*self.disk, &self.dir);
            written.map_err(passing(&self.dir.join(MARKER)))?;
            (opened.marker, opened.attempted) = (marker, None);
        }
        Ok(())
    }

    /// RESET was to begin with a file: it has, or never will.
    fn after_reset(&mut self, files: &[LogFile]) -> Result<(), Trouble> {
        let mut marker = self.look()?;
        let Some(to) = marker.reset_to else {
            return Ok(());
        };
        if files.first().is_some_and(|f| f.number == to) {
            self.through = to - 1;
            marker.begun.push(to);
            self.current = None;
        } else if files.iter().all(|f| f.number < to) {
            return Ok(());
        }
        marker.reset_to = None;
        self.put_marker(marker)
    }

    /// Goes on by a step. `files`: all that the server has to show, of which the last is being written. `started`: all is there again that a crash
    /// has taken from them.
    ///
    /// # Errors
    /// Why nothing was done, or not all of it.
    pub fn step(&mut self, files: &[LogFile], started: bool) -> Result<Step, Trouble> {
        self.after_reset(files)?;
        let through = self.through;
        let nothing = Step {
            file: through,
            position: 0,
            more: false,
        };
        let (Some(first), Some(last)) = (files.first(), files.last()) else {
            return Ok(nothing);
        };
        let name = |number| self.names.name(number);
        let Some(next) = files.iter().find(|f| f.number > through) else {
            if !started && !base::mutant!("archive-not-waited-for-after-a-crash") {
                return Ok(nothing);
            }
            return Err(Trouble::Final(format!(
                "the archive has the whole of {}, and the server has not written more than a part of {}: it is of another history",
                name(through),
                name(last.number)
            )));
        };
        if through > 0 && next.number != through + 1 {
            return Err(Trouble::Final(format!(
                "the archive ends with {}, and the server has nothing behind it before {}: what was between is lost",
                name(through),
                name(next.number.max(first.number))
            )));
        }
        let whole = next.number != last.number;
        let Some(synced) = self.bring_up(*next, whole)? else {
            return Ok(nothing);
        };
        let ended = synced == next.size;
        if whole && ended {
            self.through = next.number;
            self.current = None;
        }
        self.count(last.number)?;
        Ok(Step {
            file: next.number,
            position: synced,
            more: whole || !ended,
        })
    }

    /// Says of the files that are whole that they are, now and then; `last` is being written.
    fn count(&mut self, last: u32) -> Result<(), Trouble> {
        let counted = self.opened.as_ref().map(|o| o.marker.clone());
        match counted {
            Some(m) if self.through > m.through => {
                let now = self.through + 1 >= last || self.through - m.through >= FILES;
                if now { self.put_marker(m) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Brings a file up to date, by a step; gives how much of it is durable. `None`: the archive has more than the server has made again by now.
    fn bring_up(&mut self, file: LogFile, whole: bool) -> Result<Option<u64>, Trouble> {
        let name = self.names.name(file.number);
        let own_path = self.names.path(file.number);
        let at = self.dir.join(&name);
        let beside = self.dir.join(format!("{name}.new"));
        let own = self.disk.open(&own_path, OpenMode::Buffered, false);
        let own = own.map_err(passing(&own_path))?;
        let current = self.current.take_if(|c| c.number == file.number);
        let mut c = match current {
            Some(c) => c,
            None => match self.begin(&*own, file, whole, (&at, &beside))? {
                Some(c) => c,
                None => return Ok(None),
            },
        };
        let r = self.go_on(&mut c, &*own, (file, whole), (&at, &beside));
        // What is gone or has been cut is looked at from its beginning on.
        self.current = (!matches!(r, Ok(None))).then_some(c);
        match r? {
            Some(synced) => {
                if whole && synced == file.size && self.length(&at)? != file.size {
                    return Err(Trouble::Final(format!(
                        "{} is longer than the server's own file",
                        at.display()
                    )));
                }
                Ok(Some(synced))
            }
            None => Err(Trouble::Passing(format!(
                "{} is gone or was cut, and is copied again",
                at.display()
            ))),
        }
    }

    fn length(&self, at: &Path) -> Result<u64, Trouble> {
        let file = self.disk.open(at, OpenMode::Buffered, false);
        file.and_then(|f| f.len()).map_err(passing(at))
    }

    /// Begins with a file: what the archive has of it is compared.
    fn begin(
        &self,
        own: &dyn File,
        file: LogFile,
        whole: bool,
        (at, beside): (&Path, &Path),
    ) -> Result<Option<Current>, Trouble> {
        let target = match self.disk.open(at, OpenMode::Buffered, false) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                make(&*self.disk, beside).map_err(passing(beside))?;
                return Ok(Some(Current {
                    number: file.number,
                    synced: 0,
                    entry: Entry::Unfinished,
                }));
            }
            r => r.map_err(passing(at))?,
        };
        let len = target.len().map_err(passing(at))?;
        if len > file.size {
            if whole {
                return Err(Trouble::Final(format!(
                    "{} is longer than the server's own file: it is of another history",
                    at.display()
                )));
            }
            return Ok(None);
        }
        let same = compare(own, &*target, len).map_err(passing(at))?;
        let synced = same.map_err(|at_byte| {
            Trouble::Final(format!(
                "{} is another file than the server's own: they differ at byte {at_byte}; it is not written over",
                at.display()
            ))
        })?;
        // It may have been written by somebody who came to no sync.
        target.sync_now().map_err(passing(at))?;
        Ok(Some(Current {
            number: file.number,
            synced,
            entry: Entry::Renamed,
        }))
    }

    /// `None`: the archive's file is not what it was.
    fn go_on(
        &self,
        c: &mut Current,
        own: &dyn File,
        (file, whole): (LogFile, bool),
        (at, beside): (&Path, &Path),
    ) -> Result<Option<u64>, Trouble> {
        let path = match c.entry {
            Entry::Unfinished => beside,
            _ => at,
        };
        // By its name: a file that was removed can be written to as long as it is open.
        let target = match self.disk.open(path, OpenMode::Buffered, false) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            r => r.map_err(passing(path))?,
        };
        if target.len().map_err(passing(path))? < c.synced {
            return Ok(None);
        }
        let end = file.size.min(c.synced + STEP);
        let (mut position, mut bytes) = (c.synced, Vec::new());
        while position < end {
            bytes.resize((end - position).min(CHUNK) as usize, 0);
            let read = read_own(own, position, &mut bytes);
            read.map_err(passing(&self.names.path(file.number)))?;
            let written = target.write_now(&bytes, position);
            written.map_err(passing(path))?;
            position += bytes.len() as u64;
        }
        if position > c.synced && base::mutant!("archived-before-durable") {
            c.synced = position;
        } else if position > c.synced {
            target.sync_now().map_err(passing(path))?;
            c.synced = position;
        }
        if c.synced < file.size {
            return Ok(Some(c.synced));
        }
        if c.entry == Entry::Unfinished {
            if self.disk.exists(at) {
                return Err(Trouble::Final(format!(
                    "{} was made by somebody else; it is not written over",
                    at.display()
                )));
            }
            self.disk.rename(beside, at).map_err(passing(at))?;
            c.entry = Entry::Renamed;
        }
        if c.entry == Entry::Renamed && !whole {
            self.disk.sync_dir(&self.dir).map_err(passing(&self.dir))?;
            c.entry = Entry::Named;
        }
        Ok(Some(c.synced))
    }

    /// Says in the archive that RESET is about to begin the binary log anew, with a number that the archive has not had; gives that. `first`: what
    /// was asked for, 1 where nothing was.
    ///
    /// # Errors
    /// Why it cannot be begun anew.
    pub fn before_reset(&mut self, files: &[LogFile], first: u32) -> Result<u32, Trouble> {
        let mut marker = self.look()?;
        let last = files.last().map_or(0, |f| f.number).max(self.through);
        if last >= LAST_NUMBER {
            return Err(Trouble::Final("no number of a file is left".to_owned()));
        }
        let number = match first {
            0 | 1 if base::mutant!("reset-gives-a-number-again") => last,
            0 | 1 => last + 1,
            first if first > last => first,
            _ => {
                return Err(Trouble::Final(format!(
                    "no file of the archive is written over: the first must be {} or higher",
                    last + 1
                )));
            }
        };
        marker.reset_to = Some(number);
        self.put_marker(marker)?;
        Ok(number)
    }
}

/// Compares what the archive has of a file with the file: how far they are the same, of `len` bytes; `Err`: where the archive has something else.
fn compare(own: &dyn File, target: &dyn File, len: u64) -> io::Result<Result<u64, u64>> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let (mut at, mut same) = (0, None);
    while at < len {
        let n = (len - at).min(CHUNK) as usize;
        a.resize(n, 0);
        b.resize(n, 0);
        read_own(own, at, &mut a)?;
        if target.read_now(&mut b, at)? < n {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        if a != b {
            for (i, (own, is)) in a.iter().zip(&b).enumerate() {
                let here = at + i as u64;
                if own != is {
                    // A power cut leaves zeros where nothing had been written.
                    if *is != 0 && !base::mutant!("archive-written-over") {
                        return Ok(Err(here));
                    }
                    same.get_or_insert(here);
                }
            }
        }
        at += n as u64;
    }
    Ok(Ok(same.unwrap_or(len)))
}
