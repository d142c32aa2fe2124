//! ALTER TABLE that writes rows again: what it makes of definitions and rows, and that a failure leaves all as it was.

use super::*;

fn create_text(c: &mut Client, table: &str) -> String {
    c.rows(&format!("SHOW CREATE TABLE {table}"))[0][1].clone()
}

/// A table whose rows do not all fit into one run.
fn filled(c: &mut Client) {
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(40), KEY (a), UNIQUE KEY (b))");
    for from in (0..3000).step_by(500) {
        let rows: Vec<String> = (from..from + 500)
            .map(|i| format!("({i}, {}, 'row {i} {}')", i % 37, "x".repeat(i % 20)))
            .collect();
        c.run(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    }
    c.run("DELETE FROM t WHERE id % 5 = 0");
}

fn sums(c: &mut Client) -> Vec<Vec<String>> {
    c.rows("SELECT COUNT(*), SUM(id), SUM(a), SUM(CRC32(b)) FROM t")
}

fn sound(c: &mut Client, table: &str) {
    let rows = c.rows(&format!("CHECK TABLE {table}"));
    assert_eq!(rows[0][3], "OK", "{rows:?}");
}

#[test]
fn rows_and_indexes_are_there_after_a_rebuild() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    filled(&mut c);
    let before = sums(&mut c);
    let text = create_text(&mut c, "t");
    for statement in [
        "ALTER TABLE t FORCE",
        "ALTER TABLE t ENGINE=InnoDB",
        "OPTIMIZE TABLE t",
        // The rows come in another order than their keys then.
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (b), ADD KEY (id)",
        "ALTER TABLE t DROP PRIMARY KEY",
        "ALTER TABLE t DROP KEY id, DROP KEY b, ADD UNIQUE KEY (b), ADD PRIMARY KEY (id)",
    ] {
        c.run(statement);
        assert_eq!(sums(&mut c), before, "{statement}");
        sound(&mut c, "t");
        assert_eq!(
            c.one("SELECT COUNT(*) FROM t FORCE INDEX (a) WHERE a = 7"),
            "65",
            "{statement}"
        );
    }
    // The primary key that it was part of has left a trace, as in MySQL.
    let not_null = text.replace("`b` varchar(40) DEFAULT NULL", "`b` varchar(40) NOT NULL");
    assert_eq!(create_text(&mut c, "t"), not_null);
    drop(c);
    block_on(s.engine().close()).expect("closed");
    drop(s);
    let mut c = Client::in_test(&server_on(disk));
    assert_eq!(sums(&mut c), before);
    sound(&mut c, "t");
}

#[test]
fn a_rebuild_that_fails_leaves_the_table_as_it_was() {
    let mut c = Client::in_test(&server());
    filled(&mut c);
    c.run("INSERT INTO t VALUES (5000, 1, 'twice'), (5001, 1, NULL)");
    let before = sums(&mut c);
    let text = create_text(&mut c, "t");
    for (statement, code) in [
        ("ALTER TABLE t ADD COLUMN c INT, ADD UNIQUE KEY (a)", 1062),
        ("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a)", 1062),
        ("ALTER TABLE t MODIFY b INT", 1366),
        ("ALTER TABLE t MODIFY b VARCHAR(3)", 1265),
        ("ALTER TABLE t MODIFY b VARCHAR(40) NOT NULL", 1138),
        ("ALTER TABLE t MODIFY b VARCHAR(50) NOT NULL", 1265),
        ("ALTER TABLE t ADD COLUMN d DATE NOT NULL", 1292),
        ("ALTER TABLE t DROP COLUMN nothing", 1091),
        ("ALTER TABLE t ADD COLUMN c INT AFTER nothing", 1054),
        ("ALTER TABLE t ADD COLUMN c INT, ADD COLUMN C INT", 1060),
        ("ALTER TABLE t ADD COLUMN c INT, ADD KEY (nothing)", 1072),
        ("ALTER TABLE t ADD COLUMN c INT, ADD KEY a (c)", 1061),
        ("ALTER TABLE t ADD COLUMN c INT PRIMARY KEY", 1068),
        ("ALTER TABLE t FORCE, ALGORITHM=INSTANT", 1845),
        ("ALTER TABLE t DROP PRIMARY KEY, LOCK=NONE", 1846),
        ("ALTER TABLE t FORCE, RENAME TO nowhere.t", 1049),
        ("ALTER TABLE t MODIFY b TEXT", 1170),
    ] {
        assert_eq!(c.error(statement), code, "{statement}");
        assert_eq!(create_text(&mut c, "t"), text, "{statement}");
        assert_eq!(sums(&mut c), before, "{statement}");
    }
    sound(&mut c, "t");
    assert_eq!(c.run("ALTER TABLE t FORCE").done.affected, 0);
    let copied = c.run("ALTER TABLE t FORCE, ALGORITHM=COPY").done;
    assert_eq!(copied.affected, 2402);
    c.run("ALTER TABLE t FORCE, ALGORITHM=INPLACE, LOCK=NONE");
    c.run("ALTER TABLE t FORCE, LOCK=EXCLUSIVE");
    sound(&mut c, "t");
}

