//! Admission: who may append to the log when it runs out of room. Ring, files and checkpoints set the limit.
//!
//! Three kinds of operations are told apart. A transaction's *change* is the first that is refused: what it would take to
//! undo all that is open is kept free. What *tidies up* or prepares (merges, purge, checkpoints) comes next. What *ends* a
//! transaction (a compensation, a commit) is the last. Nothing here writes or waits for the device.

use super::{Log, RecordKind};
use crate::error::{OpError, Purpose, Wait};
use base::Lsn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Purpose {
    /// What a record of this kind is for.
    #[inline(always)]
    pub fn of(kind: RecordKind) -> Purpose {
        match kind {
            RecordKind::Change => Purpose::Change,
            RecordKind::Compensation => Purpose::Undo,
            _ => Purpose::Tidy,
        }
    }
}

impl Log {
    /// Whether another operation may append now. Where files cannot be had, what room there is serves to undo what was
    /// begun, and to tidy up.
    ///
    /// # Errors
    /// [`OpError::Wait`] until the log has room, [`OpError::LogFull`] where it will have none.
    #[inline(always)]
    pub fn admit(&self, purpose: Purpose) -> Result<(), OpError> {
        let (margin, limit) = match purpose {
            Purpose::Change => (self.margin, &self.change_limit),
            Purpose::Tidy => (self.margin, &self.tidy_limit),
            Purpose::Undo => (self.margin / 2, &self.limit),
        };
        if let Some(e) = self.failed.get() {
            return Err(OpError::Io(e.clone()));
        }
        if self.ring.reserved().0 + margin > limit.load(Ordering::Acquire) {
            return Err(OpError::Wait(Wait::LogSpace(purpose)));
        }
        Ok(())
    }

