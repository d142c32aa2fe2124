//! INSERT, REPLACE, UPDATE and DELETE: what they change and what they report.

use super::Client;

#[test]
fn inserts() {
    let mut c = Client::with_table();
    assert_eq!(c.affected("INSERT INTO t (id, a) VALUES (6, 60)"), 1);
    assert_eq!(c.rows("SELECT * FROM t WHERE id = 6"), "6|60|NULL|0");
    let done = c
        .run("INSERT INTO t (id, c) VALUES (7, DEFAULT), (8, id + 1)")
        .done;
    assert_eq!(
        (done.affected, &*done.info),
        (2, "Records: 2  Duplicates: 0  Warnings: 0")
    );
    assert_eq!(c.rows("SELECT id, c FROM t WHERE id > 6"), "7|0 8|9");
    assert_eq!(c.affected("INSERT INTO t SET id = 9, b = 'nine'"), 1);
    assert_eq!(
        c.affected("INSERT INTO t (id, a) SELECT id + 100, a FROM t WHERE id < 3"),
        2
    );
    assert_eq!(
        c.rows("SELECT id, a FROM t WHERE id > 100"),
        "101|10 102|20"
    );
    assert_eq!(
        c.error("INSERT INTO t VALUES (1, 1, 'x', 1)"),
        (1062, "Duplicate entry '1' for key 't.PRIMARY'".into())
    );
    assert_eq!(
        c.error("INSERT INTO t (id, b) VALUES (50, 'ONE')"),
        (1062, "Duplicate entry 'ONE' for key 't.b'".into())
    );
    assert_eq!(
        c.error("INSERT INTO t (a) VALUES (1)"),
        (1364, "Field 'id' doesn't have a default value".into())
    );
    assert_eq!(
        c.error("INSERT INTO t (id) VALUES (NULL)"),
        (1048, "Column 'id' cannot be null".into())
    );
    assert_eq!(c.error("INSERT INTO t VALUES (1, 2)").0, 1136);
    assert_eq!(c.error("INSERT INTO t (id, id) VALUES (1, 2)").0, 1110);
    assert_eq!(
        c.error("INSERT INTO t (id, b) VALUES (60, 'a'), (61, '123456789012345678901')"),
        (1406, "Data too long for column 'b' at row 2".into())
    );
    assert_eq!(
        c.error("INSERT INTO t (id) VALUES (99999999999)"),
        (1264, "Out of range value for column 'id' at row 1".into())
    );
    assert_eq!(c.error("INSERT INTO t (id, a) VALUES (70, 'x')").0, 1366);
    assert_eq!(
        c.rows("SELECT COUNT(*) FROM t WHERE id IN (50, 60, 61, 70)"),
        "0"
    );
}

#[test]
fn duplicates() {
    let mut c = Client::with_table();
    assert_eq!(
        c.affected("INSERT IGNORE INTO t (id, a) VALUES (1, 1), (6, 6)"),
        1
    );
    assert_eq!(c.affected("REPLACE INTO t VALUES (1, 11, 'one', 5)"), 2);
    assert_eq!(c.affected("REPLACE INTO t VALUES (7, 1, 'two', 5)"), 2);
    assert_eq!(c.rows("SELECT id FROM t ORDER BY id"), "1 3 4 5 6 7");
    let sql =
        "INSERT INTO t (id, a) VALUES (3, 5) ON DUPLICATE KEY UPDATE a = a + VALUES(a), c = 9";
    assert_eq!(c.affected(sql), 2);
    assert_eq!(c.rows("SELECT a, c FROM t WHERE id = 3"), "25|9");
    assert_eq!(
        c.affected("INSERT INTO t (id, a) VALUES (3, 5) AS n ON DUPLICATE KEY UPDATE a = n.a"),
        2
    );
    assert_eq!(
        c.affected("INSERT INTO t (id, a) VALUES (3, 5) ON DUPLICATE KEY UPDATE a = 5"),
        0
    );
    assert_eq!(
        c.affected("INSERT INTO t (id, a) VALUES (8, 5) ON DUPLICATE KEY UPDATE a = 6"),
        1
    );
}

