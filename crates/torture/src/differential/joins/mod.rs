//! `cargo xtask differential --joins`: random queries over random tables, beside MariaDB, and under other plans of our own.
//!
//! The rows of a query depend on nothing that it does not say. They must be MariaDB's, and they must be the same when
//! the query is asked again with hints, over tables without indexes, with little memory, or prepared. A statement that MariaDB itself answers
//! in two ways, by its own switches or when it is written in another way, is not judged by it.

mod case;
mod change;
mod condition;
mod expr;
mod from;
mod grower;
mod plans;
mod query;
mod schema;
mod shrink;
mod side;
mod tree;

use super::documented::{self, Line};
use base::lock::Mutex;
use case::{Against, BLOCK, Case, Difference, Verdict};
use harness::server::{Server, Setup};
use harness::step::Outcome;
use schema::Schema;
use shrink::Shrinking;
use side::{PEER, Side};
use std::collections::BTreeMap;
use tree::written;

/// Differences of one client after which it ends.
const MOST: u64 = 100;

/// So many statements are told when they are done.
const PROGRESS: u64 = 10_000;

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// How many statements.
    pub statements: u64,
    /// Where the random numbers come from.
    pub seed: u64,
    /// One statement alone.
    pub only: Option<u64>,
    /// Clients at once.
    pub clients: u64,
}

/// What came of a client's statements.
#[derive(Debug, Default)]
struct Tally {
    statements: u64,
    alike: u64,
    fallen: u64,
    undecided: u64,
    slow: u64,
    /// The numbers of statements that took ours too long.
    slow_ours: Vec<u64>,
    refused: BTreeMap<u16, u64>,
    documented: BTreeMap<String, u64>,
    /// By their shapes: how many, and the first.
    unknown: BTreeMap<String, (u64, String)>,
}

/// The other server, which is started again when a statement was too much for it.
#[derive(Debug)]
pub struct PeerServer {
    setup: Setup,
    /// It, and how often it was started again.
    server: Mutex<(Option<Server>, u64)>,
}

impl PeerServer {
    /// Around the server.
    pub fn new(server: Server) -> PeerServer {
        PeerServer {
            setup: server.setup().clone(),
            server: Mutex::new((Some(server), 0)),
        }
    }

    /// How it is started.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Starts it again, unless somebody did since it had been `known` times.
    pub fn again(&self, known: &mut u64) -> Outcome<()> {
        let mut server = self.server.lock();
        if server.1 == *known {
            // A server that nobody holds is killed.
            drop(server.0.take());
            server.0 = Some(self.setup.start()?);
            server.1 += 1;
        }
        *known = server.1;
        Ok(())
    }
}

/// Runs the statements against our server, and the other if there is one.
pub fn run(run: &Run, ours: &Setup, theirs: Option<&PeerServer>) -> Outcome<()> {
    let clients = if run.only.is_some() {
        1
    } else {
        run.clients.max(1)
    };
    let tallies: Vec<Outcome<Tally>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|number| scope.spawn(move || client(run, number, clients, ours, theirs)))
            .collect();
        let joined = threads.into_iter().map(|t| t.join());
        joined
            .map(|r| r.unwrap_or_else(|_| Err("a client panicked".to_owned())))
            .collect()
    });
    let mut all = Tally::default();
    for tally in tallies {
        all.add(tally?);
    }
    all.report()
}

/// A client with its connections.
struct Client<'c> {
    run: &'c Run,
    number: u64,
    ours: Side,
    theirs: Option<Side>,
    lines: Vec<Line>,
    tally: Tally,
}

fn client(
    run: &Run,
    number: u64,
    clients: u64,
    ours: &Setup,
    peer: Option<&PeerServer>,
) -> Outcome<Tally> {
    let other = || peer.map(|b| Side::open(&b.setup, number)).transpose();
    let mut client = Client {
        run,
        number,
        ours: Side::open(ours, number)?,
        theirs: other()?,
        lines: documented::read()?,
        tally: Tally::default(),
    };
    let mut starts = 0;
    let all = match run.only {
        Some(only) => only..only + 1,
        None => 0..run.statements,
    };
    let mut tables: Option<(u64, Schema)> = None;
    for at in all {
        let block = at / BLOCK;
        if run.only.is_none() && block % clients != client.number {
            continue;
        }
        let known = tables.take().filter(|t| t.0 == block);
        let new = known.is_none();
        let (_, schema) = known.unwrap_or_else(|| (block, case::schema(run.seed, block)));
        let mut result = if new { client.fill(&schema) } else { Ok(()) };
        if result.is_ok() {
            result = client.statement(at, &schema);
        }
        if let Err(e) = result {
            let Some(peer) = peer.filter(|_| e.starts_with(PEER)) else {
                return Err(e);
            };
            peer.again(&mut starts)?;
            client.tally.fallen += 1;
            client.theirs = other()?;
            client.fill(&schema)?;
        }
        if new && at / PROGRESS != at.saturating_sub(BLOCK * clients) / PROGRESS {
            println!("    … {at}");
        }
        tables = Some((block, schema));
        if client.tally.unknown.values().map(|u| u.0).sum::<u64>() >= MOST {
            break;
        }
    }
    Ok(client.tally)
}

