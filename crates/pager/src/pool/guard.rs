//! What a holder of a latch or a pin carries. Guards are held by running code only, never across an await; pins may be.

use super::{Pool, frame};
use crate::page::Page;
use base::{PageNo, SpaceId};
use std::ops::Deref;
use std::sync::Arc;

/// A shared latch on a resident page.
pub struct SharedGuard<'p> {
    pub(super) pool: &'p Pool,
    pub(super) frame: u32,
}

impl Deref for SharedGuard<'_> {
    type Target = Page;
    #[inline(always)]
    fn deref(&self) -> &Page {
        self.pool.arena.page(self.frame)
    }
}

impl Drop for SharedGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.pool.frames[self.frame as usize].unlock_shared();
        frame::note_unlatched();
    }
}

/// An exclusive latch on a resident page. Reading only: changes go through a mini-transaction.
pub struct ExclusiveGuard<'p> {
    pub(super) pool: &'p Pool,
    pub(super) frame: u32,
    /// The frame was taken for a page that does not exist yet: dropping the guard gives it back.
    pub(super) fresh: bool,
    pub(super) space: Option<Arc<crate::space::Space>>,
}

impl<'p> ExclusiveGuard<'p> {
    pub(crate) fn page_mut(&mut self) -> &mut Page {
        self.pool.arena.page_mut(self.frame)
    }

    pub(crate) fn meta(&self) -> &'p super::frame::Frame {
        &self.pool.frames[self.frame as usize]
    }

    pub(crate) fn identity(&self) -> (SpaceId, PageNo) {
        match self.meta().identity() {
            Some(id) => id,
            None => unreachable!("a latched frame holds a page"),
        }
    }

    /// Which page it is. What the page itself says may be damaged.
    pub fn page_no(&self) -> PageNo {
        self.identity().1
    }

    /// The new page is really going to exist.
    pub(crate) fn keep(&mut self) {
        self.fresh = false;
    }
}

impl Deref for ExclusiveGuard<'_> {
    type Target = Page;
    #[inline(always)]
    fn deref(&self) -> &Page {
        self.pool.arena.page(self.frame)
    }
}

impl Drop for ExclusiveGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.fresh {
            self.pool.give_back_fresh(self.frame, self.space.as_deref());
        }
        self.pool.frames[self.frame as usize].unlock_exclusive();
        frame::note_unlatched();
    }
}

/// Keeps a page in memory (not its bytes unchanged) until dropped.
pub struct Pin {
    pub(super) pool: Arc<Pool>,
    pub(super) frame: u32,
}

/// Pages kept in memory for an operation until it succeeded.
pub type Pins = smallvec::SmallVec<[Pin; 4]>;

impl Drop for Pin {
    fn drop(&mut self) {
        self.pool.frames[self.frame as usize].unpin();
    }
}
