//! The bound expression: what the binder makes of the parser's tree once names are columns, functions are known and
//! types are inferred. A tree of [`Expr`]; evaluation is in `eval`, text for messages in `print`.

use std::fmt;

use types::charset::Charset;
use types::collation::CollationId;
use types::temporal::IntervalUnit;

use super::column_name::ColumnName;
use super::compare::Comparer;
use super::ctx::EvalCtx;
use super::func::FuncDef;
use super::infer::{Arith, Domain};
use super::inlist::InList;
use super::pattern::{LikeNode, RegexpNode};
use super::ty::ExprType;
use super::val::Val;
use crate::vars::{ReadScope, VarId};

/// The slot through which an [`Node::Aggregate`] asks the row for its value.
pub const AGGREGATE_SLOT: u16 = u16::MAX;
/// The slot through which a [`Node::Inserted`] (`VALUES(c)`) asks for the row that was to be inserted.
pub const INSERTED_SLOT: u16 = u16::MAX - 1;

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

/// Targets of CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CastTo {
    /// SIGNED.
    Signed,
    /// UNSIGNED.
    Unsigned,
    /// DECIMAL(p, s).
    Decimal(u8, u8),
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// CHAR[(n)] of a character set.
    Char(Option<u32>, Charset),
    /// BINARY[(n)].
    Binary(Option<u32>),
    /// DATE.
    Date,
    /// TIME(fsp).
    Time(u8),
    /// DATETIME(fsp).
    DateTime(u8),
    /// YEAR.
    Year,
    /// JSON.
    Json,
}

impl CastTo {
    /// How warnings name it.
    pub const fn name(self) -> &'static str {
        match self {
            CastTo::Binary(_) => "cast_as_binary",
            CastTo::Json => "cast_as_json",
            _ => "cast_as_char",
        }
    }
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

impl Expr {
    /// A constant.
    pub fn constant(value: Val<'static>, ty: ExprType) -> Expr {
        Expr {
            node: Node::Const(value),
            ty,
        }
    }

    /// NULL.
    pub fn null() -> Expr {
        Self::constant(Val::Null, ExprType::null())
    }

    /// A column without more.
    pub fn column(slot: u16, ordinal: u16, ty: ExprType, name: &str) -> Expr {
        Expr {
            node: Node::Column(Column {
                slot,
                ordinal,
                utc: matches!(ty.shape, super::ty::Shape::Timestamp(_)),
                name: name.into(),
            }),
            ty,
        }
    }

