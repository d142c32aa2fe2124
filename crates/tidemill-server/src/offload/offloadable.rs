//! A connection's task that goes elsewhere to compute: it is polled by its loop as long as it has little to do, and by a thread of its own
//! ([`WorkThreads`]) while a statement of it computes for long, or when it has kept the loop waiting several times of late. So it keeps
//! nobody waiting who shares the loop.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;

use super::handover::{Handover, Received};
use super::placement::{Next, Place, STALLING, Task, poll_in};
use super::threads::{Job, WorkThreads};

/// What a turn that keeps the loop waiting counts; others take one off.
const STALL: u8 = 8;

/// A task whose stalls count so much takes its turns elsewhere.
const STALLS: u8 = 12;

/// Of the turns of a task that has not stalled, one in so many is timed: two looks at the clock are felt in a turn of some microseconds. Odd, as
/// a command often takes two turns, of which the second only sends.
const TIMED: u8 = 7;

/// The most that stalls count.
const STALLS_MOST: u8 = 64;

/// A task that may leave its loop; a task of the loop itself.
pub(crate) struct Offloadable {
    /// `None` while it is away.
    task: Option<Task>,
    handover: Arc<Handover>,
    threads: WorkThreads,
    /// Its loop's runtime, for sockets and timers.
    runtime: Handle,
    /// How long its statement has computed.
    computed: Duration,
    /// How much it has kept its loop waiting of late.
    stalls: u8,
    turns: u8,
}

impl Offloadable {
    /// A task of the loop of `runtime` which goes to one of `threads` when it has to.
    pub(crate) fn new(task: Task, threads: WorkThreads, runtime: Handle) -> Offloadable {
        Offloadable {
            task: Some(task),
            handover: Handover::new(),
            threads,
            runtime,
            computed: Duration::ZERO,
            stalls: 0,
            turns: 0,
        }
    }

    /// Gives the task to a thread. It comes back at once where there is none to be had.
    fn send(&mut self, task: Task, next: Next, cx: &Context<'_>) {
        self.handover.leave(cx.waker());
        let job = Job {
            task,
            handover: Arc::clone(&self.handover),
            runtime: self.runtime.clone(),
            amidst: next == Next::Amidst,
        };
        if let Err(job) = self.threads.run(job) {
            self.handover.stay();
            self.task = Some(job.task);
            self.stalls = 0;
            cx.waker().wake_by_ref();
        }
    }

    /// Takes the task back where it has come; what it means for the caller where not.
    fn receive(&mut self, cx: &Context<'_>) -> Option<Poll<()>> {
        match self.handover.receive(cx.waker()) {
            Received::Task(task, stalled) => {
                self.task = Some(task);
                self.computed = Duration::ZERO;
                self.count(stalled);
                None
            }
            Received::Over => Some(Poll::Ready(())),
            Received::Away => Some(Poll::Pending),
        }
    }

    fn count(&mut self, stalled: bool) {
        self.stalls = match stalled {
            true => self.stalls.saturating_add(STALL).min(STALLS_MOST),
            false => self.stalls.saturating_sub(1),
        };
    }

    fn poll_here(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(task) = &mut self.task else {
            return Poll::Ready(());
        };
        self.turns = self.turns.wrapping_add(1);
        let timed = self.turns.is_multiple_of(TIMED) || self.stalls > 0 || !self.computed.is_zero();
        let (polled, took, next) = poll_in(Place::Loop, timed, &mut self.computed, task, cx);
        self.count(took >= STALLING);
        if next != Next::Here
            && polled.is_pending()
            && let Some(task) = self.task.take()
        {
            self.send(task, next, cx);
        }
        polled
    }
}

impl Future for Offloadable {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let me = self.get_mut();
        match me.task.take() {
            Some(task) if me.stalls >= STALLS => {
                me.send(task, Next::There, cx);
                return Poll::Pending;
            }
            Some(task) => me.task = Some(task),
            None => {
                if let Some(answer) = me.receive(cx) {
                    return answer;
                }
            }
        }
        me.poll_here(cx)
    }
}

impl Drop for Offloadable {
    fn drop(&mut self) {
        self.handover.orphan();
    }
}
