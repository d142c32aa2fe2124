//! Before-images: the opaque part of a transaction's change record. It serves rollback (undo the change) and old
//! snapshots (the version before it).
//!
//! ```text
//! op u8 | table u32 | index u32 | key_len u16 | key | by op:
//!   Insert        –
//!   Delete        word u64 | roll u64 | prefix u16 | suffix u16 | old middle (rest)
//!   Update        word u64 | roll u64 | prefix u16 | suffix u16 | old middle (rest)
//!   Entry         word u64 (all ones: the entry did not exist; 0 is the word of an entry made by an index build)
//!   OverflowPage  page u32
//!   Chain         page u32
//! ```

use super::Delta;
use super::header::RowVersion;
use base::{PageNo, le};

/// Stands for the word of an entry that did not exist. No word is all ones: ids have 56 bits and flags few.
const ABSENT: u64 = u64::MAX;

/// What is undone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UndoOp<'a> {
    /// A row was inserted where there was none.
    Insert,
    /// A row (perhaps a deleted one) was replaced; the former one is made from the new one.
    Update {
        /// It is marked as deleted now: there is something to purge.
        deletes: bool,
        /// Its header.
        old: RowVersion,
        /// What the row bytes have in common.
        delta: Delta,
        /// The old bytes between.
        middle: &'a [u8],
    },
    /// A secondary entry was inserted (`None`) or had this word.
    Entry {
        /// The word before.
        old: Option<u64>,
    },
    /// A page was allocated for a long column.
    OverflowPage {
        /// The page.
        page: PageNo,
    },
    /// A row gave up an overflow chain: nothing to undo, but for purge to free.
    Chain {
        /// Its first page.
        first: PageNo,
    },
}

/// A before-image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Undo<'a> {
    /// The table.
    pub table: u32,
    /// The index's id.
    pub index: u32,
    /// The entry's key.
    pub key: &'a [u8],
    /// What was done.
    pub op: UndoOp<'a>,
}

impl UndoOp<'_> {
    /// Of the mark on a row, which stays as it is otherwise.
    pub fn delete(old: RowVersion, row: &[u8]) -> UndoOp<'static> {
        UndoOp::Update {
            deletes: true,
            old,
            delta: Delta {
                prefix: row.len() as u16,
                suffix: 0,
            },
            middle: &[],
        }
    }
}

impl<'a> Undo<'a> {
    /// Appends the bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(match self.op {
            UndoOp::Insert => 1,
            UndoOp::Update { deletes: true, .. } => 2,
            UndoOp::Update { .. } => 6,
            UndoOp::Entry { .. } => 3,
            UndoOp::OverflowPage { .. } => 4,
            UndoOp::Chain { .. } => 5,
        });
        out.extend_from_slice(&self.table.to_le_bytes());
        out.extend_from_slice(&self.index.to_le_bytes());
        out.extend_from_slice(&(self.key.len() as u16).to_le_bytes());
        out.extend_from_slice(self.key);
        match self.op {
            UndoOp::Insert => {}
            UndoOp::Update {
                old, delta, middle, ..
            } => {
                out.extend_from_slice(&old.bytes());
                out.extend_from_slice(&delta.prefix.to_le_bytes());
                out.extend_from_slice(&delta.suffix.to_le_bytes());
                out.extend_from_slice(middle);
            }
            UndoOp::Entry { old } => out.extend_from_slice(&old.unwrap_or(ABSENT).to_le_bytes()),
            UndoOp::OverflowPage { page } | UndoOp::Chain { first: page } => {
                out.extend_from_slice(&page.0.to_le_bytes())
            }
        }
    }

    /// Reads them; `None` if they are none.
    pub fn decode(b: &'a [u8]) -> Option<Undo<'a>> {
        if b.len() < 11 {
            return None;
        }
        let key_len = le::get_u16(b, 9) as usize;
        let key = b.get(11..11 + key_len)?;
        let rest = &b[11 + key_len..];
        let op = match b[0] {
            1 => UndoOp::Insert,
            2 | 6 if rest.len() >= 20 => UndoOp::Update {
                deletes: b[0] == 2,
                old: RowVersion {
                    word: le::get_u64(rest, 0),
                    roll: le::get_u64(rest, 8),
                },
                delta: Delta {
                    prefix: le::get_u16(rest, 16),
                    suffix: le::get_u16(rest, 18),
                },
                middle: &rest[20..],
            },
            3 if rest.len() == 8 => {
                let w = le::get_u64(rest, 0);
                UndoOp::Entry {
                    old: (w != ABSENT).then_some(w),
                }
            }
            4 if rest.len() == 4 => UndoOp::OverflowPage {
                page: PageNo(le::get_u32(rest, 0)),
            },
            5 if rest.len() == 4 => UndoOp::Chain {
                first: PageNo(le::get_u32(rest, 0)),
            },
            _ => return None,
        };
        Some(Undo {
            table: le::get_u32(b, 1),
            index: le::get_u32(b, 5),
            key,
            op,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_no_panic_on_cut_bytes() {
        let old = RowVersion { word: 77, roll: 88 };
        for op in [
            UndoOp::Insert,
            UndoOp::Update {
                deletes: false,
                old,
                delta: Delta {
                    prefix: 1,
                    suffix: 2,
                },
                middle: b"mid",
            },
            UndoOp::Update {
                deletes: true,
                old,
                delta: Delta {
                    prefix: 7,
                    suffix: 0,
                },
                middle: b"",
            },
            UndoOp::Entry { old: None },
            UndoOp::Entry { old: Some(5) },
            UndoOp::Entry { old: Some(0) },
            UndoOp::OverflowPage { page: PageNo(9) },
            UndoOp::Chain { first: PageNo(10) },
        ] {
            let u = Undo {
                table: 3,
                index: 4,
                key: b"key",
                op,
            };
            let mut b = Vec::new();
            u.encode(&mut b);
            assert_eq!(Undo::decode(&b), Some(u));
            for n in 0..b.len() {
                let _ = Undo::decode(&b[..n]);
            }
        }
    }
}
