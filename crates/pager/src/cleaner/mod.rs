//! The page cleaner: keeps free frames ahead of demand and writes dirty pages at the pace the log fills, so that neither a
//! reader nor a committer ever flushes.
//!
//! Pace: the log's capacity is the budget. A page is written once its oldest change is further back than half of the
//! budget; the log itself wakes the cleaner each time it has grown by a small share of it. So the rate of writing follows
//! the rate of change with no timer and no knob, and a page that changes often is written once per half budget.

use crate::checkpoint::{Checkpointer, FULL_DISK_RETRY_US};
use crate::compressed::PageCompressor;
use crate::doublewrite::{BATCH, Doublewrite};
use crate::error::OpError;
use crate::log::Log;
use crate::pool::Pool;
use crate::pool::frame::{COLD, Frame};
use crate::shortages::Where;
use base::counters::Counter;
use base::lock::Mutex;
use base::waits::LongWait;
use base::{AlignedBuf, Clock, Lsn, Spawn};
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

mod write;

pub(crate) use write::compressors;

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
    /// The last round that could not write for want of room or of a descriptor; 0: none yet. And why.
    pub(crate) starved: (AtomicU64, Mutex<Option<OpError>>),
    /// What the cleaner does, and since when: for people.
    pub(crate) step: Mutex<Option<(&'static str, Instant)>>,
}

impl CleanerState {
    /// There was no room on the disk for a page or the root of a tablespace, or its file could not be opened.
    fn note_starved(&self, why: OpError) {
        let round = self.rounds.load(Ordering::Relaxed);
        *self.starved.1.lock() = Some(why);
        self.starved.0.store(round, Ordering::Release);
    }

    /// The cleaner begins with something else.
    fn begin_step(&self, what: &'static str) {
        *self.step.lock() = Some((what, Instant::now()));
    }

    /// What the cleaner does, in words.
    pub(crate) fn doing(&self) -> String {
        let step = *self.step.lock();
        match step {
            Some((what, since)) => format!(
                "the cleaner {what} since {} seconds",
                since.elapsed().as_secs()
            ),
            None => "the cleaner has not begun".to_owned(),
        }
    }

    /// The waits for dirty pages to be written that have gone on for so long.
    pub(crate) fn long_waits(&self, least: Duration, out: &mut Vec<LongWait>) {
        self.flushed.each_wait(|w| {
            if w.waited() >= least {
                out.push(w.described("changed pages to be written", self.doing()));
            }
        });
    }

