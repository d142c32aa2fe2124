//! What clients are told beside rows: counts of warnings, ids of inserted rows, descriptions of columns.

use super::*;

#[test]
fn what_tells_of_warnings_has_none() {
    let mut c = Client::in_test(&server());
    assert_eq!(c.run("SELECT 1/0, 2/0").done.warnings, 2);
    for text in [
        "SHOW WARNINGS",
        "SHOW COUNT(*) WARNINGS",
        "SHOW ERRORS",
        "SHOW COUNT(*) ERRORS",
    ] {
        assert_eq!(c.run(text).done.warnings, 0, "{text}");
    }
    assert_eq!(c.rows("SHOW WARNINGS").len(), 2);
    assert_eq!(c.one("SELECT @@warning_count"), "2");
    let shown = c.run("SHOW WARNINGS");
    let columns = shown.columns.iter();
    let columns: Vec<_> = columns.map(|c| (c.name.as_str(), c.flags)).collect();
    assert_eq!(columns, [("Level", 1), ("Code", 161), ("Message", 1)]);
}

#[test]
fn the_id_of_a_row_is_that_of_its_number_whatever_its_sign() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE n (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
    c.run("CREATE TABLE d (id DOUBLE AUTO_INCREMENT PRIMARY KEY, v INT)");
    let mut id = |text: &str| c.run(text).done.last_insert_id.cast_signed();
    assert_eq!(id("INSERT INTO n VALUES (-5, 1)"), -5);
    assert_eq!(id("INSERT INTO n VALUES (-3, 1), (-2, 1)"), -2);
    assert_eq!(id("INSERT INTO n VALUES (7, 1), (-1, 1)"), -1);
    assert_eq!(id("REPLACE INTO n VALUES (-9, 1)"), -9);
    assert_eq!(
        id("INSERT INTO n VALUES (-9, 1) ON DUPLICATE KEY UPDATE v = 2"),
        -9
    );
    // One that is made comes first.
    assert_eq!(id("INSERT INTO n VALUES (NULL, 1), (-4, 1)"), 8);
    assert_eq!(id("INSERT INTO d VALUES (-1.5, 1)"), -2);
    assert_eq!(c.one("SELECT LAST_INSERT_ID()"), "8");
}

#[test]
fn computed_numbers_are_binary_and_those_of_columns_are_not() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (a INT, f DOUBLE, s VARCHAR(9))");
    let r = c.run("SELECT a, f, s, a + 1, f * 2, CONCAT(s), 1.5, COUNT(*) FROM t GROUP BY a, f, s");
    let flags: Vec<u16> = r.columns.iter().map(|c| c.flags).collect();
    assert_eq!(flags, [0, 0, 0, 128, 128, 0, 129, 129]);
    let r = c.run("EXPLAIN SELECT 1");
    let of = |name: &str| {
        let mut columns = r.columns.iter();
        columns.find(|c| c.name == name).map(|c| c.flags)
    };
    assert_eq!((of("id"), of("rows")), (Some(160), Some(160)));
    assert_eq!((of("filtered"), of("select_type")), (Some(128), Some(1)));
}

#[test]
fn rows_are_copied_where_mysql_copies_them() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (a INT NOT NULL, b INT, c VARCHAR(9))");
    c.run("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')");
    for (text, rows) in [
        ("ALTER TABLE t ADD COLUMN d INT FIRST", 0),
        ("ALTER TABLE t DROP COLUMN d", 0),
        ("ALTER TABLE t ADD PRIMARY KEY (a)", 0),
        ("ALTER TABLE t MODIFY b INT NOT NULL", 0),
        ("ALTER TABLE t MODIFY b BIGINT", 2),
        ("ALTER TABLE t DROP PRIMARY KEY", 2),
        ("ALTER TABLE t ADD COLUMN g INT AS (b + 1) STORED", 2),
        ("ALTER TABLE t CONVERT TO CHARACTER SET latin1", 2),
        ("ALTER TABLE t ADD CHECK (b > 0)", 2),
        ("ALTER TABLE t ENGINE = InnoDB", 0),
    ] {
        let done = c.run(text).done;
        assert_eq!(done.affected, rows, "{text}");
        let words = format!("Records: {rows}  Duplicates: 0  Warnings: 0");
        assert_eq!(done.info, words, "{text}");
    }
}
