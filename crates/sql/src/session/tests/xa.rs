//! XA beyond one connection: what a client's going, a crash, a deadlock's kind and a missing privilege come to, and where it shows.

use std::sync::Arc;

use base::block_on;
use base::mem::MemDisk;

use super::{Client, server, server_on};

fn prepared(c: &mut Client, name: &str, change: &str) {
    c.run(&format!("XA START '{name}'"));
    c.run(change);
    c.run(&format!("XA END '{name}'; XA PREPARE '{name}'"));
}

#[test]
fn a_client_that_goes_leaves_what_is_prepared_and_nothing_else() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run("CREATE TABLE t (id INT PRIMARY KEY)");
    let mut a = Client::in_test(&s);
    prepared(&mut a, "stays", "INSERT INTO t VALUES (1)");
    a.run("XA START 'goes'; INSERT INTO t VALUES (2)");
    // The name is taken as long as its session is there.
    assert_eq!(root.error("XA START 'goes'"), 1440);
    block_on(a.session.close());
    root.run("XA START 'goes'; XA END 'goes'; XA ROLLBACK 'goes'");
    let mut b = Client::in_test(&s);
    b.run("XA START 'idle'; INSERT INTO t VALUES (3); XA END 'idle'");
    drop(b);
    let mut c = Client::in_test(&s);
    c.run("SET xa_detach_on_prepare = OFF");
    prepared(&mut c, "attached", "INSERT INTO t VALUES (4)");
    assert_eq!(root.error("XA COMMIT 'attached'"), 1397);
    block_on(c.session.reset()).expect("reset");
    root.run("XA COMMIT 'attached'");
    assert_eq!(root.rows("XA RECOVER"), [["1", "5", "0", "stays"]]);
    root.run("XA COMMIT 'stays'");
    assert_eq!(root.rows("SELECT id FROM t"), [["1"], ["4"]]);
}

#[test]
fn what_is_prepared_is_there_after_a_crash() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(Arc::clone(&disk));
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2)");
    prepared(&mut c, "x", "UPDATE t SET v = 10 WHERE id = 1");
    prepared(&mut c, "y", "DELETE FROM t WHERE id = 2");
    c.run("INSERT INTO t VALUES (3, 3); XA START 'z'; UPDATE t SET v = 7 WHERE id = 3; XA END 'z'");
    let s = server_on(Arc::new(disk.crash(false)));
    let mut c = Client::in_test(&s);
    c.run("SET innodb_lock_wait_timeout = 1");
    assert_eq!(
        c.rows("XA RECOVER CONVERT XID"),
        [["1", "1", "0", "0x78"], ["1", "1", "0", "0x79"]]
    );
    assert_eq!(c.error("UPDATE t SET v = 5 WHERE id = 1"), 1205);
    assert_eq!(c.error("SELECT * FROM t FOR UPDATE NOWAIT"), 3572);
    assert_eq!(c.error("XA START 'x'"), 1440);
    let before = [["1", "1"], ["2", "2"], ["3", "3"]];
    assert_eq!(c.rows("SELECT id, v FROM t"), before);
    c.run("XA COMMIT 'x'; XA ROLLBACK 'y'");
    let after = [["1", "10"], ["2", "2"], ["3", "3"]];
    assert_eq!(c.rows("SELECT id, v FROM t"), after);
    assert!(c.rows("XA RECOVER").is_empty());
    c.run("UPDATE t SET v = 5 WHERE id = 2; DROP TABLE t");
}

#[test]
fn who_may_not_list_is_told_1401_and_why() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run("CREATE USER u@localhost");
    let mut u = Client::of(&s, "u");
    assert_eq!(u.error("XA RECOVER"), 1401);
    assert_eq!(u.rows("SHOW WARNINGS").len(), 2);
    // Who knows the name may end it.
    root.run("XA START 'n'; XA END 'n'; XA PREPARE 'n'");
    u.run("XA COMMIT 'n'");
    root.run("GRANT XA_RECOVER_ADMIN ON *.* TO u@localhost");
    assert!(u.rows("XA RECOVER").is_empty());
}

