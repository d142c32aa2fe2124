//! The named locks of an instance (GET_LOCK, RELEASE_LOCK): who holds which, and how often it was taken.

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

/// The named locks of an instance, by their names in lower case.
#[derive(Default)]
pub struct NamedLocks {
    held: Mutex<HashMap<String, Holder>>,
    released: Event,
}

impl NamedLocks {
    fn held(&self) -> MutexGuard<'_, HashMap<String, Holder>> {
        self.held.lock()
    }

    /// Fired when a lock is free again.
    pub(super) fn released(&self) -> &Event {
        &self.released
    }

    /// The connection that holds it.
    pub(super) fn holder(&self, name: &str) -> Option<u64> {
        self.held().get(name).map(|h| h.connection)
    }

    /// Takes the lock if it is free or held by this connection already. `charge` is for a lock that nobody holds.
    pub(super) fn acquire(&self, name: &str, connection: u64, charge: &mut Charge) -> bool {
        let mut held = self.held();
        let h = held.entry(name.to_owned()).or_insert_with(|| Holder {
            connection,
            times: 0,
            _charge: std::mem::take(charge),
        });
        let mine = h.connection == connection;
        h.times += u64::from(mine);
        mine
    }

    /// Gives it back once; NULL where nobody holds it, 0 where another does.
    pub(super) fn release(&self, name: &str, connection: u64) -> Val<'static> {
        let mut held = self.held();
        match held.get_mut(name) {
            None => Val::Null,
            Some(h) if h.connection != connection => Val::Int(0),
            Some(h) => {
                h.times -= 1;
                if h.times == 0 {
                    held.remove(name);
                    drop(held);
                    self.released.fire();
                }
                Val::Int(1)
            }
        }
    }

    /// All that are held, and by which connection, in order.
    pub fn all(&self) -> Vec<(String, u64)> {
        let held = self.held();
        let all = held.iter().map(|(name, h)| (name.clone(), h.connection));
        let mut all: Vec<_> = all.collect();
        all.sort_unstable();
        all
    }

    /// Releases all locks of a connection, which ends, is reset or asks for it; yields how many.
    pub fn release_all(&self, connection: u64) -> u64 {
        let mut n = 0;
        self.held().retain(|_, h| {
            let mine = h.connection == connection;
            n += if mine { h.times } else { 0 };
            !mine
        });
        if n > 0 {
            self.released.fire();
        }
        n
    }
}
