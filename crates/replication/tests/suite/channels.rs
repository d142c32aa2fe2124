//! A replica of several sources: each has its channel, with threads and a place of its own, and what comes over two of them is applied once.

use crate::scripted;

use std::sync::Arc;
use std::time::{Duration, Instant};

use std::path::Path;

use base::block_on;
use base::mem::{MemDisk, environment};
use engine::Engine;
use replication::changes::{Changes, Databases};
use replication::derive::{Naming, Settings};
use replication::files::names::Names;
use replication::replica::ReplicaServer;
use replication::replica::filter::FilterRules;
use replication::service::{BinaryLog, OpenLog};
use replication::source::EngineSource;
use replication::statements::ServerLog;
use scripted::file::File;
use scripted::{
    failures, number, run, serve, serve_in_steps, server, server_in, until, with_workers,
};
use sql::context::replica::{Receiving, Replica, ReplicaFacts};
use sql::{Instance, Session};
use types::Value;
use types::gtid::{Gtid, Origin, Sid};
use wire::binlog::frame::Checksum;

/// Runs a statement that fails, and gives the number of its error.
fn refused(instance: &Arc<Instance>, sql: &str) -> u16 {
    let mut s = Session::of_the_server(instance, instance.next_connection_id());
    let e = block_on(s.query(sql)).expect_err(sql);
    block_on(s.close());
    e.code
}

fn texts(instance: &Arc<Instance>, sql: &str) -> Vec<String> {
    let text = |v: &Value| match v {
        Value::Str(b, _) | Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
        other => format!("{other:?}"),
    };
    let line = |r: &Vec<Value>| r.iter().map(text).collect::<Vec<_>>().join(" ");
    run(instance, sql).iter().map(line).collect()
}

/// Names a source for a channel.
fn change(instance: &Arc<Instance>, channel: &str, port: u16) {
    run(
        instance,
        &format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'u', SOURCE_CONNECT_RETRY = 1 \
             FOR CHANNEL '{channel}'"
        ),
    );
}

fn facts(replica: &ReplicaServer, channel: &str) -> ReplicaFacts {
    let mut all = replica.channels();
    all.retain(|f| f.channel == channel);
    all.pop().expect("a channel with a source")
}

