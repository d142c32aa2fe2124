//! ORDER BY and LIMIT.

use crate::bind::tree::{LimitPlan, SortKey};

/// ORDER BY.
pub struct Sort {
    /// What rows are sorted by.
    pub keys: Vec<SortKey>,
    /// They come in this order: there is nothing to do.
    pub given: bool,
    /// The column of the select list by whose text alone they are sorted.
    pub column: Option<usize>,
}

/// LIMIT.
pub struct Limit {
    /// How many; all, where there is none.
    pub plan: Option<LimitPlan>,
    /// Those that it leaves out are counted as well (SQL_CALC_FOUND_ROWS).
    pub counts_all: bool,
}
