//! What definition changes are made of: rows of the catalog.

use super::catalog::is_definition;

/// A table by schema and name.
pub type TableName = (String, String);

/// One change of the catalog's rows.
pub(super) enum RowChange {
    Put(Vec<types::Value>),
    Remove(Vec<types::Value>),
}

impl RowChange {
    /// Whether it is a definition's row.
    pub(super) fn defines(&self) -> bool {
        let (RowChange::Put(row) | RowChange::Remove(row)) = self;
        is_definition(row)
    }
}
