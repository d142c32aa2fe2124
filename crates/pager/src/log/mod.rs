//! The write-ahead log: one sequence of records for redo, before-images, commits and checkpoints.
//!
//! Contract: a record is in the log entirely or not at all; records become visible to readers of [`Log::complete`] in
//! LSN order; [`Log::wait_durable`] answers only after a sync that covered the record returned without error. A failed
//! write or sync is never retried as if it had worked: the log is then closed for good ([`Log::failure`]) and every
//! later append is refused, until a restart.
//!
//! Nobody delays a commit to gather others: whoever wants the log written writes everything that is complete; whoever
//! wants it durable asks the sync task, which syncs as long as anybody asks. What arrives meanwhile is the next group.

mod admission;
mod block_cache;
mod follow;
mod group;
mod long_waits;
mod readback;
pub mod record;
mod ring;
mod scan;
mod segment;
mod truncation_check;

pub use follow::LogFollower;
pub use record::{Record, RecordHeader, RecordKind};
pub use ring::Ring;
pub use scan::{Observer, Scanner};
pub use segment::{LOG_FORMAT, Segments};
pub use truncation_check::find_truncation;

use crate::error::OpError;
use base::counters::Counter;
use base::lock::{Mutex, MutexGuard};
use base::{AlignedBuf, Event, File, Lsn};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};

use block_cache::Blocks;
use group::Group;

/// What the log counted since start.
#[derive(Default)]
pub struct LogCounters {
    /// Records appended.
    pub records: Counter,
    /// Bytes appended.
    pub bytes: Counter,
    /// Writes to the files.
    pub writes: Counter,
    /// Syncs of the files.
    pub syncs: Counter,
    /// Appends that had to help the writer because ring or window were full.
    pub ring_full: Counter,
}

/// The log.
pub struct Log {
    ring: Ring,
    /// Where it went on: what stands before was never in memory.
    begun: Lsn,
    /// Bytes kept free in ring and files for operations that have passed admission and not yet reserved: enough for one
    /// largest record on each of many threads. As many may be reserved and not complete.
    margin: u64,
    segments: Segments,
    /// Appends are admitted below this position: ring, files and checkpoint allow it.
    limit: AtomicU64,
    /// As `limit`, for all but what undoes: the last file is left for a start after a crash, which goes on in a file that
    /// was never written to, and on a full disk can make none.
    tidy_limit: AtomicU64,
    /// As `tidy_limit`, for the changes of transactions: what it would take to undo them is kept free.
    change_limit: AtomicU64,
    /// Bytes that it would take to undo what is open.
    undo: AtomicU64,
    group: Group<Staging>,
    /// Held by who syncs: what a sync covers is durable only when those before it are over.
    syncing: Mutex<()>,
    complete_event: Event,
    pub(crate) space_event: Event,
    failed: OnceLock<Arc<io::Error>>,
    full: AtomicBool,
    /// There are more files than the log may have: something older than this keeps them. 0: there are not.
    kept_before: AtomicU64,
    /// Rounds of the cleaner that could not write what the log waits for, and so keeps it.
    stuck: AtomicU64,
    /// Why the log was full or stuck, the last time.
    shortage: Mutex<Arc<io::Error>>,
    /// Looks of the keeper for room, counted: the last one that somebody waits for, that has begun, that is over.
    look_asked: AtomicU64,
    look_begun: AtomicU64,
    look_done: AtomicU64,
    /// The log has no room but by a checkpoint of everything below this position; 0: it has.
    drain: AtomicU64,
    blocks: Blocks,
    /// Somebody waits for the cleaner and the next checkpoint, whatever the cleaner thinks of its pace.
    pub(crate) urgent: AtomicBool,
    /// Wakes the cleaner when the log has grown past the position it asked for.
    pub(crate) growth: Event,
    pub(crate) growth_mark: AtomicU64,
    /// Wakes the keeper, likewise.
    pub(crate) keeper: Event,
    pub(crate) keeper_mark: AtomicU64,
    /// Counters for SHOW STATUS.
    pub counters: LogCounters,
}

struct Staging {
    buf: AlignedBuf,
    /// Segments written since their last sync.
    unsynced: Vec<Arc<dyn File>>,
}

