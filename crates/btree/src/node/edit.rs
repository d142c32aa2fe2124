//! Changing a node. Each function is a pure function of the page's bytes and its arguments, so that redo gives the same
//! bytes as the first execution; each checks before it writes and leaves the page as it was when it answers an error.
//!
//! The insert hint: `last` is the slot of the latest insert, `score` rises while inserts come close after one another
//! and falls steeply when they do not. A split reads it to tell a load in key order from inserts all over the place.

use base::Lsn;
use base::le::{get_u16, get_u32, put_u16, put_u32, put_u64};
use pager::PAGE_SIZE;

use super::hints;
use super::slots_at;
use super::view::{Entry, InnerNode, LeafNode, Node};
use super::{
    Bytes, COUNT_AT, FENCES_AT, FLAGS_AT, GARBAGE_AT, HEAP_AT, HIGH_LEN_AT, INDEX_AT, INNER_CELL,
    INNER_KIND, KIND_AT, LAST_AT, LEAF_KIND, LEVEL_AT, LOW_LEN_AT, PREFIX_AT, SCORE_AT, SLOT,
    cell_len, fence_prefix, head_of,
};

/// Why an edit could not be done; the page is unchanged.
pub type EditResult = Result<(), &'static str>;

/// Highest insert score.
pub const SCORE_MAX: u8 = 15;

/// What a node is, apart from its entries.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// 0 for a leaf, the height above the leaves for an inner node.
    pub level: u8,
    /// The index that the node belongs to.
    pub index_id: u32,
    /// Low fence.
    pub low: &'a [u8],
    /// High fence; empty for "no upper end".
    pub high: &'a [u8],
}

/// Fills a formatted, empty node with entries in key order.
struct Builder<'b, const LEAF: bool> {
    b: &'b mut Bytes,
    count: usize,
    heap: usize,
}

impl<'b, const LEAF: bool> Builder<'b, LEAF> {
    fn new(b: &'b mut Bytes, shape: &Shape<'_>) -> Result<Self, &'static str> {
        let fences = shape.low.len() + shape.high.len();
        if FENCES_AT + fences > PAGE_SIZE {
            return Err("fences do not fit");
        }
        if LEAF != (shape.level == 0) {
            return Err("level does not match the kind");
        }
        b[LEVEL_AT] = shape.level;
        b[KIND_AT] = if LEAF { LEAF_KIND } else { INNER_KIND };
        put_u32(b, INDEX_AT, shape.index_id);
        b[FLAGS_AT..FLAGS_AT + 2].fill(0);
        b[INDEX_AT + 4..].fill(0);
        let high_at = FENCES_AT + shape.low.len();
        b[FENCES_AT..high_at].copy_from_slice(shape.low);
        b[high_at..high_at + shape.high.len()].copy_from_slice(shape.high);
        let heap = PAGE_SIZE;
        put_u16(b, LOW_LEN_AT, shape.low.len() as u16);
        put_u16(b, HIGH_LEN_AT, shape.high.len() as u16);
        put_u16(b, PREFIX_AT, fence_prefix(shape.low, shape.high) as u16);
        put_u16(b, HEAP_AT, heap as u16);
        Ok(Builder { b, count: 0, heap })
    }

    /// Appends an entry whose suffix is `lead ++ suffix`.
    fn push(&mut self, lead: &[u8], suffix: &[u8], value: &[u8]) -> EditResult {
        let klen = lead.len() + suffix.len();
        let len = cell_len::<LEAF>(klen, value.len());
        if slots_at(self.b) + (self.count + 1) * SLOT + len > self.heap {
            return Err("entries do not fit");
        }
        self.heap -= len;
        let key_at = self.heap + if LEAF { 0 } else { INNER_CELL };
        self.b[key_at..key_at + lead.len()].copy_from_slice(lead);
        self.b[key_at + lead.len()..key_at + klen].copy_from_slice(suffix);
        if LEAF {
            self.b[key_at + klen..key_at + klen + value.len()].copy_from_slice(value);
        } else {
            put_u16(self.b, self.heap, klen as u16);
        }
        let head = head_of(&self.b[key_at..key_at + klen]);
        let slot = slot_bytes::<LEAF>(head, self.heap, klen, value)?;
        write_slot(self.b, self.count, &slot);
        self.count += 1;
        put_u16(self.b, COUNT_AT, self.count as u16);
        put_u16(self.b, HEAP_AT, self.heap as u16);
        Ok(())
    }
}

