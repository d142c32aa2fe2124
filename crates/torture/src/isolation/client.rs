//! One client: small random transactions over lists and registers, written down with what came back.

use super::fixture::{self, DATABASE, Fixture, WIDTH};
use ::isolation::{End, Key, Level, Op, Txn, Value};
use harness::rng::Rng;
use harness::server::Setup;
use harness::step::Outcome;
use std::sync::atomic::Ordering;
use std::time::Duration;
use wire::client::blocking::Conn;
use wire::client::{ClientError, ResultSet};

/// Errors by which the server rolled the transaction back: deadlock, changed since the snapshot.
const ROLLED_BACK: &[u16] = &[1213, 1020];

/// Errors that undo the statement alone: lock wait timeout, KILL QUERY, a duplicate key.
const STATEMENT_UNDONE: &[u16] = &[1205, 1317, 1062];

/// What KILL says to the victim before the connection ends: ER_CONNECTION_KILLED, ER_SERVER_SHUTDOWN, and error
/// 1927 of MariaDB.
const CONNECTION_ENDS: &[u16] = &[1927, 3169, 1053];

/// Why a statement gave nothing.
enum Failure {
    /// It is as if it had not been sent; the transaction goes on.
    Statement,
    /// The transaction is rolled back.
    RolledBack,
    /// The connection is gone.
    Lost,
    /// Nothing that a server may say.
    Wrong(String),
}

fn failure(error: ClientError, sql: &str) -> Failure {
    match error {
        ClientError::Server(e) if ROLLED_BACK.contains(&e.code) => Failure::RolledBack,
        ClientError::Server(e) if STATEMENT_UNDONE.contains(&e.code) => Failure::Statement,
        ClientError::Server(e) if CONNECTION_ENDS.contains(&e.code) => Failure::Lost,
        ClientError::Io(e)
            if !matches!(
                e.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
            ) =>
        {
            Failure::Lost
        }
        other => Failure::Wrong(format!("{sql}: {other}")),
    }
}

/// How a client fared.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    /// Commits acknowledged.
    pub committed: u64,
    /// Transactions rolled back, by the server or on purpose.
    pub aborted: u64,
    /// Commits without an answer.
    pub unknown: u64,
    /// Connections that ended.
    pub lost: u64,
    /// Statements that were undone while their transaction went on.
    pub undone: u64,
}

impl Tally {
    /// Adds another one.
    pub fn add(&mut self, other: Tally) {
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.unknown += other.unknown;
        self.lost += other.lost;
        self.undone += other.undone;
    }
}

/// A client of one window.
pub struct Client<'a> {
    /// Its number.
    pub id: u32,
    /// The server.
    pub setup: &'a Setup,
    /// What is shared with the others.
    pub fixture: &'a Fixture,
    /// The level of all its transactions.
    pub level: Level,
    /// Its chance.
    pub rng: Rng,
    /// What it did.
    pub txns: Vec<Txn>,
    /// In numbers.
    pub tally: Tally,
}

/// A transaction under way.
struct Current<'a> {
    conn: &'a mut Conn,
    /// Sent in front of the first statement.
    prefix: &'static str,
    ops: Vec<Op>,
    /// Registers that it has inserted.
    created: Vec<Key>,
}

impl Current<'_> {
    fn run(&mut self, sql: &str) -> Result<ResultSet, Failure> {
        let prefix = std::mem::take(&mut self.prefix);
        let result = if prefix.is_empty() {
            self.conn.query(sql)
        } else {
            self.conn.query(&format!("{prefix}{sql}"))
        };
        match result {
            Ok(mut results) => Ok(results.pop().unwrap_or_default()),
            Err(e) => match failure(e, sql) {
                // Whether the BEGIN in front was undone as well is not known.
                Failure::Statement if !prefix.is_empty() => Err(Failure::RolledBack),
                other => Err(other),
            },
        }
    }
}

