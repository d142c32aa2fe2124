//! Function calls: ordinary, aggregate, window.

use super::{Expr, Name, OrderItem, WindowSpec};

/// An ordinary function call.
///
/// Spellings that MySQL's grammar treats as one function arrive under one name: `CURRENT_TIMESTAMP`,
/// `LOCALTIME` and `NOW` are `now`; `CURRENT_DATE` is `curdate`; `CURRENT_TIME` is `curtime`;
/// `SUBSTRING`, `SUBSTR` and `MID` are `substring`; `POSITION(a IN b)` is `locate(a, b)`;
/// `SCHEMA()` is `database`; `||` under PIPES_AS_CONCAT is `concat`; `MOD(a, b)` is an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Schema of a stored function, where written.
    pub schema: Option<Name>,
    /// The function as written, apart from the spellings above.
    pub name: Name,
    /// Arguments.
    pub args: Vec<Expr>,
    /// The name is a word with a grammar of its own that was not meant: it was quoted, or its parenthesis stood apart.
    pub plain: bool,
}

/// Aggregate functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateFunc {
    /// `COUNT`
    Count,
    /// `SUM`
    Sum,
    /// `AVG`
    Avg,
    /// `MIN`
    Min,
    /// `MAX`
    Max,
    /// `BIT_AND`
    BitAnd,
    /// `BIT_OR`
    BitOr,
    /// `BIT_XOR`
    BitXor,
    /// `STD`, `STDDEV`, `STDDEV_POP`
    StdPop,
    /// `STDDEV_SAMP`
    StdSamp,
    /// `VARIANCE`, `VAR_POP`
    VarPop,
    /// `VAR_SAMP`
    VarSamp,
    /// `GROUP_CONCAT`
    GroupConcat,
    /// `JSON_ARRAYAGG`
    JsonArrayAgg,
    /// `JSON_OBJECTAGG`
    JsonObjectAgg,
    /// `ST_COLLECT`
    StCollect,
}

/// An aggregate call.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// Which.
    pub func: AggregateFunc,
    /// `DISTINCT` was given.
    pub distinct: bool,
    /// Arguments; empty for `COUNT(*)`.
    pub args: Vec<Expr>,
    /// `ORDER BY` inside `GROUP_CONCAT`.
    pub order_by: Vec<OrderItem>,
    /// `SEPARATOR` of `GROUP_CONCAT`; a comma where not written.
    pub separator: Option<Box<[u8]>>,
    /// `OVER ..`.
    pub over: Option<Over>,
}

/// Functions that need `OVER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowFunc {
    /// `ROW_NUMBER()`
    RowNumber,
    /// `RANK()`
    Rank,
    /// `DENSE_RANK()`
    DenseRank,
    /// `PERCENT_RANK()`
    PercentRank,
    /// `CUME_DIST()`
    CumeDist,
    /// `NTILE(n)`
    Ntile,
    /// `LAG(x [, n [, default]])`
    Lag,
    /// `LEAD(x [, n [, default]])`
    Lead,
    /// `FIRST_VALUE(x)`
    FirstValue,
    /// `LAST_VALUE(x)`
    LastValue,
    /// `NTH_VALUE(x, n)`
    NthValue,
}

/// A call of a window function.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// Which.
    pub func: WindowFunc,
    /// Arguments.
    pub args: Vec<Expr>,
    /// `FROM LAST` (`NTH_VALUE`).
    pub from_last: bool,
    /// `IGNORE NULLS`.
    pub ignore_nulls: bool,
    /// The window.
    pub over: Over,
}

/// What stands behind `OVER`.
#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    /// `OVER w`
    Named(Name),
    /// `OVER (..)`
    Spec(WindowSpec),
}

impl WindowFunc {
    /// Its name in canonical text.
    pub fn name(self) -> &'static str {
        match self {
            WindowFunc::RowNumber => "row_number",
            WindowFunc::Rank => "rank",
            WindowFunc::DenseRank => "dense_rank",
            WindowFunc::PercentRank => "percent_rank",
            WindowFunc::CumeDist => "cume_dist",
            WindowFunc::Ntile => "ntile",
            WindowFunc::Lag => "lag",
            WindowFunc::Lead => "lead",
            WindowFunc::FirstValue => "first_value",
            WindowFunc::LastValue => "last_value",
            WindowFunc::NthValue => "nth_value",
        }
    }
}

impl AggregateFunc {
    /// Its name in canonical text.
    pub fn name(self) -> &'static str {
        match self {
            AggregateFunc::Count => "count",
            AggregateFunc::Sum => "sum",
            AggregateFunc::Avg => "avg",
            AggregateFunc::Min => "min",
            AggregateFunc::Max => "max",
            AggregateFunc::BitAnd => "bit_and",
            AggregateFunc::BitOr => "bit_or",
            AggregateFunc::BitXor => "bit_xor",
            AggregateFunc::StdPop => "std",
            AggregateFunc::StdSamp => "stddev_samp",
            AggregateFunc::VarPop => "variance",
            AggregateFunc::VarSamp => "var_samp",
            AggregateFunc::GroupConcat => "group_concat",
            AggregateFunc::JsonArrayAgg => "json_arrayagg",
            AggregateFunc::JsonObjectAgg => "json_objectagg",
            AggregateFunc::StCollect => "st_collect",
        }
    }
}
