//! The bound expression: what the binder makes of the parser's tree once names are columns, functions are known and
//! types are inferred. A tree of [`Expr`], and all that its forms hold: they are in one file as each needs the others.
//!
//! Never here: what is done with a tree. It is walked in `walk`, evaluated in `eval`, made text for messages in `print`.

use std::fmt;

use types::SqlError;
use types::charset::Charset;
use types::collation::CollationId;
use types::temporal::IntervalUnit;

pub use super::cast_to::CastTo;
use super::column_name::ColumnName;
use super::compare::Comparer;
use super::ctx::{EvalCtx, RowSource};
use super::infer::{Arith, Domain};
use super::regex::Compiled;
use super::ty::ExprType;
use super::val::Val;
use crate::vars::{ReadScope, VarId};

/// The slot through which an [`Node::Aggregate`] asks the row for its value.
pub const AGGREGATE_SLOT: u16 = u16::MAX;
/// The slot through which a [`Node::Inserted`] (`VALUES(c)`) asks for the row that was to be inserted.
pub const INSERTED_SLOT: u16 = u16::MAX - 1;

/// The slot through which a [`Node::Window`] asks the row for its value.
pub const WINDOW_SLOT: u16 = u16::MAX - 4;

/// A bound expression and its type.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it does.
    pub node: Node,
    /// What it yields.
    pub ty: ExprType,
}

/// A column of the row.
#[derive(Clone)]
pub struct Column {
    /// Which input of the operator.
    pub slot: u16,
    /// Which column of that input.
    pub ordinal: u16,
    /// The stored value is UTC and becomes session time when read (TIMESTAMP of a base table).
    pub utc: bool,
    /// How messages name it.
    pub name: ColumnName,
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}.{}", self.name, self.slot, self.ordinal)
    }
}

/// Comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CmpOp {
    /// `=`
    Eq,
    /// `<=>`
    NullSafeEq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl CmpOp {
    /// What the operator says of two values in that order.
    #[inline]
    pub const fn holds(self, o: std::cmp::Ordering) -> bool {
        match self {
            CmpOp::Eq | CmpOp::NullSafeEq => o.is_eq(),
            CmpOp::Ne => o.is_ne(),
            CmpOp::Lt => o.is_lt(),
            CmpOp::Le => o.is_le(),
            CmpOp::Gt => o.is_gt(),
            CmpOp::Ge => o.is_ge(),
        }
    }

    /// The operator that holds for swapped operands.
    pub const fn flipped(self) -> CmpOp {
        match self {
            CmpOp::Lt => CmpOp::Gt,
            CmpOp::Le => CmpOp::Ge,
            CmpOp::Gt => CmpOp::Lt,
            CmpOp::Ge => CmpOp::Le,
            o => o,
        }
    }

    /// As SQL writes it.
    pub const fn symbol(self) -> &'static str {
        match self {
            CmpOp::Eq => "=",
            CmpOp::NullSafeEq => "<=>",
            CmpOp::Ne => "<>",
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
        }
    }
}

/// Operators on bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BitOp {
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
}

/// A call of a built-in function.
#[derive(Debug, Clone)]
pub struct Call {
    /// The function.
    pub def: &'static FuncDef,
    /// Its arguments.
    pub args: Vec<Expr>,
}

/// CASE.
#[derive(Debug, Clone)]
pub struct Case {
    /// The compared value of the simple form.
    pub operand: Option<Expr>,
    /// When, how it is compared with the operand, then.
    pub arms: Vec<(Expr, Comparer, Expr)>,
    /// ELSE.
    pub otherwise: Option<Expr>,
}

