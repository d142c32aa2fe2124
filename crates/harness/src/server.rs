//! Starting, killing and stopping the server under test, Tidemill or MariaDB, each on a directory of its own.
//!
//! Only processes started here are ever signalled, by their own handle or id; a server that is still there when
//! its handle goes out of scope is killed.

use crate::client::{self, Conn, Fault};
use crate::step::{self, Outcome, Output};
use crate::workspace;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Which server program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Ours, the release build.
    Tidemill,
    /// Debian's mariadbd.
    MariaDb,
}

impl ValueEnum for Kind {
    fn value_variants<'a>() -> &'a [Kind] {
        &[Kind::Tidemill, Kind::MariaDb]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        ValueEnum::from_str(text, false)
    }
}

impl Kind {
    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Tidemill => "tidemill",
            Kind::MariaDb => "mariadb",
        }
    }
}

/// Everything needed to start one server again and again on the same directory.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Which program.
    pub kind: Kind,
    /// The program's path.
    pub program: PathBuf,
    /// Its data directory.
    pub datadir: PathBuf,
    /// Its Unix socket.
    pub socket: PathBuf,
    /// Its TCP port on 127.0.0.1.
    pub port: u16,
    /// Where its output goes.
    pub log: PathBuf,
    /// `ulimit -n`; none for what this process has.
    files: Option<u64>,
    /// The cores it may use, as `taskset -c` takes them; empty for all.
    pub cores: String,
    options: Vec<String>,
}

static SOCKETS: AtomicU32 = AtomicU32::new(0);

impl Setup {
    /// A fresh data directory below `dir` for the server program at `program`, which is ours.
    ///
    /// # Errors
    /// No TCP port is free.
    pub fn tidemill(program: &Path, dir: &Path) -> Outcome<Setup> {
        Setup::of(Kind::Tidemill, program.to_path_buf(), dir)
    }

    /// A fresh data directory below `dir` for a server of this kind (which is built first, if it is ours).
    pub fn new(kind: Kind, dir: &Path) -> Outcome<Setup> {
        let setup = Setup::over(kind, dir)?;
        if kind == Kind::MariaDb {
            setup.install_mariadb()?;
        }
        Ok(setup)
    }

    /// The data directory that a server of this kind has left below `dir`.
    pub fn over(kind: Kind, dir: &Path) -> Outcome<Setup> {
        let program = match kind {
            Kind::Tidemill => workspace::server()?,
            Kind::MariaDb => mariadbd()?,
        };
        Setup::of(kind, program, dir)
    }

    fn of(kind: Kind, program: PathBuf, dir: &Path) -> Outcome<Setup> {
        let datadir = dir.join(format!("{}-data", kind.name()));
        let socket = short_path("sock");
        let setup = Setup {
            kind,
            program,
            datadir,
            socket,
            port: free_port()?,
            log: dir.join(format!("{}.log", kind.name())),
            files: None,
            cores: String::new(),
            options: Vec::new(),
        };
        // Certificates take a second to make, which most servers here are not started for.
        Ok(setup
            .option_of(Kind::Tidemill, "auto-generate-certs=OFF")
            .option_of(Kind::MariaDb, "skip-log-bin")
            .option_of(Kind::MariaDb, "performance-schema=OFF")
            .option_of(Kind::MariaDb, "skip-name-resolve"))
    }

    /// The options it is started with, beside the places of its files.
    pub fn options(&self) -> &[String] {
        &self.options
    }

    /// Adds an option by MySQL's name, without the dashes in front: `innodb-buffer-pool-size=1G`.
    pub fn option(mut self, option: &str) -> Setup {
        self.options.push(format!("--{option}"));
        self
    }

    /// Adds an option only where the server is of this kind.
    pub fn option_of(self, kind: Kind, option: &str) -> Setup {
        if self.kind == kind {
            self.option(option)
        } else {
            self
        }
    }

