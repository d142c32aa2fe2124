//! Aggregate functions: what a query block computes for each group ([`AggSpec`]) and the running state for one group
//! ([`Accumulator`]). The executor decides what a group is; nothing here sees more than one row at a time.

mod concat;
mod state;

use types::SqlError;
use types::collation::CollationId;

use super::collate;
use super::compare::Comparer;
use super::ctx::EvalCtx;
use super::func::json_type;
use super::infer::{Domain, domain};
use super::node::Expr;
use super::ty::{Coercibility, ExprType};
use crate::parse::ast;
pub use state::Accumulator;

/// Aggregate functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggFunc {
    /// COUNT.
    Count,
    /// SUM.
    Sum,
    /// AVG.
    Avg,
    /// MIN.
    Min,
    /// MAX.
    Max,
    /// BIT_AND.
    BitAnd,
    /// BIT_OR.
    BitOr,
    /// BIT_XOR.
    BitXor,
    /// STD, STDDEV, STDDEV_POP.
    StdPop,
    /// STDDEV_SAMP.
    StdSamp,
    /// VARIANCE, VAR_POP.
    VarPop,
    /// VAR_SAMP.
    VarSamp,
    /// GROUP_CONCAT.
    GroupConcat,
    /// JSON_ARRAYAGG.
    JsonArray,
    /// JSON_OBJECTAGG.
    JsonObject,
}

impl AggFunc {
    /// The function of the tree; `None` for what is not supported.
    pub fn from_ast(f: ast::AggregateFunc) -> Option<AggFunc> {
        use ast::AggregateFunc as A;
        Some(match f {
            A::Count => AggFunc::Count,
            A::Sum => AggFunc::Sum,
            A::Avg => AggFunc::Avg,
            A::Min => AggFunc::Min,
            A::Max => AggFunc::Max,
            A::BitAnd => AggFunc::BitAnd,
            A::BitOr => AggFunc::BitOr,
            A::BitXor => AggFunc::BitXor,
            A::StdPop => AggFunc::StdPop,
            A::StdSamp => AggFunc::StdSamp,
            A::VarPop => AggFunc::VarPop,
            A::VarSamp => AggFunc::VarSamp,
            A::GroupConcat => AggFunc::GroupConcat,
            A::JsonArrayAgg => AggFunc::JsonArray,
            A::JsonObjectAgg => AggFunc::JsonObject,
            A::StCollect => return None,
        })
    }

    /// It computes with numbers, so that hexadecimal and bit literals are numbers to it.
    const fn of_numbers(self) -> bool {
        matches!(
            self,
            AggFunc::Sum
                | AggFunc::Avg
                | AggFunc::BitAnd
                | AggFunc::BitOr
                | AggFunc::BitXor
                | AggFunc::StdPop
                | AggFunc::StdSamp
                | AggFunc::VarPop
                | AggFunc::VarSamp
        )
    }
}

/// One aggregate of a query block.
#[derive(Debug, Clone)]
pub struct AggSpec {
    /// Which function.
    pub func: AggFunc,
    /// DISTINCT was written.
    pub distinct: bool,
    /// Its arguments; none for COUNT(*).
    pub args: Vec<Expr>,
    /// ORDER BY inside GROUP_CONCAT; `true` for DESC.
    pub order_by: Vec<(Expr, bool)>,
    /// SEPARATOR of GROUP_CONCAT, in the result's character set.
    pub separator: Vec<u8>,
    /// The type of the result.
    pub ty: ExprType,
    /// How MIN and MAX compare.
    comparer: Comparer,
    /// As it was written, to recognise it when it is written again.
    source: ast::Aggregate,
}

impl AggSpec {
    /// Infers the type and brings texts to one character set.
    ///
    /// # Errors
    /// 1267, 1271.
    pub(super) fn new(
        func: AggFunc,
        distinct: bool,
        mut args: Vec<Expr>,
        order_by: Vec<(Expr, bool)>,
        separator: Vec<u8>,
        source: ast::Aggregate,
        cx: &EvalCtx<'_>,
    ) -> Result<AggSpec, SqlError> {
        if distinct && func.of_numbers() {
            // Two texts of one number are one value.
            args = args.into_iter().map(Expr::into_double).collect();
        }
        let ty = infer(func, &mut args, cx)?;
        let comparer = match args.first() {
            Some(a) => Comparer::choose(&a.ty, &a.ty, cx.collation, "min")?,
            None => Comparer::Int,
        };
        Ok(AggSpec {
            func,
            distinct,
            args,
            order_by,
            separator,
            ty,
            comparer,
            source,
        })
    }

    /// COUNT(*): rows are counted without being looked at.
    pub fn is_count_star(&self) -> bool {
        self.func == AggFunc::Count && self.args.is_empty()
    }

    /// The empty state of a group.
    pub fn start(&self) -> Accumulator {
        Accumulator::new(self)
    }

    /// Whether another was written the same way.
    pub(super) fn same_as(&self, other: &AggSpec) -> bool {
        self.source == other.source
    }
}

fn infer(func: AggFunc, args: &mut [Expr], cx: &EvalCtx<'_>) -> Result<ExprType, SqlError> {
    if func.of_numbers() {
        args.iter_mut().for_each(Expr::make_number);
    }
    let first = args.first().map_or(ExprType::int(1, false), |a| a.ty);
    let exact = domain(&first) != Domain::Double;
    let scale = match first.scale() {
        super::ty::NOT_FIXED => 0,
        s => s,
    };
    let digits = first.int_digits();
    let increment = cx.vars.hot().div_precision_increment;
    Ok(match func {
        AggFunc::Count => ExprType::int(21, false),
        AggFunc::Sum if exact => {
            ExprType::decimal(digits.saturating_add(scale).saturating_add(22), scale, true)
        }
        AggFunc::Avg if exact => {
            let s = scale.saturating_add(increment).min(30);
            ExprType::decimal(digits.saturating_add(s), s, true)
        }
        AggFunc::Min | AggFunc::Max => first.or_null().words_as_text(),
        AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor => ExprType::uint(21, false),
        AggFunc::Sum
        | AggFunc::Avg
        | AggFunc::StdPop
        | AggFunc::StdSamp
        | AggFunc::VarPop
        | AggFunc::VarSamp => ExprType::double(true),
        AggFunc::GroupConcat => {
            let mut texts: Vec<&mut Expr> = args.iter_mut().collect();
            let c = collate::unify(&mut texts, cx.collation, false, "group_concat")?;
            let collation = if c.coercibility >= Coercibility::Numeric {
                cx.collation
            } else {
                c.collation
            };
            let width = collation.charset().max_len() as u64;
            let chars = (cx.vars.hot().group_concat_max_len / width).min(u64::from(u32::MAX));
            ExprType::text(chars as u32, collation, Coercibility::Implicit, true)
        }
        AggFunc::JsonArray | AggFunc::JsonObject => {
            let mut ty = json_type(true);
            ty.collation = CollationId::UTF8MB4_BIN;
            ty
        }
    })
}
