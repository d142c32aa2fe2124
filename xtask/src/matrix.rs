//! `cargo xtask sysbench-matrix`: every sysbench script at every thread count, prepared and as text.
//!
//! The only errors tolerated are the conflicts that sysbench itself retries; they are counted.

use harness::args::Args;
use harness::scratch::Scratch;
use harness::server::{Kind, Setup};
use harness::step::{self, Outcome};
use harness::sysbench::{BULK_INSERT, Figures, Load, SCRIPTS};
use harness::table::{Cell, Table};
use harness::workspace;

/// The command.
pub fn command(args: &Args) -> Outcome<()> {
    let kind = args.get("server", Kind::Tidemill)?;
    let threads: Vec<u32> = args.list("threads", "1,8,64,256")?;
    let modes: Vec<String> = args.list("ps-modes", "auto,disable")?;
    let only: Vec<String> = args.list("scripts", "")?;
    let mut load = Load::new(SCRIPTS[0], args.get("table-size", 250_000)?);
    load.tables = args.get("tables", 4)?;
    load.seconds = args.get("seconds", 10)?;
    let flush: u32 = args.get("flush", 2)?;
    args.refuse_unread()?;
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
