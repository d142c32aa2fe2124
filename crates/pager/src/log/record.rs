//! The bytes of a log record. One record is one mini-transaction: page operations that belong together, then an opaque
//! part (before-images, checkpoint data) that the engine reads.
//!
//! ```text
//! 0  len u32        whole record, a multiple of 8
//! 4  crc u32        CRC32C over everything else, seeded with the record's LSN
//! 8  kind u8, flags u8, ops u16
//! 12 undo_len u32   bytes of the opaque part
//! 16 txid u64
//! 24 prev u64       the transaction's previous record (0: none)
//! 32 ops …          each: space u32, page u32, op u8, flags u8, len u16, payload
//! …  opaque part, zero padding
//! ```

use base::checksum::{crc32c, crc32c_from};
use base::{Lsn, PageNo, SpaceId, TxnId, le};

/// Bytes of the record header.
pub const RECORD_HEADER: usize = 32;
/// Bytes of an op header.
pub const OP_HEADER: usize = 12;
/// No record is longer: a bound for the ring, the link window and the reader.
pub const RECORD_LEN_MAX: usize = 512 * 1024;
/// Bytes of a commit: its opaque part is a byte of the layer above and [`durable_bytes`].
pub const COMMIT_LEN: usize = RECORD_HEADER + 8;
/// Op flag: the op makes the page from nothing, so redo need not read it.
pub const OP_INIT: u8 = 1;

/// What a record means to the transaction layer. The log itself only carries it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RecordKind {
    /// Changes pages on nobody's behalf (splits, allocation, purge): never undone.
    System = 1,
    /// A transaction's change, with its before-image.
    Change = 2,
    /// A compensation: undoes the change before it; `prev` is the next record to undo.
    Compensation = 3,
    /// A transaction's end: committed.
    Commit = 4,
    /// A transaction's end: all its changes were undone.
    Abort = 5,
    /// A checkpoint; the opaque part lists what was going on.
    Checkpoint = 6,
    /// Free use of the engine (catalog events), never undone.
    Note = 7,
    /// What a transaction leaves for readers of the log: bytes that change nothing here, and are never undone.
    Event = 8,
}

impl RecordKind {
    /// The kind with this number.
    pub fn from_u8(v: u8) -> Option<RecordKind> {
        use RecordKind::*;
        [
            System,
            Change,
            Compensation,
            Commit,
            Abort,
            Checkpoint,
            Note,
            Event,
        ]
        .into_iter()
        .find(|k| *k as u8 == v)
    }
}

/// A record's header.
#[derive(Clone, Copy, Debug)]
pub struct RecordHeader {
    /// Whole length in bytes.
    pub len: u32,
    /// What it means.
    pub kind: RecordKind,
    /// Number of page operations.
    pub ops: u16,
    /// Length of the opaque part in bytes.
    pub undo_len: u32,
    /// The transaction, or none.
    pub txid: TxnId,
    /// The transaction's previous record, or none.
    pub prev: Lsn,
}

/// One page operation of a record.
#[derive(Clone, Copy, Debug)]
pub struct PageOp<'a> {
    /// The page's tablespace.
    pub space: SpaceId,
    /// The page.
    pub page: PageNo,
    /// Which redo function, and what of it.
    pub op: u8,
    /// [`OP_INIT`] or 0.
    pub flags: u8,
    /// The operation's bytes.
    pub payload: &'a [u8],
}

/// A whole, verified record.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    bytes: &'a [u8],
    header: RecordHeader,
}

fn seed(lsn: Lsn, bytes: &[u8]) -> u32 {
    let mut head = [0; 12];
    head[..8].copy_from_slice(&lsn.0.to_le_bytes());
    head[8..].copy_from_slice(&bytes[..4]);
    crc32c_from(crc32c(&head), &bytes[8..])
}

/// Completes a record under construction: pads it, sets its length. The checksum waits for the LSN ([`seal`]).
#[inline]
pub fn finish(
    buf: &mut Vec<u8>,
    kind: RecordKind,
    ops: u16,
    undo_len: u32,
    txid: TxnId,
    prev: Lsn,
) {
    finish_from(0, buf, kind, ops, undo_len, txid, prev);
}

/// As [`finish`], of the record that begins at `from`; what is in front of it is finished.
pub fn finish_from(
    from: usize,
    buf: &mut Vec<u8>,
    kind: RecordKind,
    ops: u16,
    undo_len: u32,
    txid: TxnId,
    prev: Lsn,
) {
    buf.resize(buf.len().next_multiple_of(8), 0);
    let buf = &mut buf[from..];
    let len = buf.len() as u32;
    le::put_u32(buf, 0, len);
    buf[8] = kind as u8;
    buf[9] = 0;
    le::put_u16(buf, 10, ops);
    le::put_u32(buf, 12, undo_len);
    le::put_u64(buf, 16, txid.0);
    le::put_u64(buf, 24, prev.0);
}

/// How a commit says up to where the log was durable when it was made: the end of its opaque part. 64 PiB of log will do.
pub fn durable_bytes(durable: Lsn) -> [u8; 7] {
    let [low @ .., _] = durable.0.to_le_bytes();
    low
}

