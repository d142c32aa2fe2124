//! What sessions do while the binary log takes nothing: each kind of statement that leaves something in it waits, can be killed and has done nothing
//! then, and goes on when there is room; where the log is at an end it fails. What leaves nothing is not held up.

use super::Server;
use base::block_on;
use engine::Intake;
use sql::Session;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use types::SqlError;

/// What leaves something: what comes before in the same session, the statement, and a query whose answer changes with it.
const LEAVES: &[(&[&str], &str, &str)] = &[
    (&[], "INSERT INTO t VALUES (100, 1)", ROWS),
    (&[], "REPLACE INTO t VALUES (1, 7)", ROWS),
    (&[], "UPDATE t SET n = 7 WHERE id = 1", ROWS),
    (&[], "UPDATE t SET n = n + 1 WHERE n > 0", ROWS),
    (&[], "UPDATE t, u SET t.n = 9, u.n = 9", ROWS),
    (&[], "DELETE FROM t WHERE id = 1", ROWS),
    (&[], "DELETE FROM t", ROWS),
    (&[], "INSERT INTO t SELECT id + 50, n FROM t", ROWS),
    (
        &[],
        "INSERT INTO t VALUES (1, 1) ON DUPLICATE KEY UPDATE n = 7",
        ROWS,
    ),
    (
        &["PREPARE p FROM 'UPDATE t SET n = 7 WHERE id = 1'"],
        "EXECUTE p",
        ROWS,
    ),
    (
        &["BEGIN", "UPDATE t SET n = 7 WHERE id = 1"],
        "COMMIT",
        ROWS,
    ),
    (
        &["SET autocommit = 0", "INSERT INTO t VALUES (100, 1)"],
        "COMMIT",
        ROWS,
    ),
    (&["BEGIN", "UPDATE t SET n = 7"], "BEGIN", ROWS),
    (
        &["SET autocommit = 0", "UPDATE t SET n = 7"],
        "SET autocommit = 1",
        ROWS,
    ),
    (&["BEGIN", "UPDATE t SET n = 7"], "COMMIT AND CHAIN", ROWS),
    (
        &["XA START 'x'", "UPDATE t SET n = 7", "XA END 'x'"],
        "XA COMMIT 'x' ONE PHASE",
        ROWS,
    ),
    (
        &[
            "XA START 'x'",
            "UPDATE t SET n = 7",
            "XA END 'x'",
            "XA PREPARE 'x'",
        ],
        "XA COMMIT 'x'",
        ROWS,
    ),
    (
        &["XA START 'x'", "UPDATE t SET n = 7", "XA END 'x'"],
        "XA PREPARE 'x'",
        BRANCHES,
    ),
    (&[], "CREATE TABLE v (id INT PRIMARY KEY)", TABLES),
    (&[], "CREATE TABLE v LIKE t", TABLES),
    (&[], "CREATE TABLE v SELECT * FROM t", TABLES),
    (&[], "DROP TABLE t", TABLES),
    (&[], "RENAME TABLE t TO v", TABLES),
    (&[], "TRUNCATE TABLE t", ROWS),
    (&[], "ALTER TABLE t ADD COLUMN c INT", COLUMNS),
    (
        &[],
        "ALTER TABLE t ADD INDEX (n), ALGORITHM = INPLACE",
        KEYS,
    ),
    (&[], "ALTER TABLE t MODIFY n BIGINT", COLUMNS),
    (&[], "ALTER TABLE t COMMENT 'c'", TABLES),
    (&[], "CREATE INDEX i ON t (n)", KEYS),
    (&[], "CREATE VIEW v AS SELECT 1", TABLES),
    (&[], "CREATE DATABASE c", DATABASES),
    (&[], "DROP DATABASE b", DATABASES),
    (&[], "CREATE USER w", USERS),
    (&[], "GRANT SELECT ON a.* TO w2", GRANTS),
    (&[], "REVOKE INSERT ON a.* FROM w2", GRANTS),
    (&[], "RENAME USER w2 TO w3", USERS),
    (&[], "DROP USER w2", USERS),
];

