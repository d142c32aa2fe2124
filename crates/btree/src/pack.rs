//! Packing leaves that deletes and splits have left half empty: a leaf takes entries of its right neighbour until it is full, and the neighbour goes
//! when it has given all. [`Tree::pack_step`] looks at the leaves below one inner node, one at a time, finds where that saves pages ([`worth_packing`]), and changes one pair after the other there.
//!
//! Each pair is one record and leaves a whole tree. Latches: left, right, their parent, under the tree's shape latch, as for a merge. Readers and
//! writers notice by the fences, as of a split.
//!
//! Must never do: look at more than two leaves at a time; decide when it is time to pack.

use base::PageNo;
use pager::OpError;
use std::ops::Range;

use crate::node::edit::Shape;
use crate::node::plan;
use crate::node::view::is_leaf_of;
use crate::node::{BODY, InnerNode, LeafNode, SLOT};
use crate::ops;
use crate::tree::Tree;

/// Bytes that packing fills of a leaf, at most: a row may still grow a little.
pub const PACKED_FILL: usize = BODY - BODY / 32;
/// What a leaf takes from its neighbour is at least this much, or all.
const LEAST_TAKEN: usize = BODY / 16;
/// Leaves of a run of which packing has to save one.
const RUN: usize = 24;

/// What was met of the leaves of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeafFigures {
    /// Leaves.
    pub leaves: u64,
    /// Bytes that they use.
    pub bytes: u64,
    /// Those on a page in front of the one of the leaf before them.
    pub out_of_order: u64,
}

/// How far a tree is packed, in the order of its keys.
#[derive(Debug)]
pub struct Packing {
    /// Bytes that are filled of a leaf.
    fill: usize,
    from: Vec<u8>,
    branch: Option<Branch>,
    /// Bytes of the first leaves of the branch.
    sizes: Vec<usize>,
    /// Where leaves are to be packed: from the one that covers the first key on, up to the second key.
    runs: Vec<(Vec<u8>, Vec<u8>)>,
    last: PageNo,
    over: bool,
    /// What was met, before it was packed.
    pub met: LeafFigures,
    /// Leaves that packing has saved.
    pub saved: u64,
    /// Pairs of leaves that were changed.
    pub changed: u64,
}

impl Packing {
    /// Of a whole tree, filling leaves with so many bytes.
    pub fn new(fill: usize) -> Packing {
        Packing {
            fill,
            from: Vec::new(),
            branch: None,
            sizes: Vec::new(),
            runs: Vec::new(),
            last: PageNo(0),
            over: false,
            met: LeafFigures::default(),
            saved: 0,
            changed: 0,
        }
    }
}

/// The leaves below one inner node, when they were looked at.
#[derive(Debug)]
struct Branch {
    high: Vec<u8>,
    leaves: Vec<PageNo>,
    lows: Vec<Vec<u8>>,
}

/// What became of a leaf and its right neighbour.
enum Packed {
    /// They are one leaf, which may take more.
    Merged,
    /// The leaf took entries and is full. The next one begins there.
    Shared(Vec<u8>),
    /// Nothing was worth taking. The next leaf begins there.
    Left(Vec<u8>),
    /// There is no neighbour, or it does not lie within the bounds.
    Last,
}

/// Where packing saves pages: runs of neighbouring leaves, each given by the bytes that it uses, that need fewer leaves of `fill` bytes.
fn worth_packing(leaves: &[usize], fill: usize) -> Vec<Range<usize>> {
    let mut leaves = leaves.to_vec();
    let needs = |run: &[usize]| run.iter().sum::<usize>().div_ceil(fill).max(1);
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < leaves.len() {
        // The shortest run from here on that saves a page, without leaves in front that it saves none with.
        let most = leaves.len().min(at + RUN);
        let end = (at + 2..=most).find(|end| needs(&leaves[at..*end]) < end - at);
        let Some(end) = end else {
            at += 1;
            continue;
        };
        let saves = |first: &usize| needs(&leaves[*first..end]) < end - first;
        let first = (at..end - 1).rfind(saves).unwrap_or(at);
        match runs.last_mut() {
            Some(last) if last.end >= first => last.end = end,
            _ => runs.push(first..end),
        }
        // Its last leaf is what is left, and may take more.
        let all: usize = leaves[first..end].iter().sum();
        leaves[end - 1] = all.saturating_sub((needs(&leaves[first..end]) - 1) * fill);
        at = end - 1;
    }
    runs
}

