//! A tablespace file that is none of this directory's: read page by page, past the pool, and never written.
//!
//! Anybody may have made it. A page is given only where it is whole, and is the page that was asked for; what stands in it is for the reader to doubt.

use crate::alloc;
use crate::compressed::{self, CellsOf, ForeignMap, read_at};
use crate::error::ForeignError;
use crate::page::{self, PAGE_SIZE, Page};
use base::{Disk, File, OpenMode, PageNo, SpaceId, le};
use std::path::Path;
use std::sync::Arc;

/// A foreign tablespace.
pub struct ForeignSpace {
    file: Arc<dyn File>,
    id: SpaceId,
    bytes: u64,
    map: Option<ForeignMap>,
    cells_of: CellsOf,
}

impl ForeignSpace {
    /// Opens a file. `cells_of` says where the entries of a page lie.
    ///
    /// # Errors
    /// There is no such file, it cannot be read, or it is no whole tablespace.
    pub async fn open(
        disk: &dyn Disk,
        path: &Path,
        cells_of: CellsOf,
    ) -> Result<ForeignSpace, ForeignError> {
        let file = disk.open(path, OpenMode::Buffered, false)?;
        let bytes = file.len()?;
        let map = ForeignMap::open(&*file).await?;
        let id = match &map {
            Some(m) => m.space,
            None => {
                let first = read_at(&*file, 0, PAGE_SIZE).await?;
                if first.len() < PAGE_SIZE || alloc::check_header(&first).is_err() {
                    return Err(ForeignError::Damaged("it is no tablespace"));
                }
                SpaceId(le::get_u32(&first, 8))
            }
        };
        Ok(ForeignSpace {
            file,
            id,
            bytes,
            map,
            cells_of,
        })
    }

    /// Which tablespace it says it is.
    pub fn id(&self) -> SpaceId {
        self.id
    }

    /// Reads a page.
    ///
    /// # Errors
    /// The device failed; it is not there, not whole, or another page.
    pub async fn read(&mut self, no: PageNo, into: &mut Page) -> Result<(), ForeignError> {
        let damaged = |why| ForeignError::Page(no, why);
        let file = &*self.file;
        let place = match &mut self.map {
            None => Some((u64::from(no.0) * PAGE_SIZE as u64, PAGE_SIZE, true)),
            Some(map) => map.place(file, no).await?,
        };
        let Some((offset, len, plain)) = place else {
            return Err(damaged(page::NEVER_WRITTEN));
        };
        let ends = offset.checked_add(len as u64);
        if ends.is_none_or(|end| end > self.bytes) {
            return Err(damaged("the file ends before the page"));
        }
        let bytes = read_at(file, offset, len).await?;
        if bytes.len() < len {
            return Err(damaged("the file ends before the page"));
        }
        if !plain {
            let by = (
                self.cells_of,
                self.map.as_ref().and_then(|m| m.dictionary.as_ref()),
            );
            let to = &mut into.bytes_mut()[..];
            return compressed::decompress(&bytes, (self.id, no), by, to).map_err(damaged);
        }
        let Some(whole) = bytes.first_chunk::<PAGE_SIZE>() else {
            return Err(damaged("shorter than a page"));
        };
        page::check(whole, self.id, no).map_err(damaged)?;
        *into.bytes_mut() = *whole;
        Ok(())
    }
}
