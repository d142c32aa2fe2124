//! Foreign keys beside what other statements know: plans, accounts, a restart, transactions that are open.

use super::access::{change, stage};
use super::*;
use sql_access::{Account, Priv, PrivSet};

/// Executes a prepared statement: its error, or 0.
fn execute(c: &mut Client, id: u32, params: &[Value]) -> u16 {
    let mut sink = Collector::new();
    block_on(c.session.execute_prepared(id, params, &mut sink)).map_or_else(|e| e.code, |()| 0)
}

fn prepare(c: &mut Client, sql: &str) -> u32 {
    c.session.prepare(sql.as_bytes()).expect(sql).id
}

#[test]
fn they_are_there_after_a_restart() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE p (id INT PRIMARY KEY, u CHAR(3), UNIQUE KEY (u))");
    c.run(
        "CREATE TABLE c (a INT, b CHAR(3), CONSTRAINT x FOREIGN KEY (a) REFERENCES p (id) ON DELETE CASCADE ON UPDATE SET NULL, CONSTRAINT y FOREIGN KEY (b) REFERENCES p (u) ON DELETE RESTRICT)",
    );
    c.run("SET foreign_key_checks = 0");
    c.run("CREATE TABLE d (a INT, CONSTRAINT z FOREIGN KEY (a) REFERENCES nowhere (id))");
    c.run("INSERT INTO p VALUES (1, 'a'), (2, 'b')");
    let text = c.rows("SHOW CREATE TABLE c");
    drop(c);
    block_on(s.engine().close()).expect("closed");
    drop(s);
    let s = server_on(disk);
    let mut c = Client::in_test(&s);
    assert_eq!(c.rows("SHOW CREATE TABLE c"), text);
    assert_eq!(c.error("INSERT INTO c VALUES (3, 'a')"), 1452);
    assert_eq!(c.error("INSERT INTO d VALUES (3)"), 1452);
    c.run("INSERT INTO c VALUES (1, 'b'), (2, NULL)");
    assert_eq!(c.error("DELETE FROM p WHERE id = 2"), 1451);
    c.run("DELETE FROM p WHERE id = 1");
    assert_eq!(c.rows("SELECT * FROM c"), [["2", "NULL"]]);
    // An index that was made for a foreign key is still known as one.
    c.run("ALTER TABLE c ADD KEY mine (a, b)");
    assert_eq!(
        c.rows("SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_NAME = 'c' ORDER BY 1"),
        [["mine"], ["y"]]
    );
}

#[test]
fn a_plan_ends_when_a_foreign_key_comes_or_goes() {
    let s = server();
    let (mut c, mut ddl) = (Client::in_test(&s), Client::in_test(&s));
    c.run("CREATE TABLE p (id INT PRIMARY KEY, n INT)");
    c.run("CREATE TABLE c (id INT PRIMARY KEY, pid INT)");
    c.run("INSERT INTO p VALUES (1, 0), (2, 0)");
    c.run("INSERT INTO c VALUES (1, 1)");
    let delete = prepare(&mut c, "DELETE FROM p WHERE id = ?");
    let update = prepare(&mut c, "UPDATE p SET id = ? WHERE id = ?");
    let other = prepare(&mut c, "UPDATE p SET n = n + 1 WHERE id = ?");
    let insert = prepare(&mut c, "INSERT INTO c VALUES (?, ?)");
    let int = Value::Int;
    assert_eq!(execute(&mut c, insert, &[int(9), int(9)]), 0);
    assert_eq!(execute(&mut c, delete, &[int(7)]), 0);
    c.run("DELETE FROM c WHERE id = 9");
    ddl.run("ALTER TABLE c ADD CONSTRAINT f FOREIGN KEY (pid) REFERENCES p (id)");
    assert_eq!(execute(&mut c, delete, &[int(1)]), 1451);
    assert_eq!(execute(&mut c, update, &[int(5), int(1)]), 1451);
    assert_eq!(execute(&mut c, insert, &[int(9), int(9)]), 1452);
    assert_eq!(execute(&mut c, other, &[int(1)]), 0);
    ddl.run("ALTER TABLE c DROP FOREIGN KEY f");
    assert_eq!(execute(&mut c, insert, &[int(9), int(9)]), 0);
    assert_eq!(execute(&mut c, update, &[int(5), int(1)]), 0);
    assert_eq!(execute(&mut c, delete, &[int(5)]), 0);
    // A grandchild that comes to a child.
    c.run("DELETE FROM c");
    c.run("CREATE TABLE g (cid INT)");
    ddl.run("ALTER TABLE c ADD CONSTRAINT f FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE");
    c.run("INSERT INTO c VALUES (1, 2)");
    assert_eq!(execute(&mut c, delete, &[int(7)]), 0);
    ddl.run("ALTER TABLE g ADD CONSTRAINT g FOREIGN KEY (cid) REFERENCES c (id)");
    c.run("INSERT INTO g VALUES (1)");
    assert_eq!(execute(&mut c, delete, &[int(2)]), 1451);
    ddl.run("DROP TABLE g");
    assert_eq!(execute(&mut c, delete, &[int(2)]), 0);
    assert_eq!(c.one("SELECT COUNT(*) FROM c"), "0");
    // The parent is another table of that name.
    c.run("INSERT INTO p VALUES (3, 0)");
    assert_eq!(execute(&mut c, insert, &[int(3), int(3)]), 0);
    ddl.run("SET foreign_key_checks = 0");
    ddl.run("DROP TABLE p");
    assert_eq!(execute(&mut c, insert, &[int(4), int(3)]), 1452);
    ddl.run("CREATE TABLE p (id INT PRIMARY KEY, n INT)");
    assert_eq!(execute(&mut c, insert, &[int(4), int(3)]), 1452);
    c.run("INSERT INTO p VALUES (3, 0)");
    assert_eq!(execute(&mut c, insert, &[int(4), int(3)]), 0);
    assert_eq!(execute(&mut c, delete, &[int(3)]), 0);
    assert_eq!(c.one("SELECT COUNT(*) FROM c"), "0");
}

