//! What operators see of locks, and how locks are limited.

use std::thread::JoinHandle;

use super::*;

/// A server with a table `t (id PRIMARY KEY, k, KEY (k))` of the rows 10, 20, 30, and `n` connections.
fn stage(n: usize) -> (Arc<Instance>, Vec<Client>) {
    let s = server();
    let mut all: Vec<Client> = (0..n).map(|_| Client::in_test(&s)).collect();
    all[0].run("CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT NOT NULL DEFAULT 0, KEY (k))");
    all[0].run("INSERT INTO t (id, k) VALUES (10, 1), (20, 2), (30, 3)");
    (s, all)
}

/// Runs a statement elsewhere, and comes back once it waits for a lock.
fn waiting(looks: &mut Client, mut c: Client, sql: &'static str) -> JoinHandle<(Client, u16)> {
    let count = "SELECT COUNT(*) FROM performance_schema.data_locks WHERE LOCK_STATUS = 'WAITING'";
    let before = looks.one(count);
    let thread = std::thread::spawn(move || {
        let code = c.error(sql);
        (c, code)
    });
    while looks.one(count) == before {
        assert!(!thread.is_finished(), "{sql} does not wait");
        std::thread::yield_now();
    }
    thread
}

const LOCKS: &str = "SELECT OBJECT_NAME, INDEX_NAME, LOCK_TYPE, LOCK_MODE, LOCK_STATUS, LOCK_DATA \
    FROM performance_schema.data_locks ORDER BY LOCK_TYPE DESC, INDEX_NAME, LOCK_STATUS, LOCK_MODE, LOCK_DATA";

#[test]
fn locks_are_shown_as_in_mysql() {
    let (_s, mut c) = stage(2);
    let show = |c: &mut [Client], sql: &str| {
        c[0].run("BEGIN");
        c[0].run(sql);
        let rows = c[1].rows(LOCKS);
        c[0].run("ROLLBACK");
        rows
    };
    let table = |mode| ["t", "NULL", "TABLE", mode, "GRANTED", "NULL"];
    let record = |index, mode, data| ["t", index, "RECORD", mode, "GRANTED", data];
    for (sql, rows) in [
        (
            "SELECT * FROM t WHERE id = 10 FOR UPDATE",
            vec![table("IX"), record("PRIMARY", "X,REC_NOT_GAP", "10")],
        ),
        (
            "SELECT * FROM t WHERE id = 10 FOR SHARE",
            vec![table("IS"), record("PRIMARY", "S,REC_NOT_GAP", "10")],
        ),
        (
            "SELECT * FROM t WHERE id = 15 FOR UPDATE",
            vec![table("IX"), record("PRIMARY", "X,GAP", "15")],
        ),
        (
            "SELECT * FROM t WHERE id BETWEEN 10 AND 20 FOR UPDATE",
            vec![table("IX"), record("PRIMARY", "X", "[10, 21)")],
        ),
        (
            "SELECT * FROM t FORCE INDEX (PRIMARY) WHERE id > 20 FOR SHARE",
            vec![
                table("IS"),
                record("PRIMARY", "S", "[21, supremum pseudo-record)"),
            ],
        ),
        (
            "SELECT * FROM t FORCE INDEX (k) WHERE k = 2 FOR UPDATE",
            vec![
                table("IX"),
                record("k", "X,GAP", "[2, 3)"),
                record("PRIMARY", "X,REC_NOT_GAP", "20"),
            ],
        ),
        // A write locks by what is in the row.
        ("UPDATE t SET v = 1 WHERE id = 10", vec![]),
    ] {
        assert_eq!(show(&mut c, sql), rows, "{sql}");
    }
}

