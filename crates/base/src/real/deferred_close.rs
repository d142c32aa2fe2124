//! Files that were removed and are closed for the last time: that is when the file system takes their blocks back, 100 ms and more for some hundred
//! MiB, which whoever drops a table's last handle must not spend, nor the connections that share his thread. So a thread of its own does it.
//!
//! Must never do: touch a file that still has a name.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Bytes below which closing a file is a moment.
const LARGE: u64 = 4 << 20;

/// Bytes that are given back at a time, so that the file system's journal has room for others' changes in between.
const STEP: u64 = 16 << 20;

/// Keeps a file that is about to be closed open, and closes it elsewhere, where it is large and has no name any more.
pub(super) fn hand_over(file: &File) {
    let removed = file
        .metadata()
        .is_ok_and(|m| m.nlink() == 0 && m.len() > LARGE);
    if !removed {
        return;
    }
    // Without the thread, or another descriptor, it is closed here.
    if let (Some(closer), Ok(file)) = (closer(), file.try_clone()) {
        let _ = closer.send(file);
    }
}

fn closer() -> Option<&'static Sender<File>> {
    static CLOSER: OnceLock<Option<Sender<File>>> = OnceLock::new();
    let start = || {
        let (to, from) = channel();
        let thread = std::thread::Builder::new().name("file-closer".to_owned());
        thread.spawn(move || run(from)).ok().map(|_| to)
    };
    CLOSER.get_or_init(start).as_ref()
}

fn run(files: Receiver<File>) {
    for file in files {
        let mut left = file.metadata().map_or(0, |m| m.len());
        while left > 0 {
            left = left.saturating_sub(STEP);
            if file.set_len(left).is_err() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn open_files(name: &str) -> usize {
        let fds = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = fds.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
        links.filter(|l| l.to_string_lossy().contains(name)).count()
    }

    #[test]
    fn a_removed_file_is_closed_elsewhere_and_one_with_a_name_is_left_alone() {
        let name = format!("tidemill-closing-{}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        let make = || {
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path);
            let file = file.unwrap();
            file.set_len(5 * STEP + 1).unwrap();
            file
        };
        let file = make();
        hand_over(&file);
        drop(file);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 5 * STEP + 1);
        let file = make();
        std::fs::remove_file(&path).unwrap();
        hand_over(&file);
        drop(file);
        let begun = Instant::now();
        while open_files(&name) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "still open");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
