//! Sessions that want the same rows.

use super::*;

fn two() -> (Client, Client) {
    let s = server();
    let mut a = Client::in_test(&s);
    let b = Client::in_test(&s);
    a.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    a.run("INSERT INTO t VALUES (1, 0), (2, 0)");
    (a, b)
}

#[test]
fn a_lock_wait_ends_with_the_statement_alone() {
    let (mut a, mut b) = two();
    a.run("BEGIN");
    a.run("UPDATE t SET v = 1 WHERE id = 1");
    b.run("SET innodb_lock_wait_timeout = 1");
    b.run("BEGIN");
    b.run("UPDATE t SET v = 2 WHERE id = 2");
    assert_eq!(
        b.error("SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT"),
        3572
    );
    assert_eq!(b.rows("SELECT id FROM t FOR UPDATE SKIP LOCKED"), [["2"]]);
    assert_eq!(b.error("UPDATE t SET v = 2 WHERE id = 1"), 1205);
    assert!(b.session.engine.in_transaction());
    a.run("COMMIT");
    b.run("COMMIT");
    assert_eq!(a.rows("SELECT v FROM t"), [["1"], ["2"]]);
}

#[test]
fn snapshot_isolation_refuses_to_change_a_row_that_changed_since() {
    let (mut a, mut b) = two();
    a.run("SET innodb_snapshot_isolation = ON");
    a.run("BEGIN");
    a.run("SELECT * FROM t");
    b.run("UPDATE t SET v = 5 WHERE id = 1");
    assert_eq!(a.error("UPDATE t SET v = 6 WHERE id = 1"), 1213);
    assert!(!a.session.engine.in_transaction());
    assert_eq!(a.rows("SELECT v FROM t WHERE id = 1"), [["5"]]);
    a.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    a.run("BEGIN");
    a.run("SELECT * FROM t");
    b.run("UPDATE t SET v = 7 WHERE id = 1");
    a.run("UPDATE t SET v = v + 1 WHERE id = 1");
    a.run("COMMIT");
    assert_eq!(b.one("SELECT v FROM t WHERE id = 1"), "8");
}

#[test]
fn a_deadlock_has_one_victim() {
    let (mut a, mut b) = two();
    a.run("BEGIN");
    b.run("BEGIN");
    a.run("UPDATE t SET v = 1 WHERE id = 1");
    b.run("UPDATE t SET v = 2 WHERE id = 2");
    let waits = std::thread::spawn(move || {
        let code = a.error("UPDATE t SET v = 1 WHERE id = 2");
        (a, code)
    });
    let second = b.error("UPDATE t SET v = 2 WHERE id = 1");
    if second == 0 {
        b.run("COMMIT");
    }
    let (mut a, first) = waits.join().expect("no panic");
    if first == 0 {
        a.run("COMMIT");
    }
    let mut codes = [first, second];
    codes.sort_unstable();
    assert_eq!(codes, [0, 1213]);
}

#[test]
fn a_waiting_statement_can_be_killed() {
    let (mut a, mut b) = two();
    a.run("BEGIN");
    a.run("SELECT * FROM t FOR UPDATE");
    let id = b.session.id();
    let waits = std::thread::spawn(move || b.error("DELETE FROM t"));
    let running = |a: &mut Client| {
        let sql = format!("SELECT command FROM information_schema.processlist WHERE id = {id}");
        a.one(&sql) == "Query"
    };
    while !running(&mut a) {
        std::thread::yield_now();
    }
    while !waits.is_finished() {
        // 1094 once the other connection is gone.
        assert!([0, 1094].contains(&a.error(&format!("KILL QUERY {id}"))));
        std::thread::yield_now();
    }
    assert_eq!(waits.join().expect("no panic"), 1317);
}

/// An UPDATE that leaves a row as it is excludes others all the same, whichever way it finds the row, at the level that locks least.
#[test]
fn what_a_change_has_looked_at_stays_locked() {
    let s = server();
    let (mut a, mut b) = (Client::in_test(&s), Client::in_test(&s));
    a.run("CREATE TABLE t (id INT PRIMARY KEY, u INT, v TINYINT, UNIQUE KEY (u), KEY (v))");
    a.run("INSERT INTO t VALUES (1, 11, 5), (2, 12, 6), (3, 13, 7)");
    a.run("CREATE TABLE o (id INT PRIMARY KEY)");
    a.run("INSERT INTO o VALUES (1), (2)");
    a.run("CREATE VIEW w AS SELECT id, v FROM t");
    a.run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    a.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    let failing = [
        ("UPDATE t SET v = 300 WHERE id = 1", 1264),
        ("UPDATE t SET v = 300 WHERE v = 5", 1264),
        ("UPDATE t SET u = 13 WHERE id = 1", 1062),
        ("UPDATE t SET u = 13 WHERE v = 5", 1062),
        ("UPDATE t SET id = 3 WHERE id = 1", 1062),
    ];
    let same = [
        "UPDATE t SET v = v WHERE id = 1",
        "UPDATE t SET v = v WHERE u = 11",
        "UPDATE t SET u = u WHERE v = 5",
        "UPDATE t SET u = u WHERE id IN (1)",
        "UPDATE t SET u = u WHERE id + 0 = 1",
        "UPDATE t SET u = u WHERE id < 2 ORDER BY v LIMIT 1",
        "UPDATE w SET v = v WHERE id = 1",
        "UPDATE t JOIN o ON o.id = t.id SET t.v = t.v WHERE t.id = 1",
        "INSERT INTO t VALUES (1, 0, 0) ON DUPLICATE KEY UPDATE v = t.v",
        "INSERT INTO t VALUES (9, 11, 0) ON DUPLICATE KEY UPDATE v = t.v",
        "REPLACE INTO t VALUES (1, 11, 5)",
    ];
    let locked = |b: &mut Client, table: &str, id: i64| {
        let sql = format!("SELECT * FROM {table} WHERE id = {id} FOR UPDATE NOWAIT");
        b.try_all(&sql).err().map_or(0, |e| e.code)
    };
    for (sql, code) in same.iter().map(|s| (*s, 0)).chain(failing) {
        a.run("BEGIN");
        match code {
            0 => drop(a.run(sql)),
            code => assert_eq!(a.error(sql), code, "{sql}"),
        }
        assert_eq!(locked(&mut b, "t", 1), 3572, "{sql}");
        assert_eq!(locked(&mut b, "t", 2), 0, "{sql}");
        let met = if code == 1062 { 3572 } else { 0 };
        assert_eq!(locked(&mut b, "t", 3), met, "{sql}");
        // What is read beside it is held for sharing.
        let beside = if sql.contains("JOIN") { 3572 } else { 0 };
        assert_eq!(locked(&mut b, "o", 1), beside, "{sql}");
        a.run("ROLLBACK");
        assert_eq!(locked(&mut b, "t", 1), 0, "{sql}");
    }
    // What does not match is free again.
    for sql in [
        "UPDATE t SET v = 1 WHERE id = 1 AND u = 0",
        "DELETE FROM t WHERE id = 1 AND u = 0",
        "UPDATE t SET v = 1 WHERE v = 5 AND u = 0",
    ] {
        a.run("BEGIN");
        a.run(sql);
        assert_eq!(locked(&mut b, "t", 1), 0, "{sql}");
        a.run("ROLLBACK");
    }
}

