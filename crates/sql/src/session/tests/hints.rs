//! Optimizer hints and `optimizer_switch`: what is done instead, that the rows stay the same, and what is warned of.

use super::{Client, server};

/// Tables with a few hundred rows, so that more than one plan makes sense.
fn client() -> Client {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE n (i INT PRIMARY KEY)");
    c.run("INSERT INTO n VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)");
    c.run("CREATE TABLE t1 (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, KEY a (a), KEY b (b), KEY ab (a, b))");
    c.run("CREATE TABLE t2 (id INT PRIMARY KEY, a INT NOT NULL, c INT NOT NULL, KEY a (a))");
    c.run("CREATE TABLE t3 (a INT NOT NULL, d INT NOT NULL)");
    c.run("INSERT INTO t1 SELECT x.i * 100 + y.i * 10 + z.i, y.i, z.i FROM n x, n y, n z");
    c.run("INSERT INTO t2 SELECT x.i * 10 + y.i, x.i, y.i FROM n x, n y");
    c.run("INSERT INTO t3 SELECT i, i FROM n");
    c.run("ANALYZE TABLE t1, t2, t3");
    c
}

impl Client {
    /// What EXPLAIN says: table, type and key of each row, and how it is joined.
    fn plan(&mut self, sql: &str) -> String {
        let rows = self.rows(&format!("EXPLAIN {sql}"));
        let line = |r: Vec<String>| {
            let mut words = vec![r[2].clone(), r[4].clone()];
            if r[6] != "NULL" {
                words.push(r[6].clone());
            }
            for (extra, short) in [
                ("Block Nested Loop", "kept"),
                ("hash join", "hash"),
                ("FirstMatch", "first"),
                ("Duplicates weeded out", "weeded"),
                ("filesort", "sort"),
            ] {
                if r[11].contains(extra) {
                    words.push(short.to_owned());
                }
            }
            if r[1].ends_with("SUBQUERY") {
                words.push("subquery".to_owned());
            }
            words.join(" ")
        };
        rows.into_iter().map(line).collect::<Vec<_>>().join(", ")
    }

    fn tables(&mut self, sql: &str) -> String {
        let rows = self.rows(&format!("EXPLAIN {sql}"));
        let names: Vec<String> = rows.into_iter().map(|mut r| r.swap_remove(2)).collect();
        names.join(" ")
    }

    /// Code and text of the warnings of a statement.
    fn warnings(&mut self, sql: &str) -> Vec<String> {
        self.run(sql);
        let rows = self.rows("SHOW WARNINGS");
        rows.iter().map(|r| format!("{} {}", r[1], r[2])).collect()
    }

    /// That a query has the same rows with hints.
    fn same(&mut self, plain: &str, hinted: &str) {
        let mut rows = self.rows(plain);
        let mut others = self.rows(hinted);
        rows.sort();
        others.sort();
        assert_eq!(rows, others, "{hinted}");
    }
}

#[test]
fn the_order_of_joins_is_obeyed() {
    let mut c = client();
    let query = |hint: &str| {
        format!(
            "SELECT /*+ {hint} */ t1.id, t2.id, t3.d FROM t1 JOIN t2 ON t1.a = t2.a JOIN t3 ON t3.a = t2.c WHERE t1.b = 1"
        )
    };
    let cases = [
        ("JOIN_FIXED_ORDER()", "t1 t2 t3"),
        ("JOIN_ORDER(t1, t2)", "t1 t2"),
        ("JOIN_ORDER(t3, t1)", "t3 t1"),
        ("JOIN_ORDER(t3, t2, t1)", "t3 t2 t1"),
        ("JOIN_ORDER(t2, t1, t3)", "t2 t1 t3"),
        ("JOIN_PREFIX(t1)", "t1"),
        ("JOIN_PREFIX(t3, t1)", "t3 t1"),
        ("JOIN_SUFFIX(t1)", "t1"),
        ("JOIN_SUFFIX(t3)", "t3"),
        ("JOIN_PREFIX(t2) JOIN_SUFFIX(t1)", "t2 t3 t1"),
        // What would contradict the first is left out.
        ("JOIN_ORDER(t3, t2) JOIN_ORDER(t2, t3)", "t3 t2"),
        ("JOIN_ORDER(t3, t1) JOIN_PREFIX(t1)", "t3 t1"),
        ("QB_NAME(q) JOIN_PREFIX(@q t3, t1@q)", "t3 t1"),
    ];
    for (hint, order) in cases {
        let sql = query(hint);
        let found = c.tables(&sql);
        let fits = match hint {
            h if h.contains("JOIN_SUFFIX") && !h.contains("PREFIX") => found.ends_with(order),
            h if h.contains("JOIN_PREFIX") && !h.contains("JOIN_ORDER") => found.starts_with(order),
            _ => {
                let wanted: Vec<&str> = order.split(' ').collect();
                let mut found = found.split(' ').filter(|t| wanted.contains(t));
                wanted.iter().all(|w| found.next() == Some(w))
            }
        };
        assert!(fits, "{hint}: {found}");
        c.same(&query(""), &sql);
    }
    // An outer join's inner table comes behind what its condition reads.
    let outer =
        "SELECT /*+ JOIN_ORDER(t2, t1) */ t1.id, t2.id FROM t1 LEFT JOIN t2 ON t2.id = t1.id";
    assert_eq!(c.tables(outer), "t1 t2");
    let straight =
        "SELECT t1.id FROM t1 STRAIGHT_JOIN t3 ON t1.a = t3.a STRAIGHT_JOIN t2 ON t2.a = t3.a";
    assert_eq!(c.tables(straight), "t1 t3 t2");
}

