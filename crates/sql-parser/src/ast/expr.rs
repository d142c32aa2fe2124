//! Scalar expressions.

pub use types::temporal::IntervalUnit;

use super::{Aggregate, Call, Name, Query, WindowCall};

/// A scalar (or row) expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// `NULL`.
    Null,
    /// `TRUE` / `FALSE`.
    Bool(bool),
    /// An integer literal that fits 64 bits; a sign is a [`UnaryOp::Neg`] around it.
    Int(u64),
    /// A decimal literal (`1.50`, or an integer beyond 64 bits), digits as written.
    Decimal(Box<str>),
    /// A literal with an exponent.
    Float(f64),
    /// `'text'` in the connection's character set; escapes resolved, adjacent strings joined.
    Str(Box<[u8]>),
    /// A string, hex or bit literal behind `_charset`, or `N'text'`.
    Introduced(Box<IntroducedLit>),
    /// `X'4D'`, `0x4D`: the bytes.
    Hex(Box<[u8]>),
    /// `B'01'`, `0b01`: the bytes, high byte first, padded with zero bits on the left.
    Bit(Box<[u8]>),
    /// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'` and the ODBC braces.
    Temporal(TemporalKind, Box<[u8]>),
    /// `?`, numbered from 0 in order of appearance.
    Param(u32),
    /// A column (or, in routine bodies, a local variable).
    Column(ColumnRef),
    /// `@name`.
    UserVar(Name),
    /// `@name := value`.
    AssignUserVar(Name, Box<Expr>),
    /// `@@[scope.]name`.
    SysVar(Box<SysVar>),
    /// Bare `DEFAULT` as a value of `INSERT`, `UPDATE` or `SET`.
    Default,
    /// `DEFAULT(column)`.
    DefaultOf(ColumnRef),
    /// `VALUES(column)` in `ON DUPLICATE KEY UPDATE`.
    Values(ColumnRef),
    /// `(a, b, ..)` or `ROW(a, b, ..)`: at least two members.
    Row(Vec<Expr>),
    /// A prefix operator.
    Unary(UnaryOp, Box<Expr>),
    /// An infix operator.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a AND b AND ..`, flattened; at least two members.
    And(Vec<Expr>),
    /// `a OR b OR ..`, flattened; at least two members.
    Or(Vec<Expr>),
    /// `x IS [NOT] NULL`.
    IsNull {
        /// Operand.
        expr: Box<Expr>,
        /// `NOT` was given.
        negated: bool,
    },
    /// `x IS [NOT] TRUE | FALSE | UNKNOWN`.
    IsTruth {
        /// Operand.
        expr: Box<Expr>,
        /// What it is compared with.
        value: Truth,
        /// `NOT` was given.
        negated: bool,
    },
    /// `x [NOT] BETWEEN low AND high`.
    Between(Box<Between>),
    /// `x [NOT] IN (a, b, ..)`.
    InList(Box<InList>),
    /// `x [NOT] IN (SELECT ..)`.
    InSubquery(Box<InSubquery>),
    /// `x [NOT] LIKE pattern [ESCAPE e]`.
    Like(Box<Like>),
    /// `x [NOT] REGEXP | RLIKE pattern`.
    Regexp(Box<Regexp>),
    /// `x MEMBER OF (json)`.
    MemberOf(Box<Expr>, Box<Expr>),
    /// `[NOT] EXISTS (SELECT ..)` without the `NOT`.
    Exists(Box<Query>),
    /// `(SELECT ..)` as a scalar or row.
    Subquery(Box<Query>),
    /// `x op ANY | ALL (SELECT ..)`.
    Quantified(Box<Quantified>),
    /// `CASE ..`.
    Case(Box<Case>),
    /// `CAST(x AS type)` and `CONVERT(x, type)`.
    Cast(Box<Cast>),
    /// `CONVERT(x USING charset)`.
    ConvertUsing(Box<Expr>, Name),
    /// `x COLLATE collation`.
    Collate(Box<Expr>, Name),
    /// `d + INTERVAL n unit` in all its spellings (`DATE_ADD`, `ADDDATE`, `TIMESTAMPADD`, ..).
    DateArith(Box<DateArith>),
    /// `EXTRACT(unit FROM x)`.
    Extract(IntervalUnit, Box<Expr>),
    /// `TIMESTAMPDIFF(unit, a, b)`.
    TimestampDiff(Box<TimestampDiff>),
    /// `TRIM([side] [what] FROM x)`.
    Trim(Box<Trim>),
    /// `GET_FORMAT(kind, x)`.
    GetFormat(FormatKind, Box<Expr>),
    /// `CHAR(a, b, .. [USING charset])`.
    CharFn(Box<CharFn>),
    /// `WEIGHT_STRING(x [AS CHAR(n) | AS BINARY(n)])`.
    WeightString(Box<WeightString>),
    /// `column -> 'path'` and `column ->> 'path'`.
    JsonArrow(Box<JsonArrow>),
    /// `JSON_VALUE(doc, path [RETURNING type] [on empty] [on error])`.
    JsonValue(Box<JsonValue>),
    /// `MATCH (columns) AGAINST (x mode)`.
    Match(Box<Match>),
    /// An ordinary function call.
    Call(Box<Call>),
    /// An aggregate, or an aggregate used as a window function.
    Aggregate(Box<Aggregate>),
    /// A function that only exists with `OVER`.
    Window(Box<WindowCall>),
}