#[test]
fn a_repetition_is_told_with_its_text() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10), b TEXT)");
    c.run("INSERT INTO t VALUES (1, 'Same', 'long one'), (2, 'same', 'long two')");
    let message = |c: &mut Client, sql: &str| match c.try_all(sql) {
        Ok(_) => panic!("{sql}: no error"),
        Err(e) => e.message,
    };
    assert_eq!(
        message(&mut c, "CREATE UNIQUE INDEX u ON t (a)"),
        "Duplicate entry 'Same' for key 't.u'"
    );
    assert_eq!(
        message(
            &mut c,
            "ALTER TABLE t ADD COLUMN c INT, ADD UNIQUE KEY v (b(4))"
        ),
        "Duplicate entry 'long' for key 't.v'"
    );
    assert_eq!(
        message(
            &mut c,
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a)"
        ),
        "Duplicate entry 'same' for key 't.PRIMARY'"
    );
}

#[test]
fn an_older_snapshot_does_not_see_the_new_table() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    c.run("CREATE TABLE other (id INT PRIMARY KEY)");
    c.run("INSERT INTO t VALUES (1, 1)");
    let mut older = Client::in_test(&s);
    older.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    assert!(older.rows("SELECT * FROM other").is_empty());
    c.run("ALTER TABLE t ADD COLUMN b INT DEFAULT 5 FIRST");
    assert_eq!(older.error("SELECT * FROM t"), 1412);
    older.run("COMMIT");
    assert_eq!(older.one("SELECT b FROM t"), "5");
}

/// The number by which the engine knows the table: another file has another.
fn number(c: &mut Client) -> u32 {
    let catalog = c.session.engine.catalog();
    catalog.table("test", "t").expect("a table").def.id
}

#[test]
fn columns_are_added_without_writing_a_row() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    filled(&mut c);
    let id = number(&mut c);
    c.run("ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT 7, ADD COLUMN s VARCHAR(20)");
    c.run("INSERT INTO t VALUES (4000, 1, 'new', 8, 'there')");
    c.run(
        "ALTER TABLE t ADD COLUMN e ENUM('x','y') NOT NULL, ADD COLUMN d DATETIME DEFAULT CURRENT_TIMESTAMP, \
         ALGORITHM=INSTANT",
    );
    assert_eq!(number(&mut c), id, "the rows were written again");
    c.run("ALTER TABLE t ALTER n SET DEFAULT 99");
    let filled = "n = 7 AND s IS NULL AND e = 'x' AND d > '2000-01-01'";
    let count = |c: &mut Client, from: &str| c.one(&format!("SELECT COUNT(*) FROM t {from}"));
    assert_eq!(count(&mut c, &format!("WHERE {filled}")), "2400");
    assert_eq!(
        c.rows("SELECT n, s, e FROM t WHERE id = 4000"),
        [["8", "there", "x"]]
    );
    // Rows of all three kinds are changed, found by an index of the new columns, deleted.
    c.run("UPDATE t SET s = 'long enough' WHERE id IN (1, 4000)");
    c.run("CREATE INDEX by_n ON t (n, s)");
    let by_n = "FORCE INDEX (by_n) WHERE n = 7";
    assert_eq!(count(&mut c, by_n), "2400");
    assert_eq!(count(&mut c, &format!("{by_n} AND s IS NULL")), "2399");
    c.run("DELETE FROM t WHERE id IN (2, 4000)");
    c.run("INSERT INTO t (id) VALUES (2)");
    assert_eq!(c.one("SELECT n FROM t WHERE id = 2"), "99");
    sound(&mut c, "t");
    let rows = c.rows("SELECT * FROM t ORDER BY id");
    drop(c);
    block_on(s.engine().close()).expect("closed");
    drop(s);
    let mut c = Client::in_test(&server_on(disk));
    assert_eq!(c.rows("SELECT * FROM t ORDER BY id"), rows);
    // Written again, nothing is to be filled any more.
    c.run("ALTER TABLE t DROP COLUMN a, ADD KEY (e)");
    assert_ne!(number(&mut c), id);
    sound(&mut c, "t");
    assert_eq!(count(&mut c, "WHERE e = 'x' AND n IN (7, 99)"), "2400");
}

