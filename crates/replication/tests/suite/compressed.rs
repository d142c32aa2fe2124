//! Transactions whose events are compressed (`binlog_transaction_compression`): the same events as without, in the file and behind a crash.

use crate::history;

use history::{History, unpacked};
use wire::binlog::control::Transaction;
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::{Header, kind};
use wire::binlog::query::{Query, Settings};

const ON: &str = "SET binlog_transaction_compression = ON";
const OFF: &str = "SET binlog_transaction_compression = OFF";

/// For each transaction its events' kinds, and whether they are compressed.
fn transactions(file: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut all: Vec<(bool, Vec<u8>)> = Vec::new();
    for (header, _) in unpacked(file) {
        match header.kind {
            kind::GTID => all.push((false, Vec::new())),
            kind::TRANSACTION_PAYLOAD => all.last_mut().expect("a name").0 = true,
            of => {
                if let Some(t) = all.last_mut() {
                    t.1.push(of);
                }
            }
        }
    }
    all
}

/// Each transaction says how long it is, with the event that says so.
fn check_lengths(file: &[u8]) {
    let (mut at, mut ends) = (4, None);
    while at < file.len() {
        let e = Event::read(&file[at..], Checksum::Crc32).expect("an event");
        if e.header.kind == kind::GTID {
            assert!(ends.is_none_or(|end| end == at));
            let t = Transaction::read(e.body, false).expect("a transaction");
            ends = Some(at + t.length as usize);
        }
        at += e.bytes.len();
    }
    assert_eq!(ends, Some(at));
}

const TABLES: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, s LONGTEXT)",
    "CREATE TABLE o (a INT, b DATETIME(3))",
];

/// What the scripted history does; the first is compressed where the history is.
const SCRIPT: &[&[&str]] = &[
    &["INSERT INTO t VALUES (1, 'one'), (2, REPEAT('two', 5000))"],
    &[
        "BEGIN",
        "INSERT INTO o VALUES (1, '2020-01-01 10:00:00.5')",
        "SAVEPOINT a",
        "UPDATE t SET s = 'zwei' WHERE id = 2",
        "ROLLBACK TO a",
        "DELETE FROM t WHERE id = 1",
        "COMMIT",
    ],
    // All of it is taken back, and begins again.
    &[
        "BEGIN",
        "SAVEPOINT a",
        "INSERT INTO t VALUES (7, REPEAT('x', 600000))",
        "ROLLBACK TO a",
        "INSERT INTO t VALUES (8, 'eight')",
        "COMMIT",
    ],
    &["BEGIN", "INSERT INTO t VALUES (9, 'nine')", "ROLLBACK"],
    // More than a session keeps where it is not compressed.
    &["INSERT INTO t SELECT id + 100, REPEAT('y', 700000) FROM t"],
    &["UPDATE t SET s = CONCAT(s, 'z')"],
    &[
        "XA START 'x'",
        "INSERT INTO t VALUES (20, 'branch')",
        "XA END 'x'",
        "XA PREPARE 'x'",
        "XA COMMIT 'x'",
    ],
];

/// The script's file.
fn scripted(compressed: bool) -> Vec<u8> {
    let mut history = History::new(TABLES, 1);
    history.run(0, if compressed { ON } else { OFF });
    for sql in SCRIPT.iter().copied().flatten() {
        history.run(0, sql);
    }
    history.file()
}

/// The body without the microseconds that a definition was made at.
fn untimed(header: &Header, body: Vec<u8>) -> Vec<u8> {
    if header.kind != kind::QUERY {
        return body;
    }
    let query = Query::read(&body).expect("a query");
    let settings = Settings {
        microseconds: None,
        ..query.settings
    };
    format!("{settings:?} {:?} {:?}", query.database, query.statement).into_bytes()
}

/// What does not depend on when it was done.
fn lasting(file: &[u8]) -> Vec<(u8, u16, u32, Vec<u8>)> {
    let all = unpacked(file).into_iter();
    let names = [
        kind::GTID,
        kind::TRANSACTION_PAYLOAD,
        kind::FORMAT_DESCRIPTION,
    ];
    all.filter(|(h, _)| !names.contains(&h.kind))
        .map(|(h, body): (Header, Vec<u8>)| (h.kind, h.flags, h.server_id, untimed(&h, body)))
        .collect()
}

