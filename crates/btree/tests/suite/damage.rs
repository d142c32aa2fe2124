//! Pages that lie, with a right checksum: errors, and no deadlock, no loop and no record that cannot be carried out.

use crate::bed::{Bed, INDEX, wait};
use base::PageNo;
use btree::{OVERFLOW_CAPACITY, OverflowCursor, OverflowWriter, Tree};
use pager::OpError;

/// Makes page `no` an inner node of this level over these children, whose keys are "", "b", "c" and so on.
fn inner(bed: &Bed, no: PageNo, level: u8, children: &[PageNo]) {
    let mut image = vec![level];
    image.extend_from_slice(&INDEX.to_le_bytes());
    image.extend_from_slice(&[0; 4]);
    for (i, child) in children.iter().enumerate() {
        let key: &[u8] = if i == 0 { b"" } else { &[b'a' + i as u8] };
        image.extend_from_slice(&[key.len() as u8, 0, 4, 0]);
        image.extend_from_slice(key);
        image.extend_from_slice(&child.0.to_le_bytes());
    }
    write(bed, no, btree::ops::IMAGE, &image);
}

fn write(bed: &Bed, no: PageNo, op: u8, payload: &[u8]) {
    wait(bed, || {
        let mut mtr = bed.pager.mtr()?;
        let page = mtr.add(bed.pager.exclusive(&bed.space, no)?);
        mtr.op(page, op, &[payload]);
        mtr.commit();
        Ok(())
    });
}

fn page(bed: &Bed) -> PageNo {
    wait(bed, || Tree::create(&bed.pager, &bed.space, INDEX))
}

fn damaged<R>(got: Result<R, OpError>) -> bool {
    matches!(got, Err(OpError::Corrupt { .. }))
}

/// Destroys what can be destroyed, and says that the rest cannot.
fn not_destroyed(bed: &Bed) {
    loop {
        match bed.tree.destroy_step() {
            Ok(more) => assert!(more, "all of it was destroyed"),
            got => return assert!(damaged(got)),
        }
    }
}

#[test]
fn a_tree_that_leads_back_into_itself() {
    let bed = Bed::new(256);
    let root = bed.tree.root();
    let other = page(&bed);
    inner(&bed, root, 1, &[root]);
    not_destroyed(&bed);
    assert!(damaged(bed.tree.merge(b"x")));
    inner(&bed, root, 2, &[other]);
    inner(&bed, other, 1, &[root]);
    not_destroyed(&bed);
    inner(&bed, root, 1, &[other, other]);
    write(
        &bed,
        other,
        btree::ops::IMAGE,
        &[&[0][..], &INDEX.to_le_bytes(), &[0; 4]].concat(),
    );
    assert!(damaged(bed.tree.merge(b"a")));
}

#[test]
fn children_that_are_no_pages_of_the_tree() {
    let bed = Bed::new(256);
    let root = bed.tree.root();
    let child = page(&bed);
    // The space map, a page of another kind, and a page that is destroyed twice.
    let other = page(&bed);
    write(&bed, other, btree::ops::OVERFLOW_FILL, &[0; 8]);
    for children in [[PageNo(0), PageNo(0)], [other, other], [child, child]] {
        inner(&bed, root, 1, &children);
        not_destroyed(&bed);
    }
    assert_eq!(bed.live_pages(), [root, other]);
}

/// A chain of two pages whose second one leads to `next`.
fn chain(bed: &Bed, next: impl Fn(PageNo, PageNo) -> (PageNo, PageNo)) -> PageNo {
    let bytes = vec![7; OVERFLOW_CAPACITY + 5];
    let before = bed.live_pages();
    let mut writer = OverflowWriter::new(bytes.len());
    while wait(bed, || writer.step(&bed.tree, &bytes, |_, _| {})).is_some() {}
    let first = writer.first();
    let mut new = bed.live_pages();
    new.retain(|no| !before.contains(no) && *no != first);
    let (from, to) = next(first, new[0]);
    write(bed, from, btree::ops::OVERFLOW_NEXT, &to.0.to_le_bytes());
    first
}

#[test]
fn a_chain_that_leads_back_into_itself() {
    let bed = Bed::new(256);
    for first in [
        chain(&bed, |first, _| (first, first)),
        chain(&bed, |first, second| (second, first)),
    ] {
        let mut out = Vec::new();
        let mut cursor = OverflowCursor::new(first, OVERFLOW_CAPACITY as u64 + 5);
        assert!(damaged(bed.tree.read_overflow(&mut cursor, &mut out)));
        assert!(out.len() <= 2 * OVERFLOW_CAPACITY);
    }
    let own = chain(&bed, |first, _| (first, first));
    assert!(damaged(bed.tree.shrink_overflow(own)));
}