/// A column reference: `[[schema.]table.]name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRef {
    /// The column.
    pub name: Name,
    /// What stood before it.
    pub qualifier: Option<Box<Qualifier>>,
}

/// The part of a column reference before the column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qualifier {
    /// Schema, where written.
    pub schema: Option<Name>,
    /// Table or alias.
    pub table: Name,
}

/// A literal whose character set was written in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntroducedLit {
    /// Character set name without the underscore; `utf8mb3` for `N'..'`.
    pub charset: Name,
    /// The bytes.
    pub bytes: Box<[u8]>,
    /// How the literal was written.
    pub form: LiteralForm,
}

/// How the bytes of a literal were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralForm {
    /// In quotes.
    Text,
    /// `N'..'`: in quotes, and taken whether it is well formed or not.
    National,
    /// In hexadecimal.
    Hex,
    /// In bits.
    Bit,
}

/// The type of a temporal literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporalKind {
    /// `DATE`.
    Date,
    /// `TIME`.
    Time,
    /// `TIMESTAMP` (its value is a DATETIME).
    Timestamp,
}

/// Where a system variable is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VarScope {
    /// `@@global.`, `SET GLOBAL`.
    Global,
    /// `@@session.`, `@@local.`, `SET SESSION`.
    Session,
    /// `@@persist.`, `SET PERSIST`.
    Persist,
    /// `@@persist_only.`, `SET PERSIST_ONLY`.
    PersistOnly,
}

/// `@@[scope.][component.]name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysVar {
    /// The scope, where written.
    pub scope: Option<VarScope>,
    /// A structured variable's instance or a component's name.
    pub prefix: Option<Name>,
    /// The variable.
    pub name: Name,
}

/// Prefix operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `~x`
    BitNot,
    /// `NOT x`, `!x`
    Not,
    /// `BINARY x`
    Binary,
}

/// Infix operators that take two values; `AND` and `OR` are flattened elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    /// `%`, `MOD`
    Mod,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `=`
    Eq,
    /// `<=>`
    NullSafeEq,
    /// `<>`, `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `XOR`
    Xor,
    /// `SOUNDS LIKE`
    SoundsLike,
}

/// The right side of `IS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// `TRUE`
    True,
    /// `FALSE`
    False,
    /// `UNKNOWN`
    Unknown,
}

/// `x [NOT] BETWEEN low AND high`.
#[derive(Debug, Clone, PartialEq)]
pub struct Between {
    /// Operand.
    pub expr: Expr,
    /// Lower bound.
    pub low: Expr,
    /// Upper bound.
    pub high: Expr,
    /// `NOT` was given.
    pub negated: bool,
}

/// `x [NOT] IN (a, b, ..)`.
#[derive(Debug, Clone, PartialEq)]
pub struct InList {
    /// Operand.
    pub expr: Expr,
    /// At least one member.
    pub list: Vec<Expr>,
    /// `NOT` was given.
    pub negated: bool,
}

/// `x [NOT] IN (SELECT ..)`.
#[derive(Debug, Clone, PartialEq)]
pub struct InSubquery {
    /// Operand.
    pub expr: Expr,
    /// The subquery.
    pub query: Query,
    /// `NOT` was given.
    pub negated: bool,
}

/// `x [NOT] LIKE pattern [ESCAPE e]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Like {
    /// Operand.
    pub expr: Expr,
    /// Pattern.
    pub pattern: Expr,
    /// Escape, where written.
    pub escape: Option<Expr>,
    /// `NOT` was given.
    pub negated: bool,
}

/// `x [NOT] REGEXP pattern`.
#[derive(Debug, Clone, PartialEq)]
pub struct Regexp {
    /// Operand.
    pub expr: Expr,
    /// Pattern.
    pub pattern: Expr,
    /// `NOT` was given.
    pub negated: bool,
}

/// `x op ANY | ALL (SELECT ..)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantified {
    /// Left operand.
    pub expr: Expr,
    /// A comparison.
    pub op: BinaryOp,
    /// `ALL` rather than `ANY`/`SOME`.
    pub all: bool,
    /// The subquery.
    pub query: Query,
}

/// `CASE [operand] WHEN a THEN b .. [ELSE c] END`.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The compared value in the simple form.
    pub operand: Option<Expr>,
    /// `(when, then)` pairs, at least one.
    pub arms: Vec<(Expr, Expr)>,
    /// The `ELSE` value.
    pub otherwise: Option<Expr>,
}

