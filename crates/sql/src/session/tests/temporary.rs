//! Temporary tables where something else goes on: what they cost, what is left of them, prepared statements, accounts, read-only servers.

use super::access::change;
use super::*;
use base::Disk;
use sql_access::{Priv, PrivSet};

fn execute(c: &mut Client, id: u32) -> u16 {
    let mut sink = Collector::new();
    block_on(c.session.execute_prepared(id, &[], &mut sink)).map_or_else(|e| e.code, |()| 0)
}

/// Names of the files in the folder of temporary files.
fn files(disk: &MemDisk) -> Vec<String> {
    let folder = Path::new("/data/temp");
    match disk.exists(folder) {
        true => {
            let all = disk.read_dir(folder).expect("a folder");
            all.into_iter().map(|(name, _)| name).collect()
        }
        false => Vec::new(),
    }
}

/// Lets what goes on in the background go on until it has come to `end`.
fn until(what: &str, mut end: impl FnMut() -> bool) {
    for _ in 0..2_000_000 {
        if end() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("never: {what}");
}

#[test]
fn what_changes_temporary_tables_alone_syncs_nothing_and_logs_no_rows() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE base (id INT PRIMARY KEY, v INT)");
    c.run("INSERT INTO base VALUES (1, 1)");
    let counters = || s.engine().counters();
    let before = counters();
    c.run("CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT, w VARCHAR(2000) CHARACTER SET latin1, UNIQUE KEY (v), KEY (w(10)))");
    for n in 0..100 {
        c.run(&format!(
            "INSERT INTO t (v, w) VALUES ({n}, REPEAT('x', 2000))"
        ));
    }
    c.run("UPDATE t SET v = v + 1000 WHERE id > 50");
    c.run("DELETE FROM t WHERE id < 10");
    assert_eq!(c.error("INSERT INTO t (v) VALUES (20)"), 1062);
    c.run("BEGIN");
    c.run("SELECT * FROM t WHERE v = 30 FOR UPDATE");
    c.run("UPDATE t SET w = 'y' WHERE v BETWEEN 20 AND 40");
    c.run("SAVEPOINT s");
    c.run("DELETE FROM t");
    c.run("ROLLBACK TO SAVEPOINT s");
    c.run("COMMIT");
    c.run("ALTER TABLE t ADD COLUMN x INT DEFAULT 5, ADD KEY (x)");
    c.run("TRUNCATE TABLE t");
    c.run("DROP TEMPORARY TABLE t");
    let after = counters();
    assert_eq!(
        after.log_syncs, before.log_syncs,
        "nothing is to be durable"
    );
    // What is put in and what is written again has 2000 bytes a row, and these are not logged; before-images are.
    let bytes = after.log_bytes - before.log_bytes;
    assert!(bytes < 200_000, "{bytes} bytes of log");
    // What changes both is as durable as ever.
    c.run("CREATE TEMPORARY TABLE t (a INT)");
    c.run("BEGIN");
    c.run("INSERT INTO t VALUES (1)");
    c.run("UPDATE base SET v = 2");
    c.run("INSERT INTO t VALUES (2)");
    c.run("COMMIT");
    assert!(
        counters().log_syncs > after.log_syncs,
        "a base table was changed"
    );
    assert_eq!(counters().log_durable, counters().log_end);
}

#[test]
fn thousands_leave_nothing() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    let engine = s.engine().clone();
    let spaces = engine.pager().spaces().len();
    for n in 0..3_000 {
        c.run("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT, KEY (v))");
        c.run("INSERT INTO t VALUES (1, 1), (2, 2)");
        if n % 7 == 0 {
            c.run("DELETE FROM t WHERE id = 1");
        }
        c.run("DROP TEMPORARY TABLE t");
    }
    assert_eq!(files(&disk), Vec::<String>::new());
    assert_eq!(engine.temp_files().held(), 0);
    assert_eq!(engine.pager().spaces().len(), spaces);
    assert!(engine.temporary_tables().is_empty());
    assert_eq!(c.session.engine.own_tables(), 0);
    until("all is purged", || engine.counters().purge_queue == 0);
}

