//! Definitions: databases, tables, columns, indexes, views.

use super::{Account, Expr, Name, ObjectName, Partitioning, Query, Span};

/// `CREATE DATABASE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateDatabase {
    /// `IF NOT EXISTS` was given.
    pub if_not_exists: bool,
    /// The database.
    pub name: Name,
    /// Its options.
    pub options: DatabaseOptions,
}

/// `ALTER DATABASE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterDatabase {
    /// The database; the current one where not written.
    pub name: Option<Name>,
    /// New options.
    pub options: DatabaseOptions,
}

/// Options of a database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatabaseOptions {
    /// `CHARACTER SET`.
    pub charset: Option<Name>,
    /// `COLLATE`.
    pub collation: Option<Name>,
    /// `ENCRYPTION`.
    pub encryption: Option<Box<[u8]>>,
    /// `READ ONLY` (`Some(None)` for `DEFAULT`).
    pub read_only: Option<Option<bool>>,
}

/// `CREATE TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// `TEMPORARY` was given.
    pub temporary: bool,
    /// `IF NOT EXISTS` was given.
    pub if_not_exists: bool,
    /// The table.
    pub name: ObjectName,
    /// `LIKE other`; everything below is empty then.
    pub like: Option<ObjectName>,
    /// Columns, in order.
    pub columns: Vec<ColumnDef>,
    /// Keys and constraints that were written on their own (a column's own are in its attributes).
    pub keys: Vec<KeyDef>,
    /// Table options.
    pub options: Vec<TableOption>,
    /// `PARTITION BY ..`.
    pub partitioning: Option<Box<Partitioning>>,
    /// `AS SELECT ..`.
    pub query: Option<Box<Query>>,
    /// `IGNORE | REPLACE` before the query.
    pub on_duplicate: Option<DuplicatePolicy>,
}

/// What `CREATE TABLE .. SELECT` does about duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicatePolicy {
    /// `IGNORE`
    Ignore,
    /// `REPLACE`
    Replace,
}

/// A column definition.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    /// The column.
    pub name: Name,
    /// Its type.
    pub data_type: DataType,
    /// Its attributes in the order written; where two contradict, the later one holds.
    pub attributes: Vec<ColumnAttr>,
}

/// A column's type as written; ranges are the binder's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataType {
    /// The type.
    pub kind: TypeKind,
    /// `UNSIGNED` was given.
    pub unsigned: bool,
    /// `ZEROFILL` was given (implies unsigned).
    pub zerofill: bool,
    /// `CHARACTER SET`; `binary` for `BYTE`, `utf8mb3` for `NCHAR`, `ascii` / `ucs2` for those words.
    pub charset: Option<Name>,
    /// `BINARY` attribute: the character set's binary collation.
    pub binary: bool,
}

/// Types. Lengths are as written, `None` where nothing was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeKind {
    /// `TINYINT[(m)]`, `INT1`
    TinyInt(Option<u64>),
    /// `SMALLINT[(m)]`, `INT2`
    SmallInt(Option<u64>),
    /// `MEDIUMINT[(m)]`, `INT3`, `MIDDLEINT`
    MediumInt(Option<u64>),
    /// `INT[(m)]`, `INTEGER`, `INT4`
    Int(Option<u64>),
    /// `BIGINT[(m)]`, `INT8`
    BigInt(Option<u64>),
    /// `SERIAL`: BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE
    Serial,
    /// `BOOL`, `BOOLEAN`: TINYINT(1)
    Bool,
    /// `DECIMAL[(m[,d])]`, `NUMERIC`, `DEC`, `FIXED`
    Decimal(Option<(u64, u64)>),
    /// `FLOAT[(p)]` and `FLOAT(m,d)`
    Float(Option<FloatLength>),
    /// `DOUBLE [PRECISION][(m,d)]`, `REAL`, `FLOAT8`
    Double(Option<(u64, u64)>),
    /// `BIT[(m)]`
    Bit(Option<u64>),
    /// `DATE`
    Date,
    /// `TIME[(fsp)]`
    Time(u64),
    /// `DATETIME[(fsp)]`
    Datetime(u64),
    /// `TIMESTAMP[(fsp)]`
    Timestamp(u64),
    /// `YEAR[(4)]`
    Year(Option<u64>),
    /// `CHAR[(n)]`
    Char(Option<u64>),
    /// `VARCHAR(n)`
    VarChar(u64),
    /// `BINARY[(n)]`
    Binary(Option<u64>),
    /// `VARBINARY(n)`
    VarBinary(u64),
    /// `TINYBLOB`
    TinyBlob,
    /// `BLOB[(n)]`
    Blob(Option<u64>),
    /// `MEDIUMBLOB`, `LONG VARBINARY`
    MediumBlob,
    /// `LONGBLOB`
    LongBlob,
    /// `TINYTEXT`
    TinyText,
    /// `TEXT[(n)]`
    Text(Option<u64>),
    /// `MEDIUMTEXT`, `LONG [VARCHAR]`
    MediumText,
    /// `LONGTEXT`
    LongText,
    /// `ENUM(..)`
    Enum(Vec<Box<[u8]>>),
    /// `SET(..)`
    Set(Vec<Box<[u8]>>),
    /// `JSON`
    Json,
    /// `GEOMETRY`, `POINT`, `LINESTRING`, ..: the type's name, lower case.
    Geometry(Name),
}

