//! Parameters of prepared statements whose values have another type than where they stand suggests.

use base::block_on;
use types::{Decimal, Value};

use super::{Client, server, text_of};
use sql_plan::sink::Collector;

fn prepare(c: &mut Client, sql: &str) -> u32 {
    match c.session.prepare(sql.as_bytes()) {
        Ok(info) => info.id,
        Err(e) => panic!("{sql}: {e}"),
    }
}

/// The rows of an execution, or its error's number.
fn execute(c: &mut Client, id: u32, params: &[Value]) -> String {
    let mut sink = Collector::new();
    if let Err(e) = block_on(c.session.execute_prepared(id, params, &mut sink)) {
        return format!("error {}", e.code);
    }
    let Some(r) = sink.results.pop() else {
        return String::new();
    };
    let shown = |row: &Vec<Value>| {
        let values = row.iter().zip(r.columns.iter());
        let texts: Vec<String> = values.map(|(v, c)| text_of(v, &c.ty)).collect();
        texts.join("|")
    };
    r.rows.iter().map(shown).collect::<Vec<_>>().join(" ")
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text.as_bytes()).value)
}

fn text(s: &str) -> Value {
    Value::Str(
        s.as_bytes().to_vec(),
        types::CollationId::default_of(types::Charset::Utf8mb4),
    )
}

/// Executions of a statement: the values of its parameters, and the rows.
type Runs<'a> = &'a [(&'a [Value], &'a str)];