fn slot_bytes<const LEAF: bool>(
    head: u32,
    at: usize,
    klen: usize,
    value: &[u8],
) -> Result<[u8; SLOT], &'static str> {
    let mut s = [0u8; SLOT];
    s[..4].copy_from_slice(&head.to_le_bytes());
    if LEAF {
        put_u16(&mut s, 4, at as u16);
        put_u16(&mut s, 6, klen as u16);
        put_u16(&mut s, 8, value.len() as u16);
    } else {
        if value.len() != 4 {
            return Err("a child number has four bytes");
        }
        s[4..8].copy_from_slice(value);
        put_u16(&mut s, 8, at as u16);
    }
    Ok(s)
}

/// Where slot `slot` lies.
#[inline(always)]
fn slot_place(b: &Bytes, slot: usize) -> usize {
    slots_at(b) + slot * SLOT
}

#[inline(always)]
fn write_slot(b: &mut Bytes, slot: usize, s: &[u8; SLOT]) {
    let at = slot_place(b, slot);
    b[at..at + SLOT].copy_from_slice(s);
}

/// Refuses a node whose slots or heap do not lie where they can be; what each slot says is checked where it is used.
#[inline]
fn bounded(b: &Bytes) -> EditResult {
    let count = get_u16(b, COUNT_AT) as usize;
    let heap = get_u16(b, HEAP_AT) as usize;
    if heap > PAGE_SIZE || slot_place(b, count) > heap {
        return Err("slots or heap outside the page");
    }
    Ok(())
}

fn is_leaf(b: &Bytes) -> bool {
    b[KIND_AT] == LEAF_KIND
}

/// Makes the page a node of this shape with these entries (suffixes without the new fences' common prefix).
///
/// # Errors
/// Why it does not fit the node, in words.
pub fn image<'e>(
    b: &mut Bytes,
    shape: &Shape<'_>,
    entries: impl Iterator<Item = Result<Entry<'e>, &'static str>>,
) -> EditResult {
    fn fill<'e, const LEAF: bool>(
        b: &mut Bytes,
        shape: &Shape<'_>,
        entries: impl Iterator<Item = Result<Entry<'e>, &'static str>>,
    ) -> EditResult {
        let mut to = Builder::<LEAF>::new(b, shape)?;
        for e in entries {
            let e = e?;
            to.push(&[], e.suffix, e.value)?;
        }
        hints::refresh(b, 0, 0);
        Ok(())
    }
    let mut fresh = *b;
    match shape.level {
        0 => fill::<true>(&mut fresh, shape, entries)?,
        _ => fill::<false>(&mut fresh, shape, entries)?,
    }
    *b = fresh;
    Ok(())
}

/// The two parts of a suffix after the prefix changed from `low[..old]` to `low[..new]` bytes.
pub(crate) fn reprefix<'a>(
    low: &'a [u8],
    suffix: &'a [u8],
    old: usize,
    new: usize,
) -> (&'a [u8], &'a [u8]) {
    if new >= old {
        (&[], suffix.get(new - old..).unwrap_or(&[]))
    } else {
        (low.get(new..old).unwrap_or(&[]), suffix)
    }
}

/// Gives the node a new high fence, keeps its first `keep` entries and appends `more` (suffixes without the new prefix).
///
/// # Errors
/// Why it does not fit the node, in words.
pub fn refence<'e>(
    b: &mut Bytes,
    high: &[u8],
    keep: usize,
    more: impl Iterator<Item = Result<Entry<'e>, &'static str>>,
) -> EditResult {
    if is_leaf(b) {
        refence_as::<true>(b, high, keep, more)
    } else {
        refence_as::<false>(b, high, keep, more)
    }
}

