//! `cargo xtask dumps`: tables of every column type, dumped and restored by the programs that people use.
//!
//! The tables are those of `tests/dumps`, one database a file. Each is made on Tidemill and on MariaDB, dumped by `mariadb-dump` (connections in utf8mb4,
//! latin1 and binary, with and without `--hex-blob`; with `--lock-all-tables`; with `--tab`) and by `mydumper`, and restored into the other and into Tidemill itself. Every byte of every
//! row must be what it was; between two of Tidemill's also each definition and checksum. In the end the whole server is dumped, and restored into a fresh one.

pub mod contents;
pub mod tools;
mod whole;

use contents::Tables;
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use harness::workspace;
use std::path::Path;
use tools::Way;

/// A file of tables, and what it can be asked of.
struct Set {
    /// Its name, and the database's.
    name: &'static str,
    /// MariaDB has such tables.
    shared: bool,
    /// It has text that latin1 has no characters for.
    wide: bool,
    /// mydumper 0.10 is able to dump it.
    mydumper: bool,
    /// Text files keep all that is in it, and `mariadb-import` reads them: it is in strict mode, which refuses dates of zeros.
    tab: bool,
    /// It has JSON columns. Text of a connection in `binary` is no document (3144, as in MySQL), so such a dump does not come back.
    json: bool,
}

const SETS: &[Set] = &[
    Set {
        name: "common",
        shared: true,
        wide: false,
        mydumper: true,
        tab: false,
        json: false,
    },
    Set {
        name: "wide",
        shared: true,
        wide: true,
        mydumper: true,
        tab: true,
        json: false,
    },
    Set {
        name: "bits",
        shared: true,
        wide: false,
        mydumper: true,
        tab: false,
        json: false,
    },
    Set {
        name: "odd",
        shared: true,
        wide: false,
        mydumper: false,
        tab: false,
        json: false,
    },
    Set {
        name: "tidemill",
        shared: false,
        wide: false,
        mydumper: false,
        tab: false,
        json: true,
    },
    Set {
        name: "tidemill_wide",
        shared: false,
        wide: true,
        mydumper: false,
        tab: false,
        json: true,
    },
];

const CHARSETS: [&str; 3] = ["utf8mb4", "latin1", "binary"];

/// Where a database is restored.
const BACK: &str = "back";

impl Set {
    /// The ways in which it can be dumped.
    fn ways(&self, short: bool) -> Vec<Way> {
        let mut ways = Vec::new();
        for (n, charset) in CHARSETS.into_iter().enumerate() {
            for hex in [false, true] {
                let loses = self.wide && charset == "latin1" || self.json && charset == "binary";
                let left_out = short && hex != (n == 1);
                if !loses && !left_out {
                    ways.push(Way::Dump { charset, hex });
                }
            }
        }
        ways.push(Way::DumpLocked);
        if self.mydumper {
            ways.push(Way::MyDumper);
        }
        if self.tab {
            ways.push(Way::Tab);
        }
        ways
    }
}

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The share of `cargo xtask test`.
    #[arg(long)]
    short: bool,
    /// Only sets of tables whose names contain this.
    #[arg(long, default_value = "", hide_default_value = true)]
    only: String,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    run(options.short, &options.only)
}

/// The share of CI.
pub fn short() -> Outcome<()> {
    run(true, "")
}

fn run(short: bool, only: &str) -> Outcome<()> {
    step::announce("dumps, restored both ways");
    let mut scratch = Scratch::new("dumps")?;
    let result = Servers::start(scratch.path()).and_then(|servers| {
        let mut failed = Vec::new();
        let mut rounds = 0;
        for set in SETS.iter().filter(|s| s.name.contains(only)) {
            rounds += servers.set(set, short, scratch.path(), &mut failed)?;
        }
        if only.is_empty() {
            rounds += 1;
            let databases: Vec<&str> = SETS.iter().map(|s| s.name).collect();
            whole::trip(servers.tidemill.setup(), &databases, scratch.path())
                .map_err(|e| format!("all databases: {e}"))?;
            println!("    all databases: restored into a fresh server, with accounts");
        }
        servers.stop()?;
        match failed.is_empty() {
            true => Ok(rounds),
            false => Err(format!(
                "{} of {rounds} round trips:\n{}",
                failed.len(),
                failed.join("\n")
            )),
        }
    });
    if result.is_err() {
        scratch.keep();
    }
    println!("    {} round trips, every byte the same", result?);
    Ok(())
}

