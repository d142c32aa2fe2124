//! Reading a node. Every access is bounds-checked against the page: on torn or damaged bytes the answers are
//! meaningless, but there is no panic and nothing outside the page is touched.

use std::cmp::Ordering;
use std::hint::select_unpredictable;

use base::PageNo;
use base::le::{get_u16, get_u32};

use super::{
    BODY, Bytes, COUNT_AT, FENCES_AT, GARBAGE_AT, HEAP_AT, HIGH_LEN_AT, INDEX_AT, INNER_CELL,
    INNER_KIND, KIND_AT, LAST_AT, LEAF_KIND, LEVEL_AT, LOW_LEN_AT, MAX_SLOTS, PREFIX_AT, SCORE_AT,
    SLOT, cell_len, fence_prefix, head_of, hints, slots_at,
};
use pager::PAGE_SIZE;

/// A node's bytes, read as a leaf (`LEAF`) or as an inner node.
#[derive(Clone, Copy)]
pub struct Node<'a, const LEAF: bool> {
    b: &'a Bytes,
}

/// A leaf: suffix and value in each cell.
pub type LeafNode<'a> = Node<'a, true>;
/// An inner node: separators and children.
pub type InnerNode<'a> = Node<'a, false>;

/// Bytes of an entry that are fetched ahead at most: so much of it is read in most scans, while those behind come meanwhile.
const FETCHED: usize = 256;

/// One entry: what follows the prefix, and the value (for an inner node the four bytes of the child's number).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The key without the node's prefix.
    pub suffix: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

/// True when the page calls itself a leaf of index `index_id`.
#[inline(always)]
pub fn is_leaf_of(b: &Bytes, index_id: u32) -> bool {
    b[KIND_AT] == LEAF_KIND && b[LEVEL_AT] == 0 && get_u32(b, INDEX_AT) == index_id
}

/// True when the page calls itself an inner node of index `index_id`.
#[inline(always)]
pub fn is_inner_of(b: &Bytes, index_id: u32) -> bool {
    b[KIND_AT] == INNER_KIND && b[LEVEL_AT] != 0 && get_u32(b, INDEX_AT) == index_id
}

/// The level byte: 0 for a leaf.
#[inline(always)]
pub fn level(b: &Bytes) -> u8 {
    b[LEVEL_AT]
}

/// The node's low fence (empty: no lower end).
#[inline]
pub fn low_fence(b: &Bytes) -> &[u8] {
    let len = get_u16(b, LOW_LEN_AT) as usize;
    b.get(FENCES_AT..FENCES_AT + len).unwrap_or(&[])
}

/// The node's high fence (empty: no upper end).
#[inline]
pub fn high_fence(b: &Bytes) -> &[u8] {
    let start = FENCES_AT + get_u16(b, LOW_LEN_AT) as usize;
    let end = start + get_u16(b, HIGH_LEN_AT) as usize;
    b.get(start..end).unwrap_or(&[])
}

/// True when `key` lies within the node's fences.
#[inline]
pub fn covers(b: &Bytes, key: &[u8]) -> bool {
    let high = high_fence(b);
    (high.is_empty() || key < high) && key >= low_fence(b)
}

/// True when the largest key below `bound` would be in this node (`None`: below no bound at all).
#[inline]
pub fn covers_below(b: &Bytes, bound: Option<&[u8]>) -> bool {
    let high = high_fence(b);
    match bound {
        None => high.is_empty(),
        Some(k) => (high.is_empty() || k <= high) && k > low_fence(b),
    }
}

impl LeafNode<'_> {
    /// Has entry `i` on its way into the processor's cache, the beginning of it where it is long.
    #[inline(always)]
    pub fn prefetch(&self, i: usize) {
        if let Some(s) = self.slots().get(i) {
            let field = |at: usize| u16::from_le_bytes([s[at], s[at + 1]]) as usize;
            let (at, len) = (field(4), field(6) + field(8));
            base::prefetch(self.b.get(at..at + len.min(FETCHED)).unwrap_or(&[]));
        }
    }
}

impl<'a, const LEAF: bool> Node<'a, LEAF> {
    /// Looks at `b` as a node.
    #[inline(always)]
    pub fn new(b: &'a Bytes) -> Self {
        Node { b }
    }