    /// The size of the log before a checkpoint must advance, under the name that this server has for it.
    pub fn redo_capacity(self, size: &str) -> Setup {
        match self.kind {
            Kind::Tidemill => self.option(&format!("innodb-redo-log-capacity={size}")),
            Kind::MariaDb => self.option(&format!("innodb-log-file-size={size}")),
        }
    }

    /// With a binary log that is synced at each commit, and GTIDs; `number` is its `server_id`.
    pub fn binary_log(self, number: u32) -> Setup {
        self.option(&format!("server-id={number}"))
            .option("log-bin=binlog")
            .option("sync-binlog=1")
            .option_of(Kind::Tidemill, "gtid-mode=ON")
            .option_of(Kind::Tidemill, "enforce-gtid-consistency=ON")
    }

    /// The server may have so many files open.
    pub fn files(mut self, most: u64) -> Setup {
        self.files = Some(most);
        self
    }

    /// Takes an option away again.
    pub fn without(mut self, name: &str) -> Setup {
        let start = format!("--{name}=");
        self.options.retain(|o| !o.starts_with(&start));
        self
    }

    /// Starts the server with more options, where it is expected to refuse; what it said. One that has not ended
    /// after ten seconds is stopped, and counts as a success.
    pub fn try_start(&self, more: &[&str]) -> Outcome<Output> {
        let log = self.log.with_extension("refused.log");
        let _ = std::fs::remove_file(&log);
        let mut setup = self.clone();
        setup.socket = self.socket.with_extension("second.sock");
        setup.port = free_port()?;
        setup.log = log;
        setup.options.extend(more.iter().map(|o| (*o).to_owned()));
        let mut server = setup.spawn()?;
        let begun = Instant::now();
        let success = loop {
            match server.child.try_wait().map_err(|e| format!("wait: {e}"))? {
                Some(status) => break status.success(),
                None if begun.elapsed() > Duration::from_secs(10) => break true,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        Ok(Output {
            success,
            text: step::tail_of_file(&setup.log, 50),
        })
    }

    fn install_mariadb(&self) -> Outcome<()> {
        let mut command = Command::new("mariadb-install-db");
        command
            .args([
                "--no-defaults",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ])
            .arg(format!("--datadir={}", self.datadir.display()));
        if runs_as_root() {
            command.arg("--user=root");
        }
        step::must(&mut command).map(drop)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if !self.cores.is_empty() {
            command = Command::new("taskset");
            command.args(["-c", &self.cores]).arg(&self.program);
        }
        if let Some(files) = self.files {
            command = Command::new("sh");
            let limited = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
            command.arg("-c").arg(limited).arg(&self.program);
        }
        match self.kind {
            Kind::Tidemill => {
                command.arg("serve");
            }
            Kind::MariaDb => {
                command.arg("--no-defaults");
                if runs_as_root() {
                    command.arg("--user=root");
                }
            }
        }
        command
            .arg(format!("--datadir={}", self.datadir.display()))
            .arg(format!("--socket={}", self.socket.display()))
            .arg(format!("--port={}", self.port))
            .arg("--bind-address=127.0.0.1")
            .args(&self.options);
        command
    }

    /// A new connection through the Unix socket, as root, with no database chosen.
    ///
    /// # Errors
    /// Nobody answers there, or the server refuses.
    pub fn connect(&self) -> Result<Box<dyn Conn>, Fault> {
        client::connect(&self.socket)
    }

    /// Starts the server; it may not answer yet.
    pub fn spawn(&self) -> Outcome<Server> {
        // A server that was killed leaves its socket behind; connecting to it must fail, not hang.
        let _ = std::fs::remove_file(&self.socket);
        let log: File = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)
            .map_err(|e| format!("{}: {e}", self.log.display()))?;
        let errors = log.try_clone().map_err(|e| e.to_string())?;
        let mut command = self.command();
        let begun = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(|e| format!("{}: {e}", step::shown(&command)))?;
        Ok(Server {
            child,
            setup: self.clone(),
            begun,
        })
    }

    /// Starts the server and waits until it answers a query.
    pub fn start(&self) -> Outcome<Server> {
        let mut server = self.spawn()?;
        server.wait_ready(Duration::from_secs(120))?;
        Ok(server)
    }

    /// Runs `tidemill check` on the directory, which no server may own now. MariaDB has no such program.
    pub fn check_offline(&self) -> Outcome<()> {
        match self.kind {
            Kind::MariaDb => Ok(()),
            Kind::Tidemill => step::must(
                Command::new(&self.program)
                    .arg("check")
                    .arg(format!("--datadir={}", self.datadir.display())),
            )
            .map(drop),
        }
    }
}

fn mariadbd() -> Outcome<PathBuf> {
    ["/usr/sbin/mariadbd", "/usr/bin/mariadbd"]
        .iter()
        .map(PathBuf::from)
        .find(|p| p.is_file())
        .ok_or_else(|| "mariadbd is not installed (apt-get install mariadb-server-core)".to_owned())
}

/// A path that nobody has, short enough for a socket: that may have 107 bytes, and the target directory alone can be
/// longer.
pub fn short_path(ending: &str) -> PathBuf {
    let n = SOCKETS.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("tm-{}-{n}.{ending}", std::process::id()))
}

