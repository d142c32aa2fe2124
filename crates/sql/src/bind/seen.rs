//! Which columns of a table a statement reads, noted as names are resolved.

use std::cell::RefCell;
use std::sync::Arc;

use crate::access::account::TableId;
use crate::access::needs::{ColumnNames, Through};

/// The columns of a table that a statement reads.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The table.
    pub table: Arc<TableId>,
    /// The account has privileges on single columns only.
    pub partial: bool,
    /// The view through which it is read.
    pub through: Option<Arc<Through>>,
    /// Which columns.
    pub columns: RefCell<SeenColumns>,
}

/// Which columns are read.
#[derive(Debug, Default)]
pub(crate) struct SeenColumns {
    /// By place, which of them.
    noted: Vec<bool>,
    /// Their names.
    pub names: ColumnNames,
}

impl Seen {
    /// Column `i` of that name is read.
    pub fn note(&self, i: usize, name: &str) {
        let mut columns = self.columns.borrow_mut();
        if columns.noted.len() <= i {
            columns.noted.resize(i + 1, false);
        }
        if !columns.noted[i] {
            columns.noted[i] = true;
            columns.names.add(name);
        }
    }
}
