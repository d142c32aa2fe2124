//! Merging nodes that have become nearly empty, and the root's shrinking. The latch rules are those of [`crate::split`];
//! of two neighbours the left one is latched first and stays, the right one is freed.
//!
//! There is no redistribution here between neighbours that do not fit one page: a node may stay nearly empty beside a full
//! one until either changes (see Sen and Tarjan, "Deletion without rebalancing in multiway search trees", 2009), or until the
//! leaves are packed ([`crate::pack`]).

use base::PageNo;
use pager::{ExclusiveGuard, OpError};

use crate::node::edit::Shape;
use crate::node::plan;
use crate::node::view::{is_inner_of, is_leaf_of, level};
use crate::node::{BODY, InnerNode, Node};
use crate::ops;
use crate::split::Path;
use crate::tree::{ShapeGuard, Tree};

/// Two neighbours become one only when that leaves some room, lest the next insert split them again.
const MERGED_FILL: usize = BODY - BODY / 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Merged {
    Yes,
    /// The neighbours are too full.
    No,
    /// There is no neighbour under the same parent.
    Alone,
}

impl Tree {
    /// Merges the leaf of `key` with a neighbour if it is nearly empty, then likewise upward.
    ///
    /// # Errors
    /// [`OpError::Wait`], with what was merged so far merged; [`OpError::Corrupt`], [`OpError::Dropped`], [`OpError::LogFull`].
    pub fn merge(&self, key: &[u8]) -> Result<(), OpError> {
        let shape = self.shape.lock();
        while self.merge_pass(&shape, key)? {}
        self.shrink_root(&shape)
    }

    /// One walk from the leaf upward; true when another may find more to do.
    fn merge_pass(&self, shape: &ShapeGuard<'_>, key: &[u8]) -> Result<bool, OpError> {
        let path = self.path(shape, key)?;
        let Some((parent, slot)) = path.inner.last().copied() else {
            return Ok(false);
        };
        if !self.nearly_empty::<true>(path.leaf)? {
            return Ok(false);
        }
        let leaf = self.merge_child::<true>(parent, slot)?;
        let above = self.merge_above(&path)?;
        // A leaf alone under its parent may have got neighbours by the parent's merge.
        Ok(leaf == Merged::Yes || (leaf == Merged::Alone && above))
    }

