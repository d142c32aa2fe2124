//! The opaque part of an event record: a piece of its transaction's group.
//!
//! ```text
//! 0  offset u64   where in the group it begins; all ones: behind what there is
//! 8  bytes
//! ```
//!
//! What a rollback to a savepoint cuts off may be in the log already. The next piece then begins where the cut was, and what stood
//! there and behind it counts no more.

use base::{Lsn, le};

/// Bytes in front of a piece's own.
pub(crate) const PIECE_HEAD: usize = 8;
/// The offset of what is appended to a group whose length is not known.
pub(crate) const AT_THE_END: u64 = u64::MAX;

/// Where a piece begins, and its bytes; `None`: these are none.
pub(crate) fn parse(undo: &[u8]) -> Option<(u64, &[u8])> {
    (undo.len() >= PIECE_HEAD).then(|| (le::get_u64(undo, 0), &undo[PIECE_HEAD..]))
}

/// A piece that counts, or the beginning of one.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Its record.
    pub(crate) at: Lsn,
    /// Where it begins in the group.
    pub(crate) offset: u64,
    /// How much of it counts.
    pub(crate) len: u64,
    /// Its bytes, where they are kept.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// What has been seen of a group.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    /// Its first record.
    pub(crate) first: Lsn,
    pub(crate) pieces: Vec<Piece>,
    /// Something in front of what was seen is missing.
    pub(crate) torn: bool,
}

impl Pieces {
    pub(crate) fn new(first: Lsn) -> Pieces {
        Pieces {
            first,
            pieces: Vec::new(),
            torn: false,
        }
    }

    /// Bytes of the group so far.
    pub(crate) fn len(&self) -> u64 {
        self.pieces.last().map_or(0, |p| p.offset + p.len)
    }

    /// Of them, bytes that are kept.
    pub(crate) fn held(&self) -> usize {
        let held = |p: &Piece| p.bytes.as_ref().map_or(0, Vec::capacity);
        self.pieces.iter().map(held).sum()
    }

    /// Keeps no bytes: they are in the log.
    pub(crate) fn let_go(&mut self) {
        self.pieces.iter_mut().for_each(|p| p.bytes = None);
    }

    /// Adds a piece with the record at `at`.
    pub(crate) fn add(&mut self, at: Lsn, offset: u64, bytes: &[u8]) {
        let offset = match offset {
            // Behind nothing there is no group.
            AT_THE_END if self.pieces.is_empty() && !self.torn => return,
            AT_THE_END => self.len(),
            n => n,
        };
        // From its beginning on it is whole again.
        self.torn = offset > 0 && (self.torn || offset > self.len());
        while let Some(last) = self.pieces.last_mut() {
            if last.offset < offset {
                last.len = last.len.min(offset - last.offset);
                break;
            }
            self.pieces.pop();
        }
        if !bytes.is_empty() {
            self.pieces.push(Piece {
                at,
                offset,
                len: bytes.len() as u64,
                bytes: Some(bytes.to_vec()),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(p: &Pieces) -> String {
        let bytes = |p: &Piece| {
            let bytes = p.bytes.as_deref().unwrap_or_default();
            bytes[..p.len as usize].to_vec()
        };
        String::from_utf8(p.pieces.iter().flat_map(bytes).collect()).unwrap()
    }

    #[test]
    fn a_piece_overwrites_what_stood_at_its_place_and_behind() {
        let mut p = Pieces::new(Lsn(8));
        p.add(Lsn(8), AT_THE_END, b"nothing");
        assert_eq!((p.len(), p.torn), (0, false));
        p.add(Lsn(16), 0, b"abc");
        p.add(Lsn(24), 3, b"def");
        p.add(Lsn(32), 6, b"ghi");
        assert_eq!(text(&p), "abcdefghi");
        p.add(Lsn(40), 4, b"X");
        assert_eq!(text(&p), "abcdX");
        p.add(Lsn(48), AT_THE_END, b"end");
        assert_eq!((text(&p).as_str(), p.len()), ("abcdXend", 8));
        p.add(Lsn(56), 3, b"");
        assert_eq!((text(&p).as_str(), p.len(), p.torn), ("abc", 3, false));
        p.add(Lsn(64), 0, b"");
        assert_eq!((p.len(), p.torn), (0, false));
    }

    #[test]
    fn a_group_whose_beginning_was_not_seen_is_torn() {
        let mut p = Pieces::new(Lsn(8));
        p.add(Lsn(8), 5, b"abc");
        p.add(Lsn(16), 8, b"def");
        p.add(Lsn(24), AT_THE_END, b"end");
        assert!(p.torn);
        p.add(Lsn(32), 0, b"again");
        assert!(!p.torn);
        assert_eq!(text(&p), "again");
    }
}
