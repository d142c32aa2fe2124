//! What statements may ask of what makes the server a replica.

use std::sync::Arc;

use base::Event;
use types::SqlError;

/// What applies the transactions of another server here, as far as statements wait for it.
pub trait Applies: Send + Sync {
    /// Whether it has come to this place of the other server's binary log; `None`: it does not run.
    fn has_applied(&self, file: &str, position: u64) -> Option<bool>;

    /// Fires when what is applied is more than before, and when it has ended.
    fn applied(&self) -> &Event;
}

/// Knows what applies transactions, where anything does.
pub trait HasApplier: Sync {
    /// What applies those that come over this channel, or over the one that there is; `None`: there is no such channel.
    ///
    /// # Errors
    /// 3079: there are several, and none is named.
    fn applier(&self, channel: Option<&str>) -> Result<Option<Arc<dyn Applies>>, SqlError>;
}
