//! `gtid_next`: which transaction has which name, and when it has it no more.

use std::sync::mpsc;
use std::time::Duration;

use super::test_server::rows;
use super::{code, foreign, one, run, server, set_next};
use wire::command::code as command;

/// The kinds of events behind the last GTID event, and what that says.
fn last_group(c: &mut wire::client::blocking::Conn) -> (String, Vec<String>) {
    let file = rows(c, "SHOW BINARY LOGS").pop().expect("a file").remove(0);
    let events = rows(c, &format!("SHOW BINLOG EVENTS IN '{file}'"));
    let begin = events
        .iter()
        .rposition(|e| e[2].contains("Gtid") || e[2].contains("gtid"))
        .expect("a transaction");
    let kinds = events[begin + 1..].iter().map(|e| match e[2].as_str() {
        "Query" => e[5].clone(),
        kind => kind.to_owned(),
    });
    (events[begin][5].clone(), kinds.collect())
}

#[test]
fn a_transaction_is_called_as_its_client_says() {
    let s = server(&[]);
    let mut c = s.client();
    run(
        &mut c,
        &["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)"],
    );
    let own = one(&mut c, "SELECT @@gtid_executed");
    // One of several statements.
    set_next(&mut c, &foreign(1));
    assert_eq!(one(&mut c, "SELECT @@gtid_next"), foreign(1));
    assert_eq!(one(&mut c, "SELECT @@SESSION.gtid_owned"), foreign(1));
    let id = one(&mut c, "SELECT CONNECTION_ID()");
    assert_eq!(
        one(&mut c, "SELECT @@GLOBAL.gtid_owned"),
        format!("{}#{id}", foreign(1))
    );
    assert_eq!(code(&mut c, "SET gtid_next = 'AUTOMATIC'"), 1790);
    run(&mut c, &["BEGIN", "INSERT INTO d.t VALUES (1)"]);
    assert_eq!(code(&mut c, "SET gtid_next = 'AUTOMATIC'"), 1766);
    assert_eq!(code(&mut c, "CREATE TABLE d.u (a INT)"), 1778);
    assert_eq!(code(&mut c, "BEGIN"), 1778);
    run(&mut c, &["INSERT INTO d.t VALUES (2)", "COMMIT"]);
    let (name, kinds) = last_group(&mut c);
    assert_eq!(name, format!("SET @@SESSION.GTID_NEXT= '{}'", foreign(1)));
    assert_eq!(
        kinds,
        [
            "BEGIN",
            "Table_map",
            "Write_rows",
            "Table_map",
            "Write_rows",
            "Xid"
        ]
    );
    assert_eq!(one(&mut c, "SELECT @@SESSION.gtid_owned"), "");
    assert_eq!(one(&mut c, "SELECT @@GLOBAL.gtid_owned"), "");
    // The next is to be named.
    assert_eq!(code(&mut c, "INSERT INTO d.t VALUES (3)"), 1837);
    assert_eq!(code(&mut c, "CREATE TABLE d.u (a INT)"), 1837);
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "2");
    run(&mut c, &["BEGIN", "COMMIT"]);
    // One statement; one that changes definitions; one that changes nothing; one of accounts.
    for (n, sql) in [
        (2, "INSERT INTO d.t VALUES (3)"),
        (3, "CREATE TABLE d.u (a INT)"),
        (4, "UPDATE d.t SET a = 9 WHERE a = 77"),
        (5, "DROP TABLE IF EXISTS d.nothing"),
        (6, "CREATE USER u"),
        (7, "FLUSH TABLES"),
        (8, "CREATE TEMPORARY TABLE d.tt (a INT)"),
    ] {
        set_next(&mut c, &foreign(n));
        run(&mut c, &[sql]);
        assert_eq!(code(&mut c, "DELETE FROM d.t"), 1837, "{sql}");
        let (name, _) = last_group(&mut c);
        assert_eq!(
            name,
            format!("SET @@SESSION.GTID_NEXT= '{}'", foreign(n)),
            "{sql}"
        );
    }
    // One behind which another begins.
    for (n, sql) in [(20, "INSERT INTO d.t VALUES (20)"), (21, "SELECT 1")] {
        set_next(&mut c, &foreign(n));
        run(&mut c, &["BEGIN", sql, "COMMIT AND CHAIN"]);
        assert_eq!(code(&mut c, "INSERT INTO d.t VALUES (21)"), 1837);
        run(&mut c, &["COMMIT"]);
        let (name, _) = last_group(&mut c);
        assert_eq!(
            name,
            format!("SET @@SESSION.GTID_NEXT= '{}'", foreign(n)),
            "{sql}"
        );
    }
    // Nothing but its name.
    set_next(&mut c, &foreign(9));
    run(&mut c, &["BEGIN", "COMMIT", "SET gtid_next = DEFAULT"]);
    let (name, kinds) = last_group(&mut c);
    assert_eq!(name, format!("SET @@SESSION.GTID_NEXT= '{}'", foreign(9)));
    assert_eq!(kinds, ["BEGIN", "Xid"]);
    let all = format!("{}-9:20-21,\n{own}", foreign(1));
    let shown = one(&mut c, "SELECT @@gtid_executed");
    let mut parts: Vec<&str> = shown.split(",\n").collect();
    let mut expected: Vec<&str> = all.split(",\n").collect();
    parts.sort_unstable();
    expected.sort_unstable();
    assert_eq!(parts, expected);
    // And on.
    run(&mut c, &["INSERT INTO d.t VALUES (50)"]);
    assert!(!last_group(&mut c).0.contains("3e11fa47"));
}