/// The name of a level.
pub fn level_name(level: Level) -> &'static str {
    match level {
        Level::ReadUncommitted => "READ UNCOMMITTED",
        Level::ReadCommitted => "READ COMMITTED",
        Level::RepeatableRead => "REPEATABLE READ",
        Level::Snapshot => "snapshot isolation",
        Level::Serializable => "SERIALIZABLE",
    }
}

/// Statements that give a session the level.
pub fn set_level(level: Level) -> String {
    let (named, snapshot) = match level {
        Level::Snapshot => ("REPEATABLE READ", 1),
        other => (level_name(other), 0),
    };
    format!(
        "SET SESSION TRANSACTION ISOLATION LEVEL {named}; \
         SET SESSION innodb_snapshot_isolation = {snapshot}"
    )
}

impl Client<'_> {
    /// Works until it is told to stop; an error is what no server may do.
    pub fn work(&mut self) -> Outcome<()> {
        while !self.stopped() {
            let Some(mut conn) = self.connect()? else {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            while !self.stopped() {
                if !self.transaction(&mut conn)? {
                    self.tally.lost += 1;
                    break;
                }
            }
            self.fixture.connections[self.id as usize].store(0, Ordering::Relaxed);
        }
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.fixture.stop.load(Ordering::Relaxed)
    }

    fn connect(&mut self) -> Outcome<Option<Conn>> {
        let Ok(mut conn) = fixture::open(self.setup) else {
            return Ok(None);
        };
        let setting = format!(
            "USE {DATABASE}; {}; SELECT CONNECTION_ID()",
            set_level(self.level)
        );
        match conn.query(&setting) {
            Ok(results) => {
                let id = results.last().map(|r| &r.rows[0][0]);
                let id = fixture::number(id.ok_or("no connection id")?)?;
                self.fixture.connections[self.id as usize].store(u64::from(id), Ordering::Relaxed);
                Ok(Some(conn))
            }
            Err(e) => match failure(e, &setting) {
                Failure::Wrong(why) => Err(why),
                _ => Ok(None),
            },
        }
    }

    /// One transaction; false where the connection is gone.
    fn transaction(&mut self, conn: &mut Conn) -> Outcome<bool> {
        let began = self.fixture.now();
        let alone = self.rng.one_in(8);
        let mut current = Current {
            conn,
            prefix: if alone { "" } else { "BEGIN; " },
            ops: Vec::new(),
            created: Vec::new(),
        };
        let length = if alone { 1 } else { 2 + self.rng.below(4) };
        let mut failed = None;
        for _ in 0..length {
            match self.step(&mut current, alone) {
                Ok(()) => {}
                Err(Failure::Statement) => {
                    self.tally.undone += 1;
                    if alone || self.rng.one_in(2) {
                        failed = Some(Failure::RolledBack);
                        break;
                    }
                }
                Err(other) => {
                    failed = Some(other);
                    break;
                }
            }
        }
        let end = match failed {
            Some(Failure::Wrong(why)) => return Err(why),
            // A single statement was its own commit.
            Some(Failure::Lost) if alone => (End::Unknown, false),
            Some(Failure::Lost) => (End::Aborted, false),
            Some(_) => (End::Aborted, self.roll_back(current.conn)?),
            None if alone => (End::Committed, true),
            None if self.rng.one_in(20) => (End::Aborted, self.roll_back(current.conn)?),
            None => self.commit(current.conn)?,
        };
        let Current { ops, created, .. } = current;
        self.write_down(began, end.0, ops, &created);
        Ok(end.1)
    }

    fn roll_back(&mut self, conn: &mut Conn) -> Outcome<bool> {
        // A KILL QUERY may hit the ROLLBACK itself.
        for _ in 0..10 {
            match conn.query("ROLLBACK") {
                Ok(_) => return Ok(true),
                Err(e) => match failure(e, "ROLLBACK") {
                    Failure::Lost => return Ok(false),
                    Failure::Wrong(why) => return Err(why),
                    _ => {}
                },
            }
        }
        Err("ROLLBACK was refused ten times".to_owned())
    }

    fn commit(&mut self, conn: &mut Conn) -> Outcome<(End, bool)> {
        match conn.query("COMMIT") {
            Ok(_) => Ok((End::Committed, true)),
            Err(e) => match failure(e, "COMMIT") {
                Failure::Lost => Ok((End::Unknown, false)),
                Failure::Statement => Ok((End::Unknown, self.roll_back(conn)?)),
                Failure::RolledBack => Ok((End::Aborted, self.roll_back(conn)?)),
                Failure::Wrong(why) => Err(why),
            },
        }
    }

    fn write_down(&mut self, began: u64, end: End, ops: Vec<Op>, created: &[Key]) {
        match end {
            End::Committed => {
                self.tally.committed += 1;
                self.fixture.committed.fetch_add(1, Ordering::Relaxed);
            }
            End::Aborted => {
                self.tally.aborted += 1;
                for key in created {
                    self.fixture.not_created(*key);
                }
            }
            End::Unknown => self.tally.unknown += 1,
        }
        self.txns.push(Txn {
            client: self.id,
            ops,
            end,
            began,
            ended: self.fixture.now(),
        });
    }

    fn step(&mut self, current: &mut Current<'_>, alone: bool) -> Result<(), Failure> {
        match self.rng.below(100) {
            0..25 => self.append(current, alone),
            25..45 => self.read_lists(current, 1),
            45..50 => self.read_lists(current, 3),
            50..62 => self.read_registers(current, 1),
            62..68 => self.read_registers(current, 4),
            68..84 => {
                let key = self.register();
                self.write_register(current, key, alone)
            }
            84..92 => {
                // Read, compute, write back: what loses updates.
                let key = self.register();
                // A transaction of one statement cannot do both.
                if alone {
                    self.write_register(current, key, alone)
                } else if self.rng.one_in(2) {
                    self.touch_and_write(current, key)
                } else {
                    self.read_range(current, key, key)?;
                    self.write_register(current, key, alone)
                }
            }
            92..99 => self.read_index(current),
            _ => self.delete(current, alone),
        }
    }

    fn list(&mut self) -> Key {
        self.fixture.list_head() + self.rng.below(u64::from(WIDTH)) as Key
    }

    fn register(&mut self) -> Key {
        self.fixture.register_head() + self.rng.below(u64::from(WIDTH)) as Key
    }

    fn append(&mut self, current: &mut Current<'_>, alone: bool) -> Result<(), Failure> {
        let key = self.list();
        let value = self.fixture.append();
        let form = self.rng.below(12);
        let update = form < 6;
        let longer = format!("v = CONCAT(v, ',', '{value}')");
        let sql = match form {
            0 | 1 => format!("UPDATE lists SET {longer} WHERE k = {key}"),
            2 => format!("UPDATE lists JOIN ones ON one = 1 SET {longer} WHERE k = {key}"),
            3 => {
                format!("UPDATE ones LEFT JOIN lists ON k = {key} * one SET {longer} WHERE one = 1")
            }
            4 => format!("UPDATE lists, ones SET {longer} WHERE k = {key} AND one = 1"),
            5 => format!("UPDATE lists JOIN (SELECT {key} AS d) AS made ON k = d SET {longer}"),
            _ => format!(
                "INSERT INTO lists VALUES ({key}, '{value}') ON DUPLICATE KEY UPDATE {longer}"
            ),
        };
        let op = Op::Append { key, value };
        match current.run(&sql) {
            Ok(result) if result.affected_rows > 0 => current.ops.push(op),
            Ok(_) if update => {}
            Ok(_) => return Err(Failure::Wrong(format!("{sql}: no row affected"))),
            Err(Failure::Lost) if alone => {
                current.ops.push(op);
                return Err(Failure::Lost);
            }
            Err(other) => return Err(other),
        }
        Ok(())
    }

    /// Mostly nothing; sometimes a clause that locks what is read.
    fn locking(&mut self) -> &'static str {
        match self.rng.below(16) {
            0 => " FOR UPDATE",
            1 => " LOCK IN SHARE MODE",
            _ => "",
        }
    }

    /// A locking read looks at the newest state, so at the levels below, what it does not find may come to be there.
    fn tells_absence(&self, lock: &str) -> bool {
        lock.is_empty() || self.level == Level::Serializable
    }

    fn read_lists(&mut self, current: &mut Current<'_>, count: u32) -> Result<(), Failure> {
        let low = self.list();
        let high = low + count - 1;
        let lock = self.locking();
        let sql = format!("SELECT k, v FROM lists WHERE {}{lock}", keys(low, high));
        let rows = current.run(&sql)?.rows;
        let mut found = Vec::new();
        for row in &rows {
            let key = fixture::number(&row[0]).map_err(Failure::Wrong)?;
            let values = fixture::list(&row[1]).map_err(Failure::Wrong)?;
            found.push(key);
            current.ops.push(Op::List { key, values });
        }
        if self.tells_absence(lock) {
            let values = Vec::new;
            current
                .ops
                .extend(
                    (low..=high)
                        .filter(|key| !found.contains(key))
                        .map(|key| Op::List {
                            key,
                            values: values(),
                        }),
                );
        }
        Ok(())
    }

    fn read_registers(&mut self, current: &mut Current<'_>, count: u32) -> Result<(), Failure> {
        let low = self.register();
        self.read_range(current, low, low + count - 1)
    }

    fn read_range(
        &mut self,
        current: &mut Current<'_>,
        low: Key,
        high: Key,
    ) -> Result<(), Failure> {
        let lock = self.locking();
        let sql = format!(
            "SELECT k, v, n FROM registers WHERE {}{lock}",
            keys(low, high)
        );
        let found = registers(current, &sql)?;
        if self.tells_absence(lock) {
            current.ops.extend(
                (low..=high)
                    .filter(|key| !found.contains(key))
                    .map(|key| Op::Read { key, seen: None }),
            );
        }
        Ok(())
    }

    fn write_register(
        &mut self,
        current: &mut Current<'_>,
        key: Key,
        alone: bool,
    ) -> Result<(), Failure> {
        let value = self.fixture.write();
        let group = fixture::group(value);
        let insert = self.fixture.may_create(key);
        let new = format!("v = {value}, g = {group}, n = LAST_INSERT_ID(n + 1)");
        let sql = match self.rng.below(6) {
            _ if insert => format!("INSERT INTO registers VALUES ({key}, {value}, {group}, 1)"),
            0 => format!("UPDATE registers JOIN ones ON one = 1 SET {new} WHERE k = {key}"),
            1 => format!("UPDATE ones LEFT JOIN registers ON k = {key} SET {new} WHERE one = 1"),
            2 => format!("UPDATE registers, ones SET {new} WHERE k = {key} * one"),
            _ => format!("UPDATE registers SET {new} WHERE k = {key}"),
        };
        let op = |version| Op::Write {
            key,
            value,
            version,
        };
        match current.run(&sql) {
            Ok(result) if result.affected_rows == 1 => {
                if insert {
                    current.created.push(key);
                }
                let version = if insert {
                    1
                } else {
                    result.last_insert_id as u32
                };
                current.ops.push(op(Some(version)));
                Ok(())
            }
            // The row is not there yet, or no longer.
            Ok(_) => Ok(()),
            Err(Failure::Lost) if alone => {
                current.ops.push(op(None));
                Err(Failure::Lost)
            }
            Err(other) => {
                if insert {
                    self.fixture.not_created(key);
                }
                Err(other)
            }
        }
    }

    /// An UPDATE to the same values locks the row as one that changes it does, at every level: what is written next follows the version that it met.
    fn touch_and_write(&mut self, current: &mut Current<'_>, key: Key) -> Result<(), Failure> {
        let way = match self.rng.below(5) {
            0 => format!("k = {key}"),
            1 => format!("k IN ({key}, {key})"),
            2 => format!("k BETWEEN {key} AND {key}"),
            3 => format!("k = {key} ORDER BY g LIMIT 1"),
            _ => format!("k = {key} AND v >= 0"),
        };
        let touch = format!("UPDATE registers SET n = LAST_INSERT_ID(n) WHERE {way}");
        let touched = current.run(&touch)?;
        // One that was read and gone when its turn came is told as well.
        let met = match touched.info.starts_with("Rows matched: 1 ") {
            true => touched.last_insert_id as u32,
            false => 0,
        };
        let before = current.ops.len();
        if self.rng.one_in(2) {
            self.read_lists(current, 1)?;
        }
        self.write_register(current, key, false)?;
        let wrong = |what: String| {
            let why = format!("{touch} met version {met} of register {key}, and then {what}");
            Err(Failure::Wrong(why))
        };
        match current.ops.get(before..).unwrap_or_default().last() {
            _ if met == 0 => Ok(()),
            Some(Op::Write {
                version: Some(v), ..
            }) if *v == met + 1 => Ok(()),
            Some(Op::Write { version, .. }) => wrong(format!("{version:?} was written")),
            _ => wrong("it was gone".to_owned()),
        }
    }

    fn read_index(&mut self, current: &mut Current<'_>) -> Result<(), Failure> {
        let low = self.fixture.register_head();
        let high = low + WIDTH;
        // The group of a value written a moment ago, as often as not.
        let group: Value = self.rng.below(u64::from(::isolation::GROUPS)) as Value;
        let sql = format!(
            "SELECT k, v, n FROM registers FORCE INDEX (g) WHERE g = {group} \
             AND k BETWEEN {low} AND {high}"
        );
        let at = current.ops.len();
        let found = registers(current, &sql)?;
        current.ops.insert(
            at,
            Op::Index {
                group,
                low,
                high,
                found,
            },
        );
        Ok(())
    }

    fn delete(&mut self, current: &mut Current<'_>, alone: bool) -> Result<(), Failure> {
        let key = self.register();
        let op = Op::Delete { key };
        let sql = match self.rng.below(4) {
            0 => format!("DELETE registers FROM registers JOIN ones ON one = 1 WHERE k = {key}"),
            1 => format!("DELETE FROM registers USING ones LEFT JOIN registers ON k = {key} * one"),
            2 => format!("DELETE registers FROM registers, ones WHERE k = {key} AND one = 1"),
            _ => format!("DELETE FROM registers WHERE k = {key}"),
        };
        match current.run(&sql) {
            Ok(result) if result.affected_rows == 1 => current.ops.push(op),
            Ok(_) => {}
            Err(Failure::Lost) if alone => {
                current.ops.push(op);
                return Err(Failure::Lost);
            }
            Err(other) => return Err(other),
        }
        Ok(())
    }
}

fn keys(low: Key, high: Key) -> String {
    if low == high {
        format!("k = {low}")
    } else {
        format!("k BETWEEN {low} AND {high}")
    }
}

/// Runs a read of registers, notes the rows and returns the keys found.
fn registers(current: &mut Current<'_>, sql: &str) -> Result<Vec<Key>, Failure> {
    let rows = current.run(sql)?.rows;
    let mut found = Vec::new();
    for row in &rows {
        let cell = |n: usize| fixture::number(&row[n]).map_err(Failure::Wrong);
        let key = cell(0)?;
        found.push(key);
        current.ops.push(Op::Read {
            key,
            seen: Some((cell(1)?, cell(2)?)),
        });
    }
    Ok(found)
}
