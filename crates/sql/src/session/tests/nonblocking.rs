//! Executions that wait for nothing answer as those that may wait do, or refuse and leave nothing behind.

use base::block_on;
use types::Value;

use super::{Client, server};
use crate::session::{Execution, Pending};
use sql_plan::sink::Collector;

/// The first column of each row: numbers as they are, of anything else the length.
fn numbers(sink: &Collector) -> Vec<i64> {
    let number = |v: &Value| match v {
        Value::Int(i) => *i,
        Value::Str(text, _) => text.len() as i64,
        other => panic!("{other:?}"),
    };
    sink.rows().iter().map(|row| number(&row[0])).collect()
}

/// What an execution without waiting gives: `None` where it refuses.
fn nonblocking(c: &mut Client, id: u32, param: Value) -> Option<Vec<i64>> {
    let mut sink = Collector::new();
    match c.session.start_prepared(id, &[param], &mut sink) {
        Execution::Pending(Pending::Statement) => {
            assert!(sink.results.is_empty(), "it refused, and wrote something");
            None
        }
        Execution::Done(done) => {
            done.expect("a point read");
            Some(numbers(&sink))
        }
        Execution::Pending(_) => panic!("a read has nothing to settle"),
    }
}

/// A change without waiting but for the log: rows changed and what the client is told, `None` where it refuses.
fn change_at_once(c: &mut Client, id: u32, params: &[Value]) -> Option<(u64, String)> {
    let mut sink = Collector::new();
    let done = match c.session.start_prepared(id, params, &mut sink) {
        Execution::Pending(Pending::Statement) => {
            assert!(sink.results.is_empty(), "it refused, and wrote something");
            return None;
        }
        Execution::Done(done) => done,
        Execution::Pending(rest) => {
            assert!(sink.results.is_empty(), "acknowledged too early");
            block_on(c.session.finish_prepared(rest, id, params, &mut sink))
        }
    };
    done.expect("a change");
    let done = &sink.results[0].done;
    Some((done.affected, done.info.to_string()))
}

/// The same, by the way that may wait.
fn waiting(c: &mut Client, id: u32, param: Value) -> Vec<i64> {
    let mut sink = Collector::new();
    block_on(c.session.run_prepared(id, &[param], &mut sink)).expect("a point read");
    numbers(&sink)
}

fn prepare(c: &mut Client, sql: &str) -> u32 {
    c.session.prepare(sql.as_bytes()).expect("prepared").id
}

/// A table with rows 1 to 5 whose v is ten times their key, used once so that its counters are known.
fn table(c: &mut Client) {
    c.run("CREATE TABLE t (id int PRIMARY KEY, v int, long_text longtext)");
    c.run(
        "INSERT INTO t VALUES (1,10,'a'), (2,20,'b'), (3,30,'c'), (4,40,'d'), (5,50,REPEAT('e',90000))",
    );
    c.run("SELECT COUNT(*) FROM t");
}

#[test]
fn both_ways_find_the_same() {
    let mut c = Client::in_test(&server());
    table(&mut c);
    let id = prepare(&mut c, "SELECT v FROM t WHERE id = ?");
    for key in [1, 4, 9, -1] {
        let found = nonblocking(&mut c, id, Value::Int(key)).expect("in memory");
        assert_eq!(found, waiting(&mut c, id, Value::Int(key)), "{key}");
    }
    assert_eq!(nonblocking(&mut c, id, Value::UInt(3)), Some(vec![30]));
    // FOUND_ROWS, ROW_COUNT and the counters go on as after any statement.
    assert_eq!(c.one("SELECT FOUND_ROWS()"), "1");
}

