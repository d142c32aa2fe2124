//! Runs one future on the calling thread, parked between wake-ups. The embedded library and the background threads of
//! the real spawner live on it.
//!
//! A deadline that such a future waits for is one of the thread's own ([`wake_here_at`]): it sleeps until then, and no other thread has to wake it.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

struct Parker {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.thread.unpark();
        }
    }
}

/// A future that this thread runs.
struct Frame {
    waker: Waker,
    /// When it is to be polled, as it has said since it was polled last.
    deadline: Option<Instant>,
}

thread_local! {
    /// The futures that this thread runs, each polled by the one before it.
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// Has the future with this waker polled at that time, if it is the innermost that this thread runs; whether it is.
pub fn wake_here_at(waker: &Waker, at: Instant) -> bool {
    FRAMES.with_borrow_mut(|frames| {
        let frame = frames.last_mut().filter(|f| f.waker.will_wake(waker));
        let Some(frame) = frame else {
            return false;
        };
        frame.deadline = Some(frame.deadline.map_or(at, |d| d.min(at)));
        true
    })
}

/// Takes what the innermost future has said of a deadline.
fn take_deadline() -> Option<Instant> {
    FRAMES.with_borrow_mut(|frames| frames.last_mut()?.deadline.take())
}

/// Ends the innermost frame, also where its future panics.
struct EndOfFrame;

impl Drop for EndOfFrame {
    fn drop(&mut self) {
        FRAMES.with_borrow_mut(|frames| frames.pop());
    }
}

/// How often a caller looks again before its thread goes to sleep: a few microseconds, as long as a write to the log takes that another
/// thread makes for it, and less than going to sleep and being woken.
const LOOKS: u32 = 100;

/// Polls `future` to its end, on a thread that has nothing else to do and wants to go on at once: it looks a few more times whether it is
/// woken before it sleeps. On a single processor nobody could wake it meanwhile.
pub fn block_on<F: Future>(future: F) -> F::Output {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    let several = || thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    wait_for(
        future,
        if *SEVERAL.get_or_init(several) {
            LOOKS
        } else {
            0
        },
    )
}

/// Polls `future` to its end, parking the thread while it is pending.
pub fn park_on<F: Future>(future: F) -> F::Output {
    wait_for(future, 0)
}

fn wait_for<F: Future>(future: F, looks: u32) -> F::Output {
    let mut future = pin!(future);
    let parker = Arc::new(Parker {
        thread: thread::current(),
        woken: AtomicBool::new(false),
    });
    let waker = Waker::from(parker.clone());
    FRAMES.with_borrow_mut(|frames| {
        frames.push(Frame {
            waker: waker.clone(),
            deadline: None,
        });
    });
    let _end = EndOfFrame;
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(v) = future.as_mut().poll(&mut cx) {
            return v;
        }
        // It says so again whenever it is polled and still waits for it.
        let deadline = take_deadline();
        for _ in 0..looks {
            if parker.woken.load(Ordering::Relaxed) {
                break;
            }
            std::hint::spin_loop();
        }
        while !parker.woken.swap(false, Ordering::AcqRel) {
            let Some(at) = deadline else {
                thread::park();
                continue;
            };
            let now = Instant::now();
            if at <= now {
                break;
            }
            thread::park_timeout(at - now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Clock, deadline, rest};
    use crate::event::Event;
    use crate::real::RealClock;
    use std::time::Duration;

    #[test]
    fn a_deadline_of_the_thread_needs_no_other_thread() {
        let clock = RealClock::new();
        let begun = Instant::now();
        block_on(deadline(&clock, clock.now_us() + 20_000));
        assert!(begun.elapsed() >= Duration::from_micros(19_900));
        assert!(!clock.has_a_thread());
        // One that is polled by another's waker has the clock's thread.
        let there = thread::scope(|scope| {
            let (woken, clock) = (Arc::new(Event::new()), &clock);
            let other = scope.spawn({
                let woken = Arc::clone(&woken);
                move || block_on(woken.wait_for(|| clock.has_a_thread().then_some(())))
            });
            let parker = Arc::new(Parker {
                thread: thread::current(),
                woken: AtomicBool::new(false),
            });
            clock.wake_at(clock.now_us() + 1_000, Waker::from(parker.clone()));
            while !parker.woken.load(Ordering::Acquire) {
                thread::park();
            }
            woken.fire();
            other.join().is_ok()
        });
        assert!(there && clock.has_a_thread());
    }

    #[test]
    fn whoever_is_woken_before_his_deadline_goes_on_at_once_and_keeps_later_ones() {
        let clock = RealClock::new();
        let (event, begun) = (Event::new(), Instant::now());
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(5));
                event.fire();
            });
            let mut polls = 0;
            block_on(rest(&clock, 30_000_000, |cx| {
                event.park(cx);
                polls += 1;
                polls > 1
            }));
        });
        assert!(begun.elapsed() < Duration::from_secs(20));
        // Woken for nothing, it still ends in time.
        let begun = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..20 {
                    thread::sleep(Duration::from_millis(1));
                    event.fire();
                }
            });
            block_on(rest(&clock, 60_000, |cx| {
                event.park(cx);
                false
            }));
        });
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(59) && took < Duration::from_secs(20));
        // Nested: the outer one's deadline is not taken for the inner one's.
        let inner = async {
            block_on(deadline(&clock, clock.now_us() + 1_000));
            deadline(&clock, clock.now_us() + 1_000).await;
        };
        block_on(inner);
        assert!(take_deadline().is_none(), "nothing is left");
    }
}
