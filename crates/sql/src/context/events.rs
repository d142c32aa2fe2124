//! Events of a binary log in a session: the trait that BINLOG statements ask, and what a session keeps of them. A server joins an implementation to its
//! `Instance`.
//!
//! Never here: what an event is.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use types::SqlError;

use super::Session;
use super::instance::Instance;

pub use super::replayed::Replayed;

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

impl Instance {
    /// Says what carries BINLOG statements out; without it they are refused. The first call counts.
    pub fn on_row_events(&self, events: Arc<dyn RowEvents>) {
        let _second = self.row_events.set(Box::new(events));
    }

    /// What carries them out.
    pub(crate) fn row_events(&self) -> Option<Arc<dyn RowEvents>> {
        let events = self.row_events.get()?;
        events.downcast_ref::<Arc<dyn RowEvents>>().cloned()
    }
}