#[test]
fn a_foreign_key_waits_for_who_uses_its_tables() {
    let s = server();
    let (mut c, mut ddl) = (Client::in_test(&s), Client::in_test(&s));
    c.run("CREATE TABLE p (id INT PRIMARY KEY)");
    c.run("CREATE TABLE c (id INT PRIMARY KEY, pid INT)");
    c.run("INSERT INTO p VALUES (1)");
    c.run("INSERT INTO c VALUES (1, 1)");
    ddl.run("SET lock_wait_timeout = 1");
    let add = "ALTER TABLE c ADD CONSTRAINT f FOREIGN KEY (pid) REFERENCES p (id)";
    for used in ["DELETE FROM p", "INSERT INTO c VALUES (2, 2)"] {
        c.run("BEGIN");
        c.run(used);
        assert_eq!(ddl.error(add), 1205, "{used}");
        c.run("ROLLBACK");
    }
    assert_eq!(
        c.one("SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_NAME = 'c'"),
        "1"
    );
    ddl.run(add);
    // Whoever has changed a child uses its parent, too.
    c.run("BEGIN");
    c.run("INSERT INTO c VALUES (3, 1)");
    assert_eq!(ddl.error("ALTER TABLE p ADD COLUMN n INT"), 1205);
    assert_eq!(ddl.error("RENAME TABLE p TO q"), 1205);
    c.run("COMMIT");
    ddl.run("RENAME TABLE p TO q");
    assert_eq!(c.error("INSERT INTO c VALUES (4, 4)"), 1452);
}

#[test]
fn one_needs_references_on_the_parent() {
    let (s, _root) = stage();
    let mut u = Client::of(&s, "u");
    let all = PrivSet::of(Priv::Create)
        .with(Priv::Alter)
        .with(Priv::Insert)
        .with(Priv::Drop)
        .with(Priv::Index);
    let give = |a: &mut Account, schema: &str, set: PrivSet| {
        a.databases.insert(schema.into(), set);
    };
    change(&s, |a| give(a, "a", all));
    let far = "CREATE TABLE a.c (id INT, FOREIGN KEY (id) REFERENCES b.t (id))";
    // Without a schema the parent is of the child's.
    let near = "CREATE TABLE a.d (id INT, FOREIGN KEY (id) REFERENCES t (id))";
    assert_eq!((u.error(far), u.error(near)), (1142, 1142));
    change(&s, |a| {
        give(a, "a", all.with(Priv::References));
        give(a, "b", PrivSet::of(Priv::Select));
    });
    assert_eq!(u.error(far), 1142);
    u.run(near);
    assert_eq!(
        u.error("ALTER TABLE a.d ADD FOREIGN KEY (id) REFERENCES b.t (id)"),
        1142
    );
    change(&s, |a| {
        give(a, "a", all.with(Priv::References));
        give(a, "b", PrivSet::of(Priv::References));
    });
    u.run(far);
}

#[test]
fn nothing_is_said_of_a_table_that_one_may_not_know() {
    let (s, mut root) = stage();
    root.run("INSERT INTO b.t VALUES (1, 1)");
    root.run("CREATE TABLE a.c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES b.t (id))");
    root.run("INSERT INTO a.c VALUES (1)");
    let mut u = Client::of(&s, "u");
    let rows = PrivSet::of(Priv::Insert).with(Priv::Delete);
    let give = |a: &mut Account, schema: &str| {
        a.databases.insert(schema.into(), rows);
    };
    change(&s, |a| give(a, "a"));
    assert_eq!(u.error("INSERT INTO a.c VALUES (2)"), 1216);
    assert_eq!(u.run("INSERT IGNORE INTO a.c VALUES (2)").done.warnings, 1);
    assert_eq!(u.rows("SHOW WARNINGS")[0][1], "1216");
    change(&s, |a| give(a, "b"));
    assert_eq!(u.error("DELETE FROM b.t"), 1217);
    change(&s, |a| {
        give(a, "a");
        give(a, "b");
    });
    assert_eq!(u.error("INSERT INTO a.c VALUES (2)"), 1452);
    assert_eq!(u.error("DELETE FROM b.t"), 1451);
}