#[test]
fn what_was_done_is_left_out() {
    let s = server(&[]);
    let mut c = s.client();
    run(
        &mut c,
        &["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)"],
    );
    set_next(&mut c, &foreign(1));
    run(&mut c, &["INSERT INTO d.t VALUES (1)"]);
    for statements in [
        &[
            "BEGIN",
            "INSERT INTO d.t VALUES (7)",
            "SAVEPOINT a",
            "COMMIT",
        ][..],
        &["INSERT INTO d.t VALUES (8)", "DELETE FROM d.t", "COMMIT"],
        &["CREATE TABLE d.gone (a INT)"],
        &["DROP DATABASE d"],
        &["INSERT INTO d.missing VALUES (8)", "ROLLBACK"],
    ] {
        set_next(&mut c, &foreign(1));
        run(&mut c, statements);
        assert_eq!(
            code(&mut c, "INSERT INTO d.t VALUES (9)"),
            1837,
            "{statements:?}"
        );
    }
    // Prepared too.
    run(&mut c, &["SET gtid_next = 'AUTOMATIC'"]);
    let insert = c
        .prepare("INSERT INTO d.t VALUES (?)")
        .expect("a statement");
    set_next(&mut c, &foreign(1));
    c.execute(&insert, &[wire::client::Value::Int(4)])
        .expect("it is left out");
    run(
        &mut c,
        &[
            "PREPARE p FROM 'INSERT INTO d.t VALUES (5)'",
            "COMMIT",
            "SET gtid_next = 'AUTOMATIC'",
        ],
    );
    assert_eq!(rows(&mut c, "SELECT a FROM d.t"), [["1"]]);
    assert_eq!(rows(&mut c, "SHOW TABLES FROM d"), [["t"]]);
    c.execute(&insert, &[wire::client::Value::Int(4)])
        .expect("it is run");
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM d.t"), "2");
}

