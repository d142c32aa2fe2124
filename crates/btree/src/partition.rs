//! Where a tree can be cut into pieces of about as many pages each, for several who read it at once.

use pager::OpError;

use crate::node::InnerNode;
use crate::node::view::{is_inner_of, level};
use crate::tree::Tree;

impl Tree {
    /// Keys that cut the entries into pieces, ascending: separators of inner nodes, `wanted` or more where there are more leaves than that,
    /// and about as many leaves between any two. No more nodes than `wanted` are read of a level. Others may change
    /// the tree meanwhile: the keys are as good as they were when they were read.
    ///
    /// # Errors
    /// As any read; when the node was waited for all of it begins again.
    pub fn partition_keys(&self, wanted: usize) -> Result<Vec<Vec<u8>>, OpError> {
        let mut keys = Vec::new();
        let mut nodes = vec![self.root];
        let mut expected = None;
        while !nodes.is_empty() && nodes.len() <= wanted {
            let mut below = Vec::new();
            let mut cuts = Vec::new();
            let mut lower = 0;
            for no in nodes {
                let guard = self.pager.shared(&self.space, no)?;
                let b = guard.bytes();
                // What has become something else meanwhile is left out: its entries are between two other cuts.
                if !is_inner_of(b, self.index_id) || expected.is_some_and(|e| e != level(b)) {
                    continue;
                }
                lower = level(b) - 1;
                let node = InnerNode::new(b);
                for slot in 0..node.count() {
                    cuts.extend(node.child_low(slot).map(|(a, b)| [a, b].concat()));
                    below.push(node.child(slot));
                }
            }
            if !cuts.is_empty() {
                keys = cuts;
            }
            if lower == 0 {
                break;
            }
            nodes = below;
            expected = Some(lower);
        }
        // Two nodes that were not read at the same moment may overlap.
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|k| !k.is_empty());
        Ok(keys)
    }
}
