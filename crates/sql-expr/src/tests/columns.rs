//! Expressions over columns: comparisons with indexes in mind, parameters, subqueries, special calls, aggregates.

use std::sync::Arc;

use types::datatype::Labels;
use types::decimal::Decimal;
use types::temporal::{Date, DateTime};
use types::{CollationId, DataType, IntWidth, SqlError, Value, ValueRef};

use super::{Bench, parse};
use crate::agg::AggSpec;
use crate::bind::{Binder, BoundSubquery, Clause, Resolved, ResolvedColumn, Scope, SubqueryKind};
use crate::column_name::{ColumnName, TableNames};
use crate::*;
use sql_parser::ast;

/// `t`: i INT, u BIGINT UNSIGNED, s VARCHAR general_ci, d DATE, ts TIMESTAMP, n DECIMAL(10,2), f DOUBLE, e ENUM.
struct Table;

fn labels() -> Arc<Labels> {
    Arc::new(Labels {
        names: vec![b"zero"[..].into(), b"apple"[..].into()],
        collation: CollationId::UTF8MB4_GENERAL_CI,
    })
}

fn columns() -> Vec<(&'static str, DataType)> {
    vec![
        ("i", DataType::int(IntWidth::Int, false)),
        ("u", DataType::UBIGINT),
        ("s", DataType::varchar(20, CollationId::UTF8MB4_GENERAL_CI)),
        ("d", DataType::Date),
        ("ts", DataType::Timestamp(0)),
        ("n", DataType::decimal(10, 2)),
        ("f", DataType::DOUBLE),
        ("e", DataType::Enum(labels())),
    ]
}

struct Names;

impl TableNames for Names {
    fn schema(&self) -> &str {
        "test"
    }

    fn table(&self) -> &str {
        "t"
    }

    fn column(&self, ordinal: u16) -> &str {
        columns()[usize::from(ordinal)].0
    }
}

impl Scope for Table {
    fn column(&mut self, name: &ast::ColumnRef, clause: Clause) -> Result<Resolved, SqlError> {
        let cols = columns();
        let at = cols
            .iter()
            .position(|(n, _)| n.eq_ignore_ascii_case(&name.name))
            .ok_or_else(|| SqlError::unknown_column(&bind::column_text(name), clause.text()))?;
        Ok(Resolved::Column(ResolvedColumn {
            slot: 0,
            ordinal: at as u16,
            ty: ExprType::of_column(&cols[at].1, true),
            utc: matches!(cols[at].1, DataType::Timestamp(_)),
            name: ColumnName::Of(Arc::new(Names), at as u16),
        }))
    }

    fn subquery(&mut self, _: &ast::Query, kind: SubqueryKind) -> Result<BoundSubquery, SqlError> {
        let index = match kind {
            SubqueryKind::Scalar => 0,
            SubqueryKind::Exists => 1,
            SubqueryKind::Rows => 2,
        };
        Ok(BoundSubquery {
            index,
            columns: vec![ExprType::int(11, true)],
        })
    }
}

struct Row {
    values: Vec<Value>,
    rows: Vec<Val<'static>>,
}

impl RowSource for Row {
    fn column(&self, _slot: u16, ordinal: u16) -> ValueRef<'_> {
        self.values[usize::from(ordinal)].as_ref()
    }

    fn subqueries(&self) -> Option<&dyn SubquerySource> {
        Some(self)
    }
}

