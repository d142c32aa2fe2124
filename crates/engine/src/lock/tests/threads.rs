//! Threads that lock several rows in any order: nobody is forgotten, and nobody shares what is exclusive.

use super::*;
use base::{SplitMix64, block_on};
use std::sync::atomic::AtomicI64;

const KEYS: usize = 5;

/// A row as a page would hold it: the mutex is the page latch, the value is the writer in the row header.
struct Stress {
    w: World,
    rows: Vec<Mutex<TxnId>>,
    /// Readers inside (positive), or the one writer (-1).
    inside: Vec<AtomicI64>,
    deadlocks: AtomicU64,
    waits: AtomicU64,
    cut_short: AtomicU64,
    timeout_us: Option<u64>,
}

impl Stress {
    fn new(timeout_us: Option<u64>) -> Stress {
        Stress {
            w: World::new(),
            rows: (0..KEYS).map(|_| Mutex::new(TxnId::NONE)).collect(),
            inside: (0..KEYS).map(|_| AtomicI64::new(0)).collect(),
            deadlocks: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            cut_short: AtomicU64::new(0),
            timeout_us,
        }
    }

    /// Takes one row; false when the transaction must end.
    fn acquire(
        &self,
        me: TxnId,
        key: usize,
        (exclusive, brief): (bool, bool),
        how: &mut [u8; KEYS],
    ) -> bool {
        loop {
            let wait = {
                let mut row = self.rows[key].lock();
                let writer = (*row != me && self.w.txns.is_active(*row)).then_some(*row);
                let (mode, hold) = match exclusive {
                    true => (Mode::Exclusive, Hold::Row),
                    false => (Mode::Shared, Hold::Table),
                };
                if *row == me {
                    return true;
                }
                let name = [key as u8];
                let on_conflict = OnConflict::Wait {
                    weight: me.0 % 3,
                    timeout_us: self.timeout_us,
                };
                let req = Request {
                    hold,
                    brief,
                    writer,
                    on_conflict,
                    ..request(me, &name, mode, 0)
                };
                match self.w.table.lock(&req) {
                    Acquired::Granted | Acquired::Held => {
                        if exclusive {
                            *row = me;
                        }
                        self.enter(key, exclusive, how);
                        return true;
                    }
                    Acquired::Retry => continue,
                    Acquired::Conflict | Acquired::Full => panic!("asked to wait"),
                    Acquired::Wait(wait) => wait,
                }
            };
            self.waits.fetch_add(1, Ordering::Relaxed);
            match block_on(wait) {
                WaitEnd::Granted => {}
                WaitEnd::Deadlock => {
                    self.deadlocks.fetch_add(1, Ordering::Relaxed);
                    return false;
                }
                WaitEnd::Timeout | WaitEnd::Killed => {
                    assert!(self.timeout_us.is_some(), "nobody cuts waits short here");
                    self.cut_short.fetch_add(1, Ordering::Relaxed);
                    return false;
                }
            }
        }
    }

    fn enter(&self, key: usize, exclusive: bool, how: &mut [u8; KEYS]) {
        match (how[key], exclusive) {
            (0, false) => {
                assert!(
                    self.inside[key].fetch_add(1, Ordering::SeqCst) >= 0,
                    "reader beside a writer"
                );
                how[key] = 1;
            }
            (0, true) => {
                assert_eq!(
                    self.inside[key].fetch_sub(1, Ordering::SeqCst),
                    0,
                    "writer beside somebody"
                );
                how[key] = 2;
            }
            (1, true) => {
                assert_eq!(
                    self.inside[key].fetch_sub(2, Ordering::SeqCst),
                    1,
                    "writer beside a reader"
                );
                how[key] = 2;
            }
            _ => {}
        }
    }

    fn run(&self, seed: u64, rounds: usize) {
        let mut rng = SplitMix64::new(base::seed::nth("lockers", seed));
        let cell = self.w.txns.register();
        for _ in 0..rounds {
            let me = self.w.begin(&cell);
            let mut how = [0u8; KEYS];
            let brief = rng.below(2) == 0;
            for _ in 0..if brief { 1 } else { 1 + rng.below(4) } {
                let (key, exclusive) = (rng.below(KEYS as u64) as usize, rng.below(2) == 0);
                if !self.acquire(me, key, (exclusive, brief), &mut how) {
                    break;
                }
                if rng.below(8) == 0 {
                    std::thread::yield_now();
                }
            }
            for (key, how) in how.iter().enumerate() {
                self.inside[key].fetch_add([0, -1, 1][usize::from(*how)], Ordering::SeqCst);
            }
            self.w.end(me);
        }
    }
}

#[test]
fn no_wakeup_is_lost_and_no_lock_shared() {
    let s = Stress::new(None);
    std::thread::scope(|scope| {
        for seed in 1..=6u64 {
            let s = &s;
            scope.spawn(move || s.run(seed, 4000));
        }
    });
    assert!(s.w.table.is_empty());
    assert!(s.waits.load(Ordering::Relaxed) > 0 && s.deadlocks.load(Ordering::Relaxed) > 0);
}

#[test]
fn kills_and_timeouts_race_with_grants() {
    let s = Stress::new(Some(40));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (1..=5u64)
            .map(|seed| {
                let s = &s;
                scope.spawn(move || s.run(seed, 3000))
            })
            .collect();
        let (s, stop) = (&s, &stop);
        scope.spawn(move || {
            let mut rng = SplitMix64::new(base::seed::of("killer"));
            while !stop.load(Ordering::Relaxed) {
                s.w.clock.advance(10);
                s.w.table
                    .kill(TxnId(s.w.txns.next().0.saturating_sub(rng.below(12))));
                std::thread::yield_now();
            }
        });
        let ends: Vec<_> = workers.into_iter().map(|w| w.join()).collect();
        stop.store(true, Ordering::Relaxed);
        ends.into_iter().for_each(|e| e.unwrap());
    });
    assert!(s.w.table.is_empty());
    assert!(s.cut_short.load(Ordering::Relaxed) > 0);
}
