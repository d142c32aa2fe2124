//! The views that a transaction has read by: their definitions stay as they are until it ends, as those of its tables do.

use super::Session;
use crate::schema::{ObjectDef, ViewUse};
use crate::table_lock::TableLockKind;
use std::sync::Arc;
use types::SqlError;

impl Session {
    /// Holds a view for the rest of the transaction; false where it was replaced or dropped.
    ///
    /// # Errors
    /// 1205, 1317, 3024 while its definition changes.
    pub async fn use_view(&mut self, view: &Arc<ObjectDef>) -> Result<bool, SqlError> {
        if self.views.iter().any(|u| Arc::ptr_eq(&u.view, view)) {
            return Ok(true);
        }
        let u = ViewUse::announce(view);
        match view.lock().admits(false) {
            true => Ok(self.note_view(u)),
            // In a box, as it is rare.
            false => Box::pin(self.use_locked_view(view, u)).await,
        }
    }

    /// The same of a view whose definition somebody changes, or is about to.
    #[cold]
    async fn use_locked_view(
        &mut self,
        view: &Arc<ObjectDef>,
        mut u: ViewUse,
    ) -> Result<bool, SqlError> {
        let until = self.now_us().saturating_add(self.table_timeout_us);
        let (interrupt, lock) = (self.interrupt.clone(), view.lock());
        let _shown = interrupt.tables.wait(lock, TableLockKind::Reads);
        while !lock.admits(false) {
            drop(u);
            let admitted = || lock.admits(false);
            if !self.wait_until(&lock.changed, until, admitted).await? {
                return Err(self.engine.timed_out());
            }
            u = ViewUse::announce(view);
        }
        Ok(self.note_view(u))
    }

    fn note_view(&mut self, u: ViewUse) -> bool {
        if u.view.is_retired() {
            return false;
        }
        self.interrupt.tables.add(u.view.lock(), false);
        self.views.push(u);
        true
    }
}
