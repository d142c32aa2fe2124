//! Indexes built and tables rebuilt while others write: nobody waits for the build, nothing is lost, and what fails leaves nothing behind.

use crate::sim::{SimDisk, environment};
use crate::world::*;
use base::block_on;
use engine::*;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use types::Value;

const ROWS: i64 = 30_000;

/// Writers that change, take out and put rows with ids up to [`ROWS`], each its own, until they are told to stop.
struct Writers {
    stop: Arc<AtomicBool>,
    /// Transactions.
    done: Arc<AtomicU64>,
    /// The longest, in microseconds.
    longest_us: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Writers {
    fn begin(e: &Arc<Engine>, threads: i64) -> Writers {
        let mut w = Writers {
            stop: Arc::default(),
            done: Arc::default(),
            longest_us: Arc::default(),
            threads: Vec::new(),
        };
        for n in 0..threads {
            let (e, stop) = (e.clone(), w.stop.clone());
            let (done, longest) = (w.done.clone(), w.longest_us.clone());
            w.threads.push(std::thread::spawn(move || {
                let mut s = e.session();
                let mut i = base::seed::nth("beside", n as u64);
                while !stop.load(Ordering::Relaxed) {
                    i = i
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(n as u64 + 1);
                    let id = (i >> 33) as i64 % (ROWS / threads) * threads + n;
                    let begun = Instant::now();
                    block_on(write(&mut s, id, (i >> 20) as i64 % 100));
                    longest.fetch_max(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        w
    }

    fn end(self) -> (u64, u64) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|t| t.join().unwrap());
        (
            self.done.load(Ordering::Relaxed),
            self.longest_us.load(Ordering::Relaxed),
        )
    }
}

async fn write(s: &mut Session, id: i64, k: i64) {
    s.begin(Isolation::ReadCommitted, false);
    let t = s.open_table("s", "t").await.unwrap();
    let key = key(&t, id);
    let changed = s
        .update_key(&t, &key, &mut |r| {
            let mut v = r.to_values();
            v[1] = Value::Int(k);
            Ok(Some(v))
        })
        .await
        .unwrap();
    if changed == Updated::NotFound {
        assert!(matches!(
            s.insert(&t, &row(id, k, 2, 50)).await,
            Ok(Inserted::Done)
        ));
    } else if k % 5 == 0 {
        assert!(s.delete_key(&t, &key, &mut |_| Ok(true)).await.unwrap());
    }
    match k % 7 {
        0 => s.rollback().await.unwrap(),
        _ => s.commit().await.unwrap(),
    }
}

#[test]
fn an_index_is_built_and_a_table_rebuilt_beside_writers() {
    within(300, "builds beside writers", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 2048);
        let mut s = block_on(fill(&e, ROWS, 50));
        let w = Writers::begin(&e, 2);
        for n in 0..3 {
            let before = w.done.load(Ordering::Relaxed);
            let name = format!("x{n}");
            block_on(s.create_index("s", "t", index(&name, IndexKind::Plain, &[1, 0]))).unwrap();
            let t = e.catalog().table("s", "t").unwrap();
            let mut each = |r: RowRef<'_>| Ok(r.to_values());
            let rewrite = match n {
                0 => Rewrite::Each(&mut each),
                _ => Rewrite::Same,
            };
            let rebuilt = s.rebuild_table(&t, t.def.clone(), rewrite, true, true);
            assert!(block_on(rebuilt).unwrap().is_some());
            let meanwhile = w.done.load(Ordering::Relaxed) - before;
            assert!(meanwhile > 100, "{meanwhile} transactions beside a build");
        }
        let (_, longest_us) = w.end();
        assert!(longest_us < 2_000_000, "a writer waited {longest_us} us");
        drop(s);
        sound(&e, "t");
        block_on(e.close()).unwrap();
        drop(e);
        let e = open_with(environment(&disk), 2048);
        sound(&e, "t");
        block_on(e.close()).unwrap();
    });
}

/// The pages of an index that was dropped are freed while others use the table.
#[test]
fn a_table_is_open_while_the_pages_of_a_dropped_index_are_freed() {
    within(120, "a dropped index", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 2048);
        let mut s = block_on(fill(&e, ROWS, 50));
        let (mut opened, mut refused) = (0, 0);
        for _ in 0..5 {
            block_on(s.create_index("s", "t", index("x", IndexKind::Plain, &[2, 1]))).unwrap();
            block_on(write(&mut s, 1, 3));
            let dropped = {
                let e = e.clone();
                std::thread::spawn(move || block_on(e.session().drop_index("s", "t", "x")))
            };
            while !dropped.is_finished() {
                let t = e.catalog().table("s", "t").unwrap();
                if t.def.index("x").is_none() {
                    match e.session().reopen_now(&t, false) {
                        true => opened += 1,
                        false => refused += 1,
                    }
                }
                std::thread::sleep(Duration::from_micros(50));
            }
            dropped.join().unwrap().unwrap();
        }
        // On a busy machine the pages may be free before anybody comes to look.
        assert!(
            opened >= refused,
            "opened {opened} times, not {refused} times"
        );
        drop(s);
        sound(&e, "t");
        block_on(e.close()).unwrap();
    });
}

fn kill_after(s: &Session, ms: u64) -> JoinHandle<()> {
    let interrupt = s.interrupt();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(ms));
        interrupt.kill_query();
    })
}

