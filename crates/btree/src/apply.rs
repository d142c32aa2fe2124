//! How the page operations of this crate are applied. Forward execution and recovery both run [`apply`]; it is a pure function of the
//! page, the payload and the record's start LSN.

use base::Lsn;
use base::le::{get_u16_or0, get_u32_or0};
use pager::{Page, RedoTable};

use crate::node::edit::{self, EditResult, Patch, Shape};
use crate::node::plan::Entries;
use crate::node::{self, INNER_KIND, KIND_AT, LEAF_KIND};
use crate::ops::{
    FIRST_OP, IMAGE, INNER_INSERT, LAST_OP, LEAF_INSERT, LEAF_REPLACE, NO_STAMP, OVERFLOW_FILL,
    OVERFLOW_NEXT, REFENCE, REMOVE, SET_CHILD,
};
use crate::overflow;

/// Tells a pager all that it must know of trees: what carries out their operations, and where the entries of a node lie.
pub fn register(redo: &mut RedoTable) {
    redo.register(FIRST_OP..LAST_OP + 1, apply);
    redo.register_cells(node::cells);
}

const SHORT: &str = "operation is cut short";

fn rest(payload: &[u8], at: usize) -> Result<&[u8], &'static str> {
    payload.get(at..).ok_or(SHORT)
}

fn field(payload: &[u8], at: usize) -> usize {
    get_u16_or0(payload, at) as usize
}

fn stamp_of(payload: &[u8], at: usize, lsn: Lsn) -> Option<(usize, Lsn)> {
    match field(payload, at) as u16 {
        NO_STAMP => None,
        offset => Some((offset as usize, lsn)),
    }
}

/// Applies one operation to a page. `start_lsn` is the position of the record that holds it.
///
/// # Errors
/// Why it does not fit the page, in words; the page may be half changed then.
pub fn apply(op: u8, page: &mut Page, payload: &[u8], start_lsn: Lsn) -> EditResult {
    let b = page.bytes_mut();
    match op {
        LEAF_INSERT => {
            if b[KIND_AT] != LEAF_KIND {
                return Err("leaf operation on another page");
            }
            let body = rest(payload, 6)?;
            let (suffix, value) = body.split_at_checked(field(payload, 4)).ok_or(SHORT)?;
            let stamp = stamp_of(payload, 2, start_lsn);
            edit::insert::<true>(b, field(payload, 0), suffix, value, stamp)
        }
        LEAF_REPLACE => {
            if b[KIND_AT] != LEAF_KIND {
                return Err("leaf operation on another page");
            }
            let patch = Patch {
                head: field(payload, 4),
                prefix: field(payload, 6),
                suffix: field(payload, 8),
                bytes: rest(payload, 10)?,
            };
            let stamp = stamp_of(payload, 2, start_lsn);
            edit::replace(b, field(payload, 0), &patch, stamp)
        }
        REMOVE => edit::remove(b, field(payload, 0)),
        IMAGE => {
            let (low, high) = (field(payload, 5), field(payload, 7));
            let body = rest(payload, 9)?;
            let shape = Shape {
                level: payload[0],
                index_id: get_u32_or0(payload, 1),
                low: body.get(..low).ok_or(SHORT)?,
                high: body.get(low..low + high).ok_or(SHORT)?,
            };
            edit::image(b, &shape, Entries(rest(body, low + high)?))
        }
        REFENCE => {
            let high = field(payload, 2);
            let body = rest(payload, 4)?;
            let (high, entries) = body.split_at_checked(high).ok_or(SHORT)?;
            edit::refence(b, high, field(payload, 0), Entries(entries))
        }
        INNER_INSERT => {
            if b[KIND_AT] == LEAF_KIND {
                return Err("inner operation on a leaf");
            }
            let suffix = rest(payload, 6)?;
            let child = &payload[2..6];
            edit::insert::<false>(b, field(payload, 0), suffix, child, None)
        }
        SET_CHILD => {
            if b[KIND_AT] != INNER_KIND || payload.len() < 6 {
                return Err("a child of what is no inner node");
            }
            edit::set_child(b, field(payload, 0), get_u32_or0(payload, 2))
        }
        OVERFLOW_FILL => {
            let bytes = rest(payload, 8)?;
            overflow::fill(
                page,
                get_u32_or0(payload, 0),
                get_u32_or0(payload, 4),
                bytes,
            )
        }
        OVERFLOW_NEXT => overflow::set_next(page, get_u32_or0(payload, 0)),
        _ => Err("unknown operation"),
    }
}
