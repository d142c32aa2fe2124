//! The search for the order in which the tables of a block are read. It never changes what a block says, only what comes first.

pub(super) mod first_rows;
pub(super) mod join_order;
pub(super) mod joins;
