//! Branches of distributed transactions (XA) of a source: prepared here where they are prepared there, whatever comes between that and their end.

use crate::groups;
use crate::scripted;

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::block_on;
use base::mem::MemDisk;
use replication::changes::Changes;
use replication::replica::ReplicaServer;
use scripted::file::{File, SID, row};
use scripted::{begin, go_on_from, number, run, serve, server, settled};
use sql::Instance;
use sql::context::replica::{Receiving, Replica, ReplicaFacts};
use types::Value;
use wire::binlog::control::{BranchName, XaPrepare};
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, put_event};
use wire::binlog::header::{Header, kind};
use wire::binlog::rows::Change;
use wire::write::Put;

fn name(gtrid: &'static str) -> String {
    let hex: String = gtrid.bytes().map(|b| format!("{b:02x}")).collect();
    format!("X'{hex}',X'',1")
}

/// The group of a branch that inserts these rows, up to its prepare.
pub fn branch(f: &mut File, gtrid: &'static str, rows: &[i64], one_phase: bool) {
    f.begin(0);
    f.query(&format!("XA START {}", name(gtrid)));
    for n in rows {
        f.rows(Change::Write, &[(None, row(*n, gtrid))]);
    }
    f.query(&format!("XA END {}", name(gtrid)));
    let event = XaPrepare {
        one_phase,
        name: BranchName {
            format: 1,
            gtrid: gtrid.as_bytes(),
            bqual: b"",
        },
    };
    f.event(kind::XA_PREPARE, |out| event.write(out));
}

pub fn end(f: &mut File, how: &str, gtrid: &'static str) {
    f.statement(&format!("XA {how} {}", name(gtrid)));
}

pub fn tables(f: &mut File) {
    f.statement("CREATE DATABASE d");
    f.statement("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20))");
    f.inserts(0, &[(0, "zero".to_owned())]);
}

fn prepared(instance: &Arc<Instance>) -> Vec<String> {
    let rows = run(instance, "XA RECOVER");
    let data = |r: &Vec<Value>| types::convert::to_text(r[3].as_ref());
    let mut all: Vec<String> = rows.iter().map(data).collect();
    all.sort_unstable();
    all
}

