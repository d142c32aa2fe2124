//! Window functions: what one is, which type it has, and the window it goes over as it was written, with its names bound.
//!
//! Nothing here knows a row of a partition: the executor decides what a frame is.

use types::SqlError;
use types::temporal::IntervalUnit;

use crate::agg::AggSpec;
use crate::compare::Comparer;
use crate::conv;
use crate::ctx::{EvalCtx, NoRow};
use crate::infer;
use crate::node::{Expr, Node};
use crate::temporal;
use crate::ty::ExprType;
use crate::val::Val;
use sql_parser::ast::{FrameUnit, WindowFunc};

/// A window function of a query block.
#[derive(Debug, Clone)]
pub struct WindowFn {
    /// Which.
    pub kind: WindowKind,
    /// The type of the result.
    pub ty: ExprType,
    /// IGNORE NULLS was written.
    pub ignore_nulls: bool,
    /// FROM LAST was written.
    pub from_last: bool,
}

/// What computes a window function.
#[derive(Debug, Clone)]
pub enum WindowKind {
    /// A function that only exists over windows, with its arguments.
    Function(WindowFunc, Vec<Expr>),
    /// An aggregate of the frame.
    Aggregate(Box<AggSpec>),
}

impl WindowFn {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match &self.kind {
            WindowKind::Function(f, _) => f.name(),
            WindowKind::Aggregate(a) => a.func.name(),
        }
    }

    /// What it reads of each row.
    pub fn inputs(&self) -> Vec<&Expr> {
        match &self.kind {
            WindowKind::Function(_, args) => args.iter().collect(),
            WindowKind::Aggregate(a) => a.inputs().collect(),
        }
    }

    /// The same, to be changed.
    pub fn inputs_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            WindowKind::Function(_, args) => args.iter_mut().collect(),
            WindowKind::Aggregate(a) => {
                let order = a.order_by.iter_mut().map(|(e, _)| e);
                a.args.iter_mut().chain(order).collect()
            }
        }
    }

    /// Whether its value depends on the frame; it is of the whole partition otherwise.
    pub fn is_framed(&self) -> bool {
        match &self.kind {
            WindowKind::Aggregate(_) => true,
            WindowKind::Function(f, _) => matches!(
                f,
                WindowFunc::FirstValue | WindowFunc::LastValue | WindowFunc::NthValue
            ),
        }
    }
}

/// A window as it was written.
#[derive(Debug, Clone)]
pub struct BoundSpec {
    /// The window that it extends.
    pub base: Option<Box<str>>,
    /// PARTITION BY.
    pub partition: Vec<Expr>,
    /// ORDER BY; `true` for DESC.
    pub order: Vec<(Expr, bool)>,
    /// The frame, where written.
    pub frame: Option<BoundFrame>,
}

/// A frame as it was written.
#[derive(Debug, Clone)]
pub struct BoundFrame {
    /// What it counts.
    pub unit: FrameUnit,
    /// Where it starts.
    pub start: Bound,
    /// Where it ends.
    pub end: Bound,
    /// EXCLUDE was written.
    pub exclude: bool,
}

/// An end of a frame.
#[derive(Debug, Clone)]
pub enum Bound {
    /// UNBOUNDED PRECEDING.
    UnboundedPreceding,
    /// `n PRECEDING`, with a unit for an INTERVAL.
    Preceding(Expr, Option<IntervalUnit>),
    /// CURRENT ROW.
    CurrentRow,
    /// `n FOLLOWING`, with a unit for an INTERVAL.
    Following(Expr, Option<IntervalUnit>),
    /// UNBOUNDED FOLLOWING.
    UnboundedFollowing,
}

impl Bound {
    /// Its number, where it has one.
    pub fn offset(&self) -> Option<(&Expr, Option<IntervalUnit>)> {
        match self {
            Bound::Preceding(e, unit) | Bound::Following(e, unit) => Some((e, *unit)),
            _ => None,
        }
    }
}

/// What stands behind OVER.
#[derive(Debug, Clone)]
pub enum BoundOver {
    /// A window by its name.
    Named(Box<str>),
    /// A window of its own.
    Spec(BoundSpec),
}

/// The value of a number that is the same for all rows, the argument of NTILE and the like; `None` for NULL.
///
/// # Errors
/// What evaluating it raises.
pub fn number(e: &Expr, cx: &EvalCtx<'_>) -> Result<Option<i64>, SqlError> {
    let v = e.eval(cx, &NoRow)?;
    Ok(conv::to_int(&v, cx).map(|i| i.saturating_i64()))
}

/// Whether the distance of a RANGE frame may be one: no NULL, not negative.
///
/// # Errors
/// What evaluating it raises.
pub fn is_distance(
    e: &Expr,
    unit: Option<IntervalUnit>,
    cx: &EvalCtx<'_>,
) -> Result<bool, SqlError> {
    let v = e.eval(cx, &NoRow)?;
    if v.is_null() {
        return Ok(false);
    }
    Ok(match unit {
        None => conv::to_double(&v, cx).is_some_and(|d| d >= 0.0),
        Some(unit) => temporal::interval_of(&v, &e.ty, unit, false, cx)
            .is_some_and(|by| by.months >= 0 && by.micros >= 0),
    })
}

/// How the rows of a RANGE frame compare with its ends.
///
/// # Errors
/// As [`Comparer::choose`].
pub fn range_comparer(
    key: &ExprType,
    end: &ExprType,
    cx: &EvalCtx<'_>,
) -> Result<Comparer, SqlError> {
    Comparer::choose(key, end, cx.collation, "<")
}

/// Whether an expression is the same for all rows of one execution, so that it may be the end of a frame.
pub fn is_same_for_all(e: &Expr) -> bool {
    !e.any(&|x| match &x.node {
        Node::Column(_)
        | Node::Inserted(_)
        | Node::Aggregate(_)
        | Node::Window(_)
        | Node::Subquery(_)
        | Node::Exists(_)
        | Node::Quantified(_)
        | Node::AssignVar(..) => true,
        Node::Call(c) => c.def.volatile() || c.def.special(),
        _ => false,
    })
}

/// Whether an argument may be the number of NTILE, LAG, LEAD or NTH_VALUE: a whole number of at least `least`, or what is known only when the
/// statement runs. NULL is none: MySQL has refused it since 8.0.22.
pub(crate) fn is_count(e: &Expr, least: i64) -> bool {
    match &e.node {
        Node::Param(..) | Node::UserVar(_) => true,
        _ => match e.as_const() {
            Some(Val::Int(n)) => *n >= least,
            Some(Val::Uint(_)) => true,
            _ => false,
        },
    }
}

/// The common type of values that a function hands on, to which they are brought.
pub(crate) fn one_type(
    args: &mut [Expr],
    places: &[usize],
    name: &str,
    cx: &EvalCtx<'_>,
) -> Result<ExprType, SqlError> {
    let types: Vec<ExprType> = { places.iter() }
        .filter_map(|i| args.get(*i))
        .map(|a| a.ty)
        .collect();
    let types: Vec<&ExprType> = types.iter().collect();
    let ty = infer::common(&types, cx.collation, name)?.words_as_text();
    for i in places {
        if let Some(a) = args.get_mut(*i) {
            let old = std::mem::replace(a, Expr::null());
            *a = old.coerced_to(&ty, cx);
        }
    }
    Ok(ty)
}
