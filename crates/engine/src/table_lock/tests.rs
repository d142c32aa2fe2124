//! The state of a table's lock and of the server's against models that keep lists, and with threads.

use super::*;
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;

const SESSIONS: u64 = 4;

#[derive(Clone, Debug)]
enum Op {
    Use { who: u64, writes: bool },
    Leave(u64),
    Ask { who: u64, mode: TableLockMode },
    Grant,
    Withdraw,
    Release(u64),
    Claim(u64),
    GiveUp(u64),
    Watch,
}

fn op() -> impl Strategy<Value = Op> {
    let who = 0..SESSIONS;
    let mode = prop_oneof![
        Just(TableLockMode::Read),
        Just(TableLockMode::Write),
        Just(TableLockMode::Change)
    ];
    prop_oneof![
        6 => (who.clone(), any::<bool>()).prop_map(|(who, writes)| Op::Use { who, writes }),
        4 => who.clone().prop_map(Op::Leave),
        4 => (who.clone(), mode).prop_map(|(who, mode)| Op::Ask { who, mode }),
        4 => Just(Op::Grant),
        1 => Just(Op::Withdraw),
        2 => who.clone().prop_map(Op::Release),
        3 => who.clone().prop_map(Op::Claim),
        1 => who.prop_map(Op::GiveUp),
        1 => Just(Op::Watch),
    ]
}

/// What the lock is to be, as lists.
#[derive(Default)]
struct Model {
    uses: Vec<(u64, Announced, u64)>,
    held: Vec<(u64, TableLockMode)>,
    asking: Option<(u64, TableLockMode)>,
    /// In the order of their turns.
    claims: Vec<(u64, Option<Claims>)>,
    steps: u64,
}

impl Model {
    fn held_against(&self, who: u64, mode: TableLockMode) -> bool {
        let shared = |m: TableLockMode| m == TableLockMode::Read && mode == TableLockMode::Read;
        self.held.iter().any(|(o, m)| *o != who && !shared(*m))
    }

    /// Whether another one comes before him.
    fn claimed_against(&self, who: u64) -> bool {
        let holds = self.held.iter().any(|(o, _)| *o == who);
        !holds && self.claims.first().is_some_and(|(o, _)| *o != who)
    }

    /// Whether somebody who has no part in it may use the table without waiting.
    fn open(&self, writes: bool) -> bool {
        let keeps_off = |m: &TableLockMode| writes || *m != TableLockMode::Read;
        !self.held.iter().any(|(_, m)| keeps_off(m))
            && !self.asking.iter().any(|(_, m)| keeps_off(m))
            && self.claims.is_empty()
    }
}

fn use_table(lock: &TableLock, m: &mut Model, who: u64, writes: bool) {
    let announced = lock.announce(writes);
    let open = lock.admits(writes);
    assert_eq!(open, m.open(writes), "what users see is the state");
    let uses_it = m.uses.iter().any(|(o, ..)| *o == who);
    let admitted = open || lock.admits_owner(Owner(who), writes, uses_it);
    if admitted {
        for (o, mode) in &m.held {
            let own = o == &who && *mode != TableLockMode::Change;
            let goes = *mode == TableLockMode::Read && !writes;
            assert!(own || goes, "{who} uses it beside {o}, {mode:?}");
        }
        assert!(
            uses_it || !m.claimed_against(who),
            "{who} uses it before one who comes first"
        );
        m.uses.push((who, announced, m.steps));
    } else {
        lock.leave(announced);
    }
}

