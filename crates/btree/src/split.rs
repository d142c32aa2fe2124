//! Making room: splits, and the root's growth.
//!
//! Whoever changes inner pages holds the tree's shape latch; inner pages then stand still under it, and it may read them
//! at leisure. Every page that a step needs is resident and latched before the record is made: the node, then its
//! parent, then the new page and its space map. Each step (one node in two, or the root one level up) is one record
//! and leaves a whole tree, so nothing has to be undone when the next step must wait.
//!
//! When the parent has no room for the separator, the parent is split first and the descent begins again.

use base::PageNo;
use pager::{ExclusiveGuard, OpError, RecordKind};
use smallvec::SmallVec;

use crate::descend::Target;
use crate::modify::Need;
use crate::node::edit::Shape;
use crate::node::plan::{self, Newcomer, Split};
use crate::node::view::{covers, is_inner_of, is_leaf_of, level};
use crate::node::{BODY, InnerNode, LeafNode, Node, SLOT};
use crate::ops;
use crate::tree::{ShapeGuard, Tree};

/// The inner pages from the root to a leaf, each with the slot taken.
pub(crate) struct Path {
    pub(crate) inner: SmallVec<[(PageNo, usize); 8]>,
    pub(crate) leaf: PageNo,
}

impl Tree {
    /// The way to the leaf of `key`; exact, since the shape stands still.
    pub(crate) fn path(&self, _held: &ShapeGuard<'_>, key: &[u8]) -> Result<Path, OpError> {
        let mut inner = SmallVec::new();
        let mut at = self.root;
        let mut expected = None;
        loop {
            let guard = self.pager.shared(&self.space, at)?;
            let b = guard.bytes();
            if is_leaf_of(b, self.index_id) && expected.is_none_or(|e| e == 0) {
                return Ok(Path { inner, leaf: at });
            }
            let fits = is_inner_of(b, self.index_id) && expected.is_none_or(|e| e == level(b));
            let node = InnerNode::new(b);
            if !fits || node.count() == 0 || !covers(b, key) {
                return Err(self.corrupt(at, "not the inner page that its parent promises"));
            }
            let slot = Target::Key(key).slot(&node);
            inner.push((at, slot));
            expected = Some(level(b) - 1);
            at = node.child(slot);
            if expected == Some(0) {
                return Ok(Path { inner, leaf: at });
            }
        }
    }

    /// Splits the leaf of `key` (and what is above it, where needed) unless it has room by now, for a record of `kind`.
    #[cold]
    pub(crate) fn make_room(
        &self,
        key: &[u8],
        need: Need,
        kind: RecordKind,
    ) -> Result<(), OpError> {
        let shape = self.shape.lock();
        loop {
            let path = self.path(&shape, key)?;
            let guard = self.pager.exclusive(&self.space, path.leaf)?;
            if !is_leaf_of(guard.bytes(), self.index_id) || !covers(guard.bytes(), key) {
                return Err(self.corrupt(path.leaf, "not the leaf that its parent promises"));
            }
            let leaf = LeafNode::new(guard.bytes());
            let suffix = leaf.strip(key);
            let need_bytes = match need {
                Need::Insert(value) | Need::Run(value) => SLOT + suffix.len() + value,
                Need::Grow(more) => more,
            };
            if need_bytes <= leaf.free_bytes() {
                return Ok(());
            }
            let newcomer = Newcomer {
                suffix: (!matches!(need, Need::Grow(_))).then_some(suffix),
                in_order: matches!(need, Need::Run(_)),
                slot: leaf.lower_bound(suffix).0,
                need: need_bytes,
            };
            let Some(split) = plan::split_leaf(&leaf, newcomer) else {
                return Err(self.corrupt(path.leaf, "an entry that no page can hold"));
            };
            let depth = path.inner.len();
            if depth == 0 {
                self.grow_root::<true>(guard, kind)?;
            } else if self.parent_takes(&path, depth - 1, &split.separator)? {
                return self.cut::<true>(guard, path.inner[depth - 1], &split, kind);
            } else {
                drop(guard);
                self.split_inner(&path, depth - 1, kind)?;
            }
        }
    }