/// The rows that are committed.
fn rows(instance: &Arc<Instance>) -> String {
    let all = run(instance, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t");
    types::convert::to_text(all[0][0].as_ref())
}

fn of_workers(instance: &Arc<Instance>, workers: u32) {
    run(
        instance,
        &format!("SET GLOBAL replica_parallel_workers = {workers}"),
    );
}

fn fails(facts: &ReplicaFacts) -> String {
    let all = facts.workers.iter().map(|w| w.failure.message.clone());
    let own = facts.applier_failure.message.clone();
    all.chain([own, facts.receiver_failure.message.clone()])
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn what_is_prepared_is_there_until_the_source_ends_it() {
    let mut f = File::new(Checksum::Crc32, 20);
    tables(&mut f);
    branch(&mut f, "one", &[1, 2], false);
    branch(&mut f, "two", &[3], false);
    branch(&mut f, "none", &[], false);
    // Between them others go on.
    f.inserts(4, &[(10, "ten".to_owned())]);
    let between = f.bytes.len();
    end(&mut f, "ROLLBACK", "two");
    end(&mut f, "COMMIT", "one");
    end(&mut f, "COMMIT", "none");
    branch(&mut f, "three", &[4], true);
    branch(&mut f, "two", &[5], false);
    end(&mut f, "COMMIT", "two");
    f.inserts(0, &[(11, "eleven".to_owned())]);
    for workers in [1, 4] {
        let disk = Arc::new(MemDisk::default());
        // The first life ends with branches that are open.
        {
            let (engine, instance) = server(&disk);
            of_workers(&instance, workers);
            let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
            begin(&instance, serve("8.0.41", f.bytes[..between].to_vec()));
            let facts = settled(&replica, between);
            assert_eq!(facts.applied.position, between as u64, "{}", fails(&facts));
            assert_eq!(prepared(&instance), ["none", "one", "two"]);
            assert_eq!(rows(&instance), "0,10");
            assert_eq!(facts.executed_gtids, format!("{SID}:1-7"));
            block_on(replica.stop());
            drop(replica);
            block_on(engine.close()).expect("the end");
        }
        let (_engine, instance) = server(&disk);
        of_workers(&instance, workers);
        let port = serve("8.0.41", f.bytes.clone());
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        assert_eq!(prepared(&instance), ["none", "one", "two"]);
        run(&instance, "STOP REPLICA");
        go_on_from(&instance, port, between);
        run(&instance, "START REPLICA");
        let facts = settled(&replica, f.bytes.len());
        assert_eq!(
            facts.applied.position,
            f.bytes.len() as u64,
            "{}",
            fails(&facts)
        );
        assert_eq!(prepared(&instance), [""; 0]);
        assert_eq!(rows(&instance), "0,1,2,4,5,10,11");
        assert_eq!(facts.executed_gtids, format!("{SID}:1-14"));
        block_on(replica.stop());
    }
}

/// The server ends without a word at every moment; whatever was begun is neither lost nor done twice.
#[test]
fn a_crash_at_any_moment_changes_nothing() {
    let mut f = File::new(Checksum::None, 20);
    tables(&mut f);
    branch(&mut f, "a", &[1], false);
    end(&mut f, "COMMIT", "a");
    branch(&mut f, "a", &[2], false);
    end(&mut f, "ROLLBACK", "a");
    branch(&mut f, "a", &[3], false);
    branch(&mut f, "b", &[4], false);
    f.inserts(0, &[(5, "five".to_owned())]);
    end(&mut f, "COMMIT", "b");
    let port = serve("8.0.41", f.bytes.clone());
    let all = f.bytes.len() as u64;
    for workers in [1, 3] {
        let mut lives = 0;
        let mut disk = Arc::new(MemDisk::default());
        let mut first = true;
        loop {
            let (engine, instance) = server(&disk);
            of_workers(&instance, workers);
            let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
            if std::mem::take(&mut first) {
                begin(&instance, port);
            }
            // A moment later each time.
            let until = Instant::now() + Duration::from_micros(lives * 1500);
            let mut done = false;
            while Instant::now() < until && !done {
                let facts = replica.facts().expect("a source");
                assert!(
                    facts.applying && facts.receiving != Receiving::No,
                    "{}",
                    fails(&facts)
                );
                done = facts.applied.position == all;
                std::thread::sleep(Duration::from_micros(200));
            }
            if done {
                assert_eq!(prepared(&instance), ["a"]);
                assert_eq!(rows(&instance), "0,1,4,5");
                let facts = replica.facts().expect("a source");
                assert_eq!(facts.executed_gtids, format!("{SID}:1-11"));
                block_on(replica.stop());
                break;
            }
            lives += 1;
            assert!(lives < 2000, "it comes to no end");
            disk = crash(&disk, engine, replica);
        }
        assert!(lives > 3, "it was done before it began");
    }
}

/// What is on the disk when the power goes, while all goes on.
pub fn crash(
    disk: &Arc<MemDisk>,
    engine: Arc<engine::Engine>,
    replica: Arc<ReplicaServer>,
) -> Arc<MemDisk> {
    let left = Arc::new(disk.crash(false));
    block_on(replica.stop());
    drop(replica);
    block_on(engine.abandon());
    left
}

#[test]
fn what_is_wrong_stops_it_and_what_is_open_at_stop_is_taken_back() {
    for workers in [1, 4] {
        // Half a branch.
        let mut f = File::new(Checksum::Crc32, 20);
        tables(&mut f);
        let whole = f.bytes.len();
        f.begin(0);
        f.query(&format!("XA START {}", name("half")));
        f.rows(Change::Write, &[(None, row(1, "half"))]);
        let (_engine, instance) = server(&Arc::new(MemDisk::default()));
        of_workers(&instance, workers);
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        begin(&instance, serve("8.0.41", f.bytes.clone()));
        settled(&replica, whole);
        std::thread::sleep(Duration::from_millis(100));
        run(&instance, "STOP REPLICA");
        assert_eq!(
            (prepared(&instance).len(), rows(&instance)),
            (0, "0".to_owned())
        );
        // Nobody has its name.
        run(
            &instance,
            "XA START 'half'; INSERT INTO d.t VALUES (77, ''); XA END 'half'; XA PREPARE 'half'",
        );
        // A branch of that name is somebody else's.
        f.query(&format!("XA END {}", name("half")));
        let event = XaPrepare {
            one_phase: false,
            name: BranchName {
                format: 1,
                gtrid: b"half",
                bqual: b"",
            },
        };
        f.event(kind::XA_PREPARE, |out| event.write(out));
        end(&mut f, "COMMIT", "half");
        end(&mut f, "COMMIT", "unknown");
        let port = serve("8.0.41", f.bytes.clone());
        go_on_from(&instance, port, whole);
        for _ in 0..2 {
            run(&instance, "START REPLICA");
            let facts = settled(&replica, f.bytes.len());
            assert_eq!(facts.applier_failure.number, 1440, "{}", fails(&facts));
            assert_eq!(
                (prepared(&instance), rows(&instance)),
                (vec!["half".to_owned()], "0".to_owned())
            );
            run(&instance, "STOP REPLICA");
        }
        run(&instance, "XA ROLLBACK 'half'");
        // Then it is done, and an end of what never was stops it, again and again, until it is left out.
        for _ in 0..2 {
            run(&instance, "START REPLICA");
            let facts = settled(&replica, f.bytes.len());
            assert_eq!(facts.applier_failure.number, 1397, "{}", fails(&facts));
            assert_eq!(rows(&instance), "0,1");
            run(&instance, "STOP REPLICA");
        }
        run(&instance, "SET GLOBAL sql_replica_skip_counter = 1");
        run(&instance, "START REPLICA");
        let facts = settled(&replica, f.bytes.len());
        assert_eq!(
            facts.applied.position,
            f.bytes.len() as u64,
            "{}",
            fails(&facts)
        );
        assert_eq!(
            number(
                &instance,
                "SELECT COUNT(*) FROM mysql.replica_applier_position WHERE unfinished_definition IS NULL"
            ),
            1
        );
        block_on(replica.stop());
    }
}

#[test]
fn a_source_that_makes_no_sense_gets_an_error_and_loses_nothing() {
    type Fault<'f> = &'f dyn Fn(&mut File);
    let start: Fault<'_> = &|f| f.query(&format!("XA START {}", name("x")));
    let commit: Fault<'_> = &|f| f.query(&format!("XA COMMIT {}", name("x")));
    let definition: Fault<'_> = &|f| {
        f.query(&format!("XA START {}", name("x")));
        f.rows(Change::Write, &[(None, row(8, "x"))]);
        f.query("CREATE TABLE other (a INT)");
    };
    let other: Fault<'_> = &|f| {
        f.query(&format!("XA START {}", name("x")));
        f.query(&format!("XA END {}", name("y")));
    };
    let prepare: Fault<'_> = &|f| {
        let name = BranchName {
            format: 1,
            gtrid: b"x",
            bqual: b"",
        };
        let event = XaPrepare {
            one_phase: false,
            name,
        };
        f.event(kind::XA_PREPARE, |out| event.write(out));
    };
    for workers in [1, 4] {
        for (n, fault) in [start, commit, definition, other, prepare]
            .into_iter()
            .enumerate()
        {
            let mut f = File::new(Checksum::Crc32, 20);
            tables(&mut f);
            f.begin(0);
            if n < 2 {
                f.query("BEGIN");
                f.rows(Change::Write, &[(None, row(7, "before"))]);
            }
            fault(&mut f);
            f.commit();
            let (_engine, instance) = server(&Arc::new(MemDisk::default()));
            of_workers(&instance, workers);
            let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
            begin(&instance, serve("8.0.41", f.bytes.clone()));
            let facts = settled(&replica, f.bytes.len());
            assert_eq!(facts.applier_failure.number, 1593, "{n}: {}", fails(&facts));
            assert_eq!(
                (prepared(&instance).len(), rows(&instance)),
                (0, "0".to_owned()),
                "{n}"
            );
            block_on(replica.stop());
        }
    }
}

