//! Rows that a statement has looked at for change, and left: they stay locked. What an undone insert claimed is free again.

use super::*;
use std::thread;
use std::time::{Duration, Instant};
use world::pager_options;

const LEVELS: [Isolation; 4] = [
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Snapshot,
    Isolation::Serializable,
];

fn begun_at(e: &Arc<Engine>, isolation: Isolation) -> Session {
    let mut s = e.session();
    s.begin(isolation, false);
    s.set_lock_wait_timeout(0);
    s.statement_begin(isolation);
    s
}

fn refused() -> SqlError {
    SqlError::lock_nowait()
}

/// What a look does, and whether the row stays locked at READ COMMITTED; above it always does.
type Look = (&'static str, bool, fn(&mut Session, &Arc<Table>));

const LOOKS: &[Look] = &[
    ("update_key leaves it", true, |s, t| {
        let r = block_on(s.update_key(t, &key(t, 10), &mut |_| Ok(None)));
        assert_eq!(r.unwrap(), Updated::Unchanged);
    }),
    ("update_key writes the same", true, |s, t| {
        let same = &mut |_: RowRef<'_>| Ok(Some(row(10, 10).to_vec()));
        let r = block_on(s.update_key(t, &key(t, 10), same));
        assert_eq!(r.unwrap(), Updated::Unchanged);
    }),
    ("update_key fails", true, |s, t| {
        let r = block_on(s.update_key(t, &key(t, 10), &mut |_| Err(refused())));
        assert_eq!(r.unwrap_err(), refused());
    }),
    ("update_key meets another", true, |s, t| {
        let taken = &mut |_: RowRef<'_>| Ok(Some(row(10, 20).to_vec()));
        let r = block_on(s.update_key(t, &key(t, 10), taken));
        assert!(matches!(r, Ok(Updated::Duplicate { index: 1, .. })));
    }),
    ("change_key passes it", false, |s, t| {
        let r = block_on(s.change_key(t, &key(t, 10), &mut |_| Ok(RowRequest::Skip)));
        assert_eq!(r.unwrap(), Updated::Unchanged);
    }),
    ("change_key leaves it", true, |s, t| {
        let r = block_on(s.change_key(t, &key(t, 10), &mut |_| Ok(RowRequest::Keep)));
        assert_eq!(r.unwrap(), Updated::Unchanged);
    }),
    ("update_key_now passes it", false, |s, t| {
        let r = s.update_key_now(t, &key(t, 10), &mut |_| Ok(RowRequest::Skip));
        assert_eq!(r, Some(Updated::Unchanged));
    }),
    ("update_key_now leaves it", true, |s, t| {
        let r = s.update_key_now(t, &key(t, 10), &mut |_| Ok(RowRequest::Keep));
        assert_eq!(r, Some(Updated::Unchanged));
    }),
    ("update_key_now fails", true, |s, t| {
        let r = s.update_key_now(t, &key(t, 10), &mut |_| Err(refused()));
        assert_eq!(r, None);
    }),
    ("delete_key leaves it", true, |s, t| {
        let r = block_on(s.delete_key(t, &key(t, 10), &mut |_| Ok(false)));
        assert!(!r.unwrap());
    }),
    ("remove_key passes it", false, |s, t| {
        let r = block_on(s.remove_key(t, &key(t, 10), &mut |_| Ok(RowRequest::Skip)));
        assert!(!r.unwrap());
    }),
    ("remove_key leaves it", true, |s, t| {
        let r = block_on(s.remove_key(t, &key(t, 10), &mut |_| Ok(RowRequest::Keep)));
        assert!(!r.unwrap());
    }),
    ("remove_key fails", true, |s, t| {
        let r = block_on(s.remove_key(t, &key(t, 10), &mut |_| Err(refused())));
        assert_eq!(r.unwrap_err(), refused());
    }),
    ("gathered and left", true, |s, t| {
        let mut batch = RowBatch::new();
        let mut scan = s.scan(
            t,
            ScanSpec {
                mode: ReadMode::Gathered,
                ..spec(0, false)
            },
        );
        let mut one = |r: RowRef<'_>| Ok(matches!(r.column(0), ValueRef::Int(10)));
        while block_on(s.next_batch(&mut scan, &mut batch, 50, &mut one)).unwrap() {}
        assert_eq!(batch.len(), 1);
    }),
    ("seen and left", true, |s, t| {
        let mut batch = RowBatch::new();
        let mut scan = s.scan(
            t,
            ScanSpec {
                mode: ReadMode::Current,
                ..spec(0, false)
            },
        );
        let mut one = |r: RowRef<'_>| Ok(matches!(r.column(0), ValueRef::Int(10)));
        while block_on(s.next_batch(&mut scan, &mut batch, 50, &mut one)).unwrap() {}
        let seen = block_on(s.lock_seen(t, batch.key(0), batch.version(0)));
        assert!(seen.unwrap());
    }),
];

#[test]
fn a_row_that_was_looked_at_for_change_stays_locked() {
    let (e, t) = three();
    for (what, always, look) in LOOKS {
        for isolation in LEVELS {
            for undone in [false, true] {
                let mut s = begun_at(&e, isolation);
                s.savepoint("p");
                look(&mut s, &t);
                if undone {
                    block_on(s.rollback_to("p")).unwrap();
                }
                let held = *always || isolation > Isolation::ReadCommitted;
                let want = if held { 1205 } else { 0 };
                let at = format!("{what}, {isolation:?}, {undone}");
                assert_eq!(touched(&e, &t, 10), want, "{at}");
                block_on(s.rollback()).unwrap();
                assert_eq!(touched(&e, &t, 10), 0, "{at}");
            }
        }
    }
    block_on(e.close()).unwrap();
}

#[test]
fn a_row_that_has_changed_since_it_was_seen_is_not_taken_for_it() {
    let (e, t) = three();
    let mut s = begun_at(&e, Isolation::ReadCommitted);
    let mut batch = RowBatch::new();
    let current = ScanSpec {
        mode: ReadMode::Current,
        ..spec(0, false)
    };
    let mut scan = s.scan(&t, current);
    while block_on(s.next_batch(&mut scan, &mut batch, 50, &mut |_| Ok(true))).unwrap() {}
    let mut other = begun(&e);
    let change = &mut |_: RowRef<'_>| Ok(Some(row(10, 11).to_vec()));
    block_on(other.update_key(&t, &key(&t, 10), change)).unwrap();
    block_on(other.commit()).unwrap();
    let seen = block_on(s.lock_seen(&t, batch.key(0), batch.version(0)));
    assert!(!seen.unwrap());
    assert!(block_on(s.lock_seen(&t, batch.key(1), batch.version(1))).unwrap());
    block_on(s.rollback()).unwrap();
    drop((s, other));
    block_on(e.close()).unwrap();
}

/// A lone statement ends with its look, and has no use for a lock.
#[test]
fn a_lone_statement_leaves_nothing_locked() {
    let (e, t) = three();
    let mut s = e.session();
    s.statement_begin(Isolation::RepeatableRead);
    let r = s.update_key_now(&t, &key(&t, 10), &mut |_| Ok(RowRequest::Keep));
    assert_eq!(r, Some(Updated::Unchanged));
    assert_eq!(touched(&e, &t, 10), 0);
    block_on(s.commit()).unwrap();
    drop(s);
    block_on(e.close()).unwrap();
}

#[test]
fn rows_that_are_touched_need_no_room() {
    const ROWS: i64 = 30_000;
    let options = EngineOptions {
        pager: pager_options(256),
        flush_at_commit: 2,
        ..Default::default()
    };
    let environment = mem::environment(Arc::new(MemDisk::default()));
    let e = block_on(Engine::open(environment, Path::new("/db"), options)).unwrap();
    block_on(world::create(&mut e.session(), definition()));
    let mut s = e.session();
    let t = block_on(async {
        let t = s.open_table("s", "t").await.unwrap();
        for id in 0..ROWS {
            s.insert(&t, &row(id, id)).await.unwrap();
            if id % 1000 == 999 {
                s.commit().await.unwrap();
            }
        }
        s.commit().await.unwrap();
        t
    });
    let mut s = begun_at(&e, Isolation::ReadCommitted);
    block_on(async {
        for id in 0..ROWS {
            let r = s.update_key(&t, &key(&t, id), &mut |_| Ok(None)).await;
            assert_eq!(r.unwrap(), Updated::Unchanged, "{id}");
        }
    });
    // The least limit is 4 MiB.
    assert!(e.counters().lock_bytes < (4 << 20) * 5 / 8);
    for id in [0, 5, ROWS / 2, ROWS - 1] {
        assert_eq!(touched(&e, &t, id), 1205, "{id}");
    }
    block_on(s.commit()).unwrap();
    let rows = block_on(all(&mut s, &t)).unwrap();
    assert!(rows.iter().all(|(id, u)| id == u) && rows.len() as i64 == ROWS);
    block_on(s.commit()).unwrap();
    assert_eq!(touched(&e, &t, 5), 0);
    drop(s);
    block_on(e.close()).unwrap();
}

#[test]
fn values_of_an_undone_insert_are_free_again() {
    for revived in [false, true] {
        let (e, t) = three();
        let mut s = begun(&e);
        let (id, u) = if revived { (10, 10) } else { (40, 40) };
        block_on(async {
            if revived {
                s.delete_key(&t, &key(&t, 10), &mut |_| Ok(true))
                    .await
                    .unwrap();
                s.commit().await.unwrap();
                s = begun(&e);
            }
            s.savepoint("p");
            s.insert(&t, &row(id, u)).await.unwrap();
        });
        let value = || tried(&e, async |s| s.insert(&t, &row(50, u)).await.map(|_| ()));
        assert_eq!((inserted(&e, &t, id), value()), (1205, 1205), "{revived}");
        block_on(s.rollback_to("p")).unwrap();
        assert_eq!((inserted(&e, &t, id), value()), (0, 0), "{revived}");
        block_on(s.rollback()).unwrap();
        drop(s);
        block_on(e.close()).unwrap();
    }
}

/// A value that the transaction has given up itself is still its own.
#[test]
fn a_value_that_was_there_before_the_savepoint_stays_claimed() {
    let (e, t) = three();
    let mut s = begun(&e);
    block_on(async {
        s.delete_key(&t, &key(&t, 10), &mut |_| Ok(true))
            .await
            .unwrap();
        s.savepoint("p");
        s.insert(&t, &row(40, 10)).await.unwrap();
        s.rollback_to("p").await.unwrap();
    });
    let value = tried(&e, async |s| s.insert(&t, &row(50, 10)).await.map(|_| ()));
    assert_eq!(value, 1205);
    assert_eq!(inserted(&e, &t, 40), 0);
    block_on(s.rollback()).unwrap();
    drop(s);
    block_on(e.close()).unwrap();
}

/// The place of a row that was looked for and not found stays locked where an insert into it is undone.
#[test]
fn an_absent_place_stays_locked() {
    let (e, t) = three();
    let mut s = begun(&e);
    block_on(async {
        let gone = s.delete_key(&t, &key(&t, 40), &mut |_| Ok(true)).await;
        assert!(!gone.unwrap());
        s.savepoint("p");
        s.insert(&t, &row(40, 40)).await.unwrap();
        s.rollback_to("p").await.unwrap();
    });
    assert_eq!(inserted(&e, &t, 40), 1205);
    block_on(s.rollback()).unwrap();
    drop(s);
    block_on(e.close()).unwrap();
}

/// Who waits for a row that was inserted goes on when the insert is undone.
#[test]
fn who_waits_for_an_undone_insert_goes_on() {
    for (id, u) in [(40, 41), (41, 40)] {
        let (e, t) = three();
        let mut s = begun(&e);
        s.savepoint("p");
        block_on(s.insert(&t, &row(40, 40))).unwrap();
        let (waits, there) = (e.clone(), t.clone());
        let waiting = thread::spawn(move || {
            let mut s = begun(&waits);
            s.set_lock_wait_timeout(30);
            let r = block_on(s.insert(&there, &row(id, u)));
            block_on(s.rollback()).unwrap();
            r
        });
        let end = Instant::now() + Duration::from_secs(20);
        while e.counters().row_lock_waits == 0 {
            assert!(Instant::now() < end, "it does not wait");
            thread::sleep(Duration::from_millis(1));
        }
        block_on(s.rollback_to("p")).unwrap();
        while !waiting.is_finished() {
            assert!(Instant::now() < end, "{id} {u} still waits");
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(waiting.join().unwrap().unwrap(), Inserted::Done);
        block_on(s.rollback()).unwrap();
        drop(s);
        block_on(e.close()).unwrap();
    }
}
