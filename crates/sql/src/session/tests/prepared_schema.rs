//! The default schema of a prepared statement is that which it was made under, as in MySQL, however it is run.

use super::*;

fn two() -> Client {
    let mut c = Client::new(&server());
    for d in ["d1", "d2"] {
        c.run(&format!(
            "CREATE DATABASE {d}; USE {d}; CREATE TABLE t (a INT PRIMARY KEY, d VARCHAR(9)); INSERT INTO t VALUES (1, '{d}')"
        ));
    }
    c
}

fn execute(c: &mut Client, id: u32) -> Result<Vec<Vec<String>>, SqlError> {
    let mut sink = Collector::new();
    block_on(c.session.execute_prepared(id, &[], &mut sink))?;
    let result = sink.results.pop();
    let rows = result.map(|r| r.rows).unwrap_or_default();
    let text = |v: &Value| match v {
        Value::Str(b, _) | Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
        other => format!("{other:?}"),
    };
    Ok(rows.iter().map(|r| r.iter().map(text).collect()).collect())
}

/// A statement, and what is looked at behind it: of the schema it was made under, and of the other one, which stays as it was.
const CHANGES: &[(&str, &str)] = &[
    (
        "INSERT INTO t VALUES (2, 'new')",
        "SELECT COUNT(*) FROM {}.t WHERE a = 2",
    ),
    (
        "REPLACE INTO t VALUES (1, 'new')",
        "SELECT COUNT(*) FROM {}.t WHERE d = 'new'",
    ),
    (
        "INSERT INTO t SELECT a + 1, 'new' FROM t",
        "SELECT COUNT(*) FROM {}.t WHERE a = 2",
    ),
    (
        "UPDATE t SET d = 'new' WHERE a = 1",
        "SELECT COUNT(*) FROM {}.t WHERE d = 'new'",
    ),
    (
        "UPDATE t x, t y SET x.d = DATABASE()",
        "SELECT COUNT(*) FROM {}.t WHERE d = 'd1' AND 'd1' = '{}'",
    ),
    ("DELETE FROM t", "SELECT 1 - COUNT(*) FROM {}.t"),
    ("DELETE t FROM t", "SELECT 1 - COUNT(*) FROM {}.t"),
    ("TRUNCATE TABLE t", "SELECT 1 - COUNT(*) FROM {}.t"),
    (
        "CREATE TABLE made (a INT)",
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{}' AND table_name = 'made'",
    ),
    (
        "CREATE TABLE made SELECT * FROM t",
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{}' AND table_name = 'made'",
    ),
    (
        "CREATE VIEW made AS SELECT * FROM t",
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{}' AND table_name = 'made'",
    ),
    (
        "CREATE INDEX made ON t (d)",
        "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = '{}' AND index_name = 'made'",
    ),
    (
        "ALTER TABLE t ADD COLUMN made INT",
        "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = '{}' AND column_name = 'made'",
    ),
    (
        "RENAME TABLE t TO made",
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{}' AND table_name = 'made'",
    ),
    (
        "DROP TABLE t",
        "SELECT 1 - COUNT(*) FROM information_schema.tables WHERE table_schema = '{}' AND table_name = 't'",
    ),
];

#[test]
fn it_changes_the_schema_that_it_was_made_under() {
    for (sql, look) in CHANGES {
        for by_name in [false, true] {
            let mut c = two();
            c.run("USE d1");
            let id = match by_name {
                true => {
                    c.run(&format!("PREPARE p FROM '{}'", sql.replace('\'', "''")));
                    0
                }
                false => c.session.prepare(sql.as_bytes()).expect(sql).id,
            };
            c.run("USE d2");
            match by_name {
                true => drop(c.run("EXECUTE p")),
                false => drop(execute(&mut c, id).expect(sql)),
            }
            assert_eq!(c.one("SELECT DATABASE()"), "d2", "{sql}");
            assert_eq!(c.one(&look.replace("{}", "d1")), "1", "{sql}");
            assert_eq!(c.one(&look.replace("{}", "d2")), "0", "{sql}");
        }
    }
}

