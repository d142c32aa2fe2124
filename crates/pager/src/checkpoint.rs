//! Fuzzy checkpoints and the keeping of log segments.
//!
//! A checkpoint writes no page: it asks how old the oldest change is that is not on the device, syncs the tablespaces, logs
//! what the transaction layer has open, and notes in the control file where recovery would start. Pages are written by the
//! cleaner at its own pace.

use crate::control::{Control, ControlState};
use crate::error::OpError;
use crate::holds::{Holds, LogHold};
use crate::log::Log;
use crate::log::record::RecordKind;
use crate::mtr::append_plain;
use crate::pool::Pool;
use crate::redo::RedoTable;
use crate::shortages::{Shortages, Where};
use crate::space;
use base::counters::Counter;
use base::environment::shortage;
use base::lock::Mutex;
use base::waits::{LongWait, WhoCell};
use base::{Clock, Event, Lsn, TxnId};
use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

/// What the layer above contributes to a checkpoint.
pub trait CheckpointSource: Send + Sync {
    /// Writes down what is open (transactions, purge work). Called at some moment after the log position from which
    /// recovery will scan was taken.
    fn describe(&self, out: &mut Vec<u8>);
    /// The oldest log position still needed: by open transactions, snapshots, purge.
    fn retain(&self) -> Lsn;
}

/// How often a full disk is tried again while somebody waits for room who cannot be refused, in microseconds. The one thing that
/// the storage waits for by time: no event tells that somebody else has made room on the device. The cleaner, which has other files to write, rests a tenth of it.
pub const FULL_DISK_RETRY_US: u64 = 1_000_000;

/// The one checkpoint that is being made.
struct Turn<'a>(&'a Checkpointer);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
        if !base::mutant!("turn-of-a-checkpoint-ended-without-a-word") {
            self.0.free.fire();
        }
    }
}

/// Makes checkpoints, one at a time.
pub(crate) struct Checkpointer {
    pub(crate) pool: Arc<Pool>,
    pub(crate) log: Arc<Log>,
    pub(crate) redo: Arc<RedoTable>,
    pub(crate) control: Mutex<Control>,
    pub(crate) source: OnceLock<Arc<dyn CheckpointSource>>,
    /// Who needs the log beside that.
    pub(crate) holds: Arc<Holds>,
    /// Bytes of log within which all changes must reach the device.
    pub(crate) capacity: u64,
    /// Where recovery would start.
    pub(crate) redo_lsn: AtomicU64,
    /// The oldest log position that a recovery from the last checkpoint, a rollback or purge may still read. Moved by
    /// checkpoints alone: what it takes for ended is durable by then.
    pub(crate) needed: AtomicU64,
    /// Off until recovery is done.
    pub(crate) enabled: AtomicBool,
    /// Starts that were cut short have left more files than the log may have: no others are made that can be done without, until a
    /// checkpoint gives some back.
    pub(crate) crowded: AtomicBool,
    /// Data files are synced (off for O_DIRECT_NO_FSYNC).
    pub(crate) sync_data: bool,
    pub(crate) syncing: Mutex<()>,
    pub(crate) busy: AtomicBool,
    /// Who has, or had last, the turn that `busy` is.
    pub(crate) busy_by: WhoCell,
    pub(crate) free: Event,
    pub(crate) shortages: Arc<Shortages>,
    pub(crate) checkpoints: Counter,
    pub(crate) data_syncs: Counter,
}

impl Checkpointer {
    /// Where recovery would start if a checkpoint were made now.
    pub(crate) fn candidate(&self) -> Lsn {
        let complete = self.log.complete();
        let mut oldest = complete;
        for i in 0..self.pool.frames() {
            if let Some(l) = self.pool.frame(i).oldest_change() {
                oldest = oldest.min(l);
            }
        }
        oldest
    }

    /// Makes a checkpoint if the last one is a fair share of the log behind what is possible now.
    pub(crate) async fn maybe_checkpoint(&self) -> Result<(), OpError> {
        if !self.enabled.load(Ordering::Acquire) {
            return Ok(());
        }
        let behind = self
            .log
            .complete()
            .0
            .saturating_sub(self.redo_lsn.load(Ordering::Acquire));
        if self.would_give_back() {
            return self.checkpoint(false).await;
        }
        if behind < self.capacity / 16 {
            return Ok(());
        }
        let candidate = self.candidate();
        if candidate
            .0
            .saturating_sub(self.redo_lsn.load(Ordering::Acquire))
            < self.capacity / 16
        {
            return Ok(());
        }
        self.checkpoint(false).await
    }

