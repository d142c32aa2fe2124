//! `cargo xtask crash`: kill -9 under load, again and again on one directory, and nothing may be lost.
//!
//! Each round: sysbench oltp_read_write and the ledger's clients at work with durable commits, a kill at a random
//! moment (sometimes a second one during the recovery), restart, then the ledger's book, the row counts that
//! sysbench's transactions conserve, CHECK TABLE on every table, a clean stop and the offline check. [`starts`] and [`purge_stop`] are
//! cases of their own.

mod purge_stop;
mod starts;

use crate::ledger::{Book, Tally};
use harness::queries;
use harness::rng::{self, Rng};
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use harness::sysbench::Load;
use std::time::Duration;

/// What a series of crashes is made of.
#[derive(Debug, Clone)]
struct Plan {
    /// How many kills.
    pub rounds: u32,
    /// Connections of sysbench.
    pub threads: u32,
    /// Connections of the ledger.
    pub clients: u32,
    /// The latest moment of a kill, in seconds after the load began.
    pub seconds: u64,
    /// Rows in each of sysbench's tables.
    pub table_size: u64,
    /// How many tables.
    pub tables: u32,
    /// Which server.
    pub kind: Kind,
    /// innodb_flush_log_at_trx_commit; with 0 the series must fail, which shows that it can.
    pub flush: u32,
    /// Where the chance comes from.
    pub seed: u64,
}

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// How many kills.
    #[arg(long, default_value_t = 20)]
    rounds: u32,
    /// Connections of sysbench.
    #[arg(long, default_value_t = 64)]
    threads: u32,
    /// Connections of the ledger.
    #[arg(long, default_value_t = 8)]
    clients: u32,
    /// The latest moment of a kill, in seconds after the load began.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Rows in each of sysbench's tables.
    #[arg(long, default_value_t = 20_000)]
    table_size: u64,
    /// Tables of sysbench.
    #[arg(long, default_value_t = 4)]
    tables: u32,
    /// innodb_flush_log_at_trx_commit; with 0 the series must fail.
    #[arg(long, default_value_t = 1)]
    flush: u32,
    /// The server program.
    #[arg(long, value_enum, default_value_t = Kind::Tidemill)]
    server: Kind,
    /// Instead: so many kills in a row, with a few acknowledged rows between.
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    starts: u32,
    /// The log's capacity in that, MiB.
    #[arg(long, default_value_t = 256, requires = "starts")]
    capacity_mb: u64,
    /// Instead: SIGTERM while purge works.
    #[arg(long)]
    purge_stop: bool,
    /// The rows that are deleted in that.
    #[arg(long, default_value_t = 10_000_000, requires = "purge_stop")]
    rows: u64,
    /// Where the random numbers come from; a new seed each time without it.
    #[arg(long, default_value_t = rng::fresh_seed(), hide_default_value = true)]
    seed: u64,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    if options.purge_stop {
        return purge_stop::run(options.rows);
    }
    if options.starts > 0 {
        return starts::run(starts::Plan {
            starts: options.starts,
            capacity_mib: options.capacity_mb,
            seed: options.seed,
        });
    }
    run(&Plan {
        rounds: options.rounds,
        threads: options.threads,
        clients: options.clients,
        seconds: options.seconds,
        table_size: options.table_size,
        tables: options.tables,
        kind: options.server,
        flush: options.flush,
        seed: options.seed,
    })
}

/// The share of `cargo xtask test`: so many crashes, kills in a row, and a stop while purge works.
pub fn short(rounds: u32, seed: u64) -> Outcome<()> {
    run(&Plan {
        rounds,
        threads: 64,
        clients: 8,
        seconds: 8,
        table_size: 20_000,
        tables: 4,
        kind: Kind::Tidemill,
        flush: 1,
        seed,
    })?;
    starts::run(starts::Plan {
        starts: 60,
        capacity_mib: 256,
        seed,
    })?;
    purge_stop::run(300_000)
}

/// Runs the plan to its end or to the first thing that is wrong.
fn run(plan: &Plan) -> Outcome<()> {
    step::announce(&format!(
        "crash: {} rounds on {}, {} sysbench threads and {} ledger clients, --seed {}",
        plan.rounds,
        plan.kind.name(),
        plan.threads,
        plan.clients,
        plan.seed
    ));
    let mut scratch = Scratch::new("crash")?;
    let result = Series::new(plan, &scratch).and_then(|mut series| series.run());
    if result.is_err() {
        scratch.keep();
    }
    result.map_err(|e| format!("{e}\n(repeat with --seed {})", plan.seed))
}

