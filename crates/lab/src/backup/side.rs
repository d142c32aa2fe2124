//! One of the servers: its data loaded once and kept, a copy of that to work on, and the server on it, or on what was restored.

use super::counter;
use super::options::Options;
use crate::peers::{Guard, forget};
use harness::client::Conn;
use harness::queries;
use harness::scratch::size_of;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use harness::sysbench::{self, Load};
use harness::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The log before a checkpoint must advance, MiB.
pub(super) const LOG_MIB: u64 = 1024;
/// A start that recovers may take so long.
const START: Duration = Duration::from_secs(900);

/// A server of ours that runs. It ends with its handle, and with the lab.
#[derive(Debug)]
pub(super) struct Running {
    // Before the server: it goes first.
    _guard: Guard,
    server: Server,
}

impl Running {
    /// Starts it, waits for its first answer, and that for the first row of a table: how long all of it took, in seconds.
    pub(super) fn start(setup: &Setup) -> Outcome<(Running, f64)> {
        let begun = Instant::now();
        let mut server = setup.spawn()?;
        let guard = Guard::over(server.pid())?;
        server.wait_ready(START)?;
        let row = "SELECT k FROM sbtest.sbtest1 WHERE id = 1";
        queries::number(server.connect()?.as_mut(), row).map_err(|e| server.with_log(&e))?;
        let took = begun.elapsed().as_secs_f64();
        let running = Running {
            _guard: guard,
            server,
        };
        Ok((running, took))
    }

    pub(super) fn pid(&self) -> u32 {
        self.server.pid()
    }

    pub(super) fn connect(&self) -> Outcome<Box<dyn Conn>> {
        self.server.connect()
    }

    /// An error unless it is still there.
    pub(super) fn must_run(&mut self) -> Outcome<()> {
        self.server.must_run()
    }

    /// Ends it as its manual says.
    pub(super) fn stop(self) -> Outcome<()> {
        drop(self._guard);
        self.server.terminate()
    }

