//! The tablespace files at start-up: which file is which tablespace, and whole pages back from the doublewrite file.

use crate::alloc;
use crate::compressed::{self, NoRoot, Shadow};
use crate::doublewrite::Copies;
use crate::files::Files;
use crate::options::PagerOptions;
use crate::page::{self, PAGE_SIZE};
use crate::pager::SPACE_EXTENSION;
use crate::pool::Pool;
use crate::report::{OpenError, Report};
use crate::space::Space;
use base::{AlignedBuf, Disk, File, Lsn, OpenMode, PageNo, SpaceId, le};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a file says it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Identity {
    /// This tablespace.
    Is(SpaceId),
    /// This tablespace, whose pages are compressed.
    Compressed(SpaceId),
    /// Nothing that this program can read.
    Unreadable,
    /// What a creation that was cut short leaves: no page of it is whole.
    Uncommitted,
}

/// Opens every tablespace file below the data folder.
pub(crate) fn open_spaces(
    disk: &Arc<Files>,
    options: &PagerOptions,
    pool: &Arc<Pool>,
    data_dir: &Path,
    copies: &Copies,
    report: &mut Report,
) -> Result<(), OpenError> {
    disk.create_dir_all(data_dir)?;
    let mut files = Vec::new();
    for (name, is_dir) in disk.read_dir(data_dir)? {
        let path = data_dir.join(&name);
        if is_dir {
            files.extend(
                disk.read_dir(&path)?
                    .into_iter()
                    .filter(|f| !f.1)
                    .map(|f| path.join(f.0)),
            );
        } else {
            files.push(path);
        }
    }
    let mut seen: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for path in files {
        if path.extension().is_none_or(|e| e != SPACE_EXTENSION) {
            continue;
        }
        let what = identity(&*disk.open(&path, OpenMode::Buffered, false)?, copies)?;
        let id = match what {
            Identity::Is(id) | Identity::Compressed(id) => id,
            Identity::Unreadable => {
                report.unreadable_files.push(path);
                continue;
            }
            Identity::Uncommitted => {
                report.uncommitted_files.push(path);
                continue;
            }
        };
        if let Some(other) = seen.insert(id.0, path.clone()) {
            return Err(OpenError::Damaged(format!(
                "{} and {} are both tablespace {}",
                other.display(),
                path.display(),
                id.0
            )));
        }
        report.max_space = report.max_space.max(id.0);
        let mode = options.data_mode();
        let space = match what {
            Identity::Compressed(_) => {
                let file = compressed::open_file(disk, &path, mode, false)?;
                match Shadow::open(file.clone(), options.compressed_step_bytes) {
                    Ok(shadow) => Space::compressed(shadow, file, &path),
                    Err(NoRoot::Io(e)) => return Err(e.into()),
                    Err(NoRoot::Damaged | NoRoot::Uncommitted | NoRoot::Other) => {
                        report.unreadable_files.push(path);
                        continue;
                    }
                }
            }
            _ => Space::new(id, disk.open_table(&path, mode, false)?, &path)?,
        };
        // A process that was killed leaves writes that arrived and are not durable yet.
        space.unsynced.store(!report.clean, Ordering::Release);
        pool.spaces.insert(Arc::new(space));
    }
    Ok(())
}

/// Which tablespace a file is. Its first page says so, if it is whole; else any other whole page does, since each carries
/// its tablespace's id. A damaged id must not be believed: the file would pass for one that no definition names.
fn identity(file: &dyn File, copies: &Copies) -> io::Result<Identity> {
    match Shadow::identity(file) {
        Ok(id) => return Ok(Identity::Compressed(id)),
        Err(NoRoot::Io(e)) => return Err(e),
        Err(NoRoot::Other) => {}
        Err(NoRoot::Damaged) => return Ok(Identity::Unreadable),
        Err(NoRoot::Uncommitted) => return Ok(Identity::Uncommitted),
    }
    let mut page = vec![0u8; PAGE_SIZE];
    let n = file.read_now(&mut page, 0)?;
    let first = page[..n].to_vec();
    let header = alloc::check_header(&first);
    let id = SpaceId(le::get_u32_or0(&first, 8));
    if n == PAGE_SIZE && page::check(&first, id, PageNo(0)).is_ok() {
        return Ok(match header {
            Ok(()) => Identity::Is(id),
            Err(_) => Identity::Unreadable,
        });
    }
    let pages = (file.len()? / PAGE_SIZE as u64).min(u64::from(u32::MAX)) as u32;
    for no in 1..pages {
        let n = file.read_now(&mut page, u64::from(no) * PAGE_SIZE as u64)?;
        let its = SpaceId(le::get_u32(&page, 8));
        if n == PAGE_SIZE && page::check(&page, its, PageNo(no)).is_ok() {
            return Ok(Identity::Is(its));
        }
    }
    Ok(match header {
        // Torn before any other page was written.
        Ok(()) if copies.contains_key(&(id, PageNo(0))) => Identity::Is(id),
        Ok(()) => Identity::Uncommitted,
        Err(_) if first.iter().take(64).all(|b| *b == 0) => Identity::Uncommitted,
        Err(_) => Identity::Unreadable,
    })
}

/// Puts whole pages in the place of torn ones.
pub(crate) fn restore_torn(
    pool: &Arc<Pool>,
    copies: Copies,
    redo: Lsn,
    report: &mut Report,
) -> Result<(), OpenError> {
    let mut touched = BTreeSet::new();
    let mut buf = AlignedBuf::zeroed(PAGE_SIZE);
    for ((space, pno), copy) in copies {
        report.max_space = report.max_space.max(space.0);
        // A compressed page has its last good copy in its own file.
        let plain = |s: &Arc<Space>| s.shadow().is_none();
        let Some(s) = pool.spaces.get(space).filter(plain) else {
            continue;
        };
        // A write that was under way at the crash keeps recovery's start at or below its oldest change. An older copy
        // proves nothing about a page that is damaged now: changes in between may be missing from it.
        if le::get_u64(&copy, 16) <= redo.0 {
            continue;
        }
        let off = pno.0 as u64 * PAGE_SIZE as u64;
        let n = s.file().read_now(&mut buf, off)?;
        if base::mutant!("torn-page-not-restored") {
            continue;
        }
        if n == PAGE_SIZE && page::check(&buf, space, pno).is_err() {
            s.file().write_now(&copy, off)?;
            report.restored_pages += 1;
            touched.insert(space);
        }
    }
    for id in touched {
        if let Some(s) = pool.spaces.get(id) {
            s.file().sync_now()?;
        }
    }
    Ok(())
}
