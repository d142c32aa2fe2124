//! Statements parse, print, and carry what later layers need.

use super::ast::*;
use super::{PREPARED, is_blank, parse_one, statement};

const GRAMMAR: &[u8] = include_bytes!("../testdata/grammar.sql");
const CLIENTS: &[u8] = include_bytes!("../testdata/clients.sql");

/// Every statement of a file, taken off one after the other.
fn all_of(mut text: &[u8]) -> Vec<(String, Statement)> {
    let options = PREPARED;
    let mut all = Vec::new();
    while !is_blank(text, &options) {
        match parse_one(text, &options) {
            Ok((statement, consumed)) => {
                let source = String::from_utf8_lossy(&text[..consumed]).into_owned();
                all.push((source, statement));
                text = &text[consumed..];
            }
            Err(e) => panic!("{e}"),
        }
    }
    all
}

#[test]
fn every_statement_parses() {
    assert!(all_of(GRAMMAR).len() > 380);
    assert!(all_of(CLIENTS).len() > 400);
}

#[test]
fn queries_print_to_text_that_prints_the_same() {
    let mut seen = 0;
    for (source, parsed) in all_of(GRAMMAR).into_iter().chain(all_of(CLIENTS)) {
        let Statement::Query(query) = parsed else {
            continue;
        };
        if query.into.is_some() || source.contains("INTO") {
            continue;
        }
        seen += 1;
        let once = query.to_string();
        let Statement::Query(again) = statement(&once) else {
            panic!("{once}");
        };
        assert_eq!(again.to_string(), once, "{source}");
    }
    assert!(seen > 150);
}

/// A name may be empty between its quotes, and stays one when it is printed.
#[test]
fn empty_names_are_printed_between_quotes() {
    for text in [
        "`` ()",
        "``.``()",
        "a.``(1)",
        "`` (``)",
        "count(``)",
        "``.x",
        "cast(`` as char)",
    ] {
        let expr = crate::parse_expr(text.as_bytes(), &PREPARED).expect(text);
        let once = expr.to_string();
        let again = crate::parse_expr(once.as_bytes(), &PREPARED).expect(&once);
        assert_eq!(again.to_string(), once, "{text}");
    }
}

/// The names of a select's result columns.
fn names(sql: &str) -> Vec<String> {
    let Statement::Query(query) = statement(sql) else {
        panic!("{sql}");
    };
    let QueryBody::Select(select) = query.body else {
        panic!("{sql}");
    };
    let name = |item: &SelectItem| match item {
        SelectItem::Wildcard(_) => "*".to_owned(),
        SelectItem::Expr { name, .. } => name.to_string(),
    };
    select.items.iter().map(name).collect()
}

#[test]
fn result_columns_are_named_as_written() {
    assert_eq!(
        names(
            "SELECT *, COUNT( * ), a+1, t.`b c`, 'it''s', 1.50 AS x, @@Version, null, (1) FROM t"
        ),
        [
            "*",
            "COUNT( * )",
            "a+1",
            "b c",
            "it's",
            "x",
            "@@Version",
            "NULL",
            "(1)"
        ]
    );
    assert_eq!(names("SELECT 1 /* c */ + 2"), ["1  + 2"]);
    assert_eq!(
        names("SELECT 1 /*!40101 + 1 */ -- x\n+ 2"),
        ["1  + 1  \n+ 2"]
    );
    assert_eq!(
        names("SELECT 'a' 'b', x'41', 1 as 'q r'"),
        ["ab", "x'41'", "q r"]
    );
}