#[test]
fn auto_increment() {
    let mut c = Client::new();
    c.run("CREATE TABLE s (id INT PRIMARY KEY AUTO_INCREMENT, v INT)");
    let done = c.run("INSERT INTO s (v) VALUES (1), (2), (3)").done;
    assert_eq!((done.last_insert_id, done.generated_id), (1, Some(1)));
    assert_eq!(c.rows("SELECT LAST_INSERT_ID()"), "1");
    assert_eq!(
        c.run("INSERT INTO s VALUES (10, 4)").done.last_insert_id,
        10
    );
    assert_eq!(c.rows("SELECT LAST_INSERT_ID()"), "1");
    c.run("INSERT INTO s VALUES (0, 5), (NULL, 6)");
    assert_eq!(c.rows("SELECT id FROM s ORDER BY id"), "1 2 3 10 11 12");
    assert_eq!(c.rows("SELECT LAST_INSERT_ID()"), "11");
    c.run("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'");
    c.run("INSERT INTO s VALUES (0, 7)");
    assert_eq!(c.rows("SELECT v FROM s WHERE id = 0"), "7");
}

#[test]
fn updates() {
    let mut c = Client::with_table();
    let done = c.run("UPDATE t SET c = c + 1 WHERE id = 1").done;
    assert_eq!(
        (done.affected, &*done.info),
        (1, "Rows matched: 1  Changed: 1  Warnings: 0")
    );
    let done = c.run("UPDATE t SET c = 4 WHERE a = 20").done;
    assert_eq!(done.info, "Rows matched: 2  Changed: 1  Warnings: 0");
    assert_eq!(c.affected("UPDATE t SET c = 7 WHERE id = 99"), 0);
    assert_eq!(c.rows("SELECT id, c FROM t"), "1|6 2|4 3|4 4|2 5|1");
    assert_eq!(c.affected("UPDATE t SET a = a + 1 WHERE a >= 10"), 4);
    assert_eq!(c.rows("SELECT a FROM t"), "11 21 21 NULL 31");
    assert_eq!(c.affected("UPDATE t SET id = id + 1 ORDER BY id DESC"), 5);
    assert_eq!(c.rows("SELECT id FROM t"), "2 3 4 5 6");
    assert_eq!(c.error("UPDATE t SET id = id + 1 ORDER BY id").0, 1062);
    assert_eq!(c.rows("SELECT id FROM t"), "2 3 4 5 6");
    assert_eq!(
        c.affected("UPDATE t SET c = 100 ORDER BY id DESC LIMIT 2"),
        2
    );
    assert_eq!(c.rows("SELECT id FROM t WHERE c = 100"), "5 6");
    assert_eq!(c.affected("UPDATE t SET c = c + 1, a = c WHERE id = 5"), 1);
    assert_eq!(c.rows("SELECT a, c FROM t WHERE id = 5"), "101|101");
    assert_eq!(c.error("UPDATE t SET id = NULL WHERE id = 2").0, 1048);
    assert_eq!(
        c.error("UPDATE t SET b = 'two' WHERE b = 'one'"),
        (1062, "Duplicate entry 'two' for key 't.b'".into())
    );
    assert_eq!(c.affected("UPDATE t SET c = DEFAULT WHERE id = 5"), 1);
    assert_eq!(c.rows("SELECT c FROM t WHERE id = 5"), "0");
    assert_eq!(c.error("UPDATE t SET c = (SELECT MAX(c) FROM t)").0, 1093);
    assert_eq!(c.affected("UPDATE t SET b = UPPER(b) WHERE id = 2"), 1);
}

