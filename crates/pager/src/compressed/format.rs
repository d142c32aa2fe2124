//! How the pages of a tablespace are compressed, and where one lies.

use crate::page::PAGE_SIZE;

/// What compresses pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Method {
    /// LZ4's block format.
    Lz4 = 1,
    /// zlib.
    Zlib = 2,
    /// zstd.
    Zstd = 3,
}

impl Method {
    /// The method with this number.
    pub(crate) fn from_u8(n: u8) -> Option<Method> {
        Some(match n {
            1 => Method::Lz4,
            2 => Method::Zlib,
            3 => Method::Zstd,
            _ => return None,
        })
    }
}

/// How the pages of a tablespace are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompressedFormat {
    /// Bytes that a page takes a multiple of: a power of two, 512 to 16,384.
    pub unit: u32,
    /// Bytes into which a page should compress, [`unit`](Self::unit) if none were named: what the counters measure by. A page that compresses into
    /// more takes more units.
    pub block: u32,
    /// What compresses.
    pub method: Method,
    /// How hard it tries, 0 to 9, as `innodb_compression_level`.
    pub level: u8,
}

impl CompressedFormat {
    /// Whether there is such a format.
    pub(crate) fn is_valid(&self) -> bool {
        let power = |n: u32| n.is_power_of_two() && (512..=PAGE_SIZE as u32).contains(&n);
        power(self.unit) && power(self.block) && self.block >= self.unit && self.level <= 9
    }

    /// Units of that many bytes.
    pub(crate) fn units(&self, bytes: usize) -> u64 {
        bytes.div_ceil(self.unit as usize) as u64
    }
}

/// What a compressed tablespace takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompressedUse {
    /// Pages that have a place.
    pub pages: u64,
    /// Bytes of their places.
    pub bytes: u64,
}

/// Where a page lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// First unit.
    pub(crate) start: u64,
    /// Units.
    pub(crate) units: u8,
    /// As it is in memory, not compressed.
    pub(crate) plain: bool,
}
