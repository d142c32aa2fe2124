//! What single-table queries answer.

use super::Client;

#[test]
fn rows_and_expressions() {
    let mut c = Client::with_table();
    assert_eq!(c.rows("SELECT * FROM t WHERE id = 1"), "1|10|one|5");
    assert_eq!(
        c.rows("SELECT id, a + 1 FROM t WHERE id IN (5, 4, 9)"),
        "4|NULL 5|31"
    );
    assert_eq!(c.rows("SELECT 1 + 1, 'x'"), "2|x");
    assert_eq!(c.rows("SELECT 1 FROM DUAL WHERE 2 > 3"), "");
    assert_eq!(
        c.rows("SELECT t.id x FROM t WHERE c >= 4 ORDER BY x DESC"),
        "2 1"
    );
    assert_eq!(c.rows("SELECT id FROM t WHERE a = 20 OR id = 5"), "2 3 5");
    assert_eq!(
        c.rows("SELECT id FROM t WHERE b LIKE 't%' ORDER BY b"),
        "3 2"
    );
    assert_eq!(c.rows("SELECT id FROM t LIMIT 2, 2"), "3 4");
    assert_eq!(c.rows("SELECT id FROM t ORDER BY c LIMIT 1 OFFSET 1"), "4");
    assert_eq!(c.rows("SELECT id FROM t LIMIT 0"), "");
    assert_eq!(
        c.rows("SELECT a FROM t ORDER BY a DESC, id"),
        "30 20 20 10 NULL"
    );
}

#[test]
fn names_that_are_wrong() {
    let mut c = Client::with_table();
    assert_eq!(
        c.error("SELECT z FROM t"),
        (1054, "Unknown column 'z' in 'field list'".into())
    );
    assert_eq!(
        c.error("SELECT id FROM t WHERE z = 1"),
        (1054, "Unknown column 'z' in 'where clause'".into())
    );
    assert_eq!(
        c.error("SELECT id FROM t ORDER BY z").1,
        "Unknown column 'z' in 'order clause'"
    );
    assert_eq!(
        c.error("SELECT id FROM t, t x"),
        (1052, "Column 'id' in field list is ambiguous".into())
    );
    assert_eq!(c.error("SELECT 1 FROM t, t").0, 1066);
    assert_eq!(
        c.error("SELECT * FROM nope"),
        (1146, "Table 'test.nope' doesn't exist".into())
    );
    assert_eq!(c.error("SELECT * FROM no.t").0, 1049);
    assert_eq!(c.error("SELECT x.* FROM t").0, 1051);
    assert_eq!(c.error("SELECT *").0, 1096);
    assert_eq!(c.error("SELECT id FROM t ORDER BY 7").0, 1054);
    assert_eq!(c.error("SELECT id FROM t WHERE COUNT(*) > 1").0, 1111);
}

#[test]
fn groups() {
    let mut c = Client::with_table();
    assert_eq!(
        c.rows("SELECT COUNT(*), COUNT(a), SUM(a), MIN(b), AVG(c) FROM t"),
        "5|4|80|four|3.0000"
    );
    assert_eq!(c.rows("SELECT COUNT(*) FROM t WHERE id > 100"), "0");
    assert_eq!(c.rows("SELECT SUM(a) FROM t WHERE id > 100"), "NULL");
    assert_eq!(
        c.rows("SELECT a, COUNT(*) n FROM t GROUP BY a ORDER BY n DESC, a"),
        "20|2 NULL|1 10|1 30|1"
    );
    assert_eq!(
        c.rows("SELECT a, SUM(c) FROM t GROUP BY a HAVING SUM(c) > 4 ORDER BY a"),
        "10|5 20|7"
    );
    assert_eq!(
        c.rows("SELECT a + 1 x, MAX(id) FROM t WHERE a > 10 GROUP BY x ORDER BY 1"),
        "21|3 31|5"
    );
    assert_eq!(
        c.rows("SELECT a FROM t GROUP BY a HAVING COUNT(*) = 2"),
        "20"
    );
    assert_eq!(c.rows("SELECT COUNT(DISTINCT a) FROM t"), "3");
    assert_eq!(
        c.rows("SELECT GROUP_CONCAT(id ORDER BY id DESC) FROM t"),
        "5,4,3,2,1"
    );
    assert_eq!(
        c.rows("SELECT id, b, COUNT(*) FROM t WHERE id < 3 GROUP BY id ORDER BY id"),
        "1|one|1 2|two|1"
    );
    assert_eq!(c.error("SELECT a, b FROM t GROUP BY a").0, 1055);
    assert_eq!(c.error("SELECT a, COUNT(*) FROM t").0, 1140);
    assert_eq!(c.error("SELECT COUNT(*) x FROM t GROUP BY x").0, 1056);
    assert_eq!(c.rows("SELECT a, COUNT(*) FROM t WHERE a = 20"), "20|2");
}

