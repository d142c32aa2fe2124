//! Plans of prepared statements that follow the values of their parameters.

use std::sync::Arc;

use super::{Client, server};
use sql_plan::plan::Plan;

/// A table of which half the rows have 0 and the others a value of their own, and one that is joined to it.
fn client() -> Client {
    let mut c = Client::in_test(&server());
    // Figures that are made anew, on a slow machine in the middle of a test, are a reason to plan again.
    c.run("SET GLOBAL innodb_stats_auto_recalc = OFF");
    c.run("CREATE TABLE n (i INT PRIMARY KEY)");
    c.run("INSERT INTO n VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)");
    c.run("CREATE TABLE t (id INT PRIMARY KEY, g INT NOT NULL, d DATE, v INT, KEY g (g))");
    c.run("CREATE TABLE u (id INT PRIMARY KEY, t INT NOT NULL, w INT, KEY t (t), KEY w (w))");
    c.run(
        "INSERT INTO t SELECT i, IF(i % 2, i, 0), '2020-01-01' + INTERVAL i % 1000 DAY, i FROM \
         (SELECT 1000 * a.i + 100 * b.i + 10 * c.i + d.i AS i FROM n a, n b, n c, n d) x",
    );
    c.run("INSERT INTO u SELECT id, id, IF(id < 9990, 1, 2) FROM t");
    c.run("ANALYZE TABLE t, u");
    c
}

impl Client {
    /// What EXPLAIN FORMAT=TREE, which is prepared as `p`, says of the plan for values.
    fn plan_with(&mut self, values: &[&str]) -> String {
        for (n, v) in values.iter().enumerate() {
            self.run(&format!("SET @p{n} = {v}"));
        }
        let names: Vec<String> = (0..values.len()).map(|n| format!("@p{n}")).collect();
        self.one(&format!("EXECUTE p USING {}", names.join(", ")))
    }

    /// The plans that a prepared statement has.
    fn plans_of(&self, name: &str) -> Vec<*const Plan> {
        let p = &self.session.named[name];
        let all = p.planned.iter().chain(&p.others);
        all.map(|x| Arc::as_ptr(x.plan.peek())).collect()
    }
}

/// A statement, two lists of values, and what the plan for each says.
type Followed = (
    &'static str,
    [&'static [&'static str]; 2],
    [&'static str; 2],
);

/// Statements, values of which each wants its own plan, and what the plan of each says that the other's does not.
const FOLLOWED: &[Followed] = &[
    // Half the table, or a row.
    (
        "SELECT v FROM t WHERE g = ?",
        [&["0"], &["77"]],
        ["Table scan on t", "Index lookup on t using g"],
    ),
    // A range, by one condition and by two.
    (
        "SELECT v FROM t WHERE g BETWEEN ? AND ?",
        [&["0", "5000"], &["1", "9"]],
        ["Table scan on t", "Index range scan on t using g"],
    ),
    (
        "SELECT v FROM t WHERE g > ? AND g < ?",
        [&["-1", "5000"], &["4000", "4010"]],
        ["Table scan on t", "Index range scan on t using g"],
    ),
    // A list.
    (
        "SELECT v FROM t WHERE g IN (?, ?)",
        [&["5", "0"], &["5", "7"]],
        ["Table scan on t", "Index range scan on t using g"],
    ),
    // What is computed from a parameter.
    (
        "SELECT v FROM t WHERE g = ? + 1",
        [&["-1"], &["76"]],
        ["Table scan on t", "Index lookup on t using g"],
    ),
    // The order of a join.
    (
        "SELECT COUNT(*) FROM t JOIN u ON u.t = t.id WHERE u.w = ? AND t.g = ?",
        [&["2", "0"], &["1", "77"]],
        ["Index lookup on u using w", "Index lookup on u using t"],
    ),
    // In a subquery, a derived table and another member of a set.
    (
        "SELECT 1 FROM n WHERE i = (SELECT COUNT(*) FROM t WHERE g = ? AND v > 0)",
        [&["0"], &["77"]],
        ["Table scan on t", "Index lookup on t using g"],
    ),
    (
        "SELECT * FROM (SELECT g, MAX(v) FROM t WHERE g = ? GROUP BY g LIMIT 5) x",
        [&["0"], &["77"]],
        ["Index scan on t using g", "Index lookup on t using g"],
    ),
    (
        "SELECT i FROM n UNION ALL SELECT v FROM t WHERE g = ?",
        [&["0"], &["77"]],
        ["Table scan on t", "Index lookup on t using g"],
    ),
    // Changes.
    (
        "DELETE FROM t WHERE g = ?",
        [&["0"], &["77"]],
        ["Table scan on t", "Index lookup on t using g"],
    ),
    (
        "INSERT INTO n SELECT v FROM t WHERE g = ?",
        [&["0"], &["77"]],
        ["Table scan on t", "Index lookup on t using g"],
    ),
];

#[test]
fn each_kind_of_value_has_its_plan() {
    let mut c = client();
    for (sql, values, says) in FOLLOWED {
        c.run(&format!("PREPARE p FROM 'EXPLAIN FORMAT=TREE {sql}'"));
        // In each order, and again.
        for n in [0, 1, 0, 1, 1, 0] {
            let plan = c.plan_with(values[n]);
            assert!(plan.contains(says[n]), "{sql}\n{n}: {plan}");
            assert!(!plan.contains(says[1 - n]), "{sql}\n{n}: {plan}");
        }
        // Without values it is planned for what most have.
        c.plan_with(&vec!["NULL"; values[0].len()]);
    }
}

/// Whichever plan is taken, the rows are the same as those of the text.
#[test]
fn every_value_has_its_rows() {
    let mut c = client();
    let numbers = ["0", "1", "77", "NULL", "-5", "1e3", "'77'", "5000", "'x'"];
    let days = [
        "'2020-01-01'",
        "'2020-01-05'",
        "NULL",
        "'2022-09-26'",
        "20210101",
    ];
    let queries: [(&str, &[&str]); 3] = [
        ("SELECT COUNT(*), SUM(v) FROM t WHERE g = ?", &numbers),
        (
            "SELECT COUNT(*), SUM(t.v) FROM t JOIN u ON u.t = t.id WHERE t.g >= ?",
            &numbers,
        ),
        ("SELECT COUNT(*), MIN(v) FROM t WHERE d < ?", &days),
    ];
    for (sql, values) in queries {
        c.run(&format!("PREPARE p FROM '{sql}'"));
        for v in values.iter().chain(values.iter().rev()) {
            c.run(&format!("SET @v = {v}"));
            let expected = c.rows(&sql.replace('?', v));
            assert_eq!(c.rows("EXECUTE p USING @v"), expected, "{sql} {v}");
        }
    }
}

/// A statement is not planned for each execution: one plan is for all values of a kind.
#[test]
fn values_of_a_kind_have_one_plan() {
    let mut c = client();
    c.run("PREPARE p FROM 'SELECT v FROM t WHERE g = ?'");
    let mut planned = 0;
    for n in 0..200 {
        c.run(&format!(
            "SET @v = {}",
            if n % 10 == 0 { 0 } else { 2 * n + 1 }
        ));
        let before = c.plans_of("p");
        c.run("EXECUTE p USING @v");
        planned += usize::from(before != c.plans_of("p"));
    }
    assert!(planned <= 2, "planned {planned} times");
}
