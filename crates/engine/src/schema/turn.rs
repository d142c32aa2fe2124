//! One definition change at a time: the turn, and what definition changes share.

use super::Table;
use base::Event;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// What DDL statements share.
#[derive(Default)]
pub(crate) struct DdlState {
    busy: AtomicBool,
    pub(crate) freed: Event,
    table: OnceLock<Arc<Table>>,
    /// Next table id.
    pub(crate) next_table: AtomicU32,
}

impl DdlState {
    /// The table that holds the definitions.
    pub(crate) fn catalog_table(&self) -> Option<Arc<Table>> {
        self.table.get().cloned()
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
