//! From the root to a leaf.
//!
//! Inner pages are read optimistically and nothing is held between two of them. So the way may be stale: a page may have
//! been split, merged away, freed and used anew since its number was read. What makes the result right is the leaf alone:
//! latched, it must be a leaf of this index whose fences cover the key; otherwise the descent begins again. (The fences
//! take the place of the sibling links of Lehman and Yao; see Graefe, "A survey of B-tree locking techniques", 2010.)
//! After a few failures the shape latch is taken: if even then the way leads nowhere, the tree is damaged.

use base::PageNo;
use pager::{ExclusiveGuard, OpError, SharedGuard};

use crate::node::InnerNode;
use crate::node::view::{covers, covers_below, is_inner_of, is_leaf_of, level};
use crate::tree::Tree;

/// Which way a scan goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// Descents before the shape latch is taken.
const PATIENCE: u32 = 32;

/// What is looked for.
#[derive(Clone, Copy)]
pub(crate) enum Target<'k> {
    /// The leaf that covers this key.
    Key(&'k [u8]),
    /// The leaf with the largest key below the bound (`None`: the last leaf).
    Below(Option<&'k [u8]>),
}

impl Target<'_> {
    #[inline(always)]
    pub(crate) fn slot(&self, node: &InnerNode<'_>) -> usize {
        match self {
            Target::Key(key) => node.child_slot(key),
            Target::Below(bound) => node.child_slot_below(*bound),
        }
    }

    #[inline(always)]
    fn covered(&self, b: &crate::node::Bytes) -> bool {
        match self {
            Target::Key(key) => covers(b, key),
            Target::Below(bound) => covers_below(b, *bound),
        }
    }
}

enum Step {
    Down(PageNo, u8),
    Leaf,
    Lost,
}

impl Tree {
    /// The number of the page that probably is the wanted leaf; `None` when the way was stale.
    #[inline]
    pub(crate) fn find_leaf(&self, target: Target<'_>) -> Result<Option<PageNo>, OpError> {
        let way = self.way(target)?;
        Ok(way.map(|(_, leaf)| leaf))
    }

    /// The number of the inner node right above the wanted leaf, if there is one.
    pub(crate) fn find_above(&self, target: Target<'_>) -> Result<Option<PageNo>, OpError> {
        let way = self.way(target)?;
        Ok(way.and_then(|(above, leaf)| (above != leaf).then_some(above)))
    }

    /// The numbers of the last inner node and of the leaf below it; twice the leaf's where it is the root.
    #[inline(always)]
    fn way(&self, target: Target<'_>) -> Result<Option<(PageNo, PageNo)>, OpError> {
        let mut at = self.root;
        let mut expected = None;
        loop {
            let step = self.pager.optimistic(&self.space, at, |page| {
                let b = page.bytes();
                if is_inner_of(b, self.index_id) {
                    let node = InnerNode::new(b);
                    Step::Down(node.child(target.slot(&node)), level(b))
                } else if is_leaf_of(b, self.index_id) {
                    Step::Leaf
                } else {
                    Step::Lost
                }
            })?;
            match step {
                Step::Down(child, l) if expected.is_none_or(|e| e == l) => {
                    if l == 1 {
                        return Ok(Some((at, child)));
                    }
                    at = child;
                    expected = Some(l - 1);
                }
                Step::Leaf if expected.is_none() => return Ok(Some((at, at))),
                _ => return Ok(None),
            }
        }
    }

    /// The wanted leaf, latched by `latch`.
    #[inline]
    fn leaf<G>(
        &self,
        target: Target<'_>,
        latch: impl Fn(PageNo) -> Result<G, OpError>,
        bytes: impl Fn(&G) -> &crate::node::Bytes,
    ) -> Result<(PageNo, G), OpError> {
        let attempt = || -> Result<Option<(PageNo, G)>, OpError> {
            let Some(no) = self.find_leaf(target)? else {
                return Ok(None);
            };
            let guard = latch(no)?;
            let b = bytes(&guard);
            let good = is_leaf_of(b, self.index_id) && target.covered(b);
            Ok(good.then_some((no, guard)))
        };
        for _ in 0..PATIENCE {
            if let Some(found) = attempt()? {
                return Ok(found);
            }
        }
        let _shape = self.shape.lock();
        match attempt()? {
            Some(found) => Ok(found),
            None => Err(self.corrupt(self.root, "no way from the root to the key's leaf")),
        }
    }

    #[inline]
    pub(crate) fn leaf_shared(
        &self,
        target: Target<'_>,
    ) -> Result<(PageNo, SharedGuard<'_>), OpError> {
        self.leaf(
            target,
            |no| self.pager.shared(&self.space, no),
            |g| g.bytes(),
        )
    }

    #[inline]
    pub(crate) fn leaf_exclusive(
        &self,
        key: &[u8],
    ) -> Result<(PageNo, ExclusiveGuard<'_>), OpError> {
        self.leaf(
            Target::Key(key),
            |no| self.pager.exclusive(&self.space, no),
            |g| g.bytes(),
        )
    }
}
