//! `cargo xtask lab`: the experiments that define the product, Tidemill beside its peers in one run.
//!
//! Experiments are data ([`catalog`]); the runner lets the sides take turns; everything measured goes into one record,
//! from which the verdicts, the report and the README's table are made. Nothing here links the engine, and nothing is
//! set for one server that the report does not print.

use crate::dataset_cache::DatasetCache;
use crate::experiment::Experiment;
use crate::fio::Fio;
use crate::record::{ExperimentRecord, Record};
use crate::runner::{Plan, Runner};
use crate::{
    backup, catalog, ch, conversions, formats, hot, joins, lag, machine, report, spill,
    tpcc_formats, tpcds, tpch,
};
use harness::install;
use harness::scratch::Scratch;
use harness::step::{self, Outcome};
use harness::table::{Cell, Table};
use harness::workspace;
use std::path::{Path, PathBuf};

/// The version of the record's form.
const FORMAT: u32 = 1;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    /// Experiments by name, or `all`; without one they are listed.
    #[arg(value_name = "EXPERIMENT")]
    experiments: Vec<String>,
    /// Every experiment for a moment: does it all work?
    #[arg(long)]
    quick: bool,
    /// Seconds of a run: 10, or 2 of a quick one.
    #[arg(long)]
    seconds: Option<u64>,
    /// Runs of each side: 5, or 2 of a quick one.
    #[arg(long)]
    repeats: Option<usize>,
    /// These numbers of clients alone.
    #[arg(long, value_delimiter = ',')]
    clients: Vec<u32>,
    /// These sides alone, by the beginnings of their names.
    #[arg(long, value_delimiter = ',')]
    sides: Vec<String>,
    /// MyRocks as a further peer wherever MariaDB is one.
    #[arg(long)]
    myrocks: bool,
    /// Then make the README's table and picture.
    #[arg(long)]
    readme: bool,
    /// Run nothing: make the page, and with --readme the README's table, from these records.
    #[arg(long, value_name = "RECORD.json,...")]
    from: Option<String>,
    #[command(subcommand)]
    statements: Option<Statements>,
}

/// Measurements of single statements.
#[derive(Debug, Clone, clap::Subcommand)]
enum Statements {
    /// Row formats beside each other: size, time to load, time to read.
    Formats(formats::Options),
    /// A table's format changed, with clients beside it.
    Conversions(conversions::Options),
    /// TPC-H's 22 queries beside MariaDB.
    Tpch(tpch::Options),
    /// TPC-DS's 99 queries beside MariaDB, held to DuckDB's answers.
    Tpcds(tpcds::Options),
    /// The CH-benCHmark's 22 queries over TPC-C's tables beside MariaDB.
    Ch(ch::Options),
    /// Sixty queries over skewed and correlated tables beside MariaDB.
    Joins(joins::Options),
    /// A sort, a hash join, a GROUP BY and a DISTINCT over more rows than there is memory for.
    Spill(spill::Options),
    /// One row, two rows from both ends, the end of a table: what everybody wants at once, beside MariaDB.
    Hot(hot::Options),
    /// How far a replica is behind its source, and how soon one comes up that has much to do, beside MariaDB.
    Lag(lag::Options),
    /// A backup under load: what it costs the clients, its size, what has changed, restores that are right, beside mariadb-backup.
    Backup(backup::Options),
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    match &options.statements {
        Some(Statements::Formats(options)) if options.warehouses > 0 => {
            install::peers(options.myrocks)?;
            return tpcc_formats::measure(options.warehouses);
        }
        Some(Statements::Formats(options)) => return formats::command(options),
        Some(Statements::Conversions(options)) => return conversions::command(options),
        Some(Statements::Tpch(options)) => return tpch::command(options),
        Some(Statements::Tpcds(options)) => return tpcds::command(options),
        Some(Statements::Ch(options)) => return ch::command(options),
        Some(Statements::Joins(options)) => return joins::command(options),
        Some(Statements::Spill(options)) => return spill::command(options),
        Some(Statements::Hot(options)) => return hot::command(options),
        Some(Statements::Lag(options)) => return lag::command(options),
        Some(Statements::Backup(options)) => return backup::command(options),
        None => {}
    }
    let (quick, readme) = (options.quick, options.readme);
    let plan = Plan {
        quick,
        seconds: options.seconds.unwrap_or(if quick { 2 } else { 10 }),
        repeats: options.repeats.unwrap_or(if quick { 2 } else { 5 }),
        clients: options.clients.clone(),
        sides: options.sides.clone(),
        myrocks: options.myrocks,
    };
    if let Some(from) = &options.from {
        return again(from, readme);
    }
    let words = &options.experiments;
    let experiments = chosen(words)?;
    if experiments.is_empty() {
        list();
        return Ok(());
    }
    if readme && quick {
        return Err("the README is not made from a quick run".to_owned());
    }
    install::peers(plan.myrocks)?;
    let name = name_of(words);
    let path = run(&experiments, &plan, &name)?;
    if readme {
        again(&path.display().to_string(), true)?;
    }
    Ok(())
}

