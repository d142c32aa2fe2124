//! What an aggregate of a query block is: its arguments, its type, how it compares.

use types::SqlError;
use types::collation::CollationId;

use crate::compare::Comparer;
use crate::ctx::EvalCtx;
use crate::func::json_type;
use crate::infer::{Domain, domain};
use crate::node::Expr;
use crate::ty::{Coercibility, ExprType, NOT_FIXED, Shape};
use crate::unify;
use sql_parser::ast::{self, AggregateFunc};

/// The function computes with numbers, so that hexadecimal and bit literals are numbers to it.
const fn is_of_numbers(func: AggregateFunc) -> bool {
    matches!(
        func,
        AggregateFunc::Sum
            | AggregateFunc::Avg
            | AggregateFunc::BitAnd
            | AggregateFunc::BitOr
            | AggregateFunc::BitXor
            | AggregateFunc::StdPop
            | AggregateFunc::StdSamp
            | AggregateFunc::VarPop
            | AggregateFunc::VarSamp
    )
}

/// One aggregate of a query block.
#[derive(Debug, Clone)]
pub struct AggSpec {
    /// Which function.
    pub func: AggregateFunc,
    /// DISTINCT was written.
    pub distinct: bool,
    /// Rows with equal arguments come one behind the other: DISTINCT need not remember more than the last.
    pub neighbours: bool,
    /// Its arguments; none for COUNT(*).
    pub args: Vec<Expr>,
    /// ORDER BY inside GROUP_CONCAT; `true` for DESC.
    pub order_by: Vec<(Expr, bool)>,
    /// SEPARATOR of GROUP_CONCAT, in the result's character set.
    pub separator: Vec<u8>,
    /// The type of the result.
    pub ty: ExprType,
    /// How MIN and MAX compare.
    pub(crate) comparer: Comparer,
    /// As it was written, to recognise it when it is written again.
    source: ast::Aggregate,
}

impl AggSpec {
    /// What it reads of each row: its arguments, and what it sorts them by.
    pub fn inputs(&self) -> impl Iterator<Item = &Expr> {
        self.args.iter().chain(self.order_by.iter().map(|(e, _)| e))
    }

    /// Infers the type and brings texts to one character set.
    ///
    /// # Errors
    /// 1267, 1271.
    pub(crate) fn new(
        func: AggregateFunc,
        distinct: bool,
        mut args: Vec<Expr>,
        order_by: Vec<(Expr, bool)>,
        separator: Vec<u8>,
        source: ast::Aggregate,
        cx: &EvalCtx<'_>,
    ) -> Result<AggSpec, SqlError> {
        if distinct && is_of_numbers(func) {
            // Two texts of one number are one value.
            args = args.into_iter().map(Expr::into_double).collect();
        }
        if is_of_numbers(func) {
            // Of a document its number counts, and not its text.
            let number = |e: Expr| match e.ty.shape {
                Shape::Json => e.into_double(),
                _ => e,
            };
            args = args.into_iter().map(number).collect();
        }
        let ty = infer(func, &mut args, cx)?;
        let comparer = match args.first() {
            Some(a) => Comparer::choose(&a.ty, &a.ty, cx.collation, "min")?,
            None => Comparer::Int,
        };
        Ok(AggSpec {
            func,
            distinct,
            neighbours: false,
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
        self.func == AggregateFunc::Count && self.args.is_empty()
    }

    /// The bits that BIT_AND, BIT_OR and BIT_XOR begin with.
    pub(crate) fn no_bits(&self) -> u64 {
        match self.func {
            AggregateFunc::BitAnd => u64::MAX,
            _ => 0,
        }
    }

    /// Whether another was written the same way.
    pub(crate) fn same_as(&self, other: &AggSpec) -> bool {
        self.source == other.source
    }
}

fn infer(func: AggregateFunc, args: &mut [Expr], cx: &EvalCtx<'_>) -> Result<ExprType, SqlError> {
    if is_of_numbers(func) {
        args.iter_mut().for_each(Expr::make_number);
    }
    let first = args.first().map_or(ExprType::int(1, false), |a| a.ty);
    let exact = domain(&first) != Domain::Double;
    let scale = match first.scale() {
        NOT_FIXED => 0,
        s => s,
    };
    let digits = first.int_digits();
    let increment = cx.vars.hot().div_precision_increment;
    Ok(match func {
        AggregateFunc::Count => ExprType::int(21, false),
        AggregateFunc::Sum if exact => {
            ExprType::decimal(digits.saturating_add(scale).saturating_add(22), scale, true)
        }
        AggregateFunc::Avg if exact => {
            let s = scale.saturating_add(increment).min(30);
            ExprType::decimal(digits.saturating_add(s), s, true)
        }
        AggregateFunc::Min | AggregateFunc::Max => ExprType {
            zeros: 0,
            boolean: false,
            ..first.or_null().words_as_text()
        },
        AggregateFunc::BitAnd | AggregateFunc::BitOr | AggregateFunc::BitXor => {
            ExprType::uint(21, false)
        }
        AggregateFunc::Sum => ExprType::plain(
            Shape::Double {
                scale: first.scale(),
            },
            true,
        ),
        AggregateFunc::Avg => ExprType::plain(
            Shape::Double {
                scale: first.scale().saturating_add(increment).min(NOT_FIXED),
            },
            true,
        ),
        AggregateFunc::StdPop
        | AggregateFunc::StdSamp
        | AggregateFunc::VarPop
        | AggregateFunc::VarSamp => ExprType::double(true),
        AggregateFunc::GroupConcat => {
            let mut texts: Vec<&mut Expr> = args.iter_mut().collect();
            let c = unify::unify(&mut texts, cx.collation, false, "group_concat")?;
            let collation = if c.coercibility >= Coercibility::Numeric {
                cx.collation
            } else {
                c.collation
            };
            // As many as fit if each takes one byte, the least in any character set here; the bytes are limited where the text is made.
            let chars = cx.vars.hot().group_concat_max_len.min(u64::from(u32::MAX));
            ExprType::text(chars as u32, collation, Coercibility::Implicit, true)
        }
        AggregateFunc::JsonArrayAgg | AggregateFunc::JsonObjectAgg => {
            let mut ty = json_type(true);
            ty.collation = CollationId::UTF8MB4_BIN;
            ty
        }
        AggregateFunc::StCollect => return Err(SqlError::not_supported("ST_COLLECT")),
    })
}
