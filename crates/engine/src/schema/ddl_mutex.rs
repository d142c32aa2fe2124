//! The DDL mutex: one definition change at a time; and what else definition changes share.

use super::Table;
use crate::table_lock::TableLockMode;
use base::lock::Mutex;
use base::{Event, Lsn};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What DDL statements share.
#[derive(Default)]
pub(crate) struct DdlState {
    busy: AtomicBool,
    /// The commit record of a change of definitions that sessions do not see yet; 0: none.
    unseen: AtomicU64,
    pub(crate) seen: Event,
    /// Fired when the mutex is free, and when its holder begins to wait for tables.
    pub(crate) freed: Event,
    /// The tables that its holder waits for in the midst of a change, by their locks' numbers, and how it wants them.
    awaits: Mutex<Arc<[(u64, TableLockMode)]>>,
    table: OnceLock<Arc<Table>>,
    /// Next table id.
    pub(crate) next_table: AtomicU32,
    /// The table that is to take another's place and is being filled: no definition names it, and purge has work there.
    pending_table: Mutex<Option<Arc<Table>>>,
}

impl DdlState {
    /// A change of definitions is committed, and nobody has its commit record yet.
    pub(crate) fn set_unseen(&self, commit: Lsn) {
        self.unseen.store(commit.0, Ordering::Release);
    }

    /// Sessions see what was committed.
    pub(crate) fn set_seen(&self) {
        if self.unseen.swap(0, Ordering::AcqRel) != 0
            && !base::mutant!("definitions-seen-without-a-word")
        {
            self.seen.fire();
        }
    }

    /// Whether a change that was committed by then is not seen yet.
    pub(crate) fn is_unseen(&self, commit: Lsn) -> bool {
        let unseen = self.unseen.load(Ordering::Acquire);
        unseen != 0 && unseen <= commit.0
    }

    /// Whoever has the mutex waits for tables in the midst of a change, until the result is dropped. Who uses one of them and waits for the mutex is
    /// told.
    pub(crate) fn awaits(&self, tables: Arc<[(u64, TableLockMode)]>) -> Awaiting<'_> {
        *self.awaits.lock() = tables;
        self.freed.fire();
        Awaiting(self)
    }

    /// Whether it waits for one of these tables.
    pub(crate) fn is_awaited(&self, used: impl Fn(u64, TableLockMode) -> bool) -> bool {
        let awaited = self.awaits.lock().iter().any(|(n, mode)| used(*n, *mode));
        awaited && !base::mutant!("user-in-the-way-of-a-change-not-told")
    }

    /// The table that holds the definitions.
    pub(crate) fn catalog_table(&self) -> Option<Arc<Table>> {
        self.table.get().cloned()
    }

    /// The table without a definition, if it has this id.
    pub(crate) fn pending_table(&self, id: u32) -> Option<Arc<Table>> {
        let t = self.pending_table.lock();
        t.as_ref().filter(|t| t.def.id == id).cloned()
    }

    pub(crate) fn set_pending_table(&self, t: Option<Arc<Table>>) {
        *self.pending_table.lock() = t;
    }

    pub(crate) fn set_catalog_table(&self, t: Arc<Table>) {
        let set = self.table.set(t);
        assert!(set.is_ok(), "the catalog table is opened once");
    }
}

/// The DDL mutex, held by the one DDL statement that runs.
pub(crate) struct DdlGuard<'a>(&'a DdlState);

/// Whoever has the DDL mutex waits for tables, until this is dropped.
pub(crate) struct Awaiting<'a>(&'a DdlState);

impl Drop for Awaiting<'_> {
    fn drop(&mut self) {
        *self.0.awaits.lock() = Arc::default();
    }
}

impl DdlState {
    pub(crate) fn try_lock(&self) -> Option<DdlGuard<'_>> {
        if base::mutant!("two-definition-changes-at-once") {
            self.busy.store(true, Ordering::Release);
            return Some(DdlGuard(self));
        }
        // Made only when it was got: one that is dropped frees the mutex, whoever holds it.
        (!self.busy.swap(true, Ordering::Acquire)).then(|| DdlGuard(self))
    }
}

impl Drop for DdlGuard<'_> {
    fn drop(&mut self) {
        self.0.set_seen();
        self.0.busy.store(false, Ordering::Release);
        if !base::mutant!("ddl-mutex-freed-without-a-word") {
            self.0.freed.fire();
        }
    }
}