    /// What a round was short of that began after `round`.
    pub(crate) fn starved_since(&self, round: u64) -> Option<OpError> {
        if self.starved.0.load(Ordering::Acquire) <= round {
            return None;
        }
        let why = self.starved.1.lock();
        why.clone()
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

pub(crate) struct Cleaner {
    pub(crate) pool: Arc<Pool>,
    pub(crate) log: Arc<Log>,
    pub(crate) state: Arc<CleanerState>,
    pub(crate) checkpointer: Arc<Checkpointer>,
    pub(crate) spawn: Arc<dyn Spawn>,
    pub(crate) doublewrite: Option<Doublewrite>,
    pub(crate) staging: Vec<AlignedBuf>,
    pub(crate) scratch: Option<AlignedBuf>,
    /// Files of tables that may be open.
    pub(crate) open_files: u64,
    /// One for each thread that compresses, at least one.
    pub(crate) compressors: Vec<PageCompressor>,
    pub(crate) clock: Arc<dyn Clock>,
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
                false => {
                    self.state.begin_step("waits for work");
                    self.wait_for_work(step).await
                }
            };
            if stop {
                // Nobody will make free frames or flush any more: those who wait for it must not wait on.
                self.pool.close(self.log.failure());
                self.state.flushed.fire();
                return;
            }
            let round = self.state.rounds.fetch_add(1, Ordering::AcqRel);
            self.log.urgent.store(false, Ordering::Release);
            self.state.begin_step("makes frames free");
            self.make_free().await;
            if self.pool.free_frames() < self.pool.low_water() {
                // What is left is pinned. Those who hold it may share this thread.
                base::environment::yield_now(&*self.spawn).await;
            }
            let end = self.log.complete().0;
            let aged = Lsn(end.saturating_sub(self.state.budget / 2));
            let drain = self.log.drain();
            let want = aged
                .max(Lsn(self.state.flush_to.load(Ordering::Acquire)))
                .max(drain);
            self.state.begin_step("looks for old changes");
            let done = self.write_older_than(want).await;
            // A request is answered, or the log is closed and nobody may wait for it any more.
            let _ = self
                .state
                .flush_to
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, |f| {
                    (f <= want.0).then_some(0)
                });
            if !base::mutant!("round-of-writes-ended-without-a-word") {
                self.state.flushed.fire();
            }
            self.state.begin_step("makes a checkpoint");
            let due = match &done {
                Ok(()) if !drain.is_none() => self.checkpointer.checkpoint(false).await,
                Ok(()) => self.checkpointer.maybe_checkpoint().await,
                Err(_) => Ok(()),
            };
            match done.and(due) {
                // A page that cannot be written is not retried as if nothing had happened.
                Err(OpError::Io(e)) => self.log.close_failed(&e),
                Err(why @ (OpError::SpaceFull(_) | OpError::Short(_))) => {
                    self.state.note_starved(why);
                }
                _ => {}
            }
            starved = self.told_starved(round);
            if !drain.is_none() {
                if !starved {
                    self.log.drained(drain);
                }
                // A start may wait for it, or for the word that it cannot be.
                self.state.flushed.fire();
            }
            if starved {
                // A shortage is: no event tells that somebody else made room on the disk, or closed a file.
                self.state.begin_step("rests, as it is short of something");
                self.rest(FULL_DISK_RETRY_US / 10).await;
            }
        }
    }

    /// Whether the round behind `round` was short of something; the log of the server is told when that begins and when it ends.
    fn told_starved(&self, round: u64) -> bool {
        let shortages = &self.checkpointer.shortages;
        let e = match self.state.starved_since(round) {
            None => {
                shortages.passed(Where::Pages);
                return false;
            }
            Some(OpError::Short(e)) => e,
            Some(_) => Arc::new(io::ErrorKind::StorageFull.into()),
        };
        shortages.met(Where::Pages, &e);
        self.log.note_stuck(&e);
        true
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
            match self.write_frames(frames).await {
                Err(OpError::Io(e)) => {
                    self.log.close_failed(&e);
                    return;
                }
                Err(why @ OpError::Short(_)) => {
                    self.state.note_starved(why);
                    return;
                }
                _ => {}
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
        // Compressed and temporary tablespaces apart: their pages need no copy in the doublewrite file, and a batch is copied there as a whole.
        let (uncopied, copied): (Vec<u32>, Vec<u32>) = frames.into_iter().partition(|f| {
            let id = self.pool.frame(*f).identity();
            let space = id.and_then(|(s, _)| self.pool.spaces.get(s));
            space.is_some_and(|s| s.shadow().is_some() || s.id().is_temporary())
        });
        for frames in [copied, uncopied] {
            let mut rest = &frames[..];
            while !rest.is_empty() {
                let (batch, later) = rest.split_at(self.batch(rest));
                self.write_batch(batch).await?;
                rest = later;
            }
        }
        Ok(())
    }

    /// How many of the frames are written at once: no more than a batch, and of no more files than half of what may be open, since those
    /// that are written to stay so.
    fn batch(&self, frames: &[u32]) -> usize {
        let most = (self.open_files / 2).max(1);
        let (mut files, mut last) = (0, None);
        let fits = |f: &&u32| {
            let space = self.pool.frame(**f).identity().map(|(s, _)| s);
            files += u64::from(last != Some(space));
            last = Some(space);
            files <= most
        };
        frames.iter().take(BATCH).take_while(fits).count().max(1)
    }
}