/// `CAST(x AS type)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cast {
    /// Operand.
    pub expr: Expr,
    /// Target.
    pub target: CastType,
    /// `ARRAY` behind the type (multi-valued indexes).
    pub array: bool,
    /// `AT TIME ZONE [INTERVAL] 'offset'`.
    pub at_time_zone: Option<Box<[u8]>>,
}

/// Target types of `CAST` and `CONVERT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CastType {
    /// `BINARY[(n)]`.
    Binary(Option<u64>),
    /// `CHAR[(n)] [charset]`; `NCHAR` sets the character set to `utf8mb3`.
    Char {
        /// Length in characters.
        length: Option<u64>,
        /// Character set.
        charset: Option<Name>,
        /// `BINARY`: the result is compared character by character, by the set's `_bin` collation.
        binary: bool,
    },
    /// `SIGNED [INTEGER]`.
    Signed,
    /// `UNSIGNED [INTEGER]`.
    Unsigned,
    /// `DATE`.
    Date,
    /// `TIME[(fsp)]`.
    Time(u8),
    /// `DATETIME[(fsp)]`.
    Datetime(u8),
    /// `YEAR`.
    Year,
    /// `DECIMAL[(m[,d])]`.
    Decimal {
        /// Precision; 10 where not written.
        precision: u32,
        /// Scale; 0 where not written.
        scale: u32,
    },
    /// `FLOAT[(p)]`, p <= 24.
    Float,
    /// `DOUBLE`, `REAL`, and `FLOAT(p)` with p > 24.
    Double,
    /// `JSON`.
    Json,
    /// `POINT`, `GEOMETRY`, .. : the type's name.
    Geometry(Name),
}

/// `date +/- INTERVAL amount unit`.
#[derive(Debug, Clone, PartialEq)]
pub struct DateArith {
    /// The moment.
    pub date: Expr,
    /// How many units.
    pub amount: Expr,
    /// The unit.
    pub unit: IntervalUnit,
    /// Subtract rather than add.
    pub subtract: bool,
}

/// `TIMESTAMPDIFF(unit, from, to)`.
#[derive(Debug, Clone, PartialEq)]
pub struct TimestampDiff {
    /// The unit of the result.
    pub unit: IntervalUnit,
    /// Earlier operand.
    pub from: Expr,
    /// Later operand.
    pub to: Expr,
}

/// Which ends `TRIM` works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrimSide {
    /// Both ends.
    Both,
    /// The start.
    Leading,
    /// The end.
    Trailing,
}

/// `TRIM([side] [what] FROM x)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Trim {
    /// Which ends; both where not written.
    pub side: TrimSide,
    /// What to remove; a space where not written.
    pub what: Option<Expr>,
    /// From what.
    pub expr: Expr,
}

/// The first argument of `GET_FORMAT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatKind {
    /// `DATE`
    Date,
    /// `TIME`
    Time,
    /// `DATETIME`, `TIMESTAMP`
    Datetime,
}

/// `CHAR(a, b, .. [USING charset])`.
#[derive(Debug, Clone, PartialEq)]
pub struct CharFn {
    /// Code points.
    pub args: Vec<Expr>,
    /// Result character set; binary where not written.
    pub charset: Option<Name>,
}

/// `WEIGHT_STRING(x [AS type])`.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightString {
    /// Operand.
    pub expr: Expr,
    /// `AS CHAR(n)` / `AS BINARY(n)`: `(binary, n)`.
    pub cast: Option<(bool, u64)>,
}

/// `column -> 'path'` and `column ->> 'path'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonArrow {
    /// The column.
    pub column: ColumnRef,
    /// The path literal.
    pub path: Box<[u8]>,
    /// `->>`: unquote the result.
    pub unquote: bool,
}

/// `JSON_VALUE(doc, path [RETURNING type] [.. ON EMPTY] [.. ON ERROR])`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue {
    /// The document.
    pub doc: Expr,
    /// The path.
    pub path: Expr,
    /// The result type; `CHAR(512)` where not written.
    pub returning: Option<CastType>,
    /// What an empty result becomes.
    pub on_empty: Option<JsonOn>,
    /// What an error becomes.
    pub on_error: Option<JsonOn>,
}

/// `NULL | ERROR | DEFAULT value` of an `ON EMPTY` / `ON ERROR` clause.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonOn {
    /// `NULL`
    Null,
    /// `ERROR`
    Error,
    /// `DEFAULT value`
    Default(Expr),
}

/// `MATCH (columns) AGAINST (x mode)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The columns.
    pub columns: Vec<ColumnRef>,
    /// What is searched for.
    pub against: Expr,
    /// `IN BOOLEAN MODE` rather than natural language.
    pub boolean: bool,
    /// `WITH QUERY EXPANSION`.
    pub expansion: bool,
}
