//! Scratch folders, and what there is on a disk.

use crate::step::{self, Outcome};
use crate::workspace::target_dir;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed when it goes out of scope, unless somebody asks to keep it.
///
/// It lies under the target directory, since /tmp may be a memory file system, where neither O_DIRECT nor a
/// sync means what it means on a disk.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    keep: bool,
}

static SCRATCHES: AtomicU32 = AtomicU32::new(0);

impl Scratch {
    /// A fresh, empty directory `<target>/xtask/<name>-<pid>-<n>`. What a process that was killed has left under this name is removed:
    /// a lab's tables are tens of GiB.
    pub fn new(name: &str) -> Outcome<Scratch> {
        let n = SCRATCHES.fetch_add(1, Ordering::Relaxed);
        let all = target_dir()?.join("xtask");
        remove_left(&all, name);
        let path = all.join(format!("{name}-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Scratch { path, keep: false })
    }

    /// As [`Scratch::new`], but in memory where the machine offers a file system of at least `room` bytes for that: for what
    /// is written thousands of times over and asks nothing of a sync.
    pub fn in_memory(name: &str, room: u64) -> Outcome<Scratch> {
        let memory = Path::new("/dev/shm");
        if free_bytes(memory).is_none_or(|free| free < room) {
            return Scratch::new(name);
        }
        let n = SCRATCHES.fetch_add(1, Ordering::Relaxed);
        let path = memory.join(format!("tidemill-{name}-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Scratch { path, keep: false })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the directory behind, for somebody to look at.
    pub fn keep(&mut self) {
        if !self.keep {
            println!("    left for inspection: {}", self.path.display());
            let _ = std::fs::write(self.path.join(KEPT), "");
        }
        self.keep = true;
    }
}

/// The name of a file in a scratch directory that somebody wants to look at.
const KEPT: &str = ".kept";

/// Removes scratch directories of this name whose process has gone, but those that were to be kept.
fn remove_left(all: &Path, name: &str) {
    let Ok(entries) = std::fs::read_dir(all) else {
        return;
    };
    for entry in entries.flatten() {
        let file = entry.file_name();
        let pid = file
            .to_str()
            .and_then(|f| f.strip_prefix(name)?.strip_prefix('-')?.split_once('-'))
            .and_then(|(pid, n)| n.parse::<u32>().ok().and(pid.parse::<u32>().ok()));
        let gone = pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists());
        if gone && !entry.path().join(KEPT).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// What `df` says is free where `path` is.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let said = step::must(Command::new("df").args(["-B1", "--output=avail"]).arg(path));
    said.ok()?.lines().last()?.trim().parse().ok()
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing depends on it being gone; a leftover lies under target/ and says what it is.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Bytes of the files below `dir`.
pub fn size_of(dir: &Path) -> Outcome<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let entry = entry.map_err(|e| e.to_string())?;
        let meta = entry.metadata().map_err(|e| e.to_string())?;
        sum += if meta.is_dir() {
            size_of(&entry.path())?
        } else {
            meta.len()
        };
    }
    Ok(sum)
}
