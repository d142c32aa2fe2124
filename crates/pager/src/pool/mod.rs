//! The buffer pool: frames, translation, latches, pins, reading pages in and the clock that finds victims.
//!
//! A lookup is one load from the tablespace's translation array and one check that the frame still holds the page; hits
//! write nothing shared but (at most once a round of the clock) the frame's mark. Dirty pages are never written here:
//! that is the cleaner's business. Latch order: see the README.

mod arena;
pub(crate) mod frame;
mod guard;
mod latch_waits;
mod long_waits;
mod page_read;
mod read_ahead;

pub use guard::{ExclusiveGuard, Pin, Pins, SharedGuard};

use crate::compressed::{self, CellsOf, CompressionCounters};
use crate::error::{OpError, Wait};
use crate::page::Page;
use crate::space::{Space, Spaces};
use arena::Arena;
use base::counters::Counter;
use base::lock::Mutex;
use base::perturb;
use base::{Event, Lsn, PageNo, SpaceId};
use frame::{COLD, FRESH, Frame, HOT, Latch};
use latch_waits::LatchWaits;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What the pool counted since start.
#[derive(Default)]
pub struct PoolCounters {
    /// Pages read from the device.
    pub reads: Counter,
    /// Those of them that nobody had asked for yet.
    pub ahead: Counter,
    /// Pages evicted.
    pub evicted: Counter,
    /// Times somebody had to wait for a free frame.
    pub free_waits: Counter,
}

type ReadResult = Result<(), OpError>;

#[derive(Default)]
struct Reading {
    done: OnceLock<ReadResult>,
    event: Event,
}

/// The pool.
pub struct Pool {
    frames: Box<[Frame]>,
    arena: Arena,
    free: Mutex<Vec<u32>>,
    free_len: AtomicUsize,
    free_event: Event,
    hand: AtomicU32,
    /// The open tablespaces.
    pub(crate) spaces: Spaces,
    reading: Mutex<HashMap<(u32, u32), Arc<Reading>>>,
    latch_waits: LatchWaits,
    /// Fired when free frames run low.
    pub(crate) pressure: Event,
    /// Why no frame will be freed by writing any more.
    closed: OnceLock<OpError>,
    /// Positions that the log does not use: from where it ended at the last crash, to where it went on.
    unused: OnceLock<(Lsn, Lsn)>,
    /// Counters for SHOW STATUS.
    pub counters: PoolCounters,
    /// What compression and decompression of pages came to.
    pub compression: CompressionCounters,
    /// Where the entries of a page lie.
    pub(crate) cells_of: CellsOf,
}

impl Pool {
    /// A pool of `frames` pages (at least 64).
    ///
    /// # Errors
    /// The system has no memory for it.
    pub fn new(frames: u32) -> io::Result<Pool> {
        let frames = frames.max(64);
        Ok(Pool {
            arena: Arena::new(frames)?,
            frames: (0..frames).map(|_| Frame::new()).collect(),
            free: Mutex::new((0..frames).rev().collect()),
            free_len: AtomicUsize::new(frames as usize),
            free_event: Event::new(),
            hand: AtomicU32::new(0),
            spaces: Spaces::default(),
            reading: Mutex::default(),
            latch_waits: LatchWaits::default(),
            pressure: Event::new(),
            closed: OnceLock::new(),
            unused: OnceLock::new(),
            counters: PoolCounters::default(),
            compression: CompressionCounters::default(),
            cells_of: compressed::unknown,
        })
    }

    /// A pool whose compressed pages may be arranged by their entries.
    pub(crate) fn knowing(self, cells_of: CellsOf) -> Pool {
        Pool { cells_of, ..self }
    }

    /// Says which positions the log does not use. A page that was changed there lost its log: it is damaged.
    pub(crate) fn set_unused(&self, from: Lsn, to: Lsn) {
        let _ = self.unused.set((from, to));
    }

