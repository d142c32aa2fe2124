//! CREATE TABLE .. SELECT in the binary log: one transaction with the definition and the rows, on the source, in the log, and on a replica; after a crash
//! all of it is there, or nothing.

use crate::history;
use crate::scripted;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::mem::{MemDisk, environment};
use base::{Lsn, SplitMix64, block_on};
use engine::{Engine, EngineOptions, PagerOptions};
use history::History;
use replication::changes::Changes;
use replication::group::{Next, next};
use replication::replica::ReplicaServer;
use replication::source::{EngineSource, GroupSource, Items};
use scripted::file::{File, row};
use scripted::{begin, events, number, run, serve, server, settled};
use sql::context::replica::ReplicaFacts;
use sql::{Instance, InstanceOptions, Session};
use sql_expr::vars::GlobalVars;
use wire::binlog::frame::Checksum;
use wire::binlog::header::{self, kind};
use wire::binlog::query::Query;
use wire::binlog::rows::Change;

/// Events in short: texts of statements, kinds of the others.
fn in_short(kind_of: u8, body: &[u8]) -> Option<String> {
    Some(match kind_of {
        kind::QUERY => {
            let q = Query::read(body).expect("a statement");
            let text = String::from_utf8_lossy(q.statement).into_owned();
            match text.contains("START TRANSACTION") {
                true => {
                    assert_eq!(q.settings.sql_mode, Some(0));
                    text.replace('\n', "")
                }
                false => text,
            }
        }
        kind::TABLE_MAP => "table".to_owned(),
        kind::XID => "commit".to_owned(),
        kind::GTID => "gtid".to_owned(),
        other => format!("{:?}", Change::by_kind(other)?.0),
    })
}

/// Those of a file, from the last event with such a text in front of it on.
fn of_file(file: &[u8], from: &str) -> Vec<String> {
    let all = events(file).filter_map(|e| in_short(e[4], &e[header::LEN..e.len() - 4]));
    let all: Vec<String> = all.collect();
    let at = all
        .iter()
        .rposition(|t| t.contains(from))
        .map_or(0, |n| n + 1);
    all[at..].to_vec()
}

#[test]
fn definition_and_rows_are_one_transaction() {
    let mut h = History::new(history::PLAIN, 1);
    h.run(0, "INSERT INTO p VALUES (1, 10, 'x'), (2, 20, 'y')");
    h.run(0, "CREATE DATABASE e");
    h.run(0, "UPDATE p SET a = 11 WHERE id = 1");
    h.run(0, "CREATE TABLE new (PRIMARY KEY (id)) SELECT id, s FROM p");
    h.run(
        0,
        "CREATE TABLE e.`o``dd` SELECT a + 1 AS b FROM p WHERE a > 1000",
    );
    // Of these nothing is told.
    h.run(0, "CREATE TABLE IF NOT EXISTS new SELECT 1 AS one");
    h.run(0, "CREATE TEMPORARY TABLE temporary SELECT * FROM p");
    assert!(
        h.attempt(
            0,
            "CREATE TABLE bad (u INT UNIQUE) SELECT 1 AS u UNION ALL SELECT 1"
        )
        .is_err()
    );
    assert!(h.attempt(0, "CREATE TABLE new SELECT 1").is_err());
    h.run(0, "SET sql_log_bin = 0");
    h.run(0, "CREATE TABLE hidden SELECT * FROM p");
    h.run(0, "SET sql_log_bin = 1");
    h.run(0, "SET autocommit = 0");
    h.run(0, "CREATE TABLE third SELECT 7 AS seven");
    let file = h.file();
    let tail = " DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci /*!80021 START TRANSACTION */";
    let expected = [
        "gtid".to_owned(),
        "BEGIN".to_owned(),
        "table".to_owned(),
        "Update".to_owned(),
        "commit".to_owned(),
        "gtid".to_owned(),
        "BEGIN".to_owned(),
        format!(
            "CREATE TABLE `new` (  `id` int NOT NULL,  `s` varchar(60) DEFAULT NULL,  PRIMARY KEY (`id`)) ENGINE=InnoDB{tail}"
        ),
        "table".to_owned(),
        "Write".to_owned(),
        "commit".to_owned(),
        "gtid".to_owned(),
        "BEGIN".to_owned(),
        format!("CREATE TABLE `e`.`o``dd` (  `b` bigint DEFAULT NULL) ENGINE=InnoDB{tail}"),
        "commit".to_owned(),
        "gtid".to_owned(),
        "BEGIN".to_owned(),
        format!("CREATE TABLE `third` (  `seven` int NOT NULL DEFAULT '0') ENGINE=InnoDB{tail}"),
        "table".to_owned(),
        "Write".to_owned(),
        "commit".to_owned(),
    ];
    assert_eq!(of_file(&file, "CREATE DATABASE e"), expected);
    let names: Vec<String> = h.tables().into_iter().map(|t| t.0).collect();
    assert_eq!(names, ["hidden", "new", "p", "q", "third"]);
}

