//! `cargo xtask differential`: random statements, asked of MariaDB too, and of ourselves in two ways. With `--joins` they are those of
//! [`joins`]: queries over random tables; with `--schema` those of [`schema`]: constraints, views and changes of them. The others are about
//! expressions.
//!
//! A statement is a frame ([`frames`]) filled with expressions of the grammar ([`catalog`], [`words`]). The answers must be alike in rows,
//! types, errors and warnings. What differs is made smaller and looked up in the list of documented differences; what is not in it makes the
//! run fail. It never judges by itself who is right: that is a line of the list, with its reason.

mod case;
mod catalog;
mod difference_file;
mod documented;
mod frames;
mod glob;
mod groups;
mod joins;
mod node;
mod pattern;
mod peer;
mod relation;
mod schema;
mod typed;
mod words;

use case::Case;
use documented::Line;
use frames::{FRAMES, Judge};
use harness::rng;
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use peer::Peer;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;

/// The seed of the share of the tests.
const SHARE_SEED: u64 = 26;

/// The statements of that share.
const SHARE: u64 = 20_000;

/// The seed of the share of `--joins`.
const JOINS_SHARE_SEED: u64 = 28;

/// The statements of that share.
const JOINS_SHARE: u64 = 3_000;

/// The seed of the share of `--schema`.
const SCHEMA_SHARE_SEED: u64 = 45;

/// The statements of that share.
const SCHEMA_SHARE: u64 = 3_000;

/// Kinds of differences that are shown in full.
const SHOWN: usize = 400;

/// What is run.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// How many statements.
    #[arg(long, default_value_t = 100_000)]
    statements: u64,
    /// Where the random numbers come from; a new seed each time without it.
    #[arg(long, default_value_t = rng::fresh_seed(), hide_default_value = true)]
    seed: u64,
    /// Joins, subqueries and groups over random tables, each also under other plans, instead of expressions.
    #[arg(long)]
    joins: bool,
    /// Views, foreign keys, CHECK constraints and generated columns, and changes of them, instead of expressions.
    #[arg(long, conflicts_with = "joins")]
    schema: bool,
    /// Of `--joins` and `--schema`: clients at once.
    #[arg(long, default_value_t = 2, value_name = "NUMBER")]
    clients: u64,
    /// Statements of this area alone.
    #[arg(long, default_value = "", hide_default_value = true)]
    area: String,
    /// The statement of this number alone (of `--schema`: the block of statements), made small.
    #[arg(long = "case", value_name = "NUMBER")]
    only: Option<u64>,
    /// Without MariaDB.
    #[arg(long)]
    alone: bool,
    /// Write every difference to this file, with the line that documents it.
    #[arg(long, value_name = "FILE")]
    list: Option<String>,
    /// Hold the list to the differences of this file again; no statement is run.
    #[arg(long, value_name = "FILE")]
    judge: Option<String>,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    if !options.area.is_empty() && !FRAMES.iter().any(|f| f.area == options.area) {
        let areas: Vec<&str> = FRAMES.iter().map(|f| f.area).collect();
        return Err(format!(
            "no area '{}'; there are {}",
            options.area,
            areas.join(", ")
        ));
    }
    match &options.judge {
        Some(path) => judged(options, path),
        None => run(options),
    }
}

/// Holds the list to differences of a file.
fn judged(options: &Options, path: &str) -> Outcome<()> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let mut found = Found {
        documented: documented::read()?,
        unknown: BTreeMap::new(),
        list: options.list.as_deref().map(created).transpose()?,
    };
    for line in text.lines() {
        let (number, case, difference) = difference_file::read(line)?;
        found.note(options, number, &case, &difference)?;
    }
    found.report(0)
}

/// The share of the tests.
pub fn short() -> Outcome<()> {
    let expressions = Options {
        statements: SHARE,
        seed: SHARE_SEED,
        joins: false,
        schema: false,
        clients: 2,
        area: String::new(),
        only: None,
        alone: false,
        list: None,
        judge: None,
    };
    run(&expressions)?;
    run(&Options {
        statements: JOINS_SHARE,
        seed: JOINS_SHARE_SEED,
        joins: true,
        ..expressions.clone()
    })?;
    run(&Options {
        statements: SCHEMA_SHARE,
        seed: SCHEMA_SHARE_SEED,
        schema: true,
        ..expressions
    })
}