    /// Number of entries.
    #[inline(always)]
    pub fn count(&self) -> usize {
        (get_u16(self.b, COUNT_AT) as usize).min(MAX_SLOTS)
    }

    /// Length of the prefix that all keys share.
    #[inline(always)]
    pub fn prefix_len(&self) -> usize {
        get_u16(self.b, PREFIX_AT) as usize
    }

    /// The bytes that all keys share.
    #[inline]
    pub fn prefix(&self) -> &'a [u8] {
        low_fence(self.b).get(..self.prefix_len()).unwrap_or(&[])
    }

    /// See [`low_fence`].
    #[inline]
    pub fn low(&self) -> &'a [u8] {
        low_fence(self.b)
    }

    /// See [`high_fence`].
    #[inline]
    pub fn high(&self) -> &'a [u8] {
        high_fence(self.b)
    }

    /// What follows the prefix in `key`; `key` must lie within the fences.
    #[inline(always)]
    pub fn strip<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        key.get(self.prefix_len()..).unwrap_or(&[])
    }

    #[inline(always)]
    fn slots(&self) -> &'a [[u8; SLOT]] {
        let body: &'a [u8] = &self.b[slots_at(self.b)..];
        let all = body.as_chunks::<SLOT>().0;
        &all[..self.count().min(all.len())]
    }

    #[inline(always)]
    fn slot_head(s: &[u8; SLOT]) -> u32 {
        u32::from_le_bytes([s[0], s[1], s[2], s[3]])
    }

    /// The suffix at a slot; `None` when it points outside the page.
    #[inline(always)]
    fn slot_suffix(&self, s: &[u8; SLOT]) -> Option<&'a [u8]> {
        if LEAF {
            let at = u16::from_le_bytes([s[4], s[5]]) as usize;
            let len = u16::from_le_bytes([s[6], s[7]]) as usize;
            self.b.get(at..at + len)
        } else {
            let at = u16::from_le_bytes([s[8], s[9]]) as usize;
            let len = self.b.get(at..at + INNER_CELL)?;
            let len = u16::from_le_bytes([len[0], len[1]]) as usize;
            self.b.get(at + INNER_CELL..at + INNER_CELL + len)
        }
    }

    /// Entry `i`, or `None` when there is none or it points outside the page.
    #[inline]
    pub fn entry(&self, i: usize) -> Option<Entry<'a>> {
        let s = self.slots().get(i)?;
        let suffix = self.slot_suffix(s)?;
        let value = if LEAF {
            let at = u16::from_le_bytes([s[4], s[5]]) as usize + suffix.len();
            let len = u16::from_le_bytes([s[8], s[9]]) as usize;
            self.b.get(at..at + len)?
        } else {
            &s[4..8]
        };
        Some(Entry { suffix, value })
    }

    /// Where entry `i` lies in the heap: offset and length of its cell.
    pub(crate) fn cell(&self, i: usize) -> Option<(usize, usize)> {
        let s = self.slots().get(i)?;
        let e = self.entry(i)?;
        let at = if LEAF { [s[4], s[5]] } else { [s[8], s[9]] };
        Some((
            u16::from_le_bytes(at) as usize,
            cell_len::<LEAF>(e.suffix.len(), e.value.len()),
        ))
    }

    /// First slot whose key is not below the key with this suffix, and whether it is that very key.
    #[inline]
    pub fn lower_bound(&self, suffix: &[u8]) -> (usize, bool) {
        let slots = self.slots();
        let head = head_of(suffix);
        let (start, end) = hints::window(self.b, slots.len(), head);
        let lo = start + first_by(&slots[start..end], |s| Self::slot_head(s) < head);
        let Some(first) = slots.get(lo) else {
            return (lo, false);
        };
        if Self::slot_head(first) != head {
            return (lo, false);
        }
        self.lower_bound_in_run(slots, lo, head, suffix)
    }

    /// The rest of a search: from `lo` on, heads equal the wanted one, so the keys themselves must be compared.
    #[inline]
    fn lower_bound_in_run(
        &self,
        slots: &[[u8; SLOT]],
        lo: usize,
        head: u32,
        suffix: &[u8],
    ) -> (usize, bool) {
        let compare = |s: &[u8; SLOT]| self.slot_suffix(s).unwrap_or(&[]).cmp(suffix);
        match compare(&slots[lo]) {
            Ordering::Equal => return (lo, true),
            Ordering::Greater => return (lo, false),
            Ordering::Less => {}
        }
        let rest = &slots[lo + 1..];
        if rest.first().is_none_or(|s| Self::slot_head(s) != head) {
            return (lo + 1, false);
        }
        let run = first_by(rest, |s| Self::slot_head(s) == head);
        let at = first_by(&rest[..run], |s| compare(s) == Ordering::Less);
        let found = at < run && compare(&rest[at]) == Ordering::Equal;
        (lo + 1 + at, found)
    }

    /// Bytes free for new slots and cells once the heap is compacted.
    #[inline]
    pub fn free_bytes(&self) -> usize {
        self.contiguous() + get_u16(self.b, GARBAGE_AT) as usize
    }

    /// Bytes free between slots and heap as they are.
    #[inline]
    pub(crate) fn contiguous(&self) -> usize {
        (get_u16(self.b, HEAP_AT) as usize).saturating_sub(slots_at(self.b) + self.count() * SLOT)
    }

    /// Bytes in use by slots, cells and fences.
    #[inline]
    pub fn used_bytes(&self) -> usize {
        BODY.saturating_sub(self.free_bytes())
    }

    /// True when the entries, less `gone` bytes of them, take less than a quarter of what the fences leave.
    #[inline]
    pub fn nearly_empty(&self, gone: usize) -> bool {
        let fences = self.low().len() + self.high().len();
        let entries = self.used_bytes().saturating_sub(fences + gone);
        entries * 4 < BODY.saturating_sub(fences)
    }

    /// True when an entry of this size still fits.
    #[inline]
    pub fn fits(&self, suffix: usize, value: usize) -> bool {
        SLOT + cell_len::<LEAF>(suffix, value) <= self.free_bytes()
    }

    /// As [`fits`](Self::fits) for a separator, with so many bytes more free.
    pub(crate) fn fits_with(&self, suffix: usize, freed: usize) -> bool {
        SLOT + cell_len::<LEAF>(suffix, 4) <= self.free_bytes() + freed
    }

    /// How sequential the latest inserts were, 0 to 15, see [`super::edit`].
    pub fn insert_score(&self) -> u8 {
        self.b[SCORE_AT]
    }

    /// Slot of the latest insert.
    pub(crate) fn last_insert(&self) -> usize {
        get_u16(self.b, LAST_AT) as usize
    }

    /// Checks everything that one page alone can tell: bounds, accounting, heads, order, fences.
    ///
    /// # Errors
    /// The first fault, in words.
    pub fn check(&self) -> Result<(), &'static str> {
        let count = get_u16(self.b, COUNT_AT) as usize;
        if count > MAX_SLOTS {
            return Err("more slots than fit");
        }
        let (low, high) = (self.low(), self.high());
        if low.len() != get_u16(self.b, LOW_LEN_AT) as usize
            || high.len() != get_u16(self.b, HIGH_LEN_AT) as usize
        {
            return Err("fence outside the page");
        }
        if !high.is_empty() && low >= high {
            return Err("fences out of order");
        }
        if self.prefix_len() != fence_prefix(low, high) {
            return Err("prefix is not the fences' own");
        }
        let heap = get_u16(self.b, HEAP_AT) as usize;
        if heap < slots_at(self.b) + count * SLOT || heap > PAGE_SIZE {
            return Err("heap overlaps the slots");
        }
        if !hints::sound(self.b, count) {
            return Err("hints do not match the slots");
        }
        self.check_entries(heap, PAGE_SIZE)
    }

    fn check_entries(&self, heap: usize, heap_end: usize) -> Result<(), &'static str> {
        let (low, high) = (
            self.strip(self.low()),
            self.high().get(self.prefix_len()..).unwrap_or(&[]),
        );
        let mut cells = Vec::with_capacity(self.count());
        let mut before: Option<&[u8]> = None;
        for (i, s) in self.slots().iter().enumerate() {
            let e = self.entry(i).ok_or("cell outside the page")?;
            let (at, len) = self.cell(i).ok_or("cell outside the page")?;
            // A cell without bytes is nowhere: what its place was may have been given back.
            if len > 0 {
                if at < heap || at + len > heap_end {
                    return Err("cell outside the heap");
                }
                cells.push((at, at + len));
            }
            if Self::slot_head(s) != head_of(e.suffix) {
                return Err("head does not match its key");
            }
            if !LEAF && i == 0 {
                if !e.suffix.is_empty() {
                    return Err("first separator is not empty");
                }
                continue;
            }
            if before.is_some_and(|b| b >= e.suffix) {
                return Err("keys out of order");
            }
            let above_low = if LEAF {
                e.suffix >= low
            } else {
                e.suffix > low
            };
            if !above_low || (!self.high().is_empty() && e.suffix >= high) {
                return Err("key outside the fences");
            }
            before = Some(e.suffix);
        }
        let bytes: usize = cells.iter().map(|(from, to)| to - from).sum();
        if bytes + get_u16(self.b, GARBAGE_AT) as usize != heap_end - heap {
            return Err("heap accounting is off");
        }
        cells.sort_unstable();
        if cells.windows(2).any(|two| two[0].1 > two[1].0) {
            return Err("cells over each other");
        }
        Ok(())
    }
}

