//! REPEATABLE READ as MySQL has it: what locking reads see, lock and guard, and for how long.

mod at_once;
mod kept;
mod memory;

use super::*;

fn updating() -> ReadMode {
    ReadMode::Lock {
        exclusive: true,
        wait: LockWait::Wait,
    }
}

/// A session at REPEATABLE READ that does not wait for locks.
fn begun(e: &Arc<Engine>) -> Session {
    let mut s = e.session();
    s.begin(Isolation::RepeatableRead, false);
    s.set_lock_wait_timeout(0);
    s.statement_begin(Isolation::RepeatableRead);
    s
}

/// What became of a statement of its own that does not wait: an error's number, or 0.
fn tried(e: &Arc<Engine>, f: impl AsyncFnOnce(&mut Session) -> Result<(), SqlError>) -> u16 {
    let mut s = begun(e);
    block_on(async {
        let r = f(&mut s).await;
        s.rollback().await.unwrap();
        r.err().map_or(0, |e| e.code)
    })
}

fn inserted(e: &Arc<Engine>, t: &Arc<Table>, id: i64) -> u16 {
    tried(e, async |s| s.insert(t, &row(id, id)).await.map(|_| ()))
}

fn touched(e: &Arc<Engine>, t: &Arc<Table>, id: i64) -> u16 {
    tried(e, async |s| {
        let change = &mut |_: RowRef<'_>| Ok(Some(row(id, id + 1).to_vec()));
        s.update_key(t, &key(t, id), change).await.map(|_| ())
    })
}

fn spec(index: usize, backward: bool) -> ScanSpec {
    ScanSpec {
        index,
        lower: KeyBound::None,
        upper: KeyBound::None,
        backward,
        mode: updating(),
    }
}

#[test]
fn a_guard_grows_with_its_scan() {
    for (index, backward) in [(0, false), (0, true), (1, false), (1, true)] {
        let (e, t) = three();
        let mut s = begun(&e);
        let mut batch = RowBatch::new();
        let mut scan = s.scan(&t, spec(index, backward));
        let (before, behind) = match backward {
            false => (5, 25),
            true => (35, 15),
        };
        block_on(s.next_batch(&mut scan, &mut batch, 1, &mut |_| Ok(true))).unwrap();
        assert_eq!(inserted(&e, &t, before), 1205, "{index} {backward}");
        assert_eq!(inserted(&e, &t, behind), 0, "{index} {backward}");
        while block_on(s.next_batch(&mut scan, &mut batch, 1, &mut |_| Ok(true))).unwrap() {
            batch.clear();
        }
        for id in [5, 15, 25, 35] {
            assert_eq!(inserted(&e, &t, id), 1205, "{index} {backward} {id}");
        }
        block_on(s.commit()).unwrap();
        assert_eq!(inserted(&e, &t, behind), 0);
        drop(s);
        block_on(e.close()).unwrap();
    }
}

#[test]
fn rows_that_do_not_match_stay_locked() {
    let (e, t) = three();
    let mut s = begun(&e);
    let mut batch = RowBatch::new();
    let mut scan = s.scan(&t, spec(0, false));
    while block_on(s.next_batch(&mut scan, &mut batch, 50, &mut |_| Ok(false))).unwrap() {}
    assert!(batch.is_empty());
    assert_eq!(touched(&e, &t, 20), 1205);
    block_on(s.rollback()).unwrap();
    assert_eq!(touched(&e, &t, 20), 0);
    drop(s);
    block_on(e.close()).unwrap();
}

#[test]
fn what_a_changing_statement_reads_is_the_newest() {
    let (e, t) = three();
    let mut s = begun(&e);
    assert_eq!(block_on(all(&mut s, &t)).unwrap().len(), 3);
    let mut other = e.session();
    block_on(async {
        other
            .delete_key(&t, &key(&t, 10), &mut |_| Ok(true))
            .await
            .unwrap();
        other.commit().await.unwrap();
    });
    assert_eq!(block_on(all(&mut s, &t)).unwrap().len(), 3);
    s.statement_begin(Isolation::RepeatableRead);
    s.statement_writes();
    assert_eq!(block_on(all(&mut s, &t)).unwrap().len(), 2);
    assert_eq!(touched(&e, &t, 20), 1205);
    s.statement_begin(Isolation::RepeatableRead);
    assert_eq!(block_on(all(&mut s, &t)).unwrap().len(), 3);
    block_on(s.rollback()).unwrap();
    drop((s, other));
    block_on(e.close()).unwrap();
}

#[test]
fn a_savepoint_gives_back_a_version_that_the_snapshot_does_not_see() {
    let (e, t) = three();
    let mut s = begun(&e);
    let read = |s: &mut Session| {
        let got = block_on(all(s, &t)).unwrap();
        got[0].1
    };
    assert_eq!(read(&mut s), 10);
    let mut other = e.session();
    let change = async |s: &mut Session, u: i64| {
        let new = &mut |_: RowRef<'_>| Ok(Some(row(10, u).to_vec()));
        s.update_key(&t, &key(&t, 10), new).await.unwrap();
    };
    block_on(async {
        change(&mut other, 11).await;
        other.commit().await.unwrap();
        s.savepoint("p");
        change(&mut s, 12).await;
    });
    assert_eq!(read(&mut s), 12);
    block_on(s.rollback_to("p")).unwrap();
    assert_eq!(read(&mut s), 10);
    block_on(s.commit()).unwrap();
    assert_eq!(read(&mut s), 11);
    drop((s, other));
    block_on(e.close()).unwrap();
}