#[test]
fn tables_of_semi_joins_take_part_in_the_order() {
    let mut c = client();
    let query = |hint: &str, inner: &str| {
        format!(
            "SELECT /*+ {hint} */ t1.id FROM t1 WHERE t1.a IN (SELECT /*+ {inner} */ t3.a FROM t3 WHERE t3.d < 3)"
        )
    };
    let plain = query("QB_NAME(o)", "QB_NAME(s)");
    for (hint, inner, tables) in [
        ("JOIN_ORDER(t3@s, t1)", "QB_NAME(s)", "t3 t1"),
        ("JOIN_PREFIX(t3)", "QB_NAME(s)", "t3 t1"),
        ("JOIN_ORDER(t1, t3)", "QB_NAME(s)", "t1 t3"),
    ] {
        let sql = query(hint, inner);
        assert_eq!(c.tables(&sql), tables, "{hint}");
        c.same(&plain, &sql);
    }
    for (hint, plan) in [
        ("SEMIJOIN(@s FIRSTMATCH)", "t1 index ab, t3 ALL hash first"),
        ("NO_SEMIJOIN(@s)", "t1 ALL, t3 ALL subquery"),
        ("SUBQUERY(@s INTOEXISTS)", "t1 ALL, t3 ALL subquery"),
        ("SUBQUERY(@s MATERIALIZATION)", "<derived2>"),
        ("SEMIJOIN(@s MATERIALIZATION)", "<derived2>"),
        ("SEMIJOIN(@s DUPSWEEDOUT)", "weeded"),
    ] {
        let sql = query(hint, "QB_NAME(s)");
        let found = c.plan(&sql);
        let fits = match plan.contains(',') {
            true => {
                found.contains("first") == plan.contains("first")
                    && found.contains("subquery") == plan.contains("subquery")
            }
            false => found.contains(plan),
        };
        assert!(fits, "{hint}: {found}");
        c.same(&plain, &sql);
    }
    c.run("SET optimizer_switch = 'semijoin=off'");
    assert!(c.plan(&plain).contains("subquery"));
    c.same(&plain, &query("SEMIJOIN(@s)", "QB_NAME(s)"));
    assert!(
        !c.plan(&query("SEMIJOIN(@s)", "QB_NAME(s)"))
            .contains("subquery")
    );
    c.run("SET optimizer_switch = 'semijoin=on,firstmatch=off,loosescan=off,materialization=off'");
    assert!(c.plan(&plain).contains("weeded"));
}

