//! E13: changes of a table's definition and of its row format, alone and beside clients that read and write it.
//!
//! One table of sysbench's rows; each change is made alone first by both servers, then all of them once more, by Tidemill and where `--peer-beside` asks for it by
//! MariaDB too (a quarter of an hour a million rows), beside oltp_read_write from eight clients, whose
//! throughput and whose longest transaction are read second by second; a ninth client tells the longest single statement. What the clients lose in the seconds that a change touches is
//! laid to the change alone, however short it was: its share of the usual throughput is `1 - lost / (usual * duration)`.

use crate::experiment::DATABASE;
use crate::machine;
use crate::peers::{self, Order, Peer, Terms, Who};
use crate::probe::Probe;
use harness::install;
use harness::scratch::Scratch;
use harness::step::{self, Outcome};
use harness::sysbench::{self, Reach, Second, Watched};
use harness::table::{Cell, Table, median};
use harness::workspace;
use std::process::Command;
use std::time::{Duration, Instant};

/// A change: its name, and what each server is asked for.
struct Change {
    name: &'static str,
    tidemill: &'static str,
    mariadb: &'static str,
}

const fn same(name: &'static str, sql: &'static str) -> Change {
    Change {
        name,
        tidemill: sql,
        mariadb: sql,
    }
}

/// In this order, each on what the one before has left.
const CHANGES: &[Change] = &[
    same("index on c", "CREATE INDEX c_1 ON sbtest1 (c)"),
    same("index dropped", "DROP INDEX c_1 ON sbtest1"),
    same(
        "plain to 8 KiB blocks",
        "ALTER TABLE sbtest1 ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
    ),
    same(
        "8 to 4 KiB blocks",
        "ALTER TABLE sbtest1 ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4",
    ),
    same(
        "4 to 2 KiB blocks",
        "ALTER TABLE sbtest1 ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=2",
    ),
    same(
        "2 KiB blocks to plain",
        "ALTER TABLE sbtest1 ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0",
    ),
    Change {
        name: "plain to adaptive",
        tidemill: "ALTER TABLE sbtest1 ROW_FORMAT=COMPRESSED",
        mariadb: "ALTER TABLE sbtest1 PAGE_COMPRESSED=1, FORCE",
    },
    Change {
        name: "adaptive to plain",
        tidemill: "ALTER TABLE sbtest1 ROW_FORMAT=DYNAMIC",
        mariadb: "ALTER TABLE sbtest1 PAGE_COMPRESSED=0, FORCE",
    },
    same("rebuilt as it is", "ALTER TABLE sbtest1 FORCE"),
];

const WHOS: [Who; 2] = [Who::Tidemill, Who::MariaDb];
const CLIENTS: u32 = 8;
/// Seconds in which the clients come to what is usual, and those that say what that is.
const WARMS_S: u64 = 4;
const CALM_S: u64 = 6;
/// Seconds that a change must take for its share of the throughput to mean something.
const SEEN_S: f64 = 0.25;

/// What one change came to.
#[derive(Default)]
struct Runs {
    alone_s: Vec<f64>,
    beside_s: Vec<f64>,
    share: Vec<f64>,
    longest_ms: Vec<f64>,
    usual_longest_ms: Vec<f64>,
    statement_ms: Vec<f64>,
    usual_statement_ms: Vec<f64>,
}

/// The flags of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Rows of the table.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// Runs of each.
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// These servers alone.
    #[arg(long, value_delimiter = ',')]
    sides: Vec<String>,
    /// Clients beside MariaDB's statements too.
    #[arg(long)]
    peer_beside: bool,
}

/// `cargo xtask lab conversions`.
pub fn command(options: &Options) -> Outcome<()> {
    let (rows, repeats) = (options.rows, options.repeats);
    let (sides, peer_beside) = (&options.sides, options.peer_beside);
    install::peers(false)?;
    let scratch = Scratch::new("conversions")?;
    let cores = machine::describe(scratch.path()).cores;
    let mut runs: Vec<Runs> = (0..CHANGES.len() * WHOS.len())
        .map(|_| Runs::default())
        .collect();
    for turn in 0..repeats {
        for (w, who) in WHOS.into_iter().enumerate() {
            if !sides.is_empty() && !sides.iter().any(|s| s == who.name()) {
                continue;
            }
            step::announce(&format!("[{}/{repeats}] {}", turn + 1, who.name()));
            let dir = scratch.path().join("side");
            let order = Order {
                who,
                terms: Terms {
                    pool_mib: 1024,
                    log_mib: 1024,
                    ..Terms::LAZY
                },
                options: match who {
                    // By default it gives an ALTER TABLE up whose writers do more than 128 MiB meanwhile.
                    Who::MariaDb => &["innodb_online_alter_log_max_size=16G"],
                    _ => &[],
                },
                dir: &dir,
                cores: "",
            };
            let peer = peers::start(&order)?;
            peer.make_database(DATABASE)?;
            sysbench::Load::new("oltp_read_write", rows).fill(peer.reach())?;
            let of = |change: usize| change * WHOS.len() + w;
            for (c, change) in CHANGES.iter().enumerate() {
                let (seconds, _) = timed(&*peer, sql(change, who))?;
                runs[of(c)].alone_s.push(seconds);
            }
            if who != Who::Tidemill && !peer_beside {
                peer.stop()?;
                std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
                continue;
            }
            let load = sysbench::Load {
                threads: CLIENTS,
                seconds: 36_000,
                extra: who.driver_flags().to_vec(),
                ..sysbench::Load::new("oltp_read_write", rows)
            };
            let mut load = load.watch(peer.reach())?;
            let probe = Probe::start(&*peer, who.name(), DATABASE, rows)?;
            std::thread::sleep(Duration::from_secs(WARMS_S));
            for (c, change) in CHANGES.iter().enumerate() {
                beside(&*peer, (change, who), (&mut load, &probe), &mut runs[of(c)])?;
            }
            probe.end()?;
            drop(load);
            let checked = peer.ask(DATABASE, "CHECK TABLE sbtest1")?;
            peer.stop()?;
            println!("    {checked}");
            std::fs::remove_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        }
    }
    let table = table(&runs);
    table.print();
    if !sides.is_empty() {
        println!("    one side alone is no record");
        return Ok(());
    }
    let name = format!("{}-{cores}-cores-conversions.json", machine::today());
    let path = workspace::root().join("docs").join("benchmarks").join(name);
    table.save(&path)?;
    println!(
        "    {rows} rows, medians of {repeats}; written: {}",
        path.display()
    );
    Ok(())
}

