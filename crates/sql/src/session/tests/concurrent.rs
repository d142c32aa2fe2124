//! Threads that change the same rows: what was acknowledged is there, whatever form the statement has and whichever the isolation.

use std::sync::Arc;

use super::*;

const LEVELS: [&str; 4] = [
    "READ UNCOMMITTED",
    "READ COMMITTED",
    "REPEATABLE READ",
    "SERIALIZABLE",
];

/// As many at once.
const THREADS: usize = 8;

/// Statements that add one to `t.v` of the row 1, each in a way of its own. All of them read what they change as it is, at every level.
const ADD_ONE: &[&str] = &[
    "UPDATE t SET v = v + 1 WHERE id = 1",
    "UPDATE t SET v = v + 1 WHERE k = 7",
    "UPDATE t SET v = v + 1 WHERE id BETWEEN 0 AND 1",
    "UPDATE t SET v = v + 1 WHERE pad = 'x'",
    "UPDATE t SET v = v + 1 ORDER BY v DESC LIMIT 1",
    "UPDATE t SET v = v + 1, k = 15 - k WHERE id = 1",
    "UPDATE t JOIN u ON t.id = u.id SET t.v = t.v + u.w WHERE u.id = 1",
    "UPDATE t LEFT JOIN u ON t.id = u.id SET t.v = t.v + u.w WHERE t.id = 1",
    "UPDATE u LEFT JOIN t ON t.id = u.id SET t.v = t.v + u.w WHERE u.id = 1",
    "UPDATE t, u SET t.v = t.v + u.w WHERE t.id = u.id AND u.id = 1",
    "UPDATE t, u SET t.v = t.v + 1, u.n = u.n + 1 WHERE t.id = u.id AND t.k = 7",
    "UPDATE t JOIN (SELECT 1 AS id, 1 AS w) d ON d.id = t.id SET t.v = t.v + d.w",
    "UPDATE t STRAIGHT_JOIN u SET t.v = t.v + u.w WHERE t.pad = 'x' AND u.w = 1 AND u.id = t.id",
    "UPDATE t SET v = v + (SELECT w FROM u WHERE u.id = t.id) WHERE id = 1",
    "UPDATE t SET v = v + (SELECT w FROM u WHERE id = 1) WHERE id = 1",
    "UPDATE t SET v = v + 1 WHERE id = 1 AND EXISTS (SELECT 1 FROM u WHERE u.id = t.id)",
    "UPDATE t SET v = v + 1 WHERE id IN (SELECT id FROM u WHERE w = 1)",
    "INSERT INTO t VALUES (1, 7, 0, 'x') ON DUPLICATE KEY UPDATE v = v + 1",
    "INSERT INTO t SELECT id, 7, 0, 'x' FROM u WHERE id = 1 ON DUPLICATE KEY UPDATE v = v + 1",
    "INSERT INTO t SET id = 1, k = 7, v = 0, pad = 'x' ON DUPLICATE KEY UPDATE v = v + VALUES(id)",
    "UPDATE t SET v = v + 1 WHERE k IN (7, 8) ORDER BY k, id LIMIT 1",
    "UPDATE t SET v = v + 1 WHERE id = (SELECT MIN(id) FROM u)",
    "UPDATE t SET v = v + (SELECT COUNT(*) FROM u WHERE u.id <= t.id) WHERE id = 1",
    "UPDATE t RIGHT JOIN u ON t.id = u.id SET t.v = t.v + u.w WHERE u.w = 1",
    "UPDATE t JOIN u USING (id) SET t.v = t.v + u.w, t.k = 15 - t.k WHERE u.id = 1",
    "UPDATE t JOIN t AS other ON other.id = t.id SET t.v = t.v + 1 WHERE t.id = 1",
    "UPDATE u, t SET t.v = t.v + u.w, u.n = u.n + 1 WHERE t.id = u.id AND t.pad = 'x'",
    "UPDATE t, u SET t.v = t.v + 1 WHERE t.id = u.id AND u.n >= 0 AND t.id IN (SELECT id FROM q1)",
];

/// Statements that add one by way of a copy. Below REPEATABLE READ they read it without a lock, as MySQL's manual says of `INSERT ...
/// SELECT` and of subqueries; from there on nothing may be lost.
const ADD_ONE_BY_A_COPY: &[&str] = &[
    "REPLACE INTO t SELECT id, k, v + 1, pad FROM t AS old WHERE id = 1",
    "INSERT INTO t SELECT id, k, v + 1, pad FROM t AS old WHERE id = 1 ON DUPLICATE KEY UPDATE v = VALUES(v)",
    "UPDATE t SET v = (SELECT v + 1 FROM (SELECT v FROM t WHERE id = 1) AS old) WHERE id = 1",
    "UPDATE t JOIN (SELECT id, v FROM t WHERE id = 1) AS old ON old.id = t.id SET t.v = old.v + 1",
];

