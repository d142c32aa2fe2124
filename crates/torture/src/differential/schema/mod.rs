//! `cargo xtask differential --schema`: views, foreign keys, CHECK constraints and generated columns, changed in between, beside MariaDB.
//!
//! A block is a schema of its own and some hundred statements on it, one after the other: what one leaves is what the next one finds.
//! After each the answers must be alike, after some of them all rows of all tables, and at its end what the schema says of itself; our
//! indexes must agree with our rows then. What differs is made small by leaving out statements, and looked up in the list of documented
//! differences. It never goes on from two schemas that differ.

mod alter;
mod grow;
mod judge;
mod own;
mod rows;
mod script;
mod shrink;
mod side;
mod source;
mod tables;
mod views;
mod world;

use super::documented::{self, Line};
use super::joins::PeerServer;
use harness::server::{Kind, Setup};
use harness::step::Outcome;
use judge::{Difference, Two};
use script::{Dice, Statement};
use shrink::{Shrinking, documents};
use side::{PEER, Side};
use std::collections::BTreeMap;
use world::{Effect, World};

/// Statements of a block.
const BLOCK: u64 = 250;

/// After so many all tables are compared.
const CONTENTS: u64 = 10;

/// After so many ours are looked at by themselves.
const OWN: u64 = 60;

/// Differences of one client after which it ends.
const MOST: u64 = 60;

/// Why answers of MariaDB are not compared any more.
const DAMAGED: &str = "CHECK TABLE of MariaDB finds an index of its own damaged (over a virtual column, after a cascade and a statement that is taken back)";

/// So many statements are told when they are done.
const PROGRESS: u64 = 20_000;

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// How many statements.
    pub statements: u64,
    /// Where the random numbers come from.
    pub seed: u64,
    /// One block alone.
    pub only: Option<u64>,
    /// Clients at once.
    pub clients: u64,
}

/// What came of a client's statements.
#[derive(Debug, Default)]
struct Tally {
    statements: u64,
    refused: u64,
    blocks: u64,
    cut: u64,
    fallen: u64,
    documented: BTreeMap<String, u64>,
    /// By their kinds: how many, and the first.
    unknown: BTreeMap<String, (u64, String)>,
}

