//! A source and its replica: started with the same settings, each pinned to a core where that is asked for, and asked how far they are.

use harness::client::Conn;
use harness::process;
use harness::server::{Kind, Server, Setup};
use harness::step::Outcome;
use std::path::Path;
use std::time::{Duration, Instant};

const ACCOUNT: &str = "repl";
const PASSWORD: &str = "secret";

/// Both servers.
pub struct Pair {
    kind: Kind,
    source: Server,
    replica: Server,
}

/// Which cores the two may use, as `taskset -c` takes them.
#[derive(Debug, Clone, Copy)]
pub struct Cores<'a> {
    pub source: &'a str,
    pub replica: &'a str,
}

fn setup(kind: Kind, dir: &Path, number: u32, cores: &str) -> Outcome<Setup> {
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut setup = Setup::new(kind, dir)?
        .binary_log(number)
        .option("innodb-buffer-pool-size=1G")
        .redo_capacity("2G")
        .option("innodb-flush-log-at-trx-commit=1")
        .option("max-connections=1000")
        .option_of(Kind::MariaDb, "log-slave-updates")
        .option_of(Kind::MariaDb, "binlog-format=ROW")
        .option_of(Kind::MariaDb, "slave-parallel-threads=4")
        .option_of(Kind::MariaDb, "slave-parallel-mode=optimistic");
    setup.cores = cores.to_owned();
    Ok(setup)
}

impl Pair {
    /// Starts both below a directory; the replica follows.
    pub fn start(kind: Kind, dir: &Path, cores: Cores<'_>) -> Outcome<Pair> {
        let source = setup(kind, &dir.join("source"), 1, cores.source)?.start()?;
        let replica = setup(kind, &dir.join("replica"), 2, cores.replica)?.start()?;
        let pair = Pair {
            kind,
            source,
            replica,
        };
        let user = format!("{ACCOUNT}@'%'");
        let with = match kind {
            Kind::Tidemill => "WITH mysql_native_password BY",
            Kind::MariaDb => "BY",
        };
        let make = format!("CREATE USER {user} IDENTIFIED {with} '{PASSWORD}'");
        let grant = format!("GRANT REPLICATION SLAVE ON *.* TO {user}");
        run(&mut *pair.source()?, &[&make, &grant])?;
        let (word, auto) = match kind {
            Kind::Tidemill => ("SOURCE", "SOURCE_AUTO_POSITION=1"),
            Kind::MariaDb => ("MASTER", "MASTER_USE_GTID=slave_pos"),
        };
        let change = format!(
            "CHANGE {} TO {word}_HOST='127.0.0.1', {word}_PORT={}, {word}_USER='{ACCOUNT}', {word}_PASSWORD='{PASSWORD}', {auto}",
            match kind {
                Kind::Tidemill => "REPLICATION SOURCE",
                Kind::MariaDb => "MASTER",
            },
            pair.source.setup().port
        );
        run(&mut *pair.replica()?, &[&change])?;
        pair.start_replica("")?;
        Ok(pair)
    }

    fn word(&self) -> &'static str {
        match self.kind {
            Kind::Tidemill => "REPLICA",
            Kind::MariaDb => "SLAVE",
        }
    }

    /// How the source is reached.
    pub fn setup(&self) -> &Setup {
        self.source.setup()
    }

    /// A connection to the source.
    pub fn source(&self) -> Outcome<Box<dyn Conn>> {
        self.source.connect()
    }

    /// A connection to the replica.
    pub fn replica(&self) -> Outcome<Box<dyn Conn>> {
        self.replica.connect()
    }

    /// Starts a part of the replica, or all of it.
    pub fn start_replica(&self, part: &str) -> Outcome<()> {
        let sql = format!("START {} {part}", self.word());
        run(&mut *self.replica()?, &[&sql])
    }

    /// Stops a part of the replica, or all of it.
    pub fn stop_replica(&self, part: &str) -> Outcome<()> {
        let sql = format!("STOP {} {part}", self.word());
        run(&mut *self.replica()?, &[&sql])
    }

    /// Stops the replica's process where it stands, or lets it go on.
    pub fn pause_replica(&self, pause: bool) -> Outcome<()> {
        self.replica.signal(if pause { "STOP" } else { "CONT" })
    }

    /// Processor time that the source, its thread that makes the binary log, and the replica have used.
    pub fn used(&self) -> Outcome<[Duration; 3]> {
        Ok([
            process::cpu_time(self.source.pid())?,
            process::cpu_time_of_threads(self.source.pid(), "binlog")?,
            process::cpu_time(self.replica.pid())?,
        ])
    }

    /// Waits until all is applied that the source has committed by now.
    ///
    /// # Errors
    /// It takes longer than that, or the replica has stopped.
    pub fn come_up(&self, limit: Duration) -> Outcome<Duration> {
        let begun = Instant::now();
        let what = match self.kind {
            Kind::Tidemill => "SELECT REPLACE(@@GLOBAL.gtid_executed, '\n', '')",
            Kind::MariaDb => "SELECT @@GLOBAL.gtid_binlog_pos",
        };
        let wanted = one(&mut *self.source()?, what)?;
        let mut replica = self.replica()?;
        let wait = match self.kind {
            Kind::Tidemill => format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{wanted}', 5)"),
            Kind::MariaDb => format!("SELECT MASTER_GTID_WAIT('{wanted}', 5)"),
        };
        while one(&mut *replica, &wait)? != "0" {
            if begun.elapsed() > limit {
                let status = format!("SHOW {} STATUS", self.word());
                let status = replica.run(&status).map_err(|e| e.to_string())?;
                return Err(format!(
                    "the replica is not there after {} s: {status:?}",
                    limit.as_secs()
                ));
            }
        }
        Ok(begun.elapsed())
    }

    /// A checksum of each of these tables, of the source and of the replica: an error where they differ.
    pub fn compare(&self, database: &str) -> Outcome<()> {
        let tables = format!(
            "SELECT GROUP_CONCAT(CONCAT(table_schema, '.', table_name) ORDER BY table_name) FROM information_schema.tables WHERE table_schema = '{database}'"
        );
        let tables = one(&mut *self.source()?, &tables)?;
        let sums = format!("CHECKSUM TABLE {tables}");
        let of = |mut conn: Box<dyn Conn>| conn.run(&sums).map_err(|e| format!("{sums}: {e}"));
        let (source, replica) = (of(self.source()?)?, of(self.replica()?)?);
        match source == replica && !source.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "the tables differ:\nsource  {source:?}\nreplica {replica:?}"
            )),
        }
    }

    /// Ends both.
    pub fn stop(self) -> Outcome<()> {
        self.replica.terminate()?;
        self.source.terminate()
    }
}

/// Runs statements whose results are not looked at.
pub fn run(conn: &mut dyn Conn, statements: &[&str]) -> Outcome<()> {
    for sql in statements {
        conn.run(sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    Ok(())
}

/// The first cell of an answer.
pub fn one(conn: &mut dyn Conn, sql: &str) -> Outcome<String> {
    let rows = conn.run(sql).map_err(|e| format!("{sql}: {e}"))?;
    let cell = rows.into_iter().next().and_then(|r| r.into_iter().next());
    cell.ok_or_else(|| format!("{sql}: no row"))
}
