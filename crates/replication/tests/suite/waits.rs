//! Waits of which the lock table does not know: what is held meanwhile must not be what somebody needs who is waited for.

use crate::scripted;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::block_on;
use base::mem::MemDisk;
use replication::replica::ReplicaServer;
use scripted::file::{File, row};
use scripted::{failures, number, run, serve_in_steps, server, until, with_workers};
use sql::Session;
use sql::context::replica::{Receiving, Replica};
use types::Value;
use types::gtid::Sid;
use wire::binlog::frame::Checksum;
use wire::binlog::header::kind;
use wire::binlog::payload::{Compression, Payload};
use wire::binlog::rows::Change;

const MADE: &str = "CREATE TABLE `u` (\n  `id` int NOT NULL,\n  `a` varchar(20) DEFAULT NULL,\n  PRIMARY KEY (`id`)\n) START TRANSACTION";

/// A file of a source whose first transaction updates the row `id`.
fn source(id: i64) -> File {
    let mut f = File::new(Checksum::Crc32, 20);
    f.sid = Sid([id as u8; 16]);
    f.updates(0, &[(id, "x".to_owned(), "y".to_owned())]);
    f
}

/// Two transactions of a third server come over both: here is the one, which inserts a row.
fn insert(f: &mut File, last_committed: i64) {
    (f.sid, f.number) = (Sid([9; 16]), Some(1));
    f.inserts(last_committed, &[(10, "ten".to_owned())]);
}

/// The other one makes a table with its rows, and its events are compressed: nothing says in front of it that it is to be beside nothing.
fn made(f: &mut File, last_committed: i64) {
    let mut inner = File::new(Checksum::None, 20);
    inner.table = "u";
    let front = inner.bytes.len();
    inner.query("BEGIN");
    inner.query(MADE);
    inner.rows(Change::Write, &[(None, row(1, "one"))]);
    inner.commit();
    let plain = &inner.bytes[front..];
    let bytes = zstd::encode_all(plain, 3).expect("compressed");
    let payload = Payload {
        compression: Compression::Zstd,
        uncompressed: plain.len() as u64,
        bytes: &bytes,
    };
    (f.sid, f.number) = (Sid([9; 16]), Some(2));
    f.begin(last_committed);
    f.event(kind::TRANSACTION_PAYLOAD, |out| payload.write(out));
}

/// Over the one channel the two come in one order, over the other in the other, and in each the second begins first. The second of the first channel
/// waits until all before it is done: it must not keep its name locked, for which the first of the second channel waits.
#[test]
fn who_waits_for_those_before_it_keeps_no_name_locked() {
    let (mut one, mut other) = (source(1), source(2));
    // The first of the two depends on what is held up, the second on nothing.
    insert(&mut one, 1);
    made(&mut one, 0);
    made(&mut other, 1);
    insert(&mut other, 0);
    let (_engine, i) = server(&Arc::new(MemDisk::default()));
    with_workers(&i, 4);
    run(&i, "CREATE DATABASE d");
    run(
        &i,
        "CREATE TABLE d.t (id INT PRIMARY KEY, a VARCHAR(20)) SELECT 1 AS id, 'x' AS a UNION ALL SELECT 2, 'x'",
    );
    let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
    let facts = |channel: &str| {
        let mut all = replica.channels();
        all.retain(|f| f.channel == channel);
        all.pop().expect("a channel with a source")
    };
    let sources = [("one", &one), ("other", &other)].map(|(channel, f)| {
        let (port, sent) = serve_in_steps("8.0.41", f.bytes.clone());
        run(
            &i,
            &format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'u' FOR CHANNEL '{channel}'"
            ),
        );
        (channel, sent, f.bytes.len())
    });
    let mut user = Session::of_the_server(&i, i.next_connection_id());
    block_on(user.query("BEGIN")).expect("begun");
    for id in [1, 2] {
        // The row alone, and not what is behind it.
        let sql = format!("SELECT * FROM d.t WHERE id = {id} FOR UPDATE");
        block_on(user.query(&sql)).expect("a row");
    }
    run(&i, "START REPLICA");
    for (channel, ..) in &sources {
        until("it waits for events", || {
            facts(channel).applier_state.contains("has read")
        });
    }
    // The other's second has its name by then, and the one's second too.
    for (channel, sent, all) in sources.iter().rev() {
        sent.set(*all);
        until("all has come", || {
            facts(channel).received.position == *all as u64
        });
        std::thread::sleep(Duration::from_millis(300));
    }
    let text = |v: &Value| match v {
        Value::Str(b, _) | Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
        _ => String::new(),
    };
    until("the other's second waits for its turn", || {
        let states = run(&i, "SELECT state FROM information_schema.processlist");
        let waits = |s: String| s.contains("Waiting for preceding transaction to commit");
        states.iter().any(|r| waits(text(&r[0])))
    });
    block_on(user.query("COMMIT")).expect("committed");
    block_on(user.close());
    for (channel, _, all) in &sources {
        let limit = Instant::now() + Duration::from_secs(20);
        loop {
            let f = facts(channel);
            let failed = f.receiving == Receiving::No || !f.applying;
            if failed || f.applied.position == *all as u64 {
                assert_eq!(failures(&f), "", "{channel}");
                break;
            }
            assert!(Instant::now() < limit, "{f:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    assert_eq!(number(&i, "SELECT COUNT(*) FROM d.u"), 1);
    assert_eq!(number(&i, "SELECT COUNT(*) FROM d.t"), 3);
    block_on(replica.stop());
}