impl Log {
    /// A log that goes on at `start`; `ring_bytes` a power of two of at least two units. With `dsync` each write is durable by itself. What is read
    /// back of it takes a share of what the buffer pool has.
    pub fn new(
        segments: Segments,
        start: Lsn,
        (ring_bytes, unit): (usize, u64),
        pool_bytes: u64,
        dsync: bool,
    ) -> Log {
        let room = segments.room_end(start);
        Log {
            ring: Ring::new(ring_bytes, (unit as usize).min(ring_bytes), start),
            begun: start,
            margin: unit,
            segments,
            limit: AtomicU64::new(room.0),
            tidy_limit: AtomicU64::new(room.0),
            change_limit: AtomicU64::new(room.0),
            undo: AtomicU64::new(0),
            group: Group::new(
                start,
                dsync,
                Staging {
                    buf: AlignedBuf::zeroed(1 << 20),
                    unsynced: Vec::new(),
                },
            ),
            syncing: Mutex::default(),
            complete_event: Event::new(),
            space_event: Event::new(),
            failed: OnceLock::new(),
            full: AtomicBool::new(false),
            kept_before: AtomicU64::new(0),
            stuck: AtomicU64::new(0),
            shortage: Mutex::new(Arc::new(io::ErrorKind::StorageFull.into())),
            look_asked: AtomicU64::new(0),
            look_begun: AtomicU64::new(0),
            look_done: AtomicU64::new(0),
            drain: AtomicU64::new(0),
            blocks: Blocks::for_pool(pool_bytes),
            urgent: AtomicBool::new(false),
            growth: Event::new(),
            growth_mark: AtomicU64::new(u64::MAX),
            keeper: Event::new(),
            keeper_mark: AtomicU64::new(u64::MAX),
            counters: LogCounters::default(),
        }
    }

    /// The segment files.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// End of everything reserved.
    pub fn end(&self) -> Lsn {
        self.ring.reserved()
    }

    /// Every record below is whole; every commit below has published its outcome.
    #[inline]
    pub fn complete(&self) -> Lsn {
        self.advance()
    }

    /// Walks the completed prefix on, and tells those who wait for it. Whoever moves it must tell: a waiter that finds
    /// somebody else walking goes to sleep in the trust that the walker will.
    #[inline]
    fn advance(&self) -> Lsn {
        let before = self.ring.complete_seen();
        let after = self.ring.advance();
        if after > before && !base::mutant!("log-whole-without-a-word") {
            self.complete_event.fire();
        }
        after
    }

    /// Everything below was handed to the operating system.
    pub fn written(&self) -> Lsn {
        self.group.written()
    }

    /// Everything below survives a power cut.
    pub fn durable(&self) -> Lsn {
        self.group.durable()
    }

    /// Oldest position that is certainly still in memory.
    pub fn memory_start(&self) -> Lsn {
        Lsn(self.end().0.saturating_sub(self.ring.capacity()))
    }

    /// Why the log is closed for good, if it is.
    pub fn failure(&self) -> Option<Arc<io::Error>> {
        self.failed.get().cloned()
    }

    /// Closes the log for good because of a failure elsewhere (a page that cannot be written).
    pub(crate) fn close_failed(&self, e: &io::Error) {
        self.fail(io::Error::new(e.kind(), e.to_string()));
    }

    fn fail(&self, e: io::Error) -> OpError {
        let e = self.failed.get_or_init(|| Arc::new(e)).clone();
        self.group.wake_all();
        for event in [&self.complete_event, &self.space_event, &self.growth] {
            event.fire();
        }
        OpError::Io(e)
    }

    /// Appends a finished record ([`record::finish`]). `publish` runs with its place after the bytes are in and before
    /// the record counts as complete.
    #[inline]
    pub(crate) fn append(&self, buf: &mut [u8], publish: impl FnOnce(Lsn, Lsn)) -> (Lsn, Lsn) {
        self.append_all(buf, 0, publish)
    }

