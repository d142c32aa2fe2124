//! The tables that a session alone knows: temporary ones, and the one that it is making from a query. They go with it.
//!
//! Must never do: outlive their session.

use crate::engine::Engine;
use crate::schema::{OwnNames, Table};
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
