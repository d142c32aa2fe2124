//! What a session sees of the catalog: its own tables before others.
//!
//! Must never do: show them to anybody else.

use super::Session;
use super::own_tables::OwnTables;
use crate::schema::{Catalog, Table, TableDef};
use crate::temp::{TempShare, TempSpace};
use std::sync::Arc;

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
                let version = self.engine.unnamed.new_version();
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
