//! What a backup says of itself, as lines of text: a name, a space, a value. The last line has the checksum of all before it.
//!
//! A name or a value that is not known, or comes twice, makes it damaged: a later version that says more has another number.

use super::chunk::Unusable;
use crate::compressed::{CompressedFormat, Method};
use crate::holds::Born;
use base::checksum::crc32c;
use base::{Lsn, SpaceId};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The form of manifests and streams.
pub const BACKUP_FORMAT: u32 = 1;
/// No manifest is longer.
pub const MANIFEST_MAX: usize = 8 << 20;
/// The largest segments of a log that there are.
const SEGMENT_MAX: u64 = 64 << 20;
const SEGMENT_MIN: u64 = 64 << 10;
/// Jumps that a control file has.
const JUMPS_MAX: usize = crate::control::JUMPS_MAX;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Which backup it is.
    pub id: u64,
    /// The backup behind which this one has what has changed; 0: it stands for itself.
    pub parent: u64,
    /// Pages with no change behind this position were left out.
    pub since: Lsn,
    /// The program that made it.
    pub program: String,
    /// When it began and ended, in microseconds since 1970.
    pub begun_us: i64,
    /// See `begun_us`.
    pub ended_us: i64,
    /// Which log it is of.
    pub log_id: u64,
    /// Bytes of its segments.
    pub segment_size: u64,
    /// Where recovery begins.
    pub redo: Lsn,
    /// The checkpoint of there.
    pub checkpoint: Lsn,
    /// From where the backup has the log.
    pub needed: Lsn,
    /// Up to where it has it: what was committed before this position is restored, and nothing else.
    pub end: Lsn,
    /// Stretches that the log leaves out.
    pub jumps: Vec<(Lsn, Lsn)>,
    /// Tablespaces whose pages it has, and how these are compressed in their files.
    pub spaces: BTreeMap<u32, Option<CompressedFormat>>,
    /// Tablespaces that were made meanwhile, and are in the log as a whole.
    pub born: BTreeMap<u32, Born>,
    /// The transactions that are in it, and the place in the binary log behind them, if there was one.
    pub gtid_executed: Option<String>,
    /// The binary log's file and position, if there was one.
    pub binary_log: Option<(String, u64)>,
    /// Pages that it has.
    pub pages: u64,
    /// Chunks in front of the last.
    pub chunks: u64,
}

fn lsn_pairs(jumps: &[(Lsn, Lsn)]) -> String {
    let pairs = jumps.iter().map(|(from, to)| format!("{from}:{to}"));
    pairs.collect::<Vec<_>>().join(",")
}

pub(super) fn format_text(f: &Option<CompressedFormat>) -> String {
    match f {
        None => "plain".to_owned(),
        Some(f) => format!("{}:{}:{}:{}", f.unit, f.block, f.method as u8, f.level),
    }
}

pub(super) fn format_of(text: &str) -> Option<Option<CompressedFormat>> {
    if text == "plain" {
        return Some(None);
    }
    let mut parts = text.split(':');
    let mut next = || parts.next()?.parse::<u32>().ok();
    let format = CompressedFormat {
        unit: next()?,
        block: next()?,
        method: Method::from_u8(u8::try_from(next()?).ok()?)?,
        level: u8::try_from(next()?).ok()?,
    };
    (parts.next().is_none() && format.is_valid()).then_some(Some(format))
}

fn clean(text: &str) -> String {
    let line = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(line).collect()
}

