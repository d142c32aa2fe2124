//! BINLOG: what it takes, what it refuses, and what it leaves behind.

use std::path::PathBuf;

use super::test_server::{TestServer, refused, rows};
use super::{code, one, run, server};
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, Event, put_event};
use wire::binlog::header::{Header, kind};
use wire::client::blocking::Conn;

/// Bytes as BINLOG takes them.
fn text(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let n = chunk.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4usize {
            let digit = char::from(DIGITS[(n >> (18 - 6 * i) & 63) as usize]);
            out.push(if i <= chunk.len() { digit } else { '=' });
        }
    }
    out
}

fn binlog(events: &[&[u8]]) -> String {
    format!("BINLOG '\n{}\n'", text(&events.concat()))
}

/// All events of a server's first file, with their kinds.
fn events(s: &TestServer, c: &mut Conn) -> Vec<(u8, Vec<u8>)> {
    // All of it is there then.
    rows(c, "SELECT @@gtid_executed");
    let path: PathBuf = s.dir.join("data/binlog.000001");
    let bytes = std::fs::read(path).expect("the file");
    let mut rest = &bytes[4..];
    let mut found = Vec::new();
    while !rest.is_empty() {
        let event = Event::read(rest, Checksum::Crc32).expect("an event");
        found.push((event.header.kind, event.bytes.to_vec()));
        rest = &rest[event.bytes.len()..];
    }
    found
}

fn of_kind(events: &[(u8, Vec<u8>)], of: u8) -> Vec<Vec<u8>> {
    let such = events.iter().filter(|(k, _)| *k == of);
    such.map(|(_, bytes)| bytes.clone()).collect()
}

/// A server with a table, and what it has left in the binary log of three statements.
struct Source {
    server: TestServer,
    client: Conn,
    format: Vec<u8>,
    map: Vec<u8>,
    write: Vec<u8>,
    update: Vec<u8>,
    delete: Vec<u8>,
    query: Vec<u8>,
}

fn source() -> Source {
    let server = server(&[]);
    let mut c = server.client();
    run(
        &mut c,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(10))",
            "INSERT INTO d.t VALUES (1, 'x'), (2, 'y')",
            "UPDATE d.t SET b = 'z' WHERE a = 1",
            "DELETE FROM d.t WHERE a = 2",
            "DELETE FROM d.t",
        ],
    );
    let all = events(&server, &mut c);
    let first = |of| of_kind(&all, of).swap_remove(0);
    Source {
        format: first(kind::FORMAT_DESCRIPTION),
        map: first(kind::TABLE_MAP),
        write: first(kind::WRITE_ROWS),
        update: first(kind::UPDATE_ROWS),
        delete: first(kind::DELETE_ROWS),
        query: first(kind::QUERY),
        server,
        client: c,
    }
}

