//! Who waits, for whom, and since when: noted where somebody waits, for whoever looks. Nobody is woken by it, and nothing depends on it.
//!
//! A thread is known by the number that the system's tools show; what it does for a connection is done [on its behalf](on_behalf_of).

use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Who waits, or holds something: a thread, and the connection for which it works.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Who {
    /// 0: for none.
    connection: u32,
    /// The system's number of the thread; 0 where it has no `/proc`.
    thread: u32,
}

thread_local! {
    static CONNECTION: Cell<u32> = const { Cell::new(0) };
    static THREAD: Cell<Option<u32>> = const { Cell::new(None) };
}

impl Who {
    /// Who runs this.
    #[inline]
    pub fn here() -> Who {
        Who {
            connection: CONNECTION.get(),
            thread: THREAD.get().unwrap_or_else(thread_of_the_system),
        }
    }
}

#[cold]
fn thread_of_the_system() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    let number = link.file_name().and_then(|n| n.to_str()?.parse().ok());
    THREAD.set(Some(number.unwrap_or(0)));
    number.unwrap_or(0)
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.connection != 0 {
            write!(f, "connection {}, ", self.connection)?;
        }
        write!(f, "thread {}", self.thread)?;
        match std::fs::read_to_string(format!("/proc/self/task/{}/comm", self.thread)) {
            Ok(name) => write!(f, " ({})", name.trim_end()),
            Err(_) => Ok(()),
        }
    }
}

/// A place for a [`Who`] that threads write and others read.
#[derive(Debug, Default)]
pub struct WhoCell(AtomicU64);

impl WhoCell {
    /// Nobody yet.
    pub const fn new() -> WhoCell {
        WhoCell(AtomicU64::new(0))
    }

    /// The caller is it.
    #[inline(always)]
    pub fn set_here(&self) {
        let who = Who::here();
        let bits = u64::from(who.connection) << 32 | u64::from(who.thread);
        self.0.store(bits, Ordering::Relaxed);
    }

    /// Who it was last.
    pub fn get(&self) -> Option<Who> {
        let bits = self.0.load(Ordering::Relaxed);
        (bits != 0).then_some(Who {
            connection: (bits >> 32) as u32,
            thread: bits as u32,
        })
    }
}

/// The future, each poll of which is work for this connection.
pub async fn on_behalf_of<F: Future>(connection: u64, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        // MySQL's numbers of connections have 32 bits in most of what shows them.
        let before = CONNECTION.replace(connection as u32);
        let polled = future.as_mut().poll(cx);
        CONNECTION.set(before);
        polled
    })
    .await
}

/// A wait that goes on.
#[derive(Debug)]
pub struct Waiting {
    who: Who,
    since: Instant,
}

impl Waiting {
    /// The caller begins to wait.
    pub fn begin() -> Waiting {
        Waiting {
            who: Who::here(),
            since: Instant::now(),
        }
    }

    /// This wait, with what it is for and who has that.
    pub fn described(&self, what: impl Into<String>, holder: impl Into<String>) -> LongWait {
        LongWait {
            who: self.who,
            since: self.since,
            what: what.into(),
            holder: holder.into(),
        }
    }

    /// How long it has gone on.
    pub fn waited(&self) -> Duration {
        self.since.elapsed()
    }
}

/// A wait for something inside, for people.
#[derive(Clone, Debug)]
pub struct LongWait {
    /// Who waits.
    pub who: Who,
    /// Since when.
    pub since: Instant,
    /// For what, behind "waits for".
    pub what: String,
    /// Who has it, or has to bring it about: a sentence.
    pub holder: String,
}

impl fmt::Display for LongWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.since.elapsed().as_secs();
        write!(
            f,
            "{} has waited {seconds} seconds for {}",
            self.who, self.what
        )?;
        if !self.holder.is_empty() {
            write!(f, "; {}", self.holder)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, block_on};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn whoever_waits_is_there_with_his_connection_until_the_wait_ends() {
        let (event, over) = (Arc::new(Event::new()), Arc::new(AtomicBool::new(false)));
        let (parked, set) = (event.clone(), over.clone());
        let thread = std::thread::Builder::new().name("waiter".to_owned());
        let ready = move || set.load(Ordering::Acquire).then_some(());
        let waiter = thread
            .spawn(move || block_on(on_behalf_of(7, parked.wait_for(ready))))
            .expect("a thread");
        let waits = || {
            let mut all = Vec::new();
            event.each_wait(|w| all.push(w.described("a word", "the test has it").to_string()));
            all
        };
        while waits().is_empty() {
            std::thread::yield_now();
        }
        // Woken for nothing it still waits, and since when it did.
        event.fire();
        let seen = waits();
        assert!(seen[0].starts_with("connection 7, thread "), "{seen:?}");
        assert!(
            seen[0].ends_with(" (waiter) has waited 0 seconds for a word; the test has it"),
            "{seen:?}"
        );
        over.store(true, Ordering::Release);
        event.fire();
        waiter.join().expect("no panic");
        assert!(waits().is_empty());
        assert_eq!(Who::here().connection, 0);
    }

    #[test]
    fn what_is_dropped_does_not_wait() {
        let event = Event::new();
        for _ in 0..1000 {
            let mut wait = pin!(event.wait_for(|| None::<()>));
            let polled = block_on(poll_fn(|cx| std::task::Poll::Ready(wait.as_mut().poll(cx))));
            assert!(polled.is_pending());
        }
        let mut n = 0;
        event.each_wait(|_| n += 1);
        assert_eq!(n, 0);
    }
}
