//! `cargo xtask few-files`: a server that may have few files open (`ulimit -n`), with more tables and more clients than those.
//!
//! With too few it does not start, and says why. With few everything works, or is refused with one of MySQL's errors for that: no answer is lost, no row that
//! was acknowledged either, also when the server is killed there, and when the clients are gone all goes on without a restart.

use harness::client::{Conn, Fault};
use harness::queries;
use harness::rng::{self, Rng};
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What a client may be told: ER_CANT_OPEN_FILE, ER_CON_COUNT_ERROR, ER_OUT_OF_RESOURCES, ER_CANT_CREATE_THREAD.
const CLEAR: [u16; 4] = [1016, 1040, 1041, 1135];

/// What is tried.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Options {
    /// `ulimit -n` of the server.
    #[arg(long, default_value_t = 64)]
    files: u64,
    /// Tables.
    #[arg(long, default_value_t = 100)]
    tables: u64,
    /// Clients at once.
    #[arg(long, default_value_t = 200)]
    clients: u64,
    /// Seconds under load.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Where the random numbers come from; a new seed each time without it.
    #[arg(long, default_value_t = rng::fresh_seed(), hide_default_value = true)]
    seed: u64,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    run(*options)
}

/// The share of the tests.
pub fn short(seed: u64) -> Outcome<()> {
    // Each core has threads with rings and event descriptors of their own.
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get() as u64);
    run(Options {
        files: 52 + 6 * cores.max(2),
        tables: 100,
        clients: 200,
        seconds: 4,
        seed,
    })
}

fn run(plan: Options) -> Outcome<()> {
    step::announce(&format!(
        "{} files, {} tables, {} clients, --seed {}",
        plan.files, plan.tables, plan.clients, plan.seed
    ));
    let mut scratch = Scratch::new("few-files")?;
    let result = trial(plan, &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

/// What the clients met.
#[derive(Debug, Default)]
struct Met {
    connected: AtomicU64,
    done: AtomicU64,
    /// Rows that were acknowledged.
    rows: AtomicU64,
    refused: base::lock::Mutex<BTreeMap<u16, u64>>,
}

impl Met {
    /// Counts a refusal; an error where it is none that says why.
    fn refused(&self, fault: &Fault) -> Outcome<()> {
        match fault {
            Fault::Server { code, .. } if CLEAR.contains(code) => {
                let mut refused = self.refused.lock();
                *refused.entry(*code).or_default() += 1;
                Ok(())
            }
            fault => Err(format!("a client is told: {fault}")),
        }
    }
}

fn trial(plan: Options, scratch: &Scratch) -> Outcome<()> {
    let setup = Setup::new(Kind::Tidemill, scratch.path())?
        .option("innodb-buffer-pool-size=5M")
        .redo_capacity("32M");
    let said = setup.clone().files(24).try_start(&[])?;
    if said.success || !said.text.contains("ulimit -n") {
        return Err(format!("with 24 files the server says: {}", said.text));
    }
    println!("    with 24 files it does not start, and says so");
    let setup = setup.files(plan.files);
    let server = setup.start()?;
    make_tables(&server, plan.tables).map_err(|why| server.with_log(&why))?;
    let met = Met::default();
    crowd(plan, &setup, &met).map_err(|why| server.with_log(&why))?;
    let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
    println!(
        "    {} logins, {} statements done, {} rows; refused: {:?}",
        count(&met.connected),
        count(&met.done),
        count(&met.rows),
        met.refused.lock()
    );
    if count(&met.rows) == 0 {
        return Err(server.with_log("nothing was done"));
    }
    verify(&server, plan.tables, count(&met.rows)).map_err(|why| server.with_log(&why))?;
    server.kill9()?;
    let server = setup.start()?;
    verify(&server, plan.tables, count(&met.rows)).map_err(|why| server.with_log(&why))?;
    server.terminate()?;
    setup.check_offline()?;
    println!("    all goes on when they are gone, and after kill -9");
    Ok(())
}

fn name(table: u64) -> String {
    format!("few.t{table}")
}

fn must(conn: &mut dyn Conn, sql: &str) -> Outcome<()> {
    conn.run(sql)
        .map(drop)
        .map_err(|e| format!("{sql:.100}: {e}"))
}

fn make_tables(server: &Server, tables: u64) -> Outcome<()> {
    let mut conn = server.connect()?;
    must(conn.as_mut(), "CREATE DATABASE few")?;
    for t in 0..tables {
        let name = name(t);
        must(
            conn.as_mut(),
            &format!(
                "CREATE TABLE {name} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, pad VARCHAR(2000) NOT NULL)"
            ),
        )?;
    }
    Ok(())
}

/// Clients come, do something in any of the tables, and stay or go.
fn crowd(plan: Options, setup: &Setup, met: &Met) -> Outcome<()> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..plan.clients)
            .map(|n| {
                let over = &over;
                scope.spawn(move || {
                    let mut rng = Rng::new(plan.seed ^ n << 32);
                    let result = client(plan, setup, &mut rng, over, met);
                    if result.is_err() {
                        over.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        for _ in 0..plan.seconds * 20 {
            if !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        over.store(true, Ordering::Relaxed);
        clients.into_iter().try_for_each(|c| {
            c.join()
                .unwrap_or_else(|_| Err("a client panicked".to_owned()))
        })
    })
}

fn client(
    plan: Options,
    setup: &Setup,
    rng: &mut Rng,
    over: &AtomicBool,
    met: &Met,
) -> Outcome<()> {
    while !over.load(Ordering::Relaxed) {
        let mut conn = match setup.connect() {
            Ok(conn) => conn,
            Err(fault) => {
                met.refused(&fault)?;
                std::thread::sleep(Duration::from_millis(100 + rng.below(200)));
                continue;
            }
        };
        met.connected.fetch_add(1, Ordering::Relaxed);
        for _ in 0..1 + rng.below(40) {
            let table = name(rng.below(plan.tables));
            let pad = "x".repeat(rng.below(2000) as usize);
            let writes = rng.one_in(2);
            let sql = match writes {
                true => format!("INSERT INTO {table} (pad) VALUES ('{pad}')"),
                false => format!("SELECT COUNT(*), MAX(pad) FROM {table}"),
            };
            match conn.run(&sql) {
                Ok(_) => {
                    met.done.fetch_add(1, Ordering::Relaxed);
                    met.rows.fetch_add(u64::from(writes), Ordering::Relaxed);
                }
                Err(fault) => met.refused(&fault)?,
            }
        }
    }
    Ok(())
}

/// Each table can be used, and the rows are there that were acknowledged.
fn verify(server: &Server, tables: u64, rows: u64) -> Outcome<()> {
    let mut conn = server.connect()?;
    let mut sum = 0;
    for t in 0..tables {
        let sql = format!("SELECT COUNT(*) FROM {}", name(t));
        sum += queries::number(conn.as_mut(), &sql)?;
    }
    if sum != rows {
        return Err(format!("{rows} rows were acknowledged, {sum} are there"));
    }
    let names: Vec<String> = (0..tables).map(|t| format!("t{t}")).collect();
    queries::check_tables(conn.as_mut(), "few", &names)
}
