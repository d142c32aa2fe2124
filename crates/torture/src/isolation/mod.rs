//! `cargo xtask isolation`: what clients see of each other, at every isolation level.
//!
//! Three parts. Scenarios (`tests/isolation`) play small known anomalies step by step; those of `tests/isolation/locks` show who waits
//! for whom. The workload lets clients run
//! random transactions over lists and registers, with KILLs and crashes, window after window on fresh tables, and
//! the crate `isolation` looks for anomalies in what they wrote down. Tidemill must show none that its level forbids;
//! MariaDB is run to see that the same eyes find what is known to be there.

mod client;
mod fixture;
mod held;
mod locks;
mod nemesis;
mod play;
mod scenario;

use ::isolation::{History, Level, Txn, Verdict};
use client::{Client, Tally};
use fixture::Fixture;
use harness::rng::{self, Rng};
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use nemesis::{Done, Nemesis};
use scenario::Short;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What the workload is made of.
#[derive(Debug, Clone)]
struct Plan {
    kind: Kind,
    levels: Vec<Level>,
    /// Commits to reach at each level.
    transactions: u64,
    /// Or seconds, whichever is over first.
    seconds: u64,
    /// Commits of one window.
    window: u64,
    clients: u32,
    /// Milliseconds between KILLs.
    kill_every: u64,
    /// One window in so many has a crash; 0 for none.
    crash_every: u64,
    flush: u32,
    seed: u64,
    /// How many orders of each scenario are tried; 0 for no scenarios.
    orders: usize,
    /// One case in so many of what is locked behind statements.
    held: usize,
    /// Of the scenarios nothing else.
    held_alone: bool,
    /// Only scenarios whose names contain this.
    only: String,
    /// Pin what the scenarios give.
    bless: bool,
}

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The server program.
    #[arg(long, value_enum, default_value_t = Kind::Tidemill)]
    server: Kind,
    /// The levels of the workload: ru, rc, rr, si (REPEATABLE READ with innodb_snapshot_isolation), ser.
    #[arg(long, value_delimiter = ',', default_value = "rc,rr,si,ser")]
    levels: Vec<Short>,
    /// Commits to reach at each level.
    #[arg(long, default_value_t = 50_000)]
    transactions: u64,
    /// Or seconds, whichever is over first.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Commits of one window.
    #[arg(long, default_value_t = 25_000)]
    window: u64,
    /// Clients at once.
    #[arg(long, default_value_t = 16)]
    clients: u32,
    /// Milliseconds between KILLs.
    #[arg(long, default_value_t = 20, value_name = "MS")]
    kill_every: u64,
    /// One window in so many has a crash; 0 for none.
    #[arg(long, default_value_t = 4, value_name = "WINDOWS")]
    crash_every: u64,
    /// innodb_flush_log_at_trx_commit.
    #[arg(long, default_value_t = 1)]
    flush: u32,
    /// How many orders of each scenario are tried; 0 for no scenarios.
    #[arg(long, default_value_t = 40)]
    orders: usize,
    /// Of the scenarios only what is locked behind statements.
    #[arg(long)]
    held: bool,
    /// Only scenarios whose names contain this.
    #[arg(long, default_value = "", hide_default_value = true)]
    only: String,
    /// Pin what the scenarios give.
    #[arg(long)]
    bless: bool,
    /// Where the random numbers come from; a new seed each time without it.
    #[arg(long, default_value_t = rng::fresh_seed(), hide_default_value = true)]
    seed: u64,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    workload(&Plan {
        kind: options.server,
        levels: options.levels.iter().map(|s| s.0).collect(),
        transactions: options.transactions,
        seconds: options.seconds,
        window: options.window.max(100),
        clients: options.clients.max(1),
        kill_every: options.kill_every,
        crash_every: options.crash_every,
        flush: options.flush,
        seed: options.seed,
        orders: options.orders,
        held: 1,
        held_alone: options.held,
        only: options.only.clone(),
        bless: options.bless,
    })
}

/// The share of it that every run of the tests has: a minute at most.
pub fn short(seed: u64) -> Outcome<()> {
    workload(&Plan {
        kind: Kind::Tidemill,
        levels: vec![
            Level::ReadCommitted,
            Level::RepeatableRead,
            Level::Snapshot,
            Level::Serializable,
        ],
        transactions: 6_000,
        seconds: 10,
        window: 3_000,
        clients: 16,
        kill_every: 20,
        crash_every: 2,
        flush: 1,
        seed,
        orders: 1,
        held: 7,
        held_alone: false,
        only: String::new(),
        bless: false,
    })
}

fn workload(plan: &Plan) -> Outcome<()> {
    let mut scratch = Scratch::new("isolation")?;
    let result = run(plan, &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result.map_err(|e| format!("{e}\n(repeat with --seed {})", plan.seed))
}

fn run(plan: &Plan, scratch: &Scratch) -> Outcome<()> {
    let setup = Setup::new(plan.kind, scratch.path())?
        .option(&format!("innodb-flush-log-at-trx-commit={}", plan.flush))
        .option("innodb-buffer-pool-size=64M")
        .option("innodb-lock-wait-timeout=5")
        .option("max-connections=400");
    if plan.orders > 0 {
        // What blocks here shall be a lock, and not a sync.
        let quick = setup
            .clone()
            .without("innodb-flush-log-at-trx-commit")
            .without("innodb-lock-wait-timeout")
            .option("innodb-flush-log-at-trx-commit=2")
            .option("innodb-lock-wait-timeout=60")
            .option(&format!(
                "secure-file-priv={}",
                held::files_of(&setup).display()
            ));
        let server = quick.start()?;
        if !plan.held_alone {
            play::all(&server, plan.orders, &plan.only, plan.bless)?;
            locks::all(&server, &plan.only, plan.bless)?;
        }
        held::all(&server, &plan.only, plan.held, plan.bless)?;
        server.terminate()?;
    }
    let mut rng = Rng::new(plan.seed);
    let mut server = setup.start()?;
    let levels: &[Level] = if plan.transactions > 0 {
        &plan.levels
    } else {
        &[]
    };
    for &level in levels {
        let mut series = Series {
            plan,
            setup: &setup,
            level,
            verdict: Verdict::default(),
            tally: Tally::default(),
            done: Done::default(),
        };
        server = series.run(server, &mut rng)?;
    }
    server.terminate()?;
    if plan.kind == Kind::Tidemill {
        setup.check_offline()?;
    }
    Ok(())
}

/// All windows of one level.
struct Series<'a> {
    plan: &'a Plan,
    setup: &'a Setup,
    level: Level,
    verdict: Verdict,
    tally: Tally,
    done: Done,
}