#[test]
fn a_build_that_is_refused_or_killed_leaves_nothing() {
    within(300, "builds that end early", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 2048);
        let mut s = block_on(fill(&e, ROWS, 50));
        let w = Writers::begin(&e, 2);
        let unique = || index("u", IndexKind::Unique, &[1]);
        let refused = block_on(s.create_index("s", "t", unique()));
        assert_eq!(refused.unwrap_err().code, 1062);
        for delay_ms in [1, 5, 20] {
            let killer = kill_after(&s, delay_ms);
            let built = block_on(s.create_index("s", "t", index("x", IndexKind::Plain, &[1, 0])));
            killer.join().unwrap();
            s.interrupt().clear_query();
            match built {
                Ok(()) => block_on(s.drop_index("s", "t", "x")).unwrap(),
                Err(e) => assert_eq!(e.code, 1317),
            }
            let t = e.catalog().table("s", "t").unwrap();
            let killer = kill_after(&s, delay_ms);
            let rebuilt = block_on(s.rebuild_table(&t, t.def.clone(), Rewrite::Same, true, true));
            killer.join().unwrap();
            s.interrupt().clear_query();
            assert!(rebuilt.is_ok() || rebuilt.is_err_and(|e| e.code == 1317));
        }
        w.end();
        let t = e.catalog().table("s", "t").unwrap();
        assert_eq!(t.def.indexes.len(), 2);
        drop((s, t));
        sound(&e, "t");
        block_on(e.close()).unwrap();
    });
}

/// A transaction holds a row that another has the same value of in an index that is to be unique.
#[test]
fn a_build_waits_for_who_may_take_a_repetition_back() {
    within(60, "a unique index", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 2048);
        let mut s = block_on(fill(&e, 5, 50));
        let built = {
            let e = e.clone();
            let unique = index("u", IndexKind::Unique, &[1]);
            std::thread::spawn(move || block_on(e.session().create_index("s", "t", unique)))
        };
        assert!(built.join().unwrap().is_ok());
        block_on(s.drop_index("s", "t", "u")).unwrap();
        block_on(async {
            s.begin(Isolation::ReadCommitted, false);
            let t = s.open_table("s", "t").await.unwrap();
            assert_eq!(
                s.insert(&t, &row(7, 3, 1, 50)).await.unwrap(),
                Inserted::Done
            );
        });
        // It cannot begin before the transaction has ended, as that holds the table.
        let built = {
            let e = e.clone();
            let unique = index("u", IndexKind::Unique, &[1]);
            std::thread::spawn(move || block_on(e.session().create_index("s", "t", unique)))
        };
        std::thread::sleep(Duration::from_millis(100));
        assert!(!built.is_finished());
        block_on(s.rollback()).unwrap();
        assert!(built.join().unwrap().is_ok());
        drop(s);
        sound(&e, "t");
        block_on(e.close()).unwrap();
    });
}

