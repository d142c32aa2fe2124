//! Where the pages of a compressed tablespace lie, and the roots that make it durable.
//!
//! A page is never written where a durable root says it is: it gets another place, and its old one is free when a later root is durable.
//! (Shadow paging: Lorie, "Physical Integrity in a Large Segmented Database", TODS 1977, section 3.) Who reads asks the map; who
//! writes takes a place, writes, and enters it when the write has completed.
//!
//! Locks: `rooting` before `state`; nothing waits for a device under `state` but for more room in the file.

mod cut;
mod dictionary;
mod run;
mod trim;

use super::allocation_map::AllocationMap;
use super::codec::PageCompressor;
use super::columns;
use super::dictionary::Dictionary;
use super::format::{CompressedFormat, CompressedUse, Place};
use super::root::{
    self, CHUNK_PAGES, DIRECTORIES_MAX, DIRECTORY_CHUNKS, FRONT, PART, Part, Root, Slots, Stored,
};
use crate::page::PAGE_SIZE;
use base::checksum::crc32c;
use base::environment::is_full;
use base::lock::{Mutex, MutexGuard};
use base::{AlignedBuf, File, PageNo, SpaceId};
use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// Why a file cannot be used as a compressed tablespace.
pub(crate) enum NoRoot {
    /// It is none.
    Other,
    /// It is one, and has no root that is whole.
    Damaged,
    /// It was to become one.
    Uncommitted,
    /// The device failed.
    Io(io::Error),
}

impl From<io::Error> for NoRoot {
    fn from(e: io::Error) -> NoRoot {
        NoRoot::Io(e)
    }
}

/// The map of a tablespace and its free places.
pub(crate) struct Shadow {
    space: SpaceId,
    format: CompressedFormat,
    file: Arc<dyn File>,
    /// `PagerOptions::compressed_step_bytes`: what is given back is at least one.
    step: u64,
    /// What pages are compressed with.
    dictionary: OnceLock<Dictionary>,
    /// One is there, or was tried and did not pay.
    trained: AtomicBool,
    rooting: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The place of each page.
    words: Vec<u64>,
    places: AllocationMap,
    chunks: Vec<Part>,
    directories: Vec<Part>,
    /// Chunks that have changed since the last root.
    changed: BTreeSet<usize>,
    /// Pages whose place no root names, durable or under way.
    fresh: HashSet<u32>,
    /// Places that are free once the next root is durable.
    former: Vec<(u64, u64)>,
    former_units: u64,
    /// Places taken for parts of coming roots: a root must be possible on a full disk, whatever the free places are cut into.
    spare: Vec<u64>,
    /// Where the dictionary lies that the next root names.
    stored: Option<Stored>,
    /// Places of parts that are spare once the next root is durable.
    former_parts: Vec<u64>,
    /// Of the last durable root.
    generation: u64,
    /// Pages for which there is room.
    room: u32,
    /// A root could not be written: there is no other.
    failed: bool,
    /// The last root says something else of the room.
    room_changed: bool,
    /// Pages with a place, and its units.
    used: (u64, u64),
}

/// What a root is made of.
struct Making {
    writes: Vec<(u64, AlignedBuf)>,
    root: Root,
    /// What it was made for, to be put back if it fails.
    changed: BTreeSet<usize>,
    former: Vec<(u64, u64)>,
    former_parts: Vec<u64>,
}

impl Shadow {
    /// Of a file, nothing of which is known yet.
    fn without_root(
        space: SpaceId,
        file: Arc<dyn File>,
        format: CompressedFormat,
        step: u64,
    ) -> Shadow {
        Shadow {
            space,
            format,
            file,
            step,
            dictionary: OnceLock::new(),
            trained: AtomicBool::new(false),
            rooting: Mutex::new(()),
            state: Mutex::default(),
        }
    }

