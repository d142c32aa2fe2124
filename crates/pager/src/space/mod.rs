//! Tablespaces: one file of pages each, grown by extents that are reserved ahead, and the registry of the open ones.
//!
//! This module knows files and page numbers; what stands in a page is not its business (the map of used pages lives in
//! [`crate::alloc`]).

mod cut;
mod translate;

pub(crate) use translate::Translation;

use crate::compressed::{CompressedFormat, CompressedUse, Shadow};
use crate::error::OpError;
use crate::page::PAGE_SIZE;
use base::environment::is_full;
use base::lock::{Mutex, RwLock};
use base::{File, SpaceId};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Pages of the first extent, but of temporary tablespaces.
const EXTENT_MIN: u32 = 16;
/// Pages of the largest extent (64 MiB).
const EXTENT_MAX: u32 = 4096;
/// Pages of the largest extent of a compressed tablespace, for which it keeps room as if they could not be compressed, also in a file that is
/// closed.
const EXTENT_MAX_COMPRESSED: u32 = 64;

/// Bytes of the file of a new tablespace that has room for so many pages, if these are not compressed.
pub(crate) fn new_file_bytes(pages: u32) -> u64 {
    u64::from(pages.next_multiple_of(EXTENT_MIN)) * PAGE_SIZE as u64
}

/// What the files of several tablespaces may take together.
pub trait FileQuota: Send + Sync {
    /// Allots so many bytes more; false where there are not so many left.
    fn allot(&self, bytes: u64) -> bool;
    /// Gives bytes back.
    fn give_back(&self, bytes: u64);
}

/// An open tablespace.
pub struct Space {
    id: SpaceId,
    file: Arc<dyn File>,
    path: Mutex<PathBuf>,
    /// Where its pages lie, if they are compressed.
    shadow: Option<Shadow>,
    pub(crate) translation: Translation,
    /// Pages for which the file has room.
    room: AtomicU32,
    /// Pages for which a map page is known to exist: never above `room`.
    mapped: AtomicU32,
    growing: Mutex<()>,
    /// Page number at or above which a free page is looked for first.
    pub(crate) alloc_hint: AtomicU32,
    /// Written since the last sync.
    pub(crate) unsynced: AtomicBool,
    dropped: AtomicBool,
    /// The lowest page that was ever cut off since the file was opened; `u32::MAX`: none was.
    cut_from: AtomicU32,
    /// Behind the highest one; 0: none was.
    cut_to: AtomicU32,
    /// Of a temporary one: what its file is counted in.
    quota: Option<Arc<dyn FileQuota>>,
}

impl Space {
    /// Wraps an open file.
    pub(crate) fn new(id: SpaceId, file: Arc<dyn File>, path: &Path) -> io::Result<Space> {
        let room = (file.len()? / PAGE_SIZE as u64).min(u32::MAX as u64) as u32;
        Ok(Space::with(id, file, path, room, None))
    }

    /// Wraps an open file whose pages are compressed.
    pub(crate) fn compressed(shadow: Shadow, file: Arc<dyn File>, path: &Path) -> Space {
        Space::with(shadow.space(), file, path, shadow.room(), Some(shadow))
    }

    fn with(
        id: SpaceId,
        file: Arc<dyn File>,
        path: &Path,
        room: u32,
        shadow: Option<Shadow>,
    ) -> Space {
        Space {
            id,
            file,
            path: Mutex::new(path.to_path_buf()),
            shadow,
            translation: Translation::new(),
            room: AtomicU32::new(room),
            mapped: AtomicU32::new(0),
            growing: Mutex::new(()),
            alloc_hint: AtomicU32::new(1),
            unsynced: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
            cut_from: AtomicU32::new(u32::MAX),
            cut_to: AtomicU32::new(0),
            quota: None,
        }
    }

    /// Counts what the file takes from now on.
    pub(crate) fn counted_in(self, quota: Arc<dyn FileQuota>) -> Space {
        Space {
            quota: Some(quota),
            ..self
        }
    }

    /// Its id.
    #[inline(always)]
    pub fn id(&self) -> SpaceId {
        self.id
    }