/// Waits until a channel is at that place, or has failed.
fn settled(replica: &ReplicaServer, channel: &str, place: usize) -> ReplicaFacts {
    let limit = Instant::now() + Duration::from_secs(30);
    loop {
        let f = facts(replica, channel);
        let failed = f.receiving == Receiving::No || !f.applying;
        if failed || f.applied.position == place as u64 {
            return f;
        }
        assert!(Instant::now() < limit, "{f:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A file whose transactions have names of their own, about tables of their own.
fn of(sid: u8, database: &'static str, rows: i64) -> File {
    let mut f = File::new(Checksum::Crc32, 20);
    (f.sid, f.database) = (Sid([sid; 16]), database);
    f.statement(&format!("CREATE DATABASE {database}"));
    f.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20))");
    for n in 1..=rows {
        f.inserts(2, &[(n, "x".to_owned())]);
    }
    f
}

#[test]
fn each_source_has_a_channel_of_its_own() {
    for workers in [1, 4] {
        let (one, other) = (of(1, "d", 50), of(2, "e", 70));
        let disk = Arc::new(MemDisk::default());
        let (engine, i) = server(&disk);
        with_workers(&i, workers);
        let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
        change(&i, "One", serve("8.0.41", one.bytes.clone()));
        change(&i, "other", serve("8.0.41", other.bytes.clone()));
        assert_eq!(refused(&i, "START REPLICA FOR CHANNEL 'third'"), 3074);
        run(&i, "START REPLICA");
        for (channel, f) in [("one", &one), ("other", &other)] {
            let there = settled(&replica, channel, f.bytes.len());
            assert_eq!(failures(&there), "", "{channel}");
        }
        assert_eq!(number(&i, "SELECT COUNT(*) FROM d.t"), 50);
        assert_eq!(number(&i, "SELECT COUNT(*) FROM e.t"), 70);
        // Each is seen by its name, everywhere.
        for table in [
            "connection_configuration",
            "connection_status",
            "applier_configuration",
            "applier_status",
        ] {
            let sql = format!(
                "SELECT channel_name FROM performance_schema.replication_{table} ORDER BY 1"
            );
            assert_eq!(texts(&i, &sql), ["one", "other"], "{table}");
        }
        let by_worker = "SELECT CAST(COUNT(*) AS SIGNED) FROM performance_schema.replication_applier_status_by_worker \
                         WHERE channel_name = 'other' AND worker_id <= 4";
        assert_eq!(number(&i, by_worker), i64::from(workers));
        assert_eq!(run(&i, "SHOW REPLICA STATUS").len(), 2);
        assert_eq!(run(&i, "SHOW REPLICA STATUS FOR CHANNEL 'ONE'").len(), 1);
        assert_eq!(run(&i, "SHOW REPLICA STATUS FOR CHANNEL ''").len(), 0);
        assert_eq!(refused(&i, "SHOW REPLICA STATUS FOR CHANNEL 'third'"), 3074);
        // Waits are for one of them.
        let end = one.bytes.len();
        let wait = |rest: &str| format!("SELECT SOURCE_POS_WAIT('made.000001', {end}, 5{rest})");
        assert_eq!(number(&i, &wait(", 'One'")), 0);
        assert!(matches!(run(&i, &wait(", 'third'"))[0][0], Value::Null));
        assert_eq!(refused(&i, &wait("")), 3079);
        // As both have come so far, both names are executed, whichever is asked.
        let all = facts(&replica, "one").executed_gtids;
        assert_eq!(all, facts(&replica, "other").executed_gtids);
        assert!(all.contains(":1-52") && all.contains(":1-72"), "{all}");
        // One stops, and the other goes on.
        run(&i, "STOP REPLICA FOR CHANNEL 'one'");
        let runs = |channel: &str| {
            let f = facts(&replica, channel);
            (f.receiving != Receiving::No, f.applying)
        };
        assert_eq!((runs("one"), runs("other")), ((false, false), (true, true)));
        assert_eq!(refused(&i, "RESET REPLICA ALL"), 3081);
        block_on(replica.stop());
        drop(replica);
        block_on(engine.close()).expect("the end");

        // After a restart both are there, at their places.
        let (engine, i) = server(&disk);
        let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
        for (channel, f) in [("one", &one), ("other", &other)] {
            let there = settled(&replica, channel, f.bytes.len());
            assert_eq!(failures(&there), "", "{channel}");
        }
        run(&i, "STOP REPLICA FOR CHANNEL 'one'");
        run(&i, "RESET REPLICA ALL FOR CHANNEL 'one'");
        let left: Vec<_> = replica.channels().into_iter().map(|f| f.channel).collect();
        assert_eq!(left, ["other"]);
        run(&i, "STOP REPLICA");
        run(&i, "RESET REPLICA ALL");
        assert!(replica.channels().is_empty());
        let kept = "SELECT (SELECT COUNT(*) FROM mysql.replica_source) + (SELECT COUNT(*) FROM mysql.replica_applier_position)";
        assert_eq!(number(&i, kept), 0);
        // What has no name is the only one again.
        let port = serve("8.0.41", one.bytes.clone());
        scripted::begin(&i, port);
        assert_eq!(failures(&settled(&replica, "", one.bytes.len())), "");
        assert_eq!(number(&i, "SELECT COUNT(*) FROM d.t"), 50);
        block_on(replica.stop());
        drop(replica);
        block_on(engine.close()).expect("the end");
    }
}

#[test]
fn where_there_are_several_one_is_named() {
    let (_engine, i) = server(&Arc::new(MemDisk::default()));
    let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
    let port = serve("8.0.41", of(1, "d", 1).bytes);
    let long = "x".repeat(65);
    for name in [long.as_str(), "group_replication_applier"] {
        let sql = format!("CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'h' FOR CHANNEL '{name}'");
        assert_eq!(refused(&i, &sql), 3076, "{name}");
    }
    assert_eq!(refused(&i, "START REPLICA"), 1200);
    change(&i, "a", port);
    // There are two: this one and the one without a name.
    assert_eq!(
        refused(&i, "CHANGE REPLICATION SOURCE TO SOURCE_PORT = 1"),
        3079
    );
    change(&i, "", port);
    run(&i, "SET GLOBAL sql_replica_skip_counter = 1");
    assert_eq!(refused(&i, "START REPLICA"), 3086);
    assert_eq!(refused(&i, "START REPLICA SQL_THREAD"), 3086);
    run(&i, "SET GLOBAL sql_replica_skip_counter = 0");
    let until = "START REPLICA UNTIL SOURCE_LOG_FILE = 'made.000001', SOURCE_LOG_POS = 4";
    assert_eq!(refused(&i, until), 3079);
    run(&i, &format!("{until} FOR CHANNEL 'a'"));
    // Filters of one, and of all.
    run(
        &i,
        "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (x) FOR CHANNEL ''",
    );
    let sql = "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (x) FOR CHANNEL 'b'";
    assert_eq!(refused(&i, sql), 1794);
    run(&i, "STOP REPLICA");
    run(&i, "CHANGE REPLICATION FILTER REPLICATE_DO_DB = (d)");
    assert_eq!(
        texts(
            &i,
            "SELECT channel_name, filter_name, filter_rule FROM performance_schema.replication_applier_filters ORDER BY 1, 2"
        ),
        [
            " REPLICATE_DO_DB d",
            " REPLICATE_IGNORE_DB x",
            "a REPLICATE_DO_DB d"
        ]
    );
    for n in 0..254 {
        change(&i, &format!("c{n}"), port);
    }
    let sql = "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'h' FOR CHANNEL 'd'";
    assert_eq!(refused(&i, sql), 3080);
    block_on(replica.stop());
}

#[test]
fn an_option_may_be_for_one_channel() {
    let (_engine, i) = server(&Arc::new(MemDisk::default()));
    let mut rules = FilterRules::default();
    rules.add("replicate_ignore_db", "e").expect("a rule");
    rules.add("replicate_ignore_db", "A:d").expect("a rule");
    let replica = block_on(ReplicaServer::start_with(&i, &rules)).expect("a replica");
    let (d, e) = (of(1, "d", 2), of(2, "e", 2));
    change(&i, "a", serve("8.0.41", d.bytes.clone()));
    change(&i, "b", serve("8.0.41", e.bytes.clone()));
    change(&i, "c", serve("8.0.41", d.bytes.clone()));
    run(&i, "START REPLICA FOR CHANNEL 'b'");
    assert_eq!(failures(&settled(&replica, "b", e.bytes.len())), "");
    run(&i, "START REPLICA FOR CHANNEL 'c'");
    assert_eq!(failures(&settled(&replica, "c", d.bytes.len())), "");
    let there =
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('d', 'e')";
    assert_eq!(texts(&i, there), ["d"]);
    assert_eq!(
        texts(
            &i,
            "SELECT channel_name, filter_rule, configured_by FROM performance_schema.replication_applier_filters ORDER BY 1"
        ),
        [
            "a d STARTUP_OPTIONS_FOR_CHANNEL",
            "b e STARTUP_OPTIONS",
            "c e STARTUP_OPTIONS"
        ]
    );
    block_on(replica.stop());
}

/// The same transactions over two channels at once, as from a source and a replica of it.
#[test]
fn what_comes_over_two_channels_is_applied_once() {
    for round in 0..12 {
        let workers = [1, 2, 4][round % 3];
        let mut f = of(1, "d", 60);
        f.statement("ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT 0");
        for n in 0..40 {
            f.statements(
                f.last(),
                &[
                    "UPDATE t SET n = n + 1 WHERE id <= 20",
                    "UPDATE t SET n = n + 1 WHERE id > 20",
                ],
            );
            f.statement(&format!("CREATE TABLE t{n} (id INT PRIMARY KEY)"));
            f.statement(&format!("INSERT INTO t{n} VALUES (1)"));
        }
        let (_engine, i) = server(&Arc::new(MemDisk::default()));
        with_workers(&i, workers);
        let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
        for channel in ["a", "b", "c"] {
            change(&i, channel, serve("8.0.41", f.bytes.clone()));
        }
        run(&i, "START REPLICA");
        for channel in ["a", "b", "c"] {
            let there = settled(&replica, channel, f.bytes.len());
            assert_eq!(failures(&there), "", "round {round}, {channel}");
            assert_eq!(there.executed_gtids.matches(':').count(), 1);
        }
        assert_eq!(number(&i, "SELECT COUNT(*) FROM d.t"), 60);
        assert_eq!(
            number(&i, "SELECT CAST(SUM(n) AS SIGNED) FROM d.t"),
            60 * 40
        );
        block_on(replica.stop());
    }
}

/// The same ALTER over two channels, and a transaction that is in its way: one channel waits for the transaction, and the other for the first.
#[test]
fn nobody_stops_for_longer_than_asked() {
    for workers in [1, 4] {
        let mut f = of(1, "d", 3);
        let before = f.bytes.len();
        f.statement("ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT 7");
        let (_engine, i) = server(&Arc::new(MemDisk::default()));
        with_workers(&i, workers);
        let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
        let sources = ["a", "b"].map(|channel| {
            let (port, sent) = serve_in_steps("8.0.41", f.bytes.clone());
            change(&i, channel, port);
            sent.set(before);
            sent
        });
        run(&i, "START REPLICA");
        for channel in ["a", "b"] {
            assert_eq!(failures(&settled(&replica, channel, before)), "");
        }
        let mut reader = Session::of_the_server(&i, i.next_connection_id());
        block_on(reader.query("BEGIN")).expect("begun");
        block_on(reader.query("SELECT * FROM d.t")).expect("rows");
        // One after the other: who has the claim is known then.
        let waits = |state: &str| {
            let sql = "SELECT state FROM information_schema.processlist";
            texts(&i, sql).iter().any(|s| s.contains(state))
        };
        let [a, b] = &sources;
        a.set(f.bytes.len());
        until("it waits for the table", || {
            waits("Waiting for table metadata lock")
        });
        b.set(f.bytes.len());
        until("it waits for the other", || {
            waits("Waiting for GTID to be committed")
        });
        run(&i, "SET GLOBAL rpl_stop_replica_timeout = 2");
        // It need not wait for what the other waits for.
        run(&i, "STOP REPLICA FOR CHANNEL 'b'");
        assert!(!facts(&replica, "b").applying && !waits("Waiting for GTID"));
        assert_eq!(failures(&facts(&replica, "b")), "");
        // The other cannot end.
        assert_eq!(refused(&i, "STOP REPLICA"), 1875);
        assert!(facts(&replica, "a").applying);
        // Nor for somebody who is willing to wait, until he is not.
        run(&i, "SET GLOBAL rpl_stop_replica_timeout = 1000");
        let mut patient = Session::of_the_server(&i, i.next_connection_id());
        let interrupt = patient.interrupt();
        let stops = std::thread::spawn(move || block_on(patient.query("STOP REPLICA")));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!stops.is_finished());
        interrupt.kill_query();
        let killed = stops.join().expect("no panic").expect_err("killed");
        assert_eq!(killed.code, 1317);
        block_on(reader.query("COMMIT")).expect("committed");
        block_on(reader.close());
        until("it ends when it can", || !facts(&replica, "a").applying);
        assert_eq!(number(&i, "SELECT SUM(n) DIV 1 FROM d.t"), 21);
        run(&i, "START REPLICA");
        for channel in ["a", "b"] {
            assert_eq!(failures(&settled(&replica, channel, f.bytes.len())), "");
        }
        block_on(replica.stop());
    }
}

