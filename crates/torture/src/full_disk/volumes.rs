//! One volume of a server is full and the others are not: that of the tables, of the engine's log, of temporary files. What needs room there fails
//! with MySQL's error, the error log says so at once, all else goes on, and so does that when there is room.

use super::filesystem::FileSystem;
use super::statements::{FULL, connect, must, number, query};
use super::writers::{Noted, Writers};
use harness::server::{Kind, Server, Setup};
use harness::step::Outcome;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::client::ClientError;

/// How soon what there is room for succeeds.
const SOON: Duration = Duration::from_secs(15);
/// How soon the server ends.
const END: Duration = Duration::from_secs(10);

/// Which one is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volume {
    /// That of the tables.
    Tables,
    /// That of the engine's log.
    Log,
    /// That of temporary files.
    Temporary,
}

impl Volume {
    /// Each of them.
    pub const ALL: [Volume; 3] = [Volume::Tables, Volume::Log, Volume::Temporary];

    /// For the screen.
    pub fn words(self) -> &'static str {
        match self {
            Volume::Tables => "the volume of the tables alone",
            Volume::Log => "the volume of the engine's log alone",
            Volume::Temporary => "the volume of temporary files alone",
        }
    }
}

/// A round.
pub struct Round<'a> {
    disk: &'a FileSystem,
    setup: Setup,
    volume: Volume,
    noted: Arc<Noted>,
}

impl<'a> Round<'a> {
    /// A new server with one of its volumes on the file system.
    pub fn new(disk: &'a FileSystem, scratch: &Path, volume: Volume) -> Outcome<Round<'a>> {
        let setup = Setup::new(Kind::Tidemill, scratch)?
            .option("innodb-buffer-pool-size=16M")
            .redo_capacity(match volume {
                Volume::Log => "64M",
                _ => "16M",
            });
        let at = |name: &str| -> Outcome<()> {
            // Where the server looks for the folder there is a link to the volume.
            let dir = disk.path().join(name);
            let made = std::fs::create_dir_all(&dir)
                .and_then(|()| std::fs::create_dir_all(&setup.datadir))
                .and_then(|()| std::os::unix::fs::symlink(&dir, setup.datadir.join(name)));
            made.map_err(|e| format!("{}: {e}", dir.display()))
        };
        match volume {
            Volume::Tables => at("data")?,
            Volume::Log => at("log")?,
            Volume::Temporary => at("temp")?,
        }
        Ok(Round {
            disk,
            setup,
            volume,
            noted: Arc::default(),
        })
    }

    /// The whole round.
    pub fn run(&self) -> Outcome<()> {
        // So that there is something to be taken away.
        self.disk.fill(match self.volume {
            // It begins with files for half of what it may have.
            Volume::Log => 48 << 20,
            _ => 20 << 20,
        })?;
        let server = self.setup.start()?;
        let mut conn = connect(&self.setup)?;
        must(&mut conn, "CREATE DATABASE w")?;
        must(
            &mut conn,
            "CREATE TABLE w.t (id BIGINT PRIMARY KEY, pad LONGTEXT)",
        )?;
        must(
            &mut conn,
            "CREATE TABLE w.small (id INT PRIMARY KEY, n INT)",
        )?;
        must(&mut conn, "INSERT INTO w.small VALUES (1, 0)")?;
        drop(conn);
        let server = match self.volume {
            Volume::Temporary => self.sorts(server)?,
            Volume::Tables | Volume::Log => self.writes(server)?,
        };
        self.ends(server)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.setup.log).unwrap_or_default()
    }

