//! The tables that a session alone knows: temporary ones, and the one that it is making from a query. They hide the tables of their names in what
//! the session sees of the catalog, and go with it.

use super::Session;
use crate::engine::Engine;
use crate::schema::{Catalog, OwnNames, Table};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A session's own tables. When this is dropped their files go.
pub(crate) struct OwnTables {
    engine: Arc<Engine>,
    names: Arc<OwnNames>,
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

impl Session {
    /// The definitions as of now, with the session's own tables before others; one load when nothing has changed since the last call.
    #[inline]
    pub fn catalog(&mut self) -> &Arc<Catalog> {
        if self.catalog_of != self.engine.catalog_version() {
            self.look_at_catalog();
        }
        &self.catalog
    }

    /// The version of what [`catalog`](Self::catalog) gives.
    #[inline]
    pub fn catalog_version(&self) -> u64 {
        let now = self.engine.catalog_version();
        if self.own.names.is_empty() {
            return now;
        }
        match self.catalog_of == now {
            true => self.catalog.version,
            // What is made of the present one gets a number that nothing has.
            false => u64::MAX,
        }
    }

    #[cold]
    fn look_at_catalog(&mut self) {
        let now = self.engine.catalog();
        self.catalog_of = now.version;
        self.catalog = match self.own.names.is_empty() {
            true => now,
            false => {
                let version = self.engine.own_versions.fetch_add(1, Ordering::Relaxed);
                Arc::new(now.with_own(self.own.names.clone(), version))
            }
        };
    }

    /// The session's own table of this name.
    #[inline]
    pub fn own_table(&self, schema: &str, name: &str) -> Option<&Arc<Table>> {
        match self.own.names.is_empty() {
            true => None,
            false => self.own.names.get(&(schema.to_owned(), name.to_owned())),
        }
    }

    /// How many tables of its own it has.
    pub fn own_tables(&self) -> usize {
        self.own.names.len()
    }

    /// Enters a table under its name or another, or takes one out.
    pub(crate) fn set_own(&mut self, schema: &str, name: &str, t: Option<Arc<Table>>) {
        let names = Arc::make_mut(&mut self.own.names);
        let at = (schema.to_owned(), name.to_owned());
        match t {
            Some(t) => names.insert(at, t),
            None => names.remove(&at),
        };
        self.look_at_catalog();
    }

    /// Drops the temporary table of this name; false where there is none.
    pub fn drop_temporary_table(&mut self, schema: &str, name: &str) -> bool {
        let Some(t) = self.own_table(schema, name).cloned() else {
            return false;
        };
        self.set_own(schema, name, None);
        self.engine.drop_unnamed(&t);
        true
    }

    /// Drops all of the session's own tables. Its transaction has ended.
    pub fn drop_own_tables(&mut self) {
        if self.own.names.is_empty() {
            return;
        }
        let none = OwnTables::none(self.engine.clone());
        drop(std::mem::replace(&mut self.own, none));
        self.look_at_catalog();
    }
}
