//! Functional key parts and indexes of generated columns where plans, writers and a restart have to do with them.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn sound(c: &mut Client, table: &str) {
    let rows = c.rows(&format!("CHECK TABLE {table}"));
    assert_eq!(rows[0][3], "OK", "{rows:?}");
}

/// The first line of EXPLAIN FORMAT=TREE that reads the table.
fn reads(c: &mut Client, sql: &str) -> String {
    let text = c.one(&format!("EXPLAIN FORMAT=TREE {sql}"));
    let line = text.lines().find(|l| l.contains(" on ")).unwrap_or("");
    let line = line.split("  (cost=").next().unwrap_or(line);
    line.trim_start_matches([' ', '-', '>']).to_owned()
}

fn client() -> Client {
    let mut c = Client::in_test(&server());
    c.run(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, n VARCHAR(20), m DATETIME, ts TIMESTAMP NULL, j JSON, \
         g INT AS (a + 1), w VARCHAR(10) COLLATE utf8mb4_bin AS (j->>'$.k'), \
         KEY g (g), KEY w (w), KEY l ((lower(n))), KEY s ((a * 2)), KEY d ((DATE(m)), id), KEY q ((a / 3)), KEY z ((DATE(ts))), \
         KEY c ((CAST(m AS DATE))))",
    );
    c.run("INSERT INTO t (id, a, n) VALUES (1, 1, 'Ann')");
    c
}

#[test]
fn plans_use_the_index_of_an_expression() {
    let mut c = client();
    for (sql, plan) in [
        (
            "lower(n) = 'ann'",
            "Index lookup on t using l (lower(`n`)='ann')",
        ),
        (
            "'ann' = LOWER(t.n)",
            "Index lookup on t using l (lower(`n`)='ann')",
        ),
        (
            "a * 2 > 5",
            "Index range scan on t using s over (5 < (`a` * 2))",
        ),
        (
            "a * 2 IN (2, 4)",
            "Index range scan on t using s over ((`a` * 2) = 2) OR ((`a` * 2) = 4)",
        ),
        (
            "a * 2 BETWEEN 2 AND 4",
            "Index range scan on t using s over (2 <= (`a` * 2) <= 4)",
        ),
        (
            "DATE(m) = '2024-01-01'",
            "Index lookup on t using d (date(`m`)='2024-01-01')",
        ),
        // The manual's example.
        ("a + 1 > 9", "Index range scan on t using g over (9 < g)"),
        ("a + 1 = 9", "Index lookup on t using g (g=9)"),
        ("j->>'$.k' = 'x'", "Index lookup on t using w (w='x')"),
        // What the column may have cut is looked for in the rows.
        (
            "a + 1 > 2147483646",
            "Index range scan on t using g over (2147483646 < g)",
        ),
        ("a + 1 > 2147483647", "Table scan on t"),
        ("a + 1 = 2147483647", "Table scan on t"),
        ("j->>'$.k' = '0123456789'", "Table scan on t"),
        // What is not the same, or not to everybody.
        ("2 * a > 5", "Table scan on t"),
        ("upper(n) = 'ann'", "Table scan on t"),
        ("lower(n) = 'ann' COLLATE utf8mb4_bin", "Table scan on t"),
        ("a / 3 = 1", "Table scan on t"),
        ("DATE(ts) = '2024-01-01'", "Table scan on t"),
        ("CAST(m AS DATE) = '2024-01-01'", "Table scan on t"),
    ] {
        let sql = format!("SELECT * FROM t WHERE {sql}");
        assert_eq!(reads(&mut c, &sql), plan, "{sql}");
    }
    let order = "SELECT * FROM t ORDER BY a * 2 LIMIT 3";
    assert_eq!(reads(&mut c, order), "Index scan on t using s");
    let covered = "SELECT COUNT(*) FROM t WHERE lower(n) = 'ann'";
    let plan = "Covering index lookup on t using l (lower(`n`)='ann')";
    assert_eq!(reads(&mut c, covered), plan);
    c.run("EXPLAIN SELECT a FROM t WHERE a * 2 = 2");
    let said = c.rows("SHOW WARNINGS").swap_remove(0).swap_remove(2);
    assert!(said.ends_with(" where ((`a` * 2) = 2)"), "{said}");
    c.run("SET div_precision_increment = 10");
    let sql = "SELECT * FROM t WHERE a / 3 BETWEEN 0.33333 AND 0.33334";
    assert_eq!(reads(&mut c, sql), "Table scan on t");
    assert_eq!(
        c.rows("SELECT id FROM t WHERE a / 3 BETWEEN 0.33333 AND 0.33334"),
        [["1"]]
    );
}

