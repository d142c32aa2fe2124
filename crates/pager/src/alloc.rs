//! Which pages of a tablespace are in use: a bitmap in the file itself, one map page per group of pages.
//!
//! Page 0 is the map of the first group and the tablespace's header. Layout behind the page header:
//! magic u64 @32 | format u32 @40 | page size u32 @44 | high water u32 @48 (page 0: one above the highest page ever used)
//! | bitmap @64, bit i = page group*GROUP+i in use.

use crate::error::{OpError, Wait};
use crate::mtr::{Mtr, PageIx};
use crate::page::{PAGE_SIZE, Page, PageKind};
use crate::pool::Pool;
use crate::space::Space;
use base::{Lsn, PageNo, le};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Makes a map page: payload = group start u32.
pub(crate) const OP_MAP_FORMAT: u8 = 1;
/// Marks a page used: payload = page u32.
pub(crate) const OP_MAP_SET: u8 = 2;
/// Marks a page free: payload = page u32.
pub(crate) const OP_MAP_CLEAR: u8 = 3;
/// The page itself is no longer in use.
pub(crate) const OP_FREED: u8 = 4;

const MAGIC: u64 = u64::from_le_bytes(*b"TDMLSPC1");
/// Version of the tablespace format.
pub const SPACE_FORMAT: u32 = 1;
const BITMAP: usize = 64;
pub use crate::page::GROUP;
const BITMAP_LEN: usize = GROUP as usize / 8;
const _: () = assert!(BITMAP + BITMAP_LEN <= PAGE_SIZE);

/// The redo function of the pager's operations.
pub(crate) fn apply(
    op: u8,
    page: &mut Page,
    payload: &[u8],
    _start: Lsn,
) -> Result<(), &'static str> {
    if op == OP_FREED {
        page.format(PageKind::Free, 0, 0);
        return Ok(());
    }
    if payload.len() != 4 {
        return Err("space map payload");
    }
    let arg = le::get_u32(payload, 0);
    if op == OP_MAP_FORMAT {
        page.format(PageKind::SpaceMap, 0, 0);
        let b = page.bytes_mut();
        le::put_u64(b, 32, MAGIC);
        le::put_u32(b, 40, SPACE_FORMAT);
        le::put_u32(b, 44, PAGE_SIZE as u32);
        le::put_u32(b, 48, arg + 1);
        b[BITMAP] = 1;
        return Ok(());
    }
    let group = page.page_no().0;
    let i = arg
        .checked_sub(group)
        .filter(|i| *i < GROUP)
        .ok_or("page outside the group")? as usize;
    if page.kind() != Some(PageKind::SpaceMap) {
        return Err("not a space map");
    }
    let b = page.bytes_mut();
    let (byte, bit) = (BITMAP + i / 8, 1u8 << (i % 8));
    match op {
        OP_MAP_SET if b[byte] & bit == 0 => {
            b[byte] |= bit;
            let high = le::get_u32(b, 48).max(arg + 1);
            le::put_u32(b, 48, high);
            Ok(())
        }
        OP_MAP_CLEAR if b[byte] & bit != 0 => {
            b[byte] &= !bit;
            Ok(())
        }
        _ => Err("space map bit"),
    }
}

/// Checks that page 0 is a tablespace header this program knows.
///
/// # Errors
/// What is wrong with it, in words.
pub fn check_header(bytes: &[u8]) -> Result<(), &'static str> {
    if le::get_u64_or0(bytes, 32) != MAGIC {
        return Err("not a tablespace");
    }
    if le::get_u32_or0(bytes, 40) != SPACE_FORMAT {
        return Err("a tablespace of another format");
    }
    if le::get_u32_or0(bytes, 44) != PAGE_SIZE as u32 {
        return Err("another page size");
    }
    Ok(())
}

/// The first free bit of a map page at or after `from` (a page number), not in `taken`.
fn find_free(map: &Page, from: u32, taken: impl Fn(u32) -> bool) -> Option<u32> {
    let group = map.page_no().0;
    let b = &map.bytes()[BITMAP..BITMAP + BITMAP_LEN];
    let mut i = from.saturating_sub(group) as usize;
    while i < GROUP as usize {
        if i.is_multiple_of(8) && b[i / 8] == 0xFF {
            i += 8;
            continue;
        }
        if b[i / 8] & (1 << (i % 8)) == 0 && !taken(group + i as u32) {
            return Some(group + i as u32);
        }
        i += 1;
    }
    None
}

/// Pages in use according to a map page, for `verify`.
pub fn used_pages(map: &Page) -> Vec<PageNo> {
    let group = map.page_no().0;
    let b = &map.bytes()[BITMAP..BITMAP + BITMAP_LEN];
    (0..GROUP)
        .filter(|i| b[*i as usize / 8] & (1 << (i % 8)) != 0)
        .map(|i| PageNo(group + i))
        .collect()
}

/// Number of the pages in use in the map's group, the map itself left out.
pub fn used_count(map: &Page) -> u32 {
    let b = &map.bytes()[BITMAP..BITMAP + BITMAP_LEN];
    let used: u32 = b.iter().map(|b| b.count_ones()).sum();
    used.saturating_sub(1)
}

