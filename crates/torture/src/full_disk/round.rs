//! One round: load until nothing more fits, look at what still works, kill, start on the full disk, make room, go on.

use super::filesystem::FileSystem;
use super::statements::{FULL, connect, fits, must, number, optimized, query};
use harness::process;
use harness::rng::Rng;
use harness::server::{Kind, Server, Setup};
use harness::step::Outcome;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::client::blocking::Conn;
use wire::client::{ClientError, Value};

/// How soon statements must succeed after there is room again.
const SOON: Duration = Duration::from_secs(15);

/// What runs out first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrow {
    /// The log stays small and is used again and again: the table's file cannot grow.
    Table,
    /// The log may grow beyond the disk, and an open transaction keeps it from being used again: new segments do not fit.
    Log,
    /// As `Log`, and what fills the log is that transaction.
    LogOfOne,
}

impl Narrow {
    /// Each in turn.
    pub fn of_round(round: u32) -> Narrow {
        [Narrow::Table, Narrow::Log, Narrow::LogOfOne][round as usize % 3]
    }

    /// For the screen.
    pub fn words(self) -> &'static str {
        match self {
            Narrow::Table => "a small log, so that tables run out of room",
            Narrow::Log => {
                "a large log that an open transaction holds, so that the log runs out of room"
            }
            Narrow::LogOfOne => "a large log, filled by a single transaction",
        }
    }
}

/// A round.
pub struct Round<'a> {
    disk: &'a FileSystem,
    setup: Setup,
    narrow: Narrow,
    rng: Rng,
    /// Numbers of the rows in `filler` that were acknowledged.
    there: BTreeSet<u64>,
    next: u64,
    /// The acknowledged value of the rows in `counters`.
    counters: [u64; 8],
    /// A session whose open transaction holds the log.
    holder: Option<Conn>,
}

/// The tablespace files below a folder, by their path in it.
fn tablespaces(dir: &Path) -> Outcome<BTreeSet<PathBuf>> {
    let mut all = BTreeSet::new();
    for entry in std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            all.extend(tablespaces(&path)?);
        } else {
            all.insert(path);
        }
    }
    Ok(all)
}