    /// Its file.
    pub fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// Where its pages lie, if they are compressed.
    #[inline(always)]
    pub(crate) fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_ref()
    }

    /// How its pages are compressed, if they are.
    pub fn compressed_format(&self) -> Option<CompressedFormat> {
        self.shadow.as_ref().map(Shadow::format)
    }

    /// What its pages take, if they are compressed.
    pub fn compressed_use(&self) -> Option<CompressedUse> {
        self.shadow.as_ref().map(Shadow::usage)
    }

    /// Where its file is.
    pub fn path(&self) -> PathBuf {
        self.path.lock().clone()
    }

    pub(crate) fn set_path(&self, path: &Path) {
        *self.path.lock() = path.to_path_buf();
    }

    /// Pages the file has room for.
    pub fn room(&self) -> u32 {
        self.room.load(Ordering::Acquire)
    }

    /// Pages that may be allocated: there is room, and a map page for them.
    pub(crate) fn mapped(&self) -> u32 {
        self.mapped.load(Ordering::Acquire)
    }

    /// There are maps for so many pages; no more count than there is room for by now.
    pub(crate) fn set_mapped(&self, pages: u32) {
        let _one = self.growing.lock();
        self.mapped
            .fetch_max(pages.min(self.room()), Ordering::AcqRel);
    }

    /// True after the space was dropped.
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    pub(crate) fn set_dropped(&self) {
        let was = self.dropped.swap(true, Ordering::AcqRel);
        let _one = self.growing.lock();
        if let (Some(quota), false) = (&self.quota, was) {
            quota.give_back(u64::from(self.room()) * PAGE_SIZE as u64);
        }
    }

    /// Takes room for the file from its quota, where it has one. A file that was dropped has given back what it had, and gets no more.
    fn take_room(&self, pages: u32) -> bool {
        let bytes = u64::from(pages) * PAGE_SIZE as u64;
        (self.quota.as_ref()).is_none_or(|q| !self.is_dropped() && q.allot(bytes))
    }

    fn give_room_back(&self, pages: u32) {
        if let Some(q) = &self.quota {
            q.give_back(u64::from(pages) * PAGE_SIZE as u64);
        }
    }

    /// Grows the file by an extent, if nobody has done so since it had `seen` pages of room.
    pub(crate) fn grow(&self, seen: u32) -> Result<(), NotGrown> {
        let _one = self.growing.lock();
        let room = self.room();
        if room > seen {
            return Ok(());
        }
        let (share, most) = match self.shadow {
            Some(_) => (16, EXTENT_MAX_COMPRESSED),
            None => (4, EXTENT_MAX),
        };
        // There may be thousands of temporary ones without a row, so theirs begin with the pages that are used.
        let least = match self.quota {
            Some(_) => 1,
            None => EXTENT_MIN,
        };
        let extent = (room / share).clamp(least, most);
        let mut why = NotGrown::Limit;
        // A nearly full disk may still have room for a small extent.
        for pages in [extent, least] {
            let target = room.saturating_add(pages);
            if !self.take_room(target - room) {
                continue;
            }
            let made = match &self.shadow {
                Some(s) => s.reserve(target),
                None => self.file.allocate(target as u64 * PAGE_SIZE as u64),
            };
            match made {
                Ok(()) => {
                    self.room.store(target, Ordering::Release);
                    return Ok(());
                }
                Err(e) => {
                    self.give_room_back(target - room);
                    if !is_full(&e) {
                        return Err(NotGrown::Io(e));
                    }
                    why = NotGrown::Full(e);
                }
            }
        }
        Err(why)
    }

    /// Makes room for page `page` at least (recovery: the file may be shorter than what the log speaks of).
    pub(crate) fn ensure_room(&self, page: u32) -> Result<(), OpError> {
        while self.room() <= page {
            let grown = self.grow(self.room());
            grown.map_err(|why| why.error(self.id))?;
        }
        Ok(())
    }
}

/// Why a file does not grow.
#[derive(Debug)]
pub(crate) enum NotGrown {
    /// The disk is full.
    Full(io::Error),
    /// All temporary files together would pass their limit.
    Limit,
    /// What else the system answers.
    Io(io::Error),
}

impl NotGrown {
    /// What the operation fails with that needs the room.
    pub(crate) fn error(self, id: SpaceId) -> OpError {
        match self {
            NotGrown::Full(_) | NotGrown::Limit => OpError::SpaceFull(id),
            NotGrown::Io(e) => OpError::io(e),
        }
    }
}

/// The open tablespaces by id.
#[derive(Default)]
pub struct Spaces {
    map: RwLock<BTreeMap<SpaceId, Arc<Space>>>,
}

impl Spaces {
    /// The space with this id.
    pub fn get(&self, id: SpaceId) -> Option<Arc<Space>> {
        self.map.read().get(&id).cloned()
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<Space>> {
        let mut v: Vec<_> = self.map.read().values().cloned().collect();
        v.sort_by_key(|s| s.id());
        v
    }

    pub(crate) fn insert(&self, s: Arc<Space>) {
        self.map.write().insert(s.id(), s);
    }

    pub(crate) fn remove(&self, id: SpaceId) -> Option<Arc<Space>> {
        self.map.write().remove(&id)
    }
}

/// Makes durable what every space got written since this was last done: by a sync, for those whose pages are compressed by a root.
/// Where writes are durable when they complete, the former need none.
///
/// # Errors
/// A device failed; or, when all the others are durable, `SpaceFull`: a root has no room, or `Short`: a file cannot be opened just now.
pub(crate) fn sync_written(spaces: &Spaces, durable_writes: bool) -> Result<(), OpError> {
    let mut full = Ok(());
    for s in spaces.all() {
        if s.id().is_temporary() {
            continue;
        }
        let sync = || match &s.shadow {
            Some(_) if base::mutant!("checkpoint-without-root") => s.file.sync_now(),
            Some(shadow) => shadow.make_root(),
            None if durable_writes => Ok(()),
            None => s.file.sync_now(),
        };
        if s.unsynced.swap(false, Ordering::AcqRel)
            && let Err(e) = sync()
        {
            s.unsynced.store(true, Ordering::Release);
            match OpError::io(e) {
                _ if s.is_dropped() => {}
                // What is compressed has no copy in the doublewrite file; what is not must not be taken for synced.
                OpError::Short(e) if is_full(&e) && s.shadow.is_some() => {
                    full = full.and(Err(OpError::SpaceFull(s.id())));
                }
                OpError::Short(e) => full = Err(OpError::Short(e)),
                e => return Err(e),
            }
        }
    }
    full
}
