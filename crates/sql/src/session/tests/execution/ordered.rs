//! What comes in order is taken as it comes: groups and distinct values of an index with many of them, and joins that a small table without rows ends
//! before they begin. The answers are those of any other way.

use std::sync::Arc;

use super::Client;
use crate::session::Session;

/// `t` has 60,000 rows of more than 20,000 values in each index.
fn client() -> Client {
    let mut c = Client::new();
    c.run("CREATE TABLE digits (d INT PRIMARY KEY)");
    c.run("INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)");
    c.run(
        "CREATE TABLE t (id INT PRIMARY KEY, k INT, n INT NOT NULL, s VARCHAR(12), d DATE, \
         KEY k (k), KEY nk (n, k), KEY s (s), KEY back (n DESC, d), KEY d (d, n))",
    );
    for ten_thousand in 0..6 {
        c.run(&format!(
            "INSERT INTO t SELECT i, NULLIF(i * 7919 % 25000, 77), i * 31 % 23000, \
             CONCAT(IF(i % 3, 'key', 'KEY'), LPAD(i * 13 % 48000, 6, '0'), IF(i % 5, '', ' ')), \
             '2000-01-01' + INTERVAL i * 17 % 22000 DAY FROM (
             SELECT {ten_thousand} * 10000 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS i
             FROM digits a, digits b, digits c, digits e) numbers"
        ));
    }
    c.run("ANALYZE TABLE t");
    c
}

/// What a text answers, in one row.
fn summed(c: &mut Client, columns: usize, sql: &str) -> String {
    let names: Vec<String> = (0..columns).map(|i| format!("c{i}")).collect();
    let sums = names
        .iter()
        .map(|n| format!("SUM(CRC32(CONCAT_WS('/', '{n}', {n})))"));
    let sums: Vec<String> = sums.collect();
    c.rows(&format!(
        "SELECT COUNT(*), {}, SUM(CRC32(CONCAT_WS('/', {}))) FROM ({sql}) x ({})",
        sums.join(", "),
        names.join(", "),
        names.join(", ")
    ))
}

/// Groups of an index's rows, one behind the other, are those that are found by their keys.
#[test]
fn groups_come_as_they_stand() {
    let mut c = client();
    for (index, columns, sql) in [
        ("k", 2, "SELECT k, COUNT(*) FROM t {i} GROUP BY k"),
        (
            "k",
            2,
            "SELECT k, COUNT(*) FROM t {i} GROUP BY k HAVING COUNT(*) > 2",
        ),
        (
            "k",
            2,
            "SELECT k, MAX(id) FROM t {i} WHERE k > 100 GROUP BY k",
        ),
        (
            "k",
            2,
            "SELECT k, MAX(id) FROM t {i} WHERE k IS NULL OR k > 9 GROUP BY k",
        ),
        ("nk", 3, "SELECT n, COUNT(k), SUM(k) FROM t {i} GROUP BY n"),
        (
            "nk",
            3,
            "SELECT n, k, COUNT(*) FROM t {i} WHERE n + k > 50 GROUP BY n, k",
        ),
        ("nk", 3, "SELECT k, n, COUNT(*) FROM t {i} GROUP BY k, n"),
        (
            "s",
            2,
            "SELECT UPPER(RTRIM(s)), COUNT(*) FROM t {i} GROUP BY s",
        ),
        ("back", 3, "SELECT n, d, COUNT(*) FROM t {i} GROUP BY n, d"),
        (
            "d",
            3,
            "SELECT d, MIN(n), GROUP_CONCAT(DISTINCT n ORDER BY n) FROM t {i} GROUP BY d",
        ),
        ("PRIMARY", 2, "SELECT id, COUNT(k) FROM t {i} GROUP BY id"),
        (
            "PRIMARY",
            2,
            "SELECT id, (SELECT COUNT(*) FROM digits WHERE d = id % 20) FROM t {i} GROUP BY id",
        ),
    ] {
        let by = |way: &str| sql.replace("{i}", way);
        let ordered = summed(&mut c, columns, &by(&format!("FORCE INDEX ({index})")));
        let other = summed(
            &mut c,
            columns,
            &by("IGNORE INDEX (PRIMARY, k, nk, s, back, d)"),
        );
        assert_eq!(ordered, other, "{sql}");
        assert_eq!(summed(&mut c, columns, &by("")), other, "{sql}");
    }
    // What is limited ends early, and what is left out is left out.
    let some =
        "SELECT k, COUNT(*) FROM t GROUP BY k HAVING COUNT(*) < 3 ORDER BY k LIMIT 3 OFFSET 300";
    let all = some.replace("FROM t", "FROM t IGNORE INDEX (k, nk)");
    assert_eq!(c.rows(some), c.rows(&all));
}

