//! Whether a row that was found through an entry of a secondary index is one that the entry stands for. Knows no transaction.

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
        self.buf.clear();
        let parts = self.t.key_parts(self.index);
        for (p, c) in parts.iter().zip(self.t.index_columns(self.index)) {
            p.encode(row.column(c), &mut self.buf);
        }
        self.entry.starts_with(&self.buf)
    }
}
