//! Nobody stops the server: long statements, much memory, all places taken.

use crate::test_server;

use std::time::{Duration, Instant};

use test_server::{TestServer, refused, rows};
use wire::client::ClientError;
use wire::client::blocking::Conn;

/// Computes for a minute and more, in one expression.
const ENDLESS: &str = "SELECT BENCHMARK(2000000000, MD5('x'))";

/// Has somebody run a statement for as long as the server lets it.
fn run_aside(server: &TestServer, sql: &'static str) -> u64 {
    let mut conn = server.client();
    let id = rows(&mut conn, "SELECT CONNECTION_ID()")[0][0].clone();
    std::thread::spawn(move || conn.query(sql));
    id.parse().expect("a number")
}

fn digits(tables: u8) -> String {
    let values = "(VALUES ROW(0),ROW(1),ROW(2),ROW(3),ROW(4),ROW(5),ROW(6),ROW(7),ROW(8),ROW(9))";
    let one = |n: u8| format!("{values} {}(n)", char::from(b'a' + n));
    (0..tables).map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn long_expressions_keep_nobody_waiting_and_the_server_ends() -> Result<(), ClientError> {
    let mut server = TestServer::start(&[]);
    let mut conn = server.client();
    conn.query("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY)")?;
    // More than there are loops.
    for _ in 0..6 {
        run_aside(&server, ENDLESS);
    }
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    for n in 0..20 {
        conn.query(&format!("INSERT INTO t VALUES ({n})"))?;
    }
    assert_eq!(
        rows(&mut server.client(), "SELECT COUNT(*) FROM d.t"),
        [["20"]]
    );
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "answered after {took:?}");
    let begun = Instant::now();
    server.stop();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "ended after {took:?}");
    Ok(())
}

#[test]
fn whatever_goes_through_rows_is_killed() -> Result<(), ClientError> {
    let server = TestServer::start(&[]);
    let mut conn = server.client();
    for what in [
        "SELECT COUNT(*) FROM {} WHERE a.n + b.n + c.n + d.n + e.n + f.n + g.n + h.n + i.n < 0",
        "SELECT a.n x, SUM(b.n) FROM {} GROUP BY a.n, b.n, c.n ORDER BY x",
        "(SELECT a.n, b.n FROM {}) UNION (SELECT a.n, b.n FROM {})",
        "SELECT DISTINCT a.n, b.n FROM {} ORDER BY 1",
    ] {
        let sql: &'static str = what.replace("{}", &digits(9)).leak();
        let id = run_aside(&server, sql);
        std::thread::sleep(Duration::from_millis(200));
        conn.query(&format!("KILL {id}"))?;
        let begun = Instant::now();
        let there = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
        while rows(&mut conn, &there) != [["0"]] {
            assert!(begun.elapsed() < Duration::from_secs(10), "goes on: {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    Ok(())
}

#[test]
fn a_session_is_held_to_its_limit_of_memory() -> Result<(), ClientError> {
    let server = TestServer::start(&[]);
    let mut root = server.client();
    root.query(
        "CREATE USER u@localhost IDENTIFIED BY ''; SET GLOBAL connection_memory_limit = 4194304",
    )?;
    let sort = format!(
        "SELECT a.n, REPEAT('x', 100) FROM {} ORDER BY a.n",
        digits(6)
    );
    let distinct = format!(
        "SELECT DISTINCT a.n, b.n, c.n, d.n, e.n, f.n FROM {}",
        digits(6)
    );
    let list = format!("SELECT JSON_ARRAYAGG(REPEAT('x', 100)) FROM {}", digits(6));
    for sql in [
        list.as_str(),
        "SET @a = REPEAT('x', 8000000)",
        "SELECT LENGTH(CONCAT(REPEAT('x', 3000000), REPEAT('y', 3000000)))",
    ] {
        let mut conn = server.login("u", "")?;
        let e = refused(conn.query(sql));
        assert_eq!((e.code, e.sqlstate.as_str()), (4082, "HY000"), "{sql}");
        assert!(conn.query("SELECT 1").is_err(), "the connection has ended");
    }
    // What spills goes on in files.
    let mut conn = server.login("u", "")?;
    for sql in [&sort, &distinct] {
        assert_eq!(conn.query(sql)?[0].rows.len(), 1_000_000, "{sql}");
    }
    // It does not hold for who has CONNECTION_ADMIN, nor for what is small.
    assert_eq!(root.query(&list)?[0].rows.len(), 1);
    conn.query("SELECT REPEAT('x', 1000000)")?;
    Ok(())
}

#[test]
fn an_administrator_comes_in() -> Result<(), ClientError> {
    let server = TestServer::start(&[
        "--max-connections=2",
        "--admin-address=127.0.0.1",
        "--admin-port=0",
    ]);
    server
        .client()
        .query("CREATE USER u@localhost IDENTIFIED BY ''")?;
    let mut held = Vec::new();
    let refusal = loop {
        match server.login("u", "") {
            Ok(conn) => held.push(conn),
            Err(e) if held.len() == 2 => break refused::<()>(Err(e)),
            // The place of the one before is not free yet.
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    assert_eq!((refusal.code, refusal.sqlstate.as_str()), (1040, "08004"));
    let _root = server.client();
    assert_eq!(
        refused(server.login("root", "")).code,
        1040,
        "one place more"
    );
    let address = server.listening.admin.expect("an address");
    for _ in 0..3 {
        held.push(Conn::connect_tcp(address, "root", "", None)?);
    }
    assert_eq!(
        refused(Conn::connect_tcp(address, "u", "", None)).code,
        1227
    );
    Ok(())
}