    fn merge_above(&self, path: &Path) -> Result<bool, OpError> {
        for depth in (1..path.inner.len()).rev() {
            if !self.nearly_empty::<false>(path.inner[depth].0)? {
                return Ok(false);
            }
            let (parent, slot) = path.inner[depth - 1];
            if self.merge_child::<false>(parent, slot)? == Merged::Yes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn nearly_empty<const LEAF: bool>(&self, page: PageNo) -> Result<bool, OpError> {
        let guard = self.pager.shared(&self.space, page)?;
        Ok(Node::<LEAF>::new(guard.bytes()).nearly_empty(0))
    }

    /// Merges the child at `slot` of `parent` with a neighbour.
    fn merge_child<const LEAF: bool>(
        &self,
        parent: PageNo,
        slot: usize,
    ) -> Result<Merged, OpError> {
        let count = {
            let guard = self.pager.shared(&self.space, parent)?;
            InnerNode::new(guard.bytes()).count()
        };
        if count < 2 {
            return Ok(Merged::Alone);
        }
        if slot + 1 < count && self.merge_pair::<LEAF>(parent, slot, MERGED_FILL)? {
            return Ok(Merged::Yes);
        }
        if slot > 0 && self.merge_pair::<LEAF>(parent, slot - 1, MERGED_FILL)? {
            return Ok(Merged::Yes);
        }
        Ok(Merged::No)
    }

    /// Merges the children at `slot` and `slot + 1` of `parent` if they take no more than `fill` bytes of one page.
    pub(crate) fn merge_pair<const LEAF: bool>(
        &self,
        parent: PageNo,
        slot: usize,
        fill: usize,
    ) -> Result<bool, OpError> {
        let (left_no, right_no) = {
            let guard = self.pager.shared(&self.space, parent)?;
            let node = InnerNode::new(guard.bytes());
            (node.child(slot), node.child(slot + 1))
        };
        if left_no == right_no {
            return Err(self.corrupt(parent, "a page that is its own neighbour"));
        }
        let (left_page, right_page) = self.neighbours::<LEAF>(left_no, right_no)?;
        let left = Node::<LEAF>::new(left_page.bytes());
        let right = Node::<LEAF>::new(right_page.bytes());
        let size = plan::merged_size(&left, &right);
        // An inner node of one child is as empty as they get.
        let least = if LEAF { 0 } else { 1 };
        let spare = left.count() <= least || right.count() <= least;
        if size > if spare { BODY } else { fill } {
            return Ok(false);
        }
        let mut moved = Vec::with_capacity(BODY);
        let fences = (left.low(), right.high());
        let starts = left.count() == 0;
        let written = plan::write_entries(&right, 0..right.count(), fences, starts, &mut moved);
        self.sound(right_no, written)?;
        let high = right.high().to_vec();
        let head = ops::refence(left.count(), &high);
        let parent = self.pager.exclusive(&self.space, parent)?;
        let mut mtr = self.pager.mtr()?;
        let left = mtr.add(left_page);
        let right = mtr.add(right_page);
        let parent = mtr.add(parent);
        mtr.op(left, ops::REFENCE, &[&head, &high, &moved]);
        mtr.op(parent, ops::REMOVE, &[&ops::remove(slot + 1)]);
        self.pager.free_page(&mut mtr, &self.space, right)?;
        mtr.commit();
        Ok(true)
    }

    /// Latches two neighbours, the left one first.
    pub(crate) fn neighbours<const LEAF: bool>(
        &self,
        left_no: PageNo,
        right_no: PageNo,
    ) -> Result<(ExclusiveGuard<'_>, ExclusiveGuard<'_>), OpError> {
        let left = self.pager.exclusive(&self.space, left_no)?;
        let right = self.pager.exclusive(&self.space, right_no)?;
        for (no, page) in [(left_no, &left), (right_no, &right)] {
            let b = page.bytes();
            let good = match LEAF {
                true => is_leaf_of(b, self.index_id),
                false => is_inner_of(b, self.index_id),
            };
            if !good {
                return Err(self.corrupt(no, "not the page that its parent promises"));
            }
        }
        let fences = (
            Node::<LEAF>::new(left.bytes()).high(),
            Node::<LEAF>::new(right.bytes()).low(),
        );
        if fences.0 != fences.1 || level(left.bytes()) != level(right.bytes()) {
            return Err(self.corrupt(left_no, "neighbours whose fences do not meet"));
        }
        Ok((left, right))
    }

    /// While the root has a single child, moves the child's content up.
    pub(crate) fn shrink_root(&self, _held: &ShapeGuard<'_>) -> Result<(), OpError> {
        loop {
            let root = self.pager.shared(&self.space, self.root)?;
            let node = InnerNode::new(root.bytes());
            if !is_inner_of(root.bytes(), self.index_id) || node.count() != 1 {
                return Ok(());
            }
            let child_no = node.child(0);
            let below = level(root.bytes()) - 1;
            drop(root);
            let child = self.pager.exclusive(&self.space, child_no)?;
            let b = child.bytes();
            let leaf = is_leaf_of(b, self.index_id);
            // The level also tells the root from its child: it is about to be latched as well.
            if level(b) != below || !leaf && !is_inner_of(b, self.index_id) {
                return Err(self.corrupt(child_no, "not the page that its parent promises"));
            }
            let shape = Shape {
                level: level(b),
                index_id: self.index_id,
                low: b"",
                high: b"",
            };
            let content = if leaf {
                let node = Node::<true>::new(b);
                ops::image_of(&shape, &node, 0..node.count())
            } else {
                let node = Node::<false>::new(b);
                ops::image_of(&shape, &node, 0..node.count())
            };
            let content = self.sound(child_no, content)?;
            let root = self.pager.exclusive(&self.space, self.root)?;
            let mut mtr = self.pager.mtr()?;
            let child = mtr.add(child);
            let root = mtr.add(root);
            mtr.op_init(root, ops::IMAGE, &[&content]);
            self.pager.free_page(&mut mtr, &self.space, child)?;
            mtr.commit();
        }
    }
}