impl SubquerySource for Row {
    fn scalar(&self, _: u32) -> Result<Val<'_>, SqlError> {
        Ok(self.rows.first().map_or(Val::Null, Val::reborrow))
    }

    fn row(&self, _: u32) -> Result<Option<Vec<Val<'_>>>, SqlError> {
        Ok(None)
    }

    fn exists(&self, _: u32) -> Result<bool, SqlError> {
        Ok(!self.rows.is_empty())
    }

    fn rows(
        &self,
        _: u32,
        each: &mut dyn FnMut(&[Val<'_>]) -> Result<bool, SqlError>,
    ) -> Result<(), SqlError> {
        for r in &self.rows {
            if !each(&[r.reborrow()])? {
                break;
            }
        }
        Ok(())
    }
}

fn row(i: i64, s: &str) -> Row {
    Row {
        values: vec![
            Value::Int(i),
            Value::UInt(u64::MAX),
            Value::Str(s.as_bytes().to_vec(), CollationId::UTF8MB4_GENERAL_CI),
            Value::Date(Date::from_parts(2024, 2, 29)),
            Value::DateTime(DateTime::from_parts(
                Date::from_parts(2024, 2, 29),
                23,
                0,
                0,
                0,
            )),
            Value::Decimal(Decimal::from_i128(150, 2)),
            Value::Double(0.5),
            Value::Enum(2, labels()),
        ],
        rows: vec![Val::Int(5), Val::Null, Val::Int(7)],
    }
}

fn bind(text: &str, bench: &Bench) -> Result<Expr, String> {
    let tree = parse(text, &bench.vars)?;
    let cx = bench.cx(&[]);
    let mut table = Table;
    Binder::new(&cx, &mut table, Clause::Where)
        .bind(&tree)
        .map_err(|e| format!("{} {}", e.code, e.message))
}

fn value(text: &str, r: &Row) -> String {
    let bench = Bench::new();
    let e = match bind(text, &bench) {
        Ok(e) => e,
        Err(e) => return e,
    };
    let cx = bench.cx(&[]);
    match e.eval(&cx, r) {
        Ok(Val::Null) => "NULL".to_owned(),
        Ok(v) => String::from_utf8_lossy(&value_text(&v, &e.ty)).into_owned(),
        Err(e) => format!("{} {}", e.code, e.message),
    }
}

#[test]
fn columns_are_compared_by_their_own_rules() {
    let r = row(5, "Hello");
    for (text, wanted) in [
        ("i = 5", "1"),
        ("i = '5'", "1"),
        ("i = 5.0", "1"),
        ("i = 5.5", "0"),
        ("i IN (1,3,5)", "1"),
        ("i NOT IN (1,3,NULL)", "NULL"),
        ("i BETWEEN '4' AND 6", "1"),
        ("u = 18446744073709551615", "1"),
        ("u > -1", "1"),
        ("s = 'hello'", "1"),
        ("s = 'hello  '", "1"),
        ("s LIKE 'HE%'", "1"),
        ("s IN ('x','HELLO')", "1"),
        ("s COLLATE utf8mb4_bin = 'hello'", "0"),
        ("d = '2024-02-29'", "1"),
        ("d = 20240229", "1"),
        ("d > '2024-02-28 12:00:00'", "1"),
        ("d = 'abc'", "1525 Incorrect DATE value: 'abc'"),
        ("ts = '2024-02-29 23:00:00'", "1"),
        ("n = 1.5", "1"),
        ("n = '1.50'", "1"),
        ("f = 0.5", "1"),
        ("e = 'APPLE'", "1"),
        ("e = 2", "1"),
        ("d > e", "1"),
        ("e + 0", "2"),
        ("e", "apple"),
        ("CONCAT(e, s)", "appleHello"),
        ("n + i", "6.50"),
        ("i / 3", "1.6667"),
        ("i + s", "5"),
        (
            "nosuch = 1",
            "1054 Unknown column 'nosuch' in 'where clause'",
        ),
        (
            "i - u",
            "1690 BIGINT UNSIGNED value is out of range in '(`test`.`t`.`i` - `test`.`t`.`u`)'",
        ),
    ] {
        assert_eq!(value(text, &r), wanted, "{text}");
    }
}

#[test]
fn timestamps_are_read_in_the_sessions_zone() {
    let mut bench = Bench::new();
    bench
        .vars
        .set(
            "time_zone",
            &crate::vars::VarInput::Text("+02:00".to_owned()),
        )
        .unwrap();
    let e = bind("ts", &bench).unwrap();
    let r = row(1, "");
    let cx = bench.cx(&[]);
    let v = e.eval(&cx, &r).unwrap();
    assert_eq!(&*value_text(&v, &e.ty), b"2024-03-01 01:00:00");
    let back = as_column_value(&v, &e.ty, &DataType::Timestamp(0), &cx);
    assert!(matches!(back, Some(Value::DateTime(d)) if d.hour() == 23));
}

#[test]
fn subqueries_follow_three_valued_logic() {
    let r = row(5, "");
    for (text, wanted) in [
        ("i IN (SELECT x FROM t)", "1"),
        ("6 IN (SELECT x FROM t)", "NULL"),
        ("6 NOT IN (SELECT x FROM t)", "NULL"),
        ("i NOT IN (SELECT x FROM t)", "0"),
        ("i = ANY (SELECT x FROM t)", "1"),
        ("8 > ALL (SELECT x FROM t)", "NULL"),
        ("6 > ALL (SELECT x FROM t)", "0"),
        ("6 > ANY (SELECT x FROM t)", "1"),
        ("EXISTS (SELECT x FROM t)", "1"),
        ("NOT EXISTS (SELECT x FROM t)", "0"),
        ("(SELECT x FROM t) + 1", "6"),
    ] {
        assert_eq!(value(text, &r), wanted, "{text}");
    }
    let none = Row {
        rows: Vec::new(),
        ..row(5, "")
    };
    assert_eq!(value("i NOT IN (SELECT x FROM t)", &none), "1");
    assert_eq!(value("NULL IN (SELECT x FROM t)", &none), "0");
    assert_eq!(value("(SELECT x FROM t)", &none), "NULL");
}

#[test]
fn parameters_take_the_type_of_what_they_meet() {
    let bench = Bench::new();
    let e = bind("i = ? AND s = ? AND d >= ?", &bench).unwrap();
    let Node::And(parts) = &e.node else {
        panic!("{e:?}")
    };
    let comparers: Vec<&Comparer> = parts
        .iter()
        .map(|p| match &p.node {
            Node::Compare(_, c, _) => c,
            _ => panic!("{p:?}"),
        })
        .collect();
    assert_eq!(
        comparers,
        [
            &Comparer::Int,
            &Comparer::Text(CollationId::UTF8MB4_GENERAL_CI),
            &Comparer::DateTime
        ]
    );
    let params = [
        Value::Int(5),
        Value::text("HELLO"),
        Value::text("2024-02-01"),
    ];
    let cx = bench.cx(&params);
    assert_eq!(e.truth(&cx, &row(5, "hello")).unwrap(), Some(true));
    assert_eq!(e.truth(&cx, &row(6, "hello")).unwrap(), Some(false));
    let odd = [Value::Double(5.5), Value::text("HELLO"), Value::Null];
    let cx = bench.cx(&odd);
    assert_eq!(e.truth(&cx, &row(5, "hello")).unwrap(), Some(false));
}

#[test]
fn index_look_ups_get_exact_values_only() {
    let bench = Bench::new();
    let cx = bench.cx(&[]);
    let int = ExprType::int(20, false);
    let text = ExprType::text(5, CollationId::DEFAULT, Coercibility::Literal, false);
    let col = DataType::int(IntWidth::Tiny, false);
    let get = |v: &Val<'_>, ty: &ExprType, c: &DataType| {
        as_column_value(v, ty, c, &cx).map(|v| format!("{v:?}"))
    };
    assert_eq!(get(&Val::Int(5), &int, &col).as_deref(), Some("Int(5)"));
    assert_eq!(get(&Val::Int(500), &int, &col), None);
    assert_eq!(get(&Val::Double(1.5), &int, &col), None);
    assert_eq!(get(&Val::borrowed(b"abc"), &text, &col), None);
    assert!(index_comparable(
        &Comparer::Int,
        &ExprType::of_column(&col, true)
    ));
    let s = ExprType::of_column(&columns()[2].1, true);
    assert!(index_comparable(
        &Comparer::Text(CollationId::UTF8MB4_GENERAL_CI),
        &s
    ));
    assert!(!index_comparable(
        &Comparer::Text(CollationId::UTF8MB4_BIN),
        &s
    ));
    let e = bind("s LIKE 'ab\\%c%'", &bench).unwrap();
    let Node::Like(l) = &e.node else {
        panic!("{e:?}")
    };
    assert_eq!(l.prefix(), Some((b"ab%c".to_vec(), false)));
    let e = bind("i IN (3,1,2,3,NULL)", &bench).unwrap();
    let Node::In(l) = &e.node else {
        panic!("{e:?}")
    };
    assert_eq!(l.constants().map(|(c, _)| c.len()), Some(3));
}

