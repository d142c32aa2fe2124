//! The page operations of this crate in the log: how each is written. What each does to a page is in [`crate::apply()`].
//!
//! An operation names a slot, not a key: what was decided once is not decided again.

use base::le::{put_u16, put_u32};
use smallvec::SmallVec;

use crate::node::Node;
use crate::node::edit::Shape;
use crate::node::plan;

/// First operation code of this crate.
pub const FIRST_OP: u8 = 32;
/// Last operation code reserved for this crate.
pub const LAST_OP: u8 = 95;

/// Insert into a leaf: slot u16, stamp u16, suffix length u16, suffix, value.
pub const LEAF_INSERT: u8 = 32;
/// Replace a leaf value: slot u16, stamp u16, head u16, prefix u16, suffix u16, bytes.
pub const LEAF_REPLACE: u8 = 33;
/// Remove an entry: slot u16.
pub const REMOVE: u8 = 34;
/// Whole content of a node: level u8, index id u32, low length u16, high length u16, low, high, entries.
pub const IMAGE: u8 = 35;
/// New high fence, entries dropped at the end and appended: keep u16, high length u16, high, entries.
pub const REFENCE: u8 = 36;
/// Insert into an inner node: slot u16, child u32, suffix.
pub const INNER_INSERT: u8 = 37;
/// Content of an overflow page: next page u32, index id u32, bytes.
pub const OVERFLOW_FILL: u8 = 38;
/// New successor of an overflow page: next page u32.
pub const OVERFLOW_NEXT: u8 = 39;
/// Another number of a child of an inner node: slot u16, child u32.
pub const SET_CHILD: u8 = 40;

/// "No stamp" in an operation.
pub(crate) const NO_STAMP: u16 = u16::MAX;

/// Fixed fields in front of a payload, built without the heap.
pub(crate) type Head = SmallVec<[u8; 16]>;

fn head(fields: &[u16]) -> Head {
    fields.iter().flat_map(|f| f.to_le_bytes()).collect()
}

fn stamp_field(stamp: Option<u16>) -> u16 {
    stamp.unwrap_or(NO_STAMP)
}

pub(crate) fn leaf_insert(slot: usize, stamp: Option<u16>, suffix_len: usize) -> [u8; 6] {
    let mut h = [0; 6];
    put_u16(&mut h, 0, slot as u16);
    put_u16(&mut h, 2, stamp_field(stamp));
    put_u16(&mut h, 4, suffix_len as u16);
    h
}

pub(crate) fn leaf_replace(
    slot: usize,
    stamp: Option<u16>,
    head: u16,
    prefix: u16,
    suffix: u16,
) -> [u8; 10] {
    let mut h = [0; 10];
    put_u16(&mut h, 0, slot as u16);
    put_u16(&mut h, 2, stamp_field(stamp));
    put_u16(&mut h, 4, head);
    put_u16(&mut h, 6, prefix);
    put_u16(&mut h, 8, suffix);
    h
}

pub(crate) fn remove(slot: usize) -> [u8; 2] {
    (slot as u16).to_le_bytes()
}

pub(crate) fn inner_insert(slot: usize, child: u32) -> [u8; 6] {
    let mut h = [0; 6];
    put_u16(&mut h, 0, slot as u16);
    put_u32(&mut h, 2, child);
    h
}

pub(crate) fn set_child(slot: usize, child: u32) -> [u8; 6] {
    inner_insert(slot, child)
}

/// The payload that makes a page a node of `shape` holding `range` of `from`.
pub(crate) fn image_of<const LEAF: bool>(
    shape: &Shape<'_>,
    from: &Node<'_, LEAF>,
    range: std::ops::Range<usize>,
) -> Option<Vec<u8>> {
    let mut out = image_head(shape);
    plan::write_entries(from, range, (shape.low, shape.high), true, &mut out)?;
    Some(out)
}

/// The payload that makes a page an empty node of `shape`.
pub(crate) fn image_head(shape: &Shape<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(pager::PAGE_SIZE);
    out.push(shape.level);
    out.extend_from_slice(&shape.index_id.to_le_bytes());
    out.extend_from_slice(&(shape.low.len() as u16).to_le_bytes());
    out.extend_from_slice(&(shape.high.len() as u16).to_le_bytes());
    out.extend_from_slice(shape.low);
    out.extend_from_slice(shape.high);
    out
}

/// Appends to an image an inner entry with an empty suffix: the child that begins at the low fence.
pub(crate) fn push_first_child(out: &mut Vec<u8>, child: u32) {
    out.extend_from_slice(&head(&[0, 4]));
    out.extend_from_slice(&child.to_le_bytes());
}

/// Appends to an image a leaf's entry.
pub(crate) fn push_entry(out: &mut Vec<u8>, suffix: &[u8], value: &[u8]) {
    out.extend_from_slice(&head(&[suffix.len() as u16, value.len() as u16]));
    out.extend_from_slice(suffix);
    out.extend_from_slice(value);
}

/// Fixed fields of [`REFENCE`]; the new high fence and the appended entries follow.
pub(crate) fn refence(keep: usize, high: &[u8]) -> [u8; 4] {
    let mut h = [0; 4];
    put_u16(&mut h, 0, keep as u16);
    put_u16(&mut h, 2, high.len() as u16);
    h
}
