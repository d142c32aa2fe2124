//! Texts in the character sets of clients, bytes that are no character, and placeholders where nothing is prepared.

use super::*;

const TABLE: &str = "CREATE TABLE b (id int PRIMARY KEY, d blob, v varbinary(20), t varchar(20), l varchar(20) CHARACTER SET latin1) CHARACTER SET utf8mb4";

fn with_table() -> Client {
    let mut c = Client::in_test(&server());
    c.run(TABLE);
    c
}

fn failure(c: &mut Client, sql: &[u8]) -> SqlError {
    match c.try_bytes(sql) {
        Ok(_) => panic!("{} succeeds", sql.escape_ascii()),
        Err(e) => e,
    }
}

#[test]
fn a_placeholder_stands_in_prepared_texts_only() {
    let mut c = with_table();
    c.run("INSERT INTO b (id, t) VALUES (1, 'a')");
    for sql in [
        "UPDATE b SET t = ?",
        "SELECT ?",
        "SELECT id FROM b LIMIT ?",
        "DELETE FROM b WHERE id = ?",
        "INSERT INTO b (id) VALUES (?)",
        "SET @a = ?",
        "DO ?",
        "SELECT 1; SELECT ?",
        "CREATE TABLE x (a int DEFAULT (?))",
        "SELECT COUNT(*) OVER (ROWS ? PRECEDING) FROM b",
    ] {
        let e = failure(&mut c, sql.as_bytes());
        assert_eq!(e.code, 1064, "{sql}");
        assert!(e.message.contains("near '?"), "{sql}: {}", e.message);
    }
    assert_eq!(c.rows("SELECT id, t FROM b"), [["1", "a"]]);
    c.run("PREPARE p FROM 'UPDATE b SET t = ? WHERE id = ?'");
    c.run("SET @t = 'x', @i = 1");
    c.run("EXECUTE p USING @t, @i");
    assert_eq!(c.rows("SELECT id, t FROM b"), [["1", "x"]]);
    assert_eq!(c.session.prepare(b"SELECT ?, ?").map(|p| p.params), Ok(2));
    // As in MySQL, a placeholder does not run into a word.
    assert_eq!(c.error("PREPARE p FROM 'SELECT ?a'"), 1064);
}

#[test]
fn a_literal_may_hold_bytes_that_are_no_character() {
    let mut c = with_table();
    let rows = c.rows_of(b"SELECT HEX('\xFF'), LENGTH('a\xE9'), HEX(CONCAT('a', '\xE9\\0'))");
    assert_eq!(rows, [["FF", "2", "61E900"]]);
    assert_eq!(
        c.rows("SHOW WARNINGS")[0],
        ["Warning", "1300", "Invalid utf8mb4 character string: 'FF'"]
    );
    // Each time, also where the plan might have been kept.
    for _ in 0..4 {
        c.rows_of(b"SELECT HEX('\xFE\xFF\xFF\xFF')");
        let expected = [[
            "Warning",
            "1300",
            "Invalid utf8mb4 character string: 'FEFFFF'",
        ]];
        assert_eq!(c.rows("SHOW WARNINGS"), expected);
    }
    c.rows_of(b"INSERT INTO b (id, d, v) VALUES (1, '\xFF\\0\\'\x8C', '\xFE\xFF'), (2, \"\xE9\", 'x' '\xE9')");
    assert_eq!(
        c.rows("SELECT HEX(d), HEX(v) FROM b ORDER BY id"),
        [["FF00278C", "FEFF"], ["E9", "78E9"]]
    );
    assert_eq!(c.rows_of(b"SELECT id FROM b WHERE v = '\xFE\xFF'"), [["1"]]);
    assert_eq!(
        c.rows_of(b"SELECT id FROM b WHERE v IN ('q', 'x\xE9')"),
        [["2"]]
    );
    c.rows_of(b"UPDATE b SET d = CONCAT(d, '\x80') WHERE id = 2");
    assert_eq!(c.one("SELECT HEX(d) FROM b WHERE id = 2"), "E980");
    let e = failure(&mut c, b"INSERT INTO b (id, t) VALUES (3, 'a\xE9')");
    assert_eq!(
        (e.code, &*e.message),
        (
            1366,
            "Incorrect string value: '\\xE9' for column 't' at row 1"
        )
    );
    c.run("SET sql_mode = ''");
    c.rows_of(b"INSERT INTO b (id, t) VALUES (3, 'a\xE9b')");
    assert_eq!(c.one("SELECT t FROM b WHERE id = 3"), "a");
    // Texts that are prepared, and comments.
    c.rows_of(b"PREPARE p FROM 'SELECT HEX(\\'\xFF\\'), ? /* \xFF */'");
    c.run("SET @a = 1");
    assert_eq!(c.rows("EXECUTE p USING @a"), [["FF", "1"]]);
    assert_eq!(c.rows_of(b"SELECT 1 /* \xFF */ -- \xFF"), [["1"]]);
    // A name is text, and so is what is said to be.
    assert_eq!(failure(&mut c, b"SELECT `\xFF`").code, 1300);
    assert_eq!(failure(&mut c, b"SELECT 1 AS \xFF").code, 1300);
    let e = failure(&mut c, b"SELECT _utf8mb4'\xFF'");
    assert_eq!(e.message, "Invalid utf8mb4 character string: 'FF'");
}