fn refence_as<'e, const LEAF: bool>(
    b: &mut Bytes,
    high: &[u8],
    keep: usize,
    more: impl Iterator<Item = Result<Entry<'e>, &'static str>>,
) -> EditResult {
    let old = Node::<LEAF>::new(b);
    if keep > old.count() {
        return Err("keeps more entries than there are");
    }
    let mut fresh = *b;
    let low = old.low();
    let shape = Shape {
        level: b[LEVEL_AT],
        index_id: get_u32(b, INDEX_AT),
        low,
        high,
    };
    let (was, now) = (old.prefix_len(), fence_prefix(low, high));
    let mut to = Builder::<LEAF>::new(&mut fresh, &shape)?;
    for i in 0..keep {
        let e = old.entry(i).ok_or("cell outside the page")?;
        let (lead, rest) = if !LEAF && i == 0 {
            (&[][..], &[][..])
        } else {
            reprefix(low, e.suffix, was, now)
        };
        to.push(lead, rest, e.value)?;
    }
    for e in more {
        let e = e?;
        to.push(&[], e.suffix, e.value)?;
    }
    hints::refresh(&mut fresh, 0, 0);
    // The insert hint outlives a split: the left half of a load in key order goes on filling.
    let (last, score) = (old.last_insert().min(keep), old.insert_score());
    put_u16(&mut fresh, LAST_AT, last as u16);
    fresh[SCORE_AT] = score;
    *b = fresh;
    Ok(())
}

/// Packs the heap so that all free bytes are contiguous.
fn compact<const LEAF: bool>(b: &mut Bytes) -> EditResult {
    let old = *b;
    let node = Node::<LEAF>::new(&old);
    let mut heap = PAGE_SIZE;
    let floor = slot_place(&old, node.count());
    for i in 0..node.count() {
        let (at, len) = node.cell(i).ok_or("cell outside the page")?;
        if floor + len > heap {
            *b = old;
            return Err("heap accounting is off");
        }
        heap -= len;
        b[heap..heap + len].copy_from_slice(&old[at..at + len]);
        let slot = slot_place(&old, i);
        put_u16(b, slot + if LEAF { 4 } else { 8 }, heap as u16);
    }
    put_u16(b, HEAP_AT, heap as u16);
    put_u16(b, GARBAGE_AT, 0);
    Ok(())
}

/// Takes `len` bytes from the heap, packing it first when it must; `slots` more slots are about to be added.
/// The caller has checked that the bytes are there.
#[inline]
fn alloc_cell<const LEAF: bool>(
    b: &mut Bytes,
    len: usize,
    slots: usize,
) -> Result<usize, &'static str> {
    if len + slots * SLOT > Node::<LEAF>::new(b).contiguous() {
        compact::<LEAF>(b)?;
        if len + slots * SLOT > Node::<LEAF>::new(b).contiguous() {
            return Err("page is full");
        }
    }
    let at = get_u16(b, HEAP_AT) as usize - len;
    put_u16(b, HEAP_AT, at as u16);
    Ok(at)
}

/// Gives `len` bytes at `at` back to the heap.
#[inline]
fn give(b: &mut Bytes, at: usize, len: usize) {
    if at == get_u16(b, HEAP_AT) as usize {
        put_u16(b, HEAP_AT, (at + len) as u16);
    } else {
        let garbage = get_u16(b, GARBAGE_AT) as usize + len;
        put_u16(b, GARBAGE_AT, garbage as u16);
    }
}

/// Inserts an entry at `slot`. `stamp`: offset in the value that receives `lsn`.
///
/// # Errors
/// Why it does not fit the node, in words.
pub fn insert<const LEAF: bool>(
    b: &mut Bytes,
    slot: usize,
    suffix: &[u8],
    value: &[u8],
    stamp: Option<(usize, Lsn)>,
) -> EditResult {
    bounded(b)?;
    let count = Node::<LEAF>::new(b).count();
    if slot > count || (!LEAF && slot == 0 && !suffix.is_empty()) {
        return Err("no such slot");
    }
    if stamp.is_some_and(|(at, _)| at + 8 > value.len()) {
        return Err("stamp outside the value");
    }
    let len = cell_len::<LEAF>(suffix.len(), value.len());
    let s = slot_bytes::<LEAF>(head_of(suffix), 0, suffix.len(), value)?;
    let at = alloc_cell::<LEAF>(b, len, 1)?;
    if LEAF {
        let value_at = at + suffix.len();
        b[at..value_at].copy_from_slice(suffix);
        b[value_at..at + len].copy_from_slice(value);
        if let Some((offset, lsn)) = stamp {
            put_u64(b, value_at + offset, lsn.0);
        }
    } else {
        put_u16(b, at, suffix.len() as u16);
        b[at + INNER_CELL..at + len].copy_from_slice(suffix);
    }
    let slot_at = slot_place(b, slot);
    let end = slot_place(b, count);
    b.copy_within(slot_at..end, slot_at + SLOT);
    write_slot(b, slot, &s);
    put_u16(b, slot_at + if LEAF { 4 } else { 8 }, at as u16);
    put_u16(b, COUNT_AT, (count + 1) as u16);
    hints::refresh(b, slot, count);
    note_insert(b, slot, count);
    Ok(())
}