    async fn turn(&self) -> Turn<'_> {
        self.free
            .wait_for(|| (!self.busy.swap(true, Ordering::Acquire)).then_some(()))
            .await;
        self.busy_by.set_here();
        Turn(self)
    }

    /// The waits for checkpoints that have gone on for so long.
    pub(crate) fn long_waits(&self, least: Duration, out: &mut Vec<LongWait>) {
        let who = self.busy_by.get().unwrap_or_default();
        self.free.each_wait(|w| {
            if w.waited() >= least {
                out.push(w.described("its turn to make a checkpoint", format!("{who} makes one")));
            }
        });
    }

    /// What the log is kept for, in words.
    pub(crate) fn kept(&self) -> String {
        format!(
            "recovery would start at {}, the oldest change not written is at {}, transactions and snapshots needed it from {}",
            self.redo_lsn.load(Ordering::Relaxed),
            self.candidate(),
            self.needed.load(Ordering::Relaxed)
        )
    }

    /// Makes a checkpoint now. `clean` notes a clean shutdown: the log must be quiet.
    pub(crate) async fn checkpoint(&self, clean: bool) -> Result<(), OpError> {
        let _turn = self.turn().await;
        // Before the sync: whatever is older was written before this moment, and the sync covers it.
        let redo = match base::mutant!("checkpoint-redo-too-new") {
            true => self.log.complete(),
            false => self.candidate(),
        };
        self.sync_spaces()?;
        // Before the record: a transaction that has ended, and purge work that is done, is so durably once the record is. Were
        // it looked at later, a power cut could take the end back when the log for the rollback is gone already.
        let retain = self.retain();
        let mut body = Vec::new();
        if let Some(s) = self.source.get() {
            s.describe(&mut body);
        }
        let at = append_plain(
            &self.log,
            &self.redo,
            RecordKind::Checkpoint,
            TxnId::NONE,
            Lsn::NONE,
            &body,
            |_, _| {},
        )?;
        if !base::mutant!("checkpoint-noted-before-durable") {
            self.log.wait_durable(at.end).await?;
        }
        {
            let mut control = self.control.lock();
            control.state.redo = redo;
            control.state.checkpoint = at.start;
            control.state.clean_end = if clean { at.end } else { Lsn::NONE };
            let needed = redo.min(retain);
            control.state.needed = needed;
            control.state.jumps.retain(|(_, to)| *to > needed);
            control.store().map_err(OpError::io)?;
            self.needed.store(needed.0, Ordering::Release);
            self.log.forget_before(needed);
        }
        self.redo_lsn.store(redo.0, Ordering::Release);
        self.checkpoints.inc();
        self.update_limit(false);
        self.log.keeper.fire();
        Ok(())
    }

    pub(crate) fn retain(&self) -> Lsn {
        if !self.enabled.load(Ordering::Acquire) {
            // Recovery is still reading the log, and losers are still being looked up in it.
            return Lsn::NONE;
        }
        let held = self.holds.oldest(self.log.end(), self.capacity);
        self.source.get().map_or(Lsn::MAX, |s| s.retain()).min(held)
    }

    /// Keeps the log from where the last checkpoint needs it, and tells what that checkpoint has noted. `None`: none was made yet.
    pub(crate) async fn hold_log(&self) -> Option<(LogHold, ControlState)> {
        // No checkpoint is under way that has looked at the holds and not yet given up what nobody held.
        let _turn = self.turn().await;
        let state = {
            let control = self.control.lock();
            control.state.clone()
        };
        if !self.enabled.load(Ordering::Acquire) || state.checkpoint.is_none() {
            return None;
        }
        let hold = self.holds.hold(&self.log, state.needed);
        Some((hold, state))
    }

    /// Lets appends go as far as files exist and the capacity allows.
    pub(crate) fn update_limit(&self, full: bool) {
        let room = self.log.segments().room_end(self.log.end());
        let age = Lsn(self.redo_lsn.load(Ordering::Acquire) + self.capacity);
        self.log.set_limit(room, age, full && room <= age);
    }

    /// Makes durable what the tablespaces got written, unless the flush method leaves that to the device.
    ///
    /// # Errors
    /// A device failed: the log is closed. `SpaceFull`: a compressed tablespace has no room for its root, and all others are durable.
    pub(crate) fn sync_spaces(&self) -> Result<(), OpError> {
        if base::mutant!("checkpoint-without-data-sync") {
            return Ok(());
        }
        if self.sync_data {
            self.data_syncs.inc();
        }
        // One at a time: whoever finds a file marked as synced must be able to rely on that sync being over.
        let _one = self.syncing.lock();
        let r = space::sync_written(&self.pool.spaces, !self.sync_data);
        if let Err(OpError::Io(e)) = &r {
            // What a failed sync has lost is not known, and a second one that succeeds says nothing about it.
            self.log.close_failed(e);
        }
        r
    }

    /// Up to where there are to be files when the log ends at `end`. Making them takes the device some time, so not many:
    /// a start would otherwise begin with writing zeros.
    fn wanted_room(&self, end: Lsn) -> u64 {
        let size = self.log.segments().size();
        if !self.enabled.load(Ordering::Acquire) || self.crowded.load(Ordering::Acquire) {
            // A start may be cut short like the one before it: no more than what is about to be written.
            return end.0 + 2 * self.log.margin() + size;
        }
        let ahead = end.0 + (self.capacity / 16).max(2 * size);
        // On a full disk a file can only be used again once the log has left it: so far changes must be admitted.
        let left = (end.0 / size + 1) * size + 2 * self.log.margin();
        // One more is left for a start after a crash.
        ahead.max(left) + size + self.log.undo()
    }

    /// Number of the first segment that a recovery, a rollback or purge may still read.
    fn first_needed(&self) -> u64 {
        let size = self.log.segments().size();
        if base::mutant!("segment-reused-early") {
            return self.log.end().0 / size;
        }
        self.needed.load(Ordering::Acquire) / size
    }

    /// Numbers of the segments that nobody needs: the log has left them, or jumped over them at a start.
    fn spare(&self) -> Vec<u64> {
        let needed = self.first_needed();
        let size = self.log.segments().size();
        let jumps = {
            let control = self.control.lock();
            control.state.jumps.clone()
        };
        let jumped = |n: u64| {
            let over = |(from, to): &(Lsn, Lsn)| from.0 / size < n && n < to.0 / size;
            jumps.iter().any(over)
        };
        let mut numbers = self.log.segments().numbers();
        numbers.retain(|n| *n < needed || jumped(*n));
        numbers
    }

    /// Sees that segments exist ahead of the log, reusing those nobody needs.
    fn keep_segments(&self) -> io::Result<()> {
        let seg = self.log.segments();
        let size = seg.size();
        loop {
            let end = self.log.end();
            let room = seg.room_end(end);
            let spare = self.spare();
            seg.release_before(self.log.durable());
            if room.0 >= self.wanted_room(end) {
                return self.give_back(&spare);
            }
            seg.create(room.0 / size, spare.first().copied())?;
            self.update_limit(false);
        }
    }

    /// Keeps no more old files than a full log would reuse.
    fn give_back(&self, spare: &[u64]) -> io::Result<()> {
        let seg = self.log.segments();
        let too_many = seg.numbers().len().saturating_sub(self.most_files());
        spare.iter().take(too_many).try_for_each(|n| seg.remove(*n))
    }

    /// After the last checkpoint, when no task is left: removes the files that the keeper would remove.
    pub(crate) fn give_back_files(&self) -> io::Result<()> {
        self.give_back(&self.spare())
    }

    /// The disk is full. A checkpoint of everything may leave files that nobody needs: asks for one, unless it would not help
    /// or did not help before, `tried` being the first file needed then and the log's end.
    fn may_drain(&self, tried: &mut (u64, Lsn)) -> bool {
        if !self.enabled.load(Ordering::Acquire) {
            return false;
        }
        let size = self.log.segments().size();
        let (first, end) = (self.first_needed(), self.log.end());
        let possible = self.log.complete().min(self.retain()).0 / size;
        let again = tried.0 == first && end.0 < tried.1.0 + size / 4;
        if possible <= first || again {
            return false;
        }
        *tried = (first, end);
        self.log.request_full_checkpoint();
        true
    }

    /// The keeper task.
    pub(crate) async fn run_keeper(self: Arc<Self>, clock: Arc<dyn Clock>, stop: Arc<AtomicBool>) {
        let size = self.log.segments().size();
        let mut tried = (u64::MAX, Lsn::NONE);
        loop {
            self.log.begin_look();
            let full = match self.keep_segments() {
                Ok(()) => {
                    self.shortages.passed(Where::Log);
                    false
                }
                Err(e) if shortage(&e).is_some() => {
                    self.log.note_shortage(&e);
                    if self.holds.lose_all() {
                        // What was kept for them can be had by a checkpoint.
                        tried = (u64::MAX, Lsn::NONE);
                    }
                    let full = self.log.drain().is_none() && !self.may_drain(&mut tried);
                    if full {
                        self.shortages.met(Where::Log, &e);
                    }
                    full
                }
                Err(e) => {
                    self.log.close_failed(&e);
                    return;
                }
            };
            self.log.set_kept(match self.has_too_many() {
                true => Lsn(self.log.end().0.saturating_sub(self.capacity / 2)),
                false => Lsn::NONE,
            });
            self.update_limit(full);
            self.log.end_look();
            self.log
                .keeper_mark
                .store(self.log.end().0 + size / 2, Ordering::Relaxed);
            let mut parked = false;
            poll_fn(|cx| {
                // On a full disk only a new request, or what a checkpoint has left, is a reason to try again; else the state is.
                if stop.load(Ordering::Acquire) || parked {
                    return Poll::Ready(());
                }
                self.log.keeper.park(cx);
                parked = true;
                if full && self.log.space_event.has_waiters() {
                    // No event tells that somebody else made room on the device, and a rollback may be waiting for it.
                    clock.wake_at(clock.now_us() + FULL_DISK_RETRY_US, cx.waker().clone());
                }
                let draining = !self.log.drain().is_none();
                let news = self.log.look_wanted() || (!full && !draining && self.wants_segments());
                if stop.load(Ordering::Acquire) || news {
                    return Poll::Ready(());
                }
                Poll::Pending
            })
            .await;
            if stop.load(Ordering::Acquire) {
                return;
            }
        }
    }

    /// There are more files than the log may have, and a checkpoint would leave some that nobody needs.
    fn would_give_back(&self) -> bool {
        if !self.has_too_many() {
            return false;
        }
        self.would_free(self.candidate())
    }

    /// A checkpoint from which recovery would start at `redo` would leave files that nobody needs.
    fn would_free(&self, redo: Lsn) -> bool {
        redo.min(self.retain()).0 / self.log.segments().size() > self.first_needed()
    }

    /// Before [`Checkpointer::enabled`]: more than one start since the last checkpoint has ended in a crash before its own, and by now there are
    /// more files than the log may have. One start alone leaves few, and may have much to write.
    pub(crate) fn was_left_crowded(&self) -> bool {
        let redo = self.redo_lsn.load(Ordering::Acquire);
        let control = self.control.lock();
        let since = |(_, to): &&(Lsn, Lsn)| to.0 > redo;
        control.state.jumps.iter().filter(since).count() > 1 && self.has_too_many()
    }

    /// Whether the checkpoint of everything that was asked for is worth to be waited for.
    pub(crate) fn drain_would_free(&self) -> bool {
        self.crowded.load(Ordering::Acquire) && self.would_free(self.log.complete())
    }

    fn has_too_many(&self) -> bool {
        self.log.segments().numbers().len() > self.most_files()
    }

    fn wants_segments(&self) -> bool {
        let end = self.log.end();
        let seg = self.log.segments();
        seg.room_end(end).0 < self.wanted_room(end) || self.spare_files()
    }

    /// Files that are kept for the log to come round to, at most.
    fn most_files(&self) -> usize {
        (self.capacity / self.log.segments().size()) as usize
    }

    /// There are files to remove: more than the log comes round to, and not needed. During a recovery all are needed.
    fn spare_files(&self) -> bool {
        self.has_too_many() && !self.spare().is_empty()
    }
}
