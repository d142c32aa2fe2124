//! `cargo xtask compare`: Tidemill beside MariaDB in one run, with the same memory and the same durability.
//!
//! Both servers hold the same tables. The sides take turns, and the order of the turns alternates, so that a drift
//! of the machine falls on both alike; the side that waits is stopped (SIGSTOP), so that its background work costs
//! the other nothing. Every run is made several times: the spread between equal runs is the noise, and is printed.

use harness::process;
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use harness::sysbench::{Load, SCRIPTS};
use harness::table::{Cell, Table, median};
use harness::workspace;
use std::time::Duration;

/// What one run gave.
#[derive(Debug, Clone, Copy)]
struct Sample {
    qps: f64,
    tps: f64,
    cpu_us: f64,
    p95_ms: f64,
}

/// One server of the comparison.
struct Side {
    server: Server,
    samples: Vec<Sample>,
}

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Seconds of a run.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Rows of the table.
    #[arg(long, default_value_t = 2_000_000)]
    rows: u64,
    /// Numbers of clients.
    #[arg(long, value_delimiter = ',', default_value = "1,8,64,256")]
    threads: Vec<u32>,
    /// Runs of each.
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// The buffer pool.
    #[arg(long, default_value = "4G")]
    pool: String,
    /// innodb_flush_log_at_trx_commit.
    #[arg(long, default_value_t = 2)]
    flush: u32,
    /// Scripts of sysbench.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "oltp_point_select,oltp_update_non_index,oltp_read_write"
    )]
    tests: Vec<String>,
    /// The servers, in the order of the first turn.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "mariadb,tidemill"
    )]
    sides: Vec<Kind>,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let Options {
        seconds,
        rows,
        threads,
        repeats,
        pool,
        flush,
        tests,
        sides,
    } = options.clone();
    let repeats = repeats.max(1);
    let scripts: Vec<&'static str> = tests
        .iter()
        .map(|test| {
            SCRIPTS
                .iter()
                .copied()
                .find(|s| s == test)
                .ok_or_else(|| format!("no sysbench script {test}"))
        })
        .collect::<Outcome<_>>()?;
    let scratch = Scratch::new("compare")?;
    let load = Load {
        seconds,
        ..Load::new(SCRIPTS[0], rows)
    };
    let mut sides = sides
        .into_iter()
        .map(|kind| Side::start(kind, &scratch, &load, &pool, flush))
        .collect::<Outcome<Vec<Side>>>()?;
    let mut table = Table::new(COLUMNS);
    for script in scripts {
        for &threads in &threads {
            let load = Load {
                script,
                ..load.threads(threads)
            };
            point(&mut sides, &load, repeats)?;
            conclude(&mut table, &sides, &load);
        }
    }
    println!(
        "\none table of {rows} rows, pool {pool}, flush_log_at_trx_commit={flush}, Unix socket, \
         prepared statements, uniform keys, {seconds} s a run, medians of {repeats}"
    );
    table.print();
    println!(
        "noise: the fastest of the equal runs by the slowest. cpu: server microseconds a query, \
         from /proc. ratios: Tidemill by MariaDB."
    );
    table.save(&workspace::target_dir()?.join("xtask").join("compare.json"))?;
    for side in sides {
        side.server.signal("CONT")?;
        side.server.terminate()?;
    }
    Ok(())
}

impl Side {
    fn start(kind: Kind, scratch: &Scratch, load: &Load, pool: &str, flush: u32) -> Outcome<Side> {
        let setup = Setup::new(kind, scratch.path())?
            .option(&format!("innodb-buffer-pool-size={pool}"))
            .option(&format!("innodb-flush-log-at-trx-commit={flush}"))
            .option("innodb-flush-method=O_DIRECT")
            .option("max-connections=1000")
            .redo_capacity("2G");
        let server = setup.start()?;
        step::announce(&format!(
            "loading {} rows into {}",
            load.table_size,
            kind.name()
        ));
        load.prepare(&setup)?;
        server.signal("STOP")?;
        Ok(Side {
            server,
            samples: Vec::new(),
        })
    }

