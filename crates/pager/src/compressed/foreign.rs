//! Where the pages of a compressed file lie that is read and never written, and may have been made by anybody.
//!
//! Nothing is kept of it but its directories and a chunk. Places may overlap: each page says which it is.

use super::dictionary::{BYTES_MAX, Dictionary};
use super::format::{CompressedFormat, Place};
use super::root::{self, CHUNK_PAGES, FRONT, PART, Part, Root, Slots};
use crate::error::ForeignError;
use base::checksum::crc32c;
use base::environment::read;
use base::{AlignedBuf, File, IoBuf, PageNo, SpaceId};
use std::io;

/// Up to `len` bytes: fewer only at the end of the file.
pub(crate) async fn read_at(file: &dyn File, offset: u64, len: usize) -> io::Result<AlignedBuf> {
    let (buf, n) = read(file, IoBuf::owned(AlignedBuf::zeroed(len)), offset).await;
    let n = n?;
    let buf = buf.into_owned().unwrap_or_else(|| AlignedBuf::zeroed(0));
    match n >= len {
        true => Ok(buf),
        false => Ok(AlignedBuf::copy_of(&buf[..n])),
    }
}

/// The map of a foreign file.
pub(crate) struct ForeignMap {
    pub(crate) space: SpaceId,
    format: CompressedFormat,
    pub(crate) dictionary: Option<Dictionary>,
    chunks: Vec<Part>,
    /// The chunk that was read last, and its words.
    chunk: Option<(usize, Vec<u64>)>,
}

const DAMAGED: ForeignError = ForeignError::Damaged("the map of its pages is damaged");

impl ForeignMap {
    /// Reads a file's newest root and its directories. `None`: its pages are not compressed.
    ///
    /// # Errors
    /// The file cannot be read; it is one whose pages are compressed, and damaged.
    pub(crate) async fn open(file: &dyn File) -> Result<Option<ForeignMap>, ForeignError> {
        let root = match Root::newest(&read_at(file, 0, FRONT).await?) {
            Slots::Root(r) => r,
            Slots::Other => return Ok(None),
            Slots::NoRoot | Slots::Uncommitted => return Err(DAMAGED),
        };
        let mut map = ForeignMap {
            space: root.space,
            format: root.format,
            dictionary: None,
            chunks: Vec::new(),
            chunk: None,
        };
        for d in &root.directories {
            let bytes = map.part(file, *d).await?;
            map.chunks.extend(root::decode_directory(&bytes));
        }
        if let Some(d) = root.dictionary {
            let len = d.len as usize;
            if len > BYTES_MAX {
                return Err(DAMAGED);
            }
            let bytes = read_at(file, map.offset(d.start)?, len).await?;
            if bytes.len() < len || crc32c(&bytes) != d.crc {
                return Err(DAMAGED);
            }
            let level = root.format.level;
            map.dictionary = Some(Dictionary::new(bytes.to_vec(), level).ok_or(DAMAGED)?);
        }
        Ok(Some(map))
    }

    fn offset(&self, unit: u64) -> Result<u64, ForeignError> {
        unit.checked_mul(u64::from(self.format.unit)).ok_or(DAMAGED)
    }

    async fn part(&self, file: &dyn File, part: Part) -> Result<Vec<u8>, ForeignError> {
        let bytes = read_at(file, self.offset(part.start)?, PART).await?;
        match bytes.len() == PART && crc32c(&bytes) == part.crc {
            true => Ok(bytes.to_vec()),
            false => Err(DAMAGED),
        }
    }

    /// Where a page lies: offset and bytes, and whether it lies there as it is.
    pub(crate) async fn place(
        &mut self,
        file: &dyn File,
        page: PageNo,
    ) -> Result<Option<(u64, usize, bool)>, ForeignError> {
        let (chunk, at) = (page.0 as usize / CHUNK_PAGES, page.0 as usize % CHUNK_PAGES);
        if self.chunk.as_ref().is_none_or(|(n, _)| *n != chunk) {
            let Some(part) = self.chunks.get(chunk).copied() else {
                return Ok(None);
            };
            if part.start == 0 {
                return Ok(None);
            }
            let words = root::decode_chunk(&self.part(file, part).await?);
            self.chunk = Some((chunk, words));
        }
        let word = self.chunk.as_ref().and_then(|(_, w)| w.get(at));
        let Some(place) = word.copied().and_then(Place::of) else {
            return Ok(None);
        };
        let bytes = usize::from(place.units) * self.format.unit as usize;
        Ok(Some((self.offset(place.start)?, bytes, place.plain)))
    }
}
