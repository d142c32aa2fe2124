//! Expressions that need a session around them: what goes on from statement to statement, subqueries, assignment to columns.

use super::*;

#[test]
fn rand_goes_on_from_statement_to_statement() {
    let mut c = Client::in_test(&server());
    let drawn: std::collections::HashSet<String> =
        (0..20).map(|_| c.one("SELECT RAND()")).collect();
    assert_eq!(drawn.len(), 20);
    assert_eq!(c.one("SELECT RAND(3)"), c.one("SELECT RAND(3)"));
    let other = Client::in_test(&server()).one("SELECT RAND()");
    assert!(other.starts_with("0.") || other.contains("e-"), "{other}");
}

#[test]
fn sysdate_reads_the_clock_and_now_does_not() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (n INT)");
    c.run("INSERT INTO t VALUES (1), (2)");
    let rows = c.rows(
        "SELECT n, SLEEP(2), TIMESTAMPDIFF(SECOND, NOW(), SYSDATE()), NOW() = CURRENT_TIMESTAMP FROM t ORDER BY n",
    );
    assert_eq!(rows, [["1", "0", "2", "1"], ["2", "0", "4", "1"]]);
    c.run("SET timestamp = 1000000000");
    assert_eq!(
        c.one("SELECT YEAR(NOW()) = 2001 AND YEAR(SYSDATE()) > 2001"),
        "1"
    );
}

#[test]
fn a_literal_of_bits_is_a_number_to_a_column_of_numbers() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (i INT, d DECIMAL(5,1), f DOUBLE, s VARCHAR(9), b BIT(8))");
    c.run("INSERT INTO t VALUES (0x41, x'0010', b'11', 0x41, 0x41)");
    c.run("INSERT INTO t SET i = (0x42), s = b'1000010'");
    c.run("UPDATE t SET d = 0x31 WHERE i = 0x42");
    let rows = c.rows("SELECT i, d, f, s, b + 0 FROM t ORDER BY i");
    assert_eq!(
        rows,
        [
            ["65", "16.0", "3", "A", "65"],
            ["66", "49.0", "NULL", "B", "NULL"]
        ]
    );
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE 0x1"), "2");
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE 0x0"), "0");
    assert_eq!(c.one("SELECT SUM(0x10) FROM t"), "32");
    assert_eq!(c.one("SELECT BIT_OR(0x10) FROM t"), "16");
    assert_eq!(c.one("SELECT MAX(0x41) FROM t"), "A");
    assert_eq!(
        c.error("INSERT INTO t (i) VALUES (0x010000000000000000)"),
        1264
    );
}

#[test]
fn a_quotient_keeps_its_digits_until_it_is_shown() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (i INT)");
    c.run("INSERT INTO t VALUES (1), (2), (4)");
    assert_eq!(c.one("SELECT AVG(i) FROM t"), "2.3333");
    assert_eq!(c.one("SELECT AVG(i) / 3 FROM t"), "0.77777778");
    assert_eq!(c.one("SELECT AVG(i) * 3 FROM t"), "7.0000");
    assert_eq!(
        c.one("SELECT COUNT(*) FROM t HAVING AVG(i) * 3 > 6.9999"),
        "3"
    );
    c.run("CREATE TABLE s (x DECIMAL(10,6), y DECIMAL(10,2))");
    c.run("INSERT INTO s VALUES (1/3, 2/3)");
    c.run("INSERT INTO s SET x = 2/3");
    assert_eq!(
        c.rows("SELECT * FROM s ORDER BY x"),
        [["0.333333", "0.67"], ["0.666667", "NULL"]]
    );
}

#[test]
fn rows_and_row_subqueries_are_compared_part_by_part() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (a INT, b VARCHAR(5))");
    c.run("INSERT INTO t VALUES (1, '2'), (3, NULL)");
    for (text, want) in [
        ("(SELECT 1, 2) IN (SELECT 1, 2)", "1"),
        ("(SELECT 1, 2) IN (SELECT a, b FROM t)", "1"),
        ("(SELECT 1, 3) NOT IN (SELECT a, b FROM t)", "1"),
        ("(SELECT 3, 3) IN (SELECT a, b FROM t)", "NULL"),
        ("(SELECT 1, 2 FROM t WHERE a = 9) IN (SELECT 1, 2)", "NULL"),
        (
            "(SELECT 1, 2 FROM t WHERE a = 9) IN (SELECT 1, 2 FROM t WHERE a = 9)",
            "0",
        ),
        ("(SELECT 1, '02') = (1, 2)", "1"),
        ("((SELECT 1, 2), 3) = ((1, 2), 3)", "1"),
        ("((1, 2), 3) = ((SELECT a, b FROM t WHERE a = 1), 3)", "1"),
        ("((1, 2), 3) <=> ((SELECT a, b FROM t WHERE a = 9), 3)", "0"),
        (
            "((1, 2), 3) = ((SELECT a, b FROM t WHERE a = 9), 3)",
            "NULL",
        ),
    ] {
        assert_eq!(c.one(&format!("SELECT {text}")), want, "{text}");
    }
    assert_eq!(c.error("SELECT (SELECT 1, 2) IN (SELECT 1)"), 1241);
    assert_eq!(c.error("SELECT ((SELECT 1, 2), 3) = (1, 3)"), 1241);
    assert_eq!(c.error("SELECT (1, (2, 3))"), 1241);
}

