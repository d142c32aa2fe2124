//! The place of a worker among the others, as the one who applies its events knows it.

use std::sync::Arc;

use engine::CommitOrder;

use super::crew::{Crew, Job};
use super::settler::Settler;

/// What a worker knows of the transaction that it applies.
pub(super) struct Lane<'s> {
    pub crew: &'s Crew,
    pub settler: &'s Settler,
    pub order: &'s CommitOrder,
    pub worker: usize,
    pub job: Option<Arc<Job>>,
    /// Its commit is in the log.
    pub recorded: bool,
    /// The settler waits until it is durable, and says so.
    pub settling: bool,
    /// Its last event has been applied.
    pub over: bool,
}

impl Lane<'_> {
    /// Its number.
    pub fn number(&self) -> u64 {
        self.job.as_ref().map_or(0, |j| j.slot.number)
    }

    /// Waits until all before it is done; false: all come to an end.
    pub fn wait_first(&self) -> bool {
        let number = self.number();
        self.crew.wait_for(self.worker, number.saturating_sub(1))
    }

    /// Whether all before it is done.
    pub fn is_first(&self) -> bool {
        self.crew.done() + 1 >= self.number()
    }
}
