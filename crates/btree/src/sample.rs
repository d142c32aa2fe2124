//! Leaves of a tree drawn at random, each with the same chance.
//!
//! Level after level the children of the nodes that were read are put together, and some of them are drawn. A descent that takes a random child
//! of each node would come far too often to the leaves below nodes with few children, such as the last of each level in a
//! tree that grows at its end.

use base::PageNo;
use base::SplitMix64;
use pager::OpError;

use crate::node::view::{is_inner_of, is_leaf_of, level};
use crate::node::{InnerNode, LeafNode};
use crate::tree::Tree;

/// Nodes read of each level but the last.
const INNER: usize = 128;

/// A draw of leaves, made a node at a time.
pub struct LeafSample {
    /// Leaves wanted.
    most: usize,
    /// Nodes of this level that were drawn, and how many of them were looked at.
    nodes: Vec<PageNo>,
    at: usize,
    /// Inner nodes among them, and their children.
    seen: usize,
    below: Vec<PageNo>,
    /// Level of the nodes below; not known at the root.
    expected: Option<u8>,
    /// Nodes of this level and of all above it, in all.
    width: f64,
    above: f64,
    /// All nodes of all levels so far were drawn.
    whole: bool,
    leaves: Option<Vec<PageNo>>,
}

impl LeafSample {
    /// For so many leaves at most.
    pub fn new(most: usize) -> LeafSample {
        LeafSample {
            most: most.max(1),
            nodes: Vec::new(),
            at: 0,
            seen: 0,
            below: Vec::new(),
            expected: None,
            width: 1.0,
            above: 0.0,
            whole: true,
            leaves: None,
        }
    }

    /// The leaves drawn, in the order of their keys.
    pub fn leaves(&self) -> &[PageNo] {
        self.leaves.as_deref().unwrap_or(&[])
    }

    /// Leaves of the tree, about.
    pub fn leaf_pages(&self) -> f64 {
        self.width
    }

    /// Pages of the tree, overflow pages left out, about.
    pub fn pages(&self) -> f64 {
        self.width + self.above
    }

    /// Whether the leaves drawn are all there are.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The level is done: goes down.
    fn descend(&mut self, random: &mut SplitMix64) {
        let below = std::mem::take(&mut self.below);
        let next = self.width * below.len() as f64 / self.seen.max(1) as f64;
        self.above += self.width;
        self.width = next.max(1.0);
        let last = self.expected == Some(0);
        let most = if last { self.most } else { INNER };
        self.whole &= below.len() <= most;
        let drawn = draw(below, most, random);
        self.seen = 0;
        self.at = 0;
        match last {
            true => self.leaves = Some(drawn),
            false => self.nodes = drawn,
        }
    }
}

/// Some of these, each with the same chance, in their order.
fn draw(all: Vec<PageNo>, most: usize, random: &mut SplitMix64) -> Vec<PageNo> {
    let mut left = all.len();
    let mut wanted = most.min(left);
    let mut drawn = Vec::with_capacity(wanted);
    for no in all {
        if wanted > 0 && random.below(left as u64) < wanted as u64 {
            drawn.push(no);
            wanted -= 1;
        }
        left -= 1;
    }
    drawn
}

impl Tree {
    /// Goes on with a draw by one node; false when it is done. Others may change the tree meanwhile: what has become something else is left out.
    ///
    /// # Errors
    /// As any read, with nothing changed in `sample`.
    pub fn draw_leaves(
        &self,
        sample: &mut LeafSample,
        random: &mut SplitMix64,
    ) -> Result<bool, OpError> {
        if sample.leaves.is_some() {
            return Ok(false);
        }
        if sample.nodes.is_empty() {
            sample.nodes.push(self.root);
        }
        let no = sample.nodes[sample.at];
        {
            let guard = self.pager.shared(&self.space, no)?;
            let b = guard.bytes();
            if is_inner_of(b, self.index_id) && sample.expected.is_none_or(|e| e == level(b)) {
                if sample.expected.is_none() {
                    sample.expected = Some(level(b));
                }
                let node = InnerNode::new(b);
                sample
                    .below
                    .extend((0..node.count()).map(|slot| node.child(slot)));
                sample.seen += 1;
            } else if no == self.root && is_leaf_of(b, self.index_id) {
                sample.leaves = Some(vec![no]);
                return Ok(false);
            } else if no == self.root {
                return Err(self.corrupt(no, "the root is no node"));
            }
        }
        sample.at += 1;
        if sample.at == sample.nodes.len() {
            sample.expected = sample.expected.map(|l| l.saturating_sub(1));
            sample.descend(random);
        }
        Ok(sample.leaves.is_none())
    }

    /// Gives `visit` the entries of a leaf that was drawn, under its shared latch; false where the page is no leaf of this tree any more.
    ///
    /// # Errors
    /// As any read, before `visit` was called.
    pub fn read_leaf(
        &self,
        no: PageNo,
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<bool, OpError> {
        let guard = self.pager.shared(&self.space, no)?;
        if !is_leaf_of(guard.bytes(), self.index_id) {
            return Ok(false);
        }
        let leaf = LeafNode::new(guard.bytes());
        let mut key = leaf.prefix().to_vec();
        let prefix = key.len();
        for i in 0..leaf.count() {
            let Some(e) = leaf.entry(i) else {
                return Err(self.corrupt(no, "cell outside the page"));
            };
            key.truncate(prefix);
            key.extend_from_slice(e.suffix);
            visit(&key, e.value);
        }
        Ok(true)
    }
}
