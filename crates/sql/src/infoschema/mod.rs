//! The schemas that are not stored, `information_schema` and `performance_schema`, those tables of `mysql` that are always
//! empty here, and a view of `sys`. Virtual tables are specifications (a name,
//! typed columns, a function that makes the rows) which queries read as [`VirtualTable`]s.
//!
//! Rows are made from the catalog, the variables and the instance; stored rows are never read.

mod accounts;
mod columns;
mod compression;
mod constraints;
mod empty;
mod foreign_keys;
mod fragmentation;
mod keys;
mod keywords;
mod locks;
mod metadata_locks;
mod replica;
mod routines;
mod server;
mod spec;
mod tables;
mod threads;
mod time_zones;
pub(crate) mod views;

pub(crate) use spec::moment;

use std::sync::{Arc, LazyLock};

use engine::{ColumnDef, ColumnDefault, IndexDef, IndexKind, TableDef, TableOptions};
use types::{CollationId, SqlError, Value};

use crate::context::Instance;
pub use crate::context::names::{SCHEMAS, canonical_schema};
use sql_plan::plan::{NameSpace, TableGuard, VirtualColumn, VirtualCtx, VirtualTable};

use spec::{Spec, View};
pub use tables::TableFacts;

struct Entry {
    schema: &'static str,
    spec: &'static Spec,
    columns: Vec<VirtualColumn>,
}

/// All virtual tables, ordered by schema and name.
static TABLES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let mut all: Vec<Entry> = [
        (SCHEMAS[0], tables::SPECS),
        (SCHEMAS[0], columns::SPECS),
        (SCHEMAS[0], keys::SPECS),
        (SCHEMAS[0], constraints::SPECS),
        (SCHEMAS[0], foreign_keys::SPECS),
        (SCHEMAS[0], fragmentation::SPECS),
        (SCHEMAS[0], keywords::SPECS),
        (SCHEMAS[0], accounts::SPECS),
        (SCHEMAS[0], server::SPECS),
        (SCHEMAS[0], views::SPECS),
        (SCHEMAS[0], routines::SPECS),
        (SCHEMAS[0], empty::SPECS),
        (SCHEMAS[0], locks::SPECS),
        (SCHEMAS[1], server::PERFORMANCE_SPECS),
        (SCHEMAS[1], empty::PERFORMANCE_SPECS),
        (SCHEMAS[1], locks::PERFORMANCE_SPECS),
        (SCHEMAS[1], metadata_locks::PERFORMANCE_SPECS),
        (SCHEMAS[1], replica::SPECS),
        (SCHEMAS[1], compression::SPECS),
        (SCHEMAS[1], threads::SPECS),
        ("sys", locks::SYS_SPECS),
        ("mysql", empty::MYSQL_SPECS),
        ("mysql", keys::MYSQL_SPECS),
        ("mysql", replica::MYSQL_SPECS),
        ("mysql", time_zones::MYSQL_SPECS),
    ]
    .into_iter()
    .flat_map(|(schema, specs)| {
        specs.iter().map(move |spec| Entry {
            schema,
            spec,
            columns: spec::columns(spec.columns),
        })
    })
    .collect();
    all.sort_by_key(|e| (e.schema, e.spec.name));
    all
});

fn find(schema: &str, name: &str) -> Option<&'static Entry> {
    // Nearly every name looked up is of a stored schema.
    if canonical_schema(schema).is_none() && schema != "mysql" && schema != "sys" {
        return None;
    }
    TABLES
        .iter()
        .find(|e| e.schema.eq_ignore_ascii_case(schema) && e.spec.name.eq_ignore_ascii_case(name))
}

/// Names of a virtual schema's tables, in order.
pub fn table_names(schema: &str) -> Vec<&'static str> {
    TABLES
        .iter()
        .filter(|e| e.schema.eq_ignore_ascii_case(schema))
        .map(|e| e.spec.name)
        .collect()
}

/// Is there a virtual table of this name?
pub fn has(schema: &str, name: &str) -> bool {
    find(schema, name).is_some()
}

/// A virtual table's definition, in the form stored tables have theirs.
pub fn definition(schema: &str, name: &str) -> Option<TableDef> {
    find(schema, name).map(as_definition)
}