impl<'a> Node<'a, true> {
    /// The value at slot `i`.
    #[inline(always)]
    pub fn value(&self, i: usize) -> Option<&'a [u8]> {
        let s = self.slots().get(i)?;
        let at =
            u16::from_le_bytes([s[4], s[5]]) as usize + u16::from_le_bytes([s[6], s[7]]) as usize;
        let len = u16::from_le_bytes([s[8], s[9]]) as usize;
        self.b.get(at..at + len)
    }

    /// Offset of the value of slot `i` within the page, and its length.
    pub(crate) fn value_range(&self, i: usize) -> Option<(usize, usize)> {
        let (at, len) = self.cell(i)?;
        let value = self.value(i)?.len();
        Some((at + len - value, value))
    }
}

impl<'a> Node<'a, false> {
    /// Child number at slot `i`; page 0 (never a node) when there is no such slot.
    #[inline(always)]
    pub fn child(&self, i: usize) -> PageNo {
        match self.slots().get(i) {
            Some(s) => PageNo(u32::from_le_bytes([s[4], s[5], s[6], s[7]])),
            None => PageNo(0),
        }
    }

    /// Slot of the child that covers `key`.
    #[inline]
    pub fn child_slot(&self, key: &[u8]) -> usize {
        let (at, found) = self.lower_bound(self.strip(key));
        if found { at } else { at.saturating_sub(1) }
    }