/// The length of a `FLOAT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatLength {
    /// `FLOAT(p)`: precision in bits; above 24 it is a DOUBLE.
    Bits(u64),
    /// `FLOAT(m,d)`
    Digits(u64, u64),
}

/// A column attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnAttr {
    /// `NULL`
    Null,
    /// `NOT NULL`
    NotNull,
    /// `DEFAULT x`. A literal (possibly signed), `now` with its precision, or, where `parenthesised`, any
    /// expression.
    Default {
        /// The value.
        expr: Expr,
        /// It was written in parentheses: an expression default.
        parenthesised: bool,
    },
    /// `ON UPDATE CURRENT_TIMESTAMP[(fsp)]`
    OnUpdateNow(u64),
    /// `AUTO_INCREMENT`
    AutoIncrement,
    /// `SERIAL DEFAULT VALUE`: NOT NULL AUTO_INCREMENT UNIQUE
    SerialDefaultValue,
    /// `UNIQUE [KEY]`
    Unique,
    /// `[PRIMARY] KEY`
    PrimaryKey,
    /// `COMMENT '..'`
    Comment(Box<[u8]>),
    /// `COLLATE c`
    Collate(Name),
    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`
    Generated {
        /// The expression.
        expr: Expr,
        /// `STORED` rather than virtual.
        stored: bool,
    },
    /// `[CONSTRAINT name] CHECK (expr) [[NOT] ENFORCED]`
    Check(Check),
    /// `REFERENCES ..` (parsed and, as in InnoDB, without effect on a column)
    References(Box<References>),
    /// `COLUMN_FORMAT FIXED | DYNAMIC | DEFAULT`
    ColumnFormat(Name),
    /// `STORAGE DISK | MEMORY`
    Storage(Name),
    /// `VISIBLE` / `INVISIBLE`
    Visible(bool),
    /// `SRID n`
    Srid(u64),
    /// `ENGINE_ATTRIBUTE` / `SECONDARY_ENGINE_ATTRIBUTE`
    EngineAttribute(Box<[u8]>),
    /// `NOT SECONDARY`
    NotSecondary,
}

/// A `CHECK` constraint.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// `CONSTRAINT name`.
    pub name: Option<Name>,
    /// The condition.
    pub expr: Expr,
    /// Not `NOT ENFORCED`.
    pub enforced: bool,
    /// How many columns are written before it, where it stands between those of a `CREATE TABLE`.
    pub after: usize,
}

/// `REFERENCES table (columns) ..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct References {
    /// The parent table.
    pub table: ObjectName,
    /// Its columns; may be empty in the grammar.
    pub columns: Vec<Name>,
    /// `MATCH FULL | PARTIAL | SIMPLE`, upper case.
    pub match_kind: Option<Name>,
    /// `ON DELETE`.
    pub on_delete: Option<ReferenceAction>,
    /// `ON UPDATE`.
    pub on_update: Option<ReferenceAction>,
}

/// Actions of a foreign key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceAction {
    /// `RESTRICT`
    Restrict,
    /// `CASCADE`
    Cascade,
    /// `SET NULL`
    SetNull,
    /// `SET DEFAULT`
    SetDefault,
    /// `NO ACTION`
    NoAction,
}

/// A key or constraint written on its own.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyDef {
    /// An index of any kind.
    Index(IndexDef),
    /// `[CONSTRAINT c] FOREIGN KEY [name] (columns) REFERENCES ..`
    Foreign(ForeignKey),
    /// `[CONSTRAINT c] CHECK (..)`
    Check(Check),
}

/// Kinds of index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// `PRIMARY KEY`
    Primary,
    /// `UNIQUE [KEY | INDEX]`
    Unique,
    /// `KEY | INDEX`
    Plain,
    /// `FULLTEXT`
    Fulltext,
    /// `SPATIAL`
    Spatial,
}

