//! Foreign keys beside what other statements know: plans, accounts, a restart, transactions that are open.

use super::access::{change, stage};
use super::*;
use crate::access::{Account, Priv, PrivSet};

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
