//! Which columns of a table a statement reads, noted as names are resolved.

use std::cell::RefCell;
use std::sync::Arc;

use sql_access::account::TableId;
use sql_access::needs::{ColumnNames, Through};

/// The columns of a table that a statement reads.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The table.
    pub table: Arc<TableId>,
    /// The account has privileges on single columns only.
    pub partial: bool,
    /// The view through which it is read.
    pub through: Option<Arc<Through>>,
    /// Which columns, of those that the statement names.
    pub columns: RefCell<SeenColumns>,
    /// Likewise of those that it does not, such as what `*` stands for.
    pub listed: RefCell<SeenColumns>,
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
        self.columns.borrow_mut().note(i, name);
    }

    /// The same of one that the statement does not name.
    pub fn note_listed(&self, i: usize, name: &str) {
        self.listed.borrow_mut().note(i, name);
    }
}

impl SeenColumns {
    fn note(&mut self, i: usize, name: &str) {
        if self.noted.len() <= i {
            self.noted.resize(i + 1, false);
        }
        if !self.noted[i] {
            self.noted[i] = true;
            self.names.add(name);
        }
    }
}
