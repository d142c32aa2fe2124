//! What binding yields: statements whose names are resolved and whose expressions are typed, with nothing decided about how they are
//! carried out. Plain data.
//!
//! A query has the same shape bound and planned; only the block in it differs ([`BoundBlock`] here, [`crate::plan::Block`] there).
//!
//! Tables have *slots*: numbers unique in the whole statement, consecutive within one query block, so that an expression of a
//! subquery can name a row of the block around it.

use std::sync::Arc;

use engine::{ObjectDef, Table};
use types::{Charset, DataType};

use super::cte_rows::Shared;
use super::from::Joins;
use super::hinted::BlockHints;
use super::params::TypedParam;
use super::relations::Relations;
use super::row_rules::RowRules;
use super::scope::FromTable;
use super::window_tree::Windows;
use crate::sink::ColumnMeta;
use sql_access::needs::Needs;
use sql_expr::agg::AggSpec;
use sql_expr::bind::SubqueryKind;
use sql_expr::{Comparer, Expr, ExprType};
use sql_parser::ast::{self, TextFormat};

/// Slot of the columns a grouped row carries besides its aggregates.
pub const GROUP_SLOT: u16 = u16::MAX - 2;
/// Slot of the result columns of a set operation, in its ORDER BY.
pub const OUTPUT_SLOT: u16 = u16::MAX - 3;
/// Slot of the columns that a row on its way to the window functions carries.
pub const WINDOW_ROW_SLOT: u16 = u16::MAX - 5;
pub use super::node_id::NodeId;
pub use super::rollup::ROLLUP_SLOT;
/// Slots from here on are none of a table.
pub const FIRST_SPECIAL_SLOT: u16 = u16::MAX - 16;
pub use super::sort_key::SortKey;
pub(crate) use sql_expr::INSERTED_SLOT as INSERTED;

/// A statement with its names resolved.
pub(crate) struct BoundStatement {
    /// What it does.
    pub body: BoundBody,
    /// Its result columns; empty for a statement without a result set.
    pub columns: Vec<ColumnMeta>,
    /// What was learned of it beside.
    pub facts: Facts,
}

/// A stored table that a statement uses.
#[derive(Clone)]
pub struct UsedTable {
    /// The table.
    pub table: Arc<Table>,
    /// Its rows change, or are locked as for a change.
    pub writes: bool,
}

impl UsedTable {
    /// One more, unless it is there.
    pub(crate) fn add(all: &mut Vec<UsedTable>, table: &Arc<Table>, writes: bool) {
        match all.iter_mut().find(|o| Arc::ptr_eq(&o.table, table)) {
            Some(there) => there.writes |= writes,
            None => all.push(UsedTable {
                table: Arc::clone(table),
                writes,
            }),
        }
    }
}

/// What binding learns of a statement beside what it does.
pub(crate) struct Facts {
    /// What is needed to be allowed to run it.
    pub needs: Needs,
    /// The stored tables it uses, each once.
    pub tables: Vec<UsedTable>,
    /// The views that it reads by, each once.
    pub views: Vec<Arc<ObjectDef>>,
    /// The tables that foreign keys lead to, each once; they may be among those, too.
    pub related: Vec<UsedTable>,
    /// Number of parameters it reads.
    pub params: u32,
    /// Parameters whose type decides what is computed.
    pub typed_params: Box<[TypedParam]>,
    /// It has a locking clause.
    pub locks: bool,
    /// It depends on the types that user variables had.
    pub private: bool,
    /// How long it may run.
    pub time_limit: TimeLimit,
    /// Optimizer hints, by the number of their block.
    pub hints: Vec<(u32, ast::Hints)>,
    /// The first slot that nothing has.
    pub next_slot: u16,
}

/// What a statement does.
pub(crate) enum BoundBody {
    /// Any query.
    Query(Box<BoundQuery>),
    /// INSERT, REPLACE.
    Insert(Box<Insert<BoundBlock>>),
    /// UPDATE.
    Update(Box<BoundUpdate>),
    /// DELETE.
    Delete(Box<BoundDelete>),
    /// DO.
    Do(Box<BoundBlock>),
    /// EXPLAIN of a statement.
    Explain(Box<BoundBody>, ExplainForm),
}

/// In what form EXPLAIN shows a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainForm {
    /// A row for each table.
    Table,
    /// `FORMAT=TREE`.
    Tree,
    /// `FORMAT=JSON`.
    Json,
    /// As a tree, with what it did.
    Analyze,
}

/// A query with its names resolved.
pub(crate) type BoundQuery = Query<BoundBlock>;
/// A subquery with its names resolved.
pub(crate) type BoundSub = Sub<BoundBlock>;

