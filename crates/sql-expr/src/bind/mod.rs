//! From the parser's tree to bound expressions: names become columns through a [`Scope`], functions are looked up,
//! types inferred, constants computed, aggregates collected.
//!
//! A bound expression belongs to the settings it was bound under: `collation_connection`, `sql_mode`, `time_zone`,
//! `div_precision_increment`, the types of user variables. Nothing here reads rows or plans subqueries: the scope does.

mod aggregate;
mod call;
mod compare;
mod fold;
mod json_table;
mod literal;
mod operators;
mod special;
mod subquery;
mod window;

use types::error::codes;
use types::{CollationId, Level, SqlError, Warning};

use super::agg::AggSpec;
use super::column_name::ColumnName;
use super::ctx::EvalCtx;
use super::node::{Column, Expr, Node};
use super::sysvar;
use super::ty::{Coercibility, ExprType, Shape};
use crate::vars::{ReadScope, SessionVars};
use crate::window::{BoundOver, WindowFn};
use sql_parser::ast;

pub(super) use fold::fold;
pub use json_table::json_table;
pub use window::{UNNAMED, misplaced_alias};

/// Where in a statement an expression stands, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clause {
    /// The select list, SET of UPDATE, VALUES of INSERT.
    FieldList,
    /// WHERE.
    Where,
    /// ON and USING.
    On,
    /// GROUP BY.
    GroupBy,
    /// HAVING.
    Having,
    /// The arguments of an aggregate in HAVING.
    HavingAggregate,
    /// ORDER BY.
    OrderBy,
    /// PARTITION BY of a window.
    WindowPartition,
    /// ORDER BY of a window.
    WindowOrder,
    /// The ends of a window's frame.
    WindowFrame,
    /// The document of JSON_TABLE.
    TableFunction,
    /// LIMIT and other places without columns.
    Elsewhere,
}

impl Clause {
    /// How error 1054 names it.
    pub const fn text(self) -> &'static str {
        match self {
            Clause::FieldList | Clause::Elsewhere => "field list",
            Clause::Where => "where clause",
            Clause::On => "on clause",
            Clause::GroupBy => "group statement",
            Clause::Having | Clause::HavingAggregate => "having clause",
            Clause::OrderBy => "order clause",
            Clause::WindowPartition => "window partition by",
            Clause::WindowOrder => "window order by",
            Clause::WindowFrame => "window frame bound",
            Clause::TableFunction => "a table function argument",
        }
    }
}

/// A column that a name stands for.
#[derive(Debug, Clone)]
pub struct ResolvedColumn {
    /// Which input of the operator.
    pub slot: u16,
    /// Which column of that input.
    pub ordinal: u16,
    /// Its type.
    pub ty: ExprType,
    /// The stored value is UTC: a TIMESTAMP of a base table.
    pub utc: bool,
    /// How messages name it.
    pub name: ColumnName,
}

/// What a name stands for.
#[derive(Debug, Clone)]
pub enum Resolved {
    /// A column.
    Column(ResolvedColumn),
    /// An expression: the alias of a select item, a column of a merged view.
    Expr(Expr),
}

/// What a subquery is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubqueryKind {
    /// As a value, or a row of values.
    Scalar,
    /// EXISTS.
    Exists,
    /// IN, ANY, ALL.
    Rows,
}

/// A subquery the scope has taken charge of.
#[derive(Debug, Clone)]
pub struct BoundSubquery {
    /// By which the expression asks for its value.
    pub index: u32,
    /// The types of its columns.
    pub columns: Vec<ExprType>,
}

/// Where an aggregate belongs.
#[derive(Debug)]
pub enum AggregatePlace {
    /// To the query block that it stands in.
    Here(Box<AggSpec>),
    /// To a block around, whose value this reads.
    Around(Expr),
}