#[test]
fn what_is_prepared_is_shown() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT UNIQUE)");
    prepared(&mut c, "shown", "INSERT INTO t VALUES (1, 1)");
    assert_eq!(
        c.rows("SELECT trx_state, trx_mysql_thread_id, trx_rows_modified FROM information_schema.INNODB_TRX"),
        [["RUNNING", "0", "1"]]
    );
    let status = &c.rows("SHOW ENGINE INNODB STATUS")[0][2];
    assert!(status.contains("ACTIVE (PREPARED)"), "{status}");
    let locks = c.rows("SELECT DISTINCT THREAD_ID FROM performance_schema.data_locks");
    assert_eq!(locks, [["NULL"]]);
    c.run("XA ROLLBACK 'shown'");
    assert!(
        c.rows("SELECT * FROM information_schema.INNODB_TRX")
            .is_empty()
    );
    assert_eq!(
        c.rows("SHOW SESSION STATUS LIKE 'Com_xa_prepare'"),
        [["Com_xa_prepare", "1"]]
    );
}

#[test]
fn a_read_only_branch_is_prepared_too() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY)");
    c.run("SET TRANSACTION READ ONLY; XA START 'r'");
    assert_eq!(c.error("INSERT INTO t VALUES (1)"), 1792);
    c.run("SELECT * FROM t; XA END 'r'; XA PREPARE 'r'");
    assert_eq!(c.rows("XA RECOVER").len(), 1);
    c.run("INSERT INTO t VALUES (1); XA COMMIT 'r'");
}

#[test]
fn nothing_is_prepared_or_ended_under_a_read_lock_of_the_server() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("SET lock_wait_timeout = 1; CREATE TABLE t (id INT PRIMARY KEY)");
    prepared(&mut c, "x", "INSERT INTO t VALUES (1)");
    c.run("XA START 'y'; INSERT INTO t VALUES (2); XA END 'y'");
    let mut locker = Client::in_test(&s);
    locker.run("FLUSH TABLES WITH READ LOCK");
    assert_eq!(c.error("XA PREPARE 'y'"), 1205);
    assert_eq!(c.error("XA COMMIT 'y' ONE PHASE"), 1205);
    let mut other = Client::in_test(&s);
    other.run("SET lock_wait_timeout = 1");
    for statement in ["XA COMMIT 'x'", "XA ROLLBACK 'x'"] {
        assert_eq!(other.error(statement), 1205, "{statement}");
        assert_eq!(locker.error(statement), 1223, "{statement}");
    }
    assert_eq!(locker.rows("XA RECOVER"), [["1", "1", "0", "x"]]);
    locker.run("UNLOCK TABLES");
    other.run("XA COMMIT 'x'");
    assert_eq!(locker.rows("SELECT id FROM t"), [["1"]]);
}

/// A temporary table ends with its session: what a prepared transaction has changed in it goes too, and touches no later one of that number.
#[test]
fn what_is_prepared_of_a_temporary_table_goes_with_it() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(Arc::clone(&disk));
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY)");
    c.run("CREATE TEMPORARY TABLE own (id INT PRIMARY KEY, s TEXT)");
    let change = "INSERT INTO own VALUES (1, REPEAT('x', 50000)); INSERT INTO t VALUES (1)";
    prepared(&mut c, "both", change);
    prepared(&mut c, "own", "INSERT INTO own VALUES (2, 'b')");
    prepared(&mut c, "dropped", "INSERT INTO own VALUES (3, 'c')");
    // Who has made it sees nothing of that before it is committed, and may drop the table.
    assert!(c.rows("SELECT id FROM own").is_empty());
    c.run("DROP TEMPORARY TABLE own; XA ROLLBACK 'dropped'");
    let s = server_on(Arc::new(disk.crash(false)));
    let mut c = Client::in_test(&s);
    c.run("CREATE TEMPORARY TABLE own (id INT PRIMARY KEY, s TEXT)");
    c.run("INSERT INTO own VALUES (1, 'n'), (2, 'n')");
    c.run("XA ROLLBACK 'both'; XA COMMIT 'own'");
    assert_eq!(c.rows("SELECT * FROM own"), [["1", "n"], ["2", "n"]]);
    assert!(c.rows("SELECT * FROM t").is_empty());
    assert!(c.rows("XA RECOVER").is_empty());
}

