//! A batch of dirty pages on its way to the device: copied, behind its log, into the doublewrite file if torn pages would be lost, compressed where
//! their tablespace is compressed.
//!
//! Neighbours in a file are one write. Compressed pages that are written together are made neighbours, as far as there is room for that, and their
//! write one of whole blocks of the file system: one of less the file system does by itself, with everybody else's to the file kept waiting.

use super::Cleaner;
use crate::compressed::{CellsOf, CompressedPage, PageCompressor, Place, Shadow};
use crate::doublewrite::BATCH;
use crate::error::OpError;
use crate::page::{self, PAGE_SIZE};
use crate::space::Space;
use base::environment::is_full;
use base::{AlignedBuf, IoBuf, Lsn, PageNo, SpaceId};
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Pages of which a dictionary is trained, at most.
const SAMPLES_MOST: usize = 64;
/// Pages that make it worth while to have another thread compress a part of them: about a millisecond's.
const PAGES_A_THREAD: usize = 8;
/// Threads that compress, at most.
const PACKERS_MAX: usize = 4;
/// Bytes of pages that are written at once, at most.
const RUN_BYTES_MAX: usize = 512 << 10;

/// What those who compress need: as many as there are cores, up to a few.
pub(crate) fn compressors(cells_of: CellsOf) -> Vec<PageCompressor> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let compressor = |_| PageCompressor::new(cells_of);
    (0..cores.min(PACKERS_MAX)).map(compressor).collect()
}

/// A dirty page picked for writing.
struct Picked {
    frame: u32,
    space: Arc<Space>,
    page: PageNo,
}

/// Pages on their way to the device: neighbours in their file.
struct Write {
    done: Pin<Box<dyn Future<Output = (IoBuf, io::Result<usize>)> + Send>>,
    bytes: usize,
    /// Which of the picked ones is the first of them.
    first: usize,
    pages: usize,
    /// Where they go in a compressed tablespace, and the units written behind them.
    places: Option<(Vec<Place>, u64)>,
}

/// A page as it is compressed, and the microseconds that took; none where its tablespace is not compressed.
type TimedCompression = Option<(io::Result<CompressedPage>, u64)>;

impl Cleaner {
    pub(super) async fn write_batch(&mut self, frames: &[u32]) -> Result<(), OpError> {
        let mut staged = self
            .scratch
            .take()
            .unwrap_or_else(|| AlignedBuf::zeroed(BATCH * PAGE_SIZE));
        let mut picked: Vec<Picked> = Vec::with_capacity(frames.len());
        let mut newest = Lsn::NONE;
        for f in frames {
            let at = picked.len() * PAGE_SIZE;
            let out = &mut staged[at..at + PAGE_SIZE];
            let Some((s, p, lsn)) = self.pool.copy_for_write(*f, out) else {
                continue;
            };
            let Some(space) = self.live_space(s) else {
                self.pool.written(*f, true);
                continue;
            };
            page::seal(out);
            if !s.is_temporary() {
                newest = newest.max(lsn);
            }
            picked.push(Picked {
                frame: *f,
                space,
                page: p,
            });
        }
        let r = self.write_picked(&staged, &picked, newest).await;
        self.scratch = Some(staged);
        if r.is_err() {
            for p in &picked {
                self.pool.written(p.frame, false);
            }
        }
        r
    }

    fn live_space(&self, id: SpaceId) -> Option<Arc<Space>> {
        self.pool.spaces.get(id).filter(|s| !s.is_dropped())
    }

    async fn write_picked(
        &mut self,
        staged: &[u8],
        picked: &[Picked],
        newest: Lsn,
    ) -> Result<(), OpError> {
        if picked.is_empty() {
            return Ok(());
        }
        // The rule of write-ahead logging: no page before its log.
        if !base::mutant!("page-before-its-log") {
            self.state.begin_step("waits for the log of pages");
            self.log.wait_durable(newest).await?;
        }
        self.state.begin_step("writes pages");
        let copied = |p: &Picked| p.space.shadow().is_none() && !p.space.id().is_temporary();
        let copied = picked.iter().any(copied);
        if let Some(dw) = self.doublewrite.as_mut().filter(|_| copied) {
            if dw.next_reuses() {
                match self.checkpointer.sync_spaces() {
                    // Of pages that are not copied there.
                    Ok(()) | Err(OpError::SpaceFull(_)) => dw.all_synced(),
                    Err(e) => return Err(e),
                }
            }
            if !base::mutant!("doublewrite-skipped") {
                dw.store(&staged[..picked.len() * PAGE_SIZE])
                    .map_err(OpError::io)?;
            }
        }
        self.look_for_dictionaries(staged, picked)?;
        let compressed = self.compress(staged, picked);
        let mut writes = Vec::with_capacity(picked.len());
        let begun = self.begin_writes(staged, picked, compressed, &mut writes);
        let mut failed = begun.err();
        for w in writes {
            let (b, r) = w.done.await;
            let whole = matches!(r, Ok(n) if n == w.bytes);
            let pages = &picked[w.first..w.first + w.pages];
            match (&pages[0].space.shadow(), w.places) {
                (Some(shadow), Some((places, rest))) => {
                    enter_places(shadow, pages, places, rest, whole)
                }
                (None, _) => self
                    .staging
                    .extend(b.into_owned().filter(|b| b.len() == PAGE_SIZE)),
                _ => {}
            }
            match r {
                Ok(_) if whole => {
                    // Again after the write: a sync that ran in between may not have covered it.
                    pages[0].space.unsynced.store(true, Ordering::Release);
                    for p in pages {
                        self.pool.written(p.frame, true);
                    }
                }
                Ok(_) => failed = Some(io::Error::from(io::ErrorKind::WriteZero)),
                Err(e) => failed = Some(e),
            }
        }
        self.state.counters.pages_written.add(picked.len() as u64);
        self.state.counters.batches.inc();
        match failed {
            None => Ok(()),
            Some(e) => Err(OpError::io(e)),
        }
    }