#[test]
fn a_branch_may_be_left_out_or_filtered() {
    for workers in [1, 4] {
        let mut f = File::new(Checksum::Crc32, 20);
        tables(&mut f);
        let whole = f.bytes.len();
        branch(&mut f, "x", &[1], false);
        branch(&mut f, "y", &[2], false);
        end(&mut f, "COMMIT", "y");
        let (_engine, instance) = server(&Arc::new(MemDisk::default()));
        of_workers(&instance, workers);
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        begin(&instance, serve("8.0.41", f.bytes[..whole].to_vec()));
        settled(&replica, whole);
        run(&instance, "STOP REPLICA");
        run(&instance, "SET GLOBAL sql_replica_skip_counter = 1");
        run(&instance, "CHANGE REPLICATION FILTER REPLICATE_DO_DB = (e)");
        let port = serve("8.0.41", f.bytes.clone());
        go_on_from(&instance, port, whole);
        run(&instance, "START REPLICA");
        let facts = settled(&replica, f.bytes.len());
        assert_eq!(
            facts.applied.position,
            f.bytes.len() as u64,
            "{}",
            fails(&facts)
        );
        // The first was left out, of the second nothing was left.
        assert_eq!(
            (prepared(&instance).len(), rows(&instance)),
            (0, "0".to_owned())
        );
        assert_eq!(facts.executed_gtids, format!("{SID}:1-6"));
        block_on(replica.stop());
    }
}

