//! The group commit: who writes the log, who syncs it, and who waits for either.
//!
//! Contract: whoever waits for a position is answered only when it is written (or durable), or when the log has failed or
//! ended; nobody who waits is forgotten. One thread at a time is the writer, the leader of its group. Nothing here touches a file, and
//! nothing here knows what a record is: what a writer does is the caller's.

use crate::error::{self, OpError};
use base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use base::sync::{Mutex, MutexGuard};
use base::{Event, Lsn};

/// How far the log is written and durable. `T` is what the writer needs.
pub(super) struct Group<T> {
    written: AtomicU64,
    durable: AtomicU64,
    /// Somebody wants everything below to be durable.
    wanted: AtomicU64,
    writer: Mutex<T>,
    written_event: Event,
    durable_event: Event,
    /// Fired when a sync is wanted, or at the end.
    sync_event: Event,
    closed: AtomicBool,
    /// A write is durable by itself.
    dsync: bool,
}

impl<T> Group<T> {
    pub(super) fn new(start: Lsn, dsync: bool, state: T) -> Group<T> {
        Group {
            written: AtomicU64::new(start.0),
            durable: AtomicU64::new(start.0),
            wanted: AtomicU64::new(0),
            writer: Mutex::new(state),
            written_event: Event::new(),
            durable_event: Event::new(),
            sync_event: Event::new(),
            closed: AtomicBool::new(false),
            dsync,
        }
    }

    /// Everything below was handed to the operating system.
    #[inline]
    pub(super) fn written(&self) -> Lsn {
        Lsn(self.written.load(Ordering::Acquire))
    }

    /// Everything below survives a power cut.
    #[inline]
    pub(super) fn durable(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::Acquire))
    }

    /// Whether a write is durable by itself.
    pub(super) fn dsync(&self) -> bool {
        self.dsync
    }

    /// The right to write; others who want it wait for what this one does.
    fn lock_writer(&self) -> MutexGuard<'_, T> {
        self.writer.lock()
    }

    /// Writes, if nobody else is at it: false if somebody is.
    pub(super) fn try_write(&self, write: impl FnOnce(&mut T)) -> bool {
        {
            let Some(mut state) = self.writer.try_lock() else {
                return false;
            };
            write(&mut state);
        }
        // Only now: whoever found the writer locked and parked must find it free when woken.
        if !base::mutant!("turn-ended-without-a-word") {
            self.tell_written();
        }
        true
    }

    /// Writes, after whoever is at it.
    pub(super) fn write<R>(&self, write: impl FnOnce(&mut T) -> R) -> R {
        let r = write(&mut self.lock_writer());
        self.tell_written();
        r
    }

    fn tell_written(&self) {
        self.written_event.fire();
        if self.dsync {
            self.durable_event.fire();
        }
    }

    /// The writer has handed everything below `to` over. It tells those who wait when it ends.
    pub(super) fn set_written(&self, to: Lsn) {
        self.written.store(to.0, Ordering::Release);
        if self.dsync {
            self.durable.store(to.0, Ordering::Release);
        }
    }

    /// A sync that began after everything below `to` was written has returned without error.
    pub(super) fn set_durable(&self, to: Lsn) {
        self.durable.fetch_max(to.0, Ordering::AcqRel);
        if !base::mutant!("group-commit-wakeup-lost") {
            self.durable_event.fire();
        }
    }

    /// Waits until everything below `lsn` is written, `try_write` being the caller's way to [`Group::try_write`].
    pub(super) async fn wait_written(
        &self,
        lsn: Lsn,
        failed: impl Fn() -> Option<OpError>,
        try_write: impl Fn() -> bool,
    ) -> Result<(), OpError> {
        self.written_event
            .wait_for(|| {
                if let Some(e) = failed() {
                    return Some(Err(e));
                }
                // The one who was writing may have finished before our record was complete.
                if self.written() < lsn {
                    try_write();
                }
                (self.written() >= lsn).then_some(Ok(()))
            })
            .await
    }

    /// Waits until everything below `lsn` is durable, which somebody has to have asked for ([`Group::ask_sync`]).
    pub(super) async fn wait_durable(
        &self,
        lsn: Lsn,
        failed: impl Fn() -> Option<OpError>,
    ) -> Result<(), OpError> {
        self.durable_event
            .wait_for(|| {
                if self.durable() >= lsn {
                    return Some(Ok(()));
                }
                if self.closed.load(Ordering::Acquire) {
                    // The sync task has ended, or is about to.
                    return Some(Err(error::closed()));
                }
                failed().map(Err)
            })
            .await
    }

    /// Asks for a sync up to `lsn` without waiting for it.
    pub(super) fn ask_sync(&self, lsn: Lsn) {
        if self.wanted.fetch_max(lsn.0, Ordering::AcqRel) < lsn.0
            && !base::mutant!("sync-asked-for-without-a-word")
        {
            self.sync_event.fire();
        }
    }

    /// The sync task's wait: true when somebody wants a sync, false when the log is closed and nobody does.
    pub(super) async fn wait_asked(&self, failed: impl Fn() -> bool) -> bool {
        self.sync_event
            .wait_for(|| {
                if self.wanted.load(Ordering::Acquire) > self.durable().0 && !failed() {
                    return Some(true);
                }
                self.closed.load(Ordering::Acquire).then_some(false)
            })
            .await
    }

    /// Where those wait who want it written, and durable.
    pub(super) fn events(&self) -> (&Event, &Event) {
        (&self.written_event, &self.durable_event)
    }

    /// Whether it has ended, or is about to.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Ends the sync task.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.sync_event.fire();
        if !base::mutant!("log-closed-without-a-word") {
            self.durable_event.fire();
        }
    }

    /// Makes everybody who waits look again: the log has failed.
    pub(super) fn wake_all(&self) {
        self.written_event.fire();
        self.durable_event.fire();
    }
}

