//! What is in a directory that is going to be damaged, and what must be found in it afterwards.
//!
//! A row is a function of its table, its number and its version, so the book of what was acknowledged is a version a
//! row. The last transactions are counted: after damage to the end of the log the rows must be those of some number of
//! them, in all tables alike.

use harness::client::Conn;
use harness::rng::Rng;
use harness::step::Outcome;
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// The schema everything is in.
pub const DATABASE: &str = "d";

/// The tables: rows in many pages with a secondary index, columns in overflow pages, a character key, no key at all, and
/// one that is never changed again.
pub const TABLES: [&str; 5] = ["numbers", "texts", "names", "keyless", "still"];

/// Those of them whose files are compressed.
pub const COMPRESSED: [&str; 1] = ["names"];

const NUMBERS: usize = 0;
const TEXTS: usize = 1;
const NAMES: usize = 2;
const KEYLESS: usize = 3;
const STILL: usize = 4;

const DEFINITIONS: [&str; 5] = [
    "(id INT PRIMARY KEY, version INT, n INT, s VARCHAR(80), KEY by_n (n, s))",
    "(id INT PRIMARY KEY, version INT, b LONGTEXT)",
    "(name VARCHAR(40) PRIMARY KEY, id INT, version INT, UNIQUE KEY by_id (id)) ROW_FORMAT=COMPRESSED",
    "(id INT, version INT, s VARCHAR(200))",
    "(id INT PRIMARY KEY, version INT, s VARCHAR(100))",
];

/// Rows at the beginning.
const ROWS: [u32; 5] = [2500, 24, 400, 200, 100];

/// What is asked of a directory: the table, and the statement, whose rows are lines that begin with `row|`.
pub const QUESTIONS: [(usize, &str); 7] = [
    (
        NUMBERS,
        "SELECT CONCAT_WS('|', 'row', id, version, n, s) AS h FROM d.numbers ORDER BY id",
    ),
    (
        TEXTS,
        "SELECT CONCAT_WS('|', 'row', id, version, b) AS h FROM d.texts ORDER BY id",
    ),
    (
        NAMES,
        "SELECT CONCAT_WS('|', 'row', id, version, name) AS h FROM d.names ORDER BY id",
    ),
    (
        KEYLESS,
        "SELECT CONCAT_WS('|', 'row', id, version, s) AS h FROM d.keyless ORDER BY id",
    ),
    (
        STILL,
        "SELECT CONCAT_WS('|', 'row', id, version, s) AS h FROM d.still ORDER BY id",
    ),
    (
        NUMBERS,
        "SELECT CONCAT_WS('|', 'row', n, id) AS h FROM d.numbers FORCE INDEX (by_n) WHERE n > -1 ORDER BY n, id",
    ),
    (
        NAMES,
        "SELECT CONCAT_WS('|', 'row', id) AS h FROM d.names FORCE INDEX (by_id) WHERE id > -1 ORDER BY id",
    ),
];

/// Which row.
type Key = (usize, u32);

/// The version of each row.
#[derive(Debug, Clone, Default)]
pub struct State {
    rows: BTreeMap<Key, u32>,
}

/// A change of one row.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Insert(Key),
    Update(Key),
    Delete(Key),
}

fn chance((table, id): Key, version: u32) -> Rng {
    Rng::new(((table as u64) << 56) ^ (u64::from(id) << 24) ^ u64::from(version))
}

fn word(rng: &mut Rng, len: u64) -> String {
    let mut text = String::with_capacity(len as usize + 16);
    while (text.len() as u64) < len {
        text.push_str(&format!("{:016x}", rng.next_u64()));
    }
    text.truncate(len as usize);
    text
}

fn number(key: Key, version: u32) -> u64 {
    chance(key, version).below(1000)
}

/// The row's text; in `texts` mostly longer than a page.
fn text(key: Key, version: u32) -> String {
    let mut rng = chance(key, version ^ 0x5eed);
    let len = match key.0 {
        TEXTS if key.1.is_multiple_of(3) => 100 + rng.below(2000),
        TEXTS => 17_000 + rng.below(20_000),
        KEYLESS => rng.below(180),
        _ => rng.below(60),
    };
    word(&mut rng, len)
}

fn name(id: u32) -> String {
    format!("{}-{id}", word(&mut chance((NAMES, id), 0), 12))
}

