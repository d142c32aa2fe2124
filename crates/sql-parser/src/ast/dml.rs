//! Statements that change rows.

use super::{
    ColumnRef, Expr, Hints, IntoVariable, Name, ObjectName, OrderItem, Query, SelectItem,
    TableFactor, TableRef, TextFormat, With,
};

/// How urgent a write is; accepted and without effect in InnoDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WritePriority {
    /// Nothing written.
    #[default]
    Normal,
    /// `LOW_PRIORITY`
    Low,
    /// `HIGH_PRIORITY`
    High,
    /// `DELAYED` (converted to a normal insert, warning 3005)
    Delayed,
    /// `CONCURRENT` (`LOAD DATA`)
    Concurrent,
}

/// `column = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The column.
    pub column: ColumnRef,
    /// The value; [`Expr::Default`] for `DEFAULT`.
    pub value: Expr,
}

/// `INSERT` or `REPLACE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// `REPLACE` rather than `INSERT`.
    pub replace: bool,
    /// Optimizer hints.
    pub hints: Hints,
    /// Priority word.
    pub priority: WritePriority,
    /// `IGNORE` was given.
    pub ignore: bool,
    /// The table.
    pub table: ObjectName,
    /// `PARTITION (..)`.
    pub partitions: Vec<Name>,
    /// The columns; empty means all columns in table order.
    pub columns: Vec<ColumnRef>,
    /// A column may be named twice, and its last value counts. No text says so: LOAD DATA does with its SET.
    pub may_repeat: bool,
    /// Where the rows come from. `SET a = 1, ..` arrives as columns and one row of values.
    pub source: InsertSource,
    /// `AS alias [(columns)]` for `ON DUPLICATE KEY UPDATE`.
    pub row_alias: Option<Box<RowAlias>>,
    /// `ON DUPLICATE KEY UPDATE`; empty where not written.
    pub on_duplicate: Vec<Assignment>,
    /// `RETURNING ..` (MariaDB's; accepted by the grammar so that the binder can answer).
    pub returning: Vec<SelectItem>,
}

/// Where an insert's rows come from.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// Rows of values; a row may be empty: `VALUES ()`.
    Values(Vec<Vec<Expr>>),
    /// A query.
    Query(Box<Query>),
}

/// `AS alias [(columns)]` of an insert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowAlias {
    /// The row's alias.
    pub name: Name,
    /// Column aliases; empty where not written.
    pub columns: Vec<Name>,
}

/// `UPDATE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// Optimizer hints.
    pub hints: Hints,
    /// `WITH ..`.
    pub with: Option<Box<With>>,
    /// `LOW_PRIORITY` was given.
    pub low_priority: bool,
    /// `IGNORE` was given.
    pub ignore: bool,
    /// The tables; a single [`TableRef::Table`] is the single-table form.
    pub tables: Vec<TableRef>,
    /// `SET ..`.
    pub assignments: Vec<Assignment>,
    /// `WHERE`.
    pub selection: Option<Expr>,
    /// `ORDER BY` (single-table form).
    pub order_by: Vec<OrderItem>,
    /// `LIMIT` (single-table form).
    pub limit: Option<Expr>,
}

/// `DELETE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// Optimizer hints.
    pub hints: Hints,
    /// `WITH ..`.
    pub with: Option<Box<With>>,
    /// `LOW_PRIORITY` was given.
    pub low_priority: bool,
    /// `QUICK` was given.
    pub quick: bool,
    /// `IGNORE` was given.
    pub ignore: bool,
    /// From what.
    pub target: DeleteTarget,
    /// `WHERE`.
    pub selection: Option<Expr>,
    /// `ORDER BY` (single-table form).
    pub order_by: Vec<OrderItem>,
    /// `LIMIT` (single-table form).
    pub limit: Option<Expr>,
    /// `RETURNING ..` (MariaDB's).
    pub returning: Vec<SelectItem>,
}

/// What a delete works on.
#[derive(Debug, Clone, PartialEq)]
pub enum DeleteTarget {
    /// `DELETE FROM t [alias]`
    Single(TableFactor),
    /// `DELETE a, b FROM refs` and `DELETE FROM a, b USING refs`.
    Multi {
        /// Tables (or aliases) that lose rows.
        tables: Vec<ObjectName>,
        /// The joined tables.
        from: Vec<TableRef>,
    },
}

/// `CALL routine(args)`.
#[derive(Debug, Clone, PartialEq)]
pub struct CallStatement {
    /// The procedure.
    pub name: ObjectName,
    /// Arguments.
    pub args: Vec<Expr>,
}

/// Which rows `HANDLER t READ` reads.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerRows {
    /// `FIRST`
    First,
    /// `NEXT`
    Next,
    /// `PREV`
    Prev,
    /// `LAST`
    Last,
    /// `= | < | <= | > | >= (values)`
    Key(HandlerSearch, Vec<Expr>),
}

/// How `HANDLER t READ` compares keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerSearch {
    /// `=`
    Equal,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// `HANDLER t OPEN | READ | CLOSE`.
#[derive(Debug, Clone, PartialEq)]
pub enum Handler {
    /// `OPEN [[AS] alias]`
    Open {
        /// The table.
        table: ObjectName,
        /// The alias.
        alias: Option<Name>,
    },
    /// `CLOSE`
    Close(Name),
    /// `READ ..`
    Read(Box<HandlerRead>),
}

/// `HANDLER t READ ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct HandlerRead {
    /// The table as it was opened.
    pub handler: Name,
    /// The index, where written.
    pub index: Option<Name>,
    /// Where reading goes on, or begins.
    pub rows: HandlerRows,
    /// `WHERE`.
    pub selection: Option<Expr>,
    /// `LIMIT`.
    pub limit: Option<Box<super::Limit>>,
}

/// `LOAD DATA | XML [LOCAL] INFILE ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadData {
    /// `LOAD XML` rather than `LOAD DATA`.
    pub xml: bool,
    /// Priority word.
    pub priority: WritePriority,
    /// `LOCAL`: the client sends the file.
    pub local: bool,
    /// The file.
    pub path: Box<[u8]>,
    /// What happens to duplicates.
    pub on_duplicate: LoadDuplicates,
    /// The table.
    pub table: ObjectName,
    /// `PARTITION (..)`.
    pub partitions: Vec<Name>,
    /// `CHARACTER SET`.
    pub charset: Option<Name>,
    /// `ROWS IDENTIFIED BY '<tag>'` (XML).
    pub row_tag: Option<Box<[u8]>>,
    /// `FIELDS` and `LINES`.
    pub format: TextFormat,
    /// `IGNORE n LINES | ROWS`.
    pub skip_lines: u64,
    /// `(column | @var, ..)`.
    pub columns: Vec<IntoVariable>,
    /// `SET ..`.
    pub assignments: Vec<Assignment>,
}

/// What `LOAD DATA` does about duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadDuplicates {
    /// Nothing written: an error, or (with `LOCAL`) ignore.
    Default,
    /// `REPLACE`
    Replace,
    /// `IGNORE`
    Ignore,
}
