//! `read_only` and `super_read_only`: what is committed when SET answers, and what is refused from then on.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{Client, Instance, server};

fn started() -> (Arc<Instance>, Client) {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)",
    );
    c.run("CREATE USER u; GRANT ALL ON test.* TO u");
    (s, c)
}

fn of_user(s: &Arc<Instance>) -> Client {
    let mut u = Client::of(s, "u");
    u.run("USE test");
    u
}

const UP: &str = "SET GLOBAL super_read_only = ON";
const DOWN: &str = "SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF";

/// How a transaction that has changed row 1 may end, and whether the error leaves it prepared.
const ENDS: &[(&str, &str, bool)] = &[
    ("BEGIN; UPDATE t SET v = 1 WHERE id = 1", "COMMIT", false),
    (
        "BEGIN; UPDATE t SET v = 1 WHERE id = 1",
        "COMMIT AND CHAIN",
        false,
    ),
    ("BEGIN; UPDATE t SET v = 1 WHERE id = 1", "BEGIN", false),
    (
        "BEGIN; UPDATE t SET v = 1 WHERE id = 1",
        "SET autocommit = 1; SET autocommit = 0; SET autocommit = 1; COMMIT",
        false,
    ),
    (
        "SET autocommit = 0; UPDATE t SET v = 1 WHERE id = 1",
        "COMMIT",
        false,
    ),
    (
        "SET autocommit = 0; UPDATE t SET v = 1 WHERE id = 1",
        "SET autocommit = 1",
        false,
    ),
    (
        "BEGIN; INSERT INTO t VALUES (9, 9)",
        "LOCK TABLES t READ",
        false,
    ),
    (
        "BEGIN; DELETE FROM t WHERE id = 1",
        "START TRANSACTION READ ONLY",
        false,
    ),
    (
        "BEGIN; UPDATE t SET v = 1 WHERE id = 1; CREATE TEMPORARY TABLE tt (a INT)",
        "COMMIT",
        false,
    ),
    (
        "BEGIN; UPDATE t SET v = 1 WHERE id = 1; SELECT * FROM t",
        "UNLOCK TABLES; COMMIT",
        false,
    ),
    (
        "XA START 'x'; UPDATE t SET v = 1 WHERE id = 1; XA END 'x'",
        "XA PREPARE 'x'",
        false,
    ),
    (
        "XA START 'x'; UPDATE t SET v = 1 WHERE id = 1; XA END 'x'",
        "XA COMMIT 'x' ONE PHASE",
        false,
    ),
    (
        "XA START 'x'; UPDATE t SET v = 1 WHERE id = 1; XA END 'x'; XA PREPARE 'x'",
        "XA COMMIT 'x'",
        true,
    ),
    (
        "XA START 'x'; UPDATE t SET v = 1 WHERE id = 1; XA END 'x'; XA PREPARE 'x'",
        "XA ROLLBACK 'x'",
        true,
    ),
    (
        "SET xa_detach_on_prepare = 0; XA START 'x'; UPDATE t SET v = 1 WHERE id = 1; XA END 'x'; XA PREPARE 'x'",
        "XA COMMIT 'x'",
        true,
    ),
];

#[test]
fn what_was_open_cannot_be_committed_behind_the_fence() {
    for (user, variable) in [
        ("root", "super_read_only"),
        ("u", "super_read_only"),
        ("u", "read_only"),
    ] {
        for (open, end, prepared) in ENDS {
            let (s, mut root) = started();
            let mut c = Client::of(&s, user);
            c.run("USE test");
            c.run(open);
            root.run(&format!("SET GLOBAL {variable} = ON"));
            assert_eq!(c.error(end), 1290, "{user} {variable}: {open}; {end}");
            let rows = root.rows("SELECT * FROM t ORDER BY id");
            assert_eq!(rows, [["1", "0"], ["2", "0"], ["3", "0"]], "{open}; {end}");
            let left = root.rows("XA RECOVER").len();
            assert_eq!(left, usize::from(*prepared), "{open}; {end}");
            // Nothing is left of it: no lock, no transaction.
            root.run(DOWN);
            root.run("SET innodb_lock_wait_timeout = 1");
            match prepared {
                true => root.run("XA COMMIT 'x'"),
                false => root.run("UPDATE t SET v = 2 WHERE id = 1"),
            };
            c.run("INSERT INTO t VALUES (10, 0)");
        }
    }
}

