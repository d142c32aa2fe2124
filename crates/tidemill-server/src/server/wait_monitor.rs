//! Looks by the clock at waits inside the engine: whoever has waited for longer than a minute is named in the server's log, with what he waits
//! for and who has it. It only looks. Nothing is woken or ended by it, so that it hides no fault.
//!
//! It has a thread of its own, as those that serve clients may be what stands.

use crate::log::Log;
use base::waits::{LongWait, Who};
use engine::Engine;
use std::collections::HashMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(10);
/// A wait that has lasted so long is told.
pub(super) const TOLD_AFTER: Duration = Duration::from_secs(60);
/// And again when it has lasted so much longer.
const TOLD_AGAIN: Duration = Duration::from_secs(600);
/// Waits told in one look, at most: they are likely to be for the same thing.
const TOLD_MOST: usize = 20;

/// The thread, until it is dropped.
pub(super) struct WaitMonitor {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WaitMonitor {
    /// Begins to look. Without a thread for it nothing is told.
    pub(super) fn start(engine: &Arc<Engine>, log: Arc<Log>) -> WaitMonitor {
        let (stop, stopped) = mpsc::channel::<()>();
        let engine: Weak<Engine> = Arc::downgrade(engine);
        let look = move || {
            let mut told = Told::default();
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let Some(engine) = engine.upgrade() else {
                    return;
                };
                for line in told.news(&engine.long_waits(TOLD_AFTER), Instant::now()) {
                    log.warning(line);
                }
            }
        };
        let thread = std::thread::Builder::new().name("wait-monitor".to_owned());
        WaitMonitor {
            stop: Some(stop),
            thread: thread.spawn(look).ok(),
        }
    }
}

impl Drop for WaitMonitor {
    fn drop(&mut self) {
        self.stop = None;
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// The waits that were told, and when they are told again.
#[derive(Default)]
struct Told(HashMap<(Who, Instant), Instant>);

impl Told {
    /// What there is to tell of the waits that go on now.
    fn news(&mut self, waits: &[LongWait], now: Instant) -> Vec<String> {
        let mut lines = Vec::new();
        let mut left_out = 0;
        let mut next = HashMap::new();
        for w in waits {
            let key = (w.who, w.since);
            let due = self.0.get(&key).copied();
            if due.is_some_and(|due| now < due) {
                next.extend(due.map(|due| (key, due)));
                continue;
            }
            next.insert(key, now + TOLD_AGAIN);
            match lines.len() < TOLD_MOST {
                true => lines.push(format!("a long wait inside the engine: {w}")),
                false => left_out += 1,
            }
        }
        if left_out > 0 {
            lines.push(format!("and {left_out} more such waits"));
        }
        self.0 = next;
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(since: Instant) -> LongWait {
        LongWait {
            who: Who::here(),
            since,
            what: "room in the log".to_owned(),
            holder: "the log ends at 7".to_owned(),
        }
    }

    #[test]
    fn each_wait_is_told_once_in_ten_minutes() {
        let now = Instant::now();
        let mut told = Told::default();
        let first = told.news(&[wait(now)], now + TOLD_AFTER);
        assert_eq!(first.len(), 1);
        assert!(first[0].starts_with("a long wait inside the engine: thread "));
        assert!(first[0].contains("for room in the log; the log ends at 7"));
        let soon = now + TOLD_AFTER + LOOK;
        assert!(told.news(&[wait(now)], soon).is_empty());
        // Another one.
        let more = told.news(&[wait(now), wait(now + LOOK)], soon + LOOK);
        assert_eq!(more.len(), 1);
        assert_eq!(told.news(&[wait(now)], soon + TOLD_AGAIN).len(), 1);
        // One that ended is forgotten.
        assert!(told.news(&[], soon + TOLD_AGAIN).is_empty());
        assert!(told.0.is_empty());
    }

    #[test]
    fn many_waits_are_some_lines() {
        let now = Instant::now();
        let waits: Vec<_> = (0..100)
            .map(|n| wait(now + Duration::from_secs(n)))
            .collect();
        let lines = Told::default().news(&waits, now + TOLD_AFTER);
        assert_eq!(lines.len(), TOLD_MOST + 1);
        assert_eq!(
            lines.last().map(String::as_str),
            Some("and 80 more such waits")
        );
    }
}
