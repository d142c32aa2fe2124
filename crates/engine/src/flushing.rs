//! When a commit is durable enough, and the task that makes those durable that nobody waits for.
//!
//! Must never acknowledge: who asks does, after the wait.

use crate::engine::Engine;
use base::Lsn;
use base::environment;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::SqlError;
use types::error::codes;

impl Engine {
    /// Waits as flush_log_at_trx_commit asks for a commit record that ends at `end`.
    pub(crate) async fn wait_commit(&self, end: Lsn) -> Result<(), SqlError> {
        if self.sync_commit_now(end) {
            return Ok(());
        }
        let r = match self.flush_at_commit() {
            1 => self.log.wait_durable(end).await,
            2 => {
                self.arm_flusher();
                // Others of this thread may be about to commit: one of all of them writes for all.
                environment::yield_now(&*self.environment().spawn).await;
                self.log.wait_written(end).await
            }
            _ => {
                self.arm_flusher();
                self.log.wait_complete(end).await
            }
        };
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
        match self.flush_at_commit() {
            1 => self.environment().spawn.is_alone() && self.log.sync_here(end),
            2 if !self.environment().spawn.is_alone() => false,
            2 => {
                self.arm_flusher();
                self.log.write_now(end)
            }
            _ => {
                self.arm_flusher();
                self.log.complete_now(end)
            }
        }
    }

    fn arm_flusher(&self) {
        if !self.flusher.armed.load(Ordering::Relaxed)
            && !self.flusher.armed.swap(true, Ordering::AcqRel)
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
            self.log.ask_sync(self.log.complete());
        }
    }
}
