//! Data directories that were loaded once and are kept, and copies of them.

use super::side::order;
use crate::dataset_cache::occupied_mib;
use crate::experiment::DATABASE;
use crate::peers::{self, Peer, Who};
use harness::step::{self, Outcome};
use harness::sysbench::Reach;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A table: how it is made, and the files of its rows.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Its name.
    pub(crate) table: String,
    /// CREATE TABLE.
    pub(crate) create: String,
    /// Files of rows, fields divided by `|`, NULL as `\N`.
    pub(crate) files: Vec<PathBuf>,
    /// Files that come when the statistics have been made.
    pub(crate) later: Vec<PathBuf>,
}

/// What is loaded.
#[derive(Debug, Clone)]
pub(crate) struct Dataset {
    /// The name of its directory; what is loaded otherwise has another one.
    pub(crate) name: String,
    /// Its tables.
    pub(crate) parts: Vec<Part>,
}

impl Dataset {
    /// The names of its tables.
    pub(super) fn tables(&self) -> Vec<String> {
        self.parts.iter().map(|p| p.table.clone()).collect()
    }

    /// Have the tables grown since their statistics were made?
    pub(super) fn stale(&self) -> bool {
        self.parts.iter().any(|p| !p.later.is_empty())
    }
}

/// A directory with the data.
#[derive(Debug)]
pub(super) struct Loaded(PathBuf);

impl Loaded {
    /// The one of this side, which is loaded where the cache has none.
    pub(super) fn of(who: Who, data: &Dataset, cache: &Path, reload: bool) -> Outcome<Loaded> {
        let dir = cache.join(format!("{}-{}", data.name, who.name()));
        if dir.is_dir() && !reload {
            return Ok(Loaded(dir));
        }
        step::announce(&format!("loading {} into {}", data.name, who.name()));
        let begun = Instant::now();
        let fresh = cache.join(format!(
            "{}-{}-{}",
            data.name,
            who.name(),
            std::process::id()
        ));
        for old in [&fresh, &dir] {
            let _ = std::fs::remove_dir_all(old);
        }
        let loaded = load(who, data, &fresh);
        if let Err(why) = loaded {
            let _ = std::fs::remove_dir_all(&fresh);
            return Err(why);
        }
        // Nobody sees a directory that is not whole.
        std::fs::rename(&fresh, &dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let mib = occupied_mib(&dir.join(who.tables_dir()));
        println!(
            "    {:.0} s, {mib} MiB of tables",
            begun.elapsed().as_secs_f64()
        );
        Ok(Loaded(dir))
    }

    /// Copies it.
    pub(super) fn copy_to(&self, to: &Path) -> Outcome<()> {
        let mut cp = Command::new("cp");
        cp.args(["--archive", "--reflink=auto"]);
        step::must(cp.arg(&self.0).arg(to)).map(drop)
    }
}

fn load(who: Who, data: &Dataset, dir: &Path) -> Outcome<()> {
    let peer = peers::start(&order(who, dir))?;
    peer.make_database(DATABASE)?;
    peer.ask("", "SET GLOBAL local_infile = 1")?;
    for part in &data.parts {
        peer.ask(DATABASE, &part.create)?;
        fill(&*peer, &part.table, &part.files)?;
    }
    peer.finish_load(DATABASE, &data.tables())?;
    for part in &data.parts {
        fill(&*peer, &part.table, &part.later)?;
    }
    peer.stop()
}

fn fill(peer: &dyn Peer, table: &str, files: &[PathBuf]) -> Outcome<()> {
    let Reach::Mysql(socket) = peer.reach() else {
        return Err("no server of MySQL's protocol".to_owned());
    };
    for file in files {
        let sql = format!(
            "LOAD DATA LOCAL INFILE '{}' INTO TABLE {table} CHARACTER SET utf8mb4 FIELDS TERMINATED BY '|'",
            file.display()
        );
        step::must(
            Command::new("mariadb")
                .args(["--no-defaults", "--local-infile=1", "--user=root"])
                .arg(format!("--socket={}", socket.display()))
                .args([DATABASE, "--execute", &sql]),
        )?;
    }
    Ok(())
}
