//! The threads of a replica in the list of connections: what each does, who sees them, what KILL does to them.

use crate::scripted;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::block_on;
use base::mem::MemDisk;
use replication::replica::ReplicaServer;
use scripted::file::File;
use scripted::{begin, number, run, serve, server, settled, until};
use sql::context::replica::Replica;
use sql::{Instance, Session};
use types::Value;
use wire::binlog::frame::Checksum;

fn text(v: &Value) -> String {
    match v {
        Value::Str(b, _) => String::from_utf8_lossy(b).into_owned(),
        Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        Value::Null => "NULL".to_owned(),
        other => panic!("{other:?}"),
    }
}

/// `Host, Command, State, Info` of the server's own threads.
fn threads(instance: &Arc<Instance>, from: &str) -> Vec<String> {
    let sql = format!(
        "SELECT host, command, state, info FROM {from} WHERE user = 'system user' ORDER BY id"
    );
    let line = |r: &Vec<Value>| r.iter().map(text).collect::<Vec<_>>().join("|");
    run(instance, &sql).iter().map(line).collect()
}

const LIST: &str = "information_schema.processlist";

/// A replica that has applied a file.
fn replica_of(f: &File, workers: u32) -> (Arc<engine::Engine>, Arc<Instance>, Arc<ReplicaServer>) {
    let (engine, instance) = server(&Arc::new(MemDisk::default()));
    let set = format!("SET GLOBAL replica_parallel_workers = {workers}");
    run(&instance, &set);
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    begin(&instance, serve("8.0.41", f.bytes.clone()));
    let facts = settled(&replica, f.bytes.len());
    assert_eq!(facts.applier_failure.message, "");
    (engine, instance, replica)
}

fn made() -> File {
    let mut f = File::new(Checksum::Crc32, 20);
    f.statement("CREATE DATABASE d");
    f.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20))");
    f.inserts(0, &[(1, "one".to_owned())]);
    f
}

const RECEIVER: &str = "connecting host|Connect|Waiting for source to send event|NULL";
const APPLIER: &str = "|Query|Replica has read all relay log; waiting for more updates|NULL";
const WORKER: &str = "|Query|Waiting for an event from Coordinator|NULL";

#[test]
fn each_says_what_it_does() {
    let f = made();
    for (workers, expected) in [
        (1, vec![APPLIER, RECEIVER]),
        (2, vec![APPLIER, RECEIVER, WORKER, WORKER]),
    ] {
        let (_engine, i, replica) = replica_of(&f, workers);
        for from in [LIST, "performance_schema.processlist"] {
            let sorted = || {
                let mut all = threads(&i, from);
                all.sort_unstable();
                all
            };
            let mut expected = expected.clone();
            expected.sort_unstable();
            until("they rest", || sorted() == expected);
        }
        // As SHOW says it, and with the age of what was applied last.
        let shown = run(&i, "SHOW PROCESSLIST");
        let shown: Vec<_> = shown
            .iter()
            .filter(|r| text(&r[1]) == "system user")
            .collect();
        assert_eq!(shown.len(), expected.len());
        let old = number(
            &i,
            "SELECT TIMESTAMPDIFF(SECOND, FROM_UNIXTIME(1700000000), NOW())",
        );
        for r in shown {
            let Value::Int(seconds) = r[5] else {
                panic!("{r:?}");
            };
            match text(&r[4]).as_str() {
                "Connect" => assert!(seconds < 60, "{r:?}"),
                _ => assert!((seconds - old).abs() < 60, "{r:?}"),
            }
        }
        let connected = "SELECT CAST(variable_value AS SIGNED) FROM performance_schema.global_status WHERE variable_name = 'Threads_connected'";
        assert_eq!(number(&i, connected), 1);
        // The tables about the replica name the same threads.
        let known = format!(
            "SELECT COUNT(*) FROM (SELECT thread_id FROM performance_schema.replication_connection_status \
             UNION ALL SELECT thread_id FROM performance_schema.replication_applier_status_by_coordinator \
             UNION ALL SELECT thread_id FROM performance_schema.replication_applier_status_by_worker) AS t \
             JOIN {LIST} AS p ON p.id = t.thread_id AND p.user = 'system user'"
        );
        assert_eq!(number(&i, &known), expected.len() as i64);
        run(&i, "STOP REPLICA");
        assert_eq!(threads(&i, LIST), Vec::<String>::new());
        let gone =
            "SELECT COUNT(thread_id) FROM performance_schema.replication_applier_status_by_worker";
        assert_eq!(number(&i, gone), 0);
        block_on(replica.stop());
    }
}

