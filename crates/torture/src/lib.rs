//! Tests from outside: servers are started, driven and maltreated as users, machines and attackers do it.
//!
//! Nothing here links the engine: what is said about durability, isolation or access is said about the program that a
//! user runs. Each module is a command of `cargo xtask`.

#![warn(clippy::disallowed_types)]

mod clients;
mod crash;
mod damage;
mod differential;
mod dumps;
mod e2e;
mod failover;
mod few_files;
mod full_disk;
mod hostile;
mod isolation;
mod ledger;
mod power_cuts;
mod privileges;
mod replicas;
mod slt;
mod suites;

use harness::step::{self, Outcome};
use harness::workspace;

/// A command of `cargo xtask`, with its flags.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// The SQL cases through the mariadb program, and a moment of each sysbench script.
    E2e(e2e::Options),
    /// sqllogictest files.
    Slt(slt::Options),
    /// Random statements beside MariaDB, and executed in two ways of our own.
    Differential(differential::Options),
    /// TLS with the programs mariadb and openssl.
    Tls,
    /// Tables of every column type, dumped and restored by mariadb-dump and mydumper, beside MariaDB.
    Dumps(dumps::Options),
    /// Drivers, ORMs, migration tools and schemas of applications, beside MariaDB.
    Clients(clients::Options),
    /// The tests that drivers, ORMs and frameworks keep for themselves, beside MariaDB.
    Suites(suites::Options),
    /// Anomaly scenarios and checked histories at every isolation level.
    Isolation(isolation::Options),
    /// The access checks: grants x statements x protocols, beside MariaDB; scenarios; random accounts.
    Privileges(privileges::Options),
    /// Careless and malicious clients, 10,000 idle connections.
    Hostile(hostile::Options),
    /// kill -9 under load; nothing acknowledged is lost.
    Crash(crash::Options),
    /// A source, a replica, and a replica of that: random changes, kill -9 of each, all the same in the end.
    Replicas(replicas::Options),
    /// kill -9 of the source under semi-sync, promotion, the old source's return.
    Failover(failover::Options),
    /// The server on a file system that forgets at a power cut what was not synced.
    PowerCuts(power_cuts::Options),
    /// Single bits flipped in every kind of file, the log cut at every byte of its end.
    Damage(damage::Options),
    /// A small file system that is filled to its last block (as root).
    FullDisk(full_disk::Options),
    /// `ulimit -n 64`, with more tables and clients than that.
    FewFiles(few_files::Options),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// What was found, as a sentence.
    pub fn run(&self) -> Outcome<()> {
        match self {
            Command::E2e(options) => e2e::command(options),
            Command::Slt(options) => slt::command(options),
            Command::Differential(options) => differential::command(options),
            Command::Tls => tls(),
            Command::Dumps(options) => dumps::command(options),
            Command::Clients(options) => clients::command(options),
            Command::Suites(options) => suites::command(options),
            Command::Isolation(options) => isolation::command(options),
            Command::Privileges(options) => privileges::command(options),
            Command::Hostile(options) => hostile::command(options),
            Command::Crash(options) => crash::command(options),
            Command::Replicas(options) => replicas::command(options),
            Command::Failover(options) => failover::command(options),
            Command::PowerCuts(options) => power_cuts::command(options),
            Command::Damage(options) => damage::command(options),
            Command::FullDisk(options) => full_disk::command(options),
            Command::FewFiles(options) => few_files::command(options),
        }
    }
}

/// The tests of TLS with other people's programs, which `cargo test` runs too.
fn tls() -> Outcome<()> {
    step::visibly(
        workspace::cargo()
            .args(["test", "--package", "tidemill-server"])
            .args(["--test", "program", "tls"])
            .env("TIDEMILL_ALL_TESTS", "1"),
    )
}

/// The share of `cargo xtask test`: all of it in a short form, with so many crashes.
///
/// # Errors
/// The first thing that was found.
pub fn share(rounds: u32, seed: u64) -> Outcome<()> {
    e2e::all()?;
    slt::all()?;
    differential::short()?;
    dumps::short()?;
    clients::short()?;
    suites::short()?;
    crash::short(rounds, seed)?;
    replicas::short(seed)?;
    failover::short(seed)?;
    few_files::short(seed)?;
    isolation::short(seed)?;
    hostile::short()?;
    privileges::short()?;
    damage::short(seed)?;
    full_disk::short(seed)?;
    power_cuts::short(seed)
}
