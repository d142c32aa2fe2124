//! What the filters say of rows and of statements.

use super::*;
use sql_parser::Options;
use sql_parser::ast::Statement;

fn filters(text: &str) -> Filters {
    let text = format!("CHANGE REPLICATION FILTER {text}");
    let parsed = sql_parser::parse(text.as_bytes(), &Options::default()).expect("a statement");
    let Statement::ChangeReplication(c) = parsed.statement else {
        panic!("{text}");
    };
    let mut filters = Filters::default();
    let lists = c.filters.expect("filters");
    filters
        .set(&lists, by::STATEMENT, 1)
        .expect("they are right");
    filters
}

/// Whether a statement is done that ran with this default database.
fn done(f: &Filters, database: &str, text: &str) -> bool {
    let parsed = sql_parser::parse(text.as_bytes(), &Options::default());
    let parsed = parsed.unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let database = f.rewritten(database);
    f.database(database) && f.statement(database, &parsed.statement)
}

#[test]
fn rows_go_by_their_table_and_statements_by_the_default_database() {
    let f = filters("REPLICATE_DO_DB = (sales)");
    assert!(f.rows("sales", "t") && !f.rows("prices", "t") && !f.rows("Sales", "t"));
    // MySQL's own examples.
    assert!(!done(&f, "prices", "UPDATE sales.january SET amount = 1"));
    assert!(done(&f, "sales", "UPDATE prices.march SET amount = 1"));
    assert!(done(&f, "", "UPDATE prices.march SET amount = 1"));
    // Of both lists only the first is asked.
    let f = filters("REPLICATE_DO_DB = (a), REPLICATE_IGNORE_DB = (a, b)");
    assert!(f.rows("a", "t") && !f.rows("b", "t") && !f.rows("c", "t"));
    let f = filters("REPLICATE_IGNORE_DB = (a, `b,c`)");
    assert!(!f.rows("a", "t") && !f.rows("b,c", "t") && f.rows("b", "t"));
}

#[test]
fn lists_of_tables_are_asked_in_their_order() {
    let f = filters(
        "REPLICATE_DO_TABLE = (d.a), REPLICATE_IGNORE_TABLE = (d.a, d.b), \
         REPLICATE_WILD_DO_TABLE = ('d.b%', 'e.%'), REPLICATE_WILD_IGNORE_TABLE = ('e.x%')",
    );
    assert!(
        f.rows("d", "a"),
        "the first list that says something decides"
    );
    assert!(!f.rows("d", "b") && f.rows("d", "bb") && f.rows("e", "x1"));
    assert!(
        !f.rows("d", "c"),
        "there are lists of what is done, and it is in none"
    );
    let f = filters("REPLICATE_IGNORE_TABLE = (d.a), REPLICATE_WILD_IGNORE_TABLE = ('d\\_1.t_')");
    assert!(!f.rows("d", "a") && f.rows("D", "a") && f.rows("d", "A"));
    assert!(!f.rows("d_1", "t1") && f.rows("dx1", "t1") && f.rows("d_1", "t12"));
    assert!(f.rows("e", "a"), "there is no list of what is done");
    // The lists of databases come first.
    let f = filters("REPLICATE_IGNORE_DB = (d), REPLICATE_DO_TABLE = (d.a)");
    assert!(!f.rows("d", "a"));
}

#[test]
fn a_statement_changes_what_it_names_to_be_changed() {
    let f = filters("REPLICATE_IGNORE_TABLE = (d.x)");
    for left_out in [
        "INSERT INTO x VALUES (1)",
        "REPLACE INTO d.x SELECT * FROM t",
        "UPDATE x SET a = 1",
        "UPDATE t, x AS y SET y.a = 1",
        "UPDATE t JOIN d.x USING (a) SET x.a = t.a",
        "DELETE FROM x",
        "DELETE y FROM t JOIN x AS y",
        "DELETE FROM x USING x JOIN t",
        "CREATE TABLE x (a INT)",
        "CREATE TABLE IF NOT EXISTS x LIKE t",
        "CREATE TEMPORARY TABLE x (a INT)",
        "ALTER TABLE x ADD b INT",
        "DROP TABLE x, t",
        "RENAME TABLE x TO y",
        "TRUNCATE x",
        "CREATE INDEX i ON x (a)",
        "DROP INDEX i ON x",
        "CREATE VIEW x AS SELECT 1",
        "DROP VIEW x",
        "OPTIMIZE TABLE x",
        "GRANT SELECT ON x TO u",
        "DROP TEMPORARY TABLE x",
    ] {
        assert!(!done(&f, "d", left_out), "{left_out}");
    }
    for all_the_same in [
        "INSERT INTO t SELECT * FROM x",
        "UPDATE t JOIN x USING (a) SET t.a = 1",
        "DELETE t FROM t JOIN x",
        "CREATE TABLE y LIKE x",
        "INSERT INTO e.x VALUES (1)",
        // The first of which a list says something, and none says anything of `t`.
        "DROP TEMPORARY TABLE IF EXISTS x",
        "SET @a = 1",
        "CREATE DATABASE x",
        "CREATE USER x",
        "CREATE PROCEDURE x() SELECT 1",
    ] {
        assert!(done(&f, "d", all_the_same), "{all_the_same}");
    }
    let f = filters("REPLICATE_WILD_DO_TABLE = ('d.%')");
    assert!(!done(&f, "d", "CREATE USER u") && !done(&f, "d", "GRANT SELECT ON d.t TO u"));
    let f = filters("REPLICATE_WILD_DO_TABLE = ('d.%', 'mysql.%')");
    assert!(
        done(&f, "d", "GRANT SELECT ON d.t TO u") && !done(&f, "d", "GRANT SELECT ON e.t TO u")
    );
}

