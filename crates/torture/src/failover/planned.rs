//! A switchover that is planned: the source lives, and its clients go on writing while `tidemill promote` takes it out of service.
//!
//! What a client was told is committed must be on the new source; what was refused must be nowhere. A branch that was prepared is prepared there too,
//! and is committed there. Half of the clients hold a transaction open longer than it takes, so that it is open when the source becomes read-only.

use super::nodes::{
    ACCOUNT, ANSWER, Node, PASSWORD, begin, equal, ids_of, new_source, node, tidemill, verify,
};
use super::plan::Options;
use base::lock::Mutex;
use harness::client::{Conn, Fault};
use harness::rng::Rng;
use harness::scratch::Scratch;
use harness::step::Outcome;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Refused, as the server is read-only.
const READ_ONLY: u16 = 1290;
/// Behind a switchover a client of the old source has its answer by then, on a machine that is busy. Semi-sync waits for two minutes.
const ANSWERED: Duration = Duration::from_secs(30);

/// How a client ends its transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Autocommit,
    Transaction,
    OnePhase,
    TwoPhases,
}

const KINDS: [Kind; 4] = [
    Kind::Autocommit,
    Kind::Transaction,
    Kind::OnePhase,
    Kind::TwoPhases,
];

/// What a client was told.
#[derive(Default)]
struct Told {
    sure: BTreeSet<u64>,
    /// Prepared, and then refused: the rows, by the branch's name.
    prepared: Vec<(String, Vec<u64>)>,
    refused: u64,
    fault: Option<String>,
}

/// Switches over, again and again.
pub(super) fn trial(plan: Options, scratch: &Scratch) -> Outcome<()> {
    let mut rng = Rng::new(plan.seed);
    let mut nodes = Vec::new();
    for id in 1..=3 {
        nodes.push(node(scratch, id)?);
    }
    begin(&nodes)?;
    let mut sure = BTreeSet::new();
    let (mut refused, mut prepared) = (0, 0);
    for round in 0..plan.times {
        let done = one(plan, round, &mut nodes, &mut rng, &mut sure);
        let (r, p) = done.map_err(|why| {
            let logs = nodes.iter().map(|n| n.server.with_log(""));
            format!(
                "switchover {}: {why}{}",
                round + 1,
                logs.collect::<String>()
            )
        })?;
        refused += r;
        prepared += p;
    }
    println!(
        "    {} switchovers: {} rows acknowledged, none lost; {refused} transactions were refused, {prepared} of them prepared before",
        plan.times,
        sure.len(),
    );
    if refused == 0 {
        return Err("no transaction was open when the source became read-only".to_owned());
    }
    refusals(&nodes)
}

fn one(
    plan: Options,
    round: u32,
    nodes: &mut Vec<Node>,
    rng: &mut Rng,
    sure: &mut BTreeSet<u64>,
) -> Outcome<(u64, u64)> {
    let stop = Arc::new(AtomicBool::new(false));
    let ids = Arc::new(AtomicU64::new(u64::from(round) << 32 | 1));
    let all = Arc::new(Mutex::new(Vec::new()));
    let mut clients = Vec::new();
    for client in 0..plan.clients {
        let mut conn = nodes[0].server.connect()?;
        let (stop, ids, all) = (stop.clone(), ids.clone(), all.clone());
        let slow = client % 8 >= 4;
        let kind = KINDS[(client % 4) as usize];
        clients.push(std::thread::spawn(move || {
            let told = write(&mut *conn, &ids, (client, kind, slow), &stop);
            all.lock().push(told);
        }));
    }
    std::thread::sleep(Duration::from_millis(20 + rng.below(200)));
    let semi_sync = if round.is_multiple_of(2) { "on" } else { "off" };
    let promoted = promote(nodes, &[&format!("--semi-sync={semi_sync}")]);
    stop.store(true, Ordering::Relaxed);
    let promoted_at = Instant::now();
    for c in clients {
        c.join().map_err(|_| "a client's thread fell".to_owned())?;
    }
    let waited = promoted_at.elapsed();
    let (done, said) = promoted?;
    // No replica is left there that could acknowledge anything.
    if done && waited > ANSWERED {
        let waited = waited.as_secs();
        return Err(format!(
            "a client of the old source had no answer for {waited} s behind the switchover"
        ));
    }
    if !done {
        return Err(format!("promote: {said}"));
    }
    let at = new_source(nodes)?;
    if at == 0 {
        return Err("the old source is the new one".to_owned());
    }
    let old = nodes.remove(0);
    nodes.swap(0, at - 1);
    let (mut refused, mut left) = (0, Vec::new());
    for told in all.lock().drain(..) {
        if let Some(fault) = told.fault {
            return Err(fault);
        }
        sure.extend(told.sure);
        refused += told.refused;
        left.extend(told.prepared);
    }
    let mut conn = nodes[0].server.connect()?;
    // Each branch that was prepared when a client heard so is still there, and is committed by who has lost its answer.
    for (xid, rows) in &left {
        conn.run(&format!("XA COMMIT '{xid}'"))
            .map_err(|e| format!("a branch that was prepared: {e}; promote said: {said}"))?;
        sure.extend(rows);
    }
    let others = conn.run("XA RECOVER").map_err(|e| e.to_string())?;
    if !others.is_empty() {
        return Err(format!("branches that nobody was told of: {others:?}"));
    }
    verify(&mut *conn, sure, &BTreeSet::new(), round)?;
    let words = [
        "rejoin".to_owned(),
        ANSWER.to_owned(),
        format!("--user={ACCOUNT}"),
        format!("--replication-user={ACCOUNT}"),
        format!("--server=127.0.0.1:{}", old.server.setup().port),
        format!("--to=127.0.0.1:{}", nodes[0].server.setup().port),
    ];
    let (done, said) = tidemill(&words)?;
    if !done {
        return Err(format!("rejoin: {said}"));
    }
    nodes.push(old);
    equal(nodes)?;
    Ok((refused, left.len() as u64))
}

