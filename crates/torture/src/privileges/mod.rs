//! `cargo xtask privileges`: who may do what, tried from outside.
//!
//! The matrix sends every statement of `tests/privileges/statements.txt` as every account of `grants.txt`, through every
//! protocol, and holds the answers to the rules beside the statements, which follow MySQL 8.0's manual. MariaDB is asked the same;
//! where its answers differ, `mariadb.txt` has the reason. It never looks at how the server decides.

mod data;
mod deal;
mod fuzz;
mod held;
mod items;
mod judge;
mod mariadb;
mod matrix;
mod protocols;
mod rule;
mod scenario;
mod world;

use data::{Grant, Statement};
use harness::rng;
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use judge::{Expected, Verdict, Wrong};
use mariadb::Answers;
use protocols::Protocol;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// What is asked for.
#[derive(Debug, Clone)]
struct Plan {
    kind: Kind,
    /// Ask MariaDB too.
    beside: bool,
    /// Only grants and statements whose names contain these.
    grant: String,
    statement: String,
    /// No statements whose names contain one of these: what a server that lets it happen does not survive.
    skip: Vec<String>,
}

impl Plan {
    /// Is the statement one of those that were asked for?
    fn asks(&self, statement: &Statement) -> bool {
        let name = &statement.name;
        name.contains(&self.statement) && !self.skip.iter().any(|part| name.contains(part))
    }
}

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The server program.
    #[arg(long, value_enum, default_value_t = Kind::Tidemill)]
    server: Kind,
    /// Without MariaDB beside it.
    #[arg(long)]
    alone: bool,
    /// The matrix alone.
    #[arg(long)]
    matrix: bool,
    /// Only grants whose names contain this.
    #[arg(long, default_value = "", hide_default_value = true)]
    grant: String,
    /// Only statements whose names contain this.
    #[arg(long, default_value = "", hide_default_value = true)]
    statement: String,
    /// No statements whose names contain one of these.
    #[arg(long, value_delimiter = ',', value_name = "PARTS")]
    skip: Vec<String>,
    /// The scenarios alone.
    #[arg(long)]
    scenarios: bool,
    /// Only scenarios whose names contain this.
    #[arg(long, default_value = "", hide_default_value = true)]
    scenario: String,
    /// Random accounts and statements for so many seconds, and nothing else.
    #[arg(
        long,
        default_value_t = 0,
        hide_default_value = true,
        value_name = "SECONDS"
    )]
    fuzz: u64,
    /// Where the random numbers come from; a new seed each time without it.
    #[arg(long, default_value_t = rng::fresh_seed(), hide_default_value = true)]
    seed: u64,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let plan = Plan {
        kind: options.server,
        beside: !options.alone,
        grant: options.grant.clone(),
        statement: options.statement.clone(),
        skip: options.skip.clone(),
    };
    if options.fuzz > 0 {
        let until = Until::Time(Duration::from_secs(options.fuzz));
        return kept(|scratch| fuzzed(scratch, &plan, until, options.seed));
    }
    if options.scenarios || !options.scenario.is_empty() {
        return kept(|scratch| stories(scratch, &options.scenario));
    }
    let part = options.matrix || !(plan.grant.is_empty() && plan.statement.is_empty());
    kept(|scratch| whole(&plan, scratch))?;
    if part || plan.kind != Kind::Tidemill {
        return Ok(());
    }
    kept(|scratch| stories(scratch, ""))
}

/// The share of every run of the tests: all but the long hours of the fuzzer.
pub fn short() -> Outcome<()> {
    let plan = Plan {
        kind: Kind::Tidemill,
        beside: true,
        grant: String::new(),
        statement: String::new(),
        skip: Vec::new(),
    };
    kept(|scratch| whole(&plan, scratch))?;
    kept(|scratch| stories(scratch, ""))?;
    kept(|scratch| fuzzed(scratch, &plan, Until::Worlds(2), FIXED_SEED))
}

/// Where the fuzzer begins in every run of the tests: one world with partial revokes, one without.
const FIXED_SEED: u64 = 25;

/// The steps of one world of the fuzzer, some ten seconds; then a new one begins, with the next seed. They are counted and not timed,
/// so that a seed says the same on every machine.
const WORLD: u32 = 30_000;

