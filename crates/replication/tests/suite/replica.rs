//! A replica beside a scripted source: one that speaks the protocol and serves a file of the binary log, made here or recorded elsewhere.

use crate::scripted;
mod partial_json;
mod values;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::block_on;
use base::mem::MemDisk;
use replication::replica::ReplicaServer;
use scripted::file::{File, SID, map, row};
use scripted::{
    begin, end_of_transactions, events, number, of_format, run, serve, serve_in_steps, server,
    settled,
};
use sql::Session;
use sql::context::replica::{Receiving, Replica};
use types::{DataType, Value};
use wire::binlog::column::ColumnType;
use wire::binlog::frame::Checksum;
use wire::binlog::header::kind;
use wire::binlog::query::Query;
use wire::binlog::rows::{self, Change, put_front, put_image};
use wire::binlog::table_map::Metadata;
use wire::write::Put;

/// Where the recorded files are that are applied besides.
const FOLDER: &str = "TIDEMILL_BINLOG_FOLDER";

/// Puts what is wrong into a file.
type Fault<'f> = &'f dyn Fn(&mut File);

/// A schema, a table, and three transactions, the last of which is not whole.
fn made(checksum: Checksum, key: &str) -> File {
    let mut f = File::new(checksum, 20);
    f.statement("CREATE DATABASE d");
    f.statement(&format!(
        "CREATE TABLE t (id INT {key}, a VARCHAR(20), g INT AS (id * 2), CHECK (id < 1000))"
    ));
    f.begin(0);
    f.query("BEGIN");
    let inserted: Vec<_> = (0..20).map(|n| (None, row(n, "one"))).collect();
    f.rows(Change::Write, &inserted);
    f.commit();
    f.begin(0);
    f.query("BEGIN");
    // What one row becomes is what the next was before.
    let chain = [
        (row(3, "one"), row(103, "two")),
        (row(103, "two"), row(203, "zwei")),
        (row(4, "one"), row(4, "vier")),
    ];
    f.rows(Change::Update, &chain);
    f.rows(
        Change::Delete,
        &[(row(5, "one"), None), (row(203, "zwei"), None)],
    );
    f.commit();
    f.begin(0);
    f.query("BEGIN");
    f.rows(Change::Write, &[(None, row(500, "half"))]);
    f
}

const ROWS: &str = "SELECT COUNT(*) FROM d.t";

#[test]
fn a_log_is_applied_once_whatever_ends_the_server() {
    for key in ["PRIMARY KEY", "NOT NULL UNIQUE", ""] {
        let file = made(Checksum::Crc32, key).bytes;
        let end = end_of_transactions(&file);
        let port = serve("8.0.35", file);
        let disk = Arc::new(MemDisk::default());
        for life in 0..3 {
            let (engine, instance) = server(&disk);
            let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
            if life == 0 {
                begin(&instance, port);
            }
            let facts = settled(&replica, end);
            assert_eq!(facts.applier_failure.message, "", "{key}");
            assert_eq!(facts.receiver_failure.message, "", "{key}");
            assert_eq!(number(&instance, ROWS), 18, "{key}");
            let vier = "SELECT COUNT(*) FROM d.t WHERE a = 'vier' AND g = 8";
            assert_eq!(number(&instance, vier), 1);
            assert_eq!(facts.executed_gtids, format!("{SID}:1-4"));
            block_on(replica.stop());
            drop(replica);
            block_on(engine.close()).expect("the end");
        }
    }
}