impl Manifest {
    /// Its text.
    pub fn encode(&self) -> String {
        let mut out = format!("tidemill-backup {BACKUP_FORMAT}\n");
        let mut put = |name: &str, value: &dyn std::fmt::Display| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{name} {value}");
        };
        put("id", &format_args!("{:016x}", self.id));
        put("parent", &format_args!("{:016x}", self.parent));
        put("since", &self.since);
        put("program", &clean(&self.program));
        put("begun", &self.begun_us);
        put("ended", &self.ended_us);
        put("log-id", &format_args!("{:016x}", self.log_id));
        put("segment-size", &self.segment_size);
        put("redo", &self.redo);
        put("checkpoint", &self.checkpoint);
        put("needed", &self.needed);
        put("end", &self.end);
        if !self.jumps.is_empty() {
            put("jumps", &lsn_pairs(&self.jumps));
        }
        for (id, format) in &self.spaces {
            put("space", &format_args!("{id} {}", format_text(format)));
        }
        for (id, b) in &self.born {
            let format = format_text(&b.format);
            put("born", &format_args!("{id} {format} {}", b.lsn));
        }
        if let Some(set) = &self.gtid_executed {
            put("gtid-executed", &clean(set));
        }
        if let Some((file, position)) = &self.binary_log {
            put("binary-log", &format_args!("{position} {}", clean(file)));
        }
        put("pages", &self.pages);
        put("chunks", &self.chunks);
        let crc = crc32c(out.as_bytes());
        let _ = writeln!(out, "crc32c {crc:08x}");
        out
    }

    /// Reads a text.
    ///
    /// # Errors
    /// See [`Unusable`].
    pub fn decode(bytes: &[u8]) -> Result<Manifest, Unusable> {
        let damaged = |why: &str| Unusable::Damaged(format!("its manifest: {why}"));
        if bytes.len() > MANIFEST_MAX {
            return Err(damaged("too long"));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| damaged("it is no text"))?;
        let first = text.lines().next().unwrap_or_default();
        match first
            .strip_prefix("tidemill-backup ")
            .map(str::parse::<u32>)
        {
            Some(Ok(BACKUP_FORMAT)) => {}
            Some(Ok(n)) => {
                let why =
                    format!("the backup has form {n}, this program knows form {BACKUP_FORMAT}");
                return Err(Unusable::Other(why));
            }
            _ => return Err(damaged("it does not begin as one")),
        }
        let at = text
            .trim_end_matches('\n')
            .rfind('\n')
            .map_or(0, |at| at + 1);
        let (body, last) = text.split_at(at);
        let crc = last.trim_end().strip_prefix("crc32c ");
        let crc = crc.and_then(|c| u32::from_str_radix(c, 16).ok());
        if crc != Some(crc32c(body.as_bytes())) {
            return Err(damaged("its checksum does not fit"));
        }
        let mut m = Manifest::default();
        let mut seen = std::collections::BTreeSet::new();
        for line in body.lines().skip(1) {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            if !matches!(name, "space" | "born") && !seen.insert(name) {
                return Err(damaged("a line comes twice"));
            }
            m.set(name, value)
                .ok_or_else(|| damaged(&format!("the line '{}'", clean(line))))?;
        }
        for name in [
            "id",
            "parent",
            "since",
            "log-id",
            "segment-size",
            "redo",
            "checkpoint",
            "needed",
            "end",
        ] {
            if !seen.contains(name) {
                return Err(damaged(&format!("'{name}' is missing")));
            }
        }
        m.check().map_err(damaged)?;
        Ok(m)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let hex = || u64::from_str_radix(value, 16).ok();
        let lsn = || value.parse::<u64>().ok().map(Lsn);
        match name {
            "id" => self.id = hex()?,
            "parent" => self.parent = hex()?,
            "since" => self.since = lsn()?,
            "program" => self.program = value.to_owned(),
            "begun" => self.begun_us = value.parse().ok()?,
            "ended" => self.ended_us = value.parse().ok()?,
            "log-id" => self.log_id = hex()?,
            "segment-size" => self.segment_size = value.parse().ok()?,
            "redo" => self.redo = lsn()?,
            "checkpoint" => self.checkpoint = lsn()?,
            "needed" => self.needed = lsn()?,
            "end" => self.end = lsn()?,
            "jumps" => {
                for pair in value.split(',') {
                    let (from, to) = pair.split_once(':')?;
                    self.jumps
                        .push((Lsn(from.parse().ok()?), Lsn(to.parse().ok()?)));
                }
            }
            "space" => {
                let (id, format) = value.split_once(' ')?;
                let id = space_id(id)?;
                if self.spaces.insert(id, format_of(format)?).is_some() {
                    return None;
                }
            }
            "born" => {
                let mut parts = value.split(' ');
                let id = space_id(parts.next()?)?;
                let format = format_of(parts.next()?)?;
                let lsn = Lsn(parts.next()?.parse().ok()?);
                let born = Born {
                    id: SpaceId(id),
                    format,
                    lsn,
                };
                if parts.next().is_some() || self.born.insert(id, born).is_some() {
                    return None;
                }
            }
            "gtid-executed" => self.gtid_executed = Some(value.to_owned()),
            "binary-log" => {
                let (position, file) = value.split_once(' ')?;
                self.binary_log = Some((file.to_owned(), position.parse().ok()?));
            }
            "pages" => self.pages = value.parse().ok()?,
            "chunks" => self.chunks = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }

    /// Whether all of it can be so together.
    fn check(&self) -> Result<(), &'static str> {
        if !(SEGMENT_MIN..=SEGMENT_MAX).contains(&self.segment_size) {
            return Err("no log has such segments");
        }
        // The end is not known in the first chunk.
        let end = match self.end {
            Lsn::NONE => Lsn(u64::MAX / 2),
            end => end,
        };
        let ordered = self.needed <= self.redo && self.redo <= self.checkpoint;
        if !ordered || self.checkpoint > end || end.0 > u64::MAX / 2 {
            return Err("its positions cannot be");
        }
        if self.needed.0 < self.segment_size {
            return Err("its log begins before any");
        }
        let mut at = Lsn::NONE;
        for (from, to) in &self.jumps {
            if *from < at || to <= from || to.0 > u64::MAX / 2 {
                return Err("its log's jumps cannot be");
            }
            at = *to;
        }
        if self.jumps.len() > JUMPS_MAX {
            return Err("too many jumps");
        }
        if self.spaces.keys().any(|id| self.born.contains_key(id)) {
            return Err("a tablespace comes twice");
        }
        Ok(())
    }

    /// What a backup of what has changed since has to know of this one.
    pub fn token(&self) -> SinceToken {
        SinceToken {
            id: self.id,
            log_id: self.log_id,
            redo: match base::mutant!("incremental-since-the-bases-end") {
                true => self.end,
                false => self.redo,
            },
            highest: self.spaces.keys().last().copied().unwrap_or(0),
            born: self.born.keys().copied().collect(),
        }
    }
}

