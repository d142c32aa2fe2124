//! The programs that take backups and restore them: `tidemill backup` and `tidemill restore`, and mariadb-backup with its defaults.

use super::program::{Done, Program};
use super::side::Side;
use harness::scratch::size_of;
use harness::server::{Kind, Setup};
use harness::step::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where mariadb-backup is.
const MARIADB_BACKUP: &str = "mariadb-backup";

/// A backup that was taken.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    /// Its folder.
    pub(super) dir: PathBuf,
    /// How it was to take it.
    pub(super) done: Done,
    /// Its bytes.
    pub(super) bytes: u64,
    /// Those of the server's log that are in it, as they were in the log.
    pub(super) log_bytes: u64,
}

impl Taken {
    /// What has become of a backup into this folder.
    pub(super) fn of(side: &Side, dir: &Path, done: Done) -> Outcome<Taken> {
        let log = match side.kind {
            Kind::Tidemill => logged(&done.said),
            Kind::MariaDb => std::fs::metadata(dir.join("ib_logfile0"))
                .ok()
                .map(|m| m.len()),
        };
        Ok(Taken {
            log_bytes: log.ok_or_else(|| format!("how much log is in it?\n{}", done.said))?,
            dir: dir.to_path_buf(),
            done,
            bytes: size_of(dir)?,
        })
    }

    pub(super) fn mib(&self) -> f64 {
        self.bytes as f64 / f64::from(1 << 20)
    }
}

fn flag(name: &str, value: &Path) -> String {
    format!("--{name}={}", value.display())
}

fn said(side: &Side, what: &str) -> PathBuf {
    side.dir.join(format!("{what}.said"))
}

impl Side {
    fn tidemill(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.setup.program);
        command.arg(verb);
        command
    }

    /// Begins to take a backup: of all, or of what has changed since another.
    pub(super) fn begin_backup(
        &self,
        to: &Path,
        since: Option<&Path>,
        throttle: Option<u64>,
    ) -> Outcome<Program> {
        let command = match self.kind {
            Kind::Tidemill => {
                let mut command = self.tidemill("backup");
                command.arg(flag("server", &self.setup.socket));
                command.arg("--user=root").arg("--password=");
                command.arg(flag("to", to));
                command.args(since.map(|dir| flag("since", dir)));
                command.args(throttle.map(|n| format!("--throttle={n}")));
                command
            }
            Kind::MariaDb => {
                let mut command = Command::new(MARIADB_BACKUP);
                command
                    .args(["--no-defaults", "--backup", "--user=root"])
                    .arg(flag("socket", &self.setup.socket))
                    .arg(flag("datadir", &self.setup.datadir))
                    .arg(flag("target-dir", to))
                    .args(since.map(|dir| flag("incremental-basedir", dir)));
                command
            }
        };
        Program::start(command, &said(self, "backup"))
    }

    /// Takes a backup of what has changed since another, while nothing else goes on.
    pub(super) fn backup_since(&self, name: &str, since: &Path) -> Outcome<Taken> {
        let to = self.dir.join(name);
        let done = self.begin_backup(&to, Some(since), None)?.done()?;
        Taken::of(self, &to, done)
    }

    /// Has all of a backup read and checked; mariadb-backup cannot.
    pub(super) fn verify(&self, dir: &Path) -> Outcome<Option<Done>> {
        if self.kind == Kind::MariaDb {
            return Ok(None);
        }
        let mut command = self.tidemill("backup");
        command.arg(flag("verify", dir));
        let program = Program::start(command, &said(self, "verify"))?;
        program.done().map(Some)
    }

    /// Makes a backup of mariadb-backup fit to be restored, and puts what has changed since into it; nothing to do for the other.
    pub(super) fn prepare(&self, dir: &Path, changed: Option<&Path>) -> Outcome<Option<Done>> {
        if self.kind == Kind::Tidemill {
            return Ok(None);
        }
        let mut command = Command::new(MARIADB_BACKUP);
        command
            .args(["--no-defaults", "--prepare", "--use-memory=1G"])
            .arg(flag("target-dir", dir))
            .args(changed.map(|dir| flag("incremental-dir", dir)));
        let program = Program::start(command, &said(self, "prepare"))?;
        program.done().map(Some)
    }

    /// Makes a data directory of a backup, and of those since it, up to somewhere in the binary log if that is given. With
    /// mariadb-backup they have been prepared, and all of them are in the first.
    pub(super) fn restore(
        &self,
        parts: &[&Path],
        to: &Setup,
        binary_log: Option<(&Path, Option<&str>)>,
    ) -> Outcome<Done> {
        let command = match self.kind {
            Kind::Tidemill => {
                let mut command = self.tidemill("restore");
                command.args(parts).arg(flag("datadir", &to.datadir));
                if let Some((files, until)) = binary_log {
                    command.arg(flag("binlogs", files));
                    command.args(until.map(|gtid| format!("--until-gtid={gtid}")));
                }
                command
            }
            Kind::MariaDb => {
                let mut command = Command::new(MARIADB_BACKUP);
                command.args(["--no-defaults", "--copy-back"]);
                command.args(parts.first().map(|dir| flag("target-dir", dir)));
                command.arg(flag("datadir", &to.datadir));
                command
            }
        };
        Program::start(command, &said(self, "restore"))?.done()
    }
}

/// How many transactions of the binary log a restore says that it has applied.
pub(super) fn applied(said: &str) -> Option<u64> {
    let line = said
        .lines()
        .find_map(|l| l.split_once(" transactions were applied"))?;
    line.0.split_whitespace().last()?.parse().ok()
}

/// How many bytes of the log `tidemill backup` says that a backup has.
fn logged(said: &str) -> Option<u64> {
    let line = said.lines().find(|l| l.starts_with("backup "))?;
    let (from, to) = line.rsplit_once(", log ")?.1.split_once(" to ")?;
    let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
    to.checked_sub(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_backup_says_is_read() {
        let said = "backup 00000000000000aa: all, 12 tablespaces, 964 pages, 7000 bytes, log 500 to 1500\n\
            binary log: binlog.000002, position 4\n";
        assert_eq!(logged(said), Some(1000));
        assert_eq!(logged("backup: something else"), None);
    }

    #[test]
    fn what_a_restore_says_is_read() {
        let said = "d was restored: what was committed up to 5 in the log; the first start recovers it\n\
            21033 transactions were applied, up to 99 in binlog.000001; gtid_executed: u:1-5\n";
        assert_eq!(applied(said), Some(21_033));
        assert_eq!(applied("nothing of that kind"), None);
    }
}