#[test]
fn a_parameter_is_looked_for_by_the_index_of_an_expression() {
    let mut c = client();
    c.run("PREPARE p FROM 'SELECT id FROM t WHERE lower(n) = ?'");
    c.run("SET @x = 'ANN'");
    assert_eq!(c.rows("EXECUTE p USING @x"), [["1"]]);
    c.run("SET @x = NULL");
    assert!(c.rows("EXECUTE p USING @x").is_empty());
    c.run("PREPARE q FROM 'SELECT id FROM t WHERE a + 1 = ?'");
    c.run("SET @x = 2");
    assert_eq!(c.rows("EXECUTE q USING @x"), [["1"]]);
}

#[test]
fn an_index_of_an_expression_follows_its_row() {
    let mut c = client();
    c.run("UPDATE t SET n = 'Bob' WHERE id = 1");
    assert_eq!(c.rows("SELECT id FROM t WHERE lower(n) = 'bob'"), [["1"]]);
    assert!(c.rows("SELECT id FROM t WHERE lower(n) = 'ann'").is_empty());
    c.run("INSERT INTO t (id, n) VALUES (1, 'x') ON DUPLICATE KEY UPDATE n = 'Cid'");
    assert_eq!(c.rows("SELECT id FROM t WHERE lower(n) = 'cid'"), [["1"]]);
    sound(&mut c, "t");
}

#[test]
fn a_definition_with_functional_parts_survives_a_restart() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (a INT, b INT, KEY k (b, (a + b) DESC), UNIQUE KEY u ((a * 2)))");
    c.run("INSERT INTO t VALUES (1, 2), (3, 4)");
    let before = c.rows("SHOW CREATE TABLE t");
    drop(c);
    block_on(s.engine().close()).expect("closed");
    drop(s);
    let mut c = Client::in_test(&server_on(disk));
    assert_eq!(c.rows("SHOW CREATE TABLE t"), before);
    assert_eq!(c.error("INSERT INTO t VALUES (1, 5)"), 1062);
    assert_eq!(c.error("SELECT `!hidden!u!0!0` FROM t"), 1054);
    let text = before[0][1].replacen("`t`", "`again`", 1);
    c.run(&text);
    let again = c.rows("SHOW CREATE TABLE again")[0][1].replacen("`again`", "`t`", 1);
    assert_eq!(again, before[0][1]);
    sound(&mut c, "t");
}

/// What writers do while a unique functional index comes is in it, or it does not come.
#[test]
fn a_functional_index_comes_beside_writers() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    for first in (0..2000).step_by(200) {
        let rows: Vec<String> = (first..first + 200)
            .map(|i| format!("({i}, {i})"))
            .collect();
        c.run(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut w = Client::in_test(&s);
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                let id = n % 2000;
                w.run(&format!("UPDATE t SET v = v + 10000 WHERE id = {id}"));
            }
        });
        for _ in 0..3 {
            c.run("ALTER TABLE t ADD UNIQUE u ((v * 2)), LOCK=NONE");
            c.run("DROP INDEX u ON t");
        }
        c.run("CREATE INDEX u ON t ((v * 2)) LOCK=NONE");
        stop.store(true, Ordering::Relaxed);
        writer.join().expect("a writer");
    });
    sound(&mut c, "t");
    let all = c.one("SELECT COUNT(*) FROM t FORCE INDEX (u) WHERE v * 2 >= 0");
    assert_eq!(all, "2000");
}
