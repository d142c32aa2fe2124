//! The protocol itself: what the `mariadb` program never sends.
//!
//! Prepared statements with every kind of value, several statements in one packet, packets over 16 MiB, the small
//! commands, and bytes that make no sense: those end their own connection and nobody else's.

use super::Program;
use harness::server::Setup;
use harness::step::Outcome;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};
use wire::command::code;

/// The longest that any answer here may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn open(setup: &Setup, database: Option<&str>) -> Outcome<Conn> {
    let mut conn =
        Conn::connect_unix(&setup.socket, "root", "", database).map_err(|e| e.to_string())?;
    conn.set_read_timeout(Some(PATIENCE))
        .map_err(|e| e.to_string())?;
    Ok(conn)
}

fn query(conn: &mut Conn, sql: &str) -> Outcome<Vec<Vec<Value>>> {
    let mut results = conn.query(sql).map_err(|e| format!("{sql:.80}: {e}"))?;
    Ok(results.pop().map_or_else(Vec::new, |r| r.rows))
}

fn text(value: &str) -> Value {
    Value::Bytes(value.as_bytes().to_vec())
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, want: T) -> Outcome<()> {
    if got == want {
        Ok(())
    } else {
        Err(format!("{what}: got {got:?}, wanted {want:?}"))
    }
}

#[test]
fn prepared_statements_of_every_kind_of_value() -> Outcome<()> {
    let program = Program::of_either_kind("prepared")?;
    let _server = program.start()?;
    let setup = &program.setup;
    let mut conn = open(setup, None)?;
    let fail = |e: ClientError| e.to_string();
    query(&mut conn, "CREATE DATABASE apart")?;
    query(&mut conn, "USE apart")?;
    query(
        &mut conn,
        "CREATE TABLE t (id BIGINT PRIMARY KEY, d DOUBLE, s VARCHAR(40), n DECIMAL(10,2), \
         at DATETIME(6), b LONGBLOB)",
    )?;
    let insert = conn
        .prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)")
        .map_err(fail)?;
    expect("parameters", insert.params, 6)?;
    let at = wire::DateTime {
        year: 2024,
        month: 2,
        day: 29,
        hour: 12,
        minute: 34,
        second: 56,
        micros: 789_012,
    };
    let blob: Vec<u8> = (0..40_000u32).map(|n| n as u8).collect();
    for id in 1..=3 {
        let params = [
            Value::Int(id),
            Value::Double(id as f64 / 4.0),
            text("größe"),
            text("12.50"),
            Value::DateTime(at),
            Value::Bytes(blob.clone()),
        ];
        let results = conn.execute(&insert, &params).map_err(fail)?;
        expect("rows inserted", results[0].affected_rows, 1)?;
    }
    let params: [Value; 6] = std::array::from_fn(|i| match i {
        0 => Value::Int(4),
        _ => Value::Null,
    });
    conn.execute(&insert, &params).map_err(fail)?;
    match conn.execute(&insert, &params) {
        Err(ClientError::Server(e)) => expect("a duplicate", e.code, 1062)?,
        other => return Err(format!("a duplicate by a prepared INSERT gives {other:?}")),
    }
    let select = conn
        .prepare("SELECT id, d, s, n, at, b FROM t WHERE id >= ? ORDER BY id LIMIT ?")
        .map_err(fail)?;
    expect("columns", select.columns.len(), 6)?;
    let results = conn
        .execute(&select, &[Value::Int(3), Value::Int(10)])
        .map_err(fail)?;
    let rows = &results[0].rows;
    expect(
        "the rows",
        rows.as_slice(),
        &[
            vec![
                Value::Int(3),
                Value::Double(0.75),
                text("größe"),
                text("12.50"),
                Value::DateTime(at),
                Value::Bytes(blob),
            ],
            vec![
                Value::Int(4),
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
            ],
        ],
    )?;
    conn.close(&select).map_err(fail)?;
    match conn.execute(&select, &[Value::Int(3), Value::Int(10)]) {
        Err(ClientError::Server(e)) => expect("a closed statement", e.code, 1243)?,
        other => return Err(format!("a closed statement gives {other:?}")),
    }
    match conn.prepare("SELECT FROM WHERE") {
        Err(ClientError::Server(e)) => expect("a wrong statement", e.code, 1064),
        other => Err(format!("a wrong statement gives {other:?}")),
    }
}

#[test]
fn several_statements_in_one_packet() -> Outcome<()> {
    let program = Program::of_either_kind("multi")?;
    let _server = program.start()?;
    let setup = &program.setup;
    let mut conn = open(setup, None)?;
    let results = conn
        .query("SELECT 1; SET @m = 2; SELECT @m")
        .map_err(|e| e.to_string())?;
    let rows: Vec<_> = results.into_iter().map(|r| r.rows).collect();
    expect(
        "the results",
        rows,
        vec![vec![vec![text("1")]], vec![], vec![vec![text("2")]]],
    )?;
    // The first error ends the row; what came before it has happened.
    match conn.query("SET @m = 3; SELECT * FROM mysql.no_such; SET @m = 4") {
        Err(ClientError::Server(e)) => expect("an error in the middle", e.code, 1146)?,
        other => return Err(format!("an error in the middle gives {other:?}")),
    }
    expect(
        "after the error",
        query(&mut conn, "SELECT @m")?,
        vec![vec![text("3")]],
    )
}