/// When the fuzzer ends.
#[derive(Debug, Clone, Copy)]
enum Until {
    /// After so many worlds.
    Worlds(u32),
    /// With the first world that ends after this.
    Time(Duration),
}

/// Runs the fuzzer.
fn fuzzed(scratch: &Scratch, plan: &Plan, until: Until, seed: u64) -> Outcome<()> {
    step::announce(&format!("random accounts, {until:?}, --seed {seed}"));
    let mut server = server(Kind::Tidemill, scratch.path())?;
    let setup = server.setup().clone();
    let mut statements = data::statements(&data::text("statements.txt")?)?;
    statements.retain(|s| plan.asks(s));
    let mut fixture = matrix::Fixture::new(&setup, &data::text("fixture.sql")?, false)?;
    let begun = Instant::now();
    let mut total = fuzz::Done::default();
    for (world, seed) in (seed..).enumerate() {
        let over = match until {
            Until::Worlds(n) => world as u64 >= u64::from(n),
            Until::Time(limit) => begun.elapsed() >= limit,
        };
        if over {
            break;
        }
        let done = fuzz::run(&mut fixture, &statements, seed, WORLD)
            .map_err(|why| format!("{why}\n(repeat with --seed {seed})"))?;
        total.changes += done.changes;
        total.tries += done.tries;
        total.refused += done.refused;
    }
    println!(
        "    {} changes of accounts, {} statements tried, {} of them refused as they must be",
        total.changes, total.tries, total.refused
    );
    drop(fixture);
    server.must_run()?;
    server.terminate()
}

/// Plays the scenarios, then what is an item of its own.
fn stories(scratch: &Scratch, only: &str) -> Outcome<()> {
    let mut server = server(Kind::Tidemill, scratch.path())?;
    let mut failed = Vec::new();
    for file in ["items.scenario", "features.scenario"] {
        step::announce(file);
        let all = scenario::parse(&data::text(file)?)?;
        for scenario in all.iter().filter(|s| s.name.contains(only)) {
            match scenario::play(server.setup(), scenario) {
                Ok(()) => println!("    {}", scenario.name),
                Err(why) => {
                    println!("    {}: FAILED: {why:.400}", scenario.name);
                    failed.push(scenario.name.clone());
                    // What a failure leaves may be in the way of all that follows.
                    drop(server);
                    let fresh = scratch.path().join(format!("after-{}", failed.len()));
                    std::fs::create_dir(&fresh).map_err(|e| e.to_string())?;
                    server = self::server(Kind::Tidemill, &fresh)?;
                }
            }
        }
    }
    server.must_run()?;
    server.terminate()?;
    step::announce("items");
    failed.extend(items::run(scratch.path(), only)?);
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("scenarios: {}", failed.join("; "))),
    }
}

/// Runs in a scratch directory that stays where something failed.
fn kept(run: impl FnOnce(&Scratch) -> Outcome<()>) -> Outcome<()> {
    let mut scratch = Scratch::new("privileges")?;
    let result = run(&scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

/// A server of this kind for these tests.
fn server(kind: Kind, dir: &Path) -> Outcome<Server> {
    Setup::new(kind, dir)?
        .option("innodb-flush-log-at-trx-commit=0")
        .option("innodb-buffer-pool-size=64M")
        .start()
}

fn whole(plan: &Plan, scratch: &Scratch) -> Outcome<()> {
    let mut grants = data::grants(&data::text("grants.txt")?)?;
    let mut statements = data::statements(&data::text("statements.txt")?)?;
    grants.retain(|g| g.name.contains(&plan.grant));
    statements.retain(|s| plan.asks(s));
    let mut failed = Vec::new();
    one(plan.kind, false, &grants, &statements, scratch, &mut failed)?;
    if plan.beside {
        let kind = Kind::MariaDb;
        let theirs = one(kind, true, &grants, &statements, scratch, &mut Vec::new())?;
        let all = plan.grant.is_empty() && plan.statement.is_empty() && plan.skip.is_empty();
        failed.extend(mariadb::compare(&theirs, all)?);
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("privileges: {}", failed.join("; "))),
    }
}

/// The matrix on one server.
fn one<'d>(
    kind: Kind,
    text_only: bool,
    grants: &'d [Grant],
    statements: &'d [Statement],
    scratch: &Scratch,
    failed: &mut Vec<String>,
) -> Outcome<Answers<'d>> {
    step::announce(&format!(
        "privileges on {}: {} grants, {} statements",
        kind.name(),
        grants.len(),
        statements.len()
    ));
    let begun = Instant::now();
    let mut server = server(kind, scratch.path())?;
    let setup = server.setup().clone();
    let mut tally = Tally::default();
    let fixture = data::text("fixture.sql")?;
    matrix::Fixture::new(&setup, &fixture, text_only)?.run(grants, statements, &mut tally)?;
    server.must_run()?;
    server.terminate()?;
    if kind == Kind::Tidemill || !text_only {
        tally.report();
        failed.extend(tally.failures());
    }
    println!("    {:.1} s", begun.elapsed().as_secs_f64());
    Ok(tally.answers)
}

