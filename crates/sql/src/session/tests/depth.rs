//! Statements nested deeply, on a stack as small as a serving thread's: what MySQL takes is answered, far deeper ones are refused with
//! 1436 or 1473, and none takes the process along.

use super::*;

/// A server's thread has two mebibytes; a quarter of that is for what calls the session.
const STACK: usize = 3 << 19;

/// Runs `f` on a stack of a serving thread's size.
fn on_small_stack(f: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(f)
        .expect("a thread")
        .join()
        .expect("it ends");
}

/// `n` common table expressions, each reading the one before it `times` times.
fn chain(n: usize, times: usize) -> String {
    let mut sql = "WITH c0 AS (SELECT 1 AS a)".to_owned();
    for i in 1..=n {
        let from: Vec<String> = (0..times).map(|k| format!("c{} AS x{k}", i - 1)).collect();
        sql += &format!(", c{i} AS (SELECT x0.a FROM {})", from.join(", "));
    }
    sql + &format!(" SELECT a FROM c{n}")
}

/// A chain in which each reads the one before from within an expression that is deep itself.
fn deep_chain(n: usize, height: usize) -> String {
    let mut sql = "WITH c0 AS (SELECT 1 AS a)".to_owned();
    for i in 1..=n {
        let plus = "1 + ".repeat(height);
        sql += &format!(", c{i} AS (SELECT {plus}(SELECT a FROM c{}) AS a)", i - 1);
    }
    sql + &format!(" SELECT a FROM c{n}")
}

fn nested(open: &str, inner: &str, close: &str, n: usize) -> String {
    format!("{}{inner}{}", open.repeat(n), close.repeat(n))
}

