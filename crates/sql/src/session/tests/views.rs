//! Views: whose rights they read with, what they tell, and what becomes of plans and of a server's start.

use std::sync::Arc;

use base::mem::MemDisk;

use super::{Client, server, server_on};
use crate::session::Instance;

/// A server with `test.t`, an account `d` that may do everything in `test`, and `u` that may do nothing.
fn stage() -> (Arc<Instance>, Client, Client, Client) {
    let s = server();
    let mut root = Client::in_test(&s);
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, secret INT)",
        "INSERT INTO t VALUES (1, 10, 100), (2, 20, 200)",
        "CREATE USER d@localhost, u@localhost",
        "GRANT ALL ON test.* TO d@localhost",
    ] {
        root.run(sql);
    }
    let d = Client::of(&s, "d");
    let u = Client::of(&s, "u");
    (s, root, d, u)
}

#[test]
fn a_definer_view_needs_rights_on_itself_alone() {
    let (_s, mut root, mut d, mut u) = stage();
    d.run("CREATE VIEW test.v AS SELECT id, v FROM test.t");
    assert_eq!(u.error("SELECT * FROM test.v"), 1142);
    root.run("GRANT SELECT ON test.v TO u@localhost");
    assert_eq!(u.rows("SELECT * FROM test.v"), [["1", "10"], ["2", "20"]]);
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
    assert_eq!(u.error("UPDATE test.v SET v = 1"), 1142);
    root.run("GRANT UPDATE (v) ON test.v TO u@localhost");
    u.run("UPDATE test.v SET v = 11 WHERE id = 1");
    assert_eq!(u.error("UPDATE test.v SET id = 11 WHERE id = 1"), 1143);
    assert_eq!(u.error("DELETE FROM test.v"), 1142);
    assert_eq!(u.error("INSERT INTO test.v VALUES (3, 3)"), 1142);
    root.run("GRANT INSERT, DELETE ON test.v TO u@localhost");
    u.run("INSERT INTO test.v VALUES (3, 3)");
    u.run("DELETE FROM test.v WHERE id = 3");
    // What the definer loses, the view loses. Nothing tells what is below.
    root.run("REVOKE ALL ON test.* FROM d@localhost");
    let e = u.try_all("SELECT * FROM test.v").expect_err("no rights");
    assert_eq!(e.code, 1356);
    assert!(
        !e.message.contains("secret") && !e.message.contains("'t'"),
        "{e}"
    );
    assert_eq!(u.error("UPDATE test.v SET v = 1"), 1356);
    assert_eq!(u.error("DELETE FROM test.v"), 1356);
    assert_eq!(u.error("INSERT INTO test.v VALUES (4, 4)"), 1356);
}

#[test]
fn an_invoker_view_needs_rights_on_what_it_reads() {
    let (_s, mut root, mut d, mut u) = stage();
    d.run("CREATE SQL SECURITY INVOKER VIEW test.i AS SELECT id, v FROM test.t");
    root.run("GRANT SELECT, UPDATE ON test.i TO u@localhost");
    assert_eq!(u.error("SELECT * FROM test.i"), 1356);
    root.run("GRANT SELECT (id, v) ON test.t TO u@localhost");
    assert_eq!(u.rows("SELECT v FROM test.i"), [["10"], ["20"]]);
    assert_eq!(u.error("UPDATE test.i SET v = 1"), 1356);
    // In a definer's view it reads as that definer.
    d.run("CREATE VIEW test.o AS SELECT v FROM test.i");
    root.run("REVOKE SELECT (id, v) ON test.t FROM u@localhost");
    root.run("GRANT SELECT ON test.o TO u@localhost");
    assert_eq!(u.rows("SELECT v FROM test.o"), [["10"], ["20"]]);
    assert_eq!(u.error("SELECT * FROM test.i"), 1356);
}

#[test]
fn a_view_speaks_of_its_definer() {
    let (_s, mut root, mut d, mut u) = stage();
    d.run("CREATE VIEW test.who AS SELECT CURRENT_USER() AS c, USER() AS u");
    d.run("CREATE SQL SECURITY INVOKER VIEW test.me AS SELECT CURRENT_USER() AS c");
    root.run("GRANT SELECT ON test.who TO u@localhost");
    root.run("GRANT SELECT ON test.me TO u@localhost");
    assert_eq!(
        u.rows("SELECT * FROM test.who"),
        [["d@localhost", "u@localhost"]]
    );
    assert_eq!(u.one("SELECT c FROM test.me"), "u@localhost");
}

