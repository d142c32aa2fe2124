//! The unmodified `sysbench` program: running it and reading its report.

use crate::server::Setup;
use crate::step::{self, Outcome};
use crate::workspace;
use base::lock::Mutex;
use std::io::{BufRead as _, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The scripts that run against the `sbtest` tables, in an order in which each leaves the tables fit for the next:
/// rows are added and removed by the last two.
pub const SCRIPTS: &[&str] = &[
    "oltp_point_select",
    "select_random_points",
    "select_random_ranges",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
];

/// Makes its own tables.
pub const BULK_INSERT: &str = "bulk_insert";

/// TPC-C, a script of ours: see `crates/harness/sysbench/tpcc.lua`. Its sizes are options of its own.
pub const TPCC: &str = "tpcc";

/// Seconds after its proper end at which a run is given up.
const HANGS_AFTER: u64 = 120;

/// Where sysbench finds a server.
#[derive(Debug, Clone)]
pub enum Reach {
    /// MySQL's protocol, on a Unix socket.
    Mysql(PathBuf),
    /// PostgreSQL's protocol: the directory of its Unix socket, and the port that names the socket there.
    Postgres(PathBuf, u16),
}

impl From<&Setup> for Reach {
    fn from(setup: &Setup) -> Reach {
        Reach::Mysql(setup.socket.clone())
    }
}

impl Reach {
    fn flags(&self, database: &str) -> Vec<String> {
        match self {
            Reach::Mysql(socket) => vec![
                "--db-driver=mysql".to_owned(),
                format!("--mysql-socket={}", socket.display()),
                "--mysql-user=root".to_owned(),
                format!("--mysql-db={database}"),
            ],
            Reach::Postgres(dir, port) => vec![
                "--db-driver=pgsql".to_owned(),
                format!("--pgsql-host={}", dir.display()),
                format!("--pgsql-port={port}"),
                "--pgsql-user=postgres".to_owned(),
                format!("--pgsql-db={database}"),
            ],
        }
    }
}

/// The names of sysbench's tables.
pub fn table_names(count: u32) -> Vec<String> {
    (1..=count).map(|n| format!("sbtest{n}")).collect()
}

/// One use of sysbench.
#[derive(Debug, Clone)]
pub struct Load {
    /// Name of the script.
    pub script: &'static str,
    /// How many tables.
    pub tables: u32,
    /// Rows of each.
    pub table_size: u64,
    /// Connections.
    pub threads: u32,
    /// How long, in seconds.
    pub seconds: u64,
    /// `auto` (prepared statements) or `disable` (text).
    pub ps_mode: &'static str,
    /// The database.
    pub database: &'static str,
    /// Options of the script or of the driver, as sysbench takes them.
    pub extra: Vec<&'static str>,
    /// The percentile of a transaction's time that is reported; 100 for the longest.
    pub percentile: u32,
    /// Report each second and the whole distribution of latencies too.
    pub closely: bool,
    /// The cores it may use, as `taskset -c` takes them; empty for all.
    pub cores: String,
    /// Transactions begun a second, by all connections together; 0 for as many as there can be.
    pub rate: u32,
}

impl Load {
    /// One thread, one table, prepared statements, database `sbtest`.
    pub fn new(script: &'static str, table_size: u64) -> Load {
        Load {
            script,
            tables: 1,
            table_size,
            threads: 1,
            seconds: 10,
            ps_mode: "auto",
            database: "sbtest",
            extra: Vec::new(),
            percentile: 95,
            closely: false,
            cores: String::new(),
            rate: 0,
        }
    }

    /// The same with another number of threads.
    pub fn threads(&self, threads: u32) -> Load {
        Load {
            threads,
            ..self.clone()
        }
    }

    /// The command line up to the verb.
    fn command(&self, at: &Reach, verb: &str) -> Command {
        let mut command = Command::new("sysbench");
        if !self.cores.is_empty() {
            command = Command::new("taskset");
            command.args(["-c", &self.cores, "sysbench"]);
        }
        match self.script {
            TPCC => command.arg(workspace::root().join("crates/harness/sysbench/tpcc.lua")),
            script => command.arg(script),
        };
        command
            .args(at.flags(self.database))
            .arg(format!("--threads={}", self.threads))
            .arg(format!("--time={}", self.seconds))
            .arg("--events=0")
            .arg(format!("--percentile={}", self.percentile));
        // bulk_insert.lua knows no other options; it takes one table a thread.
        if self.script == TPCC {
            // It sends text alone.
        } else if self.script == BULK_INSERT {
            command.arg(format!("--db-ps-mode={}", self.ps_mode));
        } else {
            command
                .arg(format!("--db-ps-mode={}", self.ps_mode))
                .arg(format!("--tables={}", self.tables))
                .arg(format!("--table-size={}", self.table_size))
                .arg("--rand-type=uniform");
        }
        if self.rate > 0 {
            command.arg(format!("--rate={}", self.rate));
        }
        if self.closely {
            command.args(["--report-interval=1", "--histogram=on"]);
        }
        command.args(&self.extra).arg(verb);
        command
    }

    /// Makes the database and fills the tables; what was there is dropped.
    pub fn prepare(&self, setup: &Setup) -> Outcome<()> {
        let mut conn = setup.connect().map_err(|e| e.to_string())?;
        for sql in ["DROP DATABASE IF EXISTS", "CREATE DATABASE"] {
            conn.run(&format!("{sql} {}", self.database))
                .map_err(|e| format!("{sql} {}: {e}", self.database))?;
        }
        self.fill(setup)
    }

    /// Makes and fills the tables in a database that is there and empty.
    pub fn fill(&self, at: impl Into<Reach>) -> Outcome<()> {
        let loaders = match self.script {
            TPCC => 1,
            BULK_INSERT => self.threads,
            _ => self.tables.min(4),
        };
        step::must(&mut self.threads(loaders).command(&at.into(), "prepare")).map(drop)
    }

    /// Drops the tables.
    pub fn cleanup(&self, setup: &Setup) -> Outcome<()> {
        step::must(&mut self.command(&setup.into(), "cleanup")).map(drop)
    }

    /// Of [`TPCC`]: checks the consistency conditions of the specification.
    pub fn check(&self, setup: &Setup) -> Outcome<()> {
        step::must(&mut self.threads(1).command(&setup.into(), "check")).map(drop)
    }

    /// Runs the load to its end; anything but a clean report is an error.
    pub fn run(&self, at: impl Into<Reach>) -> Outcome<Figures> {
        self.report(at).map(|(figures, _)| figures)
    }

    /// As [`run`](Load::run), and the report's own words.
    pub fn report(&self, at: impl Into<Reach>) -> Outcome<(Figures, String)> {
        // A server that hangs makes sysbench hang; that must end as a failure.
        let load = self.command(&at.into(), "run");
        let mut command = Command::new("timeout");
        command
            .arg("--signal=KILL")
            .arg((self.seconds + HANGS_AFTER).to_string())
            .arg(load.get_program())
            .args(load.get_args());
        let said = step::quietly(&mut command)?;
        let complaint = complaints(&said.text);
        if !said.success || !complaint.is_empty() {
            return Err(format!(
                "sysbench {} at {} threads (ps {}): {}",
                self.script,
                self.threads,
                self.ps_mode,
                if complaint.is_empty() {
                    step::tail(&said.text, 10)
                } else {
                    complaint
                }
            ));
        }
        match Figures::parse(&said.text) {
            Some(figures) => Ok((figures, said.text)),
            None => Err(format!(
                "sysbench's report is not understood:\n{}",
                step::tail(&said.text, 30)
            )),
        }
    }

    /// Starts the load in the background; its report is thrown away.
    pub fn spawn(&self, setup: &Setup) -> Outcome<Background> {
        self.command(&setup.into(), "run")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(Background)
            .map_err(|e| format!("sysbench: {e}"))
    }
}

impl Load {
    /// Starts the load in the background and keeps what it reports of each second, its longest transactions among it.
    pub fn watch(&self, at: impl Into<Reach>) -> Outcome<Watched> {
        let load = Load {
            percentile: 100,
            closely: true,
            ..self.clone()
        };
        let mut child = load
            .command(&at.into(), "run")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("sysbench: {e}"))?;
        let progress = Arc::new(Mutex::new(Progress::default()));
        if let Some(out) = child.stdout.take() {
            listen(out, &progress);
        }
        if let Some(err) = child.stderr.take() {
            listen(err, &progress);
        }
        Ok(Watched {
            load: Background(child),
            progress,
        })
    }
}

