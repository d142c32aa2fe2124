//! Where a leaf's entries lie, for those who write pages in another arrangement.

use base::le::get_u16;
use pager::PAGE_SIZE;
use pager::compressed::{Cells, Slots};

use super::{
    Bytes, COUNT_AT, FENCES_AT, HIGH_LEN_AT, KIND_AT, LEAF_KIND, LEVEL_AT, LOW_LEN_AT, MAX_SLOTS,
    SLOT,
};

/// The cells of a leaf in the order of their keys; `None` for other pages, and for leaves that are damaged. Nothing behind the slots is
/// looked at. (A [`pager::compressed::CellsOf`].)
pub fn cells(page: &[u8], cells: &mut Cells) -> Option<Slots> {
    let b: &Bytes = page.try_into().ok()?;
    let count = get_u16(b, COUNT_AT) as usize;
    if b[KIND_AT] != LEAF_KIND || b[LEVEL_AT] != 0 || count > MAX_SLOTS {
        return None;
    }
    let at = FENCES_AT + get_u16(b, LOW_LEN_AT) as usize + get_u16(b, HIGH_LEN_AT) as usize;
    let slots = b.get(at..(at + count * SLOT).min(PAGE_SIZE))?;
    for s in slots.as_chunks::<SLOT>().0 {
        let word = |at| get_u16(s, at) as usize;
        if !cells.push(word(4), word(6) + word(8)) {
            return None;
        }
    }
    Some(Slots {
        at,
        count,
        each: SLOT,
    })
}