/// Does this process belong to root?
pub fn runs_as_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

/// A TCP port of 127.0.0.1 that nobody listens on now.
pub fn free_port() -> Outcome<u16> {
    std::net::TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|e| format!("no free TCP port on 127.0.0.1: {e}"))
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    setup: Setup,
    begun: Instant,
}

impl Server {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it was started.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// As [`Setup::connect`], with the error as a sentence.
    pub fn connect(&self) -> Outcome<Box<dyn Conn>> {
        self.setup.connect().map_err(|e| e.to_string())
    }

    /// Waits until a query is answered; the time since the process was started.
    pub fn wait_ready(&mut self, limit: Duration) -> Outcome<Duration> {
        loop {
            if let Ok(mut conn) = self.setup.connect()
                && conn.run("SELECT 1").is_ok()
            {
                return Ok(self.begun.elapsed());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.with_log(&format!("the server ended at start-up: {status}")));
            }
            if self.begun.elapsed() > limit {
                return Err(self.with_log(&format!("no answer after {} s", limit.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// An error unless the process is still there.
    pub fn must_run(&mut self) -> Outcome<()> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(self.with_log(&format!("the server ended: {status}"))),
            _ => Ok(()),
        }
    }

    /// `what`, followed by the end of the server's own log.
    pub fn with_log(&self, what: &str) -> String {
        format!(
            "{what}\n--- end of {} ---\n{}",
            self.setup.log.display(),
            step::tail_of_file(&self.setup.log, 15)
        )
    }

    /// kill -9.
    pub fn kill9(mut self) -> Outcome<()> {
        self.child.kill().map_err(|e| format!("kill -9: {e}"))?;
        self.child.wait().map_err(|e| format!("wait: {e}"))?;
        Ok(())
    }

    /// Sends a signal by name (`TERM`, `STOP`, `CONT`).
    pub fn signal(&self, name: &str) -> Outcome<()> {
        step::must(
            Command::new("kill")
                .arg(format!("-{name}"))
                .arg(self.pid().to_string()),
        )
        .map(drop)
    }

    /// SIGTERM, then waits for a clean end.
    pub fn terminate(mut self) -> Outcome<()> {
        self.signal("TERM")?;
        self.ended(Duration::from_secs(180))
    }

    /// Waits for a clean end after SIGTERM.
    pub fn ended(&mut self, limit: Duration) -> Outcome<()> {
        let asked = Instant::now();
        loop {
            match self.child.try_wait().map_err(|e| format!("wait: {e}"))? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(self.with_log(&format!("the end after SIGTERM was: {status}")));
                }
                None if asked.elapsed() > limit => {
                    return Err(
                        self.with_log(&format!("still there {} s after SIGTERM", limit.as_secs()))
                    );
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail harmlessly where the process has been waited for already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.setup.socket);
    }
}
