//! What a definition reads of its session, or of chance: a source under settings of its own, and a replica whose own are others. After each kind of
//! definition both have the same tables with the same rows, or the source has refused the statement.

use crate::history;
use crate::scripted;

use std::sync::Arc;

use base::block_on;
use base::mem::MemDisk;
use history::History;
use replication::replica::ReplicaServer;
use scripted::{begin, failures, run, serve, server, settled};
use sql::sink::Collector;
use sql::{Instance, Session};
use types::convert::to_text;

/// What the replica is set to, where the source's sessions say something else.
const OF_THE_REPLICA: &[&str] = &[
    "time_zone = '-07:00'",
    "sql_mode = ''",
    "default_week_format = 3",
    "lc_time_names = 'ru_RU'",
    "div_precision_increment = 9",
    "group_concat_max_len = 7",
    "collation_server = latin1_swedish_ci",
    "sql_generate_invisible_primary_key = ON",
    "innodb_strict_mode = OFF",
];

/// The table whose rows definitions read; all rows are alike.
const TABLE: &str = "(id INT PRIMARY KEY, n INT, d DATE, ts TIMESTAMP(6) NULL, s VARCHAR(40))";
const ROW: &str =
    "n = 7, d = '2024-01-07', ts = FROM_UNIXTIME(1704596645.678901), s = '02-01-2003'";

/// A value that depends on more than the row.
struct Read {
    /// Settings of the source's session.
    settings: &'static str,
    /// The value, and its type.
    value: &'static str,
    ty: &'static str,
}

const fn of(settings: &'static str, value: &'static str, ty: &'static str) -> Read {
    Read {
        settings,
        value,
        ty,
    }
}

/// By settings of the session; each may be in all kinds of definitions.
const BY_SETTINGS: &[Read] = &[
    of("time_zone = '+05:30'", "HOUR(ts)", "INT"),
    of(
        "time_zone = '+05:30'",
        "FROM_UNIXTIME(n * 100000)",
        "DATETIME",
    ),
    of("time_zone = '+05:30'", "UNIX_TIMESTAMP(d)", "BIGINT"),
    of("time_zone = '+05:30'", "CONCAT(ts)", "VARCHAR(40)"),
    of("time_zone = '+05:30'", "ts", "DATETIME(6)"),
    of("default_week_format = 6", "WEEK(d)", "INT"),
    of("lc_time_names = 'de_DE'", "DAYNAME(d)", "VARCHAR(40)"),
    of(
        "lc_time_names = 3",
        "DATE_FORMAT(d, '%a %M')",
        "VARCHAR(40)",
    ),
    of("div_precision_increment = 20", "n / 3", "DECIMAL(50,25)"),
    of(
        "div_precision_increment = 0",
        "CONCAT(n / 3)",
        "VARCHAR(60)",
    ),
    of(
        "div_precision_increment = 20",
        "n / 3 > 2.33333333333",
        "INT",
    ),
    of("group_concat_max_len = 5", "CONCAT(s, n)", "VARCHAR(60)"),
    of(
        "sql_mode = 'ANSI_QUOTES'",
        "CONCAT(\"s\", 'x')",
        "VARCHAR(60)",
    ),
    of("sql_mode = 'PIPES_AS_CONCAT'", "s || 'x'", "VARCHAR(60)"),
    of(
        "sql_mode = 'NO_UNSIGNED_SUBTRACTION'",
        "CAST(n AS UNSIGNED) - 8",
        "BIGINT",
    ),
    of("sql_mode = ''", "n / 0", "INT"),
    of("sql_mode = ''", "CAST('x7' AS SIGNED)", "INT"),
    of("sql_mode = 'HIGH_NOT_PRECEDENCE'", "NOT n IN (0, 7)", "INT"),
    of(
        "sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'",
        "LENGTH(CAST(s AS CHAR(50)))",
        "INT",
    ),
    of(
        "sql_mode = 'TIME_TRUNCATE_FRACTIONAL'",
        "CAST(CONCAT(d, ' 01:02:03.9') AS DATETIME)",
        "DATETIME",
    ),
    of(
        "sql_mode = 'ALLOW_INVALID_DATES'",
        "DATE(CONCAT('2024-02-3', n DIV 7))",
        "DATE",
    ),
    of(
        "sql_mode = 'NO_ZERO_DATE'",
        "STR_TO_DATE(s, '%d-%m-%Y')",
        "DATE",
    ),
    of(
        "collation_connection = latin1_bin",
        "CONCAT(n, 'ä') = 'ae'",
        "INT",
    ),
    of("collation_connection = utf8mb4_bin", "'a' = 'A'", "INT"),
    of(
        "collation_connection = utf8mb4_bin",
        "CONCAT(n) LIKE 'A%'",
        "INT",
    ),
    of(
        "character_set_client = latin1",
        "CONCAT(s, 'ä')",
        "VARCHAR(60)",
    ),
    of("collation_server = utf8mb4_bin", "CONCAT(s)", "VARCHAR(60)"),
    // What a value becomes in its column follows them as well.
    of("time_zone = '+05:30'", "d", "TIMESTAMP(6)"),
    of("time_zone = '+05:30'", "CONCAT(d)", "TIMESTAMP"),
    of(
        "sql_mode = 'TIME_TRUNCATE_FRACTIONAL'",
        "CONCAT(d, ' 01:02:03.9')",
        "DATETIME",
    ),
    of(
        "sql_mode = 'TIME_TRUNCATE_FRACTIONAL'",
        "TIMESTAMP(d) + INTERVAL 900000 MICROSECOND",
        "DATETIME",
    ),
    of(
        "sql_mode = 'ALLOW_INVALID_DATES'",
        "CONCAT('2024-02-3', n DIV 7)",
        "DATE",
    ),
];

