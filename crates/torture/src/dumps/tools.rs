//! The programs that dump and restore, unmodified, as a user calls them.

use harness::server::Setup;
use harness::step::{self, Outcome};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a database is dumped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `mariadb-dump` by a connection in this character set, with binary data as digits or as bytes; `mariadb` restores it.
    Dump {
        /// `--default-character-set`.
        charset: &'static str,
        /// `--hex-blob`.
        hex: bool,
    },
    /// `mariadb-dump --lock-all-tables --flush-logs`: nobody writes meanwhile.
    DumpLocked,
    /// `mariadb-dump --tab`, for which the server writes a file a table; `mariadb-import` has it read them.
    Tab,
    /// `mydumper`, whose connections are always in `binary`; `myloader` restores it.
    MyDumper,
}

impl Way {
    /// The name in reports.
    pub fn name(self) -> String {
        match self {
            Way::Dump { charset, hex } => {
                format!(
                    "mariadb-dump {charset}{}",
                    if hex { " --hex-blob" } else { "" }
                )
            }
            Way::DumpLocked => "mariadb-dump --lock-all-tables".to_owned(),
            Way::Tab => "mariadb-dump --tab".to_owned(),
            Way::MyDumper => "mydumper".to_owned(),
        }
    }

    /// Is its program here?
    pub fn is_here(self) -> bool {
        match self {
            Way::Dump { .. } | Way::DumpLocked => step::on_path("mariadb-dump"),
            Way::Tab => step::on_path("mariadb-dump") && step::on_path("mariadb-import"),
            Way::MyDumper => step::on_path("mydumper") && step::on_path("myloader"),
        }
    }

    /// Dumps `database` into `dir`, which is empty.
    pub fn dump(self, from: &Setup, database: &str, dir: &Path) -> Outcome<()> {
        match self {
            Way::Dump { charset, hex } => {
                let mut command = program("mariadb-dump", from, charset);
                command.args(hex.then_some("--hex-blob")).arg(database);
                let file = dir.join("dump.sql");
                let file = File::create(&file).map_err(|e| format!("{}: {e}", file.display()))?;
                finished(command.stdin(Stdio::null()).stdout(file))
            }
            Way::DumpLocked => {
                let mut command = program("mariadb-dump", from, "utf8mb4");
                command.args(["--lock-all-tables", "--flush-logs", "--hex-blob"]);
                let file = dir.join("dump.sql");
                let file = File::create(&file).map_err(|e| format!("{}: {e}", file.display()))?;
                finished(command.arg(database).stdin(Stdio::null()).stdout(file))
            }
            Way::Tab => {
                let mut command = program("mariadb-dump", from, "utf8mb4");
                command
                    .arg(format!("--tab={}", dir.display()))
                    .arg(database);
                finished(command.stdin(Stdio::null()))
            }
            Way::MyDumper => {
                let mut command = my("mydumper", from);
                command.args(["--database", database]);
                finished(command.arg("--outputdir").arg(dir).stdin(Stdio::null()))
            }
        }
    }

    /// Restores what is in `dir` into `database`, which is there and empty.
    pub fn restore(self, to: &Setup, database: &str, dir: &Path) -> Outcome<()> {
        match self {
            Way::Dump { .. } | Way::DumpLocked => {
                let charset = match self {
                    Way::Dump { charset, .. } => charset,
                    _ => "utf8mb4",
                };
                let file = dir.join("dump.sql");
                let file = File::open(&file).map_err(|e| format!("{}: {e}", file.display()))?;
                finished(program("mariadb", to, charset).arg(database).stdin(file))
            }
            Way::Tab => {
                let (definitions, rows) = (files(dir, "sql")?, files(dir, "txt")?);
                for file in definitions {
                    let file = File::open(&file).map_err(|e| format!("{}: {e}", file.display()))?;
                    finished(program("mariadb", to, "utf8mb4").arg(database).stdin(file))?;
                }
                // Each column's text is in its own character set.
                let mut command = program("mariadb-import", to, "binary");
                finished(command.arg(database).args(rows).stdin(Stdio::null()))
            }
            Way::MyDumper => {
                let mut command = my("myloader", to);
                command.args(["--overwrite-tables", "--database", database]);
                finished(command.arg("--directory").arg(dir).stdin(Stdio::null()))
            }
        }
    }
}

/// The files of a folder whose names end so, in order.
fn files(dir: &Path, end: &str) -> Outcome<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let paths = entries.map(|e| e.map(|e| e.path()));
    let mut paths = paths
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| e.to_string())?;
    paths.retain(|p| p.extension().is_some_and(|x| x == end));
    paths.sort();
    Ok(paths)
}

fn program(name: &str, server: &Setup, charset: &str) -> Command {
    let mut command = Command::new(name);
    command
        .args(["--no-defaults", "--user=root", "--protocol=socket"])
        .arg(format!("--socket={}", server.socket.display()))
        .arg(format!("--default-character-set={charset}"));
    command
}

fn my(name: &str, server: &Setup) -> Command {
    let mut command = Command::new(name);
    command.args(["--user", "root", "--threads", "2", "--verbose", "1"]);
    command.arg("--socket").arg(&server.socket);
    command
}

/// Runs it; an error with what it said where it failed, or said that something went wrong.
fn finished(command: &mut Command) -> Outcome<()> {
    let line = step::shown(command);
    let out = command
        .stderr(Stdio::piped())
        .spawn()
        .and_then(|child| child.wait_with_output())
        .map_err(|e| format!("{line}: {e}"))?;
    let said = String::from_utf8_lossy(&out.stderr);
    // mydumper goes on after an error, and its status does not tell.
    if !out.status.success() || said.contains("CRITICAL") {
        return Err(format!("{line} failed:\n{}", step::tail(&said, 20)));
    }
    Ok(())
}

/// Dumps all databases of a server into a file, as a nightly backup does.
pub fn dump_all(from: &Setup, file: &Path) -> Outcome<()> {
    let out = File::create(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut command = program("mariadb-dump", from, "utf8mb4");
    command.args(["--all-databases", "--single-transaction", "--hex-blob"]);
    command.args(["--routines", "--triggers", "--events", "--flush-privileges"]);
    finished(command.stdin(Stdio::null()).stdout(out))
}

/// Restores such a file.
pub fn restore_all(to: &Setup, file: &Path) -> Outcome<()> {
    let input = File::open(file).map_err(|e| format!("{}: {e}", file.display()))?;
    finished(program("mariadb", to, "utf8mb4").stdin(input))
}

/// Runs a file of statements with the program `mariadb`.
pub fn load(to: &Setup, database: &str, file: &Path) -> Outcome<()> {
    let sql = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let before = "SET sql_mode = 'ALLOW_INVALID_DATES'; SET time_zone = '+00:00';\n";
    let mut input = std::io::pipe().map_err(|e| e.to_string())?;
    let mut command = program("mariadb", to, "utf8mb4");
    command.arg(database).stdin(input.0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            use std::io::Write;
            // A program that ended early has said why.
            let _ = input.1.write_all(before.as_bytes());
            let _ = input.1.write_all(&sql);
        });
        let done = finished(&mut command);
        // Otherwise the pipe's reading end stays open here, and the writer waits for nobody.
        drop(command);
        let _ = writer.join();
        done
    })
}
