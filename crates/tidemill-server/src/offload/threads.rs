//! The threads on which statements compute that take long: one for each, made when there is something to do, and kept for a while.
//!
//! Those that take up statements before these have begun get less of a busy machine than the threads that serve. Statements that turn out long in
//! the middle of rows and pages go on with the priority that they had: the kernel would stop them for long with a page latched (decision 0017).
//!
//! There are as many as statements that have left their loops, and no more than connections; of these some compute at a time ([`Slots`]).
//!
//! Must never do: take a task that may not leave its loop; wait for a task that cannot be interrupted.

use base::lock::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use super::handover::Handover;
use super::placement::Task;
use super::slots::Slots;

/// How long a thread waits for something to do.
const KEPT: Duration = Duration::from_secs(10);

/// Room for deep statements; what is not used takes no memory.
const STACK: usize = 16 << 20;

/// A task to be worked on.
pub(super) struct Job {
    /// The task.
    pub(super) task: Task,
    /// What its loop knows of it.
    pub(super) handover: Arc<Handover>,
    /// Its loop's runtime.
    pub(super) runtime: Handle,
    /// It is in the middle of rows and pages.
    pub(super) amidst: bool,
}

/// Threads of one priority.
#[derive(Default)]
struct Kind {
    waiting: VecDeque<Job>,
    idle: usize,
}

#[derive(Default)]
struct State {
    /// The second are for jobs that are in the middle of something.
    kinds: [Kind; 2],
    at_work: Vec<Arc<Handover>>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    given: [Condvar; 2],
    done: Condvar,
    slots: Slots,
}

/// All of them.
#[derive(Clone, Default)]
pub(crate) struct WorkThreads(Arc<Shared>);

impl std::fmt::Debug for WorkThreads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WorkThreads({})", self.0.state().at_work.len())
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn is_closed(&self) -> bool {
        self.state().closed
    }

    fn run(&self, first: Job) {
        let kind = usize::from(first.amidst);
        if !first.amidst {
            base::real::lower_priority();
        }
        base::real::dedicate_to_requests();
        let mut next = Some(first);
        while let Some(job) = next {
            let handover = Arc::clone(&job.handover);
            {
                let _inside = job.runtime.enter();
                job.handover
                    .work(job.task, &self.slots, || self.is_closed());
            }
            next = self.after(&handover, kind);
        }
    }

    /// The job after the one that has ended; `None` where none comes.
    fn after(&self, ended: &Arc<Handover>, kind: usize) -> Option<Job> {
        let mut s = self.state();
        s.at_work.retain(|a| !Arc::ptr_eq(a, ended));
        if s.at_work.is_empty() {
            self.done.notify_all();
        }
        let until = Instant::now() + KEPT;
        s.kinds[kind].idle += 1;
        loop {
            if let Some(job) = s.kinds[kind].waiting.pop_front() {
                s.kinds[kind].idle -= 1;
                return Some(job);
            }
            let left = until.saturating_duration_since(Instant::now());
            if s.closed || left.is_zero() {
                s.kinds[kind].idle -= 1;
                return None;
            }
            s = self.given[kind].wait_timeout(s, left);
        }
    }
}

impl WorkThreads {
    /// Has a thread work on it; gives it back where the system has no thread for it, or no more is to begin.
    pub(super) fn run(&self, job: Job) -> Result<(), Job> {
        let mut s = self.0.state();
        if s.closed {
            return Err(job);
        }
        s.at_work.push(Arc::clone(&job.handover));
        let kind = usize::from(job.amidst);
        let of = &mut s.kinds[kind];
        if of.idle > of.waiting.len() {
            of.waiting.push_back(job);
            self.0.given[kind].notify_one();
            return Ok(());
        }
        drop(s);
        // Kept until it is known that a thread has it.
        let slot = Arc::new(Mutex::new(Some(job)));
        let taken = Arc::clone(&slot);
        let shared = Arc::clone(&self.0);
        let begun = std::thread::Builder::new()
            .name("work".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                if let Some(job) = taken_from(&taken) {
                    shared.run(job);
                }
            });
        if begun.is_err()
            && let Some(job) = taken_from(&slot)
        {
            let mut s = self.0.state();
            s.at_work.retain(|a| !Arc::ptr_eq(a, &job.handover));
            return Err(job);
        }
        Ok(())
    }

    /// How many statements compute.
    #[cfg(test)]
    pub(crate) fn at_work(&self) -> usize {
        self.0.state().at_work.len()
    }

    /// Lets nothing begin any more, drops what waits, and waits at most so long for what computes. Says how many go on; they are left
    /// to the end of the process.
    pub(crate) fn close(&self, at_most: Duration) -> usize {
        let mut s = self.0.state();
        s.closed = true;
        self.0.given.iter().for_each(Condvar::notify_all);
        let at_work = s.at_work.clone();
        drop(s);
        for handover in at_work {
            if !base::mutant!("work-closed-without-a-word") {
                std::task::Wake::wake(handover);
            }
        }
        let until = Instant::now() + at_most;
        let mut s = self.0.state();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if s.at_work.is_empty() || left.is_zero() {
                return s.at_work.len();
            }
            s = self.0.done.wait_timeout(s, left);
        }
    }
}

fn taken_from(slot: &Mutex<Option<Job>>) -> Option<Job> {
    slot.lock().take()
}
