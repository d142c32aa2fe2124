//! ALTER TABLE, CREATE INDEX and DROP INDEX that write no row: what stays readable, what is refused, and that several actions are one.

use super::*;

fn create_text(c: &mut Client, table: &str) -> String {
    c.rows(&format!("SHOW CREATE TABLE {table}"))[0][1].clone()
}

fn sound(c: &mut Client, table: &str) {
    let rows = c.rows(&format!("CHECK TABLE {table}"));
    assert_eq!(rows[0][3], "OK", "{rows:?}");
}

fn warnings(c: &mut Client) -> Vec<String> {
    let rows = c.rows("SHOW WARNINGS");
    rows.into_iter()
        .map(|r| format!("{} {}", r[1], r[2]))
        .collect()
}

/// The engine's number of the table: another file has another.
fn number(c: &mut Client) -> u32 {
    let catalog = c.session.engine.catalog();
    catalog.table("test", "t").expect("a table").def.id
}

#[test]
fn rows_older_than_a_column_stay_readable_when_it_changes() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10))");
    c.run("INSERT INTO t VALUES (1, 'old'), (2, 'old')");
    c.run("ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT 7, ADD COLUMN s VARCHAR(5) DEFAULT 'x'");
    let id = number(&mut c);
    for statement in [
        "ALTER TABLE t MODIFY n INT NOT NULL DEFAULT 8 COMMENT 'more'",
        "ALTER TABLE t CHANGE s text_of VARCHAR(50) DEFAULT 'y'",
        "ALTER TABLE t RENAME COLUMN n TO m, ALTER text_of SET DEFAULT 'z', COMMENT='all of it'",
        "ALTER TABLE t ADD COLUMN last INT DEFAULT 3, RENAME COLUMN m TO n",
    ] {
        c.run(statement);
        assert_eq!(number(&mut c), id, "{statement}: rows were written again");
    }
    c.run("INSERT INTO t (id) VALUES (3)");
    let all = [
        ["1", "old", "7", "x", "3"],
        ["2", "old", "7", "x", "3"],
        ["3", "NULL", "8", "z", "3"],
    ];
    assert_eq!(c.rows("SELECT id, a, n, text_of, last FROM t"), all);
    sound(&mut c, "t");
    drop(c);
    block_on(s.engine().close()).expect("closed");
    drop(s);
    let mut c = Client::in_test(&server_on(disk));
    c.run("UPDATE t SET text_of = CONCAT(text_of, 'longer than it could be') WHERE id < 3");
    c.run("ALTER TABLE t FORCE");
    assert_eq!(
        c.rows("SELECT n, last FROM t"),
        [["7", "3"], ["7", "3"], ["8", "3"]]
    );
    sound(&mut c, "t");
}

#[test]
fn a_longer_column_is_checked_like_a_new_one() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(700), b VARCHAR(100), KEY (a))");
    c.run("CREATE TABLE u (id INT PRIMARY KEY, a VARCHAR(100), KEY (a)) ROW_FORMAT=COMPACT");
    let text = create_text(&mut c, "t");
    for (statement, code) in [
        ("ALTER TABLE t MODIFY a VARCHAR(1000)", 1071),
        ("ALTER TABLE u MODIFY a VARCHAR(700)", 1071),
        ("ALTER TABLE t MODIFY b VARCHAR(16000)", 1118),
        ("ALTER TABLE t CHANGE b a INT", 1060),
        ("ALTER TABLE t MODIFY nothing INT", 1054),
    ] {
        assert_eq!(c.error(statement), code, "{statement}");
    }
    assert_eq!(create_text(&mut c, "t"), text);
    let columns: Vec<String> = (0..1015).map(|i| format!("ADD COLUMN c{i} INT")).collect();
    assert_eq!(
        c.error(&format!("ALTER TABLE t {}", columns.join(","))),
        1117
    );
    c.run("ALTER TABLE t MODIFY b VARCHAR(200), MODIFY a VARCHAR(768)");
    sound(&mut c, "t");
}

