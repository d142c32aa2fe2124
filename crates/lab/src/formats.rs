//! E12 and E13: how long loading, indexing and converting take in each row format, and what is on the disk then.
//!
//! Other than the rest of the lab it measures single statements: a table of sysbench's rows is filled in key order by INSERTs of
//! a thousand rows from one connection, gets an index, and is converted from plain pages and back. Sides alternate; what is on the
//! disk is looked at after a clean shutdown.

use crate::conversions::timed;
use crate::dataset_cache::occupied_mib;
use crate::experiment::DATABASE;
use crate::machine;
use crate::peers::{self, Order, Terms, Who};
use harness::install;
use harness::rng::Rng;
use harness::scratch::Scratch;
use harness::step::{self, Outcome};
use harness::table::{Cell, Table, median};
use harness::workspace;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A row format: its name, and what each server is asked for to have it.
pub(super) struct Format {
    pub(super) name: &'static str,
    tidemill: &'static str,
    mariadb: &'static str,
}

impl Format {
    /// The options of a table for which this server has it.
    pub(super) fn options(&self, who: Who) -> &'static str {
        match who {
            Who::MariaDb => self.mariadb,
            _ => self.tidemill,
        }
    }

    /// The options that take it back.
    pub(super) fn plain(&self, who: Who) -> &'static str {
        match self.name {
            "adaptive" if who == Who::MariaDb => "ROW_FORMAT=DYNAMIC PAGE_COMPRESSED=0",
            _ => "ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0",
        }
    }
}

const PLAIN: &str = "ROW_FORMAT=DYNAMIC";

const fn same(name: &'static str, options: &'static str) -> Format {
    Format {
        name,
        tidemill: options,
        mariadb: options,
    }
}

