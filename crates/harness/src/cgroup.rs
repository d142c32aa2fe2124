//! Linux's control groups, of both kinds: the unified ones, and those that have a tree for each controller.

use std::fs;
use std::path::{Path, PathBuf};

/// Our own group for what a controller limits, and whether it is of the older kind, which has a tree of groups for each.
pub fn own_group(controller: &str) -> Option<(PathBuf, bool)> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let of = |controller: &str| {
        text.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let found = controllers.split(',').any(|c| c == controller);
            found.then(|| path.trim_start_matches('/').to_owned())
        })
    };
    let root = Path::new("/sys/fs/cgroup");
    match of(controller) {
        Some(path) => Some((root.join(controller).join(path), true)),
        None => Some((root.join(of("")?), false)),
    }
}
