//! The page cleaner: keeps free frames ahead of demand and writes dirty pages at the pace the log fills, so that neither a
//! reader nor a committer ever flushes.
//!
//! Pace: the log's capacity is the budget. A page is written once its oldest change is further back than half of the
//! budget; the log itself wakes the cleaner each time it has grown by a small share of it. So the rate of writing follows
//! the rate of change with no timer and no knob, and a page that changes often is written once per half budget.

use crate::checkpoint::{Checkpointer, FULL_DISK_RETRY_US};
use crate::doublewrite::{BATCH, Doublewrite};
use crate::error::OpError;
use crate::log::Log;
use crate::packed::{Packer, Place, Shadow};
use crate::page::{self, PAGE_SIZE};
use crate::pool::Pool;
use crate::pool::frame::{COLD, Frame};
use crate::space::Space;
use base::counters::Counter;
use base::{AlignedBuf, Clock, IoBuf, Lsn, PageNo, SpaceId, Spawn};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::Poll;

/// Pages of which a dictionary is trained, at most.
const SAMPLES_MOST: usize = 64;

/// What the cleaner needs to know and tells.
pub(crate) struct CleanerState {
    /// Bytes of log that may lie between the oldest unwritten change and the log's end.
    pub(crate) budget: u64,
    pub(crate) stop: AtomicBool,
    pub(crate) counters: CleanerCounters,
    /// Asked to write every page whose oldest change is below this.
    pub(crate) flush_to: AtomicU64,
    pub(crate) flushed: base::Event,
    /// Rounds begun.
    pub(crate) rounds: AtomicU64,
    /// The last round that wanted room on a full disk, and the compressed tablespace for which it did; 0: none yet.
    pub(crate) starved: (AtomicU64, AtomicU32),
}

impl CleanerState {
    /// There was no room on the disk for a page or the root of this tablespace.
    fn note_starved(&self, space: SpaceId) {
        let round = self.rounds.load(Ordering::Relaxed);
        self.starved.1.store(space.0, Ordering::Relaxed);
        self.starved.0.store(round, Ordering::Release);
    }

    /// The tablespace for which a round wanted room that began after `round`.
    pub(crate) fn starved_since(&self, round: u64) -> Option<SpaceId> {
        let starved = self.starved.0.load(Ordering::Acquire) > round;
        starved.then(|| SpaceId(self.starved.1.load(Ordering::Relaxed)))
    }
}

/// What the cleaner counted since start.
#[derive(Default)]
pub struct CleanerCounters {
    /// Pages written.
    pub pages_written: Counter,
    /// Batches written.
    pub batches: Counter,
}

/// A dirty page picked for writing.
struct Picked {
    frame: u32,
    space: Arc<Space>,
    page: PageNo,
}

pub(crate) struct Cleaner {
    pub(crate) pool: Arc<Pool>,
    pub(crate) log: Arc<Log>,
    pub(crate) state: Arc<CleanerState>,
    pub(crate) checkpointer: Arc<Checkpointer>,
    pub(crate) spawn: Arc<dyn Spawn>,
    pub(crate) doublewrite: Option<Doublewrite>,
    pub(crate) staging: Vec<AlignedBuf>,
    pub(crate) scratch: Option<AlignedBuf>,
    pub(crate) packer: Packer,
    pub(crate) clock: Arc<dyn Clock>,
}

/// A page on its way to the device.
struct Write {
    done: Pin<Box<dyn Future<Output = (IoBuf, io::Result<usize>)> + Send>>,
    bytes: usize,
    /// Where it goes in a compressed tablespace.
    place: Option<Place>,
}

