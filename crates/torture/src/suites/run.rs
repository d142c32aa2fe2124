//! One run of a suite on one server: its folder, what is filled into its arguments, and its end.

use super::table::Suite;
use harness::server::Setup;
use harness::step::{self, Outcome};
use harness::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where the sources and what they need are kept from run to run.
///
/// # Errors
/// Cargo does not say where its target directory is.
pub fn cache() -> Outcome<PathBuf> {
    Ok(workspace::target_dir()?.join("suites"))
}

/// A run.
#[derive(Debug)]
pub struct Run<'a> {
    /// What is run.
    pub suite: &'static Suite,
    /// On which server.
    pub server: &'a Setup,
    /// What it writes is in this folder.
    pub dir: PathBuf,
}

impl Run<'_> {
    /// The server's port.
    pub fn port(&self) -> u16 {
        self.server.port
    }

    fn filled(&self, text: &str) -> String {
        text.replace("{port}", &self.port().to_string())
            .replace("{socket}", &self.server.socket.display().to_string())
            .replace("{dir}", &self.dir.display().to_string())
    }

    /// A copy of the sources that this run may write to.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn copied(&self, sources: &Path) -> Outcome<PathBuf> {
        let copy = self.dir.join("sources");
        step::must(Command::new("cp").arg("-r").arg(sources).arg(&copy))?;
        step::must(Command::new("chmod").args(["-R", "u+w"]).arg(&copy))?;
        // Clients in C read their settings from files alone.
        let settings = format!(
            "[MySQLdb-tests]\nhost=127.0.0.1\nport={}\nuser=root\ndatabase=test\n\
             default-character-set=utf8mb4\n",
            self.port()
        );
        let file = self.dir.join("my.cnf");
        std::fs::write(&file, settings).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok(copy)
    }

    /// Runs it with the suite's arguments, and returns what it said. Whether it called itself a success is not asked: tests fail.
    ///
    /// # Errors
    /// It could not be started.
    pub fn finish(&self, mut command: Command) -> Outcome<String> {
        command.args(self.suite.args.iter().map(|a| self.filled(a)));
        for (name, value) in self.suite.env {
            command.env(name, self.filled(value));
        }
        let log = self.dir.join("output.log");
        let limit = Duration::from_secs(60 * self.suite.minutes);
        if step::logged_within(&mut command, &log, limit)?.is_none() {
            // The tests that were not reached are missing, and are told one by one.
            println!(
                "    {} on {} was ended after {} minutes",
                self.suite.name,
                self.server.kind.name(),
                self.suite.minutes
            );
        }
        let said = std::fs::read(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }
}