#[test]
fn rows_are_changed_as_they_were() {
    let mut s = source();
    let c = &mut s.client;
    let write = binlog(&[&s.map, &s.write]);
    assert_eq!(code(c, &write), 1609);
    run(c, &[&binlog(&[&s.format]), &write]);
    assert_eq!(rows(c, "SELECT * FROM d.t"), [["1", "x"], ["2", "y"]]);
    run(c, &[&binlog(&[&s.map, &s.update])]);
    assert_eq!(rows(c, "SELECT * FROM d.t"), [["1", "z"], ["2", "y"]]);
    // As a part of a transaction, and all or nothing.
    run(
        c,
        &[
            "BEGIN",
            "INSERT INTO d.t VALUES (3, 'c')",
            &binlog(&[&s.map, &s.delete]),
        ],
    );
    assert_eq!(
        code(c, &binlog(&[&s.map, &s.update, &s.map, &s.write])),
        1062
    );
    run(c, &["ROLLBACK"]);
    assert_eq!(rows(c, "SELECT * FROM d.t"), [["1", "z"], ["2", "y"]]);
    run(c, &["BEGIN", "UPDATE d.t SET b = 'x' WHERE a = 1"]);
    assert_eq!(
        code(c, &binlog(&[&s.map, &s.update, &s.map, &s.write])),
        1062
    );
    run(c, &["COMMIT"]);
    assert_eq!(rows(c, "SELECT * FROM d.t"), [["1", "x"], ["2", "y"]]);
    run(c, &["UPDATE d.t SET b = 'z' WHERE a = 1"]);
    assert_eq!(
        code(c, &binlog(&[&s.map, &s.delete, &s.map, &s.write])),
        1062
    );
    assert_eq!(rows(c, "SELECT * FROM d.t"), [["1", "z"], ["2", "y"]]);
    assert_eq!(
        code(c, &binlog(&[&s.map, &s.delete, &s.map, &s.delete])),
        1032
    );
    assert_eq!(one(c, "SELECT COUNT(*) FROM d.t"), "2");
    // `mysqlbinlog --idempotent`.
    run(
        c,
        &[
            "SET rbr_exec_mode = IDEMPOTENT",
            &binlog(&[&s.map, &s.delete, &s.map, &s.delete]),
            &write,
        ],
    );
    assert_eq!(rows(c, "SELECT * FROM d.t"), [["1", "x"], ["2", "y"]]);
    run(c, &["SET rbr_exec_mode = STRICT"]);
    // In two halves.
    let whole = text(&[&s.map[..], &s.delete].concat());
    let (first, second) = whole.split_at(whole.len() / 2);
    run(
        c,
        &[
            &format!("SET @a = '{first}', @b = '{second}'"),
            "BINLOG @a, @b",
        ],
    );
    assert_eq!(one(c, "SELECT CONCAT_WS(',', @a, @b)"), "");
    assert_eq!(rows(c, "SELECT * FROM d.t"), [["1", "x"]]);
    // Each event encoded by itself, as MariaDB's program prints them.
    run(c, &["DELETE FROM d.t"]);
    let (map, rows_of_it) = (text(&s.map), text(&s.write));
    run(c, &[&format!("BINLOG '\n{map}\n{rows_of_it}\n'")]);
    assert_eq!(one(c, "SELECT COUNT(*) FROM d.t"), "2");
    // It is in this server's own log.
    run(c, &["DELETE FROM d.t"]);
    let before = one(c, "SELECT @@gtid_executed");
    run(c, &[&write]);
    assert_ne!(one(c, "SELECT @@gtid_executed"), before);
    // Without autocommit it begins a transaction.
    run(
        c,
        &[
            "SET autocommit = 0",
            &binlog(&[&s.map, &s.delete]),
            "ROLLBACK",
            "SET autocommit = 1",
        ],
    );
    assert_eq!(one(c, "SELECT COUNT(*) FROM d.t"), "2");
}

#[test]
fn what_the_session_has_set_stays() {
    let mut s = source();
    let c = &mut s.client;
    run(
        c,
        &[
            "SET sql_mode = 'ANSI_QUOTES,STRICT_TRANS_TABLES', time_zone = '+05:00', auto_increment_increment = 7, foreign_key_checks = 0, timestamp = 1234567",
        ],
    );
    assert_eq!(code(c, "SET lc_time_names = 200"), 1649);
    run(c, &["SET lc_time_names = 1, check_constraint_checks = 1"]);
    assert_eq!(code(c, "SET check_constraint_checks = 0"), 1231);
    let settings = "SELECT CONCAT_WS('|', @@sql_mode, @@time_zone, @@auto_increment_increment, @@foreign_key_checks, @@unique_checks, @@timestamp)";
    let before = one(c, settings);
    run(c, &[&binlog(&[&s.format, &s.map, &s.write])]);
    assert_eq!(code(c, &binlog(&[&s.map, &s.write])), 1062);
    assert_eq!(one(c, settings), before);
    assert_eq!(one(c, "SELECT \"b\" FROM d.t WHERE a = 1"), "x");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut s = source();
    let c = &mut s.client;
    for (sql, expected) in [
        ("BINLOG ''".to_owned(), 1149),
        ("BINLOG '???'".to_owned(), 1575),
        ("BINLOG 'AAA'".to_owned(), 1575),
        ("BINLOG 'AAAA'".to_owned(), 1149),
        ("BINLOG".to_owned(), 1064),
        ("BINLOG @a".to_owned(), 1064),
        ("BINLOG @a, @b".to_owned(), 1232),
        (binlog(&[&s.query]), 1730),
        (binlog(&[&s.format[..40]]), 1149),
    ] {
        assert_eq!(code(c, &sql), expected, "{sql}");
    }
    assert_eq!(code(c, &binlog(&[&s.map])), 1609);
    run(c, &[&binlog(&[&s.format])]);
    assert_eq!(code(c, &binlog(&[&s.query])), 1730);
    // Rows of a table that was not announced, in this statement.
    run(c, &[&binlog(&[&s.map])]);
    assert_eq!(code(c, &binlog(&[&s.write])), 1610);
    // Any byte of it is another one, or it ends early: an error, or other rows, but the server goes on.
    let whole = [&s.map[..], &s.write].concat();
    for at in 0..whole.len() {
        for bit in [0x01, 0x80] {
            let mut bytes = whole.clone();
            bytes[at] ^= bit;
            let _outcome = c.query(&binlog(&[&bytes]));
        }
        let _outcome = c.query(&binlog(&[&whole[..at]]));
    }
    run(c, &["DELETE FROM d.t", &binlog(&[&s.map, &s.write])]);
    assert_eq!(one(c, "SELECT COUNT(*) FROM d.t"), "2");
    // What is left of the format goes where the client says that it is done, and with the connection's state.
    run(
        c,
        &["SET pseudo_replica_mode = 1", "SET pseudo_replica_mode = 0"],
    );
    assert_eq!(code(c, &binlog(&[&s.map])), 1609);
    run(c, &[&binlog(&[&s.format])]);
    c.command(wire::command::code::RESET_CONNECTION, &[])
        .expect("a reset");
    assert_eq!(code(c, &binlog(&[&s.map])), 1609);
    // Without checksums.
    let mut plain = Vec::new();
    let header = Header {
        kind: kind::FORMAT_DESCRIPTION,
        ..Header::default()
    };
    put_event(header, Checksum::Crc32, &mut plain, |out| {
        Format::new("8.0.35", 0, Checksum::None).write(out);
    });
    let cut = |event: &[u8]| {
        let mut event = event[..event.len() - 4].to_vec();
        let size = (event.len() as u32).to_le_bytes();
        event[9..13].copy_from_slice(&size);
        event
    };
    run(
        c,
        &[
            "DELETE FROM d.t",
            &binlog(&[&plain, &cut(&s.map), &cut(&s.write)]),
        ],
    );
    assert_eq!(one(c, "SELECT COUNT(*) FROM d.t"), "2");
    // Another table by now.
    run(c, &["DELETE FROM d.t", "ALTER TABLE d.t MODIFY b INT"]);
    assert_eq!(code(c, &binlog(&[&s.format, &s.map, &s.write])), 1677);
    run(c, &["DROP TABLE d.t"]);
    assert_eq!(code(c, &binlog(&[&s.map, &s.write])), 1146);
}

