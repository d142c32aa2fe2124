//! Definitions: what CREATE makes is what SHOW CREATE says, and what cannot be is refused by MySQL's number.

use super::*;

fn create_text(c: &mut Client, table: &str) -> String {
    c.rows(&format!("SHOW CREATE TABLE {table}"))[0][1].clone()
}

#[test]
fn a_table_is_shown_as_mysql_shows_it() {
    let mut c = Client::in_test(&server());
    c.run(
        "CREATE TABLE sbtest1(id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = innodb */",
    );
    assert_eq!(
        create_text(&mut c, "sbtest1"),
        "CREATE TABLE `sbtest1` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `k` int NOT NULL DEFAULT '0',\n  \
         `c` char(120) NOT NULL DEFAULT '',\n  `pad` char(60) NOT NULL DEFAULT '',\n  PRIMARY KEY (`id`)\n) \
         ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
    );
    c.run("CREATE INDEX k_1 ON sbtest1(k)");
    assert!(create_text(&mut c, "sbtest1").contains("  PRIMARY KEY (`id`),\n  KEY `k_1` (`k`)\n)"));
}

#[test]
fn show_create_table_round_trips() {
    let mut c = Client::in_test(&server());
    c.run(
        "CREATE TABLE t (a bigint unsigned NOT NULL, b varchar(20) COLLATE utf8mb4_bin DEFAULT 'x''y', \
         d decimal(10,2) DEFAULT 1.5, e enum('a','b') DEFAULT 'b', f datetime(3) DEFAULT CURRENT_TIMESTAMP(3) \
         ON UPDATE CURRENT_TIMESTAMP(3), g timestamp NULL, h text, i bit(4) DEFAULT b'101', j blob NOT NULL COMMENT 'it''s', \
         l varchar(10) CHARACTER SET latin1, m int zerofill, n year DEFAULT 2001, o json, p set('x','y') DEFAULT 'x,y', \
         PRIMARY KEY (a), UNIQUE (b, d), KEY (d DESC), KEY (h(10)), KEY (b), UNIQUE KEY u (a, n) COMMENT 'c') \
         ROW_FORMAT=COMPACT COMMENT='t' STATS_PERSISTENT=0",
    );
    let first = create_text(&mut c, "t");
    c.run("DROP TABLE t");
    c.run(&first);
    assert_eq!(create_text(&mut c, "t"), first);
    c.run("CREATE TABLE t2 LIKE t");
    assert_eq!(create_text(&mut c, "t2"), first.replace("`t`", "`t2`"));
    assert!(first.contains("UNIQUE KEY `b` (`b`,`d`)"), "{first}");
    assert!(first.contains("KEY `b_2` (`b`)"), "{first}");
    assert!(first.contains("KEY `d` (`d` DESC)"), "{first}");
    assert!(first.contains("`i` bit(4) DEFAULT b'101'"), "{first}");
    assert!(first.contains("`g` timestamp NULL DEFAULT NULL"), "{first}");
    assert!(
        first.contains(
            "`l` varchar(10) CHARACTER SET latin1 COLLATE latin1_swedish_ci DEFAULT NULL"
        ) || first.contains("`l` varchar(10) CHARACTER SET latin1 DEFAULT NULL"),
        "{first}"
    );
    assert!(
        first.ends_with("STATS_PERSISTENT=0 ROW_FORMAT=COMPACT COMMENT='t'"),
        "{first}"
    );
}