/// In the replica's own log each name of the source is once, the rows with that of what was prepared, also where a restart lies between.
#[test]
fn a_replicas_own_log_has_each_name_once() {
    let mut f = File::new(Checksum::Crc32, 20);
    tables(&mut f);
    branch(&mut f, "a", &[1], false);
    branch(&mut f, "b", &[2], false);
    let between = f.bytes.len();
    end(&mut f, "COMMIT", "a");
    end(&mut f, "ROLLBACK", "b");
    for restart in [false, true] {
        let mut disk = Arc::new(MemDisk::default());
        let (mut named, mut first) = (Vec::new(), None);
        let lives: &[usize] = match restart {
            true => &[between, f.bytes.len()],
            false => &[f.bytes.len()],
        };
        for (life, upto) in lives.iter().enumerate() {
            let (engine, instance) = server(&disk);
            of_workers(&instance, 4);
            instance.log_changes_in(Changes::new(&engine));
            // What was prepared has left its rows in front of the restart.
            let from = *first.get_or_insert_with(|| engine.end_of_groups());
            let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
            let port = serve("8.0.41", f.bytes[..*upto].to_vec());
            match life {
                0 => begin(&instance, port),
                _ => {
                    run(&instance, "STOP REPLICA");
                    go_on_from(&instance, port, between);
                    run(&instance, "START REPLICA");
                }
            }
            let facts = settled(&replica, *upto);
            assert_eq!(facts.applied.position, *upto as u64, "{}", fails(&facts));
            let of = |(said, end): (String, replication::group::End)| {
                (end.gtid.map_or(0, |g| g.number), said, end.keys.is_some())
            };
            if life + 1 == lives.len() {
                assert_eq!(prepared(&instance), [""; 0]);
                named.extend(groups::groups(&instance, &engine, from).into_iter().map(of));
            }
            block_on(replica.stop());
            drop(replica);
            match restart {
                true if life == 0 => {
                    disk = Arc::new(disk.crash(false));
                    block_on(engine.abandon());
                }
                _ => block_on(engine.close()).expect("the end"),
            }
        }
        let part = |of| format!("XA START {0} d XA END {0}", name(of));
        let rows = |n: u64, said: &str, keys| (n, said.to_owned(), keys);
        assert_eq!(
            named[2..],
            [
                rows(3, "BEGIN d", true),
                rows(4, &part("a"), true),
                rows(5, &part("b"), true),
                // These come behind all before them, and all that follows behind them.
                rows(6, &format!("XA COMMIT {}", name("a")), false),
                rows(7, &format!("XA ROLLBACK {}", name("b")), false),
            ]
        );
    }
}