/// One SELECT, or the row-finding part of UPDATE and DELETE, with its names resolved.
#[derive(Clone)]
pub(crate) struct BoundBlock {
    /// Its number in the statement, as EXPLAIN calls it.
    pub number: u32,
    /// What optimizer hints say of it.
    pub hints: BlockHints,
    /// Slot of the first table.
    pub base: u16,
    /// The tables in the order of FROM.
    pub tables: Vec<FromTable>,
    /// The locking clause of each table.
    pub locks: Vec<Option<LockSpec>>,
    /// Queries of derived tables, by number.
    pub derived: Vec<BoundQuery>,
    /// How the tables are joined, and the conditions of WHERE and ON.
    pub joins: Joins,
    /// Tables are read in the order written.
    pub straight: bool,
    /// GROUP BY and aggregates; what a group carries is found when it is planned.
    pub group: Option<GroupPlan>,
    /// HAVING.
    pub having: Option<Expr>,
    /// Window functions.
    pub windows: Option<Box<Windows>>,
    /// The select list.
    pub output: Vec<Expr>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// LIMIT.
    pub limit: Option<LimitPlan>,
    /// SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
    /// Subqueries, by the index their expressions use.
    pub subqueries: Vec<BoundSub>,
    /// In what form its values leave it.
    pub yields: Yields,
    /// It has been rewritten.
    pub rewritten: bool,
}

/// UPDATE.
pub(crate) struct BoundUpdate {
    /// Finds the rows.
    pub block: BoundBlock,
    /// What changes, by table.
    pub targets: Vec<UpdateTarget>,
    /// Its text names several tables, whether or not all of them change.
    pub several: bool,
    /// IGNORE.
    pub ignore: bool,
    /// The foreign keys that it meets.
    pub relations: Option<Arc<Relations>>,
    /// Subqueries of CHECK OPTION, by the index their conditions use.
    pub checks: Vec<BoundSub>,
}

/// DELETE.
pub(crate) struct BoundDelete {
    /// Finds the rows.
    pub block: BoundBlock,
    /// Tables that lose rows.
    pub targets: Vec<u16>,
    /// IGNORE.
    pub ignore: bool,
    /// The foreign keys that it meets.
    pub relations: Option<Arc<Relations>>,
}

/// How long a statement may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// It is no SELECT: `max_execution_time` does not apply.
    Never,
    /// As long as the session's `max_execution_time` says.
    Session,
    /// So many milliseconds, by a hint.
    Hint(u32),
}

impl TimeLimit {
    /// The limit of a statement.
    pub fn of(stmt: &ast::Statement) -> TimeLimit {
        let ast::Statement::Query(q) = stmt else {
            return TimeLimit::Never;
        };
        let mut body = &q.body;
        loop {
            body = match body {
                ast::QueryBody::Select(s) => {
                    // A hint of 0 says nothing.
                    return match s.options.max_execution_time {
                        Some(ms) if ms > 0 => TimeLimit::Hint(ms),
                        _ => TimeLimit::Session,
                    };
                }
                ast::QueryBody::Nested(q) => &q.body,
                ast::QueryBody::Set(s) => &s.first,
                _ => return TimeLimit::Session,
            };
        }
    }
}

/// A locking clause for one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockSpec {
    /// FOR UPDATE.
    pub exclusive: bool,
    /// What to do about rows others hold.
    pub wait: sql_parser::ast::LockWait,
}

/// A query: a block, a list of rows, or a set operation over queries.
#[derive(Clone)]
pub struct Query<B> {
    /// What makes the rows.
    pub body: Body<B>,
    /// Types of the columns.
    pub types: Vec<ExprType>,
    /// ORDER BY of a set operation or row list, over [`OUTPUT_SLOT`].
    pub order: Vec<SortKey>,
    /// LIMIT of a set operation or row list.
    pub limit: Option<LimitPlan>,
    /// Where the rows go.
    pub into: Destination,
    /// The lowest slot of a block around it that it reads; `u16::MAX` for none.
    pub lowest: u16,
    /// It is a common table expression, which others may name as well.
    pub shared: Option<Shared>,
}

/// Where the rows of a query go.
#[derive(Clone)]
pub enum Destination {
    /// To the client, or into the statement around it.
    Client,
    /// INTO @a, @b.
    Variables(Vec<Box<str>>),
    /// INTO OUTFILE and INTO DUMPFILE.
    File(Arc<IntoFile>),
}

/// The file of a SELECT ... INTO.
pub struct IntoFile {
    /// Its path, as given.
    pub path: Box<[u8]>,
    /// The columns, as a client would be told.
    pub columns: Vec<ColumnMeta>,
    /// What is written.
    pub form: FileForm,
}