/// What sysbench said of one second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Second {
    /// When it was over.
    pub end: Instant,
    /// Transactions.
    pub tps: f64,
    /// Statements.
    pub qps: f64,
    /// The longest transaction that ended in it, milliseconds.
    pub longest_ms: f64,
    /// Conflicts that sysbench retried.
    pub ignored: f64,
}

impl Second {
    fn parse(line: &str) -> Option<Second> {
        let number = |after: &str| -> Option<f64> {
            let (_, rest) = line.split_once(after)?;
            rest.split_whitespace().next()?.parse().ok()
        };
        line.starts_with("[ ").then_some(())?;
        Some(Second {
            end: Instant::now(),
            tps: number(" tps: ")?,
            qps: number(" qps: ")?,
            longest_ms: number("%): ")?,
            ignored: number(" err/s: ")?,
        })
    }
}

#[derive(Debug, Default)]
struct Progress {
    seconds: Vec<Second>,
    complaints: String,
}

/// Keeps what is said until nothing more is said.
fn listen(from: impl Read + Send + 'static, progress: &Arc<Mutex<Progress>>) {
    let progress = progress.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let mut progress = progress.lock();
            progress.complaints.push_str(&complaints(&line));
            progress.seconds.extend(Second::parse(&line));
        }
    });
}

