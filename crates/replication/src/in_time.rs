//! Tests of waits end by themselves: what has not come to its end in time waits for ever.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Far more than what any of them takes.
const LIMIT: Duration = Duration::from_secs(30);

/// Does it on a thread of its own, which is left behind if it does not end.
pub(crate) fn in_time<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = channel();
    let thread = thread::spawn(move || {
        let _late = tell.send(what());
    });
    match told.recv_timeout(LIMIT) {
        Ok(found) => found,
        Err(RecvTimeoutError::Timeout) => panic!("somebody waits for ever"),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(why) => resume_unwind(why),
            Ok(()) => panic!("it has told nothing"),
        },
    }
}

/// Looks again and again until something is so.
pub(crate) fn until(what: &str, so: impl Fn() -> bool) {
    let late = Instant::now() + LIMIT;
    while !so() {
        assert!(Instant::now() < late, "{what}");
        thread::sleep(Duration::from_micros(200));
    }
}
