//! `cargo xtask replicas`: a source, its replica, and a replica of that, under random changes and kill -9 of each, and all of them end with the same.
//!
//! Rounds: clients write while servers are killed at random moments and started again; then the clients rest, the replicas apply what is left,
//! and everything is compared: definitions, rows and checksums of all tables, views, accounts, the transactions executed. After each kill the
//! binary log's files have to begin with what they had before it, and no replica may have a transaction that its source has not. The last one may
//! have two sources, the first server and the second, so that each transaction comes to it twice. In the end
//! `mariadb-binlog` verifies all files.

mod chain;
mod files;
mod judge;
mod load;
mod others;
mod owners;
mod restored;
mod tables;
mod words;

use chain::{Node, Way};
use clap::builder::PossibleValue;
use files::Kept;
use harness::rng::{self, Rng};
use harness::scratch::Scratch;
use harness::server::Kind;
use harness::step::{self, Outcome};
use load::{Client, Tally};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use words::Dialect;

/// What the source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Tidemill,
    MariadbRow,
    MariadbMixed,
}

impl clap::ValueEnum for Source {
    fn value_variants<'a>() -> &'a [Source] {
        &[Source::Tidemill, Source::MariadbRow, Source::MariadbMixed]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self {
            Source::Tidemill => "tidemill",
            Source::MariadbRow => "mariadb-row",
            Source::MariadbMixed => "mariadb-mixed",
        }))
    }
}

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// So long servers are killed and started; the round that is under way is ended.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Clients that write.
    #[arg(long, default_value_t = 4)]
    clients: u64,
    /// The source; the replicas are always ours.
    #[arg(long, value_enum, default_value_t = Source::Tidemill)]
    source: Source,
    /// The last replica is MariaDB, of ours.
    #[arg(long)]
    mariadb_replica: bool,
    /// The last replica has the source as a source as well, over a channel of its own.
    #[arg(long, conflicts_with_all = ["source", "mariadb_replica"])]
    diamond: bool,
    /// Nobody is killed.
    #[arg(long)]
    no_kills: bool,
    /// Sysbench's oltp_read_write and TPC-C beside the clients.
    #[arg(long, requires = "no_kills")]
    sysbench: bool,
    /// Three accounts beside the clients, each with rights on one database, make definitions of every kind; in the end a restore to the last
    /// transaction is compared too. The source keeps all of its binary log.
    #[arg(long, conflicts_with = "sysbench")]
    owners: bool,
    /// Seconds of a round, at the least.
    #[arg(long, default_value_t = 0)]
    round_seconds: u64,
    /// Where the random numbers come from; a new seed each time without it.
    #[arg(long, default_value_t = rng::fresh_seed(), hide_default_value = true)]
    seed: u64,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    run(options)
}

/// The share of the tests.
pub fn short(seed: u64) -> Outcome<()> {
    run(&Options {
        seconds: 12,
        clients: 3,
        source: Source::Tidemill,
        mariadb_replica: false,
        diamond: true,
        no_kills: false,
        sysbench: false,
        owners: true,
        round_seconds: 0,
        seed,
    })
}

fn run(options: &Options) -> Outcome<()> {
    step::announce(&format!(
        "a chain of three servers, {} clients, {} s, --seed {}",
        options.clients, options.seconds, options.seed
    ));
    if options.source != Source::Tidemill && options.mariadb_replica {
        return Err("MariaDB as a replica is tried behind servers of ours".to_owned());
    }
    let mut scratch = Scratch::new("replicas")?;
    let result = Series::new(options, scratch.path()).and_then(Series::run);
    if result.is_err() {
        scratch.keep();
    }
    result
}

/// A series of rounds on the same servers.
struct Series<'o> {
    options: &'o Options,
    rng: Rng,
    dialect: Dialect,
    nodes: Vec<Node>,
    sum: Tally,
    kills: [u32; 3],
    slowest: Duration,
    kept: u64,
}

