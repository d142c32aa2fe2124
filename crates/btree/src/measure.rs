//! How large a tree is, from a look at a few of its nodes.

use pager::OpError;

use crate::node::view::{is_inner_of, is_leaf_of, level};
use crate::node::{InnerNode, LeafNode};
use crate::tree::Tree;

/// Nodes looked at of each level.
const SAMPLE: usize = 8;

/// What a tree comes to, about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its pages, overflow pages left out.
    pub pages: u64,
    /// Its entries; 0 where leaves were not looked at.
    pub entries: u64,
}

impl Tree {
    /// Its size, judged by nodes spread evenly over each level; of the leaves too if `leaves` says so, or if the root is one. Others may change the tree
    /// meanwhile.
    ///
    /// # Errors
    /// As any read; when the node was waited for all of it begins again.
    pub fn measure(&self, leaves: bool) -> Result<Measure, OpError> {
        let mut sample = vec![self.root];
        // Of the level that is looked at, and of all above it.
        let (mut nodes, mut above) = (1.0, 0.0);
        loop {
            let (mut seen, mut counted) = (0, 0);
            let mut inner = false;
            let mut below = Vec::new();
            for no in &sample {
                let guard = self.pager.shared(&self.space, *no)?;
                let b = guard.bytes();
                // What has become something else meanwhile is left out.
                if is_leaf_of(b, self.index_id) {
                    counted += LeafNode::new(b).count();
                } else if is_inner_of(b, self.index_id) {
                    let node = InnerNode::new(b);
                    counted += node.count();
                    inner = true;
                    if leaves || level(b) > 1 {
                        below.extend((0..node.count()).map(|slot| node.child(slot)));
                    }
                } else {
                    continue;
                }
                seen += 1;
            }
            let under = nodes * counted as f64 / f64::from(seen.max(1));
            if below.is_empty() {
                let (pages, entries) = match inner {
                    true => (above + nodes + under, 0.0),
                    false => (above + nodes, under),
                };
                return Ok(Measure {
                    pages: pages as u64,
                    entries: entries as u64,
                });
            }
            above += nodes;
            nodes = under;
            let step = below.len().div_ceil(SAMPLE).max(1);
            sample = below.into_iter().step_by(step).collect();
        }
    }
}