/// What is read beside a change, or for a value that goes elsewhere, is held for sharing at every level. What InnoDB reads as SELECT does below REPEATABLE
/// READ is free there.
#[test]
fn what_is_read_beside_a_change_is_shared() {
    let s = server();
    let (mut a, mut b) = (Client::in_test(&s), Client::in_test(&s));
    a.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    a.run("INSERT INTO t VALUES (1, 5), (2, 6), (3, 7)");
    a.run("CREATE TABLE o (id INT PRIMARY KEY, v INT)");
    a.run("INSERT INTO o VALUES (1, 0), (2, 0)");
    let always = [
        "DELETE FROM o WHERE id = (SELECT MAX(id) FROM t WHERE v = 6)",
        "DELETE o FROM o WHERE id IN (SELECT id FROM t WHERE id = 2)",
        "INSERT INTO o VALUES (9, (SELECT v FROM t WHERE id = 2))",
        "INSERT INTO o VALUES (1, 0) ON DUPLICATE KEY UPDATE v = (SELECT v FROM t WHERE id = 2)",
        "REPLACE INTO o SET id = 9, v = (SELECT v FROM t WHERE id = 2)",
        "UPDATE o JOIN o AS p ON p.id = o.id SET o.v = (SELECT v FROM t WHERE id = 2)",
        "SET @a = (SELECT v FROM t WHERE id = 2)",
        "SET @a = 1, @b = 1 + (SELECT MAX(v) FROM t WHERE v = 6)",
        "DO (SELECT v FROM t WHERE id = 2)",
    ];
    let above = [
        "UPDATE o SET v = (SELECT v FROM t WHERE id = 2) WHERE id = 1",
        "INSERT INTO o SELECT 9, v FROM t WHERE id = 2",
        "REPLACE INTO o SELECT 9, v FROM t WHERE id = 2",
        "INSERT INTO o SELECT 1, v FROM t WHERE id = 2 ON DUPLICATE KEY UPDATE v = (SELECT v FROM t WHERE id = 2)",
    ];
    let never = [
        "SELECT v FROM t WHERE id = 2",
        "SELECT v INTO @a FROM t WHERE id = 2",
        "SELECT id FROM o WHERE id = (SELECT MAX(id) FROM t WHERE v = 6) FOR UPDATE",
    ];
    let levels = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ"];
    let with = |share: bool, id: i64| {
        let how = if share { "FOR SHARE" } else { "FOR UPDATE" };
        format!("SELECT * FROM t WHERE id = {id} {how} NOWAIT")
    };
    for (at, level) in levels.iter().enumerate() {
        a.run(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        b.run(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        let all = always.iter().map(|sql| (sql, true));
        let all = all.chain(above.iter().map(|sql| (sql, at == 2)));
        for (sql, shared) in all.chain(never.iter().map(|sql| (sql, false))) {
            a.run("BEGIN");
            a.run(sql);
            let code = |b: &mut Client, sql: &str| b.try_all(sql).err().map_or(0, |e| e.code);
            let wanted = if shared { 3572 } else { 0 };
            assert_eq!(code(&mut b, &with(false, 2)), wanted, "{level}: {sql}");
            assert_eq!(code(&mut b, &with(true, 2)), 0, "{level}: {sql}");
            if at < 2 {
                // What does not match is free.
                assert_eq!(code(&mut b, &with(false, 3)), 0, "{level}: {sql}");
            }
            a.run("ROLLBACK");
        }
    }
    // It is the newest that is read, and its writer is waited for.
    a.run("BEGIN");
    a.run("SELECT * FROM t");
    b.run("UPDATE t SET v = 8 WHERE id = 2");
    a.run("SET @a = (SELECT v FROM t WHERE id = 2)");
    assert_eq!(a.one("SELECT @a"), "8");
    assert_eq!(a.one("SELECT v FROM t WHERE id = 2"), "6");
    b.run("SET innodb_lock_wait_timeout = 1");
    assert_eq!(b.error("UPDATE t SET v = 9 WHERE id = 2"), 1205);
    a.run("COMMIT");
    b.run("UPDATE t SET v = 9 WHERE id = 2");
}
