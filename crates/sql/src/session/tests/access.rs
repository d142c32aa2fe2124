//! What an account may do, through every way by which a statement can be run: as text, prepared, by name, explained, in SET and DO; and
//! that nothing says more than the account may know.

use base::block_on;
use types::{SqlError, Value};

use super::{Client, server};
use crate::session::{Execution, Instance, Pending};
use sql_access::account::{ColumnGrant, TableGrant};
use sql_access::{Account, AccountId, AccountState, Priv, PrivSet, needs};
use sql_plan::sink::Collector;
use std::sync::Arc;

const SELECT: PrivSet = PrivSet::of(Priv::Select);
const INSERT: PrivSet = PrivSet::of(Priv::Insert);
const UPDATE: PrivSet = PrivSet::of(Priv::Update);
const DELETE: PrivSet = PrivSet::of(Priv::Delete);

/// A server with tables `a.t` (id, v, secret), `a.u` (id, w) and `b.t`, and an account `u@localhost` without any privilege.
pub(super) fn stage() -> (Arc<Instance>, Client) {
    let s = server();
    let mut root = Client::new(&s);
    for sql in [
        "CREATE DATABASE a",
        "CREATE DATABASE b",
        "CREATE TABLE a.t (id INT PRIMARY KEY, v INT, secret INT)",
        "CREATE TABLE a.u (id INT PRIMARY KEY, w INT)",
        "CREATE TABLE b.t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO a.t VALUES (1, 10, 100), (2, 20, 200)",
        "INSERT INTO a.u VALUES (1, 5)",
    ] {
        root.run(sql);
    }
    change(&s, |_| {});
    (s, root)
}

/// Gives `u@localhost` what `change` says, and takes away what it had.
pub(super) fn change(s: &Arc<Instance>, change: impl FnOnce(&mut Account) + Send) {
    let made = |state: &mut AccountState| {
        let mut a = Account {
            id: AccountId::new("u", "localhost"),
            plugin: "caching_sha2_password".to_owned(),
            ..Account::default()
        };
        change(&mut a);
        state.put(a);
        Ok::<(), SqlError>(())
    };
    block_on(s.accounts().change(s.engine(), made)).expect("a change");
}

fn on_db(a: &mut Account, schema: &str, set: PrivSet) {
    a.databases.insert(schema.into(), set);
}

fn on_columns(a: &mut Account, table: &str, columns: &[(&str, PrivSet)]) {
    let columns = columns.iter().map(|(c, privileges)| {
        let grant = ColumnGrant {
            name: (*c).into(),
            privileges: *privileges,
        };
        (Box::from(*c), grant)
    });
    let grant = TableGrant {
        columns: columns.collect(),
        ..TableGrant::default()
    };
    a.tables.insert((*needs::table("a", table)).clone(), grant);
}

/// The error that each way of running a statement ends with; they must agree.
fn everyway(c: &mut Client, sql: &str) -> u16 {
    let text = c.error(sql);
    let prepared = c.session.prepare(sql.as_bytes()).map(|info| {
        let mut sink = Collector::new();
        block_on(c.session.execute_prepared(info.id, &[], &mut sink))
            .map_or_else(|e| e.code, |()| 0)
    });
    let quoted = sql.replace('\'', "''");
    let named = match c.error(&format!("PREPARE s FROM '{quoted}'")) {
        0 => c.error("EXECUTE s"),
        refused => refused,
    };
    let explained = c.error(&format!("EXPLAIN {sql}"));
    assert_eq!(prepared.unwrap_or_else(|e| e.code), text, "prepared: {sql}");
    assert_eq!(named, text, "by name: {sql}");
    assert_eq!(explained, text, "explained: {sql}");
    text
}

