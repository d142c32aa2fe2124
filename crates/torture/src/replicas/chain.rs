//! The servers: a source, a replica of it, and a replica of that one; how each is started, killed, and asked how far it is.

use super::files::Kept;
use super::judge::{text, value};
use super::load;
use crate::dumps::contents;
use harness::server::{Kind, Server, Setup};
use harness::step::Outcome;
use std::path::Path;
use std::time::{Duration, Instant};
use wire::client::blocking::Conn;

/// The account that replicas come with.
const ACCOUNT: &str = "repl";
const PASSWORD: &str = "secret";

/// Seconds for a replica to apply what it has not yet.
const CATCH_UP: u64 = 600;

/// A server of the chain.
pub struct Node {
    /// Its name in reports.
    pub name: &'static str,
    /// How it is started.
    pub setup: Setup,
    server: Option<Server>,
}

/// How a replica finds its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// SOURCE_AUTO_POSITION=1.
    Auto,
    /// By file and position.
    File,
}

impl Node {
    /// A server on a directory of its own below `dir`; `number` is its `server_id`.
    pub fn new(
        name: &'static str,
        kind: Kind,
        number: u32,
        dir: &Path,
        options: &[String],
    ) -> Outcome<Node> {
        let dir = dir.join(name);
        std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let mut setup = Setup::new(kind, &dir)?
            .binary_log(number)
            .option("innodb-buffer-pool-size=64M")
            .redo_capacity("96M")
            .option("innodb-lock-wait-timeout=2")
            .option("max-allowed-packet=64M")
            .option_of(Kind::MariaDb, "log-slave-updates")
            .option_of(Kind::MariaDb, "binlog-checksum=CRC32")
            .option_of(Kind::MariaDb, "character-set-server=utf8mb4")
            .option_of(Kind::MariaDb, "collation-server=utf8mb4_general_ci");
        for option in options {
            setup = setup.option(option);
        }
        Ok(Node {
            name,
            setup,
            server: None,
        })
    }

    /// Is it ours?
    pub fn is_ours(&self) -> bool {
        self.setup.kind == Kind::Tidemill
    }

    /// Starts it.
    pub fn start(&mut self) -> Outcome<Duration> {
        let mut server = self.setup.spawn()?;
        let took = server.wait_ready(Duration::from_secs(120));
        let took = took.map_err(|e| format!("{}: {e}", self.name))?;
        self.server = Some(server);
        Ok(took)
    }

    /// kill -9.
    pub fn kill(&mut self) -> Outcome<()> {
        self.server.take().map_or(Ok(()), Server::kill9)
    }

    /// SIGTERM, and a clean end.
    pub fn stop(&mut self) -> Outcome<()> {
        let done = self.server.take().map_or(Ok(()), Server::terminate);
        done.map_err(|e| format!("{}: {e}", self.name))
    }

    /// An error where it has ended by itself.
    pub fn must_run(&mut self) -> Outcome<()> {
        self.server.as_mut().map_or(Ok(()), Server::must_run)
    }

    /// A connection.
    pub fn connect(&self) -> Outcome<Conn> {
        load::connect(&self.setup).map_err(|e| format!("{}: {e}", self.name))
    }

    /// Runs statements whose results are not looked at.
    pub fn run(&self, statements: &[&str]) -> Outcome<()> {
        let mut conn = self.connect()?;
        for sql in statements {
            contents::run(&mut conn, sql).map_err(|e| format!("{}: {e}", self.name))?;
        }
        Ok(())
    }

    /// Makes the account that replicas come with, without telling them.
    pub fn make_account(&self) -> Outcome<()> {
        // MariaDB's replicas know nothing of the usual plugin, and cannot come without a password where that is the usual one.
        let with = match self.is_ours() {
            true => "WITH mysql_native_password BY",
            false => "BY",
        };
        let user = format!("CREATE USER {ACCOUNT}@'%' IDENTIFIED {with} '{PASSWORD}'");
        let grant = format!("GRANT REPLICATION SLAVE ON *.* TO {ACCOUNT}@'%'");
        self.run(&["SET sql_log_bin = 0", &user, &grant])
    }