#[test]
fn definers_are_set_by_who_may() {
    let (_s, mut root, mut d, _) = stage();
    let as_root = "CREATE DEFINER = 'root'@'localhost' VIEW test.v AS SELECT 1 AS a";
    assert_eq!(d.error(as_root), 1227);
    d.run("CREATE DEFINER = CURRENT_USER VIEW test.own AS SELECT 1 AS a");
    root.run("CREATE DEFINER = 'nobody'@'%' VIEW test.n AS SELECT 1 AS a FROM test.t");
    assert_eq!(root.one("SHOW WARNINGS"), "Note");
    assert_eq!(d.error("SELECT * FROM test.n"), 1045);
    root.run("GRANT SET_USER_ID ON *.* TO d@localhost");
    assert_eq!(d.error("SELECT * FROM test.n"), 1449);
    // Who alters somebody else's needs as much, and leaves it his.
    root.run("REVOKE SET_USER_ID ON *.* FROM d@localhost");
    assert_eq!(d.error("ALTER VIEW test.n AS SELECT 2 AS a"), 1227);
    root.run("ALTER VIEW test.own AS SELECT 2 AS a");
    let shown = root.one("SELECT DEFINER FROM information_schema.VIEWS WHERE TABLE_NAME = 'own'");
    assert_eq!(shown, "d@localhost");
}

#[test]
fn making_a_view_needs_rights() {
    let (_s, mut root, _, mut u) = stage();
    let make = "CREATE VIEW test.v AS SELECT id FROM test.t";
    assert_eq!(u.error(make), 1142);
    root.run("GRANT CREATE, CREATE VIEW ON test.v TO u@localhost");
    assert_eq!(u.error(make), 1142);
    root.run("GRANT SELECT (id) ON test.t TO u@localhost");
    u.run(make);
    assert_eq!(
        u.error("CREATE OR REPLACE VIEW test.v AS SELECT id FROM test.t"),
        1142
    );
    root.run("GRANT DROP ON test.v TO u@localhost");
    assert_eq!(
        u.error("CREATE OR REPLACE VIEW test.v AS SELECT secret FROM test.t"),
        1143
    );
    assert_eq!(
        u.error("CREATE OR REPLACE VIEW test.v AS SELECT id FROM test.t WHERE secret > 0"),
        1143
    );
    u.run("CREATE OR REPLACE VIEW test.v AS SELECT id + 1 AS n FROM test.t");
    assert_eq!(u.error("SHOW CREATE VIEW test.v"), 1142);
    root.run("GRANT SELECT, SHOW VIEW ON test.v TO u@localhost");
    u.run("SHOW CREATE VIEW test.v");
    // EXPLAIN would tell of the tables.
    u.run("EXPLAIN SELECT * FROM test.v");
    root.run("REVOKE SHOW VIEW ON test.v FROM u@localhost");
    assert_eq!(u.error("EXPLAIN SELECT * FROM test.v"), 1345);
    assert_eq!(u.error("SHOW CREATE TABLE test.v"), 1142);
    assert_eq!(
        u.one("SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_NAME = 'v'"),
        ""
    );
}

#[test]
fn cached_and_prepared_plans_are_made_again() {
    let (_s, mut root, _, _) = stage();
    root.run("CREATE VIEW v AS SELECT v FROM t WHERE id = 1");
    root.run("PREPARE p FROM 'SELECT * FROM v'");
    for _ in 0..3 {
        assert_eq!(root.one("SELECT * FROM v"), "10");
        assert_eq!(root.one("EXECUTE p"), "10");
    }
    root.run("CREATE OR REPLACE VIEW v AS SELECT v * 2 AS v FROM t WHERE id = 2");
    assert_eq!(root.one("SELECT * FROM v"), "40");
    assert_eq!(root.one("EXECUTE p"), "40");
    root.run("DROP VIEW v");
    assert_eq!(root.error("EXECUTE p"), 1146);
    root.run("CREATE TABLE v (a INT)");
    root.run("INSERT INTO v VALUES (7)");
    assert_eq!(root.one("EXECUTE p"), "7");
}

