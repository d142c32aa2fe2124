//! What sessions change is in the events of their transactions: statements are run, their events are taken from the log and carried out on
//! a copy, and the copy has the same rows.

mod alike;
mod in_order;

use base::mem::{MemDisk, environment};
use base::{SplitMix64, block_on};
use engine::{Engine, EngineOptions, GroupPosition, PagerOptions};
use replication::changes::Changes;
use replication::group::{End, Next, next};
use sql::sink::{Collected, Collector};
use sql::{Instance, InstanceOptions, Session};
use sql_expr::vars::GlobalVars;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use types::{SqlError, Value};
use wire::binlog::header::kind;
use wire::binlog::query::Query;
use wire::binlog::rows::{Change, Image, Rows, flag};
use wire::binlog::table_map::TableMap;

struct Server {
    instance: Arc<Instance>,
    engine: Arc<Engine>,
    from: GroupPosition,
    stops: u64,
}

impl Server {
    fn new() -> Server {
        let environment = environment(Arc::new(MemDisk::default()));
        block_on(async {
            let options = EngineOptions {
                pager: PagerOptions {
                    pool_bytes: 16 << 20,
                    log_capacity_bytes: 64 << 20,
                    log_buffer_bytes: 4 << 20,
                    ..PagerOptions::default()
                },
                keep_log: true,
                ..EngineOptions::default()
            };
            let engine = Engine::open(environment.clone(), Path::new("/data"), options)
                .await
                .expect("an engine");
            let options = InstanceOptions {
                password_hasher: Some(Arc::new(|plugin, password| {
                    Some([plugin.as_bytes(), b":", password].concat())
                })),
                ..InstanceOptions::default()
            };
            let globals = Arc::new(GlobalVars::new());
            let instance = Instance::open(engine.clone(), &environment, globals, options)
                .await
                .expect("an instance");
            instance.log_changes_in(Changes::new(&engine));
            let from = engine.end_of_groups();
            Server {
                instance,
                engine,
                from,
                stops: 0,
            }
        })
    }

    fn client(&self) -> Client {
        let id = self.instance.next_connection_id();
        let mut c = Client(Session::new(&self.instance, "root", "localhost", id));
        c.run("CREATE DATABASE IF NOT EXISTS test");
        c.run("USE test");
        c
    }