#[test]
fn bad_definitions_are_refused() {
    let mut c = Client::in_test(&server());
    for (code, sql) in [
        (1060, "CREATE TABLE t (a int, A int)"),
        (1061, "CREATE TABLE t (a int, KEY k (a), KEY K (a))"),
        (
            1063,
            "CREATE TABLE t (a varchar(10) AUTO_INCREMENT PRIMARY KEY)",
        ),
        (1067, "CREATE TABLE t (a int DEFAULT 'x')"),
        (1067, "CREATE TABLE t (a int NOT NULL DEFAULT NULL)"),
        (
            1067,
            "CREATE TABLE t (a datetime DEFAULT CURRENT_TIMESTAMP(3))",
        ),
        (1067, "CREATE TABLE t (a tinyint DEFAULT 300)"),
        (
            1068,
            "CREATE TABLE t (a int PRIMARY KEY, b int, PRIMARY KEY (b))",
        ),
        (1071, "CREATE TABLE t (a varchar(1000), KEY (a))"),
        (1072, "CREATE TABLE t (a int, KEY (b))"),
        (1074, "CREATE TABLE t (a varchar(20000))"),
        (1075, "CREATE TABLE t (a int AUTO_INCREMENT)"),
        (
            1075,
            "CREATE TABLE t (a int AUTO_INCREMENT, b int AUTO_INCREMENT, PRIMARY KEY (a))",
        ),
        (1089, "CREATE TABLE t (a int, KEY (a(3)))"),
        (1101, "CREATE TABLE t (a text DEFAULT 'x')"),
        (1118, "CREATE TABLE t (a varchar(10000), b varchar(10000))"),
        (1170, "CREATE TABLE t (a text, KEY (a))"),
        (1171, "CREATE TABLE t (a int NULL, PRIMARY KEY (a))"),
        (1115, "CREATE TABLE t (a int) CHARSET=nothing"),
        (1273, "CREATE TABLE t (a int) COLLATE=nothing"),
        (
            1253,
            "CREATE TABLE t (a int) CHARSET=latin1 COLLATE=utf8mb4_bin",
        ),
        (1286, "CREATE TABLE t (a int) ENGINE=nothing"),
        (1291, "CREATE TABLE t (a enum('x','X'))"),
        (1049, "CREATE TABLE nothing.t (a int)"),
        (1044, "CREATE TABLE information_schema.t (a int)"),
        (
            1824,
            "CREATE TABLE t (a int PRIMARY KEY, b int, FOREIGN KEY (b) REFERENCES u (a))",
        ),
        (1051, "DROP TABLE t"),
        (1146, "TRUNCATE t"),
        (1007, "CREATE DATABASE test"),
        (1008, "DROP DATABASE nothing"),
    ] {
        assert_eq!(c.error(sql), code, "{sql}");
    }
    c.run("CREATE TABLE t (a int)");
    assert_eq!(c.error("CREATE TABLE t (a int)"), 1050);
    let r = c.run("CREATE TABLE IF NOT EXISTS t (a int)");
    assert_eq!(r.done.warnings, 1);
    assert_eq!(c.rows("SHOW WARNINGS")[0][..2], ["Note", "1050"]);
    assert_eq!(c.error("DROP TABLE t, nothing"), 1051);
    assert_eq!(c.one("SHOW TABLES"), "t");
    assert_eq!(c.run("DROP TABLE IF EXISTS t, nothing").done.warnings, 1);
    assert!(c.rows("SHOW TABLES").is_empty());
}

#[test]
fn indexes_come_and_go() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (a int PRIMARY KEY, b int, v varchar(30))");
    c.run("ALTER TABLE t ADD INDEX (b), ADD UNIQUE INDEX u (v), ADD KEY (b, v)");
    assert_eq!(c.error("CREATE INDEX b ON t (b)"), 1061);
    assert_eq!(c.error("DROP INDEX x ON t"), 1091);
    c.run("ALTER TABLE t RENAME INDEX b_2 TO bv, COMMENT='new'");
    let t = create_text(&mut c, "t");
    assert!(
        t.contains("UNIQUE KEY `u` (`v`),\n  KEY `b` (`b`),\n  KEY `bv` (`b`,`v`)\n)"),
        "{t}"
    );
    c.run("DROP INDEX b ON t");
    c.run("ALTER TABLE t DROP KEY bv, DROP INDEX u");
    assert!(create_text(&mut c, "t").contains("PRIMARY KEY (`a`)\n) ENGINE=InnoDB"));
    c.run("ALTER TABLE t MODIFY v varchar(50) COMMENT 'longer', RENAME COLUMN b TO bb");
    let t = create_text(&mut c, "t");
    assert!(
        t.contains("`v` varchar(50) DEFAULT NULL COMMENT 'longer'") && t.contains("`bb` int"),
        "{t}"
    );
    c.run("RENAME TABLE t TO t1");
    c.run("ALTER TABLE t1 RENAME TO t2");
    assert_eq!(c.one("SHOW TABLES"), "t2");
}

