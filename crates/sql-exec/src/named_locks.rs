//! The named locks of an instance (GET_LOCK, RELEASE_LOCK): who holds which, how often it was taken, and who waits for which.
//!
//! A connection waits for one lock at a time. Whoever would close a circle of connections that wait for each other is told, and does not wait:
//! so there never is one. Each looks under the one mutex by which it says that it waits, so the last of a circle sees all of it.

use base::lock::{Mutex, MutexGuard};
use std::collections::HashMap;

use base::Event;

use sql_expr::Val;
use sql_expr::memory::Charge;

/// A named lock's holder, and how often it took it.
struct Holder {
    connection: u64,
    times: u64,
    _charge: Charge,
}

/// What a named lock takes beside its name.
pub(super) const LOCK: usize = 160;

/// What has become of a request for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    Yes,
    /// Another connection holds it.
    No,
    /// Another one holds it, and waits for this one.
    Circle,
}

#[derive(Default)]
struct State {
    /// By the locks' names in lower case.
    held: HashMap<String, Holder>,
    /// The lock that a connection waits for.
    waits: HashMap<u64, String>,
}

impl State {
    /// Whether whoever holds the lock waits for this connection, directly or by others.
    fn leads_to(&self, name: &str, connection: u64) -> bool {
        let mut next = Some(name);
        while let Some(h) = next.and_then(|name| self.held.get(name)) {
            if h.connection == connection {
                return true;
            }
            next = self.waits.get(&h.connection).map(String::as_str);
        }
        false
    }
}

/// The named locks of an instance.
#[derive(Default)]
pub struct NamedLocks {
    state: Mutex<State>,
    released: Event,
}

/// A connection may wait for a lock, until this is dropped.
pub(super) struct Waiting<'l> {
    locks: &'l NamedLocks,
    connection: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.locks.state().waits.remove(&self.connection);
    }
}

impl NamedLocks {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Fired when a lock is free again.
    pub(super) fn released(&self) -> &Event {
        &self.released
    }

    /// The connection that holds it.
    pub(super) fn holder(&self, name: &str) -> Option<u64> {
        self.state().held.get(name).map(|h| h.connection)
    }

    /// A connection is going to [take](Self::acquire) a lock, and to wait where it cannot.
    pub(super) fn waiting(&self, connection: u64) -> Waiting<'_> {
        let locks = self;
        Waiting { locks, connection }
    }

    /// Takes the lock if it is free or held by this connection already; else notes that it waits, if it does. `charge` is for a lock that nobody holds.
    pub(super) fn acquire(
        &self,
        name: &str,
        (connection, waits): (u64, bool),
        charge: &mut Charge,
    ) -> Taken {
        let mut state = self.state();
        let held = &mut state.held;
        let h = held.entry(name.to_owned()).or_insert_with(|| Holder {
            connection,
            times: 0,
            _charge: std::mem::take(charge),
        });
        if h.connection == connection {
            h.times += 1;
            return Taken::Yes;
        }
        if !waits {
            return Taken::No;
        }
        if state.leads_to(name, connection) && !base::mutant!("circle-of-named-locks-not-seen") {
            return Taken::Circle;
        }
        state.waits.insert(connection, name.to_owned());
        Taken::No
    }

    /// Locks are free again: whoever waits for them looks.
    fn tell(&self) {
        if !base::mutant!("named-lock-given-back-without-a-word") {
            self.released.fire();
        }
    }

    /// Gives it back once; NULL where nobody holds it, 0 where another does.
    pub(super) fn release(&self, name: &str, connection: u64) -> Val<'static> {
        let mut state = self.state();
        match state.held.get_mut(name) {
            None => Val::Null,
            Some(h) if h.connection != connection => Val::Int(0),
            Some(h) => {
                h.times -= 1;
                if h.times == 0 {
                    state.held.remove(name);
                    drop(state);
                    self.tell();
                }
                Val::Int(1)
            }
        }
    }

    /// All that are held, and by which connection, in order.
    pub fn all(&self) -> Vec<(String, u64)> {
        let state = self.state();
        let all = state
            .held
            .iter()
            .map(|(name, h)| (name.clone(), h.connection));
        let mut all: Vec<_> = all.collect();
        all.sort_unstable();
        all
    }

    /// Releases all locks of a connection, which ends, is reset or asks for it; yields how many.
    pub fn release_all(&self, connection: u64) -> u64 {
        let mut n = 0;
        self.state().held.retain(|_, h| {
            let mine = h.connection == connection;
            n += if mine { h.times } else { 0 };
            !mine
        });
        if n > 0 {
            self.tell();
        }
        n
    }
}
