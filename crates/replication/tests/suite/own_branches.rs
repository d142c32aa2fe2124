//! Branches of distributed transactions (XA) of a server of this kind: what its binary log has of them, and what a replica of this kind makes of that.

use crate::branches::{branch, crash, end, tables};
use crate::channels::{Server, with_a_log};
use crate::history;
use crate::scripted;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::block_on;
use base::mem::MemDisk;
use history::{History, unpacked};
use replication::changes::{Changes, Databases};
use replication::describe::{info, kind_name};
use replication::replica::ReplicaServer;
use scripted::file::{File, SID};
use scripted::{begin, failures, go_on_from, run, serve, server, settled};
use sql::context::replica::Replica;
use sql::{Instance, Session};
use wire::binlog::control::Transaction;
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::kind;

const TABLES: &[&str] = &["CREATE TABLE t (id INT PRIMARY KEY, a INT)"];

/// The transactions of a file behind those that make the tables: what each depends on, and what its events say.
fn said(file: &[u8]) -> Vec<(i64, String)> {
    let mut all: Vec<(i64, String)> = Vec::new();
    let mut rest = &file[4..];
    while !rest.is_empty() {
        let e = Event::read(rest, Checksum::Crc32).expect("an event");
        rest = &rest[e.bytes.len()..];
        if e.header.kind == kind::GTID {
            let t = Transaction::read(e.body, false).expect("a transaction");
            all.push((t.last_committed, String::new()));
            continue;
        }
        let Some((_, text)) = all.last_mut() else {
            continue;
        };
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&match e.header.kind {
            kind::QUERY => info(&e),
            kind::XA_PREPARE => format!("{}: {}", kind_name(e.header.kind), info(&e)),
            of => kind_name(of).to_owned(),
        });
    }
    all.split_off(2)
}

fn many(h: &mut History, sql: &str) {
    for one in sql.split("; ") {
        h.run(0, one);
    }
}

fn prepare(h: &mut History, client: usize, name: &str, change: &str) {
    h.run(client, &format!("XA START {name}"));
    h.run(client, change);
    h.run(client, &format!("XA END {name}"));
    h.run(client, &format!("XA PREPARE {name}"));
}