/// Of values that come in order DISTINCT keeps the last.
#[test]
fn distinct_values_are_counted_as_they_come() {
    let mut c = client();
    for sql in [
        "SELECT COUNT(DISTINCT k) FROM t {i}",
        "SELECT COUNT(DISTINCT k), COUNT(*), MAX(k) FROM t {i}",
        "SELECT COUNT(DISTINCT k), COUNT(DISTINCT n), SUM(DISTINCT k), AVG(DISTINCT n) FROM t {i}",
        "SELECT COUNT(DISTINCT n, k) FROM t {i}",
        "SELECT COUNT(DISTINCT n), COUNT(DISTINCT n + 1) FROM t {i}",
        "SELECT COUNT(DISTINCT s) FROM t {i}",
        "SELECT COUNT(DISTINCT s COLLATE utf8mb4_bin), COUNT(DISTINCT s) FROM t {i}",
        "SELECT COUNT(DISTINCT n) FROM t {i} WHERE k % 3 = 1",
        "SELECT COUNT(DISTINCT k) FROM t {i} WHERE k BETWEEN 10 AND 24000",
        "SELECT COUNT(DISTINCT k) FROM t {i} WHERE n = 5",
        "SELECT COUNT(DISTINCT k) FROM t {i} WHERE k IN (1, 2, 3) OR k > 500",
        "SELECT COUNT(DISTINCT d) FROM t {i} HAVING COUNT(DISTINCT d) > 5",
        "SELECT COUNT(DISTINCT id) FROM t {i}",
        "SELECT COUNT(DISTINCT k) FROM t {i} WHERE k < 0",
    ] {
        let other = sql.replace("{i}", "IGNORE INDEX (PRIMARY, k, nk, s, back, d)");
        let ordered = sql.replace("{i}", "");
        assert_eq!(c.rows(&ordered), c.rows(&other), "{sql}");
    }
    // The values themselves need no room.
    c.run("CREATE USER u@localhost");
    c.run("GRANT ALL ON test.* TO u@localhost");
    c.run("SET GLOBAL connection_memory_limit = 2097152");
    let id = c.instance.next_connection_id();
    let mut limited = Client {
        instance: Arc::clone(&c.instance),
        session: Session::new(&c.instance, "u", "localhost", id),
    };
    limited.run("USE test");
    let counted = limited.rows("SELECT COUNT(DISTINCT id) FROM t");
    let (code, _) = limited.error("SELECT COUNT(DISTINCT id + 0) FROM t");
    assert_eq!((&counted[..], code), ("60000", 4082));
}

/// A small table without a row that is wanted ends a join before large ones are read.
#[test]
fn a_small_table_without_rows_ends_a_join() {
    let mut c = client();
    c.run("CREATE TABLE few (x INT, name VARCHAR(10))");
    c.run("INSERT INTO few VALUES (1,'a'), (2,'b'), (3,'c')");
    c.run("CREATE TABLE lone (x INT PRIMARY KEY, y INT)");
    c.run("INSERT INTO lone VALUES (1, 1), (2, 2)");
    c.run("ANALYZE TABLE few, lone");
    let mut read = |sql: &str| {
        let before = c.rows_read();
        let said = c.rows(sql);
        (said, c.rows_read() - before)
    };
    let order = "/*+ JOIN_ORDER(t, few) */";
    for (sql, expected) in [
        (
            "SELECT {o} COUNT(*), MAX(t.s) FROM t JOIN few ON few.x = t.n WHERE few.name LIKE 'z%'",
            "0|NULL",
        ),
        (
            "SELECT {o} COUNT(*) FROM t, few WHERE few.x = t.k AND few.name = CONCAT('q', few.x)",
            "0",
        ),
        (
            "SELECT {o} t.n, COUNT(*) FROM t JOIN few ON few.x = t.n WHERE few.x + 0 > 7 GROUP BY t.n",
            "",
        ),
        (
            "SELECT {o} t.s FROM t JOIN few ON few.x + 1 = t.n WHERE few.name > 'd' ORDER BY t.s",
            "",
        ),
    ] {
        let (said, rows) = read(&sql.replace("{o}", order));
        assert_eq!(said, expected, "{sql}");
        assert!(rows < 100, "{rows} rows: {sql}");
        // With rows it is what it was.
        let some = sql.replace("'z%'", "'%'").replace("{o}", order);
        let any = some.replace(order, "/*+ JOIN_ORDER(few, t) */");
        assert_eq!(read(&some).0, read(&any).0, "{sql}");
    }
    // An outer join keeps its rows, and so does what is asked of the other side.
    let outer =
        "SELECT COUNT(*), COUNT(few.x) FROM t LEFT JOIN few ON few.x = t.n AND few.name = 'zz'";
    assert_eq!(read(outer).0, "60000|0");
    let anti = "SELECT COUNT(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM few WHERE few.x = t.n AND few.name = 'zz')";
    assert_eq!(read(anti).0, "60000");
    let within = "SELECT x, (SELECT COUNT(*) FROM t JOIN few f ON f.x = t.n WHERE f.name = CHAR(96 + lone.x + lone.y * 9)) FROM lone";
    assert_eq!(read(within).0, "1|0 2|0");
    assert_eq!(
        read("SELECT COUNT(*) FROM t JOIN few ON few.x = t.n").0,
        read("SELECT COUNT(*) FROM t WHERE n IN (1, 2, 3)").0
    );
}

