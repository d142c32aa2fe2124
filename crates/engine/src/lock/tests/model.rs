//! Random histories against a naive model: lists of who holds and who waits, and a cycle search over all pairs.

use super::*;
use crate::lock::queue::{JUMPS, conflict};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashSet};

#[derive(Clone, Debug)]
enum Op {
    Ask {
        who: usize,
        key: u8,
        exclusive: bool,
        weight: u64,
    },
    End(usize),
    Kill(usize),
    Unlock(usize),
}

const SESSIONS: usize = 6;

fn op() -> impl Strategy<Value = Op> {
    let who = 0..SESSIONS;
    prop_oneof![
        8 => (who.clone(), 0..4u8, any::<bool>(), 0..3u64)
            .prop_map(|(who, key, exclusive, weight)| Op::Ask { who, key, exclusive, weight }),
        3 => who.clone().prop_map(Op::End),
        1 => who.clone().prop_map(Op::Kill),
        1 => who.prop_map(Op::Unlock),
    ]
}

#[derive(Default, Debug)]
struct Row {
    held: BTreeMap<TxnId, Mode>,
    waiting: Vec<Wants>,
    jumped: u32,
}

#[derive(Debug)]
struct Wants {
    who: TxnId,
    mode: Mode,
    upgrade: bool,
    holds: bool,
}

impl Row {
    fn free(&self, who: TxnId, mode: Mode) -> bool {
        self.held
            .iter()
            .all(|(&o, &m)| o == who || !conflict(m, mode))
    }

    fn grant_waiting(&mut self) -> Vec<TxnId> {
        let mut out = Vec::new();
        while let Some(&Wants { who, mode, .. }) = self.waiting.first() {
            if !self.free(who, mode) {
                break;
            }
            if !self.waiting.remove(0).holds {
                self.jumped = 0;
            }
            let m = self.held.entry(who).or_insert(mode);
            *m = (*m).max(mode);
            out.push(who);
        }
        out
    }

    /// Every pair (waiter, somebody it waits for).
    fn edges(&self) -> Vec<(TxnId, TxnId)> {
        let mut out = Vec::new();
        for (i, &Wants { who, mode, .. }) in self.waiting.iter().enumerate() {
            out.extend(
                self.held
                    .iter()
                    .filter(|&(&o, &m)| o != who && conflict(m, mode))
                    .map(|(&o, _)| (who, o)),
            );
            out.extend(
                self.waiting[..i]
                    .iter()
                    .filter(|w| conflict(w.mode, mode))
                    .map(|w| (who, w.who)),
            );
        }
        out
    }

    fn enqueue(&mut self, wants: Wants) {
        let first_plain = |w: &Vec<Wants>, from: usize| {
            let plain = w.iter().skip(from).position(|w| !w.upgrade && !w.holds);
            plain.map_or(w.len(), |n| from + n)
        };
        let plain = first_plain(&self.waiting, 0);
        let at = match wants {
            Wants { upgrade: true, .. } => self.waiting.iter().filter(|w| w.upgrade).count(),
            Wants { holds: false, .. } => self.waiting.len(),
            _ if plain == self.waiting.len() => plain,
            _ if self.jumped < JUMPS => {
                self.jumped += 1;
                plain
            }
            _ => first_plain(&self.waiting, plain + 1),
        };
        self.waiting.insert(at, wants);
    }
}

struct Session {
    id: TxnId,
    cell: Registration,
    wait: Option<LockWait>,
    last_key: Option<u8>,
}

struct Model {
    w: World,
    sessions: Vec<Session>,
    rows: BTreeMap<u8, Row>,
}

impl Model {
    fn new() -> Model {
        let w = World::new();
        let sessions = (0..SESSIONS)
            .map(|_| {
                let cell = w.txns.register();
                Session {
                    id: w.begin(&cell),
                    cell,
                    wait: None,
                    last_key: None,
                }
            })
            .collect();
        Model {
            w,
            sessions,
            rows: BTreeMap::new(),
        }
    }

    fn cyclic(&self) -> bool {
        let edges: Vec<_> = self.rows.values().flat_map(|r| r.edges()).collect();
        self.sessions.iter().any(|s| {
            let mut seen = HashSet::new();
            let mut open = vec![s.id];
            while let Some(x) = open.pop() {
                for &(_, to) in edges.iter().filter(|e| e.0 == x) {
                    if to == s.id {
                        return true;
                    }
                    if seen.insert(to) {
                        open.push(to);
                    }
                }
            }
            false
        })
    }

