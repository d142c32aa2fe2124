//! Clients of the source: transactions, definitions, accounts and what is not to be in the binary log, from a seed.
//!
//! Refusals are a part of it (rows that are there already, tables that are gone, deadlocks) and are counted. What says that the server is
//! at fault ends the run.

use super::owners;
use super::words::{self, Dialect};
use harness::rng::Rng;
use harness::server::Setup;
use harness::step::Outcome;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::client::ClientError;
use wire::client::blocking::Conn;

/// Errors that no statement of a client explains: of the server's own, of the engine, of the binary log.
const FAULTS: [u16; 8] = [0, 1030, 1105, 1534, 1598, 1815, 1835, 3170];
/// After these nothing of the transaction is there any more.
const ROLLED_BACK: [u16; 2] = [1205, 1213];

/// What clients met.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Statements that were done.
    pub done: u64,
    /// Refusals, by their numbers.
    pub refused: BTreeMap<u16, u64>,
    /// Connections that were lost.
    pub lost: u64,
}

impl Tally {
    /// Adds those of another.
    pub fn add(&mut self, other: &Tally) {
        self.done += other.done;
        self.lost += other.lost;
        for (code, n) in &other.refused {
            *self.refused.entry(*code).or_default() += n;
        }
    }
}

/// A connection to a server as a client has it.
pub fn connect(setup: &Setup) -> Result<Conn, ClientError> {
    connect_as(setup, "root", "")
}

fn connect_as(setup: &Setup, user: &str, password: &str) -> Result<Conn, ClientError> {
    let mut conn = Conn::connect_unix(&setup.socket, user, password, None)?;
    conn.set_read_timeout(Some(Duration::from_secs(120)))?;
    conn.query("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")?;
    Ok(conn)
}

/// A client.
pub struct Client {
    /// Its number.
    pub id: u64,
    /// Where its statements come from.
    pub rng: Rng,
    /// What servers understand.
    pub dialect: Dialect,
    /// Changes of accounts are among its statements.
    pub accounts: bool,
    /// It is one of the accounts of [`owners`], and does what they do.
    pub owner: bool,
}

