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
const ROW: u64 = 260;

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
         the longest transactions of all. Verdicts are Tidemill's. mariadb-backup does not compress, and restores to its end alone.{}",
        options.clients,
        options.pool,
        side::LOG_MIB,
        options.repeats,
        options.throttle.map_or(String::new(), |n| format!(
            " tidemill backup --throttle={n}."
        )),
    );
    table.save(&workspace::target_dir()?.join("xtask").join("backup.json"))
}

/// An error where the disk has no room for it.
fn room(options: &Options, scratch: &Scratch) -> Outcome<()> {
    let mut to_load = 0;
    for kind in &options.sides {
        to_load += u64::from(options.reload || !side::cached(*kind, options)?.is_dir());
    }
    let wanted = wanted(
        u64::from(options.tables) * options.rows,
        to_load,
        options.once,
    );
    let free = free_bytes(scratch.path()).unwrap_or(u64::MAX);
    match free < wanted {
        true => Err(format!(
            "{} MiB are free, and about {} are needed (less with --once)",
            free >> 20,
            wanted >> 20
        )),
        false => Ok(()),
    }
}

/// A guess at the room that so many rows take, of which so many sides are not loaded yet: what a server works on, its backups, and its log twice;
/// and what is kept.
fn wanted(rows: u64, to_load: u64, once: bool) -> u64 {
    let (data, log) = (rows * ROW, side::LOG_MIB << 20);
    let kept = if once { 0 } else { to_load * (data + log) };
    data * 27 / 10 + 3 * log + kept
}

/// All of one server.
fn measure(kind: Kind, options: &Options, scratch: &mut Scratch) -> Outcome<Figures> {
    let mut figures = Figures::new();
    let side = Side::of(kind, options, scratch.path())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_4_gb() {
        let gib = |bytes: u64| bytes >> 30;
        assert_eq!(gib(wanted(16_000_000, 2, false)), 23);
        assert_eq!(gib(wanted(16_000_000, 0, false)), 13);
        assert_eq!(gib(wanted(16_000_000, 2, true)), 13);
    }
}
