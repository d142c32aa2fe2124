//! Loaded data directories, made once a run and copied for each side that needs one.
//!
//! A side always begins with a copy: what an earlier experiment's writes did to the tables, or how far its purge and
//! its vacuum had come, must not show in a later one.

use crate::experiment::{DATABASE, Data, Side, What};
use crate::peers::{self, Order, Peer, Terms, Who};
use crate::tpcc;
use harness::step::{self, Outcome};
use harness::sysbench;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// How the loading server is set up: the same for all, and of no consequence for what is measured later.
const LOADING: Terms = Terms {
    pool_mib: 2048,
    log_mib: 512,
    ..Terms::LAZY
};

/// The directories of one run.
#[derive(Debug)]
pub struct DatasetCache {
    dir: PathBuf,
    loaded: Vec<(Who, Data)>,
    copies: usize,
}

/// The name of a directory with this data.
fn folder(who: Who, data: Data) -> String {
    match data {
        Data::Rows {
            tables,
            rows,
            options,
            ..
        } => {
            let plain = |c: char| c.is_ascii_alphanumeric();
            let words = options.split(|c| !plain(c)).filter(|w| !w.is_empty());
            let more: String = words.map(|w| format!("-{}", w.to_lowercase())).collect();
            format!("{}-{tables}x{rows}{more}", who.name())
        }
        Data::Warehouses(n) => format!("{}-{n}-warehouses", who.name()),
    }
}

/// The tables of a database, by name.
pub fn tables(data: Data) -> Vec<String> {
    match data {
        Data::Rows { tables, .. } => harness::sysbench::table_names(tables),
        Data::Warehouses(_) => tpcc::TABLES.iter().map(|t| (*t).to_owned()).collect(),
    }
}

impl DatasetCache {
    /// An empty cache in `dir`.
    pub fn new(dir: &Path) -> DatasetCache {
        DatasetCache {
            dir: dir.to_path_buf(),
            loaded: Vec::new(),
            copies: 0,
        }
    }

    /// Starts a side on a fresh copy of its data, which is loaded first where nobody has needed it before.
    pub fn start(
        &mut self,
        side: &Side,
        data: Data,
        terms: Terms,
        cores: &str,
    ) -> Outcome<Started> {
        let What::Server(who) = side.what else {
            return Err(format!("{} is no server", side.name));
        };
        self.copies += 1;
        let dir = self.dir.join(format!("side-{}", self.copies));
        let order = Order {
            who,
            terms,
            options: side.options,
            dir: &dir,
            cores,
        };
        if who != Who::Canned {
            let files = who.files_of();
            self.load(files, data)?;
            copy(&self.dir.join(folder(files, data)), &dir)?;
        }
        let mut started = Started {
            peer: None,
            dir: dir.clone(),
            version: String::new(),
            settings: Vec::new(),
        };
        let peer = peers::start(&order)?;
        started.version = peer.version()?;
        started.settings = peer.settings();
        if who != Who::Canned
            && let Data::Rows { cached: true, .. } = data
        {
            for table in tables(data) {
                // Every column, so that no server can answer from an index.
                let sql = format!("SELECT SUM(k), MAX(c), MAX(pad) FROM {table}");
                peer.ask(DATABASE, &sql)?;
            }
        }
        started.peer = Some(peer);
        Ok(started)
    }

    fn load(&mut self, who: Who, data: Data) -> Outcome<()> {
        // Whether it is read into memory later makes no difference to what is on the disk.
        let name = folder(who, data);
        if self.loaded.iter().any(|l| folder(l.0, l.1) == name) {
            return Ok(());
        }
        step::announce(&format!("loading {name}"));
        let begun = Instant::now();
        let dir = self.dir.join(&name);
        let order = Order {
            who,
            terms: LOADING,
            options: &[],
            dir: &dir,
            cores: "",
        };
        let peer = peers::start(&order)?;
        peer.make_database(DATABASE)?;
        fill(peer.as_ref(), who, data)?;
        peer.finish_load(DATABASE, &tables(data))?;
        peer.stop()?;
        self.loaded.push((who, data));
        let (seconds, mib) = (
            begun.elapsed().as_secs_f64(),
            occupied_mib(&dir.join(who.tables_dir())),
        );
        println!("    {seconds:.0} s, {mib} MiB of tables");
        Ok(())
    }
}

fn fill(peer: &dyn Peer, who: Who, data: Data) -> Outcome<()> {
    match data {
        Data::Rows {
            tables,
            rows,
            options,
            ..
        } => {
            let mut load = sysbench::Load::new("oltp_point_select", rows);
            load.tables = tables;
            load.extra = who.driver_flags().to_vec();
            load.fill(peer.reach())?;
            if options.is_empty() {
                return Ok(());
            }
            for table in harness::sysbench::table_names(tables) {
                peer.ask(DATABASE, &format!("ALTER TABLE {table} {options}"))?;
            }
            Ok(())
        }
        Data::Warehouses(warehouses) => tpcc::fill(peer, who, warehouses),
    }
}

fn copy(from: &Path, to: &Path) -> Outcome<()> {
    let mut cp = Command::new("cp");
    cp.args(["--archive", "--reflink=auto", "--sparse=never"]);
    step::must(cp.arg(from).arg(to)).map(drop)
}

/// What the files below `dir` occupy on the disk, MiB.
pub fn occupied_mib(dir: &Path) -> u64 {
    let said = step::quietly(Command::new("du").arg("-sm").arg(dir));
    said.ok()
        .and_then(|s| s.text.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// A server on a copy of its own; both are gone with the handle.
pub struct Started {
    peer: Option<Box<dyn Peer>>,
    dir: PathBuf,
    /// What it says of its version.
    pub version: String,
    /// What it was told at its start.
    pub settings: Vec<String>,
}

impl Started {
    /// The server.
    pub fn peer(&self) -> Outcome<&dyn Peer> {
        self.peer
            .as_deref()
            .ok_or_else(|| "it has ended".to_owned())
    }

    /// The size of its tables' files, MiB.
    pub fn tables_mib(&self, who: Who) -> u64 {
        match who {
            Who::Canned => 0,
            _ => occupied_mib(&self.dir.join(who.tables_dir())),
        }
    }

    /// Ends the server as its manual says.
    pub fn stop(mut self) -> Outcome<()> {
        self.peer.take().map_or(Ok(()), Peer::stop)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // The server first: it writes into the directory until it has ended.
        self.peer = None;
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
