//! What can wait in an expression (SLEEP, GET_LOCK …) waits wherever an expression may stand, or is refused by name; and KILL and a time limit
//! end the statement there. That an evaluation waits is an error inside ([`sql_expr::PENDING`]), which must not reach a client.

use std::thread;
use std::time::{Duration, Instant};

use base::block_on;
use types::SqlError;

use super::{Client, server, texts};
use sql_plan::sink::Collector;

/// Everything that can wait, each with an answer at once.
const WAITING: &[(&str, &str)] = &[
    ("SLEEP(0)", "0"),
    ("GET_LOCK('a', 0)", "1"),
    ("GET_LOCK('a', -1)", "1"),
    ("(RELEASE_LOCK('nobody has it') IS NULL)", "1"),
    ("(RELEASE_ALL_LOCKS() * 0)", "0"),
    ("IS_FREE_LOCK('free')", "1"),
    ("(IS_USED_LOCK('free') IS NULL)", "1"),
    ("WAIT_FOR_EXECUTED_GTID_SET('', 0)", "0"),
    ("(SLEEP(0) + GET_LOCK('b', 0))", "1"),
    ("IF(SLEEP(0), 7, 2)", "2"),
    ("COALESCE(NULL, SLEEP(0))", "0"),
    ("(SELECT SLEEP(0))", "0"),
    ("((SELECT MAX(SLEEP(0) + v) FROM t) * 0)", "0"),
];