#[test]
fn a_foreign_key_is_refused_as_in_mysql() {
    let mut h = History::new(&["CREATE TABLE parent (id INT PRIMARY KEY)"], 1);
    let sql = "CREATE TABLE child (id INT, FOREIGN KEY (id) REFERENCES parent (id)) SELECT 1 AS id FROM parent";
    assert_eq!(h.attempt(0, sql).expect_err("refused").code, 3978);
    h.run(0, "SET sql_log_bin = 0");
    h.run(0, sql);
}

#[test]
fn start_transaction_is_the_replicas() {
    let mut h = History::new(&[], 1);
    let wrong = [
        ("CREATE TABLE t (a INT) START TRANSACTION", 1235),
        ("CREATE TEMPORARY TABLE t (a INT) START TRANSACTION", 3979),
        ("CREATE TABLE t START TRANSACTION AS SELECT 1", 3979),
    ];
    for (sql, code) in wrong {
        assert_eq!(h.attempt(0, sql).expect_err(sql).code, code, "{sql}");
    }
    h.run(0, "CREATE TABLE t (a INT)");
    let e = h
        .attempt(0, "ALTER TABLE t START TRANSACTION")
        .expect_err("refused");
    assert_eq!(
        (e.code, &*e.message),
        (
            3979,
            "START TRANSACTION clause cannot be used with ALTER TABLE statement."
        )
    );
}

/// A replica of a file, once it has come to an end.
fn replica_of(
    file: Vec<u8>,
    version: &'static str,
) -> (Arc<Instance>, Arc<ReplicaServer>, ReplicaFacts) {
    let (engine, instance) = server(&Arc::new(MemDisk::default()));
    instance.log_changes_in(Changes::new(&engine));
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    let end = file.len();
    begin(&instance, serve(version, file));
    let facts = settled(&replica, end);
    (instance, replica, facts)
}

fn rows_of(instance: &Arc<Instance>, table: &str) -> Vec<String> {
    let rows = run(instance, &format!("SELECT * FROM d.`{table}`"));
    let mut rows: Vec<String> = rows.iter().map(|r| format!("{r:?}")).collect();
    rows.sort();
    rows
}

fn shown(instance: &Arc<Instance>, table: &str) -> String {
    format!(
        "{:?}",
        run(instance, &format!("SHOW CREATE TABLE d.`{table}`"))
    )
}

