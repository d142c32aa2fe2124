//! `cargo xtask recovery-time`: how long after a kill the first query is served, with much log to replay.

use harness::queries;
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use harness::sysbench::Load;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The server program.
    #[arg(long, value_enum, default_value_t = Kind::Tidemill)]
    server: Kind,
    /// The log that is to be replayed, MiB.
    #[arg(long, default_value_t = 1024)]
    log_mb: u64,
    /// The longest that the first query may take, in ms.
    #[arg(long, default_value_t = 5000)]
    limit_ms: u64,
    /// Rows of the table.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// The buffer pool.
    #[arg(long, default_value = "4G")]
    pool: String,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let kind = options.server;
    let wanted = options.log_mb * MIB;
    let limit = Duration::from_millis(options.limit_ms);
    let (rows, pool) = (options.rows, &options.pool);
    let mut scratch = Scratch::new("recovery-time")?;
    let setup = Setup::new(kind, scratch.path())?
        .option(&format!("innodb-buffer-pool-size={pool}"))
        .option("innodb-flush-log-at-trx-commit=2")
        .option("max-connections=400")
        .option_of(Kind::MariaDb, "innodb-max-dirty-pages-pct=99")
        .option_of(Kind::MariaDb, "innodb-max-dirty-pages-pct-lwm=0")
        .redo_capacity("4G");
    let server = setup.start()?;
    let mut load = Load::new("oltp_update_index", rows).threads(64);
    step::announce(&format!("loading {rows} rows into {}", kind.name()));
    load.prepare(&setup)?;
    load.seconds = 3600;
    step::announce(&format!("writing {} MiB of log", wanted / MIB));
    let log = write_log(&server, &load, wanted)?;
    server.kill9()?;
    step::announce("killed; starting again");
    let mut server = setup.spawn()?;
    let took = server.wait_ready(Duration::from_secs(600))?;
    let mut conn = server.connect()?;
    let begun = Instant::now();
    let count = queries::number(conn.as_mut(), "SELECT COUNT(*) FROM sbtest.sbtest1")?;
    println!(
        "    {} MiB of log ({}), first query after {} ms; a count of all rows took {} ms more",
        log.bytes / MIB,
        log.measure,
        took.as_millis(),
        begun.elapsed().as_millis()
    );
    if count != rows {
        scratch.keep();
        return Err(format!("{count} rows after recovery, not {rows}"));
    }
    queries::check_tables(
        conn.as_mut(),
        load.database,
        &harness::sysbench::table_names(1),
    )?;
    drop(conn);
    server.terminate()?;
    setup.check_offline()?;
    if took > limit {
        return Err(format!(
            "{} ms to the first query; the limit is {} ms",
            took.as_millis(),
            limit.as_millis()
        ));
    }
    Ok(())
}

struct Written {
    bytes: u64,
    measure: &'static str,
}

/// Bytes of log that a recovery would have to replay now: MariaDB tells them, MySQL and Tidemill tell both ends.
fn checkpoint_age(conn: &mut dyn harness::client::Conn) -> Option<(u64, &'static str)> {
    if let Some(bytes) = queries::status(conn, "Innodb_checkpoint_age") {
        return Some((bytes, "Innodb_checkpoint_age"));
    }
    let now = queries::status(conn, "Innodb_redo_log_current_lsn")?;
    let from = queries::status(conn, "Innodb_redo_log_checkpoint_lsn")?;
    Some((now.saturating_sub(from), "Innodb_redo_log_*_lsn"))
}

/// Runs the load until the log behind the last checkpoint (or, where the server does not tell its age, the log
/// written since the start of the load) has `wanted` bytes.
fn write_log(server: &Server, load: &Load, wanted: u64) -> Outcome<Written> {
    let mut conn = server.connect()?;
    let written =
        |conn: &mut dyn harness::client::Conn| queries::status(conn, "Innodb_os_log_written");
    let at_start = written(conn.as_mut()).unwrap_or(0);
    let mut background = load.spawn(server.setup())?;
    let begun = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let now = match checkpoint_age(conn.as_mut()) {
            Some((bytes, measure)) => Written { bytes, measure },
            None => Written {
                bytes: written(conn.as_mut())
                    .ok_or("the server does not tell how much log it writes")?
                    .saturating_sub(at_start),
                measure: "Innodb_os_log_written",
            },
        };
        if now.bytes >= wanted {
            return Ok(now);
        }
        if !background.runs() {
            return Err(server.with_log("sysbench ended before there was enough log"));
        }
        if begun.elapsed() > Duration::from_secs(900) {
            return Err(format!(
                "only {} MiB of log ({}) after {} s: checkpoints keep up with the load",
                now.bytes / MIB,
                now.measure,
                begun.elapsed().as_secs()
            ));
        }
    }
}
