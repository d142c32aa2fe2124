//! Operator precedence and the shapes of expressions, by their canonical text.

use super::{Options, canonical, error};

/// Input, and the same with every operator in parentheses.
const CASES: &[(&str, &str)] = &[
    ("1+2*3", "(1 + (2 * 3))"),
    ("1-2-3", "((1 - 2) - 3)"),
    ("2*3/4%5", "(((2 * 3) / 4) % 5)"),
    ("8 DIV 3 MOD 2", "((8 DIV 3) % 2)"),
    ("2*3^4", "(2 * (3 ^ 4))"),
    ("2^3^4", "((2 ^ 3) ^ 4)"),
    ("-2^3", "(-(2) ^ 3)"),
    ("-a^b", "(-(`a`) ^ `b`)"),
    ("!a^b", "((not(`a`)) ^ `b`)"),
    ("~a+b", "(~(`a`) + `b`)"),
    ("- -1", "-(-(1))"),
    ("1|2&3", "(1 | (2 & 3))"),
    ("1&2<<3", "(1 & (2 << 3))"),
    ("1<<2+3", "(1 << (2 + 3))"),
    ("1+2>>3|4", "(((1 + 2) >> 3) | 4)"),
    ("a=b=c", "((`a` = `b`) = `c`)"),
    ("a<b|c", "(`a` < (`b` | `c`))"),
    ("a=b AND c=d", "((`a` = `b`) and (`c` = `d`))"),
    ("a OR b AND c", "(`a` or (`b` and `c`))"),
    ("a AND b OR c AND d", "((`a` and `b`) or (`c` and `d`))"),
    ("a XOR b OR c", "((`a` xor `b`) or `c`)"),
    ("a OR b XOR c", "(`a` or (`b` xor `c`))"),
    ("a XOR b AND c", "(`a` xor (`b` and `c`))"),
    ("a AND b AND c", "(`a` and `b` and `c`)"),
    ("(a OR b) OR c", "(`a` or `b` or `c`)"),
    ("a || b && c", "(`a` or (`b` and `c`))"),
    ("NOT a = b", "(not((`a` = `b`)))"),
    ("NOT a AND b", "((not(`a`)) and `b`)"),
    ("NOT NOT a", "(not((not(`a`))))"),
    ("NOT a BETWEEN 1 AND 2", "(not((`a` between 1 and 2)))"),
    ("NOT a IS NULL", "(not((`a` is null)))"),
    ("!a = b", "((not(`a`)) = `b`)"),
    ("a = b IS NULL", "((`a` = `b`) is null)"),
    ("a IS NULL = b", "((`a` is null) = `b`)"),
    ("a IS NULL IS NOT NULL", "((`a` is null) is not null)"),
    ("a = b IS TRUE", "((`a` = `b`) is true)"),
    ("a IS TRUE AND b", "((`a` is true) and `b`)"),
    ("a BETWEEN 1 AND 2 AND b", "((`a` between 1 and 2) and `b`)"),
    ("a BETWEEN 1+1 AND 2|3", "(`a` between (1 + 1) and (2 | 3))"),
    (
        "a BETWEEN b AND c IN (1)",
        "(`a` between `b` and (`c` in (1)))",
    ),
    ("a NOT IN (1,2) = 3", "((`a` not in (1,2)) = 3)"),
    ("a+1 IN (2)", "((`a` + 1) in (2))"),
    ("a = b IN (1)", "(`a` = (`b` in (1)))"),
    ("a LIKE 'b' AND c", "((`a` like 'b') and `c`)"),
    ("a LIKE b = c", "((`a` like `b`) = `c`)"),
    ("a NOT LIKE 'b'", "(not((`a` like 'b')))"),
    ("a REGEXP b|c", "regexp_like(`a`,(`b` | `c`))"),
    ("a SOUNDS LIKE b+1", "(`a` sounds like (`b` + 1))"),
    ("a COLLATE c = b", "((`a` collate c) = `b`)"),
    ("-a COLLATE c", "-((`a` collate c))"),
    ("(-a) COLLATE c", "((-(`a`)) collate c)"),
    (
        "BINARY a COLLATE c",
        "cast((`a` collate c) as char charset binary)",
    ),
    ("BINARY a = b", "(cast(`a` as char charset binary) = `b`)"),
    ("d + INTERVAL 1 DAY + 2", "((`d` + interval 1 day) + 2)"),
    (
        "d - INTERVAL 1+1 HOUR > e",
        "((`d` - interval (1 + 1) hour) > `e`)",
    ),
    ("INTERVAL 1 DAY + d", "(`d` + interval 1 day)"),
    ("INTERVAL (1)+1 DAY + d", "(`d` + interval (1 + 1) day)"),
    ("1 + INTERVAL(1,2,3) * 2", "(1 + (interval(1,2,3) * 2))"),
    ("@a := 1 OR 2", "(@`a`:=(1 or 2))"),
    ("1 + @a := 5 + 6", "(1 + (@`a`:=(5 + 6)))"),
    ("@a := @b := 3", "(@`a`:=(@`b`:=3))"),
    (
        "CASE a WHEN 1 THEN 2 END + 1",
        "((case `a` when 1 then 2 end) + 1)",
    ),
    ("(1,2) = (3,4)", "(row(1,2) = row(3,4))"),
    ("j->'$.a' = 1", "(json_extract(`j`,'$.a') = 1)"),
    ("1 MEMBER OF(j) = 1", "((1 member of (`j`)) = 1)"),
    ("+a", "`a`"),
    ("a<=>b", "(`a` <=> `b`)"),
    ("a != b", "(`a` <> `b`)"),
    ("1--1", "(1 - -(1))"),
    ("count(*)+1", "(count(0) + 1)"),
    ("CURRENT_TIMESTAMP(3)", "now(3)"),
    ("date_add(a, interval 1 month)", "(`a` + interval 1 month)"),
    ("trim(a)", "trim(`a`)"),
    ("substr(a from 1 for 2)", "substring(`a`,1,2)"),
    ("position('a' in b)", "locate('a',`b`)"),
    ("x'4d' + b'101'", "(0x4D + 0x05)"),
    (
        "1e10 + 18446744073709551616",
        "(1e10 + 18446744073709551616)",
    ),
    (
        "group_concat(distinct a order by b desc separator '-')",
        "group_concat(distinct `a` order by `b` desc separator '-')",
    ),
    (
        "sum(a) over (partition by b order by c)",
        "sum(`a`) OVER (PARTITION BY `b` ORDER BY `c` ) ",
    ),
    ("'a' 'b'", "'ab'"),
    ("_latin1'x' 'y'", "_latin1'xy'"),
    ("MOD(a, 2)", "(`a` % 2)"),
];