#[test]
fn special_calls_wait_for_an_answer() {
    let bench = Bench::new();
    let e = bind("SLEEP(1.5) + GET_LOCK('L', 3)", &bench).unwrap();
    assert!(e.has_special());
    let cx = bench.cx(&[]);
    let mut asked = Vec::new();
    let v = loop {
        match e.eval(&cx, &NoRow).map_err(|e| cx.unevaluated(e)) {
            Ok(v) => break v,
            Err(EvalError::Pending(call, what)) => {
                asked.push(what);
                cx.supply(call, Val::Int(1));
            }
            Err(EvalError::Sql(e)) => panic!("{e}"),
        }
    };
    cx.row_done();
    assert_eq!(
        asked,
        [Special::Sleep(1.5), Special::GetLock("l".to_owned(), 3.0)]
    );
    assert!(matches!(v, Val::Int(2)));
}

fn aggregates(text: &str, rows: &[Row]) -> Vec<String> {
    let bench = Bench::new();
    let tree = parse(text, &bench.vars).unwrap();
    let cx = bench.cx(&[]);
    let mut table = Table;
    let mut list: Vec<AggSpec> = Vec::new();
    Binder::new(&cx, &mut table, Clause::FieldList)
        .with_aggregates(&mut list)
        .bind(&tree)
        .unwrap();
    list.iter()
        .map(|spec| {
            let mut acc = spec.start();
            for r in rows {
                acc.add(spec, &cx, r).unwrap();
            }
            match acc.finish(spec, &cx).unwrap() {
                Val::Null => "NULL".to_owned(),
                v => String::from_utf8_lossy(&value_text(&v, &spec.ty)).into_owned(),
            }
        })
        .collect()
}

