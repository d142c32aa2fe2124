//! LOAD DATA of a source that has statements in its binary log: the file comes in events, and is loaded as the source has loaded it.

use crate::scripted;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::block_on;
use base::environment::Disk;
use base::mem::MemDisk;
use engine::Engine;
use replication::replica::ReplicaServer;
use scripted::file::{File, SID};
use scripted::{begin, go_on_from, number, run, serve, server, settled};
use sql::Instance;
use sql::context::replica::{Replica, ReplicaFacts};
use wire::binlog::frame::Checksum;
use wire::binlog::header::kind;
use wire::binlog::load::{Duplicates, FileBlock, LoadQuery};
use wire::binlog::query::{Query, Settings};
use wire::write::Put;

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(40), g INT AS (id + 1))";

fn block(f: &mut File, id: u32, bytes: &[u8], first: bool) {
    let kind = match first {
        true => kind::BEGIN_LOAD_QUERY,
        false => kind::APPEND_BLOCK,
    };
    f.event(kind, |out| FileBlock { file: id, bytes }.write(out));
}

fn execute(f: &mut File, id: u32, rest: &str, duplicates: Duplicates, collation: Option<u16>) {
    let words = match duplicates {
        Duplicates::Error => "",
        Duplicates::Ignore => "IGNORE ",
        Duplicates::Replace => "REPLACE ",
    };
    let front = "LOAD DATA";
    let named = format!(" LOCAL INFILE '/somewhere/of the source' {words}INTO");
    let text = format!("{front}{named} {rest}");
    let load = LoadQuery {
        query: Query {
            database: b"d",
            statement: text.as_bytes(),
            settings: Settings {
                collation_database: collation,
                ..Settings::default()
            },
            ..Query::default()
        },
        file: id,
        named: (front.len(), front.len() + named.len()),
        duplicates,
    };
    f.event(kind::EXECUTE_LOAD_QUERY, |out| load.write(out));
}

fn start() -> File {
    let mut f = File::new(Checksum::Crc32, 40);
    f.statement("CREATE DATABASE d");
    f.statement(TABLE);
    f
}

fn open(f: &mut File) {
    f.begin(0);
    f.query("BEGIN");
}

type Running = (Arc<Engine>, Arc<Instance>, Arc<ReplicaServer>);

fn replica_on(disk: &Arc<MemDisk>, file: &File, workers: u32, first: bool) -> Running {
    let (engine, instance) = server(disk);
    run(
        &instance,
        &format!("SET GLOBAL replica_parallel_workers = {workers}"),
    );
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    let port = serve("8.0.41", file.bytes.clone());
    if first {
        begin(&instance, port);
    } else {
        run(&instance, "STOP REPLICA");
        // Another port is another source, to be read from its beginning.
        let place = "SELECT CAST(source_log_pos AS SIGNED) FROM mysql.replica_applier_position";
        let place = number(&instance, place);
        go_on_from(&instance, port, place);
        run(&instance, "START REPLICA");
    }
    (engine, instance, replica)
}

fn replica_of(file: &File, workers: u32) -> (Running, ReplicaFacts) {
    let r = replica_on(&Arc::new(MemDisk::default()), file, workers, true);
    let facts = settled(&r.2, file.bytes.len());
    (r, facts)
}

fn count(instance: &Arc<Instance>, condition: &str) -> i64 {
    number(
        instance,
        &format!("SELECT COUNT(*) FROM d.t WHERE {condition}"),
    )
}