#[test]
fn operators_bind_as_in_mysql() {
    for (input, expected) in CASES {
        assert_eq!(&canonical(input, &Options::default()), expected, "{input}");
    }
}

#[test]
fn canonical_text_is_a_fixed_point() {
    for (input, _) in CASES {
        let once = canonical(input, &Options::default());
        assert_eq!(canonical(&once, &Options::default()), once, "{input}");
    }
}

#[test]
fn sql_modes_change_precedence() {
    let pipes = Options {
        pipes_as_concat: true,
        ..Options::default()
    };
    assert_eq!(canonical("a || b ^ c", &pipes), "(concat(`a`,`b`) ^ `c`)");
    assert_eq!(canonical("-a || b", &pipes), "concat(-(`a`),`b`)");
    assert_eq!(
        canonical("a LIKE 'x' || 'y'", &pipes),
        "(`a` like concat('x','y'))"
    );
    let high = Options {
        high_not_precedence: true,
        ..Options::default()
    };
    assert_eq!(
        canonical("NOT a BETWEEN 1 AND 2", &high),
        "((not(`a`)) between 1 and 2)"
    );
    assert_eq!(canonical("a NOT IN (1)", &high), "(`a` not in (1))");
    assert_eq!(canonical("1 + NOT 2", &high), "(1 + (not(2)))");
}

#[test]
fn operators_that_do_not_chain_are_errors() {
    for (sql, near) in [
        ("SELECT a IN (1) IN (2)", "IN (2)"),
        ("SELECT a LIKE b LIKE c", "LIKE c"),
        ("SELECT a IS TRUE IS TRUE", "IS TRUE"),
        ("SELECT a IS TRUE = 1", "= 1"),
        ("SELECT 1 + NOT 2", "NOT 2"),
        ("SELECT a = NOT b", "NOT b"),
        ("SELECT a LIKE b + c", "+ c"),
        ("SELECT a <=> ALL (SELECT 1)", "ALL (SELECT 1)"),
    ] {
        assert_eq!(error(sql).near, near, "{sql}");
    }
}

#[test]
fn string_literals_carry_an_introducer_on_request() {
    let expr = super::parse_expr(b"concat(a, 'x', _latin1'y')", &Options::default())
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        expr.deparse(Some("utf8mb4")).to_string(),
        "concat(`a`,_utf8mb4'x',_latin1'y')"
    );
}