#[test]
fn who_passes_goes_on() {
    let (s, mut root) = started();
    let mut u = of_user(&s);
    let mut admin = Client::in_test(&s);
    // A transaction that changes temporary tables alone, or nothing, is anybody's.
    u.run("CREATE TEMPORARY TABLE tt (a INT)");
    u.run("BEGIN; INSERT INTO tt VALUES (1), (2); SELECT * FROM t WHERE id = 1 FOR UPDATE");
    admin.run("BEGIN; UPDATE t SET v = 7 WHERE id = 2");
    root.run("SET GLOBAL read_only = ON");
    u.run("COMMIT");
    assert_eq!(u.one("SELECT COUNT(*) FROM tt"), "2");
    admin.run("COMMIT");
    assert_eq!(root.one("SELECT v FROM t WHERE id = 2"), "7");
    // An account that has become an administrator meanwhile is one.
    root.run("SET GLOBAL read_only = OFF");
    u.run("BEGIN; UPDATE t SET v = 8 WHERE id = 2");
    root.run("SET GLOBAL read_only = ON; GRANT CONNECTION_ADMIN ON *.* TO u");
    u.run("SELECT 1; COMMIT");
    assert_eq!(root.one("SELECT v FROM t WHERE id = 2"), "8");
}

#[test]
fn the_variables_go_together() {
    let (_, mut root) = started();
    let both = "SELECT CONCAT(@@GLOBAL.read_only, @@GLOBAL.super_read_only)";
    root.run("SET GLOBAL super_read_only = ON");
    assert_eq!(root.one(both), "11");
    root.run("SET GLOBAL super_read_only = OFF");
    assert_eq!(root.one(both), "10");
    root.run("SET GLOBAL super_read_only = ON; SET GLOBAL read_only = OFF");
    assert_eq!(root.one(both), "00");
    root.run("INSERT INTO t VALUES (4, 0)");
    root.run("SET GLOBAL read_only = 1");
    assert_eq!(root.one(both), "10");
    root.run("SET GLOBAL read_only = DEFAULT");
    assert_eq!(root.one(both), "00");
    assert_eq!(root.error("SET GLOBAL super_read_only = 7"), 1231);
    assert_eq!(root.error("SET super_read_only = 1"), 1229);
    assert_eq!(root.one(both), "00");
}

#[test]
fn who_has_something_open_raises_no_fence() {
    let (s, mut root) = started();
    for (open, close) in [
        ("BEGIN", "ROLLBACK"),
        ("LOCK TABLES t READ", "UNLOCK TABLES"),
        ("XA START 'x'", "XA END 'x'; XA ROLLBACK 'x'"),
    ] {
        for variable in ["read_only", "super_read_only"] {
            root.run(open);
            let set = |on| format!("SET GLOBAL {variable} = {on}");
            assert_eq!(root.error(&set(1)), 1192, "{open}");
            root.run(&set(0));
            root.run(close);
        }
    }
    // Its own lock of the server is no hindrance, and stays.
    let mut other = Client::in_test(&s);
    root.run("FLUSH TABLES WITH READ LOCK");
    root.run(UP);
    other.run("SET lock_wait_timeout = 1");
    assert_eq!(other.error("UPDATE t SET v = 1"), 1290);
    root.run(DOWN);
    assert_eq!(other.error("UPDATE t SET v = 1"), 1205);
    root.run("UNLOCK TABLES");
    other.run("UPDATE t SET v = 1");
}

fn behind(mut c: Client, sql: &'static str) -> thread::JoinHandle<u16> {
    thread::spawn(move || c.try_all(sql).map_or_else(|e| e.code, |_| 0))
}

#[test]
fn what_is_under_way_is_waited_for() {
    let (s, mut root) = started();
    // A statement that waits for a row.
    root.run("BEGIN; SELECT * FROM t WHERE id = 1 FOR UPDATE");
    let mut writer = Client::in_test(&s);
    writer.run("SET innodb_lock_wait_timeout = 60");
    let writes = behind(writer, "UPDATE t SET v = 5 WHERE id = 1");
    thread::sleep(Duration::from_millis(50));
    let mut impatient = Client::in_test(&s);
    impatient.run("SET lock_wait_timeout = 1");
    assert_eq!(impatient.error(UP), 1205);
    assert_eq!(
        root.one("SELECT @@GLOBAL.read_only + @@GLOBAL.super_read_only"),
        "0"
    );
    let raises = behind(Client::in_test(&s), UP);
    thread::sleep(Duration::from_millis(150));
    assert!(!raises.is_finished());
    root.run("COMMIT");
    let (written, raised) = (
        writes.join().expect("writer"),
        raises.join().expect("fence"),
    );
    assert_eq!(raised, 0);
    // Both orders are right, and what was acknowledged is there.
    let v = if written == 0 { "5" } else { "0" };
    assert!(written == 0 || written == 1290, "{written}");
    assert_eq!(root.one("SELECT v FROM t WHERE id = 1"), v);
    assert_eq!(root.error("UPDATE t SET v = 1"), 1290);
}