    /// Clients write until they are refused, and for a while after that.
    fn writes(&self, server: Server) -> Outcome<Server> {
        let mut holder = connect(&self.setup)?;
        if self.volume == Volume::Log {
            // It is used again and again unless somebody needs it.
            must(&mut holder, "BEGIN")?;
            must(&mut holder, "UPDATE w.small SET n = n + 1")?;
        }
        let writers = Writers::start(&self.setup, self.noted.clone(), 4)?;
        let begun = Instant::now();
        let (code, text) = loop {
            if let Some(refused) = self.noted.take_refused() {
                break refused;
            }
            if begun.elapsed() > Duration::from_secs(60) {
                return Err(server.with_log("nobody is refused"));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        if !FULL.contains(&code) {
            return Err(format!("refused with {code}: {text}"));
        }
        if !self.log().contains("No space left on device") {
            return Err(server.with_log("a statement is refused, and the error log says nothing"));
        }
        std::thread::sleep(Duration::from_secs(1));
        self.reads(&mut holder)?;
        println!(
            "      full with {} rows: {code}, {text}",
            self.noted.count()
        );
        if self.volume == Volume::Log {
            must(&mut holder, "ROLLBACK")?;
        } else {
            self.disk.fill(0)?;
        }
        let count = self.noted.count();
        if self.volume == Volume::Tables {
            // A file that grows by steps may have had room left.
            std::thread::sleep(Duration::from_secs(1));
            self.disk.fill(0)?;
            self.disk.relieve(8 << 20)?;
        }
        let begun = Instant::now();
        while self.noted.count() < count + 10 {
            if begun.elapsed() > SOON {
                return Err(server.with_log("there is room, and the clients do not go on"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        println!(
            "      with room the clients go on {} ms later",
            begun.elapsed().as_millis()
        );
        writers.stop()?;
        self.reads(&mut holder)?;
        Ok(server)
    }

    fn reads(&self, conn: &mut wire::client::blocking::Conn) -> Outcome<()> {
        must(conn, "SELECT n FROM w.small")?;
        let there = self.noted.count();
        let found = number(conn, "SELECT COUNT(*) FROM w.t")?;
        match found >= there as u64 {
            true => Ok(()),
            false => Err(format!("{there} rows were acknowledged, {found} are there")),
        }
    }

    /// A query whose temporary files do not fit, beside others.
    fn sorts(&self, server: Server) -> Outcome<Server> {
        const LARGE: &str = "SELECT COUNT(*) FROM (SELECT DISTINCT a.n, b.n AS m, RPAD(a.n * 1000 + b.n, 2000, 'x') AS pad FROM w.many a, w.many b ORDER BY pad, m, n LIMIT 100000000) q";
        let mut conn = connect(&self.setup)?;
        must(&mut conn, "CREATE TABLE w.many (n INT PRIMARY KEY)")?;
        let values: Vec<String> = (0..700).map(|n| format!("({n})")).collect();
        must(
            &mut conn,
            &format!("INSERT INTO w.many VALUES {}", values.join(", ")),
        )?;
        self.disk.fill(4 << 20)?;
        let writers = Writers::start(&self.setup, self.noted.clone(), 2)?;
        let begun = Instant::now();
        match query(&mut conn, LARGE) {
            Err(ClientError::Server(e)) if FULL.contains(&e.code) => println!(
                "      refused after {} ms: {}, {}",
                begun.elapsed().as_millis(),
                e.code,
                e.message
            ),
            other => return Err(format!("the large query: {other:?}")),
        }
        if !self.log().contains("No space left on device") {
            return Err(server.with_log("a statement is refused, and the error log says nothing"));
        }
        let count = self.noted.count();
        std::thread::sleep(Duration::from_millis(500));
        if self.noted.count() == count || self.noted.take_refused().is_some() {
            return Err("others do not go on".to_owned());
        }
        writers.stop()?;
        self.reads(&mut conn)?;
        // What it had written is gone with it.
        let free = self.disk.free();
        if free < 3 << 20 {
            return Err(format!("{free} bytes are free after the statement"));
        }
        self.disk.relieve(1 << 30)?;
        let small = LARGE.replace(
            "FROM w.many a, w.many b",
            "FROM w.many a, (SELECT * FROM w.many LIMIT 100) b",
        );
        match number(&mut conn, &small)? {
            70_000 => Ok(server),
            n => Err(format!("with room: {n} rows")),
        }
    }

    /// SIGTERM on the full volume, and a start there or with room.
    fn ends(&self, server: Server) -> Outcome<()> {
        self.disk.fill(0)?;
        let mut server = server;
        let begun = Instant::now();
        server.signal("TERM")?;
        server.ended(END)?;
        println!(
            "      SIGTERM on the full volume: ended in {:.1} s",
            begun.elapsed().as_secs_f64()
        );
        drop(server);
        self.disk.relieve(16 << 20)?;
        let server = self.setup.start()?;
        let mut conn = connect(&self.setup)?;
        self.reads(&mut conn).map_err(|why| server.with_log(&why))?;
        drop(conn);
        server.terminate()?;
        self.setup.check_offline()
    }
}
