//! Newtypes for the numbers that must not be mixed up. They carry no behaviour beyond order and arithmetic.

use std::fmt;

/// A log sequence number: a byte position in the write-ahead log. `Lsn(0)` means "none".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// No position: below every record.
    pub const NONE: Lsn = Lsn(0);
    /// Above every record.
    pub const MAX: Lsn = Lsn(u64::MAX);

    /// True for [`Lsn::NONE`].
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lsn:{}", self.0)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A transaction id: 56 bits, handed out in order at a transaction's first write, never reused. 0 means "none".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct TxnId(pub u64);

impl TxnId {
    /// No transaction: a row written by nobody in particular, visible to all.
    pub const NONE: TxnId = TxnId(0);
}

/// A tablespace: one file of pages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct SpaceId(pub u32);

impl SpaceId {
    /// Ids from here on are those of temporary tablespaces: their pages are not redone after a crash, and their files do not outlive the process.
    pub const FIRST_TEMPORARY: SpaceId = SpaceId(1 << 31);

    /// Whether it is a temporary tablespace's.
    #[inline(always)]
    pub const fn is_temporary(self) -> bool {
        self.0 >= SpaceId::FIRST_TEMPORARY.0
    }
}

/// A page within a tablespace, counted from 0 in units of the page size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct PageNo(pub u32);