#[test]
fn aggregates_are_exact_where_mysql_is() {
    let rows = [row(1, "b"), row(2, "a"), row(2, "A")];
    for (text, wanted) in [
        ("COUNT(*)", "3"),
        ("COUNT(i)", "3"),
        ("COUNT(DISTINCT i)", "2"),
        ("COUNT(DISTINCT s)", "2"),
        ("COUNT(DISTINCT i, s)", "2"),
        ("COUNT(NULL)", "0"),
        ("SUM(i)", "5"),
        ("SUM(DISTINCT i)", "3"),
        ("SUM(n)", "4.50"),
        ("SUM(f)", "1.5"),
        ("SUM(u)", "55340232221128654845"),
        ("AVG(i)", "1.6667"),
        ("AVG(n)", "1.500000"),
        ("AVG(f)", "0.5"),
        ("MIN(i)", "1"),
        ("MAX(s)", "b"),
        ("MIN(s)", "a"),
        ("MIN(e)", "apple"),
        ("MAX(d)", "2024-02-29"),
        ("BIT_AND(i)", "0"),
        ("BIT_OR(i)", "3"),
        ("BIT_XOR(i)", "1"),
        ("STD(i)", "0.4714045207910317"),
        ("VAR_SAMP(i)", "0.3333333333333333"),
        ("GROUP_CONCAT(s)", "b,a,A"),
        ("GROUP_CONCAT(s ORDER BY i DESC, s SEPARATOR '-')", "a-A-b"),
        ("GROUP_CONCAT(DISTINCT i)", "1,2"),
        ("JSON_ARRAYAGG(i)", "[1, 2, 2]"),
        ("JSON_OBJECTAGG(s, i)", r#"{"A": 2, "a": 2, "b": 1}"#),
    ] {
        assert_eq!(aggregates(text, &rows), [wanted], "{text}");
    }
    // Two texts of one number are one value.
    let texts = [row(1, "2"), row(1, "x"), row(1, "2x"), row(1, "y")];
    assert_eq!(aggregates("AVG(DISTINCT s)", &texts), ["1"]);
    assert_eq!(aggregates("SUM(DISTINCT s)", &texts), ["2"]);
    for (text, wanted) in [
        ("COUNT(*)", "0"),
        ("SUM(i)", "NULL"),
        ("AVG(i)", "NULL"),
        ("BIT_AND(i)", "18446744073709551615"),
        ("GROUP_CONCAT(s)", "NULL"),
        ("STD(i)", "NULL"),
    ] {
        assert_eq!(aggregates(text, &[]), [wanted], "{text}");
    }
}

#[test]
fn an_aggregate_is_collected_once_and_never_nested() {
    assert_eq!(
        aggregates("SUM(i) + SUM(i) * COUNT(*)", &[row(2, "")]),
        ["2", "1"]
    );
    let bench = Bench::new();
    assert!(bind("SUM(i) > 1", &bench).unwrap_err().starts_with("1111"));
    let tree = parse("SUM(COUNT(i))", &bench.vars).unwrap();
    let cx = bench.cx(&[]);
    let mut list = Vec::new();
    let e = Binder::new(&cx, &mut Table, Clause::FieldList)
        .with_aggregates(&mut list)
        .bind(&tree);
    assert_eq!(e.unwrap_err().code, 1111);
}

#[test]
fn group_keys_follow_the_collation() {
    let ty = ExprType::of_column(&columns()[2].1, true);
    let key = |v: Val<'_>| {
        let mut out = Vec::new();
        write_group_key(&v, &ty, &mut out);
        out
    };
    assert_eq!(key(Val::borrowed(b"abc")), key(Val::borrowed(b"ABC ")));
    assert_ne!(key(Val::borrowed(b"abc")), key(Val::borrowed(b"abd")));
    assert_ne!(key(Val::Null), key(Val::borrowed(b"")));
    assert_eq!(
        sort_order(&Val::Null, &Val::Int(1), &ExprType::int(1, true)),
        std::cmp::Ordering::Less
    );
}