/// A row comes once, also where a semi-join whose duplicates are weeded out has another one in it.
#[test]
fn weeded_semi_joins_may_have_others_in_them() {
    let mut c = client();
    c.run("CREATE TABLE o (a INT NOT NULL)");
    c.run("CREATE TABLE p (a INT NOT NULL, x INT NOT NULL)");
    c.run("CREATE TABLE q (x INT NOT NULL, y INT NOT NULL)");
    c.run("INSERT INTO o VALUES (1), (2)");
    c.run("INSERT INTO p VALUES (1, 1), (1, 2), (2, 3)");
    c.run("INSERT INTO q VALUES (1, 1), (2, 1), (9, 1)");
    let query = |hint: &str| {
        format!(
            "SELECT /*+ {hint} */ a FROM o WHERE a IN (SELECT /*+ QB_NAME(s) */ a FROM p WHERE EXISTS (SELECT /*+ QB_NAME(i) */ 1 FROM q WHERE q.x = p.x))"
        )
    };
    for hint in [
        "SEMIJOIN(@s DUPSWEEDOUT)",
        "SEMIJOIN(@s DUPSWEEDOUT) SEMIJOIN(@i DUPSWEEDOUT)",
        "SEMIJOIN(@s DUPSWEEDOUT) SEMIJOIN(@i FIRSTMATCH)",
        "SEMIJOIN(@s DUPSWEEDOUT) NO_SEMIJOIN(@i)",
        "NO_SEMIJOIN(@s)",
    ] {
        assert_eq!(c.rows(&query(hint)), [["1"]], "{hint}");
    }
    let weeded = query("SEMIJOIN(@s DUPSWEEDOUT)");
    assert!(c.plan(&weeded).contains("weeded"));
}

#[test]
fn joins_without_hash_or_kept_rows() {
    let mut c = client();
    let query = |hint: &str| {
        format!(
            "SELECT /*+ JOIN_FIXED_ORDER() {hint} */ t3.a, t2.id FROM t3 JOIN t2 ON t2.c = t3.d"
        )
    };
    let plan = |how: &str| format!("t3 ALL, t2 ALL{how}");
    assert_eq!(c.plan(&query("")), plan(" hash"));
    assert_eq!(c.plan(&query("NO_HASH_JOIN(t2)")), plan(" kept"));
    assert_eq!(c.plan(&query("NO_HASH_JOIN()")), plan(" kept"));
    assert_eq!(c.plan(&query("NO_HASH_JOIN(t3)")), plan(" hash"));
    assert_eq!(c.plan(&query("NO_BNL(t2)")), plan(""));
    // What is said of the table goes before what is said of the block.
    assert_eq!(c.plan(&query("NO_BNL() BNL(t2)")), plan(" hash"));
    for hint in ["NO_HASH_JOIN(t2)", "NO_BNL(t2)"] {
        c.same(&query(""), &query(hint));
    }
    let left = |hint: &str| {
        format!("SELECT /*+ {hint} */ t3.a, t2.id FROM t3 LEFT JOIN t2 ON t2.c = t3.d AND t2.a > 7")
    };
    c.same(&left(""), &left("NO_BNL(t2)"));
    c.same(&left(""), &left("NO_HASH_JOIN(t2)"));
    c.run("SET optimizer_switch = 'hash_join=off'");
    assert_eq!(c.plan(&query("")), plan(" kept"));
    assert_eq!(c.plan(&query("HASH_JOIN(t2)")), plan(" hash"));
    c.run("SET optimizer_switch = 'hash_join=on,block_nested_loop=off'");
    assert_eq!(c.plan(&query("")), plan(""));
    assert_eq!(c.plan(&query("BNL(t2)")), plan(" hash"));
    c.run("SET optimizer_switch = default");
    assert_eq!(c.plan(&query("")), plan(" hash"));
}

