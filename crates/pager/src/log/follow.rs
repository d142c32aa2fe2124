//! Reads the log forward while it is written: from memory, and from the files where memory has gone on. Shows what is durable, and
//! nothing else.
//!
//! What it never does: ask for a sync, look again after a time, or hold up who writes. Who does not keep the files that it has still to
//! read from being used again ([`crate::CheckpointSource::retain`]) is told that they are gone.

use super::Log;
use super::record::{RECORD_HEADER, Record, claimed_len};
use crate::error::OpError;
use base::{AlignedBuf, IoBuf, Lsn};
use std::sync::Arc;

/// Bytes taken at once.
const CHUNK: u64 = 256 << 10;
/// What reads of the files are aligned to.
const SECTOR: u64 = 4096;

/// A reader that goes along with the log.
pub struct LogFollower {
    log: Arc<Log>,
    /// As [`Scanner`](super::Scanner) has them.
    jumps: Vec<(Lsn, Lsn)>,
    /// Where the next record starts.
    at: Lsn,
    /// The last record: its place in `buf`.
    record: (usize, usize),
    /// Bytes of the log from `start` on, all of them durable.
    buf: Vec<u8>,
    start: u64,
    /// Records up to here came from the files, and have not been verified yet.
    unverified: u64,
}

impl LogFollower {
    pub(crate) fn new(log: Arc<Log>, jumps: Vec<(Lsn, Lsn)>, from: Lsn) -> LogFollower {
        LogFollower {
            log,
            jumps,
            at: from,
            record: (0, 0),
            buf: Vec::new(),
            start: from.0,
            unverified: 0,
        }
    }

    /// Where the next record starts.
    pub fn position(&self) -> Lsn {
        self.at
    }

    /// Goes on to the next record, and gives its start and its end; waits until there is one that is durable. `None`: the log was closed in good
    /// order, and ends here. Whoever stops waiting loses nothing.
    ///
    /// # Errors
    /// [`OpError::LogDamaged`]: what is there is no record, or the files of the log go on behind it; [`OpError::Io`]: the log cannot be read, or
    /// was closed after a failure.
    pub async fn next(&mut self) -> Result<Option<(Lsn, Lsn)>, OpError> {
        while let Some((_, to)) = self.jumps.iter().find(|(from, _)| *from == self.at) {
            self.at = *to;
        }
        if !self.have(RECORD_HEADER).await? {
            return Ok(None);
        }
        let damaged = OpError::LogDamaged(self.at);
        let Some(len) = claimed_len(&self.buf[self.offset()..]) else {
            return Err(damaged);
        };
        if !self.have(len).await? {
            // The log is durable in whole records.
            return Err(damaged);
        }
        let (from, start) = (self.offset(), self.at);
        let bytes = &self.buf[from..from + len];
        if start.0 < self.unverified && Record::verify(bytes, start).is_none() {
            return Err(damaged);
        }
        self.record = (from, from + len);
        self.at = Lsn(start.0 + len as u64);
        Ok(Some((start, self.at)))
    }

    /// The record that [`next`](Self::next) went to; `None` before that.
    pub fn record(&self) -> Option<Record<'_>> {
        Record::parse(&self.buf[self.record.0..self.record.1])
    }

    fn offset(&self) -> usize {
        (self.at.0 - self.start) as usize
    }

    /// Makes so many bytes from the current position available; false where the log was closed before they came.
    async fn have(&mut self, n: usize) -> Result<bool, OpError> {
        if self.at.0 > self.start + self.buf.len() as u64 {
            // Behind a jump.
            self.buf.clear();
            self.start = self.at.0;
        }
        while self.buf.len() - self.offset() < n {
            let end = self.start + self.buf.len() as u64;
            if self.log.durable().0 <= end {
                match self.log.wait_until_durable(Lsn(end + 8)).await {
                    Ok(()) => {}
                    Err(_) if self.log.is_closed() && self.log.failure().is_none() => {
                        return Ok(false);
                    }
                    Err(e) => return Err(e),
                }
            }
            // What was used goes first: what is left is less than a record.
            let used = self.offset();
            self.buf.drain(..used);
            self.start = self.at.0;
            self.record = (0, 0);
            self.fill(end).await?;
        }
        Ok(true)
    }

    /// Takes more of the log, from `end` on, where the buffer ends. Something of it is durable.
    async fn fill(&mut self, end: u64) -> Result<(), OpError> {
        let (part, read) = self.log.durable_bytes(Lsn(end), CHUNK).await?;
        self.buf.extend_from_slice(&part);
        if read {
            self.unverified = end + part.len() as u64;
        }
        Ok(())
    }
}

impl Log {
    /// Bytes of the log from `end` on, which is below what is durable: at most `most` and some, and none that are not durable. And whether they were
    /// read from a file, and so are to be verified.
    pub(crate) async fn durable_bytes(
        &self,
        from: Lsn,
        most: u64,
    ) -> Result<(Vec<u8>, bool), OpError> {
        let end = from.0;
        let to = self.durable().0.min(end + most);
        if end >= self.begun.0 {
            let mut bytes = vec![0; (to - end) as usize];
            if self.ring.copy_out(from, &mut bytes) {
                return Ok((bytes, false));
            }
        }
        let first = end / SECTOR * SECTOR;
        let size = self.segments.size();
        // Not into the next segment, which is another file.
        let last = to.next_multiple_of(SECTOR).min((first / size + 1) * size);
        let gone = OpError::LogDamaged(from);
        let located = self.segments.locate(Lsn(first)).map_err(OpError::io)?;
        let (file, offset) = located.ok_or(gone.clone())?;
        let room = IoBuf::owned(AlignedBuf::zeroed((last - first) as usize));
        let (read, r) = base::environment::read(&*file, room, offset).await;
        r.map_err(OpError::io)?;
        let bytes = read.bytes();
        let part = (end - first) as usize..(to.min(last) - first) as usize;
        let part = bytes.get(part).ok_or(gone)?;
        Ok((part.to_vec(), true))
    }
}