/// What the names of an expression can mean. The planner implements it.
pub trait Scope {
    /// The column of a name.
    ///
    /// # Errors
    /// 1054 for an unknown one, 1052 for an ambiguous one.
    fn column(&mut self, name: &ast::ColumnRef, clause: Clause) -> Result<Resolved, SqlError>;

    /// Plans a subquery and hands out its index.
    ///
    /// # Errors
    /// Whatever is wrong with it; 1235 where there can be none.
    fn subquery(
        &mut self,
        query: &ast::Query,
        kind: SubqueryKind,
    ) -> Result<BoundSubquery, SqlError> {
        let _ = (query, kind);
        Err(SqlError::not_supported("a subquery here"))
    }

    /// Says whether an argument of an aggregate is being bound; yields what was said before.
    fn in_aggregate(&mut self, inside: bool) -> bool {
        let _ = inside;
        false
    }

    /// The `collation_connection` of a text that was kept: its literals are in UTF-8, and mean what they meant then.
    fn kept_under(&self) -> Option<CollationId> {
        None
    }

    /// Whether there are query blocks around this one.
    fn has_around(&self) -> bool {
        false
    }

    /// To which query block an aggregate belongs.
    ///
    /// # Errors
    /// Whatever the planner says of it.
    fn aggregate_around(&mut self, spec: Box<AggSpec>) -> Result<AggregatePlace, SqlError> {
        Ok(AggregatePlace::Here(spec))
    }

    /// `DEFAULT(c)`.
    ///
    /// # Errors
    /// 1054, 1052, and 1364 for a column without a default.
    fn default_value(&mut self, name: &ast::ColumnRef, clause: Clause) -> Result<Expr, SqlError> {
        Err(SqlError::unknown_column(&column_text(name), clause.text()))
    }

    /// `VALUES(c)`: the column of the row that was to be inserted.
    ///
    /// # Errors
    /// 1054, 1052.
    fn inserted(
        &mut self,
        name: &ast::ColumnRef,
        clause: Clause,
    ) -> Result<ResolvedColumn, SqlError> {
        Err(SqlError::unknown_column(&column_text(name), clause.text()))
    }

    /// Whether window functions may stand here: in the select list and in ORDER BY of a SELECT.
    fn has_windows(&self) -> bool {
        false
    }

    /// A window function and its window, where [`has_windows`](Self::has_windows) says so: the number by which its value is asked for.
    ///
    /// # Errors
    /// Whatever the planner says of it.
    fn window(&mut self, function: WindowFn, over: BoundOver) -> Result<u32, SqlError> {
        let _ = (function, over);
        Err(SqlError::internal("no place for window functions"))
    }
}

/// A call with OVER.
#[derive(Debug, Clone, Copy)]
pub enum WindowUse<'a> {
    /// A function that only exists with OVER.
    Function(&'a ast::WindowCall),
    /// An aggregate with OVER.
    Aggregate(&'a ast::Aggregate),
}

/// A scope without columns: LIMIT, SET, VALUES.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoColumns;

impl Scope for NoColumns {
    fn column(&mut self, name: &ast::ColumnRef, clause: Clause) -> Result<Resolved, SqlError> {
        Err(SqlError::unknown_column(&column_text(name), clause.text()))
    }
}

/// A column's name as written, its parts joined by dots.
pub fn column_text(c: &ast::ColumnRef) -> String {
    let mut out = String::new();
    if let Some(q) = &c.qualifier {
        if let Some(s) = &q.schema {
            out.push_str(s);
            out.push('.');
        }
        out.push_str(&q.table);
        out.push('.');
    }
    out.push_str(&c.name);
    out
}

/// Warning 3986: a condition is a document. It holds unless it is the number 0, which may be meant or not.
pub fn warn_of_document(condition: &Expr, cx: &EvalCtx<'_>) {
    if condition.ty.shape == Shape::Json {
        let e = SqlError::fixed(codes::ER_IMPLICIT_COMPARISON_FOR_JSON);
        cx.warn(Warning::new(Level::Warning, e.code, e.message));
    }
}

/// Error 1241: an operand has the wrong number of columns.
pub(super) fn wrong_columns(n: usize) -> SqlError {
    SqlError::new(
        codes::ER_OPERAND_COLUMNS,
        format!("Operand should contain {n} column(s)"),
    )
}

/// Binds expressions of one clause.
pub struct Binder<'b> {
    cx: &'b EvalCtx<'b>,
    scope: &'b mut dyn Scope,
    clause: Clause,
    aggregates: Option<&'b mut Vec<AggSpec>>,
    inside_aggregate: bool,
    /// The arguments of a window function are being bound.
    inside_window: bool,
    /// The window whose specification is being bound, as messages call it.
    window_of: Option<Box<str>>,
    /// The types of the columns of the row subqueries bound so far, by the subquery's place in the list.
    rows: Vec<(u32, Vec<ExprType>)>,
}

