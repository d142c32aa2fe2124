//! Groups of rows.

use super::Jump;
use crate::bind::tree::GroupPlan;

/// GROUP BY and aggregates: rows go in, groups come out.
pub struct Group {
    /// What is grouped by and computed.
    pub plan: GroupPlan,
    /// How the groups are found.
    pub how: Grouping,
    /// Correlated subqueries that the operators behind it use, for each group.
    pub subqueries: Vec<u32>,
}

/// How the groups of rows are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// By a hash of what is grouped by.
    Hashed,
    /// The rows of each group come one behind the other: no key is looked for.
    InOrder,
    /// By a hash, for batches of the columns that are read. The join scans its only table straight into them.
    Batches,
    /// Each group is one entry or two of the index that the join reads.
    Jump(Jump),
    /// The rows are sorted; groups of all leading parts of the keys come, too.
    Rollup,
}

impl Group {
    /// The rows of each group come one behind the other.
    #[inline]
    pub fn in_order(&self) -> bool {
        self.how == Grouping::InOrder
    }
}
