//! The volume of the binary log is full, and that of the data is not: what is committed waits and nothing is lost, who looks is answered, PURGE
//! works, SIGTERM ends the server, and the error log says what is going on. Then its folder is deleted.

use super::filesystem::FileSystem;
use super::statements::{connect, must, number, query};
use super::writers::{Noted, Writers};
use harness::process;
use harness::server::{Kind, Server, Setup};
use harness::step::Outcome;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};

/// How soon the error log says it, and clients go on after there is room.
const SOON: Duration = Duration::from_secs(5);
/// How soon the server ends.
const END: Duration = Duration::from_secs(10);
const WRITERS: usize = 4;

/// The round.
pub struct Round<'a> {
    disk: &'a FileSystem,
    setup: Setup,
    noted: Arc<Noted>,
}

fn wait(what: &str, limit: Duration, so: impl Fn() -> bool) -> Outcome<Duration> {
    let begun = Instant::now();
    while !so() {
        if begun.elapsed() > limit {
            return Err(format!("{what}: not within {} s", limit.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(begun.elapsed())
}

/// How often the server's log has said something.
fn said(setup: &Setup, words: &str) -> usize {
    let log = std::fs::read_to_string(&setup.log).unwrap_or_default();
    log.lines().filter(|l| l.contains(words)).count()
}

fn bytes_below(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter_map(|e| e.metadata().ok())
        .map(|m| m.len())
        .sum()
}

impl<'a> Round<'a> {
    /// A new server with its binary log on the file system.
    pub fn new(disk: &'a FileSystem, scratch: &Path) -> Outcome<Round<'a>> {
        let folder = disk.path().join("logs");
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let setup = Setup::new(Kind::Tidemill, scratch)?
            .option("server-id=1")
            .option(&format!("log-bin={}", folder.join("binlog").display()))
            .option("max-binlog-size=2M")
            .option("gtid-mode=ON")
            .option("enforce-gtid-consistency=ON")
            .option("innodb-buffer-pool-size=16M")
            .redo_capacity("32M");
        Ok(Round {
            disk,
            setup,
            noted: Arc::default(),
        })
    }

    /// The whole round.
    pub fn run(&self) -> Outcome<()> {
        // So that there is something to be taken away.
        self.disk.fill(14 << 20)?;
        let server = self.setup.start()?;
        let mut conn = connect(&self.setup)?;
        must(&mut conn, "CREATE DATABASE w")?;
        must(
            &mut conn,
            "CREATE TABLE w.t (id BIGINT PRIMARY KEY, pad LONGTEXT)",
        )?;
        drop(conn);
        let done = self
            .on_full_disk(server)
            .and_then(|server| self.ended_while_full(server))
            .and_then(|server| self.killed_while_full(server))
            .and_then(|server| self.without_folder(server));
        done?;
        println!(
            "      {} transactions acknowledged, all there",
            self.noted.count()
        );
        Ok(())
    }

    /// Clients write until nothing more fits, and hang there.
    fn fill(&self, server: &Server) -> Outcome<Writers> {
        let writers = Writers::start(&self.setup, self.noted.clone(), WRITERS)?;
        let stands = || {
            let before = self.noted.count();
            std::thread::sleep(Duration::from_millis(1500));
            before > 0 && self.noted.count() == before
        };
        wait("the clients stand", Duration::from_secs(120), stands)
            .map_err(|why| server.with_log(&why))?;
        self.disk.fill(0)?;
        Ok(writers)
    }

    fn on_full_disk(&self, server: Server) -> Outcome<Server> {
        let writers = self.fill(&server)?;
        let told = "transactions that leave something in it wait";
        if said(&self.setup, told) != 1 || said(&self.setup, "No space left on device") == 0 {
            return Err(server.with_log("the error log does not say it, or not once"));
        }
        let log = self.setup.datadir.join("log");
        let mut before = (bytes_below(&log), process::cpu_time(server.pid())?);
        let looked = self.looks()?;
        std::thread::sleep(Duration::from_secs(2));
        let mut after = (bytes_below(&log), process::cpu_time(server.pid())?);
        if after.0 > before.0 {
            // A segment that the last commits have called for, made ready in the meantime. There is no other.
            before = after;
            std::thread::sleep(Duration::from_secs(2));
            after = (bytes_below(&log), process::cpu_time(server.pid())?);
        }
        let spent = after.1.saturating_sub(before.1);
        if after.0 > before.0 || spent > Duration::from_millis(500) {
            return Err(format!(
                "the engine's log grows from {} to {} bytes, {} ms of CPU time",
                before.0,
                after.0,
                spent.as_millis()
            ));
        }
        println!(
            "      full with {} transactions; who looks is answered within {} ms",
            self.noted.count(),
            looked.as_millis()
        );
        self.kill_one()?;
        let mut conn = connect(&self.setup)?;
        self.refused(&mut conn)?;
        let files = must(&mut conn, "SHOW BINARY LOGS")?;
        let Some([Value::Bytes(name), ..]) =
            files.get(files.len().saturating_sub(2)).map(|r| &r[..])
        else {
            return Err(format!("SHOW BINARY LOGS gives {files:?}"));
        };
        let purge = format!("PURGE BINARY LOGS TO '{}'", String::from_utf8_lossy(name));
        let begun = Instant::now();
        let count = self.noted.count();
        must(&mut conn, &purge)?;
        let took = begun.elapsed();
        let goes_on = wait("the clients go on after PURGE", SOON, || {
            self.noted.count() > count + WRITERS
        });
        let goes_on = goes_on.map_err(|why| server.with_log(&why))?;
        println!(
            "      PURGE took {} ms, the clients go on {} ms later",
            took.as_millis(),
            goes_on.as_millis()
        );
        // Full once more, and room comes from outside.
        wait("the clients stand again", Duration::from_secs(60), || {
            let before = self.noted.count();
            std::thread::sleep(Duration::from_millis(1500));
            self.noted.count() == before
        })?;
        let count = self.noted.count();
        self.disk.relieve(8 << 20)?;
        wait("the clients go on with room from outside", SOON, || {
            self.noted.count() > count + WRITERS
        })
        .map_err(|why| server.with_log(&why))?;
        // Who waits at its end is answered by the purge.
        must(&mut conn, "PURGE BINARY LOGS BEFORE NOW()")?;
        writers.stop()?;
        self.verify()?;
        Ok(server)
    }

    /// Statements that need room and do not wait for it: they are told so at once, and have done nothing.
    fn refused(&self, conn: &mut Conn) -> Outcome<()> {
        let before = must(conn, "SHOW BINARY LOGS")?;
        for sql in [
            "FLUSH BINARY LOGS",
            "FLUSH LOGS",
            "RESET BINARY LOGS AND GTIDS",
            "RESET MASTER",
        ] {
            let begun = Instant::now();
            match query(conn, sql) {
                Err(ClientError::Server(e)) if e.code == 1026 => {}
                other => return Err(format!("{sql} on a full disk: {other:?}")),
            }
            if begun.elapsed() > SOON {
                return Err(format!("{sql} took {} s", begun.elapsed().as_secs()));
            }
        }
        match must(conn, "SHOW BINARY LOGS")? == before {
            true => Ok(()),
            false => Err("what was refused has changed the files".to_owned()),
        }
    }

    /// Statements that only look.
    fn looks(&self) -> Outcome<Duration> {
        let mut conn = connect(&self.setup)?;
        let begun = Instant::now();
        for sql in [
            "SELECT COUNT(*) FROM w.t",
            "SHOW BINARY LOGS",
            "SHOW BINARY LOG STATUS",
            "SELECT @@gtid_executed",
            "SELECT @@gtid_purged",
            "SHOW GLOBAL STATUS",
            "SHOW GLOBAL VARIABLES",
            "SHOW BINLOG EVENTS LIMIT 3",
            "SHOW ENGINE INNODB STATUS",
            "SHOW PROCESSLIST",
            "BEGIN",
            "DELETE FROM w.t WHERE id < 3",
            "ROLLBACK",
        ] {
            let begun = Instant::now();
            must(&mut conn, sql)?;
            if begun.elapsed() > Duration::from_secs(2) {
                return Err(format!("{sql} took {} s", begun.elapsed().as_secs()));
            }
        }
        Ok(begun.elapsed())
    }

    /// One of those that hang is killed: it is told so, and its row is not there.
    fn kill_one(&self) -> Outcome<()> {
        let mut conn = connect(&self.setup)?;
        let rows = number(&mut conn, "SELECT COUNT(*) FROM w.t")?;
        self.noted.take_refused();
        let id = self.noted.connections.lock().last().copied();
        let id = id.ok_or("no client")?;
        must(&mut conn, &format!("KILL QUERY {id}"))?;
        wait("the statement that was killed ends", SOON, || {
            let refused = self.noted.refused.lock();
            refused.as_ref().is_some_and(|(code, _)| *code == 1317)
        })?;
        match number(&mut conn, "SELECT COUNT(*) FROM w.t")? == rows {
            true => Ok(()),
            false => Err("a statement that was killed has done something".to_owned()),
        }
    }

    /// All that was acknowledged is there, and was given a name; nothing else is but what the server may not have answered.
    fn verify(&self) -> Outcome<()> {
        let mut conn = connect(&self.setup)?;
        let there = self.noted.there.lock();
        let found: Vec<u64> = must(&mut conn, "SELECT id FROM w.t ORDER BY id")?
            .iter()
            .filter_map(|r| match r.first() {
                Some(Value::Bytes(b)) => String::from_utf8_lossy(b).parse().ok(),
                _ => None,
            })
            .collect();
        let lost = there.iter().find(|id| found.binary_search(id).is_err());
        if let Some(id) = lost {
            return Err(format!("row {id} was acknowledged, and is not there"));
        }
        let named = must(&mut conn, "SELECT @@gtid_executed")?;
        let Some(Value::Bytes(set)) = named.first().and_then(|r| r.first()) else {
            return Err(format!("@@gtid_executed is {named:?}"));
        };
        let set = String::from_utf8_lossy(set).into_owned();
        let last = set
            .rsplit(['-', ':'])
            .next()
            .and_then(|n| n.parse::<u64>().ok());
        // Each row is a transaction, and so were the two definitions.
        match last.is_some_and(|last| last == found.len() as u64 + 2) {
            true => Ok(()),
            false => Err(format!("{} rows are there, and {set}", found.len())),
        }
    }

    /// SIGTERM while nothing fits, and a start with room.
    fn ended_while_full(&self, server: Server) -> Outcome<Server> {
        let writers = self.fill(&server)?;
        let mut server = server;
        let begun = Instant::now();
        server.signal("TERM")?;
        server.ended(END)?;
        println!(
            "      SIGTERM on the full disk: ended in {:.1} s",
            begun.elapsed().as_secs_f64()
        );
        drop(server);
        writers.stop()?;
        self.disk.relieve(12 << 20)?;
        let server = self.setup.start()?;
        self.verify().map_err(|why| server.with_log(&why))?;
        Ok(server)
    }

    /// kill -9 likewise. The start may say that it needs room.
    fn killed_while_full(&self, server: Server) -> Outcome<Server> {
        let writers = self.fill(&server)?;
        server.kill9()?;
        writers.stop()?;
        let mut server = self.setup.spawn()?;
        let server = match server.wait_ready(Duration::from_secs(30)) {
            Ok(_) => server,
            Err(why) => {
                drop(server);
                let said = why.lines().find(|l| l.contains("No space left"));
                println!(
                    "      the start on the full disk: {}",
                    said.ok_or_else(|| format!("the start on the full disk: {why}"))?
                );
                self.disk.relieve(12 << 20)?;
                self.setup.start()?
            }
        };
        self.disk.relieve(12 << 20)?;
        // Until there is room it shows what the files have.
        wait("what was committed is in the binary log", SOON, || {
            self.verify().is_ok()
        })
        .and_then(|_| self.verify())
        .map_err(|why| server.with_log(&why))?;
        Ok(server)
    }

    /// The folder is deleted: that is said, and nothing is acknowledged that would be nowhere.
    fn without_folder(&self, server: Server) -> Outcome<()> {
        std::fs::remove_dir_all(self.disk.path().join("logs")).map_err(|e| e.to_string())?;
        let mut conn = connect(&self.setup)?;
        let begun = Instant::now();
        let refused = loop {
            let id = 1_000_000_000 + begun.elapsed().as_micros();
            match query(&mut conn, &format!("INSERT INTO w.t VALUES ({id}, '')")) {
                Err(ClientError::Server(e)) => break e,
                Err(e) => return Err(e.to_string()),
                Ok(_) if begun.elapsed() > SOON => {
                    return Err(server.with_log("a folder that is gone is not missed"));
                }
                Ok(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let told = said(&self.setup, "the binary log cannot go on");
        if refused.code != 1598 || told != 1 {
            return Err(server.with_log(&format!("refused with {}", refused.code)));
        }
        println!(
            "      its folder is deleted: {} after {} ms",
            refused.message,
            begun.elapsed().as_millis()
        );
        must(&mut conn, "SELECT COUNT(*) FROM w.t")?;
        let mut server = server;
        server.signal("TERM")?;
        server.ended(END)
    }
}