#[test]
fn row_formats_are_checked_as_mysql_checks_them() {
    let mut c = Client::in_test(&server());
    let warnings = |c: &mut Client| -> Vec<String> {
        let rows = c.rows("SHOW WARNINGS");
        rows.into_iter()
            .map(|r| format!("{} {}", r[1], r[2]))
            .collect()
    };
    assert_eq!(c.error("CREATE TABLE t (a INT) KEY_BLOCK_SIZE=3"), 1031);
    assert_eq!(
        warnings(&mut c),
        [
            "1478 InnoDB: invalid KEY_BLOCK_SIZE = 3. Valid values are [1, 2, 4, 8, 16]",
            "1031 Table storage engine for 't' doesn't have this option"
        ]
    );
    for wrong in [
        "ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=8",
        "ROW_FORMAT=COMPACT KEY_BLOCK_SIZE=1",
        "ROW_FORMAT=FIXED",
        "COMPRESSION='zip'",
        "ROW_FORMAT=COMPRESSED COMPRESSION='zlib'",
    ] {
        let sql = format!("CREATE TABLE t (a INT) {wrong}");
        assert_eq!(c.error(&sql), 1031, "{wrong}");
    }
    c.run("CREATE TABLE t (a INT, v VARCHAR(800) CHARACTER SET latin1)");
    assert_eq!(c.error("ALTER TABLE t KEY_BLOCK_SIZE=5"), 1478);
    assert_eq!(c.error("ALTER TABLE t KEY_BLOCK_SIZE=5, FORCE"), 1478);
    c.run("ALTER TABLE t ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8");
    assert!(create_text(&mut c, "t").ends_with("ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8"));
    assert_eq!(
        c.one("SELECT row_format FROM information_schema.tables WHERE table_name = 't'"),
        "Compressed"
    );
    c.run("ALTER TABLE t ROW_FORMAT=DEFAULT KEY_BLOCK_SIZE=0");
    // Long parts of keys belong to the formats that put long columns aside.
    c.run("ALTER TABLE t ADD KEY (v)");
    assert_eq!(c.error("ALTER TABLE t ROW_FORMAT=COMPACT, FORCE"), 1071);
    assert_eq!(
        c.error(
            "CREATE TABLE u (v VARCHAR(800) CHARACTER SET latin1, KEY (v)) ROW_FORMAT=REDUNDANT"
        ),
        1071
    );
    assert_eq!(c.error("CREATE TABLE u (v VARCHAR(800), KEY (v))"), 1071);
    c.run(
        "CREATE TABLE u (v VARCHAR(800) CHARACTER SET latin1, KEY (v(767))) ROW_FORMAT=REDUNDANT",
    );
    c.run("DROP TABLE u");
    c.run("SET innodb_strict_mode = OFF");
    c.run("CREATE TABLE u (a INT) ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=8");
    assert_eq!(
        warnings(&mut c),
        ["1478 InnoDB: ignoring KEY_BLOCK_SIZE=8 unless ROW_FORMAT=COMPRESSED."]
    );
}

#[test]
fn definitions_survive_a_restart() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (a serial, b varchar(10) DEFAULT 'x', KEY (b(3)) USING BTREE KEY_BLOCK_SIZE=2)");
    let text = create_text(&mut c, "t");
    c.run("CREATE USER u@'%' IDENTIFIED BY 'p'");
    drop(c);
    block_on(s.engine().close()).expect("closed");
    drop(s);
    let mut c = Client::in_test(&server_on(disk));
    assert_eq!(create_text(&mut c, "t"), text);
    assert!(
        c.session
            .instance()
            .accounts()
            .snapshot()
            .for_login("u", &["anywhere"])
            .is_some()
    );
}

