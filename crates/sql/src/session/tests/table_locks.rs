//! LOCK TABLES, the locks of the server, and definition changes that give way, with several clients.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::session::Execution;

fn started(s: &Arc<Instance>) -> Client {
    let mut c = Client::in_test(s);
    c.run("CREATE TABLE a (id INT PRIMARY KEY, v INT)");
    c.run("CREATE TABLE b (id INT PRIMARY KEY, v INT)");
    c.run("INSERT INTO a VALUES (1, 0), (2, 0)");
    c.run("INSERT INTO b VALUES (1, 0), (2, 0)");
    c
}

fn impatient(s: &Arc<Instance>) -> Client {
    let mut c = Client::in_test(s);
    c.run("SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 100");
    c
}

/// Runs a statement on a thread of its own; gives its error's number, 0 where it has none, and the client.
fn behind(mut c: Client, sql: &'static str) -> thread::JoinHandle<(Client, u16)> {
    thread::spawn(move || {
        let code = c.try_all(sql).map_or_else(|e| e.code, |_| 0);
        (c, code)
    })
}

/// Until the connection waits, or does something else than nothing.
fn until_it_waits(t: &thread::JoinHandle<(Client, u16)>) {
    for _ in 0..20 {
        if t.is_finished() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// What a change of a definition that waits for a reader does to everybody else: little.
fn give_way(change: &'static str, used: &str) {
    let s = server();
    let mut c = started(&s);
    c.run("CREATE TABLE par (id INT PRIMARY KEY)");
    c.run("CREATE TABLE chd (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES par (id))");
    let mut reader = Client::in_test(&s);
    reader.run("BEGIN");
    reader.run(used);
    let mut ddl = Client::in_test(&s);
    ddl.run("SET lock_wait_timeout = 12");
    let ddl = behind(ddl, change);
    let stop = Arc::new(AtomicBool::new(false));
    let longest = Arc::new(AtomicU64::new(0));
    let others: Vec<_> = (0..4)
        .map(|n| {
            let (s, stop, longest) = (s.clone(), stop.clone(), longest.clone());
            thread::spawn(move || {
                let mut c = Client::in_test(&s);
                while !stop.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    c.run(["UPDATE a SET v = v + 1 WHERE id = 1", "SELECT * FROM a"][n % 2]);
                    c.run("INSERT IGNORE INTO chd VALUES (1, 1)");
                    let took = begun.elapsed().as_millis() as u64;
                    longest.fetch_max(took, Ordering::Relaxed);
                }
            })
        })
        .collect();
    thread::sleep(Duration::from_secs(2));
    assert!(!ddl.is_finished(), "{change}: beside a reader");
    // Changes of other tables do not wait for it.
    c.run("ALTER TABLE b ADD COLUMN n INT");
    c.run("CREATE TABLE other (id INT)");
    let ended = Instant::now();
    reader.run("COMMIT");
    let (_, code) = ddl.join().expect("a thread");
    let took = ended.elapsed();
    stop.store(true, Ordering::Relaxed);
    let ended: Vec<_> = others.into_iter().map(thread::JoinHandle::join).collect();
    assert_eq!(code, 0, "{change}");
    assert!(
        took < Duration::from_secs(3),
        "{change}: {took:?} after the reader"
    );
    if !change.starts_with("DROP") && !change.starts_with("RENAME") {
        assert!(ended.into_iter().all(|e| e.is_ok()), "{change}");
    }
    let longest = longest.load(Ordering::Relaxed);
    // Two statements of at most 50 ms; a machine with other work to do takes its time.
    assert!(longest < 1000, "{change}: {longest} ms");
}

#[test]
fn a_change_that_has_nothing_to_do_gives_way() {
    give_way(
        "ALTER TABLE a ADD COLUMN n INT, ALGORITHM = INSTANT",
        "SELECT * FROM a",
    );
}

#[test]
fn an_index_build_gives_way() {
    give_way("ALTER TABLE a ADD INDEX (v)", "SELECT * FROM a");
}

#[test]
fn a_rebuild_gives_way() {
    give_way("ALTER TABLE a FORCE", "SELECT * FROM a");
}

#[test]
fn truncate_gives_way() {
    give_way("TRUNCATE TABLE a", "SELECT * FROM a");
}

#[test]
fn a_change_of_a_parent_gives_way() {
    give_way("ALTER TABLE par COMMENT = 'x'", "SELECT * FROM par");
}

#[test]
fn a_change_gives_up_after_its_time() {
    let s = server();
    let mut c = started(&s);
    c.run("BEGIN");
    c.run("SELECT * FROM a");
    let mut ddl = impatient(&s);
    for change in [
        "ALTER TABLE a ADD COLUMN n INT",
        "ALTER TABLE a ADD INDEX (v)",
        "ALTER TABLE a FORCE",
        "TRUNCATE TABLE a",
        "DROP TABLE b, a",
        "RENAME TABLE b TO c, a TO b",
        "DROP DATABASE test",
        "LOCK TABLES b WRITE, a WRITE",
    ] {
        assert_eq!(ddl.error(change), 1205, "{change}");
    }
    c.run("INSERT INTO a VALUES (3, 3)");
    c.run("COMMIT");
    ddl.run("ALTER TABLE a ADD COLUMN n INT");
}

#[test]
fn what_a_session_has_locked_goes_with_it() {
    let s = server();
    let mut c = started(&s);
    let locks = [
        "LOCK TABLES a WRITE",
        "LOCK TABLES a READ",
        "FLUSH TABLES a WITH READ LOCK",
        "FLUSH TABLES WITH READ LOCK",
        "LOCK INSTANCE FOR BACKUP",
    ];
    let wants = ["ALTER TABLE a COMMENT = 'x'", "ALTER TABLE a COMMENT = 'y'"];
    for lock in locks {
        for want in wants {
            let mut other = Client::in_test(&s);
            other.run(lock);
            drop(other);
            c.run(want);
            let mut other = Client::in_test(&s);
            other.run(lock);
            block_on(other.session.reset()).expect("a reset");
            c.run(want);
            c.run("INSERT INTO a VALUES (9, 9)");
            c.run("DELETE FROM a WHERE id = 9");
            let mut other = Client::in_test(&s);
            other.run(lock);
            block_on(other.session.close());
            c.run(want);
        }
    }
    // Killed while it waits: nothing is left of what it has asked for.
    let mut holder = Client::in_test(&s);
    for (lock, wait) in [
        ("LOCK TABLES a READ", "LOCK TABLES b WRITE, a WRITE"),
        ("LOCK TABLES a WRITE", "ALTER TABLE a COMMENT = 'z'"),
        ("FLUSH TABLES WITH READ LOCK", "INSERT INTO b VALUES (7, 7)"),
        ("LOCK INSTANCE FOR BACKUP", "DROP TABLE b"),
    ] {
        holder.run(lock);
        let waiter = Client::in_test(&s);
        let interrupt = waiter.session.interrupt();
        let waiter = behind(waiter, wait);
        until_it_waits(&waiter);
        interrupt.kill_query();
        let (waiter, code) = waiter.join().expect("a thread");
        assert_eq!(code, 1317, "{wait}");
        holder.run("UNLOCK TABLES");
        holder.run("UNLOCK INSTANCE");
        c.run("INSERT INTO b VALUES (8, 8)");
        c.run("DELETE FROM b");
        c.run("ALTER TABLE b COMMENT = 'w'");
        drop(waiter);
    }
}

/// The ways that do not wait must see a lock as well.
#[test]
fn what_waits_for_nothing_waits_for_locks() {
    let s = server();
    let mut c = started(&s);
    let mut other = Client::in_test(&s);
    let point = other
        .session
        .prepare(b"SELECT v FROM a WHERE id = ?")
        .expect("prepared")
        .id;
    let update = other
        .session
        .prepare(b"UPDATE a SET v = v + 1 WHERE id = ?")
        .expect("prepared")
        .id;
    let one = [Value::Int(1)];
    let done = |other: &mut Client, id: u32| {
        let mut nobody = Collector::new();
        let started = other.session.start_prepared(id, &one, &mut nobody);
        matches!(started, Execution::Done(Ok(())))
    };
    for _ in 0..2 {
        assert!(done(&mut other, point));
    }
    for (lock, reads, writes) in [
        ("LOCK TABLES a READ", true, false),
        ("LOCK TABLES a WRITE", false, false),
        ("FLUSH TABLES WITH READ LOCK", true, false),
        ("LOCK INSTANCE FOR BACKUP", true, true),
    ] {
        c.run(lock);
        assert_eq!(done(&mut other, point), reads, "{lock}");
        if !writes {
            assert!(!done(&mut other, update), "{lock}");
        }
        c.run("UNLOCK TABLES");
        c.run("UNLOCK INSTANCE");
        assert!(done(&mut other, point), "{lock}");
    }
    assert_eq!(c.one("SELECT v FROM a WHERE id = 1"), "0");
    // A transaction that has the table already, and one's own lock.
    other.run("BEGIN");
    assert!(done(&mut other, point));
    c.run("FLUSH TABLES WITH READ LOCK");
    assert!(!done(&mut other, update));
    c.run("UNLOCK TABLES");
    other.run("COMMIT");
    other.run("LOCK TABLES a WRITE");
    let mut nobody = Collector::new();
    block_on(other.session.execute_prepared(update, &one, &mut nobody)).expect("an update");
    other.run("LOCK TABLES a READ");
    let mut nobody = Collector::new();
    let refused = block_on(other.session.execute_prepared(update, &one, &mut nobody));
    assert_eq!(refused.map_err(|e| e.code), Err(1099));
    other.run("LOCK TABLES b READ");
    let mut nobody = Collector::new();
    let refused = block_on(other.session.execute_prepared(point, &one, &mut nobody));
    assert_eq!(refused.map_err(|e| e.code), Err(1100));
}

#[test]
fn a_read_lock_of_the_server_waits_for_statements_and_not_for_transactions() {
    let s = server();
    let mut idle = started(&s);
    idle.run("BEGIN");
    idle.run("UPDATE a SET v = 1 WHERE id = 1");
    let stuck = behind(Client::in_test(&s), "UPDATE a SET v = v + 10 WHERE id = 1");
    until_it_waits(&stuck);
    let mut locker = impatient(&s);
    // A statement is under way, and others go on.
    let begun = Instant::now();
    let mut c = Client::in_test(&s);
    let locker = thread::spawn(move || {
        let code = locker.error("FLUSH TABLES WITH READ LOCK");
        (locker, code)
    });
    while !locker.is_finished() {
        c.run("UPDATE b SET v = v + 1 WHERE id = 1");
    }
    let (mut locker, code) = locker.join().expect("a thread");
    assert_eq!(code, 1205, "after {:?}", begun.elapsed());
    c.run("INSERT INTO b VALUES (5, 5)");
    idle.run("COMMIT");
    let (_, code) = stuck.join().expect("a thread");
    assert_eq!(code, 0);
    // A transaction without a statement is not waited for; its commit waits.
    idle.run("BEGIN");
    idle.run("UPDATE a SET v = 100 WHERE id = 1");
    locker.run("FLUSH TABLES WITH READ LOCK");
    locker.run("FLUSH TABLES WITH READ LOCK");
    let mut impatient = impatient(&s);
    for refused in [
        "INSERT INTO b VALUES (6, 6)",
        "ALTER TABLE b COMMENT = 'x'",
        "CREATE DATABASE d",
        "CREATE USER u",
        "LOCK TABLES b WRITE",
        "SELECT * FROM b FOR UPDATE",
    ] {
        assert_eq!(impatient.error(refused), 1205, "{refused}");
    }
    idle.run("SET lock_wait_timeout = 1");
    assert_eq!(idle.error("COMMIT"), 1205);
    assert_eq!(c.one("SELECT v FROM a WHERE id = 1"), "11");
    locker.run("UNLOCK TABLES");
    idle.run("COMMIT");
    assert_eq!(c.one("SELECT v FROM a WHERE id = 1"), "100");
    // Who has tables locked for writing writes.
    let mut writer = Client::in_test(&s);
    writer.run("LOCK TABLES a WRITE");
    assert_eq!(locker.error("FLUSH TABLES WITH READ LOCK"), 1205);
    writer.run("UPDATE a SET v = 5");
    writer.run("UNLOCK TABLES");
    locker.run("FLUSH TABLES WITH READ LOCK");
}

#[test]
fn locks_stay_through_changes_of_definitions() {
    let s = server();
    let mut c = started(&s);
    let mut other = impatient(&s);
    c.run("LOCK TABLES a WRITE, b AS x READ, b WRITE");
    for change in [
        "ALTER TABLE a ADD COLUMN n INT",
        "ALTER TABLE a FORCE",
        "ALTER TABLE a ADD INDEX (v)",
        "TRUNCATE TABLE a",
        "OPTIMIZE TABLE a",
        "CREATE INDEX i ON a (n)",
        "RENAME TABLE a TO c",
        "ALTER TABLE c RENAME TO a",
    ] {
        c.run(change);
        let name = if change.starts_with("RENAME") {
            "c"
        } else {
            "a"
        };
        c.run(&format!("SELECT * FROM {name}"));
        c.run("SELECT * FROM b AS x");
        assert_eq!(
            other.error(&format!("SELECT * FROM {name}")),
            1205,
            "{change}"
        );
    }
    assert_eq!(c.error("CREATE DATABASE d"), 1192);
    assert_eq!(c.error("CREATE USER u"), 1100);
    assert_eq!(c.error("FLUSH TABLES WITH READ LOCK"), 1192);
    c.run("DROP TABLE a");
    assert_eq!(c.error("SELECT * FROM a"), 1100);
    assert_eq!(other.error("SELECT * FROM b"), 1205);
    c.run("DROP TABLE b");
    // The last one.
    c.run("CREATE TABLE a (id INT)");
    other.run("SELECT * FROM a");
}

/// Clients that lock, change, and alter two tables: nothing is lost under a lock for writing, nothing moves under one for reading, and all come to their end.
#[test]
fn locks_hold_among_clients() {
    let s = server();
    let mut c = started(&s);
    const TURNS: u64 = 60;
    let threads: Vec<_> = (0..6u64)
        .map(|n| {
            let s = s.clone();
            thread::spawn(move || {
                let mut c = Client::in_test(&s);
                for turn in 0..TURNS {
                    match n {
                        // Adds one in two statements.
                        0..=2 => {
                            c.run(
                                [
                                    "LOCK TABLES a WRITE, b READ",
                                    "LOCK TABLES b WRITE, a WRITE",
                                ][(turn % 2) as usize],
                            );
                            let v: u64 = c
                                .one("SELECT v FROM a WHERE id = 1")
                                .parse()
                                .expect("a number");
                            c.run(&format!("UPDATE a SET v = {} WHERE id = 1", v + 1));
                            c.run(["UNLOCK TABLES", "BEGIN; COMMIT"][(turn % 2) as usize]);
                        }
                        3 => {
                            c.run(
                                ["LOCK TABLES a READ", "FLUSH TABLES WITH READ LOCK"]
                                    [(turn % 2) as usize],
                            );
                            let v = c.one("SELECT v FROM a WHERE id = 1");
                            assert_eq!(v, c.one("SELECT v FROM a WHERE id = 1"));
                            c.run("UNLOCK TABLES");
                        }
                        4 => {
                            c.run("UPDATE a SET v = v + 1 WHERE id = 1");
                        }
                        _ => {
                            c.run(&format!("ALTER TABLE a COMMENT = '{turn}'"));
                            c.run(&format!(
                                "ALTER TABLE b ADD COLUMN c{turn} INT, ALGORITHM = INSTANT"
                            ));
                        }
                    }
                }
            })
        })
        .collect();
    let ended: Vec<_> = threads.into_iter().map(thread::JoinHandle::join).collect();
    assert!(ended.into_iter().all(|e| e.is_ok()));
    assert_eq!(
        c.one("SELECT v FROM a WHERE id = 1"),
        (TURNS * 4).to_string()
    );
}

#[test]
fn a_views_definition_stays_as_long_as_a_transaction_has_read_by_it() {
    let s = server();
    let mut reader = started(&s);
    reader.run("CREATE DATABASE views");
    reader.run("CREATE VIEW views.v AS SELECT id, v FROM a");
    reader.run("CREATE VIEW views.w AS SELECT id FROM views.v");
    reader.run("CREATE VIEW views.one AS SELECT 1 AS x");
    reader.run("CREATE VIEW views.free AS SELECT 1 AS x");
    let mut other = impatient(&s);
    reader.run("BEGIN");
    assert_eq!(reader.rows("SELECT * FROM views.w").len(), 2);
    assert_eq!(reader.one("SELECT x FROM views.one"), "1");
    let locks = "SELECT object_type, object_name, lock_type, lock_status FROM performance_schema.metadata_locks \
        WHERE object_schema = 'views' ORDER BY object_name";
    let used = |name: &str| {
        ["TABLE", name, "SHARED_READ", "GRANTED"]
            .map(String::from)
            .to_vec()
    };
    assert_eq!(other.rows(locks), [used("one"), used("v"), used("w")]);
    for sql in [
        "DROP VIEW views.w",
        "DROP VIEW views.v",
        "DROP VIEW views.free, views.one",
        "CREATE OR REPLACE VIEW views.w AS SELECT 1",
        "ALTER VIEW views.v AS SELECT 1",
        "RENAME TABLE views.w TO views.w2",
        "DROP DATABASE views",
    ] {
        assert_eq!(other.error(sql), 1205, "{sql}");
    }
    // Others read by them meanwhile, and what nobody uses can go.
    assert_eq!(other.rows("SELECT * FROM views.w").len(), 2);
    other.run("DROP VIEW views.free");
    other.run("SET lock_wait_timeout = 20");
    let waiting = behind(other, "ALTER VIEW views.v AS SELECT 7 AS id");
    let mut third = impatient(&s);
    let pending = "SELECT COUNT(*) FROM performance_schema.metadata_locks \
        WHERE object_name = 'v' AND lock_type = 'EXCLUSIVE' AND lock_status = 'PENDING'";
    while third.one(pending) == "0" {
        assert!(!waiting.is_finished(), "it has not waited");
    }
    assert_eq!(third.rows("SELECT * FROM views.w").len(), 2);
    assert_eq!(reader.rows("SELECT * FROM views.w").len(), 2);
    reader.run("COMMIT");
    let (mut other, code) = waiting.join().expect("it ends");
    assert_eq!(code, 0);
    assert_eq!(reader.rows("SELECT * FROM views.w"), [["7"]]);
    other.run("DROP DATABASE views");
}

#[test]
fn a_statement_goes_by_the_view_that_is_there() {
    let s = server();
    let (mut c, mut other) = (started(&s), impatient(&s));
    c.run("CREATE VIEW w AS SELECT 1 AS x");
    c.run("PREPARE p FROM 'SELECT x FROM w'");
    for n in 2..20 {
        other.run(&format!("CREATE OR REPLACE VIEW w AS SELECT {n} AS x"));
        assert_eq!(c.one("EXECUTE p"), n.to_string());
        assert_eq!(c.one("SELECT x FROM w"), n.to_string());
    }
    other.run("RENAME TABLE w TO w2, w2 TO w");
    assert_eq!(c.one("EXECUTE p"), "19");
    other.run("DROP VIEW w");
    assert_eq!(c.error("EXECUTE p"), 1146);
    // Two who each read by a view that the other one drops.
    c.run("CREATE VIEW m AS SELECT 1 AS x");
    c.run("CREATE VIEW n AS SELECT 1 AS x");
    c.run("BEGIN");
    other.run("BEGIN");
    c.run("SELECT * FROM m");
    other.run("SELECT * FROM n");
    let first = behind(c, "DROP VIEW n");
    let second = behind(other, "DROP VIEW m");
    // DROP commits first, so that none waits for the other for good.
    for waiting in [first, second] {
        assert_eq!(waiting.join().expect("it ends").1, 0);
    }
}