#[test]
fn a_text_is_converted_once_from_the_character_set_of_the_client() {
    let mut c = with_table();
    c.run("SET NAMES latin1");
    let rows = c.rows_of(b"SELECT HEX('\xE9'), LENGTH('\xE9'), HEX(n'\xE9'), HEX(_binary'\xE9\xFF'), HEX(_latin1'\xE9'), HEX('\x80'), HEX(_utf8mb4'\xC3\xA9')");
    assert_eq!(rows, [["E9", "1", "C3A9", "E9FF", "E9", "80", "C3A9"]]);
    c.rows_of(b"INSERT INTO b (id, t, l, v) VALUES (10, '\xE9', '\xE9', '\xE9')");
    let stored = "SELECT HEX(t), HEX(l), HEX(v) FROM b WHERE id = 10";
    assert_eq!(c.rows(stored), [["C3A9", "E9", "E9"]]);
    assert_eq!(
        c.rows_of(b"SELECT id FROM b WHERE t = '\xE9' AND l = '\xE9'"),
        [["10"]]
    );
    // Names, labels, comments and messages.
    c.rows_of(b"CREATE TABLE `t\xE9` (\xE9 int COMMENT '\xE9', e enum('\xE9') CHARACTER SET utf8mb4 DEFAULT '\xE9', d varchar(9) CHARACTER SET utf8mb4 DEFAULT (CONCAT('\xE9', 'x')))");
    c.rows_of(b"INSERT INTO t\xE9 (\xE9) VALUES (1)");
    assert_eq!(
        c.rows_of(b"SELECT HEX(e), HEX(d) FROM t\xE9 WHERE e = '\xE9'"),
        [["C3A9", "C3A978"]]
    );
    let e = failure(&mut c, b"SELECT \xE8 FROM t\xE9");
    assert_eq!(e.message, "Unknown column 'è' in 'field list'");
    let e = failure(&mut c, b"SELECT 1 FRO \xE9");
    assert!(e.message.contains("near 'é' at line 1"), "{}", e.message);
    let columns = |r: Collected| {
        r.columns
            .iter()
            .map(|c| c.name.to_string())
            .collect::<Vec<_>>()
    };
    let mut r = c
        .try_bytes(b"SELECT '\xE9', 1 + '\xE9', 2 AS \xE9")
        .expect("rows");
    assert_eq!(columns(r.swap_remove(0)), ["é", "1 + 'é'", "é"]);
    c.run("SET NAMES utf8mb4");
    assert_eq!(
        c.rows("SELECT t = 'é', l = 'é', CHAR_LENGTH(l) FROM b WHERE id = 10"),
        [["1", "1", "1"]]
    );
    assert_eq!(c.rows("SELECT é, e, d FROM té"), [["1", "é", "éx"]]);
    assert!(c.rows("SHOW CREATE TABLE té")[0][1].contains("COMMENT 'é'"));
}