#[test]
fn it_reads_the_schema_that_it_was_made_under() {
    let mut c = two();
    c.run("USE d1");
    let reads = [
        "SELECT d FROM t WHERE a = 1",
        "SELECT DATABASE() FROM t",
        "SELECT (SELECT MAX(d) FROM t)",
        "WITH c AS (SELECT d FROM t) SELECT * FROM c",
        "SELECT d FROM t UNION SELECT d FROM t",
        "SELECT DISTINCT table_schema FROM information_schema.tables WHERE table_schema = DATABASE()",
    ];
    let ids: Vec<u32> = reads
        .iter()
        .map(|sql| c.session.prepare(sql.as_bytes()).expect(sql).id)
        .collect();
    c.run("PREPARE p FROM 'SELECT d FROM t'; PREPARE q FROM 'SHOW TABLES'");
    for (database, again) in [("d1", 3), ("d2", 3), ("d1", 1), ("d2", 1)] {
        c.run(&format!("USE {database}"));
        for _ in 0..again {
            for (sql, id) in reads.iter().zip(&ids) {
                assert_eq!(execute(&mut c, *id).expect(sql), [["d1"]], "{sql}");
            }
            assert_eq!(c.rows("EXECUTE p"), [["d1"]]);
            assert_eq!(c.rows("EXECUTE q"), [["t"]]);
            assert_eq!(c.one("SELECT DATABASE()"), database);
            assert_eq!(c.one("SELECT d FROM t"), database);
        }
    }
    // A definition that changes, and an error: the session is where it was.
    c.run("ALTER TABLE d1.t ADD b INT; DROP TABLE d2.t");
    assert_eq!(execute(&mut c, ids[0]).expect("a row"), [["d1"]]);
    c.run("DROP TABLE d1.t");
    assert_eq!(execute(&mut c, ids[0]).expect_err("no table").code, 1146);
    assert_eq!(c.error("EXECUTE p"), 1146);
    assert_eq!(c.one("SELECT DATABASE()"), "d2");
}

#[test]
fn a_schema_that_goes_is_nobodys() {
    let mut c = two();
    c.run("USE d1; PREPARE p FROM 'DROP DATABASE d2'; PREPARE q FROM 'SELECT DATABASE()'; USE d2; EXECUTE p");
    assert_eq!(c.one("SELECT DATABASE()"), "NULL");
    assert_eq!(c.one("EXECUTE q"), "d1");
    assert_eq!(c.one("SELECT DATABASE()"), "NULL");
    for of_the_server in ["information_schema", "performance_schema", "mysql"] {
        c.run(&format!("USE {of_the_server}"));
        assert_eq!(c.one("EXECUTE q"), "d1");
        assert_eq!(c.one("SELECT DATABASE()"), of_the_server);
    }
    c.run("CREATE DATABASE d2; USE d2; DROP DATABASE d2");
    // One that was made without any has none.
    c.run("PREPARE r FROM 'SELECT DATABASE()'; USE d1");
    assert_eq!(c.one("EXECUTE r"), "NULL");
    assert_eq!(c.one("SELECT DATABASE()"), "d1");
    c.run("PREPARE s FROM 'DROP DATABASE d1'; EXECUTE s");
    assert_eq!(c.one("SELECT DATABASE()"), "NULL");
}

#[test]
fn the_list_of_connections_shows_the_schema_that_it_was_made_under() {
    let mut c = two();
    let shown = "SELECT db FROM information_schema.processlist WHERE id = CONNECTION_ID()";
    c.run("USE d1");
    let id = c.session.prepare(shown.as_bytes()).expect("prepared").id;
    c.run(&format!(
        "PREPARE p FROM '{shown}'; PREPARE gone FROM 'DROP DATABASE d2'"
    ));
    c.run("USE d2");
    assert_eq!(execute(&mut c, id).expect("a row"), [["d1"]]);
    assert_eq!(c.one("EXECUTE p"), "d1");
    assert_eq!(c.one(shown), "d2");
    // One without a default schema, and what fails.
    let mut none = Client::new(c.session.instance());
    none.run(&format!("PREPARE p FROM '{shown}'; USE d1"));
    assert_eq!(none.one("EXECUTE p"), "NULL");
    assert_eq!(none.one(shown), "d1");
    c.run("PREPARE fails FROM 'SELECT (SELECT 1 UNION SELECT 2)'; USE d1");
    assert_eq!(c.error("EXECUTE fails"), 1242);
    assert_eq!(c.one(shown), "d1");
    c.run("USE d2; EXECUTE gone");
    assert_eq!(c.one(shown), "NULL");
}