struct Series<'a> {
    plan: &'a Plan,
    rng: Rng,
    setup: Setup,
    load: Load,
    book: Book,
}

impl<'a> Series<'a> {
    fn new(plan: &'a Plan, scratch: &Scratch) -> Outcome<Series<'a>> {
        let setup = Setup::new(plan.kind, scratch.path())?
            .option(&format!("innodb-flush-log-at-trx-commit={}", plan.flush))
            .option("innodb-buffer-pool-size=64M")
            .option("max-connections=400")
            .redo_capacity("256M");
        let mut load = Load::new("oltp_read_write", plan.table_size).threads(plan.threads);
        load.tables = plan.tables;
        load.seconds = 3600;
        let book = Book::new(plan.seed, plan.clients);
        Ok(Series {
            plan,
            rng: Rng::new(plan.seed),
            setup,
            load,
            book,
        })
    }

    fn run(&mut self) -> Outcome<()> {
        let mut server = self.setup.start()?;
        self.load.prepare(&self.setup)?;
        self.book.create(server.connect()?.as_mut())?;
        let mut slowest = Duration::ZERO;
        let mut total = Tally::default();
        for round in 1..=self.plan.rounds {
            let (tally, took) = self.round(round, server)?;
            slowest = slowest.max(took);
            total.acknowledged += tally.acknowledged;
            total.unknown += tally.unknown;
            server = self.setup.start()?;
        }
        // The clean stop before must have lost nothing either.
        let there = self.book.verify(server.connect()?.as_mut())?;
        server.terminate()?;
        println!(
            "    {} kills: {} commits acknowledged, {} without an answer, {there} transactions \
             there in the end; slowest first query {} ms",
            self.plan.rounds,
            total.acknowledged,
            total.unknown,
            slowest.as_millis()
        );
        Ok(())
    }

    /// Load, kill, restart, verify, stop.
    fn round(&mut self, round: u32, server: Server) -> Outcome<(Tally, Duration)> {
        let earliest = 700;
        let span = (self.plan.seconds * 1000).saturating_sub(earliest);
        let moment = Duration::from_millis(earliest + self.rng.below(span));
        let tally = self.load_and_kill(server, moment)?;
        let mut killed_again = false;
        if self.rng.one_in(3) {
            // The kill lands in the recovery itself, or soon after it.
            let again = self.setup.spawn()?;
            std::thread::sleep(Duration::from_millis(self.rng.below(400)));
            again.kill9()?;
            killed_again = true;
        }
        let mut server = self.setup.spawn()?;
        let took = server.wait_ready(Duration::from_secs(120))?;
        let there = self
            .verify(&server)
            .map_err(|e| server.with_log(&format!("round {round}: {e}")))?;
        server.must_run()?;
        server.terminate()?;
        self.setup
            .check_offline()
            .map_err(|e| format!("round {round}: offline check: {e}"))?;
        println!(
            "    round {round}: killed after {} ms{}, first query {} ms after the restart; {} \
             acknowledged, {} refused, {} unanswered; {there} there; sound",
            moment.as_millis(),
            if killed_again {
                ", and again while recovering"
            } else {
                ""
            },
            took.as_millis(),
            tally.acknowledged,
            tally.refused,
            tally.unknown
        );
        Ok((tally, took))
    }

    fn load_and_kill(&mut self, server: Server, moment: Duration) -> Outcome<Tally> {
        let mut background = self.load.spawn(&self.setup)?;
        let (sum, load_ran) = self.book.write_while(&self.setup, |_| {
            std::thread::sleep(moment);
            let load_ran = background.runs();
            server.kill9().map(|()| load_ran)
        })?;
        if !load_ran {
            return Err("sysbench ended before the kill".to_owned());
        }
        if sum.acknowledged == 0 && moment > Duration::from_secs(3) {
            return Err("the ledger committed nothing before the kill".to_owned());
        }
        Ok(sum)
    }

    fn verify(&mut self, server: &Server) -> Outcome<u64> {
        let mut conn = server.connect()?;
        let there = self.book.verify(conn.as_mut())?;
        let names = harness::sysbench::table_names(self.plan.tables);
        queries::check_tables(conn.as_mut(), self.load.database, &names)?;
        for name in names {
            // Each of sysbench's transactions deletes a row and inserts it again.
            let sql = format!("SELECT COUNT(*) FROM {}.{name}", self.load.database);
            let count = queries::number(conn.as_mut(), &sql)?;
            if count != self.plan.table_size {
                return Err(format!(
                    "{name} has {count} rows, not {}",
                    self.plan.table_size
                ));
            }
        }
        Ok(there)
    }
}