impl Tree {
    /// Goes on by one look or one change of two leaves; false when the tree is packed.
    ///
    /// # Errors
    /// [`OpError::Wait`], with nothing changed; [`OpError::Corrupt`], [`OpError::Dropped`], [`OpError::LogFull`].
    pub fn pack_step(&self, at: &mut Packing) -> Result<bool, OpError> {
        if at.over {
            return Ok(false);
        }
        if let Some((key, high)) = at.runs.last_mut() {
            match self.pack(key, high, at.fill)? {
                Packed::Merged => {
                    at.saved += 1;
                    at.changed += 1;
                }
                Packed::Shared(next) => {
                    at.changed += 1;
                    *key = next;
                }
                Packed::Left(next) => *key = next,
                Packed::Last => {
                    at.runs.pop();
                }
            }
            return Ok(true);
        }
        let Some(branch) = &at.branch else {
            at.branch = self.branch(&at.from)?;
            at.over = at.branch.is_none();
            at.sizes.clear();
            return Ok(!at.over);
        };
        if let Some(no) = branch.leaves.get(at.sizes.len()) {
            // What has become something else meanwhile is taken for full.
            let found = self.leaf_bytes(*no)?;
            at.sizes.push(found.unwrap_or(at.fill));
            if let Some(bytes) = found {
                at.met.leaves += 1;
                at.met.bytes += bytes as u64;
                at.met.out_of_order += u64::from(*no < at.last);
            }
            at.last = *no;
            if at.sizes.len() == branch.leaves.len() {
                let low = |i: usize| branch.lows.get(i).unwrap_or(&branch.high).clone();
                let runs = worth_packing(&at.sizes, at.fill).into_iter().rev();
                at.runs = runs.map(|r| (low(r.start), low(r.end))).collect();
            }
            return Ok(true);
        }
        // All below it is packed.
        if self.pack_above(&at.from)? {
            return Ok(true);
        }
        at.over = branch.high.is_empty();
        at.from.clone_from(&branch.high);
        at.branch = None;
        Ok(!at.over)
    }

    /// The inner node right above the leaf that covers `key`, with the leaves below it; `None` where the root is a leaf.
    fn branch(&self, key: &[u8]) -> Result<Option<Branch>, OpError> {
        let shape = self.shape.lock();
        let path = self.path(&shape, key)?;
        let Some((parent, _)) = path.inner.last().copied() else {
            return Ok(None);
        };
        let guard = self.pager.shared(&self.space, parent)?;
        let node = InnerNode::new(guard.bytes());
        let lows = (0..node.count()).map(|i| node.child_low(i).map(|(a, b)| [a, b].concat()));
        let lows = self.sound(parent, lows.collect::<Option<Vec<_>>>())?;
        Ok(Some(Branch {
            high: node.high().to_vec(),
            leaves: (0..node.count()).map(|i| node.child(i)).collect(),
            lows,
        }))
    }

    /// Bytes that a leaf uses; `None` where the page is no leaf of this tree any more.
    fn leaf_bytes(&self, no: PageNo) -> Result<Option<usize>, OpError> {
        let guard = self.pager.shared(&self.space, no)?;
        let b = guard.bytes();
        Ok(is_leaf_of(b, self.index_id).then(|| LeafNode::new(b).used_bytes()))
    }

