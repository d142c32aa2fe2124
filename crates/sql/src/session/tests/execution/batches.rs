//! Groups of a scanned table: what batches of its columns give is what row after row gives.

use super::Client;

/// Rows of `t`: more than a few batches.
const ROWS: usize = 5000;

/// A table with a column of every kind; every seventh value is NULL, and the sevenths of different columns are in different rows.
fn client() -> Client {
    let mut c = Client::new();
    c.run(
        "CREATE TABLE t (id INT PRIMARY KEY, i INT, u BIGINT UNSIGNED, n DECIMAL(12,2), w DECIMAL(40,3), f FLOAT, d DOUBLE, \
         s VARCHAR(20), b VARBINARY(20), l TEXT, day DATE, at DATETIME(3), ts TIMESTAMP NULL, t TIME(2), y YEAR, \
         e ENUM('x','y','z'), m SET('p','q'), o BIT(9), j JSON, KEY i (i), KEY day (day))",
    );
    let words = ["a", "A", "b", "Ä", "ab ", "ab", "", "3", "4x"];
    for from in (0..ROWS).step_by(500) {
        let row = |r: usize| {
            let values = [
                format!("{}", r % 11),
                format!("{}", r * 7919 % 100_003),
                format!("{}.{:02}", r % 977, r % 100),
                format!("{}123456789012345678901234.{:03}", r % 9 + 1, r % 1000),
                format!("{}.5", r % 5),
                format!("{}.25e{}", r % 13, r % 3),
                format!("'{}'", words[r % 9]),
                format!("'{}'", words[r * 5 % 9]),
                format!("'{}{}'", words[r * 2 % 9], "long".repeat(r % 40)),
                format!("'2020-{:02}-{:02}'", r % 12 + 1, r % 28 + 1),
                format!(
                    "'2021-{:02}-01 10:00:{:02}.{:03}'",
                    r % 12 + 1,
                    r % 60,
                    r % 7
                ),
                format!("'2022-{:02}-01 0{}:00:00'", r % 12 + 1, r % 9),
                format!("'{}:00:{:02}.5'", r % 9, r % 60),
                format!("{}", 1990 + r % 30),
                format!("{}", r % 3 + 1),
                format!("{}", r % 4),
                format!("{}", r % 512),
                format!("'{{\"k\": {}}}'", r % 6),
            ];
            let null = |(k, v): (usize, String)| match (r + k * 3).is_multiple_of(7) {
                true => "NULL".to_owned(),
                false => v,
            };
            let values: Vec<String> = values.into_iter().enumerate().map(null).collect();
            format!("({r}, {})", values.join(", "))
        };
        let rows: Vec<String> = (from..from + 500).map(row).collect();
        c.run(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }
    c.run("ANALYZE TABLE t");
    c
}

/// Rows of values, with their types, as text.
type Rows = Vec<Vec<String>>;

fn texts(rows: Vec<Vec<types::Value>>) -> Rows {
    let row = |r: Vec<types::Value>| r.iter().map(|v| format!("{v:?}")).collect();
    rows.into_iter().map(row).collect()
}

/// The rows of a statement and its warnings.
fn all(c: &mut Client, sql: &str) -> Result<(Rows, Rows), String> {
    let rows = match c.try_run(sql) {
        Ok(r) => texts(r.rows),
        Err(e) => return Err(format!("{} {}", e.code, e.message)),
    };
    Ok((rows, texts(c.run("SHOW WARNINGS").rows)))
}

/// The same by batches and by rows: a variance is not for batches.
fn agree(c: &mut Client, list: &str, rest: &str) {
    let by_batches = all(c, &format!("SELECT {list} FROM t {rest}"));
    let mut by_rows = all(c, &format!("SELECT {list}, VAR_POP(0) FROM t {rest}"));
    if let Ok((rows, _)) = &mut by_rows {
        rows.iter_mut().for_each(|r| drop(r.pop()));
    }
    assert_eq!(by_batches, by_rows, "SELECT {list} FROM t {rest}");
}

#[test]
fn batches_give_what_rows_give() {
    let mut c = client();
    c.run("SET sql_mode = '', time_zone = '+03:00'");
    let columns = [
        "id", "i", "u", "n", "w", "f", "d", "s", "b", "l", "day", "at", "ts", "t", "y", "e", "m",
        "o", "j",
    ];
    let filters = [
        "",
        "WHERE i > 3",
        "WHERE id BETWEEN 700 AND 3100 AND n < 500",
        "WHERE s = 'A' OR day >= '2020-06-01'",
        "WHERE i = 3 AND e <> 'y'",
        "WHERE ts > '2022-05-01' AND u IN (SELECT 7919 * id % 100003 FROM t x WHERE id < 300)",
        "WHERE id < 0",
    ];
    for (k, x) in columns.iter().enumerate() {
        let of = format!("COUNT(*), COUNT({x}), MIN({x}), MAX({x})");
        let numbers = format!("SUM({x}), AVG({x}), BIT_XOR({x}), SUM(n * (1 - i / 10)), MAX({x})");
        for (n, filter) in filters.iter().enumerate() {
            agree(&mut c, &of, filter);
            agree(&mut c, &numbers, filter);
            let y = columns[(k + n + 1) % columns.len()];
            agree(
                &mut c,
                &format!("{x}, {of}"),
                &format!("{filter} GROUP BY {x}"),
            );
            agree(
                &mut c,
                &format!("{x}, {y}, id, SUM(n), {of}"),
                &format!("{filter} GROUP BY {x}, {y}"),
            );
        }
    }
}

#[test]
fn warnings_and_errors_come_in_the_order_of_the_rows() {
    let mut c = client();
    c.run("SET max_error_count = 2000");
    for rest in [
        "WHERE 10 / (i - 3) > -100",
        "WHERE id < 900 AND s + 1 > 0 GROUP BY l + 0",
        "WHERE 1 / (i - 4) > -1 GROUP BY n / (i - 5)",
    ] {
        agree(&mut c, "COUNT(*), SUM(1 / (i - 6)), MAX(s + i)", rest);
        agree(&mut c, "COUNT(*), SUM(b), SUM(n)", rest);
    }
    for (list, rest) in [
        ("SUM(u - 99000)", "WHERE u < 99000"),
        ("SUM(9223372036854775807 + i)", "WHERE id > 2000"),
        ("COUNT(*)", "WHERE EXP(i * 300) > 1"),
        ("COUNT(*)", "GROUP BY 9223372036854775806 + i"),
        ("SUM((SELECT id FROM t))", ""),
    ] {
        agree(&mut c, list, rest);
        assert!(all(&mut c, &format!("SELECT {list} FROM t {rest}")).is_err());
    }
}

#[test]
fn groups_go_on_as_before() {
    let mut c = client();
    for (list, rest) in [
        (
            "i, COUNT(*) AS k",
            "GROUP BY i HAVING k > 400 ORDER BY 2 DESC, 1 LIMIT 3",
        ),
        (
            "s, MIN(id), (SELECT COUNT(*) FROM t x WHERE x.i = MIN(t.i))",
            "GROUP BY s ORDER BY MIN(id) DESC",
        ),
        ("DISTINCT COUNT(*)", "GROUP BY s"),
        ("SUM(1), 'x'", ""),
        ("SUM(1), COUNT(*)", "WHERE id > 100000"),
        ("SUM(n)", "WHERE i > (SELECT AVG(i) FROM t)"),
    ] {
        agree(&mut c, list, rest);
    }
    // Read your own writes, and what others have not committed stays unseen.
    let mut other = c.another();
    other.run("BEGIN");
    other.run("UPDATE t SET n = n + 1000 WHERE id < 1000");
    let sum = "SELECT SUM(n), COUNT(n), MAX(n) FROM t";
    let (seen, own) = (c.rows(sum), other.rows(sum));
    assert_ne!(seen, own);
    agree(&mut other, "SUM(n), COUNT(n), MAX(n)", "");
    agree(&mut c, "SUM(n), COUNT(n), MAX(n)", "");
    other.run("ROLLBACK");
    assert_eq!(other.rows(sum), seen);
}

#[test]
fn values_outside_of_their_rows_are_read() {
    let mut c = client();
    c.run("UPDATE t SET l = REPEAT(CHAR(65 + id % 26), 9000) WHERE id % 50 = 0");
    agree(
        &mut c,
        "l, COUNT(*), MIN(id), SUM(n)",
        "GROUP BY l ORDER BY MIN(id)",
    );
    agree(&mut c, "MAX(l), MIN(l), SUM(LENGTH(l))", "WHERE l > 'B'");
}
