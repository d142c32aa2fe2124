//! The archive's own file: whose binary log it has, which files are whole, and where that log was begun anew.
//!
//! What it never does: say of a file that it is whole which is not durable in the archive.

use base::environment::{Disk, File, OpenMode};
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What the file is called.
pub const MARKER: &str = "tidemill-archive";
/// Its form.
const FORM: &str = "1";
/// More is not read of it.
const LONGEST: u64 = 1 << 20;

/// What it says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Marker {
    /// The server's UUID.
    pub uuid: String,
    /// What the files are called, without a number.
    pub base: String,
    /// All files up to this one are whole; 0: none is.
    pub through: u32,
    /// With these files the binary log was begun anew: what is before them is of another history.
    pub begun: Vec<u32>,
    /// RESET is about to begin with this one.
    pub reset_to: Option<u32>,
}

impl Marker {
    /// As text.
    pub fn encode(&self) -> String {
        let mut text = format!(
            "archive {FORM}\nserver_uuid {}\nfiles {}\nthrough {}\n",
            self.uuid, self.base, self.through
        );
        for number in &self.begun {
            let _ = writeln!(text, "begun {number}");
        }
        if let Some(number) = self.reset_to {
            let _ = writeln!(text, "reset_to {number}");
        }
        let sum = base::checksum::crc32c(text.as_bytes());
        let _ = writeln!(text, "crc32c {sum:08x}");
        text
    }

    /// From text; `None`: it is damaged, or of another form.
    pub fn decode(text: &str) -> Option<Marker> {
        let (front, sum) = text.strip_suffix('\n')?.rsplit_once('\n')?;
        let sum = u32::from_str_radix(sum.strip_prefix("crc32c ")?, 16).ok()?;
        if base::checksum::crc32c(&text.as_bytes()[..=front.len()]) != sum {
            return None;
        }
        let mut marker = Marker::default();
        let mut lines = front.lines();
        if lines.next()?.strip_prefix("archive ")? != FORM {
            return None;
        }
        for line in lines {
            let (name, value) = line.split_once(' ')?;
            match name {
                "server_uuid" => value.clone_into(&mut marker.uuid),
                "files" => value.clone_into(&mut marker.base),
                "through" => marker.through = value.parse().ok()?,
                "begun" => marker.begun.push(value.parse().ok()?),
                "reset_to" => marker.reset_to = Some(value.parse().ok()?),
                _ => return None,
            }
        }
        (!marker.uuid.is_empty() && !marker.base.is_empty()).then_some(marker)
    }

    /// That of a folder; `None`: it has none.
    ///
    /// # Errors
    /// What the disk answers; `InvalidData`: it is damaged.
    pub fn read(disk: &dyn Disk, dir: &Path) -> io::Result<Option<Marker>> {
        let file = match disk.open(&dir.join(MARKER), OpenMode::Buffered, false) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            r => r?,
        };
        let mut bytes = vec![0; file.len()?.min(LONGEST) as usize];
        let got = file.read_now(&mut bytes, 0)?;
        let text = String::from_utf8_lossy(&bytes[..got]);
        let damaged = || {
            let text = format!("{} is damaged", dir.join(MARKER).display());
            io::Error::new(io::ErrorKind::InvalidData, text)
        };
        Marker::decode(&text).map(Some).ok_or_else(damaged)
    }

    /// Puts it in the place of the one before: after a crash it is either of them.
    ///
    /// # Errors
    /// What the disk answers. It can be tried again.
    pub fn write(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        let beside = dir.join(format!("{MARKER}.new"));
        let file = make(disk, &beside)?;
        file.write_now(self.encode().as_bytes(), 0)?;
        file.sync_now()?;
        drop(file);
        disk.rename(&beside, &dir.join(MARKER))?;
        disk.sync_dir(dir)
    }
}

/// Makes a file. What has its name goes: it is what was left of a time before, or a link by which somebody would have another file written to.
pub(super) fn make(disk: &dyn Disk, path: &Path) -> io::Result<Arc<dyn File>> {
    match disk.remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let file = disk.open(path, OpenMode::Buffered, true)?;
    file.truncate(0)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        let marker = Marker {
            uuid: "3e11fa47-71ca-11e1-9e33-c80aa9429562".to_owned(),
            base: "binlog".to_owned(),
            through: 12,
            begun: vec![3, 9],
            reset_to: Some(14),
        };
        let text = marker.encode();
        assert_eq!(Marker::decode(&text), Some(marker));
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(Marker::decode(&changed), None, "{changed}");
            assert_eq!(Marker::decode(&text[..at]), None, "{at}");
        }
    }
}
