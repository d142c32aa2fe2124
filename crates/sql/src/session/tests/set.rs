//! SET, transactions, texts of several statements, prepared statements of other kinds.

use super::*;
use std::time::{Duration, Instant};

#[test]
fn variables_are_set_and_shown() {
    let mut c = Client::in_test(&server());
    c.run("SET NAMES utf8mb4, sql_mode = ANSI_QUOTES, @@session.wait_timeout := 60, lock_wait_timeout = DEFAULT");
    assert_eq!(
        c.rows("SHOW VARIABLES LIKE 'sql\\_mode'"),
        [["sql_mode", "ANSI_QUOTES"]]
    );
    assert_eq!(
        c.rows("SHOW VARIABLES WHERE Variable_name = 'wait_timeout'"),
        [["wait_timeout", "60"]]
    );
    assert_eq!(c.error("SET nothing = 1"), 1193);
    assert_eq!(c.error("SET max_connections = 1"), 1229);
    assert_eq!(c.error("SET autocommit = 7"), 1231);
    c.run("SET GLOBAL max_connections = 77");
    assert_eq!(
        c.rows("SHOW GLOBAL VARIABLES LIKE 'max_connections'"),
        [["max_connections", "77"]]
    );
    c.run("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    assert_eq!(c.session.instance().engine().flush_at_commit(), 2);
    assert_eq!(c.run("SET wait_timeout = 0").done.warnings, 1);
    assert_eq!(c.rows("SHOW COUNT(*) WARNINGS"), [["1"]]);
    assert_eq!(c.rows("SHOW WARNINGS")[0][1], "1292");
}

/// Figures are made without being asked for, unless `innodb_stats_auto_recalc` is off.
#[test]
fn statistics_are_made_when_it_says_so() {
    let mut c = Client::in_test(&server());
    c.run("SET GLOBAL innodb_stats_auto_recalc = OFF");
    c.run("CREATE TABLE t (id INT PRIMARY KEY)");
    let values: Vec<String> = (0..500).map(|i| format!("({i})")).collect();
    c.run(&format!("INSERT INTO t VALUES {}", values.join(", ")));
    let stats = |c: &mut Client| {
        let engine = c.session.instance().engine().clone();
        let table = engine.catalog().table("test", "t").expect("a table");
        table.stats().map(|s| s.rows)
    };
    // Twice the time that a table is given to settle.
    std::thread::sleep(Duration::from_millis(450));
    assert_eq!(stats(&mut c), None);
    c.run("SET GLOBAL innodb_stats_auto_recalc = ON");
    let end = Instant::now() + Duration::from_secs(30);
    while stats(&mut c) != Some(500) {
        assert!(Instant::now() < end, "no figures");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_reset_session_is_a_new_one() {
    let mut c = Client::in_test(&server());
    c.run("SET sql_mode = '', autocommit = 0");
    c.run("BEGIN");
    block_on(c.session.reset()).expect("reset");
    assert!(c.session.vars().hot().autocommit);
    assert!(!c.session.engine.in_transaction());
    assert_eq!(c.session.database(), Some("test"));
    block_on(c.session.change_user("root", "localhost", None)).expect("changed");
    assert_eq!(c.session.database(), None);
}

#[test]
fn transactions_show_in_the_status() {
    let mut c = Client::in_test(&server());
    assert!(!c.run("SET @a = 1").done.in_transaction);
    assert!(
        c.run("START TRANSACTION READ ONLY")
            .done
            .in_read_only_transaction
    );
    assert_eq!(
        c.error("SET TRANSACTION ISOLATION LEVEL READ COMMITTED"),
        1568
    );
    assert!(c.run("COMMIT AND CHAIN").done.in_read_only_transaction);
    assert!(!c.run("ROLLBACK").done.in_transaction);
    // What changes definitions commits first, and is no part of what was read-only.
    c.run("START TRANSACTION READ ONLY");
    assert!(!c.run("CREATE TABLE r (a int)").done.in_transaction);
    c.run("BEGIN");
    c.run("SAVEPOINT a");
    c.run("ROLLBACK TO a");
    c.run("RELEASE SAVEPOINT a");
    assert_eq!(c.error("ROLLBACK TO SAVEPOINT a"), 1305);
    c.run("CREATE TABLE t (a int)");
    assert!(!c.session.engine.in_transaction());
    c.run("COMMIT RELEASE");
    assert!(c.session.should_close());
}

#[test]
fn a_session_that_is_read_only_changes_nothing() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (a int)");
    let texts = [
        "INSERT INTO t VALUES (1)",
        "CREATE TABLE u (a int)",
        "TRUNCATE TABLE t",
        "CREATE USER u",
    ];
    c.run("SET SESSION TRANSACTION READ ONLY");
    texts
        .iter()
        .for_each(|t| assert_eq!(c.error(t), 1792, "{t}"));
    // A transaction may say otherwise, until it ends, and definitions end it before they begin.
    for text in texts {
        c.run("START TRANSACTION READ WRITE");
        let refused = !text.starts_with("INSERT");
        assert_eq!(c.error(text), if refused { 1792 } else { 0 }, "{text}");
    }
}

#[test]
fn a_definition_that_is_refused_has_committed() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (a int); CREATE TABLE u (a int)");
    let mut other = Client::in_test(&s);
    for (n, text) in [
        "CREATE TABLE v (a int)",
        "TRUNCATE TABLE u",
        "DROP TABLE u",
        "ALTER TABLE u ADD COLUMN b int",
        "CREATE INDEX i ON u (a)",
        "CREATE VIEW v AS SELECT 1",
        "RENAME TABLE u TO v",
        "CREATE DATABASE v",
        "CREATE USER v",
        "GRANT SELECT ON t TO root@localhost",
        "SET PASSWORD FOR root@localhost = 'x'",
        "LOCK TABLES u WRITE",
    ]
    .into_iter()
    .enumerate()
    {
        c.run("SET SESSION TRANSACTION READ ONLY");
        c.run("START TRANSACTION READ WRITE");
        c.run(&format!("INSERT INTO t VALUES ({n})"));
        assert_eq!(c.error(text), 1792, "{text}");
        assert!(!c.session.engine.in_transaction(), "{text}");
        c.run("ROLLBACK");
        let there = other.rows(&format!("SELECT COUNT(*) FROM t WHERE a = {n}"));
        assert_eq!(there, [["1"]], "{text}");
    }
    // What was locked before is not locked any more.
    c.run(
        "SET SESSION TRANSACTION READ WRITE; LOCK TABLES t READ; SET SESSION TRANSACTION READ ONLY",
    );
    assert_eq!(c.error("LOCK TABLES u WRITE"), 1792);
    other.run("INSERT INTO t VALUES (50)");
    // Of temporary tables, as the statement commits or does not.
    c.run("SET SESSION TRANSACTION READ WRITE; CREATE TEMPORARY TABLE x (a int)");
    c.run("START TRANSACTION READ ONLY; ALTER TABLE x ADD COLUMN b int");
    assert!(!c.session.engine.in_transaction());
    c.run("START TRANSACTION READ ONLY");
    assert_eq!(c.error("CREATE TEMPORARY TABLE y (a int)"), 1792);
    assert!(c.session.engine.in_transaction());
    c.run("COMMIT; SET SESSION TRANSACTION READ ONLY");
    c.run("START TRANSACTION READ WRITE; INSERT INTO t VALUES (60)");
    assert_eq!(c.error("TRUNCATE TABLE x"), 1792);
    c.run("ROLLBACK");
    assert_eq!(other.rows("SELECT COUNT(*) FROM t WHERE a = 60"), [["1"]]);
    // A read-only server refuses before it commits.
    other.run("CREATE USER w; GRANT ALL ON test.* TO w");
    let mut w = Client::of(&s, "w");
    w.run("USE test; BEGIN; INSERT INTO t VALUES (100)");
    other.run("SET GLOBAL read_only = ON");
    assert_eq!(w.error("DROP TABLE u"), 1290);
    assert!(w.session.engine.in_transaction());
    other.run("SET GLOBAL read_only = OFF");
}

#[test]
fn a_text_may_hold_several_statements() {
    let mut c = Client::in_test(&server());
    let r = c
        .try_all("SET @a = 1; SHOW DATABASES; SET @b = 2; -- done\n")
        .expect("three");
    assert_eq!(r.len(), 3);
    assert!(r[0].done.more && r[1].done.more && !r[2].done.more);
    assert_eq!(c.error("SET @a = 1; nonsense; SET @b = 2"), 1064);
    assert_eq!(c.error(""), 1065);
    let flags = super::super::ClientFlags {
        multi_statements: false,
        ..Default::default()
    };
    c.session.set_client(flags);
    assert_eq!(c.error("SET @a = 1; SET @b = 2"), 1064);
    assert_eq!(c.error("SET @a = 1;  "), 0);
}

#[test]
fn diagnostics_last_until_the_next_statement() {
    let mut c = Client::in_test(&server());
    assert_eq!(c.error("DROP TABLE nothing"), 1051);
    assert_eq!(
        c.rows("SHOW ERRORS"),
        [["Error", "1051", "Unknown table 'test.nothing'"]]
    );
    assert_eq!(c.rows("SHOW WARNINGS LIMIT 1").len(), 1);
    c.run("SET @a = 1");
    assert!(c.rows("SHOW WARNINGS").is_empty());
}

#[test]
fn connections_can_be_killed() {
    let s = server();
    let mut a = Client::new(&s);
    let b = Client::new(&s);
    assert_eq!(a.rows("SHOW PROCESSLIST").len(), 2);
    assert_eq!(a.error("KILL 4711"), 1094);
    a.run(&format!("KILL {}", b.session.id()));
    assert!(b.session.should_close());
    drop(b);
    assert_eq!(a.rows("SHOW PROCESSLIST").len(), 1);
}

#[test]
fn text_statements_are_prepared_by_name() {
    let mut c = Client::in_test(&server());
    c.run("PREPARE s FROM 'CREATE TABLE t (a int)'");
    c.run("EXECUTE s");
    assert_eq!(c.error("EXECUTE s"), 1050);
    c.run("DEALLOCATE PREPARE s");
    assert_eq!(c.error("EXECUTE s"), 1243);
    assert_eq!(c.error("PREPARE s FROM 'PREPARE x FROM \"\"'"), 1295);
    c.run("SET @q = 'SET @x = ?', @v = 5");
    c.run("PREPARE s FROM @q");
    assert_eq!(c.error("EXECUTE s"), 1210);
    c.run("EXECUTE s USING @v");
}
