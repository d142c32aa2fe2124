//! `cargo xtask hostile`: clients that are careless, slow, many or malicious, and a bystander who must not notice.
//!
//! Each case does its worst over the Unix socket, with the project's own client or with bare bytes; meanwhile a bystander
//! asks `SELECT 1` and writes down the longest answer. Limits must answer with MySQL's errors. One transaction is
//! left open for the whole run. The short form is a part of `cargo xtask test`; the long one has the full numbers.

mod account;
mod idle_connections;
mod limits;
mod rude;
mod stage;

use harness::scratch::Scratch;
use harness::server::{Kind, Setup};
use harness::step::{self, Outcome};
use stage::{Attack, Scale, Stage, connect, number, query};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a bystander may have to wait for `SELECT 1`. The machine may be busy; a server that waits for one of these
/// clients is far beyond it.
const BYSTANDER_WAITS: Duration = Duration::from_millis(1500);

/// As the issue asks for it.
const FULL: Scale = Scale {
    half_open: 500,
    slow_readers: 16,
    statements: 100_000,
    deaths: 200,
    idle: 10_000,
    active: 128,
    seconds: 4,
    rounds: 7,
    attack: Attack {
        seconds: 600,
        abusers: 64,
        waits: Duration::from_millis(250),
        abuse: None,
        room_alone: false,
    },
};

/// For every run of the tests.
const SHORT: Scale = Scale {
    half_open: 100,
    slow_readers: 4,
    statements: 5_000,
    deaths: 30,
    idle: 1_000,
    active: 16,
    seconds: 1,
    rounds: 0,
    // The machine may be busy with other things.
    attack: Attack {
        seconds: 20,
        abusers: 48,
        waits: BYSTANDER_WAITS,
        abuse: None,
        room_alone: false,
    },
};

/// The flags of the command; without one, the number is that of the short or of the full form.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The share of `cargo xtask test`.
    #[arg(long)]
    short: bool,
    /// The case whose name contains this alone.
    #[arg(long, default_value = "", hide_default_value = true)]
    only: String,
    /// Idle connections.
    #[arg(long)]
    idle: Option<usize>,
    /// Busy connections beside the idle ones.
    #[arg(long)]
    active: Option<u32>,
    /// Seconds of one measurement.
    #[arg(long)]
    seconds: Option<u64>,
    /// Pairs of measurements with and without the idle connections.
    #[arg(long)]
    rounds: Option<u32>,
    /// Seconds that the account without privileges attacks.
    #[arg(long, value_name = "SECONDS")]
    attack: Option<u64>,
    /// One kind of abuse alone, by its place in the list.
    #[arg(long, value_name = "NUMBER")]
    abuse: Option<usize>,
    /// Of the attacks the one on the room for temporary files alone.
    #[arg(long)]
    attack_room: bool,
    /// Connections of the attackers.
    #[arg(long)]
    abusers: Option<u64>,
    /// Attack the server of this socket until the standard input ends.
    #[arg(long, value_name = "SOCKET")]
    attack_on: Option<PathBuf>,
}

/// The command.
pub fn command(options: &Options) -> Outcome<()> {
    let mut scale = if options.short { SHORT } else { FULL };
    scale.idle = options.idle.unwrap_or(scale.idle);
    scale.active = options.active.unwrap_or(scale.active);
    scale.seconds = options.seconds.unwrap_or(scale.seconds);
    scale.rounds = options.rounds.unwrap_or(scale.rounds);
    scale.attack.seconds = options.attack.unwrap_or(scale.attack.seconds);
    scale.attack.abuse = options.abuse;
    scale.attack.room_alone = options.attack_room;
    scale.attack.abusers = options.abusers.unwrap_or(scale.attack.abusers);
    if let Some(socket) = &options.attack_on {
        return account::attackers::attack(&account::attackers::Orders {
            socket: socket.clone(),
            attack: match options.attack_room {
                true => account::attackers::Kind::Room,
                false => account::attackers::Kind::Everything,
            },
            abusers: scale.attack.abusers,
            abuse: scale.attack.abuse,
        });
    }
    run(&scale, &options.only)
}

/// The short form.
pub fn short() -> Outcome<()> {
    run(&SHORT, "")
}

/// The attack of an account without privileges, on a server of its own. In every run of the tests it is short, and a bystander may wait longer:
/// the machine is busy with other things. Alone it judges waits of a quarter of a second.
const ACCOUNT: &str = "account";

