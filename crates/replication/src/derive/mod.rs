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

use crate::group::{self, End, Item, Next};
use types::gtid::Gtid;
use wire::ProtocolError;
use wire::binlog::MAGIC;
use wire::binlog::control::{Rotate, Transaction};
use wire::binlog::format::Format;
use wire::binlog::frame::{Checksum, put_event};
use wire::binlog::header::{self, Header, flag, kind};
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
    /// Who waits to hear its name; 0: nobody.
    pub asked: u64,
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
    let (body_len, end, last) = measure(bytes, state.settings.checksum)?;
    let server_id = match end.server_id {
        0 => state.settings.server_id,
        id => id,
    };
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
        immediate_version: state.settings.version,
    };
    let checksum = state.settings.checksum;
    let xid_len = match end.statement {
        true => 0,
        false => (header::LEN + XID_LEN + checksum.len()) as u64,
    };
    transaction.length = whole_length(&transaction, body_len + xid_len, checksum);
    let seconds = (original_micros / SECOND) as u32;
    let mut w = Writer {
        position: state.position,
        server_id,
        checksum,
        out,
    };
    let front = match gtid {
        Some(_) => kind::GTID,
        None => kind::ANONYMOUS_GTID,
    };
    // As in MySQL, where the statement that commits has begun: here it is known when it ended.
    w.event(front, 0, seconds, |b| transaction.write(b));
    let mut rest = bytes;
    while let Some(Next::Item(item)) = group::next(&mut rest)? {
        w.event(item.kind, item.flags, item.timestamp, |b| {
            b.put_bytes(item.body);
        });
    }
    if !end.statement {
        w.event(kind::XID, 0, seconds, |b| b.put_u64(txid));
    }
    debug_assert_eq!(w.position - state.position, transaction.length);
    state.position = w.position;
    state.seconds = seconds.max(last);
    if let Some(gtid) = gtid {
        state.executed.add(gtid);
    }
    Ok(Made {
        gtid,
        length: transaction.length,
        asked: end.asked,
    })
}

/// Bytes of a group's own events, its last item, and the time of its last event.
fn measure(bytes: &[u8], checksum: Checksum) -> Result<(u64, End, u32), ProtocolError> {
    let (mut rest, mut len, mut last) = (bytes, 0, 0);
    loop {
        match group::next(&mut rest)?.ok_or(ProtocolError::Malformed)? {
            Next::Item(Item {
                body, timestamp, ..
            }) => {
                len += (header::LEN + body.len() + checksum.len()) as u64;
                last = timestamp;
            }
            Next::End(end) if rest.is_empty() => return Ok((len, end, last)),
            Next::End(_) => return Err(ProtocolError::Malformed),
        }
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
    let mut w = Writer {
        position: FIRST_POSITION,
        server_id: settings.server_id,
        checksum: Checksum::Crc32,
        out,
    };
    let format = Format::new(&settings.version_text, created, settings.checksum);
    let seconds = state.seconds.max(created);
    w.event(kind::FORMAT_DESCRIPTION, flag::IN_USE, seconds, |b| {
        format.write(b);
    });
    w.checksum = settings.checksum;
    w.event(kind::PREVIOUS_GTIDS, flag::IGNORABLE, seconds, |b| {
        state.executed.encode(b);
    });
    state.position = w.position;
    state.seconds = seconds;
    state.dependencies.restart();
}

/// Appends a file's last event: the next file is `next`.
pub fn put_rotate(state: &mut State, next: &str, out: &mut Vec<u8>) {
    let mut w = Writer::of(state, out);
    w.event(kind::ROTATE, 0, w_seconds(state), |b| {
        let file = next.as_bytes();
        let position = FIRST_POSITION;
        Rotate { file, position }.write(b);
    });
    state.position = w.position;
}

/// Appends a file's last event: the server has stopped.
pub fn put_stop(state: &mut State, seconds: u32, out: &mut Vec<u8>) {
    state.seconds = state.seconds.max(seconds);
    let mut w = Writer::of(state, out);
    w.event(kind::STOP, 0, w_seconds(state), |_| {});
    state.position = w.position;
}

fn w_seconds(state: &State) -> u32 {
    state.seconds
}

/// Appends events one behind the other.
struct Writer<'a> {
    position: u64,
    server_id: u32,
    checksum: Checksum,
    out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    fn of<'a>(state: &State, out: &'a mut Vec<u8>) -> Writer<'a> {
        Writer {
            position: state.position,
            server_id: state.settings.server_id,
            checksum: state.settings.checksum,
            out,
        }
    }

    fn event(&mut self, kind: u8, flags: u16, timestamp: u32, fill: impl FnOnce(&mut Vec<u8>)) {
        let header = Header {
            timestamp,
            kind,
            server_id: self.server_id,
            size: 0,
            next_position: self.position as u32,
            flags,
        };
        self.position += put_event(header, self.checksum, self.out, fill) as u64;
    }
}

#[cfg(test)]
pub(crate) mod tests;
