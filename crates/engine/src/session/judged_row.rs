//! A row as a statement judges it under its latch: the new row that it makes of it, or that it leaves it, and then the lock that stays.
//!
//! Must never do: wait, or write.

use super::changed_row::ChangedRow;
use super::conflict::{Conflict, ConflictCheck};
use super::outcome::{RowRequest, UpdateRequests};
use super::overflow_columns::{BuiltRow, build_inline};
use crate::record::{EXTERNAL, RowVersion};
use crate::schema::Table;
use types::Value;
use types::keyenc::encode_key;

/// A change worked out before the latch was taken: valid for that version of the row only.
pub(super) struct Prepared {
    pub(super) version: RowVersion,
    pub(super) values: Vec<Value>,
    pub(super) row: BuiltRow,
}

/// What one try after the other to change a row works with.
#[derive(Default)]
pub(super) struct Work {
    pub(super) prepared: Option<Prepared>,
    /// The row's version before the change.
    pub(super) version: RowVersion,
    /// The old row is wanted: for the entries of secondary indexes, or by somebody else.
    pub(super) keep_old: bool,
    /// Flags of the new version.
    pub(super) flags: u8,
    /// The row stays, as one that was not meant.
    pub(super) passed: bool,
    /// The row stays, and is written all the same: its header is the lock, where there is little room for others.
    pub(super) touches: bool,
    pub(super) row: ChangedRow,
}

/// The row that is to come, or why it is not made under the latch.
pub(super) enum New {
    /// It is in [`ChangedRow::new`].
    Row,
    Step(Step),
}

/// What the closure under the latch came to.
pub(super) enum Step {
    NotFound,
    Moved,
    /// The row stays, and is locked as far as it is to be.
    Unchanged,
    Done,
    /// The row has overflow columns, which have to be read before the new values can be worked out.
    Outside(RowVersion, Vec<u8>),
    /// The new row has long columns, which have to be written first.
    Long(RowVersion, Vec<Value>),
    /// The clustered key changes.
    Rekey(RowVersion, Vec<Value>),
    /// What was worked out was for a version that is no longer the row's.
    Stale,
}

/// The new row of a version that is there: made from what was prepared, or from what `f` says.
pub(super) fn new_row(
    t: &Table,
    key: &[u8],
    (v, old): (RowVersion, &[u8]),
    f: &mut UpdateRequests<'_>,
    work: &mut Work,
) -> Result<New, Conflict> {
    match make_row(t, key, (v, old), f, work)? {
        // To the byte the old one.
        New::Row if work.row.new == old => Ok(New::Step(Step::Unchanged)),
        made => Ok(made),
    }
}

fn make_row(
    t: &Table,
    key: &[u8],
    (v, old): (RowVersion, &[u8]),
    f: &mut UpdateRequests<'_>,
    work: &mut Work,
) -> Result<New, Conflict> {
    work.flags = 0;
    (work.passed, work.touches) = (false, false);
    match &work.prepared {
        Some(p) if p.version == v => {
            work.row.new.clear();
            work.row.new.extend_from_slice(&p.row.bytes);
            if p.row.external {
                work.flags = EXTERNAL;
            }
            return Ok(New::Row);
        }
        Some(_) => return Ok(New::Step(Step::Stale)),
        None if v.external() => return Ok(New::Step(Step::Outside(v, old.to_vec()))),
        None => {}
    }
    let values = match f(t.layout.row(old)).map_err(Conflict::Sql)? {
        RowRequest::Change(values) => values,
        left => {
            work.passed = matches!(left, RowRequest::Skip);
            return Ok(New::Step(Step::Unchanged));
        }
    };
    if key_differs(t, key, &values, &mut work.row.key) {
        return Ok(New::Step(Step::Rekey(v, values)));
    }
    if !build_inline(t, &values, &mut work.row.builder, &mut work.row.new).map_err(Conflict::Sql)? {
        return Ok(New::Step(Step::Long(v, values)));
    }
    Ok(New::Row)
}

/// A row that is not changed, or at which the statement fails, stays locked: in the lock table, or, where locks have taken half of the memory that they may, by
/// what is in its header, so that a statement that touches very many rows does not fail for it.
pub(super) fn keep(
    check: &ConflictCheck,
    key: &[u8],
    (v, old): (RowVersion, &[u8]),
    (made, keeps_passed): (&Result<New, Conflict>, bool),
    work: &mut Work,
) -> Result<(), Conflict> {
    let stays = match made {
        Ok(New::Step(Step::Unchanged)) => !work.passed || keeps_passed,
        Err(Conflict::Sql(_)) => true,
        _ => false,
    };
    if !stays {
        return Ok(());
    }
    let elsewhere = v.external() || work.prepared.is_some() || v.writer() == check.me;
    if made.is_err() || work.passed || elsewhere || !check.locks.is_short() {
        return check.keep_row(key, v);
    }
    work.touches = true;
    work.row.new.clear();
    work.row.new.extend_from_slice(old);
    Ok(())
}

pub(super) fn key_differs(t: &Table, key: &[u8], values: &[Value], encoded: &mut Vec<u8>) -> bool {
    if t.def.indexes[0].parts.is_empty() {
        return false;
    }
    encoded.clear();
    encode_key(
        t.key_parts(0),
        t.index_columns(0).map(|c| values[c].as_ref()),
        encoded,
    );
    encoded != key
}
