//! One definition change at a time: the turn, and what definition changes share.

use super::Table;
use base::Event;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What DDL statements share.
#[derive(Default)]
pub(crate) struct DdlState {
    busy: AtomicBool,
    pub(crate) freed: Event,
    table: OnceLock<Arc<Table>>,
    /// Next table id.
    pub(crate) next_table: AtomicU32,
    /// The table that is to take another's place and is being caught up: no definition names it, and purge has work there.
    unborn: Mutex<Option<Arc<Table>>>,
}

impl DdlState {
    /// The table that holds the definitions.
    pub(crate) fn catalog_table(&self) -> Option<Arc<Table>> {
        self.table.get().cloned()
    }

    /// The table without a definition, if it has this id.
    pub(crate) fn unborn(&self, id: u32) -> Option<Arc<Table>> {
        let t = self.unborn.lock().unwrap_or_else(PoisonError::into_inner);
        t.as_ref().filter(|t| t.def.id == id).cloned()
    }

    pub(crate) fn set_unborn(&self, t: Option<Arc<Table>>) {
        *self.unborn.lock().unwrap_or_else(PoisonError::into_inner) = t;
    }

    pub(crate) fn set_catalog_table(&self, t: Arc<Table>) {
        let set = self.table.set(t);
        assert!(set.is_ok(), "the catalog table is opened once");
    }
}

/// Held by the one DDL statement that runs.
pub(crate) struct DdlTurn<'a>(&'a DdlState);

impl DdlState {
    pub(crate) fn try_turn(&self) -> Option<DdlTurn<'_>> {
        if base::mutant!("two-definition-changes-at-once") {
            self.busy.store(true, Ordering::Release);
            return Some(DdlTurn(self));
        }
        // Made only when it was got: one that is dropped gives the turn back, whoever has it.
        (!self.busy.swap(true, Ordering::Acquire)).then(|| DdlTurn(self))
    }
}

impl Drop for DdlTurn<'_> {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
        self.0.freed.fire();
    }
}