    /// Trains dictionaries for tablespaces that have none yet and enough pages in this batch. Some 30 ms, once a file.
    fn look_for_dictionaries(&mut self, staged: &[u8], picked: &[Picked]) -> Result<(), OpError> {
        // They are sorted by tablespace.
        let mut rest = 0..picked.len();
        while let Some(first) = rest.next() {
            let space = &picked[first].space;
            let same = |p: &&Picked| p.space.id() == space.id();
            let n = picked[first..].iter().take_while(same).count();
            rest = first + n..picked.len();
            let Some(shadow) = space.shadow().filter(|s| s.wants_dictionary()) else {
                continue;
            };
            if n < shadow.samples_wanted() {
                continue;
            }
            shadow.has_trained();
            let pages = staged[first * PAGE_SIZE..(first + n) * PAGE_SIZE].chunks_exact(PAGE_SIZE);
            let pages: Vec<&[u8]> = pages.take(SAMPLES_MOST).collect();
            let pays = |with, without| shadow.dictionary_pays(with, without);
            let made = self.compressors[0].train(&pages, shadow.format(), pays);
            let kept = match made.map_err(OpError::io)? {
                Some(made) => shadow.keep_dictionary(made),
                None => Ok(()),
            };
            match kept {
                // It goes without.
                Err(e) if !is_full(&e) => return Err(OpError::io(e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Compresses the pages of compressed tablespaces, several threads a run of them each.
    fn compress(&mut self, staged: &[u8], picked: &[Picked]) -> Vec<TimedCompression> {
        if picked.iter().all(|p| p.space.shadow().is_none()) {
            return picked.iter().map(|_| None).collect();
        }
        let compression = &self.pool.compression;
        let threads = (picked.len() / PAGES_A_THREAD).clamp(1, self.compressors.len());
        let each = picked.len().div_ceil(threads);
        let pages = staged.chunks(each * PAGE_SIZE).zip(picked.chunks(each));
        let parts = base::share_out(
            self.compressors.iter_mut().zip(pages).collect(),
            |(compressor, (staged, picked))| {
                let pages = staged.chunks_exact(PAGE_SIZE).zip(picked);
                let compress = |(page, p): (&[u8], &Picked)| {
                    let shadow = p.space.shadow()?;
                    let (format, dictionary) = (shadow.format(), shadow.dictionary());
                    Some(compression.timed(|| compressor.compress(page, format, dictionary)))
                };
                pages.map(compress).collect::<Vec<_>>()
            },
        );
        parts.into_iter().flatten().collect()
    }

    /// Starts the writes of sealed pages. On an error some have not begun.
    fn begin_writes(
        &mut self,
        staged: &[u8],
        picked: &[Picked],
        compressed: Vec<TimedCompression>,
        writes: &mut Vec<Write>,
    ) -> io::Result<()> {
        // Pages of one tablespace that are to be written at once: the first one's number, and what they are compressed into.
        let (mut first, mut bytes, mut run) = (0, 0, Vec::new());
        for (i, compressed) in compressed.into_iter().enumerate() {
            let p = &picked[i];
            p.space.unsynced.store(true, Ordering::Release);
            if i > first {
                let before = &picked[i - 1];
                let same = before.space.id() == p.space.id();
                let next = compressed.is_some() || before.page.0 + 1 == p.page.0;
                if !(same && next) || bytes >= RUN_BYTES_MAX {
                    self.begin_run(staged, picked, first..i, std::mem::take(&mut run), writes)?;
                    (first, bytes) = (i, 0);
                }
            }
            let Some((compressed, us)) = compressed else {
                bytes += PAGE_SIZE;
                continue;
            };
            let compressed = compressed?;
            if let Some(format) = p.space.compressed_format() {
                let fits = !compressed.plain
                    && (format.block == format.unit
                        || compressed.bytes.len() <= format.block as usize);
                let (id, page) = (p.space.id(), &staged[i * PAGE_SIZE..(i + 1) * PAGE_SIZE]);
                self.pool
                    .compression
                    .compressed(format.block, id, page, fits, us);
            }
            bytes += compressed.bytes.len();
            run.push(compressed);
        }
        self.begin_run(staged, picked, first..picked.len(), run, writes)
    }

    /// Starts the writes of pages of one tablespace: compressed ones, or such as follow each other in the file.
    fn begin_run(
        &mut self,
        staged: &[u8],
        picked: &[Picked],
        pages: Range<usize>,
        compressed: Vec<CompressedPage>,
        writes: &mut Vec<Write>,
    ) -> io::Result<()> {
        if !compressed.is_empty() {
            return self.begin_compressed(picked, pages.start, compressed, writes);
        }
        let bytes = &staged[pages.start * PAGE_SIZE..pages.end * PAGE_SIZE];
        let staging = match pages.len() {
            1 => self.staging.pop(),
            _ => None,
        };
        let mut b = staging.unwrap_or_else(|| AlignedBuf::zeroed(bytes.len()));
        b.copy_from_slice(bytes);
        let offset = u64::from(picked[pages.start].page.0) * PAGE_SIZE as u64;
        writes.push(begin(picked, (pages.start, pages.len()), b, offset, None));
        Ok(())
    }

    /// Starts the writes of compressed pages of one tablespace, the first of which is the one with the number `first`: where one place can be found
    /// for all of them at once, else for the halves. A page for which the disk has no room stays dirty.
    fn begin_compressed(
        &self,
        picked: &[Picked],
        first: usize,
        mut pages: Vec<CompressedPage>,
        writes: &mut Vec<Write>,
    ) -> io::Result<()> {
        let n = pages.len();
        let Some(shadow) = picked.get(first).and_then(|p| p.space.shadow()) else {
            return Ok(());
        };
        let format = shadow.format();
        let units = |p: &CompressedPage| format.units(p.bytes.len());
        let place = |start: &mut u64, p: &CompressedPage| {
            let units = units(p);
            let place = Place {
                start: *start,
                units: units as u8,
                plain: p.plain,
            };
            *start += units;
            place
        };
        if n > 1 {
            let all: u64 = pages.iter().map(units).sum();
            let Some((start, rest)) = shadow.allocate_run(all) else {
                let second = pages.split_off(n / 2);
                self.begin_compressed(picked, first, pages, writes)?;
                return self.begin_compressed(picked, first + n / 2, second, writes);
            };
            let mut bytes = AlignedBuf::zeroed((all + rest) as usize * format.unit as usize);
            let (mut next, mut at) = (start, 0);
            let mut places = Vec::with_capacity(n);
            for p in &pages {
                places.push(place(&mut next, p));
                bytes[at..at + p.bytes.len()].copy_from_slice(&p.bytes);
                at += p.bytes.len();
            }
            let places = Some((places, rest));
            writes.push(begin(
                picked,
                (first, n),
                bytes,
                shadow.offset(start),
                places,
            ));
            return Ok(());
        }
        let Some(page) = pages.pop() else {
            return Ok(());
        };
        match shadow.allocate(units(&page)) {
            Ok(mut start) => {
                let offset = shadow.offset(start);
                let places = Some((vec![place(&mut start, &page)], 0));
                writes.push(begin(picked, (first, 1), page.bytes, offset, places));
            }
            Err(e) if is_full(&e) => {
                let space = picked[first].space.id();
                self.state.note_starved(OpError::SpaceFull(space));
                self.pool.written(picked[first].frame, false);
            }
            Err(e) => return Err(e),
        }
        Ok(())
    }
}

fn begin(
    picked: &[Picked],
    (first, pages): (usize, usize),
    bytes: AlignedBuf,
    offset: u64,
    mut places: Option<(Vec<Place>, u64)>,
) -> Write {
    let space = &picked[first].space;
    if let Some(shadow) = space.shadow()
        && base::mutant!("page-entered-before-it-is-written")
        && let Some((places, _)) = places.take()
    {
        for (p, place) in picked[first..].iter().zip(places) {
            shadow.enter(p.page, place);
        }
    }
    let len = bytes.len();
    let write = base::environment::write(&**space.file(), IoBuf::owned(bytes), offset);
    Write {
        done: Box::pin(write),
        bytes: len,
        first,
        pages,
        places,
    }
}

/// Pages were written to new places, with so many units behind them, or not.
fn enter_places(shadow: &Shadow, pages: &[Picked], places: Vec<Place>, rest: u64, written: bool) {
    if let Some(last) = places.last()
        && rest > 0
    {
        shadow.release(last.start + u64::from(last.units), rest);
    }
    for (p, place) in pages.iter().zip(places) {
        match written {
            true => shadow.enter(p.page, place),
            false => shadow.release(place.start, u64::from(place.units)),
        }
    }
}