/// Where an expression may stand: `{}`, with the value `=` compared; the rows that are expected, or the error.
enum Want {
    /// The value itself, this often.
    Value(usize),
    /// So many rows.
    Rows(usize),
    /// Nothing is returned.
    Done,
    /// It is refused with one of these.
    Refused(&'static [u16]),
    /// Whatever a value that is not the same for all rows comes to, but no error.
    Any,
}

use Want::{Any, Done, Refused, Rows, Value};

/// `{}` is the expression, `{v}` its value.
const PLACES: &[(&str, Want)] = &[
    ("SELECT {}", Value(1)),
    ("SELECT {} FROM t", Value(3)),
    ("SELECT {} FROM t WHERE id = 1", Value(1)),
    ("SELECT DISTINCT {} FROM t", Value(1)),
    ("SELECT {} FROM t LIMIT 2", Value(2)),
    ("SELECT {} FROM t ORDER BY v DESC", Value(3)),
    ("SELECT {} FROM t JOIN u ON t.id = u.id", Value(2)),
    ("SELECT {} FROM t LEFT JOIN u ON t.id = u.id", Value(3)),
    ("SELECT {} FROM t, u", Value(6)),
    ("SELECT x FROM (SELECT {} AS x FROM t) d", Value(3)),
    (
        "WITH d AS (SELECT {} AS x FROM t) SELECT x FROM d",
        Value(3),
    ),
    ("SELECT {} UNION ALL SELECT {}", Value(2)),
    ("SELECT {} UNION SELECT {}", Value(1)),
    (
        "(SELECT {} FROM t) UNION ALL (SELECT {}) ORDER BY 1",
        Value(4),
    ),
    ("SELECT id FROM t UNION SELECT id FROM u ORDER BY {}", Any),
    ("VALUES ROW({}), ROW({})", Value(2)),
    ("SELECT 1 FROM t WHERE {} = {v}", Rows(3)),
    ("SELECT 1 FROM t WHERE id = 2 AND {} = {v}", Rows(1)),
    ("SELECT 1 FROM t WHERE id = {} - {v} + 2", Rows(1)),
    ("SELECT 1 FROM t WHERE v IN ({}, 1, 2, 3)", Any),
    ("SELECT 1 FROM t WHERE v BETWEEN 1 AND {} + 100", Rows(3)),
    ("SELECT 1 FROM t JOIN u ON t.id = u.id + {} * 0", Rows(2)),
    (
        "SELECT 1 FROM t JOIN u ON t.id = u.id AND {} = {v}",
        Rows(2),
    ),
    (
        "SELECT 1 FROM t LEFT JOIN u ON t.id = u.id AND {} = {v}",
        Rows(3),
    ),
    ("SELECT 1 FROM t JOIN u ON t.v + {} = u.w + {v}", Any),
    (
        "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id AND {} = {v})",
        Rows(2),
    ),
    (
        "SELECT 1 FROM t WHERE id IN (SELECT u.id + {} * 0 FROM u)",
        Rows(2),
    ),
    ("SELECT 1 FROM t WHERE {} IN (SELECT {v} FROM u)", Rows(3)),
    (
        "SELECT (SELECT {} FROM u WHERE u.id = t.id) FROM t",
        Rows(3),
    ),
    (
        "SELECT (SELECT {} + t.id * 0 FROM u LIMIT 1) FROM t",
        Value(3),
    ),
    ("SELECT MIN({}) FROM t", Value(1)),
    ("SELECT MAX({}) FROM t", Value(1)),
    ("SELECT COUNT({}) FROM t", Rows(1)),
    ("SELECT COUNT(DISTINCT {}) FROM t", Rows(1)),
    ("SELECT SUM({}), AVG({}) FROM t", Rows(1)),
    ("SELECT BIT_OR({}) FROM t", Value(1)),
    ("SELECT GROUP_CONCAT({} ORDER BY {}) FROM t", Rows(1)),
    ("SELECT GROUP_CONCAT(id ORDER BY {}) FROM t", Rows(1)),
    ("SELECT v, MIN({}) FROM t GROUP BY v", Rows(3)),
    (
        "SELECT MIN({}) FROM t JOIN u ON t.id = u.id GROUP BY u.w",
        Value(2),
    ),
    ("SELECT 1 FROM t GROUP BY {}", Rows(1)),
    ("SELECT {} AS x, COUNT(*) FROM t GROUP BY x", Rows(1)),
    ("SELECT v FROM t GROUP BY v, {}", Rows(3)),
    (
        "SELECT v FROM t GROUP BY v WITH ROLLUP HAVING {} = {v}",
        Any,
    ),
    ("SELECT v FROM t GROUP BY v HAVING {} = {v}", Rows(3)),
    ("SELECT COUNT(*) FROM t HAVING MIN({}) = {v}", Rows(1)),
    ("SELECT v FROM t HAVING {} = {v}", Rows(3)),
    (
        "SELECT v, {} AS x FROM t HAVING x = {v} ORDER BY x, v",
        Rows(3),
    ),
    ("SELECT v FROM t ORDER BY {}", Rows(3)),
    ("SELECT DISTINCT v FROM t ORDER BY v + {}", Any),
    ("SELECT v FROM t GROUP BY v ORDER BY MAX({})", Rows(3)),
    ("SELECT v FROM t GROUP BY v ORDER BY {}", Rows(3)),
    ("SELECT SQL_CALC_FOUND_ROWS {} FROM t LIMIT 1", Value(1)),
    ("SELECT {} FROM t FOR UPDATE", Value(3)),
    ("SELECT {} INTO @x", Done),
    ("SELECT @x := {} FROM t", Value(3)),
    ("SET @x = {}", Done),
    (
        "SET SESSION max_join_size = 18446744073709551615 + {} * 0",
        Any,
    ),
    ("DO {}", Done),
    ("DO 1, {}", Done),
    ("SELECT * FROM seen_by_sleep", Rows(3)),
    ("SELECT x FROM slept", Rows(3)),
    ("SELECT COUNT(*) FROM slept GROUP BY x", Rows(1)),
    ("INSERT INTO w VALUES (1, {})", Done),
    ("INSERT INTO w VALUES (1, 2), (2, {}), (3, {} + a)", Done),
    ("INSERT INTO w SET a = 1, b = {}", Done),
    ("INSERT INTO w (b) VALUES ({})", Done),
    ("INSERT INTO w SELECT id, {} FROM t", Done),
    (
        "INSERT INTO w VALUES ({}, 1), ({} + 10, 2) ON DUPLICATE KEY UPDATE b = {}",
        Done,
    ),
    (
        "INSERT INTO w2 (a, b) VALUES (1, 1) ON DUPLICATE KEY UPDATE b = {}",
        Done,
    ),
    (
        "INSERT INTO w2 (a, b) VALUES (1, 1) ON DUPLICATE KEY UPDATE b = b + 1, b = VALUES(b) + {} + b",
        Done,
    ),
    (
        "INSERT INTO w2 (a, b) SELECT 1, {} ON DUPLICATE KEY UPDATE b = {} + w2.b",
        Done,
    ),
    ("REPLACE INTO w2 (a, b) VALUES (1, {})", Done),
    ("INSERT IGNORE INTO w2 (a, b) VALUES (1, {}), (9, {})", Done),
    ("UPDATE w2 SET b = {}", Done),
    ("UPDATE w2 SET b = {} WHERE a = 1", Done),
    ("UPDATE w2 SET b = {} WHERE c = 5", Done),
    ("UPDATE w2 SET b = {}, c = b + {} ORDER BY a LIMIT 1", Done),
    ("UPDATE w2 SET a = a + {} * 0", Done),
    ("UPDATE w2 SET b = 1 WHERE {} = {v}", Done),
    ("UPDATE w2 SET b = 1 WHERE a = 1 AND {} = {v}", Done),
    ("UPDATE w2 SET b = 1 ORDER BY {} LIMIT 1", Done),
    (
        "UPDATE w2, t SET w2.b = {}, t.v = t.v + {} * 0 WHERE w2.a = t.id",
        Done,
    ),
    ("UPDATE w2 SET b = (SELECT {} FROM t LIMIT 1)", Done),
    ("DELETE FROM w2 WHERE {} = {v} + 1", Done),
    ("DELETE FROM w2 WHERE a = 1 AND {} = {v} + 1", Done),
    ("DELETE FROM w2 ORDER BY {} LIMIT 1", Done),
    (
        "DELETE w2 FROM w2 JOIN t ON w2.a = t.id AND {} = {v} + 1",
        Done,
    ),
    ("CREATE TABLE made AS SELECT {} AS x FROM t", Done),
    (
        "CREATE TEMPORARY TABLE made2 AS SELECT MIN({}) AS x FROM t",
        Done,
    ),
    (
        "CREATE TABLE no (a INT DEFAULT ({}))",
        Refused(&[3770, 3772, 3773, 3774, 1674, 1064, 1235]),
    ),
    (
        "CREATE TABLE no (a INT, b INT AS (a + {}))",
        Refused(&[3763, 3762, 3102, 1235]),
    ),
    (
        "CREATE TABLE no (a INT, CHECK (a > {}))",
        Refused(&[3814, 3815, 3812, 1235]),
    ),
    (
        "CREATE TABLE no (a INT, KEY ((a + {})))",
        Refused(&[3757, 3758, 3756, 3760, 1235]),
    ),
    ("EXPLAIN SELECT {} FROM t WHERE {} = {v}", Any),
    ("EXPLAIN ANALYZE SELECT MIN({}) FROM t", Any),
    ("EXPLAIN FORMAT=TREE SELECT {} FROM t ORDER BY {}", Any),
    ("SELECT 1 FROM t LIMIT {}", Refused(&[1064, 1327, 1210])),
    ("SHOW TABLES WHERE {} = {v}", Refused(&[1235])),
    (
        "SHOW VARIABLES WHERE {} = {v} AND variable_name = 'port'",
        Refused(&[1235]),
    ),
    (
        "SELECT 1 FROM information_schema.schemata WHERE {} = {v} LIMIT 1",
        Rows(1),
    ),
    ("SELECT MIN({}) FROM information_schema.schemata", Value(1)),
    ("HANDLER h READ FIRST WHERE {} = {v}", Rows(1)),
    ("KILL QUERY 100000 + {}", Refused(&[1094, 1235])),
    (
        "PREPARE s FROM 'SELECT MIN({q}), 1 FROM t GROUP BY {q}'; EXECUTE s; EXECUTE s",
        Any,
    ),
    (
        "SET @y = 5; PREPARE s FROM 'INSERT INTO w VALUES (?, {q})'; EXECUTE s USING @y",
        Done,
    ),
    ("BEGIN; UPDATE w2 SET b = {}; ROLLBACK", Done),
    ("INSERT INTO checked VALUES (1, {})", Refused(&[1235])),
    ("UPDATE checked SET b = 7 + {}", Refused(&[1235])),
    ("INSERT INTO chance (a) VALUES ({})", Done),
    ("INSERT INTO chance (a) SELECT {} FROM t", Done),
    ("UPDATE chance SET a = {}, b = DEFAULT", Done),
];

fn started() -> Client {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY (v)); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    c.run("CREATE TABLE u (id INT PRIMARY KEY, w INT); INSERT INTO u VALUES (1, 10), (2, 20)");
    c.run("CREATE VIEW slept AS SELECT SLEEP(0) AS x, id FROM t");
    c.run("CREATE VIEW seen_by_sleep AS SELECT id FROM t WHERE SLEEP(0) = 0");
    c
}