    fn is_newer_than_log(&self, page: &[u8]) -> bool {
        let at = Lsn(base::le::get_u64(page, 16));
        self.unused
            .get()
            .is_some_and(|(from, to)| (*from < at) && (at < *to))
    }

    /// Number of frames.
    pub fn frames(&self) -> u32 {
        self.arena.frames()
    }

    /// Frames on the free list.
    pub fn free_frames(&self) -> usize {
        self.free_len.load(Ordering::Relaxed)
    }

    /// Free frames below which the cleaner makes more.
    pub(crate) fn low_water(&self) -> usize {
        (self.frames.len() / 32).clamp(16, 1024)
    }

    pub(crate) fn frame(&self, f: u32) -> &Frame {
        &self.frames[f as usize]
    }

    /// Runs `f` on the page's bytes without latching; the result counts only if the page did not change meanwhile,
    /// else `f` runs again. `f` must cope with any bytes.
    ///
    /// # Errors
    /// [`OpError::Wait`] for a page that is not resident; [`OpError::Dropped`].
    #[inline(always)]
    pub fn optimistic<R>(
        &self,
        space: &Space,
        page: PageNo,
        mut f: impl FnMut(&Page) -> R,
    ) -> Result<R, OpError> {
        loop {
            let Some(fr) = space.translation.get(page.0) else {
                return Err(self.missing(space, page));
            };
            perturb::point();
            let meta = &self.frames[fr as usize];
            let v = match meta.version_of(space.id(), page) {
                Ok(v) => v,
                Err(why) => {
                    self.not_latched(space, page, (fr, false), why)?;
                    continue;
                }
            };
            let r = f(self.arena.page(fr));
            if meta.unchanged(v) {
                meta.touch();
                return Ok(r);
            }
        }
    }

