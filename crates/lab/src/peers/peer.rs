//! What a server of the lab is: whose, on which terms, and what it can be asked.

use super::slow_disk;
use harness::step::Outcome;
use harness::sysbench::Reach;
use std::fmt;
use std::path::Path;

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Ours.
    Tidemill,
    /// Ours, built without its counters.
    Uncounted,
    /// MariaDB with InnoDB.
    MariaDb,
    /// MariaDB with MyRocks.
    MyRocks,
    /// PostgreSQL.
    Postgres,
    /// A server without a database: the protocol, the sockets and the client are all there is.
    Canned,
}

impl Who {
    /// The name in reports and of directories.
    pub const fn name(self) -> &'static str {
        match self {
            Who::Tidemill => "tidemill",
            Who::Uncounted => "tidemill, built without counters",
            Who::MariaDb => "mariadb",
            Who::MyRocks => "myrocks",
            Who::Postgres => "postgres",
            Who::Canned => "canned",
        }
    }

    /// Whose files it works on.
    pub fn files_of(self) -> Who {
        match self {
            Who::Uncounted => Who::Tidemill,
            own => own,
        }
    }

    /// Where its tables lie in the directory it was given, apart from its log.
    pub fn tables_dir(self) -> &'static str {
        match self {
            Who::Tidemill | Who::Uncounted => "tidemill-data/data",
            Who::MariaDb => "mariadb-data/sbtest",
            Who::MyRocks => "mariadb-data/#rocksdb",
            Who::Postgres => "postgres-data/base",
            Who::Canned => "",
        }
    }

    /// What sysbench's driver wants to know of it.
    pub fn driver_flags(self) -> &'static [&'static str] {
        match self {
            Who::MyRocks => &["--mysql-storage-engine=rocksdb"],
            _ => &[],
        }
    }
}

/// What every side is given alike.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Memory for pages, MiB.
    pub pool_mib: u64,
    /// How much log there may be before a checkpoint must have advanced, MiB.
    pub log_mib: u64,
    /// 1: a commit is on the disk when it is acknowledged. 2: it is with the operating system, and on the disk soon.
    pub flush: u8,
    /// What the disk moves each way, MB a second; 0: what it can.
    pub disk_mb_s: u64,
}

impl Terms {
    /// Memory for pages and log of these sizes, commits that the operating system holds for a moment, and the disk as it is.
    pub const LAZY: Terms = Terms {
        pool_mib: 256,
        log_mib: 512,
        flush: 2,
        disk_mb_s: 0,
    };
}

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commit = match self.flush {
            1 => "each commit synced",
            _ => "commits synced soon after",
        };
        let Terms {
            pool_mib, log_mib, ..
        } = self;
        write!(
            f,
            "{pool_mib} MiB for pages, {log_mib} MiB of log, {commit}"
        )?;
        match self.disk_mb_s {
            0 => Ok(()),
            mb_s => write!(f, ", {}", slow_disk::described(mb_s)),
        }
    }
}

/// A server to be started.
#[derive(Debug)]
pub struct Order<'a> {
    /// Whose.
    pub who: Who,
    /// What all sides get.
    pub terms: Terms,
    /// What this side gets, under the names that the server itself has.
    pub options: &'a [&'a str],
    /// Where its data is, or is to be.
    pub dir: &'a Path,
    /// The cores it may use, as `taskset -c` takes them; empty for all.
    pub cores: &'a str,
}

/// A running server. It ends with its handle at the latest.
pub trait Peer {
    /// How sysbench finds it.
    fn reach(&self) -> Reach;

    /// Its port on 127.0.0.1, for clients that know no Unix sockets.
    fn port(&self) -> u16;

    /// The process that all of its processes descend from.
    fn pid(&self) -> u32;

    /// What it says of its version.
    fn version(&self) -> Outcome<String>;

    /// What it was told at its start, without the places of its files.
    fn settings(&self) -> Vec<String>;

    /// Runs statements, separated by semicolons, in a database; the first cell of the first answer.
    fn ask(&self, database: &str, sql: &str) -> Outcome<String>;

    /// Makes a database, without what it held before.
    fn make_database(&self, name: &str) -> Outcome<()>;

    /// Brings statistics and old rows in order, as each server's manual asks for after a load.
    fn finish_load(&self, database: &str, tables: &[String]) -> Outcome<()>;

    /// How often it has synced its log.
    fn log_syncs(&self) -> Option<u64>;

    /// Makes room for so many connections, where its memory is limited from outside.
    fn expect(&self, _clients: u32) -> Outcome<()> {
        Ok(())
    }

    /// Stops all of its processes where they stand, or lets them go on.
    fn pause(&self, pause: bool) -> Outcome<()>;

    /// Ends it as its manual says.
    fn stop(self: Box<Self>) -> Outcome<()>;
}