impl Client {
    /// Writes to the source until it is to stop.
    pub fn run(&mut self, setup: &Setup, stop: &AtomicBool) -> Outcome<Tally> {
        let mut tally = Tally::default();
        while !stop.load(Ordering::Relaxed) {
            let opened = match self.owner {
                true => connect_as(setup, &owners::account(self.id), owners::PASSWORD),
                false => connect(setup),
            };
            let Ok(mut conn) = opened else {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            while !stop.load(Ordering::Relaxed) {
                if !self.unit(&mut conn, &mut tally)? {
                    tally.lost += 1;
                    break;
                }
            }
        }
        Ok(tally)
    }

    /// A transaction or the like; false: the connection is lost.
    fn unit(&mut self, conn: &mut Conn, tally: &mut Tally) -> Outcome<bool> {
        let mut statements = Vec::new();
        self.put_unit(&mut statements);
        let mut passing = false;
        for sql in statements {
            // What follows in a transaction that is gone would be one of its own.
            if passing && !ends_transaction(&sql) {
                continue;
            }
            passing = false;
            match conn.query(&sql) {
                Ok(_) => tally.done += 1,
                Err(ClientError::Server(e)) => {
                    if FAULTS.contains(&e.code) {
                        return Err(format!("{sql:.2000}: {} {}", e.code, e.message));
                    }
                    *tally.refused.entry(e.code).or_default() += 1;
                    passing = ROLLED_BACK.contains(&e.code);
                }
                Err(ClientError::Io(_)) => return Ok(false),
                Err(e) => return Err(format!("{sql:.2000}: {e}")),
            }
        }
        Ok(true)
    }

    fn put_unit(&mut self, out: &mut Vec<String>) {
        let (rng, d) = (&mut self.rng, self.dialect);
        if self.owner {
            return owners::unit(rng, d, out);
        }
        match rng.below(40) {
            0..=15 => out.push(words::change(rng, d)),
            16..=24 => transaction(rng, d, out),
            25..=31 => out.push(words::definition(rng, d)),
            32 if self.accounts => out.push(words::account(rng)),
            33 => aside(rng, out),
            34 if !d.statements && !d.mariadb => self.temporary(out),
            35 if !d.mariadb => self.distributed(out),
            36 => settings(rng, d, out),
            37 if rng.one_in(4) => out.push("FLUSH BINARY LOGS".to_owned()),
            38 if rng.one_in(4) => large(rng, out),
            _ => out.push(words::change(rng, d)),
        }
    }

    fn temporary(&mut self, out: &mut Vec<String>) {
        let (rng, name) = (&mut self.rng, format!("r.own{}", self.id));
        out.push(format!(
            "CREATE TEMPORARY TABLE {name} (a INT, b VARCHAR(50))"
        ));
        out.push("BEGIN".to_owned());
        out.push(format!(
            "INSERT INTO {name} VALUES ({}, 'own'), (2, NULL)",
            rng.below(100)
        ));
        out.push(format!(
            "INSERT INTO r.keyless (a, b) SELECT a, b FROM {name}"
        ));
        out.push(format!("UPDATE {name} SET a = a + 1"));
        out.push(words::change(rng, self.dialect));
        out.push(if rng.one_in(4) { "ROLLBACK" } else { "COMMIT" }.to_owned());
        out.push(format!("DROP TEMPORARY TABLE {name}"));
    }

    fn distributed(&mut self, out: &mut Vec<String>) {
        let rng = &mut self.rng;
        let name = format!("'x{}-{}'", self.id, rng.below(1 << 40));
        out.push(format!("XA START {name}"));
        for _ in 0..1 + rng.below(3) {
            out.push(words::change(rng, self.dialect));
        }
        out.push(format!("XA END {name}"));
        if rng.one_in(5) {
            out.push(format!("XA COMMIT {name} ONE PHASE"));
        } else {
            out.push(format!("XA PREPARE {name}"));
            let end = if rng.one_in(3) { "ROLLBACK" } else { "COMMIT" };
            out.push(format!("XA {end} {name}"));
        }
        // Of a branch that was refused somewhere.
        out.push(format!("XA ROLLBACK {name}"));
    }
}

fn ends_transaction(sql: &str) -> bool {
    [
        "COMMIT",
        "ROLLBACK",
        "XA ROLLBACK",
        "XA END",
        "DROP TEMPORARY",
        "SET ",
    ]
    .iter()
    .any(|s| sql.starts_with(s) && !sql.starts_with("ROLLBACK TO"))
}

fn transaction(rng: &mut Rng, d: Dialect, out: &mut Vec<String>) {
    out.push("BEGIN".to_owned());
    for n in 0..1 + rng.below(6) {
        match rng.below(8) {
            0 => out.push(format!("SAVEPOINT s{}", rng.below(3))),
            1 if n > 0 => out.push(format!("ROLLBACK TO s{}", rng.below(3))),
            _ => out.push(words::change(rng, d)),
        }
    }
    out.push(if rng.one_in(5) { "ROLLBACK" } else { "COMMIT" }.to_owned());
}

/// What is not in the binary log, around what is.
fn aside(rng: &mut Rng, out: &mut Vec<String>) {
    out.push("SET sql_log_bin = 0".to_owned());
    out.push(format!("INSERT INTO aside.t (a) VALUES ({})", rng.below(9)));
    out.push(format!("DELETE FROM aside.t WHERE a = {}", rng.below(9)));
    if rng.one_in(3) {
        let n = rng.below(3);
        out.push(format!("CREATE TABLE IF NOT EXISTS aside.u{n} (a INT)"));
        out.push(format!("DROP TABLE IF EXISTS aside.u{}", rng.below(3)));
    }
    out.push("SET sql_log_bin = 1".to_owned());
}

/// A statement under other settings.
fn settings(rng: &mut Rng, d: Dialect, out: &mut Vec<String>) {
    let (set, back) = match rng.below(6) {
        0 => ("SET time_zone = '+05:30'", "SET time_zone = 'SYSTEM'"),
        1 => (
            "SET foreign_key_checks = 0, unique_checks = 0",
            "SET foreign_key_checks = 1, unique_checks = 1",
        ),
        2 => ("SET timestamp = 1234567890.125", "SET timestamp = DEFAULT"),
        3 => (
            "SET auto_increment_increment = 7, auto_increment_offset = 3",
            "SET auto_increment_increment = 1, auto_increment_offset = 1",
        ),
        4 => (
            "SET NAMES latin1",
            "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
        ),
        _ => ("SET sql_mode = ''", "SET sql_mode = DEFAULT"),
    };
    out.push(set.to_owned());
    // Without checks children may be made whose parents are not there: those are left out, since what a cascade does of them is not told.
    match set.contains("foreign") {
        true => out.push(format!(
            "INSERT IGNORE INTO r.made (id, a) VALUES ({}, 1)",
            rng.below(words::KEYS)
        )),
        false => out.push(words::change(rng, d)),
    }
    out.push("INSERT INTO r.keyless (a, b, c) VALUES (3, 'now', NOW(3))".to_owned());
    out.push(back.to_owned());
}

/// More than the log's readers keep in memory.
fn large(rng: &mut Rng, out: &mut Vec<String>) {
    out.push("BEGIN".to_owned());
    for n in 0..2 + rng.below(4) {
        out.push(format!(
            "INSERT INTO r.keyless (a, b, d) VALUES (99, 'large', REPEAT(0x{n:02x}, 60000))"
        ));
        out.push("INSERT INTO r.keyless SELECT * FROM r.keyless WHERE a = 99".to_owned());
    }
    out.push("DELETE FROM r.keyless WHERE a = 99".to_owned());
    out.push("COMMIT".to_owned());
}
