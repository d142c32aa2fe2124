//! `cargo xtask failover`: a source under semi-sync is killed in the middle of its clients' work, again and again; `tidemill promote` makes a replica
//! the source, and `tidemill rejoin` brings the old one back.
//!
//! No commit that was acknowledged may be missing on the new source, none may be there twice, and in the end all servers have the same rows. Where the
//! old source has committed what no replica ever got, it must say so and must not come back by itself: a fresh directory takes its place.

use base::lock::Mutex;
use harness::client::{Conn, Fault};
use harness::rng::{self, Rng};
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What is tried.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Options {
    /// How often the source is killed.
    #[arg(long, default_value_t = 10)]
    times: u32,
    /// Clients that write.
    #[arg(long, default_value_t = 8)]
    clients: u64,
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
    run(Options {
        times: 3,
        clients: 4,
        seed,
    })
}

/// How long the clients write before the kill, at most.
const LONGEST_LIFE_MS: u64 = 600;
/// A server that lives answers in this time, however busy the machine is; one that is killed refuses at once.
const ANSWER: &str = "--connect-timeout=30000";

/// How long a commit waits for a replica: longer than anything here takes, so that none is answered without one.
const PATIENCE_MS: u64 = 120_000;
/// How long anything may take before it is a fault.
const LIMIT: Duration = Duration::from_secs(60);
/// From the kill to the first commit on the new source: what the test asks for on a busy machine. The bar is a second.
const BACK_WITHIN: Duration = Duration::from_secs(10);
/// The account of administrators and of replicas.
const ACCOUNT: &str = "keeper";
const PASSWORD: &str = "failover-test";

fn run(plan: Options) -> Outcome<()> {
    step::announce(&format!(
        "{} kills, {} clients, --seed {}",
        plan.times, plan.clients, plan.seed
    ));
    let mut scratch = Scratch::new("failover")?;
    let result = trial(plan, &scratch);
    if result.is_err() {
        scratch.keep();
    }
    result
}

/// A server of the three, and the directory it is in.
struct Node {
    id: u32,
    server: Server,
}

/// What has come of it.
#[derive(Debug, Default)]
struct Totals {
    acknowledged: u64,
    unanswered: u64,
    rejoined: u32,
    errant: u32,
    back: Vec<Duration>,
}

fn trial(plan: Options, scratch: &Scratch) -> Outcome<()> {
    let mut rng = Rng::new(plan.seed);
    let mut nodes = Vec::new();
    for id in 1..=3 {
        nodes.push(node(scratch, id)?);
    }
    let mut fresh = 4;
    begin(&nodes)?;
    let mut totals = Totals::default();
    // The clients' rows: acknowledged, and those of which nothing was heard.
    let mut sure: BTreeSet<u64> = BTreeSet::new();
    for round in 0..plan.times {
        let result = one(
            plan,
            scratch,
            round,
            &mut nodes,
            &mut rng,
            &mut sure,
            &mut totals,
            &mut fresh,
        );
        result.map_err(|why| {
            let logs = nodes.iter().map(|n| n.server.with_log(""));
            format!("kill {}: {why}{}", round + 1, logs.collect::<String>())
        })?;
    }
    totals.back.sort_unstable();
    let ms = |d: Option<&Duration>| d.map_or(0, Duration::as_millis);
    println!(
        "    {} kills: {} commits acknowledged, none lost; {} were not answered; back after {} ms (median), {} ms (worst); \
         the old source came back {} times, and had errant transactions {} times",
        plan.times,
        totals.acknowledged,
        totals.unanswered,
        ms(totals.back.get(totals.back.len() / 2)),
        ms(totals.back.last()),
        totals.rejoined,
        totals.errant
    );
    ends_unanswered(nodes)
}

