//! Statements that MariaDB has in its binary log and MySQL has no words for: they are carried out, and stand in MySQL's words in the replica's own log.

use crate::groups;
use crate::scripted;

use std::sync::Arc;
use std::time::Duration;

use base::block_on;
use base::mem::MemDisk;
use base::rng::SplitMix64;
use engine::{Engine, GroupPosition};
use groups::groups;
use replication::changes::Changes;
use replication::replica::ReplicaServer;
use scripted::file::{File, row};
use scripted::{begin, number, run, serve, server, settled};
use sql::Instance;
use sql::context::replica::{Replica, ReplicaFacts};
use types::Value;
use wire::binlog::rows::Change;

const VERSION: &str = "10.11.6-MariaDB-log";

fn start() -> File {
    let mut f = File::of_mariadb(VERSION, 20);
    statements(&mut f, &["CREATE DATABASE d"]);
    f
}

fn statements(f: &mut File, texts: &[&str]) {
    for text in texts {
        f.mariadb(true);
        f.query(text);
    }
}

/// Statements of one transaction.
fn transaction(f: &mut File, texts: &[&str]) {
    f.mariadb(false);
    texts.iter().for_each(|t| f.query(t));
    f.commit();
}

type Running = (Arc<Engine>, Arc<Instance>, Arc<ReplicaServer>);

fn replica_on(disk: &Arc<MemDisk>, workers: u32) -> Running {
    let (engine, instance) = server(disk);
    run(
        &instance,
        &format!("SET GLOBAL replica_parallel_workers = {workers}"),
    );
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    (engine, instance, replica)
}

/// A replica of the file, at its end or stopped by an error.
fn of(file: &File, workers: u32) -> (Running, GroupPosition, ReplicaFacts) {
    let (engine, instance) = server(&Arc::new(MemDisk::default()));
    instance.log_changes_in(Changes::new(&engine));
    let from = engine.end_of_groups();
    run(
        &instance,
        &format!("SET GLOBAL replica_parallel_workers = {workers}"),
    );
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    begin(&instance, serve(VERSION, file.bytes.clone()));
    let facts = settled(&replica, file.bytes.len());
    ((engine, instance, replica), from, facts)
}

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

fn one(instance: &Arc<Instance>, sql: &str) -> String {
    let rows = run(instance, sql);
    rows.iter()
        .map(|r| r.iter().map(text).collect::<Vec<_>>().join(","))
        .collect::<Vec<_>>()
        .join(";")
}

fn columns(instance: &Arc<Instance>, table: &str) -> String {
    one(
        instance,
        &format!(
            "SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = 'd' AND table_name = '{table}'"
        ),
    )
}