#[test]
fn what_is_not_that_simple_is_refused() {
    let mut c = Client::in_test(&server());
    table(&mut c);
    let id = prepare(&mut c, "SELECT v FROM t WHERE id = ?");
    for value in [
        Value::Null,
        Value::Int(1 << 40),
        Value::Double(1.0),
        Value::Bytes(b"1".to_vec()),
    ] {
        assert_eq!(nonblocking(&mut c, id, value.clone()), None, "{value:?}");
    }
    assert_eq!(nonblocking(&mut c, id + 7, Value::Int(1)), None);
    for sql in [
        "SELECT v + 1 FROM t WHERE id = ?",
        "SELECT v FROM t WHERE id = ? AND v > 10",
        "SELECT v FROM t WHERE id > ?",
        "UPDATE t SET v = 1 WHERE id > ?",
        "UPDATE t SET id = 9 WHERE id = ?",
        "UPDATE t SET v = 1 WHERE id = ? LIMIT 1",
        "UPDATE t SET v = (SELECT COUNT(*)) WHERE id = ?",
        "UPDATE t SET v = 'x' WHERE id = ?",
        "UPDATE t SET long_text = REPEAT('z', 70000) WHERE id = ?",
        "DELETE FROM t WHERE id = ?",
    ] {
        let other = prepare(&mut c, sql);
        assert_eq!(nonblocking(&mut c, other, Value::Int(1)), None, "{sql}");
    }
    // One that locks looks whether it could: it gives the lock up at once.
    let locking = prepare(&mut c, "SELECT v FROM t WHERE id = ? FOR UPDATE");
    assert!(nonblocking(&mut c, locking, Value::Int(1)).is_some());
    let long = prepare(&mut c, "SELECT long_text FROM t WHERE id = ?");
    assert_eq!(nonblocking(&mut c, long, Value::Int(5)), None);
    assert!(nonblocking(&mut c, long, Value::Int(4)).is_some());
    c.run("ALTER TABLE t ADD INDEX (v)");
    assert_eq!(nonblocking(&mut c, id, Value::Int(1)), None, "an old plan");
    assert_eq!(waiting(&mut c, id, Value::Int(1)), [10]);
    assert!(nonblocking(&mut c, id, Value::Int(1)).is_some());
    c.run("CREATE USER plain");
    c.run("GRANT SELECT ON test.t TO plain");
    let mut plain = Client::of(&c.session.instance.clone(), "plain");
    let other = prepare(&mut plain, "SELECT v FROM test.t WHERE id = ?");
    assert!(nonblocking(&mut plain, other, Value::Int(1)).is_some());
    c.run("REVOKE SELECT ON test.t FROM plain");
    assert_eq!(nonblocking(&mut plain, other, Value::Int(1)), None);
}