#[test]
fn indexes_are_chosen_by_hints() {
    let mut c = client();
    for (sql, plan) in [
        (
            "SELECT /*+ INDEX(t1 a) */ * FROM t1 WHERE a = 1 AND b = 2",
            "t1 ref a",
        ),
        (
            "SELECT /*+ INDEX(t1 b) */ * FROM t1 WHERE a = 1 AND b = 2",
            "t1 ref b",
        ),
        (
            "SELECT /*+ JOIN_INDEX(t1 ab) */ * FROM t1 WHERE a = 1",
            "t1 ref ab",
        ),
        (
            "SELECT /*+ NO_INDEX(t1 ab, a) */ * FROM t1 WHERE a = 1 AND b = 2",
            "t1 ref b",
        ),
        (
            "SELECT /*+ NO_INDEX(t1) */ * FROM t1 WHERE a = 1 AND b = 2",
            "t1 ALL",
        ),
        (
            "SELECT /*+ NO_JOIN_INDEX(t1 a, ab) */ * FROM t1 WHERE a = 1",
            "t1 ALL",
        ),
        // They take the place of those of FROM.
        (
            "SELECT /*+ INDEX(t1 b) */ * FROM t1 IGNORE INDEX (b) WHERE a = 1 AND b = 2",
            "t1 ref b",
        ),
        (
            "SELECT /*+ NO_RANGE_OPTIMIZATION(t1 PRIMARY) */ * FROM t1 WHERE id > 990",
            "t1 ALL",
        ),
        ("SELECT * FROM t1 WHERE id > 990", "t1 range PRIMARY"),
        (
            "SELECT /*+ INDEX_MERGE(t1 a, b) */ * FROM t1 WHERE a = 1 OR b = 2",
            "t1 index_merge a,b",
        ),
        (
            "SELECT /*+ NO_INDEX_MERGE(t1) */ * FROM t1 WHERE a = 1 OR id = 2",
            "t1 ALL",
        ),
        (
            "SELECT * FROM t1 WHERE a = 1 OR id = 2",
            "t1 index_merge a,PRIMARY",
        ),
        (
            "SELECT * FROM t1 FORCE INDEX FOR ORDER BY (b) ORDER BY b",
            "t1 index b",
        ),
        (
            "SELECT /*+ ORDER_INDEX(t1 b) */ * FROM t1 ORDER BY b",
            "t1 index b",
        ),
        ("SELECT * FROM t1 ORDER BY b LIMIT 3", "t1 index b"),
        (
            "SELECT * FROM t1 IGNORE INDEX FOR ORDER BY (b) ORDER BY b LIMIT 3",
            "t1 ALL sort",
        ),
        (
            "SELECT /*+ NO_ORDER_INDEX(t1 b) */ * FROM t1 ORDER BY b LIMIT 3",
            "t1 ALL sort",
        ),
        (
            "SELECT * FROM t1 IGNORE INDEX FOR JOIN (b) ORDER BY b LIMIT 3",
            "t1 index b",
        ),
        ("DELETE /*+ NO_INDEX(t1) */ FROM t1 WHERE a = 77", "t1 ALL"),
        (
            "UPDATE /*+ INDEX(t1 b) */ t1 SET id = id + 0 WHERE a = 1 AND b = 2",
            "t1 ref b",
        ),
        (
            "INSERT INTO t3 SELECT /*+ NO_INDEX(t1) */ a, b FROM t1 WHERE a = 77",
            "t3 ALL, t1 ALL",
        ),
        (
            "INSERT /*+ NO_INDEX(t1) */ INTO t3 SELECT a, b FROM t1 WHERE a = 77",
            "t3 ALL, t1 ALL",
        ),
    ] {
        assert_eq!(c.plan(sql), plan, "{sql}");
    }
    c.run("SET optimizer_switch = 'index_merge=off'");
    assert_eq!(c.plan("SELECT * FROM t1 WHERE a = 1 OR id = 2"), "t1 ALL");
    assert_eq!(
        c.plan("SELECT /*+ INDEX_MERGE(t1) */ * FROM t1 WHERE a = 1 OR id = 2"),
        "t1 index_merge a,PRIMARY"
    );
    c.run("SET optimizer_switch = 'prefer_ordering_index=off'");
    assert_eq!(c.plan("SELECT * FROM t1 ORDER BY b LIMIT 3"), "t1 ALL sort");
}

#[test]
fn derived_tables_are_merged_or_not() {
    let mut c = client();
    let query =
        |hint: &str| format!("SELECT /*+ {hint} */ d.a FROM (SELECT a, b FROM t1) d WHERE d.a = 3");
    assert_eq!(c.plan(&query("")), "t1 ref a");
    assert_eq!(c.plan(&query("NO_MERGE(d)")), "<derived2> ALL, t1 ref ab");
    assert_eq!(
        c.plan(&query("NO_MERGE(d) NO_DERIVED_CONDITION_PUSHDOWN(d)")),
        "<derived2> ALL, t1 ALL"
    );
    c.same(
        &query(""),
        &query("NO_MERGE() NO_DERIVED_CONDITION_PUSHDOWN()"),
    );
    c.run("SET optimizer_switch = 'derived_merge=off'");
    assert_eq!(c.plan(&query("")), "<derived2> ALL, t1 ref ab");
    assert_eq!(c.plan(&query("MERGE(d)")), "t1 ref a");
    c.run("SET optimizer_switch = 'derived_condition_pushdown=off'");
    assert_eq!(c.plan(&query("")), "<derived2> ALL, t1 ALL");
}