#[test]
fn an_older_snapshot_sees_rows_without_the_new_column_filled() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    c.run("CREATE TABLE other (id INT PRIMARY KEY)");
    c.run("INSERT INTO t VALUES (1, 1), (2, 2)");
    let mut older = Client::in_test(&s);
    older.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    assert!(older.rows("SELECT * FROM other").is_empty());
    c.run("ALTER TABLE t ADD COLUMN b INT DEFAULT 5");
    c.run("UPDATE t SET b = 6 WHERE id = 1");
    let all = |c: &mut Client| c.rows("SELECT * FROM t");
    assert_eq!(all(&mut older), [["1", "1", "5"], ["2", "2", "5"]]);
    older.run("COMMIT");
    assert_eq!(all(&mut older), [["1", "1", "6"], ["2", "2", "5"]]);
}

#[test]
fn values_are_counted_on_and_defaults_computed() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT)");
    c.run("INSERT INTO t (a) VALUES (1), (2), (3)");
    c.run("DELETE FROM t WHERE id = 3");
    c.run("ALTER TABLE t ADD COLUMN d INT DEFAULT (a * 10), ADD COLUMN u VARCHAR(40) DEFAULT (UUID())");
    assert_eq!(c.one("SELECT GROUP_CONCAT(d ORDER BY id) FROM t"), "10,20");
    assert_eq!(c.one("SELECT COUNT(DISTINCT u) FROM t"), "2");
    c.run("INSERT INTO t (a) VALUES (4)");
    assert_eq!(c.one("SELECT MAX(id) FROM t"), "4");
    c.run("ALTER TABLE t AUTO_INCREMENT = 100, FORCE");
    c.run("INSERT INTO t (a) VALUES (5)");
    assert_eq!(c.one("SELECT MAX(id) FROM t"), "100");
    c.run("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,STRICT_TRANS_TABLES'");
    c.run("CREATE TABLE z (a INT)");
    c.run("INSERT INTO z VALUES (1), (2)");
    c.run("ALTER TABLE z ADD COLUMN nr INT AUTO_INCREMENT PRIMARY KEY FIRST");
    assert_eq!(c.one("SELECT GROUP_CONCAT(nr ORDER BY a) FROM z"), "1,2");
    c.run("SET sql_mode = DEFAULT");
    // A number for those that have none.
    c.run("CREATE TABLE n (a INT, id INT NOT NULL)");
    c.run("INSERT INTO n VALUES (1, 0), (2, 7), (3, 0)");
    c.run("ALTER TABLE n MODIFY id INT NOT NULL AUTO_INCREMENT PRIMARY KEY");
    assert_eq!(c.one("SELECT GROUP_CONCAT(id ORDER BY a) FROM n"), "1,7,8");
}

#[test]
fn a_table_changes_its_row_format_with_all_its_rows() {
    let mut c = Client::in_test(&server());
    c.run(
        "CREATE TABLE p (id INT PRIMARY KEY, k INT, v VARCHAR(200), KEY (k)) ROW_FORMAT=COMPRESSED",
    );
    for i in 0..50 {
        c.run(&format!(
            "INSERT INTO p VALUES ({i}, {}, REPEAT('{i}-', 30))",
            i % 7
        ));
    }
    let stored = "SELECT CONCAT(row_format, ' ', zip_page_size)
        FROM information_schema.innodb_tablespaces WHERE name = 'test/p'";
    let rows = "SELECT CONCAT(COUNT(*), ' ', SUM(k), ' ', SUM(CRC32(v))) FROM p FORCE INDEX (k) WHERE k >= 0";
    assert_eq!(c.one(stored), "Compressed 0");
    let before = c.one(rows);
    for (options, is) in [
        ("KEY_BLOCK_SIZE=4", "Compressed 4096"),
        ("KEY_BLOCK_SIZE=16", "Compressed 16384"),
        ("ROW_FORMAT=DEFAULT KEY_BLOCK_SIZE=0", "Dynamic 0"),
        ("COMPRESSION='lz4'", "Dynamic 0"),
        ("COMPRESSION='none'", "Dynamic 0"),
        ("COMPRESSION='', ROW_FORMAT=COMPRESSED", "Compressed 0"),
        ("ROW_FORMAT=COMPACT", "Compact or Redundant 0"),
    ] {
        c.run(&format!("ALTER TABLE p {options}"));
        assert_eq!(c.one(stored), is, "{options}");
        assert_eq!(c.one(rows), before, "{options}");
    }
    // What a table that is to be compressed gets where it names no size.
    c.run("SET innodb_default_key_block_size = 8");
    c.run("ALTER TABLE p ROW_FORMAT=COMPRESSED");
    assert_eq!(c.one(stored), "Compressed 8192");
    c.run("CREATE TABLE q (id INT) ROW_FORMAT=COMPRESSED");
    c.run("CREATE TABLE r (id INT)");
    assert_eq!(
        c.one("SELECT GROUP_CONCAT(zip_page_size ORDER BY name) FROM information_schema.innodb_tablespaces
               WHERE name IN ('test/q', 'test/r')"),
        "8192,0"
    );
    assert_eq!(
        c.one("SELECT COUNT(*) FROM information_schema.innodb_cmp WHERE compress_ops >= compress_ops_ok"),
        "6"
    );
}