/// The row as the questions show it.
fn shown(key: Key, version: u32) -> String {
    let (table, id) = key;
    match table {
        NUMBERS => format!(
            "row|{id}|{version}|{}|{}",
            number(key, version),
            text(key, version)
        ),
        NAMES => format!("row|{id}|{version}|{}", name(id)),
        _ => format!("row|{id}|{version}|{}", text(key, version)),
    }
}

/// The row's values in SQL, in the order of the definition.
fn values(key: Key, version: u32) -> String {
    let (table, id) = key;
    match table {
        NUMBERS => format!(
            "({id}, {version}, {}, '{}')",
            number(key, version),
            text(key, version)
        ),
        NAMES => format!("('{}', {id}, {version})", name(id)),
        _ => format!("({id}, {version}, '{}')", text(key, version)),
    }
}

impl State {
    fn sql(&self, deed: Deed) -> String {
        let (table, id) = match deed {
            Deed::Insert(k) | Deed::Update(k) | Deed::Delete(k) => k,
        };
        let (key, name) = ((table, id), TABLES[table]);
        let version = self.rows.get(&key).map_or(1, |v| v + 1);
        match deed {
            Deed::Insert(_) => format!("INSERT INTO d.{name} VALUES {}", values(key, version)),
            Deed::Delete(_) => format!("DELETE FROM d.{name} WHERE id = {id}"),
            Deed::Update(_) => match table {
                NUMBERS => format!(
                    "UPDATE d.{name} SET version = {version}, n = {}, s = '{}' WHERE id = {id}",
                    number(key, version),
                    text(key, version)
                ),
                NAMES => format!("UPDATE d.{name} SET version = {version} WHERE id = {id}"),
                TEXTS => format!(
                    "UPDATE d.{name} SET version = {version}, b = '{}' WHERE id = {id}",
                    text(key, version)
                ),
                _ => format!(
                    "UPDATE d.{name} SET version = {version}, s = '{}' WHERE id = {id}",
                    text(key, version)
                ),
            },
        }
    }

    fn done(&mut self, deed: Deed) {
        match deed {
            Deed::Insert(k) | Deed::Update(k) => *self.rows.entry(k).or_default() += 1,
            Deed::Delete(k) => drop(self.rows.remove(&k)),
        }
    }

    /// A row of `table` that is there.
    fn some(&self, table: usize, rng: &mut Rng) -> Key {
        let ids: Vec<Key> = self
            .rows
            .range((table, 0)..(table + 1, 0))
            .map(|(k, _)| *k)
            .collect();
        ids[rng.below(ids.len() as u64) as usize]
    }

    /// The lines that answer a question.
    pub fn lines(&self, question: usize) -> Vec<String> {
        let table = QUESTIONS[question].0;
        let rows = self.rows.range((table, 0)..(table + 1, 0));
        match question {
            5 => {
                let mut pairs: Vec<(u64, u32)> = rows.map(|(k, v)| (number(*k, *v), k.1)).collect();
                pairs.sort_unstable();
                pairs
                    .into_iter()
                    .map(|(n, id)| format!("row|{n}|{id}"))
                    .collect()
            }
            6 => rows.map(|(k, _)| format!("row|{}", k.1)).collect(),
            _ => rows.map(|(k, v)| shown(*k, *v)).collect(),
        }
    }
}

/// What a list of lines is compared by.
pub fn digest<'a>(lines: impl Iterator<Item = &'a str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut count = 0u64;
    for line in lines {
        line.hash(&mut hasher);
        count += 1;
    }
    count.hash(&mut hasher);
    hasher.finish()
}

/// The answers to all questions, after each number of the last transactions.
#[derive(Debug)]
pub struct Book {
    state: State,
    rng: Rng,
    /// A digest a question.
    pub after: Vec<[u64; QUESTIONS.len()]>,
}

fn run(conn: &mut dyn Conn, sql: &str) -> Outcome<()> {
    conn.run(sql)
        .map(drop)
        .map_err(|e| format!("{sql:.100}: {e}"))
}