fn apply(lock: &Arc<TableLock>, global: &Arc<GlobalLock>, m: &mut Model, op: Op) {
    match op {
        Op::Use { who, writes } => use_table(lock, m, who, writes),
        Op::Leave(who) => {
            m.uses.retain(|(o, announced, _)| {
                if *o == who {
                    lock.leave(*announced);
                }
                *o != who
            });
        }
        Op::Ask { who, mode } => {
            // A session gives its locks back before it asks for others, but for one that changes what it has locked for writing.
            let writes = m.held.contains(&(who, TableLockMode::Write));
            let has = m.held.iter().filter(|(o, _)| *o == who).count();
            if has > 0 && !(has == 1 && writes && mode == TableLockMode::Change) {
                return;
            }
            let asked = lock.ask(Owner(who), mode, Claimed::First);
            let closed = m.held_against(who, mode) || m.claimed_against(who);
            let expected = match (closed, m.asking) {
                (true, _) => Asked::Held,
                (false, Some(_)) => Asked::Later,
                (false, None) => Asked::Yes,
            };
            assert_eq!(asked, expected);
            if asked == Asked::Yes {
                m.asking = Some((who, mode));
            }
        }
        Op::Grant => {
            let granted = lock.grant(FailedRollbacks::Count);
            let free = m.asking.is_some_and(|(_, mode)| {
                let mut uses = m.uses.iter();
                !uses.any(|(_, a, _)| a.writes || mode != TableLockMode::Read)
            });
            assert_eq!(
                granted, free,
                "granted where nobody is in the way, and only there"
            );
            if granted {
                m.held.extend(m.asking.take());
            }
        }
        Op::Withdraw => {
            lock.withdraw();
            m.asking = None;
        }
        Op::Release(who) => {
            // As it is given back: the change first.
            let own = m.held.iter().filter(|(o, _)| *o == who);
            if let Some(mode) = own.map(|(_, m)| *m).max() {
                lock.release(Owner(who), mode);
                m.held.retain(|h| *h != (who, mode));
            }
        }
        Op::Claim(who) => {
            let mut claims = None;
            let at = m.claims.iter().position(|(o, _)| *o == who);
            if let Some(at) = at {
                claims = m.claims[at].1.take();
            }
            Claims::renew(&mut claims, Owner(who), global, &[lock]);
            let mut held = m.held.iter();
            let locked = held.any(|(o, mode)| *o != who && *mode == TableLockMode::Write);
            assert_eq!(claims.is_some(), at.is_some() || locked);
            match at {
                Some(at) => m.claims[at].1 = claims,
                None if claims.is_some() => m.claims.push((who, claims)),
                None => {}
            }
        }
        Op::GiveUp(who) => m.claims.retain(|(o, _)| *o != who),
        Op::Watch => {
            let watch = Leaving::begin(lock);
            let over = watch.is_over();
            assert!(!over || m.uses.is_empty(), "over while one is there");
            drop(watch);
        }
    }
    m.steps += 1;
}

proptest! {
    #![proptest_config(base::seeded!())]

    #[test]
    fn a_table_lock_is_what_its_lists_say(ops in prop::collection::vec(op(), 1..120)) {
        let (lock, global) = (Arc::<TableLock>::default(), Arc::<GlobalLock>::default());
        let mut m = Model::default();
        for op in ops {
            apply(&lock, &global, &mut m, op);
            prop_assert_eq!(global.has_claims(), !m.claims.is_empty());
            prop_assert_eq!(lock.is_unclaimed(), m.claims.is_empty());
            prop_assert_eq!(lock.users(), m.uses.len() as i64);
            let readers = m.held.iter().any(|(_, mode)| *mode == TableLockMode::Read);
            let alone = m.held.iter().any(|(_, mode)| *mode != TableLockMode::Read);
            prop_assert!(!(readers && alone), "locked for reading and by one alone");
        }
        for (_, announced, _) in m.uses.drain(..) {
            lock.leave(announced);
        }
        for (who, mode) in m.held.drain(..) {
            lock.release(Owner(who), mode);
        }
        lock.withdraw();
        m.claims.clear();
        prop_assert!(lock.admits(true) && lock.users() == 0, "nothing is left behind");
    }
}

/// Who comes after the wait began is not waited for.
#[test]
fn a_wait_is_for_those_who_were_there() {
    let lock = TableLock::default();
    let first = lock.announce(false);
    let watch = Leaving::begin(&lock);
    assert!(!watch.is_over());
    let second = lock.announce(true);
    assert!(!watch.is_over());
    lock.leave(first);
    assert!(watch.is_over());
    // A wait that begins while another one's users are still there waits for both.
    let later = Leaving::begin(&lock);
    assert!(!later.is_over());
    let third = lock.announce(false);
    lock.leave(second);
    assert!(later.is_over());
    lock.leave(third);
    assert_eq!(lock.users(), 0);
}