/// One way to nest: what it is called, and a statement.
type Shape = (&'static str, String);

/// Expressions in expressions, `n` deep.
fn expressions(n: usize) -> Vec<Shape> {
    let select = |e: String| format!("SELECT {e}");
    vec![
        ("parentheses", select(nested("(", "1", ")", n))),
        ("NOT", select(nested("NOT ", "1", "", n))),
        ("!", select(nested("!", "1", "", n))),
        ("minus", select(nested("- ", "1", "", n))),
        ("plus and minus", select(nested("+-", "1", "", n))),
        ("~", select(nested("~", "1", "", n))),
        ("BINARY", select(nested("BINARY ", "1", "", n))),
        ("sum", select(nested("1+", "1", "", n))),
        (
            "sum of columns",
            format!("SELECT {} FROM (SELECT 1 AS a) d", nested("a+", "a", "", n)),
        ),
        (
            "concat",
            select(nested("CONCAT(a,", "'x'", ")", n)) + " FROM (SELECT 'y' AS a) d",
        ),
        (
            "CASE",
            select(nested("CASE WHEN a THEN ", "1", " END", n)) + " FROM (SELECT 1 AS a) d",
        ),
        ("IF", select(nested("IF(1,", "1", ",2)", n))),
        ("CAST", select(nested("CAST(", "1", " AS CHAR)", n))),
        ("IN", select(nested("1 IN (2,", "1", ")", n))),
        ("BETWEEN", select(nested("1 BETWEEN 0 AND ", "1", "", n))),
        ("LIKE", select(nested("1 LIKE ", "1", "", n))),
        ("comparison", select(nested("1 = ", "1", "", n))),
        ("AND OR", select(nested("1 AND 0 OR ", "1", "", n))),
        ("IS", select(nested("", "1", " IS NULL", n))),
        (
            "COLLATE",
            select(nested("", "'a'", " COLLATE utf8mb4_bin", n)),
        ),
        (
            "interval",
            select(nested("", "NOW()", " + INTERVAL 1 DAY", n)),
        ),
        ("arrow", select(nested("INTERVAL 1 DAY + ", "NOW()", "", n))),
        ("assignment", select(nested("@a := ", "1", "", n))),
        ("row", select(nested("(1,", "1", ")", n))),
    ]
}

/// Queries in queries, `n` deep.
fn queries(n: usize) -> Vec<Shape> {
    vec![
        ("scalar subquery", nested("SELECT (", "SELECT 1", ")", n)),
        (
            "scalar of a table",
            nested("SELECT (", "SELECT 1", ") FROM t", n),
        ),
        (
            "correlated",
            nested("SELECT id FROM t WHERE id = (", "SELECT 1", ")", n),
        ),
        (
            "EXISTS",
            nested("SELECT 1 WHERE EXISTS (", "SELECT 1", ")", n),
        ),
        (
            "IN subquery",
            nested("SELECT 1 WHERE 1 IN (", "SELECT 1", ")", n),
        ),
        (
            "ANY",
            nested("SELECT 1 WHERE 1 = ANY (", "SELECT 1", ")", n),
        ),
        (
            "derived",
            nested("SELECT * FROM (", "SELECT 1 AS a", ") d", n),
        ),
        (
            "derived joined",
            nested(
                "SELECT d.a FROM t JOIN (",
                "SELECT 1 AS a",
                ") d ON t.id < 0",
                n,
            ),
        ),
        ("query in parentheses", nested("(", "SELECT 1", ")", n)),
        ("UNION left", nested("(", "SELECT 1", " UNION SELECT 2)", n)),
        (
            "UNION right",
            nested("(SELECT 1 UNION ", "SELECT 1", ")", n),
        ),
        (
            "UNION chain",
            nested("", "SELECT 1", " UNION ALL SELECT 2", n),
        ),
        (
            "EXCEPT chain",
            nested("", "SELECT 1", " EXCEPT SELECT 2", n),
        ),
        (
            "INTERSECT chain",
            nested("", "SELECT 1", " INTERSECT SELECT 1", n),
        ),
        (
            "WITH in WITH",
            nested("WITH c AS (", "SELECT 1", ") SELECT * FROM c", n),
        ),
        ("CTE chain", chain(n, 1)),
        ("CTE doubling", chain(n, 2)),
        ("CTE in expressions", deep_chain(n.min(5000), 100)),
    ]
}

/// Tables in tables, `n` deep.
fn joins(n: usize) -> Vec<Shape> {
    vec![
        (
            "join in parentheses",
            format!("SELECT 1 FROM {}", nested("(", "t", ")", n)),
        ),
        (
            "join tree",
            format!(
                "SELECT 1 FROM {}",
                nested("(", "t", " JOIN t AS x ON 1)", n)
            ),
        ),
        (
            "join chain",
            format!("SELECT 1 FROM {}", nested("", "t", " JOIN t AS x ON 1", n)),
        ),
        (
            "join chain right",
            format!(
                "SELECT 1 FROM {}t{}",
                "t JOIN ".repeat(n),
                " ON 1".repeat(n)
            ),
        ),
        (
            "natural chain",
            format!(
                "SELECT 1 FROM {}",
                nested("", "t", " NATURAL JOIN t AS x", n)
            ),
        ),
        (
            "comma chain",
            format!("SELECT 1 FROM {}", nested("", "t", ", t AS x", n)),
        ),
    ]
}

/// What is nested in texts, and in comments, `n` deep.
fn texts(n: usize) -> Vec<Shape> {
    let select = |e: String| format!("SELECT {e}");
    vec![
        (
            "json text",
            format!("SELECT JSON_VALID('{}')", nested("[", "1", "]", n)),
        ),
        (
            "json objects",
            format!("SELECT CAST('{}' AS JSON)", nested("{\"a\":", "1", "}", n)),
        ),
        (
            "json path",
            format!("SELECT JSON_EXTRACT('1', '${}')", "[0]".repeat(n)),
        ),
        (
            "json path **",
            format!("SELECT JSON_EXTRACT('[1]', '${}.a')", "**[0]".repeat(n)),
        ),
        ("JSON_ARRAY", select(nested("JSON_ARRAY(", "1", ")", n))),
        (
            "regexp",
            format!("SELECT 'a' REGEXP '{}'", nested("(", "a", ")", n)),
        ),
        (
            "regexp repeats",
            format!("SELECT 'a' REGEXP '{}'", nested("(", "a", "*)*", n)),
        ),
        (
            "comment",
            format!("SELECT /*!99999 {} */ 1", nested("/*", " ", "*/", n)),
        ),
        (
            "version comment",
            format!("SELECT {} 1", "/*!50000 */".repeat(n)),
        ),
        (
            "block",
            nested("BEGIN IF 1 THEN ", "SELECT 1;", " END IF; END;", n),
        ),
        ("EXPLAIN", format!("{}SELECT 1", "EXPLAIN ".repeat(n))),
    ]
}

/// Expressions of other statements and clauses, `n` deep.
fn statements(n: usize) -> Vec<Shape> {
    vec![
        (
            "CHECK",
            format!(
                "CREATE TABLE n (a INT, CHECK ({}))",
                nested("(", "a", ")", n)
            ),
        ),
        (
            "DEFAULT",
            format!(
                "CREATE TABLE n (a INT DEFAULT ({}))",
                nested("~", "1", "", n)
            ),
        ),
        (
            "generated",
            format!(
                "CREATE TABLE n (a INT, b INT AS ({}))",
                nested("a+", "a", "", n)
            ),
        ),
        (
            "HAVING",
            format!(
                "SELECT {} AS x HAVING {}",
                nested("1+", "1", "", n),
                nested("1+", "x", "", n)
            ),
        ),
        ("SET", format!("SET @a = {}", nested("(", "1", ")", n))),
        ("DO", format!("DO {}", nested("ABS(", "1", ")", n))),
        (
            "INSERT",
            format!("INSERT INTO t VALUES ({}, 1)", nested("1+", "1", "", n)),
        ),
        (
            "UPDATE",
            format!("UPDATE t SET v = {}", nested("v+", "1", "", n)),
        ),
        (
            "DELETE",
            format!("DELETE FROM t WHERE {}", nested("v = ", "1", "", n)),
        ),
        (
            "ORDER BY",
            format!("SELECT id FROM t ORDER BY {}", nested("-", "id", "", n)),
        ),
        (
            "GROUP BY",
            format!(
                "SELECT COUNT(*) FROM t GROUP BY {}",
                nested("- ", "id", "", n)
            ),
        ),
        (
            "window",
            format!("SELECT SUM({}) OVER () FROM t", nested("-", "id", "", n)),
        ),
    ]
}

/// Every way to nest, `n` times.
fn shapes(n: usize) -> impl Iterator<Item = Shape> {
    [expressions, queries, joins, texts, statements]
        .into_iter()
        .flat_map(move |f| f(n))
}

#[test]
fn nothing_nested_ends_the_process() {
    on_small_stack(|| {
        let mut c = Client::in_test(&server());
        c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
        c.run("INSERT INTO t VALUES (-1, 1)");
        for n in [
            1, 10, 20, 30, 40, 60, 75, 100, 150, 159, 200, 400, 499, 2000, 100_000,
        ] {
            for (name, sql) in shapes(n) {
                let e = c.error(&sql);
                assert!(n > 10 || e != 1436, "{name}, {n} times: {e}");
            }
        }
        assert_eq!(c.one("SELECT 1"), "1");
    });
}

#[test]
fn what_a_name_stands_for_counts() {
    on_small_stack(|| {
        let mut c = Client::in_test(&server());
        assert_eq!(c.one(&chain(50, 1)), "1");
        assert_eq!(c.one(&chain(60, 1)), "1");
        assert_eq!(c.error(&chain(160, 1)), 1473);
        assert_eq!(c.one(&chain(8, 2)), "1");
        assert_eq!(c.error(&chain(30, 2)), 1235, "a thousand million blocks");
        assert_eq!(c.error(&chain(30, 60)), 1235);
        assert_eq!(c.error(&deep_chain(160, 400)), 1473);
        let e = c
            .try_all(&nested("SELECT (", "1", ")", 9000))
            .expect_err("too deep");
        assert_eq!(e.sqlstate, "HY000");
        assert!(e.message.starts_with("Thread stack overrun: "), "{e}");
    });
}

/// Nested as deep as statements of public tests and of programs that write SQL are, and what they give.
fn taken() -> Vec<(String, &'static str)> {
    let select = |e: String| format!("SELECT {e}");
    let from_t = |e: String| format!("SELECT {e} FROM t");
    vec![
        (select(nested("(", "1", ")", 220)), "1"),
        (select(nested("(", "1", ")", 1200)), "1"),
        (select(nested("1 AND (", "1", ")", 500)), "1"),
        (from_t(nested("v = 1 AND (", "v = 1", ")", 500)), "1"),
        (from_t(nested("v = 2 OR NOT (", "v = 1", ")", 400)), "1"),
        (select(nested("CASE WHEN 1 THEN ", "7", " END", 300)), "7"),
        (from_t(nested("IF(v = 1, ", "8", ", 9)", 300)), "8"),
        (select(nested("ABS(", "-3", ")", 700)), "3"),
        (from_t(nested("CONCAT(", "v", ", '')", 700)), "1"),
        (select(nested("1+", "1", "", 2000)), "2001"),
        (from_t(nested("v+", "v", "", 2000)), "2001"),
        (select(nested("-(", "5", ")", 600)), "5"),
        (from_t(nested("COALESCE(NULL, ", "v", ")", 500)), "1"),
        (nested("SELECT (", "SELECT 4", ")", 60), "4"),
        (nested("SELECT * FROM (", "SELECT 5 AS a", ") d", 60), "5"),
        (
            nested("SELECT 6 FROM t WHERE EXISTS (", "SELECT 1", ")", 60),
            "6",
        ),
        (
            nested("SELECT 7 FROM t WHERE 7 IN (", "SELECT 7", ")", 60),
            "7",
        ),
    ]
}

#[test]
fn what_mysql_takes_is_taken() {
    on_small_stack(|| {
        let mut c = Client::in_test(&server());
        c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
        c.run("INSERT INTO t VALUES (1, 1)");
        for (sql, gives) in taken() {
            let shown = &sql[..sql.len().min(60)];
            // The second time the text has a plan that was kept.
            for _ in 0..2 {
                assert_eq!(c.one(&sql), gives, "{shown}");
            }
            c.run(&format!("EXPLAIN {sql}"));
            let text = sql.replace('\'', "''");
            c.run(&format!("PREPARE s FROM '{text}'"));
            for _ in 0..2 {
                assert_eq!(c.one("EXECUTE s"), gives, "{shown}");
            }
            let id = c.session.prepare(sql.as_bytes()).expect("prepared").id;
            for _ in 0..2 {
                let mut sink = Collector::new();
                block_on(c.session.execute_prepared(id, &[], &mut sink)).expect("executed");
                assert_eq!(super::texts(&sink.results[0])[0][0], gives, "{shown}");
            }
            c.session.close_prepared(id);
            // A definition is read in many places, and stays within what a thread has room for, however it is written.
            match c.error(&format!("CREATE VIEW w AS {sql}")) {
                0 => {
                    assert_eq!(c.one("SELECT * FROM w"), gives, "{shown}");
                    c.run("DROP VIEW w");
                }
                e => assert_eq!(e, 1436, "{shown}"),
            }
        }
        let queries = nested("SELECT * FROM (", "SELECT 5 AS a", ") d", 64);
        assert_eq!(c.error(&queries), 1473);
        c.run(&format!(
            "INSERT INTO t VALUES (2, {})",
            nested("(", "2", ")", 500)
        ));
        c.run(&format!(
            "UPDATE t SET v = {} WHERE id = 2",
            nested("v+", "v", "", 900)
        ));
        assert_eq!(c.one("SELECT v FROM t WHERE id = 2"), "1802");
        c.run(&format!("SET @a = {}", nested("(", "3", ")", 500)));
        c.run(&format!(
            "DELETE FROM t WHERE v = {}",
            nested("(", "1802", ")", 500)
        ));
        assert_eq!(c.one("SELECT CONCAT(@a, COUNT(*)) FROM t"), "31");
    });
}
