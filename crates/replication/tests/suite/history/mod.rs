//! What a source has done: files of the binary log that come out of random transactions of several sessions.

#![allow(dead_code, reason = "each test uses some of it")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::lock::Mutex;
use base::mem::{MemDisk, environment};
use base::{Lsn, SplitMix64, block_on};
use engine::{Engine, EngineOptions, Interrupt, PagerOptions};
use replication::changes::Changes;
use replication::derive::{Making, Measure, Naming, Settings, State, put_group, put_head};
use replication::source::{EngineSource, GroupSource, Items, ReadParts};
use sql::sink::Collector;
use sql::{Instance, InstanceOptions, Session};
use sql_expr::vars::GlobalVars;
use types::gtid::Sid;
use types::{SqlError, Value};
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::{Header, kind};
use wire::binlog::payload::{Compression, Payload};

/// A file of the binary log, and what its source had in the end.
pub struct Made {
    pub file: Vec<u8>,
    /// Each table with its rows, in the order of their texts.
    pub tables: Vec<(String, Vec<String>)>,
}

/// A source that is at work.
pub struct History {
    pub instance: Arc<Instance>,
    engine: Arc<Engine>,
    from: Lsn,
    clients: Vec<Session>,
    running: Running,
}

fn each(parts: &dyn ReadParts, mut f: impl FnMut(&[u8])) {
    let mut reader = parts.read();
    while let Some(part) = block_on(reader.next()).expect("a part") {
        f(&part);
    }
}

/// The statement that runs: since when, and how it is killed.
type Running = Arc<Mutex<Option<(Instant, Arc<Interrupt>)>>>;

