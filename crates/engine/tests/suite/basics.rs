//! The engine end to end on the in-memory disk: reads and writes, versions, locks, rollback, crash and recovery.

use crate::world::{create, index, key, pager_options, table};
use base::block_on;
use base::mem::{self, MemDisk};
use engine::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use types::{CollationId, DataType, LobSize, Value};

fn options(pool_mib: u64) -> EngineOptions {
    EngineOptions {
        pager: pager_options(pool_mib << 6),
        ..EngineOptions::default()
    }
}

fn open(disk: &Arc<MemDisk>) -> Arc<Engine> {
    block_on(Engine::open(
        mem::environment(disk.clone()),
        Path::new("/db"),
        options(16),
    ))
    .expect("open")
}

fn column(name: &str, ty: DataType) -> ColumnDef {
    ColumnDef {
        nullable: true,
        default: ColumnDefault::Null,
        ..ColumnDef::new(name, ty)
    }
}

fn def(name: &str) -> TableDef {
    let mut id = column("id", DataType::INT);
    id.nullable = false;
    let columns = vec![
        id,
        column("k", DataType::INT),
        column("c", DataType::varchar(120, CollationId::DEFAULT)),
        column("b", DataType::Blob(LobSize::Long)),
    ];
    let indexes = vec![
        index("PRIMARY", IndexKind::Primary, &[0]),
        index("k", IndexKind::Plain, &[1]),
    ];
    table(name, columns, indexes)
}

fn row(id: i64, k: i64, c: &str) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(k), Value::text(c), Value::Null]
}

fn setup(disk: &Arc<MemDisk>) -> (Arc<Engine>, Session, Arc<Table>) {
    let e = open(disk);
    let mut s = e.session();
    block_on(create(&mut s, def("t")));
    let t = e.catalog().table("s", "t").unwrap();
    (e, s, t)
}

async fn open_table(s: &mut Session) -> Arc<Table> {
    s.open_table("s", "t").await.unwrap()
}

async fn read(s: &mut Session, t: &Arc<Table>, id: i64) -> Option<(i64, String)> {
    s.get(t, &key(t, id), ReadMode::Consistent, |r| {
        r.map(|r| {
            let types::ValueRef::Int(k) = r.column(1) else {
                panic!()
            };
            (
                k,
                String::from_utf8_lossy(r.column(2).as_bytes().unwrap()).into_owned(),
            )
        })
    })
    .await
    .unwrap()
}

async fn scan(s: &mut Session, t: &Arc<Table>, index: usize, mode: ReadMode) -> Vec<(i64, i64)> {
    let mut sc = s.scan(
        t,
        ScanSpec {
            index,
            lower: KeyBound::None,
            upper: KeyBound::None,
            backward: false,
            mode,
        },
    );
    let mut batch = RowBatch::new();
    let mut out = vec![];
    loop {
        batch.clear();
        let more = s
            .next_batch(&mut sc, &mut batch, 50, &mut |_| Ok(true))
            .await
            .unwrap();
        for i in 0..batch.len() {
            let (types::ValueRef::Int(a), types::ValueRef::Int(b)) =
                (batch.row(i).column(0), batch.row(i).column(1))
            else {
                panic!()
            };
            out.push((a, b));
        }
        if !more {
            return out;
        }
    }
}

async fn set(
    s: &mut Session,
    t: &Arc<Table>,
    id: i64,
    k: i64,
    c: &str,
) -> Result<Updated, types::SqlError> {
    let k2 = key(t, id);
    let v = row(id, k, c);
    s.update_key(t, &k2, &mut |_| Ok(Some(v.clone()))).await
}

