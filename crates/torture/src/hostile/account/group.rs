//! A control group that a server is put into before it begins, so that it finds its limit there. Where none can be had (which takes root),
//! there is no limit.

use harness::cgroup::own_group;
use harness::step::Outcome;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A group with a limit of memory. Removed when dropped; whoever is in it must have ended.
#[derive(Debug)]
pub struct Group {
    dir: PathBuf,
}

impl Group {
    /// A new group below our own.
    pub fn new(memory: u64) -> Option<Group> {
        let (parent, older) = own_group("memory")?;
        let file = match older {
            true => "memory.limit_in_bytes",
            false => "memory.max",
        };
        let group = Group {
            dir: parent.join(format!("tidemill-hostile-{}", std::process::id())),
        };
        fs::create_dir(&group.dir).ok()?;
        fs::write(group.dir.join(file), memory.to_string()).ok()?;
        Some(group)
    }

    /// A program that runs another in the group.
    pub fn wrapper(&self, dir: &Path, program: &Path) -> Outcome<PathBuf> {
        let path = dir.join("confined.sh");
        let procs = self.dir.join("cgroup.procs");
        let text = format!(
            "#!/bin/sh\necho $$ > '{}' || exit 1\nexec '{}' \"$@\"\n",
            procs.display(),
            program.display()
        );
        let fail = |e: std::io::Error| format!("{}: {e}", path.display());
        fs::write(&path, text).map_err(fail)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).map_err(fail)?;
        Ok(path)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}