    /// As [`append`](Self::append), of two records, of which the second begins at `second`, if that is not 0: it stands right behind the first,
    /// they become complete at once, and `publish` and the caller are given the place of the second.
    #[inline]
    pub(crate) fn append_all(
        &self,
        buf: &mut [u8],
        second: usize,
        publish: impl FnOnce(Lsn, Lsn),
    ) -> (Lsn, Lsn) {
        let first = self.ring.reserve(buf.len());
        let start = Lsn(first.0 + second as u64);
        let end = Lsn(first.0 + buf.len() as u64);
        record::seal(&mut buf[second..], start);
        if second != 0 {
            record::seal(&mut buf[..second], first);
            self.counters.records.inc();
        }
        if end.0 > self.written().0 + self.ring.capacity()
            || end.0 > self.ring.complete_seen().0 + self.ring.window()
        {
            self.make_ring_room(end);
        }
        self.ring.fill(first, buf);
        publish(start, end);
        self.ring.link(first, end);
        self.counters.records.inc();
        self.counters.bytes.add(buf.len() as u64);
        // Pairs with the fence in `Event::park`: either we see the waiter, or it sees the link.
        fence(Ordering::SeqCst);
        if self.complete_event.has_waiters() {
            self.advance();
        }
        (start, end)
    }

    /// The ring is full: this thread writes it out itself, so that it depends on nobody's schedule.
    #[cold]
    fn make_ring_room(&self, end: Lsn) {
        self.counters.ring_full.inc();
        loop {
            let complete = self.advance();
            if end.0 <= complete.0 + self.ring.window()
                && end.0 <= self.written().0 + self.ring.capacity()
            {
                return;
            }
            if self.failed.get().is_some() {
                // Nothing will be written any more; what is overwritten in memory was never acknowledged.
                return;
            }
            if !self.try_write_out() {
                std::thread::yield_now();
            }
        }
    }

    /// Writes everything complete to the files, if nobody else is at it. True if it wrote or there was nothing to do.
    pub fn try_write_out(&self) -> bool {
        self.group.try_write(|st| self.write_locked(st))
    }

    fn write_locked(&self, st: &mut Staging) {
        loop {
            let from = self.written().0;
            let to = self.advance().0;
            if from >= to || self.failed.get().is_some() {
                return;
            }
            if let Err(e) = self.write_range(st, from, to) {
                self.fail(e);
                return;
            }
            self.group.set_written(Lsn(to));
            if to >= self.growth_mark.load(Ordering::Relaxed) {
                self.growth_mark.store(u64::MAX, Ordering::Relaxed);
                self.growth.fire();
            }
            if to >= self.keeper_mark.load(Ordering::Relaxed) {
                self.keeper_mark.store(u64::MAX, Ordering::Relaxed);
                self.keeper.fire();
            }
        }
    }

    fn write_range(&self, st: &mut Staging, from: u64, to: u64) -> io::Result<()> {
        let mut at = from;
        while at < to {
            let seg_end = (at / self.segments.size() + 1) * self.segments.size();
            let n = (to.min(seg_end) - at).min(st.buf.len() as u64) as usize;
            self.ring.copy_unwritten(Lsn(at), &mut st.buf[..n]);
            let (file, off) = self
                .segments
                .locate(Lsn(at))?
                .ok_or_else(|| io::Error::other("no log segment for this position"))?;
            file.write_now(&st.buf[..n], off)?;
            self.counters.writes.inc();
            if !self.group.dsync() && !st.unsynced.iter().any(|f| Arc::ptr_eq(f, &file)) {
                st.unsynced.push(file);
            }
            at += n as u64;
        }
        Ok(())
    }

    /// Waits until everything below `lsn` is complete.
    ///
    /// # Errors
    /// [`OpError::Io`]: the log is closed, since a write or a sync of it failed.
    pub async fn wait_complete(&self, lsn: Lsn) -> Result<(), OpError> {
        if self.advance() >= lsn {
            return Ok(());
        }
        self.complete_event
            .wait_for(|| match self.failed.get() {
                Some(e) => Some(Err(OpError::Io(e.clone()))),
                None => (self.advance() >= lsn).then_some(Ok(())),
            })
            .await
    }

    /// Whether everything below `lsn` is complete in memory.
    pub fn complete_now(&self, lsn: Lsn) -> bool {
        self.advance() >= lsn
    }

