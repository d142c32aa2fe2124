//! Reading ahead of a scan that goes on and on: the next leaves are known from the node above them, so the device gets many reads at
//! once where it would get one after the other.
//!
//! Nothing depends on it: what was read ahead in vain is evicted as any page, and what is stale by then is found out by whoever looks.

use base::PageNo;
use pager::{OpError, Wait};
use smallvec::SmallVec;

use crate::descend::{Direction, Target};
use crate::node::InnerNode;
use crate::node::view::is_inner_of;
use crate::tree::Tree;

/// Leaves that a scan must have passed before it counts as one that goes on: a range of a hundred rows passes two or three.
const LONG: u16 = 4;

/// How a scan stands to the leaves in front of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadAhead {
    /// Leaves passed, up to [`LONG`].
    passed: u16,
    /// Leaves to pass until the next ones are read; 0: the next miss begins it.
    left: u16,
}

impl ReadAhead {
    /// The leaf that the scan needs was looked for: if it is not resident, it and those behind it are read.
    #[inline]
    pub(crate) fn missed<G>(
        &mut self,
        tree: &Tree,
        target: Target<'_>,
        direction: Direction,
        found: &Result<G, OpError>,
    ) {
        if self.passed >= LONG && matches!(found, Err(OpError::Wait(_))) {
            self.read(tree, target, direction);
        }
    }

    /// The scan is through with a leaf and goes on at `target`.
    #[inline]
    pub(crate) fn passed(&mut self, tree: &Tree, target: Target<'_>, direction: Direction) {
        self.passed = (self.passed + 1).min(LONG);
        if self.left > 0 {
            self.left -= 1;
            if self.left == 0 {
                self.read(tree, target, direction);
            }
        }
    }

    #[cold]
    fn read(&mut self, tree: &Tree, target: Target<'_>, direction: Direction) {
        let begun = tree.read_ahead(target, direction);
        // Half of them are there to be looked at while the others arrive.
        self.left = (begun / 2) as u16;
    }
}

impl Tree {
    /// Starts reading the leaves that cover some keys, or pages on the way to them, for somebody who will soon look there; says how many
    /// pages. Those that are there or on their way are not read. When `most` have been begun it looks at no further key.
    pub fn read_ahead_of<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k [u8]>,
        most: usize,
    ) -> usize {
        let pages = keys
            .into_iter()
            .filter_map(|key| match self.find_leaf(Target::Key(key)) {
                Ok(leaf) => leaf,
                Err(OpError::Wait(Wait::Page(space, no))) if space == self.space.id() => Some(no),
                Err(_) => None,
            });
        self.pager.pool().read_ahead(&self.space, pages, most)
    }

    /// How many pages may be read ahead at a time.
    pub fn ahead_at_most(&self) -> usize {
        self.pager.pool().ahead_at_most()
    }

    /// Reads the leaves from the wanted one on; says how many reads it began. Where the way to them is not resident it reads nothing.
    fn read_ahead(&self, target: Target<'_>, direction: Direction) -> usize {
        let pool = self.pager.pool();
        let most = pool.ahead_at_most();
        let Ok(Some(above)) = self.find_above(target) else {
            return 0;
        };
        let mut next: SmallVec<[PageNo; 32]> = SmallVec::new();
        let looked = self.pager.optimistic(&self.space, above, |page| {
            next.clear();
            let b = page.bytes();
            if !is_inner_of(b, self.index_id) {
                return;
            }
            let node = InnerNode::new(b);
            let slot = target.slot(&node);
            match direction {
                Direction::Forward => {
                    let slots = slot..node.count().min(slot + most);
                    next.extend(slots.map(|i| node.child(i)));
                }
                Direction::Backward => {
                    let slots = (slot + 1).saturating_sub(most)..slot + 1;
                    next.extend(slots.rev().map(|i| node.child(i)));
                }
            }
        });
        if looked.is_err() {
            return 0;
        }
        pool.read_ahead(&self.space, next, most)
    }
}