#[test]
fn they_go_with_their_session() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let with = || {
        let mut c = Client::in_test(&s);
        c.run("CREATE TEMPORARY TABLE t (a INT PRIMARY KEY)");
        c.run("INSERT INTO t VALUES (1), (2)");
        c.run("BEGIN");
        c.run("INSERT INTO t VALUES (3)");
        c.run("DELETE FROM t WHERE a = 1");
        assert_eq!(files(&disk).len(), 1);
        c
    };
    let Client { session } = with();
    block_on(session.close());
    assert_eq!(files(&disk), Vec::<String>::new(), "closed");

    let mut c = with();
    block_on(c.session.reset()).expect("a reset");
    assert_eq!(files(&disk), Vec::<String>::new(), "reset");
    assert_eq!(c.error("SELECT * FROM t"), 1146);
    c.run("CREATE TEMPORARY TABLE t (a INT)");
    block_on(c.session.change_user("root", "localhost", Some("test"))).expect("another user");
    assert_eq!(files(&disk), Vec::<String>::new(), "another user");
    assert_eq!(c.error("SELECT * FROM t"), 1146);

    // The connection was lost in the midst of a transaction.
    drop(with());
    until("lost", || files(&disk).is_empty());
    assert!(s.engine().temporary_tables().is_empty());
    assert_eq!(s.engine().temp_files().held(), 0);
}

#[test]
fn a_crash_leaves_nothing_of_them() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE base (id INT PRIMARY KEY, v VARCHAR(10))");
    c.run("INSERT INTO base VALUES (1, 'one')");
    c.run("CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, w VARCHAR(8000) CHARACTER SET latin1, KEY (w(100)))");
    // More than the pool has: pages go to the file, and none of them to the doublewrite file.
    c.run("INSERT INTO t (w) VALUES (REPEAT('x', 7900))");
    for _ in 0..12 {
        c.run("INSERT INTO t (w) SELECT w FROM t");
    }
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE w LIKE 'xxx%'"), "4096");
    c.run("CREATE TABLE made (KEY (v)) AS SELECT * FROM base");
    c.run("BEGIN");
    c.run("INSERT INTO base VALUES (2, 'two')");
    c.run("DELETE FROM t WHERE id < 100");
    c.run("INSERT INTO base VALUES (3, 'three')");
    c.run("INSERT INTO t (w) VALUES ('y')");
    let mut other = Client::in_test(&s);
    other.run("INSERT INTO base VALUES (4, 'four')");
    assert!(!files(&disk).is_empty());
    for keep_unsynced in [true, false] {
        let disk = Arc::new(disk.crash(keep_unsynced));
        let s = server_on(disk.clone());
        assert_eq!(files(&disk), Vec::<String>::new());
        let mut c = Client::in_test(&s);
        // What was not committed is rolled back in the background.
        c.run("SET transaction_isolation = 'READ-COMMITTED'");
        assert_eq!(c.rows("SELECT id FROM base ORDER BY id"), [["1"], ["4"]]);
        assert_eq!(c.one("SELECT COUNT(*) FROM made WHERE v = 'one'"), "1");
        assert_eq!(c.error("SELECT * FROM t"), 1146);
        c.run("CREATE TEMPORARY TABLE t (a INT PRIMARY KEY)");
        c.run("INSERT INTO t VALUES (1)");
        assert_eq!(c.rows("CHECK TABLE base, made, t").len(), 3);
        assert_eq!(c.one("SELECT a FROM t"), "1");
    }
}