#[test]
fn views_survive_a_start() {
    let disk = Arc::new(MemDisk::default());
    {
        let s = server_on(disk.clone());
        let mut c = Client::in_test(&s);
        c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
        c.run("CREATE VIEW v (a) AS SELECT id FROM t WHERE v > 1 WITH CHECK OPTION");
        c.run("CREATE VIEW gone AS SELECT 1 AS a");
        c.run("CREATE VIEW w AS SELECT a FROM v");
        c.run("CREATE OR REPLACE VIEW w AS SELECT a + 1 AS b FROM v");
        c.run("RENAME TABLE w TO x, v TO v2");
        c.run("DROP VIEW gone");
        c.run("CREATE DATABASE other");
        c.run("CREATE VIEW other.v AS SELECT 1 AS a");
        c.run("DROP DATABASE other");
        c.run("INSERT INTO t VALUES (1, 2)");
    }
    let s = server_on(disk);
    let mut c = Client::in_test(&s);
    assert_eq!(
        c.rows("SHOW FULL TABLES"),
        [["t", "BASE TABLE"], ["v2", "VIEW"], ["x", "VIEW"]]
    );
    assert_eq!(c.one("SELECT * FROM v2"), "1");
    assert_eq!(c.error("SELECT * FROM x"), 1356);
    assert_eq!(c.error("SELECT * FROM other.v"), 1049);
}

/// A planted bug is found by this.
#[test]
fn the_check_holds_of_a_row_that_takes_the_place_of_another() {
    let (_s, mut root, _, _) = stage();
    root.run("CREATE VIEW pos AS SELECT id, v FROM t WHERE v > 0 WITH CHECK OPTION");
    let upsert = "INSERT INTO pos VALUES (1, 5) ON DUPLICATE KEY UPDATE v =";
    assert_eq!(root.error(&format!("{upsert} -1")), 1369);
    root.run(&format!("{upsert} VALUES(v)"));
    assert_eq!(root.one("SELECT v FROM t WHERE id = 1"), "5");
    root.run(
        "INSERT IGNORE INTO pos SELECT id, 1 FROM t ON DUPLICATE KEY UPDATE v = IF(t.id = 1, -1, 3)",
    );
    assert_eq!(root.rows("SELECT v FROM t ORDER BY id"), [["5"], ["3"]]);
}

/// A planted bug is found by this.
#[test]
fn a_cascaded_check_holds_of_the_views_below() {
    let (_s, mut root, _, _) = stage();
    root.run("CREATE VIEW below AS SELECT id, v FROM t WHERE v < 100");
    root.run("CREATE VIEW middle AS SELECT id, v FROM below WHERE v <> 50");
    root.run("CREATE VIEW top AS SELECT id, v FROM middle WITH CASCADED CHECK OPTION");
    root.run("CREATE VIEW near AS SELECT id, v FROM middle WITH LOCAL CHECK OPTION");
    assert_eq!(root.error("INSERT INTO top VALUES (3, 100)"), 1369);
    assert_eq!(root.error("INSERT INTO top VALUES (3, 50)"), 1369);
    assert_eq!(root.error("UPDATE top SET v = 500 WHERE id = 1"), 1369);
    root.run("INSERT INTO near VALUES (3, 100)");
}

#[test]
fn views_in_views_end() {
    let (_s, mut root, _, _) = stage();
    root.run("CREATE VIEW v0 AS SELECT id, v FROM t");
    let mut deepest = 0;
    for i in 1..200 {
        let sql = format!("CREATE VIEW v{i} AS SELECT id, v FROM v{}", i - 1);
        match root.error(&sql) {
            0 => deepest = i,
            e => {
                assert_eq!(e, 1473, "{i}");
                break;
            }
        }
    }
    assert!((20..199).contains(&deepest), "{deepest}");
    root.run(&format!("SELECT * FROM v{deepest}"));
    // Many uses of one another are counted.
    root.run("CREATE VIEW w0 AS SELECT id FROM t");
    let mut refused = 0;
    for i in 1..30 {
        let before = i - 1;
        let sql =
            format!("CREATE VIEW w{i} AS SELECT a.id FROM w{before} a JOIN w{before} b USING (id)");
        refused = root.error(&sql);
        if refused != 0 {
            break;
        }
    }
    assert_eq!(refused, 1235);
    // A circle comes by names alone.
    root.run("CREATE TABLE base (id INT)");
    root.run("CREATE VIEW c1 AS SELECT id FROM base");
    root.run("CREATE VIEW c2 AS SELECT id FROM c1");
    root.run("DROP TABLE base");
    root.run("RENAME TABLE c2 TO base");
    assert_eq!(root.error("SELECT * FROM base"), 1462);
    assert_eq!(root.error("SELECT * FROM c1"), 1462);
    assert_eq!(root.error("UPDATE c1 SET id = 1"), 1462);
    root.run("SHOW CREATE VIEW c1");
    root.run("SELECT * FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'test'");
    root.run("DROP VIEW base, c1");
}
