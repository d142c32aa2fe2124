//! One run of one side.

use crate::experiment::DATABASE;
use crate::experiment::{Data, Load, Probe};
use crate::fio::Fio;
use crate::peers::{Peer, Who};
use crate::record::Run;
use crate::time_series::TimeSeries;
use crate::tpcc;
use harness::process;
use harness::step::Outcome;
use harness::sysbench;
use std::time::Duration;

/// What is run.
#[derive(Debug, Clone)]
pub struct Job {
    /// What the clients do.
    pub load: Load,
    /// On which tables.
    pub data: Data,
    /// How many clients.
    pub clients: u32,
    /// For how long.
    pub seconds: u64,
    /// The cores that the clients may use, as `taskset -c` takes them; empty for all.
    pub cores: String,
}

/// What the clients saw.
struct Served {
    run: Run,
    /// What the server's costs are divided by.
    queries: u64,
    commits: u64,
}

/// The size of a page in the files of each.
fn page_bytes(who: Who) -> f64 {
    match who {
        Who::Postgres => 8192.0,
        _ => 16384.0,
    }
}

/// Runs a load on a server, and reads from outside what it cost there.
pub fn server(peer: &dyn Peer, who: Who, job: &Job) -> Outcome<Run> {
    let pid = peer.pid();
    let syncs = peer.log_syncs();
    let before = process::usage(pid)?;
    let (served, memory) = std::thread::scope(|scope| {
        // In the middle, while the clients are there: memory for connections is gone when they are.
        let seconds = job.seconds;
        let sampler = scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(seconds * 500));
            process::resident_together(pid).ok()
        });
        let served = clients(peer, who, job);
        (served, sampler.join().ok().flatten())
    });
    let Served {
        mut run,
        queries,
        commits,
    } = served?;
    let used = process::usage(pid)?.since(before);
    let synced = syncs.zip(peer.log_syncs());
    let queries = queries.max(1) as f64;
    run.cpu_us = Some(used.cpu.as_secs_f64() * 1e6 / queries);
    run.reads = Some(used.read as f64 / page_bytes(who) / queries);
    run.written_kib = Some(used.written as f64 / 1024.0 / queries);
    run.memory_mib = memory.map(|bytes| bytes as f64 / f64::from(1 << 20));
    run.syncs = synced.map(|(a, b)| b.saturating_sub(a) as f64 / commits.max(1) as f64);
    Ok(run)
}

fn clients(peer: &dyn Peer, who: Who, job: &Job) -> Outcome<Served> {
    match (job.load, job.data) {
        (Load::Sysbench(script, extra), Data::Rows { tables, rows, .. }) => {
            let load = sysbench::Load {
                tables,
                threads: job.clients,
                seconds: job.seconds,
                database: DATABASE,
                extra: [who.driver_flags(), extra].concat(),
                closely: true,
                cores: job.cores.clone(),
                ..sysbench::Load::new(script, rows)
            };
            rows_served(&load, peer)
        }
        (Load::Tpcc(flags), Data::Warehouses(n)) => {
            let tpcc = tpcc::run(peer, who, n, job.clients, job.seconds, flags)?;
            let took = tpcc.took.max(1.0);
            let [p50_ms, p95_ms, p99_ms, max_ms] = tpcc.latency_ms;
            Ok(Served {
                queries: tpcc.new_orders,
                commits: tpcc.transactions,
                run: Run {
                    rate: tpcc.new_orders as f64 * 60.0 / took,
                    tps: tpcc.transactions as f64 / took,
                    p50_ms,
                    p95_ms,
                    p99_ms,
                    max_ms,
                    retried: tpcc.errors,
                    seconds: tpcc.seconds,
                    ..Run::default()
                },
            })
        }
        (load, data) => Err(format!("{load:?} does not run on {data:?}")),
    }
}

fn rows_served(load: &sysbench::Load, peer: &dyn Peer) -> Outcome<Served> {
    let (figures, text) = load.report(peer.reach())?;
    let time_series = TimeSeries::parse(&text);
    Ok(Served {
        queries: figures.queries,
        commits: figures.transactions,
        run: Run {
            rate: figures.qps,
            tps: figures.tps,
            p50_ms: time_series.percentile(0.5),
            p95_ms: time_series.percentile(0.95),
            p99_ms: time_series.percentile(0.99),
            max_ms: time_series.max_ms,
            retried: figures.ignored,
            seconds: time_series.seconds,
            ..Run::default()
        },
    })
}

/// Runs the disk by itself.
pub fn disk(fio: &Fio, probe: Probe, seconds: u64) -> Outcome<Run> {
    let disk = fio.run(probe, seconds)?;
    Ok(Run {
        rate: disk.rate,
        p50_ms: disk.p50_us / 1e3,
        p95_ms: disk.p95_us / 1e3,
        p99_ms: disk.p99_us / 1e3,
        max_ms: disk.max_us / 1e3,
        ..Run::default()
    })
}