/// Kills what waits.
fn watch(running: &Running) {
    const LONGEST: Duration = Duration::from_millis(40);
    let running = Arc::downgrade(running);
    std::thread::spawn(move || {
        while let Some(running) = running.upgrade() {
            if let Some((since, interrupt)) = &*running.lock()
                && since.elapsed() > LONGEST
            {
                interrupt.kill_query();
            }
            drop(running);
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

/// Tables whose rows meet by nothing but their primary keys.
pub const PLAIN: &[&str] = &[
    "CREATE TABLE p (id INT PRIMARY KEY, a INT, s VARCHAR(60))",
    "CREATE TABLE q (k VARCHAR(20), n INT, a INT, PRIMARY KEY (k, n))",
];

/// Tables whose rows meet by all there is.
pub const RICH: &[&str] = &[
    "CREATE TABLE u (id INT PRIMARY KEY, a INT UNIQUE, b VARCHAR(10), c INT, UNIQUE KEY b (b), KEY c (c))",
    "CREATE TABLE w (a INT UNIQUE, b INT, s VARCHAR(20))",
    "CREATE TABLE n (a INT, s VARCHAR(20))",
    "CREATE TABLE parent (id INT PRIMARY KEY, s VARCHAR(20))",
    "CREATE TABLE child (id INT PRIMARY KEY, parent INT, s VARCHAR(20), \
     FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
];

impl History {
    /// One with tables, and so many sessions.
    pub fn new(tables: &[&str], sessions: usize) -> History {
        let environment = environment(Arc::new(MemDisk::default()));
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
        let engine = block_on(Engine::open(
            environment.clone(),
            Path::new("/data"),
            options,
        ));
        let engine = engine.expect("an engine");
        let (globals, options) = (Arc::new(GlobalVars::new()), InstanceOptions::default());
        let instance = Instance::open(engine.clone(), &environment, globals, options);
        let instance = block_on(instance).expect("an instance");
        instance.log_changes_in(Changes::new(&engine));
        let from = engine.end_of_groups().from;
        let mut history = History {
            instance,
            engine,
            from,
            clients: Vec::new(),
            running: Running::default(),
        };
        history.add_client();
        history.run(0, "CREATE DATABASE d");
        for t in tables {
            history.run(
                0,
                &format!("CREATE TABLE d.{}", &t["CREATE TABLE ".len()..])
                    .replace("REFERENCES ", "REFERENCES d."),
            );
        }
        history.run(0, "USE d");
        while history.clients.len() < sessions {
            history.add_client();
            let last = history.clients.len() - 1;
            history.run(last, "USE d");
        }
        // One alone waits for nobody.
        if sessions > 1 {
            watch(&history.running);
        }
        history
    }

    fn add_client(&mut self) {
        let id = self.instance.next_connection_id();
        let client = Session::new(&self.instance, "root", "localhost", id);
        self.clients.push(client);
    }

    /// Runs a statement. One thread runs all sessions: what waits for another of them is killed.
    pub fn attempt(&mut self, client: usize, sql: &str) -> Result<(), SqlError> {
        *self.running.lock() = Some((Instant::now(), self.clients[client].interrupt()));
        let mut sink = Collector::new();
        let done = block_on(self.clients[client].execute(sql.as_bytes(), &mut sink));
        *self.running.lock() = None;
        done
    }

    /// Runs a statement that goes well.
    pub fn run(&mut self, client: usize, sql: &str) {
        self.attempt(client, sql)
            .unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    /// What it has done, as a file.
    pub fn file(&mut self) -> Vec<u8> {
        self.run(0, "CREATE DATABASE the_end");
        self.read(u64::MAX)
    }

    /// The same up to where another database of this name is made, which is to be there.
    pub fn read_to(&mut self, database: &str) -> Vec<u8> {
        self.read_up_to(u64::MAX, &format!("CREATE DATABASE {database}"))
    }

    /// The same again, where [`file`](Self::file) was asked before: groups of more bytes than that are read in parts.
    pub fn file_in_parts(&mut self, whole_max: u64) -> Vec<u8> {
        self.read(whole_max)
    }

    /// The file, of which groups of more bytes than that are read in parts.
    fn read(&mut self, whole_max: u64) -> Vec<u8> {
        self.read_up_to(whole_max, "CREATE DATABASE the_end")
    }

    fn read_up_to(&mut self, whole_max: u64, last: &str) -> Vec<u8> {
        let settings = Settings {
            server_id: 1,
            sid: Sid([7; 16]),
            version: 80_041,
            version_text: "8.0.41".to_owned(),
            checksum: Checksum::Crc32,
            names: Naming::All,
            max_size: u64::MAX,
            history: 25_000,
        };
        let mut state = State::new(settings, Lsn(1));
        let mut file = Vec::new();
        put_head(&mut state, 0, &mut file);
        let source = EngineSource::new(&self.engine, self.from, Lsn::NONE);
        let mut source = source.holding(whole_max);
        loop {
            let group = block_on(source.next()).expect("a group").expect("a group");
            let at = file.len();
            match group.items {
                Items::Whole(bytes) => {
                    assert!(bytes.len() as u64 <= whole_max);
                    put_group(&mut state, &bytes, group.txid, &mut file).expect("a group");
                }
                Items::InParts(parts) => {
                    let mut measure = Measure::new(Checksum::Crc32);
                    each(&*parts, |part| measure.add(part).expect("a part"));
                    let measured = measure.finish().expect("a group");
                    let mut making = Making::begin(&mut state, &measured, group.txid, &mut file);
                    each(&*parts, |part| making.add(part, &mut file).expect("a part"));
                    making.finish(&mut state, &mut file).expect("a group");
                }
            }
            if String::from_utf8_lossy(&file[at..]).contains(last) {
                file.truncate(at);
                return file;
            }
        }
    }

    /// What some transactions, small ones and one of a megabyte and more, are in a file: read as a whole, and in parts.
    pub fn whole_and_in_parts() -> (Vec<u8>, Vec<u8>) {
        let mut history = History::new(&["CREATE TABLE big (a INT PRIMARY KEY, b LONGTEXT)"], 1);
        let row = |n: u32| format!("({n}, REPEAT(CHAR({}), {}))", 65 + n % 26, n * 20);
        let rows: Vec<String> = (1..=300).map(row).collect();
        let fill = format!("INSERT INTO big VALUES {}", rows.join(", "));
        for sql in [
            &fill,
            "UPDATE big SET b = CONCAT(b, 'x') WHERE a < 4",
            "UPDATE big SET a = a + 1000",
            "INSERT INTO big VALUES (1, REPEAT('y', 300000))",
            "DELETE FROM big",
        ] {
            history.run(0, sql);
        }
        let whole = history.file();
        let parts = history.read(2000);
        block_on(history.engine.abandon());
        (whole, parts)
    }

    /// So many random transactions of four sessions, also of tables that are [`RICH`]; with those, definitions are changed as well.
    pub fn random(seed: u64, transactions: usize, rich: bool) -> Made {
        History::random_of(seed, transactions, rich, (false, true))
    }

    /// The same without branches of distributed transactions.
    pub fn random_without_branches(seed: u64, transactions: usize, rich: bool) -> Made {
        History::random_of(seed, transactions, rich, (false, false))
    }

    /// The same, of which some are compressed.
    pub fn random_compressed(seed: u64, transactions: usize, rich: bool) -> Made {
        History::random_of(seed, transactions, rich, (true, true))
    }

    fn random_of(
        seed: u64,
        transactions: usize,
        rich: bool,
        (compressed, with_branches): (bool, bool),
    ) -> Made {
        let all = [PLAIN, RICH].concat();
        let tables = if rich { &all[..] } else { PLAIN };
        let mut history = History::new(tables, 4);
        let mut r = SplitMix64::stream(seed, 99);
        let mut open = [false; 4];
        // The branches that clients are at work in, and those that are prepared.
        let (mut branches, mut branch, mut prepared) = (0u32, [None; 4], Vec::new());
        let mut done = 0;
        while done < transactions {
            let client = r.below(4) as usize;
            if compressed && !open[client] && r.one_in(4) {
                let (on, level) = (r.below(2), 1 + r.below(22));
                history.run(
                    client,
                    &format!(
                        "SET binlog_transaction_compression = {on}, \
                         binlog_transaction_compression_level_zstd = {level}"
                    ),
                );
            }
            let sql = match r.below(10) {
                0..=2 if with_branches && !open[client] && r.one_in(6) => {
                    branches += 1;
                    open[client] = true;
                    branch[client] = Some(branches);
                    format!("XA START '{branches}'")
                }
                0..=2 if !open[client] => {
                    open[client] = true;
                    "BEGIN".to_owned()
                }
                0..=2 if branch[client].is_some() => {
                    open[client] = false;
                    let name = branch[client].take().unwrap_or_default();
                    // Of what was taken back there is nothing to be ended.
                    let _ended = history.attempt(client, &format!("XA END '{name}'"));
                    match r.below(8) {
                        0 => format!("XA ROLLBACK '{name}'"),
                        1 => format!("XA COMMIT '{name}' ONE PHASE"),
                        _ => {
                            prepared.push(name);
                            format!("XA PREPARE '{name}'")
                        }
                    }
                }
                4 if !open[client] && !prepared.is_empty() => {
                    let name = prepared.swap_remove(r.below(prepared.len() as u64) as usize);
                    let how = if r.one_in(4) { "ROLLBACK" } else { "COMMIT" };
                    format!("XA {how} '{name}'")
                }
                0..=2 => {
                    open[client] = false;
                    if r.one_in(8) { "ROLLBACK" } else { "COMMIT" }.to_owned()
                }
                3 if rich && r.one_in(12) && !open.contains(&true) => definition(&mut r),
                // A replica that looks for a row without a key would wait for a branch whose end comes later.
                _ => change(&mut r, rich && branch[client].is_none()),
            };
            // Duplicates and their like are part of it.
            let outcome = history.attempt(client, &sql);
            if outcome.is_err_and(|e| e.code == 1213) {
                open[client] = false;
                if let Some(name) = branch[client].take() {
                    let _ended = history.attempt(client, &format!("XA END '{name}'"));
                    history.run(client, &format!("XA ROLLBACK '{name}'"));
                }
            }
            done += usize::from(!open[client]);
        }
        for (client, branch) in branch.into_iter().enumerate() {
            match branch {
                Some(name) => {
                    let _ended = history.attempt(client, &format!("XA END '{name}'"));
                    history.run(client, &format!("XA ROLLBACK '{name}'"));
                }
                None => history.run(client, "COMMIT"),
            }
        }
        for name in prepared {
            // One that was not prepared is not there.
            let _ended = history.attempt(0, &format!("XA COMMIT '{name}'"));
        }
        let file = history.file();
        let tables = history.tables();
        block_on(history.engine.abandon());
        Made { file, tables }
    }

    /// What it has: each table with its rows, in the order of their texts.
    pub fn tables(&mut self) -> Vec<(String, Vec<String>)> {
        let mut rows = |sql: &str| {
            let mut sink = Collector::new();
            block_on(self.clients[0].execute(sql.as_bytes(), &mut sink)).expect(sql);
            sink.results.pop().map(|r| r.rows).unwrap_or_default()
        };
        let names = rows(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'd' ORDER BY 1",
        );
        let mut all = Vec::new();
        for name in names {
            let Value::Str(name, _) = &name[0] else {
                panic!("{name:?}");
            };
            let name = String::from_utf8_lossy(name).into_owned();
            let found = rows(&format!("SELECT * FROM d.`{name}`"));
            let mut found: Vec<String> = found.iter().map(|r| format!("{r:?}")).collect();
            found.sort();
            all.push((name, found));
        }
        all
    }
}

/// The events of a file, those that are compressed taken out, each of which has to be as they are there: no checksum, no position. Which transactions
/// are compressed is said by their events of this kind, which stay in front.
pub fn unpacked(file: &[u8]) -> Vec<(Header, Vec<u8>)> {
    let (mut at, mut all) = (4, Vec::new());
    while at < file.len() {
        let e = Event::read(&file[at..], Checksum::Crc32).expect("an event");
        at += e.bytes.len();
        assert_eq!(e.header.next_position as usize, at);
        all.push((e.header, e.body.to_vec()));
        if e.header.kind != kind::TRANSACTION_PAYLOAD {
            continue;
        }
        let payload = Payload::read(e.body).expect("a payload");
        assert_eq!(payload.compression, Compression::Zstd);
        let plain = zstd::decode_all(payload.bytes).expect("a frame");
        assert_eq!(payload.uncompressed, plain.len() as u64);
        let from = all.len();
        let mut rest = &plain[..];
        while !rest.is_empty() {
            let e = Event::read(rest, Checksum::None).expect("an event");
            rest = &rest[e.bytes.len()..];
            assert_eq!((e.header.next_position, e.header.server_id), (0, 1));
            all.push((e.header, e.body.to_vec()));
        }
        let kinds: Vec<u8> = all[from..].iter().map(|(h, _)| h.kind).collect();
        assert_eq!(kinds[..2], [kind::QUERY, kind::TABLE_MAP]);
        assert_eq!(
            kinds.iter().position(|k| *k == kind::XID),
            Some(kinds.len() - 1)
        );
    }
    all
}

fn definition(r: &mut SplitMix64) -> String {
    let table = ["p", "q", "u", "n"][r.below(4) as usize];
    match r.below(7) {
        0 => format!("ALTER TABLE {table} ADD COLUMN more{} INT", r.below(4)),
        1 => format!("ALTER TABLE {table} DROP COLUMN more{}", r.below(4)),
        2 => format!("TRUNCATE TABLE {table}"),
        3 => format!(
            "CREATE TABLE IF NOT EXISTS extra{} (a INT PRIMARY KEY)",
            r.below(2)
        ),
        4 => format!(
            "CREATE TABLE IF NOT EXISTS extra{} (a INT PRIMARY KEY) IGNORE SELECT id AS a, s FROM p",
            r.below(2)
        ),
        5 => format!(
            "CREATE TABLE extra{} (UNIQUE (a)) SELECT k, n, a FROM q",
            r.below(2)
        ),
        _ => format!("DROP TABLE IF EXISTS extra{}", r.below(2)),
    }
}

/// A change of some rows.
pub fn change(r: &mut SplitMix64, rich: bool) -> String {
    let (n, m) = (r.below(40), r.below(40));
    let word = r.pick(&["a", "B", "b", "\u{e4}", "c", "d"]).to_string();
    let null = |r: &mut SplitMix64, v: String| if r.one_in(5) { "NULL".into() } else { v };
    let a = null(r, m.to_string());
    match r.below(if rich { 22 } else { 7 }) {
        0 => format!("INSERT INTO p VALUES ({n}, {m}, '{word}')"),
        1 => format!("REPLACE INTO p (id, a, s) VALUES ({n}, {m}, '{word}'), ({m}, {n}, 'x')"),
        2 => format!("UPDATE p SET a = a + 1 WHERE id = {n}"),
        3 => format!("UPDATE p SET id = id + 1 WHERE id = {n}"),
        4 => format!("DELETE FROM p WHERE id BETWEEN {n} AND {n} + 2"),
        5 => format!("REPLACE INTO q (k, n, a) VALUES ('{word}', {n}, {m})"),
        6 => format!("UPDATE q SET a = a + 1 WHERE k = '{word}' AND n = {n}"),
        7 => format!("INSERT INTO u (id, a, b, c) VALUES ({n}, {a}, '{word}{m}', 1)"),
        8 => format!("UPDATE u SET a = {a} WHERE id = {n}"),
        9 => format!("UPDATE u SET b = '{word}{m}' WHERE id = {n}"),
        10 => format!("DELETE FROM u WHERE id = {n}"),
        11 => format!("REPLACE INTO u (id, a, b) VALUES ({n}, {a}, '{word}')"),
        12 => format!("INSERT INTO w VALUES ({a}, {n}, '{word}')"),
        13 => format!("UPDATE w SET a = {a} WHERE a = {n}"),
        14 => format!("DELETE FROM w WHERE a = {n} OR a IS NULL"),
        15 => format!("INSERT INTO n VALUES ({n}, '{word}'), ({n}, '{word}')"),
        16 => format!("UPDATE n SET s = '{word}' WHERE a = {n} LIMIT 1"),
        17 => format!("DELETE FROM n WHERE a = {n} LIMIT 1"),
        18 => format!("INSERT INTO parent VALUES ({n}, '{word}')"),
        19 => format!("INSERT INTO child VALUES ({n}, {a}, '{word}')"),
        20 => format!("UPDATE parent SET id = {m} WHERE id = {n}"),
        _ => format!("DELETE FROM parent WHERE id = {n}"),
    }
}
