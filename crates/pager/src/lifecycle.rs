//! Tablespaces are made, moved and removed: their files and their places among the open ones.
//!
//! A spare file keeps room for the one table that is emptied on a full disk: that takes a new file before it gives the old one back. The new file
//! keeps no more of it than it would have taken otherwise, so that with what the old one gives back there is room for another spare file.
//!
//! Must never do: decide whether somebody still works on a tablespace. Those who call know.

use crate::alloc;
use crate::compressed::{self, CompressedFormat, Shadow};
use crate::error::OpError;
use crate::holds::Born;
use crate::page::{self, Page};
use crate::pager::Pager;
use crate::shortages::Where;
use crate::space::{self, FileQuota, NotGrown, Space};
use base::environment::is_full;
use base::{AlignedBuf, Lsn, OpenMode, PageNo, SpaceId};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Name of the spare file in the directory.
pub(crate) const SPARE: &str = "spare";
/// As much as the file of an empty table takes at most, compressed or not: page 0 and a root for each index.
const SPARE_BYTES: u64 = 1 << 20;

/// The first page of a new tablespace, sealed.
pub(crate) fn first_page(id: SpaceId, lsn: Lsn) -> Result<AlignedBuf, OpError> {
    let mut p = Page::boxed();
    p.set_identity(id, PageNo(0));
    let made = alloc::apply(alloc::OP_MAP_FORMAT, &mut p, &0u32.to_le_bytes(), Lsn::NONE);
    made.map_err(|why| OpError::Corrupt {
        space: id,
        page: PageNo(0),
        why,
    })?;
    p.set_lsn(lsn);
    let mut b = AlignedBuf::copy_of(&p.bytes()[..]);
    page::seal(&mut b);
    Ok(b)
}

/// Where the room for a new tablespace's file comes from.
#[derive(Clone, Copy)]
enum Room {
    /// The file system.
    Disk,
    /// The spare file, of which it keeps what so many pages take.
    Spare(u32),
}

impl Pager {
    /// Makes a tablespace file with its header, durable when this returns; its pages are compressed if `format` says how. The file must
    /// not exist.
    ///
    /// # Errors
    /// [`OpError::SpaceFull`] where the disk has no room; [`OpError::Short`], [`OpError::Io`]. The file is removed again.
    pub fn create_space(
        &self,
        id: SpaceId,
        path: &Path,
        format: Option<CompressedFormat>,
    ) -> Result<Arc<Space>, OpError> {
        let made = self.make_at(id, path, format, Room::Disk);
        self.made(made)
    }

    /// Makes a temporary tablespace: its id says so. Nothing of it is synced or can be redone, and what its file takes is counted in `quota`. The
    /// file must not exist.
    ///
    /// # Errors
    /// [`OpError::SpaceFull`] where the disk or the quota has no room; [`OpError::Short`], [`OpError::Io`]. The file is removed again.
    pub async fn create_temporary_space(
        &self,
        id: SpaceId,
        path: &Path,
        quota: Arc<dyn FileQuota>,
    ) -> Result<Arc<Space>, OpError> {
        assert!(id.is_temporary(), "a temporary tablespace by its id");
        let full = |e: io::Error| match is_full(&e) {
            true => OpError::SpaceFull(id),
            false => OpError::io(e),
        };
        let mode = self.options.data_mode();
        let file = self.files.open_table(path, mode, true).map_err(full)?;
        let space = Space::new(id, file, path).map_err(OpError::io)?;
        let space = Arc::new(space.counted_in(quota));
        self.pool.spaces.insert(space.clone());
        let made = match self.grow_file(&space, 0) {
            Ok(()) => self.format_in_pool(&space).await,
            Err(e) => Err(e),
        };
        match made {
            Ok(()) => Ok(space),
            Err(e) => {
                let _ = self.drop_space(id);
                Err(e)
            }
        }
    }

    /// Grows a tablespace's file, and says where the disk has no room for that.
    pub(crate) fn grow_file(&self, space: &Space, seen: u32) -> Result<(), OpError> {
        let place = match space.id().is_temporary() {
            true => Where::Temporary,
            false => Where::Growth,
        };
        match space.grow(seen) {
            Ok(()) => self.shortages.passed(place),
            Err(why) => {
                if let NotGrown::Full(e) = &why {
                    self.shortages.met(place, e);
                }
                return Err(why.error(space.id()));
            }
        }
        Ok(())
    }

    /// Temporary files that are no tablespaces could not be written, or could be again.
    pub fn note_temporary(&self, written: Result<(), &std::io::Error>) {
        match written {
            Ok(()) => self.shortages.passed(Where::Temporary),
            Err(e) => self.shortages.met(Where::Temporary, e),
        }
    }

    /// Makes page 0 of a tablespace that has none on the device.
    async fn format_in_pool(&self, space: &Arc<Space>) -> Result<(), OpError> {
        self.run(|| {
            let mut m = self.mtr()?;
            let page = self.pool.fresh(space, PageNo(0))?;
            let ix = m.add(page);
            m.op_init(ix, alloc::OP_MAP_FORMAT, &[&0u32.to_le_bytes()]);
            m.commit();
            Ok(())
        })
        .await
    }

    /// As [`Pager::create_space`], for so many `pages`; where the disk is full, from the spare file, if there is one. Only for what gives the disk
    /// as much room as it takes, and is followed by [`Pager::keep_spare`].
    ///
    /// # Errors
    /// As [`Pager::create_space`], where the spare file does not help either.
    pub fn create_space_at_last(
        &self,
        id: SpaceId,
        path: &Path,
        format: Option<CompressedFormat>,
        pages: u32,
    ) -> Result<Arc<Space>, OpError> {
        let made = match self.make_at(id, path, format, Room::Disk) {
            Err(OpError::SpaceFull(_)) => self.make_at(id, path, format, Room::Spare(pages)),
            r => r,
        };
        self.made(made)
    }

