//! From groups to the bytes of the binary log's files: numbers, positions, checksums.
//!
//! All that decides bytes is in the group or in the [`State`]: the same state and the same groups give the same bytes, whenever
//! that is done. So whoever makes files needs to make durable a state from time to time, and no file for a commit.
//!
//! | module | what |
//! |---|---|
//! | [`dependencies`] | which transactions may be applied beside each other |
//! | [`state`] | what has to be known to go on, and its bytes |
//!
//! What it never does: open files, look at a clock, wait.

pub mod dependencies;
pub mod state;

pub use state::{Naming, Settings, State};

use crate::group::{End, Next, Parts};
use types::gtid::Gtid;
use wire::ProtocolError;
use wire::binlog::MAGIC;
use wire::binlog::control::{Rotate, Transaction};
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, put_event};
use wire::binlog::header::{self, Header, flag, kind};
use wire::binlog::payload::Payload;
use wire::write::Put;

/// The position of a file's first event.
pub const FIRST_POSITION: u64 = MAGIC.len() as u64;
/// Where the flags of a file's first event are.
pub const FLAGS_AT: u64 = FIRST_POSITION + header::LEN as u64 - 2;
/// Bytes of the body of XID.
const XID_LEN: usize = 8;
/// Microseconds of a second.
const SECOND: u64 = 1_000_000;

/// What a group was made into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made {
    /// Its name; `None`: anonymous.
    pub gtid: Option<Gtid>,
    /// Bytes of all its events.
    pub length: u64,
    /// What its own events came to.
    pub sizes: Sizes,
    /// When it was committed here, in microseconds since 1970.
    pub committed_micros: u64,
    /// Who waits to hear its name; 0: nobody.
    pub asked: u64,
}

/// Bytes of a transaction's own events, without the one in front that names it, and without checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    /// They are in one that has them compressed.
    pub compressed: bool,
    /// What is in the file; of those that are compressed, what they were compressed to.
    pub written: u64,
    /// What they are before they are compressed.
    pub plain: u64,
}

/// Appends the events of one group to `out`: what `state` said it was, behind what it says is there. The state is then that behind the group.
///
/// # Errors
/// [`ProtocolError::Malformed`]: it is no group. State and `out` are as they were.
pub fn put_group(
    state: &mut State,
    bytes: &[u8],
    txid: u64,
    out: &mut Vec<u8>,
) -> Result<Made, ProtocolError> {
    let mut measure = Measure::new(state.settings.checksum);
    measure.add(bytes)?;
    let mut making = Making::begin(state, &measure.finish()?, txid, out);
    making.add(bytes, out)?;
    making.finish(state, out)
}

/// What has to be known of a group before its first event can be written: all of it is read for that, in parts.
#[derive(Debug)]
pub struct Measure {
    checksum: Checksum,
    parts: Parts,
    length: u64,
    sizes: Sizes,
    last: u32,
    end: Option<End>,
}

/// See [`Measure`].
#[derive(Debug)]
pub struct Measured {
    /// Bytes of its own events.
    length: u64,
    sizes: Sizes,
    end: End,
    /// The time of its last event.
    last: u32,
}

impl Measure {
    /// Of a group whose events have such a checksum.
    pub fn new(checksum: Checksum) -> Measure {
        Measure {
            checksum,
            parts: Parts::default(),
            length: 0,
            sizes: Sizes::default(),
            last: 0,
            end: None,
        }
    }

