//! The servers of a trial of `failover`: how they begin, what is asked of them, and what they must have in the end.

use harness::client::Conn;
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

/// A server that lives answers in this time, however busy the machine is; one that is killed refuses at once.
pub(super) const ANSWER: &str = "--connect-timeout=30000";

/// How long a commit waits for a replica: longer than anything here takes, so that none is answered without one.
pub(super) const PATIENCE_MS: u64 = 120_000;
/// How long anything may take before it is a fault.
pub(super) const LIMIT: Duration = Duration::from_secs(60);
/// The account of administrators and of replicas.
pub(super) const ACCOUNT: &str = "keeper";
pub(super) const PASSWORD: &str = "failover-test";

/// A server of the three, and the directory it is in.
pub(super) struct Node {
    pub(super) id: u32,
    pub(super) server: Server,
}

/// A server with an empty directory. It is fenced until it is told otherwise, and a replica acknowledges.
pub(super) fn node(scratch: &Scratch, id: u32) -> Outcome<Node> {
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

pub(super) fn on(server: &Server, sql: &str) -> Outcome<Vec<Vec<String>>> {
    let mut conn = server.connect()?;
    conn.run(sql).map_err(|e| format!("{sql}: {e}"))
}

pub(super) fn follow(server: &Server, port: u16) -> Outcome<()> {
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
pub(super) fn begin(nodes: &[Node]) -> Outcome<()> {
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

pub(super) fn tidemill(words: &[String]) -> Outcome<(bool, String)> {
    let program = harness::workspace::server()?;
    let mut command = Command::new(program);
    command.args(words).env("TIDEMILL_PASSWORD", PASSWORD);
    command.env("TIDEMILL_REPLICATION_PASSWORD", PASSWORD);
    let done = step::quietly(&mut command)?;
    Ok((done.success, done.text))
}

pub(super) fn new_source(nodes: &[Node]) -> Outcome<usize> {
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

pub(super) fn ids_of(conn: &mut dyn Conn, filter: &str) -> Outcome<BTreeSet<u64>> {
    let rows = conn
        .run(&format!("SELECT id FROM d.t {filter}"))
        .map_err(|e| e.to_string())?;
    let number = |r: Vec<String>| r.first().and_then(|id| id.parse().ok());
    Ok(rows.into_iter().filter_map(number).collect())
}

/// Nothing acknowledged is missing, nothing is there that nobody has written, and no transaction is there in part.
pub(super) fn verify(
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

/// All servers get what the source has, and have the same rows then.
pub(super) fn equal(nodes: &[Node]) -> Outcome<()> {
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
