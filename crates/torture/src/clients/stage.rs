//! The two servers, and a program that is run against one of them.

use super::end::{End, brief};
use super::kit::{Kit, cache};
use harness::client::Conn;
use harness::scratch::Scratch;
use harness::server::{Kind, Server, Setup};
use harness::step::{self, Outcome};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The account of the programs, one that logs in as MySQL 5's clients do, and the password of both.
const USER: &str = "app";
const OLD_USER: &str = "old";
const PASSWORD: &str = "secret";

/// What a program may take at most.
const LIMIT: Duration = Duration::from_secs(300);

/// Both servers, with accounts.
#[derive(Debug)]
pub struct Stage {
    ours: Server,
    theirs: Option<Server>,
    scratch: Scratch,
}

impl Stage {
    /// Starts them.
    pub fn start() -> Outcome<Stage> {
        let scratch = Scratch::new("clients")?;
        // As a user starts it: with certificates, since drivers use TLS where it is offered.
        let ours = Setup::new(Kind::Tidemill, scratch.path())?.without("auto-generate-certs");
        // With a binary log, as MySQL 8.0 has it without being told.
        let ours = ours
            .option("log-bin=binlog")
            .option("server-id=1")
            .option("gtid-mode=ON")
            .option("enforce-gtid-consistency=ON");
        let ours = ours.start()?;
        let there = step::on_path("mariadbd") && step::on_path("mariadb-install-db");
        let theirs = match there {
            true => {
                let theirs = Setup::new(Kind::MariaDb, scratch.path())?;
                let theirs = theirs
                    .option("character-set-server=utf8mb4")
                    // The later option wins.
                    .option("log-bin=binlog")
                    .option("server-id=1")
                    .option("binlog-format=ROW");
                Some(theirs.start()?)
            }
            false => None,
        };
        let stage = Stage {
            ours,
            theirs,
            scratch,
        };
        for server in std::iter::once(&stage.ours).chain(&stage.theirs) {
            accounts(server)?;
        }
        Ok(stage)
    }

    /// Ours.
    pub fn ours(&self) -> &Server {
        &self.ours
    }

    /// MariaDB, where it is installed.
    pub fn theirs(&self) -> Option<&Server> {
        self.theirs.as_ref()
    }

    /// A folder for what a line writes.
    pub fn dir(&self) -> &Path {
        self.scratch.path()
    }

    /// Stops both, and keeps what was left if the result is an error.
    pub fn end(mut self, result: Outcome<()>) -> Outcome<()> {
        if result.is_err() {
            self.scratch.keep();
        }
        self.ours.terminate()?;
        self.theirs.map_or(Ok(()), Server::terminate)?;
        result
    }

    /// Runs a program against a server, in an empty database and an empty folder.
    pub fn program(&self, server: &Server, name: &str, kit: Kit, args: &[&str]) -> Outcome<End> {
        let setup = server.setup();
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        };
        let database: String = name.chars().map(plain).collect();
        let mut conn = server.connect()?;
        empty_database(&mut *conn, &database, "utf8mb4")?;
        let dir = self.dir().join(format!("{database}-{}", setup.kind.name()));
        std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let mut command = kit.command(args);
        command
            .current_dir(&dir)
            .env("CLIENTS_KIND", setup.kind.name())
            .env("CLIENTS_HOST", "127.0.0.1")
            .env("CLIENTS_PORT", setup.port.to_string())
            .env("CLIENTS_SOCKET", &setup.socket)
            .env("CLIENTS_USER", USER)
            .env("CLIENTS_OLD_USER", OLD_USER)
            .env("CLIENTS_PASSWORD", PASSWORD)
            .env("CLIENTS_DATABASE", &database)
            .env("CLIENTS_CACHE", cache());
        let (passed, said) = within(&mut command, &dir.join("output.log"))?;
        let _ = conn.run(&format!("DROP DATABASE IF EXISTS {database}"));
        Ok(match passed {
            true => End::Passed,
            // Every program says in its last line what went wrong.
            false => End::Failed(brief(
                said.trim_end().lines().last().unwrap_or("it said nothing"),
            )),
        })
    }
}

/// Makes a database anew.
pub fn empty_database(conn: &mut dyn Conn, name: &str, charset: &str) -> Outcome<()> {
    for sql in [
        format!("DROP DATABASE IF EXISTS `{name}`"),
        format!("CREATE DATABASE `{name}` CHARACTER SET {charset}"),
    ] {
        conn.run(&sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    Ok(())
}

fn accounts(server: &Server) -> Outcome<()> {
    let mut conn = server.connect()?;
    let native = match server.setup().kind {
        Kind::Tidemill => "WITH mysql_native_password BY",
        Kind::MariaDb => "BY",
    };
    for (user, by) in [(USER, "BY"), (OLD_USER, native)] {
        for host in ["localhost", "127.0.0.1"] {
            for sql in [
                format!("CREATE USER {user}@'{host}' IDENTIFIED {by} '{PASSWORD}'"),
                format!("GRANT ALL ON *.* TO {user}@'{host}' WITH GRANT OPTION"),
            ] {
                conn.run(&sql).map_err(|e| format!("{sql}: {e}"))?;
            }
        }
    }
    Ok(())
}

/// Runs a command with its output in a file: whether it was a success, and what it said.
fn within(command: &mut Command, log: &Path) -> Outcome<(bool, String)> {
    let Some(status) = step::logged_within(command, log, LIMIT)? else {
        return Ok((false, format!("not over after {} s", LIMIT.as_secs())));
    };
    let bytes = std::fs::read(log).map_err(|e| format!("{}: {e}", log.display()))?;
    Ok((
        status.success(),
        String::from_utf8_lossy(&bytes).into_owned(),
    ))
}