/// The experiments of these names, in the order of the list.
fn chosen(words: &[String]) -> Outcome<Vec<&'static Experiment>> {
    let all = |word: &str| word.eq_ignore_ascii_case("all");
    for word in words {
        let known = catalog::ALL.iter().any(|e| e.id.eq_ignore_ascii_case(word));
        if !known && !all(word) {
            return Err(format!("there is no experiment '{word}'"));
        }
    }
    let wanted = |e: &&Experiment| words.iter().any(|w| all(w) || e.id.eq_ignore_ascii_case(w));
    Ok(catalog::ALL.iter().copied().filter(wanted).collect())
}

fn list() {
    println!(
        "cargo xtask lab E02 E11 ... | all [--quick] [--seconds 10] [--repeats 5] [--clients 1,64]"
    );
    println!("    [--sides tidemill,mariadb] [--myrocks] [--readme] [--from RECORD.json,...]\n");
    for experiment in catalog::ALL {
        println!("  {:<8} {}", experiment.id, experiment.title);
    }
    println!(
        "\n  E12 and E13 (row formats) are `cargo xtask lab formats [--rows 2000000] [--repeats 3] [--myrocks]`, of TPC-C's tables with --warehouses 5."
    );
    println!(
        "  E13 beside clients is `cargo xtask lab conversions [--rows 1000000] [--repeats 3]`."
    );
    println!(
        "\n  Queries beside MariaDB: `cargo xtask lab tpch [--scale 0.2]`, `cargo xtask lab tpcds`, `cargo xtask lab ch`, `cargo xtask lab joins [--stale]`."
    );
    println!("\n  What everybody wants at once: `cargo xtask lab hot [--wants row,pair,end]`.");
    println!(
        "\n  E19, replication: `cargo xtask lab lag [--loads write,tpcc] [--backlog 2000000]`."
    );
    println!(
        "\n  A backup of 4 GB under load, beside mariadb-backup: `cargo xtask lab backup [--rows 2000000] [--tables 8]`."
    );
    println!("\n  E20 (10,000 connections) is `cargo xtask hostile --only idle`.");
}

/// The part of the files' names that says what was run.
fn name_of(words: &[String]) -> String {
    let names: Vec<String> = words.iter().map(|w| w.to_ascii_lowercase()).collect();
    match names.iter().any(|n| n == "all") {
        true => "all".to_owned(),
        false => names.join("-"),
    }
}

