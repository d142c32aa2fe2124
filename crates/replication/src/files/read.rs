//! Files are read: an event at a time, as far as they may be shown.
//!
//! What it never does: read behind a size that it is given, or trust what it reads.

use crate::derive::FIRST_POSITION;
use base::environment::File;
use std::io;
use std::sync::Arc;
use types::gtid::GtidSet;
use wire::binlog::MAGIC;
use wire::binlog::control::read_previous_gtids;
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, Event};
use wire::binlog::header::{self, Header, kind};
use wire::read::Reader;

/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;
/// An event of more bytes is none: packets of replicas have at most 1 GiB.
const MOST: usize = 1 << 30;

/// What a file begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// What stands behind its events.
    pub checksum: Checksum,
    /// What was done before it.
    pub previous: GtidSet,
    /// When it was begun, in seconds since 1970.
    pub began: u32,
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Reads events one behind the other.
pub struct EventReader {
    file: Arc<dyn File>,
    /// Where the bytes of `buffer` begin.
    start: u64,
    buffer: Vec<u8>,
    /// How much of them was given out.
    used: usize,
}

impl EventReader {
    /// From a position on.
    pub fn new(file: Arc<dyn File>, position: u64) -> EventReader {
        EventReader {
            file,
            start: position,
            buffer: Vec::new(),
            used: 0,
        }
    }

    /// The position of the next event.
    pub fn position(&self) -> u64 {
        self.start + self.used as u64
    }

    /// The next event's bytes, of a file that has `size` bytes to show. `None`: it ends here.
    ///
    /// # Errors
    /// What the disk answers; `InvalidData`: no event begins here, or it ends behind the size.
    pub fn next(&mut self, size: u64) -> io::Result<Option<(Header, &[u8])>> {
        let left = size.saturating_sub(self.position());
        if left == 0 {
            return Ok(None);
        }
        if left < header::LEN as u64 || !self.fill(header::LEN, size)? {
            return Err(damaged("an event is cut off"));
        }
        let front = &self.buffer[self.used..];
        let h = Header::read(&mut Reader::new(front)).map_err(|_| damaged("this is no event"))?;
        let len = h.size as usize;
        // Each event says where it ends: what is none would be read whole before its checksum is found wrong.
        if h.next_position != (self.position() + len as u64) as u32 {
            return Err(damaged("this is no event"));
        }
        if len > MOST || len as u64 > left || !self.fill(len, size)? {
            return Err(damaged("an event is cut off"));
        }
        let at = self.used;
        self.used += len;
        Ok(Some((h, &self.buffer[at..at + len])))
    }

    /// Has `len` bytes in the buffer behind what was given out; `false`: the file has fewer.
    fn fill(&mut self, len: usize, size: u64) -> io::Result<bool> {
        let have = self.buffer.len() - self.used;
        if have >= len {
            return Ok(true);
        }
        self.buffer.drain(..self.used);
        self.start += self.used as u64;
        self.used = 0;
        let left = (size - self.start) as usize - have;
        let more = (len - have).max(CHUNK).min(left);
        self.buffer.resize(have + more, 0);
        let mut got = have;
        while got < self.buffer.len() {
            let n = self
                .file
                .read_now(&mut self.buffer[got..], self.start + got as u64)?;
            if n == 0 {
                break;
            }
            got += n;
        }
        self.buffer.truncate(got);
        Ok(got >= len)
    }
}

/// Reads a file's head.
///
/// # Errors
/// What the disk answers; `InvalidData`: it is no file of the binary log.
pub fn read_head(file: &dyn File) -> io::Result<Head> {
    let size = file.len()?;
    let mut bytes = vec![0; CHUNK.min(size as usize)];
    let mut got = file.read_now(&mut bytes, 0)?;
    bytes.truncate(got);
    if !bytes.starts_with(&MAGIC) {
        return Err(damaged("it does not begin as a binary log"));
    }
    let wrong = |_| damaged("its head is damaged");
    let first = FIRST_POSITION as usize;
    let format = Event::read(&bytes[first..], Checksum::None).map_err(wrong)?;
    if format.header.kind != kind::FORMAT_DESCRIPTION {
        return Err(damaged("its head is damaged"));
    }
    let (described, sum) = Format::read(format.body).map_err(wrong)?;
    Event::read(&bytes[first..], sum).map_err(wrong)?;
    let (behind, began) = (first + format.bytes.len(), format.header.timestamp);
    // A set of very many servers is longer than what was read.
    let next = Header::read(&mut Reader::new(&bytes[behind..])).map_err(wrong)?;
    let end = behind + next.size as usize;
    if end > got && end as u64 <= size && end < MOST {
        bytes.resize(end, 0);
        got += file.read_now(&mut bytes[got..], got as u64)?;
        bytes.truncate(got);
    }
    let event = Event::read(&bytes[behind..], described.checksum).map_err(wrong)?;
    let previous = match event.header.kind {
        kind::PREVIOUS_GTIDS => read_previous_gtids(event.body).map_err(wrong)?,
        _ => GtidSet::new(),
    };
    Ok(Head {
        checksum: described.checksum,
        previous,
        began,
    })
}