impl Cleaner {
    /// Works until told to stop.
    pub(crate) async fn run(mut self) {
        let step = (self.state.budget / 64).max(1 << 16);
        let mut starved = false;
        loop {
            let over = || self.state.stop.load(Ordering::Acquire) || self.log.failure().is_some();
            let stop = match starved {
                // What was asked for is still to be done.
                true => over(),
                false => self.wait_for_work(step).await,
            };
            if stop {
                // Nobody will make free frames or flush any more: those who wait for it must not wait on.
                self.pool.close(self.log.failure());
                self.state.flushed.fire();
                return;
            }
            let round = self.state.rounds.fetch_add(1, Ordering::AcqRel);
            self.log.urgent.store(false, Ordering::Release);
            self.make_free().await;
            if self.pool.free_frames() < self.pool.low_water() {
                // What is left is pinned. Those who hold it may share this thread.
                base::seams::give_way(&*self.spawn).await;
            }
            let end = self.log.complete().0;
            let aged = Lsn(end.saturating_sub(self.state.budget / 2));
            let drain = self.log.drain();
            let want = aged
                .max(Lsn(self.state.flush_to.load(Ordering::Acquire)))
                .max(drain);
            let done = self.write_older_than(want).await;
            // A request is answered, or the log is closed and nobody may wait for it any more.
            let _ = self
                .state
                .flush_to
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, |f| {
                    (f <= want.0).then_some(0)
                });
            self.state.flushed.fire();
            let due = match &done {
                Ok(()) if !drain.is_none() => self.checkpointer.checkpoint(false).await,
                Ok(()) => self.checkpointer.maybe_checkpoint().await,
                Err(_) => Ok(()),
            };
            match done.and(due) {
                // A page that cannot be written is not retried as if nothing had happened.
                Err(OpError::Io(e)) => self.log.close_failed(&e),
                Err(OpError::SpaceFull(space)) => self.state.note_starved(space),
                _ => {}
            }
            starved = self.state.starved_since(round).is_some();
            if starved {
                // A full disk is: no event tells that somebody else made room there.
                self.rest(FULL_DISK_RETRY_US / 10).await;
            } else if !drain.is_none() {
                self.log.drained(drain);
            }
        }
    }

    /// Waits for so many microseconds, or for the end.
    async fn rest(&self, us: u64) {
        let until = self.clock.now_us() + us;
        poll_fn(|cx| {
            if self.state.stop.load(Ordering::Acquire) || self.clock.now_us() >= until {
                return Poll::Ready(());
            }
            self.log.growth.park(cx);
            self.clock.wake_at(until, cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    async fn wait_for_work(&self, step: u64) -> bool {
        let mark = self.log.complete().0 + step;
        self.log.growth_mark.store(mark, Ordering::Relaxed);
        let mut first = true;
        poll_fn(|cx| {
            let ready = || {
                if self.state.stop.load(Ordering::Acquire) || self.log.failure().is_some() {
                    return Some(true);
                }
                let short = self.pool.free_frames() < self.pool.low_water() && self.pool_is_full();
                let asked = self.state.flush_to.load(Ordering::Acquire) > 0
                    || self.log.urgent.load(Ordering::Acquire)
                    || !self.log.drain().is_none();
                // `growth_mark` was reset by the log when it passed it.
                let grown = self.log.growth_mark.load(Ordering::Relaxed) != mark
                    || self.log.written().0 >= mark;
                (short || asked || grown).then_some(false)
            };
            if !std::mem::take(&mut first)
                && let Some(r) = ready()
            {
                return Poll::Ready(r);
            }
            self.pool.pressure.park(cx);
            self.log.growth.park(cx);
            match ready() {
                Some(r) => Poll::Ready(r),
                None => Poll::Pending,
            }
        })
        .await
    }

    fn pool_is_full(&self) -> bool {
        // There is something to evict or to write only when most frames are in use.
        self.pool.free_frames() < self.pool.frames() as usize / 2
    }

    /// Evicts clean pages and writes dirty ones under the clock hand until enough frames are free.
    async fn make_free(&mut self) {
        let target = self.pool.low_water() * 2;
        let all = self.pool.frames() as usize;
        let mut rounds = 0;
        while self.pool.free_frames() < target && rounds < 4 {
            let want = target - self.pool.free_frames();
            if self.pool.evict_some(want, all / 4 + 64) >= want {
                return;
            }
            // Not enough clean ones: write the cold dirty pages, oldest first.
            let mut cold: Vec<(Lsn, u32)> = self
                .dirty(|f| f.mark.load(Ordering::Relaxed) == COLD)
                .collect();
            if cold.is_empty() {
                cold = self.dirty(|_| true).collect();
            }
            cold.sort_unstable();
            cold.truncate((target * 2).max(BATCH));
            let frames: Vec<u32> = cold.into_iter().map(|(_, f)| f).collect();
            if let Err(OpError::Io(e)) = self.write_frames(frames).await {
                self.log.close_failed(&e);
                return;
            }
            rounds += 1;
        }
    }

    fn dirty<'a>(
        &'a self,
        keep: impl Fn(&Frame) -> bool + 'a,
    ) -> impl Iterator<Item = (Lsn, u32)> + 'a {
        (0..self.pool.frames()).filter_map(move |i| {
            let f = self.pool.frame(i);
            let l = f.oldest_change()?;
            (f.identity().is_some() && keep(f)).then_some((l, i))
        })
    }

    async fn write_older_than(&mut self, lsn: Lsn) -> Result<(), OpError> {
        let frames: Vec<u32> = self
            .dirty(|_| true)
            .filter(|(l, _)| *l < lsn)
            .map(|(_, f)| f)
            .collect();
        self.write_frames(frames).await
    }

    async fn write_frames(&mut self, mut frames: Vec<u32>) -> Result<(), OpError> {
        // Neighbours in the file go out together; the order costs nothing and some devices like it.
        // Cached: a frame may change hands while they are being sorted.
        frames.sort_by_cached_key(|f| self.pool.frame(*f).identity().map(|(s, p)| (s.0, p.0)));
        // Compressed tablespaces apart: their pages need no copy in the doublewrite file, and a batch is copied there as a whole.
        let (packed, plain): (Vec<u32>, Vec<u32>) = frames.into_iter().partition(|f| {
            let id = self.pool.frame(*f).identity();
            let space = id.and_then(|(s, _)| self.pool.spaces.get(s));
            space.is_some_and(|s| s.shadow().is_some())
        });
        for batch in plain.chunks(BATCH).chain(packed.chunks(BATCH)) {
            self.write_batch(batch).await?;
        }
        Ok(())
    }

    async fn write_batch(&mut self, frames: &[u32]) -> Result<(), OpError> {
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
            newest = newest.max(lsn);
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
            self.log.wait_durable(newest).await?;
        }
        let copied = picked.iter().any(|p| p.space.shadow().is_none());
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
        let mut writes = Vec::with_capacity(picked.len());
        let mut failed: Option<io::Error> = None;
        for (page, p) in staged.chunks_exact(PAGE_SIZE).zip(picked) {
            match self.begin_write(page, p) {
                Ok(w) => writes.push(w),
                Err(e) => {
                    failed = Some(e);
                    break;
                }
            }
        }
        for (w, p) in writes.into_iter().zip(picked) {
            let Some(w) = w else {
                self.pool.written(p.frame, false);
                continue;
            };
            let (b, r) = w.done.await;
            match (p.space.shadow(), w.place) {
                (Some(s), Some(place)) => settle(s, p.page, place, r.is_ok()),
                _ => self
                    .staging
                    .extend(b.into_owned().filter(|b| b.len() == PAGE_SIZE)),
            }
            match r {
                Ok(n) if n == w.bytes => {
                    // Again after the write: a sync that ran in between may not have covered it.
                    p.space.unsynced.store(true, Ordering::Release);
                    self.pool.written(p.frame, true);
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
            let made = self.packer.train(&pages, shadow.format(), pays);
            let kept = match made.map_err(OpError::io)? {
                Some(made) => shadow.keep_dictionary(made),
                None => Ok(()),
            };
            match kept {
                // It goes without.
                Err(e) if e.kind() != io::ErrorKind::StorageFull => return Err(OpError::io(e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Starts the write of a sealed page; `None` where the disk has no room for it.
    fn begin_write(&mut self, page: &[u8], p: &Picked) -> io::Result<Option<Write>> {
        p.space.unsynced.store(true, Ordering::Release);
        let (bytes, offset, place) = match p.space.shadow() {
            None => {
                let mut b = self
                    .staging
                    .pop()
                    .unwrap_or_else(|| AlignedBuf::zeroed(PAGE_SIZE));
                b.copy_from_slice(page);
                (b, u64::from(p.page.0) * PAGE_SIZE as u64, None)
            }
            Some(shadow) => {
                let (format, packer) = (shadow.format(), &mut self.packer);
                let (packed, us) = self
                    .pool
                    .packing
                    .timed(|| packer.pack(page, format, shadow.dictionary()));
                let packed = packed?;
                let id = p.space.id();
                let fits = !packed.plain
                    && (format.block == format.unit || packed.bytes.len() <= format.block as usize);
                self.pool.packing.packed(format.block, id, page, fits, us);
                let units = shadow.format().units(packed.bytes.len());
                let start = match shadow.take(units) {
                    Ok(start) => start,
                    Err(e) if e.kind() == io::ErrorKind::StorageFull => {
                        self.state.note_starved(p.space.id());
                        return Ok(None);
                    }
                    Err(e) => return Err(e),
                };
                let place = Place {
                    start,
                    units: units as u8,
                    plain: packed.plain,
                };
                if base::mutant!("page-entered-before-it-is-written") {
                    shadow.enter(p.page, place);
                    return Ok(Some(Write {
                        bytes: packed.bytes.len(),
                        done: Box::pin(base::seams::write(
                            &**p.space.file(),
                            IoBuf::owned(packed.bytes),
                            shadow.offset(start),
                        )),
                        place: None,
                    }));
                }
                (packed.bytes, shadow.offset(start), Some(place))
            }
        };
        let len = bytes.len();
        Ok(Some(Write {
            done: Box::pin(base::seams::write(
                &**p.space.file(),
                IoBuf::owned(bytes),
                offset,
            )),
            bytes: len,
            place,
        }))
    }
}

/// A page was written to a new place, or not.
fn settle(shadow: &Shadow, page: PageNo, place: Place, written: bool) {
    match written {
        true => shadow.enter(page, place),
        false => shadow.release(place.start, u64::from(place.units)),
    }
}
