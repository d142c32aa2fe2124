//! `cargo xtask lab lag` (E19): how far a replica is behind its source, and how soon one comes up that has much to do.
//!
//! **Lag**: the source does what a share of one core gives, the replica follows on the other core, and a heartbeat row tells how long after the
//! acknowledgement a commit is seen there. **Backlog**: the replica receives but does not apply what the source commits at its highest rate; then it
//! applies all of it. Commits are synced on both, which both have a binary log. Tables are compared at the end of each.

mod heartbeat;
mod pair;

use crate::report::{colour, courses, standalone};
use harness::rng::fresh_seed;
use harness::scratch::Scratch;
use harness::server::Kind;
use harness::step::{self, Outcome};
use harness::sysbench::{self, Reach};
use harness::table::{Cell, Table};
use harness::workspace;
use heartbeat::Lags;
use pair::{Cores, Pair};
use std::path::Path;
use std::time::{Duration, Instant};

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Seconds of a run.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The loads.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "write,tpcc")]
    loads: Vec<Work>,
    /// Clients of the load.
    #[arg(long, default_value_t = 8)]
    clients: u32,
    /// The share of what the source gives on one core, in percent.
    #[arg(long, default_value_t = 70)]
    percent: u32,
    /// Transactions that a replica has to do in the end; 0 for none.
    #[arg(long, default_value_t = 0)]
    backlog: u64,
    /// Clients that write them.
    #[arg(long, default_value_t = 64)]
    backlog_clients: u32,
    /// The servers.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "mariadb,tidemill"
    )]
    sides: Vec<Kind>,
}

/// What the clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Work {
    /// Sysbench's oltp_write_only.
    Write,
    /// TPC-C, as a script of sysbench.
    Tpcc,
}

/// Seconds in which the source shows what it can do.
const CALIBRATION: u64 = 12;
/// p99 beyond the round trip, milliseconds.
const ALLOWED_MS: f64 = 10.0;
/// Applying by committing.
const BACKLOG: f64 = 1.2;
const TABLES: u32 = 4;
const ROWS: u64 = 100_000;

impl Work {
    fn name(self) -> &'static str {
        match self {
            Work::Write => "oltp_write_only",
            Work::Tpcc => "tpcc",
        }
    }

    fn load(self, clients: u32, seconds: u64) -> sysbench::Load {
        let load = match self {
            Work::Write => sysbench::Load {
                tables: TABLES,
                ..sysbench::Load::new("oltp_write_only", ROWS)
            },
            Work::Tpcc => sysbench::Load {
                extra: vec!["--warehouses=4", "--mysql-ignore-errors=1213,1205"],
                ..sysbench::Load::new(sysbench::TPCC, 0)
            },
        };
        sysbench::Load {
            threads: clients,
            seconds,
            ..load
        }
    }
}

/// What came of a run.
struct Lagged {
    work: Work,
    kind: Kind,
    /// Transactions a second: what one core gives, and what was asked for and done.
    most: f64,
    done: f64,
    lags: Lags,
    /// Microseconds of processor time a transaction: source, the thread of its binary log, replica.
    cpu: [f64; 3],
    /// A query's way to the replica and back, milliseconds.
    round_trip: f64,
}

fn round_trip(pair: &Pair) -> Outcome<f64> {
    let mut replica = pair.replica()?;
    let begun = Instant::now();
    for _ in 0..1000 {
        pair::one(&mut *replica, "SELECT 1")?;
    }
    Ok(begun.elapsed().as_secs_f64())
}

fn lag(work: Work, kind: Kind, options: &Options, dir: &Path) -> Outcome<Lagged> {
    let cores = Cores {
        source: "0",
        replica: "1",
    };
    let pair = Pair::start(kind, dir, cores)?;
    let load = work.load(options.clients, CALIBRATION);
    load.prepare(pair.setup())?;
    let statements: Vec<&str> = heartbeat::TABLE.split("; ").collect();
    pair::run(&mut *pair.source()?, &statements)?;
    pair.come_up(Duration::from_secs(300))?;
    pair.pause_replica(true)?;
    let most = load.run(pair.setup())?.tps;
    pair.pause_replica(false)?;
    pair.come_up(Duration::from_secs(300))?;
    let round_trip = round_trip(&pair)?;
    let rate = (most * f64::from(options.percent) / 100.0) as u32;
    let load = sysbench::Load {
        rate: rate.max(1),
        ..work.load(options.clients, options.seconds)
    };
    let before = pair.used()?;
    let time = Duration::from_secs(options.seconds);
    let (figures, lags) = std::thread::scope(|scope| {
        let beats = scope.spawn(|| heartbeat::measure(&pair, time));
        let figures = load.run(Reach::from(pair.setup()));
        let lags = beats
            .join()
            .map_err(|_| "the heartbeat panicked".to_owned());
        (figures, lags.and_then(|l| l))
    });
    let (figures, lags) = (figures?, lags?);
    pair.come_up(Duration::from_secs(300))?;
    let after = pair.used()?;
    pair.compare(load.database)?;
    pair.stop()?;
    let each = |at: usize| {
        let used = after[at].saturating_sub(before[at]);
        used.as_secs_f64() * 1e6 / figures.transactions.max(1) as f64
    };
    let lagged = Lagged {
        work,
        kind,
        most,
        done: figures.tps,
        lags,
        cpu: [each(0), each(1), each(2)],
        round_trip,
    };
    println!(
        "    {:<9} one core {most:.0} /s, done {:.0} /s, lag {:.2} / {:.2} / {:.2} ms, last tenth by first {:.2}",
        kind.name(),
        lagged.done,
        lagged.lags.percentile(0.5),
        lagged.lags.percentile(0.99),
        lagged.lags.percentile(1.0),
        lagged.lags.growth(),
    );
    Ok(lagged)
}

