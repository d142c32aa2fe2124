//! Giving the end of a tablespace's file back to the file system, when no page of it is in use.
//!
//! A page that was in use after the position where recovery begins is changed by the log, which begins with what it was. So the end is cut only
//! when recovery begins behind the last change of each page there: their being freed. The same holds for a backup, which takes the log from its
//! beginning on: nothing is cut while one is being taken.
//!
//! Must never do: move pages, or know what is in them.

use crate::alloc::{self, GROUP};
use crate::error::{OpError, Wait};
use crate::page::PageKind;
use crate::pager::Pager;
use crate::space::Space;
use base::{Lsn, PageNo};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A file ends at a multiple of so many pages.
const STEP: u32 = 16;

/// What a tablespace's file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceUse {
    /// Pages in use, maps included.
    pub used: u32,
    /// One above the highest of them.
    pub end: u32,
    /// Pages that there is room for.
    pub room: u32,
}

/// An end that is to be cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Where the file is to end.
    pub end: u32,
    /// Pages that there was room for.
    pub room: u32,
    /// Nothing behind the end has changed since.
    pub since: Lsn,
}

/// What came of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutEnd {
    /// The file is shorter.
    Done,
    /// Recovery, or a backup, would ask for what is behind the end.
    NotYet,
    /// The end is used again.
    Grown,
}

impl Pager {
    /// How much of a tablespace's file is in use.
    ///
    /// # Errors
    /// [`OpError::Wait`] for a map page; [`OpError::Corrupt`]: one is damaged; [`OpError::Dropped`].
    pub fn space_use(&self, space: &Space) -> Result<SpaceUse, OpError> {
        let mapped = space.mapped();
        if mapped == 0 {
            // Nobody has looked yet which maps there are.
            return Err(OpError::Wait(Wait::Grow(space.id())));
        }
        let mut found = SpaceUse {
            room: space.room(),
            ..SpaceUse::default()
        };
        for group in (0..mapped).step_by(GROUP as usize) {
            let map = self.shared(space, PageNo(group))?;
            if map.kind() != Some(PageKind::SpaceMap) {
                return Err(OpError::Corrupt {
                    space: space.id(),
                    page: PageNo(group),
                    why: "not a space map",
                });
            }
            found.used += alloc::used_count(&map) + 1;
            found.end = alloc::used_end(&map);
        }
        Ok(found)
    }

    /// Begins to cut off what of the file is behind the last page in use: nothing is allocated there from now on, unless the file has to grow. `None`:
    /// that would be fewer than `least` pages.
    ///
    /// # Errors
    /// As [`Pager::space_use`].
    pub fn begin_cut(&self, space: &Space, least: u32) -> Result<Option<Cut>, OpError> {
        let known = self.space_use(space)?;
        // Who allocates holds the map of the page.
        let group = known.end.saturating_sub(1) / GROUP * GROUP;
        let map = self.exclusive(space, PageNo(group))?;
        let mut last = alloc::used_end(&map);
        if base::mutant!("tail-cut-too-far") {
            last = last.saturating_sub(STEP).max(STEP);
        }
        let end = last.next_multiple_of(STEP);
        let room = space.room();
        // A page of another group is allocated under another map.
        let whole = room <= group.saturating_add(GROUP) && space.mapped() > group;
        if !whole || room < end.saturating_add(least) {
            return Ok(None);
        }
        space.close_end(end);
        if space.room() != room {
            // It has grown, and a page behind may have been allocated before the end was closed.
            return Ok(None);
        }
        Ok(Some(Cut {
            end,
            room,
            since: self.log().end(),
        }))
    }

    /// Whether recovery begins behind all that the cut waits for.
    pub fn may_cut(&self, cut: &Cut) -> bool {
        self.checkpoint_lsn() >= cut.since || base::mutant!("tail-cut-before-a-checkpoint")
    }

    /// Cuts the end off.
    ///
    /// # Errors
    /// The file cannot be made shorter; [`OpError::SpaceFull`], [`OpError::Short`]: a compressed one has no room for its root.
    pub fn finish_cut(&self, space: &Arc<Space>, cut: &Cut) -> Result<CutEnd, OpError> {
        if !self.may_cut(cut) {
            return Ok(CutEnd::NotYet);
        }
        let holds = &self.checkpointer.holds;
        match holds.unless_held(|| space.cut(cut.end)) {
            None => return Ok(CutEnd::NotYet),
            Some(done) => {
                if !done.map_err(OpError::io)? {
                    return Ok(CutEnd::Grown);
                }
            }
        }
        if space.shadow().is_some() {
            space.unsynced.store(true, Ordering::Release);
            self.checkpointer.sync_spaces()?;
        }
        Ok(CutEnd::Done)
    }
}
