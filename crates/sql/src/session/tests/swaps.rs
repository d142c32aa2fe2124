//! A table put in the place of another behind LOCK TABLES, as gh-ost does: RENAME TABLE waits for what is locked, and comes before everybody else who does.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::*;

const SWAP: &str = "RENAME TABLE t TO _t_del, _t_gho TO t";

/// `t`, and what is to be put in its place; `_t_del`, which holds the name, as gh-ost makes it.
fn started(s: &Arc<Instance>) -> Client {
    let mut c = Client::in_test(s);
    c.run("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, who INT NOT NULL, n INT NOT NULL)");
    ready(&mut c);
    c
}

fn ready(c: &mut Client) {
    c.run("CREATE TABLE _t_gho (id INT AUTO_INCREMENT PRIMARY KEY, who INT NOT NULL, n INT NOT NULL, extra INT NOT NULL DEFAULT 7)");
    c.run("CREATE TABLE _t_del (id INT AUTO_INCREMENT PRIMARY KEY) COMMENT = 'magic'");
}

/// Runs a statement on a thread of its own; gives its error's number, 0 where it has none, and the client.
fn behind(mut c: Client, sql: &'static str) -> JoinHandle<(Client, u16)> {
    thread::spawn(move || {
        let code = c.error(sql);
        (c, code)
    })
}

fn ended(t: JoinHandle<(Client, u16)>) -> (Client, u16) {
    t.join().expect("a thread")
}

