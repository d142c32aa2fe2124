//! The bytes that make a map durable: root slots, directories and chunks.
//!
//! ```text
//! bytes 0 and 4096: root slots, the same root in both
//!   magic u64 @0 | format u32 @8 | space u32 @12 | generation u64 @16 | unit u32 @24 | pages u32 @28 | directories u32 @32 |
//!   method u8 @36 | level u8 @37 | block u8 @38 | dictionary @40: start u64 | length u32 | crc u32 | zeros |
//!   directories @64, 16 bytes each: start u64 | crc u32 | zeros u32 | crc u32 @4092
//! from byte 8192 on, in units from the file's beginning:
//!   directory: 1024 chunks, 16 bytes each, as those of the root; start 0: a chunk of zeros
//!   chunk: 2048 pages, 8 bytes each: start << 16 | units << 8 | 1 plain, 2 compressed; 0: never written
//! ```

use super::format::{CompressedFormat, Method, Place};
use base::checksum::crc32c;
use base::{AlignedBuf, File, SpaceId, le};
use std::io;

const MAGIC: u64 = u64::from_le_bytes(*b"TDMLPCK1");
const FORMAT: u32 = 1;
/// Bytes of a root slot.
pub(super) const SLOT: usize = 4096;
/// Bytes in front of the places.
pub(super) const FRONT: usize = 2 * SLOT;
/// Bytes of a chunk and of a directory.
pub(super) const PART: usize = 16384;
/// Pages whose places stand in a chunk.
pub(super) const CHUNK_PAGES: usize = PART / 8;
/// Chunks that stand in a directory.
pub(super) const DIRECTORY_CHUNKS: usize = PART / 16;
/// Directories that a root can name.
pub(super) const DIRECTORIES_MAX: usize = (SLOT - 64 - 4) / 16;

/// Where a chunk or a directory lies, in units, and its checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Part {
    pub(super) start: u64,
    pub(super) crc: u32,
}

impl Part {
    fn put(self, out: &mut [u8], at: usize) {
        le::put_u64(out, at, self.start);
        le::put_u32(out, at + 8, self.crc);
    }

    fn get(bytes: &[u8], at: usize) -> Part {
        Part {
            start: le::get_u64(bytes, at),
            crc: le::get_u32(bytes, at + 8),
        }
    }
}

/// Where the dictionary lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stored {
    /// First unit.
    pub(super) start: u64,
    /// Bytes.
    pub(super) len: u32,
    pub(super) crc: u32,
}

/// What a root slot says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Root {
    pub(super) space: SpaceId,
    pub(super) generation: u64,
    pub(super) format: CompressedFormat,
    /// Pages for which the file has room.
    pub(super) pages: u32,
    pub(super) dictionary: Option<Stored>,
    pub(super) directories: Vec<Part>,
}

/// What a file's root slots say.
pub(super) enum Slots {
    /// The newest root that is whole.
    Root(Root),
    /// It is a compressed tablespace; no root is whole.
    NoRoot,
    /// It was to become one: its first root was not written wholly.
    Uncommitted,
    /// It is none.
    Other,
}

impl Root {
    /// Where the slot of a generation is, in bytes.
    pub(super) fn slot(generation: u64) -> u64 {
        generation % 2 * SLOT as u64
    }

    pub(super) fn encode(&self) -> AlignedBuf {
        let mut b = AlignedBuf::zeroed(SLOT);
        le::put_u64(&mut b, 0, MAGIC);
        le::put_u32(&mut b, 8, FORMAT);
        le::put_u32(&mut b, 12, self.space.0);
        le::put_u64(&mut b, 16, self.generation);
        le::put_u32(&mut b, 24, self.format.unit);
        le::put_u32(&mut b, 28, self.pages);
        le::put_u32(&mut b, 32, self.directories.len() as u32);
        b[36] = self.format.method as u8;
        b[37] = self.format.level;
        b[38] = self.format.block.trailing_zeros() as u8;
        if let Some(d) = self.dictionary {
            le::put_u64(&mut b, 40, d.start);
            le::put_u32(&mut b, 48, d.len);
            le::put_u32(&mut b, 52, d.crc);
        }
        for (i, d) in self.directories.iter().enumerate() {
            d.put(&mut b, 64 + i * 16);
        }
        let crc = crc32c(&b[..SLOT - 4]);
        le::put_u32(&mut b, SLOT - 4, crc);
        b
    }