/// What SELECT ... INTO writes to a file.
pub enum FileForm {
    /// DUMPFILE: the bytes of one row.
    Dump,
    /// OUTFILE: lines of fields.
    Lines {
        /// CHARACTER SET; text stays as it is without one.
        charset: Option<Charset>,
        /// FIELDS and LINES.
        format: TextFormat,
    },
}

/// What makes a query's rows.
#[derive(Clone)]
pub enum Body<B> {
    /// SELECT.
    Block(Box<B>),
    /// VALUES ROW(..), ..
    Rows(Vec<Vec<Expr>>, Vec<Sub<B>>),
    /// UNION, EXCEPT, INTERSECT, left to right.
    Set(Box<Query<B>>, Vec<SetArm<B>>),
    /// A common table expression that names itself.
    Recursive(Box<Recursive<B>>),
    /// What a recursive query reads where it names itself: the rows that it has not read yet, by the query's [`Recursive::feed`].
    Feed(u16),
    /// JSON_TABLE.
    Json(Box<JsonRows>),
}

/// The rows of JSON_TABLE.
#[derive(Clone)]
pub struct JsonRows {
    /// The document.
    pub doc: Expr,
    /// What makes rows of it.
    pub table: Arc<sql_expr::json::table::Table>,
}

/// A query that is carried out again on the rows that it has made.
#[derive(Clone)]
pub struct Recursive<B> {
    /// What makes the first rows.
    pub seed: Query<B>,
    /// What makes more of them, each reading the rows by a [`Body::Feed`].
    pub members: Vec<Query<B>>,
    /// Each row is there once.
    pub distinct: bool,
    /// A number that no other query of the statement has.
    pub feed: u16,
    /// The columns: their names, and the types that values of the members are converted to.
    pub columns: Vec<(Box<str>, DataType)>,
}

/// A further operand of a set operation.
#[derive(Clone)]
pub struct SetArm<B> {
    /// The operation.
    pub op: sql_parser::ast::SetOp,
    /// ALL.
    pub all: bool,
    /// The operand.
    pub query: Query<B>,
}

/// A subquery of an expression.
#[derive(Clone)]
pub struct Sub<B> {
    /// Its name in the plan.
    pub id: NodeId,
    /// What makes its rows.
    pub query: Query<B>,
    /// What it is used for.
    pub kind: SubqueryKind,
    /// It reads rows of the block around it: evaluated again for every row.
    pub correlated: bool,
    /// Columns it reads of blocks around it.
    pub outer: Vec<(u16, u16)>,
    /// Which of its rows decide, where it is for `< ANY`, `> ALL` and the like; found when it is planned.
    pub extreme: Option<Extreme>,
    /// It has the same rows wherever those columns have the same values; found when it is planned.
    pub repeats: bool,
}

/// The only rows of a subquery that a comparison with ANY or ALL of them depends on: the least or greatest one and one that is NULL.
#[derive(Debug, Clone, PartialEq)]
pub struct Extreme {
    /// How they are compared.
    pub comparer: Comparer,
    /// The greatest.
    pub greatest: bool,
}

/// GROUP BY and aggregates.
#[derive(Clone)]
pub struct GroupPlan {
    /// The grouping values; empty for one group of everything.
    pub keys: Vec<Expr>,
    /// The aggregates.
    pub aggregates: Vec<AggSpec>,
    /// Columns of a group's first row that later expressions read, by [`GROUP_SLOT`].
    pub carried: Vec<Expr>,
    /// How subqueries read the aggregates.
    pub below: SubAggregates,
    /// WITH ROLLUP.
    pub rollup: Option<Box<Rollup>>,
    /// Every aggregate is COUNT(*).
    pub only_count_star: bool,
}

/// WITH ROLLUP.
#[derive(Clone)]
pub struct Rollup {
    /// The order of the grouping values.
    pub order: Vec<SortKey>,
    /// The arguments of each GROUPING, by the place of the grouping value.
    pub groupings: Vec<Vec<u16>>,
}

/// Under which slots the subqueries of a block read its aggregates: `slot` has them all, and the next one those from place `own` on,
/// which stand in the subqueries themselves.
#[derive(Debug, Clone, Copy)]
pub struct SubAggregates {
    /// The slot; `u16::MAX` for a block without subqueries.
    pub slot: u16,
    /// How many aggregates stand in the block itself.
    pub own: usize,
}

impl SubAggregates {
    /// Whether a slot is one of the two.
    pub fn has(self, slot: u16) -> bool {
        self.slot != u16::MAX && (slot == self.slot || slot == self.slot + 1)
    }

    /// The place of the aggregate that a column of the slots stands for.
    pub fn place(self, slot: u16, ordinal: u16) -> usize {
        usize::from(ordinal) + if slot == self.slot { 0 } else { self.own }
    }
}

