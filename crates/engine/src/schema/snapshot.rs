//! The catalog as statements see it: an immutable tree of definitions behind one pointer, replaced whole by each DDL.

use super::def::{SchemaDef, TableDef};
use super::table::Table;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A schema and its tables.
#[derive(Clone)]
pub struct Schema {
    /// Its definition.
    pub def: SchemaDef,
    /// Tables by name.
    pub tables: BTreeMap<String, Arc<Table>>,
}

/// All schemas, as of one version.
#[derive(Clone, Default)]
pub struct Catalog {
    /// Grows with every change.
    pub version: u64,
    pub(crate) schemas: BTreeMap<String, Arc<Schema>>,
    /// Tables whose file is missing, by schema and name.
    pub(crate) tables_without_file: BTreeMap<(String, String), TableDef>,
}

impl Catalog {
    /// All schemas by name.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<Schema>> {
        self.schemas.values()
    }

    /// The schema with this name.
    pub fn schema(&self, name: &str) -> Option<&Arc<Schema>> {
        self.schemas.get(name)
    }

    /// The table with this name.
    pub fn table(&self, schema: &str, name: &str) -> Option<Arc<Table>> {
        self.schemas.get(schema)?.tables.get(name).cloned()
    }

    /// Whether a table of this name is defined, be its file there or not.
    pub fn defines(&self, schema: &str, name: &str) -> bool {
        self.table(schema, name).is_some()
            || self
                .tables_without_file
                .contains_key(&(schema.to_string(), name.to_string()))
    }

    /// All tables.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.schemas.values().flat_map(|s| s.tables.values())
    }

    pub(crate) fn put_schema(&mut self, def: SchemaDef) {
        let tables = self
            .schemas
            .get(&def.name)
            .map(|s| s.tables.clone())
            .unwrap_or_default();
        self.schemas
            .insert(def.name.clone(), Arc::new(Schema { def, tables }));
    }

    pub(crate) fn put_table(&mut self, t: Arc<Table>) {
        if let Some(s) = self.schemas.get_mut(&t.def.schema) {
            Arc::make_mut(s).tables.insert(t.def.name.clone(), t);
        }
    }

    pub(crate) fn remove_table(&mut self, schema: &str, name: &str) {
        if let Some(s) = self.schemas.get_mut(schema) {
            Arc::make_mut(s).tables.remove(name);
        }
    }
}
