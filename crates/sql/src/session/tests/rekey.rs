//! ALTER TABLE that gives rows another clustered key, or a table without one another form, beside writers.

use super::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const WRITERS: i64 = 2;
const ROWS: i64 = 1500;

fn sound(c: &mut Client) {
    let rows = c.rows("CHECK TABLE t");
    assert_eq!(rows[0][3], "OK", "{rows:?}");
}

/// Rows by `id`, which no index makes unique where there is none: `a`, `b`.
type Rows = BTreeMap<i64, (i64, String)>;

fn fill(c: &mut Client, keys: &str) -> Rows {
    c.run(&format!(
        "CREATE TABLE t (id INT NOT NULL, a INT NOT NULL, b TEXT{keys})"
    ));
    let mut rows = Rows::new();
    for first in (0..ROWS).step_by(100) {
        let mut values = Vec::new();
        for id in first..first + 100 {
            let (a, b) = (id * 7919 % 1009, "x".repeat(id as usize % 50));
            values.push(format!("({id}, {a}, '{b}')"));
            rows.insert(id, (a, b));
        }
        c.run(&format!("INSERT INTO t VALUES {}", values.join(",")));
    }
    rows
}

/// Changes, moves, takes out and puts rows of its own until told to stop; gives what is there then.
fn write(mut c: Client, n: i64, mut rows: Rows, stop: &AtomicBool) -> (Rows, u64) {
    rows.retain(|id, _| id % WRITERS == n);
    let (mut x, mut done) = (base::seed::nth("rekey", n as u64), 0);
    let mut again = || {
        x = x
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (x >> 33) as i64
    };
    while !stop.load(Ordering::Relaxed) {
        let id = again() % (ROWS / WRITERS) * WRITERS + n;
        let a = again() % 5000;
        // Long ones are kept outside of their page.
        let b = "y".repeat(if a % 50 == 0 { 9000 } else { a as usize % 90 });
        let there = rows.contains_key(&id);
        let statement = match (there, a % 5) {
            (false, _) => format!("INSERT INTO t (id, a, b) VALUES ({id}, {a}, '{b}')"),
            (true, 0) => format!("DELETE FROM t WHERE id = {id}"),
            (true, 1) => format!("UPDATE t SET b = '{b}' WHERE id = {id}"),
            (true, _) => format!("UPDATE t SET a = {a}, b = '{b}' WHERE id = {id}"),
        };
        let kept = a % 7 > 0;
        c.run("BEGIN");
        while let Err(e) = c.try_all(&statement) {
            // Its snapshot is older than the table's new file.
            assert_eq!(e.code, 1412, "{statement}: {e}");
            c.run("ROLLBACK");
            c.run("BEGIN");
        }
        c.run(if kept { "COMMIT" } else { "ROLLBACK" });
        done += 1;
        if !kept {
            continue;
        }
        match (there, a % 5) {
            (true, 0) => {
                rows.remove(&id);
            }
            (true, 1) => rows.get_mut(&id).expect("a row").1 = b,
            _ => {
                rows.insert(id, (a, b));
            }
        }
    }
    (rows, done)
}

/// Makes the changes of a table with these keys one after the other beside writers, who must have got on during each.
fn while_rows_change(keys: &str, statements: &[&str]) {
    let s = server();
    let mut c = Client::in_test(&s);
    let rows = fill(&mut c, keys);
    let stop = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let (stop, s) = (&stop, &s);
        let begin = |n| {
            let rows = rows.clone();
            scope.spawn(move || write(Client::in_test(s), n, rows, stop))
        };
        let writers: Vec<_> = (0..WRITERS).map(begin).collect();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for statement in statements {
                c.run(statement);
            }
        }));
        stop.store(true, Ordering::Relaxed);
        let written: Vec<_> = writers
            .into_iter()
            .map(|w| w.join().expect("no panic"))
            .collect();
        result.expect("the changes are made");
        written
    });
    sound(&mut c);
    let mut all = Rows::new();
    for (rows, done) in written {
        assert!(done > 20, "{done} transactions");
        all.extend(rows);
    }
    let there = c.rows("SELECT id, a, b FROM t ORDER BY id");
    let expected: Vec<Vec<String>> = all
        .into_iter()
        .map(|(id, (a, b))| vec![id.to_string(), a.to_string(), b])
        .collect();
    assert_eq!(there.len(), expected.len());
    for (t, e) in there.iter().zip(&expected) {
        assert_eq!(t, e);
    }
}

#[test]
fn rows_get_another_primary_key_beside_writers() {
    while_rows_change(
        ", PRIMARY KEY (id)",
        &[
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a, id), ADD UNIQUE KEY id (id), LOCK=NONE",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id DESC), ADD COLUMN c INT DEFAULT 5, LOCK=NONE",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (b(20), id), MODIFY b TEXT NOT NULL, DROP COLUMN c, ROW_FORMAT=COMPRESSED, LOCK=NONE",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id), ROW_FORMAT=DYNAMIC, LOCK=NONE",
        ],
    );
}

