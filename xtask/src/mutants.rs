//! `cargo xtask mutants`: plants one bug at a time (`planted` has the lists) and says which tool found it, and how fast. The simulator
//! tries new seeds until one fails; the threads of `engine`'s `stress_promises` and tests of `sql` run again and again; a model, and a file of SQL
//! cases, must pass without its bug and fail with it.

use crate::planted::{
    BACKUP, BINLOG, CASES, CLUSTER, MODELS, REPLICA, SIM, SPACE, STATEMENTS, STRESS, WAITS,
    WAITS_OUTSIDE,
};
use crate::{models, seeds, sim};
use harness::step::{self, Outcome};
use harness::workspace;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Switches a planted bug on.
const VARIABLE: &str = "TIDEMILL_MUTANT";

/// How often a thread of a model is interrupted in each order tried. Without a bug one less, so that it is soon over; `cargo xtask
/// models` tries as many.
const PREEMPTIONS: u32 = 3;

/// What became of a planted bug.
struct Row {
    name: &'static str,
    by: &'static str,
    how: Option<String>,
    seconds: f64,
    tries: String,
}

impl Row {
    fn line(&self) -> String {
        let found = if self.how.is_some() {
            self.by
        } else {
            "NOT FOUND"
        };
        let how: String = self.how.iter().flat_map(|h| h.chars().take(110)).collect();
        format!(
            "{:<38} {found:<9} {:>8.1} {:>7}  {how}",
            self.name, self.seconds, self.tries
        )
    }
}

/// What is to be tried.
struct Plan {
    each: u64,
    threads: u64,
    only: String,
}

impl Plan {
    fn wants(&self, name: &str) -> bool {
        name.contains(&self.only)
    }
}

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Seconds for each planted bug.
    #[arg(long, default_value_t = 600)]
    seconds_each: u64,
    /// Threads of the simulator.
    #[arg(long, default_value_t = 2)]
    threads: u64,
    /// Only bugs whose names contain this.
    #[arg(long, default_value = "", hide_default_value = true)]
    only: String,
    /// One tool alone: sim, stress, waits, space, statements, binlog, backup, replica, cluster, cases or model.
    #[arg(long, default_value = "", hide_default_value = true)]
    by: String,
}

/// `cargo xtask mutants`.
pub fn command(options: &Options) -> Outcome<()> {
    let plan = Plan {
        each: options.seconds_each,
        threads: options.threads,
        only: options.only.clone(),
    };
    let by = &options.by;
    let mut rows = Vec::new();
    for (tool, find) in [
        (
            "model",
            by_models as fn(&Plan, &mut Vec<Row>) -> Outcome<()>,
        ),
        ("stress", by_stress),
        ("waits", by_waits),
        ("space", by_space),
        ("statements", by_statements),
        ("binlog", by_binlog),
        ("backup", by_backup),
        ("replica", by_replica),
        ("cluster", by_cluster),
        ("cases", by_cases),
        ("sim", by_simulator),
    ] {
        if by.is_empty() || by == tool {
            find(&plan, &mut rows)?;
        }
    }
    if rows.is_empty() {
        return Err(format!("there is no planted bug '{}'", plan.only));
    }
    println!(
        "\n{:<38} {:<9} {:>8} {:>7}  how",
        "planted", "found by", "seconds", "tries"
    );
    rows.iter().for_each(|r| println!("{}", r.line()));
    let lost: Vec<&str> = rows
        .iter()
        .filter(|r| r.how.is_none())
        .map(|r| r.name)
        .collect();
    println!("{} of {} found", rows.len() - lost.len(), rows.len());
    match lost.is_empty() {
        true => Ok(()),
        false => Err(format!("not found: {}", lost.join(", "))),
    }
}

fn add(rows: &mut Vec<Row>, row: Row) {
    println!("{}", row.line());
    rows.push(row);
}

fn target() -> Outcome<PathBuf> {
    Ok(workspace::target_dir()?.join("mutants"))
}

