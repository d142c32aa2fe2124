//! `cargo xtask sysbench-matrix`: every sysbench script at every thread count, prepared and as text.
//!
//! The only errors tolerated are the conflicts that sysbench itself retries; they are counted.

use harness::scratch::Scratch;
use harness::server::{Kind, Setup};
use harness::step::{self, Outcome};
use harness::sysbench::{BULK_INSERT, Figures, Load, SCRIPTS};
use harness::table::{Cell, Table};
use harness::workspace;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The server program.
    #[arg(long, value_enum, default_value_t = Kind::Tidemill)]
    server: Kind,
    /// Numbers of clients.
    #[arg(long, value_delimiter = ',', default_value = "1,8,64,256")]
    threads: Vec<u32>,
    /// sysbench's --db-ps-mode.
    #[arg(long, value_delimiter = ',', default_value = "auto,disable")]
    ps_modes: Vec<String>,
    /// Only scripts whose names contain one of these.
    #[arg(long, value_delimiter = ',')]
    scripts: Vec<String>,
    /// Rows of each table.
    #[arg(long, default_value_t = 250_000)]
    table_size: u64,
    /// Tables.
    #[arg(long, default_value_t = 4)]
    tables: u32,
    /// Seconds of a run.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// innodb_flush_log_at_trx_commit.
    #[arg(long, default_value_t = 2)]
    flush: u32,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let Options {
        server: kind,
        threads,
        ps_modes: modes,
        scripts: only,
        flush,
        ..
    } = options.clone();
    let mut load = Load::new(SCRIPTS[0], options.table_size);
    load.tables = options.tables;
    load.seconds = options.seconds;
    let mut scratch = Scratch::new("matrix")?;
    let setup = Setup::new(kind, scratch.path())?
        .option("innodb-buffer-pool-size=2G")
        .option(&format!("innodb-flush-log-at-trx-commit={flush}"))
        .option("max-connections=400")
        .redo_capacity("2G");
    let mut server = setup.start()?;
    let mut table = Table::new(&["script", "ps", "threads", "tps", "qps", "p95 ms", "retried"]);
    let mut failures = Vec::new();
    let wanted = |script: &str| only.is_empty() || only.iter().any(|o| script.contains(o.as_str()));
    for mode in ["auto", "disable"] {
        if !modes.iter().any(|m| m == mode) {
            continue;
        }
        let mut load = load.clone();
        load.ps_mode = mode;
        step::announce(&format!(
            "{} tables of {} rows, --db-ps-mode={mode}",
            load.tables, load.table_size
        ));
        load.prepare(&setup)?;
        for script in SCRIPTS.iter().copied().filter(|s| wanted(s)) {
            for &threads in &threads {
                load.script = script;
                let result = load.threads(threads).run(&setup);
                note(&mut table, &mut failures, &load, threads, result);
                server.must_run()?;
            }
        }
        load.cleanup(&setup)?;
        if wanted(BULK_INSERT) {
            load.script = BULK_INSERT;
            for &threads in &threads {
                let bulk = load.threads(threads);
                bulk.prepare(&setup)?;
                note(&mut table, &mut failures, &load, threads, bulk.run(&setup));
                bulk.cleanup(&setup)?;
                server.must_run()?;
            }
        }
    }
    server.terminate()?;
    setup.check_offline()?;
    println!();
    table.print();
    table.save(
        &workspace::target_dir()?
            .join("xtask")
            .join(format!("sysbench-matrix-{}.json", kind.name())),
    )?;
    if failures.is_empty() {
        Ok(())
    } else {
        scratch.keep();
        Err(format!(
            "{} runs failed:\n{}",
            failures.len(),
            failures.join("\n")
        ))
    }
}

fn note(
    table: &mut Table,
    failures: &mut Vec<String>,
    load: &Load,
    threads: u32,
    result: Outcome<Figures>,
) {
    let head = vec![
        load.script.into(),
        load.ps_mode.into(),
        u64::from(threads).into(),
    ];
    match result {
        Ok(f) => {
            println!(
                "    {:<22} {threads:>4} threads {:>9.0} queries/s, p95 {:.2} ms, {} retried",
                load.script, f.qps, f.p95_ms, f.ignored
            );
            let figures = [
                Cell::Number(f.tps, 0),
                Cell::Number(f.qps, 0),
                Cell::Number(f.p95_ms, 2),
                f.ignored.into(),
            ];
            table.row(head.into_iter().chain(figures).collect());
        }
        Err(why) => {
            println!("    {:<22} {threads:>4} threads FAILED: {why}", load.script);
            let missing = [Cell::Missing, Cell::Missing, Cell::Missing, Cell::Missing];
            table.row(head.into_iter().chain(missing).collect());
            failures.push(why);
        }
    }
}
