//! How many entries lie between two keys, from the way to each of them: as many as there are where both ways end in the same leaf or
//! in neighbours, else about as many as the nodes on the ways, and some between them, make likely. Nothing is latched and no page is read from a device.

use base::PageNo;
use pager::OpError;

use crate::descend::Target;
use crate::node::view::{covers, covers_below, is_inner_of, is_leaf_of, level};
use crate::node::{InnerNode, LeafNode};
use crate::tree::Tree;

/// Nodes looked at between the two ways, on each level.
const MIDDLE: usize = 6;
/// Ways that turned out stale before it is given up.
const TRIES: u32 = 4;

/// A node on the way.
struct Step {
    page: PageNo,
    slot: usize,
    children: Vec<PageNo>,
}

/// A leaf at the end of a way.
#[derive(Default, Clone, Copy)]
struct LeafCount {
    /// Entries from the lower key on, below the upper one, and within both.
    from: u64,
    below: u64,
    within: u64,
    all: u64,
    /// Entries that count and that do not.
    slots: u64,
}

impl Tree {
    /// Entries whose keys are not below `from` and below `to`, as far as `live` holds for their values: exact where the ends are in
    /// one leaf or in neighbours, else an estimate. `None`: the tree changes too fast.
    ///
    /// # Errors
    /// As any read: [`OpError::Wait`] for a page that is not in memory. `live` may see the bytes of a page in the middle of a change.
    pub fn count_between(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        live: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<f64>, OpError> {
        if to.is_some_and(|to| to <= from) {
            return Ok(Some(0.0));
        }
        for _ in 0..TRIES {
            let low = self.steps(Target::Key(from))?;
            let high = self.steps(Target::Below(to))?;
            let (Some(low), Some(high)) = (low, high) else {
                continue;
            };
            if low.0.len() == high.0.len()
                && let Some(n) = self.between(low, high, from, to, &live)?
            {
                return Ok(Some(n));
            }
        }
        Ok(None)
    }

    /// The inner nodes on the way to a leaf, and the leaf; `None` when the way was stale.
    fn steps(&self, target: Target<'_>) -> Result<Option<(Vec<Step>, PageNo)>, OpError> {
        let mut steps: Vec<Step> = Vec::new();
        let mut at = self.root;
        let mut expected = None;
        loop {
            let found = self.pager.optimistic(&self.space, at, |page| {
                let b = page.bytes();
                if is_inner_of(b, self.index_id) {
                    let node = InnerNode::new(b);
                    let children = (0..node.count()).map(|i| node.child(i)).collect();
                    Some((level(b), target.slot(&node), children))
                } else {
                    is_leaf_of(b, self.index_id).then(|| (0, 0, Vec::new()))
                }
            })?;
            let Some((level, slot, children)) = found else {
                return Ok(None);
            };
            let children: Vec<PageNo> = children;
            if expected.is_some_and(|e| e != level) {
                return Ok(None);
            }
            if level == 0 {
                return Ok(Some((steps, at)));
            }
            let Some(child) = children.get(slot).copied() else {
                return Ok(None);
            };
            steps.push(Step {
                page: at,
                slot,
                children,
            });
            if level == 1 {
                return Ok(Some((steps, child)));
            }
            at = child;
            expected = Some(level - 1);
        }
    }

    fn between(
        &self,
        (low, low_leaf): (Vec<Step>, PageNo),
        (high, high_leaf): (Vec<Step>, PageNo),
        from: &[u8],
        to: Option<&[u8]>,
        live: &impl Fn(&[u8]) -> bool,
    ) -> Result<Option<f64>, OpError> {
        // Nodes strictly between the two ways on the level below, how many they are and some of them.
        let mut gap = 0.0;
        let mut middle: Vec<PageNo> = Vec::new();
        for (l, h) in low.iter().zip(&high) {
            if l.page == h.page {
                if h.slot < l.slot {
                    return Ok(None);
                }
                middle = l.children.get(l.slot + 1..h.slot).unwrap_or(&[]).to_vec();
                gap = middle.len() as f64;
                continue;
            }
            let mut counted = l.children.len() + h.children.len();
            let mut nodes = 2;
            let mut below = l.children.get(l.slot + 1..).unwrap_or(&[]).to_vec();
            for no in some_of(&middle) {
                if let Some(children) = self.children(no)? {
                    counted += children.len();
                    nodes += 1;
                    below.extend(children);
                }
            }
            below.extend_from_slice(h.children.get(..h.slot).unwrap_or(&[]));
            let ends = l.children.len().saturating_sub(l.slot + 1) + h.slot;
            gap = ends as f64 + gap * counted as f64 / f64::from(nodes);
            middle = below;
        }
        let Some(first) = self.count_leaf(low_leaf, from, to, Some(Target::Key(from)), live)?
        else {
            return Ok(None);
        };
        if low_leaf == high_leaf {
            return Ok(Some(first.within as f64));
        }
        let Some(last) = self.count_leaf(high_leaf, from, to, Some(Target::Below(to)), live)?
        else {
            return Ok(None);
        };
        let ends = (first.from + last.below) as f64;
        if gap == 0.0 {
            return Ok(Some(ends));
        }
        let (mut counted, mut leaves) = (0, 0u32);
        for no in some_of(&middle) {
            match self.count_leaf(no, from, to, None, live) {
                Ok(Some(leaf)) => {
                    counted += leaf.slots;
                    leaves += 1;
                }
                // Those in memory are enough.
                Ok(None) | Err(OpError::Wait(_)) => {}
                Err(e) => return Err(e),
            }
        }
        let slots = first.slots + last.slots;
        if leaves == 0 {
            (counted, leaves) = (slots, 2);
        }
        // What does not count is as frequent between the ends as there.
        let live = (first.all + last.all) as f64 / slots.max(1) as f64;
        Ok(Some(ends + gap * live * counted as f64 / f64::from(leaves)))
    }

    /// The children of an inner node; `None` where it is none, or not in memory.
    fn children(&self, no: PageNo) -> Result<Option<Vec<PageNo>>, OpError> {
        let children = self.pager.optimistic(&self.space, no, |page| {
            let b = page.bytes();
            is_inner_of(b, self.index_id).then(|| {
                let node = InnerNode::new(b);
                (0..node.count()).map(|i| node.child(i)).collect()
            })
        });
        match children {
            Err(OpError::Wait(_)) => Ok(None),
            r => r,
        }
    }

    fn count_leaf(
        &self,
        no: PageNo,
        from: &[u8],
        to: Option<&[u8]>,
        target: Option<Target<'_>>,
        live: &impl Fn(&[u8]) -> bool,
    ) -> Result<Option<LeafCount>, OpError> {
        self.pager.optimistic(&self.space, no, |page| {
            let b = page.bytes();
            if !is_leaf_of(b, self.index_id) {
                return None;
            }
            let there = match target {
                Some(Target::Key(key)) => covers(b, key),
                Some(Target::Below(bound)) => covers_below(b, bound),
                None => true,
            };
            if !there {
                return None;
            }
            let leaf = LeafNode::new(b);
            let mut n = LeafCount {
                slots: leaf.count() as u64,
                ..LeafCount::default()
            };
            if target.is_none() {
                return Some(n);
            }
            let slot = |key: &[u8], below_all: usize, above_all: usize| {
                if key < leaf.low() {
                    below_all
                } else if !leaf.high().is_empty() && key >= leaf.high() {
                    above_all
                } else {
                    leaf.lower_bound(leaf.strip(key)).0
                }
            };
            let begin = slot(from, 0, leaf.count());
            let end = to.map_or(leaf.count(), |to| slot(to, 0, leaf.count()));
            for i in 0..leaf.count() {
                if !leaf.value(i).is_some_and(live) {
                    continue;
                }
                n.all += 1;
                n.from += u64::from(i >= begin);
                n.below += u64::from(i < end);
                n.within += u64::from(i >= begin && i < end);
            }
            Some(n)
        })
    }
}

/// Some of these, evenly spread.
fn some_of(all: &[PageNo]) -> impl Iterator<Item = PageNo> + '_ {
    let step = all.len().div_ceil(MIDDLE).max(1);
    // From the midst of the first piece.
    all.iter().copied().skip(step / 2).step_by(step)
}
