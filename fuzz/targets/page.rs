//! Pages from a device that lies: nothing that only reads one may panic, an operation of the log either changes one or says
//! why not, and what is done to a sound node leaves a sound node.

#![no_main]

mod steps;

use base::{Lsn, PageNo, SpaceId};
use btree::node::view::{covers, covers_below};
use btree::node::{InnerNode, LeafNode, Node, plan};
use libfuzzer_sys::fuzz_target;
use pager::{PAGE_SIZE, Page, PageKind};

/// Steps beside the operations of the log, which have their own numbers from 32 on: write bytes somewhere.
const WRITE: u8 = 0;
/// Write bytes at the end of the page, where the heap is.
const WRITE_END: u8 = 1;
/// Change a sound leaf as a tree would: key length, key, value.
const PUT: u8 = 2;
/// Remove a key from a sound leaf as a tree would.
const REMOVE: u8 = 3;
/// The key to look for at the end, in whatever is there.
const FIND: u8 = 4;
/// Write the checksum, as somebody would who damages pages on purpose.
const SEAL: u8 = 5;

/// More steps make an input slow and no more interesting.
const MOST_STEPS: usize = 64;

fuzz_target!(|data: &[u8]| {
    let mut page = Page::boxed();
    let mut wanted = &[][..];
    for (kind, bytes) in steps::steps(data).take(MOST_STEPS) {
        match kind {
            WRITE => {
                if let Some((at, bytes)) = bytes.split_first_chunk() {
                    let at = usize::from(u16::from_le_bytes(*at)) % PAGE_SIZE;
                    write(&mut page, at, bytes);
                }
            }
            WRITE_END => write(&mut page, PAGE_SIZE - bytes.len(), bytes),
            PUT => put(&mut page, bytes),
            REMOVE => remove(&mut page, bytes),
            FIND => wanted = bytes,
            SEAL => seal(&mut page),
            op => {
                let _ = btree::apply(op, &mut page, bytes, Lsn(77));
            }
        }
    }
    look(&page);
    find(&page, wanted);
});

fn write(page: &mut Page, at: usize, bytes: &[u8]) {
    let n = bytes.len().min(PAGE_SIZE - at);
    page.bytes_mut()[at..at + n].copy_from_slice(&bytes[..n]);
}

fn seal(page: &mut Page) {
    pager::page::seal(page.bytes_mut());
    let (space, no) = (page.space(), page.page_no());
    assert!(pager::page::check(page.bytes(), space, no).is_ok());
    assert!(pager::page::check(page.bytes(), SpaceId(!space.0), PageNo(no.0)).is_err());
}

/// Everything that is ever asked of a page that was just read.
fn look(page: &Page) {
    // A page whose number is not the one asked for is refused before anybody looks at it.
    let map_asked_for = page.page_no().0 < 9 * pager::alloc::GROUP;
    if page.kind() == Some(PageKind::SpaceMap) && map_asked_for {
        pager::alloc::used_pages(page);
        pager::alloc::high_water(page);
        let _ = pager::alloc::check_header(page.bytes());
    }
    let leaf = LeafNode::new(page.bytes());
    if sound_leaf(page) {
        sound(&leaf);
        for i in 0..leaf.count() {
            let e = leaf.entry(i).expect("a sound leaf's entry can be read");
            let at = leaf.lower_bound(e.suffix);
            assert_eq!(at, (i, true), "a sound leaf's key is found where it is");
            assert_eq!(leaf.value(i), Some(e.value));
        }
    }
    let inner = InnerNode::new(page.bytes());
    if sound_inner(page) {
        sound(&inner);
        for i in 0..inner.count() {
            let (a, b) = inner.child_low(i).expect("a sound node has its fences");
            assert_eq!(inner.child_slot(&[a, b].concat()), i);
            inner.child_high(i).expect("a sound node has its fences");
        }
    }
}

fn sound_leaf(page: &Page) -> bool {
    page.kind() == Some(PageKind::Leaf)
        && page.level() == 0
        && LeafNode::new(page.bytes()).check().is_ok()
}

fn sound_inner(page: &Page) -> bool {
    page.kind() == Some(PageKind::Inner)
        && page.level() != 0
        && InnerNode::new(page.bytes()).check().is_ok()
}

fn sound<const LEAF: bool>(node: &Node<'_, LEAF>) {
    let mut out = Vec::new();
    let (low, high) = (node.low(), node.high());
    plan::write_entries(node, 0..node.count(), (low, high), true, &mut out)
        .expect("a sound node can be written out");
    let entries = plan::Entries(&out).filter(Result::is_ok).count();
    assert_eq!(entries, node.count());
    let needed = plan::size_within(node, 0..node.count(), low, high);
    assert!(needed <= btree::node::BODY, "a sound node fits itself");
}

