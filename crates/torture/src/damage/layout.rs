//! Reads a stopped directory's files by docs/format.md, independently of the program: where the pages are and of which
//! kind, where the log's records begin and end.

use harness::step::Outcome;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Bytes of a page.
pub const PAGE: usize = 16384;

/// Bytes of a slot of the control file.
pub const SLOT: usize = 4096;

/// Bytes of a log segment's header.
pub const SEGMENT_HEADER: u64 = 4096;

/// A record's kind that ends a transaction for good.
pub const COMMIT: u8 = 4;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

/// CRC32C, bit by bit: what is read here is small.
fn crc32c(parts: &[&[u8]]) -> u32 {
    let mut crc = !0u32;
    for byte in parts.iter().flat_map(|p| p.iter()) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0x82f6_3b78
            } else {
                crc >> 1
            };
        }
    }
    !crc
}

/// What the newest whole slot of the control file says.
#[derive(Debug, Default)]
pub struct Control {
    /// Which slot it is.
    pub slot: usize,
    segment: u64,
    /// Where recovery begins to read.
    pub redo: u64,
    /// Start of the last checkpoint record.
    pub checkpoint: u64,
    jumps: Vec<(u64, u64)>,
}

/// Reads the control file.
pub fn control(path: &Path) -> Outcome<Control> {
    let bytes = read(path)?;
    let mut best: Option<(u64, Control)> = None;
    for slot in 0..2 {
        let Some(b) = bytes.get(slot * SLOT..(slot + 1) * SLOT) else {
            continue;
        };
        if u32_at(b, SLOT - 4) != crc32c(&[&b[..SLOT - 4]]) {
            continue;
        }
        let seq = u64_at(b, 16);
        if best.as_ref().is_none_or(|x| x.0 < seq) {
            let jumps = (0..u32_at(b, 64) as usize)
                .map(|i| (u64_at(b, 72 + i * 16), u64_at(b, 80 + i * 16)))
                .collect();
            let read = Control {
                slot,
                segment: u64_at(b, 32),
                redo: u64_at(b, 40),
                checkpoint: u64_at(b, 48),
                jumps,
            };
            best = Some((seq, read));
        }
    }
    best.map(|x| x.1)
        .ok_or_else(|| format!("{}: no whole slot", path.display()))
}

fn read(path: &Path) -> Outcome<Vec<u8>> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// A record of the log.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// Its position.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// Its kind.
    pub kind: u8,
}

/// The log of a stopped directory.
#[derive(Debug)]
pub struct Log {
    /// What the control file says.
    pub control: Control,
    /// Its records from the redo position to the end, without those that were left behind by jumps.
    pub records: Vec<Record>,
    /// The segments' file names, by number.
    pub segments: BTreeMap<u64, String>,
}

impl Log {
    /// Reads the log folder of a data directory.
    pub fn read(datadir: &Path) -> Outcome<Log> {
        let folder = datadir.join("log");
        let control = control(&folder.join("control"))?;
        let mut segments = BTreeMap::new();
        let mut bytes = BTreeMap::new();
        for (name, path) in entries(&folder)? {
            if let Some(n) = name
                .strip_suffix(".log")
                .and_then(|n| n.parse::<u64>().ok())
            {
                bytes.insert(n, read(&path)?);
                segments.insert(n, name);
            }
        }
        let size = control.segment;
        let some = |mut at: u64, len: usize| -> Option<Vec<u8>> {
            let mut out = Vec::with_capacity(len);
            while out.len() < len {
                let file = bytes.get(&(at / size))?;
                let from = (SEGMENT_HEADER + at % size) as usize;
                let n = (len - out.len()).min((size - at % size) as usize);
                out.extend_from_slice(file.get(from..from + n)?);
                at += n as u64;
            }
            Some(out)
        };
        let mut records = Vec::new();
        let mut at = control.redo;
        loop {
            while let Some((_, to)) = control.jumps.iter().find(|j| j.0 == at) {
                at = *to;
            }
            let Some(head) = some(at, 32) else { break };
            let len = u32_at(&head, 0) as usize;
            if !(32..=512 << 10).contains(&len) || !len.is_multiple_of(8) {
                break;
            }
            let Some(record) = some(at, len) else { break };
            let sum = crc32c(&[&at.to_le_bytes(), &record[..4], &record[8..]]);
            if u32_at(&record, 4) != sum {
                break;
            }
            records.push(Record {
                start: at,
                end: at + len as u64,
                kind: record[8],
            });
            at += len as u64;
        }
        Ok(Log {
            control,
            records,
            segments,
        })
    }

    /// End of the log.
    pub fn end(&self) -> u64 {
        self.records.last().map_or(self.control.redo, |r| r.end)
    }

    /// Is this position in one of the records?
    pub fn holds(&self, at: u64) -> bool {
        let n = self.records.partition_point(|r| r.end <= at);
        self.records.get(n).is_some_and(|r| r.start <= at)
    }

    /// The file that holds a position, as a path in the data directory, and the offset in it.
    pub fn place(&self, at: u64) -> Option<(String, u64)> {
        let name = self.segments.get(&(at / self.control.segment))?;
        Some((
            format!("log/{name}"),
            SEGMENT_HEADER + at % self.control.segment,
        ))
    }

    /// The position at an offset in a segment's file; none in its header.
    pub fn position(&self, segment: u64, offset: u64) -> Option<u64> {
        let at = offset.checked_sub(SEGMENT_HEADER)?;
        Some(segment * self.control.segment + at)
    }

    /// The ends of the last `count` commits, oldest first.
    pub fn last_commits(&self, count: usize) -> Outcome<Vec<Record>> {
        let all: Vec<Record> = self
            .records
            .iter()
            .filter(|r| r.kind == COMMIT)
            .copied()
            .collect();
        all.len()
            .checked_sub(count)
            .map(|from| all[from..].to_vec())
            .ok_or_else(|| format!("the log has {} commits, {count} were made", all.len()))
    }
}

/// Names and paths in a folder, sorted.
fn entries(folder: &Path) -> Outcome<Vec<(String, PathBuf)>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let entry = entry.map_err(|e| e.to_string())?;
        all.push((
            entry.file_name().to_string_lossy().into_owned(),
            entry.path(),
        ));
    }
    all.sort();
    Ok(all)
}

/// Every file of a data directory by its path in it, with its length.
pub fn files(datadir: &Path) -> Outcome<Vec<(String, u64)>> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for (name, path) in entries(&datadir.join(&folder))? {
            let inside = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            let meta = path
                .metadata()
                .map_err(|e| format!("{}: {e}", path.display()))?;
            if meta.is_dir() {
                folders.push(inside);
            } else {
                found.push((inside, meta.len()));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The pages of a tablespace by what they are: their kind's number, or 255 where there is nothing but zeros.
pub fn pages(path: &Path) -> Outcome<BTreeMap<u8, Vec<u32>>> {
    let bytes = read(path)?;
    let mut kinds: BTreeMap<u8, Vec<u32>> = BTreeMap::new();
    for (page, no) in bytes.chunks_exact(PAGE).zip(0u32..) {
        let kind = if page.iter().all(|b| *b == 0) {
            255
        } else {
            page[12]
        };
        kinds.entry(kind).or_default().push(no);
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_castagnolis() {
        // RFC 3720, appendix B.4.
        assert_eq!(crc32c(&[&[0; 32]]), 0x8a91_36aa);
        assert_eq!(crc32c(&[b"1234", b"56789"]), 0xe306_9283);
    }
}
