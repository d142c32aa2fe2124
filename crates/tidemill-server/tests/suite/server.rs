//! The server from outside: the protocol's commands, accounts, limits, bad input, shutdown.

mod cases;
mod compression;
use crate::test_server;
mod unknown_users;

use std::time::{Duration, Instant};

use test_server::{TestServer, refused, rows, texts};
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};
use wire::command::code;
use wire::status;

#[test]
fn text_and_several_statements() -> Result<(), ClientError> {
    let server = TestServer::start(&[]);
    let mut conn = server.client();
    let results = conn.query("SELECT 1 AS a; SELECT 'x', NULL; DO 1")?;
    assert_eq!(results.len(), 3);
    assert_eq!(results[0].columns[0].name, "a");
    assert_eq!(texts(&results[1]), [["x", "NULL"]]);
    assert!(results[0].status & status::MORE_RESULTS_EXISTS != 0);
    assert!(results[2].status & status::MORE_RESULTS_EXISTS == 0);
    let e = refused(conn.query("SELECT nothing"));
    assert_eq!((e.code, e.sqlstate.as_str()), (1054, "42S22"));
    assert!(rows(&mut conn, "SELECT version()")[0][0].starts_with("8.0."));
    conn.query("BEGIN")?;
    let inside = conn.query("DO 1")?;
    assert!(inside[0].status & status::IN_TRANS != 0);
    Ok(())
}

#[test]
fn prepared_statements_and_cursors() -> Result<(), ClientError> {
    let server = TestServer::start(&[]);
    let mut conn = server.client();
    conn.query(
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT, d DATETIME(6))",
    )?;
    let insert = conn.prepare("INSERT INTO t VALUES (?, ?, ?)")?;
    assert_eq!((insert.params, insert.columns.len()), (3, 0));
    for id in 1..=10 {
        let values = [Value::Int(id), Value::Bytes(vec![b'x'; 3]), Value::Null];
        let done = conn.execute(&insert, &values)?;
        assert_eq!(done[0].affected_rows, 1);
    }
    conn.send_long_data(&insert, 1, &vec![b'y'; 100_000])?;
    conn.send_long_data(&insert, 1, &vec![b'z'; 100_000])?;
    let when = wire::DateTime {
        year: 2024,
        month: 2,
        day: 29,
        hour: 1,
        minute: 2,
        second: 3,
        micros: 4,
    };
    conn.execute(
        &insert,
        &[Value::Int(11), Value::Null, Value::DateTime(when)],
    )?;
    let select = conn.prepare("SELECT id, LENGTH(v), d FROM t WHERE id > ? ORDER BY id")?;
    assert_eq!((select.params, select.columns.len()), (1, 3));
    let got = conn.execute(&select, &[Value::Int(10)])?;
    assert_eq!(got[0].rows[0][2], Value::DateTime(when));
    assert_eq!(texts(&got[0])[0][1], "200000");

    let opened = conn.execute_cursor(&select, &[Value::Int(0)])?;
    assert!(opened[0].status & status::CURSOR_EXISTS != 0);
    let first = conn.fetch(&select, 4)?;
    assert_eq!(first.rows.len(), 4);
    let rest = conn.fetch(&select, 100)?;
    assert_eq!(rest.rows.len(), 7);
    assert!(rest.status & status::LAST_ROW_SENT != 0);
    assert_eq!(refused(conn.fetch(&select, 1)).code, 1421);

    conn.close(&insert)?;
    assert_eq!(
        refused(conn.execute(&insert, &[Value::Null, Value::Null, Value::Null])).code,
        1243
    );
    Ok(())
}