/// MariaDB's: the GTID begins the branch, and the transaction in which it is ended.
#[test]
fn branches_of_mariadb_are_prepared_too() {
    const TRANSACTIONAL: u8 = 4;
    const PREPARED: u8 = 0x40;
    const COMPLETED: u8 = 0x80;
    let mut f = File::new(Checksum::Crc32, 20);
    f.bytes = wire::binlog::MAGIC.to_vec();
    let format = Format::new("10.11.9-MariaDB-log", 0, Checksum::Crc32);
    let header = Header {
        kind: kind::FORMAT_DESCRIPTION,
        server_id: 1,
        ..Header::default()
    };
    put_event(header, Checksum::Crc32, &mut f.bytes, |out| {
        format.write(out)
    });
    let mut sequence = 0;
    let mut gtid = |f: &mut File, flags: u8, of: &str| {
        sequence += 1;
        f.event(kind::MARIA_GTID, |out| {
            out.put_u64(sequence);
            out.put_u32(0);
            out.put_u8(flags);
            if flags & (PREPARED | COMPLETED) != 0 {
                out.put_u32(1);
                out.put_u8(of.len() as u8);
                out.put_u8(0);
                out.put_bytes(of.as_bytes());
            }
        });
    };
    let (alone, ddl) = (1, 0x20);
    gtid(&mut f, alone | ddl, "");
    f.query("CREATE DATABASE d");
    gtid(&mut f, alone | ddl, "");
    f.query("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20))");
    for (n, of) in (1..).zip(["a", "b", "c"]) {
        gtid(&mut f, TRANSACTIONAL | PREPARED, of);
        match of {
            "c" => f.query("INSERT INTO t VALUES (3, 'c')"),
            _ => f.rows(Change::Write, &[(None, row(n, of))]),
        }
        f.query(&format!("XA END X'{:02x}',X'',1", of.as_bytes()[0]));
        let event = XaPrepare {
            one_phase: false,
            name: BranchName {
                format: 1,
                gtrid: of.as_bytes(),
                bqual: b"",
            },
        };
        f.event(kind::XA_PREPARE, |out| event.write(out));
    }
    let between = f.bytes.len();
    for (how, of) in [("ROLLBACK", "b"), ("COMMIT", "a"), ("COMMIT", "c")] {
        gtid(&mut f, TRANSACTIONAL | COMPLETED, of);
        f.query(&format!("XA {how} X'{:02x}',X'',1", of.as_bytes()[0]));
    }
    gtid(&mut f, TRANSACTIONAL, "");
    f.rows(Change::Write, &[(None, row(9, "last"))]);
    f.commit();
    for workers in [1, 4] {
        let (_engine, instance) = server(&Arc::new(MemDisk::default()));
        of_workers(&instance, workers);
        let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
        begin(
            &instance,
            serve("10.11.9-MariaDB-log", f.bytes[..between].to_vec()),
        );
        let facts = settled(&replica, between);
        assert_eq!(facts.applied.position, between as u64, "{}", fails(&facts));
        assert_eq!(prepared(&instance), ["a", "b", "c"]);
        run(&instance, "STOP REPLICA");
        let port = serve("10.11.9-MariaDB-log", f.bytes.clone());
        go_on_from(&instance, port, between);
        run(&instance, "START REPLICA");
        let facts = settled(&replica, f.bytes.len());
        assert_eq!(
            facts.applied.position,
            f.bytes.len() as u64,
            "{}",
            fails(&facts)
        );
        assert_eq!(
            (prepared(&instance).len(), rows(&instance)),
            (0, "1,3,9".to_owned())
        );
        assert_eq!(facts.executed_gtids, "0-1-9");
        block_on(replica.stop());
    }
}