#[test]
fn the_log_has_each_part_as_mysql_writes_it() {
    let mut h = History::new(TABLES, 2);
    h.run(0, "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    prepare(&mut h, 0, "'a','b',7", "UPDATE t SET a = 10 WHERE id = 1");
    h.run(1, "UPDATE t SET a = 20 WHERE id = 2");
    h.run(1, "XA COMMIT 'a','b',7");
    h.run(1, "UPDATE t SET a = 11 WHERE id = 1");
    prepare(&mut h, 0, "'r'", "DELETE FROM t WHERE id = 3");
    h.run(0, "XA ROLLBACK 'r'");
    many(
        &mut h,
        "XA START 'o'; UPDATE t SET a = 30 WHERE id = 3; XA END 'o'; XA COMMIT 'o' ONE PHASE",
    );
    // What leaves nothing leaves no end either.
    prepare(&mut h, 0, "'n'", "SELECT * FROM t FOR UPDATE");
    h.run(0, "XA COMMIT 'n'");
    prepare(&mut h, 0, "'n'", "UPDATE t SET a = a");
    h.run(1, "XA ROLLBACK 'n'");
    h.run(0, "CREATE TEMPORARY TABLE x (id INT PRIMARY KEY)");
    prepare(&mut h, 0, "'n'", "INSERT INTO x VALUES (1)");
    h.run(0, "XA COMMIT 'n'");
    many(
        &mut h,
        "XA START 'n'; DELETE FROM t; XA END 'n'; XA ROLLBACK 'n'",
    );
    h.run(0, "SET sql_log_bin = 0");
    prepare(&mut h, 0, "'n'", "INSERT INTO t VALUES (9, 9)");
    h.run(0, "SET sql_log_bin = 1");
    h.run(0, "XA COMMIT 'n'");
    // Who keeps the end from the log has it not there.
    prepare(&mut h, 0, "'s'", "INSERT INTO t VALUES (8, 8)");
    many(
        &mut h,
        "SET sql_log_bin = 0; XA COMMIT 's'; SET sql_log_bin = 1",
    );
    let rows = |what: &str| format!("Table_map; {what}");
    let part = |name: &str, what: &str| {
        let rows = rows(what);
        format!("XA START {name}; {rows}; XA END {name}; XA_prepare: XA PREPARE {name}")
    };
    let (update, delete) = ("Update_rows", "Delete_rows");
    let one = format!(
        "XA START X'6f',X'',1; {}; XA END X'6f',X'',1; XA_prepare: XA COMMIT X'6f',X'',1 ONE PHASE",
        rows(update)
    );
    let expected = [
        (2, "BEGIN; Table_map; Write_rows; Xid".to_owned()),
        (3, part("X'61',X'62',7", update)),
        (3, "BEGIN; Table_map; Update_rows; Xid".to_owned()),
        // Behind all, and all behind it.
        (5, "XA COMMIT X'61',X'62',7".to_owned()),
        (6, "BEGIN; Table_map; Update_rows; Xid".to_owned()),
        (6, part("X'72',X'',1", delete)),
        (8, "XA ROLLBACK X'72',X'',1".to_owned()),
        (9, one),
        (9, part("X'73',X'',1", "Write_rows")),
    ];
    let found = said(&h.file());
    assert_eq!(found, expected);
    // The same where it is read in parts.
    let parts = h.file_in_parts(20);
    assert_eq!(
        unpacked(&parts).len(),
        unpacked(&h.file_in_parts(u64::MAX)).len()
    );
}

fn names(instance: &Arc<Instance>) -> Vec<String> {
    let rows = run(instance, "XA RECOVER");
    let mut all: Vec<String> = rows
        .iter()
        .map(|r| types::convert::to_text(r[3].as_ref()))
        .collect();
    all.sort_unstable();
    all
}

fn rows(instance: &Arc<Instance>) -> String {
    let all = run(
        instance,
        "SELECT GROUP_CONCAT(id, ':', a ORDER BY id) FROM d.t",
    );
    types::convert::to_text(all[0][0].as_ref())
}

/// What is prepared on the source is prepared on the replica, behind any restart, until it is ended: by the source, or by a coordinator that comes to the
/// replica as the source is no more.
#[test]
fn a_replica_has_what_is_prepared() {
    let mut h = History::new(TABLES, 2);
    h.run(0, "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)");
    prepare(&mut h, 0, "'one'", "UPDATE t SET a = 10 WHERE id = 1");
    prepare(&mut h, 0, "'two'", "DELETE FROM t WHERE id = 2");
    h.run(1, "UPDATE t SET a = 30 WHERE id = 3");
    let before = h.file();
    h.run(0, "DROP DATABASE the_end");
    h.run(1, "XA COMMIT 'one'");
    h.run(1, "XA ROLLBACK 'two'");
    h.run(1, "UPDATE t SET a = 40 WHERE id = 4");
    h.run(1, "CREATE DATABASE the_rest");
    let whole = h.read_to("the_rest");
    // The first file ends where it begins to name the end; the second goes on as it was.
    let between = before.len();
    assert_eq!(whole[..between], before[..]);
    for (workers, promoted) in [(1, false), (4, false), (4, true)] {
        let mut disk = Arc::new(MemDisk::default());
        {
            let (engine, instance) = server(&disk);
            run(
                &instance,
                &format!("SET GLOBAL replica_parallel_workers = {workers}"),
            );
            let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
            begin(&instance, serve("8.0.41", before.clone()));
            let facts = settled(&replica, between);
            assert_eq!(
                facts.applied.position, between as u64,
                "{}",
                facts.applier_failure.message
            );
            assert_eq!(names(&instance), ["one", "two"]);
            assert_eq!(rows(&instance), "1:1,2:2,3:30,4:4");
            // Its rows are locked.
            let mut s = Session::of_the_server(&instance, instance.next_connection_id());
            let locked = "SELECT * FROM d.t WHERE id = 1 FOR UPDATE NOWAIT";
            assert_eq!(
                block_on(s.query(locked)).map_err(|e| e.code).err(),
                Some(3572)
            );
            block_on(s.close());
            // The power goes.
            disk = Arc::new(disk.crash(false));
            block_on(replica.stop());
            drop(replica);
            block_on(engine.abandon());
        }
        let (_engine, instance) = server(&disk);
        run(
            &instance,
            &format!("SET GLOBAL replica_parallel_workers = {workers}"),
        );
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        assert_eq!(names(&instance), ["one", "two"]);
        run(&instance, "STOP REPLICA");
        if promoted {
            run(&instance, "RESET REPLICA ALL");
            run(&instance, "XA COMMIT 'one'");
            run(&instance, "XA ROLLBACK 'two'");
            assert_eq!(rows(&instance), "1:10,2:2,3:30,4:4");
        } else {
            let port = serve("8.0.41", whole.clone());
            go_on_from(&instance, port, between);
            run(&instance, "START REPLICA");
            let facts = settled(&replica, whole.len());
            assert_eq!(
                facts.applied.position,
                whole.len() as u64,
                "{}",
                facts.applier_failure.message
            );
            assert_eq!(rows(&instance), "1:10,2:2,3:30,4:40");
        }
        assert_eq!(names(&instance), [""; 0]);
        block_on(replica.stop());
    }
}

/// A replica with a binary log of its own ends without a word at every moment. In its log each name of the source comes once, and none but those, whatever
/// was prepared or rolled back and was not followed by the place.
#[test]
fn a_name_comes_once_whatever_ends_the_replica() {
    let mut f = File::new(Checksum::Crc32, 20);
    tables(&mut f);
    branch(&mut f, "a", &[1], false);
    end(&mut f, "COMMIT", "a");
    branch(&mut f, "a", &[2], false);
    end(&mut f, "ROLLBACK", "a");
    branch(&mut f, "none", &[], false);
    branch(&mut f, "b", &[4], false);
    end(&mut f, "ROLLBACK", "none");
    branch(&mut f, "c", &[5], true);
    end(&mut f, "COMMIT", "b");
    let (port, all) = (serve("8.0.41", f.bytes.clone()), f.bytes.len() as u64);
    for workers in [1, 3] {
        let (mut lives, mut first) = (0, true);
        let mut disk = Arc::new(MemDisk::default());
        loop {
            let Server { engine, instance } = with_a_log(&disk, |_| ());
            run(
                &instance,
                &format!("SET GLOBAL replica_parallel_workers = {workers}"),
            );
            let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
            if std::mem::take(&mut first) {
                begin(&instance, port);
            }
            // A moment later each time.
            let until = Instant::now() + Duration::from_micros(lives * 1500);
            let mut done = false;
            while Instant::now() < until && !done {
                let facts = replica.facts().expect("a source");
                assert_eq!(failures(&facts), "");
                done = facts.applied.position == all;
                std::thread::sleep(Duration::from_micros(200));
            }
            if done {
                assert_eq!(names(&instance), [""; 0]);
                assert_eq!(rows(&instance), "0:zero,1:a,4:b,5:c");
                let executed = run(&instance, "SELECT @@GLOBAL.gtid_executed");
                let executed = types::convert::to_text(executed[0][0].as_ref());
                assert_eq!(executed, format!("{SID}:1-12"));
                block_on(replica.stop());
                block_on(engine.abandon());
                break;
            }
            lives += 1;
            assert!(lives < 2000, "it comes to no end");
            disk = crash(&disk, engine, replica);
        }
        assert!(lives > 3, "it was done before it began");
    }
}

/// `super_read_only` lets those be ended for a while that only this server has, and the others are ended elsewhere.
#[test]
fn a_fence_waits_for_no_branch_that_is_in_the_log() {
    const LET_END: Duration = Duration::from_secs(2);
    for logged in [true, false] {
        let environment = base::mem::environment(Arc::new(MemDisk::default()));
        let (engine, instance) = scripted::server_in(&environment, true);
        instance.log_changes_in(Changes::of(&engine, Databases::default()));
        let id = instance.next_connection_id();
        let mut client = Session::new(&instance, "root", "localhost", id);
        let mut run = |sql: &str| block_on(client.query(sql)).map(drop).map_err(|e| e.code);
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY)",
            &format!("SET sql_log_bin = {}", u8::from(logged)),
            "XA START 'x'",
            "INSERT INTO d.t VALUES (1)",
            "XA END 'x'",
            "XA PREPARE 'x'",
        ] {
            assert_eq!(run(sql), Ok(()), "{sql}");
        }
        let begun = Instant::now();
        assert_eq!(run("SET GLOBAL super_read_only = ON"), Ok(()));
        assert_eq!(begun.elapsed() < LET_END, logged, "{:?}", begun.elapsed());
        assert_eq!(run("XA COMMIT 'x'"), Err(1290));
        assert_eq!(run("XA ROLLBACK 'x'"), Err(1290));
        assert_eq!(names(&instance), ["x"]);
        assert_eq!(run("SET GLOBAL read_only = OFF"), Ok(()));
        assert_eq!(run("XA COMMIT 'x'"), Ok(()));
        block_on(client.close());
        block_on(engine.abandon());
    }
}