    /// The next part.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it is no group.
    pub fn add(&mut self, part: &[u8]) -> Result<(), ProtocolError> {
        let Measure {
            checksum,
            parts,
            length,
            sizes,
            last,
            end,
        } = self;
        parts.add(part, |next| match next {
            _ if end.is_some() => Err(ProtocolError::Malformed),
            Next::Item(item) => {
                *length += (header::LEN + item.body.len() + checksum.len()) as u64;
                *last = item.timestamp;
                if item.kind == kind::TRANSACTION_PAYLOAD {
                    let payload = Payload::read(item.body)?;
                    sizes.compressed = true;
                    sizes.written += payload.bytes.len() as u64;
                    sizes.plain += payload.uncompressed;
                } else {
                    let plain = (header::LEN + item.body.len()) as u64;
                    sizes.written += plain;
                    sizes.plain += plain;
                }
                Ok(())
            }
            Next::End(e) => {
                *end = Some(e);
                Ok(())
            }
        })
    }

    /// There was no more.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it is no whole group.
    pub fn finish(self) -> Result<Measured, ProtocolError> {
        match self.end {
            Some(end) if self.parts.is_whole() => Ok(Measured {
                length: self.length,
                sizes: self.sizes,
                end,
                last: self.last,
            }),
            _ => Err(ProtocolError::Malformed),
        }
    }
}

/// A group whose events are being written, part by part. All that is known of it is in the state when it is [finished](Making::finish).
#[derive(Debug)]
pub struct Making {
    parts: Parts,
    place: Place,
    gtid: Option<Gtid>,
    /// Bytes of all its events.
    length: u64,
    sizes: Sizes,
    committed_micros: u64,
    asked: u64,
    txid: u64,
    /// An XID is added at its end.
    adds_xid: bool,
    /// The time of its first and last event.
    seconds: u32,
    /// The time of the last of its own.
    last: u32,
}

impl Making {
    /// Appends what stands in front of its own events.
    pub fn begin(state: &mut State, group: &Measured, txid: u64, out: &mut Vec<u8>) -> Making {
        let end = &group.end;
        let gtid = match end.anonymous {
            true => None,
            false => state.name(end.gtid),
        };
        let (last_committed, sequence_number) = state
            .dependencies
            .next(end.keys.as_deref(), state.settings.history as usize);
        let own = state.settings.version;
        let (original_micros, original_version) = match end.original {
            Some((micros, 0)) => (micros, own),
            Some(original) => original,
            None => (end.committed_micros, own),
        };
        let mut transaction = Transaction {
            gtid,
            statements: end.statement,
            last_committed,
            sequence_number,
            original_commit_micros: original_micros,
            immediate_commit_micros: end.committed_micros,
            length: 0,
            original_version,
            immediate_version: own,
        };
        let mut place = Place::of(state);
        if end.server_id != 0 {
            place.server_id = end.server_id;
        }
        let checksum = place.checksum;
        // What is compressed has it among its events.
        let adds_xid = !end.statement && !end.branch && !group.sizes.compressed;
        let (mut sizes, mut xid_len) = (group.sizes, 0);
        if adds_xid {
            let plain = (header::LEN + XID_LEN) as u64;
            sizes.written += plain;
            sizes.plain += plain;
            xid_len = plain + checksum.len() as u64;
        }
        transaction.length = whole_length(&transaction, group.length + xid_len, checksum);
        let seconds = (original_micros / SECOND) as u32;
        let front = match gtid {
            Some(_) => kind::GTID,
            None => kind::ANONYMOUS_GTID,
        };
        // As in MySQL, where the statement that commits has begun: here it is known when it ended.
        place.event((front, 0, seconds), out, |b| transaction.write(b));
        Making {
            parts: Parts::default(),
            place,
            gtid,
            length: transaction.length,
            sizes,
            committed_micros: end.committed_micros,
            asked: end.asked,
            txid,
            adds_xid,
            seconds,
            last: group.last,
        }
    }

    /// Appends the events of its next part.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it is no group.
    pub fn add(&mut self, part: &[u8], out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        let place = &mut self.place;
        self.parts.add(part, |next| {
            if let Next::Item(item) = next {
                place.event((item.kind, item.flags, item.timestamp), out, |b| {
                    b.put_bytes(item.body);
                });
            }
            Ok(())
        })
    }