/// A load that is looked at while it runs; it ends with its handle at the latest.
#[derive(Debug)]
pub struct Watched {
    load: Background,
    progress: Arc<Mutex<Progress>>,
}

impl Watched {
    /// The seconds so far.
    ///
    /// # Errors
    /// A statement has failed, or the load has ended by itself.
    pub fn seconds(&mut self) -> Outcome<Vec<Second>> {
        let progress = self.progress.lock();
        if !progress.complaints.is_empty() {
            return Err(progress.complaints.clone());
        }
        match self.load.runs() {
            true => Ok(progress.seconds.clone()),
            false => Err("sysbench has ended".to_owned()),
        }
    }
}

impl Watched {
    /// Waits until a second has been told of that ended after `then`: the seconds so far.
    ///
    /// # Errors
    /// As [`seconds`](Self::seconds), and nothing was said for a minute.
    pub fn seconds_until(&mut self, then: Instant) -> Outcome<Vec<Second>> {
        let begun = Instant::now();
        loop {
            let seconds = self.seconds()?;
            if seconds.last().is_some_and(|s| s.end >= then) {
                return Ok(seconds);
            }
            if begun.elapsed() > Duration::from_secs(60) {
                return Err("sysbench has said nothing for a minute".to_owned());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A sysbench in the background; it ends with its handle at the latest.
#[derive(Debug)]
pub struct Background(Child);

impl Background {
    /// Is it still running?
    pub fn runs(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first lines in which sysbench speaks of an error; the ones it ignores itself are not among them.
fn complaints(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| {
            let lower = line.to_ascii_lowercase();
            (lower.contains("fatal") || lower.contains("error"))
                && !lower.trim_start().starts_with("ignored errors:")
        })
        .take(5)
        .collect();
    lines.join("\n")
}

/// What sysbench measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// Transactions (events) in all.
    pub transactions: u64,
    /// Transactions a second.
    pub tps: f64,
    /// Statements in all.
    pub queries: u64,
    /// Statements a second.
    pub qps: f64,
    /// 95th percentile of a transaction's time, milliseconds.
    pub p95_ms: f64,
    /// Conflicts that sysbench retried.
    pub ignored: u64,
}

impl Figures {
    fn parse(text: &str) -> Option<Figures> {
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.trim_start().strip_prefix(name))
                .map(str::trim)
        };
        // `transactions:    1234   (123.40 per sec.)`
        let counted = |name: &str| -> Option<(u64, f64)> {
            let (count, rate) = field(name)?.split_once('(')?;
            let rate = rate.split_whitespace().next()?;
            Some((count.trim().parse().ok()?, rate.parse().ok()?))
        };
        let (transactions, tps) = counted("transactions:")?;
        let (queries, qps) = counted("queries:")?;
        let (ignored, _) = counted("ignored errors:")?;
        Some(Figures {
            transactions,
            tps,
            queries,
            qps,
            p95_ms: field("95th percentile:")?.parse().ok()?,
            ignored,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "
SQL statistics:
    queries performed:
        read:                            14
        total:                           20
    transactions:                        100    (9.99 per sec.)
    queries:                             2000   (199.80 per sec.)
    ignored errors:                      3      (0.30 per sec.)
    reconnects:                          0      (0.00 per sec.)

Latency (ms):
         avg:                                  100.00
         95th percentile:                      121.08
";

    #[test]
    fn the_report_is_read() {
        let figures = Figures::parse(REPORT).unwrap();
        assert_eq!((figures.transactions, figures.queries), (100, 2000));
        assert_eq!((figures.tps, figures.qps), (9.99, 199.8));
        assert_eq!((figures.p95_ms, figures.ignored), (121.08, 3));
        let line = "[ 3s ] thds: 8 tps: 1.00 qps: 20.00 (r/w/o: 14.00/4.00/2.00) lat (ms,100%): 7.30 err/s: 0.50 reconn/s: 0.00";
        let second = Second::parse(line).unwrap();
        assert_eq!(
            (second.tps, second.qps, second.longest_ms, second.ignored),
            (1.0, 20.0, 7.3, 0.5)
        );
        assert_eq!(complaints(line), "");
        assert_eq!(Second::parse("Threads started!"), None);
        assert_eq!(complaints(REPORT), "");
        assert!(complaints("FATAL: mysql_drv_query() returned error 1062").contains("1062"));
    }
}