fn forms(r: &Read) -> Vec<(String, Vec<String>)> {
    let (e, ty) = (r.value, r.ty);
    let insert = |t: &str| format!("INSERT INTO {t} SET id = 5, {ROW}");
    let update = |t: &str| format!("UPDATE {t} SET n = n + 1, id = id + 10 ORDER BY id LIMIT 1");
    let base = |t: &str| {
        vec![
            format!("CREATE TABLE {t} {TABLE}"),
            format!("INSERT INTO {t} SET id = 1, {ROW}"),
            format!("INSERT INTO {t} SET id = 2, {ROW}"),
        ]
    };
    let mut all = Vec::new();
    let columns = |more: &str| format!("{}, {more})", TABLE.strip_suffix(')').unwrap_or(TABLE));
    let clauses = [
        ("default", format!("x {ty} DEFAULT ({e})")),
        ("stored", format!("x {ty} AS ({e}) STORED")),
        ("virtual", format!("x {ty} AS ({e}) VIRTUAL")),
        ("key", format!("KEY k (({e}))")),
        ("unique", format!("UNIQUE k (({e}), id)")),
        (
            "check",
            format!("CONSTRAINT c_{{t}} CHECK (({e}) <=> {{v}})"),
        ),
        (
            "loose",
            format!("CONSTRAINT l_{{t}} CHECK (({e}) IS NULL OR n < 100)"),
        ),
    ];
    for (kind, clause) in &clauses {
        let t = format!("made_{kind}");
        let made = columns(&clause.replace("{t}", &t));
        all.push((
            t.clone(),
            vec![format!("CREATE TABLE {t} {made}"), insert(&t), update(&t)],
        ));
        let t = format!("added_{kind}");
        let mut statements = base(&t);
        statements.push(format!("ALTER TABLE {t} ADD {}", clause.replace("{t}", &t)));
        statements.extend([insert(&t), update(&t)]);
        all.push((t, statements));
    }
    for (kind, clause) in &clauses[..3] {
        let t = format!("changed_{kind}");
        let mut statements = base(&t);
        statements.push(match *kind {
            "default" => format!("ALTER TABLE {t} ADD x {ty}"),
            _ => format!("ALTER TABLE {t} ADD {}", clause.replace(e, "NULL")),
        });
        statements.push(format!("ALTER TABLE {t} MODIFY {clause}"));
        statements.extend([insert(&t), update(&t)]);
        all.push((t, statements));
    }
    let t = "indexed".to_owned();
    let mut statements = base(&t);
    statements.push(format!("CREATE INDEX k ON {t} (({e}))"));
    statements.extend([insert(&t), update(&t)]);
    all.push((t, statements));
    let t = "keyless".to_owned();
    let mut statements = vec![
        "SET sql_generate_invisible_primary_key = ON".to_owned(),
        format!(
            "CREATE TABLE {t} (x {ty} DEFAULT ({e}), n INT, d DATE, ts TIMESTAMP(6) NULL, s VARCHAR(40))"
        ),
        "SET sql_generate_invisible_primary_key = OFF".to_owned(),
    ];
    statements.push(format!("INSERT INTO {t} SET {ROW}"));
    statements.push(format!("UPDATE {t} SET n = n + 1"));
    all.push((t, statements));
    let t = "seen".to_owned();
    let mut statements = base(&t);
    statements.push(format!("CREATE VIEW v AS SELECT id, {e} AS e FROM {t}"));
    statements.push(format!(
        "CREATE TABLE selected SELECT id, {e} AS e FROM {t}"
    ));
    all.push((t, statements));
    // A key part is in no event, and here one session can evaluate what another cannot.
    let open = r.settings.contains("NO_UNSIGNED_SUBTRACTION");
    all.retain(|(t, _)| !(open && (t.ends_with("key") || t.ends_with("unique") || t == "indexed")));
    all
}