fn as_definition(e: &Entry) -> TableDef {
    TableDef {
        id: 0,
        schema: e.schema.to_owned(),
        name: e.spec.name.to_owned(),
        columns: e
            .columns
            .iter()
            .map(|c| ColumnDef {
                name: c.name.clone(),
                ty: c.ty.clone(),
                nullable: c.nullable,
                default: if c.nullable {
                    ColumnDefault::Null
                } else {
                    ColumnDefault::None
                },
                fill: None,
                on_update_now: false,
                auto_increment: false,
                comment: String::new(),
                generated: None,
                invisible: false,
            })
            .collect(),
        indexes: vec![IndexDef {
            id: 0,
            name: String::new(),
            kind: IndexKind::Hidden,
            parts: Vec::new(),
            comment: String::new(),
            root: Default::default(),
            invisible: false,
            asked: Default::default(),
        }],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        options: TableOptions {
            collation: CollationId::UTF8MB3_GENERAL_CI,
            comment: String::new(),
            row_format: String::new(),
            auto_increment: 0,
            others: Vec::new(),
            created_us: 0,
            discarded: false,
        },
    }
}

/// Definitions of all virtual tables.
fn definitions() -> Vec<TableDef> {
    TABLES.iter().map(as_definition).collect()
}

/// The virtual tables as a session's statements find them.
pub struct Names<'i> {
    /// Borrowed: its count of owners is shared by all sessions, and planning must not touch it.
    instance: &'i Arc<Instance>,
    connection: u64,
}

impl<'i> Names<'i> {
    /// For the statements of a connection.
    pub fn new(instance: &'i Arc<Instance>, connection: u64) -> Names<'i> {
        Names {
            instance,
            connection,
        }
    }
}

impl NameSpace for Names<'_> {
    fn virtual_table(&self, schema: &str, name: &str) -> Option<Arc<dyn VirtualTable>> {
        let entry = find(schema, name)?;
        if entry.spec.name.starts_with("innodb_") && entry.schema == "mysql" {
            // A dump of another server may have brought a table of that name: its rows go there.
            let catalog = self.instance.engine().catalog();
            if catalog.table("mysql", entry.spec.name).is_some() {
                return None;
            }
        }
        Some(Arc::new(InfoTable {
            entry,
            instance: Arc::clone(self.instance),
            connection: self.connection,
        }))
    }

    fn is_virtual_schema(&self, schema: &str) -> bool {
        canonical_schema(schema).is_some()
    }
}

struct InfoTable {
    entry: &'static Entry,
    instance: Arc<Instance>,
    connection: u64,
}

impl VirtualTable for InfoTable {
    fn name(&self) -> &str {
        self.entry.spec.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.entry.columns
    }

    fn guard(&self) -> TableGuard {
        let name = self.entry.spec.name;
        match self.entry.schema {
            // The rows are those that the session may see; InnoDB's own tables know of no session.
            "information_schema" if name.starts_with("INNODB_") || name == "FILES" => {
                TableGuard::Process
            }
            "information_schema" => TableGuard::Open,
            "performance_schema" if server::PERFORMANCE_SPECS.iter().any(|s| s.name == name) => {
                TableGuard::Open
            }
            // MySQL's views there read INNODB_TRX as who asks for them.
            "sys" => TableGuard::GrantedAndProcess,
            _ => TableGuard::Granted,
        }
    }

    fn rows(&self, ctx: &VirtualCtx<'_>) -> Result<Vec<Vec<Value>>, SqlError> {
        let names = Names::new(&self.instance, self.connection);
        let from = (&*self.instance, &names as &dyn NameSpace);
        let view = View::new(from, ctx, self.connection, definitions);
        let rows = (self.entry.spec.rows)(&view);
        debug_assert!(rows.iter().all(|r| r.len() == self.entry.columns.len()));
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case() {
        assert!(find("INFORMATION_SCHEMA", "tables").is_some());
        assert!(find("information_schema", "Columns").is_some());
        assert!(find("information_schema", "nothing").is_none());
        assert_eq!(
            canonical_schema("Information_Schema"),
            Some("information_schema")
        );
        assert_eq!(canonical_schema("app"), None);
    }

    #[test]
    fn every_specification_can_be_read() {
        for e in TABLES.iter() {
            assert!(!e.columns.is_empty(), "{}", e.spec.name);
        }
        let names = table_names("information_schema");
        assert!(names.is_sorted());
        assert!(names.contains(&"TABLES") && names.contains(&"KEY_COLUMN_USAGE"));
    }
}