/// What an expression does.
#[derive(Debug, Clone)]
pub enum Node {
    /// A value known when the statement was bound.
    Const(Val<'static>),
    /// A computed number in floating point that is known: how it is computed, and what it is.
    Known(Box<Expr>, Val<'static>),
    /// A column.
    Column(Column),
    /// `VALUES(c)`: a column of the row that was to be inserted.
    Inserted(Column),
    /// `?`
    Param(u32, bool),
    /// `@name`
    UserVar(Box<str>),
    /// `@name := x`
    AssignVar(Box<str>, Box<Expr>),
    /// `@@name`
    SysVar(VarId, Option<ReadScope>),
    /// `(a, b, ..)`
    Row(Vec<Expr>),
    /// `-x`, in that domain.
    Neg(Domain, Box<Expr>),
    /// `~x`
    BitNot(Box<Expr>),
    /// `NOT x`
    Not(Box<Expr>),
    /// Arithmetic in that domain.
    Arith(Arith, Domain, Box<[Expr; 2]>),
    /// Bits.
    Bits(BitOp, Box<[Expr; 2]>),
    /// A comparison.
    Compare(CmpOp, Comparer, Box<[Expr; 2]>),
    /// `a AND b ..`
    And(Vec<Expr>),
    /// `a OR b ..`
    Or(Vec<Expr>),
    /// `a XOR b`
    Xor(Box<[Expr; 2]>),
    /// `x IS [NOT] NULL`; `true` for NOT.
    IsNull(Box<Expr>, bool),
    /// `x IS [NOT] TRUE | FALSE`; the truth, `true` for NOT.
    IsTruth(Box<Expr>, bool, bool),
    /// `x [NOT] BETWEEN low AND high`: operands, comparers with low and high, `true` for NOT.
    Between(Box<[Expr; 3]>, Box<[Comparer; 2]>, bool),
    /// `x [NOT] IN (..)`
    In(Box<InList>),
    /// `x [NOT] LIKE p`
    Like(Box<LikeNode>),
    /// `x [NOT] REGEXP p` and the REGEXP_ functions.
    Regexp(Box<RegexpNode>),
    /// CASE.
    Case(Box<Case>),
    /// CAST.
    Cast(Box<Expr>, CastTo),
    /// Text of one character set as text of another.
    Transcode(Box<Expr>, Charset, Charset),
    /// `x COLLATE c`; the collation is in the type.
    Collate(Box<Expr>),
    /// A value in the form its type says: the arms of a CASE, the columns of a UNION.
    Coerce(Box<Expr>),
    /// `d + INTERVAL n unit`; `true` for minus.
    DateArith(Box<[Expr; 2]>, IntervalUnit, bool),
    /// `EXTRACT(unit FROM x)`
    Extract(IntervalUnit, Box<Expr>),
    /// `TIMESTAMPDIFF(unit, a, b)`
    TimestampDiff(IntervalUnit, Box<[Expr; 2]>),
    /// A function.
    Call(Call),
    /// The value of an aggregate, by its place in the list the binder collected.
    Aggregate(u32),
    /// The value of a window function, by its place in the list the binder collected.
    Window(u32),
    /// `(SELECT ..)` as a value, by its place in the list the binder collected.
    Subquery(u32),
    /// `EXISTS (SELECT ..)`
    Exists(u32),
    /// `x op ANY | ALL (SELECT ..)`; IN is `= ANY`, NOT IN is `<> ALL`.
    Quantified(Box<Quantified>),
}

/// A comparison with the rows of a subquery.
#[derive(Debug, Clone)]
pub struct Quantified {
    /// The left operand; a row for a subquery of several columns.
    pub expr: Expr,
    /// The operator.
    pub op: CmpOp,
    /// ALL rather than ANY.
    pub all: bool,
    /// How each column is compared.
    pub comparers: Vec<Comparer>,
    /// The subquery's place in the list.
    pub subquery: u32,
}

/// The members.
#[derive(Debug, Clone)]
pub enum Members {
    /// Constants in the comparer's order, without NULL; with their type.
    Sorted(Comparer, Vec<Val<'static>>, ExprType),
    /// Anything, in the order written.
    Each(Vec<(Comparer, Expr)>),
}

/// `x [NOT] IN (..)`.
#[derive(Debug, Clone)]
pub struct InList {
    /// The left operand.
    pub expr: Expr,
    /// The members.
    pub members: Members,
    /// NULL is among the constants of [`Members::Sorted`].
    pub has_null: bool,
    /// NOT was written.
    pub negated: bool,
}

/// `x [NOT] LIKE pattern`.
#[derive(Debug, Clone)]
pub struct LikeNode {
    /// The text.
    pub text: Expr,
    /// The pattern.
    pub pattern: Expr,
    /// The escape character; `None` for none.
    pub escape: Option<u32>,
    /// What says the escape character where it is known only when the statement runs (`ESCAPE ?`): it counts then.
    pub given: Option<Expr>,
    /// By which characters are equal.
    pub collation: CollationId,
    /// NOT was written.
    pub negated: bool,
}

/// What a regular expression is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegexpUse {
    /// REGEXP, REGEXP_LIKE(x, p [, flags]).
    Like,
    /// REGEXP_INSTR(x, p [, pos [, occurrence [, return_option [, flags]]]]).
    Instr,
    /// REGEXP_SUBSTR(x, p [, pos [, occurrence [, flags]]]).
    Substr,
    /// REGEXP_REPLACE(x, p, r [, pos [, occurrence [, flags]]]).
    Replace,
}

/// A use of a regular expression.
#[derive(Debug, Clone)]
pub struct RegexpNode {
    /// What for.
    pub usage: RegexpUse,
    /// The arguments of the function.
    pub args: Vec<Expr>,
    /// By which case matters.
    pub collation: CollationId,
    /// NOT was written.
    pub negated: bool,
    /// The expression prepared, where pattern and flags are constant.
    pub prepared: Option<Compiled>,
}

/// Infers the type of a call; may wrap arguments in conversions.
pub type InferFn = fn(&InferCx<'_>, &mut [Expr]) -> Result<ExprType, SqlError>;
/// Computes a call for a row.
pub(crate) type EvalFn = for<'a> fn(Args<'a>) -> Result<Val<'a>, SqlError>;

/// When the same arguments may give another result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stability {
    /// Never.
    Pure,
    /// In another session or statement.
    Statement,
    /// In the next row.
    Row,
    /// As `Row`, and it may have to wait.
    Special,
}

/// A built-in function.
pub struct FuncDef {
    /// Its name in lower case.
    pub name: &'static str,
    /// Fewest arguments.
    pub min: u8,
    /// Most arguments; [`MANY`](super::func::MANY) for no limit.
    pub max: u8,
    pub(super) infer: InferFn,
    pub(super) eval: EvalFn,
    pub(super) stability: Stability,
    /// Its arguments are numbers, hexadecimal and bit literals too.
    pub(super) numbers: bool,
    /// It does little more than to read its arguments once: a call of it keeps nobody waiting who is served by the same thread.
    pub light: bool,
}

impl std::fmt::Debug for FuncDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The arguments of a call and what they are evaluated with.
#[derive(Clone, Copy)]
pub(crate) struct Args<'a> {
    /// The argument expressions.
    pub(crate) args: &'a [Expr],
    /// The type of the call.
    pub(crate) ty: &'a ExprType,
    /// The surroundings.
    pub(crate) cx: &'a EvalCtx<'a>,
    /// The row.
    pub(crate) row: &'a dyn RowSource,
}

/// What inference knows besides the arguments.
#[derive(Debug, Clone, Copy)]
pub struct InferCx<'c> {
    /// The surroundings the statement is bound in.
    pub cx: &'c EvalCtx<'c>,
    /// `collation_connection`.
    pub connection: CollationId,
    /// The function's name, for messages.
    pub name: &'static str,
}
