//! A page: 16 KiB with a 32-byte header. What lies behind the header is the business of the page's kind.
//!
//! Header: crc u32 @0 | page_no u32 @4 | space u32 @8 | kind u8 @12 | level u8 @13 | flags u16 @14 | lsn u64 @16 |
//! index_id u32 @24 | reserved u32 @28. The checksum covers everything behind itself and is set only in the copy that
//! goes to the device; in memory its field means nothing.

use base::checksum::crc32c;
use base::le;
use base::{Lsn, PageNo, SpaceId};

/// Bytes of a page.
pub const PAGE_SIZE: usize = 16384;
/// Pages of a group, the first of which is the map of it ([`crate::alloc`]).
pub const GROUP: u32 = 122_880;
/// Bytes of the page header.
pub const PAGE_HEADER: usize = 32;

/// What a page is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PageKind {
    /// Not in use.
    Free = 0,
    /// A space map: which pages of its group are in use.
    SpaceMap = 1,
    /// An inner page of a B+tree.
    Inner = 2,
    /// A leaf of a B+tree.
    Leaf = 3,
    /// A piece of a long column.
    Overflow = 4,
}

impl PageKind {
    /// The kind with this number.
    pub fn from_u8(v: u8) -> Option<PageKind> {
        Some(match v {
            0 => PageKind::Free,
            1 => PageKind::SpaceMap,
            2 => PageKind::Inner,
            3 => PageKind::Leaf,
            4 => PageKind::Overflow,
            _ => return None,
        })
    }
}

/// A page's bytes.
#[repr(C, align(4096))]
pub struct Page {
    bytes: [u8; PAGE_SIZE],
}

impl Page {
    /// A page of zeros on the heap.
    pub fn boxed() -> Box<Page> {
        Box::new(Page {
            bytes: [0; PAGE_SIZE],
        })
    }

    /// All bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8; PAGE_SIZE] {
        &self.bytes
    }

    /// All bytes, to be changed by a redo function.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8; PAGE_SIZE] {
        &mut self.bytes
    }

    /// The page's own number.
    #[inline(always)]
    pub fn page_no(&self) -> PageNo {
        PageNo(le::get_u32(&self.bytes, 4))
    }

    /// The tablespace it belongs to.
    #[inline(always)]
    pub fn space(&self) -> SpaceId {
        SpaceId(le::get_u32(&self.bytes, 8))
    }

    /// The kind's number; may be anything on a torn read.
    #[inline(always)]
    pub fn kind_u8(&self) -> u8 {
        self.bytes[12]
    }

    /// The kind, if it is a known one.
    pub fn kind(&self) -> Option<PageKind> {
        PageKind::from_u8(self.bytes[12])
    }

    /// Height above the leaves.
    #[inline(always)]
    pub fn level(&self) -> u8 {
        self.bytes[13]
    }

    /// End of the last log record that changed this page.
    #[inline(always)]
    pub fn lsn(&self) -> Lsn {
        Lsn(le::get_u64(&self.bytes, 16))
    }

    /// The index this page belongs to (B+tree pages).
    #[inline(always)]
    pub fn index_id(&self) -> u32 {
        le::get_u32(&self.bytes, 24)
    }

    /// Makes this a blank page of `kind`: all zeros behind the identity. For redo functions.
    pub fn format(&mut self, kind: PageKind, level: u8, index_id: u32) {
        let id: [u8; 8] = [
            self.bytes[4],
            self.bytes[5],
            self.bytes[6],
            self.bytes[7],
            self.bytes[8],
            self.bytes[9],
            self.bytes[10],
            self.bytes[11],
        ];
        self.bytes.fill(0);
        self.bytes[4..12].copy_from_slice(&id);
        self.bytes[12] = kind as u8;
        self.bytes[13] = level;
        le::put_u32(&mut self.bytes, 24, index_id);
    }

    /// Changes the kind alone.
    pub fn set_kind(&mut self, kind: PageKind) {
        self.bytes[12] = kind as u8;
    }

    /// Makes the page one of no known kind, so that every reader calls it damaged.
    pub(crate) fn poison(&mut self) {
        self.bytes[12] = 0xEE;
    }

    pub(crate) fn set_identity(&mut self, space: SpaceId, page: PageNo) {
        le::put_u32(&mut self.bytes, 4, page.0);
        le::put_u32(&mut self.bytes, 8, space.0);
    }

    pub(crate) fn set_lsn(&mut self, lsn: Lsn) {
        le::put_u64(&mut self.bytes, 16, lsn.0);
    }
}

/// Sets the checksum in a copy about to be written.
pub fn seal(bytes: &mut [u8]) {
    let c = crc32c(&bytes[4..]);
    le::put_u32(bytes, 0, c);
}

/// What [`check`] says of a page of zeros.
pub const NEVER_WRITTEN: &str = "the page was never written";

/// Checks a page read from the device: its checksum and that it is the page asked for.
///
/// # Errors
/// What is wrong with it, in words.
pub fn check(bytes: &[u8], space: SpaceId, page: PageNo) -> Result<(), &'static str> {
    if le::get_u32(bytes, 0) != crc32c(&bytes[4..]) && !base::mutant!("checksum-not-looked-at") {
        return Err(if bytes.iter().all(|b| *b == 0) {
            NEVER_WRITTEN
        } else {
            "checksum mismatch"
        });
    }
    check_identity(bytes, space, page)
}

/// Checks that this is the page asked for, and nothing else.
pub(crate) fn check_identity(
    bytes: &[u8],
    space: SpaceId,
    page: PageNo,
) -> Result<(), &'static str> {
    match (le::get_u32(bytes, 4), le::get_u32(bytes, 8)) == (page.0, space.0) {
        true => Ok(()),
        false => Err("another page's content"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_is_found() {
        let mut p = Page::boxed();
        p.set_identity(SpaceId(3), PageNo(9));
        p.format(PageKind::Leaf, 0, 7);
        p.bytes_mut()[5000] = 0x55;
        seal(&mut p.bytes_mut()[..]);
        assert_eq!(check(&p.bytes()[..], SpaceId(3), PageNo(9)), Ok(()));
        assert!(check(&p.bytes()[..], SpaceId(3), PageNo(8)).is_err());
        for at in [0usize, 3, 4, 13, 31, 5000, PAGE_SIZE - 1] {
            p.bytes_mut()[at] ^= 0x10;
            assert!(
                check(&p.bytes()[..], SpaceId(3), PageNo(9)).is_err(),
                "byte {at}"
            );
            p.bytes_mut()[at] ^= 0x10;
        }
    }
}
