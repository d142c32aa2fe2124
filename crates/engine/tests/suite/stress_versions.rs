//! Old versions, definitions that change under old snapshots, recovery beside new statements, and a full disk.

use crate::sim::{Cut, SimDisk, environment, seeded};
use crate::world::*;
use base::block_on;
use engine::*;
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use types::{SqlError, Value, ValueRef};

fn int(r: &RowRef<'_>, c: usize) -> i64 {
    match r.column(c) {
        ValueRef::Int(v) => v,
        v => panic!("{v:?}"),
    }
}

async fn put(s: &mut Session, t: &Arc<Table>, r: Vec<Value>) -> Result<Updated, SqlError> {
    let Value::Int(id) = r[0] else { panic!() };
    s.update_key(t, &key(t, id), &mut |_| Ok(Some(r.clone())))
        .await
}

/// id → (k, first byte and length of b), through an index.
async fn read(
    s: &mut Session,
    t: &Arc<Table>,
    index: usize,
) -> Result<BTreeMap<i64, (i64, u8, usize)>, SqlError> {
    let mut sc = s.scan(
        t,
        ScanSpec {
            index,
            lower: KeyBound::None,
            upper: KeyBound::None,
            backward: false,
            mode: ReadMode::Consistent,
        },
    );
    let (mut out, mut batch) = (BTreeMap::new(), RowBatch::new());
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut sc, &mut batch, 16, &mut |_| Ok(true))
            .await?;
        for i in 0..batch.len() {
            let r = batch.row(i);
            let b = r.column(2).as_bytes().unwrap();
            assert!(b.iter().all(|x| *x == b[0]));
            let v = (int(&r, 1), b.first().copied().unwrap_or(0), b.len());
            assert!(out.insert(int(&r, 0), v).is_none(), "twice");
        }
        if !more {
            return Ok(out);
        }
    }
}

/// A snapshot taken right after the start, and then more log than its files hold.
#[test]
fn a_snapshot_keeps_its_versions_however_much_is_written() {
    within(60, "old snapshot", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 512);
        block_on(fill(&e, 20, 3000));
        block_on(e.close()).unwrap();
        let e = open_with(environment(&disk), 512);
        let mut old = e.session();
        old.begin(Isolation::Snapshot, true);
        let want = block_on(async {
            let t = old.open_table("s", "t").await.unwrap();
            read(&mut old, &t, 0).await.unwrap()
        });
        let mut s = e.session();
        block_on(async {
            for i in 0..8_000i64 {
                let t = s.open_table("s", "t").await.unwrap();
                put(&mut s, &t, row(i % 20, i % 11, i as u8, 3000))
                    .await
                    .unwrap();
                s.commit().await.unwrap();
            }
        });
        assert!(
            e.counters().log_bytes > 45 << 20,
            "{}",
            e.counters().log_bytes
        );
        block_on(async {
            let t = old.open_table("s", "t").await.unwrap();
            for index in [0, 1] {
                assert!(read(&mut old, &t, index).await.unwrap() == want);
            }
            old.commit().await.unwrap();
        });
        sound(&e, "t");
        block_on(e.close()).unwrap();
    });
}

/// An index made after the snapshot was taken knows nothing of older versions.
#[test]
fn a_new_index_is_not_used_by_an_old_snapshot() {
    let disk = SimDisk::new();
    let e = open_with(environment(&disk), 256);
    let mut s = block_on(fill(&e, 30, 10));
    let mut old = e.session();
    block_on(async {
        s.create_table(def("other")).await.unwrap();
        old.begin(Isolation::Snapshot, true);
        let t = old.open_table("s", "other").await.unwrap();
        assert!(read(&mut old, &t, 0).await.unwrap().is_empty());
        let t = s.open_table("s", "t").await.unwrap();
        for id in 0..30 {
            put(&mut s, &t, row(id, id + 100, 2, 10)).await.unwrap();
        }
        s.commit().await.unwrap();
        s.create_index("s", "t", index("k2", IndexKind::Plain, &[1, 0]))
            .await
            .unwrap();
        let t = old.open_table("s", "t").await.unwrap();
        let spec = ScanSpec {
            index: 2,
            lower: KeyBound::Included(key(&t, 100)),
            upper: KeyBound::None,
            backward: false,
            mode: ReadMode::Consistent,
        };
        // By the old values, none of which the index holds.
        let mut sc = old.scan(&t, spec);
        let mut batch = RowBatch::new();
        let all = &mut |_: RowRef<'_>| Ok(true);
        let met = old.next_batch(&mut sc, &mut batch, 16, all).await;
        assert_eq!(met.map_err(|e| e.code), Err(1412));
        assert!(batch.is_empty());
        // By its key the table is as it was.
        assert_eq!(read(&mut old, &t, 0).await.unwrap()[&3].0, 3);
        old.rollback().await.unwrap();
        let t = old.open_table("s", "t").await.unwrap();
        let a = read(&mut old, &t, 0).await.unwrap();
        assert!(a == read(&mut old, &t, 2).await.unwrap() && a[&3] == (103, 2, 10));
        old.commit().await.unwrap();
    });
}