/// Both servers.
struct Servers {
    tidemill: Server,
    mariadb: Option<Server>,
}

impl Servers {
    fn start(dir: &Path) -> Outcome<Servers> {
        // Files that the servers write are in the folder of a dump.
        let files = format!("secure-file-priv={}", dir.display());
        let tidemill = Setup::new(Kind::Tidemill, dir)?.option(&files).start()?;
        let mariadb = match step::on_path("mariadbd") && step::on_path("mariadb-install-db") {
            true => Some(Setup::new(Kind::MariaDb, dir)?.option(&files).start()?),
            false => {
                println!(
                    "    SKIPPED, nothing was dumped from or into MariaDB: it is not installed"
                );
                None
            }
        };
        Ok(Servers { tidemill, mariadb })
    }

    fn stop(self) -> Outcome<()> {
        self.tidemill.terminate()?;
        self.mariadb.map_or(Ok(()), Server::terminate)
    }

    /// All round trips of a set; their number.
    fn set(&self, set: &Set, short: bool, dir: &Path, failed: &mut Vec<String>) -> Outcome<usize> {
        let ours = self.tidemill.setup();
        let theirs = self
            .mariadb
            .as_ref()
            .map(Server::setup)
            .filter(|_| set.shared);
        let file = workspace::root().join(format!("tests/dumps/{}.sql", set.name));
        for server in [Some(ours), theirs].into_iter().flatten() {
            let made =
                make_empty(server, set.name).and_then(|()| tools::load(server, set.name, &file));
            made.map_err(|e| format!("{} of {}: {e}", file.display(), server.kind.name()))?;
        }
        let dumped = contents::read(ours, set.name)?;
        let mut trips = vec![(ours, ours, dumped.clone())];
        if let Some(theirs) = theirs {
            trips.push((ours, theirs, dumped.clone()));
            trips.push((theirs, ours, contents::read(theirs, set.name)?));
        }
        let mut rounds = 0;
        for way in set.ways(short) {
            if !way.is_here() {
                println!("    SKIPPED, {} is not installed", way.name());
                continue;
            }
            for (from, to, dumped) in &trips {
                rounds += 1;
                let what = format!(
                    "{}: {} from {} to {}",
                    set.name,
                    way.name(),
                    from.kind.name(),
                    to.kind.name()
                );
                if let Err(why) = trip(set, way, from, to, dumped, &dir.join("dump")) {
                    println!("    FAILED {what}: {why}");
                    failed.push(what);
                }
            }
        }
        println!(
            "    {}: {} tables with {} rows, {rounds} round trips",
            set.name,
            dumped.len(),
            contents::rows(&dumped)
        );
        Ok(rounds)
    }
}

fn make_empty(server: &Setup, database: &str) -> Outcome<()> {
    let mut conn = contents::connect(server)?;
    contents::run(&mut conn, &format!("DROP DATABASE IF EXISTS {database}"))?;
    contents::run(&mut conn, &format!("CREATE DATABASE {database}")).map(drop)
}

/// One dump, restored.
fn trip(set: &Set, way: Way, from: &Setup, to: &Setup, dumped: &Tables, dir: &Path) -> Outcome<()> {
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    way.dump(from, set.name, dir)?;
    make_empty(to, BACK)?;
    way.restore(to, BACK, dir)?;
    let back = contents::read(to, BACK)?;
    let found = contents::differences(dumped, &back, contents::alike(from, to));
    match found.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{} differences:\n      {}",
            found.len(),
            found[..found.len().min(10)].join("\n      ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_is_tried_in_each_character_set_that_keeps_it() {
        let count = |name: &str, short| {
            let set = SETS.iter().find(|s| s.name == name);
            set.map(|s| s.ways(short).len())
        };
        assert_eq!(count("common", false), Some(8));
        assert_eq!(count("common", true), Some(5));
        assert_eq!(count("wide", false), Some(7));
        assert_eq!(count("tidemill_wide", true), Some(2));
        assert_eq!(count("tidemill", false), Some(5));
    }

    #[test]
    fn every_file_of_tables_is_tried() {
        let dir = workspace::root().join("tests/dumps");
        let mut files: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .filter_map(|f| f.strip_suffix(".sql").map(str::to_owned))
            .collect();
        let mut names: Vec<&str> = SETS.iter().map(|s| s.name).collect();
        files.sort_unstable();
        names.sort_unstable();
        assert_eq!(files, names);
    }
}
