//! The transaction system against an oracle that remembers everything, and under threads.

use super::*;
use base::lock::Mutex;
use base::{Lsn, TxnId};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Clone, Debug)]
enum Op {
    Begin,
    Commit(usize),
    Abort(usize),
    Complete,
    Open(usize),
    Close(usize),
    Advance,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => Just(Op::Begin),
        8 => (0..64usize).prop_map(Op::Commit),
        1 => (0..64usize).prop_map(Op::Abort),
        4 => Just(Op::Complete),
        2 => (0..4usize).prop_map(Op::Open),
        1 => (0..4usize).prop_map(Op::Close),
        1 => Just(Op::Advance),
    ]
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Outcome {
    Active,
    Committed(Lsn),
    Aborted(Lsn),
}

struct Model {
    sys: TxnSystem,
    cells: Vec<Registration>,
    snaps: Vec<Option<Snapshot>>,
    sessions: Vec<Registration>,
    active: Vec<TxnId>,
    outcome: Vec<(TxnId, Outcome)>,
    lsn: u64,
    complete: u64,
}

impl Model {
    fn new(start: u64) -> Model {
        let sys = TxnSystem::with_bits(TxnId(start), 4);
        let cells = (0..4).map(|_| sys.register()).collect();
        Model {
            sys,
            cells,
            snaps: vec![None; 4],
            sessions: Vec::new(),
            active: Vec::new(),
            outcome: Vec::new(),
            lsn: 100,
            complete: 100,
        }
    }

    fn remove_active(&mut self, i: usize) -> Option<TxnId> {
        (!self.active.is_empty()).then(|| {
            let i = i % self.active.len();
            self.sessions.remove(i);
            self.active.remove(i)
        })
    }

    fn set(&mut self, t: TxnId, f: Outcome) {
        self.outcome.iter_mut().find(|x| x.0 == t).unwrap().1 = f;
    }

    fn apply(&mut self, op: &Op) {
        let complete = Lsn(self.complete);
        match *op {
            Op::Begin => {
                let cell = self.sys.register();
                let t = self.sys.begin(&cell, || complete);
                self.sessions.push(cell);
                self.active.push(t);
                self.outcome.push((t, Outcome::Active));
            }
            Op::Commit(i) => {
                if let Some(t) = self.remove_active(i) {
                    self.lsn += 8;
                    self.sys.committed(t, Lsn(self.lsn));
                    self.set(t, Outcome::Committed(Lsn(self.lsn)));
                }
            }
            Op::Abort(i) => {
                if let Some(t) = self.remove_active(i) {
                    self.lsn += 8;
                    self.sys.aborted(t, Lsn(self.lsn));
                    self.set(t, Outcome::Aborted(Lsn(self.lsn)));
                }
            }
            Op::Complete => self.complete = self.lsn + 8,
            Op::Open(i) => {
                self.snaps[i] = Some(self.sys.open_snapshot(&self.cells[i], || complete).0)
            }
            Op::Close(i) => {
                self.cells[i].close_snapshot();
                self.snaps[i] = None;
            }
            Op::Advance => {
                let oldest = self.sys.advance(|| complete);
                let want = self
                    .snaps
                    .iter()
                    .flatten()
                    .map(|s| s.lsn)
                    .min()
                    .unwrap_or(complete);
                assert_eq!(oldest, want);
            }
        }
    }

    fn check(&self) {
        for &(t, outcome) in &self.outcome {
            let status = self.sys.status(t);
            match (status, outcome) {
                (Status::Active, f) => assert_eq!(f, Outcome::Active),
                (Status::Committed(a), f) => assert_eq!(f, Outcome::Committed(a)),
                (Status::Aborted(a), f) => assert_eq!(f, Outcome::Aborted(a)),
                (Status::Frozen, f) => assert_ne!(f, Outcome::Active),
            }
            assert_eq!(self.sys.is_active(t), outcome == Outcome::Active);
            for s in self.snaps.iter().flatten() {
                let seen = self.sys.visible(s, t, TxnId::NONE);
                match outcome {
                    Outcome::Active => assert!(!seen),
                    Outcome::Committed(at) => {
                        assert_eq!(seen, at < s.lsn, "{t:?} {outcome:?} {s:?} {status:?}")
                    }
                    // An aborted transaction whose rollback ended below the snapshot left no row to ask about.
                    Outcome::Aborted(at) => assert!(!seen || at < s.lsn),
                }
                assert!(self.sys.visible(s, t, t));
            }
        }
    }
}

proptest! {
    #![proptest_config(base::seeded!())]

    #[test]
    fn visibility_agrees_with_an_oracle(start in 1..40u64, ops in proptest::collection::vec(op(), 1..250)) {
        let mut m = Model::new(start);
        for op in &ops {
            m.apply(op);
            m.check();
        }
        // When all is over, nothing is remembered outside of the ring.
        while m.remove_active(0).map(|t| m.sys.committed(t, Lsn(m.lsn))).is_some() {}
        (0..4).for_each(|i| m.apply(&Op::Close(i)));
        m.apply(&Op::Complete);
        m.sys.advance(|| Lsn(m.complete));
        assert_eq!(m.sys.remembered(), 0);
        assert_eq!(m.sys.floor(), m.sys.next());
    }
}

