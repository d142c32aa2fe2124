//! Whether a row that was found through an entry of a secondary index is one that the entry stands for. Knows no transaction.

use super::entries::is_entry_of;
use crate::record::RowRef;
use crate::schema::Table;

/// Whether a row still has the values that a secondary entry stands for.
pub(super) struct SameEntry<'a> {
    pub t: &'a Table,
    pub index: usize,
    pub entry: &'a [u8],
    /// The entry itself says so.
    pub sure: bool,
    pub buf: Vec<u8>,
}

impl SameEntry<'_> {
    pub fn holds(&mut self, row: RowRef<'_>) -> bool {
        if self.sure {
            return true;
        }
        is_entry_of(self.t, self.index, self.entry, row, &mut self.buf)
    }
}