#[test]
fn the_events_are_those_that_are_not_compressed() {
    let (plain, compressed) = (scripted(false), scripted(true));
    check_lengths(&plain);
    check_lengths(&compressed);
    assert!(compressed.len() * 20 < plain.len(), "{}", compressed.len());
    assert_eq!(lasting(&plain), lasting(&compressed));
    assert!(transactions(&plain).iter().all(|t| !t.0));
    let of_rows = transactions(&compressed);
    let of_rows = of_rows.iter().filter(|t| t.1.last() == Some(&kind::XID));
    // One is taken back, and a branch is not compressed.
    assert_eq!(of_rows.clone().count(), SCRIPT.len() - 2);
    assert!(of_rows.clone().all(|t| t.0));
}

#[test]
fn what_is_no_transaction_of_rows_alone_is_not_compressed() {
    let mut history = History::new(TABLES, 1);
    history.run(0, ON);
    history.run(0, "CREATE TABLE e (a INT)");
    history.run(0, "CREATE TABLE made (PRIMARY KEY (id)) SELECT 1 AS id");
    history.run(0, "TRUNCATE TABLE o");
    history.run(0, "INSERT INTO e VALUES (1)");
    history.run(0, OFF);
    history.run(0, "INSERT INTO e VALUES (2)");
    let file = history.file();
    check_lengths(&file);
    let all = transactions(&file);
    let tail: Vec<bool> = all[all.len() - 5..].iter().map(|t| t.0).collect();
    assert_eq!(tail, [false, false, false, true, false]);
}

#[test]
fn what_is_too_large_is_not_compressed() {
    let mut history = History::new(TABLES, 1);
    history.run(0, ON);
    history.run(0, "BEGIN");
    for n in 0..17 {
        history.run(
            0,
            &format!("INSERT INTO t VALUES ({n}, REPEAT('x', 1024 * 1024))"),
        );
        if n == 4 {
            history.run(0, "COMMIT");
            history.run(0, "BEGIN");
            history.run(0, "SAVEPOINT a");
        }
        if n == 14 {
            history.run(0, "SAVEPOINT b");
        }
    }
    // It has become larger than that, and was taken back in part.
    history.run(0, "INSERT INTO t VALUES (17, REPEAT('x', 5 * 1024 * 1024))");
    history.run(0, "ROLLBACK TO b");
    history.run(0, "COMMIT");
    // It begins anew where all of it is taken back.
    history.run(0, "BEGIN");
    history.run(0, "SAVEPOINT a");
    history.run(0, "UPDATE t SET s = CONCAT('y', s)");
    history.run(0, "ROLLBACK TO a");
    history.run(0, "INSERT INTO t VALUES (99, 'z')");
    history.run(0, "COMMIT");
    let file = history.file();
    check_lengths(&file);
    let all = transactions(&file);
    let tail: Vec<bool> = all[all.len() - 3..].iter().map(|t| t.0).collect();
    assert_eq!(tail, [true, false, true]);
    assert_eq!(
        all[all.len() - 1].1,
        [kind::QUERY, kind::TABLE_MAP, kind::WRITE_ROWS, kind::XID]
    );
}

#[test]
fn what_a_session_asks_for_holds_from_one_transaction_on() {
    let mut history = History::new(TABLES, 1);
    let level = "SET binlog_transaction_compression_level_zstd = 22";
    for open in ["BEGIN", "XA START 'x'"] {
        history.run(0, open);
        history.run(0, &format!("INSERT INTO t VALUES ({}, 'x')", open.len()));
        for sql in [ON, level, "SET SESSION binlog_transaction_compression = 1"] {
            let refused = history.attempt(0, sql).map_err(|e| e.code);
            assert_eq!(refused, Err(1766), "{sql}");
        }
        // The server's own is another matter.
        history.run(0, &ON.replace("SET", "SET GLOBAL"));
        for end in ["XA END 'x'", "XA ROLLBACK 'x'"] {
            if open != "BEGIN" {
                history.run(0, end);
            }
        }
        if open == "BEGIN" {
            history.run(0, "COMMIT");
        }
    }
    history.run(0, level);
    history.run(0, ON);
    history.run(0, "INSERT INTO t VALUES (100, REPEAT('z', 100000))");
    let all = transactions(&history.file());
    let tail: Vec<bool> = all[all.len() - 2..].iter().map(|t| t.0).collect();
    assert_eq!(tail, [false, true]);
}

#[test]
fn a_file_that_is_read_in_parts_is_the_same() {
    let mut history = History::new(TABLES, 1);
    for n in 0..6 {
        history.run(0, if n % 2 == 0 { ON } else { OFF });
        history.run(
            0,
            &format!("INSERT INTO t VALUES ({n}, CONCAT('{n}', REPEAT(UUID(), 20000)))"),
        );
    }
    let whole = history.file();
    assert_eq!(whole, history.file_in_parts(2000));
}