/// An index definition.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexDef {
    /// The kind.
    pub kind: IndexKind,
    /// `CONSTRAINT symbol` (primary and unique): the name where `name` is absent.
    pub constraint: Option<Name>,
    /// The index's name.
    pub name: Option<Name>,
    /// Its parts.
    pub parts: Vec<KeyPart>,
    /// Its options.
    pub options: IndexOptions,
}

/// One part of a key.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyPart {
    /// A column or an expression.
    pub what: KeyPartKind,
    /// `DESC` was given.
    pub desc: bool,
    /// `ASC` was given, which changes nothing.
    pub asc: bool,
}

/// What a key part is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyPartKind {
    /// `column[(length)]`
    Column {
        /// The column.
        name: Name,
        /// Prefix length in characters or bytes.
        length: Option<u64>,
    },
    /// `(expr)`
    Expr(Expr),
}

/// Options of an index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexOptions {
    /// `USING BTREE | HASH | RTREE`, upper case.
    pub using: Option<Name>,
    /// `KEY_BLOCK_SIZE`.
    pub key_block_size: Option<u64>,
    /// `COMMENT`.
    pub comment: Option<Box<[u8]>>,
    /// `INVISIBLE` was given.
    pub invisible: bool,
    /// `WITH PARSER`.
    pub parser: Option<Name>,
    /// `ENGINE_ATTRIBUTE`.
    pub engine_attribute: Option<Box<[u8]>>,
}

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// `CONSTRAINT symbol`.
    pub constraint: Option<Name>,
    /// The name behind `FOREIGN KEY`.
    pub name: Option<Name>,
    /// Its columns.
    pub columns: Vec<Name>,
    /// What it refers to.
    pub references: References,
}

/// A table option.
#[derive(Debug, Clone, PartialEq)]
pub enum TableOption {
    /// `ENGINE`
    Engine(Name),
    /// `AUTO_INCREMENT`
    AutoIncrement(u64),
    /// `[DEFAULT] CHARACTER SET`
    Charset(Name),
    /// `[DEFAULT] COLLATE`
    Collate(Name),
    /// `COMMENT`
    Comment(Box<[u8]>),
    /// `ROW_FORMAT`, upper case
    RowFormat(Name),
    /// `KEY_BLOCK_SIZE`
    KeyBlockSize(u64),
    /// `UNION (tables)`
    Union(Vec<ObjectName>),
    /// Any other option: its name in upper case with underscores, and its value as text.
    Other(Name, Box<[u8]>),
}

/// `DROP TABLE` and `DROP VIEW`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropTables {
    /// `TEMPORARY` was given.
    pub temporary: bool,
    /// `IF EXISTS` was given.
    pub if_exists: bool,
    /// The tables.
    pub names: Vec<ObjectName>,
}

/// `CREATE INDEX`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// The table.
    pub table: ObjectName,
    /// The index; its name is always there.
    pub index: IndexDef,
    /// `ALGORITHM =`, upper case.
    pub algorithm: Option<Name>,
    /// `LOCK =`, upper case.
    pub lock: Option<Name>,
}

/// `DROP INDEX`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropIndex {
    /// The index (`PRIMARY` for the primary key).
    pub name: Name,
    /// The table.
    pub table: ObjectName,
    /// `ALGORITHM =`, upper case.
    pub algorithm: Option<Name>,
    /// `LOCK =`, upper case.
    pub lock: Option<Name>,
}

/// How a view is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewAlgorithm {
    /// `UNDEFINED`
    Undefined,
    /// `MERGE`
    Merge,
    /// `TEMPTABLE`
    Temptable,
}

/// `WITH CHECK OPTION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOption {
    /// `WITH [CASCADED] CHECK OPTION`
    Cascaded,
    /// `WITH LOCAL CHECK OPTION`
    Local,
}

/// `CREATE VIEW` and `ALTER VIEW`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    /// `ALTER VIEW` rather than `CREATE VIEW`.
    pub alter: bool,
    /// `OR REPLACE` was given.
    pub or_replace: bool,
    /// `ALGORITHM =`.
    pub algorithm: Option<ViewAlgorithm>,
    /// `DEFINER =`.
    pub definer: Option<Account>,
    /// `SQL SECURITY INVOKER` (`Some(true)`) or `DEFINER`.
    pub invoker: Option<bool>,
    /// The view.
    pub name: ObjectName,
    /// Column names; empty where not written.
    pub columns: Vec<Name>,
    /// The query.
    pub query: Query,
    /// The query's text.
    pub definition: Span,
    /// `WITH CHECK OPTION`.
    pub check: Option<CheckOption>,
}