#[test]
fn who_has_nothing_learns_nothing() {
    let (s, _root) = stage();
    let mut u = Client::of(&s, "u");
    for (there, not_there) in [
        ("SELECT id FROM a.t", "SELECT id FROM a.nothing"),
        ("SELECT nothing FROM a.t", "SELECT id FROM nothing.t"),
        ("SELECT * FROM mysql.user", "SELECT * FROM mysql.nothing"),
        (
            "INSERT INTO a.t VALUES (9, 9, 9)",
            "INSERT INTO a.nothing VALUES (9)",
        ),
        ("UPDATE a.t SET v = 1", "UPDATE a.nothing SET v = 1"),
        ("DELETE FROM a.t", "DELETE FROM a.nothing"),
        (
            "UPDATE a.t, a.u SET t.v = 1",
            "UPDATE a.t, a.nothing SET t.v = 1",
        ),
        (
            "DELETE t FROM a.t JOIN a.u",
            "DELETE t FROM a.t JOIN a.nothing",
        ),
        (
            "SELECT 1 FROM (SELECT id FROM a.t) x",
            "SELECT 1 FROM (SELECT id FROM a.nothing) x",
        ),
        (
            "SELECT (SELECT MAX(id) FROM a.t)",
            "SELECT (SELECT MAX(id) FROM a.nothing)",
        ),
        (
            "SELECT 1 WHERE EXISTS (TABLE a.t)",
            "SELECT 1 WHERE EXISTS (TABLE a.nothing)",
        ),
        (
            "SELECT 1 UNION SELECT id FROM a.t",
            "SELECT 1 UNION SELECT id FROM a.nothing",
        ),
        (
            "WITH c AS (SELECT id FROM a.t) SELECT * FROM c",
            "WITH c AS (TABLE a.nothing) SELECT * FROM c",
        ),
        ("DO (SELECT id FROM a.t)", "DO (SELECT id FROM a.nothing)"),
    ] {
        assert_eq!(everyway_but_explain(&mut u, there), 1142, "{there}");
        assert_eq!(everyway_but_explain(&mut u, not_there), 1142, "{not_there}");
    }
}

#[test]
fn who_has_nothing_does_nothing() {
    let (s, _root) = stage();
    let mut u = Client::of(&s, "u");
    for sql in [
        "SET @x = (SELECT MAX(id) FROM a.t)",
        "SET @x = (SELECT authentication_string FROM mysql.user LIMIT 1)",
        "SET SESSION sql_mode = (SELECT id FROM a.t)",
        "SHOW COLUMNS FROM a.t",
        "SHOW COLUMNS FROM a.nothing",
        "SHOW INDEX FROM a.t",
        "DESCRIBE nothing.t",
        "SHOW CREATE TABLE a.t",
        "SHOW CREATE TABLE a.nothing",
        "TRUNCATE a.t",
        "DROP TABLE a.t",
        "DROP TABLE IF EXISTS a.nothing",
        "CREATE TABLE a.x (i INT)",
        "CREATE TABLE a.x LIKE a.t",
        "CREATE TABLE a.x SELECT 1 AS one",
        "ALTER TABLE a.t ADD x INT",
        "RENAME TABLE a.t TO a.x",
        "CREATE INDEX i ON a.t (v)",
        "DROP INDEX i ON a.t",
        "CHECK TABLE a.t",
        "OPTIMIZE TABLE a.t",
        "CHECKSUM TABLE a.nothing",
    ] {
        assert_eq!(u.error(sql), 1142, "{sql}");
    }
    for sql in [
        "USE a",
        "USE nothing",
        "USE mysql",
        "SHOW TABLES FROM a",
        "SHOW TABLE STATUS FROM nothing",
        "SHOW CREATE DATABASE a",
        "DROP DATABASE a",
        "DROP DATABASE IF EXISTS nothing",
        "CREATE DATABASE c",
        "ALTER DATABASE a COLLATE utf8mb4_bin",
        "LOCK TABLES a.t READ",
        "SHOW GRANTS FOR root@localhost",
        "SHOW CREATE USER root@localhost",
        "INSERT INTO information_schema.tables VALUES (1)",
        "CREATE TABLE performance_schema.x (i INT)",
    ] {
        assert_eq!(u.error(sql), 1044, "{sql}");
    }
    for sql in [
        "SET GLOBAL max_connections = 10",
        "SET GLOBAL TRANSACTION READ ONLY",
        "SET sql_log_bin = 0",
        "SET SESSION gtid_next = 'AUTOMATIC'",
        "FLUSH PRIVILEGES",
        "FLUSH STATUS",
        "FLUSH TABLES",
        "RESET MASTER",
        "SHUTDOWN",
        "SHOW ENGINE INNODB STATUS",
        "SHOW MASTER STATUS",
        "SHOW BINARY LOGS",
        "LOCK INSTANCE FOR BACKUP",
        "BACKUP SERVER TO CLIENT",
        "BACKUP SERVER TO '/tmp/x'",
        "CLONE LOCAL DATA DIRECTORY = '/tmp/x'",
        "SELECT * FROM information_schema.innodb_tablespaces",
    ] {
        assert_eq!(u.error(sql), 1227, "{sql}");
    }
    assert_eq!(
        u.error("LOAD DATA INFILE '/etc/passwd' INTO TABLE a.t"),
        1045
    );
}