    fn decode(b: &[u8]) -> Option<Root> {
        let whole = le::get_u64(b, 0) == MAGIC
            && le::get_u32(b, 8) == FORMAT
            && le::get_u32(b, SLOT - 4) == crc32c(&b[..SLOT - 4]);
        let format = CompressedFormat {
            unit: le::get_u32(b, 24),
            block: 1u32.checked_shl(b[38].into()).unwrap_or(0),
            method: Method::from_u8(b[36])?,
            level: b[37],
        };
        let n = le::get_u32(b, 32) as usize;
        if !whole || !format.is_valid() || n > DIRECTORIES_MAX {
            return None;
        }
        Some(Root {
            space: SpaceId(le::get_u32(b, 12)),
            generation: le::get_u64(b, 16),
            format,
            pages: le::get_u32(b, 28),
            dictionary: match le::get_u64(b, 40) {
                0 => None,
                start => Some(Stored {
                    start,
                    len: le::get_u32(b, 48),
                    crc: le::get_u32(b, 52),
                }),
            },
            directories: (0..n).map(|i| Part::get(b, 64 + i * 16)).collect(),
        })
    }

    /// Reads a file's slots. At start-up.
    pub(super) fn read(file: &dyn File) -> io::Result<Slots> {
        let mut b = AlignedBuf::zeroed(FRONT);
        let n = file.read_now(&mut b, 0)?;
        Ok(Root::newest(&b[..n]))
    }

    /// What the bytes in front of a file say.
    pub(super) fn newest(front: &[u8]) -> Slots {
        let slots = || front.chunks_exact(SLOT);
        let newest = slots()
            .filter_map(Root::decode)
            .max_by_key(|r| r.generation);
        let named = slots().any(|s| le::get_u64(s, 0) == MAGIC);
        match newest {
            Some(r) => Slots::Root(r),
            // A root is whole in one slot before the other is written, so only zeros are a creation cut short.
            None if named && slots().any(|s| s.iter().all(|b| *b == 0)) => Slots::Uncommitted,
            None if named => Slots::NoRoot,
            None => Slots::Other,
        }
    }
}

/// A directory's bytes.
pub(super) fn encode_directory(chunks: &[Part]) -> AlignedBuf {
    let mut b = AlignedBuf::zeroed(PART);
    for (i, c) in chunks.iter().enumerate() {
        c.put(&mut b, i * 16);
    }
    b
}

/// The chunks of a directory.
pub(super) fn decode_directory(b: &[u8]) -> Vec<Part> {
    (0..DIRECTORY_CHUNKS)
        .map(|i| Part::get(b, i * 16))
        .collect()
}

/// A chunk's bytes.
pub(super) fn encode_chunk(words: &[u64]) -> AlignedBuf {
    let mut b = AlignedBuf::zeroed(PART);
    for (i, w) in words.iter().enumerate() {
        le::put_u64(&mut b, i * 8, *w);
    }
    b
}

/// The words of a chunk.
pub(super) fn decode_chunk(b: &[u8]) -> Vec<u64> {
    (0..CHUNK_PAGES).map(|i| le::get_u64(b, i * 8)).collect()
}

impl Place {
    pub(super) fn word(self) -> u64 {
        self.start << 16 | u64::from(self.units) << 8 | if self.plain { 1 } else { 2 }
    }

    pub(super) fn of(word: u64) -> Option<Place> {
        let plain = match word as u8 {
            1 => true,
            2 => false,
            _ => return None,
        };
        Some(Place {
            start: word >> 16,
            units: (word >> 8) as u8,
            plain,
        })
    }
}