#[test]
fn who_waits_for_whom_is_shown() {
    let (_s, mut c) = stage(4);
    let mut look = c.pop().expect("a connection");
    let (mut a, mut b, mut d) = (c.remove(0), c.remove(0), c.remove(0));
    let ids = [&mut a, &mut b, &mut d].map(|c| c.one("SELECT CONNECTION_ID()"));
    a.run("BEGIN");
    a.run("UPDATE t SET v = 1 WHERE id = 10");
    a.run("SELECT * FROM t WHERE id > 20 FOR UPDATE");
    let b = waiting(&mut look, b, "UPDATE t SET v = 2 WHERE id = 10");
    let d = waiting(&mut look, d, "INSERT INTO t (id) VALUES (25)");
    let rows = look.rows(
        "SELECT l.LOCK_MODE, l.LOCK_DATA, w.REQUESTING_THREAD_ID, w.BLOCKING_THREAD_ID \
         FROM performance_schema.data_lock_waits w \
         JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID \
         JOIN performance_schema.data_locks m ON m.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID \
         ORDER BY l.LOCK_DATA",
    );
    assert_eq!(
        rows,
        [
            ["X,REC_NOT_GAP", "10", &ids[1], &ids[0]],
            ["X,GAP,INSERT_INTENTION", "25", &ids[2], &ids[0]]
        ]
    );
    let rows = look.rows(
        "SELECT locked_table, locked_index, locked_type, waiting_pid, waiting_query, waiting_lock_mode, blocking_pid, \
         blocking_query, blocking_lock_mode, sql_kill_blocking_query, sql_kill_blocking_connection \
         FROM sys.innodb_lock_waits ORDER BY waiting_pid",
    );
    let kill = [format!("KILL QUERY {}", ids[0]), format!("KILL {}", ids[0])];
    assert_eq!(
        rows[0],
        [
            "`test`.`t`",
            "PRIMARY",
            "RECORD",
            &ids[1],
            "UPDATE t SET v = 2 WHERE id = 10",
            "X,REC_NOT_GAP",
            &ids[0],
            "NULL",
            "X,REC_NOT_GAP",
            &kill[0],
            &kill[1]
        ]
    );
    assert_eq!(rows.len(), 2);
    let rows = look.rows(
        "SELECT trx_mysql_thread_id, trx_state, trx_query, trx_rows_modified, trx_isolation_level, \
         trx_requested_lock_id IS NULL, trx_wait_started IS NULL, trx_started <= NOW() \
         FROM information_schema.INNODB_TRX ORDER BY 1",
    );
    assert_eq!(
        rows,
        [
            [
                &ids[0],
                "RUNNING",
                "NULL",
                "1",
                "REPEATABLE READ",
                "1",
                "1",
                "1"
            ],
            [
                &ids[1],
                "LOCK WAIT",
                "UPDATE t SET v = 2 WHERE id = 10",
                "0",
                "REPEATABLE READ",
                "0",
                "0",
                "1"
            ],
            [
                &ids[2],
                "LOCK WAIT",
                "INSERT INTO t (id) VALUES (25)",
                "0",
                "REPEATABLE READ",
                "0",
                "0",
                "1"
            ],
        ]
    );
    let status = look.rows("SHOW ENGINE INNODB STATUS")[0][2].clone();
    assert!(
        status.contains("INSERT INTO t (id) VALUES (25)"),
        "{status}"
    );
    assert!(!status.contains("LATEST DETECTED DEADLOCK"));
    a.run("COMMIT");
    assert_eq!(b.join().expect("a thread").1, 0);
    assert_eq!(d.join().expect("a thread").1, 0);
    assert!(look.rows(LOCKS).is_empty());
    assert_eq!(
        look.one("SELECT COUNT(*) FROM information_schema.INNODB_TRX"),
        "0"
    );
}

#[test]
fn a_transaction_that_reads_is_listed() {
    let (_s, mut c) = stage(2);
    c[0].run("START TRANSACTION READ ONLY");
    let id = c[0].one("SELECT CONNECTION_ID()");
    c[0].run("SELECT * FROM t");
    let read = "SELECT trx_mysql_thread_id, trx_state, trx_is_read_only FROM information_schema.INNODB_TRX";
    assert_eq!(c[1].rows(read), [[id.as_str(), "RUNNING", "1"]]);
    c[0].run("COMMIT");
    assert!(c[1].rows(read).is_empty());
}

/// Two transactions that lock rows in opposite order; the second closes the circle, and gives its error and whether it goes on.
fn deadlock(c: &mut Vec<Client>, look: &mut Client) -> (u16, bool) {
    let (mut a, mut b) = (c.remove(0), c.remove(0));
    a.run("BEGIN");
    b.run("BEGIN");
    a.run("UPDATE t SET v = v + 1 WHERE id IN (10, 30)");
    b.run("UPDATE t SET v = v + 1 WHERE id = 20");
    let a = waiting(look, a, "UPDATE t SET v = 7 WHERE id = 20");
    let code = b.error("UPDATE t SET v = 8 WHERE id = 10");
    let goes_on = b.session.engine.in_transaction();
    b.run("ROLLBACK");
    let (mut a, other) = a.join().expect("a thread");
    assert_eq!(other, 0);
    a.run("COMMIT");
    // Who has lost and has not committed since would not lose again.
    b.run("UPDATE t SET v = v + 1 WHERE id = 30");
    c.insert(0, b);
    c.insert(0, a);
    (code, goes_on)
}

