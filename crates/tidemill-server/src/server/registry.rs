//! The connections that are open: how many there may be, how to reach each from outside, and how to wait for the last.
//!
//! Who has not logged in yet is counted apart, so that sockets without a user keep no user out: when there are too many of
//! those, the next one waits a moment at the door, and if none has logged in or gone by then, the oldest goes.

use base::lock::{Mutex, MutexGuard};
use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use base::Event;
use engine::Interrupt;

/// What a client has to log in before it has to go, where others wait for its place.
const GRACE: Duration = Duration::from_millis(500);

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
        // Only the connection's own task parks there: a waker that is parked already is its own, and wakes it wherever it has gone.
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
        if base::mutant!("connection-told-to-end-without-a-word") {
            return;
        }
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

/// What a connection counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// One of `max_connections`.
    User,
    /// An administrator's beyond them, or on the administrators' address.
    Administrator,
}

#[derive(Default)]
struct Open {
    /// Not logged in, by age, and since when.
    unauthenticated: BTreeMap<u64, (Arc<Ending>, Instant)>,
    users: HashMap<u64, (Arc<Ending>, Counted)>,
    /// How many of them are of `max_connections`.
    counted: usize,
    stopping: bool,
}

impl Open {
    fn endings(&self) -> impl Iterator<Item = &Arc<Ending>> {
        let users = self.users.values().map(|(ending, _)| ending);
        let unauthenticated = self.unauthenticated.values().map(|(ending, _)| ending);
        unauthenticated.chain(users)
    }
}

/// All open connections.
#[derive(Default)]
pub struct Registry {
    open: Mutex<Open>,
    emptied: Event,
    /// One has logged in, or has gone.
    left: Event,
}

/// One open connection; leaves the registry when dropped.
pub struct ConnectionSlot {
    registry: Arc<Registry>,
    id: u64,
    /// How it is ended.
    pub ending: Arc<Ending>,
}

/// Who asks for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// Anybody.
    User,
    /// Who may have the one place beyond `max_connections`.
    Administrator,
    /// Whose connection came by the administrators' address: not counted.
    ByAdminAddress,
}