impl<'a> Round<'a> {
    /// A new server on the file system.
    pub fn new(
        disk: &'a FileSystem,
        scratch: &Path,
        narrow: Narrow,
        seed: u64,
    ) -> Outcome<Round<'a>> {
        let mut setup = Setup::new(Kind::Tidemill, scratch)?
            .option("innodb-flush-log-at-trx-commit=1")
            .option("innodb-buffer-pool-size=16M")
            .option("innodb-lock-wait-timeout=5")
            .redo_capacity(if narrow == Narrow::Table {
                "32M"
            } else {
                "128M"
            });
        setup.datadir = disk.path().join("data");
        Ok(Round {
            disk,
            setup,
            narrow,
            rng: Rng::new(seed),
            there: BTreeSet::new(),
            next: 1,
            counters: [0; 8],
            holder: None,
        })
    }

    /// The whole round.
    pub fn run(&mut self) -> Outcome<()> {
        self.disk.fill(60 << 20)?;
        let server = self.setup.start()?;
        self.create(&server)?;
        let server = self.on_full_disk(server)?;
        let server = self.killed_while_full(server)?;
        self.room_from_outside(&server)?;
        self.fill_up(&server)?;
        self.room_by_statements(&server)?;
        self.verify(&server)?;
        self.stop(server)?;
        println!(
            "      {} rows acknowledged, all there; the files are sound",
            self.there.len()
        );
        Ok(())
    }

    fn create(&mut self, server: &Server) -> Outcome<()> {
        let mut conn = connect(server.setup())?;
        for sql in [
            "CREATE DATABASE full",
            "CREATE TABLE full.filler (id BIGINT PRIMARY KEY, k INT, pad LONGTEXT, KEY (k))",
            "CREATE TABLE full.counters (id INT PRIMARY KEY, n BIGINT, pad VARCHAR(200))",
            "CREATE TABLE full.spare (id INT PRIMARY KEY, pad LONGTEXT)",
            "CREATE TABLE full.emptied (id INT PRIMARY KEY, s TEXT, KEY (s(20)))",
            "INSERT INTO full.emptied VALUES (1, 'a'), (2, 'b')",
            "CREATE TABLE full.held (id INT PRIMARY KEY, n INT)",
            "INSERT INTO full.held VALUES (1, 0)",
        ] {
            must(&mut conn, sql)?;
        }
        for id in 0..self.counters.len() {
            let sql = format!("INSERT INTO full.counters VALUES ({id}, 0, REPEAT('c', 200))");
            must(&mut conn, &sql)?;
        }
        for id in 0..40 {
            let sql = format!("INSERT INTO full.spare VALUES ({id}, REPEAT('s', 100000))");
            must(&mut conn, &sql)?;
        }
        Ok(())
    }

    fn insert(&mut self, rows: u64) -> (String, Vec<u64>) {
        let ids: Vec<u64> = (self.next..self.next + rows).collect();
        self.next += rows;
        let values: Vec<String> = ids
            .iter()
            .map(|id| {
                let len = match self.rng.below(8) {
                    0 => 20_000 + self.rng.below(60_000),
                    _ => 500 + self.rng.below(3000),
                };
                format!("({id}, {}, REPEAT('{}', {len}))", id % 97, id % 10)
            })
            .collect();
        let sql = format!("INSERT INTO full.filler VALUES {}", values.join(", "));
        (sql, ids)
    }

    /// Inserts until it fails; the error's number and text.
    fn fill_up(&mut self, server: &Server) -> Outcome<u16> {
        let mut conn = connect(server.setup())?;
        let begun = Instant::now();
        if self.narrow == Narrow::LogOfOne {
            return self.fill_in_one(&mut conn);
        }
        if self.narrow == Narrow::Log && self.holder.is_none() {
            let mut holder = connect(server.setup())?;
            must(&mut holder, "BEGIN")?;
            let held = fits(&mut holder, "UPDATE full.held SET n = n + 1")?;
            self.holder = held.is_ok().then_some(holder);
        }
        loop {
            let (sql, ids) = match (self.narrow, self.there.first()) {
                (Narrow::Log, Some(first)) if self.there.len() > 200 => {
                    let id = first + self.rng.below(self.next - first);
                    let len = 2000 + self.rng.below(1500);
                    let sql = format!(
                        "UPDATE full.filler SET pad = REPEAT(id % 10, {len}) WHERE id BETWEEN {id} AND {}",
                        id + 60
                    );
                    (sql, Vec::new())
                }
                _ => self.insert(4),
            };
            match query(&mut conn, &sql) {
                Ok(_) => self.there.extend(ids),
                Err(ClientError::Server(e)) if FULL.contains(&e.code) => {
                    println!(
                        "      full after {:.0} s with {} rows and {} KiB free: ERROR {}: {}",
                        begun.elapsed().as_secs_f64(),
                        self.there.len(),
                        self.disk.free() >> 10,
                        e.code,
                        e.message
                    );
                    return Ok(e.code);
                }
                Err(e) => return Err(format!("filling: {e}")),
            }
            if begun.elapsed() > Duration::from_secs(120) {
                return Err("the disk is not full after 120 s".to_owned());
            }
        }
    }

    /// One transaction that does not fit, and its rollback.
    fn fill_in_one(&mut self, conn: &mut Conn) -> Outcome<u16> {
        must(conn, "BEGIN")?;
        let code = loop {
            let (sql, _) = self.insert(8);
            if let Err(code) = fits(conn, &sql)? {
                break code;
            }
        };
        let free = self.disk.free() >> 10;
        let begun = Instant::now();
        must(conn, "ROLLBACK")?;
        println!(
            "      a transaction failed with ERROR {code} and {free} KiB free; rolled back in {:.1} s",
            begun.elapsed().as_secs_f64()
        );
        Ok(code)
    }

    /// Everything that must go on working, and everything that must fail well.
    fn on_full_disk(&mut self, server: Server) -> Outcome<Server> {
        let done = AtomicBool::new(false);
        let setup = self.setup.clone();
        let pid = server.pid();
        let longest = std::thread::scope(|scope| {
            let bystander = scope.spawn(|| {
                let mut conn = connect(&setup)?;
                let mut longest = Duration::ZERO;
                while !done.load(Ordering::Relaxed) {
                    let asked = Instant::now();
                    must(&mut conn, "SELECT LENGTH(pad) FROM full.spare WHERE id = 7")?;
                    longest = longest.max(asked.elapsed());
                    std::thread::sleep(Duration::from_millis(10));
                }
                Ok::<Duration, String>(longest)
            });
            let result = self.while_full(&server);
            done.store(true, Ordering::Relaxed);
            let waited = bystander
                .join()
                .unwrap_or_else(|_| Err("the bystander panicked".to_owned()));
            result.and(waited)
        });
        let longest = longest.map_err(|why| server.with_log(&why))?;
        // Nobody asks for anything: nobody may be at work either, such as by trying again and again.
        std::thread::sleep(Duration::from_secs(1));
        let before = process::cpu_time(pid)?;
        std::thread::sleep(Duration::from_secs(2));
        let spent = process::cpu_time(pid)?.saturating_sub(before);
        println!(
            "      a reader waited {} ms at most; idle on the full disk, the server uses {} ms of CPU in 2 s",
            longest.as_millis(),
            spent.as_millis()
        );
        if spent > Duration::from_millis(500) {
            return Err(format!(
                "{} ms of CPU time in 2 s for nothing",
                spent.as_millis()
            ));
        }
        Ok(server)
    }

    fn while_full(&mut self, server: &Server) -> Outcome<()> {
        let code = self.fill_up(server)?;
        // Not a block is left for anybody.
        self.disk.fill(0)?;
        let mut conn = connect(server.setup())?;
        for _ in 0..20 {
            // What still fitted into room that is there already.
            let (sql, ids) = self.insert(1);
            if fits(&mut conn, &sql)?.is_ok() {
                self.there.extend(ids);
            }
        }
        self.reads(&mut conn)?;
        self.updates(server, code)?;
        self.rollbacks(&mut conn)?;
        self.definitions(&mut conn)?;
        self.reads(&mut conn)
    }

    fn reads(&self, conn: &mut Conn) -> Outcome<()> {
        let count = number(conn, "SELECT COUNT(*) FROM full.filler")?;
        let by_index = number(
            conn,
            "SELECT COUNT(*) FROM full.filler FORCE INDEX (k) WHERE k >= 0",
        )?;
        if count != self.there.len() as u64 || by_index != count {
            return Err(format!(
                "{} rows were acknowledged, {count} are there, {by_index} by the index",
                self.there.len()
            ));
        }
        Ok(())
    }

    /// Other sessions change rows where they are: that needs no room but in the log.
    fn updates(&mut self, server: &Server, code: u16) -> Outcome<()> {
        let mut conns = Vec::new();
        for _ in 0..4 {
            conns.push(connect(server.setup())?);
        }
        let (mut done, mut refused) = (0, 0);
        for n in 0..40 {
            let conn = &mut conns[n % 4];
            let id = n % self.counters.len();
            let sql = format!("UPDATE full.counters SET n = n + 1 WHERE id = {id}");
            match fits(conn, &sql)? {
                Ok(()) => {
                    self.counters[id] += 1;
                    done += 1;
                }
                Err(_) => refused += 1,
            }
        }
        println!("      other sessions: {done} updates done, {refused} refused");
        if code == 1114 && self.narrow == Narrow::Table && done == 0 {
            return Err("the table is full, but no row can be changed where it is".to_owned());
        }
        Ok(())
    }

    /// Transactions that are rolled back, some after one of their statements failed.
    fn rollbacks(&mut self, conn: &mut Conn) -> Outcome<()> {
        let mut failed = 0;
        for n in 0..6 {
            must(conn, "BEGIN")?;
            let change = format!("UPDATE full.counters SET n = n + 1000 WHERE id = {n}");
            failed += u32::from(fits(conn, &change)?.is_err());
            for _ in 0..30 {
                let (sql, _) = self.insert(4);
                if fits(conn, &sql)?.is_err() {
                    failed += 1;
                    break;
                }
            }
            must(conn, "ROLLBACK")?;
        }
        println!("      6 transactions rolled back, {failed} of their statements had failed");
        self.counted(conn)
    }

    fn counted(&self, conn: &mut Conn) -> Outcome<()> {
        for (id, n) in self.counters.iter().enumerate() {
            let found = number(
                conn,
                &format!("SELECT n FROM full.counters WHERE id = {id}"),
            )?;
            if found != *n {
                return Err(format!("counter {id} is {found}, and {n} was acknowledged"));
            }
        }
        Ok(())
    }

    /// A definition that does not fit leaves nothing behind, and its name is free.
    fn definitions(&mut self, conn: &mut Conn) -> Outcome<()> {
        let mut codes = Vec::new();
        let before = tablespaces(&self.setup.datadir.join("data"))?;
        for n in 0..12 {
            let made = fits(
                conn,
                &format!("CREATE TABLE full.new{n} (id INT PRIMARY KEY, s TEXT)"),
            )?;
            if let Err(code) = made {
                codes.push(format!("CREATE TABLE {code}"));
                break;
            }
        }
        let made: Vec<u32> = (0..12)
            .filter(|n| query(conn, &format!("SELECT * FROM full.new{n}")).is_ok())
            .collect();
        if let Err(code) = fits(conn, "CREATE INDEX by_pad ON full.filler (pad(700))")? {
            codes.push(format!("CREATE INDEX {code}"));
        }
        for n in made {
            must(conn, &format!("DROP TABLE full.new{n}"))?;
        }
        if let Err(code) = fits(conn, "CREATE DATABASE more")? {
            codes.push(format!("CREATE DATABASE {code}"));
        } else {
            must(conn, "DROP DATABASE more")?;
        }
        // Again and again: the room for it is there again after each.
        for time in 1..=4 {
            let emptied = fits(conn, "TRUNCATE TABLE full.emptied")?;
            if self.narrow == Narrow::Table {
                emptied.map_err(|code| format!("TRUNCATE TABLE {code}, time {time}"))?;
            }
            if let Err(code) = emptied {
                codes.push(format!("TRUNCATE TABLE {code}"));
            }
        }
        codes.push(optimized(conn, "full.filler")?);
        let after = tablespaces(&self.setup.datadir.join("data"))?;
        let left: Vec<&PathBuf> = after.difference(&before).collect();
        if !left.is_empty() {
            return Err(format!("definitions that failed left {left:?}"));
        }
        println!("      definitions: {}", codes.join(", "));
        Ok(())
    }

    /// kill -9 on the full disk, with a transaction under way, and a start there.
    fn killed_while_full(&mut self, server: Server) -> Outcome<Server> {
        let mut conn = connect(server.setup())?;
        must(&mut conn, "BEGIN")?;
        let change = "UPDATE full.counters SET n = n + 5000";
        let _ = fits(&mut conn, change)?;
        self.disk.fill(0)?;
        server.kill9()?;
        drop(conn);
        self.holder = None;
        let server = self.start_on_full_disk()?;
        let mut conn = connect(server.setup())?;
        self.reads(&mut conn)
            .and_then(|()| self.counted(&mut conn))
            .map_err(|why| server.with_log(&format!("after the kill: {why}")))?;
        Ok(server)
    }

    /// The start succeeds, or says what it lacks; then it is given that.
    fn start_on_full_disk(&self) -> Outcome<Server> {
        let mut server = self.setup.spawn()?;
        let begun = Instant::now();
        let Err(why) = server.wait_ready(Duration::from_secs(60)) else {
            println!(
                "      killed and started again on the full disk, in {:.1} s",
                begun.elapsed().as_secs_f64()
            );
            return Ok(server);
        };
        // Its socket goes with it.
        drop(server);
        let Some(said) = why.lines().find(|line| line.contains("No space left")) else {
            return Err(format!("the start on the full disk: {why}"));
        };
        println!("      killed; the start on the full disk: {said}");
        self.disk.relieve(12 << 20)?;
        self.setup.start()
    }

    /// Somebody removes other files: statements succeed again, without a restart.
    fn room_from_outside(&mut self, server: &Server) -> Outcome<()> {
        self.disk.relieve(24 << 20)?;
        let mut conn = connect(server.setup())?;
        let took = self.soon(&mut conn)?;
        println!(
            "      room made from outside: inserts succeed {} ms later",
            took.as_millis()
        );
        Ok(())
    }

    /// Ends the transaction that holds the log: its rollback has room, and then all have.
    fn let_go(&mut self) -> Outcome<()> {
        let Some(mut holder) = self.holder.take() else {
            return Ok(());
        };
        must(&mut holder, "ROLLBACK")?;
        let begun = Instant::now();
        while let Err(code) = fits(&mut holder, "UPDATE full.held SET n = n + 1")? {
            if begun.elapsed() > SOON {
                return Err(format!("still ERROR {code}, and nothing holds the log"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        println!(
            "      what held the log was rolled back: updates succeed {} ms later",
            begun.elapsed().as_millis()
        );
        Ok(())
    }

    fn soon(&mut self, conn: &mut Conn) -> Outcome<Duration> {
        let begun = Instant::now();
        let mut in_a_row = 0;
        while in_a_row < 10 {
            let (sql, ids) = self.insert(1);
            match fits(conn, &sql)? {
                Ok(()) => {
                    self.there.extend(ids);
                    in_a_row += 1;
                }
                Err(code) => {
                    in_a_row = 0;
                    if begun.elapsed() > SOON {
                        return Err(format!(
                            "still ERROR {code} after {} s with {} KiB free",
                            SOON.as_secs(),
                            self.disk.free() >> 10
                        ));
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
        Ok(begun.elapsed())
    }

    /// Rows are deleted and a table is dropped: likewise.
    fn room_by_statements(&mut self, server: &Server) -> Outcome<()> {
        let mut conn = connect(server.setup())?;
        self.disk.fill(0)?;
        self.let_go()?;
        must(&mut conn, "DROP TABLE full.spare")?;
        let took = self.soon(&mut conn)?;
        println!(
            "      a table was dropped: inserts succeed {} ms later",
            took.as_millis()
        );
        self.fill_up(server)?;
        self.disk.fill(0)?;
        self.let_go()?;
        let mut deleted = 0;
        let ids: Vec<u64> = self.there.iter().copied().collect();
        for some in ids[..ids.len() * 2 / 3].chunks(8) {
            let list: Vec<String> = some.iter().map(u64::to_string).collect();
            let sql = format!("DELETE FROM full.filler WHERE id IN ({})", list.join(", "));
            match fits(&mut conn, &sql)? {
                Ok(()) => {
                    self.there.retain(|id| !some.contains(id));
                    deleted += some.len();
                }
                Err(_) => break,
            }
        }
        if deleted == 0 {
            return Err("no row can be deleted".to_owned());
        }
        let took = self.soon(&mut conn)?;
        println!(
            "      {deleted} rows were deleted: inserts succeed {} ms later",
            took.as_millis()
        );
        Ok(())
    }

    fn verify(&self, server: &Server) -> Outcome<()> {
        let mut conn = connect(server.setup())?;
        self.reads(&mut conn)?;
        self.counted(&mut conn)?;
        for row in must(&mut conn, "SELECT id, pad FROM full.filler")? {
            let [Value::Bytes(id), Value::Bytes(pad)] = row.as_slice() else {
                return Err(format!("a row of filler is {row:.60?}"));
            };
            let id: u64 = String::from_utf8_lossy(id).parse().unwrap_or(0);
            let letter = b'0' + (id % 10) as u8;
            if !self.there.contains(&id) || pad.iter().any(|b| *b != letter) {
                return Err(format!("row {id} of filler is not what was inserted"));
            }
        }
        Ok(())
    }

    /// SIGTERM on the disk filled once more, the offline check there, and a last look.
    fn stop(&mut self, server: Server) -> Outcome<()> {
        self.fill_up(&server)?;
        self.disk.fill(0)?;
        let begun = Instant::now();
        server.terminate()?;
        println!(
            "      stopped on the full disk in {:.1} s",
            begun.elapsed().as_secs_f64()
        );
        self.setup.check_offline()?;
        let server = self.setup.start()?;
        self.verify(&server)?;
        server.terminate()
    }
}