#[test]
fn an_error_and_a_rollback_give_the_name_up() {
    let s = server(&[]);
    let mut c = s.client();
    run(
        &mut c,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY)",
            "INSERT INTO d.t VALUES (1)",
        ],
    );
    let before = one(&mut c, "SELECT @@gtid_executed");
    set_next(&mut c, &foreign(1));
    assert_eq!(code(&mut c, "INSERT INTO d.t VALUES (1)"), 1062);
    assert_eq!(one(&mut c, "SELECT @@GLOBAL.gtid_owned"), "");
    assert_eq!(code(&mut c, "INSERT INTO d.t VALUES (2)"), 1837);
    set_next(&mut c, &foreign(1));
    run(&mut c, &["BEGIN", "INSERT INTO d.t VALUES (2)", "ROLLBACK"]);
    assert_eq!(code(&mut c, "INSERT INTO d.t VALUES (2)"), 1837);
    set_next(&mut c, &foreign(1));
    assert_eq!(code(&mut c, "CREATE TABLE d.t (a INT)"), 1050);
    assert_eq!(code(&mut c, "INSERT INTO d.t VALUES (2)"), 1837);
    // What is no statement ends nothing.
    set_next(&mut c, &foreign(1));
    assert_eq!(code(&mut c, "INSERTED"), 1064);
    assert_eq!(one(&mut c, "SELECT @@SESSION.gtid_owned"), foreign(1));
    // An error within a transaction leaves it as it is.
    run(&mut c, &["BEGIN", "INSERT INTO d.t VALUES (3)"]);
    assert_eq!(code(&mut c, "INSERT INTO d.t VALUES (3)"), 1062);
    assert_eq!(one(&mut c, "SELECT @@SESSION.gtid_owned"), foreign(1));
    assert_eq!(code(&mut c, "XA START 'x'"), 1235);
    run(&mut c, &["ROLLBACK", "SET gtid_next = 'AUTOMATIC'"]);
    assert_eq!(one(&mut c, "SELECT @@gtid_executed"), before);
    run(&mut c, &["XA START 'x'"]);
    assert_eq!(
        code(&mut c, &format!("SET gtid_next = '{}'", foreign(2))),
        1766
    );
    run(&mut c, &["XA END 'x'", "XA ROLLBACK 'x'"]);
}