#[test]
fn what_is_wrong_stops_the_applier_and_is_told() {
    let missing = |f: &mut File| f.rows(Change::Delete, &[(row(77, "none"), None)]);
    let twice = |f: &mut File| f.rows(Change::Write, &[(None, row(1, "again"))]);
    let check = |f: &mut File| f.rows(Change::Write, &[(None, row(5000, "much"))]);
    let statement = |f: &mut File| f.query("INSERT INTO nothing VALUES (1)");
    let wrong: [(Fault<'_>, u16, &str); 4] = [
        (&missing, 1032, "HA_ERR_KEY_NOT_FOUND"),
        (&twice, 1062, "Duplicate entry '1' for key 't.PRIMARY'"),
        (&check, 3819, "Check constraint"),
        (&statement, 1146, "on query. Default database: 'd'"),
    ];
    for (fault, code, text) in wrong {
        let mut file = made(Checksum::Crc32, "PRIMARY KEY");
        fault(&mut file);
        file.commit();
        let end = file.bytes.len();
        let port = serve("8.0.35", file.bytes);
        let (_engine, instance) = server(&Arc::new(MemDisk::default()));
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        begin(&instance, port);
        let facts = settled(&replica, end);
        assert!(!facts.applying);
        assert_eq!(facts.applier_failure.number, code, "{facts:?}");
        let of_workers = facts.workers.iter().map(|w| &w.failure.message);
        assert!(of_workers.clone().any(|m| m.contains(text)), "{facts:?}");
        // Nothing of its transaction is there.
        assert_eq!(number(&instance, ROWS), 18);
        // It is left out, and what follows is not.
        run(&instance, "SET GLOBAL sql_replica_skip_counter = 1");
        run(&instance, "START REPLICA SQL_THREAD");
        let facts = settled(&replica, end);
        assert!(facts.applying, "{facts:?}");
        assert_eq!(facts.executed_gtids, format!("{SID}:1-5"));
        block_on(replica.stop());
    }
}

#[test]
fn a_read_only_replica_applies() {
    let file = made(Checksum::None, "PRIMARY KEY").bytes;
    let end = end_of_transactions(&file);
    let port = serve("8.0.35", file);
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    begin(&instance, port);
    run(&instance, "STOP REPLICA");
    run(&instance, "SET GLOBAL super_read_only = ON");
    run(&instance, "START REPLICA");
    let facts = settled(&replica, end);
    assert_eq!(facts.applier_failure.message, "");
    assert_eq!(number(&instance, ROWS), 18);
    block_on(replica.stop());
}

#[test]
fn a_hostile_source_gets_an_error_and_no_more() {
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    let whole = made(Checksum::None, "PRIMARY KEY").bytes;
    let mut x = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |n: usize| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x % n as u64) as usize
    };
    for _ in 0..40 {
        let mut file = whole.clone();
        for _ in 0..1 + random(3) {
            let at = 4 + random(file.len() - 4);
            file[at] = random(256) as u8;
        }
        run(&instance, "STOP REPLICA");
        run(&instance, "RESET REPLICA ALL");
        run(&instance, "DROP DATABASE IF EXISTS d");
        let end = end_of_transactions(&whole);
        begin(&instance, serve("8.0.35", file));
        // Damage that means nothing, or that breaks the connection, lets it go on; a panic or an endless loop would not.
        let until = Instant::now() + Duration::from_secs(1);
        loop {
            let f = replica.facts().expect("a source");
            let over = !f.applying || f.receiving == Receiving::No;
            if over || f.applied.position == end as u64 || Instant::now() > until {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    run(&instance, "STOP REPLICA");
    block_on(replica.stop());
}

/// With a folder of recorded files: each is applied as far as its tables go, and what stopped it is printed.
#[test]
fn recorded_logs_are_applied() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .collect();
    files.sort_by_key(|f| f.file_name());
    for entry in files {
        let file = std::fs::read(entry.path()).expect("a file");
        let Some(first) = events(&file).next() else {
            continue;
        };
        let (version, _) = of_format(first);
        let end = file.len();
        let (_engine, instance) = server(&Arc::new(MemDisk::default()));
        run(&instance, "CREATE DATABASE test");
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        begin(&instance, serve(version.leak(), file));
        let until = Instant::now() + Duration::from_secs(3);
        let facts = loop {
            let f = replica.facts().expect("a source");
            let over = !f.applying || f.receiving == Receiving::No;
            if over || f.applied.position == end as u64 || Instant::now() > until {
                break f;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        println!(
            "{}: at {} of {end}, received {}: {} {} | {} {}",
            entry.file_name().to_string_lossy(),
            facts.applied.position,
            facts.received.position,
            facts.applier_failure.number,
            facts.applier_failure.message,
            facts.receiver_failure.number,
            facts.receiver_failure.message,
        );
        block_on(replica.stop());
    }
}

/// START REPLICA comes to its source once. The receiver used to be there, now and then, before the applier had said where the stream begins, and came again.
#[test]
fn a_start_is_one_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (came, coming) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // Whoever comes is counted, and sent away then: nothing is left to count when the receiver has ended.
        for socket in listener.incoming().flatten() {
            if came.send(()).is_err() {
                break;
            }
            drop(socket);
        }
    });
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    run(
        &instance,
        &format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='u', SOURCE_RETRY_COUNT=0"
        ),
    );
    for n in 0..200 {
        run(&instance, "START REPLICA");
        let until = Instant::now() + Duration::from_secs(30);
        while replica.facts().expect("a source").receiving != Receiving::No {
            assert!(Instant::now() < until, "{:?}", replica.facts());
            std::thread::sleep(Duration::from_micros(200));
        }
        // The applier ends as well: the next start has both begin.
        run(&instance, "STOP REPLICA");
        assert_eq!(coming.try_iter().count(), 1, "start {n}");
    }
}

