//! `cargo xtask lab backup`: a backup of a server that goes on under load, on Tidemill and on MariaDB with its mariadb-backup: what the clients lose by it,
//! how long it takes and how large it is, what one of 1 % changed pages takes, and whether what is restored is what was there.
//!
//! The servers come one after the other, since two of them with their copies and backups do not fit on every disk; what is held to a target compares runs of one
//! server, in turn. A missed target is a result; a restore that is not right is an error.

mod changes;
mod counter;
mod options;
mod pairs;
mod program;
mod report;
mod restores;
mod seconds;
mod side;
mod tool;

use counter::{Counted, Counter};
use harness::install;
use harness::scratch::{Scratch, free_bytes};
use harness::server::Kind;
use harness::step::{self, Outcome};
use harness::workspace;
pub use options::Options;
use report::{Figure, Figures};
use restores::Source;
use side::{Running, Side};
use std::time::{Duration, Instant};
use tool::Taken;

/// Of all pages, so many are changed for the incremental backup.
const CHANGED: f64 = 0.01;
const PAGE: u64 = 16384;
/// A row in the files, with its entry in the other index: for a guess.
const ROW: u64 = 240;

/// The command.
pub(super) fn command(options: &Options) -> Outcome<()> {
    if options.sides.contains(&Kind::MariaDb) {
        install::packages(&["mariadb-backup"])?;
    }
    let mut scratch = Scratch::new("backup")?;
    room(options, &scratch)?;
    let mut all = Vec::new();
    for kind in &options.sides {
        let measured = measure(*kind, options, &mut scratch);
        let figures = measured.map_err(|e| format!("{}: {e}", kind.name()))?;
        all.push((*kind, figures));
    }
    println!();
    let table = report::table(&all);
    table.print();
    println!(
        "oltp_read_write, {} clients, {} MiB for pages, {} MiB of log, each commit synced, binary log with GTIDs; medians of {} pairs of runs, \
         the longest transactions of all. Verdicts are Tidemill's. mariadb-backup does not compress, and restores to its end alone.",
        options.clients,
        options.pool,
        side::LOG_MIB,
        options.repeats,
    );
    table.save(&workspace::target_dir()?.join("xtask").join("backup.json"))
}

/// An error where the disk has no room for it.
fn room(options: &Options, scratch: &Scratch) -> Outcome<()> {
    let data = u64::from(options.tables) * options.rows * ROW;
    let mut wanted = data * 27 / 10 + (3 << 30);
    for kind in &options.sides {
        if options.reload || !side::cached(*kind, options)?.is_dir() {
            wanted += data;
        }
    }
    let free = free_bytes(scratch.path()).unwrap_or(u64::MAX);
    match free < wanted {
        true => Err(format!(
            "{} MiB are free, and about {} are needed",
            free >> 20,
            wanted >> 20
        )),
        false => Ok(()),
    }
}

/// All of one server.
fn measure(kind: Kind, options: &Options, scratch: &mut Scratch) -> Outcome<Figures> {
    let mut figures = Figures::new();
    let side = Side::copied(kind, options, scratch.path())?;
    step::announce(&format!(
        "{}: pairs of {} s, without a backup and with one",
        kind.name(),
        options.seconds
    ));
    let (mut running, _) = Running::start(&side.setup)?;
    let full = pairs::run(&side, &mut running, options, &mut figures)?;
    step::announce(&format!("{}: what has changed since", kind.name()));
    let counted = go_on(&side, &running, options)?;
    // What is left to be written would count as changed in both backups.
    running.stop()?;
    let (running, _) = Running::start(&side.setup)?;
    let since_load = side.backup_since("since-load", &full.dir)?;
    println!(
        "    by the load: {:.1} MiB, {:.1} s",
        since_load.mib(),
        since_load.done.seconds
    );
    figures.insert(Figure::SinceLoad, since_load.mib());
    figures.insert(Figure::SinceLoadSeconds, since_load.done.seconds);
    change(&side, &mut figures)?;
    // What is in the pool alone would come with the log, which has much less of it.
    running.stop()?;
    let (running, _) = Running::start(&side.setup)?;
    let changed = side.backup_since("since-change", &since_load.dir)?;
    tell(&full, &changed, &mut figures);
    step::announce(&format!("{}: the tables' checksums", kind.name()));
    let source = Source {
        checksums: side.checksums(&running)?,
        full,
        changed: [since_load, changed],
        counted,
    };
    running.stop()?;
    let binary_log = side.keep_binary_log()?;
    let restored = restores::all(&side, &source, &binary_log, &mut figures);
    // What is wrong there is to be looked at.
    restored.inspect_err(|_| scratch.keep())?;
    std::fs::remove_dir_all(&side.dir).map_err(|e| format!("{}: {e}", side.dir.display()))?;
    Ok(figures)
}

/// The load goes on behind the backup, and somebody counts beside it: what was counted.
fn go_on(side: &Side, running: &Running, options: &Options) -> Outcome<Vec<Counted>> {
    let named = side.kind == Kind::Tidemill;
    let mut load = side.load.watch(&side.setup)?;
    let counter = Counter::start(&side.setup.socket, named)?;
    load.seconds_until(Instant::now() + Duration::from_secs(options.seconds))?;
    let counted = counter.end()?;
    drop(load);
    running.wait_quiet()?;
    if named {
        println!("    {} transactions counted beside the load", counted.len());
    }
    Ok(counted)
}

/// Changes 1 % of the pages.
fn change(side: &Side, figures: &mut Figures) -> Outcome<()> {
    let pages = side.table_bytes()? / PAGE;
    let wanted = ((pages as f64 * CHANGED) as u64).max(1);
    let rows = changes::spread(side.load.tables, side.load.table_size, wanted);
    // A row has more than 200 bytes.
    if changes::distance(&rows) <= PAGE / 200 {
        let why = "rows cannot be so far apart that each is in a page of its own: more rows";
        return Err(format!("{wanted} {why}"));
    }
    changes::apply(&side.setup.socket, side.load.database, &rows)?;
    println!("    then {} rows, in as many of {pages} pages", rows.len());
    figures.insert(Figure::Changed, rows.len() as f64 / pages as f64);
    Ok(())
}

/// What the backup of that has come to.
fn tell(full: &Taken, changed: &Taken, figures: &mut Figures) {
    let share = changed.bytes as f64 / full.bytes as f64;
    println!(
        "    by these: {:.2} MiB, {:.2} % of the backup of all, {:.1} s",
        changed.mib(),
        100.0 * share,
        changed.done.seconds
    );
    figures.insert(Figure::Incremental, changed.mib());
    figures.insert(Figure::IncrementalShare, share);
    figures.insert(Figure::IncrementalSeconds, changed.done.seconds);
}
