//! `innodb_autoinc_lock_mode`: who waits for whose numbers.

use std::thread::JoinHandle;

use super::*;

/// A server in this mode, with `t (id AUTO_INCREMENT, v)` and a source of three rows whose second one is locked by the third connection.
fn stage(mode: u8) -> (Arc<Instance>, [Client; 4]) {
    let s = server();
    s.engine().set_auto_lock_mode(mode);
    let mut all = [0; 4].map(|_| Client::in_test(&s));
    all[0].run("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT, UNIQUE (v))");
    all[0].run("CREATE TABLE source (v INT)");
    all[0].run("INSERT INTO source VALUES (1), (2), (3)");
    (s, all)
}

fn in_thread(mut c: Client, sql: &'static str) -> JoinHandle<(Client, u16)> {
    std::thread::spawn(move || {
        let code = c.error(sql);
        (c, code)
    })
}

fn until_waiting(look: &mut Client, n: &str) {
    let count = "SELECT COUNT(*) FROM performance_schema.data_locks WHERE LOCK_STATUS = 'WAITING'";
    while look.one(count) != n {
        std::thread::yield_now();
    }
}

/// A bulk insert stands in its middle, as another has a value that it wants; then one row is inserted elsewhere. What that one waits for, and
/// the numbers of all rows in the order of their values.
fn beside_bulk(mode: u8) -> (Vec<Vec<String>>, Vec<String>) {
    let (_s, [mut a, b, d, mut look]) = stage(mode);
    a.run("BEGIN");
    a.run("INSERT INTO t (v) VALUES (2)");
    let bulk = in_thread(b, "INSERT INTO t (v) SELECT v + 0 FROM source ORDER BY v");
    until_waiting(&mut look, "1");
    let single = in_thread(d, "INSERT INTO t (v) VALUES (9)");
    if mode == 2 {
        // It waits for nobody.
        assert_eq!(single.join().expect("a thread").1, 0);
    } else {
        until_waiting(&mut look, "2");
        let rows = look.rows(
            "SELECT OBJECT_NAME, LOCK_TYPE, LOCK_MODE, LOCK_STATUS FROM performance_schema.data_locks \
             WHERE LOCK_MODE = 'AUTO_INC' ORDER BY LOCK_STATUS",
        );
        a.run("ROLLBACK");
        assert_eq!(bulk.join().expect("a thread").1, 0);
        assert_eq!(single.join().expect("a thread").1, 0);
        let ids = look.rows("SELECT id FROM t ORDER BY v").concat();
        return (rows, ids);
    }
    a.run("ROLLBACK");
    assert_eq!(bulk.join().expect("a thread").1, 0);
    let rows = look.rows("SELECT * FROM performance_schema.data_locks");
    (rows, look.rows("SELECT id FROM t ORDER BY v").concat())
}

#[test]
fn interleaved_numbers_wait_for_nobody() {
    let (locks, ids) = beside_bulk(2);
    assert!(locks.is_empty());
    assert_eq!(ids, ["2", "3", "4", "5"]);
}

#[test]
fn in_the_other_modes_a_bulk_insert_has_the_numbers_to_its_end() {
    for mode in [0, 1] {
        let (locks, ids) = beside_bulk(mode);
        let lock = |status| ["t", "TABLE", "AUTO_INC", status];
        assert_eq!(locks, [lock("GRANTED"), lock("WAITING")], "{mode}");
        assert_eq!(ids, ["2", "3", "4", "5"], "{mode}");
    }
}

#[test]
fn simple_inserts_do_not_wait_for_each_other_but_in_mode_0() {
    for mode in [0, 1, 2] {
        let (_s, [mut a, b, d, mut look]) = stage(mode);
        a.run("BEGIN");
        a.run("INSERT INTO t (v) VALUES (2)");
        // The lock ends with the statement and not with the transaction: the row alone is waited for.
        let second = in_thread(b, "INSERT INTO t (v) VALUES (1), (2)");
        until_waiting(&mut look, "1");
        let third = in_thread(d, "INSERT INTO t (v) VALUES (7)");
        if mode == 0 {
            until_waiting(&mut look, "2");
        } else {
            assert_eq!(third.join().expect("a thread").1, 0);
            a.run("ROLLBACK");
            assert_eq!(second.join().expect("a thread").1, 0);
            continue;
        }
        a.run("ROLLBACK");
        assert_eq!(second.join().expect("a thread").1, 0);
        assert_eq!(third.join().expect("a thread").1, 0);
    }
}

#[test]
fn a_statement_that_fails_gives_the_numbers_back() {
    let (_s, [mut a, mut b, ..]) = stage(0);
    a.run("BEGIN");
    a.run("INSERT INTO t (v) VALUES (1)");
    assert_eq!(a.error("INSERT INTO t (v) VALUES (1)"), 1062);
    assert_eq!(a.error("INSERT INTO t (v) SELECT v FROM source"), 1062);
    let locks = "SELECT COUNT(*) FROM performance_schema.data_locks WHERE LOCK_MODE = 'AUTO_INC'";
    assert_eq!(a.one(locks), "0");
    b.run("INSERT INTO t (v) VALUES (8)");
    a.run("COMMIT");
}
