//! Reads the log forward at start-up, verifying each record; finds where it ends.

use super::record::{RECORD_HEADER, Record, claimed_len};
use super::segment::Segments;
use base::Lsn;
use std::io;

/// Bytes read at once.
const CHUNK: usize = 4 << 20;

/// Shown records one after the other: (start, end, record).
pub type Observer<'a> = dyn FnMut(Lsn, Lsn, &Record<'_>) + Send + 'a;

/// A forward reader. `jumps` are the positions at which earlier recoveries left the rest of a segment unused:
/// (from, to).
pub struct Scanner<'a> {
    segments: &'a Segments,
    jumps: &'a [(Lsn, Lsn)],
    at: Lsn,
    buf: Vec<u8>,
    buf_start: u64,
    /// What lies below was verified before; behind it nothing is read.
    known: Option<Lsn>,
}

impl<'a> Scanner<'a> {
    /// Starts at `from`, which must be the start of a record or the end of the log.
    pub fn new(segments: &'a Segments, jumps: &'a [(Lsn, Lsn)], from: Lsn) -> Scanner<'a> {
        Scanner {
            segments,
            jumps,
            at: from,
            buf: Vec::new(),
            buf_start: from.0,
            known: None,
        }
    }

    /// As [`Scanner::new`], over the records below `until`, which another scan of the same files has just verified.
    pub fn known(
        segments: &'a Segments,
        jumps: &'a [(Lsn, Lsn)],
        from: Lsn,
        until: Lsn,
    ) -> Scanner<'a> {
        Scanner {
            known: Some(until),
            ..Scanner::new(segments, jumps, from)
        }
    }

    /// For [`Scanner::known`]: more has been verified.
    pub fn known_until(&mut self, until: Lsn) {
        self.known = Some(until);
    }

    /// Where the next record starts.
    pub fn position(&self) -> Lsn {
        self.at
    }

    /// The next record with its start and end, or `None` at the end of the log.
    ///
    /// # Errors
    /// What reading the segments fails with. A damaged record is no error but the end.
    pub fn next_record(&mut self) -> io::Result<Option<(Lsn, Lsn, Record<'_>)>> {
        while let Some((_, to)) = self.jumps.iter().find(|(from, _)| *from == self.at) {
            self.at = *to;
        }
        if self.known.is_some_and(|until| self.at >= until) {
            return Ok(None);
        }
        if !self.ensure(RECORD_HEADER)? {
            return Ok(None);
        }
        let off = (self.at.0 - self.buf_start) as usize;
        let Some(len) = claimed_len(&self.buf[off..]) else {
            return Ok(None);
        };
        if !self.ensure(len)? {
            return Ok(None);
        }
        let off = (self.at.0 - self.buf_start) as usize;
        let start = self.at;
        let bytes = &self.buf[off..off + len];
        let record = match self.known {
            Some(_) => Record::parse(bytes),
            None => Record::verify(bytes, start),
        };
        match record {
            None => Ok(None),
            Some(r) => {
                self.at = Lsn(start.0 + len as u64);
                Ok(Some((start, self.at, r)))
            }
        }
    }

    /// Makes `n` bytes from the current position available; false when the files end before.
    fn ensure(&mut self, n: usize) -> io::Result<bool> {
        let have = (self.buf_start + self.buf.len() as u64).saturating_sub(self.at.0);
        if self.at.0 >= self.buf_start && have >= n as u64 {
            return Ok(true);
        }
        let keep = if self.at.0 >= self.buf_start && have > 0 {
            let from = (self.at.0 - self.buf_start) as usize;
            self.buf.drain(..from);
            self.buf.len()
        } else {
            self.buf.clear();
            0
        };
        self.buf_start = self.at.0;
        let mut at = self.at.0 + keep as u64;
        let target = n.max(CHUNK);
        while self.buf.len() < target {
            let Some((file, off)) = self.segments.locate(Lsn(at))? else {
                break;
            };
            let left = self.segments.size() - at % self.segments.size();
            let want = (target - self.buf.len()).min(left as usize);
            let old = self.buf.len();
            self.buf.resize(old + want, 0);
            let got = file.read_now(&mut self.buf[old..], off)?;
            self.buf.truncate(old + got);
            at += got as u64;
            if got < want {
                break;
            }
        }
        Ok(self.buf.len() >= n)
    }
}
