//! Real threads, and what they were promised: a unique value is there once, a number is given once, what a serializable reader found
//! stays so, and a group of events says of a branch what is so. The simulator has one thread, so that what happens between two instructions does not happen there.

mod branch_groups;
#[path = "suite/followed/mod.rs"]
mod followed;
mod hot;
mod locking;
mod references;
mod world;

use base::mem::{self, MemDisk};
use base::{SplitMix64, block_on};
use engine::*;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use types::{DataType, SqlError, Value, ValueRef};
use world::key;

const THREADS: u64 = 8;

/// `t (id BIGINT AUTO_INCREMENT PRIMARY KEY, u BIGINT UNIQUE)` in an engine of its own.
fn bed() -> Arc<Engine> {
    let options = EngineOptions {
        flush_at_commit: 2,
        ..Default::default()
    };
    let disk = Arc::new(MemDisk::default());
    let e = block_on(Engine::open(
        mem::environment(disk),
        Path::new("/db"),
        options,
    ))
    .unwrap();
    block_on(world::create(&mut e.session(), definition()));
    e
}

fn definition() -> TableDef {
    let mut id = ColumnDef::new("id", DataType::BIGINT);
    id.auto_increment = true;
    let mut u = ColumnDef::new("u", DataType::BIGINT);
    u.nullable = true;
    let indexes = vec![
        world::index("PRIMARY", IndexKind::Primary, &[0]),
        world::index("u", IndexKind::Unique, &[1]),
    ];
    world::table("t", vec![id, u], indexes)
}

fn row(id: i64, u: i64) -> [Value; 2] {
    [Value::Int(id), Value::Int(u)]
}

/// All rows as (id, u), read as the session's isolation reads.
async fn all(s: &mut Session, t: &Arc<Table>) -> Result<Vec<(i64, i64)>, SqlError> {
    let spec = ScanSpec {
        index: 0,
        lower: KeyBound::None,
        upper: KeyBound::None,
        backward: false,
        mode: ReadMode::Consistent,
    };
    let mut scan = s.scan(t, spec);
    let (mut batch, mut out) = (RowBatch::new(), Vec::new());
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut scan, &mut batch, 50, &mut |_| Ok(true))
            .await?;
        for i in 0..batch.len() {
            let int = |c| match batch.row(i).column(c) {
                ValueRef::Int(v) => v,
                _ => -1,
            };
            out.push((int(0), int(1)));
        }
        if !more {
            return Ok(out);
        }
    }
}

/// An engine with the rows 10, 20 and 30, and its table.
fn three() -> (Arc<Engine>, Arc<Table>) {
    let e = bed();
    let mut s = e.session();
    let t = block_on(async {
        let t = s.open_table("s", "t").await.unwrap();
        for id in [10, 20, 30] {
            s.insert(&t, &row(id, id)).await.unwrap();
        }
        s.commit().await.unwrap();
        t
    });
    (e, t)
}

/// The same in all threads, each with a session and chance of its own.
fn threads(e: &Arc<Engine>, name: &str, work: impl Fn(u64, Session, SplitMix64) + Sync) {
    std::thread::scope(|scope| {
        for n in 0..THREADS {
            let (work, s) = (&work, e.session());
            let dice = SplitMix64::new(base::seed::nth(name, n));
            scope.spawn(move || work(n, s, dice));
        }
    });
    let mut s = e.session();
    block_on(async {
        let t = s.open_table("s", "t").await.unwrap();
        assert_eq!(s.check_table(&t).await.unwrap(), Vec::<String>::new());
        s.commit().await.unwrap();
        e.close().await.unwrap();
    });
}

/// Whether the transaction is over for a reason that a client repeats it for.
fn again<T>(r: Result<T, SqlError>, s: &mut Session) -> Option<T> {
    match r {
        Ok(v) => Some(v),
        Err(e) => {
            assert!(matches!(e.code, 1205 | 1213), "{e:?}");
            block_on(s.rollback()).unwrap();
            None
        }
    }
}