/// As in MySQL: statements about replicas commit what is open, and one that would wait for what its own session has locked is refused.
#[test]
fn they_commit_what_is_open_and_do_not_wait_for_themselves() {
    let f = of(1, "d", 3);
    let (_engine, i) = server(&Arc::new(MemDisk::default()));
    let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
    change(&i, "", serve("8.0.41", f.bytes.clone()));
    run(&i, "START REPLICA");
    assert_eq!(failures(&settled(&replica, "", f.bytes.len())), "");
    let mut c = Session::of_the_server(&i, i.next_connection_id());
    let filter = "CHANGE REPLICATION FILTER REPLICATE_DO_DB = ()";
    let delay = "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 0";
    let statements = [
        "STOP REPLICA",
        delay,
        filter,
        "RESET REPLICA",
        "START REPLICA",
        "STOP REPLICA",
    ];
    for (n, sql) in statements.iter().enumerate() {
        let insert = format!("INSERT INTO d.t VALUES ({}, 'own')", 100 + n);
        for sql in ["BEGIN", &insert, sql, "ROLLBACK"] {
            block_on(c.query(sql)).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        let own = "SELECT COUNT(*) FROM d.t WHERE a = 'own'";
        assert_eq!(number(&i, own), n as i64 + 1, "{sql}");
    }
    for lock in ["FLUSH TABLES WITH READ LOCK", "LOCK TABLES d.t READ"] {
        block_on(c.query(lock)).expect(lock);
        for sql in ["STOP REPLICA", delay, "RESET REPLICA"] {
            let e = block_on(c.query(sql)).expect_err(sql);
            assert_eq!(e.code, 1192, "{sql}");
        }
        block_on(c.query("START REPLICA")).expect("begun");
        block_on(c.query("UNLOCK TABLES")).expect("unlocked");
        block_on(c.query("STOP REPLICA")).expect("stopped");
    }
    block_on(c.close());
    block_on(replica.stop());
}

/// A place that is set back: what has a name that was executed is not done again.
#[test]
fn what_was_applied_is_left_out_when_it_comes_again() {
    for workers in [1, 4] {
        let mut f = of(1, "d", 3);
        f.statements(f.last(), &["UPDATE t SET id = id + 10"]);
        let (engine, i) = server(&Arc::new(MemDisk::default()));
        with_workers(&i, workers);
        let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
        let port = serve("8.0.41", f.bytes.clone());
        scripted::begin(&i, port);
        assert_eq!(failures(&settled(&replica, "", f.bytes.len())), "");
        run(&i, "STOP REPLICA");
        scripted::go_on_from(&i, port, 4);
        run(&i, "START REPLICA");
        assert_eq!(failures(&settled(&replica, "", f.bytes.len())), "");
        let sum = "SELECT CAST(SUM(id) AS SIGNED) FROM d.t";
        assert_eq!(number(&i, sum), 36);
        // Until all names are forgotten.
        run(&i, "STOP REPLICA");
        run(&i, "RESET BINARY LOGS AND GTIDS");
        let f = replica.facts().expect("a source");
        assert_eq!(f.executed_gtids, "");
        scripted::go_on_from(&i, port, 4);
        run(&i, "START REPLICA");
        let why = failures(&settled(&replica, "", f.applied.position as usize));
        assert!(why.contains("database exists"), "{why}");
        block_on(replica.stop());
        drop(replica);
        block_on(engine.close()).expect("the end");
    }
}

/// The tables of a server of before there were channels.
#[test]
fn a_replica_of_one_source_becomes_one_with_channels() {
    let f = of(1, "d", 5);
    let port = serve("8.0.41", f.bytes.clone());
    let disk = Arc::new(MemDisk::default());
    {
        let (engine, i) = server(&disk);
        let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
        scripted::begin(&i, port);
        assert_eq!(failures(&settled(&replica, "", f.bytes.len())), "");
        block_on(replica.stop());
        drop(replica);
        run(
            &i,
            "ALTER TABLE mysql.replica_source DROP PRIMARY KEY, DROP COLUMN channel_name, ADD PRIMARY KEY (name)",
        );
        block_on(engine.close()).expect("the end");
    }
    let (_engine, i) = server(&disk);
    let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
    assert_eq!(failures(&settled(&replica, "", f.bytes.len())), "");
    change(&i, "second", serve("8.0.41", of(2, "e", 5).bytes));
    assert_eq!(replica.channels().len(), 2);
    block_on(replica.stop());
}

/// The name of the replica, for what it logs by itself.
const OWN: Sid = Sid([7; 16]);

/// A server with a binary log. What is to be run before the log's task begins, which reads what was committed before the start.
pub fn with_a_log(disk: &Arc<MemDisk>, first: impl FnOnce(&Arc<Instance>)) -> Server {
    let environment = environment(Arc::clone(disk));
    let (engine, instance) = server_in(&environment, true);
    let log_end = engine.end_of_groups().from;
    engine.had_groups_until(log_end);
    let options = OpenLog {
        names: Names::new(Path::new("/data"), "binlog", "").expect("names"),
        settings: Settings {
            server_id: 7,
            sid: OWN,
            version: 80_041,
            version_text: "8.0.41".to_owned(),
            checksum: Checksum::Crc32,
            names: Naming::All,
            max_size: 1 << 30,
            history: 1000,
        },
        log_start: engine.oldest_log(),
        log_end,
        expire: Arc::new(|| 0),
    };
    let opened = BinaryLog::open(&environment, options).expect("a log");
    let log = ServerLog {
        log: Arc::clone(&opened.log),
        engine: Arc::clone(&engine),
        replicas: Arc::default(),
        databases: Databases::default(),
        archive: None,
    };
    instance.set_binary_log(Arc::new(log));
    instance.log_changes_in(Changes::of(&engine, Databases::default()));
    first(&instance);
    let source = EngineSource::new(&engine, opened.resume, opened.done);
    opened.begin(&environment, source);
    Server { engine, instance }
}

pub struct Server {
    pub engine: Arc<Engine>,
    pub instance: Arc<Instance>,
}

/// A crash between a definition, which commits by itself, and the place behind it: the channel that has carried it out knows by its note that it may have
/// done so. Another one that is to carry out the same has none, and the binary log has it late.
#[test]
fn a_definition_is_carried_out_once_though_the_log_comes_behind() {
    for (workers, last) in [
        (1, "CREATE TABLE IF NOT EXISTS t (a INT)"),
        (4, "CREATE TABLE IF NOT EXISTS t (a INT)"),
        (4, "CREATE TABLE other (a INT)"),
    ] {
        let mut f = of(1, "d", 3);
        let before = f.bytes.len();
        f.statement(last);
        f.inserts(f.last(), &[(4, "x".to_owned())]);
        let (port, sent_to) = serve_in_steps("8.0.41", f.bytes.clone());
        let disk = Arc::new(MemDisk::default());
        {
            let Server { engine, instance } = with_a_log(&disk, |_| ());
            with_workers(&instance, workers);
            let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
            change(&instance, "one", port);
            change(&instance, "other", port);
            sent_to.set(before);
            run(&instance, "START REPLICA");
            for channel in ["one", "other"] {
                assert_eq!(failures(&settled(&replica, channel, before)), "");
            }
            block_on(replica.stop());
            drop(replica);
            block_on(engine.close()).expect("the end");
        }
        sent_to.set(usize::MAX);
        let mut started = None;
        let Server { engine, instance } = with_a_log(&disk, |instance| {
            // What was carried out of it, and the note in front of it.
            let mut s = Session::of_the_applier(instance, instance.next_connection_id());
            run(
                instance,
                "UPDATE mysql.replica_applier_position SET unfinished_definition = 1 WHERE channel_name = 'one'",
            );
            s.set_applied_kept(true).expect("a variable");
            s.set_applied_origin(Some(Origin {
                gtid: Some(Gtid {
                    sid: f.sid,
                    number: f.last() as u64 - 1,
                }),
                server_id: 1,
                ..Origin::default()
            }));
            s.set_applied_database("d");
            block_on(s.query(last)).expect(last);
            block_on(s.close());
            with_workers(instance, workers);
            let replica = block_on(ReplicaServer::start(instance)).expect("a replica");
            // Long enough for an applier that waits for nothing.
            std::thread::sleep(Duration::from_millis(300));
            // It waits for the log, and not when it is to end.
            run(instance, "SET GLOBAL rpl_stop_replica_timeout = 10");
            run(instance, "STOP REPLICA SQL_THREAD");
            run(instance, "START REPLICA SQL_THREAD");
            started = Some(replica);
        });
        let replica = started.expect("a replica");
        for channel in ["one", "other"] {
            let there = settled(&replica, channel, f.bytes.len());
            assert_eq!(failures(&there), "", "{channel}: {last}");
        }
        assert_eq!(number(&instance, "SELECT COUNT(*) FROM d.t"), 4);
        let executed = texts(&instance, "SELECT @@gtid_executed");
        assert_eq!(executed, [format!("{}:1-{}", f.sid, f.last())], "{last}");
        block_on(replica.stop());
        drop(replica);
        block_on(engine.close()).expect("the end");
    }
}
