//! The control group that the server is in from its first instruction, so that it finds its limit there.

use harness::cgroup::own_group;
use harness::step::Outcome;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A group with a limit of memory. Removed when dropped; whoever is in it must have ended.
#[derive(Debug)]
pub struct Group {
    dir: PathBuf,
    older: bool,
}

impl Group {
    /// A new group below our own; `None` where none can be had, which takes root.
    pub fn new(memory: u64) -> Option<Group> {
        let (parent, older) = own_group("memory")?;
        let group = Group {
            dir: parent.join(format!("tidemill-spill-{}", std::process::id())),
            older,
        };
        fs::create_dir(&group.dir).ok()?;
        let limit = match older {
            true => "memory.limit_in_bytes",
            false => "memory.max",
        };
        fs::write(group.dir.join(limit), memory.to_string()).ok()?;
        Some(group)
    }

    /// A program that runs another in the group.
    pub fn wrapper(&self, dir: &Path, program: &Path) -> Outcome<PathBuf> {
        let path = dir.join("confined.sh");
        let procs = self.dir.join("cgroup.procs");
        let (procs, program) = (procs.display(), program.display());
        let text = format!("#!/bin/sh\necho $$ > '{procs}' || exit 1\nexec '{program}' \"$@\"\n");
        let fail = |e: std::io::Error| format!("{}: {e}", path.display());
        fs::write(&path, text).map_err(fail)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).map_err(fail)?;
        Ok(path)
    }

    fn peak_file(&self) -> PathBuf {
        self.dir.join(match self.older {
            true => "memory.max_usage_in_bytes",
            false => "memory.peak",
        })
    }

    /// The most that the group has had, the kernel's cache of its files included, since [`forget`](Group::forget).
    pub fn peak(&self) -> Option<u64> {
        let text = fs::read_to_string(self.peak_file()).ok()?;
        text.trim().parse().ok()
    }

    /// Begins to look for the most anew, where the kernel can.
    pub fn forget(&self) {
        let _ = fs::write(self.peak_file(), "0");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

/// The most memory that a process has had, since [`forget_process`].
pub fn process_peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Begins to look for the most of a process anew.
pub fn forget_process(pid: u32) {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}