#[test]
fn an_account_takes_its_share_and_an_administrator_ends_what_it_left() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(Arc::clone(&disk));
    let mut root = Client::in_test(&s);
    root.run("CREATE TABLE t (id INT PRIMARY KEY); CREATE USER u@localhost");
    root.run("GRANT INSERT ON test.* TO u@localhost");
    let mut u = Client::of(&s, "u");
    for n in 0..engine::BRANCHES_OF_ONE {
        prepared(
            &mut u,
            &n.to_string(),
            &format!("INSERT INTO test.t VALUES ({n})"),
        );
    }
    assert_eq!(u.error("XA START 'more'"), 1401);
    let why = u.rows("SHOW WARNINGS");
    assert!(why[0][2].contains("1024 of one account"), "{why:?}");
    // Nobody else has less for it.
    prepared(&mut root, "root", "INSERT INTO t VALUES (-1)");
    root.run("XA COMMIT 'root'");
    u.run("XA COMMIT '7'");
    prepared(&mut u, "more", "INSERT INTO test.t VALUES (-2)");
    assert_eq!(u.error("XA ROLLBACK ALL FOR u@localhost"), 1227);
    root.run("DROP USER u@localhost");
    // It has a share behind a restart too, and still after the account.
    let s = server_on(Arc::new(disk.crash(false)));
    let mut root = Client::in_test(&s);
    assert_eq!(root.rows("XA RECOVER").len(), engine::BRANCHES_OF_ONE);
    root.run("XA START 'x'");
    assert_eq!(root.error("XA ROLLBACK ALL FOR u@localhost"), 1399);
    root.run("XA END 'x'; XA ROLLBACK 'x'");
    root.run("BEGIN; INSERT INTO t VALUES (-3)");
    assert_eq!(root.error("XA ROLLBACK ALL FOR u@localhost"), 1400);
    root.run("ROLLBACK");
    prepared(&mut root, "roots", "INSERT INTO t VALUES (-4)");
    root.run("XA ROLLBACK ALL FOR u@localhost");
    assert_eq!(root.rows("SELECT ROW_COUNT()"), [["1024"]]);
    assert_eq!(root.rows("XA RECOVER"), [["1", "5", "0", "roots"]]);
    root.run("XA COMMIT 'roots'");
    let left = root.rows("SELECT id FROM t ORDER BY id");
    assert_eq!(left, [["-4"], ["-1"], ["7"]]);
}

#[test]
fn empty_branches_take_no_place() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run("CREATE USER u@localhost; CREATE TABLE t (id INT PRIMARY KEY)");
    let mut u = Client::of(&s, "u");
    let count = 10_000;
    for n in 0..count {
        u.run(&format!("XA START '{n}'; XA END '{n}'; XA PREPARE '{n}'"));
    }
    prepared(&mut root, "root", "INSERT INTO t VALUES (1)");
    // They are known for a while, to whoever asks and to who ends them.
    assert_eq!(u.error("XA START '9999'"), 1440);
    assert!(root.rows("XA RECOVER").len() < 2000);
    let started = root.rows("SELECT COUNT(*) FROM information_schema.INNODB_TRX");
    assert_eq!(started, [["1"]]);
    u.run("XA COMMIT '9999'; XA ROLLBACK '9998'");
    assert_eq!(u.error("XA COMMIT '9999'"), 1397);
    assert_eq!(u.error("XA COMMIT '0'"), 1397);
    // What has locked something is none.
    u.run("XA START '9999'");
    root.run("GRANT SELECT, UPDATE ON test.* TO u@localhost");
    u.run("SELECT * FROM test.t WHERE id = 2 FOR UPDATE; XA END '9999'; XA PREPARE '9999'");
    let started = root.rows("SELECT COUNT(*) FROM information_schema.INNODB_TRX");
    assert_eq!(started, [["2"]]);
    u.run("XA COMMIT '9999'");
    root.run("XA COMMIT 'root'; XA ROLLBACK ALL FOR u@localhost");
    assert!(root.rows("XA RECOVER").is_empty());
    // Of a session that keeps its branch, it is that one's to end.
    u.run("SET xa_detach_on_prepare = OFF; XA START 'a'; XA END 'a'; XA PREPARE 'a'");
    assert_eq!(root.error("XA COMMIT 'a'"), 1397);
    assert_eq!(u.error("BEGIN"), 1399);
    u.run("XA COMMIT 'a'; BEGIN; COMMIT");
}
