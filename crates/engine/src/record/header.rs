//! The fixed part in front of a row, and the whole value of a secondary entry.
//!
//! Row: word u64 (writer << 8 | flags) @0 | roll u64 @8 (start LSN of the record that made this version) | row @16.
//! Secondary entry: word u64 @0 | split u16 @8: where in the key the clustered key begins.

use base::{Lsn, TxnId, le};

/// Bytes in front of a row.
pub const HEADER: usize = 16;
/// Bytes of a secondary entry's value.
pub const SEC_VALUE: usize = 10;
/// Flag: the row or entry is deleted and waits for purge.
pub const DELETED: u8 = 1;
/// Flag: some column's bytes are in overflow pages.
pub const EXTERNAL: u8 = 2;

/// Which version of a row was seen: equal versions mean equal rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowVersion {
    /// Writer and flags.
    pub word: u64,
    /// The record that made it.
    pub roll: u64,
}

impl RowVersion {
    /// Reads the header of a clustered value; `None` if it is too short to have one.
    #[inline(always)]
    pub fn read(value: &[u8]) -> Option<RowVersion> {
        (value.len() >= HEADER).then(|| RowVersion {
            word: le::get_u64(value, 0),
            roll: le::get_u64(value, 8),
        })
    }

    /// A header by `writer`; its roll pointer is stamped when it is logged.
    pub fn new(writer: TxnId, flags: u8) -> RowVersion {
        RowVersion {
            word: writer.0 << 8 | flags as u64,
            roll: 0,
        }
    }

    /// The header's bytes.
    #[inline]
    pub fn bytes(&self) -> [u8; HEADER] {
        let mut b = [0; HEADER];
        le::put_u64(&mut b, 0, self.word);
        le::put_u64(&mut b, 8, self.roll);
        b
    }

    /// Who wrote it.
    #[inline(always)]
    pub fn writer(&self) -> TxnId {
        TxnId(self.word >> 8)
    }

    /// Deleted.
    #[inline(always)]
    pub fn deleted(&self) -> bool {
        self.word as u8 & DELETED != 0
    }

    /// Has columns in overflow pages.
    #[inline(always)]
    pub fn external(&self) -> bool {
        self.word as u8 & EXTERNAL != 0
    }

    /// Where its before-image is.
    pub fn roll(&self) -> Lsn {
        Lsn(self.roll)
    }
}

/// A secondary entry's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecValue {
    /// Writer and flags.
    pub word: u64,
    /// Offset of the clustered key in the entry's key.
    pub split: u16,
}

impl SecValue {
    /// Reads it; `None` if the length is wrong.
    #[inline]
    pub fn read(value: &[u8]) -> Option<SecValue> {
        (value.len() == SEC_VALUE).then(|| SecValue {
            word: le::get_u64(value, 0),
            split: le::get_u16(value, 8),
        })
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; SEC_VALUE] {
        let mut b = [0; SEC_VALUE];
        le::put_u64(&mut b, 0, self.word);
        le::put_u16(&mut b, 8, self.split);
        b
    }

    /// Who wrote it.
    pub fn writer(&self) -> TxnId {
        TxnId(self.word >> 8)
    }

    /// Deleted.
    pub fn deleted(&self) -> bool {
        self.word as u8 & DELETED != 0
    }
}