impl Client<'_> {
    fn fill(&mut self, schema: &Schema) -> Outcome<()> {
        self.ours.fill(schema)?;
        match &mut self.theirs {
            Some(theirs) => theirs.fill(schema),
            None => Ok(()),
        }
    }

    fn statement(&mut self, at: u64, schema: &Schema) -> Outcome<()> {
        let case = Case::of(self.run.seed, at, schema);
        let verdict = case.judge(&mut self.ours, self.theirs.as_mut(), &self.lines)?;
        let tally = &mut self.tally;
        tally.statements += 1;
        match verdict {
            Verdict::Alike => tally.alike += 1,
            Verdict::Refused(code) => *tally.refused.entry(code).or_default() += 1,
            Verdict::Slow(false) => tally.slow += 1,
            Verdict::Slow(true) => {
                tally.slow_ours.push(at);
                if self.run.only.is_some() {
                    println!("slow: {}", case.sql());
                }
            }
            Verdict::Documented(why) => *tally.documented.entry(why).or_default() += 1,
            Verdict::Undecided => tally.undecided += 1,
            Verdict::Differs(found) => {
                let theirs = self.theirs.as_mut();
                let mut small =
                    Shrinking::new(&mut self.ours, theirs, &case, schema, *found, &self.lines);
                small.run()?;
                let (case, found, small) = (small.case, small.found, small.schema);
                tally.note(&self.lines, self.run.seed, at, &case, &small, &found);
                self.fill(schema)?;
            }
        }
        Ok(())
    }
}

impl Tally {
    fn note(
        &mut self,
        lines: &[Line],
        seed: u64,
        number: u64,
        case: &Case,
        schema: &Schema,
        found: &Difference,
    ) {
        let sql = case.sql();
        let area = match found.against {
            Against::Peer => "joins",
            Against::Way(_) => "joins-plans",
        };
        let said = |answer: &side::Answer| match found.aspect() {
            // Sorted, since few statements give an order.
            "text" => answer.compared(false, true).join(" / "),
            _ => answer.code.to_string(),
        };
        let (ours, other) = (said(&found.ours), said(&found.other));
        let line = documented::find_text(lines, [area, found.aspect(), &sql, &ours, &other]);
        if let Some(line) = line {
            *self.documented.entry(line.named()).or_default() += 1;
            return;
        }
        let key = format!("{area} {} {}", found.aspect(), shape(&sql));
        let entry = self.unknown.entry(key).or_insert_with(|| {
            let told = told(seed, number, case, schema, found);
            println!("{told}");
            (0, told)
        });
        entry.0 += 1;
    }

    fn add(&mut self, other: Tally) {
        self.statements += other.statements;
        self.alike += other.alike;
        self.fallen += other.fallen;
        self.undecided += other.undecided;
        self.slow += other.slow;
        self.slow_ours.extend(other.slow_ours);
        for (code, count) in other.refused {
            *self.refused.entry(code).or_default() += count;
        }
        for (why, count) in other.documented {
            *self.documented.entry(why).or_default() += count;
        }
        for (key, (count, told)) in other.unknown {
            self.unknown.entry(key).or_insert((0, told)).0 += count;
        }
    }

    fn report(&self) -> Outcome<()> {
        for (why, count) in &self.documented {
            println!("    {count} documented: {why}");
        }
        let refused: Vec<String> = self
            .refused
            .iter()
            .map(|(code, count)| format!("{count} of {code}"))
            .collect();
        println!(
            "    {} statements: {} alike in every way; errors that are alike: {}; {} that MariaDB answers in two ways; \
             left out for their time: {} by MariaDB's, {} by ours; \
             MariaDB started again: {}",
            self.statements,
            self.alike,
            if refused.is_empty() {
                "none".to_owned()
            } else {
                refused.join(", ")
            },
            self.undecided,
            self.slow,
            self.slow_ours.len(),
            self.fallen
        );
        let slow: Vec<String> = self.slow_ours.iter().take(20).map(u64::to_string).collect();
        if !slow.is_empty() {
            println!("    too slow for ours alone: cases {}", slow.join(", "));
        }
        match self.unknown.len() {
            0 => Ok(()),
            kinds => Err(format!(
                "{kinds} kinds of differences that no line of documented.txt explains, {} in all",
                self.unknown.values().map(|u| u.0).sum::<u64>()
            )),
        }
    }
}

/// The statement without its numbers and texts: what two differences of one kind have in common.
fn shape(sql: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for c in sql.chars() {
        match c {
            '\'' => quoted = !quoted,
            _ if quoted || c.is_ascii_digit() => {}
            c => out.push(c),
        }
    }
    out
}

/// A script that shows the difference, and both answers.
fn told(seed: u64, number: u64, case: &Case, schema: &Schema, found: &Difference) -> String {
    let kind = match found.against {
        Against::Peer => "differs from MariaDB",
        Against::Way(_) => "depends on the plan",
    };
    let mut out = format!(
        "\n[{kind}] in {} (--joins --seed {seed} --case {number})\n",
        found.aspect()
    );
    for table in &schema.tables {
        out.push_str(&format!("{};\n", table.create(true)));
        if let Some(insert) = table.insert() {
            out.push_str(&format!("{insert};\n"));
        }
    }
    out.push_str(&format!(
        "{};\n  ours:   {}\n",
        case.sql(),
        found.ours.told()
    ));
    match &found.against {
        Against::Peer => out.push_str(&format!("  theirs: {}", found.other.told())),
        Against::Way(way) => out.push_str(&format!(
            "  and:    {}\n  by:     {};   -- {}",
            found.other.told(),
            written(&case.part, &way.writing),
            way.told()
        )),
    }
    out
}