    /// As [`wait_written`](Self::wait_written), where that waits for no other writer: false where it would have to, or fails.
    pub fn write_now(&self, lsn: Lsn) -> bool {
        let there = || self.written() >= lsn;
        there() || (self.advance() >= lsn && self.try_write_out() && there())
    }

    /// Waits until everything below `lsn` was handed to the operating system (survives the process, not the machine).
    ///
    /// # Errors
    /// As [`Log::wait_complete`].
    pub async fn wait_written(&self, lsn: Lsn) -> Result<(), OpError> {
        if self.written() < lsn {
            self.wait_complete(lsn).await?;
            if !self.try_write_out() || self.written() < lsn {
                self.group
                    .wait_written(
                        lsn,
                        || self.failed.get().map(|e| OpError::Io(e.clone())),
                        || self.try_write_out(),
                    )
                    .await?;
            }
        }
        match self.failed.get() {
            Some(e) if self.written() < lsn => Err(OpError::Io(e.clone())),
            _ => Ok(()),
        }
    }

    /// Waits until everything below `lsn` survives a power cut.
    ///
    /// # Errors
    /// As [`Log::wait_complete`]. Whether it survives is not known then.
    pub async fn wait_durable(&self, lsn: Lsn) -> Result<(), OpError> {
        if self.durable() >= lsn {
            return Ok(());
        }
        self.wait_complete(lsn).await?;
        if base::mutant!("acknowledged-before-durable") {
            self.ask_sync(lsn);
            return Ok(());
        }
        if self.group.dsync() {
            return self.wait_written(lsn).await;
        }
        self.ask_sync(lsn);
        self.group
            .wait_durable(lsn, || self.failed.get().map(|e| OpError::Io(e.clone())))
            .await
    }

    /// As [`wait_durable`](Self::wait_durable), without asking for it: until somebody else has it synced.
    ///
    /// # Errors
    /// As [`Log::wait_complete`]; the log was closed in good order, and ends before.
    pub(crate) async fn wait_until_durable(&self, lsn: Lsn) -> Result<(), OpError> {
        self.group
            .wait_durable(lsn, || self.failed.get().map(|e| OpError::Io(e.clone())))
            .await
    }

    /// Whether it was closed in good order: nothing more comes.
    pub(crate) fn is_closed(&self) -> bool {
        self.group.is_closed()
    }

    /// Asks for a sync up to `lsn` without waiting for it.
    pub fn ask_sync(&self, lsn: Lsn) {
        self.group.ask_sync(lsn);
    }

    /// The sync task: syncs as long as somebody asks, ends after [`Log::close`].
    pub(crate) async fn run_sync(self: Arc<Log>) {
        while self.group.wait_asked(|| self.failed.get().is_some()).await {
            self.sync_once(self.syncing.lock());
        }
    }

    /// Makes everything below `lsn` durable on the calling thread, which waits for the disk, instead of asking the sync task:
    /// for a thread that has nothing else to do. False where that could not be done, because somebody is at it, or failed.
    pub fn sync_here(&self, lsn: Lsn) -> bool {
        if self.durable() < lsn && self.advance() >= lsn {
            if self.group.dsync() {
                return self.write_now(lsn);
            }
            if let Some(turn) = self.syncing.try_lock() {
                self.sync_once(turn);
            }
        }
        self.durable() >= lsn
    }

    /// Writes what is complete and syncs it.
    fn sync_once(&self, _turn: MutexGuard<'_, ()>) {
        let (to, files) = self.group.write(|st| {
            self.write_locked(st);
            (self.written(), std::mem::take(&mut st.unsynced))
        });
        if self.failed.get().is_some() {
            return;
        }
        for f in files {
            if base::mutant!("log-sync-skipped") {
                continue;
            }
            if let Err(e) = f.sync_now() {
                if base::mutant!("failed-log-sync-ignored") {
                    continue;
                }
                self.fail(e);
                return;
            }
            self.counters.syncs.inc();
        }
        self.group.set_durable(to);
    }

    /// Ends the sync task. Nothing may be appended afterwards.
    pub(crate) fn close(&self) {
        self.group.close();
    }
}