#[test]
fn who_has_nothing_sees_nothing() {
    let (s, _root) = stage();
    let mut u = Client::of(&s, "u");
    let block = |r| block_on(r);
    assert_eq!(
        block(u.session.list_fields(b"t", b""))
            .map_err(|e| e.code)
            .err(),
        Some(1046)
    );
    assert_eq!(u.error("KILL 1"), 1095);
    assert_eq!(
        u.rows("SHOW DATABASES"),
        [["information_schema"], ["performance_schema"]]
    );
    for sql in [
        "SELECT * FROM information_schema.tables WHERE table_schema IN ('a', 'b', 'mysql')",
        "SELECT * FROM information_schema.columns WHERE table_schema IN ('a', 'b', 'mysql')",
        "SELECT * FROM information_schema.statistics",
        "SELECT * FROM information_schema.schemata WHERE schema_name NOT LIKE '%schema'",
        "SELECT * FROM information_schema.processlist WHERE user <> 'u'",
    ] {
        assert_eq!(u.rows(sql).len(), 0, "{sql}");
    }
}

/// As [`everyway`], where EXPLAIN does not take the statement.
fn everyway_but_explain(c: &mut Client, sql: &str) -> u16 {
    if sql.starts_with("DO ") {
        return c.error(sql);
    }
    everyway(c, sql)
}

#[test]
fn no_administrative_privilege_opens_a_table() {
    let (s, _root) = stage();
    for p in [
        Priv::Process,
        Priv::Reload,
        Priv::File,
        Priv::ShowDatabases,
        Priv::CreateUser,
    ] {
        change(&s, |a| a.privileges = PrivSet::of(p));
        let mut u = Client::of(&s, "u");
        assert_eq!(u.error("USE mysql"), 1044);
        for sql in [
            "SELECT * FROM mysql.user",
            "UPDATE mysql.user SET Super_priv = 'Y'",
            "INSERT INTO mysql.global_grants VALUES ('u', 'localhost', 'SYSTEM_USER', 'Y')",
            "SELECT id FROM a.t",
        ] {
            assert_eq!(everyway(&mut u, sql), 1142, "{p:?}: {sql}");
        }
    }
}

#[test]
fn a_grant_is_for_what_it_says() {
    let (s, _root) = stage();
    change(&s, |a| on_db(a, "a", SELECT));
    let mut u = Client::of(&s, "u");
    u.run("USE a");
    assert_eq!(u.one("SELECT SUM(v) FROM t"), "30");
    for sql in [
        "INSERT INTO t VALUES (3, 3, 3)",
        "REPLACE INTO t VALUES (3, 3, 3)",
        "UPDATE t SET v = 1",
        "DELETE FROM t",
        "UPDATE t JOIN u ON t.id = u.id SET t.v = 1",
        "DELETE t FROM t JOIN u ON t.id = u.id",
        "SELECT * FROM t FOR UPDATE",
        "SELECT * FROM b.t",
    ] {
        assert_eq!(everyway(&mut u, sql), 1142, "{sql}");
    }
    assert_eq!(everyway(&mut u, "SELECT * FROM t FOR SHARE"), 0);
    assert_eq!(u.error("DROP DATABASE a"), 1044);
    for sql in [
        "DROP TABLE t",
        "TRUNCATE t",
        "ALTER TABLE t ADD x INT",
        "CREATE INDEX i ON t (v)",
        "RENAME TABLE t TO x",
        "CREATE TABLE x (i INT)",
    ] {
        assert_eq!(u.error(sql), 1142, "{sql}");
    }
    assert_eq!(u.one("SELECT COUNT(*) FROM t"), "2");
}