#[test]
fn a_transaction_sees_itself_others_see_it_after_commit_and_snapshots_never() {
    let disk = Arc::new(MemDisk::default());
    let (e, mut a, _) = setup(&disk);
    block_on(async {
        let t = open_table(&mut a).await;
        a.statement_begin(Isolation::Snapshot);
        for i in 0..100 {
            assert_eq!(
                a.insert(&t, &row(i, i % 10, "one")).await.unwrap(),
                Inserted::Done
            );
        }
        a.commit().await.unwrap();
        let mut b = e.session();
        b.begin(Isolation::Snapshot, false);
        let tb = open_table(&mut b).await;
        assert_eq!(read(&mut b, &tb, 5).await, Some((5, "one".into())));
        // a changes, deletes and inserts.
        a.begin(Isolation::Snapshot, false);
        let t = open_table(&mut a).await;
        assert_eq!(
            set(&mut a, &t, 5, 55, "a much longer value than it was")
                .await
                .unwrap(),
            Updated::Done
        );
        assert!(
            a.delete_key(&t, &key(&t, 6), &mut |_| Ok(true))
                .await
                .unwrap()
        );
        a.insert(&t, &row(1000, 3, "new")).await.unwrap();
        assert_eq!(
            read(&mut a, &t, 5).await,
            Some((55, "a much longer value than it was".into()))
        );
        assert_eq!(read(&mut a, &t, 6).await, None);
        assert_eq!(read(&mut b, &tb, 5).await, Some((5, "one".into())));
        a.commit().await.unwrap();
        assert_eq!(read(&mut b, &tb, 5).await, Some((5, "one".into())));
        assert_eq!(read(&mut b, &tb, 6).await, Some((6, "one".into())));
        assert_eq!(read(&mut b, &tb, 1000).await, None);
        let by_id = scan(&mut b, &tb, 0, ReadMode::Consistent).await;
        assert_eq!(by_id.len(), 100);
        let by_k = scan(&mut b, &tb, 1, ReadMode::Consistent).await;
        assert_eq!(
            by_k.len(),
            100,
            "the old snapshot through the secondary index"
        );
        assert!(by_k.windows(2).all(|w| w[0].1 <= w[1].1));
        // A write to what changed is refused and ends the transaction.
        let err = set(&mut b, &tb, 5, 1, "x").await.unwrap_err();
        assert_eq!(err.code, 1213);
        assert!(!b.in_transaction());
        b.statement_begin(Isolation::Snapshot);
        let tb = open_table(&mut b).await;
        assert_eq!(read(&mut b, &tb, 5).await.unwrap().0, 55);
        assert_eq!(scan(&mut b, &tb, 1, ReadMode::Consistent).await.len(), 100);
        b.commit().await.unwrap();
    });
}

#[test]
fn duplicates_are_found_and_change_nothing() {
    let disk = Arc::new(MemDisk::default());
    let (_e, mut a, _) = setup(&disk);
    block_on(async {
        a.create_index("s", "t", index("u", IndexKind::Unique, &[2]))
            .await
            .unwrap();
        a.begin(Isolation::Snapshot, false);
        let t = open_table(&mut a).await;
        a.insert(&t, &row(1, 1, "x")).await.unwrap();
        assert_eq!(
            a.insert(&t, &row(1, 2, "y")).await.unwrap(),
            Inserted::Duplicate {
                index: 0,
                key: key(&t, 1)
            }
        );
        assert_eq!(
            a.insert(&t, &row(2, 2, "X")).await.unwrap(),
            Inserted::Duplicate {
                index: 2,
                key: key(&t, 1)
            }
        );
        assert_eq!(read(&mut a, &t, 2).await, None);
        a.insert(&t, &row(3, 2, "z")).await.unwrap();
        assert!(matches!(
            set(&mut a, &t, 3, 2, "x").await.unwrap(),
            Updated::Duplicate { index: 2, .. }
        ));
        assert_eq!(read(&mut a, &t, 3).await, Some((2, "z".into())));
        assert!(
            a.delete_key(&t, &key(&t, 1), &mut |_| Ok(true))
                .await
                .unwrap()
        );
        assert_eq!(a.insert(&t, &row(1, 7, "x")).await.unwrap(), Inserted::Done);
        a.commit().await.unwrap();
        let t = open_table(&mut a).await;
        assert_eq!(a.check_table(&t).await.unwrap(), Vec::<String>::new());
        assert_eq!(
            a.create_index("s", "t", index("k2", IndexKind::Unique, &[1]))
                .await
                .map_err(|e| e.code),
            Ok(())
        );
    });
}

