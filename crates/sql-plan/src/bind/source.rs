//! What a name in `FROM` can stand for: a stored table, a virtual table (`information_schema`, the tables behind `SHOW`), or a
//! derived table whose rows another plan makes.
//!
//! Virtual tables are rows made on the spot from what the server knows; they never touch storage and take no locks.

use engine::{Catalog, Engine, Table};
use sql_access::SecurityContext;
use sql_expr::EvalCtx;
use std::sync::Arc;
use types::{DataType, SqlError, Value};

/// A column of a virtual table.
#[derive(Debug, Clone)]
pub struct VirtualColumn {
    /// The column's name, in the case shown to clients.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// Whether it can be NULL.
    pub nullable: bool,
}

impl VirtualColumn {
    /// A column.
    pub fn new(name: &str, ty: DataType, nullable: bool) -> VirtualColumn {
        VirtualColumn {
            name: name.to_owned(),
            ty,
            nullable,
        }
    }
}

/// What a virtual table may look at while it makes its rows.
pub struct VirtualCtx<'a> {
    /// The engine, for its counters and table statistics.
    pub engine: &'a Arc<Engine>,
    /// The definitions as of the start of the statement.
    pub catalog: &'a Arc<Catalog>,
    /// The asking session: facts, variables, time zone.
    pub cx: &'a EvalCtx<'a>,
    /// What it may see.
    pub security: &'a SecurityContext,
}

/// Who may read a virtual table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableGuard {
    /// Everybody: its rows are those that the session may see.
    Open,
    /// Whoever has PROCESS.
    Process,
    /// Whoever was granted SELECT on it, as with a stored table.
    Granted,
    /// Whoever was granted SELECT on it and has PROCESS.
    GrantedAndProcess,
}

/// A table whose rows are computed when a statement reads it.
pub trait VirtualTable: Send + Sync {
    /// The table's name, in the case shown to clients.
    fn name(&self) -> &str;
    /// The columns, in order.
    fn columns(&self) -> &[VirtualColumn];
    /// Who may read it.
    fn guard(&self) -> TableGuard {
        TableGuard::Granted
    }
    /// All rows; every row has one value for every column, in the column's own type.
    ///
    /// # Errors
    /// Whatever keeps the rows from being made; the statement fails with it.
    fn rows(&self, ctx: &VirtualCtx<'_>) -> Result<Vec<Vec<Value>>, SqlError>;
}

/// Where the planner looks up schemas that are not stored (`information_schema`, `performance_schema`).
pub trait NameSpace: Send + Sync {
    /// The virtual table of that name; names of such schemas compare without case.
    fn virtual_table(&self, schema: &str, name: &str) -> Option<Arc<dyn VirtualTable>>;
    /// Whether `schema` is a schema of virtual tables (so that an unknown table in it is 1109, not 1146).
    fn is_virtual_schema(&self, _schema: &str) -> bool {
        false
    }
}

/// A name space without virtual tables.
pub struct NoVirtualTables;

impl NameSpace for NoVirtualTables {
    fn virtual_table(&self, _schema: &str, _name: &str) -> Option<Arc<dyn VirtualTable>> {
        None
    }
}

/// What a table of a plan reads from.
#[derive(Clone)]
pub enum TableSource {
    /// A stored table.
    Engine(Arc<Table>),
    /// Rows computed on the spot.
    Virtual(Arc<dyn VirtualTable>),
    /// The rows of a derived table, by its number in the plan's list of queries.
    Derived(u32),
}

impl TableSource {
    /// The name of a column; `None` of a derived table, which is known by its number only.
    ///
    /// # Panics
    /// On a column that is not there.
    pub fn column_name(&self, i: usize) -> Option<&str> {
        match self {
            TableSource::Engine(t) => Some(&t.def.columns[i].name),
            TableSource::Virtual(v) => Some(&v.columns()[i].name),
            TableSource::Derived(_) => None,
        }
    }

    /// What plans and messages call a column: as [`column_name`](TableSource::column_name), and a functional key part by its expression.
    pub fn shown_name(&self, i: usize) -> Option<&str> {
        let expression = match self {
            TableSource::Engine(t) => t.def.columns[i].key_expression(),
            _ => None,
        };
        expression.or_else(|| self.column_name(i))
    }
}
