//! Walking a tree of which nothing is known but its root: pages of a file that anybody may have made. Each page is checked by itself and against its
//! parent, so that no page comes twice: levels go down, and the fences of two pages of a level do not meet.
//!
//! Who walks reads the pages. Must never do: believe a length, a page number or an order that was not looked at.

use base::PageNo;
use base::le::get_u32;
use pager::{PAGE_SIZE, Page, PageKind};

use crate::node::view::{is_inner_of, is_leaf_of, level};
use crate::node::{InnerNode, LeafNode, MAX_KEY};
use crate::overflow::{DATA_AT, LEN_AT, NEXT_AT, OVERFLOW_CAPACITY};

/// What is done with an entry: its key and its value.
pub type EachEntry<'f> = dyn FnMut(&[u8], &[u8]) -> Result<(), &'static str> + 'f;

/// An inner page on the way to where the walk is.
struct Inner {
    bytes: Box<[u8; PAGE_SIZE]>,
    /// The child that comes next.
    next: usize,
}

/// The page that comes next, and what it has to be.
struct Expected {
    page: PageNo,
    level: Option<u8>,
    low: Vec<u8>,
    high: Vec<u8>,
}

/// A walk through all leaves.
pub struct ForeignTree {
    index_id: u32,
    path: Vec<Inner>,
    next: Option<Expected>,
}

impl ForeignTree {
    /// Before the first leaf of the tree with this root.
    pub fn new(root: PageNo, index_id: u32) -> ForeignTree {
        ForeignTree {
            index_id,
            path: Vec::new(),
            next: Some(Expected {
                page: root,
                level: None,
                low: Vec::new(),
                high: Vec::new(),
            }),
        }
    }

    /// The page to be read next; `None` behind the last leaf.
    pub fn next(&self) -> Option<PageNo> {
        self.next.as_ref().map(|e| e.page)
    }

    /// Takes the page that was read. Of a leaf, gives each entry to `each`.
    ///
    /// # Errors
    /// What is wrong with the page; what `each` says. The walk is at its end then.
    pub fn feed(&mut self, page: &Page, each: &mut EachEntry<'_>) -> Result<(), &'static str> {
        let expected = self.next.take().ok_or("no page is expected")?;
        let b = page.bytes();
        if expected.level.is_some_and(|l| l != level(b)) {
            return Err("not the level that its parent promises");
        }
        let same = |low: &[u8], high: &[u8]| match low == expected.low && high == expected.high {
            true => Ok(()),
            false => Err("not the fences that its parent promises"),
        };
        if is_leaf_of(b, self.index_id) {
            let leaf = LeafNode::new(b);
            leaf.check()?;
            same(leaf.low(), leaf.high())?;
            entries(&leaf, each)?;
        } else if is_inner_of(b, self.index_id) {
            let node = InnerNode::new(b);
            node.check()?;
            same(node.low(), node.high())?;
            if node.count() == 0 {
                return Err("an inner page without children");
            }
            let bytes = Box::new(*b);
            self.path.push(Inner { bytes, next: 0 });
        } else {
            return Err("not a page of this index");
        }
        self.advance()
    }

    /// Finds the page that comes next.
    fn advance(&mut self) -> Result<(), &'static str> {
        while let Some(inner) = self.path.last_mut() {
            let node = InnerNode::new(&inner.bytes);
            let slot = inner.next;
            if slot >= node.count() {
                self.path.pop();
                continue;
            }
            let ends = node.child_low(slot).zip(node.child_high(slot));
            let ((a, b), (c, d)) = ends.ok_or("cell outside the page")?;
            self.next = Some(Expected {
                page: node.child(slot),
                level: Some(level(&inner.bytes) - 1),
                low: [a, b].concat(),
                high: [c, d].concat(),
            });
            inner.next += 1;
            return Ok(());
        }
        Ok(())
    }
}

fn entries(leaf: &LeafNode<'_>, each: &mut EachEntry<'_>) -> Result<(), &'static str> {
    let mut key = leaf.prefix().to_vec();
    let prefix = key.len();
    for i in 0..leaf.count() {
        let e = leaf.entry(i).ok_or("cell outside the page")?;
        key.truncate(prefix);
        key.extend_from_slice(e.suffix);
        if key.len() > MAX_KEY {
            return Err("a key longer than any is");
        }
        each(&key, e.value)?;
    }
    Ok(())
}

/// Reading a chain of overflow pages in the same way.
pub struct ForeignChain {
    index_id: u32,
    next: PageNo,
    left: u64,
}

impl ForeignChain {
    /// At the start of the chain that begins with `first` and holds a value of `len` bytes.
    pub fn new(first: PageNo, len: u64, index_id: u32) -> ForeignChain {
        ForeignChain {
            index_id,
            next: first,
            left: len,
        }
    }

    /// The page to be read next; `None` behind the last one.
    pub fn next(&self) -> Option<PageNo> {
        (self.left > 0).then_some(self.next)
    }

    /// Takes the page that was read, and appends its bytes to `out`.
    ///
    /// # Errors
    /// What is wrong with the page.
    pub fn feed(&mut self, page: &Page, out: &mut Vec<u8>) -> Result<(), &'static str> {
        if page.kind() != Some(PageKind::Overflow) || page.index_id() != self.index_id {
            return Err("not an overflow page of this index");
        }
        let b = page.bytes();
        let len = get_u32(b, LEN_AT) as usize;
        let wanted = self.left.min(OVERFLOW_CAPACITY as u64);
        if len as u64 != wanted {
            return Err("an overflow page of another length");
        }
        let data = b[DATA_AT..].get(..len);
        out.extend_from_slice(data.ok_or("more bytes than the page holds")?);
        self.left -= wanted;
        self.next = PageNo(get_u32(b, NEXT_AT));
        if (self.left == 0) != (self.next == PageNo(0)) {
            return Err("an overflow chain of another length than its value");
        }
        Ok(())
    }
}
