//! Threads of long work that leave others more of a busy machine than the kernel would.
//!
//! Such a thread looks now and then at the time that it has run and the time that has passed. Where it was kept from running, others want
//! its processor: it then rests for as long as it has run. On an idle machine it never rests. A lower priority would do as much for the others'
//! throughput, but the kernel would interrupt the thread wherever it is, for long, also while it has a page latched or a log record
//! begun that others wait for; here it rests where it holds nothing.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Time between two looks.
const PIECE: Duration = Duration::from_millis(2);
/// The longest rest.
const REST_MAX: Duration = Duration::from_millis(10);

thread_local! {
    /// When the thread looked last, and how long it had run by then; `None`: it is none of these threads.
    static LOOKED: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// How long the calling thread has run.
fn run_time() -> Duration {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to `t` and nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    Duration::new(t.tv_sec.max(0) as u64, t.tv_nsec as u32)
}

/// The calling thread is to rest on a busy machine.
pub(super) fn begin() {
    LOOKED.set(Some((Instant::now(), run_time())));
}

/// Rests, if it is time for it, and the thread is one that does. Nothing may be latched.
pub fn keep() {
    let Some((then, had_run)) = LOOKED.get() else {
        return;
    };
    let passed = then.elapsed();
    if passed < PIECE {
        return;
    }
    let ran = run_time().saturating_sub(had_run);
    if passed.saturating_sub(ran) > passed / 8 {
        std::thread::sleep(ran.min(REST_MAX));
    }
    begin();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_that_began_rest_and_only_when_kept_from_running() {
        let runs = |wait: Duration| {
            let begun = Instant::now();
            while begun.elapsed() < 2 * PIECE {
                std::hint::spin_loop();
            }
            std::thread::sleep(wait);
            let before = Instant::now();
            keep();
            before.elapsed()
        };
        // Each on a fresh thread. What else runs on the machine may keep it from running, too.
        let rest = |paced: bool, wait: Duration| {
            let fresh = std::thread::spawn(move || {
                if paced {
                    begin();
                }
                runs(wait)
            });
            fresh.join().expect("no panic")
        };
        let kept = Duration::from_millis(20);
        assert!(rest(true, kept) >= PIECE, "kept from running, it rests");
        let quick = (0..20).any(|_| rest(true, Duration::ZERO) < PIECE / 2);
        assert!(quick, "not kept from running, it goes on");
        let quick = (0..20).any(|_| rest(false, kept) < PIECE / 2);
        assert!(quick, "other threads never rest");
    }
}
