//! Optimizer hints: what is read, what is a fault, and where.

use crate::ast::*;
use crate::{Options, parse_one};

fn hints(sql: &str) -> Hints {
    let (statement, _) = parse_one(sql.as_bytes(), &Options::default()).expect("a statement");
    statement.hints().expect("a block").clone()
}

/// The hints as they are printed, and the faults.
fn read(inside: &str) -> (Vec<String>, Vec<String>) {
    let h = hints(&format!("SELECT /*+ {inside} */ 1"));
    let list = h.list.iter().map(Hint::to_string).collect();
    (list, h.faults.iter().map(|f| f.to_string()).collect())
}

#[test]
fn hints_are_read() {
    let cases = [
        ("QB_NAME(q)", "QB_NAME(`q`)"),
        ("max_execution_time ( 7 )", "MAX_EXECUTION_TIME(7)"),
        (
            "SET_VAR(sort_buffer_size = 2M)",
            "SET_VAR(`sort_buffer_size`=2097152)",
        ),
        ("SET_VAR(sql_mode='')", "SET_VAR(`sql_mode`='')"),
        ("SET_VAR(unique_checks=OFF)", "SET_VAR(`unique_checks`=OFF)"),
        ("JOIN_ORDER(t1, t2@q)", "JOIN_ORDER(`t1`,`t2`@`q`)"),
        ("JOIN_PREFIX(@q t1,t2)", "JOIN_PREFIX(@`q` `t1`,`t2`)"),
        ("JOIN_FIXED_ORDER()", "JOIN_FIXED_ORDER()"),
        ("JOIN_FIXED_ORDER(@q)", "JOIN_FIXED_ORDER(@`q` )"),
        ("NO_BNL()", "NO_BNL()"),
        (
            "NO_HASH_JOIN(@`my q` a, b)",
            "NO_HASH_JOIN(@`my q` `a`,`b`)",
        ),
        ("NO_MERGE(d)", "NO_MERGE(`d`)"),
        ("INDEX(t i, j)", "INDEX(`t` `i`,`j`)"),
        (
            "NO_ORDER_INDEX(@q t PRIMARY)",
            "NO_ORDER_INDEX(`t`@`q` `PRIMARY`)",
        ),
        ("NO_ICP(t@q)", "NO_ICP(`t`@`q` )"),
        (
            "SEMIJOIN(@q FIRSTMATCH, loosescan)",
            "SEMIJOIN(@`q` FIRSTMATCH,LOOSESCAN)",
        ),
        ("NO_SEMIJOIN()", "NO_SEMIJOIN()"),
        ("SUBQUERY(@q INTOEXISTS)", "SUBQUERY(@`q` INTOEXISTS)"),
        ("RESOURCE_GROUP(g)", "RESOURCE_GROUP(`g`)"),
    ];
    for (text, printed) in cases {
        assert_eq!(read(text), (vec![printed.to_owned()], vec![]), "{text}");
        // What is printed is read as the same.
        assert_eq!(read(printed).0, [printed], "{printed}");
    }
    let (list, faults) = read("BKA(t)MRR(t) /");
    assert_eq!(list, ["BKA(`t`)", "MRR(`t` )"]);
    assert_eq!(faults.len(), 1);
}

/// As MySQL tells them.
#[test]
fn a_fault_ends_the_list() {
    let near = |s: &str| format!("Optimizer hint syntax error near '{s}' at line 1");
    let cases = [
        ("BOGUS", vec![near("BOGUS */ 1")]),
        ("", vec![near("*/ 1")]),
        ("@foo", vec![near("@foo */ 1")]),
        ("BKA( @)", vec![near(") */ 1")]),
        ("BKA(t1 @)", vec![near(") */ 1")]),
        ("NO_ICP()", vec![near(") */ 1")]),
        ("QB_NAME()", vec![near(") */ 1")]),
        ("MAX_EXECUTION_TIME(1.5) X", vec![near("1.5) X */ 1")]),
        ("MAX_EXECUTION_TIME(-1)", vec![near("-1) */ 1")]),
        ("ICP(t)", vec![near("ICP(t) */ 1")]),
        (
            "MAX_EXECUTION_TIME(4294967296) BOGUS",
            vec![
                "Unsupported MAX_EXECUTION_TIME near ') BOGUS */ 1' at line 1".to_owned(),
                near("BOGUS */ 1"),
            ],
        ),
    ];
    for (text, faults) in cases {
        assert_eq!(read(text).1, faults, "{text}");
    }
    let (list, faults) = read("QB_NAME(q), QB_NAME(r)");
    assert_eq!(list, ["QB_NAME(`q`)"]);
    assert_eq!(faults, [near(", QB_NAME(r) */ 1")]);
}

#[test]
fn they_stand_behind_the_first_word_only() {
    assert_eq!(hints("SELECT 1 /*+ QB_NAME(q) */").list, []);
    assert_eq!(hints("SELECT /* x */ /*+ QB_NAME(q) */ 1").list, []);
    for sql in [
        "INSERT /*+ QB_NAME(q) */ INTO t VALUES (1)",
        "REPLACE /*+ QB_NAME(q) */ INTO t VALUES (1)",
        "UPDATE /*+ QB_NAME(q) */ t SET a = 1",
        "DELETE /*+ QB_NAME(q) */ FROM t",
        "(SELECT /*+ QB_NAME(q) */ 1) UNION SELECT 2",
        "EXPLAIN SELECT /*+ QB_NAME(q) */ 1",
    ] {
        assert_eq!(hints(sql).list, [Hint::BlockName("q".into())], "{sql}");
    }
}

#[test]
fn set_vars_are_gathered_from_the_inside_out() {
    let h = hints(
        "SELECT /*+ SET_VAR(a=1) */ (SELECT /*+ SET_VAR(b=2) */ 1) FROM (SELECT /*+ SET_VAR(c=3) */ 1) d",
    );
    let names: Vec<&str> = h.set_vars.iter().map(|v| &*v.name).collect();
    assert_eq!(names, ["b", "c", "a"]);
}

#[test]
fn blocks_are_numbered_in_the_order_of_the_text() {
    fn number(q: &Query) -> u32 {
        match &q.body {
            QueryBody::Select(s) => s.number,
            QueryBody::Set(s) => match &s.first {
                QueryBody::Select(s) => s.number,
                _ => 0,
            },
            _ => 0,
        }
    }
    let sql = "WITH c AS (SELECT 1) SELECT (SELECT 2) FROM (SELECT 3) d WHERE EXISTS (SELECT 4)";
    let (statement, _) = parse_one(sql.as_bytes(), &Options::default()).expect("a statement");
    let Statement::Query(q) = statement else {
        panic!("a query")
    };
    assert_eq!(number(&q), 1);
    assert_eq!(number(&q.with.as_ref().expect("WITH").ctes[0].query), 2);
    let QueryBody::Select(s) = &q.body else {
        panic!("a block")
    };
    let SelectItem::Expr {
        expr: Expr::Subquery(sub),
        ..
    } = &s.items[0]
    else {
        panic!("a subquery")
    };
    assert_eq!(number(sub), 3);
    let TableRef::Derived(d) = &s.from[0] else {
        panic!("a derived table")
    };
    assert_eq!(number(&d.query), 4);
}