#[test]
fn several_actions_are_done_together_or_not_at_all() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY a (a), KEY b (b))");
    c.run("INSERT INTO t VALUES (1, 5, 1), (2, 5, 2), (3, 6, 3)");
    let text = create_text(&mut c, "t");
    for statement in [
        "ALTER TABLE t ADD KEY ab (a, b), ADD UNIQUE KEY u (a)",
        "ALTER TABLE t DROP KEY a, ADD KEY a (b, a), ADD UNIQUE KEY b2 (a), COMMENT='not kept'",
        "ALTER TABLE t RENAME COLUMN b TO c, ADD UNIQUE KEY u (a)",
        "ALTER TABLE t DROP KEY b, ADD UNIQUE KEY b (a)",
    ] {
        assert_eq!(c.error(statement), 1062, "{statement}");
        assert_eq!(create_text(&mut c, "t"), text, "{statement}");
        sound(&mut c, "t");
    }
    assert_eq!(c.error("ALTER TABLE t COMMENT='no', RENAME TO t"), 0);
    c.run("CREATE TABLE taken (id INT)");
    assert_eq!(c.error("ALTER TABLE t DROP KEY a, RENAME TO taken"), 1050);
    c.run("ALTER TABLE t DROP KEY a, ADD KEY a (b, c), ADD UNIQUE KEY u (b), RENAME COLUMN a TO c, COMMENT='kept'");
    assert_eq!(
        create_text(&mut c, "t"),
        "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `c` int DEFAULT NULL,\n  `b` int DEFAULT NULL,\n  \
         PRIMARY KEY (`id`),\n  UNIQUE KEY `u` (`b`),\n  KEY `b` (`b`),\n  KEY `a` (`b`,`c`)\n) \
         ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='kept'"
    );
    sound(&mut c, "t");
    assert_eq!(c.one("SELECT id FROM t FORCE INDEX (a) WHERE b = 3"), "3");
    c.run("ALTER TABLE t ADD KEY other (c, b), RENAME TO renamed, COMMENT=''");
    sound(&mut c, "renamed");
    c.run("CREATE INDEX twice ON renamed (c, b)");
    assert_eq!(
        warnings(&mut c),
        [
            "1831 Duplicate index 'twice' defined on the table 'test.renamed'. This is deprecated and will be disallowed in a future release."
        ]
    );
}

#[test]
fn clauses_about_the_way_are_obeyed() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY b (b))");
    let id = number(&mut c);
    for (statement, code) in [
        ("ALTER TABLE t ADD INDEX (a), ALGORITHM=INSTANT", 1845),
        ("ALTER TABLE t DROP INDEX b, ALGORITHM=INSTANT", 1845),
        ("CREATE INDEX a ON t (a) ALGORITHM=INSTANT", 1845),
        ("CREATE INDEX a ON t (a) ALGORITHM=SOMEHOW", 1800),
        ("CREATE INDEX a ON t (a) LOCK=SOMEHOW", 1801),
        ("DROP INDEX b ON t ALGORITHM=SOMEHOW", 1800),
        ("DROP INDEX b ON t LOCK=SOMEHOW", 1801),
        ("ALTER TABLE t MODIFY a BIGINT, ALGORITHM=INSTANT", 1845),
        (
            "ALTER TABLE t ADD COLUMN c INT, ALGORITHM=INSTANT, LOCK=NONE",
            1221,
        ),
        ("ALTER TABLE t FORCE, ALGORITHM=COPY, LOCK=NONE", 1846),
        ("ALTER TABLE t DROP CONSTRAINT b", 3940),
        ("DROP INDEX nothing ON t", 1091),
    ] {
        assert_eq!(c.error(statement), code, "{statement}");
    }
    c.run("CREATE INDEX a ON t (a) ALGORITHM=INPLACE LOCK=NONE");
    c.run("DROP INDEX a ON t ALGORITHM=INPLACE LOCK=NONE");
    c.run("ALTER TABLE t ADD COLUMN c INT, RENAME COLUMN a TO d, ALGORITHM=INSTANT");
    assert_eq!(number(&mut c), id);
    c.run("ALTER TABLE t ADD COLUMN e ENUM('x', 'y') NOT NULL, ADD COLUMN f SET('p') DEFAULT 'p'");
    c.run("ALTER TABLE t MODIFY e ENUM('x', 'y', 'z') NOT NULL, MODIFY f SET('p', 'q'), ALGORITHM=INSTANT");
    c.run("INSERT INTO t (id, e, f) VALUES (1, 'z', 'q,p')");
    assert_eq!(c.rows("SELECT e, f FROM t"), [["z", "p,q"]]);
    assert_eq!(number(&mut c), id);
    c.run("ALTER TABLE t COMMENT='written again', ALGORITHM=COPY");
    assert_ne!(number(&mut c), id);
    c.run("ALTER TABLE t ADD UNIQUE KEY u (b), DROP KEY b");
    c.run("ALTER TABLE t DROP CONSTRAINT u");
    sound(&mut c, "t");
}