/// Each table and view of `d`: its definition, and its rows.
fn tables(instance: &Arc<Instance>) -> Vec<(String, Vec<String>)> {
    let mut s = Session::new(instance, "root", "localhost", instance.next_connection_id());
    let mut rows = |sql: &str| -> Vec<Vec<String>> {
        let mut sink = Collector::new();
        block_on(s.execute(sql.as_bytes(), &mut sink)).expect(sql);
        let rows = sink.results.pop().map(|r| r.rows).unwrap_or_default();
        let text = |r: Vec<types::Value>| r.iter().map(|v| to_text(v.as_ref())).collect();
        rows.into_iter().map(text).collect()
    };
    rows(
        "SET time_zone = '+00:00', sql_mode = '', div_precision_increment = 4, default_week_format = 0, lc_time_names = en_US",
    );
    rows("SET NAMES utf8mb4");
    let names = rows(
        "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'd' ORDER BY 1",
    );
    let mut all = Vec::new();
    for name in names {
        let what = if name[1] == "VIEW" { "VIEW" } else { "TABLE" };
        let name = &name[0];
        let quoted = name.replace('`', "``");
        let columns = rows(&format!(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'd' AND table_name = '{name}' ORDER BY ordinal_position"
        ));
        let columns: Vec<_> = columns
            .iter()
            .map(|c| format!("`{}`", c[0].replace('`', "``")))
            .collect();
        let mut found = vec![rows(&format!("SHOW CREATE {what} d.`{quoted}`"))[0][1].clone()];
        if what == "TABLE" {
            let columns = columns.join(", ");
            let sql = format!("SELECT {columns} FROM d.`{quoted}` ORDER BY 1");
            found.extend(rows(&sql).iter().map(|r| format!("{r:?}")));
        }
        all.push((name.clone(), found));
    }
    all
}

/// What a replica under other settings makes of what a source has done; what differs, in words.
fn replicated(h: &mut History, about: &str) -> Vec<String> {
    let file = h.file();
    let end = file.len();
    let (engine, instance) = server(&Arc::new(MemDisk::default()));
    for s in OF_THE_REPLICA {
        run(&instance, &format!("SET GLOBAL {s}"));
    }
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    begin(&instance, serve("8.0.41", file));
    let facts = settled(&replica, end);
    let mut wrong = Vec::new();
    let failed = failures(&facts);
    if !failed.is_empty() {
        wrong.push(format!("{about}: {failed}"));
    }
    // Of the database that says where the log ends nothing is in the file.
    let (there, here) = (tables(&h.instance), tables(&instance));
    for (name, was) in &there {
        let is = here.iter().find(|t| t.0 == *name).map(|t| &t.1);
        if is != Some(was) && failed.is_empty() {
            wrong.push(format!("{about}, {name}:\n  {was:?}\n  {is:?}"));
        }
    }
    block_on(replica.stop());
    drop(replica);
    block_on(engine.abandon());
    wrong
}

