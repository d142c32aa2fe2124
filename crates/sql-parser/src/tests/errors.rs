//! Error texts, numbers and where they point.

use super::{error, parse};
use crate::Options;
use crate::ast::Statement;

#[test]
fn syntax_errors_quote_the_text_near_the_fault() {
    for (sql, near, line) in [
        ("SELEC 1", "SELEC 1", 1),
        ("SELECT 1 FROM", "", 1),
        ("SELECT 1 FROM\nt WHERE\n  = 2", "= 2", 3),
        ("SELECT * FROM t WHERE a = = b", "= b", 1),
        ("INSERT INTO t VALUES (1,)", ")", 1),
        ("INSERT INTO t VALUES (1", "", 1),
        ("SELECT a, FROM t", "FROM t", 1),
        ("SELECT a, * FROM t", "* FROM t", 1),
        ("SELECT 1; SELECT", "", 1),
        ("CREATE TABLE t (a)", ")", 1),
        ("CREATE TABLE select (a INT)", "select (a INT)", 1),
        ("UPDATE t SET", "", 1),
        ("DELETE t", "", 1),
        ("DROP TABLE", "", 1),
        ("SELECT 'abc", "'abc", 1),
        ("SELECT /* abc", "/* abc", 1),
        ("SELECT `a", "`a", 1),
        ("SELECT 1 /*! + 1", "", 1),
        ("GRANT a /*! , b", "", 1),
        ("SELECT a FROM t LIMIT -1", "-1", 1),
        ("SELECT a FROM t LIMIT 1 ORDER BY a", "ORDER BY a", 1),
        ("SELECT x'4'", "x'4'", 1),
        ("SELECT 1 GROUP BY a DESC", "DESC", 1),
        ("SELECT * FROM a LEFT JOIN b", "", 1),
        ("SHOW TABLE", "", 1),
        ("SHOW NONSENSE", "NONSENSE", 1),
        (";", ";", 1),
        ("SELECT count (*) FROM t", "*) FROM t", 1),
        ("SELECT 1 1", "1", 1),
        ("SELECT @@select", "select", 1),
    ] {
        let sql = sql.strip_prefix("SELECT 1; ").unwrap_or(sql);
        let e = error(sql);
        assert_eq!((e.near.as_str(), e.line), (near, line), "{sql}");
        assert_eq!((e.code(), e.sqlstate()), (1064, "42000"));
        assert_eq!(
            e.to_string(),
            format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your \
                 MySQL server version for the right syntax to use near '{near}' at line {line}"
            )
        );
    }
}

#[test]
fn the_quoted_text_is_at_most_eighty_bytes() {
    let sql = format!("SELECT 1 FROM t WHERE = {}", "é".repeat(100));
    let e = error(&sql);
    assert_eq!(e.near, format!("= {}", "é".repeat(39)));
}

#[test]
fn text_behind_the_statement_is_part_of_the_quote() {
    assert_eq!(error("SELECT FROM t; SELECT 2").near, "FROM t; SELECT 2");
}

#[test]
fn nothing_is_an_empty_query() {
    for sql in ["", "  \n", "\0"] {
        let e = error(sql);
        assert_eq!((e.code(), e.sqlstate()), (1065, "42000"), "{sql:?}");
        assert_eq!(e.to_string(), "Query was empty");
    }
}

#[test]
fn a_comment_is_a_statement_that_does_nothing() {
    for sql in ["-- x", "# x\n", " /* x */ ", "/*!99999 x */", "/*!*/"] {
        let options = Options::default();
        let parsed = crate::parse(sql.as_bytes(), &options).expect(sql);
        assert_eq!(parsed.statement, Statement::Nothing, "{sql:?}");
        assert_eq!(parsed.consumed, sql.len());
    }
}

#[test]
fn other_errors_of_the_grammar() {
    let e = error("SELECT * FROM (SELECT 1)");
    assert_eq!((e.code(), e.sqlstate()), (1248, "42000"));
    assert_eq!(e.to_string(), "Every derived table must have its own alias");
    let e = error("SELECT ALL DISTINCT 1");
    assert_eq!(e.code(), 1221);
    let e = error("EXPLAIN FORMAT=x SELECT 1");
    assert_eq!(e.to_string(), "Unknown EXPLAIN format name: 'x'");
    let e = error("SELECT 1e999");
    assert_eq!((e.code(), e.sqlstate()), (1367, "22007"));
    let Err(e) = parse(b"SELECT `\xff`", &Options::default()) else {
        panic!("bad name parses");
    };
    assert_eq!(e.to_string(), "Invalid utf8mb4 character string: '\\xFF'");
}
