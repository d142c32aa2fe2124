//! `ALTER TABLE` and partitioning.

use super::{ColumnDef, Expr, KeyDef, Name, ObjectName, TableOption};

/// `PARTITION BY ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct Partitioning {
    /// The method.
    pub method: PartitionMethod,
    /// `PARTITIONS n`.
    pub count: Option<u64>,
    /// `SUBPARTITION BY ..`.
    pub subpartition: Option<(PartitionMethod, Option<u64>)>,
    /// The partitions.
    pub partitions: Vec<PartitionDef>,
}

/// How rows are spread over partitions.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionMethod {
    /// `[LINEAR] HASH (expr)`
    Hash {
        /// `LINEAR` was given.
        linear: bool,
        /// The expression.
        expr: Expr,
    },
    /// `[LINEAR] KEY [ALGORITHM = n] (columns)`
    Key {
        /// `LINEAR` was given.
        linear: bool,
        /// `ALGORITHM`.
        algorithm: Option<u64>,
        /// The columns; empty means the primary key.
        columns: Vec<Name>,
    },
    /// `RANGE (expr)`
    Range(Expr),
    /// `RANGE COLUMNS (columns)`
    RangeColumns(Vec<Name>),
    /// `LIST (expr)`
    List(Expr),
    /// `LIST COLUMNS (columns)`
    ListColumns(Vec<Name>),
}

/// One partition.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionDef {
    /// Its name.
    pub name: Name,
    /// Its values.
    pub values: PartitionValues,
    /// Its options.
    pub options: Vec<TableOption>,
    /// Its subpartitions: name and options.
    pub subpartitions: Vec<(Name, Vec<TableOption>)>,
}

/// What belongs into a partition.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValues {
    /// Nothing written (hash and key).
    None,
    /// `VALUES LESS THAN (..)`; `None` stands for `MAXVALUE`.
    LessThan(Vec<Option<Expr>>),
    /// `VALUES IN (..)`; one row a value.
    In(Vec<Vec<Option<Expr>>>),
}

/// `ALTER TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub name: ObjectName,
    /// What to do, in order.
    pub actions: Vec<AlterAction>,
    /// `ALGORITHM =`, upper case.
    pub algorithm: Option<Name>,
    /// `LOCK =`, upper case.
    pub lock: Option<Name>,
}

/// Where a column goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnPosition {
    /// `FIRST`
    First,
    /// `AFTER column`
    After(Name),
}

/// One action of `ALTER TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    /// `ADD [COLUMN] ..`; the list form becomes several of these.
    AddColumn {
        /// The column.
        column: ColumnDef,
        /// Where it goes; the end where not written.
        position: Option<ColumnPosition>,
    },
    /// `ADD INDEX | UNIQUE | PRIMARY KEY | FOREIGN KEY | CHECK ..`
    AddKey(KeyDef),
    /// `DROP [COLUMN] c`
    DropColumn(Name),
    /// `DROP PRIMARY KEY`
    DropPrimaryKey,
    /// `DROP {INDEX | KEY} i`
    DropIndex(Name),
    /// `DROP FOREIGN KEY f`
    DropForeignKey(Name),
    /// `DROP CHECK c`
    DropCheck(Name),
    /// `DROP CONSTRAINT c`
    DropConstraint(Name),
    /// `MODIFY [COLUMN] ..`
    ModifyColumn {
        /// The column's new definition.
        column: ColumnDef,
        /// Where it goes.
        position: Option<ColumnPosition>,
    },
    /// `CHANGE [COLUMN] old ..`
    ChangeColumn {
        /// The column's present name.
        old: Name,
        /// Its new definition.
        column: ColumnDef,
        /// Where it goes.
        position: Option<ColumnPosition>,
    },
    /// `ALTER [COLUMN] c SET DEFAULT x`
    SetDefault {
        /// The column.
        column: Name,
        /// The value.
        expr: Expr,
        /// Written in parentheses.
        parenthesised: bool,
    },
    /// `ALTER [COLUMN] c DROP DEFAULT`
    DropDefault(Name),
    /// `ALTER [COLUMN] c SET VISIBLE | INVISIBLE`
    ColumnVisibility(Name, bool),
    /// `ALTER INDEX i VISIBLE | INVISIBLE`
    IndexVisibility(Name, bool),
    /// `ALTER {CHECK | CONSTRAINT} c [NOT] ENFORCED`
    Enforce(Name, bool),
    /// `RENAME [TO | AS] t`
    RenameTo(ObjectName),
    /// `RENAME COLUMN a TO b`
    RenameColumn(Name, Name),
    /// `RENAME {INDEX | KEY} a TO b`
    RenameIndex(Name, Name),
    /// A table option.
    Option(TableOption),
    /// `CONVERT TO CHARACTER SET cs [COLLATE c]`; no charset means `DEFAULT`.
    ConvertTo {
        /// Character set.
        charset: Option<Name>,
        /// Collation.
        collation: Option<Name>,
    },
    /// `ORDER BY ..`
    OrderBy(Vec<super::OrderItem>),
    /// `FORCE`
    Force,
    /// `ENABLE KEYS` / `DISABLE KEYS`
    Keys(bool),
    /// `WITH | WITHOUT VALIDATION`
    Validation(bool),
    /// `DISCARD | IMPORT TABLESPACE`: the verb, upper case
    Tablespace(Name),
    /// `PARTITION BY ..`
    PartitionBy(Box<Partitioning>),
    /// `REMOVE PARTITIONING`
    RemovePartitioning,
    /// `ADD PARTITION (..)` or `ADD PARTITION PARTITIONS n`
    AddPartition(Vec<PartitionDef>, Option<u64>),
    /// `DROP | TRUNCATE | ANALYZE | .. PARTITION names`: the verb, and the names (empty means `ALL`)
    Partitions(Name, Vec<Name>),
    /// `COALESCE PARTITION n`
    CoalescePartition(u64),
    /// `REORGANIZE PARTITION names INTO (..)`
    ReorganizePartition(Vec<Name>, Vec<PartitionDef>),
    /// `EXCHANGE PARTITION p WITH TABLE t [WITH | WITHOUT VALIDATION]`
    ExchangePartition(Name, ObjectName, bool),
}