pub(super) const FORMATS: &[Format] = &[
    same("uncompressed", PLAIN),
    same("8 KiB blocks", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8"),
    same("4 KiB blocks", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4"),
    same("2 KiB blocks", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=2"),
    Format {
        name: "adaptive",
        tidemill: "ROW_FORMAT=COMPRESSED",
        // What comes next to it there: pages packed by themselves, holes punched behind them.
        mariadb: "ROW_FORMAT=DYNAMIC PAGE_COMPRESSED=1",
    },
];

pub(super) const WHOS: [Who; 2] = [Who::Tidemill, Who::MariaDb];

/// Rows of an INSERT.
const ROWS_AT_ONCE: u64 = 1000;

/// What a side came to, seconds and MiB.
#[derive(Default)]
struct Runs {
    load: Vec<f64>,
    index: Vec<f64>,
    convert: Vec<f64>,
    back: Vec<f64>,
    mib: Vec<f64>,
}

/// MyRocks as it comes, and with zstd on all levels: how it packs is an option of the server there.
const MYROCKS: &[(&str, &[&str])] = &[
    ("MyRocks", &[]),
    (
        "MyRocks, zstd",
        &["rocksdb-default-cf-options=compression=kZSTD;bottommost_compression=kZSTD"],
    ),
];

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Rows of the table.
    #[arg(long, default_value_t = 2_000_000)]
    rows: u64,
    /// Runs of each.
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// TPC-C's tables instead, of so many warehouses.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(super) warehouses: u32,
    /// MyRocks too.
    #[arg(long)]
    pub(super) myrocks: bool,
}

/// `cargo xtask lab formats`.
pub fn command(options: &Options) -> Outcome<()> {
    let (rows, repeats) = (options.rows, options.repeats);
    let myrocks = options.myrocks;
    install::peers(myrocks)?;
    let scratch = Scratch::new("formats")?;
    let cores = machine::describe(scratch.path()).cores;
    let statements = inserts(rows);
    let mut runs: Vec<Runs> = (0..FORMATS.len() * WHOS.len())
        .map(|_| Runs::default())
        .collect();
    let mut whole = None;
    for turn in 0..repeats {
        for (f, format) in FORMATS.iter().enumerate() {
            for (w, who) in WHOS.into_iter().enumerate() {
                step::announce(&format!(
                    "[{}/{repeats}] {}, {}",
                    turn + 1,
                    format.name,
                    who.name()
                ));
                let dir = scratch.path().join("side");
                let run = &mut runs[f * WHOS.len() + w];
                one(who, format, &dir, &statements, run)?;
                if who == Who::Tidemill && f == 0 && whole.is_none() {
                    whole = Some(packed_whole(&dir)?);
                }
                std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
            }
        }
    }
    let mut table = table(&runs, whole);
    for (name, options) in MYROCKS.iter().filter(|_| myrocks) {
        step::announce(name);
        let dir = scratch.path().join("side");
        let (load, index, mib) = in_myrocks(options, &dir, &statements)?;
        let mut row = vec![(*name).into(), Who::MyRocks.name().into()];
        row.extend([(load, 2), (index, 2), (mib, 0)].map(|(n, digits)| Cell::Number(n, digits)));
        row.extend((0..5).map(|_| Cell::Missing));
        table.row(row);
        std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    }
    table.print();
    let name = format!("{}-{cores}-cores-formats.json", machine::today());
    let path = workspace::root().join("docs").join("benchmarks").join(name);
    table.save(&path)?;
    println!(
        "    {rows} rows, medians of {repeats}; written: {}",
        path.display()
    );
    Ok(())
}

/// The INSERTs of a table of sysbench's rows in key order.
fn inserts(rows: u64) -> Vec<String> {
    let mut rng = Rng::new(1);
    let mut out = Vec::new();
    for first in (0..rows).step_by(ROWS_AT_ONCE as usize) {
        let mut sql = String::from("INSERT INTO sbtest1 (id, k, c, pad) VALUES ");
        for id in first..(first + ROWS_AT_ONCE).min(rows) {
            let comma = if id == first { "" } else { "," };
            let k = rng.below(rows) + 1;
            let (c, pad) = (digits(&mut rng, 10), digits(&mut rng, 5));
            let _ = write!(sql, "{comma}({},{k},'{c}','{pad}')", id + 1);
        }
        out.push(sql);
    }
    out
}

/// As sysbench fills its columns: groups of eleven digits.
fn digits(rng: &mut Rng, groups: usize) -> String {
    let group = |rng: &mut Rng| format!("{:011}", rng.below(100_000_000_000));
    let all: Vec<String> = (0..groups).map(|_| group(rng)).collect();
    all.join("-")
}

/// What every side is given.
pub(super) const TERMS: Terms = Terms::LAZY;

fn create(name: &str, options: &str) -> String {
    format!(
        "CREATE TABLE {name} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0, \
         c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '') {options}"
    )
}

/// Loads and indexes the table in MyRocks: seconds of both, and MiB when all is compacted, once.
fn in_myrocks(options: &[&str], dir: &Path, statements: &[String]) -> Outcome<(f64, f64, f64)> {
    let order = Order {
        who: Who::MyRocks,
        terms: TERMS,
        options,
        dir,
        cores: "",
    };
    let peer = peers::start(&order)?;
    peer.make_database(DATABASE)?;
    peer.ask(DATABASE, &create("sbtest1", "ENGINE=ROCKSDB"))?;
    let begun = Instant::now();
    for sql in statements {
        peer.ask(DATABASE, sql)?;
    }
    let load = begun.elapsed().as_secs_f64();
    let (index, _) = timed(&*peer, "CREATE INDEX k_1 ON sbtest1 (k)")?;
    peer.ask(
        "",
        "SET GLOBAL rocksdb_force_flush_memtable_now = 1; SET GLOBAL rocksdb_compact_cf = 'default'",
    )?;
    peer.stop()?;
    let mib = sst_mib(&dir.join(Who::MyRocks.tables_dir()))?;
    println!("    load {load:.1} s, index {index:.2} s, {mib:.0} MiB");
    Ok((load, index, mib))
}

/// MiB of the files in which MyRocks keeps rows, without its log.
fn sst_mib(dir: &Path) -> Outcome<f64> {
    let fail = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut bytes = 0;
    for file in std::fs::read_dir(dir).map_err(fail)? {
        let file = file.map_err(fail)?;
        if file.path().extension().is_some_and(|e| e == "sst") {
            bytes += file.metadata().map_err(fail)?.len();
        }
    }
    Ok(bytes as f64 / f64::from(1 << 20))
}

fn one(
    who: Who,
    format: &Format,
    dir: &Path,
    statements: &[String],
    runs: &mut Runs,
) -> Outcome<()> {
    let order = Order {
        who,
        terms: TERMS,
        options: &[],
        dir,
        cores: "",
    };
    let options = format.options(who);
    let peer = peers::start(&order)?;
    peer.make_database(DATABASE)?;
    peer.ask(DATABASE, &create("sbtest1", options))?;
    let begun = Instant::now();
    for sql in statements {
        peer.ask(DATABASE, sql)?;
    }
    let load = begun.elapsed().as_secs_f64();
    let (index, _) = timed(&*peer, "CREATE INDEX k_1 ON sbtest1 (k)")?;
    peer.stop()?;
    let mib = occupied_mib(&dir.join(who.tables_dir())) as f64;
    runs.load.push(load);
    runs.index.push(index);
    runs.mib.push(mib);
    let peer = peers::start(&order)?;
    let plain = format.plain(who);
    let (mut convert, mut back) = (f64::NAN, f64::NAN);
    if options != PLAIN {
        (back, _) = timed(&*peer, &format!("ALTER TABLE sbtest1 {plain}"))?;
        (convert, _) = timed(&*peer, &format!("ALTER TABLE sbtest1 {options}"))?;
        runs.back.push(back);
        runs.convert.push(convert);
    }
    let count = peer.ask(DATABASE, "SELECT COUNT(*) FROM sbtest1")?;
    peer.stop()?;
    println!(
        "    load {load:.1} s, index {index:.2} s, {mib:.0} MiB, to plain {back:.1} s, and back {convert:.1} s; {count} rows"
    );
    Ok(())
}

/// MiB that `zstd -3` makes of the files of an uncompressed table.
pub(super) fn packed_whole(dir: &Path) -> Outcome<f64> {
    let tables = dir.join(Who::Tidemill.tables_dir()).join(DATABASE);
    let sh = format!(
        "cat {}/*.tdb | zstd -3 --quiet --stdout | wc --bytes",
        tables.display()
    );
    let said = step::must(Command::new("sh").args(["-c", &sh]))?;
    let bytes: f64 = said
        .trim()
        .parse()
        .map_err(|e| format!("zstd: {said}: {e}"))?;
    Ok(bytes / f64::from(1 << 20))
}

fn table(runs: &[Runs], whole: Option<f64>) -> Table {
    let mut table = Table::new(&[
        "format", "server", "load_s", "index_s", "mib", "to_s", "back_s", "load", "index", "size",
    ]);
    let number = |v: &[f64], digits| match v.is_empty() {
        true => Cell::Missing,
        false => Cell::Number(median(v), digits),
    };
    let ratio = |a: &[f64], b: &[f64]| match a.is_empty() || b.is_empty() {
        true => Cell::Missing,
        false => Cell::Number(median(a) / median(b), 2),
    };
    for (i, run) in runs.iter().enumerate() {
        // Of the same server's plain table; the size of the peer's in the same format.
        let plain = &runs[i % WHOS.len()];
        let peer = &runs[i / WHOS.len() * WHOS.len() + 1];
        table.row(vec![
            FORMATS[i / WHOS.len()].name.into(),
            WHOS[i % WHOS.len()].name().into(),
            number(&run.load, 2),
            number(&run.index, 2),
            number(&run.mib, 0),
            number(&run.convert, 2),
            number(&run.back, 2),
            ratio(&run.load, &plain.load),
            ratio(&run.index, &plain.index),
            ratio(&run.mib, &peer.mib),
        ]);
    }
    if let Some(mib) = whole {
        let mut row = vec!["zstd -3 of the file".into(), "tidemill".into()];
        row.extend([Cell::Missing, Cell::Missing, Cell::Number(mib, 0)]);
        row.extend((0..5).map(|_| Cell::Missing));
        table.row(row);
    }
    table
}