impl<'b> Binder<'b> {
    /// The collation of literals, and of the text that functions make of what is none: the connection's, or that under which a text is kept.
    fn connection(&self) -> CollationId {
        self.scope.kept_under().unwrap_or(self.cx.collation)
    }

    /// For a clause where no aggregate may stand.
    pub fn new(cx: &'b EvalCtx<'b>, scope: &'b mut dyn Scope, clause: Clause) -> Binder<'b> {
        Binder {
            cx,
            scope,
            clause,
            aggregates: None,
            inside_aggregate: false,
            inside_window: false,
            window_of: None,
            rows: Vec::new(),
        }
    }

    /// Allows aggregates, which are collected in `list`.
    #[must_use]
    pub fn with_aggregates(mut self, list: &'b mut Vec<AggSpec>) -> Self {
        self.aggregates = Some(list);
        self
    }

    /// Binds an expression that yields one value.
    ///
    /// # Errors
    /// What MySQL says of it: 1054, 1052, 1305, 1582, 1111, 1267, 1241, 1193 …
    pub fn bind(&mut self, e: &ast::Expr) -> Result<Expr, SqlError> {
        let bound = self.bind_any(e)?;
        match bound.ty.shape {
            Shape::Row(_) => Err(wrong_columns(1)),
            _ => Ok(bound),
        }
    }

    /// Binds each of several expressions.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_all(&mut self, list: &[ast::Expr]) -> Result<Vec<Expr>, SqlError> {
        list.iter().map(|e| self.bind(e)).collect()
    }

