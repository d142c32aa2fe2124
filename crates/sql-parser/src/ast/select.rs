//! Queries: `SELECT`, set operations, table references, windows.

use super::{ColumnRef, DataType, Expr, Hints, IntervalUnit, JsonOn, Name, ObjectName};

/// A query expression with everything that may follow it.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// `WITH ..`.
    pub with: Option<Box<With>>,
    /// What produces the rows.
    pub body: QueryBody,
    /// `ORDER BY` over the body's rows.
    pub order_by: Vec<OrderItem>,
    /// `LIMIT`.
    pub limit: Option<Box<Limit>>,
    /// `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`.
    pub locking: Vec<Locking>,
    /// `INTO ..`.
    pub into: Option<Box<SelectInto>>,
}

/// What produces a query's rows.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// `SELECT ..`.
    Select(Box<Select>),
    /// `VALUES ROW(..), ROW(..)`.
    Values(Vec<Vec<Expr>>),
    /// `TABLE t`.
    Table(ObjectName),
    /// `UNION`, `EXCEPT`, `INTERSECT`.
    Set(Box<SetOperation>),
    /// `( query )` with its own `ORDER BY` / `LIMIT`.
    Nested(Box<Query>),
}

/// A chain of set operations, applied left to right; `INTERSECT` binds tighter and is already nested.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperation {
    /// The first operand.
    pub first: QueryBody,
    /// The others, at least one.
    pub rest: Vec<SetTerm>,
}

/// One further operand of a set operation.
#[derive(Debug, Clone, PartialEq)]
pub struct SetTerm {
    /// The operation with what is left of it.
    pub op: SetOp,
    /// `ALL` was given (otherwise distinct).
    pub all: bool,
    /// The operand.
    pub body: QueryBody,
}

/// Set operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOp {
    /// `UNION`
    Union,
    /// `EXCEPT`
    Except,
    /// `INTERSECT`
    Intersect,
}

/// `WITH [RECURSIVE] name [(columns)] AS (query), ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// `RECURSIVE` was given.
    pub recursive: bool,
    /// The common table expressions, in order.
    pub ctes: Vec<std::sync::Arc<Cte>>,
}

/// One common table expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: Name,
    /// Column names; empty where not written.
    pub columns: Vec<Name>,
    /// Its query.
    pub query: Query,
}

/// `SELECT` up to and including its windows.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// Its number in the statement, as EXPLAIN and hints call it: 1 for the outermost block, then in the order of the text.
    pub number: u32,
    /// Optimizer hints.
    pub hints: Hints,
    /// Words between `SELECT` and the items.
    pub options: SelectOptions,
    /// The select list.
    pub items: Vec<SelectItem>,
    /// `FROM`; members separated by commas; empty for none or `DUAL`.
    pub from: Vec<TableRef>,
    /// `WHERE`.
    pub selection: Option<Expr>,
    /// `GROUP BY`; a plain [`Expr::Int`] is a position.
    pub group_by: Vec<Expr>,
    /// `WITH ROLLUP`.
    pub rollup: bool,
    /// `HAVING`.
    pub having: Option<Expr>,
    /// `WINDOW name AS (..)`.
    pub windows: Vec<(Name, WindowSpec)>,
}

/// Words between `SELECT` and the select list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SelectOptions {
    /// `DISTINCT`, `DISTINCTROW`.
    pub distinct: bool,
    /// `STRAIGHT_JOIN`.
    pub straight_join: bool,
    /// `HIGH_PRIORITY`.
    pub high_priority: bool,
    /// `SQL_CALC_FOUND_ROWS`.
    pub calc_found_rows: bool,
    /// `SQL_NO_CACHE`.
    pub no_cache: bool,
    /// `SQL_SMALL_RESULT`.
    pub small_result: bool,
    /// `SQL_BIG_RESULT`.
    pub big_result: bool,
    /// `SQL_BUFFER_RESULT`.
    pub buffer_result: bool,
    /// Milliseconds of the hint `MAX_EXECUTION_TIME(n)`.
    pub max_execution_time: Option<u32>,
}

