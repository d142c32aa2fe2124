//! Sessions that want the same rows.

use super::*;

fn two() -> (Client, Client) {
    let s = server();
    let mut a = Client::in_test(&s);
    let b = Client::in_test(&s);
    a.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    a.run("INSERT INTO t VALUES (1, 0), (2, 0)");
    (a, b)
}

#[test]
fn a_lock_wait_ends_with_the_statement_alone() {
    let (mut a, mut b) = two();
    a.run("BEGIN");
    a.run("UPDATE t SET v = 1 WHERE id = 1");
    b.run("SET innodb_lock_wait_timeout = 1");
    b.run("BEGIN");
    b.run("UPDATE t SET v = 2 WHERE id = 2");
    assert_eq!(
        b.error("SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT"),
        3572
    );
    assert_eq!(b.rows("SELECT id FROM t FOR UPDATE SKIP LOCKED"), [["2"]]);
    assert_eq!(b.error("UPDATE t SET v = 2 WHERE id = 1"), 1205);
    assert!(b.session.engine.in_transaction());
    a.run("COMMIT");
    b.run("COMMIT");
    assert_eq!(a.rows("SELECT v FROM t"), [["1"], ["2"]]);
}

#[test]
fn snapshot_isolation_refuses_to_change_a_row_that_changed_since() {
    let (mut a, mut b) = two();
    a.run("SET innodb_snapshot_isolation = ON");
    a.run("BEGIN");
    a.run("SELECT * FROM t");
    b.run("UPDATE t SET v = 5 WHERE id = 1");
    assert_eq!(a.error("UPDATE t SET v = 6 WHERE id = 1"), 1213);
    assert!(!a.session.engine.in_transaction());
    assert_eq!(a.rows("SELECT v FROM t WHERE id = 1"), [["5"]]);
    a.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    a.run("BEGIN");
    a.run("SELECT * FROM t");
    b.run("UPDATE t SET v = 7 WHERE id = 1");
    a.run("UPDATE t SET v = v + 1 WHERE id = 1");
    a.run("COMMIT");
    assert_eq!(b.one("SELECT v FROM t WHERE id = 1"), "8");
}

#[test]
fn a_deadlock_has_one_victim() {
    let (mut a, mut b) = two();
    a.run("BEGIN");
    b.run("BEGIN");
    a.run("UPDATE t SET v = 1 WHERE id = 1");
    b.run("UPDATE t SET v = 2 WHERE id = 2");
    let waits = std::thread::spawn(move || {
        let code = a.error("UPDATE t SET v = 1 WHERE id = 2");
        (a, code)
    });
    let second = b.error("UPDATE t SET v = 2 WHERE id = 1");
    if second == 0 {
        b.run("COMMIT");
    }
    let (mut a, first) = waits.join().expect("no panic");
    if first == 0 {
        a.run("COMMIT");
    }
    let mut codes = [first, second];
    codes.sort_unstable();
    assert_eq!(codes, [0, 1213]);
}

#[test]
fn a_waiting_statement_can_be_killed() {
    let (mut a, mut b) = two();
    a.run("BEGIN");
    a.run("SELECT * FROM t FOR UPDATE");
    let id = b.session.id();
    let waits = std::thread::spawn(move || b.error("DELETE FROM t"));
    let running = |a: &mut Client| {
        let sql = format!("SELECT command FROM information_schema.processlist WHERE id = {id}");
        a.one(&sql) == "Query"
    };
    while !running(&mut a) {
        std::thread::yield_now();
    }
    while !waits.is_finished() {
        // 1094 once the other connection is gone.
        assert!([0, 1094].contains(&a.error(&format!("KILL QUERY {id}"))));
        std::thread::yield_now();
    }
    assert_eq!(waits.join().expect("no panic"), 1317);
}
