//! `cargo xtask suites`: the tests that drivers, ORMs and frameworks keep for themselves, on Tidemill and on MariaDB, compared test by test.
//!
//! Each suite is fetched in a pinned version from where its project publishes it, and is run unchanged on a fresh server of each kind. What passes on MariaDB
//! must pass here, or have a line with its reason in `tests/suites`; a line that does not hold any more is an error too. None of the suites' code may come
//! into the tree, and nothing here reads what a runner prints for people.

mod expected;
mod go;
mod judge;
mod lists;
mod python;
mod results;
mod run;
mod table;

use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use judge::{Verdict, judge};
use results::Results;
use run::Run;
use std::path::{Path, PathBuf};
use std::time::Instant;
use table::{How, SUITES, Suite};

/// Complaints of a suite that are printed.
const SHOWN: usize = 60;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Print the names of the suites.
    #[arg(long)]
    list: bool,
    /// Only suites whose names contain one of these.
    #[arg(long)]
    only: Vec<String>,
    /// Only those in the share of `cargo xtask test`.
    #[arg(long)]
    short: bool,
}

/// What a suite is run from.
#[derive(Debug)]
enum Installed {
    Pytest(python::Installed),
    Django(python::Installed),
    Go(PathBuf),
    Lists(lists::Installed),
}

fn install(suite: &Suite) -> Outcome<Installed> {
    match suite.how {
        How::Pytest(package) => python::install(package).map(Installed::Pytest),
        How::Django(package) => python::install(package).map(Installed::Django),
        How::Go { module } => go::install(module).map(Installed::Go),
        How::Lists => lists::install(suite.name).map(Installed::Lists),
    }
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let wanted = |name: &str| {
        options.only.is_empty() || options.only.iter().any(|o| name.contains(o.as_str()))
    };
    let suites: Vec<_> = SUITES
        .iter()
        .filter(|s| wanted(s.name) && (s.in_ci || !options.short))
        .collect();
    if suites.is_empty() {
        return Err("no suite has such a name".to_owned());
    }
    if options.list {
        for suite in suites {
            println!("    {}", suite.name);
        }
        return Ok(());
    }
    step::announce("suites of other projects, beside MariaDB");
    let mut wrong = Vec::new();
    for suite in suites {
        let installed = install(suite).map_err(|e| format!("{}: {e}", suite.name))?;
        compare(suite, &installed, &mut wrong)?;
    }
    summed(&wrong)
}

/// The share of CI. What cannot be fetched is left out, and says so.
pub fn short() -> Outcome<()> {
    step::announce("suites of other projects, beside MariaDB");
    if !(step::on_path("mariadbd") && step::on_path("mariadb-install-db")) {
        println!("    SKIPPED, no suite was run: MariaDB is not installed");
        return Ok(());
    }
    let mut wrong = Vec::new();
    for suite in SUITES.iter().filter(|s| s.in_ci) {
        match install(suite) {
            Ok(installed) => compare(suite, &installed, &mut wrong)?,
            Err(why) => println!("    SKIPPED, {} could not be fetched: {why}", suite.name),
        }
    }
    summed(&wrong)
}

fn summed(wrong: &[String]) -> Outcome<()> {
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("; ")),
    }
}

/// Runs a suite on both servers and prints what came of it.
fn compare(suite: &'static Suite, installed: &Installed, wrong: &mut Vec<String>) -> Outcome<()> {
    let expected = expected::of(suite.name)?;
    let mut scratch = Scratch::new(&format!("suite-{}", suite.name))?;
    let begun = Instant::now();
    // Both at once: they share nothing but the machine.
    let (ours, theirs) = std::thread::scope(|scope| {
        let on = |kind| {
            let dir = scratch.path();
            move || one(suite, installed, kind, dir)
        };
        let theirs = scope.spawn(on(Kind::MariaDb));
        let ours = on(Kind::Tidemill)();
        let theirs = theirs.join().map_err(|_| "a run broke off".to_owned());
        (ours, theirs.and_then(|t| t))
    });
    let named = |e: String| format!("{}: {e}", suite.name);
    let verdict = match ours.and_then(|o| theirs.map(|t| (o, t))) {
        Ok((mut ours, theirs)) => {
            match installed {
                // Its report says that it is whole.
                Installed::Pytest(_) | Installed::Django(_) => {
                    results::left_out(&mut ours, &theirs);
                }
                Installed::Go(_) => results::not_reached(&mut ours, &theirs),
                // Every one of its tests is run.
                Installed::Lists(_) => {}
            }
            judge(&ours, &theirs, &expected)
        }
        Err(e) => {
            scratch.keep();
            return Err(named(e));
        }
    };
    print(suite, &verdict, begun);
    if !verdict.complaints.is_empty() {
        scratch.keep();
        let line = format!("{}: {} complaints", suite.name, verdict.complaints.len());
        wrong.push(line);
    }
    Ok(())
}

fn print(suite: &Suite, verdict: &Verdict, begun: Instant) {
    let excused: Vec<String> = verdict
        .excused
        .iter()
        .map(|(feature, n)| format!("{feature} {n}"))
        .collect();
    println!(
        "    {}: {} pass on MariaDB or ask it for what it lacks ({}), {} of them here, {:.4} without {} excused ({}); {} open, {} left out here by the suite; {} s",
        suite.name,
        verdict.theirs,
        verdict.lacking,
        verdict.both,
        verdict.ratio(),
        verdict.excused.values().sum::<usize>(),
        excused.join(", "),
        verdict.open,
        verdict.skipped,
        begun.elapsed().as_secs()
    );
    for complaint in verdict.complaints.iter().take(SHOWN) {
        println!("      {complaint:.300}");
    }
    if verdict.complaints.len() > SHOWN {
        println!("      and {} more", verdict.complaints.len() - SHOWN);
    }
}

/// A suite on one server.
fn one(suite: &'static Suite, installed: &Installed, kind: Kind, dir: &Path) -> Outcome<Results> {
    let dir = dir.join(kind.name());
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut server = start(suite, kind, &dir)?;
    let run = Run {
        suite,
        server: server.setup(),
        dir,
    };
    let results = match installed {
        Installed::Pytest(python) => python::pytest(python, &run),
        Installed::Django(python) => python::django(python, &run),
        Installed::Go(sources) => go::test(sources, &run),
        Installed::Lists(units) => lists::run(units, &run),
    };
    let results = results.map_err(|e| format!("on {}: {e}", kind.name()))?;
    server.must_run()?;
    server.terminate()?;
    Ok(results)
}

/// A fresh server that lets its root in by TCP too.
fn start(suite: &Suite, kind: Kind, dir: &Path) -> Outcome<Server> {
    let setup = Setup::new(kind, dir)?
        // Drivers test TLS where it is offered.
        .without("auto-generate-certs")
        .option_of(Kind::MariaDb, "character-set-server=utf8mb4")
        .option("local-infile=ON")
        .option("innodb-flush-log-at-trx-commit=2")
        // A test that fails may leave its transaction open; who waits for it must go on some time.
        .option("lock-wait-timeout=30");
    let of_kind = suite.options.iter().fold(setup, |setup, (kind, option)| {
        setup.option_of(*kind, option)
    });
    let server = of_kind.start()?;
    let mut conn = server.connect()?;
    let root = [
        "CREATE USER IF NOT EXISTS root@'127.0.0.1'",
        "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION",
    ];
    for sql in root.iter().chain(suite.before) {
        conn.run(sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    Ok(server)
}