/// A member of the select list.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`, `t.*`, `s.t.*`.
    Wildcard(Option<ObjectName>),
    /// An expression.
    Expr {
        /// The expression.
        expr: Expr,
        /// The result column's name: the alias, a column's own name, a string literal's content, or else
        /// the text as written (comments left out).
        name: Name,
        /// `name` is an alias the client wrote.
        aliased: bool,
    },
}

/// A member of `ORDER BY`.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// The expression; a plain [`Expr::Int`] is a position.
    pub expr: Expr,
    /// `DESC` was given.
    pub desc: bool,
}

/// `LIMIT`: literals, `?` or a routine's variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// How many rows.
    pub count: Expr,
    /// How many to skip before.
    pub offset: Option<Expr>,
}

/// A locking clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locking {
    /// `FOR UPDATE` rather than `FOR SHARE` / `LOCK IN SHARE MODE`.
    pub exclusive: bool,
    /// `OF t, ..`; empty means all tables.
    pub of: Vec<ObjectName>,
    /// What to do about rows others hold.
    pub wait: LockWait,
}

/// What a locking read does about rows that others hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    /// Wait.
    Wait,
    /// `NOWAIT`
    NoWait,
    /// `SKIP LOCKED`
    SkipLocked,
}

/// `INTO ..` of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectInto {
    /// `INTO @a, b`
    Variables(Vec<IntoVariable>),
    /// `INTO OUTFILE 'file' ..`
    Outfile {
        /// The file.
        path: Box<[u8]>,
        /// `CHARACTER SET`.
        charset: Option<Name>,
        /// `FIELDS` and `LINES`.
        format: TextFormat,
    },
    /// `INTO DUMPFILE 'file'`
    Dumpfile(Box<[u8]>),
}

/// A target of `SELECT .. INTO` and a column of `LOAD DATA`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntoVariable {
    /// `@name`
    User(Name),
    /// A local variable, or (in `LOAD DATA`) a column.
    Local(ColumnRef),
}

/// `FIELDS ..` and `LINES ..` of `LOAD DATA` and `INTO OUTFILE`; `None` means MySQL's default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextFormat {
    /// `FIELDS TERMINATED BY` (default tab).
    pub fields_terminated: Option<Box<[u8]>>,
    /// `[OPTIONALLY] ENCLOSED BY` (default none).
    pub enclosed: Option<Box<[u8]>>,
    /// `OPTIONALLY` was given.
    pub optionally: bool,
    /// `ESCAPED BY` (default backslash).
    pub escaped: Option<Box<[u8]>>,
    /// `LINES STARTING BY` (default none).
    pub lines_starting: Option<Box<[u8]>>,
    /// `LINES TERMINATED BY` (default newline).
    pub lines_terminated: Option<Box<[u8]>>,
}

/// A table reference.
#[derive(Debug, Clone, PartialEq)]
pub enum TableRef {
    /// A base table, view or CTE.
    Table(Box<TableFactor>),
    /// `(SELECT ..) alias`.
    Derived(Box<Derived>),
    /// `JSON_TABLE(..) alias`.
    JsonTable(Box<JsonTable>),
    /// A join.
    Join(Box<Join>),
    /// `(a, b, ..)`: a parenthesised comma list of at least two.
    List(Vec<TableRef>),
}

/// A named table in `FROM`.
#[derive(Debug, Clone, PartialEq)]
pub struct TableFactor {
    /// The table.
    pub name: ObjectName,
    /// Its alias.
    pub alias: Option<Name>,
    /// `PARTITION (..)`.
    pub partitions: Vec<Name>,
    /// `USE | FORCE | IGNORE INDEX`.
    pub hints: Vec<IndexHint>,
}

/// An index hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    /// What the hint asks for.
    pub kind: IndexHintKind,
    /// `FOR JOIN | ORDER BY | GROUP BY`.
    pub scope: IndexHintScope,
    /// The indexes; empty is allowed with `USE`.
    pub indexes: Vec<Name>,
}

/// What an index hint asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintKind {
    /// `USE`
    Use,
    /// `FORCE`
    Force,
    /// `IGNORE`
    Ignore,
}

/// What an index hint is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintScope {
    /// Everything.
    All,
    /// `FOR JOIN`
    Join,
    /// `FOR ORDER BY`
    OrderBy,
    /// `FOR GROUP BY`
    GroupBy,
}