/// One inserts, a second waits and is told of the duplicate. A third is told so too, and does not wait for the second.
#[test]
fn who_is_told_of_a_duplicate_keeps_no_claim() {
    for second in [(5, 50), (6, 5)] {
        let (e, t) = three();
        let (mut a, mut b) = (begun(&e), begun(&e));
        b.set_lock_wait_timeout(60);
        block_on(a.insert(&t, &row(5, 5))).unwrap();
        std::thread::scope(|scope| {
            let t = &t;
            let loser = scope.spawn(move || {
                let r = block_on(b.insert(t, &row(second.0, second.1))).unwrap();
                assert!(matches!(r, Inserted::Duplicate { .. }));
                b
            });
            while e.counters().row_lock_waits == 0 {
                std::thread::yield_now();
            }
            block_on(a.commit()).unwrap();
            let mut b = loser.join().unwrap();
            let mut c = begun(&e);
            let values = row(second.0, second.1);
            let r = block_on(c.insert(t, &values)).unwrap();
            let Inserted::Duplicate { index, key } = r else {
                panic!("the row is there");
            };
            // Both share the row that they were told of.
            for s in [&mut b, &mut c] {
                assert!(block_on(s.lock_duplicate(t, index, &key, &values)).unwrap());
            }
            block_on(c.rollback()).unwrap();
        });
        drop(a);
        block_on(e.close()).unwrap();
    }
}

/// As for serializable readers, with locking reads: each reads all rows and goes by what it found.
#[test]
fn what_a_locking_reader_found_stays() {
    let (e, _) = three();
    let ids = AtomicI64::new(100);
    let done = AtomicI64::new(0);
    threads(&e, "lockers", |_, mut s, mut dice| {
        for _ in 0..600 {
            s.begin(Isolation::RepeatableRead, false);
            s.statement_begin(Isolation::RepeatableRead);
            let backward = dice.below(2) == 0;
            let r = block_on(async {
                let t = s.open_table("s", "t").await?;
                let mut found = Vec::new();
                let mut batch = RowBatch::new();
                let mut scan = s.scan(&t, spec(0, backward));
                loop {
                    batch.clear();
                    let more = s
                        .next_batch(&mut scan, &mut batch, 2, &mut |_| Ok(true))
                        .await?;
                    found.extend((0..batch.len()).map(|i| match batch.row(i).column(0) {
                        ValueRef::Int(id) => id,
                        _ => -1,
                    }));
                    if !more {
                        break;
                    }
                }
                assert!((1..=3).contains(&found.len()), "{found:?}");
                if found.len() < 3 && dice.below(2) == 0 {
                    let n = ids.fetch_add(1, Ordering::Relaxed) + 1;
                    let id = n + 10_000 * dice.below(3) as i64;
                    s.insert(&t, &row(id, n)).await?;
                } else if found.len() > 1 {
                    let id = found[dice.below(found.len() as u64) as usize];
                    s.delete_key(&t, &key(&t, id), &mut |_| Ok(true)).await?;
                }
                s.commit().await
            });
            done.fetch_add(i64::from(again(r, &mut s).is_some()), Ordering::Relaxed);
        }
    });
    assert!(done.into_inner() > 100, "nearly all have met another");
}

#[test]
fn what_is_undone_stays_locked_while_the_transaction_goes_on() {
    for whole_statement in [false, true] {
        let (e, t) = three();
        let mut s = begun(&e);
        block_on(async {
            s.savepoint("p");
            let change = &mut |_: RowRef<'_>| Ok(Some(row(10, 11).to_vec()));
            s.update_key(&t, &key(&t, 10), change).await.unwrap();
            s.update_key(&t, &key(&t, 10), &mut |_| Ok(Some(row(10, 12).to_vec())))
                .await
                .unwrap();
            s.delete_key(&t, &key(&t, 20), &mut |_| Ok(true))
                .await
                .unwrap();
            match whole_statement {
                false => s.rollback_to("p").await.unwrap(),
                true => s.statement_rollback().await.unwrap(),
            }
        });
        // The statements have said that the rows are there.
        assert_eq!(touched(&e, &t, 10), 1205, "{whole_statement}");
        assert_eq!(touched(&e, &t, 20), 1205, "{whole_statement}");
        assert_eq!(touched(&e, &t, 30), 0, "{whole_statement}");
        block_on(s.commit()).unwrap();
        assert_eq!(touched(&e, &t, 10), 0, "{whole_statement}");
        assert_eq!(touched(&e, &t, 20), 0, "{whole_statement}");
        let c = e.counters();
        assert_eq!((c.locks, c.lock_bytes), (0, 0));
        drop(s);
        block_on(e.close()).unwrap();
    }
}

#[test]
fn a_row_that_was_inserted_and_is_undone_is_free() {
    let (e, t) = three();
    let mut s = begun(&e);
    block_on(async {
        s.savepoint("p");
        s.insert(&t, &row(15, 15)).await.unwrap();
        s.rollback_to("p").await.unwrap();
    });
    let another = tried(&e, async |s| s.insert(&t, &row(15, 16)).await.map(|_| ()));
    assert_eq!((another, inserted(&e, &t, 15)), (0, 0));
    block_on(s.rollback()).unwrap();
    drop(s);
    block_on(e.close()).unwrap();
}
