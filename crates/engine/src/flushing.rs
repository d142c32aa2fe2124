//! When a commit is durable enough, and the task that makes those durable that nobody waits for.
//!
//! Must never acknowledge: who asks does, after the wait.

use crate::engine::Engine;
use base::Lsn;
use base::environment;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use types::SqlError;
use types::error::codes;

impl Engine {
    /// Waits as flush_log_at_trx_commit asks for a commit record that ends at `end`.
    pub(crate) async fn wait_commit(&self, end: Lsn) -> Result<(), SqlError> {
        if self.sync_commit_now(end) {
            return Ok(());
        }
        let mode = self.flush_at_commit();
        if mode != 1 && base::mutant!("flusher-armed-too-early") {
            self.arm_flusher();
        }
        let r = match mode {
            1 => self.log.wait_durable(end).await,
            2 => {
                // Others of this thread may be about to commit: one of all of them writes for all.
                environment::yield_now(&*self.environment().spawn).await;
                self.log.wait_written(end).await
            }
            _ => self.log.wait_complete(end).await,
        };
        if mode != 1 && !base::mutant!("flusher-armed-too-early") {
            self.arm_flusher();
        }
        r.map_err(|e| {
            SqlError::new(
                codes::ER_ERROR_DURING_COMMIT,
                format!("Got error during COMMIT: {e}"),
            )
        })
    }

    /// As [`wait_commit`](Self::wait_commit), where that waits for nothing; false where it would have to, or would fail.
    #[inline]
    pub(crate) fn sync_commit_now(&self, end: Lsn) -> bool {
        let mode = self.flush_at_commit();
        let done = match mode {
            1 => self.environment().spawn.is_alone() && self.log.sync_here(end),
            2 => self.environment().spawn.is_alone() && self.log.write_now(end),
            _ => self.log.complete_now(end),
        };
        if done && mode != 1 {
            self.arm_flusher();
        }
        done
    }

    /// Has what is complete by now made durable in a while. Behind the wait for that: a flusher that takes notice before would look for less, and nobody
    /// would arm it again.
    fn arm_flusher(&self) {
        // Against the fence in the task: either it sees what is complete, or that it has taken notice is seen here.
        fence(Ordering::SeqCst);
        if !self.flusher.armed.load(Ordering::Relaxed)
            && !self.flusher.armed.swap(true, Ordering::AcqRel)
            && !base::mutant!("flusher-armed-without-a-word")
        {
            self.flusher.event.fire();
        }
    }

    pub(crate) async fn run_flusher(self: Arc<Self>) {
        loop {
            let stop = self
                .flusher
                .event
                .wait_for(|| {
                    if self.stopping.load(Ordering::Acquire) {
                        return Some(true);
                    }
                    self.flusher.armed.load(Ordering::Acquire).then_some(false)
                })
                .await;
            if stop {
                return;
            }
            // The user's setting asks for a second; shutdown does not wait for it.
            self.pause(1_000_000, &self.flusher.event).await;
            self.flusher.armed.store(false, Ordering::Release);
            fence(Ordering::SeqCst);
            self.log.ask_sync(self.log.complete());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::purge_queue::done_note;
    use crate::{EngineOptions, Isolation};
    use base::mem::{self, ManualClock, MemDisk};
    use base::{Environment, TxnId, block_on};
    use pager::{PagerOptions, RecordKind};
    use std::path::Path;
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    fn open(clock: &Arc<ManualClock>) -> Arc<Engine> {
        let environment = Environment {
            clock: clock.clone(),
            ..mem::environment(Arc::new(MemDisk::default()))
        };
        let options = EngineOptions {
            pager: PagerOptions {
                pool_bytes: 4 << 20,
                log_capacity_bytes: 32 << 20,
                log_buffer_bytes: 1 << 20,
                ..PagerOptions::default()
            },
            flush_at_commit: 0,
            ..EngineOptions::default()
        };
        block_on(Engine::open(environment, Path::new("/db"), options)).expect("an engine")
    }

    /// Lets seconds pass, and whoever waits for them go on.
    fn let_pass(clock: &ManualClock, so: impl Fn() -> bool) -> bool {
        (0..200).any(|_| {
            clock.advance(1_000_000);
            thread::sleep(Duration::from_millis(2));
            so()
        })
    }

    /// A commit waits for a record before it to be complete, and meanwhile the second passes: all the same it is durable soon.
    #[test]
    fn what_nobody_waits_for_is_durable_soon() {
        let clock = Arc::new(ManualClock::default());
        let e = open(&clock);
        let (reserved, go_on) = (Barrier::new(2), Barrier::new(2));
        let mut s = e.session();
        s.begin(Isolation::ReadCommitted, false);
        s.leave_group(Some(b"a group"));
        thread::scope(|scope| {
            scope.spawn(|| {
                let body = done_note(Lsn(1));
                let hold = |_, _| {
                    reserved.wait();
                    go_on.wait();
                };
                let (kind, none) = (RecordKind::Note, Lsn::NONE);
                e.pager.append(kind, TxnId::NONE, none, &body, hold)
            });
            reserved.wait();
            let committing = scope.spawn(|| block_on(s.commit()));
            let_pass(&clock, || false);
            go_on.wait();
            committing.join().expect("a thread").expect("a commit");
        });
        let end = e.complete();
        assert!(
            let_pass(&clock, || e.log.durable() >= end),
            "{end:?} is not durable"
        );
        drop(s);
        // The stop is no matter of the clock.
        block_on(e.close()).expect("a stop");
    }
}
