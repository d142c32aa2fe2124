//! A directory from a backup and from what was taken since it.
//!
//! A file is named by its tablespace's number, and never by what a backup says. The control file is made last: without it there is no directory that
//! a start would take for one.

use super::chunk::{ChunkPlace, Unusable};
use super::manifest::Manifest;
use super::reading::{Reading, Summary, Target, accept, damaged, read};
use super::taking::Extra;
use crate::compressed::{self, CompressedFormat, NoRoot, PageCompressor, Shadow};
use crate::control::{Control, ControlState};
use crate::files::Files;
use crate::lifecycle::first_page;
use crate::log::Segments;
use crate::options::PagerOptions;
use crate::page::PAGE_SIZE;
use crate::redo::RedoTable;
use crate::shortages::Shortages;
use base::{Disk, Environment, File, Lsn, OpenMode, PageNo, SpaceId};
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the file of a tablespace is, below the data folder; the next start moves it to where it belongs.
pub type Naming = fn(SpaceId) -> PathBuf;

/// The manifest of what a directory was restored from, in that directory.
pub const RESTORED: &str = "restored-from";

/// So many pages of a compressed tablespace may be missing in front of one, whatever the backup says: what is known of them is in memory.
const GAP_MAX: u64 = 1 << 22;

/// The tablespace that pages are written to.
struct Writing {
    id: SpaceId,
    file: Arc<dyn File>,
    shadow: Option<Shadow>,
    pages: u64,
}

/// Makes a directory.
pub struct Restore {
    files: Arc<Files>,
    environment: Environment,
    dir: PathBuf,
    naming: Naming,
    compressor: PageCompressor,
    /// Those read before, the last one first to be followed.
    before: Option<Manifest>,
    begin: Option<Manifest>,
    writing: Option<Writing>,
    /// Tablespaces that have a file.
    made: BTreeSet<u32>,
    /// The log of the one being read, if it is the last.
    log: Option<Segments>,
    last: bool,
    log_id: u64,
    extras: Vec<(Extra, Vec<u8>)>,
    /// Of [`push`](Self::push).
    reading: Option<Reading>,
    chunks: ChunkPlace,
}

impl Restore {
    /// Begins a directory, which must not be there, or be empty. `redo` is what a start would have.
    ///
    /// # Errors
    /// [`Unusable::Other`]: the directory is not empty. The system's.
    pub fn begin(
        environment: &Environment,
        dir: &Path,
        naming: Naming,
        redo: &RedoTable,
    ) -> Result<Restore, Unusable> {
        let shortages = Arc::new(Shortages::new(environment.clock.clone()));
        let files = Files::new(environment.disk.clone(), 64, shortages);
        if files.exists(dir) && !files.read_dir(dir)?.is_empty() {
            let why = format!(
                "{} is not empty: a backup is restored into an empty directory, or one that is not there",
                dir.display()
            );
            return Err(Unusable::Other(why));
        }
        files.create_dir_all(&dir.join("data"))?;
        files.create_dir_all(&dir.join("log"))?;
        Ok(Restore {
            files,
            environment: environment.clone(),
            dir: dir.to_path_buf(),
            naming,
            compressor: PageCompressor::new(redo.cells_of()),
            before: None,
            begin: None,
            writing: None,
            made: BTreeSet::new(),
            log: None,
            last: false,
            log_id: environment.random.next_u64() | 1,
            extras: Vec::new(),
            reading: None,
            chunks: ChunkPlace::default(),
        })
    }

    /// Reads a backup: the first, which stands for itself, and then each that follows the one before it. The `last` one gives the log.
    ///
    /// # Errors
    /// See [`Unusable`]; the directory is none then.
    pub fn read(&mut self, from: impl Read, last: bool) -> Result<Summary, Unusable> {
        self.last = last;
        self.extras.clear();
        let summary = read(from, self)?;
        self.taken(&summary)?;
        Ok(summary)
    }

