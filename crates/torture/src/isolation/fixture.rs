//! What the clients of one window share: the tables, fresh keys, unique values, the clock.
//!
//! Keys are used for a while and then left behind, in step with the number of writes, so that there are always some
//! that nobody has written yet, some that everybody fights for and some that are at rest.

use ::isolation::{Final, GROUPS, Key, Value};
use harness::server::Setup;
use harness::step::Outcome;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value as Cell};

/// The database of the workload.
pub const DATABASE: &str = "isolation";

/// How many keys of each table are in use at a time.
pub const WIDTH: u32 = 8;

/// After how many writes the next key comes into use and the oldest rests.
const LIFE: u32 = 20;

/// The longest that one statement may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The shared state of one window.
#[derive(Debug)]
pub struct Fixture {
    epoch: Instant,
    next_append: AtomicU32,
    next_write: AtomicU32,
    /// Registers that somebody has inserted, or is about to.
    created: Vec<AtomicBool>,
    /// Transactions committed so far.
    pub committed: AtomicU64,
    /// The clients shall end.
    pub stop: AtomicBool,
    /// The connection id of each client, 0 while it has none.
    pub connections: Vec<AtomicU64>,
}

impl Fixture {
    /// For a window of about `transactions`.
    pub fn new(transactions: u64, clients: u32) -> Fixture {
        // Far more than one register write a transaction there are not.
        let registers = transactions as usize * 4 / LIFE as usize + 1000;
        Fixture {
            epoch: Instant::now(),
            next_append: AtomicU32::new(1),
            next_write: AtomicU32::new(1),
            created: (0..registers).map(|_| AtomicBool::new(false)).collect(),
            committed: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            connections: (0..clients).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Nanoseconds since the window began.
    pub fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// The first list in use.
    pub fn list_head(&self) -> Key {
        self.next_append.load(Ordering::Relaxed) / LIFE
    }

    /// The first register in use.
    pub fn register_head(&self) -> Key {
        let head = self.next_write.load(Ordering::Relaxed) / LIFE;
        head.min(self.created.len() as Key - 4 * WIDTH)
    }

    /// A value that nobody has appended.
    pub fn append(&self) -> Value {
        self.next_append.fetch_add(1, Ordering::Relaxed)
    }

    /// A value that nobody has written.
    pub fn write(&self) -> Value {
        self.next_write.fetch_add(1, Ordering::Relaxed)
    }

    /// True once: who asks first inserts the register. A failed insert gives the right back.
    pub fn may_create(&self, key: Key) -> bool {
        !self.created[key as usize].swap(true, Ordering::Relaxed)
    }

    /// The insert has failed for certain.
    pub fn not_created(&self, key: Key) {
        self.created[key as usize].store(false, Ordering::Relaxed);
    }
}

/// Opens a connection in the workload's database.
pub fn open(setup: &Setup) -> Result<Conn, ClientError> {
    let mut conn = Conn::connect_unix(&setup.socket, "root", "", None)?;
    conn.set_read_timeout(Some(PATIENCE))?;
    Ok(conn)
}

/// The group that a value belongs to.
pub fn group(value: Value) -> Value {
    value % GROUPS
}

/// Makes the tables anew.
pub fn tables(setup: &Setup) -> Outcome<()> {
    let mut conn = open(setup).map_err(|e| e.to_string())?;
    for sql in [
        "CREATE DATABASE IF NOT EXISTS isolation",
        "DROP TABLE IF EXISTS isolation.lists, isolation.registers, isolation.ones",
        // What statements of several tables join; one row, which nobody changes.
        "CREATE TABLE isolation.ones (one INT PRIMARY KEY)",
        "INSERT INTO isolation.ones VALUES (1)",
        "CREATE TABLE isolation.lists (k INT PRIMARY KEY, v VARCHAR(4000) NOT NULL)",
        "CREATE TABLE isolation.registers \
         (k INT PRIMARY KEY, v INT NOT NULL, g INT NOT NULL, n INT NOT NULL, KEY g (g))",
    ] {
        conn.query(sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    Ok(())
}

/// A cell of a text row as a number.
pub fn number(cell: &Cell) -> Outcome<u32> {
    match cell {
        Cell::Bytes(bytes) => std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| format!("{cell:?} is no number")),
        other => Err(format!("{other:?} is no number")),
    }
}

/// A cell of a text row as a list.
pub fn list(cell: &Cell) -> Outcome<Vec<Value>> {
    match cell {
        Cell::Bytes(bytes) => String::from_utf8_lossy(bytes)
            .split(',')
            .map(|n| n.parse().map_err(|_| format!("{cell:?} is no list")))
            .collect(),
        other => Err(format!("{other:?} is no list")),
    }
}

/// Reads the final state. The rows are locked, so that commits still under way are waited for.
pub fn last(setup: &Setup) -> Outcome<Final> {
    let mut conn = open(setup).map_err(|e| e.to_string())?;
    let mut rows = |sql: &str| {
        conn.query(sql)
            .map(|mut results| results.pop().unwrap_or_default().rows)
            .map_err(|e| format!("{sql}: {e}"))
    };
    rows("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
    rows("BEGIN")?;
    let lists = rows("SELECT k, v FROM isolation.lists ORDER BY k FOR UPDATE")?;
    let registers = rows("SELECT k, v, n FROM isolation.registers ORDER BY k FOR UPDATE")?;
    let by_index = rows("SELECT COUNT(*) FROM isolation.registers FORCE INDEX (g) WHERE g >= 0")?;
    rows("COMMIT")?;
    let count = number(&by_index[0][0])?;
    if count as usize != registers.len() {
        return Err(format!(
            "the secondary index counts {count} registers, the table {}",
            registers.len()
        ));
    }
    Ok(Final {
        lists: lists
            .iter()
            .map(|row| Ok((number(&row[0])?, list(&row[1])?)))
            .collect::<Outcome<_>>()?,
        registers: registers
            .iter()
            .map(|row| Ok((number(&row[0])?, number(&row[1])?, number(&row[2])?)))
            .collect::<Outcome<_>>()?,
    })
}
