//! The environment: everything that may differ between two runs. The engine is given these and uses nothing else, so that the
//! same code runs on io_uring and on a seeded simulator.

mod disk;
mod shortage;

pub use disk::{Disk, Done, DoneSync, File, OpenMode, ReadAt, read, sync, write};
pub use shortage::{Shortage, is_full, lost_by_sync, shortage};

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A background task: runs until it returns.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Monotonic and wall time, and timers.
pub trait Clock: Send + Sync {
    /// Monotonic microseconds since an arbitrary start.
    fn now_us(&self) -> u64;
    /// Microseconds since the Unix epoch.
    fn wall_us(&self) -> i64;
    /// Wakes `waker` once when [`Clock::now_us`] has reached `at_us`. Used for what a user set a time for (a lock wait
    /// timeout, the once-a-second flush) and for work that is put off while nobody waits for it, never for "wait a little in case". A task that is
    /// polled again and still waits asks again: what it asked for before may be forgotten then.
    fn wake_at(&self, at_us: u64, waker: Waker);
    /// `waker` need not be woken at `at_us` any more. It may be, and a clock may keep what it was asked for until then.
    fn forget(&self, at_us: u64, waker: &Waker) {
        let _kept = (at_us, waker);
    }
}

/// Resolves when `clock` has reached `at_us`.
pub fn deadline(clock: &dyn Clock, at_us: u64) -> Deadline<'_> {
    Deadline {
        clock,
        at_us,
        asked: None,
    }
}

/// See [`deadline`]. Dropped before, it leaves nothing behind: nearly all times that users set are longer than what they are set for takes.
pub struct Deadline<'c> {
    clock: &'c dyn Clock,
    at_us: u64,
    /// Who is to be woken.
    asked: Option<Waker>,
}

impl Future for Deadline<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.clock.now_us() >= self.at_us {
            return Poll::Ready(());
        }
        let other = self.asked.take_if(|w| !w.will_wake(cx.waker()));
        if let Some(other) = other {
            self.clock.forget(self.at_us, &other);
        }
        self.clock.wake_at(self.at_us, cx.waker().clone());
        self.asked.get_or_insert_with(|| cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Deadline<'_> {
    fn drop(&mut self) {
        if let Some(waker) = &self.asked {
            self.clock.forget(self.at_us, waker);
        }
    }
}

/// Puts work off for so many microseconds, or until `wanted`, which parks where it is to be woken.
pub async fn rest(clock: &dyn Clock, us: u64, mut wanted: impl FnMut(&mut Context<'_>) -> bool) {
    let mut over = pin!(deadline(clock, clock.now_us() + us));
    poll_fn(|cx| match wanted(cx) {
        true => Poll::Ready(()),
        false => over.as_mut().poll(cx),
    })
    .await
}

/// Random bytes (seeds, nonces). Not for keys that need the kernel's generator.
pub trait Random: Send + Sync {
    /// The next 64 random bits.
    fn next_u64(&self) -> u64;
}

/// Starts background tasks.
pub trait Spawn: Send + Sync {
    /// Runs `task` concurrently; `name` is for people (thread name, trace).
    fn spawn(&self, name: &str, task: Task);

    /// As [`spawn`](Spawn::spawn), for long work of a statement. Where it is `throttled`, and the machine has less time than all ask for, it leaves
    /// them half of what it would get, whenever it gives way.
    ///
    /// # Errors
    /// The system gives no thread; the task is dropped, not begun.
    fn spawn_work(&self, name: &str, throttled: bool, task: Task) -> io::Result<()> {
        let _ = throttled;
        self.spawn(name, task);
        Ok(())
    }

    /// Called by a task that has worked for a while and is about to return `Pending` so that others get their turn: has
    /// it polled again. A runtime of the embedding program may know a better place in its queue than the next.
    fn yield_now(&self, cx: &mut Context<'_>) {
        cx.waker().wake_by_ref();
    }

    /// Called by a task that is about to compute for long without giving way, and that returns `Pending` where this says `true`: it is polled
    /// again where it keeps nobody waiting. `false`: there is no such place, or it is there already.
    fn leave(&self) -> bool {
        false
    }

    /// Whether the calling thread has nothing to do but what this is called from, so that nobody is kept waiting when it
    /// waits itself, for a disk, and does not let others run meanwhile.
    fn is_alone(&self) -> bool {
        false
    }
}

/// Lets other tasks of the thread run before it goes on.
pub async fn yield_now(spawn: &dyn Spawn) {
    let mut asked = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut asked, true) {
            return Poll::Ready(());
        }
        spawn.yield_now(cx);
        Poll::Pending
    })
    .await
}

/// Goes on where computing for long keeps nobody waiting, where the runtime has such a place.
pub async fn leave(spawn: &dyn Spawn) {
    let mut asked = false;
    poll_fn(|_| {
        if std::mem::replace(&mut asked, true) || !spawn.leave() {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await
}

/// All of the environment, as handed to the engine.
#[derive(Clone)]
pub struct Environment {
    /// Files.
    pub disk: Arc<dyn Disk>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub random: Arc<dyn Random>,
    /// Background tasks.
    pub spawn: Arc<dyn Spawn>,
}