#[test]
fn rollback_savepoints_and_long_rows() {
    let disk = Arc::new(MemDisk::default());
    let (e, mut a, _) = setup(&disk);
    block_on(async {
        let long = |n: usize, x: u8| {
            vec![
                Value::Int(1),
                Value::Int(1),
                Value::text("long"),
                Value::Bytes(vec![x; n]),
            ]
        };
        a.begin(Isolation::Snapshot, false);
        let t = open_table(&mut a).await;
        a.insert(&t, &long(100_000, 7)).await.unwrap();
        a.insert(&t, &row(2, 2, "two")).await.unwrap();
        a.commit().await.unwrap();
        a.begin(Isolation::Snapshot, false);
        let t = open_table(&mut a).await;
        let blob = |s: &'static str| {
            move |r: Option<RowRef<'_>>| {
                r.map(|r| r.column(3).as_bytes().map(|b| (b.len(), b[0])))
                    .expect(s)
            }
        };
        let k1 = key(&t, 1);
        let v = long(200_000, 9);
        a.savepoint("p");
        assert_eq!(
            a.update_key(&t, &k1, &mut |_| Ok(Some(v.clone())))
                .await
                .unwrap(),
            Updated::Done
        );
        assert_eq!(
            a.get(&t, &k1, ReadMode::Consistent, blob("new"))
                .await
                .unwrap(),
            Some((200_000, 9))
        );
        let mut b = e.session();
        b.statement_begin(Isolation::Snapshot);
        assert_eq!(
            b.get(&t, &k1, ReadMode::Consistent, blob("old"))
                .await
                .unwrap(),
            Some((100_000, 7))
        );
        b.commit().await.unwrap();
        a.rollback_to("p").await.unwrap();
        assert_eq!(
            a.get(&t, &k1, ReadMode::Consistent, blob("back"))
                .await
                .unwrap(),
            Some((100_000, 7))
        );
        set(&mut a, &t, 2, 22, "changed").await.unwrap();
        a.insert(&t, &row(3, 3, "three")).await.unwrap();
        assert!(a.delete_key(&t, &k1, &mut |_| Ok(true)).await.unwrap());
        a.rollback().await.unwrap();
        a.begin(Isolation::Snapshot, false);
        let t = open_table(&mut a).await;
        assert_eq!(
            scan(&mut a, &t, 1, ReadMode::Consistent).await,
            [(1, 1), (2, 2)]
        );
        assert_eq!(a.check_table(&t).await.unwrap(), Vec::<String>::new());
        // Deleted for good: purge gives the pages back.
        assert!(a.delete_key(&t, &k1, &mut |_| Ok(true)).await.unwrap());
        a.commit().await.unwrap();
        for _ in 0..10_000 {
            if e.counters().purge_queue == 0 {
                break;
            }
            std::thread::yield_now();
        }
        e.close().await.unwrap();
    });
    let e = open(&disk);
    let mut a = e.session();
    block_on(async {
        let t = open_table(&mut a).await;
        assert_eq!(scan(&mut a, &t, 1, ReadMode::Consistent).await, [(2, 2)]);
        a.commit().await.unwrap();
        for _ in 0..100_000 {
            if e.counters().purge_queue == 0 {
                break;
            }
            std::thread::yield_now();
        }
        let t = open_table(&mut a).await;
        assert_eq!(a.check_table(&t).await.unwrap(), Vec::<String>::new());
    });
}

