//! A replica whose own binary log has no room: what it applies waits, STOP REPLICA does not, and nothing is lost or done twice.

use crate::scripted::file::File;
use crate::scripted::{
    failures, number, run, serve_in_steps, server_in, settled, until, with_workers,
};

use std::sync::Arc;
use std::time::Duration;

use base::block_on;
use base::mem::{MemDisk, environment};
use engine::Intake;
use replication::changes::{Changes, Databases};
use replication::replica::ReplicaServer;
use sql::context::replica::Replica;
use sql::{Instance, Session};
use wire::binlog::frame::Checksum;

fn applies(replica: &ReplicaServer) -> bool {
    replica.channels().iter().any(|c| c.applying)
}

/// The number of rows, or none where there is no table.
fn rows(instance: &Arc<Instance>, table: &str) -> Option<i64> {
    let there = format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd' AND table_name = '{table}'"
    );
    match number(instance, &there) {
        0 => None,
        _ => Some(number(instance, &format!("SELECT COUNT(*) FROM d.{table}"))),
    }
}

/// What comes when there is no room: rows in one transaction and in several, definitions, and accounts.
const COMES: [&str; 4] = [
    "rows",
    "transactions",
    "CREATE TABLE u (a INT)",
    "CREATE USER w",
];

#[test]
fn a_replica_ends_while_what_it_applies_waits_for_room() {
    for workers in [1, 4] {
        for comes in COMES {
            let what = format!("{comes}, {workers} workers");
            let mut f = File::new(Checksum::Crc32, 20);
            f.statement("CREATE DATABASE d");
            f.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20))");
            f.inserts(2, &[(1, "x".to_owned())]);
            let before = f.bytes.len();
            match comes {
                "rows" => f.inserts(f.last(), &[(2, "x".to_owned()), (3, "x".to_owned())]),
                "transactions" => (2..10).for_each(|n| f.inserts(3, &[(n, "x".to_owned())])),
                statement => f.statement(statement),
            }
            let (port, sent_to) = serve_in_steps("8.0.41", f.bytes.clone());
            let (engine, i) = server_in(&environment(Arc::new(MemDisk::default())), true);
            i.log_changes_in(Changes::of(&engine, Databases::default()));
            with_workers(&i, workers);
            let replica = block_on(ReplicaServer::start(&i)).expect("a replica");
            sent_to.set(before);
            crate::scripted::begin(&i, port);
            assert_eq!(failures(&settled(&replica, before)), "", "{what}");
            run(&i, "SET GLOBAL rpl_stop_replica_timeout = 10");
            let state = || {
                let users = number(&i, "SELECT COUNT(*) FROM mysql.user WHERE user = 'w'");
                (rows(&i, "t"), rows(&i, "u"), users)
            };
            let was = state();

            // It waits before it is told to end.
            engine.set_intake(Intake::Short, None);
            sent_to.set(usize::MAX);
            std::thread::sleep(Duration::from_millis(50));
            assert!(applies(&replica), "{what}");
            run(&i, "STOP REPLICA");
            assert!(!applies(&replica), "{what}");
            assert_eq!(state(), was, "{what}");
            assert_eq!(failures(&replica.channels()[0]), "", "{what}");
            // And without room it begins, and is told to end, again.
            run(&i, "START REPLICA");
            std::thread::sleep(Duration::from_millis(20));
            run(&i, "STOP REPLICA");
            assert_eq!(state(), was, "{what}");
            assert_eq!(failures(&replica.channels()[0]), "", "{what}");

            // With room all comes, once.
            engine.set_intake(Intake::Open, None);
            run(&i, "START REPLICA");
            let there = settled(&replica, f.bytes.len());
            assert_eq!(failures(&there), "", "{what}");
            assert_ne!(state(), was, "{what}");
            if comes == "transactions" {
                assert_eq!(rows(&i, "t"), Some(9));
            }
            block_on(replica.stop());
            block_on(engine.abandon());
        }
    }
}

#[test]
fn somebody_who_waits_for_room_is_no_replica() {
    let (engine, i) = server_in(&environment(Arc::new(MemDisk::default())), true);
    i.log_changes_in(Changes::of(&engine, Databases::default()));
    run(
        &i,
        "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY)",
    );
    engine.set_intake(Intake::Short, None);
    let mut s = Session::of_the_server(&i, i.next_connection_id());
    let waits = std::thread::spawn(move || block_on(s.query("INSERT INTO d.t VALUES (1)")));
    for _ in 0..20 {
        engine.ask_who_waits_for_intake();
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(!waits.is_finished(), "it waits on");
    engine.set_intake(Intake::Open, None);
    waits.join().expect("no panic").expect("inserted");
    until("it is there", || {
        number(&i, "SELECT COUNT(*) FROM d.t") == 1
    });
    block_on(engine.abandon());
}