/// A receiver that is stopped and started while the applier goes on is behind what is in the queue. It used to begin where the applier had begun: what was
/// applied, and what was waiting, came again.
#[test]
fn a_receiver_that_is_started_again_goes_on_where_the_last_was() {
    // What has a GTID would be left out if it came again.
    for (workers, anonymous) in [(1, false), (4, false), (1, true), (4, true)] {
        started_again(workers, anonymous);
    }
}

fn started_again(workers: u32, anonymous: bool) {
    let mut file = File::new(Checksum::Crc32, 200);
    file.anonymous = anonymous;
    file.statement("CREATE DATABASE d");
    // No key says that a row is there already.
    file.statement("CREATE TABLE t (id INT, a VARCHAR(200))");
    file.inserts(2, &[(1, "applied".to_owned())]);
    let first = file.bytes.len();
    file.inserts(2, &[(2, "waits".to_owned())]);
    file.half_a_transaction(&[(3, "waits".to_owned())]);
    let half = file.bytes.len();
    file.rows(Change::Write, &[(None, row(4, "comes"))]);
    file.commit();
    file.inserts(2, &[(5, "comes".to_owned())]);
    let end = file.bytes.len();
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    run(
        &instance,
        &format!("SET GLOBAL replica_parallel_workers = {workers}"),
    );
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    let (port, sent_to) = serve_in_steps("8.0.41", file.bytes.clone());
    sent_to.set(first);
    begin(&instance, port);
    assert_eq!(settled(&replica, first).applier_failure.message, "");
    let came = |position: usize| {
        let until = Instant::now() + Duration::from_secs(20);
        let received = || replica.facts().expect("a source").received.position;
        while received() != position as u64 {
            assert!(Instant::now() < until, "{:?}", replica.facts());
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    let again = || {
        run(&instance, "STOP REPLICA IO_THREAD");
        run(&instance, "START REPLICA IO_THREAD");
    };
    again();
    let mut locker = Session::of_the_server(&instance, instance.next_connection_id());
    block_on(locker.query("FLUSH TABLES WITH READ LOCK")).expect("a lock");
    sent_to.set(half);
    came(half);
    again();
    sent_to.set(end);
    came(end);
    again();
    // What waits is called received: whoever promotes this server waits for it.
    let retrieved = replica.facts().expect("a source").retrieved_gtids;
    let named = match anonymous {
        true => String::new(),
        false => format!("{SID}:1-6"),
    };
    assert_eq!(retrieved, named, "{workers} workers");
    block_on(locker.query("UNLOCK TABLES")).expect("no lock");
    let facts = settled(&replica, end);
    let failure = (
        facts.applier_failure.message,
        facts.receiver_failure.message,
    );
    assert_eq!(failure, Default::default(), "{workers} workers");
    let ids = run(&instance, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t");
    let ids = types::convert::to_text(ids[0][0].as_ref());
    assert_eq!(ids, "1,2,3,4,5", "{workers} workers");
    block_on(replica.stop());
}
