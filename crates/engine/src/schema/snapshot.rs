//! The catalog as statements see it: an immutable tree of definitions behind one pointer, replaced whole by each DDL.

use super::def::{SchemaDef, TableDef};
use super::object::{ObjectDef, ObjectKind};
use super::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Tables by schema and name, and by each those whose foreign keys name it.
type Children = BTreeMap<(String, String), BTreeSet<(String, String)>>;

/// A session's own tables, by schema and name.
pub(crate) type OwnNames = BTreeMap<(String, String), Arc<Table>>;

/// A schema, its tables and its other objects.
#[derive(Clone)]
pub struct Schema {
    /// Its definition.
    pub def: SchemaDef,
    /// Tables by name.
    pub tables: BTreeMap<String, Arc<Table>>,
    /// Stored objects by kind and name.
    pub objects: BTreeMap<(ObjectKind, String), Arc<ObjectDef>>,
}

impl Schema {
    /// Its views.
    pub fn views(&self) -> impl Iterator<Item = &Arc<ObjectDef>> {
        self.objects.values().filter(|o| o.kind == ObjectKind::View)
    }
}

/// All schemas, as of one version.
#[derive(Clone, Default)]
pub struct Catalog {
    /// Grows with every change.
    pub version: u64,
    pub(crate) schemas: Arc<BTreeMap<String, Arc<Schema>>>,
    /// Tables whose file is missing, by schema and name.
    pub(crate) tables_without_file: BTreeMap<(String, String), TableDef>,
    /// Follows from the tables' foreign keys.
    pub(crate) children: Arc<Children>,
    /// Tables of the session that looks: they hide those of their names.
    pub(crate) own: Arc<OwnNames>,
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

    /// The table with this name: the session's own temporary one, or the one of all.
    #[inline]
    pub fn table(&self, schema: &str, name: &str) -> Option<Arc<Table>> {
        let own = self.own_table(schema, name).cloned();
        own.or_else(|| self.base_table(schema, name))
    }

    /// The table with this name that all sessions see.
    pub fn base_table(&self, schema: &str, name: &str) -> Option<Arc<Table>> {
        self.schemas.get(schema)?.tables.get(name).cloned()
    }

    /// The session's own table with this name: a temporary one, or one that it is making from a query.
    #[inline]
    pub fn own_table(&self, schema: &str, name: &str) -> Option<&Arc<Table>> {
        match self.own.is_empty() {
            true => None,
            false => self.own.get(&(schema.to_owned(), name.to_owned())),
        }
    }

    /// As a session sees it that has tables of its own.
    pub(crate) fn with_own(&self, own: Arc<OwnNames>, version: u64) -> Catalog {
        Catalog {
            version,
            own,
            ..self.clone()
        }
    }

    /// The stored object of that kind and name.
    pub fn object(&self, kind: ObjectKind, schema: &str, name: &str) -> Option<&Arc<ObjectDef>> {
        let s = self.schemas.get(schema)?;
        // Most schemas have none, and this is asked for each table that a statement names.
        match s.objects.is_empty() {
            true => None,
            false => s.objects.get(&(kind, name.to_owned())),
        }
    }

    /// The view of that name.
    pub fn view(&self, schema: &str, name: &str) -> Option<&Arc<ObjectDef>> {
        self.object(ObjectKind::View, schema, name)
    }

    /// The same, where the session has no table of its own by that name, which would stand before it.
    pub fn view_seen(&self, schema: &str, name: &str) -> Option<&Arc<ObjectDef>> {
        let view = self.view(schema, name)?;
        self.own_table(schema, name).is_none().then_some(view)
    }

    pub(crate) fn put_object(&mut self, def: Arc<ObjectDef>) {
        if let Some(s) = Arc::make_mut(&mut self.schemas).get_mut(&def.schema) {
            let key = (def.kind, def.name.clone());
            Arc::make_mut(s).objects.insert(key, def);
        }
    }

    pub(crate) fn remove_object(&mut self, def: &ObjectDef) {
        if let Some(s) = Arc::make_mut(&mut self.schemas).get_mut(&def.schema) {
            let key = (def.kind, def.name.clone());
            Arc::make_mut(s).objects.remove(&key);
        }
    }

    /// Whether a table of this name is defined, be its file there or not.
    pub fn defines(&self, schema: &str, name: &str) -> bool {
        self.base_table(schema, name).is_some()
            || self
                .tables_without_file
                .contains_key(&(schema.to_string(), name.to_string()))
    }

    /// All tables.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.schemas.values().flat_map(|s| s.tables.values())
    }

    pub(crate) fn put_schema(&mut self, def: SchemaDef) {
        let was = self.schemas.get(&def.name);
        let (tables, objects) = was
            .map(|s| (s.tables.clone(), s.objects.clone()))
            .unwrap_or_default();
        let made = Schema {
            def,
            tables,
            objects,
        };
        Arc::make_mut(&mut self.schemas).insert(made.def.name.clone(), Arc::new(made));
    }

    /// The tables that have a foreign key to the one of this name, which need not be there. It may be one of them.
    pub fn children_of(&self, schema: &str, name: &str) -> Vec<Arc<Table>> {
        if self.children.is_empty() {
            return Vec::new();
        }
        let at = (schema.to_owned(), name.to_owned());
        let all = self.children.get(&at).into_iter().flatten();
        all.filter_map(|(s, n)| self.base_table(s, n)).collect()
    }

    pub(crate) fn put_table(&mut self, t: Arc<Table>) {
        let Some(s) = Arc::make_mut(&mut self.schemas).get_mut(&t.def.schema) else {
            return;
        };
        let was = Arc::make_mut(s)
            .tables
            .insert(t.def.name.clone(), t.clone());
        if let Some(was) = was {
            self.without_child(&was.def);
        }
        if !t.def.foreign_keys.is_empty() {
            let children = Arc::make_mut(&mut self.children);
            for k in &t.def.foreign_keys {
                let parent = (k.parent_schema.clone(), k.parent.clone());
                let child = (t.def.schema.clone(), t.def.name.clone());
                children.entry(parent).or_default().insert(child);
            }
        }
    }

    pub(crate) fn remove_table(&mut self, schema: &str, name: &str) {
        if let Some(s) = Arc::make_mut(&mut self.schemas).get_mut(schema)
            && let Some(was) = Arc::make_mut(s).tables.remove(name)
        {
            self.without_child(&was.def);
        }
    }

    pub(crate) fn remove_schema(&mut self, name: &str) {
        let gone = Arc::make_mut(&mut self.schemas).remove(name);
        for t in gone.iter().flat_map(|s| s.tables.values()) {
            self.without_child(&t.def);
        }
    }

    fn without_child(&mut self, was: &TableDef) {
        if was.foreign_keys.is_empty() {
            return;
        }
        let children = Arc::make_mut(&mut self.children);
        let child = (was.schema.clone(), was.name.clone());
        for k in &was.foreign_keys {
            let parent = (k.parent_schema.clone(), k.parent.clone());
            if let Some(of) = children.get_mut(&parent) {
                of.remove(&child);
                if of.is_empty() {
                    children.remove(&parent);
                }
            }
        }
    }
}