#[test]
fn what_a_source_makes_a_replica_has() {
    let mut h = History::new(history::PLAIN, 1);
    h.run(0, "SET sql_mode = ''");
    for n in 0..12 {
        h.run(
            0,
            &format!("INSERT INTO p VALUES ({n}, {n} % 3, REPEAT('x', {n}))"),
        );
    }
    for sql in [
        "CREATE TABLE plain SELECT * FROM p",
        "CREATE TABLE computed (g INT AS (id * 2) STORED, v INT AS (a + 1), CHECK (id < 100), KEY ((id + a))) SELECT id, a FROM p",
        "CREATE TABLE counted (n INT AUTO_INCREMENT PRIMARY KEY) SELECT s FROM p",
        "CREATE TABLE counted2 (n INT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 500 SELECT s FROM p",
        "CREATE TABLE ignored (UNIQUE (a)) IGNORE SELECT id, a FROM p",
        "CREATE TABLE replaced (UNIQUE (a)) REPLACE SELECT id, a FROM p",
        "CREATE TABLE none SELECT * FROM p WHERE id > 1000",
        "CREATE TABLE types SELECT CURDATE() AS d, NOW(3) AS t, 1.5 AS x, 'a' AS s, CAST('{\"a\": 1}' AS JSON) AS j, b'101' AS b, NULL AS n",
        "SET sql_generate_invisible_primary_key = ON",
        "CREATE TABLE keyed SELECT a, s FROM p",
        "CREATE TABLE keyed2 (x INT DEFAULT 3) COMMENT 'it''s \\\\' SELECT a, s FROM p",
        "SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,TRADITIONAL'",
        "CREATE TABLE \"ansi\" (x VARCHAR(9) DEFAULT 'a\\b''c') SELECT a || s AS \"a b\" FROM p",
    ] {
        h.run(0, sql);
    }
    // More than a session keeps: it goes to the log before the definition does. It takes its time, and nobody is to end it.
    client(
        &h.instance,
        &[
            "SET sql_generate_invisible_primary_key = ON, binlog_row_image = MINIMAL",
            "CREATE TABLE d.long_one (l LONGTEXT) SELECT a.id, REPEAT(CONCAT(b.id, '-'), 2000) AS l FROM d.p a JOIN d.p b JOIN d.p c",
            "INSERT INTO d.counted (s) VALUES ('more')",
            "INSERT INTO d.long_one (my_row_id, id, l) VALUES (100000, 1, 'x')",
            "UPDATE d.long_one SET l = 'z' WHERE my_row_id = 3",
        ],
    );
    let long = number(
        &h.instance,
        "SELECT COUNT(*) FROM d.long_one WHERE l IN ('x', 'z') OR LENGTH(l) >= 4000",
    );
    assert_eq!(long, 1729);
    let tables = h.tables();
    let file = h.file();
    for workers in [1, 4] {
        let (engine, instance) = server(&Arc::new(MemDisk::default()));
        run(
            &instance,
            &format!("SET GLOBAL replica_parallel_workers = {workers}"),
        );
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        begin(&instance, serve("8.0.41", file.clone()));
        let facts = settled(&replica, file.len());
        assert_eq!(facts.applier_failure.message, "");
        for (name, rows) in &tables {
            assert!(&rows_of(&instance, name) == rows, "{name}");
            assert_eq!(shown(&instance, name), shown(&h.instance, name));
        }
        block_on(replica.stop());
        block_on(engine.abandon());
    }
}

/// A transaction that makes `d.t` with rows, as MySQL writes it or MariaDB.
fn made(f: &mut File, definition: &str, rows: &[i64]) {
    f.begin(0);
    f.query("BEGIN");
    f.query(definition);
    let rows: Vec<_> = rows.iter().map(|n| (None, row(*n, "one"))).collect();
    if !rows.is_empty() {
        f.rows(Change::Write, &rows);
    }
    f.commit();
}

/// Puts what is wrong into a file.
type Fault<'f> = &'f dyn Fn(&mut File);

const OF_MYSQL: &str = "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `a` varchar(20),\n  PRIMARY KEY (`id`)\n) START TRANSACTION";
const OF_MARIADB: &str =
    "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `a` varchar(20),\n  PRIMARY KEY (`id`)\n)";

/// The groups that a server has in its log.
fn groups(engine: &Arc<Engine>, from: Lsn) -> Vec<Vec<String>> {
    let mut source = EngineSource::new(engine, from, Lsn::NONE);
    let mut all = Vec::new();
    loop {
        let group = block_on(source.next()).expect("a group").expect("a group");
        let Items::Whole(bytes) = group.items else {
            panic!("a small group");
        };
        let mut rest = &bytes[..];
        let mut events = Vec::new();
        while let Some(Next::Item(item)) = next(&mut rest).expect("an item") {
            events.extend(in_short(item.kind, item.body));
        }
        if events.iter().any(|t| t == "CREATE DATABASE the_end") {
            return all;
        }
        all.push(events);
    }
}

#[test]
fn a_replica_makes_it_in_one_transaction_with_its_place() {
    for definition in [OF_MYSQL, OF_MARIADB] {
        for rows in [&[][..], &[1, 2, 3]] {
            let mut f = File::new(Checksum::Crc32, 20);
            f.statement("CREATE DATABASE d");
            made(&mut f, definition, rows);
            let (engine, instance) = server(&Arc::new(MemDisk::default()));
            instance.log_changes_in(Changes::new(&engine));
            let from = engine.end_of_groups().from;
            let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
            let end = f.bytes.len();
            begin(&instance, serve("8.0.41", f.bytes));
            let facts = settled(&replica, end);
            assert_eq!(facts.applier_failure.message, "");
            assert_eq!(
                number(&instance, "SELECT COUNT(*) FROM d.t"),
                rows.len() as i64
            );
            run(&instance, "CREATE DATABASE the_end");
            let own = groups(&engine, from);
            let last = own.last().expect("a group");
            assert_eq!(&last[0], "BEGIN");
            assert!(
                last[1].starts_with("CREATE TABLE ") && last[1].contains("START TRANSACTION"),
                "{last:?}"
            );
            assert_eq!(last.len(), if rows.is_empty() { 2 } else { 4 }, "{last:?}");
            let with_it = own.iter().filter(|g| g.iter().any(|t| t.contains("`t`")));
            assert_eq!(with_it.count(), 1, "{own:?}");
            block_on(replica.stop());
        }
    }
}

