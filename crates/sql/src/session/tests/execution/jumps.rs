//! Jumping through an index gives what reading everything gives, and is chosen where it should be.

use super::Client;

fn numbers(n: u64) -> impl FnMut(u64) -> u64 {
    let mut state = base::seed::nth("jumps", n);
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// A table of few different leading values in several indexes, with statistics.
fn client(n: u64) -> Client {
    let mut below = numbers(n);
    let mut c = Client::new();
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT NOT NULL, s VARCHAR(10), e ENUM('z','a','m'), KEY ab (a, b, c), KEY s (s, a), KEY ca (c, a DESC, b), KEY be (b, e))");
    for block in 0..10 {
        let rows: Vec<String> = (0..200)
            .map(|i| {
                let mut number = |most: u64| match below(9) {
                    0 => "NULL".to_owned(),
                    _ => below(most).to_string(),
                };
                let (a, b) = (number(5), number(30));
                let words = ["'x'", "'X'", "'y '", "'y'", "NULL", "''"];
                format!(
                    "({}, {a}, {b}, {}, {}, {})",
                    block * 200 + i,
                    below(4),
                    words[below(6) as usize],
                    ["'z'", "'a'", "'m'", "NULL"][below(4) as usize],
                )
            })
            .collect();
        c.run(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }
    // Old versions and gaps.
    c.run("DELETE FROM t WHERE id % 7 = 3");
    c.run("UPDATE t SET b = b + 1 WHERE id % 11 = 5");
    c.run("ANALYZE TABLE t");
    c
}

/// The rows of a text in some order that is always the same. Of texts that compare equal any may stand for all.
fn sorted(c: &mut Client, sql: &str) -> Vec<String> {
    let rows = c.run(sql).rows;
    let value = |v: &types::Value| match v {
        types::Value::Null => "NULL".to_owned(),
        v => types::convert::to_text(v.as_ref())
            .trim_end()
            .to_lowercase(),
    };
    let row = |r: &Vec<types::Value>| r.iter().map(value).collect::<Vec<_>>().join("|");
    let mut all: Vec<String> = rows.iter().map(row).collect();
    all.sort();
    all
}

fn jumps(c: &mut Client, sql: &str) -> bool {
    c.path(sql).contains("Using index for group-by")
}

const SELECTS: &[&str] = &[
    "SELECT a, MIN(b), MAX(b) FROM t WHERE {w} GROUP BY a",
    "SELECT a, MAX(b) FROM t WHERE {w} GROUP BY a HAVING MAX(b) > 3",
    "SELECT DISTINCT a FROM t WHERE {w}",
    "SELECT DISTINCT a, b FROM t WHERE {w} ORDER BY b, a",
    "SELECT a, b FROM t WHERE {w} GROUP BY b, a",
    "SELECT COUNT(DISTINCT a), SUM(DISTINCT a), MIN(a) FROM t WHERE {w}",
    "SELECT COUNT(DISTINCT a, b) FROM t WHERE {w}",
    "SELECT MIN(b), MAX(b) FROM t WHERE a = 2 AND {w}",
    "SELECT MIN(b), MAX(b) FROM t WHERE a IN (1, 3, NULL) AND {w}",
    "SELECT MIN(a), MAX(a) FROM t WHERE {w}",
    "SELECT c, MIN(a), MAX(a) FROM t WHERE {w} GROUP BY c",
    "SELECT c, COUNT(DISTINCT a) FROM t WHERE {w} GROUP BY c",
    "SELECT COUNT(DISTINCT s), MAX(s) FROM t WHERE {w}",
    "SELECT UPPER(RTRIM(s)), MIN(a) FROM t WHERE {w} GROUP BY s",
    "SELECT b, MIN(e), MAX(e) FROM t WHERE {w} GROUP BY b",
    "SELECT a, (SELECT MAX(b) FROM t x WHERE x.a = t.a) FROM t WHERE {w} GROUP BY a",
    "SELECT MIN(b) FROM t WHERE a = 1 AND b > 4 AND {w}",
    "SELECT a, MAX(c) FROM t WHERE b = 3 AND {w} GROUP BY a",
];

const CONDITIONS: &[&str] = &[
    "1 = 1",
    "a > 1",
    "a IS NULL",
    "a IS NOT NULL",
    "a <=> NULL",
    "a IN (0, 4)",
    "a BETWEEN 1 AND 3 AND b < 20",
    "a % 2 = 0",
    "b % 3 = 1",
    "c = 2",
    "c < 2",
    "s = 'x'",
    "s LIKE 'y%'",
    "BINARY s = 'X'",
    "e = 'a'",
    "id < 1000",
    "a = 77",
    "a + b > 6",
];

#[test]
fn jumping_gives_what_reading_gives() {
    let mut jumped = 0;
    for round in 0..3 {
        let mut c = client(round);
        for select in SELECTS {
            for w in CONDITIONS {
                let sql = select.replace("{w}", w);
                let with = sql.replace("FROM t WHERE", "FROM t FORCE INDEX (ab, s, ca, be) WHERE");
                let without = sql.replace(
                    "FROM t WHERE",
                    "FROM t IGNORE INDEX FOR GROUP BY (PRIMARY, ab, s, ca, be) WHERE",
                );
                let expected = sorted(&mut c, &without);
                for q in [&sql, &with] {
                    jumped += usize::from(jumps(&mut c, q));
                    assert_eq!(sorted(&mut c, q), expected, "{q}");
                }
                assert!(!jumps(&mut c, &without), "{without}");
            }
        }
    }
    assert!(jumped > 300, "{jumped}");
}

#[test]
fn few_runs_are_jumped_over() {
    let mut c = client(9);
    for sql in [
        "SELECT a, MIN(b), MAX(b) FROM t GROUP BY a",
        "SELECT DISTINCT a FROM t",
        "SELECT COUNT(DISTINCT a) FROM t",
        "SELECT MIN(b), MAX(b) FROM t WHERE a = 2",
        "SELECT MIN(id), MAX(id) FROM t",
    ] {
        assert!(jumps(&mut c, sql), "{sql}: {}", c.path(sql));
    }
    for sql in [
        "SELECT a, SUM(b) FROM t GROUP BY a",
        "SELECT a, COUNT(*) FROM t GROUP BY a",
        "SELECT id, MAX(b) FROM t GROUP BY id",
        "SELECT a, MIN(b) FROM t GROUP BY a FOR UPDATE",
        "SELECT a, MIN(id) FROM t WHERE c = 1 GROUP BY a",
    ] {
        assert!(!jumps(&mut c, sql), "{sql}: {}", c.path(sql));
    }
}
