//! A connection's task that goes elsewhere to compute: it is polled by its loop as long as it has little to do, and by a thread of its own
//! ([`WorkThreads`]) while a statement of it computes for long, so that it keeps nobody waiting who shares the loop.
//!
//! A task asks for it, through the environment ([`leave`]), before what is known to last, or has computed for long between its pauses
//! ([`paused`]), or has kept the loop waiting several times of late. It comes back when its command is over ([`come_back`]). Exactly one
//! thread polls it at any time. Whoever wakes it need not know where it is.
//!
//! Must never do: poll a task on two threads, or lose a wake-up while it moves.

use base::lock::{Mutex, MutexGuard};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use super::slots::Slots;
use super::work::{Job, WorkThreads};

/// Computing, between pauses, after which a statement leaves its loop.
const LONG: Duration = Duration::from_millis(4);

/// A turn of a task that keeps the loop waiting.
const STALLING: Duration = Duration::from_millis(2);

/// What such a turn counts; others take one off.
const STALL: u8 = 8;

/// A task whose stalls count so much takes its turns elsewhere.
const STALLS: u8 = 12;

/// Of the turns of a task that has not stalled, one in so many is timed: two looks at the clock are felt in a turn of some microseconds.
const TIMED: u8 = 8;

/// The most that stalls count.
const STALLS_MOST: u8 = 64;

/// A task, wherever it is.
pub(super) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a thread polls a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It polls none, or none that may move.
    Nowhere,
    /// On the task's loop.
    Home,
    /// On a thread of its own.
    Away,
}

/// What a task is about, as the thread that polls it knows.
#[derive(Debug, Clone, Copy)]
struct Turn {
    place: Place,
    /// It wants to be in the other place from the next poll on.
    moves: bool,
    /// It has only paused, and is in the middle of rows and pages.
    paused: bool,
    /// When this poll began, or its first pause was; `None` where it is not timed.
    began: Option<Instant>,
    /// How long its statement had computed before.
    computed: Duration,
    /// The command has ended in this poll.
    over: bool,
}

impl Turn {
    const NONE: Turn = Turn {
        place: Place::Nowhere,
        moves: false,
        paused: false,
        began: None,
        computed: Duration::ZERO,
        over: false,
    };
}

thread_local! {
    static TURN: Cell<Turn> = const { Cell::new(Turn::NONE) };
}

fn ask(from: Place) -> bool {
    let turn = TURN.get();
    if turn.place != from {
        return false;
    }
    TURN.set(Turn {
        moves: true,
        ..turn
    });
    true
}

/// The task that is being polled is about to compute for long: where this says `true`, it is to return `Pending` and is polled again on a
/// thread of its own.
pub(crate) fn leave() -> bool {
    ask(Place::Home)
}