#[test]
fn a_database_is_all_its_tables() {
    let f = filters("REPLICATE_WILD_IGNORE_TABLE = ('d.%')");
    for text in [
        "CREATE DATABASE d",
        "DROP DATABASE d",
        "ALTER DATABASE d CHARSET utf8mb4",
    ] {
        assert!(!done(&f, "e", text), "{text}");
    }
    assert!(!done(&f, "d", "ALTER DATABASE CHARSET utf8mb4"));
    assert!(done(&f, "d", "DROP DATABASE e"));
    // Of a part of its tables nothing follows for the database.
    let f = filters("REPLICATE_WILD_IGNORE_TABLE = ('d.t%')");
    assert!(done(&f, "d", "DROP DATABASE d"));
    let f = filters("REPLICATE_DO_TABLE = (d.t)");
    assert!(done(&f, "d", "DROP DATABASE e"));
    // Both its own name and the default one are asked for.
    let f = filters("REPLICATE_DO_DB = (d)");
    assert!(!done(&f, "d", "CREATE DATABASE e") && !done(&f, "e", "CREATE DATABASE d"));
}

#[test]
fn the_default_database_is_another_one_and_named_ones_stay() {
    let f = filters("REPLICATE_REWRITE_DB = ((a, b), (a, c), (b, c)), REPLICATE_DO_DB = (b)");
    assert_eq!(
        (f.rewritten("a"), f.rewritten("b"), f.rewritten("x")),
        ("b", "c", "x")
    );
    assert!(done(&f, "a", "DELETE FROM t") && !done(&f, "b", "DELETE FROM t"));
    let f = filters("REPLICATE_REWRITE_DB = ((a, b)), REPLICATE_IGNORE_TABLE = (b.t)");
    assert!(!done(&f, "a", "DELETE FROM t") && done(&f, "a", "DELETE FROM a.t"));
}

#[test]
fn lists_are_shown_and_taken_away() {
    let mut f =
        filters("REPLICATE_DO_TABLE = (b.t, a.`x.y`), REPLICATE_REWRITE_DB = ((a, b), (c, d))");
    f.rows("a", "x.y");
    let of = |f: &Filters| -> Vec<(FilterKind, String, u64)> {
        f.facts()
            .into_iter()
            .map(|f| (f.kind, f.rule, f.used))
            .collect()
    };
    assert_eq!(
        of(&f),
        [
            (FilterKind::DoTable, "a.x.y,b.t".to_owned(), 1),
            (FilterKind::RewriteDb, "(a,b),(c,d)".to_owned(), 0)
        ]
    );
    let empty = |kind| ReplicationFilter {
        kind,
        values: Vec::new(),
    };
    f.set(&[empty(FilterKind::DoTable)], by::STATEMENT, 2)
        .unwrap();
    assert_eq!(of(&f)[0], (FilterKind::DoTable, String::new(), 0));
    assert!(f.rows("z", "z"));
    let pattern = |text: &str| ReplicationFilter {
        kind: FilterKind::WildDoTable,
        values: vec![FilterValue::Pattern(text.into())],
    };
    let refused = |f: &mut Filters, text| f.set(&[pattern(text)], by::STATEMENT, 3).unwrap_err();
    let e = refused(&mut f, "d%");
    assert_eq!(
        (e.code, &*e.message),
        (
            3067,
            "Supplied filter list contains a value which is not in the required format 'db_pattern.table_pattern'"
        )
    );
    assert_eq!(refused(&mut f, "d\n.%").code, 1525);
    assert!(
        f.of(FilterKind::WildDoTable).is_none(),
        "nothing has changed"
    );
}