/// Threads use a table while others lock it: what is locked for writing has no other user, what is locked for reading no writer, and whoever waits is woken.
#[test]
fn locks_hold_among_threads() {
    let lock = Arc::new(TableLock::default());
    let stop = Arc::new(AtomicBool::new(false));
    let (readers, writers) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let users: Vec<_> = (0..3u64)
        .map(|n| {
            let (lock, stop) = (lock.clone(), stop.clone());
            let (readers, writers) = (readers.clone(), writers.clone());
            std::thread::spawn(move || {
                let mut turns = n;
                while !stop.load(Ordering::Relaxed) {
                    turns += 1;
                    let writes = turns % 3 == 0;
                    let mut u = lock.announce(writes);
                    while !lock.admits(writes) {
                        lock.leave(u);
                        base::block_on(lock.changed.wait_for(|| lock.admits(writes).then_some(())));
                        u = lock.announce(writes);
                    }
                    let here = if writes { &writers } else { &readers };
                    here.fetch_add(1, Ordering::SeqCst);
                    std::hint::spin_loop();
                    here.fetch_sub(1, Ordering::SeqCst);
                    lock.leave(u);
                }
            })
        })
        .collect();
    let lockers: Vec<_> = (10..12u64)
        .map(|who| {
            let (lock, readers, writers) = (lock.clone(), readers.clone(), writers.clone());
            std::thread::spawn(move || {
                for turn in 0..2000 {
                    let mode = match turn % 3 {
                        0 => TableLockMode::Read,
                        1 => TableLockMode::Write,
                        _ => TableLockMode::Change,
                    };
                    let ask =
                        || (lock.ask(Owner(who), mode, Claimed::First) == Asked::Yes).then_some(());
                    base::block_on(lock.changed.wait_for(ask));
                    let grant = || lock.grant(FailedRollbacks::Count).then_some(());
                    base::block_on(lock.changed.wait_for(grant));
                    assert_eq!(writers.load(Ordering::SeqCst), 0);
                    if mode != TableLockMode::Read {
                        assert_eq!(readers.load(Ordering::SeqCst), 0);
                    }
                    drop(TableHold::new(&lock, Owner(who), mode));
                }
            })
        })
        .collect();
    let ended: Vec<_> = lockers.into_iter().map(|t| t.join()).collect();
    stop.store(true, Ordering::Relaxed);
    lock.changed.fire();
    for u in users {
        u.join().unwrap();
    }
    assert!(ended.into_iter().all(|e| e.is_ok()));
    assert!(lock.admits(true) && lock.users() == 0);
}

/// Counts how often somebody was woken.
#[derive(Default)]
struct Rings(std::sync::atomic::AtomicUsize);