fn by_simulator(plan: &Plan, rows: &mut Vec<Row>) -> Outcome<()> {
    let names: Vec<_> = SIM.iter().filter(|n| plan.wants(n)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let program = sim::build(Some(&target()?))?;
    for name in names {
        add(rows, simulated(&program, ("simulator", name), plan)?);
    }
    Ok(())
}

/// The simulator of a source and its replicas.
fn by_cluster(plan: &Plan, rows: &mut Vec<Row>) -> Outcome<()> {
    let names: Vec<_> = CLUSTER.iter().filter(|n| plan.wants(n)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let program = sim::build_cluster(Some(&target()?))?;
    for name in names {
        add(rows, simulated(&program, ("cluster", name), plan)?);
    }
    Ok(())
}

fn simulated(
    program: &Path,
    (by, name): (&'static str, &'static str),
    plan: &Plan,
) -> Outcome<Row> {
    let begun = Instant::now();
    let said = step::quietly(
        Command::new(program)
            .args(["--seconds", &plan.each.to_string(), "--stop", "--seed", "1"])
            .args(["--threads", &plan.threads.to_string()])
            .env(VARIABLE, name),
    )?;
    let failed = said.text.lines().find(|l| l.starts_with("FAIL v"));
    let how = failed.map(|l| l.split_once(": ").map_or(l, |x| x.1).to_string());
    let counts = |l: &&str| l.ends_with(" seeds") || l.ends_with(" histories");
    let seeds = said.text.lines().find(counts).unwrap_or_default();
    let seeds = seeds.split_whitespace().next().unwrap_or_default();
    Ok(Row {
        name,
        by,
        how,
        seconds: begun.elapsed().as_secs_f64(),
        tries: seeds.to_owned(),
    })
}

/// One test of a test program, ended after so many seconds: a bug may well be that something waits for ever.
fn test(
    program: &Path,
    name: &str,
    seconds: u64,
    bug: Option<&str>,
    seed: u64,
) -> Outcome<step::Output> {
    let mut run = Command::new("timeout");
    run.args(["--kill-after=5", &seconds.to_string()])
        .arg(program)
        .args(["--exact", name])
        .env(seeds::VARIABLE, seed.to_string())
        .env(
            "LOOM_MAX_PREEMPTIONS",
            (PREEMPTIONS - u32::from(bug.is_none())).to_string(),
        );
    if let Some(bug) = bug {
        run.env(VARIABLE, bug);
    }
    let said = step::quietly(&mut run)?;
    match said.text.contains("running 1 test") {
        true => Ok(said),
        false => Err(format!("there is no test {name} in {}", program.display())),
    }
}

/// What a test said that failed.
fn reason(text: &str) -> String {
    let mut lines = text.lines().skip_while(|l| !l.contains(" panicked at "));
    let (at, why) = (lines.next(), lines.next());
    match (at.and_then(|l| l.split_once(" panicked at ")), why) {
        // Not where in somebody else's crate.
        (Some((_, at)), Some(why)) if at.starts_with('/') => why.trim().to_owned(),
        (Some((_, at)), Some(why)) => format!("{at} {}", why.trim()),
        _ => "it did not come to its end".to_owned(),
    }
}

fn by_stress(plan: &Plan, rows: &mut Vec<Row>) -> Outcome<()> {
    let of = ["--package", "engine", "--test", "stress_promises"];
    by_tests(plan, rows, ("threads", STRESS), &of)
}

fn by_statements(plan: &Plan, rows: &mut Vec<Row>) -> Outcome<()> {
    let of = ["--package", "sql", "--lib"];
    by_tests(plan, rows, ("statement", STATEMENTS), &of)
}

fn by_binlog(plan: &Plan, rows: &mut Vec<Row>) -> Outcome<()> {
    let of = ["--package", "replication", "--lib"];
    by_tests(plan, rows, ("binlog", BINLOG), &of)
}

fn by_backup(plan: &Plan, rows: &mut Vec<Row>) -> Outcome<()> {
    let of = ["--package", "engine", "--test", "stress_backup"];
    by_tests(plan, rows, ("backup", BACKUP), &of)
}

fn by_replica(plan: &Plan, rows: &mut Vec<Row>) -> Outcome<()> {
    let of = ["--package", "replication", "--test", "suite"];
    by_tests(plan, rows, ("replica", REPLICA), &of)
}

fn by_waits(plan: &Plan, rows: &mut Vec<Row>) -> Outcome<()> {
    let all: Vec<_> = WAITS.iter().chain(WAITS_OUTSIDE).collect();
    by_programs(plan, rows, "waits", &all)
}

fn by_space(plan: &Plan, rows: &mut Vec<Row>) -> Outcome<()> {
    by_programs(plan, rows, "space", &SPACE.iter().collect::<Vec<_>>())
}

/// Bugs of several test programs: the bug, the crate, the program and the test.
type OfPrograms = (&'static str, &'static str, &'static str, &'static str);

fn by_programs(
    plan: &Plan,
    rows: &mut Vec<Row>,
    by: &'static str,
    all: &[&'static OfPrograms],
) -> Outcome<()> {
    let programs: BTreeSet<_> = all.iter().map(|w| (w.1, w.2)).collect();
    for (package, program) in programs {
        let its = all.iter().filter(|w| (w.1, w.2) == (package, program));
        let its: Vec<_> = its.map(|w| (w.0, w.3)).collect();
        let of: &[&str] = match program {
            "lib" => &["--package", package, "--lib"],
            _ => &["--package", package, "--test", program],
        };
        by_tests(plan, rows, (by, &its), of)?;
    }
    Ok(())
}

/// Runs the tests of one program, each with its bug, until they fail.
fn by_tests(
    plan: &Plan,
    rows: &mut Vec<Row>,
    (by, list): (&'static str, &[(&'static str, &'static str)]),
    of: &[&str],
) -> Outcome<()> {
    let wanted: Vec<_> = list.iter().filter(|s| plan.wants(s.0)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut build = workspace::cargo();
    build
        .args(["test", "--profile", "sim", "--no-run"])
        .args(of)
        .env("CARGO_TARGET_DIR", target()?)
        .env("RUSTFLAGS", sim::MUTANTS);
    let program = models::programs(&mut build)?;
    let [(_, program)] = &program[..] else {
        return Err("one test program was to be built".to_owned());
    };
    for (name, what) in wanted {
        let sound = test(program, what, plan.each, None, 1)?;
        if !sound.success {
            return Err(format!("{what} fails without a bug:\n{}", sound.text));
        }
        let begun = Instant::now();
        let mut tries = 0;
        let how = loop {
            if begun.elapsed().as_secs() >= plan.each {
                break None;
            }
            tries += 1;
            // All the time for each: one that is ended because it has no more would count as a find.
            let said = test(program, what, plan.each, Some(name), tries)?;
            if !said.success {
                break Some(format!("{what}: {}", reason(&said.text)));
            }
        };
        let seconds = begun.elapsed().as_secs_f64();
        let tries = tries.to_string();
        add(
            rows,
            Row {
                name,
                by,
                how,
                seconds,
                tries,
            },
        );
    }
    Ok(())
}

/// The cases are one test, which runs the files of a name.
fn by_cases(plan: &Plan, rows: &mut Vec<Row>) -> Outcome<()> {
    let wanted: Vec<_> = CASES.iter().filter(|c| plan.wants(c.0)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut build = workspace::cargo();
    build
        .args(["test", "--profile", "sim", "--package", "tidemill"])
        .args(["--test", "sql", "--no-run"])
        .env("CARGO_TARGET_DIR", target()?)
        .env("RUSTFLAGS", sim::MUTANTS);
    let program = models::programs(&mut build)?;
    let [(_, program)] = &program[..] else {
        return Err("one test program was to be built".to_owned());
    };
    for (name, file) in wanted {
        let run = |bug: Option<&str>| -> Outcome<step::Output> {
            let mut run = Command::new("timeout");
            run.args(["--kill-after=5", &plan.each.to_string()])
                .arg(program)
                .env("SLT_ONLY", file);
            if let Some(bug) = bug {
                run.env(VARIABLE, bug);
            }
            step::quietly(&mut run)
        };
        let sound = run(None)?;
        if !sound.success {
            return Err(format!("{file} fails without a bug:\n{}", sound.text));
        }
        let begun = Instant::now();
        let said = run(Some(name))?;
        add(
            rows,
            Row {
                name,
                by: "cases",
                how: (!said.success).then(|| (*file).to_owned()),
                seconds: begun.elapsed().as_secs_f64(),
                tries: "1".to_owned(),
            },
        );
    }
    Ok(())
}

fn by_models(plan: &Plan, rows: &mut Vec<Row>) -> Outcome<()> {
    let wanted: Vec<_> = MODELS.iter().filter(|m| plan.wants(m.0)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let programs = models::built()?;
    for (name, package, model) in wanted {
        let of_package = |p: &&(String, PathBuf)| p.0 == *package;
        let Some((_, program)) = programs.iter().find(of_package) else {
            return Err(format!("no models of {package} were built"));
        };
        let sound = test(program, model, plan.each, None, 1)?;
        if !sound.success {
            return Err(format!("{model} fails without a bug:\n{}", sound.text));
        }
        let begun = Instant::now();
        let said = test(program, model, plan.each, Some(name), 1)?;
        let short = model.rsplit("::").next().unwrap_or(model);
        let how = (!said.success).then(|| format!("{short}: {}", reason(&said.text)));
        let seconds = begun.elapsed().as_secs_f64();
        add(
            rows,
            Row {
                name,
                by: "model",
                how,
                seconds,
                tries: "1".to_owned(),
            },
        );
    }
    Ok(())
}
