//! What one user may hold: prepared statements, user variables, memory beside others.

use super::*;

/// A text of about six thousand bytes that is parsed and planned to far more.
fn large(n: usize) -> String {
    let parts: Vec<String> = (0..150)
        .map(|k| format!("(SELECT v FROM t WHERE id = {})", (n + k) % 7))
        .collect();
    format!("SELECT {n}, {}", parts.join(", "))
}

#[test]
fn large_prepared_statements_keep_their_text_alone() {
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 10), (2, 20)");
    let before = c.session.memory().held();
    let count = 400;
    let ids: Vec<u32> = (0..count)
        .map(|n| {
            let made = c.session.prepare(large(n).as_bytes());
            made.expect("prepared").id
        })
        .collect();
    let held = c.session.memory().held() - before;
    let (few, each) = (4 << 20, 8 << 10);
    assert!(held < few + count as u64 * each, "{held} bytes");
    // Those that have kept nothing else, and those that have, are what they were.
    for (n, id) in ids.iter().enumerate().step_by(37) {
        let mut sink = Collector::new();
        block_on(c.session.execute_prepared(*id, &[], &mut sink)).expect("executed");
        let row = &sink.results[0].rows[0];
        assert_eq!(format!("{:?}", row[0]), format!("Int({n})"));
        let first = match n % 7 {
            1 => "Int(10)",
            2 => "Int(20)",
            _ => "Null",
        };
        assert_eq!(format!("{:?}", row[1]), first);
    }
    // They are read as they were when they were made, whatever is set since, and go by the tables of now.
    c.run("SET sql_mode = 'ANSI_QUOTES'; ALTER TABLE t MODIFY v BIGINT; UPDATE t SET v = 11 WHERE id = 1");
    let quoted = large(1).replace("SELECT 1,", "SELECT \"text\",");
    c.run("SET sql_mode = ''");
    let id = c.session.prepare(quoted.as_bytes()).expect("prepared").id;
    for n in 0..200 {
        let made = c.session.prepare(large(n).as_bytes()).expect("prepared");
        if n % 2 == 0 {
            c.session.close_prepared(made.id);
        }
    }
    c.run("SET sql_mode = 'ANSI_QUOTES'");
    let mut sink = Collector::new();
    block_on(c.session.execute_prepared(id, &[], &mut sink)).expect("executed");
    let row = &sink.results[0].rows[0];
    assert!(
        matches!(&row[0], Value::Str(b, _) if b == b"text"),
        "{row:?}"
    );
    assert_eq!(format!("{:?}", row[1]), "Int(11)");
    // By name, likewise.
    c.run("SET sql_mode = ''");
    for n in 0..50 {
        c.run(&format!("PREPARE p{n} FROM '{}'", large(n)));
    }
    assert_eq!(c.rows("EXECUTE p1")[0][..2], ["1", "11"]);
    for id in ids {
        c.session.close_prepared(id);
    }
    c.run("DROP TABLE t");
    assert_eq!(c.error("EXECUTE p1"), 1146);
}

#[test]
fn one_user_leaves_memory_for_the_others() {
    let s = server();
    s.memory().set_ceiling(64 << 20);
    let mut root = Client::in_test(&s);
    root.run("CREATE USER u@localhost; CREATE USER v@localhost");
    let mut hogs: Vec<Client> = (0..12).map(|_| Client::of(&s, "u")).collect();
    let refused: Vec<u16> = hogs
        .iter_mut()
        .enumerate()
        .filter_map(|(n, c)| {
            c.try_all(&format!("SET @v{n} = REPEAT('x', 8000000)"))
                .err()
        })
        .map(|e| e.code)
        .collect();
    // Three quarters of 64 MiB, six times as much as one has.
    assert!(refused.iter().all(|code| *code == 3170), "{refused:?}");
    assert!((5..=7).contains(&refused.len()), "{refused:?}");
    let e = hogs[11]
        .try_all("SET @w = REPEAT('x', 8000000)")
        .expect_err("there is no more");
    assert!(
        e.message.contains("'the connections of one user'"),
        "{}",
        e.message
    );
    // Others, and what asks for little.
    let mut v = Client::of(&s, "v");
    v.run("SET @w = REPEAT('x', 8000000)");
    hogs[11].run("SET @w = REPEAT('x', 1000)");
    root.run("SET @w = REPEAT('x', 1000000)");
    // What one gives back another one of the same user may have.
    let gone = hogs.remove(0);
    block_on(gone.session.close());
    hogs[10].run("SET @w = REPEAT('x', 6000000)");
    // A session that changes its user takes what it holds along.
    let mut last = hogs.pop().expect("one");
    block_on(last.session.change_user("v", "localhost", None)).expect("changed");
    block_on(last.session.close());
    for c in hogs {
        block_on(c.session.close());
    }
    let mut again = Client::of(&s, "u");
    again
        .run("SET @a = REPEAT('x', 8000000), @b = REPEAT('x', 8000000), @c = REPEAT('x', 8000000)");
}

