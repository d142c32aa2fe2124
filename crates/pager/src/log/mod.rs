//! The write-ahead log: one sequence of records for redo, before-images, commits and checkpoints.
//!
//! Contract: a record is in the log entirely or not at all; records become visible to readers of [`Log::complete`] in
//! LSN order; [`Log::wait_durable`] answers only after a sync that covered the record returned without error. A failed
//! write or sync is never retried as if it had worked: the log is then closed for good ([`Log::failure`]) and every
//! later append is refused, until a restart.
//!
//! Nobody delays a commit to gather others: whoever wants the log written writes everything that is complete; whoever
//! wants it durable asks the sync task, which syncs as long as anybody asks. What arrives meanwhile is the next group.

mod lost;
pub mod record;
mod ring;
mod scan;
mod segment;

pub use lost::durable_behind;
pub use record::{Record, RecordHeader, RecordKind};
pub use ring::Ring;
pub use scan::{Observer, Scanner};
pub use segment::{LOG_FORMAT, Segments};

use crate::error::{OpError, Wait};
use base::counters::Counter;
use base::{AlignedBuf, Event, File, IoBuf, Lsn};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock};

/// Block of the cache for records read back from the files.
const BLOCK: u64 = 64 * 1024;
const BLOCKS_CACHED: usize = 64;

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

struct Block {
    start: u64,
    /// Up to here the log was written when the block was read.
    end: u64,
    bytes: AlignedBuf,
}

/// The log.
pub struct Log {
    ring: Ring,
    /// Bytes kept free in ring and files for operations that have passed admission and not yet reserved: enough for one
    /// largest record on each of many threads. As many may be reserved and not complete.
    margin: u64,
    segments: Segments,
    written: AtomicU64,
    durable: AtomicU64,
    /// Appends are admitted below this position: ring, files and checkpoint allow it.
    limit: AtomicU64,
    /// As `limit`, for the changes of transactions: what it would take to undo them is kept free.
    change_limit: AtomicU64,
    /// Bytes that it would take to undo what is open.
    undo: AtomicU64,
    writing: Mutex<Staging>,
    written_event: Event,
    complete_event: Event,
    durable_event: Event,
    pub(crate) space_event: Event,
    /// Fired when a sync is wanted, or at shutdown.
    sync_event: Event,
    sync_wanted: AtomicU64,
    closed: AtomicBool,
    failed: OnceLock<Arc<io::Error>>,
    full: AtomicBool,
    /// The log has no room but by a checkpoint of everything below this position; 0: it has.
    drain: AtomicU64,
    blocks: Mutex<VecDeque<Block>>,
    /// Somebody waits for the cleaner and the next checkpoint, whatever the cleaner thinks of its pace.
    pub(crate) urgent: AtomicBool,
    /// Wakes the cleaner when the log has grown past the position it asked for.
    pub(crate) growth: Event,
    pub(crate) growth_mark: AtomicU64,
    /// Wakes the keeper, likewise.
    pub(crate) keeper: Event,
    pub(crate) keeper_mark: AtomicU64,
    dsync: bool,
    /// Counters for SHOW STATUS.
    pub counters: LogCounters,
}

struct Staging {
    buf: AlignedBuf,
    /// Segments written since their last sync.
    unsynced: Vec<Arc<dyn File>>,
}

