//! Memory of a server that reads through the kernel's cache: a control group holds that cache to what the others have for
//! their pages.
//!
//! Both kinds of control groups are known: the unified ones, and the memory controller of the older kind. Where neither can
//! be used (which takes root), the server has all of the machine's memory, and its settings in the report do not show a limit.

use harness::cgroup::own_group;
use harness::step::{self, Outcome};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Memory beside the pages: the server's own, MiB.
const OWN_MIB: u64 = 96;

/// Memory beside the pages: a connection's, MiB.
const CONNECTION_MIB: u64 = 4;

/// A group that one server and its children are in. It must outlive them, or it stays behind.
#[derive(Debug)]
pub struct Confined {
    dir: PathBuf,
    limit: &'static str,
    pool_mib: u64,
}

impl Confined {
    /// Puts a process that has just begun into a group of its own, or does nothing where that is not to be had.
    pub fn over(pid: u32, pool_mib: u64) -> Option<Confined> {
        let (parent, older) = own_group("memory")?;
        let limit = match older {
            true => "memory.limit_in_bytes",
            false => "memory.max",
        };
        let confined = Confined {
            dir: parent.join(format!("tidemill-lab-{pid}")),
            limit,
            pool_mib,
        };
        fs::create_dir(&confined.dir).ok()?;
        confined.expect(1).ok()?;
        let procs = confined.dir.join("cgroup.procs");
        fs::write(procs, pid.to_string()).ok()?;
        Some(confined)
    }

    /// Makes room for so many connections beside the pages.
    pub fn expect(&self, clients: u32) -> Outcome<()> {
        let mib = self.pool_mib + OWN_MIB + CONNECTION_MIB * u64::from(clients);
        let file = self.dir.join(self.limit);
        fs::write(&file, (mib << 20).to_string()).map_err(|e| format!("{}: {e}", file.display()))
    }

    /// In words.
    pub fn described() -> String {
        format!(
            "with the kernel's cache of its files: {OWN_MIB} MiB more, and {CONNECTION_MIB} MiB a client"
        )
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

/// Writes a directory's files to the disk and takes them out of the kernel's cache: what another process has read or
/// written is in nobody's limit.
pub fn forget(dir: &Path) -> Outcome<()> {
    let script =
        r#"sync -f "$1"; find "$1" -type f -exec dd if={} iflag=nocache count=0 status=none ';'"#;
    step::must(Command::new("sh").args(["-c", script, "forget"]).arg(dir)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_confined_where_that_is_allowed() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        if let Some(confined) = Confined::over(child.id(), 128) {
            confined.expect(8).unwrap();
            let limit = fs::read_to_string(confined.dir.join(confined.limit)).unwrap();
            assert_eq!(limit.trim(), ((128 + 96 + 32) << 20).to_string());
            let group = fs::read_to_string(format!("/proc/{}/cgroup", child.id())).unwrap();
            assert!(group.contains("tidemill-lab-"), "{group}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
