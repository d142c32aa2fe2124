//! The program as SQL shows it: its threads, as Linux knows them, and the last lines of its log.

use std::fs;
use std::sync::Arc;

use sql::context::host::{Host, HostThread, LogLine};

use crate::log::Log;

/// The program, with the log that it writes.
pub(crate) struct Program(pub Arc<Log>);

impl Host for Program {
    fn threads(&self) -> Vec<HostThread> {
        // Where there is no such folder, nothing is known of them.
        let Ok(folder) = fs::read_dir("/proc/self/task") else {
            return Vec::new();
        };
        let one = |entry: fs::DirEntry| {
            // One that has ended meanwhile has no name.
            let name = fs::read_to_string(entry.path().join("comm")).ok()?;
            Some(HostThread {
                name: name.trim_end().to_owned(),
                os_id: entry.file_name().to_str()?.parse().ok()?,
            })
        };
        let mut all: Vec<_> = folder.flatten().filter_map(one).collect();
        all.sort_by_key(|t| t.os_id);
        all
    }

    fn log_lines(&self) -> Vec<LogLine> {
        self.0.recent()
    }
}