/// Transactions a second: committed by the source at its fastest, and applied by the replica.
fn backlog(work: Work, kind: Kind, options: &Options, dir: &Path) -> Outcome<(f64, f64)> {
    let cores = Cores {
        source: "",
        replica: "",
    };
    let pair = Pair::start(kind, dir, cores)?;
    let load = work.load(options.backlog_clients, 20);
    load.prepare(pair.setup())?;
    pair.come_up(Duration::from_secs(300))?;
    pair.stop_replica("SQL_THREAD")?;
    let (mut written, mut fastest) = (0, 0.0f64);
    while written < options.backlog {
        let figures = load.run(pair.setup())?;
        written += figures.transactions;
        fastest = fastest.max(figures.tps);
    }
    let begun = Instant::now();
    pair.start_replica("SQL_THREAD")?;
    pair.come_up(Duration::from_secs(3600))?;
    let applied = written as f64 / begun.elapsed().as_secs_f64();
    pair.compare(load.database)?;
    pair.stop()?;
    println!(
        "    {:<9} {written} transactions: committed at {fastest:.0} /s at most, applied at {applied:.0} /s",
        kind.name()
    );
    Ok((fastest, applied))
}

/// The command.
pub(super) fn command(options: &Options) -> Outcome<()> {
    let scratch = Scratch::new("lag")?;
    let mut number = 0;
    let mut fresh = || {
        number += 1;
        scratch.path().join(format!("{number}-{}", fresh_seed()))
    };
    let mut lags = Vec::new();
    for &work in &options.loads {
        step::announce(&format!(
            "{}: {} clients at {} % of one core, {} s",
            work.name(),
            options.clients,
            options.percent,
            options.seconds
        ));
        for &kind in &options.sides {
            let dir = fresh();
            lags.push(lag(work, kind, options, &dir)?);
            let _ = std::fs::remove_dir_all(&dir);
        }
    }
    let mut late = Vec::new();
    for &work in options.loads.iter().filter(|_| options.backlog > 0) {
        step::announce(&format!(
            "{}: a replica behind by {} transactions",
            work.name(),
            options.backlog
        ));
        for &kind in &options.sides {
            let dir = fresh();
            let (committed, applied) = backlog(work, kind, options, &dir)?;
            late.push((work, kind, committed, applied));
            let _ = std::fs::remove_dir_all(&dir);
        }
    }
    show(options, &lags, &late)
}

fn show(options: &Options, lags: &[Lagged], late: &[(Work, Kind, f64, f64)]) -> Outcome<()> {
    let dir = workspace::target_dir()?.join("xtask");
    let mut table = Table::new(&[
        "load",
        "side",
        "one core /s",
        "done /s",
        "median ms",
        "p99 ms",
        "max ms",
        "round trip ms",
        "last by first",
        "source us",
        "its binlog us",
        "replica us",
        "verdict",
    ]);
    for l in lags {
        let p99 = l.lags.percentile(0.99);
        table.row(vec![
            l.work.name().into(),
            l.kind.name().into(),
            Cell::Number(l.most, 0),
            Cell::Number(l.done, 0),
            Cell::Number(l.lags.percentile(0.5), 2),
            Cell::Number(p99, 2),
            Cell::Number(l.lags.percentile(1.0), 2),
            Cell::Number(l.round_trip, 3),
            Cell::Number(l.lags.growth(), 2),
            Cell::Number(l.cpu[0], 0),
            match l.kind {
                Kind::Tidemill => Cell::Number(l.cpu[1], 0),
                Kind::MariaDb => Cell::Missing,
            },
            Cell::Number(l.cpu[2], 0),
            verdict(p99 <= ALLOWED_MS + l.round_trip).into(),
        ]);
    }
    println!();
    table.print();
    println!(
        "synced on both servers, a core each; {} s, longest lag of each second in lag-*.svg; at most {ALLOWED_MS} ms and the round trip at p99.",
        options.seconds
    );
    for &work in &options.loads {
        let own: Vec<&Lagged> = lags.iter().filter(|l| l.work == work).collect();
        let names: Vec<&str> = own.iter().map(|l| l.kind.name()).collect();
        let seconds: Vec<Vec<f64>> = own.iter().map(|l| l.lags.seconds()).collect();
        let lines = seconds.iter().enumerate();
        let lines: Vec<_> = lines.map(|(at, s)| (colour(&names, at), &s[..])).collect();
        let title = format!("{}: longest lag of each second, ms", work.name());
        let path = dir.join(format!("lag-{}.svg", work.name()));
        let svg = standalone(&courses(&title, &lines));
        std::fs::write(&path, svg).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    table.save(&dir.join("lag.json"))?;
    if !late.is_empty() {
        let mut table = Table::new(&["load", "side", "committed /s", "applied /s", "ratio", ""]);
        for (work, kind, committed, applied) in late {
            table.row(vec![
                work.name().into(),
                kind.name().into(),
                Cell::Number(*committed, 0),
                Cell::Number(*applied, 0),
                Cell::Number(applied / committed, 2),
                verdict(applied / committed >= BACKLOG).into(),
            ]);
        }
        println!();
        table.print();
        println!(
            "{} transactions behind; the source's rate is that of its best 20 s with {} clients; at least {BACKLOG}.",
            options.backlog, options.backlog_clients
        );
        table.save(&dir.join("backlog.json"))?;
    }
    Ok(())
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}