/// A source that ends while a commit waits for replicas, of which none is left, must not answer its client that it was done.
fn ends_unanswered(mut nodes: Vec<Node>) -> Outcome<()> {
    let source = nodes.remove(0).server;
    for n in nodes {
        n.server.terminate()?;
    }
    let mut conn = source.connect()?;
    let waits = std::thread::spawn(move || conn.run("INSERT INTO d.t VALUES (-1, -2, 'the end')"));
    std::thread::sleep(Duration::from_millis(200));
    source.terminate()?;
    match waits.join().map_err(|_| "a client's thread fell")? {
        Ok(_) => Err("a commit that no replica has was acknowledged at the end".to_owned()),
        Err(_) => Ok(()),
    }
}

/// A server with an empty directory. It is fenced until it is told otherwise, and a replica acknowledges.
fn node(scratch: &Scratch, id: u32) -> Outcome<Node> {
    let dir = scratch.path().join(format!("node-{id}"));
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let setup = Setup::new(Kind::Tidemill, &dir)?
        .option(&format!("server-id={id}"))
        .option("log-bin=binlog")
        .option("gtid-mode=ON")
        .option("enforce-gtid-consistency=ON")
        .option("innodb-buffer-pool-size=16M")
        .redo_capacity("64M")
        .option("super-read-only=ON")
        .option("rpl-semi-sync-replica-enabled=ON")
        .option(&format!("rpl-semi-sync-source-timeout={PATIENCE_MS}"));
    let server = setup.start()?;
    Ok(Node { id, server })
}

fn on(server: &Server, sql: &str) -> Outcome<Vec<Vec<String>>> {
    let mut conn = server.connect()?;
    conn.run(sql).map_err(|e| format!("{sql}: {e}"))
}

fn follow(server: &Server, port: u16) -> Outcome<()> {
    on(
        server,
        &format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='{ACCOUNT}', \
             SOURCE_PASSWORD='{PASSWORD}', SOURCE_AUTO_POSITION=1, SOURCE_CONNECT_RETRY=1, GET_SOURCE_PUBLIC_KEY=1"
        ),
    )?;
    on(server, "START REPLICA").map(drop)
}