#[test]
fn what_goes_wrong_leaves_neither_table_nor_place() {
    let twice = |f: &mut File| made(f, OF_MYSQL, &[1, 1]);
    let again = |f: &mut File| {
        f.begin(0);
        f.query("BEGIN");
        f.query(OF_MYSQL);
        f.query("INSERT INTO t VALUES (1, 'x')");
        f.commit();
    };
    let two = |f: &mut File| {
        f.begin(0);
        f.query("BEGIN");
        f.query(OF_MYSQL);
        f.query(OF_MYSQL);
        f.commit();
    };
    let wrong: [(Fault<'_>, u16); 3] = [(&twice, 1062), (&again, 3977), (&two, 3977)];
    for (fault, code) in wrong {
        let mut f = File::new(Checksum::Crc32, 20);
        f.statement("CREATE DATABASE d");
        fault(&mut f);
        // What is left out is followed by what makes it after all.
        made(&mut f, OF_MYSQL, &[5, 6]);
        let end = f.bytes.len();
        let (instance, replica, facts) = replica_of(f.bytes, "8.0.41");
        assert_eq!(facts.applier_failure.number, code, "{facts:?}");
        let there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd'";
        assert_eq!(number(&instance, there), 0);
        run(&instance, "SET GLOBAL sql_replica_skip_counter = 1");
        run(&instance, "START REPLICA SQL_THREAD");
        let facts = settled(&replica, end);
        assert_eq!(facts.applier_failure.message, "", "{facts:?}");
        assert_eq!(number(&instance, "SELECT COUNT(*) FROM d.t"), 2);
        block_on(replica.stop());
    }
}

#[test]
fn a_table_that_was_made_by_halves_is_taken_back() {
    for workers in [1, 3] {
        let mut f = File::new(Checksum::Crc32, 20);
        f.statement("CREATE DATABASE d");
        f.begin(0);
        f.query("BEGIN");
        f.query(OF_MYSQL);
        f.rows(Change::Write, &[(None, row(1, "half"))]);
        // The source has come to an end within it.
        made(&mut f, OF_MYSQL, &[7, 8]);
        let end = f.bytes.len();
        let (_engine, instance) = server(&Arc::new(MemDisk::default()));
        run(
            &instance,
            &format!("SET GLOBAL replica_parallel_workers = {workers}"),
        );
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        begin(&instance, serve("8.0.41", f.bytes));
        let facts = settled(&replica, end);
        assert_eq!(facts.applier_failure.message, "", "{facts:?}");
        assert_eq!(
            number(&instance, "SELECT CAST(SUM(id) AS SIGNED) FROM d.t"),
            15
        );
        block_on(replica.stop());
    }
}

#[test]
fn one_in_a_compressed_transaction_is_made() {
    use wire::binlog::payload::{Compression, Payload};
    let mut inner = File::new(Checksum::None, 20);
    let front = inner.bytes.len();
    inner.query("BEGIN");
    inner.query(OF_MYSQL);
    inner.rows(
        Change::Write,
        &[(None, row(1, "one")), (None, row(2, "two"))],
    );
    inner.commit();
    let plain = inner.bytes[front..].to_vec();
    let bytes = zstd::encode_all(&plain[..], 3).expect("compressed");
    let mut f = File::new(Checksum::Crc32, 20);
    f.statement("CREATE DATABASE d");
    f.begin(0);
    let payload = Payload {
        compression: Compression::Zstd,
        uncompressed: plain.len() as u64,
        bytes: &bytes,
    };
    f.event(kind::TRANSACTION_PAYLOAD, |out| payload.write(out));
    f.inserts(2, &[(3, "three".to_owned())]);
    let (instance, replica, facts) = replica_of(f.bytes, "8.0.41");
    assert_eq!(facts.applier_failure.message, "", "{facts:?}");
    assert_eq!(
        number(&instance, "SELECT CAST(SUM(id) AS SIGNED) FROM d.t"),
        6
    );
    block_on(replica.stop());
}

/// A server whose log is kept.
fn source_on(disk: &Arc<MemDisk>) -> (Arc<Engine>, Arc<Instance>) {
    let environment = environment(Arc::clone(disk));
    let options = EngineOptions {
        pager: PagerOptions {
            pool_bytes: 16 << 20,
            log_capacity_bytes: 64 << 20,
            log_buffer_bytes: 4 << 20,
            ..PagerOptions::default()
        },
        keep_log: true,
        ..EngineOptions::default()
    };
    let opened = Engine::open(environment.clone(), Path::new("/data"), options);
    let engine = block_on(opened).expect("an engine");
    let globals = Arc::new(GlobalVars::new());
    let options = InstanceOptions::default();
    let instance = Instance::open(Arc::clone(&engine), &environment, globals, options);
    let instance = block_on(instance).expect("an instance");
    instance.log_changes_in(Changes::new(&engine));
    (engine, instance)
}

/// As a client.
fn client(instance: &Arc<Instance>, statements: &[&str]) {
    let mut s = Session::new(instance, "root", "localhost", instance.next_connection_id());
    for sql in statements {
        let _ = block_on(s.query(sql));
    }
    block_on(s.close());
}

#[test]
fn after_a_crash_all_of_it_is_there_or_nothing() {
    const ROWS: i64 = 1728;
    let mut r = SplitMix64::stream(11, 3);
    let (mut there, mut gone) = (0, 0);
    for round in 0..24u64 {
        let disk = Arc::new(MemDisk::default());
        let (engine, instance) = source_on(&disk);
        let from = engine.end_of_groups().from;
        client(
            &instance,
            &[
                "CREATE DATABASE d",
                "CREATE TABLE d.n (id INT PRIMARY KEY)",
                "INSERT INTO d.n VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11),(12)",
            ],
        );
        // Long enough that some of it is in the log before the definition is, or not.
        let long = if round % 2 == 0 { 600 } else { 3 };
        let sql = format!(
            "CREATE TABLE d.made (k INT AUTO_INCREMENT PRIMARY KEY) SELECT a.id, REPEAT('x', {long}) AS l FROM d.n a JOIN d.n b JOIN d.n c"
        );
        let other = Arc::clone(&instance);
        let worker = std::thread::spawn(move || client(&other, &[&sql]));
        std::thread::sleep(Duration::from_micros(r.below(60_000)));
        let left = Arc::new(disk.crash(r.one_in(2)));
        worker.join().expect("an end");
        block_on(engine.abandon());
        let (engine, instance) = source_on(&left);
        let known = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd' AND table_name = 'made'";
        let known = number(&instance, known);
        client(&instance, &["CREATE DATABASE the_end"]);
        let all = groups(&engine, from);
        let told = all.iter().find(|g| g.iter().any(|t| t.contains("made")));
        assert_eq!(told.is_some(), known == 1, "round {round}: {all:?}");
        match told {
            Some(g) => {
                there += 1;
                assert_eq!(number(&instance, "SELECT COUNT(*) FROM d.made"), ROWS);
                assert!(g.iter().any(|t| t == "Write"), "{g:?}");
            }
            None => {
                gone += 1;
                // And it can be made.
                client(&instance, &["CREATE TABLE d.made SELECT 1 AS one"]);
                assert_eq!(number(&instance, "SELECT COUNT(*) FROM d.made"), 1);
            }
        }
        block_on(engine.close()).expect("the end");
    }
    assert!(there > 0 && gone > 0, "{there} there, {gone} gone");
}

#[test]
fn a_group_that_came_to_nothing_keeps_no_log() {
    let disk = Arc::new(MemDisk::default());
    let (engine, instance) = source_on(&disk);
    client(
        &instance,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.n (id INT PRIMARY KEY)",
            "INSERT INTO d.n VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11),(12)",
        ],
    );
    let mut follower = engine.follow(engine.end_of_groups());
    // More than a session keeps, and the last row is a duplicate.
    client(
        &instance,
        &[
            "CREATE TABLE d.made (UNIQUE (u)) SELECT a.id * 1000 + b.id * 40 + c.id AS u, REPEAT('x', 2000) AS l FROM d.n a JOIN d.n b JOIN d.n c UNION ALL SELECT 1041, ''",
        ],
    );
    let from = engine.end_of_groups().from;
    client(&instance, &["CREATE DATABASE the_end"]);
    let group = block_on(follower.next())
        .expect("a group")
        .expect("a group");
    assert!(group.resume.from >= from, "{:?} {from:?}", group.resume);
    let there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'made'";
    assert_eq!(number(&instance, there), 0);
    block_on(engine.close()).expect("the end");
}
