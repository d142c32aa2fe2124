//! Rows that a statement has looked at for change, and leaves as they are: they stay locked, as InnoDB keeps them. Else somebody could change what the
//! transaction goes by between its look and its end: two who each touch a row (`SET v = v`) before they go on would not exclude each other.
//!
//! Those that are changed by their key are locked under the same latch ([`ConflictCheck::keep_row`](super::conflict::ConflictCheck::keep_row)). Here is
//! the same for a row that was read before, in a version that may not be its newest any more.
//!
//! Must never do: change a row.

use super::update::Changed;
use super::{Isolation, LockWait, Pins, RowRequest, Session};
use crate::error;
use crate::lock::{Hold, Mode};
use crate::record::{RowRef, RowVersion};
use crate::schema::Table;
use std::sync::Arc;
use types::SqlError;

impl Session {
    /// Rows that do not match stay locked too.
    pub(super) fn keeps_passed(&self) -> bool {
        self.isolation >= Isolation::RepeatableRead
    }

    /// A row that [`ReadMode::Current`](super::ReadMode::Current) has read in version `seen` is one of those that are meant, and stays as it is: it is
    /// locked, if reading has not done so. False where it has another version by now: it is to be judged anew.
    ///
    /// # Errors
    /// As [`Session::update`].
    pub async fn lock_seen(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        seen: RowVersion,
    ) -> Result<bool, SqlError> {
        match self.guards_ranges() {
            true => Ok(true),
            false => self.touch(t, key, seen).await,
        }
    }

    /// Locks a row that was read in version `seen`, as for a change to the same values; false where it has another version by now.
    async fn touch(
        &mut self,
        t: &Arc<Table>,
        key: &[u8],
        seen: RowVersion,
    ) -> Result<bool, SqlError> {
        let mut stays = |_: RowRef<'_>| Ok(RowRequest::Keep);
        let touched = self.change_row(t, key, Some(seen), &mut stays).await?;
        Ok(matches!(touched, Changed::Unchanged))
    }

    /// Locks the row with this clustered key as for change, if `seen` is its newest version.
    pub(super) async fn lock_version(
        &mut self,
        t: &Table,
        key: &[u8],
        seen: RowVersion,
    ) -> Result<bool, SqlError> {
        let id = t.def.indexes[0].id;
        let check = self.conflict_check(id, LockWait::Wait);
        let mut pins = Pins::new();
        loop {
            let r = t.indexes[0].tree.get(key, |value| {
                let v = value.and_then(RowVersion::read);
                let Some(v) = v else { return Ok(false) };
                let writer = check.other_writer(v.writer());
                if writer.is_none() && v != seen {
                    return Ok(false);
                }
                match writer {
                    None => check.keep_row(key, v)?,
                    Some(_) => check.lock(key, writer, Mode::Exclusive, Hold::Table)?,
                }
                check.check_snapshot(v)?;
                Ok(true)
            });
            match r {
                Ok(Ok(same)) => return Ok(same),
                Ok(Err(b)) => self.resolve_conflict(b, &mut pins, &t.full_name).await?,
                Err(pager::OpError::Wait(w)) => self.resolve(w, &mut pins, &t.full_name).await?,
                Err(e) => return Err(error::storage(e, &t.full_name)),
            }
        }
    }
}
