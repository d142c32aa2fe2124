//! Definitions that must make the same thing again when their text is run: what programs that dump tables rely on.

use super::*;

/// `SHOW CREATE TABLE t`, which is run in place of the table; it must be shown alike then.
fn made_again(c: &mut Client) -> String {
    let text = c.rows("SHOW CREATE TABLE t")[0][1].clone();
    c.run("DROP TABLE t");
    c.run(&text);
    assert_eq!(c.rows("SHOW CREATE TABLE t")[0][1], text);
    text
}

fn default_of(c: &mut Client, column: &str) -> String {
    c.run("DELETE FROM t");
    c.run("INSERT INTO t (id) VALUES (1)");
    c.rows(&format!("SELECT HEX({column}) FROM t"))[0][0].clone()
}

/// The way of MySQL 8.0: quoted where it is text, digits otherwise; SHOW COLUMNS and information_schema have digits for binary types always.
#[test]
fn defaults_of_bytes_are_shown_so_that_they_come_back() {
    let mut c = Client::in_test(&server());
    let create: &[u8] = b"CREATE TABLE t (id int, v varbinary(9) DEFAULT '\xFF\\0', w varbinary(9) DEFAULT 'a\\\\''b', x varbinary(9) DEFAULT '', b binary(4) DEFAULT 'ab', \
        u varchar(9) CHARACTER SET utf8mb4 DEFAULT '\xF0\x9F\x98\x80', l varchar(9) CHARACTER SET latin1 DEFAULT '\xC3\xA9')";
    c.try_bytes(create).expect("the definition");
    let text = made_again(&mut c);
    for line in [
        "`v` varbinary(9) DEFAULT 0xFF00,",
        r"`w` varbinary(9) DEFAULT 'a\\''b',",
        "`x` varbinary(9) DEFAULT '',",
        r"`b` binary(4) DEFAULT 'ab\0\0',",
        "`u` varchar(9) DEFAULT 0xF09F9880,",
        "`l` varchar(9) CHARACTER SET latin1 DEFAULT 'é'\n",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    for (column, hex) in [
        ("v", "FF00"),
        ("w", "615C2762"),
        ("x", ""),
        ("b", "61620000"),
        ("u", "F09F9880"),
        ("l", "E9"),
    ] {
        assert_eq!(default_of(&mut c, column), hex, "{column}");
    }
    let shown = "SELECT column_default FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position";
    assert_eq!(
        c.rows(shown).concat(),
        ["NULL", "0xFF00", "0x615C2762", "", "0x61620000", "😀", "é"]
    );
    assert_eq!(c.rows("SHOW COLUMNS FROM t LIKE 'v'")[0][4], "0xFF00");
}

#[test]
fn members_are_shown_in_the_set_of_their_column_with_escapes() {
    let mut c = Client::in_test(&server());
    c.run(
        r"CREATE TABLE t (id int, e enum('é','a\\b','it''s','n\nl') CHARACTER SET latin1 DEFAULT 'é', s set('x\\','ü') DEFAULT 'x\\,ü', b enum(0xE9,'é') CHARACTER SET binary)",
    );
    let text = made_again(&mut c);
    for part in [
        r"`e` enum('é','a\\b','it''s','n\nl') CHARACTER SET latin1 DEFAULT 'é',",
        r"`s` set('x\\','ü') DEFAULT 'x\\,ü',",
        "`b` enum(0xE9,'é') CHARACTER SET binary",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(default_of(&mut c, "e"), "E9");
    assert_eq!(default_of(&mut c, "s"), "785C2CC3BC");
    assert_eq!(
        c.rows("SELECT column_type FROM information_schema.columns WHERE table_name = 't' AND column_name = 's'"),
        [[r"set('x\\','ü')"]]
    );
}

#[test]
fn members_and_comments_must_be_text() {
    let mut c = Client::in_test(&server());
    for (sql, code) in [
        (
            &b"CREATE TABLE t (a enum('\xFF') CHARACTER SET utf8mb4)"[..],
            1300,
        ),
        (
            b"CREATE TABLE t (a set('a\xE9b') CHARACTER SET utf8mb3)",
            1300,
        ),
        (b"CREATE TABLE t (a enum('\xFF') CHARACTER SET ascii)", 1300),
        (b"CREATE TABLE t (a int COMMENT '\xFF')", 4088),
        (b"CREATE TABLE t (a int) COMMENT 'a\xE9b'", 4088),
        (b"CREATE TABLE t (a int, KEY k (a) COMMENT '\xC3')", 4088),
    ] {
        let e = c.try_bytes(sql).err().map(|e| e.code);
        assert_eq!(e, Some(code), "{}", sql.escape_ascii());
    }
    c.run("CREATE TABLE t (a int COMMENT 'é😀') COMMENT 'ü'");
    let e = c.try_bytes(b"ALTER TABLE t COMMENT 'a\xE9b'").err();
    assert_eq!(
        e.map(|e| e.message).as_deref(),
        Some(r"Comment for table 't' contains an invalid utf8mb4 character string: '\xE9\x62'.")
    );
    made_again(&mut c);
}

#[test]
fn json_that_may_be_null_says_so() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id int, j json, k json NOT NULL, x text, y blob)");
    let text = made_again(&mut c);
    assert!(
        text.contains("`j` json DEFAULT NULL,\n  `k` json NOT NULL,\n  `x` text,\n  `y` blob\n"),
        "{text}"
    );
}

#[test]
fn national_literals_take_any_bytes() {
    let mut c = Client::in_test(&server());
    let rows = c.rows_of(b"SELECT HEX(N'\xFF'), CHARSET(n'a'), HEX(n'\xC3\xA9')");
    assert_eq!(rows, [["FF", "utf8mb3", "C3A9"]]);
    let warning = ["Warning", "1300", "Invalid utf8mb3 character string: 'FF'"];
    assert_eq!(c.rows("SHOW WARNINGS"), [warning]);
    let e = c.try_bytes(b"SELECT _utf8mb3'\xFF'").err();
    assert_eq!(e.map(|e| e.code), Some(1300));
    c.run("CREATE TABLE t (b varbinary(9), v varchar(9))");
    c.try_bytes(b"INSERT INTO t (b) VALUES (N'\xFF')")
        .expect("bytes");
    let e = c.try_bytes(b"INSERT INTO t (v) VALUES (N'\xFF')").err();
    assert_eq!(e.map(|e| e.code), Some(1366));
    c.run("SET NAMES utf8mb3");
    let e = c.try_bytes(b"INSERT INTO t (v) VALUES ('a\xC3')").err();
    assert_eq!(e.map(|e| e.code), Some(1366));
    assert_eq!(c.rows("SELECT HEX(b) FROM t"), [["FF"]]);
}

/// What `mysqldump --all-databases` asks for first in the system schema.
#[test]
fn the_tables_of_the_logs_are_there_and_empty() {
    let mut c = Client::in_test(&server());
    for (table, column) in [
        ("general_log", "`argument` mediumblob NOT NULL"),
        ("slow_log", "`query_time` time(6) NOT NULL"),
    ] {
        let text = c.rows(&format!("SHOW CREATE TABLE mysql.{table}"))[0][1].clone();
        assert!(text.contains(column), "{text}");
        assert_eq!(
            c.rows(&format!("SELECT COUNT(*) FROM mysql.{table}")),
            [["0"]]
        );
        let listed = c.rows(&format!("SHOW TABLES FROM mysql LIKE '{table}'"));
        assert_eq!(listed, [[table]]);
    }
}
