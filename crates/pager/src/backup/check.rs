//! Goes through a backup's log record by record, as a start would: what is in it is whole, and goes up to the end without a gap.

use crate::log::Record;
use crate::log::record::{RECORD_HEADER, claimed_len};
use base::Lsn;

/// See the module.
pub struct LogCheck {
    /// Where the next byte is expected.
    at: Lsn,
    /// Where the first record begins.
    from: Lsn,
    jumps: Vec<(Lsn, Lsn)>,
    /// The beginning of a record whose end has not come, and where it begins.
    part: Vec<u8>,
    start: Lsn,
}

impl LogCheck {
    /// Of a log that begins at `needed`; records are looked at from `from` on.
    pub fn new(needed: Lsn, from: Lsn, jumps: &[(Lsn, Lsn)]) -> LogCheck {
        let mut check = LogCheck {
            at: needed,
            from,
            jumps: jumps.to_vec(),
            part: Vec::new(),
            start: from,
        };
        check.jump();
        check
    }

    /// Where the next bytes have to begin.
    pub fn expected(&self) -> Lsn {
        self.at
    }

    fn jump(&mut self) {
        if !self.part.is_empty() {
            return;
        }
        while let Some((_, to)) = self.jumps.iter().find(|(from, _)| *from == self.at) {
            self.at = *to;
        }
        self.start = self.at.max(self.from);
    }

    /// The next bytes of the log, which must not lie on both sides of a jump.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn push(&mut self, at: Lsn, bytes: &[u8]) -> Result<(), String> {
        if at != self.at {
            return Err(format!("its log goes on at {at} and not at {}", self.at));
        }
        let end = at.0.checked_add(bytes.len() as u64);
        let end = end.ok_or("its log has no end")?;
        let over = |(from, to): &&(Lsn, Lsn)| from.0 < end && to.0 > at.0;
        if let Some((from, to)) = self.jumps.iter().find(over) {
            return Err(format!("its log has something between {from} and {to}"));
        }
        // What lies before the first record is not looked at.
        let skip = self.from.0.saturating_sub(at.0).min(bytes.len() as u64);
        let bytes = &bytes[skip as usize..];
        self.at = Lsn(end);
        if self.part.is_empty() {
            self.start = Lsn(at.0 + skip);
            let done = self.records(bytes)?;
            self.part.extend_from_slice(&bytes[done..]);
        } else {
            self.part.extend_from_slice(bytes);
            let part = std::mem::take(&mut self.part);
            let done = self.records(&part)?;
            self.part.extend_from_slice(&part[done..]);
        }
        self.jump();
        Ok(())
    }

    /// Verifies the whole records that begin at `start`; gives how many bytes they are.
    fn records(&mut self, bytes: &[u8]) -> Result<usize, String> {
        let mut done = 0;
        while bytes.len() - done >= RECORD_HEADER {
            let start = self.start;
            let wrong = || format!("its log has no record at {start}");
            let len = claimed_len(&bytes[done..]).ok_or_else(wrong)?;
            let Some(record) = bytes.get(done..done + len) else {
                break;
            };
            Record::verify(record, start).ok_or_else(wrong)?;
            done += len;
            self.start = Lsn(start.0 + len as u64);
        }
        Ok(done)
    }

    /// All has come.
    ///
    /// # Errors
    /// The log does not end there, or not with a whole record.
    pub fn finish(&self, end: Lsn) -> Result<(), String> {
        let jumped = self
            .jumps
            .iter()
            .any(|(from, to)| *from == end && *to == self.at);
        if self.at != end && !jumped {
            return Err(format!("its log ends at {} and not at {end}", self.at));
        }
        match self.part.is_empty() {
            true => Ok(()),
            false => Err(format!("its log ends within the record at {}", self.start)),
        }
    }
}
