//! Moving nodes to other pages, so that the end of a file comes to be free: the node's bytes go to a free page in front, its parent names that
//! one, and the old page is free, all in one record.
//!
//! There are no sibling links, so the parent is all that has to know. Who has read the old number from the parent finds a free page there, or another
//! node, and descends again, as after a merge ([`crate::descend`]). Latches: the node, its parent, the map; under the tree's shape latch.
//!
//! Must never do: move the root, whose number the definition names, or an overflow page, which versions of rows in the log refer to.

use base::PageNo;
use pager::OpError;

use crate::descend::Target;
use crate::node::edit::Shape;
use crate::node::view::{is_inner_of, is_leaf_of, level};
use crate::node::{InnerNode, Node};
use crate::ops;
use crate::tree::{ShapeGuard, Tree};

/// How far the nodes of a tree were looked at, in the order of their keys.
#[derive(Clone, Debug, Default)]
pub struct Relocation {
    from: Vec<u8>,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relocated {
    /// A node was moved.
    Moved,
    /// None had to be among those looked at; there are more.
    More,
    /// There is no free page to move one to.
    NoRoom,
    /// All were looked at.
    End,
}

impl Tree {
    /// Moves the next node that lies on a page from `limit` on to a free page in front of it.
    ///
    /// # Errors
    /// [`OpError::Wait`], with nothing changed; [`OpError::Corrupt`], [`OpError::Dropped`], [`OpError::LogFull`].
    pub fn relocate(&self, at: &mut Relocation, limit: PageNo) -> Result<Relocated, OpError> {
        let shape = self.shape.lock();
        let path = self.path(&shape, &at.from)?;
        // From the top, as the way down goes through them.
        for depth in 1..path.inner.len() {
            if path.inner[depth].0 >= limit {
                return self.move_child::<false>(&shape, path.inner[depth - 1], limit);
            }
        }
        let Some((parent, _)) = path.inner.last().copied() else {
            return Ok(Relocated::End);
        };
        let (slot, high) = {
            let guard = self.pager.shared(&self.space, parent)?;
            let node = InnerNode::new(guard.bytes());
            let first = Target::Key(&at.from).slot(&node);
            let slot = (first..node.count()).find(|slot| node.child(*slot) >= limit);
            (slot, node.high().to_vec())
        };
        match slot {
            Some(slot) => self.move_child::<true>(&shape, (parent, slot), limit),
            None if high.is_empty() => Ok(Relocated::End),
            None => {
                at.from = high;
                Ok(Relocated::More)
            }
        }
    }

    fn move_child<const LEAF: bool>(
        &self,
        _held: &ShapeGuard<'_>,
        (parent_no, slot): (PageNo, usize),
        limit: PageNo,
    ) -> Result<Relocated, OpError> {
        let child_no = {
            let guard = self.pager.shared(&self.space, parent_no)?;
            InnerNode::new(guard.bytes()).child(slot)
        };
        if child_no == parent_no || child_no == self.root {
            return Err(self.corrupt(parent_no, "a page that is its own child"));
        }
        let child = self.pager.exclusive(&self.space, child_no)?;
        let parent = self.pager.exclusive(&self.space, parent_no)?;
        let (b, above) = (child.bytes(), parent.bytes());
        let good = match LEAF {
            true => is_leaf_of(b, self.index_id),
            false => is_inner_of(b, self.index_id),
        };
        if !good || level(b).checked_add(1) != Some(level(above)) {
            return Err(self.corrupt(child_no, "not the page that its parent promises"));
        }
        let node = Node::<LEAF>::new(b);
        let shape = Shape {
            level: level(b),
            index_id: self.index_id,
            low: node.low(),
            high: node.high(),
        };
        let content = ops::image_of(&shape, &node, 0..node.count());
        let content = self.sound(child_no, content)?;
        let mut mtr = self.pager.mtr()?;
        let child = mtr.add(child);
        let parent = mtr.add(parent);
        let Some(new) = (self.pager).alloc_page_below(&mut mtr, &self.space, limit)? else {
            return Ok(Relocated::NoRoom);
        };
        let link = ops::set_child(slot, mtr.page_no(new).0);
        mtr.op_init(new, ops::IMAGE, &[&content]);
        if !base::mutant!("moved-page-still-named-by-its-parent") {
            mtr.op(parent, ops::SET_CHILD, &[&link]);
        }
        self.pager.free_page(&mut mtr, &self.space, child)?;
        mtr.commit();
        Ok(Relocated::Moved)
    }
}