/// Of each something, over what is there and over nothing.
fn everything() -> File {
    let mut f = start();
    statements(
        &mut f,
        &[
            "create or replace table t (id int primary key, a varchar(20))",
            "create or replace table p (id int primary key)",
        ],
    );
    transaction(&mut f, &["INSERT INTO t VALUES (1,'one')"]);
    statements(
        &mut f,
        &[
            // Over what is there, in each manner.
            "create or replace table t (id int primary key, a varchar(20), k int)",
            "CREATE OR REPLACE TABLE l LIKE t",
            "CREATE OR REPLACE TABLE l LIKE t",
            "CREATE OR REPLACE VIEW v AS SELECT id FROM t",
            "CREATE ALGORITHM=UNDEFINED VIEW IF NOT EXISTS v AS SELECT 7 AS other",
            "CREATE ALGORITHM=UNDEFINED VIEW IF NOT EXISTS w AS SELECT 7 AS other",
            "CREATE OR REPLACE DATABASE e",
            "CREATE TABLE e.x (id INT)",
            "CREATE OR REPLACE DATABASE e",
            "CREATE INDEX IF NOT EXISTS i ON t (a)",
            "CREATE INDEX IF NOT EXISTS i ON t (k)",
            "CREATE OR REPLACE INDEX i ON t (a, k)",
            "DROP INDEX IF EXISTS none ON t",
            "ALTER TABLE IF EXISTS none ADD COLUMN c INT",
            "ALTER TABLE t ADD COLUMN IF NOT EXISTS (a INT, c INT), ADD COLUMN IF NOT EXISTS c INT",
            "ALTER TABLE t ADD COLUMN IF NOT EXISTS c INT",
            "ALTER TABLE t DROP COLUMN IF EXISTS z, ADD COLUMN d INT, MODIFY COLUMN IF EXISTS z INT, DROP INDEX IF EXISTS z",
            "ALTER TABLE t WAIT 5 DROP COLUMN IF EXISTS d, ADD CONSTRAINT IF NOT EXISTS ck CHECK (k > 0)",
            "ALTER TABLE t ADD CONSTRAINT IF NOT EXISTS ck CHECK (k > 5), ADD FOREIGN KEY IF NOT EXISTS fk (c) REFERENCES p (id)",
            "ALTER TABLE t ADD FOREIGN KEY IF NOT EXISTS fk (c) REFERENCES p (id), PAGE_COMPRESSED=1",
            "RENAME TABLE IF EXISTS none TO some, p TO q, q TO p, some TO other",
            "DROP TABLE `l`,`never` /* generated by server */",
            "CREATE TABLE o (a INT, b VARCHAR(9) COMPRESSED) ENGINE=InnoDB PAGE_COMPRESSED=1 /*!80013 COMMENT='not MariaDB' */ /*M!100100 STATS_PERSISTENT=1 */",
            "CREATE OR REPLACE USER x@y IDENTIFIED BY PASSWORD '*0D3CED9BEC10A777AEC23CCC353A8C08A633045E'",
            "CREATE OR REPLACE ROLE r1",
            "CREATE OR REPLACE USER x@y IDENTIFIED VIA mysql_native_password USING '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'",
            "SET PASSWORD FOR 'x'@'y'='*0D3CED9BEC10A777AEC23CCC353A8C08A633045E'",
            "GRANT SELECT ON d.* TO 'x'@'y' IDENTIFIED BY PASSWORD '*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29', 'n'@'y' IDENTIFIED BY PASSWORD ''",
            "DROP SEQUENCE IF EXISTS `s` /* generated by server */",
            "OPTIMIZE TABLE t WAIT 3",
        ],
    );
    transaction(
        &mut f,
        &[
            "SET STATEMENT max_statement_time=5, optimizer_switch='none=on' FOR INSERT INTO t(id, a, k) VALUES (2,'two', 2)",
            "SET STATEMENT group_concat_max_len=4 FOR INSERT INTO t(id, a, k) SELECT 3, GROUP_CONCAT(n), 3 FROM (SELECT 123456 AS n) AS x",
            "INSERT INTO t(id, a, k) SELECT 4, GROUP_CONCAT(n), 4 FROM (SELECT 123456 AS n) AS x",
        ],
    );
    // A table from a query: as a statement, and as rows behind the definition.
    statements(&mut f, &["create or replace table u select id, a from t"]);
    for n in [1, 2] {
        f.mariadb(false);
        f.query("CREATE OR REPLACE TABLE `t2` (`id` int NOT NULL, `a` varchar(20))");
        f.table = "t2";
        f.rows(Change::Write, &[(None, row(n, "made"))]);
        f.commit();
    }
    // Temporary ones, of which rows come from statements.
    statements(
        &mut f,
        &[
            "CREATE OR REPLACE TEMPORARY TABLE tt (id INT)",
            "CREATE OR REPLACE TEMPORARY TABLE tt SELECT 77 AS id",
        ],
    );
    transaction(&mut f, &["INSERT INTO t SELECT id, 'tmp', 1, NULL FROM tt"]);
    f
}

fn none_is_of_mariadb(own: &[String]) {
    for words in [
        "replace table",
        "replace temporary",
        "replace database",
        "replace user",
        "replace role",
        "replace index",
        "view if",
        "column if",
        "index if",
        "constraint if",
        "alter table if",
        "rename table if",
        "wait",
        "via",
        "compressed",
        "set statement",
        "sequence",
        "/*",
    ] {
        let by_ours = |g: &&String| {
            g.contains(words)
                && !g.contains("generated by server")
                && !g.contains("start transaction")
        };
        assert_eq!(own.iter().find(by_ours), None, "{words}");
    }
}

