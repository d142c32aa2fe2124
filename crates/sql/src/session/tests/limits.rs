//! What ends a statement that would not end by itself: KILL and `max_execution_time`, wherever it is.

use std::time::{Duration, Instant};

use super::*;

/// Runs a statement that is killed a little later, and yields how it ended and how long after the kill.
pub(super) fn killed(c: &mut Client, sql: &str) -> (u16, Duration) {
    let interrupt = c.session.interrupt();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        interrupt.kill_query();
        Instant::now()
    });
    let code = c.error(sql);
    let ended = Instant::now();
    let at = killer.join().expect("a thread that only waits");
    (code, ended.saturating_duration_since(at))
}

/// The processor time of this thread so far. What else runs on the machine takes none of it, so what a statement costs can be held to a bound.
fn worked() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a thread's times");
    let nanoseconds = stat.split_whitespace().next().and_then(|n| n.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

/// Far above what it takes, far below what the statements would.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn a_kill_ends_an_expression_that_computes() {
    let mut c = Client::in_test(&server());
    for sql in [
        "SELECT BENCHMARK(1000000000000, 1)",
        "DO BENCHMARK(1000000000000, SHA2('a', 256))",
        "SET @a = BENCHMARK(1000000000000, 1)",
        "SELECT BENCHMARK(1000000000000, 1) UNION SELECT 2",
    ] {
        let (code, after) = killed(&mut c, sql);
        assert_eq!(code, 1317, "{sql}");
        assert!(after < SOON, "{sql}: {after:?}");
    }
    assert_eq!(c.one("SELECT 1"), "1", "the next one is not hit");
}

#[test]
fn a_select_ends_when_its_time_is_over() {
    let s = server();
    let mut c = Client::in_test(&s);
    let endless = "SELECT BENCHMARK(1000000000000, 1)";
    let hinted = "SELECT /*+ MAX_EXECUTION_TIME(50) */ BENCHMARK(1000000000000, 1)";
    let e = c.try_all(hinted).expect_err("no end in sight");
    assert_eq!((e.code, &*e.sqlstate), (3024, "HY000"));
    assert_eq!(
        e.message,
        "Query execution was interrupted, maximum statement execution time exceeded"
    );
    c.run("SET max_execution_time = 50");
    assert_eq!(c.error(endless), 3024);
    assert_eq!(c.error(&format!("{endless} UNION SELECT 1")), 3024);
    assert_eq!(c.error("SELECT 1"), 0);
    // The hint goes before the variable, and 0 is no hint.
    c.run("SET max_execution_time = 1000000");
    assert_eq!(c.error(hinted), 3024);
    c.run("SET max_execution_time = 50");
    assert_eq!(
        c.error("SELECT /*+ MAX_EXECUTION_TIME(0) */ BENCHMARK(1000000000000, 1)"),
        3024
    );
    // Prepared as well, again and again.
    c.run(&format!("PREPARE p FROM '{endless}'"));
    assert_eq!(c.error("EXECUTE p"), 3024);
    assert_eq!(c.error("EXECUTE p"), 3024);
    // Only SELECT has a limit.
    assert_eq!(c.error("DO SLEEP(0.2)"), 0);
    assert_eq!(c.error("SET @x = SLEEP(0.2)"), 0);
    // SLEEP alone tells that it was ended and is no error, as in MySQL; as a condition it is one.
    assert_eq!(c.one("SELECT SLEEP(100)"), "1");
}

#[test]
fn time_runs_while_a_statement_waits_for_a_lock() {
    let s = server();
    let (mut a, mut b) = (Client::in_test(&s), Client::in_test(&s));
    a.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    a.run("INSERT INTO t VALUES (1, 1), (2, 2)");
    a.run("BEGIN");
    a.run("UPDATE t SET v = 5 WHERE id = 1");
    b.run("SET max_execution_time = 50");
    b.run("BEGIN");
    let begun = Instant::now();
    assert_eq!(b.error("SELECT * FROM t WHERE id = 1 FOR UPDATE"), 3024);
    assert!(begun.elapsed() < SOON);
    assert_eq!(
        b.one("SELECT v FROM t WHERE id = 2 FOR UPDATE"),
        "2",
        "the transaction goes on"
    );
    a.run("COMMIT");
    assert_eq!(b.one("SELECT v FROM t WHERE id = 1 FOR UPDATE"), "5");
}

#[test]
fn a_kill_ends_a_long_text() {
    let mut c = Client::in_test(&server());
    let sql = format!("SELECT 1 IN (1{})", ",1".repeat(2_000_000));
    let i = c.session.interrupt();
    // What the parser asks is not cleared by what came before it: it is killed while it runs.
    let options = c.session.parse_options();
    i.kill_query();
    let pace = types::Pace::new(Some(&*i));
    let e = sql_parser::parse_paced(sql.as_bytes(), &options, &pace).expect_err("killed");
    assert_eq!(e.code(), 1317);
    i.clear_query();
    assert_eq!(c.error("SELECT 1"), 0);
}