#[test]
fn one_that_waits_shows_its_statement() {
    let mut f = made();
    f.statements(0, &["UPDATE t SET a = 'two' WHERE id = 1"]);
    let first = made().bytes.len();
    let (_engine, i) = server(&Arc::new(MemDisk::default()));
    run(&i, "SET GLOBAL replica_parallel_workers = 2");
    let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
    let (port, sent) = scripted::serve_in_steps("8.0.41", f.bytes.clone());
    begin(&i, port);
    sent.set(first);
    settled(&replica, first);
    let mut client = Session::of_the_server(&i, i.next_connection_id());
    block_on(client.query("BEGIN; SELECT * FROM d.t FOR UPDATE")).expect("a lock");
    sent.set(f.bytes.len());
    let waits = "|Query|executing|UPDATE t SET a = 'two' WHERE id = 1";
    until("it waits", || threads(&i, LIST).iter().any(|t| t == waits));
    // KILL QUERY ends the statement, and with it the applier, as in MySQL.
    let id = number(
        &i,
        &format!("SELECT CAST(id AS SIGNED) FROM {LIST} WHERE info LIKE 'UPDATE t SET%'"),
    );
    run(&i, &format!("KILL QUERY {id}"));
    until("it has ended", || {
        replica.facts().is_some_and(|f| !f.applying)
    });
    let facts = replica.facts().expect("a source");
    assert_eq!(facts.applier_failure.number, 1317, "{facts:?}");
    assert_eq!(threads(&i, LIST), [RECEIVER]);
    block_on(client.query("ROLLBACK")).expect("its end");
    run(&i, "START REPLICA");
    let facts = settled(&replica, f.bytes.len());
    assert_eq!(facts.applier_failure.message, "");
    block_on(client.close());
    block_on(replica.stop());
}

#[test]
fn kill_ends_each() {
    let f = made();
    let (_engine, i, replica) = replica_of(&f, 2);
    let one = |name: &str| {
        let sql = format!(
            "SELECT CAST(thread_id AS SIGNED) FROM performance_schema.replication_{name} LIMIT 1"
        );
        number(&i, &sql)
    };
    let runs = || {
        let facts = replica.facts().expect("a source");
        (
            facts.receiver_thread.is_some(),
            facts.applying,
            facts.applier_failure.number + facts.receiver_failure.number,
        )
    };
    run(&i, &format!("KILL {}", one("connection_status")));
    until("the receiver has ended", || runs() == (false, true, 0));
    // What rests has no statement that could be ended.
    run(
        &i,
        &format!("KILL QUERY {}", one("applier_status_by_worker")),
    );
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(runs(), (false, true, 0));
    run(&i, &format!("KILL {}", one("applier_status_by_worker")));
    until("the applier has ended", || runs() == (false, false, 0));
    run(&i, "START REPLICA");
    until("both are back", || runs() == (true, true, 0));
    // It runs as soon as it is begun, and is to be seen a moment later.
    let is_seen = || replica.facts().is_some_and(|f| f.applier_thread.is_some());
    until("the leader is seen", is_seen);
    run(
        &i,
        &format!("KILL CONNECTION {}", one("applier_status_by_coordinator")),
    );
    until("the applier has ended", || runs() == (true, false, 0));
    run(&i, "START REPLICA");
    until("both are back", || runs() == (true, true, 0));
    block_on(replica.stop());
}