#[test]
fn they_are_carried_out_and_told_in_mysqls_words() {
    let f = everything();
    for workers in [1, 4] {
        let ((engine, i, replica), from, facts) = of(&f, workers);
        assert_eq!(facts.applier_failure.message, "", "{facts:?}");
        assert_eq!(facts.applied.position, f.bytes.len() as u64);
        assert_eq!(columns(&i, "t"), "id,a,k,c");
        let rows = "SELECT id, a FROM d.t ORDER BY id";
        assert_eq!(one(&i, rows), "2,two;3,1234;4,123456;77,tmp");
        assert_eq!(one(&i, "SELECT id, a FROM d.u"), "2,two;3,1234;4,123456");
        assert_eq!(one(&i, "SELECT id, a FROM d.t2"), "2,made");
        assert_eq!(columns(&i, "v"), "id");
        assert_eq!(columns(&i, "w"), "other");
        assert_eq!(columns(&i, "q"), "NULL");
        assert_eq!(columns(&i, "p"), "id");
        let parts = "SELECT GROUP_CONCAT(column_name ORDER BY seq_in_index) FROM information_schema.statistics WHERE table_name = 't' AND index_name = 'i'";
        assert_eq!(one(&i, parts), "a,k");
        let checks = "SELECT constraint_name, check_clause FROM information_schema.check_constraints WHERE constraint_schema = 'd'";
        assert_eq!(one(&i, checks), "ck,(`k` > 0)");
        let keys = "SELECT constraint_name FROM information_schema.referential_constraints WHERE constraint_schema = 'd'";
        assert_eq!(one(&i, keys), "fk");
        let of_o = "SELECT table_comment, create_options FROM information_schema.tables WHERE table_name = 'o'";
        assert_eq!(one(&i, of_o), ",stats_persistent=1");
        let users = "SELECT user, plugin, authentication_string FROM mysql.user WHERE user IN ('x','r1') ORDER BY user DESC";
        let users = one(&i, users);
        assert!(
            users.starts_with(
                "x,mysql_native_password,*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29;r1,"
            ),
            "{users}"
        );
        assert_eq!(
            one(
                &i,
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'e'"
            ),
            "0"
        );
        // Nothing of it is MariaDB's in this server's own log.
        let own = groups(&i, &engine, from);
        let own: Vec<String> = own.iter().map(|(g, _)| g.to_lowercase()).collect();
        let has = |words: &str| own.iter().any(|g| g.contains(words));
        assert!(
            has("drop table if exists `t`")
                && has("create  table t (id int primary key, a varchar(20), k int)"),
            "{own:#?}"
        );
        assert!(has("alter table t add c int"), "{own:#?}");
        none_is_of_mariadb(&own);
        block_on(replica.stop());
    }
}

/// What a file with this statement at its end stops with.
fn stops(f: &mut File, statement: &str) -> (u16, String) {
    statements(f, &[statement]);
    let ((_engine, _instance, replica), _, facts) = of(f, 1);
    block_on(replica.stop());
    (facts.applier_failure.number, facts.applier_failure.message)
}

#[test]
fn what_is_not_here_is_refused_by_its_name() {
    for (text, what) in [
        ("CREATE SEQUENCE s", "CREATE SEQUENCE"),
        ("create or replace sequence s", "CREATE SEQUENCE"),
        ("ALTER SEQUENCE s RESTART 3", "ALTER SEQUENCE"),
        (
            "DROP SEQUENCE `s` /* generated by server */",
            "DROP SEQUENCE",
        ),
    ] {
        let (number, message) = stops(&mut start(), text);
        assert_eq!(number, 1235, "{message}");
        let says = format!("doesn't yet support '{what}'");
        assert!(
            message.contains(&says) && message.contains(text),
            "{message}"
        );
    }
    for text in [
        "CREATE TABLE t (a INT) WITH SYSTEM VERSIONING",
        "SET PASSWORD FOR x@y = 'of another plugin'",
    ] {
        let (number, message) = stops(&mut start(), text);
        assert_eq!(number, 1064, "{message}");
    }
    // A statement that fails here fails as it is written there.
    let (number, message) = stops(&mut start(), "CREATE OR REPLACE TABLE t LIKE none");
    assert_eq!(number, 1146, "{message}");
}

