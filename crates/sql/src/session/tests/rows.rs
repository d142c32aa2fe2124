//! Rows through the whole of the SQL layer: transactions, prepared statements, the statement cache.

use super::*;

#[test]
fn rows_are_written_and_read() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, v varchar(20))");
    let r = c.run("INSERT INTO t (v) VALUES ('a'), ('b')");
    assert_eq!((r.done.affected, r.done.last_insert_id), (2, 1));
    assert_eq!(c.one("SELECT LAST_INSERT_ID()"), "1");
    assert_eq!(c.rows("SELECT * FROM t"), [["1", "a"], ["2", "b"]]);
    assert_eq!(c.one("SELECT FOUND_ROWS()"), "2");
    assert_eq!(c.run("UPDATE t SET v = 'c' WHERE id = 2").done.affected, 1);
    assert_eq!(c.one("SELECT ROW_COUNT()"), "1");
    assert_eq!(c.error("INSERT INTO t VALUES (1, 'x')"), 1062);
    assert_eq!(c.run("DELETE FROM t WHERE id = 1").done.affected, 1);
    assert_eq!(c.rows("SELECT v FROM t"), [["c"]]);
    c.run("CREATE TABLE t2 AS SELECT id, concat(v, 'x') AS w FROM t");
    assert_eq!(c.rows("SELECT * FROM t2"), [["2", "cx"]]);
    c.run("TRUNCATE t");
    assert_eq!(c.one("SELECT count(*) FROM t"), "0");
}

/// Of several that make one table from a query at once, one has it.
#[test]
fn one_of_those_who_make_a_table_at_once_has_it() {
    let s = server();
    let barrier = std::sync::Barrier::new(3);
    let outcomes: Vec<Vec<u16>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut c = Client::in_test(&s);
                    let one = |n| {
                        barrier.wait();
                        let made = c.try_all(&format!("CREATE TABLE t{n} AS SELECT 1 AS a"));
                        made.map_or_else(|e| e.code, |_| 0)
                    };
                    (0..200).map(one).collect()
                })
            })
            .collect();
        let joined = threads.into_iter().map(|t| t.join().expect("a thread"));
        joined.collect()
    });
    for n in 0..200 {
        let mut codes: Vec<u16> = outcomes.iter().map(|o| o[n]).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 1050, 1050], "t{n}");
    }
    let mut c = Client::in_test(&s);
    let all: Vec<String> = (0..200).map(|n| format!("SELECT a FROM t{n}")).collect();
    assert_eq!(c.rows(&all[..60].join(" UNION ALL ")).len(), 60);
}

#[test]
fn transactions_are_undone_and_kept() {
    let s = server();
    let mut a = Client::in_test(&s);
    let mut b = Client::in_test(&s);
    a.run("CREATE TABLE t (id int PRIMARY KEY)");
    a.run("BEGIN");
    a.run("INSERT INTO t VALUES (1)");
    assert!(b.rows("SELECT * FROM t").is_empty());
    a.run("SAVEPOINT s");
    a.run("INSERT INTO t VALUES (2)");
    a.run("ROLLBACK TO s");
    a.run("COMMIT");
    assert_eq!(b.rows("SELECT * FROM t"), [["1"]]);
    a.run("SET autocommit = 0");
    let r = a.run("INSERT INTO t VALUES (3)");
    assert!(r.done.in_transaction && !r.done.autocommit);
    assert_eq!(a.error("INSERT INTO t VALUES (4), (1)"), 1062);
    assert_eq!(a.rows("SELECT * FROM t"), [["1"], ["3"]]);
    a.run("ROLLBACK");
    a.run("SET autocommit = 1");
    assert_eq!(a.rows("SELECT * FROM t"), [["1"]]);
    a.run("START TRANSACTION READ ONLY");
    assert_eq!(a.error("DELETE FROM t"), 1792);
    a.run("COMMIT");
}

#[test]
fn prepared_statements_run_by_id() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    let insert = c
        .session
        .prepare(b"INSERT INTO t VALUES (?, ?)")
        .expect("insert");
    assert_eq!((insert.params, insert.columns.len()), (2, 0));
    for i in 0..5 {
        let mut sink = Collector::new();
        let params = [Value::Int(i), Value::Int(i * 10)];
        block_on(c.session.execute_prepared(insert.id, &params, &mut sink)).expect("inserted");
    }
    let read = c
        .session
        .prepare(b"SELECT v FROM t WHERE id = ?")
        .expect("select");
    assert_eq!((read.params, read.columns.len()), (1, 1));
    let get = |c: &mut Client, id: i64| {
        let mut sink = Collector::new();
        block_on(
            c.session
                .execute_prepared(read.id, &[Value::Int(id)], &mut sink),
        )?;
        Ok::<_, SqlError>(sink.rows().to_vec())
    };
    assert!(matches!(
        get(&mut c, 3).expect("read")[0][0],
        Value::Int(30)
    ));
    c.run("ALTER TABLE t ADD INDEX (v)");
    assert!(matches!(
        get(&mut c, 4).expect("planned again")[0][0],
        Value::Int(40)
    ));
    c.run("DROP TABLE t");
    assert_eq!(get(&mut c, 4).map_err(|e| e.code).err(), Some(1146));
    c.session.close_prepared(read.id);
    assert_eq!(get(&mut c, 4).map_err(|e| e.code).err(), Some(1243));
}