/// What leaves nothing.
const LEAVES_NOTHING: &[&[&str]] = &[
    &["SELECT * FROM t"],
    &["SELECT * FROM t FOR UPDATE"],
    &["BEGIN", "UPDATE t SET n = 7", "ROLLBACK"],
    &[
        "BEGIN",
        "SAVEPOINT s",
        "UPDATE t SET n = 7",
        "ROLLBACK TO s",
        "COMMIT",
    ],
    &["UPDATE t SET n = n"],
    &["DELETE FROM t WHERE id = 99"],
    &[
        "CREATE TEMPORARY TABLE x (id INT PRIMARY KEY)",
        "INSERT INTO x VALUES (1)",
        "DROP TEMPORARY TABLE x",
    ],
    &[
        "SET sql_log_bin = 0",
        "UPDATE t SET n = 1 WHERE id = 1",
        "CREATE TABLE w (id INT PRIMARY KEY)",
        "DROP TABLE w",
    ],
    &[
        "XA START 'y'",
        "UPDATE t SET n = 7",
        "XA END 'y'",
        "XA ROLLBACK 'y'",
    ],
    &[
        "SET sql_log_bin = 0",
        "XA START 'y'",
        "UPDATE t SET n = 7",
        "XA END 'y'",
        "XA PREPARE 'y'",
        "XA ROLLBACK 'y'",
    ],
    &[
        "XA START 'y'",
        "SELECT * FROM t FOR UPDATE",
        "XA END 'y'",
        "XA PREPARE 'y'",
        "XA COMMIT 'y'",
    ],
    &["XA START 'y'", "XA END 'y'", "XA COMMIT 'y' ONE PHASE"],
    &["LOCK TABLES t WRITE", "UNLOCK TABLES"],
    &["FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"],
];

const BRANCHES: &str = "XA RECOVER";
const ROWS: &str = "SELECT id, n FROM t UNION ALL SELECT id, n FROM u";
const TABLES: &str =
    "SELECT table_name, table_comment FROM information_schema.tables WHERE table_schema = 'a'";
const COLUMNS: &str =
    "SELECT column_name, column_type FROM information_schema.columns WHERE table_schema = 'a'";
const KEYS: &str = "SELECT index_name FROM information_schema.statistics WHERE table_schema = 'a'";
const DATABASES: &str = "SELECT schema_name FROM information_schema.schemata";
const USERS: &str = "SELECT user FROM mysql.user";
const GRANTS: &str = "SELECT * FROM mysql.db";

fn prepared_server() -> Server {
    let s = super::server(&[], &[]);
    s.run(&[
        "USE a",
        "DROP TABLE t",
        "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE u (id INT PRIMARY KEY, n INT)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "INSERT INTO u VALUES (1, 1)",
        "CREATE USER w2",
        "GRANT INSERT ON a.* TO w2",
    ]);
    s
}

fn client(s: &Server) -> Session {
    let mut c = Session::of_the_server(&s.instance, s.instance.next_connection_id());
    block_on(c.query("USE a")).expect("a database");
    c
}

fn answer(c: &mut Session, sql: &str) -> Result<String, SqlError> {
    block_on(c.query(sql)).map(|mut r| format!("{:?}", r.pop().map(|r| r.rows)))
}

/// What somebody else sees.
fn seen(s: &Server, query: &str) -> String {
    let mut c = client(s);
    let found = answer(&mut c, query).unwrap_or_else(|e| format!("{e}"));
    block_on(c.close());
    found
}

/// The statement on a thread of its own, and its end.
type Run = (
    JoinHandle<Session>,
    std::sync::mpsc::Receiver<Result<String, SqlError>>,
    Arc<engine::Interrupt>,
);

/// A client that has run these.
fn behind(s: &Server, before: &[&str]) -> Session {
    let mut c = client(s);
    for b in before {
        answer(&mut c, b).unwrap_or_else(|e| panic!("{b}: {e}"));
    }
    c
}

fn start(mut c: Session, sql: &'static str) -> Run {
    let (tell, told) = channel();
    let interrupt = c.interrupt();
    let thread = thread::spawn(move || {
        tell.send(answer(&mut c, sql)).expect("it is waited for");
        c
    });
    (thread, told, interrupt)
}

const LONG: Duration = Duration::from_secs(30);

