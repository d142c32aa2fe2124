//! What a worker knows of the transaction that it applies, and how it asks the others.

use std::sync::Arc;

use engine::CommitOrder;

use super::durable_position::DurablePosition;
use super::job_queue::{Job, JobQueue};

/// What a worker knows of the transaction that it applies.
pub(super) struct Task<'s> {
    pub jobs: &'s JobQueue,
    pub durable: &'s DurablePosition,
    pub order: &'s CommitOrder,
    pub worker: usize,
    pub job: Option<Arc<Job>>,
    /// Its commit is in the log.
    pub recorded: bool,
    /// The durable position waits until it is durable, and says so.
    pub awaits_sync: bool,
    /// Its last event has been applied.
    pub over: bool,
}

impl Task<'_> {
    /// Its number.
    pub fn number(&self) -> u64 {
        self.job.as_ref().map_or(0, |j| j.slot.number)
    }

    /// Waits until all before it is done; false: all come to an end.
    pub fn wait_first(&self) -> bool {
        let number = self.number();
        self.jobs.wait_for(self.worker, number.saturating_sub(1))
    }

    /// Whether all before it is done.
    pub fn is_first(&self) -> bool {
        self.jobs.done() + 1 >= self.number()
    }
}