#[test]
fn definitions_are_checked_in_one_pass() {
    let mut c = Client::in_test(&server());
    let before = worked();
    let members = |n: usize| {
        let all: Vec<String> = (0..n).map(|i| format!("'m{i}'")).collect();
        all.join(",")
    };
    c.run(&format!("CREATE TABLE e (a ENUM({}))", members(40_000)));
    assert_eq!(
        c.error(&format!("CREATE TABLE f (a ENUM({}))", members(65_536))),
        3504
    );
    assert_eq!(
        c.error(&format!(
            "CREATE TABLE f (a ENUM({},'M7'))",
            members(40_000)
        )),
        1291
    );
    assert_eq!(
        c.error(&format!("CREATE TABLE f (a SET({}))", members(65))),
        1097
    );
    let columns: Vec<String> = (0..20_000).map(|i| format!("c{i} INT")).collect();
    assert_eq!(
        c.error(&format!("CREATE TABLE f ({})", columns.join(","))),
        1117
    );
    let took = worked() - before;
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn items_that_name_items_do_not_double() {
    let mut c = Client::in_test(&server());
    // Each item has subqueries and names the one before it twice: bound again at each place, these are 2^40.
    let mut items = vec!["(SELECT 1) AS a0".to_owned()];
    for i in 1..40 {
        let b = i - 1;
        items.push(format!("(SELECT a{b} + a{b}) AS a{i}"));
    }
    let before = worked();
    assert_eq!(c.one(&format!("SELECT {}", items[..6].join(","))), "1");
    assert_eq!(c.error(&format!("SELECT {}", items.join(","))), 1235);
    assert!(worked() - before < Duration::from_secs(10));
}

#[test]
fn variables_grow_to_a_packet_and_no_further() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("SET GLOBAL max_allowed_packet = 1048576");
    let mut c = {
        drop(c);
        Client::in_test(&s)
    };
    c.run("SET @a = 'abcdefgh'");
    for _ in 0..17 {
        c.run("SET @a = CONCAT(@a, @a)");
    }
    assert_eq!(c.one("SELECT LENGTH(@a)"), "1048576");
    c.run("SET @a = CONCAT(@a, @a)");
    assert_eq!(c.one("SELECT @a IS NULL"), "1");
}

#[test]
fn long_lists_are_bound_in_one_pass() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    let list = |n: usize, f: &dyn Fn(usize) -> String| (0..n).map(f).collect::<Vec<_>>().join(",");
    let begun = Instant::now();
    // By pairs these are 36 to 10,000 million comparisons of texts.
    let plus = |i: usize| format!("v+{i}");
    c.run(&format!("SELECT 1 FROM t ORDER BY {}", list(6000, &plus)));
    c.run(&format!("SELECT 1 FROM t GROUP BY {}", list(6000, &plus)));
    c.run(&format!(
        "SELECT {} FROM t GROUP BY {}",
        list(4000, &plus),
        list(4000, &plus)
    ));
    c.run(&format!(
        "SELECT DISTINCT {} FROM t ORDER BY {}",
        list(4000, &plus),
        list(4000, &plus)
    ));
    c.run(&format!(
        "DROP TABLE IF EXISTS {}",
        list(100_000, &|i| format!("x{i}"))
    ));
    let alias = |i: usize| format!("v+{i} AS a{i}");
    c.run(&format!(
        "SELECT {} FROM t ORDER BY {}",
        list(1000, &alias),
        list(4000, &|i| format!("a{}+{i}", i % 1000))
    ));
    assert_eq!(
        c.error(&format!("SELECT {}", list(65_536, &|_| "1".to_owned()))),
        1117
    );
    assert_eq!(
        c.error(&format!("SELECT {}", list(65_535, &|_| "1".to_owned()))),
        0
    );
    // A table has fewer.
    assert_eq!(
        c.error(&format!(
            "CREATE TABLE wide AS SELECT {}",
            list(4097, &|i| format!("1 AS a{i}"))
        )),
        1117
    );
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn many_conditions_on_a_column_are_looked_at_once_each() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE many (id INT PRIMARY KEY, v INT)");
    c.run("INSERT INTO many VALUES (1, 1), (2, 2)");
    let mut took = |n: u32| {
        let conds: Vec<String> = (0..n)
            .map(|i| format!("id BETWEEN -{i} AND {}", i + 2))
            .collect();
        let sql = format!("SELECT COUNT(*) FROM many WHERE {}", conds.join(" AND "));
        let begun = Instant::now();
        assert_eq!(c.one(&sql), "2");
        begun.elapsed()
    };
    let few = took(3000);
    let many = took(30_000);
    // Ten times the text: a hundred times the work would be a look at each condition for each other.
    assert!(
        many < few * 40 + Duration::from_millis(200),
        "{few:?}, {many:?}"
    );
}