#[test]
fn a_second_session_waits_and_then_leaves_it_out() {
    let s = server(&[]);
    let mut c = s.client();
    run(
        &mut c,
        &["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)"],
    );
    for (n, end, left) in [(1, "COMMIT", "1"), (2, "ROLLBACK", "20")] {
        set_next(&mut c, &foreign(n));
        run(&mut c, &["BEGIN", &format!("INSERT INTO d.t VALUES ({n})")]);
        let mut other = s.client();
        let name = foreign(n);
        let (done, is_done) = mpsc::channel();
        let waits = std::thread::spawn(move || {
            set_next(&mut other, &name);
            done.send(()).expect("the test waits");
            run(
                &mut other,
                &[&format!("INSERT INTO d.t VALUES ({})", n * 10), "COMMIT"],
            );
        });
        assert!(is_done.recv_timeout(Duration::from_millis(200)).is_err());
        run(&mut c, &[end]);
        is_done
            .recv_timeout(Duration::from_secs(20))
            .expect("it goes on");
        waits.join().expect("it ends");
        assert_eq!(one(&mut c, "SELECT MAX(a) FROM d.t"), left);
    }
    // KILL QUERY ends a wait, and the end of a connection gives its name up.
    set_next(&mut c, &foreign(3));
    let mut other = s.client();
    let id = one(&mut other, "SELECT CONNECTION_ID()");
    let waits = std::thread::spawn(move || {
        let refused = code(&mut other, &format!("SET gtid_next = '{}'", foreign(3)));
        (refused, other)
    });
    let mut third = s.client();
    for _ in 0..200 {
        let state = format!("SELECT COMMAND FROM information_schema.processlist WHERE ID = {id}");
        if one(&mut third, &state) == "Query" {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    run(&mut third, &[&format!("KILL QUERY {id}")]);
    let (refused, mut other) = waits.join().expect("it ends");
    assert_eq!(refused, 1317);
    drop(c);
    set_next(&mut other, &foreign(3));
    assert_eq!(one(&mut other, "SELECT @@SESSION.gtid_owned"), foreign(3));
    // So does a reset, and a KILL of the connection.
    other
        .command(command::RESET_CONNECTION, &[])
        .expect("a reset");
    assert_eq!(one(&mut other, "SELECT @@gtid_next"), "AUTOMATIC");
    set_next(&mut third, &foreign(3));
    run(&mut third, &["BEGIN", "INSERT INTO d.t VALUES (1000)"]);
    let id = one(&mut third, "SELECT CONNECTION_ID()");
    run(&mut other, &[&format!("KILL {id}")]);
    set_next(&mut other, &foreign(3));
    run(&mut other, &["INSERT INTO d.t VALUES (1000)"]);
    let all = format!("{}-3", foreign(1));
    assert!(one(&mut other, "SELECT @@gtid_executed").contains(&all));
}

#[test]
fn modes_words_and_privileges() {
    let s = server(&[]);
    let mut c = s.client();
    for (value, expected) in [
        ("'x'", 1774),
        ("'3e11fa47-71ca-11e1-9e33-c80aa9429562'", 1774),
        ("'3e11fa47-71ca-11e1-9e33-c80aa9429562:0'", 1774),
        ("'3e11fa47-71ca-11e1-9e33-c80aa9429562:1-2'", 1774),
        (
            "'3e11fa47-71ca-11e1-9e33-c80aa9429562:9223372036854775807'",
            1774,
        ),
        ("''", 1774),
        ("1", 1232),
        ("NULL", 1231),
        ("'ANONYMOUS'", 1782),
    ] {
        assert_eq!(
            code(&mut c, &format!("SET gtid_next = {value}")),
            expected,
            "{value}"
        );
    }
    assert_eq!(code(&mut c, "SET GLOBAL gtid_next = 'AUTOMATIC'"), 1228);
    assert_eq!(code(&mut c, "SET gtid_owned = ''"), 1238);
    run(
        &mut c,
        &[
            "SET gtid_next = 'automatic'",
            "SET GLOBAL gtid_mode = ON_PERMISSIVE",
        ],
    );
    run(&mut c, &["SET gtid_next = 'anonymous'"]);
    assert_eq!(
        one(&mut c, "SELECT CONCAT(@@gtid_next, @@gtid_owned)"),
        "ANONYMOUSANONYMOUS"
    );
    assert_eq!(code(&mut c, "SET gtid_next = 'AUTOMATIC'"), 1790);
    run(&mut c, &["CREATE DATABASE d"]);
    assert_eq!(last_group(&mut c).0, "SET @@SESSION.GTID_NEXT= 'ANONYMOUS'");
    run(
        &mut c,
        &["CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)"],
    );
    assert_eq!(last_group(&mut c).0, "SET @@SESSION.GTID_NEXT= 'ANONYMOUS'");
    assert_eq!(one(&mut c, "SELECT @@gtid_executed"), "");
    run(&mut s.client(), &["SET GLOBAL gtid_mode = ON"]);
    assert_eq!(code(&mut c, "INSERT INTO d.t VALUES (2)"), 1782);
    run(&mut s.client(), &["SET GLOBAL gtid_mode = ON_PERMISSIVE"]);
    run(
        &mut c,
        &[
            "SET gtid_next = 'AUTOMATIC'",
            "SET GLOBAL gtid_mode = OFF_PERMISSIVE",
        ],
    );
    // Names that are given are kept, and none are made.
    run(&mut c, &["INSERT INTO d.t VALUES (2)"]);
    assert_eq!(last_group(&mut c).0, "SET @@SESSION.GTID_NEXT= 'ANONYMOUS'");
    set_next(&mut c, &foreign(5));
    let mut other = s.client();
    assert_eq!(code(&mut other, "SET GLOBAL gtid_mode = OFF"), 3111);
    let overlap = format!("SET GLOBAL gtid_purged = '+{}'", foreign(5));
    assert_eq!(code(&mut other, &overlap), 3546);
    run(&mut c, &["INSERT INTO d.t VALUES (3)"]);
    assert_eq!(one(&mut c, "SELECT @@gtid_executed"), foreign(5));
    run(&mut other, &["SET GLOBAL gtid_mode = OFF"]);
    assert_eq!(
        code(&mut c, &format!("SET gtid_next = '{}'", foreign(6))),
        1781
    );
    run(
        &mut c,
        &["SET gtid_next = 'AUTOMATIC'", "INSERT INTO d.t VALUES (4)"],
    );
    // Who may.
    run(
        &mut c,
        &[
            "CREATE USER nobody",
            "CREATE USER applier",
            "GRANT REPLICATION_APPLIER ON *.* TO applier",
        ],
    );
    let mut nobody = s.login("nobody", "").expect("a login");
    let mut applier = s.login("applier", "").expect("a login");
    for variable in [
        "gtid_next = 'AUTOMATIC'",
        "original_commit_timestamp = 1",
        "original_server_version = 80035",
        "immediate_server_version = 80035",
        "pseudo_replica_mode = 1",
    ] {
        assert_eq!(
            code(&mut nobody, &format!("SET {variable}")),
            1227,
            "{variable}"
        );
        run(&mut applier, &[&format!("SET {variable}")]);
    }
    assert_eq!(code(&mut applier, "SET pseudo_thread_id = 4"), 1227);
    assert_eq!(code(&mut nobody, "BINLOG 'AAAA'"), 1227);
}

#[test]
fn it_is_kept_with_what_else_is_said_of_it() {
    let s = server(&[]);
    let mut c = s.client();
    run(&mut c, &["CREATE DATABASE d", "CREATE TABLE d.t (a INT)"]);
    run(
        &mut c,
        &[
            "SET original_commit_timestamp = 1600000000000000, original_server_version = 80021, pseudo_thread_id = 4711",
        ],
    );
    assert_eq!(
        one(&mut c, "SELECT CONCAT(@@pseudo_thread_id, CONNECTION_ID())"),
        "47114711"
    );
    set_next(&mut c, &foreign(1));
    run(&mut c, &["INSERT INTO d.t VALUES (1)"]);
    let file = rows(&mut c, "SHOW BINARY LOGS")
        .pop()
        .expect("a file")
        .remove(0);
    let bytes = std::fs::read(s.dir.join("data").join(file)).expect("the file");
    // The GTID event has both times: that of the first commit is not followed by the one here, as they differ.
    let original = &1_600_000_000_000_000u64.to_le_bytes()[..7];
    assert!(bytes.windows(7).any(|w| w == original));
    assert!(bytes.windows(4).any(|w| w == 80_021u32.to_le_bytes()));
    assert!(bytes.windows(4).any(|w| w == 4711u32.to_le_bytes()));
    // Not logged: as in MySQL it was done, and is in no file.
    set_next(&mut c, &foreign(2));
    run(
        &mut c,
        &["SET sql_log_bin = 0", "INSERT INTO d.t VALUES (2)"],
    );
    assert!(one(&mut c, "SELECT @@gtid_purged").contains(&foreign(2)));
    // A server that is read-only for others takes nothing but the name.
    run(
        &mut c,
        &["SET sql_log_bin = 1", "SET gtid_next = 'AUTOMATIC'"],
    );
    run(&mut c, &["SET GLOBAL super_read_only = 1"]);
    set_next(&mut c, &foreign(3));
    assert_eq!(code(&mut c, "INSERT INTO d.t VALUES (3)"), 1290);
    set_next(&mut c, &foreign(3));
    run(&mut c, &["BEGIN", "COMMIT"]);
    assert_eq!(
        last_group(&mut c).0,
        format!("SET @@SESSION.GTID_NEXT= '{}'", foreign(3))
    );
}