fn sql(change: &Change, who: Who) -> &'static str {
    match who {
        Who::MariaDb => change.mariadb,
        _ => change.tidemill,
    }
}

/// Makes a change beside the load, and sees what that does to it.
fn beside(
    peer: &dyn Peer,
    (change, who): (&Change, Who),
    (load, probe): (&mut Watched, &Probe),
    runs: &mut Runs,
) -> Outcome<()> {
    let calm_from = Instant::now() + Duration::from_secs(1);
    std::thread::sleep(Duration::from_secs(CALM_S));
    let (seconds, begun) = timed(peer, sql(change, who))?;
    let ended = begun + Duration::from_secs_f64(seconds);
    let all = load
        .seconds_until(ended + Duration::from_secs(1))
        .map_err(|e| format!("{}: {}: {e}", who.name(), change.name))?;
    let second = Duration::from_secs(1);
    let calm: Vec<Second> = within(&all, |s| s.end > calm_from + second && s.end < begun);
    let touched: Vec<Second> = within(&all, |s| s.end > begun && s.end < ended + second);
    let usual = median(&calm.iter().map(|s| s.qps).collect::<Vec<_>>());
    let lost: f64 = touched.iter().map(|s| usual - s.qps).sum();
    let longest = |seconds: &[Second]| seconds.iter().map(|s| s.longest_ms).fold(0.0, f64::max);
    let share = 1.0 - lost / (usual * seconds);
    runs.beside_s.push(seconds);
    // Of a shorter one the clients' own ups and downs are all that is seen.
    if seconds >= SEEN_S {
        runs.share.push(share);
    }
    runs.longest_ms.push(longest(&touched));
    runs.usual_longest_ms.push(longest(&calm));
    let statement_ms = probe.longest_ms(begun, ended + second / 2)?;
    let usual_ms = probe.longest_ms(calm_from, begun)?;
    runs.statement_ms.push(statement_ms);
    runs.usual_statement_ms.push(usual_ms);
    println!(
        "    {:<24} {seconds:>6.2} s, {share:>5.2} of {usual:.0} queries/s, longest {:.0} ms (usual {:.0} ms), longest statement \
         {statement_ms:.0} ms (usual {usual_ms:.0} ms)",
        change.name,
        longest(&touched),
        longest(&calm)
    );
    Ok(())
}

fn within(all: &[Second], which: impl Fn(&Second) -> bool) -> Vec<Second> {
    all.iter().copied().filter(|s| which(s)).collect()
}

/// Runs a statement that may take long, by the program `mariadb`: its seconds, and when it began.
pub(super) fn timed(peer: &dyn Peer, sql: &str) -> Outcome<(f64, Instant)> {
    let Reach::Mysql(socket) = peer.reach() else {
        return Err("no server of MySQL's protocol".to_owned());
    };
    let begun = Instant::now();
    step::must(
        Command::new("mariadb")
            .arg(format!("--socket={}", socket.display()))
            .args(["--user=root", DATABASE, "--execute", sql]),
    )?;
    Ok((begun.elapsed().as_secs_f64(), begun))
}

fn table(runs: &[Runs]) -> Table {
    let mut table = Table::new(&[
        "change",
        "server",
        "alone_s",
        "beside_s",
        "share",
        "longest_ms",
        "usual_longest_ms",
        "statement_ms",
        "usual_statement_ms",
        "alone_of_mariadb",
    ]);
    let number = |v: &[f64], digits| match v.is_empty() {
        true => Cell::Missing,
        false => Cell::Number(median(v), digits),
    };
    for (i, run) in runs.iter().enumerate() {
        let peer = &runs[i / WHOS.len() * WHOS.len() + 1];
        table.row(vec![
            CHANGES[i / WHOS.len()].name.into(),
            WHOS[i % WHOS.len()].name().into(),
            number(&run.alone_s, 2),
            number(&run.beside_s, 2),
            number(&run.share, 2),
            number(&run.longest_ms, 0),
            number(&run.usual_longest_ms, 0),
            number(&run.statement_ms, 1),
            number(&run.usual_statement_ms, 1),
            match run.alone_s.is_empty() || peer.alone_s.is_empty() {
                true => Cell::Missing,
                false => Cell::Number(median(&run.alone_s) / median(&peer.alone_s), 2),
            },
        ]);
    }
    table
}
