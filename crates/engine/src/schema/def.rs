//! The definitions themselves: plain data.

use base::PageNo;
use types::{CollationId, DataType, Value};

/// A schema (database).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaDef {
    /// Its name.
    pub name: String,
    /// Collation of tables that name none.
    pub collation: CollationId,
}

/// A table.
#[derive(Clone, Debug)]
pub struct TableDef {
    /// Id of the table and of its tablespace; never reused.
    pub id: u32,
    /// The schema it belongs to.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Columns in order.
    pub columns: Vec<ColumnDef>,
    /// Indexes; the first one is the clustered one.
    pub indexes: Vec<IndexDef>,
    /// CHECK constraints, in the order of their names.
    pub checks: Vec<CheckDef>,
    /// Foreign keys: the table is their child.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// Everything else.
    pub options: TableOptions,
}

/// A column.
#[derive(Clone, Debug)]
pub struct ColumnDef {
    /// Its name, as written.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// NULL allowed.
    pub nullable: bool,
    /// Its default.
    pub default: ColumnDefault,
    /// What rows have here that were written before the column was added; none where none were.
    pub fill: Option<Value>,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// Its comment.
    pub comment: String,
    /// Where it is a generated column.
    pub generated: Option<GeneratedDef>,
    /// INVISIBLE.
    pub invisible: bool,
}

impl ColumnDef {
    /// A column that may not be NULL and has no default.
    pub fn new(name: &str, ty: DataType) -> ColumnDef {
        ColumnDef {
            name: name.to_owned(),
            ty,
            nullable: false,
            default: ColumnDefault::None,
            fill: None,
            on_update_now: false,
            auto_increment: false,
            comment: String::new(),
            generated: None,
            invisible: false,
        }
    }

    /// The expression of a functional key part, of which no statement can name the column.
    pub fn key_expression(&self) -> Option<&str> {
        let g = self.generated.as_ref().filter(|g| g.hidden)?;
        Some(&g.expr)
    }

    /// Whether it is a functional key part.
    pub fn is_hidden(&self) -> bool {
        self.key_expression().is_some()
    }

    /// The type of its values in a key: that of its elements, where it has a list of them.
    pub fn key_type(&self) -> &DataType {
        let elements = self.generated.as_ref().and_then(|g| g.elements.as_ref());
        elements.unwrap_or(&self.ty)
    }

    /// Whether it is a multi-valued key part.
    pub fn is_list(&self) -> bool {
        self.generated
            .as_ref()
            .is_some_and(|g| g.elements.is_some())
    }

    /// Whether a statement means it by this name (in any case).
    pub fn is_named(&self, name: &str) -> bool {
        let own = &self.name;
        let ascii = own.is_ascii() && name.is_ascii();
        let same =
            own.eq_ignore_ascii_case(name) || !ascii && own.to_lowercase() == name.to_lowercase();
        same && !self.is_hidden()
    }
}

/// A generated column's expression, which nothing below `sql` evaluates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedDef {
    /// Its SQL text.
    pub expr: String,
    /// STORED, and not VIRTUAL.
    pub stored: bool,
    /// It is a functional key part: its index alone knows it, and no statement can name it.
    pub hidden: bool,
    /// The type of the elements of a multi-valued key part. The column has their list ([`types::multi`]).
    pub elements: Option<DataType>,
}

/// A CHECK constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckDef {
    /// Its name, unique in the schema in any case.
    pub name: String,
    /// The SQL text of its condition.
    pub clause: String,
    /// Not NOT ENFORCED.
    pub enforced: bool,
}

/// A column's default.
#[derive(Clone, Debug)]
pub enum ColumnDefault {
    /// No default: an insert must name the column.
    None,
    /// DEFAULT NULL, also when nothing was said about a nullable column.
    Null,
    /// A constant, already of the column's type.
    Literal(Value),
    /// CURRENT_TIMESTAMP with the column's precision.
    Now,
    /// An expression's SQL text.
    Expr(String),
}

/// What an index is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE.
    Unique,
    /// Not unique.
    Plain,
    /// The clustered index of a table that has no key for it: by a hidden row id.
    Hidden,
}

