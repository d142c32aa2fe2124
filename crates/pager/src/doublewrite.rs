//! Protection against torn pages: a batch of pages is written and synced to a side file before it is written in place, so
//! that after a power cut each page is whole in one of the two.
//!
//! The file `log/doublewrite` has [`REGIONS`] regions of [`BATCH`] pages, used in turn. A region is reused only after the
//! tablespaces have been synced since it was filled, for until then its copies may be the only whole ones.

use crate::page::{self, PAGE_SIZE};
use base::{AlignedBuf, Disk, File, OpenMode, PageNo, SpaceId, le};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Pages of a batch.
pub const BATCH: usize = 128;
const REGIONS: usize = 4;
/// Name of the file in the log folder.
pub const FILE: &str = "doublewrite";

/// The side file.
pub(crate) struct Doublewrite {
    file: Arc<dyn File>,
    next: usize,
}

impl Doublewrite {
    /// Opens or makes the file. Unless the last shutdown was `clean`, its copies may still be needed until the
    /// tablespaces have been synced. `mode` is how the tablespaces are written.
    pub(crate) fn open(
        disk: &dyn Disk,
        log_dir: &Path,
        clean: bool,
        mode: OpenMode,
    ) -> io::Result<Doublewrite> {
        let path = log_dir.join(FILE);
        let len = (REGIONS * BATCH * PAGE_SIZE) as u64;
        let file = disk.open(&path, mode, true)?;
        if file.len()? < len {
            let zeros = AlignedBuf::zeroed(1 << 20);
            for at in (0..len).step_by(zeros.len()) {
                file.write_now(&zeros, at)?;
            }
            file.sync_now()?;
            disk.sync_dir(log_dir)?;
        }
        let next = if clean { 0 } else { REGIONS };
        Ok(Doublewrite { file, next })
    }

    /// Whether the next batch reuses a region: the caller must have synced the tablespaces first.
    pub(crate) fn next_reuses(&self) -> bool {
        self.next >= REGIONS
    }

    /// The tablespaces were synced: all regions are free.
    pub(crate) fn all_synced(&mut self) {
        self.next = 0;
    }

    /// Writes and syncs sealed pages.
    pub(crate) fn store(&mut self, pages: &[u8]) -> io::Result<()> {
        debug_assert!(pages.len() <= BATCH * PAGE_SIZE && self.next < REGIONS);
        self.file
            .write_now(pages, (self.next * BATCH * PAGE_SIZE) as u64)?;
        self.next += 1;
        if base::mutant!("doublewrite-not-synced") {
            return Ok(());
        }
        self.file.sync_now()
    }
}

/// Whole copies of pages.
pub(crate) type Copies = BTreeMap<(SpaceId, PageNo), AlignedBuf>;

/// The whole copies in the side file after a crash, the newest of each page.
pub(crate) fn copies(disk: &dyn Disk, log_dir: &Path, mode: OpenMode) -> io::Result<Copies> {
    let mut out = Copies::new();
    let path = log_dir.join(FILE);
    if !disk.exists(&path) {
        return Ok(out);
    }
    let file = disk.open(&path, mode, false)?;
    let mut buf = AlignedBuf::zeroed(BATCH * PAGE_SIZE);
    let mut at = 0;
    loop {
        let n = file.read_now(&mut buf, at)?;
        for p in buf[..n].chunks_exact(PAGE_SIZE) {
            let id = (SpaceId(le::get_u32(p, 8)), PageNo(le::get_u32(p, 4)));
            if page::check(p, id.0, id.1).is_err() {
                continue;
            }
            let lsn = le::get_u64(p, 16);
            if out.get(&id).is_none_or(|old| le::get_u64(old, 16) < lsn) {
                out.insert(id, AlignedBuf::copy_of(p));
            }
        }
        at += n as u64;
        if n < buf.len() {
            return Ok(out);
        }
    }
}
