//! Several workers apply what a source has done at once: the same rows come out as with one, whatever ends the server in between, and commits are seen in
//! the source's order.

use crate::history;
use crate::scripted;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base::mem::MemDisk;
use base::{SplitMix64, block_on};
use history::{History, Made};
use replication::replica::ReplicaServer;
use scripted::file::{File, SID};
use scripted::{
    begin, failures, number, run, serve, serve_in_steps, server, settled, with_workers,
};
use sql::context::replica::{Replica, ReplicaFacts};
use sql::{Instance, Session};
use wire::binlog::frame::Checksum;

/// All rows of all tables, as a checksum does not show where they differ.
fn tables(instance: &Arc<Instance>) -> Vec<(String, Vec<String>)> {
    let names = run(
        instance,
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'd' ORDER BY 1",
    );
    let name = |r: &Vec<types::Value>| match &r[0] {
        types::Value::Str(b, _) => String::from_utf8_lossy(b).into_owned(),
        other => panic!("{other:?}"),
    };
    let all = names.iter().map(name).map(|t| {
        let rows = run(instance, &format!("SELECT * FROM d.`{t}`"));
        let mut rows: Vec<String> = rows.iter().map(|r| format!("{r:?}")).collect();
        rows.sort();
        (t, rows)
    });
    all.collect()
}

/// Applies a file with so many workers, and with as many ends of the server in between; gives what is there then.
fn applied(made: &Made, workers: u32, ends: u64, seed: u64) -> (Vec<(String, Vec<String>)>, u64) {
    let port = serve("8.0.41", made.file.clone());
    let mut r = SplitMix64::stream(seed, u64::from(workers));
    let mut disk = Arc::new(MemDisk::default());
    let mut retries = 0;
    // The place that the replica has said it was at.
    let mut told = 0;
    for life in 0..=ends {
        let (engine, instance) = server(&disk);
        with_workers(&instance, workers);
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        let kept = replica.facts().map_or(0, |f| f.applied.position);
        assert!(
            kept >= told,
            "{workers} workers, seed {seed}: {kept} {told}"
        );
        if life == 0 {
            begin(&instance, port);
        } else {
            // It runs again by itself; a stop in the middle loses nothing either.
            run(&instance, "STOP REPLICA");
            run(&instance, "START REPLICA");
        }
        if life == ends {
            let facts = settled(&replica, made.file.len());
            assert_eq!(failures(&facts), "", "{workers} workers, seed {seed}");
            retries += facts.retries;
            block_on(replica.stop());
            let there = tables(&instance);
            drop(replica);
            block_on(engine.close()).expect("the end");
            return (there, retries);
        }
        // Some more of it, and then the power fails.
        let from = replica.facts().expect("a source").applied.position;
        let to = from + r.below(2 * made.file.len() as u64 / (ends + 1));
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let facts = replica.facts().expect("a source");
            if facts.applied.position >= to.min(made.file.len() as u64) {
                break;
            }
            assert_eq!(failures(&facts), "", "{workers} workers, seed {seed}");
            assert!(Instant::now() < until, "{facts:?}");
            std::thread::yield_now();
        }
        told = replica.facts().expect("a source").applied.position;
        let left = Arc::new(disk.crash(r.one_in(2)));
        retries += replica.facts().expect("a source").retries;
        block_on(replica.stop());
        drop(replica);
        block_on(engine.abandon());
        disk = left;
    }
    unreachable!()
}

#[test]
fn several_leave_what_one_leaves_whatever_ends_the_server() {
    for seed in 0..4 {
        let made = History::random(seed, 250, true);
        let (one, _) = applied(&made, 1, 2, seed);
        assert_eq!(one, made.tables, "seed {seed}");
        for workers in [2, 8] {
            let (several, _) = applied(&made, workers, 4, seed);
            assert_eq!(several, made.tables, "seed {seed}, {workers} workers");
        }
    }
}

#[test]
fn transactions_that_are_compressed_are_applied_as_others() {
    for seed in 30..32 {
        let made = History::random_compressed(seed, 250, true);
        for workers in [1, 4] {
            let (there, _) = applied(&made, workers, 3, seed);
            assert_eq!(there, made.tables, "seed {seed}, {workers} workers");
        }
    }
}