#[test]
fn prepared_statements_follow_what_is_there() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    c.run("INSERT INTO t VALUES (1, 10)");
    let add = c
        .session
        .prepare(b"UPDATE t SET v = v + 1 WHERE id = 1")
        .expect("a change")
        .id;
    let read = c
        .session
        .prepare(b"SELECT v FROM t WHERE id = 1")
        .expect("a read")
        .id;
    let value = |c: &mut Client| {
        let mut sink = Collector::new();
        block_on(c.session.execute_prepared(read, &[], &mut sink)).expect("a read");
        format!("{:?}", sink.rows())
    };
    assert_eq!(execute(&mut c, add), 0);
    assert_eq!(value(&mut c), "[[Int(11)]]");
    c.run("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v BIGINT)");
    c.run("INSERT INTO t VALUES (1, 500)");
    assert_eq!(execute(&mut c, add), 0);
    assert_eq!(value(&mut c), "[[Int(501)]]");
    // A change by another session of what lies below changes nothing here.
    Client::in_test(&s).run("ALTER TABLE t ADD COLUMN x INT FIRST");
    assert_eq!(value(&mut c), "[[Int(501)]]");
    c.run("ALTER TABLE t MODIFY v INT FIRST, ADD COLUMN w INT FIRST");
    assert_eq!(execute(&mut c, add), 0);
    assert_eq!(value(&mut c), "[[Int(502)]]");
    c.run("DROP TEMPORARY TABLE t");
    assert_eq!(value(&mut c), "[[Int(11)]]");
    assert_eq!(execute(&mut c, add), 0);
    c.run("DROP TABLE t");
    assert_eq!(execute(&mut c, add), 1146);
    // A text that is kept by its text.
    c.run("CREATE TABLE t (id INT PRIMARY KEY)");
    for _ in 0..3 {
        assert_eq!(c.one("SELECT COUNT(*) FROM t"), "0");
    }
    c.run("CREATE TEMPORARY TABLE t AS SELECT 1 AS a UNION SELECT 2");
    for _ in 0..3 {
        assert_eq!(c.one("SELECT COUNT(*) FROM t"), "2");
    }
    c.run("DROP TEMPORARY TABLE t");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "0");
}

#[test]
fn one_privilege_is_enough() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run("CREATE TABLE base (a INT)");
    change(&s, |a| {
        let temporary = PrivSet::of(Priv::CreateTemporaryTables);
        a.databases.insert("test".into(), temporary);
    });
    let mut c = Client::of(&s, "u");
    c.run("USE test");
    c.run("CREATE TEMPORARY TABLE base (id INT PRIMARY KEY, v INT DEFAULT 1)");
    for sql in [
        "INSERT INTO base (id) VALUES (1), (2)",
        "REPLACE INTO base VALUES (2, 5)",
        "UPDATE base SET v = v + 1 WHERE id = 1",
        "DELETE FROM base WHERE id = 2",
        "SELECT id, v FROM base WHERE v = 2 FOR UPDATE",
        "ALTER TABLE base ADD COLUMN w INT, ADD KEY (v)",
        "CREATE INDEX i ON base (w)",
        "SHOW CREATE TABLE base",
        "SHOW INDEX FROM base",
        "CHECK TABLE base",
        "TRUNCATE TABLE base",
        "CREATE TEMPORARY TABLE two LIKE base",
        "CREATE TEMPORARY TABLE three (KEY (id)) SELECT id FROM base",
        "DROP TABLE two, three",
    ] {
        c.run(sql);
    }
    assert_eq!(c.rows("SHOW COLUMNS FROM base").len(), 3);
    c.run("DROP TEMPORARY TABLE base");
    for (sql, error) in [
        ("SELECT * FROM base", 1142),
        ("INSERT INTO base VALUES (1)", 1142),
        ("DROP TABLE base", 1142),
        ("CREATE TABLE other (a INT)", 1142),
        ("CREATE TEMPORARY TABLE x LIKE base", 1142),
        ("CREATE TEMPORARY TABLE x SELECT * FROM base", 1142),
        ("CREATE TEMPORARY TABLE mysql.x (a INT)", 1044),
        ("RENAME TABLE base TO x", 1142),
        (
            "SELECT * FROM information_schema.INNODB_TEMP_TABLE_INFO",
            1227,
        ),
    ] {
        assert_eq!(c.error(sql), error, "{sql}");
    }
    change(&s, |a| {
        let everything_else = PrivSet::of(Priv::Create).with(Priv::Select);
        a.databases.insert("test".into(), everything_else);
    });
    assert_eq!(c.error("CREATE TEMPORARY TABLE test.x (a INT)"), 1044);
}