    /// Sees to it that there is a spare file. Where it cannot be made, there is none.
    pub fn keep_spare(&self) {
        let disk = &*self.environment.disk;
        let mode = OpenMode::Buffered;
        let kept = disk.open(&self.spare, mode, true);
        if let Err(_full) = kept.and_then(|file| file.allocate(SPARE_BYTES)) {
            let _ = disk.remove_file(&self.spare);
        }
    }

    fn made(&self, made: Result<(Space, Lsn), OpError>) -> Result<Arc<Space>, OpError> {
        let (space, lsn) = made?;
        let space = Arc::new(space);
        let born = Born {
            id: space.id(),
            format: space.compressed_format(),
            lsn,
        };
        let holds = &self.checkpointer.holds;
        holds.born(born, || self.pool.spaces.insert(space.clone()));
        Ok(space)
    }

    fn make_at(
        &self,
        id: SpaceId,
        path: &Path,
        format: Option<CompressedFormat>,
        room: Room,
    ) -> Result<(Space, Lsn), OpError> {
        let disk = &*self.environment.disk;
        if disk.exists(path) {
            return Err(OpError::io(io::Error::from(io::ErrorKind::AlreadyExists)));
        }
        if let Room::Spare(_) = room {
            disk.rename(&self.spare, path)
                .map_err(|_| OpError::SpaceFull(id))?;
            // By its old name it must not come back: it would be made another table's as well.
            if let Some(dir) = self.spare.parent() {
                disk.sync_dir(dir).map_err(OpError::io)?;
            }
        }
        let made = self.make_file(id, path, format, room);
        if made.is_err() {
            let _ = disk.remove_file(path);
        }
        made
    }

    fn make_file(
        &self,
        id: SpaceId,
        path: &Path,
        format: Option<CompressedFormat>,
        room: Room,
    ) -> Result<(Space, Lsn), OpError> {
        let disk = &*self.environment.disk;
        let full = |e: io::Error| match is_full(&e) {
            true => OpError::SpaceFull(id),
            false => OpError::io(e),
        };
        let mode = self.options.data_mode();
        let space = match format {
            None => {
                let file = self.files.open_table(path, mode, true).map_err(full)?;
                if let Room::Spare(pages) = room {
                    file.truncate(space::new_file_bytes(pages)).map_err(full)?;
                }
                Space::new(id, file, path).map_err(OpError::io)?
            }
            Some(format) => {
                let file = compressed::open_file(&self.files, path, mode, true).map_err(full)?;
                let step = self.options.compressed_step_bytes;
                let shadow = Shadow::create(id, file.clone(), format, step).map_err(full)?;
                Space::compressed(shadow, file, path)
            }
        };
        self.grow_file(&space, 0)?;
        if let Room::Spare(pages) = room {
            space.ensure_room(pages.saturating_sub(1))?;
            // It was not known before what the pages would take.
            let cut = space.shadow().map_or(Ok(()), Shadow::end_file);
            cut.map_err(full)?;
        }
        // Newer than any record about a former tablespace of this id.
        let lsn = self.log.end();
        let b = first_page(id, lsn)?;
        match space.shadow() {
            Some(shadow) => {
                shadow.write_now(PageNo(0), &b).map_err(full)?;
                shadow.make_root().map_err(full)?;
            }
            None => {
                space.file().write_now(&b, 0).map_err(full)?;
                if base::mutant!("new-table-not-synced") {
                    return Ok((space, lsn));
                }
                space.file().sync_now().map_err(full)?;
            }
        }
        if let Some(dir) = path.parent() {
            disk.sync_dir(dir).map_err(full)?;
        }
        Ok((space, lsn))
    }

    /// Forgets a tablespace and removes its file. Nobody may be working on it.
    ///
    /// # Errors
    /// [`OpError::Io`]: the file could not be removed. The tablespace is forgotten all the same, and the next start removes it.
    pub fn drop_space(&self, id: SpaceId) -> Result<(), OpError> {
        let Some(space) = self.pool.spaces.remove(id) else {
            return Ok(());
        };
        space.set_dropped();
        self.pool.forget_space(&space);
        let path = space.path();
        self.environment
            .disk
            .remove_file(&path)
            .map_err(OpError::io)?;
        if let Some(dir) = path.parent().filter(|_| !id.is_temporary()) {
            self.environment.disk.sync_dir(dir).map_err(OpError::io)?;
        }
        // Plans and sessions that remember the table keep its file open, and with it the room, as long as they do.
        let _ = space.file().truncate(0);
        Ok(())
    }

    /// Moves a tablespace's file to a name that is free.
    ///
    /// # Errors
    /// [`OpError::Dropped`] for an unknown tablespace; [`OpError::Io`]: the name is taken, or the system refuses.
    pub fn rename_space(&self, id: SpaceId, to: &Path) -> Result<(), OpError> {
        let space = self.space(id)?;
        let from = space.path();
        if self.environment.disk.exists(to) {
            return Err(OpError::io(io::Error::from(io::ErrorKind::AlreadyExists)));
        }
        self.environment
            .disk
            .rename(&from, to)
            .map_err(OpError::io)?;
        space.set_path(to);
        if base::mutant!("renamed-table-folder-not-synced") {
            return Ok(());
        }
        for dir in [from.parent(), to.parent()].into_iter().flatten() {
            self.environment.disk.sync_dir(dir).map_err(OpError::io)?;
        }
        Ok(())
    }
}
