//! Files of a binary log, as a reader beside the server has them: kept before a crash, and held against what is there after it.
//!
//! They are ordinary files that others read while they are written, and what a reader has seen is promised to stay.

use harness::step::{self, Outcome};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What stands in a file's first event of whether it is in use: it is cleared when the file is ended, or found after a crash.
const IN_USE: std::ops::Range<usize> = 21..23;

/// Kinds of events.
const ROTATE: u8 = 4;
const FORMAT_DESCRIPTION: u8 = 15;
const PREVIOUS_GTIDS: u8 = 35;

/// The whole events of a file: where each begins, and its kind.
fn events(file: &[u8]) -> Vec<(usize, u8)> {
    let mut found = Vec::new();
    let mut at = 4;
    while let Some(size) = file.get(at + 9..at + 13) {
        let size = u32::from_le_bytes([size[0], size[1], size[2], size[3]]) as usize;
        if size < 19 || at + size > file.len() {
            break;
        }
        found.push((at, file[at + 4]));
        at += size;
    }
    found
}

/// The names of the files of a binary log, in order.
fn files(dir: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path.file_name().and_then(|n| n.to_str());
        let number = name.and_then(|n| n.strip_prefix("binlog."));
        if number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// All files of a binary log at a moment.
#[derive(Debug, Default)]
pub struct Kept(BTreeMap<PathBuf, Vec<u8>>);

impl Kept {
    /// Reads them.
    pub fn read(dir: &Path) -> Outcome<Kept> {
        let mut kept = Kept::default();
        for path in files(dir)? {
            let mut bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            if let Some(flags) = bytes.get_mut(IN_USE) {
                flags.fill(0);
            }
            kept.0.insert(path, bytes);
        }
        Ok(kept)
    }

    /// Without what nobody was shown yet: the event that ends a file, and the file behind it, may be written before it is durable that there is such a
    /// file. Where a user has asked for it (FLUSH BINARY LOGS), it may come to nothing.
    pub fn shown(mut self) -> Kept {
        let heads = [FORMAT_DESCRIPTION, PREVIOUS_GTIDS];
        if let Some(last) = self.0.last_entry()
            && events(last.get())
                .iter()
                .all(|(_, kind)| heads.contains(kind))
        {
            last.remove();
        }
        if let Some(mut last) = self.0.last_entry()
            && let Some(&(at, ROTATE)) = events(last.get()).last()
        {
            last.get_mut().truncate(at);
        }
        self
    }

    /// Bytes of all.
    pub fn size(&self) -> u64 {
        self.0.values().map(|b| b.len() as u64).sum()
    }

    /// Each of these files is there with all that it had, and all but the last are as they were.
    pub fn must_begin(&self, now: &Kept) -> Outcome<()> {
        let last = self.0.keys().next_back();
        for (path, before) in &self.0 {
            let name = path.display();
            let Some(after) = now.0.get(path) else {
                return Err(format!("{name} is gone after the crash"));
            };
            let common = before.iter().zip(after).take_while(|(a, b)| a == b).count();
            if common < before.len() {
                return Err(format!(
                    "{name} had {} bytes and has {}: other ones from {common} on",
                    before.len(),
                    after.len()
                ));
            }
            if Some(path) != last && after.len() != before.len() {
                return Err(format!(
                    "{name} was ended with {} bytes and has {}",
                    before.len(),
                    after.len()
                ));
            }
        }
        Ok(())
    }
}

/// `mariadb-binlog --verify-binlog-checksum` reads all files to their ends.
pub fn verify(dir: &Path) -> Outcome<usize> {
    let files = files(dir)?;
    for file in &files {
        let mut command = Command::new("mariadb-binlog");
        command.args([
            "--no-defaults",
            "--verify-binlog-checksum",
            "--base64-output=decode-rows",
        ]);
        step::must(command.arg(file).stdout(std::process::Stdio::null()))?;
    }
    Ok(files.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(files: &[(&str, &[u8])]) -> Kept {
        Kept(
            files
                .iter()
                .map(|(n, b)| (PathBuf::from(n), b.to_vec()))
                .collect(),
        )
    }

    #[test]
    fn what_was_not_shown_may_go() {
        let event = |kind: u8| {
            let mut event = vec![0; 19];
            (event[4], event[9]) = (kind, 19);
            event
        };
        let file = |kinds: &[u8]| {
            let events = kinds.iter().flat_map(|k| event(*k));
            [b"\xfebin".to_vec(), events.collect()].concat()
        };
        let (whole, open) = (file(&[15, 35, 33, 2, 4]), file(&[15, 35, 33, 2]));
        let begun = kept(&[("1", &whole), ("2", &file(&[15, 35]))]);
        assert_eq!(begun.shown().0, kept(&[("1", &open)]).0);
        let filled = [("1", &whole[..]), ("2", &open)];
        assert_eq!(kept(&filled).shown().0, kept(&filled).0);
    }

    #[test]
    fn a_file_may_grow_at_its_end_alone() {
        let before = kept(&[("1", b"abc"), ("2", b"de")]);
        let good = kept(&[("1", b"abc"), ("2", b"def"), ("3", b"")]);
        assert!(before.must_begin(&good).is_ok());
        for bad in [
            kept(&[("1", b"abc")]),
            kept(&[("1", b"abcd"), ("2", b"de")]),
            kept(&[("1", b"abc"), ("2", b"d")]),
            kept(&[("1", b"abc"), ("2", b"dx")]),
        ] {
            assert!(before.must_begin(&bad).is_err());
        }
    }
}
