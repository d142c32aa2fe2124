//! Places in a transaction, to go back to.

use base::Lsn;

/// Where a transaction stood: its last record, and how many bytes of events it had.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub(super) record: Lsn,
    pub(super) events: u64,
}

impl Mark {
    /// Where it had done nothing.
    pub(crate) const START: Mark = Mark {
        record: Lsn::NONE,
        events: 0,
    };
}