/// The stretches of a log from one position to another, with these jumps.
pub(super) fn stretches(jumps: &[(Lsn, Lsn)], from: Lsn, to: Lsn) -> Vec<(Lsn, Lsn)> {
    let (mut at, mut all) = (from, Vec::new());
    for (left, next) in jumps {
        if *left < at || *left > to {
            continue;
        }
        if at < *left {
            all.push((at, *left));
        }
        at = *next;
    }
    if at < to {
        all.push((at, to));
    }
    all
}

fn space_id(text: &str) -> Option<u32> {
    let id = text.parse().ok()?;
    (id > 0 && !SpaceId(id).is_temporary()).then_some(id)
}

/// Since which backup another has what has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinceToken {
    /// Which backup.
    pub id: u64,
    /// Which log it is of.
    pub log_id: u64,
    /// It has all changes before this position.
    pub redo: Lsn,
    /// Tablespaces with a higher number are not in it.
    pub highest: u32,
    /// Nor are the pages of these.
    pub born: Vec<u32>,
}

impl SinceToken {
    /// As a word.
    pub fn encode(&self) -> String {
        let born = self.born.iter().map(|id| format!(".{id}"));
        format!(
            "1.{:016x}.{:016x}.{}.{}{}",
            self.id,
            self.log_id,
            self.redo,
            self.highest,
            born.collect::<String>()
        )
    }