    /// Has the leaf that covers `key` take entries of its right neighbour, up to `fill` bytes, if that one ends at or before `high` (empty: wherever) and
    /// has the same parent.
    fn pack(&self, key: &[u8], high: &[u8], fill: usize) -> Result<Packed, OpError> {
        let shape = self.shape.lock();
        let path = self.path(&shape, key)?;
        let Some((parent_no, slot)) = path.inner.last().copied() else {
            return Ok(Packed::Last);
        };
        let right_no = {
            let guard = self.pager.shared(&self.space, parent_no)?;
            let node = InnerNode::new(guard.bytes());
            if slot + 1 >= node.count() {
                return Ok(Packed::Last);
            }
            if node.child(slot) == node.child(slot + 1) {
                return Err(self.corrupt(parent_no, "a page that is its own neighbour"));
            }
            let (a, b) = self.sound(parent_no, node.child_high(slot + 1))?;
            let ends = [a, b].concat();
            if !high.is_empty() && (ends.is_empty() || &ends[..] > high) {
                return Ok(Packed::Last);
            }
            node.child(slot + 1)
        };
        if self.merge_pair::<true>(parent_no, slot, fill)? {
            self.shrink_root(&shape)?;
            return Ok(Packed::Merged);
        }
        let (left_page, right_page) = self.neighbours::<true>(path.leaf, right_no)?;
        let left = LeafNode::new(left_page.bytes());
        let right = LeafNode::new(right_page.bytes());
        let next = || right.low().to_vec();
        let Some((take, separator)) = plan::share(&left, &right, fill, LEAST_TAKEN) else {
            return Ok(Packed::Left(next()));
        };
        let parent = self.pager.exclusive(&self.space, parent_no)?;
        let above = InnerNode::new(parent.bytes());
        let suffix = self.sound(parent_no, separator.get(above.prefix_len()..))?;
        let freed = self.sound(parent_no, above.cell(slot + 1))?.1 + SLOT;
        if !above.fits_with(suffix.len(), freed) {
            return Ok(Packed::Left(next()));
        }
        let mut moved = Vec::with_capacity(BODY);
        let fences = (left.low(), &separator[..]);
        let from = usize::from(base::mutant!("shared-without-the-lowest-key"));
        let written = plan::write_entries(&right, from..take, fences, true, &mut moved);
        self.sound(right_no, written)?;
        let shape = Shape {
            level: 0,
            index_id: self.index_id,
            low: &separator,
            high: right.high(),
        };
        let rest = ops::image_of(&shape, &right, take..right.count());
        let rest = self.sound(right_no, rest)?;
        let head = ops::refence(left.count(), &separator);
        let mut mtr = self.pager.mtr()?;
        let left = mtr.add(left_page);
        let right = mtr.add(right_page);
        let parent = mtr.add(parent);
        mtr.op(left, ops::REFENCE, &[&head, &separator, &moved]);
        mtr.op_init(right, ops::IMAGE, &[&rest]);
        mtr.op(parent, ops::REMOVE, &[&ops::remove(slot + 1)]);
        let link = ops::inner_insert(slot + 1, right_no.0);
        mtr.op(parent, ops::INNER_INSERT, &[&link, suffix]);
        mtr.commit();
        drop(path);
        Ok(Packed::Shared(separator))
    }

    /// Merges an inner node above the leaf that covers `key` with its right neighbour, where one page holds both: true where it did.
    fn pack_above(&self, key: &[u8]) -> Result<bool, OpError> {
        let shape = self.shape.lock();
        let path = self.path(&shape, key)?;
        for depth in (1..path.inner.len()).rev() {
            let (parent, slot) = path.inner[depth - 1];
            let count = {
                let guard = self.pager.shared(&self.space, parent)?;
                InnerNode::new(guard.bytes()).count()
            };
            if slot + 1 < count && self.merge_pair::<false>(parent, slot, BODY - BODY / 8)? {
                self.shrink_root(&shape)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_saves_a_page_is_packed() {
        let none: Vec<Range<usize>> = Vec::new();
        let worth = |leaves: &[usize]| worth_packing(leaves, 100);
        assert_eq!(worth(&[]), none);
        assert_eq!(worth(&[10]), none);
        assert_eq!(worth(&[60, 60, 90]), none);
        assert_eq!(worth(&[50, 50]), vec![0..2]);
        assert_eq!(worth(&[95, 70, 65, 65, 95]), vec![1..4]);
        assert_eq!(worth(&[97; 100]), none);
        // Leaves as random inserts leave them.
        assert_eq!(worth(&[69; 8]), vec![0..7]);
        assert_eq!(worth(&[0, 0, 0]), vec![0..3]);
    }
}