    /// Splits the inner page at `depth` of the path, or one above it that has to be split first. The path is stale then.
    fn split_inner(&self, path: &Path, depth: usize, kind: RecordKind) -> Result<(), OpError> {
        let (no, slot) = path.inner[depth];
        let guard = self.pager.exclusive(&self.space, no)?;
        if depth == 0 {
            return self.grow_root::<false>(guard, kind);
        }
        let node = InnerNode::new(guard.bytes());
        let Some(split) = plan::split_inner(&node, slot) else {
            return Err(self.corrupt(no, "a full inner page of one child"));
        };
        if self.parent_takes(path, depth - 1, &split.separator)? {
            return self.cut::<false>(guard, path.inner[depth - 1], &split, kind);
        }
        drop(guard);
        self.split_inner(path, depth - 1, kind)
    }

    fn parent_takes(&self, path: &Path, depth: usize, separator: &[u8]) -> Result<bool, OpError> {
        let parent = self.pager.shared(&self.space, path.inner[depth].0)?;
        let node = InnerNode::new(parent.bytes());
        Ok(node.fits(node.strip(separator).len(), 4))
    }

    /// Moves the root's content to a new page below it; the root keeps its number and becomes its parent.
    fn grow_root<'p, const LEAF: bool>(
        &'p self,
        root: ExclusiveGuard<'p>,
        kind: RecordKind,
    ) -> Result<(), OpError> {
        let node = Node::<LEAF>::new(root.bytes());
        let down = Shape {
            level: level(root.bytes()),
            index_id: self.index_id,
            low: b"",
            high: b"",
        };
        let up = Shape {
            level: down.level + 1,
            ..down
        };
        let content = ops::image_of(&down, &node, 0..node.count());
        let content = self.sound(self.root, content)?;
        let mut mtr = self.pager.mtr_of(kind)?;
        let root = mtr.add(root);
        let child = self.pager.alloc_page(&mut mtr, &self.space)?;
        let mut above = ops::image_head(&up);
        ops::push_first_child(&mut above, mtr.page_no(child).0);
        mtr.op_init(child, ops::IMAGE, &[&content]);
        mtr.op_init(root, ops::IMAGE, &[&above]);
        mtr.commit();
        Ok(())
    }

    /// Cuts a node in two; its parent is known to have room for the separator.
    fn cut<'p, const LEAF: bool>(
        &'p self,
        node: ExclusiveGuard<'p>,
        (parent, slot): (PageNo, usize),
        split: &Split,
        kind: RecordKind,
    ) -> Result<(), OpError> {
        let left = Node::<LEAF>::new(node.bytes());
        let shape = Shape {
            level: level(node.bytes()),
            index_id: self.index_id,
            low: &split.separator,
            high: left.high(),
        };
        let moved = ops::image_of(&shape, &left, split.at..left.count());
        let moved = self.sound(node.page_no(), moved)?;
        let kept = plan::size_within(&left, 0..split.at, left.low(), &split.separator);
        let parent = self.pager.exclusive(&self.space, parent)?;
        let above = InnerNode::new(parent.bytes());
        if above.child(slot) != node.page_no() {
            return Err(self.corrupt(parent.page_no(), "child moved under the shape latch"));
        }
        let strip = above.prefix_len();
        let mut mtr = self.pager.mtr_of(kind)?;
        let node = mtr.add(node);
        let parent = mtr.add(parent);
        let right = self.pager.alloc_page(&mut mtr, &self.space)?;
        let keep = ops::refence(split.at, &split.separator);
        let link = ops::inner_insert(slot + 1, mtr.page_no(right).0);
        let suffix = split.separator.get(strip..).unwrap_or(&[]);
        mtr.op_init(right, ops::IMAGE, &[&moved]);
        mtr.op(node, ops::REFENCE, &[&keep, &split.separator]);
        mtr.op(parent, ops::INNER_INSERT, &[&link, suffix]);
        mtr.commit();
        if LEAF {
            self.wear.note_split(BODY.saturating_sub(kept));
        }
        Ok(())
    }
}