    /// Makes it a replica of `source` from its start, over this channel, and starts it.
    pub fn follow(&self, source: &Node, way: Way, channel: Option<&str>) -> Outcome<()> {
        let port = source.setup.port;
        let over = channel.map_or(String::new(), |c| format!(" FOR CHANNEL '{c}'"));
        let change = if self.is_ours() {
            let place = match way {
                Way::Auto => "SOURCE_AUTO_POSITION=1".to_owned(),
                Way::File => {
                    let (file, position) = source.written()?;
                    format!("SOURCE_LOG_FILE='{file}', SOURCE_LOG_POS={position}")
                }
            };
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='{ACCOUNT}', SOURCE_PASSWORD='{PASSWORD}', \
                 SOURCE_CONNECT_RETRY=1, {place}{over}"
            )
        } else {
            let (file, position) = source.written()?;
            format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='{ACCOUNT}', MASTER_PASSWORD='{PASSWORD}', \
                 MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=no, MASTER_LOG_FILE='{file}', MASTER_LOG_POS={position}"
            )
        };
        let start = match self.is_ours() {
            true => "START REPLICA",
            false => "START SLAVE",
        };
        self.run(&[&change, start])
    }

    /// The end of its binary log.
    pub fn written(&self) -> Outcome<(String, u64)> {
        let result = contents::run(&mut self.connect()?, "SHOW MASTER STATUS")?;
        let row = result
            .rows
            .first()
            .ok_or_else(|| format!("{} has no binary log", self.name))?;
        let position = row.get(1).map(text).and_then(|p| p.parse().ok());
        Ok((
            row.first().map(text).unwrap_or_default(),
            position.unwrap_or(0),
        ))
    }

    /// All its transactions.
    pub fn executed(&self) -> Outcome<String> {
        value(
            &mut self.connect()?,
            "SELECT REPLACE(@@GLOBAL.gtid_executed, '\\n', '')",
        )
    }

    /// An error where it has transactions that `source` has not.
    pub fn has_no_more_than(&self, source: &Node) -> Outcome<()> {
        // In this order: what the source does meanwhile may only be more.
        let own = self.executed()?;
        let others = source.executed()?;
        let sql = format!("SELECT GTID_SUBTRACT('{own}', '{others}')");
        let errant = value(&mut source.connect()?, &sql)?;
        match errant.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "{} has {errant}, which {} has not",
                self.name, source.name
            )),
        }
    }

    /// The files of its binary log.
    pub fn files(&self) -> Outcome<Kept> {
        Kept::read(&self.setup.datadir)
    }

    /// Waits until all is applied that its source has now.
    pub fn reach_end_of(&self, source: &Node) -> Outcome<Duration> {
        let begun = Instant::now();
        let (file, position) = source.written()?;
        let wanted = source.is_ours().then(|| source.executed()).transpose()?;
        loop {
            // Its server may be starting at the moment.
            let mut conn = self.connect()?;
            let at = self.state_of(source, &mut conn)?;
            let there = match &wanted {
                Some(set) if self.is_ours() => {
                    let sql = format!("SELECT GTID_SUBSET('{set}', @@GLOBAL.gtid_executed)");
                    value(&mut conn, &sql)? == "1"
                }
                _ => (at.file.as_str(), at.position) >= (file.as_str(), position),
            };
            if there {
                return Ok(begun.elapsed());
            }
            if begun.elapsed() > Duration::from_secs(CATCH_UP) {
                return Err(format!(
                    "{} is at {} {} and not at {file} {position} after {CATCH_UP} s: {}",
                    self.name, at.file, at.position, at.says
                ));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Where it is as a replica, by the ports of its sources; an error where it has stopped.
    fn states(&self, conn: &mut Conn) -> Outcome<Vec<State>> {
        let sql = match self.is_ours() {
            true => "SHOW REPLICA STATUS",
            false => "SHOW SLAVE STATUS",
        };
        let result = contents::run(conn, sql)?;
        let column = |names: &[&str]| {
            let mut columns = result.columns.iter();
            columns.position(|c| names.contains(&&*c.name))
        };
        result
            .rows
            .iter()
            .map(|row| {
                let cell = |names: &[&str]| {
                    let at = column(names);
                    at.and_then(|at| row.get(at)).map(text).unwrap_or_default()
                };
                let error = |part: &str| {
                    let (number, says) =
                        (format!("Last_{part}_Errno"), format!("Last_{part}_Error"));
                    format!("{} {}", cell(&[&number]), cell(&[&says]))
                };
                let runs = cell(&["Replica_SQL_Running", "Slave_SQL_Running"]) == "Yes";
                let receives = cell(&["Replica_IO_Running", "Slave_IO_Running"]) != "No";
                if !runs || !receives {
                    return Err(format!(
                        "{} has stopped: applier {}; receiver {}; channel '{}'",
                        self.name,
                        error("SQL"),
                        error("IO"),
                        cell(&["Channel_Name"])
                    ));
                }
                let number = |names: &[&str]| cell(names).parse().unwrap_or(0);
                Ok(State {
                    port: number(&["Source_Port", "Master_Port"]),
                    file: cell(&["Relay_Source_Log_File", "Relay_Master_Log_File"]),
                    position: number(&["Exec_Source_Log_Pos", "Exec_Master_Log_Pos"]),
                    says: format!("{}; {}", error("SQL"), error("IO")),
                })
            })
            .collect()
    }

    /// Where it is as a replica of that one.
    fn state_of(&self, source: &Node, conn: &mut Conn) -> Outcome<State> {
        let mut all = self.states(conn)?;
        let is_it = |s: &State| s.port == u64::from(source.setup.port);
        let at = all.iter().position(is_it);
        let at = at.ok_or_else(|| format!("{} is no replica of {}", self.name, source.name))?;
        Ok(all.swap_remove(at))
    }

    /// The file of that source's binary log that it needs, and those behind it.
    pub fn needs_of(&self, source: &Node) -> Outcome<String> {
        Ok(self.state_of(source, &mut self.connect()?)?.file)
    }

    /// The end of what it has said.
    pub fn with_log(&self, what: &str) -> String {
        let log = harness::step::tail_of_file(&self.setup.log, 12);
        format!("{what}\n--- end of {} ---\n{log}", self.setup.log.display())
    }
}

/// Where a replica is.
struct State {
    /// Of its source.
    port: u64,
    file: String,
    position: u64,
    /// Its last errors.
    says: String,
}