#[cfg(all(test, tidemill_model))]
mod loom_model {
    use super::*;
    use base::sync::{Arc, block_on, model, spawn};

    /// A log without records: what is appended is a number, and so is what the files hold.
    struct Bed {
        group: Group<()>,
        complete: AtomicU64,
        synced: AtomicU64,
    }

    fn bed() -> Arc<Bed> {
        Arc::new(Bed {
            group: Group::new(Lsn(0), false, ()),
            complete: AtomicU64::new(0),
            synced: AtomicU64::new(0),
        })
    }

    impl Bed {
        fn append(&self) -> Lsn {
            Lsn(self.complete.fetch_add(1, Ordering::AcqRel) + 1)
        }

        fn write_out(&self) {
            self.group
                .set_written(Lsn(self.complete.load(Ordering::Acquire)));
        }

        fn sync_once(&self) {
            let to = self.group.write(|()| {
                self.write_out();
                self.group.written()
            });
            self.synced.fetch_max(to.0, Ordering::AcqRel);
            self.group.set_durable(to);
        }

        fn commit(&self) {
            let lsn = self.append();
            self.group.ask_sync(lsn);
            block_on(self.group.wait_durable(lsn, || None)).expect("nobody closes the log");
            assert!(self.synced.load(Ordering::Acquire) >= lsn.0);
        }

        fn run_sync(&self) {
            while block_on(self.group.wait_asked(|| false)) {
                self.sync_once();
            }
        }
    }

    /// Two commits, one sync task: both are answered, and not before a sync covered them.
    #[test]
    fn each_commit_is_answered_once_it_is_synced() {
        model(|| {
            let bed = bed();
            let syncing = bed.clone();
            let sync = spawn(move || syncing.run_sync());
            let other = bed.clone();
            let t = spawn(move || other.commit());
            bed.commit();
            t.join().unwrap();
            bed.group.close();
            sync.join().unwrap();
        });
    }

    /// Whoever finds somebody else writing sleeps in the trust that he is woken: nobody sleeps on.
    #[test]
    fn whoever_finds_the_turn_taken_is_woken() {
        model(|| {
            let bed = bed();
            let write = |bed: &Bed| {
                let lsn = bed.append();
                let try_write = || bed.group.try_write(|()| bed.write_out());
                block_on(bed.group.wait_written(lsn, || None, try_write)).expect("it is written");
                assert!(bed.group.written() >= lsn);
            };
            let other = bed.clone();
            let t = spawn(move || write(&other));
            write(&bed);
            t.join().unwrap();
        });
    }

    /// A commit that comes as the log is closed is durable or refused, and not forgotten.
    #[test]
    fn a_commit_at_the_end_gets_an_answer() {
        model(|| {
            let bed = bed();
            let syncing = bed.clone();
            let sync = spawn(move || syncing.run_sync());
            let closing = bed.clone();
            let t = spawn(move || closing.group.close());
            let lsn = bed.append();
            bed.group.ask_sync(lsn);
            let r = block_on(bed.group.wait_durable(lsn, || None));
            assert!(r.is_err() || bed.synced.load(Ordering::Acquire) >= lsn.0);
            t.join().unwrap();
            sync.join().unwrap();
        });
    }
}
