//! Reading a whole tree to see whether it is sound: each page by itself, each page against its parent, all keys in order,
//! every page reached once. One leaf per call, so that it can run beside writers and wait for pages in between.

use std::collections::BTreeSet;

use base::PageNo;
use pager::OpError;

use crate::descend::Target;
use crate::node::view::{is_inner_of, is_leaf_of, level};
use crate::node::{InnerNode, LeafNode};
use crate::tree::Tree;

/// How far a check has come, and what it met.
#[derive(Debug, Default)]
pub struct VerifyCursor {
    from: Vec<u8>,
    done: bool,
    seen: BTreeSet<PageNo>,
    /// Every page met, with its level, parents before children. While others change the tree this is what it was at
    /// different moments, and a page moved between them may be listed twice.
    pub pages: Vec<(PageNo, u8)>,
    /// Entries met.
    pub entries: u64,
    /// Bytes in use on the leaves met.
    pub leaf_bytes: u64,
}

impl VerifyCursor {
    /// Before the first leaf.
    pub fn new() -> VerifyCursor {
        VerifyCursor::default()
    }

    /// A page that was reached twice, if any: damage, when nobody changed the tree meanwhile.
    pub fn reached_twice(&self) -> Option<PageNo> {
        if self.seen.len() == self.pages.len() {
            return None;
        }
        let mut seen = BTreeSet::new();
        self.pages.iter().map(|p| p.0).find(|p| !seen.insert(*p))
    }

    fn meet(&mut self, page: PageNo, level: u8) {
        self.seen.insert(page);
        self.pages.push((page, level));
    }
}

impl Tree {
    /// Checks the next leaf and the inner pages that begin with it, and gives each entry of the leaf to `visit`; false
    /// when there is no next leaf. The first fault found is answered as `Corrupt`. After a `Wait`, call again: nothing
    /// of this leaf has been visited yet.
    ///
    /// # Errors
    /// [`OpError::Wait`]; [`OpError::Corrupt`]: the first fault found; [`OpError::Dropped`].
    pub fn verify(
        &self,
        cursor: &mut VerifyCursor,
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<bool, OpError> {
        if cursor.done {
            return Ok(false);
        }
        let _shape = self.shape.lock();
        let mut met = Vec::new();
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let mut expected = None;
        let mut at = self.root;
        loop {
            let guard = self.pager.shared(&self.space, at)?;
            let b = guard.bytes();
            let fault = |why| self.corrupt(at, why);
            if expected.is_some_and(|e| e != level(b)) {
                return Err(fault("not the level that its parent promises"));
            }
            if is_leaf_of(b, self.index_id) {
                let leaf = LeafNode::new(b);
                leaf.check().map_err(fault)?;
                if leaf.low() != low || leaf.high() != high {
                    return Err(fault("not the fences that its parent promises"));
                }
                for (page, level) in met {
                    cursor.meet(page, level);
                }
                cursor.meet(at, 0);
                self.visit_leaf(at, &leaf, cursor, &mut visit)?;
                cursor.done = leaf.high().is_empty();
                cursor.from.clear();
                cursor.from.extend_from_slice(leaf.high());
                return Ok(true);
            }
            if !is_inner_of(b, self.index_id) {
                return Err(fault("not a page of this index"));
            }
            let node = InnerNode::new(b);
            if node.low() == cursor.from {
                node.check().map_err(fault)?;
                met.push((at, level(b)));
            }
            if node.count() == 0 {
                return Err(fault("an inner page without children"));
            }
            if node.low() != low || node.high() != high {
                return Err(fault("not the fences that its parent promises"));
            }
            let slot = Target::Key(&cursor.from).slot(&node);
            let ends = node.child_low(slot).zip(node.child_high(slot));
            let ((a, b1), (c, d)) = self.sound(at, ends)?;
            low = [a, b1].concat();
            high = [c, d].concat();
            expected = Some(level(b) - 1);
            at = node.child(slot);
        }
    }

    fn visit_leaf(
        &self,
        no: PageNo,
        leaf: &LeafNode<'_>,
        cursor: &mut VerifyCursor,
        visit: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), OpError> {
        let mut key = leaf.prefix().to_vec();
        let prefix = key.len();
        for i in 0..leaf.count() {
            let e = self.sound(no, leaf.entry(i))?;
            key.truncate(prefix);
            key.extend_from_slice(e.suffix);
            visit(&key, e.value);
        }
        cursor.entries += leaf.count() as u64;
        cursor.leaf_bytes += leaf.used_bytes() as u64;
        Ok(())
    }
}