    fn run(&mut self, load: &Load) -> Outcome<()> {
        self.server.signal("CONT")?;
        // A short run first: connections, caches and the other side's dirty pages in the device settle.
        let warm = Load {
            seconds: 1,
            ..load.clone()
        };
        warm.run(self.server.setup())?;
        let pid = self.server.pid();
        let before = process::cpu_time(pid)?;
        let figures = load.run(self.server.setup())?;
        let cpu = process::cpu_time(pid)?.saturating_sub(before);
        self.server.signal("STOP")?;
        let sample = Sample {
            qps: figures.qps,
            tps: figures.tps,
            cpu_us: micros(cpu) / figures.queries.max(1) as f64,
            p95_ms: figures.p95_ms,
        };
        println!(
            "    {:<9} {:<22} {:>4} threads {:>9.0} queries/s  {:>6.1} us CPU a query",
            self.server.setup().kind.name(),
            load.script,
            load.threads,
            sample.qps,
            sample.cpu_us
        );
        self.samples.push(sample);
        Ok(())
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Measures one point on every side, `repeats` times, the order alternating.
fn point(sides: &mut [Side], load: &Load, repeats: usize) -> Outcome<()> {
    for side in sides.iter_mut() {
        side.samples.clear();
    }
    for round in 0..repeats {
        if round % 2 == 0 {
            for side in sides.iter_mut() {
                side.run(load)?;
            }
        } else {
            for side in sides.iter_mut().rev() {
                side.run(load)?;
            }
        }
    }
    Ok(())
}

const COLUMNS: &[&str] = &[
    "test",
    "threads",
    "mariadb qps",
    "tidemill qps",
    "ratio",
    "mariadb tps",
    "tidemill tps",
    "mariadb cpu",
    "tidemill cpu",
    "cpu ratio",
    "mariadb p95",
    "tidemill p95",
    "mariadb noise",
    "tidemill noise",
];

fn conclude(table: &mut Table, sides: &[Side], load: &Load) {
    let of = |kind: Kind, value: fn(&Sample) -> f64| -> Option<Vec<f64>> {
        let side = sides
            .iter()
            .find(|s| s.server.setup().kind == kind && !s.samples.is_empty())?;
        Some(side.samples.iter().map(value).collect())
    };
    let middle = |kind, value| of(kind, value).map(|v| median(&v));
    let both =
        |value: fn(&Sample) -> f64| (middle(Kind::MariaDb, value), middle(Kind::Tidemill, value));
    let cell =
        |value: Option<f64>, digits| value.map_or(Cell::Missing, |v| Cell::Number(v, digits));
    let ratio = |(theirs, ours): (Option<f64>, Option<f64>)| match (theirs, ours) {
        (Some(theirs), Some(ours)) => Cell::Number(ours / theirs, 2),
        _ => Cell::Missing,
    };
    let noise = |kind| {
        let spread = of(kind, |s| s.qps).map(|v| {
            let fastest = v.iter().copied().fold(f64::MIN, f64::max);
            let slowest = v.iter().copied().fold(f64::MAX, f64::min);
            fastest / slowest
        });
        cell(spread, 3)
    };
    let (qps, tps) = (both(|s| s.qps), both(|s| s.tps));
    let (cpu, p95) = (both(|s| s.cpu_us), both(|s| s.p95_ms));
    table.row(vec![
        load.script.into(),
        u64::from(load.threads).into(),
        cell(qps.0, 0),
        cell(qps.1, 0),
        ratio(qps),
        cell(tps.0, 0),
        cell(tps.1, 0),
        cell(cpu.0, 1),
        cell(cpu.1, 1),
        ratio(cpu),
        cell(p95.0, 2),
        cell(p95.1, 2),
        noise(Kind::MariaDb),
        noise(Kind::Tidemill),
    ]);
}