#[test]
fn neither_a_client_nor_a_source_of_mysql_has_them() {
    let text = "CREATE OR REPLACE TABLE d.t (a INT)";
    let mut f = File::new(wire::binlog::frame::Checksum::Crc32, 20);
    f.statement("CREATE DATABASE d");
    f.statement(text);
    let ((_engine, instance, replica), _, facts) = of(&f, 4);
    assert_eq!(facts.applier_failure.number, 1064);
    let mut s = sql::Session::of_the_server(&instance, instance.next_connection_id());
    let refused = block_on(s.query(text)).expect_err("it has no such words");
    assert_eq!(refused.code, 1064);
    block_on(s.close());
    block_on(replica.stop());
}

/// Whatever a crash leaves of drop and create, the statement comes again and leaves what it has to.
#[test]
fn after_a_crash_the_table_is_the_new_one() {
    const LAST: usize = 24;
    let mut f = start();
    for n in 0..LAST {
        f.mariadb(true);
        f.query(&format!(
            "CREATE OR REPLACE TABLE t (id INT PRIMARY KEY, c{n} INT)"
        ));
        statements(
            &mut f,
            &[
                &format!("ALTER TABLE t ADD COLUMN IF NOT EXISTS d{n} INT, ADD COLUMN e{n} INT"),
                &format!("CREATE OR REPLACE TABLE s{} SELECT 1 AS k", n % 2),
            ],
        );
        transaction(&mut f, &[&format!("INSERT INTO t VALUES ({n}, 1, 2, 3)")]);
        f.mariadb(false);
        f.query("CREATE OR REPLACE TABLE `t2` (`id` int NOT NULL, `a` varchar(20))");
        f.table = "t2";
        f.rows(Change::Write, &[(None, row(n as i64, "made"))]);
        f.commit();
    }
    let port = serve(VERSION, f.bytes.clone());
    let mut r = SplitMix64::stream(31, 8);
    let mut within = 0;
    for round in 0..6 {
        let mut disk = Arc::new(MemDisk::default());
        let workers = if round % 2 == 0 { 1 } else { 4 };
        let (engine, instance, replica) = replica_on(&disk, workers);
        begin(&instance, port);
        let mut running = (engine, instance, replica);
        for step in 1..8 {
            // Not all at once: somewhere in the next eighth.
            let from = (f.bytes.len() * step / 8) as u64;
            while running.2.facts().is_none_or(|f| f.applied.position < from) {
                std::thread::sleep(Duration::from_micros(100));
            }
            std::thread::sleep(Duration::from_micros(r.below(3_000)));
            let left = Arc::new(disk.crash(r.one_in(2)));
            block_on(running.2.stop());
            block_on(running.0.abandon());
            disk = left;
            running = replica_on(&disk, workers);
            let position = running.2.facts().map_or(0, |f| f.applied.position);
            within += u32::from(position > 4 && position < f.bytes.len() as u64);
        }
        let (engine, instance, replica) = running;
        if replica.facts().is_none() {
            begin(&instance, port);
        }
        let facts = settled(&replica, f.bytes.len());
        assert_eq!(
            facts.applier_failure.message, "",
            "round {round}: {facts:?}"
        );
        let n = LAST - 1;
        assert_eq!(columns(&instance, "t"), format!("id,c{n},d{n},e{n}"));
        assert_eq!(one(&instance, "SELECT * FROM d.t"), format!("{n},1,2,3"));
        assert_eq!(one(&instance, "SELECT id FROM d.t2"), n.to_string());
        assert_eq!(number(&instance, "SELECT k FROM d.s1"), 1);
        block_on(replica.stop());
        block_on(engine.abandon());
    }
    assert!(within > 12, "{within} crashes within the file");
}