    /// Slot of the child that holds the largest key below `bound` (`None`: the last child).
    #[inline]
    pub fn child_slot_below(&self, bound: Option<&[u8]>) -> usize {
        match bound {
            None => self.count().saturating_sub(1),
            Some(k) => self.lower_bound(self.strip(k)).0.saturating_sub(1),
        }
    }

    /// The low fence that the child at slot `i` must have, as two parts to be joined.
    pub fn child_low(&self, i: usize) -> Option<(&'a [u8], &'a [u8])> {
        if i == 0 {
            return Some((self.low(), &[]));
        }
        Some((self.prefix(), self.entry(i)?.suffix))
    }

    /// The high fence that the child at slot `i` must have, as two parts to be joined.
    pub fn child_high(&self, i: usize) -> Option<(&'a [u8], &'a [u8])> {
        if i + 1 >= self.count() {
            return Some((self.high(), &[]));
        }
        self.child_low(i + 1)
    }
}

/// Number of leading slots for which `before` holds; `before` must hold for a prefix of the slots.
/// Halving without an unpredictable branch: the comparison only selects the next base.
#[inline(always)]
fn first_by(slots: &[[u8; SLOT]], before: impl Fn(&[u8; SLOT]) -> bool) -> usize {
    let mut at = 0;
    let mut size = slots.len();
    while size > 1 {
        let half = size / 2;
        at = select_unpredictable(before(&slots[at + half - 1]), at + half, at);
        size -= half;
    }
    if size == 1 {
        at += usize::from(before(&slots[at]));
    }
    at
}