#[test]
fn updates_of_joined_tables() {
    let mut c = Client::with_table();
    c.run("CREATE TABLE u (id INT PRIMARY KEY, v INT)");
    c.run("INSERT INTO u VALUES (1, 100), (2, 200)");
    assert_eq!(
        c.affected("UPDATE t JOIN u ON t.id = u.id SET t.c = u.v, u.v = 0"),
        4
    );
    assert_eq!(c.rows("SELECT c FROM t WHERE id < 3"), "100 200");
    assert_eq!(c.rows("SELECT v FROM u"), "0 0");
    assert_eq!(
        c.affected("UPDATE t SET c = 1 WHERE id IN (SELECT id FROM u)"),
        2
    );
    assert_eq!(
        c.affected("UPDATE t SET c = (SELECT COUNT(*) FROM u WHERE u.id <= t.id)"),
        3
    );
    assert_eq!(c.rows("SELECT c FROM t"), "1 2 2 2 2");
}

#[test]
fn deletes() {
    let mut c = Client::with_table();
    assert_eq!(c.affected("DELETE FROM t WHERE id = 1"), 1);
    assert_eq!(c.affected("DELETE FROM t WHERE id = 1"), 0);
    assert_eq!(c.affected("DELETE FROM t WHERE a = 20 AND c = 3"), 1);
    assert_eq!(c.affected("DELETE FROM t ORDER BY c LIMIT 1"), 1);
    assert_eq!(c.rows("SELECT id FROM t"), "2 4");
    c.run("CREATE TABLE u (id INT PRIMARY KEY)");
    c.run("INSERT INTO u VALUES (2), (3)");
    assert_eq!(c.affected("DELETE t, u FROM t JOIN u ON t.id = u.id"), 2);
    assert_eq!(
        c.affected("DELETE x FROM t x LEFT JOIN u ON u.id = x.id WHERE u.id IS NULL"),
        1
    );
    assert_eq!(c.rows("SELECT COUNT(*) FROM t"), "0");
    assert_eq!(c.error("DELETE zz FROM t").0, 1109);
    assert_eq!(c.affected("DELETE FROM u"), 1);
}

#[test]
fn timestamps_follow_updates() {
    let mut c = Client::new();
    c.run(
        "CREATE TABLE s (id INT PRIMARY KEY, v INT, m TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6))",
    );
    c.run("SET timestamp = 1000000");
    c.run("INSERT INTO s (id, v) VALUES (1, 1)");
    c.run("SET timestamp = 2000000");
    c.run("UPDATE s SET v = 1");
    assert_eq!(c.rows("SELECT UNIX_TIMESTAMP(m) FROM s"), "1000000.000000");
    c.run("UPDATE s SET v = 2");
    assert_eq!(c.rows("SELECT UNIX_TIMESTAMP(m) FROM s"), "2000000.000000");
}

#[test]
fn a_failed_statement_changes_nothing() {
    let mut c = Client::with_table();
    assert_eq!(c.error("INSERT INTO t (id) VALUES (20), (21), (1)").0, 1062);
    assert_eq!(
        c.error("UPDATE t SET c = 1, b = 'same' WHERE id > 1").0,
        1062
    );
    assert_eq!(c.rows("SELECT COUNT(*), SUM(c) FROM t"), "5|15");
    c.run("BEGIN");
    c.run("DELETE FROM t WHERE id = 1");
    assert_eq!(c.error("INSERT INTO t (id) VALUES (20), (2)").0, 1062);
    c.run("COMMIT");
    assert_eq!(c.rows("SELECT COUNT(*) FROM t"), "4");
}

#[test]
fn others_see_what_is_committed() {
    let mut c = Client::with_table();
    let mut d = c.another();
    c.run("BEGIN");
    c.run("UPDATE t SET c = 50 WHERE id = 1");
    assert_eq!(d.rows("SELECT c FROM t WHERE id = 1"), "5");
    assert_eq!(c.rows("SELECT c FROM t WHERE id = 1 FOR UPDATE"), "50");
    assert_eq!(
        d.rows("SELECT id FROM t WHERE id < 3 FOR UPDATE SKIP LOCKED"),
        "2"
    );
    assert_eq!(
        d.error("SELECT id FROM t WHERE id = 1 FOR SHARE NOWAIT").0,
        3572
    );
    c.run("COMMIT");
    assert_eq!(d.rows("SELECT c FROM t WHERE id = 1"), "50");
}