/// Losers of a crash are rolled back in the background: a definition change must not build on what they wrote.
#[test]
fn an_index_made_right_after_a_crash_holds_only_what_committed() {
    for seed in 0..4u64 {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 1024);
        let mut s = block_on(fill(&e, 200, 100));
        block_on(async {
            s.begin(Isolation::ReadCommitted, false);
            let t = s.open_table("s", "t").await.unwrap();
            for id in 0..200 {
                put(&mut s, &t, row(id, id + 1000, 9, 3000)).await.unwrap();
                s.insert(&t, &row(id + 1000, id, 9, 3000)).await.unwrap();
            }
            e.pager()
                .log()
                .wait_durable(e.pager().log().complete())
                .await
                .unwrap();
        });
        let after = disk.cut(Cut::Some(50), &mut seeded(seed));
        drop(s);
        block_on(e.abandon());
        let e = open_with(environment(&after), 64);
        block_on(async {
            let mut s = e.session();
            s.create_index("s", "t", index("k2", IndexKind::Plain, &[1, 0]))
                .await
                .unwrap();
            let t = s.open_table("s", "t").await.unwrap();
            let a = read(&mut s, &t, 0).await.unwrap();
            assert_eq!(a.len(), 200);
            assert!(a == read(&mut s, &t, 2).await.unwrap());
            s.commit().await.unwrap();
        });
        sound(&e, "t");
        block_on(e.close()).unwrap();
    }
}

/// Tables go while purge still has work in them and losers are being rolled back in them.
#[test]
fn dropping_tables_stops_nobody_else() {
    within(60, "drop", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 64);
        let mut s = block_on(fill(&e, 300, 100));
        block_on(async {
            for round in 0..15 {
                let name = format!("d{round}");
                s.create_table(def(&name)).await.unwrap();
                s.begin(Isolation::ReadCommitted, false);
                let d = s.open_table("s", &name).await.unwrap();
                let t = s.open_table("s", "t").await.unwrap();
                for id in 0..150 {
                    s.insert(&d, &row(id, 1, 3, 5000)).await.unwrap();
                }
                s.commit().await.unwrap();
                s.begin(Isolation::ReadCommitted, false);
                let d2 = s.open_table("s", &name).await.unwrap();
                let t2 = s.open_table("s", "t").await.unwrap();
                assert!(Arc::ptr_eq(&d, &d2) && Arc::ptr_eq(&t, &t2));
                // One transaction that leaves purge work in both tables.
                for id in 0..150 {
                    let id2 = round * 20 + id % 20;
                    if id < 20 {
                        assert!(
                            s.delete_key(&t, &key(&t, id2), &mut |_| Ok(true))
                                .await
                                .unwrap()
                        );
                    }
                    assert!(
                        s.delete_key(&d, &key(&d, id), &mut |_| Ok(true))
                            .await
                            .unwrap()
                    );
                }
                s.commit().await.unwrap();
                s.drop_table("s", &name).await.unwrap();
            }
        });
        sound(&e, "t");
        block_on(async {
            let t = s.open_table("s", "t").await.unwrap();
            assert_eq!(entries(&e, &t, 0), 0, "deleted rows that were never purged");
        });
        block_on(e.close()).unwrap();
    });
}

/// The disk is full: statements fail, rollbacks do not, and all goes on when there is room again.
#[test]
fn a_full_disk_stops_nothing_for_good() {
    within(60, "full disk", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 256);
        let mut s = block_on(fill(&e, 50, 500));
        // A snapshot keeps the log from being reused.
        let mut old = e.session();
        old.begin(Isolation::Snapshot, true);
        let want = block_on(async {
            let t = old.open_table("s", "t").await.unwrap();
            read(&mut old, &t, 0).await.unwrap()
        });
        disk.set_room(Some(1 << 20));
        let (mut done, mut failed) = (0, 0);
        block_on(async {
            while failed < 3 {
                s.begin(Isolation::ReadCommitted, false);
                let t = s.open_table("s", "t").await.unwrap();
                let mut r = Ok(());
                for i in 0..20 {
                    s.statement_begin(Isolation::ReadCommitted);
                    let v = row((done + i) % 50, i, done as u8, 3000);
                    if let Err(e) = put(&mut s, &t, v).await {
                        r = Err(e);
                        break;
                    }
                }
                match r {
                    Ok(()) => {
                        s.commit().await.unwrap();
                        done += 1;
                    }
                    Err(x) => {
                        assert!(matches!(x.code, 1114 | 1021), "{x:?}");
                        failed += 1;
                        let left = s.rollback();
                        if failed == 2 {
                            // It may have to wait for room, but not for ever.
                            let (tx, rx) = mpsc::channel();
                            std::thread::scope(|sc| {
                                sc.spawn(|| {
                                    block_on(left).unwrap();
                                    tx.send(()).unwrap();
                                });
                                if rx.recv_timeout(Duration::from_millis(300)).is_err() {
                                    disk.set_room(Some(64 << 20));
                                    // Whoever asks makes the keeper look.
                                    let mut other = e.session();
                                    let _ = block_on(async {
                                        let t = other.open_table("s", "t").await?;
                                        other.insert(&t, &row(5000, 1, 1, 10)).await
                                    });
                                    drop(other);
                                    rx.recv_timeout(Duration::from_secs(20)).expect("rollback");
                                }
                            });
                            disk.set_room(Some(1 << 20));
                        } else {
                            disk.set_room(Some(64 << 20));
                            left.await.unwrap();
                            disk.set_room(Some(1 << 20));
                        }
                    }
                }
                assert!(done < 100_000);
            }
        });
        disk.set_room(None);
        block_on(async {
            let t = old.open_table("s", "t").await.unwrap();
            assert!(read(&mut old, &t, 0).await.unwrap() == want);
            old.commit().await.unwrap();
            let t = s.open_table("s", "t").await.unwrap();
            for id in 0..50 {
                s.statement_begin(Isolation::ReadCommitted);
                put(&mut s, &t, row(id, 5, 5, 50)).await.unwrap();
                s.commit().await.unwrap();
            }
        });
        sound(&e, "t");
        block_on(e.close()).unwrap();
    });
}