    /// Latches a resident page for reading.
    ///
    /// # Errors
    /// [`OpError::Wait`] for a page that is not resident; [`OpError::Dropped`].
    #[inline(always)]
    pub fn shared<'p>(&'p self, space: &Space, page: PageNo) -> Result<SharedGuard<'p>, OpError> {
        loop {
            let Some(fr) = space.translation.get(page.0) else {
                return Err(self.missing(space, page));
            };
            perturb::point();
            let meta = &self.frames[fr as usize];
            match meta.lock_shared_of(space.id(), page) {
                Latch::Taken => {
                    frame::note_latched();
                    meta.touch();
                    return Ok(SharedGuard {
                        pool: self,
                        frame: fr,
                    });
                }
                why => self.not_latched(space, page, (fr, false), why)?,
            }
        }
    }

    /// Latches a resident page for changing it in a mini-transaction.
    ///
    /// # Errors
    /// [`OpError::Wait`] for a page that is not resident; [`OpError::Dropped`].
    #[inline(always)]
    pub fn exclusive<'p>(
        &'p self,
        space: &Space,
        page: PageNo,
    ) -> Result<ExclusiveGuard<'p>, OpError> {
        loop {
            let Some(fr) = space.translation.get(page.0) else {
                return Err(self.missing(space, page));
            };
            perturb::point();
            let meta = &self.frames[fr as usize];
            match meta.lock_exclusive_of(space.id(), page) {
                Latch::Taken => {
                    frame::note_latched();
                    meta.touch();
                    return Ok(ExclusiveGuard {
                        pool: self,
                        frame: fr,
                        fresh: false,
                        space: None,
                    });
                }
                why => self.not_latched(space, page, (fr, true), why)?,
            }
        }
    }

    /// The frame holds another page by now: its entry is about to change, unless the tablespace was dropped, whose entries nobody keeps. Or
    /// others have latched it for long: waits until they do not, or it holds another page, and has that noted meanwhile. `alone`: none of them may.
    #[cold]
    fn not_latched(
        &self,
        space: &Space,
        page: PageNo,
        (fr, alone): (u32, bool),
        why: Latch,
    ) -> Result<(), OpError> {
        if space.is_dropped() {
            return Err(OpError::Dropped(space.id()));
        }
        if why == Latch::Busy {
            let _noted = self.latch_waits.note(fr);
            let meta = &self.frames[fr as usize];
            let is_kept = || match meta.holders() {
                (_, true) => true,
                (n, false) => n > 0 && alone,
            };
            while meta.still_holds(space.id(), page) && is_kept() {
                std::thread::yield_now();
            }
        }
        // Whoever changes it may be waiting for this processor.
        std::thread::yield_now();
        Ok(())
    }

    #[cold]
    fn missing(&self, space: &Space, page: PageNo) -> OpError {
        if space.is_dropped() {
            OpError::Dropped(space.id())
        } else {
            OpError::Wait(Wait::Page(space.id(), page))
        }
    }

    /// A latched, zeroed frame for a page whose old content (if any) does not matter.
    pub(crate) fn fresh<'p>(
        &'p self,
        space: &Arc<Space>,
        page: PageNo,
    ) -> Result<ExclusiveGuard<'p>, OpError> {
        if space.translation.get(page.0).is_some() {
            // The page was freed and is still in memory: its next use takes the same frame.
            match self.exclusive(space, page) {
                Err(OpError::Wait(Wait::Page(..))) => {}
                r => return r,
            }
        }
        let fr = self.take_free().ok_or(OpError::Wait(Wait::FreeFrame))?;
        let meta = &self.frames[fr as usize];
        meta.lock_unused();
        // Before the page can be found: who finds it waits for it.
        meta.set_identity(Some((space.id(), page)));
        {
            // Whoever begins to read the old content in either finds our entry, or is found here.
            let reading = self.reading.lock();
            if reading.contains_key(&(space.id().0, page.0))
                || space.translation.get(page.0).is_some()
            {
                drop(reading);
                meta.set_identity(None);
                meta.unlock_exclusive();
                self.put_free(fr);
                return Err(OpError::Wait(Wait::Reading(space.id(), page)));
            }
            space.translation.set(page.0, Some(fr));
        }
        let p = self.arena.page_mut(fr);
        p.bytes_mut().fill(0);
        p.set_identity(space.id(), page);
        frame::note_latched();
        meta.mark.store(HOT, Ordering::Relaxed);
        Ok(ExclusiveGuard {
            pool: self,
            frame: fr,
            fresh: true,
            space: Some(space.clone()),
        })
    }

    fn give_back_fresh(&self, fr: u32, space: Option<&Space>) {
        let meta = &self.frames[fr as usize];
        if let (Some((_, p)), Some(space)) = (meta.identity(), space) {
            space.translation.set(p.0, None);
        }
        meta.set_identity(None);
        self.put_free(fr);
    }

    fn take_free(&self) -> Option<u32> {
        let f = self.pop_free().or_else(|| {
            self.evict_some(8, 256);
            self.pop_free()
        });
        if f.is_none() || self.free_frames() < self.low_water() / 2 {
            self.ask_for_frames();
        }
        f
    }

    /// Has the cleaner make some.
    fn ask_for_frames(&self) {
        if !base::mutant!("frames-asked-for-without-a-word") {
            self.pressure.fire();
        }
    }

    fn pop_free(&self) -> Option<u32> {
        let mut l = self.free.lock();
        let f = l.pop();
        self.free_len.store(l.len(), Ordering::Relaxed);
        f
    }

    fn put_free(&self, fr: u32) {
        {
            let mut l = self.free.lock();
            l.push(fr);
            self.free_len.store(l.len(), Ordering::Relaxed);
        }
        if !base::mutant!("frame-freed-without-a-word") {
            self.free_event.fire();
        }
    }

    /// The cleaner has ended, because of `failure` or of a shutdown.
    pub(crate) fn close(&self, failure: Option<Arc<io::Error>>) {
        let _ = self
            .closed
            .set(failure.map_or_else(crate::error::closed, OpError::Io));
        self.free_event.fire();
    }

    /// Waits until a frame is (probably) free.
    ///
    /// # Errors
    /// The page cleaner has ended, and there will be none: what it ended with.
    pub async fn wait_free(&self) -> Result<(), OpError> {
        self.counters.free_waits.inc();
        self.free_event
            .wait_for(|| {
                if self.free_frames() == 0 {
                    self.evict_some(8, 256);
                }
                if self.free_frames() == 0 {
                    self.ask_for_frames();
                    return self.closed.get().cloned().map(Err);
                }
                Some(Ok(()))
            })
            .await
    }

    /// Turns the clock over at most `look` frames and evicts up to `want` clean, cold, unpinned pages.
    pub(crate) fn evict_some(&self, want: usize, look: usize) -> usize {
        let mut got = 0;
        for _ in 0..look {
            let fr = self.hand.fetch_add(1, Ordering::Relaxed) % self.frames.len() as u32;
            let meta = &self.frames[fr as usize];
            if meta.identity().is_none() || meta.is_pinned() {
                continue;
            }
            if meta.mark.load(Ordering::Relaxed) != COLD {
                meta.mark.store(COLD, Ordering::Relaxed);
                continue;
            }
            if meta.is_clean() && self.evict(fr) {
                got += 1;
                if got == want {
                    break;
                }
            }
        }
        got
    }

    fn evict(&self, fr: u32) -> bool {
        let taken = self.frames[fr as usize].take_out(|space, page| {
            // A space that is not registered was dropped: nobody translates its pages any more.
            if let Some(space) = self.spaces.get(space) {
                space.translation.set(page.0, None);
            }
        });
        if taken {
            self.counters.evicted.inc();
            self.put_free(fr);
        }
        taken
    }

    /// Pins the page if it is resident.
    pub fn pin(self: &Arc<Self>, space: &Space, page: PageNo) -> Option<Pin> {
        let g = self.shared(space, page).ok()?;
        self.frames[g.frame as usize].pin();
        let frame = g.frame;
        drop(g);
        Some(Pin {
            pool: self.clone(),
            frame,
        })
    }

    /// Reads the page in if it is not resident, and pins it.
    ///
    /// # Errors
    /// [`OpError::Dropped`]; [`OpError::Corrupt`]: the page is damaged; [`OpError::Short`], [`OpError::Io`].
    pub async fn fetch(self: &Arc<Self>, space: &Arc<Space>, page: PageNo) -> Result<Pin, OpError> {
        loop {
            match self.fetch_now(space, page).await {
                Err(OpError::Wait(Wait::FreeFrame)) => self.wait_free().await?,
                r => return r,
            }
        }
    }

    /// As [`Pool::fetch`], but answers [`Wait::FreeFrame`] rather than wait for one.
    pub(crate) async fn fetch_now(
        self: &Arc<Self>,
        space: &Arc<Space>,
        page: PageNo,
    ) -> Result<Pin, OpError> {
        let key = (space.id().0, page.0);
        loop {
            if space.translation.get(page.0).is_some()
                && let Some(p) = self.pin(space, page)
            {
                return Ok(p);
            }
            if space.is_dropped() {
                return Err(OpError::Dropped(space.id()));
            }
            let (state, mine) = {
                let mut r = self.reading.lock();
                match r.get(&key) {
                    Some(s) => (s.clone(), false),
                    None => {
                        let s = Arc::new(Reading::default());
                        r.insert(key, s.clone());
                        (s, true)
                    }
                }
            };
            if mine {
                if space.translation.get(page.0).is_some() {
                    // It arrived between the look and the entry.
                    self.finish_read(key, &state, Ok(()));
                    continue;
                }
                // If this future is dropped before the read starts, those who wait must look again.
                let abandoned = Abandon {
                    pool: self,
                    key,
                    state: state.clone(),
                    armed: true,
                };
                let fr = self.take_free().ok_or(OpError::Wait(Wait::FreeFrame))?;
                abandoned.disarm();
                self.start_read(space, page, fr, state.clone());
            }
            state.event.wait_for(|| state.done.get().cloned()).await?;
        }
    }

    /// Waits until nobody is reading the page in.
    pub(crate) async fn wait_read(&self, space: SpaceId, page: PageNo) {
        let state = self.reading.lock().get(&(space.0, page.0)).cloned();
        if let Some(s) = state {
            s.event.wait_for(|| s.done.get().map(|_| ())).await;
        }
    }

    fn publish(&self, space: &Space, page: PageNo, fr: u32) {
        let meta = &self.frames[fr as usize];
        meta.lock_unused();
        meta.set_identity(Some((space.id(), page)));
        meta.mark.store(FRESH, Ordering::Relaxed);
        meta.rec_lsn.store(0, Ordering::Relaxed);
        meta.writing_lsn.store(0, Ordering::Relaxed);
        space.translation.set(page.0, Some(fr));
        meta.unlock_exclusive();
    }

    fn finish_read(&self, key: (u32, u32), state: &Arc<Reading>, result: ReadResult) {
        self.reading.lock().remove(&key);
        let _ = state.done.set(result);
        if !base::mutant!("read-ended-without-a-word") {
            state.event.fire();
        }
    }

    /// Forgets all pages of a dropped tablespace. Its pages must not be wanted any more.
    pub(crate) fn forget_space(&self, space: &Space) {
        let pages = space.room();
        if pages < self.frames() {
            // A small one is not worth a look at every frame.
            let frames = (0..pages).filter_map(|p| space.translation.get(p));
            frames.for_each(|fr| self.forget_frame(space, fr));
            return;
        }
        (0..self.frames()).for_each(|fr| self.forget_frame(space, fr));
    }

    /// Frees the frame, where it holds a page of this dropped tablespace.
    fn forget_frame(&self, space: &Space, fr: u32) {
        let meta = &self.frames[fr as usize];
        let its = |m: &Frame| m.identity().filter(|(s, _)| *s == space.id());
        if its(meta).is_none() {
            return;
        }
        meta.lock_exclusive();
        let Some((_, p)) = its(meta) else {
            meta.unlock_exclusive();
            return;
        };
        meta.rec_lsn.store(0, Ordering::Relaxed);
        if meta.is_pinned() || meta.writing_lsn.load(Ordering::Acquire) != 0 {
            // Not dirty any more, so that the clock takes it later.
            meta.unlock_exclusive();
            return;
        }
        space.translation.set(p.0, None);
        meta.set_identity(None);
        meta.unlock_exclusive();
        self.put_free(fr);
    }

    /// Copies a page for the cleaner. Gives the page's LSN; `None` if it is gone, clean, or latched exclusively now.
    pub(crate) fn copy_for_write(&self, fr: u32, out: &mut [u8]) -> Option<(SpaceId, PageNo, Lsn)> {
        let meta = &self.frames[fr as usize];
        meta.lock_shared();
        let r = meta.begin_write().map(|(s, p)| {
            let page = self.arena.page(fr);
            out.copy_from_slice(&page.bytes()[..]);
            (s, p, page.lsn())
        });
        meta.unlock_shared();
        r
    }

    /// The copy made by [`Pool::copy_for_write`] arrived on the device, or did not.
    pub(crate) fn written(&self, fr: u32, ok: bool) {
        self.frames[fr as usize].end_write(ok);
    }
}

struct Abandon<'a> {
    pool: &'a Pool,
    key: (u32, u32),
    state: Arc<Reading>,
    armed: bool,
}

impl Abandon<'_> {
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.pool.finish_read(self.key, &self.state, Ok(()));
        }
    }
}