#[test]
fn a_definition_that_waits_is_refused_when_its_turn_comes() {
    let (s, mut root) = started();
    // Each of these waits for what root gives back in the end.
    for sql in [
        "CREATE TABLE n (a INT)",
        "ALTER TABLE t ADD COLUMN w INT",
        "DROP TABLE t",
        "CREATE DATABASE d2",
        "CREATE VIEW w AS SELECT 1",
        "TRUNCATE TABLE t",
        "CREATE USER v",
        "RENAME TABLE t TO t2",
    ] {
        root.run("FLUSH TABLES WITH READ LOCK");
        let t = behind(Client::in_test(&s), sql);
        thread::sleep(Duration::from_millis(40));
        root.run(UP);
        root.run("UNLOCK TABLES");
        assert_eq!(t.join().expect("a definition"), 1290, "{sql}");
        root.run(DOWN);
    }
    assert_eq!(root.one("SELECT COUNT(*) FROM t"), "3");
}

/// Every commit that is acknowledged is there when SET has answered.
#[test]
fn nothing_is_committed_after_the_answer() {
    let (s, mut root) = started();
    root.run("CREATE TABLE c (id INT PRIMARY KEY, n INT)");
    for id in 0..4 {
        root.run(&format!("INSERT INTO c VALUES ({id}, 0)"));
    }
    for round in 0..30 {
        let writers: Vec<_> = (0..4)
            .map(|id| {
                let mut c = Client::in_test(&s);
                thread::spawn(move || {
                    let update = format!("UPDATE c SET n = n + 1 WHERE id = {id}");
                    let text = match id {
                        0 => update,
                        1 => format!("BEGIN; {update}; COMMIT"),
                        2 => format!(
                            "XA START 'a'; {update}; XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'"
                        ),
                        _ => format!("XA START 'b'; {update}; XA END 'b'; XA COMMIT 'b' ONE PHASE"),
                    };
                    let mut n = 0;
                    loop {
                        match c.try_all(&text) {
                            Ok(_) => n += 1,
                            Err(e) if e.code == 1290 => return n,
                            Err(e) => panic!("{e}"),
                        }
                    }
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(5 + round % 7));
        root.run(UP);
        let seen = root.rows("SELECT n FROM c ORDER BY id");
        let done: Vec<_> = writers
            .into_iter()
            .map(|w| vec![w.join().expect("a writer").to_string()])
            .collect();
        assert_eq!(seen, done);
        root.run(DOWN);
        for x in root.rows("XA RECOVER") {
            root.run(&format!("XA ROLLBACK '{}'", x[3]));
        }
        root.run("UPDATE c SET n = 0");
    }
}

/// A branch that is prepared when the fence goes up may be ended for a moment: SET answers when it has been.
#[test]
fn branches_that_are_prepared_are_let_end() {
    for (end, v) in [("XA COMMIT 'x'", "1"), ("XA ROLLBACK 'x'", "0")] {
        let (s, mut root) = started();
        let mut c = Client::in_test(&s);
        c.run("XA START 'x'; UPDATE t SET v = 1 WHERE id = 1; XA END 'x'; XA PREPARE 'x'");
        let mut late = Client::in_test(&s);
        late.run("XA START 'y'; UPDATE t SET v = 1 WHERE id = 2; XA END 'y'");
        let raises = behind(Client::in_test(&s), UP);
        thread::sleep(Duration::from_millis(200));
        assert!(!raises.is_finished());
        // No other is prepared meanwhile, and nothing else is changed.
        assert_eq!(late.error("XA PREPARE 'y'"), 1290);
        // Who sets it again is not told that it is done.
        let again = behind(Client::new(&s), UP);
        assert_eq!(late.error("UPDATE t SET v = 1 WHERE id = 3"), 1290);
        thread::sleep(Duration::from_millis(50));
        assert!(!again.is_finished());
        c.run(end);
        assert_eq!(raises.join().expect("fence"), 0);
        assert_eq!(again.join().expect("fence"), 0);
        assert_eq!(root.one("SELECT v FROM t WHERE id = 1"), v);
        assert_eq!(root.one("SELECT @@GLOBAL.super_read_only"), "1");
    }
    // Who is killed meanwhile has raised nothing.
    let (s, mut root) = started();
    let mut c = Client::in_test(&s);
    c.run("XA START 'x'; UPDATE t SET v = 1 WHERE id = 1; XA END 'x'; XA PREPARE 'x'");
    let mut raises = Client::in_test(&s);
    let id = raises.one("SELECT CONNECTION_ID()");
    let raises = behind(raises, UP);
    thread::sleep(Duration::from_millis(100));
    root.run(&format!("KILL QUERY {id}"));
    assert_eq!(raises.join().expect("fence"), 1317);
    c.run("XA COMMIT 'x'; UPDATE t SET v = 3 WHERE id = 2");
}