#[test]
fn maintenance_reports_on_each_table() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (a int PRIMARY KEY, b int, KEY (b))");
    assert_eq!(
        c.rows("CHECK TABLE t, nothing"),
        [
            vec!["test.t", "check", "status", "OK"],
            vec![
                "test.nothing",
                "check",
                "Error",
                "Table 'test.nothing' doesn't exist"
            ],
            vec!["test.nothing", "check", "status", "Operation failed"],
        ]
    );
    assert_eq!(c.rows("ANALYZE TABLE t")[0][3], "OK");
    assert_eq!(c.rows("OPTIMIZE TABLE t").len(), 2);
    // mysqlcheck goes through all that SHOW TABLES lists, and not all of it is stored.
    for row in c.rows("SHOW TABLES FROM mysql") {
        let checked = c.rows(&format!("CHECK TABLE mysql.{}", row[0]));
        assert_eq!(checked[0][3], "OK", "{}", row[0]);
    }
    let missing = c.rows("CHECK TABLE information_schema.nothing");
    assert_eq!(missing[1][3], "Operation failed");
    assert_eq!(c.rows("CHECKSUM TABLE t"), [vec!["test.t", "0"]]);
}

#[test]
fn what_goes_wrong_with_one_table_stands_in_its_rows() {
    let disk = Arc::new(MemDisk::default());
    let mut c = Client::in_test(&server_on(disk.clone()));
    c.run("CREATE TABLE t (a int PRIMARY KEY, b longtext)");
    c.run("INSERT INTO t VALUES (1, REPEAT('x', 100000)), (2, 'y')");
    disk.set_room(0);
    let full = "The table 'test.t' is full";
    assert_eq!(
        c.rows("OPTIMIZE TABLE t, gone"),
        [
            vec![
                "test.t",
                "optimize",
                "note",
                "Table does not support optimize, doing recreate + analyze instead"
            ],
            vec!["test.t", "optimize", "error", full],
            vec!["test.t", "optimize", "status", "Operation failed"],
            vec![
                "test.gone",
                "optimize",
                "Error",
                "Table 'test.gone' doesn't exist"
            ],
            vec!["test.gone", "optimize", "status", "Operation failed"],
        ]
    );
    assert_eq!(c.rows("SHOW WARNINGS"), [vec!["Error", "1114", full]]);
    assert_eq!(
        c.rows("SELECT a, LENGTH(b) FROM t"),
        [["1", "100000"], ["2", "1"]]
    );
    disk.set_room(64 << 20);
    assert_eq!(c.rows("OPTIMIZE TABLE t")[1][2..], ["status", "OK"]);
}

#[test]
fn dropping_the_default_schema_leaves_none() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (a int)");
    assert_eq!(c.run("DROP DATABASE test").done.affected, 1);
    assert_eq!(c.error("CREATE TABLE t (a int)"), 1046);
    assert_eq!(c.error("USE test"), 1049);
}

#[test]
fn a_default_that_could_not_be_read_again_is_refused() {
    let instance = server();
    let mut c = Client::in_test(&instance);
    let create = |depth: usize| {
        format!(
            "CREATE TABLE t (a BIGINT DEFAULT ({}1))",
            "~ ".repeat(depth)
        )
    };
    assert_eq!(c.error(&create(100)), 1436);
    c.run(&create(40));
    c.run("INSERT INTO t VALUES ()");
}

#[test]
fn a_default_may_be_an_expression() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (a int, b int DEFAULT (a + 1), c varchar(36) DEFAULT (uuid()), d json DEFAULT (json_array()))");
    let t = create_text(&mut c, "t");
    assert!(t.contains("`b` int DEFAULT ((`a` + 1))"), "{t}");
    assert!(t.contains("DEFAULT (uuid())"), "{t}");
    c.run("INSERT INTO t (a) VALUES (4)");
    assert_eq!(
        c.rows("SELECT a, b, length(c), d FROM t"),
        [["4", "5", "36", "[]"]]
    );
    assert_eq!(c.error("CREATE TABLE x (a int DEFAULT (nothing))"), 1054);
    assert_eq!(c.error("CREATE TABLE x (a int DEFAULT nothing())"), 1064);
}