#[test]
fn distinct_rows() {
    let mut c = Client::with_table();
    assert_eq!(
        c.rows("SELECT DISTINCT a FROM t WHERE a IS NOT NULL ORDER BY a"),
        "10 20 30"
    );
    assert_eq!(
        c.rows("SELECT DISTINCT a FROM t ORDER BY a DESC LIMIT 1"),
        "30"
    );
    assert_eq!(c.rows("SELECT DISTINCT a > 15 FROM t WHERE id < 4"), "0 1");
    assert_eq!(c.error("SELECT DISTINCT a FROM t ORDER BY id").0, 3065);
}

#[test]
fn set_operations() {
    let mut c = Client::with_table();
    assert_eq!(c.rows("SELECT 1 UNION SELECT 2 UNION SELECT 1"), "1 2");
    assert_eq!(c.rows("SELECT 1 UNION ALL SELECT 1"), "1 1");
    assert_eq!(
        c.rows(
            "SELECT id FROM t WHERE id < 3 UNION ALL SELECT a FROM t WHERE id = 1 ORDER BY 1 DESC"
        ),
        "10 2 1"
    );
    assert_eq!(
        c.rows("SELECT 1 a UNION SELECT 'x' ORDER BY a LIMIT 1"),
        "1"
    );
    assert_eq!(
        c.rows("(SELECT id FROM t ORDER BY id DESC LIMIT 1) UNION (SELECT 7) ORDER BY 1"),
        "5 7"
    );
    assert_eq!(
        c.rows("SELECT id FROM t EXCEPT SELECT id FROM t WHERE id > 2"),
        "1 2"
    );
    assert_eq!(
        c.rows("SELECT id FROM t INTERSECT SELECT c FROM t WHERE c > 3"),
        "4 5"
    );
    assert_eq!(c.rows("VALUES ROW(1, 'a'), ROW(2, 'b')"), "1|a 2|b");
    assert_eq!(c.rows("TABLE t ORDER BY id LIMIT 1"), "1|10|one|5");
    assert_eq!(c.error("SELECT 1 UNION SELECT 1, 2").0, 1222);
}

#[test]
fn subqueries() {
    let mut c = Client::with_table();
    assert_eq!(
        c.rows("SELECT id FROM t WHERE c = (SELECT MAX(c) FROM t)"),
        "1"
    );
    assert_eq!(
        c.rows("SELECT id FROM t WHERE id IN (SELECT c FROM t WHERE id > 3) ORDER BY id"),
        "1 2"
    );
    assert_eq!(
        c.rows("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t WHERE id = 9)"),
        ""
    );
    assert_eq!(c.error("SELECT (SELECT id FROM t)").0, 1242);
    assert_eq!(
        c.rows(
            "SELECT id FROM t x WHERE EXISTS (SELECT 1 FROM t y WHERE y.a = x.a AND y.id <> x.id)"
        ),
        "2 3"
    );
    assert_eq!(
        c.rows("SELECT id, (SELECT COUNT(*) FROM t y WHERE y.id < x.id) n FROM t x ORDER BY n DESC LIMIT 2"),
        "5|4 4|3"
    );
    assert_eq!(c.rows("SELECT s.n FROM (SELECT COUNT(*) n FROM t) s"), "5");
    assert_eq!(
        c.rows(
            "SELECT a, (SELECT MAX(y.id) FROM t y WHERE y.a = x.a) FROM t x WHERE a = 20 GROUP BY a"
        ),
        "20|3"
    );
    assert_eq!(
        c.rows("WITH w AS (SELECT id FROM t WHERE id > 3) SELECT SUM(id) FROM w"),
        "9"
    );
    assert_eq!(c.rows("SELECT id FROM t WHERE id = (SELECT 2)"), "2");
}

