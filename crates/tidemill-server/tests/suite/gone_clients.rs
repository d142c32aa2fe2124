//! Clients that go away while their statement waits for others: what their transactions hold is given back within seconds, as in MySQL.

use crate::test_server;

use std::time::{Duration, Instant};

use test_server::{TestServer, rows};

/// How each waits; `{n}` is a number of its own. The first lock is what is to be given back.
const WAITS: &[(&str, &str)] = &[
    ("SLEEP", "SELECT SLEEP(300)"),
    ("SLEEP for rows", "SELECT SLEEP(100) FROM d.t"),
    (
        "SLEEP in a change",
        "UPDATE d.t SET v = 9 WHERE id > 90 AND SLEEP(300)",
    ),
    ("GET_LOCK", "SELECT GET_LOCK('taken', 300)"),
    ("a row", "UPDATE d.t SET v = 1 WHERE id = 2"),
    ("a table", "ALTER TABLE d.used ADD COLUMN x INT"),
    ("LOCK TABLES", "LOCK TABLES d.used WRITE"),
];

#[test]
fn what_they_hold_is_given_back() {
    let server = TestServer::start(&[]);
    let mut root = server.client();
    root.query("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT); CREATE TABLE d.used (a INT)")
        .expect("tables");
    root.query("INSERT INTO d.t VALUES (1, 0), (2, 0), (99, 0); INSERT INTO d.used VALUES (1)")
        .expect("rows");
    // Each of them waits for this one, or for time.
    let mut holder = server.client();
    holder
        .query("SELECT GET_LOCK('taken', 0); BEGIN; UPDATE d.t SET v = 1 WHERE id = 2; SELECT * FROM d.used")
        .expect("held");
    for (name, wait) in WAITS {
        let mut gone = server.client();
        // Neither ALTER nor LOCK TABLES waits within a transaction: a named lock is what they hold.
        let first = "SELECT GET_LOCK('first', 0); BEGIN; UPDATE d.t SET v = v WHERE id = 1";
        gone.query(first).expect("locked");
        let id = rows(&mut gone, "SELECT CONNECTION_ID()").concat().concat();
        let patience = Some(Duration::from_millis(150));
        gone.set_read_timeout(patience).expect("a limit");
        assert!(gone.query(wait).is_err(), "{name} does not wait");
        drop(gone);
        let begun = Instant::now();
        let there = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
        while rows(&mut root, &there) != [["0"]] {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "{name}: it is still there"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        let got = rows(
            &mut root,
            "SELECT GET_LOCK('first', 0), RELEASE_LOCK('first')",
        );
        assert_eq!(got, [["1", "1"]], "{name}");
        root.query("SET innodb_lock_wait_timeout = 1; UPDATE d.t SET v = 0 WHERE id = 1")
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    assert_eq!(rows(&mut root, "SELECT v FROM d.t WHERE id = 99"), [["0"]]);
}