#[inline]
fn note_insert(b: &mut Bytes, slot: usize, count: usize) {
    let expected = get_u16(b, LAST_AT) as usize + 1;
    let near = count / 8 + 1;
    let score = b[SCORE_AT];
    b[SCORE_AT] = if slot.abs_diff(expected) <= near {
        score.saturating_add(1).min(SCORE_MAX)
    } else {
        score.saturating_sub(4)
    };
    put_u16(b, LAST_AT, slot as u16);
}

/// Whether [`remove`] can be done.
///
/// # Errors
/// Why it does not fit the node, in words.
pub fn removable(b: &Bytes, slot: usize) -> EditResult {
    if is_leaf(b) {
        cell_to_remove::<true>(b, slot).map(drop)
    } else {
        cell_to_remove::<false>(b, slot).map(drop)
    }
}

fn cell_to_remove<const LEAF: bool>(
    b: &Bytes,
    slot: usize,
) -> Result<(usize, usize), &'static str> {
    bounded(b)?;
    let node = Node::<LEAF>::new(b);
    if !LEAF && slot == 0 && node.count() > 1 {
        return Err("the first child stands for the low fence");
    }
    node.cell(slot).ok_or("no such slot")
}

/// Removes the entry at `slot`.
///
/// # Errors
/// Why it does not fit the node, in words.
pub fn remove(b: &mut Bytes, slot: usize) -> EditResult {
    if is_leaf(b) {
        remove_as::<true>(b, slot)
    } else {
        remove_as::<false>(b, slot)
    }
}

fn remove_as<const LEAF: bool>(b: &mut Bytes, slot: usize) -> EditResult {
    let (at, len) = cell_to_remove::<LEAF>(b, slot)?;
    let count = Node::<LEAF>::new(b).count();
    give(b, at, len);
    let slot_at = slot_place(b, slot);
    let end = slot_place(b, count);
    b.copy_within(slot_at + SLOT..end, slot_at);
    put_u16(b, COUNT_AT, (count - 1) as u16);
    hints::refresh(b, slot, count);
    Ok(())
}

/// How a leaf value changes: `new = bytes[..head] ++ old[head..head + prefix] ++ bytes[head..] ++ old's last suffix bytes`.
#[derive(Clone, Copy, Debug)]
pub struct Patch<'a> {
    /// Bytes replaced at the start of the value (the row header).
    pub head: usize,
    /// Old bytes kept after the head.
    pub prefix: usize,
    /// Old bytes kept at the end.
    pub suffix: usize,
    /// The head, then what lies between the kept parts.
    pub bytes: &'a [u8],
}

impl Patch<'_> {
    /// Length of the new value, given that of the old one; `None` when the kept parts overlap or overrun.
    pub fn new_len(&self, old: usize) -> Option<usize> {
        let kept = self.head + self.prefix + self.suffix;
        if self.head > self.bytes.len() || kept > old.max(self.head) {
            return None;
        }
        Some(self.bytes.len() + self.prefix + self.suffix)
    }
}

/// Bytes of free space that replacing a value of `old` bytes (with a key suffix of `klen`) by one of `new` bytes needs.
pub fn replace_need(klen: usize, old: usize, new: usize) -> usize {
    if new <= old { 0 } else { klen + new }
}