fn run(options: &Options) -> Outcome<()> {
    let mut scratch = Scratch::new("differential")?;
    let result = serve(options, &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

fn serve(options: &Options, scratch: &Scratch) -> Outcome<()> {
    let start = |kind| -> Outcome<Server> {
        Setup::new(kind, scratch.path())?
            .option("innodb-buffer-pool-size=64M")
            .option("innodb-flush-log-at-trx-commit=0")
            .option_of(Kind::MariaDb, "innodb-flush-method=nosync")
            .option("character-set-server=utf8mb4")
            .option("collation-server=utf8mb4_general_ci")
            .start()
    };
    let mut server = start(Kind::Tidemill)?;
    let mut ours = Peer::open(server.setup())?;
    let peer = if options.alone {
        None
    } else {
        Some(start(Kind::MariaDb)?)
    };
    let mut theirs = match &peer {
        Some(peer) => Some(Peer::open(peer.setup())?),
        None => None,
    };
    step::announce(&format!(
        "{} random statements, seed {}{}",
        options.statements,
        options.seed,
        if options.alone {
            ""
        } else {
            ", beside MariaDB"
        }
    ));
    if options.schema {
        let run = schema::Run {
            statements: options.statements,
            seed: options.seed,
            only: options.only,
            clients: options.clients,
        };
        let peer = peer.map(joins::PeerServer::new);
        let result = schema::run(&run, server.setup(), peer.as_ref());
        server.must_run()?;
        result?;
        return server.terminate();
    }
    if options.joins {
        let run = joins::Run {
            statements: options.statements,
            seed: options.seed,
            only: options.only,
            clients: options.clients,
        };
        let peer = peer.map(joins::PeerServer::new);
        let result = joins::run(&run, server.setup(), peer.as_ref());
        server.must_run()?;
        result?;
        return server.terminate();
    }
    let mut found = Found {
        documented: documented::read()?,
        unknown: BTreeMap::new(),
        list: options.list.as_deref().map(created).transpose()?,
    };
    let result = cases(options, &mut ours, theirs.as_mut(), &mut found);
    // A server that went is a finding, whatever else there is.
    server.must_run()?;
    let statements = result?;
    server.terminate()?;
    found.report(statements)
}

/// What came of a run.
struct Found {
    documented: Vec<Line>,
    /// By their shapes: how many, and the first of them.
    unknown: BTreeMap<String, (u64, String)>,
    /// Of `--list`.
    list: Option<BufWriter<File>>,
}

fn created(path: &str) -> Outcome<BufWriter<File>> {
    let file = File::create(path).map_err(|e| format!("{path}: {e}"))?;
    Ok(BufWriter::new(file))
}

fn cases(
    options: &Options,
    ours: &mut Peer,
    mut theirs: Option<&mut Peer>,
    found: &mut Found,
) -> Outcome<u64> {
    let mut statements = 0;
    let mut number = options.only.unwrap_or(0);
    while statements < options.statements {
        let case = Case::of(options.seed, number, &options.area).ok_or("no frame")?;
        statements += case.frame.steps.len() as u64;
        if let Some(difference) = case.run(ours, theirs.as_deref_mut())? {
            let (case, difference) = case.shrunk(difference, ours, theirs.as_deref_mut())?;
            found.note(options, number, &case, &difference)?;
        }
        if options.only.is_some() {
            break;
        }
        number += 1;
    }
    Ok(statements)
}

impl Found {
    fn note(
        &mut self,
        options: &Options,
        number: u64,
        case: &Case,
        found: &case::Difference,
    ) -> Outcome<()> {
        let line = documented::find(&mut self.documented, case, found);
        if let Some(list) = &mut self.list {
            let at = line.as_ref().map_or(0, |line| line.number);
            difference_file::write(list, at, number, case, found)
                .map_err(|e| format!("--list: {e}"))?;
        }
        if let Some(line) = line {
            line.used += 1;
            return Ok(());
        }
        let key = format!("{} {}", found.aspect.name(), case.shape());
        let entry = self.unknown.entry(key).or_insert_with(|| {
            let beside = match case.frame.judge {
                Judge::Peer => "beside MariaDB",
                Judge::Same | Judge::Parts => "by itself",
            };
            let told = format!(
                "[{}] differs in {} {beside} (--seed {} --case {number})\n  {}",
                case.frame.area,
                found.aspect.name(),
                options.seed,
                found.told
            );
            (0, told)
        });
        entry.0 += 1;
        Ok(())
    }

    fn report(&self, statements: u64) -> Outcome<()> {
        let used = || self.documented.iter().filter(|l| l.used > 0);
        for line in used() {
            println!("    {} documented by {}", line.used, line.named());
        }
        let mut unknown: Vec<&(u64, String)> = self.unknown.values().collect();
        unknown.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        for (count, told) in unknown.iter().take(SHOWN) {
            println!("\n{count} x {told}");
        }
        if unknown.len() > SHOWN {
            println!("\n… and {} kinds more", unknown.len() - SHOWN);
        }
        let documented: u64 = used().map(|l| l.used).sum();
        println!("    {statements} statements, {documented} documented differences");
        match self.unknown.len() {
            0 => Ok(()),
            n => Err(format!(
                "{n} kinds of differences that no line of documented.txt explains"
            )),
        }
    }
}
