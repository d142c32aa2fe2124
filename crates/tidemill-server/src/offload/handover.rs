//! A task between its loop and the thread that computes for it: who has it, and whom a wake-up is for.
//!
//! Exactly one thread polls it at any time. Whoever wakes it need not know where it is.
//!
//! Must never do: poll a task on two threads, or lose a wake-up while it moves.

use base::lock::{Mutex, MutexGuard};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use super::placement::{Next, Place, STALLING, Task, poll_in};
use super::slots::Slots;

/// Where a task is that may have left.
enum At {
    /// With its loop.
    Home,
    /// With a thread of its own.
    Away,
    /// On its way home; whether it would have kept its loop waiting.
    Back(Task, bool),
    /// Nowhere: it has ended, or panicked.
    Over,
}

struct State {
    at: At,
    home: Option<Waker>,
    thread: Option<Thread>,
    woken: bool,
    /// Its loop has gone.
    orphan: bool,
}

/// What a task's loop and the thread that it goes to have in common. As a waker it wakes the task where it is.
pub(super) struct Handover(Mutex<State>);

/// What a loop gets that asks for its task.
pub(super) enum Received {
    /// The task, and whether it would have kept its loop waiting.
    Task(Task, bool),
    /// It has ended, or panicked.
    Over,
    /// It is still with its thread.
    Away,
}

impl Handover {
    /// Of a task that is with its loop.
    pub(super) fn new() -> Arc<Handover> {
        Arc::new(Handover(Mutex::new(State {
            at: At::Home,
            home: None,
            thread: None,
            woken: false,
            orphan: false,
        })))
    }

    /// The task leaves its loop, which is woken by `loop_waker` when it comes back.
    pub(super) fn leave(&self, loop_waker: &Waker) {
        let mut s = self.state();
        s.at = At::Away;
        s.home = Some(loop_waker.clone());
        s.woken = false;
    }

    /// No thread took it.
    pub(super) fn stay(&self) {
        self.state().at = At::Home;
    }

    /// Gives the task to its loop where it has come back.
    pub(super) fn receive(&self, loop_waker: &Waker) -> Received {
        let mut s = self.state();
        match std::mem::replace(&mut s.at, At::Home) {
            At::Back(task, stalled) => Received::Task(task, stalled),
            At::Over => {
                s.at = At::Over;
                Received::Over
            }
            at => {
                // Whoever woke the loop means the task.
                s.at = at;
                s.woken = true;
                s.home = Some(loop_waker.clone());
                if let Some(thread) = &s.thread
                    && !base::mutant!("task-away-not-woken-by-its-loop")
                {
                    thread.unpark();
                }
                Received::Away
            }
        }
    }

    /// The loop goes. A task that has come back goes with it; one that is away is dropped by its thread.
    pub(super) fn orphan(&self) {
        let mut s = self.state();
        s.orphan = true;
        s.home = None;
        let left = std::mem::replace(&mut s.at, At::Over);
        if matches!(left, At::Away) {
            s.at = At::Away;
        }
        drop(s);
        drop(left);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// The task is now the caller's, to be polled on this thread until it moves or ends; `stop` says that it is to be dropped.
    pub(super) fn work(
        self: &Arc<Handover>,
        mut task: Task,
        slots: &Slots,
        stop: impl Fn() -> bool,
    ) {
        self.state().thread = Some(std::thread::current());
        let waker = Waker::from(Arc::clone(self));
        let mut cx = Context::from_waker(&waker);
        let mut stalls = false;
        let mut slot = slots.enter();
        loop {
            let mut computed = Duration::ZERO;
            // Unwind safe: after a panic nobody polls the task again.
            let polled = catch_unwind(AssertUnwindSafe(|| {
                poll_in(Place::Thread, true, &mut computed, &mut task, &mut cx)
            }));
            match polled {
                Ok((Poll::Pending, took, next)) => {
                    stalls |= took >= STALLING;
                    if next != Next::Here {
                        return self.arrive(At::Back(task, stalls));
                    }
                }
                Ok((Poll::Ready(()), ..)) | Err(_) => break,
            }
            let woken = std::mem::take(&mut self.state().woken);
            slot = match woken {
                true => slot.pause(),
                false => {
                    drop(slot);
                    self.parked(&stop);
                    slots.enter()
                }
            };
            if stop() {
                break;
            }
        }
        drop(slot);
        self.drop_and_end(task);
    }

    /// Waits until the task is woken, or is to stop.
    fn parked(&self, stop: &impl Fn() -> bool) {
        while !std::mem::take(&mut self.state().woken) && !stop() {
            std::thread::park();
        }
    }

    fn drop_and_end(&self, task: Task) {
        // Dropped before its loop is told, which may end the process's last one.
        let _panicked = catch_unwind(AssertUnwindSafe(|| drop(task)));
        self.arrive(At::Over);
    }

    fn arrive(&self, at: At) {
        let mut s = self.state();
        s.thread = None;
        let orphan = s.orphan;
        // Kept: what was told to wake this while it was away may do so later.
        let home = s.home.clone();
        let lost = match orphan {
            true => Some(at),
            false => {
                s.at = at;
                None
            }
        };
        drop(s);
        drop(lost);
        if let Some(home) = home
            && !base::mutant!("task-back-without-a-word")
        {
            home.wake();
        }
    }
}

impl Wake for Handover {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut s = self.state();
        s.woken = true;
        let (thread, home) = match s.at {
            At::Away => (s.thread.clone(), None),
            _ => (None, s.home.clone()),
        };
        drop(s);
        if let Some(thread) = thread
            && !base::mutant!("task-away-not-woken")
        {
            thread.unpark();
        }
        if let Some(home) = home {
            home.wake();
        }
    }
}
