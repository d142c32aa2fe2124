//! Which access path a statement takes, as EXPLAIN shows it.

use super::Client;

#[test]
fn keys_are_used() {
    let mut c = Client::with_table();
    let cases = [
        ("SELECT * FROM t WHERE id = 3", "t const PRIMARY -"),
        (
            "SELECT * FROM t WHERE id = 3 AND c > 1",
            "t const PRIMARY Using where",
        ),
        (
            "SELECT * FROM t WHERE id BETWEEN 2 AND 4",
            "t range PRIMARY Using where",
        ),
        (
            "SELECT * FROM t WHERE id IN (1, 3)",
            "t range PRIMARY Using where",
        ),
        (
            "SELECT * FROM t WHERE id > 2 AND id <= 4",
            "t range PRIMARY Using where",
        ),
        ("SELECT * FROM t WHERE b = 'two'", "t const b -"),
        ("SELECT * FROM t WHERE a = 20 AND c = 3", "t ref ac -"),
        (
            "SELECT * FROM t WHERE a = 20 AND c > 3",
            "t range ac Using where",
        ),
        ("SELECT * FROM t WHERE b LIKE 't%'", "t range b Using where"),
        ("SELECT * FROM t WHERE b LIKE '%t'", "t ALL - Using where"),
        ("SELECT * FROM t WHERE a IS NULL", "t ref a -"),
        ("SELECT * FROM t WHERE c = 3", "t ALL - Using where"),
        ("SELECT * FROM t WHERE id + 0 = 3", "t ALL - Using where"),
        ("SELECT * FROM t", "t ALL - -"),
        ("SELECT 1", "- - - No tables used"),
        ("SELECT * FROM t WHERE 1 = 0", "- - - Impossible WHERE"),
        ("UPDATE t SET c = 1 WHERE id = 2", "t const PRIMARY -"),
        ("DELETE FROM t WHERE a = 20", "t ref a -"),
    ];
    for (sql, path) in cases {
        assert_eq!(c.path(sql), path, "{sql}");
    }
}

#[test]
fn alternatives_on_one_index_are_ranges() {
    let mut c = Client::with_table();
    c.run("SET @p = 10, @q = 15, @r = 12, @s = 20");
    let pairs = vec!["a BETWEEN @p AND @q"; 30].join(" OR ");
    let cases = [
        (
            "id BETWEEN 1 AND 2 OR id = 4 OR id > 100",
            "t range PRIMARY Using where",
        ),
        (
            "a BETWEEN @p AND @q OR a BETWEEN @r AND @s OR a IN (1, 2)",
            "t range a Using where; Using index",
        ),
        (pairs.as_str(), "t range a Using where; Using index"),
        (
            "(a = 20 AND c > 3) OR a IS NULL",
            "t range ac Using where; Using index",
        ),
        ("b LIKE 't%' OR b = 'one'", "t range b Using where"),
        (
            "id = 1 OR a = 10",
            "t index_merge PRIMARY,a Using union; Using where",
        ),
        ("a = 20 OR c = 3", "t ALL - Using where"),
        ("a = 20 OR a IS NOT NULL", "t ALL - Using where"),
        ("a = 20 OR a <> 10", "t ALL - Using where"),
    ];
    for (cond, path) in cases {
        let sql = format!("SELECT COUNT(a) FROM t WHERE {cond}");
        assert_eq!(c.path(&sql), path, "{sql}");
    }
    assert_eq!(
        c.path("DELETE FROM t WHERE id = 2 OR id BETWEEN 4 AND 9"),
        "t range PRIMARY Using where"
    );
    assert_eq!(
        c.path("SELECT id FROM t WHERE id < 2 OR id = 4 ORDER BY id DESC"),
        "t range PRIMARY Using where"
    );
    assert_eq!(
        c.rows("SELECT id FROM t WHERE id < 2 OR id BETWEEN 4 AND 9 OR id = 5 ORDER BY id DESC"),
        "5 4 1"
    );
}

#[test]
fn alternatives_follow_parameters() {
    let mut c = Client::with_table();
    c.run("PREPARE s FROM 'SELECT COUNT(a) FROM t WHERE a BETWEEN ? AND ? OR a BETWEEN ? AND ?'");
    for (values, count) in [
        ("1, @b = 15, @c = 25, @d = 99", "2"),
        ("1, @b = 20, @c = 15, @d = 99", "4"),
        ("20, @b = 20, @c = 20, @d = 20", "2"),
        ("30, @b = 20, @c = 20, @d = 10", "0"),
        ("NULL, @b = 20, @c = 30, @d = 30", "1"),
        ("1, @b = 99999999999, @c = 30, @d = 30", "4"),
        ("9.5, @b = 10.5, @c = '30', @d = 30", "2"),
    ] {
        c.run(&format!("SET @a = {values}"));
        assert_eq!(c.rows("EXECUTE s USING @a, @b, @c, @d"), count, "{values}");
    }
}

#[test]
fn hints_are_obeyed() {
    let mut c = Client::with_table();
    assert_eq!(
        c.path("SELECT * FROM t IGNORE INDEX (a, ac) WHERE a = 20"),
        "t ALL - Using where"
    );
    assert_eq!(
        c.path("SELECT * FROM t FORCE INDEX (ac) WHERE a = 20"),
        "t ref ac -"
    );
    assert_eq!(
        c.path("SELECT * FROM t USE INDEX () WHERE id = 1"),
        "t ALL - Using where"
    );
    assert_eq!(c.error("SELECT * FROM t USE INDEX (zz)").0, 1176);
}