/// A writer makes two rows equal while the index is built, and takes it back.
#[test]
fn a_repetition_taken_back_is_none() {
    within(120, "a unique index beside repetitions", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 2048);
        let mut s = block_on(fill(&e, 0, 50));
        block_on(async {
            s.begin(Isolation::ReadCommitted, false);
            let t = s.open_table("s", "t").await.unwrap();
            for id in 0..ROWS {
                let new = s.insert(&t, &row(id, id, 1, 50)).await;
                assert_eq!(new.unwrap(), Inserted::Done);
            }
            s.commit().await.unwrap();
        });
        let (stop, met) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let writer = {
            let (e, stop, met) = (e.clone(), stop.clone(), met.clone());
            std::thread::spawn(move || {
                let mut s = e.session();
                while !stop.load(Ordering::Relaxed) {
                    s.begin(Isolation::ReadCommitted, false);
                    let t = block_on(s.open_table("s", "t")).unwrap();
                    let mut equal = |_: RowRef<'_>| Ok(Some(row(3, 4, 1, 50)));
                    let changed = block_on(s.update_key(&t, &key(&t, 3), &mut equal)).unwrap();
                    met.fetch_add(u64::from(changed == Updated::Done), Ordering::Relaxed);
                    drop(t);
                    block_on(s.rollback()).unwrap();
                }
            })
        };
        for n in 0..3 {
            let before = met.load(Ordering::Relaxed);
            let name = format!("u{n}");
            block_on(s.create_index("s", "t", index(&name, IndexKind::Unique, &[1]))).unwrap();
            assert!(
                met.load(Ordering::Relaxed) > before,
                "nothing was equal meanwhile"
            );
            block_on(s.drop_index("s", "t", &name)).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        drop(s);
        sound(&e, "t");
        block_on(e.close()).unwrap();
    });
}

/// Threads of which the system gives as many as `left` says for the work of statements.
struct Scarce {
    left: Arc<AtomicU64>,
}

impl base::environment::Spawn for Scarce {
    fn spawn(&self, name: &str, task: base::Task) {
        base::real::Threads.spawn(name, task);
    }

    fn spawn_work(&self, name: &str, throttled: bool, task: base::Task) -> std::io::Result<()> {
        let one_less = |left: u64| left.checked_sub(1);
        match self
            .left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less)
        {
            Ok(_) => base::real::Threads.spawn_work(name, throttled, task),
            Err(_) => Err(std::io::Error::from_raw_os_error(11)),
        }
    }
}

#[test]
fn a_build_without_threads_fails_and_leaves_nothing() {
    within(120, "builds without threads", || {
        let disk = SimDisk::new();
        let left = Arc::new(AtomicU64::new(0));
        let mut environment = crate::sim::environment(&disk);
        environment.spawn = Arc::new(Scarce { left: left.clone() });
        let e = open_with(environment, 2048);
        let mut s = block_on(fill(&e, 20_000, 50));
        let mut failed = 0;
        for n in 0..20 {
            left.store(n, Ordering::Release);
            let name = format!("x{n}");
            let x = block_on(s.create_index("s", "t", index(&name, IndexKind::Plain, &[1])));
            left.store(n, Ordering::Release);
            let t = e.catalog().table("s", "t").unwrap();
            let y = block_on(s.rebuild_table(&t, t.def.clone(), Rewrite::Same, true, true));
            for e in [x.err(), y.err()].into_iter().flatten() {
                assert_eq!(e.code, 1135, "{e:?}");
                assert!(e.message.contains("errno 11"), "{e:?}");
                failed += 1;
            }
            drop(t);
            sound(&e, "t");
        }
        // Others take threads too, and on a busy machine at other moments.
        assert!((6..40).contains(&failed), "{failed} failed");
        drop(s);
        block_on(e.close()).unwrap();
    });
}

/// Every index is whole, whether its entries were sorted in memory or in files, and whatever few values it has.
#[test]
fn builds_of_several_threads_bring_every_row() {
    within(300, "builds in parts", || {
        for rows in [900, 2500, 20_000] {
            let disk = SimDisk::new();
            let e = open_with(environment(&disk), 2048);
            // Every tenth row is longer than a leaf takes.
            let mut s = block_on(fill(&e, rows, 50));
            block_on(async {
                s.begin(Isolation::ReadCommitted, false);
                let t = s.open_table("s", "t").await.unwrap();
                for id in (0..rows).step_by(97) {
                    let long = row(rows + id, id, 3, 9000);
                    assert_eq!(s.insert(&t, &long).await.unwrap(), Inserted::Done);
                }
                s.commit().await.unwrap();
            });
            for (kind, columns) in [
                (IndexKind::Plain, &[1][..]),
                (IndexKind::Plain, &[1, 0]),
                (IndexKind::Unique, &[0]),
                (IndexKind::Unique, &[1, 0]),
            ] {
                block_on(s.create_index("s", "t", index("x", kind, columns))).unwrap();
                sound(&e, "t");
                let t = e.catalog().table("s", "t").unwrap();
                let def = t.def.clone();
                let rebuilt =
                    block_on(s.rebuild_table(&t, def, Rewrite::Same, true, true)).unwrap();
                let long = (rows as u64).div_ceil(97);
                assert_eq!(rebuilt, Some(rows as u64 + long));
                sound(&e, "t");
                block_on(s.drop_index("s", "t", "x")).unwrap();
            }
            let twice = block_on(s.create_index("s", "t", index("x", IndexKind::Unique, &[1])));
            assert_eq!(twice.unwrap_err().code, 1062);
            sound(&e, "t");
            drop(s);
            block_on(e.close()).unwrap();
        }
    });
}

