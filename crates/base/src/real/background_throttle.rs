//! The background throttle: threads of long work leave others more of a busy machine than the kernel would.
//!
//! Such a thread looks now and then how long it has run, and how long it was ready to run and did not. Where it was kept from running, others
//! want its processor: it then rests for as long as it has run. On an idle machine it never rests, however long it waits for a disk. A lower
//! priority would do as much for the others' throughput, but the kernel would interrupt the thread wherever it is, for long, also
//! while it has a page latched or a log record begun that others wait for; here it rests where it holds nothing.
//!
//! The kernel's account of that, /proc/thread-self/schedstat, is not in every kernel; without it all time that the thread has not run counts.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Time between two looks.
const PIECE: Duration = Duration::from_millis(2);
/// The longest rest.
const REST_MAX: Duration = Duration::from_millis(10);

thread_local! {
    /// `None`: it is none of these threads.
    static THROTTLE: RefCell<Option<Throttle>> = const { RefCell::new(None) };
}

/// What the thread found when it looked last.
struct Throttle {
    then: Instant,
    account: Account,
    /// Kept open: it tells how things are whenever it is read.
    schedstat: Option<File>,
}

/// How long a thread has run, and how long it was ready and did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Account {
    ran: Duration,
    ready: Option<Duration>,
}

/// "time run, time ready, times run", in nanoseconds.
fn read(schedstat: &[u8]) -> Option<Account> {
    let text = std::str::from_utf8(schedstat).ok()?;
    let mut fields = text.split_ascii_whitespace().map(str::parse);
    let mut next = || fields.next()?.ok().map(Duration::from_nanos);
    Some(Account {
        ran: next()?,
        ready: Some(next()?),
    })
}

fn account(schedstat: Option<&File>) -> Account {
    let mut buf = [0; 80];
    let n = schedstat.and_then(|f| f.read_at(&mut buf, 0).ok());
    n.and_then(|n| read(&buf[..n])).unwrap_or_else(|| Account {
        ran: run_time(),
        ready: None,
    })
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

/// How much nicer than others a thread is of lower priority.
const NICER: libc::c_int = 10;

/// Has the kernel run the calling thread after those that serve clients, for good: for what computes long without a pause in which it
/// could rest, and has little to do with pages. It still gets a tenth of a processor that another wants whole, so that what it has latched is not latched for long.
pub fn lower_priority() {
    // SAFETY: plain system calls; on Linux process 0 is the calling thread alone. Refused, it stays as it was.
    unsafe {
        let now = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_PROCESS, 0, (now + NICER).min(19));
    }
}

/// The calling thread is to rest on a busy machine.
pub(super) fn begin() {
    let schedstat = File::open("/proc/thread-self/schedstat").ok();
    let throttle = Throttle {
        then: Instant::now(),
        account: account(schedstat.as_ref()),
        schedstat,
    };
    THROTTLE.set(Some(throttle));
}

/// Rests, if it is time for it, and the thread is one that does. Nothing may be latched.
pub fn throttle() {
    THROTTLE.with_borrow_mut(|throttle| {
        if let Some(t) = throttle {
            t.rest_if_due();
        }
    });
}

impl Throttle {
    fn rest_if_due(&mut self) {
        let passed = self.then.elapsed();
        if passed < PIECE {
            return;
        }
        let now = account(self.schedstat.as_ref());
        if let Some(rest) = rest(self.account, now, passed) {
            std::thread::sleep(rest);
        }
        self.account = account(self.schedstat.as_ref());
        self.then = Instant::now();
    }
}

/// How long to rest after a time in which the account became `now`.
fn rest(before: Account, now: Account, passed: Duration) -> Option<Duration> {
    let ran = now.ran.saturating_sub(before.ran);
    let kept = match (before.ready, now.ready) {
        (Some(before), Some(now)) => now.saturating_sub(before),
        _ => passed.saturating_sub(ran),
    };
    (kept > passed / 8).then(|| ran.min(REST_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn rests_as_long_as_it_ran_where_it_was_kept_from_running() {
        let at = |ran, ready: Option<u64>| Account {
            ran: ms(ran),
            ready: ready.map(ms),
        };
        let rest = |ran: u64, ready: u64, passed| {
            rest(at(5, Some(7)), at(5 + ran, Some(7 + ready)), passed)
        };
        assert_eq!(rest(3, 1, ms(4)), Some(ms(3)));
        assert_eq!(rest(40, 40, ms(80)), Some(REST_MAX));
        assert_eq!(rest(4, 0, ms(4)), None);
        assert_eq!(rest(1, 0, ms(100)), None, "it waited for something else");
        let without = |ran: u64, passed| super::rest(at(5, None), at(5 + ran, None), passed);
        assert_eq!(without(3, ms(4)), Some(ms(3)));
        assert_eq!(without(4, ms(4)), None);
        assert_eq!(read(b"12000000 3000000 77\n"), Some(at(12, Some(3))));
        assert_eq!(read(b"12000000"), None);
    }

    #[test]
    fn only_those_that_began_rest() {
        let stop = AtomicBool::new(false);
        // How often a thread that runs for 50 ms gave its core away. What the kernel takes from it, on however busy a machine, is not
        // counted there.
        let gave_way = || {
            let status = std::fs::read_to_string("/proc/thread-self/status").expect("Linux has it");
            let mut lines = status.lines();
            let count = lines.find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
            count.and_then(|n| n.trim().parse::<u64>().ok())
        };
        let rests = |throttled: bool| {
            if throttled {
                begin();
            }
            let before = gave_way();
            let begun = Instant::now();
            while begun.elapsed() < ms(50) {
                throttle();
            }
            gave_way().zip(before).map(|(now, before)| now - before)
        };
        // Each on a fresh thread.
        let on = |throttled| {
            std::thread::scope(|s| s.spawn(|| rests(throttled)).join().expect("no panic"))
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|s| {
            for _ in 0..2 * cores {
                s.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop()
                    }
                });
            }
            let most = (0..20).map(|_| on(true)).max().flatten();
            let least = (0..20).map(|_| on(false)).min().flatten();
            stop.store(true, Ordering::Relaxed);
            assert!(most > Some(2), "it rested {most:?} times");
            assert!(least <= Some(2), "others rested {least:?} times");
        });
    }
}
