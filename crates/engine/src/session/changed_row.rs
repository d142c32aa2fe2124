//! What a change of a row by its key works with: kept by the session from one change to the next, and shown to whoever wants the row as it was and as
//! it is.
//!
//! What it never does: know keys' places, pages or transactions.

use crate::record::{RowBuilder, RowRef};
use crate::schema::Table;

/// Bytes that are kept for the next change.
const SMALL: usize = 16 << 10;

/// A row as a change has found it and left it.
#[derive(Default)]
pub struct ChangedRow {
    /// The row before the change, where it is wanted.
    pub(super) old: Vec<u8>,
    /// The row after it.
    pub(super) new: Vec<u8>,
    /// The key of the new values.
    pub(super) key: Vec<u8>,
    pub(super) builder: RowBuilder,
}

impl ChangedRow {
    /// The row of this table before the change that was made last.
    pub fn before<'r>(&'r self, t: &'r Table) -> RowRef<'r> {
        t.layout.row(&self.old)
    }

    /// And after it.
    pub fn after<'r>(&'r self, t: &'r Table) -> RowRef<'r> {
        t.layout.row(&self.new)
    }

    /// Whether it is worth keeping for another change.
    pub(super) fn is_small(&self) -> bool {
        let rows = self.old.capacity() + self.new.capacity() + self.key.capacity();
        rows + self.builder.capacity() <= SMALL
    }
}