/// The first is the source of the others.
fn begin(nodes: &[Node]) -> Outcome<()> {
    let [source, replicas @ ..] = nodes else {
        return Err("no servers".to_owned());
    };
    let s = &source.server;
    for sql in [
        "SET GLOBAL super_read_only = OFF".to_owned(),
        "SET GLOBAL read_only = OFF".to_owned(),
        format!("CREATE USER {ACCOUNT} IDENTIFIED BY '{PASSWORD}'"),
        format!("GRANT ALL ON *.* TO {ACCOUNT} WITH GRANT OPTION"),
        "CREATE DATABASE d".to_owned(),
        "CREATE TABLE d.t (id BIGINT PRIMARY KEY, client INT, pad VARCHAR(200))".to_owned(),
    ] {
        on(s, &sql)?;
    }
    for r in replicas {
        follow(&r.server, s.setup().port)?;
    }
    on(s, "SET GLOBAL rpl_semi_sync_source_enabled = ON")?;
    // A failover that begins before the replicas have begun is another matter.
    let begun = Instant::now();
    for r in replicas {
        while on(&r.server, "SELECT 1 FROM d.t").is_err() {
            if begun.elapsed() > LIMIT {
                return Err(format!("server {} does not begin", r.id));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}

/// What a client has done until its server was gone.
#[derive(Debug, Default)]
struct Written {
    sure: Vec<u64>,
    unsure: Vec<u64>,
    fault: Option<String>,
}

/// Inserts rows until the server is gone. A quarter goes in transactions of three.
fn write(conn: &mut dyn Conn, ids: &AtomicU64, client: u64, stop: &AtomicBool) -> Written {
    let mut w = Written::default();
    let mut n = 0u64;
    while !stop.load(Ordering::Relaxed) {
        n += 1;
        let size = if n.is_multiple_of(4) { 3 } else { 1 };
        let first = ids.fetch_add(size, Ordering::Relaxed);
        let rows: Vec<u64> = (first..first + size).collect();
        let insert = |id: &u64| {
            format!(
                "INSERT INTO d.t VALUES ({id}, {client}, REPEAT('x', {}))",
                id % 200
            )
        };
        let done = match size {
            1 => conn.run(&insert(&first)).map(drop),
            _ => (|| {
                conn.run("BEGIN")?;
                for id in &rows {
                    conn.run(&insert(id))?;
                }
                conn.run("COMMIT").map(drop)
            })(),
        };
        match done {
            Ok(()) => w.sure.extend(rows),
            Err(Fault::Server { code, text, .. }) => {
                w.fault = Some(format!("a client is told {code}: {text}"));
                return w;
            }
            Err(_) => {
                // It may have been committed, and nobody was told.
                w.unsure.extend(rows);
                return w;
            }
        }
    }
    w
}

#[expect(clippy::too_many_arguments, reason = "one round of one trial")]
fn one(
    plan: Options,
    scratch: &Scratch,
    round: u32,
    nodes: &mut Vec<Node>,
    rng: &mut Rng,
    sure: &mut BTreeSet<u64>,
    totals: &mut Totals,
    fresh: &mut u32,
) -> Outcome<()> {
    let source = nodes.remove(0);
    let stop = Arc::new(AtomicBool::new(false));
    let ids = Arc::new(AtomicU64::new(u64::from(round) << 32 | 1));
    let all = Arc::new(Mutex::new(Vec::new()));
    let mut clients = Vec::new();
    for client in 0..plan.clients {
        let mut conn = source.server.connect()?;
        let (stop, ids, all) = (stop.clone(), ids.clone(), all.clone());
        clients.push(std::thread::spawn(move || {
            let w = write(&mut *conn, &ids, client, &stop);
            all.lock().push(w);
        }));
    }
    std::thread::sleep(Duration::from_millis(50 + rng.below(LONGEST_LIFE_MS)));
    let setup = source.server.setup().clone();
    source.server.kill9()?;
    let killed = Instant::now();
    stop.store(true, Ordering::Relaxed);
    for c in clients {
        c.join().map_err(|_| "a client's thread fell".to_owned())?;
    }
    let mut unsure = BTreeSet::new();
    let before = sure.len();
    for w in all.lock().drain(..) {
        if let Some(fault) = w.fault {
            return Err(fault);
        }
        sure.extend(w.sure);
        unsure.extend(w.unsure);
    }
    totals.acknowledged += (sure.len() - before) as u64;
    totals.unanswered += unsure.len() as u64;
    let told = promote(nodes)?;
    let at = new_source(nodes)?;
    nodes.swap(0, at);
    let mut conn = nodes[0].server.connect()?;
    let probe = u64::from(round) << 32;
    let wrote = conn.run(&format!("INSERT INTO d.t VALUES ({probe}, -1, 'probe')"));
    wrote.map_err(|e| format!("the new source: {e}; promote said: {told}"))?;
    let back = killed.elapsed();
    if back > BACK_WITHIN {
        return Err(format!("the service was back after {back:?} only"));
    }
    totals.back.push(back);
    sure.insert(probe);
    verify(&mut *conn, sure, &unsure, round)?;
    rejoin(scratch, setup, source.id, nodes, totals, fresh)?;
    equal(nodes)
}

fn tidemill(words: &[String]) -> Outcome<(bool, String)> {
    let program = harness::workspace::server()?;
    let mut command = Command::new(program);
    command.args(words).env("TIDEMILL_PASSWORD", PASSWORD);
    command.env("TIDEMILL_REPLICATION_PASSWORD", PASSWORD);
    let done = step::quietly(&mut command)?;
    Ok((done.success, done.text))
}

fn promote(nodes: &[Node]) -> Outcome<String> {
    let mut words = vec!["promote".to_owned(), format!("--user={ACCOUNT}")];
    words.push(ANSWER.to_owned());
    for n in nodes {
        words.push(format!("--replica=127.0.0.1:{}", n.server.setup().port));
    }
    match tidemill(&words)? {
        (true, text) => Ok(text),
        (false, text) => Err(format!("promote: {text}")),
    }
}

fn new_source(nodes: &[Node]) -> Outcome<usize> {
    let mut found = Vec::new();
    for (at, n) in nodes.iter().enumerate() {
        let rows = on(
            &n.server,
            "SELECT @@GLOBAL.read_only + @@GLOBAL.super_read_only",
        )?;
        if rows.first().and_then(|r| r.first()).map(String::as_str) == Some("0") {
            found.push(at);
        }
    }
    match *found {
        [at] => Ok(at),
        _ => Err(format!("{} servers can be written to", found.len())),
    }
}

fn ids_of(conn: &mut dyn Conn, filter: &str) -> Outcome<BTreeSet<u64>> {
    let rows = conn
        .run(&format!("SELECT id FROM d.t {filter}"))
        .map_err(|e| e.to_string())?;
    let number = |r: Vec<String>| r.first().and_then(|id| id.parse().ok());
    Ok(rows.into_iter().filter_map(number).collect())
}

/// Nothing acknowledged is missing, nothing is there that nobody has written, and no transaction is there in part.
fn verify(
    conn: &mut dyn Conn,
    sure: &mut BTreeSet<u64>,
    unsure: &BTreeSet<u64>,
    round: u32,
) -> Outcome<()> {
    let there = ids_of(conn, "")?;
    let missing: Vec<&u64> = sure.difference(&there).collect();
    if !missing.is_empty() {
        return Err(format!(
            "{} acknowledged rows are missing on the new source in round {round}, the first are {:?}",
            missing.len(),
            &missing[..missing.len().min(5)]
        ));
    }
    let strange: Vec<&u64> = there
        .iter()
        .filter(|id| !sure.contains(id) && !unsure.contains(id))
        .collect();
    if !strange.is_empty() {
        return Err(format!("rows that nobody has written: {strange:?}"));
    }
    // From now on they are there for good.
    sure.extend(there);
    Ok(())
}

/// The old source comes back, or is replaced.
fn rejoin(
    scratch: &Scratch,
    setup: Setup,
    id: u32,
    nodes: &mut Vec<Node>,
    totals: &mut Totals,
    fresh: &mut u32,
) -> Outcome<()> {
    let server = setup.start()?;
    let source = nodes.first().ok_or("no source")?.server.setup().port;
    let words = [
        "rejoin".to_owned(),
        ANSWER.to_owned(),
        format!("--user={ACCOUNT}"),
        format!("--replication-user={ACCOUNT}"),
        format!("--server=127.0.0.1:{}", setup.port),
        format!("--to=127.0.0.1:{source}"),
    ];
    let (done, said) = tidemill(&words)?;
    if done {
        totals.rejoined += 1;
        nodes.push(Node { id, server });
        return Ok(());
    }
    if !said.contains("errant transactions") {
        return Err(format!("rejoin: {said}"));
    }
    let behind = on(&server, "SHOW REPLICA STATUS")?;
    if behind.iter().flatten().any(|v| *v == source.to_string()) {
        return Err("an old source with errant transactions became a replica".to_owned());
    }
    totals.errant += 1;
    server.kill9()?;
    let node = node(scratch, *fresh)?;
    *fresh += 1;
    follow(&node.server, source)?;
    nodes.push(node);
    Ok(())
}

/// All servers get what the source has, and have the same rows then.
fn equal(nodes: &[Node]) -> Outcome<()> {
    let [source, replicas @ ..] = nodes else {
        return Err("no servers".to_owned());
    };
    let sum = "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', id, client, pad))) FROM d.t";
    let expected = on(&source.server, sum)?;
    let executed = on(&source.server, "SELECT @@GLOBAL.gtid_executed")?;
    let executed = executed.concat().concat();
    for r in replicas {
        let wait = format!(
            "SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', {})",
            LIMIT.as_secs()
        );
        let waited = on(&r.server, &wait)?;
        if waited.concat() != ["0"] {
            let status = on(&r.server, "SHOW REPLICA STATUS")?;
            return Err(format!("server {} does not catch up: {status:?}", r.id));
        }
        let got = on(&r.server, sum)?;
        if got != expected {
            return Err(format!(
                "server {} has {got:?}, the source {expected:?}",
                r.id
            ));
        }
    }
    Ok(())
}
