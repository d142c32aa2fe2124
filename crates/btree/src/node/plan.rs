//! Decisions about a node's content that change nothing: where to split it, with which separator, what two nodes would
//! need as one, and a node's entries written out as the payload of a log operation.
//!
//! Separators are cut as short as they can be (Bayer and Unterauer, "Prefix B-trees", 1977), and among split points
//! near the best balance the one with the shortest separator wins. Inserts in key order split at the place of the
//! insert instead, so that a sequential load leaves full pages behind.

use base::le::get_u16_or0;

use super::edit::{SCORE_MAX, reprefix};
use super::view::{Entry, InnerNode, LeafNode, Node};
use super::{BODY, SLOT, cell_len, common_prefix, fence_prefix};

/// From this insert score on, inserts are taken to come in key order.
const SEQUENTIAL: u8 = SCORE_MAX / 2 + 1;

/// Where a node is cut in two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Entries from this slot on go to the new right node.
    pub at: usize,
    /// High fence of the left node, low fence of the right one.
    pub separator: Vec<u8>,
}

/// Where the entry that did not fit would go.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer<'a> {
    /// Its suffix; `None` when it is the present entry at `slot` that grows.
    pub suffix: Option<&'a [u8]>,
    /// Those that follow it are known to come in order.
    pub in_order: bool,
    /// Its slot.
    pub slot: usize,
    /// Bytes that it needs beyond those in use.
    pub need: usize,
}

/// The separator between two neighbouring suffixes: the shortest start of `right` that is above `left`.
fn shortest<'a>(left: &[u8], right: &'a [u8]) -> &'a [u8] {
    let len = (common_prefix(left, right) + 1).min(right.len());
    &right[..len]
}

fn entry_len<const LEAF: bool>(e: &Entry<'_>) -> usize {
    SLOT + cell_len::<LEAF>(e.suffix.len(), e.value.len())
}

/// Chooses how to split a leaf into which `new` does not fit. `None`: the leaf is empty or damaged.
pub fn split_leaf(leaf: &LeafNode<'_>, new: Newcomer<'_>) -> Option<Split> {
    let count = leaf.count();
    let suffix = |i: usize| leaf.entry(i).map(|e| e.suffix);
    let full = |s: &[u8]| [leaf.prefix(), s].concat();
    if count == 0 {
        return None;
    }
    let at_end = new.slot == count && leaf.high().is_empty();
    let at_start = new.slot == 0 && leaf.low().is_empty();
    let seems_so = at_end || at_start || leaf.insert_score() >= SEQUENTIAL;
    let in_order = new.in_order || count == 1 || seems_so;
    if let Some(key) = new.suffix.filter(|_| in_order) {
        let before_new = || Some(full(shortest(suffix(new.slot.checked_sub(1)?)?, key)));
        let after_new = || Some(full(shortest(key, suffix(new.slot)?)));
        let left: usize = (0..new.slot)
            .map(|i| leaf.entry(i).map_or(0, |e| entry_len::<true>(&e)))
            .sum();
        // With room to spare on the left the newcomer ends the left leaf, which goes on filling; else it starts the right.
        let prefer_left = new.slot < count && left + new.need <= BODY - BODY / 8;
        let choices = if prefer_left {
            [after_new(), before_new()]
        } else {
            [before_new(), after_new()]
        };
        for separator in choices.into_iter().flatten() {
            if both_fit(leaf, new.slot, &separator) {
                return Some(Split {
                    at: new.slot,
                    separator,
                });
            }
        }
    }
    if count == 1 {
        return None;
    }
    let middle = middle::<true>(leaf, Some(new))?;
    let cut = |i: usize| Some(shortest(suffix(i - 1)?, suffix(i)?));
    let at = near(count, middle)
        .min_by_key(|i| (cut(*i).map_or(usize::MAX, <[u8]>::len), i.abs_diff(middle)))?;
    Some(Split {
        at,
        separator: full(cut(at)?),
    })
}

/// Chooses how to split an inner node whose child at `slot` is to be split. `None`: fewer than two children, or damaged.
pub fn split_inner(node: &InnerNode<'_>, slot: usize) -> Option<Split> {
    let count = node.count();
    if count < 2 {
        return None;
    }
    let last = slot + 1 == count;
    let at = if last && (node.high().is_empty() || node.insert_score() >= SEQUENTIAL) {
        count - 1
    } else {
        let middle = middle::<false>(node, None)?;
        let len = |i: usize| node.entry(i).map_or(usize::MAX, |e| e.suffix.len());
        near(count, middle).min_by_key(|i| (len(*i), i.abs_diff(middle)))?
    };
    Some(Split {
        at,
        separator: [node.prefix(), node.entry(at)?.suffix].concat(),
    })
}

/// Split points close to `middle`, never leaving a side empty.
fn near(count: usize, middle: usize) -> std::ops::RangeInclusive<usize> {
    let reach = count / 16;
    middle.saturating_sub(reach).max(1)..=(middle + reach).min(count - 1)
}

/// The slot that halves the bytes, the newcomer's included; at least 1 and below the count.
fn middle<const LEAF: bool>(node: &Node<'_, LEAF>, new: Option<Newcomer<'_>>) -> Option<usize> {
    let count = node.count();
    let mut total = new.map_or(0, |n| n.need);
    for i in 0..count {
        total += entry_len::<LEAF>(&node.entry(i)?);
    }
    let mut left = 0;
    for i in 0..count {
        if let Some(n) = new.filter(|n| n.slot == i) {
            left += n.need;
        }
        let len = entry_len::<LEAF>(&node.entry(i)?);
        if (left + len / 2) * 2 >= total {
            return Some(i.clamp(1, count - 1));
        }
        left += len;
    }
    Some(count - 1)
}