    fn ask(&mut self, who: usize, key: u8, mode: Mode, weight: u64) {
        if self.sessions[who].wait.is_some() {
            return;
        }
        let id = self.sessions[who].id;
        let holds = self.rows.values().any(|r| r.held.contains_key(&id));
        let row = self.rows.entry(key).or_default();
        let held = row.held.get(&id).copied();
        let answer = self.w.table.lock(&request(id, &[key], mode, weight));
        let blocked_by_queue = match held {
            Some(_) => row.waiting.iter().any(|w| w.upgrade),
            None => !row.waiting.is_empty(),
        };
        match answer {
            Acquired::Held => assert!(held.is_some_and(|h| h >= mode)),
            Acquired::Granted => {
                assert!(row.free(id, mode) && !blocked_by_queue && held.is_none_or(|h| h < mode));
                row.held.insert(id, mode);
                self.sessions[who].last_key = Some(key);
            }
            Acquired::Wait(mut wait) => {
                assert!(!row.free(id, mode) || blocked_by_queue);
                row.enqueue(Wants {
                    who: id,
                    mode,
                    upgrade: held.is_some(),
                    holds: holds && mode == Mode::Exclusive,
                });
                let cyclic = self.cyclic();
                wait.begin();
                self.sessions[who].wait = Some(wait);
                let victims = self.drop_victims();
                assert_eq!(
                    cyclic,
                    !victims.is_empty(),
                    "a deadlock is found exactly when there is one"
                );
                assert!(!self.cyclic(), "and nothing of it is left");
            }
            _ => panic!("unexpected answer"),
        }
    }

    /// Sessions whose wait ended as deadlock victims leave the model's queues.
    fn drop_victims(&mut self) -> BTreeSet<TxnId> {
        let over =
            |s: &&Session| s.wait.as_ref().and_then(|w| w.ended()) == Some(WaitEnd::Deadlock);
        let victims: BTreeSet<_> = self.sessions.iter().filter(over).map(|s| s.id).collect();
        self.sessions
            .iter_mut()
            .filter(|s| victims.contains(&s.id))
            .for_each(|s| s.wait = None);
        self.leave_queues(&victims);
        victims
    }

    fn leave_queues(&mut self, who: &BTreeSet<TxnId>) {
        for row in self.rows.values_mut() {
            row.waiting.retain(|w| !who.contains(&w.who));
        }
        self.grant_waiting();
    }

    fn grant_waiting(&mut self) {
        let granted: BTreeSet<_> = self
            .rows
            .values_mut()
            .flat_map(|r| r.grant_waiting())
            .collect();
        for s in self.sessions.iter_mut().filter(|s| granted.contains(&s.id)) {
            let wait = s.wait.take().expect("it waited");
            assert_eq!(wait.ended(), Some(WaitEnd::Granted));
        }
    }

    fn end(&mut self, who: usize) {
        // Only a session that does not wait can end.
        let s = &mut self.sessions[who];
        if s.wait.as_ref().is_some_and(|w| w.ended().is_none()) {
            return;
        }
        s.wait = None;
        s.last_key = None;
        let id = s.id;
        self.w.end(id);
        for row in self.rows.values_mut() {
            row.held.remove(&id);
        }
        self.grant_waiting();
        let cell = &self.sessions[who].cell;
        self.sessions[who].id = self.w.begin(cell);
    }

    fn check(&self) {
        for s in &self.sessions {
            let waits = self
                .rows
                .values()
                .any(|r| r.waiting.iter().any(|w| w.who == s.id));
            assert_eq!(waits, s.wait.as_ref().is_some_and(|w| w.ended().is_none()));
            assert_eq!(waits, self.w.table.is_waiting(s.id));
        }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Ask {
                who,
                key,
                exclusive,
                weight,
            } => {
                self.ask(
                    who,
                    key,
                    if exclusive {
                        Mode::Exclusive
                    } else {
                        Mode::Shared
                    },
                    weight,
                );
            }
            Op::End(who) => self.end(who),
            Op::Kill(who) => {
                let id = self.sessions[who].id;
                if self.w.table.kill(id) {
                    assert_eq!(
                        self.sessions[who].wait.take().and_then(|w| w.ended()),
                        Some(WaitEnd::Killed)
                    );
                    self.leave_queues(&BTreeSet::from([id]));
                }
            }
            Op::Unlock(who) => {
                let s = &self.sessions[who];
                if let (None, Some(key)) = (&s.wait, s.last_key) {
                    self.w.table.unlock(s.id, 7, &[key]);
                    if let Some(row) = self.rows.get_mut(&key) {
                        row.held.remove(&self.sessions[who].id);
                    }
                    self.sessions[who].last_key = None;
                    self.grant_waiting();
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(base::seeded!())]

    #[test]
    fn histories_agree_with_a_naive_model(ops in proptest::collection::vec(op(), 1..120)) {
        let mut m = Model::new();
        for op in &ops {
            m.apply(op);
            m.check();
        }
        // Everybody who does not wait ends, until nobody is left: no deadlock may be in the way.
        for _ in 0..SESSIONS {
            (0..SESSIONS).for_each(|i| m.end(i));
            m.check();
        }
        prop_assert!(m.sessions.iter().all(|s| s.wait.is_none()));
        prop_assert!(m.w.table.is_empty());
    }
}
