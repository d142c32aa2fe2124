//! The server that only sends canned answers (`crates/lab`): what the client and the kernel's sockets leave possible.

use super::guard::Guard;
use super::peer::{Order, Peer};
use harness::server::short_path;
use harness::step::{self, Outcome};
use harness::sysbench::Reach;
use harness::workspace;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// It, running.
pub struct Canned {
    child: Child,
    guard: Option<Guard>,
    socket: PathBuf,
    threads: usize,
}

/// The program, built once a run.
fn program() -> Outcome<PathBuf> {
    static BUILT: OnceLock<Outcome<PathBuf>> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            if let Some(given) = std::env::var_os("TIDEMILL_CANNED_SERVER") {
                return Ok(PathBuf::from(given));
            }
            let mut cargo = workspace::cargo();
            cargo.args(["build", "--release", "--package", "lab"]);
            step::visibly(cargo.args(["--bin", "canned-server"]))?;
            Ok(workspace::target_dir()?
                .join("release")
                .join("canned-server"))
        })
        .clone()
}

impl Canned {
    /// Starts it; it has no data, and no use for a directory.
    pub fn start(_order: &Order<'_>) -> Outcome<Canned> {
        let program = program()?;
        let socket = short_path("sock");
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let child = Command::new(&program)
            .arg("--socket")
            .arg(&socket)
            .arg("--threads")
            .arg(threads.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        let mut canned = Canned {
            guard: Guard::over(child.id()).ok(),
            child,
            socket,
            threads,
        };
        let begun = Instant::now();
        while std::os::unix::net::UnixStream::connect(&canned.socket).is_err() {
            let ended = canned.child.try_wait().map_err(|e| e.to_string())?;
            if ended.is_some() || begun.elapsed() > Duration::from_secs(10) {
                return Err(format!("{} does not serve", program.display()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(canned)
    }
}

impl Peer for Canned {
    fn reach(&self) -> Reach {
        Reach::Mysql(self.socket.clone())
    }

    fn port(&self) -> u16 {
        0
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn version(&self) -> Outcome<String> {
        Ok("answers without a database".to_owned())
    }

    fn settings(&self) -> Vec<String> {
        vec![format!("--threads={}", self.threads)]
    }

    fn ask(&self, _database: &str, _sql: &str) -> Outcome<String> {
        Ok(String::new())
    }

    fn make_database(&self, _name: &str) -> Outcome<()> {
        Ok(())
    }

    fn finish_load(&self, _database: &str, _tables: &[String]) -> Outcome<()> {
        Ok(())
    }

    fn log_syncs(&self) -> Option<u64> {
        None
    }

    fn pause(&self, pause: bool) -> Outcome<()> {
        let signal = if pause { "-STOP" } else { "-CONT" };
        let pid = self.child.id().to_string();
        step::must(Command::new("kill").arg(signal).arg(pid)).map(drop)
    }

    fn stop(self: Box<Self>) -> Outcome<()> {
        // It has nothing to put in order; dropping the handle ends it.
        Ok(())
    }
}

impl Drop for Canned {
    fn drop(&mut self) {
        self.guard = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}
