//! The rows of correlated subqueries that a statement has kept, by the blocks that read them. What is kept and when is for `spool` to say.

use std::collections::HashMap;

use super::kept::Kept;
use sql_plan::plan::NodeId;

/// What became of a subquery so far.
pub(super) enum Spool {
    /// Executed so many times.
    Seen(u32),
    /// Its rows.
    Kept(Box<Kept>),
    /// Its rows are in use, were lost to an error, or are too many.
    None,
}

/// The subqueries of a statement, by their blocks.
#[derive(Default)]
pub(crate) struct Spools {
    pub(super) of: HashMap<NodeId, Spool>,
}