/// What somebody has prepared may be held for ever: neither the end of the server waits for that, nor whoever was killed.
#[test]
fn what_waits_for_a_lock_is_cut_off() {
    for (workers, by_kill, alter) in [
        (1, false, false),
        (4, false, false),
        (1, false, true),
        (4, false, true),
        (1, true, false),
        (4, true, false),
        (4, true, true),
    ] {
        let what = format!("{workers} workers, by KILL: {by_kill}, ALTER: {alter}");
        let mut f = made();
        let before = f.bytes.len();
        match alter {
            true => f.statement("ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT 7"),
            false => f.inserts(f.last(), &[(50, "theirs".to_owned())]),
        }
        let (_engine, i) = server(&Arc::new(MemDisk::default()));
        run(
            &i,
            &format!("SET GLOBAL replica_parallel_workers = {workers}"),
        );
        let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
        let (port, sent) = scripted::serve_in_steps("8.0.41", f.bytes.clone());
        begin(&i, port);
        sent.set(before);
        settled(&replica, before);
        let own = "XA START 'x'; INSERT INTO d.t VALUES (50, 'own'); XA END 'x'; XA PREPARE 'x'";
        let mut client = Session::of_the_server(&i, i.next_connection_id());
        block_on(client.query(own)).expect("prepared");
        block_on(client.close());
        sent.set(f.bytes.len());
        let waits = match alter {
            true => {
                "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'Waiting for table metadata lock'"
            }
            false => {
                "SELECT COUNT(*) FROM performance_schema.data_locks WHERE lock_status = 'WAITING'"
            }
        };
        until(&what, || number(&i, waits) > 0);
        let asked = Instant::now();
        match by_kill {
            true => {
                let one = "SELECT CAST(thread_id AS SIGNED) FROM performance_schema.replication_applier_status_by_worker LIMIT 1";
                run(&i, &format!("KILL {}", number(&i, one)));
                until(&what, || replica.facts().is_some_and(|f| !f.applying));
            }
            false => block_on(replica.stop()),
        }
        assert!(asked.elapsed() < Duration::from_secs(10), "{what}");
        let facts = replica.facts().expect("a source");
        assert_eq!(facts.applier_failure.message, "", "{what}");
        assert_eq!(number(&i, "SELECT COUNT(*) FROM d.t"), 1, "{what}");
        run(&i, "XA ROLLBACK 'x'");
        // It comes again.
        run(&i, "START REPLICA");
        let facts = settled(&replica, f.bytes.len());
        assert_eq!(facts.applier_failure.message, "", "{what}");
        let done = match alter {
            true => "SELECT n FROM d.t",
            false => "SELECT id - 43 FROM d.t WHERE a = 'theirs'",
        };
        assert_eq!(number(&i, done), 7, "{what}");
        block_on(replica.stop());
    }
}

#[test]
fn without_process_they_are_nobodys_to_see_or_kill() {
    let f = made();
    let (_engine, i, replica) = replica_of(&f, 2);
    // None of these is them, whatever they are called.
    for user in ["u", "system user", "root"] {
        run(
            &i,
            &format!("CREATE USER IF NOT EXISTS '{user}'@'h'; GRANT SELECT ON d.* TO '{user}'@'h'"),
        );
        let mut s = Session::new(&i, user, "h", i.next_connection_id());
        for sql in [
            "SELECT user FROM information_schema.processlist",
            "SELECT user FROM performance_schema.processlist",
            "SHOW PROCESSLIST",
        ] {
            let seen = block_on(s.query(sql)).expect("a list").remove(0).rows;
            assert_eq!(seen.len(), 1, "{user}, {sql}: {seen:?}");
        }
        let id = number(
            &i,
            "SELECT CAST(thread_id AS SIGNED) FROM performance_schema.replication_connection_status",
        );
        for sql in [format!("KILL {id}"), format!("KILL QUERY {id}")] {
            let refused = block_on(s.query(&sql)).expect_err("not theirs");
            assert_eq!(refused.code, 1095, "{user}");
        }
        block_on(s.close());
    }
    run(&i, "CREATE USER p@h; GRANT PROCESS, SELECT ON *.* TO p@h");
    let mut s = Session::new(&i, "p", "h", i.next_connection_id());
    let seen = block_on(s.query("SHOW PROCESSLIST")).expect("a list");
    assert_eq!(seen[0].rows.len(), 5, "{seen:?}");
    block_on(s.close());
    // Clients are sent away, and they stay.
    run(&i, "SET GLOBAL offline_mode = ON");
    assert_eq!(threads(&i, LIST).len(), 4);
    let facts = replica.facts().expect("a source");
    assert!(facts.applying && facts.receiver_thread.is_some());
    run(&i, "SET GLOBAL offline_mode = OFF");
    block_on(replica.stop());
}

#[test]
fn a_source_that_is_not_there_is_connected_to() {
    let (_engine, i) = server(&Arc::new(MemDisk::default()));
    let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
    // A port that nobody listens at.
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    begin(&i, port);
    let tries = || {
        replica
            .facts()
            .is_some_and(|f| f.receiver_failure.number == 2003)
    };
    until("it has tried", tries);
    let connecting = "connecting host|Connect|Connecting to source|NULL";
    assert!(threads(&i, LIST).iter().any(|t| t == connecting));
    block_on(replica.stop());
}