/// Entries in an index's tree, marked ones included.
fn entries(e: &Arc<Engine>, t: &Arc<Table>, index: usize) -> usize {
    let tree = &t.indexes[index].tree;
    let count = e.pager().run(|| {
        let mut n = 0;
        let mut pos = btree::ScanPos::start();
        loop {
            let state = tree.scan(&mut pos, btree::Direction::Forward, |_, _| {
                n += 1;
                btree::Visit::Next
            })?;
            if state == btree::ScanState::End {
                return Ok(n);
            }
        }
    });
    block_on(count).unwrap()
}

/// A purge queue so long (an old snapshot stands in its way) that writing it down with each checkpoint would fill the
/// log. It must survive a crash nevertheless, and a clean shutdown.
#[test]
fn a_long_purge_queue_does_not_feed_on_the_log() {
    within(100, "purge queue", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 256);
        e.set_flush_at_commit(0);
        drop(block_on(fill(&e, 50, 10)));
        let mut old = e.session();
        old.begin(Isolation::Snapshot, true);
        block_on(async {
            let t = old.open_table("s", "t").await.unwrap();
            read(&mut old, &t, 0).await.unwrap();
        });
        std::thread::scope(|sc| {
            for w in 0..2i64 {
                let e = &e;
                sc.spawn(move || {
                    let mut s = e.session();
                    block_on(async {
                        for i in 0..LONG {
                            let t = s.open_table("s", "t").await.unwrap();
                            let r = row(w * 25 + i % 25, i, 5, 10);
                            put(&mut s, &t, r).await.unwrap();
                            s.commit().await.unwrap();
                        }
                    });
                });
            }
        });
        assert!(e.counters().purge_queue as i64 > LONG);
        block_on(e.pager().flush_all()).unwrap();
        let before = e.counters().log_bytes;
        block_on(e.pager().flush_all()).unwrap();
        assert!(
            e.counters().log_bytes - before < 100_000,
            "checkpoints that long"
        );
        let crashed = disk.cut(Cut::Some(50), &mut seeded(1));
        drop(old);
        block_on(e.close()).unwrap();
        drop(e);
        for disk in [crashed, disk] {
            let e = open_with(environment(&disk), 256);
            sound(&e, "t");
            let t = e.catalog().table("s", "t").unwrap();
            assert_eq!((entries(&e, &t, 0), entries(&e, &t, 1)), (50, 50));
            block_on(e.close()).unwrap();
        }
    });
}

const LONG: i64 = 10_000;

/// Purge comes upon rows that a running transaction has inserted over the deleted ones it wants to take out. When that one is
/// rolled back they are there again, and purge must come back to them.
#[test]
fn a_deleted_row_that_was_taken_over_and_given_back_is_purged() {
    within(100, "purge", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 256);
        drop(block_on(fill(&e, 20, 10)));
        let (mut old, mut taker, mut s) = (e.session(), e.session(), e.session());
        let t = block_on(async {
            let t = s.open_table("s", "t").await.unwrap();
            old.begin(Isolation::Snapshot, true);
            let seen = old.open_table("s", "t").await.unwrap();
            read(&mut old, &seen, 0).await.unwrap();
            for id in 0..20 {
                let gone = s.delete_key(&t, &key(&t, id), &mut |_| Ok(true)).await;
                assert!(gone.unwrap());
            }
            s.commit().await.unwrap();
            taker.begin(Isolation::ReadCommitted, false);
            let taken = taker.open_table("s", "t").await.unwrap();
            for id in 0..20 {
                let r = taker.insert(&taken, &row(id, id, 7, 10)).await.unwrap();
                assert_eq!(r, Inserted::Done);
            }
            old.commit().await.unwrap();
            t
        });
        // Long enough for purge to have looked at all of them.
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(e.counters().purge_queue, 1, "put off, not forgotten");
        block_on(taker.rollback()).unwrap();
        while e.counters().purge_queue > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!((entries(&e, &t, 0), entries(&e, &t, 1)), (0, 0));
        sound(&e, "t");
        drop((s, taker, old));
        block_on(e.close()).unwrap();
    });
}
