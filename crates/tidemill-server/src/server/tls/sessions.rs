//! TLS sessions that clients may resume: kept in memory for a while, and counted.

use base::lock::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use base::counters::Counter;
use rustls::server::StoresServerSessions;

/// Sessions kept at most; the oldest goes first.
pub(super) const CAPACITY: usize = 2048;
/// A session with a chain of certificates beyond this is not kept.
const LARGEST: usize = 8 << 10;

/// The sessions of one TLS context.
#[derive(Debug)]
pub(super) struct Sessions {
    timeout: Duration,
    kept: Mutex<Kept>,
    /// Sessions that were asked for and found.
    pub(super) hits: Counter,
    /// Sessions that were asked for and not found.
    pub(super) misses: Counter,
    /// Sessions that were asked for too late.
    pub(super) timeouts: Counter,
    /// Sessions dropped for want of room.
    pub(super) overflows: Counter,
}

#[derive(Default)]
struct Kept {
    by_key: HashMap<Vec<u8>, (Instant, Vec<u8>)>,
    /// Keys in the order they came; some are gone from the map.
    order: VecDeque<Vec<u8>>,
}

/// Says how many: the sessions are secrets.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kept({})", self.by_key.len())
    }
}

impl Sessions {
    /// None yet; each may be resumed for `timeout`.
    pub(super) fn new(timeout: Duration) -> Sessions {
        Sessions {
            timeout,
            kept: Mutex::default(),
            hits: Counter::default(),
            misses: Counter::default(),
            timeouts: Counter::default(),
            overflows: Counter::default(),
        }
    }

    /// How many are kept.
    pub(super) fn len(&self) -> usize {
        self.kept().by_key.len()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock()
    }

    fn found(&self, session: Option<(Instant, Vec<u8>)>) -> Option<Vec<u8>> {
        let Some((since, value)) = session else {
            self.misses.inc();
            return None;
        };
        if since.elapsed() > self.timeout {
            self.timeouts.inc();
            return None;
        }
        self.hits.inc();
        Some(value)
    }
}

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        if value.len() > LARGEST {
            return false;
        }
        let mut kept = self.kept();
        kept.order.push_back(key.clone());
        kept.by_key.insert(key, (Instant::now(), value));
        while kept.by_key.len() > CAPACITY || kept.order.len() > 2 * CAPACITY {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            if kept.by_key.remove(&oldest).is_some() {
                self.overflows.inc();
            }
        }
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let session = self.kept().by_key.get(key).cloned();
        self.found(session)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let session = self.kept().by_key.remove(key);
        self.found(session)
    }

    fn can_cache(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_taken_overflown_and_outlived() {
        let sessions = Sessions::new(Duration::from_secs(300));
        let key = |n: usize| n.to_le_bytes().to_vec();
        assert!(sessions.put(key(0), vec![1]));
        assert_eq!(sessions.get(&key(0)), Some(vec![1]));
        assert_eq!(sessions.take(&key(0)), Some(vec![1]));
        assert_eq!(sessions.take(&key(0)), None);
        assert_eq!((sessions.hits.get(), sessions.misses.get()), (2, 1));
        assert!(!sessions.put(key(1), vec![0; LARGEST + 1]));
        for n in 0..3 * CAPACITY {
            sessions.put(key(n), vec![2]);
            // Sessions that are taken leave no trace that grows.
            sessions.take(&key(n));
        }
        assert!(sessions.kept().order.len() <= 2 * CAPACITY);
        for n in 0..CAPACITY + 5 {
            sessions.put(key(n), vec![3]);
        }
        assert_eq!(sessions.len(), CAPACITY);
        assert_eq!(sessions.get(&key(0)), None);
        assert!(sessions.overflows.get() >= 5);

        let none = Sessions::new(Duration::ZERO);
        none.put(key(0), vec![1]);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(none.take(&key(0)), None);
        assert_eq!(none.timeouts.get(), 1);
    }
}
