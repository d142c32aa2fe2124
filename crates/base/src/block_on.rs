//! Runs one future on the calling thread, parked between wake-ups. The embedded library and the background threads of
//! the real spawner live on it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

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

/// How often a caller looks again before its thread goes to sleep: a few microseconds, as long as a write to the log takes that another
/// thread makes for it, and less than going to sleep and being woken.
const LOOKS: u32 = 100;

/// Polls `future` to its end, on a thread that has nothing else to do and wants to go on at once: it looks a few more times whether it is
/// woken before it sleeps.
pub fn block_on<F: Future>(future: F) -> F::Output {
    wait_for(future, LOOKS)
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
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(v) = future.as_mut().poll(&mut cx) {
            return v;
        }
        for _ in 0..looks {
            if parker.woken.load(Ordering::Relaxed) {
                break;
            }
            std::hint::spin_loop();
        }
        while !parker.woken.swap(false, Ordering::AcqRel) {
            thread::park();
        }
    }
}