    /// Waits until no other client's statement runs: what a client that was killed had sent may still be at work.
    pub(super) fn wait_quiet(&self) -> Outcome<()> {
        let mut conn = self.connect()?;
        let others = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root' AND ID <> CONNECTION_ID()";
        let begun = Instant::now();
        while queries::number(conn.as_mut(), others)? > 0 {
            if begun.elapsed() > Duration::from_secs(60) {
                return Err("clients that have gone are still connected after a minute".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

/// One of the two, with its directory.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) kind: Kind,
    /// Where it works, and where backups go.
    pub(super) dir: PathBuf,
    /// How it is started on its own directory.
    pub(super) setup: Setup,
    pub(super) load: Load,
    rows: u64,
}

impl Side {
    /// Its loaded data, or a copy of that, below `scratch`.
    pub(super) fn of(kind: Kind, options: &Options, scratch: &Path) -> Outcome<Side> {
        let load = Load {
            tables: options.tables,
            threads: options.clients,
            seconds: 24 * 3600,
            ..Load::new("oltp_read_write", options.rows)
        };
        let from = loaded(kind, options, &load)?;
        let dir = scratch.join(kind.name());
        if options.once {
            std::fs::rename(&from, &dir).map_err(|e| format!("{}: {e}", from.display()))?;
        } else {
            let mut cp = Command::new("cp");
            cp.args(["--archive", "--reflink=auto"]);
            step::must(cp.arg(&from).arg(&dir))?;
        }
        let setup = settings(Setup::over(kind, &dir)?, options);
        let side = Side {
            kind,
            dir,
            setup,
            load,
            rows: options.rows,
        };
        forget(&side.setup.datadir)?;
        Ok(side)
    }

    /// The bytes of its tables' files.
    pub(super) fn table_bytes(&self) -> Outcome<u64> {
        size_of(&self.setup.datadir.join(tables_dir(self.kind)))
    }

    /// Takes its files out of the kernel's cache, with what has been written of others on the disk.
    pub(super) fn forget(&self) -> Outcome<()> {
        forget(&self.setup.datadir)
    }

    /// The same server on another directory, below a folder of its own.
    pub(super) fn beside(&self, name: &str) -> Outcome<Setup> {
        let below = self.dir.join(name);
        std::fs::create_dir_all(&below).map_err(|e| format!("{}: {e}", below.display()))?;
        let mut setup = self.setup.clone();
        setup.datadir = below.join("data");
        setup.log = below.join("log");
        Ok(setup)
    }

    /// The names of all tables that the checksums are of.
    pub(super) fn tables(&self) -> Vec<String> {
        let sysbenchs = sysbench::table_names(self.load.tables);
        let named = sysbenchs
            .iter()
            .map(|t| format!("{}.{t}", self.load.database));
        named.chain([counter::TABLE.to_owned()]).collect()
    }

    /// Each table's checksum.
    pub(super) fn checksums(&self, running: &Running) -> Outcome<Vec<(String, u64)>> {
        let mut conn = running.connect()?;
        let mut all = Vec::new();
        for table in self.tables() {
            let sql = format!("CHECKSUM TABLE {table}");
            let rows = conn.run(&sql).map_err(|e| format!("{sql}: {e}"))?;
            let sum = rows.first().and_then(|r| r.get(1)?.parse().ok());
            let sum = sum.ok_or_else(|| format!("{sql} says {rows:?}"))?;
            all.push((table, sum));
        }
        Ok(all)
    }

    /// Every table of sysbench has the rows that it had when it was made: each of its transactions leaves as many as there were.
    pub(super) fn count(&self, running: &Running) -> Outcome<()> {
        let mut conn = running.connect()?;
        for table in sysbench::table_names(self.load.tables) {
            let sql = format!("SELECT COUNT(*) FROM {}.{table}", self.load.database);
            let n = queries::number(conn.as_mut(), &sql)?;
            if n != self.rows {
                return Err(format!("{table} has {n} rows, not {}", self.rows));
            }
        }
        Ok(())
    }

    /// CHECK TABLE of every table of sysbench.
    pub(super) fn check(&self, running: &Running) -> Outcome<()> {
        let tables = sysbench::table_names(self.load.tables);
        queries::check_tables(running.connect()?.as_mut(), self.load.database, &tables)
    }

    /// Moves the files of its binary log out of its directory, and removes that.
    pub(super) fn keep_binary_log(&self) -> Outcome<PathBuf> {
        let kept = self.dir.join("binlogs");
        let fail = |e: std::io::Error| format!("{}: {e}", kept.display());
        std::fs::create_dir_all(&kept).map_err(fail)?;
        for entry in std::fs::read_dir(&self.setup.datadir).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name();
            if name.to_string_lossy().starts_with("binlog.") {
                std::fs::rename(entry.path(), kept.join(name)).map_err(fail)?;
            }
        }
        std::fs::remove_dir_all(&self.setup.datadir).map_err(fail)?;
        Ok(kept)
    }
}

/// Where the tables' files are in a data directory.
fn tables_dir(kind: Kind) -> &'static str {
    match kind {
        Kind::Tidemill => "data",
        Kind::MariaDb => "sbtest",
    }
}

/// What both are given: memory, log, a sync at each commit, a binary log with GTIDs.
fn settings(setup: Setup, options: &Options) -> Setup {
    setup
        .option(&format!("innodb-buffer-pool-size={}M", options.pool))
        .option("innodb-flush-log-at-trx-commit=1")
        .redo_capacity(&format!("{LOG_MIB}M"))
        .option("max-connections=1000")
        .binary_log(1)
}

/// Where loaded directories are.
pub(super) fn cache() -> Outcome<PathBuf> {
    let dir = workspace::target_dir()?.join("xtask").join("backup-loaded");
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    Ok(dir)
}

/// Where this one is.
pub(super) fn cached(kind: Kind, options: &Options) -> Outcome<PathBuf> {
    let Options { tables, rows, .. } = options;
    Ok(cache()?.join(format!("{}-{tables}x{rows}", kind.name())))
}

/// A directory with a loaded server's data, which is made where there is none.
fn loaded(kind: Kind, options: &Options, load: &Load) -> Outcome<PathBuf> {
    let dir = cached(kind, options)?;
    if dir.is_dir() && !options.reload {
        return Ok(dir);
    }
    let (tables, rows) = (options.tables, options.rows);
    step::announce(&format!(
        "loading {tables} tables of {rows} rows into {}",
        kind.name()
    ));
    let begun = Instant::now();
    let fresh = dir.with_extension(std::process::id().to_string());
    for old in [&fresh, &dir] {
        let _ = std::fs::remove_dir_all(old);
    }
    let made = fill(kind, load, &fresh);
    if let Err(why) = made {
        let _ = std::fs::remove_dir_all(&fresh);
        return Err(why);
    }
    // Nobody sees a directory that is not whole.
    std::fs::rename(&fresh, &dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    println!("    {:.0} s", begun.elapsed().as_secs_f64());
    Ok(dir)
}

fn fill(kind: Kind, load: &Load, dir: &Path) -> Outcome<()> {
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let setup = Setup::new(kind, dir)?
        .option("innodb-buffer-pool-size=1024M")
        .option("innodb-flush-log-at-trx-commit=2")
        .redo_capacity(&format!("{LOG_MIB}M"));
    let server = setup.start()?;
    let guard = Guard::over(server.pid())?;
    load.prepare(&setup)?;
    let mut conn = server.connect()?;
    let analyze = sysbench::table_names(load.tables);
    let analyze = analyze
        .iter()
        .map(|t| format!("ANALYZE TABLE {}.{t}", load.database));
    for sql in counter::MAKE.map(str::to_owned).into_iter().chain(analyze) {
        conn.run(&sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    drop((conn, guard));
    server.terminate()
}