/// Runs the statements against our server, and the other if there is one.
pub fn run(run: &Run, ours: &Setup, theirs: Option<&PeerServer>) -> Outcome<()> {
    let clients = match run.only {
        Some(_) => 1,
        None => run.clients.max(1),
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
    two: Two,
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
    let other = || peer.map(|b| Side::open(b.setup(), number)).transpose();
    let mut client = Client {
        run,
        two: Two {
            ours: Side::open(ours, number)?,
            theirs: other()?,
        },
        lines: documented::read()?,
        tally: Tally::default(),
    };
    let mut starts = 0;
    let mut block = run.only.unwrap_or(number);
    while client.tally.statements < run.statements.div_ceil(clients) {
        let before = client.tally.statements / PROGRESS;
        let most = run.statements.div_ceil(clients) - client.tally.statements;
        if let Err(e) = client.block(block, most) {
            let Some(peer) = peer.filter(|_| e.starts_with(PEER)) else {
                return Err(e);
            };
            println!("    MariaDB fell in block {block}: {e}");
            peer.again(&mut starts)?;
            client.tally.fallen += 1;
            client.two.theirs = other()?;
        }
        client.tally.blocks += 1;
        if number == 0 && client.tally.statements / PROGRESS != before {
            println!("    … {}", client.tally.statements * clients);
        }
        let found: u64 = client.tally.unknown.values().map(|u| u.0).sum();
        if run.only.is_some() || found >= MOST {
            break;
        }
        block += clients;
    }
    Ok(client.tally)
}

impl Client<'_> {
    /// A block of at most `most` statements.
    fn block(&mut self, number: u64, most: u64) -> Outcome<()> {
        let mut dice = Dice::of(self.run.seed, number);
        let mut world = World::default();
        let mut script: Vec<Statement> = Vec::new();
        self.two.fresh()?;
        for at in 0..BLOCK.min(most) {
            let (statement, effect) = grow::next(&mut dice, &mut world, at);
            if self.run.only.is_some() {
                println!("{};", statement.text(Kind::Tidemill));
            }
            script.push(statement.clone());
            let ran = self.two.run(&statement)?;
            self.tally.statements += 1;
            self.tally.refused += u64::from(!ran.taken);
            let compares = at % CONTENTS == CONTENTS - 1;
            if let Some(found) = ran.difference {
                // Of what is documented the rows decide whether both go on.
                let comparable = found.comparable(&statement);
                let goes_on = !self.differs(number, &script, &world, found)?
                    && comparable
                    && self.two.contents(&world.names())?.is_none();
                if !goes_on {
                    self.tally.cut += 1;
                    return Ok(());
                }
            }
            if ran.taken {
                world.apply(effect);
            }
            let due = !world.open && at % OWN >= OWN - 6;
            if self.compared(number, &script, &world, compares, due)? {
                self.tally.cut += 1;
                return Ok(());
            }
        }
        for sql in ["COMMIT", "SET foreign_key_checks = 1"] {
            let statement = Statement::plain(sql);
            self.two.run(&statement)?;
            script.push(statement);
        }
        world.apply(Effect::End);
        if self.compared(number, &script, &world, true, true)? {
            return Ok(());
        }
        if let Some(found) = self.two.facts()? {
            self.differs(number, &script, &world, found)?;
        }
        Ok(())
    }

    /// Compares all tables, and looks at ours; whether something was found.
    fn compared(
        &mut self,
        number: u64,
        script: &[Statement],
        world: &World,
        contents: bool,
        own: bool,
    ) -> Outcome<bool> {
        let mut found = None;
        if contents {
            found = self.two.contents(&world.names())?;
        }
        if found.is_none() && own {
            found = own::look(&mut self.two.ours, world)?;
        }
        match found {
            Some(found) => self.differs(number, script, world, found).map(|_| true),
            None => Ok(false),
        }
    }

    /// Notes a difference; `false` for one that is documented.
    fn differs(
        &mut self,
        number: u64,
        script: &[Statement],
        world: &World,
        found: Difference,
    ) -> Outcome<bool> {
        if let Some(line) = documents(&self.lines, &found, world.orphans) {
            *self.tally.documented.entry(line.named()).or_default() += 1;
            return Ok(false);
        }
        if let Some(theirs) = &mut self.two.theirs
            && theirs.is_damaged()?
        {
            *self.tally.documented.entry(DAMAGED.into()).or_default() += 1;
            return Ok(true);
        }
        let code = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        let verb: Vec<&str> = found.sql.split(' ').take(2).collect();
        let key = match found.aspect {
            "error" => format!("{} {} {}", verb[0], code(&found.ours), code(&found.theirs)),
            aspect => format!("{aspect} {}", verb.join(" ")),
        };
        if let Some(known) = self.tally.unknown.get_mut(&key) {
            known.0 += 1;
            return Ok(true);
        }
        let mut small = Shrinking {
            two: &mut self.two,
            script: script.to_vec(),
            found,
            world,
            lines: &self.lines,
        };
        let again = small.run()?;
        let told = told(self.run.seed, number, &small.script, &small.found, again);
        println!("{told}");
        self.tally.unknown.insert(key, (1, told));
        Ok(true)
    }
}

/// A script that shows the difference, and both answers.
fn told(seed: u64, number: u64, script: &[Statement], found: &Difference, again: bool) -> String {
    let mut out = format!(
        "\n[differs from MariaDB] in {} (--schema --seed {seed} --case {number}){}\n",
        found.aspect,
        if again {
            ""
        } else {
            ", and not again when all was repeated"
        }
    );
    let shown = if again {
        script
    } else {
        &script[script.len().saturating_sub(1)..]
    };
    for statement in shown {
        let (ours, theirs) = (
            statement.text(Kind::Tidemill),
            statement.text(Kind::MariaDb),
        );
        out.push_str(&format!("{ours};\n"));
        if theirs != ours {
            out.push_str(&format!("  -- MariaDB: {theirs};\n"));
        }
    }
    out.push_str(&format!(
        "  of:     {}\n  ours:   {}\n  theirs: {}",
        found.sql, found.ours, found.theirs
    ));
    out
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.statements += other.statements;
        self.refused += other.refused;
        self.blocks += other.blocks;
        self.cut += other.cut;
        self.fallen += other.fallen;
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
        println!(
            "    {} statements in {} blocks, {} of them refused; {} blocks ended early; MariaDB started again: {}",
            self.statements, self.blocks, self.refused, self.cut, self.fallen
        );
        match self.unknown.len() {
            0 => Ok(()),
            kinds => Err(format!(
                "{kinds} kinds of differences that no line of documented.txt explains, {} in all",
                self.unknown.values().map(|u| u.0).sum::<u64>()
            )),
        }
    }
}