/// As on MariaDB 10.11: a row's entries are made in one index after the other, and before each its children and its parents are looked for.
#[test]
fn of_several_refusals_the_one_of_the_first_index_is_told() {
    let s = server();
    let mut c = Client::in_test(&s);
    for sql in [
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "INSERT INTO p VALUES (1), (2)",
        "CREATE TABLE a (id INT PRIMARY KEY, pid INT, u INT, UNIQUE f (pid), UNIQUE u (u), FOREIGN KEY (pid) REFERENCES p (id))",
        "CREATE TABLE b (id INT PRIMARY KEY, u INT, pid INT, UNIQUE u (u), UNIQUE f (pid), FOREIGN KEY (pid) REFERENCES p (id))",
        "INSERT INTO a VALUES (1, 1, 1), (2, 2, 2)",
        "INSERT INTO b (id, pid, u) VALUES (1, 1, 1), (2, 2, 2)",
        "CREATE TABLE q (id INT PRIMARY KEY, k INT, u INT, UNIQUE k (k), UNIQUE u (u))",
        "CREATE TABLE qc (id INT PRIMARY KEY, k INT, FOREIGN KEY (k) REFERENCES q (k))",
        "INSERT INTO q VALUES (1, 1, 1), (2, 2, 2)",
        "INSERT INTO qc VALUES (1, 1)",
        "CREATE TABLE m (id INT PRIMARY KEY, pid INT, k INT, UNIQUE f (pid), UNIQUE k (k), FOREIGN KEY (pid) REFERENCES p (id))",
        "CREATE TABLE mc (id INT PRIMARY KEY, k INT, FOREIGN KEY (k) REFERENCES m (k))",
        "INSERT INTO m VALUES (1, 1, 1)",
        "INSERT INTO mc VALUES (1, 1)",
        "CREATE TABLE r (id INT PRIMARY KEY, k INT, u INT, UNIQUE k (k), UNIQUE u (u))",
        "CREATE TABLE rc (id INT PRIMARY KEY, k INT, UNIQUE k (k), FOREIGN KEY (k) REFERENCES r (k) ON UPDATE CASCADE)",
        "INSERT INTO r VALUES (1, 1, 1), (2, 2, 2)",
        "SET foreign_key_checks = 0",
        "INSERT INTO rc VALUES (1, 1), (2, 7)",
        "CREATE TABLE s (id INT PRIMARY KEY, pid INT, t INT, FOREIGN KEY (pid) REFERENCES p (id))",
        "INSERT INTO s VALUES (1, 9, 0)",
        "CREATE TABLE s2 (id INT PRIMARY KEY, pid INT, v INT, UNIQUE v (v), FOREIGN KEY (pid) REFERENCES p (id))",
        "INSERT INTO s2 VALUES (1, 9, 1)",
        "SET foreign_key_checks = 1",
    ] {
        c.run(sql);
    }
    for (sql, code) in [
        ("UPDATE a SET pid = 9, u = 2 WHERE id = 1", 1452),
        ("UPDATE b SET pid = 9, u = 2 WHERE id = 1", 1062),
        ("UPDATE a SET id = 2, pid = 9 WHERE id = 1", 1062),
        (
            "INSERT INTO a VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE pid = 9, u = 2",
            1452,
        ),
        (
            "INSERT INTO b VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE pid = 9, u = 2",
            1062,
        ),
        ("UPDATE q SET k = 5, u = 2 WHERE id = 1", 1451),
        ("UPDATE q SET k = 2 WHERE id = 1", 1451),
        ("UPDATE m SET pid = 9, k = 9 WHERE id = 1", 1452),
        ("UPDATE r SET k = 7, u = 2 WHERE id = 1", 1761),
        ("UPDATE IGNORE r SET k = 7, u = 2 WHERE id = 1", 1761),
        ("UPDATE r SET k = 8, u = 2 WHERE id = 1", 1062),
        // An orphan that keeps its key is changed in its place.
        ("REPLACE INTO s VALUES (1, 9, 1)", 0),
        ("REPLACE INTO s VALUES (1, 8, 1)", 1452),
        ("REPLACE INTO s2 VALUES (1, 9, 2)", 1452),
        ("REPLACE INTO s2 VALUES (2, 9, 1)", 1452),
    ] {
        assert_eq!(c.error(sql), code, "{sql}");
    }
    // Nothing stays of a cascade that came before a duplicate.
    assert_eq!(
        c.rows("SELECT id, k FROM rc ORDER BY id"),
        [["1", "1"], ["2", "7"]]
    );
    c.run("UPDATE IGNORE a SET pid = 9, u = 2 WHERE id = 1");
    assert_eq!(c.rows("SHOW WARNINGS")[0][1], "1452");
    c.run("CREATE TABLE z (a INT, b INT)");
    c.run("CREATE VIEW zv AS SELECT b FROM z");
    c.run("INSERT INTO zv SELECT 5 LIMIT 1");
    assert_eq!(c.rows("SHOW WARNINGS")[0][1], "1355");
    c.run("INSERT INTO zv SELECT 5");
    assert!(c.rows("SHOW WARNINGS").is_empty());
}