/// A derived table.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// `LATERAL` was given.
    pub lateral: bool,
    /// The query.
    pub query: Query,
    /// The alias (the grammar demands one).
    pub alias: Name,
    /// Column names; empty where not written.
    pub columns: Vec<Name>,
}

/// Kinds of join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// `[INNER] JOIN`, `CROSS JOIN`.
    Inner,
    /// `LEFT [OUTER] JOIN`
    Left,
    /// `RIGHT [OUTER] JOIN`
    Right,
    /// `STRAIGHT_JOIN`
    Straight,
}

/// A join of two table references.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Left operand.
    pub left: TableRef,
    /// Right operand.
    pub right: TableRef,
    /// The kind.
    pub kind: JoinKind,
    /// The condition.
    pub condition: JoinCondition,
}

/// How a join matches.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    /// No condition.
    None,
    /// `ON x`
    On(Expr),
    /// `USING (a, b)`
    Using(Vec<Name>),
    /// `NATURAL`
    Natural,
}

/// `JSON_TABLE(doc, path COLUMNS (..)) alias`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    /// The document.
    pub doc: Expr,
    /// The row path.
    pub path: Box<[u8]>,
    /// The columns.
    pub columns: Vec<JsonTableColumn>,
    /// The alias.
    pub alias: Name,
}

/// A column of `JSON_TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonTableColumn {
    /// `name FOR ORDINALITY`
    Ordinality(Name),
    /// `name type [EXISTS] PATH 'path' [.. ON EMPTY] [.. ON ERROR]`
    Path(Box<JsonTablePath>),
    /// `NESTED [PATH] 'path' COLUMNS (..)`
    Nested {
        /// The nested path.
        path: Box<[u8]>,
        /// Its columns.
        columns: Vec<JsonTableColumn>,
    },
}

/// A path column of `JSON_TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTablePath {
    /// Column name.
    pub name: Name,
    /// Column type.
    pub data_type: DataType,
    /// `COLLATE`.
    pub collation: Option<Name>,
    /// `EXISTS` was given.
    pub exists: bool,
    /// The path.
    pub path: Box<[u8]>,
    /// `ON EMPTY`.
    pub on_empty: Option<JsonOn>,
    /// `ON ERROR`.
    pub on_error: Option<JsonOn>,
    /// `ON ERROR` stands before `ON EMPTY`.
    pub reversed: bool,
    /// The type with its character set, as it is shown once that is known.
    pub shown: Option<Box<str>>,
}

/// `([name] [PARTITION BY ..] [ORDER BY ..] [frame])`.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSpec {
    /// The window this one extends.
    pub base: Option<Name>,
    /// `PARTITION BY`.
    pub partition_by: Vec<Expr>,
    /// `ORDER BY`.
    pub order_by: Vec<OrderItem>,
    /// The frame, where written.
    pub frame: Option<Box<Frame>>,
}

/// A window frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// `ROWS`, `RANGE` or `GROUPS`.
    pub unit: FrameUnit,
    /// Where it starts.
    pub start: FrameBound,
    /// Where it ends; the current row where not written.
    pub end: Option<FrameBound>,
    /// `EXCLUDE ..`.
    pub exclude: Option<FrameExclude>,
}

/// What a frame counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    /// `ROWS`
    Rows,
    /// `RANGE`
    Range,
    /// `GROUPS`
    Groups,
}

/// An end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// `CURRENT ROW`
    CurrentRow,
    /// `UNBOUNDED PRECEDING`
    UnboundedPreceding,
    /// `UNBOUNDED FOLLOWING`
    UnboundedFollowing,
    /// `n PRECEDING`, with a unit for `INTERVAL n unit PRECEDING`.
    Preceding(Expr, Option<IntervalUnit>),
    /// `n FOLLOWING`, with a unit for `INTERVAL n unit FOLLOWING`.
    Following(Expr, Option<IntervalUnit>),
}

/// `EXCLUDE ..` of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameExclude {
    /// `EXCLUDE CURRENT ROW`
    CurrentRow,
    /// `EXCLUDE GROUP`
    Group,
    /// `EXCLUDE TIES`
    Ties,
    /// `EXCLUDE NO OTHERS`
    NoOthers,
}
