//! What spilling asks of the executor around it.

use std::future::Future;
use std::sync::Arc;

use engine::TempSpace;
use types::SqlError;

/// Who runs the statement.
pub(crate) trait Host: Send {
    /// Where files come from.
    fn files(&self) -> &Arc<TempSpace>;

    /// Counts a row; says whether it is time for [`rest`](Self::rest).
    fn is_due(&mut self) -> bool;

    /// Pauses.
    ///
    /// # Errors
    /// The statement is to end.
    fn rest(&mut self) -> impl Future<Output = Result<(), SqlError>> + Send;

    /// Whether the statement may go on.
    ///
    /// # Errors
    /// As [`rest`](Self::rest).
    fn look(&self) -> Result<(), SqlError>;
}