#[test]
fn a_table_without_a_key_is_rebuilt_and_gets_one_beside_writers() {
    while_rows_change(
        ", KEY id (id)",
        &[
            "ALTER TABLE t FORCE, LOCK=NONE",
            "ALTER TABLE t ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4, LOCK=NONE",
            "ALTER TABLE t MODIFY a BIGINT NOT NULL, LOCK=NONE",
            "ALTER TABLE t ADD UNIQUE KEY (id, a)",
            "ALTER TABLE t ADD PRIMARY KEY (id), LOCK=NONE",
        ],
    );
}

#[test]
fn two_keys_of_the_same_type_are_not_taken_for_each_other() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT NOT NULL)");
    c.run("INSERT INTO t VALUES (1, 10), (2, 5), (3, 7)");
    c.run("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a)");
    assert_eq!(
        c.rows("SELECT * FROM t"),
        [["2", "5"], ["3", "7"], ["1", "10"]]
    );
    assert_eq!(c.one("SELECT id FROM t WHERE a = 7"), "3");
    sound(&mut c);
}

#[test]
fn numbers_of_a_table_without_a_key_stay_apart() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT)");
    c.run("INSERT INTO t VALUES (1), (2), (3)");
    for n in 4..8 {
        c.run("ALTER TABLE t FORCE, LOCK=NONE");
        c.run(&format!("INSERT INTO t VALUES ({n})"));
        c.run("ALTER TABLE t MODIFY id INT, ALGORITHM=COPY");
        c.run("DELETE FROM t WHERE id = 2");
    }
    assert_eq!(
        c.rows("SELECT * FROM t"),
        [["1"], ["3"], ["4"], ["5"], ["6"], ["7"]]
    );
    sound(&mut c);
}

#[test]
fn a_key_that_does_not_follow_from_the_row_keeps_writers_away() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT NOT NULL)");
    c.run("INSERT INTO t VALUES (1, 10), (2, 5), (3, 7)");
    for statement in [
        "ALTER TABLE t DROP PRIMARY KEY, LOCK=NONE",
        "ALTER TABLE t DROP PRIMARY KEY, ADD COLUMN u VARCHAR(36) NOT NULL DEFAULT (UUID()) PRIMARY KEY, LOCK=NONE",
        "ALTER TABLE t DROP PRIMARY KEY, ADD COLUMN n INT AUTO_INCREMENT PRIMARY KEY, LOCK=SHARED",
    ] {
        assert_eq!(c.error(statement), 1846, "{statement}");
    }
    c.run("ALTER TABLE t DROP PRIMARY KEY, ADD COLUMN u VARCHAR(36) NOT NULL DEFAULT (UUID()) PRIMARY KEY");
    assert_eq!(c.one("SELECT COUNT(DISTINCT u) FROM t"), "3");
    sound(&mut c);
}

#[test]
fn rows_in_another_order_are_sorted_piece_by_piece() {
    const N: i64 = 3001;
    let mut c = Client::in_test(&server_that_sorts(Arc::new(MemDisk::default()), 40_000));
    c.run("CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b TEXT)");
    // Numbers from 0 on, each once, in no order; in every eleventh row a long text.
    let text = |id: i64| "z".repeat(if id % 11 == 0 { 9000 } else { 40 });
    for first in (0..N).step_by(100) {
        let row = |id: i64| format!("({id}, {}, '{}')", id * 1013 % N, text(id));
        let rows: Vec<String> = (first..(first + 100).min(N)).map(row).collect();
        c.run(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    }
    for keys in ["a", "a DESC", "b(5), a", "id"] {
        c.run(&format!(
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY ({keys}), MODIFY b TEXT NOT NULL"
        ));
        sound(&mut c);
        let rows = c.rows("SELECT id, a, LENGTH(b) FROM t ORDER BY a");
        assert_eq!(rows.len() as i64, N);
        for (a, row) in rows.iter().enumerate() {
            let id: i64 = row[0].parse().expect("a number");
            let all = [id, id * 1013 % N, text(id).len() as i64].map(|n| n.to_string());
            assert_eq!(row, &all, "{keys}");
            assert_eq!(row[1], a.to_string(), "{keys}");
        }
    }
    let refused = |c: &mut Client| {
        let e = c.try_all("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a, b(3))");
        let e = e.expect_err("1062");
        sound(c);
        (e.code, e.message)
    };
    let twice = |a: i64| {
        (
            1062,
            format!("Duplicate entry '{a}-zzz' for key 't.PRIMARY'"),
        )
    };
    // Far from each other, side by side, and the last row.
    for (from, to) in [(5, 2900), (2000, 2001), (17, N - 1)] {
        c.run("BEGIN");
        let a = c.one(&format!("SELECT a FROM t WHERE id = {from}"));
        let was = c.one(&format!("SELECT a FROM t WHERE id = {to}"));
        c.run(&format!("UPDATE t SET a = {a} WHERE id = {to}"));
        c.run("COMMIT");
        assert_eq!(
            refused(&mut c),
            twice(a.parse().expect("a number")),
            "{from} {to}"
        );
        c.run(&format!("UPDATE t SET a = {was} WHERE id = {to}"));
    }
}
