//! Where a join stands in one of its tables.

use engine::RowBatch;
use types::ValueRef;

use super::kept::Kept;

/// Where a table's current row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum At {
    /// Nowhere: all NULL.
    #[default]
    Null,
    /// In the batch.
    Batch(usize),
    /// Among the kept rows.
    Kept(usize),
}

/// A table's rows during a join.
#[derive(Default)]
pub(crate) struct Level {
    pub(super) at: At,
    pub(super) batch: RowBatch,
    /// Batches fetched so far.
    pub(super) batches: u64,
    pub(super) kept: Option<Kept>,
}

impl Level {
    /// A column of the current row.
    #[inline]
    pub fn column(&self, ordinal: u16) -> ValueRef<'_> {
        match self.at {
            At::Batch(i) => self.batch.row(i).column(usize::from(ordinal)),
            At::Kept(i) => match &self.kept {
                Some(k) => k.column(i, ordinal),
                None => ValueRef::Null,
            },
            At::Null => ValueRef::Null,
        }
    }

    /// Appends what tells the current row from others of the table.
    pub(super) fn identify(&self, out: &mut Vec<u8>) {
        match self.at {
            At::Null => out.push(0),
            At::Batch(i) => {
                let key = self.batch.key(i);
                out.push(1);
                out.extend_from_slice(&(key.len() as u32).to_le_bytes());
                out.extend_from_slice(key);
            }
            At::Kept(i) => {
                out.push(2);
                out.extend_from_slice(&(i as u32).to_le_bytes());
            }
        }
    }

    /// The clustered key of the current row; `None` for a NULL-extended one and for rows that are not stored.
    pub fn key(&self) -> Option<&[u8]> {
        match self.at {
            At::Batch(i) => Some(self.batch.key(i)),
            At::Kept(i) => self.kept.as_ref().and_then(|k| k.key(i)),
            At::Null => None,
        }
    }
}
