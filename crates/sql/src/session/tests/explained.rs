//! EXPLAIN FOR CONNECTION: what another connection does at the moment.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::{Client, server, texts};
use crate::context::{Command, Doing, OwnThread};

/// What a connection does, and what the plan of that says.
const SHOWN: &[(&[&str], &str)] = &[
    (&["SELECT SLEEP(20) FROM t WHERE v > 0"], "Table scan on t"),
    (
        &["SELECT MAX(SLEEP(20)) FROM t WHERE id > 1"],
        "Index range scan on t using PRIMARY",
    ),
    (
        &["UPDATE t SET v = SLEEP(20) WHERE id = 2"],
        "Single-row index lookup on t using PRIMARY",
    ),
    (&["DELETE FROM t WHERE SLEEP(20)"], "Table scan on t"),
    (
        &["INSERT INTO t SELECT id + 10, SLEEP(20) FROM t"],
        "Table scan on t",
    ),
    (&["INSERT INTO t VALUES (7, SLEEP(20))"], "Insert into t"),
    (
        &[
            "PREPARE p FROM 'SELECT SLEEP(20) FROM t WHERE v > ?'",
            "SET @v = 0",
            "EXECUTE p USING @v",
        ],
        "Table scan on t",
    ),
    // A change of one row by its key, prepared, which waits for somebody's lock.
    (
        &[
            "PREPARE p FROM 'UPDATE t SET v = ? WHERE id = 1'",
            "SET @v = 5",
            "EXECUTE p USING @v",
        ],
        "Single-row index lookup on t using PRIMARY",
    ),
];

fn while_it_runs(
    s: &Arc<crate::context::Instance>,
    statements: &'static [&'static str],
    look: impl FnOnce(u64),
) {
    let mut c = Client::in_test(s);
    let id: u64 = c.one("SELECT CONNECTION_ID()").parse().expect("a number");
    let mut root = Client::in_test(s);
    thread::scope(|scope| {
        let runs = scope.spawn(move || {
            let (last, first) = statements.split_last().expect("a statement");
            first.iter().for_each(|f| drop(c.run(f)));
            c.try_all(last).map(drop).map_err(|e| e.code)
        });
        let until = Instant::now() + Duration::from_secs(10);
        let busy = || s.processes.plan_of(id).is_some();
        while !busy() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        look(id);
        root.run(&format!("KILL QUERY {id}"));
        let _ended = runs.join().expect("a client");
    });
}

#[test]
fn the_plan_of_what_runs_is_shown() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
    );
    let mut holder = Client::in_test(&s);
    holder.run("BEGIN");
    holder.run("SELECT * FROM t WHERE id = 1 FOR UPDATE");
    for (statements, says) in SHOWN {
        while_it_runs(&s, statements, |id| {
            let mut c = Client::in_test(&s);
            let plan = c.one(&format!("EXPLAIN FORMAT=TREE FOR CONNECTION {id}"));
            assert!(plan.contains(says), "{statements:?}: {plan}");
            let table = c.rows(&format!("EXPLAIN FOR CONNECTION {id}"));
            assert!(
                table.iter().any(|r| r[2] == "t"),
                "{statements:?}: {table:?}"
            );
            let json = c.one(&format!("EXPLAIN FORMAT=JSON FOR CONNECTION {id}"));
            assert!(json.contains("query_block"), "{json}");
        });
    }
    assert_eq!(
        root.rows("SELECT id, v FROM t"),
        [["1", "1"], ["2", "2"], ["3", "3"]]
    );
}

#[test]
fn what_has_no_plan_is_refused_or_has_no_rows() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)");
    let own = root.one("SELECT CONNECTION_ID()");
    assert_eq!(root.error(&format!("EXPLAIN FOR CONNECTION {own}")), 3012);
    assert_eq!(root.error("EXPLAIN FOR CONNECTION 4711"), 1094);
    assert_eq!(root.error("EXPLAIN ANALYZE FOR CONNECTION 1"), 1064);
    assert_eq!(
        root.error("PREPARE p FROM 'EXPLAIN FOR CONNECTION 1'"),
        1295
    );
    // One that does nothing, before and behind a statement.
    let mut idle = Client::in_test(&s);
    let id = idle.one("SELECT CONNECTION_ID()");
    for sql in [
        "SELECT * FROM t",
        "SELECT * FROM nowhere",
        "DELETE FROM t WHERE id = 2",
    ] {
        let _ended = idle.try_all(sql);
        let answer = root.run(&format!("EXPLAIN FOR CONNECTION {id}"));
        assert!(
            texts(&answer).is_empty() && !answer.done.result_set,
            "{sql}"
        );
    }
    while_it_runs(&s, &["DO SLEEP(20)"], |id| {
        let mut c = Client::in_test(&s);
        assert_eq!(c.error(&format!("EXPLAIN FOR CONNECTION {id}")), 3012);
    });
}

#[test]
fn one_sees_ones_own_and_with_process_all() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run("CREATE USER a, b, watcher; GRANT SELECT ON test.* TO a, b; GRANT PROCESS ON *.* TO watcher");
    root.run("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2)");
    let mut of_a = Client::of(&s, "a");
    let id = of_a.one("SELECT CONNECTION_ID()");
    let t = thread::spawn(move || {
        of_a.try_all("SELECT SLEEP(20) FROM test.t")
            .map(drop)
            .map_err(|e| e.code)
    });
    thread::sleep(Duration::from_millis(100));
    let sql = format!("EXPLAIN FOR CONNECTION {id}");
    assert_eq!(Client::of(&s, "b").error(&sql), 1045);
    for user in ["a", "watcher", "root"] {
        assert_eq!(Client::of(&s, user).rows(&sql).len(), 1, "{user}");
    }
    root.run(&format!("KILL QUERY {id}"));
    let _ended = t.join().expect("a client");
}

/// A thread of the server, which has no account.
struct Applier;

impl OwnThread for Applier {
    fn name(&self) -> &'static str {
        "thread/sql/replica_sql"
    }

    fn doing(&self) -> Doing {
        Doing {
            command: Command::Query,
            state: "",
            seconds: None,
        }
    }

    fn end(&self) {}
}

/// Its account has no name, and neither has that of one who logs in without any.
#[test]
fn a_thread_of_the_server_is_nobodys() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run("CREATE TABLE t (id INT PRIMARY KEY)");
    root.run("CREATE USER ''; PREPARE p FROM 'SELECT id + 1 FROM t'");
    let plan = root.session.named["p"].planned.as_ref();
    let plan = Arc::clone(plan.expect("a plan").plan.peek());
    let thread = s.processes.add(900, "", "", root.session.interrupt(), 0);
    thread.stands_for(Arc::new(Applier));
    thread.show_plan(Some(plan));
    let sql = "EXPLAIN FOR CONNECTION 900";
    assert_eq!(Client::of(&s, "").error(sql), 1045);
    assert_eq!(root.rows(sql).len(), 1);
}