/// Rows in plenty, which nobody needs a privilege for.
const DIGITS: &str =
    "(VALUES ROW(0),ROW(1),ROW(2),ROW(3),ROW(4),ROW(5),ROW(6),ROW(7),ROW(8),ROW(9))";

/// A sort that takes some hundred and ten thousand bytes of temporary files, so many times.
fn sort(rows: u32) -> String {
    format!(
        "SELECT a.n, b.n, c.n, REPEAT('x', 1100) y FROM {DIGITS} a(n), {DIGITS} b(n), {DIGITS} c(n) \
         WHERE a.n * 100 + b.n * 10 + c.n < {rows} * 100 ORDER BY 3, 2, 1"
    )
}

#[test]
fn one_user_leaves_temporary_room_for_the_others() {
    let s = server();
    let files = s.engine().temp_files();
    files.set_limit(1 << 20);
    let mut root = Client::in_test(&s);
    root.run("CREATE USER u@localhost, v@localhost, admin@localhost");
    root.run("GRANT CREATE TEMPORARY TABLES ON test.* TO u@localhost, v@localhost");
    root.run("GRANT CONNECTION_ADMIN ON *.* TO admin@localhost");
    let small = "SET sort_buffer_size = 131072";
    let of = |user: &str| {
        let mut c = Client::of(&s, user);
        c.run(small);
        c
    };
    let (mut u, mut other, mut v, mut admin) = (of("u"), of("u"), of("v"), of("admin"));

    // A half of all for one, and nothing is left of a statement that has failed.
    u.run(&sort(2));
    assert_eq!(u.error(&sort(7)), 1114);
    assert_eq!(files.held(), 0);
    admin.run(&sort(7));
    assert_eq!(admin.error(&sort(10)), 1114, "there is no more at all");

    // Tables, of all sessions of one user; without a row, each takes two pages.
    u.run("USE test");
    other.run("USE test");
    let mut made = 0;
    while u.error(&format!("CREATE TEMPORARY TABLE t{made} (a INT)")) == 0 {
        made += 1;
        assert!(made < 100, "no end");
    }
    assert_eq!(made, (512 << 10) / (32 << 10));
    assert_eq!(files.held(), 512 << 10);
    assert_eq!(other.error("CREATE TEMPORARY TABLE t (a INT)"), 1114);
    assert_eq!(other.error(&sort(2)), 1114, "and none for its sorts");
    assert_eq!(
        u.error("ALTER TABLE t0 ADD COLUMN b INT, ADD KEY (a)"),
        1114
    );

    // Others have half of the rest.
    v.run(&sort(2));
    assert_eq!(v.error(&sort(3)), 1114);
    v.run("USE test; CREATE TEMPORARY TABLE t (a INT PRIMARY KEY, b LONGTEXT)");
    v.run("INSERT INTO t VALUES (1, REPEAT('x', 10000))");
    assert_eq!(
        v.error("INSERT INTO t VALUES (2, REPEAT('x', 400000))"),
        1114
    );
    assert_eq!(v.rows("SELECT a, LENGTH(b) FROM t"), [["1", "10000"]]);

    // What is dropped, emptied, or goes with its session another one may have.
    for n in 0..14 {
        u.run(&format!("DROP TEMPORARY TABLE t{n}"));
    }
    other.run(&sort(2));
    other.run("CREATE TEMPORARY TABLE t (a INT)");
    block_on(other.session.reset()).expect("a reset");
    u.run("CREATE TEMPORARY TABLE t0 (a INT, KEY (a), KEY k (a))");
    block_on(u.session.close());
    block_on(v.session.change_user("u", "localhost", None)).expect("another user");
    assert_eq!(files.held(), 0);
    v.run(&sort(2));
}

#[test]
fn temporary_tables_take_of_the_memory_of_their_session() {
    let s = server();
    let mut root = Client::in_test(&s);
    root.run("CREATE USER u@localhost");
    root.run("GRANT CREATE TEMPORARY TABLES ON test.* TO u@localhost");
    let mut u = Client::of(&s, "u");
    u.run("USE test");
    let before = u.session.memory().held();
    u.run("CREATE TEMPORARY TABLE t (a INT)");
    assert!(u.session.memory().held() > before);
    u.run("DROP TABLE t");
    assert_eq!(u.session.memory().held(), before);
    s.memory().set_ceiling(8 << 20);
    let wide: Vec<String> = (0..100).map(|n| format!("c{n} INT")).collect();
    let mut made = 0;
    let refused = loop {
        let sql = format!("CREATE TEMPORARY TABLE t{made} ({})", wide.join(", "));
        match u.error(&sql) {
            0 => made += 1,
            code => break code,
        }
        assert!(made < 1000, "no end");
    };
    assert_eq!(refused, 3170);
    assert!(made > 50, "{made}");
    u.run("CREATE TEMPORARY TABLE IF NOT EXISTS t0 (a INT)");
    for n in 0..made {
        u.run(&format!("DROP TABLE t{n}"));
    }
    assert_eq!(u.session.memory().held(), before);
}