#[test]
fn what_leaves_something_waits_for_room() {
    for (before, sql, query) in LEAVES {
        let s = prepared_server();
        let was = seen(&s, query);
        let (thread, told, interrupt) = {
            // What is before it may be a definition of its own.
            let c = behind(&s, before);
            s.engine.set_intake(Intake::Short, None);
            start(c, sql)
        };
        let early = told.recv_timeout(Duration::from_millis(30));
        assert_eq!(early.err(), Some(RecvTimeoutError::Timeout), "{sql}");
        assert_eq!(seen(&s, query), was, "{sql} has done something");
        // Again and again: a kill in front of a statement is none.
        let killed = (0..3000).find_map(|_| {
            interrupt.kill_query();
            told.recv_timeout(Duration::from_millis(10)).ok()
        });
        let killed = killed.expect(sql);
        assert_eq!(killed.map_err(|e| e.code), Err(1317), "{sql}");
        assert_eq!(seen(&s, query), was, "{sql} has done something, killed");
        let mut c = thread.join().expect(sql);
        // It is where it was: whoever has a transaction may end it otherwise, or try again.
        let (thread, told, _) = {
            if before.is_empty() || *sql == "EXECUTE p" {
                start(c, sql)
            } else {
                s.engine.set_intake(Intake::Open, None);
                for end in ["ROLLBACK", "XA ROLLBACK 'x'"] {
                    // One of them is no word for what is open.
                    let _ended = answer(&mut c, end);
                }
                block_on(c.close());
                let c = behind(&s, before);
                s.engine.set_intake(Intake::Short, None);
                start(c, sql)
            }
        };
        let early = told.recv_timeout(Duration::from_millis(30));
        assert_eq!(early.err(), Some(RecvTimeoutError::Timeout), "{sql}");
        s.engine.set_intake(Intake::Open, None);
        let done = told.recv_timeout(LONG).expect(sql);
        done.unwrap_or_else(|e| panic!("{sql}: {e}"));
        assert_ne!(seen(&s, query), was, "{sql}");
        block_on(thread.join().expect(sql).close());
        block_on(s.engine.abandon());
    }
}

#[test]
fn what_leaves_something_fails_at_the_end_of_the_log() {
    for (before, sql, query) in LEAVES {
        let s = prepared_server();
        let was = seen(&s, query);
        let mut c = behind(&s, before);
        s.engine
            .set_intake(Intake::Over("the disk is gone".to_owned()), None);
        let e = answer(&mut c, sql).expect_err(sql);
        assert_eq!((e.code, &*e.sqlstate), (1598, "HY000"), "{sql}");
        assert_eq!(
            e.message, "Binary logging not possible. Message: the disk is gone",
            "{sql}"
        );
        block_on(c.close());
        assert_eq!(seen(&s, query), was, "{sql}");
        block_on(s.engine.abandon());
    }
}

/// The end of what is in the binary log is to be there as well.
#[test]
fn the_rollback_of_a_branch_in_the_log_waits_for_room() {
    const ROLLBACK: &str = "XA ROLLBACK 'x'";
    let s = prepared_server();
    let none = seen(&s, BRANCHES);
    let branch = [
        "XA START 'x'",
        "UPDATE t SET n = 7",
        "XA END 'x'",
        "XA PREPARE 'x'",
    ];
    let mut c = behind(&s, &branch);
    let prepared = seen(&s, BRANCHES);
    assert_ne!(prepared, none);
    s.engine
        .set_intake(Intake::Over("the disk is gone".to_owned()), None);
    let e = answer(&mut c, ROLLBACK).expect_err(ROLLBACK);
    assert_eq!((e.code, seen(&s, BRANCHES)), (1598, prepared.clone()));
    s.engine.set_intake(Intake::Short, None);
    let (thread, told, interrupt) = start(c, ROLLBACK);
    let killed = (0..3000).find_map(|_| {
        interrupt.kill_query();
        told.recv_timeout(Duration::from_millis(10)).ok()
    });
    let killed = killed.expect("it waits, and can be killed");
    assert_eq!(killed.map_err(|e| e.code), Err(1317));
    assert_eq!(seen(&s, BRANCHES), prepared);
    let c = thread.join().expect("a client");
    let (thread, told, _) = start(c, ROLLBACK);
    let early = told.recv_timeout(Duration::from_millis(30));
    assert_eq!(early.err(), Some(RecvTimeoutError::Timeout));
    s.engine.set_intake(Intake::Open, None);
    told.recv_timeout(LONG)
        .expect("an answer")
        .expect("no error");
    assert_eq!(seen(&s, BRANCHES), none);
    block_on(thread.join().expect("a client").close());
    block_on(s.engine.abandon());
}

#[test]
fn what_leaves_nothing_is_not_held_up() {
    let s = prepared_server();
    for intake in [Intake::Short, Intake::Over("it is over".to_owned())] {
        s.engine.set_intake(intake, None);
        for statements in LEAVES_NOTHING {
            let (last, before) = statements.split_last().expect("a statement");
            let (thread, told, _) = start(behind(&s, before), last);
            let done = told.recv_timeout(LONG).expect(last);
            done.unwrap_or_else(|e| panic!("{last}: {e}"));
            block_on(thread.join().expect(last).close());
        }
    }
    block_on(s.engine.abandon());
}
