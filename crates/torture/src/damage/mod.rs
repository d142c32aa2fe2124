//! `cargo xtask damage`: single bits flipped in every kind of file, files cut short or gone, and the log cut at every byte of
//! its last records.
//!
//! Each trial is a copy of a stopped directory with known content, damage to one file, and a start of the program. It
//! must not panic; each row must be right, or an error must name what is damaged. Damage to the last records of the log
//! alone may take the last transactions with it, each as a whole. The bulk of the trials runs `tidemill shell` on the
//! directory, which opens it as the server does; the server itself is started on a sample of them.

mod content;
mod cut;
mod fixture;
mod layout;
mod places;
mod served;
mod trial;

use base::lock::Mutex;
use fixture::Fixture;
use harness::rng::{self, Rng};
use harness::scratch::Scratch;
use harness::step::{self, Outcome};
use harness::table::Table;
use harness::workspace;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use trial::{Bench, Case, Damage, Verdict};

/// What is tried.
#[derive(Debug, Clone)]
struct Plan {
    seed: u64,
    /// Random bits a part of a file.
    bits: u64,
    /// At most this many cases a file of a fixture.
    most: usize,
    /// Bytes at the end of the log that are cut off, and how far apart.
    cut: (u64, u64),
    /// One in so many cases is tried on a server too.
    served: usize,
    fixtures: Vec<String>,
    /// Only files with this in their name.
    only: String,
    jobs: usize,
    /// One case: offset and bit in the file `only`.
    single: Option<(u64, u8)>,
}

fn full(seed: u64) -> Plan {
    Plan {
        seed,
        bits: 24,
        most: 400,
        cut: (4096, 1),
        served: 40,
        fixtures: fixture::NAMES.map(str::to_owned).to_vec(),
        only: String::new(),
        jobs: 2,
        single: None,
    }
}

fn small(seed: u64) -> Plan {
    Plan {
        bits: 4,
        most: 18,
        cut: (2048, 64),
        served: 30,
        fixtures: vec!["again".to_owned(), "busy".to_owned()],
        ..full(seed)
    }
}

/// The flags of the command; without one, the number is that of the short or of the full form.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The share of `cargo xtask test`.
    #[arg(long)]
    short: bool,
    /// Random bits of each part of a file.
    #[arg(long)]
    bits: Option<u64>,
    /// At most this many cases of each file.
    #[arg(long)]
    most: Option<usize>,
    /// Bytes at the end of the log that are cut off.
    #[arg(long, value_name = "BYTES")]
    cut: Option<u64>,
    /// One in so many cases is tried on a server too.
    #[arg(long, value_name = "CASES")]
    served: Option<usize>,
    /// Cases at once.
    #[arg(long)]
    jobs: Option<usize>,
    /// Only files with this in their name.
    #[arg(long, default_value = "", hide_default_value = true)]
    only: String,
    /// The data directories that are damaged: clean, killed, again, busy.
    #[arg(long, alias = "grounds", value_delimiter = ',')]
    fixtures: Vec<String>,
    /// One case: the offset in the file `--only`.
    #[arg(long, value_name = "OFFSET")]
    at: Option<u64>,
    /// The bit of the byte at that offset.
    #[arg(long, default_value_t = 0, requires = "at")]
    bit: u8,
    /// Where the random numbers come from; a new seed each time without it.
    #[arg(long, default_value_t = rng::fresh_seed(), hide_default_value = true)]
    seed: u64,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let mut plan = match options.short {
        true => small(options.seed),
        false => full(options.seed),
    };
    plan.bits = options.bits.unwrap_or(plan.bits);
    plan.most = options.most.unwrap_or(plan.most);
    plan.cut.0 = options.cut.unwrap_or(plan.cut.0);
    plan.served = options.served.unwrap_or(plan.served).max(1);
    plan.jobs = options.jobs.unwrap_or(plan.jobs).max(1);
    plan.only = options.only.clone();
    if !options.fixtures.is_empty() {
        plan.fixtures = options.fixtures.clone();
    }
    plan.single = options.at.map(|at| (at, options.bit));
    run(&plan)
}

/// The short form.
pub fn short(seed: u64) -> Outcome<()> {
    run(&small(seed))
}

