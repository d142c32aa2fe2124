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
        2 => who.prop_map(Op::Release),
        1 => Just(Op::Watch),
    ]
}

/// What the lock is to be, as lists.
#[derive(Default)]
struct Model {
    uses: Vec<(u64, Announced, u64)>,
    held: Vec<(u64, TableLockMode)>,
    asking: Option<(u64, TableLockMode)>,
    steps: u64,
}

impl Model {
    fn held_against(&self, who: u64, mode: TableLockMode) -> bool {
        let shared = |m: TableLockMode| m == TableLockMode::Read && mode == TableLockMode::Read;
        self.held.iter().any(|(o, m)| *o != who && !shared(*m))
    }

    /// Whether somebody who has no part in it may use the table without waiting.
    fn open(&self, writes: bool) -> bool {
        let keeps_off = |m: &TableLockMode| writes || *m != TableLockMode::Read;
        !self.held.iter().any(|(_, m)| keeps_off(m))
            && !self.asking.iter().any(|(_, m)| keeps_off(m))
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
        m.uses.push((who, announced, m.steps));
    } else {
        lock.leave(announced);
    }
}

fn apply(lock: &TableLock, m: &mut Model, op: Op) {
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
            let asked = lock.ask(Owner(who), mode);
            let expected = match (m.held_against(who, mode), m.asking) {
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
        let lock = TableLock::default();
        let mut m = Model::default();
        for op in ops {
            apply(&lock, &mut m, op);
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
                    let ask = || (lock.ask(Owner(who), mode) == Asked::Yes).then_some(());
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