#[test]
fn what_the_source_says_of_dependencies_is_enough() {
    // Rows of tables with a primary key alone: nobody is in anybody's way but by those.
    for seed in 10..13 {
        let made = History::random(seed, 300, false);
        let (several, retries) = applied(&made, 8, 0, seed);
        assert_eq!(several, made.tables, "seed {seed}");
        assert_eq!(retries, 0, "seed {seed}");
    }
}

/// A replica of a file that was made by hand, once it has come to an end.
fn replica_of(file: &File, workers: u32) -> (Arc<Instance>, Arc<ReplicaServer>, ReplicaFacts) {
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    with_workers(&instance, workers);
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    begin(&instance, serve("8.0.41", file.bytes.clone()));
    let facts = settled(&replica, file.bytes.len());
    (instance, replica, facts)
}

#[test]
fn commits_are_seen_in_the_sources_order() {
    let mut file = File::new(Checksum::Crc32, 200);
    file.statement("CREATE DATABASE d");
    file.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200))");
    let mut r = SplitMix64::stream(7, 1);
    for n in 1..=400 {
        // None depends on another; some take long.
        let more = if r.one_in(10) { r.below(60) } else { 0 };
        let mut rows = vec![(n, "x".to_owned())];
        rows.extend((0..more as i64).map(|m| (n * 1000 + m, "y".repeat(150))));
        file.inserts(2, &rows);
    }
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    with_workers(&instance, 8);
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    let over = AtomicBool::new(false);
    let looks = std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let (mut looks, mut between) = (0, 0);
            while !over.load(Ordering::SeqCst) {
                let seen = run(
                    &instance,
                    "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd'",
                );
                if format!("{:?}", seen[0][0]) == "Int(0)" {
                    continue;
                }
                let sql =
                    "SELECT COUNT(*) - COALESCE(MAX(id), 0), MAX(id) FROM d.t WHERE id <= 400";
                let row = run(&instance, sql).remove(0);
                assert_eq!(
                    format!("{:?}", row[0]),
                    "Int(0)",
                    "a later one was seen first: {row:?}"
                );
                looks += 1;
                if !matches!(row[1], types::Value::Null | types::Value::Int(400)) {
                    between += 1;
                }
            }
            (looks, between)
        });
        begin(&instance, serve("8.0.41", file.bytes.clone()));
        let facts = settled(&replica, file.bytes.len());
        over.store(true, Ordering::SeqCst);
        assert_eq!(failures(&facts), "");
        looks.join().expect("the one who looks")
    });
    assert!(looks.1 > 0, "nobody has looked in between: {looks:?}");
    assert_eq!(
        number(&instance, "SELECT COUNT(*) FROM d.t WHERE id <= 400"),
        400
    );
    block_on(replica.stop());
}

#[test]
fn a_later_one_that_is_in_the_way_gives_way_at_once() {
    let mut gave_way = 0;
    for _ in 0..20 {
        let mut file = File::new(Checksum::Crc32, 200);
        file.statement("CREATE DATABASE d");
        file.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200))");
        let rows: Vec<_> = (1..=500).map(|n| (n, "x".to_owned())).collect();
        file.inserts(2, &rows);
        // The first changes all rows, the last of them last; the others come to it sooner, as the source says they may.
        let all: Vec<_> = (1..=500)
            .map(|n| (n, "x".to_owned(), "first".to_owned()))
            .collect();
        file.updates(3, &all);
        let one = |from: &str, to: &str| vec![(500, from.to_owned(), to.to_owned())];
        file.updates(3, &one("first", "second"));
        file.updates(3, &one("second", "third"));
        file.inserts(3, &[(1000, "behind".to_owned())]);
        let begun = Instant::now();
        let (instance, replica, facts) = replica_of(&file, 8);
        assert_eq!(failures(&facts), "");
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(
            number(&instance, "SELECT COUNT(*) FROM d.t WHERE a = 'first'"),
            499
        );
        assert_eq!(
            number(
                &instance,
                "SELECT COUNT(*) FROM d.t WHERE id = 500 AND a = 'third'"
            ),
            1
        );
        block_on(replica.stop());
        gave_way += facts.retries;
        if gave_way > 3 {
            return;
        }
    }
    // Whether the later ones come there first is up to the threads.
    assert!(gave_way > 0, "nobody was in the way");
}

