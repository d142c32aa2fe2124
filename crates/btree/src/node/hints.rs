//! Sixteen key heads, evenly spaced over the slots and kept next to the node header, narrow a search to a seventeenth of
//! the slots before it touches any: one or two cache lines of slots instead of one per halving. (LeanStore's hints: Leis
//! et al., "LeanStore: In-memory data management beyond main memory", 2018.)
//!
//! Hint `i` is the head of slot `(i + 1) * (count / 17)`; on nodes of few entries the hints are not used and not kept.

use base::le::get_u16;

use super::{Bytes, COUNT_AT, HINTS_AT, SLOT, slots_at};

/// Number of hints.
pub const HINTS: usize = 16;
const _: () = assert!(HINTS_AT + 4 * HINTS == super::FENCES_AT);

/// Distance between hinted slots, if the node is large enough to have hints.
#[inline(always)]
fn distance(count: usize) -> Option<usize> {
    let d = count / (HINTS + 1);
    (d >= 2).then_some(d)
}

/// The slots among which the first one with a head not below `head` is: it is in `start..=end`, and those before `start`
/// have smaller heads.
#[inline(always)]
pub(crate) fn window(b: &Bytes, count: usize, head: u32) -> (usize, usize) {
    let Some(d) = distance(count) else {
        return (0, count);
    };
    let hints = b[HINTS_AT..HINTS_AT + 4 * HINTS].as_chunks::<4>().0;
    let below: usize = hints
        .iter()
        .map(|h| usize::from(u32::from_le_bytes(*h) < head))
        .sum();
    let start = if below == 0 { 0 } else { below * d + 1 };
    let end = if below == HINTS {
        count
    } else {
        (below + 1) * d
    };
    (start, end)
}

/// Brings the hints up to date after slots from `from` on changed and the count was `before`.
#[inline]
pub(crate) fn refresh(b: &mut Bytes, from: usize, before: usize) {
    let count = get_u16(b, COUNT_AT) as usize;
    let Some(d) = distance(count) else {
        return;
    };
    let first = if d == before / (HINTS + 1) {
        from.div_ceil(d).max(1)
    } else {
        1
    };
    let base = slots_at(b);
    for i in first..=HINTS {
        let slot = base + i * d * SLOT;
        b.copy_within(slot..slot + 4, HINTS_AT + (i - 1) * 4);
    }
}

/// True when the hints are what the slots say.
pub(crate) fn sound(b: &Bytes, count: usize) -> bool {
    let Some(d) = distance(count) else {
        return true;
    };
    let base = slots_at(b);
    (1..=HINTS).all(|i| {
        let slot = base + i * d * SLOT;
        b.get(slot..slot + 4) == b.get(HINTS_AT + (i - 1) * 4..HINTS_AT + i * 4)
    })
}
