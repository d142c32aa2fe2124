//! `cargo xtask pressure`: a small pool over much data for minutes; no error, and memory stays bounded.

use harness::process;
use harness::queries;
use harness::scratch::{self, Scratch};
use harness::server::{Kind, Setup};
use harness::step::{self, Outcome};
use harness::sysbench::Load;
use harness::table::{Cell, Table};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// What the server may use beyond its pool and log buffers.
const SLACK: u64 = 200 * MIB;

/// The flags of the command.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Options {
    /// The server program.
    #[arg(long, value_enum, default_value_t = Kind::Tidemill)]
    server: Kind,
    /// The buffer pool, MiB.
    #[arg(long, default_value_t = 64)]
    pool_mb: u64,
    /// The log's buffer, MiB.
    #[arg(long, default_value_t = 16)]
    log_buffer_mb: u64,
    /// Rows in all.
    #[arg(long, default_value_t = 4_800_000)]
    rows: u64,
    /// Tables.
    #[arg(long, default_value_t = 4)]
    tables: u32,
    /// Clients.
    #[arg(long, default_value_t = 64)]
    threads: u32,
    /// Seconds under load.
    #[arg(long, default_value_t = 300)]
    seconds: u64,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let Options {
        server: kind,
        pool_mb: pool_mib,
        log_buffer_mb: log_buffer_mib,
        rows,
        tables,
        threads,
        seconds,
    } = *options;
    let bound = (pool_mib + log_buffer_mib) * MIB + SLACK;
    let mut scratch = Scratch::new("pressure")?;
    let setup = Setup::new(kind, scratch.path())?
        .option(&format!("innodb-buffer-pool-size={pool_mib}M"))
        .option(&format!("innodb-log-buffer-size={log_buffer_mib}M"))
        .option("innodb-flush-log-at-trx-commit=2")
        .option("innodb-flush-method=O_DIRECT")
        .option("max-connections=400")
        .redo_capacity("1G");
    let mut server = setup.start()?;
    let mut load = Load::new("oltp_read_write", rows / u64::from(tables.max(1))).threads(threads);
    load.tables = tables;
    load.seconds = seconds;
    step::announce(&format!(
        "loading {rows} rows into {tables} tables of {} (pool {pool_mib} MiB)",
        kind.name()
    ));
    load.prepare(&setup)?;
    println!(
        "    data directory: {} MiB",
        scratch::size_of(&setup.datadir)? / MIB
    );
    let mut table = Table::new(&[
        "test",
        "qps",
        "p95 ms",
        "retried",
        "RSS max MiB",
        "bound MiB",
    ]);
    let mut broken = Vec::new();
    for script in ["oltp_read_write", "oltp_update_index"] {
        load.script = script;
        step::announce(&format!("{script}, {threads} threads, {seconds} s"));
        let (figures, most) = watched(server.pid(), || load.run(&setup))?;
        server.must_run()?;
        table.row(vec![
            script.into(),
            Cell::Number(figures.qps, 0),
            Cell::Number(figures.p95_ms, 2),
            figures.ignored.into(),
            (most / MIB).into(),
            (bound / MIB).into(),
        ]);
        if most > bound {
            broken.push(format!("{script}: {} MiB resident", most / MIB));
        }
    }
    queries::check_tables(
        server.connect()?.as_mut(),
        load.database,
        &harness::sysbench::table_names(tables),
    )?;
    server.terminate()?;
    setup.check_offline()?;
    table.print();
    if broken.is_empty() {
        Ok(())
    } else {
        scratch.keep();
        Err(format!(
            "memory went over {} MiB: {}",
            bound / MIB,
            broken.join("; ")
        ))
    }
}

/// Runs `work` while sampling the resident memory of `pid` each second; its result and the largest sample.
fn watched<T>(pid: u32, work: impl FnOnce() -> Outcome<T>) -> Outcome<(T, u64)> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = 0;
            while !done.load(Ordering::Relaxed) {
                most = process::resident(pid).unwrap_or(0).max(most);
                std::thread::park_timeout(Duration::from_secs(1));
            }
            most
        });
        let result = work();
        // Between two samples it may have been more; the kernel's own peak would include the load before.
        done.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        let most = watcher
            .join()
            .map_err(|_| "the memory watcher panicked".to_owned())?;
        Ok((result?, most))
    })
}
