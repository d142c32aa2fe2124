//! PostgreSQL, from the files of Debian's package, on a cluster of its own that no init system knows.
//!
//! It refuses to run as root; where we are root, it runs as the user `postgres` that the package has made. It reads through the
//! kernel's cache, which is held to the memory that the others have for their pages ([`confined`]).

use super::confined::{self, Confined};
use super::guard::Guard;
use super::peer::{Order, Peer};
use harness::process;
use harness::server::{free_port, runs_as_root, short_path};
use harness::step::{self, Outcome};
use harness::sysbench::Reach;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a start or an end may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// The owner of its files and processes, where that cannot be ourselves.
#[derive(Debug, Clone, Copy)]
struct Owner {
    user: u32,
    group: u32,
}

/// A running PostgreSQL.
pub struct Postgres {
    child: Child,
    guard: Option<Guard>,
    confined: Option<Confined>,
    sockets: PathBuf,
    port: u16,
    log: PathBuf,
    settings: Vec<String>,
}

/// The directory of the server's programs.
pub fn programs() -> Outcome<PathBuf> {
    let dir = Path::new("/usr/lib/postgresql/15/bin");
    if dir.join("postgres").is_file() {
        Ok(dir.to_path_buf())
    } else {
        Err("PostgreSQL 15 is not installed (apt-get install postgresql-15)".to_owned())
    }
}

fn owner() -> Outcome<Option<Owner>> {
    if !runs_as_root() {
        return Ok(None);
    }
    let text = std::fs::read_to_string("/etc/passwd").map_err(|e| format!("/etc/passwd: {e}"))?;
    // name:password:user:group:...
    let mut fields = text
        .lines()
        .find_map(|line| line.strip_prefix("postgres:"))
        .ok_or("there is no user postgres, as whom PostgreSQL could run")?
        .split(':')
        .skip(1);
    let mut number = || fields.next()?.parse().ok();
    let owner = number().zip(number());
    let (user, group) = owner.ok_or("/etc/passwd: what is said of postgres is not understood")?;
    Ok(Some(Owner { user, group }))
}

/// A command of the package as the owner of the data.
fn command(program: &Path, owner: Option<Owner>) -> Command {
    let mut command = Command::new(program);
    if let Some(owner) = owner {
        command.uid(owner.user).gid(owner.group);
    }
    // The caller's own directory may be closed to that user, and the server would complain.
    command.current_dir("/");
    command
}

fn give(dir: &Path, owner: Option<Owner>) -> Outcome<()> {
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    match owner {
        Some(o) => std::os::unix::fs::chown(dir, Some(o.user), Some(o.group))
            .map_err(|e| format!("{}: {e}", dir.display())),
        None => Ok(()),
    }
}

impl Postgres {
    /// Starts it on its directory.
    pub fn start(order: &Order<'_>) -> Outcome<Postgres> {
        let programs = programs()?;
        let owner = owner()?;
        let data = order.dir.join("postgres-data");
        if !data.is_dir() {
            give(order.dir, owner)?;
            step::must(
                command(&programs.join("initdb"), owner)
                    .arg("-D")
                    .arg(&data)
                    .args(["--username=postgres", "--auth=trust", "--encoding=UTF8"])
                    .args(["--no-locale", "--no-instructions"]),
            )?;
        } else {
            confined::forget(&data)?;
        }
        let sockets = short_path("pg");
        give(&sockets, owner)?;
        let port = free_port()?;
        let log = order.dir.join("postgres.log");
        let terms = order.terms;
        let durable = if terms.flush == 1 { "on" } else { "off" };
        let mut settings = vec![
            format!("shared_buffers={}MB", terms.pool_mib),
            format!("max_wal_size={}MB", terms.log_mib),
            format!("synchronous_commit={durable}"),
            "fsync=on".to_owned(),
            "wal_sync_method=fdatasync".to_owned(),
            "max_connections=1000".to_owned(),
        ];
        settings.extend(order.options.iter().map(|o| (*o).to_owned()));
        let server = programs.join("postgres");
        let mut command = if order.cores.is_empty() {
            command(&server, owner)
        } else {
            let mut pinned = command(Path::new("/usr/bin/taskset"), owner);
            pinned.args(["-c", order.cores]).arg(&server);
            pinned
        };
        command.arg("-D").arg(&data);
        for setting in &settings {
            command.arg("-c").arg(setting);
        }
        let output = std::fs::File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let errors = output.try_clone().map_err(|e| e.to_string())?;
        let child = command
            .arg("-c")
            .arg("listen_addresses=127.0.0.1")
            .arg("-c")
            .arg(format!("unix_socket_directories={}", sockets.display()))
            .arg("-c")
            .arg(format!("port={port}"))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(|e| format!("{}: {e}", server.display()))?;
        let confined = Confined::over(child.id(), terms.pool_mib);
        if confined.is_some() {
            settings.push(Confined::described());
        }
        let mut peer = Postgres {
            guard: Guard::over(child.id()).ok(),
            confined,
            child,
            sockets,
            port,
            log,
            settings,
        };
        peer.wait_ready()?;
        Ok(peer)
    }