/// The same in two statements: the first locks what the second goes by.
const ADD_ONE_IN_TWO: &[[&str; 2]] = &[
    [
        "SELECT v INTO @v FROM t WHERE id = 1 FOR UPDATE",
        "UPDATE t SET v = @v + 1 WHERE id = 1",
    ],
    [
        "SELECT v INTO @v FROM t WHERE k = 7 FOR UPDATE",
        "UPDATE t JOIN u ON u.id = t.id SET t.v = @v + u.w WHERE t.k = 7",
    ],
    [
        "SELECT t.v INTO @v FROM t JOIN u ON u.id = t.id WHERE u.id = 1 FOR UPDATE",
        "REPLACE INTO t VALUES (1, 7, @v + 1, 'x')",
    ],
    [
        "SELECT v INTO @v FROM t WHERE pad = 'x' LOCK IN SHARE MODE",
        "INSERT INTO t VALUES (1, 7, 0, 'x') ON DUPLICATE KEY UPDATE v = @v + 1",
    ],
    [
        "SELECT w INTO @w FROM u WHERE id = 1 FOR UPDATE",
        "UPDATE t, u SET t.v = t.v + @w, u.n = u.n + 1 WHERE t.id = u.id AND u.id = 1",
    ],
];

/// Statements that take the row `{i}` out of `q`, where its `state` is still 0.
const TAKE: &[&str] = &[
    "DELETE FROM q WHERE id = {i} AND state = 0",
    "DELETE q FROM q JOIN u ON u.id = 1 WHERE q.id = {i} AND q.state = 0",
    "DELETE FROM q USING u LEFT JOIN q ON q.id = {i} WHERE q.state = 0 AND u.id = 1",
    "DELETE FROM q WHERE id = {i} AND state = (SELECT MIN(n) * 0 FROM u WHERE u.id >= q.id - q.id)",
    "UPDATE q SET state = 1 WHERE id = {i} AND state = 0",
    "UPDATE q JOIN u ON u.id = 1 SET q.state = u.w WHERE q.id = {i} AND q.state = 0",
    "UPDATE q, u SET q.state = 1 WHERE q.id = {i} AND u.id = 1 AND q.state = u.w - 1",
];

fn prepared() -> Arc<Instance> {
    let s = server();
    let mut c = Client::in_test(&s);
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT, pad VARCHAR(9), KEY (k))",
        "CREATE TABLE u (id INT PRIMARY KEY, w INT, n INT)",
        "CREATE TABLE q (id INT PRIMARY KEY, state INT)",
        "CREATE TABLE q1 (id INT PRIMARY KEY)",
        "CREATE TABLE numbers (id INT PRIMARY KEY)",
        "INSERT INTO q1 VALUES (1)",
        "INSERT INTO t VALUES (1, 7, 0, 'x'), (2, 9, -1000000, 'y')",
        "INSERT INTO u VALUES (1, 1, 0), (3, 5, 0)",
    ] {
        c.run(sql);
    }
    s
}

/// Runs a statement until it is not one that a client must repeat; the rows it changed.
fn at_last(c: &mut Client, sql: &str) -> u64 {
    loop {
        match c.try_all(sql) {
            Ok(mut r) => return r.pop().map_or(0, |r| r.done.affected),
            Err(e) if matches!(e.code, 1205 | 1213) => {}
            Err(e) => panic!("{sql}: {e}"),
        }
    }
}

/// Runs two statements as one transaction until it is committed.
fn both_at_last(c: &mut Client, statements: &[&str; 2]) {
    'again: loop {
        c.run("BEGIN");
        for sql in statements {
            match c.try_all(sql) {
                Ok(_) => {}
                Err(e) if matches!(e.code, 1205 | 1213) => {
                    c.run("ROLLBACK");
                    continue 'again;
                }
                Err(e) => panic!("{sql}: {e}"),
            }
        }
        c.run("COMMIT");
        return;
    }
}

/// Runs the same in several threads at once, each with its connection and number.
fn threads<T: Send>(
    s: &Arc<Instance>,
    level: &str,
    n: usize,
    work: impl Fn(usize, &mut Client) -> T + Sync,
) -> Vec<T> {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..n)
            .map(|i| {
                let work = &work;
                scope.spawn(move || {
                    let mut c = Client::in_test(s);
                    c.run(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
                    work(i, &mut c)
                })
            })
            .collect();
        all.into_iter()
            .map(|t| t.join().expect("no panic"))
            .collect()
    })
}

