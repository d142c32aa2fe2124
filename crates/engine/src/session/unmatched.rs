//! Rows that others are changing, and that did not meet the conditions of an UPDATE before: at READ COMMITTED it passes them instead of waiting
//! (InnoDB's semi-consistent read, in the manual's section on transaction isolation levels). What matched before is waited for, and judged
//! anew then.
//!
//! Never here: a lock, or a row that goes on as what was found here.

use super::conflict::{Conflict, ConflictCheck};
use super::read::Reader;
use crate::mvcc::VersionWalk;
use crate::record::{RowRef, RowVersion};
use crate::schema::Table;
use pager::OpError;
use types::SqlError;

/// What became of a look at a row.
pub(super) enum Unmatched {
    /// It is passed.
    Yes,
    /// Nobody else is changing it, or it matched before.
    No,
    Storage(OpError),
    Conflict(Conflict),
}

/// Whether the row with this clustered value is one to pass.
pub(super) fn unmatched(
    reader: &Reader<'_>,
    check: &ConflictCheck,
    walk: &mut VersionWalk,
    t: &Table,
    value: &[u8],
    filter: &mut (dyn FnMut(RowRef<'_>) -> Result<bool, SqlError> + Send),
) -> Unmatched {
    let Some(written) = RowVersion::read(value).map(|v| v.writer()) else {
        return Unmatched::No;
    };
    if check.other_writer(written).is_none() {
        return Unmatched::No;
    }
    // What was there before is needed by its writer until that ends, which may be at any moment: it is held first, and then the
    // writer is asked for again.
    reader.session.hold_versions();
    let Some(writer) = check.other_writer(written) else {
        return Unmatched::No;
    };
    match walk.before(&reader.session.engine.log, writer, value) {
        Err(e) => Unmatched::Storage(e),
        // Nobody else has seen it yet.
        Ok(None) => Unmatched::Yes,
        // Its long columns are elsewhere: who waits reads them then.
        Ok(Some((v, _))) if v.external() => Unmatched::No,
        Ok(Some((_, row))) if !t.layout.fits(row, false) => Unmatched::Conflict(Conflict::Damaged),
        Ok(Some((_, row))) => match filter(t.layout.row(row)) {
            Ok(true) => Unmatched::No,
            Ok(false) => Unmatched::Yes,
            Err(e) => Unmatched::Conflict(Conflict::Sql(e)),
        },
    }
}