/// What a tree does with a key that belongs here. The value's first byte says how an update is written.
fn put(page: &mut Page, bytes: &[u8]) {
    let Some((&len, rest)) = bytes.split_first() else {
        return;
    };
    let (key, value) = rest.split_at(rest.len().min(usize::from(len)));
    if !sound_leaf(page) || !covers(page.bytes(), key) {
        return;
    }
    let leaf = LeafNode::new(page.bytes());
    let suffix = leaf.strip(key);
    let (slot, found) = leaf.lower_bound(suffix);
    let slot16 = (slot as u16).to_le_bytes();
    let none = u16::MAX.to_le_bytes();
    if found {
        let old = leaf.value(slot).expect("a sound leaf").len();
        let room = btree::node::edit::replace_need(suffix.len(), old, value.len());
        if room > leaf.free_bytes() {
            return;
        }
        let zero = [0; 2];
        let payload = [&slot16[..], &none, &zero, &zero, &zero, value].concat();
        btree::apply(btree::ops::LEAF_REPLACE, page, &payload, Lsn(5)).expect("there is room");
    } else {
        if !leaf.fits(suffix.len(), value.len()) {
            plan_split(&leaf, suffix, slot, value);
            return;
        }
        let len = (suffix.len() as u16).to_le_bytes();
        let payload = [&slot16[..], &none, &len, suffix, value].concat();
        btree::apply(btree::ops::LEAF_INSERT, page, &payload, Lsn(5)).expect("there is room");
    }
    let leaf = LeafNode::new(page.bytes());
    assert_eq!(leaf.check(), Ok(()), "after {key:?}");
    assert_eq!(leaf.value(slot), Some(value));
}

/// A sound leaf that is full is cut within its fences.
fn plan_split(leaf: &LeafNode<'_>, suffix: &[u8], slot: usize, value: &[u8]) {
    let need = btree::node::SLOT + suffix.len() + value.len();
    let new = plan::Newcomer {
        suffix: Some(suffix),
        in_order: slot % 2 == 1,
        slot,
        need,
    };
    if let Some(split) = plan::split_leaf(leaf, new) {
        assert!(split.separator.as_slice() > leaf.low());
        assert!(leaf.high().is_empty() || split.separator.as_slice() < leaf.high());
        assert!(split.at <= leaf.count());
    }
}

fn remove(page: &mut Page, key: &[u8]) {
    if !sound_leaf(page) || !covers(page.bytes(), key) {
        return;
    }
    let leaf = LeafNode::new(page.bytes());
    let (slot, found) = leaf.lower_bound(leaf.strip(key));
    if !found {
        return;
    }
    let slot16 = (slot as u16).to_le_bytes();
    btree::apply(btree::ops::REMOVE, page, &slot16, Lsn(5)).expect("it is there");
    assert_eq!(LeafNode::new(page.bytes()).check(), Ok(()));
}

/// A search and the plans of a split and a merge, on bytes that need not be sound at all: a page that is read without a latch
/// may be torn.
fn find(page: &Page, key: &[u8]) {
    covers(page.bytes(), key);
    covers_below(page.bytes(), Some(key));
    let leaf = LeafNode::new(page.bytes());
    let (slot, _) = leaf.lower_bound(leaf.strip(key));
    leaf.value(slot);
    leaf.entry(slot);
    leaf.nearly_empty(key.len());
    leaf.used_bytes();
    let new = plan::Newcomer {
        suffix: Some(leaf.strip(key)),
        in_order: slot % 2 == 1,
        slot: slot.min(leaf.count()),
        need: 100,
    };
    plan::split_leaf(&leaf, new);
    merge(&leaf, key);
    let inner = InnerNode::new(page.bytes());
    let slot = inner.child_slot(key);
    inner.child(slot);
    inner.child_low(slot);
    inner.child_high(slot);
    inner.child(inner.child_slot_below(Some(key)));
    inner.child(inner.child_slot_below(None));
    plan::split_inner(&inner, slot);
    merge(&inner, key);
}

fn merge<const LEAF: bool>(node: &Node<'_, LEAF>, high: &[u8]) {
    // Entries may lie over each other, and be more than a page together: then nobody writes them out.
    if plan::merged_size(node, node) <= 2 * btree::node::BODY {
        let mut out = Vec::new();
        plan::write_entries(node, 0..node.count(), (b"", high), false, &mut out);
    }
}
