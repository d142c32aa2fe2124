//! The handle of a tree, its creation and its destruction.
//!
//! The root's page number never changes. All handles of a tree in a process come from one: they share the latch under which the shape of
//! the tree changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::PageNo;
use pager::{ExclusiveGuard, Mtr, OpError, Pager, Space};

use crate::node::InnerNode;
use crate::node::edit::{self, Shape};
use crate::node::view::{is_inner_of, is_leaf_of, level};
use crate::ops;

/// A B+tree within a tablespace.
pub struct Tree {
    pub(crate) pager: Arc<Pager>,
    pub(crate) space: Arc<Space>,
    pub(crate) root: PageNo,
    pub(crate) index_id: u32,
    pub(crate) shape: Arc<ShapeLatch>,
    pub(crate) wear: Arc<Wear>,
}

/// Room that has come to be in the leaves since the process has opened the tree: what makes it worth while to pack them.
#[derive(Default)]
pub(crate) struct Wear {
    removed: AtomicU64,
    split: AtomicU64,
}

impl Wear {
    /// So many bytes of entries are gone.
    #[inline]
    pub(crate) fn note_removed(&self, bytes: usize) {
        self.removed.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// A split has left so many bytes free in the leaf in front.
    pub(crate) fn note_split(&self, bytes: usize) {
        self.split.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Held by whoever changes inner pages. Only running code holds it, never across a return to a caller that may wait,
/// so spinning and yielding is enough.
#[derive(Default)]
pub(crate) struct ShapeLatch(AtomicBool);

/// Proof that the shape of the tree cannot change under its holder.
pub(crate) struct ShapeGuard<'a>(&'a ShapeLatch);

impl ShapeLatch {
    pub(crate) fn lock(&self) -> ShapeGuard<'_> {
        let mut spins = 0u32;
        loop {
            let free = !self.0.load(Ordering::Relaxed);
            if free && !self.0.swap(true, Ordering::Acquire) {
                return ShapeGuard(self);
            }
            spins += 1;
            if spins < 64 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

impl Drop for ShapeGuard<'_> {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Release);
    }
}

impl Tree {
    /// The tree with this root. Touches no page.
    pub fn open(pager: Arc<Pager>, space: Arc<Space>, root: PageNo, index_id: u32) -> Tree {
        Tree {
            pager,
            space,
            root,
            index_id,
            shape: Arc::default(),
            wear: Arc::default(),
        }
    }

    /// Another handle of the same tree, with the same latch.
    pub fn again(&self) -> Tree {
        Tree {
            pager: self.pager.clone(),
            space: self.space.clone(),
            root: self.root,
            index_id: self.index_id,
            shape: self.shape.clone(),
            wear: self.wear.clone(),
        }
    }

    /// Makes an empty tree in a record of its own and answers its root page.
    ///
    /// # Errors
    /// [`OpError::Wait`], with nothing made; [`OpError::Corrupt`]: a map page is damaged; [`OpError::LogFull`].
    pub fn create(pager: &Pager, space: &Arc<Space>, index_id: u32) -> Result<PageNo, OpError> {
        let mut mtr = pager.mtr()?;
        let root = Tree::create_in(&mut mtr, pager, space, index_id)?;
        mtr.commit();
        Ok(root)
    }

    /// Makes an empty tree as part of the caller's record and answers its root page.
    ///
    /// # Errors
    /// As [`Pager::alloc_page`].
    pub fn create_in<'p>(
        mtr: &mut Mtr<'p>,
        pager: &'p Pager,
        space: &Arc<Space>,
        index_id: u32,
    ) -> Result<PageNo, OpError> {
        let ix = pager.alloc_page(mtr, space)?;
        let shape = Shape {
            level: 0,
            index_id,
            low: b"",
            high: b"",
        };
        mtr.op_init(ix, ops::IMAGE, &[&ops::image_head(&shape)]);
        Ok(mtr.page_no(ix))
    }

    /// The root page.
    pub fn root(&self) -> PageNo {
        self.root
    }

    /// The index id that every page of the tree bears.
    pub fn index_id(&self) -> u32 {
        self.index_id
    }

    /// The tablespace.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The pool and log below.
    pub fn pager(&self) -> &Arc<Pager> {
        &self.pager
    }

    /// Bytes that entries which were removed took, and bytes that splits have left free, since the process has opened the tree. Both only grow.
    pub fn wear(&self) -> (u64, u64) {
        let read = |n: &AtomicU64| n.load(Ordering::Relaxed);
        (read(&self.wear.removed), read(&self.wear.split))
    }

    pub(crate) fn corrupt(&self, page: PageNo, why: &'static str) -> OpError {
        OpError::Corrupt {
            space: self.space.id(),
            page,
            why,
        }
    }

    /// Frees one page of a tree that nobody uses any more, last page first; false when only the root is left. The
    /// caller frees the root in the record that drops its own reference to it ([`crate::Change::free`]); so the
    /// destruction can go on after a crash.
    ///
    /// # Errors
    /// [`OpError::Wait`], with nothing freed; [`OpError::Corrupt`], [`OpError::Dropped`], [`OpError::LogFull`].
    pub fn destroy_step(&self) -> Result<bool, OpError> {
        let _shape = self.shape.lock();
        let mut above: Option<(ExclusiveGuard<'_>, usize)> = None;
        let mut at = self.root;
        loop {
            // The page above stays latched: a damaged one may name itself as its child.
            if above.as_ref().is_some_and(|(page, _)| page.page_no() == at) {
                return Err(self.corrupt(at, "a page that is its own child"));
            }
            let page = self.pager.exclusive(&self.space, at)?;
            let node = InnerNode::new(page.bytes());
            let count = node.count();
            if is_inner_of(page.bytes(), self.index_id) && count > 0 {
                let below = |(above, _): &(ExclusiveGuard<'_>, usize)| {
                    level(page.bytes()).checked_add(1) == Some(level(above.bytes()))
                };
                if !above.as_ref().is_none_or(below) {
                    return Err(self.corrupt(at, "not the level that its parent promises"));
                }
                let child = node.child(count - 1);
                above = Some((page, count - 1));
                at = child;
                continue;
            }
            let Some((parent, slot)) = above else {
                return Ok(false);
            };
            if !is_inner_of(page.bytes(), self.index_id) && !is_leaf_of(page.bytes(), self.index_id)
            {
                return Err(self.corrupt(at, "not a page of this index"));
            }
            edit::removable(parent.bytes(), slot)
                .map_err(|why| self.corrupt(parent.page_no(), why))?;
            let mut mtr = self.pager.mtr()?;
            let parent = mtr.add(parent);
            mtr.op(parent, ops::REMOVE, &[&ops::remove(slot)]);
            let page = mtr.add(page);
            self.pager.free_page(&mut mtr, &self.space, page)?;
            mtr.commit();
            return Ok(true);
        }
    }

    /// Frees a page of this tree's tablespace as part of the caller's record (undo of a half-written overflow chain).
    ///
    /// # Errors
    /// [`OpError::Wait`]; [`OpError::Corrupt`]: a map page is damaged; [`OpError::Dropped`].
    pub fn free_page_in<'p>(&'p self, mtr: &mut Mtr<'p>, page: PageNo) -> Result<(), OpError> {
        self.free_page_of(mtr, &self.space, page)
    }

    pub(crate) fn free_page_of<'p>(
        &'p self,
        mtr: &mut Mtr<'p>,
        space: &Arc<Space>,
        page: PageNo,
    ) -> Result<(), OpError> {
        if mtr.find(space.id(), page).is_some() {
            return Err(self.corrupt(page, "a page that is referred to twice"));
        }
        let page = mtr.add(self.pager.exclusive(space, page)?);
        self.pager.free_page(mtr, space, page)
    }
}