fn both_fit(leaf: &LeafNode<'_>, at: usize, separator: &[u8]) -> bool {
    // A separator equal to a fence would make a node of no keys, which the page check rejects.
    separator > leaf.low()
        && (leaf.high().is_empty() || separator < leaf.high())
        && size_within(leaf, 0..at, leaf.low(), separator) <= BODY
        && size_within(leaf, at..leaf.count(), separator, leaf.high()) <= BODY
}

/// Bytes that a range of a node's entries takes in a node with these fences; more than there are if one cannot be read.
pub fn size_within<const LEAF: bool>(
    node: &Node<'_, LEAF>,
    range: std::ops::Range<usize>,
    low: &[u8],
    high: &[u8],
) -> usize {
    let (was, now) = (node.prefix_len(), fence_prefix(low, high));
    let first = range.start;
    let mut size = low.len() + high.len();
    for i in range {
        let Some(e) = node.entry(i) else {
            return usize::MAX;
        };
        size += if !LEAF && i == 0 && first == 0 {
            entry_len::<LEAF>(&e)
        } else {
            (entry_len::<LEAF>(&e) + was).saturating_sub(now)
        };
    }
    size
}

/// Bytes that two neighbours would take as one node; more than there are if an entry cannot be read.
pub fn merged_size<const LEAF: bool>(left: &Node<'_, LEAF>, right: &Node<'_, LEAF>) -> usize {
    let now = fence_prefix(left.low(), right.high());
    let mut size = size_within(left, 0..left.count(), left.low(), right.high());
    if size == usize::MAX {
        return size;
    }
    for i in 0..right.count() {
        let Some(e) = right.entry(i) else {
            return usize::MAX;
        };
        let whole = if !LEAF && i == 0 {
            right.low().len()
        } else {
            right.prefix_len() + e.suffix.len()
        };
        size += SLOT + cell_len::<LEAF>(whole.saturating_sub(now), e.value.len());
    }
    size
}

/// How many entries a leaf may take of its right neighbour so that it has no more than `fill` bytes, and the separator between them then. `None`: fewer
/// than `least` bytes, or an entry cannot be read. Never all of them: that is a merge.
pub fn share(
    left: &LeafNode<'_>,
    right: &LeafNode<'_>,
    fill: usize,
    least: usize,
) -> Option<(usize, Vec<u8>)> {
    let before = size_within(left, 0..left.count(), left.low(), left.high());
    let fits = |take: usize| {
        let (last, first) = (right.entry(take - 1)?.suffix, right.entry(take)?.suffix);
        let separator = [right.prefix(), shortest(last, first)].concat();
        let now = fence_prefix(left.low(), &separator);
        let mut size = size_within(left, 0..left.count(), left.low(), &separator);
        for i in 0..take {
            let e = right.entry(i)?;
            let suffix = (right.prefix_len() + e.suffix.len()).checked_sub(now)?;
            size = size.checked_add(SLOT + cell_len::<true>(suffix, e.value.len()))?;
        }
        (size <= fill).then_some((size, separator))
    };
    // The largest number that fits: sizes grow with it, but for what a longer common prefix saves.
    let (mut fit, mut over) = (0, right.count());
    let mut found = None;
    while fit + 1 < over {
        let middle = fit + (over - fit) / 2;
        match fits(middle) {
            Some(f) => (fit, found) = (middle, Some(f)),
            None => over = middle,
        }
    }
    let (size, separator) = found?;
    let rest = size_within(right, fit..right.count(), &separator, right.high());
    let enough = size >= before.saturating_add(least);
    (enough && rest <= BODY).then_some((fit, separator))
}

/// Appends entries `range` to a payload, each `{suffix length u16, value length u16, suffix, value}`, with suffixes for
/// a node with these fences. `starts`: the first of them will be an inner node's slot 0, which
/// stores no suffix; else a slot 0 among them becomes an ordinary separator again.
pub fn write_entries<const LEAF: bool>(
    node: &Node<'_, LEAF>,
    range: std::ops::Range<usize>,
    (low, high): (&[u8], &[u8]),
    starts: bool,
    out: &mut Vec<u8>,
) -> Option<()> {
    let (was, now) = (node.prefix_len(), fence_prefix(low, high));
    let first = range.start;
    for i in range {
        let e = node.entry(i)?;
        let (lead, rest): (&[u8], &[u8]) = if LEAF || i > 0 {
            reprefix(node.low(), e.suffix, was, now)
        } else {
            (&[], node.low().get(now..)?)
        };
        let (lead, rest) = if !LEAF && starts && i == first {
            (&[][..], &[][..])
        } else {
            (lead, rest)
        };
        let klen = (lead.len() + rest.len()) as u16;
        out.extend_from_slice(&klen.to_le_bytes());
        out.extend_from_slice(&(e.value.len() as u16).to_le_bytes());
        out.extend_from_slice(lead);
        out.extend_from_slice(rest);
        out.extend_from_slice(e.value);
    }
    Some(())
}

/// Reads back what [`write_entries`] wrote.
pub struct Entries<'a>(pub &'a [u8]);

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let klen = get_u16_or0(self.0, 0) as usize;
        let vlen = get_u16_or0(self.0, 2) as usize;
        let end = 4 + klen + vlen;
        let Some(all) = self.0.get(..end) else {
            self.0 = &[];
            return Some(Err("entries are cut short"));
        };
        self.0 = &self.0[end..];
        Some(Ok(Entry {
            suffix: &all[4..4 + klen],
            value: &all[4 + klen..],
        }))
    }
}