#[test]
fn indexes_deliver_order() {
    let mut c = Client::with_table();
    let cases = [
        ("SELECT * FROM t ORDER BY id", "t ALL - -"),
        ("SELECT * FROM t ORDER BY id DESC", "t ALL - -"),
        ("SELECT * FROM t ORDER BY a LIMIT 2", "t index a -"),
        ("SELECT * FROM t ORDER BY a", "t ALL - Using filesort"),
        (
            "SELECT * FROM t WHERE a = 20 ORDER BY c DESC, id DESC",
            "t ref a Using filesort",
        ),
        (
            "SELECT * FROM t FORCE INDEX (ac) WHERE a = 20 ORDER BY c DESC, id DESC",
            "t ref ac -",
        ),
        (
            "SELECT * FROM t WHERE id > 1 ORDER BY id DESC LIMIT 1",
            "t range PRIMARY Using where",
        ),
        (
            "SELECT c FROM t WHERE id BETWEEN 1 AND 3 ORDER BY c",
            "t range PRIMARY Using where; Using filesort",
        ),
        (
            "SELECT DISTINCT c FROM t WHERE id BETWEEN 1 AND 3 ORDER BY c",
            "t range PRIMARY Using where; Using temporary; Using filesort",
        ),
    ];
    for (sql, path) in cases {
        assert_eq!(c.path(sql), path, "{sql}");
    }
    assert_eq!(c.rows("SELECT id FROM t ORDER BY id DESC"), "5 4 3 2 1");
    assert_eq!(c.rows("SELECT id FROM t ORDER BY a LIMIT 2"), "4 1");
    assert_eq!(c.rows("SELECT id FROM t ORDER BY a DESC LIMIT 3"), "5 3 2");
    assert_eq!(
        c.rows("SELECT id FROM t FORCE INDEX (ac) WHERE a = 20 ORDER BY c DESC, id DESC"),
        "2 3"
    );
}

#[test]
fn joins_choose_lookups_and_hashes() {
    let mut c = Client::with_table();
    c.run("CREATE TABLE u (x INT, y INT)");
    c.run("INSERT INTO u VALUES (1, 10), (2, 20)");
    assert_eq!(
        c.path("SELECT * FROM u JOIN t ON t.id = u.x"),
        "u ALL - -, t eq_ref PRIMARY -"
    );
    assert_eq!(
        c.path("SELECT * FROM t JOIN u ON t.id = u.x WHERE t.id = 2"),
        "t const PRIMARY -, u ALL - Using where; Using join buffer (hash join)"
    );
    assert_eq!(
        c.path("SELECT * FROM t LEFT JOIN u ON t.c = u.y"),
        "t ALL - -, u ALL - Using where; Using join buffer (hash join)"
    );
    assert_eq!(
        c.path("SELECT * FROM t LEFT JOIN u ON t.c = u.y WHERE u.x = 1"),
        "t ALL - -, u ALL - Using where; Using join buffer (hash join)"
    );
}

#[test]
fn extremes_come_from_indexes() {
    let mut c = Client::with_table();
    assert_eq!(c.rows("SELECT MIN(id) FROM t"), "1");
    assert_eq!(c.rows("SELECT MAX(id) FROM t"), "5");
    assert_eq!(c.rows("SELECT MIN(a) FROM t"), "10");
    assert_eq!(c.rows("SELECT MAX(a) FROM t"), "30");
    assert_eq!(c.rows("SELECT MAX(c) FROM t WHERE a = 20"), "4");
    assert_eq!(c.rows("SELECT MIN(id) FROM t WHERE id > 2"), "3");
    assert_eq!(c.rows("SELECT MAX(id) FROM t WHERE id < 0"), "NULL");
    assert_eq!(c.path("SELECT MIN(a) FROM t"), "t index a Using index");
}

#[test]
fn values_that_are_no_keys_still_find_rows() {
    let mut c = Client::with_table();
    assert_eq!(c.rows("SELECT id FROM t WHERE id = 2.0"), "2");
    assert_eq!(c.rows("SELECT id FROM t WHERE id = 2.5"), "");
    assert_eq!(c.rows("SELECT id FROM t WHERE id > 2.5"), "3 4 5");
    assert_eq!(c.rows("SELECT id FROM t WHERE id = '3'"), "3");
    assert_eq!(c.rows("SELECT id FROM t WHERE id = 99999999999"), "");
    assert_eq!(
        c.rows("SELECT id FROM t WHERE id < 99999999999"),
        "1 2 3 4 5"
    );
    assert_eq!(
        c.rows("SELECT id FROM t WHERE id > -99999999999 AND id < 3"),
        "1 2"
    );
    assert_eq!(c.rows("SELECT id FROM t WHERE id > 99999999999"), "");
    assert_eq!(c.rows("SELECT id FROM t WHERE id = NULL"), "");
    assert_eq!(c.rows("SELECT id FROM t WHERE a <=> NULL"), "4");
    assert_eq!(c.rows("SELECT id FROM t WHERE a < 20"), "1");
    assert_eq!(c.rows("SELECT id FROM t WHERE b = 'TWO'"), "2");
}