/// One above the highest page ever used in the map's group.
pub fn high_water(map: &Page) -> u32 {
    le::get_u32(map.bytes(), 48)
}

fn map_in<'p>(
    pool: &'p Pool,
    mtr: &mut Mtr<'p>,
    space: &Space,
    group: u32,
) -> Result<PageIx, OpError> {
    match mtr.find(space.id(), PageNo(group)) {
        Some(ix) => Ok(ix),
        None => {
            let g = pool.exclusive(space, PageNo(group))?;
            if g.kind() != Some(PageKind::SpaceMap) {
                return Err(OpError::Corrupt {
                    space: space.id(),
                    page: PageNo(group),
                    why: "not a space map",
                });
            }
            Ok(mtr.add(g))
        }
    }
}

/// Allocates a page in the mini-transaction: its new page is latched, zeroed, and must be formatted by the caller's op
/// (one marked as making the page). On an error nothing has changed.
pub(crate) fn alloc_page<'p>(
    pool: &'p Pool,
    mtr: &mut Mtr<'p>,
    space: &Arc<Space>,
) -> Result<PageIx, OpError> {
    let hint = space.alloc_hint.load(Ordering::Relaxed);
    let mut group = hint / GROUP * GROUP;
    let mut from = hint;
    loop {
        if group >= space.mapped() {
            return Err(OpError::Wait(Wait::Grow(space.id())));
        }
        let map = map_in(pool, mtr, space, group)?;
        let free = find_free(mtr.page(map), from, |p| {
            mtr.find(space.id(), PageNo(p)).is_some()
        });
        match free {
            None => {
                group += GROUP;
                from = group;
            }
            Some(p) if p >= space.mapped() => return Err(OpError::Wait(Wait::Grow(space.id()))),
            Some(p) => {
                let g = pool.fresh(space, PageNo(p))?;
                let ix = mtr.add(g);
                mtr.op(map, OP_MAP_SET, &[&p.to_le_bytes()]);
                // Not above the page: the mini-transaction may still be given up.
                space.alloc_hint.store(p, Ordering::Relaxed);
                return Ok(ix);
            }
        }
    }
}

/// As [`alloc_page`], for a page below `below`, the first there is; `None` where there is none.
pub(crate) fn alloc_page_below<'p>(
    pool: &'p Pool,
    mtr: &mut Mtr<'p>,
    space: &Arc<Space>,
    below: PageNo,
) -> Result<Option<PageIx>, OpError> {
    if space.mapped() == 0 {
        return Err(OpError::Wait(Wait::Grow(space.id())));
    }
    let mut group = 0;
    while group < below.0.min(space.mapped()) {
        let map = map_in(pool, mtr, space, group)?;
        let free = find_free(mtr.page(map), group, |p| {
            mtr.find(space.id(), PageNo(p)).is_some()
        });
        match free.filter(|p| *p < below.0.min(space.mapped())) {
            None => group += GROUP,
            Some(p) => {
                let g = pool.fresh(space, PageNo(p))?;
                let ix = mtr.add(g);
                mtr.op(map, OP_MAP_SET, &[&p.to_le_bytes()]);
                return Ok(Some(ix));
            }
        }
    }
    Ok(None)
}

/// One above the highest page in use according to a map page; the map itself is in use.
pub fn used_end(map: &Page) -> u32 {
    let group = map.page_no().0;
    let b = &map.bytes()[BITMAP..BITMAP + BITMAP_LEN];
    let last = b.iter().rposition(|b| *b != 0).unwrap_or(0);
    group + last as u32 * 8 + (8 - b[last].leading_zeros()).max(1)
}

/// Whether a map page says that a page of its group is in use.
pub fn is_used(map: &Page, page: PageNo) -> bool {
    let i = page.0.saturating_sub(map.page_no().0) as usize;
    i < GROUP as usize && map.bytes()[BITMAP + i / 8] & (1 << (i % 8)) != 0
}

/// Frees a page that the caller has latched in the mini-transaction as `page`.
pub(crate) fn free_page<'p>(
    pool: &'p Pool,
    mtr: &mut Mtr<'p>,
    space: &Arc<Space>,
    page: PageIx,
) -> Result<(), OpError> {
    let no = mtr.page_no(page);
    let group = no.0 / GROUP * GROUP;
    let map = map_in(pool, mtr, space, group)?;
    // What cannot be carried out must not get into the log.
    let i = (no.0 - group) as usize;
    if mtr.page(map).bytes()[BITMAP + i / 8] & (1 << (i % 8)) == 0 {
        return Err(OpError::Corrupt {
            space: space.id(),
            page: no,
            why: "in use, and free by the space map",
        });
    }
    mtr.op(map, OP_MAP_CLEAR, &[&no.0.to_le_bytes()]);
    mtr.op_init(page, OP_FREED, &[]);
    space.alloc_hint.fetch_min(no.0, Ordering::Relaxed);
    Ok(())
}
