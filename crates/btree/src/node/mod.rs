//! The slotted page: how a B+tree node lies in its 16 KiB, seen as plain bytes.
//!
//! ```text
//! 0      page header (pager's)
//! 32     node header: count, heap start, garbage, prefix length, fence lengths, insert hint
//! 48     hints: 16 key heads, see [`hints`]
//! 112    low fence, high fence
//! ..     slots, 10 bytes each, in key order                              -> grows up
//!        leaf  {head u32, offset u16, key length u16, value length u16}  cell = key suffix ++ value
//!        inner {head u32, child u32, offset u16}                         cell = key length u16 ++ key suffix
//! ..     heap: cells, to the end of the page                             <- grows down
//! ```
//!
//! A node holds the keys of `[low fence, high fence)`; an empty high fence means "no upper end". All keys between two
//! fences share the fences' common prefix, so only what follows it (the *suffix*) is stored. `head` is the first four
//! bytes of the suffix as a big-endian number: nearly every comparison of a search ends there.
//! Slot 0 of an inner node stands for the low fence itself; its stored suffix is empty.
//!
//! This module never knows the pool, the log or another page. [`view`] only reads and survives any bytes whatever
//! (a page read optimistically may be torn); [`edit`] changes, and fails without a panic on nonsense; [`plan`] decides
//! where to split and what fits.

mod cells;
pub mod edit;
mod hints;
pub mod plan;
pub mod view;

#[cfg(test)]
mod model_test;

pub use cells::cells;
pub use view::{InnerNode, LeafNode, Node};

use base::le::get_u16;
use pager::{PAGE_HEADER, PAGE_SIZE, PageKind};

/// The bytes of one page.
pub type Bytes = [u8; PAGE_SIZE];

/// Bytes of one slot.
pub const SLOT: usize = 10;
/// Where the hints lie.
pub(crate) const HINTS_AT: usize = PAGE_HEADER + 16;
/// Where the fences begin; the slots follow them.
pub(crate) const FENCES_AT: usize = HINTS_AT + 64;
/// Bytes shared by slots, cells and fences.
pub const BODY: usize = PAGE_SIZE - FENCES_AT;
/// More slots than this cannot be on a page; a larger count is a torn or damaged page.
pub const MAX_SLOTS: usize = BODY / SLOT;
/// Length prefix of an inner cell.
pub const INNER_CELL: usize = 2;

/// Longest key of any tree, in bytes: a page must hold two fences and one more key.
pub const MAX_KEY: usize = 5400;
/// Longest value kept in a leaf of any tree, in bytes.
pub const MAX_VALUE: usize = 8200;
/// Key and value together up to this many bytes leave room for at least four entries a page.
pub const INLINE_TARGET: usize = 4000;

/// Longest value that a tree may hold inline whose keys have at most `longest_key` bytes: two fences and the entry
/// must fit an otherwise empty page.
pub const fn max_value(longest_key: usize) -> usize {
    let room = (BODY - SLOT).saturating_sub(3 * longest_key);
    if room < MAX_VALUE { room } else { MAX_VALUE }
}

pub(crate) const KIND_AT: usize = 12;
pub(crate) const LEVEL_AT: usize = 13;
pub(crate) const FLAGS_AT: usize = 14;
pub(crate) const INDEX_AT: usize = 24;
pub(crate) const COUNT_AT: usize = PAGE_HEADER;
pub(crate) const HEAP_AT: usize = PAGE_HEADER + 2;
pub(crate) const GARBAGE_AT: usize = PAGE_HEADER + 4;
pub(crate) const PREFIX_AT: usize = PAGE_HEADER + 6;
pub(crate) const LOW_LEN_AT: usize = PAGE_HEADER + 8;
pub(crate) const HIGH_LEN_AT: usize = PAGE_HEADER + 10;
pub(crate) const LAST_AT: usize = PAGE_HEADER + 12;
pub(crate) const SCORE_AT: usize = PAGE_HEADER + 14;

/// Kind byte of a leaf.
pub(crate) const LEAF_KIND: u8 = PageKind::Leaf as u8;
/// Kind byte of an inner node.
pub(crate) const INNER_KIND: u8 = PageKind::Inner as u8;

/// Length of the longest common prefix.
#[inline]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Prefix length of a node with these fences: an open end shares nothing.
#[inline]
pub fn fence_prefix(low: &[u8], high: &[u8]) -> usize {
    common_prefix(low, high)
}

/// The first four bytes of a suffix as a number that sorts as the bytes do (missing bytes count as 0).
#[inline(always)]
pub fn head_of(suffix: &[u8]) -> u32 {
    if let Some(four) = suffix.first_chunk::<4>() {
        return u32::from_be_bytes(*four);
    }
    let four = match *suffix {
        [a, b, c] => [a, b, c, 0],
        [a, b] => [a, b, 0, 0],
        [a] => [a, 0, 0, 0],
        _ => [0; 4],
    };
    u32::from_be_bytes(four)
}

/// Bytes that a cell takes in the heap.
#[inline(always)]
pub const fn cell_len<const LEAF: bool>(suffix: usize, value: usize) -> usize {
    if LEAF {
        suffix + value
    } else {
        INNER_CELL + suffix
    }
}

/// Where the slots begin: behind the fences.
#[inline(always)]
pub(crate) fn slots_at(b: &Bytes) -> usize {
    let fences = get_u16(b, LOW_LEN_AT) as usize + get_u16(b, HIGH_LEN_AT) as usize;
    (FENCES_AT + fences).min(PAGE_SIZE)
}
