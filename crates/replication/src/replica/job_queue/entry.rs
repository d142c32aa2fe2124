//! What stands between coordinator and workers: an entry for each transaction, a state for each worker.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::Interrupt;
use wire::binlog::format::Format;

use crate::replica::place::Place;
use crate::replica::queue::Queued;
use crate::replica::schedule::Slot;

/// A transaction that a worker is to apply.
#[derive(Debug)]
pub struct Job {
    /// Where it stands among the others.
    pub slot: Slot,
    /// How far all before it have come.
    pub base: Place,
    /// What has written it.
    pub format: Option<Arc<Format>>,
    /// It is left out (`sql_replica_skip_counter`).
    pub skipped: bool,
    /// Nothing is beside it.
    pub alone: bool,
    /// Whoever applies it applies all that comes behind it: his session has something that no other can see.
    pub keeps: bool,
}

/// A transaction that was handed out.
pub struct Entry {
    pub job: Arc<Job>,
    pub events: VecDeque<Arc<Queued>>,
    /// How many of them its worker has read.
    pub read: usize,
    pub whole: bool,
    pub abandoned: bool,
    /// It has too many events to be tried again: those that were read are gone.
    pub streamed: bool,
    /// The coordinator waits for more of it: a worker may begin with what there is.
    pub told: bool,
    /// Who applies it.
    pub worker: Option<usize>,
    /// It is applied, or left out.
    pub cleared: bool,
}

impl Entry {
    /// An empty one.
    pub fn new(job: Job) -> Entry {
        Entry {
            job: Arc::new(job),
            events: VecDeque::new(),
            read: 0,
            whole: false,
            abandoned: false,
            streamed: false,
            told: false,
            worker: None,
            cleared: false,
        }
    }

    /// Whether a worker is to take it.
    pub fn may_be_taken(&self) -> bool {
        self.whole || self.abandoned || self.told || self.streamed
    }
}

/// What a worker is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Activity {
    /// He sleeps until there is something to apply, and nobody has woken him.
    #[default]
    Idle,
    /// He applies something, or he was woken.
    Active,
    /// He has something, and waits for others or for the disk.
    Waits,
}

/// A worker.
#[derive(Default)]
pub struct WorkerState {
    /// The number of what he applies.
    pub has: Option<u64>,
    pub activity: Activity,
    /// He sleeps until all up to this number are done.
    pub waits_for: Option<u64>,
    /// To end what his session waits for.
    pub interrupt: Option<Arc<Interrupt>>,
}