fn fresh(c: &mut Client) {
    c.run("DROP TABLE IF EXISTS w, w2, made, made2, no");
    c.run("CREATE TABLE w (a INT PRIMARY KEY AUTO_INCREMENT, b INT)");
    c.run("CREATE TABLE w2 (a INT PRIMARY KEY, b INT, c INT, KEY (c)); INSERT INTO w2 VALUES (1, 0, 5)");
    c.run("CREATE OR REPLACE VIEW checked AS SELECT a, b FROM w WHERE SLEEP(0) = 0 WITH CHECK OPTION; INSERT INTO w VALUES (50, 5)");
    c.run("CREATE TABLE IF NOT EXISTS chance (a INT, b VARBINARY(9) DEFAULT (RANDOM_BYTES(9)))");
    c.run("CREATE TABLE IF NOT EXISTS hh (a INT PRIMARY KEY); INSERT IGNORE INTO hh VALUES (1)");
}

#[test]
fn what_waits_does_so_wherever_it_stands() {
    let mut c = started();
    let mut wrong = Vec::new();
    for (expr, value) in WAITING {
        for (place, want) in PLACES {
            fresh(&mut c);
            let sql = place
                .replace("{v}", value)
                .replace("{q}", &expr.replace('\'', "''"))
                .replace("{}", expr);
            let handler = sql.starts_with("HANDLER");
            if handler {
                c.run("HANDLER hh OPEN AS h");
            }
            let subquery = expr.contains("SELECT");
            // A text of two columns has as many as a place has room for.
            let done = c.try_all(&sql);
            if let Err(e) = prepared(&mut c, &sql) {
                assert!(e.code != 0 && e.code != 1105, "{sql}, prepared: {e}");
            }
            let bad = match (&done, want) {
                (Err(e), _) if e.code == 0 || e.message.contains("waiting") => true,
                // Where no subquery may stand, the error is another one.
                (Err(e), Refused(codes)) => !codes.contains(&e.code) && !subquery,
                (Ok(_), Refused(_)) => true,
                (Err(e), Any) => e.code == 1105,
                (Ok(_), Any | Done) => false,
                (Err(e), _) => !(subquery && [1064, 1093, 1235, 3102, 3754].contains(&e.code)),
                (Ok(r), Rows(n)) => r.last().map_or(0, |r| r.rows.len()) != *n,
                (Ok(r), Value(n)) => r.last().is_none_or(|r| {
                    let rows = texts(r);
                    rows.len() != *n || rows.iter().any(|r| !same(&r[0], value))
                }),
            };
            if bad {
                let got = done.map(|r| r.last().map(texts));
                wrong.push(format!("{sql}: {got:?}"));
            }
            if handler {
                c.run("HANDLER h CLOSE");
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The same by the binary protocol, over what the statement has left.
fn prepared(c: &mut Client, sql: &str) -> Result<(), SqlError> {
    if sql.contains(';') || sql.starts_with("HANDLER") || sql.starts_with("CREATE") {
        return Ok(());
    }
    let id = c.session.prepare(sql.as_bytes())?.id;
    let done = block_on(c.session.execute_prepared(id, &[], &mut Collector::new()));
    c.session.close_prepared(id);
    done
}

fn same(a: &str, b: &str) -> bool {
    a == b || a.parse::<f64>().ok() == b.parse::<f64>().ok()
}

/// What waits three times as long as the test would, once for each row, and what else ends with an error.
const INTERRUPTED: &[&str] = &[
    "SELECT SLEEP(20) FROM t",
    "SELECT 1 FROM t WHERE SLEEP(20)",
    "SELECT 1 FROM t WHERE SLEEP(20) = 0",
    "SELECT 1 FROM t, u WHERE SLEEP(20) = 0",
    "SELECT MIN(SLEEP(20)) FROM t",
    "SELECT 1 FROM t GROUP BY SLEEP(20)",
    "SELECT v FROM t ORDER BY SLEEP(20)",
    "SELECT v FROM t HAVING SLEEP(20) = 0",
    "SELECT (SELECT SLEEP(20) FROM u LIMIT 1) FROM t",
    "SELECT * FROM (SELECT SLEEP(20) FROM t) d",
    "SELECT GET_LOCK('taken', 20)",
    "SELECT GET_LOCK('taken', -1) FROM t",
    "DELETE FROM t WHERE SLEEP(20)",
    "DELETE FROM t WHERE SLEEP(20) = 0",
    "DELETE FROM t WHERE id = 1 AND SLEEP(20) IS NOT NULL",
    "DELETE FROM t ORDER BY SLEEP(20) LIMIT 2",
    "UPDATE t SET v = SLEEP(20)",
    "UPDATE t SET v = 9 WHERE SLEEP(20) = 1",
    "UPDATE t SET v = SLEEP(20) WHERE id = 1",
    "UPDATE t, u SET v = SLEEP(20), w = 1 WHERE t.id = u.id",
    "INSERT INTO t VALUES (7, 7), (8, SLEEP(20))",
    "INSERT INTO t VALUES (1, 7) ON DUPLICATE KEY UPDATE v = SLEEP(20)",
    "INSERT INTO t SELECT id + 10, SLEEP(20) FROM u",
    "REPLACE INTO t VALUES (1, GET_LOCK('taken', 20))",
];

#[test]
fn kill_ends_the_statement_and_nothing_is_done() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
    );
    root.run("CREATE TABLE u (id INT PRIMARY KEY, w INT); INSERT INTO u VALUES (1, 10), (2, 20)");
    root.run("SELECT GET_LOCK('taken', 0)");
    for sql in INTERRUPTED {
        let mut c = Client::in_test(&s);
        let id = c.one("SELECT CONNECTION_ID()");
        let begun = Instant::now();
        let t = thread::spawn(move || (c.try_all(sql).map_err(|e| e.code).map(drop), c));
        thread::sleep(Duration::from_millis(40));
        root.run(&format!("KILL QUERY {id}"));
        let (done, mut c) = t.join().expect("a client");
        assert_eq!(done, Err(1317), "{sql}");
        assert!(begun.elapsed() < Duration::from_secs(15), "{sql}");
        assert_eq!(
            c.rows("SELECT v FROM t ORDER BY id"),
            [["1"], ["2"], ["3"]],
            "{sql}"
        );
        assert_eq!(c.one("SELECT SUM(w) FROM u"), "30", "{sql}");
    }
    // Where nothing follows the wait, SLEEP says that it was interrupted.
    for (sql, value) in [("SELECT SLEEP(20)", Some("1")), ("DO SLEEP(20)", None)] {
        let mut c = Client::in_test(&s);
        let id = c.one("SELECT CONNECTION_ID()");
        let t = thread::spawn(move || texts(&c.run(sql)).first().map(|r| r[0].clone()));
        thread::sleep(Duration::from_millis(40));
        root.run(&format!("KILL QUERY {id}"));
        assert_eq!(t.join().expect("a client").as_deref(), value, "{sql}");
    }
}

#[test]
fn a_time_limit_ends_the_query_with_its_error() {
    let mut c = started();
    for sql in INTERRUPTED.iter().filter(|s| s.starts_with("SELECT")) {
        if sql.contains("taken") {
            continue;
        }
        let sql = sql.replacen("SELECT", "SELECT /*+ MAX_EXECUTION_TIME(30) */", 1);
        assert_eq!(c.error(&sql), 3024, "{sql}");
        let each = sql.replace("SLEEP(20)", "SLEEP(0.02)");
        if !each.contains("LIMIT 1") {
            assert_eq!(c.error(&each), 3024, "{each}");
        }
    }
    assert_eq!(c.one("SELECT /*+ MAX_EXECUTION_TIME(30) */ SLEEP(20)"), "1");
}