/// Replaces the value at `slot`; `stamp` as for [`insert`].
///
/// # Errors
/// Why it does not fit the node, in words.
pub fn replace(
    b: &mut Bytes,
    slot: usize,
    patch: &Patch<'_>,
    stamp: Option<(usize, Lsn)>,
) -> EditResult {
    bounded(b)?;
    let node = LeafNode::new(b);
    let (at, len) = node.cell(slot).ok_or("no such slot")?;
    let (value_at, old) = node.value_range(slot).ok_or("no such slot")?;
    if len > 0 && at < get_u16(b, HEAP_AT) as usize {
        // What is written there would be the header or the slots.
        return Err("cell outside the heap");
    }
    let new = patch.new_len(old).ok_or("kept parts overrun the value")?;
    if stamp.is_some_and(|(offset, _)| offset + 8 > new) {
        return Err("stamp outside the value");
    }
    let Patch {
        head,
        prefix,
        suffix,
        bytes,
    } = *patch;
    let middle = &bytes[head..];
    let mut to = value_at;
    if new > old {
        to = grow(b, slot, (at, len), (old, new), patch)?;
    } else {
        // In place: the tail moves down first, for the middle may overwrite it.
        let tail_from = value_at + old - suffix;
        b.copy_within(tail_from..tail_from + suffix, value_at + new - suffix);
        if new < old {
            let garbage = get_u16(b, GARBAGE_AT) as usize + (old - new);
            put_u16(b, GARBAGE_AT, garbage as u16);
        }
    }
    b[to..to + head].copy_from_slice(&bytes[..head]);
    let middle_at = to + head + prefix;
    b[middle_at..middle_at + middle.len()].copy_from_slice(middle);
    if let Some((offset, lsn)) = stamp {
        put_u64(b, to + offset, lsn.0);
    }
    let slot_at = slot_place(b, slot);
    put_u16(b, slot_at + 8, new as u16);
    Ok(())
}

/// Moves a cell to a larger place, the kept parts of its value at their new offsets; answers where the value starts.
fn grow(
    b: &mut Bytes,
    slot: usize,
    (at, len): (usize, usize),
    (old, new): (usize, usize),
    patch: &Patch<'_>,
) -> Result<usize, &'static str> {
    let klen = len - old;
    if klen + new > LeafNode::new(b).free_bytes() + len {
        return Err("page is full");
    }
    if klen + new <= LeafNode::new(b).contiguous() {
        let to = alloc_cell::<true>(b, klen + new, 0)?;
        b.copy_within(at..at + klen, to);
        let (from, value) = (at + klen, to + klen);
        // A head longer than the old value leaves nothing to keep, at no place at all.
        let kept = from + patch.head.min(old);
        b.copy_within(kept..kept + patch.prefix, value + patch.head);
        b.copy_within(
            from + old - patch.suffix..from + old,
            value + new - patch.suffix,
        );
        give(b, at, len);
        let slot_at = slot_place(b, slot);
        put_u16(b, slot_at + 4, to as u16);
        return Ok(value);
    }
    // Packing drops the old cell, so its bytes are set aside first.
    let mut cell = [0u8; PAGE_SIZE];
    cell[..len].copy_from_slice(&b[at..at + len]);
    let before = *b;
    let slot_at = slot_place(b, slot);
    put_u16(b, slot_at + 6, 0);
    put_u16(b, slot_at + 8, 0);
    let taken = compact::<true>(b).and_then(|()| alloc_cell::<true>(b, klen + new, 0));
    let to = match taken {
        Ok(to) => to,
        Err(why) => {
            *b = before;
            return Err(why);
        }
    };
    b[to..to + klen].copy_from_slice(&cell[..klen]);
    let value = to + klen;
    let kept = klen + patch.head.min(old);
    b[value + patch.head..value + patch.head + patch.prefix]
        .copy_from_slice(&cell[kept..kept + patch.prefix]);
    b[value + new - patch.suffix..value + new].copy_from_slice(&cell[len - patch.suffix..len]);
    put_u16(b, slot_at + 4, to as u16);
    put_u16(b, slot_at + 6, klen as u16);
    Ok(value)
}

/// Changes the child number at `slot` of an inner node.
///
/// # Errors
/// Why it does not fit the node, in words.
pub fn set_child(b: &mut Bytes, slot: usize, child: u32) -> EditResult {
    if slot >= InnerNode::new(b).count() {
        return Err("no such slot");
    }
    // A damaged page may name more slots than it has room for.
    let at = slot_place(b, slot) + 4;
    if at + 4 > b.len() {
        return Err("a slot behind the page");
    }
    put_u32(b, at, child);
    Ok(())
}
