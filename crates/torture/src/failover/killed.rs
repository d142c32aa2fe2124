//! A source under semi-sync that is killed in the middle of its clients' work.

use super::nodes::{
    ACCOUNT, ANSWER, Node, begin, equal, follow, new_source, node, on, tidemill, verify,
};
use super::plan::Options;
use base::lock::Mutex;
use harness::client::{Conn, Fault};
use harness::rng::Rng;
use harness::scratch::Scratch;
use harness::server::Setup;
use harness::step::Outcome;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long the clients write before the kill, at most.
const LONGEST_LIFE_MS: u64 = 600;
/// From the kill to the first commit on the new source: what the test asks for on a busy machine. The bar is a second.
const BACK_WITHIN: Duration = Duration::from_secs(10);

/// What has come of it.
#[derive(Debug, Default)]
struct Totals {
    acknowledged: u64,
    unanswered: u64,
    rejoined: u32,
    errant: u32,
    back: Vec<Duration>,
}

/// Kills the source, again and again.
pub(super) fn trial(plan: Options, scratch: &Scratch) -> Outcome<()> {
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