impl Book {
    /// Makes the tables and their first rows.
    pub fn create(conn: &mut dyn Conn, seed: u64) -> Outcome<Book> {
        let mut book = Book {
            state: State::default(),
            rng: Rng::new(seed ^ 0xb00c),
            after: Vec::new(),
        };
        run(conn, &format!("CREATE DATABASE {DATABASE}"))?;
        for table in 0..TABLES.len() {
            let (name, definition) = (TABLES[table], DEFINITIONS[table]);
            run(
                conn,
                &format!("CREATE TABLE {DATABASE}.{name} {definition}"),
            )?;
            let ids: Vec<u32> = (1..=ROWS[table]).collect();
            for some in ids.chunks(250) {
                let rows: Vec<String> = some.iter().map(|id| values((table, *id), 1)).collect();
                let sql = format!("INSERT INTO {DATABASE}.{name} VALUES {}", rows.join(", "));
                run(conn, &sql)?;
                for id in some {
                    book.state.done(Deed::Insert((table, *id)));
                }
            }
        }
        Ok(book)
    }

    /// Many changes that nobody counts.
    pub fn churn(&mut self, conn: &mut dyn Conn, transactions: u32) -> Outcome<()> {
        for _ in 0..transactions {
            run(conn, "BEGIN")?;
            for table in [TEXTS, NUMBERS, NUMBERS, KEYLESS] {
                let key = self.state.some(table, &mut self.rng);
                self.change(conn, Deed::Update(key))?;
            }
            run(conn, "COMMIT")?;
        }
        Ok(())
    }

    fn change(&mut self, conn: &mut dyn Conn, deed: Deed) -> Outcome<()> {
        run(conn, &self.state.sql(deed))?;
        self.state.done(deed);
        Ok(())
    }

    fn note(&mut self) {
        let digests = std::array::from_fn(|q| {
            let lines = self.state.lines(q);
            digest(lines.iter().map(String::as_str))
        });
        self.after.push(digests);
    }

    /// The transactions that are counted: `large` with long texts, then `small` ones.
    pub fn history(&mut self, conn: &mut dyn Conn, large: u32, small: u32) -> Outcome<()> {
        self.after.clear();
        self.note();
        for n in 0..large + small {
            run(conn, "BEGIN")?;
            let fresh = |book: &Book, table| {
                let last = book.state.rows.range((table, 0)..(table + 1, 0)).last();
                (table, last.map_or(1, |(k, _)| k.1 + 1))
            };
            let mut tables = vec![NUMBERS];
            if n < large {
                tables.extend([TEXTS, NAMES, KEYLESS, NUMBERS]);
            } else if n % 3 == 0 {
                tables.push(NAMES);
            }
            for table in tables {
                let key = self.state.some(table, &mut self.rng);
                let deed = match self.rng.below(4) {
                    0 => Deed::Insert(fresh(self, table)),
                    1 if table != TEXTS => Deed::Delete(key),
                    _ => Deed::Update(key),
                };
                self.change(conn, deed)?;
            }
            run(conn, "COMMIT")?;
            self.note();
        }
        Ok(())
    }

    /// Changes in every table that are never committed.
    pub fn leave_open(&self, conn: &mut dyn Conn) -> Outcome<()> {
        run(conn, "BEGIN")?;
        let mut rng = self.rng.clone();
        for table in [NUMBERS, NAMES, TEXTS] {
            let key = self.state.some(table, &mut rng);
            run(conn, &self.state.sql(Deed::Update(key)))?;
        }
        let key = self.state.some(NUMBERS, &mut rng);
        run(conn, &self.state.sql(Deed::Delete(key)))
    }

    /// How many transactions are counted.
    pub fn transactions(&self) -> usize {
        self.after.len().saturating_sub(1)
    }

    /// Which of the last transactions these answers show; none where they are no such state.
    pub fn state_of(&self, question: usize, digest: u64) -> Vec<usize> {
        (0..self.after.len())
            .filter(|k| self.after[*k][question] == digest)
            .collect()
    }

    /// The first line that differs from what must be there after all transactions, for a report.
    pub fn difference(&self, question: usize, found: &[&str]) -> String {
        let wanted = self.state.lines(question);
        let differs = wanted
            .iter()
            .zip(found)
            .find(|(w, f)| w.as_str() != **f)
            .map(|(w, f)| format!("wanted {w:.60}, found {f:.60}"));
        format!(
            "{} rows wanted, {} found; {}",
            wanted.len(),
            found.len(),
            differs.unwrap_or_else(|| "the rest is the same".to_owned())
        )
    }
}