#[test]
fn a_read_only_server_lets_them_be_written() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE base (a INT)");
    c.run("SET GLOBAL super_read_only = ON");
    c.run("CREATE TEMPORARY TABLE t (a INT PRIMARY KEY)");
    c.run("INSERT INTO t VALUES (1), (2)");
    let add = c
        .session
        .prepare(b"UPDATE t SET a = 7 WHERE a = 1")
        .expect("a change")
        .id;
    assert_eq!(execute(&mut c, add), 0);
    c.run("ALTER TABLE t ADD COLUMN b INT");
    c.run("TRUNCATE TABLE t");
    assert_eq!(c.error("INSERT INTO base SELECT a FROM t"), 1290);
    assert_eq!(c.error("CREATE TABLE u AS SELECT a FROM t"), 1290);
    assert_eq!(c.error("DROP TABLE t, base"), 1290);
    c.run("DROP TABLE t");
    c.run("SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF");
}

#[test]
fn they_take_no_more_room_than_temporary_files_may() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    s.engine().temp_files().set_limit(2 << 20);
    c.run("CREATE TEMPORARY TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, b LONGBLOB)");
    c.run("INSERT INTO t (b) VALUES (REPEAT('x', 100000))");
    assert_eq!(
        c.error("INSERT INTO t (b) VALUES (REPEAT('x', 4000000))"),
        1114
    );
    assert_eq!(c.rows("SELECT id, LENGTH(b) FROM t"), [["1", "100000"]]);
    let mut made = 0;
    while c.error(&format!("CREATE TEMPORARY TABLE t{made} (a INT)")) == 0 {
        made += 1;
        assert!(made < 100, "no end");
    }
    assert_eq!(files(&disk).len(), made + 1, "what has failed left no file");
    for n in 0..made {
        c.run(&format!("DROP TEMPORARY TABLE t{n}"));
    }
    c.run("DROP TEMPORARY TABLE t");
    assert_eq!(s.engine().temp_files().held(), 0);
}

#[test]
fn a_table_made_from_a_query_is_whole_or_not_there() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let (mut c, mut other) = (Client::in_test(&s), Client::in_test(&s));
    c.run("CREATE TABLE p (id INT PRIMARY KEY)");
    c.run("INSERT INTO p VALUES (1), (2), (3)");
    let names = || {
        let all = disk
            .read_dir(Path::new("/data/data/test"))
            .expect("a folder");
        let mut names: Vec<String> = all.into_iter().map(|(name, _)| name).collect();
        names.sort();
        names
    };
    assert_eq!(
        c.error("CREATE TABLE t (PRIMARY KEY (a)) SELECT id DIV 2 AS a FROM p"),
        1062
    );
    assert_eq!(
        c.error("CREATE TABLE t SELECT (SELECT id FROM p) AS a FROM p"),
        1242
    );
    assert_eq!(names(), ["p.tdb"]);
    assert_eq!(c.session.engine.own_tables(), 0);
    c.run("CREATE TABLE t (n INT AUTO_INCREMENT UNIQUE, PRIMARY KEY (id)) SELECT id FROM p");
    assert_eq!(names(), ["p.tdb", "t.tdb"]);
    assert_eq!(
        other.rows("SELECT id, n FROM t ORDER BY id"),
        [["1", "1"], ["2", "2"], ["3", "3"]]
    );
    other.run("INSERT INTO t (id) VALUES (9)");
    assert_eq!(other.one("SELECT MAX(n) FROM t"), "4");
    // A snapshot that is older sees nothing of it, and says so.
    other.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    c.run("CREATE TABLE later SELECT id FROM p");
    assert_eq!(other.error("SELECT * FROM later"), 1412);
    other.run("COMMIT");
    // Rows that REPLACE has marked as deleted are purged, under the table's name or before.
    c.run("CREATE TABLE r (PRIMARY KEY (a), KEY (b)) REPLACE SELECT 1 AS a, id AS b FROM p ORDER BY id");
    assert_eq!(c.rows("SELECT a, b FROM r"), [["1", "3"]]);
    until("all is purged", || s.engine().counters().purge_queue == 0);
    assert_eq!(c.one("SELECT COUNT(*) FROM r WHERE b = 3"), "1");
    let checked = c.rows("CHECK TABLE r, t, later");
    assert!(checked.iter().all(|r| r[3] == "OK"), "{checked:?}");
    let disk = Arc::new(disk.crash(false));
    let mut c = Client::in_test(&server_on(disk));
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "4");
    c.run("INSERT INTO t (id) VALUES (10)");
    assert_eq!(c.one("SELECT MAX(n) FROM t"), "5");
}