fn run(plan: &Plan) -> Outcome<()> {
    step::announce(&format!("damaged files, --seed {}", plan.seed));
    let program = workspace::server()?;
    let mut scratch = Scratch::in_memory("damage", 1 << 30)?;
    let mut series = Series {
        plan,
        program,
        tally: Mutex::default(),
        failures: Mutex::default(),
    };
    let result = series.fixtures(&scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

/// What came of the trials on a kind of file: how many of each verdict; none is a failure.
type Tally = BTreeMap<&'static str, BTreeMap<Option<Verdict>, u64>>;

struct Series<'a> {
    plan: &'a Plan,
    program: PathBuf,
    tally: Mutex<Tally>,
    failures: Mutex<Vec<String>>,
}

impl Series<'_> {
    fn fixtures(&mut self, scratch: &Scratch) -> Outcome<()> {
        let script = scratch.path().join("script.sql");
        std::fs::write(&script, trial::script()).map_err(|e| e.to_string())?;
        let benches: Vec<Bench> = (0..self.plan.jobs)
            .map(|n| Bench {
                program: self.program.clone(),
                datadir: scratch.path().join(format!("bench-{n}")),
                script: script.clone(),
                said: scratch.path().join(format!("bench-{n}.said")),
            })
            .collect();
        let names = fixture::NAMES
            .iter()
            .filter(|n| self.plan.fixtures.iter().any(|g| g == *n));
        for name in names {
            let fixture = fixture::make(name, scratch.path(), self.plan.seed)?;
            let cases = self.cases(&fixture)?;
            println!(
                "    {name}: {} cases; the log is read from {}, its last checkpoint is at {}, it ends at {}",
                cases.len(),
                fixture.log.control.redo,
                fixture.log.control.checkpoint,
                fixture.log.end()
            );
            self.try_all(&fixture, &cases, &benches);
            served::some(&fixture, &cases, self.plan.served, scratch.path())
                .unwrap_or_else(|why| self.failures.lock().push(why));
        }
        self.print();
        let failures = self.failures.lock();
        match failures.len() {
            0 => Ok(()),
            n => Err(format!("{n} trials failed")),
        }
    }

    fn cases(&self, fixture: &Fixture) -> Outcome<Vec<(&'static str, Case)>> {
        let plan = self.plan;
        let mut rng = Rng::new(plan.seed ^ 0xca5e);
        let mut all = Vec::new();
        for (file, len) in layout::files(&fixture.datadir)? {
            let Some(kind) = places::kind_of(&file) else {
                continue;
            };
            if !file.contains(&plan.only) {
                continue;
            }
            let mut cases = places::of_file(fixture, &file, len, plan.bits, &mut rng)?;
            if let Some((at, bit)) = plan.single {
                cases.retain(|c| matches!(c.damage, Damage::Flip { at: a, .. } if a == at));
                for case in &mut cases {
                    case.damage = Damage::Flip { at, bit };
                }
                cases.truncate(1);
            }
            // A sample that differs with the seed.
            while cases.len() > plan.most {
                let gone = rng.below(cases.len() as u64) as usize;
                cases.swap_remove(gone);
            }
            all.extend(cases.into_iter().map(|c| (kind, c)));
        }
        let cuts = matches!(fixture.name, "killed" | "again") && plan.single.is_none();
        if cuts && "cut".contains(&plan.only) {
            let cut = cut::cases(fixture, plan.cut.0, plan.cut.1)?;
            all.extend(cut.into_iter().map(|c| ("log cut", c)));
        }
        Ok(all)
    }

    fn try_all(&self, fixture: &Fixture, cases: &[(&'static str, Case)], benches: &[Bench]) {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for bench in benches {
                scope.spawn(|| {
                    loop {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        let Some((kind, case)) = cases.get(n) else {
                            return;
                        };
                        self.try_one(fixture, n, kind, case, bench);
                    }
                });
            }
        });
    }

    fn try_one(&self, fixture: &Fixture, n: usize, kind: &'static str, case: &Case, bench: &Bench) {
        // One in eight is started twice: what the first start made of the damage must last.
        let starts = if n.is_multiple_of(8) { 2 } else { 1 };
        match bench.run(&fixture.datadir, case, &fixture.book, starts) {
            Ok((verdict, message)) => {
                let mut tally = self.tally.lock();
                let of_kind = tally.entry(kind).or_default();
                let count = of_kind.entry(Some(verdict)).or_default();
                *count += 1;
                if *count == 1 && !message.is_empty() {
                    println!("      {kind}, {}: {message:.250}", case.place);
                }
            }
            Err(why) => {
                *self
                    .tally
                    .lock()
                    .entry(kind)
                    .or_default()
                    .entry(None)
                    .or_default() += 1;
                let mut failures = self.failures.lock();
                failures.push(case.file.clone());
                if failures.len() <= 40 {
                    println!(
                        "    FAILED: --fixtures {} --only {} {}, {}: {why}",
                        fixture.name,
                        case.file,
                        arguments(case.damage),
                        case.place
                    );
                }
            }
        }
    }

    fn print(&self) {
        let mut table = Table::new(&[
            "file",
            "cases",
            "all right",
            "earlier",
            "named",
            "refused",
            "FAILED",
        ]);
        for (kind, verdicts) in self.tally.lock().iter() {
            let of = |v: Verdict| verdicts.get(&Some(v)).copied().unwrap_or(0);
            table.row(vec![
                (*kind).into(),
                verdicts.values().sum::<u64>().into(),
                of(Verdict::Right).into(),
                of(Verdict::Earlier).into(),
                of(Verdict::Named).into(),
                of(Verdict::Refused).into(),
                verdicts.get(&None).copied().unwrap_or(0).into(),
            ]);
        }
        table.print();
    }
}

/// How a case is repeated by itself.
fn arguments(damage: Damage) -> String {
    match damage {
        Damage::Flip { at, bit } => format!("--at {at} --bit {bit}"),
        other => format!("({other:?})"),
    }
}