#[test]
fn the_rarer_commands() -> Result<(), ClientError> {
    let server = TestServer::start(&[]);
    let mut conn = server.client();
    conn.query(
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, name VARCHAR(9) DEFAULT 'n')",
    )?;
    conn.command(code::PING, b"")?;
    conn.command(code::INIT_DB, b"d")?;
    assert_eq!(rows(&mut conn, "SELECT DATABASE()"), [["d"]]);
    assert_eq!(refused(conn.command(code::INIT_DB, b"nowhere")).code, 1049);
    let line = conn.raw_command(code::STATISTICS, b"")?;
    assert!(
        line.starts_with(b"Uptime: "),
        "{}",
        String::from_utf8_lossy(&line)
    );
    conn.query("SET @a = 5; BEGIN; INSERT INTO t (id) VALUES (1)")?;
    conn.command(code::RESET_CONNECTION, b"")?;
    assert_eq!(
        rows(&mut conn, "SELECT @a, COUNT(*) FROM t"),
        [["NULL", "0"]]
    );
    let e = refused(conn.command(0x77, b""));
    assert_eq!((e.code, e.sqlstate.as_str()), (1047, "08S01"));
    conn.command(code::PING, b"")?;
    let first = conn.raw_command(code::FIELD_LIST, b"t\0")?;
    assert!(first.ends_with(b"\xFB") || first.windows(2).any(|w| w == b"id"));
    while !conn.next_packet()?.starts_with(&[0xFE]) {}
    conn.command(code::PING, b"")?;
    Ok(())
}

/// The schema of a login is told with the login's OK, as in MySQL, and not with the first statement.
#[test]
fn a_change_of_the_schema_is_told_once() -> Result<(), ClientError> {
    let server = TestServer::start(&[]);
    let mut conn = server.client();
    conn.query("CREATE DATABASE d; CREATE DATABASE e")?;
    conn.query("SELECT 1")?;
    let told = |conn: &mut Conn| -> Result<Vec<u8>, ClientError> {
        let mut results = conn.query("SELECT 1")?;
        Ok(results.pop().map(|r| r.session_state).unwrap_or_default())
    };
    let entered = conn.command(code::INIT_DB, b"d")?;
    assert_eq!(entered.session_state, b"\x01\x02\x01d");
    assert_eq!(told(&mut conn)?, b"");
    conn.change_user("root", "", Some("e"))?;
    assert_eq!(told(&mut conn)?, b"");
    let results = conn.query("USE d")?;
    assert_eq!(results[0].session_state, b"\x01\x02\x01d");
    Ok(())
}

#[test]
fn accounts_and_a_change_of_user() -> Result<(), ClientError> {
    let server = TestServer::start(&[]);
    let mut conn = server.client();
    conn.query(
        "CREATE USER sha@localhost IDENTIFIED BY 'secret'; \
         CREATE USER old@localhost IDENTIFIED WITH mysql_native_password BY 'secret'",
    )?;
    let e = refused(server.login("sha", "wrong"));
    assert_eq!(e.code, 1045);
    assert_eq!(
        e.message,
        "Access denied for user 'sha'@'localhost' (using password: YES)"
    );
    assert_eq!(refused(server.login("nobody", "")).code, 1045);
    // Once with the password itself, then from the cache.
    for user in ["sha", "sha", "old"] {
        let mut conn = server.login(user, "secret")?;
        assert_eq!(
            rows(&mut conn, "SELECT CURRENT_USER()"),
            [[format!("{user}@localhost")]]
        );
    }
    conn.change_user("old", "secret", None)?;
    assert_eq!(
        rows(&mut conn, "SELECT CURRENT_USER()"),
        [["old@localhost"]]
    );
    let address = server.listening.addresses[0];
    let mut conn = Conn::connect_tcp(address, "sha", "secret", None)?;
    assert_eq!(rows(&mut conn, "SELECT 1"), [["1"]]);
    Ok(())
}

#[test]
fn too_many_connections() -> Result<(), ClientError> {
    let server = TestServer::start(&["--max-connections=2"]);
    server
        .client()
        .query("CREATE USER u@localhost IDENTIFIED BY ''")?;
    let one = server.client();
    let _two = server.client();
    // The place of the one that made the account may not be free yet; root may have one more.
    let _three = server.client();
    let e = refused(server.login("u", ""));
    assert_eq!((e.code, e.sqlstate.as_str()), (1040, "08004"));
    drop(one);
    let begun = Instant::now();
    while server.login("root", "").is_err() {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "the place is not given back"
        );
    }
    Ok(())
}

