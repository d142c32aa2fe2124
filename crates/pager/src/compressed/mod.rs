//! Compressed tablespaces: each page compressed when it is written out, in as many units of the file as it needs then, never where its last
//! good copy lies.
//!
//! In memory a page is what it always is; only the cleaner, which writes, and the read of a page that is not resident know this module.
//! `docs/decisions/0016` has the reasons. Invariants:
//! - A place that a durable root names is not written before a later root, which does not name it, is durable.
//! - The map names what was written completely, and nothing else.
//! - Nothing of this is in the log: what a page says of itself (its LSN) tells redo what is left to do.
//!
//! This module never looks behind a page's header, but for where those who lay out pages say that entries lie; and it knows no
//! transaction.

mod allocation_map;
mod codec;
mod columns;
mod counts;
mod dictionary;
mod foreign;
mod format;
mod free_runs;
mod root;
mod shadow;
mod tiles;
mod widths;

pub use codec::{CompressedPage, PageCompressor, decompress};
pub use columns::{Cells, CellsOf, Slots, unknown};
pub use counts::{CompressionCounters, CompressionCounts, IndexOf};
pub use dictionary::Dictionary;
pub(crate) use foreign::{ForeignMap, read_at};
pub(crate) use format::Place;
pub use format::{CompressedFormat, CompressedUse, Method};
pub(crate) use shadow::{NoRoot, Shadow};

use crate::files::Files;
use base::{AlignedBuf, File, OpenMode};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Opens the file of a compressed tablespace: past the page cache only where the device takes units as small as its.
pub(crate) fn open_file(
    files: &Arc<Files>,
    path: &Path,
    mode: OpenMode,
    create: bool,
) -> io::Result<Arc<dyn File>> {
    let file = files.open_table(path, mode, create)?;
    let mut unit = AlignedBuf::zeroed(512);
    match file.read_now(&mut unit, 512) {
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
            drop(file);
            files.open_table(path, OpenMode::Buffered, false)
        }
        Err(e) => Err(e),
        Ok(_) => Ok(file),
    }
}
