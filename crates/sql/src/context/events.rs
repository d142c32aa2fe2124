//! Events of a binary log in a session: the trait that BINLOG statements ask, and what a session keeps of them. A server joins an implementation to its
//! `Instance`.
//!
//! Never here: what an event is.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;

use types::SqlError;

use super::Session;

/// What is left of BINLOG statements until the next: the format, tables that were announced. Whoever carries them out knows what it is.
pub type Replayed = Option<Box<dyn Any + Send + Sync>>;

/// What is waited for.
pub type Applied<'a> = Pin<Box<dyn Future<Output = Result<(), SqlError>> + Send + 'a>>;

/// Carries out events of a binary log.
pub trait RowEvents: Send + Sync {
    /// Does what events say that stand one behind the other, in the session's transaction and with its powers.
    ///
    /// # Errors
    /// 1149: they are cut off; 1609, 1730: they are of other kinds; 1610: they make no sense; whatever changing rows fails with.
    fn apply<'a>(
        &'a self,
        session: &'a mut Session,
        kept: &'a mut Replayed,
        events: &'a [u8],
    ) -> Applied<'a>;
}
