//! `cargo xtask differential`: random statements, asked of MariaDB too, and of ourselves in two ways.
//!
//! A statement is a frame ([`frames`]) filled with expressions of the grammar ([`catalog`], [`words`]). The answers must be alike in rows,
//! types, errors and warnings. What differs is made smaller and looked up in the list of documented differences; what is not in it makes the
//! run fail. It never judges by itself who is right: that is a line of the list, with its reason.

mod case;
mod catalog;
mod documented;
mod frames;
mod groups;
mod kept;
mod node;
mod pattern;
mod peer;
mod relation;
mod typed;
mod words;

use case::Case;
use documented::Line;
use frames::{FRAMES, Judge};
use harness::args::Args;
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

/// Kinds of differences that are shown in full.
const SHOWN: usize = 400;

/// What is run.
struct Plan {
    statements: u64,
    seed: u64,
    area: String,
    only: Option<u64>,
    alone: bool,
    /// Where every difference is written to, for whoever works on the list.
    list: Option<String>,
    /// A file that was so written, to which the list is held again; nothing is run.
    judge: Option<String>,
}

/// The command.
pub fn command(args: &Args) -> Outcome<()> {
    let plan = Plan {
        statements: args.get("statements", 100_000)?,
        seed: args.get("seed", rng::fresh_seed())?,
        area: args.get("area", String::new())?,
        only: Some(args.get("case", u64::MAX)?).filter(|n| *n != u64::MAX),
        alone: args.switch("alone")?,
        list: Some(args.get("list", String::new())?).filter(|path| !path.is_empty()),
        judge: Some(args.get("judge", String::new())?).filter(|path| !path.is_empty()),
    };
    args.refuse_unread()?;
    if !plan.area.is_empty() && !FRAMES.iter().any(|f| f.area == plan.area) {
        let areas: Vec<&str> = FRAMES.iter().map(|f| f.area).collect();
        return Err(format!(
            "no area '{}'; there are {}",
            plan.area,
            areas.join(", ")
        ));
    }
    match &plan.judge {
        Some(path) => judged(&plan, path),
        None => run(&plan),
    }
}

/// Holds the list to differences of a file.
fn judged(plan: &Plan, path: &str) -> Outcome<()> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let mut found = Found {
        documented: documented::read()?,
        unknown: BTreeMap::new(),
        list: plan.list.as_deref().map(created).transpose()?,
    };
    for line in text.lines() {
        let (number, case, difference) = kept::read(line)?;
        found.note(plan, number, &case, &difference)?;
    }
    found.told(0)
}

/// The share of the tests.
pub fn short() -> Outcome<()> {
    run(&Plan {
        statements: SHARE,
        seed: SHARE_SEED,
        area: String::new(),
        only: None,
        alone: false,
        list: None,
        judge: None,
    })
}

fn run(plan: &Plan) -> Outcome<()> {
    let mut scratch = Scratch::new("differential")?;
    let result = serve(plan, &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

fn serve(plan: &Plan, scratch: &Scratch) -> Outcome<()> {
    let start = |kind| -> Outcome<Server> {
        Setup::new(kind, scratch.path())?
            .option("innodb-buffer-pool-size=64M")
            .option("innodb-flush-log-at-trx-commit=0")
            .option("character-set-server=utf8mb4")
            .option("collation-server=utf8mb4_general_ci")
            .start()
    };
    let mut server = start(Kind::Tidemill)?;
    let mut ours = Peer::open(server.setup())?;
    let beside = if plan.alone {
        None
    } else {
        Some(start(Kind::MariaDb)?)
    };
    let mut theirs = match &beside {
        Some(beside) => Some(Peer::open(beside.setup())?),
        None => None,
    };
    step::announce(&format!(
        "{} random statements, seed {}{}",
        plan.statements,
        plan.seed,
        if plan.alone { "" } else { ", beside MariaDB" }
    ));
    let mut found = Found {
        documented: documented::read()?,
        unknown: BTreeMap::new(),
        list: plan.list.as_deref().map(created).transpose()?,
    };
    let result = cases(plan, &mut ours, theirs.as_mut(), &mut found);
    // A server that went is a finding, whatever else there is.
    server.must_run()?;
    let statements = result?;
    server.terminate()?;
    found.told(statements)
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
    plan: &Plan,
    ours: &mut Peer,
    mut theirs: Option<&mut Peer>,
    found: &mut Found,
) -> Outcome<u64> {
    let mut statements = 0;
    let mut number = plan.only.unwrap_or(0);
    while statements < plan.statements {
        let case = Case::of(plan.seed, number, &plan.area).ok_or("no frame")?;
        statements += case.frame.steps.len() as u64;
        if let Some(difference) = case.run(ours, theirs.as_deref_mut())? {
            let (case, difference) = case.shrunk(difference, ours, theirs.as_deref_mut())?;
            found.note(plan, number, &case, &difference)?;
        }
        if plan.only.is_some() {
            break;
        }
        number += 1;
    }
    Ok(statements)
}

impl Found {
    fn note(
        &mut self,
        plan: &Plan,
        number: u64,
        case: &Case,
        found: &case::Difference,
    ) -> Outcome<()> {
        let line = documented::find(&mut self.documented, case, found);
        if let Some(list) = &mut self.list {
            let at = line.as_ref().map_or(0, |line| line.number);
            kept::write(list, at, number, case, found).map_err(|e| format!("--list: {e}"))?;
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
                plan.seed,
                found.told
            );
            (0, told)
        });
        entry.0 += 1;
        Ok(())
    }

    fn told(&self, statements: u64) -> Outcome<()> {
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for line in self.documented.iter().filter(|l| l.used > 0) {
            *reasons.entry(&line.why).or_default() += line.used;
        }
        for (why, count) in &reasons {
            println!("    {count} documented: {why}");
        }
        let mut unknown: Vec<&(u64, String)> = self.unknown.values().collect();
        unknown.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        for (count, told) in unknown.iter().take(SHOWN) {
            println!("\n{count} x {told}");
        }
        if unknown.len() > SHOWN {
            println!("\n… and {} kinds more", unknown.len() - SHOWN);
        }
        let documented: u64 = reasons.values().sum();
        println!("    {statements} statements, {documented} documented differences");
        match self.unknown.len() {
            0 => Ok(()),
            n => Err(format!(
                "{n} kinds of differences that no line of documented.txt explains"
            )),
        }
    }
}