#[test]
fn nonsense_ends_its_own_connection_only() -> Result<(), ClientError> {
    let server = TestServer::start(&["--max-allowed-packet=1M"]);
    let mut good = server.client();
    // A packet out of order.
    let mut bad = server.client();
    bad.send_raw(&[1, 0, 0, 9, code::PING], 0)?;
    assert_eq!(bad.next_packet()?[1..3], 1156u16.to_le_bytes());
    assert!(bad.next_packet().is_err());
    // One that is too long.
    let mut bad = server.client();
    bad.send_raw(&[0xFF, 0xFF, 0xFF, 0, code::QUERY], 1)?;
    assert_eq!(bad.next_packet()?[1..3], 1153u16.to_le_bytes());
    assert!(bad.next_packet().is_err());
    // One that ends early.
    let mut bad = server.client();
    assert_eq!(refused(bad.command(code::STMT_EXECUTE, &[1])).code, 1835);
    assert!(bad.next_packet().is_err());
    // Random bytes in place of a login.
    let mut raw = std::os::unix::net::UnixStream::connect(server.dir.join("s.sock"))?;
    std::io::Write::write_all(&mut raw, &[0xAB; 300])?;
    assert_eq!(rows(&mut good, "SELECT 1"), [["1"]]);
    Ok(())
}

#[test]
fn large_packets_and_large_results() -> Result<(), ClientError> {
    let server = TestServer::start(&["--max-allowed-packet=64M"]);
    let mut conn = server.client();
    let long = "a".repeat(17 << 20);
    let got = rows(&mut conn, &format!("SELECT '{long}'"));
    assert!(got[0][0] == long);
    conn.query("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(1000))")?;
    conn.query("BEGIN")?;
    for block in 0..20 {
        let values: Vec<String> = (0..100)
            .map(|i| format!("({}, '{}')", block * 100 + i, "v".repeat(1000)))
            .collect();
        conn.query(&format!("INSERT INTO t VALUES {}", values.join(",")))?;
    }
    conn.query("COMMIT")?;
    // 2 MB: sent in several pieces.
    assert_eq!(rows(&mut conn, "SELECT * FROM t").len(), 2000);
    assert_eq!(rows(&mut conn, "SELECT COUNT(*) FROM t"), [["2000"]]);
    Ok(())
}

#[test]
fn silence_and_kill() -> Result<(), ClientError> {
    let server = TestServer::start(&[]);
    let mut conn = server.client();
    let mut silent = server.client();
    silent.query("SET wait_timeout = 1")?;
    silent.set_read_timeout(Some(Duration::from_secs(20)))?;
    silent.send_raw(&[], 0)?;
    assert_eq!(silent.next_packet()?[1..3], 4031u16.to_le_bytes());
    let mut idle = server.client();
    let id = rows(&mut idle, "SELECT CONNECTION_ID()")[0][0].clone();
    conn.query(&format!("KILL {id}"))?;
    idle.set_read_timeout(Some(Duration::from_secs(20)))?;
    assert!(idle.query("SELECT 1").is_err());
    assert_eq!(refused(conn.query("KILL 999999")).code, 1094);
    Ok(())
}

#[test]
fn a_waiting_statement_is_killed() -> Result<(), ClientError> {
    let server = TestServer::start(&[]);
    let mut conn = server.client();
    conn.query("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1)")?;
    conn.query("BEGIN; UPDATE t SET v = 2 WHERE id = 1")?;
    let mut waiting = server.client();
    let id = rows(&mut waiting, "SELECT CONNECTION_ID()")[0][0].clone();
    let waiter = std::thread::spawn(move || waiting.query("UPDATE d.t SET v = 3 WHERE id = 1"));
    let begun = Instant::now();
    let running =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'UPDATE d.t%'";
    while rows(&mut conn, running) != [["1"]] {
        assert!(begun.elapsed() < Duration::from_secs(10), "it does not run");
    }
    conn.query(&format!("KILL QUERY {id}"))?;
    let e = refused(waiter.join().expect("no panic"));
    assert_eq!(e.code, 1317);
    Ok(())
}

