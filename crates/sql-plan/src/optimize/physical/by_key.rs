//! The choice to make a derived table for one key at a time.

use crate::plan::QueryPlan;

/// How a derived table is made for one key at a time.
pub(crate) struct ByKey {
    /// The columns that its query reads of the tables before, by slot and place.
    pub columns: Vec<(u16, u16)>,
    /// The query.
    pub query: Option<QueryPlan>,
}