#[test]
fn columns_are_held_apart() {
    let (s, _root) = stage();
    change(&s, |a| {
        on_columns(a, "t", &[("id", SELECT), ("v", SELECT.union(UPDATE))]);
    });
    let mut u = Client::of(&s, "u");
    u.run("USE a");
    for sql in [
        "SELECT id, v FROM t",
        "SELECT COUNT(*) FROM t",
        "SELECT 1 FROM t WHERE v = 10 ORDER BY id",
        "UPDATE t SET v = v + 0 WHERE id = 1",
        "SELECT x.v FROM t x JOIN t y USING (id)",
    ] {
        assert_eq!(everyway(&mut u, sql), 0, "{sql}");
    }
    for sql in ["SELECT * FROM t", "TABLE t", "SELECT t.* FROM t"] {
        assert_eq!(everyway(&mut u, sql), 1142, "{sql}");
    }
    for sql in [
        "SELECT secret FROM t",
        "SELECT id FROM t WHERE secret = 100",
        "SELECT id FROM t ORDER BY secret",
        "SELECT COUNT(*) FROM t GROUP BY secret",
        "SELECT MAX(secret) FROM t",
        "SELECT MAX(id) FROM t HAVING MAX(secret) > 1",
        "SELECT 1 FROM t x JOIN t y USING (secret)",
        "SELECT 1 FROM t x JOIN t y ON x.secret = y.id",
        "SELECT (SELECT secret FROM t LIMIT 1)",
        "SELECT (SELECT x.secret) FROM t x",
        "SELECT 1 FROM (SELECT secret AS s FROM t) d",
        "WITH c AS (SELECT secret FROM t) SELECT 1 FROM c",
        "UPDATE t SET v = secret",
        "UPDATE t SET secret = 1",
        "UPDATE t SET v = 1 ORDER BY secret LIMIT 1",
        "UPDATE t SET v = DEFAULT(secret)",
        // Whether there is such a column is not said.
        "SELECT nothing FROM t",
        "UPDATE t SET nothing = 1",
        "SELECT id FROM t WHERE t.nothing = 1",
        "SELECT secret FROM t UNION SELECT 1, 2",
        "SELECT secret FROM t INTO @a, @b",
        "SELECT (secret, 1) FROM t",
        "SELECT secret, COUNT(*) FROM t GROUP BY id + 1",
    ] {
        assert_eq!(everyway(&mut u, sql), 1143, "{sql}");
    }
    assert_eq!(u.rows("SHOW COLUMNS FROM t").len(), 2);
    assert_eq!(
        u.rows(
            "SELECT column_name, privileges FROM information_schema.columns WHERE table_name = 't'"
        ),
        [["id", "select"], ["v", "select,update"]]
    );
    let fields = block_on(u.session.list_fields(b"t", b"")).expect("fields");
    assert_eq!(fields.len(), 2);
    assert_eq!(u.error("SHOW CREATE TABLE t"), 1142);
}

#[test]
fn writing_needs_the_columns_written() {
    let (s, _root) = stage();
    change(&s, |a| {
        on_columns(a, "t", &[("id", INSERT), ("v", INSERT.union(UPDATE))]);
    });
    let mut u = Client::of(&s, "u");
    u.run("USE a");
    assert_eq!(u.error("INSERT INTO t (id, v) VALUES (7, 7)"), 0);
    assert_eq!(
        u.error("INSERT INTO t (id, v) VALUES (7, 7) ON DUPLICATE KEY UPDATE v = VALUES(v)"),
        0
    );
    for (sql, code) in [
        ("INSERT INTO t VALUES (8, 8, 8)", 1142),
        ("INSERT INTO t (id, secret) VALUES (8, 8)", 1143),
        ("INSERT INTO t (id, v) VALUES (8, id + 1)", 1143),
        (
            "INSERT INTO t (id) VALUES (8) ON DUPLICATE KEY UPDATE id = 9",
            1143,
        ),
        (
            "INSERT INTO t (id) VALUES (8) ON DUPLICATE KEY UPDATE v = v + 1",
            1143,
        ),
        ("REPLACE INTO t (id, v) VALUES (7, 8)", 1142),
        ("INSERT INTO t (id) SELECT id FROM t", 1142),
        ("INSERT INTO t (id) SELECT id FROM u", 1142),
        // Reading what is to be changed is reading.
        ("UPDATE t SET v = 1 WHERE id = 1", 1143),
    ] {
        assert_eq!(everyway(&mut u, sql), code, "{sql}");
    }
    assert_eq!(everyway(&mut u, "UPDATE t SET v = 1"), 0);
}

