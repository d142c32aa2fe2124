//! Waits that need each other's ends: frames, row locks and room, in a pool of the smallest size. Whoever waits for something that another
//! has to give must not keep what that other needs.

mod woken;
mod world;

use base::block_on;
use base::mem::{self, MemDisk};
use engine::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use world::{create, def, index, key, open_with, row, table, within};

/// The smallest pool.
const FRAMES: u64 = 64;
/// More than the pool has frames.
const WAITERS: i64 = 100;
/// A row of this many bytes lies whole in its page, and [`APART`] do not fit one.
const WIDE: usize = 3_000;
/// Rows that are so far apart lie on different pages.
const APART: i64 = 6;
/// Rows of a table.
const ROWS: i64 = WAITERS * APART;

const FOR_UPDATE: ReadMode = ReadMode::Lock {
    exclusive: true,
    wait: LockWait::Wait,
};

/// A table whose rows have a page each: the columns that are read do not lie elsewhere.
fn wide(name: &str) -> TableDef {
    let mut columns = def(name).columns;
    columns[2].ty = types::DataType::VarBinary(4_000);
    table(
        name,
        columns,
        vec![index("PRIMARY", IndexKind::Primary, &[0])],
    )
}

async fn filled(s: &mut Session, name: &str, rows: i64) -> Arc<Table> {
    match name {
        "t" => create(s, wide(name)).await,
        _ => s.create_table(wide(name)).await.unwrap(),
    }
    s.begin(Isolation::ReadCommitted, false);
    let t = s.open_table("s", name).await.unwrap();
    for id in 0..rows {
        s.insert(&t, &row(id, 0, 1, WIDE)).await.unwrap();
    }
    s.commit().await.unwrap();
    t
}

/// Reads every row without a lock.
async fn read_all(s: &mut Session, t: &Table, rows: i64) {
    for id in 0..rows {
        let k = key(t, id);
        let there = s.get(t, &k, ReadMode::Consistent, |r| r.is_some());
        assert!(there.await.unwrap());
    }
}

/// A transaction has rows on a hundred pages, which are not in memory any more. Others come for them, find the pages missing, read them, and wait for the locks. The transaction then needs frames to go on.
#[test]
fn who_waits_for_a_row_does_not_keep_its_page_in_memory() {
    within(60, "row locks", || {
        let e = open_with(mem::environment(Arc::new(MemDisk::default())), FRAMES);
        let mut owner = e.session();
        let (t, other) = block_on(async {
            let t = filled(&mut owner, "t", ROWS).await;
            (t, filled(&mut owner, "other", ROWS).await)
        });
        owner.begin(Isolation::ReadCommitted, false);
        block_on(async {
            for id in 0..WAITERS {
                let k = key(&t, id * APART);
                let there = owner.get(&t, &k, FOR_UPDATE, |r| r.is_some());
                assert!(there.await.unwrap());
            }
            read_all(&mut owner, &other, ROWS).await;
        });
        let before = e.counters().row_lock_waits;
        let got = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for id in 0..WAITERS {
                let (e, t, got) = (&e, &t, &got);
                scope.spawn(move || {
                    let mut s = e.session();
                    s.set_lock_wait_timeout(600);
                    s.begin(Isolation::ReadCommitted, false);
                    let k = key(t, id * APART);
                    let there = s.get(t, &k, FOR_UPDATE, |r| r.is_some());
                    assert!(block_on(there).unwrap());
                    block_on(s.commit()).unwrap();
                    got.fetch_add(1, Ordering::SeqCst);
                });
            }
            while e.counters().row_lock_waits < before + WAITERS as u64 {
                std::thread::yield_now();
            }
            block_on(read_all(&mut owner, &other, ROWS));
            block_on(owner.commit()).unwrap();
        });
        assert_eq!(got.into_inner(), WAITERS as usize);
        drop((t, other, owner));
        block_on(e.close()).unwrap();
    });
}

/// Twice as many sessions as there are frames, each of which adds to rows of two tables in one order: everybody comes to his end, and nothing
/// that was added is missing.
#[test]
fn more_transactions_than_frames_come_to_their_ends() {
    const SESSIONS: usize = 128;
    const EACH: usize = 6;
    within(100, "transactions", || {
        let e = open_with(mem::environment(Arc::new(MemDisk::default())), FRAMES);
        let (t, other) = block_on(async {
            let mut s = e.session();
            let t = filled(&mut s, "t", ROWS).await;
            (t, filled(&mut s, "other", ROWS).await)
        });
        let together = Barrier::new(SESSIONS);
        std::thread::scope(|scope| {
            for n in 0..SESSIONS {
                let (e, tables, together) = (&e, [&t, &other], &together);
                scope.spawn(move || {
                    let mut rng = base::SplitMix64::new(base::seed::nth("waits", n as u64));
                    let mut s = e.session();
                    s.set_lock_wait_timeout(600);
                    together.wait();
                    let work = || {
                        for _ in 0..EACH {
                            s.begin(Isolation::ReadCommitted, false);
                            let mut ids = [0, 0].map(|_| rng.below(ROWS as u64) as i64);
                            ids.sort_unstable();
                            for (t, id) in tables.iter().zip(ids) {
                                let mut more = |r: RowRef<'_>| match r.column(1) {
                                    types::ValueRef::Int(v) => Ok(Some(row(id, v + 1, 1, WIDE))),
                                    _ => Ok(None),
                                };
                                let done = block_on(s.update_key(t, &key(t, id), &mut more));
                                assert_eq!(done.unwrap(), Updated::Done);
                            }
                            block_on(s.commit()).unwrap();
                        }
                    };
                    base::perturb::perturbed(n as u64, work);
                });
            }
        });
        let mut s = e.session();
        let mut sum = 0;
        for t in [&t, &other] {
            for id in 0..ROWS {
                let k = key(t, id);
                let v = s.get(t, &k, ReadMode::Consistent, |r| match r?.column(1) {
                    types::ValueRef::Int(v) => Some(v),
                    _ => None,
                });
                sum += block_on(v).unwrap().expect("it is there");
            }
        }
        assert_eq!(sum, 2 * (SESSIONS * EACH) as i64);
        drop((t, other, s));
        block_on(e.close()).unwrap();
    });
}