#[test]
fn each_statement_of_a_text_is_read_in_the_character_set_of_its_time() {
    let mut c = with_table();
    c.rows_of(b"SET NAMES latin1; INSERT INTO b (id, t) VALUES (1, '\xE9'); SET NAMES utf8mb4; INSERT INTO b (id, t) VALUES (2, '\xC3\xA9')");
    assert_eq!(c.rows("SELECT HEX(t) FROM b"), [["C3A9"], ["C3A9"]]);
}

#[test]
fn other_character_sets_of_a_connection() {
    let mut c = with_table();
    c.run("SET NAMES binary");
    c.rows_of(b"INSERT INTO b (id, v, t, l) VALUES (1, '\xFF', '\xC3\xA9', '\xE9')");
    assert_eq!(
        c.rows("SELECT HEX(v), HEX(t), HEX(l) FROM b"),
        [["FF", "C3A9", "E9"]]
    );
    assert_eq!(c.rows("SHOW WARNINGS").len(), 0);
    c.run("SET NAMES latin1, collation_connection = 'binary'");
    assert_eq!(c.rows_of(b"SELECT HEX('\xE9')"), [["E9"]]);
    c.run("SET NAMES utf8mb4, collation_connection = 'latin1_swedish_ci'");
    assert_eq!(c.rows("SELECT HEX('é'), HEX('€')"), [["E9", "80"]]);
    c.run("SET NAMES latin1, collation_connection = 'utf8mb4_bin'");
    assert_eq!(
        c.rows_of(b"SELECT HEX('\xE9'), HEX('\x80')"),
        [["C3A9", "E282AC"]]
    );
    c.run("SET NAMES utf8mb3");
    assert_eq!(c.rows("SELECT HEX('é')"), [["C3A9"]]);
    c.run("SET NAMES ascii");
    assert_eq!(c.rows_of(b"SELECT HEX(_binary'\xE9')"), [["E9"]]);
    c.run("SET NAMES ascii, collation_connection = 'utf8mb4_bin'");
    assert_eq!(c.rows_of(b"SELECT HEX('a\xE9')"), [["613F"]]);
}

#[test]
fn prepared_texts_are_read_in_the_character_set_of_the_client() {
    let mut c = with_table();
    c.run("SET NAMES latin1");
    c.rows_of(b"PREPARE p FROM 'SELECT HEX(\\'\xE9\\'), HEX(_binary\\'\xE9\\'), HEX(CONVERT(? USING utf8mb4))'");
    c.rows_of(b"SET @a = '\xE9', @s = 'SELECT HEX(\\'\xE9\\')'");
    assert_eq!(c.rows("EXECUTE p USING @a"), [["E9", "E9", "C3A9"]]);
    c.run("PREPARE q FROM @s");
    assert_eq!(c.rows("EXECUTE q"), [["E9"]]);
    let id = c
        .session
        .prepare(b"SELECT HEX(CONVERT('\xE9' USING utf8mb4))")
        .expect("prepared")
        .id;
    // It stays what it was when it was prepared.
    c.run("SET NAMES utf8mb4");
    let mut sink = Collector::new();
    block_on(c.session.execute_prepared(id, &[], &mut sink)).expect("executed");
    let value = sink
        .results
        .swap_remove(0)
        .rows
        .swap_remove(0)
        .swap_remove(0);
    assert_eq!(value.as_ref().as_bytes(), Some(&b"C3A9"[..]));
}

#[test]
fn a_login_in_binary_is_one() {
    const NAMES: &str = "SELECT CONCAT_WS(' ', @@character_set_client, @@character_set_results, @@collation_connection)";
    let mut c = Client::in_test(&server());
    // The collation of the handshake, as some drivers name it who want bytes alone.
    c.session.set_client_collation(types::CollationId(63));
    assert_eq!(c.one(NAMES), "binary binary binary");
    // A number that nobody has changes nothing.
    c.session.set_client_collation(types::CollationId(8));
    c.session.set_client_collation(types::CollationId(9999));
    assert_eq!(c.one(NAMES), "latin1 latin1 latin1_swedish_ci");
}