/// Each thread adds one so often; all of it is in the sum.
fn nothing_is_lost(levels: &[&str], form: &str, add: impl Fn(&mut Client) + Sync) {
    const EACH: usize = 25;
    let s = prepared();
    let mut c = Client::in_test(&s);
    for level in levels {
        c.run("UPDATE t SET v = 0, k = 7 WHERE id = 1");
        threads(&s, level, THREADS, |_, c| (0..EACH).for_each(|_| add(c)));
        let v = c.one("SELECT v FROM t WHERE id = 1");
        assert_eq!(v, (THREADS * EACH).to_string(), "{level}: {form}");
    }
}

#[test]
fn no_acknowledged_change_is_lost() {
    for sql in ADD_ONE {
        nothing_is_lost(&LEVELS, sql, |c| {
            at_last(c, sql);
        });
    }
}

#[test]
fn no_change_by_a_copy_is_lost() {
    for sql in ADD_ONE_BY_A_COPY {
        nothing_is_lost(&LEVELS[2..], sql, |c| {
            at_last(c, sql);
        });
    }
}

#[test]
fn no_change_of_what_was_locked_is_lost() {
    for two in ADD_ONE_IN_TWO {
        nothing_is_lost(&LEVELS, &two.join("; "), |c| both_at_last(c, two));
    }
}

/// The next number, from those that are there: a duplicate is tried again, and none is given twice or left out.
#[test]
fn a_number_made_from_those_there_is_made_once() {
    const EACH: usize = 25;
    let s = prepared();
    let mut c = Client::in_test(&s);
    for level in LEVELS {
        c.run("DELETE FROM numbers");
        let repeated = threads(&s, level, THREADS, |_, c| {
            let mut repeated = 0;
            for _ in 0..EACH {
                let sql = "INSERT INTO numbers SELECT COALESCE(MAX(id), 0) + 1 FROM numbers AS old";
                while let Err(e) = c.try_all(sql) {
                    assert!(matches!(e.code, 1062 | 1205 | 1213), "{e}");
                    repeated += 1;
                }
            }
            repeated
        });
        // Each that goes through may have been in the way of all others, but they do not keep each other from it.
        let most = THREADS * THREADS * EACH;
        let repeated: usize = repeated.into_iter().sum();
        assert!(level != LEVELS[3] || repeated <= most, "{repeated}");
        let all = c.one("SELECT CONCAT(COUNT(*), ' ', MIN(id), ' ', MAX(id)) FROM numbers");
        let n = THREADS * EACH;
        assert_eq!(all, format!("{n} 1 {n}"), "{level}");
    }
}

/// All forms at once, each in a thread of its own, over the same rows.
#[test]
fn every_form_takes_what_no_other_took() {
    const ROWS: usize = 80;
    let s = prepared();
    let mut c = Client::in_test(&s);
    for level in LEVELS {
        c.run("DELETE FROM q");
        let rows: Vec<String> = (0..ROWS).map(|i| format!("({i}, 0)")).collect();
        c.run(&format!("INSERT INTO q VALUES {}", rows.join(", ")));
        let taken = threads(&s, level, THREADS, |i, c| {
            let form = TAKE[i % TAKE.len()];
            (0..ROWS)
                .map(|i| at_last(c, &form.replace("{i}", &i.to_string())))
                .sum::<u64>()
        });
        let all: u64 = taken.iter().sum();
        assert_eq!(all, ROWS as u64, "{level}: {taken:?}");
    }
}

#[test]
fn what_is_there_once_is_taken_once() {
    const ROWS: usize = 60;
    let s = prepared();
    let mut c = Client::in_test(&s);
    for level in LEVELS {
        for first in TAKE {
            for second in TAKE {
                c.run("DELETE FROM q");
                let rows: Vec<String> = (0..ROWS).map(|i| format!("({i}, 0)")).collect();
                c.run(&format!("INSERT INTO q VALUES {}", rows.join(", ")));
                let taken = threads(&s, level, 2, |i, c| {
                    let sql = [first, second][i];
                    (0..ROWS)
                        .map(|i| at_last(c, &sql.replace("{i}", &i.to_string())))
                        .sum::<u64>()
                });
                let all: u64 = taken.iter().sum();
                assert_eq!(all, ROWS as u64, "{level}: {first} and {second}: {taken:?}");
            }
        }
    }
}