#[test]
fn a_default_is_written_as_a_member_or_is_a_number() {
    let mut c = Client::in_test(&server());
    assert_eq!(c.error("CREATE TABLE t (e ENUM('a') DEFAULT '1')"), 1067);
    assert_eq!(c.error("CREATE TABLE t (e ENUM('a') DEFAULT 1)"), 1067);
    assert_eq!(
        c.error("CREATE TABLE t (s SET('a', 'b') DEFAULT '3')"),
        1067
    );
    assert_eq!(
        c.error("CREATE TABLE t (s SET('a', 'b') DEFAULT 'a,c')"),
        1067
    );
    c.run("CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a', '2') DEFAULT 'A', f ENUM('1', '2') DEFAULT '2', s SET('a', 'b') DEFAULT 'b,a', z SET('a') DEFAULT '', i INT DEFAULT 0x41, b BIT(8) DEFAULT b'11', v VARCHAR(3) DEFAULT 0x41)");
    c.run("INSERT INTO t (id) VALUES (1)");
    assert_eq!(
        c.rows("SELECT e, f, s, z, i, b + 0, v FROM t"),
        [["a", "2", "a,b", "", "65", "3", "A"]]
    );
}

#[test]
fn invalid_dates_are_stored_where_the_mode_allows_them() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, d DATE, t DATETIME, s TIMESTAMP NULL)");
    assert_eq!(
        c.error("INSERT INTO t (id, d) VALUES (1, '2021-02-31')"),
        1292
    );
    c.run("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ALLOW_INVALID_DATES'");
    c.run("INSERT INTO t (id, d, t) VALUES (1, '2021-02-31', 20210431101112)");
    assert_eq!(
        c.error("INSERT INTO t (id, d) VALUES (2, '2021-02-32')"),
        1292
    );
    assert_eq!(
        c.error("INSERT INTO t (id, s) VALUES (2, '2021-02-31')"),
        1292
    );
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE d = '2021-02-31'"), "1");
    c.run("SET SESSION sql_mode = DEFAULT");
    assert_eq!(
        c.rows("SELECT d, t, d < '2021-03-01' FROM t"),
        [["2021-02-31", "2021-04-31 10:11:12", "1"]]
    );
    assert_eq!(c.error("INSERT INTO t (id, d) SELECT 3, d FROM t"), 1292);
}

#[test]
fn what_an_expression_only_warns_of_is_an_error_of_a_strict_write() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (i INT, s VARCHAR(9))");
    c.run("INSERT INTO t VALUES (1, 'a')");
    assert_eq!(c.error("INSERT INTO t (i) SELECT 'x' + 1"), 1292);
    assert_eq!(c.error("INSERT INTO t (i) VALUES (1 + 'x')"), 1292);
    assert_eq!(c.error("UPDATE t SET i = s + 1"), 1292);
    assert_eq!(c.error("UPDATE t SET i = 2 WHERE s = 0"), 1292);
    assert_eq!(c.error("DELETE FROM t WHERE s = 0"), 1292);
    assert_eq!(c.error("REPLACE INTO t (i) SELECT LN(0)"), 3020);
    assert_eq!(c.rows("SELECT i, s FROM t"), [["1", "a"]]);
    // Not where the statement says so, nor where nothing is written.
    c.run("UPDATE IGNORE t SET i = 2 WHERE s = 0");
    assert_eq!(c.rows("SELECT i, s FROM t"), [["2", "a"]]);
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE s = 0"), "1");
    c.run("SET sql_mode = ''");
    c.run("UPDATE t SET i = s + 3");
    assert_eq!(c.rows("SELECT i, s FROM t"), [["3", "a"]]);
}

#[test]
fn a_limit_is_no_literal_of_bits() {
    let mut c = Client::in_test(&server());
    assert_eq!(c.error("SELECT 1 LIMIT 0x1"), 1064);
    assert_eq!(c.one("SELECT 1 LIMIT 1"), "1");
}

#[test]
fn the_seeds_of_rand_can_be_set() {
    let mut c = Client::in_test(&server());
    let drawn = |c: &mut Client| {
        c.run("SET rand_seed1 = 12345, rand_seed2 = 678");
        (c.one("SELECT RAND()"), c.one("SELECT RAND()"))
    };
    let first = drawn(&mut c);
    assert_eq!(drawn(&mut c), first);
    assert_ne!(first.0, first.1);
    // (3 * 12345 + 678) / 0x3FFFFFFF
    let wanted = f64::from(3 * 12345 + 678) / f64::from(0x3FFF_FFFF);
    assert_eq!(first.0.parse::<f64>(), Ok(wanted));
    assert_eq!(c.one("SELECT @@rand_seed1"), "0");
}

#[test]
fn a_selected_quotient_is_stored_with_its_digits() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (n INT, d DECIMAL(40,9), s VARCHAR(20))");
    c.run("CREATE TABLE u (a INT)");
    c.run("INSERT INTO u VALUES (2)");
    c.run("INSERT INTO t SELECT 1, 1/3, 1/3");
    c.run("INSERT INTO t SELECT 2, a/3, a/3 FROM u");
    c.run("INSERT INTO t (n, s) SELECT 0x41, 0x41");
    assert_eq!(c.rows("SELECT n, s FROM t WHERE n = 65"), [["65", "A"]]);
    c.run("DELETE FROM t WHERE n = 65");
    c.run("INSERT INTO t SELECT 3, 9999999999999999999999999999999/3, 'x'");
    assert_eq!(
        c.rows("SELECT n, d, s FROM t ORDER BY n"),
        [
            ["1", "0.333333333", "0.3333"],
            ["2", "0.666666666", "0.6667"],
            ["3", "3333333333333333333333333333333.000000000", "x"]
        ]
    );
}