#[test]
fn variables_take_results() {
    let mut c = Client::with_table();
    c.run("SELECT id, b INTO @x, @y FROM t WHERE id = 2");
    assert_eq!(c.rows("SELECT @x, @y"), "2|two");
    assert_eq!(c.error("SELECT id INTO @x FROM t").0, 1172);
    c.run("SET @n = (SELECT COUNT(*) FROM t)");
    assert_eq!(c.rows("SELECT @n"), "5");
}

/// A statement that waits for nothing still lets the other tasks of its thread run.
#[test]
fn long_statements_give_way() {
    let mut c = Client::new();
    c.run("CREATE TABLE n (id INT PRIMARY KEY, a INT)");
    let rows: Vec<String> = (0..3000).map(|i| format!("({i},{i})")).collect();
    for part in rows.chunks(500) {
        c.run(&format!("INSERT INTO n VALUES {}", part.join(",")));
    }
    for (what, sql, least) in [
        (
            "join",
            "SELECT COUNT(*) FROM n x JOIN n y ON x.a + y.a = 7",
            1000,
        ),
        (
            "lookups",
            "SELECT COUNT(*) FROM n x JOIN n y ON y.id = x.a",
            20,
        ),
        ("insert", "INSERT INTO n SELECT id + 10000, a FROM n", 20),
        ("update", "UPDATE n SET a = a + 1", 40),
    ] {
        let mut sink = sql_plan::sink::Collector::new();
        let mut statement = c.session.execute(sql.as_bytes(), &mut sink);
        let mut turns = 0;
        let done = base::block_on(std::future::poll_fn(|cx| {
            let r = statement.as_mut().poll(cx);
            turns += 1;
            r
        }));
        done.unwrap();
        assert!(turns >= least, "{what}: others got {turns} turns");
    }
}

/// The outer rows of a correlated subquery that an index helps only to the same many rows each time do not multiply with those.
#[test]
fn correlated_subqueries_keep_what_they_would_read_again() {
    let mut c = Client::new();
    c.run("CREATE TABLE d (id INT PRIMARY KEY, bal INT, name VARCHAR(20))");
    c.run(
        "CREATE TABLE h (id INT PRIMARY KEY, w INT, d INT, amount INT, name VARCHAR(20), KEY (w))",
    );
    for i in 0..100 {
        c.run(&format!("INSERT INTO d VALUES ({i}, {}, 'N{i}')", i * 2));
        c.run(&format!(
            "INSERT INTO h VALUES ({}, 1, {i}, {i}, 'n{i}'), ({}, 1, {i}, {i}, 'n{i}'), ({}, 2, {i}, 5, 'n{i}')",
            i * 3,
            i * 3 + 1,
            i * 3 + 2
        ));
    }
    c.run("INSERT INTO h VALUES (1000, 1, NULL, 7, NULL)");
    let before = c.rows_read();
    let sum = "(SELECT SUM(amount) FROM h WHERE w = 1 AND h.d = d.id AND amount >= 0)";
    assert_eq!(
        c.rows(&format!(
            "SELECT COUNT(*), SUM({sum}) FROM d WHERE bal = {sum}"
        )),
        "100|9900"
    );
    // 300 rows of h, five times each for two subqueries, and d.
    let read = c.rows_read() - before;
    assert!(read < 4000, "{read} rows read");
    // By the collation of the column, in the index's order, and with a condition over both sides.
    assert_eq!(
        c.rows(
            "SELECT id, (SELECT id FROM h WHERE w = 1 AND h.name = d.name AND h.id <> d.id LIMIT 1)
             FROM d WHERE id IN (0, 50, 96, 97, 98, 99)"
        ),
        "0|1 50|150 96|288 97|291 98|294 99|297"
    );
    assert_eq!(
        c.rows(
            "SELECT COUNT(*) FROM d WHERE EXISTS (SELECT 1 FROM h WHERE w = 2 AND h.d = d.id + 10)"
        ),
        "90"
    );
    // Another execution sees what has changed.
    c.run("UPDATE h SET amount = amount + 1 WHERE w = 1 AND d = 99");
    assert_eq!(
        c.rows(&format!("SELECT id FROM d WHERE bal <> {sum}")),
        "99"
    );
}