/// Statements, and the numbers and texts of their warnings.
type Warned = (&'static str, &'static [(u16, &'static str)]);

const WRONG: &[Warned] = &[
    (
        "SELECT /*+ BOGUS */ 1 AS n",
        &[(
            1064,
            "Optimizer hint syntax error near 'BOGUS */ 1 AS n' at line 1",
        )],
    ),
    (
        "SELECT /*+ BKA(t) */ 1",
        &[
            (1235, "The optimizer hint BKA has no effect"),
            (3128, "Unresolved name `t`@`select#1` for BKA hint"),
        ],
    ),
    (
        "SELECT /*+ NO_BKA() NO_BKA() */ 1",
        &[(3126, "Hint NO_BKA( ) is ignored as conflicting/duplicated")],
    ),
    (
        "SELECT /*+ NO_BNL(t1) BNL(t1) */ 1 FROM t1 LIMIT 1",
        &[(3126, "Hint BNL(`t1` ) is ignored as conflicting/duplicated")],
    ),
    (
        "SELECT /*+ QB_NAME(q1) NO_ICP(@q1 t1 PRIMARY) NO_ICP(@q1 t1 PRIMARY) */ 1 FROM t1 LIMIT 1",
        &[(
            3126,
            "Hint NO_ICP(`t1`@`q1` `PRIMARY` ) is ignored as conflicting/duplicated",
        )],
    ),
    (
        "SELECT 1 FROM (SELECT /*+ NO_ICP(t1 a, zz) */ a FROM t1 LIMIT 1) d",
        &[(3128, "Unresolved name `t1`@`select#2` `zz` for NO_ICP hint")],
    ),
    (
        "SELECT /*+ JOIN_PREFIX(t1, t2) JOIN_PREFIX(t2, t1) */ 1 FROM t1, t2 LIMIT 1",
        &[(
            3126,
            "Hint JOIN_PREFIX( `t2`,`t1`) is ignored as conflicting/duplicated",
        )],
    ),
    (
        "SELECT /*+ JOIN_ORDER(t1, t7) */ 1 FROM t1 LIMIT 1",
        &[(3128, "Unresolved name `t7` for JOIN_ORDER hint")],
    ),
    (
        "SELECT /*+ NO_BNL(@nobody) */ 1",
        &[(
            3127,
            "Query block name `nobody` is not found for NO_BNL hint",
        )],
    ),
    (
        "SELECT /*+ QB_NAME(q) QB_NAME(r) */ 1",
        &[(
            3126,
            "Hint QB_NAME(`r`) is ignored as conflicting/duplicated",
        )],
    ),
    (
        "SELECT /*+ MAX_EXECUTION_TIME(10000) MAX_EXECUTION_TIME(2) */ 1",
        &[(
            3126,
            "Hint MAX_EXECUTION_TIME(2) is ignored as conflicting/duplicated",
        )],
    ),
    (
        "INSERT INTO t3 SELECT /*+ MAX_EXECUTION_TIME(10000) */ 1, 1",
        &[(
            3125,
            "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only",
        )],
    ),
    (
        "SELECT /*+ RESOURCE_GROUP(g) */ 1",
        &[(1235, "The optimizer hint RESOURCE_GROUP has no effect")],
    ),
    ("INSERT /*+ NO_INDEX(t3) */ INTO t3 VALUES (100, 100)", &[]),
    (
        "SELECT /*+ SET_VAR(nobody = 1) */ 1",
        &[(3128, "Unresolved name 'nobody' for SET_VAR hint")],
    ),
    (
        "SELECT /*+ SET_VAR(autocommit = 0) */ 1",
        &[(
            3637,
            "Variable 'autocommit' cannot be set using SET_VAR hint.",
        )],
    ),
    (
        "SELECT /*+ SET_VAR(max_points_in_geometry=2) SET_VAR(max_points_in_geometry=9) */ 1",
        &[
            (
                3126,
                "Hint SET_VAR(max_points_in_geometry=9)  is ignored as conflicting/duplicated",
            ),
            (
                1292,
                "Truncated incorrect max_points_in_geometry value: '2'",
            ),
        ],
    ),
    (
        "SELECT /*+ SET_VAR(max_points_in_geometry='bad') */ 1",
        &[(
            1232,
            "Incorrect argument type to variable 'max_points_in_geometry'",
        )],
    ),
    (
        "SELECT /*+ SET_VAR(optimizer_switch='bad=on') */ 1",
        &[(
            1231,
            "Variable 'optimizer_switch' can't be set to the value of 'bad=on'",
        )],
    ),
];

#[test]
fn wrong_hints_are_warned_of() {
    let mut c = client();
    for (sql, warnings) in WRONG {
        let wanted: Vec<String> = warnings.iter().map(|(n, s)| format!("{n} {s}")).collect();
        assert_eq!(c.warnings(sql), wanted, "{sql}");
    }
    assert_eq!(c.error("SET optimizer_switch = 'bad=on'"), 1231);
}

#[test]
fn set_var_holds_for_its_statement() {
    let mut c = client();
    let ask = "SELECT /*+ SET_VAR(max_points_in_geometry=9) */ @@max_points_in_geometry";
    for _ in 0..3 {
        assert_eq!(c.one(ask), "9");
        assert_eq!(c.one("SELECT @@max_points_in_geometry"), "65536");
    }
    // The innermost is set first.
    let nested = "SELECT /*+ SET_VAR(max_points_in_geometry=9) */ @@max_points_in_geometry, (SELECT /*+ SET_VAR(max_points_in_geometry=7) */ 1)";
    assert_eq!(c.one(nested), "7");
    // Prepared as well, again and again.
    c.run(&format!("PREPARE s FROM '{ask}'"));
    for _ in 0..3 {
        assert_eq!(c.one("EXECUTE s"), "9");
        assert_eq!(c.one("SELECT @@max_points_in_geometry"), "65536");
    }
    // And given back after an error.
    c.run("SET sql_mode = ''");
    let strict =
        "INSERT /*+ SET_VAR(sql_mode='STRICT_ALL_TABLES') */ INTO t3 VALUES (NULL, NULL), ('x', 1)";
    assert_ne!(c.error(strict), 0);
    assert_eq!(c.one("SELECT @@sql_mode"), "");
    assert_eq!(c.error("INSERT INTO t3 VALUES ('x', 1)"), 0);
    // A limit of time.
    assert_eq!(
        c.error("SELECT /*+ SET_VAR(max_execution_time=50) */ BENCHMARK(1000000000000, 1)"),
        3024
    );
    // The time of the statement.
    assert_eq!(
        c.one("SELECT /*+ SET_VAR(timestamp=1000) */ UNIX_TIMESTAMP()"),
        "1000"
    );
    assert_ne!(c.one("SELECT UNIX_TIMESTAMP()"), "1000");
    // Plans.
    let plain = "SELECT d.a FROM (SELECT a, b FROM t1) d WHERE d.a = 3";
    let apart = "SELECT /*+ SET_VAR(optimizer_switch='derived_merge=off') */ d.a FROM (SELECT a, b FROM t1) d WHERE d.a = 3";
    for _ in 0..3 {
        assert_eq!(c.plan(plain), "t1 ref a");
        assert_eq!(c.plan(apart), "<derived2> ALL, t1 ref ab");
        c.same(plain, apart);
    }
}

/// Some variables need a privilege, in a hint as in SET.
#[test]
fn set_var_asks_for_the_privilege() {
    let (server, mut root) = super::access::stage();
    let mut u = Client::of(&server, "u");
    let ask = "SELECT /*+ SET_VAR(auto_increment_increment=5) */ @@auto_increment_increment";
    assert_eq!(root.one(ask), "5");
    assert_eq!(u.one(ask), "1");
    assert!(u.warnings(ask)[0].starts_with("1227 "));
}

/// A plan that is kept for a text is of the switches that it was made under.
#[test]
fn kept_plans_belong_to_their_switches() {
    let mut c = client();
    let sql = "SELECT t3.a, t2.id FROM t3 STRAIGHT_JOIN t2 ON t2.c = t3.d";
    c.run(&format!("PREPARE s FROM '{sql}'"));
    for switch in [
        "hash_join=off",
        "hash_join=on",
        "block_nested_loop=off",
        "block_nested_loop=on",
    ] {
        for _ in 0..3 {
            assert_eq!(c.rows(sql).len(), 100);
            assert_eq!(c.rows("EXECUTE s").len(), 100);
        }
        c.run(&format!("SET optimizer_switch = '{switch}'"));
    }
}
