//! The tables that a session alone knows: temporary ones, and the one that it is making from a query. They go with it.
//!
//! Must never do: outlive their session.

use super::Session;
use crate::engine::Engine;
use crate::schema::{OwnNames, Table, TableDef};
use crate::temp::{TempShare, TempSpace};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A session's own tables. When this is dropped their files go.
pub(crate) struct OwnTables {
    engine: Arc<Engine>,
    pub(super) names: Arc<OwnNames>,
}

impl OwnTables {
    pub(crate) fn none(engine: Arc<Engine>) -> OwnTables {
        OwnTables {
            engine,
            names: Arc::default(),
        }
    }
}

impl Drop for OwnTables {
    fn drop(&mut self) {
        for t in self.names.values() {
            self.engine.drop_unnamed(t);
        }
    }
}

/// What a temporary table takes of the server's memory, beside its pages: the table itself and its file; a column; an index. Rather too
/// much than too little.
const TABLE_BYTES: usize = 8 << 10;
const COLUMN_BYTES: usize = 512;
const INDEX_BYTES: usize = 2 << 10;

/// About what a table takes of the server's memory, beside its pages.
fn memory_of(def: &TableDef) -> usize {
    TABLE_BYTES + def.columns.len() * COLUMN_BYTES + def.indexes.len() * INDEX_BYTES
}

impl Session {
    /// Where its temporary files and tables come from.
    pub fn temp_space(&self) -> &Arc<TempSpace> {
        &self.temp
    }

    /// Whose its temporary files and tables are from now on; those that it has stay where they are counted. `None`: the server's own.
    pub fn set_temp_share(&mut self, share: Option<Arc<TempShare>>) {
        if !self.temp.is_of(share.as_ref()) {
            self.temp = TempSpace::of(&self.engine.temp, share);
        }
    }

    /// About what its own tables take of the server's memory, beside their pages; with one more where `new` is given.
    pub fn own_tables_memory(&self, new: Option<&TableDef>) -> usize {
        let own = self.own.names.values().map(|t| &t.def);
        own.chain(new).map(memory_of).sum()
    }
}

impl Engine {
    /// Removes a table that no definition names, with its file. Nobody but purge and samples uses it.
    pub(crate) fn drop_unnamed(&self, t: &Table) {
        t.retired.store(true, Ordering::SeqCst);
        self.unnamed.remove(t);
        self.sampling.remove(t.def.id);
        if base::mutant!("temporary-file-left") {
            return;
        }
        match t.def.is_temporary() {
            true => self.drop_file(t.space_id()),
            false => self.abandon_file(t.space_id()),
        }
    }

    /// The temporary tables of all sessions.
    pub fn temporary_tables(&self) -> Vec<Arc<Table>> {
        let mut all = self.unnamed.all();
        all.retain(|t| t.def.is_temporary());
        all
    }
}