/// Rows come with a value, get another, and go. Whoever has a value says so for as long as its row is certainly there.
#[test]
fn a_unique_value_is_there_once() {
    const VALUES: u64 = 6;
    let e = bed();
    let owners: Vec<AtomicI64> = (0..VALUES).map(|_| AtomicI64::new(0)).collect();
    let has = |u: i64| assert_eq!(owners[u as usize].fetch_add(1, Ordering::SeqCst), 0, "{u}");
    let gives_up = |u: i64| assert_eq!(owners[u as usize].fetch_sub(1, Ordering::SeqCst), 1);
    threads(&e, "unique", |n, mut s, mut dice| {
        let mut mine: Option<(i64, i64)> = None;
        for round in 0..4000 {
            let level = [Isolation::ReadCommitted, Isolation::Snapshot][round % 2];
            s.begin(level, false);
            let to = dice.below(VALUES) as i64;
            let t = block_on(s.open_table("s", "t")).unwrap();
            let Some((id, u)) = mine else {
                let id = (round as i64 + 1) * THREADS as i64 + n as i64;
                let r = block_on(s.insert(&t, &row(id, to)));
                if again(r, &mut s) == Some(Inserted::Done) && dice.below(8) > 0 {
                    block_on(s.commit()).unwrap();
                    has(to);
                    mine = Some((id, to));
                } else {
                    block_on(s.rollback()).unwrap();
                }
                continue;
            };
            if dice.below(2) == 0 && u != to {
                let new = row(id, to);
                let r = block_on(s.update_key(&t, &key(&t, id), &mut |_| Ok(Some(new.to_vec()))));
                if again(r, &mut s) == Some(Updated::Done) {
                    gives_up(u);
                    block_on(s.commit()).unwrap();
                    has(to);
                    mine = Some((id, to));
                } else {
                    block_on(s.rollback()).unwrap();
                }
                continue;
            }
            let r = block_on(s.delete_key(&t, &key(&t, id), &mut |_| Ok(true)));
            if again(r, &mut s) == Some(true) {
                gives_up(u);
                block_on(s.commit()).unwrap();
                mine = None;
            }
        }
    });
}