#[test]
fn changes_of_several_tables_need_each() {
    let (s, _root) = stage();
    change(&s, |a| {
        a.tables.insert(
            (*needs::table("a", "t")).clone(),
            TableGrant {
                privileges: SELECT.union(UPDATE).union(DELETE),
                ..TableGrant::default()
            },
        );
    });
    let mut u = Client::of(&s, "u");
    u.run("USE a");
    for (sql, code) in [
        ("UPDATE t SET v = 1 WHERE id = 99", 0),
        ("DELETE FROM t WHERE id = 99", 0),
        ("UPDATE t JOIN u ON t.id = u.id SET t.v = u.w", 1142),
        ("DELETE t FROM t JOIN u ON t.id = u.id", 1142),
        ("UPDATE t SET v = (SELECT w FROM u LIMIT 1)", 1142),
        ("DELETE FROM t WHERE id IN (SELECT id FROM u)", 1142),
        ("SELECT * FROM t FOR UPDATE", 0),
    ] {
        assert_eq!(everyway(&mut u, sql), code, "{sql}");
    }
    change(&s, |a| {
        on_db(a, "a", SELECT);
        a.tables.insert(
            (*needs::table("a", "t")).clone(),
            TableGrant {
                privileges: UPDATE,
                ..TableGrant::default()
            },
        );
    });
    for (sql, code) in [
        ("UPDATE t JOIN u ON t.id = u.id SET t.v = u.w", 0),
        ("UPDATE t JOIN u ON t.id = u.id SET u.w = t.v", 1142),
        ("UPDATE t JOIN u ON t.id = u.id SET t.v = 1, u.w = 2", 1142),
        ("DELETE t FROM t JOIN u ON t.id = u.id", 1142),
    ] {
        assert_eq!(everyway(&mut u, sql), code, "{sql}");
    }
}

#[test]
fn what_is_taken_is_gone_at_once() {
    let (s, _root) = stage();
    change(&s, |a| on_db(a, "a", SELECT.union(UPDATE)));
    let mut u = Client::of(&s, "u");
    u.run("USE a");
    let text = "SELECT v FROM t WHERE id = 1";
    // In the statement cache, prepared, and by name.
    (0..4).for_each(|_| assert_eq!(u.error(text), 0));
    let read = u.session.prepare(b"SELECT id FROM t WHERE id = ?");
    let read = read.expect("prepared").id;
    let write = u
        .session
        .prepare(b"UPDATE t SET v = 1 WHERE id = ?")
        .expect("prepared")
        .id;
    u.run("PREPARE s FROM 'SELECT v FROM t'");
    let now = |u: &mut Client, id| {
        let mut sink = Collector::new();
        let s = &mut u.session;
        let params = [Value::Int(1)];
        match s.start_prepared(id, &params, &mut sink) {
            Execution::Pending(Pending::Statement) => false,
            Execution::Done(r) => r.is_ok(),
            Execution::Pending(x) => block_on(s.finish_prepared(x, id, &params, &mut sink)).is_ok(),
        }
    };
    let waits = |u: &mut Client, id| {
        let mut sink = Collector::new();
        let r = block_on(u.session.execute_prepared(id, &[Value::Int(1)], &mut sink));
        r.map_or_else(|e| e.code, |()| 0)
    };
    // An ordinary account has the short way too.
    assert!(now(&mut u, read) && now(&mut u, write));
    change(&s, |_| {});
    assert!(!now(&mut u, read) && !now(&mut u, write));
    assert_eq!((waits(&mut u, read), waits(&mut u, write)), (1142, 1142));
    assert_eq!((u.error(text), u.error("EXECUTE s")), (1142, 1142));
    change(&s, |a| on_db(a, "a", SELECT));
    assert_eq!((waits(&mut u, read), waits(&mut u, write)), (0, 1142));
    assert!(now(&mut u, read));
    assert_eq!((u.error(text), u.error("EXECUTE s")), (0, 0));
    // The account itself is gone.
    let gone = |state: &mut AccountState| {
        state.remove(&AccountId::new("u", "localhost"));
        Ok(())
    };
    block_on(s.accounts().change(s.engine(), gone)).expect("a change");
    assert_eq!((waits(&mut u, read), u.error(text)), (1142, 1142));
}

#[test]
fn databases_are_listed_to_who_may_know() {
    let (s, mut root) = stage();
    let mut u = Client::of(&s, "u");
    assert_eq!(u.rows("SHOW DATABASES").len(), 2);
    change(&s, |a| a.privileges = PrivSet::of(Priv::ShowDatabases));
    let all = root.rows("SHOW DATABASES");
    assert_eq!(u.rows("SHOW DATABASES"), all);
    let names = "SELECT COUNT(*) FROM information_schema.schemata";
    assert_eq!(u.one(names), all.len().to_string());
    assert_eq!(u.error("USE a"), 1044);
    change(&s, |a| on_columns(a, "t", &[("id", SELECT)]));
    assert_eq!(u.rows("SHOW DATABASES").len(), 3);
    assert_eq!(u.error("USE a"), 0);
    assert_eq!(u.rows("SHOW TABLES"), [["t"]]);
    assert_eq!(u.rows("SHOW TABLE STATUS").len(), 1);
    assert_eq!(u.rows("SHOW OPEN TABLES FROM a").len(), 1);
}