#[test]
fn losers_of_recovery_are_active_until_rolled_back() {
    let sys = TxnSystem::with_bits(TxnId(100), 4);
    let cell = sys.register();
    let loser = ActiveTxn {
        txid: TxnId(50),
        first: Lsn(10),
        last: Lsn(20),
    };
    sys.adopt(&cell, loser);
    let reader = sys.register();
    let (s, _) = sys.open_snapshot(&reader, || Lsn(1000));
    assert!(sys.is_active(TxnId(50)));
    assert!(!sys.visible(&s, TxnId(50), TxnId::NONE));
    assert!(sys.visible(&s, TxnId(49), TxnId::NONE));
    assert!(sys.visible(&s, TxnId(51), TxnId::NONE));
    assert_eq!(sys.active(), vec![loser]);
    cell.recording().done(Lsn(1000), true);
    assert_eq!(sys.active()[0].last, Lsn(1000));
    cell.recording().ended();
    sys.aborted(TxnId(50), Lsn(1008));
    assert!(!sys.is_active(TxnId(50)));
    assert!(!sys.visible(&s, TxnId(50), TxnId::NONE));
    assert!(sys.active().is_empty());
    reader.close_snapshot();
    sys.advance(|| Lsn(2000));
    assert_eq!((sys.remembered(), sys.floor()), (0, TxnId(100)));
}

/// A log of which only positions are kept: reserve, then complete in any order.
struct FakeLog {
    state: Mutex<(u64, BTreeSet<u64>)>,
    complete: AtomicU64,
}

impl FakeLog {
    fn reserve(&self) -> u64 {
        let mut s = self.state.lock();
        s.0 += 8;
        let at = s.0;
        s.1.insert(at);
        at
    }

    fn fill(&self, at: u64) {
        let mut s = self.state.lock();
        s.1.remove(&at);
        let complete = s.1.first().copied().unwrap_or(s.0 + 8);
        self.complete.fetch_max(complete, Ordering::AcqRel);
    }

    fn complete(&self) -> Lsn {
        Lsn(self.complete.load(Ordering::Acquire))
    }
}

#[test]
fn threads_agree_on_what_is_visible() {
    const TXNS: usize = 20_000;
    let sys = Arc::new(TxnSystem::with_bits(TxnId(1), 6));
    let log = Arc::new(FakeLog {
        state: Mutex::new((0, BTreeSet::new())),
        complete: AtomicU64::new(8),
    });
    // Commit LSN by id, written before it is published; MAX before the transaction began, nearly so until it ends.
    const BEGUN: u64 = u64::MAX - 1;
    let truth: Arc<Vec<AtomicU64>> =
        Arc::new((0..TXNS * 2).map(|_| AtomicU64::new(u64::MAX)).collect());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|w| {
                let (sys, log, truth) = (sys.clone(), log.clone(), truth.clone());
                scope.spawn(move || {
                    let cell = sys.register();
                    for i in 0..TXNS / 3 {
                        let t = sys.begin(&cell, || log.complete());
                        assert!(sys.is_active(t));
                        truth[t.0 as usize].store(BEGUN, Ordering::SeqCst);
                        if (i + w) % 64 == 0 {
                            std::thread::yield_now();
                        }
                        let rec = cell.recording();
                        let at = log.reserve();
                        truth[t.0 as usize].store(at, Ordering::SeqCst);
                        sys.committed(t, Lsn(at));
                        rec.ended();
                        log.fill(at);
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            let (sys, log, truth, stop) = (&sys, &log, &truth, &stop);
            scope.spawn(move || {
                let cell = sys.register();
                let mut turn = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    turn += 1;
                    let (s, _) = sys.open_snapshot(&cell, || log.complete());
                    let from = s.next.0.saturating_sub(200).max(1);
                    for again in 0..1 + turn % 3 {
                        for t in from..s.next.0 + 4 {
                            let begun = truth[t as usize].load(Ordering::SeqCst) <= BEGUN;
                            let seen = begun && sys.visible(&s, TxnId(t), TxnId::NONE);
                            let at = truth[t as usize].load(Ordering::SeqCst);
                            assert_eq!(seen, at < s.lsn.0, "{t} {s:?} {at} {again}");
                        }
                        std::thread::yield_now();
                    }
                    cell.close_snapshot();
                }
            });
        }
        let ends: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
        stop.store(true, Ordering::Relaxed);
        ends.into_iter().for_each(|e| e.unwrap());
    });
    sys.advance(|| log.complete());
    assert_eq!(sys.remembered(), 0);
    assert_eq!(sys.floor(), sys.next());
}
