//! How much memory the process may use, and what of it sessions may hold together.
//!
//! What a control group or the machine gives, less the buffer pool, the log buffer and the server's own; of the rest a quarter is left for what is
//! not counted: the allocator's spare room, threads' stacks, the moment in which something moves. docs/decisions/0019 says why.

use std::fs;
use std::path::{Path, PathBuf};

use crate::options::Options;

/// What the server takes beside pages, log and sessions.
const OWN: u64 = 64 << 20;
/// The least that sessions have together, whatever else there is.
const LEAST: u64 = 32 << 20;
/// The least buffer pool.
const LEAST_POOL: u64 = 5 << 20;
/// The part of all memory that temporary files may have in the kernel's cache before they are on the disk.
const UNWRITTEN_PART: u64 = 16;

/// What was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// What the process may use.
    pub available: u64,
    /// The buffer pool: as asked for, or as much as fits.
    pub pool: u64,
    /// What all sessions may hold.
    pub sessions: u64,
    /// What temporary files may have in the kernel's cache alone.
    pub unwritten: u64,
}

/// Divides what the process may use.
pub fn divide(options: &Options, available: u64) -> Room {
    let log = options.log_buffer_size;
    let fits = options.buffer_pool_size + log + OWN + LEAST <= available;
    let pool = match fits {
        true => options.buffer_pool_size,
        false => options
            .buffer_pool_size
            .min((available / 2).max(LEAST_POOL)),
    };
    let rest = available.saturating_sub(pool + log + OWN);
    Room {
        available,
        pool,
        sessions: (rest / 4 * 3).max(LEAST),
        unwritten: available / UNWRITTEN_PART,
    }
}

/// What the process may use: the least of what its control groups and the machine give. `None` where nothing says.
pub fn available() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = group_limits(&groups, Path::new("/sys/fs/cgroup"));
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(total);
    limits.into_iter().chain(machine).min()
}

/// "MemTotal: n kB".
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// The limits of the groups that a process is in, and of those around them. A container sees its own group as the root.
fn group_limits(groups: &str, root: &Path) -> Vec<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (top, file) = if controllers.is_empty() {
            (root.to_owned(), "memory.max")
        } else if controllers.split(',').any(|c| c == "memory") {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            continue;
        };
        let mut below = PathBuf::from(path.trim_start_matches('/'));
        loop {
            let limit = fs::read_to_string(top.join(&below).join(file)).ok();
            limits.extend(limit.and_then(|text| text.trim().parse::<u64>().ok()));
            if !below.pop() {
                break;
            }
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_divided() {
        let options = Options {
            buffer_pool_size: 128 << 20,
            log_buffer_size: 64 << 20,
            ..Options::default()
        };
        let room = divide(&options, 1 << 30);
        assert_eq!((room.pool, room.sessions), (128 << 20, 576 << 20));
        assert_eq!(room.unwritten, 64 << 20);
        // A pool that does not fit becomes half of what there is.
        let large = Options {
            buffer_pool_size: 8 << 30,
            ..options
        };
        let room = divide(&large, 1 << 30);
        assert_eq!((room.pool, room.sessions), (512 << 20, 288 << 20));
        let room = divide(&large, 100 << 20);
        assert_eq!((room.pool, room.sessions), (50 << 20, LEAST));
        assert_eq!(divide(&large, 0).pool, LEAST_POOL);
    }

    #[test]
    fn limits_of_both_kinds_of_groups() {
        let root = std::env::temp_dir().join(format!("tidemill-groups-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        write("a/memory.max", "max\n");
        write("a/b/memory.max", "1073741824\n");
        write("memory/x/memory.limit_in_bytes", "536870912\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        let of = |groups: &str| {
            let mut limits = group_limits(groups, &root);
            limits.sort_unstable();
            limits
        };
        assert_eq!(of("0::/a/b\n"), [1 << 30]);
        assert_eq!(of("0::/a\n"), []);
        let older = of("4:cpu:/x\n5:memory:/x\n0::/gone\n");
        assert_eq!(older, [512 << 20, 9_223_372_036_854_771_712]);
        fs::remove_dir_all(&root).expect("removal");
        assert_eq!(total("MemFree: 1 kB\nMemTotal:  24 kB\n"), Some(24 << 10));
        assert!(available().is_some());
    }
}