fn promote(nodes: &[Node], more: &[&str]) -> Outcome<(bool, String)> {
    let mut words = vec!["promote".to_owned(), format!("--user={ACCOUNT}")];
    words.push(ANSWER.to_owned());
    for n in &nodes[1..] {
        words.push(format!("--replica=127.0.0.1:{}", n.server.setup().port));
    }
    words.extend(more.iter().map(|w| (*w).to_owned()));
    tidemill(&words)
}

/// Writes until it is refused.
fn write(
    conn: &mut dyn Conn,
    ids: &AtomicU64,
    (client, kind, slow): (u64, Kind, bool),
    stop: &AtomicBool,
) -> Told {
    let mut told = Told::default();
    while !stop.load(Ordering::Relaxed) {
        let size = if kind == Kind::Autocommit { 1 } else { 2 };
        let first = ids.fetch_add(size, Ordering::Relaxed);
        let rows: Vec<u64> = (first..first + size).collect();
        let insert: Vec<String> = rows
            .iter()
            .map(|id| format!("INSERT INTO d.t VALUES ({id}, {client}, 'planned')"))
            .collect();
        let xid = format!("{client}-{first}");
        let mut prepared = false;
        let mut run = || -> Result<(), Fault> {
            let (begin, end) = match kind {
                Kind::Autocommit => (None, vec![]),
                Kind::Transaction => (Some("BEGIN".to_owned()), vec!["COMMIT".to_owned()]),
                Kind::OnePhase => (
                    Some(format!("XA START '{xid}'")),
                    vec![
                        format!("XA END '{xid}'"),
                        format!("XA COMMIT '{xid}' ONE PHASE"),
                    ],
                ),
                Kind::TwoPhases => (
                    Some(format!("XA START '{xid}'")),
                    vec![format!("XA END '{xid}'"), format!("XA PREPARE '{xid}'")],
                ),
            };
            for sql in begin.iter().chain(&insert) {
                conn.run(sql)?;
            }
            let pause = || {
                if slow {
                    std::thread::sleep(Duration::from_millis(30));
                }
            };
            if kind != Kind::TwoPhases {
                pause();
            }
            for sql in &end {
                conn.run(sql)?;
            }
            if kind == Kind::TwoPhases {
                prepared = true;
                pause();
                conn.run(&format!("XA COMMIT '{xid}'"))?;
            }
            Ok(())
        };
        match run() {
            Ok(()) => told.sure.extend(rows),
            Err(Fault::Server { code, .. }) if code == READ_ONLY => {
                told.refused += 1;
                if prepared {
                    told.prepared.push((xid, rows));
                }
                return told;
            }
            Err(Fault::Server { code, text, .. }) => {
                told.fault = Some(format!("a client is told {code}: {text}"));
                return told;
            }
            Err(e) => {
                told.fault = Some(format!("a client of a server that lives: {e}"));
                return told;
            }
        }
    }
    told
}

/// What must not be reported as done: a source that lives and does not let promote in; a replica that its new source does not let in.
fn refusals(nodes: &[Node]) -> Outcome<()> {
    let alter = |password: &str| {
        format!("SET sql_log_bin = 0; ALTER USER {ACCOUNT} IDENTIFIED BY '{password}'")
    };
    let there = ids_of(&mut *nodes[0].server.connect()?, "")?;
    on_each(&nodes[0], &alter("another"))?;
    let (done, said) = promote(nodes, &[])?;
    if done || !said.contains("the source lives") {
        return Err(format!(
            "promote beside a source that does not let it in: {done}: {said}"
        ));
    }
    if new_source(nodes)? != 0 {
        return Err("promote beside a source that does not let it in has made another one".into());
    }
    on_each(&nodes[0], &alter(PASSWORD))?;
    // The last replica has all, and its password is another one from now on.
    equal(nodes)?;
    let last = nodes.last().ok_or("no servers")?;
    on_each(
        last,
        "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = 'wrong'; START REPLICA SQL_THREAD; SET GLOBAL rpl_semi_sync_replica_enabled = OFF",
    )?;
    let port = last.server.setup().port.to_string();
    let first = format!("--prefer=127.0.0.1:{}", nodes[1].server.setup().port);
    let (done, said) = promote(nodes, &["--semi-sync=off", &first])?;
    if done || !said.contains(&port) {
        return Err(format!(
            "promote with a replica that cannot connect: {done}: {said}"
        ));
    }
    // Nothing is lost by it, wherever the source is now.
    let at = new_source(nodes).unwrap_or(0);
    match ids_of(&mut *nodes[at].server.connect()?, "")? == there {
        true => Ok(()),
        false => Err("rows are missing after a promotion that was refused".to_owned()),
    }
}

/// Statements on one connection.
fn on_each(node: &Node, statements: &str) -> Outcome<()> {
    let mut conn = node.server.connect()?;
    for sql in statements.split("; ") {
        conn.run(sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    Ok(())
}