impl Registry {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }

    /// A place for connection `id` until it has logged in, or `None` where the server stops. Where more than `max_unauthenticated` have not, the
    /// first of them has to go.
    pub fn enter(self: &Arc<Self>, id: u64, max_unauthenticated: usize) -> Option<ConnectionSlot> {
        let mut open = self.open();
        if open.stopping {
            return None;
        }
        let ending = Arc::new(Ending::default());
        let entered = (Arc::clone(&ending), Instant::now());
        open.unauthenticated.insert(id, entered);
        let oldest = match open.unauthenticated.len() > max_unauthenticated {
            true => open.unauthenticated.pop_first(),
            false => None,
        };
        drop(open);
        if let Some((_, (oldest, _))) = oldest {
            oldest.stop();
        }
        Some(ConnectionSlot {
            registry: Arc::clone(self),
            id,
            ending,
        })
    }

    /// Waits until fewer than `max_unauthenticated` have not logged in, or the first of them has had its time for that.
    pub async fn room(&self, max_unauthenticated: usize) {
        loop {
            let full = || {
                let open = self.open();
                let first = open
                    .unauthenticated
                    .values()
                    .next()
                    .map(|(_, since)| *since);
                first
                    .filter(|_| !open.stopping && open.unauthenticated.len() >= max_unauthenticated)
            };
            let Some(first) = full() else { return };
            let until = first + GRACE;
            if until <= Instant::now() {
                return;
            }
            let left = self.left.wait_for(|| full().is_none().then_some(()));
            // What has come of it is looked at again.
            let _late = tokio::time::timeout_at(until.into(), left).await;
        }
    }

    /// Lets nobody in any more and ends those who wait for their client; running statements go on.
    pub fn stop(&self) {
        let mut open = self.open();
        open.stopping = true;
        for ending in open.endings() {
            ending.stop();
        }
        drop(open);
        self.left.fire();
    }

    /// Ends running statements too.
    pub fn kill(&self) {
        for ending in self.open().endings() {
            ending.kill();
        }
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        let open = self.open();
        open.unauthenticated.len() + open.users.len()
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

impl ConnectionSlot {
    /// Whether the server lets nobody in any more.
    pub fn stopping(&self) -> bool {
        self.registry.open().stopping
    }

    /// Its client has logged in: whether there is a place for it, with at most `limit` of them.
    pub fn admit(&self, limit: usize, asking: Asking) -> bool {
        let mut open = self.registry.open();
        let counted = match asking {
            Asking::ByAdminAddress => Counted::Administrator,
            _ if open.counted < limit => Counted::User,
            Asking::Administrator if open.counted == limit => Counted::User,
            _ => return false,
        };
        open.unauthenticated.remove(&self.id);
        open.counted += usize::from(counted == Counted::User);
        let user = (Arc::clone(&self.ending), counted);
        open.users.insert(self.id, user);
        drop(open);
        if !base::mutant!("login-without-a-word") {
            self.registry.left.fire();
        }
        true
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut open = self.registry.open();
        open.unauthenticated.remove(&self.id);
        if let Some((_, counted)) = open.users.remove(&self.id) {
            open.counted -= usize::from(counted == Counted::User);
        }
        drop(open);
        if !base::mutant!("last-connection-gone-without-a-word") {
            self.registry.emptied.fire();
        }
        self.registry.left.fire();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use base::mem::{MemDisk, environment};
    use engine::{Engine, EngineOptions, PagerOptions};

    /// That of a session which is kept for the time of the test.
    pub(in crate::server) fn interrupt() -> Arc<Interrupt> {
        let environment = environment(Arc::new(MemDisk::default()));
        let options = EngineOptions {
            pager: PagerOptions {
                pool_bytes: 16 << 20,
                log_capacity_bytes: 64 << 20,
                log_buffer_bytes: 4 << 20,
                ..PagerOptions::default()
            },
            ..EngineOptions::default()
        };
        let engine = Engine::open(environment, std::path::Path::new("/data"), options);
        let engine = base::block_on(engine).expect("an engine");
        engine.session().interrupt()
    }

    #[test]
    fn slots_are_limited_and_given_back() {
        let registry = Arc::new(Registry::default());
        let enter = |id| registry.enter(id, 9).expect("a slot");
        let (first, second, third) = (enter(1), enter(2), enter(3));
        assert!(first.admit(2, Asking::User) && second.admit(2, Asking::User));
        assert!(!third.admit(2, Asking::User));
        drop(first);
        assert!(third.admit(2, Asking::User));
        registry.stop();
        assert!(second.ending.is_stopping() && !second.ending.is_killed());
        assert!(registry.enter(4, 9).is_none());
        let (tell, told) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn({
            let registry = Arc::clone(&registry);
            move || {
                base::block_on(registry.empty());
                let _late = tell.send(());
            }
        });
        while !registry.emptied.has_waiters() {
            std::thread::yield_now();
        }
        drop((second, third));
        let told = told.recv_timeout(Duration::from_secs(20));
        assert!(told.is_ok(), "the last one wakes it");
        waiting.join().expect("no panic");
    }

    /// Before there is a session and with one.
    #[test]
    fn who_waits_for_its_client_hears_that_it_is_to_end() {
        for session in [false, true] {
            let registry = Arc::new(Registry::default());
            let slot = registry.enter(1, 9).expect("a slot");
            let interrupt = interrupt();
            if session {
                slot.ending.join(Arc::clone(&interrupt));
            }
            let ending = Arc::clone(&slot.ending);
            let (tell, told) = std::sync::mpsc::channel();
            let waiting = std::thread::spawn(move || {
                base::block_on(poll_fn(|cx| {
                    ending.park(cx);
                    match ending.is_stopping() {
                        true => Poll::Ready(()),
                        false => Poll::Pending,
                    }
                }));
                let _late = tell.send(());
            });
            let parked = || match session {
                true => interrupt.event.has_waiters(),
                false => slot.ending.event.has_waiters(),
            };
            while !parked() {
                std::thread::yield_now();
            }
            registry.stop();
            let heard = told.recv_timeout(Duration::from_secs(20));
            assert!(heard.is_ok(), "it waits on, session: {session}");
            waiting.join().expect("no panic");
        }
    }

    #[test]
    fn the_next_one_waits_for_who_is_about_to_log_in_but_not_for_long() {
        let registry = Arc::new(Registry::default());
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().build().expect("a runtime");
        let waits = |most| {
            let begun = Instant::now();
            runtime.block_on(registry.room(most));
            begun.elapsed()
        };
        let first = registry.enter(1, 2).expect("a slot");
        let second = registry.enter(2, 2).expect("a slot");
        assert!(waits(3) < GRACE);
        assert!(waits(2) >= GRACE / 2, "nobody has gone");
        let third = registry.enter(3, 2).expect("a slot");
        assert!(first.ending.is_stopping() && !second.ending.is_stopping());
        drop(second);
        let logs_in = std::thread::spawn(move || {
            std::thread::sleep(GRACE / 10);
            assert!(third.admit(9, Asking::User));
            third
        });
        assert!(waits(1) < GRACE);
        let third = logs_in.join().expect("a login");
        assert!(!third.ending.is_stopping());
    }

    #[test]
    fn an_administrator_has_one_place_more() {
        let registry = Arc::new(Registry::default());
        let enter = |id| registry.enter(id, 9).expect("a slot");
        let slots: Vec<ConnectionSlot> = (1..=6).map(enter).collect();
        assert!(slots[0].admit(1, Asking::User));
        assert!(!slots[1].admit(1, Asking::User));
        assert!(slots[1].admit(1, Asking::Administrator));
        assert!(!slots[2].admit(1, Asking::Administrator), "one");
        assert!(slots[3].admit(1, Asking::ByAdminAddress));
        assert!(slots[4].admit(1, Asking::ByAdminAddress), "not counted");
        assert_eq!(registry.len(), 6);
    }

    #[test]
    fn clients_without_a_login_keep_nobody_out() {
        let registry = Arc::new(Registry::default());
        let enter = |id| registry.enter(id, 3).expect("a slot");
        let user = enter(1);
        assert!(user.admit(1, Asking::User));
        let unauthenticated: Vec<ConnectionSlot> = (2..=9).map(enter).collect();
        let gone = unauthenticated
            .iter()
            .filter(|s| s.ending.is_stopping())
            .count();
        assert_eq!(gone, 5, "the oldest");
        assert!(!unauthenticated[7].ending.is_stopping() && !user.ending.is_stopping());
    }
}