/// The same for what the server itself does for a client.
pub(super) async fn left() {
    let mut asked = false;
    poll_fn(|_| {
        if std::mem::replace(&mut asked, true) || !leave() {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await
}

/// A statement makes a pause for others: one that has computed for long by now goes on elsewhere.
pub(crate) fn paused() {
    let turn = TURN.get();
    if turn.place != Place::Home {
        return;
    }
    let Some(began) = turn.began else {
        // From here on it is timed.
        TURN.set(Turn {
            began: Some(Instant::now()),
            ..turn
        });
        return;
    };
    if turn.computed + began.elapsed() >= LONG && ask(Place::Home) {
        TURN.set(Turn {
            paused: true,
            ..TURN.get()
        });
    }
}

/// A command is over: the task goes back to its loop, if it has left it.
#[inline]
pub(super) async fn come_back() {
    let mut asked = false;
    poll_fn(|_| {
        if !std::mem::replace(&mut asked, true) && ask(Place::Away) {
            return Poll::Pending;
        }
        TURN.set(Turn {
            computed: Duration::ZERO,
            over: true,
            ..TURN.get()
        });
        Poll::Ready(())
    })
    .await
}

/// Waits for something on the loop, whose business waiting for a client is.
#[inline]
pub(super) async fn at_home<F: Future>(what: F) -> F::Output {
    let mut what = pin!(what);
    poll_fn(|cx| {
        let polled = what.as_mut().poll(cx);
        if polled.is_pending() {
            ask(Place::Away);
        }
        polled
    })
    .await
}

/// How a task is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Where it is.
    Here,
    /// In the other place.
    There,
    /// On a thread of its own, as it is in the middle of rows and pages.
    Amidst,
}

/// Polls a task in a place; gives how long that took, and where it is to go on.
fn poll_in(
    place: Place,
    timed: bool,
    computed: &mut Duration,
    task: &mut Task,
    cx: &mut Context<'_>,
) -> (Poll<()>, Duration, Next) {
    TURN.set(Turn {
        place,
        moves: false,
        paused: false,
        began: timed.then(Instant::now),
        computed: *computed,
        over: false,
    });
    // A panic leaves a turn behind that the next one overwrites.
    let polled = task.as_mut().poll(cx);
    let turn = TURN.replace(Turn::NONE);
    let took = turn.began.map_or(Duration::ZERO, |began| began.elapsed());
    *computed = match turn.over {
        true => Duration::ZERO,
        false => *computed + took,
    };
    let next = match (turn.moves, turn.paused) {
        (false, _) => Next::Here,
        (true, false) => Next::There,
        (true, true) => Next::Amidst,
    };
    (polled, took, next)
}

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
pub(super) struct Away(Mutex<State>);

impl Away {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// The task is now the caller's, to be polled on this thread until it moves or ends; `stop` says that it is to be dropped.
    pub(super) fn work(self: &Arc<Away>, mut task: Task, slots: &Slots, stop: impl Fn() -> bool) {
        self.state().thread = Some(std::thread::current());
        let waker = Waker::from(Arc::clone(self));
        let mut cx = Context::from_waker(&waker);
        let mut stalls = false;
        let mut slot = slots.enter();
        loop {
            let mut computed = Duration::ZERO;
            // Unwind safe: after a panic nobody polls the task again.
            let polled = catch_unwind(AssertUnwindSafe(|| {
                poll_in(Place::Away, true, &mut computed, &mut task, &mut cx)
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
        if let Some(home) = home {
            home.wake();
        }
    }
}

impl Wake for Away {
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
        if let Some(thread) = thread {
            thread.unpark();
        }
        if let Some(home) = home {
            home.wake();
        }
    }
}

/// A task that may leave its loop; a task of the loop itself.
pub(super) struct Movable {
    /// `None` while it is away.
    task: Option<Task>,
    away: Arc<Away>,
    threads: WorkThreads,
    /// Its loop's runtime, for sockets and timers.
    runtime: Handle,
    /// How long its statement has computed.
    computed: Duration,
    /// How much it has kept its loop waiting of late.
    stalls: u8,
    turns: u8,
}

impl Movable {
    /// A task of the loop of `runtime` which goes to one of `threads` when it has to.
    pub(super) fn new(task: Task, threads: WorkThreads, runtime: Handle) -> Movable {
        Movable {
            task: Some(task),
            away: Arc::new(Away(Mutex::new(State {
                at: At::Home,
                home: None,
                thread: None,
                woken: false,
                orphan: false,
            }))),
            threads,
            runtime,
            computed: Duration::ZERO,
            stalls: 0,
            turns: 0,
        }
    }

    /// Gives the task to a thread. It comes back at once where there is none to be had.
    fn send(&mut self, task: Task, next: Next, cx: &Context<'_>) {
        {
            let mut s = self.away.state();
            s.at = At::Away;
            s.home = Some(cx.waker().clone());
            s.woken = false;
        }
        let job = Job {
            task,
            away: Arc::clone(&self.away),
            runtime: self.runtime.clone(),
            amidst: next == Next::Amidst,
        };
        if let Err(job) = self.threads.run(job) {
            self.away.state().at = At::Home;
            self.task = Some(job.task);
            self.stalls = 0;
            cx.waker().wake_by_ref();
        }
    }

    /// Takes the task back where it has come; what it means for the caller where not.
    fn receive(&mut self, cx: &Context<'_>) -> Option<Poll<()>> {
        let mut s = self.away.state();
        match std::mem::replace(&mut s.at, At::Home) {
            At::Back(task, stalled) => {
                self.task = Some(task);
                self.computed = Duration::ZERO;
                drop(s);
                self.count(stalled);
                None
            }
            At::Over => {
                s.at = At::Over;
                Some(Poll::Ready(()))
            }
            at => {
                // Whoever woke this means the task.
                s.at = at;
                s.woken = true;
                s.home = Some(cx.waker().clone());
                if let Some(thread) = &s.thread {
                    thread.unpark();
                }
                Some(Poll::Pending)
            }
        }
    }

    fn count(&mut self, stalled: bool) {
        self.stalls = match stalled {
            true => self.stalls.saturating_add(STALL).min(STALLS_MOST),
            false => self.stalls.saturating_sub(1),
        };
    }
}

impl Movable {
    fn poll_here(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(task) = &mut self.task else {
            return Poll::Ready(());
        };
        self.turns = self.turns.wrapping_add(1);
        let timed = self.turns.is_multiple_of(TIMED) || self.stalls > 0 || !self.computed.is_zero();
        let (polled, took, next) = poll_in(Place::Home, timed, &mut self.computed, task, cx);
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

impl Future for Movable {
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

impl Drop for Movable {
    fn drop(&mut self) {
        let mut s = self.away.state();
        s.orphan = true;
        s.home = None;
        let left = std::mem::replace(&mut s.at, At::Over);
        if matches!(left, At::Away) {
            s.at = At::Away;
        }
        drop(s);
        drop(left);
    }
}