#[test]
fn shutdown_closes_clients_and_keeps_rows() -> Result<(), ClientError> {
    let mut server = TestServer::start(&[]);
    let mut conn = server.client();
    conn.query("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2)")?;
    conn.query("BEGIN; INSERT INTO t VALUES (3)")?;
    server.stop();
    assert!(conn.query("SELECT 1").is_err());
    assert!(!server.dir.join("s.sock").exists());
    let database =
        tidemill::Database::open(server.dir.join("data")).expect("the directory is free");
    let connection = database.connect().expect("a connection");
    let rows = connection
        .query("SELECT id FROM d.t", ())
        .expect("the table is there");
    assert_eq!(rows.len(), 2);
    assert!(server.logged().contains("root has no password"));
    Ok(())
}

#[test]
fn names_and_messages_in_the_character_set_of_the_client() -> Result<(), ClientError> {
    let server = TestServer::start(&[]);
    let mut conn = server.client();
    conn.query("CREATE DATABASE dé; USE dé; CREATE TABLE té (é INT); SET NAMES latin1")?;
    let holds = |packet: &[u8], what: &[u8]| packet.windows(what.len()).any(|w| w == what);
    // The client would take a message for UTF-8.
    let error = |conn: &mut Conn, command: u8, body: &[u8]| {
        let length = (body.len() + 1) as u8;
        conn.send_raw(&[&[length, 0, 0, 0, command], body].concat(), 1)?;
        conn.next_packet().map(<[u8]>::to_vec)
    };
    let e = error(&mut conn, code::STMT_PREPARE, b"SELECT no\xE9 FROM t\xE9")?;
    assert!(
        holds(&e, b"Unknown column 'no\xE9' in"),
        "{}",
        e.escape_ascii()
    );
    let ok = conn.raw_command(code::STMT_PREPARE, b"SELECT \xE9 FROM t\xE9")?;
    assert_eq!(ok.first(), Some(&0));
    let definition = conn.next_packet()?;
    assert!(
        holds(definition, b"\x02d\xE9\x02t\xE9\x02t\xE9\x01\xE9\x01\xE9"),
        "{}",
        definition.escape_ascii()
    );
    let e = error(&mut conn, code::INIT_DB, b"no\xE9")?;
    assert!(
        holds(&e, b"Unknown database 'no\xE9'"),
        "{}",
        e.escape_ascii()
    );
    let ok = conn.raw_command(code::INIT_DB, b"d\xE9")?;
    assert_eq!(ok.first(), Some(&0));
    Ok(())
}

#[test]
fn users_of_the_system_need_no_password() -> Result<(), ClientError> {
    let server = TestServer::start(&["--skip-ssl"]);
    let mut root = server.client();
    root.query("INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'")?;
    let me = std::process::Command::new("id").arg("-un").output();
    let me = String::from_utf8(me.expect("a program").stdout).expect("a name");
    let me = me.trim();
    root.query(&format!(
        "CREATE USER app IDENTIFIED WITH auth_socket AS '{me}'"
    ))?;
    root.query("CREATE USER other IDENTIFIED WITH auth_socket")?;
    assert_eq!(
        rows(&mut server.login("app", "")?, "SELECT CURRENT_USER()")[0],
        ["app@%"]
    );
    let e = refused(server.login("other", ""));
    assert_eq!(
        (e.code, &*e.sqlstate, &*e.message),
        (1698, "28000", "Access denied for user 'other'@'localhost'")
    );
    // TCP has no user of the system.
    let address = server.listening.addresses[0];
    let by_tcp = Conn::connect_tcp(address, "app", "", None);
    assert_eq!(refused(by_tcp).code, 1698);
    let shown = rows(&mut root, "SHOW CREATE USER app");
    assert!(shown[0][0].contains("'auth_socket'"), "{shown:?}");
    root.query("CREATE USER sha IDENTIFIED WITH sha256_password BY 'pw'")?;
    let stored = rows(
        &mut root,
        "SELECT LEFT(authentication_string, 3), LENGTH(authentication_string) FROM mysql.user WHERE user = 'sha'",
    );
    assert_eq!(stored[0], ["$5$", "67"]);
    Ok(())
}