    /// Its value where it is a constant.
    pub fn as_const(&self) -> Option<&Val<'static>> {
        match &self.node {
            Node::Const(v) | Node::Known(_, v) => Some(v),
            Node::Collate(e) => e.as_const(),
            _ => None,
        }
    }

    /// The column where it is nothing but a column.
    pub fn as_column(&self) -> Option<&Column> {
        match &self.node {
            Node::Column(c) => Some(c),
            Node::Collate(e) => e.as_column(),
            _ => None,
        }
    }

    /// Calls `f` with every direct part.
    pub fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match &self.node {
            Node::Const(_)
            | Node::Known(..)
            | Node::Column(_)
            | Node::Inserted(_)
            | Node::Param(..)
            | Node::UserVar(_)
            | Node::SysVar(..)
            | Node::Aggregate(_)
            | Node::Subquery(_)
            | Node::Exists(_) => {}
            Node::AssignVar(_, e)
            | Node::Neg(_, e)
            | Node::BitNot(e)
            | Node::Not(e)
            | Node::IsNull(e, _)
            | Node::IsTruth(e, ..)
            | Node::Cast(e, _)
            | Node::Transcode(e, ..)
            | Node::Collate(e)
            | Node::Coerce(e)
            | Node::Extract(_, e) => f(e),
            Node::Arith(_, _, p)
            | Node::Bits(_, p)
            | Node::Compare(_, _, p)
            | Node::Xor(p)
            | Node::DateArith(p, ..)
            | Node::TimestampDiff(_, p) => p.iter().for_each(f),
            Node::Between(p, ..) => p.iter().for_each(f),
            Node::Row(v) | Node::And(v) | Node::Or(v) => v.iter().for_each(f),
            Node::In(i) => i.each_child(f),
            Node::Like(l) => l.each_child(f),
            Node::Regexp(r) => r.args.iter().for_each(f),
            Node::Call(c) => c.args.iter().for_each(f),
            Node::Quantified(q) => f(&q.expr),
            Node::Case(c) => {
                if let Some(o) = &c.operand {
                    f(o);
                }
                for (w, _, t) in &c.arms {
                    f(w);
                    f(t);
                }
                if let Some(o) = &c.otherwise {
                    f(o);
                }
            }
        }
    }

    /// Calls `f` with this expression and everything in it, parents first, until it returns `false`.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Expr) -> bool) {
        if f(self) {
            self.each_child(&mut |c| c.walk(f));
        }
    }

    /// Whether `test` holds for this expression or anything in it.
    pub fn any(&self, test: &dyn Fn(&Expr) -> bool) -> bool {
        let mut found = false;
        self.walk(&mut |e| {
            found |= test(e);
            !found
        });
        found
    }

    /// Whether its value depends on the row: it reads a column or an aggregate.
    pub fn reads_row(&self) -> bool {
        self.any(&|e| {
            matches!(
                e.node,
                Node::Column(_) | Node::Inserted(_) | Node::Aggregate(_)
            )
        })
    }

    /// Whether it is the same for every row of a statement: no column, subquery, assignment or volatile function.
    pub fn is_row_constant(&self) -> bool {
        !self.any(&|e| match &e.node {
            Node::Column(_)
            | Node::Inserted(_)
            | Node::Aggregate(_)
            | Node::Subquery(_)
            | Node::Exists(_)
            | Node::Quantified(_)
            | Node::UserVar(_)
            | Node::AssignVar(..) => true,
            Node::Call(c) => c.def.volatile(),
            _ => false,
        })
    }

    /// Whether it may ask for a [`Special`](super::Special) (SLEEP, GET_LOCK …).
    pub fn has_special(&self) -> bool {
        self.any(&|e| matches!(&e.node, Node::Call(c) if c.def.special()))
    }

    /// The slots whose columns it reads, as bits; slots of 63 and above share the last bit.
    pub fn slots(&self) -> u64 {
        let mut bits = 0;
        self.walk(&mut |e| {
            if let Node::Column(c) = &e.node {
                bits |= 1 << c.slot.min(63);
            }
            true
        });
        bits
    }

    /// The expression as a value of type `ty`, as one of several that a CASE or a UNION chooses from.
    #[must_use]
    pub fn coerced_to(mut self, ty: &ExprType, cx: &EvalCtx<'_>) -> Expr {
        super::func::transcode(&mut self, ty.collation);
        if !super::cast::needs_coercion(&self.ty, ty) {
            return self;
        }
        // A date among texts is still the number of a date where one is asked for.
        let lossy = self.ty.is_temporal() && ty.is_text();
        if let Node::Const(v) | Node::Known(_, v) = &self.node
            && !lossy
        {
            let v = super::cast::coerce(v.reborrow(), &self.ty, ty, cx).into_owned();
            return Expr::constant(v, ty.nullable_if(self.ty.nullable));
        }
        let nullable = self.ty.nullable;
        let mut ty = *ty;
        ty.nullable = nullable;
        Expr {
            node: Node::Coerce(Box::new(self)),
            ty,
        }
    }

    /// Calls `f` with every column in it: to number slots and ordinals anew.
    pub fn map_columns(&mut self, f: &mut dyn FnMut(&mut Column)) {
        match &mut self.node {
            Node::Column(c) | Node::Inserted(c) => f(c),
            _ => self.each_child_mut(&mut |e| e.map_columns(f)),
        }
    }

    /// Calls `f` with every direct part.
    pub fn each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.node {
            Node::Const(_)
            | Node::Known(..)
            | Node::Column(_)
            | Node::Inserted(_)
            | Node::Param(..)
            | Node::UserVar(_)
            | Node::SysVar(..)
            | Node::Aggregate(_)
            | Node::Subquery(_)
            | Node::Exists(_) => {}
            Node::AssignVar(_, e)
            | Node::Neg(_, e)
            | Node::BitNot(e)
            | Node::Not(e)
            | Node::IsNull(e, _)
            | Node::IsTruth(e, ..)
            | Node::Cast(e, _)
            | Node::Transcode(e, ..)
            | Node::Collate(e)
            | Node::Coerce(e)
            | Node::Extract(_, e) => f(e),
            Node::Arith(_, _, p)
            | Node::Bits(_, p)
            | Node::Compare(_, _, p)
            | Node::Xor(p)
            | Node::DateArith(p, ..)
            | Node::TimestampDiff(_, p) => p.iter_mut().for_each(f),
            Node::Between(p, ..) => p.iter_mut().for_each(f),
            Node::Row(v) | Node::And(v) | Node::Or(v) => v.iter_mut().for_each(f),
            Node::In(i) => i.each_child_mut(f),
            Node::Like(l) => {
                f(&mut l.text);
                f(&mut l.pattern);
            }
            Node::Regexp(r) => r.args.iter_mut().for_each(f),
            Node::Call(c) => c.args.iter_mut().for_each(f),
            Node::Quantified(q) => f(&mut q.expr),
            Node::Case(c) => {
                if let Some(o) = &mut c.operand {
                    f(o);
                }
                for (w, _, t) in &mut c.arms {
                    f(w);
                    f(t);
                }
                if let Some(o) = &mut c.otherwise {
                    f(o);
                }
            }
        }
    }

    /// The collation its text compares by.
    pub fn collation(&self) -> CollationId {
        self.ty.collation
    }
}