#[test]
fn packets_over_16_mib() -> Outcome<()> {
    let program = Program::of_either_kind("large")?;
    let _server = program.start()?;
    let setup = &program.setup;
    let mut conn = open(setup, None)?;
    // Just at, and well over, the length at which a packet is split.
    for len in [(1 << 24) - 1 - 16, 1 << 24, 40 << 20] {
        let sql = format!("SELECT '{}'", "x".repeat(len));
        let results = match conn.query(&sql) {
            Ok(results) => results,
            Err(e) => return Err(format!("a literal of {len} bytes: {e}")),
        };
        let same = matches!(&results[0].rows[0][0], Value::Bytes(b) if b.len() == len);
        expect(&format!("a literal of {len} bytes comes back"), same, true)?;
    }
    Ok(())
}

/// A table of four rows.
fn make_table(setup: &Setup) -> Outcome<()> {
    let mut conn = open(setup, None)?;
    for sql in [
        "CREATE DATABASE apart",
        "CREATE TABLE apart.t (id INT PRIMARY KEY)",
        "INSERT INTO apart.t VALUES (1), (2), (3), (4)",
    ] {
        query(&mut conn, sql)?;
    }
    Ok(())
}

#[test]
fn small_commands() -> Outcome<()> {
    let program = Program::of_either_kind("small-commands")?;
    let _server = program.start()?;
    let setup = &program.setup;
    make_table(setup)?;
    let mut conn = open(setup, None)?;
    let fail = |e: ClientError| e.to_string();
    conn.command(code::PING, b"").map_err(fail)?;
    let statistics = conn.raw_command(code::STATISTICS, b"").map_err(fail)?;
    if !String::from_utf8_lossy(&statistics).contains("Uptime") {
        return Err("COM_STATISTICS does not tell the uptime".to_owned());
    }
    conn.command(code::INIT_DB, b"apart").map_err(fail)?;
    expect(
        "the database",
        query(&mut conn, "SELECT DATABASE()")?,
        vec![vec![text("apart")]],
    )?;
    match conn.command(code::INIT_DB, b"no_such_database") {
        Err(ClientError::Server(e)) => expect("an unknown database", e.code, 1049),
        other => Err(format!("an unknown database gives {other:?}")),
    }
}

#[test]
fn a_reset_or_a_change_of_user_begins_a_session() -> Outcome<()> {
    let program = Program::of_either_kind("fresh-sessions")?;
    let _server = program.start()?;
    let setup = &program.setup;
    make_table(setup)?;
    let mut conn = open(setup, Some("apart"))?;
    let fail = |e: ClientError| e.to_string();
    let count = "SELECT COUNT(*) FROM t";
    query(&mut conn, "SET @x = 1")?;
    query(&mut conn, "BEGIN")?;
    query(&mut conn, "DELETE FROM t")?;
    conn.command(code::RESET_CONNECTION, b"").map_err(fail)?;
    expect(
        "a user variable after a reset",
        query(&mut conn, "SELECT @x")?,
        vec![vec![Value::Null]],
    )?;
    expect(
        "rows after a reset",
        query(&mut conn, count)?,
        vec![vec![text("4")]],
    )?;
    query(&mut conn, "SET @x = 1")?;
    conn.change_user("root", "", Some("apart")).map_err(fail)?;
    expect(
        "a user variable after a change of user",
        query(&mut conn, "SELECT @x, DATABASE()")?,
        vec![vec![Value::Null, text("apart")]],
    )?;
    match Conn::connect_unix(&setup.socket, "nobody_of_that_name", "x", None) {
        Err(ClientError::Server(e)) => expect("an unknown user", e.code, 1045),
        other => Err(format!("an unknown user gives {other:?}")),
    }
}

#[test]
fn a_killed_connection_ends() -> Outcome<()> {
    let program = Program::of_either_kind("kill")?;
    let _server = program.start()?;
    let setup = &program.setup;
    let mut victim = open(setup, None)?;
    let mut killer = open(setup, None)?;
    let id = query(&mut victim, "SELECT CONNECTION_ID()")?[0][0]
        .as_i64()
        .ok_or("CONNECTION_ID() is no number")?;
    query(&mut killer, &format!("KILL {id}"))?;
    match victim.query("SELECT 1") {
        Err(_) => Ok(()),
        Ok(_) => Err("a killed connection still answers".to_owned()),
    }
}

/// Before and after the login.
#[test]
fn nonsense_ends_its_own_connection() -> Outcome<()> {
    let program = Program::of_either_kind("nonsense")?;
    let _server = program.start()?;
    let setup = &program.setup;
    let mut bystander = open(setup, None)?;
    let fail = |e: std::io::Error| e.to_string();
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 64],
        &[0, 0, 0, 1],
        &[1, 0, 0, 9, 0],
    ] {
        let mut socket = UnixStream::connect(&setup.socket).map_err(fail)?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(fail)?;
        socket.write_all(bytes).map_err(fail)?;
        socket.shutdown(std::net::Shutdown::Write).map_err(fail)?;
        let mut rest = Vec::new();
        match socket.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => {}
            Err(e) => return Err(format!("{bytes:?}: the connection does not end: {e}")),
        }
    }
    let mut conn = open(setup, None)?;
    // A command that nobody knows is answered, and the connection lives.
    match conn.raw_command(0xee, b"what") {
        Err(ClientError::Server(e)) => expect("an unknown command", e.code, 1047)?,
        other => return Err(format!("an unknown command gives {other:?}")),
    }
    expect(
        "after an unknown command",
        query(&mut conn, "SELECT 1")?,
        vec![vec![text("1")]],
    )?;
    // A wrong sequence number ends the connection, with an answer or without.
    conn.send_raw(b"\x09\0\0\x4d\x03SELECT 1", 0x4e)
        .map_err(|e| e.to_string())?;
    if conn.next_packet().is_ok_and(|p| p.first() != Some(&0xff)) {
        return Err("a packet out of order is answered as if it were in order".to_owned());
    }
    expect(
        "a bystander",
        query(&mut bystander, "SELECT 1")?,
        vec![vec![text("1")]],
    )
}