    /// Binds a value or a row of values.
    pub(super) fn bind_any(&mut self, e: &ast::Expr) -> Result<Expr, SqlError> {
        use ast::Expr as A;
        self.cx.tick(8)?;
        let _deeper = self.cx.deeper(1)?;
        let bound = match e {
            A::Null
            | A::Bool(_)
            | A::Int(_)
            | A::Decimal(_)
            | A::Float(_)
            | A::Str(_)
            | A::Introduced(_)
            | A::Hex(_)
            | A::Bit(_)
            | A::Temporal(..) => self.literal(e)?,
            A::Param(n) => self.param(*n),
            A::Column(c) => match self.scope.column(c, self.clause)? {
                Resolved::Expr(e) => self.unless_window(e, c)?,
                Resolved::Column(c) => Self::column(c, Node::Column),
            },
            A::Values(c) => Self::column(self.scope.inserted(c, self.clause)?, Node::Inserted),
            A::DefaultOf(c) => self.scope.default_value(c, self.clause)?,
            A::UserVar(name) => self.user_var(name),
            A::AssignUserVar(name, value) => {
                let value = self.bind(value)?;
                let mut ty = value.ty;
                ty.bits = false;
                Expr {
                    node: Node::AssignVar(name.clone(), Box::new(value)),
                    ty,
                }
            }
            A::SysVar(v) => Self::sys_var(v)?,
            A::Row(members) => {
                let v = members
                    .iter()
                    .map(|m| self.bind_any(m))
                    .collect::<Result<Vec<_>, _>>()?;
                let nullable = v.iter().any(|m| m.ty.nullable);
                Expr {
                    ty: ExprType::plain(Shape::Row(v.len() as u16), nullable),
                    node: Node::Row(v),
                }
            }
            A::Unary(op, x) => self.unary(*op, x)?,
            A::Binary(op, a, b) => self.binary(*op, a, b)?,
            A::And(parts) => self.junction(parts, Node::And)?,
            A::Or(parts) => self.junction(parts, Node::Or)?,
            A::IsNull { expr, negated } => {
                let x = self.bind(expr)?;
                Expr {
                    node: Node::IsNull(Box::new(x), *negated),
                    ty: ExprType::truth(false),
                }
            }
            A::IsTruth {
                expr,
                value,
                negated,
            } => {
                let x = Box::new(self.bind(expr)?);
                let node = match value {
                    ast::Truth::True => Node::IsTruth(x, true, *negated),
                    ast::Truth::False => Node::IsTruth(x, false, *negated),
                    // The same as IS NULL, for which an index may serve.
                    ast::Truth::Unknown => Node::IsNull(x, *negated),
                };
                Expr {
                    node,
                    ty: ExprType::truth(false),
                }
            }
            A::Between(b) => self.between(b)?,
            A::InList(l) => self.in_list(l)?,
            A::Like(l) => self.like(l)?,
            A::Regexp(r) => self.regexp(r)?,
            A::Case(c) => self.case(c)?,
            A::Exists(_) | A::Subquery(_) | A::InSubquery(_) | A::Quantified(_) => {
                self.subquery(e)?
            }
            A::Call(c) => self.call(c)?,
            A::Aggregate(a) => self.aggregate(a)?,
            A::Window(w) => self.window(WindowUse::Function(w))?,
            _ => self.special(e)?,
        };
        Ok(fold(bound, self.cx))
    }

    fn column(c: ResolvedColumn, node: fn(Column) -> Node) -> Expr {
        let mut ty = c.ty;
        ty.bits = false;
        Expr {
            node: node(Column {
                slot: c.slot,
                ordinal: c.ordinal,
                utc: c.utc,
                name: c.name,
            }),
            ty,
        }
    }

    /// `?`: text until it meets something that says better, unless the context says what it is.
    fn param(&self, n: u32) -> Expr {
        let given = self.cx.param_types;
        if let Ok(at) = given.binary_search_by_key(&n, |p| p.0) {
            return Expr {
                node: Node::Param(n, true),
                ty: given[at].1,
            };
        }
        Expr {
            node: Node::Param(n, false),
            ty: ExprType::text(65_535, self.connection(), Coercibility::Literal, true),
        }
    }

    fn user_var(&self, name: &str) -> Expr {
        let ty = self.cx.with_user_vars(|u| u.get(name).map(|v| v.ty));
        let mut ty = ty.map_or(
            ExprType::text(16_777_215, self.connection(), Coercibility::Implicit, true),
            ExprType::or_null,
        );
        ty.boolean = false;
        if ty.is_text() {
            ty.coercibility = Coercibility::Implicit;
            ty.ascii = false;
            ty.bits = false;
        }
        Expr {
            node: Node::UserVar(name.into()),
            ty,
        }
    }

    fn sys_var(v: &ast::SysVar) -> Result<Expr, SqlError> {
        let scope = match v.scope {
            None => None,
            Some(ast::VarScope::Session) => Some(ReadScope::Session),
            Some(_) => Some(ReadScope::Global),
        };
        let name = match &v.prefix {
            Some(p) => format!("{p}.{}", v.name),
            None => v.name.to_string(),
        };
        let id = SessionVars::resolve(&name, scope)?;
        Ok(Expr {
            node: Node::SysVar(id, scope),
            ty: sysvar::ty(id.def()),
        })
    }
}