/// All insert the same row, and change it where it is there already, as `INSERT … ON DUPLICATE KEY UPDATE` does. Most meet one that
/// is about to commit. Whoever takes its place for free puts a row over a row.
#[test]
fn a_row_is_inserted_once() {
    const EACH: i64 = 20_000;
    let e = bed();
    let inserted = AtomicI64::new(0);
    let changed = AtomicI64::new(0);
    threads(&e, "one row", |n, mut s, _| {
        // Where more than two want it somebody stands in the queue, and nobody takes it for free.
        for _ in 0..if n < 2 { EACH } else { 0 } {
            let t = block_on(s.open_table("s", "t")).unwrap();
            let k = key(&t, 1);
            let mut add = |r: RowRef<'_>| match r.column(1) {
                ValueRef::Int(u) => Ok(Some(row(1, u + 1).to_vec())),
                _ => Ok(None),
            };
            let done = block_on(async {
                Ok(match s.insert(&t, &row(1, 0)).await? {
                    Inserted::Done => &inserted,
                    Inserted::Duplicate { .. } => {
                        assert_eq!(s.update_key(&t, &k, &mut add).await?, Updated::Done);
                        &changed
                    }
                })
            });
            if let Some(done) = again(done, &mut s) {
                block_on(s.commit()).unwrap();
                done.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    assert_eq!(inserted.into_inner(), 1);
    assert!(changed.into_inner() > 0);
}

/// Few keys, which all insert, look for with a lock, and delete. A row that is there is not inserted a second time, and one that
/// was found and locked is there to be deleted.
#[test]
fn what_is_found_with_a_lock_is_there() {
    const KEYS: u64 = 3;
    let e = bed();
    let owners: Vec<AtomicI64> = (0..KEYS).map(|_| AtomicI64::new(0)).collect();
    let for_update = ReadMode::Lock {
        exclusive: true,
        wait: LockWait::Wait,
    };
    threads(&e, "keys", |_, mut s, mut dice| {
        for round in 0..6000 {
            let locks_first = dice.below(2) == 0;
            let level = [Isolation::ReadCommitted, Isolation::Snapshot][round % 2];
            s.begin(level, false);
            let t = block_on(s.open_table("s", "t")).unwrap();
            let id = dice.below(KEYS);
            let (k, owner) = (key(&t, id as i64), &owners[id as usize]);
            let found = match locks_first {
                false => None,
                true => match again(block_on(s.get(&t, &k, for_update, |r| r.is_some())), &mut s) {
                    None => continue,
                    found => found,
                },
            };
            if found.unwrap_or(dice.below(2) == 0) {
                let r = block_on(s.delete_key(&t, &k, &mut |_| Ok(true)));
                let Some(gone) = again(r, &mut s) else {
                    continue;
                };
                assert!(gone || found.is_none(), "found and locked: {id}");
                if gone {
                    assert_eq!(owner.fetch_sub(1, Ordering::SeqCst), 1, "{id}");
                }
            } else {
                let new = [Value::Int(id as i64), Value::Null];
                let Some(done) = again(block_on(s.insert(&t, &new)), &mut s) else {
                    continue;
                };
                if done == Inserted::Done {
                    // Only who has the row's lock may say this, and not before the other has said that it goes.
                    assert_eq!(owner.fetch_add(1, Ordering::SeqCst), 0, "{id}");
                }
            }
            block_on(s.commit()).unwrap();
        }
    });
}

/// Numbers are taken one at a time and in stretches of up to some thousand; no two are the same and none is left out.
#[test]
fn a_number_is_given_once() {
    let e = bed();
    let given: Mutex<Vec<(u64, u64)>> = Mutex::default();
    threads(&e, "numbers", |_, mut s, mut dice| {
        for _ in 0..1500 {
            s.begin(Isolation::Snapshot, false);
            let t = block_on(s.open_table("s", "t")).unwrap();
            let count = match dice.below(3) {
                0 => 1,
                1 => 1 + dice.below(4),
                _ => 1 + dice.below(3000),
            };
            let first = s.auto_increment(&t, count).unwrap();
            given.lock().unwrap().push((first, first + count));
            // The first and the last of them have rows.
            for id in [first, first + count - 1].into_iter().take(count as usize) {
                let new = [Value::Int(id as i64), Value::Null];
                let r = block_on(s.insert(&t, &new)).unwrap();
                assert_eq!(r, Inserted::Done, "{id} of {first} and {count}");
            }
            match dice.below(4) {
                0 => block_on(s.rollback()).unwrap(),
                _ => block_on(s.commit()).unwrap(),
            }
        }
    });
    let mut given = given.into_inner().unwrap();
    given.sort_unstable();
    let mut next = 1;
    for (first, end) in given {
        assert_eq!(first, next);
        next = end;
    }
}

/// Each transaction reads all rows and goes by what it found: it adds one where there are fewer than three, else it takes one away
/// if there are more than one. No serial run has more than three or none.
#[test]
fn what_a_serializable_reader_found_stays() {
    let e = bed();
    let ids = AtomicI64::new(1);
    let mut s = e.session();
    block_on(async {
        let t = s.open_table("s", "t").await.unwrap();
        s.insert(&t, &row(1, 1)).await.unwrap();
        s.commit().await.unwrap();
    });
    let done = AtomicI64::new(0);
    threads(&e, "readers", |_, mut s, mut dice| {
        for _ in 0..600 {
            s.begin(Isolation::Serializable, false);
            let r = block_on(async {
                let t = s.open_table("s", "t").await?;
                let rows = all(&mut s, &t).await?;
                assert!((1..=3).contains(&rows.len()), "{rows:?}");
                if rows.len() < 3 && dice.below(2) == 0 {
                    // In front of, between and behind those that are there.
                    let n = ids.fetch_add(1, Ordering::Relaxed) + 1;
                    let id = n + 10_000 * dice.below(3) as i64;
                    s.insert(&t, &row(id, n)).await?;
                } else if rows.len() > 1 {
                    let (id, _) = rows[dice.below(rows.len() as u64) as usize];
                    s.delete_key(&t, &key(&t, id), &mut |_| Ok(true)).await?;
                }
                s.commit().await
            });
            done.fetch_add(i64::from(again(r, &mut s).is_some()), Ordering::Relaxed);
        }
    });
    assert!(done.into_inner() > 100, "nearly all have met another");
}