impl Series<'_> {
    fn run(&mut self, server: Server, rng: &mut Rng) -> Outcome<Server> {
        step::announce(&format!(
            "{} on {}: {} clients, {} transactions, --seed {}",
            client::level_name(self.level),
            self.plan.kind.name(),
            self.plan.clients,
            self.plan.transactions,
            self.plan.seed
        ));
        let begun = Instant::now();
        let deadline = begun + Duration::from_secs(self.plan.seconds);
        let mut server = server;
        let mut window = 0;
        while self.tally.committed < self.plan.transactions && Instant::now() < deadline {
            window += 1;
            let nemesis = Nemesis {
                kill_every: self.plan.kill_every,
                crash: self.plan.crash_every > 0 && window % self.plan.crash_every == 0,
            };
            server = self
                .window(server, nemesis, deadline, rng)
                .map_err(|e| format!("window {window}: {e}"))?;
            if window % 8 == 0 {
                println!(
                    "    {} committed after {} s",
                    self.tally.committed,
                    begun.elapsed().as_secs()
                );
            }
            // Ours must show nothing; the other is shown for what it does.
            if self.plan.kind == Kind::Tidemill && !self.verdict.broken(self.level).is_empty() {
                self.report(begun.elapsed());
                return Err(format!(
                    "{}: anomalies in window {window}",
                    client::level_name(self.level)
                ));
            }
        }
        self.report(begun.elapsed());
        Ok(server)
    }

    fn window(
        &mut self,
        server: Server,
        nemesis: Nemesis,
        deadline: Instant,
        rng: &mut Rng,
    ) -> Outcome<Server> {
        let target = self
            .plan
            .window
            .min(self.plan.transactions - self.tally.committed);
        fixture::tables(self.setup)?;
        let fixture = Fixture::new(target, self.plan.clients);
        let mut clients: Vec<Client<'_>> = (0..self.plan.clients)
            .map(|id| Client {
                id,
                setup: self.setup,
                fixture: &fixture,
                level: self.level,
                rng: Rng::new(rng.next_u64()),
                txns: Vec::new(),
                tally: Tally::default(),
            })
            .collect();
        let (made, outcomes) = std::thread::scope(|scope| {
            let workers: Vec<_> = clients
                .iter_mut()
                .map(|client| {
                    scope.spawn(|| {
                        let outcome = client.work();
                        if outcome.is_err() {
                            client.fixture.stop.store(true, Ordering::Relaxed);
                        }
                        outcome
                    })
                })
                .collect();
            let made = nemesis::make(self.setup, &fixture, nemesis, target, deadline, rng, server);
            fixture.stop.store(true, Ordering::Relaxed);
            let outcomes: Vec<Outcome<()>> = workers
                .into_iter()
                .map(|w| w.join().unwrap_or_else(|_| Err("a client panicked".into())))
                .collect();
            (made, outcomes)
        });
        let (server, done) = made?;
        outcomes
            .into_iter()
            .collect::<Outcome<Vec<()>>>()
            .map_err(|e| server.with_log(&e))?;
        self.done.queries += done.queries;
        self.done.connections += done.connections;
        self.done.crashes += done.crashes;
        let mut txns: Vec<Txn> = Vec::new();
        for client in clients {
            self.tally.add(client.tally);
            txns.extend(client.txns);
        }
        let history = History {
            txns,
            crashes: done.crashes as u32,
            last: fixture::last(self.setup)?,
        };
        self.verdict.merge(::isolation::check(&history, self.level));
        Ok(server)
    }

    fn report(&self, took: Duration) {
        let t = &self.tally;
        println!(
            "    {} committed in {:.1} s ({:.0}/s with the checking), {} rolled back, {} without an answer; \
             {} statements undone, {} connections lost",
            t.committed,
            took.as_secs_f64(),
            t.committed as f64 / took.as_secs_f64(),
            t.aborted,
            t.unknown,
            t.undone,
            t.lost
        );
        println!(
            "    {} KILL QUERY, {} KILL CONNECTION, {} kill -9; {} transactions and {} dependencies checked",
            self.done.queries,
            self.done.connections,
            self.done.crashes,
            self.verdict.committed,
            self.verdict.edges
        );
        let mut clean = true;
        for anomaly in self.verdict.classes() {
            let forbidden = self.level.forbids(anomaly);
            clean &= !forbidden;
            println!(
                "    {anomaly}: {} {}; the smallest: {}",
                self.verdict.count(anomaly),
                if forbidden {
                    "(FORBIDDEN)"
                } else {
                    "(allowed at this level)"
                },
                self.verdict.example(anomaly).unwrap_or_default()
            );
        }
        if clean {
            println!("    no anomaly that the level forbids");
        }
    }
}
