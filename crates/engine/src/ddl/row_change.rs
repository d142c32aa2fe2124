//! What definition changes are made of: tables that are closed, and rows of the catalog.

use super::catalog::is_definition;
use crate::schema::Table;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Keeps new users off a table while its definition changes.
pub(super) struct Closed(pub(super) Arc<Table>);

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.live.closing.store(false, Ordering::SeqCst);
        self.0.live.changed.fire();
    }
}

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