impl<'o> Series<'o> {
    fn new(options: &'o Options, dir: &Path) -> Outcome<Series<'o>> {
        let mut rng = Rng::new(options.seed);
        let mut own = |more: &[&str]| {
            // Small files, so that there are many of them; sysbench would fill thousands.
            let least = if options.sysbench { 1 << 20 } else { 4096 };
            let size = least << rng.below(10);
            let mut all = vec![format!("max-binlog-size={size}")];
            let some = [
                "binlog-rows-query-log-events=ON",
                "binlog-row-metadata=FULL",
                "binlog-transaction-dependency-history-size=10",
            ];
            all.extend(
                some.iter()
                    .filter(|_| rng.one_in(2))
                    .map(|o| (*o).to_owned()),
            );
            all.extend(more.iter().map(|o| (*o).to_owned()));
            all
        };
        let (kind, more): (Kind, &[&str]) = match options.source {
            // MariaDB has no collation by the name of our usual one.
            Source::Tidemill if options.mariadb_replica => {
                (Kind::Tidemill, &["collation-server=utf8mb4_general_ci"])
            }
            Source::Tidemill => (Kind::Tidemill, &[]),
            Source::MariadbRow => (Kind::MariaDb, &["binlog-format=ROW"]),
            Source::MariadbMixed => (Kind::MariaDb, &["binlog-format=MIXED"]),
        };
        let source_options = match kind {
            Kind::Tidemill => own(more),
            Kind::MariaDb => {
                // Events that are compressed, and such as are not.
                let some = ["log-bin-compress=ON", "log-bin-compress-min-len=16"];
                let some = some.iter().filter(|_| options.seed % 2 == 1);
                more.iter().chain(some).map(|o| (*o).to_owned()).collect()
            }
        };
        let collation: &[&str] = match options.mariadb_replica || kind == Kind::MariaDb {
            true => &["collation-server=utf8mb4_general_ci"],
            false => &[],
        };
        let theirs: &[&str] = match options.owners {
            true => &owners::OF_REPLICAS,
            false => &[],
        };
        let behind = [collation, theirs].concat();
        let (middle, last) = (own(&behind), own(&behind));
        let nodes = vec![
            Node::new("source", kind, 1, dir, &source_options)?,
            Node::new("replica", Kind::Tidemill, 2, dir, &middle)?,
            match options.mariadb_replica {
                true => Node::new("second", Kind::MariaDb, 3, dir, &[])?,
                false => Node::new("second", Kind::Tidemill, 3, dir, &last)?,
            },
        ];
        let mariadb = kind == Kind::MariaDb || options.mariadb_replica;
        let file = dir.join("rows.txt");
        std::fs::write(&file, words::rows_to_load())
            .map_err(|e| format!("{}: {e}", file.display()))?;
        let file: &'static str = file.display().to_string().leak();
        Ok(Series {
            options,
            dialect: Dialect {
                mariadb,
                own_words: kind == Kind::MariaDb,
                statements: options.source == Source::MariadbMixed,
                file: (options.source == Source::MariadbMixed).then_some(file),
            },
            nodes,
            rng,
            sum: Tally::default(),
            kills: [0; 3],
            slowest: Duration::ZERO,
            kept: 0,
        })
    }

    fn run(mut self) -> Outcome<()> {
        let done = self.rounds();
        let Err(why) = done else {
            return Ok(());
        };
        let logs: Vec<String> = self.nodes.iter().map(|n| n.with_log("")).collect();
        Err(format!("{why}{}", logs.concat()))
    }

    fn rounds(&mut self) -> Outcome<()> {
        self.begin()?;
        let begun = Instant::now();
        let mut round = 0;
        while round < 3 || begun.elapsed() < Duration::from_secs(self.options.seconds) {
            self.round(round)
                .map_err(|e| format!("round {round}: {e}"))?;
            round += 1;
        }
        let mut verified = 0;
        let last = match self.restores() {
            true => Some(judge::read(&self.nodes[0].setup, true)?),
            false => None,
        };
        for node in &mut self.nodes {
            node.stop()?;
            if node.is_ours() {
                verified += files::verify(&node.setup.datadir)
                    .map_err(|e| format!("{}: {e}", node.name))?;
                node.setup
                    .check_offline()
                    .map_err(|e| format!("{}: {e}", node.name))?;
            }
        }
        if let Some(last) = last {
            restored::compare(&self.nodes[0].setup, &last)?;
        }
        let tally = &self.sum;
        println!(
            "    {round} rounds; kills {:?}; {} statements, {} connections lost; refused: {:?}\n    {} bytes of binary logs the same after \
             kills, {verified} files verified; slowest to catch up {} ms",
            self.kills,
            tally.done,
            tally.lost,
            tally.refused,
            self.kept,
            self.slowest.as_millis()
        );
        match tally.done {
            0 => Err("nothing was done".to_owned()),
            _ => Ok(()),
        }
    }

    /// A restore of the source is compared in the end.
    fn restores(&self) -> bool {
        self.options.owners && self.nodes[0].is_ours()
    }

    /// Starts the servers, makes the chain and the tables.
    fn begin(&mut self) -> Outcome<()> {
        for node in &mut self.nodes {
            node.start()?;
            node.make_account()?;
        }
        // By file from where it is now, or by the set of what it has: both are tried, in both places.
        let first = match self.rng.one_in(2) {
            true => (Way::Auto, Way::File),
            false => (Way::File, Way::Auto),
        };
        let [source, replica, second] = &self.nodes[..] else {
            return Ok(());
        };
        replica.follow(source, first.0, None)?;
        second.follow(replica, first.1, None)?;
        if self.options.diamond {
            second.follow(source, first.0, Some("direct"))?;
        }
        let mut conn = source.connect()?;
        tables::make(&mut conn, &source.setup, self.dialect)?;
        tables::make_aside(&mut conn)?;
        if self.options.owners {
            for sql in owners::begin(self.dialect) {
                conn.query(&sql).map_err(|e| format!("{sql}: {e}"))?;
            }
        }
        if self.restores() {
            restored::back_up(&source.setup)?;
        }
        match self.options.sysbench {
            true => others::make(&source.setup),
            false => Ok(()),
        }
    }

    fn round(&mut self, round: u64) -> Outcome<()> {
        let stop = AtomicBool::new(false);
        let (options, dialect, seed) = (self.options, self.dialect, self.options.seed);
        let source = self.nodes[0].setup.clone();
        let beside = options.sysbench.then(|| others::start(&source));
        let beside = beside.transpose()?;
        let owners = if options.owners { owners::ACCOUNTS } else { 0 };
        let mut clients: Vec<Client> = (0..options.clients + owners)
            .map(|id| Client {
                id,
                rng: Rng::new(seed ^ (round << 32) ^ (id + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
                dialect,
                accounts: !dialect.mariadb,
                owner: id >= options.clients,
            })
            .collect();
        let (killed, tallies) = std::thread::scope(|scope| {
            let handles: Vec<_> = clients
                .iter_mut()
                .map(|client| {
                    let (source, stop) = (&source, &stop);
                    scope.spawn(move || {
                        let done = client.run(source, stop);
                        // The others need not go on.
                        stop.fetch_or(done.is_err(), Ordering::Relaxed);
                        done
                    })
                })
                .collect();
            let until = Instant::now() + Duration::from_secs(options.round_seconds);
            let killed = self.kill_some(round, &stop);
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
            }
            stop.store(true, Ordering::Relaxed);
            let tallies: Vec<_> = handles.into_iter().map(|h| h.join()).collect();
            (killed, tallies)
        });
        killed?;
        for tally in tallies {
            let tally = tally.map_err(|_| "a client's thread has fallen".to_owned())?;
            self.sum.add(&tally?);
        }
        if let Some(beside) = beside {
            beside.end()?;
        }
        self.compare()
    }

    /// A part of a round: servers are killed while clients write.
    fn kill_some(&mut self, round: u64, stop: &AtomicBool) -> Outcome<()> {
        for n in 0..1 + self.rng.below(3) {
            let pause = Duration::from_millis(200 + self.rng.below(1500));
            let until = Instant::now() + pause;
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            if self.options.no_kills {
                continue;
            }
            // Each is killed in the first three rounds.
            let which = if n == 0 { round % 3 } else { self.rng.below(3) } as usize;
            // What MariaDB leaves of the last event of its binary log stays there, and is an error for whoever reads it (1236). As a replica it
            // may carry out a definition again that it had carried out when it was killed (1061 and the like).
            if self.nodes[which].is_ours() {
                self.kill(which)?;
            }
        }
        Ok(())
    }

    fn kill(&mut self, which: usize) -> Outcome<()> {
        let node = &mut self.nodes[which];
        node.must_run()?;
        node.kill()?;
        self.kills[which] += 1;
        let before = node.is_ours().then(|| node.files()).transpose()?;
        let before = before.map(Kept::shown);
        if self.rng.one_in(3) {
            // The kill lands in the recovery itself, or soon after it.
            let mut again = node.setup.spawn()?;
            std::thread::sleep(Duration::from_millis(self.rng.below(300)));
            again.must_run()?;
            again.kill9()?;
        }
        node.start()?;
        if which == 0 {
            self.end_branches()?;
        }
        let node = &self.nodes[which];
        if let Some(before) = before {
            // Waits until all is there that the log had.
            node.executed()?;
            before
                .must_begin(&node.files()?)
                .map_err(|e| format!("{}: {e}", node.name))?;
            self.kept += before.size();
        }
        for at in 1..self.nodes.len() {
            // What has come over two ways may be behind neither of them.
            let of = if self.options.diamond { 0 } else { at - 1 };
            let pair = [&self.nodes[of], &self.nodes[at]];
            if pair.iter().all(|n| n.is_ours()) {
                pair[1].has_no_more_than(pair[0])?;
            }
        }
        Ok(())
    }

    /// Ends distributed transactions whose clients were lost.
    fn end_branches(&mut self) -> Outcome<()> {
        if self.dialect.mariadb {
            return Ok(());
        }
        let mut conn = self.nodes[0].connect()?;
        let found = crate::dumps::contents::run(&mut conn, "XA RECOVER")?;
        for row in found.rows {
            let name = row.last().map(judge::text).unwrap_or_default();
            let end = if self.rng.one_in(2) {
                "COMMIT"
            } else {
                "ROLLBACK"
            };
            // It may be that of a client who ends it at this moment.
            let _ended = conn.query(&format!("XA {end} '{name}'"));
        }
        Ok(())
    }

    /// All have what the source has.
    fn compare(&mut self) -> Outcome<()> {
        for at in 0..2 {
            let took = self.nodes[at + 1].reach_end_of(&self.nodes[at])?;
            self.slowest = self.slowest.max(took);
        }
        let ours: Vec<&Node> = self.nodes.iter().filter(|n| n.is_ours()).collect();
        let sets = ours
            .iter()
            .map(|n| n.executed())
            .collect::<Outcome<Vec<_>>>()?;
        if let Some(other) = sets.iter().position(|s| *s != sets[0]) {
            return Err(format!(
                "{} has executed {} and {} {}",
                ours[0].name, sets[0], ours[other].name, sets[other]
            ));
        }
        for pair in self.nodes.windows(2) {
            let alike = pair.iter().all(Node::is_ours);
            let a = judge::read(&pair[0].setup, alike)?;
            let b = judge::read(&pair[1].setup, alike)?;
            a.must_equal(&b, alike)
                .map_err(|e| format!("{} and {}: {e}", pair[0].name, pair[1].name))?;
            if a.tables() < 12 || a.rows() < 50 {
                return Err(format!(
                    "only {} tables with {} rows were compared",
                    a.tables(),
                    a.rows()
                ));
            }
        }
        self.purge()
    }

    /// Files that the replica has no need of go, sometimes; beside sysbench always, as they would fill the disk.
    fn purge(&mut self) -> Outcome<()> {
        let wanted = self.rng.one_in(2) || self.options.sysbench;
        if wanted && self.options.sysbench {
            let file = self.nodes[2].needs_of(&self.nodes[1])?;
            self.nodes[1].run(&[&format!("PURGE BINARY LOGS TO '{file}'")])?;
        }
        if !self.nodes[0].is_ours() || !wanted || self.restores() {
            return Ok(());
        }
        let mut file = self.nodes[1].needs_of(&self.nodes[0])?;
        if self.options.diamond {
            file = file.min(self.nodes[2].needs_of(&self.nodes[0])?);
        }
        self.nodes[0].run(&[&format!("PURGE BINARY LOGS TO '{file}'")])
    }
}
