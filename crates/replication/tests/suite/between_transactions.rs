//! What happens to a replica between two transactions: its table becomes another one, or it is stopped while many wait.

use crate::scripted;

use std::sync::Arc;

use base::block_on;
use base::mem::MemDisk;
use replication::replica::ReplicaServer;
use scripted::file::File;
use scripted::{
    begin, failures, number, run, serve, serve_in_steps, server, settled, with_workers,
};
use sql::context::replica::Replica;
use wire::binlog::frame::Checksum;

#[test]
fn an_announcement_that_comes_again_is_held_against_the_table_as_it_is_now() {
    for workers in [1, 4] {
        let mut file = File::new(Checksum::Crc32, 200);
        file.statement("CREATE DATABASE d");
        file.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200))");
        file.inserts(2, &[(1, "x".to_owned())]);
        let first = file.bytes.len();
        file.inserts(3, &[(2, "y".to_owned())]);
        let second = file.bytes.len();
        file.inserts(4, &[(3, "z".to_owned())]);
        let (_engine, instance) = server(&Arc::new(MemDisk::default()));
        with_workers(&instance, workers);
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        let (port, sent) = serve_in_steps("8.0.41", file.bytes.clone());
        sent.set(first);
        begin(&instance, port);
        assert_eq!(failures(&settled(&replica, first)), "");
        // One that holds all that the source's column holds, and one that does not.
        run(
            &instance,
            "ALTER TABLE d.t MODIFY a VARCHAR(255), ADD COLUMN own INT",
        );
        sent.set(second);
        assert_eq!(failures(&settled(&replica, second)), "");
        run(&instance, "ALTER TABLE d.t MODIFY id SMALLINT");
        sent.set(file.bytes.len());
        let facts = settled(&replica, file.bytes.len());
        let why = failures(&facts);
        assert!(
            why.contains("cannot be converted from type"),
            "{workers}: {why}"
        );
        assert_eq!(number(&instance, "SELECT MAX(id) FROM d.t"), 2);
        block_on(replica.stop());
    }
}

#[test]
fn what_nobody_has_taken_at_a_stop_comes_again() {
    let mut file = File::new(Checksum::Crc32, 200);
    file.statement("CREATE DATABASE d");
    file.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200))");
    for n in 1..=3000 {
        file.inserts(2, &[(n, "x".to_owned())]);
    }
    let (_engine, instance) = server(&Arc::new(MemDisk::default()));
    with_workers(&instance, 3);
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    begin(&instance, serve("8.0.41", file.bytes.clone()));
    let (mut stops, mut seen) = (0, 0);
    loop {
        let facts = replica.facts().expect("a source");
        assert_eq!(failures(&facts), "");
        if facts.applied.position >= file.bytes.len() as u64 {
            break;
        }
        // Somewhere in the middle; and all that is there belongs to the place then.
        let there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd'";
        if number(&instance, there) == 0 || number(&instance, "SELECT COUNT(*) FROM d.t") < seen {
            continue;
        }
        run(&instance, "STOP REPLICA SQL_THREAD");
        let facts = replica.facts().expect("a source");
        let rows = number(&instance, "SELECT COUNT(*) FROM d.t");
        let all = format!(":1-{}", rows + 2);
        assert!(
            facts.executed_gtids.ends_with(&all),
            "{}",
            facts.executed_gtids
        );
        assert_eq!(
            number(&instance, "SELECT COALESCE(MAX(id), 0) FROM d.t"),
            rows
        );
        seen = rows + 150;
        stops += 1;
        run(&instance, "START REPLICA SQL_THREAD");
    }
    assert!(stops > 3, "{stops}");
    assert_eq!(number(&instance, "SELECT COUNT(*) FROM d.t"), 3000);
    block_on(replica.stop());
}