/// Until the process list says of so many connections with such a statement that they wait, in the words that gh-ost looks for.
fn until_waits(c: &mut Client, info: &str, many: usize) {
    let waiting = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id != CONNECTION_ID() \
         AND state LIKE CONCAT('%', 'metadata lock', '%') AND info LIKE CONCAT('%', '{info}', '%')"
    );
    for _ in 0..2000 {
        if c.one(&waiting) == many.to_string() {
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
    panic!("{info}: it has not waited");
}

fn patient(s: &Arc<Instance>, seconds: u32) -> Client {
    let mut c = Client::in_test(s);
    c.run(&format!(
        "SET lock_wait_timeout = {seconds}, innodb_lock_wait_timeout = 100"
    ));
    c
}

/// gh-ost's cut-over, over and over, beside clients that write: the table that goes away has no row that was written after it was locked, and no
/// row that was acknowledged is lost.
#[test]
fn whoever_writes_finds_the_new_table() {
    const TURNS: u64 = 60;
    let s = server();
    let mut c = Client::in_test(&s);
    c.run("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, who INT NOT NULL, n INT NOT NULL)");
    let (stop, done) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let writers: Vec<_> = (0..4u64)
        .map(|who| {
            let (s, stop, done) = (s.clone(), stop.clone(), done.clone());
            thread::spawn(move || {
                let mut c = Client::in_test(&s);
                let mut n = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    n += 1;
                    let row = format!("INSERT INTO t (who, n) VALUES ({who}, {n})");
                    match who {
                        0 | 1 => {
                            c.run(&row);
                        }
                        2 => {
                            c.run("BEGIN");
                            c.run(&row);
                            c.run("COMMIT");
                        }
                        _ => {
                            let ps = c.session.prepare(row.as_bytes()).expect("prepared").id;
                            let mut nobody = Collector::new();
                            block_on(c.session.execute_prepared(ps, &[], &mut nobody))
                                .expect("an insert");
                            c.session.close_prepared(ps);
                        }
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let mut kept = 0u64;
    let mut locker = patient(&s, 6);
    let mut renamer = patient(&s, 60);
    for turn in 0..TURNS {
        ready(&mut c);
        locker.run("LOCK TABLES t WRITE, _t_del WRITE");
        let before = locker.one("SELECT COUNT(*) FROM t");
        let swap = behind(renamer, SWAP);
        until_waits(&mut c, "RENAME TABLE t", 1);
        if turn % 3 == 0 {
            // All of them stand before the door.
            until_waits(&mut c, "INSERT INTO t", 4);
        }
        if turn % 2 == 0 {
            locker.run("DROP TABLE IF EXISTS _t_del");
            locker.run("UNLOCK TABLES");
        } else {
            locker.run("DROP TABLE _t_del");
            drop(locker);
            locker = patient(&s, 6);
        }
        let (back, code) = ended(swap);
        renamer = back;
        assert_eq!(code, 0, "turn {turn}");
        assert_eq!(
            c.one("SELECT COUNT(*) FROM _t_del"),
            before,
            "turn {turn}: rows in the old table"
        );
        kept += before.parse::<u64>().expect("a number");
        c.run("DROP TABLE _t_del");
        // The next turn's copy is to be of the first shape again.
        c.run("ALTER TABLE t DROP COLUMN extra");
    }
    stop.store(true, Ordering::Relaxed);
    let ended: Vec<_> = writers.into_iter().map(JoinHandle::join).collect();
    assert!(ended.into_iter().all(|e| e.is_ok()));
    kept += c
        .one("SELECT COUNT(*) FROM t")
        .parse::<u64>()
        .expect("a number");
    assert_eq!(
        kept,
        done.load(Ordering::SeqCst),
        "rows that were acknowledged"
    );
}

/// An ALTER comes first as well, and LOCK TABLES does not, be it there earlier: it finds the new table, as in MySQL.
#[test]
fn a_change_comes_before_lock_tables_and_before_readers() {
    let s = server();
    let mut c = started(&s);
    let mut locker = patient(&s, 60);
    for turn in 0..20 {
        locker.run("LOCK TABLES t WRITE, _t_del WRITE");
        let second = behind(patient(&s, 60), "LOCK TABLES t WRITE");
        until_waits(&mut c, "LOCK TABLES t", 1);
        let reader = behind(patient(&s, 60), "SELECT * FROM t");
        let swap = behind(patient(&s, 60), SWAP);
        until_waits(&mut c, "RENAME", 1);
        locker.run("DROP TABLE _t_del");
        locker.run("UNLOCK TABLES");
        assert_eq!(ended(swap).1, 0, "turn {turn}");
        let (mut second, code) = ended(second);
        assert_eq!(code, 0);
        second.run("INSERT INTO t (who, n, extra) VALUES (1, 1, 1)");
        second.run("UNLOCK TABLES");
        // It was bound to the new one, or it is bound again.
        assert_eq!(ended(reader).1, 0, "turn {turn}");
        assert_eq!(c.one("SELECT COUNT(*) FROM _t_del"), "0");
        c.run("DROP TABLE _t_del");
        locker.run("LOCK TABLES t WRITE");
        let writer = behind(patient(&s, 60), "INSERT INTO t (who, n) VALUES (2, 2)");
        until_waits(&mut c, "INSERT INTO t", 1);
        let alter = behind(patient(&s, 60), "ALTER TABLE t DROP COLUMN extra");
        until_waits(&mut c, "ALTER TABLE", 1);
        locker.run("UNLOCK TABLES");
        assert_eq!((ended(alter).1, ended(writer).1), (0, 0));
        c.run("DELETE FROM t");
        ready(&mut c);
    }
}

/// Whatever ends the change: killed, out of patience, refused in the end, its connection gone. The table is open to everybody then.
#[test]
fn nothing_is_left_of_a_change_that_waited() {
    let s = server();
    let mut c = started(&s);
    let mut locker = patient(&s, 60);
    let mut writer = patient(&s, 5);
    let after = |locker: &mut Client, writer: &mut Client, how: &str| {
        locker.run("UNLOCK TABLES");
        assert_eq!(
            writer.error("INSERT INTO t (who, n) VALUES (0, 0)"),
            0,
            "{how}"
        );
        assert_eq!(writer.error("FLUSH TABLES WITH READ LOCK"), 0, "{how}");
        writer.run("UNLOCK TABLES");
        writer.run("LOCK INSTANCE FOR BACKUP");
        writer.run("UNLOCK INSTANCE");
    };
    locker.run("LOCK TABLES t WRITE, _t_del WRITE");
    let waiter = Client::in_test(&s);
    let interrupt = waiter.session.interrupt();
    let swap = behind(waiter, SWAP);
    until_waits(&mut c, "RENAME", 1);
    interrupt.kill_query();
    assert_eq!(ended(swap).1, 1317);
    after(&mut locker, &mut writer, "killed");

    locker.run("LOCK TABLES t WRITE, _t_del WRITE");
    assert_eq!(patient(&s, 1).error(SWAP), 1205);
    after(&mut locker, &mut writer, "out of patience");

    // The name is still taken.
    locker.run("LOCK TABLES t WRITE, _t_del WRITE");
    let swap = behind(patient(&s, 60), SWAP);
    until_waits(&mut c, "RENAME", 1);
    locker.run("UNLOCK TABLES");
    assert_eq!(ended(swap).1, 1050);
    after(&mut locker, &mut writer, "refused");

    // What was to be renamed is gone.
    locker.run("LOCK TABLES t WRITE, _t_del WRITE");
    let swap = behind(patient(&s, 60), "RENAME TABLE _t_del TO x, t TO y");
    until_waits(&mut c, "RENAME", 1);
    locker.run("DROP TABLE _t_del");
    locker.run("UNLOCK TABLES");
    assert_eq!(ended(swap).1, 1146);
    after(&mut locker, &mut writer, "missing");

    locker.run("LOCK TABLES t WRITE");
    let mut gone = Client::in_test(&s);
    {
        let mut nobody = Collector::new();
        let mut swap = pin!(gone.session.execute(SWAP.as_bytes(), &mut nobody));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(swap.as_mut().poll(&mut cx).is_pending());
        until_waits(&mut c, "RENAME", 1);
    }
    drop(gone);
    after(&mut locker, &mut writer, "its connection gone");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "5");
}

/// A transaction that uses what the change waits for, and waits for what the change comes next to: the change has the right of way, as in MySQL. A
/// statement that has only begun lets it pass, and begins anew.
#[test]
fn a_transaction_in_the_way_of_a_swap_is_told() {
    let s = server();
    let mut c = started(&s);
    for early in [true, false] {
        let mut locker = patient(&s, 60);
        locker.run("LOCK TABLES t WRITE, _t_del WRITE");
        let mut in_the_way = patient(&s, 60);
        in_the_way.run("BEGIN");
        in_the_way.run("SELECT * FROM _t_gho");
        let swap = behind(patient(&s, 60), SWAP);
        until_waits(&mut c, "RENAME", 1);
        let write = "INSERT INTO t (who, n) VALUES (3, 3)";
        let (mut in_the_way, code) = match early {
            true => {
                let waits = behind(in_the_way, write);
                until_waits(&mut c, "INSERT", 1);
                // Nobody stands in nobody's way as long as the table is locked.
                assert!(!waits.is_finished());
                locker.run("DROP TABLE _t_del");
                locker.run("UNLOCK TABLES");
                ended(waits)
            }
            false => {
                locker.run("DROP TABLE _t_del");
                locker.run("UNLOCK TABLES");
                thread::sleep(Duration::from_millis(300));
                assert!(!swap.is_finished(), "beside a reader of what it renames");
                // It keeps everybody off meanwhile: a row of now would be in the old table.
                let mut writer = patient(&s, 1);
                assert_eq!(writer.error(write), 1205);
                assert_eq!(writer.error("SELECT * FROM t"), 1205);
                let code = in_the_way.error(write);
                (in_the_way, code)
            }
        };
        assert_eq!(code, 1213, "early: {early}");
        assert_eq!(ended(swap).1, 0, "early: {early}");
        in_the_way.run("INSERT INTO t (who, n) VALUES (4, 4)");
        assert_eq!(c.one("SELECT COUNT(*) FROM _t_del"), "0");
        // A statement of its own.
        c.run("DROP TABLE _t_del");
        c.run("ALTER TABLE t DROP COLUMN extra");
        c.run("DELETE FROM t");
        ready(&mut c);
        locker.run("LOCK TABLES t WRITE, _t_del WRITE");
        let swap = behind(patient(&s, 60), SWAP);
        until_waits(&mut c, "RENAME", 1);
        let joined = behind(
            patient(&s, 60),
            "INSERT INTO _t_gho (who, n) SELECT 5, COUNT(*) FROM t",
        );
        let other = behind(
            patient(&s, 60),
            "SELECT * FROM _t_gho JOIN t ON _t_gho.id = t.id",
        );
        until_waits(&mut c, "t", 3);
        locker.run("DROP TABLE _t_del");
        locker.run("UNLOCK TABLES");
        assert_eq!(ended(swap).1, 0);
        // There is no table of that name any more.
        assert_eq!((ended(joined).1, ended(other).1), (1146, 1146));
        c.run("DROP TABLE _t_del");
        c.run("ALTER TABLE t DROP COLUMN extra");
        ready(&mut c);
    }
}

/// Renames that cross, of tables that two sessions have locked: each comes to its end.
#[test]
fn renames_that_cross_come_to_their_ends() {
    let s = server();
    let mut c = Client::in_test(&s);
    for turn in 0..20 {
        for t in ["x", "y", "z"] {
            c.run(&format!("CREATE TABLE {t} (id INT PRIMARY KEY)"));
        }
        let (mut one, mut two) = (patient(&s, 60), patient(&s, 60));
        one.run("LOCK TABLES x WRITE");
        two.run("LOCK TABLES y WRITE");
        let crossing = [
            "RENAME TABLE x TO a, y TO b",
            "RENAME TABLE y TO c, x TO d",
            "RENAME TABLE z TO e, y TO f, x TO g",
            "DROP TABLE x, y",
        ];
        let crossing = crossing.map(|sql| behind(patient(&s, 30), sql));
        until_waits(&mut c, "x", 4);
        match turn % 2 {
            0 => one.run("UNLOCK TABLES"),
            _ => two.run("UNLOCK TABLES"),
        };
        thread::sleep(Duration::from_millis(turn));
        one.run("UNLOCK TABLES");
        two.run("UNLOCK TABLES");
        let codes = crossing.map(|t| ended(t).1);
        let done = codes.iter().filter(|c| **c == 0).count();
        assert_eq!(done, 1, "turn {turn}: {codes:?}");
        let refused = codes.iter().all(|c| [0, 1146, 1051].contains(c));
        assert!(refused, "turn {turn}: {codes:?}");
        c.run("DROP TABLE IF EXISTS x, y, z, a, b, c, d, e, f, g");
    }
    // To one name.
    for t in ["x", "y"] {
        c.run(&format!("CREATE TABLE {t} (id INT PRIMARY KEY)"));
    }
    let mut one = patient(&s, 60);
    one.run("LOCK TABLES x WRITE, y WRITE");
    let both = ["RENAME TABLE x TO new", "RENAME TABLE y TO new"];
    let both = both.map(|sql| behind(patient(&s, 30), sql));
    until_waits(&mut c, "new", 2);
    one.run("UNLOCK TABLES");
    let mut codes = both.map(|t| ended(t).1);
    codes.sort_unstable();
    assert_eq!(codes, [0, 1050]);
}

/// A name that is taken is told once nobody has it locked; what is missing, at once.
#[test]
fn a_taken_name_is_waited_for() {
    let s = server();
    let mut c = started(&s);
    c.run("CREATE VIEW v AS SELECT 1");
    assert_eq!(c.error("RENAME TABLE t TO _t_gho"), 1050);
    assert_eq!(c.error("RENAME TABLE t TO v"), 1050);
    assert_eq!(c.error("RENAME TABLE t TO t"), 1050);
    assert_eq!(c.error("RENAME TABLE t TO nowhere.t"), 1049);
    let mut other = patient(&s, 1);
    for lock in ["LOCK TABLES _t_gho WRITE", "LOCK TABLES _t_gho READ"] {
        c.run(lock);
        assert_eq!(other.error("RENAME TABLE t TO _t_gho"), 1205);
        assert_eq!(other.error("RENAME TABLE missing TO _t_gho"), 1205);
        assert_eq!(other.error("RENAME TABLE missing TO other"), 1146);
        other.run("RENAME TABLE t TO a, a TO t");
        c.run("UNLOCK TABLES");
    }
    // Its own lock.
    c.run("LOCK TABLES t WRITE, _t_gho WRITE");
    assert_eq!(c.error("RENAME TABLE t TO _t_gho"), 1050);
    c.run("RENAME TABLE t TO a, _t_gho TO t");
    c.run("INSERT INTO t (who, n) VALUES (1, 1)");
    assert_eq!(other.error("SELECT * FROM a"), 1205);
    c.run("UNLOCK TABLES");
    assert_eq!(other.one("SELECT extra FROM t"), "7");
}

/// Whoever locks the server waits for a change that comes next to a table: it would keep others off that table until the server is unlocked.
#[test]
fn locks_of_the_server_let_a_swap_pass() {
    let s = server();
    let mut c = started(&s);
    let mut locker = patient(&s, 60);
    locker.run("LOCK TABLES t WRITE, _t_del WRITE");
    let mut in_the_way = patient(&s, 60);
    in_the_way.run("BEGIN");
    in_the_way.run("SELECT * FROM _t_gho");
    let swap = behind(patient(&s, 60), SWAP);
    until_waits(&mut c, "RENAME", 1);
    locker.run("DROP TABLE _t_del");
    locker.run("UNLOCK TABLES");
    let mut other = patient(&s, 1);
    for lock in ["FLUSH TABLES WITH READ LOCK", "LOCK INSTANCE FOR BACKUP"] {
        assert_eq!(other.error(lock), 1205, "{lock}");
    }
    let waits = [
        behind(patient(&s, 60), "FLUSH TABLES WITH READ LOCK"),
        behind(patient(&s, 60), "LOCK INSTANCE FOR BACKUP"),
    ];
    thread::sleep(Duration::from_millis(200));
    assert!(waits.iter().all(|w| !w.is_finished()) && !swap.is_finished());
    in_the_way.run("COMMIT");
    assert_eq!(ended(swap).1, 0);
    for w in waits {
        let (mut w, code) = ended(w);
        assert_eq!(code, 0);
        w.run("SELECT extra FROM t");
        w.run("UNLOCK TABLES");
        w.run("UNLOCK INSTANCE");
    }
}
