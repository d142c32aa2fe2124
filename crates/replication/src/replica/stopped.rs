//! Why an applier does not go on.

use types::SqlError;
use types::error::codes;

/// Why an applier does not go on.
#[derive(Debug)]
pub(super) enum Stopped {
    /// It is to end.
    Asked,
    /// UNTIL is reached.
    Until,
    /// It has failed.
    Failed(SqlError),
    /// It has failed, as what it was about was applied over another channel meanwhile.
    Known,
    /// It has failed, and it is of no use to try again.
    GivenUp(SqlError),
}

impl From<SqlError> for Stopped {
    fn from(e: SqlError) -> Stopped {
        Stopped::Failed(e)
    }
}

impl From<wire::ProtocolError> for Stopped {
    fn from(_: wire::ProtocolError) -> Stopped {
        Stopped::Failed(SqlError::new(
            codes::ER_REPLICA_FATAL_ERROR,
            "Fatal error: an event of the source makes no sense",
        ))
    }
}