/// LIMIT.
#[derive(Debug, Clone)]
pub struct LimitPlan {
    /// How many rows.
    pub count: Expr,
    /// How many to skip.
    pub offset: Option<Expr>,
}

/// INSERT and REPLACE.
pub struct Insert<B> {
    /// The table.
    pub table: Arc<Table>,
    /// Slot by which values and ON DUPLICATE KEY UPDATE read the table's row.
    pub slot: u16,
    /// REPLACE.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// The columns that get values, in order.
    pub columns: Vec<u16>,
    /// Where the values come from.
    pub source: InsertRows<B>,
    /// Columns of the SELECT's tables that ON DUPLICATE KEY UPDATE reads, by slot and place: the query yields them behind the values.
    pub source_columns: Vec<(u16, u16)>,
    /// What each column of the table gets where no value is given.
    pub defaults: Vec<DefaultPlan>,
    /// ON DUPLICATE KEY UPDATE.
    pub on_duplicate: Vec<Assign>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that ON DUPLICATE KEY UPDATE does not assign.
    pub touch: Vec<u16>,
    /// What is to hold of new rows. Their generated columns are among the defaults.
    pub rules: RowRules,
    /// What is to hold of rows that ON DUPLICATE KEY UPDATE changes.
    pub rules_of_changes: RowRules,
    /// Subqueries of the values.
    pub subqueries: Vec<Sub<B>>,
    /// The foreign keys that it meets.
    pub relations: Option<Arc<Relations>>,
    /// The view through which it inserts.
    pub through: Option<Box<str>>,
    /// Subqueries of CHECK OPTION, by the index their conditions use.
    pub checks: Vec<Sub<B>>,
}

/// In what form a block's values leave it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Yields {
    /// As clients see them: a quotient has the digits of its type.
    #[default]
    Shown,
    /// As they are computed with further.
    Computed,
    /// As they are assigned to columns of these types; those behind them as they are shown.
    Assigned(Vec<DataType>),
}

/// Rows to insert.
pub enum InsertRows<B> {
    /// VALUES.
    Values(Vec<Vec<InsertValue>>),
    /// SELECT.
    Query(Box<Query<B>>),
}

/// One value of VALUES or SET.
pub enum InsertValue {
    /// An expression.
    Expr(Expr),
    /// DEFAULT.
    Default,
}

/// What a column gets by default.
#[derive(Debug, Clone)]
pub enum DefaultPlan {
    /// A constant of the column's type.
    Value(types::Value),
    /// The statement's time.
    Now,
    /// An expression.
    Expr(Expr),
    /// The expression of a generated column, over the row alone.
    Generated(Expr),
    /// The next AUTO_INCREMENT value.
    Auto,
    /// Nothing: an error in strict mode.
    Missing,
}

/// `column = value`.
pub struct Assign {
    /// The column.
    pub column: u16,
    /// The value; `None` for DEFAULT.
    pub value: Option<Expr>,
}

/// The changes of one table.
pub struct UpdateTarget {
    /// Which table of the block.
    pub table: u16,
    /// The assignments, in order.
    pub assigns: Vec<Assign>,
    /// Defaults for `= DEFAULT`.
    pub defaults: Vec<(u16, DefaultPlan)>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
    pub touch: Vec<u16>,
    /// What is to hold of the rows that change.
    pub rules: RowRules,
}

impl UpdateTarget {
    /// Whether a column is assigned, takes the time of the change, or is computed from one that does.
    pub fn changes(&self, column: u16) -> bool {
        self.touch.contains(&column)
            || self.assigns.iter().any(|a| a.column == column)
            || self.rules.generates(column)
                && !base::mutant!("index-of-a-generated-column-left-behind")
    }
}

impl BoundBlock {
    /// A block that yields one row of nothing.
    pub fn empty(base: u16) -> BoundBlock {
        BoundBlock {
            number: 0,
            hints: BlockHints::default(),
            base,
            tables: Vec::new(),
            locks: Vec::new(),
            derived: Vec::new(),
            joins: Joins::default(),
            straight: false,
            group: None,
            having: None,
            windows: None,
            output: Vec::new(),
            distinct: false,
            order: Vec::new(),
            limit: None,
            calc_found_rows: false,
            subqueries: Vec::new(),
            yields: Yields::Shown,
            rewritten: false,
        }
    }
}

impl<B> Query<B> {
    /// A query of one block.
    pub(crate) fn of_block(block: B, types: Vec<ExprType>, lowest: u16) -> Query<B> {
        Query {
            body: Body::Block(Box::new(block)),
            types,
            order: Vec::new(),
            limit: None,
            into: Destination::Client,
            lowest,
            shared: None,
        }
    }

    /// Whether its rows are made once for several that read them: then all rows are wanted, whatever one of them needs.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.as_ref().is_some_and(Shared::is_named_again)
    }
}
