//! `cargo xtask isolation`: what clients see of each other, at every isolation level.
//!
//! Two parts. Scenarios (`tests/isolation`) play small known anomalies step by step. The workload lets clients run
//! random transactions over lists and registers, with KILLs and crashes, window after window on fresh tables, and
//! the crate `isolation` looks for anomalies in what they wrote down. Tidemill must show none that its level forbids;
//! MariaDB is run to see that the same eyes find what is known to be there.

mod client;
mod ground;
mod play;
mod scenario;
mod trouble;

use ::isolation::{History, Level, Txn, Verdict};
use client::{Client, Tally};
use ground::Ground;
use harness::args::Args;
use harness::rng::{self, Rng};
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trouble::{Done, Trouble};

/// A level on the command line.
#[derive(Debug, Clone, Copy)]
struct Short(Level);

impl FromStr for Short {
    type Err = ();

    fn from_str(text: &str) -> Result<Short, ()> {
        Ok(Short(match text {
            "ru" => Level::ReadUncommitted,
            "rc" => Level::ReadCommitted,
            "rr" => Level::RepeatableRead,
            "ser" => Level::Serializable,
            _ => return Err(()),
        }))
    }
}

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
    /// Only scenarios whose names contain this.
    only: String,
    /// Pin what the scenarios give.
    bless: bool,
}

impl Plan {
    fn new(kind: Kind, seed: u64) -> Plan {
        Plan {
            kind,
            levels: vec![Level::RepeatableRead, Level::Serializable],
            transactions: 50_000,
            seconds: 600,
            window: 25_000,
            clients: 16,
            kill_every: 20,
            crash_every: 4,
            flush: 1,
            seed,
            orders: 40,
            only: String::new(),
            bless: false,
        }
    }
}

/// The command.
pub fn command(args: &Args) -> Outcome<()> {
    let kind = args.get("server", Kind::Tidemill)?;
    let mut plan = Plan::new(kind, args.get("seed", rng::fresh_seed())?);
    plan.levels = args
        .list::<Short>("levels", "rc,rr,ser")?
        .into_iter()
        .map(|s| s.0)
        .collect();
    plan.transactions = args.get("transactions", plan.transactions)?;
    plan.seconds = args.get("seconds", plan.seconds)?;
    plan.window = args.get("window", plan.window)?.max(100);
    plan.clients = args.get("clients", plan.clients)?.max(1);
    plan.kill_every = args.get("kill-every", plan.kill_every)?;
    plan.crash_every = args.get("crash-every", plan.crash_every)?;
    plan.flush = args.get("flush", plan.flush)?;
    plan.orders = args.get("orders", plan.orders)?;
    plan.only = args.get("only", plan.only)?;
    plan.bless = args.has("bless");
    args.refuse_unread()?;
    workload(&plan)
}

/// The share of it that every run of the tests has: a minute at most.
pub fn short(seed: u64) -> Outcome<()> {
    let mut plan = Plan::new(Kind::Tidemill, seed);
    plan.levels = vec![
        Level::ReadCommitted,
        Level::RepeatableRead,
        Level::Serializable,
    ];
    plan.transactions = 6_000;
    plan.seconds = 10;
    plan.window = 3_000;
    plan.crash_every = 2;
    plan.orders = 1;
    workload(&plan)
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
            .option("innodb-lock-wait-timeout=60");
        let server = quick.start()?;
        play::all(&server, plan.orders, &plan.only, plan.bless)?;
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
            let trouble = Trouble {
                kill_every: self.plan.kill_every,
                crash: self.plan.crash_every > 0 && window % self.plan.crash_every == 0,
            };
            server = self
                .window(server, trouble, deadline, rng)
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
        trouble: Trouble,
        deadline: Instant,
        rng: &mut Rng,
    ) -> Outcome<Server> {
        let target = self
            .plan
            .window
            .min(self.plan.transactions - self.tally.committed);
        ground::tables(self.setup)?;
        let ground = Ground::new(target, self.plan.clients);
        let mut clients: Vec<Client<'_>> = (0..self.plan.clients)
            .map(|id| Client {
                id,
                setup: self.setup,
                ground: &ground,
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
                            client.ground.stop.store(true, Ordering::Relaxed);
                        }
                        outcome
                    })
                })
                .collect();
            let made = trouble::make(self.setup, &ground, trouble, target, deadline, rng, server);
            ground.stop.store(true, Ordering::Relaxed);
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
            last: ground::last(self.setup)?,
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
