//! EXPLAIN in its forms, EXPLAIN ANALYZE, and the statement in SHOW WARNINGS.

use super::{Client, server};

fn client() -> Client {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE n (i INT PRIMARY KEY)");
    c.run("INSERT INTO n VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)");
    c.run("CREATE TABLE t1 (id INT PRIMARY KEY, a INT NOT NULL, b INT, KEY a (a), KEY b (b))");
    c.run("CREATE TABLE t2 (id INT PRIMARY KEY, a INT NOT NULL, c INT NOT NULL, KEY a (a))");
    c.run("CREATE TABLE t3 (a INT NOT NULL, d INT NOT NULL)");
    c.run("INSERT INTO t1 SELECT x.i * 100 + y.i * 10 + z.i, y.i, z.i FROM n x, n y, n z");
    c.run("INSERT INTO t2 SELECT x.i * 10 + y.i, x.i, y.i FROM n x, n y");
    c.run("INSERT INTO t3 SELECT i, i FROM n");
    c.run("ANALYZE TABLE t1, t2, t3");
    c
}

impl Client {
    /// EXPLAIN FORMAT=TREE without the figures.
    fn tree(&mut self, sql: &str) -> String {
        let text = self.one(&format!("EXPLAIN FORMAT=TREE {sql}"));
        let line = |l: &str| l.split("  (cost=").next().unwrap_or(l).to_owned();
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The statement in SHOW WARNINGS after EXPLAIN.
    fn rewritten(&mut self, sql: &str) -> String {
        self.run(&format!("EXPLAIN {sql}"));
        let w = self.rows("SHOW WARNINGS");
        assert_eq!(
            (w.len(), &*w[0][0], &*w[0][1]),
            (1, "Note", "1003"),
            "{sql}"
        );
        w[0][2].clone()
    }
}

/// Queries, their trees, and the statements that SHOW WARNINGS has.
const QUERIES: &[(&str, &str, &str)] = &[
    (
        "SELECT 1",
        "-> Rows fetched before execution",
        "/* select#1 */ select 1 AS `1`",
    ),
    (
        "SELECT id FROM t1 WHERE id = 5",
        "-> Single-row index lookup on t1 using PRIMARY (id=5)",
        "/* select#1 */ select `test`.`t1`.`id` AS `id` from `test`.`t1` where (`test`.`t1`.`id` = 5)",
    ),
    (
        "SELECT a, b x FROM t1 WHERE a = 3 AND b > 5 ORDER BY b DESC LIMIT 3",
        "\
-> Limit: 3 row(s)
    -> Sort: t1.b DESC, limit input to 3 row(s) per chunk
        -> Filter: (t1.b > 5)
            -> Index lookup on t1 using a (a=3)",
        "/* select#1 */ select `test`.`t1`.`a` AS `a`,`test`.`t1`.`b` AS `x` from `test`.`t1` \
         where ((`test`.`t1`.`a` = 3) and (`test`.`t1`.`b` > 5)) order by `test`.`t1`.`b` desc limit 3",
    ),
    (
        "SELECT x.id, t2.c FROM t1 x JOIN t2 ON x.a = t2.a WHERE t2.id = 7 ORDER BY x.id LIMIT 2, 3",
        "\
-> Limit/Offset: 3/2 row(s)
    -> Sort: x.id, limit input to 5 row(s) per chunk
        -> Nested loop inner join
            -> Single-row index lookup on t2 using PRIMARY (id=7)
            -> Covering index lookup on x using a (a=t2.a)",
        "/* select#1 */ select `test`.`x`.`id` AS `id`,`test`.`t2`.`c` AS `c` from `test`.`t2` join `test`.`t1` `x` \
         where ((`test`.`t2`.`id` = 7) and (`test`.`x`.`a` = `test`.`t2`.`a`)) order by `test`.`x`.`id` limit 2,3",
    ),
    (
        "SELECT t3.a, t2.id FROM t3 STRAIGHT_JOIN t2 ON t2.c = t3.d AND t2.id > t3.a",
        "\
-> Filter: (t2.id > t3.a)
    -> Inner hash join (t2.c = t3.d)
        -> Table scan on t3
        -> Hash
            -> Table scan on t2",
        "/* select#1 */ select `test`.`t3`.`a` AS `a`,`test`.`t2`.`id` AS `id` from `test`.`t3` join `test`.`t2` \
         where ((`test`.`t2`.`c` = `test`.`t3`.`d`) and (`test`.`t2`.`id` > `test`.`t3`.`a`))",
    ),
    (
        "SELECT t3.a, t2.id FROM t3 LEFT JOIN t2 ON t2.id = t3.d AND t2.c > 4 WHERE t3.a < 5",
        "\
-> Nested loop left join
    -> Filter: (t3.a < 5)
        -> Table scan on t3
    -> Filter: (t2.c > 4)
        -> Single-row index lookup on t2 using PRIMARY (id=t3.d)",
        "/* select#1 */ select `test`.`t3`.`a` AS `a`,`test`.`t2`.`id` AS `id` from `test`.`t3` left join `test`.`t2` \
         on(((`test`.`t2`.`id` = `test`.`t3`.`d`) and (`test`.`t2`.`c` > 4))) where (`test`.`t3`.`a` < 5)",
    ),
    (
        "SELECT a, COUNT(*), SUM(b) FROM t1 GROUP BY a HAVING COUNT(*) > 5 ORDER BY 2",
        "\
-> Sort: count(0)
    -> Filter: (count(0) > 5)
        -> Table scan on <temporary>
            -> Aggregate using temporary table
                -> Table scan on t1",
        "/* select#1 */ select `test`.`t1`.`a` AS `a`,count(0) AS `COUNT(*)`,sum(`test`.`t1`.`b`) AS `SUM(b)` \
         from `test`.`t1` group by `test`.`t1`.`a` having (count(0) > 5) order by count(0)",
    ),
    (
        "SELECT id, b FROM t1 WHERE a IN (SELECT a FROM t3 WHERE d < 3)",
        "\
-> Hash semijoin (t3.a = t1.a)
    -> Table scan on t1
    -> Hash
        -> Filter: (t3.d < 3)
            -> Table scan on t3",
        "/* select#1 */ select `test`.`t1`.`id` AS `id`,`test`.`t1`.`b` AS `b` from `test`.`t1` semi join (`test`.`t3`) \
         where ((`test`.`t3`.`d` < 3) and (`test`.`t1`.`a` = `test`.`t3`.`a`))",
    ),
    (
        "SELECT id FROM t1 WHERE NOT EXISTS (SELECT 1 FROM t2 WHERE t2.id = t1.id)",
        "\
-> Hash antijoin (t2.id = t1.id)
    -> Table scan on t1
    -> Hash
        -> Table scan on t2",
        "/* select#1 */ select `test`.`t1`.`id` AS `id` from `test`.`t1` anti join (`test`.`t2`) \
         on((`test`.`t2`.`id` = `test`.`t1`.`id`))",
    ),
    (
        "SELECT id, (SELECT MAX(c) FROM t2 WHERE t2.a = t1.a) m FROM t1 WHERE b > (SELECT AVG(d) FROM t3)",
        "\
-> Filter: (t1.b > (select #3))
    -> Table scan on t1
    -> Select #3 (subquery in condition; run only once)
        -> Aggregate: avg(t3.d)
            -> Table scan on t3
-> Select #2 (subquery in projection; dependent)
    -> Aggregate: max(t2.c)
        -> Index lookup on t2 using a (a=t1.a)",
        "/* select#1 */ select `test`.`t1`.`id` AS `id`,(/* select#2 */ select max(`test`.`t2`.`c`) from `test`.`t2` \
         where (`test`.`t2`.`a` = `test`.`t1`.`a`)) AS `m` from `test`.`t1` where (`test`.`t1`.`b` > \
         (/* select#3 */ select avg(`test`.`t3`.`d`) from `test`.`t3`))",
    ),
    (
        "SELECT d.n FROM (SELECT a, COUNT(*) n FROM t1 GROUP BY a) d JOIN t3 ON t3.a = d.a",
        "\
-> Inner hash join (t3.a = d.a)
    -> Table scan on d
        -> Materialize
            -> Table scan on <temporary>
                -> Aggregate using temporary table
                    -> Table scan on t1
    -> Hash
        -> Table scan on t3",
        "/* select#1 */ select `d`.`n` AS `n` from (/* select#2 */ select `test`.`t1`.`a` AS `a`,count(0) AS `n` \
         from `test`.`t1` group by `test`.`t1`.`a`) `d` join `test`.`t3` where (`test`.`t3`.`a` = `d`.`a`)",
    ),
    (
        "SELECT a FROM t3 UNION SELECT c FROM t2 ORDER BY 1 LIMIT 4",
        "\
-> Limit: 4 row(s)
    -> Sort: a, limit input to 4 row(s) per chunk
        -> Table scan on <temporary>
            -> Union materialize with deduplication
                -> Table scan on t3
                -> Table scan on t2",
        "/* select#1 */ select `test`.`t3`.`a` AS `a` from `test`.`t3` union /* select#2 */ select `test`.`t2`.`c` AS `a` \
         from `test`.`t2` order by `a` limit 4",
    ),
    (
        "SELECT DISTINCT b FROM t1 WHERE a = 1 OR id = 2",
        "\
-> Table scan on <temporary>
    -> Temporary table with deduplication
        -> Filter: ((t1.a = 1) or (t1.id = 2))
            -> Deduplicate rows sorted by row ID
                -> Index range scan on t1 using a over (a = 1)
                -> Index range scan on t1 using PRIMARY over (id = 2)",
        "/* select#1 */ select distinct `test`.`t1`.`b` AS `b` from `test`.`t1` where ((`test`.`t1`.`a` = 1) or (`test`.`t1`.`id` = 2))",
    ),
    (
        "SELECT id FROM t1 WHERE id > 990 AND id <= 995 ORDER BY id DESC",
        "-> Index range scan on t1 using PRIMARY over (990 < id <= 995) (reverse)",
        "/* select#1 */ select `test`.`t1`.`id` AS `id` from `test`.`t1` \
         where ((`test`.`t1`.`id` > 990) and (`test`.`t1`.`id` <= 995)) order by `test`.`t1`.`id` desc",
    ),
    (
        "SELECT 1 FROM t1 WHERE 1 = 0",
        "-> Zero rows (Impossible WHERE)",
        "/* select#1 */ select 1 AS `1` from `test`.`t1` where false",
    ),
    (
        "INSERT INTO t3 SELECT a, b FROM t1 WHERE b IS NOT NULL",
        "\
-> Insert into t3
    -> Filter: (t1.b is not null)
        -> Table scan on t1",
        "insert into `test`.`t3` /* select#1 */ select `test`.`t1`.`a`,`test`.`t1`.`b` from `test`.`t1` \
         where (`test`.`t1`.`b` is not null)",
    ),
    (
        "REPLACE INTO t3 VALUES (1, 2)",
        "-> Replace into t3\n    -> Rows fetched before execution",
        "replace into `test`.`t3` values (1,2)",
    ),
    (
        "UPDATE t1 SET b = b + 1 WHERE a = 3",
        "-> Update t1 (immediate)\n    -> Index lookup on t1 using a (a=3)",
        "update `test`.`t1` set `test`.`t1`.`b` = (`test`.`t1`.`b` + 1) where (`test`.`t1`.`a` = 3)",
    ),
    (
        "DELETE FROM t1 WHERE a = 3",
        "-> Delete from t1 (immediate)\n    -> Index lookup on t1 using a (a=3)",
        "delete from `test`.`t1` where (`test`.`t1`.`a` = 3)",
    ),
];

#[test]
fn trees_and_rewritten_statements() {
    let mut c = client();
    for (sql, tree, rewritten) in QUERIES {
        assert_eq!(c.tree(sql), *tree, "{sql}");
        assert_eq!(c.rewritten(sql), *rewritten, "{sql}");
    }
    // After what the optimizer has done.
    assert_eq!(
        c.rewritten("SELECT x.a FROM (SELECT a, d FROM t3) x WHERE x.d = 1"),
        "/* select#1 */ select `test`.`t3`.`a` AS `a` from `test`.`t3` where (`test`.`t3`.`d` = 1)"
    );
    assert!(
        c.rewritten("SELECT t3.a FROM t3 LEFT JOIN t2 ON t2.id = t3.a WHERE t2.c = 1")
            .contains("from `test`.`t3` join `test`.`t2` where")
            || c.rewritten("SELECT t3.a FROM t3 LEFT JOIN t2 ON t2.id = t3.a WHERE t2.c = 1")
                .contains("from `test`.`t2` join `test`.`t3` where")
    );
    for (sql, part) in [
        (
            "SELECT /*+ SEMIJOIN(@q DUPSWEEDOUT) */ id FROM t1 WHERE b IN (SELECT /*+ QB_NAME(q) */ a FROM t3)",
            "from `test`.`t1` semi join (`test`.`t3`) where",
        ),
        (
            "SELECT id FROM t1 WHERE b NOT IN (1, NULL)",
            "(`test`.`t1`.`b` not in (1,NULL))",
        ),
        (
            "SELECT id FROM t1 WHERE HEX(id) = BINARY 'A'",
            "= _binary'A')",
        ),
        (
            "(SELECT a FROM t3 ORDER BY a LIMIT 1) UNION SELECT 2",
            "order by `test`.`t3`.`a` limit 1) union  select 2",
        ),
    ] {
        let text = c.rewritten(sql).replace("/* select#2 */", "");
        assert!(text.contains(part), "{sql}: {text}");
    }
    // The rows of a prepared EXPLAIN come with the note as well.
    c.run("PREPARE s FROM 'EXPLAIN SELECT 1'");
    for _ in 0..2 {
        c.run("EXECUTE s");
        assert_eq!(
            c.rows("SHOW WARNINGS")[0][2],
            "/* select#1 */ select 1 AS `1`"
        );
    }
}

/// Each operation has expected figures, and each that ran has real ones.
#[test]
fn analyze_counts() {
    let mut c = client();
    let text = c.one("EXPLAIN ANALYZE SELECT /*+ NO_BNL(t1) */ t1.id FROM t3 STRAIGHT_JOIN t1 ON t1.a = t3.a AND t1.b > 5 WHERE t3.d < 4");
    let lines: Vec<&str> = text.lines().collect();
    let wanted = [
        ("-> Nested loop inner join", "rows=160 loops=1)"),
        ("    -> Filter: (t3.d < 4)", "rows=4 loops=1)"),
        ("        -> Table scan on t3", "rows=10 loops=1)"),
        ("    -> Filter: (t1.b > 5)", "rows=40 loops=4)"),
        (
            "        -> Index lookup on t1 using a (a=t3.a)",
            "rows=100 loops=4)",
        ),
    ];
    assert_eq!(lines.len(), wanted.len(), "{text}");
    for (line, (begin, end)) in lines.iter().zip(wanted) {
        let fits = line.starts_with(begin) && line.ends_with(end);
        let told = line.contains("  (cost=") && line.contains(" (actual time=");
        assert!(fits && told, "{line}");
    }
    let text = c.one("EXPLAIN ANALYZE SELECT a, COUNT(*) FROM t1 GROUP BY a");
    assert!(
        text.contains("Aggregate using temporary table (actual time="),
        "{text}"
    );
    assert!(text.contains("rows=10 loops=1"), "{text}");
    let text =
        c.one("EXPLAIN ANALYZE SELECT t3.a FROM t3 JOIN t2 ON t2.id = t3.a WHERE t3.d > 100");
    assert!(
        text.contains("(never executed)") || text.contains("rows=0 loops=1"),
        "{text}"
    );
    let text = c.one("EXPLAIN ANALYZE SELECT (SELECT MAX(c) FROM t2 WHERE t2.a = t3.a) FROM t3");
    assert!(text.contains("loops=10"), "{text}");
    // It changes nothing and sends nothing else.
    assert_eq!(c.run("EXPLAIN ANALYZE SELECT * FROM t1").rows.len(), 1);
    assert_eq!(c.error("EXPLAIN ANALYZE DELETE FROM t1"), 1235);
    assert_eq!(c.error("EXPLAIN ANALYZE FORMAT=JSON SELECT 1"), 1235);
    assert_eq!(c.one("SELECT COUNT(*) FROM t1"), "1000");
}

#[test]
fn the_format_is_a_variable() {
    let mut c = client();
    assert_eq!(c.rows("EXPLAIN SELECT 1")[0].len(), 12);
    c.run("SET explain_format = TREE");
    assert!(c.one("EXPLAIN SELECT 1").starts_with("-> "));
    c.run("SET explain_format = JSON");
    assert!(c.one("EXPLAIN SELECT 1").starts_with("{"));
    assert_eq!(c.rows("EXPLAIN FORMAT=TRADITIONAL SELECT 1")[0].len(), 12);
    assert!(c.one("EXPLAIN ANALYZE SELECT 1").starts_with("-> "));
    assert_eq!(c.run("EXPLAIN SELECT 1").columns[0].name, "EXPLAIN");
    c.run("SET explain_format = DEFAULT");
    assert_eq!(c.error("EXPLAIN FORMAT=NOBODY SELECT 1"), 1791);
    assert_eq!(c.error("SET optimizer_trace = 'enabled=on'"), 1235);
    c.run("SET optimizer_trace = 'enabled=off'");
}

#[test]
fn json_is_valid_and_has_the_members_of_mysql() {
    let mut c = client();
    c.run("CREATE TABLE j (q INT PRIMARY KEY, t JSON)");
    for (sql, ..) in QUERIES {
        let text = c.one(&format!("EXPLAIN FORMAT=JSON {sql}"));
        let quoted = text.replace('\\', "\\\\").replace('\'', "''");
        assert_eq!(
            c.one(&format!("SELECT JSON_VALID('{quoted}')")),
            "1",
            "{text}"
        );
        assert!(
            text.starts_with("{\n  \"query_block\": {\n    \"select_id\": 1")
                || text.contains("union_result"),
            "{text}"
        );
    }
    let get = |c: &mut Client, sql: &str, path: &str| {
        let text = c.one(&format!("EXPLAIN FORMAT=JSON {sql}"));
        let quoted = text.replace('\\', "\\\\").replace('\'', "''");
        c.one(&format!("SELECT JSON_EXTRACT('{quoted}', '{path}')"))
    };
    let sql = "SELECT t1.id, t2.c FROM t1 JOIN t2 ON t1.a = t2.a WHERE t2.id = 7 AND t1.b > 5";
    for (path, value) in [
        ("$.query_block.nested_loop[0].table.table_name", "\"t2\""),
        (
            "$.query_block.nested_loop[0].table.access_type",
            "\"const\"",
        ),
        ("$.query_block.nested_loop[1].table.access_type", "\"ref\""),
        ("$.query_block.nested_loop[1].table.key", "\"a\""),
        (
            "$.query_block.nested_loop[1].table.used_key_parts",
            "[\"a\"]",
        ),
        ("$.query_block.nested_loop[1].table.key_length", "\"4\""),
        ("$.query_block.nested_loop[1].table.ref", "[\"test.t2.a\"]"),
        (
            "$.query_block.nested_loop[1].table.rows_examined_per_scan",
            "100",
        ),
        ("$.query_block.nested_loop[1].table.filtered", "\"40.00\""),
        (
            "$.query_block.nested_loop[1].table.used_columns",
            "[\"id\", \"a\", \"b\"]",
        ),
        (
            "$.query_block.nested_loop[1].table.attached_condition",
            "\"(`test`.`t1`.`b` > 5)\"",
        ),
    ] {
        assert_eq!(get(&mut c, sql, path), value, "{path}");
    }
    let sql = "SELECT a, COUNT(*) FROM (SELECT DISTINCT a, id % 2 FROM t1) d GROUP BY a ORDER BY 2";
    let inner = "$.query_block.ordering_operation.grouping_operation.table.materialized_from_subquery.query_block";
    assert_eq!(get(&mut c, sql, &format!("{inner}.select_id")), "2");
    assert_eq!(
        get(
            &mut c,
            sql,
            &format!("{inner}.duplicates_removal.table.table_name")
        ),
        "\"t1\""
    );
    let sql = "SELECT a FROM t3 UNION SELECT c FROM t2";
    let arms = "$.query_block.union_result.query_specifications[1].query_block.select_id";
    assert_eq!(get(&mut c, sql, arms), "2");
    let sql = "SELECT (SELECT MAX(c) FROM t2 WHERE t2.a = t3.a) FROM t3 WHERE t3.d > (SELECT AVG(d) FROM t3)";
    assert_eq!(
        get(
            &mut c,
            sql,
            "$.query_block.select_list_subqueries[0].dependent"
        ),
        "true"
    );
    assert_eq!(
        get(
            &mut c,
            sql,
            "$.query_block.table.attached_subqueries[0].dependent"
        ),
        "false"
    );
}

/// A page of a join is read in the order of an index where few rows of many are wanted, and only there.
#[test]
fn a_page_of_a_join_is_read_in_its_order() {
    let mut c = client();
    let join = "SELECT x.id, t2.c FROM t1 x JOIN t2 ON t2.id = x.b";
    let paged = "\
-> Limit: 5 row(s)
    -> Nested loop inner join
        -> Table scan on x (reverse)
        -> Single-row index lookup on t2 using PRIMARY (id=x.b)";
    let by = |c: &mut Client, rest: &str| c.tree(&format!("{join} {rest}"));
    assert_eq!(by(&mut c, "ORDER BY x.id DESC LIMIT 5"), paged);
    let begins = |tree: &str| tree.contains("scan on x") && !tree.contains("Hash");
    for (rest, is_paged) in [
        ("ORDER BY x.id LIMIT 5", true),
        ("ORDER BY x.id LIMIT 3 OFFSET 7", true),
        ("ORDER BY x.a, x.id LIMIT 5", true),
        ("ORDER BY x.id LIMIT 100000", false),
        ("ORDER BY x.id, t2.c LIMIT 5", false),
        ("GROUP BY x.id, t2.c ORDER BY x.id LIMIT 5", false),
    ] {
        let tree = by(&mut c, rest);
        let in_order = begins(&tree) && !tree.contains("Sort:");
        assert_eq!(in_order, is_paged, "{rest}\n{tree}");
    }
    c.run("SET optimizer_switch = 'prefer_ordering_index=off'");
    let off = by(&mut c, "ORDER BY x.a, x.id LIMIT 5");
    assert!(off.contains("Sort:"), "{off}");
}