    /// The next chunk of the one backup that there is, as its bytes come. The summary comes with the last.
    ///
    /// # Errors
    /// See [`Unusable`]; the directory is none then.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Summary>, Unusable> {
        self.last = true;
        let chunk = self.chunks.decode(bytes)?;
        let (mut reading, place) = (self.reading.take(), self.chunks);
        let summary = accept(&mut reading, chunk, &place, self)?;
        self.reading = reading;
        if let Some(summary) = &summary {
            self.taken(summary)?;
        }
        Ok(summary)
    }

    /// All of a backup was read.
    fn taken(&mut self, summary: &Summary) -> Result<(), Unusable> {
        self.close_space()?;
        let m = &summary.manifest;
        // What was dropped while the backup was taken, or since the one before.
        let gone = self.made.iter().filter(|id| !m.spaces.contains_key(id));
        for id in gone.copied().collect::<Vec<_>>() {
            self.files.remove_file(&self.path(SpaceId(id)))?;
            self.made.remove(&id);
        }
        self.before = Some(m.clone());
        Ok(())
    }

    /// Makes the directory one that can be started, durably.
    ///
    /// # Errors
    /// The system's; nothing was read.
    pub fn finish(&mut self) -> Result<Manifest, Unusable> {
        let m = match self.before.take() {
            Some(m) if self.last => m,
            _ => return Err(Unusable::Other("there is no backup to restore".to_owned())),
        };
        for born in m.born.values() {
            self.make_born(born.id, born.format, born.lsn)?;
        }
        for id in &self.made {
            let file = self
                .files
                .open(&self.path(SpaceId(*id)), OpenMode::Buffered, false)?;
            file.sync_now()?;
        }
        let log_dir = self.dir.join("log");
        let Some(segments) = self.log.take() else {
            return Err(damaged("it has no log"));
        };
        for n in segments.numbers() {
            if let Some((file, _)) = segments.locate(Lsn(n * segments.size()))? {
                file.sync_now()?;
            }
        }
        for (which, bytes) in std::mem::take(&mut self.extras) {
            let file = self
                .files
                .open(&self.dir.join(which.name()), OpenMode::Buffered, true)?;
            file.write_now(&bytes, 0)?;
            file.sync_now()?;
        }
        let file = self
            .files
            .open(&self.dir.join(RESTORED), OpenMode::Buffered, true)?;
        file.write_now(m.encode().as_bytes(), 0)?;
        file.sync_now()?;
        self.files.sync_dir(&self.dir.join("data"))?;
        self.files.sync_dir(&log_dir)?;
        let state = ControlState {
            db_id: self.log_id,
            segment_size: m.segment_size,
            redo: m.redo,
            checkpoint: m.checkpoint,
            needed: m.needed,
            clean_end: Lsn::NONE,
            jumps: m.jumps.clone(),
        };
        Control::create(&*self.files, &log_dir, state)?;
        self.files.sync_dir(&self.dir)?;
        if let Some(above) = self.dir.parent().filter(|p| !p.as_os_str().is_empty()) {
            // A folder that may not be opened was not made here.
            let _not_ours = self.files.sync_dir(above);
        }
        Ok(m)
    }

    fn path(&self, id: SpaceId) -> PathBuf {
        self.dir.join("data").join((self.naming)(id))
    }

    fn open_space(
        &mut self,
        id: SpaceId,
        format: Option<CompressedFormat>,
        create: bool,
    ) -> Result<Writing, Unusable> {
        let path = self.path(id);
        let other = || {
            damaged(format!(
                "tablespace {} is another one in the earlier backup",
                id.0
            ))
        };
        let (file, shadow) = match format {
            None => {
                let file = self.files.open_table(&path, OpenMode::Buffered, create)?;
                if !create && !matches!(Shadow::identity(&*file), Err(NoRoot::Other)) {
                    return Err(other());
                }
                (file, None)
            }
            Some(format) => {
                let file = compressed::open_file(&self.files, &path, OpenMode::Buffered, create)?;
                let step = PagerOptions::default().compressed_step_bytes;
                let shadow = match create {
                    true => Shadow::create(id, file.clone(), format, step)?,
                    false => match Shadow::open(file.clone(), step) {
                        Ok(shadow) => shadow,
                        Err(NoRoot::Io(e)) => return Err(e.into()),
                        Err(_) => return Err(other()),
                    },
                };
                if shadow.format() != format || shadow.space() != id {
                    return Err(other());
                }
                (file, Some(shadow))
            }
        };
        self.made.insert(id.0);
        Ok(Writing {
            id,
            file,
            shadow,
            pages: 0,
        })
    }

    fn close_space(&mut self) -> Result<(), Unusable> {
        if let Some(w) = self.writing.take()
            && let Some(shadow) = &w.shadow
        {
            shadow.make_root()?;
        }
        Ok(())
    }

    /// A tablespace that has nothing but its first page: the log has the rest.
    fn make_born(
        &mut self,
        id: SpaceId,
        format: Option<CompressedFormat>,
        lsn: Lsn,
    ) -> Result<(), Unusable> {
        let w = self.open_space(id, format, true)?;
        let page = first_page(id, lsn).map_err(|e| damaged(e.to_string()))?;
        self.write(&w, 0, &page)?;
        if let Some(shadow) = &w.shadow {
            shadow.make_root()?;
        }
        Ok(())
    }

    fn write(&mut self, w: &Writing, no: u32, bytes: &[u8]) -> Result<(), Unusable> {
        match &w.shadow {
            None => w.file.write_now(bytes, u64::from(no) * PAGE_SIZE as u64)?,
            Some(shadow) => {
                if u64::from(no) > GAP_MAX + 64 * w.pages {
                    return Err(damaged(format!(
                        "page {no} of tablespace {} is alone",
                        w.id.0
                    )));
                }
                if shadow.room() <= no {
                    shadow.reserve(no.saturating_add(64))?;
                }
                shadow.write_by(&mut self.compressor, PageNo(no), bytes)?;
            }
        }
        Ok(())
    }
}