type Case = fn(&Stage<'_>) -> Outcome<String>;

const CASES: &[(&str, Case)] = &[
    ("half-open handshakes", rude::half_open),
    ("slow readers of large results", rude::slow_readers),
    ("gone in the middle of a statement", rude::gone_in_statement),
    (
        "gone in the middle of a transaction",
        rude::gone_in_transaction,
    ),
    ("gone in the middle of a commit", rude::gone_in_commit),
    ("packets out of order", rude::out_of_order),
    ("giant packets", limits::giant_packets),
    ("prepared statements without end", limits::statements),
    ("too many connections", limits::connections),
    ("idle for too long", limits::idle),
    ("a crowd of idle connections", idle_connections::crowd),
];

fn run(scale: &Scale, only: &str) -> Outcome<()> {
    step::announce("hostile and careless clients");
    let mut scratch = Scratch::new("hostile")?;
    let attack =
        || account::run(&scale.attack, &scratch).map(|words| println!("    {ACCOUNT}: {words}"));
    let result = match only {
        ACCOUNT => attack(),
        "" => cases(scale, only, &scratch).and_then(|()| attack()),
        _ => cases(scale, only, &scratch),
    };
    if result.is_err() {
        scratch.keep();
    }
    result
}

fn cases(scale: &Scale, only: &str, scratch: &Scratch) -> Outcome<()> {
    let files = rlimit::increase_nofile_limit(u64::MAX).map_err(|e| format!("ulimit -n: {e}"))?;
    if files < scale.idle as u64 + 500 {
        return Err(format!(
            "{} connections need more open files than ulimit -n gives: {files}",
            scale.idle
        ));
    }
    let setup = Setup::new(Kind::Tidemill, scratch.path())?
        .option("innodb-flush-log-at-trx-commit=2")
        .option("innodb-buffer-pool-size=128M")
        .option("max-allowed-packet=64M")
        .option(&format!("max-connections={}", scale.idle + 1000));
    let mut server = setup.start()?;
    prepare(&setup)?;
    // Left open over everything that follows.
    let mut forgotten = connect(&setup).map_err(|e| e.to_string())?;
    query(&mut forgotten, "USE hostile")?;
    query(&mut forgotten, "BEGIN")?;
    let sum = "SELECT SUM(id) FROM rows_";
    let before = number(&mut forgotten, sum)?;
    query(&mut forgotten, "INSERT INTO deaths VALUES (-1, 0)")?;
    let stage = Stage {
        server: &server,
        setup: &setup,
        scale,
    };
    let mut failed = Vec::new();
    for (name, case) in CASES.iter().filter(|c| c.0.contains(only)) {
        match beside_a_bystander(&stage, *case) {
            Ok(words) => println!("    {name}: {words}"),
            Err(why) => {
                println!("    {name}: FAILED: {why}");
                failed.push(*name);
            }
        }
    }
    let mut writer = stage.open()?;
    query(&mut writer, "DELETE FROM rows_ WHERE id <= 100")?;
    let after = number(&mut forgotten, sum)?;
    if before != after {
        failed.push("the forgotten transaction no longer sees its snapshot");
    }
    query(&mut forgotten, "COMMIT")?;
    drop(writer);
    drop(forgotten);
    server.must_run()?;
    server.terminate()?;
    setup.check_offline()?;
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("hostile clients: {}", failed.join(", ")))
    }
}

fn prepare(setup: &Setup) -> Outcome<()> {
    let mut conn = connect(setup).map_err(|e| e.to_string())?;
    for sql in [
        "CREATE DATABASE hostile",
        "USE hostile",
        "CREATE TABLE rows_ (id INT PRIMARY KEY, pad VARCHAR(1000))",
        "CREATE TABLE deaths (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)",
    ] {
        query(&mut conn, sql)?;
    }
    let rows: Vec<String> = (1..=1000)
        .map(|n| format!("({n}, REPEAT('x', 1000))"))
        .collect();
    let sql = format!("INSERT INTO rows_ VALUES {}", rows.join(", "));
    query(&mut conn, &sql).map(drop)
}

/// Runs a case while somebody else asks small questions.
fn beside_a_bystander(stage: &Stage<'_>, case: Case) -> Outcome<String> {
    let mut bystander = stage.open()?;
    let done = AtomicBool::new(false);
    let begun = Instant::now();
    let (words, waited) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            while !done.load(Ordering::Relaxed) {
                let asked = Instant::now();
                query(&mut bystander, "SELECT pad FROM rows_ WHERE id = 500")?;
                longest = longest.max(asked.elapsed());
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok::<Duration, String>(longest)
        });
        let words = case(stage);
        done.store(true, Ordering::Relaxed);
        let waited = watch
            .join()
            .unwrap_or_else(|_| Err("the bystander panicked".to_owned()));
        (words, waited)
    });
    let words = words?;
    let waited = waited.map_err(|e| format!("a bystander: {e}"))?;
    if waited > BYSTANDER_WAITS {
        return Err(format!("a bystander waited {} ms", waited.as_millis()));
    }
    Ok(format!(
        "{words} ({:.1} s; a bystander waited at most {:.1} ms)",
        begun.elapsed().as_secs_f64(),
        waited.as_secs_f64() * 1000.0
    ))
}