    /// Of such a word.
    pub fn decode(text: &str) -> Option<SinceToken> {
        let mut parts = text.split('.');
        if parts.next()? != "1" {
            return None;
        }
        let mut hex = || u64::from_str_radix(parts.next()?, 16).ok();
        let (id, log_id) = (hex()?, hex()?);
        let redo = Lsn(parts.next()?.parse().ok()?);
        let highest = parts.next()?.parse().ok()?;
        let born: Option<Vec<u32>> = parts.map(|id| id.parse().ok()).collect();
        Some(SinceToken {
            id,
            log_id,
            redo,
            highest,
            born: born?,
        })
    }

    /// From which position on changes of this tablespace's pages are not in the backup.
    pub(super) fn of(&self, space: SpaceId) -> Lsn {
        match space.0 <= self.highest && !self.born.contains(&space.0) {
            true => self.redo,
            false => Lsn::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Manifest {
        let format = CompressedFormat {
            unit: 512,
            block: 8192,
            method: Method::Zstd,
            level: 6,
        };
        let born = Born {
            id: SpaceId(9),
            format: Some(format),
            lsn: Lsn(1 << 22),
        };
        Manifest {
            id: 0x1234,
            program: "x\ny".to_owned(),
            log_id: 7,
            segment_size: 1 << 20,
            redo: Lsn(3 << 20),
            checkpoint: Lsn(4 << 20),
            needed: Lsn(2 << 20),
            end: Lsn(5 << 20),
            jumps: vec![(Lsn(3 << 20), Lsn(4 << 20))],
            spaces: [(1, None), (5, Some(format))].into(),
            born: [(9, born)].into(),
            gtid_executed: Some("a:1-3".to_owned()),
            binary_log: Some(("binlog.000001".to_owned(), 157)),
            pages: 3,
            chunks: 4,
            ..Manifest::default()
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let m = one();
        let read = Manifest::decode(m.encode().as_bytes()).unwrap();
        let program = "x y".to_owned();
        assert_eq!(read, Manifest { program, ..m });
        let token = read.token();
        assert_eq!(SinceToken::decode(&token.encode()), Some(token.clone()));
        assert_eq!(token.of(SpaceId(5)), Lsn(3 << 20));
        assert_eq!(token.of(SpaceId(9)), Lsn::NONE);
        assert_eq!(
            stretches(&read.jumps, read.needed, read.end),
            [(Lsn(2 << 20), Lsn(3 << 20)), (Lsn(4 << 20), Lsn(5 << 20))]
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let text = one().encode();
        for at in 0..text.len() - 1 {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert!(Manifest::decode(&bytes).is_err(), "{at}");
            assert!(Manifest::decode(&text.as_bytes()[..at]).is_err(), "{at}");
        }
        for wrong in [
            Manifest {
                segment_size: 1 << 40,
                ..one()
            },
            Manifest {
                needed: Lsn(7 << 20),
                ..one()
            },
            Manifest {
                jumps: vec![(Lsn(4 << 20), Lsn(3 << 20))],
                ..one()
            },
            Manifest {
                end: Lsn(u64::MAX),
                ..one()
            },
        ] {
            assert!(
                Manifest::decode(wrong.encode().as_bytes()).is_err(),
                "{wrong:?}"
            );
        }
        for (from, to) in [
            ("space 5", "space 0"),
            ("space 5", "space 3000000000"),
            ("space 5", "space 9"),
        ] {
            let body = text.replace(from, to);
            let body = &body[..body.trim_end().rfind('\n').unwrap() + 1];
            let sealed = format!("{body}crc32c {:08x}\n", crc32c(body.as_bytes()));
            assert!(Manifest::decode(sealed.as_bytes()).is_err(), "{to}");
        }
    }
}