#[test]
fn definitions_are_beside_nothing() {
    let mut file = File::new(Checksum::Crc32, 200);
    file.statement("CREATE DATABASE d");
    file.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200))");
    for n in 0..40 {
        for m in 0..5 {
            file.inserts(0, &[(n * 10 + m, "x".to_owned())]);
        }
        // A source that knows nothing of it says that it depends on nobody, nor anybody on it.
        file.clock = Some(0);
        match n % 4 {
            0 => file.statement("ALTER TABLE t ADD COLUMN b INT, ALGORITHM=COPY"),
            1 => file.statement("ALTER TABLE t ADD KEY k (a)"),
            2 => file.statement("ALTER TABLE t DROP KEY k"),
            _ => file.statement("ALTER TABLE t DROP COLUMN b"),
        }
    }
    let (instance, replica, facts) = replica_of(&file, 8);
    assert_eq!(failures(&facts), "");
    assert_eq!(facts.retries, 0);
    assert_eq!(number(&instance, "SELECT COUNT(*) FROM d.t"), 200);
    block_on(replica.stop());
}

#[test]
fn temporary_tables_keep_what_follows_with_their_session() {
    for within in [false, true] {
        let mut file = File::new(Checksum::Crc32, 200);
        file.statement("CREATE DATABASE d");
        file.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200))");
        let create = "CREATE TEMPORARY TABLE tmp (b INT)";
        match within {
            false => file.statement(create),
            true => file.statements(2, &["INSERT INTO t VALUES (0, 'x')", create]),
        }
        for n in 1..=40 {
            let id = n.to_string();
            file.inserts(2, &[(1000 + n, "x".to_owned())]);
            let fill = format!("INSERT INTO tmp VALUES ({id})");
            let copy = "INSERT INTO t SELECT b, 'x' FROM tmp";
            file.statements(2, &[&fill, copy, "DELETE FROM tmp"]);
        }
        let (instance, replica, facts) = replica_of(&file, 8);
        assert_eq!(failures(&facts), "");
        let rows = 80 + i64::from(within);
        assert_eq!(number(&instance, "SELECT COUNT(*) FROM d.t"), rows);
        block_on(replica.stop());
    }
}

#[test]
fn the_first_that_fails_stops_all_and_nothing_behind_it_is_there() {
    let mut file = File::new(Checksum::Crc32, 200);
    file.statement("CREATE DATABASE d");
    file.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200))");
    for n in 1..=30 {
        file.inserts(2, &[(n, "x".to_owned())]);
    }
    file.updates(2, &[(77, "none".to_owned(), "nothing".to_owned())]);
    for n in 31..=60 {
        file.inserts(2, &[(n, "x".to_owned())]);
    }
    let (instance, replica, facts) = replica_of(&file, 8);
    assert!(!facts.applying);
    assert_eq!(facts.applier_failure.number, 1032, "{facts:?}");
    let text = &facts.applier_failure.message;
    assert!(text.starts_with("Coordinator stopped because there were error(s) in the worker(s)."));
    assert_eq!(number(&instance, "SELECT COUNT(*) FROM d.t"), 30);
    assert_eq!(number(&instance, "SELECT MAX(id) FROM d.t"), 30);
    let count = |of: &str| {
        let sql =
            format!("SELECT COUNT(*) FROM performance_schema.replication_applier_status_by_{of}");
        number(&instance, &sql)
    };
    assert_eq!(count("worker"), 8);
    assert_eq!(count("worker WHERE service_state = 'OFF'"), 8);
    assert_eq!(count("worker WHERE last_error_number = 1032"), 1);
    assert_eq!(
        count("coordinator WHERE last_error_number = 1032 AND service_state = 'OFF'"),
        1
    );
    // It goes on exactly there.
    run(&instance, "INSERT INTO d.t VALUES (77, 'none')");
    run(&instance, "START REPLICA SQL_THREAD");
    let facts = settled(&replica, file.bytes.len());
    assert_eq!(failures(&facts), "");
    assert_eq!(number(&instance, "SELECT COUNT(*) FROM d.t"), 61);
    block_on(replica.stop());
}