    /// The groups since the last call, taken apart.
    fn groups(&mut self) -> Vec<Group> {
        self.stops += 1;
        let stop = format!("CREATE DATABASE stop{}", self.stops);
        self.client().run(&stop);
        let mut follower = self.engine.follow(self.from);
        let mut all = Vec::new();
        loop {
            let group = block_on(follower.next()).unwrap().unwrap();
            let resume = group.resume;
            let bytes = block_on(group.reader(&self.engine).read_all()).unwrap();
            let group = Group::read(&bytes);
            if group.texts().any(|t| t == stop) {
                self.from = resume;
                return all;
            }
            if !group.texts().any(|t| t.starts_with("CREATE DATABASE")) {
                all.push(group);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        block_on(self.engine.abandon());
    }
}

struct Client(Session);

impl Client {
    fn attempt(&mut self, sql: &str) -> Result<Collected, SqlError> {
        let mut sink = Collector::new();
        block_on(self.0.execute(sql.as_bytes(), &mut sink))?;
        Ok(sink.results.pop().unwrap_or_default())
    }

    fn run(&mut self, sql: &str) -> Collected {
        self.attempt(sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    /// As a prepared statement, the way that waits for nothing first.
    fn execute(&mut self, id: u32, params: &[Value]) -> Result<(), SqlError> {
        self.execute_quick(id, params).map(|_| ())
    }

    /// The same, and whether all of it was done that way.
    fn execute_quick(&mut self, id: u32, params: &[Value]) -> Result<bool, SqlError> {
        use sql::session::{Execution, Pending};
        let mut sink = Collector::new();
        match self.0.start_prepared(id, params, &mut sink) {
            Execution::Done(r) => r.map(|()| true),
            Execution::Pending(rest) => {
                let quick = !matches!(rest, Pending::Statement);
                block_on(self.0.finish_prepared(rest, id, params, &mut sink))?;
                Ok(quick)
            }
        }
    }
}

#[derive(Debug)]
enum Event {
    Query(String, String),
    RowsQuery(String),
    Rows {
        change: Change,
        table: (String, String),
        images: Vec<(Image, Image)>,
        last: bool,
    },
}

#[derive(Debug)]
struct Group {
    events: Vec<Event>,
    end: End,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

impl Group {
    /// Takes it apart, and sees that it is one: rows behind their table's event, the last of a statement marked, an end.
    fn read(bytes: &[u8]) -> Group {
        let mut rest = bytes;
        let mut events = Vec::new();
        let mut maps: HashMap<u64, TableMap> = HashMap::new();
        let mut end = None;
        while let Some(item) = next(&mut rest).unwrap() {
            assert!(end.is_none(), "something behind the end");
            let item = match item {
                Next::End(e) => {
                    end = Some(e);
                    continue;
                }
                Next::Item(item) => item,
            };
            assert!(item.timestamp > 1_600_000_000);
            match item.kind {
                kind::QUERY => {
                    let q = Query::read(item.body).unwrap();
                    events.push(Event::Query(text(q.database), text(q.statement)));
                }
                kind::ROWS_QUERY => events.push(Event::RowsQuery(text(&item.body[1..]))),
                kind::TABLE_MAP => {
                    let map = TableMap::read(item.body).unwrap();
                    maps.insert(map.id, map);
                }
                other => {
                    let (change, second) = Change::by_kind(other).unwrap();
                    let rows = Rows::read(change, second, item.body).unwrap();
                    let map = maps.get(&rows.table).expect("a table's event in front");
                    let last = rows.flags & flag::STATEMENT_END != 0;
                    events.push(Event::Rows {
                        change,
                        table: (text(&map.database), text(&map.table)),
                        images: rows.images(map).unwrap(),
                        last,
                    });
                    if last {
                        maps.clear();
                    }
                }
            }
        }
        assert!(rest.is_empty() && maps.is_empty(), "{events:?}");
        let group = Group {
            events,
            end: end.expect("an end"),
        };
        let rows = |e: &Event| matches!(e, Event::Rows { .. });
        match group.events.iter().any(rows) {
            true => {
                assert!(matches!(&group.events[0], Event::Query(_, t) if t == "BEGIN"));
                assert!(!group.end.statement && group.end.committed_micros > 0);
            }
            false => assert!(group.end.statement && group.events.len() == 1, "{group:?}"),
        }
        group
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.events.iter().filter_map(|e| match e {
            Event::Query(_, t) => Some(&t[..]),
            _ => None,
        })
    }
}

/// A value as it can be compared.
fn shown(v: &Value) -> String {
    match v {
        Value::Str(b, _) | Value::Bytes(b) => {
            // What pads a BINARY is not in the events.
            let end = b.iter().rposition(|x| *x != 0).map_or(0, |n| n + 1);
            format!("'{}'", String::from_utf8_lossy(&b[..end]))
        }
        Value::Int(n) => n.to_string(),
        Value::UInt(n) | Value::Bit(n, _) | Value::Set(n, _) => n.to_string(),
        Value::Enum(n, _) => n.to_string(),
        other => format!("{other:?}"),
    }
}

type Row = Vec<String>;

/// Tables as their events leave them.
#[derive(Default)]
struct Copy(BTreeMap<String, Vec<Row>>);

impl Copy {
    fn apply(&mut self, groups: &[Group]) {
        for e in groups.iter().flat_map(|g| &g.events) {
            match e {
                Event::Query(_, t) if t.starts_with("TRUNCATE TABLE ") => {
                    self.0.remove(&t["TRUNCATE TABLE ".len()..]);
                }
                Event::Rows {
                    change,
                    table,
                    images,
                    ..
                } => {
                    let rows = self.0.entry(table.1.clone()).or_default();
                    for (before, after) in images {
                        change_row(rows, *change, before, after);
                    }
                }
                _ => {}
            }
        }
    }
}

fn change_row(rows: &mut Vec<Row>, change: Change, before: &Image, after: &Image) {
    let shown_of = |image: &Image| -> Vec<Option<String>> {
        image.iter().map(|v| v.as_ref().map(shown)).collect()
    };
    let (before, after) = (shown_of(before), shown_of(after));
    let whole = || {
        let all = after.iter().map(|v| v.clone().expect("a whole row"));
        all.collect::<Row>()
    };
    if change == Change::Write {
        rows.push(whole());
        return;
    }
    let fits = |row: &Row| {
        let mut both = row.iter().zip(&before);
        both.all(|(v, b)| b.as_ref().is_none_or(|b| b == v))
    };
    let at = rows.iter().position(fits);
    let at = at.unwrap_or_else(|| panic!("no row {before:?} among {rows:?}"));
    match change {
        Change::Delete => {
            rows.swap_remove(at);
        }
        _ => {
            for (v, a) in rows[at].iter_mut().zip(&after) {
                if let Some(a) = a {
                    v.clone_from(a);
                }
            }
        }
    }
}

const TABLES: &[&str] = &[
    "CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, u BIGINT UNSIGNED UNIQUE, s VARCHAR(300), e ENUM('x','y','z'), d DECIMAL(9,3), l LONGTEXT)",
    "CREATE TABLE b (k SMALLINT, t TIMESTAMP(3) NULL, v VARCHAR(10) CHARACTER SET latin1, f DOUBLE, y YEAR, m SET('p','q'), c CHAR(5), z BIT(10))",
    "CREATE TABLE c (id INT, n VARCHAR(20) NOT NULL, x INT, g INT GENERATED ALWAYS AS (x + 1) VIRTUAL, h INT GENERATED ALWAYS AS (x * 2) STORED, PRIMARY KEY (id, n), KEY ((x + 7)))",
];

fn same(server: &mut Server, copy: &mut Copy, client: &mut Client, what: &str) {
    copy.apply(&server.groups());
    for table in ["a", "b", "c"] {
        let found = client.run(&format!("SELECT * FROM {table}"));
        let row = |r: &Vec<Value>| r.iter().map(shown).collect::<Row>();
        let mut found: Vec<Row> = found.rows.iter().map(row).collect();
        let mut copied = copy.0.get(table).cloned().unwrap_or_default();
        found.sort();
        copied.sort();
        assert_eq!(copied, found, "{table}, {what}");
    }
}

fn change(r: &mut SplitMix64) -> String {
    let (n, m) = (r.below(30), r.below(30));
    let word = "lorem ipsum ".repeat(r.below(4) as usize);
    let long = "x".repeat(r.pick(&[0, 5, 9000, 20_000]));
    let null = |r: &mut SplitMix64, v: String| if r.one_in(5) { "NULL".into() } else { v };
    let u = null(r, m.to_string());
    match r.below(18) {
        0 => format!("INSERT INTO a VALUES ({n},{u},'{word}','x',1.5,'{long}')"),
        1 => format!("INSERT INTO a (u,s) VALUES ({u},'{word}'),({n},'q'),(NULL,'r')"),
        2 => format!("REPLACE INTO a (id,u,s) VALUES ({n},{u},'{word}'),({m},{n},NULL)"),
        3 => format!(
            "INSERT INTO a (id,u) VALUES ({n},{m}),({m},{n}) ON DUPLICATE KEY UPDATE s = CONCAT(COALESCE(s,''),'+'), d = d + 1"
        ),
        4 => format!("INSERT IGNORE INTO a (id,u,e) VALUES ({n},{m},'y'),({m},{m},'z')"),
        5 => format!("UPDATE a SET s = '{word}', l = '{long}' WHERE id = {n}"),
        6 => format!("UPDATE a SET d = {n}.125, e = 'z' WHERE u < {m}"),
        7 => format!("UPDATE IGNORE a SET id = id + 3 WHERE id > {n}"),
        8 => format!("UPDATE a SET u = {n} WHERE id = {m}"),
        9 => format!("DELETE FROM a WHERE id = {n}"),
        10 => format!("DELETE FROM a WHERE u > {n} ORDER BY u LIMIT 2"),
        11 => format!(
            "INSERT INTO b VALUES ({n},'2024-02-03 04:05:06.789',_utf8mb4'caf\u{e9}',{m}e-3,{},'p,q','ab',b'{:b}')",
            1990 + n,
            n * 17
        ),
        12 => "INSERT INTO b SELECT * FROM b LIMIT 3".into(),
        13 => format!("UPDATE b SET k = k + 1, c = NULL, t = NULL WHERE k <= {n} LIMIT 2"),
        14 => format!("DELETE FROM b WHERE k > {}", n + 8),
        15 => format!("INSERT INTO c (id,n,x) VALUES ({n},'{word}',{m}),({m},'',NULL)"),
        16 => {
            format!("UPDATE c, a SET c.x = c.x + 1, a.s = 'both' WHERE c.id = a.id AND a.id < {n}")
        }
        _ => format!("DELETE c, a FROM c JOIN a ON c.id = a.id WHERE a.id = {n}"),
    }
}

fn run(seed: u64, settings: &str) {
    let mut server = Server::new();
    let mut client = server.client();
    for t in TABLES {
        client.run(t);
    }
    client.run("CREATE TEMPORARY TABLE tmp LIKE a");
    client.run(settings);
    client.run("SET sql_mode = ''");
    let update = client
        .0
        .prepare("UPDATE a SET s = ?, d = ? WHERE id = ?".as_bytes())
        .unwrap()
        .id;
    let mut copy = Copy::default();
    let mut r = SplitMix64::stream(seed, 1);
    for step in 0..400 {
        let what = match r.below(24) {
            0 => "BEGIN".to_string(),
            1 | 2 => "COMMIT".into(),
            3 => "ROLLBACK".into(),
            4 => "SAVEPOINT p".into(),
            5 => "ROLLBACK TO p".into(),
            6 if r.one_in(8) => format!("TRUNCATE TABLE {}", r.pick(&["a", "b", "c"])),
            7 => "INSERT INTO tmp (s) SELECT s FROM a".into(),
            8 | 9 => {
                let text = Value::Str(format!("p{step}").into_bytes(), types::CollationId::DEFAULT);
                let id = Value::Int(r.below(30) as i64);
                let _ = client.execute(update, &[text, Value::Int(step), id]);
                continue;
            }
            _ => change(&mut r),
        };
        // Duplicates and their like are part of it.
        let _ = client.attempt(&what);
        if r.one_in(20) {
            client.run("COMMIT");
            let what = format!("seed {seed}, {settings}, step {step}: {what}");
            same(&mut server, &mut copy, &mut client, &what);
        }
    }
    client.run("COMMIT");
    same(&mut server, &mut copy, &mut client, "at the end");
    let rows: usize = copy.0.values().map(Vec::len).sum();
    assert!(rows > 10, "{rows} rows");
}

#[test]
fn a_copy_made_of_events_has_the_same_rows() {
    for seed in 0..4 {
        run(seed, "SET binlog_row_image = FULL");
    }
}

#[test]
fn so_it_has_with_fewer_columns_in_them() {
    for (seed, image) in [(10, "MINIMAL"), (11, "NOBLOB"), (12, "MINIMAL")] {
        run(seed, &format!("SET binlog_row_image = {image}"));
    }
}

fn told(groups: &[Group]) -> Vec<String> {
    groups
        .iter()
        .flat_map(|g| &g.events)
        .map(|e| match e {
            Event::Query(db, t) => format!("{db}: {t}"),
            Event::RowsQuery(t) => format!("# {t}"),
            Event::Rows {
                change,
                table,
                images,
                last,
            } => {
                let end = if *last { "." } else { "" };
                format!("{change:?} {} {}{end}", table.1, images.len())
            }
        })
        .collect()
}

#[test]
fn definitions_come_as_the_statements_that_made_them() {
    let mut server = Server::new();
    let mut c = server.client();
    c.run("SET sql_mode = ''");
    for sql in [
        "CREATE TABLE t (a INT PRIMARY KEY) ; ",
        "CREATE TEMPORARY TABLE tmp (a INT)",
        "INSERT INTO tmp VALUES (1)",
        "ALTER TABLE tmp ADD b INT",
        "CREATE TABLE IF NOT EXISTS t (a INT)",
        "ALTER TABLE t ADD b VARCHAR(10), ADD KEY (b)",
        "CREATE INDEX i ON t (b, a)",
        "CREATE VIEW v AS SELECT a FROM t",
        "RENAME TABLE t TO u",
        "CREATE TABLE w LIKE tmp",
        "DROP TABLE tmp, w",
        "DROP TABLE IF EXISTS nothing",
        "DROP VIEW v",
        "TRUNCATE u",
        "SET sql_log_bin = 0",
        "CREATE TABLE hidden (a INT)",
        "INSERT INTO u VALUES (1, 'x')",
        "SET sql_log_bin = 1",
        "DROP TABLE u",
    ] {
        c.run(sql);
    }
    assert!(c.attempt("CREATE TABLE hidden (a INT)").is_err());
    assert!(c.attempt("ALTER TABLE hidden DROP b").is_err());
    let expected = [
        "test: CREATE TABLE t (a INT PRIMARY KEY)",
        "test: CREATE TABLE IF NOT EXISTS t (a INT)",
        "test: ALTER TABLE t ADD b VARCHAR(10), ADD KEY (b)",
        "test: CREATE INDEX i ON t (b, a)",
        "test: CREATE VIEW v AS SELECT a FROM t",
        "test: RENAME TABLE t TO u",
        "test: CREATE TABLE `test`.`w` (\n  `a` int DEFAULT NULL,\n  `b` int DEFAULT NULL\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci",
        "test: DROP TABLE `w` /* generated by server */",
        "test: DROP TABLE IF EXISTS `nothing` /* generated by server */",
        "test: DROP VIEW v",
        "test: TRUNCATE u",
        "test: DROP TABLE `u` /* generated by server */",
    ];
    assert_eq!(told(&server.groups()), expected);
}

#[test]
fn no_password_is_in_what_is_told_of_accounts() {
    let mut server = Server::new();
    let mut c = server.client();
    for sql in [
        "CREATE USER u IDENTIFIED BY 'secret-1', w@h IDENTIFIED WITH caching_sha2_password BY 'secret-2' ACCOUNT LOCK",
        "CREATE ROLE r",
        "GRANT SELECT ON test.* TO u",
        "ALTER USER u IDENTIFIED BY 'secret-3' RETAIN CURRENT PASSWORD",
        "SET PASSWORD FOR w@h = 'secret-4'",
        "ALTER USER IF EXISTS nobody IDENTIFIED BY 'secret-5'",
        "RENAME USER u TO v",
        "DROP USER v, w@h",
    ] {
        c.run(sql);
    }
    assert!(c.attempt("CREATE USER r IDENTIFIED BY 'secret-6'").is_err());
    let expected = [
        "test: CREATE USER `u`@`%` IDENTIFIED WITH 'caching_sha2_password' AS 'caching_sha2_password:secret-1',`w`@`h` IDENTIFIED WITH 'caching_sha2_password' AS 'caching_sha2_password:secret-2' REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT LOCK PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT",
        "test: CREATE ROLE r",
        "test: GRANT SELECT ON test.* TO u",
        "test: ALTER USER `u`@`%` IDENTIFIED WITH 'caching_sha2_password' AS 'caching_sha2_password:secret-3' RETAIN CURRENT PASSWORD",
        "test: ALTER USER `w`@`h` IDENTIFIED WITH 'caching_sha2_password' AS 'caching_sha2_password:secret-4'",
        "test: RENAME USER u TO v",
        "test: DROP USER v, w@h",
    ];
    assert_eq!(told(&server.groups()), expected);
}

#[test]
fn statements_are_marked_and_cascades_are_the_replicas() {
    let mut server = Server::new();
    let mut c = server.client();
    c.run("CREATE TABLE p (id INT PRIMARY KEY)");
    c.run("CREATE TABLE k (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)");
    server.groups();
    c.run("SET binlog_rows_query_log_events = ON");
    c.run("INSERT INTO p VALUES (1),(2)");
    c.run("BEGIN");
    c.run("INSERT INTO k VALUES (1,1),(2,1),(3,2)");
    c.run("UPDATE k SET p = NULL WHERE id = 3");
    c.run("COMMIT");
    c.run("DELETE FROM p WHERE id = 1");
    assert_eq!(c.run("SELECT * FROM k").rows.len(), 1);
    let groups = server.groups();
    let expected = [
        "test: BEGIN",
        "# INSERT INTO p VALUES (1),(2)",
        "Write p 2.",
        "test: BEGIN",
        "# INSERT INTO k VALUES (1,1),(2,1),(3,2)",
        "Write k 3.",
        "# UPDATE k SET p = NULL WHERE id = 3",
        "Update k 1.",
        "test: BEGIN",
        "# DELETE FROM p WHERE id = 1",
        "Delete p 1.",
    ];
    assert_eq!(told(&groups), expected);
    // A parent's rows: nobody knows what goes with them. A child's: its keys, and its parents'.
    assert_eq!(groups[0].end.keys, None);
    assert_eq!(groups[1].end.keys.as_ref().map(Vec::len), Some(5));
}

/// The documents of a group, before and after each change; `-`: not in its events.
fn documents(group: &Group, column: usize) -> Vec<[String; 2]> {
    let shown = |image: &Image| match image.get(column) {
        Some(Some(Value::Bytes(b))) => text(&replication::json::text(b).expect("a document")),
        Some(Some(Value::Null)) => "NULL".to_owned(),
        Some(Some(other)) => panic!("{other:?}"),
        Some(None) | None => "-".to_owned(),
    };
    let rows = group.events.iter().filter_map(|e| match e {
        Event::Rows { images, .. } => Some(images),
        _ => None,
    });
    let images = rows.flatten();
    images.map(|(b, a)| [shown(b), shown(a)]).collect()
}

#[test]
fn documents_are_told_in_mysqls_form_of_them() {
    let mut server = Server::new();
    let mut c = server.client();
    c.run("CREATE TABLE j (id INT PRIMARY KEY, v JSON, n INT, w JSON)");
    c.run("INSERT INTO j VALUES (1, '{\"b\": [1, 2.50], \"a\": \"x\"}', 1, NULL)");
    c.run("UPDATE j SET v = JSON_SET(v, '$.c', CAST(1.10 AS DECIMAL(5,2)))");
    c.run("SET binlog_row_image = NOBLOB");
    c.run("UPDATE j SET n = 2");
    c.run("UPDATE j SET v = '7'");
    c.run("SET binlog_row_image = MINIMAL");
    c.run("UPDATE j SET n = 3, w = 'null'");
    c.run("DELETE FROM j");
    let groups = server.groups();
    let first = "{\"a\": \"x\", \"b\": [1, 2.5]}";
    let second = "{\"a\": \"x\", \"b\": [1, 2.5], \"c\": 1.10}";
    let expected = [
        ["-", first],
        [first, second],
        ["-", "-"],
        ["-", "7"],
        ["-", "-"],
        ["-", "-"],
    ];
    let told: Vec<_> = groups.iter().flat_map(|g| documents(g, 1)).collect();
    assert_eq!(told, expected);
    let told: Vec<_> = groups.iter().flat_map(|g| documents(g, 3)).collect();
    assert_eq!(told[0], ["-", "NULL"]);
    assert_eq!(told[4], ["-", "null"]);
}