/// Runs statements until one fails; its error.
fn attempt_all(h: &mut History, statements: &[String]) -> Option<(u16, String)> {
    let failed = |sql: &String| {
        h.attempt(0, sql)
            .err()
            .map(|e| (e.code, format!("{sql}: {e}")))
    };
    statements.iter().find_map(failed)
}

#[test]
fn what_definitions_read_of_their_sessions_is_the_same_on_a_replica() {
    let mut wrong = Vec::new();
    for r in BY_SETTINGS {
        let mut h = History::new(&[], 1);
        h.run(0, "SET time_zone = '+00:00'");
        h.run(0, &format!("CREATE TABLE d.probe {TABLE}"));
        h.run(0, &format!("INSERT INTO d.probe SET id = 1, {ROW}"));
        h.run(0, &format!("SET {}", r.settings));
        let mut sink = Collector::new();
        let mut own = Session::new(&h.instance, "root", "localhost", 77);
        block_on(own.query(&format!("SET {}", r.settings))).expect("settings");
        let probe = format!("SELECT {} FROM d.probe", r.value);
        block_on(own.execute(probe.as_bytes(), &mut sink)).expect(&probe);
        let value = sink.results.pop().map(|r| r.rows[0][0].clone());
        let value = match value {
            None | Some(types::Value::Null) => "NULL".to_owned(),
            Some(v) => format!("'{}'", to_text(v.as_ref())),
        };
        let about = format!("{} under {}", r.value, r.settings);
        for (_, statements) in forms(r) {
            let statements: Vec<_> = statements
                .iter()
                .map(|s| s.replace("{v}", &value))
                .collect();
            if let Some((_, text)) = attempt_all(&mut h, &statements) {
                println!("{about}: {text}");
            }
        }
        wrong.extend(replicated(&mut h, &about));
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// What chance or the connection decides is in no definition that rows are filled by; a default of rows to come has it.
#[test]
fn what_is_not_the_same_again_fills_no_rows() {
    const VALUES: &[&str] = &[
        "UUID()",
        "UUID_SHORT()",
        "RAND()",
        "RAND(7)",
        "SYSDATE(6)",
        "USER()",
        "CURRENT_USER()",
        "SESSION_USER()",
        "CURRENT_ROLE()",
        "CONNECTION_ID()",
        "VERSION()",
        "CONCAT('a', LEFT(UUID(), 3))",
    ];
    let mut h = History::new(&[], 1);
    h.run(0, "CREATE TABLE t (id INT PRIMARY KEY)");
    h.run(0, "INSERT INTO t VALUES (1), (2), (3)");
    let code = |h: &mut History, sql: String| h.attempt(0, &sql).err().map(|e| e.code);
    for (n, v) in VALUES.iter().enumerate() {
        let add = format!("ALTER TABLE t ADD COLUMN x{n} VARCHAR(90) DEFAULT ({v})");
        assert_eq!(code(&mut h, add), Some(1674), "{v}");
        let add = format!("ALTER TABLE t ADD COLUMN y{n} VARCHAR(90)");
        assert_eq!(code(&mut h, add), None, "{v}");
        let change = format!("ALTER TABLE t MODIFY y{n} VARCHAR(90) DEFAULT ({v})");
        assert_eq!(code(&mut h, change), None, "{v}");
        let kinds = [
            ("STORED", 3763, format!("ADD g VARCHAR(90) AS ({v}) STORED")),
            ("VIRTUAL", 3763, format!("ADD g VARCHAR(90) AS ({v})")),
            ("CHECK", 3814, format!("ADD CHECK (id <> {v})")),
            ("INDEX", 3758, format!("ADD INDEX (({v}))")),
        ];
        for (kind, wanted, action) in kinds {
            let found = code(&mut h, format!("ALTER TABLE t {action}"));
            assert_eq!(found, Some(wanted), "{kind} {v}");
        }
    }
    for v in ["@a", "@@sql_mode", "@a := 1"] {
        let add = format!("ALTER TABLE t ADD COLUMN x VARCHAR(90) DEFAULT ({v})");
        assert_eq!(code(&mut h, add), Some(3772), "{v}");
    }
    for v in [
        "LAST_INSERT_ID()",
        "FOUND_ROWS()",
        "ROW_COUNT()",
        "SLEEP(0)",
        "GET_LOCK('a', 1)",
        "LOAD_FILE('a')",
    ] {
        let add = format!("ALTER TABLE t ADD COLUMN x VARCHAR(90) DEFAULT ({v})");
        assert_eq!(code(&mut h, add), Some(3770), "{v}");
    }
    h.run(0, "INSERT INTO t (id) VALUES (4), (5)");
    // Of what no binary log has nothing is to be the same.
    h.run(0, "CREATE TEMPORARY TABLE own (id INT)");
    h.run(
        0,
        "ALTER TABLE own ADD COLUMN x VARCHAR(90) DEFAULT (UUID())",
    );
    let wrong = replicated(&mut h, "chance");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_time_that_fills_rows_has_its_fractions() {
    const VALUES: &[&str] = &[
        "CURRENT_TIMESTAMP(6)",
        "(NOW(6))",
        "(UTC_TIMESTAMP(6))",
        "(CURDATE() + INTERVAL MICROSECOND(CURTIME(6)) MICROSECOND)",
        "(FROM_UNIXTIME(UNIX_TIMESTAMP(NOW(6))))",
    ];
    let mut h = History::new(&[], 1);
    h.run(0, "SET time_zone = '+05:30'");
    h.run(0, "CREATE TABLE t (id INT PRIMARY KEY)");
    h.run(0, "INSERT INTO t VALUES (1), (2), (3)");
    for (n, v) in VALUES.iter().enumerate() {
        for ty in ["DATETIME", "TIMESTAMP"] {
            h.run(
                0,
                &format!("ALTER TABLE t ADD COLUMN {ty}{n} {ty}(6) DEFAULT {v}"),
            );
        }
    }
    h.run(0, "SET timestamp = 1700000000.123456");
    h.run(
        0,
        "ALTER TABLE t ADD COLUMN fixed DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)",
    );
    h.run(0, "SET timestamp = 1700000000");
    h.run(
        0,
        "ALTER TABLE t ADD COLUMN whole DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6)",
    );
    let wrong = replicated(&mut h, "times");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A table that gets a key which its statement does not name, in a schema that is not the default one, under modes in which its text reads otherwise.
#[test]
fn a_key_that_the_session_wants_is_a_part_of_the_definition() {
    let mut h = History::new(&[], 1);
    h.run(0, "CREATE DATABASE other");
    h.run(0, "SET sql_generate_invisible_primary_key = ON");
    h.run(
        0,
        "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'",
    );
    h.run(0, "CREATE TABLE d.parent (id INT PRIMARY KEY)");
    h.run(0, "INSERT INTO d.parent VALUES (1)");
    h.run(0, "USE other");
    h.run(
        0,
        "CREATE TABLE IF NOT EXISTS d.\"t`x\" (a VARCHAR(20) DEFAULT 'a\\b' COMMENT 'it''s \\', b VARCHAR(40) AS (a || 'x'), \
         c INT, KEY (c), CHECK (c < 10), FOREIGN KEY (c) REFERENCES d.parent (id))",
    );
    h.run(0, "INSERT INTO d.\"t`x\" (c) VALUES (1), (1), (1)");
    h.run(0, "DELETE FROM d.\"t`x\" LIMIT 1");
    h.run(
        0,
        "CREATE TEMPORARY TABLE own (a VARCHAR(9) DEFAULT 'a\\b', \"b`\" INT)",
    );
    h.run(0, "CREATE TABLE d.alike LIKE own");
    h.run(0, "INSERT INTO d.alike (\"b`\") VALUES (1)");
    h.run(0, "CREATE TABLE d.selected SELECT 1 AS one");
    let wrong = replicated(&mut h, "keys");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