/// Executes statements with one value after the other, and the other way round.
fn check(c: &mut Client, cases: &[(&str, Runs<'_>)]) {
    for (sql, runs) in cases {
        let id = prepare(c, sql);
        for (params, expected) in *runs {
            assert_eq!(&execute(c, id, params), expected, "{sql} {params:?}");
        }
        // The other way round the plan of the last execution is met by the first.
        for (params, expected) in runs.iter().rev() {
            let got = execute(c, id, params);
            let same = got == *expected || got.parse::<f64>().ok() == expected.parse::<f64>().ok();
            assert!(same, "{sql} {params:?} again: {got}");
        }
    }
}

#[test]
fn what_is_computed_follows_the_values() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE m (a INT, d DECIMAL(10,2), s VARCHAR(10), y YEAR, b BIT(8), w DATE)");
    c.run("INSERT INTO m VALUES (3, 1.25, 'x', 2001, 5, '2001-02-03')");
    let f = Value::Double;
    let i = Value::Int;
    let cases: &[(&str, Runs<'_>)] = &[
        (
            "SELECT ? + 0",
            &[
                (&[i(1)], "1"),
                (&[f(1.5)], "1.5"),
                (&[decimal("1.5")], "1.5"),
                (&[Value::UInt(u64::MAX)], "18446744073709551615"),
                (&[text("2.5")], "2.5"),
                (&[Value::Null], "NULL"),
                (&[i(7)], "7"),
            ],
        ),
        (
            "SELECT a * ? FROM m",
            &[(&[f(0.25)], "0.75"), (&[i(2)], "6")],
        ),
        (
            "SELECT d * ? FROM m",
            &[
                (&[decimal("0.333333")], "0.41666625"),
                (&[decimal("2")], "2.50"),
            ],
        ),
        (
            "SELECT ? % y FROM m",
            &[(&[i(-4003)], "-1"), (&[decimal("4003.5")], "1.5")],
        ),
        (
            "SELECT b + ? FROM m",
            &[(&[f(0.5)], "5.5"), (&[i(-1)], "4"), (&[i(1)], "6")],
        ),
        (
            "SELECT TIMESTAMP'2038-01-19 03:14:07' < ?",
            &[(&[i(1)], "0"), (&[text("2039-01-01")], "1")],
        ),
        (
            "SELECT w < ? FROM m",
            &[(&[i(1)], "0"), (&[i(20020101)], "1")],
        ),
        ("SELECT a FROM m WHERE a + ? = 3.5", &[(&[f(0.5)], "3")]),
        (
            "SELECT a FROM m WHERE a = ?",
            &[(&[f(3.0)], "3"), (&[f(3.5)], ""), (&[text("3")], "3")],
        ),
        // A text beside a number is a number.
        (
            "SELECT a FROM m WHERE s = ?",
            &[(&[i(0)], "3"), (&[text("x")], "3"), (&[text("0")], "")],
        ),
        (
            "SELECT ? NOT IN (?, ?, ?)",
            &[
                (&[text("a"), i(1), text(""), Value::Null], "NULL"),
                (&[i(1), i(1), text(""), Value::Null], "0"),
                (&[text("a"), text("a"), text("b"), text("c")], "0"),
            ],
        ),
        (
            "SELECT ? IN (1, '')",
            &[(&[text("a")], "0"), (&[text("")], "1"), (&[i(1)], "1")],
        ),
        (
            "SELECT CONCAT(s, ?) FROM m",
            &[(&[i(5)], "x5"), (&[text("y")], "xy")],
        ),
        (
            "SELECT IFNULL(?, 2) + ?",
            &[(&[Value::Null, i(1)], "3"), (&[f(0.5), f(0.25)], "0.75")],
        ),
        (
            "SELECT ?",
            &[(&[i(5)], "5"), (&[text("a")], "a"), (&[f(0.5)], "0.5")],
        ),
    ];
    check(&mut c, cases);
}

#[test]
fn what_is_handed_on_or_compared_exactly_follows_the_values() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE m (d DECIMAL(10,2))");
    c.run("INSERT INTO m VALUES (1.25)");
    let cases: &[(&str, Runs<'_>)] = &[
        // What MIN and MAX hand on has the type of the value.
        (
            "SELECT MAX(?) / 3 FROM m",
            &[
                (&[Value::Int(5)], "1.6667"),
                (&[Value::Double(0.75)], "0.25"),
            ],
        ),
        // Beside an exact number text is one, with all its digits.
        (
            "SELECT CAST(12345678901234567.25 AS DECIMAL(20,2)) + d < ? FROM m",
            &[
                (&[text("12345678901234568.50")], "0"),
                (&[text("12345678901234568.51")], "1"),
            ],
        ),
    ];
    check(&mut c, cases);
}

#[test]
fn one_of_several_takes_the_numbers_beside_it() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE m (d DECIMAL(10,2), y YEAR, w DATE, f FLOAT)");
    c.run("INSERT INTO m VALUES (1.25, 2001, '2001-02-03', 1.5)");
    let i = Value::Int;
    let cases: &[(&str, Runs<'_>)] = &[
        (
            "SELECT COALESCE(?, ?, d) FROM m",
            &[
                (&[i(1), Value::Null], "1.00"),
                (&[Value::Null, Value::Null], "1.25"),
                (&[text("x"), Value::Null], "x"),
                (&[decimal("0.333333"), i(1)], "0.333333"),
            ],
        ),
        (
            "SELECT CASE WHEN ? THEN ? ELSE w END FROM m",
            &[
                (&[i(1), text("a")], "a"),
                (&[i(0), Value::Null], "2001-02-03"),
            ],
        ),
        (
            "SELECT CASE WHEN ? THEN ? ELSE f END FROM m",
            &[(&[i(1), i(2_147_483_647)], "2147483647")],
        ),
        (
            "SELECT IFNULL(?, y) FROM m",
            &[
                (&[Value::UInt(u64::MAX)], "18446744073709551615"),
                (&[Value::Null], "2001"),
            ],
        ),
    ];
    for (sql, runs) in cases {
        let id = prepare(&mut c, sql);
        for (params, expected) in *runs {
            assert_eq!(&execute(&mut c, id, params), expected, "{sql} {params:?}");
        }
    }
}

#[test]
fn stored_values_follow_them_too() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE m (a INT, d DECIMAL(10,2))");
    let id = prepare(&mut c, "INSERT INTO m VALUES (? * 2, ? + 1)");
    assert_eq!(
        execute(&mut c, id, &[Value::Double(1.5), Value::Double(1.5)]),
        ""
    );
    assert_eq!(execute(&mut c, id, &[Value::Int(4), Value::Null]), "");
    assert_eq!(c.rows("SELECT * FROM m"), [["3", "2.50"], ["8", "NULL"]]);
    c.run("SET @f = 0.25, @i = 2");
    c.run("PREPARE p FROM 'SELECT a * ? FROM m WHERE d > ?'");
    assert_eq!(c.one("EXECUTE p USING @f, @i"), "0.75");
    assert_eq!(c.one("EXECUTE p USING @i, @f"), "6");
}

#[test]
fn a_column_of_numbers_keeps_its_index_whatever_is_sent() {
    let mut c = Client::in_test(&server());
    c.run("CREATE TABLE t (id BIGINT PRIMARY KEY, v INT)");
    c.run("INSERT INTO t VALUES (1, 10), (2, 20)");
    let id = prepare(&mut c, "SELECT v FROM t WHERE id = ?");
    let again = |c: &mut Client| c.one("SHOW SESSION STATUS LIKE 'Com_stmt_reprepare'");
    let before = again(&mut c);
    for (v, expected) in [
        (Value::Int(2), "20"),
        (Value::Double(1.0), "10"),
        (text("2"), "20"),
        (Value::Double(1.5), ""),
    ] {
        assert_eq!(
            execute(&mut c, id, std::slice::from_ref(&v)),
            expected,
            "{v:?}"
        );
    }
    assert_eq!(again(&mut c), before, "planned once");
}

#[test]
fn many_parameters_of_other_types_are_settled_in_a_few_rounds() {
    let mut c = Client::in_test(&server());
    let n = 20_000;
    let sum = vec!["(? + 1)"; n].join(",");
    let id = prepare(&mut c, &format!("SELECT GREATEST({sum})"));
    let begun = std::time::Instant::now();
    let params = vec![Value::Double(0.5); n];
    assert_eq!(execute(&mut c, id, &params), "1.5");
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}