#[test]
fn a_default_may_name_a_later_column_that_is_not_computed() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (v1 INT DEFAULT (v2 * 10), v2 INT DEFAULT 5, v3 INT DEFAULT (v1 + 1))");
    c.run("INSERT INTO t () VALUES ()");
    c.run("INSERT INTO t (v2) VALUES (7)");
    c.run("INSERT INTO t VALUES (DEFAULT, 8, DEFAULT)");
    c.run("INSERT INTO t (v2) SELECT 9");
    assert_eq!(
        c.rows("SELECT * FROM t ORDER BY v2"),
        [
            ["50", "5", "51"],
            ["70", "7", "71"],
            ["80", "8", "81"],
            ["90", "9", "91"]
        ]
    );
    c.run("CREATE TABLE n (a DATETIME DEFAULT (b + INTERVAL 1 DAY), b DATETIME DEFAULT CURRENT_TIMESTAMP)");
    c.run("INSERT INTO n () VALUES ()");
    assert_eq!(c.one("SELECT DATEDIFF(a, b) FROM n"), "1");
    // ALTER fills rows in the same order.
    c.run("ALTER TABLE t ADD COLUMN v0 INT DEFAULT (v4 + v2) FIRST, ADD COLUMN v4 INT DEFAULT 100");
    assert_eq!(
        c.one("SELECT GROUP_CONCAT(v0 ORDER BY v2) FROM t"),
        "105,107,108,109"
    );
    // One that is computed itself, and one that is numbered, must not be needed before it is there.
    assert_eq!(
        c.error("CREATE TABLE x (a INT DEFAULT (b), b INT DEFAULT (1 + 1))"),
        3767
    );
    assert_eq!(c.error("CREATE TABLE x (a INT DEFAULT (a))"), 3767);
    assert_eq!(
        c.error("CREATE TABLE x (id INT AUTO_INCREMENT PRIMARY KEY, a INT DEFAULT (id + 1))"),
        3768
    );
    assert_eq!(
        c.error("ALTER TABLE t MODIFY v3 INT DEFAULT (v1 + 1) FIRST"),
        3767
    );
    assert_eq!(c.error("ALTER TABLE t ALTER v1 SET DEFAULT (v3)"), 3767);
    // What a default needs does not go away.
    assert_eq!(c.error("ALTER TABLE t DROP COLUMN v2"), 3766);
    assert_eq!(c.error("ALTER TABLE t RENAME COLUMN v2 TO w"), 3766);
    assert_eq!(c.error("ALTER TABLE t CHANGE v2 w INT"), 3766);
    c.run("ALTER TABLE t DROP COLUMN v2, DROP COLUMN v1, DROP COLUMN v3, DROP COLUMN v0");
}

#[test]
fn options_of_indexes_are_shown_as_they_were_given() {
    let mut c = Client::in_test(&server());
    c.run(
        "CREATE TABLE t (a INT, b INT, c INT, PRIMARY KEY (a) USING BTREE, KEY x (b) KEY_BLOCK_SIZE=4, \
         UNIQUE KEY y USING BTREE (c) KEY_BLOCK_SIZE=8 COMMENT 'c' INVISIBLE) KEY_BLOCK_SIZE=8",
    );
    let indexes = "  PRIMARY KEY (`a`) USING BTREE,\n  UNIQUE KEY `y` (`c`) USING BTREE COMMENT 'c' \
                   /*!80000 INVISIBLE */,\n  KEY `x` (`b`) KEY_BLOCK_SIZE=4\n)";
    let text = create_text(&mut c, "t");
    assert!(text.contains(indexes), "{text}");
    c.run("DROP TABLE t");
    c.run(&text);
    assert_eq!(create_text(&mut c, "t"), text);
    c.run("CREATE INDEX z USING BTREE ON t (b, c)");
    c.run("ALTER TABLE t RENAME INDEX x TO w, ADD COLUMN d INT FIRST");
    let text = create_text(&mut c, "t");
    assert!(text.contains("KEY `z` (`b`,`c`) USING BTREE"), "{text}");
    assert!(text.contains("KEY `w` (`b`) KEY_BLOCK_SIZE=4"), "{text}");
    // There are no others: what was asked for instead is not shown.
    c.run("CREATE INDEX h USING HASH ON t (a)");
    let note = &c.rows("SHOW WARNINGS")[0];
    assert_eq!(note[..2], ["Note", "3502"], "{note:?}");
    let text = create_text(&mut c, "t");
    assert!(text.contains("KEY `h` (`a`)\n"), "{text}");
}