/// An index.
#[derive(Clone, Debug)]
pub struct IndexDef {
    /// Id, unique in the database; never reused.
    pub id: u32,
    /// Its name; "PRIMARY" for the primary key.
    pub name: String,
    /// What it is.
    pub kind: IndexKind,
    /// Its columns in order.
    pub parts: Vec<IndexPart>,
    /// Its comment.
    pub comment: String,
    /// Root page in the table's tablespace.
    pub root: PageNo,
    /// INVISIBLE: kept up to date, not used by plans.
    pub invisible: bool,
    /// What else was asked for.
    pub asked: IndexOptions,
}

/// Options of an index that change nothing in it, and are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndexOptions {
    /// USING BTREE.
    pub btree: bool,
    /// KEY_BLOCK_SIZE; 0: none.
    pub key_block_size: u16,
    /// Nobody asked for it: it was made for a foreign key, and goes when another index serves as well.
    pub for_foreign_key: bool,
}

/// A column of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexPart {
    /// Which column.
    pub column: u16,
    /// Leading characters (bytes for byte strings) indexed; 0 for all.
    pub prefix: u32,
    /// DESC.
    pub descending: bool,
}

/// What becomes of a child's rows when their parent's row goes or gets another key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferenceAction {
    /// NO ACTION, or nothing was said: the change is refused, at once.
    NoAction,
    /// RESTRICT: the same.
    Restrict,
    /// CASCADE: they go too, or get the new key.
    Cascade,
    /// SET NULL.
    SetNull,
}

/// A foreign key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignKeyDef {
    /// Its name, unique in the child's schema.
    pub name: String,
    /// Its columns, in the child.
    pub columns: Vec<u16>,
    /// The parent's schema.
    pub parent_schema: String,
    /// The parent.
    pub parent: String,
    /// The parent's columns, as many.
    pub parent_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: ReferenceAction,
    /// ON UPDATE.
    pub on_update: ReferenceAction,
}

/// A table's options.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Default collation of its columns.
    pub collation: CollationId,
    /// Its comment.
    pub comment: String,
    /// ROW_FORMAT as given; empty when not.
    pub row_format: String,
    /// AUTO_INCREMENT start as given or carried over; 0 when not.
    pub auto_increment: u64,
    /// Options accepted and shown, with nothing behind them.
    pub others: Vec<(String, String)>,
    /// Creation, microseconds since the Unix epoch.
    pub created_us: i64,
    /// Its rows were given up, until others are imported: its file is empty, and no statement uses it.
    pub discarded: bool,
}

impl TableDef {
    /// It is a temporary table's.
    #[inline]
    pub fn is_temporary(&self) -> bool {
        base::SpaceId(self.id).is_temporary()
    }

    /// Number of the column with this name (case-insensitive); functional key parts have none.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.is_named(name))
    }

    /// Number of the index with this name (case-insensitive).
    pub fn index(&self, name: &str) -> Option<usize> {
        self.indexes
            .iter()
            .position(|i| i.kind != IndexKind::Hidden && i.name.eq_ignore_ascii_case(name))
    }

    /// Which part of an index has several values in a row: there is no entry then of a row that has none.
    pub fn list_part(&self, index: &IndexDef) -> Option<usize> {
        let mut parts = index.parts.iter();
        parts.position(|p| self.columns[usize::from(p.column)].is_list())
    }

    /// The AUTO_INCREMENT column.
    pub fn auto_increment_column(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.auto_increment)
    }

    /// Which index would be the clustered one: the primary key, else the first unique one without NULLs, prefixes or functional parts.
    pub fn clustered_choice(&self) -> Option<usize> {
        let primary = self
            .indexes
            .iter()
            .position(|i| i.kind == IndexKind::Primary);
        primary.or_else(|| {
            self.indexes.iter().position(|i| {
                i.kind == IndexKind::Unique
                    && i.parts.iter().all(|p| {
                        let c = &self.columns[p.column as usize];
                        p.prefix == 0 && !c.nullable && !c.is_hidden()
                    })
            })
        })
    }

    /// The column that `_rowid` stands for: the key that tells rows apart, where it is one whole number.
    pub fn row_id_column(&self) -> Option<usize> {
        let [part] = &self.indexes[self.clustered_choice()?].parts[..] else {
            return None;
        };
        let column = usize::from(part.column);
        matches!(self.columns[column].ty, DataType::Int { .. }).then_some(column)
    }
}