#[test]
fn it_ends_where_it_is_to_end() {
    let mut file = File::new(Checksum::Crc32, 200);
    file.statement("CREATE DATABASE d");
    file.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200))");
    for n in 1..=100 {
        file.inserts(2, &[(n, "x".to_owned())]);
    }
    let sid = SID;
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    with_workers(&instance, 8);
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    begin(&instance, serve("8.0.41", file.bytes.clone()));
    run(&instance, "STOP REPLICA SQL_THREAD");
    let there = number(
        &instance,
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd'",
    );
    if there == 1 {
        // What it has begun it has finished, and the place is behind that.
        let rows = number(&instance, "SELECT COUNT(*) FROM d.t");
        let last = if rows == 0 {
            "1-2".to_owned()
        } else {
            format!("1-{}", rows + 2)
        };
        let facts = replica.facts().expect("a source");
        assert_eq!(facts.executed_gtids, format!("{sid}:{last}"));
    }
    let ends = |sql: &str| {
        run(&instance, sql);
        let until = Instant::now() + Duration::from_secs(20);
        while replica.facts().expect("a source").applying {
            assert!(Instant::now() < until, "{sql}: it goes on");
            std::thread::sleep(Duration::from_millis(2));
        }
        failures(&replica.facts().expect("a source"))
    };
    let until = format!("START REPLICA SQL_THREAD UNTIL SQL_AFTER_GTIDS = '{sid}:1-92'");
    assert_eq!(ends(&until), "");
    assert_eq!(number(&instance, "SELECT MAX(id) FROM d.t"), 90);
    let until = format!("START REPLICA SQL_THREAD UNTIL SQL_BEFORE_GTIDS = '{sid}:97'");
    assert_eq!(ends(&until), "");
    assert_eq!(number(&instance, "SELECT MAX(id) FROM d.t"), 94);
    assert_eq!(
        ends("START REPLICA SQL_THREAD UNTIL SQL_AFTER_MTS_GAPS"),
        ""
    );
    assert_eq!(number(&instance, "SELECT MAX(id) FROM d.t"), 94);
    run(&instance, "SET GLOBAL sql_replica_skip_counter = 2");
    // The last one is behind everything: it ends there, and does not wait for more.
    let until = format!("START REPLICA SQL_THREAD UNTIL SQL_AFTER_GTIDS = '{sid}:1-102'");
    assert_eq!(ends(&until), "");
    assert_eq!(number(&instance, "SELECT COUNT(*) FROM d.t"), 98);
    block_on(replica.stop());
}

#[test]
fn what_is_thrown_away_is_not_called_received() {
    let mut file = File::new(Checksum::Crc32, 200);
    file.statement("CREATE DATABASE d");
    file.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200))");
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    begin(&instance, serve("8.0.41", file.bytes.clone()));
    settled(&replica, file.bytes.len());
    run(&instance, "STOP REPLICA SQL_THREAD");
    for n in 1..=3 {
        file.inserts(2, &[(n, "x".to_owned())]);
    }
    run(&instance, "STOP REPLICA IO_THREAD");
    let port = serve("8.0.41", file.bytes.clone());
    run(
        &instance,
        &format!("CHANGE REPLICATION SOURCE TO SOURCE_PORT={port}"),
    );
    run(&instance, "START REPLICA IO_THREAD");
    let retrieved = || replica.facts().expect("a source").retrieved_gtids;
    let until = Instant::now() + Duration::from_secs(20);
    while !retrieved().ends_with("-5") {
        assert!(Instant::now() < until, "{}", retrieved());
        std::thread::sleep(Duration::from_millis(2));
    }
    run(&instance, "STOP REPLICA IO_THREAD");
    // The applier asks for all from where it stands, and nobody answers: whoever promotes it must not wait for that.
    run(&instance, "START REPLICA SQL_THREAD");
    let until = Instant::now() + Duration::from_secs(20);
    while retrieved().contains(":1-5") || retrieved().contains(":3-5") {
        assert!(Instant::now() < until, "{}", retrieved());
        std::thread::sleep(Duration::from_millis(2));
    }
    block_on(replica.stop());
}

