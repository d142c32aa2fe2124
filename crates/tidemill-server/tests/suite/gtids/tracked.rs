//! `session_track_gtids`: what a client is told that its transactions are called.

use super::test_server::refused;
use super::{TestServer, foreign, one, run, server, set_next};
use wire::client::blocking::Conn;
use wire::read::Reader;

/// The sets of GTIDs in what a statement's last result says of the session.
fn told(c: &mut Conn, sql: &str) -> Vec<String> {
    let results = c.query(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let state = results
        .last()
        .map(|r| r.session_state.clone())
        .unwrap_or_default();
    let mut r = Reader::new(&state);
    let mut found = Vec::new();
    while !r.is_empty() {
        let (kind, data) = (r.u8().expect("a kind"), r.lenenc_bytes().expect("data"));
        if kind == 3 {
            let mut data = Reader::new(data);
            assert_eq!(data.u8().expect("an encoding"), 0);
            let set = data.lenenc_bytes().expect("a set");
            assert!(data.is_empty());
            found.push(String::from_utf8(set.to_vec()).expect("text"));
        }
    }
    found
}

fn tables(s: &TestServer) -> (Conn, String) {
    let mut c = s.client();
    run(
        &mut c,
        &["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)"],
    );
    let uuid = one(&mut c, "SELECT @@server_uuid");
    (c, uuid)
}

/// Whoever may write may ask what it is called; not in the middle of it.
#[test]
fn an_account_without_privileges_is_told_too() {
    let s = server(&[]);
    let (mut c, uuid) = tables(&s);
    run(
        &mut c,
        &[
            "CREATE USER u IDENTIFIED BY ''",
            "GRANT SELECT, INSERT ON d.t TO u",
        ],
    );
    let mut u = s.login("u", "").expect("let in");
    run(&mut u, &["BEGIN", "INSERT INTO d.t VALUES (1)"]);
    let set = "SET session_track_gtids = OWN_GTID";
    assert_eq!(refused(u.query(set)).code, 1766);
    run(&mut u, &["COMMIT", set]);
    assert_eq!(
        told(&mut u, "INSERT INTO d.t VALUES (2)"),
        [format!("{uuid}:6")]
    );
    assert_eq!(refused(u.query("SET gtid_next = AUTOMATIC")).code, 1227);
    // Who owns a name has to end it first.
    run(
        &mut c,
        &["SET gtid_next = '9a9a9a9a-71ca-11e1-9e33-c80aa9429562:1'"],
    );
    assert_eq!(refused(c.query(set)).code, 3138);
    run(&mut c, &["ROLLBACK", set]);
}

#[test]
fn a_client_is_told_its_own() {
    let s = server(&[]);
    let (mut c, uuid) = tables(&s);
    assert_eq!(told(&mut c, "INSERT INTO d.t VALUES (1)"), [""; 0]);
    run(&mut c, &["SET session_track_gtids = OWN_GTID"]);
    assert_eq!(
        told(&mut c, "INSERT INTO d.t VALUES (2)"),
        [format!("{uuid}:4")]
    );
    assert_eq!(told(&mut c, "BEGIN"), [""; 0]);
    assert_eq!(told(&mut c, "INSERT INTO d.t VALUES (3)"), [""; 0]);
    // Another's comes between.
    let mut other = s.client();
    run(&mut other, &["INSERT INTO d.t VALUES (30)"]);
    assert_eq!(told(&mut c, "COMMIT"), [format!("{uuid}:6")]);
    assert_eq!(told(&mut c, "SELECT 1"), [""; 0]);
    assert_eq!(told(&mut c, "UPDATE d.t SET a = 5 WHERE a = 99"), [""; 0]);
    assert_eq!(
        told(&mut c, "CREATE TABLE d.u (a INT)"),
        [format!("{uuid}:7")]
    );
    assert_eq!(told(&mut c, "CREATE USER u"), [format!("{uuid}:8")]);
    set_next(&mut c, &foreign(1));
    assert_eq!(told(&mut c, "INSERT INTO d.t VALUES (7)"), [foreign(1)]);
    set_next(&mut c, &foreign(2));
    assert_eq!(told(&mut c, "COMMIT"), [foreign(2)]);
    run(&mut c, &["SET gtid_next = 'AUTOMATIC'"]);
    // One that commits what was open: both.
    run(&mut c, &["BEGIN", "INSERT INTO d.t VALUES (8)"]);
    assert_eq!(
        told(&mut c, "CREATE TABLE d.v (a INT)"),
        [format!("{uuid}:9-10")]
    );
    // A prepared statement, whichever way it goes.
    let update = c
        .prepare("UPDATE d.t SET a = a + 100 WHERE a = ?")
        .expect("a statement");
    let done = c
        .execute(&update, &[wire::client::Value::Int(8)])
        .expect("it runs");
    let state = &done.last().expect("a result").session_state;
    let text = format!("{uuid}:11");
    assert!(
        state.windows(text.len()).any(|w| w == text.as_bytes()),
        "{state:?}"
    );
    run(&mut c, &["SET session_track_gtids = OFF"]);
    assert_eq!(told(&mut c, "INSERT INTO d.t VALUES (9)"), [""; 0]);
    // After a start nobody is told of what was before.
    run(&mut c, &["SET session_track_gtids = OWN_GTID"]);
    c.command(wire::command::code::RESET_CONNECTION, &[])
        .expect("a reset");
    assert_eq!(told(&mut c, "INSERT INTO d.t VALUES (10)"), [""; 0]);
}

#[test]
fn a_client_is_told_all() {
    let s = server(&["--session-track-gtids=ALL_GTIDS"]);
    let (mut c, uuid) = tables(&s);
    let mut other = s.client();
    run(
        &mut other,
        &[
            "SET session_track_gtids = OFF",
            "INSERT INTO d.t VALUES (1)",
        ],
    );
    assert_eq!(
        told(&mut c, "INSERT INTO d.t VALUES (2)"),
        [format!("{uuid}:1-4")]
    );
    run(&mut other, &["INSERT INTO d.t VALUES (3)"]);
    // Also who has only read.
    assert_eq!(
        told(&mut c, "SELECT COUNT(*) FROM d.t"),
        [format!("{uuid}:1-5")]
    );
    run(&mut c, &["BEGIN"]);
    assert_eq!(told(&mut c, "SELECT COUNT(*) FROM d.t"), [""; 0]);
    assert_eq!(told(&mut c, "COMMIT"), [format!("{uuid}:1-5")]);
}

#[test]
fn many_at_once_are_each_told_their_own() {
    let s = server(&["--innodb-flush-log-at-trx-commit=2"]);
    let (_c, uuid) = tables(&s);
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let mut c = s.client();
            std::thread::spawn(move || {
                run(&mut c, &["SET session_track_gtids = OWN_GTID"]);
                let mut names = Vec::new();
                for i in 0..50 {
                    let sql = format!("INSERT INTO d.t VALUES ({})", n * 1000 + i);
                    let mut own = told(&mut c, &sql);
                    assert_eq!(own.len(), 1);
                    names.append(&mut own);
                }
                names
            })
        })
        .collect();
    let mut all: Vec<u64> = threads
        .into_iter()
        .flat_map(|t| t.join().expect("it ends"))
        .map(|name| {
            let number = name.strip_prefix(&format!("{uuid}:")).expect("one of ours");
            number.parse().expect("one transaction")
        })
        .collect();
    all.sort_unstable();
    assert_eq!(all, (3..203).collect::<Vec<u64>>());
}

