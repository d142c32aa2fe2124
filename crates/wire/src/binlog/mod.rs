//! The events of the binary log, as MySQL 8.0 writes them and as MariaDB does where it differs: from bytes and to bytes.
//!
//! A file of the binary log is [`MAGIC`] and events one behind the other; a replica is sent the same events, one a packet. Each is a
//! [header](header), a body, and a checksum. The first describes the [format](format) of all others.
//!
//! | module | what |
//! |---|---|
//! | [`header`] | the 19 bytes in front of each event, the kinds of events |
//! | [`frame`] | an event as a whole: made, taken apart, its checksum |
//! | [`format`] | the event that describes the format |
//! | [`control`] | events of few fields: rotate, XID, GTIDs, heartbeats, variables |
//! | [`query`] | a statement with what it ran under |
//! | [`load`] | LOAD DATA as a statement: its file in blocks, and the statement |
//! | [`table_map`] | the columns of a table, to read rows by |
//! | [`rows`] | rows that were inserted, changed, deleted |
//! | [`column`], `number`, `temporal` | one value in a row |
//! | [`payload`] | a compressed transaction |
//! | [`semi_sync`] | what stands around events that are to be acknowledged |
//!
//! What it never does: open files or sockets, keep positions, know SQL or tables, compress, or panic on bytes of a peer or of a
//! damaged file. Bytes that make no sense are [`ProtocolError::Malformed`](crate::ProtocolError::Malformed).
//!
//! Source: MySQL's internals manual, "Replication Protocol", and the MariaDB knowledge base, "Replication Protocol".

pub mod column;
pub mod control;
pub mod format;
pub mod frame;
pub mod header;
pub mod load;
mod number;
pub mod payload;
pub mod query;
pub mod rows;
pub mod semi_sync;
pub mod table_map;
mod temporal;

/// The first bytes of a file of the binary log.
pub const MAGIC: [u8; 4] = [0xFE, b'b', b'i', b'n'];

/// The name by which a client asks for events with checksums, and the server shows the kind it writes.
pub const CRC32: &str = "CRC32";

/// How many bits, or columns, one byte has.
const BITS: usize = 8;

/// How many bytes so many bits take.
const fn bytes_of(bits: usize) -> usize {
    bits.div_ceil(BITS)
}

/// A bit of a bitmap, the lowest of each byte first.
fn bit(bitmap: &[u8], n: usize) -> bool {
    bitmap
        .get(n / BITS)
        .is_some_and(|b| b >> (n % BITS) & 1 != 0)
}

/// Sets a bit of a bitmap.
fn set_bit(bits: &mut [u8], n: usize) {
    bits[n / BITS] |= 1 << (n % BITS);
}

/// Appends a bitmap, the lowest bit of each byte first; the bits behind the last are `rest`.
fn put_bits(bits: impl ExactSizeIterator<Item = bool>, rest: bool, out: &mut Vec<u8>) {
    let (at, n) = (out.len(), bits.len());
    out.resize(at + bytes_of(n), 0);
    let rest = std::iter::repeat_n(rest, bytes_of(n) * BITS - n);
    for (n, set) in bits.chain(rest).enumerate() {
        out[at + n / BITS] |= u8::from(set) << (n % BITS);
    }
}