#[test]
fn a_waiting_writer_goes_on_after_commit_and_a_deadlock_ends_one() {
    let disk = Arc::new(MemDisk::default());
    let (e, mut a, _) = setup(&disk);
    block_on(async {
        let t = open_table(&mut a).await;
        for i in 0..10 {
            a.insert(&t, &row(i, 0, "v")).await.unwrap();
        }
        a.commit().await.unwrap();
    });
    let threads = 8;
    let per = 200;
    std::thread::scope(|sc| {
        for w in 0..threads {
            let e = e.clone();
            sc.spawn(move || {
                block_on(async {
                    let mut s = e.session();
                    let mut done = 0;
                    while done < per {
                        s.begin(Isolation::ReadCommitted, false);
                        let t = open_table(&mut s).await;
                        // Two rows in an order that differs between threads: deadlocks must happen and be resolved.
                        let (x, y) = if (w + done) % 2 == 0 { (1, 2) } else { (2, 1) };
                        let mut ok = true;
                        for id in [x, y] {
                            let k = key(&t, id);
                            let r = s
                                .update_key(&t, &k, &mut |r| {
                                    let types::ValueRef::Int(k) = r.column(1) else {
                                        panic!()
                                    };
                                    Ok(Some(row(id, k + 1, "v")))
                                })
                                .await;
                            match r {
                                Ok(u) => assert_eq!(u, Updated::Done),
                                Err(e) => {
                                    assert_eq!(e.code, 1213, "{e}");
                                    ok = false;
                                    break;
                                }
                            }
                        }
                        if ok {
                            s.commit().await.unwrap();
                            done += 1;
                        }
                    }
                })
            });
        }
    });
    block_on(async {
        let t = open_table(&mut a).await;
        let n = (threads * per) as i64;
        assert_eq!(read(&mut a, &t, 1).await.unwrap().0, n);
        assert_eq!(read(&mut a, &t, 2).await.unwrap().0, n);
        a.commit().await.unwrap();
    });
}

#[test]
fn what_was_committed_survives_and_what_was_not_is_gone() {
    for round in 0..4u64 {
        let disk = Arc::new(MemDisk::default());
        let (e, mut a, _) = setup(&disk);
        let mut model: BTreeMap<i64, i64> = BTreeMap::new();
        let mut rng = base::SplitMix64::new(base::seed::nth("commits", round));
        let mut next = || rng.next();
        block_on(async {
            for _ in 0..400 {
                let mut view = model.clone();
                a.begin(Isolation::ReadCommitted, false);
                let t = open_table(&mut a).await;
                for _ in 0..next() % 8 {
                    let id = (next() % 300) as i64;
                    let k = (next() % 1000) as i64;
                    match next() % 4 {
                        0 | 1 => match a.insert(&t, &row(id, k, "some text here")).await.unwrap() {
                            Inserted::Done => assert!(view.insert(id, k).is_none()),
                            Inserted::Duplicate { .. } => assert!(view.contains_key(&id)),
                        },
                        2 => match set(&mut a, &t, id, k, &"x".repeat((next() % 100) as usize))
                            .await
                            .unwrap()
                        {
                            Updated::Done | Updated::Unchanged => {
                                assert!(view.insert(id, k).is_some())
                            }
                            _ => assert!(!view.contains_key(&id)),
                        },
                        _ => {
                            let there = a
                                .delete_key(&t, &key(&t, id), &mut |_| Ok(true))
                                .await
                                .unwrap();
                            assert_eq!(view.remove(&id).is_some(), there);
                        }
                    }
                }
                if next() % 5 == 0 {
                    a.rollback().await.unwrap();
                } else {
                    a.commit().await.unwrap();
                    model = view;
                }
            }
            // A loser that must not be there after the crash.
            let mut b = e.session();
            b.begin(Isolation::ReadCommitted, false);
            let t = open_table(&mut b).await;
            for id in 0..300 {
                b.delete_key(&t, &key(&t, id), &mut |_| Ok(true))
                    .await
                    .unwrap();
            }
            b.insert(&t, &row(5000, 1, "loser")).await.unwrap();
            let end = e.pager().log().end();
            e.pager().log().wait_durable(end).await.unwrap();
            std::mem::forget(b);
        });
        for keep in [false, true] {
            let after = Arc::new(disk.crash(keep));
            for again in 0..2 {
                let e = open(&after);
                let mut s = e.session();
                block_on(async {
                    let t = open_table(&mut s).await;
                    s.statement_begin(Isolation::Snapshot);
                    let got: BTreeMap<i64, i64> = scan(&mut s, &t, 0, ReadMode::Current)
                        .await
                        .into_iter()
                        .collect();
                    assert_eq!(got, model, "round {round} keep {keep} again {again}");
                    let mut by_k: Vec<i64> = scan(&mut s, &t, 1, ReadMode::Current)
                        .await
                        .into_iter()
                        .map(|r| r.0)
                        .collect();
                    by_k.sort_unstable();
                    assert_eq!(by_k, model.keys().copied().collect::<Vec<_>>());
                    s.commit().await.unwrap();
                    let t = open_table(&mut s).await;
                    assert_eq!(s.check_table(&t).await.unwrap(), Vec::<String>::new());
                    s.commit().await.unwrap();
                    if again == 0 {
                        e.abandon().await;
                    } else {
                        e.close().await.unwrap();
                    }
                });
            }
        }
    }
}