/// What a report groups by: the kind of wrong, the statement, what came back.
type Group<'d> = (&'static str, &'d str, String);

/// What came of all cells.
#[derive(Debug, Default)]
struct Tally<'d> {
    cells: u64,
    absent: BTreeSet<&'d str>,
    wrong: BTreeMap<Group<'d>, (BTreeSet<&'static str>, BTreeSet<&'d str>)>,
    counts: BTreeMap<&'static str, u64>,
    unmade: Vec<(&'d str, String)>,
    answers: Answers<'d>,
}

impl<'d> matrix::Sink<'d> for Tally<'d> {
    fn cell(&mut self, cell: matrix::Cell<'d>) {
        let expected = Expected::of(cell.statement, &cell.grant.held);
        let verdict = judge::judge(cell.statement, &cell.grant.held, &expected, &cell.got);
        if cell.protocol == Protocol::Text {
            self.answers
                .note(cell.grant, cell.statement, &expected, &cell.got);
        }
        self.count(&cell, verdict);
    }

    fn unmade(&mut self, grant: &'d Grant, why: &str) {
        self.unmade.push((&grant.name, why.to_owned()));
    }
}

impl<'d> Tally<'d> {
    fn count(&mut self, cell: &matrix::Cell<'d>, verdict: Verdict) {
        self.cells += 1;
        match verdict {
            Verdict::Fine => {}
            Verdict::Absent => {
                if cell.protocol == Protocol::Text {
                    self.absent.insert(&cell.statement.name);
                }
            }
            Verdict::Wrong(wrong) => {
                *self.counts.entry(wrong.word()).or_default() += 1;
                let group = (wrong.word(), &*cell.statement.name, shortened(&wrong, cell));
                let entry = self.wrong.entry(group).or_default();
                entry.0.insert(cell.protocol.name());
                entry.1.insert(&cell.grant.name);
            }
        }
    }

    fn report(&self) {
        for (grant, why) in &self.unmade {
            println!("    UNMADE [{grant}]: {why}");
        }
        for ((word, statement, detail), (protocols, grants)) in &self.wrong {
            let protocols: Vec<&str> = protocols.iter().copied().collect();
            let some: Vec<&str> = grants.iter().take(8).copied().collect();
            let more = match grants.len() > some.len() {
                true => format!(" and {} more", grants.len() - some.len()),
                false => String::new(),
            };
            println!(
                "    {word} [{statement}] by {}: {detail}\n        as: {}{more}",
                protocols.join(", "),
                some.join("; ")
            );
        }
        println!("    {} cells; wrong: {:?}", self.cells, self.counts);
        if !self.absent.is_empty() {
            let absent: Vec<&str> = self.absent.iter().copied().collect();
            println!("    not there (1235): {}", absent.join("; "));
        }
    }

    fn failures(&self) -> Vec<String> {
        self.counts
            .iter()
            .map(|(word, n)| format!("{n} cells {word}"))
            .chain(
                (!self.unmade.is_empty()).then(|| format!("{} grants not made", self.unmade.len())),
            )
            .collect()
    }
}

/// The detail without the name of the account, which would make every line its own group.
fn shortened(wrong: &Wrong, cell: &matrix::Cell<'_>) -> String {
    let mut detail = wrong.detail().to_owned();
    if !matches!(cell.got, protocols::Got::Error(..)) {
        return detail;
    }
    for quote in ['\'', '`'] {
        let host = format!("{quote}@{quote}localhost{quote}");
        let from = detail.find(&format!("{quote}g"));
        if let (Some(from), Some(to)) = (from, detail.find(&host))
            && from < to
        {
            detail.replace_range(from + 1..to, "u");
        }
    }
    detail
}
