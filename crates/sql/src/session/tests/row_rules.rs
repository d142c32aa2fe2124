//! CHECK constraints and generated columns where something else goes on: beside writers, after a restart, and what the planted bugs break.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn sound(c: &mut Client, table: &str) {
    let rows = c.rows(&format!("CHECK TABLE {table}"));
    assert_eq!(rows[0][3], "OK", "{rows:?}");
}

#[test]
fn a_row_in_the_place_of_another_is_checked() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, CHECK (v >= 0))");
    c.run("INSERT INTO t VALUES (1, 5)");
    let upsert = "INSERT INTO t VALUES (1, 6) ON DUPLICATE KEY UPDATE v = VALUES(v) - 9";
    assert_eq!(c.error(upsert), 3819);
    assert_eq!(c.one("SELECT v FROM t"), "5");
}

/// MySQL counts the rows that it tries to write.
#[test]
fn a_row_that_ignore_leaves_out_for_a_rule_is_no_record() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, CHECK (v >= 0))");
    c.run("CREATE VIEW w AS SELECT id, v FROM t WHERE v < 9 WITH CHECK OPTION");
    let said = |c: &mut Client, sql: &str| c.run(sql).done.info;
    assert_eq!(
        said(
            &mut c,
            "INSERT IGNORE INTO t VALUES (1, 1), (2, -1), (1, 3)"
        ),
        "Records: 2  Duplicates: 1  Warnings: 2"
    );
    assert_eq!(
        said(
            &mut c,
            "INSERT IGNORE INTO w SELECT id + 4, v * 9 FROM t UNION ALL SELECT 5, 5"
        ),
        "Records: 1  Duplicates: 0  Warnings: 1"
    );
    assert_eq!(c.rows("SELECT * FROM t"), [["1", "1"], ["5", "5"]]);
}

#[test]
fn an_index_of_a_generated_column_follows_its_row() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT AS (a * 2) VIRTUAL, KEY (b))");
    c.run("INSERT INTO t (id, a) VALUES (1, 1), (2, 2)");
    c.run("UPDATE t SET a = 10 WHERE id = 1");
    let by_index = "SELECT id FROM t FORCE INDEX (b) WHERE b = ";
    assert_eq!(c.rows(&format!("{by_index}20")), [["1"]]);
    assert!(c.rows(&format!("{by_index}2")).is_empty());
    sound(&mut c, "t");
}

#[test]
fn rows_that_are_there_are_looked_at() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    c.run("INSERT INTO t VALUES (1, -5)");
    assert_eq!(c.error("ALTER TABLE t ADD CHECK (v >= 0)"), 3819);
    assert_eq!(
        c.error("ALTER TABLE t ADD w INT DEFAULT 1 CHECK (w > 1)"),
        3819
    );
    c.run("INSERT INTO t VALUES (2, -6)");
}

/// What writers do while a constraint comes is there, and keeps it; or the constraint does not come.
#[test]
fn a_constraint_that_comes_beside_writers_holds_of_all_rows() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT AS (v + 1) STORED, KEY (w))");
    for first in (0..2000).step_by(200) {
        let rows: Vec<String> = (first..first + 200)
            .map(|i| format!("({i}, {i})"))
            .collect();
        c.run(&format!("INSERT INTO t (id, v) VALUES {}", rows.join(",")));
    }
    let stop = AtomicBool::new(false);
    let came = thread::scope(|scope| {
        scope.spawn(|| {
            let mut c = Client::in_test(&s);
            let mut x = base::seed::nth("row rules", 0);
            while !stop.load(Ordering::Relaxed) {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (id, v) = ((x >> 33) % 2000, (x >> 45) as i64 % 400 - 1);
                let r = c.try_all(&format!("UPDATE t SET v = {v} WHERE id = {id}"));
                let code = r.map_or_else(|e| e.code, |_| 0);
                assert!(matches!(code, 0 | 3819 | 1412), "{code}");
                // What would stop the constraint does not stay for long.
                c.run("UPDATE t SET v = 0 WHERE v < 0");
            }
        });
        let mut came = 0;
        for n in 0..6 {
            let name = format!("low_{n}");
            let add = format!("ALTER TABLE t ADD CONSTRAINT {name} CHECK (v >= 0)");
            match c.error(&add) {
                0 => {
                    came += 1;
                    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE v < 0"), "0");
                    c.run(&format!("ALTER TABLE t DROP CHECK {name}"));
                }
                code => assert_eq!(code, 3819),
            }
        }
        stop.store(true, Ordering::Relaxed);
        came
    });
    c.run("UPDATE t SET v = 0 WHERE v < 0");
    c.run("ALTER TABLE t ADD CHECK (v >= 0)");
    assert_eq!(c.error("UPDATE t SET v = -1 WHERE id = 7"), 3819);
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE w <> v + 1"), "0");
    sound(&mut c, "t");
    println!("{came} of 6 came");
}

#[test]
fn definitions_come_back_as_they_were() {
    let disk = Arc::new(MemDisk::default());
    let s = server_on(disk.clone());
    let mut c = Client::in_test(&s);
    c.run(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT AS (a + 1) VIRTUAL, d INT AS (b * 2) STORED, \
         KEY (b), CHECK (a < 10), CONSTRAINT off_for_now CHECK (d > 0) NOT ENFORCED)",
    );
    c.run("INSERT INTO t (id, a) VALUES (1, 1)");
    let text = c.rows("SHOW CREATE TABLE t");
    drop(c);
    block_on(s.engine().close()).expect("closed");
    drop(s);
    let mut c = Client::in_test(&server_on(disk));
    assert_eq!(c.rows("SHOW CREATE TABLE t"), text);
    assert_eq!(c.error("UPDATE t SET a = 10"), 3819);
    c.run("UPDATE t SET a = -5");
    assert_eq!(
        c.rows("SELECT a, b, d FROM t FORCE INDEX (b) WHERE b = -4"),
        [["-5", "-4", "-8"]]
    );
    // The text makes the same table again.
    let again = text[0][1].clone();
    c.run("DROP TABLE t");
    c.run(&again);
    assert_eq!(c.rows("SHOW CREATE TABLE t"), text);
}