fn run(experiments: &[&'static Experiment], plan: &Plan, name: &str) -> Outcome<PathBuf> {
    let scratch = Scratch::new("lab")?;
    let mut record = Record {
        format: FORMAT,
        date: machine::today(),
        quick: plan.quick,
        seconds: plan.seconds,
        repeats: plan.repeats,
        machine: machine::describe(scratch.path()),
        ..Record::default()
    };
    if plan.repeats < 5 && !plan.quick {
        println!("    fewer than 5 runs a side: the medians mean little");
    }
    if record.machine.busy_before > 0.1 {
        println!(
            "    others use {:.0} % of the processors: the figures will be theirs as well",
            record.machine.busy_before * 100.0
        );
    }
    let series = experiments.iter().flat_map(|e| e.series);
    let estimate: u64 = series.map(|s| plan.estimate(s)).sum();
    println!(
        "    about {} minutes, and loading the tables",
        estimate.div_ceil(60)
    );
    let path = place(&record, name)?;
    let fio = Fio::new(scratch.path(), if plan.quick { 256 } else { 2048 })?;
    let mut cache = DatasetCache::new(scratch.path());
    record.limits = machine::limits(&fio, &mut cache, plan.seconds)?;
    for (at, experiment) in experiments.iter().enumerate() {
        let progress = format!("[{}/{}] {}", at + 1, experiments.len(), experiment.id);
        let mut done = ExperimentRecord {
            id: experiment.id.to_owned(),
            title: experiment.title.to_owned(),
            seen: experiment.seen.to_owned(),
            series: Vec::new(),
        };
        for series in experiment.series {
            step::announce(&format!(
                "{progress} {}: {}",
                experiment.title, series.label
            ));
            let mut runner = Runner::new(plan, &mut cache, &fio);
            done.series.push(runner.series(series));
        }
        record.experiments.push(done);
        // After each, so that a run that is broken off leaves what it has.
        write(&record, &path)?;
    }
    conclude(&record)?;
    println!("    written: {} and .html", path.display());
    Ok(path)
}

/// Where the record goes: a quick one is not kept.
fn place(record: &Record, name: &str) -> Outcome<PathBuf> {
    let dir = if record.quick {
        workspace::target_dir()?.join("xtask").join("lab")
    } else {
        workspace::root().join("docs").join("benchmarks")
    };
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let cores = record.machine.cores;
    Ok(dir.join(format!("{}-{cores}-cores-{name}.json", record.date)))
}

/// Writes the record and its page.
fn write(record: &Record, path: &Path) -> Outcome<()> {
    let json = serde_json::to_string_pretty(record).map_err(|e| format!("the record: {e}"))?;
    let page = path.with_extension("html");
    std::fs::write(path, json + "\n").map_err(|e| format!("{}: {e}", path.display()))?;
    std::fs::write(&page, report::page(record)).map_err(|e| format!("{}: {e}", page.display()))
}

/// Makes the page, and if asked the README's share, from a record that is there already.
fn again(from: &str, readme: bool) -> Outcome<()> {
    let mut records = Vec::new();
    for from in from.split(',') {
        let path = Path::new(from);
        let text = std::fs::read_to_string(path).map_err(|e| format!("{from}: {e}"))?;
        let record: Record = serde_json::from_str(&text).map_err(|e| format!("{from}: {e}"))?;
        if record.format != FORMAT {
            return Err(format!("{from} has the form of version {}", record.format));
        }
        if readme && record.quick {
            return Err("the README is not made from a quick run".to_owned());
        }
        let page = path.with_extension("html");
        std::fs::write(&page, report::page(&record))
            .map_err(|e| format!("{}: {e}", page.display()))?;
        println!("    written: {}", page.display());
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let place = format!("docs/benchmarks/{file}");
        records.push((record, place));
    }
    match readme {
        true => report::update_readme(&records),
        false => Ok(()),
    }
}

/// Prints every verdict. A missed target is a result; a side that could not be run is a failure.
fn conclude(record: &Record) -> Outcome<()> {
    let mut table = Table::new(&[
        "experiment",
        "series",
        "target",
        "clients",
        "ratio",
        "verdict",
    ]);
    let mut failures = Vec::new();
    for experiment in &record.experiments {
        for series in &experiment.series {
            for verdict in &series.verdicts {
                table.row(vec![
                    experiment.id.as_str().into(),
                    series.label.as_str().into(),
                    verdict.target.as_str().into(),
                    u64::from(verdict.clients).into(),
                    verdict.value.map_or(Cell::Missing, |v| Cell::Number(v, 3)),
                    verdict.words().into(),
                ]);
            }
            failures.extend(series.failed.clone());
            let outcomes = series.points.iter().flat_map(|p| &p.results);
            for outcome in outcomes {
                if let Some(why) = &outcome.failed {
                    let first = why.lines().next().unwrap_or_default();
                    failures.push(format!("{} {}: {first}", experiment.id, outcome.side));
                }
            }
        }
    }
    println!();
    table.print();
    failures.sort();
    failures.dedup();
    if failures.is_empty() {
        Ok(())
    } else {
        Err(format!("not everything ran:\n{}", failures.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_are_found_by_name() {
        let words =
            |list: &[&str]| -> Vec<String> { list.iter().map(|w| (*w).to_owned()).collect() };
        let ids = |list: &[&str]| -> Outcome<Vec<&str>> {
            Ok(chosen(&words(list))?.iter().map(|e| e.id).collect())
        };
        assert_eq!(ids(&["e11", "E02"]).unwrap(), ["E02", "E11"]);
        assert_eq!(ids(&["all"]).unwrap().len(), catalog::ALL.len());
        assert!(ids(&["E99"]).is_err());
        assert_eq!(name_of(&words(&["E02", "E11"])), "e02-e11");
    }
}
