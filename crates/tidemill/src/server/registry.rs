//! The connections that are open: how many there may be, how to reach each from outside, and how to wait for the last.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};

use base::Event;
use engine::Interrupt;

/// How a connection's waits are ended from outside: by KILL, through the session's interrupt, or because the server
/// stops.
#[derive(Default)]
pub struct Ending {
    event: Event,
    interrupt: OnceLock<Arc<Interrupt>>,
    stopping: AtomicBool,
}

impl Ending {
    /// The session has begun: from now on its interrupt is obeyed.
    pub fn join(&self, interrupt: Arc<Interrupt>) {
        // One session a connection; a second call changes nothing.
        let _second = self.interrupt.set(interrupt);
    }

    /// Parks the calling task until something may have changed. It must ask again before it waits.
    #[inline]
    pub fn park(&self, cx: &Context<'_>) {
        let event = match self.interrupt.get() {
            Some(interrupt) => &interrupt.event,
            None => &self.event,
        };
        // Only the connection's own task parks there: a waker that is parked already is its own.
        if !event.has_waiters() {
            event.park(cx);
        }
    }

    /// KILL was given: even a running answer is to end.
    #[inline]
    pub fn is_killed(&self) -> bool {
        self.interrupt
            .get()
            .is_some_and(|interrupt| interrupt.connection_killed())
    }

    /// The connection is to end when it has nothing more to do.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst) || self.is_killed()
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.event.fire();
        if let Some(interrupt) = self.interrupt.get() {
            interrupt.event.fire();
        }
    }

    fn kill(&self) {
        self.stop();
        if let Some(interrupt) = self.interrupt.get() {
            interrupt.kill_connection();
        }
    }
}

#[derive(Default)]
struct Open {
    endings: HashMap<u64, Arc<Ending>>,
    stopping: bool,
}

/// All open connections.
#[derive(Default)]
pub struct Registry {
    open: Mutex<Open>,
    emptied: Event,
}

/// One open connection; leaves the registry when dropped.
pub struct Seat {
    registry: Arc<Registry>,
    id: u64,
    /// How it is ended.
    pub ending: Arc<Ending>,
}

impl Registry {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for connection `id`, or `None` where `limit` are open already or the server stops.
    pub fn enter(self: &Arc<Self>, id: u64, limit: usize) -> Option<Seat> {
        let mut open = self.open();
        if open.stopping || open.endings.len() >= limit {
            return None;
        }
        let ending = Arc::new(Ending::default());
        open.endings.insert(id, Arc::clone(&ending));
        Some(Seat {
            registry: Arc::clone(self),
            id,
            ending,
        })
    }

    /// Lets nobody in any more and ends those who wait for their client; running statements go on.
    pub fn stop(&self) {
        let mut open = self.open();
        open.stopping = true;
        for ending in open.endings.values() {
            ending.stop();
        }
    }

    /// Ends running statements too.
    pub fn kill(&self) {
        for ending in self.open().endings.values() {
            ending.kill();
        }
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.open().endings.len()
    }

    /// Waits until none is open.
    pub async fn empty(&self) {
        poll_fn(|cx| {
            self.emptied.park(cx);
            if self.len() == 0 {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.registry.open().endings.remove(&self.id);
        self.registry.emptied.fire();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_limited_and_given_back() {
        let registry = Arc::new(Registry::default());
        let first = registry.enter(1, 2).expect("a seat");
        let second = registry.enter(2, 2).expect("a seat");
        assert!(registry.enter(3, 2).is_none());
        drop(first);
        let third = registry.enter(3, 2).expect("a seat");
        registry.stop();
        assert!(second.ending.is_stopping() && !second.ending.is_killed());
        assert!(registry.enter(4, 9).is_none());
        let waiting = std::thread::spawn({
            let registry = Arc::clone(&registry);
            move || base::block_on(registry.empty())
        });
        drop((second, third));
        waiting.join().expect("the last one wakes it");
    }
}