    /// An empty tablespace; nothing is written before its first root.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn create(
        space: SpaceId,
        file: Arc<dyn File>,
        format: CompressedFormat,
        step: u64,
    ) -> io::Result<Shadow> {
        let shadow = Shadow::without_root(space, file, format, step);
        {
            let mut s = shadow.lock();
            shadow.grow_file(&mut s, shadow.front())?;
            let front = s.places.claim(0, shadow.front());
            assert!(front, "an empty file");
            shadow.keep_spare(&mut s, 1)?;
        }
        Ok(shadow)
    }

    /// Which compressed tablespace a file is.
    pub(crate) fn identity(file: &dyn File) -> Result<SpaceId, NoRoot> {
        match Root::read(file)? {
            Slots::Root(r) => Ok(r.space),
            Slots::NoRoot => Err(NoRoot::Damaged),
            Slots::Uncommitted => Err(NoRoot::Uncommitted),
            Slots::Other => Err(NoRoot::Other),
        }
    }

    /// Opens a file at its newest root.
    pub(crate) fn open(file: Arc<dyn File>, step: u64) -> Result<Shadow, NoRoot> {
        let root = match Root::read(&*file)? {
            Slots::Root(r) => r,
            Slots::NoRoot => return Err(NoRoot::Damaged),
            Slots::Uncommitted => return Err(NoRoot::Uncommitted),
            Slots::Other => return Err(NoRoot::Other),
        };
        let shadow = Shadow::without_root(root.space, file, root.format, step);
        shadow.sync_root(&root)?;
        let units = shadow.file.len()? / u64::from(root.format.unit);
        let mut s = State {
            generation: root.generation,
            room: root.pages,
            places: AllocationMap::new(units),
            ..State::default()
        };
        let parts = shadow.part_units();
        let mut whole = s.places.claim(0, shadow.front());
        shadow.read_dictionary(&root, &mut s)?;
        for d in &root.directories {
            if !s.places.claim(d.start, parts) {
                return Err(NoRoot::Damaged);
            }
            let bytes = shadow.read_part(*d)?.ok_or(NoRoot::Damaged)?;
            s.chunks.extend(root::decode_directory(&bytes));
        }
        s.directories = root.directories;
        while s.chunks.last().is_some_and(|c| c.start == 0) {
            s.chunks.pop();
        }
        for c in s.chunks.clone() {
            if c.start == 0 {
                s.words.resize(s.words.len() + CHUNK_PAGES, 0);
                continue;
            }
            if !s.places.claim(c.start, parts) {
                return Err(NoRoot::Damaged);
            }
            let bytes = shadow.read_part(c)?.ok_or(NoRoot::Damaged)?;
            s.words.extend(root::decode_chunk(&bytes));
        }
        for w in &s.words {
            if let Some(p) = Place::of(*w) {
                whole &= s.places.claim(p.start, u64::from(p.units));
                s.used.0 += 1;
                s.used.1 += u64::from(p.units);
            } else {
                whole &= *w == 0;
            }
        }
        if !whole {
            return Err(NoRoot::Damaged);
        }
        let room = s.room;
        match shadow.keep_spare(&mut s, room) {
            // On a full disk what is free has to do.
            Err(e) if !is_full(&e) => return Err(e.into()),
            _ => {}
        }
        *shadow.lock() = s;
        Ok(shadow)
    }

    /// Makes the root durable that was found, and in both slots: a process that was killed may have left it in one, with no sync behind
    /// it, and what it frees is going to be written over.
    fn sync_root(&self, root: &Root) -> io::Result<()> {
        self.file.sync_now()?;
        let root = root.encode();
        for slot in 0..2 {
            let mut b = AlignedBuf::zeroed(root.len());
            self.file.read_now(&mut b, Root::slot(slot))?;
            if b[..] != root[..] {
                self.file.write_now(&root, Root::slot(slot))?;
                self.file.sync_now()?;
            }
        }
        Ok(())
    }

    /// A directory or chunk, if it is what its parent says.
    fn read_part(&self, part: Part) -> io::Result<Option<AlignedBuf>> {
        let mut b = AlignedBuf::zeroed(self.part_units() as usize * self.format.unit as usize);
        let n = self.file.read_now(&mut b, self.offset(part.start))?;
        Ok((n >= PART && crc32c(&b[..PART]) == part.crc).then_some(b))
    }

    /// Which tablespace it is.
    pub(crate) fn space(&self) -> SpaceId {
        self.space
    }

    /// How its pages are compressed.
    pub(crate) fn format(&self) -> CompressedFormat {
        self.format
    }

    /// Pages for which there is room.
    pub(crate) fn room(&self) -> u32 {
        self.lock().room
    }

    /// What its pages take.
    pub(crate) fn usage(&self) -> CompressedUse {
        let (pages, units) = self.lock().used;
        CompressedUse {
            pages,
            bytes: units * u64::from(self.format.unit),
        }
    }

    /// Where a unit begins, in bytes.
    pub(crate) fn offset(&self, unit: u64) -> u64 {
        unit * u64::from(self.format.unit)
    }

    /// Bytes of that many units.
    pub(crate) fn bytes(&self, place: Place) -> usize {
        usize::from(place.units) * self.format.unit as usize
    }

    fn front(&self) -> u64 {
        self.format.units(FRONT)
    }

    fn part_units(&self) -> u64 {
        self.format.units(PART)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Where a page lies; `None` for one that was never written.
    pub(crate) fn place(&self, page: PageNo) -> Option<Place> {
        let s = self.lock();
        s.words.get(page.0 as usize).copied().and_then(Place::of)
    }

    /// Sees that there is room for pages up to `pages`, should none of the new ones become smaller.
    ///
    /// # Errors
    /// The disk is full.
    pub(crate) fn reserve(&self, pages: u32) -> io::Result<()> {
        let mut s = self.lock();
        self.keep_spare(&mut s, pages)?;
        let wanted = self.promised(&s, pages);
        let free = s.places.free_units();
        if free < wanted {
            let units = s.places.units() + (wanted - free);
            self.grow_file(&mut s, units)?;
        }
        s.room = s.room.max(pages);
        s.room_changed = true;
        Ok(())
    }

    /// Free units that there have to be for pages up to `pages`.
    fn promised(&self, s: &State, pages: u32) -> u64 {
        let unwritten = u64::from(pages).saturating_sub(s.used.0);
        unwritten * self.format.units(PAGE_SIZE)
    }

    /// Takes places until there is one for every part of a map of so many pages, beside those of the durable one.
    fn keep_spare(&self, s: &mut State, pages: u32) -> io::Result<()> {
        let chunks = (pages as usize).div_ceil(CHUNK_PAGES).max(s.chunks.len());
        let wanted = chunks + chunks.div_ceil(DIRECTORY_CHUNKS);
        while s.spare.len() + s.former_parts.len() < wanted {
            let start = self.allocate_part(s)?;
            s.spare.push(start);
        }
        Ok(())
    }

    fn grow_file(&self, s: &mut State, units: u64) -> io::Result<()> {
        self.file.allocate(self.offset(units))?;
        s.places.grow(units);
        Ok(())
    }

    /// Takes a place of `n` units for a page.
    ///
    /// # Errors
    /// The disk is full, or a root failed that would have freed places.
    pub(crate) fn allocate(&self, n: u64) -> io::Result<u64> {
        {
            let mut s = self.lock();
            if let Some(start) = s.places.allocate(n) {
                return Ok(start);
            }
            // One is not made for a few places alone.
            let waiting = self.offset(s.former_units);
            if waiting < (4 * self.step).max(self.offset(s.places.units()) / 8) {
                match self.allocate_more(&mut s, n) {
                    Err(e) if is_full(&e) => {}
                    r => return r,
                }
            }
        }
        self.make_root()?;
        let mut s = self.lock();
        match s.places.allocate(n) {
            Some(start) => Ok(start),
            None => self.allocate_more(&mut s, n),
        }
    }

    /// Takes a place for which the file grows.
    fn allocate_more(&self, s: &mut State, n: u64) -> io::Result<u64> {
        let unit = u64::from(self.format.unit);
        let (least, most) = (self.step / 4 / unit, 16 * self.step / unit);
        let growth = (s.places.units() / 8).clamp(least, most);
        let end = s.places.units() + n;
        if let Err(e) = self.grow_file(s, end + growth) {
            if !is_full(&e) {
                return Err(e);
            }
            self.grow_file(s, end)?;
        }
        s.places
            .allocate(n)
            .ok_or_else(|| io::Error::from(io::ErrorKind::StorageFull))
    }

    /// A place that was taken and will not be entered is free again.
    pub(crate) fn release(&self, start: u64, units: u64) {
        self.lock().places.free(start, units);
    }

    /// The page was written there, completely.
    pub(crate) fn enter(&self, page: PageNo, place: Place) {
        self.lock().enter(page, place);
    }

    /// Writes a sealed page to a new place and enters it, on the calling thread.
    ///
    /// # Errors
    /// As [`take`](Self::take), and the write's.
    pub(crate) fn write_now(&self, page: PageNo, sealed: &[u8]) -> io::Result<()> {
        self.write_by(&mut PageCompressor::new(columns::unknown), page, sealed)
    }

    /// As [`write_now`](Self::write_now), with what compresses many, and with its errors.
    pub(crate) fn write_by(
        &self,
        by: &mut PageCompressor,
        page: PageNo,
        sealed: &[u8],
    ) -> io::Result<()> {
        let compressed = by.compress(sealed, self.format, None)?;
        let units = self.format.units(compressed.bytes.len());
        let start = self.allocate(units)?;
        if let Err(e) = self.file.write_now(&compressed.bytes, self.offset(start)) {
            self.release(start, units);
            return Err(e);
        }
        let place = Place {
            start,
            units: units as u8,
            plain: compressed.plain,
        };
        self.enter(page, place);
        Ok(())
    }

    /// Makes the map durable as it is now. What was entered before is found by a recovery from now on.
    ///
    /// # Errors
    /// The device failed: there will be no other root. `StorageFull`: nothing has changed, and it may be tried again.
    pub(crate) fn make_root(&self) -> io::Result<()> {
        let _one = self.rooting.lock();
        let (making, file) = {
            let mut s = self.lock();
            if s.failed {
                // What a failed one has left in the slots is not known.
                return Err(io::Error::other("an earlier root could not be written"));
            }
            let same = s.changed.is_empty() && s.former.is_empty() && !s.room_changed;
            if same && s.generation > 0 {
                return Ok(());
            }
            // Before anything is taken for it, and until it is written: a root that fails for want of a descriptor would be the last.
            let file = self.file.held_open()?;
            (self.begin_root(&mut s)?, file)
        };
        let file = file.as_deref().unwrap_or(&*self.file);
        let written = self.write_root(&making, file);
        let mut s = self.lock();
        if let Err(e) = written {
            s.changed.extend(making.changed);
            for (start, units) in making.former {
                s.retire(start, units);
            }
            s.former_parts.extend(making.former_parts);
            s.room_changed = true;
            s.failed = true;
            return Err(io::Error::other(e));
        }
        s.generation = making.root.generation;
        for (start, units) in making.former {
            s.places.free(start, units);
        }
        s.spare.extend(making.former_parts);
        let much = self.step.max(self.offset(s.places.units()) / 16);
        self.give_back(&mut s, much)
    }

    /// Gives the file's end back to the file system where so many bytes of it are free and nobody has been promised them.
    fn give_back(&self, s: &mut State, much: u64) -> io::Result<()> {
        let (units, end) = (s.places.units(), s.places.taken_end());
        let tail = units - end;
        if self.offset(tail) < much {
            return Ok(());
        }
        let elsewhere = s.places.free_units() - tail;
        let promised = self.promised(s, s.room).saturating_sub(elsewhere);
        let left = s.places.shrink(end + promised);
        if left == units {
            return Ok(());
        }
        self.file.truncate(self.offset(left))
    }

    /// Takes what has changed, and places for it.
    fn begin_root(&self, s: &mut State) -> io::Result<Making> {
        let directories = s.chunks.len().div_ceil(DIRECTORY_CHUNKS);
        if directories > DIRECTORIES_MAX {
            return Err(io::Error::other("a tablespace beyond its largest size"));
        }
        s.directories.resize(directories, Part::default());
        let of_directories: BTreeSet<usize> =
            s.changed.iter().map(|c| c / DIRECTORY_CHUNKS).collect();
        let wanted = s.changed.len() + of_directories.len();
        while s.spare.len() < wanted {
            let start = self.allocate_part(s)?;
            s.spare.push(start);
        }
        let changed = std::mem::take(&mut s.changed);
        let mut writes = Vec::new();
        let mut put = |s: &mut State, bytes: AlignedBuf, old: Part| {
            let start = s.spare.pop().unwrap_or_default();
            let crc = crc32c(&bytes);
            writes.push((self.offset(start), bytes));
            if old.start != 0 {
                s.former_parts.push(old.start);
            }
            Part { start, crc }
        };
        for c in &changed {
            let bytes = root::encode_chunk(&s.words[c * CHUNK_PAGES..(c + 1) * CHUNK_PAGES]);
            let old = s.chunks[*c];
            s.chunks[*c] = put(s, bytes, old);
        }
        for d in of_directories {
            let end = s.chunks.len().min((d + 1) * DIRECTORY_CHUNKS);
            let bytes = root::encode_directory(&s.chunks[d * DIRECTORY_CHUNKS..end]);
            let old = s.directories[d];
            s.directories[d] = put(s, bytes, old);
        }
        // From here on this root may name them.
        s.fresh.clear();
        s.room_changed = false;
        s.former_units = 0;
        Ok(Making {
            writes,
            root: Root {
                space: self.space,
                generation: s.generation + 1,
                format: self.format,
                pages: s.room,
                dictionary: s.stored,
                directories: s.directories.clone(),
            },
            changed,
            former: std::mem::take(&mut s.former),
            former_parts: std::mem::take(&mut s.former_parts),
        })
    }

    fn allocate_part(&self, s: &mut State) -> io::Result<u64> {
        match s.places.allocate(self.part_units()) {
            Some(start) => Ok(start),
            None => self.allocate_more(s, self.part_units()),
        }
    }

    fn write_root(&self, making: &Making, file: &dyn File) -> io::Result<()> {
        for (at, bytes) in &making.writes {
            file.write_now(bytes, *at)?;
        }
        // The pages and the map before the root that names them.
        if !base::mutant!("root-before-its-pages") {
            file.sync_now()?;
        }
        let root = making.root.encode();
        file.write_now(&root, Root::slot(making.root.generation))?;
        if base::mutant!("root-not-synced") {
            return Ok(());
        }
        file.sync_now()?;
        // In both slots before anything that the former root names is written over: a slot that is damaged later must not bring
        // that one back.
        file.write_now(&root, Root::slot(making.root.generation + 1))?;
        file.sync_now()?;
        Ok(())
    }
}

impl State {
    fn enter(&mut self, page: PageNo, place: Place) {
        let i = page.0 as usize;
        if self.words.len() <= i {
            let chunks = i / CHUNK_PAGES + 1;
            self.words.resize(chunks * CHUNK_PAGES, 0);
            self.chunks.resize(chunks, Part::default());
        }
        let old = Place::of(std::mem::replace(&mut self.words[i], place.word()));
        self.changed.insert(i / CHUNK_PAGES);
        let units = u64::from(place.units);
        self.used.1 += units;
        let unnamed = !self.fresh.insert(page.0);
        let Some(old) = old else {
            self.used.0 += 1;
            return;
        };
        let was = u64::from(old.units);
        self.used.1 -= was;
        if unnamed || base::mutant!("place-reused-before-a-root") {
            self.places.free(old.start, was);
        } else {
            self.retire(old.start, was);
        }
    }

    fn retire(&mut self, start: u64, units: u64) {
        self.former.push((start, units));
        self.former_units += units;
    }
}

#[cfg(test)]
mod tests;