/// A parent and a child of so many rows each, and the child's definition with a foreign key.
fn parent_and_child(e: &Arc<Engine>, rows: i64) -> (Session, [Arc<Table>; 2], TableDef) {
    let mut s = block_on(fill(e, rows, 50));
    block_on(async {
        s.create_table(def("c")).await.unwrap();
        s.begin(Isolation::ReadCommitted, false);
        let c = s.open_table("s", "c").await.unwrap();
        for id in 0..rows {
            s.insert(&c, &row(id, id % 7, 1, 50)).await.unwrap();
        }
        s.commit().await.unwrap();
    });
    let tables = ["t", "c"].map(|name| e.catalog().table("s", name).unwrap());
    // The counters are known from the first use on.
    for t in &tables {
        assert!(block_on(s.reopen(t, true)).unwrap());
    }
    block_on(s.commit()).unwrap();
    let mut with_key = tables[1].def.clone();
    with_key.foreign_keys.push(ForeignKeyDef {
        name: "fk".into(),
        columns: vec![0],
        parent_schema: "s".into(),
        parent: "t".into(),
        parent_columns: vec!["id".into()],
        on_delete: ReferenceAction::Restrict,
        on_update: ReferenceAction::Restrict,
    });
    (s, tables, with_key)
}

/// Who reads goes on while the rows of a table that gets a foreign key are looked at, and nobody writes to it or to its parent.
#[test]
fn rows_of_a_new_foreign_key_are_looked_at_beside_readers() {
    within(60, "a foreign key beside readers", || {
        let disk = SimDisk::new();
        let e = open_with(environment(&disk), 2048);
        let (mut s, tables, with_key) = parent_and_child(&e, 3000);
        let mut other = e.session();
        let mut beside = 0;
        {
            let mut alter = pin!(s.alter_table(&tables[1], with_key));
            let mut cx = Context::from_waker(Waker::noop());
            loop {
                if let Poll::Ready(done) = alter.as_mut().poll(&mut cx) {
                    assert!(done.unwrap());
                    break;
                }
                let reads = [0, 1].map(|t| other.reopen_now(&tables[t], false));
                let writes = [0, 1].map(|t| other.reopen_now(&tables[t], true));
                block_on(other.commit()).unwrap();
                if reads == [true; 2] {
                    assert_eq!(writes, [false; 2], "a writer beside the look at rows");
                    beside += 1;
                }
            }
        }
        assert!(beside > 10, "read {beside} times while rows were looked at");
        let now = e.catalog().table("s", "c").unwrap();
        assert_eq!(now.def.foreign_keys.len(), 1);
        drop(s);
        block_on(e.close()).unwrap();
    });
}

/// A transaction that has read the child stands in the way of the end. Tables are closed to it for a moment at a time, and it may go on to read the parent;
/// only to write would be to wait for ever.
#[test]
fn who_reads_on_is_let_pass_and_who_is_to_write_gives_way() {
    within(60, "a reader before a foreign key", || {
        for writes in [false, true] {
            let disk = SimDisk::new();
            let e = open_with(environment(&disk), 2048);
            let (mut s, [parent, child], with_key) = parent_and_child(&e, 100);
            let mut other = e.session();
            other.begin(Isolation::RepeatableRead, false);
            assert!(block_on(other.reopen(&child, false)).unwrap());
            {
                let mut alter = pin!(s.alter_table(&child, with_key));
                let mut cx = Context::from_waker(Waker::noop());
                // Until all are closed, for the first time.
                let mut probe = e.session();
                loop {
                    assert!(alter.as_mut().poll(&mut cx).is_pending());
                    let open = probe.reopen_now(&parent, false);
                    block_on(probe.commit()).unwrap();
                    if !open {
                        break;
                    }
                }
                let passed = {
                    let mut read = pin!(other.reopen(&parent, writes));
                    loop {
                        assert!(alter.as_mut().poll(&mut cx).is_pending());
                        if let Poll::Ready(passed) = read.as_mut().poll(&mut cx) {
                            break passed;
                        }
                    }
                };
                match writes {
                    false => assert!(passed.unwrap()),
                    true => assert_eq!(passed.unwrap_err().code, 1213),
                }
                block_on(other.commit()).unwrap();
                assert!(block_on(alter).unwrap());
            }
            drop(s);
            block_on(e.close()).unwrap();
        }
    });
}