    /// Appends what ends it. The state is then that behind it.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it is not what was measured.
    pub fn finish(mut self, state: &mut State, out: &mut Vec<u8>) -> Result<Made, ProtocolError> {
        if self.adds_xid {
            let txid = self.txid;
            self.place
                .event((kind::XID, 0, self.seconds), out, |b| b.put_u64(txid));
        }
        if !self.parts.is_whole() || self.place.position - state.position != self.length {
            return Err(ProtocolError::Malformed);
        }
        state.position = self.place.position;
        state.seconds = self.seconds.max(self.last);
        if let Some(gtid) = self.gtid {
            state.executed.add(gtid);
        }
        Ok(Made {
            gtid: self.gtid,
            length: self.length,
            sizes: self.sizes,
            committed_micros: self.committed_micros,
            asked: self.asked,
        })
    }
}

/// The length of all events with that in front, which says how long it is in a field that may take more or fewer bytes.
fn whole_length(transaction: &Transaction, others: u64, checksum: Checksum) -> u64 {
    let mut t = *transaction;
    t.length = others;
    loop {
        let mut body = Vec::with_capacity(80);
        t.write(&mut body);
        let whole = (header::LEN + body.len() + checksum.len()) as u64 + others;
        if whole == t.length {
            return whole;
        }
        t.length = whole;
    }
}

/// Appends the head of a file: what every reader has to know first. The state is then that behind it. `created`: the server started at that
/// time, and this is its first file since; else 0.
pub fn put_head(state: &mut State, created: u32, out: &mut Vec<u8>) {
    out.put_bytes(&MAGIC);
    let settings = &state.settings;
    let mut place = Place {
        position: FIRST_POSITION,
        server_id: settings.server_id,
        checksum: Checksum::Crc32,
    };
    let format = Format::new(&settings.version_text, created, settings.checksum);
    let seconds = state.seconds.max(created);
    let front = (kind::FORMAT_DESCRIPTION, flag::IN_USE, seconds);
    place.event(front, out, |b| format.write(b));
    place.checksum = settings.checksum;
    let front = (kind::PREVIOUS_GTIDS, flag::IGNORABLE, seconds);
    place.event(front, out, |b| state.executed.encode(b));
    state.position = place.position;
    state.seconds = seconds;
    state.dependencies.restart();
}

/// Appends a file's last event: the next file is `next`.
pub fn put_rotate(state: &mut State, next: &str, out: &mut Vec<u8>) {
    let mut place = Place::of(state);
    place.event((kind::ROTATE, 0, state.seconds), out, |b| {
        let file = next.as_bytes();
        let position = FIRST_POSITION;
        Rotate { file, position }.write(b);
    });
    state.position = place.position;
}

/// Appends a file's last event: the server has stopped.
pub fn put_stop(state: &mut State, seconds: u32, out: &mut Vec<u8>) {
    state.seconds = state.seconds.max(seconds);
    let mut place = Place::of(state);
    place.event((kind::STOP, 0, state.seconds), out, |_| {});
    state.position = place.position;
}

/// Where events are appended one behind the other, and what they have in common.
#[derive(Debug)]
struct Place {
    position: u64,
    server_id: u32,
    checksum: Checksum,
}

impl Place {
    /// Behind all that is there, and by this server.
    fn of(state: &State) -> Place {
        Place {
            position: state.position,
            server_id: state.settings.server_id,
            checksum: state.settings.checksum,
        }
    }

    /// Appends an event: its kind, flags and time, and its body, which `fill` appends.
    fn event(
        &mut self,
        (kind, flags, timestamp): (u8, u16, u32),
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        let header = Header {
            timestamp,
            kind,
            server_id: self.server_id,
            size: 0,
            next_position: self.position as u32,
            flags,
        };
        self.position += put_event(header, self.checksum, out, fill) as u64;
    }
}

#[cfg(test)]
pub(crate) mod tests;