#[test]
fn a_deadlock_is_reported_with_both_sides() {
    let (s, mut c) = stage(3);
    let mut look = c.pop().expect("a connection");
    let heard = Arc::new(base::lock::Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    s.on_report(Arc::new(move |text: &str| ear.lock().push(text.to_owned())));
    assert_eq!(deadlock(&mut c, &mut look), (1213, false));
    assert!(heard.lock().is_empty());
    let status = look.rows("SHOW ENGINE INNODB STATUS")[0][2].clone();
    for part in [
        "LATEST DETECTED DEADLOCK",
        "*** (1) TRANSACTION:",
        "UPDATE t SET v = 7 WHERE id = 20",
        "*** (2) TRANSACTION:",
        "UPDATE t SET v = 8 WHERE id = 10",
        "*** (1) HOLDS THE LOCK(S):",
        "*** (2) WAITING FOR THIS LOCK TO BE GRANTED:",
        "index PRIMARY of table `test`.`t`",
        "lock_mode X,REC_NOT_GAP waiting\n key: 10",
        "*** WE ROLL BACK TRANSACTION (",
    ] {
        assert!(status.contains(part), "{part}: {status}");
    }
    // The one that is rolled back is the one that was told so.
    let (_, after) = status
        .split_once("*** WE ROLL BACK TRANSACTION (")
        .expect("a line");
    let own = format!("*** ({}) TRANSACTION:", &after[..1]);
    let (_, member) = status.split_once(&own).expect("a member");
    let member = member.split("*** (").next().unwrap_or_default();
    assert!(member.contains("SET v = 8"), "{status}");

    look.run("SET GLOBAL innodb_print_all_deadlocks = ON");
    assert_eq!(deadlock(&mut c, &mut look), (1213, false));
    let told = heard.lock().clone();
    assert_eq!(told.len(), 1);
    assert!(
        told[0].contains("UPDATE t SET v = 8 WHERE id = 10"),
        "{}",
        told[0]
    );
}

#[test]
fn without_detection_a_circle_ends_by_a_timeout() {
    let (_s, mut c) = stage(3);
    let mut look = c.pop().expect("a connection");
    look.run("SET GLOBAL innodb_deadlock_detect = OFF");
    c[1].run("SET innodb_lock_wait_timeout = 1");
    // The statement alone is undone.
    assert_eq!(deadlock(&mut c, &mut look), (1205, true));
    look.run("SET GLOBAL innodb_deadlock_detect = ON");
    assert_eq!(deadlock(&mut c, &mut look), (1213, false));
}

#[test]
fn rollback_on_timeout_undoes_the_transaction() {
    let (s, mut c) = stage(2);
    c[0].run("BEGIN");
    c[0].run("UPDATE t SET v = 1 WHERE id = 10");
    c[1].run("SET innodb_lock_wait_timeout = 1");
    let timed_out = |c: &mut Vec<Client>| {
        c[1].run("BEGIN");
        c[1].run("UPDATE t SET v = 5 WHERE id = 20");
        assert_eq!(c[1].error("UPDATE t SET v = 2 WHERE id = 10"), 1205);
        let v = c[1].one("SELECT v FROM t WHERE id = 20");
        (c[1].session.engine.in_transaction(), v)
    };
    assert_eq!(timed_out(&mut c), (true, "5".to_owned()));
    c[1].run("ROLLBACK");
    s.engine().set_rollback_on_timeout(true);
    assert_eq!(timed_out(&mut c), (false, "0".to_owned()));
    assert_eq!(
        c[1].error("SET GLOBAL innodb_rollback_on_timeout = OFF"),
        1238
    );
}

#[test]
fn views_of_locks_ask_for_privileges() {
    let (s, mut c) = stage(1);
    c[0].run("CREATE USER u");
    c[0].run("GRANT SELECT ON test.* TO u");
    let login = || Client::of(&s, "u");
    let mut u = login();
    let codes = |u: &mut Client| {
        [
            "SELECT * FROM performance_schema.data_locks",
            "SELECT * FROM performance_schema.data_lock_waits",
            "SELECT * FROM information_schema.INNODB_TRX",
            "SELECT * FROM sys.innodb_lock_waits",
            "SHOW ENGINE INNODB STATUS",
        ]
        .map(|sql| u.error(sql))
    };
    assert_eq!(codes(&mut u), [1142, 1142, 1227, 1142, 1227]);
    c[0].run("GRANT SELECT ON performance_schema.* TO u");
    c[0].run("GRANT SELECT ON sys.* TO u");
    assert_eq!(codes(&mut u), [0, 0, 1227, 1227, 1227]);
    c[0].run("GRANT PROCESS ON *.* TO u");
    let mut u = login();
    assert_eq!(codes(&mut u), [0; 5]);
    assert_eq!(u.error("DELETE FROM sys.innodb_lock_waits"), 1044);
    // The schema is not listed: dumps of all databases would have it, and one from elsewhere can be restored.
    let listed = c[0].rows("SHOW DATABASES");
    assert!(!listed.contains(&vec!["sys".to_owned()]));
    c[0].run("CREATE DATABASE sys");
    assert!(c[0].rows("SHOW TABLES FROM sys").is_empty());
    assert_eq!(c[0].one("SELECT COUNT(*) FROM sys.innodb_lock_waits"), "0");
}