#[test]
fn a_session_can_take_statements_one_by_one() {
    let sql = b"select 1; /* between */ select 2 ;; ";
    let options = PREPARED;
    let (_, first) = parse_one(sql, &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(&sql[..first], b"select 1;");
    let (_, second) = parse_one(&sql[first..], &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(&sql[first + second..], b"; ");
    assert!(!is_blank(&sql[first..], &options));
    assert!(is_blank(b" -- x\n /* y */ # z", &options));
}

#[test]
fn placeholders_are_numbered() {
    let parsed = super::parse(b"SELECT ?, a FROM t WHERE b = ? LIMIT ?, ?", &PREPARED)
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(parsed.params, 4);
}

#[test]
fn joins_without_condition_graft_to_the_left() {
    let from = |sql: &str| {
        let text = match statement(sql) {
            Statement::Query(query) => query.to_string(),
            other => panic!("{other:?}"),
        };
        text.replace("select * from ", "").replace('`', "")
    };
    assert_eq!(
        from("SELECT * FROM a JOIN b JOIN c ON a.x = c.x"),
        "((a join b) join c on((a.x = c.x)))"
    );
    assert_eq!(
        from("SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x"),
        "(a join (b join c on((b.x = c.x))) on((a.x = b.x)))"
    );
    assert_eq!(
        from("SELECT * FROM a LEFT JOIN b ON x JOIN c ON y"),
        "((a left join b on(x)) join c on(y))"
    );
    assert_eq!(
        from("SELECT * FROM a LEFT JOIN b RIGHT JOIN c ON x ON y, d"),
        "(a left join (b right join c on(x)) on(y)),d"
    );
    // What stands in parentheses is a table of its own.
    assert_eq!(
        from("SELECT * FROM a CROSS JOIN (b RIGHT JOIN c ON x)"),
        "(a join (b right join c on(x)))"
    );
    assert_eq!(
        from("SELECT * FROM a JOIN (b JOIN c ON x) JOIN d ON y"),
        "((a join (b join c on(x))) join d on(y))"
    );
}

#[test]
fn intersect_binds_tighter_than_union() {
    let Statement::Query(query) = statement("SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3")
    else {
        panic!("not a query");
    };
    let QueryBody::Set(set) = query.body else {
        panic!("not a set operation");
    };
    assert_eq!(set.rest.len(), 1);
    assert!(set.rest[0].all);
    assert!(matches!(&set.rest[0].body, QueryBody::Set(inner)
        if inner.rest[0].op == SetOp::Intersect));
}

#[test]
fn insert_keeps_its_parts() {
    let Statement::Insert(insert) = statement(
        "INSERT IGNORE INTO d.t (a, b) VALUES (1, DEFAULT), (?, 'x') AS n ON DUPLICATE KEY UPDATE a = n.a, b = VALUES(b)",
    ) else {
        panic!("not an insert");
    };
    assert!(insert.ignore && !insert.replace);
    assert_eq!(insert.table.schema.as_deref(), Some("d"));
    assert_eq!(insert.columns.len(), 2);
    let InsertSource::Values(rows) = &insert.source else {
        panic!("no values");
    };
    assert_eq!(rows[0], [Expr::Int(1), Expr::Default]);
    assert_eq!(rows[1], [Expr::Param(0), Expr::Str(b"x"[..].into())]);
    assert_eq!(insert.row_alias.as_ref().map(|a| &*a.name), Some("n"));
    assert!(matches!(&insert.on_duplicate[1].value, Expr::Values(c) if &*c.name == "b"));
}

#[test]
fn create_table_keeps_its_parts() {
    let Statement::CreateTable(table) = statement(
        "CREATE TABLE t (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, v DECIMAL(10,2) DEFAULT -1.5, \
         PRIMARY KEY (id), KEY k (v DESC, id)) ENGINE=InnoDB AUTO_INCREMENT=7",
    ) else {
        panic!("not a create table");
    };
    assert_eq!(table.columns[0].data_type.kind, TypeKind::BigInt(None));
    assert!(table.columns[0].data_type.unsigned);
    assert_eq!(
        table.columns[0].attributes,
        [ColumnAttr::NotNull, ColumnAttr::AutoIncrement]
    );
    assert_eq!(table.columns[1].data_type.to_string(), "decimal(10,2)");
    let KeyDef::Index(key) = &table.keys[1] else {
        panic!("not an index");
    };
    assert_eq!(key.kind, IndexKind::Plain);
    assert!(key.parts[0].desc && !key.parts[1].desc);
    assert_eq!(
        table.options,
        [
            TableOption::Engine("InnoDB".into()),
            TableOption::AutoIncrement(7)
        ]
    );
}

#[test]
fn set_scopes_stick_to_the_assignments_behind_them() {
    let Statement::Set(items) = statement("SET a = 1, GLOBAL b = 2, c = 3, @@d = 4, SESSION e = 5")
    else {
        panic!("not a set");
    };
    let scopes: Vec<_> = items
        .iter()
        .map(|item| match item {
            SetItem::Variable { scope, .. } => *scope,
            other => panic!("{other:?}"),
        })
        .collect();
    let (global, session) = (Some(VarScope::Global), Some(VarScope::Session));
    assert_eq!(scopes, [None, global, global, None, session]);
}

#[test]
fn nodes_stay_small() {
    assert!(size_of::<Expr>() <= 32);
    assert!(size_of::<TableRef>() <= 32);
    assert!(size_of::<SelectItem>() <= 56);
}