/// Sets the checksum of a finished record that will stand at `lsn`.
pub fn seal(buf: &mut [u8], lsn: Lsn) {
    let c = seed(lsn, buf);
    le::put_u32(buf, 4, c);
}

/// The length a record's first bytes claim, if it is a possible one.
pub fn claimed_len(first: &[u8]) -> Option<usize> {
    let len = le::get_u32_or0(first, 0) as usize;
    ((RECORD_HEADER..=RECORD_LEN_MAX).contains(&len) && len.is_multiple_of(8)).then_some(len)
}

impl<'a> Record<'a> {
    /// Verifies `bytes` as the record at `lsn`; `None` if it is not one (torn, stale, or damaged).
    pub fn verify(bytes: &'a [u8], lsn: Lsn) -> Option<Record<'a>> {
        let len = claimed_len(bytes)?;
        let bytes = bytes.get(..len)?;
        if le::get_u32(bytes, 4) != seed(lsn, bytes) {
            return None;
        }
        Record::parse(bytes)
    }

    /// Takes apart a record known to be whole (it came from the ring).
    pub fn parse(bytes: &'a [u8]) -> Option<Record<'a>> {
        let len = claimed_len(bytes)?;
        let bytes = bytes.get(..len)?;
        let header = RecordHeader {
            len: len as u32,
            kind: RecordKind::from_u8(bytes[8])?,
            ops: le::get_u16(bytes, 10),
            undo_len: le::get_u32(bytes, 12),
            txid: TxnId(le::get_u64(bytes, 16)),
            prev: Lsn(le::get_u64(bytes, 24)),
        };
        let r = Record { bytes, header };
        // Walk the ops once, so that the iterator below cannot run out of the record.
        let mut at = RECORD_HEADER;
        for _ in 0..header.ops {
            let n = le::get_u16_or0(bytes, at + 10) as usize;
            at += OP_HEADER + n;
            if at > len {
                return None;
            }
        }
        if at + header.undo_len as usize > len {
            return None;
        }
        Some(r)
    }

    /// The header.
    pub fn header(&self) -> &RecordHeader {
        &self.header
    }

    /// For a commit: up to where the log was durable when it was made; none where it does not say.
    pub fn durable(&self) -> Lsn {
        let undo = self.undo();
        if self.header.kind != RecordKind::Commit || undo.len() != COMMIT_LEN - RECORD_HEADER {
            return Lsn::NONE;
        }
        Lsn(le::get_u64(undo, 0) >> 8)
    }

    /// The page operations, in order.
    pub fn ops(&self) -> impl Iterator<Item = PageOp<'a>> + use<'a> {
        let bytes = self.bytes;
        let mut at = RECORD_HEADER;
        (0..self.header.ops).map(move |_| {
            let n = le::get_u16(bytes, at + 10) as usize;
            let op = PageOp {
                space: SpaceId(le::get_u32(bytes, at)),
                page: PageNo(le::get_u32(bytes, at + 4)),
                op: bytes[at + 8],
                flags: bytes[at + 9],
                payload: &bytes[at + OP_HEADER..at + OP_HEADER + n],
            };
            at += OP_HEADER + n;
            op
        })
    }

    /// The opaque part.
    pub fn undo(&self) -> &'a [u8] {
        let mut at = RECORD_HEADER;
        for _ in 0..self.header.ops {
            at += OP_HEADER + le::get_u16(self.bytes, at + 10) as usize;
        }
        &self.bytes[at..at + self.header.undo_len as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_verifies_only_at_its_place() {
        let mut b = vec![0u8; RECORD_HEADER];
        b.extend_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0, 33, OP_INIT, 3, 0, 9, 9, 9]);
        b.extend_from_slice(b"undo");
        finish(&mut b, RecordKind::Change, 1, 4, TxnId(5), Lsn(64));
        seal(&mut b, Lsn(4096));
        let r = Record::verify(&b, Lsn(4096)).unwrap();
        assert_eq!(r.undo(), b"undo");
        let op = r.ops().next().unwrap();
        assert_eq!(
            (op.space, op.page, op.op, op.payload),
            (SpaceId(1), PageNo(2), 33, &[9u8, 9, 9][..])
        );
        assert!(Record::verify(&b, Lsn(4104)).is_none());
        for i in 0..b.len() {
            let mut c = b.clone();
            c[i] ^= 1;
            assert!(Record::verify(&c, Lsn(4096)).is_none(), "byte {i}");
        }
    }

    #[test]
    fn a_record_behind_another_is_as_one_alone() {
        let one = |body: &[u8], kind| {
            let mut b = vec![0u8; RECORD_HEADER];
            b.extend_from_slice(body);
            finish(&mut b, kind, 0, body.len() as u32, TxnId(5), Lsn(8));
            b
        };
        let (first, second) = (
            one(b"abcde", RecordKind::Event),
            one(b"x", RecordKind::Commit),
        );
        let mut both = first.clone();
        let from = both.len();
        both.resize(from + RECORD_HEADER, 0);
        both.push(b'x');
        finish_from(from, &mut both, RecordKind::Commit, 0, 1, TxnId(5), Lsn(8));
        assert_eq!(both, [first, second].concat());
    }
}
