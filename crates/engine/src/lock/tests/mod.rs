//! The lock table: rules one by one, against a model, and under threads.

mod guards;
mod model;
mod order;
mod rules;
mod threads;
mod turns;

use super::*;
use crate::txn::{Registration, TxnSystem};
use base::lock::Mutex;
use base::{Clock, Lsn, TxnId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};

/// A clock that stands until it is told to go on.
#[derive(Default)]
pub(super) struct HandClock {
    now: AtomicU64,
    timers: Mutex<Vec<(u64, Waker)>>,
    armed: AtomicU64,
}

impl HandClock {
    pub(super) fn advance(&self, us: u64) {
        let now = self.now.fetch_add(us, Ordering::SeqCst) + us;
        let due: Vec<_> = {
            let mut t = self.timers.lock();
            let (due, rest) = std::mem::take(&mut *t)
                .into_iter()
                .partition(|x| x.0 <= now);
            *t = rest;
            due
        };
        due.into_iter().for_each(|x| x.1.wake());
    }

    pub(super) fn times_armed(&self) -> u64 {
        self.armed.load(Ordering::SeqCst)
    }
}

impl Clock for HandClock {
    fn now_us(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    fn wall_us(&self) -> i64 {
        0
    }

    fn wake_at(&self, at_us: u64, waker: Waker) {
        self.armed.fetch_add(1, Ordering::SeqCst);
        self.timers.lock().push((at_us, waker));
    }
}

/// A waker that counts.
#[derive(Default)]
pub(super) struct Rings(AtomicU64);

impl Wake for Rings {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Rings {
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A table with its transaction system and a log position that only grows.
pub(super) struct World {
    pub(super) txns: Arc<TxnSystem>,
    pub(super) table: Arc<LockTable>,
    pub(super) clock: Arc<HandClock>,
    lsn: AtomicU64,
}

impl World {
    pub(super) fn new() -> World {
        let txns = Arc::new(TxnSystem::with_bits(TxnId(1), 10));
        let clock = Arc::new(HandClock::default());
        let table = LockTable::new(txns.clone(), clock.clone(), 42);
        World {
            txns,
            table,
            clock,
            lsn: AtomicU64::new(8),
        }
    }

    pub(super) fn begin(&self, cell: &Registration) -> TxnId {
        self.txns
            .begin(cell, || Lsn(self.lsn.load(Ordering::SeqCst)))
    }

    pub(super) fn end(&self, t: TxnId) {
        let at = self.lsn.fetch_add(8, Ordering::SeqCst);
        self.txns.committed(t, Lsn(at));
        self.table.release_all(t);
    }

    pub(super) fn ask(&self, owner: TxnId, key: &[u8], mode: Mode) -> Acquired {
        self.table.lock(&request(owner, key, mode, 0))
    }
}

pub(super) fn request(owner: TxnId, key: &[u8], mode: Mode, weight: u64) -> Request<'_> {
    let on_conflict = OnConflict::Wait {
        weight,
        timeout_us: Some(1_000_000),
    };
    Request {
        owner,
        index: 7,
        key,
        mode,
        writer: None,
        hold: Hold::Table,
        brief: false,
        on_conflict,
    }
}

pub(super) fn waits(a: Acquired) -> LockWait {
    match a {
        Acquired::Wait(mut w) => {
            w.begin();
            w
        }
        _ => panic!("should wait"),
    }
}

pub(super) fn granted(a: Acquired) {
    assert!(matches!(a, Acquired::Granted), "should be granted");
}