#[test]
fn a_transaction_larger_than_all_the_room_is_applied() {
    let mut file = File::new(Checksum::Crc32, 200);
    file.statement("CREATE DATABASE d");
    file.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200))");
    for big in 0..4i64 {
        let rows = |n: i64| (0..400).map(move |m| (big * 10_000 + n * 400 + m, "z".repeat(180)));
        let events: Vec<Vec<_>> = (0..10).map(|n| rows(n).collect()).collect();
        file.inserts_in_events(2, &events);
        for n in 0..6 {
            file.inserts(2, &[(100_000 + big * 10 + n, "x".to_owned())]);
        }
    }
    // The source has ended within a transaction.
    file.half_a_transaction(&[(777_777, "half".to_owned())]);
    file.inserts(0, &[(888_888, "whole".to_owned())]);
    for workers in [1, 4] {
        let (_engine, instance) = server(&Arc::new(MemDisk::default()));
        with_workers(&instance, workers);
        run(&instance, "SET GLOBAL replica_pending_jobs_size_max = 1024");
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        begin(&instance, serve("8.0.41", file.bytes.clone()));
        let facts = settled(&replica, file.bytes.len());
        assert_eq!(failures(&facts), "", "{workers}");
        let rows = "SELECT COUNT(*) FROM d.t WHERE id <> 777777";
        assert_eq!(number(&instance, rows), 4 * 4000 + 24 + 1);
        assert_eq!(
            number(&instance, "SELECT COUNT(*) FROM d.t"),
            4 * 4000 + 24 + 1,
            "{workers}"
        );
        block_on(replica.stop());
    }
}

/// FLUSH TABLES WITH READ LOCK stops appliers as it does everybody else: what is read under it stays as it is, to the place that the replica says it has
/// applied, whatever comes from the source meanwhile. It goes on afterwards, and comes to the same end.
#[test]
fn a_read_lock_of_the_server_stops_appliers() {
    const STEPS: usize = 20;
    for (seed, workers) in [(40, 1), (41, 4)] {
        // The commit of a branch gives the lock up before the place is shown.
        let made = History::random_without_branches(seed, 1500, true);
        let (_engine, instance) = server(&Arc::new(MemDisk::default()));
        with_workers(&instance, workers);
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        let (port, sent_to) = serve_in_steps("8.0.41", made.file.clone());
        begin(&instance, port);
        let mut locker = Session::of_the_server(&instance, instance.next_connection_id());
        let mut lock = |sql: &str| {
            block_on(locker.query(sql)).unwrap_or_else(|e| panic!("{sql}: {e}"));
        };
        // As SHOW REPLICA STATUS does.
        let position = || {
            block_on(replica.settled()).expect("an answer");
            replica.facts().expect("a source").applied.position
        };
        let mut last = 0;
        for step in 1..=STEPS {
            let until = Instant::now() + Duration::from_secs(60);
            let to = |step| made.file.len() * step / STEPS;
            sent_to.set(to(step));
            // What stands in front of the first transaction changes nothing: its end is passed under the lock, too.
            let none = || {
                let facts = replica.facts().expect("a source");
                facts.executed_gtids.is_empty()
            };
            while position() == last || none() {
                assert!(Instant::now() < until, "{:?}", replica.facts());
                std::thread::sleep(Duration::from_millis(1));
            }
            lock("FLUSH TABLES WITH READ LOCK");
            let before = (position(), tables(&instance));
            assert!(before.0 <= to(step) as u64, "it has more than was sent");
            sent_to.set(to(STEPS.min(step + 1)));
            // As long as many transactions take.
            std::thread::sleep(Duration::from_millis(30));
            let after = (position(), tables(&instance));
            assert_eq!(before.0, after.0, "seed {seed}, {workers} workers");
            assert!(before.1 == after.1, "rows, seed {seed}, {workers} workers");
            last = before.0;
            lock("UNLOCK TABLES");
        }
        let facts = settled(&replica, made.file.len());
        assert_eq!(failures(&facts), "", "seed {seed}, {workers} workers");
        block_on(replica.stop());
        assert_eq!(
            tables(&instance),
            made.tables,
            "seed {seed}, {workers} workers"
        );
    }
}