#[test]
fn snapshots_and_own_changes_are_those_of_the_transaction() {
    let server = server();
    let (mut a, mut b) = (Client::in_test(&server), Client::in_test(&server));
    table(&mut a);
    let id = prepare(&mut a, "SELECT v FROM t WHERE id = ?");
    let one = |c: &mut Client| nonblocking(c, id, Value::Int(1));
    a.run("BEGIN");
    assert_eq!(one(&mut a), Some(vec![10]));
    b.run("UPDATE t SET v = 11 WHERE id = 1");
    assert_eq!(one(&mut a), Some(vec![10]), "the same snapshot");
    a.run("COMMIT");
    assert_eq!(one(&mut a), Some(vec![11]));
    // A transaction that has written before its snapshot was taken must wait for the log first.
    a.run("BEGIN");
    a.run("UPDATE t SET v = 21 WHERE id = 2");
    assert_eq!(nonblocking(&mut a, id, Value::Int(2)), None);
    assert_eq!(waiting(&mut a, id, Value::Int(2)), [21]);
    assert_eq!(nonblocking(&mut a, id, Value::Int(2)), Some(vec![21]));
    a.run("ROLLBACK");
    assert_eq!(nonblocking(&mut a, id, Value::Int(2)), Some(vec![20]));
    // What is set for the next transaction alone is not used up by being refused.
    a.run("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    b.run("BEGIN");
    b.run("UPDATE t SET v = 12 WHERE id = 1");
    assert_eq!(one(&mut a), None);
    assert_eq!(waiting(&mut a, id, Value::Int(1)), [12]);
    assert_eq!(one(&mut a), Some(vec![11]));
    // The one that reads at SERIALIZABLE inside of a transaction locks.
    a.run("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    assert_eq!(one(&mut a), None, "a plan of other settings");
    assert_eq!(waiting(&mut a, id, Value::Int(1)), [11]);
    assert_eq!(one(&mut a), Some(vec![11]));
    a.run("BEGIN");
    assert_eq!(nonblocking(&mut a, id, Value::Int(3)), None);
    a.run("COMMIT");
    // Without autocommit the first read begins a transaction.
    a.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    a.run("SET autocommit = 0");
    assert_eq!(one(&mut a), None);
    assert_eq!(waiting(&mut a, id, Value::Int(1)), [11]);
    b.run("COMMIT");
    assert_eq!(one(&mut a), Some(vec![11]));
    a.run("COMMIT");
    assert_eq!(waiting(&mut a, id, Value::Int(1)), [12]);
}

#[test]
fn a_refused_read_holds_no_table() {
    let server = server();
    let (mut a, mut b) = (Client::in_test(&server), Client::in_test(&server));
    table(&mut a);
    let id = prepare(&mut a, "SELECT long_text FROM t WHERE id = ?");
    assert_eq!(nonblocking(&mut a, id, Value::Int(5)), None);
    b.run("SET lock_wait_timeout = 1");
    b.run("DROP TABLE t");
}

#[test]
fn changes_are_those_of_the_long_way() {
    let mut c = Client::in_test(&server());
    table(&mut c);
    let id = prepare(&mut c, "UPDATE t SET v = ? WHERE id = ?");
    let set = |v: i64, key: i64| [Value::Int(v), Value::Int(key)];
    for (v, key, changed, said) in [
        (11, 1, 1, "Rows matched: 1  Changed: 1  Warnings: 0"),
        (11, 1, 0, "Rows matched: 1  Changed: 0  Warnings: 0"),
        (11, 9, 0, "Rows matched: 0  Changed: 0  Warnings: 0"),
    ] {
        let done = change_at_once(&mut c, id, &set(v, key)).expect("in memory");
        assert_eq!(done, (changed, said.to_owned()));
        assert_eq!(c.one("SELECT ROW_COUNT()"), changed.to_string());
    }
    assert_eq!(c.one("SELECT v FROM t WHERE id = 1"), "11");
    let some = prepare(&mut c, "UPDATE t SET v = v + ? WHERE id = ? AND v > 20");
    assert_eq!(
        change_at_once(&mut c, some, &set(5, 1)).map(|d| d.0),
        Some(0)
    );
    assert_eq!(
        change_at_once(&mut c, some, &set(5, 3)).map(|d| d.0),
        Some(1)
    );
    assert_eq!(c.one("SELECT v FROM t WHERE id = 3"), "35");
    // Out of range: the long way has the error, and nothing is left of the attempt.
    assert_eq!(change_at_once(&mut c, id, &set(1 << 40, 2)), None);
    assert_eq!(c.one("SELECT v FROM t WHERE id = 2"), "20");
    // An index with the column: its entries want more than one step.
    c.run("ALTER TABLE t ADD INDEX (v)");
    let indexed = prepare(&mut c, "UPDATE t SET v = ? WHERE id = ?");
    assert_eq!(change_at_once(&mut c, indexed, &set(1, 4)), None);
}

#[test]
fn changes_belong_to_the_transaction() {
    let server = server();
    let (mut a, mut b) = (Client::in_test(&server), Client::in_test(&server));
    table(&mut a);
    let id = prepare(&mut a, "UPDATE t SET v = v + ? WHERE id = ?");
    let other = prepare(&mut b, "UPDATE t SET v = v + ? WHERE id = ?");
    let add = |v: i64, key: i64| [Value::Int(v), Value::Int(key)];
    a.run("BEGIN");
    assert!(change_at_once(&mut a, id, &add(1, 1)).is_some());
    assert_eq!(b.one("SELECT v FROM t WHERE id = 1"), "10");
    // Somebody else has the row: that is waited for, and a refused change holds nothing.
    assert_eq!(change_at_once(&mut b, other, &add(1, 1)), None);
    assert!(change_at_once(&mut a, id, &add(1, 2)).is_some());
    a.run("ROLLBACK");
    assert_eq!(b.one("SELECT v FROM t WHERE id = 1"), "10");
    assert!(change_at_once(&mut b, other, &add(1, 1)).is_some());
    assert_eq!(a.one("SELECT v FROM t WHERE id = 1"), "11");
    // The newest row is changed, whatever the snapshot shows; snapshot isolation refuses that.
    a.run("BEGIN");
    assert_eq!(a.one("SELECT v FROM t WHERE id = 1"), "11");
    assert!(change_at_once(&mut b, other, &add(1, 1)).is_some());
    assert!(change_at_once(&mut a, id, &add(-1, 1)).is_some());
    a.run("COMMIT");
    a.run("SET innodb_snapshot_isolation = ON");
    a.run("BEGIN");
    assert_eq!(a.one("SELECT v FROM t WHERE id = 1"), "11");
    assert!(change_at_once(&mut b, other, &add(1, 1)).is_some());
    assert_eq!(change_at_once(&mut a, id, &add(1, 1)), None);
    a.run("ROLLBACK");
    for sql in [
        "SET SESSION TRANSACTION READ ONLY",
        "START TRANSACTION READ ONLY",
    ] {
        a.run(sql);
        assert_eq!(change_at_once(&mut a, id, &add(1, 1)), None, "{sql}");
    }
    a.run("ROLLBACK");
    a.run("SET SESSION TRANSACTION READ WRITE");
    a.run("SET autocommit = 0");
    assert_eq!(change_at_once(&mut a, id, &add(1, 1)), None);
    a.run("SET autocommit = 1");
    b.run("SET GLOBAL read_only = 1, GLOBAL super_read_only = 1");
    assert_eq!(change_at_once(&mut a, id, &add(1, 1)), None);
    b.run("SET GLOBAL super_read_only = 0, GLOBAL read_only = 0");
    assert_eq!(a.one("SELECT v FROM t WHERE id = 1"), "12");
    b.run("SET lock_wait_timeout = 1");
    b.run("DROP TABLE t");
}

#[test]
fn a_refused_change_holds_no_table_and_no_row() {
    let server = server();
    let (mut a, mut b) = (Client::in_test(&server), Client::in_test(&server));
    table(&mut a);
    let id = prepare(&mut a, "UPDATE t SET v = ? WHERE id = ?");
    let wrong = [Value::Int(1 << 40), Value::Int(1)];
    assert_eq!(change_at_once(&mut a, id, &wrong), None);
    b.run("SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1");
    b.run("UPDATE t SET v = 3 WHERE id = 1");
    b.run("DROP TABLE t");
}

/// Generated columns and CHECK constraints are looked after there too. An index over a generated column is a reason to take the long way.
#[test]
fn what_a_definition_says_of_rows_holds_of_changes_at_once() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id int PRIMARY KEY, v int, twice int AS (v * 2) VIRTUAL, CHECK (twice < 100))");
    c.run("INSERT INTO t (id, v) VALUES (1, 10)");
    c.run("SELECT COUNT(*) FROM t");
    let id = prepare(&mut c, "UPDATE t SET v = ? WHERE id = 1");
    let changed = (1, "Rows matched: 1  Changed: 1  Warnings: 0".to_owned());
    let to = |v| [Value::Int(v)];
    assert_eq!(change_at_once(&mut c, id, &to(20)), Some(changed));
    assert_eq!(c.one("SELECT twice FROM t"), "40");
    assert_eq!(change_at_once(&mut c, id, &to(50)), None);
    assert_eq!(c.one("SELECT twice FROM t"), "40");
    c.run("CREATE INDEX by_twice ON t (twice)");
    let id = prepare(&mut c, "UPDATE t SET v = ? WHERE id = 1");
    assert_eq!(change_at_once(&mut c, id, &to(30)), None);
}