#[test]
fn types_are_what_mysql_tells_clients() {
    let bench = Bench::new();
    for (text, wanted) in [
        ("1", "bigint 1 not null"),
        ("i + 1", "bigint"),
        ("i / 2", "decimal(14,4)"),
        ("n * 2", "decimal(11,2)"),
        ("n + 0.125", "decimal(12,3)"),
        ("SUM(n)", "decimal(32,2)"),
        ("SUM(i)", "decimal(32,0)"),
        ("AVG(i)", "decimal(14,4)"),
        ("COUNT(*)", "bigint not null"),
        ("f + 1", "double"),
        ("CONCAT(s, 'x')", "varchar(21)"),
        ("NOW()", "datetime not null"),
        ("d + INTERVAL 1 DAY", "date"),
        ("d + INTERVAL 1 HOUR", "datetime"),
        ("IFNULL(i, 1.5)", "decimal(11,1) not null"),
        ("MAX(s)", "varchar(20)"),
        ("i = 1", "bigint"),
        ("IF(1, i, s)", "varchar(20)"),
        ("NULL", "null"),
        ("CAST(i AS CHAR(3))", "varchar(3)"),
        ("LEFT(s, 3)", "varchar(3)"),
    ] {
        let tree = parse(text, &bench.vars).unwrap();
        let cx = bench.cx(&[]);
        let mut list = Vec::new();
        let e = Binder::new(&cx, &mut Table, Clause::FieldList)
            .with_aggregates(&mut list)
            .bind(&tree)
            .unwrap();
        let ty = e.ty.to_data_type();
        let mut shown = ty.to_string();
        if text == "1" {
            shown = format!("{shown} {}", ty.display_length(CollationId::DEFAULT));
        }
        if !e.ty.nullable {
            shown += " not null";
        }
        assert_eq!(shown, wanted, "{text}");
    }
}