#[test]
fn a_cached_text_sees_new_definitions_and_settings() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id int PRIMARY KEY)");
    c.run("INSERT INTO t VALUES (1)");
    for _ in 0..4 {
        assert_eq!(c.rows("SELECT * FROM t"), [["1"]]);
    }
    c.run("DROP TABLE t");
    assert_eq!(c.error("SELECT * FROM t"), 1146);
    c.run("CREATE TABLE t (a int, b int)");
    assert_eq!(c.run("SELECT * FROM t").columns.len(), 2);
    for _ in 0..3 {
        assert_eq!(c.one("SELECT 'a' || 'b'"), "0");
    }
    c.run("SET sql_mode = PIPES_AS_CONCAT");
    assert_eq!(c.one("SELECT 'a' || 'b'"), "ab");
}

/// Sessions and their futures move between threads: this compiles or it does not.
#[test]
fn a_session_can_move_between_threads() {
    fn movable<T: Send>(_: &T) {}
    let mut c = Client::in_test(&server());
    movable(&c.session);
    let mut sink = Collector::new();
    movable(&c.session.execute(b"SELECT 1", &mut sink));
    movable(&c.session.execute_prepared(1, &[], &mut sink));
    movable(&c.session.reset());
}

#[test]
fn revoked_rights_are_gone_at_once() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (a int)");
    c.run("CREATE USER u@localhost");
    c.run("GRANT SELECT ON *.* TO u@localhost");
    let mut u = Client::of(&s, "u");
    u.run("SELECT * FROM test.t");
    c.run("REVOKE SELECT ON *.* FROM u@localhost");
    assert_eq!(u.error("SELECT * FROM test.t"), 1142);
}

#[test]
fn a_client_is_told_the_number_of_the_row_that_was_there() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, k INT UNIQUE, n INT)");
    let mut told = |sql: &str| {
        let done = c.run(sql).done;
        (done.last_insert_id, c.one("SELECT LAST_INSERT_ID()"))
    };
    let first = told("INSERT INTO t (k, n) VALUES (7, 1)");
    assert_eq!(first, (1, "1".to_owned()));
    // MySQL's mysql_insert_id(); LAST_INSERT_ID() stays what was given last.
    let there = told("INSERT INTO t (k, n) VALUES (7, 1) ON DUPLICATE KEY UPDATE n = n + 1");
    assert_eq!(there, (1, "1".to_owned()));
    let moved = told("INSERT INTO t (k, n) VALUES (7, 1) ON DUPLICATE KEY UPDATE id = 50");
    assert_eq!(moved, (50, "1".to_owned()));
    let asked =
        "INSERT INTO t (k, n) VALUES (7, 1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = 9";
    assert_eq!(told(asked), (50, "50".to_owned()));
    let given = told("INSERT INTO t VALUES (60, 8, 1)");
    assert_eq!(given, (60, "50".to_owned()));
    // Of rows that stay out the number is told where something else was inserted.
    for (rows, id) in [
        ("(60, 8, 1)", 0),
        ("(NULL, 8, 1)", 0),
        ("(70, 9, 1), (60, 8, 1)", 60),
        ("(60, 8, 1), (80, 10, 1)", 80),
    ] {
        let ignored = told(&format!("INSERT IGNORE INTO t VALUES {rows}"));
        assert_eq!(ignored, (id, "50".to_owned()), "{rows}");
    }
    let same = told("INSERT INTO t VALUES (60, 8, 1) ON DUPLICATE KEY UPDATE n = 1");
    assert_eq!(same, (0, "50".to_owned()));
}

#[test]
fn numbers_go_on_in_steps_behind_one_that_was_set() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)");
    c.run("SET auto_increment_increment = 10, auto_increment_offset = 2, insert_id = 5");
    c.run("INSERT INTO t VALUES (NULL), (NULL), (40), (NULL), (52), (NULL)");
    let all = c.one("SELECT GROUP_CONCAT(id ORDER BY id) FROM t");
    assert_eq!(all, "5,12,40,42,52,62");
}