/// Who may see single columns alone learns no name of the others: what the statement does not name is told of the table (1142), as in MySQL.
#[test]
fn columns_that_a_statement_does_not_name_are_told_by_none() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run("CREATE TABLE t (a INT PRIMARY KEY, secret INT); CREATE TABLE s (a INT, secret INT)");
    root.run("CREATE VIEW v AS SELECT * FROM t; CREATE USER u@localhost");
    for table in ["t", "s", "v"] {
        root.run(&format!(
            "GRANT SELECT (a), INSERT (a), UPDATE (a) ON test.{table} TO u@localhost"
        ));
    }
    let mut u = Client::of(&s, "u");
    u.run("USE test");
    let unnamed = [
        "SELECT * FROM t",
        "SELECT t.* FROM t",
        "SELECT a, t.* FROM t",
        "TABLE t",
        "SELECT * FROM v",
        "SELECT * FROM t NATURAL JOIN s",
        "SELECT a FROM t NATURAL JOIN s",
        "SELECT a FROM (SELECT * FROM t) x",
        "WITH c AS (SELECT * FROM t) SELECT a FROM c",
        "SELECT a FROM t WHERE (a, 1) IN (SELECT * FROM s)",
        "SELECT a FROM t WHERE EXISTS (SELECT * FROM s)",
        "SELECT a FROM t UNION SELECT * FROM s",
        "EXPLAIN SELECT * FROM t",
        "INSERT INTO t VALUES (1, 2)",
        "INSERT INTO v VALUES (1, 2)",
        "INSERT INTO t SELECT 1, 2",
        "INSERT INTO t (a) SELECT secret FROM (SELECT * FROM s) x",
        "REPLACE INTO t VALUES (1, 2)",
        "PREPARE p FROM 'SELECT * FROM t'",
    ];
    for sql in unnamed {
        let e = u.try_all(sql).expect_err(sql);
        assert_eq!(e.code, 1142, "{sql}: {}", e.message);
        assert!(!e.message.contains("secret"), "{sql}: {}", e.message);
    }
    let named = [
        "SELECT secret FROM t",
        "SELECT a FROM t WHERE secret = 1",
        "SELECT *, secret FROM t",
        "SELECT a FROM t ORDER BY secret",
        "INSERT INTO t (secret) VALUES (1)",
        "INSERT INTO v (secret) VALUES (1)",
        "UPDATE t SET secret = 1",
        "UPDATE t SET a = secret",
        "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE secret = 1",
    ];
    for sql in named {
        let e = u.try_all(sql).expect_err(sql);
        assert_eq!(e.code, 1143, "{sql}: {}", e.message);
    }
    // One that is not there is told as one that may not be seen: what is missing is what the statement does with it.
    for (verb, sql) in [
        ("SELECT", "SELECT nosuch FROM t"),
        ("INSERT", "INSERT INTO t (nosuch) VALUES (1)"),
        ("INSERT", "INSERT INTO t (a, nosuch) VALUES (1, 2)"),
        ("INSERT", "INSERT INTO t SET nosuch = 1"),
        ("INSERT", "INSERT INTO t (nosuch) SELECT a FROM t"),
        ("INSERT", "INSERT INTO v (nosuch) VALUES (1)"),
        ("UPDATE", "UPDATE t SET nosuch = 1"),
        ("UPDATE", "UPDATE t SET a = 1, nosuch = 1"),
        ("UPDATE", "UPDATE t x, t y SET x.nosuch = 1"),
        (
            "UPDATE",
            "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE nosuch = 1",
        ),
        ("SELECT", "UPDATE t SET a = nosuch"),
    ] {
        let e = u.try_all(sql).expect_err(sql);
        assert_eq!(e.code, 1143, "{sql}: {}", e.message);
        let denied = format!("{verb} command denied");
        let said = e.message.starts_with(&denied) && e.message.contains("nosuch'");
        assert!(said, "{sql}: {}", e.message);
    }
}