/// The name of what a statement has committed.
fn name_of(c: &mut Conn, sql: &str) -> String {
    told(c, sql)
        .pop()
        .unwrap_or_else(|| panic!("{sql}: no name"))
}

#[test]
fn what_was_waited_for_is_there() {
    let s = server(&[]);
    let (mut c, uuid) = tables(&s);
    let mut reader = s.client();
    let (done, made) = std::sync::mpsc::channel();
    let writes = std::thread::spawn(move || {
        for n in 0..150 {
            run(&mut c, &[&format!("CREATE TABLE d.t{n} (a INT)")]);
        }
        done.send(()).expect("the test waits");
    });
    for n in 0..150 {
        let wait = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{uuid}:{}', 30)", n + 3);
        assert_eq!(one(&mut reader, &wait), "0");
        run(&mut reader, &[&format!("SELECT a FROM d.t{n}")]);
    }
    made.recv().expect("it ends");
    writes.join().expect("it ends");
}

#[test]
fn a_replica_has_what_its_client_has_written() {
    let source = server(&[]);
    let (mut c, _) = tables(&source);
    run(
        &mut c,
        &[
            "CREATE USER repl",
            "GRANT REPLICATION SLAVE ON *.* TO repl",
            "SET session_track_gtids = OWN_GTID",
        ],
    );
    let replica = server(&["--server-id=2"]);
    let mut r = replica.client();
    let port = source.listening.addresses.first().expect("a port").port();
    run(
        &mut r,
        &[
            &format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'repl', SOURCE_AUTO_POSITION = 1"
            ),
            "START REPLICA",
        ],
    );
    for n in 0..60 {
        let (sql, read) = match n % 3 {
            0 => (
                format!("CREATE TABLE d.u{n} (a INT)"),
                format!("SELECT COUNT(*) + 1 FROM d.u{n}"),
            ),
            1 => (
                format!("INSERT INTO d.t VALUES ({n})"),
                format!("SELECT COUNT(*) FROM d.t WHERE a = {n}"),
            ),
            _ => (
                format!("CREATE USER u{n}"),
                format!("SELECT COUNT(*) FROM mysql.user WHERE user = 'u{n}'"),
            ),
        };
        let name = name_of(&mut c, &sql);
        let wait = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{name}', 60)");
        assert_eq!(one(&mut r, &wait), "0", "{sql}");
        assert_eq!(one(&mut r, &read), "1", "{sql}");
    }
    run(&mut r, &["STOP REPLICA"]);
}