impl std::task::Wake for Rings {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Two want to lock a table for reading while it is written: the second, who waits until it may ask, is woken as soon as the first has it.
#[test]
fn who_waits_to_ask_is_woken_when_another_has_what_it_asked_for() {
    let lock = TableLock::default();
    let ask = |who| lock.ask(Owner(who), TableLockMode::Read, Claimed::First);
    let writer = lock.announce(true);
    assert_eq!((ask(1), ask(2)), (Asked::Yes, Asked::Later));
    let rings = Arc::new(Rings::default());
    let waker = std::task::Waker::from(rings.clone());
    lock.changed.park(&std::task::Context::from_waker(&waker));
    lock.leave(writer);
    // It looks, and still is not the one who asks.
    assert_eq!(ask(2), Asked::Later);
    lock.changed.park(&std::task::Context::from_waker(&waker));
    let before = rings.0.load(Ordering::SeqCst);
    assert!(lock.grant(FailedRollbacks::Count));
    assert_eq!(rings.0.load(Ordering::SeqCst), before + 1);
    assert_eq!(ask(2), Asked::Yes);
    assert!(lock.grant(FailedRollbacks::Count));
}

/// The read lock of the server is granted where nothing is being written, and stops what begins.
#[test]
fn the_server_is_locked_between_statements() {
    let global = Arc::new(GlobalLock::default());
    let (a, b) = (Writing::of(&global), Writing::of(&global));
    assert!(a.begin());
    assert!(global.ask());
    assert!(!global.ask(), "one asks at a time");
    assert!(!global.grant(Owner(1)));
    assert!(!b.begin(), "what begins waits for who asks");
    assert!(a.begin(), "what has begun goes on");
    global.withdraw();
    assert!(b.begin());
    // The statement that was there is waited for, not the one that comes.
    let era = global.watch();
    b.end();
    assert!(b.begin());
    assert!(!global.have_ended(era));
    a.end();
    assert!(global.have_ended(era));
    global.unwatch();
    assert!(global.ask());
    drop(b);
    assert!(
        global.grant(Owner(1)),
        "a session that is gone writes nothing"
    );
    assert!(!a.begin());
    assert_eq!(global.hinders_writes(Owner(1)), Some(Hindrance::Own));
    assert_eq!(global.hinders_writes(Owner(2)), Some(Hindrance::Others));
    // Two may have it.
    assert!(global.ask() && global.grant(Owner(2)));
    global.release(Owner(1));
    assert!(!a.begin());
    global.release(Owner(2));
    assert!(a.begin());
}

#[test]
fn a_backup_stops_changes_of_definitions_alone() {
    let global = Arc::new(GlobalLock::default());
    let a = Writing::of(&global);
    global.lock_for_backup(Owner(1));
    assert!(a.begin());
    assert_eq!(
        global.hinders_changes(Owner(1)),
        None,
        "one's own is in nobody's way"
    );
    assert_eq!(global.hinders_changes(Owner(2)), Some(Hindrance::Others));
    global.unlock_for_backup(Owner(1));
    assert_eq!(global.hinders_changes(Owner(2)), None);
}

/// A claim stands from the moment the table is locked until it is given up, through the release; those of one statement have one turn on all tables.
#[test]
fn whoever_has_a_claim_comes_next() {
    let global = Arc::new(GlobalLock::default());
    let tables = [(); 2].map(|()| Arc::new(TableLock::default()));
    let both = || tables.iter().collect::<Vec<_>>();
    let (holder, first, second, user) = (Owner(1), Owner(2), Owner(3), Owner(4));
    let lock = |t: &TableLock| {
        assert_eq!(
            t.ask(holder, TableLockMode::Write, Claimed::First),
            Asked::Yes
        );
        assert!(t.grant(FailedRollbacks::Count));
    };
    let ask = |t: &TableLock, who, claimed| t.ask(who, TableLockMode::Change, claimed);
    lock(&tables[0]);
    let (mut a, mut b) = (None, None);
    Claims::renew(&mut a, first, &global, &both());
    // The other table is locked later, and the second one is there before the first looks again.
    lock(&tables[1]);
    Claims::renew(&mut b, second, &global, &both());
    Claims::renew(&mut a, first, &global, &both());
    assert!(global.has_claims());
    for t in &tables {
        assert!(t.admits_owner(holder, true, false), "its own");
        assert_eq!(ask(t, holder, Claimed::First), Asked::Yes, "its own");
        t.withdraw();
        assert!(
            !t.is_claimed_for(user, |n| n == tables[0].number()),
            "it is locked"
        );
        t.release(holder, TableLockMode::Write);
        assert!(!t.admits(false) && !t.admits_owner(user, false, false));
        assert!(t.is_claimed_for(user, |n| n == tables[0].number()));
        assert!(!t.is_claimed_for(user, |_| false));
        for who in [second, user, holder] {
            assert_eq!(ask(t, who, Claimed::First), Asked::Held);
            assert_eq!(t.ask(who, TableLockMode::Read, Claimed::First), Asked::Held);
        }
        // One who is in the midst of a change.
        assert_eq!(ask(t, user, Claimed::Passed), Asked::Yes);
        t.withdraw();
        assert_eq!(ask(t, first, Claimed::First), Asked::Yes);
        assert!(t.grant(FailedRollbacks::Count));
    }
    drop(a);
    tables
        .iter()
        .for_each(|t| t.release(first, TableLockMode::Change));
    assert_eq!(ask(&tables[0], second, Claimed::First), Asked::Yes);
    tables[0].withdraw();
    // It wants only one of them any more.
    Claims::renew(&mut b, second, &global, &[&tables[1]]);
    assert!(tables[0].admits(true) && !tables[1].admits(false));
    assert!(
        global.ask() && !global.grant(user),
        "the claim passes first"
    );
    drop(b);
    assert!(tables[1].admits(true) && global.grant(user));
    // Nobody else has it locked: there is nothing to claim.
    let mut none = None;
    Claims::renew(&mut none, first, &global, &both());
    lock(&tables[0]);
    Claims::renew(&mut none, holder, &global, &both());
    assert!(none.is_none());
}