    fn wait_ready(&mut self) -> Outcome<()> {
        let begun = Instant::now();
        loop {
            if self.psql("postgres", "SELECT 1").is_ok() {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.with_log(&format!("PostgreSQL ended at start-up: {status}")));
            }
            if begun.elapsed() > PATIENCE {
                return Err(self.with_log("PostgreSQL does not answer"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn with_log(&self, what: &str) -> String {
        format!("{what}\n{}", step::tail_of_file(&self.log, 15))
    }

    fn psql(&self, database: &str, sql: &str) -> Outcome<String> {
        let mut command = Command::new("psql");
        command
            .args(["--no-psqlrc", "-qtA", "-v", "ON_ERROR_STOP=1"])
            .args(["-U", "postgres", "-d", database])
            .arg("-h")
            .arg(&self.sockets)
            .arg("-p")
            .arg(self.port.to_string());
        // Several commands in one -c are one transaction, in which VACUUM and CREATE DATABASE may not stand.
        for statement in sql.split(';').map(str::trim).filter(|s| !s.is_empty()) {
            command.arg("-c").arg(statement);
        }
        step::must(&mut command)
    }

    /// Sends a signal to the server and all of its processes.
    fn signal(&self, name: &str) -> Outcome<()> {
        let mut pids = vec![self.child.id()];
        pids.extend(process::children(self.child.id())?);
        let words: Vec<String> = pids.iter().map(u32::to_string).collect();
        let said = step::quietly(Command::new("kill").arg(format!("-{name}")).args(&words))?;
        // One of the children may have ended in between; the server itself must be there.
        match self.child_is_there() {
            true => Ok(()),
            false => Err(self.with_log(&format!("kill -{name}: {}", said.text))),
        }
    }

    fn child_is_there(&self) -> bool {
        process::cpu_time(self.child.id()).is_ok()
    }

    /// Sends a signal to the server, and waits for its end.
    fn end(&mut self, signal: &str, limit: Duration) -> Outcome<()> {
        self.guard = None;
        let pid = self.child.id().to_string();
        step::must(Command::new("kill").arg(format!("-{signal}")).arg(pid))?;
        let asked = Instant::now();
        loop {
            match self.child.try_wait().map_err(|e| format!("wait: {e}"))? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(self.with_log(&format!("the end after {signal} was: {status}")));
                }
                None if asked.elapsed() > limit => {
                    return Err(self.with_log(&format!("still there after {signal}")));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Peer for Postgres {
    fn reach(&self) -> Reach {
        Reach::Postgres(self.sockets.clone(), self.port)
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn version(&self) -> Outcome<String> {
        self.ask("postgres", "SHOW server_version")
    }

    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn ask(&self, database: &str, sql: &str) -> Outcome<String> {
        let text = self.psql(database, sql)?;
        let first = text.lines().next().unwrap_or_default();
        Ok(first.split('|').next().unwrap_or_default().to_owned())
    }

    fn make_database(&self, name: &str) -> Outcome<()> {
        let sql = format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}");
        self.psql("postgres", &sql).map(drop)
    }

    fn finish_load(&self, database: &str, _tables: &[String]) -> Outcome<()> {
        self.psql(database, "VACUUM ANALYZE").map(drop)
    }

    fn log_syncs(&self) -> Option<u64> {
        let sql = "SELECT wal_sync FROM pg_stat_wal";
        self.ask("postgres", sql).ok()?.parse().ok()
    }

    fn expect(&self, clients: u32) -> Outcome<()> {
        self.confined.as_ref().map_or(Ok(()), |c| c.expect(clients))
    }

    fn pause(&self, pause: bool) -> Outcome<()> {
        self.signal(if pause { "STOP" } else { "CONT" })
    }

    fn stop(mut self: Box<Self>) -> Outcome<()> {
        self.pause(false)?;
        // SIGINT ends sessions; SIGTERM would wait for them.
        self.end("INT", PATIENCE)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Each step fails harmlessly where the server has ended already. Killing the first process alone would
        // leave stopped children behind, who cannot notice that it is gone.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.signal("CONT");
            let _ = self.end("QUIT", Duration::from_secs(10));
        }
        self.guard = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.sockets);
    }
}