#[test]
fn it_does_what_its_account_may() {
    let mut s = source();
    let c = &mut s.client;
    run(
        c,
        &[
            "CREATE TABLE d.u (a INT PRIMARY KEY, b VARCHAR(10))",
            "CREATE USER some, none",
            "GRANT REPLICATION_APPLIER ON *.* TO some",
            "GRANT BINLOG_ADMIN ON *.* TO none",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON d.t TO some",
        ],
    );
    let write = binlog(&[&s.format, &s.map, &s.write]);
    let mut some = s.server.login("some", "").expect("a login");
    let mut none = s.server.login("none", "").expect("a login");
    run(&mut some, &[&write]);
    assert_eq!(one(c, "SELECT COUNT(*) FROM d.t"), "2");
    assert_eq!(code(&mut none, &write), 1142);
    // Also where it had the right a moment ago.
    run(c, &["DELETE FROM d.t", "REVOKE INSERT ON d.t FROM some"]);
    assert_eq!(code(&mut some, &write), 1142);
    run(
        c,
        &["GRANT INSERT ON d.t TO some", "SET GLOBAL read_only = 1"],
    );
    assert_eq!(code(&mut some, &write), 1290);
    run(c, &["SET GLOBAL read_only = 0"]);
    run(&mut some, &["START TRANSACTION READ ONLY"]);
    assert_eq!(code(&mut some, &write), 1792);
    run(&mut some, &["ROLLBACK"]);
    assert_eq!(one(c, "SELECT COUNT(*) FROM d.t"), "0");
    run(c, &["FLUSH TABLES WITH READ LOCK"]);
    assert_eq!(code(c, &write), 1223);
    run(c, &["UNLOCK TABLES"]);
    assert_eq!(refused(c.prepare(&write)).code, 1295);
    // Locked tables hold for it too.
    run(c, &["LOCK TABLES d.u WRITE"]);
    assert_eq!(code(c, &write), 1100);
    run(c, &["UNLOCK TABLES", "XA START 'x'", &write, "XA END 'x'"]);
    assert_eq!(code(c, &write), 1399);
    run(c, &["XA ROLLBACK 'x'"]);
    assert_eq!(one(c, "SELECT COUNT(*) FROM d.t"), "0");
}