impl Log {
    /// A log that goes on at `start`; `ring_bytes` a power of two of at least two units. With `dsync` each write is durable by itself.
    pub fn new(segments: Segments, start: Lsn, ring_bytes: usize, unit: u64, dsync: bool) -> Log {
        let room = segments.room_end(start);
        Log {
            ring: Ring::new(ring_bytes, (unit as usize).min(ring_bytes), start),
            margin: unit,
            segments,
            written: AtomicU64::new(start.0),
            durable: AtomicU64::new(start.0),
            limit: AtomicU64::new(room.0),
            change_limit: AtomicU64::new(room.0),
            undo: AtomicU64::new(0),
            writing: Mutex::new(Staging {
                buf: AlignedBuf::zeroed(1 << 20),
                unsynced: Vec::new(),
            }),
            written_event: Event::new(),
            complete_event: Event::new(),
            durable_event: Event::new(),
            space_event: Event::new(),
            sync_event: Event::new(),
            sync_wanted: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            failed: OnceLock::new(),
            full: AtomicBool::new(false),
            drain: AtomicU64::new(0),
            blocks: Mutex::default(),
            urgent: AtomicBool::new(false),
            growth: Event::new(),
            growth_mark: AtomicU64::new(u64::MAX),
            keeper: Event::new(),
            keeper_mark: AtomicU64::new(u64::MAX),
            dsync,
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
        if after > before {
            self.complete_event.fire();
        }
        after
    }

    /// Everything below was handed to the operating system.
    pub fn written(&self) -> Lsn {
        Lsn(self.written.load(Ordering::Acquire))
    }

    /// Everything below survives a power cut.
    pub fn durable(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::Acquire))
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
        let events = [
            &self.written_event,
            &self.complete_event,
            &self.durable_event,
            &self.space_event,
            &self.growth,
        ];
        for ev in events {
            ev.fire();
        }
        OpError::Io(e)
    }

    /// Whether another operation may append now that is part of no transaction: it tidies up, or prepares.
    #[inline]
    pub fn admit(&self) -> Result<(), OpError> {
        self.admit_within(self.margin, &self.limit)
    }

    /// Whether a transaction may append another change: the first that is refused. Where files cannot be had, what room
    /// there is serves to undo what was begun, and to tidy up.
    #[inline]
    pub fn admit_change(&self) -> Result<(), OpError> {
        self.admit_within(self.margin, &self.change_limit)
    }

    /// Whether something may append that undoes or ends a transaction: the last that is refused.
    #[inline]
    pub fn admit_undo(&self) -> Result<(), OpError> {
        self.admit_within(self.margin / 2, &self.limit)
    }

    /// It will take so many bytes more to undo what is open.
    pub fn reserve_undo(&self, bytes: u64) {
        self.undo.fetch_add(bytes, Ordering::Relaxed);
        // At once: until the keeper looks again, this much less may be appended.
        let less = |limit: u64| Some(limit.saturating_sub(bytes));
        let _ = self
            .change_limit
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    /// It will take so many bytes less.
    pub fn release_undo(&self, bytes: u64) {
        // The keeper will find that there is more room.
        self.undo.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// What it takes to undo what is open, but for small transactions.
    pub(crate) fn undo(&self) -> u64 {
        self.undo.load(Ordering::Relaxed)
    }

    #[inline]
    fn admit_within(&self, margin: u64, limit: &AtomicU64) -> Result<(), OpError> {
        if let Some(e) = self.failed.get() {
            return Err(OpError::Io(e.clone()));
        }
        if self.ring.reserved().0 + margin > limit.load(Ordering::Acquire) {
            if self.full.load(Ordering::Relaxed) {
                // Perhaps there is room again: the keeper tries once for each who asks.
                self.keeper.fire();
                return Err(OpError::LogFull);
            }
            return Err(OpError::Wait(Wait::LogSpace));
        }
        Ok(())
    }

    /// Waits until [`Log::admit`] would not ask to wait.
    pub async fn wait_space(&self) -> Result<(), OpError> {
        self.press();
        self.space_event
            .wait_for(|| match self.admit() {
                Err(OpError::Wait(_)) => None,
                r => Some(r),
            })
            .await
    }

    /// As [`Log::wait_room`], until [`Log::admit_undo`] would not refuse.
    pub async fn wait_undo_room(&self) -> Result<(), OpError> {
        self.press();
        self.space_event
            .wait_for(|| match self.admit_undo() {
                Err(OpError::Wait(_) | OpError::LogFull) => None,
                r => Some(r),
            })
            .await
    }

    /// Asks the cleaner to write everything, and to make a checkpoint. What it has done so far is a reason for the keeper to
    /// look again.
    pub(crate) fn ask_drain(&self) {
        let to = self.complete();
        self.drain.fetch_max(to.0, Ordering::AcqRel);
        self.growth.fire();
    }

    /// Up to where everything is to be written; none where nobody asks for it.
    pub(crate) fn drain(&self) -> Lsn {
        Lsn(self.drain.load(Ordering::Acquire))
    }

    /// Everything below `to` was written, or cannot be.
    pub(crate) fn drained(&self, to: Lsn) {
        let done = |asked| (asked <= to.0).then_some(0);
        let _ = self
            .drain
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, done);
        self.keeper.fire();
    }

    /// Makes those who can give the log room look at it now.
    pub(crate) fn press(&self) {
        self.urgent.store(true, Ordering::Release);
        self.growth.fire();
        self.keeper.fire();
    }

    /// As [`Log::wait_space`], for what must not fail: a full disk is waited out too.
    pub async fn wait_room(&self) -> Result<(), OpError> {
        self.press();
        self.space_event
            .wait_for(|| match self.admit() {
                Err(OpError::Wait(_) | OpError::LogFull) => None,
                r => Some(r),
            })
            .await
    }

    /// Sets up to where appends are admitted: files reach up to `room`, and the checkpoint allows what is below `age`.
    /// `full`: there are no more files because the disk has no room.
    pub(crate) fn set_limit(&self, room: Lsn, age: Lsn, full: bool) {
        let limit = room.min(age).0;
        // Something for small transactions too, and for those who tidy up.
        let kept = self.undo() + self.margin / 4;
        let changes = limit.min(room.0.saturating_sub(kept));
        // As long as there is room, nobody is refused: when it runs out, the keeper is asked first.
        let full = full && self.end().0 + self.margin > changes;
        let was_full = self.full.swap(full, Ordering::Relaxed);
        let changes_before = self.change_limit.swap(changes, Ordering::AcqRel);
        let before = self.limit.swap(limit, Ordering::AcqRel);
        // Only news is told: whoever waits for room on a full disk asks the keeper to look again, and would be asked again.
        if limit != before || changes > changes_before || full != was_full {
            self.space_event.fire();
        }
    }

    /// Appends a finished record ([`record::finish`]). `publish` runs with its place after the bytes are in and before
    /// the record counts as complete.
    #[inline]
    pub(crate) fn append(&self, buf: &mut [u8], publish: impl FnOnce(Lsn, Lsn)) -> (Lsn, Lsn) {
        let start = self.ring.reserve(buf.len());
        let end = Lsn(start.0 + buf.len() as u64);
        record::seal(buf, start);
        if end.0 > self.written.load(Ordering::Acquire) + self.ring.capacity()
            || end.0 > self.ring.complete_seen().0 + self.ring.window()
        {
            self.make_ring_room(end);
        }
        self.ring.fill(start, buf);
        publish(start, end);
        self.ring.link(start, end);
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
                && end.0 <= self.written.load(Ordering::Acquire) + self.ring.capacity()
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
        {
            let Ok(mut st) = self.writing.try_lock() else {
                return false;
            };
            self.write_locked(&mut st);
        }
        // Only now: whoever found the lock taken and parked must find it free when woken.
        self.tell_written();
        true
    }

    fn tell_written(&self) {
        self.written_event.fire();
        if self.dsync {
            self.durable_event.fire();
        }
    }

    fn write_locked(&self, st: &mut Staging) {
        loop {
            let from = self.written.load(Ordering::Acquire);
            let to = self.advance().0;
            if from >= to || self.failed.get().is_some() {
                return;
            }
            if let Err(e) = self.write_range(st, from, to) {
                self.fail(e);
                return;
            }
            self.written.store(to, Ordering::Release);
            if self.dsync {
                self.durable.store(to, Ordering::Release);
            }
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
                .locate(Lsn(at))
                .ok_or_else(|| io::Error::other("no log segment for this position"))?;
            file.write_now(&st.buf[..n], off)?;
            self.counters.writes.inc();
            if !self.dsync && !st.unsynced.iter().any(|f| Arc::ptr_eq(f, &file)) {
                st.unsynced.push(file);
            }
            at += n as u64;
        }
        Ok(())
    }

    /// Waits until everything below `lsn` is complete.
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

    /// Waits until everything below `lsn` was handed to the operating system (survives the process, not the machine).
    pub async fn wait_written(&self, lsn: Lsn) -> Result<(), OpError> {
        if self.written() < lsn {
            self.wait_complete(lsn).await?;
            if !self.try_write_out() || self.written() < lsn {
                self.written_event
                    .wait_for(|| {
                        if let Some(e) = self.failed.get() {
                            return Some(Err(OpError::Io(e.clone())));
                        }
                        // The one who was writing may have finished before our record was complete.
                        if self.written() < lsn {
                            self.try_write_out();
                        }
                        (self.written() >= lsn).then_some(Ok(()))
                    })
                    .await?;
            }
        }
        match self.failed.get() {
            Some(e) if self.written() < lsn => Err(OpError::Io(e.clone())),
            _ => Ok(()),
        }
    }

    /// Waits until everything below `lsn` survives a power cut.
    pub async fn wait_durable(&self, lsn: Lsn) -> Result<(), OpError> {
        if self.durable() >= lsn {
            return Ok(());
        }
        self.wait_complete(lsn).await?;
        if base::mutant!("acknowledged-before-durable") {
            self.ask_sync(lsn);
            return Ok(());
        }
        if self.dsync {
            return self.wait_written(lsn).await;
        }
        self.ask_sync(lsn);
        self.durable_event
            .wait_for(|| {
                if self.durable() >= lsn {
                    return Some(Ok(()));
                }
                if self.closed.load(Ordering::Acquire) {
                    // The sync task has ended, or is about to.
                    return Some(Err(crate::error::closed()));
                }
                self.failed.get().map(|e| Err(OpError::Io(e.clone())))
            })
            .await
    }

    /// Asks for a sync up to `lsn` without waiting for it.
    pub fn ask_sync(&self, lsn: Lsn) {
        if self.sync_wanted.fetch_max(lsn.0, Ordering::AcqRel) < lsn.0 {
            self.sync_event.fire();
        }
    }

    /// The sync task: syncs as long as somebody asks, ends after [`Log::close`].
    pub(crate) async fn run_sync(self: Arc<Log>) {
        loop {
            let go = self
                .sync_event
                .wait_for(|| {
                    if self.sync_wanted.load(Ordering::Acquire)
                        > self.durable.load(Ordering::Acquire)
                        && self.failed.get().is_none()
                    {
                        return Some(true);
                    }
                    self.closed.load(Ordering::Acquire).then_some(false)
                })
                .await;
            if !go {
                return;
            }
            self.sync_once();
        }
    }

    /// Writes what is complete and syncs it.
    fn sync_once(&self) {
        let (to, files) = {
            let mut st = self.writing.lock().unwrap_or_else(|e| e.into_inner());
            self.write_locked(&mut st);
            (
                self.written.load(Ordering::Acquire),
                std::mem::take(&mut st.unsynced),
            )
        };
        self.tell_written();
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
        self.durable.fetch_max(to, Ordering::AcqRel);
        if !base::mutant!("group-commit-wakeup-lost") {
            self.durable_event.fire();
        }
    }

    /// Ends the sync task. Nothing may be appended afterwards.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.sync_event.fire();
        self.durable_event.fire();
    }

    /// Copies the record at `lsn` into `out` (cleared first): from memory, else from blocks read before; else says to
    /// wait for [`Log::fetch`].
    pub fn read_record(&self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), OpError> {
        out.clear();
        out.resize(record::RECORD_HEADER, 0);
        if self.ring.copy_out(lsn, &mut out[..])
            && let Some(len) = record::claimed_len(out)
        {
            out.resize(len, 0);
            if self.ring.copy_out(lsn, &mut out[..]) {
                return Ok(());
            }
        }
        out.clear();
        self.read_cached(lsn, out)
    }

    fn read_cached(&self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), OpError> {
        let mut blocks = self.blocks.lock().unwrap_or_else(|e| e.into_inner());
        let mut at = lsn.0;
        let mut want = record::RECORD_HEADER;
        while out.len() < want {
            let start = at / BLOCK * BLOCK;
            let here = |b: &Block| b.start == start && at < b.end;
            let Some(i) = blocks.iter().position(here) else {
                return Err(OpError::Wait(Wait::LogRead(Lsn(at))));
            };
            if i > 0
                && let Some(b) = blocks.remove(i)
            {
                blocks.push_front(b);
            }
            let from = (at - start) as usize;
            let n = (want - out.len()).min((blocks[0].end - at) as usize);
            out.extend_from_slice(&blocks[0].bytes[from..from + n]);
            at += n as u64;
            if out.len() == record::RECORD_HEADER && want == record::RECORD_HEADER {
                want = record::claimed_len(out).ok_or(OpError::LogDamaged(lsn))?;
            }
        }
        drop(blocks);
        Record::verify(out, lsn)
            .map(|_| ())
            .ok_or(OpError::LogDamaged(lsn))
    }

    /// Reads the block around `lsn` from the files into the cache.
    pub async fn fetch(&self, lsn: Lsn) -> Result<(), OpError> {
        let start = lsn.0 / BLOCK * BLOCK;
        // The ring is much larger than a block: a block that begins before the ring's start ends before the log does.
        self.wait_written(Lsn((start + BLOCK).min(self.end().0)))
            .await?;
        // The end of the log may be within the block; what comes behind is read again when it is wanted.
        let end = self.written().0.min(start + BLOCK);
        if lsn.0 >= end {
            return Err(OpError::LogDamaged(lsn));
        }
        let (file, off) = self
            .segments
            .locate(Lsn(start))
            .ok_or(OpError::LogDamaged(lsn))?;
        let (buf, r) = base::seams::read(
            &*file,
            IoBuf::owned(AlignedBuf::zeroed(BLOCK as usize)),
            off,
        )
        .await;
        r.map_err(OpError::io)?;
        let Some(bytes) = buf.into_owned() else {
            return Err(OpError::LogDamaged(lsn));
        };
        let mut blocks = self.blocks.lock().unwrap_or_else(|e| e.into_inner());
        blocks.retain(|b| b.start != start);
        blocks.push_front(Block { start, end, bytes });
        blocks.truncate(BLOCKS_CACHED);
        Ok(())
    }
}