#[test]
fn definitions_survive_and_files_follow_them() {
    let disk = Arc::new(MemDisk::default());
    let (e, mut a, _) = setup(&disk);
    block_on(async {
        a.create_table(def("gone")).await.unwrap();
        a.create_table(def("old_name")).await.unwrap();
        a.drop_table("s", "gone").await.unwrap();
        a.rename_tables(&[(
            ("s".into(), "old_name".into()),
            ("s".into(), "new name".into()),
        )])
        .await
        .unwrap();
        let t = open_table(&mut a).await;
        a.insert(&t, &row(1, 1, "x")).await.unwrap();
        a.commit().await.unwrap();
        a.truncate_table("s", "t").await.unwrap();
        assert_eq!(a.create_table(def("t")).await.unwrap_err().code, 1050);
        assert_eq!(a.drop_table("s", "nope").await.unwrap_err().code, 1051);
    });
    let after = Arc::new(disk.crash(false));
    let e2 = open(&after);
    let c = e2.catalog();
    assert!(c.table("s", "gone").is_none() && c.table("s", "new name").is_some());
    let mut s = e2.session();
    block_on(async {
        let t = open_table(&mut s).await;
        assert_eq!(scan(&mut s, &t, 0, ReadMode::Consistent).await, []);
        s.commit().await.unwrap();
        assert_eq!(s.drop_schema("s").await.unwrap(), 2);
        assert_eq!(
            s.open_table("s", "t").await.err().map(|e| e.code),
            Some(1049)
        );
    });
    drop(e);
}

#[test]
fn a_small_pool_and_log_serve_many_threads() {
    let disk = Arc::new(MemDisk::default());
    let e = block_on(Engine::open(
        mem::environment(disk.clone()),
        Path::new("/db"),
        options(2),
    ))
    .unwrap();
    let mut a = e.session();
    block_on(async {
        a.create_schema(SchemaDef {
            name: "s".into(),
            collation: CollationId::DEFAULT,
        })
        .await
        .unwrap();
        a.create_table(def("t")).await.unwrap();
    });
    std::thread::scope(|sc| {
        for w in 0..4i64 {
            let e = e.clone();
            sc.spawn(move || {
                block_on(async {
                    let mut s = e.session();
                    for i in 0..4000i64 {
                        s.statement_begin(Isolation::Snapshot);
                        let t = open_table(&mut s).await;
                        let id = i * 4 + w;
                        s.insert(&t, &row(id, id * 7919 % 1000, &"y".repeat(100)))
                            .await
                            .unwrap();
                        if i % 3 == 0 {
                            set(&mut s, &t, id / 2 / 4 * 4 + w, i, "updated")
                                .await
                                .unwrap();
                        }
                        if i % 5 == 0 {
                            s.delete_key(&t, &key(&t, id), &mut |_| Ok(true))
                                .await
                                .unwrap();
                        }
                        s.commit().await.unwrap();
                    }
                })
            });
        }
    });
    block_on(async {
        let t = open_table(&mut a).await;
        assert_eq!(a.check_table(&t).await.unwrap(), Vec::<String>::new());
        let n = scan(&mut a, &t, 0, ReadMode::Consistent).await.len();
        assert_eq!(scan(&mut a, &t, 1, ReadMode::Consistent).await.len(), n);
        a.commit().await.unwrap();
        e.close().await.unwrap();
    });
}
