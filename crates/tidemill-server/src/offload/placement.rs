//! Where a thread polls a task, and whether the task wants to be elsewhere: what a statement says without knowing who runs it.
//!
//! A task asks for a thread of its own through the environment ([`ask_to_leave`]), before what is known to last, or has computed for long
//! between its pauses ([`note_pause`]). It goes back when its command is over ([`return_to_loop`]).

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Computing, between pauses, after which a statement leaves its loop.
const LONG: Duration = Duration::from_millis(4);

/// A turn of a task that keeps the loop waiting.
pub(super) const STALLING: Duration = Duration::from_millis(2);

/// A task, wherever it is.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a thread polls a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It polls none, or none that may move.
    Nowhere,
    /// On the task's loop.
    Loop,
    /// On a thread of its own.
    Thread,
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
pub(crate) fn ask_to_leave() -> bool {
    ask(Place::Loop)
}

/// The same for what the server itself does for a client.
pub(crate) async fn offload() {
    let mut asked = false;
    poll_fn(|_| {
        if std::mem::replace(&mut asked, true) || !ask_to_leave() {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await
}

/// A statement makes a pause for others: one that has computed for long by now goes on elsewhere.
pub(crate) fn note_pause() {
    let turn = TURN.get();
    if turn.place != Place::Loop {
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
    if turn.computed + began.elapsed() >= LONG && ask(Place::Loop) {
        TURN.set(Turn {
            paused: true,
            ..TURN.get()
        });
    }
}

/// A command is over: the task goes back to its loop, if it has left it; whether it had.
#[inline]
pub(crate) async fn return_to_loop() -> bool {
    let (mut asked, mut was_away) = (false, false);
    poll_fn(|_| {
        if !std::mem::replace(&mut asked, true) && ask(Place::Thread) {
            was_away = true;
            return Poll::Pending;
        }
        TURN.set(Turn {
            computed: Duration::ZERO,
            over: true,
            ..TURN.get()
        });
        Poll::Ready(was_away)
    })
    .await
}

/// Waits for something on the loop, whose business waiting for a client is.
#[inline]
pub(crate) async fn on_loop<F: Future>(what: F) -> F::Output {
    let mut what = pin!(what);
    poll_fn(|cx| {
        let polled = what.as_mut().poll(cx);
        if polled.is_pending() {
            ask(Place::Thread);
        }
        polled
    })
    .await
}

/// How a task is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Where it is.
    Here,
    /// In the other place.
    There,
    /// On a thread of its own, as it is in the middle of rows and pages.
    Amidst,
}

/// Polls a task in a place; gives how long that took, and where it is to go on.
pub(super) fn poll_in(
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