/// A pattern that a parameter gives is a range of an index where it begins with a text, and is none where it does not.
#[test]
fn patterns_of_parameters_are_ranges() {
    let mut c = client();
    c.run("CREATE INDEX sn ON t (n, s)");
    c.run("CREATE INDEX sb ON t (s DESC)");
    c.run("ANALYZE TABLE t");
    for (name, sql) in [
        (
            "p",
            "SELECT COUNT(*), MIN(id), MAX(id) FROM t WHERE s LIKE ?",
        ),
        (
            "q",
            "SELECT COUNT(*), MIN(id), MAX(id) FROM t WHERE s LIKE CONCAT(?, '%')",
        ),
        (
            "r",
            "SELECT COUNT(*), MIN(id), MAX(id) FROM t FORCE INDEX (sn) WHERE n = 31 AND s LIKE ?",
        ),
        (
            "v",
            "SELECT COUNT(*), MIN(id), MAX(id) FROM t IGNORE INDEX (s) WHERE s LIKE ?",
        ),
        (
            "u",
            "SELECT COUNT(*), MIN(id), MAX(id) FROM t WHERE s LIKE ? OR id = 77",
        ),
        (
            "w",
            "SELECT COUNT(*), MIN(id), MAX(id) FROM t WHERE s NOT LIKE ?",
        ),
        (
            "x",
            "SELECT COUNT(*), MIN(id), MAX(id) FROM t WHERE s LIKE ? ESCAPE '|'",
        ),
    ] {
        c.run(&format!("PREPARE {name} FROM \"{sql}\""));
        for pattern in [
            "key000013%",
            "KEY0000%3%",
            "%13",
            "",
            "%",
            "_ey000013",
            "key000013",
            "key000013 ",
            "nothing%",
            "key\\\\_%",
            "key|%",
            "\u{e9}%",
            "k%",
            "key 0%",
            " key%",
        ] {
            c.run(&format!("SET @v = '{pattern}'"));
            let said = c.rows(&format!("EXECUTE {name} USING @v"));
            let written = format!("'{pattern}'");
            let plain = sql.replacen('?', &written, 1);
            let plain = plain.replace("FROM t", "FROM t IGNORE INDEX (s, sb, sn)");
            let plain = plain.replace(
                "IGNORE INDEX (s, sb, sn) FORCE INDEX (sn)",
                "IGNORE INDEX (s, sb, sn)",
            );
            let plain = plain.replace(
                "IGNORE INDEX (s, sb, sn) IGNORE INDEX (s)",
                "IGNORE INDEX (s, sb, sn)",
            );
            assert_eq!(said, c.rows(&plain), "{sql}: {pattern}");
        }
        c.run("SET @v = NULL");
        let none = c.rows(&format!("EXECUTE {name} USING @v"));
        let expected = if name == "u" {
            "1|77|77"
        } else {
            "0|NULL|NULL"
        };
        assert_eq!(none, expected, "{sql}");
    }
    // Few rows are read, whichever value came first.
    let expected = c.rows("SELECT COUNT(*) FROM t IGNORE INDEX (s, sb) WHERE s LIKE 'key00001_%'");
    for first in ["key000013%", "%13"] {
        c.run("PREPARE p FROM 'SELECT COUNT(*) FROM t WHERE s LIKE ?'");
        c.run(&format!("SET @first = '{first}', @v = 'KEY00001_%'"));
        c.rows("EXECUTE p USING @first");
        let before = c.rows_read();
        assert_eq!(c.rows("EXECUTE p USING @v"), expected, "{first}");
        let read = c.rows_read() - before;
        assert!(read < 1000, "{read} rows after {first}");
    }
}