#[test]
fn files_are_loaded_as_on_the_source() {
    let mut f = start();
    // Two that come at once, one in several pieces; lines that are cut by them.
    open(&mut f);
    block(&mut f, 1, b"1\to", true);
    block(&mut f, 2, b"11,eleven;12,twelve;", true);
    block(&mut f, 1, b"ne\n2\ttwo\n", false);
    let plain = "TABLE `t` (`id`,`a`)";
    execute(&mut f, 1, plain, Duplicates::Error, None);
    let other =
        "TABLE t FIELDS TERMINATED BY ',' LINES TERMINATED BY ';' (id, @a) SET a = UPPER(@a)";
    execute(&mut f, 2, other, Duplicates::Error, None);
    f.commit();
    // The same numbers again; a file that begins twice is the second.
    open(&mut f);
    block(&mut f, 1, b"77\tnever\n", true);
    block(&mut f, 1, b"1\tuno\n3\ttres\n", true);
    execute(&mut f, 1, plain, Duplicates::Replace, None);
    block(&mut f, 1, b"1\tein\n4\tvier\n", true);
    execute(&mut f, 1, plain, Duplicates::Ignore, None);
    f.commit();
    // An empty one, one that is not loaded, one in the character set of the source's database (latin1_swedish_ci).
    open(&mut f);
    block(&mut f, 3, b"", true);
    execute(&mut f, 3, plain, Duplicates::Error, None);
    block(&mut f, 4, b"99\tgone\n", true);
    f.event(kind::DELETE_FILE, |out| out.put_u32(4));
    block(&mut f, 5, b"5\tf\xFCnf\n", true);
    execute(&mut f, 5, plain, Duplicates::Error, Some(8));
    f.commit();
    // Nothing says that it goes on.
    f.begin(0);
    block(&mut f, 6, b"6\tsix\n", true);
    block(&mut f, 6, b"7\tseven\n", false);
    execute(&mut f, 6, plain, Duplicates::Error, None);
    f.begin(0);
    block(&mut f, 6, b"98\tgone\n", true);
    f.event(kind::DELETE_FILE, |out| out.put_u32(6));
    f.inserts(0, &[(8, "eight".to_owned())]);
    for workers in [1, 4] {
        let ((engine, instance, replica), facts) = replica_of(&f, workers);
        assert_eq!(facts.applier_failure.message, "", "{facts:?}");
        let rows = run(&instance, "SELECT CONCAT(id, a, g) FROM d.t ORDER BY id");
        let texts: Vec<String> = rows
            .iter()
            .map(|r| match &r[0] {
                types::Value::Str(b, _) => String::from_utf8_lossy(b).into_owned(),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [
            "1uno2",
            "2two3",
            "3tres4",
            "4vier5",
            "5fünf6",
            "6six7",
            "7seven8",
            "8eight9",
            "11ELEVEN12",
            "12TWELVE13",
        ];
        assert_eq!(texts, expected);
        assert_eq!(facts.executed_gtids, format!("{SID}:1-8"));
        let temporary = engine.temp_files();
        assert_eq!((temporary.count(), temporary.held()), (0, 0));
        block_on(replica.stop());
    }
}

/// Puts what is wrong into a transaction.
type Fault<'f> = &'f dyn Fn(&mut File);

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_left() {
    let plain = "TABLE t (id, a)";
    let unknown = |f: &mut File| block(f, 1, b"1\tx\n", false);
    let nothing = |f: &mut File| execute(f, 9, plain, Duplicates::Error, None);
    let twice = |f: &mut File| {
        block(f, 1, b"1\tx\n", true);
        execute(f, 1, plain, Duplicates::Error, None);
        execute(f, 1, plain, Duplicates::Error, None);
    };
    let short = |f: &mut File| f.event(kind::APPEND_BLOCK, |out| out.put_u8(1));
    let far = |f: &mut File| {
        block(f, 1, b"1\tx\n", true);
        f.event(kind::EXECUTE_LOAD_QUERY, |out| {
            out.extend([0; 13]);
            out.put_u32(1);
            out.put_u32(u32::MAX - 1);
            out.put_u32(u32::MAX);
            out.put_u8(0);
            out.put_u8(0);
            out.extend(b"LOAD DATA");
        });
    };
    let many = |f: &mut File| {
        for n in 0..65 {
            block(f, n, b"1\tx\n", true);
        }
    };
    let duplicate = |f: &mut File| {
        block(f, 1, b"2\tx\n2\ty\n", true);
        execute(f, 1, plain, Duplicates::Error, None);
    };
    let strange = |f: &mut File| {
        block(f, 1, b"2\tx\n", true);
        execute(f, 1, "TABLE none (id, a)", Duplicates::Error, None);
    };
    let wrong: [(Fault<'_>, u16); 8] = [
        (&unknown, 1593),
        (&nothing, 1593),
        (&twice, 1593),
        (&short, 1593),
        (&far, 1593),
        (&many, 1593),
        (&duplicate, 1062),
        (&strange, 1146),
    ];
    for workers in [1, 3] {
        for (n, (fault, code)) in wrong.iter().enumerate() {
            let mut f = start();
            open(&mut f);
            fault(&mut f);
            f.commit();
            let ((engine, instance, replica), facts) = replica_of(&f, workers);
            assert_eq!(facts.applier_failure.number, *code, "{n}: {facts:?}");
            assert_eq!(count(&instance, "TRUE"), 0, "{n}");
            run(&instance, "STOP REPLICA");
            assert_eq!(engine.temp_files().count(), 0, "{n}");
            block_on(replica.stop());
        }
    }
}

#[test]
fn what_is_too_large_is_an_error() {
    let mut f = start();
    open(&mut f);
    block(&mut f, 1, b"1\tx\n", true);
    for _ in 0..40 {
        block(&mut f, 1, &[b'x'; 10_000], false);
    }
    execute(&mut f, 1, "TABLE t (id, a)", Duplicates::Error, None);
    f.commit();
    let (engine, instance) = server(&Arc::new(MemDisk::default()));
    engine.temp_files().set_limit(300_000);
    let replica = block_on(ReplicaServer::start(&instance)).expect("a replica");
    let end = f.bytes.len();
    begin(&instance, serve("8.0.41", f.bytes));
    let facts = settled(&replica, end);
    assert_eq!(facts.applier_failure.number, 1114, "{facts:?}");
    run(&instance, "STOP REPLICA");
    let temporary = engine.temp_files();
    assert_eq!((temporary.count(), temporary.held()), (0, 0));
    block_on(replica.stop());
}

#[test]
fn nothing_of_a_file_is_left_by_a_crash() {
    for workers in [1, 4] {
        let mut f = start();
        open(&mut f);
        block(&mut f, 1, b"1\tone\n", true);
        block(&mut f, 1, b"2\ttwo\n", false);
        let half = f.bytes.len();
        let mut whole = start();
        open(&mut whole);
        block(&mut whole, 1, b"1\tone\n", true);
        block(&mut whole, 1, b"2\ttwo\n", false);
        assert_eq!(whole.bytes.len(), half);
        execute(&mut whole, 1, "TABLE t (id, a)", Duplicates::Error, None);
        whole.commit();
        let disk = Arc::new(MemDisk::default());
        let (engine, instance, replica) = replica_on(&disk, &f, workers, true);
        let until = Instant::now() + Duration::from_secs(20);
        while engine.temp_files().count() == 0 {
            assert!(Instant::now() < until, "{:?}", replica.facts());
            std::thread::sleep(Duration::from_millis(2));
        }
        // The place in front of the file is to be durable: another source is named by hand, and that forgets a definition that was not.
        run(&instance, "SHOW REPLICA STATUS");
        let left = Arc::new(disk.crash(true));
        block_on(replica.stop());
        drop(replica);
        block_on(engine.abandon());
        let (engine, instance, replica) = replica_on(&left, &whole, workers, false);
        let facts = settled(&replica, whole.bytes.len());
        assert_eq!(facts.applier_failure.message, "", "{facts:?}");
        assert_eq!(count(&instance, "TRUE"), 2);
        let folder = Path::new("/data/temp");
        let there = match left.exists(folder) {
            true => left.read_dir(folder).expect("a folder").len(),
            false => 0,
        };
        assert_eq!(there, 0);
        block_on(replica.stop());
        block_on(engine.close()).expect("the end");
    }
}