    /// It will take so many bytes more to undo what is open.
    pub fn reserve_undo(&self, bytes: u64) {
        self.undo.fetch_add(bytes, Ordering::AcqRel);
        // At once: until the keeper looks again, this much less may be appended.
        let less = |limit: u64| Some(limit.saturating_sub(bytes));
        let _ = self
            .change_limit
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    /// It will take so many bytes less.
    pub fn release_undo(&self, bytes: u64) {
        self.undo.fetch_sub(bytes, Ordering::AcqRel);
        // It sets the limits anew, and somebody may wait for that.
        self.keeper.fire();
    }

    /// Bytes kept free for operations that have passed admission.
    pub(crate) fn margin(&self) -> u64 {
        self.margin
    }

    /// What it takes to undo what is open, but for small transactions.
    pub(crate) fn undo(&self) -> u64 {
        self.undo.load(Ordering::Acquire)
    }

    /// Waits until [`Log::admit`] would not ask to wait; on a full disk, until the keeper has looked for room once more; where pages cannot be
    /// written for want of something, until that was tried once more.
    ///
    /// # Errors
    /// [`OpError::LogFull`]: the disk is full; [`OpError::Io`]: the log is closed.
    pub async fn wait_admission(&self, purpose: Purpose) -> Result<(), OpError> {
        // A look that has begun may have missed room that came since.
        let look = self.look_begun.load(Ordering::Acquire) + 1;
        self.look_asked.fetch_max(look, Ordering::AcqRel);
        // Likewise a round.
        let stuck = self.stuck.load(Ordering::Acquire) + 1;
        self.request_checkpoint();
        self.space_event
            .wait_for(|| {
                // In this order: what the look has found is seen when it is over.
                let looked = self.look_done.load(Ordering::Acquire) >= look;
                let full =
                    self.full.load(Ordering::Acquire) || self.stuck.load(Ordering::Acquire) > stuck;
                match self.admit(purpose) {
                    Err(OpError::Wait(_)) if looked && full => {
                        Some(Err(OpError::LogFull(self.shortage())))
                    }
                    Err(OpError::Wait(_)) => None,
                    r => Some(r),
                }
            })
            .await
    }

    /// Why another file could not be made.
    pub(crate) fn note_shortage(&self, e: &io::Error) {
        let e = match e.raw_os_error() {
            Some(n) => io::Error::from_raw_os_error(n),
            None => io::Error::from(e.kind()),
        };
        let mut why = self.shortage.lock();
        *why = Arc::new(e);
    }

    /// The cleaner could not write, for want of something.
    pub(crate) fn note_stuck(&self, e: &io::Error) {
        self.note_shortage(e);
        self.stuck.fetch_add(1, Ordering::AcqRel);
        self.space_event.fire();
    }

    fn shortage(&self) -> Arc<io::Error> {
        let why = self.shortage.lock();
        why.clone()
    }

    /// The keeper begins to look for room.
    pub(crate) fn begin_look(&self) {
        self.look_begun.fetch_add(1, Ordering::AcqRel);
    }

    /// It has looked, and set the limits.
    pub(crate) fn end_look(&self) {
        let look = self.look_begun.load(Ordering::Acquire);
        let before = self.look_done.swap(look, Ordering::AcqRel);
        // Nobody waits for a look that nobody has asked for.
        if before < self.look_asked.load(Ordering::Acquire) {
            self.space_event.fire();
        }
    }

    /// Somebody waits for a look that has not begun.
    pub(crate) fn look_wanted(&self) -> bool {
        self.look_asked.load(Ordering::Acquire) > self.look_begun.load(Ordering::Acquire)
    }

    /// As [`Log::wait_admission`], for what must not fail: a full disk is waited out too.
    ///
    /// # Errors
    /// [`OpError::Io`]: the log is closed.
    pub async fn wait_admission_patiently(&self, purpose: Purpose) -> Result<(), OpError> {
        self.request_checkpoint();
        self.space_event
            .wait_for(|| match self.admit(purpose) {
                Err(OpError::Wait(_) | OpError::LogFull(_)) => None,
                r => Some(r),
            })
            .await
    }

    /// There are more files than the log may have. What keeps them is older than `before`; none: there are not too many.
    pub(crate) fn set_kept(&self, before: Lsn) {
        self.kept_before.store(before.0, Ordering::Release);
    }

    /// Something is over that needed the log from `lsn` on (a snapshot, a transaction, purge work): if that is what has kept too many files,
    /// they are looked at again.
    #[inline]
    pub fn needs_less(&self, lsn: Lsn) {
        if lsn.0 < self.kept_before.load(Ordering::Acquire) {
            self.request_checkpoint();
        }
    }

    /// What lies before is not read back any more.
    pub(crate) fn forget_before(&self, lsn: Lsn) {
        self.blocks.forget_before(lsn);
    }

    /// Asks the cleaner to write everything, and to make a checkpoint. What it has done so far is a reason for the keeper to
    /// look again.
    pub(crate) fn request_full_checkpoint(&self) {
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
    pub(crate) fn request_checkpoint(&self) {
        self.urgent.store(true, Ordering::Release);
        if base::mutant!("room-asked-for-without-a-word") {
            return;
        }
        self.growth.fire();
        self.keeper.fire();
    }

    /// Sets up to where appends are admitted: files reach up to `room`, and the checkpoint allows what is below `age`.
    /// `full`: there are no more files because the disk has no room.
    pub(crate) fn set_limit(&self, room: Lsn, age: Lsn, full: bool) {
        let limit = room.min(age).0;
        let files = room.0.saturating_sub(self.segments.size());
        let tidying = limit.min(files);
        // Something for small transactions too, and for those who tidy up.
        let kept = self.undo() + self.margin / 4;
        let changes = limit.min(files.saturating_sub(kept));
        // As long as there is room, nobody is refused: when it runs out, the keeper is asked first.
        let full = full && self.end().0 + self.margin > changes;
        let was_full = self.full.swap(full, Ordering::AcqRel);
        let changes_before = self.change_limit.swap(changes, Ordering::AcqRel);
        let tidying_before = self.tidy_limit.swap(tidying, Ordering::AcqRel);
        let before = self.limit.swap(limit, Ordering::AcqRel);
        // Only news is told: whoever waits for room on a full disk asks the keeper to look again, and would be asked again.
        let news = limit != before
            || tidying != tidying_before
            || changes > changes_before
            || full != was_full;
        if news && !base::mutant!("room-made-without-a-word") {
            self.space_event.fire();
        }
    }
}