#[test]
fn the_clustered_key_may_be_dropped_by_its_name() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (a INT NOT NULL UNIQUE, b INT)");
    c.run("INSERT INTO t VALUES (1, 1), (2, 2)");
    c.run("DROP INDEX a ON t");
    c.run("INSERT INTO t VALUES (1, 3)");
    c.run("ALTER TABLE t ADD PRIMARY KEY (b)");
    c.run("DROP INDEX `PRIMARY` ON t");
    c.run("INSERT INTO t VALUES (3, 3)");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "4");
    assert!(!create_text(&mut c, "t").contains("KEY"));
    sound(&mut c, "t");
}

#[test]
fn an_older_snapshot_reads_a_table_that_got_an_index() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    c.run("INSERT INTO t VALUES (1, 1), (2, 2)");
    let mut older = Client::in_test(&s);
    older.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    c.run("UPDATE t SET a = 5 WHERE id = 1");
    c.run("CREATE INDEX a ON t (a)");
    assert_eq!(
        older.rows("SELECT * FROM t ORDER BY id"),
        [["1", "1"], ["2", "2"]]
    );
    assert_eq!(
        older.error("SELECT id FROM t FORCE INDEX (a) WHERE a = 1"),
        1412
    );
    older.run("COMMIT");
    assert_eq!(
        older.one("SELECT id FROM t FORCE INDEX (a) WHERE a = 5"),
        "1"
    );
}

#[test]
fn a_definition_that_is_not_the_latest_is_not_changed() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)");
    let seen = c
        .session
        .engine
        .catalog()
        .table("test", "t")
        .expect("a table");
    c.run("ALTER TABLE t ADD COLUMN c INT FIRST");
    let mut def = seen.def.clone();
    def.columns[1].name = "renamed".to_owned();
    let done = block_on(c.session.engine.alter_table(&seen, def)).expect("no error");
    assert!(!done);
    assert_eq!(c.rows("SELECT * FROM t").len(), 0);
    assert!(create_text(&mut c, "t").contains("`a` int"));
}

#[test]
fn a_definition_change_waits_as_long_as_it_is_told() {
    let s = server();
    let (mut a, mut b) = (Client::in_test(&s), Client::in_test(&s));
    a.run("CREATE TABLE t (id INT PRIMARY KEY)");
    a.run("BEGIN");
    a.run("SELECT * FROM t");
    b.run("SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 100");
    assert_eq!(b.error("ALTER TABLE t ADD COLUMN a INT"), 1205);
    b.run("SET lock_wait_timeout = 100, innodb_lock_wait_timeout = 1");
    let waits = std::thread::spawn(move || {
        b.run("ALTER TABLE t ADD COLUMN a INT");
        b.rows("SELECT * FROM t").len()
    });
    std::thread::sleep(std::time::Duration::from_millis(1300));
    assert!(!waits.is_finished());
    a.run("COMMIT");
    assert_eq!(waits.join().expect("no panic"), 0);
}

#[test]
fn a_table_keeps_the_default_format_of_its_day() {
    let mut c = Client::in_test(&server());
    let format = |c: &mut Client| {
        c.one("SELECT row_format FROM information_schema.tables WHERE table_name = 't'")
    };
    c.run("SET GLOBAL innodb_default_row_format = compact");
    c.run("CREATE TABLE t (v VARCHAR(800) CHARACTER SET latin1)");
    c.run("SET GLOBAL innodb_default_row_format = dynamic");
    assert_eq!(format(&mut c), "Compact");
    assert!(!create_text(&mut c, "t").contains("ROW_FORMAT"));
    assert_eq!(c.error("CREATE INDEX v ON t (v)"), 1071);
    c.run("SET sql_mode = ''");
    c.run("CREATE INDEX v ON t (v)");
    assert_eq!(
        warnings(&mut c),
        ["1071 Specified key was too long; max key length is 767 bytes"]
    );
    assert!(create_text(&mut c, "t").contains("KEY `v` (`v`(767))"));
    assert_eq!(c.error("CREATE UNIQUE INDEX u ON t (v)"), 1071);
    c.run("ALTER TABLE t ROW_FORMAT=DEFAULT");
    assert_eq!(format(&mut c), "Dynamic");
}