impl Target for Restore {
    fn begin(&mut self, begin: &Manifest) -> Result<(), Unusable> {
        let refused = |why: &str| Err(Unusable::Other(why.to_owned()));
        match &self.before {
            None if begin.parent != 0 => {
                return refused(
                    "the first backup has only what changed since an earlier one, which has to come before it",
                );
            }
            Some(_) if begin.parent == 0 => {
                return refused("a backup that stands for itself can only be the first");
            }
            Some(b) if b.id != begin.parent || b.log_id != begin.log_id => {
                return refused("a backup does not follow the one before it");
            }
            Some(b) if b.token().redo != begin.since => {
                return Err(damaged("it begins elsewhere than it should"));
            }
            _ => {}
        }
        if self.last {
            self.log = Some(Segments::open(
                self.environment.disk.clone(),
                &self.dir.join("log"),
                begin.segment_size,
                self.log_id,
                OpenMode::Buffered,
            )?);
        }
        self.begin = Some(begin.clone());
        Ok(())
    }

    fn space(&mut self, id: SpaceId, format: Option<CompressedFormat>) -> Result<(), Unusable> {
        self.close_space()?;
        let known = self.before.as_ref();
        let known = known.is_some_and(|b| !b.token().of(id).is_none());
        let there = self.made.contains(&id.0);
        if known && !there {
            let why = format!("tablespace {} is not in the earlier backup", id.0);
            return Err(damaged(why));
        }
        self.writing = Some(self.open_space(id, format, !there)?);
        Ok(())
    }

    fn page(&mut self, _: SpaceId, no: u32, bytes: &[u8]) -> Result<(), Unusable> {
        let Some(mut w) = self.writing.take() else {
            return Err(damaged("pages of no tablespace"));
        };
        let written = self.write(&w, no, bytes);
        w.pages += 1;
        self.writing = Some(w);
        written
    }

    fn log(&mut self, at: Lsn, bytes: &[u8]) -> Result<(), Unusable> {
        let Some(segments) = &self.log else {
            return Ok(());
        };
        let (mut at, mut bytes) = (at.0, bytes);
        while !bytes.is_empty() {
            let n = at / segments.size();
            if !segments.holds(Lsn(at)) {
                segments.create(n, None)?;
            }
            let Some((file, offset)) = segments.locate(Lsn(at))? else {
                return Err(Unusable::Io(io::ErrorKind::NotFound.into()));
            };
            let room = ((n + 1) * segments.size() - at) as usize;
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            file.write_now(now, offset)?;
            at += now.len() as u64;
            bytes = rest;
        }
        Ok(())
    }

    fn file(&mut self, which: Extra, bytes: &[u8]) -> Result<(), Unusable> {
        self.extras.push((which, bytes.to_vec()));
        Ok(())
    }
}
